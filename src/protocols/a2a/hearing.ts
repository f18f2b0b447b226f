import { t } from '../../base/l10n.ts';
import type { TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Calls, Decision } from './calls.ts';
import { OUTPUT } from './known.ts';
import { type EventFacts, eventOf, meaningOf, type Said } from './meaning.ts';
import { type Memory, resumeKey } from './memory.ts';
import { type Incoming, isAtRest, isOver, type TaskState } from './records.ts';
import type { Part } from './schema.ts';
import type { Shown } from './shown.ts';

interface HearingScene {
  readonly scene: AdapterContext;
  readonly memory: Memory;
  readonly turnId: TurnId;
  readonly calls: Calls;
  readonly shown: Shown;
  /** A decision that was made before. */
  readonly decided: (decision: Decision) => void;
}

/** A time that tells two records apart. */
const PRECISE = /\.\d{3,}/;

/** What the records of a turn's streams come to. Two streams of one task carry the same records: words count once. */
export class Hearing {
  readonly #deps: HearingScene;
  #newest = 0;
  /** How often each stream has said a thing, at its number; at 0 how often it has been shown. */
  readonly #heard: Map<string, number>[] = [new Map()];
  /** The task that went on with this turn: what it holds from before has been shown. */
  readonly #earlier: string | undefined;
  state: TaskState | undefined;
  /** The last task that was read whole. */
  #covered: Incoming | undefined;
  /** What the agent says went wrong. */
  failure: string | undefined;
  /** The last text that came with a state. */
  lastWords = '';
  /** The newest time of the agent's clock that was heard of, milliseconds since the epoch. */
  #heardAt = Number.NEGATIVE_INFINITY;
  records = 0;
  /** A plain message came: the agent keeps no task. */
  answered = false;
  /** Grows with everything that was not known before. */
  progress = 0;
  /** The task each stream began with, at its number. */
  readonly #began: (string | undefined)[] = [];
  /** Calls of other tasks that wanted a confirmation. */
  readonly #refused = new Set<string>();
  /** Tasks of others that were heard of. */
  readonly #others = new Set<string>();
  /** What may have been the end of ours under a name nobody had heard of, as long as nothing follows it. */
  #stray: Incoming | undefined;
  /** Grows with every new thing that has a name of its own, and with every turn of one. */
  landmarks = 0;
  /** The task may hold more than was heard of it since it was last told or read whole. */
  unlooked = false;
  /** Something beside words was shown. */
  anything = false;

  constructor(deps: HearingScene) {
    this.#deps = deps;
    this.#earlier = deps.memory.task?.id;
  }

