import { guardReason } from '../base/guardedFiles.ts';
import { t } from '../base/l10n.ts';
import type { Approval } from './model.ts';
import type { ApprovalRule } from './policy.ts';
import { relativePath } from './select.ts';
import { HIDDEN } from './visible.ts';

/** A rule that would have answered an approval, and what it covers in plain words. */
export interface SuggestedRule {
  readonly rule: ApprovalRule;
  readonly covers: string;
}

/** Programs whose first argument says what they do: a rule about them names both. */
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

const ANY = '*';
const BELOW = ['', ANY + ANY].join('/');

/** Rules to allow what is asked, the narrowest first; none where no rule could, or should. */
export function suggestedRules(ask: Approval, cwd: string): readonly SuggestedRule[] {
  const { detail } = ask;
  if ((ask.beside ?? []).length > 0 || ask.toolKind === 'delete' || ask.toolKind === 'move') return [];
  switch (detail.type) {
    case 'command':
      return detail.unsure ? [] : commandRules(detail.command.trim());
    case 'edit':
      return editRules(
        detail.diffs.map((diff) => relativePath(diff.path, cwd).replaceAll('\\', '/')),
        detail.diffs.some((diff) => diff.after === null),
      );
    case 'mcp':
      return [
        rule('mcp', `${escaped(detail.server)}/${escaped(detail.tool)}`, t('{0} of {1}', detail.tool, detail.server)),
        rule('mcp', `${escaped(detail.server)}/${ANY}`, t('all tools of {0}', detail.server)),
      ];
    case 'text':
      return ask.toolKind === 'read' && ask.paths ? [{ rule: { kind: 'read', decision: 'allow' }, covers: t('reading files here') }] : [];
  }
}

function commandRules(command: string): readonly SuggestedRule[] {
  if (command === '' || command.length > 300 || command.includes('\n') || command.search(HIDDEN) >= 0) return [];
  const exact = rule('command', escaped(command), command);
  // A pattern never allows a line that holds more than one command; then only the line itself makes sense.
  if (/[;&|<>`$()*?]/.test(command)) return /[*?]/.test(command) ? [] : [exact];
  const [program = '', second = ''] = command.split(/\s+/);
  const named = WITH_SUBCOMMAND.has(program) && /^[\w:-]+$/.test(second) ? `${program} ${second}` : undefined;
  const prefix = (text: string) => rule('command', `${text} ${ANY}`, t('commands that begin with {0}', text));
  return [exact, ...(named && named !== command ? [prefix(named)] : []), ...(command.includes(' ') && !named ? [prefix(program)] : [])];
}

function editRules(paths: readonly string[], deletes: boolean): readonly SuggestedRule[] {
  const [first] = paths;
  // A file that runs by itself is asked about each time.
  if (paths.some((path) => guardReason(path) !== undefined)) return [];
  if (first === undefined || deletes || paths.some((path) => /^(?:\/|[A-Za-z]:|\.\.)/.test(path) || path.search(HIDDEN) >= 0)) return [];
  const folders = new Set(paths.map((path) => path.slice(0, Math.max(0, path.lastIndexOf('/')))));
  const [folder = ''] = folders;
  const inFolder = folders.size === 1 && folder !== '' ? [rule('edit', `${escaped(folder)}${BELOW}`, t('edits in {0}', `${folder}/`))] : [];
  const one = new Set(paths).size === 1 ? [rule('edit', escaped(first), t('edits of {0}', first))] : [];
  return [...inFolder, ...one, { rule: { kind: 'edit', decision: 'allow' }, covers: t('all edits in this workspace') }];
}

function rule(kind: ApprovalRule['kind'], pattern: string, covers: string): SuggestedRule {
  return { rule: { kind, pattern, decision: 'allow' }, covers };
}

/** Patterns have no escape: what holds their signs is matched one sign wider at most. */
function escaped(text: string): string {
  return text.replaceAll('*', '?');
}
