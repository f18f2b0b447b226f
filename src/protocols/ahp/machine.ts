import { agentError, t } from '../../base/l10n.ts';
import type { Failure, LinkEnd } from '../../base/outcomes.ts';
import type { Input } from '../../conversation/machine.ts';
import { clear, find, laneOf, type NextPrompt, newTurn, put, remove, splitName, type TurnState } from '../../conversation/state.ts';
import { machineOf, OFFER_RESTART, RESTART, Step } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Content, Offers, ToolCall } from '../../session/model.ts';
import {
  type AhpAskSubject,
  type AhpCall,
  type AhpState,
  type AhpTurn,
  aboutCall,
  type Dispatched,
  isPromptOf,
  isUnsaid,
  partIdOf,
  requestOf,
  sentFor,
  textsIn,
  timeOf,
  turnsBefore,
  unknownHere,
  unsent,
  waitsIn,
} from './clientState.ts';
import {
  approvalOf,
  type Choices,
  callsOfChat,
  choicesOf,
  commandsIn,
  completionOf,
  confirmationOf,
  contentsIn,
  contentsOf,
  differenceOf,
  fromMessage,
  fromMeta,
  isRoot,
  MODE,
  plain,
  questionOf,
  ROOT,
  terminalsOf,
  toMessage,
  toolCallOf,
  toolsOf,
  usageOf,
  withKnown,
} from './codec.ts';
import { reduceChat, terminalText } from './reduce.ts';
import {
  answers,
  type Envelope,
  readAgents,
  readChat,
  readChatAction,
  readConfig,
  readEnvelope,
  readSession,
  readSessionAction,
  readTerminal,
  readTerminalAction,
  type SessionFacts,
  type Snapshot,
} from './schema.ts';
import {
  type ActiveTurn,
  type ChatAction,
  type ChatState,
  type EndedTurn,
  hasPrompt,
  type InputRequest,
  type Message,
  type PendingMessage,
  type ResponsePart,
  saidIn,
  senderOf,
  type TerminalContent,
  type ToolCallState,
} from './state.ts';

/*
 * A session of an agent host (docs/protocols/ahp.md §9): one WebSocket, JSON-RPC. The host owns the conversation; this holds its chat as the
 * host's numbered actions make it, and tells what has changed. A turn continues without a connection.
 */

const HOST = 'host';
/** Ids of what can be chosen that is not the host's. */
const MODEL = 'parley.model';
export const VERSIONS = ['1.1.0', '1.0.0', '0.9.0'];
const OFFERS: Offers = { images: true, steer: true, hints: true, history: true, feedback: true };
/** Texts that are read at once, the newest. */
const MOST_CONTENTS = 200;
/** Commands whose output is followed at once. */
const MOST_TERMINALS = 50;
/** Requests that are open at once; what is asked beyond is answered as not allowed. */
const MOST_ASKS = 200;
const UNKNOWN_METHOD = -32601;
/** The code with which a host that ends closes its connections (RFC 6455 §7.4). */
const GOING_AWAY = 1001;
/** The protocol's codes for what a host does not have, and for a session it does not know (docs/protocols/ahp.md §1). */
const [NOT_FOUND, NO_SESSION] = [-32008, -32001];

class AhpStep extends Step<AhpState> {
  take(input: Input): void {
    switch (input.on) {
      case 'start':
        this.state.phase = 'opening';
        this.emit({ type: 'link.opening' });
        this.timer('silence', this.state.setup.limits.silence);
        this.open(HOST, {});
        return this.initialize();
      case 'message':
        return this.message(input.method, input.params);
      case 'asked':
        return this.refuse(HOST, input.id, UNKNOWN_METHOD, `Unknown method: ${input.method}`);
      case 'junk':
        return this.log('warn', `The host sent something that is no message: ${input.text.slice(0, 200)}`);
      case 'reply':
        return this.reply(input.call, input.result, input.error);
      case 'intent':
        return this.intent(input.intent);
      case 'timer':
        return this.elapsed(input.timer);
      case 'closed':
        return this.closed(input.why);
      case 'leave':
        return this.leave();
      case 'withdrawn':
    }
  }

  request(call: string, method: string, params: object): void {
    this.do({ do: 'request', link: HOST, call, method, params: { channel: ROOT, ...params } });
  }
  /** Has the host do something, whose echo or refusal follows. */
  dispatch(channel: string, action: object, as: Dispatched = { kind: 'other' }): void {
    const { state } = this;
    const clientSeq = ++state.clientSeq;
    put(state.dispatched, String(clientSeq), as);
    this.do({ do: 'notify', link: HOST, method: 'dispatchAction', params: { channel, clientSeq, action } });
  }

  // --- opening: initialize · createSession · subscribe the session · subscribe its chat

