import type { Protocol } from './adapter.ts';

/** The only list of protocols. */
export const protocols: Readonly<Record<string, Protocol>> = {};
