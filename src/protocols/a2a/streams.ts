import { agentError, inSentences, t } from '../../base/l10n.ts';
import type { Failure, LinkEnd } from '../../base/outcomes.ts';
import { clear, find, type OpenAsk, put } from '../../conversation/state.ts';
import type { TurnEnd, TurnStatus } from '../../conversation/step.ts';
import type { Remedy } from '../../session/model.ts';
import type { DecisionOption } from './calls.ts';
import type { A2aPeer } from './card.ts';
import { type CallDecision, type Incoming, isAtRest, isOver, messageParams, toIncoming } from './codec.ts';
import { promptSent, recordAsks } from './delivered.ts';
import { geminiHas } from './quirks.ts';
import { TaskRecords } from './records.ts';
import {
  type A2aAskSubject,
  type A2aCall,
  type A2aStream,
  type A2aTurn,
  advised,
  type CommandRun,
  callOf,
  checkpointIn,
  commandRuns,
  decisionAbout,
  editsOf,
  type FileOfCall,
  heldBecause,
  isDecided,
  isNotFound,
  isOffline,
  isOpen,
  isStreaming,
  isTerminal,
  isUnconfirmed,
  isWaiting,
  mayBeFollowed,
  NOT_FOUND,
  newRecovery,
  newStream,
  notReached,
  type OurQuestion,
  type Problem,
  problemIn,
  type Recovery,
  recoveryOf,
  type Stop,
  type Subscription,
  sentSince,
  sentWith,
  spreadOf,
  stopOf,
  streamOf,
  subscriptionOn,
  UNSUPPORTED,
  undelivered,
} from './state.ts';
import { addLine, dropTask, resumeTask, takeSummary } from './task.ts';

/*
 * The streams of a turn: each message to the agent has one, and so has each subscription. Sends messages, follows their streams to the end, decides
 * whether the turn is over then, asks again about decisions that did not arrive, and recovers streams that broke.
 */

/** Time to keep reading a body that stays open after its last record, in multiples of `restFor`. */
const REST_FACTOR = 3;
/** Least milliseconds between two checkpoints of a turn. */
const KEEP_REST = 100;
/** A rule may answer by itself again and again, so an agent that accepts no answer is not asked for ever. */
const ASKED_AGAIN_AT_MOST = 5;
/** Messages of a task's history to request: without a number servers send none. */
const HISTORY_LENGTH = 200;

export const AGENT = 'agent';
export const UNKNOWN_METHOD = -32601;
/** The request was refused or reached no server: the decision was not read. */
const UNREAD = new Set(['rpc', 'status', 'address', 'header', 'refused', 'unknownHost', 'certificate', 'redirect']);
/** Codes by which agents say that they offer no subscription, or none to an ended task. */
const NO_SUBSCRIPTION: readonly number[] = [UNSUPPORTED, UNKNOWN_METHOD, -32603];
/**
 * Requests that read the task. `restore`: of an earlier window, before the link is ready. `notified`: after a notification without a turn. `stale`:
 * after one that no stream has confirmed. `unconfirmed`: nothing came of a decision. `resting`: the task rests without saying what it waits for. `missed`: what
 * a broken stream left out. `stopped`: whether the agent still has the task after a stop or a lost connection.
 */
export const TASK_READS = ['restore', 'notified', 'stale', 'unconfirmed', 'resting', 'missed', 'stopped'] as const;
export type TaskRead = (typeof TASK_READS)[number];
export const isTaskRead = (call: string): call is TaskRead => TASK_READS.some((one) => one === call);
/** Requests that end with their turn. */
const CALLS_OF_TURN = [...TASK_READS.slice(2), 'make task', 'change version', 'cancel', 'hang up', 'checkpoints'];

export abstract class TaskStreams extends TaskRecords {
  /** The first record of a command's stream may be the answer to the command: true when it was. */
  abstract commandRecord(command: CommandRun, result: unknown): boolean;
  /** A command was answered in one body. */
  abstract commandAnswered(turn: A2aTurn, body: unknown): void;
  /** The stream of a command has ended. */
  abstract commandClosed(turn: A2aTurn, stream: A2aStream, problem: Problem | null, error: Problem | null): void;
  /** Every stream of a turn that is being stopped has ended. */
  abstract stopWaited(turn: A2aTurn, stop: Extract<Stop, { is: 'waiting' }>): void;

  // --- Requests

