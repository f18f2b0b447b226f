import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, ApprovalDetail, Ask, Content, Diff, Field, Option, Question } from '../../session/model.ts';
import { namedPaths } from '../namedPaths.ts';
import { type CallState, shown } from './calls.ts';
import { commandInput, namesAnother } from './commandInput.ts';
import { toContent } from './content.ts';
import type { PermissionRequest } from './schema.ts';

/** session/request_permission to an ask, and the user's answer back (acp.md §9). */

export interface Outcome {
  readonly outcome: { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };
  /** Qwen's questions are answered beside the outcome, by the number of the question. */
  readonly answers?: Readonly<Record<string, string>>;
}
export const cancelledOutcome: Outcome = { outcome: { outcome: 'cancelled' } };

export interface Place {
  readonly turnId: string | undefined;
  /** The sub-agent that asks. */
  readonly asker: string | undefined;
}

export function permissionAsk(id: string, request: PermissionRequest, call: CallState, { turnId, asker }: Place): Ask {
  const head = {
    id,
    ...(turnId === undefined ? {} : { turnId }),
    ...(call.id === '' ? {} : { callId: call.id }),
    ...(asker === undefined ? {} : { asker }),
  };
  const questions = qwenQuestions(request);
  if (questions) return { ...head, kind: 'question', title: titleOf(request, call), fields: questions } satisfies Question;
  return {
    ...head,
    kind: 'approval',
    title: titleOf(request, call),
    toolKind: call.kind,
    ...detailsOf(request, call),
    ...pathsIn(call),
    options: request.options.length > 0 ? request.options.map(toOption) : [{ id: DISMISS, label: t('Dismiss'), effect: 'reject_once' }],
  } satisfies Approval;
}

/** undefined when the answer is none of this request's. */
export function permissionReply(request: PermissionRequest, answer: Answer): Outcome | undefined {
  if (answer.kind === 'option') {
    if (request.options.some((option) => option.optionId === answer.optionId)) return selected(answer.optionId);
    return answer.optionId === DISMISS ? cancelledOutcome : undefined;
  }
  if (answer.kind !== 'fields') return cancelledOutcome;
  const go = request.options.find((option) => option.kind === 'allow_once');
  if (!go) return cancelledOutcome;
  return {
    ...selected(go.optionId),
    answers: Object.fromEntries(Object.entries(answer.values).map(([key, all]) => [key, all.join(', ')])),
  };
}

/** True when the chosen option refuses. */
export function isRefusal(request: PermissionRequest, outcome: Outcome): boolean {
  const chosen = outcome.outcome;
  if (chosen.outcome === 'cancelled') return false;
  return request.options.find((option) => option.optionId === chosen.optionId)?.kind?.startsWith('reject') ?? false;
}

/** True when the chosen option allows, in words the protocol knows: what an option of another kind means nobody can tell. */
export function isAllowance(request: PermissionRequest, outcome: Outcome): boolean {
  const chosen = outcome.outcome;
  if (chosen.outcome === 'cancelled') return false;
  const kind = request.options.find((option) => option.optionId === chosen.optionId)?.kind;
  return kind === 'allow_once' || kind === 'allow_always';
}

const DISMISS = 'dismiss';

function selected(optionId: string): Outcome {
  return { outcome: { outcome: 'selected', optionId } };
}

/** One entry an option, in the given order; kinds repeat. A kind nobody knows is never chosen by a rule. */
function toOption(option: PermissionRequest['options'][number]): Option {
  const effect = EFFECTS.find((one) => one === option.kind) ?? 'reject_always';
  return { id: option.optionId, label: option.name, effect };
}
const EFFECTS = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const;

function titleOf(request: PermissionRequest, call: CallState): string {
  const title = request.title ?? request.toolCall?.title;
  // One agent puts the arguments where the title belongs.
  return title && !title.startsWith('{') ? title : shown(call).title;
}

/** The places the call names anywhere. */
function pathsIn({ kind, rawInput, locations, edits }: CallState): Pick<Approval, 'paths'> {
  return namedPaths(kind, rawInput, [...locations.map((one) => one.path), ...edits.keys()]);
}

/** Nothing the user allows may be hidden behind something else of the same call (acp.md §9). */
function detailsOf(request: PermissionRequest, call: CallState): Pick<Approval, 'detail' | 'beside'> {
  const detail = detailOf(request, call);
  if (detail.type === 'text') return { detail };
  const beside: ApprovalDetail[] = [];
  const diffs = [...call.edits.values()].flatMap((edit): readonly Diff[] => edit.diffs);
  if (detail.type !== 'edit' && diffs.length > 0) beside.push({ type: 'edit', diffs });
  const input = commandInput(call.rawInput);
  const command = input?.command;
  if (input && detail.type !== 'mcp' && !(detail.type === 'command' && detail.command.trim() === input.command.trim()))
    beside.push({ type: 'command', ...input });
  // Of a change that changes nothing the arguments are all there is to see.
  const changesNothing = detail.type === 'edit' && diffs.every((diff) => diff.before === diff.after);
  if (changesNothing && command === undefined && call.rawInput !== undefined) beside.push({ type: 'text', text: pretty(call.rawInput) });
  const texts = [request.description ?? '', ...textsOf(call)].filter((text) => text.trim() !== '' && !isSaid(text, detail, call));
  if (texts.length > 0) beside.push({ type: 'text', text: texts.join('\n') });
  return { detail, ...(beside.length > 0 ? { beside } : {}) };
}

