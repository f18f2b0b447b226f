import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { answers, codes, type InitializeParams, recordLine } from '../../../protocols/kimi-wire/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { toLine } from '../../../transport/lines.ts';
import { type HookName, hookNames } from '../../frontend.ts';
import type { SessionStore } from '../../sessionStore.ts';
import { type WireDialect, WireError, type WireMessage } from './codec.ts';

/* The client of a Wire server: its connection, the turn it runs, what is recorded for it, what reaches it, and its hooks. */

/** A request of the client; each is answered once, by its id. */
export interface ClientCall {
  readonly id: string;
  readonly method: string;
  readonly params: unknown;
}
interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/**
 * The server's end of a Wire connection, as strict as Kimi CLI (wire.md §2): string ids only, no batches, what is malformed is answered with an
 * error without an id and is never fatal. The two sides' ids are separate; a message without a method is an answer.
 */
export class ClientChannel {
  readonly #channel: Channel;
  readonly #waiting = new Map<string, Waiting>();

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** How many of the server's requests wait for the client. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Answers to them are not heard any more; they end with their signals only. */
  forget(): void {
    this.#waiting.clear();
  }

  /** The client is gone. */
  closed(reason: string): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new Error(reason));
    this.#waiting.clear();
  }

  event(type: string, payload: object): void {
    this.#send({ jsonrpc: '2.0', method: 'event', params: { type, payload } });
  }

  /** Sends a request and passes on its answer, if one comes. Requests of replayed history expect none. */
  show(type: string, id: string, payload: object): void {
    this.#send({ jsonrpc: '2.0', method: 'request', id, params: { type, payload } });
  }

  /** Settles with the client's result, rejects with its failure or when the signal fires; an answer after that is ignored. */
  expect(id: string, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const withdraw = (): void => {
        this.#waiting.delete(id);
        reject(signal.reason instanceof Error ? signal.reason : new Error('withdrawn'));
      };
      if (signal.aborted) {
        withdraw();
        return;
      }
      signal.addEventListener('abort', withdraw, { once: true });
      const settle = <T>(then: (value: T) => void) => {
        return (value: T): void => {
          signal.removeEventListener('abort', withdraw);
          then(value);
        };
      };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
    });
  }

  answer(id: string, result: unknown): void {
    this.#send({ jsonrpc: '2.0', id, result });
  }

  fail(id: string, error: unknown): void {
    this.#send({
      jsonrpc: '2.0',
      id,
      error: { code: error instanceof WireError ? error.code : codes.internal, message: messageOf(error) },
    });
  }

  /** The call in a line of the client. undefined: it was an answer, a notification, or nothing that makes sense. */
  read(line: string): ClientCall | undefined {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#malformed(codes.notJson, 'Not JSON');
    }
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      return this.#malformed(codes.notARequest, 'A message is one JSON object; batches are not supported');
    const { id, jsonrpc, method, params, ...answer } = message as Readonly<Record<string, unknown>>;
    if (id != null && typeof id !== 'string') return this.#malformed(codes.notARequest, 'The id must be a string');
    if (jsonrpc !== '2.0') return this.#malformed(codes.notARequest, 'jsonrpc must be "2.0"');
    if (method == null) return this.#answered(id ?? undefined, answer);
    if (typeof method !== 'string') return this.#malformed(codes.notARequest, 'The method must be a string');
    return id == null ? undefined : { id, method, params };
  }

  /** A malformed answer is refused and settles nothing, as in Kimi CLI. */
  #answered(id: string | undefined, answer: Readonly<Record<string, unknown>>): undefined {
    const { error } = answer;
    if (id === undefined || (error == null && !('result' in answer)))
      return this.#malformed(codes.notARequest, 'Neither a request nor an answer');
    if (error != null && !isFailure(error)) return this.#malformed(codes.notARequest, 'An error needs a code and a message');
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error == null) waiting?.resolve(answer.result);
    else waiting?.reject(new Error(error.message));
  }

  #malformed(code: number, message: string): undefined {
    this.#send({ jsonrpc: '2.0', id: null, error: { code, message } });
  }

  #send(message: object): void {
    // A disconnected client shows as the end of our input, so there is nothing to report here.
    this.#channel.send(toLine(message)).catch(() => {});
  }
}

