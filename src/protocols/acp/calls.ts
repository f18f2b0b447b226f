import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import type { CallChange } from '../../session/events.ts';
import type { Content, Diff, Output, ToolCall, ToolKind } from '../../session/model.ts';
import { toContent } from './content.ts';
import { asItCame } from './diffs.ts';
import type { DiffItem, ToolContent, WireCall } from './schema.ts';

/** One tool call as the agent has told it so far; every source of news about it is merged here (acp.md §8.1). */
export interface CallState {
  readonly id: string;
  title: string;
  name: string;
  kind: ToolKind;
  status: ToolCall['status'];
  content: readonly ToolContent[];
  locations: ToolCall['locations'];
  rawInput: unknown;
  rawOutput: unknown;
  meta: Readonly<Record<string, unknown>>;
  /** What the agent last said about the edit of a path, and what that was found to mean. Kept when the agent replaces it by a sentence. */
  readonly edits: Map<string, Edit>;
  /** True once the user has refused it: nothing the agent says afterwards changes that. */
  refused: boolean;
  /** How many permissions for it are open. */
  asking: number;
  /** True when a question about it was taken back without an answer, and the agent has not gone on with it since. */
  unanswered: boolean;
  /** The agent takes a request to stop it by itself. */
  stops: boolean;
  /** What of it has been told last. */
  told: Shown | undefined;
  /** The terminals it has shown, also those it shows no more. */
  readonly terminals: Set<string>;
  /** Told what the agent says of it, by whoever asks a user about it. */
  readonly watchers: Set<(news: WireCall, from: From) => void>;
}
/** Where news of a call comes from. */
export type From = 'tool_call' | 'tool_call_update' | 'permission';
/** What the user has stopped: the turn, and commands by their terminals. */
export interface Stops {
  readonly stopping: boolean;
  readonly stopped: ReadonlySet<string>;
}
export const NOTHING_STOPPED: Stops = { stopping: false, stopped: new Set() };
export interface Edit {
  items: readonly DiffItem[];
  diffs: readonly Diff[];
  /** The file has been looked at for these items. */
  placed: boolean;
}

export function newCall(id: string): CallState {
  return {
    id,
    title: '',
    name: '',
    kind: 'other',
    status: 'pending',
    content: [],
    locations: [],
    rawInput: undefined,
    rawOutput: undefined,
    meta: {},
    edits: new Map(),
    refused: false,
    asking: 0,
    unanswered: false,
    stops: false,
    told: undefined,
    terminals: new Set(),
    watchers: new Set(),
  };
}

/**
 * Once the user asked to stop, a failure is the stop, and a command they have ended is not done, whatever the agent says. Null and absent
 * members are unchanged; lists replace.
 */
export function mergeCall(call: CallState, news: WireCall, from: From, { stopping, stopped }: Stops): void {
  if (news.title && (from !== 'permission' || !call.title)) call.title = news.title;
  if (news._meta) call.meta = { ...call.meta, ...news._meta };
  call.name = news.name ?? toolNameIn(call.meta) ?? call.name;
  if (news.kind) call.kind = KINDS.has(news.kind) ? (news.kind as ToolKind) : 'other';
  for (const member of news.unset ?? []) unset(call, member);
  const content = news.added ? [...call.content, ...news.added] : news.content;
  if (content) {
    if (from !== 'permission' && !isFinal(call.status)) call.rawInput ??= argumentsIn(content);
    call.content = content;
    for (const item of content) if (item.type === 'terminal') call.terminals.add(item.terminalId);
    takeEdits(call, content);
  }
  if (news.stops !== undefined) call.stops = news.stops;
  if (news.locations) call.locations = news.locations.map(({ path, line }) => (line == null ? { path } : { path, line }));
  if (news.rawInput !== undefined && news.rawInput !== null) call.rawInput = news.rawInput;
  if (news.rawOutput !== undefined && news.rawOutput !== null) call.rawOutput = news.rawOutput;
  const status = statusOf(news.status);
  if (status && from !== 'permission') call.unanswered = false;
  const isStop = (stopping && status === 'failed') || (status && isFinal(status) && [...call.terminals].some((id) => stopped.has(id)));
  if (status && !isFinal(call.status)) call.status = isStop ? 'cancelled' : status;
  if (call.status === 'done' && call.kind === 'execute' && (exitCodeIn(call.rawOutput) ?? 0) !== 0) call.status = 'failed';
}