/** The text is the command over again, the folder it runs in, or the arguments that are shown already. */
function isSaid(text: string, detail: ApprovalDetail, call: CallState): boolean {
  const bare = text
    .replace(/^\s*```\w*\n/, '')
    .replace(/\n```\s*$/, '')
    .trim();
  if (detail.type === 'command' && (bare === detail.command.trim() || (detail.cwd !== undefined && WORKING_DIRECTORY.test(text))))
    return true;
  if (!bare.startsWith('{')) return false;
  try {
    return JSON.stringify(parseJson(bare)) === JSON.stringify(call.rawInput);
  } catch {
    return false;
  }
}

function textsOf(call: CallState): string[] {
  return call.content.flatMap((item) => (item.type === 'content' ? [plain(toContent(item.content))] : [])).filter(Boolean);
}

function pretty(rawInput: unknown): string {
  return JSON.stringify(rawInput, null, 2).slice(0, 4000);
}

const WORKING_DIRECTORY = /^\[current working directory ([^\n]+?)\](?: \([^\n]*\))?$/;

function detailOf(request: PermissionRequest, call: CallState): ApprovalDetail {
  if (request.command) return { type: 'command', ...request.command };
  const diffs = [...call.edits.values()].flatMap((edit): readonly Diff[] => edit.diffs);
  if (diffs.length > 0) return { type: 'edit', diffs };
  const texts = textsOf(call);
  const place = call.kind === 'execute' && texts.length === 1 ? WORKING_DIRECTORY.exec(texts[0] ?? '') : null;
  // Gemini CLI says the command in the title, and where it runs in the text (0.61.0).
  if (place?.[1] && call.title) return { type: 'command', command: call.title, cwd: place[1] };
  const input = commandInput(call.rawInput);
  if (input) {
    const other = [request.title, request.toolCall?.title, call.title].some((title) => title && namesAnother(title, input.command));
    return { type: 'command', ...input, ...(other ? { unsure: true } : {}) };
  }
  // A title stands for the command only where nothing else is said: some titles are the bare name of the tool.
  if (call.kind === 'execute' && texts.length === 0 && call.title) return { type: 'command', command: call.title, unsure: true };
  const mcp = /^mcp__(.+?)__(.+)$/.exec(call.name);
  if (mcp?.[1] && mcp[2]) return { type: 'mcp', server: mcp[1], tool: mcp[2], ...(call.rawInput ? { input: call.rawInput } : {}) };
  const plan = (call.rawInput as { readonly plan?: unknown } | undefined)?.plan;
  if (texts.length === 0 && typeof plan === 'string') texts.push(plan);
  if (request.description) texts.unshift(request.description);
  if (texts.length === 0 && call.rawInput !== undefined) texts.push(pretty(call.rawInput));
  return { type: 'text', text: texts.join('\n') || titleOf(request, call) };
}

function plain(content: Content): string {
  return content.type === 'text' ? content.text : '';
}

/** Qwen asks its questions as permissions, with the questions in the call's meta. */
function qwenQuestions(request: PermissionRequest): readonly Field[] | undefined {
  const meta = request.toolCall?._meta;
  if (meta?.qwenInteractionKind !== 'user_question' || !Array.isArray(meta.qwenQuestions)) return undefined;
  const fields = meta.qwenQuestions.flatMap((question: unknown, at): readonly Field[] => {
    if (typeof question !== 'object' || question === null) return [];
    const { question: label, options, multiSelect } = question as Readonly<Record<string, unknown>>;
    const choices = Array.isArray(options) ? options.flatMap(toChoice) : [];
    return [
      {
        id: String(at),
        label: typeof label === 'string' ? label : t('Question {0}', at + 1),
        ...(choices.length > 0 ? { choices } : {}),
        ...(multiSelect === true ? { many: true as const } : {}),
        free: true,
      },
    ];
  });
  return fields.length > 0 ? fields : undefined;
}

function toChoice(option: unknown): readonly { readonly label: string; readonly description?: string }[] {
  if (typeof option === 'string') return [{ label: option }];
  if (typeof option !== 'object' || option === null || !('label' in option) || typeof option.label !== 'string') return [];
  const description = 'description' in option ? option.description : undefined;
  return [{ label: option.label, ...(typeof description === 'string' ? { description } : {}) }];
}
