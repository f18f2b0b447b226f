import type { Log } from '../../base/log.ts';
import type { ToolOffer } from '../../session/model.ts';
import type { Tool } from '../ports.ts';
import { runTool } from '../runTool.ts';
import { isRecord } from './detect.ts';

/** Milliseconds kept for the way back when the agent gives a call only so long. */
const MARGIN = 5_000;

/** Our editor tools as an MCP server over the control channel (qwen.md §3.6): no port, no HTTP. Every message gets an answer. */
export class EditorTools {
  readonly #tools: readonly Tool[];
  readonly #client: { readonly name: string; readonly version: string };
  readonly #log: Log;
  readonly #limit: number | undefined;
  readonly #running = new Set<AbortController>();
  #asked = false;

  constructor(tools: readonly Tool[], client: { readonly name: string; readonly version: string }, log: Log, limit: number | undefined) {
    this.#tools = tools;
    this.#client = client;
    this.#log = log;
    this.#limit = limit;
  }

  get offered(): boolean {
    return this.#tools.length > 0;
  }

  get offer(): ToolOffer {
    return { accepted: this.#tools.map((tool) => tool.name), rejected: [] };
  }

  /** The agent runs them as a server of its own, by messages to it: a call of one is then not ours to answer in another way too. */
  get isServer(): boolean {
    return this.#asked;
  }

  /** One of them is running. */
  get busy(): boolean {
    return this.#running.size > 0;
  }

  has(name: string): boolean {
    return this.#tools.some((tool) => tool.name === name);
  }

  /** The JSON-RPC answer to one message. A notification is answered too: the agent waits for it. */
  async answer(message: unknown): Promise<object> {
    this.#asked = true;
    const { id, method, params } = isRecord(message) ? message : {};
    if (typeof method !== 'string') return failure(id, -32600, 'not a request');
    if (id === undefined) return { jsonrpc: '2.0', id: 0, result: {} };
    const result = (value: object) => ({ jsonrpc: '2.0', id, result: value });
    switch (method) {
      case 'initialize': {
        const asked = isRecord(params) ? params.protocolVersion : undefined;
        const protocolVersion = typeof asked === 'string' ? asked : '2025-06-18';
        return result({ protocolVersion, capabilities: { tools: {} }, serverInfo: this.#client });
      }
      case 'ping':
        return result({});
      case 'tools/list':
        return result({
          tools: this.#tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
        });
      case 'tools/call': {
        const call = isRecord(params) ? params : {};
        if (typeof call.name !== 'string') return failure(id, -32602, 'a call needs a name');
        const answer = await this.run(call.name, call.arguments);
        return result({ content: [{ type: 'text', text: answer.text }], isError: !answer.ok });
      }
      default:
        return failure(id, -32601, `unknown method ${method}`);
    }
  }

  /** Runs one of the tools; gives up in time for the agent to still hear so. */
  async run(name: string, input: unknown): Promise<{ readonly ok: boolean; readonly text: string }> {
    const stop = new AbortController();
    this.#running.add(stop);
    let late = false;
    const giveUp = () => {
      late = true;
      stop.abort();
    };
    const limit = this.#limit === undefined ? undefined : this.#limit - MARGIN;
    const timer = limit === undefined ? undefined : setTimeout(giveUp, limit);
    try {
      const answer = await runTool(this.#tools, { name, input: input ?? {}, signal: stop.signal, log: this.#log });
      return late ? { ok: false, text: `The user did not answer within ${(limit ?? 0) / 1000} s; nothing was done.` } : answer;
    } finally {
      clearTimeout(timer);
      this.#running.delete(stop);
    }
  }

  /** Nobody waits for running tools any more. */
  cancel(): void {
    for (const stop of [...this.#running]) stop.abort();
  }
}

function failure(id: unknown, code: number, message: string): object {
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message } };
}
