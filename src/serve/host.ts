import * as z from 'zod/mini';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { messageOf } from '../base/log.ts';
import type { FileEffects } from '../live/review/changeSet.ts';
import type { ChangeSets } from '../live/review/changeSets.ts';
import { isRoot, ROOT } from '../protocols/ahp/codec.ts';
import type { RootState } from '../protocols/ahp/state.ts';
import type { SessionEvent } from '../session/events.ts';
import {
  changedTextPlace,
  changesetPlace,
  contentPlace,
  isChatName,
  isFolder,
  isSessionName,
  pathOfUri,
  terminalPlace,
} from './addresses.ts';
import { textsAmong } from './attachments.ts';
import { Changesets } from './changesets.ts';
import { Channels, type ClientConnection, type HostClient, type KnownNames, MOST_SUBSCRIPTIONS, type Origin } from './channels.ts';
import { attachedUris, decideChat, decideSession, isKnownAction, offered, UNKNOWN } from './decide.ts';
import { type Hosted, type HostedDeps, HostedSessions, sessionOf } from './hosted.ts';
import { shownText } from './translate.ts';

/** Milliseconds to collect changes before sending them to clients; the first change after a pause, or of a turn, goes out at once. */
const GATHER = 16;
/** Milliseconds after which a client whose connection was lost does not come back. */
const COMES_BACK_WITHIN = 60_000;
/** Sessions without a prompt, of all clients. */
const MOST_DRAFTS = 2000;
/** Sessions on one page of a list. */
const PAGE = 200;
const TOO_MANY = 'You follow too many channels.';
/** Protocol versions with the supported message shapes. */
const SPOKEN = /^(?:0\.9|1\.\d+)\.\d+(?:-[\w.]+)?$/;

/** Of the included agent (docs/servers.md). */
const MODEL_VARIABLE = /^PARLEY_(?:LOCALE|MODEL_[A-Z_]+)$/;

/** Methods that clients offer their users all the same (docs/protocols/ahp.md §8). */
const NOT_SERVED: ReadonlyMap<string, string> = new Map([
  ['createTerminal', 'Clients cannot open terminals here: Parley shows those of its agents.'],
]);

/** Errors of JSON-RPC and of the protocol (docs/protocols/ahp.md §1). */
const CODES = {
  request: -32600,
  method: -32601,
  params: -32602,
  noSession: -32001,
  noProvider: -32002,
  exists: -32003,
  version: -32005,
  notFound: -32008,
} as const;

/** The error response to a request. */
export class RequestError extends Error {
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: keyof typeof CODES, message: string, data?: object) {
    super(message);
    this.code = CODES[code];
    this.data = data;
  }
}

export interface HostDeps extends Omit<HostedDeps, 'channels'> {
  readonly clientNames: KnownNames;
  readonly changeSets: ChangeSets;
  readonly effects: FileEffects;
  readonly version: string;
  /** Variables for agents of that profile that start from now on. */
  readonly environment: (profileId: string, env: Readonly<Record<string, string | undefined>>) => void;
}

/** Characters of the name of a member in a refusal. */
const LONGEST_NAME = 100;

/** What another Parley says of itself: the window behind the connection. */
const said = z.optional(z.looseObject({ parley: z.optional(z.looseObject({ window: z.optional(z.string()) })) }));

