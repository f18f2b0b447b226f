import { Emitter } from '../base/emitter.ts';
import type { Disposable } from '../base/lifetime.ts';
import type { SessionEvent } from '../session/events.ts';
import type { SessionId } from '../session/model.ts';
import { redactedJson } from './redact.ts';

/** One message between Parley and an agent, without secrets, and the events that came of it before the next one. */
export interface TrafficRow {
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly way: 'in' | 'out';
  /** The name that the message gives itself: its method or type. */
  readonly kind: string;
  /** Characters of JSON. */
  readonly size: number;
  readonly json: string;
  readonly events: readonly string[];
}

/** Messages that are kept of each session while somebody looks, the latest. */
const MOST_ROWS = 2_000;

interface Watched {
  readonly rows: TrafficRow[];
  /** Lines of a recording: events as they happened, for a later replay. */
  readonly recording: string[];
  count: number;
}

/** The traffic of the sessions that somebody looks at; nothing is kept, and nothing costs, of the others. */
export class Traffic {
  readonly #now: () => number;
  readonly #watched = new Map<SessionId, Watched>();
  readonly #changes = new Emitter<SessionId>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps the traffic of a session from now on; what is returned ends that and forgets it. */
  watch(id: SessionId, changed: () => void): Disposable {
    if (!this.#watched.has(id)) this.#watched.set(id, { rows: [], recording: [], count: 0 });
    const listening = this.#changes.listen((of) => of === id && changed());
    return {
      dispose: () => {
        listening.dispose();
        this.#watched.delete(id);
      },
    };
  }

  rows(id: SessionId): readonly TrafficRow[] {
    return this.#watched.get(id)?.rows ?? [];
  }

  /** One JSON object a line, as the headless host records and replays a session, with the messages between the events. */
  recording(id: SessionId): string {
    return (this.#watched.get(id)?.recording ?? []).map((line) => `${line}\n`).join('');
  }

  message(id: SessionId, way: 'in' | 'out', message: unknown): void {
    const watched = this.#watched.get(id);
    if (!watched) return;
    const { json, size } = redactedJson(message);
    watched.count += 1;
    const row = { number: watched.count, at: this.#now(), way, kind: kindOf(message), size, json, events: [] };
    push(watched.rows, row, MOST_ROWS);
    push(watched.recording, JSON.stringify({ message: { at: row.at, way, json } }), 4 * MOST_ROWS);
    this.#changes.fire(id);
  }

  event(id: SessionId, event: SessionEvent): void {
    const watched = this.#watched.get(id);
    if (!watched) return;
    const last = watched.rows.at(-1);
    if (last) watched.rows[watched.rows.length - 1] = { ...last, events: [...last.events, event.type].slice(-20) };
    const kept = redactedEvent(event);
    if (kept !== undefined) push(watched.recording, JSON.stringify({ event: kept }), 4 * MOST_ROWS);
    this.#changes.fire(id);
  }
}

/** The oldest leave a tenth at a time. */
function push<T>(list: T[], one: T, most: number): void {
  list.push(one);
  if (list.length > most) list.splice(0, Math.ceil(most / 10));
}

/** Undefined for an event that is too long to be kept whole. */
function redactedEvent(event: SessionEvent): unknown {
  try {
    return JSON.parse(redactedJson(event).json);
  } catch {
    return undefined;
  }
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
