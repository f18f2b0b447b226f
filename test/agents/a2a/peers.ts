import path from 'node:path';
import type { Launch } from '../../../src/protocols/adapter.ts';
import { bareEnvironment, type FakeModel, modernNode, newPlace, type Place, peerFolder, startModel } from '../lab.ts';

/** The shipped server, with the least settings it needs to talk to the scripted model and to nobody else. */
export interface Peer {
  readonly place: Place;
  readonly model: FakeModel;
  readonly launch: Extract<Launch, { kind: 'process' }>;
  remove(): Promise<void>;
}

export async function startPeer(): Promise<Peer> {
  const place = newPlace('gemini-a2a');
  const model = await startModel({ cwd: place.cwd, tag: 'a2a' });
  return {
    place,
    model,
    launch: {
      kind: 'process',
      command: modernNode(),
      args: [path.join(peerFolder('gemini-a2a-server'), '@google/gemini-cli-a2a-server/dist/a2a-server.mjs')],
      env: bareEnvironment(place, { GEMINI_API_KEY: 'fake-key', GOOGLE_GEMINI_BASE_URL: model.url }),
      cwd: place.cwd,
    },
    async remove() {
      await model.stop();
      place.remove();
    },
  };
}
