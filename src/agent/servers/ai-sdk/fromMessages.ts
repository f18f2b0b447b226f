import { isRecord } from '../../../protocols/ai-sdk/schema.ts';
import type { Call, Message, ToolMessage, UserPart } from '../../models/model.ts';
import type { ClientMessage, ClientPart } from './request.ts';

/** A user message as the agent loop takes it. */
export function userParts(message: ClientMessage): readonly UserPart[] {
  return message.parts.flatMap((part): readonly UserPart[] => {
    if (part.type === 'text' && typeof part.text === 'string') return [{ type: 'text', text: part.text }];
    if (part.type !== 'file' || typeof part.url !== 'string' || typeof part.mediaType !== 'string') return [];
    const kind = /^(image|audio|video)\//.exec(part.mediaType)?.[1] as 'image' | 'audio' | 'video' | undefined;
    return [kind ? { type: kind, url: part.url } : { type: 'text', text: `[attached: ${part.mediaType}]` }];
  });
}

/** The conversation as the client keeps it: its word counts, so that it may edit, cut and regenerate. */
export function historyOf(messages: readonly ClientMessage[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'assistant') return stepsOf(message.parts).flatMap(stepMessages);
    const parts = message.role === 'user' ? userParts(message) : [];
    return parts.length === 0 ? [] : [{ role: 'user', parts }];
  });
}

function stepsOf(parts: readonly ClientPart[]): readonly (readonly ClientPart[])[] {
  const steps: ClientPart[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.length > 0);
}

function stepMessages(parts: readonly ClientPart[]): readonly Message[] {
  const text = parts.flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : [])).join('');
  const tools = parts.flatMap((part) => toolOf(part) ?? []);
  if (text === '' && tools.length === 0) return [];
  return [{ role: 'assistant', text, calls: tools.map((tool) => tool.call) }, ...tools.map((tool) => tool.result)];
}

function toolOf(part: ClientPart): { readonly call: Call; readonly result: ToolMessage } | undefined {
  const name = toolName(part);
  if (name === undefined || typeof part.toolCallId !== 'string') return undefined;
  const call: Call = { id: part.toolCallId, name, input: asText(part.input ?? {}) };
  const { isError, text } = outcomeIn(part) ?? { isError: true, text: 'There is no result of this call.' };
  return { call, result: { role: 'tool', callId: call.id, name, isError, message: '', text } };
}

export function toolName(part: ClientPart): string | undefined {
  if (part.type === 'dynamic-tool') return typeof part.toolName === 'string' ? part.toolName : undefined;
  return part.type.startsWith('tool-') ? part.type.slice('tool-'.length) : undefined;
}

/** How the client says a call came out; undefined while it is open. */
export function outcomeIn(part: ClientPart): { readonly isError: boolean; readonly text: string } | undefined {
  if (part.state === 'output-available' && part.preliminary !== true) return { isError: false, text: asText(part.output) };
  if (part.state === 'output-error') return { isError: true, text: asText(part.errorText ?? 'The tool failed.') };
  const approval = isRecord(part.approval) ? part.approval : {};
  if (part.state === 'output-denied') return { isError: true, text: asText(approval.reason ?? 'The user rejected this call.') };
  return undefined;
}

/** Answers to approvals in a message. */
export function verdictsIn(
  message: ClientMessage,
): readonly { readonly id: string; readonly approved: boolean; readonly reason?: string }[] {
  return message.parts.flatMap((part) => {
    const { approval } = part;
    if (toolName(part) === undefined || !isRecord(approval) || typeof approval.id !== 'string' || typeof approval.approved !== 'boolean')
      return [];
    const reason = typeof approval.reason === 'string' && approval.reason !== '' ? { reason: approval.reason } : {};
    return [{ id: approval.id, approved: approval.approved, ...reason }];
  });
}

/** Calls whose approval was answered and whose outcome the client has not seen. */
export function answeredApprovals(message: ClientMessage): readonly { readonly toolCallId: string; readonly approved: boolean }[] {
  return message.parts.flatMap((part) => {
    const { approval, toolCallId } = part;
    if (part.state !== 'approval-responded' || typeof toolCallId !== 'string' || !isRecord(approval)) return [];
    return [{ toolCallId, approved: approval.approved === true }];
  });
}

/** Anything as text for a model. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value ?? null) ?? '');
}
