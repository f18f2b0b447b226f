import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { commandTitle } from './commandTitle.ts';

export interface PickChoice<T> extends vscode.QuickPickItem {
  readonly value: T;
  /** A description that arrives while the list is open; undefined when there is none. */
  readonly late?: Promise<string | undefined>;
}
export interface PickOptions {
  readonly title: string;
  readonly placeholder?: string;
  readonly signal?: AbortSignal;
  /** Keeps the answered input on the screen, and the keyboard in it, until then. */
  readonly until?: () => Promise<void>;
}
/** How long inputs that follow each other are on the screen: none after `signal`, and the last one, once answered, `until` then. */
export type InputsShown = Required<Pick<PickOptions, 'signal' | 'until'>>;
/** A place in a sequence of three inputs; `back` is the result when the user goes back. */
export interface StepOptions<T> {
  readonly step?: 1 | 2 | 3;
  readonly back?: T;
}
export interface ListOptions<T> extends PickOptions, StepOptions<T> {
  /** The whole list; it begins with the rows shown first, so that nothing moves while the user chooses. Never rejects. */
  readonly whole?: Promise<readonly PickChoice<T>[]>;
}
export interface InputOptions extends PickOptions, StepOptions<string> {
  readonly value?: string;
  readonly prompt?: string;
  readonly password?: boolean;
  /** Returns an error message for unacceptable text. */
  readonly check?: (text: string) => string | undefined;
  /** Shows a hint about the current text, as often as more is known of it; undefined for none. */
  readonly hint?: (text: string, show: (hint: string | undefined) => void) => void;
  /** Receives what was typed when `signal` takes the input away. */
  readonly withdrawn?: (typed: string) => void;
}

type StepInput = vscode.QuickInput & {
  onDidAccept: vscode.Event<void>;
  buttons: readonly vscode.QuickInputButton[];
  readonly onDidTriggerButton: vscode.Event<vscode.QuickInputButton>;
};

/** Returns the keyboard to where it was. */
type RestoreFocus = () => Promise<void>;
const NOWHERE = (): RestoreFocus | undefined => undefined;

/** Parley's own quick inputs. The editor shows one at a time, so those that appear by themselves wait until `busy` is false. */
export class QuickInputs implements Disposable {
  readonly #life = new Lifetime();
  readonly #free = this.#life.own(new Emitter<void>());
  readonly onFree = this.#free.listen;
  /** Tells where the keyboard is. The editor returns it to its own parts only, never to a webview. */
  readonly #origin: () => RestoreFocus | undefined;
  /** Where the keyboard was before the first of the inputs that follow each other. */
  #back: RestoreFocus | undefined;
  /** The same for an input that was closed without an answer; only Esc leads back from there. */
  #afterDismissal: RestoreFocus | undefined;
  #open = 0;

  constructor(origin = NOWHERE) {
    this.#origin = origin;
  }

  get busy(): boolean {
    return this.#open > 0;
  }

  /** Undefined when nothing was chosen. */
  pick<T>(choices: readonly PickChoice<T>[], options: ListOptions<T>): Promise<T | undefined> {
    const pick = vscode.window.createQuickPick<PickChoice<T>>();
    pick.title = options.title;
    pick.placeholder = options.placeholder;
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    pick.items = choices;
    pick.keepScrollPosition = true;
    const rows = new LateRows(pick);
    rows.fillIn(choices);
    if (options.whole) rows.replaceLater(options.whole);
    return this.#run(pick, options, () => pick.selectedItems[0]?.value);
  }

