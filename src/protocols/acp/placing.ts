import type { SessionEvent } from '../../session/events.ts';
import type { Diff } from '../../session/model.ts';
import type { Files } from '../ports.ts';
import { type CallState, isFinal, unplaced, untold } from './calls.ts';
import { type Current, locate } from './diffs.ts';
import type { TurnMemory } from './turns.ts';

/** Compares the edits of calls with the files they are about, and tells what was found. Reading takes a moment; updates do not wait for it. */
export class Placing {
  readonly #files: Files;
  readonly #emit: (event: SessionEvent) => void;
  readonly #running = new Set<Promise<void>>();

  constructor(files: Files, emit: (event: SessionEvent) => void) {
    this.#files = files;
    this.#emit = emit;
  }

  start(turn: TurnMemory, call: CallState): void {
    if (unplaced(call).length > 0) this.#run(this.#place(turn, call));
  }

  /** Settles when nothing is being read any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #place(turn: TurnMemory, call: CallState): Promise<void> {
    for (const [path, edit] of unplaced(call)) {
      edit.placed = true;
      const current = await this.#read(path);
      const found = locate(edit.items, current, isFinal(call.status));
      if (isWhole(found) || !isWhole(edit.diffs)) edit.diffs = found;
      // The agent has said something newer about this path meanwhile; a question about the older is open perhaps.
      if (call.edits.get(path) !== edit) continue;
      const changed = untold(call);
      if (changed) this.#emit({ type: 'call.changed', turnId: turn.id, callId: call.id, change: changed });
    }
  }

  /** The agent wrote through us, so both sides are known for certain. */
  wrote(turn: TurnMemory, call: CallState, diff: Diff): void {
    const first = call.edits.get(diff.path)?.diffs;
    const start = first && isWhole(first) && first[0] ? first[0].before : diff.before;
    call.edits.set(diff.path, { items: [], diffs: [{ ...diff, before: start }], placed: true });
    const changed = untold(call);
    if (changed) this.#emit({ type: 'call.changed', turnId: turn.id, callId: call.id, change: changed });
  }

  #run(work: Promise<void>): void {
    const entry = work.finally(() => this.#running.delete(entry));
    this.#running.add(entry);
  }

  async #read(path: string): Promise<Current> {
    try {
      return await this.#files.read(path);
    } catch (error) {
      return (error as { readonly code?: unknown }).code === 'ENOENT' ? null : undefined;
    }
  }
}

function isWhole(diffs: readonly Diff[]): boolean {
  return diffs.length > 0 && diffs.every((diff) => !diff.excerpt);
}