  /** It tells how the task stood at a time that has been heard of. */
  knows({ timestamp, state, taskId }: Incoming): boolean {
    if (taskId !== this.#deps.memory.task?.id) return true;
    return timestamp !== undefined && Date.parse(timestamp) <= this.#heardAt && (state === this.state || !isAtRest(state));
  }

  streamBegan(): void {
    this.#newest += 1;
    this.state = undefined;
    this.#stray = undefined;
  }

  /**
   * The streams have said all they had to say. Where the last of it was that a task failed which nobody had heard of, ours is meant: servers
   * name a fresh one when their agent breaks off within a task they have not been given yet (@a2a-js/sdk 0.3).
   */
  streamsEnded(): void {
    const stray = this.#stray;
    this.#stray = undefined;
    if (!stray || isAtRest(this.state)) return;
    this.state = stray.state;
    this.#status(stray, false);
  }

  /** One record of the stream of that number, counted from 1. False when it is another task's: its words and states mean nothing here. */
  take(record: Incoming, stream: number, first: boolean): boolean {
    const { memory } = this.#deps;
    const ours = memory.task?.id;
    // A failure before there was a task names one that nobody keeps; the last word of a cancelled one comes after it was left.
    const gone = isOver(record.state) && record.state !== 'completed';
    // One that is gone already is no beginning where ours has been heard of.
    if (first) this.#began[stream] = gone && ours !== undefined && this.#began.includes(ours) ? ours : record.taskId;
    const begins = record.kind === 'task' && this.#began[stream] !== ours;
    if (!begins && record.taskId !== this.#began[stream] && this.#isForeign(record)) {
      if (stream === this.#newest) this.#stray = this.#mayBeOurEnd(record) ? record : undefined;
      this.#foreign(record);
      return false;
    }
    this.#stray = undefined;
    this.#noteTime(record);
    this.records += 1;
    this.unlooked = record.kind !== 'task';
    const before = memory.task;
    if (record.taskId !== undefined && record.kind !== 'message') {
      if (memory.task === undefined ? !gone : record.kind === 'task') {
        if (before?.id !== record.taskId) memory.task = { id: record.taskId };
      } else if (first && !gone && before?.id !== record.taskId && stream === this.#newest) {
        // Some agents begin another task without saying so.
        memory.task = { id: record.taskId };
      }
    }
    if (record.contextId !== undefined) memory.contextId = record.contextId;
    // Known from the first word on: a window that closes in the middle of the first turn finds the task again.
    if (memory.task !== before) this.#deps.scene.emit({ type: 'resume.set', key: resumeKey(memory) });
    const newest = stream === this.#newest;
    if (newest && record.state !== undefined) this.state = record.state;
    const words = (this.#isNew(record, stream) ?? newest) && (record.kind === 'task' || !this.#isCovered(record));
    switch (record.kind) {
      case 'task':
        this.#task(record, words);
        break;
      case 'artifact':
        this.#artifact(record, words);
        break;
      case 'message':
        this.answered = true;
        this.#said(record, words);
        break;
      case 'status':
        this.#status(record, words);
        break;
    }
    return true;
  }

  /** What happened while nobody listened: the last state of every call, and words that were not shown. */
  catchUp(record: Incoming): void {
    this.#noteTime(record);
    this.state = record.state;
    this.unlooked = false;
    const { failure } = this;
    if (record.state === 'failed' || record.state === 'rejected') this.#status(record, false);
    this.#read(record, false, failure === undefined && this.failure !== undefined);
  }

  /** What the task as the agent keeps it holds beyond what was shown. */
  #read(record: Incoming, passing: boolean, blamed = false): void {
    const { known, peer } = this.#deps.memory;
    for (const { said, messageId } of known.unseen(record, (text) => this.#isOld(text), passing)) {
      // What went wrong is told at the end of the turn.
      if (blamed && said.type === 'text' && messageId === record.messageId) continue;
      this.#show(said, true, messageId, peer.dialect === 'plain' ? messageId : undefined);
    }
    for (const { id, parts } of record.artifacts ?? []) this.#output(id, parts);
    this.#covered = record;
  }

  /** It came while the task was read, and stands in what was read. */
  #isCovered({ messageId, timestamp, parts }: Incoming): boolean {
    const { messageId: last, parts: lastParts = [], timestamp: at, history = [] } = this.#covered ?? {};
    if (messageId === undefined) return false;
    const read = messageId === last ? lastParts : history.find((one) => one.messageId === messageId)?.parts;
    if (!read) return false;
    if (timestamp !== undefined && at !== undefined) return Date.parse(timestamp) <= Date.parse(at);
    return wordsOf(read).endsWith(wordsOf(parts));
  }

  /** What several streams say is shown once, whichever is quicker; undefined when a record does not say enough to know it again. */
  #isNew(record: Incoming, stream: number): boolean | undefined {
    if (record.messageId === undefined || record.timestamp === undefined) return undefined;
    let key = `${record.messageId}\n${record.timestamp}`;
    for (const part of record.parts) key += `\n${part.text ?? ''}`;
    const [shown] = this.#heard as [Map<string, number>];
    let heard = this.#heard[stream];
    if (!heard) {
      heard = new Map();
      this.#heard[stream] = heard;
    }
    // The same record twice on one stream; only the shipped server's pieces may be alike to the millisecond.
    if (heard.has(key) && this.#deps.memory.peer.dialect === 'rfc' && PRECISE.test(record.timestamp)) return false;
    const count = (heard.get(key) ?? 0) + 1;
    heard.set(key, count);
    if (count <= (shown.get(key) ?? 0)) return false;
    shown.set(key, count);
    return true;
  }

  #noteTime({ timestamp }: Incoming): void {
    const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
    if (at > this.#heardAt) this.#heardAt = at;
  }

  #status(record: Incoming, words: boolean): void {
    const event = eventOf(record.metadata);
    const { error, retry, model, tier } = event;
    if (model !== undefined) this.#named(tier === undefined ? model : `${model} · ${tier}`);
    const text = record.parts.flatMap((part) => part.text ?? []).join('');
    if (text) this.lastWords = text;
    if (retry) return this.#deps.scene.log.info(`The agent tries again: ${error ?? ''}`);
    const wrong = error ?? (record.state === 'failed' || record.state === 'rejected' ? text : undefined);
    if (wrong) {
      this.failure ??= wrong;
      return;
    }
    this.#said(record, words, undefined, event);
  }

  #task(record: Incoming, words: boolean): void {
    if (record.state === 'failed' || record.state === 'rejected') return this.#status(record, words);
    // Agents that do not stream answer with the whole task.
    if (words) this.#read(record, true);
  }

