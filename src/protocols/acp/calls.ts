import { readJson } from '../../base/json.ts';
import { agentError, t } from '../../base/l10n.ts';
import { writtenKey } from '../../base/paths.ts';
import { type CallState, find, keys, put, type Table } from '../../conversation/state.ts';
import type { CallChange } from '../../session/events.ts';
import { changedEnds } from '../../session/lineEnds.ts';
import type { Content, Diff, Output, ToolCall, ToolKind } from '../../session/model.ts';
import { toContent } from './codec.ts';
import { asItCame, type Current, locate } from './diffs.ts';
import { type AcpToolCall, type Activity, type DiffItem, MOST_PIECES, type ToolContent } from './schema.ts';

/** A tool call as the agent has described it so far. Updates and permission requests are merged here. */
export interface CallFacts {
  readonly id: string;
  title: string;
  name: string;
  kind: ToolKind;
  status: ToolCall['status'];
  content: readonly ToolContent[];
  locations: ToolCall['locations'];
  /** null: none. */
  rawInput: unknown;
  rawOutput: unknown;
  meta: Readonly<Record<string, unknown>>;
  /** The agent's last edit of each path, compared with the file. Kept when the agent replaces it by a sentence. */
  edits: Table<Edit>;
  /** The number of its edits' files still being read. Counted, because searching thousands of edits after each read takes quadratic time. */
  unread: number;
  /** The agent takes a request to stop this call alone. */
  stops: boolean;
  /** The terminals it has shown, also those it shows no more. */
  terminals: string[];
  /** The agent said more of it than anybody reads: what it would do cannot be shown, so no question about it is put. */
  tooMuch: boolean;
}
export interface Edit {
  readonly items: readonly DiffItem[];
  diffs: readonly Diff[];
  /** `reading`: its file is being read; `placed`: the items have been compared with it. */
  state: 'new' | 'reading' | 'placed';
  /** The number of that reading. */
  reading: number;
  /** It leads out of the session's folders, as far as is known. */
  outside: boolean;
}
/** A call in its turn. `refused` stays, whatever the agent reports later; `unanswered`: a question about it was withdrawn without an answer. */
export interface AcpCall extends CallFacts, CallState<'none' | 'refused' | 'unanswered'> {
  readonly id: string;
  /** How many questions about it are open. */
  questions: number;
  /** The members of it that the session shows. */
  emitted: CallView | null;
}
/** The source of an update of a call. */
export type CallSource = 'tool_call' | 'tool_call_update' | 'permission';
/** The stops of the user: of the turn, and of commands by their terminals. */
export interface Stopped {
  readonly turn: boolean;
  readonly terminals: readonly string[];
  /** The command of that terminal had ended by itself. */
  readonly hadEnded: (terminalId: string) => boolean;
}
export const NOTHING_STOPPED: Stopped = { turn: false, terminals: [], hadEnded: () => false };
export type CallView = CallChange & Pick<ToolCall, 'name' | 'title' | 'kind' | 'status' | 'output' | 'locations'>;

const LEFT_OUT: ToolContent = { type: 'content', content: { type: 'text', text: `… (more than ${MOST_PIECES} pieces, left out)` } };

function newFacts(id: string): CallFacts {
  return {
    id,
    title: '',
    name: '',
    kind: 'other',
    status: 'pending',
    content: [],
    locations: [],
    rawInput: null,
    rawOutput: null,
    meta: {},
    edits: {},
    unread: 0,
    stops: false,
    terminals: [],
    tooMuch: false,
  };
}
export function newCall(id: string): AcpCall {
  // Spreading would make an object that is several times as slow to change.
  return Object.assign(newFacts(id), { decision: 'none', ended: false, questions: 0, emitted: null } as const);
}
/** A finished call that is announced again is another one under the same id. */
export function startAgain(call: AcpCall): void {
  Object.assign(call, newFacts(call.id), { decision: 'none', ended: false });
}
export function isAnnouncedAgain(call: CallFacts & { readonly decision?: string }, update: AcpToolCall): boolean {
  return isFinal(call.status) && call.decision !== 'refused' && !isFinal(statusOf(update.status) ?? 'pending');
}
/** The subject of one question: the call as it is now. If the question brings edits along, it is about those alone. */
export function askedFacts(call: CallFacts, { content }: AcpToolCall): CallFacts {
  const own = new Set((content ?? []).flatMap((item) => (item.type === 'diff' ? [item.path] : [])));
  const { id, title, name, kind, status, content: shown, locations, rawInput, rawOutput, meta, stops, tooMuch } = call;
  const rest = { stops, terminals: [], tooMuch };
  const asked = { id, title, name, kind, status, content: shown, locations, rawInput, rawOutput, meta, edits: {}, unread: 0, ...rest };
  for (const path of keys(call.edits)) {
    const edit = find(call.edits, path);
    if (edit && (own.size === 0 || own.has(path))) putEdit(asked, path, { ...edit });
  }
  return asked;
}
/** A call that is asked about while no turn runs: the question alone shows it. */
export function factsOf(update: AcpToolCall | undefined): CallFacts {
  const call = newFacts(update?.toolCallId ?? '');
  if (update) mergeCall(call, update, 'permission', NOTHING_STOPPED);
  return call;
}

