import type { SessionEvent } from './events.ts';

/** Joins adjacent deltas of one part. Reducing the result gives the same session. */
export function joinTextDeltas(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const joined: SessionEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const both = last && joinedWith(last, event);
    if (both) joined[joined.length - 1] = both;
    else joined.push(event);
  }
  return joined;
}

function joinedWith(last: SessionEvent, next: SessionEvent): SessionEvent | undefined {
  if (
    last.type === 'text.delta' &&
    next.type === 'text.delta' &&
    last.partId === next.partId &&
    last.turnId === next.turnId &&
    last.kind === next.kind
  ) {
    return { ...last, text: last.text + next.text };
  }
  if (last.type === 'call.inputDelta' && next.type === 'call.inputDelta' && last.callId === next.callId && last.turnId === next.turnId) {
    return { ...last, text: last.text + next.text };
  }
  if (last.type === 'terminal.changed' && next.type === 'terminal.changed' && last.terminal.id === next.terminal.id && !next.reset) {
    return { ...last, terminal: { ...last.terminal, ...next.terminal }, delta: (last.delta ?? '') + (next.delta ?? '') };
  }
  return undefined;
}
