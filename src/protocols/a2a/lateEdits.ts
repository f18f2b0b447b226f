import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Calls } from './calls.ts';
import type { Memory } from './memory.ts';
import type { Shown } from './shown.ts';

interface EditScene {
  readonly scene: AdapterContext;
  readonly memory: Memory;
  readonly calls: Calls;
  readonly shown: Shown;
}

/** Proposals the user changed, for a server that cannot be told: their text is written once the call is done (a2a.md §9.4). */
export class LateEdits {
  readonly #deps: EditScene;
  readonly #edits = new Map<string, { readonly path: string; readonly text: string }>();
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: EditScene) {
    this.#deps = deps;
  }

  add(callId: string, path: string, text: string): void {
    this.#edits.set(callId, { path, text });
  }

  /** What the user decides now counts. */
  forget(callId: string): void {
    this.#edits.delete(callId);
  }

  /** Writes what may be written now; settles when everything begun so far is on disk. */
  written(): Promise<void> {
    if (this.#edits.size > 0) this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { scene, memory, calls, shown } = this.#deps;
    for (const [callId, { path, text }] of this.#edits) {
      const status = calls.status(callId);
      if (status === 'failed' || status === 'cancelled') this.#edits.delete(callId);
      if (status !== 'done') continue;
      this.#edits.delete(callId);
      try {
        await scene.ports.files.write(path, text);
        memory.notes.push(`(The user changed your proposal for ${path} before accepting it; the file holds the user's version.)`);
        shown.notice(
          'info',
          t('Your version of {0} was written after the agent’s: this agent cannot be told of changes beforehand.', path),
        );
      } catch (error) {
        shown.notice('error', t('Your version of {0} could not be written: {1}', path, messageOf(error)));
      }
    }
  }
}
