import type { Answer } from './intents.ts';
import type { Approval, ApprovalDetail, Ask, ToolKind } from './model.ts';

/** A rule from the user's own settings. A pattern is a glob: `*` within a path segment or any run of a command, `**` across segments, `?` one character. */
export interface ApprovalRule {
  readonly kind: 'command' | 'edit' | 'mcp' | ToolKind;
  readonly pattern?: string;
  readonly decision: 'allow' | 'reject';
}

/** Where things of a session's folder really lie. */
export interface WorkspacePaths {
  /** The way below the folder with forward slashes and every link followed, '' for the folder itself; undefined when it lies elsewhere. */
  readonly below: (path: string) => { readonly path: string; readonly guarded: boolean } | undefined;
}

/** More files than this are never allowed without somebody who looks at them. */
const MOST_FILES = 200;

/**
 * The only place an approval is answered without a user. A rejection beats every allowance. Only one-time options are chosen, so no rule can
 * widen what the agent may do later. What is rejected is taken broadly, what is allowed narrowly (acp.md §9, §10.3): plain edits of files that
 * lie in the folder and steer nothing, and commands that are known to be what runs, in the folder.
 */
export function autoAnswer(ask: Ask, rules: readonly ApprovalRule[], cwd: string, ground: WorkspacePaths): Answer | undefined {
  if (ask.kind !== 'approval') return undefined;
  const matching = rules.filter((rule) => (rule.decision === 'reject' ? rejects(rule, ask, cwd, ground) : allows(rule, ask, cwd, ground)));
  const decision = matching.find((rule) => rule.decision === 'reject')?.decision ?? matching[0]?.decision;
  if (decision === undefined) return undefined;
  const effect = decision === 'allow' ? 'allow_once' : 'reject_once';
  const [option, another] = ask.options.filter((one) => one.effect === effect);
  // Several ways to allow it once are answers to choose from, not one permission.
  if (decision === 'allow' && another) return undefined;
  return option && { kind: 'option', optionId: option.id };
}

/** Any of what is asked about is enough. */
function rejects(rule: ApprovalRule, ask: Approval, cwd: string, ground: WorkspacePaths): boolean {
  const all = [ask.detail, ...(ask.beside ?? [])];
  switch (rule.kind) {
    case 'command':
    case 'execute':
      return all.some((one) => one.type === 'command' && (rule.pattern === undefined || matchesText(rule.pattern, one.command)));
    case 'edit':
      return all.some((one) => one.type === 'edit' && one.diffs.some((diff) => names(rule, diff.path, cwd, ground)));
    case 'mcp':
      return all.some((one) => one.type === 'mcp' && matchesTool(rule, one));
    default:
      return ask.toolKind === rule.kind && rule.pattern === undefined;
  }
}

/** All that is asked must be what the rule is about: an edit beside a command is none of its business. */
function allows(rule: ApprovalRule, ask: Approval, cwd: string, ground: WorkspacePaths): boolean {
  const all = [ask.detail, ...(ask.beside ?? [])];
  // What is taken away or to another place nobody allows beforehand.
  if (ask.toolKind === 'delete' || ask.toolKind === 'move') return false;
  switch (rule.kind) {
    case 'command':
    case 'execute':
      return (
        all.some((one) => one.type === 'command') &&
        all.every((one) => one.type === 'text' || (one.type === 'command' && allowsCommand(rule, one, ground)))
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
        diffs.every((diff) => diff.after !== null && allowsFile(rule, diff.path, cwd, ground)) &&
        (ask.paths ?? []).length <= MOST_FILES &&
        (ask.paths ?? []).every((one) => ground.below(one)?.path === '' || allowsFile(rule, one, cwd, ground))
      );
    }
    case 'mcp':
      return all.every((one) => one.type === 'text' || (one.type === 'mcp' && matchesTool(rule, one))) && ask.detail.type === 'mcp';
    default:
      return (
        ask.toolKind === rule.kind && rule.pattern === undefined && all.every((one) => one.type === 'text') && readsInside(ask, cwd, ground)
      );
  }
}

/** What reads files must say which; others may name none. */
function readsInside({ toolKind, paths }: Approval, cwd: string, ground: WorkspacePaths): boolean {
  if (!paths) return toolKind !== 'read' && toolKind !== 'search';
  return paths.length <= MOST_FILES && paths.every((one) => relative(one, cwd) !== undefined && ground.below(one) !== undefined);
}

/** A glob never allows a command that holds more than one, or what a shell puts in its place: then only the exact text matches. */
function allowsCommand(rule: ApprovalRule, detail: Extract<ApprovalDetail, { type: 'command' }>, ground: WorkspacePaths): boolean {
  if (detail.unsure || detail.command.trim() === '') return false;
  const place = detail.cwd === undefined ? undefined : ground.below(detail.cwd);
  if (detail.cwd !== undefined && (place === undefined || place.guarded)) return false;
  if (rule.pattern === undefined) return true;
  const text = detail.command.trim();
  return rule.pattern === text || (!MORE_THAN_WORDS.test(text) && glob(rule.pattern, '').test(text));
}
/** Operators, substitutions and groups of the usual shells, and characters that do not show. */
const MORE_THAN_WORDS = /[;&|<>`$()]|\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u;

function matchesText(pattern: string, command: string): boolean {
  return pattern === command.trim() || glob(pattern, '').test(command.trim());
}

function matchesTool(rule: ApprovalRule, { server, tool }: Extract<ApprovalDetail, { type: 'mcp' }>): boolean {
  return rule.pattern === undefined || glob(rule.pattern, '/').test(`${server}/${tool}`);
}

/** By the path as it is written and by where it really lies: both must be in the folder and match. */
function allowsFile(rule: ApprovalRule, path: string, cwd: string, ground: WorkspacePaths): boolean {
  const written = relative(path, cwd);
  const real = ground.below(path);
  if (written === undefined || real === undefined || real.guarded) return false;
  return rule.pattern === undefined || [written, real.path].every((one) => glob(rule.pattern ?? '', '/').test(one));
}

/** By any name the file has. */
function names(rule: ApprovalRule, path: string, cwd: string, ground: WorkspacePaths): boolean {
  const { pattern } = rule;
  if (pattern === undefined) return true;
  const all = [relative(path, cwd), ground.below(path)?.path, path.replaceAll('\\', '/')];
  return all.some((one) => one !== undefined && glob(pattern, '/').test(one));
}

/** The path below cwd with forward slashes, or undefined when it lies outside, or is none until somebody else has made one of it. */
function relative(path: string, cwd: string): string | undefined {
  const plain = path.replaceAll('\\', '/');
  const root = cwd.replaceAll('\\', '/').replace(/\/$/, '');
  if (plain.split('/').includes('..')) return undefined;
  if (plain === root) return '';
  if (plain.startsWith(`${root}/`)) return plain.slice(root.length + 1);
  return /^(\/|~|\$|%|[A-Za-z][\w+.-]*:)/.test(plain) ? undefined : plain;
}

function glob(pattern: string, separator: '' | '/'): RegExp {
  const one = separator ? '[^/]' : '[\\s\\S]';
  const body = pattern.replace(/\*\*\/?|\*|\?|[^*?]+/g, (piece) => {
    if (piece === '**/') return '(?:.*/)?';
    if (piece === '**') return '[\\s\\S]*';
    if (piece === '*') return `${one}*`;
    if (piece === '?') return one;
    return piece.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${body}$`);
}
