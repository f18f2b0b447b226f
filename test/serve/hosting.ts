import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { diskEffects } from '../../src/live/diskFiles.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { Profile } from '../../src/live/profiles.ts';
import { ChangeSet } from '../../src/live/review/changeSet.ts';
import { ChangeSets } from '../../src/live/review/changeSets.ts';
import { Sessions } from '../../src/live/sessions.ts';
import type { Protocol } from '../../src/protocols/adapter.ts';
import type { Ports } from '../../src/protocols/ports.ts';
import { agentHost } from '../../src/serve/host.ts';
import { ClientNames, KeptOffers, SessionMarks } from '../../src/serve/marks.ts';
import { WindowTools } from '../../src/serve/windowTools.ts';
import { scriptedProtocol } from '../live/scriptedProtocol.ts';

/** The one agent of the host. */
export const profile: Profile = { id: 'fake', name: 'Fake', protocol: 'scripted', args: [], env: {}, headers: {} };
/** Files and terminals that nobody may use. */
export const noPorts: Omit<Ports, 'tools'> = {
  files: { read: async () => '', write: async () => {} },
  terminals: { create: () => Promise.reject(new Error('none')) },
};

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 }))));
/** A folder for hosts, which goes when all tests of the file have ended: a host that is started again writes where an earlier one did. */
export function hostFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'agent-host-'));
  folders.push(folder);
  return folder;
}

/**
 * An agent host over one folder, with agents that are played by hand, or that `real` speaks to. Over the same folder again it is that host after
 * a restart.
 */
export function hosting(
  folder: string,
  now: () => number,
  newId: () => string,
  real?: { readonly protocol: Protocol; readonly url: string },
) {
  const scripted = scriptedProtocol();
  const journal = new Journal(path.join(folder, 'sessions'), silentLog);
  const windowTools = new WindowTools();
  const environments: (readonly [string, Readonly<Record<string, string | undefined>>])[] = [];
  const sessions = new Sessions({
    protocols: () => ({ scripted: real?.protocol ?? scripted.protocol }),
    profile: (id) => (id === profile.id ? profile : undefined),
    launch: async () =>
      real ? { kind: 'http', url: real.url, headers: {}, cwd: folder } : { kind: 'process', command: 'x', args: [], env: {}, cwd: folder },
    ports: ({ id }) => ({
      ...noPorts,
      get tools() {
        return windowTools.giveTools(id);
      },
    }),
    rules: () => [],
    client: { name: 'Parley', version: '0' },
    log: silentLog,
    trace: () => {},
    now,
    newId,
    journal,
    windowKey: () => 'host',
  });
  const changeSets = new ChangeSets(
    sessions,
    path.join(folder, 'review'),
    () => ChangeSet,
    diskEffects,
    (id, event) => sessions.get(id)?.publish(event),
    silentLog,
  );
  const host = agentHost({
    sessions,
    journal,
    windowTools,
    marks: new SessionMarks(path.join(folder, 'sessions'), silentLog),
    clientNames: new ClientNames(path.join(folder, 'sessions'), silentLog),
    offers: new KeptOffers(path.join(folder, 'sessions'), silentLog),
    changeSets,
    effects: diskEffects,
    profiles: () => [profile],
    log: silentLog,
    now,
    version: '0',
    environment: (id, env) => void environments.push([id, env]),
  });
  const end = async () => {
    host.dispose();
    changeSets.dispose();
    sessions.dispose();
    await sessions.agentsEnded();
  };
  return { host, sessions, changeSets, windowTools, environments, end, last: scripted.last, conversations: scripted.conversations };
}
