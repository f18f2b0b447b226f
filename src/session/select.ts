import { isWindowsPath, pathBelowFolder, writtenPlatform } from '../base/fileName.ts';
import { isAbsolutePath, writtenKey } from '../base/paths.ts';
import type {
  Approval,
  Ask,
  CallId,
  Command,
  Content,
  Diff,
  LinkState,
  Location,
  Option,
  Part,
  Session,
  Terminal,
  ToolCall,
  Turn,
  TurnFile,
} from './model.ts';
import { oneLine, shortened, visibleText } from './visible.ts';

/** Derived reads. Nothing here is stored. */

export function runningTurn(session: Session): Turn | undefined {
  return session.turns.findLast((turn) => turn.status === 'running');
}

/** What is done about the lost connection of a turn that runs; undefined while there is one. */
export function reconnecting(session: Session): string | undefined {
  const { link, partial } = session;
  return link.state === 'opening' && !partial && runningTurn(session) ? link.note : undefined;
}

export function isBusy(session: Session): boolean {
  return runningTurn(session) !== undefined;
}

/** An imported recording: it can only be read. */
export function isRecorded({ link }: Pick<Session, 'link'>): boolean {
  return link.state === 'recorded';
}

/** True while a queued prompt waits for the work before it alone. */
export function isPreparing(session: Session): boolean {
  return session.link.state === 'ready' && !isBusy(session) && session.queue.some((prompt) => !prompt.held);
}

/** True while the user can stop something: a turn, the work before it, the start of the agent, or the replay of an earlier conversation. */
export function canStop(session: Session): boolean {
  return isBusy(session) || isPreparing(session) || session.link.state === 'opening';
}

/** An earlier conversation is being read, and that can be stopped. */
export function readsHistory({ link }: Session): boolean {
  return link.state === 'opening' && link.stops === true;
}

export function findAsk(session: Session, id: string): Ask | undefined {
  return session.asks.find((ask) => ask.id === id);
}

export function openApprovals(session: Session): readonly Approval[] {
  return session.asks.filter((ask) => ask.kind === 'approval');
}

/** The option to take when a user rejects without choosing a row: never one that reaches beyond this ask when there is another. */
export function rejection(ask: Approval): Option | undefined {
  return ask.options.find((one) => one.effect === 'reject_once') ?? ask.options.find((one) => one.effect === 'reject_always');
}

/** The most characters of a name that a row or a button shows; agents' names have no limit. */
const LONGEST_NAME = 120;

/** The words of an answer say that it holds for the session, not longer. */
export function forSession(words: string): boolean {
  return /\bsession\b|\bconversation\b|会话|对话/i.test(words);
}

/** UTF-16 units of a name that are read. */
const NAME_READ = 2000;

/** The name of an option on one line; a long name is cut, so that all answers stay in sight. */
export function optionName({ id, label }: Option): string {
  const text = label || id;
  const seen = seenOnLine(text.slice(0, NAME_READ));
  // The rest may stand behind a thousand blanks.
  return text.length > NAME_READ && seen.length < LONGEST_NAME ? `${seen}…` : shortened(seen, LONGEST_NAME);
}

/** The names that `optionName` cuts, whole, in the order of the options. */
export function longNames({ options }: Pick<Approval, 'options'>): readonly string[] {
  const isCut = (name: string, option: Option) => name.length > NAME_READ || optionName(option) !== seenOnLine(name);
  return options.filter((one) => isCut(one.label || one.id, one)).map((one) => one.label || one.id);
}

function seenOnLine(text: string): string {
  return visibleText(oneLine(text));
}

/** The user's own words in the message that began a turn. */
export function promptText({ prompt }: Pick<Turn, 'prompt'>): string {
  return prompt.flatMap((one) => (isAttached(one) || one.type !== 'text' ? [] : [one.text])).join('\n\n');
}