  #artifact(record: Incoming, words: boolean): void {
    const { id = '' } = record.artifact ?? {};
    if (OUTPUT.test(id) && this.#output(id, record.parts)) return;
    if (!words) return;
    this.landmarks += 1;
    this.#deps.memory.known.worked(id, wordsOf(record.parts), record.artifact?.append === true);
    if (record.artifact?.append !== true) this.#deps.shown.close();
    this.#said(record, words, id);
  }

  /** The whole screen so far, in spite of what the record says about appending (a2a.md §7). */
  #output(id: string, parts: readonly Part[]): boolean {
    const { calls, shown } = this.#deps;
    const text = parts.at(-1)?.text;
    const callId = OUTPUT.exec(id)?.[1];
    if (callId !== undefined && calls.knows(callId)) {
      if (typeof text === 'string') calls.live(callId, text);
      return true;
    }
    const whole = wordsOf(parts);
    if (callId !== undefined || whole === '' || (this.#deps.memory.known.fresh && this.#isOld(whole))) return false;
    const rest = this.#deps.memory.known.restOfWork(id, whole);
    if (rest === '') return false;
    this.progress += 1;
    this.landmarks += 1;
    shown.say('text', rest, undefined, id);
    return false;
  }

  #said(record: Incoming, words: boolean, of?: string, event?: EventFacts): void {
    const { peer } = this.#deps.memory;
    // A plain agent's messages stand for themselves; the extension's are pieces of one text.
    const apart = of ?? (peer.dialect === 'plain' ? record.messageId : undefined);
    for (const one of meaningOf(record, event)) this.#show(one, words, record.messageId, apart);
  }

  #mayBeOurEnd({ kind, state, taskId, contextId, final }: Incoming): boolean {
    const { memory } = this.#deps;
    const failed = kind === 'status' && state === 'failed' && (final || memory.peer.wire === '1.0');
    return failed && contextId !== undefined && contextId === memory.contextId && !this.#others.has(taskId ?? '');
  }

  #foreign(record: Incoming): void {
    if (record.taskId !== undefined) this.#others.add(record.taskId);
    this.#deps.scene.log.trace(`A record of the task ${record.taskId ?? ''} is left out.`);
    for (const one of meaningOf(record))
      if (one.type === 'call' && one.call.request) this.#refuseForeign(one.call.id, one.call.title, record.taskId);
  }

  #isForeign({ taskId }: Incoming): boolean {
    const { task } = this.#deps.memory;
    return taskId !== undefined && task !== undefined && taskId !== task.id;
  }

  /** An answer would go to a task that the user has not seen; nothing is approved there. */
  #refuseForeign(callId: string, title: string, taskId: string | undefined): void {
    const { scene, shown } = this.#deps;
    if (this.#refused.has(callId)) return;
    this.#refused.add(callId);
    scene.log.warn(`A confirmation for the task ${taskId ?? ''} came on the stream of another; it was not asked.`);
    shown.notice('warn', t('The agent asked to allow something in another task, and was not answered: {0}', title));
  }

  #show(said: Said, words: boolean, messageId: string | undefined, of?: string): void {
    const { calls, memory, shown, decided } = this.#deps;
    if (said.type === 'call') {
      if (said.newer) memory.newer = true;
      if (said.dialect === 'rfc') memory.camel = said.camel;
      this.anything = true;
      if (!calls.knows(said.call.id)) shown.close();
      if (calls.status(said.call.id) !== said.call.status) {
        this.progress += 1;
        this.landmarks += 1;
      }
      memory.known.called(said.call.id, said.call.status);
      const decision = calls.take(said.call, said.dialect);
      if (decision) decided(decision);
      if (said.call.status === 'done' && said.call.diff) memory.past.add('Changed', said.call.diff.path);
      return;
    }
    if (!words) return;
    this.progress += 1;
    switch (said.type) {
      case 'text':
      case 'thought':
        return shown.say(said.type, said.text, messageId, of);
      case 'link':
        this.anything = true;
        this.landmarks += 1;
        memory.known.attached(messageId);
        return shown.content({ type: 'link', uri: said.uri, ...(said.title ? { title: said.title } : {}) });
      case 'data':
        this.anything = true;
        this.landmarks += 1;
        memory.known.attached(messageId);
        return shown.content({ type: 'raw', label: 'data', value: said.value });
    }
  }

  /** A task record repeats the last words and the works of turns before. */
  #isOld(text: string): boolean {
    const { task, past } = this.#deps.memory;
    return this.#earlier !== undefined && task?.id === this.#earlier && past.has(text);
  }

  #named(model: string): void {
    const { memory } = this.#deps;
    if (model === memory.model) return;
    memory.model = model;
    memory.modelChanged();
  }
}

function wordsOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => part.text ?? []).join('');
}
