import { type GuardReason, guardReason } from '../base/guardedFiles.ts';
import { t } from '../base/l10n.ts';
import type { Approval, ApprovalDetail, Option } from './model.ts';
import { relativePath } from './select.ts';
import { HIDDEN } from './visible.ts';

/** What makes an approval worth a second look. The texts of what is asked are judged, not the file system. */
export type DangerKind = 'answers' | 'root' | 'pipe' | 'hidden' | 'outside' | 'steers' | 'deletes' | 'network' | 'unsure' | 'lasting';
export interface Danger {
  readonly kind: DangerKind;
  /** The part of the asked command that shows it, in UTF-16 units; absent where no single part does. */
  readonly at?: { readonly from: number; readonly to: number };
  /** What takes orders from the file, for `steers`. */
  readonly why?: GuardReason;
}

const GRAVE: ReadonlySet<DangerKind> = new Set(['root', 'pipe', 'hidden', 'outside', 'steers']);

/** Longer commands are judged by their beginning, and are grave because the rest was not looked at. */
const LOOKED_AT = 20_000;
const MOST_FILES = 200;

/**
 * With one of these, no surface puts the focus on an answer that allows, and none offers to allow more than this once. Files of build tools are
 * changed all day: they are marked, not grave.
 */
export function isGrave(dangers: readonly Danger[]): boolean {
  return dangers.some(({ kind, why }) => GRAVE.has(kind) && why !== 'build');
}

/** Each kind at most once, the worst first. `cwd` is the session's folder. */
export function dangersOf(ask: Approval, cwd: string): readonly Danger[] {
  const found = new Map<DangerKind, Danger>();
  const add: Add = (kind, at, why) => {
    if (!found.has(kind) || (found.get(kind)?.why === 'build' && why !== 'build'))
      found.set(kind, { kind, ...(at ? { at } : {}), ...(why ? { why } : {}) });
  };
  if (ask.options.some(isMisleading)) add('answers');
  for (const detail of [ask.detail, ...(ask.beside ?? [])]) inDetail(detail, cwd, detail === ask.detail, add);
  for (const path of (ask.paths ?? []).slice(0, MOST_FILES)) if (isOutside(path, cwd)) add('outside');
  if (ask.outside) add('outside');
  if (ask.toolKind === 'delete' && ask.detail.type !== 'edit' && !(ask.detail.type === 'text' && saysDelete(ask.title))) add('deletes');
  if (ask.toolKind === 'fetch') add('network');
  const order: readonly DangerKind[] = ['answers', 'root', 'pipe', 'hidden', 'outside', 'steers', 'deletes', 'network', 'unsure'];
  return order.flatMap((kind) => found.get(kind) ?? []);
}

/** The title is shown, and its first word says it. */
function saysDelete(title: string): boolean {
  return /^(?:(?:delete|remove)s?\b|删除)/i.test(title.trim());
}

/** A danger in words, for the card and the pick. */
export function dangerText({ kind, why }: Danger): string {
  switch (kind) {
    case 'answers':
      return t('An answer contradicts itself');
    case 'root':
      return t('Runs as administrator');
    case 'pipe':
      return t('Pipes text into a shell');
    case 'hidden':
      return t('Contains characters that mislead');
    case 'outside':
      return t('Reaches outside this workspace');
    case 'steers':
      return steersText(why);
    case 'deletes':
      return t('Deletes files');
    case 'network':
      return t('Uses the network');
    case 'unsure':
      return t('May run something else than it says');
    case 'lasting':
      return t('The agent offers no single allowance: once allowed, it will not ask again');
  }
}

function steersText(why: GuardReason | undefined): string {
  switch (why) {
    case 'agent':
      return t('Changes what agents are told');
    case 'build':
      return t('Changes what build tools run');
    case 'versionControl':
    case 'editor':
    case 'shell':
      return t('Changes what runs by itself on this computer');
    case 'automation':
      return t('Changes what runs by itself on a server');
    default:
      return t('Changes a guarded file');
  }
}

type Add = (kind: DangerKind, at?: Danger['at'], why?: GuardReason) => void;

