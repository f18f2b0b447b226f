import { foldName, type Platform, pathBelowFolder } from '../base/fileName.ts';
import { type GlobWord, globMatcher, wordsGuesser, wordsMatcher } from '../base/glob.ts';
import type { GuardReason } from '../base/guardedFiles.ts';
import { isAbsolutePath } from '../base/paths.ts';
import {
  commandInVariable,
  type Danger,
  type DangerKind,
  isGrave,
  judgedCommand,
  runsFrom,
  takesValue,
  unversioned,
} from './commandDangers.ts';
import { dangersOf, isUnclear, misleadingOptions } from './dangers.ts';
import type { Answer } from './intents.ts';
import type { Approval, ApprovalDetail, Ask, ToolKind } from './model.ts';
import { takesWords } from './programOptions.ts';
import { bracesWrittenOut, guessAt, type ShellDialect, type ShellWord, shellCommands, withLinesJoined } from './shellWords.ts';
import { firstHidden } from './visible.ts';

/** A rule from the user's own settings. A pattern is a glob: `*` within a path segment or any run of a command, `**` across segments, `?` one character. */
export interface ApprovalRule {
  readonly kind: 'command' | 'edit' | 'mcp' | ToolKind;
  readonly pattern?: string;
  readonly decision: 'allow' | 'reject';
}

/** The real locations of the files in a session's folder. */
export interface WorkspacePaths {
  /** How the system reads names. */
  readonly platform: Platform;
  /** The folder with every link followed. */
  readonly real: string;
  /** The way below the folder with forward slashes and every link followed, '' for the folder itself; undefined when it lies elsewhere. */
  readonly below: (path: string) => { readonly path: string; readonly guarded?: GuardReason } | undefined;
}

/** True for a name without characters that do not show: it must be what it reads. */
function isPlainName(name: string): boolean {
  return !/[\t\n]/.test(name) && !firstHidden(name);
}

/** The most files that a rule allows without the user. */
const MOST_FILES = 200;
/** The longest command, in UTF-16 units, that a pattern allows; of a longer one as much is read for rejections, and the user is asked about it. */
const LONGEST_COMMAND = 20_000;

/**
 * The only place an approval is answered without a user. A rejection beats every allowance. Only one-time options are chosen, so no rule can
 * widen what the agent may do later. Rejections match broadly, allowances narrowly (acp.md §9, §10.3): plain edits of files that
 * lie in the folder and steer nothing, and commands that are known to be what runs, in the folder.
 */
export function ruledAnswer(
  ask: Ask,
  rules: readonly ApprovalRule[],
  cwd: string,
  ground: WorkspacePaths,
): { readonly answer: Answer; readonly rule: ApprovalRule } | undefined {
  if (ask.kind !== 'approval') return undefined;
  const place = placeAt(cwd, ground);
  const matching = rules.filter((rule) => (rule.decision === 'reject' ? rejects(rule, ask, place) : allows(rule, ask, place)));
  const allowing = rules.some((one) => mayReject(one, ask, place)) ? matching.filter((one) => saysExactly(one, ask)) : matching;
  const rule = matching.find((one) => one.decision === 'reject') ?? allowing[0];
  if (!rule) return undefined;
  const effect = rule.decision === 'allow' ? 'allow_once' : 'reject_once';
  const [option, another] = ask.options.filter((one) => one.effect === effect);
  // Several ways to allow it once are answers to choose from, not one permission.
  if (rule.decision === 'allow' && another) return undefined;
  // The effect of an option is unknown when its name contradicts it, or when it shares an id with another one.
  if (option && misleadingOptions(ask).has(option)) return undefined;
  if (option && rule.decision === 'allow' && isUnclear(option, ask)) return undefined;
  return option && { answer: { kind: 'option', optionId: option.id }, rule };
}

export function autoAnswer(...asked: Parameters<typeof ruledAnswer>): Answer | undefined {
  return ruledAnswer(...asked)?.answer;
}

