import { Emitter } from '../base/emitter.ts';
import type { Disposable } from '../base/lifetime.ts';
import { recordedEvents } from '../live/recording.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Session, SessionId } from '../session/model.ts';

/** One message between Parley and an agent, without secrets, and the events that it caused at once. */
export interface TrafficRow {
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly way: 'in' | 'out';
  /** The message's own method or type. */
  readonly kind: string;
  /** Characters of JSON. */
  readonly size: number;
  readonly json: string;
  readonly events: readonly string[];
}

/** Latest messages kept of each session while the inspector watches it. */
const MOST_ROWS = 2_000;
/** Latest messages kept of each session before the inspector opens, as far as it shows them; they are read when it does. */
const MOST_UNSEEN = 200;

interface EarlierMessage {
  readonly at: number;
  readonly way: 'in' | 'out';
  readonly message: unknown;
  readonly events: string[];
}

/** Events listed beside one message. */
const MOST_EVENTS = 20;

/** A message that is being handled, and the events that came of it. */
interface Handled {
  readonly message: unknown;
  readonly events: string[];
}

/** Messages of one task of the event loop to which events are given. */
const MOST_HANDLED = 100;
/** UTF-16 units by which the message is known whose text an event has: pieces that arrive together become one event, after other messages. */
const TAIL = 40;
/** Levels of a message in which a text is looked for. */
const MOST_DEEP = 8;

/** Leaves secrets out (`redact.ts`): a part of the program that is loaded when somebody looks. */
export type Redaction = Pick<typeof import('./redact.ts'), 'redactedJson' | 'redactedEvent'>;

interface Watched {
  readonly redactedJson: Redaction['redactedJson'];
  readonly rows: TrafficRow[];
  count: number;
}

