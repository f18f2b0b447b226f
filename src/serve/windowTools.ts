import { Emitter, type Listen } from '../base/emitter.ts';
import { fromMeta } from '../protocols/ahp/codec.ts';
import type { ActiveClient, ClientTool } from '../protocols/ahp/state.ts';
import type { Confirmation, Tool, ToolAnswer } from '../protocols/ports.ts';
import type { SessionId } from '../session/model.ts';

/** A call of a tool that one window is to run. */
export interface WindowCall {
  readonly sessionId: SessionId;
  readonly callId: string;
  readonly clientId: string;
  readonly name: string;
  /** JSON. */
  readonly input: string;
}

/** Tools that windows offer the agents of their sessions, so that an agent in the host can use the editor (docs/protocols/ahp.md §8). */
export class WindowTools {
  readonly #offers = new Map<SessionId, readonly ActiveClient[]>();
  readonly #calls = new Map<string, { readonly call: WindowCall; readonly settle: (answer: ToolAnswer) => void }>();
  readonly #here = new Set<string>();
  readonly #asked = new Emitter<WindowCall>();
  readonly #withdrawn = new Emitter<WindowCall & { readonly why: string }>();
  #count = 0;

  readonly onCall: Listen<WindowCall> = this.#asked.listen;
  /** The agent has its answer without the window, which is to run nothing any more: it may come back. */
  readonly onWithdrawn: Listen<WindowCall & { readonly why: string }> = this.#withdrawn.listen;

  /** Names of the tools that the agent of a session has. */
  readonly #given = new Map<SessionId, ReadonlySet<string>>();

  /** Sets the current offers of a session's windows. An agent gets the tools offered when it starts. */
  offer(sessionId: SessionId, clients: readonly ActiveClient[]): void {
    this.#offers.set(sessionId, clients);
  }

  connected(clientId: string): void {
    this.#here.add(clientId);
  }

  /** Fails the pending calls of a window that disconnected. */
  disconnected(clientId: string): void {
    this.#here.delete(clientId);
    for (const { call } of this.#calls.values()) if (call.clientId === clientId) this.#withdraw(call, 'The window was closed.');
  }

  #withdraw(call: WindowCall, why: string): void {
    if (this.settle(call.callId, call.clientId, { ok: false, text: why })) this.#withdrawn.fire({ ...call, why });
  }

  /** Resolves a call. Returns false when it is not pending or belongs to another window. */
  settle(callId: string, clientId: string, answer: ToolAnswer): boolean {
    const known = this.#calls.get(callId);
    if (known?.call.clientId !== clientId) return false;
    this.#calls.delete(callId);
    known.settle(answer);
    return true;
  }

  /** Returns the tools of a session. Tools of the same name in two windows count as one. */
  toolsOf(sessionId: SessionId): readonly Tool[] {
    const byName = new Map<string, Tool>();
    for (const client of this.#offers.get(sessionId) ?? [])
      for (const tool of client.tools ?? []) if (!byName.has(tool.name)) byName.set(tool.name, this.#toolOf(sessionId, client, tool));
    return [...byName.values()];
  }

  /** The tools for an agent that starts now. */
  giveTools(sessionId: SessionId): readonly Tool[] {
    const tools = this.toolsOf(sessionId);
    this.#given.set(sessionId, new Set(tools.map(({ name }) => name)));
    return tools;
  }

  /** True when windows offer what the agent does not have. */
  hasMore(sessionId: SessionId): boolean {
    const given = this.#given.get(sessionId);
    return given !== undefined && this.toolsOf(sessionId).some(({ name }) => !given.has(name));
  }

  #toolOf(
    sessionId: SessionId,
    client: ActiveClient,
    { name, description = name, inputSchema = {}, annotations, _meta }: ClientTool,
  ): Tool {
    // The window asks for itself, or nothing has to be asked.
    const isHarmless = annotations?.readOnlyHint || fromMeta(_meta).asks;
    const confirm = (input: unknown): Confirmation => ({
      title: name,
      kind: 'other',
      detail: { type: 'mcp', server: client.displayName ?? 'VS Code', tool: name, input },
    });
    return {
      name,
      description,
      parameters: { type: 'object', ...inputSchema },
      ...(isHarmless ? {} : { confirm }),
      run: (input, signal) => this.#run(sessionId, name, input, signal),
    };
  }

  #run(sessionId: SessionId, name: string, input: unknown, signal: AbortSignal): Promise<ToolAnswer> {
    const clients = this.#offers.get(sessionId) ?? [];
    const client = clients.find(({ clientId, tools }) => this.#here.has(clientId) && tools?.some((tool) => tool.name === name));
    if (!client) return Promise.resolve({ ok: false, text: 'No window is open that can do this.' });
    this.#count += 1;
    const callId = `window-${this.#count}-${crypto.randomUUID().slice(0, 8)}`;
    const call = { sessionId, callId, clientId: client.clientId, name, input: JSON.stringify(input ?? {}) };
    return new Promise<ToolAnswer>((settle) => {
      this.#calls.set(callId, { call, settle });
      signal.addEventListener('abort', () => this.#withdraw(call, 'Cancelled.'), { once: true });
      this.#asked.fire(call);
    });
  }
}
