/** Waits for something that may never come: calls back unless it is told that it came. Times are milliseconds. */
export class Overdue {
  #timers: NodeJS.Timeout[] = [];

  /** Calls back after this long, in addition to what is waited for already. */
  after(ms: number, run: () => void): void {
    this.#timers.push(setTimeout(run, ms));
  }

  /** Something was heard: every time begins again. */
  refresh(): void {
    for (const timer of this.#timers) timer.refresh();
  }

  get waits(): boolean {
    return this.#timers.length > 0;
  }

  clear(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
  }
}
