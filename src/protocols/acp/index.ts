import type { Protocol } from '../adapter.ts';
import { AcpAdapter } from './adapter.ts';

/** Agents that speak the Agent Client Protocol over their standard input and output. */
export const acp: Protocol = {
  title: 'Agent Client Protocol',
  launch: 'process',
  open(launch, scene) {
    if (launch.kind !== 'process') throw new Error('An ACP agent is a process.');
    return new AcpAdapter(launch, scene);
  },
};