  initialize(call = 'initialize', initialSubscriptions: readonly string[] = [ROOT]): void {
    const { name, version } = this.state.setup.client;
    this.request(call, 'initialize', { protocolVersions: VERSIONS, ...this.itself(), clientInfo: { name, version }, initialSubscriptions });
  }
  /** Parley's host knows by `window` which connections are one window's. */
  itself() {
    const { clientId, window } = this.state.setup;
    return { clientId, _meta: { parley: { window } } };
  }
  reply(call: string, result: unknown, error: Failure | undefined): void {
    const [what, rest] = splitName(call);
    if (what === 'read') return this.contentRead(rest, result, error);
    if (what === 'terminal') return this.terminalShown(rest, answers.subscribe.safeParse(result).data?.snapshot.state);
    if (what === 'tool') return this.toolRan(rest, result, error);
    if (what === 'commands') return this.commands(result);
    if (what === 'config') return this.configTold(result);
    if (what === 'dispose') return this.close(HOST);
    if (error) return this.failed(error, what);
    switch (what) {
      case 'initialize':
        return this.initialized(result);
      case 'create':
        return this.request('session', 'subscribe', { channel: rest });
      case 'resume':
      case 'session':
        return this.sessionShown(result);
      case 'chat':
        return this.chatShown(result);
      case 'reconnect':
        return this.reconnected(result);
      case 'again':
        return this.reconnected({ type: 'snapshot', snapshots: answers.initialize.safeParse(result).data?.snapshots });
    }
  }
  failed({ kind, message, code }: Failure, what: string): void {
    // A link that has closed tells its end itself.
    if (kind !== 'refused') return;
    // The host has forgotten this client, as VS Code's own does when it is started again.
    if (what === 'reconnect' && code === NOT_FOUND) return this.initialize('again', this.followed());
    if (what === 'reconnect' || (what === 'resume' && code === NO_SESSION)) return this.gone();
    this.over(code === NO_SESSION ? unknownHere() : t('The agent refused: {0}', message));
  }
  initialized(result: unknown): void {
    const { setup } = this.state;
    const parsed = answers.initialize.safeParse(result);
    if (!parsed.success) return this.over(t('This is not an agent host, or its version is not supported.'));
    this.state.seen = parsed.data.serverSeq;
    const root = parsed.data.snapshots.find(({ resource }) => isRoot(resource));
    const agents = readAgents(root?.state);
    const agent = setup.provider === null ? agents[0] : agents.find(({ provider }) => provider === setup.provider);
    this.state.agent = agent ?? null;
    if (setup.resume) return this.request('resume', 'subscribe', { channel: setup.resume.key });
    if (!agent) return this.over(t('The agent host has no agent “{0}”.', setup.provider ?? ''));
    this.create(`${agent.provider}:/${setup.newId}`, agent.provider);
  }
  create(channel: string, provider: string): void {
    this.request(`create ${channel}`, 'createSession', { channel, provider, workingDirectories: [this.state.setup.folder], config: {} });
  }
  /** The host does not have the session, as after it was killed. One in which nothing was said begins anew. */
  gone(): void {
    const { state } = this;
    const { agent, setup } = state;
    if (!agent || !isUnsaid(state)) return this.over(unknownHere());
    state.phase = 'opening';
    state.chat = null;
    state.seen = 0;
    state.attempts = 0;
    this.timer('silence', setup.limits.silence);
    this.create(`${agent.provider}:/${this.newId()}`, agent.provider);
  }
  sessionShown(result: unknown): void {
    const parsed = answers.subscribe.safeParse(result);
    const facts = parsed.success ? readSession(parsed.data.snapshot.state) : undefined;
    if (!parsed.success || !facts) return this.over(t('This is not an agent host, or its version is not supported.'));
    const { resource, fromSeq } = parsed.data.snapshot;
    this.state.seen = Math.max(this.state.seen, fromSeq);
    this.state.session = { uri: resource, facts };
    if (facts.lifecycle === 'failed') return this.over(facts.creationError?.message ?? agentError());
    if (facts.chat === null) return this.over(t('This is not an agent host, or its version is not supported.'));
    this.request('chat', 'subscribe', { channel: facts.chat });
  }
  chatShown(result: unknown): void {
    const parsed = answers.subscribe.safeParse(result);
    const chat = parsed.success ? readChat(parsed.data.snapshot.state) : undefined;
    if (!parsed.success || !chat) return this.over(t('This is not an agent host, or its version is not supported.'));
    this.state.seen = Math.max(this.state.seen, parsed.data.snapshot.fromSeq);
    this.state.name = senderOf(parsed.data) ?? this.state.name;
    this.state.inbox.push({ kind: 'chat', chat });
    this.pump();
  }
  /** The chat is shown as it is now: the session can be used. */
  ready(): void {
    const { state } = this;
    const { session, setup } = state;
    if (!session || state.phase !== 'opening') return;
    state.phase = 'ready';
    this.timer('silence', null);
    const { uri, facts } = session;
    this.emit({ type: 'resume.set', key: uri });
    this.showTitle(facts);
    this.showChoices();
    this.showReady();
    if (setup.tools.length > 0) this.offerTools(uri);
    this.askCommands();
    this.drain();
  }
  showReady(): void {
    const { agent, session } = this.state;
    const name = agent?.displayName || session?.facts.provider || '';
    this.emit({ type: 'link.ready', agent: { protocol: 'ahp', name }, offers: OFFERS });
  }
  offerTools(uri: string): void {
    const { setup } = this.state;
    this.dispatch(uri, {
      type: 'session/activeClientSet',
      activeClient: { clientId: setup.clientId, displayName: setup.client.name, tools: toolsOf(setup.tools) },
    });
  }
  askCommands(): void {
    const { session } = this.state;
    if (session) this.request('commands', 'completions', { kind: 'userMessage', channel: session.uri, text: '/', offset: 1 });
  }
  /** A host tells the commands of its agent as completions of a slash, once the agent runs. */
  commands(result: unknown): void {
    const parsed = answers.completions.safeParse(result);
    if (parsed.success) this.emit({ type: 'commands.set', commands: commandsIn(parsed.data.items) });
  }

