import type { Quirk } from '../../conversation/quirk.ts';
import type { A2aPeer } from './card.ts';

/*
 * Deviations of Gemini CLI's A2A server from A2A and the extension, seen by running it: version 0.25.2 (`early`), the only one that was
 * published, and its source of August 2026 (`later`). Each row names the transcript that fails without it (test/protocols/a2a/cases).
 */

type Generation = 'early' | 'later' | 'both';
interface A2aQuirk extends Quirk {
  readonly generation: Generation;
}

export const QUIRKS = [
  {
    id: 'untrustedTasks',
    peers: 'Gemini CLI',
    generation: 'both',
    what: 'A task that is made by a message counts as untrusted, and then uses no tool servers. One that is made by POST /tasks is as trusted as it says.',
    transcript: 'the Gemini CLI server: a task is made beforehand, since one made by a message counts as untrusted',
  },
  {
    id: 'turnHangsOnConnection',
    peers: 'Gemini CLI',
    generation: 'both',
    what: 'A turn ends when the connection of its request does. So that connection is kept, closing it is what stops a command, and nothing goes on without it.',
    transcript: 'a stop hangs up: closing the turn’s connection ends its command',
  },
  {
    id: 'abortedTaskFails',
    peers: 'Gemini CLI of August 2026',
    generation: 'later',
    what: 'A task whose turn was aborted fails with the next one.',
    transcript: 'the later generation goes on with another task after its connection was lost',
  },
  {
    id: 'cancelEndsConversation',
    peers: 'Gemini CLI 0.25.2',
    generation: 'early',
    what: 'tasks/cancel ends the task and stops nothing.',
    transcript: 'the earlier generation is stopped without a cancel, which would end the conversation',
  },
  {
    id: 'refusalStops',
    peers: 'Gemini CLI',
    generation: 'both',
    what: 'Refusing one call cancels all calls of that answer and ends the turn; the task stays usable.',
    transcript: 'refusing what waits is the gentle stop',
  },
  {
    id: 'decisionsUnconfirmed',
    peers: 'Gemini CLI',
    generation: 'both',
    what: 'It may rest without a word about a call that was allowed; its record of the task has nothing about it either.',
    transcript: 'the Gemini CLI server rests without a word about what was allowed',
  },
  {
    id: 'takesNoEdits',
    peers: 'Gemini CLI 0.25.2',
    generation: 'early',
    what: 'A decision with newContent puts the call back to waiting, and nobody can answer it again. The text is written after the call.',
    transcript: 'the earlier generation cannot be told of changes: they are written once the call is done',
  },
  {
    id: 'forgetsContext',
    peers: 'Gemini CLI',
    generation: 'both',
    what: 'A new task knows nothing of the one before it, although both have the same context.',
    transcript: 'the Gemini CLI server is told of the conversation after a stop, although the context goes on',
  },
  {
    id: 'losesHistory',
    peers: 'Gemini CLI',
    generation: 'both',
    what: 'Of each answer the record of a task holds the first piece only.',
    transcript: 'a task of the Gemini CLI server is not read for what was missed',
  },
] as const satisfies readonly A2aQuirk[];
export type QuirkId = (typeof QUIRKS)[number]['id'];
const GENERATIONS = new Map<QuirkId, Generation>(QUIRKS.map(({ id, generation }) => [id, generation]));

/** For an agent that is Gemini CLI's server; `later`: its later generation. */
export function hasQuirk(id: QuirkId, later: boolean): boolean {
  const generation = GENERATIONS.get(id);
  return generation === 'both' || (generation === 'later') === later;
}
/** The agent is Gemini CLI's server, and has this quirk in its generation. */
export function geminiHas({ agent, newer }: AgentFacts, id: QuirkId): boolean {
  return agent?.peer.dialect === 'gemini' && hasQuirk(id, newer);
}
/** The part of a conversation's state that tells which agent it is. */
interface AgentFacts {
  readonly agent: { readonly peer: Pick<A2aPeer, 'dialect'> } | null;
  readonly newer: boolean;
}
