import { t } from '../base/l10n.ts';
import { systemCode } from '../base/log.ts';
import type { Failure, LinkAnswer, LinkEnd } from '../base/outcomes.ts';

/* A way to an agent (process, socket, HTTP stream), as the transport offers it and the driver of a conversation uses it. */

/** One open way to the agent. Its methods never throw. */
export interface Link {
  /** Rejects with a `LinkError`, or with any other error, which counts as `lost`. `signal` fires when the reply is not needed any more. */
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>;
  notify(method: string, params: unknown): void;
  /** Answers a request of the agent, once. Written before anything that is sent later. Links without such requests leave this empty. */
  answer(id: string, answer: LinkAnswer): void;
  /** Closes it. `closed` follows, never inside this call. */
  close(): void;
}
/** The events of a link, in the order in which they arrived. Nothing comes after `closed`. */
export interface LinkEvents {
  /** A notification, or a record of a stream. */
  message(method: string, params: unknown): void;
  /** A request that needs exactly one answer. `id` is unique among the open requests of this link. */
  asked(id: string, method: string, params: unknown): void;
  /** The agent cancelled its request. */
  withdrawn(id: string): void;
  /** Data that is not a message of the protocol. */
  junk(text: string): void;
  closed(why: LinkEnd): void;
}

/**
 * Opens a link, at once. `closed` reports later failures. `name` is the whole name of the link, for logs. Events may already come while
 * this function runs.
 */
export type OpenLink = (params: unknown, events: LinkEvents, name: string) => Link;

/** Carries a `Failure` through a promise. */
export class LinkError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

// --- over HTTP

/** Why an exchange failed below the protocol; the message is a sentence for a user and holds no secrets. */
export class HttpFailure extends Error {
  readonly kind:
    | 'address'
    | 'header'
    | 'refused'
    | 'unknownHost'
    | 'certificate'
    | 'timeout'
    | 'redirect'
    | 'cut'
    | 'tooLong'
    | 'encoding'
    | 'aborted';

  constructor(kind: HttpFailure['kind'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

export function whyFailed(url: string, error: Error): HttpFailure {
  const origin = new URL(url).origin;
  // Several addresses of one host were tried: the first one's reason is reported.
  const code = systemCode(error) ?? systemCode(error instanceof AggregateError ? error.errors[0] : undefined);
  if (code === 'ECONNREFUSED') return new HttpFailure('refused', unreachable(origin, 'connection refused'), error);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new HttpFailure('unknownHost', unreachable(origin, 'host not found'), error);
  }
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH' || code === 'ETIMEDOUT') {
    return new HttpFailure('timeout', unreachable(origin, code), error);
  }
  if (code !== undefined && /CERT|SELF_SIGNED|^ERR_TLS|^ERR_SSL|^EPROTO$|UNABLE_TO/.test(code)) {
    return new HttpFailure('certificate', unreachable(origin, error.message), error);
  }
  return new HttpFailure('cut', t('The connection to {0} was lost ({1}).', origin, code ?? error.message), error);
}

/** `why`: for those who know networks, and not translated. */
export function unreachable(origin: string, why: string): string {
  return t('{0} could not be reached ({1}). Check the address, the network and whether the server runs.', origin, why);
}

/** True for an address of this computer, which no network sees. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\]|0\.0\.0\.0)$/.test(hostname);
}
