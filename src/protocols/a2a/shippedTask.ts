import type { Memory } from './memory.ts';
import { parse } from './rpc.ts';

/**
 * Makes a task of the shipped server beforehand: one that is made by a message counts as untrusted in its later generation, and then uses no
 * tool servers (a2a.md §7). The editor starts no agent in a folder it does not trust. A server that knows no such address makes its own task.
 */
export async function makeTask(memory: Memory): Promise<void> {
  const { cwd, contextId, rpc, base } = memory;
  const agentSettings = { kind: 'agent-settings', workspacePath: cwd, isTrusted: true };
  try {
    const answer = await rpc.fetch('POST', `${base}/tasks`, { agentSettings, ...(contextId ? { contextId } : {}) });
    const id = parse(await answer.text());
    if (typeof id !== 'string' || id === '') return;
    memory.task = { id };
    memory.settled = true;
  } catch {
    // The first message makes it.
  }
}
