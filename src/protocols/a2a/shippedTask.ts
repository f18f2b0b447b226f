import { t } from '../../base/l10n.ts';
import type { AdapterContext } from '../adapter.ts';
import { type Memory, resumeKey } from './memory.ts';
import { parse } from './rpc.ts';

/**
 * Makes a task of the shipped server beforehand: one that is made by a message counts as untrusted in its later generation, and then uses no
 * tool servers (a2a.md §7). The editor starts no agent in a folder it does not trust. A server that knows no such address makes its own task.
 * A later window finds it from now on: the server may end before it has said a word.
 */
export async function makeTask(memory: Memory, { emit }: Pick<AdapterContext, 'emit'>): Promise<void> {
  const { cwd, contextId, rpc, base } = memory;
  const agentSettings = { kind: 'agent-settings', workspacePath: cwd, isTrusted: true };
  try {
    const answer = await rpc.fetch('POST', `${base}/tasks`, { body: { agentSettings, ...(contextId ? { contextId } : {}) } });
    const id = parse(await answer.text());
    if (typeof id !== 'string' || id === '') return;
    memory.task = { id };
    memory.settled = true;
    emit({ type: 'resume.set', key: resumeKey(memory) });
  } catch {
    // The first message makes it.
  }
}

/** Keeps the server from closing the turn connection while an approval waits (a2a.md §3). */
export function signOfLife({ rpc, base }: Memory): void {
  rpc.signOfLife(`${base}/.well-known/agent-card.json`);
}

/** The shipped server's first generation fails over its own repository in two ways that a user can mend (a2a.md §1). */
export function advised(failure: string | undefined): string | undefined {
  if (failure === undefined || !/Git is not installed|Author identity unknown|unable to auto-detect email/i.test(failure)) return failure;
  return t('{0} (Install Git, or give it an identity: user.name and user.email. Then send the message again.)', failure);
}
