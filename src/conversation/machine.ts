import type { Failure, LinkAnswer, LinkEnd } from '../base/outcomes.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Intent } from '../session/intents.ts';

/*
 * A protocol is a pure state machine: it takes one input, changes its state and returns the effects. It has no clock, no I/O, no promise and no
 * randomness. `protocols/driver.ts` carries the effects out, for every protocol, and feeds back what becomes of them.
 *
 * The driver guarantees:
 * 1. Inputs come one at a time. Whatever an effect causes at once waits until the step is over.
 * 2. Effects are carried out in their order. An `answer` is on the wire before anything that is sent after it.
 * 3. A reply comes once. None comes for a call that was dropped, whose link has closed, or whose name was used again.
 * 4. `closed` is the last input of a link, and comes after everything that had arrived before.
 * 5. An exception in a step costs that input only. A request of the agent that was lost with it is refused.
 * 6. `phase: 'over'` is the end: timers, calls and links are let go, and `Adapter.ended` settles.
 * 7. Pieces of text that arrive together are joined before the session sees them.
 *
 * A machine guarantees:
 * 1. The state is a tree of JSON values, changed in place. The same state and input give the same effects.
 * 2. Each `asked` gets exactly one `answer`, whatever happens to the turn, the link or the session.
 * 3. Nothing is emitted after `leave`, nothing is done after `over`, and a second `leave` does nothing.
 * 4. Unknown methods are refused with -32601, unknown notifications are skipped, and malformed messages are not read further.
 *
 * Writing one: a class that extends `Step` (step.ts) with one `take(input)`, made into a machine by `machineOf`. Tables in the state are
 * `Table`s (state.ts), because ids of agents are arbitrary texts.
 */

/** The events of a conversation. The machine chooses names of links, calls and timers; the link chooses ids of requests. */
export type Input =
  | { readonly on: 'start' }
  /** The session is left: stop what runs within a grace time, and let go. */
  | { readonly on: 'leave' }
  | { readonly on: 'intent'; readonly intent: Intent }
  /** The user has signed out, and the values that were entered for the agent are no longer stored. */
  | { readonly on: 'signedOut' }
  /** The agent sent something that needs no answer: a notification, a record of an HTTP stream. */
  | { readonly on: 'message'; readonly link: string; readonly method: string; readonly params: unknown }
  /** The agent asks, and waits for one answer. */
  | { readonly on: 'asked'; readonly link: string; readonly id: string; readonly method: string; readonly params: unknown }
  /** The agent takes back what it asked. */
  | { readonly on: 'withdrawn'; readonly link: string; readonly id: string }
  /** Data that is not a message of the protocol. */
  | { readonly on: 'junk'; readonly link: string; readonly text: string }
  | { readonly on: 'closed'; readonly link: string; readonly why: LinkEnd }
  /** The outcome of a `request` or a `port`. */
  | { readonly on: 'reply'; readonly call: string; readonly result?: unknown; readonly error?: Failure }
  | { readonly on: 'timer'; readonly timer: string };

/** The effects that a conversation requests, in this order. */
export type Effect =
  | { readonly do: 'emit'; readonly event: SessionEvent }
  /**
   * Opens a link. The first word of its name chooses the link factory, so `stream 3` is opened by the factory `stream`. A name may be used
   * again once its link has closed.
   */
  | { readonly do: 'open'; readonly link: string; readonly params: unknown }
  | { readonly do: 'close'; readonly link: string }
  | { readonly do: 'request'; readonly link: string; readonly call: string; readonly method: string; readonly params?: unknown }
  | { readonly do: 'notify'; readonly link: string; readonly method: string; readonly params?: unknown }
  | ({ readonly do: 'answer'; readonly link: string; readonly id: string } & LinkAnswer)
  /** Uses something outside the conversation other than a link to the agent. The driver is given a function for each port. */
  | { readonly do: 'port'; readonly call: string; readonly port: Port; readonly args: unknown }
  /** Stops a `request` or a `port`; its reply will not come. */
  | { readonly do: 'drop'; readonly call: string }
  /** Starts a timer, in milliseconds, in place of an earlier one of the same name; null cancels it. */
  | { readonly do: 'timer'; readonly timer: string; readonly after: number | null }
  | { readonly do: 'log'; readonly level: 'trace' | 'info' | 'warn' | 'error'; readonly text: string };

/** tool: our tools. file: the editor's texts. terminal: commands. secret: secret storage. link: a browser. probe: asking programs. server: a local server. */
export type Port = 'tool' | 'file' | 'terminal' | 'secret' | 'link' | 'probe' | 'server';

export type Machine<State> = (state: State, input: Input, now: number) => readonly Effect[];
