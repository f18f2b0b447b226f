import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../base/log.ts';
import type { ApprovalRequest, Frontend } from './frontend.ts';
import { type CompactionContext, compactWhenNear, type History } from './history.ts';
import { localize } from './locale.ts';
import {
  isModelError,
  type KeptDiff,
  type Model,
  type ModelCall,
  ModelError,
  type ModelPiece,
  type ModelTool,
  type TokenUsage,
  type UserPart,
} from './models/model.ts';
import { runCommand } from './tools/runCommand.ts';
import { type AgentTool, Rejected, type TaskEnd, ToolFailure, type ToolOutcome, type ToolRunContext, toldFailed } from './tools/tool.ts';
import type { Workspace } from './workspace/paths.ts';
import { diskFiles } from './workspace/textFile.ts';

/** The context of one turn. A sub-agent's turn has its own frontend and history and shares the rest. */
export interface TurnContext extends CallContext {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly history: History;
  readonly system: () => Promise<string>;
  readonly offers: () => readonly ModelTool[];
  readonly maxSteps: number;
  readonly maxAttempts: number;
  /** Returns and clears the user's messages during the turn, oldest first. */
  readonly takeSteers: () => readonly (readonly UserPart[])[];
  /** Returns and clears the tasks that ended in the background. */
  readonly takeEndedTasks: () => readonly TaskEnd[];
  /** Called when the model is done; a returned text becomes its next input. */
  readonly mayStop: () => Promise<string | undefined>;
}

export type TurnResult = { readonly status: 'finished' } | { readonly status: 'max_steps_reached'; readonly steps: number };

/**
 * model -> calls -> approvals -> results -> model, until the model has nothing more to do. Throws ModelError, or what the signal was aborted
 * with; either way every call in the history has a result, so the next turn can go on from there.
 */
export async function runTurn(context: TurnContext, input: readonly UserPart[]): Promise<TurnResult> {
  context.history.add({ role: 'user', parts: input });
  for (let n = 1; n <= context.maxSteps; n += 1) {
    await reportEndedTasks(context);
    await compactWhenNear(context);
    context.signal.throwIfAborted();
    const calls = await takeStep(context, n);
    let stopped = false;
    if (calls.length > 0) stopped = (await runCalls(context, calls)).rejected && !context.model.offline;
    context.signal.throwIfAborted();
    const steered = takeUpSteers(context);
    if (stopped && !steered) return { status: 'finished' };
    if (calls.length === 0 && !steered) {
      const goOn = await context.mayStop();
      if (goOn !== undefined) context.history.add({ role: 'user', parts: [{ type: 'text', text: goOn }] });
      else if (!takeUpSteers(context)) return { status: 'finished' };
    }
  }
  return { status: 'max_steps_reached', steps: context.maxSteps };
}

function takeUpSteers(context: TurnContext): boolean {
  const steers = context.takeSteers();
  for (const input of steers) {
    context.history.add({ role: 'user', parts: input });
    context.frontend.emit({ type: 'steered', input });
  }
  return steers.length > 0;
}

/** Reports ended background tasks to the client, its hooks and the model. The offline guide cannot use such a report. */
async function reportEndedTasks(context: TurnContext): Promise<void> {
  for (const end of context.takeEndedTasks()) {
    const { task, message } = end;
    await context.frontend.hook('Notification', `task.${task.status}`, { task_id: task.id, message }, context.signal);
    context.frontend.emit({ type: 'task.ended', end });
    if (context.model.offline) continue;
    const text = `<notification>The background task ${task.id} (${task.description}) is ${task.status}. ${message} Use TaskOutput to see what it put out.</notification>`;
    context.history.add({ role: 'user', parts: [{ type: 'text', text }] });
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
async function takeStep(context: StepContext, n: number): Promise<readonly ModelCall[]> {
  context.frontend.emit({ type: 'step.started', n });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptStep(context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isModelError(error) || !error.retry || attempt >= context.maxAttempts) {
        context.frontend.emit({ type: 'step.broken' });
        throw error;
      }
      const wait = Math.min(error.retryAfter ?? Math.min(0.5 * 2 ** (attempt - 1), 30), LONGEST_WAIT);
      context.frontend.emit({
        type: 'step.retry',
        n,
        nextAttempt: attempt + 1,
        maxAttempts: context.maxAttempts,
        wait,
        reason: error.reason,
        ...(error.status === undefined ? {} : { status: error.status }),
      });
      await pause(wait * 1000, undefined, { signal: context.signal });
    }
  }
}

