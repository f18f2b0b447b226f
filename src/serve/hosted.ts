import { type Log, messageOf } from '../base/log.ts';
import { branchAfter } from '../live/branch.ts';
import type { Journal } from '../live/journal/journal.ts';
import { type Profile, providerOf } from '../live/profiles.ts';
import type { Sessions } from '../live/sessions.ts';
import { needsInput, reduceChat, reduceSession } from '../protocols/ahp/reduce.ts';
import {
  type AgentInfo,
  type AgentOffers,
  type ChatAction,
  type ChatState,
  type ChatSummary,
  type ConfigValues,
  type InputNeeded,
  type SessionAction,
  type SessionConfig,
  type SessionState,
  type SessionSummary,
  STATUS,
  senderOf,
  type TerminalState,
} from '../protocols/ahp/state.ts';
import type { Session, SessionId, TurnId } from '../session/model.ts';
import { changesetsOf, chatUri, fileUri } from './addresses.ts';
import type { Channels, Origin } from './channels.ts';
import { configIntents, modelIntent, offered, type Taken } from './decide.ts';
import { leftBehind, Retries, replayed } from './retries.ts';
import { TerminalChannels } from './terminals.ts';
import { chatActions, chatTitle, configOf, failure, pastWords, waitingIntents } from './translate.ts';
import type { WindowCall, WindowTools } from './windowTools.ts';

/** A session as clients know it, with its own chat. */
export interface ServedSession extends HostedChat {
  readonly forkOf?: undefined;
  state: SessionState;
  /** Values of its configuration, and a model, that were chosen while no agent ran. */
  wanted?: ConfigValues;
  model?: string;
}
/** A copy of a session up to one of its turns: a further chat of it, which has no other state than the session's. */
export interface Fork extends HostedChat {
  readonly forkOf: ServedSession;
}
export type Hosted = ServedSession | Fork;

/** The session of a chat. */
export const sessionOf = (hosted: Hosted): ServedSession => (hosted.forkOf ? hosted.forkOf : hosted);

/** A conversation with an agent. The first request for the agent starts it. */
interface HostedChat {
  /** Of the session; its forks have the same. */
  readonly uri: string;
  readonly id: SessionId;
  readonly profile: Profile;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The client that made it in this run of the host. */
  readonly maker?: string;
  modifiedAt: number;
  /** The number of the last action before clients were told of it, 0 in an earlier run; and before its line in their lists changed last. */
  listedAt: number;
  changedAt: number;
  chat: ChatState;
  agent: AgentStart;
  /** Settles when the transcript is read from the journal. */
  reading?: Promise<void>;
  /** The first of the turns that a client has removed; the agent forgets them with the next prompt. */
  takenBack?: TurnId;
  /** Clients that have removed turns which stayed, until their next prompt, and words about that for it. */
  readonly kept: Map<string, string>;
  /** Clients that have begun a turn in this run of the host. */
  readonly speakers: Set<string>;
  readonly retries: Retries;
  /** Prompts that a client sent while a turn was being stopped: the user goes on with them. */
  readonly goesOn: Set<TurnId>;
  /** Messages that clients have sent into turns, the latest last: one that comes back may repeat them. */
  readonly steered: Set<string>;
}
export type AgentStart =
  /** `stored`: the journal has the transcript, which is read when a client subscribes. */
  | { readonly kind: 'none'; readonly stored?: 'unread' | 'read' }
  /** `waiting`: what is sent to it then, in this order. */
  | { readonly kind: 'starting'; readonly done: Promise<void>; readonly waiting: Taken['intents'][number][] }
  | { readonly kind: 'live' };

export interface SessionMark {
  readonly read?: true;
  readonly archived?: true;
  /** It is a further chat of that session, of that name. */
  readonly fork?: { readonly of: SessionId; readonly chat: string };
}

/** Which sessions clients have read or archived. */
export interface KnownMarks {
  of(id: SessionId): SessionMark;
  /** False when it was marked so already. */
  set(id: SessionId, mark: SessionMark): boolean;
  /** Forgets the marks of all other sessions. */
  keepOnly(ids: ReadonlySet<SessionId>): void;
}

/** Known by an agent's id, also from earlier runs of the host: clients learn choices with the state of a session only. */
export interface KnownOffers {
  get(profileId: string): AgentOffers | undefined;
  set(profileId: string, offers: AgentOffers): void;
}

export interface HostedDeps {
  readonly sessions: Sessions;
  readonly journal: Journal;
  /** As they are configured now. */
  readonly profiles: () => readonly Profile[];
  readonly channels: Channels;
  readonly windowTools: WindowTools;
  readonly marks: KnownMarks;
  readonly offers: KnownOffers;
  readonly log: Log;
  readonly now: () => number;
}

/** Lines of a list that a client that comes back is told of, and removed sessions that are remembered for it. */
const MOST_LIST_CHANGES = 200;
/** Milliseconds that a prompt waits for an agent that is to be told of the user's choices first. */
const LONGEST_OPENING = 10_000;
/** Stands for the model that an agent uses by itself: clients want one to choose. */
const NO_MODEL = 'default';
/** Copies of one session. */
const MOST_FORKS = 50;
/** Messages into turns that are remembered of one chat. */
const MOST_STEERED = 200;

/** A change of the lists of clients. */
interface ListChange {
  readonly method: 'root/sessionAdded' | 'root/sessionRemoved' | 'root/sessionSummaryChanged';
  readonly params: object;
}

