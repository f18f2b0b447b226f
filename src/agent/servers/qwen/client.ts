import { randomUUID } from 'node:crypto';
import { type Line, type QwenDialect, readReply, recordOf, requestLine } from '../../../protocols/qwen/codec.ts';
import type { ModelTool } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import { done, failed, type ToolOutcome, toldFailed } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';

/** Milliseconds for one message to a tool server of the client (docs/protocols/qwen.md §3.6). */
const TOOL_LIMIT = 30_000;

/** How a request is asked. `limit` in milliseconds; `misfit` returns what is wrong with an answer, which is then ignored. */
interface Asking {
  readonly signal?: AbortSignal | undefined;
  readonly limit: number;
  readonly misfit?: (payload: unknown) => string | undefined;
}
interface Waiting {
  readonly misfit: Asking['misfit'];
  readonly resolve: (payload: unknown) => void;
  readonly reject: (error: Error) => void;
}
interface ClientTool {
  readonly server: string;
  readonly tool: string;
  /** The client's own name for it. */
  readonly full: string;
  readonly offer: ModelTool;
}

/**
 * The client, as the agent asks it: requests on the control channel, each of which settles by the answer, by the signal, or at its time limit;
 * and the tools it offers, over `mcp_message`.
 */
export class QwenClient {
  readonly dialect: QwenDialect;
  readonly #write: (line: Line) => void;
  readonly #waiting = new Map<string, Waiting>();
  readonly #tools = new Map<string, ClientTool>();
  /** Calls of its tools that run, by the call's id. */
  readonly #calls = new Map<string, (outcome: ToolOutcome) => void>();
  #messages = 0;
  #ended = false;

  constructor(dialect: QwenDialect, write: (line: Line) => void) {
    this.dialect = dialect;
    this.#write = write;
  }

  ask(subtype: string, payload: object, how: Asking): Promise<unknown> {
    if (this.#ended) return Promise.reject(new Error('Nobody can be asked.'));
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const stop = () => settle(() => reject(new Error('Request aborted')));
      const timer = setTimeout(() => settle(() => reject(new Error('Nobody answered in time.'))), how.limit);
      const settle = (then: () => void): void => {
        clearTimeout(timer);
        how.signal?.removeEventListener('abort', stop);
        this.#waiting.delete(id);
        then();
      };
      if (how.signal?.aborted) return stop();
      how.signal?.addEventListener('abort', stop);
      const { misfit } = how;
      this.#waiting.set(id, { misfit, resolve: (value) => settle(() => resolve(value)), reject: (error) => settle(() => reject(error)) });
      this.#write(requestLine(this.dialect, id, subtype, payload));
    });
  }

  /** Takes an answer; gives what is wrong with it. */
  take(line: Line): string | undefined {
    const answer = readReply(line, this.dialect);
    const waiting = answer && this.#waiting.get(answer.id);
    if (!answer || !waiting) return 'No such request is open.';
    const { reply } = answer;
    const problem = reply.ok ? waiting.misfit?.(reply.payload) : undefined;
    if (!reply.ok) waiting.reject(new Error(reply.message || 'The client failed.'));
    else if (problem !== undefined) waiting.reject(new Error(problem));
    else waiting.resolve(reply.payload);
    return problem;
  }

  /** Fails pending requests, because the client has disconnected. */
  end(): void {
    this.#ended = true;
    for (const { reject } of [...this.#waiting.values()]) reject(new Error('The client is gone.'));
  }

  // --- its tools

  get offers(): readonly ModelTool[] {
    return [...this.#tools.values()].map((one) => one.offer);
  }

  get servers(): readonly string[] {
    return [...new Set([...this.#tools.values()].map(({ server }) => server))];
  }

  /** The client's own name for a tool; undefined for tools of the agent. */
  fullName(called: string): string | undefined {
    return this.#tools.get(called)?.full;
  }

  /** Reads the tools of one of its servers. Gives the reason when they are missing while the client is still there. */
  async connect(server: string, limit = TOOL_LIMIT): Promise<string | undefined> {
    try {
      const clientInfo = { name: NAME, version: VERSION };
      await this.#request(server, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, { limit });
      await this.#send(server, { jsonrpc: '2.0', method: 'notifications/initialized' }, { limit });
      const { tools } = recordOf(await this.#request(server, 'tools/list', {}, { limit }));
      for (const one of Array.isArray(tools) ? tools : []) {
        const { name, description, inputSchema } = recordOf(one);
        if (typeof name !== 'string') continue;
        // The model sees the plain name where it is free; the client sees the one with its owner.
        const full = `mcp__${server}__${name}`;
        const called = takenNames.includes(name) || this.#tools.has(name) ? full : name;
        const offer = { name: called, description: typeof description === 'string' ? description : '', parameters: recordOf(inputSchema) };
        this.#tools.set(called, { server, tool: name, full, offer });
      }
      return undefined;
    } catch (error) {
      return this.#ended ? undefined : `the tools of "${server}" are not there: ${String(error)}`;
    }
  }

  /** Runs one of its tools: it answers the message, or sends the result by itself (`toolResponse`). */
  async call(call: { readonly id: string; readonly name: string; readonly input: string }, signal: AbortSignal): Promise<ToolOutcome> {
    const known = this.#tools.get(call.name);
    if (!known) return toldFailed(`The client has no tool "${call.name}".`, `客户端没有工具“${call.name}”。`);
    const responded = new Promise<ToolOutcome>((resolve) => this.#calls.set(call.id, resolve));
    try {
      return await Promise.race([this.#callServer(known, call.input, signal), responded]);
    } catch (error) {
      signal.throwIfAborted();
      return failed(error instanceof Error ? error.message : String(error));
    } finally {
      this.#calls.delete(call.id);
    }
  }

  /** The client ran a call and sends what came of it. False when no such call runs. */
  toolResponse(callId: string, response: unknown): boolean {
    const settle = this.#calls.get(callId);
    const { output, error } = recordOf(response);
    const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));
    settle?.(error === undefined ? done(text(output ?? response), 'The client ran it.') : failed(text(error)));
    return settle !== undefined;
  }

  async #callServer({ server, tool }: ClientTool, input: string, signal: AbortSignal): Promise<ToolOutcome> {
    const params = { name: tool, arguments: JSON.parse(input) as unknown };
    const { content, isError } = recordOf(await this.#request(server, 'tools/call', params, { limit: TOOL_LIMIT, signal }));
    const text = (Array.isArray(content) ? content : []).map((one) => recordOf(one).text ?? '').join('\n');
    return isError === true ? failed(text) : done(text, `${tool} ran.`);
  }

  async #request(
    server: string,
    method: string,
    params: object,
    how: { readonly limit: number; readonly signal?: AbortSignal },
  ): Promise<unknown> {
    this.#messages += 1;
    const { result, error } = recordOf(await this.#send(server, { jsonrpc: '2.0', id: this.#messages, method, params }, how));
    if (error !== undefined) throw new Error(String(recordOf(error).message ?? method));
    return result;
  }

  async #send(server: string, message: object, how: { readonly limit: number; readonly signal?: AbortSignal }): Promise<unknown> {
    const { mcp_response: answer } = recordOf(await this.ask('mcp_message', { server_name: server, message }, how));
    if (answer === undefined) throw new Error('the answer holds no mcp_response');
    return answer;
  }
}
