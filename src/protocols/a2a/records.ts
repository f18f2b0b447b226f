import { t } from '../../base/l10n.ts';
import { find, laneOf, type OpenAsk, put } from '../../conversation/state.ts';
import { Step } from '../../conversation/step.ts';
import type { Notice } from '../../session/model.ts';
import {
  asCreation,
  askOf,
  type CallSnapshot,
  completed,
  type DecisionOption,
  isEnded,
  isSame,
  outputOf,
  rememberedChoice,
  screenText,
  shownOf,
  stillAsAsked,
} from './calls.ts';
import type { A2aPeer } from './card.ts';
import {
  contentOf,
  type EventFacts,
  eventOf,
  type Incoming,
  isAtRest,
  isFailed,
  isOver,
  meaningOf,
  type PartContent,
  textOf,
} from './codec.ts';
import { artifactShown, isFresh, OUTPUT, restOfArtifact, textShown, unshownOf } from './delivered.ts';
import type { Part as WirePart } from './schema.ts';
import {
  type A2aAgent,
  type A2aAskSubject,
  type A2aCall,
  type A2aState,
  type A2aStream,
  type A2aTurn,
  askedOf,
  callOf,
  decisionAbout,
  editOf,
  editsOf,
  hasBecomeAnother,
  isDecided,
  isUnconfirmed,
  joinWords,
  mayBeFollowed,
  newCall,
  optionsOf,
  statusOf,
} from './state.ts';
import { addLine, keyOf, wasSaid } from './task.ts';

/*
 * Shows what the records of a task hold: text, files and calls, and asks about the calls that need it. Several streams may carry the records of one
 * task, and records of other tasks: the functions at the end decide which task a record is about and whether it is new.
 */

export abstract class TaskRecords extends Step<A2aState> {
  /** Sends what was decided about a call. */
  abstract sendDecision(turn: A2aTurn, call: A2aCall, choice: DecisionOption): void;

  get agent(): A2aAgent {
    const { agent } = this.state;
    if (!agent) throw new Error('There is no agent yet.');
    return agent;
  }
  showOptions(): void {
    this.emit({ type: 'options.set', options: optionsOf(this.state) });
  }
  emitResumeKey(): void {
    this.emit({ type: 'resume.set', key: keyOf(this.state.task) });
  }
  addNotice(turn: A2aTurn, level: Notice['level'], text: string): void {
    this.notice(level, text, laneOf(turn));
  }

  // --- Records, from a stream or from a read of the whole task. Several streams of one task say the same; text is shown once.