function inDetail(detail: ApprovalDetail, cwd: string, isMain: boolean, add: Add): void {
  switch (detail.type) {
    case 'command':
      if (detail.unsure) add('unsure');
      if (detail.cwd !== undefined && isOutside(detail.cwd, cwd)) add('outside');
      return inCommand(detail.command, cwd, isMain ? add : (kind, _, why) => add(kind, undefined, why));
    case 'edit':
      for (const { path, after, summary } of detail.diffs.slice(0, MOST_FILES)) {
        if (isOutside(path, cwd)) add('outside');
        inPath(path, cwd, add);
        // The title of a single deletion says so.
        if (after === null && !summary && detail.diffs.length > 1) add('deletes');
      }
      if (detail.diffs.length > MOST_FILES) add('unsure');
      return;
    case 'mcp':
    case 'text':
      return;
  }
}

const BEGINS = String.raw`(?:^|[\s;&|({\x60"'])`;
const ROOT = new RegExp(`${BEGINS}(sudo|doas|su|pkexec|runas)(?=\\s|$)`, 'i');
const SHELLS =
  '(?:ba|z|da|k|c|tc|fi|a)?sh|pwsh|powershell(?:\\.exe)?|cmd(?:\\.exe)?|python[\\d.]*|node|deno|bun|perl|ruby|php|iex|invoke-expression';
