import { isLocalHostHeader } from '../../transport/httpAccess.ts';
import { closedChannel } from '../../transport/process.ts';
import { connectWebSocket } from '../../transport/webSocket.ts';
import type { Protocol } from '../adapter.ts';
import { AhpAdapter, LIMITS, socketUrl } from './adapter.ts';

/** The Agent Host Protocol 0.9 and 1.x: sessions of `parley serve`, of VS Code's own host, or of another one (ahp.md §9). */
export const ahp: Protocol = {
  title: 'Agent Host Protocol',
  launch: 'http',
  open(launch, context) {
    if (launch.kind !== 'http') throw new Error('An agent host has an address');
    const place = socketUrl(launch.url, isLocalHostHeader);
    const name = context.name ?? launch.url;
    return new AhpAdapter(launch, context, {
      connect: () =>
        'url' in place
          ? connectWebSocket(place.url, launch.headers, name)
          : closedChannel({ failure: 'broken', reason: place.refusal, stderr: '' }),
      limits: LIMITS,
    });
  },
};
