import * as z from 'zod/mini';
import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { TurnId } from '../../../session/model.ts';
import type { Outgoing } from '../control.ts';
import { shown } from '../toolTable.ts';
import type { Turns } from '../turns.ts';

const rewound = z.object({
  canRewind: z.boolean(),
  filesChanged: z.optional(z.nullable(z.array(z.string()).check(z.maxLength(10_000)))),
  error: z.optional(z.nullable(z.string())),
});
const FILES_NAMED = 20;

export interface GoBackDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly newId: () => string;
  readonly outgoing: Outgoing;
  readonly turns: Turns;
  readonly cwd: string;
}

/**
 * Going back to before something was said. The agent keeps what files held before each message (its checkpoints); whether they are put back is
 * the user's choice.
 */
export class GoBack {
  readonly #deps: GoBackDeps;
  #open: { readonly askId: string; readonly settle: (choice: string) => void } | undefined;

  constructor(deps: GoBackDeps) {
    this.#deps = deps;
  }

  /** Settles true when it may be gone back to before that turn; files are as the user wants them by then. */
  async filesBefore(turnId: TurnId): Promise<boolean> {
    const { outgoing, turns } = this.#deps;
    this.cancel();
    const dry = rewound.safeParse(payloadOf(await outgoing.ask({ subtype: 'rewind_files', user_message_id: turnId, dry_run: true })));
    const files = dry.success && dry.data.canRewind ? (dry.data.filesChanged ?? []) : [];
    if (files.length === 0) return true;
    const choice = await this.#ask(files);
    if (choice !== 'restore') return choice === 'keep';
    const done = rewound.safeParse(payloadOf(await outgoing.ask({ subtype: 'rewind_files', user_message_id: turnId })));
    if (done.success && done.data.canRewind) return true;
    turns.note('error', t('The files could not be put back: {0}', (done.success ? done.data.error : undefined) ?? t('the agent refused')));
    return false;
  }

  /** False when the ask is not ours. */
  answer(askId: string, optionId: string | undefined): boolean {
    if (this.#open?.askId !== askId) return false;
    this.#close('answered', optionId ?? 'no');
    return true;
  }

  cancel(): void {
    if (this.#open) this.#close('cancelled', 'no');
  }

  #close(how: 'answered' | 'cancelled', choice: string): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    this.#deps.emit({ type: 'ask.closed', askId: open.askId, how });
    open.settle(choice);
  }

  #ask(files: readonly string[]): Promise<string> {
    const { emit, newId, cwd } = this.#deps;
    const askId = newId();
    const names = files.slice(0, FILES_NAMED).map((file) => shown(file, cwd));
    if (files.length > FILES_NAMED) names.push(t('{0} more', files.length - FILES_NAMED));
    return new Promise((settle) => {
      this.#open = { askId, settle };
      emit({
        type: 'ask.opened',
        ask: {
          kind: 'approval',
          id: askId,
          title: t('Put the files back as they were before that message?'),
          detail: { type: 'text', text: [t('Changed since then:'), ...names].join('\n') },
          options: [
            { id: 'restore', label: t('Put the files back'), effect: 'allow_once' },
            { id: 'keep', label: t('Keep the files as they are'), effect: 'allow_once' },
            { id: 'no', label: t('Do not go back'), effect: 'reject_once' },
          ],
          wordless: true,
          ours: true,
        },
      });
    });
  }
}

function payloadOf(reply: { readonly ok: true; readonly payload: unknown } | { readonly ok: false }): unknown {
  return reply.ok ? reply.payload : undefined;
}
