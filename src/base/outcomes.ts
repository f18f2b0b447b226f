/* How requests and links end, as data. */

import { t } from './l10n.ts';

/** An error answer, ours or theirs. */
export interface ErrorAnswer {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
/** Why a request has no result. `refused`: the agent answered with an error. `unsent`: it never left. `lost`: it is unknown whether it arrived. */
export interface Failure {
  readonly kind: 'refused' | 'unsent' | 'lost';
  readonly message: string;
  readonly code?: number;
  readonly data?: unknown;
}
/** How a link ended; `transport/channel`'s `Closed` is one. */
export interface LinkEnd {
  /** A sentence for the user. */
  readonly reason: string;
  readonly failure?: string;
  /** Exit code of a process, or status of an HTTP response. */
  readonly code?: number;
  readonly signal?: string;
  readonly stderr?: string;
  /** More that the protocol reads, JSON only: headers, the body of an error response. */
  readonly data?: unknown;
}

/** The technical side of the end of a program: its exit code or signal, then what it wrote. */
export function endDetail({ code, signal }: Pick<LinkEnd, 'code' | 'signal'>, written: string): string {
  const how = signal === undefined ? code !== undefined && t('exit {0}', code) : t('killed ({0})', signal);
  return [how, written.trim()].filter(Boolean).join('\n\n');
}

/** `none`: the agent has settled its request itself, so nothing is written. */
export interface LinkAnswer {
  readonly result?: unknown;
  readonly error?: ErrorAnswer;
  readonly none?: true;
}
