import { asSentence, t } from '../base/l10n.ts';
import { messageOf } from '../base/log.ts';
import type { Adapter, AdapterContext, Hint, Launch, Past, Protocol, Resume } from '../protocols/adapter.ts';
import { asRejection, feedbackWay, isTooWide } from '../session/approvalAnswers.ts';
import { enclosed } from '../session/corrections.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Answer, Intent } from '../session/intents.ts';
import type { Ask, Command, Content, Decision, Field, Notice, Part, QueuedPrompt, Session, SessionId, TurnId } from '../session/model.ts';
import { type ApprovalRule, ruledAnswer } from '../session/policy.ts';
import { findAsk, isBusy, isRecorded, readsHistory, reconnecting, runningTurn } from '../session/select.ts';
import { appliedOnDisk, workspacePathsAt } from './diskFiles.ts';
import { type Applied, AT_A_TIME, EventSink, MOST_PARTS, surplusParts } from './eventSink.ts';
import type { JournalTrouble, JournalWriter } from './journal/writer.ts';
import type { HostedSession } from './surface.ts';
import { ToolApproval } from './toolApproval.ts';

/** Dependencies of a live session. */
export interface LiveDeps extends Pick<AdapterContext, 'ports' | 'client' | 'log' | 'trace' | 'now' | 'newId'> {
  readonly protocol: Protocol;
  /** Rejects with a message for the user when the agent cannot be found. */
  readonly launch: () => Promise<Launch>;
  readonly rules: () => readonly ApprovalRule[];
  readonly journal?: JournalWriter;
  /** Work that must be done before the agent gets a prompt. Undefined when there is none; never rejects. */
  readonly beforePrompt?: (turnId: TurnId) => Promise<void> | undefined;
}

/** Milliseconds after which another Stop counts as deliberate. */
const SECOND_STOP = 1_000;
/** Milliseconds for which a prompt is prepared unseen. After that it is in the queue, where the user sees it and the journal keeps it. */
const PREPARED_UNSEEN = 500;

interface OpenAdapter {
  readonly adapter: Adapter;
  readonly stop: AbortController;
}
/** State of the agent. A launch that another start or a stop has superseded is no longer the state, and its outcome is dropped. */
type AgentState =
  | { readonly kind: 'neverStarted' }
  | { readonly kind: 'launching' }
  | ({ readonly kind: 'open' } & OpenAdapter)
  | { readonly kind: 'gone' }
  | { readonly kind: 'disposed' };

/** The prompt that `beforePrompt` works for. Only one is prepared at a time; the work of an earlier one is no longer awaited. */
type Preparation =
  | { readonly kind: 'none' }
  /** Sent once it is prepared, without the queue. `timer` queues it when that takes long. */
  | {
      readonly kind: 'direct';
      readonly turnId: TurnId;
      readonly work: Promise<void>;
      readonly prompt: QueuedPrompt;
      readonly timer: NodeJS.Timeout;
    }
  | { readonly kind: 'queued'; readonly turnId: TurnId; readonly work: Promise<void> }
  | { readonly kind: 'done'; readonly turnId: TurnId };

/** A session and the agent that feeds it: policy, queue of prompts, journal, end of life. */
export class LiveSession implements HostedSession {
  readonly id: SessionId;
  readonly profile: string;
  readonly #deps: LiveDeps;
  readonly #events: EventSink;
  readonly #toolApproval: ToolApproval;
  #agent: AgentState = { kind: 'neverStarted' };
  #ending: Promise<void> = Promise.resolve();
  /** When the user asked to stop the running turn. */
  #stoppedAt = 0;
  /** With more parts than this the running turn is looked at for surplus ones. */
  #boundAt = MOST_PARTS;
  /** Messages that clients of an agent host have added to the running turn: no protocol tells their sender once the agent has accepted them. */
  readonly #steered = new Map<TurnId, { readonly content: readonly Content[]; readonly sender: string }>();
  #preparation: Preparation = { kind: 'none' };

