import { t } from '../base/l10n.ts';
import { type Danger, isGrave } from './commandDangers.ts';
import { CHANGING, dangersOf, isUnclear, misleadingOptions } from './dangers.ts';
import { isUnplaced } from './diffs.ts';
import { namesAll } from './earlierAnswers.ts';
import type { Answer } from './intents.ts';
import type { Approval, Ask, Option, Session } from './model.ts';
import type { ApprovalRule } from './policy.ts';
import { byPath, forSession, optionName, rejection } from './select.ts';
import { isAllLeftOut } from './shownApproval.ts';
import { sessionRule, suggestedRules } from './suggestedRules.ts';

/** The keys of answers, the same for every agent: once, session (or wider), always, reject, feedback. */
export type AnswerLetter = 'A' | 'S' | 'W' | 'R' | 'F';

/** One answer to an approval as every surface shows it. */
export interface ApprovalAnswer {
  /** Stays the same for the same answer of the same ask. */
  readonly id: string;
  /**
   * `option` gives the answer. `feedback` asks for words first and then gives its option. `session` allows once and adds a rule of ours for the
   * session. `always` opens the rule editor and gives no answer by itself. `stop` ends the turn, which settles the ask: for agents that offer no clear
   * refusal.
   */
  readonly does:
    | { readonly kind: 'option'; readonly option: Option }
    | { readonly kind: 'feedback'; readonly option: Option; readonly way: FeedbackWay }
    | { readonly kind: 'session'; readonly option: Option; readonly rule: ApprovalRule }
    | { readonly kind: 'always' }
    | { readonly kind: 'stop' };
  readonly means: 'once' | 'wider' | 'always' | 'reject' | 'feedback' | 'other';
  readonly label: string;
  /** The scope of the answer, or the agent's own words where our label does not convey them. */
  readonly description?: string;
  readonly letter?: AnswerLetter;
}

/** How feedback with a rejection reaches the agent: with the answer, or in the next prompt. */
export type FeedbackWay = 'answer' | 'next';

/** Returns undefined where no agent asks: a rejection needs no feedback then. */
export function feedbackWay(ask: Approval, agentTakesFeedback: boolean): FeedbackWay | undefined {
  if (ask.wordless) return ask.ours ? undefined : 'next';
  return ask.ours || agentTakesFeedback ? 'answer' : 'next';
}

/** The facts besides an approval on which its answers depend. */
export interface AnswerSetting {
  readonly cwd: string;
  /** The agent takes feedback with a rejection. */
  readonly feedback: boolean;
}

/** The answers of an approval as a surface shows them. */
export interface ApprovalAnswers {
  readonly dangers: readonly Danger[];
  /**
   * No answer that allows gets the focus or looks preferred, so that the user looks first: dangers, an unseen change, or an unclear name. On a card
   * also what the pick shows cut.
   */
  readonly grave: boolean;
  /** In one order for every agent. */
  readonly answers: readonly ApprovalAnswer[];
  /** The answer that Accept gives; absent where no answer clearly means "allow this once". */
  readonly once?: ApprovalAnswer;
  readonly reject?: ApprovalAnswer;
}

/** True where there is more to choose from than allowing once, rejecting and feedback. */
export function hasMoreAnswers({ answers, once, reject }: ApprovalAnswers): boolean {
  return answers.some((one) => one !== once && one !== reject && one.means !== 'feedback');
}

/** True where one diff shows all that an answer is about: the change of one file, at its place. */
export function isOneDiff({ detail, beside = [] }: Approval): boolean {
  return detail.type === 'edit' && beside.length === 0 && byPath(detail.diffs).length === 1 && !isUnplaced(detail.diffs);
}

/** The number of answers shown ahead of the rest. */
export const MOST_ANSWERS = 5;

/**
 * The answers in one order: once, wider, always, reject, feedback, then those without a standard meaning. Where the meaning is standard the label is
 * ours; the agent's words are shown beside it when they say something else. Labels that contradict their effect count as unknown.
 */
