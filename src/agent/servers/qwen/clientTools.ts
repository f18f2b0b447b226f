import type { ToolOffer } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import { done, failed, type Outcome } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';
import { type Control, record } from './control.ts';

/** Milliseconds for one message to a tool server of the client (docs/protocols/qwen.md §3.6). */
const LIMIT = 30_000;

/** The tools the client lends, over `mcp_message` on the control channel. A server that fails has no tools. */
export class ClientTools {
  readonly #control: Control;
  readonly #offers = new Map<
    string,
    { readonly server: string; readonly tool: string; readonly full: string; readonly offer: ToolOffer }
  >();
  #ids = 0;

  constructor(control: Control) {
    this.#control = control;
  }

  get offers(): readonly ToolOffer[] {
    return [...this.#offers.values()].map((one) => one.offer);
  }

  /** What the client knows a tool by; undefined for tools that are not its own. */
  fullName(called: string): string | undefined {
    return this.#offers.get(called)?.full;
  }

  async connect(server: string, limit = LIMIT): Promise<void> {
    try {
      const clientInfo = { name: NAME, version: VERSION };
      await this.#request(server, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, limit);
      await this.#send(server, { jsonrpc: '2.0', method: 'notifications/initialized' }, limit);
      const { tools } = record(await this.#request(server, 'tools/list', {}, limit));
      for (const one of Array.isArray(tools) ? tools : []) {
        const { name, description, inputSchema } = record(one);
        if (typeof name !== 'string') continue;
        // The model sees the plain name where it is free; the client the one that says whose it is.
        const full = `mcp__${server}__${name}`;
        const called = takenNames.includes(name) || this.#offers.has(name) ? full : name;
        const offer = { name: called, description: typeof description === 'string' ? description : '', parameters: record(inputSchema) };
        this.#offers.set(called, { server, tool: name, full, offer });
      }
    } catch (error) {
      // Where nobody listens there is nobody who lends tools either.
      if (this.#control.ended) return;
      process.stderr.write(`parley-agent: the tools of "${server}" are not there: ${String(error)}\n`);
    }
  }

  async call(name: string, input: string, signal: AbortSignal): Promise<Outcome> {
    const known = this.#offers.get(name);
    if (!known) return failed(`The client has no tool "${name}".`);
    try {
      const params = { name: known.tool, arguments: JSON.parse(input) as unknown };
      const { content, isError } = record(await this.#request(known.server, 'tools/call', params, LIMIT, signal));
      const text = (Array.isArray(content) ? content : []).map((one) => record(one).text ?? '').join('\n');
      return isError === true ? failed(text) : done(text, `${known.tool} ran.`);
    } catch (error) {
      signal.throwIfAborted();
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #request(server: string, method: string, params: object, limit: number, signal?: AbortSignal): Promise<unknown> {
    this.#ids += 1;
    const { result, error } = record(await this.#send(server, { jsonrpc: '2.0', id: this.#ids, method, params }, limit, signal));
    if (error !== undefined) throw new Error(String(record(error).message ?? method));
    return result;
  }

  async #send(server: string, message: object, limit: number, signal?: AbortSignal): Promise<unknown> {
    const how = { limit, ...(signal === undefined ? {} : { signal }) };
    const { mcp_response: answer } = record(await this.#control.ask('mcp_message', { server_name: server, message }, how));
    if (answer === undefined) throw new Error('the answer holds no mcp_response');
    return answer;
  }
}
