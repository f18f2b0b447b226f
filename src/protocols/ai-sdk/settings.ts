import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import type { Launch, LaunchOptions } from '../adapter.ts';
import { isRecord } from './metadata.ts';

/** How to talk to one server (ai-sdk.md §1). */
export interface Settings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Extra top-level fields of every chat request. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly toolFlow: 'auto' | 'repost' | 'held' | 'user-message';
  readonly toolResultUrl?: string;
  /** How our tools are declared. */
  readonly tools: 'record' | 'mastra' | 'array' | 'none';
  /** `last`: the server keeps the conversation and wants the newest message only. */
  readonly history: 'full' | 'last';
  /** Where a cut response goes on; `{chatId}`, `{resumableId}`, `{runId}` and `{received}` are filled in. `none` switches it off. */
  readonly resumeUrl?: string;
  /** The server replays a resumed response from its beginning; otherwise it sends the rest. */
  readonly replay: boolean;
  readonly stopUrl?: string;
  readonly compat: 'auto' | 'v5';
  /** Requests in one turn without a user having done anything. */
  readonly maxAutoPosts: number;
  /** For servers that lose results which are errors. */
  readonly errorsAsOutput: boolean;
  /** The server may read files, and change them and run commands when the user allows it. */
  readonly hands: boolean;
  readonly system?: string;
}

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

/** Reads the profile; an option that cannot be used is named and left at its default. */
export function readSettings(launch: Extract<Launch, { kind: 'http' }>): {
  readonly settings: Settings;
  readonly problems: readonly string[];
} {
  const given: LaunchOptions = launch.options ?? {};
  const problems = Object.keys(given)
    .filter((name) => !Object.hasOwn(options, name))
    .map((name) => t('There is no option "{0}"; known are {1}.', name, Object.keys(options).join(', ')));
  const read = <K extends keyof typeof options>(name: K): z.infer<(typeof options)[K]> | undefined => {
    const value = given[name];
    if (value === undefined) return undefined;
    const parsed = options[name].safeParse(value);
    if (!parsed.success) problems.push(t('The option {0} cannot be "{1}".', name, value.slice(0, 100)));
    return parsed.success ? (parsed.data as z.infer<(typeof options)[K]>) : undefined;
  };
  const address = (name: 'toolResultUrl' | 'stopUrl'): { [P in typeof name]?: string } => {
    const value = read(name);
    if (value === undefined) return {};
    if (URL.canParse(value, launch.url)) return { [name]: new URL(value, launch.url).href };
    problems.push(t('The option {0} is no address.', name));
    return {};
  };
  const resumeUrl = read('resumeUrl');
  const system = read('system');
  const settings: Settings = {
    url: launch.url,
    headers: launch.headers,
    body: bodyOf(read('body'), problems),
    toolFlow: read('toolFlow') ?? 'auto',
    tools: read('tools') ?? 'record',
    history: read('history') ?? 'full',
    compat: read('compat') ?? 'auto',
    replay: read('replay') !== 'false',
    errorsAsOutput: read('errorsAsOutput') === 'true',
    hands: read('hands') !== 'false',
    maxAutoPosts: Number(read('maxAutoPosts') ?? 25),
    ...address('toolResultUrl'),
    ...address('stopUrl'),
    ...(resumeUrl === undefined ? {} : { resumeUrl }),
    ...(system === undefined ? {} : { system }),
  };
  return { settings, problems };
}

function bodyOf(text: string | undefined, problems: string[]): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {}
  problems.push(t('The option body is no JSON object.'));
  return {};
}

/** The address with more of a path; the query stays behind it. */
export function extended(url: string, more: string): string {
  const target = new URL(url);
  target.pathname = `${target.pathname.replace(/\/$/, '')}/${more}`;
  return target.href;
}

/** Where results of held calls may be taken, in the order they are tried. */
export function toolResultUrls(settings: Settings): readonly string[] {
  if (settings.toolResultUrl !== undefined) return [settings.toolResultUrl];
  const { origin, search } = new URL(settings.url);
  const all = [extended(settings.url, 'tool-result'), `${origin}/chat/tool-result${search}`];
  return [...new Set(all)];
}

/** What a response said about where it can be resumed. */
export interface ResumePoint {
  readonly chatId: string;
  readonly resumableId: string | undefined;
  readonly runId: string | undefined;
  /** How many chunks have arrived. */
  readonly received: number;
}

/** Where to ask for the rest of a cut response, and whether it will come from its beginning; undefined when there is no such place. */
export function resumeAddress(settings: Settings, point: ResumePoint): { readonly url: string; readonly replay: boolean } | undefined {
  const { resumeUrl, replay } = settings;
  if (resumeUrl === 'none') return undefined;
  if (resumeUrl === undefined) {
    if (point.runId === undefined) return { url: extended(settings.url, `${encodeURIComponent(point.chatId)}/stream`), replay };
    const url = new URL(extended(settings.url, `${encodeURIComponent(point.runId)}/stream`));
    url.searchParams.set('startIndex', String(point.received));
    return { url: url.href, replay: false };
  }
  const values: Readonly<Record<string, string | undefined>> = { ...point, received: String(point.received) };
  let whole = true;
  const filled = resumeUrl.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) whole = false;
    return encodeURIComponent(value ?? '');
  });
  return whole && URL.canParse(filled, settings.url) ? { url: new URL(filled, settings.url).href, replay } : undefined;
}