/** True for everything in a message but the user's own words. */
export function isAttached(content: Content): boolean {
  return content.type !== 'text' || content.label !== undefined;
}

/** Earlier times, in milliseconds since the epoch, are none: conversations that agents replay may have no dates. */
export const KNOWN_SINCE = Date.UTC(2020);

/** The agent's answer as Markdown, without what its sub-agents said. */
export function answerText({ parts }: Pick<Turn, 'parts'>): string {
  return parts.flatMap((part) => (part.kind === 'text' && part.parent === undefined ? [part.text] : [])).join('\n\n');
}

export function callsOf(turn: Pick<Turn, 'parts'>): readonly ToolCall[] {
  return turn.parts.flatMap((part) => (part.kind === 'call' ? [part.call] : []));
}

export function findCall(session: Pick<Session, 'turns'>, id: CallId): ToolCall | undefined {
  for (const turn of session.turns.toReversed()) {
    const call = callsOf(turn).find((one) => one.id === id);
    if (call) return call;
  }
  return undefined;
}

/** The parts directly under a sub-agent's call, or those under none. */
export function partsUnder(turn: Turn, parent: CallId | undefined): readonly Part[] {
  return turn.parts.filter((part) => part.parent === parent);
}

/** The diffs a call shows, in order. */
export function diffsOf(call: ToolCall): readonly Diff[] {
  return call.output.flatMap((output) => (output.kind === 'diff' ? [output.diff] : []));
}

export interface FileDiffs {
  readonly path: string;
  /** Every diff of the path, oldest first. */
  readonly diffs: readonly Diff[];
}

/**
 * Files a turn has changed, as it was reported or is found on the disk, in the order they were first changed. Writing what stood there already
 * is no change.
 */
export function changedFiles(turn: Pick<Turn, 'parts'>): readonly FileDiffs[] {
  return byPath(callsOf(turn).flatMap((call) => (call.status === 'done' || call.appliedOnDisk ? diffsOf(call).filter(isChange) : [])));
}

/** The files of a turn as found on disk; before that comparison, as the agent reported them. */
export function turnFiles(turn: Pick<Turn, 'files' | 'parts'>): readonly TurnFile[] {
  return turn.files ?? changedFiles(turn).map(({ path, diffs }) => ({ path, change: kindOfChange(diffs), review: 'reported' }));
}

/** The last part of a name with slashes; of a file that was moved both names, with their folders where these differ. */
export function rowName(name: string, from: string | undefined): string {
  const base = (one: string) => one.slice(one.lastIndexOf('/') + 1);
  const folder = (one: string) => one.slice(0, one.lastIndexOf('/') + 1);
  if (from === undefined) return base(name);
  return folder(from) === folder(name) ? `${base(from)} → ${base(name)}` : `${from} → ${name}`;
}

function kindOfChange(diffs: readonly Diff[]): TurnFile['change'] {
  const [first, last] = [diffs[0], diffs.at(-1)];
  if (last?.after === null && !last.summary) return 'deleted';
  return first?.before === null && !first.summary ? 'created' : 'changed';
}

const filesOfTurns = new WeakMap<Turn, readonly string[]>();

/**
 * How many files the session's turns have changed. Turns that do not change are looked at once. Those that a turn does not list have no names: where
 * several turns have some, they may be the same.
 */
export function filesChanged({ turns }: Pick<Session, 'turns'>): number {
  const all = new Set<string>();
  let unlisted = 0;
  for (const turn of turns) {
    unlisted = Math.max(unlisted, turn.unlisted?.files ?? 0);
    const known = filesOfTurns.get(turn) ?? turnFiles(turn).map(({ path }) => writtenKey(path));
    filesOfTurns.set(turn, known);
    for (const path of known) all.add(path);
  }
  return all.size + unlisted;
}

export function isChange({ before, after, summary }: Diff): boolean {
  return before !== after || summary === true;
}

