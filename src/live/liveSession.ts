import { cutDeep } from '../base/json.ts';
import { t } from '../base/l10n.ts';
import type { Disposable } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Adapter, Hint, Launch, Past, Protocol, Resume } from '../protocols/adapter.ts';
import type { Ports, Tool } from '../protocols/ports.ts';
import { MOST_ASKS, tooManyAsked } from '../session/askLimit.ts';
import { decisionOf } from '../session/decisions.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Answer, Intent } from '../session/intents.ts';
import type { Ask, Notice, QueuedPrompt, Session, SessionId, TurnId } from '../session/model.ts';
import { type ApprovalRule, autoAnswer } from '../session/policy.ts';
import { findAsk, readsHistory, runningTurn } from '../session/select.ts';
import { Store } from '../session/store.ts';
import { withTime } from '../session/times.ts';
import type { JournalTrouble, JournalWriter } from './journal/writer.ts';
import { MOST_PARTS, surplusParts } from './longTurn.ts';
import { asCommand, commandText, isEmpty, without } from './promptQueue.ts';
import { appliedOnDisk } from './reconcileFiles.ts';
import type { HostedSession } from './surface.ts';
import { ToolApproval } from './toolApproval.ts';
import { workspacePathsAt } from './workspacePaths.ts';

/** What a live session needs of the world. */
export interface LiveDeps {
  readonly protocol: Protocol;
  /** Rejects with a message for the user when the agent cannot be found. */
  readonly launch: () => Promise<Launch>;
  readonly ports: Ports;
  readonly rules: () => readonly ApprovalRule[];
  readonly client: { readonly name: string; readonly version: string };
  readonly log: Log;
  readonly trace: (way: 'in' | 'out', message: unknown) => void;
  readonly now: () => number;
  readonly newId: () => string;
  readonly journal?: JournalWriter;
  /** What has to be done before the agent hears of a prompt; the prompt waits in the queue for it. Never rejects. */
  readonly beforePrompt?: (turnId: TurnId) => Promise<void>;
}

/** Milliseconds after which one more Stop is meant. */
const SECOND_STOP = 1_000;

interface Conversation {
  readonly adapter: Adapter;
  readonly stop: AbortController;
}

/** A store and the adapter that feeds it: policy, queue of prompts, journal, end of life. */
export class LiveSession implements HostedSession, Disposable {
  readonly id: SessionId;
  readonly profile: string;
  readonly store: Store;
  readonly #deps: LiveDeps;
  readonly #gate: ToolApproval;
  #conversation: Conversation | undefined;
  #ending: Promise<void> = Promise.resolve();
  #starts = 0;
  /** When the user asked to stop the running turn. */
  #stoppedAt = 0;
  /** The user knows that more is asked than can be open. */
  #saidFull = false;
  #disposed = false;
  /** The prompt that waits for `beforePrompt`, or is through with it. */
  #prepared: { readonly turnId: TurnId; done: boolean } | undefined;

  constructor(start: Session, profile: string, deps: LiveDeps) {
    this.id = start.id;
    this.profile = profile;
    this.store = new Store(start);
    this.#deps = deps;
    // The first listener: an event is in the journal before anybody can see it or answer it.
    this.store.onChange(({ event, now }) => {
      // No ask outlives its agent, and a whole file at every pause in typing is much to write.
      if (event.type !== 'ask.revised') deps.journal?.record(event, now);
    });
    deps.journal?.onTrouble((trouble) => this.#emit({ type: 'notice', notice: noticeOf(trouble) }));
    this.#gate = new ToolApproval(
      (event) => this.#emit(event),
      () => this.store.now,
      deps.newId,
    );
  }

  /** False for a session that was only read from the journal. */
  get startedHere(): boolean {
    return this.#starts > 0;
  }

  /** A session read from the journal has no agent any more: what was under way is over. */
  interrupt(lost = 0): void {
    if (lost > 0) {
      const text = t('Part of this conversation was damaged on disk and could not be read ({0} records).', lost);
      this.#emit({ type: 'notice', notice: { level: 'warn', text } });
    }
    this.#emit({ type: 'link.closed', reason: interrupted(), next: ['restart'], at: this.#deps.now() });
  }

  /** It is a copy of the conversation of that name, and called so until the agent has a name of its own for it. */
  name(title: string, copyOf: string): void {
    this.#emit({ type: 'title.set', title, copyOf });
  }

