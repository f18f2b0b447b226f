import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Notice, Part } from '../../session/model.ts';
import { outputsOf, planOf } from './blocks.ts';
import { kindOf, locationsOf, parseInput, titleOf } from './calls.ts';
import { fromPart } from './content.ts';
import { type Lane, newPartId, type SeenCall, type TurnMemory } from './memory.ts';
import type { ContentPart, EventPayload } from './schema.ts';

/** What a lane makes of the pieces that stream in (wire.md §5.1, §7). Each function changes the memory and says what happened. */
type Events = readonly SessionEvent[];
type NewPart = Part extends infer P ? (P extends Part ? Omit<P, 'id' | 'parent'> : never) : never;

const NOTHING: Events = [];

export function takeContent(part: ContentPart, turn: TurnMemory, lane: Lane): Events {
  const before = turn.held || lane.call ? [...goesOn(turn), ...closeInput(turn, lane)] : NOTHING;
  if (part.type === 'text' || part.type === 'think') {
    const grown = part.type === 'text' ? grow('text', part.text, turn, lane) : grow('thought', part.think, turn, lane);
    return before === NOTHING ? grown : [...before, ...grown];
  }
  return [...before, addPart({ kind: 'content', content: fromPart(part) }, turn, lane)];
}

/** A hot path: one event for one piece of text. */
function grow(kind: 'text' | 'thought', text: string, turn: TurnMemory, lane: Lane): Events {
  if (text === '') return NOTHING;
  if (lane.growing?.kind !== kind) {
    const partId = newPartId(turn);
    lane.growing = { kind, partId };
    lane.parts.push({ id: partId });
  }
  const { partId } = lane.growing;
  return [{ type: 'text.delta', turnId: turn.turnId, kind, partId, text, ...(lane.parent === undefined ? {} : { parent: lane.parent }) }];
}

/** Adds a part of its own; text that comes after it begins a new block. */
export function addPart(part: NewPart, turn: TurnMemory, lane: Lane): SessionEvent {
  const id = newPartId(turn);
  lane.growing = undefined;
  lane.parts.push({ id });
  const parent = lane.parent === undefined ? {} : { parent: lane.parent };
  return { type: 'part.added', turnId: turn.turnId, part: { ...part, id, ...parent } as Part };
}

export function addNotice(level: Notice['level'], text: string, turn: TurnMemory, lane: Lane): SessionEvent {
  return addPart({ kind: 'notice', notice: { level, text } }, turn, lane);
}

export function takeCall(payload: EventPayload['ToolCall'], turn: TurnMemory, lane: Lane): Events {
  const { name } = payload.function;
  const before = [...goesOn(turn), ...closeInput(turn, lane)];
  const inputText = payload.function.arguments ?? '';
  const { call, added } = addCall(payload.id, { name, title: name, kind: kindOf(name), status: 'pending', inputText }, turn, lane);
  lane.call = call;
  const whole = inputText.endsWith('}') ? parseInput(inputText) : undefined;
  return [...before, added, ...(whole === undefined ? [] : inputIsWhole(call, whole, turn))];
}

type NewCall = Pick<Extract<Part, { kind: 'call' }>['call'], 'name' | 'title' | 'kind' | 'status' | 'inputText'>;

/** A card for a call. The second call of one id in a turn gets a card of its own. */
export function addCall(
  wireId: string,
  start: NewCall,
  turn: TurnMemory,
  lane: Lane,
): { readonly call: SeenCall; readonly added: SessionEvent } {
  const known = turn.calls.get(wireId) ?? [];
  const callId = known.length === 0 ? wireId : `${wireId}#${known.length + 1}`;
  const call: SeenCall = { callId, name: start.name, inputText: start.inputText, whole: false, rejected: false, finished: false };
  turn.calls.set(wireId, [...known, call]);
  lane.growing = undefined;
  lane.parts.push({ id: callId, call });
  const parent = lane.parent === undefined ? {} : { parent: lane.parent };
  const part: Part = { kind: 'call', id: callId, ...parent, call: { id: callId, ...start, output: [], locations: [] } };
  return { call, added: { type: 'part.added', turnId: turn.turnId, part } };
}

