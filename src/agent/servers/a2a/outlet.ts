import { EXTENSION } from '../../../protocols/a2a/schema.ts';
import type { Task } from './tasks.ts';
import type { Json, Part, State } from './wire.ts';

/** Kinds of DevelopmentToolEvent (docs/protocols/a2a.md §6). */
export type Kind = 'TOOL_CALL_CONFIRMATION' | 'TOOL_CALL_UPDATE' | 'TEXT_CONTENT' | 'STATE_CHANGE' | 'THOUGHT';

/** What a turn says goes to the task it runs in, as events of the extension. */
export class Outlet {
  readonly #model: string;
  #task: Task | undefined;
  #isSuspended = false;

  /** `model`: the name told with every event. */
  constructor(model: string) {
    this.#model = model;
  }

  get task(): Task | undefined {
    return this.#task;
  }
  /** A user has to decide before anything goes on. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  begin(task: Task): void {
    this.#task = task;
    this.#isSuspended = false;
    this.#tell('STATE_CHANGE', 'working', []);
  }
  text(text: string): void {
    this.#tell('TEXT_CONTENT', 'working', [{ text }]);
  }
  data(kind: Kind, data: Json): void {
    this.#tell(kind, 'working', [{ data }]);
  }
  suspend(): void {
    this.#isSuspended = true;
    this.#tell('STATE_CHANGE', 'input-required', [], true);
  }
  resume(): void {
    this.#isSuspended = false;
  }
  end(state: State, error?: string): void {
    this.#isSuspended = false;
    this.#tell('STATE_CHANGE', state, error === undefined ? [] : [{ text: error }], true, error);
  }

  #tell(kind: Kind, state: State, parts: readonly Part[], final = false, error?: string): void {
    const event = { kind, model: this.#model, ...(error === undefined ? {} : { error }) };
    this.#task?.tell(state, parts, { [EXTENSION]: event }, final);
  }
}
