import { t } from '../../base/l10n.ts';
import type { CallChange } from '../../session/events.ts';
import type { Content, Output, ToolCall, Usage } from '../../session/model.ts';
import { isRecord } from './metadata.ts';
import type { FilePart, OtherPart, ToolPart, UiPart } from './schema.ts';
import { toolNameOf } from './toolParts.ts';

/** What a session keeps of one output, in UTF-16 units. The whole goes back to the server all the same. */
const OUTPUT_KEPT = 200_000;

/** The content of parts that are shown as they came; undefined for those that are not shown. */
export function contentOf(part: UiPart): Content | undefined {
  switch (part.type) {
    case 'file':
    case 'reasoning-file':
      return fileContent(part as FilePart);
    case 'source-url':
      return link(String((part as OtherPart).url), (part as OtherPart).title);
    case 'source-document': {
      const { title, filename, mediaType } = part as OtherPart;
      return { type: 'raw', label: String(title ?? filename ?? mediaType), value: part };
    }
    default:
      return undefined;
  }
}

/** The content of a message a user or the server wrote into the run. */
export function contentsOf(parts: unknown): readonly Content[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown): readonly Content[] => {
    if (!isRecord(part)) return [];
    if (part.type === 'text' && typeof part.text === 'string') return [{ type: 'text', text: part.text }];
    if (part.type !== 'file' || typeof part.url !== 'string') return [];
    return [fileContent({ type: 'file', url: part.url, mediaType: typeof part.mediaType === 'string' ? part.mediaType : '' })];
  });
}

function fileContent(part: FilePart): Content {
  const inline = /^data:[^,]*;base64,/.exec(part.url.slice(0, 300));
  const label = part.filename ?? part.mediaType;
  if (!inline) return part.url.startsWith('data:') ? { type: 'raw', label, value: part.mediaType } : link(part.url, part.filename);
  const data = part.url.slice(inline[0].length);
  if (part.mediaType.startsWith('image/')) return { type: 'image', mime: part.mediaType, data };
  if (part.mediaType.startsWith('audio/')) return { type: 'audio', mime: part.mediaType, data };
  return { type: 'raw', label, value: `${part.mediaType}, ${Math.round((data.length * 3) / 4)} bytes` };
}

function link(url: string, title: unknown): Content {
  // Anything but the web could run or open something here.
  if (!/^https?:\/\//i.test(url)) return { type: 'raw', label: typeof title === 'string' ? title : 'link', value: url.slice(0, 2000) };
  return { type: 'link', uri: url, ...(typeof title === 'string' ? { title } : {}) };
}

export function callOf(id: string, part: ToolPart): ToolCall {
  const name = toolNameOf(part);
  return { id, name, title: part.title ?? name, kind: 'other', status: 'pending', inputText: '', output: [], locations: [] };
}

/** Everything the session shows of a call, as its part stands now. */
export function changeOf(part: ToolPart, inputGrew: boolean): CallChange {
  const error = errorOf(part);
  return {
    status: statusOf(part),
    ...(part.title === undefined ? {} : { title: part.title }),
    ...(part.input === undefined ? {} : { input: part.input, ...(inputGrew ? {} : { inputText: textOf(part.input) }) }),
    ...(part.state === 'output-available' ? { output: outputsOf(part.output) } : {}),
    ...(error === undefined ? {} : { error: { message: error } }),
  };
}

function statusOf(part: ToolPart): ToolCall['status'] {
  switch (part.state) {
    case 'input-streaming':
    case 'input-available':
      return 'pending';
    case 'approval-requested':
      return part.approval?.isAutomatic ? 'pending' : 'waiting';
    case 'approval-responded':
      return part.approval?.approved ? 'running' : 'rejected';
    case 'output-available':
      return part.preliminary ? 'running' : 'done';
    case 'output-error':
      return 'failed';
    case 'output-denied':
      return 'rejected';
  }
}

function errorOf(part: ToolPart): string | undefined {
  if (part.state === 'output-error') return part.errorText || t('The tool failed.');
  const refused = part.state === 'output-denied' || (part.state === 'approval-responded' && part.approval?.approved === false);
  return refused ? part.approval?.reason : undefined;
}

export function outputsOf(output: unknown): readonly Output[] {
  const value = isRecord(output) && '__aui_modelContent' in output ? output.value : output;
  if (value == null) return [];
  if (typeof value === 'string') return [text(value)];
  const texts = textsOf(value);
  if (texts) return texts.map(text);
  const json = textOf(value);
  return [json.length > OUTPUT_KEPT ? text(json) : { kind: 'json', value }];
}

/** `[{type: 'text', text}]`, alone or as `content`, is how many servers wrap what a tool says. */
function textsOf(value: unknown): readonly string[] | undefined {
  const list = isRecord(value) ? value.content : value;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const texts = list.map((one: unknown) => (isRecord(one) && one.type === 'text' && typeof one.text === 'string' ? one.text : undefined));
  return texts.every((one) => one !== undefined) ? texts : undefined;
}

function text(value: string): Output {
  const cut = value.length - OUTPUT_KEPT;
  const kept = cut > 0 ? `${value.slice(0, OUTPUT_KEPT)}\n… (${cut} more characters)` : value;
  return { kind: 'content', content: { type: 'text', text: kept } };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

/** Tokens, where metadata or a `data-usage` part names them. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined;
  const counts = isRecord(value.usage) ? value.usage : value;
  const usage: Usage = {
    ...number('input', counts.inputTokens ?? counts.promptTokens),
    ...number('output', counts.outputTokens ?? counts.completionTokens),
    ...number('used', counts.totalTokens ?? value.totalTokens),
  };
  return Object.keys(usage).length === 0 ? undefined : usage;
}

function number<K extends string>(name: K, value: unknown): { readonly [P in K]?: number } {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? ({ [name]: value } as { [P in K]: number }) : {};
}
