import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Content, Fault, TurnId } from '../../session/model.ts';
import { confirmAsksOff, isSure, turnsAsksOff } from './asksOff.ts';
import { closeTurn } from './codec.ts';
import { toUserInput } from './content.ts';
import { faultOf } from './faults.ts';
import { newTurn, type TurnMemory } from './memory.ts';
import type { Peer } from './peer.ts';
import type { OpenRequests } from './requests.ts';
import type { Methods } from './schema.ts';

export interface PromptIntent {
  readonly turnId: TurnId;
  readonly content: readonly Content[];
}
type Ended = Omit<Extract<SessionEvent, { type: 'turn.ended' }>, 'type' | 'turnId' | 'at'>;

export interface OwnTurnsDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly now: () => number;
  readonly cwd: string;
  readonly peer: Peer;
  readonly requests: OpenRequests;
  readonly limits: { readonly offerRestart: number; readonly restart: number };
  /** Stop must always work: ends the process and begins again with the same session. */
  readonly restart: () => void;
  readonly newId: () => string;
  readonly began: () => void;
  readonly ended: () => void;
}

/** The turns we began, one at a time. The answer to `prompt` ends a turn, and nothing else does (wire.md §7). */
export class OwnTurns {
  readonly #deps: OwnTurnsDeps;
  readonly #timers = new Set<NodeJS.Timeout>();
  #turn: TurnMemory | undefined;
  #stopping = false;
  #waiting: PromptIntent[] = [];
  #whenIdle: (() => void)[] = [];
  /** A prompt that is sent only when the user means it. */
  #unsure: { readonly askId: string; readonly turn: TurnMemory; readonly intent: PromptIntent } | undefined;

  constructor(deps: OwnTurnsDeps) {
    this.#deps = deps;
  }

  get turn(): TurnMemory | undefined {
    return this.#turn;
  }

  /** A second prompt would be refused while a turn runs, so it waits. */
  prompt(intent: PromptIntent): void {
    if (this.#turn) this.#waiting.push(intent);
    else this.#begin(intent);
  }

  /**
   * Every open request is answered first: older servers never end a turn that is cancelled while they wait (wire.md §9.1). A turn that does not
   * end is ended with its process.
   */
  cancel(): void {
    const turn = this.#turn;
    if (!turn) return;
    // Nothing of it has been sent.
    if (this.#unsure) return this.#end(turn, { status: 'cancelled' });
    this.#deps.requests.refuseAll();
    // The answers are written once their promises have settled.
    setImmediate(() => {
      // "No turn runs" is no failure, and a closed connection is said elsewhere.
      if (this.#turn === turn) this.#deps.peer.call('cancel', {}).catch(() => {});
    });
    if (this.#stopping) return;
    this.#stopping = true;
    this.#later(this.#deps.limits.offerRestart, () => {
      for (const event of doesNotStop(turn.turnId)) this.#deps.emit(event);
    });
    this.#later(this.#deps.limits.restart, () => {
      this.#end(turn, { status: 'cancelled', stop: 'restarted' });
      this.#deps.restart();
    });
  }

  /** Stops the turn that runs and waits for its end, but not longer than this. */
  async stop(limit: number): Promise<void> {
    this.#waiting = [];
    if (this.#turn && !this.#stopping) {
      this.cancel();
      const idle = new Promise<void>((resolve) => this.#whenIdle.push(resolve));
      const late = new Promise<void>((resolve) => this.#later(limit, resolve));
      await Promise.race([idle, late]);
    }
    this.dispose();
  }

  /** The connection is over; what becomes of the turn is said with it. */
  dispose(): void {
    this.#clearTimers();
    this.#turn = undefined;
    this.#unsure = undefined;
    this.#waiting = [];
    for (const idle of this.#whenIdle.splice(0)) idle();
  }

  #begin(intent: PromptIntent): void {
    this.#deps.began();
    const turn = newTurn(intent.turnId, this.#deps.cwd);
    this.#turn = turn;
    this.#deps.emit({ type: 'turn.started', turnId: intent.turnId, at: this.#deps.now(), prompt: intent.content });
    const [first] = intent.content;
    if (first?.type !== 'text' || !turnsAsksOff(first.text)) return this.#send(turn, intent);
    this.#unsure = { askId: this.#deps.newId(), turn, intent };
    this.#deps.emit({ type: 'ask.opened', ask: confirmAsksOff(this.#unsure.askId, turn.turnId, first.text.trim()) });
  }

  /** True when the ask was about a prompt of ours. */
  answer(askId: string, answer: Answer): boolean {
    const unsure = this.#unsure;
    if (unsure?.askId !== askId) return false;
    this.#unsure = undefined;
    this.#deps.emit({ type: 'ask.closed', askId, how: 'answered' });
    if (isSure(answer)) this.#send(unsure.turn, unsure.intent);
    else this.#end(unsure.turn, { status: 'cancelled' });
    return true;
  }

  #send(turn: TurnMemory, intent: PromptIntent): void {
    this.#deps.peer.call('prompt', { user_input: toUserInput(intent.content) }).then(
      (result) => this.#end(turn, this.#outcome(result)),
      (error: unknown) => {
        const fault = faultOf(error);
        if (fault) this.#end(turn, this.#stopping ? { status: 'cancelled' } : { status: 'failed', error: fault });
      },
    );
  }

  /** A turn that was to be stopped counts as stopped even when it ended by itself first. */
  #outcome({ status, steps }: Methods['prompt']['result']): Ended {
    if (this.#stopping || status === 'cancelled') return { status: 'cancelled' };
    if (status !== 'max_steps_reached') return { status: 'done', ...(status === 'finished' ? {} : { stop: status }) };
    const message =
      steps === 1
        ? t('The agent stopped after one step, its limit for one turn.')
        : t('The agent stopped after {0} steps, its limit for one turn.', steps ?? '?');
    const error: Fault = { message, next: ['continue'] };
    return { status: 'done', error };
  }

  #end(turn: TurnMemory, how: Ended): void {
    if (this.#turn !== turn) return;
    this.#turn = undefined;
    this.#unsure = undefined;
    this.#stopping = false;
    this.#clearTimers();
    this.#deps.requests.turnEnded();
    for (const event of how.status === 'done' ? closeTurn(turn) : []) this.#deps.emit(event);
    this.#deps.ended();
    this.#deps.emit({ type: 'turn.ended', turnId: turn.turnId, at: this.#deps.now(), ...how });
    for (const idle of this.#whenIdle.splice(0)) idle();
    const next = this.#turn ? undefined : this.#waiting.shift();
    if (next) this.#begin(next);
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

/** Says of a turn that it was to be stopped and goes on, and offers the restart that comes by itself later. */
export function doesNotStop(turnId: TurnId): readonly SessionEvent[] {
  const text = t('The agent does not stop. It will be restarted soon; the conversation goes on from there.');
  return [
    { type: 'turn.activity', turnId, text },
    { type: 'notice', notice: { level: 'warn', text: t('The agent does not stop.'), next: ['restart'], turnId } },
  ];
}
