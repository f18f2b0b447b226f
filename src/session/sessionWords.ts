import { t } from '../base/l10n.ts';

/** The session data that a list shows. */
export interface ListedSession {
  readonly state: 'opening' | 'ready' | 'busy' | 'closed' | 'past';
  readonly asks: number;
  readonly failed?: true;
  readonly files: number;
}

/** The state of a session in two words; undefined for an idle one. One that waits for the user is not at work. */
export function stateWords({ state, asks, failed }: ListedSession): string | undefined {
  if (asks > 0) return t('Waiting for you');
  if (state === 'busy') return t('Working');
  if (state === 'opening') return t('Starting');
  return failed ? t('Failed') : undefined;
}

export function fileWords({ files }: ListedSession): string | undefined {
  return files === 0 ? undefined : t('{0} {0|file|files}', files);
}
