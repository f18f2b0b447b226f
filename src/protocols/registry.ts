import { a2a } from './a2a/index.ts';
import { acp } from './acp/index.ts';
import type { Protocol } from './adapter.ts';
import { ahp } from './ahp/index.ts';
import { aiSdk } from './ai-sdk/index.ts';
import { kimiWire } from './kimi-wire/index.ts';
import { qwen } from './qwen/index.ts';

/** The only list of protocols. */
export const protocols: Readonly<Record<string, Protocol>> = {
  'kimi-wire': kimiWire,
  acp,
  a2a,
  'ai-sdk': aiSdk,
  qwen,
  ahp,
};
