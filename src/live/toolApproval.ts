import { t } from '../base/l10n.ts';
import type { Confirmation, Tool, ToolAnswer } from '../protocols/ports.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Answer } from '../session/intents.ts';
import type { Approval, AskId, Session } from '../session/model.ts';
import { runningTurn } from '../session/select.ts';

const ALLOW = 'allow';
const REFUSED: ToolAnswer = { ok: false, text: 'The user did not allow this.' };
const ASK_ENDED: ToolAnswer = { ok: false, text: 'The request ended before the user answered.' };
/** How long one of our tools may work once it may begin, in milliseconds. */
const TOOL_LIMIT = 60_000;

/** Asks a user before one of our own tools does something that needs it. Agents do not ask for these: permission is ours (wire.md §5.2). */
export class ToolApproval {
  readonly #emit: (event: SessionEvent) => void;
  readonly #session: () => Session;
  readonly #newId: () => string;
  readonly #open = new Map<AskId, (answer: Answer | undefined) => void>();

  constructor(emit: (event: SessionEvent) => void, session: () => Session, newId: () => string) {
    this.#emit = emit;
    this.#session = session;
    this.#newId = newId;
  }

  wrap(tool: Tool): Tool {
    const { confirm } = tool;
    if (!confirm) return tool;
    return {
      ...tool,
      run: async (input, signal) => {
        const needed = confirm(input);
        if (!needed) return tool.run(input, signal);
        const answer = await this.#ask(needed, signal);
        if (answer === undefined || signal.aborted) return ASK_ENDED;
        if (answer.kind !== 'option' || answer.optionId !== ALLOW) {
          return answer.kind === 'option' && answer.feedback
            ? { ok: false, text: `${REFUSED.text} They said: ${answer.feedback}` }
            : REFUSED;
        }
        return tool.run(input, AbortSignal.any([signal, AbortSignal.timeout(TOOL_LIMIT)]));
      },
    };
  }

  /** True when the ask was one of ours; it is closed then. */
  answer(id: AskId, answer: Answer): boolean {
    const settle = this.#open.get(id);
    if (!settle) return false;
    settle(answer);
    return true;
  }

  /** Settles asks that have vanished from the session: their turn or the link ended. */
  sweep(): void {
    const open = new Set(this.#session().asks.map((ask) => ask.id));
    for (const [id, settle] of [...this.#open]) if (!open.has(id)) settle(undefined);
  }

  #ask(needed: Confirmation, signal: AbortSignal): Promise<Answer | undefined> {
    const id = this.#newId();
    const turn = runningTurn(this.#session());
    const ask: Approval = {
      kind: 'approval',
      id,
      ours: true,
      ...(turn ? { turnId: turn.id } : {}),
      title: needed.title,
      toolKind: needed.kind,
      detail: needed.detail,
      options: [
        { id: ALLOW, label: t('Allow'), effect: 'allow_once' },
        { id: 'reject', label: t('Reject'), effect: 'reject_once' },
      ],
    };
    return new Promise((resolve) => {
      const withdrawn = () => settle(undefined);
      const settle = (answer: Answer | undefined) => {
        if (!this.#open.delete(id)) return;
        signal.removeEventListener('abort', withdrawn);
        this.#emit({ type: 'ask.closed', askId: id, how: answer ? 'answered' : 'withdrawn' });
        resolve(answer);
      };
      this.#open.set(id, settle);
      if (signal.aborted) return settle(undefined);
      signal.addEventListener('abort', withdrawn);
      this.#emit({ type: 'ask.opened', ask });
      if (!this.#session().asks.some((open) => open.id === id)) settle(undefined);
    });
  }
}
