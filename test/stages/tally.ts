/** Counts what passed and what failed over all stages, and remembers the names of what failed. */
export class Tally {
  #passed = 0;
  readonly #failed: string[] = [];
  readonly #unsteady: string[] = [];
  readonly #passedAgain = new Set<string>();

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

  /** A test that failed and is run a second time, which decides. */
  unsteady(name: string, detail: string): void {
    this.#unsteady.push(name);
    console.log(`again   ${name}`);
    console.log(detail.trimEnd().replaceAll(/^/gm, '        '));
  }

  /** A test of the second run that passed; it is named at the end if it had failed at first. */
  passAgain(name: string): void {
    this.#passedAgain.add(name);
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
    const passedThen = this.#unsteady.filter((name) => this.#passedAgain.has(name));
    if (passedThen.length > 0)
      console.log(`\nFailed at first, passed when run again:\n${passedThen.map((name) => `  ${name}`).join('\n')}`);
    if (this.#failed.length > 0) console.log(`\nFailed:\n${this.#failed.map((name) => `  ${name}`).join('\n')}`);
    if (this.#passed + this.#failed.length === 0) this.fail('no test ran');
    console.log(`${this.#passed} passed, ${this.#failed.length} failed`);
    return this.#failed.length === 0 ? 0 : 1;
  }
}
