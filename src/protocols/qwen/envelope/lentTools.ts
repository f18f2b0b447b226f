import type { SessionEvent } from '../../../session/events.ts';
import type { CallId } from '../../../session/model.ts';
import type { EditorTools } from '../editorTools.ts';
import type { Turns } from '../turns.ts';
import type { Calls } from './calls.ts';
import type { Flow } from './flow.ts';

export interface LentToolsDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly turns: Turns;
  readonly calls: Calls;
  readonly tools: EditorTools;
  readonly flow: Flow;
  readonly promptId: () => string;
  readonly request: (request: object) => void;
}

/** Calls of our editor tools that come as ordinary calls are ours to run; those of other names are the agent's own (qwen.md §4.4). */
export class LentTools {
  readonly #deps: LentToolsDeps;

  constructor(deps: LentToolsDeps) {
    this.#deps = deps;
  }

  /** Runs those of the calls that are ours; each answer goes back as a continuation of the prompt it belongs to. */
  run(whole: readonly (readonly [CallId, string, unknown])[]): void {
    const { turns, tools } = this.#deps;
    const turn = turns.running;
    if (!turn || tools.isServer) return;
    for (const [id, name, input] of whole) {
      const tool = name.replace(/^(ide\.|mcp__ide__)/, '');
      if (tools.has(tool)) void this.#answer(id, name, turn.id, tools.run(tool, input));
    }
  }

  async #answer(id: CallId, name: string, turnId: string, running: ReturnType<EditorTools['run']>): Promise<void> {
    const { emit, turns, calls, flow, promptId, request } = this.#deps;
    const prompt = promptId();
    for (const event of calls.began(id, turnId)) emit(event);
    const { ok, text } = await running;
    // After a Stop a continuation would set the agent to work again.
    if (turns.running?.id !== turnId || turns.running.stopping) return;
    for (const event of calls.ended(id, ok, text, turnId)) emit(event);
    const parts = [{ type: 'function_response', function_response: { name, response: ok ? { output: text } : { error: text } } }];
    request({ prompt_id: prompt, tool_call_id: id, continuation: true, input: { origin: 'tool_response', parts } });
    flow.active(false);
  }
}