/** All sessions of the host, and their state as clients hold it. */
export class HostedSessions {
  readonly #deps: HostedDeps;
  /** The sessions by their addresses, and their forks by those of their chats. */
  readonly #byUri = new Map<string, Hosted>();
  /** Offers of agents from their last run, by profile; unknown before an agent runs. */
  readonly #dirty = new Set<SessionId>();
  readonly #terminals: TerminalChannels;
  #renamed: Promise<void> = Promise.resolve();
  /** The agents as clients know them, as JSON. */
  #told: string;
  /** Sessions that were removed, the latest last, each with the number of the last action before that. */
  #removed: readonly { readonly uri: string; readonly at: number }[] = [];

  constructor(deps: HostedDeps) {
    this.#deps = deps;
    this.#terminals = new TerminalChannels(deps.channels);
    this.#told = JSON.stringify(this.agents());
  }

  /** Restores the sessions of earlier runs. */
  async restore(): Promise<void> {
    const entries = await this.#deps.journal.list();
    const marked = (id: SessionId) => this.#deps.marks.of(id).fork !== undefined;
    this.#deps.marks.keepOnly(new Set(entries.map(({ head }) => head.id)));
    const forkOf = (id: SessionId) => {
      const of = this.byId(this.#deps.marks.of(id).fork?.of ?? '');
      return of?.forkOf ? undefined : of;
    };
    // The sessions before their forks.
    const ordered = entries.toSorted((a, b) => Number(marked(a.head.id)) - Number(marked(b.head.id)));
    for (const { head, title, at, failed, runs } of ordered) {
      const profile = this.#deps.profiles().find((one) => one.id === head.profile);
      if (!profile) continue;
      const agent = { kind: 'none', stored: 'unread' } as const;
      const [of, chat] = [forkOf(head.id), this.#deps.marks.of(head.id).fork?.chat];
      const hosted =
        of && chat !== undefined
          ? this.#addFork(of, head.id, chat, { createdAt: head.at, agent })
          : this.#add(`${providerOf(profile.id)}:/${head.id}`, head.id, profile, head.cwd, head.at, agent);
      hosted.modifiedAt = at;
      // A killed host had no time to write the title.
      const stored = title === '' ? await this.stored(hosted) : undefined;
      const shown = title || (stored ? chatTitle(stored) : profile.name);
      const session = sessionOf(hosted);
      // A killed host ended no turn.
      const facts = { title: shown, status: failed || runs ? STATUS.error : STATUS.idle };
      const chats = session.state.chats.map((one) => (one.resource === hosted.chat.resource ? { ...one, ...facts } : one));
      session.state = { ...session.state, chats, ...(hosted.forkOf ? {} : { title: shown, lifecycle: 'ready' as const }) };
      hosted.chat = { ...hosted.chat, ...facts };
      session.state = { ...session.state, status: statusOf(session) };
    }
  }

  agents(): readonly AgentInfo[] {
    return this.#deps.profiles().map((profile) => {
      const provider = providerOf(profile.id);
      const { models: known = [], forks = false } = this.#deps.offers.get(profile.id) ?? {};
      const models = known.length > 0 ? known : [{ id: NO_MODEL, provider, name: 'Default' }];
      return {
        provider,
        displayName: profile.name,
        description: profile.command ?? profile.url ?? profile.protocol,
        models,
        capabilities: forks ? { multipleChats: { fork: true } } : {},
      };
    });
  }

