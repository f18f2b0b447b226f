import { inOneLine } from '../base/promptText.ts';
import { isRoot, ROOT } from '../protocols/ahp/codec.ts';
import { shortened, visibleText } from '../session/visible.ts';

/** Most channels that one client may follow at once. */
export const MOST_SUBSCRIPTIONS = 1000;
/** Characters of a client's name. */
const LONGEST_NAME = 80;
/** The end of the name of a window that another one of that name had joined before. */
const NUMBERED = / \d+$/;
/** Most past actions kept for reconnecting clients, and most UTF-16 units of them together. */
const MOST_KEPT = 20_000;
const MOST_KEPT_TEXT = 16 * 1024 * 1024;

/** The sending side of one connection. */
export interface ClientConnection {
  notify(method: string, params: object): void;
}
export interface HostClient {
  readonly peer: ClientConnection;
  readonly subscriptions: Set<string>;
  /** Absent until the client has introduced itself. */
  name?: ClientName;
}
export interface ClientName {
  readonly id: string;
  /** The window that it is of: a window of Parley has a connection for each of its sessions. */
  readonly window: string;
  /** As other clients see it. */
  readonly shown?: string;
}
/** The names of clients by their ids, empty for one that has said none. */
export interface KnownNames {
  get(id: string): string | undefined;
  set(id: string, name: string): void;
}
/** The client behind an action. */
export interface Origin {
  readonly clientId: string;
  readonly clientSeq: number;
}
interface SentAction {
  readonly channel: string;
  readonly serverSeq: number;
  readonly text: string;
}

/** Clients, their subscriptions, and the numbered actions sent to them (docs/protocols/ahp.md §1). One sequence for the whole host. */
export class Channels {
  readonly #clients = new Set<HostClient>();
  /** A client that comes back does not say its name again. */
  readonly #names: KnownNames;
  readonly #startedAt: number;
  #seq: number;
  #kept: SentAction[] = [];
  #keptText = 0;

  /** Each run of a host numbers from its own beginning, after all numbers of earlier runs: a client may come back with one of those. */
  constructor(startedAt: number, names: KnownNames) {
    this.#names = names;
    this.#startedAt = Math.trunc(startedAt);
    this.#seq = this.#startedAt;
  }

  get seq(): number {
    return this.#seq;
  }

  add(peer: ClientConnection): HostClient {
    const client: HostClient = { peer, subscriptions: new Set() };
    this.#clients.add(client);
    return client;
  }

  /** `said`: its program, as a client that comes back does not say again. */
  introduce(client: HostClient, id: string, window: string = id, said?: string): void {
    const sibling = [...this.#clients].find(({ name }) => name?.window === window && NUMBERED.test(name.shown ?? ''));
    const program = said === undefined ? undefined : shortened(visibleText(inOneLine(said)), LONGEST_NAME);
    const shown = this.#names.get(id) || sibling?.name?.shown || program || undefined;
    client.name = { id, window, ...(shown === undefined ? {} : { shown }) };
  }

  /** True for a client that has followed more than the root, in an earlier run, too. */
  knows(id: string): boolean {
    return this.#names.get(id) !== undefined;
  }

  remove(client: HostClient): void {
    this.#clients.delete(client);
  }

  isHere(clientId: string): boolean {
    return [...this.#clients].some(({ name }) => name?.id === clientId);
  }

  isFollowed(channel: string): boolean {
    return [...this.#clients].some((client) => this.follows(client, channel));
  }

  follows(client: HostClient, channel: string): boolean {
    return client.subscriptions.has(keyOf(channel));
  }

  /** False when the client follows too much already. */
  follow(client: HostClient, channel: string): boolean {
    const key = keyOf(channel);
    if (client.subscriptions.size >= MOST_SUBSCRIPTIONS && !client.subscriptions.has(key)) return false;
    client.subscriptions.add(key);
    if (key === ROOT) return true;
    this.#distinguish(client, key);
    if (client.name) this.#names.set(client.name.id, client.name.shown ?? '');
    return true;
  }

  /** Numbers a window that joins another one of the same name, so that their prompts are told apart. */
  #distinguish(client: HostClient, key: string): void {
    const { name } = client;
    if (name?.shown === undefined) return;
    const others = [...this.#clients].filter((one) => one.name && one.name.window !== name.window);
    if (!others.some((one) => one.subscriptions.has(key) && one.name?.shown === name.shown)) return;
    const program = name.shown.replace(NUMBERED, '');
    const taken = new Set(others.map((one) => one.name?.shown));
    let number = 2;
    while (taken.has(`${program} ${number}`)) number += 1;
    client.name = { ...name, shown: `${program} ${number}` };
  }

  unfollow(client: HostClient, channel: string): void {
    client.subscriptions.delete(keyOf(channel));
  }

  /** Sends to all subscribers of the channel, including the originator. */
  publish(channel: string, action: object, origin?: Origin): void {
    this.#seq += 1;
    const params = { channel, action, serverSeq: this.#seq, ...(origin ? { origin } : {}) };
    this.#keep({ channel: keyOf(channel), serverSeq: this.#seq, text: JSON.stringify(params) });
    this.#send(channel, 'action', params);
  }

  publishRoot(action: object): void {
    this.publish(ROOT, action);
  }

  /** Tells only the client itself that its action was rejected. */
  refuse(client: HostClient, channel: string, action: object, origin: Origin, rejectionReason: string): void {
    const params = { channel, action, serverSeq: this.#seq, origin, rejectionReason };
    client.peer.notify('action', params);
  }

  /** Notifies all subscribers of the root; not numbered and not replayed. */
  notify(method: string, params: object): void {
    this.#send(ROOT, method, { channel: ROOT, ...params });
  }

  /** True for a number that this run may have given out. */
  isOfThisRun(seq: number): boolean {
    return seq >= this.#startedAt && seq <= this.#seq;
  }

  /** Returns the actions on these channels after that number; undefined when some of them are no longer stored. */
  since(seq: number, channels: readonly string[]): readonly unknown[] | undefined {
    const first = this.#kept[0]?.serverSeq ?? this.#seq + 1;
    if (seq > this.#seq || seq < first - 1) return undefined;
    const wanted = new Set(channels.map(keyOf));
    return this.#kept.filter((one) => one.serverSeq > seq && wanted.has(one.channel)).map((one) => JSON.parse(one.text));
  }

  #send(channel: string, method: string, params: object): void {
    const key = keyOf(channel);
    for (const { peer, subscriptions } of this.#clients) if (subscriptions.has(key)) peer.notify(method, params);
  }

  #keep(one: SentAction): void {
    this.#kept.push(one);
    this.#keptText += one.text.length;
    if (this.#kept.length <= MOST_KEPT && this.#keptText <= MOST_KEPT_TEXT) return;
    const half = this.#kept.slice(Math.ceil(this.#kept.length / 2));
    this.#kept = half;
    this.#keptText = half.reduce((sum, { text }) => sum + text.length, 0);
  }
}

function keyOf(channel: string): string {
  return isRoot(channel) ? ROOT : channel;
}
