import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Option } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';

interface Open {
  readonly settle: (yes: boolean) => void;
}

/** Questions with yes and no that are about no tool call: commands to confirm, the end of the session. Unanswered means no. */
export class YesNo {
  readonly #emit: (event: SessionEvent) => void;
  readonly #newId: () => string;
  readonly #open = new Map<string, Open>();

  constructor(emit: (event: SessionEvent) => void, newId: () => string) {
    this.#emit = emit;
    this.#newId = newId;
  }

  get waiting(): boolean {
    return this.#open.size > 0;
  }

  ask(
    question: {
      readonly title: string;
      readonly text?: string;
      readonly commands?: readonly string[];
      readonly turnId?: string;
      readonly ours?: true;
    },
    settle: (yes: boolean) => void,
  ): void {
    const id = this.#newId();
    const options: readonly Option[] = [
      { id: 'yes', label: t('Yes'), effect: 'allow_once' },
      { id: 'no', label: t('No'), effect: 'reject_once' },
    ];
    this.#open.set(id, { settle });
    const command = (question.commands ?? []).join('\n');
    const text = question.text ?? question.title;
    this.#emit({
      type: 'ask.opened',
      ask: {
        kind: 'approval',
        id,
        ...(question.turnId === undefined ? {} : { turnId: question.turnId }),
        title: visibleText(question.title),
        detail: command === '' ? { type: 'text', text: visibleText(text) } : { type: 'command', command: visibleText(command) },
        options,
        wordless: true,
        ...(question.ours ? { ours: true } : {}),
      },
    });
  }

  answer(askId: string, answer: Answer): boolean {
    const open = this.#open.get(askId);
    if (!open) return false;
    this.#close(askId, 'answered');
    open.settle(answer.kind === 'option' && answer.optionId === 'yes');
    return true;
  }

  cancelAll(): void {
    for (const [id, { settle }] of [...this.#open]) {
      this.#close(id, 'cancelled');
      settle(false);
    }
  }

  #close(id: string, how: 'answered' | 'cancelled'): void {
    this.#open.delete(id);
    this.#emit({ type: 'ask.closed', askId: id, how });
  }
}
