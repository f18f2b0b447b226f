import { agentError, inSentences, t } from '../../base/l10n.ts';
import type { Ending, Failure } from '../../base/outcomes.ts';
import type { Input } from '../../conversation/machine.ts';
import { clear, find, laneOf, type OpenAsk, put, remove } from '../../conversation/state.ts';
import { machineOf, Step, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Content, Field, Notice, Remedy } from '../../session/model.ts';
import {
  allowanceKey,
  askOf,
  asNew,
  type Choice,
  completed,
  isEnded,
  isSame,
  outputOf,
  rejectionOf,
  rememberedChoice,
  type Snapshot,
  shownOf,
  stillAsAsked,
  tidy,
  wordsBeside,
} from './calls.ts';
import type { Peer } from './card.ts';
import {
  type Argument,
  argumentFields,
  argumentsIn,
  type CallDecision,
  cannotStart,
  commandParams,
  contentOf,
  type EventFacts,
  eventOf,
  type Incoming,
  isAtRest,
  isFailed,
  isOver,
  meaningOf,
  messageParams,
  promptText,
  readCheckpoints,
  readCommandAnswer,
  readCommandResult,
  type Said,
  textOf,
  toIncoming,
} from './codec.ts';
import {
  beginTurn,
  hasNews,
  isFresh,
  isInRecord,
  OUTPUT,
  promptSent,
  recordAsks,
  restOfWork,
  restore,
  textShown,
  unseen,
  workShown,
} from './delivered.ts';
import { shippedHas } from './quirks.ts';
import { isCovered, isForeign, isKnown, isNewRecord, mayBeOurEnd, noteTime, taskAfter } from './records.ts';
import type { Part as WirePart } from './schema.ts';
import {
  type A2aCall,
  type A2aState,
  type A2aTurn,
  type About,
  type Agent,
  advised,
  type CommandRun,
  callOf,
  checkpointIn,
  commandRuns,
  decisionAbout,
  EDITOR_TOOLS,
  editsOf,
  type FileOfCall,
  hasBecomeAnother,
  heldBecause,
  isDecided,
  isDoubtful,
  isNotFound,
  isOffline,
  isOpen,
  isStreaming,
  isTerminal,
  isUndecided,
  isWaiting,
  joinWords,
  type LeftTurn,
  leftTurn,
  mayBeFollowed,
  NOT_FOUND,
  newA2aTurn,
  newCall,
  newRecovery,
  newStream,
  notReached,
  type OurQuestion,
  optionsOf,
  type Problem,
  problemIn,
  problemOf,
  type Recovery,
  renamed,
  restorePast,
  restoreTurn,
  type SentPrompt,
  type Stop,
  type Stream,
  sentSince,
  spreadOf,
  statusOf,
  streamOf,
  UNSUPPORTED,
  undelivered,
} from './state.ts';
import { addLine, comeBack, dropTask, keyOf, setAside, takeKey, tellPast, wasSaid } from './task.ts';

/*
 * A conversation with an A2A agent (docs/protocols/a2a.md). One turn lasts from a prompt to the moment the task rests with nothing left to
 * decide, over as many streams as that takes: every decision of the user is a new stream of the same task, and so is every subscription.
 *
 * Links: `agent` is the program or address with its sockets; it is open as long as the conversation. `stream N` is one body of records.
 * A stream tells `held` (the server asks to wait, or for credentials), `sent` (whether over the turn's connection), `answered` (the response has
 * begun), `opened` (it is an event stream) and `record`.
 */

/** How long to keep reading a body that stays open after its last record, in multiples of `lastWords`. */
const LINGER_FACTOR = 3;
/** Pause between a withdrawn question and the one that replaces it, so that no answer meant for the first reaches the second. */
const RE_ASK_DELAY = 500;
/** Milliseconds between two checkpoints of a turn that tells much at once. */
const KEEP_REST = 100;
/** A rule may answer by itself again and again, so an agent that accepts no answer is not asked for ever. */
const ASKED_AGAIN_AT_MOST = 5;
/** Messages of a task's history to request: without a number servers send none. */
const HISTORY = 200;

const AGENT = 'agent';
const NOT_CANCELABLE = -32002;
const UNKNOWN_METHOD = -32601;
/** The request was refused or reached no server: the decision was not read. */
const UNREAD = new Set(['rpc', 'status', 'address', 'header', 'refused', 'unknownHost', 'certificate', 'redirect']);
/** Codes by which agents say that they offer no subscription, or none to an ended task. */
const NO_SUBSCRIPTION: readonly number[] = [UNSUPPORTED, UNKNOWN_METHOD, -32603];
/**
 * Requests that read the task. `take up`: of an earlier window, before the link is ready. `news`: after a notification without a turn. `look behind`:
 * after one that no stream has confirmed. `doubt`: nothing came of a decision. `look`: the task rests without saying what it waits for. `missed`: what
 * a broken stream did not tell. `stopped`: whether the agent still has the task after a stop or a lost connection.
 */
const TASK_READS = ['take up', 'news', 'look behind', 'doubt', 'look', 'missed', 'stopped'] as const;
type TaskRead = (typeof TASK_READS)[number];
const isTaskRead = (call: string): call is TaskRead => TASK_READS.some((one) => one === call);
/** Requests that end with their turn. */
const CALLS_OF_TURN = [...TASK_READS.slice(2), 'make task', 'change version', 'cancel', 'hang up', 'checkpoints'];

class A2aStep extends Step<A2aState> {
  take(input: Input): void {
    switch (input.on) {
      case 'message':
        if (input.link !== AGENT) return this.streamMessage(input.link, input.method, input.params);
        return input.method === 'news' && this.state.phase === 'ready' ? this.news(input.params) : undefined;
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
        return this.refuse(input.link, input.id, UNKNOWN_METHOD, 'Not known');
      case 'junk':
      case 'withdrawn':
        return;
    }
  }

  // --- the link

