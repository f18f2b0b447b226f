import { t } from '../base/l10n.ts';
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

export function whyFailed(url: string, error: NodeJS.ErrnoException): HttpFailure {
  const origin = new URL(url).origin;
  const code = error.code ?? firstCode(error);
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

/** Several addresses of one host were tried: the first one's reason is reported. */
function firstCode(error: unknown): string | undefined {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first instanceof Error && 'code' in first && typeof first.code === 'string' ? first.code : undefined;
}

/** `why`: for those who know networks, and not translated. */
export function unreachable(origin: string, why: string): string {
  return t('{0} could not be reached ({1}). Check the address, the network and whether the server runs.', origin, why);
}