/** Diffs put together by the file they change, in the order the files come first. */
export function byPath(diffs: readonly Diff[]): readonly FileDiffs[] {
  const files = new Map<string, { readonly path: string; readonly diffs: Diff[] }>();
  for (const diff of diffs) {
    // Editors and agents write a drive in different cases.
    const key = writtenKey(diff.path);
    const known = files.get(key);
    if (known) known.diffs.push(diff);
    else files.set(key, { path: diff.path, diffs: [diff] });
  }
  return [...files.values()];
}

/** A place in a file, and whether the call that named it may yet create the file. */
export interface FollowedPlace {
  readonly location: Location;
  readonly mayCome: boolean;
}

/** Where the agent works: the last place of the last call in the running turn that has begun. Many agents name it only with the end of the call. */
export function placeToFollow(session: Session): FollowedPlace | undefined {
  const turn = runningTurn(session);
  const begun = ({ status }: ToolCall) => status === 'running' || status === 'done' || status === 'ended' || status === 'failed';
  const call = turn && callsOf(turn).findLast((one) => begun(one) && one.locations.length > 0);
  const location = call?.locations.at(-1);
  return location && { location, mayCome: call?.status === 'running' };
}

export type ClosedLink = Extract<LinkState, { state: 'closed' }>;

/** The closed link, where the last turn failed with it and shows why. */
export function closedLinkInTurn({ link, turns }: Pick<Session, 'link' | 'turns'>): ClosedLink | undefined {
  return link.state === 'closed' && turns.at(-1)?.error?.message === link.reason ? link : undefined;
}

export function findTerminal(session: Session, id: string): Terminal | undefined {
  return session.terminals.findLast((terminal) => terminal.id === id);
}

export function runningTerminals(session: Session): readonly Terminal[] {
  return session.terminals.filter((terminal) => terminal.exit === undefined);
}

/** True where only the agent's own title describes the request. */
export function saysByTitle({ detail, toolKind }: Approval): boolean {
  return detail.type === 'text' || toolKind === 'move' || (detail.type === 'command' && detail.command.trim() === '');
}

/**
 * The title of an ask: with its file, and never the text of the command, which is shown below anyway; `running` says in the
 * user's language that a command is to be run.
 */
export function askTitle(ask: Ask, session: Pick<Session, 'cwd' | 'turns'>, running: string): string {
  const { cwd } = session;
  if (ask.kind !== 'approval') return ask.title;
  const { detail } = ask;
  if (detail.type === 'command' && ask.title.trim() === detail.command.trim()) return running;
  const title = withoutFolder(ask.title, cwd);
  if (detail.type === 'command') return /^\w*$/.test(title) ? running : title;
  if (detail.type !== 'edit') {
    const call = ask.callId !== undefined && /^[\w-]+$/.test(title) ? findCall(session, ask.callId) : undefined;
    return call ? callTitle({ ...call, title }, cwd) : title;
  }
  const [first, ...others] = new Set(detail.diffs.map((diff) => diff.path));
  if (first === undefined || title.includes(first.split(/[\\/]/).at(-1) ?? first)) return title;
  return `${title}: ${relativePath(first, cwd)}${others.length > 0 ? ` +${others.length}` : ''}`;
}

/** The title of a call: with paths as people read them, and a bare tool name with its target. */
export function callTitle(call: ToolCall, cwd: string): string {
  const title = withoutFolder(call.title || call.name, cwd);
  // A name alone, or behind the name of the server it comes from.
  const found = /^(?:mcp__([\w-]+)|[\w-]+: (\w+_\w+)|([\w-]+))$/.exec(title);
  const tool = found?.[1] ?? found?.[2] ?? found?.[3];
  if (tool === undefined) return title;
  const name = tool.split('__').at(-1) ?? tool;
  const place = placeOf(call);
  return place === undefined ? name : `${name}: ${relativePath(place.path, cwd)}${place.line === undefined ? '' : `:${place.line}`}`;
}

