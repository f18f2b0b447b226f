import type { Option } from '../../session/model.ts';

/** One way to answer, as the agent names it. */
export interface Offered {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
}

const BROAD = /always|session|server|tool|for ?ever|remember|trust|from now on|\b(all|every\w*)\b/i;
/** "Yes, and don't ask again" refuses nothing. */
const NO_QUESTIONS = /(don.?t|do not|never|not) asks?\b( me)?( again)?|without asking/gi;
const REJECTS = /cancel|reject|den(y|ied)|\bno$|^no\b|abort|disallow|refuse|skip|decline|\b(don.?t|not|never)\b/i;
const ALLOWS = /once|^(allow|approve|accept|proceed|yes|ok|run)( it)?$/i;

/**
 * What each option does, in their order. The RFC has no kinds (a2a.md §6): the ids are the agent's own, and where they say nothing its words do.
 * Where none plainly says once, and it is plain which refuse, the first of the others that is not meant for longer is the one for this once.
 * Everything else that is unclear counts as allowing for longer, which no rule chooses.
 */
export function effectsOf(options: readonly Offered[]): readonly Option['effect'][] {
  const said = options.map(({ id, name }) => effectSaid(id, name ?? ''));
  const first = said.some((one) => one?.startsWith('reject')) && !said.includes('allow_once') ? said.indexOf(undefined) : -1;
  return said.map((one, at) => one ?? (at === first ? 'allow_once' : 'allow_always'));
}

/** undefined: an allowance, and unclear for how long. */
function effectSaid(id: string, name: string): Option['effect'] | undefined {
  const [ownId, ownName] = [id.replace(NO_QUESTIONS, ' '), name.replace(NO_QUESTIONS, ' ')];
  const broad = BROAD.test(id) || BROAD.test(name) || ownId !== id || ownName !== name;
  const says = REJECTS.test(ownId) || ALLOWS.test(ownId) ? ownId : ownName;
  if (REJECTS.test(says)) return broad ? 'reject_always' : 'reject_once';
  if (broad) return 'allow_always';
  return ALLOWS.test(says) ? 'allow_once' : undefined;
}
