import { withEarlier } from '../../base/promptText.ts';
import type { Turn } from '../../session/model.ts';
import { parseOrUndefined } from './codec.ts';
import { isRecord } from './schema.ts';

/* The task that a conversation goes on in. Tasks end, and are lost; the next one then gets a summary of what was said before. */

export interface TaskRef {
  id: string | null;
  contextId: string | null;
  /** Settings were sent: they go with the first message of a task. */
  settled: boolean;
  /** The next prompt carries a summary of the conversation for a new task. */
  needsSummary: boolean;
}
export interface ConversationTasks {
  /** The conversation's current task. */
  task: TaskRef;
  /** The conversation's own task, while a command runs in another. */
  suspended: TaskRef | null;
  /** The conversation in short, for a task that does not know it. */
  readonly summary: string[];
}

/** Length of the summary that a new task gets, in characters. */
const SUMMARY_LENGTH = 8000;

export function newSummary(past: readonly Turn[]): string[] {
  const summary: string[] = [];
  for (const turn of past) summarise(summary, turn);
  return summary;
}

/** Goes on in the task of an earlier window. Gives the names that its key holds. */
export function takeKey(
  { task, summary }: ConversationTasks,
  resumeKey: string,
): { readonly taskId: string | null; readonly contextId: string | null } {
  const key = parseOrUndefined(resumeKey);
  const { contextId, taskId, tellPast } = isRecord(key) ? key : {};
  task.needsSummary = tellPast === true && summary.length > 0;
  if (typeof contextId === 'string') task.contextId = contextId;
  if (typeof taskId === 'string') Object.assign(task, { id: taskId, settled: true });
  return { taskId: typeof taskId === 'string' ? taskId : null, contextId: typeof contextId === 'string' ? contextId : null };
}
/** The key by which a later window finds the task. */
export function keyOf({ id, contextId, needsSummary }: TaskRef): string {
  return JSON.stringify({ taskId: id ?? undefined, contextId: contextId ?? undefined, tellPast: needsSummary || undefined });
}

/** The next prompt begins another task. `keepsContext`: the server goes on with what was said, so that it gets no summary. */
export function dropTask({ task, summary }: ConversationTasks, keepsContext: boolean): void {
  Object.assign(task, { id: null, settled: false, needsSummary: summary.length > 0 && !(keepsContext && task.contextId !== null) });
}
/** Keeps the conversation's task while a command runs in one of its own. */
export function suspendTask(tasks: ConversationTasks): void {
  tasks.suspended = { ...tasks.task };
}
/** Returns to the conversation's task. A context that the command named first becomes the conversation's. */
export function resumeTask(tasks: ConversationTasks): void {
  const { suspended, task } = tasks;
  if (suspended) tasks.task = { ...suspended, contextId: suspended.contextId ?? task.contextId };
  tasks.suspended = null;
}

// --- what was said so far

/** Gives the summary that a new task needs, once. */
export function takeSummary({ task, summary }: ConversationTasks): string {
  if (!task.needsSummary) return '';
  task.needsSummary = false;
  let whole = summary.join('\n');
  if (whole.length > SUMMARY_LENGTH) whole = `…${whole.slice(-SUMMARY_LENGTH)}`;
  return withEarlier(`This conversation was begun with an earlier task. What was said so far:\n${whole}`);
}
export function wasSaid({ summary }: ConversationTasks, text: string): boolean {
  return summary.some((line) => line.includes(text.trim()));
}
export function addLine(summary: string[], who: 'User' | 'Agent' | 'Changed', text: string): void {
  if (text.trim() !== '') summary.push(`${who}: ${text.trim()}`);
}
function summarise(summary: string[], turn: Turn): void {
  for (const one of turn.prompt) if (one.type === 'text') addLine(summary, 'User', one.text);
  for (const part of turn.parts) {
    if (part.kind === 'text') addLine(summary, 'Agent', part.text);
    else if (part.kind === 'call' && part.call.status === 'done')
      for (const output of part.call.output) if (output.kind === 'diff') addLine(summary, 'Changed', output.diff.path);
  }
}
