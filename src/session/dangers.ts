import { guardReason } from '../base/guardedFiles.ts';
import { DEEPEST, readJson } from '../base/json.ts';
import { answerSays } from './answerWords.ts';
import {
  commandDangers,
  DANGER_KINDS,
  type Danger,
  type DangerKind,
  isGrave,
  isOutside,
  judgedCommand,
  STEERING_VARIABLE,
} from './commandDangers.ts';
import { codeIsGrave } from './dangerousPrograms.ts';
import type { Approval, ApprovalDetail, Diff, Option } from './model.ts';
import { relativePath, saysByTitle } from './select.ts';
import { inputText } from './shownApproval.ts';
import { statedCommands, toldCommand } from './statedCommands.ts';
import { firstHidden, firstInText, misleadingInText, visibleText, writtenOut } from './visible.ts';

const MOST_FILES = 200;
export const CHANGING: ReadonlySet<Approval['toolKind']> = new Set(['edit', 'delete', 'move']);
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
  const [changed] = ask.stale ?? [];
  if (changed) all.push({ kind: 'changed', seen: shortName(changed.path, cwd) });
  if (saysByTitle(ask) && misleads(ask.title)) all.push({ kind: 'hidden' });
  if (ask.toolKind === 'execute') all.push(...inWordsOnly(ask, cwd));
  else if (ask.toolKind === undefined || ask.toolKind === 'other') all.push(...inUntoldWords(ask, cwd));
  const own = membersOfDetail(ask.detail);
  all.push(...inMembers(ask, own, cwd));
  for (const detail of [ask.detail, ...(ask.beside ?? [])]) {
    const found = inDetail(detail, cwd);
    // Offsets in the details beside it do not apply to the command that is shown.
    all.push(...(detail === ask.detail ? found : found.map(({ at: _, ...one }) => one)));
  }
  const mayChange = ask.detail.type === 'mcp' ? !LOOKS_ONLY.test(ask.detail.tool) : CHANGING.has(ask.toolKind);
  if (mayChange && ask.detail.type !== 'edit') all.push(...(ask.paths ?? []).slice(0, MOST_FILES).flatMap((path) => inPath(path, cwd)));
  if (ask.outside || (ask.paths ?? []).slice(0, MOST_FILES).some((path) => isOutside(path, cwd))) all.push({ kind: 'outside' });
  // Without a text the user cannot see how much of a folder is deleted.
  if (ask.toolKind === 'delete') all.push(ask.detail.type === 'edit' ? { kind: 'deletes' } : { kind: 'deletes', grave: true });
  if (ask.toolKind === 'fetch')
    all.push(ask.detail.type === 'text' && own.some(sendsMore) ? { kind: 'sends', grave: true } : { kind: 'network' });
  const isSaid = all.some(({ kind }) => ON_THE_NETWORK.has(kind));
  return DANGER_KINDS.flatMap((kind) => (kind === 'network' && isSaid ? [] : (worstOf(all.filter((one) => one.kind === kind)) ?? [])));
}

/** The commands of a call that has no member for them: a title or a text may be the command. */
function inWordsOnly({ title, detail }: Approval, cwd: string): readonly Danger[] {
  if (detail.type === 'command' && detail.unsure) return graveIn(statedCommands(detail.command), cwd);
  if (detail.type !== 'text') return [];
  const words = detail.text.replaceAll(/^\s*```.*$/gm, '');
  const bare = [title, words].flatMap(statedCommands);
  const isUntold = /^[\s{}]*$/.test(words);
  const dangers = graveIn([title, words, ...bare], cwd);
  return [{ kind: 'unsure', ...(isUntold || dangers.length > 0 ? { grave: true } : {}) }, ...dangers];
}

/** The same for calls whose kind does not say that something runs: takes only what does not look like prose. */
function inUntoldWords({ title, detail }: Approval, cwd: string): readonly Danger[] {
  if (detail.type !== 'text' || detail.markdown) return [];
  const words = detail.text.slice(0, LONGEST_UNTOLD).replaceAll(/^\s*```.*$/gm, '');
  const texts = [title.slice(0, LONGEST_UNTOLD), words].flatMap((text) => [text, ...statedCommands(text)]);
  const told = toldCommand(title.slice(0, LONGEST_UNTOLD));
  const found = texts.flatMap((text) => {
    const dangers = commandDangers(text, cwd).filter(
      ({ kind, grave, at }) =>
        kind === 'root' || kind === 'pipe' || (grave && kind !== 'unsure' && at && SIGNS.test(text.slice(at.from, at.to))),
    );
    return dangers.map(({ at: _, ...danger }) => danger);
  });
  found.push(...(told === undefined ? [] : graveIn([told], cwd)));
  return found.length > 0 ? [{ kind: 'unsure', grave: true }, ...found] : [];
}
/** An option, a path or a sign between commands. */
const SIGNS = /(?:^|\s)-{1,2}\w|[|~/$;&<>]/;
const LONGEST_UNTOLD = 4000;