  constructor(start: Session, profile: string, deps: LiveDeps) {
    this.id = start.id;
    this.profile = profile;
    this.#deps = deps;
    this.#events = new EventSink(start, deps.journal, deps.now);
    this.#toolApproval = new ToolApproval(this.#events, deps.newId);
    this.#events.onApplied((applied) => this.#react(applied));
    this.#events.onRefused((ask) => this.#refuse(ask));
    deps.journal?.onTrouble((trouble) => this.#emit({ type: 'notice', notice: noticeOf(trouble) }));
  }

  get store(): HostedSession['store'] {
    return this.#events.store;
  }

  /** False for a session that was only read from the journal. */
  get startedHere(): boolean {
    return this.#agent.kind !== 'neverStarted';
  }

  /** Ends everything in progress, at that time: a session read from the journal has no agent. */
  interrupt(lost = 0, at = this.#deps.now()): void {
    if (lost > 0) {
      const text = t('Part of this conversation was damaged on disk and could not be read ({0} records).', lost);
      this.#emit({ type: 'notice', notice: { level: 'warn', text } });
    }
    if (this.#isRecorded) return;
    this.#emit({ type: 'link.closed', reason: interrupted(), next: ['restart'], at: Math.min(at, this.#deps.now()) });
  }

  /** Sets the title and the key of the copied conversation, in use until the agent names the copy. */
  name(title: string, copyOf: string): void {
    this.#emit({ type: 'title.set', title, copyOf });
  }

  /** Applies an event that the agent does not tell: of the file review, of the clients of an agent host, and of what a copy was made from. */
  publish(
    event: Extract<
      SessionEvent,
      {
        readonly type:
          | 'turn.files'
          | 'turn.started'
          | 'turn.ended'
          | 'turn.sender'
          | 'turn.retries'
          | 'turn.dated'
          | 'corrections.set'
          | 'call.amended'
          | 'notice';
      }
    >,
  ): void {
    this.#emit(event);
  }

  rename(title: string): void {
    this.#emit({ type: 'title.set', title, chosen: true });
  }

  /** Opens the conversation; the session's link shows the outcome. */
  async start(resume?: Resume): Promise<void> {
    if (this.#agent.kind === 'disposed' || this.#isRecorded) return;
    const launching: AgentState = { kind: 'launching' };
    this.#agent = launching;
    this.#emit({ type: 'link.opening' });
    if (resume?.history) this.#emit({ type: 'history.started' });
    if (resume?.history) this.#emit({ type: 'resume.set', key: resume.key });
    await this.#ending;
    try {
      const launch = await this.#deps.launch();
      if (this.#agent === launching) this.#open(launch, resume);
    } catch (error) {
      this.#deps.log.error('The agent could not be launched', error);
      if (this.#agent !== launching) return;
      this.#agent = { kind: 'gone' };
      this.#emit({
        type: 'link.closed',
        reason: t('{0} could not start: {1}', this.store.now.agent.name, messageOf(error)),
        next: ['restart', 'showLog', 'pickAgent'],
        at: this.#deps.now(),
      });
    }
  }

  /** Restarts an agent at rest with a changed launch. One at work takes it with its next start. */
  restartAtRest(): void {
    if (this.store.now.link.state === 'ready' && !isBusy(this.store.now)) void this.restart();
  }

  /** Ends the agent and starts it again on the same conversation; the transcript stays. */
  async restart(): Promise<void> {
    if (this.#isRecorded) return;
    // A turn that is cut off from its agent is lost by that, whoever restarts it.
    if (reconnecting(this.store.now) !== undefined) this.#end(t('The connection was lost.'));
    else this.#end(t('You restarted the agent.'), { restarts: true });
    const { resumeKey: key, partial, turns, queue } = this.store.now;
    // Replays the whole conversation instead of continuing from a partial history.
    if (partial && turns[0]) this.#emit({ type: 'turns.removed', from: turns[0].id });
    const isPrompted = queue.some((one) => !one.held);
    await this.start(key === undefined ? undefined : { key, history: partial === true, ...(isPrompted ? { isPrompted } : {}) });
  }

  /** Goes on with a conversation that the agent keeps: another one takes the place of the transcript. */
  async open(key: string): Promise<void> {
    const { resumeKey, turns } = this.store.now;
    if (key === resumeKey && turns.length > 0) return this.restart();
    this.#end(interrupted());
    if (turns[0]) this.#emit({ type: 'turns.removed', from: turns[0].id });
    await this.start({ key, history: true });
  }

  send(intent: Intent): void {
    if (this.#agent.kind === 'disposed' || this.#isRecorded) return;
    switch (intent.type) {
      case 'prompt':
        return this.#prompt({
          turnId: intent.turnId,
          content: intent.content,
          ...(intent.replaces === undefined ? {} : { replaces: intent.replaces }),
          ...(intent.again === undefined ? {} : { again: intent.again }),
          ...senderOf(intent),
        });
      case 'command':
        return this.#prompt({ turnId: intent.turnId, content: [{ type: 'text', text: commandText(intent.path, intent.args) }] });
      case 'steer':
        if (isEmpty(intent.content)) return;
        if (!this.#offers()?.steer || !runningTurn(this.store.now))
          return this.#prompt({ turnId: intent.turnId, content: intent.content, ...senderOf(intent) });
        if (intent.sender !== undefined) this.#steered.set(intent.turnId, { content: intent.content, sender: intent.sender });
        return this.#adapter?.send(intent);
      case 'unqueue':
        return this.#takeBack(intent.turnId);
      case 'reorder':
        return this.#setQueue(reordered(this.store.now.queue, intent.order));
      case 'cancel': {
        if (readsHistory(this.store.now)) return this.#adapter?.send(intent);
        const turn = runningTurn(this.store.now);
        if (!turn) return this.#stopBeforeTurn();
        if (turn.stopping) return this.#stopAgain();
        this.#stoppedAt = this.#deps.now();
        this.#emit({ type: 'turn.stopping', turnId: turn.id });
        return this.#adapter?.send(intent);
      }
      case 'answer':
        return this.#answer(intent.askId, intent.answer);
      case 'revise':
        return this.#emit({ ...intent, type: 'ask.revised' });
      case 'stopCall':
      case 'stopTerminal':
      case 'setMode':
      case 'setOption':
        return this.#adapter?.send(intent);
    }
  }

  async hints(text: string, cursor: number): Promise<readonly Hint[]> {
    return (await this.#adapter?.hints?.(text, cursor)) ?? [];
  }

  /** Earlier conversations the agent itself remembers. */
  async history(signal?: AbortSignal): Promise<readonly Past[]> {
    return (await this.#adapter?.history?.(signal)) ?? [];
  }

  /** Makes the agent forget an earlier conversation. Rejects when it cannot. */
  async forget(key: string, signal?: AbortSignal): Promise<void> {
    const adapter = this.#adapter;
    if (!adapter?.forget) throw new Error('This agent cannot delete conversations.');
    await adapter.forget(key, signal);
  }

  /** Copies this conversation; what comes back is the copy's name, to be opened with its history. Rejects when the agent cannot. */
  async fork(signal?: AbortSignal): Promise<string> {
    const adapter = this.#adapter;
    if (!adapter?.fork) throw new Error('This agent cannot copy conversations.');
    return adapter.fork(signal);
  }

  /** Signs the user out of the agent. Rejects when it cannot. */
  async signOut(): Promise<void> {
    const adapter = this.#adapter;
    if (!adapter?.signOut) throw new Error('This agent has nothing to sign out of.');
    await adapter.signOut();
  }

  /** True for a recording: it is read, and nothing starts or changes it. */
  get #isRecorded(): boolean {
    return isRecorded(this.store.now);
  }

  /** Ends the agent; the session stays readable. Settles when its process is gone. */
  async stop(): Promise<void> {
    this.#end(t('The agent was stopped.'));
    await this.#ending;
  }

  /** Settles when the agent is gone. */
  get ended(): Promise<void> {
    return this.#ending;
  }

  dispose(): void {
    if (this.#agent.kind === 'disposed') return;
    this.#end(interrupted());
    this.#agent = { kind: 'disposed' };
    this.#deps.journal?.dispose();
    this.#events.dispose();
  }

  get #adapter(): Adapter | undefined {
    return this.#agent.kind === 'open' ? this.#agent.adapter : undefined;
  }

  #open(launch: Launch, resume: Resume | undefined): void {
    const launching = this.#agent;
    const stop = new AbortController();
    const events = this.#events;
    const adapter = this.#deps.protocol.open(launch, {
      // Ignores events of a conversation that has ended.
      emit: (event) => {
        if (!stop.signal.aborted) events.emit(event);
      },
      ports: this.#toolApproval.guard(this.#deps.ports),
      name: this.store.now.agent.name,
      client: this.#deps.client,
      now: this.#deps.now,
      newId: this.#deps.newId,
      signal: stop.signal,
      trace: this.#deps.trace,
      log: this.#deps.log,
      launch: this.#deps.launch,
      past: this.store.now.turns,
      ...(resume === undefined ? {} : { resume }),
    });
    // A surface may have stopped the session while the adapter was being made.
    if (this.#agent !== launching) return this.#settle({ adapter, stop });
    this.#agent = { kind: 'open', adapter, stop };
    this.#drain();
  }

  /** Stops an agent that is still starting, and holds the prompts that wait for it or are being prepared. */
  #stopBeforeTurn(): void {
    const { state } = this.store.now.link;
    if (state === 'closed') return;
    this.#hold();
    if (state === 'opening') this.#end(t('The agent was stopped.'));
  }

  /** Restarts an agent that ignored an earlier Stop and resumes the conversation. A double click is one Stop. */
  #stopAgain(): void {
    const turn = runningTurn(this.store.now);
    if (!turn || Math.abs(this.#deps.now() - this.#stoppedAt) < SECOND_STOP) return;
    const stop = t('The agent was stopped.');
    this.#emit({ type: 'turn.ended', turnId: turn.id, at: this.#deps.now(), status: 'cancelled', stop });
    void this.restart();
  }

  #end(reason: string, how: { readonly restarts?: true } = {}): void {
    if (this.#isRecorded) return;
    const agent = this.#agent;
    this.#agent = { kind: 'gone' };
    if (agent.kind === 'open') this.#settle(agent);
    this.#emit({ type: 'link.closed', reason, next: ['restart'], ...how, at: this.#deps.now() });
  }

  #settle({ adapter, stop }: OpenAdapter): void {
    stop.abort();
    adapter.dispose();
    this.#ending = Promise.all([this.#ending, adapter.ended]).then(
      () => undefined,
      (error: unknown) => this.#deps.log.error('The agent did not end as it should', error),
    );
  }

  #emit(event: SessionEvent): void {
    this.#events.emit(event);
  }

