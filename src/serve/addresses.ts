import { statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isWindowsPath } from '../base/fileName.ts';
import { pathOfUri as pathOfFileUri, REMOTE } from '../base/paths.ts';
import type { Changeset } from '../protocols/ahp/state.ts';
import type { TurnId } from '../session/model.ts';

/** One side of one diff of an ask or call. */
export interface ContentPlace {
  readonly sessionId: string;
  /** The ask or the call. */
  readonly owner: string;
  /** The call that an ask is about, which keeps its diffs when the ask is over; '' for none. */
  readonly callId: string;
  readonly at: number;
  readonly side: 'before' | 'after';
  /** As the diff names it. */
  readonly file: string;
}

const SCHEME = 'parley-content:';

/** Returns the address of one side of a diff, under the file's own path (ahp.md §6). */
export function contentUri({ sessionId, owner, callId, at, side, file }: ContentPlace): string {
  return addressOf(SCHEME, [sessionId, owner, callId, String(at), side, file], file);
}

export function contentPlace(uri: string): ContentPlace | undefined {
  const [sessionId, owner, callId, at, side, file] = partsOf(SCHEME, uri);
  if (sessionId === undefined || owner === undefined || callId === undefined || file === undefined) return undefined;
  return side === 'before' || side === 'after' ? { sessionId, owner, callId, at: Number(at), side, file } : undefined;
}

/** One side of a file that an agent has changed: since it was reviewed last, or in one turn. */
export interface ChangedTextPlace {
  readonly sessionId: string;
  readonly turnId: string | undefined;
  readonly side: 'before' | 'after';
  /** Changes with the text. */
  readonly version: string;
  /** Absolute. */
  readonly file: string;
}

const CHANGED = 'parley-changed:';

/** No part is empty. */
const OF_SESSION = 'session';
const OF_TURN = 'turn ';

/** `shown`: the path before a move. */
export function changedTextUri({ sessionId, turnId, side, version, file }: ChangedTextPlace, shown = file): string {
  return addressOf(CHANGED, [sessionId, turnId === undefined ? OF_SESSION : OF_TURN + turnId, side, version, file], shown);
}

export function changedTextPlace(uri: string): ChangedTextPlace | undefined {
  const [sessionId, scope = '', side, version, file] = partsOf(CHANGED, uri);
  if (sessionId === undefined || (side !== 'before' && side !== 'after') || version === undefined || file === undefined) return undefined;
  const turnId = scope.startsWith(OF_TURN) ? scope.slice(OF_TURN.length) : undefined;
  return turnId !== undefined || scope === OF_SESSION ? { sessionId, turnId, side, version, file } : undefined;
}

/**
 * The path is that of the file: VS Code shows it as the diff's title, and two sides with different paths as a file that was renamed (seen). Only
 * the query names the text.
 */
function addressOf(scheme: string, parts: readonly string[], file: string): string {
  return `${scheme}${new URL(fileUri(file)).pathname}?${parts.map(toLetters).join('.')}`;
}

/** Returns the parts of an address; empty for another scheme. */
function partsOf(scheme: string, uri: string): readonly string[] {
  const at = uri.lastIndexOf('?');
  return uri.startsWith(scheme) && at >= 0
    ? uri
        .slice(at + 1)
        .split('.')
        .map(fromLetters)
    : [];
}

/** In letters that no client rewrites: VS Code takes `%2F` for a slash, and two slashes for one (seen). */
function toLetters(text: string): string {
  return Buffer.from(text).toString('base64url');
}
function fromLetters(letters: string): string {
  return Buffer.from(letters, 'base64url').toString();
}

export function fileUri(file: string): string {
  return path.isAbsolute(file) ? pathToFileURL(file).href : `file:///${file.split(/[\\/]/).map(encodeURIComponent).join('/')}`;
}

/**
 * Returns the path of a local file or folder; undefined for one elsewhere. Attachments carry the address of the window's remote, whose path is
 * a local one (ahp.md §4).
 */
export function pathOfUri(uri: string): string | undefined {
  const local = uri.replace(REMOTE, 'file://');
  const found = pathOfFileUri(local);
  if (found === local) return undefined;
  return isWindowsPath(found) === (process.platform === 'win32') ? found : undefined;
}

export function isFolder(name: string): boolean {
  try {
    return path.isAbsolute(name) && statSync(name).isDirectory();
  } catch {
    return false;
  }
}

export function chatUri(sessionId: string): string {
  return `ahp-chat:/${sessionId}`;
}

/** True of a name that VS Code gives a chat of its own: `ahp-chat://<uuid>/<session>`; those of sessions have no authority. */
export function isChatName(uri: string): boolean {
  return /^ahp-chat:\/\/[\w-]{8,64}\/[\w-]{1,400}$/.test(uri);
}

const TERMINAL = 'ahp-terminal:/';

/** True of an address that is that of no other channel: clients name their sessions. */
export function isSessionName(channel: string): boolean {
  // Without a query, an empty part or one that leads upwards: clients build other addresses from it.
  return (
    /^(?!ahp-(?:root|chat|terminal):)[a-z][a-z0-9+.-]*:(?:\/(?!\.{1,2}(?:\/|$))[\w.~%@+=,:-]+)+$/.test(channel) && !channel.includes(MIDDLE)
  );
}

/** Returns the address of a command's output. */
export function terminalUri(sessionId: string, terminalId: string): string {
  return `${TERMINAL}${sessionId}/${toLetters(terminalId)}`;
}

export function terminalPlace(uri: string): { readonly sessionId: string; readonly terminalId: string } | undefined {
  const [sessionId, name, ...more] = uri.startsWith(TERMINAL) ? uri.slice(TERMINAL.length).split('/') : [];
  if (!sessionId || !name || more.length > 0) return undefined;
  return { sessionId, terminalId: fromLetters(name) };
}

const MIDDLE = '/changeset/';

/** Returns a session's changesets; clients build the address of a turn's themselves (docs/protocols/ahp.md §8). */
export function changesetsOf(session: string): readonly Changeset[] {
  return [
    { label: 'Changes to Review', uriTemplate: `${session}${MIDDLE}session`, changeKind: 'session', capabilities: { review: {} } },
    { label: 'Changes of a Turn', uriTemplate: `${session}${MIDDLE}turn/{turnId}`, changeKind: 'turn' },
  ];
}

/** Returns the session and the turn that the address of a changeset names. */
export function changesetPlace(channel: string): { readonly session: string; readonly turnId: TurnId | undefined } | undefined {
  const at = channel.lastIndexOf(MIDDLE);
  const [kind, turnId, ...more] = at < 0 ? [] : channel.slice(at + MIDDLE.length).split('/');
  const session = channel.slice(0, at);
  if (kind === 'session' && turnId === undefined) return { session, turnId };
  return kind === 'turn' && turnId && more.length === 0 ? { session, turnId } : undefined;
}
