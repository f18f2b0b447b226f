import { type Channel, closedChannel, lateChannel } from '../../transport/channel.ts';
import { isLocalHostHeader } from '../../transport/httpAccess.ts';
import type { Launch, Protocol } from '../adapter.ts';
import { AhpAdapter, type HostLaunch, LIMITS, socketUrl } from './adapter.ts';
import { running } from './running.ts';

/** The Agent Host Protocol 0.9 and 1.x: sessions of `parley serve`, of VS Code's own host, or of another one (ahp.md §9). */
export const ahp: Protocol = {
  title: 'Agent Host Protocol',
  launch: 'http',
  open(launch, context) {
    const place = hostLaunch(launch);
    return new AhpAdapter(place, context, { connect: () => connect(place, context.name), limits: LIMITS });
  },
  running: (launch, context) => running(connect(hostLaunch(launch)), context),
};

function hostLaunch(launch: Launch): HostLaunch {
  if (launch.kind !== 'http') throw new Error('An agent host has an address');
  return launch;
}

function connect({ url, headers }: HostLaunch, name = url): Channel {
  const place = socketUrl(url, isLocalHostHeader);
  // Loaded when the first host is reached: no other protocol needs it.
  if ('url' in place)
    return lateChannel(import('../../transport/webSocket.ts').then(({ connectWebSocket }) => connectWebSocket(place.url, headers, name)));
  return closedChannel({ failure: 'broken', reason: place.refusal, stderr: '' });
}
