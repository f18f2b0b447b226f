import * as z from 'zod/mini';
import type { Past } from '../adapter.ts';
import type { Connection } from './connection.ts';
import { codeOf, faultOf, NOT_FOUND } from './faults.ts';
import { limited } from './limited.ts';
import { sessionAnswer, sessionList } from './schema.ts';

/** The conversations an agent keeps itself (acp.md §5). */

/** Pages of a list that are asked for at most. */
const PAGES = 20;

export async function listSessions(connection: Connection, cwd: string, ...signals: readonly AbortSignal[]): Promise<readonly Past[]> {
  const found: Past[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const params = { cwd, ...(cursor === undefined ? {} : { cursor }) };
    const { sessions, nextCursor } = await limited((signal) => connection.request('session/list', params, sessionList, signal), ...signals);
    for (const one of sessions) {
      if (one.cwd != null && one.cwd !== cwd) continue;
      const at = one.updatedAt ? Date.parse(one.updatedAt) : Number.NaN;
      found.push({ key: one.sessionId, title: one.title || one.sessionId, ...(Number.isNaN(at) ? {} : { at }) });
    }
    if (!nextCursor || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found;
}

/** A conversation that is gone already is no error. */
export async function deleteSession(connection: Connection, sessionId: string, ...signals: readonly AbortSignal[]): Promise<void> {
  try {
    await limited((signal) => connection.request('session/delete', { sessionId }, z.unknown(), signal), ...signals);
  } catch (error) {
    if (codeOf(error) !== NOT_FOUND) throw new Error(faultOf(error).message);
  }
}

/** The id of the copy. */
export async function forkSession(
  connection: Connection,
  sessionId: string,
  folders: object,
  ...signals: readonly AbortSignal[]
): Promise<string> {
  const params = { sessionId, ...folders, mcpServers: [] };
  const answer = await limited((signal) => connection.request('session/fork', params, sessionAnswer, signal), ...signals);
  if (!answer.sessionId) throw new Error('The agent did not name the copy.');
  return answer.sessionId;
}
