import { approvalHeading } from '../src/session/approvalHeading.ts';
import type { SessionEvent } from '../src/session/events.ts';
import type { Ask, Session } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { t } from './strings.ts';

/** The text a screen reader announces for a patch; undefined for changes that are only visual. Never the text that streams in. */
export function announcement(
  events: readonly SessionEvent[],
  session: Pick<Session, 'agent' | 'cwd' | 'turns' | 'partial'>,
): string | undefined {
  // Turns that ended before the link was ready belong to an earlier conversation being replayed.
  const told = session.partial ? events.length : events.findLastIndex((event) => event.type === 'link.ready');
  const said = events.flatMap((event, at) => {
    switch (event.type) {
      case 'turn.ended':
        if (at < told) return [];
        if (event.status === 'done') return [`${session.agent.name}: ${t('Done')}`];
        return [event.status === 'cancelled' ? t('Stopped') : t('{0} failed: {1}', session.agent.name, event.error?.message ?? '')];
      case 'ask.opened':
        return [asked(event.ask, titleOf(event.ask, session), session.agent.name)];
      case 'link.ready':
        return [t('{0} is ready.', session.agent.name)];
      case 'link.closed':
        // The failed turn has already announced the reason.
        return events.some((one) => one.type === 'turn.ended' && one.error?.message === event.reason) ? [] : [event.reason];
      case 'notice':
        return event.notice.level === 'info' ? [] : [event.notice.text];
      default:
        return [];
    }
  });
  // Announced as displayed: with the marks that change the reading direction written out.
  return said.length > 0 ? visibleText(said.join(' ').slice(0, 500)) : undefined;
}

function titleOf(ask: Ask, session: Pick<Session, 'cwd' | 'turns'>): string {
  if (ask.kind === 'question') return ask.title;
  const { action, subject } = approvalHeading(ask, session);
  return subject === undefined ? action : `${action}: ${subject}`;
}

function asked(ask: Ask, title: string, agent: string): string {
  return t('{0} asks: {1}', ask.ours ? 'Parley' : agent, title);
}
