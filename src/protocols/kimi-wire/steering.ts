import { say } from '../../base/say.ts';
import type { SessionEvent } from '../../session/events.ts';
import { failureOf } from '../../transport/jsonrpc.ts';
import { toUserInput } from './content.ts';
import type { OwnTurns, PromptIntent } from './ownTurns.ts';
import type { Peer } from './peer.ts';
import { codes } from './schema.ts';
import { addPart } from './streaming.ts';

export interface SteeringDeps {
  readonly peer: Peer;
  readonly own: OwnTurns;
  readonly emit: (event: SessionEvent) => void;
  /** The server says when it has taken a word up (1.5). */
  readonly saysWhen: () => boolean;
}
interface Steer {
  readonly said: PromptIntent;
  accepted: boolean;
}

/** What is said into a running turn: on its way, accepted, taken up, or lost with the turn (wire.md §4, steer). */
export class Steering {
  readonly #deps: SteeringDeps;
  /** Not taken up yet, oldest first. */
  #open: Steer[] = [];

  constructor(deps: SteeringDeps) {
    this.#deps = deps;
  }

  async say(said: PromptIntent): Promise<void> {
    const { own, peer } = this.#deps;
    const { turn } = own;
    if (!turn || peer.lacks('steer')) return own.prompt(said);
    const steer: Steer = { said, accepted: false };
    this.#open.push(steer);
    try {
      await peer.call('steer', { user_input: toUserInput(said.content) });
      steer.accepted = true;
      if (own.turn !== turn) this.#drop(steer);
      else if (!this.#deps.saysWhen() && this.#drop(steer)) {
        this.#deps.emit(addPart({ kind: 'prompt', content: said.content }, turn, turn.main));
      }
    } catch (error) {
      const failed = failureOf(error);
      if (!this.#drop(steer) || !failed) return;
      // The turn was over already, or the server cannot: then it is the next prompt.
      if (failed.code === codes.wrongState || failed.code === codes.unknownMethod) own.prompt(said);
      else this.#notice('error', say('The agent did not take "{0}": {1}', textOf(said), failed.message));
    }
  }

  /** The agent has taken up the oldest one; its event says what it was. */
  takenUp(): void {
    this.#open.shift();
  }

  /**
   * What was not taken up when a turn is stopped is lost at the agent: the person gets it back. After a turn that went well only what is still
   * on its way stays; the agent will refuse it.
   */
  turnEnded(status: 'done' | 'cancelled' | 'failed'): void {
    const lost = status === 'done' ? [] : this.#open;
    this.#open = status === 'done' ? this.#open.filter((steer) => !steer.accepted) : [];
    for (const { said } of lost) this.#deps.emit({ type: 'prompt.returned', prompt: { turnId: said.turnId, content: said.content } });
  }

  /** False when it was gone already. */
  #drop(steer: Steer): boolean {
    const at = this.#open.indexOf(steer);
    if (at >= 0) this.#open.splice(at, 1);
    return at >= 0;
  }

  #notice(level: 'warn' | 'error', text: string): void {
    this.#deps.emit({ type: 'notice', notice: { level, text } });
  }
}

function textOf(said: PromptIntent): string {
  return said.content.map((one) => (one.type === 'text' ? one.text : `[${one.type}]`)).join(' ');
}