  /** Shows what a record of a stream holds. Returns false for a record of another task, which is left out. */
  readRecord(turn: A2aTurn, record: Incoming, stream: A2aStream, isFirst: boolean): boolean {
    const { task } = this.state;
    const ours = task.id;
    const isNewest = stream === turn.streams.at(-1);
    if (isForeign(turn, stream, record, ours, isFirst)) {
      if (isNewest) turn.possibleEnd = mayBeOurEnd(turn, record, task.contextId, this.agent.peer.wire) ? record : null;
      this.foreignRecord(turn, record);
      return false;
    }
    turn.possibleEnd = null;
    noteTime(turn, record);
    turn.records += 1;
    turn.mayHoldMore = record.kind !== 'task';
    task.id = taskAfter(record, ours, isFirst, isNewest);
    if (record.contextId !== undefined) task.contextId = record.contextId;
    // Known from the first word on: a window that closes in the middle of the first turn finds the task again.
    if (task.id !== ours) this.emitResumeKey();
    if (isNewest && record.state !== undefined) turn.taskState = record.state;
    const isNew = isNewRecord(turn, record, stream, this.agent.peer.dialect) ?? isNewest;
    const showsText = isNew && (record.kind === 'task' || !isInLastTaskRead(turn.lastTaskRead, record));
    switch (record.kind) {
      case 'task':
        if (isFailed(record)) this.statusRecord(turn, record, showsText);
        // Agents that do not stream answer with the whole task.
        else if (showsText) this.readWhole(turn, record, true);
        break;
      case 'artifact':
        this.artifactRecord(turn, record, showsText);
        break;
      case 'message':
        this.showParts(turn, record, showsText);
        break;
      case 'status':
        this.statusRecord(turn, record, showsText);
        break;
    }
    return true;
  }
  /** Shows what a read of the whole task adds: the last state of every call, and text that was not shown yet. */
  syncWith(turn: A2aTurn, record: Incoming): void {
    noteTime(turn, record);
    turn.taskState = record.state ?? null;
    turn.mayHoldMore = false;
    const { failure } = turn;
    if (isFailed(record)) this.statusRecord(turn, record, false);
    this.readWhole(turn, record, false, failure === null && turn.failure !== null);
  }
  /**
   * Shows what a record of the whole task holds beyond the parts already shown. `passing`: a stream sent it, so that it counts only where it holds
   * this turn. `isBlamed`: its last text is the failure that the end of the turn shows.
   */
  readWhole(turn: A2aTurn, record: Incoming, passing: boolean, isBlamed = false): void {
    const isPlain = this.agent.peer.dialect === 'plain';
    for (const { said, messageId } of unshownOf(this.state.delivered, record, (text) => this.isOld(turn, text), passing)) {
      if (isBlamed && said.type === 'text' && messageId === record.messageId) continue;
      this.showPart(turn, said, true, messageId, isPlain ? messageId : undefined);
    }
    for (const { id, parts } of record.artifacts ?? []) this.showScreen(turn, id, parts);
    turn.lastTaskRead = record;
  }
  /** `showsText`: its text is new; calls are compared with what is known of them in any case. */
  statusRecord(turn: A2aTurn, record: Incoming, showsText: boolean): void {
    const event = eventOf(record.metadata);
    const { error, retry, model, tier } = event;
    if (model !== undefined) this.nameModel(tier === undefined ? model : `${model} · ${tier}`);
    const text = textOf(record.parts);
    if (text) turn.lastWords = text;
    if (retry) return this.log('info', `The agent tries again: ${error ?? ''}`);
    if (error || isFailed(record)) {
      const failure = turn.failure?.message ?? joinWords(error ?? '', text);
      turn.failure = failure === '' ? null : { message: failure, at: turn.progress };
      if (error || text) return;
    }
    if (record.state !== 'canceled' || !text) this.showParts(turn, record, showsText, undefined, event);
    // The reason of a cancellation is no part of the answer.
    else if (showsText) this.addNotice(turn, 'info', text);
  }
  artifactRecord(turn: A2aTurn, record: Incoming, showsText: boolean): void {
    const { id = '', append = false } = record.artifact ?? {};
    if ((OUTPUT.test(id) && this.showScreen(turn, id, record.parts)) || !showsText) return;
    turn.idChanges += 1;
    artifactShown(this.state.delivered, id, textOf(record.parts), append);
    // A new artifact begins a part of its own.
    if (!append) laneOf(turn).open = null;
    this.showParts(turn, record, showsText, id);
  }
  /** Shows the output of a call, which each record repeats whole, even where it is marked as appended. Returns true when the call is known. */
  showScreen(turn: A2aTurn, id: string, parts: readonly WirePart[]): boolean {
    const { delivered } = this.state;
    const key = OUTPUT.exec(id)?.[1];
    const call = key === undefined ? undefined : callOf(turn, key);
    if (call) {
      const text = parts.at(-1)?.text;
      if (typeof text !== 'string' || isEnded(call.last)) return true;
      call.live = screenText(text);
      this.changeCall(turn, call.id, { output: outputOf(call.last, call.live) });
      return true;
    }
    const whole = textOf(parts);
    if (key !== undefined || whole === '' || (isFresh(delivered) && this.isOld(turn, whole))) return false;
    const rest = restOfArtifact(delivered, id, whole);
    if (rest === '') return false;
    turn.progress += 1;
    turn.idChanges += 1;
    this.showText(turn, 'text', rest, undefined, id);
    return false;
  }
  showParts(turn: A2aTurn, record: Incoming, showsText: boolean, artifact?: string, event?: EventFacts): void {
    // A plain agent's messages stand for themselves; the extension's are pieces of one text.
    const apart = artifact ?? (this.agent.peer.dialect === 'plain' ? record.messageId : undefined);
    for (const said of meaningOf(record, event)) this.showPart(turn, said, showsText, record.messageId, apart);
  }
  showPart(turn: A2aTurn, said: PartContent, showsText: boolean, messageId: string | undefined, of: string | undefined): void {
    if (said.type === 'call') return this.callReceived(turn, said);
    if (!showsText) return;
    turn.progress += 1;
    if (said.type === 'text' || said.type === 'thought') return this.showText(turn, said.type, said.text, messageId, of);
    turn.hasOtherContent = true;
    turn.idChanges += 1;
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
    if (isWork && lane.open && lane.open !== before) put(delivered.artifactParts, lane.open.partId, of);
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

  // --- Records of other tasks

  /** All streams of the turn have ended: a failure of an unknown task that nothing followed is the failure of our task. */
  allStreamsEnded(turn: A2aTurn): void {
    const { possibleEnd } = turn;
    turn.possibleEnd = null;
    if (!possibleEnd || isAtRest(turn.taskState)) return;
    turn.taskState = possibleEnd.state ?? null;
    this.statusRecord(turn, possibleEnd, false);
  }
  /** Names a call that asks for approval in another task, and asks nothing: the answer would go to a task that the user has not seen. */
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

  // --- Calls. Snapshots may repeat and overtake each other: a call that has ended stays as it ended, and the user is asked again about a call that
  // was answered only when it has become another: an answer counts for what the user saw.

  callReceived(turn: A2aTurn, { call: snapshot, dialect, newer, camel }: Extract<PartContent, { type: 'call' }>): void {
    const { state } = this;
    if (newer) state.newer = true;
    if (dialect === 'rfc') state.camel = camel;
    turn.hasOtherContent = true;
    const known = callOf(turn, snapshot.id);
    if (known?.last.status !== snapshot.status) {
      turn.progress += 1;
      turn.idChanges += 1;
    }
    put(state.delivered.calls, snapshot.id, snapshot.status);
    if (known) this.callUpdated(turn, known, snapshot);
    else this.showCall(turn, this.callBegan(turn, snapshot, dialect));
    const diff = snapshot.diff ?? known?.last.diff;
    if (snapshot.status === 'done' && diff) addLine(state.summary, 'Changed', diff.path);
  }
  callBegan(turn: A2aTurn, snapshot: CallSnapshot, dialect: 'rfc' | 'gemini'): A2aCall {
    const call = newCall(this.newId(), snapshot, dialect);
    put(turn.callIds, snapshot.id, call.id);
    const { name, title, kind } = snapshot;
    return this.addCall(turn, laneOf(turn), call, { name, title, kind, status: 'pending', inputText: '', output: [], locations: [] });
  }
  callUpdated(turn: A2aTurn, call: A2aCall, snapshot: CallSnapshot): void {
    if (isEnded(call.last) || (snapshot.status === 'pending' && call.last.status === 'running')) return;
    const whole = completed(snapshot, call.last);
    const asked = askedOf(call);
    const next = asked && isDecided(call) ? stillAsAsked(whole, asked, editsOf(call, asked, this.state.newer).edited) : whole;
    // A late snapshot of a call that is asked about does not change the question.
    if (call.decision.is === 'asking' && next.status === 'pending' && isSame(next.input, call.last.input)) return;
    call.last = next;
    this.showCall(turn, call);
  }
  showCall(turn: A2aTurn, call: A2aCall): void {
    // The Gemini CLI server gives an empty text as the old one of a file that does not exist.
    if (find(turn.files, call.key)?.isNew) call.last = asCreation(call.last);
    const { last } = call;
    if (hasBecomeAnother(call, this.state.setup.cwd)) this.callChanged(turn, call);
    const status = statusOf(call);
    this.changeCall(turn, call.id, shownOf(last, call.live, status));
    if (isEnded(last) || last.status === 'running') this.withdrawAsk(call);
    if (status !== 'waiting') return;
    if (call.decision.is === 'changed') call.decision = { is: 'changed', since: call.decision.since ?? this.now };
    if (call.decision.is !== 'none') return;
    const before = rememberedChoice(last, this.state.allowances, this.agent.harmless, this.state.setup.cwd);
    if (!before) return this.askAbout(turn, call);
    call.decision = { is: 'allowed', about: last, edited: null };
    this.changeCall(turn, call.id, { status: 'pending' });
    this.sendDecision(turn, call, before);
  }
  /** Withdraws the question, and an answer that was not sent yet. */
  callChanged(turn: A2aTurn, call: A2aCall): void {
    this.withdrawAsk(call);
    this.cancelDecision(turn, call);
    if (editOf(call) !== null)
      this.addNotice(
        turn,
        'warn',
        t('Your edit of the proposal for {0} was not written: the agent wrote or proposed something else.', call.last.title),
      );
    if (isUnconfirmed(decisionAbout(turn, call.key))) this.addNotice(turn, 'warn', mayBeFollowed());
    call.decision = { is: 'changed', since: null };
  }
  /** Cancels the message with a decision while it is not answered. Once the answer has begun, the agent's records say what became of it. */
  cancelDecision(turn: A2aTurn, call: A2aCall): void {
    const stream = decisionAbout(turn, call.key);
    if (!stream || stream.delivery === 'answered' || stream.delivery === 'confirmed') return;
    stream.isCancelled = true;
    this.close(stream.link);
  }
  askAbout(turn: A2aTurn, call: A2aCall): void {
    const { request } = call.last;
    if (!request) return;
    const edited = editOf(call);
    call.decision = { is: 'asking', about: call.last, edited };
    const shown = askOf(call.last, request, edited, this.state.setup.cwd);
    this.ask({ id: this.newId(), turnId: turn.id, callId: call.id, ...shown }, { on: 'call' } satisfies A2aAskSubject);
  }
  /** Withdraws the question about a call that the agent no longer waits with. Nothing is allowed by that. */
  withdrawAsk(call: A2aCall): void {
    const { decision } = call;
    if (decision.is === 'changed') call.decision = { is: 'changed', since: null };
    if (decision.is !== 'asking') return;
    const ask = this.openAsk(call);
    if (ask) this.closeAsk(ask, 'withdrawn');
    call.decision = { ...decision, is: 'withdrawn' };
  }
  openAsk(call: A2aCall): OpenAsk | undefined {
    return Object.values(this.state.asks).find(({ callId }) => callId === call.id);
  }
}

// --- Which task

/**
 * True for a record of another task, whose text and state do not count. An early failure may name a task that the agent does not keep; the last
 * record of a cancelled task comes after we left it.
 */
function isForeign(turn: A2aTurn, stream: A2aStream, record: Incoming, ours: string | null, isFirst: boolean): boolean {
  const { taskId = null } = record;
  if (isFirst) {
    const wasHeard = ours !== null && turn.streams.some(({ began }) => began === ours);
    stream.began = isLost(record) && wasHeard ? ours : taskId;
  }
  const begins = record.kind === 'task' && stream.began !== ours;
  return taskId !== null && ours !== null && taskId !== ours && !begins && taskId !== stream.began;
}
/** The task that the conversation goes on in after a record that is not foreign. */
function taskAfter(record: Incoming, ours: string | null, isFirst: boolean, isNewest: boolean): string | null {
  const { taskId = null } = record;
  if (taskId === null || record.kind === 'message') return ours;
  const begins = ours === null ? !isLost(record) : record.kind === 'task' || (isFirst && !isLost(record) && isNewest);
  return begins ? taskId : ours;
}
/** True when the task of the record has ended without being completed. */
function isLost({ state }: Incoming): boolean {
  return isOver(state) && state !== 'completed';
}
/**
 * If all streams end behind such a failure of an unknown task, it means ours: servers name a fresh one when their agent breaks off within a task they
 * have not been given yet (@a2a-js/sdk 0.3).
 */
function mayBeOurEnd(turn: A2aTurn, record: Incoming, contextId: string | null, wire: A2aPeer['wire']): boolean {
  const failed = record.kind === 'status' && record.state === 'failed' && (record.final || wire === '1.0');
  const isOurs = record.contextId !== undefined && record.contextId === contextId;
  return failed && isOurs && !find(turn.foreign, record.taskId ?? '');
}

// --- What is new

/** Number of newest records that a stream remembers: alone, and beside one that may be far behind. */
const REMEMBERED = { alone: 8, beside: 10_000 };
/** Number of ended streams that are compared with one that runs. */
const ENDED_BESIDE = 4;
/** Timestamps with milliseconds, which two records of one message do not share. */
const PRECISE = /\.\d{3,}/;

/** Several streams may carry the same record: only the first copy is new. undefined for a record without an id or a time to recognise it by. */
function isNewRecord(turn: A2aTurn, record: Incoming, stream: A2aStream, dialect: A2aPeer['dialect']): boolean | undefined {
  const { messageId, timestamp, parts } = record;
  if (messageId === undefined || timestamp === undefined) return undefined;
  const words = textOf(parts);
  const beside = streamsBeside(turn, stream);
  const before = timesSeen(stream, messageId, timestamp, words);
  noteRecord(stream, messageId, timestamp, words, !beside.some(({ stage }) => stage !== 'ended'));
  // The same record twice on one stream; only the Gemini CLI server's pieces may be alike to the millisecond.
  if (before > 0 && dialect === 'rfc' && PRECISE.test(timestamp)) return false;
  // Another stream may have brought as many of them.
  return !beside.some((other) => timesSeen(other, messageId, timestamp, words) > before);
}
/** Counts the record among the newest of the stream. */
function timesSeen({ newest }: A2aStream, messageId: string, timestamp: string, words: string): number {
  let times = 0;
  for (let at = newest.length - 3; at >= 0; at -= 3) {
    if (newest[at] === messageId && newest[at + 1] === timestamp && newest[at + 2] === words) times += 1;
  }
  return times;
}
function noteRecord({ newest }: A2aStream, messageId: string, timestamp: string, words: string, isAlone: boolean): void {
  const most = 3 * (isAlone ? REMEMBERED.alone : REMEMBERED.beside);
  newest.push(messageId, timestamp, words);
  if (newest.length > 2 * most) newest.splice(0, newest.length - most);
}
const NO_STREAMS: readonly A2aStream[] = [];
/** The other streams that may carry the same records. */
function streamsBeside({ streams }: A2aTurn, stream: A2aStream): readonly A2aStream[] {
  if (streams.length === 1) return NO_STREAMS;
  return streams.filter((one, at) => one !== stream && (one.stage !== 'ended' || at >= streams.length - ENDED_BESIDE));
}
/** True for a record that came while the task was being read, and is part of what was read. */
function isInLastTaskRead(lastTaskRead: Incoming | null, { messageId, timestamp, parts }: Incoming): boolean {
  if (!lastTaskRead || messageId === undefined) return false;
  const { messageId: last, parts: lastParts, timestamp: at, history = [] } = lastTaskRead;
  const read = messageId === last ? lastParts : history.find((one) => one.messageId === messageId)?.parts;
  if (!read) return false;
  if (timestamp !== undefined && at !== undefined) return Date.parse(timestamp) <= Date.parse(at);
  return textOf(read).endsWith(textOf(parts));
}
/** The notification is about another task, or holds nothing newer than the streams. */
export function isKnown(turn: A2aTurn, { timestamp, state, taskId }: Incoming, ours: string | null): boolean {
  if (taskId !== (ours ?? undefined)) return true;
  const isPast = timestamp !== undefined && Date.parse(timestamp) <= Date.parse(turn.timestamp);
  return isPast && (state === (turn.taskState ?? undefined) || !isAtRest(state));
}
function noteTime(turn: A2aTurn, { timestamp }: Incoming): void {
  // One agent writes all of them alike, so that the later one is the greater text.
  if (timestamp !== undefined && timestamp > turn.timestamp) turn.timestamp = timestamp;
}
