import { say } from '../../base/say.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId } from '../../session/model.ts';
import type { HttpRequest } from '../../transport/http.ts';
import type { Scene } from '../adapter.ts';
import { isRecord } from './words.ts';

/** How a server wants to be shown a secret. */
type Way =
  | { readonly how: 'bearer' }
  | { readonly how: 'basic' }
  | { readonly how: 'key'; readonly place: 'header' | 'query' | 'cookie'; readonly name: string };

/**
 * Secrets for one origin (a2a.md §15): none are sent until the server refuses, and none ever leave the origin. A person is asked once; what
 * they enter is kept by the editor's secret storage.
 */
export class Credentials {
  readonly #scene: Scene;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #origin: string;
  #way: Way = { how: 'bearer' };
  #unsupported = false;
  #secret: string | undefined;
  /** The stored one was refused, or there is none: the person was asked. */
  #tried: 'nothing' | 'stored' | 'person' = 'nothing';
  readonly #asks = new Map<AskId, (value: string | undefined) => void>();
  #renewing: Promise<boolean> | undefined;

  constructor(scene: Scene, origin: string, headers: Readonly<Record<string, string>>) {
    this.#scene = scene;
    this.#origin = origin;
    this.#headers = headers;
  }

  /** The card says how; before it is read, a bearer token is meant. */
  learn(schemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>): void {
    const ways = Object.values(schemes).map(wayOf);
    const way = ways.find((one) => one !== undefined);
    if (way) this.#way = way;
    this.#unsupported = way === undefined && ways.length > 0;
  }

  /** The request with the profile's headers and the secret, for this origin only. */
  sign(request: HttpRequest): HttpRequest {
    if (new URL(request.url).origin !== this.#origin) return request;
    const headers = { ...request.headers, ...this.#headers };
    if (this.#secret === undefined) return { ...request, headers };
    const way = this.#way;
    switch (way.how) {
      case 'bearer':
        return { ...request, headers: { ...headers, authorization: `Bearer ${this.#secret}` } };
      case 'basic':
        return { ...request, headers: { ...headers, authorization: `Basic ${Buffer.from(this.#secret).toString('base64')}` } };
      case 'key': {
        if (way.place === 'header') return { ...request, headers: { ...headers, [way.name]: this.#secret } };
        if (way.place === 'cookie')
          return { ...request, headers: { ...headers, cookie: `${way.name}=${encodeURIComponent(this.#secret)}` } };
        const url = new URL(request.url);
        url.searchParams.set(way.name, this.#secret);
        return { ...request, url: url.href, headers };
      }
    }
  }

  /** The server refused: true when there is something new to try. */
  renew(words: string): Promise<boolean> {
    this.#renewing ??= this.#renew(words).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** True when the answer was to the question for a secret. */
  answer(id: AskId, answer: Answer): boolean {
    const settle = this.#asks.get(id);
    if (!settle) return false;
    settle(answer.kind === 'fields' ? Object.values(answer.values)[0]?.[0] : undefined);
    return true;
  }

  async #renew(words: string): Promise<boolean> {
    const { secrets } = this.#scene.ports;
    if (this.#tried === 'nothing') {
      this.#tried = 'stored';
      const stored = await secrets?.get(this.#name);
      if (stored) {
        this.#secret = stored;
        return true;
      }
    }
    if (this.#tried === 'person' || this.#scene.signal.aborted) return false;
    this.#tried = 'person';
    const entered = await this.#ask(words);
    if (!entered) return false;
    this.#secret = entered;
    await secrets?.set(this.#name, entered);
    return true;
  }

  get #name(): string {
    return `a2a:${this.#origin}`;
  }

  #ask(words: string): Promise<string | undefined> {
    const { emit, newId, signal } = this.#scene;
    const id = newId();
    const label =
      this.#way.how === 'basic' ? say('User name and password, as name:password') : this.#way.how === 'key' ? say('API key') : say('Token');
    const why = this.#unsupported ? say('Its own way to sign in is not supported here; a token can be pasted.') : '';
    return new Promise((resolve) => {
      const settle = (value: string | undefined) => {
        if (!this.#asks.delete(id)) return;
        signal.removeEventListener('abort', withdrawn);
        emit({ type: 'ask.closed', askId: id, how: value === undefined ? 'cancelled' : 'answered' });
        resolve(value === '' ? undefined : value);
      };
      const withdrawn = () => settle(undefined);
      this.#asks.set(id, settle);
      signal.addEventListener('abort', withdrawn, { once: true });
      const body = [words, why].filter(Boolean).join('\n\n');
      emit({
        type: 'ask.opened',
        ask: {
          kind: 'question',
          id,
          title: say('{0} wants credentials', this.#origin),
          fields: [{ id: 'secret', label, kind: 'secret', required: true, ...(body ? { body } : {}) }],
        },
      });
      if (signal.aborted) withdrawn();
    });
  }
}

/** Both versions' spellings; undefined for what needs a browser or a certificate. */
function wayOf(scheme: Readonly<Record<string, unknown>>): Way | undefined {
  const http = isRecord(scheme.httpAuthSecurityScheme) ? scheme.httpAuthSecurityScheme : scheme.type === 'http' ? scheme : undefined;
  if (http && typeof http.scheme === 'string') {
    if (/^bearer$/i.test(http.scheme)) return { how: 'bearer' };
    return /^basic$/i.test(http.scheme) ? { how: 'basic' } : undefined;
  }
  const key = isRecord(scheme.apiKeySecurityScheme) ? scheme.apiKeySecurityScheme : scheme.type === 'apiKey' ? scheme : undefined;
  const place = key?.location ?? key?.in;
  if (!key || typeof key.name !== 'string' || (place !== 'header' && place !== 'query' && place !== 'cookie')) return undefined;
  return { how: 'key', place, name: key.name };
}
