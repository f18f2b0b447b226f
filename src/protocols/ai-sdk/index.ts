import type { Protocol } from '../adapter.ts';
import { openAiSdk } from './adapter.ts';
import type { Memory } from './server.ts';

const memory: Memory = new Map();

/** Chat servers that speak the AI SDK's UI message stream, versions 5 to 7, with tools that run in the editor. */
export const aiSdk: Protocol = {
  title: 'AI SDK',
  launch: 'http',
  open(launch, scene) {
    if (launch.kind !== 'http') throw new Error('An AI SDK server is reached by an address.');
    return openAiSdk(launch, scene, memory);
  },
};
