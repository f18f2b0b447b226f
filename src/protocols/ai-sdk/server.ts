import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { inSentences, t, unreadable } from '../../base/l10n.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { Remedy, ToolCall } from '../../session/model.ts';
import { HttpClient, type HttpRequest, originOf, retryAfter } from '../../transport/http.ts';
import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import type { LinkEvents, OpenLink } from '../../transport/link.ts';
import { HttpFailure } from '../../transport/link.ts';
import { SseReader } from '../../transport/sse.ts';
import type { AdapterContext, Launch, LaunchOptions } from '../adapter.ts';
import type { Tool, ToolAnswer } from '../ports.ts';
import { runTool } from '../runTool.ts';
import { otherProtocol } from './codec.ts';
import { type AiSdkSettings, isRecord, type Learned, type ResumePoint } from './schema.ts';
import type { Opened, Refused } from './state.ts';

/* One server: its profile, its responses as links, and the requests beside them. */

export type HttpLaunch = Extract<Launch, { kind: 'http' }>;
/** Facts that conversations have learned about servers, by address. They last as long as the window. */
export type Memory = Map<string, Learned>;

/** One server as its profile describes it now: its requests, its key, and our tools that run for it. */
export class ChatServer {
  readonly #client = new HttpClient();
  readonly #context: AdapterContext;
  readonly #memory: Memory;
  #launch: HttpLaunch;
  #read: ReturnType<typeof readSettings>;
  /** The key that the user entered for this server, from the editor's secret storage. */
  #key: string | undefined;

  constructor(launch: HttpLaunch, context: AdapterContext, memory: Memory) {
    this.#context = context;
    this.#memory = memory;
    this.#launch = launch;
    this.#read = readSettings(launch);
  }

