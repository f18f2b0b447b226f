import * as z from 'zod/mini';
import { readJson } from '../base/json.ts';
import { decodedUri } from '../base/paths.ts';
import { fenced, inOneLine } from '../base/promptText.ts';
import { linesOfSelection } from '../protocols/ahp/codec.ts';
import type { Content } from '../session/model.ts';
import { type ChangedTextPlace, type ContentPlace, changedTextPlace, contentPlace, pathOfUri } from './addresses.ts';

/** Attachments of one message whose texts are read, and most UTF-16 units of one. */
const MOST_TEXTS = 20;
const LONGEST_TEXT = 64 * 1024;
const LONGEST_LABEL = 200;

const WRAPPED = /^vscode-agent-host:\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/i;
const wrapped = z.looseObject({ scheme: z.optional(z.string()), authority: z.optional(z.string()), query: z.optional(z.string()) });

/** VS Code names what a host has shown it, files and texts, by addresses of its own around those of the host (docs/protocols/ahp.md §4). */
function unwrapped(uri: string): string {
  const [all, path = '/', query = ''] = WRAPPED.exec(uri) ?? [];
  if (all === undefined) return uri;
  const given = new URLSearchParams(decodedUri(query) ?? query).get('_ah');
  const parsed = wrapped.safeParse(given === null ? {} : readJson(Buffer.from(given, 'base64url').toString()));
  if (!parsed.success) return uri;
  const { scheme = 'file', authority = '', query: inner = '' } = parsed.data;
  if (!/^[a-z][a-z0-9+.-]*$/i.test(scheme)) return uri;
  return `${scheme}:${authority || scheme === 'file' ? `//${authority}` : ''}${path}${inner === '' ? '' : `?${inner}`}`;
}

/** Returns the addresses of this host's own texts among those that a message attaches, each as it came and as the host knows it. */
export function textsAmong(uris: readonly string[]): readonly (readonly [given: string, own: string])[] {
  const all = [...new Set(uris)].map((uri) => [uri, unwrapped(uri)] as const);
  return all.filter(([, own]) => placeOf(own) !== undefined).slice(0, MOST_TEXTS);
}

/** An attachment of a message, as a client sends it. */
interface Attachment {
  readonly uri?: string | undefined;
  readonly label?: string | undefined;
  readonly data?: string | undefined;
  readonly contentType?: string | undefined;
  readonly modelRepresentation?: string | undefined;
  readonly selection?: unknown;
}

/** Returns what an attachment is for an agent; undefined for one that holds nothing. */
export function attachedContent(one: Attachment, texts: ReadonlyMap<string, string>): Content | undefined {
  const { uri, data, contentType: mime = '', modelRepresentation } = one;
  const label = labelOf(one.label || mime || 'text/plain');
  if (data !== undefined && mime.startsWith('image/')) return { type: 'image', mime, data };
  if (data !== undefined && mime.startsWith('text/')) return { type: 'text', text: Buffer.from(data, 'base64').toString('utf8'), label };
  if (uri !== undefined) return addressedContent({ ...one, uri }, texts);
  return modelRepresentation === undefined ? undefined : { type: 'text', text: modelRepresentation, label };
}

/** Returns a path that the agent can read, the text itself, or words that say what it is. */
function addressedContent(
  { uri, label, modelRepresentation, selection }: Attachment & { readonly uri: string },
  texts: ReadonlyMap<string, string>,
): Content {
  const own = unwrapped(uri);
  const path = pathOfUri(own);
  const lines = linesOfSelection(selection);
  if (path !== undefined) return { type: 'file', path, ...(lines ? { lines } : {}) };
  const place = placeOf(own);
  const name = labelOf(label ?? nameIn(own));
  const text = texts.get(uri);
  if (place && text !== undefined) {
    const cut = text.length > LONGEST_TEXT ? `, its first ${LONGEST_TEXT} characters` : '';
    const words = `[Attached: ${name}, ${decodedUri(nameIn(own)) ?? nameIn(own)} ${place.side} a change of this conversation${cut}]`;
    return { type: 'text', text: `${words}\n${fenced(text.slice(0, LONGEST_TEXT))}`, label: name };
  }
  if (modelRepresentation !== undefined) return { type: 'text', text: modelRepresentation, label: name };
  // Of a change that was not made nothing is kept.
  if (place) return { type: 'file', path: place.file };
  if (!WRAPPED.test(uri)) return { type: 'link', uri, ...(label === undefined ? {} : { title: label }) };
  return { type: 'text', text: `[Attached: ${name}. Its text cannot be read here.]`, label: name };
}

function labelOf(text: string): string {
  return inOneLine(text).slice(0, LONGEST_LABEL);
}

function placeOf(uri: string): ChangedTextPlace | ContentPlace | undefined {
  return changedTextPlace(uri) ?? contentPlace(uri);
}

function nameIn(uri: string): string {
  return /([^/?#]*)\/?(?:[?#]|$)/.exec(uri)?.[1] || uri;
}
