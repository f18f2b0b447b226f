import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import type { Peer } from './quirks.ts';
import type { Suggestion } from './schema.ts';
import { isRecord } from './tools.ts';

/* The control channel of both dialects: requests with an id that have exactly one answer, in both directions (docs/protocols/qwen.md). */

/** One line: a JSON object whose members have not been looked at. */
export type Line = Readonly<Record<string, unknown>>;
export type Dialect = 'message' | 'envelope';
export interface ControlRequest {
  readonly id: string;
  readonly subtype: string;
  readonly payload: Line;
}
export type Reply = { readonly ok: true; readonly payload: unknown } | { readonly ok: false; readonly message: string };
/** What becomes of a request to use a tool. */
export type Decision =
  | { readonly allow: true; readonly input: unknown; readonly permissions: readonly Suggestion[] }
  | { readonly allow: false; readonly message: string };

const head = z.object({ request_id: z.string().check(z.minLength(1), z.maxLength(1024)) });

/** A request of the agent, nested (`request: {subtype}`) or flat; undefined when it is neither. */
export function readRequest(line: Line): ControlRequest | undefined {
  if (line.type !== 'control_request') return undefined;
  const parsed = head.safeParse(line);
  if (!parsed.success) return undefined;
  const payload = isRecord(line.request) ? line.request : line;
  const { subtype } = payload;
  return typeof subtype === 'string' ? { id: parsed.data.request_id, subtype, payload } : undefined;
}

/** The id of a request that cannot be read, as it is to stand in the answer; undefined when there is none to answer to. */
export function unreadableId(line: Line): string | number | undefined {
  const { request_id: id } = line;
  return typeof id === 'number' || (typeof id === 'string' && id !== '' && id.length <= 1024) ? id : undefined;
}

/** The answer in a `control_response` to a request of ours, and that request's id. */
export function readReply(line: Line): { readonly id: string; readonly reply: Reply } | undefined {
  const response = isRecord(line.response) ? line.response : {};
  const id = response.request_id ?? line.request_id;
  if (typeof id !== 'string') return undefined;
  if (response.subtype !== 'success') return { id, reply: { ok: false, message: errorText(response.error) } };
  return { id, reply: { ok: true, payload: response.response ?? response.result } };
}

export function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return isRecord(error) && typeof error.message === 'string' ? error.message : t('The agent refused without a reason.');
}

/** The message dialect has the id inside, the envelope dialect outside. */
export function successLine(dialect: Dialect, id: string, result: unknown): Line {
  if (dialect === 'message') return { type: 'control_response', response: { subtype: 'success', request_id: id, response: result } };
  return { type: 'control_response', request_id: id, response: { subtype: 'success', result } };
}
export function errorLine(dialect: Dialect, id: string | number, message: string, peer: Peer): Line {
  const error = { message, retryable: false };
  if (dialect === 'envelope') return { type: 'control_response', request_id: id, response: { subtype: 'error', error } };
  return { type: 'control_response', response: { subtype: 'error', request_id: id, error: peer.onlyMessages ? message : error } };
}
/** An error in a shape that both dialects understand. */
export function anyErrorLine(id: string, message: string): Line {
  return { type: 'control_response', request_id: id, response: { subtype: 'error', request_id: id, error: { message, retryable: false } } };
}

/** The verbs are exact: agents take every other word for a refusal. */
export function permissionLine(dialect: Dialect, id: string, decision: Decision): Line {
  if (dialect === 'envelope') {
    const result = decision.allow ? { behavior: 'approve', message: '' } : { behavior: 'deny', message: decision.message };
    return successLine(dialect, id, result);
  }
  if (!decision.allow) return successLine(dialect, id, { behavior: 'deny', message: decision.message });
  const permissions = decision.permissions.length > 0 ? { updatedPermissions: decision.permissions } : {};
  return successLine(dialect, id, { behavior: 'allow', updatedInput: decision.input, ...permissions });
}

/** The arguments of a tool, which may be JSON text. */
export function argumentsIn(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {};
  try {
    const parsed = parseJson(value);
    return isRecord(parsed) ? parsed : { text: value };
  } catch {
    return { text: value };
  }
}

/** Which dialect a line proves; undefined says nothing. */
export function dialectOf(line: Line, initId: string): Dialect | undefined {
  const { type, object } = line;
  if (object === 'chat.completion' || object === 'chat.completion.chunk') return 'envelope';
  if (type === undefined) return isRecord(line.error) ? 'envelope' : undefined;
  if (typeof type !== 'string') return undefined;
  if (type === 'system') return 'message';
  if (type === 'result') return 'duration_ms' in line ? 'message' : undefined;
  if (type.startsWith('result/') || type.startsWith('x-qwen-')) return 'envelope';
  if (type !== 'control_response') return undefined;
  if (line.request_id !== undefined) return 'envelope';
  const { response } = line;
  if (!isRecord(response)) return undefined;
  if (response.request_id === initId) return 'message';
  return response.subtype === 'error' ? 'envelope' : undefined;
}
