import { joinWords, t } from '../base/l10n.ts';
import type { Decision, PlanEntry, Session, Terminal, ToolCall } from './model.ts';
import { isSettled } from './parts.ts';
import { callTitle, diffsOf, forSession, relativePath } from './select.ts';
import { shortened } from './visible.ts';

/** A call in plain words: verb, object and result. The raw name and input are shown elsewhere. */
export interface CallWords {
  readonly verb: string;
  readonly thing?: string;
  /** The thing is code, a command or a pattern; or the path of a file. */
  readonly code?: true;
  readonly file?: true;
  /** The location, shown after the thing. */
  readonly place?: string;
  /** The object where there is little room: of several answers only these. */
  readonly thingShort?: string;
  /** The result: "12 matches". */
  readonly result?: string;
  /** The error, shown last: "exit 1". */
  readonly problem?: string;
  /** The user or rule that decided, or the agent that remembers an answer. */
  readonly decided?: string;
  /** The same in the fewest words, for narrow rows. */
  readonly decidedShort?: string;
}

/** The groups that rows of one kind fold into: "Read 3 files · searched 2". */
export type CallGroup = 'read' | 'list' | 'look' | 'search' | 'run';

type Stage = 'running' | 'done' | 'failed' | 'rejected' | 'cancelled';

/** An earlier answer of the user, in the agent's words, that covers a call the agent did not ask about. */
interface Remembered {
  readonly agent: string;
  readonly answer: string;
}

export function callWords(call: ToolCall, session: Pick<Session, 'cwd' | 'terminals'>, remembered?: Remembered): CallWords {
  const decided = remembered === undefined ? decisionText(call) : `${t('by {0}', remembered.agent)}${lastingText(remembered.answer)}`;
  const words = wordsOf(call, session);
  const named = stageOf(call) === 'rejected' && words.thing === undefined ? { verb: t('Rejected'), thing: words.verb } : words;
  return decided === undefined
    ? named
    : { ...named, decided, ...(remembered === undefined ? decidedShort(call) : { decidedShort: `✓ ${t('by {0}', remembered.agent)}` }) };
}

/** A piece of a row, with what separates it from the one before: a space, or nothing in a language that writes none. */
export interface RowPiece {
  readonly role: 'verb' | 'thing' | 'place';
  readonly text: string;
  readonly gap: string;
}

/** Verb, thing and place in the order of the user's language: Chinese puts the place before the verb. */
export function rowPieces({ verb, thing, place }: Pick<CallWords, 'verb' | 'thing' | 'place'>): readonly RowPiece[] {
  const texts = { verb, thing, place };
  const roles = isPlaceFirst() ? (['place', 'verb', 'thing'] as const) : (['verb', 'thing', 'place'] as const);
  const pieces = roles.flatMap((role) => (texts[role] === undefined ? [] : [{ role, text: texts[role] }]));
  return pieces.map((piece, at) => ({ ...piece, gap: gapBetween(pieces[at - 1]?.text, piece.text) }));
}

function isPlaceFirst(): boolean {
  return /^\p{Script=Han}/u.test(t('in {0}', ''));
}

function gapBetween(left: string | undefined, right: string): string {
  return left === undefined ? '' : joinWords(left, right).slice(left.length, -right.length || undefined);
}

/** The group a finished call may fold into; undefined for a call with a row of its own. */
export function callGroup(call: ToolCall, session: Pick<Session, 'terminals'>): CallGroup | undefined {
  if (call.status !== 'done' || call.error || isPlan(call) || opens(call)) return undefined;
  if (call.decision?.kind === 'answers' || isRejection(call.decision)) return undefined;
  if (subjectOf(ourTool(call)) !== undefined) return 'look';
  if (call.kind === 'read') return lists(call) ? 'list' : 'read';
  if (call.kind === 'search') return 'search';
  if (call.kind !== 'execute') return undefined;
  const exit = terminalOf(call, session)?.exit;
  return exit === undefined || exit.code === 0 ? 'run' : undefined;
}

/** What calls of a group have sought, listed and looked at, where that is known. */
interface GroupThings {
  readonly sought?: readonly Sought[];
  readonly listed?: readonly string[];
  readonly looked?: readonly string[];
}

