import type { Launch, Protocol } from '../../../src/protocols/adapter.ts';
import { newSession, reduce } from '../../../src/session/reduce.ts';
import { quietScene } from './quietScene.ts';

export interface BenchConversation {
  /** Settles with the end of the turn; rejects when it fails. */
  prompt(): Promise<void>;
  stop(): Promise<void>;
}

/** A conversation that feeds the reducer; settles once its agent is ready. Older commits of the project are measured with this file, too. */
export function openConversation(protocol: Protocol, launch: Launch): Promise<BenchConversation> {
  let session = newSession('s', { protocol: 'bench', name: 'bench' }, '/');
  let turns = 0;
  let ended: (failure: string | undefined) => void = () => {};
  return new Promise((resolve, reject) => {
    const scene = quietScene((event) => {
      session = reduce(session, event);
      if (event.type === 'turn.ended') ended(event.status === 'done' ? undefined : JSON.stringify(event));
      if (event.type === 'link.closed') reject(new Error(event.reason));
      if (event.type === 'link.ready') setImmediate(() => resolve(conversation));
    });
    const adapter = protocol.open(launch, scene);
    const conversation: BenchConversation = {
      prompt: () =>
        new Promise((done, fail) => {
          ended = (failure) => (failure === undefined ? setImmediate(done) : fail(new Error(failure)));
          turns += 1;
          adapter.send({ type: 'prompt', turnId: `t${turns}`, content: [{ type: 'text', text: 'go' }] });
        }),
      stop: async () => {
        adapter.dispose();
        await adapter.ended;
      },
    };
  });
}
