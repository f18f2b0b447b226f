import { t } from '../base/l10n.ts';
import type { SessionEvent } from './events.ts';

/** Asks open at a time in a session. Nobody answers more, and to show them would keep the editor from everything else. */
export const MOST_ASKS = 100;

/** Told once when more is asked. */
export function tooManyAsked(): SessionEvent {
  const text = t('The agent asks more than {0} things at once. What it asked beyond that was answered as not allowed.', MOST_ASKS);
  return { type: 'notice', notice: { level: 'warn', text, passing: true } };
}
