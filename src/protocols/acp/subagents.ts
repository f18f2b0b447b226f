import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { CallId, ToolCall } from '../../session/model.ts';
import type { Activity, Update, WireCall } from './schema.ts';
import type { TurnMemory } from './turns.ts';

interface Child {
  title: string;
  status: ToolCall['status'];
  /** The call that stands for it in a turn; what it does is shown below that. */
  shown: { readonly callId: CallId; readonly turn: TurnMemory } | undefined;
}

/** Conversations of sub-agents: each is shown as a call of the conversation it belongs to, with all it does below (acp.md §7, not stable yet). */
export class Subagents {
  readonly #children = new Map<string, Child>();

  /** The title of that sub-agent; undefined when there is none of that session. */
  titleOf(sessionId: string): string | undefined {
    return this.#children.get(sessionId)?.title;
  }

  /** A sub-agent is there, or has changed. */
  announced({ sessionId, title, description, state }: Extract<Update, { sessionUpdate: 'subagent_update' }>, turn: TurnMemory | undefined) {
    const child: Child = this.#children.get(sessionId) ?? { title: '', status: 'running', shown: undefined };
    this.#children.set(sessionId, child);
    if (title !== undefined || description != null || child.title === '')
      child.title = title || description || child.title || t('Sub-agent');
    child.status = statusOf(state, child.status);
    return turn ? this.#show(sessionId, child, turn) : [];
  }

  /** What the news of a sub-agent is decoded with, and what has to be told before. undefined for a session nobody announced. */
  within(sessionId: string, turn: TurnMemory): { readonly turn: TurnMemory; readonly before: readonly SessionEvent[] } | undefined {
    const child = this.#children.get(sessionId);
    if (!child) return undefined;
    const before = child.shown?.turn.id === turn.id ? [] : this.#show(sessionId, child, turn);
    return child.shown && { turn: child.shown.turn, before };
  }

  /** The same events, below the call of that sub-agent. */
  below(sessionId: string, events: readonly SessionEvent[]): readonly SessionEvent[] {
    const parent = this.#children.get(sessionId)?.shown?.callId;
    if (parent === undefined) return events;
    return events.map((event) => {
      if (event.type === 'part.added') return { ...event, part: { ...event.part, parent } };
      return event.type === 'text.delta' ? { ...event, parent } : event;
    });
  }

  #show(sessionId: string, child: Child, turn: TurnMemory): readonly SessionEvent[] {
    const { title, status, shown } = child;
    if (shown?.turn.id === turn.id) return [{ type: 'call.changed', turnId: turn.id, callId: shown.callId, change: { title, status } }];
    // A turn that is over shows it as it was; in another one it is another call.
    const callId = shown ? `${sessionId} in ${turn.id}` : sessionId;
    child.shown = { callId, turn: childTurn(turn, callId) };
    const call: ToolCall = { id: callId, name: 'subagent', title, kind: 'other', status, inputText: '', output: [], locations: [] };
    return [{ type: 'part.added', turnId: turn.id, part: { kind: 'call', id: callId, call } }];
  }
}

/** Ids of calls are each session's own; to stop one by itself is only offered for the session the user talks to. */
export function ofSubagent<C extends Pick<WireCall, 'toolCallId' | 'stops'>>(sessionId: string, call: C): C {
  return { ...call, stops: undefined, toolCallId: `${sessionId}/${call.toolCallId}` };
}

function childTurn(turn: TurnMemory, callId: CallId): TurnMemory {
  return {
    ...turn,
    growing: undefined,
    parts: new Map(),
    made: 0,
    prefix: `${turn.prefix}${callId}:`,
    get stopping() {
      return turn.stopping;
    },
  };
}

function statusOf(state: Activity | null | undefined, before: ToolCall['status']): ToolCall['status'] {
  switch (state?.state) {
    case 'running':
    case 'requires_action':
      return 'running';
    case 'idle':
      return state.stopReason === 'cancelled' ? 'cancelled' : state.stopReason === 'error' ? 'failed' : 'done';
    default:
      return before;
  }
}
