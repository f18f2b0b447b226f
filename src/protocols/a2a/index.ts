import type { Intent } from '../../session/intents.ts';
import type { Adapter, AdapterContext, Launch, Protocol } from '../adapter.ts';
import { drive } from '../driver.ts';
import { AgentLink } from './link.ts';
import { a2aMachine } from './machine.ts';
import { type A2aState, newA2a, TIMING, type Timing } from './state.ts';
import { openStream, type StreamRequest } from './streams.ts';

/** Agents that speak A2A, by an address or started here; most is understood of those with the development-tool extension. */
export const a2a: Protocol = {
  title: 'A2A',
  launch: 'either',
  open: (launch, scene) => openA2a(launch, scene),
};

/** The text of a proposal that the user changed. `real`: where the path led when the proposal was shown. */
interface LateWrite {
  readonly path: string;
  readonly text: string;
  readonly real?: string;
}

/** A conversation with an A2A agent: somewhere on the network, or started here and reached over loopback. */
export function openA2a(launch: Launch, scene: AdapterContext, timing: Timing = TIMING): Adapter {
  const setup = {
    cwd: launch.options?.workspace ?? launch.cwd,
    resumeKey: scene.resume?.key ?? '',
    starts: launch.kind === 'process',
    timing,
  };
  let link: AgentLink | undefined;
  const driver = drive<A2aState>(a2aMachine, newA2a(`${scene.newId()}.`, setup, scene.past ?? []), {
    now: scene.now,
    emit: scene.emit,
    log: scene.log,
    links: {
      agent: (_params, events) => {
        link = new AgentLink({ launch, scene, timing, taskId: () => driver.state.task.id }, events);
        return link;
      },
      stream: (params, events) => {
        if (!link) throw new Error('There is no agent.');
        return openStream(link.agent, params as StreamRequest, events);
      },
    },
    ports: { file: ({ path, text, real }: LateWrite) => scene.ports.files.write(path, text, undefined, real) },
  });
  const leave = () => driver.feed({ on: 'leave' });
  scene.signal.addEventListener('abort', leave, { once: true });
  void driver.ended.then(() => scene.signal.removeEventListener('abort', leave));
  // Not from inside open: the caller does not have the adapter yet.
  queueMicrotask(() => driver.feed({ on: 'start' }));
  return {
    ended: driver.ended,
    send(intent: Intent) {
      if (intent.type === 'answer' && link?.answerAsk(intent.askId, intent.answer)) return;
      driver.feed({ on: 'intent', intent });
    },
    dispose: leave,
  };
}