function placeOf(call: ToolCall): Location | undefined {
  const [diff] = diffsOf(call);
  if (diff) return { path: diff.path };
  if (call.locations[0]) return call.locations[0];
  const input = (call.input ?? {}) as Readonly<Record<'path' | 'file_path' | 'line', unknown>>;
  const path = input.path ?? input.file_path;
  const { line } = input;
  return typeof path === 'string' && path !== '' ? { path, ...(typeof line === 'number' ? { line } : {}) } : undefined;
}

/** Some agents write paths whole, or whole but for the first slash. */
function withoutFolder(text: string, cwd: string): string {
  if (cwd.length < 2) return text;
  const base = cwd.replace(/[\\/]$/, '');
  const flags = writtenPlatform(cwd) === 'posix' ? 'g' : 'gi';
  const folder = base.split(/[\\/]/).map((name) => name.replace(/[.*+?^${}()|[\]]/g, '\\$&'));
  const inside = text.replace(new RegExp(`${folder.join('[\\\\/]')}[\\\\/]`, flags), '');
  const bare = `${base.slice(1)}/`;
  return inside.startsWith(bare) ? inside.slice(bare.length) : inside;
}

/** The file of a list by its path, in whatever case Windows or macOS has that. */
export function fileNamed<File extends { readonly path: string }>(files: readonly File[], path: string): File | undefined {
  return files.find((one) => one.path === path) ?? files.find((one) => writtenKey(one.path) === writtenKey(path));
}

/** A path for people: relative to the session's folder when it lies inside. The path of a folder keeps the separator at its end. */
export function relativePath(path: string, cwd: string): string {
  if (!isAbsolutePath(path)) return path;
  // Either of them shows that both are of macOS: `/private/tmp/w/a` lies in `/tmp/w`.
  const platform = writtenPlatform(path) === 'darwin' && !isWindowsPath(cwd) ? 'darwin' : writtenPlatform(cwd);
  const below = pathBelowFolder(cwd, path, platform);
  if (!below) return path;
  const shown = /[\\/]$/.test(path) ? `${below}/` : below;
  return isWindowsPath(cwd) && path.includes('\\') ? shown.replaceAll('/', '\\') : shown;
}

/** A path of a file that a turn has changed, for people: in another folder of the workspace with the name of that folder before it. */
export function filePath({ folder }: Pick<TurnFile, 'folder'>, path: string, cwd: string): string {
  const below = folder === undefined ? path : relativePath(path, folder);
  return folder === undefined || below === path ? relativePath(path, cwd) : `${folder.replace(/^.*[\\/]/, '')}/${below}`;
}

/** The title of a tab: characters that mislead are written out. */
export function tabTitle(title: string): string {
  return visibleText(title);
}

/** The name of a session in lists: its title, or the beginning of its first prompt. */
export function titleOf(session: Session, longest = 60): string {
  if (session.title) return session.title;
  for (const content of session.turns[0]?.prompt ?? []) {
    if (content.type !== 'text' || isAttached(content)) continue;
    const line = content.text.trim().split('\n', 1)[0] ?? '';
    if (line) return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
  }
  return '';
}

/** Lines of a file behind its name: ":13", ":13-15". */
export function linesText(lines: readonly [number, number] | undefined): string {
  if (!lines) return '';
  const [first, last] = lines;
  return first === last ? `:${first}` : `:${first}-${last}`;
}

export interface FlatCommand {
  readonly path: readonly string[];
  readonly command: Command;
}

/** A command and its subcommands, in order. A command with children is listed itself too: agents may accept it alone. */
export function flatCommands(commands: readonly Command[], above: readonly string[] = []): readonly FlatCommand[] {
  return commands.flatMap((command) => {
    const path = [...above, command.name];
    return [{ path, command }, ...flatCommands(command.children ?? [], path)];
  });
}
