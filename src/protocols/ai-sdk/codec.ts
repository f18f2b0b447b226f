import type { CallChange, SessionEvent } from '../../session/events.ts';
import type { ToolAnswer } from '../ports.ts';
import type { Watcher } from './assembly.ts';
import type { ReasoningPart, TextPart, ToolPart, UiPart } from './schema.ts';
import { callOf, changeOf, contentOf, contentsOf, usageOf } from './shown.ts';
import { isTool } from './toolParts.ts';

/** What the session has been told of one part. */
interface Told {
  readonly id: string;
  /** UTF-16 units of its text, or of its input. */
  text: number;
  /** The user saw our own result; what the server makes of it changes nothing (ai-sdk.md §6.4). */
  own?: true;
}

/** Tells a session what happens to the assistant message of one turn, however many responses it takes. */
export class Telling implements Watcher {
  readonly #turnId: string;
  readonly #emit: (event: SessionEvent) => void;
  readonly #told = new Map<UiPart, Told>();
  readonly #ids = new Set<string>();
  #count = 0;
  /** Growth that has not been told: pieces of one part that come together are told together. */
  #grown: { readonly part: TextPart | ReasoningPart | ToolPart; text: string } | undefined;

  constructor(turnId: string, emit: (event: SessionEvent) => void) {
    this.#turnId = turnId;
    this.#emit = (event) => {
      this.flush();
      emit(event);
    };
    this.#emitGrowth = emit;
  }
  readonly #emitGrowth: (event: SessionEvent) => void;

  /** Tells what has grown. */
  flush(): void {
    const grown = this.#grown;
    if (!grown) return;
    this.#grown = undefined;
    const { part, text } = grown;
    const { id } = this.#tell(part);
    if (isTool(part)) this.#emitGrowth({ type: 'call.inputDelta', turnId: this.#turnId, callId: id, text });
    else this.#emitGrowth({ type: 'text.delta', turnId: this.#turnId, kind: part.type === 'text' ? 'text' : 'thought', partId: id, text });
  }

  /** The session's name for a call. */
  idOf(part: ToolPart): string {
    return this.#told.get(part)?.id ?? part.toolCallId;
  }

  added(part: UiPart): void {
    const told = this.#tell(part);
    const turnId = this.#turnId;
    if (isTool(part)) {
      this.#emit({ type: 'part.added', turnId, part: { kind: 'call', id: told.id, call: callOf(told.id, part) } });
    } else if (part.type === 'steering-message') {
      this.#emit({ type: 'part.added', turnId, part: { kind: 'prompt', id: told.id, content: contentsOf(part.parts) } });
    } else if (part.type === 'data-usage') {
      this.#usage(part.data);
    } else {
      const content = contentOf(part);
      if (content) this.#emit({ type: 'part.added', turnId, part: { kind: 'content', id: told.id, content } });
    }
  }

  grew(part: TextPart | ReasoningPart | ToolPart, text: string): void {
    this.#tell(part).text += text.length;
    if (this.#grown?.part === part) {
      this.#grown.text += text;
      return;
    }
    this.flush();
    this.#grown = { part, text };
  }

  changed(part: ToolPart): void {
    const told = this.#tell(part);
    if (told.own) return;
    this.#emit({ type: 'call.changed', turnId: this.#turnId, callId: told.id, change: changeOf(part, told.text > 0) });
  }

  removed(parts: readonly UiPart[]): void {
    this.flush();
    const ids = parts.flatMap((part) => this.#told.get(part)?.id ?? []);
    for (const part of parts) this.#told.delete(part);
    if (ids.length > 0) this.#emit({ type: 'parts.removed', turnId: this.#turnId, partIds: ids });
  }

  metadata(metadata: unknown): void {
    this.#usage(metadata);
  }

  /** One of our tools has begun, or has answered. */
  running(part: ToolPart, look: CallChange): void {
    this.#emit({ type: 'call.changed', turnId: this.#turnId, callId: this.idOf(part), change: { status: 'running', ...look } });
  }
  answered(part: ToolPart, answer: ToolAnswer): void {
    this.#tell(part).own = true;
    const text = answer.ok && answer.text !== '' ? [{ kind: 'content', content: { type: 'text', text: answer.text } } as const] : [];
    const output = answer.shown ?? text;
    this.#emit({
      type: 'call.changed',
      turnId: this.#turnId,
      callId: this.idOf(part),
      change: { status: answer.ok ? 'done' : 'failed', output, ...(answer.ok ? {} : { error: { message: answer.text } }) },
    });
  }

  /** Parts that say the same take the place of those told before; only what they have more is told. */
  adopt(before: readonly UiPart[], after: readonly UiPart[]): void {
    this.flush();
    after.forEach((part, at) => {
      const old = before[at];
      const told = old && this.#told.get(old);
      if (told && old) {
        this.#told.delete(old);
        this.#told.set(part, told);
      } else {
        this.added(part);
      }
      const text = isTool(part) ? part.rawInput : 'text' in part ? part.text : undefined;
      const known = this.#told.get(part)?.text ?? 0;
      if (typeof text === 'string' && text.length > known) this.grew(part as TextPart | ReasoningPart | ToolPart, text.slice(known));
      if (isTool(part) && part.state !== 'input-streaming') this.changed(part);
    });
  }

  #tell(part: UiPart): Told {
    const known = this.#told.get(part);
    if (known) return known;
    const told: Told = { id: isTool(part) ? this.#unused(part.toolCallId) : `part:${this.#count++}`, text: 0 };
    this.#told.set(part, told);
    this.#ids.add(told.id);
    return told;
  }

  /** A model may use the id of a call again. */
  #unused(id: string): string {
    let free = id;
    for (let n = 2; this.#ids.has(free); n++) free = `${id}#${n}`;
    return free;
  }

  #usage(value: unknown): void {
    const usage = usageOf(value);
    if (usage) this.#emit({ type: 'usage.set', usage });
  }
}
