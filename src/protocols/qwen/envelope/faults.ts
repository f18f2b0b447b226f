import { parseJson } from '../../../base/json.ts';
import { t } from '../../../base/l10n.ts';
import type { Fault } from '../../../session/model.ts';
import { type FaultIn, type Meta, meta } from './schema.ts';

const UNSUPPORTED = 'unsupported_protocol';

/** An error of the agent, whichever shape it has (qwen.md §4.9). */
export interface AgentFault extends Fault {
  readonly unsupported: boolean;
}

export function faultOf(error: FaultIn): AgentFault {
  const { message, code, type, retryable } =
    typeof error === 'string' ? { message: undefined, code: error, type: undefined, retryable: false } : error;
  const word = code ?? type ?? undefined;
  const unsupported = [code, type, message].includes(UNSUPPORTED);
  return {
    message: message ?? word ?? t('The agent failed.'),
    ...(word === undefined ? {} : { code: word }),
    ...(retryable ? { next: ['retry'] as const } : {}),
    unsupported,
  };
}

/** Why it goes no further with an agent that refuses our version: the versions of both sides, as far as they are known, and its own words. */
export function refusal(error: FaultIn, version: string | number | undefined): string {
  const words = typeof error === 'string' ? undefined : (error.message ?? undefined);
  const refused =
    version === undefined
      ? t('The agent does not support version 1 of the protocol, the one this program speaks.')
      : t('The agent, whose protocol has version {0}, refuses version 1, the one this program speaks.', version);
  return words === undefined || words === UNSUPPORTED ? refused : `${refused} ${words}`;
}

/** Whether we can talk to an agent of this version: 1 and its minors. */
export function supports(version: string | number): boolean {
  return /^1(\.|$)/.test(String(version));
}

/** The handshake may stand in `system_fingerprint`, as JSON text. */
export function fingerprintOf(text: string | null | undefined): Meta | undefined {
  if (!text?.trimStart().startsWith('{')) return undefined;
  try {
    return meta.safeParse(parseJson(text)).data;
  } catch {
    return undefined;
  }
}