  start(): void {
    this.state.phase = 'opening';
    this.open(AGENT, {});
    if (this.state.setup.starts) this.emit({ type: 'link.opening' });
    this.request('connect', 'connect');
  }
  connected(agent: Agent): void {
    const { state } = this;
    const { peer } = agent;
    state.agent = agent;
    state.newer = peer.dialect === 'gemini' && Object.keys(peer.schemes).length > 0;
    if (shippedHas(this.state, 'losesHistory')) state.past = [];
    restorePast(state.delivered, state.past);
    const { taskId, contextId } = takeKey(state, state.setup.resumeKey);
    // A turn that was left is looked for in its own task, which for a command is another than the conversation's.
    const left = leftTurn(state.past);
    if (left?.kept.taskId !== undefined && left.kept.taskId !== taskId) {
      setAside(state);
      state.task.id = left.kept.taskId;
    }
    if (state.task.id !== null) return this.readTask('take up');
    if (state.setup.resumeKey !== '' && contextId === null) this.cannotTakeUp();
    this.becomeReady(null);
  }
  /** Goes on with the task of an earlier window, where the agent still knows it. */
  takenUp(now: Incoming | null, problem: Problem | null): void {
    const { state } = this;
    if (now && (leftTurn(state.past) || !isOver(now.state) || now.state === 'completed')) return this.becomeReady(now);
    // Only the agent itself can say that the task is gone: after any other failure it may well go on with the next message.
    const isGone = problem === null && state.aside === null;
    comeBack(state);
    const told = isGone ? this.leaveTask() : '';
    const isEmpty = state.summary.length === 0;
    if (isGone && isEmpty && !now) this.cannotTakeUp();
    this.becomeReady(null, isEmpty ? '' : told);
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
  agentClosed({ reason, stderr, data }: Ending): void {
    this.tellClosed(reason, stderr, data);
    this.state.phase = 'over';
  }
  tellClosed(reason: string, detail: string | undefined, data: unknown): void {
    const next = (data as { readonly next?: readonly Remedy[] } | undefined)?.next ?? ['restart', 'showLog'];
    this.linkClosed(reason, next, detail);
  }
  leave(): void {
    const { state } = this;
    if (state.phase === 'left') return;
    const opened = state.phase !== 'new';
    state.phase = opened ? 'left' : 'over';
    state.turn = null;
    const { task, sent, refused } = state.push;
    const registered = task ?? (sent ? state.task.id : null);
    if (registered !== null && !refused) this.tell('forgetPush', { taskId: registered });
    if (opened) this.close(AGENT);
  }

  get agent(): Agent {
    const { agent } = this.state;
    if (!agent) throw new Error('There is no agent yet.');
    return agent;
  }
  /** A request to the agent; its reply comes under the name of the call. */
  request(call: string, method: string, params?: unknown): void {
    this.do({ do: 'request', link: AGENT, call, method, params });
  }
  tell(method: string, params?: unknown): void {
    this.do({ do: 'notify', link: AGENT, method, params });
  }
  readTask(call: TaskRead, method = 'tasks/get'): void {
    this.request(call, method, { id: this.state.task.id, historyLength: HISTORY });
  }
  /** The driver gives no reply to a call that was dropped, so those of a turn find it. */
  reply(call: string, result: unknown, error: Failure | undefined): void {
    const { turn } = this.state;
    if (call.startsWith('write ')) return this.editWritten(call.slice('write '.length), error);
    if (isTaskRead(call)) return this.taskRead(turn, call, result, error);
    switch (call) {
      case 'connect':
        if (!error) return this.connected(result as Agent);
        this.tellClosed(error.message, (error.data as { readonly detail?: string } | undefined)?.detail, error.data);
        return this.leave();
      case 'register push':
        if (!error) return;
        this.state.push.refused = true;
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
    if (call === 'take up') return this.takenUp(now, problem);
    if (call === 'news') return this.newsRead(now);
    if (!turn) return;
    switch (call) {
      case 'look behind':
        return this.lookedBehind(turn, now);
      case 'doubt':
        return this.doubted(turn, now);
      case 'look':
        return this.looked(turn, now);
      case 'missed':
        return this.missedRead(turn, now, problem);
      case 'stopped':
        return this.stoppedRead(turn, now);
    }
  }
  elapsed(turn: A2aTurn, timer: string): void {
    if (timer === 'tick') return this.tick(turn);
    if (timer === 'keep') return this.keepElapsed(turn);
    if (timer === 'retry') return turn.recovery ? this.subscribe(turn, turn.recovery, false) : undefined;
    if (timer === 'stop') return this.stopElapsed(turn);
    const stream = turn.streams.find(({ link }) => timer === `rest ${link}`);
    if (stream) this.restElapsed(turn, stream);
  }

  // --- what the user wants

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
        return turn ? this.answered(turn, intent.askId, intent.answer) : undefined;
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
    const text = [tellPast(state), ...before].filter(Boolean).join('\n\n');
    for (const one of content) if (one.type === 'text') addLine(state.summary, 'User', one.text);
    turn.prompt = { text, task: null, settled: false, versionTried: false, taskTried: false };
    if (!shippedHas(this.state, 'untrustedTasks') || state.task.id !== null) return this.sendPrompt(turn, turn.prompt);
    const agentSettings = { kind: 'agent-settings', workspacePath: state.setup.cwd, isTrusted: true };
    const { contextId } = state.task;
    this.request('make task', 'POST /tasks', { agentSettings, ...(contextId ? { contextId } : {}) });
  }
  newTurn(turnId: string, content: readonly Content[], goesOn?: { readonly at: number }): A2aTurn {
    const { state } = this;
    const turn = this.startTurn(newA2aTurn(turnId, state.task.id, this.now), content, goesOn?.at);
    if (!goesOn) beginTurn(state.delivered);
    this.tell('freshen');
    this.timer('tick', state.setup.timing.ping);
    return turn;
  }
  /** A server that knows no such address makes its own task with the first message. */
  taskMade(turn: A2aTurn, id: unknown): void {
    if (typeof id === 'string' && id !== '') {
      Object.assign(this.state.task, { id, settled: true });
      // A later window finds it from now on: the server may end before it has said a word.
      this.tellKey();
    }
    if (turn.phase === 'stopping') return this.finish('cancelled');
    if (turn.prompt) this.sendPrompt(turn, turn.prompt);
  }
  sendPrompt(turn: A2aTurn, prompt: SentPrompt): void {
    const { settled, id } = this.state.task;
    turn.prompt = { ...prompt, task: id, settled };
    this.sendMessage(turn, 'prompt', prompt.text);
  }
  answered(turn: A2aTurn, askId: string, answer: Answer): void {
    const ask = find(this.state.asks, askId);
    if (!ask) return;
    const about = ask.about as About;
    if (about.on !== 'call') return this.ourAskAnswered(turn, ask, about.on, answer);
    const call = find(turn.calls, ask.callId ?? '');
    const request = call?.last.request;
    if (!call || !request) return;
    const chosen = answer.kind === 'option' ? request.options.find((one) => one.id === answer.optionId) : rejectionOf(request);
    if (answer.kind === 'option' && !chosen) return;
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    const isAllowed = chosen !== undefined && !chosen.effect.startsWith('reject');
    call.decision = isAllowed ? 'allowed' : 'rejected';
    if (isAllowed) this.changeCall(turn, call.id, { status: 'pending' });
    const mayEdit = answer.kind === 'option' && isAllowed && request.proposed !== undefined;
    call.edited = mayEdit ? (answer.edited ?? call.edited) : null;
    // The agent offers no way to say no.
    if (!chosen) return this.stop(turn);
    const words = wordsBeside(answer, request);
    if (words) put(turn.followUps, call.key, words);
    else remove(turn.followUps, call.key);
    if (chosen.remembered) this.remember(call.last);
    this.sendDecision(turn, call, chosen);
  }
  remember(call: Snapshot): void {
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
  showOptions(): void {
    this.emit({ type: 'options.set', options: optionsOf(this.state) });
  }

  // --- streams

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
    if (withPush) state.push.sent = true;
    promptSent(state.delivered, messageId, typeof says === 'string' ? says : '');
    this.keep(turn);
    const method = peer.streaming ? 'message/stream' : 'message/send';
    this.openStream(turn, of, typeof says === 'string' ? null : says.callId, { method, params, ...(withPush ? { push: true } : {}) });
  }
  openStream(turn: A2aTurn, of: Stream['of'], callId: string | null, params: unknown): string {
    this.state.streams += 1;
    const link = `stream ${this.state.streams}`;
    turn.taskState = null;
    turn.stray = null;
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
        stream.way = 'sent';
        stream.isOnTurn = params === true;
        if (isDecision) stream.sentAt = this.now;
        return this.changeHeld(turn, stream, null);
      case 'held':
        stream.way = 'held';
        stream.sentAt = null;
        if (turn.phase === 'stopping' && !(turn.stop === null && isDecision)) return this.close(link);
        return isDecision ? this.changeHeld(turn, stream, String(params)) : undefined;
      case 'answered':
        stream.way = 'answered';
        return this.changeHeld(turn, stream, null);
      case 'opened':
        return turn.recovery?.link === link ? this.subscriptionStands(turn, turn.recovery) : undefined;
      case 'file': {
        const { call, ...file } = params as FileOfCall;
        put(turn.files, call, file);
        return;
      }
      case 'answer':
        return this.commandAnswered(turn, params);
    }
  }
  streamRecord(turn: A2aTurn, stream: Stream, result: unknown): void {
    const { recovery, command } = turn;
    if (recovery?.link === stream.link) return this.subscriptionRecord(turn, stream, recovery, result);
    if (stream.of === 'command' && command && this.commandRecord(command, result)) return;
    this.receive(turn, stream, result);
  }
  receive(turn: A2aTurn, stream: Stream, result: unknown): void {
    stream.way = 'told';
    // Ignores records after the last one.
    if (stream.stage === 'ended') return;
    this.alive(turn, stream);
    const record = toIncoming(result);
    if (!record) return this.log('trace', 'A record of a kind that is not known was left out.');
    const isFirst = stream.records === 0;
    stream.records += 1;
    const { landmarks } = turn;
    if (!this.readRecord(turn, record, stream, isFirst) || this.state.turn !== turn) return;
    this.keepSoon(turn, turn.landmarks > landmarks);
    this.writeEdits(turn);
    if (!record.final || stream !== turn.streams.at(-1)) return;
    if (!this.mayAsk(turn)) return this.endStream(turn, stream);
    if (stream.stage !== 'open') return;
    stream.stage = 'resting';
    this.timer(`rest ${stream.link}`, this.state.setup.timing.lastWords);
  }
  /** Notes that something came. An older stream tells nothing of a decision sent since. */
  alive(turn: A2aTurn, from: Stream): void {
    turn.heardAt = this.now;
    turn.newsAt = null;
    for (const stream of turn.streams) {
      stream.sentAt = null;
      if (stream === from) break;
    }
  }
  restElapsed(turn: A2aTurn, stream: Stream): void {
    if (!this.mayAsk(turn) || stream.stage !== 'resting') return this.endStream(turn, stream);
    stream.stage = 'lingering';
    this.timer(`rest ${stream.link}`, LINGER_FACTOR * this.state.setup.timing.lastWords);
    this.look(turn, false);
  }
  /** Ends a stream after its last record. */
  endStream(turn: A2aTurn, stream: Stream): void {
    if (stream.stage === 'ended') return;
    this.markEnded(stream);
    this.settleTurn(turn);
  }
  markEnded(stream: Stream): void {
    stream.stage = 'ended';
    this.timer(`rest ${stream.link}`, null);
  }
  /** Ends a stream without waiting for its last record. */
  cutStream(stream: Stream): void {
    this.markEnded(stream);
    this.close(stream.link);
  }
  streamClosed(link: string, why: Ending): void {
    const { turn } = this.state;
    const stream = turn ? streamOf(turn, link) : undefined;
    if (!turn || !stream) return;
    this.changeHeld(turn, stream, null);
    stream.sentAt = null;
    const problem = problemIn(why);
    const { recovery } = turn;
    if (recovery?.link === link) return this.subscriptionClosed(turn, stream, recovery, problem);
    this.streamEnded(turn, stream, problem);
  }
  /** The body has ended. After the last record it does not matter how. */
  streamEnded(turn: A2aTurn, stream: Stream, problem: Problem | null): Problem | null {
    const isDone = stream.stage !== 'open' && stream.stage !== 'stale';
    this.markEnded(stream);
    const empty = { kind: 'nothing', code: 0, message: t('The agent returned nothing.') };
    const error = isDone ? null : (problem ?? (stream.records === 0 ? empty : null));
    if (error === null && !isStreaming(turn) && !isWaiting(turn)) this.streamsSpoke(turn);
    if (stream.of === 'prompt') this.promptClosed(turn, error);
    else if (stream.of === 'decision') this.decisionClosed(turn, stream, error);
    else if (stream.of === 'command') this.commandClosed(turn, stream, problem, error);
    else if (stream.of === 'text') this.closed(turn, error);
    if (this.state.turn === turn && turn.stop?.step === 'waiting' && !isStreaming(turn)) this.stopWaited(turn, turn.stop);
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
    this.sendMessage(turn, 'prompt', [tellPast(state), prompt.text].filter(Boolean).join('\n\n'));
  }
  versionChanged(turn: A2aTurn, result: unknown): void {
    if (!turn.prompt || turn.phase === 'stopping') return;
    const { state, agent } = this;
    const { wire, endpoint } = result as Pick<Peer, 'wire' | 'endpoint'>;
    this.log('info', `The agent does not know the methods of A2A ${agent.peer.wire}; those of ${wire} are tried.`);
    state.agent = { ...agent, peer: { ...agent.peer, wire, endpoint } };
    state.task.settled = turn.prompt.settled;
    this.sendMessage(turn, 'prompt', turn.prompt.text);
  }
  /** A stream has ended, and nothing that it was for remains to be done: does the turn go on? */
  closed(turn: A2aTurn, error: Problem | null): void {
    if (turn.phase === 'stopping') return;
    if (error?.kind === 'rpc' || error?.kind === 'status') return this.refused(error);
    if (turn.streams.some(isOpen)) return;
    // The shipped server says that it waits while its command runs.
    const works = error !== null && commandRuns(turn);
    if ((isAtRest(turn.taskState) && !works) || isWaiting(turn)) return this.settleTurn(turn);
    this.lost(turn, error, false);
  }
  refused(error: Problem): void {
    this.log('info', `Refused: ${error.message}`);
    if (isNotFound(error) && this.state.task.id !== null) return this.taskGone();
    this.fail(error.message, error.kind === 'status' ? ['retry', 'openSettings'] : ['retry', 'showLog'], String(error.code));
  }
  /** Expects nothing more of the open streams. */
  giveUpStreams(turn: A2aTurn): void {
    for (const stream of turn.streams) {
      // One that rests has said its last word.
      if (stream.stage === 'open') stream.stage = 'stale';
      else if (isOpen(stream)) this.markEnded(stream);
    }
  }

