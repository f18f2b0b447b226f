import { DEEPEST } from '../base/json.ts';
import { writtenPermitKey } from '../base/paths.ts';
import { ARGUMENTS_KEPT, MAY_RUN } from '../session/dangers.ts';
import { changedEnds } from '../session/lineEnds.ts';
import type { Approval, ApprovalDetail, Diff } from '../session/model.ts';

/** The command in a call's arguments, and whether the arguments hold anything else. */
export interface CommandInput {
  readonly command: string;
  readonly cwd?: string;
  /** The arguments hold more than this line, so the line alone does not say what runs. */
  readonly unsure?: true;
}

/** Members that describe, number or time a command. Any other member may change what runs. */
const HARMLESS = new Set([
  'description',
  'explanation',
  'reason',
  'justification',
  'title',
  'timeout',
  'timeout_ms',
  'timeoutMs',
  'timeout_secs',
  'yield_time_ms',
  'max_output_tokens',
  'run_in_background',
  'is_background',
  'background',
  'call_id',
  'callId',
  'approval_id',
  'turn_id',
  'process_id',
  'parsed_cmd',
  'source',
]);
/** Members that widen what a command may do. Denied, they change nothing; an unknown switch may as well take a protection away. */
const WIDENING = new Set([
  'dangerouslyDisableSandbox',
  'with_escalated_permissions',
  'network_access',
  'interactive',
  'tty',
  'pty',
  'detach',
  'detached',
  'sudo',
  'elevated',
]);
/** The arguments of a command besides it that are not known to be harmless, to be shown with it; undefined when there are none. */
export function otherArguments(rawInput: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(rawInput) || lineOf(rawInput.command ?? rawInput.cmd) === undefined) return undefined;
  return unknownMembers(rawInput, []);
}

/** The members of a command's arguments that are not known to be harmless; undefined when there are none. `said`: values that are shown already. */
function unknownMembers(input: Readonly<Record<string, unknown>>, said: readonly unknown[]): Readonly<Record<string, unknown>> | undefined {
  const unknown = Object.entries(input).filter(([name, value]) => {
    if (isNothing(value) || said.includes(value)) return false;
    if (name === 'command' || name === 'cmd') return lineOf(value) !== (lineOf(input.command) ?? lineOf(input.cmd) ?? '');
    if (FOLDERS.includes(name)) return typeof value !== 'string';
    // Harmless members are words, numbers and switches; the parsed command alone is a list.
    if (HARMLESS.has(name)) return typeof value === 'object' && name !== 'parsed_cmd';
    if ((name === 'args' || name === 'arguments') && listOf(value)) return false;
    return !(value === false && WIDENING.has(name));
  });
  return unknown.length === 0 ? undefined : Object.fromEntries(unknown);
}

