import * as z from 'zod/mini';
import { readJson } from '../base/json.ts';
import { decodedUri } from '../base/paths.ts';
import { fenced, inOneLine } from '../base/promptText.ts';
import type { Content } from '../session/model.ts';
import { changedTextPlace, contentPlace, pathOfUri } from './addresses.ts';

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
  return all.filter(([, own]) => sideOf(own) !== undefined).slice(0, MOST_TEXTS);
}

/** Returns what an attachment with an address is for an agent: a path that it can read, the text itself, or words that say what it is. */
export function attachedContent(
  {
    uri,
    label,
    modelRepresentation,
  }: { readonly uri: string; readonly label?: string | undefined; readonly modelRepresentation?: string | undefined },
  texts: ReadonlyMap<string, string>,
): Content {
  const own = unwrapped(uri);
  const path = pathOfUri(own);
  if (path !== undefined) return { type: 'file', path };
  const side = sideOf(own);
  const name = inOneLine(label ?? nameIn(own)).slice(0, LONGEST_LABEL);
  const text = texts.get(uri);
  if (side && text !== undefined) {
    const cut = text.length > LONGEST_TEXT ? `, its first ${LONGEST_TEXT} characters` : '';
    const words = `[Attached: ${name}, ${decodedUri(nameIn(own)) ?? nameIn(own)} ${side} a change of this conversation${cut}]`;
    return { type: 'text', text: `${words}\n${fenced(text.slice(0, LONGEST_TEXT))}` };
  }
  if (modelRepresentation !== undefined) return { type: 'text', text: modelRepresentation };
  if (!WRAPPED.test(uri) && !side) return { type: 'link', uri, ...(label === undefined ? {} : { title: label }) };
  return { type: 'text', text: `[Attached: ${name}. Its text cannot be read here.]` };
}

function sideOf(uri: string): 'before' | 'after' | undefined {
  return (changedTextPlace(uri) ?? contentPlace(uri))?.side;
}

function nameIn(uri: string): string {
  return /([^/?#]*)\/?(?:[?#]|$)/.exec(uri)?.[1] || uri;
}