  #react({ event, before }: Applied): void {
    switch (event.type) {
      case 'ask.opened':
        return this.#askOpened(event.ask);
      case 'turn.ended':
        this.#steered.clear();
        // A turn that was stopped in a replayed conversation must not affect prompts queued now.
        if (event.status !== 'done' && !isToldAgain(this.store.now)) this.#hold(!isStopped(before, event));
        if (!this.store.now.partial) void this.#lookFor(event.turnId);
        return this.#drain();
      case 'link.closed':
        this.#queuePrepared();
        // The user queued these prompts before the turn broke off, so they may not fit any more.
        if (runningTurn(before)) this.#hold();
        return this.#forget();
      case 'link.ready':
        return this.#drain();
      case 'part.added':
        this.#nameSender(event.turnId, event.part);
        return this.#boundTurn(event.turnId);
      case 'text.delta':
        return this.#boundTurn(event.turnId);
      default:
        return;
    }
  }

  /** Agents repeat a message under a name of their own. */
  #nameSender(turnId: TurnId, part: Part): void {
    if (part.kind !== 'prompt' || this.#steered.size === 0) return;
    const said = JSON.stringify(part.content);
    const [id, found] = [...this.#steered].find(([id, { content }]) => id === part.id || JSON.stringify(content) === said) ?? [];
    if (id === undefined || !found) return;
    if (!part.pending) this.#steered.delete(id);
    this.#emit({ type: 'turn.sender', turnId, partId: part.id, sender: found.sender });
  }

  /** Drops the oldest parts of a turn that has grown too long. */
  #boundTurn(turnId: TurnId): void {
    const turn = this.store.now.turns.findLast((one) => one.id === turnId);
    if (!turn || turn.parts.length <= MOST_PARTS) this.#boundAt = MOST_PARTS;
    if (!turn || turn.parts.length <= this.#boundAt) return;
    const partIds = surplusParts(turn);
    this.#boundAt = Math.max(MOST_PARTS, turn.parts.length - partIds.length + AT_A_TIME);
    if (partIds.length === 0) return;
    this.#emit({ type: 'parts.removed', turnId, partIds });
    const text = t('This turn has more than {0} steps. Only the latest are kept.', MOST_PARTS);
    if (!this.store.now.notices.some((notice) => notice.text === text && notice.turnId === turnId))
      this.#emit({ type: 'notice', notice: { level: 'info', text, turnId } });
  }

  /** Checks the disk for changes of this turn that the agent has not reported. */
  async #lookFor(turnId: TurnId): Promise<void> {
    const turn = this.store.now.turns.findLast((one) => one.id === turnId);
    for (const callId of turn ? await appliedOnDisk(turn, this.store.now.cwd) : [])
      this.#emit({ type: 'call.appliedOnDisk', turnId, callId });
  }

  /** Forgets an agent whose link has closed; its adapter needs no further cleanup. */
  #forget(): void {
    const agent = this.#agent;
    if (agent.kind !== 'open') return;
    // Deferred, to run outside the adapter's own call.
    queueMicrotask(() => {
      if (this.#agent !== agent) return;
      this.#agent = { kind: 'gone' };
      this.#settle(agent);
    });
  }

  #askOpened(ask: Ask): void {
    const ruled = ruledAnswer(ask, this.#deps.rules(), this.store.now.cwd, workspacePathsAt(this.store.now.cwd));
    // Deferred until the adapter has emitted all its events.
    if (ruled) queueMicrotask(() => this.#answer(ask.id, ruled.answer, ruled.rule));
  }

  #refuse(ask: Ask): void {
    const adapter = this.#adapter;
    // Deferred until after the adapter's own call. Our own tools notice that their ask is not open.
    queueMicrotask(() => adapter?.send({ type: 'answer', askId: ask.id, answer: { kind: 'cancelled' } }));
  }

  /** Drops an answer to a closed ask or with an option that it never had. */
  #answer(askId: string, chosen: Answer, rule?: ApprovalRule): void {
    const ask = findAsk(this.store.now, askId);
    if (!ask) return;
    const answer = asRejection(ask, chosen);
    if (answer.kind === 'option' && !offered(ask).includes(answer.optionId)) return;
    if (answer.kind === 'fields' && ask.kind !== 'question') return;
    const { given, words } = feedbackApart(ask, answer, this.#offers()?.feedback === true);
    const decision = decisionOf(ask, given, rule);
    if (decision) this.#emit({ type: 'ask.decided', askId, decision });
    if (!this.#toolApproval.answer(askId, given)) this.#adapter?.send({ type: 'answer', askId, answer: given });
    if (words !== undefined) this.#sendFeedback(words);
  }

  /** Feedback that the answer did not carry: said into the turn where the agent hears it there, otherwise the very next prompt. */
  #sendFeedback(text: string): void {
    const content: readonly Content[] = [{ type: 'text', text }];
    const turnId = this.#deps.newId();
    if (this.#offers()?.steer && runningTurn(this.store.now)) return this.#adapter?.send({ type: 'steer', turnId, content });
    const { queue } = this.store.now;
    const [first] = queue;
    // Several rejections of one turn are one prompt.
    const waiting = first?.feedback && !first.held ? first : undefined;
    const next: QueuedPrompt = { turnId: waiting?.turnId ?? turnId, content: [...(waiting?.content ?? []), ...content], feedback: true };
    this.#setQueue([next, ...queue.filter((one) => one !== waiting)]);
    this.#drain();
  }

  #prompt(prompt: QueuedPrompt): void {
    if (isEmpty(prompt.content) || this.store.now.turns.some((turn) => turn.id === prompt.turnId)) return;
    if (this.#preparation.kind === 'direct' && this.#preparation.turnId === prompt.turnId) {
      this.#preparation = { ...this.#preparation, prompt };
      return;
    }
    const { queue, link } = this.store.now;
    const others = without(queue, prompt.turnId);
    const wasQueued = others.length < queue.length;
    const isNext = wasQueued || others.every((one) => one.held);
    // A prompt that can be sent at once never enters the queue.
    if (isNext && this.#canSend()) {
      if (this.#isPrepared(prompt, wasQueued)) return this.#sendPrompt(prompt, wasQueued);
      if (this.#preparation.kind === 'direct') return;
    }
    this.#setQueue(wasQueued ? [prompt, ...others] : [...others, prompt]);
    if (link.state === 'closed') void this.restart();
    else this.#drain();
  }

  #drain(): void {
    const next = this.store.now.queue.find((one) => !one.held);
    if (next && this.#canSend() && this.#isPrepared(next, true)) this.#sendPrompt(next, true);
  }

  /** False while a prompt is being prepared that goes first. */
  #canSend(): boolean {
    return (
      this.#adapter !== undefined &&
      this.store.now.link.state === 'ready' &&
      !runningTurn(this.store.now) &&
      this.#preparation.kind !== 'direct'
    );
  }

  #sendPrompt(prompt: QueuedPrompt, wasQueued: boolean): void {
    if (wasQueued) this.#setQueue(without(this.store.now.queue, prompt.turnId));
    const intent = asCommand(prompt, this.store.now.commands);
    const { corrections = [] } = this.store.now;
    // Commands cannot carry them, so they wait for the next prompt.
    if (intent.type !== 'prompt' || corrections.length === 0) return this.#adapter?.send(intent);
    this.#emit({ type: 'corrections.set', texts: [] });
    this.#adapter?.send({ ...intent, content: [...intent.content, { type: 'text', text: enclosed(corrections) }] });
  }

  /** Begins the work before the prompt, unless it is done or under way for it already. */
  #isPrepared(prompt: QueuedPrompt, isQueued: boolean): boolean {
    const { turnId } = prompt;
    if (this.#preparation.kind !== 'none' && this.#preparation.turnId === turnId) return this.#preparation.kind === 'done';
    const work = this.#deps.beforePrompt?.(turnId);
    if (!work) return true;
    if (isQueued) this.#preparation = { kind: 'queued', turnId, work };
    else {
      const timer = setTimeout(() => this.#queuePrepared(), PREPARED_UNSEEN);
      this.#preparation = { kind: 'direct', turnId, work, prompt, timer };
      this.#emit({ type: 'notices.removed' });
    }
    void work.then(() => this.#endPreparation(work));
    return false;
  }

  #endPreparation(work: Promise<void>): void {
    const preparation = this.#preparation;
    if (preparation.kind === 'none' || preparation.kind === 'done' || preparation.work !== work) return;
    this.#preparation = { kind: 'done', turnId: preparation.turnId };
    if (preparation.kind === 'queued') return this.#drain();
    clearTimeout(preparation.timer);
    // The agent may have begun a turn of its own meanwhile.
    if (this.#canSend()) this.#sendPrompt(preparation.prompt, false);
    else this.#setQueue([preparation.prompt, ...this.store.now.queue]);
  }

  /** Puts the prompt that is being prepared into the queue, as its first. */
  #queuePrepared(): void {
    const preparation = this.#preparation;
    if (preparation.kind !== 'direct') return;
    clearTimeout(preparation.timer);
    const { turnId, work, prompt } = preparation;
    this.#preparation = { kind: 'queued', turnId, work };
    this.#setQueue([prompt, ...this.store.now.queue]);
  }

  /** Removes a prompt that was not sent. */
  #takeBack(turnId: TurnId): void {
    const preparation = this.#preparation;
    if (preparation.kind !== 'direct' || preparation.turnId !== turnId) return this.#setQueue(without(this.store.now.queue, turnId));
    clearTimeout(preparation.timer);
    this.#preparation = { kind: 'none' };
    this.#drain();
  }

  /** Holds the prompts that were not sent for the user. Feedback is still sent where its rejection has ended the turn. */
  #hold(exceptFeedback = false): void {
    this.#queuePrepared();
    const { queue } = this.store.now;
    const holds = (one: QueuedPrompt) => !one.held && !(exceptFeedback && one.feedback);
    if (queue.some(holds)) this.#setQueue(queue.map((one) => (holds(one) ? { ...one, held: true } : one)));
  }

  #setQueue(queue: readonly QueuedPrompt[]): void {
    this.#emit({ type: 'queue.set', queue });
  }

  #offers() {
    const { link } = this.store.now;
    return link.state === 'ready' ? link.offers : undefined;
  }
}

