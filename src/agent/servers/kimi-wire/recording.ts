import { recordLine } from '../../../protocols/kimi-wire/schema.ts';
import type { SessionStore } from '../../sessionStore.ts';
import type { WireMessage } from './codec.ts';
import type { Peer } from './peer.ts';
import type { Dialect } from './versions.ts';

const requestTypes = new Set(['ApprovalRequest', 'ToolCallRequest', 'QuestionRequest', 'HookRequest']);

/** The recording of client output for `replay`: text pieces joined, arguments in their call, one line per message (wire.md §11). */
export class Recording {
  readonly #store: SessionStore;
  readonly #dialect: Dialect;
  #head = false;
  #open: WireMessage | undefined;

  constructor(store: SessionStore, dialect: Dialect) {
    this.#store = store;
    this.#dialect = dialect;
  }

  add(message: WireMessage): void {
    const joined = this.#open && join(this.#open, message);
    if (joined) {
      this.#open = joined;
      return;
    }
    this.flush();
    if (message.type === 'ContentPart' || message.type === 'ToolCall') this.#open = message;
    else this.#write(message);
  }

  flush(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open) this.#write(open);
  }

  /** Replays the recording in order. Its requests are history, so their answers are ignored. Stops when the signal fires. */
  async replay(peer: Peer, signal: AbortSignal): Promise<{ readonly events: number; readonly requests: number }> {
    const count = { events: 0, requests: 0 };
    for (const [at, value] of this.#store.readRecording().entries()) {
      if (at % 200 === 199) await new Promise((resolve) => setImmediate(resolve));
      if (signal.aborted) break;
      const line = recordLine.safeParse(value);
      if (!line.success) continue;
      const { type, payload } = line.data.message;
      if (requestTypes.has(type)) {
        peer.show(type, String(payload.id ?? `replay-${at}`), payload);
        count.requests += 1;
      } else {
        peer.event(type, payload);
        count.events += 1;
      }
    }
    return count;
  }

  #write(message: WireMessage): void {
    if (!this.#head && this.#store.readRecording().length === 0) {
      this.#store.append('wire.jsonl', { type: 'metadata', protocol_version: this.#dialect.name });
    }
    this.#head = true;
    this.#store.append('wire.jsonl', { timestamp: Date.now() / 1000, message });
  }
}

/** Merges two messages where the second only continues the first. */
function join(open: WireMessage, next: WireMessage): WireMessage | undefined {
  const a: Readonly<Record<string, unknown>> = { ...open.payload };
  const b: Readonly<Record<string, unknown>> = { ...next.payload };
  if (open.type === 'ContentPart' && next.type === 'ContentPart' && a.type === b.type) {
    if (a.type === 'text') return { type: open.type, payload: { ...a, text: `${a.text}${b.text}` } };
    if (a.type === 'think') return { type: open.type, payload: { ...a, think: `${a.think}${b.think}` } };
  }
  if (open.type === 'ToolCall' && next.type === 'ToolCallPart') {
    const given = Object(a.function) as { readonly arguments?: unknown };
    const whole = `${given.arguments ?? ''}${b.arguments_part ?? ''}`;
    return { type: open.type, payload: { ...a, function: { ...given, arguments: whole } } };
  }
  return undefined;
}
