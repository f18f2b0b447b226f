import type { Protocol } from '../adapter.ts';
import { openA2a } from './adapter.ts';

/** Agents that speak A2A, by an address or started here; most is understood of those with the development-tool extension. */
export const a2a: Protocol = {
  title: 'A2A',
  launch: 'either',
  open: (launch, scene) => openA2a(launch, scene),
};
