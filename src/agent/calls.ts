import { messageOf } from '../base/log.ts';
import type { ApprovalRequest, Frontend } from './frontend.ts';
import type { History } from './history.ts';
import { localize } from './locale.ts';
import type { Call, KeptDiff } from './models/model.ts';
import { runCommand } from './tools/runCommand.ts';
import { failed, type Outcome, Rejected, type Tool, ToolFailure, type ToolRunContext } from './tools/tool.ts';
import type { Workspace } from './workspace/paths.ts';
import { diskFiles } from './workspace/textFile.ts';

export interface CallContext {
  readonly frontend: Frontend;
  readonly history: History;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  readonly findTool: (name: string) => Tool | undefined;
  readonly toolNames: () => readonly string[];
  /** Asks a user, or knows the answer. Throws Rejected. */
  readonly permit: (request: ApprovalRequest, signal: AbortSignal) => Promise<string | undefined>;
  /** May refuse a call before it runs, with a reason, and hears of every end. */
  readonly watch: CallWatch;
}
export interface CallWatch {
  before(call: Call, input: unknown, tool: Tool, signal: AbortSignal): Promise<string | undefined>;
  after(call: Call, input: unknown, outcome: Outcome, signal: AbortSignal): Promise<void>;
}

/** Characters of both texts of an edit. */
const MOST_KEPT = 512 * 1024;
const REJECTED = 'The user rejected this call. Nothing was changed.';

/**
 * Runs the calls of one answer: reads that stand together at once, everything else one after another. After a rejection without a word the
 * calls behind it are not run. Every call gets its result in the history, in the order of the calls, whatever happens.
 */
export async function runCalls(scene: CallContext, calls: readonly Call[]): Promise<{ readonly rejected: boolean }> {
  const ended = new Map<Call, Ended>();
  let rejected = false;
  try {
    for (const group of groupsOf(scene, calls)) {
      const results = await Promise.all(
        group.map(async (call) => {
          const end = rejected ? problem('Not run: the user rejected an earlier call.') : await runCall(scene, call);
          ended.set(call, end);
          if (!scene.signal.aborted) scene.frontend.emit({ type: 'call.ended', id: call.id, name: call.name, outcome: end.outcome });
          return end.no === 'plain';
        }),
      );
      rejected ||= results.includes(true);
      if (scene.signal.aborted) break;
    }
  } finally {
    for (const call of calls) {
      const { outcome, no } = ended.get(call) ?? problem('Cancelled by the user before it was done.');
      const { isError, message, text } = outcome;
      const diffs = keptDiffs(outcome);
      const more = {
        ...(no ? { rejected: true as const } : {}),
        ...(diffs.length > 0 ? { diffs } : {}),
        ...(outcome.media ? { media: outcome.media } : {}),
      };
      scene.history.add({ role: 'tool', callId: call.id, name: call.name, isError, message, text, ...more });
    }
  }
  return { rejected };
}

function groupsOf(scene: CallContext, calls: readonly Call[]): readonly (readonly Call[])[] {
  const groups: Call[][] = [];
  let open = false;
  for (const call of calls) {
    const reads = scene.findTool(call.name)?.reads ?? false;
    if (reads && open) groups.at(-1)?.push(call);
    else groups.push([call]);
    open = reads;
  }
  return groups;
}

interface Ended {
  readonly outcome: Outcome;
  /** A rejection by the user: plain, or with feedback. */
  readonly no?: 'plain' | 'withFeedback';
}

async function runCall(scene: CallContext, call: Call): Promise<Ended> {
  const tool = scene.findTool(call.name);
  if (!tool) return problem(`There is no tool "${call.name}". The tools are: ${scene.toolNames().join(', ')}.`);
  const input = parse(call.input);
  if (input === undefined) return problem('The arguments are not valid JSON. Send one JSON object.');
  try {
    const refused = await scene.watch.before(call, input, tool, scene.signal);
    if (refused !== undefined) return problem(refused);
    const outcome = await tool.run(input, sceneOf(scene, call));
    await scene.watch.after(call, input, outcome, scene.signal);
    return { outcome };
  } catch (error) {
    const ended = endOf(error, scene.signal);
    if (!scene.signal.aborted) await scene.watch.after(call, input, ended.outcome, scene.signal);
    return ended;
  }
}

function sceneOf(scene: CallContext, call: Call): ToolRunContext {
  const runs = () => scene.frontend.emit({ type: 'call.runs', id: call.id });
  return {
    callId: call.id,
    workspace: scene.workspace,
    signal: scene.signal,
    permit: async (request) => {
      const permitted = await scene.permit({ ...request, callId: call.id, tool: call.name }, scene.signal);
      runs();
      return permitted;
    },
    files: scene.frontend.files?.(scene.signal) ?? diskFiles,
    runCommand: (spec, onText) => {
      runs();
      return scene.frontend.runCommand?.(spec, call.id, onText) ?? runCommand(spec, onText);
    },
    output: (text, from) => scene.frontend.emit({ type: 'call.output', id: call.id, text, ...(from ? { from } : {}) }),
  };
}

function endOf(error: unknown, signal: AbortSignal): Ended {
  if (signal.aborted) return problem('Cancelled by the user before it was done.');
  if (error instanceof Rejected) {
    const { feedback } = error;
    if (feedback === undefined)
      return { outcome: failed(REJECTED, '', [{ type: 'brief', text: localize('Rejected', '已拒绝') }]), no: 'plain' };
    return {
      outcome: failed(`${REJECTED} The user says: ${feedback}`, '', [
        { type: 'brief', text: localize(`Rejected: ${feedback}`, `已拒绝：${feedback}`) },
      ]),
      no: 'withFeedback',
    };
  }
  if (error instanceof ToolFailure) return problem(error.message);
  return { outcome: { ...failed(`The tool failed: ${messageOf(error)}`), isBroken: true } };
}

/** Both texts of a very large file would make the memory of a session heavy: without them only the words of the edit are shown again. */
function keptDiffs({ shown }: Outcome): readonly KeptDiff[] {
  const diffs = shown.flatMap((one) => (one.type === 'diff' ? [{ path: one.path, before: one.before, after: one.after }] : []));
  const size = diffs.reduce((sum, { before, after }) => sum + (before?.length ?? 0) + after.length, 0);
  return size > MOST_KEPT ? [] : diffs;
}

function problem(message: string): Ended {
  return { outcome: failed(message) };
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
