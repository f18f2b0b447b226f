/** Milliseconds (qwen.md §6). */
const WINDOW = 600_000;
const WAITS = [1_000, 4_000, 15_000] as const;
/** A start that fails this soon after it began says why on stderr and would do so again. */
const TOO_SOON = 5_000;
/** Exit codes that mean the agent will not do better the next time: input, sandbox, configuration, turn limit, budget. */
const FINAL_CODES: readonly (number | undefined)[] = [42, 44, 52, 53, 55];

/** How often an agent that dies may be started again: three times in ten minutes, each time after a longer wait. */
export class Restarts {
  #at: number[] = [];

  /** Milliseconds to wait before the next start, and which one it is; undefined when it is not to be started again. */
  next(now: number): { readonly wait: number; readonly nth: number } | undefined {
    this.#at = this.#at.filter((at) => now - at < WINDOW);
    const wait = WAITS[this.#at.length];
    if (wait === undefined) return undefined;
    this.#at.push(now);
    return { wait, nth: this.#at.length };
  }
}

/** Whether starting it again may help. */
export function worthRestarting(exit: { readonly code?: number; readonly signal?: string }, lived: number, said: string): boolean {
  if (exit.code === 0 || FINAL_CODES.includes(exit.code)) return false;
  return exit.signal !== undefined || lived >= TOO_SOON || said.trim() === '';
}
