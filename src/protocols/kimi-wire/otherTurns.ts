import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import { closeTurn } from './codec.ts';
import { fromUserInput } from './content.ts';
import { newTurn, type TurnMemory } from './memory.ts';
import { events, requests } from './schema.ts';
import { addNotice } from './streaming.ts';

export interface OtherTurnsDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly now: () => number;
  readonly cwd: string;
  readonly newId: () => string;
  readonly ended: () => void;
}

/** Turns that no prompt of ours began: history that is replayed, and what a server begins by itself. */
export class OtherTurns {
  readonly #deps: OtherTurnsDeps;
  #turn: TurnMemory | undefined;
  /** Recordings from before 1.2 hold no ends at all; then a missing end means nothing. */
  #knowsEnds = false;

  constructor(deps: OtherTurnsDeps) {
    this.#deps = deps;
  }

  get turn(): TurnMemory | undefined {
    return this.#turn;
  }

  /** A turn cut off by a crash has no end of its own: it ends where the next begins. */
  begin(payload: unknown): void {
    this.cutOff();
    const parsed = events.TurnBegin.safeParse(payload);
    const prompt = parsed.success ? fromUserInput(parsed.data.user_input) : [];
    this.#turn = newTurn(this.#deps.newId(), this.#deps.cwd);
    this.#deps.emit({ type: 'turn.started', turnId: this.#turn.turnId, at: this.#deps.now(), prompt });
  }

  /** Its TurnEnd came. */
  ended(): void {
    this.#knowsEnds = true;
    this.#end('done');
  }

  /** The user stopped it. */
  stopped(): void {
    this.#end('cancelled');
  }

  /** Something else came instead of its end. */
  cutOff(): void {
    this.#end(this.#knowsEnds ? 'cancelled' : 'done');
  }

  #end(status: 'done' | 'cancelled'): void {
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    this.#deps.ended();
    for (const event of status === 'done' ? closeTurn(turn) : []) this.#deps.emit(event);
    this.#deps.emit({ type: 'turn.ended', turnId: turn.turnId, at: this.#deps.now(), status });
  }

  /** A request of the past, shown as settled: a question leaves a line, the others are seen in their calls. */
  pastRequest(type: string, payload: unknown): void {
    const turn = this.#turn;
    if (!turn || type !== 'QuestionRequest') return;
    const parsed = requests.QuestionRequest.safeParse(payload);
    if (!parsed.success) return;
    const text = parsed.data.questions.map((item) => item.question).join('\n');
    this.#deps.emit(addNotice('info', t('The agent asked: {0}', text), turn, turn.main));
  }
}
