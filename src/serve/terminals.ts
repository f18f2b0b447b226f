import { toMeta } from '../protocols/ahp/codec.ts';
import { reduceTerminal, terminalText } from '../protocols/ahp/reduce.ts';
import type { TerminalAction, TerminalState } from '../protocols/ahp/state.ts';
import type { Session, SessionId, Terminal, ToolCall } from '../session/model.ts';
import { isSettled } from '../session/parts.ts';
import { TERMINAL_TAIL } from '../session/reduce.ts';
import { findCall, findTerminal } from '../session/select.ts';
import { terminalUri } from './addresses.ts';
import type { Channels } from './channels.ts';

/** Most UTF-16 units sent to a client before its copy is cut to the session's limit. The end of the command cuts it, too. */
const MOST_TOLD = 2 * TERMINAL_TAIL;

interface Held {
  readonly sessionId: SessionId;
  readonly state: TerminalState;
  /** The terminal as last sent. */
  readonly terminal: Terminal;
}

/** Output of agents' commands, as channels (docs/protocols/ahp.md §8), sent to all subscribers. */
export class TerminalChannels {
  readonly #channels: Channels;
  /** Entries that a client has subscribed to, by channel. */
  readonly #held = new Map<string, Held>();

  constructor(channels: Channels) {
    this.#channels = channels;
  }

  /** Returns the state for a client that subscribes; undefined when the session has no such terminal. */
  shown(uri: string, session: Session, terminalId: string): TerminalState | undefined {
    const channel = terminalUri(session.id, terminalId);
    this.#publish(channel, session);
    const known = this.#held.get(channel);
    const terminal = terminalIn(session, terminalId);
    if (known || !terminal) return known?.state;
    const state = stateOf(uri, terminal);
    this.#held.set(channel, { sessionId: session.id, terminal, state });
    return state;
  }

  sync(session: Session): void {
    for (const [channel, { sessionId }] of this.#held) if (sessionId === session.id) this.#publish(channel, session);
  }

  /** Drops the state of a removed session. */
  forget(id: SessionId): void {
    for (const [channel, { sessionId }] of this.#held) if (sessionId === id) this.#held.delete(channel);
  }

  #publish(channel: string, session: Session): void {
    const held = this.#held.get(channel);
    const terminal = held && (terminalIn(session, held.terminal.id) ?? endedIn(session, held.terminal));
    if (!terminal || terminal === held.terminal) return;
    let { state } = held;
    for (const action of actionsOf(held, terminal)) {
      state = reduceTerminal(state, action);
      this.#channels.publish(channel, action);
    }
    this.#held.set(channel, { ...held, state, terminal });
  }
}

const OF_CALL = 'call ';
const UNKNOWN_EXIT = { code: null, signal: null };

/** A terminal of the session, or the output that an agent reports of a command it runs by itself. */
function terminalIn(session: Session, id: string): Terminal | undefined {
  if (!id.startsWith(OF_CALL)) return findTerminal(session, id);
  const call = findCall(session, id.slice(OF_CALL.length));
  return call && printedTerminal(call, session);
}

/** A terminal whose call is over and has something else in place of what it had printed, as an error. */
function endedIn(session: Session, terminal: Terminal): Terminal | undefined {
  const call = findCall(session, terminal.id.slice(OF_CALL.length));
  return !call || !isSettled(call) || terminal.exit ? undefined : { ...terminal, exit: UNKNOWN_EXIT };
}

/** The command of a call and its output as text so far; undefined for other calls, and for those with terminals. */
export function printedTerminal(call: ToolCall, session: Session): Terminal | undefined {
  const command = commandOf(call, session);
  if (command === undefined || call.output.length === 0) return undefined;
  const texts = call.output.map((output) =>
    output.kind === 'content' && output.content.type === 'text' ? output.content.text : undefined,
  );
  if (texts.includes(undefined)) return undefined;
  const text = texts.join('\n');
  const tail = text.slice(-TERMINAL_TAIL);
  const exit = isSettled(call) ? { exit: UNKNOWN_EXIT } : {};
  return { id: OF_CALL + call.id, command, tail, dropped: text.length - tail.length, ...exit };
}

/** Names of arguments that hold a command, for agents that do not report the kind of their tools. */
const OF_COMMANDS = new Set(['command', 'description', 'timeout', 'cwd', 'workdir', 'run_in_background']);
/** In UTF-16 units. */
const LONGEST_COMMAND = 64 * 1024;

/** The command line that a call runs. Some agents say it in the title alone (Gemini CLI 0.61.0): VS Code shows it as one, as Parley's view does. */
export function commandOf(call: ToolCall, session: Session): string | undefined {
  const named = namedCommand(call, session);
  if (named !== undefined || call.kind !== 'execute' || call.input !== undefined) return named;
  return call.title === '' || call.title === call.name ? undefined : call.title.slice(0, LONGEST_COMMAND);
}

/** The same, where the arguments or the terminal of a call name it. */
export function namedCommand(call: ToolCall, session: Session): string | undefined {
  const input = (call.input ?? {}) as { readonly command?: unknown };
  const isCommand = call.kind === 'execute' || (call.kind === 'other' && Object.keys(input).every((name) => OF_COMMANDS.has(name)));
  if (isCommand && typeof input.command === 'string') return input.command.slice(0, LONGEST_COMMAND);
  const shown = call.output.find((output) => output.kind === 'terminal');
  return (shown && findTerminal(session, shown.terminalId)?.command.slice(0, LONGEST_COMMAND)) || undefined;
}

function stateOf(session: string, { id, command, tail, dropped, exit }: Terminal): TerminalState {
  return {
    title: command || id,
    content: tail === '' ? [] : [{ type: 'unclassified', value: tail }],
    claim: { kind: 'session', session },
    lifecycle: exit ? { status: 'exited', ...codeOf(exit) } : { status: 'running' },
    isPty: false,
    _meta: toMeta({ dropped }),
  };
}

/** Returns the output since. Resends the whole terminal when it was restarted or has dropped unsent output. */
function actionsOf({ state, terminal: before }: Held, { tail, dropped, exit }: Terminal): readonly TerminalAction[] {
  const sent = terminalText(state);
  const fresh = dropped + tail.length - before.dropped - before.tail.length;
  const isAnew = fresh < 0 || (fresh < tail.length && !sent.endsWith(tail.slice(0, tail.length - fresh)));
  const isLong = sent.length + fresh > (exit ? TERMINAL_TAIL : MOST_TOLD);
  const actions: TerminalAction[] = [];
  if (isAnew || isLong || fresh > tail.length) {
    actions.push({ type: 'terminal/cleared', ...(isAnew ? {} : { _meta: toMeta({ dropped }) }) });
    if (tail !== '') actions.push({ type: 'terminal/data', data: tail });
  } else if (fresh > 0) actions.push({ type: 'terminal/data', data: tail.slice(tail.length - fresh) });
  if (exit && state.lifecycle.status === 'running') actions.push({ type: 'terminal/exited', ...codeOf(exit) });
  return actions;
}

/** Returns the exit code; absent for a command ended by a signal. */
export function codeOf({ code }: NonNullable<Terminal['exit']>): { readonly exitCode?: number } {
  return code === null ? {} : { exitCode: code };
}
