import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Disposable } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { LiveSession } from '../live/liveSession.ts';
import { isTooWide } from '../session/approvalAnswers.ts';
import { misleadingOptions } from '../session/dangers.ts';
import type { Answer, Intent } from '../session/intents.ts';
import type { ApprovalDetail, Ask, Content, QueuedPrompt, Session, Turn, TurnId } from '../session/model.ts';
import { callsOf, runningTurn } from '../session/select.ts';
import type { StoreChange } from '../session/store.ts';
import type { Action, AnswerRule, Expectation, ScriptedAnswer, ScriptMoment, ScriptStep, SimpleAnswer } from './script.ts';

export interface ScriptRun {
  readonly steps: readonly ScriptStep[];
  readonly answer: ScriptedAnswer;
  readonly cwd: string;
  readonly newId: () => string;
  readonly log: Log;
  /** Prints the result of a query step: `hints`, `conversations`, `fork`. */
  readonly print: (value: object) => void;
  /** Receives every credential before it is sent. */
  readonly secret: (value: string) => void;
  /** Receives every intent sent to the session, for a recording. */
  readonly sent?: (intent: Intent) => void;
}

/** Runs the steps in order. True when every turn ended as it should, the link stayed up until closed, and all expectations held. */
export async function runSteps(live: LiveSession, run: ScriptRun): Promise<boolean> {
  const player = new RecordingPlayer(live, run);
  try {
    for (const step of run.steps) if (!(await player.play(step))) return false;
    await player.finished();
    return player.isFine();
  } catch (error) {
    // For example a missing file, or a conversation that was never copied.
    run.log.error('The script cannot go on', error);
    return false;
  } finally {
    player.dispose();
  }
}

/** The steps that prepare for later ones, and those that do something themselves. */
type PreparingStep = Extract<
  ScriptStep,
  { answers: unknown } | { rules: unknown } | { cancelOn: unknown } | { during: unknown } | { steer: unknown }
>;
type ActiveStep = Exclude<ScriptStep, PreparingStep | { setup: unknown } | { expect: unknown }>;
interface Planned {
  readonly on: ScriptMoment;
  readonly afterMs: number;
  readonly do: Action;
}

/** Answers and actions that earlier steps have prepared. */
class ScriptPlan {
  #answers: readonly ScriptedAnswer[] = [];
  #rules: readonly AnswerRule[] = [];
  #actions: readonly Planned[] = [];

  /** False for a step that prepares nothing. */
  take(step: ScriptStep): step is PreparingStep {
    if ('answers' in step) this.#answers = step.answers;
    else if ('rules' in step) this.#rules = step.rules;
    else if ('cancelOn' in step) this.#add({ on: step.cancelOn, afterMs: step.afterMs ?? 0, do: { cancel: true } });
    else if ('during' in step) this.#add(...step.during.map((one) => ({ ...one, afterMs: one.afterMs ?? 0 })));
    else if ('steer' in step) this.#add(...(['text', 'call'] as const).map((on) => ({ on, afterMs: 0, do: step })));
    else return false;
    return true;
  }

  #add(...actions: readonly Planned[]): void {
    this.#actions = [...this.#actions, ...actions];
  }

  /** A turn is over; rules stay. */
  endTurn(): void {
    this.#answers = [];
    this.#actions = [];
  }

  /** The answer to an ask: by a rule, else the next of those in a row. */
  answerTo(ask: Ask, session: Session): ScriptedAnswer | undefined {
    const rule = this.#rules.find((one) => matches(one, ask, session));
    if (rule) return rule.answer;
    const [next, ...rest] = this.#answers;
    this.#answers = rest;
    return next;
  }

  /** An action given for several moments runs at the first of them. */
  takeDue(moment: ScriptMoment): readonly Planned[] {
    const due = this.#actions.filter((one) => one.on === moment);
    this.#actions = this.#actions.filter((one) => !due.some((other) => other.do === one.do));
    return due;
  }
}

