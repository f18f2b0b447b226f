import type { SessionEvent } from '../../../session/events.ts';
import type { TurnId } from '../../../session/model.ts';
import { resultEvents } from '../message/results.ts';
import { Transcript } from '../message/transcript.ts';
import type { Entry } from './entry.ts';

/** A kept conversation as events: a turn for each thing the user said, named by its own id, with all that came of it. */
export function replay(entries: readonly Entry[], cwd: string): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  let parts = 0;
  const newPart = () => {
    parts += 1;
    return `past-${parts}`;
  };
  const transcript = new Transcript(() => cwd, newPart);
  let turnId: TurnId | undefined;
  let at = 0;
  const end = (status: 'done' | 'cancelled') => {
    if (turnId === undefined) return;
    transcript.endTurn();
    events.push({ type: 'turn.ended', turnId, at, status });
    turnId = undefined;
  };
  const begin = (entry: Entry, text: string) => {
    end('done');
    turnId = entry.id;
    events.push({ type: 'turn.started', turnId, at: entry.at, prompt: text === '' ? [] : [{ type: 'text', text }] });
    return turnId;
  };
  for (const entry of entries) {
    const { said } = entry;
    if (!said) continue;
    if (said.who === 'person') begin(entry, said.text);
    at = entry.at;
    if (said.who === 'stop') end('cancelled');
    if (said.who === 'agent') events.push(...transcript.assistant(said.line, turnId ?? begin(entry, '')));
    if (said.who === 'tool' && turnId !== undefined && typeof said.line.message.content !== 'string') {
      for (const block of said.line.message.content) {
        if (!block.tool_use_id) continue;
        const use = transcript.call(block.tool_use_id)?.use;
        transcript.setStatus(block.tool_use_id, block.is_error ? 'failed' : 'done');
        // What a file held before is long gone: only the agent's own account of an edit is shown.
        const how = { use, before: undefined, refused: false, stopping: false };
        events.push(...resultEvents(block, said.line, turnId, how, cwd));
      }
    }
  }
  end('done');
  return events;
}