const shapes = {
  dispatch: z.looseObject({ channel: z.string(), clientSeq: z.number(), action: z.looseObject({ type: z.string() }) }),
  initialize: z.looseObject({
    protocolVersions: z.array(z.string()),
    clientId: z.string(),
    clientInfo: z.optional(z.looseObject({ name: z.optional(z.string()), title: z.optional(z.string()) })),
    initialSubscriptions: z.optional(z.array(z.string())),
    _meta: said,
  }),
  reconnect: z.looseObject({ clientId: z.string(), lastSeenServerSeq: z.number(), subscriptions: z.array(z.string()), _meta: said }),
  channel: z.looseObject({ channel: z.string() }),
  create: z.looseObject({
    channel: z.string(),
    provider: z.string(),
    workingDirectories: z.optional(z.array(z.string())),
    config: z.optional(z.record(z.string(), z.unknown())),
  }),
  createChat: z.looseObject({
    channel: z.string(),
    chat: z.string(),
    source: z.optional(z.looseObject({ kind: z.string(), chat: z.string(), turnId: z.optional(z.string()) })),
  }),
  provider: z.looseObject({ provider: z.string(), config: z.optional(z.record(z.string(), z.unknown())) }),
  read: z.looseObject({ uri: z.string(), encoding: z.optional(z.string()) }),
  completions: z.looseObject({ channel: z.string(), text: z.string(), offset: z.number() }),
  operation: z.looseObject({
    channel: z.string(),
    operationId: z.enum(['keep', 'undo']),
    target: z.optional(z.looseObject({ kind: z.literal('resource'), resource: z.string() })),
  }),
  reviewed: z.looseObject({ files: z.array(z.string()), reviewed: z.boolean() }),
  environment: z.looseObject({ agent: z.string(), env: z.record(z.string(), z.nullable(z.string())) }),
  list: z.looseObject({ limit: z.optional(z.number()), cursor: z.optional(z.string()) }),
};

/** One connection of a client, from its first message to its end. Handles one message at a time. */
export interface Connection {
  /** Rejects with a `RequestError`, or with another error for an internal fault. */
  asked(method: string, params: unknown): Promise<unknown>;
  /** Never rejects. */
  notified(method: string, params: unknown): Promise<void>;
  closed(): void;
}

export interface AgentHost extends Disposable {
  connect(peer: ClientConnection): Connection;
  /** Restores the sessions of earlier runs. */
  restore(): Promise<void>;
  /** The agents may have been configured anew. */
  agentsChanged(): void;
}

/** The sessions of this process for clients of the Agent Host Protocol (docs/protocols/ahp.md): a surface, as the chat view is one. */
export function agentHost(deps: HostDeps): AgentHost {
  const channels = new Channels(deps.now(), deps.clientNames);
  const hosted = new HostedSessions({ ...deps, channels });
  const life = new Lifetime();
  const changesets = life.own(new Changesets(deps.changeSets, deps.effects, channels, deps.log));
  const leaving = new Map<string, NodeJS.Timeout>();
  let timer: NodeJS.Timeout | undefined;
  let flushedAt = Number.NEGATIVE_INFINITY;
  const flush = () => {
    clearTimeout(timer);
    hosted.flush();
  };
  const flushGathered = () => {
    flushedAt = performance.now();
    flush();
  };
  const flushAtOnce = () => {
    flushedAt = Number.NEGATIVE_INFINITY;
    flush();
  };
  life.own(
    deps.sessions.onChange((id, { event }) => {
      const isFirst = hosted.changed(id);
      if (isUrgent(event)) {
        // A rule may answer the ask at once, so that no user is asked.
        if (event.type !== 'ask.opened') return flushAtOnce();
        clearTimeout(timer);
        timer = setTimeout(flush, 0);
      } else if (isFirst) timer = setTimeout(flushGathered, performance.now() - flushedAt < GATHER ? GATHER : 0);
    }),
  );
  life.own({ dispose: () => clearTimeout(timer) });
  life.own(deps.windowTools.onCall((call) => hosted.runInWindow(call)));
  life.own(deps.windowTools.onWithdrawn((call) => hosted.endInWindow(call)));
  return {
    connect: (peer) => {
      const client = channels.add(peer);
      const served = new ClientRequests(deps, channels, hosted, changesets, client);
      return {
        asked: (method, params) => served.asked(method, params),
        notified: (method, params) => served.notified(method, params),
        closed: () => {
          channels.remove(client);
          const { name } = client;
          // A client that came back may be here before its lost connection is given up.
          if (!name || channels.isHere(name.id)) return;
          deps.windowTools.disconnected(name.id);
          const late = () => {
            leaving.delete(name.id);
            return channels.isHere(name.id) ? undefined : hosted.left(name.id);
          };
          const left = () => void late()?.catch((error: unknown) => deps.log.error('An empty session stays', error));
          // It may have been here in between.
          clearTimeout(leaving.get(name.id));
          leaving.set(name.id, setTimeout(left, COMES_BACK_WITHIN).unref());
        },
      };
    },
    restore: () => hosted.restore(),
    agentsChanged: () => hosted.agentsChanged(),
    dispose: () => life.dispose(),
  };
}