/** Tracks the prompts that were sent until their turns end. */
class PromptLog {
  readonly #started = new Set<TurnId>();
  readonly #ended = new Set<TurnId>();
  /** Prompts that left the queue to be sent and have not begun their turn. */
  readonly #leaving = new Set<TurnId>();
  /** Turns that start from the feedback of a rejection. */
  readonly #feedback = new Set<TurnId>();

  take({ event, before }: StoreChange): void {
    if (event.type === 'turn.started') {
      this.#started.add(event.turnId);
      this.#leaving.delete(event.turnId);
    }
    if (event.type === 'turn.ended') this.#ended.add(event.turnId);
    if (event.type === 'queue.set') {
      for (const turnId of goneFrom(before.queue, event.queue)) this.#leaving.add(turnId);
      for (const { turnId, feedback } of event.queue) if (feedback) this.#feedback.add(turnId);
    }
    if (event.type === 'link.closed') this.#leaving.clear();
  }

  /** Number of queued prompts that will be sent without further action. */
  waiting(session: Session): number {
    return session.queue.filter((prompt) => !prompt.held).length + this.#leaving.size;
  }

  isFeedback(turnId: TurnId): boolean {
    return this.#feedback.has(turnId);
  }

  /** True when the turn is over, and so are those that began from feedback. */
  areOver(session: Session, turnId: TurnId): boolean {
    return [turnId, ...this.#feedback].every((one) => this.#isOver(session, one));
  }

  /** Counts a removed turn as over, because some commands clear the conversation. */
  #isOver(session: Session, turnId: TurnId): boolean {
    if (session.link.state === 'closed' || this.#ended.has(turnId)) return true;
    const turn = session.turns.find((one) => one.id === turnId);
    if (turn) return turn.status !== 'running';
    // A prompt held after a turn that failed counts as over until the user releases it.
    if (session.queue.some((prompt) => prompt.turnId === turnId && prompt.held)) return true;
    return this.#started.has(turnId) && !session.queue.some((prompt) => prompt.turnId === turnId);
  }
}

/** The last turn, for what is expected of it, and whether everything went as expected so far. */
class ScriptVerdict {
  #last: Turn | undefined;
  #asks = 0;
  #isAsExpected = true;
  /** Turns that failed as expected. */
  readonly #failedAsExpected = new Set<TurnId>();

  get last(): Turn | undefined {
    return this.#last;
  }
  /** Number of asks in the last turn. */
  get asks(): number {
    return this.#asks;
  }

  beginTurn(): void {
    this.#asks = 0;
  }
  countAsk(): void {
    this.#asks += 1;
  }
  endTurn(turn: Turn | undefined, asks: number): void {
    this.#last = turn ?? this.#last;
    this.#asks = asks;
  }

  fail(): void {
    this.#isAsExpected = false;
  }
  expectFailure(turnId: TurnId): void {
    this.#failedAsExpected.add(turnId);
  }

  /** The turns that ended otherwise than they should. */
  failedIn({ turns }: Session): readonly Turn[] {
    return turns.filter((turn) => turn.status !== 'done' && turn.status !== 'cancelled' && !this.#failedAsExpected.has(turn.id));
  }
  isFine(session: Session): boolean {
    return this.#isAsExpected && this.failedIn(session).length === 0;
  }
}

/** Plays the user: runs the steps, answers asks from the start, and performs actions at their moments. */
class RecordingPlayer implements Disposable {
  readonly #live: LiveSession;
  readonly #run: ScriptRun;
  readonly #listener: Disposable;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #plan = new ScriptPlan();
  readonly #prompts = new PromptLog();
  readonly #verdict = new ScriptVerdict();
  /** `byScript`: the script has closed the conversation. `done` settles when the agent is gone. */
  #closing: { readonly byScript: boolean; readonly done: Promise<void> } = { byScript: false, done: Promise.resolve() };
  /** The key of the copy made last. */
  #forkKey: string | undefined;

