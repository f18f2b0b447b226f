import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { TurnId } from '../../session/model.ts';
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
  /** Into which turn. */
  readonly turnId: TurnId;
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
    const steer: Steer = { said, turnId: turn.turnId };
    this.#open.push(steer);
    this.#deps.emit({
      type: 'part.added',
      turnId: turn.turnId,
      part: { kind: 'prompt', id: said.turnId, content: said.content, pending: true },
    });
    try {
      await peer.call('steer', { user_input: toUserInput(said.content) });
      if (!this.#deps.saysWhen() && this.#drop(steer)) this.#deps.emit(addPart({ kind: 'prompt', content: said.content }, turn, turn.main));
    } catch (error) {
      const failed = failureOf(error);
      const inTurn = this.#drop(steer);
      if (!failed) return;
      // The turn was over already, or the server cannot: then it is the next prompt.
      if (failed.code === codes.wrongState || failed.code === codes.unknownMethod) own.prompt(said);
      else if (inTurn) this.#notice('error', t('The agent did not take "{0}": {1}', textOf(said), failed.message));
    }
  }

  /** The agent has taken up the oldest one; its event says what it was. */
  takenUp(): void {
    const [oldest] = this.#open;
    if (oldest) this.#drop(oldest);
  }

  /** What was not taken up by then leaves the turn and waits for the user (`reduce`). What is still on its way will be refused. */
  turnEnded(): void {
    this.#open = [];
  }

  /** False when it was gone already. */
  #drop(steer: Steer): boolean {
    const at = this.#open.indexOf(steer);
    if (at < 0) return false;
    this.#open.splice(at, 1);
    this.#deps.emit({ type: 'parts.removed', turnId: steer.turnId, partIds: [steer.said.turnId] });
    return true;
  }

  #notice(level: 'warn' | 'error', text: string): void {
    this.#deps.emit({ type: 'notice', notice: { level, text } });
  }
}

function textOf(said: PromptIntent): string {
  return said.content.map((one) => (one.type === 'text' ? one.text : `[${one.type}]`)).join(' ');
}