/** True for events that clients wait for; the others come in great numbers. */
function isUrgent({ type }: SessionEvent): boolean {
  return /^(?:turn\.(?:started|ended)|ask\.|link\.)/.test(type);
}

/** Handles the requests of one client. */
class ClientRequests {
  readonly #deps: HostDeps;
  readonly #channels: Channels;
  readonly #hosted: HostedSessions;
  readonly #changesets: Changesets;
  readonly #client: HostClient;
  /** The last number that a client has seen which came back unknown. */
  #seenBefore: number | undefined;

  constructor(deps: HostDeps, channels: Channels, hosted: HostedSessions, changesets: Changesets, client: HostClient) {
    this.#deps = deps;
    this.#channels = channels;
    this.#hosted = hosted;
    this.#changesets = changesets;
    this.#client = client;
  }

  async notified(method: string, params: unknown): Promise<void> {
    try {
      await this.#answer(method, params, false);
    } catch (error) {
      this.#deps.log.warn(`A client's "${method}" was not taken: ${messageOf(error)}`);
    }
  }

  async asked(method: string, params: unknown): Promise<unknown> {
    return (await this.#answer(method, params, true)) ?? null;
  }

  async #answer(method: string, params: unknown, isAsked: boolean): Promise<unknown> {
    if (method === 'ping') return null;
    if (method === 'initialize') return this.#initialize(decoded(shapes.initialize, params));
    if (method === 'reconnect') return this.#reconnect(decoded(shapes.reconnect, params));
    if (!this.#client.name) throw new RequestError('request', 'Say "initialize" first.');
    switch (method) {
      case 'dispatchAction':
        return this.#dispatch(decoded(shapes.dispatch, params));
      case 'subscribe':
        return this.#subscribe(decoded(shapes.channel, params).channel);
      case 'unsubscribe':
        this.#channels.unfollow(this.#client, decoded(shapes.channel, params).channel);
        return null;
      case 'listSessions':
        return this.#list(decoded(shapes.list, params));
      case 'resolveSessionConfig':
        // An agent's offers are known only after a run, and this request must not start one.
        return this.#config(decoded(shapes.provider, params));
      case 'createSession':
        return this.#create(decoded(shapes.create, params));
      case 'disposeSession':
        return this.#dispose(this.#known(decoded(shapes.channel, params).channel));
      case 'createChat':
        return this.#createChat(decoded(shapes.createChat, params));
      case 'disposeChat':
        return this.#disposeChat(this.#known(decoded(shapes.channel, params).channel));
      case 'invokeChangesetOperation':
        return this.#invoke(decoded(shapes.operation, params));
      case 'resourceRead':
        return this.#read(decoded(shapes.read, params));
      case 'completions':
        return this.#completions(decoded(shapes.completions, params));
      case 'parley/environment':
        return this.#environment(decoded(shapes.environment, params));
      case 'authenticate':
      case 'fetchTurns':
        return {};
      default:
        if (!isAsked) return null;
        throw new RequestError('method', NOT_SERVED.get(method) ?? `Parley does not serve "${method}".`);
    }
  }

  async #initialize({ protocolVersions, clientId, clientInfo, initialSubscriptions = [], _meta }: z.infer<typeof shapes.initialize>) {
    const protocolVersion = highest(protocolVersions);
    if (protocolVersion === undefined)
      throw new RequestError('version', 'Parley speaks the versions 0.9 and 1.', { supportedVersions: ['^0.9.0', '^1.0.0'] });
    this.#channels.introduce(this.#client, clientId, _meta?.parley?.window, clientInfo?.title ?? clientInfo?.name);
    this.#deps.windowTools.connected(clientId);
    const seen = this.#seenBefore;
    return {
      protocolVersion,
      serverSeq: this.#channels.seq,
      serverInfo: { name: 'Parley', version: this.#deps.version },
      snapshots:
        seen === undefined
          ? await this.#snapshots(initialSubscriptions)
          : await this.#snapshots(this.#missed(seen, each(initialSubscriptions)).known, 'leave out what is gone'),
      completionTriggerCharacters: ['/', '@'],
    };
  }

  /** Resumes a client. One that is not known introduces itself again, as before VS Code's own host. */
  async #reconnect({ clientId, lastSeenServerSeq, subscriptions: named, _meta }: z.infer<typeof shapes.reconnect>) {
    const subscriptions = each(named);
    if (!this.#channels.knows(clientId)) {
      this.#seenBefore = lastSeenServerSeq;
      throw new RequestError('notFound', 'The host does not know this client. Say "initialize" instead.');
    }
    this.#channels.introduce(this.#client, clientId, _meta?.parley?.window);
    this.#deps.windowTools.connected(clientId);
    const actions = this.#channels.since(lastSeenServerSeq, subscriptions);
    const { known, gone } = this.#missed(lastSeenServerSeq, subscriptions);
    if (!actions) return { type: 'snapshot', snapshots: await this.#snapshots(known, 'leave out what is gone') };
    for (const channel of known) this.#channels.follow(this.#client, channel);
    return { type: 'replay', actions, missing: gone };
  }

  /** Tells a client that comes back how its list has changed. Returns which of its channels are there. */
  #missed(seen: number, subscriptions: readonly string[]) {
    const known = subscriptions.filter((channel) => isRoot(channel) || this.#find(channel));
    const gone = subscriptions.filter((channel) => !known.includes(channel));
    // Empty sessions do not survive a restart.
    for (const session of gone) this.#client.peer.notify('root/sessionRemoved', { channel: ROOT, session });
    for (const { method, params } of this.#hosted.listChanges(seen)) this.#client.peer.notify(method, { channel: ROOT, ...params });
    return { known, gone };
  }

  async #snapshots(channels: readonly string[], gone?: 'leave out what is gone'): Promise<readonly object[]> {
    const prepared: (() => object)[] = [];
    for (const channel of each(channels)) {
      const snapshot = await this.#prepare(channel).catch((error: unknown) => {
        if (gone && error instanceof RequestError) return undefined;
        throw error;
      });
      if (snapshot) prepared.push(snapshot);
    }
    // All at once: actions between them would reach the client before its answer.
    return prepared.flatMap((snapshot) => {
      try {
        return snapshot();
      } catch (error) {
        if (gone && error instanceof RequestError) return [];
        throw error;
      }
    });
  }

  /** Tells a client its name, too: others see its prompts by it. */
  async #subscribe(channel: string): Promise<object> {
    const snapshot = (await this.#prepare(channel))();
    const client = this.#client.name?.shown;
    return { snapshot, ...(client === undefined ? {} : { _meta: { client } }) };
  }

  /** Reads what a snapshot of the channel needs. The client follows the channel from the moment at which the snapshot is made. */
  async #prepare(channel: string): Promise<() => object> {
    const hosted = isRoot(channel) ? undefined : await this.#hosted.shown(this.#known(channel));
    const scope = hosted && this.#scope(channel, hosted);
    const printed = hosted && (await this.#printed(channel, hosted));
    if (scope) this.#follow(channel);
    const changes = scope && (await this.#changesets.shown(channel, scope));
    return () => {
      this.#follow(channel);
      const root: RootState = { agents: this.#hosted.agents() };
      const state = printed?.() ?? changes ?? (hosted ? (hosted.chat.resource === channel ? hosted.chat : sessionOf(hosted).state) : root);
      return { resource: channel, state, fromSeq: this.#channels.seq };
    };
  }

  #follow(channel: string): void {
    if (!this.#channels.follow(this.#client, channel)) throw new RequestError('params', TOO_MANY);
  }

  #known(channel: string): Hosted {
    const hosted = this.#find(channel);
    if (!hosted) throw new RequestError('noSession', 'There is no such session.');
    return hosted;
  }

  /** Returns the state of a terminal at response time; undefined for other channels. */
  async #printed(channel: string, hosted: Hosted) {
    const place = terminalPlace(channel);
    if (!place) return undefined;
    const stored = this.#hosted.session(hosted) ?? (await this.#hosted.stored(hosted));
    return () => {
      const session = this.#hosted.session(hosted) ?? stored;
      const state = session && this.#hosted.terminal(hosted, session, place.terminalId);
      if (state) return state;
      this.#channels.unfollow(this.#client, channel);
      throw new RequestError('notFound', 'There is no such terminal.');
    };
  }

  /** Finds a session by its own address or that of its chat, changesets or terminals. */
  #find(channel: string): Hosted | undefined {
    const terminal = terminalPlace(channel);
    if (terminal) return this.#hosted.byId(terminal.sessionId);
    return this.#hosted.find(changesetPlace(channel)?.session ?? channel);
  }

  /** Returns the scope of a changeset channel; undefined for the session's other channels. */
  #scope(channel: string, hosted: Hosted) {
    const place = changesetPlace(channel);
    if (!place) return undefined;
    const { turnId } = place;
    if (turnId === undefined) return { id: hosted.id, cwd: hosted.cwd, turnId };
    const owner = this.#hosted.chatWith(hosted, turnId);
    if (!owner) throw new RequestError('notFound', 'There is no such turn.');
    return { id: owner.id, cwd: owner.cwd, turnId: owner.retries.sessionTurn(turnId) };
  }

  async #invoke({ channel, operationId, target }: z.infer<typeof shapes.operation>) {
    const scope = this.#scope(channel, this.#known(channel));
    if (!scope) throw new RequestError('params', 'That is no changeset.');
    try {
      await this.#changesets.invoke(scope, operationId, target?.resource);
    } catch (error) {
      throw new RequestError('request', messageOf(error));
    }
    return {};
  }

  async #dispose(hosted: Hosted): Promise<null> {
    if (hosted.forkOf) return this.#disposeChat(hosted);
    await this.#hosted.remove(hosted);
    this.#changesets.forget(hosted.id);
    return null;
  }

  /** A further chat of a session is a copy of one that is there. */
  async #createChat({ channel, chat, source }: z.infer<typeof shapes.createChat>): Promise<null> {
    const session = this.#known(channel);
    if (source?.kind !== 'fork')
      throw new RequestError('request', 'A session has further chats only as forks here. Begin a new session instead.');
    const of = this.#known(source.chat);
    if (of.uri !== session.uri) throw new RequestError('params', 'That chat is of another session.');
    if (this.#find(chat)) throw new RequestError('exists', 'There is such a chat already.');
    if (!isChatName(chat)) throw new RequestError('params', 'This is no name for a chat: a good one is ahp-chat://<uuid>/<session>.');
    await this.#hosted.shown(of);
    try {
      await this.#hosted.fork(of, chat, source.turnId ?? of.chat.turns.at(-1)?.id ?? '');
    } catch (error) {
      throw new RequestError('request', messageOf(error));
    }
    return null;
  }

  async #disposeChat(hosted: Hosted): Promise<null> {
    if (!hosted.forkOf) throw new RequestError('request', 'This is the only chat of its session. Delete the session instead.');
    await this.#hosted.removeFork(hosted);
    this.#changesets.forget(hosted.id);
    return null;
  }

  #list({ limit = PAGE, cursor = '0' }: z.infer<typeof shapes.list>) {
    const from = Math.max(0, Math.trunc(Number(cursor)) || 0);
    const all = this.#hosted.list();
    const to = from + Math.min(PAGE, Math.max(1, Math.trunc(limit)));
    return { items: all.slice(from, to), ...(to < all.length ? { nextCursor: String(to) } : {}) };
  }

  #config({ provider, config = {} }: z.infer<typeof shapes.provider>) {
    const profile = this.#hosted.profileOf(provider);
    if (!profile) throw new RequestError('noProvider', `There is no agent "${provider}".`);
    const known = this.#hosted.config(profile);
    return { ...known, values: { ...known.values, ...offered(config, known) } };
  }

  #create({ channel, provider, workingDirectories = [], config = {} }: z.infer<typeof shapes.create>): null {
    const profile = this.#hosted.profileOf(provider);
    if (!profile) throw new RequestError('noProvider', `There is no agent "${provider}".`);
    if (this.#hosted.find(channel)) throw new RequestError('exists', 'There is such a session already.');
    if (channel.length > 500) throw new RequestError('params', 'The name is too long.');
    if (!isSessionName(channel)) throw new RequestError('params', `This is no name for a session: a good one is ${provider}:/<uuid>.`);
    if (this.#hosted.drafts >= MOST_DRAFTS) throw new RequestError('request', 'There are too many empty sessions.');
    const cwd = profile.cwd ?? pathOfUri(workingDirectories[0] ?? '');
    if (cwd === undefined) throw new RequestError('params', 'A session needs a folder of this computer, by its address.');
    if (!isFolder(cwd)) throw new RequestError('params', `There is no folder ${cwd} on this computer.`);
    this.#hosted.create(channel, profile, cwd, this.#client.name?.id ?? '', offered(config, this.#hosted.config(profile)));
    return null;
  }

  /** Takes the model that a window's user chose for the included agent, with its key, which no file holds. */
  #environment({ agent, env }: z.infer<typeof shapes.environment>): null {
    const profile = this.#hosted.profileOf(agent);
    if (!profile) throw new RequestError('noProvider', `There is no agent "${agent}".`);
    const known = Object.entries(env).flatMap(([name, value]) => (MODEL_VARIABLE.test(name) ? [[name, value ?? undefined] as const] : []));
    this.#deps.environment(profile.id, Object.fromEntries(known));
    return null;
  }

  async #dispatch({ channel, clientSeq, action }: z.infer<typeof shapes.dispatch>): Promise<null> {
    const clientId = this.#client.name?.id ?? '';
    const origin = { clientId, clientSeq };
    // Ignores the client's own settings, such as its automatic approvals: Parley's rules decide.
    if (isRoot(channel)) return null;
    const hosted = this.#find(channel);
    if (!hosted) {
      this.#channels.refuse(this.#client, channel, action, origin, 'There is no such session.');
      return null;
    }
    if (changesetPlace(channel) || terminalPlace(channel)) return this.#mark(channel, hosted, action, origin);
    const isChat = action.type.startsWith('chat/');
    const attached = await this.#attached(action);
    // A client may write into a chat that nobody has followed since the host was started.
    if (isChat && hosted.agent.kind === 'none') await this.#hosted.shown(hosted);
    const session = this.#hosted.session(hosted);
    // VS Code renames a session by the channel of its chat.
    const isName = action.type === 'session/titleChanged' && channel === hosted.chat.resource;
    if (channel !== (isChat ? hosted.chat.resource : hosted.uri) && !isName) {
      this.#channels.refuse(
        this.#client,
        channel,
        action,
        origin,
        isKnownAction(action.type) ? 'This is not the channel for that.' : UNKNOWN,
      );
      return null;
    }
    const sender = this.#client.name?.shown;
    const { chat, steered, takenBack } = hosted;
    const keptTurns = hosted.kept.get(clientId);
    const spoken = hosted.speakers.has(clientId) ? { hasSpoken: true as const } : {};
    const kept = keptTurns === undefined ? spoken : { keptTurns, ...spoken };
    const known = { ...(session ? { session } : {}), ...(takenBack === undefined ? {} : { takenBack }), ...kept };
    const follows = this.#channels.follows(this.#client, channel);
    const held = {
      chat,
      steered,
      follows,
      ...(sender === undefined ? {} : { sender }),
      clientId,
      now: this.#deps.now(),
      attached,
      ...known,
    };
    const decision = isChat ? decideChat(action, held) : decideSession(action, sessionOf(hosted).state, held);
    if (decision.kind === 'refused' && decision.keepsTurns !== undefined) hosted.kept.set(clientId, decision.keepsTurns);
    if (decision.kind === 'refused') this.#channels.refuse(this.#client, channel, action, origin, decision.why);
    else if (decision.kind === 'taken') this.#hosted.take(hosted, decision, origin);
    await this.#hosted.renamed;
    return null;
  }

  #mark(channel: string, hosted: Hosted, action: { readonly type: string }, origin: Origin): null {
    const scope = this.#scope(channel, hosted);
    const marks = shapes.reviewed.safeParse(action);
    if (action.type !== 'changeset/filesReviewChanged' || !marks.success || !scope || scope.turnId !== undefined) {
      this.#channels.refuse(this.#client, channel, action, origin, 'That is not for a client to change.');
      return null;
    }
    const marked = this.#changesets.mark(channel, scope, marks.data, origin);
    marked.catch((error: unknown) => this.#deps.log.error('Files could not be marked as reviewed', error));
    return null;
  }

  /** Reads only content that a session shows, and no other files of the computer. */
  async #read({ uri, encoding }: z.infer<typeof shapes.read>) {
    const text = await this.#text(uri);
    if (typeof text !== 'string') throw new RequestError('notFound', 'There is no such content.');
    const isBase64 = encoding === 'base64';
    return {
      data: isBase64 ? Buffer.from(text).toString('base64') : text,
      encoding: isBase64 ? 'base64' : 'utf-8',
      contentType: 'text/plain',
    };
  }

  /** Returns the texts of this host that the message of an action attaches, by their addresses as they came. */
  async #attached(action: unknown): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    for (const [given, own] of textsAmong(attachedUris(action))) {
      const text = await this.#text(own);
      if (typeof text === 'string') texts.set(given, text);
    }
    return texts;
  }

  async #text(uri: string): Promise<string | null | undefined> {
    return (await this.#changedText(uri)) ?? (await this.#shownText(uri));
  }

  async #changedText(uri: string): Promise<string | undefined> {
    const place = changedTextPlace(uri);
    const hosted = place && this.#hosted.byId(place.sessionId);
    return hosted && this.#changesets.text(place, hosted.id, hosted.cwd);
  }

  async #shownText(uri: string): Promise<string | null | undefined> {
    const place = contentPlace(uri);
    const hosted = place && this.#hosted.byId(place.sessionId);
    const session = hosted && (this.#hosted.session(hosted) ?? (await this.#hosted.stored(hosted)));
    return place && session && shownText(session, place);
  }

  async #completions({ channel, text, offset }: z.infer<typeof shapes.completions>) {
    const live = this.#deps.sessions.get(this.#known(channel).id);
    if (!live) return { items: [] };
    const typed = text.slice(0, offset);
    const commands = /^\/[^\s]*$/.test(typed) ? live.store.now.commands.filter(({ name }) => `/${name}`.startsWith(typed)) : [];
    const named = commands.map(({ name, description }) => ({
      insertText: `/${name} `,
      rangeStart: 0,
      rangeEnd: offset,
      // VS Code offers what names a command only (docs/protocols/ahp.md §4).
      attachment: { type: 'simple', label: `/${name}`, _meta: { command: name, description } },
    }));
    return { items: named };
  }
}

