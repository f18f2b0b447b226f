import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, ToolCall } from '../../../session/model.ts';
import type { SystemLine } from './schema.ts';
import type { Transcript } from './transcript.ts';

export interface BackgroundAgentDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly calls: Transcript;
  readonly newPart: () => string;
  /** Nobody waits for an answer about that call any more. */
  readonly settled: (callId: CallId) => void;
}

/** Sub-agents that work on after the agent was told that they began. What they do stands under their cards, whichever turn runs (qwen.md §3.8). */
export class BackgroundAgents {
  readonly #deps: BackgroundAgentDeps;
  /** Sub-agents without an end, by their task. */
  readonly #tasks = new Map<string, CallId>();

  constructor(deps: BackgroundAgentDeps) {
    this.#deps = deps;
  }

  /** True when the line is about one, and its card says all of it. */
  heard({ subtype, task_id: task, tool_use_id: callId, status, summary }: SystemLine): boolean {
    if (!task) return false;
    if (subtype === 'task_started' && callId && this.#deps.calls.call(callId)?.use.work === 'agent') {
      this.#tasks.set(task, callId);
      return this.#deps.calls.call(callId)?.use.input.run_in_background === true;
    }
    const ended = subtype === 'task_notification' ? this.#tasks.get(task) : undefined;
    if (ended === undefined) return false;
    this.#tasks.delete(task);
    if (!this.#deps.calls.call(ended)?.goesOn) return false;
    this.#end(ended, status === 'completed' ? 'done' : status === 'failed' ? 'failed' : 'cancelled', summary ?? '');
    return true;
  }

  /** The result of a call came; `isAsync`: it says no more than that its sub-agent works in the background now. */
  launched(callId: CallId, isAsync: boolean): void {
    const call = this.#deps.calls.call(callId);
    if (!call || !(isAsync || call.use.input.run_in_background === true) || ![...this.#tasks.values()].includes(callId)) return;
    call.goesOn = true;
    call.status = 'running';
    this.#deps.emit({ type: 'call.changed', turnId: call.turn, callId, change: { status: 'running', goesOn: true } });
    this.#tell();
  }

  /** The agent is gone. */
  over(): void {
    for (const callId of new Set(this.#tasks.values())) if (this.#deps.calls.call(callId)?.goesOn) this.#end(callId, 'cancelled', '');
    this.#tasks.clear();
  }

  #end(callId: CallId, status: ToolCall['status'], words: string): void {
    const { emit, calls, newPart, settled } = this.#deps;
    const call = calls.call(callId);
    if (!call) return;
    const { turn: turnId } = call;
    for (const child of calls.openUnder(callId)) {
      settled(child);
      calls.setStatus(child, 'cancelled');
      emit({ type: 'call.changed', turnId, callId: child, change: { status: 'cancelled' } });
    }
    // What it said last is most often its report.
    if (words !== '' && words.trim() !== calls.lastWords(callId)?.trim())
      emit({ type: 'text.delta', turnId, kind: 'text', partId: newPart(), parent: callId, text: words });
    emit({ type: 'call.changed', turnId, callId, change: { status, goesOn: false } });
    call.status = status;
    call.goesOn = false;
    this.#tell();
  }

  #tell(): void {
    const { calls, emit } = this.#deps;
    const tasks = [...this.#tasks].flatMap(([id, callId]) => {
      const call = calls.call(callId);
      return call?.goesOn ? [{ id, text: call.use.title }] : [];
    });
    emit({ type: 'background.set', tasks });
  }
}
