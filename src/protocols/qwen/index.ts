import type { Protocol } from '../adapter.ts';
import { QwenAdapter } from './adapter.ts';

/** Qwen Code's structured input and output, in both dialects, and Claude Code, which speaks one of them. */
export const qwen: Protocol = {
  title: 'Qwen Code / Claude Code (stream-json)',
  launch: 'process',
  open(launch, scene) {
    if (launch.kind !== 'process') throw new Error('This protocol starts a process');
    return new QwenAdapter(launch, scene);
  },
};
