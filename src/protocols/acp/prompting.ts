import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { SessionEvent } from '../../session/events.ts';
import type { Content, TurnId } from '../../session/model.ts';
import type { Closed } from '../../transport/channel.ts';
import type { OpenAsks } from './asks.ts';
import { type Accepts, toBlocks } from './content.ts';
import type { Dialect } from './dialect.ts';
import { faultOf } from './faults.ts';
import type { Placing } from './placing.ts';
import { type PromptEnd, PromptEnds } from './promptEnd.ts';
import { type Activity, promptAnswer } from './schema.ts';
import { stopOf } from './stops.ts';
import type { TerminalRequests } from './terminalRequests.ts';
import type { TurnMemory, Turns } from './turns.ts';
import type { Vigil } from './vigil.ts';

export interface PromptScene {
  readonly turns: Turns;
  readonly asks: OpenAsks;
  readonly placing: Placing;
  readonly vigil: Vigil;
  readonly terminals: Pick<TerminalRequests, 'stopTurn'>;
  readonly emit: (event: SessionEvent) => void;
  readonly dialect: () => Dialect;
  /** A request about the session, to whichever process stands then. */
  readonly request: <T extends z.ZodMiniType>(method: string, params: object, answer: T) => Promise<z.output<T>>;
  readonly notify: (method: string) => void;
  /** Settles when the process that stands is gone; undefined when none stands. */
  readonly closed: () => Promise<Closed> | undefined;
  /** Does it; when the agent wants a sign-in first, has that done and does it once more. */
  readonly withSignIn: (run: () => Promise<PromptEnd>) => Promise<PromptEnd>;
}

/** From a prompt to the end of its turn, and the wish that it ends sooner (acp.md §6). */
export class Prompting {
  readonly #scene: PromptScene;
  readonly #ends = new PromptEnds();

  constructor(scene: PromptScene) {
    this.#scene = scene;
  }

  /** The agent says whether it works. */
  heard(activity: Activity): void {
    this.#ends.heard(activity);
  }

  /** Sends a prompt and settles when its turn is over, whatever became of it. */
  async run(turnId: TurnId, content: readonly Content[], accepts: Accepts): Promise<void> {
    const { turns, asks, placing, vigil, withSignIn } = this.#scene;
    const turn = turns.begin(turnId, 'prompt', content);
    const watch = vigil.begin(turnId);
    try {
      const prompt = toBlocks(content, accepts);
      const end = await withSignIn(() => this.#send(prompt));
      await placing.idle();
      this.#used(end.usage);
      const { status, ...how } = stopOf(end.stopReason);
      if (turns.current === turn) turns.end(status, how);
    } catch (error) {
      await this.#failed(turn, error);
    } finally {
      watch.dispose();
      asks.cancelAll();
    }
  }

  /** Asks the agent to stop the prompt that runs; false when none does. */
  cancel(): boolean {
    const { turns, asks, vigil, terminals, notify } = this.#scene;
    const turn = turns.current;
    if (turn?.sort !== 'prompt') return false;
    if (turn.stopping) return true;
    turn.stopping = true;
    notify('session/cancel');
    asks.cancelAll();
    terminals.stopTurn(turn.id);
    vigil.stopping(turn.id);
    return true;
  }

  /** Settles when the turn is over. */
  #send(prompt: object): Promise<PromptEnd> {
    const { dialect, request, closed } = this.#scene;
    if (dialect().promptAnswersAtEnd) return request('session/prompt', { prompt }, promptAnswer);
    return this.#ends.run(() => request('session/prompt', { prompt }, z.unknown()), closed());
  }

  #used(usage: PromptEnd['usage']): void {
    const { inputTokens: input, outputTokens: output } = usage ?? {};
    if (input == null && output == null) return;
    this.#scene.emit({ type: 'usage.set', usage: { ...(input == null ? {} : { input }), ...(output == null ? {} : { output }) } });
  }

  async #failed(turn: TurnMemory, error: unknown): Promise<void> {
    const { turns, closed } = this.#scene;
    const gone = closed();
    // A process that is gone says so itself, with its reasons.
    if (gone === undefined || (await Promise.race([gone, delay(0)]))) return;
    if (turns.current !== turn) return;
    if (turn.stopping) return turns.end('cancelled');
    turns.end('failed', { error: faultOf(error) });
  }
}
