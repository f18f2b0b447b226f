import { t } from '../base/l10n.ts';
import type { Answer } from '../session/intents.ts';
import type { Approval, AskId } from '../session/model.ts';
import { isLoopback } from '../transport/link.ts';
import type { AdapterContext } from './adapter.ts';

const AGREED = 'yes';

/** Shown with the question, and as the reason not to connect. */
export function notEncrypted(host: string): string {
  return t('The connection to {0} is not encrypted: messages, keys and what tools find can be read on the way.', host);
}

/** The question to the user; the id is given by the one who asks. */
export type ConsentQuestion = Omit<Approval, 'id'>;

/**
 * True when the address may be spoken to: it is encrypted or on this machine, or the user agrees. What they agreed to is kept for the origin by the
 * editor's secret storage.
 */
export async function mayUseAddress(
  url: URL,
  secrets: AdapterContext['ports']['secrets'],
  ask: (question: ConsentQuestion) => Promise<Answer>,
): Promise<boolean> {
  if (url.protocol !== 'http:' || isLoopback(url)) return true;
  const name = `plain:${url.origin}`;
  if ((await secrets?.get(name)) === AGREED) return true;
  const answer = await ask({
    kind: 'approval',
    wordless: true,
    ours: true,
    title: `${t('Connect')}: ${url.host}`,
    detail: { type: 'text', text: notEncrypted(url.host) },
    // Never chosen by a rule.
    options: [
      { id: AGREED, label: t('Connect'), effect: 'allow_always' },
      { id: 'no', label: t('Reject'), effect: 'reject_once' },
    ],
  });
  const agreed = answer.kind === 'option' && answer.optionId === AGREED;
  if (agreed) await secrets?.set(name, AGREED);
  return agreed;
}

/**
 * Before anything goes readable over a network the user is asked, once for each origin; what they agreed to is kept by the editor (docs/agents.md).
 * For protocols whose machine does not ask this: it comes before there is a link, and is about the address, not about the conversation. The event and
 * the answer are those of any other ask.
 */
export class UnencryptedConsent {
  readonly #context: AdapterContext;
  readonly #asks = new Map<AskId, (answer: Answer) => void>();

  constructor(context: AdapterContext) {
    this.#context = context;
  }

  /** True when the address may be spoken to. Settles with false when the session is left meanwhile. */
  mayUse(url: URL): Promise<boolean> {
    return mayUseAddress(url, this.#context.ports.secrets, (question) => this.#ask(question));
  }

  /** True when the answer was to this question. */
  answer(id: AskId, answer: Answer): boolean {
    const settle = this.#asks.get(id);
    settle?.(answer);
    return settle !== undefined;
  }

  #ask(question: ConsentQuestion): Promise<Answer> {
    const { emit, newId, signal } = this.#context;
    const id = newId();
    return new Promise((resolve) => {
      const settle = (answer: Answer) => {
        if (!this.#asks.delete(id)) return;
        signal.removeEventListener('abort', withdrawn);
        emit({ type: 'ask.closed', askId: id, how: answer.kind === 'option' && answer.optionId === AGREED ? 'answered' : 'cancelled' });
        resolve(answer);
      };
      const withdrawn = () => settle({ kind: 'cancelled' });
      this.#asks.set(id, settle);
      signal.addEventListener('abort', withdrawn, { once: true });
      emit({ type: 'ask.opened', ask: { id, ...question } });
      if (signal.aborted) withdrawn();
    });
  }
}