  // --- the end of a turn

  /** The newest stream has ended: is the turn over? */
  settleTurn(turn: A2aTurn): void {
    if (this.state.turn !== turn || this.ourAsks(turn).length > 0 || isOffline(turn) || turn.looking) return;
    if (isOpen(turn.streams.at(-1))) return;
    this.writeEdits(turn);
    if (turn.lateEdits.some(({ isWriting }) => isWriting)) return;
    const { taskState, failure, stop } = turn;
    if (stop) {
      if (isOver(taskState)) this.leaveTask(false);
      // The connection may still have to be closed, and the cancel to be answered.
      return stop.step === 'waiting' && !isStreaming(turn) ? this.stopWaited(turn, stop) : undefined;
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
      if (!shippedHas(this.state, 'decisionsUnconfirmed')) return this.doubt(turn, null);
      this.addNotice(turn, 'warn', t('The agent ended before it reported a result.'));
    }
    if (this.mayAsk(turn) && this.looksFirst(turn)) return;
    if (taskState === 'auth-required') {
      return this.confirm(turn, 'signIn', t('Sign in'), turn.lastWords, t('Continue'), t('Stop'));
    }
    if (taskState !== 'completed' && isOver(taskState)) this.leaveTask(false);
    if (taskState === 'canceled') return this.finish('cancelled', { stop: t('The agent was stopped.') });
    if (taskState === 'failed' || taskState === 'rejected' || failure !== null) {
      return this.fail(failure === null ? agentError() : advised(failure), ['retry']);
    }
    const followUp = Object.values(turn.followUps).join('\n');
    clear(turn.followUps);
    if (followUp) return this.sendMessage(turn, 'text', followUp);
    if (turn.said.length === 0 && !turn.anything) this.addNotice(turn, 'info', t('The agent returned nothing.'));
    this.finish('done');
  }
  /** The task rests for the user, and has not said what it waits for. */
  mayAsk(turn: A2aTurn): boolean {
    return turn.taskState === 'input-required' && this.agent.peer.dialect === 'rfc' && !isWaiting(turn);
  }
  fail(message: string, next: readonly Remedy[], code?: string): void {
    this.finish('failed', { error: { message, ...(code === undefined ? {} : { code }), next } });
  }
  /** Ends the turn, once. Its bodies go on being read, since closing them may mean something to the agent. */
  finish(status: TurnStatus, end: TurnEnd = {}): void {
    const { state } = this;
    const { turn } = state;
    if (!turn) return;
    this.keep(turn, false);
    for (const timer of ['tick', 'keep', 'retry', 'stop', ...turn.streams.map(({ link }) => `rest ${link}`)]) this.timer(timer, null);
    for (const call of CALLS_OF_TURN) this.drop(call);
    this.closeUnsent(turn);
    addLine(state.summary, 'Agent', turn.said.join(''));
    comeBack(state);
    this.registerPush();
    if (state.task.id !== null || state.task.contextId !== null) this.tellKey();
    this.endTurn(status, end);
  }
  /** A message that was not sent by now never is. */
  closeUnsent(turn: A2aTurn): void {
    for (const stream of turn.streams) if (stream.way === 'new' || stream.way === 'held') this.cutStream(stream);
  }
  taskGone(): void {
    // A conversation that has its own task beside this one keeps it.
    const { aside } = this.state;
    const message = t('The agent does not know this conversation any more. {0}', aside ? '' : this.leaveTask()).trim();
    this.fail(message, aside ? ['retry'] : ['retry', 'continue']);
  }
  /**
   * The task takes nothing more, or is lost (`isLost`): the next prompt begins another. A server that still has the context of the
   * conversation is not told of it again. Gives what to tell the user.
   */
  leaveTask(isLost = true): string {
    dropTask(this.state, !isLost && !shippedHas(this.state, 'forgetsContext'));
    return t('Your next message begins a new task and repeats what was said so far.');
  }
  tellKey(): void {
    this.emit({ type: 'resume.set', key: keyOf(this.state.task) });
  }
  addNotice(turn: A2aTurn, level: Notice['level'], text: string): void {
    this.notice(level, text, laneOf(turn));
  }

