import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';

export interface Choice<T> extends vscode.QuickPickItem {
  readonly value: T;
  /** A description that comes while the list is open; undefined when none comes. */
  readonly late?: Promise<string | undefined>;
}
export interface PickOptions {
  readonly title: string;
  readonly placeholder?: string;
  readonly signal?: AbortSignal;
}
export interface InputOptions extends PickOptions {
  readonly value?: string;
  readonly prompt?: string;
  readonly password?: boolean;
  /** A sentence when the text will not do. */
  readonly check?: (text: string) => string | undefined;
}

/** Our own quick inputs. The editor shows one at a time, so those that appear by themselves wait until `busy` is over. */
export class QuickInputs implements Disposable {
  readonly #life = new Lifetime();
  readonly #free = this.#life.own(new Emitter<void>());
  readonly onFree = this.#free.listen;
  #open = 0;

  get busy(): boolean {
    return this.#open > 0;
  }

  /** Undefined when nothing was chosen. */
  pick<T>(choices: readonly Choice<T>[], options: PickOptions): Promise<T | undefined> {
    const pick = vscode.window.createQuickPick<Choice<T>>();
    pick.title = options.title;
    pick.placeholder = options.placeholder;
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    pick.items = choices;
    fillIn(pick, choices);
    return this.#run(pick, options.signal, () => pick.selectedItems[0]?.value);
  }

  input(options: InputOptions): Promise<string | undefined> {
    const box = vscode.window.createInputBox();
    box.title = options.title;
    box.placeholder = options.placeholder;
    box.prompt = options.prompt;
    box.value = options.value ?? '';
    box.password = options.password ?? false;
    box.ignoreFocusOut = true;
    box.onDidChangeValue(() => {
      box.validationMessage = undefined;
    });
    return this.#run(box, options.signal, () => {
      const problem = options.check?.(box.value);
      if (problem === undefined) return box.value;
      box.validationMessage = problem;
      return undefined;
    });
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** `take` reads the answer; undefined means not yet. */
  #run<I extends vscode.QuickInput & { onDidAccept: vscode.Event<void> }, T>(
    input: I,
    signal: AbortSignal | undefined,
    take: () => T | undefined,
  ): Promise<T | undefined> {
    this.#open += 1;
    return new Promise((resolve) => {
      const end = (value: T | undefined) => {
        signal?.removeEventListener('abort', hide);
        input.dispose();
        resolve(value);
      };
      const hide = () => input.hide();
      let answer: T | undefined;
      input.onDidAccept(() => {
        answer = take();
        if (answer !== undefined) input.hide();
      });
      input.onDidHide(() => {
        this.#open -= 1;
        end(answer);
        // The next one of ours, if there is one, is opened by whoever awaits this.
        setTimeout(() => {
          if (!this.busy && !this.#life.ended) this.#free.fire();
        }, 0);
      });
      if (signal?.aborted) return this.#abandon(end);
      signal?.addEventListener('abort', hide);
      input.show();
    });
  }

  #abandon(end: (value: undefined) => void): void {
    this.#open -= 1;
    end(undefined);
  }
}

/** Descriptions that come late take their places while the list is open; what is active stays so. */
function fillIn<T>(pick: vscode.QuickPick<Choice<T>>, choices: readonly Choice<T>[]): void {
  let open = true;
  pick.onDidHide(() => {
    open = false;
  });
  pick.keepScrollPosition = true;
  choices.forEach(({ late }, at) => {
    void late?.then((description) => {
      if (!open || !description) return;
      const active = pick.activeItems.map((one) => pick.items.indexOf(one));
      const items = pick.items.map((one, place) => (place === at ? { ...one, description } : one));
      pick.items = items;
      pick.activeItems = active.flatMap((place) => items[place] ?? []);
    });
  });
}
