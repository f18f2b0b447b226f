import { parseJson } from '../../base/json.ts';
import type { Content, Turn } from '../../session/model.ts';
import { kept } from './keep.ts';
import { isRecord } from './metadata.ts';
import type { TextPart, ToolPart, UiMessage, UiPart } from './schema.ts';
import { isTerminal, isTool, setError, toolNameOf } from './toolParts.ts';

const CANCELLED_BY_MESSAGE = 'Cancelled: the user sent a new message.';
/** Files from the assistant stay whole this many turns. */
const FILES_KEPT = 3;
const STEP: UiPart = { type: 'step-start' };

/** Closes what an earlier response left open: the only form of an unanswered call that every version accepts (ai-sdk.md §4.4). */
export function closeOpenCalls(messages: readonly UiMessage[], why = CANCELLED_BY_MESSAGE): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    closeTexts(message);
    for (const part of message.parts) {
      if (!isTool(part) || isTerminal(part)) continue;
      if (part.state === 'input-streaming') part.input = parsedOr(part.rawInput, {});
      delete part.rawInput;
      delete part.inputEncoding;
      delete part.approval;
      setError(part, why);
    }
  }
}

export function closeTexts(message: UiMessage): void {
  for (const part of message.parts) {
    if ((part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming') (part as TextPart).state = 'done';
  }
}

/** What never became a call is not posted and not waited for. */
export function dropUnfinishedInputs(message: UiMessage): readonly ToolPart[] {
  const dropped = message.parts.filter((part): part is ToolPart => isTool(part) && part.state === 'input-streaming');
  if (dropped.length > 0) message.parts = message.parts.filter((part) => !dropped.includes(part as ToolPart));
  return dropped;
}

/** Nothing but marks and texts without a word. */
export function saysNothing(message: UiMessage): boolean {
  return message.parts.every(
    (part) => part.type === 'step-start' || ((part.type === 'text' || part.type === 'reasoning') && part.text === ''),
  );
}

/** The messages as they are posted. Copies are made only of what has to differ. */
export function posted(
  messages: readonly UiMessage[],
  how: { readonly v5: boolean; readonly errorsAsOutput: boolean },
): readonly UiMessage[] {
  const userAt = messages.flatMap((message, at) => (message.role === 'user' ? [at] : []));
  const keepFilesFrom = userAt.at(-FILES_KEPT) ?? 0;
  return messages
    .map((message, at) => {
      if (message.role !== 'assistant') return message;
      let { parts } = message;
      if (at < keepFilesFrom)
        parts = parts.filter((part) => !('url' in part && typeof part.url === 'string' && part.url.startsWith('data:')));
      if (how.v5) parts = parts.map(asVersion5);
      if (how.errorsAsOutput) parts = parts.map(errorAsOutput);
      return { ...message, parts };
    })
    .filter((message) => message.parts.length > 0);
}

/** True when the messages hold something that servers of version 5 refuse. */
export function needsVersion6(messages: readonly UiMessage[]): boolean {
  return messages.some((message) => message.parts.some((part) => asVersion5(part) !== part));
}

function asVersion5(part: UiPart): UiPart {
  if (!isTool(part)) return part;
  const newer = part.state === 'approval-requested' || part.state === 'approval-responded' || part.state === 'output-denied';
  if (!newer && part.approval === undefined && part.type !== 'dynamic-tool') return part;
  const { approval, toolName: _, ...rest } = part;
  const old: ToolPart = { ...rest, type: `tool-${toolNameOf(part)}` };
  if (newer) setError(old, approval?.reason ?? 'The user declined this action.');
  return old;
}

function errorAsOutput(part: UiPart): UiPart {
  if (!isTool(part) || part.state !== 'output-error') return part;
  const { errorText, ...rest } = part;
  return { ...rest, state: 'output-available', output: { error: errorText ?? '' } };
}

function parsedOr(text: unknown, otherwise: unknown): unknown {
  if (typeof text !== 'string') return otherwise;
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

export function userMessage(id: string, content: readonly Content[]): UiMessage {
  return { id, role: 'user', parts: content.flatMap(userPart) };
}

function userPart(content: Content): readonly UiPart[] {
  switch (content.type) {
    case 'text':
      return [{ type: 'text', text: content.text }];
    case 'image':
    case 'audio':
      return [{ type: 'file', mediaType: content.mime, url: `data:${content.mime};base64,${content.data}` }];
    case 'file': {
      const where = content.lines ? `${content.path}:${content.lines[0]}-${content.lines[1]}` : content.path;
      return [{ type: 'text', text: content.text === undefined ? where : `${where}\n\`\`\`\n${content.text}\n\`\`\`` }];
    }
    case 'link':
      return [{ type: 'text', text: content.title === undefined ? content.uri : `${content.title}: ${content.uri}` }];
    case 'raw':
      return [{ type: 'text', text: content.label }];
  }
}

/**
 * A conversation as its turns left it behind; `users` learns which turn each message of the user's began. A turn that left nothing, because
 * the window closed in the middle of it, is made up from what the session shows, without thoughts: models refuse them without signatures.
 */
export function fromTurns(turns: readonly Turn[], newId: () => string, users: Map<string, string> = new Map()): UiMessage[] {
  const messages: UiMessage[] = [];
  for (const turn of turns) {
    const before = kept(turn.adapterState);
    if (turn.prompt.length > 0) {
      const message = userMessage(before?.user ?? newId(), turn.prompt);
      users.set(turn.id, message.id);
      messages.push(message);
    }
    messages.push(...(before?.messages ?? []));
    if (before) continue;
    const parts: UiPart[] = [];
    for (const part of turn.parts) {
      // What is said after a call belongs to the next step: in the same one it would stand before the call's result.
      if (part.kind === 'text' && isTool(parts.at(-1) ?? STEP)) parts.push(STEP);
      if (part.kind === 'text') parts.push({ type: 'text', text: part.text, state: 'done' });
      if (part.kind === 'call') parts.push(...rememberedCall(part.call));
    }
    if (parts.length > 0) messages.push({ id: newId(), role: 'assistant', parts });
  }
  return messages;
}

function rememberedCall(call: Extract<Turn['parts'][number], { kind: 'call' }>['call']): readonly UiPart[] {
  if (call.input === undefined) return [];
  const part: ToolPart = { type: `tool-${call.name}`, toolCallId: call.id, state: 'output-error', input: call.input };
  if (call.status !== 'done') return [STEP, { ...part, errorText: call.error?.message ?? 'Cancelled.' }];
  const outputs = call.output.map((one) => {
    if (one.kind === 'json') return one.value;
    return one.kind === 'content' && one.content.type === 'text' ? one.content.text : one.kind;
  });
  return [STEP, { ...part, state: 'output-available', output: outputs.length === 1 ? outputs[0] : outputs }];
}