const PIPED = new RegExp(
  `\\|&?\\s*(?:(?:sudo|env|exec|command|xargs)\\s+(?:-\\S+\\s+){0,5})?(?:[\\w./~-]{0,100}/)?(?:${SHELLS})(?=[\\s;&|)"'\`]|$)`,
  'i',
);
const SUBSTITUTED = new RegExp(`${BEGINS}(?:(?:eval|source|iex|\\.|${SHELLS})\\s+(?:-\\S+\\s+){0,3}["']?(?:\\$\\(|\`|<\\())`, 'i');
const DELETES =
  /(?:^|[\s;&|({`"'])(rm|rmdir|rd|del|erase|clear-content|unlink|shred|remove-item|ri|truncate|git\s+clean|git\s+reset\s+--hard|git\s+push\s+(?:\S+\s+){0,3}(?:-f|--force)|find\s[^;|&\n]{0,400}-delete)(?=\s|$)/i;
const NETWORK =
  /(?:^|[\s;&|({`"'])(curl|wget|ssh|scp|sftp|rsync|ftp|nc|ncat|telnet|invoke-webrequest|iwr|invoke-restmethod|irm|start-bitstransfer|bitsadmin|certutil|git\s+(?:push|pull|fetch|clone)|(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|ci|publish|dlx|create)|npx|uvx|pip3?\s+install|uv\s+(?:add|sync|pip)|cargo\s+(?:install|publish|add)|go\s+(?:get|install)|gem\s+install|brew|apt|apt-get|dnf|yum|docker\s+(?:pull|push|run)|gh|az|aws|gcloud|kubectl)(?=\s|$)/i;
const WRITERS = new Set([
  ...['rm', 'rmdir', 'del', 'erase', 'unlink', 'shred', 'mv', 'move', 'cp', 'copy', 'tee', 'touch', 'mkdir', 'ln', 'install', 'dd'],
  ...['rd', 'md', 'ren', 'rename-item', 'xcopy', 'robocopy', 'clear-content', 'tee-object'],
  ...['truncate', 'chmod', 'chown', 'sed', 'remove-item', 'set-content', 'out-file', 'add-content', 'new-item', 'move-item', 'copy-item'],
]);
const WRAPPERS = new Set(['sudo', 'doas', 'env', 'exec', 'command', 'xargs', 'nohup', 'time', 'nice', 'then', 'do', 'else']);

function inCommand(whole: string, cwd: string, add: Add): void {
  const command = whole.slice(0, LOOKED_AT);
  if (whole.length > LOOKED_AT) add('unsure');
  const mark = (kind: DangerKind, found: RegExpExecArray | null, group = 0) => {
    if (!found) return;
    const text = found[group] ?? found[0];
    const from = found.index + found[0].indexOf(text);
    add(kind, { from, to: from + text.length });
  };
  mark('root', ROOT.exec(command), 1);
  mark('pipe', PIPED.exec(command));
  mark('pipe', SUBSTITUTED.exec(command));
  mark('deletes', DELETES.exec(command), 1);
  mark('network', NETWORK.exec(command), 1);
  // The pattern is global: search() keeps no place in it.
  const hidden = whole.search(HIDDEN);
  if (hidden >= 0) add('hidden', { from: hidden, to: hidden + 1 });
  for (const { word, from } of written(command)) {
    const at = { from, to: from + word.length };
    if (isHarmless(word)) continue;
    if (/^(?:[/~]|\\\\|\.\.(?:[/\\]|$)|[A-Za-z]:[\\/]|\$\{?HOME|\$env:|%\w+%)/i.test(word) && isOutside(word, cwd)) add('outside', at);
    inPath(word, cwd, add, at);
  }
}

/** The words of a command that may name what it writes: arguments of programs that write, and targets of redirections. */
function* written(command: string): Generator<{ readonly word: string; readonly from: number }> {
  let atStart = true;
  let writes = false;
  let redirected = false;
  for (const { 0: word, index } of command.matchAll(/[;&|\n(){}`]+|>+[&|]?|[^\s;&|<>(){}"'`=]+/g)) {
    if (/^[;&|\n(){}`]/.test(word)) {
      atStart = true;
      writes = false;
      redirected = false;
    } else if (word.startsWith('>')) redirected = !word.endsWith('&');
    else if (redirected) {
      redirected = false;
      yield { word, from: index };
    } else if (atStart && !/^-/.test(word) && !WRAPPERS.has(word)) {
      atStart = false;
      writes = WRITERS.has(word.toLowerCase().replace(/^.*[/\\]/, ''));
    } else if (writes) yield { word, from: index };
  }
}

function isHarmless(word: string): boolean {
  return /^(?:\/dev\/(?:null|stdout|stderr)|nul)$/i.test(word) || /^\/[a-z?]{1,2}$/i.test(word);
}

function inPath(path: string, cwd: string, add: Add, at?: Danger['at']): void {
  const why = guardReason(relativePath(path, cwd));
  if (why === 'name' || path.search(HIDDEN) >= 0) add('hidden', at);
  else if (why) add('steers', at, why);
}

/** By its text alone: what lies outside through a link is found by whoever follows links. */
function isOutside(path: string, cwd: string): boolean {
  const plain = resolved(path.replaceAll('\\', '/'));
  const root = cwd.replaceAll('\\', '/').replace(/\/$/, '');
  if (plain === undefined) return true;
  const [a, b] = /^[A-Za-z]:/.test(root) ? [plain.toLowerCase(), root.toLowerCase()] : [plain, root];
  if (a === b || a.startsWith(`${b}/`)) return false;
  return /^(?:\/|~|\$|%|[A-Za-z]:\/)/.test(plain);
}

/** Without `.` and `..`; undefined when it climbs out of where it begins. */
function resolved(path: string): string | undefined {
  const kept: string[] = [];
  for (const name of path.split('/')) {
    if (name === '.') continue;
    if (name !== '..') kept.push(name);
    else if (kept.length === 0 || (kept.length === 1 && kept[0] === '')) return undefined;
    else kept.pop();
  }
  return kept.join('/');
}

/** Its name says the opposite of its effect: nobody knows which of them holds. What does not show, and signs in front, make no difference. */
export function isMisleading({ label, effect }: Option): boolean {
  const text = label.replace(HIDDEN, '').replace(/^[^\p{L}]+/u, '');
  const refuses =
    /^(?:no\b|reject|deny|decline|refuse|cancel|abort|don['’]?t\b(?! ask)|do not\b(?! ask)|never\b(?! ask)|disallow|block|拒绝|否|不允许|取消)/i.test(
      text,
    );
  const allows = /^(?:yes\b|allow|approve|accept|proceed|always allow|grant|run\b|允许|批准|同意|是$)/i.test(text);
  if (effect === 'allow_once' || effect === 'allow_always') return refuses;
  return (effect === 'reject_once' || effect === 'reject_always') && allows;
}