  // --- what the host tells

  message(method: string, params: unknown): void {
    const { session } = this.state;
    if (method === 'root/sessionRemoved' && session && (params as { readonly session?: unknown } | null)?.session === session.uri)
      return this.over(unknownHere());
    if (method !== 'action') return;
    const envelope = readEnvelope(params);
    if (!envelope) return this.log('warn', 'The host sent an action that cannot be read.');
    this.received(envelope);
  }
  received({ channel, action, serverSeq, origin, rejectionReason }: Envelope): void {
    const { state } = this;
    state.seen = Math.max(state.seen, serverSeq);
    const isOurs = origin?.clientId === state.setup.clientId;
    const key = String(origin?.clientSeq);
    const was = isOurs ? find(state.dispatched, key) : undefined;
    if (isOurs) remove(state.dispatched, key);
    if (rejectionReason !== undefined) return was ? this.refused(was, rejectionReason) : undefined;
    if (isRoot(channel)) return;
    if (channel === state.session?.uri) return this.sessionAction(action);
    if (find(state.terminals, channel)) return this.terminalAction(channel, action);
    if (channel !== state.session?.facts.chat) return;
    const known = readChatAction(action);
    if (!known) return this.log('trace', 'The host sent an action that this version does not know.');
    if (was?.kind === 'turn' && known.type === 'chat/pendingMessageSet') this.showWaiting(known.id, was.content);
    if (this.isPlainText(known)) return;
    state.inbox.push({ kind: 'action', action: known });
    this.pump();
  }
  /** Most actions are pieces of text: nothing has to be compared for them. */
  isPlainText(action: ChatAction): boolean {
    const { state } = this;
    const { turn, chat } = state;
    if ((action.type !== 'chat/delta' && action.type !== 'chat/reasoning') || !turn || !chat || state.inbox.length > 0) return false;
    if (turn.id !== action.turnId) return false;
    const next = reduceChat(chat, action);
    if (next === chat) return true;
    state.chat = next;
    const kind = action.type === 'chat/delta' ? 'text' : 'thought';
    put(turn.texts, action.partId, (find(turn.texts, action.partId) ?? 0) + action.content.length);
    this.emit({ type: 'text.delta', turnId: turn.id, kind, partId: partIdOf(turn.id, action.partId), text: action.content });
    return true;
  }
  /** Handles an action that the host rejected. */
  refused(was: Dispatched, reason: string): void {
    const { turn, asks } = this.state;
    if (was.kind === 'turn' && was.isBehind) return this.pending('queued', was);
    if (was.kind === 'turn' && turn?.id === was.turnId && this.state.chat?.activeTurn?.id !== was.turnId)
      return this.endTurn('failed', { error: { message: reason, next: ['retry'] } });
    const ask = was.kind === 'answer' ? find(asks, was.askId) : undefined;
    if (ask) this.replaceAsk(ask, { ...ask.shown, id: this.newId() }, unsent(ask));
    this.notice('warn', reason);
  }
  sessionAction(raw: unknown): void {
    const { session } = this.state;
    const action = readSessionAction(raw);
    if (!session || !action) return;
    if (action.type === 'session/creationFailed') return this.over(action.error.message);
    const { config } = session.facts;
    if (action.type === 'session/titleChanged') {
      session.facts = { ...session.facts, title: action.title };
      this.showTitle(session.facts);
    } else if (action.type === 'session/configChanged' && config) {
      const values = action.replace ? action.config : { ...config.values, ...action.config };
      const { model } = this.choices();
      session.facts = { ...session.facts, config: { ...config, values } };
      // The agent has another model, whoever chose it.
      if (this.choices().model !== model) this.state.model = null;
      this.showChoices();
      // No action tells of choices that are new: a host that was started again learns them from the agent.
      const isNew = Object.keys(values).some((key) => !Object.hasOwn(config.schema.properties, key));
      const { provider } = session.facts;
      if (isNew) this.request('config', 'resolveSessionConfig', { provider, workingDirectory: this.state.setup.folder, config: values });
    } else if (action.type === 'session/activityChanged') {
      const { turn } = this.state;
      if (turn && action.activity) this.showActivity(turn, action.activity);
      else if (turn) this.clearActivity(turn);
    }
  }
  configTold(result: unknown): void {
    const { session } = this.state;
    const told = readConfig(result);
    if (!session?.facts.config || !told) return;
    session.facts = { ...session.facts, config: { ...session.facts.config, schema: told.schema } };
    this.showChoices();
  }
  showTitle({ title }: SessionFacts): void {
    if (title !== '') this.emit({ type: 'title.set', title });
  }
  choices(): Choices {
    const { agent, session } = this.state;
    return choicesOf(session?.facts.config, agent?.models.map(({ id }) => id) ?? []);
  }
  showChoices(): void {
    const { agent, model } = this.state;
    const models = agent?.models ?? [];
    const { mode, options, model: used } = this.choices();
    this.emit({ type: 'mode.set', mode });
    const hasModel = options.some((one) => one.about === 'model') || (models.length < 2 && used === null);
    const choices = models.map(({ id, name }) => ({ value: id, name: name || id }));
    const current = model ?? used ?? choices[0]?.value ?? '';
    const own = { id: MODEL, name: t('Model'), about: 'model', kind: 'choice', current, choices } as const;
    this.emit({ type: 'options.set', options: hasModel ? options : [own, ...options] });
  }