/**
 * Null and absent members are unchanged; lists replace. Once the user asked to stop, a failure is the stop, and a command they have ended is not
 * done, whatever the agent reports.
 */
export function mergeCall(call: CallFacts, update: AcpToolCall, from: CallSource, stopped: Stopped): void {
  if (update.title && (from !== 'permission' || !call.title)) call.title = update.title;
  if (update._meta) call.meta = { ...call.meta, ...update._meta };
  call.name = update.name ?? toolNameIn(call.meta) ?? call.name;
  if (update.kind) call.kind = KINDS.has(update.kind) ? (update.kind as ToolKind) : 'other';
  for (const member of update.unset ?? []) unset(call, member);
  const given = update.added ? [...call.content, ...update.added] : update.content;
  if ((given?.length ?? 0) > MOST_PIECES || (update.locations?.length ?? 0) > MOST_PIECES) call.tooMuch = true;
  const content = given && given.length > MOST_PIECES ? [LEFT_OUT] : given;
  if (content) {
    if (from !== 'permission' && !isFinal(call.status)) call.rawInput ??= argumentsIn(content) ?? null;
    call.content = content;
    const shown = content.flatMap((item) => (item.type === 'terminal' ? [item.terminalId] : []));
    if (shown.length > 0) call.terminals = [...new Set([...call.terminals, ...shown])];
    mergeEdits(call, content);
  }
  if (update.stops !== undefined) call.stops = update.stops;
  if (update.locations)
    call.locations = update.locations.slice(0, MOST_PIECES).map(({ path, line }) => (line == null ? { path } : { path, line }));
  if (update.rawInput !== undefined && update.rawInput !== null) call.rawInput = update.rawInput;
  if (update.rawOutput !== undefined && update.rawOutput !== null) call.rawOutput = update.rawOutput;
  const status = statusOf(update.status);
  const isCutOff = stopped.turn && status === 'done' && call.kind === 'execute' && !hasEnded(call, stopped);
  const isStop =
    isCutOff ||
    (stopped.turn && status === 'failed') ||
    (status && isFinal(status) && call.terminals.some((id) => stopped.terminals.includes(id)));
  if (status && !isFinal(call.status)) call.status = isStop ? 'cancelled' : status;
  if (call.status === 'done' && call.kind === 'execute' && (exitCodeIn(call.rawOutput) ?? 0) !== 0) call.status = 'failed';
}

/** True when something other than the status shows that the command ended: agents report stopped commands as completed, too. */
function hasEnded(call: CallFacts, { hadEnded }: Stopped): boolean {
  const { terminal_exit: exit } = call.meta;
  return exitCodeIn(call.rawOutput) === 0 || exitCodeIn(exit) === 0 || call.terminals.some(hadEnded);
}

/** The agent reports more about a call that is asked about. Edits are those of the call itself, which are compared with their files. */
export function mergeAsked(asked: CallFacts, call: CallFacts, update: AcpToolCall, from: CallSource, stopped: Stopped): void {
  if (isAnnouncedAgain(asked, update)) Object.assign(asked, newFacts(asked.id));
  mergeCall(asked, update, from, stopped);
  for (const item of update.added ?? update.content ?? []) {
    const edit = item.type === 'diff' ? find(call.edits, item.path) : undefined;
    if (item.type === 'diff' && edit) putEdit(asked, item.path, { ...edit });
  }
}

/** One agent streams the arguments as the text of the call and cuts the command short in its question (Kimi Code 2.1.0). */
function argumentsIn([item, ...others]: readonly ToolContent[]): unknown {
  if (item?.type !== 'content' || others.length > 0) return undefined;
  const content = toContent(item.content);
  if (content.type !== 'text' || !content.text.startsWith('{') || !content.text.endsWith('}')) return undefined;
  return readJson(content.text);
}

function unset(call: CallFacts, member: 'title' | 'name' | 'rawInput' | 'rawOutput'): void {
  if (member === 'title' || member === 'name') call[member] = '';
  else call[member] = null;
}

