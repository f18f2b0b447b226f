import type { ServerResponse } from 'node:http';

export type WireChunk = Readonly<Record<string, unknown>> & { readonly type: string };

/** One response of the chat endpoint: chunks as server-sent events. */
export class Outlet {
  readonly #response: ServerResponse;
  readonly #beat: NodeJS.Timeout;
  #ended = false;

  /** `onGone` is called when the client closes before the end. */
  constructor(response: ServerResponse, onGone: () => void) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    // Proxies cut silent streams.
    this.#beat = setInterval(() => response.write(': keep-alive\n\n'), 15_000);
    response.once('close', () => {
      clearInterval(this.#beat);
      if (this.#ended) return;
      this.#ended = true;
      onGone();
    });
  }

  get open(): boolean {
    return !this.#ended;
  }

  write(chunk: WireChunk): void {
    if (!this.#ended) this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#beat);
    this.#response.end('data: [DONE]\n\n');
  }
}
