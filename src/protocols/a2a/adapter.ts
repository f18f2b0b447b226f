import type { Intent } from '../../session/intents.ts';
import type { Adapter, AdapterContext, Launch } from '../adapter.ts';
import { drive } from '../driver.ts';
import { Connection, type StreamRequest } from './link.ts';
import { a2aMachine } from './machine.ts';
import { type A2aState, newA2a, TIMING, type Timing } from './state.ts';

/** A conversation with an A2A agent: somewhere on the network, or started here and reached over loopback. */
export function openA2a(launch: Launch, scene: AdapterContext, timing: Timing = TIMING): Adapter {
  const connection = new Connection(launch, scene, timing);
  const setup = {
    cwd: launch.options?.workspace ?? launch.cwd,
    resumeKey: scene.resume?.key ?? '',
    starts: launch.kind === 'process',
    timing,
  };
  const driver = drive<A2aState>(a2aMachine, newA2a(`${scene.newId()}.`, setup, scene.past ?? []), {
    now: scene.now,
    emit: scene.emit,
    log: scene.log,
    links: {
      agent: (_params, events) => connection.openAgent(events),
      stream: (params, events) => connection.openStream(params as StreamRequest, events),
    },
    ports: {
      file: ({ path, text, real }: { readonly path: string; readonly text: string; readonly real?: string }) =>
        scene.ports.files.write(path, text, undefined, real),
    },
  });
  connection.taskId = () => driver.state.task.id;
  const leave = () => driver.feed({ on: 'leave' });
  scene.signal.addEventListener('abort', leave, { once: true });
  void driver.ended.then(() => scene.signal.removeEventListener('abort', leave));
  // Not from inside open: the caller does not have the adapter yet.
  queueMicrotask(() => driver.feed({ on: 'start' }));
  return {
    ended: driver.ended,
    send(intent: Intent) {
      if (intent.type === 'answer' && connection.answer(intent.askId, intent.answer)) return;
      driver.feed({ on: 'intent', intent });
    },
    dispose: leave,
  };
}