  constructor(live: LiveSession, run: ScriptRun) {
    this.#live = live;
    this.#run = run;
    this.#listener = live.store.onChange((change) => this.#changed(change));
  }

  /** True when the run went as it should; logs the turns that failed otherwise. */
  isFine(): boolean {
    const { now } = this.#live.store;
    if (this.#isClosed && !this.#closing.byScript) return false;
    for (const { prompt, error } of this.#verdict.failedIn(now))
      this.#run.log.error(`The turn of ${briefly(prompt)} failed: ${error?.message ?? 'no reason given'}`);
    return this.#verdict.isFine(now);
  }

  dispose(): void {
    this.#listener.dispose();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Settles when the agent is ready, or gone and disposed. */
  async opened(): Promise<void> {
    await this.#closing.done;
    await this.#until((session) => session.link.state !== 'opening');
  }

  /** Settles when nothing runs any more, including work that a step began without waiting. */
  async finished(): Promise<void> {
    await this.opened();
    await this.#idle();
    const held = this.#live.store.now.queue.length;
    if (held > 0) this.#run.log.warn(`Not sent, for the turn before was stopped or failed: ${held} prompt(s)`);
  }

  /** Settles when no turn runs and no queued prompt will start one. */
  #idle(): Promise<void> {
    return this.#until((session) => session.link.state === 'closed' || (!runningTurn(session) && this.#prompts.waiting(session) === 0));
  }

  /** Runs a step. Returns false when the script cannot continue. */
  async play(step: ScriptStep): Promise<boolean> {
    if ('setup' in step || this.#plan.take(step)) return true;
    if ('expect' in step) {
      if (!this.#holds(step.expect)) this.#verdict.fail();
      return true;
    }
    await this.opened();
    const mayAct = !this.#isClosed || (this.#closing.byScript && ('resume' in step || 'close' in step || 'waitMs' in step));
    if (!mayAct) this.#run.log.error(`The conversation is closed, so this is not done: ${JSON.stringify(step).slice(0, 200)}`);
    if (!mayAct) return false;
    await this.#act(step);
    return true;
  }

  async #act(step: ActiveStep): Promise<void> {
    if ('waitMs' in step) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    else if ('now' in step) this.#do(step.now);
    else if ('mode' in step || 'option' in step) this.#do(step);
    else if ('hints' in step) await this.#ask('hints', () => this.#live.hints(step.hints, step.hints.length));
    else if ('list' in step) await this.#ask('conversations', () => this.#live.history());
    else if ('fork' in step) await this.#ask('fork', () => this.#fork());
    else if ('close' in step) await this.#close();
    else if ('forget' in step) await this.#ask('forgotten', () => this.#forget(this.#keyOf(step.forget)));
    else if ('resume' in step) {
      const key = this.#keyOf(step.resume);
      await this.#live.stop();
      this.#closing = { ...this.#closing, byScript: false };
      await this.#live.open(key);
      await this.opened();
    } else await this.#turn(step);
  }

  async #fork(): Promise<string> {
    const { link } = this.#live.store.now;
    if (link.state !== 'ready' || !link.offers.fork) throw new Error('This agent cannot copy conversations.');
    const copy = await this.#live.fork();
    this.#forkKey = copy;
    return copy;
  }

  async #forget(key: string): Promise<string> {
    await this.#live.forget(key);
    return key;
  }

  /** Ends the agent's input, and its process if that does not exit by itself. */
  #close(): Promise<void> {
    // The link is closed before `stop` returns.
    this.#closing = { ...this.#closing, byScript: true };
    const done = this.#live.stop().then(() => this.#run.print({ closed: this.#live.store.now.link }));
    this.#closing = { byScript: true, done };
    return done;
  }

  #keyOf(name: string): string {
    const known = name === '$this' ? this.#live.store.now.resumeKey : name === '$fork' ? this.#forkKey : name;
    if (known === undefined) throw new Error(`There is no conversation ${name}`);
    return known;
  }

