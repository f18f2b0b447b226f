import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Launch } from '../../../src/protocols/adapter.ts';
import { bareEnvironment, type FakeModel, modernNode, newPlace, type Place, peerFolder, startModel, type Within } from '../lab.ts';

/** The Gemini CLI server, with the least settings it needs to talk to the scripted model and to nobody else. */
export interface Peer {
  readonly place: Place;
  readonly model: FakeModel;
  readonly launch: Extract<Launch, { kind: 'process' }>;
  /** The process that serves, as long as there is one. */
  pid(): number;
  remove(): Promise<void>;
}

const TELLS_PID = `data:text/javascript,import fs from 'node:fs';fs.writeFileSync(process.env.PID_FILE,String(process.pid))`;

export async function startPeer(within?: Within): Promise<Peer> {
  const place = newPlace('gemini-a2a', within);
  const pidFile = path.join(place.home, 'pid');
  const model = await startModel({ cwd: place.cwd, tag: 'a2a' }, within?.script);
  return {
    place,
    model,
    launch: {
      kind: 'process',
      command: modernNode(),
      args: ['--import', TELLS_PID, path.join(peerFolder('gemini-a2a-server'), '@google/gemini-cli-a2a-server/dist/a2a-server.mjs')],
      env: bareEnvironment(place, { PID_FILE: pidFile, GEMINI_API_KEY: 'fake-key', GOOGLE_GEMINI_BASE_URL: model.url }),
      cwd: place.cwd,
    },
    pid: () => Number(readFileSync(pidFile, 'utf8')),
    async remove() {
      await model.stop();
      place.remove();
    },
  };
}
