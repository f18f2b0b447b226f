import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import { Approvals, type CallBook, type Decision } from './approvals.ts';
import { Incoming } from './control.ts';
import { EditorTools } from './editorTools.ts';
import { lostTurn } from './lostTurn.ts';
import type { Peer } from './peers.ts';
import { Stopping } from './stopping.ts';
import type { TalkSetup } from './talk.ts';
import { Turns } from './turns.ts';

/** Where the dialects differ in what they share. */
export interface GroundOptions<Calls extends CallBook> {
  readonly calls: (turns: Turns) => Calls;
  /** The answer to a request for a permission. */
  readonly reply: (id: string, decision: Decision) => object;
  readonly peer: Peer;
  /** Ask the agent to change its mode, after a yes of its own where nobody would be asked any more. */
  readonly setMode: (mode: string) => void;
}

/** What a conversation in either dialect stands on: its turn and calls, requests of the agent, approvals, our tools, Stop. */
export class Ground<Calls extends CallBook> {
  readonly turns: Turns;
  readonly calls: Calls;
  readonly incoming: Incoming;
  readonly approvals: Approvals;
  readonly tools: EditorTools;
  readonly stopping: Stopping;
  readonly #emit: (event: SessionEvent) => void;
  readonly #cwd: string;

  constructor({ scene, emit, write, cwd }: TalkSetup, options: GroundOptions<Calls>) {
    const { peer, reply, setMode } = options;
    this.#emit = emit;
    this.#cwd = cwd;
    this.turns = new Turns(emit, scene);
    this.calls = options.calls(this.turns);
    this.incoming = new Incoming(write);
    this.tools = new EditorTools(scene.ports.tools, scene.client, scene.log, peer.toolLimit);
    this.stopping = new Stopping(this.turns, emit);
    const { incoming, turns, calls } = this;
    this.approvals = new Approvals({ scene, emit, incoming, turns, calls, reply, peer, cwd: () => cwd, setMode });
  }

  all(events: readonly SessionEvent[]): void {
    for (const event of events) this.#emit(event);
  }

  /** The agent is gone: what is known of its running turn is said in it. */
  lost(): void {
    const turn = this.turns.running;
    if (!turn) return;
    const { events, note } = lostTurn(this.calls.ofTurn, turn.id, this.#cwd);
    this.all(events);
    if (note !== undefined) this.turns.note('warn', note);
  }

  /** The text a command is sent as. */
  commandText({ path, args }: Pick<Extract<Intent, { type: 'command' }>, 'path' | 'args'>): string {
    return `/${[...path, args].filter(Boolean).join(' ')}`;
  }
}
