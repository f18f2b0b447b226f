import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type CallContext, runCalls } from './calls.ts';
import { type CompactionContext, compactWhenNear } from './compaction.ts';
import type { Frontend } from './frontend.ts';
import type { History } from './history.ts';
import {
  type Call,
  isModelError,
  type Model,
  ModelError,
  type ModelPiece,
  type TokenUsage,
  type ToolOffer,
  type UserPart,
} from './models/model.ts';
import type { News } from './task.ts';

/** The context of one turn. A sub-agent's turn has its own frontend and history and shares the rest. */
export interface TurnContext extends CallContext {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly history: History;
  readonly system: () => Promise<string>;
  readonly offers: () => readonly ToolOffer[];
  readonly maxSteps: number;
  readonly maxAttempts: number;
  /** Returns and clears the user's messages during the turn, oldest first. */
  readonly takeSteers: () => readonly (readonly UserPart[])[];
  /** Returns and clears the tasks that ended in the background. */
  readonly takeNews: () => readonly News[];
  /** Called when the model is done; a returned text becomes its next input. */
  readonly mayStop: () => Promise<string | undefined>;
}

export type TurnEnd = { readonly status: 'finished' } | { readonly status: 'max_steps_reached'; readonly steps: number };

/**
 * model -> calls -> approvals -> results -> model, until the model has nothing more to do. Throws ModelError, or what the signal was aborted
 * with; either way every call in the history has a result, so the next turn can go on from there.
 */
export async function runTurn(scene: TurnContext, input: readonly UserPart[]): Promise<TurnEnd> {
  scene.history.add({ role: 'user', parts: input });
  for (let n = 1; n <= scene.maxSteps; n += 1) {
    await tellNews(scene);
    await compactWhenNear(scene);
    scene.signal.throwIfAborted();
    const calls = await takeStep(scene, n);
    let stopped = false;
    if (calls.length > 0) stopped = (await runCalls(scene, calls)).rejected && !scene.model.offline;
    scene.signal.throwIfAborted();
    const steered = takeUpSteers(scene);
    if (stopped && !steered) return { status: 'finished' };
    if (calls.length === 0 && !steered) {
      const goOn = await scene.mayStop();
      if (goOn !== undefined) scene.history.add({ role: 'user', parts: [{ type: 'text', text: goOn }] });
      else if (!takeUpSteers(scene)) return { status: 'finished' };
    }
  }
  return { status: 'max_steps_reached', steps: scene.maxSteps };
}

function takeUpSteers(scene: TurnContext): boolean {
  const steers = scene.takeSteers();
  for (const input of steers) {
    scene.history.add({ role: 'user', parts: input });
    scene.frontend.emit({ type: 'steered', input });
  }
  return steers.length > 0;
}

/** Reports ended background tasks to the client, its hooks and the model. The offline guide cannot use such a report. */
async function tellNews(scene: TurnContext): Promise<void> {
  for (const news of scene.takeNews()) {
    const { task, message } = news;
    await scene.frontend.hook('Notification', `task.${task.status}`, { task_id: task.id, message }, scene.signal);
    scene.frontend.emit({ type: 'news', news });
    if (scene.model.offline) continue;
    const text = `<notification>The background task ${task.id} (${task.description}) is ${task.status}. ${message} Use TaskOutput to see what it put out.</notification>`;
    scene.history.add({ role: 'user', parts: [{ type: 'text', text }] });
  }
}

interface StepContext extends CompactionContext {
  readonly maxAttempts: number;
}

/** Seconds: the longest wait between attempts, also where the service asks for a longer one. */
const LONGEST_WAIT = 60;

/**
 * Streams one answer of the model to the frontend, adds it to the history and returns its calls. Retries after a temporary failure, with a wait that
 * the frontend shows; it also takes back the output of the failed attempt.
 */
