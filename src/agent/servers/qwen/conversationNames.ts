import { promptName, readPromptName } from '../../../protocols/qwen/codec.ts';

/** The client's names for the conversation and its prompts (docs/protocols/qwen.md §4.1). */
export class ConversationNames {
  #session: string;
  /** Another name the client gave it before it was told ours. */
  #alias: string | undefined;
  #prompt = '';
  #prompts = 0;

  constructor(session: string) {
    this.#session = session;
  }

  get session(): string {
    return this.#session;
  }

  /** The newest prompt that was taken. */
  get prompt(): string {
    return this.#prompt;
  }

  /** True for the name of another conversation; `_new` and an absent name never are. */
  isForeign(session: unknown): boolean {
    return typeof session === 'string' && session !== '' && session !== '_new' && session !== this.#session && session !== this.#alias;
  }

  call(alias: string): void {
    this.#alias = alias;
  }

  /** Another conversation begins. */
  startOver(session: string): void {
    this.#session = session;
    this.#alias = undefined;
    this.#prompts = 0;
    this.#prompt = '';
  }

  /** A prompt is taken; one that the client has not named is counted. */
  take(given: unknown): void {
    this.#prompts += 1;
    this.#prompt = typeof given === 'string' && given !== '' ? given : promptName(this.#session, this.#prompts);
  }

  /** Whether a cancel of `given` is one of the newest prompt; a client may have named it before it knew the session. */
  isNewest(given: unknown): boolean {
    if (typeof given !== 'string' || given === '') return true;
    return this.#known(given) === this.#known(this.#prompt);
  }

  #known(prompt: string): string {
    const name = readPromptName(prompt);
    const isOurs = name && (name.session === '_new' || name.session === this.#session || name.session === this.#alias);
    return isOurs ? promptName('', name.count) : prompt;
  }
}