/** Where an ask is judged: the session's folder, its files by each name and its commands in each way that rules see them. */
interface RuleContext {
  readonly cwd: string;
  readonly platform: Platform;
  readonly file: (path: string) => NamedFile;
  readonly command: (text: string) => ReadCommand;
}
interface NamedFile {
  /** The path below the folder as the agent writes it; undefined when it lies outside, or is not a path until another program has expanded it. */
  readonly written: string | undefined;
  readonly real: ReturnType<WorkspacePaths['below']>;
  readonly names: readonly string[];
  /** The names, folded as broadly as the broadest system folds them. */
  readonly folded: readonly string[];
}

/** Each file and each command is read once for all rules: they may be as long as the agent likes. */
function placeAt(cwd: string, ground: WorkspacePaths): RuleContext {
  const known = new Map<string, NamedFile>();
  const { platform } = ground;
  const file = (path: string) => {
    const before = known.get(path);
    if (before) return before;
    const written = relative(path, cwd, ground);
    const real = ground.below(path);
    const names = [...new Set([written, real?.path, path.replaceAll('\\', '/')])].filter((one) => one !== undefined);
    const named = { written, real, names, folded: [...new Set(names.map((one) => foldPath(one, platform)))] };
    known.set(path, named);
    return named;
  };
  const commands = new Map<string, ReadCommand>();
  const command = (text: string) => {
    const read = commands.get(text) ?? readCommand(text, platform);
    commands.set(text, read);
    return read;
  };
  return { cwd, platform, file, command };
}

/** True when the rule covers any part of the ask. */
function rejects(rule: ApprovalRule, ask: Approval, place: RuleContext): boolean {
  const all = [ask.detail, ...(ask.beside ?? [])];
  switch (rule.kind) {
    case 'command':
    case 'execute':
      return all.some(
        (one) =>
          one.type === 'command' &&
          (rule.pattern === undefined || withBare(rule.pattern).some((pattern) => matchesCommand(pattern, place.command(one.command)))),
      );
    case 'edit':
      return all.some((one) => one.type === 'edit' && one.diffs.some((diff) => names(rule, diff.path, place)));
    case 'mcp':
      return all.some((one) => one.type === 'mcp' && matchesTool(rule, one));
    default:
      return ask.toolKind === rule.kind && rule.pattern === undefined;
  }
}

/**
 * True when the rule would cover the command for some value of what the shell fills in. Only a rule with its exact words allows such a command.
 */
function mayReject({ kind, pattern, decision }: ApprovalRule, ask: Approval, place: RuleContext): boolean {
  if (decision !== 'reject' || (kind !== 'command' && kind !== 'execute') || pattern === undefined) return false;
  const guessers = withBare(pattern.toLowerCase()).map(wordsGuesser);
  const all = [ask.detail, ...(ask.beside ?? [])].flatMap((one) => (one.type === 'command' ? [place.command(one.command).commands()] : []));
  return all.some(({ commands, complete }) => !complete || guessers.some((mayMatch) => commands.some(mayMatch)));
}

/** True when the rule is about the very words of the only command. */
function saysExactly({ pattern }: ApprovalRule, { detail, beside = [] }: Approval): boolean {
  return detail.type === 'command' && beside.every((one) => one.type === 'text') && pattern === withoutBlanksAround(detail.command);
}

/** True when the rule covers everything that is asked, and the user need not look at it each time. */
function allows(rule: ApprovalRule, ask: Approval, place: RuleContext): boolean {
  return covers(rule, ask, place) && !isGrave(dangersBeyond(rule, ask, place.cwd));
}

/**
 * Returns the dangers that a rule does not name. A rule with the exact words of a command names all they do; a rule with a tool's name, what
 * that name says.
 */
function dangersBeyond(rule: ApprovalRule, ask: Approval, cwd: string): readonly Danger[] {
  const { id, beside = [] } = ask;
  // What comes beside a command may change what it does.
  if (saysExactly(rule, ask))
    return dangersOf({ kind: 'approval', id, title: '', detail: { type: 'command', command: '' }, beside, options: [] }, cwd);
  const named = judgedByRule(rule, ask);
  return dangersOf(ask, cwd).filter(({ kind }) => !named.includes(kind));
}

