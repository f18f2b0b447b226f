import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import { refusalOf } from './exchange.ts';
import { pause, type Timing } from './pause.ts';
import type { Server } from './server.ts';

/** A result as the tool-result endpoint wants it; an error is told in words. */
export interface HeldResult {
  readonly toolCallId: string;
  readonly result: unknown;
  readonly isError: boolean;
}
export type Handed = { readonly how: 'accepted' } | { readonly how: 'closed' } | Refused;
export interface Refused {
  readonly how: 'refused';
  readonly why: string;
  /** It wants a key: in its own words. */
  readonly key?: string;
}
/** True: worth another try at every address. Never rejects. */
export type OnRefusal = (refusal: Refused) => Promise<boolean>;

/**
 * Hands results to a server that holds its response open for them (ai-sdk.md §8.2). A server may announce a call before it waits for the
 * result, so what looks like a wrong address is tried again as long as the response lives.
 */
export class HeldResults {
  readonly #server: Server;
  readonly #chatId: string;
  readonly #timing: Timing;

  constructor(server: Server, chatId: string, timing: Timing) {
    this.#server = server;
    this.#chatId = chatId;
    this.#timing = timing;
  }

  /**
   * `open` fires when nobody waits for the result any more. An address that refuses is not tried again while there are others. `refused` hears
   * of it when none is left, or when those have not taken the result for a while, and says whether something was done about it.
   */
  async hand(result: HeldResult, open: AbortSignal, refused: OnRefusal = () => Promise.resolve(false)): Promise<Handed> {
    const { deliveries } = this.#timing;
    const refusals = new Map<string, Refused>();
    for (let n = 0; ; n++) {
      const { resultUrls } = this.#server;
      for (const url of resultUrls) {
        if (open.aborted) return { how: 'closed' };
        const handed = refusals.has(url) ? undefined : await this.#try(url, result, open);
        if (handed?.how === 'refused') refusals.set(url, handed);
        else if (handed) return handed;
      }
      const [first] = refusals.values();
      if (first && resultUrls.every((url) => refusals.has(url))) {
        if (!(await refused(first))) return first;
        refusals.clear();
      } else if (first && n === deliveries.length) {
        void refused(first).then((mended) => mended && refusals.clear());
      }
      if (!(await pause(deliveries[Math.min(n, deliveries.length - 1)] ?? 0, open))) return { how: 'closed' };
    }
  }

  /** undefined: worth another try. */
  async #try(url: string, result: HeldResult, open: AbortSignal): Promise<Handed | undefined> {
    const { client, headers, trace, now, log } = this.#server.exchange;
    const body = { session_id: this.#chatId, tool_call_id: result.toolCallId, result: result.result ?? null, is_error: result.isError };
    trace('out', { url: new URL(url).pathname, ...body });
    try {
      const answer = await client.request({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: open,
      });
      const { status } = answer;
      if (answer.ok) {
        answer.dispose();
        // What shows a page at every address has not taken anything.
        if (answer.type === 'text/html') return { how: 'refused', why: t('{0} answered with a page.', url) };
        this.#server.learned.resultUrl = url;
        return { how: 'accepted' };
      }
      if (status === 404 || status === 405 || status === 409 || status === 425 || status === 429 || status >= 500) {
        answer.dispose();
        return undefined;
      }
      const { message, said } = await refusalOf(answer, url, now());
      return { how: 'refused', why: message, ...(status === 401 ? { key: said } : {}) };
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      if (error.kind === 'aborted') return { how: 'closed' };
      if (error.kind === 'redirect' || error.kind === 'certificate') return { how: 'refused', why: error.message };
      log.info(`Handing in a result failed: ${messageOf(error)}`);
      return undefined;
    }
  }
}