/** The effects of texts that are dangerous as commands; other words only look like some. */
function graveIn(texts: readonly string[], cwd: string): readonly Danger[] {
  const found = texts.map((text) => commandDangers(text, cwd)).filter(isGrave);
  return found.flat().map(({ at: _, ...danger }) => danger);
}

/** True for the member of a fetch that is sent, or asks for a change. */
function sendsMore({ name, value }: Member): boolean {
  if (/^(?:body|data|payload|form)\b/i.test(name)) return true;
  return /^method$/i.test(name) && typeof value === 'string' && !/^(?:get|head|options)$/i.test(value);
}

/** The most texts of a call's members that are judged as commands. */
const MOST_MEMBERS = 50;
/** The most UTF-16 units of them: some 50 ms. */
const MOST_MEMBER_TEXT = 60_000;
/** UTF-16 units of a call's arguments that codecs show at least, and cut behind. */
export const ARGUMENTS_KEPT = 4000;
/** A text of members may be cut from this length on: blanks at its ends may be gone. */
const SHORTEST_CUT = ARGUMENTS_KEPT - 100;
/** Names of members that something may carry out. */
export const MAY_RUN =
  /command|cmd|script|shell|bash|exec|eval|program|argv|hook|run|before|after|then|finally|^(?:pre|post|next|do|on)(?:$|[_A-Z])/i;
/**
 * Members that take a protection away, so that the user looks first. Codex's `with_escalated_permissions` and `require_escalated` are not among them:
 * it runs everything else in its sandbox without asking, so that each of its questions has one. They are shown and marked in words, and what the
 * command does decides whether the user looks first.
 */
const UNPROTECTED = /(?:^| )(?:dangerously\S*|sudo|elevated|(?:disable|no|without|skip|bypass)_?(?:the_?)?sandbox\S*)$/i;

/** Dangers in the other members of a call's input, which the agent may carry out as well. */
function inMembers({ title, detail, beside = [], toolKind }: Approval, own: readonly Member[], cwd: string): readonly Danger[] {
  const shown = [detail, ...beside].flatMap((one) => (one.type === 'text' ? [one.text] : []));
  const found = [...own, ...beside.flatMap((one) => (one.type === 'text' ? membersOfDetail(one) : []))];
  // Members beside a command or an edit whose names are not known may be a command. Elsewhere texts are mostly what is written, sent or looked for.
  const mayAllRun = (detail.type === 'command' && detail.unsure) || detail.type === 'edit';
  const isRunner = runsByName(detail.type === 'mcp' ? `${detail.server} ${detail.tool}` : detail.type === 'text' ? title : '');
  const mayRun = (name: string) => mayAllRun || MAY_RUN.test(name) || (isRunner && !WORDS_ONLY.test(name));
  const run = found.filter(({ name, value }) => value === undefined || (typeof value === 'string' && mayRun(name)));
  const isUnprotected = found.some(
    ({ name, value }) =>
      (UNPROTECTED.test(name) && value === true) ||
      (/sandbox/i.test(name) && typeof value === 'string' && /danger|full|none|\boff\b|disable/i.test(value)) ||
      STEERING_VARIABLE.test(name.split(' ').at(-1) ?? ''),
  );
  const length = run.reduce((sum, { value }) => sum + (typeof value === 'string' ? value.length : 0), 0);
  const isCut = run.some(({ value }) => value === undefined) && (mayAllRun || shown.some((text) => text.length >= SHORTEST_CUT));
  const isUnread = run.length > MOST_MEMBERS || length > MOST_MEMBER_TEXT || isCut;
  if (isUnprotected || isUnread) return [{ kind: 'unsure', grave: true }];
  const texts = run.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  const isCode = isRunner && run.some(({ name, value }) => typeof value === 'string' && CODE.test(name) && codeIsGrave(value));
  const named = run.flatMap(({ name, value }) => (typeof value === 'string' && (mayAllRun || MAY_RUN.test(name)) ? [value] : []));
  const dangers: readonly Danger[] = [
    ...graveIn(named, cwd),
    // Other words look like no command where a quote has no end.
    ...graveIn(
      texts.filter((text) => !named.includes(text)),
      cwd,
    ).filter(({ kind }) => kind !== 'unsure'),
    ...(isCode ? [{ kind: 'code', grave: true } as const] : []),
  ];
  if (dangers.length > 0) return [{ kind: 'unsure', grave: true }, ...dangers];
  const isBesideEdit = detail.type === 'edit' || toolKind === 'edit';
  return isBesideEdit && texts.length > 0 ? [{ kind: 'unsure' }] : [];
}