/** Files are judged with every link followed where a rule covers them, and by their exact names. */
function judgedByRule(rule: ApprovalRule, { detail }: Approval): readonly DangerKind[] {
  switch (rule.kind) {
    case 'command':
    case 'execute':
      return [];
    case 'edit':
      return ['outside', 'steers'];
    case 'mcp':
      return detail.type === 'mcp' && namesTool(rule, detail) ? ['deletes', 'stops'] : [];
    default:
      return ['outside'];
  }
}

/** An edit beside a command is outside of a rule for commands. */
function covers(rule: ApprovalRule, ask: Approval, place: RuleContext): boolean {
  const all = [ask.detail, ...(ask.beside ?? [])];
  // No rule allows deleting or moving beforehand.
  if (ask.toolKind === 'delete' || ask.toolKind === 'move') return false;
  switch (rule.kind) {
    case 'command':
    case 'execute':
      // Only its very words are a rule for a command that leads out of the folder by a link.
      if (ask.outside && !saysExactly(rule, ask)) return false;
      return (
        all.some((one) => one.type === 'command') &&
        all.every((one) => one.type === 'text' || (one.type === 'command' && allowsCommand(rule, one, place)))
      );
    case 'edit': {
      const diffs = all.flatMap((one) => (one.type === 'edit' ? one.diffs : []));
      return (
        ask.detail.type === 'edit' &&
        diffs.length > 0 &&
        diffs.length <= MOST_FILES &&
        // A rule about files allows no command that comes with them.
        ask.toolKind !== 'execute' &&
        all.every((one) => one.type === 'edit' || one.type === 'text') &&
        // The user decides about changes that no lines show.
        diffs.every((diff) => diff.after !== null && !diff.summary && allowsFile(rule, diff.path, place)) &&
        (ask.paths ?? []).length <= MOST_FILES &&
        (ask.paths ?? []).every((one) => place.file(one).real?.path === '' || allowsFile(rule, one, place))
      );
    }
    case 'mcp':
      return (
        ask.detail.type === 'mcp' &&
        all.every((one) => one.type === 'text' || (one.type === 'mcp' && isPlainName(`${one.server}${one.tool}`) && matchesTool(rule, one)))
      );
    default:
      return (
        ask.toolKind === rule.kind &&
        rule.pattern === undefined &&
        all.every((one) => one.type === 'text' && !one.unknown) &&
        readsInside(ask, place)
      );
  }
}

/** True when all paths are inside the folder; a call that reads files must name them, others may name none. */
function readsInside({ toolKind, paths }: Approval, place: RuleContext): boolean {
  if (!paths) return toolKind !== 'read' && toolKind !== 'search';
  return paths.length <= MOST_FILES && paths.every((one) => place.file(one).written !== undefined && place.file(one).real !== undefined);
}

/**
 * A glob never allows a command that holds more than one, what a shell puts in its place, or what deserves a look each time: then only the exact text
 * matches.
 */
function allowsCommand(
  rule: ApprovalRule,
  detail: Extract<ApprovalDetail, { type: 'command' }>,
  { cwd, platform, file }: RuleContext,
): boolean {
  if (detail.unsure || detail.command.trim() === '') return false;
  const folder = detail.cwd === undefined ? undefined : file(detail.cwd).real;
  if (detail.cwd !== undefined && (folder === undefined || folder.guarded)) return false;
  const text = withoutBlanksAround(detail.command);
  if (rule.pattern === text) return true;
  if (rule.pattern !== undefined) {
    if (text.length > LONGEST_COMMAND || MORE_THAN_WORDS.test(text)) return false;
    if (platform === 'win32' && WINDOWS_EXPANSION.test(text)) return false;
    if (!withBare(rule.pattern).some((pattern) => globMatcher(pattern, 'text')(text))) return false;
  }
  const { reach } = judgedCommand(detail, cwd);
  if (reach.changesGuarded) return false;
  const leading = detail.command.length - detail.command.trimStart().length;
  if (rule.pattern !== undefined && reach.named - leading > namedBy(rule.pattern)) return false;
  // Links lead to other files than the words name.
  const at = (path: string) => (detail.cwd === undefined || isAbsolutePath(path) ? path : `${detail.cwd}/${path}`);
  return reach.writes.every((path) => {
    const { real } = file(at(path));
    return real === undefined ? isAbsolutePath(path) : real.guarded === undefined;
  });
}

