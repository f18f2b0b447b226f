import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import { faultOf } from './faults.ts';
import type { TerminalRequests } from './terminalRequests.ts';
import type { Turns } from './turns.ts';
import type { Updates } from './updates.ts';

export interface SingleStopScene {
  readonly turns: Turns;
  readonly terminals: TerminalRequests;
  readonly updates: Updates;
  readonly request: (method: string, params: object, answer: z.ZodMiniType) => Promise<unknown>;
  readonly notice: (text: string) => void;
}

/** Stops one call or one command while the turn goes on: the client ends its own, the agent is asked about what it says it can stop (acp.md §14). */
export class SingleStops {
  readonly #scene: SingleStopScene;

  constructor(scene: SingleStopScene) {
    this.#scene = scene;
  }

  call(toolCallId: string): void {
    if (this.#scene.turns.current?.calls.get(toolCallId)?.stops) void this.#ask('tool_call/cancel', { toolCallId });
  }

  terminal(terminalId: string): void {
    const { terminals, updates } = this.#scene;
    if (!terminals.stop(terminalId) && updates.terminals.stops(terminalId)) void this.#ask('terminal/cancel', { terminalId });
  }

  /** The answer only says that it was understood; what comes of it comes as news. */
  async #ask(method: string, params: object): Promise<void> {
    try {
      await this.#scene.request(method, params, z.unknown());
    } catch (error) {
      this.#scene.notice(t('The agent did not stop it: {0}', faultOf(error).message));
    }
  }
}
