import { readJson } from '../../base/json.ts';
import { put, type Table } from '../../conversation/state.ts';
import type { Content, ToolCall, Turn } from '../../session/model.ts';
import { isTerminal, isTool, setError, toolNameOf } from './message.ts';
import {
  type AiSdkSettings,
  isRecord,
  type Post,
  type SavedTurn,
  savedTurn,
  type TextPart,
  type ToolPart,
  type UiMessage,
  type UiPart,
} from './schema.ts';

/* The messages that are posted: what has to be closed, left out or rewritten before, and how a conversation is restored from its session. */

const CANCELLED_BY_MESSAGE = 'Cancelled: the user sent a new message.';
/** Files of the assistant are posted for so many turns. */
const FILE_TURNS = 3;
/** Larger turns are restored from what the session shows. UTF-16 units of JSON. */
const SAVED_LIMIT = 4 * 1024 * 1024;
const STEP: UiPart = { type: 'step-start' };

// --- the posted messages

/** Closes what an earlier response left open: an error is the only form of an unanswered call that every version accepts. */
export function closeOpenCalls(messages: readonly UiMessage[], why = CANCELLED_BY_MESSAGE): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.parts) {
      if ((part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming') (part as TextPart).state = 'done';
      if (!isTool(part) || isTerminal(part)) continue;
      if (part.state === 'input-streaming') part.input = objectIn(part.rawInput);
      delete part.rawInput;
      delete part.inputEncoding;
      delete part.approval;
      setError(part, why);
    }
  }
}

function objectIn(text: unknown): unknown {
  const value = typeof text === 'string' ? readJson(text) : undefined;
  return isRecord(value) ? value : {};
}

/** True of a message that holds only marks and empty texts. */
export function isEmpty(message: UiMessage): boolean {
  return message.parts.every(
    (part) => part.type === 'step-start' || ((part.type === 'text' || part.type === 'reasoning') && part.text === ''),
  );
}

/** The messages as they are posted. Only messages that have to differ are copied. */
export function posted(
  messages: readonly UiMessage[],
  how: { readonly v5: boolean; readonly errorsAsOutput: boolean },
): readonly UiMessage[] {
  const userAt = messages.flatMap((message, at) => (message.role === 'user' ? [at] : []));
  const filesFrom = userAt.at(-FILE_TURNS) ?? 0;
  return messages
    .map((message, at) => {
      if (message.role !== 'assistant') return message;
      let { parts } = message;
      if (at < filesFrom) parts = parts.filter((part) => !('url' in part && typeof part.url === 'string' && part.url.startsWith('data:')));
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

/** The body of one chat request. */
export function requestBody(
  chatId: string,
  post: Post,
  messages: readonly UiMessage[],
  how: { readonly settings: AiSdkSettings; readonly v5: boolean; readonly tools: Readonly<Record<string, unknown>> },
): Readonly<Record<string, unknown>> {
  const { body, history, system, errorsAsOutput } = how.settings;
  const all = posted(messages, { v5: how.v5, errorsAsOutput });
  return {
    ...body,
    ...how.tools,
    ...(system === null ? {} : { system }),
    ...post.extra,
    id: chatId,
    sessionId: chatId,
    ...(history === 'last' ? { message: all.at(-1) } : { messages: all }),
    trigger: post.trigger,
    ...(post.messageId === undefined ? {} : { messageId: post.messageId }),
  };
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

// --- the checkpoint for the next window

/** A copy that later changes of the messages do not reach; null when there is nothing to save, or too much. */
export function toSave(user: string | undefined, messages: readonly UiMessage[], unsent?: Post): SavedTurn | null {
  if (messages.length === 0) return null;
  const text = JSON.stringify({ ...(user === undefined ? {} : { user }), messages, unsent });
  return text.length > SAVED_LIMIT ? null : (JSON.parse(text) as SavedTurn);
}

/** undefined when the journal holds nothing usable. */
export function savedIn(value: unknown): SavedTurn | undefined {
  const read = savedTurn.safeParse(value);
  return read.success ? (JSON.parse(JSON.stringify(read.data)) as SavedTurn) : undefined;
}

/**
 * The messages of earlier turns; `users` gets the user's message of each turn. A turn that saved nothing, because the window closed in the middle
 * of it, is rebuilt from what the session shows, without thoughts: models refuse thoughts without signatures.
 */
export function fromTurns(turns: readonly Turn[], newId: () => string, users: Table<string> = {}): UiMessage[] {
  const messages: UiMessage[] = [];
  for (const turn of turns) {
    const saved = savedIn(turn.adapterState);
    if (turn.prompt.length > 0) {
      const message = userMessage(saved?.user ?? newId(), turn.prompt);
      put(users, turn.id, message.id);
      messages.push(message);
    }
    messages.push(...(saved?.messages ?? []));
    if (saved) continue;
    const parts: UiPart[] = [];
    for (const part of turn.parts) {
      // Text behind a call belongs to the next step: in the same one it would come before the result of the call.
      if (part.kind === 'text' && isTool(parts.at(-1) ?? STEP)) parts.push(STEP);
      if (part.kind === 'text') parts.push({ type: 'text', text: part.text, state: 'done' });
      if (part.kind === 'call') parts.push(...callParts(part.call));
    }
    if (parts.length > 0) messages.push({ id: newId(), role: 'assistant', parts });
  }
  return messages;
}

function callParts(call: ToolCall): readonly UiPart[] {
  if (call.input === undefined) return [];
  const part: ToolPart = { type: `tool-${call.name}`, toolCallId: call.id, state: 'output-error', input: call.input };
  if (call.status !== 'done') return [STEP, { ...part, errorText: call.error?.message ?? 'Cancelled.' }];
  const outputs = call.output.map((one) => {
    if (one.kind === 'json') return one.value;
    return one.kind === 'content' && one.content.type === 'text' ? one.content.text : one.kind;
  });
  return [STEP, { ...part, state: 'output-available', output: outputs.length === 1 ? outputs[0] : outputs }];
}