async function attemptStep(context: StepContext): Promise<readonly ModelCall[]> {
  const { frontend, history } = context;
  const answer = new ModelAnswer(frontend, history.callIds);
  const request = { cwd: context.workspace.cwd, system: await context.system(), history: history.messages, tools: context.offers() };
  for await (const piece of untilAborted(context.model.answer(request, context.signal), context.signal)) {
    context.signal.throwIfAborted();
    answer.take(piece);
  }
  context.signal.throwIfAborted();
  const { text, thought, calls, usage } = answer;
  if (!answer.wasCut && text === '' && calls.length === 0 && thought === '')
    throw new ModelError('service', 'The model gave an empty answer.', { retry: true, reason: 'EmptyAnswer' });
  history.add({ role: 'assistant', text, calls, ...(thought === '' ? {} : { thought }) });
  if (usage) history.measured(usage);
  frontend.emit({ type: 'status', contextTokens: history.tokens, contextSize: context.model.contextSize, ...(usage ? { usage } : {}) });
  return calls;
}

/** Collects the pieces of one answer and passes them on. Replaces ids that are empty or in use already, because calls are found by their id. */
class ModelAnswer {
  text = '';
  thought = '';
  usage: TokenUsage | undefined;
  wasCut = false;
  readonly calls: ModelCall[] = [];
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
      case 'call.started':
        this.#begin(piece.id, piece.name);
        return;
      case 'call.delta':
        if (this.#open?.given === piece.id) this.#frontend.emit({ type: 'call.delta', id: this.#open.id, text: piece.text });
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
    this.#frontend.emit({ type: 'call.started', id, name });
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

// --- the calls of one answer

interface CallContext {
  readonly frontend: Frontend;
  readonly history: History;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  readonly findTool: (name: string) => AgentTool | undefined;
  readonly toolNames: () => readonly string[];
  /** Asks a user, or knows the answer. Throws Rejected. */
  readonly permit: (request: ApprovalRequest, signal: AbortSignal) => Promise<string | undefined>;
  /** May refuse a call before it runs, with a reason, and hears of every end. */
  readonly watch: CallWatch;
}
export interface CallWatch {
  /** The outcome of a call that may not run. */
  before(call: ModelCall, input: unknown, tool: AgentTool, signal: AbortSignal): Promise<ToolOutcome | undefined>;
  after(call: ModelCall, input: unknown, outcome: ToolOutcome, signal: AbortSignal): Promise<void>;
}

/** Characters of both texts of an edit. */
const MOST_KEPT = 512 * 1024;
const REJECTED = 'The user rejected this call. Nothing was changed.';

/**
 * Runs the calls of one answer: adjacent reads at once, everything else one after another. After a rejection without a word the
 * calls behind it are not run. Every call gets its result in the history, in the order of the calls, whatever happens.
 */
async function runCalls(context: CallContext, calls: readonly ModelCall[]): Promise<{ readonly rejected: boolean }> {
  const ended = new Map<ModelCall, Ended>();
  let rejected = false;
  try {
    for (const group of groupsOf(context, calls)) {
      const results = await Promise.all(
        group.map(async (call) => {
          const end = rejected
            ? problem('Not run: the user rejected an earlier call.', '未运行：用户拒绝了之前的调用。')
            : await runCall(context, call);
          ended.set(call, end);
          if (!context.signal.aborted) context.frontend.emit({ type: 'call.ended', id: call.id, name: call.name, outcome: end.outcome });
          return end.no === 'plain';
        }),
      );
      rejected ||= results.includes(true);
      if (context.signal.aborted) break;
    }
  } finally {
    for (const call of calls) {
      const { outcome, no } = ended.get(call) ?? cancelled();
      const { isError, message, text } = outcome;
      const diffs = keptDiffs(outcome);
      const more = {
        ...(no ? { rejected: true as const } : {}),
        ...(diffs.length > 0 ? { diffs } : {}),
        ...(outcome.media ? { media: outcome.media } : {}),
      };
      context.history.add({ role: 'tool', callId: call.id, name: call.name, isError, message, text, ...more });
    }
  }
  return { rejected };
}

function groupsOf(context: CallContext, calls: readonly ModelCall[]): readonly (readonly ModelCall[])[] {
  const groups: ModelCall[][] = [];
  let open = false;
  for (const call of calls) {
    const reads = context.findTool(call.name)?.reads ?? false;
    if (reads && open) groups.at(-1)?.push(call);
    else groups.push([call]);
    open = reads;
  }
  return groups;
}

interface Ended {
  readonly outcome: ToolOutcome;
  /** A rejection by the user: plain, or with feedback. */
  readonly no?: 'plain' | 'withFeedback';
}

async function runCall(context: CallContext, call: ModelCall): Promise<Ended> {
  const tool = context.findTool(call.name);
  if (!tool) {
    const there = `There is no tool "${call.name}". The tools are: ${context.toolNames().join(', ')}.`;
    return problem(there, `没有工具“${call.name}”。`);
  }
  const input = parse(call.input);
  if (input === undefined) return problem('The arguments are not valid JSON. Send one JSON object.', '参数不是有效的 JSON。');
  try {
    const refused = await context.watch.before(call, input, tool, context.signal);
    if (refused !== undefined) return { outcome: refused };
    const outcome = await tool.run(input, sceneOf(context, call));
    await context.watch.after(call, input, outcome, context.signal);
    return { outcome };
  } catch (error) {
    const ended = endOf(error, context.signal);
    if (!context.signal.aborted) await context.watch.after(call, input, ended.outcome, context.signal);
    return ended;
  }
}

function sceneOf(context: CallContext, call: ModelCall): ToolRunContext {
  const runs = () => context.frontend.emit({ type: 'call.runs', id: call.id });
  return {
    callId: call.id,
    workspace: context.workspace,
    signal: context.signal,
    permit: async (request) => {
      const permitted = await context.permit({ ...request, callId: call.id, tool: call.name }, context.signal);
      runs();
      return permitted;
    },
    files: context.frontend.files?.(context.signal) ?? diskFiles,
    runCommand: (spec, onText) => {
      runs();
      return context.frontend.runCommand?.(spec, call.id, onText) ?? runCommand(spec, onText);
    },
    output: (text, from) => context.frontend.emit({ type: 'call.output', id: call.id, text, ...(from ? { from } : {}) }),
  };
}

function endOf(error: unknown, signal: AbortSignal): Ended {
  if (signal.aborted) return cancelled();
  if (error instanceof Rejected) {
    const { feedback } = error;
    if (feedback === undefined)
      return { outcome: toldFailed(REJECTED, '已拒绝', '', [{ type: 'brief', text: localize('Rejected', '已拒绝') }]), no: 'plain' };
    return {
      outcome: toldFailed(`${REJECTED} The user says: ${feedback}`, `已拒绝：${feedback}`, '', [
        { type: 'brief', text: localize(`Rejected: ${feedback}`, `已拒绝：${feedback}`) },
      ]),
      no: 'withFeedback',
    };
  }
  if (error instanceof ToolFailure) return { outcome: toldFailed(error.message, error.told ?? error.message) };
  const why = messageOf(error);
  return { outcome: { ...toldFailed(`The tool failed: ${why}`, `工具失败：${why}`), isBroken: true } };
}

/** Both texts of a very large file would make the memory of a session heavy: without them only the words of the edit are shown again. */
function keptDiffs({ shown }: ToolOutcome): readonly KeptDiff[] {
  const diffs = shown.flatMap((one) => (one.type === 'diff' ? [{ path: one.path, before: one.before, after: one.after }] : []));
  const size = diffs.reduce((sum, { before, after }) => sum + (before?.length ?? 0) + after.length, 0);
  return size > MOST_KEPT ? [] : diffs;
}

function cancelled(): Ended {
  return problem('Cancelled by the user before it was done.', '用户已取消。');
}

function problem(message: string, chinese: string): Ended {
  return { outcome: toldFailed(message, chinese) };
}

/** Undefined when it is not JSON; nothing at all counts as an empty object. */
function parse(input: string): unknown {
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input) as unknown;
  } catch {
    return undefined;
  }
}

const PLANNING =
  'Plan mode is on: nothing may be changed and no command run. Finish the plan, or ask the user to switch plan mode off (/plan off).';

/** Checks before and after every call: plan mode, and the client's hooks. */
export function hookedCalls(frontend: Frontend, planning: () => boolean): CallWatch {
  return {
    before: async (call, input, tool, signal) => {
      if (planning() && !tool.reads && tool.runsInClient !== true)
        return toldFailed(PLANNING, '计划模式已开启：不能更改任何内容，也不能运行命令。');
      const reason = await frontend.hook(
        'PreToolUse',
        call.name,
        { tool_name: call.name, tool_input: input, tool_call_id: call.id },
        signal,
      );
      return reason === undefined ? undefined : toldFailed(`Blocked by a hook: ${reason}`, `被钩子阻止：${reason}`);
    },
    after: async (call, input, outcome, signal) => {
      const data = { tool_name: call.name, tool_input: input, tool_call_id: call.id };
      if (outcome.isError) await frontend.hook('PostToolUseFailure', call.name, { ...data, error: outcome.message }, signal);
      else await frontend.hook('PostToolUse', call.name, { ...data, tool_output: outcome.text.slice(0, 10_000) }, signal);
    },
  };
}