  /** Opens the conversation; whatever becomes of it shows in the session's link. */
  async start(resume?: Resume): Promise<void> {
    if (this.#disposed) return;
    this.#starts += 1;
    const mine = this.#starts;
    this.#emit({ type: 'link.opening' });
    if (resume?.history) this.#emit({ type: 'history.started' });
    if (resume?.history) this.#emit({ type: 'resume.set', key: resume.key });
    await this.#ending;
    try {
      const launch = await this.#deps.launch();
      if (this.#disposed || mine !== this.#starts) return;
      this.#open(launch, resume);
    } catch (error) {
      this.#deps.log.error('The agent could not be launched', error);
      this.#emit({
        type: 'link.closed',
        reason: t('The agent could not be started: {0}', messageOf(error)),
        next: ['restart', 'showLog', 'pickAgent'],
        at: this.#deps.now(),
      });
    }
  }

  /** Ends the agent and starts it again on the same conversation; the transcript stays. */
  async restart(): Promise<void> {
    this.#end(interrupted());
    const { resumeKey: key, partial, turns } = this.store.now;
    // Half of an earlier conversation is not gone on from: it is told anew.
    if (partial && turns[0]) this.#emit({ type: 'turns.removed', from: turns[0].id });
    await this.start(key === undefined ? undefined : { key, history: partial === true });
  }

  send(intent: Intent): void {
    if (this.#disposed) return;
    switch (intent.type) {
      case 'prompt':
        return this.#prompt({
          turnId: intent.turnId,
          content: intent.content,
          ...(intent.replaces === undefined ? {} : { replaces: intent.replaces }),
          ...(intent.again === undefined ? {} : { again: intent.again }),
        });
      case 'command':
        return this.#prompt({ turnId: intent.turnId, content: [{ type: 'text', text: commandText(intent.path, intent.args) }] });
      case 'steer':
        if (isEmpty(intent.content)) return;
        if (this.#offers()?.steer && runningTurn(this.store.now)) return this.#conversation?.adapter.send(intent);
        return this.#prompt({ turnId: intent.turnId, content: intent.content });
      case 'unqueue':
        return this.#setQueue(without(this.store.now.queue, intent.turnId));
      case 'cancel': {
        if (readsHistory(this.store.now)) return this.#conversation?.adapter.send(intent);
        const turn = runningTurn(this.store.now);
        if (!turn) return this.#stopStart();
        if (turn.stopping) return this.#stopAgain();
        this.#stoppedAt = this.#deps.now();
        this.#emit({ type: 'turn.stopping', turnId: turn.id });
        return this.#conversation?.adapter.send(intent);
      }
      case 'answer':
        return this.#answer(intent.askId, intent.answer, 'user');
      case 'revise':
        return this.#emit({ type: 'ask.revised', askId: intent.askId, diff: intent.diff });
      case 'stopCall':
      case 'stopTerminal':
      case 'setMode':
      case 'setOption':
        return this.#conversation?.adapter.send(intent);
    }
  }

  async hints(text: string, cursor: number): Promise<readonly Hint[]> {
    return (await this.#conversation?.adapter.hints?.(text, cursor)) ?? [];
  }

  /** Earlier conversations the agent itself remembers. */
  async history(signal?: AbortSignal): Promise<readonly Past[]> {
    return (await this.#conversation?.adapter.history?.(signal)) ?? [];
  }

  /** Makes the agent forget an earlier conversation. Rejects when it cannot. */
  async forget(key: string, signal?: AbortSignal): Promise<void> {
    const adapter = this.#conversation?.adapter;
    if (!adapter?.forget) throw new Error('This agent cannot delete conversations.');
    await adapter.forget(key, signal);
  }

  /** Copies this conversation; what comes back is the copy's name, to be opened with its history. Rejects when the agent cannot. */
  async fork(signal?: AbortSignal): Promise<string> {
    const adapter = this.#conversation?.adapter;
    if (!adapter?.fork) throw new Error('This agent cannot copy conversations.');
    return adapter.fork(signal);
  }

  /** Signs the user out of the agent. Rejects when it cannot. */
  async signOut(): Promise<void> {
    const adapter = this.#conversation?.adapter;
    if (!adapter?.signOut) throw new Error('This agent has nothing to sign out of.');
    await adapter.signOut();
  }

  /** Ends the agent; the session stays readable. Settles when its process is gone. */
  async stop(): Promise<void> {
    this.#starts += 1;
    this.#end(t('The agent was stopped.'));
    await this.#ending;
  }

  /** Settles when the agent is gone. */
  get ended(): Promise<void> {
    return this.#ending;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#end(interrupted());
    this.#disposed = true;
    this.#deps.journal?.dispose();
    this.store.dispose();
  }

  #open(launch: Launch, resume: Resume | undefined): void {
    const stop = new AbortController();
    // What a conversation says after another one has begun belongs to nobody.
    const current = () => this.#conversation === undefined || this.#conversation.stop === stop;
    const adapter = this.#deps.protocol.open(launch, {
      emit: (event) => {
        if (!stop.signal.aborted && current()) this.#emit(event);
      },
      ports: this.#gated(this.#deps.ports),
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
    this.#conversation = { adapter, stop };
    this.#drain();
  }

  /** Tools that need it ask before they run, whoever calls them. */
  #gated(ports: Ports): Ports {
    const wrap = (tools: readonly Tool[]) => tools.map((tool) => this.#gate.wrap(tool));
    return { ...ports, tools: wrap(ports.tools), ...(ports.remoteFileTools ? { remoteFileTools: wrap(ports.remoteFileTools) } : {}) };
  }

  /** The user does not want to wait for the agent any longer; what they have typed waits for them. */
  #stopStart(): void {
    if (this.store.now.link.state !== 'opening') return;
    this.#starts += 1;
    this.#hold();
    this.#end(t('The start was stopped.'));
  }

