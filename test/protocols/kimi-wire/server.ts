import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { ScriptedChannel, settled } from '../../transport/scriptedChannel.ts';
import { Harness, type HarnessOptions } from './harness.ts';

const all: Server[] = [];
// Whatever a test was about: when the agent is gone, nothing of the adapter is left.
afterEach(async () => {
  for (const server of all.splice(0)) {
    server.channel.close({ reason: 'The test is over.', failure: 'ended', code: 0, stderr: '' });
    await server.harness.adapter.ended;
    await settled();
    assert.equal(server.channel.listeners, 0);
  }
});

/** A harness and the other end of its wire, without a process: the test plays the server. */
export class Server {
  readonly channel = new ScriptedChannel();
  readonly harness: Harness;

  constructor(options: HarnessOptions = {}) {
    this.harness = new Harness(() => this.channel, options);
    all.push(this);
  }

  /** Past the handshake. */
  static async ready(options: HarnessOptions & { readonly version?: string; readonly result?: object } = {}): Promise<Server> {
    const server = new Server(options);
    await server.answer('initialize', {
      protocol_version: options.version ?? '1.10',
      server: { name: 'Fake', version: '1' },
      ...options.result,
    });
    await server.harness.ready;
    return server;
  }
  /** Past the handshake, and a turn runs. */
  static async running(options: Parameters<typeof Server.ready>[0] = {}): Promise<Server> {
    const server = await Server.ready(options);
    server.harness.prompt('go');
    return server;
  }

  async event(type: string, payload: unknown = {}): Promise<void> {
    this.channel.say({ jsonrpc: '2.0', method: 'event', params: { type, payload } });
  }
  async text(text: string): Promise<void> {
    await this.event('ContentPart', { type: 'text', text });
  }
  async call(id: string, name: string, args?: unknown): Promise<void> {
    await this.event('ToolCall', { type: 'function', id, function: { name, arguments: args === undefined ? '' : JSON.stringify(args) } });
  }
  async toolResult(id: string, output = 'ok', more: object = {}): Promise<void> {
    await this.event('ToolResult', { tool_call_id: id, return_value: { is_error: false, output, message: '', display: [], ...more } });
  }
  async request(type: string, payload: Record<string, unknown>, id: unknown = payload.id): Promise<void> {
    this.channel.say({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method: 'request', params: { type, payload } });
    await settled();
  }
  /** Answers the oldest request of ours of this method that has no answer yet. */
  async answer(method: string, result: unknown): Promise<void> {
    this.channel.say({ jsonrpc: '2.0', id: this.#take(method), result });
    await settled();
  }
  async refuse(method: string, code: number, message = 'no'): Promise<void> {
    this.channel.say({ jsonrpc: '2.0', id: this.#take(method), error: { code, message } });
    await settled();
  }
  async finish(result: object = { status: 'finished' }): Promise<void> {
    await this.answer('prompt', result);
  }
  /** What we answered to a request of theirs. */
  answerTo(id: unknown) {
    return this.channel.out.find((message) => message.id === id && message.method === undefined);
  }
  /** The params of the request of ours with this method, by its place among them. */
  params(method: string, at = 0): Record<string, unknown> {
    const found = this.asked(method)[at];
    if (!found) throw new Error(`${method} was not asked`);
    return (found.params ?? {}) as Record<string, unknown>;
  }
  /** The result we answered to a request of theirs. */
  result(id: unknown): Record<string, unknown> {
    const found = this.answerTo(id);
    if (!found) throw new Error(`${id} was not answered`);
    return (found.result ?? {}) as Record<string, unknown>;
  }
  /** Everything we asked with this method. */
  asked(method: string) {
    return this.channel.out.filter((message) => message.method === method);
  }

  readonly #answered = new Set<unknown>();
  #take(method: string): unknown {
    const open = this.channel.out.find((message) => message.method === method && !this.#answered.has(message.id));
    if (!open) throw new Error(`${method} was not asked`);
    this.#answered.add(open.id);
    return open.id;
  }
}

export { settled };

/** A tool that hangs until it is told to stop; what happens then is the test's. */
export function hangingTool(atStop: (reject: (error: Error) => void) => void): Tool {
  return {
    name: 'hang',
    description: 'd',
    parameters: { type: 'object' },
    run: (_input, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => atStop(reject))),
  };
}
