import { guard } from 'lit/directives/guard.js';
import { repeat } from 'lit/directives/repeat.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Session, Turn } from '../src/session/model.ts';
import { mayEdit } from './parts/retryActions.ts';
import { turnView, waitsFor } from './parts/turn.ts';
import { t } from './strings.ts';
import type { View } from './view.ts';

/** So many turns are drawn at first, and so many more each time earlier ones are wanted. */
export const TURNS_AT_ONCE = 20;

/** The turns, oldest first; `shown` of them, counted from the end. */
export function feedView(view: View, shown: number, earlier: () => void): TemplateResult {
  const { turns } = view.session;
  const first = Math.max(0, turns.length - shown);
  return html`${
    first > 0
      ? html`<button class="text-button earlier" type="button" @click=${earlier}>${t('Show earlier turns ({0})', first)}</button>`
      : nothing
  }
  <div role="feed" class="turns" aria-label=${t('Conversation')} aria-busy=${turns.at(-1)?.status === 'running' ? 'true' : 'false'}>
    ${repeat(
      turns.slice(first),
      (turn) => turn.id,
      (turn, index) =>
        guard(
          [turn, view.memory.unfolded, terminalsOf(view.session, turn), waitsFor(view.session, turn), turns.length, mayEdit(view.session)],
          () => turnView(view, turn, first + index, turns.length),
        ),
    )}
  </div>`;
}

const withTerminals = new WeakMap<Turn, boolean>();

/** The session's terminals, for a turn that shows some; all others do not change with them. */
function terminalsOf(session: Session, turn: Turn): Session['terminals'] | undefined {
  let shows = withTerminals.get(turn);
  if (shows === undefined) {
    shows = turn.parts.some((part) => part.kind === 'call' && part.call.output.some((output) => output.kind === 'terminal'));
    withTerminals.set(turn, shows);
  }
  return shows ? session.terminals : undefined;
}
