import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { Profile } from '../../src/live/profiles.ts';
import { Sessions } from '../../src/live/sessions.ts';
import { scriptedProtocol } from './scriptedProtocol.ts';

/** A window: sessions over a journal folder that outlives it, with agents played by hand. */
export function windowOn(folder: string, profile: (id: string) => Profile | undefined) {
  const script = scriptedProtocol();
  const sessions = new Sessions({
    protocols: () => ({ scripted: script.protocol }),
    profile,
    launch: async () => ({ kind: 'process', command: 'fake', args: [], env: {}, cwd: folder }),
    ports: () => ({
      tools: [],
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    }),
    rules: () => [],
    client: { name: 'test', version: '0' },
    log: silentLog,
    trace: () => {},
    now: () => 1,
    newId: () => crypto.randomUUID(),
    journal: new Journal(folder, silentLog),
    windowKey: () => 'w',
  });
  return { script, sessions };
}
