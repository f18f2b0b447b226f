import http, {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import https from 'node:https';
import { t } from '../base/l10n.ts';
import type { Disposable } from '../base/lifetime.ts';
import { HttpAnswer } from './httpAnswer.ts';
import { HttpFailure, unreachable, whyFailed } from './link.ts';
import { type AgentOptions, Sockets } from './sockets.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Absolute, http or https. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer's headers; null waits for ever. There is never a limit on the body. */
  readonly headersWithin?: number | null;
}
export interface HttpClientOptions extends AgentOptions {
  /** Milliseconds until a connection is open. */
  readonly connectWithin?: number;
}

const CONNECT_WITHIN = 15_000;
const HEADERS_WITHIN = 120_000;
const REDIRECTS = 5;

/**
 * HTTP for one conversation, over sockets of its own. `http.request` is looked up at each call, because the editor replaces it with one that
 * knows its proxies and certificates. No `fetch`: it drops idle sockets after seconds and ends a silent body after 300.
 */
export class HttpClient implements Disposable {
  readonly #options: HttpClientOptions;
  readonly #sockets: Sockets;
  readonly #open = new Set<ClientRequest>();
  readonly #over = new AbortController();

  constructor(options: HttpClientOptions = {}) {
    this.#options = options;
    this.#sockets = new Sockets(options);
  }

  /** How many requests are under way, bodies included. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Settles with the answer when its headers are there, whatever the status. Redirects are followed within the origin only, so that secrets in
   * headers go nowhere else. Rejects with HttpFailure.
   */
  async request(request: HttpRequest): Promise<HttpAnswer> {
    let { url } = request;
    for (let hop = 0; ; hop++) {
      const answer = await this.#once({ ...request, url });
      const next = redirectOf(answer, url, request.method);
      if (next === undefined) return answer;
      answer.dispose();
      if (hop === REDIRECTS)
        throw new HttpFailure(
          'redirect',
          t(
            '{0} could not be reached ({1}). Check the address, the network and whether the server runs.',
            originOf(url),
            'ERR_TOO_MANY_REDIRECTS',
          ),
        );
      url = next;
    }
  }

