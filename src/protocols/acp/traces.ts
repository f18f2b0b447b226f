import type { SessionEvent } from '../../session/events.ts';
import type { Diff, TurnId } from '../../session/model.ts';
import type { Exit } from '../ports.ts';
import type { CallState } from './calls.ts';
import type { Placing } from './placing.ts';
import { callThatWrote } from './requests.ts';
import type { Turns } from './turns.ts';

/** How long a command may go without a call that shows it, in milliseconds: agents announce it when they have its id. */
const GRACE = 500;

export interface TraceScene {
  readonly turns: Turns;
  readonly placing: Placing;
  readonly newId: () => string;
  readonly emit: (event: SessionEvent) => void;
  /** An update as the agent itself would send it. */
  readonly update: (update: object) => void;
}

/** Nothing the agent does through us goes unseen: what none of its calls shows, or comes after its turn, is shown as a call of its own. */
export class Traces {
  readonly #scene: TraceScene;
  /** Commands that no call has shown yet. */
  readonly #unseen = new Map<string, NodeJS.Timeout>();
  /** Calls of our own for such commands, by terminal: an agent may yet name the command in a call of its own. */
  readonly #ours = new Map<string, { readonly turnId: TurnId; readonly callId: string }>();

  constructor(scene: TraceScene) {
    this.#scene = scene;
  }

  wrote(diff: Diff, title: string): void {
    const { turns, placing, newId, update } = this.#scene;
    let call = turns.current && callThatWrote(turns.current, diff.path);
    if (!call) {
      const toolCallId = newId();
      const locations = [{ path: diff.path }];
      update({ sessionUpdate: 'tool_call', toolCallId, title, kind: 'edit', status: 'completed', locations });
      call = turns.current?.calls.get(toolCallId);
    }
    const turn = turns.current;
    if (turn && call) placing.wrote(turn, call, diff);
  }

  /** A command was started for the agent. */
  started(terminalId: string, command: string, exited: Promise<Exit>): void {
    const show = () => {
      this.#unseen.delete(terminalId);
      const toolCallId = this.#scene.newId();
      const content = [{ type: 'terminal', terminalId }];
      this.#scene.update({ sessionUpdate: 'tool_call', toolCallId, title: command, kind: 'execute', status: 'in_progress', content });
      const shownIn: TurnId | undefined = this.#scene.turns.current?.id;
      if (shownIn !== undefined) this.#ours.set(terminalId, { turnId: shownIn, callId: toolCallId });
      void exited.then(({ code }) => {
        if (this.#scene.turns.current?.id !== shownIn || !this.#scene.turns.current?.calls.has(toolCallId)) return;
        this.#scene.update({ sessionUpdate: 'tool_call_update', toolCallId, status: code === 0 ? 'completed' : 'failed' });
      });
    };
    this.#unseen.set(terminalId, setTimeout(show, GRACE));
  }

  /** News of a call of the agent: the commands it shows are seen. */
  heard(call: CallState): void {
    if (this.#unseen.size === 0 && this.#ours.size === 0) return;
    for (const item of call.content) {
      if (item.type !== 'terminal') continue;
      this.#takeBack(item.terminalId, call.id);
      clearTimeout(this.#unseen.get(item.terminalId));
      this.#unseen.delete(item.terminalId);
    }
  }

  /** What the agent shows itself is not shown twice. */
  #takeBack(terminalId: string, byCall: string): void {
    const ours = this.#ours.get(terminalId);
    const { turns, emit } = this.#scene;
    if (!ours || ours.callId === byCall) return;
    this.#ours.delete(terminalId);
    if (turns.current?.id !== ours.turnId) return;
    turns.current.calls.delete(ours.callId);
    emit({ type: 'parts.removed', turnId: ours.turnId, partIds: [ours.callId] });
  }

  dispose(): void {
    for (const timer of this.#unseen.values()) clearTimeout(timer);
    this.#unseen.clear();
  }
}
