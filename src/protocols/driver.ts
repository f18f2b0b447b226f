import { Emitter } from '../base/emitter.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Failure, LinkEnd } from '../base/outcomes.ts';
import type { Effect, Input, Machine, Port } from '../conversation/machine.ts';
import type { ConversationState } from '../conversation/state.ts';
import type { SessionEvent } from '../session/events.ts';
import { type Link, LinkError, type LinkEvents, type OpenLink } from '../transport/link.ts';

type TextDelta = Extract<SessionEvent, { type: 'text.delta' }>;

/**
 * Joins the pieces of one part that arrive together into one event, so that the reducer, the journal and the view work once for all of them. The
 * event is emitted before any other, at the latest once everything that arrived has been handled.
 */
class TextCoalescer {
  readonly #emit: (event: SessionEvent) => void;
  #held: { -readonly [K in keyof TextDelta]: TextDelta[K] } | undefined;
  readonly #flush = () => this.flush();

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit;
  }

  emit(event: SessionEvent): void {
    if (event.type === 'text.delta') return this.#append(event);
    if (this.#held) this.flush();
    this.#emit(event);
  }

  #append(event: TextDelta): void {
    const held = this.#held;
    if (held && held.partId === event.partId && held.turnId === event.turnId && held.kind === event.kind) {
      held.text += event.text;
      return;
    }
    if (held) this.flush();
    else queueMicrotask(this.#flush);
    this.#held = { ...event };
  }

  flush(): void {
    const held = this.#held;
    if (!held) return;
    this.#held = undefined;
    this.#emit(held);
  }
}

export type PortFunction = (args: never, signal: AbortSignal) => Promise<unknown>;
export interface DriverOptions {
  readonly now: () => number;
  readonly emit: (event: SessionEvent) => void;
  readonly log: Log;
  /** By the first word of a link's name. */
  readonly links: Readonly<Record<string, OpenLink>>;
  /** Their results are JSON. A rejection comes as a reply with a failure; a `LinkError` keeps its own. */
  readonly ports?: Partial<Readonly<Record<Port, PortFunction>>>;
}
/** JSON-RPC's internal error, for a request of the agent that our own fault lost. */
const INTERNAL_ERROR = -32603;

/**
 * Runs a machine: carries out its effects and feeds back what becomes of them. The one place with links, timers and promises, for every
 * protocol. conversation/machine.ts lists what it guarantees. Starts nothing by itself: the first input does.
 */
export class Driver<S extends ConversationState> {
  readonly state: S;
  /** Settles once the conversation is over and everything is let go. */
  readonly ended: Promise<void>;
  readonly #machine: Machine<S>;
  readonly #options: DriverOptions;
  readonly #text: TextCoalescer;
  readonly #settleEnded: () => void;
  readonly #links = new Map<string, Link>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #calls = new Map<string, PendingCall>();
  readonly #inbox: Input[] = [];
  #phase: 'idle' | 'running' | 'over' = 'idle';

  constructor(machine: Machine<S>, state: S, options: DriverOptions) {
    this.#machine = machine;
    this.state = state;
    this.#options = options;
    this.#text = new TextCoalescer(options.emit);
    let settle = (): void => {};
    this.ended = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#settleEnded = settle;
  }

  feed(input: Input): void {
    if (this.#phase === 'over') return;
    if (this.#phase === 'running') {
      this.#inbox.push(input);
      return;
    }
    this.#phase = 'running';
    this.#step(input);
    if (this.#inbox.length > 0) {
      for (let at = 0; at < this.#inbox.length; at++) this.#step(this.#inbox[at] as Input);
      this.#inbox.length = 0;
    }
    this.#phase = 'idle';
    if (this.state.phase === 'over') this.#dispose();
  }

  /** Sends a query that changes nothing in the conversation. Rejects with a `LinkError`; `unsent` when the link is not open. */
  request(link: string, method: string, params?: unknown, signal: AbortSignal = new AbortController().signal): Promise<unknown> {
    const unsent = { kind: 'unsent', message: `${link} is not open` } as const;
    return this.#links.get(link)?.request(method, params, signal) ?? Promise.reject(new LinkError(unsent));
  }

  #step(input: Input): void {
    try {
      const effects = this.#machine(this.state, input, this.#options.now());
      for (let at = 0; at < effects.length; at++) this.#perform(effects[at] as Effect);
    } catch (error) {
      this.#options.log.error(`Handling "${input.on}" failed: ${messageOf(error)}`, error);
      if (input.on === 'asked')
        this.#links.get(input.link)?.answer(input.id, { error: { code: INTERNAL_ERROR, message: 'Internal error' } });
    }
  }

  #perform(effect: Effect): void {
    switch (effect.do) {
      case 'emit':
        return this.#text.emit(effect.event);
      case 'open':
        return this.#open(effect.link, effect.params);
      case 'close':
        return this.#links.get(effect.link)?.close();
      case 'request': {
        const { link, method, params } = effect;
        return this.#call(effect.call, link, (signal) => this.request(link, method, params, signal));
      }
      case 'notify':
        return this.#links.get(effect.link)?.notify(effect.method, effect.params);
      case 'answer':
        return this.#links.get(effect.link)?.answer(effect.id, effect);
      case 'port': {
        const run = this.#options.ports?.[effect.port] as ((args: unknown, signal: AbortSignal) => Promise<unknown>) | undefined;
        return this.#call(effect.call, undefined, (signal) => run?.(effect.args, signal) ?? Promise.reject(notHere(effect.port)));
      }
      case 'drop':
        return this.#drop(effect.call);
      case 'timer':
        return this.#timer(effect.timer, effect.after);
      case 'log':
        return this.#options.log[effect.level](effect.text);
    }
  }