export function approvalAnswers(ask: Approval, { cwd, feedback }: AnswerSetting): ApprovalAnswers {
  const misleading = misleadingOptions(ask);
  const clear = ask.options.filter((option) => !misleading.has(option));
  const by = (effect: Option['effect']) => clear.filter((option) => option.effect === effect);
  const standard = isStandard(ask, clear);
  const allowing = by('allow_once');
  const found = dangersOf(ask, cwd);
  const grave = isGrave(found);
  const [once] = allowing.length === 1 && !(ask.detail.type === 'text' && ask.detail.unknown) ? allowing : [];
  const offered = by('allow_always');
  const lasts = allowing.length === 0 && !ask.ours && offered.length > 0 && (found.length > 0 || isChange(ask));
  const rule = once && standard && !grave ? sessionRule(suggestedRules(ask, cwd)) : undefined;
  // The answer to one command must not cover every later one: dangerous ones would come without a question.
  const command = ask.detail.type === 'command' ? ask.detail.command : undefined;
  const isReplaced = (option: Option) => isTooWide(option, ask) || (rule && command !== undefined && namesAll(option.label, command));
  const wider = offered
    .filter((option) => !isReplaced(option) && !(grave && once))
    .sort((one, other) => Number(isBroad(one)) - Number(isBroad(other)));
  const refusing = rejection({ ...ask, options: clear });
  const answers: ApprovalAnswer[] = [
    ...allowing.map((option) => answerOf(option, 'once', option === once && standard ? t('Allow once') : undefined)),
    ...wider.map((option) =>
      naming(command, answerOf(option, 'wider', onlyLasting(option, ask) ?? (standard ? widerLabel(option) : undefined))),
    ),
    ...(once && rule && wider.length === 0 ? [sessionAnswer(once, rule.rule, rule.covers)] : []),
    ...(rule ? [{ id: 'always', does: { kind: 'always' } as const, means: 'always' as const, label: t('Always allow…') }] : []),
    ...by('reject_once').map((option) => answerOf(option, 'reject', option === refusing && standard ? t('Reject') : undefined)),
    ...by('reject_always').map(lastingRejection),
  ];
  const way = feedbackWay(ask, feedback);
  if (way && refusing) {
    const label = t('Reject with feedback…');
    answers.push({ id: 'feedback', does: { kind: 'feedback', option: refusing, way }, means: 'feedback', label });
  }
  const stops = !refusing && !ask.ours && ask.turnId !== undefined;
  if (stops) answers.push({ id: 'stop', does: { kind: 'stop' }, means: 'reject', label: t('Reject and stop the turn') });
  const unclear = ask.options.filter((option) => option.effect === 'other' || misleading.has(option));
  answers.push(...unclear.map((option) => (misleading.has(option) ? contradiction(option) : answerOf(option, 'other', undefined))));
  // Nothing is left that could be allowed, and rejecting does just that.
  const lettered = withLetters(refusalOfNothing(ask) ? answers.filter(({ means }) => !ALLOWING.has(means)) : answers);
  const find = (option: Option | undefined) => lettered.find(({ does }) => does.kind === 'option' && does.option === option);
  const [onceAnswer, rejectAnswer] = [once && find(once), refusing ? find(refusing) : lettered.find(({ does }) => does.kind === 'stop')];
  return {
    dangers: lasts ? [...found, { kind: 'lasting' }] : found,
    grave: grave || isUnseen(ask) || (once !== undefined && isUnclear(once, ask)),
    answers: lettered,
    ...(onceAnswer ? { once: onceAnswer } : {}),
    ...(rejectAnswer ? { reject: rejectAnswer } : {}),
  };
}

/** True for a change that no diff shows, or not where it would be made. */
function isUnseen({ detail, beside = [], toolKind }: Approval): boolean {
  const edits = [detail, ...beside].filter((one) => one.type === 'edit');
  return edits.length === 0 ? toolKind === 'edit' : edits.some(({ diffs }) => diffs.length === 0 || isUnplaced(diffs));
}

/**
 * The agent's own "always" for edits would cover guarded files later, and the agent would not ask any more. A rule of ours replaces it,
 * which does not cover them. An agent that knows no narrower way to allow keeps it.
 */
export function isTooWide({ effect }: Option, ask: Approval): boolean {
  return effect === 'allow_always' && ask.options.some((one) => one.effect === 'allow_once') && isChange(ask);
}
function isChange({ detail, beside = [], toolKind }: Approval): boolean {
  return CHANGING.has(toolKind) || [detail, ...beside].some((one) => one.type === 'edit');
}
export function answersIn(session: Pick<Session, 'cwd' | 'link'>, ask: Approval): ApprovalAnswers {
  return approvalAnswers(ask, answerSetting(session));
}