  /** A request to the agent; its reply comes under the name of the call. */
  request(call: string, method: string, params?: unknown): void {
    this.do({ do: 'request', link: AGENT, call, method, params });
  }
  notifyLink(method: string, params?: unknown): void {
    this.do({ do: 'notify', link: AGENT, method, params });
  }
  readTask(call: TaskRead, method = 'tasks/get'): void {
    this.request(call, method, { id: this.state.task.id, historyLength: HISTORY_LENGTH });
  }
  /** The first message of a task carries the address. A task of an earlier window gets it later. */
  registerPush(): void {
    const { state } = this;
    const { push, task, agent } = state;
    if (!agent?.push || task.id === null || push.is === 'refused') return;
    state.push = { is: 'registered', taskId: task.id };
    if (push.is === 'sent' || (push.is === 'registered' && push.taskId === task.id)) return;
    this.request('register push', 'registerPush', { taskId: task.id });
  }

  // --- Messages to the agent, and their streams

  /** `reference`: the task that this one follows. */
  sendMessage(turn: A2aTurn, of: 'prompt' | 'text' | 'decision', says: string | CallDecision, reference: string | null = null): void {
    const { state } = this;
    const { peer, push } = this.agent;
    const { task } = state;
    const messageId = this.newId();
    const isFirst = !task.settled;
    const workspace = isFirst ? state.setup.cwd : null;
    const params = messageParams(peer, { messageId, says, taskId: task.id, contextId: task.contextId, workspace, reference });
    task.settled = true;
    const withPush = isFirst && push;
    if (withPush) state.push = sentWith(state.push);
    promptSent(state.delivered, messageId, typeof says === 'string' ? says : '');
    this.saveCheckpoint(turn);
    const method = peer.streaming ? 'message/stream' : 'message/send';
    this.openStream(turn, of, typeof says === 'string' ? null : says.callId, { method, params, ...(withPush ? { push: true } : {}) });
  }
  openStream(turn: A2aTurn, of: A2aStream['of'], callId: string | null, params: unknown): string {
    this.state.streams += 1;
    const link = `stream ${this.state.streams}`;
    turn.taskState = null;
    turn.possibleEnd = null;
    turn.streams.push(newStream(link, of, callId));
    this.open(link, params);
    return link;
  }
  streamMessage(link: string, method: string, params: unknown): void {
    const { turn } = this.state;
    const stream = turn ? streamOf(turn, link) : undefined;
    if (!turn || !stream) {
      // A message that was not sent by the end of its turn never is.
      if (method === 'held') this.close(link);
      return;
    }
    const isDecision = stream.of === 'decision';
    switch (method) {
      case 'record':
        return this.streamRecord(turn, stream, params);
      case 'sent':
        stream.delivery = 'sent';
        stream.isOnTurn = params === true;
        if (isDecision) stream.sentAt = this.now;
        return this.changeHeld(turn, stream, null);
      case 'held':
        stream.delivery = 'held';
        stream.sentAt = null;
        if (turn.phase === 'stopping' && !(stopOf(turn)?.is === 'refusing' && isDecision)) return this.close(link);
        return isDecision ? this.changeHeld(turn, stream, String(params)) : undefined;
      case 'answered':
        stream.delivery = 'answered';
        return this.changeHeld(turn, stream, null);
      case 'opened': {
        const subscription = subscriptionOn(turn, link);
        if (subscription) this.subscriptionOpened(turn, subscription);
        return;
      }
      case 'file': {
        const { call, ...file } = params as FileOfCall;
        put(turn.files, call, file);
        return;
      }
      case 'answer':
        return this.commandAnswered(turn, params);
    }
  }
  streamRecord(turn: A2aTurn, stream: A2aStream, result: unknown): void {
    const { command } = turn;
    const subscription = subscriptionOn(turn, stream.link);
    if (subscription) return this.subscriptionRecord(turn, stream, subscription, result);
    if (stream.of === 'command' && command && this.commandRecord(command, result)) return;
    this.receive(turn, stream, result);
  }
  receive(turn: A2aTurn, stream: A2aStream, result: unknown): void {
    stream.delivery = 'confirmed';
    // Ignores records after the last one.
    if (stream.stage === 'ended') return;
    this.noteActivity(turn, stream);
    const record = toIncoming(result);
    if (!record) return this.log('trace', 'A record of a kind that is not known was left out.');
    const isFirst = stream.records === 0;
    stream.records += 1;
    const { idChanges } = turn;
    if (!this.readRecord(turn, record, stream, isFirst) || this.state.turn !== turn) return;
    this.checkpointSoon(turn, turn.idChanges > idChanges);
    this.writeEdits(turn);
    if (!record.final || stream !== turn.streams.at(-1)) return;
    if (!this.mayAsk(turn)) return this.endStream(turn, stream);
    if (stream.stage !== 'open') return;
    stream.stage = 'resting';
    this.timer(`rest ${stream.link}`, this.state.setup.timing.restFor);
  }
  /** Notes that a record came. A record of an older stream does not confirm a decision that was sent later. */
  noteActivity(turn: A2aTurn, from: A2aStream): void {
    turn.activeAt = this.now;
    turn.notifiedAt = null;
    for (const stream of turn.streams) {
      stream.sentAt = null;
      if (stream === from) break;
    }
  }
  restElapsed(turn: A2aTurn, stream: A2aStream): void {
    if (!this.mayAsk(turn) || stream.stage !== 'resting') return this.endStream(turn, stream);
    stream.stage = 'lingering';
    this.timer(`rest ${stream.link}`, REST_FACTOR * this.state.setup.timing.restFor);
    this.readResting(turn, false);
  }
  /** Ends a stream after its last record. */
  endStream(turn: A2aTurn, stream: A2aStream): void {
    if (stream.stage === 'ended') return;
    this.markEnded(stream);
    this.settleTurn(turn);
  }
  markEnded(stream: A2aStream): void {
    stream.stage = 'ended';
    this.timer(`rest ${stream.link}`, null);
  }
  /** Ends a stream without waiting for its last record. */
  cutStream(stream: A2aStream): void {
    this.markEnded(stream);
    this.close(stream.link);
  }
  streamClosed(link: string, why: LinkEnd): void {
    const { turn } = this.state;
    const stream = turn ? streamOf(turn, link) : undefined;
    if (!turn || !stream) return;
    this.changeHeld(turn, stream, null);
    stream.sentAt = null;
    const problem = problemIn(why);
    const recovery = recoveryOf(turn);
    const subscription = subscriptionOn(turn, link);
    if (recovery && subscription) return this.subscriptionClosed(turn, stream, recovery, subscription, problem);
    this.streamEnded(turn, stream, problem);
  }
  /** Handles the end of a stream's body. After the last record it does not matter how it ended. Returns the failure, if it counts. */
  streamEnded(turn: A2aTurn, stream: A2aStream, problem: Problem | null): Problem | null {
    const isDone = stream.stage !== 'open' && stream.stage !== 'stale';
    this.markEnded(stream);
    const empty = { kind: 'nothing', code: 0, message: t('The agent returned nothing.') };
    const error = isDone ? null : (problem ?? (stream.records === 0 ? empty : null));
    if (error === null && !isStreaming(turn) && !isWaiting(turn)) this.allStreamsEnded(turn);
    if (stream.of === 'prompt') this.promptClosed(turn, error);
    else if (stream.of === 'decision') this.decisionClosed(turn, stream, error);
    else if (stream.of === 'command') this.commandClosed(turn, stream, problem, error);
    else if (stream.of === 'text') this.closed(turn, error);
    const stop = stopOf(turn);
    if (this.state.turn === turn && stop?.is === 'waiting' && !isStreaming(turn)) this.stopWaited(turn, stop);
    return error;
  }
  /** Tries a prompt once more where the agent wants another task for it, or speaks another version. */
  promptClosed(turn: A2aTurn, error: Problem | null): void {
    const { prompt } = turn;
    if (!prompt || error?.kind !== 'rpc' || turn.records > 0 || turn.phase === 'stopping') return this.closed(turn, error);
    const { state } = this;
    if (error.code === UNKNOWN_METHOD && !prompt.versionTried && !state.versionChanged) {
      // The card may have been wrong about what is spoken, or the agent may have changed since.
      prompt.versionTried = true;
      state.versionChanged = true;
      return this.request('change version', 'changeVersion');
    }
    if (prompt.task === null || prompt.taskTried || (error.code !== NOT_FOUND && !isTerminal(error))) return this.closed(turn, error);
    prompt.taskTried = true;
    if (error.code !== NOT_FOUND) {
      // Some agents go on with a completed task, others want a new one.
      Object.assign(state.task, { id: null, settled: false });
      return this.sendMessage(turn, 'prompt', prompt.text, prompt.task);
    }
    this.addNotice(turn, 'info', this.leaveTask());
    this.sendMessage(turn, 'prompt', [takeSummary(state), prompt.text].filter(Boolean).join('\n\n'));
  }
  versionChanged(turn: A2aTurn, result: unknown): void {
    if (!turn.prompt || turn.phase === 'stopping') return;
    const { state, agent } = this;
    const { wire, endpoint } = result as Pick<A2aPeer, 'wire' | 'endpoint'>;
    this.log('info', `The agent does not know the methods of A2A ${agent.peer.wire}; those of ${wire} are tried.`);
    state.agent = { ...agent, peer: { ...agent.peer, wire, endpoint } };
    state.task.settled = turn.prompt.settled;
    this.sendMessage(turn, 'prompt', turn.prompt.text);
  }
  /** Ends the turn, or recovers it, after a stream whose purpose is served or has failed. */
  closed(turn: A2aTurn, error: Problem | null): void {
    if (turn.phase === 'stopping') return;
    if (error?.kind === 'rpc' || error?.kind === 'status') return this.refused(error);
    if (turn.streams.some(isOpen)) return;
    // The Gemini CLI server reports that it waits while its command runs.
    const works = error !== null && commandRuns(turn);
    if ((isAtRest(turn.taskState) && !works) || isWaiting(turn)) return this.settleTurn(turn);
    this.lost(turn, error, false);
  }
  refused(error: Problem): void {
    this.log('info', `Refused: ${error.message}`);
    if (isNotFound(error) && this.state.task.id !== null) return this.taskGone();
    this.fail(error.message, error.kind === 'status' ? ['retry', 'openSettings'] : ['retry', 'showLog'], String(error.code));
  }
  /** Marks the open streams as stale: no last record is expected of them any more. */
  giveUpStreams(turn: A2aTurn): void {
    for (const stream of turn.streams) {
      // A stream that rests has sent its last record.
      if (stream.stage === 'open') stream.stage = 'stale';
      else if (isOpen(stream)) this.markEnded(stream);
    }
  }