  // --- texts of files: what comes behind them waits

  pump(): void {
    const { state } = this;
    for (let update = state.inbox[0]; update; update = state.inbox[0]) {
      const wanted = update.kind === 'chat' ? contentsOf(callsOfChat(update.chat)) : contentsIn(update.action);
      const missing = wanted.slice(-MOST_CONTENTS).filter((uri) => find(state.contents, uri) === undefined);
      for (const uri of missing) {
        put(state.contents, uri, 'wanted');
        this.request(`read ${uri}`, 'resourceRead', { uri, encoding: 'utf-8' });
      }
      if (missing.length > 0) this.timer('contents', state.setup.limits.contents);
      if (wanted.some((uri) => find(state.contents, uri) === 'wanted')) return;
      state.inbox.shift();
      if (update.kind === 'chat') this.chatIs(update.chat);
      else if (state.chat) this.advance(state.chat, reduceChat(state.chat, update.action));
      // A whole chat needs those of all its turns.
      if (!state.turn) clear(state.contents);
    }
  }
  contentRead(uri: string, result: unknown, error: Failure | undefined): void {
    const { contents } = this.state;
    if (find(contents, uri) !== 'wanted') return;
    const parsed = error ? undefined : answers.resourceRead.safeParse(result);
    // Only text was asked for.
    put(contents, uri, parsed?.success && parsed.data.encoding === 'utf-8' ? { text: parsed.data.data } : null);
    this.pump();
  }
  // --- the chat: what the host has, told as the difference to what was told

  /** A whole chat: at the beginning, or after a connection was lost for too long. */
  chatIs(chat: ChatState): void {
    const { state } = this;
    const { setup } = state;
    if (state.chat) {
      this.advance(state.chat, chat);
      return this.ready();
    }
    // Content that the session already shows in full is not emitted again.
    const { shown } = setup;
    const earlier = turnsBefore(shown, chat);
    let same = 0;
    while (shown[earlier + same]?.whole && shown[earlier + same]?.id === chat.turns[same]?.id) same += 1;
    const changed = shown[earlier + same];
    if (changed) this.emit({ type: 'turns.removed', from: changed.id });
    const { activeTurn: _running, ...rest } = chat;
    this.advance({ ...rest, turns: chat.turns.slice(0, same) }, chat);
    this.ready();
  }
  advance(before: ChatState, after: ChatState): void {
    const { state } = this;
    state.chat = after;
    if (after === before) return;
    const earlier = turnsBefore(before.turns, after);
    let at = before.turns === after.turns ? before.turns.length : 0;
    while (earlier + at < before.turns.length && before.turns[earlier + at]?.id === after.turns[at]?.id) at += 1;
    const gone = before.turns[earlier + at];
    if (gone) this.emit({ type: 'turns.removed', from: gone.id });
    const said = this.steeringGone(before, after);
    for (const turn of after.turns.slice(at)) this.turnIs(turn, before);
    if (after.activeTurn) this.turnIs(after.activeTurn, before);
    else if (state.turn && before.activeTurn?.id === state.turn.id) this.turnGone(state.turn);
    if (said) this.steeringTaken(said, before, after);
  }
  turnIs(turn: ActiveTurn | EndedTurn, before: ChatState): void {
    const { state } = this;
    const startedAt = timeOf(turn.startedAt) ?? this.now;
    if (state.turn?.id !== turn.id) {
      if (state.turn) this.turnGone(state.turn);
      this.beginTurn(turn.id, fromMessage(turn.message), 'agent', startedAt);
    }
    const ours = state.turn;
    if (!ours) return;
    const { sender } = before.activeTurn?.id === turn.id ? {} : this.senderIn(turn.message);
    if (sender !== undefined) this.emit({ type: 'turn.sender', turnId: turn.id, sender });
    const known = before.activeTurn?.id === turn.id ? before.activeTurn.responseParts : [];
    turn.responseParts.forEach((part, at) => {
      if (part !== known[at]) this.partIs(ours, part);
    });
    const usage = turn.usage && turn.usage !== before.activeTurn?.usage ? usageOf(turn.usage) : {};
    if (Object.keys(usage).length > 0) this.emit({ type: 'usage.set', usage });
    if ('state' in turn) this.turnEnded(ours, turn);
  }
  /** The host has not kept it: what another client said may come again, under the same name, and so may a prompt that came behind theirs. */
  turnGone({ id, by }: AhpTurn): void {
    this.endTurn('cancelled');
    const { dispatched } = this.state;
    const key = Object.keys(dispatched).find((one) => isPromptOf(dispatched[one], id));
    const said = key === undefined ? undefined : dispatched[key];
    if (key !== undefined && said?.kind === 'turn') dispatched[key] = { ...said, isBehind: true };
    if (by !== 'user' || said) this.emit({ type: 'turns.removed', from: id });
  }
  beginTurn(id: string, prompt: readonly Content[], by: AhpTurn['by'], at: number): void {
    const turn: AhpTurn = { ...newTurn<TurnState['lanes'][string], AhpCall>(id, by), texts: {}, ran: {}, startedAt: at };
    this.startTurn(turn, prompt, at);
  }
  turnEnded(turn: AhpTurn, { state: how, duration, responseParts }: EndedTurn): void {
    // It may have ended long ago, while there was no connection. A host that does not know how long it took says 0.
    const at = this.state.phase === 'opening' || duration > 0 ? { at: turn.startedAt + duration } : {};
    const error = responseParts.findLast((part) => part.kind === 'error');
    this.unfollowAll();
    // They wait in the host, and begin turns of their own.
    const waiting = this.state.chat?.queuedMessages?.map(({ id }) => id) ?? [];
    if (waiting.length > 0) this.emit({ type: 'parts.removed', turnId: turn.id, partIds: waiting });
    if (how === 'complete') this.endTurn('done', at);
    else if (how === 'cancelled' || turn.phase === 'stopping') this.endTurn('cancelled', at);
    else this.endTurn('failed', { ...at, error: { message: error?.error.message || agentError(), next: ['retry'] } });
    if (this.state.phase !== 'ready') return;
    this.askCommands();
    this.drain();
  }
  partIs(turn: AhpTurn, part: ResponsePart): void {
    switch (part.kind) {
      case 'markdown':
      case 'reasoning':
        return this.textIs(turn, part.kind === 'markdown' ? 'text' : 'thought', part.id, part.content);
      case 'toolCall':
        return this.callIs(turn, part.toolCall);
      case 'inputRequest':
        return this.requestIs(turn, part.request, part.response !== undefined);
      case 'systemNotification': {
        const text = plain(part.content);
        if (text === '') return;
        // A name that no text of the host has.
        const id = typeof part._meta?.id === 'string' ? `${turn.id}/+${part._meta.id}` : undefined;
        const lane = laneOf(turn);
        if (part._meta?.prompt !== true) this.addPart(turn, lane, { kind: 'notice', notice: { level: 'info', text } }, id);
        else {
          const content = [{ type: 'text', text: saidIn(text, part._meta) }] as const;
          if (typeof part._meta.id === 'string') this.emit({ type: 'parts.removed', turnId: turn.id, partIds: [part._meta.id] });
          this.addPart(turn, lane, { kind: 'prompt', content, ...this.senderIn(part) }, id);
        }
        return;
      }
      case 'error':
        return;
    }
  }
  textIs(turn: AhpTurn, kind: 'text' | 'thought', id: string, content: string): void {
    const emitted = find(turn.texts, id) ?? 0;
    if (content.length <= emitted) return;
    put(turn.texts, id, content.length);
    this.emit({ type: 'text.delta', turnId: turn.id, kind, partId: partIdOf(turn.id, id), text: content.slice(emitted) });
  }
  callIs(turn: AhpTurn, call: ToolCallState): void {
    const id = call.toolCallId;
    if (call.contributor && call.contributor.clientId === this.state.setup.clientId) return this.runTool(turn, call);
    let known = find(turn.calls, id);
    const shown = withKnown(toolCallOf(call, textsIn(this.state.contents)), known?.shown);
    if (known) {
      const change = differenceOf(known.shown, shown);
      known.shown = shown;
      if (Object.keys(change).length > 0) this.changeCall(turn, id, change);
    } else {
      known = { id, decision: 'none', ended: false, shown };
      this.addCall(turn, laneOf(turn), known, shown);
    }
    known.ended = call.status === 'completed' || call.status === 'cancelled';
    for (const terminal of terminalsOf(call)) this.terminalIs(terminal, shown, known.ended);
    this.approvalIs(turn, call);
  }

