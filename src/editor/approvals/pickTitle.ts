import * as vscode from 'vscode';
import { inSentences } from '../../base/l10n.ts';
import type { SessionHost } from '../../live/surface.ts';
import type { Session } from '../../session/model.ts';
import { reconnecting, titleOf } from '../../session/select.ts';
import { pickHeading } from './approvalPick.ts';
import type { QueuedAsk } from './queue.ts';
import { shortLabel, wrapping } from './rowText.ts';

/** Letters of a session's title beside the name of its agent. */
const TITLE = 30;

/**
 * The title of an ask's pick: that the agent cannot be reached, who asks, where several could be meant, the whole question, until when it waits, and its
 * place among several.
 */
export function pickTitleOf(
  { sessionId, ask }: QueuedAsk,
  host: SessionHost,
  { place, of }: { readonly place: number; readonly of: number },
) {
  const session = host.get(sessionId)?.store.now;
  const heading = pickHeading(session, ask, session && host.all.length > 1 ? askingSession(session, host) : '');
  const away = session && reconnecting(session);
  const asked = away === undefined ? heading : inSentences(away, heading);
  const clock =
    ask.until === undefined
      ? undefined
      : new Date(ask.until).toLocaleTimeString(vscode.env.language, { hour: '2-digit', minute: '2-digit' });
  const text = clock === undefined ? asked : `${asked} (${vscode.l10n.t('Expires: {0}', clock)})`;
  return wrapping(of > 1 ? `${text} (${vscode.l10n.t('{0} of {1}', place, of)})` : text);
}

/** The agent that asks, with the title of its session where another one has an agent of the same name. */
export function askingSession(session: Session, host: SessionHost): string {
  const { id, agent } = session;
  const hasTwin = host.all.some((other) => other !== id && host.get(other)?.store.now.agent.name === agent.name);
  // The marks around it must not end within it.
  const title = hasTwin ? shortLabel(titleOf(session).replaceAll(/[“”]/g, '"'), TITLE) : '';
  return title === '' ? agent.name : `${agent.name} “${title}”`;
}
