import { type Log, messageOf } from '../base/log.ts';
import type { Ending, Failure } from '../base/outcomes.ts';
import type { Effect, Input, Machine, Port } from '../conversation/machine.ts';
import type { Conversation } from '../conversation/state.ts';
import type { SessionEvent } from '../session/events.ts';
import { type Link, LinkError, type LinkEvents, type OpenLink } from '../transport/link.ts';
import { TextCoalescer } from './textCoalescer.ts';

export type PortFunction = (args: never, signal: AbortSignal) => Promise<unknown>;
export interface DriverOptions {
  readonly now: () => number;
  readonly emit: (event: SessionEvent) => void;
  readonly log: Log;
  /** By the first word of a link's name. */
  readonly links: Readonly<Record<string, OpenLink>>;
  /** Their results are JSON. A rejection comes as a reply with a failure; a `LinkError` keeps its own. */
  readonly ports?: Partial<Readonly<Record<Port, PortFunction>>>;
  /** Called after every input, and what it caused at once: the state may be written down here. */
  readonly afterStep?: () => void;
}
export interface Driver<S extends Conversation> {
  readonly state: Readonly<S>;
  /** Settles once the conversation is over and everything is let go. */
  readonly ended: Promise<void>;
  feed(input: Input): void;
  /** A query that changes nothing in the conversation. Rejects with a `LinkError`; `unsent` when the link is not open. */
  request(link: string, method: string, params?: unknown, signal?: AbortSignal): Promise<unknown>;
}

/** JSON-RPC's internal error, for a request of the agent that our own fault lost. */
const INTERNAL_ERROR = -32603;

/**
 * Runs a machine: carries out its effects and feeds back what becomes of them. The one place with links, timers and promises, for every
 * protocol. What it guarantees stands in conversation/machine.ts.
 */
export function drive<S extends Conversation>(machine: Machine<S>, state: S, options: DriverOptions): Driver<S> {
  const { log } = options;
  const text = new TextCoalescer(options.emit);
  const links = new Map<string, Link>();
  const timers = new Map<string, NodeJS.Timeout>();
  const calls = new Map<string, PendingCall>();
  const inbox: Input[] = [];
  let isRunning = false;
  let isOver = false;
  let settleEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    settleEnded = resolve;
  });

  function feed(input: Input): void {
    if (isOver) return;
    if (isRunning) {
      inbox.push(input);
      return;
    }
    isRunning = true;
    step(input);
    if (inbox.length > 0) {
      for (let at = 0; at < inbox.length; at++) step(inbox[at] as Input);
      inbox.length = 0;
    }
    isRunning = false;
    options.afterStep?.();
    if (state.phase === 'over') dispose();
  }

  function step(input: Input): void {
    try {
      const effects = machine(state, input, options.now());
      for (let at = 0; at < effects.length; at++) perform(effects[at] as Effect);
    } catch (error) {
      log.error(`Handling "${input.on}" failed: ${messageOf(error)}`, error);
      if (input.on === 'asked') links.get(input.link)?.answer(input.id, { error: { code: INTERNAL_ERROR, message: 'Internal error' } });
    }
  }

  function perform(effect: Effect): void {
    switch (effect.do) {
      case 'emit':
        return text.emit(effect.event);
      case 'open':
        return open(effect.link, effect.params);
      case 'close':
        return links.get(effect.link)?.close();
      case 'request': {
        const { link, method, params } = effect;
        return call(effect.call, link, (signal) => requestOn(link, method, params, signal));
      }
      case 'notify':
        return links.get(effect.link)?.notify(effect.method, effect.params);
      case 'answer':
        return links.get(effect.link)?.answer(effect.id, effect);
      case 'port': {
        const run = options.ports?.[effect.port] as ((args: unknown, signal: AbortSignal) => Promise<unknown>) | undefined;
        return call(effect.call, undefined, (signal) => run?.(effect.args, signal) ?? Promise.reject(notHere(effect.port)));
      }
      case 'drop':
        return drop(effect.call);
      case 'timer':
        return timer(effect.timer, effect.after);
      case 'log':
        return log[effect.level](effect.text);
    }
  }

  function open(name: string, params: unknown): void {
    const factory = options.links[name.split(' ', 1)[0] ?? ''];
    const before = links.get(name);
    if (!factory || before) throw new Error(before ? `The link ${name} is open already` : `There is no way to open ${name}`);
    // A closed link says nothing more, and its end is told once; its name may be used again.
    let isOpen = true;
    const told = (input: Input) => {
      if (isOpen) feed(input);
    };
    const events: LinkEvents = {
      message: (method, params) => told({ on: 'message', link: name, method, params }),
      asked: (id, method, params) => told({ on: 'asked', link: name, id, method, params }),
      withdrawn: (id) => told({ on: 'withdrawn', link: name, id }),
      junk: (text) => told({ on: 'junk', link: name, text }),
      closed: (why: Ending) => {
        if (!isOpen) return;
        isOpen = false;
        links.delete(name);
        for (const [id, pending] of calls) if (pending.link === name) calls.delete(id);
        feed({ on: 'closed', link: name, why });
      },
    };
    const link = factory(params, events, name);
    if (isOpen) links.set(name, link);
  }

  function requestOn(link: string, method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    return (
      links.get(link)?.request(method, params, signal) ?? Promise.reject(new LinkError({ kind: 'unsent', message: `${link} is not open` }))
    );
  }

  function call(name: string, link: string | undefined, start: (signal: AbortSignal) => Promise<unknown>): void {
    const pending: PendingCall = { stop: new AbortController(), link };
    calls.set(name, pending);
    const reply = (outcome: { readonly result: unknown } | { readonly error: Failure }) => {
      if (calls.get(name) !== pending) return;
      calls.delete(name);
      feed({ on: 'reply', call: name, ...outcome });
    };
    start(pending.stop.signal).then(
      (result) => reply({ result }),
      (error: unknown) => reply({ error: failureFrom(error) }),
    );
  }
  function drop(name: string): void {
    const pending = calls.get(name);
    calls.delete(name);
    pending?.stop.abort();
  }

  function timer(name: string, after: number | null): void {
    clearTimeout(timers.get(name));
    timers.delete(name);
    if (after === null) return;
    const fired = () => {
      timers.delete(name);
      feed({ on: 'timer', timer: name });
    };
    timers.set(name, setTimeout(fired, after));
  }

  function dispose(): void {
    isOver = true;
    for (const one of timers.values()) clearTimeout(one);
    for (const name of [...calls.keys()]) drop(name);
    for (const link of links.values()) link.close();
    text.flush();
    settleEnded();
  }

  return {
    state,
    ended,
    feed,
    request: (link, method, params, signal = new AbortController().signal) => requestOn(link, method, params, signal),
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
