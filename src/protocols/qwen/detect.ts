import type { AgentMessage } from './talk.ts';

export type Verdict = 'message' | 'envelope';

/** Which dialect a line proves; undefined says nothing (qwen.md §2.4). */
export function classify(message: AgentMessage, initId: string): Verdict | undefined {
  const { type, object } = message;
  if (object === 'chat.completion' || object === 'chat.completion.chunk') return 'envelope';
  if (type === undefined) return isRecord(message.error) ? 'envelope' : undefined;
  if (typeof type !== 'string') return undefined;
  if (type === 'system') return 'message';
  if (type === 'result') return 'duration_ms' in message ? 'message' : undefined;
  if (type.startsWith('result/') || type.startsWith('x-qwen-')) return 'envelope';
  if (type === 'control_response') return answerOf(message, initId);
  return undefined;
}

function answerOf(message: AgentMessage, initId: string): Verdict | undefined {
  if (message.request_id !== undefined) return 'envelope';
  const { response } = message;
  if (!isRecord(response) || response.request_id !== initId)
    return isRecord(response) && response.subtype === 'error' ? 'envelope' : undefined;
  return 'message';
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
