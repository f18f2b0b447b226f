import { parseJson } from '../base/json.ts';
import { t } from '../base/l10n.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Session } from '../session/model.ts';
import { reduce } from '../session/reduce.ts';
import { eventOf } from './journal/schema.ts';

/** Events that would do something in the session a recording becomes: prompts that wait, open questions, another conversation to go on with. */
const ACTING: ReadonlySet<string> = new Set(['queue.set', 'ask.opened', 'resume.set']);

/**
 * `start` with what a recording (`--record` without an editor) tells: one JSON object a line, of which those with an `event` are applied. Undefined
 * when it holds no event. Lines that cannot be read change nothing. What runs at its end is cut off there.
 */
export function sessionOfRecording(text: string, start: Session): Session | undefined {
  let session = start;
  let events = 0;
  for (const line of text.split('\n')) {
    const value = parsed(line);
    const event = typeof value === 'object' && value !== null && 'event' in value ? eventOf(value.event) : undefined;
    if (!event) continue;
    events += 1;
    if (!ACTING.has(event.type)) session = applied(session, event);
  }
  if (events === 0) return undefined;
  const at = session.turns.at(-1)?.startedAt ?? 0;
  return {
    ...applied(session, { type: 'link.closed', reason: t('Interrupted: the window or the agent was closed.'), at }),
    link: { state: 'recorded' },
  };
}

/** The events that make a session like this one of a new one: its title, its turns with their files, and the output of its commands. */
export function* recordedEvents({ title, turns, terminals }: Session): Generator<SessionEvent> {
  if (title !== '') yield { type: 'title.set', title, chosen: true };
  for (const { tail, dropped: _, ...terminal } of terminals) yield { type: 'terminal.changed', terminal, delta: tail };
  for (const turn of turns) {
    const { id: turnId, stop, error, forgotten, unlisted } = turn;
    yield { type: 'turn.started', turnId, at: turn.startedAt, prompt: turn.prompt };
    if (turn.sender !== undefined) yield { type: 'turn.sender', turnId, sender: turn.sender };
    if (turn.retries !== undefined) yield { type: 'turn.retries', turnId, failed: turn.retries };
    for (const part of turn.parts) yield { type: 'part.added', turnId, part };
    if (turn.status !== 'running')
      yield {
        type: 'turn.ended',
        turnId,
        at: turn.endedAt ?? turn.startedAt,
        status: turn.status,
        ...(stop === undefined ? {} : { stop }),
        ...(error ? { error } : {}),
        ...(forgotten ? { forgotten } : {}),
      };
    if (turn.files) yield { type: 'turn.files', turnId, files: turn.files, ...(unlisted ? { unlisted } : {}) };
  }
}

function parsed(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}

/** Returns the session unchanged when the reducer throws on a well-formed event. */
function applied(session: Session, event: Parameters<typeof reduce>[1]): Session {
  try {
    return reduce(session, event);
  } catch {
    return session;
  }
}
