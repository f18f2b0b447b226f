import { validateHeaderValue } from 'node:http';
import { t } from '../../base/l10n.ts';
import type { Field } from '../../session/model.ts';
import type { HttpRequest } from '../../transport/http.ts';
import type { AdapterContext } from '../adapter.ts';
import type { LinkQuestions } from './questions.ts';
import { isRecord } from './schema.ts';

/** Number of times the user is asked before a request is given up: once, and once more after a slip. */
const ASKS = 2;
const BEARER: readonly Wanted[] = [{ scheme: '', way: { how: 'bearer' } }];

export interface CredentialsSetup {
  readonly context: AdapterContext;
  /** The only origin that gets secrets. */
  readonly origin: string;
  /** Headers of the profile. */
  readonly headers: Readonly<Record<string, string>>;
  /** Asks the user. */
  readonly questions: Pick<LinkQuestions, 'ask'>;
}

/** The user is asked, and requests wait for it. */
class Renewal {
  readonly done: Promise<boolean>;
  #waiting = 0;

  constructor(done: Promise<boolean>) {
    this.done = done;
  }

  /** No request waits for the user any more. */
  get isAbandoned(): boolean {
    return this.#waiting === 0;
  }

  join(): void {
    this.#waiting += 1;
  }

  leave(): void {
    this.#waiting -= 1;
  }
}

/**
 * Secrets for one origin (docs/protocols/a2a.md §15): none are sent until the server refuses, and none ever leave the origin. What the user enters is kept by
 * the editor's secret storage once the server took it; a secret that the server refuses later is asked for again.
 */
export class Credentials {
  readonly #context: AdapterContext;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #origin: string;
  #schemes: { readonly wanted: readonly Wanted[]; readonly isUnsupported: boolean } = { wanted: BEARER, isUnsupported: false };
  /** One for each scheme that is wanted; another edition with every change. */
  #secrets: { readonly values: readonly string[]; readonly edition: number } = { values: [], edition: 0 };
  /** The secrets that the server refused, or no longer accepts. */
  readonly #refused = new Set<string>();
  #asksLeft = ASKS;
  readonly #questions: CredentialsSetup['questions'];
  /** Withdraws the open question. */
  #withdrawal = new AbortController();
  #renewal: Renewal | undefined;

  constructor({ context, origin, headers, questions }: CredentialsSetup) {
    this.#context = context;
    this.#origin = origin;
    this.#headers = headers;
    this.#questions = questions;
  }

  /** The card defines how; before it is read, a bearer token is assumed. */
  learn(...card: Parameters<typeof wantedBy>): void {
    const wanted = wantedBy(...card);
    const isUnsupported = wanted.length === 0 && Object.keys(card[0]).length > 0;
    this.#schemes = { wanted: wanted.length > 0 ? wanted : this.#schemes.wanted, isUnsupported };
  }

