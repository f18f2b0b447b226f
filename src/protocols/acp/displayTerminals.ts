import type { SessionEvent } from '../../session/events.ts';

type Meta = Readonly<Record<string, unknown>>;

/**
 * Terminals the agent runs itself and only shows: they travel in the meta of tool calls (acp.md §10.4). Output may come before the terminal is
 * announced, or lack its beginning.
 */
export function displayTerminal(meta: Meta): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  const info = part(meta, 'terminal_info');
  if (info) {
    const command = typeof info.command === 'string' ? info.command : undefined;
    events.push({ type: 'terminal.changed', terminal: { id: info.terminal_id, ...(command === undefined ? {} : { command }) } });
  }
  const output = part(meta, 'terminal_output');
  if (output && typeof output.data === 'string') {
    events.push({ type: 'terminal.changed', terminal: { id: output.terminal_id }, delta: output.data });
  }
  const exit = part(meta, 'terminal_exit');
  if (exit) {
    const code = typeof exit.exit_code === 'number' ? exit.exit_code : null;
    const signal = typeof exit.signal === 'string' ? exit.signal : null;
    events.push({ type: 'terminal.changed', terminal: { id: exit.terminal_id, exit: { code, signal } } });
  }
  return events;
}

function part(meta: Meta, key: string): (Meta & { readonly terminal_id: string }) | undefined {
  const value = meta[key];
  if (typeof value !== 'object' || value === null || !('terminal_id' in value) || typeof value.terminal_id !== 'string') return undefined;
  return value as Meta & { readonly terminal_id: string };
}
