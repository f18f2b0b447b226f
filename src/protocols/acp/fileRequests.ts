import { access } from 'node:fs/promises';
import path from 'node:path';
import { KeyedQueue } from '../../base/keyedQueue.ts';
import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import { mergedInto } from '../../session/merge.ts';
import type { Approval, Diff } from '../../session/model.ts';
import { looksOutside, type Place, placeOf, realPathNow } from '../paths.ts';
import type { Files } from '../ports.ts';
import { readTextFile } from '../textFile.ts';
import type { OpenAsks } from './asks.ts';
import { INTERNAL, INVALID_PARAMS, NOT_FOUND, refusal } from './faults.ts';
import type { Quirks } from './quirks.ts';
import { ReadTexts } from './readTexts.ts';
import type { Turns } from './turns.ts';

export interface FileScene {
  readonly files: Files;
  readonly asks: OpenAsks;
  /** The session's folders. */
  readonly roots: () => readonly string[];
  readonly quirks: () => Quirks;
  /** What the user has allowed, rejected and stopped. */
  readonly turns: Pick<Turns, 'current' | 'stopped'>;
  /** A file was written: the call that did it may show it. */
  readonly wrote: (diff: Diff) => void;
}

/** fs/read_text_file and fs/write_text_file (acp.md §10.1-§10.3). Outside the session's folders a user is asked first. */
export class FileRequests {
  readonly #scene: FileScene;
  /** Folders outside that the user let the agent read in, or not. */
  readonly #outside = new Map<string, boolean>();
  readonly #read = new ReadTexts();
  readonly #inTurn = new KeyedQueue();

  constructor(scene: FileScene) {
    this.#scene = scene;
  }