  // --- The end of a turn

  /** Ends the turn if nothing is left to wait for after its newest stream has ended. */
  settleTurn(turn: A2aTurn): void {
    if (this.state.turn !== turn || this.ourAsks(turn).length > 0 || isOffline(turn) || turn.restingRead) return;
    if (isOpen(turn.streams.at(-1))) return;
    this.writeEdits(turn);
    if (turn.lateEdits.some(({ isWriting }) => isWriting)) return;
    const { taskState } = turn;
    const stop = stopOf(turn);
    // The agent worked on and came to an end: it got over it.
    if (turn.failure !== null && taskState === 'completed' && turn.progress > turn.failure.at) {
      this.addNotice(turn, 'warn', turn.failure.message);
      turn.failure = null;
    }
    const { failure } = turn;
    if (stop && stop.is !== 'refusing') {
      if (isOver(taskState)) this.leaveTask(false);
      // The connection may still have to be closed, and the cancel to be answered.
      return stop.is === 'waiting' && !isStreaming(turn) ? this.stopWaited(turn, stop) : undefined;
    }
    if (isWaiting(turn)) {
      if (!isOver(taskState)) return;
      // An ended task accepts no answer.
      for (const call of Object.values(turn.calls)) this.withdrawAsk(call);
      if (taskState === 'completed') this.addNotice(turn, 'warn', t('The agent ended its task without waiting for your answer.'));
    }
    if (turn.phase === 'stopping') {
      if (taskState !== 'completed' && isOver(taskState)) this.leaveTask(false);
      return this.finish('cancelled');
    }
    if (taskState === 'input-required' && failure === null && undelivered(turn).length > 0) {
      if (!geminiHas(this.state, 'decisionsUnconfirmed')) return this.verifyDecisions(turn, null);
      this.addNotice(turn, 'warn', t('The agent ended before it reported a result.'));
    }
    if (this.mayAsk(turn) && this.readsFirst(turn)) return;
    if (taskState === 'auth-required') {
      return this.confirm(turn, 'signIn', t('Sign in'), turn.lastWords, t('Continue'), t('Stop'));
    }
    if (taskState !== 'completed' && isOver(taskState)) this.leaveTask(false);
    if (taskState === 'canceled') return this.finish('cancelled', { stop: t('The agent was stopped.') });
    if (taskState === 'failed' || taskState === 'rejected' || failure !== null) {
      return this.fail(failure === null ? agentError() : advised(failure.message), ['retry']);
    }
    const followUp = Object.values(turn.followUps).join('\n');
    clear(turn.followUps);
    if (followUp) return this.sendMessage(turn, 'text', followUp);
    if (turn.said.length === 0 && !turn.hasOtherContent) this.addNotice(turn, 'info', t('The agent returned nothing.'));
    this.finish('done');
  }
  /** True when the task waits for the user and none of its calls shows for what. */
  mayAsk(turn: A2aTurn): boolean {
    return turn.taskState === 'input-required' && this.agent.peer.dialect === 'rfc' && !isWaiting(turn);
  }