  async #turn(step: Extract<ScriptStep, { prompt: unknown } | { command: unknown }>): Promise<void> {
    const turnId = this.#run.newId();
    this.#verdict.beginTurn();
    if ('prompt' in step) this.#send({ type: 'prompt', turnId, content: this.#content(step.prompt, step.files ?? []) });
    else this.#send({ type: 'command', turnId, path: step.command, args: step.args ?? '' });
    await this.#until((session) => this.#prompts.areOver(session, turnId));
    if (this.#live.store.now.queue.some((prompt) => prompt.turnId === turnId))
      this.#fail(`Not sent, for the turn before was stopped or failed: ${JSON.stringify(step).slice(0, 200)}`);
    const { asks } = this.#verdict;
    const ended = this.#live.store.now.turns.find((turn) => turn.id === turnId);
    this.#plan.endTurn();
    // Prompts that `during` has sent run before the next step; `expect` does not check them.
    await this.#idle();
    this.#verdict.endTurn(ended, asks);
  }

  /** Files are attached with their text, images as images. */
  #content(text: string, files: readonly string[]): readonly Content[] {
    const attached = files.map((name): Content => {
      const file = path.resolve(this.#run.cwd, name);
      const mime = IMAGES[path.extname(name).toLowerCase()];
      return mime === undefined
        ? { type: 'file', path: file, text: readFileSync(file, 'utf8') }
        : { type: 'image', mime, data: readFileSync(file).toString('base64') };
    });
    return [{ type: 'text', text }, ...attached];
  }

  async #ask(name: string, query: () => Promise<unknown>): Promise<void> {
    try {
      this.#run.print({ [name]: (await query()) ?? null });
    } catch (error) {
      this.#fail(`${name}: ${messageOf(error)}`);
    }
  }