  /** Tells clients of agents that were configured anew. */
  agentsChanged(): void {
    const agents = this.agents();
    if (JSON.stringify(agents) === this.#told) return;
    this.#told = JSON.stringify(agents);
    this.#deps.channels.publishRoot({ type: 'root/agentsChanged', agents });
  }

  profileOf(provider: string): Profile | undefined {
    return this.#deps.profiles().find((profile) => providerOf(profile.id) === provider);
  }

  /** Finds a session by its address or its chat's. */
  find(uri: string): Hosted | undefined {
    const known = this.#byUri.get(uri);
    if (known) return known;
    for (const hosted of this.#byUri.values()) if (hosted.chat.resource === uri) return hosted;
    return undefined;
  }

  /** The chat of the session in which that turn is, the session's own one first; undefined for a turn of none. */
  chatWith(hosted: Hosted, turnId: TurnId): Hosted | undefined {
    const has = ({ chat }: Hosted) => chat.activeTurn?.id === turnId || chat.turns.some((turn) => turn.id === turnId);
    const session = sessionOf(hosted);
    return [session, ...this.#forksOf(session)].find(has);
  }

  #forksOf(session: ServedSession): readonly Fork[] {
    return [...this.#byUri.values()].filter((one): one is Fork => one.forkOf === session);
  }

  /** Those that clients list. */
  get #listed(): readonly ServedSession[] {
    return [...this.#byUri.values()].filter((one): one is ServedSession => !one.forkOf && !isDraft(one));
  }

  /** The session with the turns that clients know; undefined before its agent has started. */
  session({ id, chat, retries }: Hosted): Session | undefined {
    const session = this.#deps.sessions.get(id)?.store.now;
    return session && retries.clientView(session, chat);
  }

  /** Newest first. */
  list(): readonly SessionSummary[] {
    return this.#listed.toSorted((a, b) => b.modifiedAt - a.modifiedAt).map(summaryOf);
  }

  /** Returns the changes of a client's list since the last action that it saw. They are notifications, which have no number. */
  listChanges(seen: number): readonly ListChange[] {
    const { channels } = this.#deps;
    const removed = this.#removed.filter(({ at }) => at >= seen).map(({ uri }) => toRemoved(uri));
    const changed = this.#listed
      .filter(({ changedAt }) => changedAt >= seen || !channels.isOfThisRun(seen))
      .toSorted((a, b) => b.modifiedAt - a.modifiedAt)
      .slice(0, MOST_LIST_CHANGES);
    return [...removed, ...changed.map((hosted) => (hosted.listedAt >= seen ? toAdded(hosted) : toChanged(hosted)))];
  }

  /** Empty sessions that clients have left open. */
  get drafts(): number {
    return [...this.#byUri.values()].filter(isDraft).length;
  }

  create(uri: string, profile: Profile, cwd: string, maker: string, wanted: ConfigValues = {}): Hosted {
    const name = uri.slice(uri.lastIndexOf('/') + 1);
    // The name becomes a file name, which differs by more than its case, and may be that of a conversation whose agent is not configured any more.
    const isPlain = /^[a-z0-9][a-z0-9-]{7,63}$/.test(name) && !this.byId(name) && !this.#deps.journal.has(name);
    const id = isPlain ? name : crypto.randomUUID();
    const hosted = this.#add(uri, id, profile, cwd, this.#deps.now(), { kind: 'none' }, maker);
    // Ready at once: the agent starts with the first prompt.
    this.#updateSession(hosted, { type: 'session/ready' });
    if (Object.keys(wanted).length > 0) this.#want(hosted, wanted);
    return hosted;
  }

  /** Keeps values that the user has chosen before the agent runs. */
  #want(hosted: ServedSession, values: ConfigValues): void {
    hosted.wanted = { ...hosted.wanted, ...values };
    this.#updateSession(hosted, { type: 'session/configChanged', config: values });
  }

  /** Copies the conversation up to and with a turn into a further chat of its session. Rejects with a sentence for the user. */
  async fork(source: Hosted, chat: string, turnId: TurnId): Promise<void> {
    const { sessions } = this.#deps;
    const session = sessionOf(source);
    if (this.#forksOf(session).length >= MOST_FORKS) throw new Error('This session has too many chats.');
    if (source.chat.activeTurn) throw new Error('Stop the turn first.');
    if (!source.chat.turns.some((turn) => turn.id === turnId)) throw new Error('There is no such turn.');
    if (source.agent.kind !== 'live') await this.#start(source, []);
    // A turn that its agent never began is none of the conversation that is copied.
    const known = source.retries.sessionTurn(turnId);
    const id = crypto.randomUUID();
    this.#deps.marks.set(id, { fork: { of: session.id, chat } });
    this.#deps.windowTools.offer(id, session.state.activeClients);
    const { next } = await branchAfter(sessions, { from: source.id, turnId: known, profile: source.profile, id }).catch(
      (error: unknown) => {
        this.#deps.marks.set(id, {});
        throw error;
      },
    );
    const fork = this.#addFork(session, id, chat, {
      createdAt: this.#deps.now(),
      agent: { kind: 'live' },
      from: { chat: source.chat.resource, turnId },
    });
    if (next) fork.takenBack = next.id;
    const begun = sessions.get(id)?.store.now;
    if (begun) {
      fork.retries.restore(begun);
      fork.chat = replayed({ ...fork.chat, title: chatTitle(begun) }, withoutTakenBack(begun, fork.takenBack));
    }
    const { turns: _turns, ...summary } = fork.chat;
    this.#updateSession(session, { type: 'session/chatAdded', summary: summaryIn(summary) });
  }

  /** Removes what a client that is gone has offered, and its empty sessions: windows create one before the first prompt. */
  async left(clientId: string): Promise<void> {
    const { channels } = this.#deps;
    for (const hosted of this.#byUri.values()) {
      const { uri, chat, maker } = hosted;
      if (!hosted.forkOf && hosted.state.activeClients.some((one) => one.clientId === clientId)) {
        this.#updateSession(hosted, { type: 'session/activeClientRemoved', clientId });
        this.#offerTools(hosted);
      }
      const isLeft = maker === clientId && isDraft(hosted) && !channels.isFollowed(uri) && !channels.isFollowed(chat.resource);
      if (!hosted.forkOf && isLeft) await this.remove(hosted);
    }
  }

  /** Ends the agent and deletes the conversation: VS Code disposes of empty sessions, and of others when its user deletes them. */
  async remove(hosted: ServedSession): Promise<void> {
    const { channels } = this.#deps;
    for (const fork of this.#forksOf(hosted)) await this.removeFork(fork);
    this.#byUri.delete(hosted.uri);
    this.#terminals.forget(hosted.id);
    this.#deps.marks.set(hosted.id, {});
    this.#removed = [...this.#removed.slice(1 - MOST_LIST_CHANGES), { uri: hosted.uri, at: channels.seq }];
    this.#notify(toRemoved(hosted.uri));
    await this.#deps.sessions.forget(hosted.id);
  }

  /** The same for one chat of a session. */
  async removeFork(fork: Fork): Promise<void> {
    const { resource } = fork.chat;
    this.#byUri.delete(resource);
    this.#terminals.forget(fork.id);
    this.#deps.marks.set(fork.id, {});
    this.#updateSession(fork, { type: 'session/chatRemoved', chat: resource });
    for (const { id, chat } of fork.forkOf.state.inputNeeded ?? [])
      if (chat === resource) this.#updateSession(fork, { type: 'session/inputNeededRemoved', id });
    await this.#deps.sessions.forget(fork.id);
  }

  /** Returns the state, including the journal's transcript, for a client that subscribes. */
  async shown(hosted: Hosted): Promise<Hosted> {
    if (hosted.agent.kind === 'none' && hosted.agent.stored === 'unread') {
      hosted.agent = { kind: 'none', stored: 'read' };
      hosted.reading = this.#readIn(hosted);
    }
    // After a restart all windows come back at once: none of them is shown a chat that is not read yet.
    await hosted.reading;
    this.sync(hosted);
    return hosted;
  }

  async #readIn(hosted: Hosted): Promise<void> {
    const session = await this.#read(hosted);
    if (session) hosted.chat = replayed(hosted.chat, session);
    const config = session && configOf(session);
    // As its agent said last, and not as a new session begins.
    if (config && !hosted.forkOf && Object.keys(config.values).length > 0) hosted.state = { ...hosted.state, config };
  }

  /** Returns the output of a command for a client that subscribes. */
  terminal({ uri }: Hosted, session: Session, terminalId: string): TerminalState | undefined {
    return this.#terminals.shown(uri, session, terminalId);
  }

  /** Reads a session from the journal, with the turns that clients know and everything that was in progress ended. */
  async stored(hosted: Hosted): Promise<Session | undefined> {
    const session = await this.#read(hosted);
    return session && hosted.retries.clientView(session, hosted.chat);
  }

  async #read({ id, retries }: Hosted): Promise<Session | undefined> {
    const found = await this.#deps.journal.read(id);
    if (!found) return undefined;
    retries.restore(found.session);
    // A killed host ended nothing: what ran did so until its last sign of life.
    return leftBehind(found.session, Math.min(Math.round(found.at), this.#deps.now()));
  }

  /** Carries out a decision. Starts the agent if needed. */
  take(hosted: Hosted, { apply, intents, starts, takesBack, retries, goesOn, steers, note, fails, model }: Taken, origin: Origin): void {
    const wasDraft = isDraft(hosted);
    if (takesBack !== undefined) hosted.takenBack = takesBack;
    if (starts) hosted.speakers.add(origin.clientId);
    if (goesOn !== undefined) hosted.goesOn.add(goesOn);
    if (steers !== undefined) noteSteered(hosted, steers);
    if (retries) hosted.retries.add(retries.sessionTurn, retries.clientTurn);
    for (const action of this.#pastWords(hosted, apply)) this.#updateChat(hosted, action);
    if (apply.type.startsWith('chat/')) this.#updateChat(hosted, apply as ChatAction, origin);
    // The title of the session is that of its own chat.
    else if (apply.type === 'session/titleChanged' && hosted.forkOf) {
      hosted.chat = { ...hosted.chat, title: apply.title };
      this.#deps.channels.publish(hosted.chat.resource, apply, origin);
    } else this.#updateSession(hosted, apply as SessionAction, origin);
    if (note !== undefined && apply.type === 'chat/turnStarted') {
      hosted.kept.delete(origin.clientId);
      const part = { kind: 'systemNotification', content: note, _meta: { id: `kept ${apply.turnId}` } } as const;
      this.#updateChat(hosted, { type: 'chat/responsePart', turnId: apply.turnId, part });
    }
    if (fails !== undefined && apply.type === 'chat/turnStarted') this.#updateChat(hosted, failure(apply.turnId, 0, fails));
    // The first prompt: from now on it is there for every client.
    if (!hosted.forkOf && wasDraft && !isDraft(hosted)) {
      hosted.listedAt = hosted.changedAt = this.#deps.channels.seq;
      this.#notify(toAdded(hosted));
    }
    this.#summaryChanged(hosted);
    if (apply.type === 'session/titleChanged') this.#rename(hosted, apply.title);
    if (apply.type === 'session/isReadChanged' || apply.type === 'session/isArchivedChanged') this.#mark(sessionOf(hosted));
    if (apply.type === 'session/activeClientSet' || apply.type === 'session/activeClientRemoved') this.#offerTools(sessionOf(hosted));
    if (apply.type === 'chat/toolCallComplete') {
      const [said] = apply.result.content ?? [];
      const answer = { ok: apply.result.success, text: said?.type === 'text' ? said.text : '' };
      this.#deps.windowTools.settle(apply.toolCallId, origin.clientId, answer);
    }
    if (intents.length === 0) return;
    if (apply.type === 'session/configChanged' && hosted.agent.kind === 'none') {
      const session = sessionOf(hosted);
      session.wanted = { ...session.wanted, ...apply.config };
    }
    if (starts && hosted.agent.kind === 'live') this.#takeTools(hosted);
    // The agents' placeholder for models that are not known is none of them.
    if (model !== undefined && model !== NO_MODEL && hosted.agent.kind !== 'live' && !hosted.forkOf) hosted.model = model;
    if (hosted.agent.kind === 'live') return this.#send(hosted, intents);
    if (starts || hosted.agent.kind === 'starting') void this.#start(hosted, intents);
  }

  #offerTools(session: ServedSession): void {
    for (const { id } of [session, ...this.#forksOf(session)]) this.#deps.windowTools.offer(id, session.state.activeClients);
  }

  #pastWords(hosted: Hosted, apply: Taken['apply']): readonly ChatAction[] {
    const isStopped = apply.type === 'chat/turnCancelled';
    const rejected = apply.type === 'chat/toolCallConfirmed' && !apply.approved ? { callId: apply.toolCallId } : undefined;
    const session = isStopped || rejected ? this.session(hosted) : undefined;
    return session ? pastWords({ chat: hosted.chat, session, status: isStopped ? 'cancelled' : 'rejected', ...rejected }) : [];
  }

  /** Keeps what is read and archived, and tells the lists of all clients. */
  #mark(hosted: ServedSession): void {
    const { id, state } = hosted;
    const mark = { ...((state.status & STATUS.read) === 0 ? {} : READ), ...((state.status & STATUS.archived) === 0 ? {} : ARCHIVED) };
    if (!this.#deps.marks.set(id, mark) || isDraft(hosted)) return;
    hosted.changedAt = this.#deps.channels.seq;
    this.#notify(toChanged(hosted));
  }

  /** An empty session takes its name when its agent starts. */
  #rename({ id, agent }: Hosted, title: string): void {
    if (agent.kind === 'none' && agent.stored === undefined) return;
    const { sessions, log } = this.#deps;
    this.#renamed = this.#renamed
      .then(() => sessions.rename(id, title))
      .then(
        (isDone) => (isDone ? undefined : log.warn('A session could not be renamed')),
        (error: unknown) => log.error('A session could not be renamed', error),
      );
  }

  /** Settles when all new names are stored. */
  get renamed(): Promise<void> {
    return this.#renamed;
  }

  /** Asks a window to run one of its tools; its answer comes as an action. */
  runInWindow({ sessionId, callId, clientId, name, input }: WindowCall): void {
    const hosted = this.byId(sessionId);
    const turnId = hosted?.chat.activeTurn?.id;
    if (!hosted || turnId === undefined) {
      this.#deps.windowTools.settle(callId, clientId, { ok: false, text: 'No turn is running.' });
      return;
    }
    const contributor = { kind: 'client', clientId } as const;
    this.#updateChat(hosted, { type: 'chat/toolCallStart', turnId, toolCallId: callId, toolName: name, displayName: name, contributor });
    const ready = { invocationMessage: name, toolInput: input, confirmed: 'not-needed' } as const;
    this.#updateChat(hosted, { type: 'chat/toolCallReady', turnId, toolCallId: callId, ...ready });
  }

  /** Ends a call for clients that its window has not ended. */
  endInWindow({ sessionId, callId, name, why }: WindowCall & { readonly why: string }): void {
    const hosted = this.byId(sessionId);
    const turnId = hosted?.chat.activeTurn?.id;
    const result = { success: false, pastTenseMessage: name, error: { message: why } };
    if (hosted && turnId !== undefined) this.#updateChat(hosted, { type: 'chat/toolCallComplete', turnId, toolCallId: callId, result });
  }

  /** Marks a session as changed; `flush` notifies clients. True for the first change since. */
  changed(id: SessionId): boolean {
    const isFirst = this.#dirty.size === 0;
    this.#dirty.add(id);
    return isFirst;
  }

  flush(): void {
    const ids = new Set(this.#dirty);
    this.#dirty.clear();
    for (const hosted of this.#byUri.values()) if (ids.has(hosted.id)) this.sync(hosted);
  }

  /** Stores a turn that a client has begun and whose agent is gone before it heard of it: the prompt is there after a restart, to be tried again. */
  #storeUnheard({ id, chat, retries }: Hosted): void {
    const live = this.#deps.sessions.get(id);
    const { link, turns, queue } = live?.store.now ?? {};
    if (!live || link?.state !== 'closed' || !chat.activeTurn) return;
    const turnId = retries.sessionTurn(chat.activeTurn.id);
    const prompt = queue?.find((one) => one.turnId === turnId);
    if (!prompt || turns?.some((one) => one.id === turnId)) return;
    const at = this.#deps.now();
    const message = link.detail ? `${link.reason}\n${link.detail}` : link.reason;
    live.publish({ type: 'turn.started', turnId, at, prompt: prompt.content });
    const sender = senderOf(chat.activeTurn.message);
    if (sender !== undefined) live.publish({ type: 'turn.sender', turnId, sender });
    live.publish({ type: 'turn.ended', turnId, at, status: 'failed', error: { message, next: ['retry'] } });
  }

  /** Sends clients the current state of the session. */
  sync(hosted: Hosted): void {
    if (hosted.agent.kind === 'live') this.#storeUnheard(hosted);
    const session = this.session(hosted);
    if (!session || hosted.agent.kind !== 'live') return;
    if (!session.turns.some((turn) => turn.id === hosted.takenBack)) delete hosted.takenBack;
    // Sends terminal output first: a command's output is complete before its call ends.
    this.#terminals.sync(session);
    const actions = chatActions(hosted.chat, withoutTakenBack(session, hosted.takenBack));
    const last = session.turns.at(-1);
    if (actions.length > 0) hosted.modifiedAt = Math.max(hosted.modifiedAt, last?.endedAt ?? last?.startedAt ?? 0);
    for (const action of actions) this.#updateChat(hosted, action);
    this.#storeSender(hosted, session);
    this.#storeRetry(hosted);
    for (const intent of waitingIntents(hosted.chat, session, hosted.goesOn)) {
      hosted.goesOn.delete(intent.turnId);
      this.#send(hosted, [intent]);
    }
    this.#learn(hosted.profile, session);
    if (hosted.forkOf) {
      // Mode and options of the session are those of its own chat.
      hosted.chat = { ...hosted.chat, title: chatTitle(session) };
      return this.#summaryChanged(hosted);
    }
    const config = configOf(session);
    // No action changes the schema: current subscribers learn only the values.
    if (session.link.state === 'ready' && JSON.stringify(config.schema) !== JSON.stringify(hosted.state.config?.schema))
      hosted.state = { ...hosted.state, config: { ...config, values: hosted.state.config?.values ?? {} } };
    for (const action of sessionActions(hosted, session)) this.#updateSession(hosted, action);
    if (actions.length > 0 || hosted.chat.title !== hosted.state.title) this.#summaryChanged(hosted);
  }

  /** Stores in the session who sent its prompt, for clients that connect after a restart. */
  #storeSender({ id, chat }: Hosted, { turns }: Session): void {
    const { activeTurn } = chat;
    const turn = activeTurn && turns.find((one) => one.id === activeTurn.id);
    const sender = activeTurn && senderOf(activeTurn.message);
    if (turn && sender !== undefined && turn.sender === undefined)
      this.#deps.sessions.get(id)?.publish({ type: 'turn.sender', turnId: turn.id, sender });
  }

  /** Stores in the session which failed turn its last turn retries. */
  #storeRetry({ id, retries }: Hosted): void {
    const live = this.#deps.sessions.get(id);
    const turn = live?.store.now.turns.at(-1);
    const failed = turn && retries.unstored(turn);
    if (turn && failed !== undefined) live?.publish({ type: 'turn.retries', turnId: turn.id, failed });
  }

  /** Settles when the agent can be told something, and has been told this. */
  async #start(hosted: Hosted, intents: Taken['intents']): Promise<void> {
    const { agent } = hosted;
    if (agent.kind === 'starting') {
      agent.waiting.push(...intents);
      return agent.done;
    }
    const isStored = agent.kind === 'none' && agent.stored !== undefined;
    if (!isStored) this.#deps.sessions.open(hosted.profile, hosted.cwd, undefined, hosted.id);
    const done = this.#starts(hosted, isStored ? this.#reopen(hosted) : Promise.resolve(undefined), intents);
    if (!isStored && !hosted.forkOf && hosted.state.title !== hosted.profile.name) this.#rename(hosted, hosted.state.title);
    return done;
  }

  /** `opened` resolves with the reason for a failure. */
  #starts(hosted: Hosted, opened: Promise<string | undefined>, intents: Taken['intents']): Promise<void> {
    const waiting = [...intents];
    const done = opened.then(async (why) => {
      if (why === undefined) await this.#sendWanted(hosted);
      this.#started(hosted, waiting, why);
    });
    hosted.agent = { kind: 'starting', done, waiting };
    return done;
  }

