import { agentError, t } from '../../base/l10n.ts';
import { endDetail, type Failure, type LinkEnd } from '../../base/outcomes.ts';
import type { Input } from '../../conversation/machine.ts';
import { clear, find, type OpenAsk, put, remove } from '../../conversation/state.ts';
import { machineOf } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Content, Field, Remedy } from '../../session/model.ts';
import { allowanceKey, type CallSnapshot, rejectionOf, wordsBeside } from './calls.ts';
import {
  type Argument,
  argumentFields,
  argumentsIn,
  cannotStart,
  commandParams,
  type Incoming,
  isAtRest,
  isOver,
  promptText,
  readCheckpoints,
  readCommandAnswer,
  readCommandResult,
  toIncoming,
} from './codec.ts';
import { beginTurn, hasUnshown, isInRecord, restore } from './delivered.ts';
import { geminiHas } from './quirks.ts';
import { isKnown } from './records.ts';
import {
  type A2aAgent,
  type A2aAskSubject,
  type A2aStream,
  type A2aTurn,
  askedOf,
  type BeforeStop,
  type CommandRun,
  commandRuns,
  EDITOR_TOOLS,
  heldBecause,
  isNotFound,
  isOffline,
  isStreaming,
  isUndecided,
  isWaiting,
  type LeftTurn,
  type LinkQuestion,
  leftTurn,
  NOT_FOUND,
  newA2aTurn,
  notReached,
  type OurQuestion,
  type Problem,
  problemOf,
  recoveryOf,
  renamed,
  restorePast,
  restoreTurn,
  type SentPrompt,
  type Stop,
  sentSince,
  stopOf,
} from './state.ts';
import { AGENT, isTaskRead, TASK_READS, type TaskRead, TaskStreams, UNKNOWN_METHOD } from './streams.ts';
import { addLine, resumeTask, suspendTask, takeKey, takeSummary, wasSaid } from './task.ts';

/*
 * A conversation with an A2A agent (docs/protocols/a2a.md). One turn lasts from a prompt to the moment the task rests with nothing left to
 * decide, over as many streams as that takes: every decision of the user is a new stream of the same task, and so is every subscription.
 *
 * Links: `agent` is the program or address with its sockets; it is open as long as the conversation. `stream N` is one body of records.
 * Messages of a stream: `held` (the server asks to wait, or for credentials), `sent` (whether over the turn's connection), `answered` (the response has
 * begun), `opened` (it is an event stream) and `record`.
 *
 * The step is a chain of three classes. This file: intents of the user, inputs outside the streams, stopping and commands. It extends `streams.ts`:
 * requests, their replies and the end of a turn. That extends `records.ts`: the records of the agent. A class declares what it calls in a subclass as
 * abstract methods at its top.
 */

/** Pause between a withdrawn question and the one that replaces it, so that no answer meant for the first reaches the second. */
const RE_ASK_DELAY = 500;
const NOT_CANCELABLE = -32002;

class A2aStep extends TaskStreams {
  take(input: Input): void {
    switch (input.on) {
      case 'message':
        if (input.link !== AGENT) return this.streamMessage(input.link, input.method, input.params);
        return input.method === 'notification' && this.state.phase === 'ready' ? this.notified(input.params) : undefined;
      case 'reply':
        return this.state.phase === 'left' ? undefined : this.reply(input.call, input.result, input.error);
      case 'intent':
        return this.state.phase === 'left' ? undefined : this.intent(input.intent);
      case 'timer':
        return this.state.turn ? this.elapsed(this.state.turn, input.timer) : undefined;
      case 'closed':
        return input.link === AGENT ? this.agentClosed(input.why) : this.streamClosed(input.link, input.why);
      case 'start':
        return this.start();
      case 'leave':
        return this.leave();
      case 'asked':
        return this.asked(input);
      case 'withdrawn':
        return this.questionWithdrawn(input.id);
      case 'junk':
        return;
    }
  }

  // --- The link

