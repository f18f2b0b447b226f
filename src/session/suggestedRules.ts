import { writtenPlatform } from '../base/fileName.ts';
import { guardReason } from '../base/guardedFiles.ts';
import { ANY, BELOW, coveredBy, LONGEST_NAMED } from './callWords.ts';
import { type DangerKind, judgedCommand } from './commandDangers.ts';
import { dangersOf } from './dangers.ts';
import type { Approval } from './model.ts';
import { type ApprovalRule, namedBy } from './policy.ts';
import { relativePath } from './select.ts';
import { firstHidden } from './visible.ts';

/** A rule that would have answered an approval, and what it covers in plain words. */
export interface SuggestedRule {
  readonly rule: ApprovalRule;
  readonly covers: string;
}

/** Programs whose first argument is a subcommand: a rule about them names both. */
const WITH_SUBCOMMAND = new Set([
  'npm',
  'pnpm',
  'yarn',
  'bun',
  'git',
  'cargo',
  'go',
  'dotnet',
  'make',
  'just',
  'uv',
  'poetry',
  'docker',
  'kubectl',
  'gh',
]);

/** In UTF-16 units; a rule in the settings holds all of it. */
const LONGEST_SCRIPT = 5000;

/** Rules to allow what is asked, the narrowest first; none where no rule could, or should. */
export function suggestedRules(ask: Approval, cwd: string): readonly SuggestedRule[] {
  const { detail } = ask;
  // Words beside it change nothing; anything else that comes along is decided each time.
  const isAlone = (ask.beside ?? []).every((one) => one.type === 'text' && !one.unknown);
  if (!isAlone || ask.toolKind === 'delete' || ask.toolKind === 'move') return [];
  switch (detail.type) {
    case 'command':
      return detail.unsure ? [] : commandRules(detail.command.trim(), ask, cwd);
    case 'edit':
      return editRules(
        detail.diffs.map((diff) => relativePath(diff.path, cwd).replaceAll('\\', '/')),
        detail.diffs.some((diff) => diff.after === null || diff.summary),
      );
    case 'mcp':
      return [rule('mcp', `${escaped(detail.server)}/${escaped(detail.tool)}`), rule('mcp', `${escaped(detail.server)}/${ANY}`)];
    case 'text':
      return ask.toolKind === 'read' && ask.paths ? [rule('read')] : [];
  }
}

/** The one of these that an answer for the session makes: a session edits more than one file of a folder. */
export function sessionRule(suggested: readonly SuggestedRule[]): SuggestedRule | undefined {
  return suggested.find(({ rule: { kind, pattern } }) => kind === 'edit' && pattern?.endsWith(BELOW)) ?? suggested[0];
}

/** Dangers that delete data, run anything or change what runs by itself: only the exact command may be allowed again. */
const NARROW: ReadonlySet<DangerKind> = new Set(['deletes', 'overwrites', 'stops', 'code', 'steers']);

function commandRules(command: string, ask: Approval, cwd: string): readonly SuggestedRule[] {
  if (command === '' || command.length > LONGEST_SCRIPT || firstHidden(command)) return [];
  const exact = /[*?]/.test(command) ? [] : [rule('command', command)];
  const isNarrow = dangersOf(ask, cwd).some(({ kind }) => NARROW.has(kind));
  if (isNarrow || command.includes('\n') || command.length > LONGEST_NAMED) return exact;
  // A pattern never allows a line that holds more than one command, or what a shell puts in; then only the line itself makes sense.
  if (/[;&|<>`$(){}*?]/.test(command) || (writtenPlatform(cwd) === 'win32' && /[%!^]/.test(command))) return exact;
  const { reach } = judgedCommand({ command, cwd: ask.detail.type === 'command' ? ask.detail.cwd : undefined }, cwd);
  if (reach.changesGuarded) return exact;
  const named = Math.max(reach.named, reach.scripts);
  const prefixes = [...new Set(prefixesOf(command, named))].map((text) => rule('command', `${text} ${ANY}`));
  return [...exact, ...prefixes.filter(({ rule: { pattern = '' } }) => namedBy(pattern) >= named)];
}

/** How patterns for a command may begin, the narrowest first. `named`: the length of what a pattern has to name. */
function prefixesOf(command: string, named: number): readonly string[] {
  const [program = '', second = '', third = '', ...more] = command.split(/\s+/);
  const own = command.slice(0, named);
  // A program that another one runs is named with its subcommand.
  const [, inner = '', behind = ''] = /(?:^|\s)(\S+)\s+(\w[\w:-]*)$/.exec(`${own}${/^\s+\S+/.exec(command.slice(named))?.[0] ?? ''}`) ?? [];
  const around = WITH_SUBCOMMAND.has(inner) && own.endsWith(inner) ? `${own} ${behind}` : own;
  const isShorter = named > 0 && named <= command.length && around.length < command.length;
  const wrapped = isShorter && /^[\w./:=@ -]+$/.test(around) ? [around] : [];
  const subcommand = WITH_SUBCOMMAND.has(program) && /^\w[\w:-]*$/.test(second) ? `${program} ${second}` : undefined;
  if (subcommand !== undefined) {
    // `npm run lint -- --fix`: of its task, then of all tasks.
    const task = more.length > 0 && /^\w[\w:.-]*$/.test(third) ? [`${subcommand} ${third}`] : [];
    const all = [...task, ...(subcommand === command ? [] : [subcommand])];
    return all.some((text) => text.length + 1 >= named) ? all : wrapped;
  }
  if (named > program.length + 1) return wrapped;
  return command.includes(' ') ? [program] : [];
}

function editRules(paths: readonly string[], isAskedEachTime: boolean): readonly SuggestedRule[] {
  const [first] = paths;
  // A file that runs by itself is asked about each time.
  if (paths.some((path) => guardReason(path) !== undefined)) return [];
  if (first === undefined || isAskedEachTime || paths.some((path) => /^(?:\/|[A-Za-z]:|\.\.)/.test(path) || firstHidden(path))) return [];
  const folder = commonFolder(paths);
  const inFolder = folder === '' ? [] : [rule('edit', `${escaped(folder)}${BELOW}`)];
  const one = new Set(paths).size === 1 ? [rule('edit', escaped(first))] : [];
  return [...one, ...inFolder, rule('edit')];
}

/** The innermost folder that holds all of them; '' for that of the workspace. */
function commonFolder(paths: readonly string[]): string {
  const [first = [], ...others] = paths.map((path) => path.split('/').slice(0, -1));
  let depth = first.length;
  for (const names of others) while (first.slice(0, depth).some((name, at) => name !== names[at])) depth -= 1;
  return first.slice(0, depth).join('/');
}

function rule(kind: ApprovalRule['kind'], pattern?: string): SuggestedRule {
  const what = { kind, ...(pattern === undefined ? {} : { pattern }) };
  return { rule: { ...what, decision: 'allow' }, covers: coveredBy(what) };
}

/** Patterns have no escape: what holds their signs is matched one sign wider at most. */
function escaped(text: string): string {
  return text.replaceAll('*', '?');
}