/** The members of an edit's arguments that are neither its texts and files nor plain words, to be shown below it: they may be carried out. */
export function runningMembers(rawInput: unknown, diffs: readonly Diff[]): readonly ApprovalDetail[] {
  if (!isRecord(rawInput)) return [];
  const texts = diffs.flatMap(({ before, after, path }) => [before ?? '', after ?? '', path]);
  let lines: ReadonlySet<string> | undefined;
  const isPatchOfThese = (text: string) => {
    lines ??= new Set(texts.flatMap((one) => one.split('\n')));
    return text.split('\n').every((line) => PATCH_LINE.test(line) || lines?.has(line.slice(1)));
  };
  const plain = (text: string) => text.replaceAll('\r\n', '\n').replace(/\n$/, '');
  const isShown = (written: string) => {
    const text = plain(written);
    return texts.some((one) => one.includes(text)) || isPatchOfThese(text);
  };
  // The whole new text of a file whose changed places alone are shown.
  const isWholeText = (name: string, text: string) =>
    WHOLE_TEXT.test(name) &&
    diffs.every(({ excerpt, after, path }) => excerpt && after !== null && path === diffs[0]?.path && plain(text).includes(plain(after)));
  let left = MOST_COMPARED;
  const mayRun = (name: string, value: unknown, levels: number): boolean => {
    if (HARMLESS.has(name) || IN_WORDS.test(name)) return false;
    if (typeof value === 'string')
      return (
        value !== '' && (MAY_RUN.test(name) || !PLAIN_WORD.test(value)) && (--left < 0 || !(isShown(value) || isWholeText(name, value)))
      );
    if (levels === 0 || !isRecord(value)) return false;
    return Object.entries(value).some(([key, one]) => mayRun(Array.isArray(value) ? name : key, one, levels - 1));
  };
  const isStep = (name: string, value: unknown) => name === 'command' && typeof value === 'string' && EDIT_STEP.test(value);
  const running = Object.entries(rawInput).filter(([name, value]) => !isStep(name, value) && mayRun(name, value, DEEPEST));
  const ends = diffs.every(({ before, after }) => before === after) ? [...new Set(endsIn(rawInput, DEEPEST))] : [];
  return [
    ...(ends.length === 0 ? [] : [{ type: 'text', text: ends.join('\n') } as const]),
    ...(running.length === 0
      ? []
      : [{ type: 'text', text: JSON.stringify(Object.fromEntries(running), null, 2).slice(0, ARGUMENTS_KEPT) } as const]),
  ];
}
/** What replacements among the arguments make of line ends (`CRLF → LF`), which no diff shows. */
function endsIn(value: unknown, levels: number): readonly string[] {
  if (levels === 0 || !isRecord(value)) return [];
  const entries = Object.entries(value).slice(0, MOST_COMPARED);
  const text = (name: RegExp) => entries.flatMap(([key, one]) => (name.test(key) && typeof one === 'string' ? [one] : []))[0];
  const [before, after] = [text(/^old(?:_?(?:string|str|text))?$/i), text(/^new(?:_?(?:string|str|text))?$/i)];
  const own = before === undefined || after === undefined ? '' : changedEnds(before, after);
  return [...(own === '' ? [] : [own]), ...entries.flatMap(([, one]) => endsIn(one, levels - 1))];
}
/** The edit that a tool makes, as it is called by models that were trained on such a tool. */
const EDIT_STEP = /^(?:view|create|str_replace|insert|undo_edit)$/;
/** Names of members that tell in words what the edit is for. */
const IN_WORDS = /^(?:instructions?|summary|comment|message|intent|purpose|thought|note|code_edit|todo)$/i;
/** Names of members that hold the text of a whole file. */
const WHOLE_TEXT = /^(?:new_?|file_?)?(?:content|contents|text)$/i;
const PLAIN_WORD = /^[\w.-]{1,40}$/;
/** Lines of a patch that hold no text of the file. */
const PATCH_LINE =
  /^(?:[+ -]?|[=-]{3,}|\\ No newline at end of file|(?:@@|\*\*\*|---|\+\+\+|(?:diff|index|Index:|rename|similarity) |(?:new|deleted|old) (?:file|mode) )[^;&|`$<>()]*)$/;
/** Members that are looked for in the texts of an edit. */
const MOST_COMPARED = 50;

/**
 * Adds the arguments of a call to the command in its request: a different command, a different folder or unknown arguments are shown with
 * it and make it unsure. Details other than commands stay unchanged. `more`: unknown members of the request itself.
 */
export function withArguments(
  detail: ApprovalDetail,
  rawInput: unknown,
  more: Readonly<Record<string, unknown>> = {},
): Pick<Approval, 'detail' | 'beside'> {
  if (detail.type === 'edit') {
    const running = runningMembers(rawInput, detail.diffs);
    return { detail, ...(running.length > 0 ? { beside: running } : {}) };
  }
  if (detail.type !== 'command') return { detail };
  const input = commandInput(rawInput);
  const flat = (text: string) => text.replace(/\s+/g, ' ').trim();
  const isOther = input !== undefined && input.command !== detail.command && flat(input.command) !== flat(detail.command);
  const movesTo = input?.cwd !== undefined && detail.cwd !== undefined && writtenPermitKey(input.cwd) !== writtenPermitKey(detail.cwd);
  const unknown = { ...(isRecord(rawInput) ? unknownMembers(rawInput, [detail.command, detail.cwd]) : {}), ...more };
  const beside: ApprovalDetail[] = input && (isOther || movesTo) ? [{ type: 'command', ...input, unsure: true }] : [];
  if (Object.keys(unknown).length > 0)
    beside.push({ type: 'text', text: JSON.stringify(sorted(unknown, DEEPEST), null, 2).slice(0, ARGUMENTS_KEPT) });
  const unsure = detail.unsure || input?.unsure || beside.length > 0;
  return {
    detail: { ...(input?.cwd === undefined ? {} : { cwd: input.cwd }), ...detail, ...(unsure ? { unsure: true } : {}) },
    ...(beside.length > 0 ? { beside } : {}),
  };
}

const SHELL = /^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|z|da|k|fi|a)?sh$/;
/** By name, or where Windows and the installer put them. */
const POWERSHELL =
  /^(?:[a-z]:\\windows\\(?:system32|syswow64)\\windowspowershell\\v1\.0\\|[a-z]:\\program files\\powershell\\7\\)?(?:powershell|pwsh)(?:\.exe)?$/i;
const POWERSHELL_FLAG = /^-(?:noprofile|nop|noninteractive|nologo|sta|mta)$/i;
const CMD = /^(?:[a-z]:\\windows\\(?:system32|syswow64)\\)?cmd(?:\.exe)?$/i;
/** The arguments of a command without members that name `cwd`, where it runs anyway. */
export function withoutFolder(rawInput: unknown, cwd: string): unknown {
  if (!isRecord(rawInput)) return rawInput;
  return Object.fromEntries(Object.entries(rawInput).filter(([name, value]) => !(FOLDERS.includes(name) && value === cwd)));
}

const FOLDERS = ['cwd', 'workdir', 'working_directory', 'working_dir', 'workingDirectory', 'directory', 'dir_path'];

/** The command in the arguments of a call, written as one line; undefined when there is none. */
export function commandInput(rawInput: unknown): CommandInput | undefined {
  if (!isRecord(rawInput)) return undefined;
  const lines = [lineOf(rawInput.command), lineOf(rawInput.cmd)].filter((one) => one !== undefined);
  const [line] = lines;
  if (line === undefined) return scriptIn(rawInput, DEEPEST);
  const args = rawInput.args ?? rawInput.arguments;
  const more = listOf(args);
  const cwds = new Set(FOLDERS.map((name) => rawInput[name]).filter((one) => typeof one === 'string' && one !== ''));
  const [cwd] = cwds;
  const unsure =
    lines.some((one) => one !== line) ||
    scriptIn(rawInput, 1) !== undefined ||
    (!more && !isNothing(args)) ||
    new Set([...cwds].map((one) => (typeof one === 'string' ? writtenPermitKey(one) : ''))).size > 1 ||
    otherArguments(rawInput) !== undefined;
  return {
    command: [line, ...(more ?? []).map(shownArgument)].join(' '),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(unsure ? { unsure: true } : {}),
  };
}

/** Options with which a program does nothing, or something smaller. */
const WITHOUT_EFFECT = /\s(?:-n|--(?:dry-run|help|check|version|list|simulate|no-act|just-print|what-?if|recon)\b)/i;

/**
 * True when a title reads like a command line and names another than the one that runs. Agents call such a call by its tool, by what it is
 * for, or by the command, whole, cut or with something before it.
 */
export function namesAnother(title: string, command: string): boolean {
  const flat = (text: string) => text.slice(0, LONGEST_COMPARED).replaceAll('`', '').replace(/\s+/g, ' ').trim();
  const said = flat(title);
  const runs = flat(command);
  if (said === '' || runs === '') return false;
  if (said.includes(runs)) return /[;&|<>$~]|(?:^|\s)--?\w/.test(said.replace(runs, ''));
  const begin = said.replace(/\s*(?:…|\.\.\.)$/, '');
  if (begin !== said && begin.length > 10 && runs.startsWith(begin)) return false;
  // Some agents leave out the end. It must hold no other command, and nothing that would take the effect away.
  if (runs.startsWith(`${said} `) && !/[;&|<>$`\n\r]/.test(command) && !WITHOUT_EFFECT.test(runs.slice(said.length))) return false;
  if (/[;&|<>$~/\\=]|(?:^|\s)--?\w/.test(said)) return true;
  // A word alone is the name of a tool; a sentence begins with a capital letter.
  return /^[\p{Ll}\d.]\S*\s/u.test(said);
}

/** UTF-16 units of a title and a command that are compared. */
const LONGEST_COMPARED = 20_000;

/** Arguments that look like a command under another name, or nested; which program runs them is unknown. */
function scriptIn(value: unknown, levels: number): CommandInput | undefined {
  if (levels === 0 || !isRecord(value)) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (SCRIPT.test(name) && !isNothing(inner) && typeof inner !== 'boolean') {
      return { command: lineOf(inner) ?? JSON.stringify(inner).slice(0, ARGUMENTS_KEPT), unsure: true };
    }
    if (levels === 1 || /^(?:command|cmd)$/.test(name)) continue;
    const deeper = commandWithin(inner, levels - 1);
    if (deeper) return deeper;
  }
  return undefined;
}
const SCRIPT = /^(?:shell_?|bash_?)?(?:commands|script|scripts|shell|bash|exec|command_?line)$|^(?:shell|bash)_?(?:command|cmd)$/i;

function commandWithin(value: unknown, levels: number): CommandInput | undefined {
  if (levels === 0 || !isRecord(value)) return undefined;
  const line = lineOf(value.command) ?? lineOf(value.cmd);
  return line === undefined ? scriptIn(value, levels) : { command: line, unsure: true };
}

function lineOf(command: unknown): string | undefined {
  if (typeof command === 'string') return command === '' ? undefined : command;
  const list = listOf(command);
  if (!list || list.length === 0) return undefined;
  return scriptOfShell(list) ?? list.join(' ');
}

/** The command in the arguments of a usual shell, where no other argument changes it. */
function scriptOfShell([program = '', ...args]: readonly string[]): string | undefined {
  const script = args.at(-1);
  const [flag = '', ...others] = args.slice(0, -1).reverse();
  if (SHELL.test(program)) return /^-\w*c$/.test(flag) && others.length === 0 ? script : undefined;
  const plain = program.replaceAll('/', '\\');
  if (POWERSHELL.test(plain)) return /^-c(?:ommand)?$/i.test(flag) && others.every((one) => POWERSHELL_FLAG.test(one)) ? script : undefined;
  if (CMD.test(plain)) return /^\/c$/i.test(flag) && others.every((one) => /^\/[dsq]$/i.test(one)) ? script : undefined;
  return undefined;
}

function listOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}

function shownArgument(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The value with its members sorted by name, so that the same arguments in another order read the same. */
function sorted(value: unknown, levels: number): unknown {
  if (levels === 0 || !isRecord(value)) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => sorted(one, levels - 1));
  const members = Object.entries(value).map(([name, inner]): [string, unknown] => [name, sorted(inner, levels - 1)]);
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