  /** The agent was asked and goes on: it is ended with its turn, and another one goes on with the conversation. A double click is one Stop. */
  #stopAgain(): void {
    const turn = runningTurn(this.store.now);
    if (!turn || Math.abs(this.#deps.now() - this.#stoppedAt) < SECOND_STOP) return;
    const stop = t('The agent did not stop and was ended.');
    this.#emit({ type: 'turn.ended', turnId: turn.id, at: this.#deps.now(), status: 'cancelled', stop });
    void this.restart();
  }

  #end(reason: string): void {
    const conversation = this.#conversation;
    this.#conversation = undefined;
    if (conversation) this.#settle(conversation);
    this.#emit({ type: 'link.closed', reason, next: ['restart'], at: this.#deps.now() });
  }

  #settle(conversation: Conversation): void {
    conversation.stop.abort();
    conversation.adapter.dispose();
    this.#ending = Promise.all([this.#ending, conversation.adapter.ended]).then(
      () => undefined,
      (error: unknown) => this.#deps.log.error('The agent did not end as it should', error),
    );
  }

  #emit(said: SessionEvent): void {
    // What cannot be written as JSON reaches neither the view nor the journal, and holds up all that comes after it.
    const event = withTime(
      said.type === 'text.delta' || said.type === 'call.inputDelta' ? said : cutDeep(said),
      this.store.now,
      this.#deps.now,
    );
    if (event.type === 'ask.opened' && this.store.now.asks.length >= MOST_ASKS && !findAsk(this.store.now, event.ask.id))
      return this.#refuse(event.ask);
    // Asked before the event changes it, and only where it matters: most events are growth.
    const broke = event.type === 'link.closed' && runningTurn(this.store.now) !== undefined;
    if (this.#disposed || !this.store.apply(event)) return;
    switch (event.type) {
      case 'ask.opened':
        return this.#askOpened(event.ask);
      case 'ask.closed':
        if (this.store.now.asks.length === 0) this.#saidFull = false;
        return this.#gate.sweep();
      case 'turn.ended':
        this.#gate.sweep();
        // A turn of an earlier conversation that was stopped then says nothing of what waits now.
        if (event.status !== 'done' && !this.store.now.partial) this.#hold();
        if (!this.store.now.partial) void this.#lookFor(event.turnId);
        return this.#drain();
      case 'link.closed':
        this.#gate.sweep();
        // What was to follow a turn that broke off was typed in the belief that it would not.
        if (broke) this.#hold();
        return this.#forget();
      case 'link.ready':
        return this.#drain();
      case 'part.added':
        return this.#boundTurn(event.turnId);
      default:
        return;
    }
  }

  /** An agent that makes call after call is shown with its latest ones. */
  #boundTurn(turnId: TurnId): void {
    const turn = this.store.now.turns.findLast((one) => one.id === turnId);
    const partIds = turn ? surplusParts(turn) : [];
    if (partIds.length === 0) return;
    this.#emit({ type: 'parts.removed', turnId, partIds });
    const text = t('This turn has more than {0} steps. Only the latest are kept.', MOST_PARTS);
    if (!this.store.now.notices.some((notice) => notice.text === text && notice.turnId === turnId))
      this.#emit({ type: 'notice', notice: { level: 'info', text, turnId } });
  }

  /** What nobody told of this turn may stand on the disk. */
  async #lookFor(turnId: TurnId): Promise<void> {
    const turn = this.store.now.turns.findLast((one) => one.id === turnId);
    for (const callId of turn ? await appliedOnDisk(turn) : []) this.#emit({ type: 'call.appliedOnDisk', turnId, callId });
  }

  /** An agent that is gone needs no more ending than its adapter gives it. */
  #forget(): void {
    const conversation = this.#conversation;
    if (!conversation) return;
    // Not from inside the adapter's own call.
    queueMicrotask(() => {
      if (this.#conversation !== conversation) return;
      this.#conversation = undefined;
      this.#settle(conversation);
    });
  }

  #askOpened(ask: Ask): void {
    const answer = autoAnswer(ask, this.#deps.rules(), this.store.now.cwd, workspacePathsAt(this.store.now.cwd));
    // After the adapter has finished saying what it says.
    if (answer) queueMicrotask(() => this.#answer(ask.id, answer, 'rule'));
  }

  /** One ask too many is answered at once, like one that was put away, and never seen. */
  #refuse(ask: Ask): void {
    if (!this.#saidFull) {
      this.#saidFull = true;
      this.#emit(tooManyAsked());
    }
    const { adapter } = this.#conversation ?? {};
    // After the adapter has finished saying what it says. An ask of the gate's has seen already that it is not open.
    queueMicrotask(() => adapter?.send({ type: 'answer', askId: ask.id, answer: { kind: 'cancelled' } }));
  }

  /** An answer to an ask that is gone, or an option it never had, is dropped. */
  #answer(askId: string, answer: Answer, by: 'user' | 'rule'): void {
    const ask = findAsk(this.store.now, askId);
    if (!ask) return;
    if (answer.kind === 'option' && !offered(ask).includes(answer.optionId)) return;
    if (answer.kind === 'fields' && ask.kind !== 'question') return;
    const decision = decisionOf(ask, answer, by);
    if (decision) this.#emit({ type: 'ask.decided', askId, decision });
    if (!this.#gate.answer(askId, answer)) this.#conversation?.adapter.send({ type: 'answer', askId, answer });
  }

  #prompt(prompt: QueuedPrompt): void {
    if (isEmpty(prompt.content) || this.store.now.turns.some((turn) => turn.id === prompt.turnId)) return;
    const { queue, link } = this.store.now;
    const others = without(queue, prompt.turnId);
    const wasQueued = others.length < queue.length;
    // What can be sent at once never stands in the queue.
    const atOnce = this.#canSend() && !this.#deps.beforePrompt;
    if (atOnce && (wasQueued || others.every((one) => one.held))) return this.#sendPrompt(prompt, wasQueued);
    this.#setQueue(wasQueued ? [prompt, ...others] : [...others, prompt]);
    if (link.state === 'closed') void this.restart();
    else this.#drain();
  }

  #drain(): void {
    const next = this.store.now.queue.find((one) => !one.held);
    if (next && this.#canSend() && this.#isPrepared(next.turnId)) this.#sendPrompt(next, true);
  }

  #canSend(): boolean {
    return this.#conversation !== undefined && this.store.now.link.state === 'ready' && !runningTurn(this.store.now);
  }

  #sendPrompt(prompt: QueuedPrompt, wasQueued: boolean): void {
    if (wasQueued) this.#setQueue(without(this.store.now.queue, prompt.turnId));
    this.#conversation?.adapter.send(asCommand(prompt, this.store.now.commands));
  }

  #isPrepared(turnId: TurnId): boolean {
    const { beforePrompt } = this.#deps;
    if (!beforePrompt) return true;
    if (this.#prepared?.turnId === turnId) return this.#prepared.done;
    const mine = { turnId, done: false };
    this.#prepared = mine;
    void beforePrompt(turnId).then(() => {
      mine.done = true;
      if (this.#prepared === mine && !this.#disposed) this.#drain();
    });
    return false;
  }

  /** What was to follow waits for the user from now on. */
  #hold(): void {
    const { queue } = this.store.now;
    if (queue.some((one) => !one.held)) this.#setQueue(queue.map((one) => ({ ...one, held: true })));
  }

  #setQueue(queue: readonly QueuedPrompt[]): void {
    this.#emit({ type: 'queue.set', queue });
  }

  #offers() {
    const { link } = this.store.now;
    return link.state === 'ready' ? link.offers : undefined;
  }
}

function interrupted(): string {
  return t('Interrupted: the window or the agent was closed.');
}

function noticeOf(trouble: JournalTrouble): Notice {
  switch (trouble.kind) {
    case 'failing':
      return { level: 'warn', text: failingText(trouble) };
    case 'recovered':
      return { level: 'info', text: t('This conversation is saved again.') };
    case 'moved':
      return {
        level: 'warn',
        text: t('Another window continues this conversation. What happens here is saved as a separate conversation.'),
      };
  }
}

function failingText({ reason, full }: Extract<JournalTrouble, { kind: 'failing' }>): string {
  return full
    ? t('This conversation cannot be saved: the disk is full. It is kept in memory and saved once there is space.')
    : t('This conversation cannot be saved: {0} It is kept in memory and saved once that works again.', reason);
}

/** The ids a user may choose; what else comes from the view is not what was shown. */
function offered(ask: Ask): readonly string[] {
  if (ask.kind === 'approval') return ask.options.map((option) => option.id);
  return ask.refusal === undefined ? [] : [ask.refusal];
}