  /** Records a mismatch of script and agent; the script continues, and the run ends with 1. */
  #fail(why: string): void {
    this.#run.log.error(why);
    this.#verdict.fail();
  }

  get #isClosed(): boolean {
    return this.#live.store.now.link.state === 'closed';
  }

  #send(intent: Intent): void {
    for (const secret of secretsOf(intent, this.#live.store.now.asks)) this.#run.secret(secret);
    this.#run.sent?.(withoutSecrets(intent, this.#live.store.now.asks));
    this.#live.send(intent);
  }

  #do(action: Action): void {
    if ('cancel' in action) this.#send({ type: 'cancel' });
    else if ('close' in action) void this.#close();
    else if ('steer' in action) this.#send({ type: 'steer', turnId: this.#run.newId(), content: [{ type: 'text', text: action.steer }] });
    else if ('prompt' in action)
      this.#send({ type: 'prompt', turnId: this.#run.newId(), content: [{ type: 'text', text: action.prompt }] });
    else this.#choose(action);
  }

  /** Skips an action whose turn is over: it would act on the next one. */
  #inTurn(turnId: TurnId, action: Action): void {
    if (runningTurn(this.#live.store.now)?.id === turnId) return this.#do(action);
    this.#run.log.warn(`Not done, for its turn was over: ${JSON.stringify(action).slice(0, 200)}`);
  }

  /** Reports a choice that the agent does not offer, because agents ignore it. */
  #choose(choice: Extract<Action, { mode: unknown } | { option: unknown }>): void {
    const { mode, options = [] } = this.#live.store.now;
    if ('mode' in choice) {
      const modes = (mode?.all ?? []).map((one) => one.id);
      if (modes.includes(choice.mode)) return this.#send({ type: 'setMode', modeId: choice.mode });
      return this.#fail(`There is no mode ${choice.mode}; the agent has ${listed(modes)}`);
    }
    const { id, value } = choice.option;
    const option = options.find((one) => one.id === id);
    if (!option) return this.#fail(`There is no option ${id}; the agent has ${listed(options.map((one) => one.id))}`);
    const values: readonly (string | boolean)[] = option.kind === 'switch' ? [true, false] : option.choices.map((one) => one.value);
    if (values.includes(value)) return this.#send({ type: 'setOption', optionId: id, value });
    this.#fail(`The option ${id} takes ${listed(values)}, not ${value}`);
  }

  #changed(change: StoreChange): void {
    const { event } = change;
    this.#prompts.take(change);
    if (event.type === 'ask.opened') this.#asked(event.ask);
    const moment = momentOf(event);
    const turn = runningTurn(this.#live.store.now);
    if (moment === undefined || !turn) return;
    for (const one of this.#plan.takeDue(moment)) this.#later(one.afterMs, () => this.#inTurn(turn.id, one.do));
  }

  #asked(ask: Ask): void {
    this.#verdict.countAsk();
    const scripted = this.#plan.answerTo(ask, this.#live.store.now) ?? this.#run.answer;
    const isLate = typeof scripted === 'object' && 'afterMs' in scripted;
    const given = isLate ? scripted.answer : scripted;
    const misfit = misfitOf(ask, given);
    if (misfit !== undefined) this.#fail(`${ask.title}: ${misfit}`);
    const answer = misfit === undefined ? answerOf(ask, given) : ({ kind: 'cancelled' } as const);
    if (!answer) return this.#run.log.info(`Holding: ${ask.title}`);
    this.#later(isLate ? scripted.afterMs : 0, () => this.#answer(ask, answer));
  }

  /** Answers an ask. A form that rejects its values stays open for correction, but a script has no other values. */
  #answer(ask: Ask, answer: Answer): void {
    const { store } = this.#live;
    const { length } = store.now.notices;
    this.#send({ type: 'answer', askId: ask.id, answer: this.#saidOnce(ask, answer) });
    const [refusal] = store.now.notices.slice(length);
    if (answer.kind !== 'fields' || refusal === undefined || !store.now.asks.some((one) => one.id === ask.id)) return;
    this.#fail(`${ask.title}: ${refusal.text}`);
    this.#send({ type: 'answer', askId: ask.id, answer: { kind: 'cancelled' } });
  }

  /** Rejects without feedback in a turn that feedback itself began; otherwise the run would never end. */
  #saidOnce({ turnId }: Ask, answer: Answer): Answer {
    if (answer.kind !== 'option' || turnId === undefined || !this.#prompts.isFeedback(turnId)) return answer;
    const { feedback: _, ...rest } = answer;
    return rest;
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  /** Compares the last turn with the expectation and logs the differences. */
  #holds(expected: Expectation): boolean {
    const turn = this.#verdict.last;
    const problems: string[] = [];
    const text = (turn?.parts ?? []).flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');
    const notices = [
      ...this.#live.store.now.notices,
      ...(turn?.parts ?? []).flatMap((part) => (part.kind === 'notice' ? [part.notice] : [])),
    ].map((notice) => notice.text);
    const calls = turn ? callsOf(turn) : [];
    if (expected.status !== undefined && turn?.status !== expected.status) problems.push(`status is ${turn?.status ?? 'none'}`);
    if (expected.text !== undefined && !text.includes(expected.text)) problems.push(`text is ${JSON.stringify(text.slice(0, 500))}`);
    if (expected.notice !== undefined && !notices.some((notice) => notice.includes(expected.notice ?? '')))
      problems.push(`notices are ${JSON.stringify(notices)}`);
    if (expected.error !== undefined && !(turn?.error?.message ?? '').includes(expected.error))
      problems.push(`error is ${turn?.error?.message ?? 'none'}`);
    if (expected.asks !== undefined && expected.asks !== this.#verdict.asks) problems.push(`asks are ${this.#verdict.asks}`);
    for (const wanted of expected.calls ?? []) {
      const found = calls.some(
        (call) =>
          (wanted.tool === undefined || wanted.tool === call.name) &&
          (wanted.title === undefined || call.title.includes(wanted.title)) &&
          (wanted.status === undefined || wanted.status === call.status),
      );
      if (!found)
        problems.push(
          `no call like ${JSON.stringify(wanted)} among ${JSON.stringify(calls.map(({ name, title, status }) => ({ tool: name, title, status })))}`,
        );
    }
    const { state } = this.#live.store.now.link;
    if (expected.link !== undefined && state !== expected.link) problems.push(`link is ${state}`);
    if (expected.link === 'closed' && state === 'closed') this.#closing = { ...this.#closing, byScript: true };
    if (expected.status === 'failed' && turn?.status === 'failed') this.#verdict.expectFailure(turn.id);
    for (const problem of problems) this.#run.log.error(`Expected otherwise: ${problem}`);
    return problems.length === 0;
  }

  /** Settles once the condition holds. */
  #until(holds: (session: Session) => boolean): Promise<void> {
    const { store } = this.#live;
    return new Promise((resolve) => {
      const check = () => {
        if (!holds(store.now)) return;
        listener.dispose();
        resolve();
      };
      const listener = store.onChange(check);
      check();
    });
  }
}

