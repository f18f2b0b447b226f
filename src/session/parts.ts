import type { CallChange, SessionEvent } from './events.ts';
import type { Approval, Ask, CallId, Decision, Diff, Output, Part, PartId, Question, ToolCall, Turn } from './model.ts';

/** Changes of one turn's parts. Each gives the same turn back when nothing changes. */

export function addPart(turn: Turn, part: Part, at?: number): Turn {
  if (indexOf(turn, part.id) >= 0) return turn;
  const added = part.kind === 'call' ? { ...part, call: timed(undefined, part.call, at) } : part;
  return withPart(endThought(turn, at), -1, added);
}

/** The thought at the end is over once something follows it. */
export function endThought(turn: Turn, at: number | undefined): Turn {
  const last = turn.parts.at(-1);
  if (at === undefined || last?.kind !== 'thought' || last.startedAt === undefined || last.endedAt !== undefined) return turn;
  return withPart(turn, turn.parts.length - 1, { ...last, endedAt: at });
}

/** Notes when a call begins to run and when it ends. One that waits for an answer has not begun. */
function timed(before: ToolCall | undefined, call: ToolCall, at: number | undefined): ToolCall {
  if (at === undefined || call.status === before?.status) return call;
  if (call.status === 'running') return { ...call, startedAt: at };
  if (call.status === 'waiting') {
    const { startedAt: _, ...waiting } = call;
    return waiting;
  }
  return isSettled(call) && call.startedAt !== undefined ? { ...call, endedAt: at } : call;
}

export function removeParts(turn: Turn, ids: readonly PartId[]): Turn {
  const removed = new Set(ids);
  const parts = turn.parts.filter((part) => !removed.has(part.id));
  return parts.length === turn.parts.length ? turn : { ...turn, parts };
}

export function growText(turn: Turn, event: Extract<SessionEvent, { type: 'text.delta' }>): Turn {
  if (event.text === '') return turn;
  const at = indexOf(turn, event.partId);
  const part = turn.parts[at];
  if (!part) {
    const parent = event.parent === undefined ? {} : { parent: event.parent };
    const base = { id: event.partId, ...parent, text: event.text };
    const startedAt = event.at === undefined ? {} : { startedAt: event.at };
    return withPart(
      endThought(turn, event.at),
      -1,
      event.kind === 'text' ? { kind: 'text', ...base } : { kind: 'thought', ...base, ...startedAt },
    );
  }
  if (part.kind !== event.kind) return turn;
  return withPart(turn, at, { ...part, text: part.text + event.text });
}

export function setText(turn: Turn, id: PartId, text: string): Turn {
  const at = indexOf(turn, id);
  const part = turn.parts[at];
  if ((part?.kind !== 'text' && part?.kind !== 'thought') || part.text === text) return turn;
  return withPart(turn, at, { ...part, text });
}

export function changeCall(turn: Turn, id: CallId, change: CallChange, at?: number): Turn {
  return inCall(turn, id, (call) => {
    return isChanged(call, change) ? timed(call, withRejected(call, { ...call, ...change }), at) : call;
  });
}

function isChanged(call: ToolCall, change: CallChange): boolean {
  for (const key in change) {
    const value = change[key as keyof CallChange];
    if (value !== undefined && value !== call[key as keyof CallChange]) return true;
  }
  return false;
}

/** Keeps rejected diffs visible, whatever the agent reports of the call afterwards. */
function withRejected(before: ToolCall, call: ToolCall): ToolCall {
  const isRejected = before.decision?.kind === 'approval' && before.decision.effect.startsWith('reject');
  if (!isRejected || call.output.some((one) => one.kind === 'diff')) return call;
  return { ...call, output: [...call.output, ...before.output.filter((one) => one.kind === 'diff')] };
}

/** `proposed`: the diffs of an edit that was decided. */
export function decideCall(turn: Turn, id: CallId, decision: Decision, proposed: readonly Diff[]): Turn {
  return inCall(turn, id, ({ withdrawn: _, ...call }) => {
    const isRejected = decision.kind === 'approval' && decision.effect.startsWith('reject');
    if (!isRejected || call.output.some((one) => one.kind === 'diff')) return { ...call, decision };
    return { ...call, decision, output: [...call.output, ...proposed.map((diff) => ({ kind: 'diff' as const, diff }))] };
  });
}

/** The answers of a question stand in its turn: at the call that asked, or else in a row of their own. */
export function answerQuestion(turn: Turn, { id, title, callId }: Question, decision: Decision): Turn {
  return decideOrAdd(turn, callId, { id, title, kind: 'other', status: 'done' }, decision);
}

/** The decision about an approval that belongs to no turn stands at the call that it is about, or else in a row of its own. */
export function answerApproval(turn: Turn, { id, title, callId, toolKind: kind = 'other', detail }: Approval, decision: Decision): Turn {
  const isRejected = decision.kind === 'approval' && decision.effect.startsWith('reject');
  const proposed = detail.type === 'edit' ? detail.diffs : [];
  const row: AskRow = {
    ...{ id, title, kind, status: isRejected ? 'rejected' : 'ended' },
    ...(detail.type === 'command' ? { input: { command: detail.command } } : {}),
    locations: [...new Set(proposed.map(({ path }) => path))].map((path) => ({ path })),
  };
  return decideOrAdd(turn, callId, row, decision, proposed);
}

type AskRow = Pick<ToolCall, 'id' | 'title' | 'kind' | 'status' | 'input'> & Partial<Pick<ToolCall, 'locations'>>;

