import { LENGTHS, type Part, type StatusUpdate } from './schema.ts';
import { type Fields, isRecord } from './words.ts';

/**
 * A status update checked by hand: nearly all records of a stream are one with a few words or a call in it, and the schema costs five times as
 * much. It takes nothing the schema does not, and reads it alike; undefined: the schema is to say.
 */
export function plainStatus(body: unknown): StatusUpdate | undefined {
  if (!isRecord(body) || !isRecord(body.status)) return undefined;
  const { taskId, contextId, status, final, metadata } = body;
  if (typeof taskId !== 'string' || taskId.length > LENGTHS.id || !mayBe(contextId, LENGTHS.id)) return undefined;
  if ((final != null && typeof final !== 'boolean') || !mayBeFields(metadata)) return undefined;
  const { state, timestamp, message } = status;
  if (!mayBe(state, LENGTHS.short) || !mayBe(timestamp, LENGTHS.short)) return undefined;
  const said = message == null ? message : plainMessage(message);
  if (message != null && said === undefined) return undefined;
  return { taskId, contextId, status: { state, timestamp, message: said }, final, metadata };
}

function plainMessage(message: unknown): StatusUpdate['status']['message'] {
  if (!isRecord(message)) return undefined;
  const { messageId, role, parts, taskId, contextId, metadata } = message;
  if (!mayBe(messageId, LENGTHS.id) || !mayBe(taskId, LENGTHS.id) || !mayBe(contextId, LENGTHS.id)) return undefined;
  if (!mayBe(role, LENGTHS.short) || !mayBeFields(metadata)) return undefined;
  if (parts == null) return { messageId, role, parts, taskId, contextId, metadata };
  if (!Array.isArray(parts) || parts.length > LENGTHS.parts) return undefined;
  const plain: Part[] = [];
  for (const part of parts as readonly unknown[]) {
    if (!isRecord(part) || OTHERS.some((name) => part[name] !== undefined)) return undefined;
    const { kind, text, data } = part;
    if (!mayBe(kind, LENGTHS.short) || !mayBe(text, LENGTHS.long)) return undefined;
    plain.push(data === undefined ? { kind, text } : { kind, text, data });
  }
  return { messageId, role, parts: plain, taskId, contextId, metadata };
}

/** Members of parts that are seldom there. */
const OTHERS = ['file', 'raw', 'url', 'filename', 'mediaType'] as const;

function mayBe(value: unknown, longest: number): value is string | null | undefined {
  return value == null || (typeof value === 'string' && value.length <= longest);
}

function mayBeFields(value: unknown): value is Fields | null | undefined {
  return value == null || isRecord(value);
}