  // --- records: what a stream says, and what a task that is read holds. Several streams of one task say the same; words count once.

  /** False when the record is of another task: its words and states mean nothing here. */
  readRecord(turn: A2aTurn, record: Incoming, stream: Stream, isFirst: boolean): boolean {
    const { task } = this.state;
    const ours = task.id;
    const isNewest = stream === turn.streams.at(-1);
    if (isForeign(turn, stream, record, ours, isFirst)) {
      if (isNewest) turn.stray = mayBeOurEnd(turn, record, task.contextId, this.agent.peer.wire) ? record : null;
      this.foreignRecord(turn, record);
      return false;
    }
    turn.stray = null;
    noteTime(turn, record);
    turn.records += 1;
    turn.unlooked = record.kind !== 'task';
    task.id = taskAfter(record, ours, isFirst, isNewest);
    if (record.contextId !== undefined) task.contextId = record.contextId;
    // Known from the first word on: a window that closes in the middle of the first turn finds the task again.
    if (task.id !== ours) this.tellKey();
    if (isNewest && record.state !== undefined) turn.taskState = record.state;
    const isNew = isNewRecord(turn, record, stream, this.agent.peer.dialect) ?? isNewest;
    const words = isNew && (record.kind === 'task' || !isCovered(turn.covered, record));
    switch (record.kind) {
      case 'task':
        if (isFailed(record)) this.statusRecord(turn, record, words);
        // Agents that do not stream answer with the whole task.
        else if (words) this.readWhole(turn, record, true);
        break;
      case 'artifact':
        this.artifactRecord(turn, record, words);
        break;
      case 'message':
        this.saidIn(turn, record, words);
        break;
      case 'status':
        this.statusRecord(turn, record, words);
        break;
    }
    return true;
  }
  /** A task that was read: the last state of every call, and words that were not shown. */
  catchUpWith(turn: A2aTurn, record: Incoming): void {
    noteTime(turn, record);
    turn.taskState = record.state ?? null;
    turn.unlooked = false;
    const { failure } = turn;
    if (isFailed(record)) this.statusRecord(turn, record, false);
    this.readWhole(turn, record, false, failure === null && turn.failure !== null);
  }
  /** Shows what the agent's record of the task holds beyond the parts already shown. */
  readWhole(turn: A2aTurn, record: Incoming, passing: boolean, isBlamed = false): void {
    const isPlain = this.agent.peer.dialect === 'plain';
    for (const { said, messageId } of unseen(this.state.delivered, record, (text) => this.isOld(turn, text), passing)) {
      // The end of the turn shows the failure.
      if (isBlamed && said.type === 'text' && messageId === record.messageId) continue;
      this.show(turn, said, true, messageId, isPlain ? messageId : undefined);
    }
    for (const { id, parts } of record.artifacts ?? []) this.screen(turn, id, parts);
    turn.covered = record;
  }
  statusRecord(turn: A2aTurn, record: Incoming, words: boolean): void {
    const event = eventOf(record.metadata);
    const { error, retry, model, tier } = event;
    if (model !== undefined) this.nameModel(tier === undefined ? model : `${model} · ${tier}`);
    const text = textOf(record.parts);
    if (text) turn.lastWords = text;
    if (retry) return this.log('info', `The agent tries again: ${error ?? ''}`);
    if (error || isFailed(record)) {
      turn.failure ??= joinWords(error ?? '', text) || null;
      if (error || text) return;
    }
    if (record.state !== 'canceled' || !text) this.saidIn(turn, record, words, undefined, event);
    // Not glued to the answer.
    else if (words) this.addNotice(turn, 'info', text);
  }
  artifactRecord(turn: A2aTurn, record: Incoming, words: boolean): void {
    const { id = '', append = false } = record.artifact ?? {};
    if ((OUTPUT.test(id) && this.screen(turn, id, record.parts)) || !words) return;
    turn.landmarks += 1;
    workShown(this.state.delivered, id, textOf(record.parts), append);
    // A new artifact begins a part of its own.
    if (!append) laneOf(turn).open = null;
    this.saidIn(turn, record, words, id);
  }
  /** The whole screen of a call so far, in spite of what the record says about appending. True when the call is known. */
  screen(turn: A2aTurn, id: string, parts: readonly WirePart[]): boolean {
    const { delivered } = this.state;
    const key = OUTPUT.exec(id)?.[1];
    const call = key === undefined ? undefined : callOf(turn, key);
    if (call) {
      const text = parts.at(-1)?.text;
      if (typeof text !== 'string' || isEnded(call.last)) return true;
      call.live = tidy(text);
      this.changeCall(turn, call.id, { output: outputOf(call.last, call.live) });
      return true;
    }
    const whole = textOf(parts);
    if (key !== undefined || whole === '' || (isFresh(delivered) && this.isOld(turn, whole))) return false;
    const rest = restOfWork(delivered, id, whole);
    if (rest === '') return false;
    turn.progress += 1;
    turn.landmarks += 1;
    this.showText(turn, 'text', rest, undefined, id);
    return false;
  }
  saidIn(turn: A2aTurn, record: Incoming, words: boolean, artifact?: string, event?: EventFacts): void {
    // A plain agent's messages stand for themselves; the extension's are pieces of one text.
    const apart = artifact ?? (this.agent.peer.dialect === 'plain' ? record.messageId : undefined);
    for (const said of meaningOf(record, event)) this.show(turn, said, words, record.messageId, apart);
  }
  show(turn: A2aTurn, said: Said, words: boolean, messageId: string | undefined, of: string | undefined): void {
    if (said.type === 'call') return this.callTold(turn, said);
    if (!words) return;
    turn.progress += 1;
    if (said.type === 'text' || said.type === 'thought') return this.showText(turn, said.type, said.text, messageId, of);
    turn.anything = true;
    turn.landmarks += 1;
    if (messageId !== undefined) put(this.state.delivered.attached, messageId, true);
    this.addPart(turn, laneOf(turn), { kind: 'content', content: contentOf(said) });
  }
  /** `of` names the message or artifact that has a part of its own. */
  showText(turn: A2aTurn, kind: 'text' | 'thought', text: string, messageId?: string, of?: string): void {
    const { delivered } = this.state;
    // Artifacts are known by their own ids.
    const isWork = messageId === undefined && of !== undefined;
    if (!isWork) textShown(delivered, kind, text, messageId);
    if (kind === 'text') turn.said.push(text);
    const lane = laneOf(turn);
    if (kind === 'thought') lane.open = null;
    const before = lane.open;
    this.text(turn, lane, kind, text, of ?? null);
    if (isWork && lane.open && lane.open !== before) put(delivered.apart, lane.open.partId, of);
  }
  /** A task record repeats the last words and the artifacts of earlier turns. */
  isOld(turn: A2aTurn, text: string): boolean {
    return turn.earlierTask !== null && this.state.task.id === turn.earlierTask && wasSaid(this.state, text);
  }
  nameModel(model: string): void {
    if (model === this.state.model) return;
    this.state.model = model;
    this.showOptions();
  }