  // --- what commands print

  /** The output of a command that runs is followed. What it printed comes with its end for those who have not followed it. */
  terminalIs({ resource: id, result }: TerminalContent, { input, title }: Omit<ToolCall, 'id'>, isOver: boolean): void {
    const { terminals } = this.state;
    const followed = find(terminals, id);
    const { command = title } = (input ?? {}) as { readonly command?: string };
    if (!isOver) {
      if (followed || Object.keys(terminals).length >= MOST_TERMINALS) return;
      put(terminals, id, { id, total: 0, next: null });
      // A journal may have what was printed before.
      this.emit({ type: 'terminal.changed', terminal: { id, command }, reset: true });
      return this.request(`terminal ${id}`, 'subscribe', { channel: id });
    }
    const exit = { code: result?.exitCode ?? null, signal: null };
    const whole = followed && followed.total > 0 ? {} : { reset: true as const, delta: result?.preview ?? '' };
    this.emit({ type: 'terminal.changed', terminal: { id, command, exit }, ...whole });
    if (followed) this.unfollow(id);
  }
  unfollow(id: string): void {
    remove(this.state.terminals, id);
    if (find(this.state.links, HOST) === 'open') this.do({ do: 'notify', link: HOST, method: 'unsubscribe', params: { channel: id } });
  }
  /** Ends a stopped command here, because no host reports its end. */
  unfollowAll(): void {
    for (const { id } of Object.values(this.state.terminals)) {
      this.emit({ type: 'terminal.changed', terminal: { id, exit: { code: null, signal: null } } });
      this.unfollow(id);
    }
  }
  terminalShown(id: string, raw: unknown): void {
    const state = readTerminal(raw);
    if (!state) return;
    this.printsFrom(id, fromMeta(state._meta).dropped);
    this.printed(id, terminalText(state));
  }
  terminalAction(id: string, raw: unknown): void {
    const action = readTerminalAction(raw);
    if (action?.type === 'terminal/cleared') this.printsFrom(id, fromMeta(action._meta).dropped);
    else if (action?.type === 'terminal/data') this.printed(id, action.data);
  }
  /** The output goes on after so many units, some of which may be known; undefined: it restarts. */
  printsFrom(id: string, at: number | undefined): void {
    const followed = find(this.state.terminals, id);
    if (!followed) return;
    const isAnew = at === undefined && followed.total > 0;
    if (isAnew) this.emit({ type: 'terminal.changed', terminal: { id }, reset: true });
    put(this.state.terminals, id, { id, total: isAnew ? 0 : followed.total, next: at ?? 0 });
  }
  printed(id: string, text: string): void {
    const followed = find(this.state.terminals, id);
    if (!followed || followed.next === null) return;
    const { total, next } = followed;
    const end = next + text.length;
    const delta = text.slice(Math.max(0, total - next));
    put(this.state.terminals, id, { id, total: Math.max(total, end), next: end });
    if (delta !== '') this.emit({ type: 'terminal.changed', terminal: { id }, delta });
  }
  approvalIs(turn: AhpTurn, call: ToolCallState): void {
    const ask = Object.values(this.state.asks).find(({ callId }) => callId === call.toolCallId);
    if (call.status !== 'pending-confirmation' || turn.phase === 'stopping') {
      if (ask) this.closeAsk(ask, sentFor(ask) ?? 'withdrawn');
      return;
    }
    if (!ask && this.isCrowded()) return this.answerUnasked(confirmationOf(call, turn.id, { kind: 'cancelled' }));
    const shown = approvalOf(call, { id: ask?.id ?? this.newId(), turnId: turn.id }, textsIn(this.state.contents));
    if (!ask) this.ask(shown, aboutCall(call));
    else if (JSON.stringify(shown) !== JSON.stringify(ask.shown)) this.replaceAsk(ask, { ...shown, id: this.newId() }, aboutCall(call));
  }
  isCrowded(): boolean {
    return Object.keys(this.state.asks).length >= MOST_ASKS;
  }
  answerUnasked(action: object): void {
    const chat = this.state.session?.facts.chat;
    if (chat && this.state.phase === 'ready') this.dispatch(chat, action);
  }
  requestIs(turn: AhpTurn, request: InputRequest, isSettled: boolean): void {
    const { answers: _drafts, ...asked } = request;
    const ask = Object.values(this.state.asks).find(
      ({ about }) => (about as AhpAskSubject).kind === 'input' && requestOf(about)?.id === request.id,
    );
    if (isSettled || turn.phase === 'stopping') {
      if (ask) this.closeAsk(ask, sentFor(ask) ?? 'withdrawn');
      return;
    }
    if (!ask && this.isCrowded()) return this.answerUnasked(completionOf(asked, { kind: 'cancelled' }));
    const about: AhpAskSubject = { kind: 'input', request: asked };
    if (!ask) this.ask({ ...questionOf(asked, turn.id), id: this.newId() }, about);
    else if (JSON.stringify(requestOf(ask.about)) !== JSON.stringify(asked))
      this.replaceAsk(ask, { ...questionOf(asked, turn.id), id: this.newId() }, about);
  }
  /** Returns the sender of a message, if it was another client or window. */
  senderIn(said: Pick<Message, '_meta'>): { readonly sender?: string } {
    const sender = senderOf(said);
    return sender === undefined || sender === this.state.name ? {} : { sender };
  }
  /** Returns the message sent into the turn that no longer waits: the agent has taken it up, or the turn has ended. */
  steeringGone({ steeringMessage: said }: ChatState, { steeringMessage, queuedMessages }: ChatState): PendingMessage | undefined {
    const { turn } = this.state;
    // When a later message takes its place, the host shows this one or puts it into the queue.
    if (!said || steeringMessage || queuedMessages?.some(({ id }) => id === said.id)) return undefined;
    if (turn) this.emit({ type: 'parts.removed', turnId: turn.id, partIds: [said.id] });
    return said;
  }
  /** Shows it in the turn, unless the host does, there or as a turn of its own. */
  steeringTaken({ id, message }: PendingMessage, before: ChatState, { activeTurn }: ChatState): void {
    const { turn } = this.state;
    if (!turn || activeTurn?.id !== turn.id || before.activeTurn?.id !== turn.id || turn.id === id) return;
    const isTold = activeTurn.responseParts.some(
      (part) =>
        part.kind === 'systemNotification' && part._meta?.prompt === true && saidIn(plain(part.content), part._meta) === message.text,
    );
    if (!isTold) this.addPart(turn, laneOf(turn), { kind: 'prompt', content: fromMessage(message), ...this.senderIn(message) });
  }