/** True while a started agent replays the conversation. After a reconnection the link has a note instead: its turn went on. */
function isToldAgain({ partial, link }: Session): boolean {
  return partial === true || (link.state === 'opening' && link.note === undefined);
}

function interrupted(): string {
  return t('Interrupted: the window or the agent was closed.');
}

function noticeOf(trouble: JournalTrouble): Notice {
  switch (trouble.kind) {
    case 'failing':
      return {
        level: 'warn',
        text: t('This conversation cannot be saved: {0} It is kept in memory and saved once that works again.', asSentence(trouble.reason)),
        about: 'saving',
      };
    case 'recovered':
      return { level: 'info', text: t('This conversation is saved again.'), about: 'saving' };
    case 'moved':
      return {
        level: 'warn',
        text: t('Another window continues this conversation. What happens here is saved as a separate conversation.'),
      };
  }
}

/** True when the turn failed or the user stopped it, false when the agent gave up. */
function isStopped(before: Session, { turnId, status }: Extract<SessionEvent, { type: 'turn.ended' }>): boolean {
  return status === 'failed' || runningTurn(before)?.id !== turnId || runningTurn(before)?.stopping === true;
}

/** The answer as the agent takes it, and the words with a rejection that it does not carry. */
function feedbackApart(ask: Ask, answer: Answer, carries: boolean): { readonly given: Answer; readonly words?: string } {
  if (ask.kind !== 'approval' || answer.kind !== 'option' || answer.feedback === undefined) return { given: answer };
  if (feedbackWay(ask, carries) === 'answer') return { given: answer };
  const { feedback, ...given } = answer;
  const effect = ask.options.find((one) => one.id === answer.optionId)?.effect;
  const words = feedback.trim();
  return words !== '' && feedbackWay(ask, carries) && effect?.startsWith('reject') ? { given, words } : { given };
}

