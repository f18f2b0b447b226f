import { readGeminiCall } from './geminiCalls.ts';
import type { Incoming } from './records.ts';
import { isConfirmation, readRfcCall } from './rfcCalls.ts';
import { eventKinds, type Part, thought } from './schema.ts';
import type { Snapshot } from './snapshot.ts';
import { isOurExtension } from './version.ts';
import { type Fields, fields, isRecord, member, writesCamel } from './words.ts';

/** What a part of a record means. */
export type Said =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'call'; readonly call: Snapshot; readonly dialect: 'rfc' | 'gemini'; readonly newer: boolean; readonly camel: boolean }
  | { readonly type: 'link'; readonly uri: string; readonly title?: string }
  | { readonly type: 'data'; readonly value: unknown };

/** `event` saves working it out again where it is known. */
export function meaningOf(record: Incoming, event = eventOf(record.metadata)): readonly Said[] {
  return record.parts.flatMap((part) => readPart(part, event.kind));
}

/** Beside the message: which model, what went wrong. */
export interface EventFacts {
  readonly kind: (typeof eventKinds)[number] | 'citation';
  readonly model?: string;
  /** What the user has with the agent's maker: free, paid. */
  readonly tier?: string;
  readonly error?: string;
  readonly retry: boolean;
}

/** The metadata of the extension wherever the agent put it (a2a.md §6). */
export function eventOf(metadata: Fields | undefined): EventFacts {
  const name = metadata && Object.keys(metadata).find((one) => isOurExtension(one));
  const own = name === undefined ? undefined : metadata?.[name];
  const place = [own, metadata?.coderAgent, metadata].find((one) => isRecord(one) && 'kind' in one);
  const { kind, model, error, user_tier: tier } = fields(place, ['kind', 'model', 'error', 'user_tier']);
  const wrong = error ?? metadata?.error;
  const words = typeof wrong === 'string' ? wrong : isRecord(wrong) && typeof wrong.message === 'string' ? wrong.message : undefined;
  const type = isRecord(wrong) ? wrong.type : undefined;
  const named = model ?? metadata?.model;
  const plan = tier ?? metadata?.userTier;
  return {
    kind: typeof kind === 'string' && /^citation$/i.test(kind) ? 'citation' : member(kind, eventKinds),
    ...(typeof named === 'string' && named !== '' ? { model: named } : {}),
    ...(typeof plan === 'string' && plan !== '' ? { tier: plan } : {}),
    ...(words ? { error: words } : {}),
    retry: type === 'retry' || type === 'invalid_stream',
  };
}

function readPart(part: Part, kind: EventFacts['kind']): readonly Said[] {
  if (typeof part.text === 'string') {
    if (part.text === '') return [];
    return [{ type: kind === 'thought' ? 'thought' : 'text', text: part.text }];
  }
  if (part.data !== undefined && part.data !== null) return isConfirmation(part.data) ? [] : [readData(part.data, kind)];
  const uri = part.file?.uri ?? part.url;
  const title = part.file?.name ?? part.filename;
  if (uri) return [{ type: 'link', uri, ...(title ? { title } : {}) }];
  return part.file || part.raw ? [{ type: 'data', value: { file: title ?? part.file?.mimeType ?? part.mediaType ?? 'file' } }] : [];
}

/** By its own shape, whatever the event calls itself. */
function readData(data: unknown, kind: EventFacts['kind']): Said {
  const gemini = readGeminiCall(data);
  if (gemini) {
    const { newer, ...call } = gemini;
    return { type: 'call', call, dialect: 'gemini', newer, camel: true };
  }
  const rfc = readRfcCall(data);
  if (rfc) return { type: 'call', call: rfc, dialect: 'rfc', newer: false, camel: writesCamel(data) };
  if (kind === 'thought' || (isRecord(data) && 'subject' in data)) {
    const parsed = thought.safeParse(data);
    if (parsed.success) {
      const { subject, description } = parsed.data;
      return { type: 'thought', text: [subject ? `**${subject}**` : '', description ?? ''].filter(Boolean).join('\n\n') };
    }
  }
  return { type: 'data', value: data };
}