export function mergeEdits(call: CallFacts, content: readonly ToolContent[]): void {
  const byPath = new Map<string, DiffItem[]>();
  let known = Object.keys(call.edits).length;
  for (const item of content) {
    if (item.type !== 'diff') continue;
    const alike = byPath.get(item.path);
    if (alike) alike.push(item);
    else byPath.set(item.path, [item]);
  }
  for (const [path, items] of byPath) {
    const before = find(call.edits, path);
    known += before ? 0 : 1;
    if (!before && known > MOST_PIECES) {
      call.tooMuch = true;
      return;
    }
    // An earlier comparison with the file is better than the texts as they came, which are shown until the file has been read.
    const diffs = before?.state === 'placed' && isWhole(before.diffs) ? before.diffs : items.map(asItCame);
    putEdit(call, path, { items, diffs, state: 'new', reading: 0, outside: before?.outside ?? false });
  }
}
export const isWhole = (diffs: readonly Diff[]): boolean => diffs.length > 0 && diffs.every((diff) => !diff.excerpt);
/** What edits make of line ends (`CRLF → LF`), which no diff shows. */
export function newEnds({ edits }: CallFacts): string {
  const items = Object.values(edits).flatMap((edit) => edit.items);
  const ends = items.map(({ oldText, newText }) => changedEnds(oldText ?? '', newText));
  return [...new Set(ends.filter((one) => one !== ''))].join('\n');
}
export const allDiffs = (call: CallFacts): readonly Diff[] => Object.values(call.edits).flatMap((edit) => edit.diffs);
/** A file of its edits is still being read. */
export const isReading = (call: CallFacts): boolean => call.unread > 0;
function putEdit(call: CallFacts, path: string, edit: Edit): void {
  call.unread += Number(edit.state === 'reading') - Number(find(call.edits, path)?.state === 'reading');
  put(call.edits, path, edit);
}
/** Its file is being read from now on, by this number. */
export function startReading(call: CallFacts, edit: Edit, reading: number): void {
  if (edit.state !== 'reading') call.unread += 1;
  edit.state = 'reading';
  edit.reading = reading;
}
/** The result of reading a file. */
interface ReadText {
  readonly reading: number;
  readonly text: Current;
  readonly outside: boolean;
}
/** Compares the edit of a path with the text of its file, by the number of the reading. False when that was not waited for. */
export function placeEdit(call: CallFacts, path: string, { reading, text, outside }: ReadText, isDone: boolean): boolean {
  const edit = find(call.edits, path);
  if (edit?.state !== 'reading' || edit.reading !== reading) return false;
  const found = locate(edit.items, text, isDone);
  if (isWhole(found) || !isWhole(edit.diffs)) edit.diffs = found;
  edit.outside = outside;
  edit.state = 'placed';
  call.unread -= 1;
  return true;
}
/** The call wrote through us. Of several writes the first tells what stood there before. */
export function noteWritten(call: AcpCall, diff: Diff): void {
  const first = find(call.edits, diff.path)?.diffs;
  const before = first && isWhole(first) && first[0] ? first[0].before : diff.before;
  putEdit(call, diff.path, { items: [], diffs: [{ ...diff, before }], state: 'placed', reading: 0, outside: false });
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
export function statusOf(status: string | null | undefined): ToolCall['status'] | undefined {
  return status != null && Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined;
}
export function isFinal(status: ToolCall['status']): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled' || status === 'rejected';
}

/** Ids of calls are each session's own; stopping one by itself is only offered for the session the user talks to. */
export function ofChild<C extends Pick<AcpToolCall, 'toolCallId' | 'stops'>>(sessionId: string, call: C): C {
  return { ...call, stops: undefined, toolCallId: `${sessionId}/${call.toolCallId}` };
}
/** The status of the call that shows a sub-agent. */
export function statusOfChild(state: Activity | null | undefined, before: ToolCall['status']): ToolCall['status'] {
  switch (state?.state) {
    case 'running':
    case 'requires_action':
      return 'running';
    case 'idle':
      return state.stopReason === 'cancelled' ? 'cancelled' : state.stopReason === 'error' ? 'failed' : 'done';
    default:
      return before;
  }
}
/** The call that a write most likely belongs to: the one that names the path, else the only unfinished one. */
export function callThatWrote(calls: Table<AcpCall>, path: string): AcpCall | null {
  const unfinished = Object.values(calls).filter((call) => !isFinal(call.status) && call.decision !== 'refused');
  const names = (call: AcpCall) =>
    find(call.edits, path) !== undefined ||
    call.locations.some((one) => writtenKey(one.path) === writtenKey(path)) ||
    (JSON.stringify(call.rawInput) ?? '').includes(JSON.stringify(path).slice(1, -1));
  return unfinished.findLast(names) ?? (unfinished.length === 1 ? (unfinished[0] ?? null) : null);
}
/** Calls that the end of a turn names; a session keeps no more of a turn. */
const MOST_UNREPORTED = 6000;
/** Calls of unknown outcome at the good end of a turn: without a final status, unless they were asked about and never allowed. */
export function unreportedIn(calls: Table<AcpCall>): readonly string[] {
  const isUnknown = (call: AcpCall) => call.decision === 'none' && call.questions === 0 && !isFinal(call.status);
  return Object.values(calls)
    .filter(isUnknown)
    .slice(-MOST_UNREPORTED)
    .map((call) => call.id);
}
/** The edits a question shows, to tell whether they became others. */
export const itemsOf = (facts: CallFacts): string => JSON.stringify(Object.entries(facts.edits).map(([path, { items }]) => [path, items]));

