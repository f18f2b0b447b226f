import { t } from '../base/l10n.ts';
import type { Answer } from '../session/intents.ts';
import type { AskId } from '../session/model.ts';
import { isLoopback } from '../transport/link.ts';
import type { AdapterContext } from './adapter.ts';

const AGREED = 'yes';

/** Shown with the question, and as the reason not to connect. */
export function notEncrypted(host: string): string {
  return t('The connection to {0} is not encrypted: messages, keys and what tools find can be read on the way.', host);
}

/**
 * Before anything goes readable over a network the user is asked, once for each origin; what they agreed to is kept by the editor (docs/agents.md).
 * No machine asks this: it comes before there is a link, is the same for every protocol that has addresses, and is about the address, not about the
 * conversation. The event and the answer are those of any other ask.
 */
export class UnencryptedConsent {
  readonly #context: AdapterContext;
  readonly #asks = new Map<AskId, (agreed: boolean) => void>();

  constructor(context: AdapterContext) {
    this.#context = context;
  }

  /** True when the address may be spoken to. Settles with false when the session is left meanwhile. */
  async mayUse(url: URL): Promise<boolean> {
    if (url.protocol !== 'http:' || isLoopback(url)) return true;
    const { secrets } = this.#context.ports;
    const name = `plain:${url.origin}`;
    if ((await secrets?.get(name)) === AGREED) return true;
    const agreed = await this.#ask(url);
    if (agreed) await secrets?.set(name, AGREED);
    return agreed;
  }

  /** True when the answer was to this question. */
  answer(id: AskId, answer: Answer): boolean {
    const settle = this.#asks.get(id);
    settle?.(answer.kind === 'option' && answer.optionId === AGREED);
    return settle !== undefined;
  }

  #ask(url: URL): Promise<boolean> {
    const { emit, newId, signal } = this.#context;
    const id = newId();
    return new Promise((resolve) => {
      const settle = (agreed: boolean) => {
        if (!this.#asks.delete(id)) return;
        signal.removeEventListener('abort', withdrawn);
        emit({ type: 'ask.closed', askId: id, how: agreed ? 'answered' : 'cancelled' });
        resolve(agreed);
      };
      const withdrawn = () => settle(false);
      this.#asks.set(id, settle);
      signal.addEventListener('abort', withdrawn, { once: true });
      emit({
        type: 'ask.opened',
        ask: {
          kind: 'approval',
          id,
          wordless: true,
          ours: true,
          title: `${t('Connect')}: ${url.host}`,
          detail: {
            type: 'text',
            text: notEncrypted(url.host),
          },
          // Never chosen by a rule.
          options: [
            { id: AGREED, label: t('Connect'), effect: 'allow_always' },
            { id: 'no', label: t('Reject'), effect: 'reject_once' },
          ],
        },
      });
      if (signal.aborted) withdrawn();
    });
  }
}
