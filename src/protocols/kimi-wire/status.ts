import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { ModeChoice, Notice } from '../../session/model.ts';
import type { Memory, SessionMemory } from './memory.ts';
import type { EventPayload } from './schema.ts';
import { addNotice } from './streaming.ts';

export function modeChoice(plan: boolean): ModeChoice {
  return {
    current: plan ? 'plan' : 'default',
    all: [
      { id: 'default', name: t('Default') },
      { id: 'plan', name: t('Plan'), description: t('Reads and plans; changes nothing until the plan is approved') },
    ],
  };
}

/** Every member is optional; null means unchanged. Tokens are of one step and add up over the turn. */
export function takeStatus(payload: EventPayload['StatusUpdate'], memory: Memory): readonly SessionEvent[] {
  const said: SessionEvent[] = [];
  const isMain = memory.lane === undefined || memory.lane === memory.turn?.main;
  const { token_usage: step, context_tokens: used, max_context_tokens: size, mcp_status: servers } = payload;
  if (step && memory.turn) {
    memory.turn.tokens.input += step.input_other + step.input_cache_read + step.input_cache_creation;
    memory.turn.tokens.output += step.output;
  }
  const context = isMain ? { ...(isCount(used) ? { used } : {}), ...(isCount(size) ? { size } : {}) } : {};
  const tokens = step && memory.turn ? { ...memory.turn.tokens } : {};
  // Old servers say only how full it is.
  const { context_usage: share } = payload;
  const full = isMain && isCount(share) && !isCount(used) ? { share: Math.min(share, 1) } : {};
  const usage = { ...context, ...full, ...tokens };
  if (Object.keys(usage).length > 0) said.push({ type: 'usage.set', usage });
  if (isMain && typeof payload.plan_mode === 'boolean') {
    memory.session.inPlan = payload.plan_mode;
    if (memory.session.planMode) said.push({ type: 'mode.set', mode: modeChoice(payload.plan_mode) });
  }
  if (servers) said.push(...unwellServers(servers.servers, memory.session));
  return said;
}

function isCount(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** Each server that failed is named once, and again when it has been well in between. */
function unwellServers(servers: readonly { readonly name: string; readonly status: string }[], memory: SessionMemory): SessionEvent[] {
  const said: SessionEvent[] = [];
  for (const { name, status } of servers) {
    const unwell = status === 'failed' || status === 'unauthorized';
    if (!unwell) memory.unwell.delete(name);
    else if (!memory.unwell.has(name)) {
      memory.unwell.add(name);
      const text = status === 'failed' ? t('The MCP server "{0}" failed to start.', name) : t('The MCP server "{0}" needs a login.', name);
      said.push({ type: 'notice', notice: { level: 'warn', text } });
    }
  }
  return said;
}

const LEVELS: Readonly<Record<string, Notice['level']>> = { info: 'info', success: 'info', warning: 'warn', error: 'error' };

/** News of background work: once each, in the turn that runs or else for the session. */
export function takeNotification(payload: EventPayload['Notification'], memory: Memory): readonly SessionEvent[] {
  if (memory.session.notified.has(payload.id)) return [];
  memory.session.notified.add(payload.id);
  const level = LEVELS[payload.severity ?? 'info'] ?? 'info';
  const text = payload.body ? `${payload.title}\n${payload.body}` : payload.title;
  const { turn, lane } = memory;
  return [turn && lane ? addNotice(level, text, turn, lane) : { type: 'notice', notice: { level, text } }];
}
