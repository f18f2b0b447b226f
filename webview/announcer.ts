import { approvalHeading } from '../src/session/approvalHeading.ts';
import type { SessionEvent } from '../src/session/events.ts';
import type { Ask, Session } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { t } from './strings.ts';

/** What a screen reader should hear of a patch; undefined for all that only shows. Never the text that streams in. */
export function announcement(
  events: readonly SessionEvent[],
  session: Pick<Session, 'agent' | 'cwd' | 'turns' | 'partial'>,
): string | undefined {
  // What ended before the link was ready is an earlier conversation that is told.
  const told = session.partial ? events.length : events.findLastIndex((event) => event.type === 'link.ready');
  const said = events.flatMap((event, at) => {
    switch (event.type) {
      case 'turn.ended':
        if (at < told) return [];
        if (event.status === 'done') return [t('The agent has answered.')];
        return [event.status === 'cancelled' ? t('Stopped') : t('The turn failed: {0}', event.error?.message ?? '')];
      case 'ask.opened':
        return [asked(event.ask, titleOf(event.ask, session))];
      case 'link.ready':
        return [t('{0} is ready.', session.agent.name)];
      case 'link.closed':
        // The turn that broke off with it has said why.
        return events.some((one) => one.type === 'turn.ended' && one.error?.message === event.reason) ? [] : [event.reason];
      case 'notice':
        return event.notice.level === 'info' ? [] : [event.notice.text];
      default:
        return [];
    }
  });
  // Heard as it is seen: with the marks that turn the reading direction written out.
  return said.length > 0 ? visibleText(said.join(' ').slice(0, 500)) : undefined;
}

function titleOf(ask: Ask, session: Pick<Session, 'cwd' | 'turns'>): string {
  if (ask.kind === 'question') return ask.title;
  const { action, subject } = approvalHeading(ask, session);
  return subject === undefined ? action : `${action}: ${subject}`;
}

function asked(ask: Ask, title: string): string {
  if (ask.ours) return t('Parley asks: {0}', title);
  return t('The agent asks: {0}', title);
}