function isFailure(error: unknown): error is { readonly code: number; readonly message: string } {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return Number.isInteger(code) && typeof message === 'string';
}

interface Running {
  readonly stop: () => void;
  over: Promise<unknown>;
  /** By the client. */
  cancelled: boolean;
}

/** The turn or the replay that runs: one at a time, and it can be stopped from its first moment on. */
export class ActiveWork {
  #running: Running | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }
  get isCancelled(): boolean {
    return this.#running?.cancelled === true;
  }

  mustBeIdle(): void {
    if (this.#running) throw new WireError(codes.wrongState, 'A turn is in progress');
  }
  mustRun(): void {
    if (!this.#running) throw new WireError(codes.wrongState, 'No turn is in progress');
  }

  async run<T>(stop: () => void, run: () => Promise<T>): Promise<T> {
    const running: Running = { stop, over: Promise.resolve(), cancelled: false };
    this.#running = running;
    const result = run();
    running.over = result;
    try {
      return await result;
    } finally {
      this.#running = undefined;
    }
  }

  cancel(): void {
    if (!this.#running) return;
    this.#running.cancelled = true;
    this.#running.stop();
  }

  /** Stops the turn; settles once it has ended. */
  async end(): Promise<void> {
    this.#running?.stop();
    await this.over;
  }

  /** Settles once the running work has ended, with any outcome. */
  get over(): Promise<unknown> {
    return this.#running?.over.catch(() => undefined) ?? Promise.resolve();
  }
}

const requestTypes = new Set(['ApprovalRequest', 'ToolCallRequest', 'QuestionRequest', 'HookRequest']);

interface Replayed {
  readonly events: number;
  readonly requests: number;
  /** As the recording says last. */
  readonly planMode?: boolean;
}

/** The recording of client output for `replay`: text pieces joined, arguments in their call, one line per message (wire.md §11). */
export class WireRecorder {
  readonly #store: SessionStore;
  readonly #dialect: WireDialect;
  #head = false;
  #open: WireMessage | undefined;

  constructor(store: SessionStore, dialect: WireDialect) {
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
  async replay(peer: ClientChannel, signal: AbortSignal): Promise<Replayed> {
    const count: { events: number; requests: number; planMode?: boolean } = { events: 0, requests: 0 };
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
        if (type === 'StatusUpdate' && typeof payload.plan_mode === 'boolean') count.planMode = payload.plan_mode;
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

/** Output to the client. Records it during a turn for replay, too; approvals only where versions always did (wire.md §11). */
export class WireOutput {
  readonly #peer: ClientChannel;
  readonly #recording: WireRecorder;
  readonly #work: ActiveWork;
  readonly #dialect: WireDialect;

  constructor(peer: ClientChannel, recording: WireRecorder, work: ActiveWork, dialect: WireDialect) {
    this.#peer = peer;
    this.#recording = recording;
    this.#work = work;
    this.#dialect = dialect;
  }

  event(message: WireMessage): void {
    if (this.#work.isCancelled && this.#isHeldBack(message)) return;
    if (this.#work.isRunning) this.#keep(message);
    this.#peer.event(message.type, message.payload);
  }

  /** Rejects when the client fails the request or the signal fires. `later`: sent after the client's handshake, not now. */
  request(message: WireMessage, id: string, signal: AbortSignal, later = false): Promise<unknown> {
    this.#keep(message);
    const answer = this.#peer.expect(id, signal);
    if (!later && !signal.aborted) this.show(message, id);
    return answer;
  }

  show({ type, payload }: WireMessage, id: string): void {
    this.#peer.show(type, id, payload);
  }

  #keep(message: WireMessage): void {
    const approvals = !this.#dialect.has('approvalSource');
    if (message.type === 'HookRequest' || (!approvals && message.type.startsWith('Approval'))) return;
    this.#recording.add(message);
  }

  /** True for messages that older versions send later, or not at all, once a turn is cancelled. */
  #isHeldBack({ type, payload }: WireMessage): boolean {
    if (type === 'TurnEnd') return !this.#dialect.has('cancelledTurnEnd');
    if (type !== 'ApprovalResponse' || !this.#dialect.has('approvalSource') || this.#dialect.has('promptEcho')) return false;
    void this.#work.over.then(() => setImmediate(() => this.#peer.event(type, payload)));
    return true;
  }
}

type Subscription = NonNullable<InitializeParams['hooks']>[number];

const DEFAULT_SECONDS = 30;

/** The client's hooks. A timeout, an error or a malformed answer lets the action proceed (wire.md §5.2). */
export class Hooks {
  readonly #outlet: WireOutput;
  readonly #base: Readonly<Record<string, unknown>>;
  readonly #subscriptions: Subscription[] = [];

  constructor(outlet: WireOutput, base: { readonly session_id: string; readonly cwd: string }) {
    this.#outlet = outlet;
    this.#base = base;
  }

  /** Adds them to the existing ones and leaves out unknown names. */
  subscribe(subscriptions: readonly Subscription[]): void {
    this.#subscriptions.push(...subscriptions.filter((one) => isMoment(one.event)));
  }

  get configured(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { event } of this.#subscriptions) counts[event] = (counts[event] ?? 0) + 1;
    return counts;
  }

  /** The reason of the first that blocks. */
  async trigger(
    moment: HookName,
    target: string,
    data: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const fitting = this.#subscriptions.filter((one) => one.event === moment && matches(one.matcher ?? '', target));
    if (fitting.length === 0) return undefined;
    const began = performance.now();
    this.#outlet.event({ type: 'HookTriggered', payload: { event: moment, target, hook_count: fitting.length } });
    const input_data = { hook_event_name: moment, ...this.#base, ...data };
    const reasons = await Promise.all(fitting.map((one) => this.#ask(one, { event: moment, target, input_data }, signal)));
    const reason = reasons.find((one) => one !== undefined);
    this.#outlet.event({
      type: 'HookResolved',
      payload: {
        event: moment,
        target,
        action: reason === undefined ? 'allow' : 'block',
        reason: reason ?? '',
        duration_ms: Math.round(performance.now() - began),
      },
    });
    return reason;
  }

  async #ask(
    one: Subscription,
    asked: { event: string; target: string; input_data: object },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const id = randomUUID();
    const limit = AbortSignal.timeout(Math.max(0.1, Math.min(one.timeout ?? DEFAULT_SECONDS, 600)) * 1000);
    try {
      const payload = { id, subscription_id: one.id, ...asked };
      const result = await this.#outlet.request({ type: 'HookRequest', payload }, id, AbortSignal.any([signal, limit]));
      const parsed = answers.HookRequest.safeParse(result);
      return parsed.success && parsed.data.action === 'block' ? (parsed.data.reason ?? '') : undefined;
    } catch {
      return undefined;
    }
  }
}

function isMoment(name: string): name is HookName {
  return (hookNames as readonly string[]).includes(name);
}

/** A bad expression matches nothing. */
function matches(matcher: string, target: string): boolean {
  if (matcher === '') return true;
  try {
    return new RegExp(matcher).test(target);
  } catch {
    return false;
  }
}

/** Milliseconds in which pieces of one command's output are joined. */
const JOINED_MS = 100;
/** Of what is printed in that time so much is sent, in UTF-16 units: a command that floods its output must not flood the client. */
const MOST = 65_536;

/** Output of running commands, for the client to show live; the result of the call repeats all of it. */
export class LiveOutput {
  readonly #send: (callId: string, text: string) => void;
  readonly #waiting = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (callId: string, text: string) => void) {
    this.#send = send;
  }

  push(callId: string, text: string): void {
    this.#waiting.set(callId, `${this.#waiting.get(callId) ?? ''}${text}`.slice(-MOST));
    this.#timer ??= setTimeout(() => this.flush(), JOINED_MS);
  }

  /** Sends what has not been sent yet. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [callId, text] of this.#waiting) if (text !== '') this.#send(callId, text);
    this.#waiting.clear();
  }
}