  start(): void {
    this.state.phase = 'opening';
    this.open(AGENT, {});
    if (this.state.setup.starts) this.emit({ type: 'link.opening' });
    this.request('connect', 'connect');
  }
  connected(agent: A2aAgent): void {
    const { state } = this;
    const { peer } = agent;
    state.agent = agent;
    state.newer = peer.dialect === 'gemini' && Object.keys(peer.schemes).length > 0;
    if (geminiHas(this.state, 'losesHistory')) state.past = [];
    restorePast(state.delivered, state.past);
    const { taskId, contextId } = takeKey(state, state.setup.resumeKey);
    // A turn that was left is looked for in its own task, which for a command is another than the conversation's.
    const left = leftTurn(state.past);
    if (left?.kept.taskId !== undefined && left.kept.taskId !== taskId) {
      suspendTask(state);
      state.task.id = left.kept.taskId;
    }
    if (state.task.id !== null) return this.readTask('restore');
    // A server that was just started has no contexts of earlier ones.
    const isForgotten = contextId !== null && (state.setup.starts || geminiHas(state, 'forgetsContext'));
    if (isForgotten && state.summary.length > 0) return this.becomeReady(null, this.leaveTask());
    if (state.setup.resumeKey !== '' && contextId === null) this.notifyResumeFailed();
    this.becomeReady(null);
  }
  /** Goes on with the task of an earlier window, where the agent still knows it. */
  taskRestored(now: Incoming | null, problem: Problem | null): void {
    const { state } = this;
    if (now && (leftTurn(state.past) || !isOver(now.state) || now.state === 'completed')) return this.becomeReady(now);
    // Only the agent itself can say that the task is gone: after any other failure it may well go on with the next message.
    const isGone = problem === null && state.suspended === null;
    resumeTask(state);
    const note = isGone ? this.leaveTask(now === null) : '';
    if (isGone && state.summary.length === 0 && !now) this.notifyResumeFailed();
    this.becomeReady(null, note);
  }
  becomeReady(now: Incoming | null, note = ''): void {
    const { state } = this;
    const { peer, commands, notices } = this.agent;
    const left = leftTurn(state.past);
    state.past = [];
    state.phase = 'ready';
    if (note !== '') this.notice('info', note);
    // Before anything that waits for the link is sent.
    if (now && left) this.reopen(left, now);
    for (const { level, text } of notices) this.notice(level, text);
    if (commands) this.emit({ type: 'commands.set', commands: commands.commands });
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'a2a', name: peer.name, ...(peer.version ? { version: peer.version } : {}) },
      offers: peer.dialect === 'plain' ? {} : { feedback: true, editableApprovals: true },
    });
    this.showOptions();
    if (now) this.registerPush();
    if (now && !left) this.catchUp(now);
  }
  agentClosed(end: LinkEnd): void {
    this.showClosed(end.reason, endDetail(end, end.stderr ?? ''), end.data);
    this.state.phase = 'over';
  }
  showClosed(reason: string, detail: string | undefined, data: unknown): void {
    const next = (data as { readonly next?: readonly Remedy[] } | undefined)?.next ?? ['restart', 'showLog'];
    this.linkClosed(reason, next, detail);
  }
  leave(): void {
    const { state } = this;
    if (state.phase === 'left') return;
    const opened = state.phase !== 'new';
    for (const request of Object.values(state.requests)) this.decline(request);
    state.phase = opened ? 'left' : 'over';
    state.turn = null;
    const { push } = state;
    const registered = push.is === 'registered' ? push.taskId : push.is === 'sent' ? (push.before ?? state.task.id) : null;
    if (registered !== null) this.notifyLink('forgetPush', { taskId: registered });
    if (opened) this.close(AGENT);
  }
  /** The link asks the user, also before it is ready and during a turn. */
  asked({ link, id, method, params }: Extract<Input, { on: 'asked' }>): void {
    if (link !== AGENT || method !== 'ask' || this.state.phase === 'left') return this.refuse(link, id, UNKNOWN_METHOD, 'Not known');
    const cancelled: Answer = { kind: 'cancelled' };
    if (!this.openRequest(id, link, { result: cancelled }, true)) return;
    this.ask({ ...(params as LinkQuestion), id: this.newId() }, { on: 'link' } satisfies A2aAskSubject, id);
  }
  questionWithdrawn(id: string): void {
    const ask = Object.values(this.state.asks).find(({ requests }) => requests.includes(id));
    if (ask) this.closeAsk(ask, 'withdrawn');
    this.closeRequest(id);
  }
  /** The driver gives no reply to a call that was dropped, so those of a turn find it. */
  reply(call: string, result: unknown, error: Failure | undefined): void {
    const { turn } = this.state;
    if (call.startsWith('write ')) return this.editWritten(call.slice('write '.length), error);
    if (isTaskRead(call)) return this.taskRead(turn, call, result, error);
    switch (call) {
      case 'connect':
        if (!error) return this.connected(result as A2aAgent);
        this.showClosed(error.message, (error.data as { readonly detail?: string } | undefined)?.detail, error.data);
        return this.leave();
      case 'register push':
        if (!error) return;
        this.state.push = { is: 'refused' };
        return this.log('info', `No notifications from this agent: ${error.message}`);
      case 'editor tools':
        return this.toolsTurned(result === true, error);
    }
    if (!turn) return;
    switch (call) {
      case 'make task':
        return this.taskMade(turn, result);
      case 'change version':
        return this.versionChanged(turn, result);
      case 'cancel':
        return this.cancelled(turn, error ? problemOf(error) : null);
      case 'hang up':
        return this.hungUp(turn, result === true);
      case 'checkpoints':
        return error ? this.fail(error.message, ['retry']) : this.checkpointsListed(turn, result);
    }
  }
  /** The task as the agent keeps it: null when it is gone, or when reading it failed. */
  taskRead(turn: A2aTurn | null, call: TaskRead, result: unknown, error: Failure | undefined): void {
    const isGone = error?.kind === 'refused' && error.code === NOT_FOUND;
    const problem = error && !isGone ? problemOf(error) : null;
    if (problem) this.log('info', `Reading the task failed: ${problem.message}`);
    const now = error ? null : (toIncoming(result) ?? null);
    if (call === 'restore') return this.taskRestored(now, problem);
    if (call === 'notified') return this.notifiedRead(now);
    if (!turn) return;
    switch (call) {
      case 'stale':
        return this.staleStreamsChecked(turn, now);
      case 'unconfirmed':
        return this.decisionsVerified(turn, now);
      case 'resting':
        return this.restingTaskRead(turn, now);
      case 'missed':
        return this.missedRead(turn, now, problem);
      case 'stopped':
        return this.stoppedRead(turn, now);
    }
  }
  elapsed(turn: A2aTurn, timer: string): void {
    if (timer === 'tick') return this.tick(turn);
    if (timer === 'keep') return this.keepElapsed(turn);
    const recovery = recoveryOf(turn);
    if (timer === 'retry') return recovery ? this.subscribe(turn, recovery, false) : undefined;
    if (timer === 'stop') return this.stopElapsed(turn);
    const stream = turn.streams.find(({ link }) => timer === `rest ${link}`);
    if (stream) this.restElapsed(turn, stream);
  }

  // --- What the user wants

  intent(intent: Intent): void {
    const { turn, phase } = this.state;
    switch (intent.type) {
      case 'prompt':
      case 'command':
        if (phase !== 'ready' || turn) return this.log('warn', 'A prompt came while a turn was running; it is left out.');
        return intent.type === 'prompt' ? this.prompt(intent.turnId, intent.content) : this.command(intent);
      case 'cancel':
        return turn ? this.stop(turn) : undefined;
      case 'answer':
        return this.answered(intent.askId, intent.answer);
      case 'setOption':
        return this.setOption(intent.optionId, intent.value);
      default:
        return;
    }
  }
  prompt(turnId: string, content: readonly Content[]): void {
    const { state } = this;
    const turn = this.newTurn(turnId, content);
    const before = [...state.notes.splice(0), promptText(content)];
    const text = [takeSummary(state), ...before].filter(Boolean).join('\n\n');
    for (const one of content) if (one.type === 'text') addLine(state.summary, 'User', one.text);
    turn.prompt = { text, task: null, settled: false, versionTried: false, taskTried: false };
    if (!geminiHas(this.state, 'untrustedTasks') || state.task.id !== null) return this.sendPrompt(turn, turn.prompt);
    const agentSettings = { kind: 'agent-settings', workspacePath: state.setup.cwd, isTrusted: true };
    const { contextId } = state.task;
    this.request('make task', 'POST /tasks', { agentSettings, ...(contextId ? { contextId } : {}) });
  }
  newTurn(turnId: string, content: readonly Content[], goesOn?: { readonly at: number }): A2aTurn {
    const { state } = this;
    const turn = this.startTurn(newA2aTurn(turnId, state.task.id, this.now), content, goesOn?.at);
    if (!goesOn) beginTurn(state.delivered);
    this.notifyLink('freshen');
    this.timer('tick', state.setup.timing.ping);
    return turn;
  }
  /** A server that knows no such address makes its own task with the first message. */
  taskMade(turn: A2aTurn, id: unknown): void {
    if (typeof id === 'string' && id !== '') {
      Object.assign(this.state.task, { id, settled: true });
      // A later window finds it from now on: the server may end before it has said a word.
      this.emitResumeKey();
    }
    if (turn.phase === 'stopping') return this.finish('cancelled');
    if (turn.prompt) this.sendPrompt(turn, turn.prompt);
  }
  sendPrompt(turn: A2aTurn, prompt: SentPrompt): void {
    const { settled, id } = this.state.task;
    turn.prompt = { ...prompt, task: id, settled };
    this.sendMessage(turn, 'prompt', prompt.text);
  }
  answered(askId: string, answer: Answer): void {
    const { turn } = this.state;
    const ask = find(this.state.asks, askId);
    if (!ask) return;
    const about = ask.about as A2aAskSubject;
    if (about.on === 'link') return this.answerAsk(ask, answer, answer);
    if (!turn) return;
    if (about.on !== 'call') return this.ourAskAnswered(turn, ask, about.on, answer);
    const call = find(turn.calls, ask.callId ?? '');
    const request = call?.last.request;
    if (!request || call.decision.is !== 'asking') return;
    const { about: asked, edited } = call.decision;
    const chosen = answer.kind === 'option' ? request.options.find((one) => one.id === answer.optionId) : rejectionOf(request);
    if (answer.kind === 'option' && !chosen) return;
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    const isAllowed = chosen !== undefined && !chosen.effect.startsWith('reject');
    const mayEdit = answer.kind === 'option' && request.proposed !== undefined;
    call.decision = isAllowed
      ? { is: 'allowed', about: asked, edited: mayEdit ? (answer.edited ?? edited) : null }
      : { is: 'rejected', about: asked };
    if (isAllowed) this.changeCall(turn, call.id, { status: 'pending' });
    // The agent offers no way to say no.
    if (!chosen) return this.stop(turn);
    const words = wordsBeside(answer, request);
    if (words) put(turn.followUps, call.key, words);
    else remove(turn.followUps, call.key);
    if (chosen.remembered) this.remember(call.last);
    this.sendDecision(turn, call, chosen);
  }
  remember(call: CallSnapshot): void {
    const { state } = this;
    const key = allowanceKey(call);
    if (state.allowances.some((one) => one.key === key)) return;
    state.allowed += 1;
    state.allowances.push({ key, id: `allowed:${state.allowed}`, title: call.title });
    this.showOptions();
  }
  setOption(optionId: string, value: string | boolean): void {
    if (optionId === EDITOR_TOOLS) return this.request('editor tools', 'editorTools', { on: value === true });
    const { allowances } = this.state;
    const at = allowances.findIndex(({ id }) => id === optionId);
    if (value !== false || at < 0) return;
    allowances.splice(at, 1);
    this.showOptions();
  }
  toolsTurned(on: boolean, error: Failure | undefined): void {
    const { folder } = this.agent;
    if (!folder) return;
    if (error) this.notice('warn', t('{0} could not be written: {1}', folder.path, error.message));
    else folder.on = on;
    this.showOptions();
  }

  // --- Time

  tick(turn: A2aTurn): void {
    const { timing } = this.state.setup;
    this.timer('tick', timing.ping);
    const since = sentSince(turn);
    if (since !== null && this.now - since >= timing.verify && !commandRuns(turn)) {
      for (const stream of turn.streams) if (stream.sentAt !== null) stream.sentAt = this.now;
      this.verifyDecisions(turn, null);
    }
    for (const call of Object.values(turn.calls)) {
      const since = call.decision.is === 'changed' ? call.decision.since : null;
      if (since !== null && this.now - since >= RE_ASK_DELAY) this.askAbout(turn, call);
    }
    if (heldBecause(turn) !== undefined) {
      turn.activeAt = this.now;
      return;
    }
    if (turn.notifiedAt !== null && this.now - turn.notifiedAt >= timing.notified) {
      turn.notifiedAt = null;
      this.checkStaleStreams(turn);
    }
    const waits = isWaiting(turn);
    // An open turn connection is the only way to stop a running command later; a decision may have gone beside it.
    if (geminiHas(this.state, 'turnHangsOnConnection') && (waits || isStreaming(turn))) this.notifyLink('keepAlive');
    if (waits) turn.activeAt = this.now;
  }

  // --- Notifications: hints that the task has changed

  notified(params: unknown): void {
    const record = toIncoming(params);
    if (!record) return;
    const { state } = this;
    const { turn } = state;
    if (!turn) {
      // They come in bunches: one look is enough for all that come before it ends, and one after.
      if (state.reading === 'no') return this.readNotified();
      state.reading = 'again';
      return;
    }
    const recovery = recoveryOf(turn);
    if (recovery) {
      recovery.wasNotified = true;
      if (recovery.step.is === 'waiting' && !recovery.isEarly) {
        this.timer('retry', null);
        this.subscribe(turn, recovery, true);
      } else if (recovery.step.is === 'asking') {
        for (const ask of this.ourAsks(turn)) this.closeAsk(ask, 'withdrawn');
        this.retry(turn, recovery);
      }
    }
    if (!isKnown(turn, record, state.task.id)) turn.notifiedAt ??= this.now;
  }
  readNotified(): void {
    if (this.state.task.id === null) return;
    this.state.reading = 'reading';
    this.readTask('notified');
  }
  notifiedRead(now: Incoming | null): void {
    const { state } = this;
    const again = state.reading === 'again';
    state.reading = 'no';
    if (now) this.catchUp(now);
    if (again && state.turn) state.turn.notifiedAt ??= this.now;
    else if (again) this.readNotified();
  }
  /** A stream that does not show what the task holds is let go of; one that only had nothing to say is left alone. */
  checkStaleStreams(turn: A2aTurn): void {
    if (isOffline(turn)) return;
    turn.staleCheck = { activeAt: turn.activeAt };
    this.readTask('stale', 'fresh tasks/get');
  }
  staleStreamsChecked(turn: A2aTurn, now: Incoming | null): void {
    const { staleCheck } = turn;
    turn.staleCheck = null;
    if (!now || isOffline(turn) || turn.activeAt !== staleCheck?.activeAt) return;
    const { progress } = turn;
    this.syncWith(turn, now);
    if (turn.progress === progress && !isAtRest(now.state)) return;
    turn.activeAt = this.now;
    const wasStreaming = isStreaming(turn);
    for (const stream of turn.streams) if (stream.stage !== 'ended') this.cutStream(stream);
    // Connections that were held meanwhile may be as dead.
    this.notifyLink('hangUp');
    if (!wasStreaming) this.closed(turn, null);
  }

  // --- Earlier windows: what they left in the journal, and what happened since

  /** Continues a turn that the end of a window broke off: shows what was missed, and subscribes while the agent still works. */
  reopen(left: LeftTurn, now: Incoming): void {
    const { state } = this;
    if (!isInRecord(state.delivered, now)) return resumeTask(state);
    this.emit({ type: 'turns.removed', from: left.turn.id });
    const turn = this.newTurn(this.newId(), left.turn.prompt, { at: left.turn.startedAt });
    const { parts, kept } = renamed(left, () => this.newId());
    restore(state.delivered, kept.known, parts, kept.calls);
    restoreTurn(turn, parts, kept, this.agent.peer.dialect === 'plain');
    for (const part of parts) this.emit({ type: 'part.added', turnId: turn.id, part });
    this.continueTurn(turn, now);
  }
  /** Shows what the agent did without a listener as a turn. */
  catchUp(now: Incoming): void {
    if (this.state.turn || geminiHas(this.state, 'losesHistory')) return;
    const isOld = (text: string) => wasSaid(this.state, text);
    if (hasUnshown(this.state.delivered, now, isOld)) this.continueTurn(this.newTurn(this.newId(), [], { at: this.now }), now);
  }
  /** Shows what happened, and subscribes to a task that still runs. */
  continueTurn(turn: A2aTurn, now: Incoming): void {
    turn.records += 1;
    this.syncWith(turn, now);
    this.saveCheckpoint(turn);
    if (isAtRest(turn.taskState)) this.settleTurn(turn);
    else this.lost(turn, null, true);
  }

  // --- Stopping

  stop(turn: A2aTurn): void {
    if (turn.phase === 'stopping') return;
    turn.phase = 'stopping';
    turn.mode = { is: 'stopping', stop: { is: 'refusing' } };
    clear(turn.followUps);
    for (const ask of this.ourAsks(turn)) this.closeAsk(ask, 'cancelled');
    this.timer('retry', null);
    for (const call of TASK_READS) this.drop(call);
    this.closeUnsent(turn);
    const waiting = Object.values(turn.calls).filter(isUndecided);
    for (const call of waiting) {
      const ask = this.openAsk(call);
      if (ask) this.closeAsk(ask, 'cancelled');
      call.decision = { is: 'rejected', about: askedOf(call) };
    }
    const [first] = waiting;
    const refusal = first?.last.request?.options.find((one) => one.effect === 'reject_once');
    if (first && refusal && geminiHas(this.state, 'refusalStops')) {
      this.timer('stop', this.state.setup.timing.cancelWithin);
      return this.sendDecision(turn, first, refusal);
    }
    const before: BeforeStop = {
      commandRan: commandRuns(turn),
      wasStreaming: isStreaming(turn),
      holdsConnection: turn.streams.some(({ link, isOnTurn }) => isOnTurn && find(this.state.links, link) !== undefined),
    };
    this.timer('stop', this.state.setup.timing.cancelWithin);
    const { id } = this.state.task;
    if (id === null || geminiHas(this.state, 'cancelEndsConversation')) return this.afterCancel(turn, before, null);
    this.setStop(turn, { is: 'cancelling', before });
    this.request('cancel', 'tasks/cancel', { id });
  }
  setStop<S extends Stop>(turn: A2aTurn, stop: S): S {
    turn.mode = { is: 'stopping', stop };
    return stop;
  }
  cancelled(turn: A2aTurn, problem: Problem | null): void {
    const stop = stopOf(turn);
    if (stop?.is !== 'cancelling') return;
    let failure: string | null = null;
    if (!problem && !geminiHas(this.state, 'turnHangsOnConnection')) this.leaveTask(false);
    else if (isNotFound(problem)) this.leaveTask();
    else if (problem && !(problem.kind === 'rpc' && problem.code === NOT_CANCELABLE)) {
      failure = problem.message;
      this.log('warn', `Cancelling failed: ${problem.message}`);
    }
    this.afterCancel(turn, stop.before, failure);
  }
  /** Gemini CLI's server stops with its connection; others end their streams. */
  afterCancel(turn: A2aTurn, before: BeforeStop, failure: string | null): void {
    if (geminiHas(this.state, 'turnHangsOnConnection')) {
      this.setStop(turn, { is: 'hangingUp', before });
      return this.request('hang up', 'hangUpGently');
    }
    const stop = this.setStop(turn, { is: 'waiting', before, failure });
    // Before the first record there is no task to cancel and no last record to wait for.
    if (!isStreaming(turn) || turn.records === 0) this.stopWaited(turn, stop);
  }
  stopElapsed(turn: A2aTurn): void {
    const stop = stopOf(turn);
    switch (stop?.is) {
      case 'refusing':
        return this.finish('cancelled');
      case 'waiting':
        return this.stopWaited(turn, stop);
      case 'reading':
        this.drop('stopped');
        return this.stoppedRead(turn, null);
      case 'cancelling':
        this.drop('cancel');
        this.log('warn', 'The cancel was not answered in time.');
        if (geminiHas(this.state, 'turnHangsOnConnection')) this.afterCancel(turn, stop.before, '');
        else this.stopWaited(turn, this.setStop(turn, { is: 'waiting', before: stop.before, failure: '' }));
    }
  }
  stopWaited(turn: A2aTurn, { failure, before }: Extract<Stop, { is: 'waiting' }>): void {
    const hangsUp = isStreaming(turn);
    if (hangsUp) this.notifyLink('hangUp');
    if (failure !== null && (!before.wasStreaming || hangsUp)) {
      // The task may go on, and a message to it would be lost.
      this.leaveTask();
      this.addNotice(turn, 'warn', notReached(failure));
    }
    this.finish('cancelled');
  }
  /** `isConfirmed`: the server has closed its side. A connection that was not held proves nothing. */
  hungUp(turn: A2aTurn, isConfirmed: boolean): void {
    const stop = stopOf(turn);
    if (stop?.is !== 'hangingUp') return;
    const { commandRan, holdsConnection } = stop.before;
    this.setStop(turn, { is: 'reading', mayRunOn: commandRan && !(isConfirmed && holdsConnection) });
    if (!geminiHas(this.state, 'cancelEndsConversation') || this.state.task.id === null) return this.stoppedRead(turn, null);
    this.readTask('stopped');
  }
  /** Gemini CLI's server has stopped, because the user wanted it to or because its connection was lost: does it still have the task? */
  stoppedRead(turn: A2aTurn, now: Incoming | null): void {
    const stop = stopOf(turn);
    const isGone = now === null || isOver(now.state) || (!stop && geminiHas(this.state, 'abortedTaskFails'));
    const note = isGone ? this.leaveTask() : '';
    if (!stop) return this.fail([t('The connection was lost.'), note].filter(Boolean).join(' '), ['retry', 'continue']);
    if (stop.is === 'reading' && stop.mayRunOn) this.addNotice(turn, 'warn', notReached(''));
    this.finish('cancelled');
  }

  // --- What we ask ourselves: arguments, confirmations, a sign-in

  askFields(turn: A2aTurn, on: OurQuestion, title: string, fields: readonly Field[]): void {
    this.ask({ kind: 'question', id: this.newId(), turnId: turn.id, ours: true, title, fields }, { on } satisfies A2aAskSubject);
  }
  ourAskAnswered(turn: A2aTurn, ask: OpenAsk, on: OurQuestion, answer: Answer): void {
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    const yes = answer.kind === 'option' && answer.optionId === 'yes';
    const values = answer.kind === 'fields' ? answer.values : undefined;
    const { command } = turn;
    const recovery = recoveryOf(turn);
    if (on === 'reconnect' && recovery) {
      if (yes) this.retry(turn, recovery);
      else this.fail(notReached(recovery.why), ['continue']);
    } else if (on === 'signIn') {
      if (yes) this.sendMessage(turn, 'text', 'done');
      else this.stop(turn);
    } else if (!command || !(values ?? yes)) this.finish('cancelled');
    else if (on === 'checkpoint') this.checkpointChosen(turn, command, values?.checkpoint?.[0] ?? '');
    else {
      if (values) command.args = argumentsIn(this.required(command), values);
      this.runCommand(turn, command);
    }
  }

  // --- Slash commands of the agent, each a turn

  command({ turnId, path, args }: Extract<Intent, { type: 'command' }>): void {
    const line = `/${path.join(' ')}`;
    const turn = this.newTurn(turnId, [{ type: 'text', text: [line, args].filter(Boolean).join(' ') }]);
    suspendTask(this.state);
    const by = this.agent.commands?.by ?? 'rpc';
    const given = args.trim();
    const command: CommandRun = { path, args: given, by, answer: null };
    turn.command = command;
    if (by === 'rest' && line === '/restore') {
      if (given !== '') return this.checkpointChosen(turn, command, given);
      return this.request('checkpoints', 'POST /executeCommand', { command: 'restore list', args: [] });
    }
    if (by === 'rest' && line === '/init') {
      // The Gemini CLI server's `init` runs on its own, and writes without asking.
      const warning = t('The agent edits files and runs commands without asking you.');
      return this.confirm(turn, 'confirmed', t('Continue?'), `${line} → GEMINI.md\n\n${warning}`);
    }
    const required = this.required(command);
    if (given !== '' || required.length === 0) return this.runCommand(turn, command);
    this.askFields(turn, 'arguments', t('/{0} needs more', path.join(' ')), argumentFields(required));
  }
  required({ path }: CommandRun): readonly Argument[] {
    return this.agent.commands?.required[`/${path.join(' ')}`] ?? [];
  }
  checkpointsListed(turn: A2aTurn, result: unknown): void {
    const choices = readCheckpoints(result).map((label) => ({ label }));
    if (choices.length === 0) return this.fail(t('Nothing found'), ['retry']);
    const field = { id: 'checkpoint', label: '/restore', choices, required: true as const };
    this.askFields(turn, 'checkpoint', t('/{0} needs more', 'restore'), [field]);
  }
  checkpointChosen(turn: A2aTurn, command: CommandRun, name: string): void {
    if (name === '') return this.finish('cancelled');
    command.args = name;
    this.confirm(turn, 'confirmed', t('Restore Files'), name);
  }
  runCommand(turn: A2aTurn, { path, args, by }: CommandRun): void {
    const { state } = this;
    if (by === 'rest') {
      const body = { command: path.join(' '), args: args === '' ? [] : [args] };
      return void this.openStream(turn, 'command', null, { rest: '/executeCommand', body });
    }
    const { contextId } = state.task;
    const params = commandParams(this.agent.peer, { path, args, contextId, workspace: state.setup.cwd });
    this.openStream(turn, 'command', null, { method: 'command/execute', params });
  }
  /** The first result may be the answer to the command: true when it was. */
  commandRecord(command: CommandRun, result: unknown): boolean {
    const { state } = this;
    const answer = command.by === 'rest' || command.answer ? undefined : readCommandAnswer(result);
    if (!answer) return false;
    command.answer = answer;
    if (answer.status === 'failed_to_start' || answer.id === null) return true;
    state.task.id = answer.id;
    if (answer.id !== state.suspended?.id) state.delivered.ownTask = true;
    return true;
  }
  /** The Gemini CLI server has answered with one body. */
  commandAnswered(turn: A2aTurn, body: unknown): void {
    const { failed, text } = readCommandResult(body);
    this.showText(turn, 'text', text || t('Done'));
    this.finish(failed ? 'failed' : 'done', failed ? { error: { message: text } } : {});
  }
  /** `problem`: how the body broke; `error`: the same, unless it had said its last word. */
  commandClosed(turn: A2aTurn, { records }: A2aStream, problem: Problem | null, error: Problem | null): void {
    const { by = 'rpc', answer = null } = turn.command ?? {};
    if (turn.phase === 'stopping') return;
    if (by === 'rest' && problem && records === 0) return this.fail(problem.message, ['retry']);
    if (problem || !answer) return this.closed(turn, error);
    if (cannotStart(answer, records)) return this.fail(answer.message || agentError(), ['retry']);
    if (records > 0) return this.closed(turn, error);
    if (answer.id === null) {
      this.showText(turn, 'text', answer.message || t('Done'));
      return this.finish('done');
    }
    // Only the answer came: a subscription brings the rest.
    if (answer.message) {
      turn.hasOtherContent = true;
      this.addNotice(turn, 'info', answer.message);
    }
    turn.records += 1;
    this.saveCheckpoint(turn);
    this.lost(turn, null, true);
  }
}

export const a2aMachine = machineOf(A2aStep);