export function takeCallPart(payload: EventPayload['ToolCallPart'], turn: TurnMemory, lane: Lane): Events {
  const text = payload.arguments_part ?? '';
  if (!lane.call || lane.call.whole || text === '') return [];
  lane.call.inputText += text;
  return [{ type: 'call.inputDelta', turnId: turn.turnId, callId: lane.call.callId, text }];
}

/** Something else came: the arguments of the last call are whole now. */
export function closeInput(turn: TurnMemory, lane: Lane): Events {
  const { call } = lane;
  if (!call) return [];
  lane.call = undefined;
  return call.whole || call.finished ? [] : inputIsWhole(call, parseInput(call.inputText), turn);
}

function inputIsWhole(call: SeenCall, input: unknown, turn: TurnMemory): Events {
  call.whole = true;
  call.input = input;
  const known = input === undefined ? {} : { input, title: titleOf(call.name, input), locations: locationsOf(input, turn.cwd) };
  return [{ type: 'call.changed', turnId: turn.turnId, callId: call.callId, change: { status: 'running', ...known } }];
}

export function takeResult(payload: EventPayload['ToolResult'], turn: TurnMemory, lane: Lane): Events {
  const value = payload.return_value;
  const blocks = value.display ?? [];
  const message = value.message ?? '';
  const known = turn.calls.get(payload.tool_call_id);
  const own = known?.find((call) => !call.finished) ?? known?.at(-1);
  const before = lane.call && lane.call === own ? closeInput(turn, lane) : [];
  const made = own ? undefined : addCall(payload.tool_call_id, unannounced(), turn, lane);
  const call = own ?? made?.call;
  if (!call) return [];
  call.finished = true;
  const plan = planOf(blocks);
  return [
    ...before,
    ...(made ? [made.added] : []),
    {
      type: 'call.changed',
      turnId: turn.turnId,
      callId: call.callId,
      change: {
        status: value.is_error ? (call.rejected ? 'rejected' : 'failed') : 'done',
        output: outputsOf(blocks, value.output ?? '', message),
        ...(value.is_error ? { error: { message: message === '' ? t('The tool failed.') : message } } : {}),
      },
    },
    ...(plan ? [{ type: 'plan.set', plan } as const] : []),
  ];
}

function unannounced(): NewCall {
  return { name: 'tool', title: t('Result of a call that was not announced'), kind: 'other', status: 'running', inputText: '' };
}

export function beginStep(turn: TurnMemory, lane: Lane): Events {
  const before = [...goesOn(turn), ...closeInput(turn, lane)];
  lane.growing = undefined;
  lane.stepFrom = lane.parts.length;
  return before;
}

/** The step is tried again: its text and its cards without a result are taken back, with what sub-agents did under those cards. */
export function takeBackStep(payload: EventPayload['StepRetry'], turn: TurnMemory, lane: Lane): Events {
  const gone = takeBack(turn, lane, lane.stepFrom);
  lane.growing = undefined;
  lane.call = undefined;
  const why = payload.status_code ? `${payload.error_type} ${payload.status_code}` : payload.error_type;
  const { next_attempt: next, max_attempts: most } = payload;
  const text = t('Trying again ({0} of {1}) in {2} s: {3}', next, most, Math.round(payload.wait_s), why);
  return [...(gone.length > 0 ? [{ type: 'parts.removed', turnId: turn.turnId, partIds: gone } as const] : []), holds(text, turn)];
}

function takeBack(turn: TurnMemory, lane: Lane, from: number): string[] {
  const gone: string[] = [];
  const kept: { id: string; call?: SeenCall }[] = [];
  for (const part of lane.parts.splice(from)) {
    if (part.call?.finished) {
      kept.push(part);
      continue;
    }
    gone.push(part.id);
    if (!part.call) continue;
    part.call.finished = true;
    for (const inner of turn.lanes.values()) if (inner.parent === part.id) gone.push(...takeBack(turn, inner, 0));
  }
  lane.parts.push(...kept);
  return gone;
}

/** Says what keeps the turn from going on, until something comes. */
export function holds(text: string, turn: TurnMemory): SessionEvent {
  turn.held = true;
  return { type: 'turn.activity', turnId: turn.turnId, text };
}

export function goesOn(turn: TurnMemory): Events {
  if (!turn.held) return [];
  turn.held = false;
  return [{ type: 'turn.activity', turnId: turn.turnId, text: null }];
}
