import type { HttpClient } from '../../transport/http.ts';

/** A local model may take many minutes to read a long prompt before it says anything. */
const HEADERS_WITHIN_MS = 30 * 60_000;

/** `fetch` for the SDK over sockets without its limits on silence. Only what the SDK uses: POST of text, a streamed answer, abort. */
export function httpFetch(client: HttpClient): typeof fetch {
  return async (input, init) => {
    const answer = await client.request({
      method: init?.method === 'GET' ? 'GET' : 'POST',
      url: input instanceof Request ? input.url : String(input),
      headers: Object.fromEntries(new Headers(init?.headers)),
      headersWithin: HEADERS_WITHIN_MS,
      ...(typeof init?.body === 'string' ? { body: init.body } : {}),
      ...(init?.signal ? { signal: init.signal } : {}),
    });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        answer
          .read((chunk) => controller.enqueue(chunk))
          .then(
            () => controller.close(),
            (error: unknown) => controller.error(error),
          );
      },
      cancel: () => answer.dispose(),
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) if (value !== undefined) headers.set(name, String(value));
    return new Response([204, 205, 304].includes(answer.status) ? null : body, { status: answer.status, headers });
  };
}
