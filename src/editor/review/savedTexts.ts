import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type * as vscode from 'vscode';
import { KeyedQueue } from '../../base/keyedQueue.ts';

/** A longer text is there until the window closes only. */
const LONGEST = 8_000_000;
/** Bounds of the whole folder; the latest texts stay. */
const MOST_TEXTS = 100;
const MOST_BYTES = 50_000_000;
/** A window that has not come back within this time comes back without its text. */
const OLDEST_MS = 30 * 24 * 3_600_000;

/**
 * What the editor has saved of proposals that the user edits, on the disk until the question is over. The editor backs up only what is not saved: with
 * auto save on, a reload would lose it.
 */
export class SavedTexts {
  readonly #folder: string;
  readonly #queue = new KeyedQueue();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Read at once: the editor may be waiting for the text. */
  read(uri: vscode.Uri): Uint8Array | undefined {
    try {
      return readFileSync(this.#fileOf(uri));
    } catch {
      return undefined;
    }
  }

  /** Settles once the text is on the disk, or cannot be: then it is there as long as the window. */
  write(uri: vscode.Uri, bytes: Uint8Array): Promise<void> {
    if (bytes.length > LONGEST) return this.remove(uri);
    const file = this.#fileOf(uri);
    return this.#queue.run(file, async () => {
      try {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 });
        await writeFile(`${file}.new`, bytes, { mode: 0o600 });
        await rename(`${file}.new`, file);
        await this.#bound();
      } catch {
        // The text before would be taken for this one.
        await rm(file, { force: true }).catch(() => undefined);
      }
    });
  }

  remove(uri: vscode.Uri): Promise<void> {
    const file = this.#fileOf(uri);
    return this.#queue.run(file, () => rm(file, { force: true }).catch(() => undefined));
  }

  /** Removes what windows that were never opened again have left. */
  async #bound(): Promise<void> {
    const files = await Promise.all(
      (await readdir(this.#folder)).map(async (name) => {
        const file = path.join(this.#folder, name);
        const { mtimeMs = 0, size = 0 } = (await stat(file).catch(() => undefined)) ?? {};
        return { file, at: mtimeMs, size };
      }),
    );
    let bytes = 0;
    for (const [count, { file, at, size }] of files.toSorted((a, b) => b.at - a.at).entries()) {
      bytes += size;
      if (count >= MOST_TEXTS || bytes > MOST_BYTES || Date.now() - at > OLDEST_MS) await rm(file, { force: true });
    }
  }

  #fileOf(uri: vscode.Uri): string {
    return path.join(this.#folder, createHash('sha256').update(uri.toString()).digest('hex').slice(0, 32));
  }
}