// --- what the session shows of it

/** The change since the call was reported last, which counts as reported now; undefined when there is none. */
export function takeChange(call: AcpCall): CallChange | undefined {
  const before: Partial<CallView> | null = call.emitted;
  const now = shown(call);
  call.emitted = now;
  let changed: Record<string, unknown> | undefined;
  for (const key in now) {
    const value = now[key as keyof CallView];
    if (isEqual(before?.[key as keyof CallView], value)) continue;
    changed ??= {};
    changed[key] = value;
  }
  return changed;
}
/** Compares JSON values. Unchanged ones are the same object, mostly. */
function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((member, at) => isEqual(member, other[at]));
  const [left, right] = [one as Readonly<Record<string, unknown>>, other as Readonly<Record<string, unknown>>];
  for (const key in left) if (!isEqual(left[key], right[key])) return false;
  for (const key in right) if (!(key in left)) return false;
  return true;
}

export function shown(call: AcpCall): CallView {
  const status = call.decision === 'refused' ? 'rejected' : call.questions > 0 && !isFinal(call.status) ? 'waiting' : call.status;
  return {
    name: call.name || call.kind,
    title: titleOf(call),
    kind: call.kind,
    status,
    ...(isEmpty(call.rawInput) ? {} : { input: call.rawInput }),
    output: outputOf(call),
    locations: call.locations,
    ...(call.stops || call.emitted?.stops ? { stops: call.stops } : {}),
    ...(status === 'failed' ? { error: { message: failureOf(call) } } : {}),
  };
}

export function titleOf(call: CallFacts): string {
  const title = call.title || call.name || (call.kind === 'other' ? 'Tool' : call.kind);
  return call.kind === 'execute' ? title : (title.split('\n', 1)[0] ?? title);
}

function outputOf(call: CallFacts): readonly Output[] {
  const output: Output[] = [];
  const seen = new Set<string>();
  const addDiffs = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const diff of find(call.edits, path)?.diffs ?? []) output.push({ kind: 'diff', diff });
  };
  for (const item of call.content) {
    if (item.type === 'terminal') output.push({ kind: 'terminal', terminalId: item.terminalId });
    else if (item.type === 'content') {
      const content = toContent(item.content);
      if (content.type !== 'text' || content.text !== '') output.push({ kind: 'content', content });
    } else addDiffs(item.path);
  }
  for (const path of keys(call.edits)) addDiffs(path);
  if (output.length === 0 && isFinal(call.status)) output.push(...rawOutputOf(call.rawOutput));
  return output;
}

/** Stands in for content that is missing at the end. */
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
  const found = [exitCode, exit_code].find((value) => typeof value === 'number');
  if (typeof found === 'number') return found;
  if (typeof metadata === 'object' && metadata !== null && 'exit' in metadata && typeof metadata.exit === 'number') return metadata.exit;
  if (!Array.isArray(contents)) return undefined;
  return contents.map((one: unknown) => exitCodeIn(one)).find((value) => value !== undefined);
}

function failureOf(call: CallFacts): string {
  const exit = exitCodeIn(call.rawOutput);
  if (exit !== undefined && exit !== 0) return t('exit {0}', exit);
  const raw = call.rawOutput as { readonly error?: unknown } | null;
  const error = typeof raw === 'object' && raw !== null ? raw.error : undefined;
  return typeof error === 'string' && error ? error.slice(0, 2000) : agentError();
}

function toolNameIn(meta: CallFacts['meta']): string | undefined {
  const claude = meta.claudeCode as { readonly toolName?: unknown } | undefined;
  const name = meta.tool_name ?? meta.toolName ?? (typeof claude === 'object' && claude !== null ? claude.toolName : undefined);
  return typeof name === 'string' && name ? name : undefined;
}

export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