function decoded<T extends z.ZodMiniType>(shape: T, params: unknown): z.infer<T> {
  const found = shape.safeParse(params);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw new RequestError('params', issue ? problemWords(issue, params) : '');
}

/** Says which member is missing or of another kind; the library's own words are in no bundle. */
function problemWords(issue: z.core.$ZodIssue, params: unknown): string {
  const value = issue.path.reduce((of: unknown, key) => (typeof of === 'object' && of !== null ? Reflect.get(of, key) : undefined), params);
  const name = issue.path.join('.').slice(0, LONGEST_NAME) || 'params';
  if (value === undefined) return `"${name}" is missing.`;
  return issue.code === 'invalid_type' ? `"${name}" has to be of the type ${issue.expected}.` : `"${name}" has no such value.`;
}

/** Returns each of the channels once: a snapshot may be large. */
function each(channels: readonly string[]): readonly string[] {
  const different = [...new Set(channels)];
  if (different.length > MOST_SUBSCRIPTIONS) throw new RequestError('params', TOO_MANY);
  return different;
}

/** Returns the highest version that both sides support. */
function highest(offered: readonly string[]): string | undefined {
  const numbers = (version: string) => version.split(/[.-]/, 3).map(Number);
  const [best] = offered
    .filter((version) => SPOKEN.test(version))
    .toSorted((a, b) => {
      const [one, other] = [numbers(a), numbers(b)];
      return (other[0] ?? 0) - (one[0] ?? 0) || (other[1] ?? 0) - (one[1] ?? 0) || (other[2] ?? 0) - (one[2] ?? 0);
    });
  return best;
}
