import type { GuardReason } from '../base/guardedFiles.ts';
import { readJson } from '../base/json.ts';
import { t } from '../base/l10n.ts';
import { resolvePath } from '../base/paths.ts';
import type { Danger } from './commandDangers.ts';
import { isUnplaced } from './diffs.ts';
import { hunksOf, stepsOf } from './hunks.ts';
import { isChangedEnds, plain } from './lineEnds.ts';
import type { Approval, ApprovalDetail, Diff, Session } from './model.ts';
import { carriesEdits } from './proposal.ts';
import { askTitle, byPath, relativePath, saysByTitle } from './select.ts';
import { visibleText } from './visible.ts';

/** The action of an approval, in one word order for every agent. */
export interface ApprovalHeading {
  /** "Run in terminal", "Edit src/main.ts". */
  readonly action: string;
  /** The command on one line, where the action does not name it. */
  readonly subject?: string;
  /** The size of the change: "12 lines", "+2 −2". */
  readonly amount?: string;
}

/** Returns the folder a command runs in, where that is not the session's (`cwd`). */
export function elsewhere(detail: ApprovalDetail, cwd: string): string | undefined {
  if (detail.type !== 'command' || detail.cwd === undefined) return undefined;
  return resolvePath(cwd, detail.cwd) === resolvePath(cwd, '.') ? undefined : detail.cwd;
}

/** Uses the agent's own title only where the details are incomplete: a title may differ from the action. */
export function approvalHeading(ask: Approval, session: Pick<Session, 'cwd' | 'turns'>): ApprovalHeading {
  const { detail } = ask;
  switch (detail.type) {
    case 'command': {
      const command = detail.command.trim();
      const lines = command.split('\n').length;
      if (command === '') return { action: askTitle(ask, session, t('Run in terminal')) };
      return lines > 1
        ? { action: t('Run in terminal'), amount: t('{0} lines', lines) }
        : { action: t('Run in terminal'), subject: command };
    }
    case 'edit':
      return editHeading(ask, shownDiffs(ask, detail.diffs), session);
    case 'mcp':
      return { action: t('Use {0} of {1}', detail.tool, detail.server) };
    case 'text':
      return { action: askTitle(ask, session, '') };
  }
}

function editHeading(ask: Approval, diffs: readonly Diff[], session: Pick<Session, 'cwd' | 'turns'>): ApprovalHeading {
  const files = byPath(diffs);
  const [first] = files;
  if (!first || ask.toolKind === 'move') return { action: askTitle(ask, session, '') };
  const amount = changeAmount(diffs);
  const counted = amount === '' ? {} : { amount };
  if (files.length > 1) return { action: t('Edit {0}', t('{0} {0|file|files}', files.length)), ...counted };
  const path = relativePath(first.path, session.cwd);
  const becomes = fileBecomes(first.diffs);
  if (becomes === 'deleted') return { action: t('Delete {0}', path), ...counted };
  return { action: becomes === 'new' ? t('Create {0}', path) : t('Edit {0}', path), ...counted };
}

/** The effect on a file, as far as texts show it; diffs that are only a summary in words do not. */
export function fileBecomes(diffs: readonly Diff[]): 'new' | 'deleted' | 'changed' {
  const texts = diffs.filter((diff) => !diff.summary);
  if (texts.at(-1)?.after === null) return 'deleted';
  return texts[0]?.before === null ? 'new' : 'changed';
}

/** Steps of comparing texts that counting may take: some 15 ms, twice that when it is the first time. */
const MOST_STEPS = 200_000;

/** `+2 −1` over all diffs; '' where they cannot be counted, or not within a frame. */
export function changeAmount(diffs: readonly Diff[]): string {
  return changeAmounts([diffs])[0] ?? '';
}

/** The amount of each list of diffs, in their order; '' for all from the one on that a frame has no time to count. */
export function changeAmounts(lists: readonly (readonly Diff[])[]): readonly string[] {
  let steps = 0;
  return lists.map((diffs) => {
    let added = 0;
    let removed = 0;
    const all = diffs.filter((diff) => !diff.summary);
    for (const diff of all) {
      if (steps > MOST_STEPS) return '';
      const one = hunksOf(diff);
      if (one.tooLong) return '';
      added += one.added;
      removed += one.removed;
      steps += stepsOf(one);
    }
    return all.length === 0 ? '' : `+${added} −${removed}`;
  });
}

/** The note for a change that is shown without its place; '' for others. */
export function unplacedNote(diffs: readonly Diff[]): string {
  return isUnplaced(diffs) ? t('excerpt') : '';
}

/** True where nothing but line ends changes: words beside the diffs say so, and "No changes." would deny it. */
export function changesEndsOnly({ beside = [] }: Pick<Approval, 'beside'>, diffs: readonly Diff[]): boolean {
  return diffs.every(({ before, after }) => before === after) && beside.some((one) => one.type === 'text' && isChangedEnds(one.text));
}

/** True where the user has left every change out of an edit: nothing of it is to be written. `edited`: the text that goes to the agent, where it does. */
export function isAllLeftOut({ detail, revised = [] }: Approval, edited?: string): boolean {
  if (detail.type !== 'edit' || detail.diffs.length === 0) return false;
  return detail.diffs.every((diff) => {
    const made = revised.find(({ path }) => path === diff.path);
    return made !== undefined && plain(edited ?? made.after ?? '') === plain(made.before ?? '');
  });
}

/** Says also where the agent is not given what the user made of its proposal. */
export function revisedWords(ask: Approval): string {
  const afterwards = t('Allowing it writes your text after the agent’s own edit. The agent is told with your next prompt.');
  return carriesEdits(ask) || isAllLeftOut(ask) ? t('edited by you') : `${t('edited by you')} · ${afterwards}`;
}