  #started(hosted: Hosted, waiting: Taken['intents'], why: string | undefined): void {
    if (why === undefined) {
      // All of it, before clients are told what waits there.
      this.#send(hosted, waiting);
      this.#sendFirst(hosted);
      hosted.agent = { kind: 'live' };
      this.sync(hosted);
    } else {
      hosted.agent = { kind: 'none', stored: 'read' };
      const { activeTurn } = hosted.chat;
      if (activeTurn) this.#updateChat(hosted, failure(activeTurn.id, 0, why));
    }
  }

  /** Starts an agent at rest again that lacks tools of windows: they came after its start. It keeps what was chosen. */
  #takeTools(hosted: Hosted): void {
    const live = this.#deps.sessions.get(hosted.id);
    const now = live?.store.now;
    if (!live || !this.#deps.windowTools.hasMore(hosted.id) || now?.link.state !== 'ready' || now.resumeKey === undefined) return;
    if (now.turns.at(-1)?.status === 'running' || now.queue.length > 0 || now.background !== undefined) return;
    if (!hosted.forkOf) hosted.wanted = { ...hosted.state.config?.values, ...hosted.wanted };
    // Not before clients are told nothing of that.
    const restarted = Promise.resolve().then(() => live.restart());
    void this.#starts(
      hosted,
      restarted.then(() => undefined),
      [],
    );
  }

  /** Sends what was chosen before, once the agent can take it: its first turn is to run by that. */
  async #sendWanted(hosted: Hosted): Promise<void> {
    const live = this.#deps.sessions.get(hosted.id);
    if (hosted.forkOf || !live || (!hosted.wanted && hosted.model === undefined)) return;
    await linked(live);
    const { wanted = {}, model } = hosted;
    delete hosted.wanted;
    delete hosted.model;
    const { values } = configOf(live.store.now);
    const changed = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => values[key] !== value));
    this.#send(hosted, [...configIntents(changed, live.store.now), ...modelIntent(model, live.store.now)]);
  }

  /** Puts the turn that a client has begun before prompts that an earlier host has left waiting. */
  #sendFirst(hosted: Hosted): void {
    const queue = this.session(hosted)?.queue ?? [];
    const own = queue.find(({ turnId }) => turnId === hosted.chat.activeTurn?.id);
    if (!own) return;
    const others = queue.flatMap(({ turnId }) => (turnId === own.turnId ? [] : turnId));
    this.#send(hosted, [{ type: 'reorder', order: [own.turnId, ...others] }]);
  }

  async #reopen({ id, retries }: Hosted): Promise<string | undefined> {
    try {
      // It may be open for that.
      await this.#renamed;
      const how = await this.#deps.sessions.bringBackIdle(id);
      const session = this.#deps.sessions.get(id)?.store.now;
      if (session) retries.restore(session);
      if (how === 'elsewhere') return 'This conversation is open in another window.';
      return how === 'gone' ? 'This conversation cannot be read any more.' : undefined;
    } catch (error) {
      this.#deps.log.error('A session could not be opened', error);
      return messageOf(error);
    }
  }

  #send({ id, retries }: Hosted, intents: Taken['intents']): void {
    const live = this.#deps.sessions.get(id);
    for (const intent of intents) live?.send(retries.intent(intent, live.store.now));
  }

  #updateChat(hosted: Hosted, action: ChatAction, origin?: Origin): void {
    const before = hosted.chat;
    const next = reduceChat(before, action);
    if (next === before) return;
    if (BEGINS.test(action.type)) hosted.modifiedAt = this.#deps.now();
    hosted.chat = { ...next, modifiedAt: new Date(hosted.modifiedAt).toISOString() };
    this.#deps.channels.publish(before.resource, action, origin);
    if (MAY_NEED_INPUT.test(action.type)) for (const needed of neededActions(hosted)) this.#updateSession(hosted, needed);
  }

  #updateSession(hosted: Hosted, action: SessionAction, origin?: Origin): void {
    const session = sessionOf(hosted);
    const next = reduceSession(session.state, action);
    if (next === session.state) return;
    session.state = next;
    this.#deps.channels.publish(session.uri, action, origin);
  }

  #summaryChanged(hosted: Hosted): void {
    const root = sessionOf(hosted);
    if (hosted === root && hosted.chat.title !== root.state.title) hosted.chat = { ...hosted.chat, title: root.state.title };
    const { title, status, modifiedAt } = hosted.chat;
    const changes = { title, status, modifiedAt };
    const listed = root.state.chats.find(({ resource }) => resource === hosted.chat.resource);
    if (listed && listed.title === title && listed.status === status && listed.modifiedAt === modifiedAt) return;
    const isVisible = listed?.title !== title || listed.status !== status;
    this.#updateSession(root, { type: 'session/chatUpdated', chat: hosted.chat.resource, changes });
    root.state = { ...root.state, status: statusOf(root) };
    root.changedAt = this.#deps.channels.seq;
    if (isVisible && !isDraft(root)) this.#notify(toChanged(root));
  }

  #notify({ method, params }: ListChange): void {
    this.#deps.channels.notify(method, params);
  }

  #learn(profile: Profile, session: Session): void {
    if (session.link.state !== 'ready') return;
    const option = session.options?.find((one) => one.about === 'model');
    const provider = providerOf(profile.id);
    const models = option?.kind === 'choice' ? option.choices.map(({ value, name }) => ({ id: value, provider, name })) : [];
    const begun = this.#deps.offers.get(profile.id)?.config.values ?? {};
    // Windows fork from before a prompt only, never from the last answer: a copy of the whole is of no use to them.
    const forks = session.link.offers.edit === true;
    const config = configOf(session);
    // A new session begins as the first one did, not as another one was changed: one that goes on may have been.
    const values = session.turns.length > 1 ? offered(begun, config) : { ...config.values, ...offered(begun, config) };
    this.#deps.offers.set(profile.id, { models, config: { ...config, values }, forks });
    this.agentsChanged();
  }

  /** Returns the known configuration choices for a session of this agent. */
  config({ id }: Profile): SessionConfig {
    return this.#deps.offers.get(id)?.config ?? { schema: { type: 'object', properties: {} }, values: {} };
  }

  byId(id: SessionId): Hosted | undefined {
    for (const hosted of this.#byUri.values()) if (hosted.id === id) return hosted;
    return undefined;
  }

  #addFork(of: ServedSession, id: SessionId, chat: string, { createdAt, agent, from }: ForkStart): Fork {
    const { uri, profile, cwd } = of;
    const origin = from ? ({ kind: 'fork', ...from } as const) : ({ kind: 'user' } as const);
    const summary = { ...summaryOfChat(id, profile.name, createdAt), resource: chat, origin };
    const own = { uri, id, forkOf: of, profile, cwd, createdAt, modifiedAt: createdAt, listedAt: 0, changedAt: 0, agent };
    const fork: Fork = {
      ...own,
      chat: { ...summary, turns: [] },
      kept: new Map(),
      speakers: new Set(),
      retries: new Retries(),
      goesOn: new Set(),
      steered: new Set(),
    };
    this.#byUri.set(chat, fork);
    if (!from) of.state = { ...of.state, chats: [...of.state.chats, summary] };
    return fork;
  }

  #add(uri: string, id: SessionId, profile: Profile, cwd: string, createdAt: number, agent: AgentStart, maker?: string): ServedSession {
    const provider = providerOf(profile.id);
    const chat: ChatState = { ...summaryOfChat(id, profile.name, createdAt), turns: [] };
    const state: SessionState = {
      provider,
      title: profile.name,
      status: STATUS.idle | bitsOf(this.#deps.marks.of(id)),
      lifecycle: 'creating',
      workingDirectories: [fileUri(cwd)],
      activeClients: [],
      chats: [summaryOfChat(id, profile.name, createdAt)],
      defaultChat: chat.resource,
      config: this.config(profile),
      changesets: changesetsOf(uri),
    };
    const hosted: ServedSession = {
      uri,
      id,
      profile,
      cwd,
      createdAt,
      modifiedAt: createdAt,
      listedAt: 0,
      changedAt: 0,
      chat,
      state,
      agent,
      kept: new Map(),
      speakers: new Set(),
      retries: new Retries(),
      goesOn: new Set(),
      steered: new Set(),
      ...(maker === undefined ? {} : { maker }),
    };
    this.#byUri.set(uri, hosted);
    return hosted;
  }
}

