import type { AssistantModelMessage, FilePart, ImagePart, JSONValue, ModelMessage, TextPart } from 'ai';
import { type Call, type Message, ModelError, resultText, type UserPart } from './model.ts';

/** The conversation in the SDK's words. Thoughts go back only within the running turn, where some models want them. */
export function messagesOf(history: readonly Message[]): ModelMessage[] {
  const turn = history.findLastIndex((message) => message.role === 'user');
  return history.map((message, at): ModelMessage => {
    switch (message.role) {
      case 'user':
        return { role: 'user', content: message.parts.map(userPart) };
      case 'assistant':
        return { role: 'assistant', content: assistantContent(message, at > turn) };
      case 'tool': {
        const value = resultText(message);
        const output = message.isError ? { type: 'error-text' as const, value } : { type: 'text' as const, value };
        return { role: 'tool', content: [{ type: 'tool-result', toolCallId: message.callId, toolName: message.name, output }] };
      }
    }
    return message;
  });
}

function assistantContent(message: Extract<Message, { role: 'assistant' }>, thoughts: boolean): AssistantModelMessage['content'] {
  return [
    ...(thoughts && message.thought !== undefined ? [{ type: 'reasoning' as const, text: message.thought }] : []),
    ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
    ...message.calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.id,
      toolName: call.name,
      input: inputOf(call),
      ...metaOf(call),
    })),
  ];
}

/** Services parse the arguments of earlier calls again and refuse broken ones, so those go back empty; the result told the model about them. */
function inputOf(call: Call): unknown {
  try {
    const parsed: unknown = JSON.parse(call.input === '' ? '{}' : call.input);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

function metaOf(call: Call): { providerOptions?: Record<string, Record<string, JSONValue>> } {
  return call.meta === undefined ? {} : { providerOptions: call.meta as Record<string, Record<string, JSONValue>> };
}

function userPart(part: UserPart): TextPart | ImagePart | FilePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', image: part.url };
    case 'audio': {
      const match = /^data:([^;,]+)[^,]*,/.exec(part.url);
      if (!match?.[1]) throw new ModelError('model_cannot', 'Audio must be given as a data URI.');
      return { type: 'file', data: part.url.slice(match[0].length), mediaType: match[1] };
    }
    case 'video':
      throw new ModelError('model_cannot', 'Videos cannot be sent to this model.');
  }
}
