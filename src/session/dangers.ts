import { guardReason } from '../base/guardedFiles.ts';
import { DANGER_KINDS, type Danger, type DangerKind, dangersOfCommand, isGrave, isOutside } from './commandDangers.ts';
import type { Approval, ApprovalDetail, Option } from './model.ts';
import { relativePath, saysByTitle } from './select.ts';
import { HIDDEN } from './visible.ts';

const MOST_FILES = 200;
/** These use the network in a way that their own words say. */
const ON_THE_NETWORK: ReadonlySet<DangerKind> = new Set(['publishes', 'sends', 'history']);

/** Caches the dangers of each ask: asks do not change, and every surface wants the same answer. */
const known = new WeakMap<Approval, { readonly cwd: string; readonly dangers: readonly Danger[] }>();

/** Each kind at most once, the worst first. `cwd` is the session's folder. The texts of what is asked are judged, not the file system. */
export function dangersOf(ask: Approval, cwd: string): readonly Danger[] {
  const before = known.get(ask);
  if (before?.cwd === cwd) return before.dangers;
  const dangers = judged(ask, cwd);
  known.set(ask, { cwd, dangers });
  return dangers;
}

function judged(ask: Approval, cwd: string): readonly Danger[] {
  const all: Danger[] = [];
  if (misleadingOptions(ask).size > 0) all.push({ kind: 'answers' });
  if (saysByTitle(ask) && misleads(ask.title)) all.push({ kind: 'hidden' });
  for (const detail of [ask.detail, ...(ask.beside ?? [])]) {
    const found = inDetail(detail, cwd);
    // Offsets in the details beside it do not apply to the command that is shown.
    all.push(...(detail === ask.detail ? found : found.map(({ at: _, ...one }) => one)));
  }
  if (ask.outside || (ask.paths ?? []).slice(0, MOST_FILES).some((path) => isOutside(path, cwd))) all.push({ kind: 'outside' });
  // Without a text the user cannot see how much of a folder is deleted.
  if (ask.toolKind === 'delete') all.push(ask.detail.type === 'edit' ? { kind: 'deletes' } : { kind: 'deletes', grave: true });
  if (ask.toolKind === 'fetch') all.push({ kind: 'network' });
  const isSaid = all.some(({ kind }) => ON_THE_NETWORK.has(kind));
  return DANGER_KINDS.flatMap((kind) => (kind === 'network' && isSaid ? [] : (worstOf(all.filter((one) => one.kind === kind)) ?? [])));
}

function worstOf(all: readonly Danger[]): Danger | undefined {
  return all.find((one) => isGrave([one])) ?? all[0];
}

function inDetail(detail: ApprovalDetail, cwd: string): readonly Danger[] {
  switch (detail.type) {
    case 'command': {
      const place: readonly Danger[] = detail.cwd !== undefined && isOutside(detail.cwd, cwd) ? [{ kind: 'outside' }] : [];
      return [...(detail.unsure ? [{ kind: 'unsure' } as const] : []), ...place, ...dangersOfCommand(detail, cwd)];
    }
    case 'edit':
      return [
        ...detail.diffs
          .slice(0, MOST_FILES)
          .flatMap(({ path, after, summary }): readonly Danger[] => [
            ...(isOutside(path, cwd) ? [{ kind: 'outside' } as const] : []),
            ...inPath(path, cwd),
            ...(after === null && !summary ? [{ kind: 'deletes' } as const] : []),
          ]),
        ...(detail.diffs.length > MOST_FILES ? [{ kind: 'unsure', grave: true } as const] : []),
      ];
    case 'mcp':
      return misleads(detail.server) || misleads(detail.tool) ? [{ kind: 'hidden' }] : [];
    case 'text':
      return [];
  }
}

function misleads(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

function inPath(path: string, cwd: string): readonly Danger[] {
  const why = guardReason(relativePath(path, cwd));
  if (why === 'name' || misleads(path)) return [{ kind: 'hidden' }];
  return why ? [{ kind: 'steers', why }] : [];
}

/**
 * Options whose name contradicts their effect, or that share an id with another one: their real effect is unknown, so nothing chooses them for
 * the user.
 */
export function misleadingOptions({ options }: Pick<Approval, 'options'>): ReadonlySet<Option> {
  const count = new Map<string, number>();
  for (const { id } of options) count.set(id, (count.get(id) ?? 0) + 1);
  const hasOnce = options.some((one) => one.effect === 'allow_once');
  return new Set(options.filter((one) => (count.get(one.id) ?? 0) > 1 || isMisleading(one, hasOnce)));
}

/** True for a label that contradicts its effect. Ignores invisible characters and leading signs. */
function isMisleading({ label, effect }: Option, hasOnce: boolean): boolean {
  const text = label
    .slice(0, LONGEST_LABEL)
    .replace(HIDDEN, '')
    .replace(/^[^\p{L}]+/u, '')
    .replace(/^(?:please|just)\s+/i, '');
  switch (effect) {
    case 'allow_once':
      return REFUSES.test(text) || LASTS.test(text);
    case 'allow_always':
      return REFUSES.test(text) || (hasOnce && ONCE.test(text));
    case 'reject_once':
    case 'reject_always':
      return ALLOWS.test(text);
    case 'other':
      return false;
  }
}

/** The most UTF-16 units of a label that are read. */
const LONGEST_LABEL = 10_000;
const REFUSES =
  /^(?:no(?:pe|t)?\b|reject|deny|decline|refuse|cancel|abort|don['’]?t\b(?! ask)|do not\b(?! ask)|never\b(?! ask)|disallow|disagree|block|stop\b(?! asking)|skip\b|dismiss|forbid|keep me safe|leave\b|quit\b|exit\b|拒绝|否|不(?!再)|取消|停止|跳过)|\b(?:reject|deny|decline|refuse)\b/i;
const ALLOWS =
  /^(?:yes\b|ok(?:ay)?\b|sure\b|allow|approve|accept|proceed|always allow|grant|run\b|continue\b(?! without)|confirm|go ahead|execute|agree|permit|允许|批准|同意|是$|好|确认|继续|执行)/i;
const LASTS = /\balways\b|\bdon['’]?t ask\b|\bdo not ask\b|\bnever ask\b|\bforever\b|\bpermanently\b|总是|始终|永久|不再询问/i;
const ONCE = /\bonce\b|\bonly this\b|\bthis time\b|一次/i;