/** Settles when the agent can be told something, or is gone, or takes its time. */
function linked({ store }: NonNullable<ReturnType<Sessions['get']>>): Promise<void> {
  if (store.now.link.state !== 'opening') return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      listener.dispose();
      resolve();
    };
    const timer = setTimeout(end, LONGEST_OPENING);
    const listener = store.onChange(({ now }) => {
      if (now.link.state !== 'opening') end();
    });
  });
}

interface ForkStart {
  readonly createdAt: number;
  readonly agent: AgentStart;
  /** The end of what was copied; absent after a restart. */
  readonly from?: { readonly chat: string; readonly turnId: TurnId };
}

/** The line of a chat in its session. */
function summaryIn({ resource, title, status, modifiedAt, origin }: ChatSummary): ChatSummary {
  return { resource, title, status, modifiedAt, origin };
}

const READ = { read: true } as const;
const ARCHIVED = { archived: true } as const;

function bitsOf({ read, archived }: SessionMark): number {
  return (read ? STATUS.read : 0) | (archived ? STATUS.archived : 0);
}

function noteSteered({ steered }: Hosted, id: string): void {
  steered.add(id);
  const [oldest] = steered;
  if (steered.size > MOST_STEERED && oldest !== undefined) steered.delete(oldest);
}

/** True for a session in which nothing was said: windows make one before the first prompt, and list none before that. */
function isDraft({ agent, chat }: Hosted): boolean {
  const isUntouched = agent.kind === 'none' && agent.stored === undefined;
  return isUntouched && chat.turns.length === 0 && !chat.activeTurn && !chat.queuedMessages?.length;
}

