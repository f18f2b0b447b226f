import type { Content } from '../../session/model.ts';
import type { ContentPart, KnownPart, UserInput } from './schema.ts';

/** One of their parts as content; thoughts become text. */
export function fromPart(part: ContentPart): Content {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'think':
      return { type: 'text', text: part.think };
    case 'image_url':
      return media('image', part.image_url.url);
    case 'audio_url':
      return media('audio', part.audio_url.url);
    case 'video_url':
      return media('video', part.video_url.url);
    case 'unknown':
      return { type: 'raw', label: labelOf(part.value), value: part.value };
  }
}

export function fromUserInput(input: UserInput): readonly Content[] {
  return typeof input === 'string' ? [{ type: 'text', text: input }] : input.map(fromPart);
}

/**
 * What a user sends. Only known part types may go out: any other ends some servers (wire.md §4). Files and selections go as text, media as
 * data URIs.
 */
export function toUserInput(content: readonly Content[]): string | KnownPart[] {
  const parts = content.map(toPart);
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : parts;
}

function toPart(content: Content): KnownPart {
  switch (content.type) {
    case 'text':
      return { type: 'text', text: content.text };
    case 'image':
      return { type: 'image_url', image_url: { url: dataUri(content) } };
    case 'audio':
      return { type: 'audio_url', audio_url: { url: dataUri(content) } };
    case 'file':
      return { type: 'text', text: fileText(content) };
    case 'link':
      return { type: 'text', text: content.title ? `${content.title}: ${content.uri}` : content.uri };
    case 'raw':
      return { type: 'text', text: `${content.label}: ${JSON.stringify(content.value)}` };
  }
}

function fileText({ path, text, lines }: Extract<Content, { type: 'file' }>): string {
  const where = lines ? `@${path}:${lines[0]}-${lines[1]}` : `@${path}`;
  if (text === undefined) return where;
  const fence = '`'.repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map((run) => run.length + 1)));
  return `${where}\n${fence}\n${text}\n${fence}`;
}

function dataUri({ mime, data }: { readonly mime: string; readonly data: string }): string {
  return `data:${mime};base64,${data}`;
}

function media(kind: 'image' | 'audio' | 'video', url: string): Content {
  const head = /^data:([\w.+/-]{1,100})?(?:;[\w=.-]{1,100}){0,4};base64,/.exec(url);
  if (!head || kind === 'video') return { type: 'link', uri: url, title: kind };
  return { type: kind, mime: head[1] ?? `${kind}/*`, data: url.slice(head[0].length) };
}

/** What a thing nobody knows calls itself. */
export function labelOf(value: unknown): string {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  return typeof type === 'string' ? type.slice(0, 100) : 'unknown';
}
