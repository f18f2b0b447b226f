import * as z from 'zod/mini';
import type { UserPart } from '../../models/model.ts';
import { linkText } from './toolWords.ts';

/** The blocks of a prompt we said we take (acp.md §7). */
export const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), text: z.string() }) }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), blob: z.string(), mimeType: z.nullish(z.string()) }) }),
]);

/** What models take as pictures. */
const PICTURE = /^image\/(png|jpe?g|gif|webp)$/i;

/** A block as the loop takes it. What a model cannot be shown is named with its type and size, so that it knows of it. */
export function partOf(given: z.infer<typeof block>): UserPart {
  switch (given.type) {
    case 'text':
      return { type: 'text', text: given.text };
    case 'image':
      return { type: 'image', url: `data:${given.mimeType};base64,${given.data}` };
    case 'resource_link':
      return { type: 'text', text: linkText(given.uri, given.name) };
    case 'resource':
      return resourcePart(given.resource);
  }
}

type Resource = Extract<z.infer<typeof block>, { type: 'resource' }>['resource'];

function resourcePart(resource: Resource): UserPart {
  if ('text' in resource) return { type: 'text', text: `${resource.uri}\n\`\`\`\n${resource.text}\n\`\`\`` };
  const { uri, blob, mimeType } = resource;
  if (mimeType != null && PICTURE.test(mimeType)) return { type: 'image', url: `data:${mimeType};base64,${blob}` };
  const bytes = Buffer.byteLength(blob, 'base64');
  return {
    type: 'text',
    text: `[attached: ${uri}, ${mimeType ?? 'unknown type'}, ${bytes} bytes; its content is not text and not shown here]`,
  };
}