/** Returns the ids that a user may choose; drops values that the view did not show. */
function offered(ask: Ask): readonly string[] {
  if (ask.kind === 'approval') return ask.options.filter((option) => !isTooWide(option, ask)).map((option) => option.id);
  return ask.refusal === undefined ? [] : [ask.refusal];
}

/** An answer as the user has chosen it: yes or no is sent as a truth value. */
function answerName({ kind, choices }: Field, value: string): string {
  if (kind !== 'boolean' || choices) return value;
  return value === 'true' ? t('Yes') : value === 'false' ? t('No') : value;
}

/** Returns the decision of an answer, stored with its call. Omits secrets; undefined for an option that the ask does not have. */
function decisionOf(ask: Ask, answer: Answer, ruling: ApprovalRule | undefined): Decision | undefined {
  if (answer.kind === 'cancelled') return ask.kind === 'question' ? { kind: 'skipped' } : undefined;
  if (ask.kind === 'question') {
    if (answer.kind === 'option') return { kind: 'skipped' };
    const values = ask.fields
      .filter((field) => field.kind !== 'secret')
      .map((field) => ({ label: field.label, values: (answer.values[field.id] ?? []).map((value) => answerName(field, value)) }));
    return { kind: 'answers', values };
  }
  const option = answer.kind === 'option' ? ask.options.find((one) => one.id === answer.optionId) : undefined;
  if (answer.kind !== 'option' || !option) return undefined;
  const rule = ruling ?? answer.rule;
  return {
    kind: 'approval',
    by: ruling ? 'rule' : 'user',
    effect: option.effect,
    label: option.label,
    ...(option.effect === 'allow_always' && option.description !== undefined ? { reach: option.description } : {}),
    ...(rule ? { rule: { kind: rule.kind, ...(rule.pattern === undefined ? {} : { pattern: rule.pattern }) } } : {}),
    ...(answer.feedback === undefined ? {} : { feedback: answer.feedback }),
    ...(answer.edited === undefined ? {} : { edited: true as const }),
  };
}