  // --- records of other tasks

  /** All streams have ended: a failure of an unknown task that nothing followed means ours. */
  streamsSpoke(turn: A2aTurn): void {
    const { stray } = turn;
    turn.stray = null;
    if (!stray || isAtRest(turn.taskState)) return;
    turn.taskState = stray.state ?? null;
    this.statusRecord(turn, stray, false);
  }
  /** An answer would go to a task that the user has not seen; nothing is approved there. */
  foreignRecord(turn: A2aTurn, record: Incoming): void {
    const { taskId = '' } = record;
    put(turn.foreign, taskId, true);
    this.log('trace', `A record of the task ${taskId} is left out.`);
    for (const said of meaningOf(record)) {
      if (said.type !== 'call' || !said.call.request || find(turn.foreign, `call ${said.call.id}`)) continue;
      put(turn.foreign, `call ${said.call.id}`, true);
      this.log('warn', `A confirmation for the task ${taskId} came on the stream of another; it was not asked.`);
      this.addNotice(turn, 'warn', t('The agent asked to allow something in another task, and was not answered: {0}', said.call.title));
    }
  }

  // --- calls. Snapshots may repeat and overtake each other: a call that has ended stays as it ended, one that was answered is not asked about
  // again unless it has become another: users decide about what they see.

  callTold(turn: A2aTurn, { call: snapshot, dialect, newer, camel }: Extract<Said, { type: 'call' }>): void {
    const { state } = this;
    if (newer) state.newer = true;
    if (dialect === 'rfc') state.camel = camel;
    turn.anything = true;
    const known = callOf(turn, snapshot.id);
    if (known?.last.status !== snapshot.status) {
      turn.progress += 1;
      turn.landmarks += 1;
    }
    put(state.delivered.calls, snapshot.id, snapshot.status);
    if (known) this.callUpdated(turn, known, snapshot);
    else this.showCall(turn, this.callBegan(turn, snapshot, dialect));
    const diff = snapshot.diff ?? known?.last.diff;
    if (snapshot.status === 'done' && diff) addLine(state.summary, 'Changed', diff.path);
  }
  callBegan(turn: A2aTurn, snapshot: Snapshot, dialect: 'rfc' | 'gemini'): A2aCall {
    const call = newCall(this.newId(), snapshot, dialect);
    put(turn.callIds, snapshot.id, call.id);
    const { name, title, kind } = snapshot;
    return this.addCall(turn, laneOf(turn), call, { name, title, kind, status: 'pending', inputText: '', output: [], locations: [] });
  }
  callUpdated(turn: A2aTurn, call: A2aCall, snapshot: Snapshot): void {
    if (isEnded(call.last) || (snapshot.status === 'pending' && call.last.status === 'running')) return;
    const told = completed(snapshot, call.last);
    const { asked } = call;
    const next = asked && isDecided(call) ? stillAsAsked(told, asked, editsOf({ ...call, last: asked }, this.state.newer).edited) : told;
    // A late snapshot of a call that is asked about does not change the question.
    if (call.decision === 'asking' && next.status === 'pending' && isSame(next.input, call.last.input)) return;
    call.last = next;
    this.showCall(turn, call);
  }
  showCall(turn: A2aTurn, call: A2aCall): void {
    // The shipped server says an empty text before for a file that is not there.
    if (find(turn.files, call.key)?.isNew) call.last = asNew(call.last);
    const { last } = call;
    if (hasBecomeAnother(call, this.state.setup.cwd)) this.callChanged(turn, call);
    const status = statusOf(call);
    this.changeCall(turn, call.id, { ...shownOf(last, call.live), status });
    if (isEnded(last) || last.status === 'running') this.withdrawAsk(call);
    if (status !== 'waiting' || call.decision !== 'none') return;
    if (call.hasChanged) {
      call.decision = 'changed';
      call.changedAt = this.now;
      return;
    }
    const before = rememberedChoice(last, this.state.allowances, this.agent.harmless, this.state.setup.cwd);
    if (!before) return this.askAbout(turn, call);
    call.decision = 'allowed';
    call.asked = last;
    this.changeCall(turn, call.id, { status: 'pending' });
    this.sendDecision(turn, call, before);
  }
  /** Withdraws the question, and an answer that was not sent yet. */
  callChanged(turn: A2aTurn, call: A2aCall): void {
    this.withdrawAsk(call);
    this.recall(turn, call);
    if (call.edited !== null)
      this.addNotice(
        turn,
        'warn',
        t('What you changed in the proposal for {0} was not written: the agent wrote or proposed something else.', call.last.title),
      );
    if (isDoubtful(decisionAbout(turn, call.key))) this.addNotice(turn, 'warn', mayBeFollowed());
    Object.assign(call, { decision: 'none', asked: null, edited: null, hasChanged: true });
  }
  askAbout(turn: A2aTurn, call: A2aCall): void {
    const { request } = call.last;
    if (!request) return;
    call.decision = 'asking';
    call.asked = call.last;
    const shown = askOf(call.last, request, call.edited, this.state.setup.cwd);
    this.ask({ id: this.newId(), turnId: turn.id, callId: call.id, ...shown }, { on: 'call' } satisfies About);
  }
  /** Withdraws the question about the call, which then counts as decided. */
  withdrawAsk(call: A2aCall): void {
    if (call.decision === 'changed') call.decision = 'none';
    const ask = this.openAsk(call);
    if (!ask) return;
    this.closeAsk(ask, 'withdrawn');
    call.decision = 'allowed';
  }
  openAsk(call: A2aCall): OpenAsk | undefined {
    return Object.values(this.state.asks).find(({ callId }) => callId === call.id);
  }

  // --- decisions: each is sent once, never again by itself, and asked about anew where it did not arrive