  ourAsks(turn: A2aTurn): readonly OpenAsk[] {
    return Object.values(this.state.asks).filter((ask) => ask.turnId === turn.id && (ask.about as A2aAskSubject).on !== 'call');
  }
  /** Asks a question of ours. `yes` counts as a lasting allowance, which no rule chooses. */
  confirm(turn: A2aTurn, on: OurQuestion, title: string, text: string, yes = t('Allow once'), no = t('Reject')): void {
    const head = { id: this.newId(), wordless: true, ours: true, turnId: turn.id, title } as const;
    const options = [
      { id: 'yes', label: yes, effect: 'allow_always' },
      { id: 'no', label: no, effect: 'reject_once' },
    ] as const;
    this.ask({ kind: 'approval', ...head, detail: { type: 'text', text }, options }, { on } satisfies A2aAskSubject);
  }
  fail(message: string, next: readonly Remedy[], code?: string): void {
    this.finish('failed', { error: { message, ...(code === undefined ? {} : { code }), next } });
  }
  /** Ends the turn, once. Its bodies go on being read, since closing them may mean something to the agent. */
  finish(status: TurnStatus, end: TurnEnd = {}): void {
    const { state } = this;
    const { turn } = state;
    if (!turn) return;
    this.saveCheckpoint(turn, false);
    for (const timer of ['tick', 'keep', 'retry', 'stop', ...turn.streams.map(({ link }) => `rest ${link}`)]) this.timer(timer, null);
    for (const call of CALLS_OF_TURN) this.drop(call);
    this.closeUnsent(turn);
    addLine(state.summary, 'Agent', turn.said.join(''));
    resumeTask(state);
    this.registerPush();
    if (state.task.id !== null || state.task.contextId !== null) this.emitResumeKey();
    this.endTurn(status, end);
  }
  /** Drops the messages that were not sent yet. */
  closeUnsent(turn: A2aTurn): void {
    for (const stream of turn.streams) if (stream.delivery === 'new' || stream.delivery === 'held') this.cutStream(stream);
  }
  taskGone(): void {
    // A conversation that has its own task beside this one keeps it.
    const { suspended } = this.state;
    const message = t('The agent does not know this conversation any more. {0}', suspended ? '' : this.leaveTask()).trim();
    this.fail(message, suspended ? ['retry'] : ['retry', 'continue']);
  }
  /**
   * Leaves a task that takes no more messages, or is lost (`isLost`): the next prompt begins another. A server that still has the context of the
   * conversation gets no summary of it. Returns a sentence for the user, empty where nothing changes for them.
   */
  leaveTask(isLost = true): string {
    dropTask(this.state, !isLost && !geminiHas(this.state, 'forgetsContext'));
    return this.state.task.needsSummary ? t('Your next message begins a new task and repeats what was said so far.') : '';
  }