/** The diffs of an approval, with the user's changes to them and to their files. */
export function shownDiffs({ revised = [], stale = [] }: Pick<Approval, 'revised' | 'stale'>, diffs: readonly Diff[]): readonly Diff[] {
  const without = (all: readonly Diff[], instead: readonly Diff[]) => all.filter((diff) => !instead.some((one) => one.path === diff.path));
  return [...without(diffs, [...stale, ...revised]), ...without(stale, revised), ...revised];
}

/** The input of a tool as lines of `name: value`, which read better than JSON; JSON where it is not an object. */
export function inputText(input: unknown): string {
  if (input === undefined || input === null) return '';
  if (typeof input !== 'object' || Array.isArray(input)) return typeof input === 'string' ? input : JSON.stringify(input, null, 2);
  return Object.entries(input).map(memberText).join('\n');
}

/** Indents the lines of a value, so that none of them reads as another member. */
function memberText([name, value]: readonly [string, unknown]): string {
  const label = /^[\w$.-]+$/.test(name) ? name : JSON.stringify(name);
  const text = typeof value === 'string' && value !== '' ? value : (JSON.stringify(value) ?? '');
  if (!text.includes('\n')) return `${label}: ${text}`;
  // A search for one sign is many times as fast as a pattern.
  const indented = /[\r\u2028\u2029]/.test(text) ? text.replaceAll(/^/gm, '  ') : `  ${text.replaceAll('\n', '\n  ')}`;
  return `${label}:\n${indented}`;
}

/** The text of a detail beyond the title of its approval; '' for none. Parses arguments that an agent writes as JSON. */
export function wordsBeside({ title }: Approval, { text, markdown }: Extract<ApprovalDetail, { type: 'text' }>): string {
  const bare = text.trim();
  if (bare === title.trim()) return '';
  const members = markdown ? undefined : membersOf(bare);
  if (!members) return text;
  const values = Object.values(members);
  return values.length === 1 && values[0] === title.trim() ? '' : inputText(members);
}

function membersOf(text: string): object | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  const value = readJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0 ? value : undefined;
}

// --- dangers

/** A danger in words, for the card and the pick. */
export function dangerText({ kind, why, long, seen }: Danger): string {
  switch (kind) {
    case 'answers':
      return t('Misleading answers');
    case 'changed':
      return t('{0} has changed in the meantime. Look at the change again.', seen ?? '');
    case 'root':
      return t('Runs as administrator');
    case 'pipe':
      return t('Pipes text into a shell');
    case 'hidden':
      return [t('Contains characters that mislead'), ...(seen === undefined ? [] : [seen])].join(': ');
    case 'outside':
      return t('Reaches outside this workspace');
    case 'steers':
      return steersText(why);
    case 'publishes':
      return t('Publishes or deploys');
    case 'sends':
      return t('Sends data to another computer');
    case 'history':
      return t('Replaces or deletes history on the server');
    case 'overwrites':
      return t('Overwrites a file or disk');
    case 'settings':
      return t('Changes settings of this computer');
    case 'discards':
      return t('Discards changes or commits');
    case 'data':
      return t('Deletes data or services');
    case 'deletes':
      return t('Deletes files');
    case 'stops':
      return t('Stops programs or the computer');
    case 'rights':
      return t('Changes who may use files');
    case 'code':
      return t('Runs code written in the command');
    case 'network':
      return t('Uses the network');
    case 'unsure':
      return [t('May run something other than it shows'), ...(long === undefined ? [] : [t('{0} characters', long)])].join(': ');
    case 'lasting':
      return t('The agent offers no single allowance: once allowed, it will not ask again');
  }
}

function steersText(why: GuardReason | undefined): string {
  switch (why) {
    case 'agent':
      return t('Changes what agents are told');
    case 'build':
    case 'versionControl':
    case 'editor':
    case 'shell':
    case 'automation':
      return t('Changes what runs by itself or in builds');
    default:
      return t('Changes a guarded file');
  }
}

/** The dangerous part of a text with its surroundings, on one line of at most about `width` characters. */
export function excerptOf(text: string, { from, to }: { readonly from: number; readonly to: number }, width: number): string {
  const part = text.slice(from, Math.min(to, from + width));
  const room = Math.max(0, width - part.length);
  const begin = wholeAt(text, Math.max(0, from - Math.floor(room / 3)));
  const end = wholeAt(text, Math.min(text.length, from + part.length + Math.ceil((2 * room) / 3)));
  const line = visibleText(text.slice(begin, end)).replace(/\s+/g, ' ').trim();
  return `${begin > 0 ? '…' : ''}${line}${end < text.length ? '…' : ''}`;
}

/** The place, or the one after it where it would cut a character in two. */
function wholeAt(text: string, at: number): number {
  return /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) ? at + 1 : at;
}

/** True when both ask the same with the same answers: only words changed, or a folder was named that is the session's own. */
export function sameMeaning(one: Approval, other: Approval, cwd: string): boolean {
  return meaning(one, cwd) === meaning(other, cwd);
}

function meaning(ask: Approval, cwd: string): string {
  const { title, detail, beside, paths, options, revised, stale, toolKind, outside, asker } = ask;
  const asked = detail.type === 'command' ? { ...detail, cwd: elsewhere(detail, cwd) } : detail;
  // The agent's title is shown only where the rest does not say it all.
  return JSON.stringify([saysByTitle(ask) ? title : null, asked, beside, paths, options, revised, stale, toolKind, outside, asker]);
}