/** "Read 3 files · listed src/ · searched for foo in src · read Problems", with the first word beginning the line. */
export function groupWords(groups: readonly CallGroup[], { sought = [], listed = [], looked = [] }: GroupThings = {}): string {
  const count = (group: CallGroup) => groups.filter((one) => one === group).length;
  const [read, searched, ran] = [count('read'), count('search'), count('run')];
  const texts = [
    read === 0 ? '' : t('read {0} {0|file|files}', read),
    listed.length === 0 ? '' : joinWords(t('Listed').toLowerCase(), listedWords(listed)),
    searched === 0 ? '' : sought.length === searched && searched < 3 ? soughtWords(sought) : t('searched {0} {0|time|times}', searched),
    looked.length === 0 ? '' : joinWords(t('Read').toLowerCase(), listedWords(looked)),
    ran === 0 ? '' : t('ran {0} {0|command|commands}', ran),
  ].filter(Boolean);
  return beginning(texts.join(' · '));
}

/** The text as the beginning of a line. */
function beginning(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Characters of a pattern in a folded row; its own row has all of it. */
const MOST_SOUGHT = 60;

/** A search that is done: "foo (12 matches)", and "in src". */
export interface Sought {
  readonly text: string;
  readonly place?: string;
}

/** Undefined for all other calls. */
function soughtIn(call: ToolCall, session: Pick<Session, 'cwd' | 'terminals'>): Sought | undefined {
  if (callGroup(call, session) !== 'search') return undefined;
  const { thing, place, result } = callWords(call, session);
  if (thing === undefined) return undefined;
  const found = result === undefined ? [] : [`(${result})`];
  const text = [shortened(thing, MOST_SOUGHT), ...(isPlaceFirst() || place === undefined ? [] : [place]), ...found].join(' ');
  return { text, ...(isPlaceFirst() && place !== undefined ? { place } : {}) };
}

function soughtWords(sought: readonly Sought[]): string {
  if (!sought.some(({ place }) => place !== undefined)) return t('searched for {0}', sought.map(({ text }) => text).join(', '));
  return sought.map(({ text, place = '' }) => [place, t('searched for {0}', text)].filter(Boolean).reduce(joinWords)).join(', ');
}

/** The things that calls of a group tell in a folded row. */
export function groupThings(calls: readonly ToolCall[], session: Pick<Session, 'cwd' | 'terminals'>): Required<GroupThings> {
  const thingsOf = (group: CallGroup) =>
    calls.flatMap((call) => (callGroup(call, session) === group ? (callWords(call, session).thing ?? []) : []));
  return { sought: calls.flatMap((call) => soughtIn(call, session) ?? []), listed: thingsOf('list'), looked: thingsOf('look') };
}

function listedWords(listed: readonly string[]): string {
  const [first = '', second, ...others] = new Set(listed);
  const more = others.length === 0 ? [] : [t('{0} more', others.length)];
  return [first, ...(second === undefined ? [] : [second]), ...more].map((name) => shortened(name, MOST_SOUGHT)).join(', ');
}

/** Milliseconds in words: "4.2 s", "1:05"; nothing for what would be "0.0 s". */
export function durationText(milliseconds: number): string {
  if (milliseconds < 50) return '';
  if (milliseconds < 59_950) return t('{0} s', milliseconds < 9_950 ? (milliseconds / 1000).toFixed(1) : Math.round(milliseconds / 1000));
  const seconds = Math.round(milliseconds / 1000);
  const [minutes, hours] = [Math.floor(seconds / 60) % 60, Math.floor(seconds / 3600)];
  const two = (value: number) => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function wordsOf(call: ToolCall, session: Pick<Session, 'cwd' | 'terminals'>): CallWords {
  const { decision } = call;
  if (decision?.kind === 'answers') return answeredWords(decision);
  if (call.withdrawn && neverBegan(call)) return { ...wordsAbout(call, session, 'cancelled'), verb: t('Skipped') };
  if (decision?.kind === 'skipped') return { verb: t('Skipped'), thing: questionOf(call) ?? callTitle(call, session.cwd) };
  if (isPlan(call)) return planWords(call);
  const stage = stageOf(call);
  const words = wordsAbout(call, session, stage);
  // The agent's own title has no verb of ours that would tell it.
  return stage === 'failed' && words.problem === undefined && words.thing === undefined
    ? { ...words, problem: t('Failed').toLowerCase() }
    : words;
}

function wordsAbout(call: ToolCall, session: Pick<Session, 'cwd' | 'terminals'>, stage: Stage): CallWords {
  if (opens(call)) return fileWords(call, session.cwd, OPEN[stage]());
  const looked = lookedAt(call, session.cwd);
  if (looked !== undefined) return { verb: READ[stage](), ...looked };
  switch (call.kind) {
    case 'execute':
      return commandWords(call, session, stage);
    case 'read':
      return lists(call) ? listWords(call, session.cwd, stage) : fileWords(call, session.cwd, READ[stage]());
    case 'edit':
      return editWords(call, session.cwd, stage);
    case 'delete':
      return fileWords(call, session.cwd, DELETE[stage]());
    case 'search':
      return searchWords(call, session.cwd, stage);
    case 'move':
      return movedWords(call, session.cwd, stage) ?? otherWords(call, session.cwd, stage);
    case 'think':
    case 'fetch':
    case 'other':
      return otherWords(call, session.cwd, stage);
  }
}

/** The question that a call asked the user: the first one that its input lists, or no more than that it was one where it has only a tool's name. */
function questionOf({ input, name, title }: ToolCall): string | undefined {
  const questions = typeof input === 'object' && input !== null ? Object.values(input).find(Array.isArray) : undefined;
  const [first]: readonly unknown[] = questions ?? [];
  if (typeof first === 'object' && first !== null && 'question' in first && typeof first.question === 'string')
    return shortened(first.question.trim(), LONGEST_QUESTION);
  return name !== '' && (title === '' || title === name) ? t('Question') : undefined;
}

/** The words for a plan, with how many of its steps are done where the input lists them: a row of the past is at no step. */
function planWords(call: ToolCall): CallWords {
  if (call.status === 'failed') return { verb: t('Could not edit'), thing: t('Plan') };
  const steps = planEntries(call);
  return { verb: t('Updated the plan'), ...(steps === undefined ? {} : { result: doneOf(steps) }) };
}

/** "2/3 done". */
export function doneOf(steps: readonly PlanEntry[]): string {
  const done = steps.filter(({ status }) => status === 'completed').length;
  return `${done}/${steps.length} ${t('Done').toLowerCase()}`;
}

/** The steps that the input of a plan's call lists; undefined for all other calls. */
export function planEntries(call: ToolCall): readonly PlanEntry[] | undefined {
  const { input } = call;
  const steps = isPlan(call) && typeof input === 'object' && input !== null ? Object.values(input).find(Array.isArray) : undefined;
  if (steps === undefined || steps.length === 0) return undefined;
  return steps.map((step: unknown): PlanEntry => {
    const fields = typeof step === 'object' && step !== null ? (step as Readonly<Record<string, unknown>>) : {};
    const text = [fields.title, fields.content, fields.step, fields.text, fields.description].find((one) => typeof one === 'string');
    return { text: typeof text === 'string' ? text : '', status: STEP_STATES.get(fields.status) ?? 'pending' };
  });
}

const STEP_STATES: ReadonlyMap<unknown, PlanEntry['status']> = new Map([
  ['in_progress', 'in_progress'],
  ['in-progress', 'in_progress'],
  ['done', 'completed'],
  ['completed', 'completed'],
] as const);

const READ: Readonly<Record<Stage, () => string>> = {
  running: () => t('Reading'),
  done: () => t('Read'),
  failed: () => t('Could not read'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};
const EDIT: Readonly<Record<Stage, () => string>> = {
  running: () => t('Editing'),
  done: () => t('Edited'),
  failed: () => t('Could not edit'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};
const DELETE: Readonly<Record<Stage, () => string>> = {
  running: () => t('Deleting'),
  done: () => t('Deleted'),
  failed: () => t('Could not delete'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};
const SEARCH: Readonly<Record<Stage, () => string>> = {
  running: () => t('Searching for'),
  done: () => t('Searched for'),
  failed: () => t('Could not search for'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};
const OPEN: Readonly<Record<Stage, () => string>> = {
  running: () => t('Opening'),
  done: () => t('Opened'),
  failed: () => t('Could not open'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};
const USE: Readonly<Record<Stage, () => string>> = {
  running: () => t('Using'),
  done: () => t('Used'),
  failed: () => t('Could not run'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};
const RUN: Readonly<Record<Stage, () => string>> = {
  running: () => t('Running'),
  done: () => t('Ran'),
  failed: () => t('Could not run'),
  rejected: () => t('Rejected'),
  cancelled: () => t('Stopped'),
};

/** A rejected call stays rejected, whatever status the agent reports for it. */
function stageOf({ status, decision }: ToolCall): Stage {
  if (isRejection(decision) && status !== 'running') return 'rejected';
  switch (status) {
    case 'pending':
    case 'waiting':
    case 'running':
      return 'running';
    case 'done':
    case 'ended':
      return 'done';
    case 'failed':
    case 'rejected':
    case 'cancelled':
      return status;
  }
}

function commandWords(call: ToolCall, session: Pick<Session, 'cwd' | 'terminals'>, stage: Stage): CallWords {
  const terminal = terminalOf(call, session);
  const command = (terminal?.command || inputText(call, 'command', 'cmd', 'script') || callTitle(call, session.cwd)).trim();
  const [first = '', ...rest] = command.split('\n');
  const thing = rest.length > 0 ? `${first} …` : first;
  const stopped = terminal?.exit?.stopped ? 'cancelled' : stage;
  const { code = stage === 'failed' ? exitCodeIn(call) : null, signal = null } = terminal?.exit ?? {};
  const problem =
    stopped === 'cancelled' || stopped === 'rejected'
      ? undefined
      : code !== null && code !== 0
        ? t('exit {0}', code)
        : signal !== null
          ? t('killed ({0})', signal)
          : stage === 'failed' && call.output.length > 0
            ? t('Failed').toLowerCase()
            : undefined;
  // A command that has ended with a code, or printed something, did run.
  const verb = stopped === 'failed' && problem !== undefined ? t('Ran') : RUN[stopped]();
  return { verb, thing, code: true, ...(problem === undefined ? {} : { problem }) };
}

/** Reads the exit code from the text of agents without a terminal: their error, or the first or last lines of the output. */
function exitCodeIn({ output, error }: ToolCall): number | null {
  const texts = output.flatMap((one) => (one.kind === 'content' && one.content.type === 'text' ? [one.content.text] : []));
  for (const text of [error?.message ?? '', ...texts]) {
    const found = EXIT.exec(text.slice(0, 300)) ?? EXIT.exec(text.slice(-300));
    if (found) return Number(found[1]);
  }
  return null;
}
const EXIT = /\bexit(?:ed with)?(?: code| status)?[: ]{1,3}(\d{1,3})\b/i;
/** True for a line that only reports how the command ended. */
export function isExitLine(text: string): boolean {
  return /^\W{0,3}(?:command )?(?:failed )?(?:with )?exit(?:ed with)?(?: code| status)?[: ]{1,3}\d{1,3}\W{0,3}$/i.test(text.trim());
}

function fileWords(call: ToolCall, cwd: string, verb: string): CallWords {
  const path = pathOf(call);
  if (path === undefined) return { verb: callTitle(call, cwd) };
  const line = call.locations.find((one) => one.path === path)?.line;
  return { verb, thing: `${relativePath(path, cwd)}${line === undefined || line <= 1 ? '' : `:${line}`}`, file: true };
}

/** True for a call that lists a folder, under any of the names that agents use. */
function lists({ name, title }: ToolCall): boolean {
  const found = /^(?:list_?dir(?:ectory)?|list_?files|ls)\b/i;
  return found.test(name) || found.test(title);
}

function listWords(call: ToolCall, cwd: string, stage: Stage): CallWords {
  const place = relativePath(pathOf(call) ?? inputText(call, 'dir_path', 'directory') ?? cwd, cwd);
  const here = place === '.' || place === '' || place === cwd;
  const thing = here ? (cwd.split(/[\\/]/).findLast(Boolean) ?? cwd) : place;
  return { verb: stage === 'done' ? t('Listed') : READ[stage](), thing: thing.endsWith('/') ? thing : `${thing}/` };
}

function editWords(call: ToolCall, cwd: string, stage: Stage): CallWords {
  const diffs = diffsOf(call);
  const paths = [...new Set(diffs.map((diff) => diff.path))];
  if (paths.length > 1) return { verb: EDIT[stage](), thing: t('{0} {0|file|files}', paths.length) };
  const [first] = diffs;
  if (stage === 'done' && first && !first.summary) {
    if (diffs.at(-1)?.after === null) return { verb: t('Deleted'), thing: relativePath(first.path, cwd), file: true };
    if (first.before === null) return { verb: t('Created'), thing: relativePath(first.path, cwd), file: true };
  }
  const words = fileWords(call, cwd, EDIT[stage]());
  return first ? { verb: EDIT[stage](), thing: relativePath(first.path, cwd), file: true } : words;
}

function searchWords(call: ToolCall, cwd: string, stage: Stage): CallWords {
  const pattern = inputText(call, 'pattern', 'query', 'regex', 'glob', 'search');
  if (pattern === undefined) return { verb: callTitle(call, cwd) };
  const path = inputText(call, 'path', 'dir_path', 'directory', 'include');
  const place = path === undefined ? undefined : relativePath(path, cwd);
  const inside = place === undefined || place === '.' || place === cwd || place === '' ? {} : { place: t('in {0}', place) };
  const matches = stage === 'done' ? matchesIn(call) : undefined;
  const result = matches === undefined ? {} : { result: t('{0} {0|match|matches}', matches) };
  return { verb: SEARCH[stage](), thing: pattern, code: true, ...inside, ...result };
}

/** The number of matches that the output states, or else of its lines that name a file; undefined without either. */
function matchesIn({ output }: ToolCall): number | undefined {
  const text = output.flatMap((one) => (one.kind === 'content' && one.content.type === 'text' ? [one.content.text] : [])).join('\n');
  if (text === '' || text.length > MOST_SEARCHED) return undefined;
  const head = text.slice(0, 200);
  if (/^\W*no (?:match|file|result)/i.test(head)) return 0;
  const said = /^(?:found )?(\d{1,7}) (?:total )?(?:match|result|file|line|occurrence)/i.exec(head)?.[1];
  if (said !== undefined) return Number(said);
  const lines = text.split('\n').filter((line) => /^(?:[a-z]:)?[^\s:*?"<>|]{1,400}(?::\d+[:-]|$)/i.test(line) && /[./\\]/.test(line));
  return lines.length > 0 ? lines.length : undefined;
}
/** The longest output in which matches are counted, in UTF-16 units. */
const MOST_SEARCHED = 200_000;

/** Of a finished move, both paths; undefined where its title does not tell them. */
function movedWords(call: ToolCall, cwd: string, stage: Stage): CallWords | undefined {
  const title = callTitle(call, cwd);
  if (stage !== 'done' || title.length > LONGEST_NAMED) return undefined;
  const { from, to } = /^(?:move|rename) (?<from>.+?) to (?<to>.+)$/i.exec(title)?.groups ?? {};
  return from === undefined || to === undefined ? undefined : { verb: beginning(t('moved')), thing: `${from} → ${to}` };
}

function otherWords(call: ToolCall, cwd: string, stage: Stage): CallWords {
  const title = callTitle(call, cwd);
  const named = [call.name, call.title]
    .map((name) => /^mcp__(?<server>[\w-]+?)__(?<tool>[\w-]+)$/.exec(name.slice(0, LONGEST_NAMED)))
    .find(Boolean);
  const { server, tool } = (named ?? /^(?<tool>[\w.-]+) \((?<server>[^()]+) MCP Server\)$/.exec(title))?.groups ?? {};
  const url = call.kind === 'fetch' ? inputText(call, 'url', 'uri') : undefined;
  const ofServer = server === undefined || tool === undefined ? undefined : t('{0} of {1}', tool, server);
  // A tool's bare name does not show its progress.
  const used = ofServer ?? (url === undefined && title === call.name ? title : undefined);
  if (used !== undefined) return { verb: USE[stage](), thing: used };
  if (url !== undefined) return { verb: OPEN[stage](), thing: url };
  const order = /^(?:agent|task): (.+)$/is.exec(title)?.[1];
  if (order !== undefined && title.startsWith(`${call.name}: `)) return { verb: t('Sub-agent'), thing: order };
  return stage === 'rejected' || stage === 'cancelled' ? { verb: OPEN[stage](), thing: title } : { verb: title };
}

function pathOf(call: ToolCall): string | undefined {
  return (
    diffsOf(call)[0]?.path ?? call.locations[0]?.path ?? inputText(call, 'path', 'file_path', 'filePath', 'absolute_path', 'target_file')
  );
}

function inputText({ input }: ToolCall, ...names: readonly string[]): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  for (const name of names) {
    const value = (input as Readonly<Record<string, unknown>>)[name];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}

/** True for a call that shows the agent's plan, or a newer state of it. */
export function isPlan({ name, title, kind }: ToolCall): boolean {
  const plans = /^(?:set_?todo_?list|todo_?write|write_?todos|update_?plan)$/i;
  return (kind === 'think' || kind === 'other') && (plans.test(name) || plans.test(title));
}

/** The name of one of Parley's own editor tools, however the agent names the tools of a server; undefined for all others. */
function ourTool({ name, title }: ToolCall): string | undefined {
  const found =
    /(?:^|__|[./: ])(open_in_ide|show_diff|get_diagnostics|get_selection|get_open_editors|go_to_definition|find_references|document_symbols)(?: \(.{0,80}\))?$/;
  return (found.exec(name) ?? found.exec(title))?.[1];
}

/** True for a call that shows a file or a change in the editor and reads nothing for the agent. */
function opens(call: ToolCall): boolean {
  const tool = ourTool(call);
  return tool === 'open_in_ide' || tool === 'show_diff';
}

/** The query and file of one of our read-only tools. */
function lookedAt(call: ToolCall, cwd: string): Pick<CallWords, 'thing' | 'place'> | undefined {
  const thing = subjectOf(ourTool(call));
  if (thing === undefined) return undefined;
  const path = pathOf(call);
  return path === undefined ? { thing } : { thing, place: t('in {0}', relativePath(path, cwd)) };
}

function subjectOf(tool: string | undefined): string | undefined {
  switch (tool) {
    case 'get_diagnostics':
      return t('Problems');
    case 'get_selection':
      return t('Selection');
    case 'get_open_editors':
      return t('Open editors');
    case 'go_to_definition':
      return t('a definition');
    case 'find_references':
      return t('references');
    case 'document_symbols':
      return t('symbols');
    default:
      return undefined;
  }
}

function terminalOf(call: ToolCall, { terminals }: Pick<Session, 'terminals'>): Terminal | undefined {
  for (const output of call.output) if (output.kind === 'terminal') return terminals.findLast((one) => one.id === output.terminalId);
  return undefined;
}

/** The user or rule that decided, in the fewest words. That it was the user goes without saying: only an allowed call needs a sign. */
function decidedShort({ decision, status }: ToolCall): Pick<CallWords, 'decidedShort'> {
  if (decision?.kind !== 'approval' || (isRejection(decision) && status === 'running')) return {};
  const isByRule = decision.by === 'rule';
  if (isRejection(decision)) return { decidedShort: isByRule ? byRule() : '' };
  // Beside a command that was stopped or failed a tick would tell that it went well.
  const tick = status === 'cancelled' || status === 'failed' ? '' : '✓';
  // The name of the file needs the room.
  const byUser = decision.edited ? `${tick} ✎`.trim() : tick;
  return decision.effect.startsWith('allow') ? { decidedShort: isByRule ? `✓ ${byRule()}` : byUser } : {};
}

function byRule(): string {
  return t('by {0|you|rule}', 2);
}

function decisionText({ decision, status }: ToolCall): string | undefined {
  if (decision?.kind !== 'approval') return undefined;
  const { by, effect, rule, label = '', feedback, edited } = decision;
  const quoted = (words: string | undefined) => (words ? ` “${words}”` : '');
  const isRejected = isRejection(decision);
  if (isRejected && status === 'running') return t('Rejected');
  if (by === 'rule') return `${isRejected ? byRule() : t('allowed by your rule')}${quoted(rule && coveredBy(rule))}`;
  if (isRejected) return `${t('by {0|you|rule}', 1)}${quoted(feedback)}`;
  const allowed = edited ? t('edited by you') : t('allowed by you');
  if (effect === 'allow_once') return rule ? `${allowed} · ${t('For this session')}` : allowed;
  if (effect === 'allow_always') return `${allowed}${lastingText(label)}`;
  return `“${label}”`;
}

/** How long an answer holds: in our words where the agent states that it is for the session, otherwise in its own. */
function lastingText(label: string): string {
  if (forSession(label)) return ` · ${t('For this session')}`;
  return label === '' ? '' : ` “${label}”`;
}

/** True when the user, or one of their rules, rejected the call. */
export function isRejection(decision: Decision | undefined): boolean {
  return decision?.kind === 'approval' && decision.effect.startsWith('reject');
}

/** True for a call that the agent has only announced. */
function neverBegan({ status, startedAt }: ToolCall): boolean {
  return status === 'pending' || status === 'waiting' || (status === 'cancelled' && startedAt === undefined);
}

/** True for a command that ran, even if only for a while: its row does not say that it could not. */
export function hasRun(call: ToolCall, session: Pick<Session, 'cwd' | 'terminals'>): boolean {
  const stage = stageOf(call);
  if (stage === 'rejected' || neverBegan(call)) return false;
  return stage !== 'failed' || commandWords(call, session, stage).problem !== undefined;
}

/** A single answer stands before its question, because the end of a narrow row is cut; several answers each follow their question. */
function answeredWords({ values }: Extract<Decision, { kind: 'answers' }>): CallWords {
  const given = values.filter((field) => field.values.some(Boolean));
  const thing =
    given.length === 1 ? given[0]?.values.join(', ') : given.map((field) => pairText(field, LONGEST_QUESTION / given.length)).join(' · ');
  const asked = given.length === 1 ? given[0]?.label : undefined;
  const thingShort = given.length > 1 ? given.map((field) => field.values.join(', ')).join(' · ') : undefined;
  return { verb: t('Answered'), ...(thing ? { thing } : {}), ...(thingShort ? { thingShort } : {}), ...(asked ? { result: asked } : {}) };
}

function pairText({ label, values }: { readonly label: string; readonly values: readonly string[] }, longest: number): string {
  const question = shortened(label.trim(), Math.ceil(longest));
  const mark = question === '' ? '' : /\p{P}$/u.test(question) ? ' ' : ': ';
  return `${question}${mark}${values.join(', ')}`;
}
/** UTF-16 units of the questions in one row. */
const LONGEST_QUESTION = 60;

/** The run time of a finished call, in milliseconds. */
export function ranFor(call: ToolCall): number | undefined {
  if (!isSettled(call) || call.startedAt === undefined || call.endedAt === undefined) return undefined;
  return Math.max(0, call.endedAt - call.startedAt);
}

// --- rules

/** In UTF-16 units. A longer command is named by its beginning, and only a rule for its whole text is suggested. */
export const LONGEST_NAMED = 300;
/** The sign for anything in a pattern of a rule. */
export const ANY = '*';
/** The end of a pattern of a rule that covers a folder. */
export const BELOW = ['', ANY + ANY].join('/');
/** Scopes of rules without a pattern. */
const WHOLE: Readonly<Record<string, () => string>> = {
  command: () => t('Run in terminal'),
  execute: () => t('Run in terminal'),
  edit: () => t('all edits in this workspace'),
  mcp: () => t('all tools of {0}', 'MCP'),
  read: () => t('reading files here'),
  delete: () => t('Deletes files'),
  fetch: () => t('Uses the network'),
};
/** The scope of a rule in plain words; its pattern where there are none for it. */
export function coveredBy({ kind, pattern }: { readonly kind: string; readonly pattern?: string }): string {
  if (pattern === undefined) return (Object.hasOwn(WHOLE, kind) ? WHOLE[kind]?.() : undefined) ?? `${kind}: ${ANY}`;
  const start = pattern.slice(0, -2);
  if (kind === 'command' && pattern.endsWith(` ${ANY}`) && isPlain(start)) return t('commands that begin with {0}', start);
  // Of a script the beginning: a rule about it is about no other text.
  if (kind === 'command' && isPlain(pattern)) return pattern.includes('\n') ? scriptText(pattern) : shortened(pattern, LONGEST_NAMED);
  if (kind === 'edit' && pattern.endsWith(BELOW) && isPlain(pattern.slice(0, -BELOW.length)))
    return t('edits in {0}', pattern.slice(0, 1 - BELOW.length));
  if (kind === 'edit' && isPlain(pattern)) return t('edits in {0}', pattern);
  const [server, tool = '', more] = pattern.split('/');
  if (kind === 'mcp' && server && tool && more === undefined && isPlain(server)) {
    if (tool === ANY) return t('all tools of {0}', server);
    if (isPlain(tool)) return t('{0} of {1}', tool, server);
  }
  return `${kind}: ${pattern}`;
}

function scriptText(script: string): string {
  const [first, ...others] = script.split('\n');
  return `${first} … (${t('{0} lines', others.length + 1)})`;
}

function isPlain(pattern: string): boolean {
  return !pattern.includes(ANY);
}
