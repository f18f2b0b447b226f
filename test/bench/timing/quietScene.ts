import { randomUUID } from 'node:crypto';
import { silentLog } from '../../../src/base/log.ts';
import type { AdapterContext } from '../../../src/protocols/adapter.ts';

/** A scene in which nothing is lent to the agent and nothing is written down, so that only the adapter's own work is timed. */
export function quietScene(emit: AdapterContext['emit']): AdapterContext {
  return {
    emit,
    ports: {
      tools: [],
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    },
    client: { name: 'bench', version: '0' },
    now: Date.now,
    newId: randomUUID,
    signal: new AbortController().signal,
    trace: () => {},
    log: silentLog,
  };
}
