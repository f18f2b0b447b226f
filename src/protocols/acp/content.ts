import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Content } from '../../session/model.ts';
import type { ContentBlock } from './schema.ts';

/** Content blocks to and from the model's content (acp.md §6). */

/** What the agent takes in a prompt beyond text and links. */
export interface Accepts {
  readonly image: boolean;
  readonly audio: boolean;
  readonly embedded: boolean;
}

export function toContent(block: ContentBlock): Content {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? { type: 'text', text: block.text } : raw(block);
    case 'image':
    case 'audio':
      return typeof block.data === 'string' && typeof block.mimeType === 'string'
        ? { type: block.type, mime: block.mimeType, data: block.data }
        : raw(block);
    case 'resource_link':
      return typeof block.uri === 'string' ? linkTo(block.uri, block.title ?? block.name) : raw(block);
    case 'resource':
      return 'resource' in block ? embedded(block as ResourceBlock) : raw(block);
    default:
      return raw(block);
  }
}

type ResourceBlock = Extract<ContentBlock, { type: 'resource' }>;

function raw(block: ContentBlock): Content {
  return { type: 'raw', label: String(block.type), value: block };
}

function linkTo(uri: string, title: unknown): Content {
  const file = pathOf(uri);
  if (file) return { type: 'file', ...file };
  return { type: 'link', uri, ...(typeof title === 'string' && title ? { title } : {}) };
}

function embedded(block: ResourceBlock): Content {
  const { uri, text } = block.resource;
  const file = pathOf(uri);
  if (!file) return { type: 'link', uri };
  return { type: 'file', ...file, ...(text == null ? {} : { text }) };
}

/** The path and lines a file uri names: file:///a/b.ts#L10-L20. */
function pathOf(uri: string): { readonly path: string; readonly lines?: readonly [number, number] } | undefined {
  if (!uri.startsWith('file:')) return undefined;
  try {
    const url = new URL(uri);
    const lines = /^#L(\d+)(?:[-:]L?(\d+))?$/.exec(url.hash);
    url.hash = '';
    const from = Number(lines?.[1]);
    return { path: fileURLToPath(url), ...(lines ? { lines: [from, Number(lines[2] ?? from)] as const } : {}) };
  } catch {
    return undefined;
  }
}

/** A prompt as blocks. What the agent does not take becomes text that says so, or the file's text in a fence. */
export function toBlocks(prompt: readonly Content[], accepts: Accepts): readonly ContentBlock[] {
  return prompt.map((content): ContentBlock => {
    switch (content.type) {
      case 'text':
        return { type: 'text', text: content.text };
      case 'image':
      case 'audio':
        if (accepts[content.type]) return { type: content.type, data: content.data, mimeType: content.mime };
        return { type: 'text', text: `[${content.type === 'image' ? 'An image' : 'A sound'} was left out: this agent does not take it.]` };
      case 'link':
        return { type: 'resource_link', uri: content.uri, name: content.title || content.uri };
      case 'file':
        return fileBlock(content, accepts);
      case 'raw':
        return { type: 'text', text: JSON.stringify(content.value) };
    }
  });
}

type FileContent = Extract<Content, { type: 'file' }>;

function fileBlock(content: FileContent, accepts: Accepts): ContentBlock {
  const url = pathToFileURL(content.path);
  if (content.text === undefined) {
    return { type: 'resource_link', uri: url.href, name: content.path.split(/[\\/]/).at(-1) || content.path };
  }
  if (content.lines) url.hash = `L${content.lines[0]}-L${content.lines[1]}`;
  if (accepts.embedded) return { type: 'resource', resource: { uri: url.href, text: content.text } };
  const place = content.lines ? `${content.path}:${content.lines[0]}-${content.lines[1]}` : content.path;
  const fence = '`'.repeat(Math.max(3, ...[...content.text.matchAll(/`+/g)].map((run) => run[0].length + 1)));
  return { type: 'text', text: `${place}\n${fence}\n${content.text}\n${fence}\n` };
}