  input(options: InputOptions): Promise<string | undefined> {
    const box = vscode.window.createInputBox();
    box.title = options.title;
    box.placeholder = options.placeholder;
    box.prompt = options.prompt;
    box.value = options.value ?? '';
    box.password = options.password ?? false;
    box.ignoreFocusOut = true;
    box.onDidChangeValue((value) => {
      const show = (message: string | undefined) => {
        if (value !== box.value) return;
        box.validationMessage = message === undefined ? undefined : { message, severity: vscode.InputBoxValidationSeverity.Info };
      };
      if (options.hint) options.hint(value, show);
      else show(undefined);
    });
    const { signal, withdrawn } = options;
    const tell = () => withdrawn?.(box.value);
    signal?.addEventListener('abort', tell);
    const answered = this.#run(box, options, () => {
      const problem = options.check?.(box.value);
      if (problem === undefined) return box.value;
      box.validationMessage = problem;
      return undefined;
    });
    return answered.finally(() => signal?.removeEventListener('abort', tell));
  }

  /**
   * Keeps the keyboard in an input with a command's title until what is `underWay` has ended. An editor that closes takes the keyboard along where it has it;
   * from an input it returns to what is there then.
   */
  async holding(command: string, underWay: Promise<unknown>): Promise<void> {
    const pick = vscode.window.createQuickPick();
    pick.title = commandTitle(command);
    pick.busy = true;
    this.#open += 1;
    pick.show();
    try {
      await underWay;
    } finally {
      pick.dispose();
      this.#open -= 1;
      if (!this.busy && !this.#life.ended) this.#free.fire();
    }
  }

  /** The user has closed an input with Esc: the keyboard returns to where it was before. */
  async dismissed(): Promise<void> {
    const back = this.#afterDismissal;
    this.#afterDismissal = undefined;
    if (!this.busy) await back?.();
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** An input comes up. The editor receives this before the input, so that Esc in it is known to lead back. */
  #leave(): void {
    this.#back = this.#origin() ?? this.#back;
    this.#afterDismissal = undefined;
    void vscode.commands.executeCommand('setContext', 'parley.inputLeadsBack', this.#back !== undefined);
  }

  /** Nothing is open any more; `goesOn`: the next step is on its way. */
  #rest(goesOn: boolean): void {
    if (!goesOn) this.#back = undefined;
    void vscode.commands.executeCommand('setContext', 'parley.inputLeadsBack', false);
    this.#free.fire();
  }

  /** `take` reads the answer; undefined means not yet. */
  #run<I extends StepInput, T>(
    input: I,
    { signal, step, back, until }: Pick<PickOptions, 'signal' | 'until'> & StepOptions<T>,
    take: () => T | undefined,
  ): Promise<T | undefined> {
    if (!this.busy) this.#leave();
    this.#open += 1;
    if (step !== undefined) {
      input.step = step;
      input.totalSteps = 3;
    }
    if (back !== undefined) input.buttons = [vscode.QuickInputButtons.Back];
    return new Promise((resolve) => {
      const hide = () => input.hide();
      let answer: T | undefined;
      input.onDidAccept(() => {
        // A key that went down before the input was taken away is reported after it.
        if (answer !== undefined || signal?.aborted) return;
        answer = take();
        if (answer === undefined) return;
        // The result does not wait for the hide event: keys typed before the next input opens would go into the text behind.
        if (until) void until().finally(hide);
        else hide();
        resolve(answer);
      });
      input.onDidTriggerButton((button) => {
        if (button !== vscode.QuickInputButtons.Back || back === undefined) return;
        answer = back;
        input.hide();
        resolve(answer);
      });
      input.onDidHide(() => {
        this.#open -= 1;
        if (answer === undefined) this.#afterDismissal = this.#back;
        signal?.removeEventListener('abort', hide);
        input.dispose();
        resolve(answer);
        // The caller that awaits this result opens our next input, if there is one.
        setTimeout(() => {
          if (!this.busy && !this.#life.ended) this.#rest(answer !== undefined && (step === 1 || step === 2));
        }, 0);
      });
      if (signal?.aborted) {
        this.#open -= 1;
        input.dispose();
        return resolve(undefined);
      }
      signal?.addEventListener('abort', hide);
      input.show();
    });
  }
}

/** The rows of a list that is open while more is learnt of them. The active row stays active, unless what is typed hides it. */
class LateRows<T> {
  readonly #pick: vscode.QuickPick<PickChoice<T>>;
  #open = true;
  /** Text was typed since the editor told the active row, which may be hidden by now. */
  #typed = false;
  /** The rows were given with an active one, by what the editor had told until then. */
  #placed = false;

  constructor(pick: vscode.QuickPick<PickChoice<T>>) {
    this.#pick = pick;
    pick.onDidHide(() => {
      this.#open = false;
    });
    pick.onDidChangeActive(() => {
      this.#typed = false;
    });
    pick.onDidChangeValue(() => {
      this.#typed = true;
      if (!this.#placed) return;
      this.#placed = false;
      // Typed before the editor had the rows: where it hides the active one, no row would have the focus. Alone, they get the first one that matches.
      setTimeout(() => this.#set(this.#pick.items), 0);
    });
  }

  /** Fills in late descriptions. */
  fillIn(choices: readonly PickChoice<T>[]): void {
    for (const choice of choices) {
      void choice.late?.then((description) => {
        if (description) this.#place(this.#pick.items.map((one) => (one.value === choice.value ? { ...one, description } : one)));
      });
    }
  }

  /** Replaces the rows shown first with the whole list. */
  replaceLater(whole: Promise<readonly PickChoice<T>[]>): void {
    this.#pick.busy = true;
    void whole.then((choices) => {
      if (!this.#open) return;
      this.#pick.busy = false;
      const described = new Map(this.#pick.items.map(({ value, description }) => [value, description]));
      this.#place(choices.map((one) => ({ ...one, description: described.get(one.value) || (one.description ?? '') })));
      this.fillIn(choices);
    });
  }

  #set(items: readonly PickChoice<T>[]): void {
    if (this.#open) this.#pick.items = items;
  }

  #place(items: readonly PickChoice<T>[]): void {
    const active = this.#pick.activeItems.map((one) => one.value);
    const kept = items.filter((one) => one.kind !== vscode.QuickPickItemKind.Separator && active.includes(one.value));
    this.#set(items);
    // By itself the editor makes the first row active that matches what was typed; an empty list would say that none is to be.
    if (kept.length === 0 || this.#typed || !this.#open) return;
    this.#pick.activeItems = kept;
    this.#placed = true;
  }
}
