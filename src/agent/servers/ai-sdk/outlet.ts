import type { ServerResponse } from 'node:http';

/** One response of the chat endpoint: chunks as server-sent events. */
export class Outlet {
  readonly #response: ServerResponse;
  readonly #beat: NodeJS.Timeout;
  #ended = false;

  /** `stopAt`: where the turn can be stopped; a client that merely closes may come back. `onGone` is called when it closes before the end. */
  constructor(response: ServerResponse, stopAt: string, onGone: () => void) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-accel-buffering': 'no',
      link: `<${stopAt}>; rel="stop"`,
      'access-control-expose-headers': 'link',
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

  /** `text` is one chunk as JSON. */
  write(text: string): void {
    if (!this.#ended) this.#response.write(`data: ${text}\n\n`);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#beat);
    this.#response.end('data: [DONE]\n\n');
  }
}
