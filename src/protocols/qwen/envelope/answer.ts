import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, TurnId } from '../../../session/model.ts';
import type { Turns } from '../turns.ts';
import type { Calls } from './calls.ts';
import { annotationsIn, type Notes } from './notes.ts';
import type { Completion } from './schema.ts';

export interface AnswerDeps {
  readonly emit: (event: SessionEvent) => void;
  readonly turns: Turns;
  readonly calls: Calls;
  readonly notes: Notes;
  readonly newId: () => string;
}

/** What one line of the model says: text, calls, annotations, and how it ends. */
export interface Heard {
  /** The line holds something to show, not bookkeeping alone. */
  readonly anything: boolean;
  /** The model itself speaks: text or calls. */
  readonly anew: boolean;
  readonly finish: string | undefined;
  /** Calls whose input is whole now. */
  readonly whole: readonly (readonly [CallId, string, unknown])[];
}

/** Reads `chat.completion` lines, whole ones and chunks, into the same parts (qwen.md §4.2). */
export class Answer {
  readonly #deps: AnswerDeps;
  /** The text part that chunks still add to. */
  #text: string | undefined;

  constructor(deps: AnswerDeps) {
    this.#deps = deps;
  }

  take(line: Completion): Heard {
    let anything = false;
    let anew = false;
    let finish: string | undefined;
    const whole: (readonly [CallId, string, unknown])[] = [];
    for (const choice of line.choices ?? []) {
      const said = choice.delta ?? choice.message;
      const content = said?.content ?? '';
      const notes = [...annotationsIn(said?.annotations), ...annotationsIn(choice.annotations)];
      const printed = notes.some((note) => note.type === 'x-qwen-terminal' && note.source !== 'assistant' && typeof note.text !== 'string');
      if (content !== '' && !printed) this.#say(content, line.object === 'chat.completion');
      for (const note of notes) this.#deps.notes.take(note, content);
      if (said?.tool_calls && said.tool_calls.length > 0) this.#calls(said.tool_calls);
      anew ||= (content !== '' && !printed) || (said?.tool_calls?.length ?? 0) > 0;
      anything ||= anew || content !== '' || notes.length > 0;
      finish = choice.finish_reason ?? finish;
      if (choice.finish_reason || line.object === 'chat.completion') whole.push(...this.#complete());
      if (choice.finish_reason) this.#text = undefined;
    }
    return { anything, anew, finish, whole };
  }

  endTurn(): void {
    this.#text = undefined;
  }

  #turn(): TurnId {
    return this.#deps.turns.needed().id;
  }

  #say(text: string, whole: boolean): void {
    this.#deps.notes.interrupt();
    const turnId = this.#turn();
    const partId = (whole ? undefined : this.#text) ?? this.#deps.turns.newPart();
    this.#text = whole ? undefined : partId;
    this.#deps.emit({ type: 'text.delta', turnId, kind: 'text', partId, text: plain(text) });
  }

  #calls(pieces: NonNullable<NonNullable<NonNullable<Completion['choices']>[number]['message']>['tool_calls']>): void {
    this.#text = undefined;
    this.#deps.notes.interrupt();
    const turnId = this.#turn();
    for (const piece of pieces) for (const event of this.#deps.calls.piece(piece, turnId, this.#deps.newId)) this.#deps.emit(event);
  }

  #complete(): readonly (readonly [CallId, string, unknown])[] {
    const turn = this.#deps.turns.running;
    if (!turn) return [];
    const { events, whole } = this.#deps.calls.complete(turn.id);
    for (const event of events) this.#deps.emit(event);
    return whole;
  }
}

/** Text for the chat has no colours. */
function plain(text: string): string {
  return text.replace(/\u001b\[[0-9;]*m/g, '');
}
