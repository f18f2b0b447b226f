import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** One answer of the service: pieces in order, or a failure. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id?: string; readonly name: string; readonly input: string }[];
  /** The arguments of all calls arrive mixed, a few characters each. */
  readonly mixed?: true;
  readonly finish?: string;
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly prompt_tokens_details?: object };
  /** Sends what stands before it and then nothing more, until the client goes. */
  readonly hang?: true;
  /** Closes the connection instead of finishing. */
  readonly cut?: true;
}
export interface Body {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown; readonly tool_calls?: readonly unknown[] }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}
export interface Service {
  readonly url: string;
  readonly bodies: readonly Body[];
  readonly keys: readonly (string | undefined)[];
  /** What it answers from now on, in this order, before anything else. */
  readonly next: (...replies: readonly Reply[]) => void;
  /** The same for requests whose first user message holds this text. */
  readonly when: (text: string, ...replies: readonly Reply[]) => void;
  /** How many requests the client dropped. */
  readonly aborted: () => number;
}

/** An OpenAI-compatible chat service on 127.0.0.1 that gives the replies in order; the last one again and again. */
export async function startService(t: TestContext, replies: readonly Reply[]): Promise<Service> {
  const { end, ...service } = await serve(replies);
  t.after(end);
  return service;
}

/** The same for longer than a test, until it is ended. */
export async function serve(replies: readonly Reply[]): Promise<Service & { end(): void }> {
  const bodies: Body[] = [];
  const keys: (string | undefined)[] = [];
  const first: Reply[] = [];
  const special: { readonly text: string; readonly replies: Reply[] }[] = [];
  let plain = 0;
  let aborted = 0;
  const server = http.createServer((request, response) => {
    keys.push(request.headers.authorization);
    response.on('close', () => {
      if (!response.writableFinished) aborted += 1;
    });
    void bodyOf(request).then((body) => {
      bodies.push(body);
      const asked = JSON.stringify(body.messages.find((message) => message.role === 'user')?.content);
      const given = special.find(({ text }) => asked.includes(text))?.replies.shift() ?? first.shift();
      const reply = given ?? replies[Math.min(++plain, replies.length) - 1];
      if (request.url === '/v1/chat/completions' && reply) give(response, reply);
      else response.writeHead(404).end('{"error":{"message":"no such route"}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    bodies,
    keys,
    next: (...more) => first.push(...more),
    when: (text, ...more) => special.push({ text, replies: [...more] }),
    aborted: () => aborted,
    end: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as Body;
}

function give(response: ServerResponse, reply: Reply): void {
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify({ error: { message: reply.message ?? 'failed', type: 'x' } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const delta of deltasOf(reply)) send(response, { choices: [{ index: 0, delta }] });
  if (reply.cut) {
    response.write('', () => response.destroy());
    return;
  }
  if (reply.hang) return;
  send(response, {
    choices: [{ index: 0, delta: {}, finish_reason: reply.finish ?? (reply.calls ? 'tool_calls' : 'stop') }],
    usage: reply.usage ?? null,
  });
  response.end('data: [DONE]\n\n');
}

function deltasOf(reply: Reply): readonly object[] {
  const calls = reply.calls ?? [];
  const begins = calls.map((call, index) => ({
    tool_calls: [{ index, id: call.id ?? `call_${index}`, type: 'function', function: { name: call.name, arguments: '' } }],
  }));
  const pieces = calls.map((call, index) =>
    (call.input.match(/[\s\S]{1,5}/g) ?? []).map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
  );
  const most = Math.max(0, ...pieces.map((list) => list.length));
  const mixed = Array.from({ length: most }, (_, at) => pieces.flatMap((list) => list.slice(at, at + 1))).flat();
  return [
    ...(reply.thought?.match(/[\s\S]{1,7}/g) ?? []).map((text) => ({ reasoning_content: text })),
    ...(reply.text?.match(/[\s\S]{1,7}/g) ?? []).map((content) => ({ content })),
    ...(reply.mixed ? [...begins, ...mixed] : begins.flatMap((begin, index) => [begin, ...(pieces[index] ?? [])])),
  ];
}

function send(response: ServerResponse, chunk: object): void {
  response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'fake', ...chunk })}\n\n`);
}
