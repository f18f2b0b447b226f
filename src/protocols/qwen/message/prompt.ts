import path from 'node:path';
import type { Content } from '../../../session/model.ts';

export interface Prompt {
  readonly text: string;
  readonly images: readonly { readonly mime: string; readonly data: string }[];
  /** What cannot be said to this agent. */
  readonly left: readonly string[];
}

/** A prompt as the agent takes it: text, files as `@path` references (qwen.md §3.1), images where it understands them. */
export function promptOf(content: readonly Content[], cwd: string, takesImages: boolean): Prompt {
  const left: string[] = [];
  const images: { readonly mime: string; readonly data: string }[] = [];
  const pieces = content.flatMap((one) => {
    switch (one.type) {
      case 'text':
        return [one.text];
      case 'file':
        return [reference(one, cwd)];
      case 'link':
        return [one.title ? `${one.title}: ${one.uri}` : one.uri];
      case 'image':
        if (takesImages) images.push(one);
        else left.push('image');
        return [];
      default:
        left.push(one.type === 'raw' ? one.label : one.type);
        return [];
    }
  });
  return { text: pieces.join('\n').trim(), images, left };
}

/** The member `content` of a user line. */
export function userContent(prompt: Prompt): unknown {
  if (prompt.images.length === 0) return prompt.text;
  return [
    ...prompt.images.map(({ mime, data }) => ({ type: 'image', source: { type: 'base64', media_type: mime, data } })),
    ...(prompt.text === '' ? [] : [{ type: 'text', text: prompt.text }]),
  ];
}

function reference(file: Extract<Content, { type: 'file' }>, cwd: string): string {
  const relative = path.relative(cwd, file.path);
  const name = relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative) ? relative : file.path;
  const at = `@${name.replaceAll('\\', '/').replaceAll(/([\s\\])/g, '\\$1')}`;
  const [from, to] = file.lines ?? [];
  const lines = from === undefined ? '' : ` (lines ${from}-${to})`;
  return file.text === undefined ? `${at}${lines}` : `${at}${lines}:\n${file.text}`;
}
