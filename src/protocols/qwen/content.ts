import * as z from 'zod/mini';
import type { Content } from '../../session/model.ts';
import { clip } from './clip.ts';
import { type Block, block } from './message/schema.ts';

/** UTF-16 units of one result that are kept. */
const TEXT_KEPT = 256 * 1024;
const blocks = z.array(block).check(z.maxLength(1000));

/** What a message or a tool result holds: text, or blocks of text and images. What else there is is left out. */
export function contentOf(value: unknown): readonly Content[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: clip(value, TEXT_KEPT) }];
  const parsed = blocks.safeParse(value);
  return parsed.success ? parsed.data.flatMap(oneContent) : [];
}

export function textOf(value: unknown): string {
  return contentOf(value)
    .map((one) => (one.type === 'text' ? one.text : ''))
    .join('\n');
}

function oneContent(one: Block): readonly Content[] {
  if (one.type === 'text') return one.text ? [{ type: 'text', text: clip(one.text, TEXT_KEPT) }] : [];
  if (one.type === 'image' && one.source?.type === 'base64' && one.source.data) {
    return [{ type: 'image', mime: one.source.media_type ?? 'image/png', data: one.source.data }];
  }
  return [];
}