/**
 * What one question is about: the call as it is when it is asked about, apart from what another question says of the same call meanwhile. Of its
 * edits only those it brings along, where it brings any.
 */
export function askedCall(call: CallState, { content }: WireCall): CallState {
  const own = new Set((content ?? []).flatMap((item) => (item.type === 'diff' ? [item.path] : [])));
  const edits = [...call.edits].filter(([path]) => own.size === 0 || own.has(path));
  return { ...call, edits: new Map(edits), terminals: new Set(call.terminals), watchers: new Set() };
}

/** The agent says more of a call that is asked about. The edits are those of the call itself, which are compared with their files. */
export function hearAsked(asked: CallState, call: CallState, news: WireCall, from: From, stops: Stops): void {
  if (isAnnouncedAgain(asked, news)) Object.assign(asked, newCall(asked.id));
  mergeCall(asked, news, from, stops);
  for (const item of news.added ?? news.content ?? []) {
    const edit = item.type === 'diff' ? call.edits.get(item.path) : undefined;
    if (item.type === 'diff' && edit) asked.edits.set(item.path, edit);
  }
}

/** One agent streams the arguments as the text of the call and cuts the command short in its question (Kimi Code 2.1.0). */
function argumentsIn([item, ...others]: readonly ToolContent[]): unknown {
  if (item?.type !== 'content' || others.length > 0) return undefined;
  const content = toContent(item.content);
  if (content.type !== 'text' || !/^\{[\s\S]*\}$/.test(content.text)) return undefined;
  try {
    return parseJson(content.text);
  } catch {
    return undefined;
  }
}

function unset(call: CallState, member: 'title' | 'name' | 'rawInput' | 'rawOutput'): void {
  if (member === 'title' || member === 'name') call[member] = '';
  else call[member] = undefined;
}

/** A finished call that is announced again is another one under the same id. */
export function isAnnouncedAgain(call: CallState, news: WireCall): boolean {
  const status = statusOf(news.status) ?? 'pending';
  return isFinal(call.status) && !call.refused && !isFinal(status);
}

export type Shown = CallChange & Pick<ToolCall, 'name' | 'title' | 'kind' | 'status' | 'output' | 'locations'>;

