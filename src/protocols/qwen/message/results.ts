import * as z from 'zod/mini';
import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, Content, Diff, Output, ToolCall, TurnId } from '../../../session/model.ts';
import { contentOf, textOf } from '../content.ts';
import { applyEdits, type FileText, proposalOf } from '../proposal.ts';
import { planEvents } from '../todos.ts';
import type { ToolUse } from '../toolTable.ts';
import type { Block, UserLine } from './schema.ts';

/** UTF-16 units. What is longer stands below, as output. */
const ERROR_TEXT = 2000;
const CANCELLED = '[Operation Cancelled]';
const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));

/** What Claude Code says of an edit beside the result's text. */
const editResult = z.object({
  filePath: z.string(),
  originalFile: maybe(z.string()),
  oldString: maybe(z.string()),
  newString: maybe(z.string()),
  replaceAll: maybe(z.boolean()),
  content: maybe(z.string()),
  structuredPatch: maybe(
    z.array(z.object({ oldStart: z.number(), newStart: z.number(), lines: z.array(z.string()) })).check(z.maxLength(2000)),
  ),
});
const resultMeta = z
  .array(
    z.object({
      id: z.string(),
      non_execution_kind: maybe(z.string()),
      permission_decision: maybe(z.object({ decision: maybe(z.string()), source: maybe(z.string()) })),
    }),
  )
  .check(z.maxLength(1000));

/** What Claude Code says beside a result of whether its call ran. */
export function metaOf(line: UserLine, callId: CallId): z.infer<typeof resultMeta>[number] | undefined {
  const meta = resultMeta.safeParse(line.tool_result_meta);
  return meta.success ? meta.data.find((one) => one.id === callId) : undefined;
}

/** How a call ended, by what its result says and what a user did about it. */
export interface Ending {
  readonly use: ToolUse | undefined;
  /** The file's text before the call, as far as it was read. */
  readonly before: FileText;
  readonly refused: boolean;
  readonly stopping: boolean;
  /** The user wrote another text than was proposed; the agent was told so by a refusal. */
  readonly applied?: Diff;
}

/** The end of a call. */
export function resultEvents(block: Block, line: UserLine, turnId: TurnId, how: Ending, cwd: string): readonly SessionEvent[] {
  const callId = block.tool_use_id;
  if (!callId) return [];
  const status = statusOf(block, line, callId, how);
  const diffs = status === 'done' ? diffsOf(line, how, cwd) : [];
  const isReport = how.use?.work === 'agent' && textOf(block.content).search(FRAME) >= 0;
  const contents = contentOf(block.content).flatMap((one) => forPeople(one, block.is_error === true, isReport));
  const words = contents.map((one) => (one.type === 'text' ? one.text : '')).join('\n');
  // What went wrong is said once: as the error where it is short enough. What a command printed is its output.
  const asError = status === 'failed' && how.use?.work !== 'shell' && words.length <= ERROR_TEXT;
  const said = asError ? contents.filter((one) => one.type !== 'text') : contents;
  const output: readonly Output[] = [
    ...diffs.map((diff) => ({ kind: 'diff', diff }) as const),
    ...said.map((content) => ({ kind: 'content', content }) as const),
  ];
  const error = status === 'failed' ? { error: { message: (asError ? words.trim() : exitIn(words)) || t('It failed.') } } : {};
  return [
    { type: 'call.changed', turnId, callId, change: { status, output, ...error } },
    ...(status === 'done' && how.use?.work === 'todo' ? planEvents(how.use.input) : []),
  ];
}

/** The line in which the agent says how a command ended. */
function exitIn(words: string): string | undefined {
  return /^exit code:? \d{1,10}$/im.exec(words)?.[0];
}

/** Claude Code adds words for the model to some results, and marks others for it. */
const FOR_THE_MODEL =
  /<system-reminder>[\s\S]*?<\/system-reminder>| *\(file state is current in your context[^)]*\)|^<tool_use_error>|<\/tool_use_error>$/g;
/** What it says of a call that was refused or stopped, unless the user's own words are in it. */
const NOT_DONE = /The user doesn't want to proceed with this tool use\.(?![\s\S]*the user said:)[\s\S]*$/;
/** The frame around what a sub-agent reports. */
const FRAME =
  / *<tools-used-before-summary>[\s\S]*?<\/tools-used-before-summary>\s*|\[Subagent hand-back\][^\n]*\n|agentId: \S+ \(use SendMessage[^\n]*|<usage>subagent_tokens:[\s\S]*?<\/usage>/g;

function forPeople(content: Content, isError: boolean, isReport: boolean): readonly Content[] {
  if (content.type !== 'text') return [content];
  let text = content.text.replaceAll(FOR_THE_MODEL, '');
  if (isError) text = text.replace(NOT_DONE, '');
  if (isReport) text = text.replaceAll(FRAME, '').replaceAll(/^ {2}/gm, '');
  if (text === content.text) return [content];
  text = text.trimEnd();
  return text === '' ? [] : [{ type: 'text', text }];
}

function statusOf(block: Block, line: UserLine, callId: CallId, how: Ending): ToolCall['status'] {
  if (how.applied) return 'done';
  if (!block.is_error) return 'done';
  if (how.refused) return 'rejected';
  const meta = metaOf(line, callId);
  if (meta?.non_execution_kind === 'permission-rule' || (meta?.permission_decision?.decision === 'reject' && !how.stopping))
    return 'rejected';
  if (meta?.non_execution_kind || textOf(block.content).startsWith(CANCELLED)) return 'cancelled';
  return how.stopping ? 'cancelled' : 'failed';
}

/** The agent's own account of the edit where it gives one, else what the input does to the file as it was. */
function diffsOf(line: UserLine, how: Ending, cwd: string): readonly Diff[] {
  if (how.applied) return [how.applied];
  const told = editResult.safeParse(line.tool_use_result);
  if (told.success) {
    const { filePath: path, originalFile, oldString, newString, replaceAll, content, structuredPatch } = told.data;
    const before = unix(originalFile);
    if (content != null && originalFile !== undefined) return [{ path, before, after: unix(content) ?? '' }];
    if (before !== null && oldString != null && newString != null) {
      const after = applyEdits(before, [{ old_string: oldString, new_string: newString, replace_all: replaceAll ?? false }]);
      if (after !== undefined) return [{ path, before, after }];
    }
    if (structuredPatch && structuredPatch.length > 0) return structuredPatch.map((hunk) => hunkDiff(path, hunk));
  }
  return how.use ? proposalOf(how.use, how.before, cwd) : [];
}

function hunkDiff(path: string, hunk: { readonly oldStart: number; readonly newStart: number; readonly lines: readonly string[] }): Diff {
  const side = (dropped: string) =>
    hunk.lines
      .filter((line) => !line.startsWith(dropped) && !line.startsWith('\\'))
      .map((line) => line.slice(1))
      .join('\n');
  return { path, before: side('+'), after: side('-'), excerpt: { beforeLine: hunk.oldStart, afterLine: hunk.newStart } };
}

function unix(text: string | null | undefined): string | null {
  return text == null ? null : text.replaceAll('\r\n', '\n');
}
