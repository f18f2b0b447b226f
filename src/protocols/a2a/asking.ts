import type { Answer } from '../../session/intents.ts';
import type { Ask, AskId, Field, TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';

/** What is asked of the user in a turn by us, not by a call of the agent's: arguments, a confirmation, a sign-in. */
export class Asking {
  readonly #scene: Pick<AdapterContext, 'emit' | 'newId'>;
  readonly #turnId: TurnId;
  readonly #signal: AbortSignal;
  readonly #open = new Map<AskId, (answer: Answer | undefined) => void>();

  /** Everything open is withdrawn when the signal fires. */
  constructor(scene: Pick<AdapterContext, 'emit' | 'newId'>, turnId: TurnId, signal: AbortSignal) {
    this.#scene = scene;
    this.#turnId = turnId;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#withdraw(), { once: true });
  }

  get waits(): boolean {
    return this.#open.size > 0;
  }

  /** False when there is no such ask. */
  answer(askId: AskId, answer: Answer): boolean {
    const settle = this.#open.get(askId);
    settle?.(answer);
    return settle !== undefined;
  }

  /** The values by field; undefined when the user does not want to. */
  async fields(title: string, fields: readonly Field[]): Promise<Readonly<Record<string, readonly string[]>> | undefined> {
    const answer = await this.#ask((id) => ({ kind: 'question', id, turnId: this.#turnId, ours: true, title, fields }));
    return answer?.kind === 'fields' ? answer.values : undefined;
  }

  /** True only when the user chose `yes`; no rule chooses it. The question is taken back when `needless` fires. */
  async confirm(title: string, text: string, yes: string, no: string, needless?: AbortSignal): Promise<boolean> {
    const ask = (id: AskId): Ask => ({
      kind: 'approval',
      id,
      wordless: true,
      ours: true,
      turnId: this.#turnId,
      title,
      detail: { type: 'text', text },
      options: [
        { id: 'yes', label: yes, effect: 'allow_always' },
        { id: 'no', label: no, effect: 'reject_once' },
      ],
    });
    const answer = await this.#ask(ask, needless);
    return answer?.kind === 'option' && answer.optionId === 'yes';
  }

  #ask(ask: (id: AskId) => Ask, needless?: AbortSignal): Promise<Answer | undefined> {
    const id = this.#scene.newId();
    return new Promise((resolve) => {
      this.#open.set(id, (answer) => {
        if (!this.#open.delete(id)) return;
        needless?.removeEventListener('abort', takeBack);
        const how = needless?.aborted ? 'withdrawn' : answer === undefined || answer.kind === 'cancelled' ? 'cancelled' : 'answered';
        this.#scene.emit({ type: 'ask.closed', askId: id, how });
        resolve(answer);
      });
      const takeBack = () => this.#open.get(id)?.(undefined);
      needless?.addEventListener('abort', takeBack, { once: true });
      this.#scene.emit({ type: 'ask.opened', ask: ask(id) });
      if (this.#signal.aborted) this.#withdraw();
    });
  }

  #withdraw(): void {
    for (const settle of [...this.#open.values()]) settle(undefined);
  }
}
