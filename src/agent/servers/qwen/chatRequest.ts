import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { record } from './control.ts';

/** What a chat request asks for, or why it cannot be taken (docs/protocols/qwen.md §4, §4.5). */
export type Chat =
  | {
      readonly text: string;
      readonly command: Readonly<Record<string, unknown>>;
      /** Members of the request that this agent has no way to follow. */
      readonly notFollowed: readonly string[];
    }
  | { readonly wrong: string; readonly code: string };

type Line = Readonly<Record<string, unknown>>;

/** Reads a chat request; `model` is the one that answers. */
export function readChat(message: Line, model: string): Chat {
  const input = record(message.input);
  if (input.origin === 'tool_response') {
    const call = typeof message.tool_call_id === 'string' ? ` "${message.tool_call_id}"` : '';
    return {
      wrong: `No tool call${call} waits for a response here: tools of the client are called with mcp_message.`,
      code: 'QWEN_UNKNOWN_TOOL_CALL',
    };
  }
  const command = record(input.command);
  if (command.kind === 'slash' && Array.isArray(command.path)) {
    const words = [...command.path, command.args].filter((one) => typeof one === 'string' && one !== '');
    return { text: asCommand(`/${words.join(' ')}`), command, notFollowed: notFollowed(message, model) };
  }
  const texts: string[] = [];
  for (const part of Array.isArray(input.parts) ? input.parts : []) {
    const text = typeof part === 'string' ? part : partText(record(part));
    if (text === undefined) {
      const kind = Object.keys(record(part)).find((key) => key !== 'type') ?? 'unknown';
      return { wrong: `A part of the prompt cannot be taken: ${kind}. Text and files of this machine can.`, code: 'QWEN_UNSUPPORTED_PART' };
    }
    texts.push(text);
  }
  return {
    text: asCommand(withReferences(texts.join('\n'), command)),
    command: command.kind === 'slash' ? command : {},
    notFollowed: notFollowed(message, model),
  };
}

/** `?` is the other sign that a command begins with: alone it asks for help. */
function asCommand(text: string): string {
  const typed = text.trim();
  return typed === '?' || typed === '/?' ? '/help' : text;
}

/** A file is named in the text, for the model to read. */
function partText(part: Line): string | undefined {
  if (typeof part.text === 'string') return part.text;
  const { file_uri: snake, fileUri: camel } = record(part.file_data ?? part.fileData);
  const uri = snake ?? camel;
  if (typeof uri !== 'string') return undefined;
  if (path.isAbsolute(uri)) return `@${uri.replaceAll(' ', '\\ ')}`;
  try {
    return `@${fileURLToPath(uri).replaceAll(' ', '\\ ')}`;
  } catch {
    return undefined;
  }
}

/** References stand in the text as what they resolve to; one that is not in it is added. */
function withReferences(text: string, { kind, references }: Line): string {
  if (kind !== 'at' || !Array.isArray(references)) return text;
  return references.reduce<string>((now, one) => {
    const { original, resolved } = record(one);
    if (typeof resolved !== 'string' || resolved === '') return now;
    const reference = `@${resolved.replace(/^@/, '')}`;
    if (typeof original === 'string' && original !== '' && now.includes(original))
      return original === reference ? now : now.split(original).join(reference);
    return now.includes(reference) ? now : `${now}\n${reference}`;
  }, text);
}

function notFollowed(message: Line, model: string): readonly string[] {
  const other = typeof message.model === 'string' && message.model !== '' && message.model !== model ? [`model "${message.model}"`] : [];
  const options = Object.entries(record(message.options)).flatMap(([name, value]) => (value == null ? [] : [name]));
  return [...other, ...options];
}
