import { messageOf } from '../../base/log.ts';
import { say } from '../../base/say.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId, Fault, Remedy, TurnId } from '../../session/model.ts';
import { Asking } from './asking.ts';
import { Calls, type Decision } from './calls.ts';
import { Hearing } from './hearing.ts';
import { LateEdits } from './lateEdits.ts';
import { leaveTask } from './memory.ts';
import { confirmation, dataPart, textPart, toMessage } from './messages.ts';
import { type Incoming, isAtRest, isOver, toIncoming } from './records.ts';
import { lookUp, resubscribe } from './recover.ts';
import { pause, RpcError, StatusError, wordsOf } from './rpc.ts';
import { makeTask } from './shippedTask.ts';
import { Shown } from './shown.ts';
import { likeProposal } from './snapshot.ts';
import { stopTask } from './stop.ts';
import type { TurnScene } from './timing.ts';
import type { Fields } from './words.ts';

export interface TurnEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
}
const TERMINAL = /terminal state/i;

interface Stream {
  ended: boolean;
  records: number;
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
  readonly #followUps: string[] = [];
  readonly #clock: NodeJS.Timeout;
  #streams: Stream[] = [];
  #heardAt: number;
  readonly asking: Asking;
  #ending: (end: TurnEnd) => void = () => {};
  #ended = false;
  #recovering = false;

  constructor(id: TurnId, deps: TurnScene) {
    const { scene, memory, timing } = deps;
    this.id = id;
    this.#deps = deps;
    this.#calls = new Calls(scene, id, memory.remembered);
    this.#shown = new Shown(scene, id);
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
    if (decision.words) this.#followUps.push(decision.words);
    if (decision.choice.remembered) this.#deps.memory.remembered.add(decision.call);
    this.#say(decision);
    return true;
  }

  stop(): void {
    if (this.#ended || this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#followUps.length = 0;
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
    this.#send([dataPart(memory, confirmation(memory, call, dialect, choice.sends, edited))]);
  }

  #sayText(text: string): void {
    this.#send([textPart(this.#deps.memory, text)]);
  }

  #send(parts: readonly Fields[]): void {
    void this.#open(toMessage(this.#deps.memory, parts)).then((error) => this.#closed(error));
  }

  #open(params: Fields): Promise<unknown> {
    const { memory } = this.#deps;
    const method = memory.peer.streaming ? 'message/stream' : 'message/send';
    return this.#hear((take) => memory.rpc.stream(method, params, take));
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
    if (this.#streams.some((one) => !one.ended)) return;
    if (isAtRest(this.#hearing.state) || this.#calls.waiting > 0 || this.#hearing.answered)
      return void this.#edits.written().then(() => this.#settle());
    void this.#lost(error);
  }

  #refused(error: RpcError | StatusError): void {
    const { memory } = this.#deps;
    if (error instanceof RpcError && error.code === -32001) leaveTask(memory);
    const next: readonly Remedy[] = error instanceof StatusError ? ['retry', 'openSettings'] : ['retry', 'showLog'];
    this.#end({
      status: 'failed',
      error: { message: wordsOf(error), code: String(error instanceof RpcError ? error.code : error.status), next },
    });
  }

  /** The newest stream has ended: is the turn over? */
  #settle(): void {
    if (this.#ended || this.#calls.waiting > 0 || this.asking.waits || this.#recovering) return;
    if (this.#streams.at(-1)?.ended === false) return;
    const { memory } = this.#deps;
    const { state, failure } = this.#hearing;
    if (state === 'auth-required' && !this.#stop.signal.aborted) return void this.#askSignIn();
    memory.completed = state === 'completed';
    if (state === 'failed' || state === 'rejected' || state === 'canceled') leaveTask(memory);
    if (this.#stop.signal.aborted) return this.#end({ status: 'cancelled' });
    if (state === 'canceled') return this.#end({ status: 'cancelled', stop: say('The agent stopped.') });
    if (state === 'failed' || state === 'rejected' || failure !== undefined) {
      return this.#end({
        status: 'failed',
        error: { message: advised(failure) ?? say('The agent failed without saying why.'), next: ['retry'] },
      });
    }
    const followUp = this.#followUps.splice(0).join('\n');
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
    });
    this.#recovering = false;
    if (this.#ended || this.#stop.signal.aborted) return;
    this.#quiet();
    if (end === 'resting') return this.#settle();
    this.#end({ status: 'failed', error: { message: end === 'gone' ? leaveTask(memory) : why, next: ['retry', 'continue'] } });
  }

  /** Something was heard. */
  #quiet(): void {
    const { scene, timing } = this.#deps;
    if (scene.now() - this.#heardAt >= timing.silence) scene.emit({ type: 'turn.activity', turnId: this.id, text: null });
    this.#heardAt = scene.now();
  }

  #tick(): void {
    const { scene, memory, timing } = this.#deps;
    if (this.#calls.waiting > 0) {
      this.#heardAt = scene.now();
      // An open turn connection is the only way to stop a running command later (a2a.md §3).
      if (memory.peer.dialect === 'gemini' && memory.rpc.turnIsFree) {
        memory.rpc.fetch('GET', `${memory.base}/.well-known/agent-card.json`, undefined, 'turn').then(
          (answer) => answer.text().catch(() => ''),
          (error: unknown) => scene.log.trace(`The sign of life failed: ${messageOf(error)}`),
        );
      }
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

/** The shipped server's first generation fails over its own repository in two ways that a person can mend (a2a.md §1). */
function advised(failure: string | undefined): string | undefined {
  if (failure === undefined || !/Git is not installed|Author identity unknown|unable to auto-detect email/i.test(failure)) return failure;
  return say('{0} (Install Git, or give it an identity: user.name and user.email. Then send the message again.)', failure);
}
