import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId, TurnId } from '../../session/model.ts';
import { Asking } from './asking.ts';
import { Calls } from './calls.ts';
import { Decisions, type Sending } from './decisions.ts';
import { Hearing } from './hearing.ts';
import { Keeping } from './keeping.ts';
import type { Kept, LeftTurn } from './kept.ts';
import { LateEdits } from './lateEdits.ts';
import { leaveTask } from './memory.ts';
import { textPart, toMessage } from './messages.ts';
import { sendPrompt } from './prompting.ts';
import { Reconnect } from './reconnect.ts';
import { type Incoming, isAtRest, isOver } from './records.ts';
import { lookUp } from './recover.ts';
import { reopen } from './reopen.ts';
import { pause, RpcError, StatusError } from './rpc.ts';
import { makeTask, signOfLife } from './shippedTask.ts';
import { Shown } from './shown.ts';
import { Silence } from './silence.ts';
import { stopTask } from './stop.ts';
import { type OpenStream, Streams } from './streams.ts';
import type { TurnScene } from './timing.ts';
import { gone, refusal, type TurnEnd, unhappyEnd } from './turnEnd.ts';
import type { Fields } from './words.ts';

/**
 * From a prompt to the moment the task rests with nothing left to decide, over as many streams as that takes: every decision of the user is a
 * new stream of the same task (a2a.md §9).
 */
export class Turn {
  readonly id: TurnId;
  readonly over: Promise<TurnEnd>;
  readonly #deps: TurnScene;
  readonly #calls: Calls;
  readonly #shown: Shown;
  readonly #hearing: Hearing;
  readonly #stop = new AbortController();
  /** What has not been sent when it fires never is. */
  untilOver: AbortSignal = this.#stop.signal;
  readonly #edits: LateEdits;
  /** What the user said to a call, by its id: said once the turn rests. */
  readonly #followUps = new Map<string, string>();
  readonly #clock: NodeJS.Timeout;
  readonly #streams: Streams;
  readonly #silence: Silence;
  readonly #keeping: Keeping;
  readonly #reconnect: Reconnect;
  readonly #decisions: Decisions;
  readonly asking: Asking;
  #ending: (end: TurnEnd) => void = () => {};
  #ended = false;
  /** When the agent said outside of its streams that there is news, and no stream has said anything since. */
  #newsAt: number | undefined;

