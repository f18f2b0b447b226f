import { processChannel } from '../../transport/process.ts';
import type { Protocol } from '../adapter.ts';
import { LIMITS, WireAdapter } from './adapter.ts';
import { discover } from './discover.ts';

/** Wire 1.0 to 1.10: Kimi CLI, Kimi Agent, and the bundled parley-agent (wire.md). */
export const kimiWire: Protocol = {
  title: 'Kimi Wire',
  launch: 'process',
  discover,
  open(launch, context) {
    if (launch.kind !== 'process') throw new Error('Kimi Wire is spoken with a process');
    // A message about its process calls it as the user does.
    const called = context.name ? { name: context.name } : {};
    return new WireAdapter(launch, context, {
      open: (spec) => processChannel({ ...spec, ...called }, { log: context.log }),
      limits: LIMITS,
    });
  },
};