/** Drops turns that clients have removed but the agent still remembers. */
function withoutTakenBack(session: Session, first: TurnId | undefined): Session {
  const at = session.turns.findIndex((turn) => turn.id === first);
  return at < 0 ? session : { ...session, turns: session.turns.slice(0, at) };
}

function summaryOfChat(id: SessionId, title: string, at: number): ChatSummary {
  return { resource: chatUri(id), title, status: STATUS.idle, modifiedAt: new Date(at).toISOString(), origin: { kind: 'user' } };
}

function statusOf({ chat, state }: ServedSession): number {
  const others = state.chats.filter(({ resource }) => resource !== chat.resource);
  const activity = Math.max(...[chat, ...others].map(({ status }) => status & STATUS.activity));
  return activity | (state.status & (STATUS.read | STATUS.archived));
}

function summaryOf(hosted: ServedSession): SessionSummary {
  const { uri, state, createdAt, modifiedAt } = hosted;
  const { provider, title, workingDirectories } = state;
  return {
    resource: uri,
    provider,
    title,
    status: statusOf(hosted),
    createdAt: new Date(createdAt).toISOString(),
    modifiedAt: new Date(modifiedAt).toISOString(),
    workingDirectories,
  };
}

function toAdded(hosted: ServedSession): ListChange {
  return { method: 'root/sessionAdded', params: { summary: summaryOf(hosted) } };
}
function toChanged(hosted: ServedSession): ListChange {
  const { title, status, modifiedAt } = summaryOf(hosted);
  return { method: 'root/sessionSummaryChanged', params: { session: hosted.uri, changes: { title, status, modifiedAt } } };
}
function toRemoved(session: string): ListChange {
  return { method: 'root/sessionRemoved', params: { session } };
}

