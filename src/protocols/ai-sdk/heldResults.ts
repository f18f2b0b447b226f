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
export type Handed = { readonly how: 'accepted' } | { readonly how: 'closed' } | { readonly how: 'refused'; readonly why: string };

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

  /** `open` fires when nobody waits for the result any more. */
  async hand(result: HeldResult, open: AbortSignal): Promise<Handed> {
    for (let n = 0; ; n++) {
      const handed = await this.#tryAll(result, open);
      if (handed) return handed;
      const wait = this.#timing.deliveries[Math.min(n, this.#timing.deliveries.length - 1)] ?? 0;
      if (!(await pause(wait, open))) return { how: 'closed' };
    }
  }

  async #tryAll(result: HeldResult, open: AbortSignal): Promise<Handed | undefined> {
    let refused: Handed | undefined;
    for (const url of this.#server.resultUrls) {
      if (open.aborted) return { how: 'closed' };
      const handed = await this.#try(url, result, open);
      if (handed?.how === 'accepted') {
        this.#server.learned.resultUrl = url;
        return handed;
      }
      refused ??= handed;
    }
    return refused;
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
        return { how: 'accepted' };
      }
      if (status === 404 || status === 405 || status === 409 || status === 425 || status === 429 || status >= 500) {
        answer.dispose();
        return undefined;
      }
      return { how: 'refused', why: (await refusalOf(answer, url, now())).message };
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      if (error.kind === 'aborted') return { how: 'closed' };
      if (error.kind === 'redirect' || error.kind === 'certificate') return { how: 'refused', why: error.message };
      log.info(`Handing in a result failed: ${messageOf(error)}`);
      return undefined;
    }
  }
}