  // --- Decisions: each is sent once, never again by itself, and asked about again where it did not arrive

  sendDecision(turn: A2aTurn, call: A2aCall, choice: DecisionOption): void {
    const { state } = this;
    const at = turn.lateEdits.findIndex((one) => one.callId === call.key && !one.isWriting);
    if (at >= 0) turn.lateEdits.splice(at, 1);
    const { diff } = call.last;
    const { edited, late } = editsOf(call, call.last, state.newer);
    if (late !== null && diff) turn.lateEdits.push({ callId: call.key, path: diff.path, text: late, isWriting: false });
    this.cancelDecision(turn, call);
    this.sendMessage(turn, 'decision', { callId: call.key, dialect: call.dialect, sends: choice.sends, edited, camel: state.camel });
  }
  changeHeld(turn: A2aTurn, stream: A2aStream, held: string | null): void {
    if (stream.held === held) return;
    stream.held = held;
    if (turn.phase === 'stopping') return;
    const why = heldBecause(turn);
    if (why === undefined) this.clearActivity(turn);
    else this.showActivity(turn, t('Your answer has not been sent yet. {0}', why));
  }
  decisionClosed(turn: A2aTurn, stream: A2aStream, error: Problem | null): void {
    const { callId } = stream;
    if (stream.delivery === 'confirmed') return this.closed(turn, error);
    if (error && UNREAD.has(error.kind)) stream.delivery = 'refused';
    // The turn does not depend on a decision that was replaced or cancelled.
    if (callId === null || stream.isCancelled || decisionAbout(turn, callId) !== stream) return this.closed(turn, null);
    if (turn.phase === 'stopping') return;
    const call = callOf(turn, callId);
    if (call && error?.kind === 'status') return this.askAgain(turn, [call], error.message);
    if (error?.kind === 'rpc' && (isNotFound(error) || isTerminal(error))) return this.refused(error);
    if (error?.kind === 'rpc' || isWaiting(turn) || isStreaming(turn)) return this.verifyDecisions(turn, error?.message ?? null);
    this.lost(turn, error, false);
  }
  /** Reads the task after a decision without effect, and asks the user once more about what the task still waits for. */
  verifyDecisions(turn: A2aTurn, why: string | null): void {
    if (turn.verifying || isOffline(turn)) return;
    turn.verifying = { why };
    this.readTask('unconfirmed');
  }
  decisionsVerified(turn: A2aTurn, now: Incoming | null): void {
    const why = turn.verifying?.why ?? null;
    turn.verifying = null;
    if (now) this.syncWith(turn, now);
    const isSilent = sentSince(turn) !== null && why === null;
    // Decisions still queued cannot have been received.
    const open = undelivered(turn).filter(({ key }) => decisionAbout(turn, key)?.held == null);
    if (open.length > 0 && (now ? now.state === 'input-required' : !isSilent)) return this.askAgain(turn, open, why);
    if (!now) return;
    if (heldBecause(turn) !== undefined) {
      if (!isOver(now.state)) return;
      // An ended task accepts no answer.
      for (const call of Object.values(turn.calls)) this.cancelDecision(turn, call);
    }
    if (isSilent && !isAtRest(now.state)) return;
    this.giveUpStreams(turn);
    if (isAtRest(now.state)) this.settleTurn(turn);
    else if (!isStreaming(turn)) this.lost(turn, null, false);
  }
  askAgain(turn: A2aTurn, calls: readonly A2aCall[], why: string | null): void {
    const mayBeRead = calls.some(({ key }) => isUnconfirmed(decisionAbout(turn, key)));
    for (const stream of turn.streams) stream.sentAt = null;
    for (const call of calls) this.cancelDecision(turn, call);
    this.giveUpStreams(turn);
    const lost = t('Your answer did not reach the agent. {0}', why ?? '').trim();
    this.addNotice(turn, 'warn', mayBeRead ? inSentences(lost, mayBeFollowed()) : lost);
    for (const call of calls) {
      if (call.decision.is === 'asking' || call.last.status !== 'waiting') continue;
      call.timesReasked += 1;
      if (call.timesReasked > ASKED_AGAIN_AT_MOST) {
        return this.fail(t('The agent refused: {0}', why ?? '–'), ['retry', 'showLog']);
      }
      this.changeCall(turn, call.id, { status: 'waiting' });
      this.askAbout(turn, call);
    }
  }
  /** Reads the task of an agent that waits without saying for what, once. Returns true when it does so. */
  readsFirst(turn: A2aTurn): boolean {
    const open = Object.values(turn.calls).filter((call) => call.last.status === 'pending' && !isDecided(call) && !call.taskWasRead);
    for (const call of open) call.taskWasRead = true;
    if (open.length === 0 && !turn.mayHoldMore) return false;
    turn.mayHoldMore = false;
    this.readResting(turn, open.length > 0);
    return true;
  }
  readResting(turn: A2aTurn, whole: boolean): void {
    turn.restingRead = { whole };
    this.readTask('resting');
  }
  restingTaskRead(turn: A2aTurn, now: Incoming | null): void {
    const whole = turn.restingRead?.whole === true;
    turn.restingRead = null;
    if (now && isAtRest(now.state) && (whole || recordAsks(this.state.delivered, now))) this.syncWith(turn, now);
    this.settleTurn(turn);
  }