/** Puts a decision at the call that was asked about, or into this row where the turn has no such call. */
function decideOrAdd(turn: Turn, callId: CallId | undefined, row: AskRow, decision: Decision, proposed: readonly Diff[] = []): Turn {
  if (callId !== undefined && indexOf(turn, callId) >= 0) return decideCall(turn, callId, decision, proposed);
  const call: ToolCall = { name: '', inputText: '', output: [], locations: [], ...row };
  return decideCall(addPart(turn, { kind: 'call', id: row.id, call }), row.id, decision, proposed);
}

/** The call shows what was written, and that the user has made it of the agent's proposal. */
export function amendCall(turn: Turn, id: CallId, diffs: readonly Diff[]): Turn {
  return inCall(turn, id, (call) => {
    const isReplaced = (one: Output) => one.kind === 'diff' && diffs.some(({ path }) => path === one.diff.path);
    const rest = call.output.filter((one) => !isReplaced(one));
    const { decision } = call;
    return {
      ...call,
      output: [...diffs.map((diff) => ({ kind: 'diff' as const, diff })), ...rest],
      ...(decision?.kind === 'approval' ? { decision: { ...decision, edited: true as const } } : {}),
    };
  });
}

export function withdrawCall(turn: Turn, id: CallId): Turn {
  return inCall(turn, id, (call) => (call.withdrawn || call.decision ? call : { ...call, withdrawn: true }));
}

/** Marks the calls of the turn's open asks as withdrawn: nobody will answer, and the calls never ran. */
export function leaveUnanswered(turn: Turn, asks: readonly Ask[]): Turn {
  return asks.reduce((now, ask) => {
    const { callId, turnId, decision, kind, ours } = ask;
    if (callId === undefined || turnId !== turn.id || decision || ours) return now;
    if (kind === 'approval') return withdrawCall(now, callId);
    return inCall(now, callId, (call) => (call.decision ? call : { ...call, decision: { kind: 'skipped' } }));
  }, turn);
}

export function carryOut(turn: Turn, id: CallId): Turn {
  return inCall(turn, id, (call) => (call.status === 'ended' && !call.appliedOnDisk ? { ...call, appliedOnDisk: true } : call));
}

export function growInput(turn: Turn, id: CallId, text: string): Turn {
  return text === '' ? turn : inCall(turn, id, (call) => ({ ...call, inputText: call.inputText + text }));
}

/** Every unfinished call becomes ended where it is named as unreported, otherwise cancelled, but those of a sub-agent that goes on. */
export function settleCalls(parts: readonly Part[], at?: number, unreported: readonly CallId[] = []): readonly Part[] {
  if (!parts.some((part) => part.kind === 'call' && !isSettled(part.call))) return parts;
  const ended = new Set(unreported);
  const going = new Set<PartId>();
  return parts.map((part) => {
    // A part comes after the one it belongs to.
    if ((part.kind === 'call' && part.call.goesOn) || (part.parent !== undefined && going.has(part.parent))) going.add(part.id);
    if (part.kind !== 'call' || isSettled(part.call)) return part;
    if (!ended.has(part.id) && going.has(part.id)) return part;
    const status = ended.has(part.id) ? 'ended' : 'cancelled';
    return { ...part, call: timed(part.call, { ...part.call, status }, at) };
  });
}

/** The call is a sub-agent that works on after its turn, or belongs to one. */
export function goesOn(parts: readonly Part[], id: CallId | undefined): boolean {
  const seen = new Set<CallId>();
  for (let at = id; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    const part = parts.find((one) => one.id === at);
    if (part?.kind === 'call' && part.call.goesOn) return true;
    at = part?.parent;
  }
  return false;
}

/** No sub-agent of the turn works any more. */
export function endGoingOn(turn: Turn): Turn {
  if (!turn.parts.some((part) => part.kind === 'call' && part.call.goesOn)) return turn;
  const parts = turn.parts.map((part): Part => {
    if (part.kind !== 'call' || !part.call.goesOn) return part;
    const { goesOn: _, ...call } = part.call;
    return { ...part, call };
  });
  return { ...turn, parts: turn.status === 'running' ? parts : settleCalls(parts) };
}

export function isSettled(call: Pick<ToolCall, 'status'>): boolean {
  return call.status !== 'pending' && call.status !== 'waiting' && call.status !== 'running';
}

function inCall(turn: Turn, id: CallId, change: (call: ToolCall) => ToolCall): Turn {
  const at = indexOf(turn, id);
  const part = turn.parts[at];
  if (part?.kind !== 'call') return turn;
  const call = change(part.call);
  return call === part.call ? turn : withPart(turn, at, { ...part, call });
}

/**
 * The index of each part, by id, passed on from a list to the list made from it: otherwise every piece of text would search a turn of thousands
 * of parts. It has every id of those lists, so an unknown id is in none of them.
 */
const places = new WeakMap<readonly Part[], Map<PartId, number>>();

function withPart(turn: Turn, at: number, part: Part): Turn {
  // A spread would copy twice.
  const parts = at < 0 ? turn.parts.concat([part]) : turn.parts.with(at, part);
  const known = places.get(turn.parts);
  if (known) {
    known.set(part.id, at < 0 ? parts.length - 1 : at);
    // The older list is seldom asked again, and thousands of weak entries are dear to collect.
    places.delete(turn.parts);
    places.set(parts, known);
  }
  return { ...turn, parts };
}

function indexOf({ parts }: Turn, id: PartId): number {
  let known = places.get(parts);
  if (!known) {
    known = new Map(parts.map((part, at) => [part.id, at]));
    places.set(parts, known);
  }
  const at = known.get(id);
  if (at === undefined || parts[at]?.id === id) return at ?? -1;
  // Another list has grown out of the same one.
  return parts.findLastIndex((part) => part.id === id);
}
