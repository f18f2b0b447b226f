import type { Ending, Failure, LinkAnswer } from '../base/outcomes.ts';

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
  closed(why: Ending): void;
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