  // --- our tools, which an agent in the host uses

  /** The agent's own call shows it; this is how the host has it done. */
  runTool(turn: AhpTurn, call: ToolCallState): void {
    const { toolCallId: id } = call;
    if (call.status !== 'running' || find(turn.ran, id) || this.state.phase !== 'ready') return;
    put(turn.ran, id, true);
    this.port(null, `tool ${id}`, 'tool', { name: call.toolName, input: call.toolInput ?? '' });
  }

  toolRan(callId: string, result: unknown, error: Failure | undefined): void {
    const { turn, session } = this.state;
    const chat = session?.facts.chat;
    if (!turn || !chat) return;
    const { ok = false, text = error?.message ?? '' } = (result ?? {}) as { readonly ok?: boolean; readonly text?: string };
    this.dispatch(chat, {
      type: 'chat/toolCallComplete',
      turnId: turn.id,
      toolCallId: callId,
      result: {
        success: ok,
        pastTenseMessage: '',
        content: [{ type: 'text', text }],
        ...(ok ? {} : { error: { message: text } }),
      },
    });
  }

  // --- what the user wants

  intent(intent: Intent): void {
    const { state } = this;
    const { session } = state;
    switch (intent.type) {
      case 'prompt':
        return this.prompt({ turnId: intent.turnId, content: intent.content });
      case 'cancel':
        return this.cancel();
      case 'steer':
        return this.pending('steering', intent);
      case 'answer':
        return this.answered(intent.askId, intent.answer);
      case 'setMode':
        if (session) this.dispatch(session.uri, { type: 'session/configChanged', config: { [MODE]: intent.modeId } });
        return;
      case 'setOption':
        if (intent.optionId === MODEL) {
          state.model = String(intent.value);
          return this.showChoices();
        }
        if (session) this.dispatch(session.uri, { type: 'session/configChanged', config: { [intent.optionId]: intent.value } });
        return;
      default:
        return;
    }
  }
  prompt(prompt: NextPrompt): void {
    const { state } = this;
    const chat = state.session?.facts.chat;
    if (state.phase !== 'ready' || !chat || state.turn || this.isAway()) return this.enqueue(prompt);
    const { turnId, content } = prompt;
    this.beginTurn(turnId, content, 'user', this.now);
    const isQueued = state.chat?.queuedMessages?.some(({ id }) => id === turnId) ?? false;
    const action = {
      type: 'chat/turnStarted',
      turnId,
      startedAt: new Date(this.now).toISOString(),
      message: toMessage(content, state.model),
      ...(isQueued ? { queuedMessageId: turnId } : {}),
    };
    this.dispatch(chat, action, { kind: 'turn', turnId, content });
  }
  /** A message that waits in the host while a turn runs. */
  pending(kind: 'steering' | 'queued', { turnId: id, content }: NextPrompt): void {
    const { turn, phase, session } = this.state;
    const chat = session?.facts.chat;
    if (!turn || !chat || phase !== 'ready') return this.prompt({ turnId: id, content });
    this.showWaiting(id, content);
    this.dispatch(chat, { type: 'chat/pendingMessageSet', kind, id, message: toMessage(content, null) });
  }
  showWaiting(id: string, content: readonly Content[], turn = this.state.turn): void {
    if (turn) this.emit({ type: 'part.added', turnId: turn.id, part: { kind: 'prompt', id, content, pending: true } });
  }
  drain(): void {
    if (this.state.turn) return;
    const next = this.nextPrompt();
    if (next) this.prompt(next);
  }
  cancel(): void {
    const { turn, setup } = this.state;
    if (!turn || !this.startStopping(turn, setup.limits)) return;
    this.settle('turn', 'declined');
    if (!this.isAway()) this.sendStop(turn);
  }
  sendStop(turn: AhpTurn): void {
    const chat = this.state.session?.facts.chat;
    if (chat) this.dispatch(chat, { type: 'chat/turnCancelled', turnId: turn.id, duration: Math.max(0, this.now - turn.startedAt) });
  }
  /** The ask stays until the host confirms the answer. Without a connection the answer waits for the next one. */
  answered(askId: string, answer: Answer): void {
    const { turn, asks, session } = this.state;
    const ask = find(asks, askId);
    const chat = session?.facts.chat;
    if (!ask || !chat || sentFor(ask) !== undefined || !turn) return;
    const about = ask.about as AhpAskSubject;
    if (this.isAway()) {
      put(asks, askId, { ...ask, about: { ...about, waits: answer } });
      return this.showAway();
    }
    const action = about.kind === 'call' ? confirmationOf(about.call, turn.id, answer) : completionOf(about.request, answer);
    put(asks, askId, { ...ask, about: { ...about, sent: answer.kind === 'cancelled' ? 'cancelled' : 'answered' } });
    this.dispatch(chat, action, { kind: 'answer', askId });
  }
  elapsed(timer: string): void {
    const { state } = this;
    const { turn, contents } = state;
    if (state.phase === 'left') return this.close(HOST);
    if (timer === 'silence') return this.over(t('The agent did not answer within {0} s.', this.state.setup.limits.silence / 1000));
    if (timer === 'reconnect') return this.openAgain();
    if (timer === OFFER_RESTART && turn) return this.showActivity(turn, t('The agent is not stopping.'));
    if (timer === RESTART && turn) return this.endTurn('cancelled', { stop: t('The agent was stopped.') });
    if (timer !== 'contents') return;
    for (const [key, text] of Object.entries(contents)) if (text === 'wanted') contents[key] = null;
    this.pump();
  }