  /** Destroys every socket; requests that are under way reject. */
  dispose(): void {
    this.#over.abort();
    for (const one of [...this.#open]) one.destroy();
    this.#sockets.dispose();
  }

  /**
   * Closes all connections so that the servers notice; drops data that still arrives, and running requests reject within so many
   * milliseconds. True when all had closed their side by then.
   */
  hangUp(within: number): Promise<boolean> {
    this.#over.abort();
    for (const one of [...this.#open]) if (!one.socket) one.destroy();
    return this.#sockets.hangUp(within);
  }

  #once(request: HttpRequest): Promise<HttpAnswer> {
    const { signal } = request;
    if (!URL.canParse(request.url) || !/^https?:$/.test(new URL(request.url).protocol)) {
      return Promise.reject(new HttpFailure('address', t('“{0}” is not an http or https address.', request.url)));
    }
    if (this.#over.signal.aborted || signal?.aborted) return Promise.reject(new HttpFailure('aborted', t('Stopped')));
    const unsendable = unsendableOf(request);
    if (unsendable !== undefined) {
      const message = t(
        'The header “{0}” cannot be sent: it holds characters that are not allowed there. Check “headers” in the settings.',
        unsendable,
      );
      return Promise.reject(new HttpFailure('header', message));
    }
    const url = new URL(request.url);
    const secure = url.protocol === 'https:';
    const scheme = secure ? 'secure' : 'plain';
    const options: RequestOptions = {
      method: request.method,
      headers: headersOf(request),
      agent: this.#sockets.agent(scheme),
    };
    return new Promise((resolve, reject) => {
      const sent = (secure ? https : http).request(url, options);
      this.#sockets.sent(sent, scheme);
      this.#open.add(sent);
      let late: HttpFailure | undefined;
      const stop = () => sent.destroy();
      const timers = deadlines(
        {
          connect: this.#options.connectWithin ?? CONNECT_WITHIN,
          headers: request.headersWithin === undefined ? HEADERS_WITHIN : request.headersWithin,
        },
        (what, ms) => {
          late = new HttpFailure('timeout', tooLate(originOf(request.url), what, Math.round(ms / 1000)));
          sent.destroy();
        },
      );
      signal?.addEventListener('abort', stop, { once: true });
      const gone = () => {
        timers.clear();
        signal?.removeEventListener('abort', stop);
        this.#open.delete(sent);
      };
      sent.on('socket', (socket) => {
        if (!socket.connecting) return timers.connected();
        socket.once(secure ? 'secureConnect' : 'connect', timers.connected);
      });
      sent.on('response', (response: IncomingMessage) => {
        timers.clear();
        resolve(new HttpAnswer(response, request.url, [signal, this.#over.signal]));
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        reject(
          late ?? (signal?.aborted || this.#over.signal.aborted ? new HttpFailure('aborted', t('Stopped')) : whyFailed(request.url, error)),
        );
      });
      sent.on('close', () => {
        gone();
        // After an answer this changes nothing.
        reject(late ?? new HttpFailure(signal?.aborted || this.#over.signal.aborted ? 'aborted' : 'cut', t('The connection was lost.')));
      });
      sent.end(request.body);
    });
  }
}

/** The name of the first header that node would refuse. */
function unsendableOf({ headers = {} }: HttpRequest): string | undefined {
  return Object.keys(headers).find((name) => {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, headers[name] ?? '');
      return false;
    } catch {
      return true;
    }
  });
}

function headersOf(request: HttpRequest): Record<string, string> {
  // No compression: compressing servers and proxies often hold back an event stream.
  // Keeps the connection alive, with our HTTP agent or the editor's.
  const headers: Record<string, string> = { 'accept-encoding': 'identity', connection: 'keep-alive', ...request.headers };
  if (request.body !== undefined) headers['content-length'] = String(Buffer.byteLength(request.body));
  return headers;
}

function deadlines(
  within: { readonly connect: number; readonly headers: number | null },
  tooLate: (what: 'connect' | 'headers', ms: number) => void,
) {
  const connect = setTimeout(() => tooLate('connect', within.connect), within.connect);
  const { headers: ms } = within;
  const headers = ms === null ? undefined : setTimeout(() => tooLate('headers', ms), ms);
  return {
    connected: () => clearTimeout(connect),
    clear: () => {
      clearTimeout(connect);
      clearTimeout(headers);
    },
  };
}

function tooLate(origin: string, what: 'connect' | 'headers', seconds: number): string {
  return what === 'connect' ? unreachable(origin, `${seconds} s`) : t('The agent did not answer within {0} s.', seconds);
}

/** Where a redirect leads, or undefined when the answer is not a redirect. A POST is only repeated where the server says so by 307 or 308. */
function redirectOf(answer: HttpAnswer, from: string, method: HttpRequest['method']): string | undefined {
  const { location } = answer.headers;
  if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return undefined;
  const target = URL.canParse(location, from) ? new URL(location, from) : undefined;
  const mayRepeat = method === 'GET' || answer.status === 307 || answer.status === 308;
  if (target?.origin === new URL(from).origin && mayRepeat) return target.href;
  answer.dispose();
  if (target?.origin === new URL(from).origin) {
    // A posted body is never sent again.
    throw new HttpFailure('redirect', leadsTo(originOf(from), `${target.origin}${target.pathname} (${answer.status})`));
  }
  const where = target ? `${target.origin}${target.pathname}` : location.slice(0, 200);
  throw new HttpFailure('redirect', leadsTo(originOf(from), where));
}

/** An address that leads to another one, which only the user may choose. */
export function leadsTo(from: string, where: string): string {
  return t('{0} leads to {1}. If that is right, set it as the address.', from, where);
}

/** Scheme, host and port: the part of an address that may be shown and logged. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'the address';
}

const LONGEST_WAIT = 3_600_000;

/** How long a server asks us to wait, in milliseconds, an hour at most; undefined when it does not say. `now` in milliseconds since the epoch. */
export function retryAfter(headers: IncomingHttpHeaders, now: number): number | undefined {
  const value = headers['retry-after']?.trim();
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_WAIT);
}