  /** The request with the profile's headers and the secrets, for this origin only; and which edition of them it bears. */
  sign(request: HttpRequest): { readonly request: HttpRequest; readonly edition: number } {
    const { values, edition } = this.#secrets;
    if (new URL(request.url).origin !== this.#origin) return { request, edition };
    let signed: HttpRequest = { ...request, headers: { ...request.headers, ...this.#headers } };
    for (const [at, { way }] of this.#schemes.wanted.entries()) {
      const secret = values[at];
      if (secret !== undefined) signed = bearing(signed, way, secret);
    }
    return { request: signed, edition };
  }

  /** The user does something: they may be asked again. */
  freshen(): void {
    this.#asksLeft = ASKS;
  }

  /**
   * The server refused what bore that edition: true when there is something else to try. False when the signal fires; a question that nobody
   * waits for any more is taken back.
   */
  async renew(words: string, edition: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#renewal && edition !== this.#secrets.edition) return true;
    this.#renewal ??= this.#begin(words);
    const renewal = this.#renewal;
    renewal.join();
    try {
      return await unless(signal, renewal.done);
    } finally {
      renewal.leave();
      if (renewal.isAbandoned) this.#withdrawal.abort();
    }
  }

  /** A request that had been refused was taken with these: they are kept. */
  async accepted(): Promise<void> {
    this.#asksLeft = ASKS;
    const { secrets } = this.#context.ports;
    for (const [at, { scheme }] of this.#schemes.wanted.entries()) {
      const secret = this.#secrets.values[at];
      if (secret !== undefined && (await secrets?.get(this.#name(scheme))) !== secret) await secrets?.set(this.#name(scheme), secret);
    }
  }

  #begin(words: string): Renewal {
    const done = this.#renew(words).finally(() => {
      this.#renewal = undefined;
    });
    return new Renewal(done);
  }

  /** No request waits for the user any more. */
  get #isAbandoned(): boolean {
    return this.#renewal?.isAbandoned ?? false;
  }

  async #renew(words: string): Promise<boolean> {
    const mark = (all: readonly string[]) => JSON.stringify(all);
    const { values } = this.#secrets;
    const before = values.length > 0;
    if (before) this.#refused.add(mark(values));
    this.#change([]);
    const stored = await this.#stored();
    if (stored && this.#canBeSent(stored) && !this.#refused.has(mark(stored))) return this.#change(stored);
    if (this.#asksLeft <= 0 || this.#isAbandoned || this.#context.signal.aborted) return false;
    this.#asksLeft -= 1;
    let entered = await this.#ask(before ? t('{0} did not accept the key.', this.#origin) : '', words);
    while (entered && !this.#canBeSent(entered)) {
      entered = await this.#ask(t('{0} did not accept the key.', this.#origin), words);
    }
    // A user who declines is left alone until they act themselves.
    if (!entered) this.#asksLeft = this.#isAbandoned ? this.#asksLeft + 1 : 0;
    return entered !== undefined && this.#change(entered);
  }

  #canBeSent(secrets: readonly string[]): boolean {
    return this.#schemes.wanted.every(({ way }, at) => canBeSent(secrets[at] ?? '', way));
  }

  #change(secrets: readonly string[]): true {
    this.#secrets = { values: secrets, edition: this.#secrets.edition + 1 };
    return true;
  }

  async #stored(): Promise<readonly string[] | undefined> {
    const all = await Promise.all(this.#schemes.wanted.map(({ scheme }) => this.#context.ports.secrets?.get(this.#name(scheme))));
    const given = all.filter((one) => one !== undefined && one !== '');
    return given.length === this.#schemes.wanted.length ? (given as readonly string[]) : undefined;
  }

  #name(scheme: string): string {
    return this.#schemes.wanted.length > 1 ? `a2a:${this.#origin}#${scheme}` : `a2a:${this.#origin}`;
  }

  /** Returns the secrets that the user enters, one for each scheme that is wanted; undefined when one is missing. */
  async #ask(before: string, words: string): Promise<readonly string[] | undefined> {
    const why = this.#schemes.isUnsupported ? t('Its own way to sign in is not supported; paste a token.') : '';
    const body = [before, words, why].filter(Boolean).join('\n\n');
    const { wanted } = this.#schemes;
    const fields = wanted.map(({ way, scheme }, at): Field => {
      const label = wanted.length > 1 ? `${labelOf(way)} (${scheme})` : labelOf(way);
      return { id: fieldId(at), label, kind: 'secret', required: true, ...(body && at === 0 ? { body } : {}) };
    });
    this.#withdrawal = new AbortController();
    const title = t('{0} requires credentials', this.#origin);
    const answer = await this.#questions.ask({ kind: 'question', ours: true, title, fields }, this.#withdrawal.signal);
    const values = answer.kind === 'fields' ? answer.values : {};
    const given = this.#schemes.wanted.map(({ way }, at) => tidied(values[fieldId(at)]?.[0] ?? '', way));
    return given.includes('') ? undefined : given;
  }
}

/** False as soon as the signal fires. */
function unless(signal: AbortSignal, promise: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const fired = () => resolve(false);
    signal.addEventListener('abort', fired, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', fired));
    if (signal.aborted) fired();
  });
}

function fieldId(at: number): string {
  return at === 0 ? 'secret' : `secret${at + 1}`;
}

function labelOf(way: SecretPlacement): string {
  if (way.how === 'basic') return 'user:password';
  return way.how === 'key' ? t('API key') : t('Token');
}