  // --- Proposals that the user changed, for a server that takes no edits

  writeEdits(turn: A2aTurn): void {
    if (turn.lateEdits.length === 0) return;
    for (const edit of [...turn.lateEdits]) {
      const status = callOf(turn, edit.callId)?.last.status;
      if (status === 'failed' || status === 'cancelled') turn.lateEdits.splice(turn.lateEdits.indexOf(edit), 1);
      if (status !== 'done' || edit.isWriting) continue;
      edit.isWriting = true;
      const { real } = find(turn.files, edit.callId) ?? {};
      this.port(null, `write ${edit.path}`, 'file', { path: edit.path, text: edit.text, ...(real === undefined ? {} : { real }) });
    }
  }
  editWritten(path: string, error: Failure | undefined): void {
    const { turn, notes } = this.state;
    if (!error) notes.push(`(The user changed your proposal for ${path} before accepting it; the file holds the user's version.)`);
    if (!turn) return;
    const at = turn.lateEdits.findIndex((one) => one.isWriting && one.path === path);
    if (at >= 0) turn.lateEdits.splice(at, 1);
    if (error) this.addNotice(turn, 'error', t('{0} could not be written: {1}', path, error.message));
    else this.addNotice(turn, 'info', `${path}: ${t('edited by you')}`);
    this.settleTurn(turn);
  }

