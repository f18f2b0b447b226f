import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, TurnId } from '../../../session/model.ts';
import type { Approvals } from '../approvals.ts';
import { isRecord } from '../detect.ts';
import type { Turns } from '../turns.ts';
import type { BackgroundAgents } from './backgroundAgents.ts';
import type { Refusals } from './refusals.ts';
import { resultEvents } from './results.ts';
import type { Block, UserLine } from './schema.ts';
import type { Transcript } from './transcript.ts';

export interface CallEndDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly turns: Turns;
  readonly calls: Transcript;
  readonly approvals: Approvals;
  readonly refusals: Refusals;
  readonly background: BackgroundAgents;
  readonly cwd: string;
}

/** That calls run, and what comes of them. */
export class CallEnds {
  readonly #deps: CallEndDeps;

  constructor(deps: CallEndDeps) {
    this.#deps = deps;
  }

  progress(callId: CallId): void {
    const { calls, emit } = this.#deps;
    const turnId = this.#turnOf(callId);
    const status = calls.call(callId)?.status;
    if (turnId === undefined || (status !== 'pending' && status !== 'waiting')) return;
    calls.setStatus(callId, 'running');
    emit({ type: 'call.changed', turnId, callId, change: { status: 'running' } });
  }

  settle(callId: CallId, block: Block, line: UserLine): void {
    const { calls, approvals, turns, refusals, background, emit, cwd } = this.#deps;
    const turnId = this.#turnOf(callId);
    const applied = approvals.appliedInstead(callId);
    const how = {
      use: calls.call(callId)?.use,
      before: approvals.before(callId),
      refused: approvals.wasRefused(callId),
      stopping: turns.running?.stopping ?? false,
      ...(applied === undefined ? {} : { applied }),
    };
    refusals.heard(line, callId, block, how.use?.name);
    approvals.settleCall(callId);
    // That a sub-agent began is told in words for the model.
    const isAsync = isRecord(line.tool_use_result) && line.tool_use_result.isAsync === true;
    calls.setStatus(callId, block.is_error ? 'failed' : 'done');
    if (turnId !== undefined && !isAsync) for (const event of resultEvents(block, line, turnId, how, cwd)) emit(event);
    if (!block.is_error) background.launched(callId, isAsync);
  }

  /** The turn whose call that is, as far as it can still change. */
  #turnOf(callId: CallId): TurnId | undefined {
    return this.#deps.calls.backgroundTurn(callId) ?? this.#deps.turns.running?.id;
  }
}