  // --- the connection

  /** The connection was lost, or is new and the host has not yet told what was missed. */
  isAway(): boolean {
    return find(this.state.links, HOST) !== 'open' || this.state.attempts > 0;
  }
  closed(why: LinkEnd): void {
    const { state } = this;
    if (state.phase === 'left') {
      state.phase = 'over';
      return;
    }
    if (state.phase === 'ready' && why.code === GOING_AWAY) return this.over(t('The agent host was stopped.'));
    const delay = state.setup.limits.reconnect[state.attempts];
    if (state.phase !== 'ready' || delay === undefined) return this.over(why.reason);
    state.attempts += 1;
    this.showAway();
    this.timer('reconnect', delay);
    // No answer comes to what was asked on that connection: it is asked again on the next one.
    const lost = Object.keys(state.contents).filter((key) => state.contents[key] === 'wanted');
    for (const key of lost) delete state.contents[key];
    if (lost.length > 0) this.timer('contents', null);
  }
  showAway(): void {
    const { attempts, asks, setup } = this.state;
    const tries = t('Trying again ({0} of {1}): {2}', attempts, setup.limits.reconnect.length, t('The connection was lost.'));
    const note = Object.values(asks).some(waitsIn) ? t('Your answer has not been sent yet. {0}', tries) : tries;
    this.emit({ type: 'link.opening', note, next: ['restart'] });
  }
  openAgain(): void {
    const { state } = this;
    if (!state.session) return;
    this.open(HOST, {});
    this.request('reconnect', 'reconnect', { ...this.itself(), lastSeenServerSeq: state.seen, subscriptions: this.followed() });
  }
  followed(): readonly string[] {
    const { session, terminals } = this.state;
    const chat = session?.facts.chat ?? null;
    return [ROOT, ...(session ? [session.uri] : []), ...(chat === null ? [] : [chat]), ...Object.values(terminals).map(({ id }) => id)];
  }
  reconnected(result: unknown): void {
    const { state } = this;
    const { session, turn } = state;
    const parsed = answers.reconnect.safeParse(result);
    if (!parsed.success || !session) return this.over(t('This is not an agent host, or its version is not supported.'));
    state.attempts = 0;
    const behind = Object.values(state.dispatched).flatMap((one) => (one.kind === 'turn' && one.isBehind ? [one] : []));
    clear(state.dispatched);
    if (parsed.data.type === 'replay') {
      if (parsed.data.missing.includes(session.uri)) return this.gone();
      this.pump();
      for (const envelope of parsed.data.actions) this.received(envelope);
      for (const { id, next } of Object.values(state.terminals))
        if (next === null) this.request(`terminal ${id}`, 'subscribe', { channel: id });
    } else this.snapshots(parsed.data.snapshots);
    if (state.phase !== 'ready') return;
    this.askAgain(turn?.id);
    for (const said of behind) if (!state.chat || !hasPrompt(state.chat, said.turnId)) this.pending('queued', said);
    this.showReady();
    if (state.setup.tools.length > 0) this.offerTools(session.uri);
    this.drain();
  }
  snapshots(all: readonly Snapshot[]): void {
    const { state } = this;
    const { session } = state;
    const chat = readChat(all.find(({ resource }) => resource === session?.facts.chat)?.state);
    const facts = readSession(all.find(({ resource }) => resource === session?.uri)?.state);
    if (!chat || !facts || !session) return this.gone();
    // The numbers may be those of another run of the host.
    state.seen = Math.max(0, ...all.map(({ fromSeq }) => fromSeq));
    session.facts = facts;
    this.showTitle(facts);
    this.showChoices();
    for (const { resource, state: shown } of all) if (find(state.terminals, resource)) this.terminalShown(resource, shown);
    state.inbox.length = 0;
    state.inbox.push({ kind: 'chat', chat });
    this.pump();
  }
  /** Sends answers that waited, asks again where one may not have arrived, and fails the prompt of the turn that ran here. */
  askAgain(turnId: string | undefined): void {
    const { asks, turn, chat, inbox } = this.state;
    for (const ask of Object.values(asks)) {
      const waits = waitsIn(ask);
      if (waits) put(asks, ask.id, { ...ask, about: unsent(ask) });
      if (waits && inbox.length === 0) this.answered(ask.id, waits);
      else if (waits || sentFor(ask) !== undefined) this.replaceAsk(ask, { ...ask.shown, id: this.newId() }, unsent(ask));
    }
    if (turn?.phase === 'stopping' && chat?.activeTurn?.id === turn.id) this.sendStop(turn);
    if (!turn || turn.id !== turnId || chat?.activeTurn?.id === turn.id || inbox.length > 0) return;
    const message = t('The connection was lost.');
    this.endTurn('failed', { error: { message, next: ['retry'] } });
  }
  /** A conversation in which nothing was said is not left behind. */
  leave(): void {
    const { state } = this;
    const { session, phase, setup } = state;
    const isEmpty = state.chat !== null && isUnsaid(state) && session?.uri !== setup.resume?.key;
    this.settle('everything', 'withdrawn');
    state.phase = find(state.links, HOST) === undefined ? 'over' : 'left';
    if (state.phase === 'over') return;
    if (phase !== 'ready' || !isEmpty || !session) return this.close(HOST);
    this.request('dispose', 'disposeSession', { channel: session.uri });
    this.timer('silence', state.setup.limits.contents);
  }
  over(reason: string): void {
    const { state } = this;
    this.timer('silence', null);
    if (state.turn) this.endTurn('failed', { error: { message: reason, next: ['retry'] } });
    this.settle('everything', 'withdrawn');
    this.linkClosed(reason, ['restart', 'showLog']);
    state.phase = find(state.links, HOST) === undefined ? 'over' : 'left';
    this.close(HOST);
  }
}

export const ahpMachine = machineOf(AhpStep);
