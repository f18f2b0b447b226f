import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Command, Notice } from '../../session/model.ts';
import { type Rows, decode as row } from '../rows.ts';
import type { AgentTerminals } from './agentTerminals.ts';
import { type CallState, type From, isAnnouncedAgain, mergeCall, newCall, shown, untold } from './calls.ts';
import { injected } from './injected.ts';
import { chunk, newPart, whole } from './messages.ts';
import type { Settings } from './options.ts';
import type { Plans } from './plans.ts';
import type { Update, WireCall, WireCommand } from './schema.ts';
import type { TurnMemory, Turns } from './turns.ts';

/** session/update to events (acp.md §7). */
export interface Memory {
  readonly turn: TurnMemory | undefined;
  readonly turns: Turns;
  readonly settings: Settings;
  readonly plans: Plans;
  readonly terminals: AgentTerminals;
  /** A message is one message whatever comes in between; otherwise a call ends it. */
  readonly messagesStay: boolean;
  /** A call has changed: it may carry edits that are to be compared with their files. */
  readonly onCall: (turn: TurnMemory, call: CallState) => void;
  /** Display terminals travel in the meta of tool calls (acp.md §10.4). */
  readonly onMeta: (meta: Readonly<Record<string, unknown>>) => readonly SessionEvent[];
}

/** undefined: a kind this build does not know. */
export function decodeUpdate(update: Update, memory: Memory): readonly SessionEvent[] | undefined {
  return row(rows, 'sessionUpdate', update, memory);
}

/** Kinds that belong to a turn; the others are about the session. */
export function isOfTurn(kind: string): boolean {
  return TURN_KINDS.has(kind);
}

const TURN_KINDS: ReadonlySet<string> = new Set([
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'compaction_update',
  'compaction_summary_chunk',
  'message',
  'session_message',
  'session_message_chunk',
]);

const rows: Rows<Update, 'sessionUpdate', Memory> = {
  user_message_chunk: ({ content, messageId }, memory) => injected([content], messageId ?? undefined, memory),
  agent_message_chunk: ({ content, messageId }, { turn }) => (turn ? chunk(turn, 'text', content, messageId) : []),
  agent_thought_chunk: ({ content, messageId }, { turn }) => (turn ? chunk(turn, 'thought', content, messageId) : []),
  tool_call: (call, memory) => callNews(call, 'tool_call', memory),
  tool_call_update: (call, memory) => callNews(call, 'tool_call_update', memory),
  message: (news, memory) => {
    const { turn } = memory;
    if (news.kind === 'prompt') return injected(news.content ?? [], news.messageId, memory);
    return turn ? whole(turn, news.kind, news) : [];
  },
  session_message: ({ messageId, content }, { turn }) =>
    turn ? whole(turn, 'text', { messageId, content: content === null ? [] : content }) : [],
  session_message_chunk: ({ content, messageId }, { turn }) => (turn ? chunk(turn, 'text', content, messageId) : []),
  terminal: (news, { terminals }) => terminals.take(news),
  plan: ({ entries }, { turn, plans }) => {
    if (turn) turn.growing = undefined;
    return [plans.replace(entries)];
  },
  plan_update: ({ plan }, { plans }) => [plans.update(plan)],
  plan_removed: ({ planId }, { plans }) => [plans.remove(planId)],
  // Whom these concern is found out before.
  state_update: () => [],
  subagent_update: () => [],
  available_commands_update: ({ availableCommands }) => [commandsSet(availableCommands)],
  current_mode_update: ({ currentModeId, modeId }, { settings }) => {
    const id = currentModeId ?? modeId;
    return id == null ? [] : settings.modeChanged(id);
  },
  config_option_update: ({ configOptions }, { settings }) => settings.replaceConfig(configOptions),
  // Absent is unchanged, null clears.
  session_info_update: ({ title }) => (title === undefined ? [] : [{ type: 'title.set', title: (title ?? '').slice(0, 500) }]),
  usage_update: ({ used, size, cost }) => [
    {
      type: 'usage.set',
      usage: {
        ...(used == null || used < 0 ? {} : { used }),
        ...(size == null || size <= 0 ? {} : { size }),
        ...(cost == null ? {} : { cost }),
      },
    },
  ],
  notice: ({ severity, title, description }, { turn }) => {
    const level = severity === 'error' ? 'error' : severity === 'warning' ? 'warn' : 'info';
    return [passing({ level, text: [title, description].filter(Boolean).join('\n') }, turn)];
  },
  compaction_update: ({ status, error }, { turn }) => {
    if (!turn) return [];
    if (status === 'completed')
      return [activity(turn, null), passing({ level: 'info', text: t('The conversation was summed up to make room.') }, turn)];
    if (status === 'failed') {
      const text = t('Summing up the conversation failed: {0}', typeof error === 'string' ? error.slice(0, 500) : '?');
      return [activity(turn, null), passing({ level: 'warn', text }, turn)];
    }
    return [activity(turn, status === 'cancelled' ? null : t('Summing up the conversation'))];
  },
  compaction_summary_chunk: (_, { turn }) => (turn ? [activity(turn, t('Summing up the conversation'))] : []),
};

/** What the agent mentions stands in the turn it belongs to; outside of turns it goes with what the user says next. */
function passing(notice: Notice, turn: TurnMemory | undefined): SessionEvent {
  if (!turn) return { type: 'notice', notice: { ...notice, passing: true } };
  turn.growing = undefined;
  return { type: 'part.added', turnId: turn.id, part: { kind: 'notice', id: newPart(turn), notice } };
}

function activity(turn: TurnMemory, text: string | null): SessionEvent {
  return { type: 'turn.activity', turnId: turn.id, text };
}

export function commandsSet(commands: readonly WireCommand[]): SessionEvent {
  return {
    type: 'commands.set',
    commands: commands.slice(0, 1000).map(
      ({ name, description, input }): Command => ({
        name,
        description: short(description ?? ''),
        aliases: [],
        ...(input?.hint ? { hint: short(input.hint) } : {}),
      }),
    ),
  };
}

/** One upsert for all that is said about calls: updates of either kind, and the call inside a permission request. */
export function callNews(news: WireCall, from: From, memory: Memory): readonly SessionEvent[] {
  const { turn, turns } = memory;
  if (!turn) return [];
  const known = turn.calls.get(news.toolCallId);
  const call = turns.call(turn, news.toolCallId, from !== 'tool_call_update');
  if (!call) return [];
  if (known && from === 'tool_call' && isAnnouncedAgain(known, news)) {
    turn.calls.set(
      known.id,
      Object.assign(known, { ...newCall(known.id), told: known.told, asking: known.asking, watchers: known.watchers }),
    );
  }
  mergeCall(call, news, from, turn);
  const events: SessionEvent[] = [];
  if (!known) {
    turn.growing = undefined;
    if (!memory.messagesStay) turn.parts.clear();
    const first = shown(call);
    call.told = first;
    events.push({
      type: 'part.added',
      turnId: turn.id,
      part: { kind: 'call', id: call.id, call: { id: call.id, inputText: '', ...first } },
    });
  } else {
    const changed = untold(call);
    if (changed) events.push({ type: 'call.changed', turnId: turn.id, callId: call.id, change: changed });
  }
  if (news._meta) events.push(...memory.onMeta(news._meta));
  memory.onCall(turn, call);
  for (const hear of call.watchers) hear(news, from);
  return events;
}

function short(text: string): string {
  return text.length > 400 ? `${text.slice(0, 399)}…` : text;
}