function matches(rule: AnswerRule, ask: Ask, session: Session): boolean {
  const call = session.turns.flatMap(callsOf).find((one) => one.id === ask.callId);
  if (rule.call !== undefined && rule.call !== ask.callId) return false;
  if (rule.tool !== undefined && rule.tool !== call?.name) return false;
  if (rule.about !== undefined && !wordsOf(ask).some((words) => words.includes(rule.about ?? ''))) return false;
  return rule.title === undefined || ask.title.includes(rule.title);
}

/** Texts that an ask shows: its title, command, files and other text. */
function wordsOf(ask: Ask): readonly string[] {
  if (ask.kind === 'question') return [ask.title, ...ask.fields.flatMap((field) => [field.label, field.body ?? ''])];
  return [ask.title, ...[ask.detail, ...(ask.beside ?? [])].flatMap(wordsOfDetail), ...(ask.paths ?? [])];
}

function wordsOfDetail(detail: ApprovalDetail): readonly string[] {
  switch (detail.type) {
    case 'command':
      return [detail.command];
    case 'edit':
      return detail.diffs.map((diff) => diff.path);
    case 'mcp':
      return [detail.tool, JSON.stringify(detail.input ?? null)];
    case 'text':
      return [detail.text];
  }
}

/** Values of the fields of an answer that hold a secret. */
function secretsOf(intent: Intent, asks: readonly Ask[]): readonly string[] {
  if (intent.type !== 'answer' || intent.answer.kind !== 'fields') return [];
  const { values } = intent.answer;
  return secretFields(intent.askId, asks).flatMap((id) => values[id] ?? []);
}

/** Removes secrets, because recordings are shared. */
function withoutSecrets(intent: Intent, asks: readonly Ask[]): Intent {
  if (intent.type !== 'answer' || intent.answer.kind !== 'fields') return intent;
  const secret = secretFields(intent.askId, asks);
  const values = Object.fromEntries(Object.entries(intent.answer.values).map(([id, value]) => [id, secret.includes(id) ? ['***'] : value]));
  return { ...intent, answer: { kind: 'fields', values } };
}

function secretFields(askId: string, asks: readonly Ask[]): readonly string[] {
  const ask = asks.find((one) => one.id === askId);
  return ask?.kind === 'question' ? ask.fields.filter((field) => field.kind === 'secret').map((field) => field.id) : [];
}

function briefly([first]: readonly Content[]): string {
  return JSON.stringify(first?.type === 'text' ? first.text.slice(0, 200) : (first?.type ?? ''));
}

function goneFrom(before: readonly QueuedPrompt[], now: readonly QueuedPrompt[]): readonly TurnId[] {
  return before.filter((one) => !now.some((other) => other.turnId === one.turnId)).map((one) => one.turnId);
}

