import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, ToolCall } from '../../session/model.ts';
import type { ToolPart } from './schema.ts';
import { toolNameOf } from './toolParts.ts';

const ALLOW = 'allow';
const ALWAYS = 'always';
const REJECT = 'reject';

/** The ask for a call the server will not make without a user's word (ai-sdk.md §9). */
export function approvalAsk(
  part: ToolPart,
  at: { readonly askId: string; readonly turnId: string; readonly callId: ToolCall['id'] },
): Approval {
  const name = toolNameOf(part);
  return {
    kind: 'approval',
    id: at.askId,
    turnId: at.turnId,
    callId: at.callId,
    title: part.title ?? name,
    detail: { type: 'text', text: detailOf(part) },
    options: [
      { id: ALLOW, label: t('Allow'), effect: 'allow_once' },
      { id: ALWAYS, label: t('Always allow {0} in this conversation', name), effect: 'allow_always' },
      { id: REJECT, label: t('Reject'), effect: 'reject_once' },
    ],
  };
}

function detailOf(part: ToolPart): string {
  const { approval } = part;
  const lines = [pretty(part.input)];
  if (approval && 'inputSchemaInput' in approval && pretty(approval.inputSchemaInput) !== lines[0]) {
    lines.unshift(t('What will run:'));
    lines.push(t('What the model wrote:'), pretty(approval.inputSchemaInput));
  }
  return [...(approval?.requestReason ? [approval.requestReason] : []), ...lines].join('\n\n');
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

export interface Verdict {
  readonly approved: boolean;
  readonly always: boolean;
  readonly reason?: string;
}

/** Anything that is not plainly an allowance is a refusal. */
export function verdictOf(answer: Answer): Verdict {
  const chosen = answer.kind === 'option' ? answer.optionId : REJECT;
  const approved = chosen === ALLOW || chosen === ALWAYS;
  const reason = answer.kind === 'option' && !approved ? answer.feedback : undefined;
  return { approved, always: chosen === ALWAYS, ...(reason ? { reason } : {}) };
}

/** Writes the answer into the part. Everything the server sent with the request stays as it came. */
export function answerApproval(part: ToolPart, verdict: Verdict): void {
  if (!part.approval) return;
  part.state = 'approval-responded';
  part.approval = {
    ...part.approval,
    approved: verdict.approved,
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
  };
}

/** The continue question after many requests without a user. */
export function continueAsk(askId: string, turnId: string, posts: number): Approval {
  return {
    kind: 'approval',
    id: askId,
    turnId,
    title: t('Continue?'),
    wordless: true,
    ours: true,
    detail: { type: 'text', text: t('The agent has gone on by itself {0} times in this turn.', posts) },
    options: [
      { id: ALLOW, label: t('Continue'), effect: 'allow_once' },
      { id: REJECT, label: t('Stop here'), effect: 'reject_once' },
    ],
  };
}