  // --- A stream that broke: subscribes to the task again. Agents do not replay what was missed, so it is read from the task.

  /** Subscribes to the task again. `isFirst`: no connection was lost; the task has no subscription yet. */
  lost(turn: A2aTurn, error: Problem | null, isFirst: boolean): void {
    if (turn.mode.is !== 'streaming') return;
    const why = error?.message ?? t('The connection was lost.');
    if (this.state.task.id === null || turn.records === 0) return this.fail(why, ['retry']);
    const recovery = newRecovery(why);
    turn.mode = recovery;
    if (geminiHas(this.state, 'turnHangsOnConnection')) this.readTask('stopped');
    else this.retry(turn, recovery, isFirst);
  }
  retry(turn: A2aTurn, recovery: Recovery, isFirst = false): void {
    Object.assign(recovery, { at: 0, until: this.now + this.state.setup.timing.giveUp, isEarly: false, wasNotified: false });
    this.nextTry(turn, recovery, isFirst);
  }
  nextTry(turn: A2aTurn, recovery: Recovery, isFirst = false): void {
    const { retries } = this.state.setup.timing;
    if (recovery.at >= retries.length || this.now >= recovery.until) return this.giveUp(turn, recovery);
    recovery.step = { is: 'waiting' };
    if (!isFirst) this.showActivity(turn, t('The connection was lost.'));
    if (!recovery.isEarly && recovery.wasNotified) return this.subscribe(turn, recovery, true);
    this.timer('retry', (retries[recovery.at] ?? 0) * spreadOf(this.state));
  }
  subscribe(turn: A2aTurn, recovery: Recovery, isEarly: boolean): void {
    Object.assign(recovery, { isEarly, wasNotified: false, progress: turn.progress });
    const params = { method: 'tasks/resubscribe', params: { id: this.state.task.id }, isQuick: true };
    const link = this.openStream(turn, 'subscription', null, params);
    recovery.step = { is: 'subscribed', link, openedAt: null, hasEnded: false, isReading: false, waiting: [], task: null };
  }
  subscriptionOpened(turn: A2aTurn, subscription: Subscription): void {
    subscription.openedAt = this.now;
    this.clearActivity(turn);
    this.readMissed(subscription);
  }
  /** Reads the task as soon as the subscription is open: no version promises a first record. */
  readMissed(subscription: Subscription): void {
    if (subscription.isReading) return;
    subscription.isReading = true;
    this.readTask('missed');
  }
  /** Records wait until what was missed is read. */
  subscriptionRecord(turn: A2aTurn, stream: A2aStream, subscription: Subscription, result: unknown): void {
    const { waiting } = subscription;
    if (!waiting) return this.receive(turn, stream, result);
    this.readMissed(subscription);
    const record = subscription.task || waiting.length > 0 ? undefined : toIncoming(result);
    if (record?.kind !== 'task') return void waiting.push(result);
    subscription.task = record;
    if (!record.history?.length) return;
    this.drop('missed');
    this.missedRead(turn, record, null);
  }
  missedRead(turn: A2aTurn, now: Incoming | null, problem: Problem | null): void {
    const recovery = recoveryOf(turn);
    if (recovery?.step.is !== 'subscribed') return;
    const subscription = recovery.step;
    const { task, link } = subscription;
    const records = subscription.waiting ?? [];
    subscription.isReading = false;
    if (!problem && !now && !task && records.length === 0) return this.recovered(turn, recovery, true);
    // Falls back to the task record that the subscription sent.
    const whole = now ?? task;
    if (whole) this.syncWith(turn, whole);
    subscription.waiting = null;
    const stream = streamOf(turn, link);
    for (const one of records) if (stream && this.state.turn === turn) this.receive(turn, stream, one);
    if (stream && subscription.hasEnded) this.streamEnded(turn, stream, null);
    if (this.state.turn !== turn || turn.mode !== recovery) return;
    if (isAtRest(turn.taskState)) return this.recovered(turn, recovery);
    if (subscription.hasEnded) this.afterTry(turn, recovery);
  }
  subscriptionClosed(turn: A2aTurn, stream: A2aStream, recovery: Recovery, subscription: Subscription, problem: Problem | null): void {
    const { openedAt, waiting, isReading } = subscription;
    if (openedAt !== null) recovery.until += this.now - openedAt;
    const isRead = problem !== null || (waiting === null && !isReading);
    if (isRead) this.streamEnded(turn, stream, problem);
    if (this.state.turn !== turn || turn.mode !== recovery) return;
    if (isNotFound(problem)) return this.recovered(turn, recovery, true);
    if (problem && !(problem.kind === 'rpc' && NO_SUBSCRIPTION.includes(problem.code))) {
      this.log('info', `Subscribing again failed: ${problem.message}`);
      this.drop('missed');
      return this.afterTry(turn, recovery);
    }
    if (isRead && isAtRest(turn.taskState)) return this.recovered(turn, recovery);
    // The task has ended, or the agent offers no subscription.
    subscription.hasEnded = true;
    this.readMissed(subscription);
  }
  afterTry(turn: A2aTurn, recovery: Recovery): void {
    // Restarts the tries only after progress: an agent that closes every subscription at once would be asked without end.
    if (turn.progress > recovery.progress) return this.retry(turn, recovery);
    // A try that a notification brought forward does not take the place of the one that was due.
    if (!recovery.isEarly) recovery.at += 1;
    this.nextTry(turn, recovery);
  }
  recovered(turn: A2aTurn, { step }: Recovery, isGone = false): void {
    turn.mode = { is: 'streaming' };
    this.clearActivity(turn);
    const stream = step.is === 'subscribed' ? streamOf(turn, step.link) : undefined;
    if (stream) this.cutStream(stream);
    if (isGone) this.taskGone();
    else this.settleTurn(turn);
  }
  giveUp(turn: A2aTurn, recovery: Recovery): void {
    this.clearActivity(turn);
    // A notification during the last try counts as an answer.
    if (recovery.wasNotified) return this.retry(turn, recovery);
    recovery.step = { is: 'asking' };
    this.confirm(turn, 'reconnect', t('The connection was lost.'), notReached(recovery.why), t('Try again'), t('Stop'));
  }

  // --- Checkpoints, for a later window

  /** Writes a checkpoint: at once for content with an id unless one was written a moment ago, else after a while. Each holds all content. */
  checkpointSoon(turn: A2aTurn, hasIdChange: boolean): void {
    if (turn.keeping === 'rests') turn.keeping = 'soon';
    if (turn.keeping === 'soon' || (turn.keeping === 'later' && !hasIdChange)) return;
    turn.keeping = hasIdChange ? 'rests' : 'later';
    this.timer('keep', hasIdChange ? KEEP_REST : this.state.setup.timing.keep);
    if (hasIdChange) this.saveCheckpoint(turn);
  }
  keepElapsed(turn: A2aTurn): void {
    const isDue = turn.keeping !== 'rests';
    turn.keeping = 'no';
    if (isDue) this.saveCheckpoint(turn);
  }
  /** Writes a checkpoint, for a later window. */
  saveCheckpoint(turn: A2aTurn, running = true): void {
    this.emit({ type: 'turn.adapterState', turnId: turn.id, value: checkpointIn(this.state, turn, running) });
  }
}
