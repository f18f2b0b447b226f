import type { Answer } from './intents.ts';
import type { Approval, Ask, ToolKind } from './model.ts';

/** A rule from the person's own settings. A pattern is a glob: `*` within a path segment or any run of a command, `**` across segments, `?` one character. */
export interface ApprovalRule {
  readonly kind: 'command' | 'edit' | 'mcp' | ToolKind;
  readonly pattern?: string;
  readonly decision: 'allow' | 'reject';
}

/**
 * The only place an approval is answered without a person. A rejection beats every allowance. Only one-time options are chosen, so no rule can
 * widen what the agent may do later.
 */
export function autoAnswer(ask: Ask, rules: readonly ApprovalRule[], cwd: string): Answer | undefined {
  if (ask.kind !== 'approval') return undefined;
  const matching = rules.filter((rule) => matches(rule, ask, cwd));
  const decision = matching.find((rule) => rule.decision === 'reject')?.decision ?? matching[0]?.decision;
  if (decision === undefined) return undefined;
  const effect = decision === 'allow' ? 'allow_once' : 'reject_once';
  const [option, another] = ask.options.filter((one) => one.effect === effect);
  // Several ways to allow it once are answers to choose from, not one permission.
  if (decision === 'allow' && another) return undefined;
  return option && { kind: 'option', optionId: option.id };
}

function matches(rule: ApprovalRule, ask: Approval, cwd: string): boolean {
  const { detail } = ask;
  switch (rule.kind) {
    case 'command':
    case 'execute':
      return [detail, ...(ask.beside ?? [])].some((one) => one.type === 'command') && everyCommand(rule, ask);
    case 'edit':
      return (
        detail.type === 'edit' &&
        detail.diffs.length > 0 &&
        // A rule about files allows no command that comes with them.
        (rule.decision === 'reject' || !ask.beside?.some((one) => one.type === 'command')) &&
        every(
          rule,
          detail.diffs.map((diff) => diff.path),
          cwd,
        )
      );
    case 'mcp':
      return detail.type === 'mcp' && (rule.pattern === undefined || glob(rule.pattern, '/').test(`${detail.server}/${detail.tool}`));
    default:
      return ask.toolKind === rule.kind && rule.pattern === undefined && detail.type === 'text';
  }
}

/** A rejection is for any of the commands asked about, an allowance for all that is asked: an edit beside a command is none of its business. */
function everyCommand(rule: ApprovalRule, { detail, beside = [] }: Approval): boolean {
  const all = [detail, ...beside];
  const commands = all.flatMap((one) => (one.type === 'command' ? [one.command] : []));
  if (rule.decision === 'reject') return commands.some((one) => commandMatches(rule, one));
  return all.every((one) => one.type === 'command' || one.type === 'text') && commands.every((one) => commandMatches(rule, one));
}

/** A glob never allows a command that holds more than one: with shell control characters only the exact text matches. A rejection matches freely. */
function commandMatches(rule: ApprovalRule, command: string): boolean {
  if (rule.pattern === undefined) return true;
  const text = command.trim();
  if (rule.pattern === text) return true;
  if (rule.decision === 'allow' && /[;&|<>`\n\r]|\$\(|\$\{/.test(text)) return false;
  return glob(rule.pattern, '').test(text);
}

function every(rule: ApprovalRule, paths: readonly string[], cwd: string): boolean {
  const test = (path: string) => rule.pattern === undefined || glob(rule.pattern, '/').test(relative(path, cwd) ?? '');
  const inside = paths.map((path) => relative(path, cwd) !== undefined);
  return rule.decision === 'reject' ? paths.some(test) : paths.every((path, at) => inside[at] && test(path));
}

/** The path below cwd with forward slashes, or undefined when it lies outside. */
function relative(path: string, cwd: string): string | undefined {
  const plain = path.replaceAll('\\', '/');
  const root = cwd.replaceAll('\\', '/').replace(/\/$/, '');
  if (plain.split('/').includes('..')) return undefined;
  if (plain.startsWith(`${root}/`)) return plain.slice(root.length + 1);
  return /^(\/|[A-Za-z]:)/.test(plain) ? undefined : plain;
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
