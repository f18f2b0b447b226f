import { messageOf } from '../../base/log.ts';
import { say } from '../../base/say.ts';
import type { Calls, Decision } from './calls.ts';
import type { Hearing } from './hearing.ts';
import type { LateEdits } from './lateEdits.ts';
import { confirmation, dataPart, toMessage } from './messages.ts';
import { isAtRest } from './records.ts';
import { lookUp } from './recover.ts';
import { RpcError, StatusError, wordsOf } from './rpc.ts';
import type { Shown } from './shown.ts';
import { likeProposal } from './snapshot.ts';
import type { Streams } from './streams.ts';
import type { TurnScene } from './timing.ts';
import { isTerminal, type TurnEnd } from './turnEnd.ts';
import type { Fields } from './words.ts';

interface DecisionScene extends TurnScene {
  readonly calls: Calls;
  readonly shown: Shown;
  readonly hearing: Hearing;
  readonly edits: LateEdits;
  readonly streams: Streams;
  /** Nothing more is to be done for the turn. */
  readonly over: () => boolean;
  /** Sends a message as a stream of its own; settles with what went wrong. */
  readonly open: (params: Fields, onRecord: () => void) => Promise<unknown>;
  readonly closed: (error: unknown) => void;
  readonly refused: (error: RpcError) => void;
  readonly lost: (error: unknown) => void;
  readonly settle: () => void;
  readonly end: (end: TurnEnd) => void;
  /** No stream of the task stands just now. */
  readonly offline: () => boolean;
}

/** What the person decided on its way to the agent: sent once, never again by itself, and asked about anew where it did not arrive. */
export class Decisions {
  readonly #deps: DecisionScene;
  /** When the last one was sent that nothing was heard of since. */
  #sentAt: number | undefined;
  #doubting = false;

  constructor(deps: DecisionScene) {
    this.#deps = deps;
  }

  /** Something came from the agent. */
  heard(): void {
    this.#sentAt = undefined;
  }

  /** To be called now and then. */
  tick(): void {
    const { scene, timing, calls } = this.#deps;
    if (this.#sentAt === undefined || scene.now() - this.#sentAt < timing.doubt || calls.commandRuns) return;
    this.#sentAt = scene.now();
    void this.doubt(undefined);
  }

  /** The decision goes to the agent as a stream of its own. */
  say(decision: Decision): void {
    const { memory, scene, edits, open, closed } = this.#deps;
    const { call, dialect, choice } = decision;
    if (!choice) return;
    let edited: string | undefined;
    const proposed = call.request?.proposed;
    if (decision.edited !== undefined && proposed !== undefined) {
      const text = likeProposal(decision.edited, proposed);
      if (text !== proposed && (dialect === 'rfc' || memory.newer)) edited = text;
      else if (text !== proposed && call.diff) edits.add(call.id, call.diff.path, text);
    }
    this.#sentAt = scene.now();
    let arrived = false;
    const params = toMessage(memory, [dataPart(memory, confirmation(memory, call, dialect, choice.sends, edited))]);
    void open(params, () => {
      arrived = true;
    }).then((error) => (arrived ? closed(error) : this.#undelivered(call.id, error)));
  }

  /**
   * Decisions of which nothing came: the task is looked at, and what it still waits for is asked of the person once more, never sent again by
   * itself (a2a.md §9.3).
   */
  async doubt(why: string | undefined): Promise<void> {
    const { memory, scene, hearing, calls, streams, over, offline, settle, lost } = this.#deps;
    if (this.#doubting || offline()) return;
    this.#doubting = true;
    const now = await lookUp(memory).catch((error: unknown) => {
      scene.log.info(`Looking at the task failed: ${messageOf(error)}`);
      return undefined;
    });
    this.#doubting = false;
    if (over()) return;
    if (now) hearing.catchUp(now);
    const open = calls.unheard;
    const waits = now ? now.state === 'input-required' : this.#sentAt === undefined || why !== undefined;
    if (open.length > 0 && waits) return this.#askAgain(open, why);
    if (!now || (this.#sentAt !== undefined && why === undefined && !isAtRest(now.state))) return;
    streams.giveUp();
    if (isAtRest(now.state)) settle();
    else if (!streams.open) lost(undefined);
  }

  /** Nothing was heard on the stream of a decision. */
  #undelivered(callId: string, error: unknown): void {
    const { calls, streams, over, refused, lost } = this.#deps;
    if (over()) return;
    calls.adrift(callId);
    if (error instanceof StatusError) return this.#askAgain([callId], wordsOf(error));
    if (error instanceof RpcError) return isTerminal(error) ? refused(error) : void this.doubt(wordsOf(error));
    if (calls.waiting > 0 || streams.open) return void this.doubt(messageOf(error));
    lost(error);
  }

  #askAgain(callIds: readonly string[], why: string | undefined): void {
    const { calls, shown, streams, end } = this.#deps;
    this.#sentAt = undefined;
    streams.giveUp();
    const told = why === undefined ? say('The agent still waits for your answer.') : say('Your answer did not reach the agent: {0}', why);
    shown.notice('warn', told);
    if (callIds.every((id) => calls.askAgain(id))) return;
    end({ status: 'failed', error: { message: say('The agent takes no answer. {0}', why ?? ''), next: ['retry', 'showLog'] } });
  }
}
