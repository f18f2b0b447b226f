import { t } from '../../base/l10n.ts';
import type { ApprovalDetail, Diff, Field } from '../../session/model.ts';
import { type Confirmation, fileChange, type GeminiCall, geminiCall, textChange, wordsIn } from './schema.ts';
import { type Choice, kindOf, lines, type Request, type Snapshot } from './snapshot.ts';
import { isRecord } from './words.ts';

/** Tool calls as the shipped server tells them, both generations (a2a.md §7, §9). */

/** undefined when it is no tool call. */
export function readGeminiCall(data: unknown): (Snapshot & { readonly newer: boolean }) | undefined {
  // The other dialect's calls come here too, and saying why they are none costs most.
  if (!isRecord(data) || !isRecord(data.request)) return undefined;
  const parsed = geminiCall.safeParse(data);
  if (!parsed.success) return undefined;
  const call = parsed.data;
  const { request, response, confirmationDetails: asked } = call;
  const status = statusOf(call);
  const diff = resultDiff(call) ?? (asked?.type === 'edit' ? editOf(asked, request.args) : undefined);
  const text = diff && status === 'done' ? undefined : resultText(call);
  return {
    id: request.callId,
    name: request.name,
    title: titleOf(call),
    kind: kindOf(request.name, call.tool?.kind),
    status,
    newer: request.schedulerId != null,
    ...(request.args === undefined ? {} : { input: request.args }),
    ...(text === undefined ? {} : { text }),
    ...(diff ? { diff } : {}),
    ...(status === 'failed' ? { error: { message: text || response?.errorType || t('The tool failed.') } } : {}),
    ...(status === 'waiting' && asked ? { request: requestOf(call, asked) } : {}),
  };
}

function statusOf(call: GeminiCall): Snapshot['status'] {
  switch (call.status) {
    case 'awaiting_approval':
      return call.outcome || !call.confirmationDetails ? 'pending' : 'waiting';
    case 'executing':
      return 'running';
    case 'success':
      return 'done';
    case 'error':
      return 'failed';
    case 'cancelled':
      return 'cancelled';
    default:
      return 'pending';
  }
}

function titleOf(call: GeminiCall): string {
  const { request, tool } = call;
  if (request.display?.description) return request.display.description;
  const args = isRecord(request.args) ? request.args : {};
  const about = [args.command, args.file_path, args.path, args.pattern, args.query, args.prompt].find((one) => typeof one === 'string');
  const name = tool?.displayName || request.name;
  return typeof about === 'string' ? `${name}: ${about.length > 200 ? `${about.slice(0, 200)}…` : about}` : name;
}

function pathIn(args: unknown): string {
  const path = isRecord(args) ? (args.file_path ?? args.path) : undefined;
  return typeof path === 'string' ? path : '';
}

function editOf(change: Pick<Confirmation, 'filePath' | 'fileName' | 'originalContent' | 'newContent' | 'fileDiff'>, args: unknown): Diff {
  // The whole path stands in the arguments where the change has only the name.
  const path = change.filePath || pathIn(args) || change.fileName || '';
  if (change.newContent == null) return { path, before: '', after: change.fileDiff ?? '', summary: true };
  return { path, before: change.originalContent == null ? null : lines(change.originalContent), after: lines(change.newContent) };
}

function resultDiff(call: GeminiCall): Diff | undefined {
  const shown = textChange.safeParse(call.response?.display?.result);
  if (shown.success && shown.data.type === 'diff') {
    const { path, beforeText, afterText } = shown.data;
    return {
      path: path || pathIn(call.request.args),
      before: beforeText == null ? null : lines(beforeText),
      after: lines(afterText ?? ''),
    };
  }
  const change = fileChange.safeParse(call.response?.resultDisplay);
  if (!change.success || (change.data.newContent == null && change.data.fileDiff == null)) return undefined;
  return editOf(change.data, call.request.args);
}

