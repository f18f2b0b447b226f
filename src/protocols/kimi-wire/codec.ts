import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import { decode, type Rows } from '../rows.ts';
import { tasksSeen, taskTold } from './background.ts';
import { kindOf } from './calls.ts';
import { fromUserInput } from './content.ts';
import { type Lane, lastCall, type Memory, newLane, type TurnMemory } from './memory.ts';
import { type ContentPart, type EventPayload, events, type WireEvent } from './schema.ts';
import { takeNotification, takeStatus } from './status.ts';
import {
  addCall,
  addNotice,
  addPart,
  beginStep,
  closeInput,
  goesOn,
  holds,
  takeBackStep,
  takeCall,
  takeCallPart,
  takeContent,
  takeResult,
} from './streaming.ts';

/** How deep sub-agents may nest before their events are left out. */
const DEEPEST = 8;

export type Decoded = { readonly events: readonly SessionEvent[] } | { readonly trouble: 'unknown' | 'malformed'; readonly why: string };

/** One event message of theirs as what happened to the session. The beginning and end of turns are the adapter's business. */
export function decodeEvent(type: string, payload: object, memory: Memory): Decoded {
  const piece = type === 'ContentPart' && memory.turn && memory.lane ? plainPiece(payload) : undefined;
  if (piece && memory.turn && memory.lane) return { events: takeContent(piece, memory.turn, memory.lane) };
  if (!Object.hasOwn(events, type)) return { trouble: 'unknown', why: type };
  const parsed = events[type as keyof typeof events].safeParse(payload);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { trouble: 'malformed', why: `${type}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}` };
  }
  return { events: decode(rows, 'type', { type, payload: parsed.data } as WireEvent, memory) ?? [] };
}

/** Nearly all events of a flood are pieces of text; they are checked by hand, which costs a fifth of the schema. */
function plainPiece(payload: unknown): Extract<ContentPart, { type: 'text' | 'think' }> | undefined {
  const part = payload as { readonly type?: unknown; readonly text?: unknown; readonly think?: unknown };
  if (part.type === 'text') return typeof part.text === 'string' ? { type: 'text', text: part.text } : undefined;
  return part.type === 'think' && typeof part.think === 'string' ? { type: 'think', think: part.think } : undefined;
}

/** The turn went well: what no message says the end of has ended too. */
export function closeTurn(turn: TurnMemory): readonly SessionEvent[] {
  return turn.agents
    .filter((call) => !call.finished)
    .map((call) => ({ type: 'call.changed', turnId: turn.turnId, callId: call.callId, change: { status: 'done' } }));
}

type Row<P> = (message: { readonly payload: P }, memory: Memory) => readonly SessionEvent[];

/** A message that means nothing without a turn. */
function inTurn<P>(row: (payload: P, turn: TurnMemory, lane: Lane, memory: Memory) => readonly SessionEvent[]): Row<P> {
  return ({ payload }, memory) => (memory.turn && memory.lane ? row(payload, memory.turn, memory.lane, memory) : []);
}

const activity = (text: () => string) => inTurn((_payload, turn, lane) => [...closeInput(turn, lane), holds(text(), turn)]);
const activityEnds = inTurn((_payload, turn) => goesOn(turn));

