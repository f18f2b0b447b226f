import type { Part, TurnId } from '../../session/model.ts';
import type { Calls } from './calls.ts';
import type { LeftTurn } from './kept.ts';
import type { Shown } from './shown.ts';
import type { Snapshot } from './snapshot.ts';
import type { TurnScene } from './timing.ts';

interface ReopenScene extends TurnScene {
  readonly turnId: TurnId;
  readonly calls: Calls;
  readonly shown: Shown;
}

/** Shows a turn as an earlier window left it, so that what it missed follows and its calls go on where they stood. */
export function reopen({ turn, kept }: LeftTurn, { scene, memory, turnId, calls, shown }: ReopenScene): void {
  const ids = new Map(turn.parts.map((part) => [part.id, scene.newId()]));
  const renamed = (id: string) => ids.get(id) ?? id;
  const named = kept.calls.map(([id, partId, status]) => [id, renamed(partId), status] as const);
  const parts = turn.parts.map((part) => again(part, renamed(part.id), named.find((one) => one[1] === renamed(part.id))?.[2]));
  const apart = kept.known.apart.map(([partId, work]): [string, string] => [renamed(partId), work]);
  memory.known.restore({ ...kept.known, apart }, parts, named);
  for (const part of parts) scene.emit({ type: 'part.added', turnId, part });
  for (const [id, partId, status] of named) {
    const part = parts.find((one) => one.id === partId);
    if (part?.kind === 'call') calls.restore(id, part.call, status);
  }
  const last = parts.at(-1);
  if (last?.kind !== 'text') return;
  // A plain agent's messages stand for themselves; a work that grows is known by its own name.
  const message = memory.peer.dialect === 'plain' ? kept.known.names.at(-1)?.[0].replace(/^text /, '') : undefined;
  shown.goOn(last.id, new Map(apart).get(last.id) || message);
}

/** The end of the window ended its calls, not the agent. */
function again(part: Part, id: string, status: Snapshot['status'] | undefined): Part {
  if (part.kind !== 'call') return { ...part, id };
  const cut = part.call.status === 'cancelled' && status !== undefined && status !== 'cancelled';
  return { ...part, id, call: { ...part.call, id, ...(cut ? { status: status === 'waiting' ? 'pending' : status } : {}) } };
}