/** "Commands that begin with git push" are `git push *` and also `git push` alone. */
function withBare(pattern: string): readonly string[] {
  const bare = pattern.endsWith(' *') ? pattern.slice(0, -2).trimEnd() : '';
  return bare === '' ? [pattern] : [pattern, bare];
}

/** The length of what a pattern names without a wildcard. */
export function namedBy(pattern: string): number {
  const at = pattern.search(/[*?]/);
  return at < 0 ? pattern.length : at;
}
/** Operators, substitutions and groups of the usual shells, characters that do not show, and blanks that no shell takes for one. */
const MORE_THAN_WORDS = /[;&|<>`$(){}]|\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}|(?! )\p{Zs}|\u2800/u;
/** `%NAME%`, `!NAME!` and the escape of cmd. */
const WINDOWS_EXPANSION = /[%!^]/;

/** Trims only the blanks that every shell ignores; other invisible characters are part of the command. */
function withoutBlanksAround(command: string): string {
  const blank = (at: number) => ' \t\n'.includes(command.charAt(at));
  let from = 0;
  let to = command.length;
  while (from < to && blank(from)) from += 1;
  while (to > from && blank(to - 1)) to -= 1;
  return command.slice(from, to);
}

/** Matches broadly: the whole command, or any of the commands in it, in any case, quoted, escaped, by path, behind a wrapper or with options before its subcommand. */
function matchesCommand(pattern: string, { text, folded, commands }: ReadCommand): boolean {
  if (pattern === text || globMatcher(pattern, 'text')(text)) return true;
  if (globMatcher(pattern.toLowerCase(), 'text')(folded)) return true;
  const matches = wordsMatcher(pattern.toLowerCase());
  return commands().commands.some(matches);
}

/** A command in each way that a rejection reads it. */
interface ReadCommand {
  readonly text: string;
  readonly folded: string;
  readonly commands: () => { readonly commands: readonly (readonly GlobWord[])[]; readonly complete: boolean };
}

/** Commands of a line that rejections tell apart, and words of all ways to read it; the user is asked about one with more. */
const MOST_COMMANDS = 250;
const MOST_WORDS = 3000;

function readCommand(command: string, platform: Platform): ReadCommand {
  const whole = command.trim();
  // Of a longer one blanks push no command out of sight.
  const text = whole.length > LONGEST_COMMAND ? withoutPadding(whole).slice(0, LONGEST_COMMAND) : whole;
  // Windows and macOS find programs in any case.
  const folded = text.toLowerCase();
  let known: ReturnType<ReadCommand['commands']> | undefined;
  const commands = () => {
    known ??= knownCommands(folded, platform);
    return known;
  };
  return { text, folded: foldedBlanks(folded), commands };
}

function knownCommands(folded: string, platform: Platform): ReturnType<ReadCommand['commands']> {
  const commands: (readonly GlobWord[])[] = [];
  let left = MOST_WORDS;
  for (const words of commandsIn(folded, platform)) {
    left -= words?.length ?? MOST_WORDS;
    if (!words || left < 0) return { commands, complete: false };
    commands.push(...withReadArguments(words).map(startsIn));
    const inVariable = commandInVariable(words.map(({ text }) => text));
    if (inVariable) {
      // A shell may substitute any program for the value.
      const guess = words.some(({ text, expands }) => expands && commandInVariable([text])) ? '*' : undefined;
      const guessedStarts = guess === undefined ? NONE : [guess];
      // Any of the words may be a program: the value may be a script, and options may come between.
      commands.push(inVariable.map((text) => ({ text, starts: startsOf(text, true), expands: false, guess, guessedStarts })));
    }
    const apart = withCommasApart(words);
    if (apart) commands.push(startsIn(apart));
  }
  return { commands, complete: true };
}

function withoutPadding(text: string): string {
  return text.replace(INVISIBLE, '').replace(/\s{2,}/g, (blanks) => (/[\n\r]/.test(blanks) ? '\n' : ' '));
}

/** A word of a command; `expands` as in `ShellWord`, `guess` as in `GlobWord`. */
type ReadWord = Pick<ShellWord, 'text'> & Partial<Pick<ShellWord, 'expands'>> & { readonly guess?: string | undefined };

/** The commands, and undefined once there are more than are read. */
function* commandsIn(folded: string, platform: Platform): Generator<readonly ReadWord[] | undefined> {
  const parts = folded.split(/[;&|\n\r(){}`]|\$\(/);
  // For cmd.exe these signs part words as blanks do: `npm;publish`.
  if (platform === 'win32') parts.push(...folded.replace(/[;,=]/g, ' ').split(/[&|\n\r()]/));
  const all = new Set<string>();
  for (const part of parts) if (all.size < MOST_COMMANDS) all.add(foldedBlanks(part));
  for (const one of all) yield* spellings(one);
  // A value in quotes is one word: `git -C "my folder" push`.
  const dialects: readonly ShellDialect[] = platform === 'win32' ? ['cmd', 'powershell', 'posix'] : ['posix'];
  // A dollar before quotes only changes how they are read.
  const visible = folded.replace(INVISIBLE, '').replace(/\$(?=["'])/g, '');
  const script = platform === 'win32' ? scriptOfCmd(visible) : undefined;
  // Behind one the escapes between single quotes spell any letter.
  const escaped = /\$'[^']*\\/.test(folded) ? folded : visible;
  for (const text of new Set([visible, withLinesJoined(visible), script ?? visible, escaped]))
    if (text !== visible || READ_BY_SHELL.test(text)) for (const dialect of dialects) yield* readCommands(text, dialect);
}

/** The script behind `cmd /c "`: all up to the last quote of the line. */
function scriptOfCmd(text: string): string | undefined {
  const at = text.search(/\/[ckr]\s*"/);
  const from = text.indexOf('"', at) + 1;
  const to = text.lastIndexOf('"');
  return at >= 0 && to > from ? text.slice(from, to) : undefined;
}

/** The words of all commands of a line, those of scripts that a wrapper runs among them: `sh -c "git push"`. */
function* readCommands(text: string, dialect: ShellDialect, depth = 0): Generator<readonly ReadWord[] | undefined> {
  const { commands, complete } = shellCommands(text, dialect, MOST_COMMANDS);
  for (const { words } of commands) {
    const expanded = dialect === 'posix' ? asExpanded(words) : undefined;
    if (expanded) yield expanded;
    yield words;
    if (words.some((word) => word.expands || DESCRIPTOR.test(word.text))) yield withoutExpansions(words);
    for (const script of depth < DEEPEST_SCRIPT ? scriptsIn(words.map((word) => word.text)) : [])
      yield* readCommands(script, dialect, depth + 1);
  }
  if (!complete) yield undefined;
}

/** The texts that one of the programs may run as a script. */
function scriptsIn(words: readonly string[]): readonly string[] {
  const names = [...new Set(words.map(programName))];
  if (!names.some((name) => runsFrom(name, words) !== undefined && !KEYWORD.test(name))) return [];
  return words.flatMap((one) => [one, ...gluedIn(one)]).filter((one) => /\s/.test(one) && READ_BY_SHELL.test(one));
}

/** The words with their braces written out and their globs and variables guessed; undefined where all of them are what they read. */
function asExpanded(words: readonly ShellWord[]): readonly ReadWord[] | undefined {
  if (!words.some(({ text, expands }) => expands || /[*?[{]/.test(text))) return undefined;
  return words.flatMap(({ text, expands, from, plainFrom }, at) => {
    // In quotes it is one word, and so the folder.
    const isFolder = plainFrom === from + 1 && FOLDER_FOLLOWS.test(words[at - 1]?.text ?? '');
    return (expands ? [text] : (bracesWrittenOut(text) ?? [text])).map((one): ReadWord => {
      const guess = isFolder ? undefined : guessAt(one, expands);
      return { text: one, ...(expands ? { expands } : {}), ...(guess === undefined ? {} : { guess }) };
    });
  });
}
const FOLDER_FOLLOWS = /^(?:-c|--(?:git-dir|work-tree|prefix|cwd|dir))$/;
const DEEPEST_SCRIPT = 4;
/** Words of a shell that run the next words, never a text. */
const KEYWORD = /^(?:then|do|else|elif|if|while|until|!)$/;
/** Quotes, escapes, substitutions, variables, braces, globs and redirections of any shell. Without them words are what blanks part. */
const READ_BY_SHELL = /["'\\`^$%<>{*?[]/;

/** The words as they are when each variable is empty (`git $x push`, `git pu${x}sh`), without those that name a descriptor for some shells. */
function withoutExpansions(words: readonly ReadWord[]): readonly ReadWord[] {
  return words.flatMap(({ text, expands }) => {
    if (DESCRIPTOR.test(text)) return [];
    const bare = expands ? text.replace(VARIABLE, '') : text;
    return bare === '' ? [] : [{ text: bare }];
  });
}
/** `{log}>out` */
const DESCRIPTOR = /^\{\w+\}$/;
const VARIABLE = /\$(?:[a-z_]\w*|\d|\{[^{}\s]*\}|[@*#?$!-])|%[^%\s]*%/g;

/** A program right behind the option of cmd.exe that runs it: `/cdel`, `/s/cdel`. */
const CMD_RUNS = /^(?:\/[a-z](?::\w*)?)*?\/[ckr][@,;=]*(.+)$/;

/** The words of one command without quotes and escapes, in each way that a shell may read them. */
function spellings(command: string): readonly (readonly ReadWord[])[] {
  // A caret escapes on Windows, and a backslash elsewhere, where Windows parts folders by it.
  const plain = command.replace(/["'^]/g, '');
  const inFolder = command.replace(/(["'])[^"']*[\\/]([^"'\\/]*)\1/g, '$2').replace(/["'^]/g, '');
  // cmd.exe ends a name at these signs.
  const apart = [plain, inFolder].map((one) => one.replace(/^([@\w.:%\\]+)(?=[/,;=])[,;=]?/, '$1 '));
  return [...new Set([plain, inFolder, plain.replaceAll('\\', ''), ...apart])].map((one) =>
    one
      .trim()
      .split(/ +/)
      .map((text) => ({ text })),
  );
}

/** The words with the names of the programs that may start at them: the first, and behind a wrapper any. */
function startsIn(all: readonly ReadWord[]): readonly GlobWord[] {
  let first = 0;
  while (first < all.length && ASSIGNMENT.test(all[first]?.text ?? '')) first += 1;
  const words = first === 0 ? all : all.slice(first);
  const name = programName(words[0]?.text ?? '');
  const from = runsFrom(
    name,
    words.slice(1).map(({ text }) => text),
  );
  const guessed = guessedPrograms(name, words, from);
  // An unknown program may run its words as a command. They are neither rejected nor allowed without a look.
  const isUnknown = from === undefined && words.length > 2 && !takesWords(name) && !ASSIGNMENT.test(name);
  return words.map(({ text, expands = false, guess }, at) => {
    const starts =
      at === 0 || (from !== undefined && at > from) ? startsOf(text, from !== undefined) : name === 'git' ? aliasedIn(text) : NONE;
    const doubted = isUnknown && at > 0 ? startsOf(text, true) : NONE;
    const guessedStarts = guess !== undefined && guessed.has(at) ? [programName(guess), ...doubted] : doubted;
    return { text, starts, expands, guess, guessedStarts };
  });
}

/** The names of a program at this word; behind a wrapper its options may hold one too. */
function startsOf(word: string, isWrapped: boolean): readonly string[] {
  const name = programName(word);
  const glued = isWrapped && GLUES.test(word) ? [...gluedIn(word), ...(CMD_RUNS.exec(word)?.slice(1) ?? [])] : NONE;
  const isPlain = glued.length === 0 && !name.startsWith('git-') && !TWINS.has(name) && unversioned(name) === name;
  return isPlain ? [name] : [word, ...glued].flatMap(programNames);
}
/** Commands of cmd.exe that have two names. */
const TWINS = new Map(
  ['del erase', 'rd rmdir', 'md mkdir', 'ren rename'].flatMap((pair) => [pair.split(' '), pair.split(' ').reverse()] as [string, string][]),
);
const NONE: readonly string[] = [];
/** How words begin that may hold the name of a program behind something else. */
const GLUES = /^[-+:!/]|=/;
const ASSIGNMENT = /^(?:[.&@]$|\w+(?:\[[^\]]*\])?\+?=)/;

/** The words, and those with an argument that `xargs` adds. */
function withReadArguments(words: readonly ReadWord[]): readonly (readonly ReadWord[])[] {
  const at = words.findIndex(({ text }) => /^(?:xargs|parallel)$/.test(programName(text)));
  return at < 0 || at === words.length - 1 ? [words] : [words, [...words, READ_ARGUMENT]];
}
/** The words with those behind `-wrapper` of a compiler as a shell has them: `gcc -wrapper rm,-rf,x`. Undefined where there are none. */
function withCommasApart(words: readonly ReadWord[]): readonly ReadWord[] | undefined {
  const at = words.findIndex(({ text }) => /^--?wrapper(?:=|$)/.test(text));
  if (at < 0) return undefined;
  return words.flatMap((word, place) => (place < at ? [word] : word.text.split(',').map((text) => ({ text }))));
}
const READ_ARGUMENT: ReadWord = { text: '{}', guess: '*' };

/** The places of programs that are not known: the first, and behind a wrapper all up to the first word that is not an option. */
function guessedPrograms(name: string, words: readonly ReadWord[], from: number | undefined): ReadonlySet<number> {
  const places = new Set([0]);
  if (from === undefined) return places;
  let program = name;
  // Behind an option that makes the program run another one.
  const known = words.slice(1, from + 1).map(({ text }) => text);
  const begin = runsFrom(name, known) === undefined ? from + 2 : from + 1;
  for (let at = begin; at < words.length; at += 1) {
    const { text = '' } = words[at] ?? {};
    const before = at > begin ? (words[at - 1]?.text ?? '') : '';
    if (before.startsWith('-') && (takesValue(program, before) ?? true)) continue;
    places.add(at);
    const next = programName(text);
    const runsNext = runsFrom(next, []) !== undefined;
    if (runsNext) program = next;
    else if (!/^[-\d]/.test(text) && !ASSIGNMENT.test(text)) break;
  }
  return places;
}

/** The command inside an option that runs it: `env -S"git push"`, `--split-string=git push`, and what a name stands for: `alias x=rm`. */
function gluedIn(word: string): readonly string[] {
  const value = /^(?:-*[a-z][\w-]*=|\+?:?!)(.+)$/s.exec(word)?.[1];
  if (value !== undefined) return [value];
  const letters = /^-(?!-)(\w{1,4})/.exec(word)?.[1] ?? '';
  return [...letters].flatMap((letter, at) => ('scxeo'.includes(letter) && word.length > at + 2 ? [word.slice(at + 2)] : []));
}

/** The command that an alias of Git stands for: `git -c alias.p=push p`. */
function aliasedIn(word: string): readonly string[] {
  const [, isShell, value] = /^(?:-c)?alias\.[^=]*=(!?)(.+)$/s.exec(word) ?? [];
  return value === undefined ? [] : [isShell ? value : `git ${value}`];
}

/** The names by which rules call a program: `git-push` is `git push`, `erase` is `del`, `python3.12` is `python`. */
function programNames(word: string): readonly string[] {
  const name = programName(word);
  const bare = unversioned(name);
  const other = bare !== name ? bare : name.startsWith('git-') ? name.replace('-', ' ') : TWINS.get(name);
  return other === undefined ? [name] : [name, other];
}

function programName(word: string): string {
  const name = word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1);
  const plain = name.startsWith('@') ? name.slice(1) : name;
  return plain.includes('.') ? plain.replace(/\.(?:exe|com|cmd|bat|ps1)$/, '') : plain;
}

const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** The text with one blank for every run of blanks, and without invisible characters. */
function foldedBlanks(text: string): string {
  return text.replace(INVISIBLE, '').replace(/\s+/g, ' ').trim();
}

function matchesTool(rule: ApprovalRule, { server, tool }: Extract<ApprovalDetail, { type: 'mcp' }>): boolean {
  return rule.pattern === undefined || globMatcher(rule.pattern, 'path')(`${server}/${tool}`);
}

function namesTool({ pattern = '' }: ApprovalRule, { server, tool }: Extract<ApprovalDetail, { type: 'mcp' }>): boolean {
  return pattern === `${server}/${tool}` && !/[*?]/.test(pattern);
}

/** Matches the written path and the real one: both must be in the folder and match. Only a rule of its exact name allows a guarded file. */
function allowsFile(rule: ApprovalRule, path: string, { file, platform }: RuleContext): boolean {
  const { written, real } = file(path);
  if (written === undefined || real === undefined) return false;
  if (real.guarded) return real.guarded !== 'name' && rule.pattern === written && rule.pattern === real.path && !/[*?]/.test(written);
  const pattern = pathPattern(rule, platform);
  if (pattern === undefined) return true;
  const matches = fileMatcher(pattern, platform);
  return [written, real.path].every(matches);
}

/** Matches any name of the file. */
function names(rule: ApprovalRule, path: string, { file, platform }: RuleContext): boolean {
  const pattern = pathPattern(rule, platform);
  if (pattern === undefined) return true;
  const { names: exact, folded } = file(path);
  return exact.some(globMatcher(pattern, 'path')) || folded.some(globMatcher(foldPath(pattern, platform), 'path'));
}

/** The pattern with forward slashes, as paths are matched: on Windows a user writes either. */
function pathPattern({ pattern }: ApprovalRule, platform: Platform): string | undefined {
  return platform === 'win32' ? pattern?.replaceAll('\\', '/') : pattern;
}

/** A matcher of paths that tells letters apart where the system does: on macOS, composed and decomposed ones are the same, too. */
function fileMatcher(pattern: string, platform: Platform): (path: string) => boolean {
  if (platform === 'posix') return globMatcher(pattern, 'path');
  const fold = (text: string) => (platform === 'darwin' ? text.normalize('NFC') : text).toLowerCase();
  const matches = globMatcher(fold(pattern), 'path');
  return (path) => matches(fold(path));
}

/** The path without the name of a stream, which Windows takes for a part of the file. */
function foldPath(path: string, platform: Platform): string {
  const stream = platform === 'win32' ? ':' : '::';
  return path
    .split('/')
    .map((name) => foldName(name.split(stream, 1)[0] ?? ''))
    .join('/');
}

/** The path below cwd with forward slashes, or undefined when it lies outside, or is not a path until another program has expanded it. */
function relative(path: string, cwd: string, { platform, real }: WorkspacePaths): string | undefined {
  const plain = path.replaceAll('\\', '/');
  if (plain.split('/').includes('..')) return undefined;
  // Agents name files by the real folder where the one that was opened is a link.
  const below = pathBelowFolder(cwd, plain, platform) ?? pathBelowFolder(real, plain, platform);
  if (/^(?:[A-Za-z]:)?\//.test(plain)) return below;
  return /^(~|\$|%|[A-Za-z][\w+.-]*:)/.test(plain) ? undefined : plain;
}
