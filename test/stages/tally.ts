/** Counts what passed and what failed over all stages, and remembers the names of what failed. */
export class Tally {
  #passed = 0;
  readonly #failed: string[] = [];

  get passed(): number {
    return this.#passed;
  }

  get failed(): readonly string[] {
    return this.#failed;
  }

  pass(): void {
    this.#passed += 1;
  }

  fail(name: string, detail?: string): void {
    this.#failed.push(name);
    console.log(`not ok  ${name}`);
    if (detail) console.log(detail.trimEnd().replaceAll(/^/gm, '        '));
  }

  /** Runs one step that counts as a test of its own. False when it threw. */
  async step(name: string, run: () => Promise<unknown> | unknown): Promise<boolean> {
    const began = performance.now();
    try {
      await run();
    } catch (error) {
      this.fail(name, error instanceof Error ? error.message : String(error));
      return false;
    }
    this.pass();
    console.log(`ok      ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    return true;
  }

  /** Prints what failed and, as the very last line, the sum. The exit code. */
  close(): number {
    if (this.#failed.length > 0) console.log(`\nFailed:\n${this.#failed.map((name) => `  ${name}`).join('\n')}`);
    if (this.#passed + this.#failed.length === 0) this.fail('no test ran');
    console.log(`${this.#passed} passed, ${this.#failed.length} failed`);
    return this.#failed.length === 0 ? 0 : 1;
  }
}
