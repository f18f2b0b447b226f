import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { KeyedQueue } from '../../base/keyedQueue.ts';
import { type Log, reasonOf } from '../../base/log.ts';

/** A longer text is there until the window closes only. */
const LONGEST = 8_000_000;
/** Bounds of the whole folder; the latest texts stay. */
const MOST_TEXTS = 100;
const MOST_BYTES = 50_000_000;
/** Characters of the name of a proposal, before the text that was made of it. */
const NAME_LENGTH = 32;
/** A window that has not come back within this time comes back without its text. */
const OLDEST_MS = 30 * 24 * 3_600_000;

export interface SavedText {
  readonly bytes: Uint8Array;
  /** True where the user has made it of this proposal. */
  isOf(proposal: Uint8Array): boolean;
}

/**
 * What the editor has saved of proposals that the user edits, on the disk until the question is over. The editor backs up only what is not saved: with
 * auto save on, a reload would lose it.
 */
export class SavedTexts {
  readonly #folder: string;
  readonly #log: Log;
  readonly #queue = new KeyedQueue();
  #isTold = false;

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Read at once: the editor may be waiting for the text. */
  read(uri: vscode.Uri): SavedText | undefined {
    try {
      const content = readFileSync(this.#fileOf(uri));
      const name = content.toString('latin1', 0, NAME_LENGTH);
      return { bytes: content.subarray(NAME_LENGTH), isOf: (proposal) => hashOf(proposal) === name };
    } catch {
      return undefined;
    }
  }

  /** Settles once the text that the user has made of a proposal is on the disk, or cannot be: then it is there as long as the window. */
  write(uri: vscode.Uri, bytes: Uint8Array, proposal: Uint8Array): Promise<void> {
    if (bytes.length > LONGEST) {
      this.#log.warn(`An edited proposal is too long to be kept over a reload: ${uri.path}`);
      return this.remove(uri);
    }
    const file = this.#fileOf(uri);
    return this.#queue.run(file, async () => {
      try {
        await mkdir(this.#folder, { recursive: true, mode: 0o700 });
        await writeFile(`${file}.new`, Buffer.concat([Buffer.from(hashOf(proposal)), bytes]), { mode: 0o600 });
        await rename(`${file}.new`, file);
        await this.#bound();
      } catch (error) {
        this.#tell(uri, error);
        // The text before would be taken for this one.
        await rm(file, { force: true }).catch(() => undefined);
      }
    });
  }

  /** The user once: with auto save on, the next one would follow within a second. */
  #tell({ path: proposed }: vscode.Uri, error: unknown): void {
    this.#log.error(`An edited proposal could not be kept for a reload: ${proposed}`, error);
    if (this.#isTold) return;
    this.#isTold = true;
    const title = `${path.posix.basename(proposed)} (${vscode.l10n.t('proposed')})`;
    void vscode.window.showWarningMessage(vscode.l10n.t('{0} could not be written: {1}', title, reasonOf(error)));
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
    return path.join(this.#folder, hashOf(uri.toString()));
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, NAME_LENGTH);
}
