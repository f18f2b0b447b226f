import { messageOf } from '../../base/log.ts';
import { say } from '../../base/say.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId, TurnId } from '../../session/model.ts';
import { Asking } from './asking.ts';
import { Calls, type Decision } from './calls.ts';
import { Hearing } from './hearing.ts';
import { LateEdits } from './lateEdits.ts';
import { leaveTask } from './memory.ts';
import { confirmation, dataPart, textPart, toMessage } from './messages.ts';
import { type Incoming, isAtRest, isOver, toIncoming } from './records.ts';
import { lookUp, resubscribe } from './recover.ts';
import { pause, RpcError, StatusError, wordsOf } from './rpc.ts';
import { makeTask, signOfLife } from './shippedTask.ts';
import { Shown } from './shown.ts';
import { likeProposal } from './snapshot.ts';
import { stopTask } from './stop.ts';
import type { TurnScene } from './timing.ts';
import { refusal, type TurnEnd, unhappyEnd } from './turnEnd.ts';
import type { Fields } from './words.ts';

const TERMINAL = /terminal state/i;

interface Stream {
  ended: boolean;
  records: number;
  /** Nothing is expected of it any more; what it says is still heard. */
  stale?: true;
}

/**
 * From a prompt to the moment the task rests with nothing left to decide, over as many streams as that takes: every decision of the person is a
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
  readonly #edits: LateEdits;
  /** What the person said to a call, by its id: said once the turn rests. */
  readonly #followUps = new Map<string, string>();
  readonly #clock: NodeJS.Timeout;
  #streams: Stream[] = [];
  #heardAt: number;
  readonly asking: Asking;
  #ending: (end: TurnEnd) => void = () => {};
  #ended = false;
  #recovering = false;
  #doubting = false;
  /** When the last decision was sent that nothing was heard of since. */
  #decidedAt: number | undefined;

  constructor(id: TurnId, deps: TurnScene) {
    const { scene, memory, timing } = deps;
    this.id = id;
    this.#deps = deps;
    this.#calls = new Calls(scene, id, memory.remembered);
    memory.known.begin();
    this.#shown = new Shown(scene, id, memory.known);
    this.#hearing = new Hearing({ scene, memory, turnId: id, calls: this.#calls, shown: this.#shown, decided: (one) => this.#say(one) });
    this.#edits = new LateEdits({ scene, memory, calls: this.#calls, shown: this.#shown });
    this.asking = new Asking(scene, id, this.#stop.signal);
    this.#heardAt = scene.now();
    this.#clock = setInterval(() => this.#tick(), timing.ping);
    this.over = new Promise((resolve) => {
      this.#ending = resolve;
    });
  }

  /** Sends the prompt. Call once. */
  async prompt(parts: readonly Fields[]): Promise<void> {
    const { memory } = this.#deps;
    if (memory.peer.dialect === 'gemini' && !memory.task) await makeTask(memory);
    if (this.#ended || this.#stop.signal.aborted) return this.#end({ status: 'cancelled' });
    const before = memory.task;
    const params = toMessage(memory, parts);
    const error = await this.#open(params);
    // Some agents go on with a completed task, others want a new one (a2a.md §4).
    const refused = error instanceof RpcError && before !== undefined && this.#hearing.records === 0;
    if (!refused || this.#ended) return this.#closed(error);
    if (TERMINAL.test(error.message) || error.code === -32004) {
      memory.task = undefined;
      memory.settled = false;
      return this.#closed(await this.#open(toMessage(memory, parts, before.id)));
    }
    if (error.code === -32001) {
      this.#shown.notice('info', leaveTask(memory));
      const past = memory.tellPast ? [textPart(memory, memory.past.text())] : [];
      memory.tellPast = false;
      return this.#closed(await this.#open(toMessage(memory, [...past, ...parts])));
    }
    this.#closed(error);
  }

  /** Shows what happened while nobody listened, and goes on listening where the task goes on. */
  catchUp(record: Incoming): void {
    this.#hearing.records += 1;
    this.#hearing.catchUp(record);
    if (isAtRest(this.#hearing.state)) this.#settle();
    else void this.#lost(undefined);
  }

  /** Hears a stream that somebody else opens. */
  async listen(open: (take: (result: unknown) => void) => Promise<void>): Promise<void> {
    this.#closed(await this.#hear(open));
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
    if (decision.choice.remembered) this.#deps.memory.remembered.add(decision.call);
    this.#say(decision);
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
    this.#end({ status: 'cancelled' });
  }

  /** Ends a turn that no stream ends. */
  finish(end: TurnEnd): void {
    this.#end(end);
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
      this.#say(first);
      await pause(timing.patience, scene.signal);
      return this.#end({ status: 'cancelled' });
    }
    const told = await stopTask(this.#deps, this.#calls.commandRuns, () => this.#streams.some((one) => !one.ended));
    if (told) this.#shown.notice('warn', told);
    this.#end({ status: 'cancelled' });
  }

  /** The decision goes to the agent as a stream of its own. */
  #say(decision: Decision): void {
    const { memory } = this.#deps;
    const { call, dialect, choice } = decision;
    if (!choice) return;
    let edited: string | undefined;
    const proposed = call.request?.proposed;
    if (decision.edited !== undefined && proposed !== undefined) {
      const text = likeProposal(decision.edited, proposed);
      if (text !== proposed && (dialect === 'rfc' || memory.newer)) edited = text;
      else if (text !== proposed && call.diff) this.#edits.add(call.id, call.diff.path, text);
    }
    this.#decidedAt = this.#deps.scene.now();
    let arrived = false;
    const params = toMessage(memory, [dataPart(memory, confirmation(memory, call, dialect, choice.sends, edited))]);
    void this.#open(params, () => {
      arrived = true;
    }).then((error) => (arrived ? this.#closed(error) : this.#undelivered(call.id, error)));
  }

  #sayText(text: string): void {
    const { memory } = this.#deps;
    void this.#open(toMessage(memory, [textPart(memory, text)])).then((error) => this.#closed(error));
  }

  #open(params: Fields, onRecord: () => void = () => {}): Promise<unknown> {
    const { memory } = this.#deps;
    memory.known.prompted(params.message);
    const method = memory.peer.streaming ? 'message/stream' : 'message/send';
    return this.#hear((take) =>
      memory.rpc.stream(method, params, (result) => {
        onRecord();
        take(result);
      }),
    );
  }

  /** Nothing was heard on the stream of a decision. */
  #undelivered(callId: string, error: unknown): void {
    if (this.#ended || this.#stop.signal.aborted) return;
    this.#calls.adrift(callId);
    if (error instanceof StatusError) return this.#askAgain([callId], wordsOf(error));
    if (error instanceof RpcError) {
      const over = error.code === -32001 || error.code === -32004 || TERMINAL.test(error.message);
      return over ? this.#refused(error) : void this.#doubt(wordsOf(error));
    }
    if (this.#calls.waiting > 0 || this.#streams.some((one) => !one.ended)) return void this.#doubt(messageOf(error));
    void this.#lost(error);
  }

  /**
   * Decisions of which nothing came: the task is looked at, and what it still waits for is asked of the person once more, never sent again by
   * itself (a2a.md §9.3).
   */
  async #doubt(why: string | undefined): Promise<void> {
    const { memory, scene } = this.#deps;
    if (this.#doubting || this.#recovering) return;
    this.#doubting = true;
    const now = await lookUp(memory).catch((error: unknown) => {
      scene.log.info(`Looking at the task failed: ${messageOf(error)}`);
      return undefined;
    });
    this.#doubting = false;
    if (this.#ended || this.#stop.signal.aborted) return;
    if (now) this.#hearing.catchUp(now);
    const open = this.#calls.unheard;
    const waits = now ? now.state === 'input-required' : this.#decidedAt === undefined || why !== undefined;
    if (open.length > 0 && waits) return this.#askAgain(open, why);
    if (!now || (this.#decidedAt !== undefined && why === undefined && !isAtRest(now.state))) return;
    for (const one of this.#streams) if (!one.ended) one.stale = true;
    if (isAtRest(now.state)) this.#settle();
    else if (!this.#streams.some((one) => !one.ended)) void this.#lost(undefined);
  }

  #askAgain(callIds: readonly string[], why: string | undefined): void {
    this.#decidedAt = undefined;
    for (const one of this.#streams) if (!one.ended) one.stale = true;
    const told = why === undefined ? say('The agent still waits for your answer.') : say('Your answer did not reach the agent: {0}', why);
    this.#shown.notice('warn', told);
    if (callIds.every((id) => this.#calls.askAgain(id))) return;
    this.#end({ status: 'failed', error: { message: say('The agent takes no answer. {0}', why ?? ''), next: ['retry', 'showLog'] } });
  }

  /** Settles when the stream has ended, with what went wrong. */
  async #hear(open: (take: (result: unknown) => void) => Promise<void>): Promise<unknown> {
    const { scene } = this.#deps;
    const stream: Stream = { ended: false, records: 0 };
    this.#streams.push(stream);
    this.#hearing.streamBegan();
    const mine = this.#streams.length;
    let error: unknown;
    try {
      await open((result) => {
        const record = toIncoming(result);
        // What a body holds after its last word was not meant for anybody.
        if (this.#ended || stream.ended) return;
        this.#quiet();
        this.#decidedAt = undefined;
        if (!record) return scene.log.trace('A record of a kind that is not known was left out.');
        stream.records += 1;
        this.#hearing.take(record, mine);
        const written = this.#edits.written();
        if (record.final && mine === this.#streams.length) {
          stream.ended = true;
          // What is being written belongs to the turn.
          void written.then(() => this.#settle());
        }
      });
    } catch (thrown) {
      error = thrown;
    }
    const done = stream.ended;
    stream.ended = true;
    // After the last word the fate of the connection means nothing.
    if (done) return undefined;
    return error ?? (stream.records === 0 ? new Error(say('The agent answered with nothing.')) : undefined);
  }

  #closed(error: unknown): void {
    if (this.#ended || this.#stop.signal.aborted) return;
    if (error instanceof RpcError || error instanceof StatusError) return this.#refused(error);
    if (this.#streams.some((one) => !one.ended && !one.stale)) return;
    if (isAtRest(this.#hearing.state) || this.#calls.waiting > 0 || this.#hearing.answered)
      return void this.#edits.written().then(() => this.#settle());
    void this.#lost(error);
  }

  #refused(error: RpcError | StatusError): void {
    const { memory } = this.#deps;
    if (error instanceof RpcError && error.code === -32001) leaveTask(memory);
    this.#end(refusal(error));
  }

  /** The newest stream has ended: is the turn over? */
  #settle(): void {
    if (this.#ended || this.#calls.waiting > 0 || this.asking.waits || this.#recovering) return;
    const last = this.#streams.at(-1);
    if (last?.ended === false && !last.stale) return;
    const { memory } = this.#deps;
    const { state, failure } = this.#hearing;
    if (state === 'input-required' && failure === undefined && !this.#stop.signal.aborted && this.#calls.unheard.length > 0) {
      if (memory.peer.dialect !== 'gemini') return void this.#doubt(undefined);
      this.#shown.notice('warn', say('The agent did not say what became of what you allowed; it may not have been done.'));
    }
    if (state === 'auth-required' && !this.#stop.signal.aborted) return void this.#askSignIn();
    memory.completed = state === 'completed';
    if (state === 'failed' || state === 'rejected' || state === 'canceled') leaveTask(memory);
    if (this.#stop.signal.aborted) return this.#end({ status: 'cancelled' });
    const unhappy = unhappyEnd(state, failure);
    if (unhappy) return this.#end(unhappy);
    const followUp = [...this.#followUps.values()].join('\n');
    this.#followUps.clear();
    if (followUp) return this.#sayText(followUp);
    if (this.#shown.empty && !this.#hearing.anything) this.#shown.notice('info', say('The agent returned nothing.'));
    this.#end({ status: 'done' });
  }

  async #askSignIn(): Promise<void> {
    const title = say('The agent wants you to sign in');
    const done = await this.asking.confirm(title, this.#hearing.lastWords, say('I have signed in'), say('Stop here'));
    if (done) this.#sayText('done');
    else this.stop();
  }

  async #lost(error: unknown): Promise<void> {
    const { scene, memory, timing } = this.#deps;
    if (this.#recovering) return;
    const why = error === undefined ? say('The connection was lost.') : messageOf(error);
    const task = memory.task;
    if (!task || this.#hearing.records === 0) return this.#end({ status: 'failed', error: { message: why, next: ['retry'] } });
    this.#recovering = true;
    if (memory.peer.dialect === 'gemini') {
      const state = await lookUp(memory).catch(() => undefined);
      this.#recovering = false;
      const told = state === undefined || memory.newer || isOver(state.state) ? leaveTask(memory) : '';
      const message = [say('The connection was lost, and the agent stopped.'), told].filter(Boolean).join(' ');
      return this.#end({ status: 'failed', error: { message, next: ['retry', 'continue'] } });
    }
    scene.emit({ type: 'turn.activity', turnId: this.id, text: say('The connection was lost; trying to reconnect') });
    const end = await resubscribe({
      scene,
      memory,
      retries: timing.retries,
      signal: this.#stop.signal,
      hear: (open) => this.#hear(open),
      caughtUp: (record) => this.#hearing.catchUp(record),
      resting: () => isAtRest(this.#hearing.state),
      progress: () => this.#hearing.progress,
    });
    this.#recovering = false;
    if (this.#ended || this.#stop.signal.aborted) return;
    scene.emit({ type: 'turn.activity', turnId: this.id, text: null });
    if (end === 'resting') return this.#settle();
    if (end === 'gone') return this.#end({ status: 'failed', error: { message: leaveTask(memory), next: ['retry', 'continue'] } });
    const told = say('The agent was not reached again. {0} It may still be at work.', why);
    if (await this.asking.confirm(say('Connection lost'), told, say('Reconnect'), say('Stop waiting'))) return this.#lost(error);
    this.#end({ status: 'failed', error: { message: told, next: ['continue'] } });
  }

  /** Something was heard. */
  #quiet(): void {
    const { scene, timing } = this.#deps;
    if (scene.now() - this.#heardAt >= timing.silence) scene.emit({ type: 'turn.activity', turnId: this.id, text: null });
    this.#heardAt = scene.now();
  }

  #tick(): void {
    const { scene, memory, timing } = this.#deps;
    if (this.#decidedAt !== undefined && scene.now() - this.#decidedAt >= timing.doubt && !this.#calls.commandRuns) {
      this.#decidedAt = scene.now();
      void this.#doubt(undefined);
    }
    if (this.#calls.waiting > 0) {
      this.#heardAt = scene.now();
      // An open turn connection is the only way to stop a running command later (a2a.md §3).
      if (memory.peer.dialect === 'gemini' && memory.rpc.turnIsFree) signOfLife(memory, scene);
      return;
    }
    const silent = scene.now() - this.#heardAt;
    if (silent >= timing.silence && !this.#recovering) {
      scene.emit({ type: 'turn.activity', turnId: this.id, text: say('Waiting for the agent ({0} s)', Math.round(silent / 1000)) });
    }
  }

  #end(end: TurnEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#clock);
    this.#stop.abort();
    this.#deps.memory.past.add('Agent', this.#shown.text);
    this.#ending(end);
  }
}
