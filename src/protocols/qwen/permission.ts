import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import type { ApprovalDetail, Diff, Option } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';
import { clip } from './clip.ts';
import type { Peer } from './peers.ts';
import type { CanUseTool, Suggestion } from './toolRequest.ts';
import { isOutside, mcpName, pathOf, type ToolUse } from './toolTable.ts';

export const ALLOW = 'allow';
export const REJECT = 'reject';
/** Allows, and goes to the mode in which edits need no approval. */
export const ALLOW_EDITS = 'allow:edits';
const DETAIL_KEPT = 20_000;

const rules = z.object({
  behavior: z.optional(z.string()),
  destination: z.optional(z.string()),
  mode: z.optional(z.string()),
  rules: z.optional(z.array(z.object({ toolName: z.string(), ruleContent: z.optional(z.nullable(z.string())) })).check(z.maxLength(50))),
  directories: z.optional(z.array(z.string()).check(z.maxLength(50))),
});
const WHERE: Readonly<Record<string, () => string>> = {
  session: () => t('In this session'),
  localSettings: () => t('In this project, for you'),
  projectSettings: () => t('In this project, for everybody'),
  userSettings: () => t('In all your projects'),
};

/** What a user may answer: once, as the agent itself proposes for later, or no. */
export function optionsOf(request: CanUseTool, use: ToolUse, peer: Peer): readonly Option[] {
  const later = (request.permission_suggestions ?? []).flatMap((suggestion, at) => suggestedOption(suggestion, at, peer));
  const changesFiles = use.work === 'edit' || use.work === 'write' || use.work === 'notebook';
  const edits: readonly Option[] =
    later.length === 0 && changesFiles && peer.editsMode !== undefined
      ? [{ id: ALLOW_EDITS, label: t('Allow, and edit without asking from now on'), effect: 'allow_always' }]
      : [];
  return [
    { id: ALLOW, label: t('Allow'), effect: 'allow_once' },
    ...later,
    ...edits,
    { id: REJECT, label: t('Reject'), effect: 'reject_once' },
  ];
}

/** The suggestion behind an option's id. */
export function suggestionOf(request: CanUseTool, optionId: string): Suggestion | undefined {
  const at = /^allow:(\d+)$/.exec(optionId)?.[1];
  return at === undefined ? undefined : request.permission_suggestions?.[Number(at)];
}

/** The mode a suggestion changes to, when nobody would be asked any more in it. */
export function unattendedMode(suggestion: Suggestion, peer: Peer): string | undefined {
  const { type, mode } = suggestion;
  return type === 'setMode' && typeof mode === 'string' && peer.unattended.includes(mode) ? mode : undefined;
}

function suggestedOption(suggestion: Suggestion, at: number, peer: Peer): readonly Option[] {
  const parsed = rules.safeParse(suggestion);
  if (!parsed.success || (parsed.data.behavior !== undefined && parsed.data.behavior !== 'allow')) return [];
  const { mode, destination, rules: allowed, directories } = parsed.data;
  const option = (label: string): readonly Option[] => {
    const description = destination === undefined ? undefined : (WHERE[destination]?.() ?? destination);
    return [{ id: `allow:${at}`, label: visibleText(label), effect: 'allow_always', ...(description ? { description } : {}) }];
  };
  if (suggestion.type === 'setMode' && mode) return option(t('Allow, and change to mode "{0}"', nameOf(mode, peer)));
  if (suggestion.type === 'addRules' && allowed && allowed.length > 0) {
    return option(t('Always allow {0}', allowed.map(ruleText).join(', ')));
  }
  if (suggestion.type === 'addDirectories' && directories && directories.length > 0) {
    return option(t('Allow, and work in {0} from now on', directories.join(', ')));
  }
  return [];
}

type Rule = NonNullable<z.infer<typeof rules>['rules']>[number];

/** Rules about commands in words; of other tools as the agent keeps them. */
function ruleText({ toolName, ruleContent }: Rule): string {
  if (!ruleContent) return toolName;
  if (toolName !== 'Bash') return `${toolName}(${ruleContent})`;
  const beginning = /^(.+?)(?::\*| \*)$/s.exec(ruleContent)?.[1];
  return beginning === undefined ? `"${ruleContent}"` : t('all that begins with "{0}"', beginning);
}

function nameOf(mode: string, peer: Peer): string {
  return peer.modes().find((one) => one.id === mode)?.name ?? mode;
}

/** What a user is shown: from the tool and its input, never from the model's own description alone. */
export function detailOf(use: ToolUse, diffs: readonly Diff[]): ApprovalDetail {
  const { input } = use;
  const text = (key: string) => (typeof input[key] === 'string' ? input[key] : undefined);
  if (diffs.length > 0) return { type: 'edit', diffs };
  const command = text('command');
  if (use.work === 'shell' && command !== undefined) {
    const cwd = text('directory') ?? text('cwd');
    return { type: 'command', command: visibleText(command), ...(cwd === undefined ? {} : { cwd }) };
  }
  const mcp = mcpName(use.name);
  if (mcp) return { type: 'mcp', ...mcp, input };
  const plan = text('plan');
  if (use.work === 'plan') {
    if (plan?.trim()) return { type: 'text', text: clip(plan, DETAIL_KEPT), markdown: true };
    return { type: 'text', text: t('The agent wants to leave plan mode and begin with the work. It has not sent its plan along.') };
  }
  if (use.work === 'agent') {
    const task = [text('description'), text('prompt')].filter(Boolean).join('\n\n');
    return {
      type: 'text',
      text: visibleText(clip(`${task}\n\n${t('Once allowed, this sub-agent may edit files without asking.')}`, DETAIL_KEPT)),
    };
  }
  return { type: 'text', text: visibleText(clip(JSON.stringify(input, null, 2), DETAIL_KEPT)) };
}

export function titleOf(request: CanUseTool, use: ToolUse, cwd: string): string {
  const file = pathOf(use.input, cwd) ?? request.blocked_path ?? undefined;
  return file !== undefined && isOutside(file, cwd) ? t('{0} (outside the workspace)', use.title) : use.title;
}
