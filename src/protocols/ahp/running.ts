import { pathOfUri } from '../../base/paths.ts';
import type { Channel } from '../../transport/channel.ts';
import type { LinkEvents } from '../../transport/link.ts';
import { rpcLink } from '../../transport/rpcLink.ts';
import type { AdapterContext, Running } from '../adapter.ts';
import { ROOT } from './codec.ts';
import { VERSIONS } from './machine.ts';
import { answers, type ListedSession } from './schema.ts';
import { STATUS } from './state.ts';

const PAGES = 20;
const NOBODY: LinkEvents = { message: () => {}, asked: () => {}, withdrawn: () => {}, junk: () => {}, closed: () => {} };

/** The sessions of a host, newest first; the connection is closed again. */
export async function running(
  channel: Channel,
  { client, log, signal }: Pick<AdapterContext, 'client' | 'log' | 'signal'>,
): Promise<readonly Running[]> {
  const link = rpcLink(channel, NOBODY, { log });
  const ask = (method: string, params: object) => link.request(method, { channel: ROOT, ...params }, signal);
  try {
    await ask('initialize', { protocolVersions: VERSIONS, clientId: crypto.randomUUID(), clientInfo: client });
    const found: ListedSession[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page++) {
      const { items, nextCursor } = answers.listSessions.parse(await ask('listSessions', cursor === undefined ? {} : { cursor }));
      found.push(...items);
      if (nextCursor === undefined || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    return found.map(runningOf);
  } finally {
    link.close();
  }
}

function runningOf({ resource, provider, title, status, modifiedAt, workingDirectories: [folder = ''] }: ListedSession): Running {
  const at = Date.parse(modifiedAt);
  const activity = status & STATUS.activity;
  const state =
    activity === STATUS.inputNeeded ? 'asking' : activity === STATUS.inProgress ? 'busy' : activity === STATUS.error ? 'failed' : 'idle';
  return { key: resource, title, agent: provider, cwd: pathOfUri(folder), state, ...(Number.isNaN(at) ? {} : { at }) };
}