  async read(
    request: { readonly path: string; readonly line?: number | null | undefined; readonly limit?: number | null | undefined },
    signal: AbortSignal,
  ): Promise<{ content: string }> {
    const place = await this.#place(request.path);
    // Nothing is read before the user has answered. That a file is missing is told at once: agents look for one name after the other (acp.md §10.1).
    if (place === 'outside' && (await isThere(request.path)) && !(await this.#mayRead(request.path, signal))) {
      throw refusal(INTERNAL, `The user did not allow reading outside the workspace: ${request.path}`);
    }
    const text = await this.#text(request.path);
    if (text === null) {
      if (this.#scene.quirks().missingFileIsEmpty) return { content: '' };
      throw refusal(NOT_FOUND, `Resource not found: ${request.path}`, { uri: request.path });
    }
    this.#read.note(realPathNow(path.resolve(request.path)), plain(text));
    return { content: slice(text, request.line ?? undefined, request.limit ?? undefined) };
  }

  /** One write of a file after the other: agents do not wait for their answers. */
  write(request: { readonly path: string; readonly content: string }, signal: AbortSignal): Promise<Record<string, never>> {
    const target = path.resolve(request.path);
    return this.#inTurn.run(realPathNow(target), () => this.#write(target, request, signal));
  }

  async #write(
    target: string,
    request: { readonly path: string; readonly content: string },
    signal: AbortSignal,
  ): Promise<Record<string, never>> {
    const place = await this.#place(request.path);
    const before = await this.#text(target);
    this.#refuseWhenStopped(request.path);
    // A file that is there keeps its own mark.
    const content = before === null ? request.content : request.content.replace(/^\uFEFF/, '');
    if (before === content && (await onDisk(target)) === plain(content)) return {};
    // Such an agent writes itself; only what the editor holds unsaved has to learn of it.
    if (this.#scene.quirks().mirrorsWrites && place !== 'inside') return {};
    const refused = this.#scene.turns.current?.refused;
    const refusedPath = await refused?.pathOf(target);
    const mustAsk = refusedPath !== undefined || (place !== 'inside' && !this.#wasShown(target, place, content));
    if (mustAsk && !(await this.#mayWrite(target, refusedPath === undefined ? place : 'refused', before, content, signal))) {
      refused?.addWrite(target);
      throw refusal(INTERNAL, `The user did not allow writing ${request.path}`);
    }
    if (refusedPath !== undefined) refused?.remove([{ type: 'edit', diffs: [{ path: refusedPath, before, after: content }] }], target);
    const text = await this.#merged(target, before, content, signal);
    this.#refuseWhenStopped(request.path);
    try {
      await this.#scene.files.write(target, text, before ?? undefined);
    } catch (error) {
      throw refusal(INTERNAL, `Writing ${request.path} failed: ${messageOf(error)}`);
    }
    this.#read.note(realPathNow(target), plain(content));
    this.#scene.wrote({ path: target, before: before === null ? null : plain(before), after: plain(text) });
    return {};
  }

  #refuseWhenStopped(target: string): void {
    // What such an agent mirrors it has written already.
    if (this.#scene.turns.stopped && !this.#scene.quirks().mirrorsWrites)
      throw refusal(INTERNAL, `The user has stopped this: ${target} was not written.`);
  }

  /**
   * The agent sends the whole file as it wants it. What the user has changed since the agent saw it stays; where both changed the same lines,
   * the user decides (acp.md §10.2).
   */
  async #merged(target: string, present: string | null, wanted: string, signal: AbortSignal): Promise<string> {
    if (present === null) return wanted;
    const saved = await onDisk(target);
    const [now, then] = [plain(present), plain(wanted)];
    // An agent that reads and writes the disk itself knows what is there; when it has written already, nobody knows what it started from.
    const base = this.#read.of(realPathNow(target)) ?? (saved === then ? undefined : saved);
    if (base === now || (base === undefined && (saved === undefined || saved === now || now === then))) return wanted;
    const merged = base === undefined ? undefined : mergedInto(now, base, then);
    if (merged !== undefined) return merged;
    if (await this.#mayReplace(target, now, then, signal)) return wanted;
    throw refusal(INTERNAL, `The user has changed ${target} meanwhile and kept that. Read it again.`);
  }

  /** The user saw that exactly this goes outside. What a link leads outside, and what steers the editor, is always asked about by its own. */
  #wasShown(target: string, place: Place, content: string): boolean {
    const allowed =
      place === 'outside' && looksOutside(target, this.#scene.roots()) ? this.#scene.turns.current?.allowed.get(target) : undefined;
    return allowed !== undefined && plain(allowed) === plain(content);
  }

  /** True when one of these paths plainly goes outside: what the user is to be told with it, for allowing it allows that. */
  async goOutside(paths: readonly string[]): Promise<boolean> {
    const roots = this.#scene.roots();
    for (const one of paths) {
      if (!path.isAbsolute(one) || !looksOutside(path.resolve(one), roots)) continue;
      if ((await placeOf(one, roots).catch(() => undefined)) === 'outside') return true;
    }
    return false;
  }

  async #place(target: string): Promise<Place> {
    try {
      return await placeOf(target, this.#scene.roots());
    } catch (error) {
      throw refusal(INVALID_PARAMS, messageOf(error));
    }
  }

  async #text(target: string): Promise<string | null> {
    try {
      const text = await this.#scene.files.read(target);
      if (text.slice(0, 8192).includes('\0')) throw new Error('this is not a text file');
      return text.startsWith('\uFEFF') ? text.slice(1) : text;
    } catch (error) {
      const code = (error as { readonly code?: unknown }).code;
      if (code === 'ENOENT' || code === 'ENOTDIR') return null;
      throw refusal(INTERNAL, `Reading ${target} failed: ${messageOf(error)}`);
    }
  }

  async #mayRead(target: string, signal: AbortSignal): Promise<boolean> {
    const folder = path.dirname(path.resolve(target));
    const known = this.#outside.get(folder);
    if (known !== undefined) return known;
    const allowed = await this.#ask(
      {
        title: t('Read a file outside the workspace'),
        toolKind: 'read',
        detail: { type: 'text', text: target },
        options: [
          { id: 'allow', label: t('Allow reading in this folder'), effect: 'allow_always' },
          { id: 'reject', label: t('Reject'), effect: 'reject_once' },
        ],
      },
      signal,
    );
    if (allowed !== undefined) this.#outside.set(folder, allowed);
    return allowed ?? false;
  }

  async #mayWrite(target: string, why: Place | 'refused', before: string | null, after: string, signal: AbortSignal): Promise<boolean> {
    const title =
      why === 'refused'
        ? t('Write a file whose change you have rejected before')
        : why === 'guarded'
          ? t('Write a file that steers the editor or the version control')
          : t('Write a file outside the workspace');
    const diffs = [{ path: target, before: before === null ? null : plain(before), after: plain(after) }];
    const options = [
      // Not an option that rules of the user may choose: those are about the workspace.
      { id: 'allow', label: t('Allow this write'), effect: 'allow_always' },
      { id: 'reject', label: t('Reject'), effect: 'reject_once' },
    ] as const;
    return (await this.#ask({ title, toolKind: 'edit', detail: { type: 'edit', diffs }, options }, signal)) ?? false;
  }

  async #mayReplace(target: string, before: string, after: string, signal: AbortSignal): Promise<boolean> {
    const options = [
      { id: 'allow', label: t("Take the agent's text"), effect: 'allow_always' },
      { id: 'reject', label: t('Keep what is there'), effect: 'reject_once' },
    ] as const;
    const title = t('This file was changed where the agent changes it, too');
    const detail = { type: 'edit', diffs: [{ path: target, before, after }] } as const;
    return (await this.#ask({ title, toolKind: 'edit', detail, options }, signal)) ?? false;
  }

  /** undefined when nobody answered. */
  #ask(what: Omit<Approval, 'kind' | 'id' | 'turnId'>, signal: AbortSignal): Promise<boolean | undefined> {
    const turnId = this.#scene.turns.current?.id;
    return this.#scene.asks.ask<boolean | undefined>(
      {
        ask: (id) => ({ kind: 'approval', id, ...(turnId === undefined ? {} : { turnId }), ...what, wordless: true, ours: true }),
        reply: (answer) => answer.kind === 'option' && answer.optionId === 'allow',
        cancelled: undefined,
      },
      signal,
    );
  }
}

/** Whole lines with their ends, from a 1-based line on; past the end there is nothing. */
export function slice(text: string, line: number | undefined, limit: number | undefined): string {
  if (line === undefined && limit === undefined) return text;
  let from = 0;
  for (let skip = Math.max(0, Math.floor(line ?? 1) - 1); skip > 0; skip--) {
    const end = text.indexOf('\n', from);
    if (end < 0) return '';
    from = end + 1;
  }
  if (limit === undefined) return text.slice(from);
  let to = from;
  for (let left = Math.max(0, Math.floor(limit)); left > 0 && to < text.length; left--) {
    const end = text.indexOf('\n', to);
    to = end < 0 ? text.length : end + 1;
  }
  return text.slice(from, to);
}

function isThere(target: string): Promise<boolean> {
  return access(target).then(
    () => true,
    () => false,
  );
}

/** The text that is saved, without its mark and with plain line ends; undefined when there is none. */
function onDisk(target: string): Promise<string | undefined> {
  return readTextFile(target).then(
    (text) => plain(text.replace(/^\uFEFF/, '')),
    () => undefined,
  );
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
