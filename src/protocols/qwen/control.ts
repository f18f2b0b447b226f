import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import { isRecord } from './detect.ts';
import type { AgentMessage } from './talk.ts';

/** The control channel (qwen.md §3.2, §4.8, §5): requests with an id that have exactly one answer, in both directions. */

const ANSWERS_KEPT = 200;
/** Milliseconds we wait for an answer to a request of ours. */
const REPLY_LIMIT = 30_000;

export type Reply = { readonly ok: true; readonly payload: unknown } | { readonly ok: false; readonly message: string };
export interface AgentRequest {
  readonly id: string;
  readonly subtype: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

const head = z.object({ request_id: z.string().check(z.minLength(1), z.maxLength(1024)) });

/** A request of the agent, nested (`request: {subtype}`) or flat; undefined when it is neither. */
export function readRequest(message: AgentMessage): AgentRequest | undefined {
  const parsed = head.safeParse(message);
  if (!parsed.success) return undefined;
  const body = isRecord(message.request) ? message.request : message;
  const { subtype } = body;
  return typeof subtype === 'string' ? { id: parsed.data.request_id, subtype, payload: body } : undefined;
}

/** The id of a request that cannot be read, as it is to stand in the answer; undefined when there is none to answer to. */
export function unreadableId(message: AgentMessage): string | number | undefined {
  const { request_id: id } = message;
  return typeof id === 'number' || (typeof id === 'string' && id !== '' && id.length <= 1024) ? id : undefined;
}

/** Requests of the agent: each is answered once, a repeated one with the same answer. */
export class Incoming {
  readonly #write: (message: object) => void;
  readonly #open = new Set<string>();
  readonly #answered = new Map<string, object>();

  constructor(write: (message: object) => void) {
    this.#write = write;
  }

  /** False when this request was seen before; it has its answer, or will get it. */
  begin(id: string): boolean {
    const known = this.#answered.get(id);
    if (known) this.#write(known);
    if (known || this.#open.has(id)) return false;
    this.#open.add(id);
    return true;
  }

  /** Refuses a request that cannot be read; what repeats it is refused again. */
  refuse(message: object): void {
    this.#write(message);
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** Sends the answer; a second one for the same request is dropped. */
  answer(id: string, message: object): void {
    if (!this.#open.delete(id)) return;
    this.#answered.set(id, message);
    const oldest = this.#answered.keys().next();
    if (this.#answered.size > ANSWERS_KEPT && !oldest.done) this.#answered.delete(oldest.value);
    this.#write(message);
  }

  /** The agent took it back: nothing is sent. */
  forget(id: string): boolean {
    return this.#open.delete(id);
  }

  get open(): readonly string[] {
    return [...this.#open];
  }
}

/** Requests of ours: they settle with the agent's reply, after a while, or when the conversation ends. Never rejects. */
export class Outgoing {
  readonly #write: (message: object) => void;
  readonly #newId: () => string;
  readonly #open = new Map<string, { readonly settle: (reply: Reply) => void; readonly timer: NodeJS.Timeout }>();
  #ended = false;

  constructor(write: (message: object) => void, newId: () => string) {
    this.#write = write;
    this.#newId = newId;
  }

  ask(request: { readonly subtype: string } & Readonly<Record<string, unknown>>, limit = REPLY_LIMIT): Promise<Reply> {
    return this.expect(this.#newId(), limit, (id) => this.#write({ type: 'control_request', request_id: id, request }));
  }

  /** Waits for the answer to a request with that id, sent by `send`. */
  expect(id: string, limit: number, send: (id: string) => void): Promise<Reply> {
    if (this.#ended) return Promise.resolve({ ok: false, message: 'The agent is gone.' });
    return new Promise((resolve) => {
      const settle = (reply: Reply) => {
        clearTimeout(timer);
        this.#open.delete(id);
        resolve(reply);
      };
      const timer = setTimeout(() => settle({ ok: false, message: t('No answer within {0} s.', limit / 1000) }), limit);
      this.#open.set(id, { settle, timer });
      send(id);
    });
  }

  /** A `control_response` line; false when it answers nothing of ours. */
  take(message: AgentMessage): boolean {
    const response = isRecord(message.response) ? message.response : {};
    const id = response.request_id ?? message.request_id;
    const waiting = typeof id === 'string' ? this.#open.get(id) : undefined;
    if (!waiting) return false;
    if (response.subtype === 'success') waiting.settle({ ok: true, payload: response.response ?? response.result });
    else waiting.settle({ ok: false, message: errorText(response.error) });
    return true;
  }

  end(): void {
    this.#ended = true;
    for (const { settle } of [...this.#open.values()]) settle({ ok: false, message: 'The agent is gone.' });
  }
}

export function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return isRecord(error) && typeof error.message === 'string' ? error.message : t('The agent refused without a reason.');
}