function listed(names: readonly (string | boolean)[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

const IMAGES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};

function momentOf(event: StoreChange['event']): ScriptMoment | undefined {
  if (event.type === 'turn.started') return 'start';
  if (event.type === 'ask.opened') return 'ask';
  if (event.type === 'text.delta' && event.kind === 'text') return 'text';
  return event.type === 'part.added' && event.part.kind === 'call' ? 'call' : undefined;
}

/** Returns the reason why the answer does not fit this ask; undefined when it does. */
function misfitOf(ask: Ask, scripted: SimpleAnswer): string | undefined {
  if (ask.kind === 'question') {
    if (scripted === 'hold' || scripted === 'reject') return undefined;
    if (typeof scripted === 'object' && 'reject' in scripted) return undefined;
    const fields = ask.fields.map((field) => field.id);
    if (typeof scripted === 'string' || !('fields' in scripted)) return `a question is answered by fields: ${fields.join(', ')}`;
    const unknown = Object.keys(scripted.fields).find((id) => !fields.includes(id));
    return unknown === undefined ? undefined : `there is no field ${unknown}; the question has ${fields.join(', ')}`;
  }
  const isObject = typeof scripted === 'object';
  if (isObject && 'fields' in scripted) return 'an approval has no fields';
  if (isObject && 'edited' in scripted && !ask.editable) return 'what is proposed here cannot be edited';
  const options = ask.options.filter((one) => !isTooWide(one, ask));
  if (isObject && 'option' in scripted) {
    const ids = options.map((one) => one.id);
    return ids.includes(scripted.option) ? undefined : `there is no option ${scripted.option}; offered are ${ids.join(', ')}`;
  }
  const wanted =
    scripted === 'allow_always' ? ['allow_always', 'allow_once'] : scripted === 'allow' || isEdit(scripted) ? ['allow_once'] : [];
  const misleading = misleadingOptions(ask);
  if (wanted.length === 0 || options.some((one) => wanted.includes(one.effect) && !misleading.has(one))) return undefined;
  const offered = options.map(({ id, label, effect }) => `${id === '' ? '""' : id} (${label}, ${effect})`);
  return `nothing here allows ${wanted.length === 1 ? 'once' : 'it'}; offered are ${offered.join(', ')}`;
}

function isEdit(scripted: SimpleAnswer): boolean {
  return typeof scripted === 'object' && 'edited' in scripted;
}

/** Returns the script's answer to this ask; undefined leaves it open. Replaces an option not offered with the nearest narrower one. */
export function answerOf(ask: Ask, scripted: SimpleAnswer): Answer | undefined {
  if (scripted === 'hold') return undefined;
  if (ask.kind === 'question') return answerQuestion(scripted);
  const misleading = misleadingOptions(ask);
  const options = ask.options.filter((one) => !isTooWide(one, ask) && !misleading.has(one));
  const choose = (...effects: readonly string[]) => effects.flatMap((effect) => options.filter((one) => one.effect === effect))[0]?.id;
  if (typeof scripted === 'string') {
    const id =
      scripted === 'allow'
        ? choose('allow_once')
        : scripted === 'allow_always'
          ? choose('allow_always', 'allow_once')
          : choose('reject_once', 'reject_always');
    return id === undefined ? { kind: 'cancelled' } : { kind: 'option', optionId: id };
  }
  if ('option' in scripted) return { kind: 'option', optionId: scripted.option };
  if ('fields' in scripted) return { kind: 'cancelled' };
  const id = 'reject' in scripted ? choose('reject_once', 'reject_always') : choose('allow_once');
  if (id === undefined) return { kind: 'cancelled' };
  return 'reject' in scripted
    ? { kind: 'option', optionId: id, feedback: scripted.reject }
    : { kind: 'option', optionId: id, edited: scripted.edited };
}

/** Only fields answer a question: a word for approvals does not choose between its options. */
function answerQuestion(scripted: SimpleAnswer): Answer {
  if (typeof scripted !== 'object' || !('fields' in scripted)) return { kind: 'cancelled' };
  return { kind: 'fields', values: Object.fromEntries(Object.entries(scripted.fields).map(([id, value]) => [id, [value].flat()])) };
}
