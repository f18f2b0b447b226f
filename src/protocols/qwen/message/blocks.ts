import type { Block } from './schema.ts';

/** A block that is shown and may still grow. */
export interface Live {
  readonly kind: 'text' | 'thought' | 'call';
  /** Part or call. */
  readonly id: string;
  text: string;
}

/**
 * The blocks of one speaker (the agent, or one sub-agent) that are not final yet (qwen.md §3.7). Indexes start over inside a message, so an
 * index only says which block was begun under it last.
 */
export class Lane {
  #open: Live[] = [];
  #byIndex = new Map<number, Live>();
  /** What was finished under a message id: the same again is no news. */
  #finished = new Map<string, Set<string>>();

  /** A new model round. */
  restart(): void {
    this.#open = [];
    this.#byIndex.clear();
  }

  begin(index: number, live: Live): Live {
    this.#open.push(live);
    this.#byIndex.set(index, live);
    return live;
  }

  at(index: number): Live | undefined {
    return this.#byIndex.get(index);
  }

  /** The block that this final one completes: the oldest open one of its kind, a call by its id. It is open no more. */
  finish(kind: Live['kind'], id: string | undefined): Live | undefined {
    const at = this.#open.findIndex((live) => live.kind === kind && (id === undefined || live.id === id));
    return at < 0 ? undefined : this.#open.splice(at, 1)[0];
  }

  /** True when this text was finished before under the same message. */
  repeats(messageId: string | null | undefined, block: Block): boolean {
    if (!messageId) return false;
    const key = `${block.type}:${block.text ?? block.thinking ?? block.id ?? ''}`;
    const known = this.#finished.get(messageId);
    if (!known) this.#finished.set(messageId, new Set([key]));
    else if (known.has(key)) return true;
    else known.add(key);
    if (this.#finished.size > 50) this.#finished.delete(this.#finished.keys().next().value ?? '');
    return false;
  }
}
