import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId } from '../../session/model.ts';
import type { HttpRequest } from '../../transport/http.ts';
import type { AdapterContext } from '../adapter.ts';
import { canBeSent, tidied } from './secretText.ts';
import { type Wanted, type Way, wantedBy } from './signIn.ts';

/** How often the user is asked before a request is given up: once, and once more after a slip. */
const ASKS = 2;
const BEARER: readonly Wanted[] = [{ scheme: '', way: { how: 'bearer' } }];

/**
 * Secrets for one origin (a2a.md §15): none are sent until the server refuses, and none ever leave the origin. What the user enters is kept by
 * the editor's secret storage once the server took it; what the server refuses later is asked for anew.
 */
export class Credentials {
  readonly #scene: AdapterContext;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #origin: string;
  #wanted = BEARER;
  #unsupported = false;
  /** One for each that is wanted. */
  #secrets: readonly string[] = [];
  /** What the server did not take, or takes no longer. */
  readonly #refused = new Set<string>();
  #asksLeft = ASKS;
  /** Another one for every change of the secrets. */
  #edition = 0;
  readonly #asks = new Map<AskId, (values: readonly string[] | undefined) => void>();
  #renewing: Promise<boolean> | undefined;
  /** Requests that wait for the user. */
  #waiting = 0;

  constructor(scene: AdapterContext, origin: string, headers: Readonly<Record<string, string>>) {
    this.#scene = scene;
    this.#origin = origin;
    this.#headers = headers;
  }

  /** The card says how; before it is read, a bearer token is meant. */
  learn(...card: Parameters<typeof wantedBy>): void {
    const wanted = wantedBy(...card);
    if (wanted.length > 0) this.#wanted = wanted;
    this.#unsupported = wanted.length === 0 && Object.keys(card[0]).length > 0;
  }

  /** The request with the profile's headers and the secrets, for this origin only; and which edition of them it bears. */
  sign(request: HttpRequest): { readonly request: HttpRequest; readonly edition: number } {
    const edition = this.#edition;
    if (new URL(request.url).origin !== this.#origin) return { request, edition };
    let signed: HttpRequest = { ...request, headers: { ...request.headers, ...this.#headers } };
    for (const [at, { way }] of this.#wanted.entries()) {
      const secret = this.#secrets[at];
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
    if (!this.#renewing && edition !== this.#edition) return true;
    this.#waiting += 1;
    this.#renewing ??= this.#renew(words).finally(() => {
      this.#renewing = undefined;
    });
    try {
      return await unless(signal, this.#renewing);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) for (const settle of [...this.#asks.values()]) settle(undefined);
    }
  }

  /** A request that had been refused was taken with these: they are kept. */
  async accepted(): Promise<void> {
    this.#asksLeft = ASKS;
    const { secrets } = this.#scene.ports;
    for (const [at, { scheme }] of this.#wanted.entries()) {
      const secret = this.#secrets[at];
      if (secret !== undefined && (await secrets?.get(this.#name(scheme))) !== secret) await secrets?.set(this.#name(scheme), secret);
    }
  }

  /** True when the answer was to the question for a secret. */
  answer(id: AskId, answer: Answer): boolean {
    const settle = this.#asks.get(id);
    if (!settle) return false;
    const values = answer.kind === 'fields' ? answer.values : {};
    const given = this.#wanted.map(({ way }, at) => tidied(values[fieldId(at)]?.[0] ?? '', way));
    settle(given.includes('') ? undefined : given);
    return true;
  }

  async #renew(words: string): Promise<boolean> {
    const mark = (all: readonly string[]) => JSON.stringify(all);
    const before = this.#secrets.length > 0;
    if (before) this.#refused.add(mark(this.#secrets));
    this.#change([]);
    const stored = await this.#stored();
    if (stored && this.#canBeSent(stored) && !this.#refused.has(mark(stored))) return this.#change(stored);
    if (this.#asksLeft <= 0 || this.#waiting === 0 || this.#scene.signal.aborted) return false;
    this.#asksLeft -= 1;
    let entered = await this.#ask(before ? t('The last one was not accepted.') : '', words);
    while (entered && !this.#canBeSent(entered)) {
      entered = await this.#ask(t('What was entered holds characters that cannot be sent. Was something else copied?'), words);
    }
    // Who does not want to is left alone until they do something themselves.
    if (!entered) this.#asksLeft = this.#waiting === 0 ? this.#asksLeft + 1 : 0;
    return entered !== undefined && this.#change(entered);
  }

  #canBeSent(secrets: readonly string[]): boolean {
    return this.#wanted.every(({ way }, at) => canBeSent(secrets[at] ?? '', way));
  }

  #change(secrets: readonly string[]): true {
    this.#secrets = secrets;
    this.#edition += 1;
    return true;
  }

  async #stored(): Promise<readonly string[] | undefined> {
    const all = await Promise.all(this.#wanted.map(({ scheme }) => this.#scene.ports.secrets?.get(this.#name(scheme))));
    const given = all.filter((one) => one !== undefined && one !== '');
    return given.length === this.#wanted.length ? (given as readonly string[]) : undefined;
  }

  #name(scheme: string): string {
    return this.#wanted.length > 1 ? `a2a:${this.#origin}#${scheme}` : `a2a:${this.#origin}`;
  }

  #ask(before: string, words: string): Promise<readonly string[] | undefined> {
    const { emit, newId, signal } = this.#scene;
    const id = newId();
    const why = this.#unsupported ? t('Its own way to sign in is not supported here; a token can be pasted.') : '';
    const body = [before, words, why].filter(Boolean).join('\n\n');
    const several = this.#wanted.length > 1;
    return new Promise((resolve) => {
      const settle = (values: readonly string[] | undefined) => {
        if (!this.#asks.delete(id)) return;
        signal.removeEventListener('abort', withdrawn);
        emit({ type: 'ask.closed', askId: id, how: values === undefined ? 'cancelled' : 'answered' });
        resolve(values);
      };
      const withdrawn = () => settle(undefined);
      this.#asks.set(id, settle);
      signal.addEventListener('abort', withdrawn, { once: true });
      emit({
        type: 'ask.opened',
        ask: {
          kind: 'question',
          id,
          ours: true,
          title: t('{0} wants credentials', this.#origin),
          fields: this.#wanted.map(({ way, scheme }, at) => ({
            id: fieldId(at),
            label: several ? `${labelOf(way)} (${scheme})` : labelOf(way),
            kind: 'secret',
            required: true,
            ...(body && at === 0 ? { body } : {}),
          })),
        },
      });
      if (signal.aborted) withdrawn();
    });
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

function labelOf(way: Way): string {
  if (way.how === 'basic') return t('User name and password, as name:password');
  return way.how === 'key' ? t('API key') : t('Token');
}

function bearing(request: HttpRequest, way: Way, secret: string): HttpRequest {
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
