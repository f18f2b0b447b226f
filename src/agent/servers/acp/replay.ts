import type { Message, UserPart } from '../../models/model.ts';
import type { Shown } from '../../tools/tool.ts';
import { chunk, contentOf, diffLocations, inputOf, planOf, startedCall, textContent } from './toolWords.ts';

/** A conversation as the updates that told of it (acp.md §5): calls with their input and place, edits with their diff, the user's pictures. */
export function replayed(messages: readonly Message[], cwd: string): readonly object[] {
  const inputs = new Map<string, unknown>();
  return messages.flatMap((message): readonly object[] => {
    switch (message.role) {
      case 'user':
        return message.parts.flatMap(userChunk);
      case 'assistant':
        return [
          ...(message.thought ? [chunk('agent_thought_chunk', message.thought)] : []),
          ...(message.text ? [chunk('agent_message_chunk', message.text)] : []),
          ...message.calls.map(({ id, name, input }) => {
            const rawInput = inputOf(input);
            inputs.set(id, rawInput);
            return { sessionUpdate: 'tool_call', ...startedCall({ id, name, rawInput }, cwd) };
          }),
        ];
      case 'tool': {
        const diffs = (message.diffs ?? []).map((diff): Shown => ({ type: 'diff', ...diff }));
        const text = [message.message, message.text].filter(Boolean).join('\n');
        const plan = message.isError ? undefined : planIn(message.name, inputs.get(message.callId));
        return [
          {
            sessionUpdate: 'tool_call_update',
            toolCallId: message.callId,
            status: message.isError ? 'failed' : 'completed',
            content: diffs.length > 0 ? contentOf(diffs) : [textContent(text)],
            ...(diffs.length > 0 ? { locations: diffLocations(diffs) } : {}),
          },
          ...(plan ? [plan] : []),
        ];
      }
    }
  });
}

function userChunk(part: UserPart): readonly object[] {
  if (part.type === 'text') return [chunk('user_message_chunk', part.text)];
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(part.url) ?? [];
  if (part.type !== 'image' || mimeType === undefined || data === undefined) return [];
  return [{ sessionUpdate: 'user_message_chunk', content: { type: 'image', mimeType, data } }];
}

/** The plan a call has set: its input is the plan. */
function planIn(tool: string, input: unknown): object | undefined {
  const { todos } = (input ?? {}) as { readonly todos?: Extract<Shown, { type: 'todo' }>['items'] };
  return tool === 'SetTodoList' && Array.isArray(todos) ? planOf([{ type: 'todo', items: todos }]) : undefined;
}