  constructor(id: TurnId, deps: TurnScene) {
    const { scene, memory, timing } = deps;
    this.id = id;
    this.#deps = deps;
    this.#calls = new Calls(scene, id, memory.remembered, (callId, edited) => this.#decisions.takeBack(callId, edited));
    this.#shown = new Shown(scene, id, memory.known);
    this.#hearing = new Hearing({
      scene,
      memory,
      turnId: id,
      calls: this.#calls,
      shown: this.#shown,
      decided: (one) => this.#decisions.say(one),
    });
    this.#edits = new LateEdits({ scene, memory, calls: this.#calls, shown: this.#shown });
    this.asking = new Asking(scene, id, this.#stop.signal);
    this.#reconnect = new Reconnect({
      ...deps,
      turnId: id,
      hearing: this.#hearing,
      asking: this.asking,
      signal: this.#stop.signal,
      hear: (open) => this.#hear(open),
    });
    this.#silence = new Silence(scene, id, timing.silence);
    this.#streams = new Streams(
      {
        alive: () => this.#alive(),
        heard: (record, stream, first) => this.#heard(record, stream, first),
        // What is being written belongs to the turn.
        lastWord: () => void this.#edits.written().then(() => this.#settle()),
        mayFollow: () => this.#mayAsk,
        lingers: () => void this.#decisions.look(),
        unknown: () => scene.log.trace('A record of a kind that is not known was left out.'),
      },
      timing.lastWords,
    );
    this.#decisions = new Decisions({
      ...deps,
      turnId: id,
      calls: this.#calls,
      shown: this.#shown,
      hearing: this.#hearing,
      edits: this.#edits,
      streams: this.#streams,
      over: () => this.#ended || this.#stop.signal.aborted,
      open: (params, sending) => this.#open(params, sending),
      closed: (error) => this.#closed(error),
      refused: (error) => this.#refused(error),
      lost: (error) => void this.#lost(error),
      settle: () => this.#settle(),
      end: (end) => this.#end(end),
      offline: () => this.#reconnect.offline,
    });
    this.#clock = setInterval(() => this.#tick(), timing.ping);
    this.#keeping = new Keeping(scene, id, () => this.#toKeep(), timing.keep);
    this.over = new Promise((resolve) => {
      this.#ending = resolve;
    });
  }

  /** Sends the prompt. Call once. */
  async prompt(parts: readonly Fields[]): Promise<void> {
    const { memory, scene } = this.#deps;
    if (memory.peer.dialect === 'gemini' && !memory.task) await makeTask(memory, scene);
    if (this.#ended || this.#stop.signal.aborted) return this.#end({ status: 'cancelled' });
    const error = await sendPrompt(
      {
        memory,
        open: (params) => this.#open(params),
        unheard: () => this.#hearing.records === 0,
        over: () => this.#ended,
        tell: (text) => this.#shown.notice('info', text),
      },
      parts,
    );
    this.#closed(error);
  }

  /** Stands as an earlier window left it; `catchUp` goes on from there. */
  reopen(left: LeftTurn): void {
    reopen(left, { ...this.#deps, turnId: this.id, calls: this.#calls, shown: this.#shown });
    this.#hearing.anything = left.turn.parts.length > 0;
  }

  /** Shows what happened while nobody listened, and goes on listening where the task goes on. */
  catchUp(record: Incoming): void {
    this.#hearing.records += 1;
    this.#hearing.catchUp(record);
    this.#keeping.now();
    if (isAtRest(this.#hearing.state)) this.#settle();
    else void this.#lost(undefined, 'follow');
  }

  /** The agent says outside of its streams how things stand: when the streams do not say it soon, they are dead. */
  news(record: Incoming): void {
    if (this.#ended) return;
    this.#reconnect.news();
    if (!this.#hearing.knows(record)) this.#newsAt ??= this.#deps.scene.now();
  }

  /** Hears a stream that somebody else opens; where that gives true, it only named the task, which is then followed. */
  async listen(open: (...stream: Parameters<OpenStream>) => Promise<boolean>): Promise<void> {
    let named = false;
    const error = await this.#hear(async (take, signal) => {
      named = await open(take, signal);
    });
    if (!named) return this.#closed(error);
    this.#hearing.records += 1;
    this.#keeping.now();
    void this.#lost(undefined, 'follow');
  }

  /** False when there is no such ask in this turn. */
  answer(askId: AskId, answer: Answer): boolean {
    if (this.asking.answer(askId, answer)) return true;
    const decision = this.#calls.answer(askId, answer);
    if (!decision) return false;
    if (decision.choice === undefined) {
      // The agent offers no way to say no.
      this.stop();
      return true;
    }
    if (decision.words) this.#followUps.set(decision.call.id, decision.words);
    else this.#followUps.delete(decision.call.id);
    if (decision.choice.remembered) this.#deps.memory.remembered.add(decision.call);
    this.#decisions.say(decision);
    return true;
  }

  stop(): void {
    if (this.#ended || this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#followUps.clear();
    void this.#stopNow().catch((error: unknown) => {
      this.#deps.scene.log.warn(`Stopping failed: ${messageOf(error)}`);
      this.#end({ status: 'cancelled' });
    });
  }

  /** The session is left: nothing more is said. */
  leave(): void {
    this.#keeping.leave();
    this.#end({ status: 'cancelled' });
  }

  /** Ends a turn that no stream ends. */
  finish(end: TurnEnd): void {
    this.#end(end);
  }

  /** What the agent said beside the turn's streams. */
  note(text: string): void {
    this.#hearing.anything = true;
    this.#shown.notice('info', text);
  }

  show(text: string): void {
    this.#shown.say('text', text);
  }

  async #stopNow(): Promise<void> {
    const { memory, timing, scene } = this.#deps;
    const waiting = this.#calls.refuseAll();
    const [first] = waiting;
    // Refusing what waits is the gentle stop of the shipped server: the task stays usable.
    if (first?.choice && memory.peer.dialect === 'gemini') {
      this.untilOver = AbortSignal.timeout(timing.patience);
      this.#decisions.say(first);
      await pause(timing.patience, scene.signal);
      return this.#end({ status: 'cancelled' });
    }
    const told = await stopTask(this.#deps, this.#calls.commandRuns, () => this.#streams.open, this.#hearing.records > 0);
    if (told) this.#shown.notice('warn', told);
    this.#end({ status: 'cancelled' });
  }

  #sayText(text: string): void {
    const { memory } = this.#deps;
    void this.#open(toMessage(memory, [textPart(memory, text)])).then((error) => this.#closed(error));
  }

  #open(params: Fields, { onRecord, signal: own, way }: Sending = {}): Promise<unknown> {
    const { memory } = this.#deps;
    memory.known.prompted(params.message);
    this.#keeping.now();
    const method = memory.peer.streaming ? 'message/stream' : 'message/send';
    return this.#hear((take, signal) => {
      const taken = (result: unknown) => {
        onRecord?.();
        take(result);
      };
      const cut = own ? AbortSignal.any([own, signal]) : signal;
      return memory.rpc.stream(method, params, taken, { signal: cut, leave: this.untilOver, ...(way ? { way } : {}) });
    });
  }

  /** A stream that does not tell what the task holds is let go of (a2a.md §12); one that only had nothing to say is left alone. */
  async #lookBehind(): Promise<void> {
    const { memory, scene } = this.#deps;
    if (this.#reconnect.offline) return;
    const heardAt = this.#silence.heardAt;
    const now = await lookUp(memory, { over: 'fresh' }).catch((error: unknown) => {
      scene.log.info(`Looking at the task failed: ${messageOf(error)}`);
      return undefined;
    });
    if (!now || this.#ended || this.#stop.signal.aborted || this.#reconnect.offline || this.#silence.heardAt !== heardAt) return;
    const before = this.#hearing.progress;
    this.#hearing.catchUp(now);
    if (this.#hearing.progress === before && !isAtRest(now.state)) return;
    this.#silence.heard();
    const open = this.#streams.open;
    // Whoever waits for them goes on from what was caught up with.
    this.#streams.drop();
    // Connections that were held meanwhile may be as dead.
    memory.rpc.hangUp();
    if (!open) this.#closed(undefined);
  }

  /** Settles when the stream has ended, with what went wrong. */
  async #hear(open: OpenStream): Promise<unknown> {
    this.#hearing.streamBegan();
    const error = await this.#streams.hear(open);
    if (error === undefined && !this.#streams.open && this.#calls.waiting === 0) this.#hearing.streamsEnded();
    return error;
  }

  #alive(): void {
    this.#silence.heard();
    this.#decisions.heard();
    this.#newsAt = undefined;
  }

  #heard(record: Incoming, stream: number, first: boolean): boolean {
    const { landmarks } = this.#hearing;
    if (!this.#hearing.take(record, stream, first)) return false;
    if (this.#hearing.landmarks > landmarks) this.#keeping.now();
    else this.#keeping.grew();
    void this.#edits.written();
    return true;
  }

  #closed(error: unknown): void {
    if (this.#ended || this.#stop.signal.aborted) return;
    if (error instanceof RpcError || error instanceof StatusError) return this.#refused(error);
    if (this.#streams.awaited) return;
    // The shipped server says that it waits while its command runs.
    const works = error !== undefined && this.#calls.commandRuns;
    if ((isAtRest(this.#hearing.state) && !works) || this.#calls.waiting > 0 || this.#hearing.answered)
      return void this.#edits.written().then(() => this.#settle());
    void this.#lost(error);
  }

  #refused(error: RpcError | StatusError): void {
    const { memory, scene } = this.#deps;
    const isGone = error instanceof RpcError && error.code === -32001 && memory.task !== undefined;
    scene.log.info(`Refused: ${messageOf(error)}`);
    this.#end(isGone ? gone(memory) : refusal(error));
  }

  /** The newest stream has ended: is the turn over? */
  #settle(): void {
    if (this.#ended || this.asking.waits || this.#reconnect.offline || this.#decisions.looking) return;
    if (this.#streams.newestAwaited) return;
    const { memory } = this.#deps;
    const { state, failure } = this.#hearing;
    if (this.#calls.waiting > 0) {
      if (!isOver(state)) return;
      // A task that is over takes no answer.
      this.#calls.withdraw();
      if (state === 'completed') this.#shown.notice('warn', t('The agent ended its task without waiting for your answer.'));
    }
    if (state === 'input-required' && failure === undefined && !this.#stop.signal.aborted && this.#calls.unheard.length > 0) {
      if (memory.peer.dialect !== 'gemini') return void this.#decisions.doubt(undefined);
      this.#shown.notice('warn', t('The agent did not say what became of what you allowed; it may not have been done.'));
    }
    if (this.#mayAsk && !this.#stop.signal.aborted && this.#decisions.looks()) return;
    if (state === 'auth-required' && !this.#stop.signal.aborted) return void this.#askSignIn();
    memory.completed = state === 'completed';
    if (state === 'failed' || state === 'rejected' || state === 'canceled') leaveTask(memory);
    if (this.#stop.signal.aborted) return this.#end({ status: 'cancelled' });
    const unhappy = unhappyEnd(state, failure);
    if (unhappy) return this.#end(unhappy);
    const followUp = [...this.#followUps.values()].join('\n');
    this.#followUps.clear();
    if (followUp) return this.#sayText(followUp);
    if (this.#shown.empty && !this.#hearing.anything) this.#shown.notice('info', t('The agent returned nothing.'));
    this.#end({ status: 'done' });
  }

  /** It rests for the user, and has not said what it waits for. */
  get #mayAsk(): boolean {
    const { peer } = this.#deps.memory;
    return this.#hearing.state === 'input-required' && peer.dialect === 'rfc' && this.#calls.waiting === 0;
  }

  async #askSignIn(): Promise<void> {
    const title = t('The agent wants you to sign in');
    const done = await this.asking.confirm(title, this.#hearing.lastWords, t('I have signed in'), t('Stop here'));
    if (done) this.#sayText('done');
    else this.stop();
  }

  async #lost(error: unknown, how: 'lost' | 'follow' = 'lost'): Promise<void> {
    const end = await this.#reconnect.run(error, how);
    if (this.#ended || this.#stop.signal.aborted || end === undefined) return;
    if (end === 'resting') this.#settle();
    else this.#end(end);
  }

  #toKeep(): Omit<Kept, 'running'> {
    const { task, contextId, known } = this.#deps.memory;
    const calls = this.#calls.shown.map(([id, partId, status]): [string, string, typeof status] => [id, partId, status]);
    return { ...(task ? { taskId: task.id } : {}), ...(contextId ? { contextId } : {}), known: known.keep(), calls };
  }

  #tick(): void {
    const { scene, memory, timing } = this.#deps;
    this.#decisions.tick();
    this.#calls.askLate();
    if (this.#decisions.held) return this.#silence.excused();
    if (this.#newsAt !== undefined && scene.now() - this.#newsAt >= timing.news) {
      this.#newsAt = undefined;
      void this.#lookBehind();
    }
    const { waiting } = this.#calls;
    // An open turn connection is the only way to stop a running command later (a2a.md §3); a decision may have gone beside it.
    if (memory.peer.dialect === 'gemini' && (waiting > 0 || this.#streams.open)) signOfLife(memory);
    if (waiting > 0) return this.#silence.excused();
    if (!this.#reconnect.offline) this.#silence.tell();
  }

  #end(end: TurnEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#streams.deafen();
    this.#keeping.end();
    clearInterval(this.#clock);
    this.#stop.abort();
    this.#deps.memory.past.add('Agent', this.#shown.text);
    this.#ending(end);
  }
}
