import { t } from '../base/l10n.ts';
import type { SessionEvent } from '../session/events.ts';

const SHOWN = 120;

/** The message while a starting agent prints something other than its protocol, called `label`; `line` is the first of it. */
export function junkWhileOpening(line: string, label: string): Extract<SessionEvent, { type: 'link.opening' }> {
  const text = line.replace(/\s+/g, ' ').trim();
  const first = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return {
    type: 'link.opening',
    note: t('The program printed “{1}”, which is not {0}. If nothing else follows, check its command in the settings.', label, first),
    next: ['openSettings', 'showLog', 'restart'],
  };
}