/** What has changed since it was told last, and is told now; undefined when nothing. */
export function untold(call: CallState): CallChange | undefined {
  const before: Partial<Shown> = call.told ?? {};
  const now = shown(call);
  call.told = now;
  const changed = Object.entries(now).filter(([key, value]) => !equal(before[key as keyof Shown], value));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

function equal(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What the model shows of it now. */
export function shown(call: CallState): Shown {
  const status = call.refused ? 'rejected' : call.asking > 0 && !isFinal(call.status) ? 'waiting' : call.status;
  return {
    name: call.name || call.kind,
    title: titleOf(call),
    kind: call.kind,
    status,
    ...(isEmpty(call.rawInput) ? {} : { input: call.rawInput }),
    output: outputOf(call),
    locations: call.locations,
    ...(call.stops || call.told?.stops ? { stops: call.stops } : {}),
    ...(status === 'failed' ? { error: { message: failureOf(call) } } : {}),
  };
}

/** A place for edits that have not been compared with their files yet. */
export function unplaced(call: CallState): readonly (readonly [string, Edit])[] {
  return [...call.edits].filter(([, edit]) => !edit.placed);
}

const KINDS: ReadonlySet<string> = new Set(['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other']);
const STATUSES: Readonly<Record<string, ToolCall['status']>> = {
  pending: 'pending',
  in_progress: 'running',
  completed: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  paused: 'pending',
};

function statusOf(status: string | null | undefined): ToolCall['status'] | undefined {
  return status != null && Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined;
}

export function isFinal(status: ToolCall['status']): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled' || status === 'rejected';
}

function takeEdits(call: CallState, content: readonly ToolContent[]): void {
  const byPath = new Map<string, DiffItem[]>();
  for (const item of content) if (item.type === 'diff') byPath.set(item.path, [...(byPath.get(item.path) ?? []), item]);
  for (const [path, items] of byPath) {
    const before = call.edits.get(path);
    // The texts as they came stand in until the file has been looked at; what was found earlier is better than that.
    const diffs = before?.placed && !before.diffs.some((diff) => diff.excerpt) ? before.diffs : items.map(asItCame);
    call.edits.set(path, { items, diffs, placed: false });
  }
}

function outputOf(call: CallState): readonly Output[] {
  const output: Output[] = [];
  const seen = new Set<string>();
  for (const item of call.content) {
    if (item.type === 'terminal') output.push({ kind: 'terminal', terminalId: item.terminalId });
    else if (item.type === 'content') {
      const content = toContent(item.content);
      if (content.type !== 'text' || content.text !== '') output.push({ kind: 'content', content });
    } else if (!seen.has(item.path)) {
      seen.add(item.path);
      for (const diff of call.edits.get(item.path)?.diffs ?? []) output.push({ kind: 'diff', diff });
    }
  }
  for (const [path, edit] of call.edits) if (!seen.has(path)) for (const diff of edit.diffs) output.push({ kind: 'diff', diff });
  if (output.length === 0 && isFinal(call.status)) output.push(...rawOutputOf(call.rawOutput));
  return output;
}

/** What stands in for content that is missing at the end. */
function rawOutputOf(raw: unknown): readonly Output[] {
  if (isEmpty(raw)) return [];
  const text = typeof raw === 'string' ? raw : textIn(raw);
  if (text !== undefined) return text === '' ? [] : [{ kind: 'content', content: { type: 'text', text } satisfies Content }];
  return [{ kind: 'json', value: raw }];
}

function textIn(raw: unknown): string | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  for (const key of ['output', 'aggregated_output', 'formatted_output', 'content']) {
    const value = (raw as Readonly<Record<string, unknown>>)[key];
    if (typeof value === 'string') return value;
  }
  return undefined;
}

function exitCodeIn(raw: unknown): number | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { exitCode, exit_code, metadata, contents } = raw as Readonly<Record<string, unknown>>;
  const places: readonly unknown[] = [exitCode, exit_code];
  const found = places.find((value) => typeof value === 'number');
  if (typeof found === 'number') return found;
  if (typeof metadata === 'object' && metadata !== null && 'exit' in metadata && typeof metadata.exit === 'number') return metadata.exit;
  if (!Array.isArray(contents)) return undefined;
  return contents.map((one: unknown) => exitCodeIn(one)).find((value) => value !== undefined);
}

function failureOf(call: CallState): string {
  const exit = exitCodeIn(call.rawOutput);
  if (exit !== undefined && exit !== 0) return t('Exit code {0}', exit);
  const raw = call.rawOutput as { readonly error?: unknown } | undefined;
  const error = typeof raw === 'object' && raw !== null ? raw.error : undefined;
  return typeof error === 'string' && error ? error.slice(0, 2000) : t('The agent reports a failure.');
}

function titleOf(call: CallState): string {
  const title = call.title || call.name || (call.kind === 'other' ? 'Tool' : call.kind);
  return call.kind === 'execute' ? title : (title.split('\n', 1)[0] ?? title);
}

function toolNameIn(meta: CallState['meta']): string | undefined {
  const claude = meta.claudeCode as { readonly toolName?: unknown } | undefined;
  const name = meta.tool_name ?? meta.toolName ?? (typeof claude === 'object' && claude !== null ? claude.toolName : undefined);
  return typeof name === 'string' && name ? name : undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