  sendDecision(turn: A2aTurn, call: A2aCall, choice: Choice): void {
    const { state } = this;
    const at = turn.lateEdits.findIndex((one) => one.callId === call.key && !one.isWriting);
    if (at >= 0) turn.lateEdits.splice(at, 1);
    const { diff } = call.last;
    const { edited, late } = editsOf(call, state.newer);
    if (late !== null && diff) turn.lateEdits.push({ callId: call.key, path: diff.path, text: late, isWriting: false });
    this.recall(turn, call);
    this.sendMessage(turn, 'decision', { callId: call.key, dialect: call.dialect, sends: choice.sends, edited, camel: state.camel });
  }
  /** Lets go of a decision that was not answered yet. Of one whose answer has begun the agent says what becomes of it. */
  recall(turn: A2aTurn, call: A2aCall): void {
    const stream = decisionAbout(turn, call.key);
    if (!stream || stream.way === 'answered' || stream.way === 'told') return;
    stream.isRecalled = true;
    this.close(stream.link);
  }
  changeHeld(turn: A2aTurn, stream: Stream, held: string | null): void {
    if (stream.held === held) return;
    stream.held = held;
    if (turn.phase === 'stopping') return;
    const why = heldBecause(turn);
    if (why === undefined) this.clearActivity(turn);
    else this.showActivity(turn, t('Your answer has not been sent yet. {0}', why));
  }
  decisionClosed(turn: A2aTurn, stream: Stream, error: Problem | null): void {
    const { callId } = stream;
    if (stream.way === 'told') return this.closed(turn, error);
    if (error && UNREAD.has(error.kind)) stream.way = 'refused';
    // The turn does not depend on a decision that was replaced or recalled.
    if (callId === null || stream.isRecalled || decisionAbout(turn, callId) !== stream) return this.closed(turn, null);
    if (turn.phase === 'stopping') return;
    const call = callOf(turn, callId);
    if (call && error?.kind === 'status') return this.askAgain(turn, [call], error.message);
    if (error?.kind === 'rpc' && (isNotFound(error) || isTerminal(error))) return this.refused(error);
    if (error?.kind === 'rpc' || isWaiting(turn) || isStreaming(turn)) return this.doubt(turn, error?.message ?? null);
    this.lost(turn, error, false);
  }
  /** Nothing came of a decision: the task is looked at, and the user is asked once more about what it still waits for. */
  doubt(turn: A2aTurn, why: string | null): void {
    if (turn.doubt || isOffline(turn)) return;
    turn.doubt = { why };
    this.readTask('doubt');
  }
  doubted(turn: A2aTurn, now: Incoming | null): void {
    const why = turn.doubt?.why ?? null;
    turn.doubt = null;
    if (now) this.catchUpWith(turn, now);
    const isSilent = sentSince(turn) !== null && why === null;
    // Decisions still queued cannot have been received.
    const open = undelivered(turn).filter(({ key }) => decisionAbout(turn, key)?.held == null);
    if (open.length > 0 && (now ? now.state === 'input-required' : !isSilent)) return this.askAgain(turn, open, why);
    if (!now) return;
    if (heldBecause(turn) !== undefined) {
      if (!isOver(now.state)) return;
      // An ended task accepts no answer.
      for (const call of Object.values(turn.calls)) this.recall(turn, call);
    }
    if (isSilent && !isAtRest(now.state)) return;
    this.giveUpStreams(turn);
    if (isAtRest(now.state)) this.settleTurn(turn);
    else if (!isStreaming(turn)) this.lost(turn, null, false);
  }
  askAgain(turn: A2aTurn, calls: readonly A2aCall[], why: string | null): void {
    const mayBeRead = calls.some(({ key }) => isDoubtful(decisionAbout(turn, key)));
    for (const stream of turn.streams) stream.sentAt = null;
    for (const call of calls) this.recall(turn, call);
    this.giveUpStreams(turn);
    const told = t('Your answer did not reach the agent. {0}', why ?? '').trim();
    this.addNotice(turn, 'warn', mayBeRead ? inSentences(told, mayBeFollowed()) : told);
    for (const call of calls) {
      if (call.decision === 'asking' || call.last.status !== 'waiting') continue;
      call.again += 1;
      if (call.again > ASKED_AGAIN_AT_MOST) {
        return this.fail(t('The agent refused: {0}', why ?? '–'), ['retry', 'showLog']);
      }
      this.changeCall(turn, call.id, { status: 'waiting' });
      this.askAbout(turn, call);
    }
  }
  /** Reads the task of an agent that rests without saying what it waits for; true when it does. */
  looksFirst(turn: A2aTurn): boolean {
    const open = Object.values(turn.calls).filter((call) => call.last.status === 'pending' && !isDecided(call) && !call.looked);
    for (const call of open) call.looked = true;
    if (open.length === 0 && !turn.unlooked) return false;
    turn.unlooked = false;
    this.look(turn, open.length > 0);
    return true;
  }
  look(turn: A2aTurn, whole: boolean): void {
    turn.looking = { whole };
    this.readTask('look');
  }
  looked(turn: A2aTurn, now: Incoming | null): void {
    const whole = turn.looking?.whole === true;
    turn.looking = null;
    if (now && isAtRest(now.state) && (whole || recordAsks(this.state.delivered, now))) this.catchUpWith(turn, now);
    this.settleTurn(turn);
  }

