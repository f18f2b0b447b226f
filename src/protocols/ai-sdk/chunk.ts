import { type Chunk, chunkShapes, ID_LIMIT } from './schema.ts';

/** What one event of the stream turned out to be. */
export type Decoded =
  | { readonly kind: 'chunk'; readonly chunk: Chunk }
  /** A type this build does not know. */
  | { readonly kind: 'unknown'; readonly type: string }
  | { readonly kind: 'bad'; readonly why: string };

/** Values nested deeper than this are not taken: they could not be written back. */
const DEPTH = 200;

/** Checks one parsed event against the catalogue; never throws. */
export function decodeChunk(value: unknown): Decoded {
  if (typeof value !== 'object' || value === null || !('type' in value) || typeof value.type !== 'string') {
    return { kind: 'bad', why: 'an event without a type' };
  }
  const { type } = value;
  if (isPlainDelta(value)) return { kind: 'chunk', chunk: value };
  if (type.startsWith('data-')) return checked('data', { ...value, type: 'data', name: type.slice('data-'.length) });
  return isKnown(type) && type !== 'data' ? checked(type, value) : { kind: 'unknown', type };
}

type Delta = Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta' }>;

/** Nearly all chunks are of this kind: they are checked by hand. */
function isPlainDelta(value: { readonly type?: unknown }): value is Delta {
  const { type, id, delta, toolCallId, inputTextDelta } = value as Readonly<Record<string, unknown>>;
  if (type === 'tool-input-delta') return typeof inputTextDelta === 'string' && isId(toolCallId);
  return (type === 'text-delta' || type === 'reasoning-delta') && typeof delta === 'string' && isId(id);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value.length <= ID_LIMIT;
}

function isKnown(type: string): type is keyof typeof chunkShapes {
  return Object.hasOwn(chunkShapes, type);
}

function checked(type: keyof typeof chunkShapes, value: object): Decoded {
  const parsed = chunkShapes[type].safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return { kind: 'bad', why: `${type}: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(' ')}` };
  }
  const chunk = parsed.data as Chunk;
  if (!isDelta(type) && !isShallow(chunk, DEPTH)) return { kind: 'bad', why: `${type}: nested too deeply` };
  return { kind: 'chunk', chunk };
}

function isDelta(type: string): boolean {
  return type.endsWith('-delta');
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  for (const inner of Object.values(value)) if (!isShallow(inner, depth - 1)) return false;
  return true;
}