async function takeStep(scene: StepContext, n: number): Promise<readonly Call[]> {
  scene.frontend.emit({ type: 'step.began', n });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptStep(scene);
    } catch (error) {
      scene.signal.throwIfAborted();
      if (!isModelError(error) || !error.retry || attempt >= scene.maxAttempts) {
        scene.frontend.emit({ type: 'step.broken' });
        throw error;
      }
      const wait = Math.min(error.retryAfter ?? Math.min(0.5 * 2 ** (attempt - 1), 30), LONGEST_WAIT);
      scene.frontend.emit({
        type: 'step.retry',
        n,
        nextAttempt: attempt + 1,
        maxAttempts: scene.maxAttempts,
        wait,
        reason: error.reason,
        ...(error.status === undefined ? {} : { status: error.status }),
      });
      await pause(wait * 1000, undefined, { signal: scene.signal });
    }
  }
}

async function attemptStep(scene: StepContext): Promise<readonly Call[]> {
  const { frontend, history } = scene;
  const answer = new Answer(frontend, history.callIds);
  const request = { cwd: scene.workspace.cwd, system: await scene.system(), history: history.messages, tools: scene.offers() };
  for await (const piece of untilAborted(scene.model.answer(request, scene.signal), scene.signal)) {
    scene.signal.throwIfAborted();
    answer.take(piece);
  }
  scene.signal.throwIfAborted();
  const { text, thought, calls, usage } = answer;
  if (!answer.wasCut && text === '' && calls.length === 0 && thought === '')
    throw new ModelError('service', 'The model gave an empty answer.', { retry: true, reason: 'EmptyAnswer' });
  history.add({ role: 'assistant', text, calls, ...(thought === '' ? {} : { thought }) });
  if (usage) history.measured(usage);
  frontend.emit({ type: 'status', contextTokens: history.tokens, contextSize: scene.model.contextSize, ...(usage ? { usage } : {}) });
  return calls;
}

/** Collects the pieces of one answer and passes them on. Replaces ids that are empty or in use already, because calls are found by their id. */
class Answer {
  text = '';
  thought = '';
  usage: TokenUsage | undefined;
  wasCut = false;
  readonly calls: Call[] = [];
  readonly #frontend: Frontend;
  readonly #used: Set<string>;
  #open: { readonly given: string; readonly id: string } | undefined;

  constructor(frontend: Frontend, used: Set<string>) {
    this.#frontend = frontend;
    this.#used = used;
  }

  take(piece: ModelPiece): void {
    switch (piece.type) {
      case 'text':
      case 'thought':
        this[piece.type] += piece.text;
        if (piece.text !== '') this.#frontend.emit(piece);
        return;
      case 'cut':
        this.wasCut = true;
        if (this.#frontend.tellsCuts) this.#frontend.emit(piece);
        else this.take({ type: 'text', text: `\n\n*${piece.text}*` });
        return;
      case 'call.began':
        this.#begin(piece.id, piece.name);
        return;
      case 'call.grew':
        if (this.#open?.given === piece.id) this.#frontend.emit({ type: 'call.grew', id: this.#open.id, text: piece.text });
        return;
      case 'call': {
        const { name, input, meta } = piece.call;
        const id = this.#open?.given === piece.call.id ? this.#open.id : this.#begin(piece.call.id, name);
        this.#open = undefined;
        this.calls.push({ id, name, input, ...(meta === undefined ? {} : { meta }) });
        this.#frontend.emit({ type: 'call.ready', id, name, input });
        return;
      }
      case 'used':
        this.usage = piece.usage;
        return;
    }
  }

  #begin(given: string, name: string): string {
    const id = given === '' || this.#used.has(given) ? `call_${randomUUID().replaceAll('-', '').slice(0, 24)}` : given;
    this.#used.add(id);
    this.#open = { given, id };
    this.#frontend.emit({ type: 'call.began', id, name });
    return id;
  }
}

/** Yields the pieces until the signal fires, so that a model that ignores the signal cannot delay a Stop. */
async function* untilAborted<T>(pieces: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const source = pieces[Symbol.asyncIterator]();
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  aborted.catch(() => {});
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await Promise.race([source.next(), aborted]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Not awaited: it may hang.
    source.return?.().then(undefined, () => {});
  }
}