function resultText(call: GeminiCall): string | undefined {
  const { response } = call;
  if (!response) return undefined;
  if (typeof response.resultDisplay === 'string' && response.resultDisplay !== '') return tidy(response.resultDisplay);
  const shown = textChange.safeParse(response.display?.result);
  if (shown.success && typeof shown.data.text === 'string') return tidy(shown.data.text);
  const words = wordsIn.safeParse(response.responseParts);
  const said = words.success ? words.data[0]?.functionResponse?.response : undefined;
  const text = said?.error ?? said?.output;
  return typeof text === 'string' ? tidy(text) : undefined;
}

const LINES_KEPT = 5000;
const ESCAPES = new RegExp(
  `${String.fromCharCode(27)}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${String.fromCharCode(7)}]*${String.fromCharCode(7)})`,
  'g',
);

/** A screen as it was padded for a terminal, without the padding, colours and overwritten lines. */
export function tidy(text: string): string {
  const all = lines(text)
    .replace(ESCAPES, '')
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r') + 1).trimEnd());
  return all.slice(-LINES_KEPT).join('\n').trimEnd();
}

const ONCE: Choice = { id: 'once', label: '', effect: 'allow_once', sends: 'proceed_once' };

function requestOf(call: GeminiCall, asked: Confirmation): Request {
  const allow = { ...ONCE, label: t('Allow once') };
  const reject: Choice = { id: 'reject', label: t('Reject'), effect: 'reject_once', sends: 'cancel' };
  const questions = asked.type === 'ask_user' ? questionsOf(asked) : [];
  if (questions.length > 0) return { detail: { type: 'text', text: asked.title ?? '' }, options: [allow, reject], questions };
  const detail = detailOf(call, asked);
  const always: readonly Choice[] =
    asked.type === 'exit_plan_mode'
      ? []
      : asked.type === 'mcp'
        ? [
            { id: 'always-tool', label: t('Always allow this tool'), effect: 'allow_always', sends: 'proceed_always_tool' },
            { id: 'always-server', label: t('Always allow this server'), effect: 'allow_always', sends: 'proceed_always_server' },
          ]
        : [
            {
              id: 'always',
              label: t('Always allow this in this conversation'),
              effect: 'allow_always',
              sends: 'proceed_once',
              remembered: true,
            },
          ];
  const editable = asked.type === 'edit' && asked.newContent != null;
  return { detail, options: [allow, ...always, reject], ...(editable ? { proposed: asked.newContent ?? '' } : {}) };
}

function questionsOf(asked: Confirmation): readonly Field[] {
  return (asked.questions ?? []).map((one, at) => {
    const choices = (one.options ?? []).map((option) => ({
      label: option.label,
      ...(option.description ? { description: option.description } : {}),
    }));
    return { id: String(at), label: one.question, free: true, ...(choices.length > 0 ? { choices } : {}) };
  });
}

function detailOf(call: GeminiCall, asked: Confirmation): ApprovalDetail {
  switch (asked.type) {
    case 'edit':
      return { type: 'edit', diffs: [editOf(asked, call.request.args)] };
    case 'exec':
    case 'sandbox_expansion':
      return { type: 'command', command: asked.command ?? '', ...directoryIn(call.request.args) };
    case 'mcp': {
      const input = asked.toolArgs ?? call.request.args;
      return { type: 'mcp', server: asked.serverName ?? '', tool: asked.toolName ?? '', ...(input === undefined ? {} : { input }) };
    }
    case 'info':
      return { type: 'text', text: [asked.prompt, ...(asked.urls ?? [])].filter(Boolean).join('\n') || (asked.title ?? '') };
    case 'exit_plan_mode':
      return { type: 'text', text: [asked.title, asked.planPath].filter(Boolean).join('\n') };
    default:
      return { type: 'text', text: `${asked.title ?? asked.type}\n\n${JSON.stringify(call.request.args ?? {}, null, 2)}` };
  }
}

function directoryIn(args: unknown): { readonly cwd?: string } {
  const directory = isRecord(args) ? (args.directory ?? args.dir_path) : undefined;
  return typeof directory === 'string' && directory !== '' ? { cwd: directory } : {};
}
