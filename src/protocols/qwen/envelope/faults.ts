import { say } from '../../../base/say.ts';
import type { Fault } from '../../../session/model.ts';
import { type FaultIn, type Meta, meta } from './schema.ts';

/** An error of the agent, whichever shape it has (qwen.md §4.9). */
export interface AgentFault extends Fault {
  readonly unsupported: boolean;
}

export function faultOf(error: FaultIn): AgentFault {
  const { message, code, type, retryable } =
    typeof error === 'string' ? { message: undefined, code: error, type: undefined, retryable: false } : error;
  const word = code ?? type ?? undefined;
  const unsupported = code === 'unsupported_protocol' || type === 'unsupported_protocol' || message === 'unsupported_protocol';
  const words =
    message ?? (unsupported ? say('The agent does not support the protocol version asked for.') : (word ?? say('The agent failed.')));
  return {
    message: words,
    ...(word === undefined ? {} : { code: word }),
    ...(retryable ? { next: ['retry'] as const } : {}),
    unsupported,
  };
}

/** Whether we can talk to an agent of this version: 1 and its minors. */
export function supports(version: string | number): boolean {
  return /^1(\.|$)/.test(String(version));
}

/** The handshake may stand in `system_fingerprint`, as JSON text. */
export function fingerprintOf(text: string | null | undefined): Meta | undefined {
  if (!text?.trimStart().startsWith('{')) return undefined;
  try {
    return meta.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
