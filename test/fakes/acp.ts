import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { problemOfAnswer, problemOfRequest } from '../protocols/acp/oracle.ts';

/* An ACP agent that a test plays: a real process whose pipes lead back into the test. */

export interface Received {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}
type Params = Readonly<Record<string, unknown>>;
type Handler = (params: Params, id: Received['id']) => unknown;

/** Leaves a request without an answer; the test answers it by hand. */
export const later: unique symbol = Symbol('later');
export class Refuse {
  readonly error: object;
  constructor(code: number, message: string, data?: unknown) {
    this.error = { code, message, ...(data === undefined ? {} : { data }) };
  }
}

const PIPE = `const s=require('net').connect(Number(process.argv[1]),'127.0.0.1');
process.stdin.pipe(s);s.on('data',(d)=>process.stdout.write(d));
s.on('close',()=>process.stdout.write('',()=>process.exit(Number(process.env.FAKE_EXIT||0))));
if(process.env.FAKE_STDERR)process.stderr.write(process.env.FAKE_STDERR);`;

export const SESSION = 'sess-1';

export class FakeAgent {
  readonly received: Received[] = [];
  /** What the official schema has against frames of the client. */
  readonly problems: string[] = [];
  /** The version whose schema the client's frames are held against. */
  version = 1;
  readonly starts: Socket[] = [];
  readonly handlers: Record<string, Handler> = {
    initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, agentInfo: { name: 'fake', version: '1.0.0' } }),
    'session/new': () => ({ sessionId: SESSION }),
    'session/prompt': () => ({ stopReason: 'end_turn' }),
  };
  readonly #server: Server;
  readonly #waiting = new Map<string | number, { readonly method: string; resolve(frame: Received): void }>();
  readonly #watchers = new Set<() => void>();
  #next = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#connected(socket));
  }

  static async start(): Promise<FakeAgent> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeAgent(server);
  }

  launch(cwd: string, env: Readonly<Record<string, string>> = {}) {
    const { port } = this.#server.address() as AddressInfo;
    return { kind: 'process' as const, command: process.execPath, args: ['-e', PIPE, String(port)], env, cwd };
  }

  /** Everything the agent says about itself; members are merged into the answer to initialize. */
  is(answer: object): void {
    this.handlers.initialize = () => ({ protocolVersion: 1, ...answer });
  }

  update(update: object, sessionId = SESSION): void {
    this.send({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } });
  }

  text(text: string, more: object = {}): void {
    this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, ...more });
  }

  send(frame: object): void {
    this.raw(`${JSON.stringify(frame)}\n`);
  }

  raw(bytes: string | Uint8Array): void {
    this.starts.at(-1)?.write(bytes);
  }

  /** A request to the client; settles with its whole answer. */
  ask(method: string, params: object, id: string | number = this.#next++): Promise<Received> {
    const answer = new Promise<Received>((resolve) => this.#waiting.set(id, { method, resolve }));
    this.send({ jsonrpc: '2.0', id, method, params });
    return answer;
  }

  answer(id: Received['id'], result: unknown, to = this.starts.at(-1)): void {
    const frame = result instanceof Refuse ? { jsonrpc: '2.0', id, error: result.error } : { jsonrpc: '2.0', id, result };
    to?.write(`${JSON.stringify(frame)}\n`);
  }

  /** The first frame of that method, now or later. */
  async got(method: string, nth = 0): Promise<Received> {
    for (;;) {
      const found = this.received.filter((frame) => frame.method === method)[nth];
      if (found) return found;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#watchers.delete(wake);
          resolve();
        };
        this.#watchers.add(wake);
      });
    }
  }

  /** The process ends as the pipe does. */
  exit(): void {
    this.starts.at(-1)?.end();
  }

  async stop(): Promise<void> {
    for (const socket of this.starts) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #connected(socket: Socket): void {
    this.starts.push(socket);
    let held = '';
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('data', (text: string) => {
      const lines = (held + text).split('\n');
      held = lines.pop() ?? '';
      for (const line of lines) this.#take(JSON.parse(line) as Received, socket);
    });
  }

  #take(frame: Received, from: Socket): void {
    this.received.push(frame);
    for (const wake of [...this.#watchers]) wake();
    if (frame.method === undefined) return this.#answered(frame);
    const problem = problemOfRequest(frame.method, frame.params, this.version);
    if (problem) this.problems.push(problem);
    if (frame.id === undefined) return void this.handlers[frame.method]?.(frame.params ?? {}, undefined);
    const handler = this.handlers[frame.method];
    void Promise.resolve(handler ? handler(frame.params ?? {}, frame.id) : new Refuse(-32601, 'Method not found')).then((result) => {
      if (result !== later) this.answer(frame.id, result, from);
    });
  }

  #answered(frame: Received): void {
    const waiting = this.#waiting.get(frame.id ?? '');
    if (!waiting) return void this.problems.push(`an answer to nothing: ${JSON.stringify(frame)}`);
    this.#waiting.delete(frame.id ?? '');
    const problem = frame.error ? undefined : problemOfAnswer(waiting.method, frame.result, this.version);
    if (problem) this.problems.push(problem);
    waiting.resolve(frame);
  }
}