/** Words in the names of tools that run what they are given. */
const RUNNERS = new Set(
  'run exec execute eval evaluate interpret interpreter repl shell bash zsh sh cmd command commands powershell terminal console script process spawn python node'.split(
    ' ',
  ),
);
function runsByName(name: string): boolean {
  const words = name
    .slice(0, LONGEST_NAME)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return words.split(/[^a-z]+/).some((word) => RUNNERS.has(word));
}
const LONGEST_NAME = 200;
/** Members of such a tool that are for people, or for a model. */
const WORDS_ONLY = /(?:^| )(?:description|reason|explanation|comment|message|prompt|title|summary|label|thought|justification)$/i;
const CODE = /(?:^| )(?:code|source|snippet|function|expression|script|python|javascript|js|text|input)$/i;

function membersOfDetail(detail: ApprovalDetail): readonly Member[] {
  if (detail.type === 'text') return membersIn(detail.text);
  return detail.type === 'mcp' ? membersOf(detail.input) : [];
}

interface Member {
  /** Its own name and those around it. */
  readonly name: string;
  /** Undefined where the text was cut. */
  readonly value: string | boolean | undefined;
}
/** Members as codecs write them: as JSON, or as lines of a name and JSON. */
function membersIn(text: string): readonly Member[] {
  const from = text.search(/^\{/m);
  if (from < 0)
    return text.split('\n').flatMap((line) => {
      const [, name = '', json] = /^([\w$.-]+): (["{[].*|true)$/.exec(line) ?? [];
      return json === undefined ? [] : membersOf(readJson(json), name);
    });
  const value = readJson(text.slice(from));
  return value === undefined ? [{ name: '', value }] : membersOf(value);
}
/** Lists of texts as one line, as arguments are. */
function membersOf(value: unknown, name = '', levels = DEEPEST): readonly Member[] {
  if (typeof value === 'string' || typeof value === 'boolean') return [{ name, value }];
  if (levels === 0 || typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return [{ name, value: value.join(' ') }];
  return [
    ...withArguments(value, name),
    ...Object.entries(value).flatMap(([key, one]) => membersOf(one, Array.isArray(value) ? name : `${name} ${key}`.trim(), levels - 1)),
  ];
}

/** A program and its arguments, in members of their own, as one command. */
function withArguments(value: object, name: string): readonly Member[] {
  const entries: readonly (readonly [string, unknown])[] = Object.entries(value);
  const program = entries.find(([key, one]) => /^(?:command|cmd|program|executable|binary)$/i.test(key) && typeof one === 'string');
  const args = entries.find(([key]) => /^(?:args|arguments|argv|params|parameters)$/i.test(key))?.[1];
  if (!program || !Array.isArray(args)) return [];
  const words = args.map((one) => (/^[\w./:=@%+,-]+$/.test(String(one)) ? String(one) : `'${String(one).replaceAll("'", "'\\''")}'`));
  return [{ name: `${name} command`, value: [program[1], ...words].join(' ') }];
}

function worstOf(all: readonly Danger[]): Danger | undefined {
  return all.find((one) => isGrave([one])) ?? all[0];
}

function inDetail(detail: ApprovalDetail, cwd: string): readonly Danger[] {
  switch (detail.type) {
    case 'command': {
      const place: readonly Danger[] = detail.cwd !== undefined && isOutside(detail.cwd, cwd) ? [{ kind: 'outside' }] : [];
      return [...(detail.unsure ? [{ kind: 'unsure' } as const] : []), ...place, ...judgedCommand(detail, cwd).dangers];
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
        ...inChanges(detail.diffs, cwd),
        ...(detail.diffs.length > MOST_FILES ? [{ kind: 'unsure', grave: true } as const] : []),
      ];
    case 'mcp':
      return misleads(detail.server) || misleads(detail.tool)
        ? [{ kind: 'hidden' }]
        : [...inText(inputText(detail.input)), ...byTool(detail)];
    case 'text':
      return inText(detail.text);
  }
}

/** The effects that the name of a server's tool and the statements it is given tell of. */
function byTool({ tool, input }: Extract<ApprovalDetail, { type: 'mcp' }>): readonly Danger[] {
  const drops = membersOf(input).some(({ value }) => typeof value === 'string' && DROPS.test(value.slice(0, LONGEST_STATEMENT)));
  return [
    ...(DELETES.test(tool) ? [{ kind: 'deletes', grave: true } as const] : []),
    ...(STOPS.test(tool) ? [{ kind: 'stops', grave: true } as const] : []),
    ...(drops ? [{ kind: 'data', grave: true } as const] : []),
  ];
}
const DELETES = /(?:^|[_.-])(?:delete|remove|rm|unlink|purge|destroy|drop|erase|wipe|uninstall|reset|truncate)(?:$|[_.-]|(?=[A-Z]))/;
const STOPS = /(?:^|[_.-])(?:terminate|shutdown|reboot|kill)(?:$|[_.-]|(?=[A-Z]))/;
const DROPS = /\b(?:drop|truncate)\s+(?:table|database|schema|collection)\b|\bdelete\s+from\b/i;
const LONGEST_STATEMENT = 20_000;
/** Tools that change nothing, by the first word of their names. */
const LOOKS_ONLY =
  /^(?:read|get|list|search|find|show|view|fetch|describe|stat|tree|glob|grep|head|cat|open|browse|directory|info)(?:$|[_.-]|(?=[A-Z]))/;

/** The most UTF-16 units of changed texts in which characters that mislead are looked for. */
const LONGEST_CHANGES = 4_000_000;

/** The first character that misleads in the text that changes would add. */
function inChanges(diffs: readonly Diff[], cwd: string): readonly Danger[] {
  let left = LONGEST_CHANGES;
  for (const { path, before, after, summary } of diffs) {
    if (summary || after === null) continue;
    left -= after.length;
    if (left < 0) return [{ kind: 'unsure', grave: true, long: after.length }];
    const found = firstAdded(before ?? '', after);
    if (!found) continue;
    const line = after.slice(0, found.index).split('\n').length;
    return [{ kind: 'hidden', seen: `${writtenOut(found.character)} ${shortName(path, cwd)}:${line}` }];
  }
  return [];
}

function shortName(path: string, cwd: string): string {
  return [...visibleText(relativePath(path, cwd))].slice(-60).join('');
}

/** The first character that misleads in a line that the text before does not have. */
function firstAdded(before: string, after: string): { readonly index: number; readonly character: string } | undefined {
  let known: ReadonlySet<string> | undefined;
  const pattern = misleadingInText();
  for (let found = pattern.exec(after); found; found = pattern.exec(after)) {
    const { index, 0: character } = found;
    const end = endOfLine(after, index);
    known ??= new Set(before.split('\n'));
    if (!known.has(after.slice(after.lastIndexOf('\n', index) + 1, end))) return { index, character };
    // The rest of a line is known with it.
    pattern.lastIndex = end;
  }
  return undefined;
}

/** The same in a text that is shown as it is. */
function inText(text: string): readonly Danger[] {
  const seen = firstInText(text.slice(0, LONGEST_CHANGES));
  return seen === undefined ? [] : [{ kind: 'hidden', seen }];
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

function misleads(text: string): boolean {
  return firstHidden(text) !== undefined;
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

/** True for a name of the agent's that does not say that it allows: nothing chooses it before the user has looked. */
export function isUnclear(option: Option, { ours }: Approval): boolean {
  return !ours && option.label !== '' && answerSays(option).unclear;
}

/** True for a name that contradicts its effect, in any language or letters that look like it, or whose letters are of two scripts that look alike. */
function isMisleading(option: Option, hasOnce: boolean): boolean {
  const { refuses, allows, allowsTheRest, lasts, once, forged } = answerSays(option);
  switch (option.effect) {
    case 'allow_once':
      return forged || refuses || lasts;
    case 'allow_always':
      return forged || refuses || (hasOnce && once);
    case 'reject_once':
    case 'reject_always':
      return forged || allows || allowsTheRest;
    case 'other':
      return false;
  }
}
