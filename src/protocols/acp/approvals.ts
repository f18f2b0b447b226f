import { isWindowsPath } from '../../base/fileName.ts';
import { readJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import { pathInside, resolvePath, writtenPermitKey } from '../../base/paths.ts';
import { find, keys, put, remove, type Table } from '../../conversation/state.ts';
import { ARGUMENTS_KEPT } from '../../session/dangers.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, ApprovalDetail, Ask, Content, Field, Option, Question } from '../../session/model.ts';
import { sameMeaning } from '../../session/shownApproval.ts';
import { wrappedCommand } from '../../transport/shellLine.ts';
import { commandInput, namesAnother, otherArguments, runningMembers } from '../commandInput.ts';
import { namedPaths } from '../namedPaths.ts';
import { allDiffs, type CallFacts, titleOf as callTitle, newEnds } from './calls.ts';
import { toContent } from './codec.ts';
import type { PermissionRequest } from './schema.ts';

/* session/request_permission to an ask and the user's answer back, and what the user has allowed and refused in a turn. */

export interface PermissionOutcome {
  readonly outcome: { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };
  /** Qwen's questions are answered beside the outcome, by the number of the question. */
  readonly answers?: Readonly<Record<string, string>>;
}
export const CANCELLED_OUTCOME: PermissionOutcome = { outcome: { outcome: 'cancelled' } };

export interface AskOrigin {
  /** The session's folder, from which the texts of a request name files. */
  readonly cwd: string;
  readonly turnId: string | null;
  /** The sub-agent that asks. */
  readonly asker: string | null;
}

export function permissionAsk(id: string, request: PermissionRequest, call: CallFacts, place: AskOrigin): Ask {
  const ask = askOf(id, request, call, place);
  const isOutside = ask.kind === 'approval' && ask.detail.type === 'edit' && Object.values(call.edits).some((edit) => edit.outside);
  return isOutside ? { ...ask, title: t('{0} (outside the workspace)', ask.title), outside: true } : ask;
}
function askOf(id: string, request: PermissionRequest, call: CallFacts, { cwd, turnId, asker }: AskOrigin): Ask {
  const head = {
    id,
    ...(turnId === null ? {} : { turnId }),
    ...(call.id === '' ? {} : { callId: call.id }),
    ...(asker === null ? {} : { asker }),
  };
  const questions = qwenQuestions(request);
  if (questions) return { ...head, kind: 'question', title: titleOf(request, call), fields: questions } satisfies Question;
  return {
    ...head,
    kind: 'approval',
    title: titleOf(request, call),
    toolKind: call.kind,
    ...detailsOf(request, call, cwd),
    ...pathsIn(call),
    options: request.options.length > 0 ? request.options.map(toOption) : [{ id: DISMISS, label: t('Close'), effect: 'reject_once' }],
  } satisfies Approval;
}

/** undefined when the request does not offer this answer. */
export function permissionReply(request: PermissionRequest, answer: Answer): PermissionOutcome | undefined {
  if (answer.kind === 'option') {
    if (request.options.some((option) => option.optionId === answer.optionId)) return selected(answer.optionId);
    return answer.optionId === DISMISS ? CANCELLED_OUTCOME : undefined;
  }
  if (answer.kind !== 'fields') return CANCELLED_OUTCOME;
  const go = request.options.find((option) => option.kind === 'allow_once');
  if (!go) return CANCELLED_OUTCOME;
  return {
    ...selected(go.optionId),
    answers: Object.fromEntries(Object.entries(answer.values).map(([key, all]) => [key, all.join(', ')])),
  };
}

/** Whether the chosen option allows or refuses, by its kind; undefined for an unknown kind. */
export function effectOf(request: PermissionRequest, { outcome }: PermissionOutcome): 'allow' | 'reject' | undefined {
  if (outcome.outcome === 'cancelled') return undefined;
  const kind = request.options.find((option) => option.optionId === outcome.optionId)?.kind;
  if (kind === 'allow_once' || kind === 'allow_always') return 'allow';
  return kind === 'reject_once' || kind === 'reject_always' ? 'reject' : undefined;
}

const DISMISS = 'dismiss';
const EFFECTS = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const;

function selected(optionId: string): PermissionOutcome {
  return { outcome: { outcome: 'selected', optionId } };
}

/** One entry for each option, in the given order; kinds repeat. An option of an unknown kind is shown, and never chosen for the user. */
function toOption(option: PermissionRequest['options'][number]): Option {
  const effect = EFFECTS.find((one) => one === option.kind) ?? 'other';
  return { id: option.optionId, label: option.name, effect };
}

function titleOf(request: PermissionRequest, call: CallFacts): string {
  const title = request.title ?? request.toolCall?.title;
  // One agent puts the arguments where the title belongs.
  return title && !title.startsWith('{') ? title : callTitle(call);
}

/** The places the call names anywhere. */
function pathsIn({ kind, rawInput, locations, edits }: CallFacts): Pick<Approval, 'paths'> {
  return namedPaths(kind, rawInput, [...locations.map((one) => one.path), ...keys(edits)]);
}

/** Nothing the user allows may be hidden behind something else of the same call. */
function detailsOf(request: PermissionRequest, call: CallFacts, cwd: string): Pick<Approval, 'detail' | 'beside'> {
  const main = detailOf(request, call, cwd);
  if (main.type === 'text') return { detail: main };
  const input = commandInput(call.rawInput);
  const other = input && main.type !== 'mcp' && !(main.type === 'command' && main.command.trim() === input.command.trim());
  // Either of the two commands may run.
  const detail: ApprovalDetail = other && main.type === 'command' ? { ...main, unsure: true } : main;
  const beside: ApprovalDetail[] = [];
  const diffs = allDiffs(call);
  if (detail.type !== 'edit' && diffs.length > 0) beside.push({ type: 'edit', diffs });
  const command = input?.command;
  if (other) beside.push({ type: 'command', ...input, ...(detail.type === 'command' ? { unsure: true } : {}) });
  const others = otherArguments(call.rawInput);
  if (others) beside.push({ type: 'text', text: pretty(others) });
  if (diffs.length > 0 && !input) beside.push(...runningMembers(call.rawInput, diffs));
  // Of a change that changes nothing the arguments are all there is to see.
  const changesNothing = detail.type === 'edit' && diffs.every((diff) => diff.before === diff.after);
  if (changesNothing && command === undefined && call.rawInput !== null) beside.push({ type: 'text', text: pretty(call.rawInput) });
  const texts = [request.description ?? '', ...textsOf(call)].filter((text) => text.trim() !== '' && !isShownAlready(text, detail, call));
  const ends = changesNothing ? newEnds(call) : '';
  const isSaid = beside.some((one) => one.type === 'text' && one.text === ends);
  if (ends !== '' && !isSaid) beside.push({ type: 'text', text: ends });
  if (texts.length > 0) beside.push({ type: 'text', text: texts.join('\n') });
  return { detail, ...(beside.length > 0 ? { beside } : {}) };
}

/** The text is the command over again, the folder it runs in, or the arguments that are shown already. */
function isShownAlready(text: string, detail: ApprovalDetail, call: CallFacts): boolean {
  const bare = text
    .replace(/^\s*```\w*\n/, '')
    .replace(/\n```\s*$/, '')
    .trim();
  if (detail.type === 'command' && (bare === detail.command.trim() || (detail.cwd !== undefined && WORKING_DIRECTORY.test(text))))
    return true;
  if (detail.type === 'mcp' && call.rawInput === null && detail.input !== undefined && textsOf(call)[0] === text) return true;
  if (!bare.startsWith('{')) return false;
  return JSON.stringify(readJson(bare)) === JSON.stringify(call.rawInput);
}

function textsOf(call: CallFacts): string[] {
  return call.content.flatMap((item) => (item.type === 'content' ? [plain(toContent(item.content))] : [])).filter(Boolean);
}

function pretty(rawInput: unknown): string {
  return JSON.stringify(rawInput, null, 2).slice(0, ARGUMENTS_KEPT);
}

const WORKING_DIRECTORY = /^\[current working directory ([^\n]+?)\](?: \([^\n]*\))?$/;

function detailOf(request: PermissionRequest, call: CallFacts, cwd: string): ApprovalDetail {
  if (request.command) return { type: 'command', ...request.command };
  const diffs = allDiffs(call);
  if (diffs.length > 0) return { type: 'edit', diffs };
  const texts = textsOf(call);
  const place = call.kind === 'execute' && texts.length === 1 ? WORKING_DIRECTORY.exec(texts[0] ?? '') : null;
  // Gemini CLI has the command in the title, and its folder in the text (0.61.0).
  if (place?.[1] && call.title) return { type: 'command', command: call.title, cwd: place[1] };
  const input = commandInput(call.rawInput);
  if (input) {
    const other = [request.title, request.toolCall?.title, call.title].some((title) => title && namesAnother(title, input.command));
    return { type: 'command', ...input, ...(other ? { unsure: true } : {}) };
  }
  // Some titles are the bare name of the tool, so a title counts as the command only when nothing else names one.
  if (call.kind === 'execute' && texts.length === 0 && call.title) return { type: 'command', command: call.title, unsure: true };
  const mcp = mcpOf(request, call, texts);
  if (mcp) return mcp;
  const plan = (call.rawInput as { readonly plan?: unknown } | null)?.plan;
  const isPlan = texts.length === 0 && typeof plan === 'string' && request.description === undefined;
  if (texts.length === 0 && typeof plan === 'string') texts.push(plan);
  if (request.description) texts.unshift(request.description);
  if (texts.length === 0 && call.rawInput !== null) texts.push(pretty(call.rawInput));
  const places = isPlan ? [] : unnamedPlaces(call, [titleOf(request, call), ...texts], cwd);
  return { type: 'text', text: [...texts, ...places].join('\n') || titleOf(request, call), ...(isPlan ? { markdown: true } : {}) };
}

/** The places of a call that none of its texts names: an allowance is about all of them. */
function unnamedPlaces({ locations }: CallFacts, texts: readonly string[], cwd: string): readonly string[] {
  const words = new Set(texts.flatMap((text) => text.split(/[\s"'`:,]+/)));
  const isNamed = (path: string) => {
    const inside = pathInside(cwd, path) || path;
    return (
      words.has(inside) || (isWindowsPath(cwd) && words.has(inside.replaceAll('\\', '/'))) || texts.some((text) => text.includes(path))
    );
  };
  return [...new Set(locations.slice(0, MOST_PLACES).map(({ path }) => path))].filter((path) => !isNamed(path));
}
const MOST_PLACES = 200;

/** A tool of an MCP server, named as `mcp__server__tool`, or as Gemini CLI does it (0.61.0): in the title, with the input as a text. */
function mcpOf(request: PermissionRequest, call: CallFacts, texts: readonly string[]): ApprovalDetail | undefined {
  const named = /^mcp__(.+?)__(.+)$/.exec(call.name);
  if (named?.[1] && named[2]) return { type: 'mcp', server: named[1], tool: named[2], ...(call.rawInput ? { input: call.rawInput } : {}) };
  // A title alone proves nothing; this answer is offered for tools of servers only.
  if (!request.options.some((one) => one.optionId === 'proceed_always_server')) return undefined;
  const titled = /^([\w.-]+) \(([^()]+) MCP Server\)$/.exec(request.toolCall?.title ?? '');
  if (!titled?.[1] || !titled[2]) return undefined;
  const input = texts.length === 1 ? (inputOf(texts[0] ?? '') ?? texts[0]) : undefined;
  return { type: 'mcp', server: titled[2], tool: titled[1], ...(input === undefined ? {} : { input }) };
}

function inputOf(text: string): object | undefined {
  const value = readJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

function plain(content: Content): string {
  return content.type === 'text' ? content.text : '';
}

/** Qwen asks its questions as permissions, with the questions in the call's meta. */
function qwenQuestions(request: PermissionRequest): readonly Field[] | undefined {
  const meta = request.toolCall?._meta;
  if (meta?.qwenInteractionKind !== 'user_question' || !Array.isArray(meta.qwenQuestions)) return undefined;
  const fields = meta.qwenQuestions.flatMap((question: unknown, at): readonly Field[] => {
    if (typeof question !== 'object' || question === null) return [];
    const { question: label, options, multiSelect } = question as Readonly<Record<string, unknown>>;
    const choices = Array.isArray(options) ? options.flatMap(toChoice) : [];
    return [
      {
        id: String(at),
        label: typeof label === 'string' ? label : `${t('Question')} ${at + 1}`,
        ...(choices.length > 0 ? { choices } : {}),
        ...(multiSelect === true ? { many: true as const } : {}),
        free: true,
      },
    ];
  });
  return fields.length > 0 ? fields : undefined;
}

function toChoice(option: unknown): readonly { readonly label: string; readonly description?: string }[] {
  if (typeof option === 'string') return [{ label: option }];
  if (typeof option !== 'object' || option === null || !('label' in option) || typeof option.label !== 'string') return [];
  const description = 'description' in option ? option.description : undefined;
  return [{ label: option.label, ...(typeof description === 'string' ? { description } : {}) }];
}

/** An answer to one would be about the other, too. */
export function isSameAsk(one: Ask, other: Ask, cwd: string): boolean {
  if (one.kind === 'approval' && other.kind === 'approval') return sameMeaning(one, other, cwd);
  return JSON.stringify({ ...one, id: '' }) === JSON.stringify({ ...other, id: '' });
}
/** The call has got another title since: that is the one to show. */
export function untitled({ title: _, ...request }: PermissionRequest): PermissionRequest {
  return request.toolCall ? { ...request, toolCall: { ...request.toolCall, title: undefined } } : request;
}

// --- what the user is asked before a request of the agent is carried out

/** A file that is to be written, as the user is asked about it. */
export interface WriteFacts {
  readonly place: 'inside' | 'guarded' | 'outside';
  readonly target: string;
  readonly real: string;
  /** A user who allowed the change of this path saw where it leads. */
  readonly evident: boolean;
  /** Its present text, in the editor or on disk; null when there is none. */
  readonly before: string | null;
  /** The refused path that leads to this file. */
  readonly refusedPath: string | null;
}
/** The subject of such a question. */
export type PermissionSubject = Pick<Approval, 'title' | 'toolKind' | 'detail'>;

export const readSubject = (path: string): PermissionSubject => ({
  title: t('Read {0}', path),
  toolKind: 'read',
  detail: { type: 'text', text: path },
});
export const commandSubject = (title: string, command: string, cwd: string): PermissionSubject => ({
  title,
  toolKind: 'execute',
  detail: { type: 'command', command, cwd },
});
/** The user sees where a path leads, unless the path itself shows it. */
export function writeSubject(look: WriteFacts, content: string): PermissionSubject {
  const { place, target, real, evident, before, refusedPath } = look;
  const shown = evident ? target : real;
  const what = t('Edit {0}', shown);
  const title =
    refusedPath !== null ? t('{0} (you rejected this before)', what) : place === 'guarded' ? what : t('{0} (outside the workspace)', what);
  return editSubject(title, shown, before, content);
}
/** The user has changed the same lines. */
export function mergeSubject({ target, before }: WriteFacts, content: string): PermissionSubject {
  return editSubject(t('This file was changed where the agent changes it, too'), target, before ?? '', content);
}
function editSubject(title: string, path: string, before: string | null, after: string): PermissionSubject {
  const diff = { path, before: before === null ? null : withoutReturns(before), after: withoutReturns(after) };
  return { title, toolKind: 'edit', detail: { type: 'edit', diffs: [diff] } };
}
/** A command that goes against a refusal. */
export function againstTitle(against: RejectedSubject): string {
  if (against === 'command') return t('{0} (you rejected this before)', t('Run in terminal'));
  return t('Run a command that names a file whose change you have rejected');
}
/** The answer to the agent when that is refused as well. */
export function rejectedAgainst(against: RejectedSubject, line: string): string {
  if (against === 'command') return `The user has rejected this command: ${line}`;
  return `The user has rejected a change of a file this command names, and did not allow the command: ${line}`;
}
/** As the session shows texts. */
export const withoutReturns = (text: string): string => text.replaceAll('\r\n', '\n');

// --- what the user has allowed and refused in a turn

/** Doing what was refused by another way is asked about again, not simply served. */
export interface Decided {
  /** Files and the texts the user saw and allowed for them. */
  readonly allowedTexts: Table<string>;
  /** Paths of refused changes. */
  readonly refusedPaths: Table<true>;
  readonly refusedCommands: Table<true>;
  /** Files of which one text was refused: another text may be allowed. */
  readonly refusedWrites: Table<true>;
  /** Commands that were allowed, whatever they name. */
  readonly allowedCommands: Table<true>;
}
export const nothingDecided = (): Decided => ({
  allowedTexts: {},
  refusedPaths: {},
  refusedCommands: {},
  refusedWrites: {},
  allowedCommands: {},
});

/** Why a command is asked about: it holds one that was refused, or names a file whose change was. */
export type RejectedSubject = 'command' | 'file';
/** UTF-16 units of a command times what was decided in the turn: some 10 ms. */
const MOST_SEARCHED = 5_000_000;
const CHANGING: ReadonlySet<string | undefined> = new Set(['edit', 'delete', 'move']);
const detailsIn = ({ detail, beside = [] }: Approval): readonly ApprovalDetail[] => [detail, ...beside];

/** Allows the texts that the ask showed, whatever the agent reports of the call afterwards. Locations of the call allow nothing. */
export function noteAllowed(decided: Decided, ask: Approval, cwd: string): void {
  allowDetails(decided, detailsIn(ask), cwd);
  if (ask.detail.type !== 'edit' || !CHANGING.has(ask.toolKind)) return;
  for (const { path, after, excerpt, summary } of ask.detail.diffs)
    if (!excerpt && !summary && after !== null) put(decided.allowedTexts, writtenPermitKey(path), after);
}
/** The user has allowed it, before or after all. */
export function allowDetails(decided: Decided, details: readonly ApprovalDetail[], cwd: string): void {
  const allowed = new Set(pathsOf(details).map((path) => writtenPermitKey(resolvePath(cwd, path))));
  for (const path of keys(decided.refusedPaths)) if (allowed.has(writtenPermitKey(path))) remove(decided.refusedPaths, path);
  for (const command of commandsOf(details)) {
    remove(decided.refusedCommands, command);
    put(decided.allowedCommands, command, true);
  }
}
/** For a call that changes files, the paths it names are refused as well, because it may have no diff. */
export function noteRefused(decided: Decided, ask: Approval, call: CallFacts | undefined, cwd: string): void {
  const places = call && CHANGING.has(ask.toolKind) ? call.locations.map((one) => one.path) : [];
  const details = detailsIn(ask);
  for (const path of [...places, ...pathsOf(details)]) put(decided.refusedPaths, resolvePath(cwd, path), true);
  for (const command of commandsOf(details)) {
    put(decided.refusedCommands, command, true);
    remove(decided.allowedCommands, command);
  }
  for (const one of details)
    if (one.type === 'edit') for (const { path } of one.diffs) remove(decided.allowedTexts, writtenPermitKey(path));
}
/**
 * Finds in a command what the user has refused; undefined when it holds nothing of that. Allowed commands are left out first. A file counts by its
 * bare name: a command can reach it from any folder. Where that would take too long it counts as refused.
 */
function refusedIn(line: string, decided: Decided): RejectedSubject | undefined {
  const [allowed, refused] = [keys(decided.allowedCommands), keys(decided.refusedCommands)];
  const paths = [...keys(decided.refusedPaths), ...keys(decided.refusedWrites)];
  if (refused.length + paths.length === 0) return undefined;
  if ((allowed.length + refused.length + paths.length) * line.length > MOST_SEARCHED) return 'command';
  let rest = line;
  for (const command of allowed) rest = without(rest, command);
  if (refused.some((command) => placeIn(rest, command) >= 0)) return 'command';
  const folded = rest.toLowerCase();
  const names = paths.map((path) => path.split(/[\\/]/).at(-1)?.toLowerCase() ?? '');
  return names.some((name) => placeIn(folded, name) >= 0) ? 'file' : undefined;
}
/** The same for a command before it runs. The refusal may have named the shell as well, which the line leaves out. */
export function refusedFor(
  { line, command, args }: { readonly line: string; readonly command: string; readonly args: readonly string[] },
  decided: Decided,
): RejectedSubject | undefined {
  const found = refusedIn(line, decided);
  // Without its quotes a line that was allowed would not be known again.
  return found || find(decided.allowedCommands, line.trim()) ? found : refusedIn([command, ...args].join(' '), decided);
}
/** The user has seen and allowed this text for the file. */
export function wasAllowed(decided: Decided | undefined, path: string, content: string): boolean {
  const text = decided && find(decided.allowedTexts, writtenPermitKey(path));
  return text !== undefined && withoutReturns(text) === withoutReturns(content);
}

function pathsOf(details: readonly ApprovalDetail[]): readonly string[] {
  return details.flatMap((one) => (one.type === 'edit' ? one.diffs.map((diff) => diff.path) : []));
}
function commandsOf(details: readonly ApprovalDetail[]): readonly string[] {
  return details.flatMap((one) => (one.type === 'command' && one.command.trim() ? [one.command.trim()] : []));
}

/** The index of a command or a name in a line, from `from` on and not within a word: `ls` is not in `false`. -1 when it is not there. */
function placeIn(line: string, name: string, from = 0): number {
  if (name === '') return -1;
  for (let at = line.indexOf(name, from); at >= 0; at = line.indexOf(name, at + 1)) {
    if (!/\w/.test(line[at - 1] ?? ' ') && !/\w/.test(line[at + name.length] ?? ' ')) return at;
  }
  return -1;
}

/** The line but for that command. */
function without(line: string, command: string): string {
  const rest: string[] = [];
  let from = 0;
  for (let at = placeIn(line, command); at >= 0; at = placeIn(line, command, from)) {
    rest.push(line.slice(from, at));
    from = at + command.length;
  }
  return [...rest, line.slice(from)].join(' ');
}

/** Shells where systems have them: one of that name elsewhere may be any program. */
const SYSTEM_SHELL = /^\/(?:usr\/(?:local\/)?|opt\/homebrew\/)?bin\/(?:ba|z|da|k)?sh$/;

/** The same for those in which the included agent runs commands on Windows. */
const WINDOWS_SHELL =
  /^[a-z]:\\(?:windows\\system32\\windowspowershell\\v1\.0\\powershell|program files\\(?:powershell\\7\\pwsh|git\\bin\\bash))\.exe$/i;

/**
 * A command as the user reads it, and as rules do: the line alone where a shell of the system is given one, and without what the included agent puts around
 * it for UTF-8 and the exit code.
 */
export function lineOf(command: string, args: readonly string[]): string {
  const [option, line, ...more] = args;
  if (SYSTEM_SHELL.test(command) && option === '-c' && line !== undefined && more.length === 0 && line.trim() !== '') return line;
  const wrapped = wrappedCommand(args);
  if (wrapped !== undefined && wrapped.trim() !== '')
    return WINDOWS_SHELL.test(command) ? wrapped : [command, args.at(-2), wrapped].join(' ');
  // The shells of Windows quote in ways of their own.
  const isOfWindows = /^[a-z]:\\|\.exe$|^(?:cmd|powershell|pwsh)$/i.test(command);
  return [command, ...(isOfWindows ? args : args.map(quoted))].join(' ');
}
/** As a shell would need it: an argument that is more than one plain word is in quotes, and nothing in it is expanded. */
function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
