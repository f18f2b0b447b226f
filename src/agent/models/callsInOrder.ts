import type { ModelPiece } from './model.ts';

interface Held {
  readonly id: string;
  readonly name: string;
  input: string;
  /** Of `input`, how much has been given on. */
  given: number;
  began: boolean;
  ended: boolean;
  meta: Readonly<Record<string, unknown>> | undefined;
}

/** Calls whose arguments may arrive mixed, given on one after the other in the order they began. */
export class CallsInOrder {
  readonly #held: Held[] = [];

  begin(id: string, name: string): Iterable<ModelPiece> {
    if (!this.#find(id)) this.#held.push({ id, name, input: '', given: 0, began: false, ended: false, meta: undefined });
    return this.#flush();
  }

  grow(id: string, text: string): Iterable<ModelPiece> {
    const held = this.#find(id);
    if (held) held.input += text;
    return this.#flush();
  }

  /** `parsed` stands in when nothing was streamed. The text as the model wrote it wins: broken JSON is told back to the model as it was. */
  end(id: string, name: string, parsed: unknown, meta: Readonly<Record<string, unknown>> | undefined): Iterable<ModelPiece> {
    const held = this.#find(id) ?? { id, name, input: '', given: 0, began: false, ended: false, meta: undefined };
    if (!this.#held.includes(held)) this.#held.push(held);
    if (held.input === '') held.input = typeof parsed === 'string' ? parsed : JSON.stringify(parsed ?? {});
    held.ended = true;
    held.meta = meta;
    return this.#flush();
  }

  #find(id: string): Held | undefined {
    return this.#held.find((held) => held.id === id && !held.ended);
  }

  *#flush(): Generator<ModelPiece> {
    for (let first = this.#held[0]; first; first = this.#held[0]) {
      const { id, name, input, meta } = first;
      if (!first.began) yield { type: 'call.began', id, name };
      first.began = true;
      if (first.given < input.length) yield { type: 'call.grew', id, text: input.slice(first.given) };
      first.given = input.length;
      if (!first.ended) return;
      this.#held.shift();
      yield { type: 'call', call: { id, name, input, ...(meta === undefined ? {} : { meta }) } };
    }
  }
}