/** Returns actions for changes of the session itself. A failed start is reported in the turn that requested it. */
function sessionActions({ state }: ServedSession, session: Session): readonly SessionAction[] {
  const actions: SessionAction[] = [];
  const title = chatTitle(session);
  if (title !== state.title) actions.push({ type: 'session/titleChanged', title });
  const activity = session.turns.at(-1)?.activity;
  if (activity !== state.activity) actions.push({ type: 'session/activityChanged', ...(activity === undefined ? {} : { activity }) });
  const config = configOf(session);
  // Before that, some of it may be told and some not.
  if (session.link.state === 'ready' && JSON.stringify(config.values) !== JSON.stringify(state.config?.values))
    actions.push({ type: 'session/configChanged', config: config.values, replace: true });
  return actions;
}

/** A session is used when a turn begins or ends, as the journal knows it: another run of the host says the same time. */
const BEGINS = /^chat\/turn(?:Started|Resume)$/;
/** Excludes texts and new calls, which need no input and may come in thousands. */
const MAY_NEED_INPUT = /^chat\/(?:turn|error|truncated|toolCall(?:Ready|Confirmed|Complete)|input)/;

/** Returns actions for the input that the session waits for, according to its chat. */
function neededActions(hosted: Hosted): readonly SessionAction[] {
  const { id, forkOf, chat } = hosted;
  const known = (sessionOf(hosted).state.inputNeeded ?? []).filter((one) => one.chat === chat.resource);
  // Copies have calls of the same names.
  const nameOf = (one: string) => (forkOf ? `${id} ${one}` : one);
  const turn = chat.activeTurn;
  const wanted = (turn?.responseParts ?? []).flatMap((part): readonly InputNeeded[] => {
    if (part.kind === 'toolCall') {
      const { toolCall } = part;
      const about = { id: nameOf(toolCall.toolCallId), chat: chat.resource, turnId: turn?.id ?? '', toolCall } as const;
      if (needsInput(part)) return [{ ...about, kind: 'toolConfirmation' }];
      const clientId = toolCall.status === 'running' ? toolCall.contributor?.clientId : undefined;
      return clientId === undefined ? [] : [{ ...about, kind: 'toolClientExecution', clientId }];
    }
    return part.kind === 'inputRequest' && needsInput(part)
      ? [{ id: nameOf(part.request.id), chat: chat.resource, kind: 'chatInput', request: part.request }]
      : [];
  });
  const gone = known.filter((one) => !wanted.some((other) => other.id === one.id));
  const fresh = wanted.filter((one) => JSON.stringify(one) !== JSON.stringify(known.find((other) => other.id === one.id)));
  return [
    ...gone.map(({ id }): SessionAction => ({ type: 'session/inputNeededRemoved', id })),
    ...fresh.map((request): SessionAction => ({ type: 'session/inputNeededSet', request })),
  ];
}