/** A prompt that names one of the agent's commands becomes that command; anything else stays a prompt. */
function asCommand(prompt: QueuedPrompt, commands: readonly Command[]): Intent {
  const plain: Intent = { type: 'prompt', ...prompt };
  if (prompt.feedback) return plain;
  const [only, ...more] = prompt.content;
  if (only?.type !== 'text' || more.length > 0) return plain;
  const text = only.text.trim();
  if (!text.startsWith('/')) return plain;
  const path: string[] = [];
  let rest = text.slice(1);
  let level: readonly Command[] = commands;
  for (;;) {
    const found = level.find((command) => [command.name, ...command.aliases].some((name) => startsWithWord(rest, name)));
    if (!found) break;
    const name = [found.name, ...found.aliases].find((one) => startsWithWord(rest, one)) ?? found.name;
    // Keeps the name as typed, because the agent defined the alias.
    path.push(name);
    rest = rest.slice(name.length).trimStart();
    level = found.children ?? [];
  }
  return path.length === 0 ? plain : { type: 'command', turnId: prompt.turnId, path, args: rest };
}

function startsWithWord(text: string, word: string): boolean {
  return text.startsWith(word) && (text.length === word.length || /\s/.test(text[word.length] ?? ''));
}

function commandText(path: readonly string[], args: string): string {
  return `/${[...path, args].filter(Boolean).join(' ')}`;
}

export function reordered(queue: readonly QueuedPrompt[], order: readonly TurnId[]): readonly QueuedPrompt[] {
  const byId = new Map(queue.map((one) => [one.turnId, one]));
  const named = [...new Set(order)].flatMap((id) => byId.get(id) ?? []);
  const isNamed = new Set(named);
  let next = 0;
  return queue.map((one) => (isNamed.has(one) ? (named[next++] ?? one) : one));
}

function without(queue: readonly QueuedPrompt[], turnId: TurnId): readonly QueuedPrompt[] {
  return queue.filter((prompt) => prompt.turnId !== turnId);
}

function senderOf({ sender }: { readonly sender?: string }): { readonly sender?: string } {
  return sender === undefined ? {} : { sender };
}

/** True for a prompt without content, which is not sent. */
function isEmpty(content: readonly Content[]): boolean {
  return content.every((one) => one.type === 'text' && one.text.trim() === '');
}