  get settings() {
    return this.#read.settings;
  }
  get problems() {
    return this.#read.problems;
  }
  get mayHaveKey(): boolean {
    return needsKey(this.#launch) && this.#context.ports.secrets !== undefined;
  }
  get learned(): Learned {
    const { url } = this.settings;
    const known = this.#memory.get(url) ?? { flow: 'unknown', v5: false, resultUrl: null, told: false };
    this.#memory.set(url, known);
    return known;
  }

  readonly openChat: OpenLink = (params, events) => {
    const { body, resume } = params as { readonly body?: object; readonly resume?: ResumePoint };
    const stop = new AbortController();
    const place = resume ? resumeAddress(this.settings, resume) : { url: this.settings.url, replay: false };
    if (place) {
      const request = { url: place.url, signal: stop.signal, ...(body === undefined ? {} : { body }) };
      void readResponse(this.#exchange, request, events, (answer) => events.message('opened', this.#opened(answer, place.replay)));
    } else {
      events.message('refused', { status: 404, message: '', next: [], said: '' });
      queueMicrotask(() => events.closed({ reason: '' }));
    }
    return {
      request: () => Promise.reject(new Error('A response takes no requests.')),
      notify: () => {},
      answer: () => {},
      close: () => stop.abort(),
    };
  };

  #opened({ headers }: HttpAnswer, replay: boolean): Opened {
    const named = (name: string): string | null => {
      const value = headers[name];
      return typeof value === 'string' && value !== '' ? value.slice(0, 1024) : null;
    };
    const stopUrl = stopAddress(this.settings, named('link'));
    return { resumableId: named('x-resumable-stream-id'), runId: named('x-workflow-run-id'), stopUrl, replay };
  }

  readonly port = async (args: ServerCall, signal: AbortSignal): Promise<unknown> => {
    switch (args.do) {
      case 'settings':
        return this.#reread();
      case 'learn':
        return void Object.assign(this.learned, args.change);
      case 'result':
        return postResult(this.#exchange, args.url, args.body, signal);
      case 'notifyClose':
        return this.#notifyClose(args.urls, args.bodies, signal);
      case 'stop': {
        const headers = { 'content-type': 'application/json', ...this.#exchange.headers };
        const answer = await this.#client.request({ method: 'POST', url: args.url, headers, body: '{}', signal });
        return answer.dispose();
      }
    }
  };

  readonly keepKey = async ({ key }: { readonly key: string }): Promise<void> => {
    this.#key = key;
    await this.#context.ports.secrets?.set(this.#keyName, key);
  };

  readonly runTool = async (
    args: { readonly do: 'look' | 'run'; readonly name: string; readonly input: unknown },
    signal: AbortSignal,
  ): Promise<ToolAnswer | object> => {
    const { tools, remoteFileTools = [] } = this.#context.ports;
    const all = [...tools, ...remoteFileTools];
    const { name, input } = args;
    if (args.do === 'look')
      return lookOf(
        all.find((tool) => tool.name === name),
        input,
      );
    return runTool(all, { name, input, signal, log: this.#context.log });
  };

  dispose(): void {
    this.#client.dispose();
  }

  get #exchange(): Exchange {
    const { log, trace, now } = this.#context;
    const { headers } = this.#launch;
    const own = this.#key === undefined || !this.mayHaveKey ? {} : { authorization: `Bearer ${this.#key}` };
    return { client: this.#client, headers: { ...own, ...headers }, log, trace, now };
  }

  /** Keys go to the origin they were entered for and to no other. */
  get #keyName(): string {
    return `ai-sdk:${new URL(this.settings.url).origin}`;
  }

  /** Reads the profile again: a key may have been set since, or an address changed. */
  async #reread(): Promise<object> {
    let problems: readonly string[] = [];
    try {
      const launch = await this.#context.launch?.();
      if (launch?.kind === 'http' && JSON.stringify(launch) !== JSON.stringify(this.#launch)) {
        this.#launch = launch;
        this.#read = readSettings(launch);
        problems = this.#read.problems;
      }
      this.#key = await this.#context.ports.secrets?.get(this.#keyName);
    } catch (error) {
      this.#context.log.warn(`The settings could not be read again: ${messageOf(error)}`);
    }
    return { settings: this.settings, problems, mayHaveKey: this.mayHaveKey, learned: { ...this.learned } };
  }

  async #notifyClose(urls: readonly string[], bodies: readonly object[], signal: AbortSignal): Promise<void> {
    await Promise.all(
      bodies.map(async (body) => {
        for (const url of urls) if ((await postResult(this.#exchange, url, body, signal)).how === 'accepted') return;
      }),
    );
  }
}

type ServerCall =
  | { readonly do: 'settings' }
  | { readonly do: 'learn'; readonly change: Partial<Learned> }
  | { readonly do: 'result'; readonly url: string; readonly body: object }
  | { readonly do: 'notifyClose'; readonly urls: readonly string[]; readonly bodies: readonly object[] }
  | { readonly do: 'stop'; readonly url: string };

/** How a call of one of our tools is shown: as what it is about to do, where the tool can tell that from its input. */
function lookOf(tool: Tool | undefined, input: unknown): Partial<Pick<ToolCall, 'title' | 'kind'>> {
  try {
    const needed = tool?.confirm?.(input);
    if (needed) return { title: needed.detail.type === 'command' ? needed.detail.command : needed.title, kind: needed.kind };
  } catch {
    // Input of another shape: running the tool will say so.
  }
  const file = isRecord(input) ? input.path : undefined;
  const question = isRecord(input) ? input.question : undefined;
  if (typeof question === 'string') return { title: question.slice(0, 200) };
  return tool && typeof file === 'string' ? { title: `${tool.name} ${file}`.slice(0, 200) } : {};
}

// --- The profile

const flag = z.enum(['true', 'false']);
const options = {
  toolFlow: z.enum(['auto', 'repost', 'held', 'user-message']),
  tools: z.enum(['record', 'mastra', 'array', 'none']),
  history: z.enum(['full', 'last']),
  compat: z.enum(['auto', 'v5']),
  replay: flag,
  errorsAsOutput: flag,
  hands: flag,
  maxAutoPosts: z.string().check(z.regex(/^[1-9]\d{0,3}$/)),
  toolResultUrl: z.string(),
  resumeUrl: z.string(),
  stopUrl: z.string(),
  system: z.string(),
  body: z.string(),
} as const;

/** The allowed values of an enumeration. */
function invalid(name: keyof typeof options, value: string): string {
  const schema: unknown = options[name];
  const words =
    isRecord(schema) && isRecord(schema.def) && isRecord(schema.def.entries) ? Object.values(schema.def.entries).join(', ') : '…';
  return t('Option {0}: “{1}” is invalid. Expected: {2}', name, value.slice(0, 100), words);
}

/** Reads a profile. An option that cannot be used is named in `problems` and left at its default. */
export function readSettings(launch: HttpLaunch): { readonly settings: AiSdkSettings; readonly problems: readonly string[] } {
  const given: LaunchOptions = launch.options ?? {};
  const problems = Object.keys(given)
    .filter((name) => !Object.hasOwn(options, name))
    .map((name) => t('Option {0}: “{1}” is invalid. Expected: {2}', name, given[name] ?? '', Object.keys(options).join(', ')));
  const read = <K extends keyof typeof options>(name: K): z.infer<(typeof options)[K]> | undefined => {
    const value = given[name];
    if (value === undefined) return undefined;
    const parsed = options[name].safeParse(value);
    if (!parsed.success) problems.push(invalid(name, value));
    return parsed.success ? (parsed.data as z.infer<(typeof options)[K]>) : undefined;
  };
  const address = (name: 'toolResultUrl' | 'stopUrl'): string | null => {
    const value = read(name);
    if (value === undefined) return null;
    // Braces of placeholders would be escaped.
    if (URL.canParse(value, launch.url)) return new URL(value, launch.url).href.replaceAll('%7B', '{').replaceAll('%7D', '}');
    problems.push(t('Option {0}: “{1}” is invalid. Expected: {2}', name, value.slice(0, 100), 'URL'));
    return null;
  };
  const url = new URL(launch.url);
  const resultUrl = address('toolResultUrl');
  const settings: AiSdkSettings = {
    url: launch.url,
    host: url.host,
    isLocal: /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname),
    body: bodyOption(read('body'), problems),
    toolFlow: read('toolFlow') ?? 'auto',
    tools: read('tools') ?? 'record',
    history: read('history') ?? 'full',
    compat: read('compat') ?? 'auto',
    replay: read('replay') !== 'false',
    errorsAsOutput: read('errorsAsOutput') === 'true',
    fileTools: read('hands') !== 'false',
    maxAutoPosts: Number(read('maxAutoPosts') ?? 25),
    resultUrls: resultUrl === null ? resultUrlsOf(url) : [resultUrl],
    stopUrl: address('stopUrl'),
    resumeUrl: read('resumeUrl') ?? null,
    system: read('system') ?? null,
  };
  return { settings, problems };
}

/** An address for each server that a profile names, the chat's first. Options may name others than the chat's. */
export function serversOf({ url, options: given = {} }: HttpLaunch): readonly URL[] {
  const named = [given.toolResultUrl, given.stopUrl, given.resumeUrl].filter((value) => value !== undefined && URL.canParse(value, url));
  const all = [url, ...named].map((value) => new URL(value ?? url, url));
  return [...new Map(all.map((address) => [address.origin, address])).values()];
}

function bodyOption(text: string | undefined, problems: string[]): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {}
  problems.push(t('Option {0}: “{1}” is invalid. Expected: {2}', 'body', text.slice(0, 100), '{…}'));
  return {};
}

/** The profile names no authorization of its own. */
export function needsKey(launch: HttpLaunch): boolean {
  return !Object.keys(launch.headers).some((name) => name.toLowerCase() === 'authorization');
}

/** The address with more of a path. The query stays behind it. */
function extended(url: string, more: string): string {
  const target = new URL(url);
  target.pathname = `${target.pathname.replace(/\/$/, '')}/${more}`;
  return target.href;
}

/** Where results of held calls may be taken, in the order they are tried. */
function resultUrlsOf({ href, origin, search }: URL): readonly string[] {
  return [...new Set([extended(href, 'tool-result'), `${origin}/chat/tool-result${search}`])];
}

/** Where to ask for the rest of a cut response, and whether it will begin at its beginning; undefined when there is no such place. */
export function resumeAddress(settings: AiSdkSettings, point: ResumePoint): { readonly url: string; readonly replay: boolean } | undefined {
  const { resumeUrl, replay } = settings;
  if (resumeUrl === 'none') return undefined;
  if (resumeUrl === null) {
    if (point.runId === null) return { url: extended(settings.url, `${encodeURIComponent(point.chatId)}/stream`), replay };
    const url = new URL(extended(settings.url, `${encodeURIComponent(point.runId)}/stream`));
    url.searchParams.set('startIndex', String(point.received));
    return { url: url.href, replay: false };
  }
  const values: Readonly<Record<string, string | null | undefined>> = { ...point, received: String(point.received) };
  let isWhole = true;
  const filled = resumeUrl.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? undefined;
    if (value === undefined) isWhole = false;
    return encodeURIComponent(value ?? '');
  });
  return isWhole && URL.canParse(filled, settings.url) ? { url: new URL(filled, settings.url).href, replay } : undefined;
}

/** The address at which the response can be stopped, as the server names it. Headers go to no other origin than the chat's. */
export function stopAddress(settings: AiSdkSettings, link: string | null): string | null {
  const named = /<([^<>]+)>\s*;\s*rel="?stop"?(?=[\s;,]|$)/.exec(link ?? '')?.[1];
  if (named === undefined || !URL.canParse(named, settings.url)) return null;
  const url = new URL(named, settings.url);
  return url.origin === new URL(settings.url).origin ? url.href : null;
}

// --- A chat response

/** The client that talks to the server, and its headers. */
export interface Exchange {
  readonly client: HttpClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  readonly trace: (way: 'in' | 'out', message: unknown) => void;
  readonly now: () => number;
}

/** There was no answer. A link reports it as the message `failed`. */
export interface Failed {
  readonly kind: HttpFailure['kind'];
  readonly message: string;
}

class RefusedResponse extends Error {
  readonly refused: Refused;
  constructor(refused: Refused) {
    super(refused.message);
    this.refused = refused;
  }
}

const TEXT_LIMIT = 2000;

/**
 * Reads one response into a link: `sent` {size}, then `opened` {headers} or `refused` or `failed`, then the events that arrived together as `chunk` or
 * `chunks` (as its own name, when one has a name and no type), `done` for [DONE], and `tooLong`. Settles after `closed`, and never rejects.
 */
export async function readResponse(
  exchange: Exchange,
  request: { readonly url: string; readonly body?: object; readonly signal: AbortSignal },
  events: LinkEvents,
  opened: (answer: HttpAnswer) => void,
): Promise<void> {
  let body: string | undefined;
  if (request.body !== undefined) {
    body = JSON.stringify(request.body);
    exchange.trace('out', request.body);
    events.message('sent', { size: body.length });
  }
  let answer: HttpAnswer;
  try {
    const { url, signal } = request;
    answer = await openStream(exchange, {
      method: body === undefined ? 'GET' : 'POST',
      url,
      signal,
      ...(body === undefined ? {} : { body }),
    });
  } catch (error) {
    if (error instanceof RefusedResponse) events.message('refused', error.refused);
    else if (error instanceof HttpFailure) events.message('failed', { kind: error.kind, message: error.message } satisfies Failed);
    else events.message('failed', { kind: 'internal', message: messageOf(error) });
    return events.closed({ reason: messageOf(error) });
  }
  opened(answer);
  const end = await readEvents(exchange, answer, events);
  events.closed(end === undefined ? { reason: t('The connection was lost.') } : { reason: end, failure: 'broken' });
}

/** Reads the body. Gives what broke it, or undefined after a clean end. */
export async function readEvents(
  exchange: Pick<Exchange, 'trace'>,
  answer: Pick<HttpAnswer, 'read'>,
  events: LinkEvents,
): Promise<string | undefined> {
  let chunks: unknown[] = [];
  const flush = () => {
    if (chunks.length === 0) return;
    const together = chunks;
    chunks = [];
    if (together.length === 1) events.message('chunk', together[0]);
    else events.message('chunks', together);
  };
  const tell = (method: string, params: unknown) => {
    flush();
    events.message(method, params);
  };
  const reader = new SseReader(
    ({ data, event }) => {
      if (data === '') return;
      if (data === '[DONE]' || data.trim() === '[DONE]') return tell('done', null);
      let value: unknown;
      try {
        value = parseJson(data);
      } catch {
        flush();
        return events.junk(data.slice(0, 200));
      }
      exchange.trace('in', value);
      if (event !== undefined && isRecord(value) && value.type === undefined) tell(event, value);
      else chunks.push(value);
    },
    { onTooLong: () => tell('tooLong', null) },
  );
  let broken: string | undefined;
  try {
    await answer.read((bytes) => {
      reader.push(bytes);
      flush();
    });
  } catch (error) {
    broken = messageOf(error);
  }
  reader.end();
  flush();
  return broken;
}

/** Asks for an event stream. Rejects with RefusedResponse for any other answer, with HttpFailure when there was none. */
async function openStream(exchange: Exchange, request: Pick<HttpRequest, 'method' | 'url' | 'body' | 'signal'>): Promise<HttpAnswer> {
  const answer = await exchange.client.request({
    ...request,
    headers: {
      accept: 'text/event-stream',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...exchange.headers,
    },
  });
  if (!answer.ok) throw new RefusedResponse(await refusalOf(answer, request.url, exchange.now()));
  const { status, type } = answer;
  const refuse = (message: string, next: readonly Remedy[]) => new RefusedResponse({ status, message, next, said: message });
  if (answer.headers['x-vercel-ai-data-stream'] !== undefined) {
    answer.dispose();
    throw refuse(otherProtocol(), ['openSettings']);
  }
  if (type === 'text/event-stream') return answer;
  if (/^\w:["[{]/.test(await bodyOf(answer))) throw refuse(otherProtocol(), ['openSettings']);
  const shown = type === '' ? '–' : type;
  throw refuse(unreadable(`${originOf(request.url)}: no stream (status ${status}, ${shown})`), ['retry', 'openSettings']);
}

async function refusalOf(answer: HttpAnswer, url: string, now: number): Promise<Refused> {
  const said = messageIn(await bodyOf(answer), answer.type);
  const { status } = answer;
  const short = t('{0} answered with status {1}', originOf(url), status);
  const text = said === '' ? short : `${short}: ${said}`;
  if (status === 401 || status === 403)
    return {
      status,
      message: inSentences(text, t('{0} did not accept the key.', originOf(url))),
      next: ['openSettings', 'retry'],
      said: text,
    };
  if (status === 404 || status === 405) return { status, message: text, next: ['openSettings', 'retry'], said: text };
  const wait = status === 429 || status === 503 ? retryAfter(answer.headers, now) : undefined;
  const message = wait === undefined ? text : `${text} (Retry-After: ${Math.ceil(wait / 1000)} s)`;
  return { status, message, next: ['retry'], said: text };
}

/** The body of an error as far as it arrived. */
async function bodyOf(answer: HttpAnswer): Promise<string> {
  try {
    return await answer.text();
  } catch {
    return '';
  }
}

function messageIn(body: string, type: string): string {
  let text = body;
  try {
    const value: unknown = parseJson(body);
    if (isRecord(value)) {
      const inner = isRecord(value.error) ? value.error.message : value.error;
      const said = [inner, value.message, value.detail].find((one) => typeof one === 'string' && one !== '');
      if (typeof said === 'string') text = said;
    }
  } catch {
    // Of a page for a browser only the title is worth showing.
    if (type === 'text/html' || /^\s*<(!doctype|html)/i.test(body)) text = /<title>([^<]*)<\/title>/i.exec(body)?.[1] ?? '';
  }
  return text.trim().slice(0, TEXT_LIMIT);
}

// --- Results of held calls

/** `notYet`: worth another try, because a server may announce a call before it waits for the result. */
export type PostedResult =
  | { readonly how: 'accepted' }
  | { readonly how: 'notYet'; readonly why: string }
  | { readonly how: 'refused'; readonly why: string; readonly key: string | null };

/** Posts one result. Never rejects for what the server does. */
export async function postResult(exchange: Exchange, url: string, body: object, signal: AbortSignal): Promise<PostedResult> {
  exchange.trace('out', { url: new URL(url).pathname, ...body });
  try {
    const headers = { 'content-type': 'application/json', accept: 'application/json', ...exchange.headers };
    const answer = await exchange.client.request({ method: 'POST', url, headers, body: JSON.stringify(body), signal });
    const { status } = answer;
    if (answer.ok && answer.type === 'application/json') {
      const no = await noIn(answer, url);
      return no === undefined ? { how: 'accepted' } : { how: 'refused', why: no, key: null };
    }
    if (answer.ok) {
      answer.dispose();
      // A server that shows a page at every address has taken nothing.
      if (answer.type === 'text/html')
        return {
          how: 'refused',
          why: unreadable(`${originOf(url)}: no stream (status ${answer.status}, ${answer.type})`),
          key: null,
        };
      return { how: 'accepted' };
    }
    if (status === 404 || status === 405 || status === 409 || status === 425 || status === 429 || status >= 500)
      return { how: 'notYet', why: (await refusalOf(answer, url, exchange.now())).said };
    const { message, said } = await refusalOf(answer, url, exchange.now());
    return { how: 'refused', why: message, key: status === 401 ? said : null };
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    if (error.kind === 'redirect' || error.kind === 'certificate') return { how: 'refused', why: error.message, key: null };
    exchange.log.info(`Handing in a result failed: ${messageOf(error)}`);
    return { how: 'notYet', why: messageOf(error) };
  }
}

/** `{"ok": false}` is a no with the status of a yes. undefined: anything else. */
async function noIn(answer: HttpAnswer, url: string): Promise<string | undefined> {
  const body = await bodyOf(answer);
  try {
    const value: unknown = parseJson(body);
    if (!isRecord(value) || value.ok !== false) return undefined;
  } catch {
    return undefined;
  }
  const said = messageIn(body, answer.type);
  return said.startsWith('{') ? t('{0} answered with status {1}', originOf(url), answer.status) : said;
}