export function answerSetting({ cwd, link }: Pick<Session, 'cwd' | 'link'>): AnswerSetting {
  return { cwd, feedback: link.state === 'ready' && link.offers.feedback === true };
}

/** The first answers, at most five, and the rest; the rest keeps its order. A wider scope gives way before a refusal does. */
export function firstAnswers(answers: readonly ApprovalAnswer[]): {
  readonly first: readonly ApprovalAnswer[];
  readonly more: readonly ApprovalAnswer[];
} {
  if (answers.length <= MOST_ANSWERS) return { first: answers, more: [] };
  const lettered = answers.filter((one) => one.letter !== undefined);
  const others = answers.filter((one) => one.letter === undefined).slice(0, Math.max(0, MOST_ANSWERS - lettered.length));
  const first = answers.filter((one) => lettered.includes(one) || others.includes(one)).slice(0, MOST_ANSWERS);
  return { first, more: answers.filter((one) => !first.includes(one)) };
}

function answerOf(option: Option, means: ApprovalAnswer['means'], ours: string | undefined): ApprovalAnswer {
  const said = optionName(option);
  const label = ours ?? said;
  const isOurs = ours !== undefined && !ours.endsWith('”');
  const described = [isOurs ? beyondLabel(said, ours) : '', option.description ?? ''].filter(Boolean).join(' · ');
  const description = described || (isOurs && option.effect === 'allow_always' ? t('the agent decides how far') : '');
  return { id: `option:${option.id}`, does: { kind: 'option', option }, means, label, ...(description === '' ? {} : { description }) };
}

/** The command itself in the place of "this command". */
function naming(command: string | undefined, answer: ApprovalAnswer): ApprovalAnswer {
  if (command === undefined || !/^“(?:allow |always |approve |run ){0,2}this command”$/i.test(answer.description ?? '')) return answer;
  return { ...answer, description: optionName({ id: '', label: command, effect: 'allow_always' }) };
}

/** Labels a rejection that also applies later, for which a plain "No" would be unclear. */
function lastingRejection(option: Option): ApprovalAnswer {
  const answer = answerOf(option, 'reject', undefined);
  if (!isPlainWord(answer.label)) return answer;
  return { ...answer, description: [t('Reject'), t('the agent decides how far')].join(', ') };
}

/** An answer in the agent's words, together with the effect that the agent states for it. */
function contradiction(option: Option): ApprovalAnswer {
  return { ...answerOf(option, 'other', undefined), label: contradictionLabel(option) };
}

function contradictionLabel(option: Option): string {
  const effect = option.effect === 'allow_once' ? t('Allow once') : option.effect === 'allow_always' ? t('Allow from now on') : t('Reject');
  const said = optionName(option);
  // A host of agents may have marked it already.
  return said.endsWith(`⚠ ${effect}`) ? said : `${said} ⚠ ${effect}`;
}

/** The name of an option for a client that shows agents' options itself: it mentions an effect that is wider than the name, or another. */
export function clientLabel(option: Option, ask: Approval): string {
  return misleadingOptions(ask).has(option) ? contradictionLabel(option) : (onlyLasting(option, ask) ?? (option.label || option.id));
}

function sessionAnswer(option: Option, rule: ApprovalRule, covers: string): ApprovalAnswer {
  return {
    id: 'session',
    does: { kind: 'session', option, rule },
    means: 'wider',
    label: t('Allow for this session'),
    description: covers,
  };
}

/** Letters go to answers that are the only ones of their meaning, or the first. */
function withLetters(answers: readonly ApprovalAnswer[]): readonly ApprovalAnswer[] {
  const letters: Readonly<Partial<Record<ApprovalAnswer['means'], AnswerLetter>>> = {
    once: 'A',
    wider: 'S',
    always: 'W',
    reject: 'R',
    feedback: 'F',
  };
  const given = new Set<AnswerLetter>();
  return answers.map((one) => {
    const letter = letters[one.means];
    if (!letter || given.has(letter)) return one;
    given.add(letter);
    return { ...one, letter };
  });
}

