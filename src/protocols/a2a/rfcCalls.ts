import { t } from '../../base/l10n.ts';
import type { ApprovalDetail, Diff } from '../../session/model.ts';
import { effectsOf, type Offered } from './rfcOptions.ts';
import { callStates, type RfcFileDiff, type RfcToolCall, toolCall } from './schema.ts';
import { type Choice, kindOf, lines, type Request, type Snapshot } from './snapshot.ts';
import { fields, member } from './words.ts';

/** Tool calls in the RFC's own shapes (a2a.md §6). */

const DIFF = ['file_name', 'file_path', 'old_content', 'new_content', 'formatted_diff'];
const DETAILS = ['execute_details', 'file_edit_details', 'mcp_details', 'generic_details'];

/** undefined when it is no tool call. */
export function readRfcCall(data: unknown): Snapshot | undefined {
  const parsed = toolCall.safeParse(plain(data));
  if (!parsed.success) return undefined;
  const call = parsed.data;
  const request = call.confirmation_request ? requestOf(call, call.confirmation_request) : undefined;
  const name = call.tool_name ?? '';
  const diff = call.output?.diff ?? call.confirmation_request?.file_edit_details;
  const text = call.output?.text ?? (call.output ? undefined : call.live_content);
  const status = statusOf(call, request !== undefined);
  const kind = diff ? 'edit' : call.confirmation_request?.execute_details ? 'execute' : kindOf(name);
  return {
    id: call.tool_call_id,
    name,
    title: call.description || name || t('Tool call'),
    kind,
    status,
    ...(call.input_parameters === undefined ? {} : { input: call.input_parameters }),
    ...(typeof text === 'string' ? { text } : {}),
    ...(call.output?.structured_data === undefined ? {} : { json: call.output.structured_data }),
    ...(diff ? { diff: toDiff(diff) } : {}),
    ...(call.error ? { error: { message: call.error.message || call.error.type || t('The tool failed.') } } : {}),
    ...(status === 'waiting' && request ? { request } : {}),
  };
}

function plain(data: unknown): unknown {
  const call = fields(
    data,
    ['tool_call_id', 'status', 'tool_name', 'description', 'input_parameters', 'live_content', 'output', 'error', 'confirmation_request'],
    ['result'],
  );
  if (call.tool_call_id === undefined) return undefined;
  const output = call.output === undefined ? undefined : fields(call.output, ['text', 'diff', 'structured_data'], ['result']);
  const asked =
    call.confirmation_request === undefined ? undefined : fields(call.confirmation_request, ['options', ...DETAILS], ['details']);
  return {
    ...call,
    ...(output ? { output: { ...output, ...(output.diff ? { diff: fields(output.diff, DIFF) } : {}) } } : {}),
    ...(call.error === undefined ? {} : { error: fields(call.error, ['message', 'type', 'status_code']) }),
    ...(asked
      ? {
          confirmation_request: {
            options: asked.options,
            ...inner(asked, 'execute_details', ['command', 'working_directory']),
            ...inner(asked, 'file_edit_details', DIFF),
            ...inner(asked, 'mcp_details', ['server_name', 'tool_name']),
            ...inner(asked, 'generic_details', ['description']),
          },
        }
      : {}),
  };
}

function inner(from: Readonly<Record<string, unknown>>, name: string, names: readonly string[]) {
  return from[name] === undefined ? {} : { [name]: fields(from[name], names) };
}

function statusOf(call: RfcToolCall, asked: boolean): Snapshot['status'] {
  switch (member(call.status, callStates)) {
    case 'executing':
      return 'running';
    case 'succeeded':
      return 'done';
    case 'failed':
      return 'failed';
    case 'cancelled':
      return 'cancelled';
    default:
      return asked ? 'waiting' : 'pending';
  }
}

function toDiff(diff: RfcFileDiff): Diff {
  const path = diff.file_path || diff.file_name || '';
  return { path, before: diff.old_content == null ? null : lines(diff.old_content), after: lines(diff.new_content ?? '') };
}

type Asked = NonNullable<RfcToolCall['confirmation_request']>;

function requestOf(call: RfcToolCall, asked: Asked): Request {
  const given = asked.options ?? [];
  const offered =
    given.length > 0
      ? given
      : [
          { id: 'proceed_once', name: t('Allow') },
          { id: 'cancel', name: t('Reject') },
        ];
  const edit = asked.file_edit_details;
  return {
    detail: detailOf(call, asked),
    options: choicesOf(offered),
    ...(edit ? { proposed: edit.new_content ?? '' } : {}),
  };
}

function choicesOf(given: readonly Offered[]): readonly Choice[] {
  const effects = effectsOf(given);
  return given.map((option, at) => ({
    id: option.id,
    label: option.name || option.id,
    effect: effects[at] ?? 'allow_always',
    sends: option.id,
    ...(option.description ? { description: option.description } : {}),
  }));
}

function detailOf(call: RfcToolCall, asked: Asked): ApprovalDetail {
  if (asked.execute_details) {
    const { command, working_directory } = asked.execute_details;
    return { type: 'command', command: command ?? '', ...(working_directory ? { cwd: working_directory } : {}) };
  }
  if (asked.file_edit_details) return { type: 'edit', diffs: [toDiff(asked.file_edit_details)] };
  if (asked.mcp_details) {
    const { server_name, tool_name } = asked.mcp_details;
    return {
      type: 'mcp',
      server: server_name ?? '',
      tool: tool_name ?? '',
      ...(call.input_parameters === undefined ? {} : { input: call.input_parameters }),
    };
  }
  const words = asked.generic_details?.description || call.description;
  const isSaid = words || call.tool_name || isFilled(call.input_parameters);
  if (!isSaid) return { type: 'text', text: t('The agent does not say what this would do.'), unknown: true };
  return { type: 'text', text: words || JSON.stringify(call.input_parameters ?? {}, null, 2) };
}

function isFilled(input: unknown): boolean {
  return typeof input === 'object' && input !== null ? Object.keys(input).length > 0 : input != null;
}

/** A user's answer, told back: it is no call (a2a.md §6). */
export function isConfirmation(data: unknown): boolean {
  const said = fields(data, ['tool_call_id', 'selected_option_id', 'status', 'tool_name', 'confirmation_request']);
  return (
    said.tool_call_id !== undefined &&
    said.selected_option_id !== undefined &&
    said.status === undefined &&
    said.tool_name === undefined &&
    said.confirmation_request === undefined
  );
}