  // --- proposals that the user changed, for a server that cannot be told

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
    else this.addNotice(turn, 'info', t('Your version of {0} was written after the agent’s.', path));
    this.settleTurn(turn);
  }

  // --- time

  tick(turn: A2aTurn): void {
    const { timing } = this.state.setup;
    this.timer('tick', timing.ping);
    const since = sentSince(turn);
    if (since !== null && this.now - since >= timing.doubt && !commandRuns(turn)) {
      for (const stream of turn.streams) if (stream.sentAt !== null) stream.sentAt = this.now;
      this.doubt(turn, null);
    }
    for (const call of Object.values(turn.calls)) {
      if (call.decision === 'changed' && this.now - call.changedAt >= RE_ASK_DELAY) this.askAbout(turn, call);
    }
    if (heldBecause(turn) !== undefined) {
      turn.heardAt = this.now;
      return;
    }
    if (turn.newsAt !== null && this.now - turn.newsAt >= timing.news) {
      turn.newsAt = null;
      this.lookBehind(turn);
    }
    const waits = isWaiting(turn);
    // An open turn connection is the only way to stop a running command later; a decision may have gone beside it.
    if (shippedHas(this.state, 'turnHangsOnConnection') && (waits || isStreaming(turn))) this.tell('keepAlive');
    if (waits) turn.heardAt = this.now;
  }

  // --- notifications: hints that there is news

  news(params: unknown): void {
    const record = toIncoming(params);
    if (!record) return;
    const { state } = this;
    const { turn } = state;
    if (!turn) {
      // They come in bunches: one look is enough for all that come before it ends, and one after.
      if (state.reading === 'no') return this.readNews();
      state.reading = 'again';
      return;
    }
    const { recovery } = turn;
    if (recovery) {
      recovery.hasNews = true;
      if (recovery.step === 'waiting' && !recovery.isEarly) {
        this.timer('retry', null);
        this.subscribe(turn, recovery, true);
      } else if (recovery.step === 'asking') {
        for (const ask of this.ourAsks(turn)) this.closeAsk(ask, 'withdrawn');
        this.retry(turn, recovery);
      }
    }
    if (!isKnown(turn, record, state.task.id)) turn.newsAt ??= this.now;
  }
  readNews(): void {
    if (this.state.task.id === null) return;
    this.state.reading = 'reading';
    this.readTask('news');
  }
  newsRead(now: Incoming | null): void {
    const { state } = this;
    const again = state.reading === 'again';
    state.reading = 'no';
    if (now) this.catchUp(now);
    if (again && state.turn) state.turn.newsAt ??= this.now;
    else if (again) this.readNews();
  }
  /** A stream that does not tell what the task holds is let go of; one that only had nothing to say is left alone. */
  lookBehind(turn: A2aTurn): void {
    if (isOffline(turn)) return;
    turn.lookedBehindAt = turn.heardAt;
    this.readTask('look behind', 'fresh tasks/get');
  }
  lookedBehind(turn: A2aTurn, now: Incoming | null): void {
    if (!now || isOffline(turn) || turn.heardAt !== turn.lookedBehindAt) return;
    const { progress } = turn;
    this.catchUpWith(turn, now);
    if (turn.progress === progress && !isAtRest(now.state)) return;
    turn.heardAt = this.now;
    const wasStreaming = isStreaming(turn);
    for (const stream of turn.streams) if (stream.stage !== 'ended') this.cutStream(stream);
    // Connections that were held meanwhile may be as dead.
    this.tell('hangUp');
    if (!wasStreaming) this.closed(turn, null);
  }
  /** The first message of a task carries the address. A task of an earlier window gets it later. */
  registerPush(): void {
    const { push, task, agent } = this.state;
    if (!agent?.push || task.id === null) return;
    if (push.sent) Object.assign(push, { sent: false, task: task.id });
    if (push.task === task.id || push.refused) return;
    push.task = task.id;
    this.request('register push', 'registerPush', { taskId: task.id });
  }

  // --- a stream that broke: subscribes to the task again. Agents do not replay what was missed, so it is read from the task.

  /** `follows`: no connection was lost, the task is only not subscribed to yet. */
  lost(turn: A2aTurn, error: Problem | null, follows: boolean): void {
    if (turn.recovery) return;
    const why = error?.message ?? t('The connection was lost.');
    if (this.state.task.id === null || turn.records === 0) return this.fail(why, ['retry']);
    turn.recovery = newRecovery(why, follows);
    if (shippedHas(this.state, 'turnHangsOnConnection')) this.readTask('stopped');
    else this.retry(turn, turn.recovery);
  }
  retry(turn: A2aTurn, recovery: Recovery): void {
    Object.assign(recovery, { at: 0, until: this.now + this.state.setup.timing.giveUp, isEarly: false, hasNews: false });
    this.nextTry(turn, recovery);
  }
  nextTry(turn: A2aTurn, recovery: Recovery): void {
    const { retries } = this.state.setup.timing;
    if (recovery.at >= retries.length || this.now >= recovery.until) return this.giveUp(turn, recovery);
    Object.assign(recovery, { step: 'waiting', link: null, stoodAt: null });
    if (recovery.isQuiet) recovery.isQuiet = false;
    else this.showActivity(turn, t('The connection was lost.'));
    if (!recovery.isEarly && recovery.hasNews) return this.subscribe(turn, recovery, true);
    this.timer('retry', (retries[recovery.at] ?? 0) * spreadOf(this.state));
  }
  subscribe(turn: A2aTurn, recovery: Recovery, isEarly: boolean): void {
    Object.assign(recovery, { isEarly, hasNews: false, progress: turn.progress, step: 'subscribed', read: 'no', held: [], task: null });
    const params = { method: 'tasks/resubscribe', params: { id: this.state.task.id }, isQuick: true };
    recovery.link = this.openStream(turn, 'subscription', null, params);
  }
  subscriptionStands(turn: A2aTurn, recovery: Recovery): void {
    recovery.stoodAt = this.now;
    this.clearActivity(turn);
    this.readMissed(recovery);
  }
  /** Reads the task as soon as the subscription is open: no version promises a first record. */
  readMissed(recovery: Recovery): void {
    if (recovery.read === 'reading') return;
    recovery.read = 'reading';
    this.readTask('missed');
  }
  /** Records wait until what was missed is read. */
  subscriptionRecord(turn: A2aTurn, stream: Stream, recovery: Recovery, result: unknown): void {
    if (recovery.read === 'no') this.readMissed(recovery);
    if (!recovery.held) return this.receive(turn, stream, result);
    const record = recovery.task || recovery.held.length > 0 ? undefined : toIncoming(result);
    if (record?.kind !== 'task') return void recovery.held.push(result);
    recovery.task = record;
    if (!record.history?.length) return;
    this.drop('missed');
    this.missedRead(turn, record, null);
  }
  missedRead(turn: A2aTurn, now: Incoming | null, problem: Problem | null): void {
    const { recovery } = turn;
    if (!recovery) return;
    recovery.read = 'done';
    const { task, held } = recovery;
    const records = held ?? [];
    if (!problem && !now && !task && records.length === 0) return this.recovered(turn, recovery, true);
    // Falls back to the task record that the subscription sent.
    const whole = now ?? task;
    if (whole) this.catchUpWith(turn, whole);
    recovery.held = null;
    const stream = streamOf(turn, recovery.link ?? '');
    for (const one of records) if (stream && this.state.turn === turn) this.receive(turn, stream, one);
    if (stream && recovery.step === 'ended') this.streamEnded(turn, stream, null);
    if (this.state.turn !== turn || turn.recovery !== recovery) return;
    if (isAtRest(turn.taskState)) return this.recovered(turn, recovery);
    if (recovery.step === 'ended') this.afterTry(turn, recovery);
  }
  subscriptionClosed(turn: A2aTurn, stream: Stream, recovery: Recovery, problem: Problem | null): void {
    if (recovery.stoodAt !== null) recovery.until += this.now - recovery.stoodAt;
    const isRead = problem !== null || recovery.read === 'done';
    if (isRead) this.streamEnded(turn, stream, problem);
    if (this.state.turn !== turn || turn.recovery !== recovery) return;
    if (isNotFound(problem)) return this.recovered(turn, recovery, true);
    if (problem && !(problem.kind === 'rpc' && NO_SUBSCRIPTION.includes(problem.code))) {
      this.log('info', `Subscribing again failed: ${problem.message}`);
      this.drop('missed');
      return this.afterTry(turn, recovery);
    }
    if (isRead && isAtRest(turn.taskState)) return this.recovered(turn, recovery);
    // The task has ended, or the agent offers no subscription.
    recovery.step = 'ended';
    this.readMissed(recovery);
  }
  afterTry(turn: A2aTurn, recovery: Recovery): void {
    // Starts the tries anew only after progress: an agent that closes every subscription at once would be asked without end.
    if (turn.progress > recovery.progress) return this.retry(turn, recovery);
    // A try that news brought forward does not take the place of the one that was due.
    if (!recovery.isEarly) recovery.at += 1;
    this.nextTry(turn, recovery);
  }
  recovered(turn: A2aTurn, { link }: Recovery, isGone = false): void {
    turn.recovery = null;
    this.clearActivity(turn);
    const stream = streamOf(turn, link ?? '');
    if (stream) this.cutStream(stream);
    if (isGone) this.taskGone();
    else this.settleTurn(turn);
  }
  giveUp(turn: A2aTurn, recovery: Recovery): void {
    this.clearActivity(turn);
    // A notification during the last try counts as an answer.
    if (recovery.hasNews) return this.retry(turn, recovery);
    Object.assign(recovery, { step: 'asking', link: null, stoodAt: null });
    this.confirm(turn, 'reconnect', t('The connection was lost.'), notReached(recovery.why), t('Try again'), t('Stop'));
  }

  // --- earlier windows: what they left in the journal, and what happened since

  /** Continues a turn that the end of a window broke off: shows what was missed, and subscribes while the agent still works. */
  reopen(left: LeftTurn, now: Incoming): void {
    const { state } = this;
    if (!isInRecord(state.delivered, now)) return comeBack(state);
    this.emit({ type: 'turns.removed', from: left.turn.id });
    const turn = this.newTurn(this.newId(), left.turn.prompt, { at: left.turn.startedAt });
    const { parts, kept } = renamed(left, () => this.newId());
    restore(state.delivered, kept.known, parts, kept.calls);
    restoreTurn(turn, parts, kept, this.agent.peer.dialect === 'plain');
    for (const part of parts) this.emit({ type: 'part.added', turnId: turn.id, part });
    this.goOn(turn, now);
  }
  /** Shows what the agent did without a listener as a turn. */
  catchUp(now: Incoming): void {
    if (this.state.turn || shippedHas(this.state, 'losesHistory')) return;
    const isOld = (text: string) => wasSaid(this.state, text);
    if (hasNews(this.state.delivered, now, isOld)) this.goOn(this.newTurn(this.newId(), [], { at: this.now }), now);
  }
  /** Shows what happened, and subscribes to a task that still runs. */
  goOn(turn: A2aTurn, now: Incoming): void {
    turn.records += 1;
    this.catchUpWith(turn, now);
    this.keep(turn);
    if (isAtRest(turn.taskState)) this.settleTurn(turn);
    else this.lost(turn, null, true);
  }
  /** A landmark is kept at once, unless another was a moment ago: each checkpoint holds all of them. */
  keepSoon(turn: A2aTurn, isLandmark: boolean): void {
    if (turn.keeping === 'rests') turn.keeping = 'soon';
    if (turn.keeping === 'soon' || (turn.keeping === 'later' && !isLandmark)) return;
    turn.keeping = isLandmark ? 'rests' : 'later';
    this.timer('keep', isLandmark ? KEEP_REST : this.state.setup.timing.keep);
    if (isLandmark) this.keep(turn);
  }
  keepElapsed(turn: A2aTurn): void {
    const isDue = turn.keeping !== 'rests';
    turn.keeping = 'no';
    if (isDue) this.keep(turn);
  }
  /** Writes a checkpoint, for a later window. */
  keep(turn: A2aTurn, running = true): void {
    this.emit({ type: 'turn.adapterState', turnId: turn.id, value: checkpointIn(this.state, turn, running) });
  }

  // --- stopping

  stop(turn: A2aTurn): void {
    if (turn.phase === 'stopping') return;
    turn.phase = 'stopping';
    turn.recovery = null;
    clear(turn.followUps);
    for (const ask of this.ourAsks(turn)) this.closeAsk(ask, 'cancelled');
    this.timer('retry', null);
    for (const call of TASK_READS) this.drop(call);
    this.closeUnsent(turn);
    const waiting = Object.values(turn.calls).filter(isUndecided);
    for (const call of waiting) {
      const ask = this.openAsk(call);
      if (ask) this.closeAsk(ask, 'cancelled');
      Object.assign(call, { decision: 'rejected', edited: null });
    }
    const [first] = waiting;
    const refusal = first?.last.request?.options.find((one) => one.effect === 'reject_once');
    if (first && refusal && shippedHas(this.state, 'refusalStops')) {
      this.timer('stop', this.state.setup.timing.patience);
      return this.sendDecision(turn, first, refusal);
    }
    const holdsConnection = turn.streams.some(({ link, isOnTurn }) => isOnTurn && find(this.state.links, link) !== undefined);
    turn.stop = { step: 'cancelling', commandRan: commandRuns(turn), wasStreaming: isStreaming(turn), holdsConnection, why: null };
    this.timer('stop', this.state.setup.timing.patience);
    const { id } = this.state.task;
    if (id === null || shippedHas(this.state, 'cancelEndsConversation')) return this.afterCancel(turn, turn.stop);
    this.request('cancel', 'tasks/cancel', { id });
  }
  cancelled(turn: A2aTurn, problem: Problem | null): void {
    const { stop } = turn;
    if (!stop) return;
    if (!problem && !shippedHas(this.state, 'turnHangsOnConnection')) this.leaveTask(false);
    else if (isNotFound(problem)) this.leaveTask();
    else if (problem && !(problem.kind === 'rpc' && problem.code === NOT_CANCELABLE)) {
      stop.why = problem.message;
      this.log('warn', `Cancelling failed: ${problem.message}`);
    }
    this.afterCancel(turn, stop);
  }
  /** The shipped server stops with its connection; others end their streams. */
  afterCancel(turn: A2aTurn, stop: Stop): void {
    if (shippedHas(this.state, 'turnHangsOnConnection')) {
      stop.step = 'hangingUp';
      return this.request('hang up', 'hangUpGently');
    }
    stop.step = 'waiting';
    // Before the first record there is no task to cancel and no last record to wait for.
    if (!isStreaming(turn) || turn.records === 0) this.stopWaited(turn, stop);
  }
  stopElapsed(turn: A2aTurn): void {
    const { stop } = turn;
    switch (stop?.step) {
      case undefined:
        return this.finish('cancelled');
      case 'waiting':
        return this.stopWaited(turn, stop);
      case 'reading':
        this.drop('stopped');
        return this.stoppedRead(turn, null);
      case 'cancelling':
        this.drop('cancel');
        this.log('warn', 'The cancel was not answered in time.');
        stop.why = '';
        if (shippedHas(this.state, 'turnHangsOnConnection')) this.afterCancel(turn, stop);
        else this.stopWaited(turn, stop);
    }
  }
  stopWaited(turn: A2aTurn, { why, wasStreaming }: Stop): void {
    const hangsUp = isStreaming(turn);
    if (hangsUp) this.tell('hangUp');
    if (why !== null && (!wasStreaming || hangsUp)) {
      // The task may go on, and a message to it would be lost.
      this.leaveTask();
      this.addNotice(turn, 'warn', notReached(why));
    }
    this.finish('cancelled');
  }
  /** `wasHeard`: the server has closed its side. A connection that was not held tells nothing. */
  hungUp(turn: A2aTurn, wasHeard: boolean): void {
    const { stop } = turn;
    if (!stop) return;
    if (wasHeard && stop.holdsConnection) stop.commandRan = false;
    if (!shippedHas(this.state, 'cancelEndsConversation') || this.state.task.id === null) return this.stoppedRead(turn, null);
    stop.step = 'reading';
    this.readTask('stopped');
  }
  /** The shipped server has stopped, because the user wanted it to or because its connection was lost: does it still have the task? */
  stoppedRead(turn: A2aTurn, now: Incoming | null): void {
    const { stop } = turn;
    const isGone = now === null || isOver(now.state) || (!stop && shippedHas(this.state, 'abortedTaskFails'));
    const told = isGone ? this.leaveTask() : '';
    if (!stop) return this.fail([t('The connection was lost.'), told].filter(Boolean).join(' '), ['retry', 'continue']);
    if (stop.commandRan) this.addNotice(turn, 'warn', notReached(''));
    this.finish('cancelled');
  }

  // --- what we ask ourselves: arguments, confirmations, a sign-in

  ourAsks(turn: A2aTurn): readonly OpenAsk[] {
    return Object.values(this.state.asks).filter((ask) => ask.turnId === turn.id && (ask.about as About).on !== 'call');
  }
  /** No rule chooses `yes`. */
  confirm(turn: A2aTurn, on: OurQuestion, title: string, text: string, yes = t('Allow once'), no = t('Reject')): void {
    const head = { id: this.newId(), wordless: true, ours: true, turnId: turn.id, title } as const;
    const options = [
      { id: 'yes', label: yes, effect: 'allow_always' },
      { id: 'no', label: no, effect: 'reject_once' },
    ] as const;
    this.ask({ kind: 'approval', ...head, detail: { type: 'text', text }, options }, { on } satisfies About);
  }
  askFields(turn: A2aTurn, on: OurQuestion, title: string, fields: readonly Field[]): void {
    this.ask({ kind: 'question', id: this.newId(), turnId: turn.id, ours: true, title, fields }, { on } satisfies About);
  }
  ourAskAnswered(turn: A2aTurn, ask: OpenAsk, on: OurQuestion, answer: Answer): void {
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    const yes = answer.kind === 'option' && answer.optionId === 'yes';
    const values = answer.kind === 'fields' ? answer.values : undefined;
    const { recovery, command } = turn;
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

  // --- slash commands of the agent, each a turn

  command({ turnId, path, args }: Extract<Intent, { type: 'command' }>): void {
    const line = `/${path.join(' ')}`;
    const turn = this.newTurn(turnId, [{ type: 'text', text: [line, args].filter(Boolean).join(' ') }]);
    setAside(this.state);
    const by = this.agent.commands?.by ?? 'rpc';
    const given = args.trim();
    const command: CommandRun = { path, args: given, by, answer: null };
    turn.command = command;
    if (by === 'rest' && line === '/restore') {
      if (given !== '') return this.checkpointChosen(turn, command, given);
      return this.request('checkpoints', 'POST /executeCommand', { command: 'restore list', args: [] });
    }
    if (by === 'rest' && line === '/init') {
      // The shipped server's `init` runs on its own, and writes without asking.
      const told = t('The agent edits files and runs commands without asking you.');
      return this.confirm(turn, 'confirmed', t('Continue?'), `${line} → GEMINI.md\n\n${told}`);
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
    this.confirm(turn, 'confirmed', t('Set the files back to this checkpoint?'), name);
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
    if (answer.id !== state.aside?.id) state.delivered.ownTask = true;
    return true;
  }
  /** The shipped server has answered with one body. */
  commandAnswered(turn: A2aTurn, body: unknown): void {
    const { failed, text } = readCommandResult(body);
    this.showText(turn, 'text', text || t('Done'));
    this.finish(failed ? 'failed' : 'done', failed ? { error: { message: text } } : {});
  }
  /** `problem`: how the body broke; `error`: the same, unless it had said its last word. */
  commandClosed(turn: A2aTurn, { records }: Stream, problem: Problem | null, error: Problem | null): void {
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
    // Only the answer came: a subscription tells the rest.
    if (answer.message) {
      turn.anything = true;
      this.addNotice(turn, 'info', answer.message);
    }
    turn.records += 1;
    this.keep(turn);
    this.lost(turn, null, true);
  }
}

export const a2aMachine = machineOf(A2aStep);