function bearing(request: HttpRequest, way: SecretPlacement, secret: string): HttpRequest {
  const headers = { ...request.headers };
  if (way.how === 'bearer') return { ...request, headers: { ...headers, authorization: `Bearer ${secret}` } };
  if (way.how === 'basic') return { ...request, headers: { ...headers, authorization: `Basic ${Buffer.from(secret).toString('base64')}` } };
  if (way.place === 'header') return { ...request, headers: { ...headers, [way.name]: secret } };
  if (way.place === 'cookie') {
    const cookie = [headers.cookie, `${way.name}=${encodeURIComponent(secret)}`].filter(Boolean).join('; ');
    return { ...request, headers: { ...headers, cookie } };
  }
  const url = new URL(request.url);
  url.searchParams.set(way.name, secret);
  return { ...request, url: url.href, headers };
}

/** A name as headers and cookies have them. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that say how the request itself is framed and where it goes. */
const FRAMING =
  /^(host|connection|content-length|content-type|content-encoding|transfer-encoding|upgrade|te|trailer|expect|keep-alive|accept)$/i;

/** The place of a secret in a request. */
export type SecretPlacement =
  | { readonly how: 'bearer' }
  | { readonly how: 'basic' }
  | { readonly how: 'key'; readonly place: 'header' | 'query' | 'cookie'; readonly name: string };

/** One secret that is wanted; `scheme` is its name in the card. */
export interface Wanted {
  readonly scheme: string;
  readonly way: SecretPlacement;
}
type Schemes = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * The credentials to send together: the card's first alternative whose schemes are all supported, or its first supported scheme if it has no
 * alternatives. Empty if none is supported (docs/protocols/a2a.md §15).
 */
export function wantedBy(schemes: Schemes, alternatives: readonly Readonly<Record<string, unknown>>[]): readonly Wanted[] {
  const known = new Map<string, SecretPlacement>();
  for (const [scheme, facts] of Object.entries(schemes)) {
    const way = wayOf(facts);
    if (way) known.set(scheme, way);
  }
  const all = [...known].map(([scheme, way]) => ({ scheme, way }));
  // 1.0 wraps the names; an empty alternative means that no credentials are needed.
  const sets = alternatives.map((one) => Object.keys(isRecord(one.schemes) ? one.schemes : one)).filter((names) => names.length > 0);
  if (sets.length === 0) return all.slice(0, 1);
  const fitting = sets.find((names) => names.every((name) => known.has(name)));
  return all.filter(({ scheme }) => fitting?.includes(scheme));
}

/** Both versions' spellings; undefined for what needs a browser or a certificate, or could not be sent. */
function wayOf(scheme: Readonly<Record<string, unknown>>): SecretPlacement | undefined {
  const http = isRecord(scheme.httpAuthSecurityScheme) ? scheme.httpAuthSecurityScheme : scheme.type === 'http' ? scheme : undefined;
  if (http && typeof http.scheme === 'string') {
    if (/^bearer$/i.test(http.scheme)) return { how: 'bearer' };
    return /^basic$/i.test(http.scheme) ? { how: 'basic' } : undefined;
  }
  const key = isRecord(scheme.apiKeySecurityScheme) ? scheme.apiKeySecurityScheme : scheme.type === 'apiKey' ? scheme : undefined;
  const place = key?.location ?? key?.in;
  if (!key || typeof key.name !== 'string' || (place !== 'header' && place !== 'query' && place !== 'cookie')) return undefined;
  if (place !== 'query' && !NAME.test(key.name)) return undefined;
  if (place === 'header' && FRAMING.test(key.name)) return undefined;
  return { how: 'key', place, name: key.name };
}

/** A secret as it was meant: pasted ones come with line ends, with blanks around them, or with the scheme's word in front. '' when nothing is left. */
export function tidied(typed: string, way: SecretPlacement): string {
  const line = typed.replace(/\s*[\r\n]+\s*/g, '').trim();
  if (way.how === 'key') return way.place === 'header' ? after(line, `${way.name}:`) : line;
  const bare = after(line, 'authorization:');
  if (way.how === 'bearer') return after(bare, 'bearer ');
  const encoded = after(bare, 'basic ');
  if (encoded === bare) return bare;
  // Values in a header are already encoded.
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  return decoded.includes(':') ? decoded : bare;
}

/** False for what no request could carry there. */
export function canBeSent(secret: string, way: SecretPlacement): boolean {
  // The others are encoded on the way.
  if (way.how === 'basic' || (way.how === 'key' && way.place !== 'header')) return true;
  try {
    validateHeaderValue('x', secret);
    return true;
  } catch {
    return false;
  }
}

function after(text: string, word: string): string {
  return text.toLowerCase().startsWith(word.toLowerCase()) ? text.slice(word.length).trim() : text;
}