/** The traffic of watched sessions, and the last raw messages of the others. */
export class Traffic {
  readonly #now: () => number;
  readonly #watched = new Map<SessionId, Watched>();
  readonly #unseen = new Map<SessionId, EarlierMessage[]>();
  readonly #changes = new Emitter<SessionId>();
  /** What has come in the present task of the event loop, oldest first. */
  readonly #handled = new Map<SessionId, Handled[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps the traffic of a session from now on, and its last messages from before; disposing the result ends that and forgets it. */
  watch(id: SessionId, { redactedJson }: Redaction, changed: () => void): Disposable {
    if (!this.#watched.has(id)) {
      const watched: Watched = { redactedJson, rows: [], count: 0 };
      this.#watched.set(id, watched);
      for (const { events, ...unseen } of this.#unseen.get(id) ?? []) add(watched, unseen, events);
      this.#unseen.delete(id);
    }
    const listening = this.#changes.listen((of) => of === id && changed());
    return {
      dispose: () => {
        listening.dispose();
        this.#watched.delete(id);
      },
    };
  }

  /** Forgets all sessions but these. */
  keepOnly(ids: readonly SessionId[]): void {
    for (const id of this.#unseen.keys()) if (!ids.includes(id)) this.#unseen.delete(id);
  }

  rows(id: SessionId): readonly TrafficRow[] {
    return this.#watched.get(id)?.rows ?? [];
  }

  /** The numbers of the messages with all these words, in whatever order, in their JSON, kind or events. */
  find(id: SessionId, query: string): readonly number[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return this.rows(id).flatMap(({ number, way, kind, events, json }) => {
      const text = `${way} ${kind} ${events.join(' ')} ${json}`.toLowerCase();
      return words.every((word) => text.includes(word)) ? [number] : [];
    });
  }

  /**
   * One JSON object a line, in the format that the headless host records and replays: the messages, and the events that make the session as it is now,
   * also of what came before the messages that are kept.
   */
  *recording(session: Session, { redactedEvent }: Redaction): Generator<string> {
    for (const { at, way, json, events } of this.rows(session.id)) yield `${JSON.stringify({ message: { at, way, json, events } })}\n`;
    for (const event of recordedEvents(session)) yield `{"event":${redactedEvent(event)}}\n`;
  }

  message(id: SessionId, way: 'in' | 'out', message: unknown): void {
    const watched = this.#watched.get(id);
    const events: string[] = [];
    if (way === 'in') this.#handle(id, { message, events });
    if (watched) {
      add(watched, { at: this.#now(), way, message }, events);
      return this.#changes.fire(id);
    }
    const unseen = this.#unseen.get(id) ?? [];
    this.#unseen.set(id, unseen);
    push(unseen, { at: this.#now(), way, message: cutMessage(message), events }, MOST_UNSEEN);
  }

  /** An answer is handled in a microtask; whatever comes in a later task is the user's doing, or a timer's. */
  #handle(id: SessionId, one: Handled): void {
    const handled = this.#handled.get(id);
    if (handled) return push(handled, one, MOST_HANDLED);
    this.#handled.set(id, [one]);
    // Ticks come after all microtasks, also those that these begin.
    queueMicrotask(() => process.nextTick(() => this.#handled.delete(id)));
  }

  event(id: SessionId, event: SessionEvent): void {
    const handled = this.#handled.get(id);
    const from =
      handled && (event.type === 'text.delta' ? handled.findLast(({ message }) => endsIn(message, event.text.slice(-TAIL))) : undefined);
    const { events } = from ?? handled?.at(-1) ?? {};
    if (!events) return;
    if (events.length < MOST_EVENTS) events.push(event.type);
    if (this.#watched.has(id)) this.#changes.fire(id);
  }
}

function add(watched: Watched, { at, way, message }: Omit<EarlierMessage, 'events'>, events: readonly string[]): void {
  const { json, size } = watched.redactedJson(message);
  watched.count += 1;
  push(watched.rows, { number: watched.count, at, way, kind: kindOf(message), size, json, events }, MOST_ROWS);
}

/** Appends to a bounded list; drops the oldest tenth when it is full. */
function push<T>(list: T[], one: T, most: number): void {
  list.push(one);
  if (list.length > most) list.splice(0, Math.ceil(most / 10));
}

function kindOf(message: unknown): string {
  if (typeof message !== 'object' || message === null) return typeof message;
  const fields = message as Readonly<Record<string, unknown>>;
  const params = fields.params as Readonly<Record<string, unknown>> | null | undefined;
  const update = params?.update as Readonly<Record<string, unknown>> | null | undefined;
  const detail = [update?.sessionUpdate, params?.type, fields.subtype].find((one) => typeof one === 'string');
  const name = [fields.method, fields.type, fields.kind, fields.event].find((one) => typeof one === 'string');
  const kind = name ?? ('error' in fields ? 'error' : 'result' in fields ? 'result' : 'message');
  return `${String(kind)}${typeof detail === 'string' ? ` ${detail}` : ''}`.slice(0, 120);
}

/** UTF-16 units of one message that are kept: more than the log shows of it. */
const MOST_KEPT = 32 * 1024;

/** The message, or a copy of its beginning: messages of an agent that are kept for later would fill the memory with what nobody reads. */
function cutMessage(message: unknown): unknown {
  return leftBehind(message, MOST_KEPT) >= 0 ? message : beginningOf(message, { left: MOST_KEPT });
}

/** The rest of so many units; negative as soon as it is clear that the value needs more. */
function leftBehind(value: unknown, units: number): number {
  if (typeof value === 'string') return units - value.length - 3;
  if (typeof value !== 'object' || value === null) return units - 6;
  let left = units - 2;
  for (const name in value) {
    if (left < 0) return left;
    left = leftBehind((value as Readonly<Record<string, unknown>>)[name], Array.isArray(value) ? left : left - name.length - 3);
  }
  return left;
}

function beginningOf(value: unknown, budget: { left: number }): unknown {
  if (typeof value === 'string') {
    const kept = Math.max(0, budget.left);
    budget.left -= value.length + 3;
    // A slice would hold on to the whole text.
    return value.length <= kept ? value : `${Buffer.from(value.slice(0, kept)).toString()}… (${value.length} characters)`;
  }
  budget.left -= 6;
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = [];
  for (const name in value) {
    if (budget.left <= 0) {
      members.push(['…', '…']);
      break;
    }
    budget.left -= Array.isArray(value) ? 0 : name.length + 3;
    members.push([name, beginningOf((value as Readonly<Record<string, unknown>>)[name], budget)]);
  }
  return Array.isArray(value) ? members.map(([, one]) => one) : Object.fromEntries(members);
}

/** True when a text somewhere in the value ends like this one. */
function endsIn(value: unknown, tail: string, depth = 0): boolean {
  if (typeof value === 'string') return value !== '' && (value.endsWith(tail) || (value.length < TAIL && tail.endsWith(value)));
  if (typeof value !== 'object' || value === null || depth > MOST_DEEP) return false;
  for (const name in value) if (endsIn((value as Readonly<Record<string, unknown>>)[name], tail, depth + 1)) return true;
  return false;
}
