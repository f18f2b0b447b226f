import { t } from '../../base/l10n.ts';
import type { Content, Diff, Output, Plan, PlanEntry } from '../../session/model.ts';
import { fromPart, labelOf } from './content.ts';
import type { ContentPart, DisplayBlock } from './schema.ts';

type DiffBlock = Extract<DisplayBlock, { type: 'diff' }>;

/** One diff per hunk, in the order they came (wire.md §6). */
export function diffsOf(blocks: readonly DisplayBlock[]): readonly Diff[] {
  return blocks.filter((block) => block.type === 'diff').map((block) => diffOf(block, blocks));
}

function diffOf(block: DiffBlock, among: readonly DisplayBlock[]): Diff {
  const { path, old_text: before, new_text: after } = block;
  if (block.is_summary) return { path, before, after, summary: true };
  if (before === '' && !isInsertion(block, among)) return { path, before: null, after };
  return {
    path,
    before,
    after,
    excerpt: {
      ...(isLine(block.old_start) ? { beforeLine: block.old_start } : {}),
      ...(isLine(block.new_start) ? { afterLine: block.new_start } : {}),
    },
  };
}

/** A hunk without a left side is a new file, unless there are lines above it or other hunks of the file. */
function isInsertion({ path, old_start }: DiffBlock, among: readonly DisplayBlock[]): boolean {
  return (isLine(old_start) && old_start > 1) || among.filter((one) => one.type === 'diff' && one.path === path).length > 1;
}

function isLine(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/** The list of things to do, when the blocks hold one. */
export function planOf(blocks: readonly DisplayBlock[]): Plan | undefined {
  const todo = blocks.findLast((block) => block.type === 'todo');
  return todo && { entries: todo.items.map(({ title, status }) => entryOf(title, status)) };
}

/** A state we have no sign for is said in words: it is neither done nor under way. */
function entryOf(text: string, status: string): PlanEntry {
  if (status === 'done' || status === 'completed') return { text, status: 'completed' };
  if (status === 'pending' || status === 'in_progress') return { text, status };
  return { text: `${text} (${status})`, status: 'pending' };
}

/** What a finished call shows: its diffs and notes for the user, then what the model got. A plan is shown elsewhere. */
export function outputsOf(blocks: readonly DisplayBlock[], output: string | readonly ContentPart[], message: string): readonly Output[] {
  const shown = blocks.flatMap((block): readonly Output[] => {
    if (block.type === 'todo') return [];
    return block.type === 'diff' ? [{ kind: 'diff', diff: diffOf(block, blocks) }] : [{ kind: 'content', content: contentOf(block) }];
  });
  const told = typeof output === 'string' ? [{ type: 'text', text: output } as const] : output.map(fromPart);
  const texts = told.filter((content) => content.type !== 'text' || content.text !== '');
  if (shown.length === 0 && texts.length === 0 && message !== '') return [text(message)];
  return [...shown, ...texts.map((content) => ({ kind: 'content', content }) as const)];
}

/** A block that is no diff and no plan, as something to read. */
export function contentOf(block: Exclude<DisplayBlock, { type: 'diff' | 'todo' }>): Content {
  switch (block.type) {
    case 'brief':
      return { type: 'text', text: block.text };
    case 'shell':
      return { type: 'text', text: block.command };
    case 'background_task':
      return {
        type: 'text',
        text: t('In the background: {0} ({1}, {2} {3})', block.description, block.status, block.kind, block.task_id),
      };
    case 'unknown':
      return { type: 'raw', label: labelOf(block.value), value: block.value };
  }
}

function text(value: string): Output {
  return { kind: 'content', content: { type: 'text', text: value } };
}
