import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, ApprovalDetail, Field, Question, TurnId } from '../../session/model.ts';
import { namedPaths } from '../namedPaths.ts';
import { contentOf, diffsOf } from './blocks.ts';
import { kindOf, stringIn } from './calls.ts';
import type { SeenCall } from './memory.ts';
import type { AnswerResult, DisplayBlock, RequestPayload } from './schema.ts';

type ApprovalAnswer = AnswerResult['ApprovalRequest'];

/** Where an ask belongs: its turn, unless a background agent asks, and its call when that is known. */
export interface AskPlace {
  readonly turnId?: TurnId;
  readonly call?: SeenCall;
}

/** Approvals of background agents belong to no turn and outlive turns (wire.md §9.6). */
export function isBackground(request: { readonly source_kind?: string | null | undefined }): boolean {
  return request.source_kind === 'background_agent';
}

export function approvalOf(request: RequestPayload['ApprovalRequest'], place: AskPlace): Approval {
  const asker = request.source_description || request.subagent_type;
  return {
    kind: 'approval',
    id: request.id,
    ...placed(place),
    title: withoutMarks(request.description) || `${request.sender}: ${request.action}`,
    ...(asker ? { asker } : {}),
    toolKind: kindOf(request.sender),
    detail: detailOf(request, place.call),
    ...namedPaths(
      kindOf(request.sender),
      place.call?.input,
      diffsOf(request.display ?? []).map((one) => one.path),
    ),
    // "For this session" is kept by the text of the action, not by the command: the label says how much that is.
    options: [
      { id: 'approve', label: t('Approve'), effect: 'allow_once' },
      {
        id: 'approve_for_session',
        label: t('Allow all "{0}" this session', actionText(request.action)),
        effect: 'allow_always',
        description: t('Every later "{0}" of this session runs without asking', actionText(request.action)),
      },
      { id: 'reject', label: t('Reject'), effect: 'reject_once' },
    ],
  };
}

/** The actions that servers of this protocol have, in the user's language; others as they are. */
function actionText(action: string): string {
  switch (action) {
    case 'run command':
      return t('run command');
    case 'edit file':
      return t('edit file');
    case 'edit file outside of working directory':
      return t('edit file outside of working directory');
    default:
      return action;
  }
}

function placed({ turnId, call }: AskPlace) {
  return { ...(turnId === undefined ? {} : { turnId }), ...(turnId !== undefined && call ? { callId: call.callId } : {}) };
}

function detailOf(request: RequestPayload['ApprovalRequest'], call: SeenCall | undefined): ApprovalDetail {
  const blocks = request.display ?? [];
  const shell = blocks.find((block) => block.type === 'shell');
  if (shell) return { type: 'command', command: shell.command };
  const diffs = diffsOf(blocks);
  if (diffs.length > 0) return { type: 'edit', diffs };
  const mcp = /^mcp:(.+)$/.exec(request.action);
  if (mcp) {
    const server = request.sender === mcp[1] ? 'mcp' : request.sender;
    return { type: 'mcp', server, tool: mcp[1] ?? '', ...(call?.input === undefined ? {} : { input: call.input }) };
  }
  // Servers before 0.79 send no block; what will run is what the call says.
  const command = kindOf(request.sender) === 'execute' ? stringIn(call?.input, 'command') : undefined;
  return command === undefined ? { type: 'text', text: textOf(request.description, blocks) } : { type: 'command', command };
}

function textOf(description: string, blocks: readonly DisplayBlock[]): string {
  const more = blocks.flatMap((block) => {
    if (block.type === 'diff') return [];
    if (block.type === 'todo') return block.items.map((item) => item.title);
    const content = contentOf(block);
    return content.type === 'text' ? [content.text] : [JSON.stringify(content.type === 'raw' ? content.value : content)];
  });
  return [description, ...more].join('\n');
}

/** Anything but an allowance is a rejection. Words for the agent go along where the server takes them. */
export function approvalAnswer(requestId: string, answer: Answer, feedback: boolean): ApprovalAnswer {
  const response =
    answer.kind === 'option' && (answer.optionId === 'approve' || answer.optionId === 'approve_for_session') ? answer.optionId : 'reject';
  const words = answer.kind === 'option' ? answer.feedback?.trim() : undefined;
  return { request_id: requestId, response, ...(response === 'reject' && feedback && words ? { feedback: words } : {}) };
}

/** Labels go back exactly as they came; a text of one's own is always possible. */
export function questionOf(request: RequestPayload['QuestionRequest'], place: AskPlace): Question {
  const headers = request.questions.flatMap((item) => (item.header ? [item.header] : []));
  return {
    kind: 'question',
    id: request.id,
    ...placed(place),
    title: headers.length > 0 ? [...new Set(headers)].join(', ') : t('The agent has a question'),
    fields: request.questions.map(
      (item, at): Field => ({
        id: String(at),
        label: item.question,
        ...(item.body ? { body: item.body } : {}),
        choices: item.options.map(({ label, description }) => ({ label, ...(description ? { description } : {}) })),
        ...(item.multi_select ? { many: true } : {}),
        free: true,
        required: true,
        ...(item.other_label || item.other_description
          ? { freeLabel: [item.other_label, item.other_description].filter(Boolean).join(': ') }
          : {}),
      }),
    ),
  };
}

/** All questions go in one reply; dismissed is an empty one. */
export function questionAnswer(request: RequestPayload['QuestionRequest'], answer: Answer): AnswerResult['QuestionRequest'] {
  const given = answer.kind === 'fields' ? answer.values : {};
  const isEmpty = request.questions.every((_item, at) => !given[String(at)]?.some((value) => value !== ''));
  const answers = isEmpty
    ? []
    : request.questions.map((item, at): [string, string] => [item.question, (given[String(at)] ?? []).join(', ')]);
  return { request_id: request.id, answers: Object.fromEntries(answers) };
}

/** A description is one line with code marks (wire.md §5.2); titles are plain text. */
function withoutMarks(description: string): string {
  return description.replaceAll('`', '');
}
