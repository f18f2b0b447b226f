import { randomUUID } from 'node:crypto';
import type { Content } from '../../session/model.ts';
import type { Memory } from './memory.ts';
import type { Snapshot } from './snapshot.ts';
import { type Fields, written } from './words.ts';

/** What we say to an agent, in the version and the dialect it speaks (a2a.md §4, §6, §7). */

export function promptParts(memory: Memory, content: readonly Content[]): readonly Fields[] {
  const before = [...memory.notes.splice(0)];
  if (memory.tellPast) before.unshift(memory.past.text());
  memory.tellPast = false;
  const texts = [...before, ...content.map(textOf)].filter(Boolean);
  return [textPart(memory, texts.join('\n\n'))];
}

function textOf(content: Content): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'file': {
      const lines = content.lines ? `:${content.lines[0]}-${content.lines[1]}` : '';
      return content.text === undefined ? `@${content.path}${lines}` : `${content.path}${lines}\n\`\`\`\n${content.text}\n\`\`\``;
    }
    case 'link':
      return content.title ? `${content.title}: ${content.uri}` : content.uri;
    case 'image':
    case 'audio':
      return `[${content.mime}]`;
    case 'raw':
      return `${content.label}\n${JSON.stringify(content.value)}`;
  }
}

export function textPart(memory: Memory, text: string): Fields {
  return memory.peer.wire === '1.0' ? { text } : { kind: 'text', text };
}

export function dataPart(memory: Memory, data: Fields): Fields {
  return memory.peer.wire === '1.0' ? { data } : { kind: 'data', data };
}

/** The params of message/stream. */
export function toMessage(memory: Memory, parts: readonly Fields[], reference?: string): Fields {
  const { peer, task, contextId } = memory;
  const newer = peer.wire === '1.0';
  const metadata = memory.settled ? undefined : settingsOf(memory);
  const push = memory.settled ? undefined : memory.push?.config(peer.wire);
  memory.settled = true;
  if (push) memory.pushSent = true;
  return {
    ...(push ? { configuration: newer ? { taskPushNotificationConfig: push } : { pushNotificationConfig: push } } : {}),
    message: {
      ...(newer ? {} : { kind: 'message' }),
      role: newer ? 'ROLE_USER' : 'user',
      messageId: randomUUID(),
      parts,
      ...(task ? { taskId: task.id } : {}),
      ...(contextId ? { contextId } : {}),
      ...(metadata ? { metadata } : {}),
      ...(peer.extension ? { extensions: [peer.extension] } : {}),
      ...(reference ? { referenceTaskIds: [reference] } : {}),
    },
  };
}

function settingsOf({ peer, cwd }: Memory): Fields | undefined {
  if (peer.extension) return { [peer.extension]: { workspace_path: cwd } };
  return peer.dialect === 'gemini' ? { coderAgent: { kind: 'agent-settings', workspacePath: cwd } } : undefined;
}

/** The params of command/execute. The RFC has no place for the conversation: only agents that offer one are told (a2a.md §13). */
export function commandParams({ peer, contextId, cwd }: Memory, path: readonly string[], args: string): Fields {
  const rfc = { command_path: path, args };
  if (!peer.commandContext || !peer.extension) return rfc;
  return { ...rfc, ...(contextId ? { contextId } : {}), metadata: { [peer.extension]: { workspace_path: cwd } } };
}

/** The user's decision about one call. */
export function confirmation(
  memory: Memory,
  call: Pick<Snapshot, 'id'>,
  dialect: 'rfc' | 'gemini',
  sends: string,
  edited: string | undefined,
): Fields {
  if (dialect === 'gemini') return { callId: call.id, outcome: sends, ...(edited === undefined ? {} : { newContent: edited }) };
  const answer = {
    tool_call_id: call.id,
    selected_option_id: sends,
    ...(edited === undefined ? {} : { file_details: { new_content: edited } }),
  };
  return written(answer, memory.camel);
}