const rows: Rows<WireEvent, 'type', Memory> = {
  TurnBegin: () => [],
  TurnEnd: inTurn((_payload, turn, lane) => closeInput(turn, lane)),
  StepBegin: inTurn((_payload, turn, lane) => beginStep(turn, lane)),
  StepInterrupted: inTurn((_payload, turn, lane) => beginStep(turn, lane)),
  StepRetry: inTurn(takeBackStep),
  CompactionBegin: activity(() => t('Compacting the conversation')),
  CompactionEnd: activityEnds,
  MCPLoadingBegin: activity(() => t('Starting MCP servers')),
  MCPLoadingEnd: activityEnds,
  StatusUpdate: ({ payload }, memory) => [
    ...(memory.turn && memory.lane ? closeInput(memory.turn, memory.lane) : []),
    ...takeStatus(payload, memory),
  ],
  Notification: ({ payload }, memory) => [...takeNotification(payload, memory), ...taskTold(payload, memory.session)],
  ContentPart: inTurn(takeContent),
  ToolCall: inTurn(takeCall),
  ToolCallPart: inTurn(takeCallPart),
  ToolResult: inTurn((payload, turn, lane, memory) => [
    ...takeResult(payload, turn, lane),
    ...tasksSeen(payload.return_value.display ?? [], memory.session),
  ]),
  ApprovalResponse: ({ payload }, memory) => approvalSettled(payload, memory),
  ApprovalRequestResolved: ({ payload }, memory) => approvalSettled(payload, memory),
  SubagentEvent: inTurn((payload, turn, lane, memory) => subagent(payload, turn, lane, memory)),
  SteerInput: inTurn((payload, turn, lane) => [
    ...closeInput(turn, lane),
    addPart({ kind: 'prompt', content: fromUserInput(payload.user_input) }, turn, lane),
  ]),
  PlanDisplay: inTurn((payload, turn, lane) => [
    ...closeInput(turn, lane),
    addPart({ kind: 'text', text: payload.content }, turn, lane),
    ...(payload.file_path ? [addPart({ kind: 'content', content: { type: 'file', path: payload.file_path } }, turn, lane)] : []),
  ]),
  // Most hooks take no time worth showing; one that does is seen while it runs. What it forbids stays.
  HookTriggered: inTurn(({ event, target }, turn, lane) => [
    ...closeInput(turn, lane),
    holds(target ? t('Running a hook ({0}: {1})', event, target) : t('Running a hook ({0})', event), turn),
  ]),
  HookResolved: ({ payload }, memory) => hookResolved(payload, memory),
  BtwBegin: inTurn((payload, turn, lane) => [addNotice('info', t('Side question: {0}', payload.question), turn, lane)]),
  BtwEnd: inTurn((payload, turn, lane) => [
    payload.error
      ? addNotice('error', t('The side question failed: {0}', payload.error), turn, lane)
      : addPart({ kind: 'text', text: payload.response ?? '' }, turn, lane),
  ]),
};

function hookResolved(payload: EventPayload['HookResolved'], { turn, lane }: Memory): readonly SessionEvent[] {
  const goes = turn ? goesOn(turn) : [];
  if (payload.action !== 'block') return goes;
  const notice = { level: 'warn', text: hookText(payload) } as const;
  return [...goes, turn && lane ? addNotice(notice.level, notice.text, turn, lane) : { type: 'notice', notice }];
}

function hookText({ event, target, reason }: EventPayload['HookResolved']): string {
  return t('A hook ({0}) blocked {1}: {2}', event, target || '…', reason || '…');
}

/** Who answered matters to the adapter only; the card goes on, or says that it was refused. */
function approvalSettled(payload: EventPayload['ApprovalResponse'], memory: Memory): readonly SessionEvent[] {
  const closed: SessionEvent = { type: 'ask.closed', askId: payload.request_id, how: 'withdrawn' };
  const call = memory.turn?.asked.get(payload.request_id);
  if (!call || !memory.turn || call.finished) return [closed];
  call.rejected = payload.response === 'reject';
  const status = call.rejected ? 'rejected' : 'running';
  return [closed, { type: 'call.changed', turnId: memory.turn.turnId, callId: call.callId, change: { status } }];
}

/** An event of a sub-agent goes to a lane under the call that started it; without such a call, under a card for the agent. */
function subagent(payload: EventPayload['SubagentEvent'], turn: TurnMemory, outer: Lane, memory: Memory): readonly SessionEvent[] {
  if (memory.depth >= DEEPEST) return [];
  const wireId = payload.parent_tool_call_id ?? payload.task_tool_call_id ?? undefined;
  const agent = payload.agent_id ?? '';
  const key = JSON.stringify([wireId ?? null, agent]);
  const before: SessionEvent[] = [];
  let lane = turn.lanes.get(key);
  if (!lane) {
    let parent = wireId === undefined ? undefined : lastCall(turn, wireId)?.callId;
    if (parent === undefined) {
      const name = payload.subagent_type ?? 'agent';
      const start = { name, title: t('Sub-agent {0}', name), kind: kindOf(name), status: 'running', inputText: '' } as const;
      const { call, added } = addCall(wireId ?? `agent ${agent}`, start, turn, outer);
      before.push(added);
      turn.agents.push(call);
      parent = call.callId;
    }
    lane = newLane(parent);
    turn.lanes.set(key, lane);
  }
  const inner = decodeEvent(payload.event.type, payload.event.payload, { ...memory, turn, lane, depth: memory.depth + 1 });
  return 'events' in inner ? [...before, ...inner.events] : before;
}
