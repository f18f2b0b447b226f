/** What the session and its prompts are called, on both sides (qwen.md §4.1). */
export class Names {
  readonly #onSession: (session: string) => void;
  #session: string;
  #prompts = 0;
  #prompt = '';

  /** `resumed` is what the agent called the session before; `onSession` hears what it calls it now. */
  constructor(resumed: string | undefined, onSession: (session: string) => void) {
    this.#session = resumed ?? '_new';
    this.#onSession = onSession;
  }

  get session(): string {
    return this.#session;
  }

  /** Empty as long as the agent has not said a name. */
  get sessionIfTold(): string {
    return this.#session === '_new' ? '' : this.#session;
  }

  /** What the newest prompt was called when it was sent: an agent that names the session later knows it by that. */
  get prompt(): string {
    return this.#prompt;
  }

  /** Whether anything was asked yet. */
  get begun(): boolean {
    return this.#prompts > 0;
  }

  /** What the agent calls the session wins. */
  adopt(session: string): void {
    if (session === '' || session === '_new' || session === this.#session) return;
    this.#session = session;
    this.#onSession(session);
  }

  nextPrompt(): void {
    this.#prompts += 1;
    this.#prompt = `${this.#session}########${this.#prompts}`;
  }

  /** One of the prompts before the running one, by the name we gave it. */
  isEarlier(prompt: string | null | undefined): boolean {
    const told = prompt == null ? undefined : /########(\d+)$/.exec(prompt)?.[1];
    return told !== undefined && Number(told) < this.#prompts;
  }
}