/** True for an action of a known kind, so that allowing and rejecting it mean the same with every agent. */
function isStandard({ detail, toolKind, options, ours }: Approval, clear: readonly Option[]): boolean {
  const count = (effect: Option['effect']) => clear.filter((one) => one.effect === effect).length;
  // A clear Reject suffices beside misleading answers.
  if (count('allow_once') !== 1 && !(count('allow_once') === 0 && clear.length < options.length)) return false;
  if (count('reject_once') > 1) return false;
  if (detail.type !== 'text') return true;
  return !detail.unknown && !detail.markdown && !ours && toolKind !== undefined && toolKind !== 'think' && toolKind !== 'other';
}

/** Our words where the agent states how long it remembers, otherwise its own. "Always allow…" is about rules of ours. */
function widerLabel(option: Option): string | undefined {
  if (forSession(`${option.label} ${option.description ?? ''}`)) return t('Allow for this session');
  return /^(?:(?:yes|ok|allow|approve|accept|always)[\s,:-]*)*$/i.test(option.label.trim()) ? t('Allow from now on') : undefined;
}

/** The label of an option that lasts, where nothing allows only once: it describes what the agent will do, whatever the agent calls it. */
function onlyLasting(option: Option, ask: Approval): string | undefined {
  const misleading = misleadingOptions(ask);
  const allowing = ask.options.filter((one) => !misleading.has(one) && one.effect.startsWith('allow'));
  // Our own asks already have accurate labels.
  if (ask.ours || option.effect !== 'allow_always' || allowing.some((one) => one.effect === 'allow_once')) return undefined;
  const label = widerLabel(option) ?? t('Allow from now on');
  const said = optionName(option);
  // The label of a host of agents may already begin with these words.
  if (said.startsWith(label)) return said;
  const words = beyondLabel(said, label);
  return words === '' ? label : `${label}: ${words}`;
}

/** The part of the agent's words that our label lacks: without a yes or no in front, and without the session where the label names it. */
function beyondLabel(said: string, ours: string): string {
  const bare = said.replace(/^(?:yes|ok|no)\b,?\s+(?:and\s+)?/i, '');
  if (isPlainWord(said) || isPlainWord(bare) || said.toLowerCase() === ours.toLowerCase()) return '';
  const isSession = ours === t('Allow for this session');
  return `“${isSession ? bare.replace(/\s+(?:during|for|in)\s+(?:this|the)\s+(?:session|conversation)$/i, '') : bare}”`;
}

/** True for an option that covers more than the tool at hand; it sorts after those that do not. */
function isBroad({ label }: Option): boolean {
  return /\b(?:all|any|every\w*|server|user|global(?:ly)?)\b|全部|所有/i.test(label);
}

const PLAIN = new Set([
  ...['allow', 'allow once', 'allow this', 'approve', 'approve once', 'accept', 'yes', 'ok', 'proceed', 'proceed once', 'run', 'once'],
  ...['always', 'allow always', 'always allow', 'approve for session', 'approve for this session', 'allow for this session'],
  ...['reject', 'reject once', 'deny', 'decline', 'no', 'cancel', "don't allow", 'do not allow'],
  ...['允许', '允许一次', '批准', '同意', '是', '拒绝', '否', '取消', '总是允许', '始终允许', '在本次会话中允许'],
]);

function isPlainWord(label: string): boolean {
  return PLAIN.has(label.trim().toLowerCase().replace(/[.!]$/, ''));
}

const ALLOWING: ReadonlySet<ApprovalAnswer['means']> = new Set(['once', 'wider', 'always']);

/** The refusal in the place of the answers that allow an edit of which the user has left nothing; undefined for any other ask. */
function refusalOfNothing(ask: Approval, edited?: string): Option | undefined {
  if (!isAllLeftOut(ask, edited)) return undefined;
  const misleading = misleadingOptions(ask);
  return ask.options.find((option) => option.effect === 'reject_once' && !misleading.has(option));
}

/** The answer to give for the user's: allowing once an edit of which nothing is left rejects it, where it can be rejected. */
export function asRejection(ask: Ask, answer: Answer): Answer {
  if (ask.kind !== 'approval' || answer.kind !== 'option' || answer.rule) return answer;
  if (ask.options.find((option) => option.id === answer.optionId)?.effect !== 'allow_once') return answer;
  const refusal = refusalOfNothing(ask, answer.edited);
  return refusal ? { kind: 'option', optionId: refusal.id } : answer;
}
