import type { SessionEvent } from '../../../session/events.ts';
import type { Offers, TurnId } from '../../../session/model.ts';
import type { Past } from '../../adapter.ts';
import { copyIn, type ProcessLaunch } from '../commandLine.ts';
import type { Peer } from '../peers.ts';
import { recordFolder } from './place.ts';
import { conversationIn, pastConversations } from './record.ts';
import { replay } from './replay.ts';

/** The conversations that the agent itself keeps, of the folder it works in. */
export class Kept {
  readonly #folder: string | undefined;
  readonly #cwd: string;
  readonly offers: Pick<Offers, 'history' | 'fork' | 'edit'>;

  constructor(launch: ProcessLaunch, peer: Peer) {
    this.#folder = recordFolder(launch);
    this.#cwd = launch.cwd;
    this.offers = this.#folder === undefined ? {} : { history: true, fork: true, ...(peer.checkpoints ? { edit: true } : {}) };
  }

  async all(): Promise<readonly Past[]> {
    return this.#folder === undefined ? [] : pastConversations(this.#folder);
  }

  /** What was said in one, as events; nothing when it cannot be read. A copy that is yet to be made says what it is a copy of. */
  async said(key: string): Promise<readonly SessionEvent[]> {
    return this.#folder === undefined ? [] : replay(await conversationIn(this.#folder, copyIn(key) ?? key), this.#cwd);
  }

  /** The message before that turn: `undefined` inside when there is none; nothing at all when the turn is not in it. */
  async before(key: string, turnId: TurnId): Promise<{ readonly upTo: string | undefined } | undefined> {
    const entries = this.#folder === undefined ? [] : await conversationIn(this.#folder, key);
    const at = entries.findIndex((entry) => entry.id === turnId);
    return at < 0 ? undefined : { upTo: entries[at - 1]?.id };
  }
}