  #open(name: string, params: unknown): void {
    const factory = this.#options.links[name.split(' ', 1)[0] ?? ''];
    const isTaken = this.#links.has(name);
    if (!factory || isTaken) throw new Error(isTaken ? `The link ${name} is open already` : `There is no way to open ${name}`);
    const inputs = new Emitter<Input>();
    let isOpen = true;
    inputs.listen((input) => {
      if (input.on === 'closed') {
        isOpen = false;
        this.#forget(name);
      }
      this.feed(input);
    });
    const link = factory(params, inputsOf(name, inputs), name);
    if (isOpen) this.#links.set(name, link);
  }

  /** The name of a closed link may be used again. */
  #forget(link: string): void {
    this.#links.delete(link);
    for (const [id, pending] of this.#calls) if (pending.link === link) this.#calls.delete(id);
  }

  #call(name: string, link: string | undefined, start: (signal: AbortSignal) => Promise<unknown>): void {
    const pending: PendingCall = { stop: new AbortController(), link };
    this.#calls.set(name, pending);
    const reply = (outcome: { readonly result: unknown } | { readonly error: Failure }) => {
      if (this.#calls.get(name) !== pending) return;
      this.#calls.delete(name);
      this.feed({ on: 'reply', call: name, ...outcome });
    };
    start(pending.stop.signal).then(
      (result) => reply({ result }),
      (error: unknown) => reply({ error: failureFrom(error) }),
    );
  }
  #drop(name: string): void {
    const pending = this.#calls.get(name);
    this.#calls.delete(name);
    pending?.stop.abort();
  }

  #timer(name: string, after: number | null): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
    if (after === null) return;
    const fired = () => {
      this.#timers.delete(name);
      this.feed({ on: 'timer', timer: name });
    };
    this.#timers.set(name, setTimeout(fired, after));
  }

  #dispose(): void {
    this.#phase = 'over';
    for (const one of this.#timers.values()) clearTimeout(one);
    for (const name of [...this.#calls.keys()]) this.#drop(name);
    for (const link of this.#links.values()) link.close();
    this.#text.flush();
    this.#settleEnded();
  }
}

/** The events of a link, as inputs. A closed link gives no more of them after its one `closed`. */
function inputsOf(link: string, inputs: Emitter<Input>): LinkEvents {
  let isOpen = true;
  const fire = (input: Input) => {
    if (isOpen) inputs.fire(input);
  };
  return {
    message: (method, params) => fire({ on: 'message', link, method, params }),
    asked: (id, method, params) => fire({ on: 'asked', link, id, method, params }),
    withdrawn: (id) => fire({ on: 'withdrawn', link, id }),
    junk: (text) => fire({ on: 'junk', link, text }),
    closed: (why: LinkEnd) => {
      if (!isOpen) return;
      isOpen = false;
      inputs.fire({ on: 'closed', link, why });
    },
  };
}

interface PendingCall {
  readonly stop: AbortController;
  readonly link: string | undefined;
}

function failureFrom(error: unknown): Failure {
  return error instanceof LinkError ? error.failure : { kind: 'lost', message: messageOf(error) };
}
function notHere(port: Port): LinkError {
  return new LinkError({ kind: 'unsent', message: `There is no ${port} here` });
}
