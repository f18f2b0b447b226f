import assert from 'node:assert/strict';
import { reduceChangeset, reduceChat, reduceSession, reduceTerminal } from '../../src/protocols/ahp/reduce.ts';
import type {
  ChangesetAction,
  ChangesetState,
  ChatAction,
  ChatState,
  SessionAction,
  SessionState,
  TerminalAction,
  TerminalState,
} from '../../src/protocols/ahp/state.ts';
import type { AgentHost, Connection } from '../../src/serve/host.ts';

interface Envelope {
  readonly channel: string;
  readonly action: { readonly type: string };
  readonly serverSeq: number;
  readonly origin?: { readonly clientId: string; readonly clientSeq: number };
  readonly rejectionReason?: string;
}
interface Snapshot {
  readonly resource: string;
  readonly state: unknown;
  readonly fromSeq: number;
}
/** A client that holds what it was told: a snapshot, and the actions after it, in their order. */
export class AhpClient {
  readonly chats = new Map<string, ChatState>();
  readonly sessions = new Map<string, SessionState>();
  readonly changesets = new Map<string, ChangesetState>();
  readonly terminals = new Map<string, TerminalState>();
  readonly refusals: string[] = [];
  readonly notified: { readonly method: string; readonly params: Record<string, unknown> }[] = [];
  readonly envelopes: Envelope[] = [];
  readonly #host: Pick<AgentHost, 'connect'>;
  #connection: Connection | undefined;
  #clientSeq = 0;
  seen = 0;

  constructor(host: Pick<AgentHost, 'connect'>) {
    this.#host = host;
  }

  connect(): void {
    this.#connection = this.#host.connect({ notify: (method, params) => this.#receive(method, structuredClone(params)) });
  }

  /** The same client, with all it holds, before another host. */
  elsewhere(host: Pick<AgentHost, 'connect'>): AhpClient {
    const other = new AhpClient(host);
    other.seen = this.seen;
    for (const held of ['chats', 'sessions'] as const) for (const [name, state] of this[held]) other[held].set(name, state as never);
    return other;
  }

  /** A connection that is lost for the client only: the host has not noticed. */
  lose(): Connection {
    const lost = this.#connection;
    assert.ok(lost);
    this.#connection = undefined;
    return lost;
  }

  disconnect(): void {
    this.#connection?.closed();
    this.#connection = undefined;
  }

  async open(clientId = 'window-1', name = 'Test'): Promise<void> {
    this.connect();
    const params = { protocolVersions: ['0.9.0', '0.7.0'], clientId, clientInfo: { name }, initialSubscriptions: ['ahp-root://'] };
    const { serverSeq } = (await this.ask('initialize', params)) as { serverSeq: number };
    this.seen = serverSeq;
  }

  /** Rejects with the error's code and words. */
  async ask(method: string, params: object = {}): Promise<unknown> {
    try {
      return structuredClone(await this.#connection?.asked(method, { channel: 'ahp-root://', ...params }));
    } catch (error) {
      const { code, message, data } = error as { readonly code?: number; readonly message: string; readonly data?: unknown };
      throw Object.assign(new Error(`${code} ${message}`), { data });
    }
  }

  async notify(method: string, params: unknown): Promise<void> {
    await this.#connection?.notified(method, params);
  }

  async subscribe(channel: string): Promise<void> {
    const { snapshot } = (await this.ask('subscribe', { channel })) as { snapshot: Snapshot };
    this.#take(snapshot);
  }

  /** Comes back with what it has seen. True when the missed actions were told, false for new snapshots. */
  async reconnect(): Promise<boolean> {
    this.connect();
    const held = [this.sessions, this.chats, this.changesets, this.terminals].flatMap((one) => [...one.keys()]);
    const subscriptions = ['ahp-root://', ...held];
    const found = (await this.ask('reconnect', { clientId: 'window-1', lastSeenServerSeq: this.seen, subscriptions })) as {
      type: string;
      actions?: readonly Envelope[];
      snapshots?: readonly Snapshot[];
    };
    for (const envelope of found.actions ?? []) this.#apply(envelope);
    for (const snapshot of found.snapshots ?? []) this.#take(snapshot);
    return found.type === 'replay';
  }

  async dispatch(channel: string, action: object): Promise<void> {
    this.#clientSeq += 1;
    const params = { channel, clientSeq: this.#clientSeq, action };
    await this.notify('dispatchAction', params);
  }

  #receive(method: string, params: unknown): void {
    if (method === 'action') this.#apply(params as Envelope);
    else this.notified.push({ method, params: params as Record<string, unknown> });
  }

  #take({ resource, state, fromSeq }: Snapshot): void {
    this.seen = Math.max(this.seen, fromSeq);
    if (resource.startsWith('ahp-terminal:')) this.terminals.set(resource, state as TerminalState);
    else if (resource.includes('/changeset/')) this.changesets.set(resource, state as ChangesetState);
    else if (resource.startsWith('ahp-chat:')) this.chats.set(resource, state as ChatState);
    else if (!resource.startsWith('ahp-root')) this.sessions.set(resource, state as SessionState);
  }

  #apply(envelope: Envelope): void {
    const { channel, action, serverSeq, rejectionReason } = envelope;
    if (rejectionReason !== undefined) return void this.refusals.push(rejectionReason);
    this.envelopes.push(envelope);
    assert.ok(serverSeq > this.seen, `${serverSeq} after ${this.seen}`);
    this.seen = serverSeq;
    const chat = this.chats.get(channel);
    if (chat) this.chats.set(channel, reduceChat(chat, action as ChatAction));
    const changeset = this.changesets.get(channel);
    if (changeset) this.changesets.set(channel, reduceChangeset(changeset, action as ChangesetAction));
    const terminal = this.terminals.get(channel);
    if (terminal) this.terminals.set(channel, reduceTerminal(terminal, action as TerminalAction));
    const session = this.sessions.get(channel);
    if (session) this.sessions.set(channel, reduceSession(session, action as SessionAction));
  }
}
