import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { CallId, ToolCall, TurnId } from '../../session/model.ts';
import { pathOf, shown, type ToolUse } from './toolTable.ts';

/** A call of the running turn. */
export interface TurnCall {
  readonly id: CallId;
  readonly use: ToolUse;
  readonly status: ToolCall['status'];
}

const FILES_NAMED = 20;

/** What has to be said of a turn whose agent went away in it: calls whose end nobody knows, files that were changed (qwen.md §6). */
export function lostTurn(
  calls: readonly TurnCall[],
  turnId: TurnId,
  cwd: string,
): { readonly events: readonly SessionEvent[]; readonly note: string | undefined } {
  const message = t('The agent was gone before it said what came of this.');
  const events = calls.flatMap(({ id, status }): readonly SessionEvent[] =>
    status === 'running' ? [{ type: 'call.changed', turnId, callId: id, change: { status: 'failed', error: { message } } }] : [],
  );
  const carriedOut = calls.filter(({ status }) => status === 'running' || status === 'done');
  const files = new Set(
    carriedOut.flatMap(({ use }) => {
      const file = use.kind === 'edit' ? pathOf(use.input, cwd) : undefined;
      return file === undefined ? [] : [shown(file, cwd)];
    }),
  );
  const commands = carriedOut.some(({ use }) => use.work === 'shell' || use.work === 'agent');
  const named = [...files].slice(0, FILES_NAMED).join(', ');
  const more = files.size > FILES_NAMED ? t('{0} and {1} more', named, files.size - FILES_NAMED) : named;
  const lines = [
    files.size > 0 ? t('Files this turn has changed: {0}.', more) : '',
    commands ? t('Commands and sub-agents of this turn may have changed others.') : '',
  ];
  return { events, note: lines.filter(Boolean).join(' ') || undefined };
}
