import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { TurnId } from '../../session/model.ts';
import type { Calls, Decision } from './calls.ts';
import type { Hearing } from './hearing.ts';
import type { LateEdits } from './lateEdits.ts';
import { confirmation, dataPart, toMessage } from './messages.ts';
import { Posts } from './posts.ts';
import { isAtRest, isOver } from './records.ts';
import { lookUp } from './recover.ts';
import { RpcError, StatusError, type Way, wordsOf } from './rpc.ts';
import type { Shown } from './shown.ts';
import { likeProposal } from './snapshot.ts';
import type { Streams } from './streams.ts';
import type { TurnScene } from './timing.ts';
import { isTerminal, type TurnEnd } from './turnEnd.ts';
import type { Fields } from './words.ts';

/** How a message goes out. */
export interface Sending {
  readonly onRecord?: () => void;
  /** Lets go of it, wherever it stands. */
  readonly signal?: AbortSignal;
  readonly way?: (way: Way) => void;
}

interface DecisionScene extends TurnScene {
  readonly turnId: TurnId;
  readonly calls: Calls;
  readonly shown: Shown;
  readonly hearing: Hearing;
  readonly edits: LateEdits;
  readonly streams: Streams;
  /** Nothing more is to be done for the turn. */
  readonly over: () => boolean;
  /** Sends a message as a stream of its own; settles with what went wrong. */
  readonly open: (params: Fields, sending: Sending) => Promise<unknown>;
  readonly closed: (error: unknown) => void;
  readonly refused: (error: RpcError) => void;
  readonly lost: (error: unknown) => void;
  readonly settle: () => void;
  readonly end: (end: TurnEnd) => void;
  /** No stream of the task stands just now. */
  readonly offline: () => boolean;
}

/** What the user decided on its way to the agent: sent once, never again by itself, and asked about anew where it did not arrive. */
export class Decisions {
  readonly #deps: DecisionScene;
  readonly #posts: Posts;
  #doubting = false;
  #looking = false;

  constructor(deps: DecisionScene) {
    this.#deps = deps;
    this.#posts = new Posts(deps.scene.now, () => this.#tellHeld());
  }

  /** One of them has not left: the server asks to wait, or for credentials. */
  get held(): boolean {
    return this.#posts.held !== undefined;
  }

  /** What the agent waits for is being looked up; the turn goes on after it. */
  get looking(): boolean {
    return this.#looking;
  }

  /** Something came from the agent. */
  heard(): void {
    this.#posts.since(undefined);
  }

  /** The call has become another: what was decided about it is not sent any more. */
  takeBack(callId: string, edited: boolean): void {
    this.#posts.recall([callId]);
    if (edited) this.#deps.shown.notice('warn', t('The agent proposes something else now; what you had changed is not part of it.'));
    if (this.#posts.someDoubtful([callId])) this.#deps.shown.notice('warn', mayBeFollowed());
  }

  /** To be called now and then. */
  tick(): void {
    const { scene, timing, calls } = this.#deps;
    const { sentAt } = this.#posts;
    if (sentAt === undefined || scene.now() - sentAt < timing.doubt || calls.commandRuns) return;
    this.#posts.since(scene.now());
    void this.doubt(undefined);
  }

  /** The decision goes to the agent as a stream of its own. */
  say(decision: Decision): void {
    const { memory, edits, open, closed } = this.#deps;
    const { call, dialect, choice } = decision;
    if (!choice) return;
    let edited: string | undefined;
    const proposed = call.request?.proposed;
    edits.forget(call.id);
    if (decision.edited !== undefined && proposed !== undefined) {
      const text = likeProposal(decision.edited, proposed);
      if (text !== proposed && (dialect === 'rfc' || memory.newer)) edited = text;
      else if (text !== proposed && call.diff) edits.add(call.id, call.diff.path, text);
    }
    const post = this.#posts.begin(call.id);
    let arrived = false;
    const params = toMessage(memory, [dataPart(memory, confirmation(memory, call, dialect, choice.sends, edited))]);
    const onRecord = () => {
      arrived = true;
      post.arrived();
    };
    void open(params, { onRecord, signal: post.signal, way: post.way }).then((error) => {
      // What became of one that another took the place of, or that was called back, is not the turn's business.
      if (!post.ended(error) && !arrived) return closed(undefined);
      return arrived ? closed(error) : this.#undelivered(call.id, error);
    });
  }

  /**
   * Decisions of which nothing came: the task is looked at, and what it still waits for is asked of the user once more, never sent again by
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
    // What has not left cannot have been heard.
    const open = calls.unheard.filter((id) => !this.#posts.isHeld(id));
    const waits = now ? now.state === 'input-required' : this.#posts.sentAt === undefined || why !== undefined;
    if (open.length > 0 && waits) return this.#askAgain(open, why);
    if (this.held) {
      if (!now || !isOver(now.state)) return;
      // A task that is over takes no answer.
      this.#posts.recall();
    }
    if (!now || (this.#posts.sentAt !== undefined && why === undefined && !isAtRest(now.state))) return;
    streams.giveUp();
    if (isAtRest(now.state)) settle();
    else if (!streams.open) lost(undefined);
  }

  /** The agent rests and has not said what it waits for: true when the task is looked at before the turn goes on. */
  looks(): boolean {
    const { calls, hearing } = this.#deps;
    const whole = calls.leftOpen();
    if (!whole && !hearing.unlooked) return false;
    hearing.unlooked = false;
    void this.look(whole);
    return true;
  }

  /** What the agent waits for may not have been heard; `whole`: nor what became of a call that stands still. */
  async look(whole = false): Promise<void> {
    const { memory, scene, hearing, over, settle } = this.#deps;
    this.#looking = true;
    const now = await lookUp(memory).catch((error: unknown) => {
      scene.log.info(`Looking at the task failed: ${messageOf(error)}`);
      return undefined;
    });
    this.#looking = false;
    if (over()) return;
    if (now && isAtRest(now.state) && (whole || memory.known.asks(now))) hearing.catchUp(now);
    settle();
  }

  /** Nothing was heard on the stream of a decision. */
  #undelivered(callId: string, error: unknown): void {
    const { calls, streams, over, refused, lost } = this.#deps;
    if (over()) return;
    calls.adrift(callId);
    if (error instanceof StatusError) return this.#askAgain([callId], wordsOf(error));
    if (error instanceof RpcError) return isTerminal(error) ? refused(error) : void this.doubt(wordsOf(error));
    if (calls.waiting > 0 || streams.open) return void this.doubt(error === undefined ? undefined : messageOf(error));
    lost(error);
  }

  #askAgain(callIds: readonly string[], why: string | undefined): void {
    const { calls, shown, streams, end } = this.#deps;
    const doubtful = this.#posts.someDoubtful(callIds);
    this.#posts.since(undefined);
    this.#posts.recall(callIds);
    streams.giveUp();
    const told = why === undefined ? t('The agent still waits for your answer.') : t('Your answer did not reach the agent: {0}', why);
    const maybe = doubtful ? mayBeFollowed() : '';
    shown.notice('warn', [told, maybe].filter(Boolean).join(' '));
    if (callIds.every((id) => calls.askAgain(id))) return;
    end({ status: 'failed', error: { message: t('The agent takes no answer. {0}', why ?? ''), next: ['retry', 'showLog'] } });
  }

  #tellHeld(): void {
    const { scene, turnId, over } = this.#deps;
    if (over()) return;
    const { held } = this.#posts;
    const text = held === undefined ? null : t('Your answer has not been sent yet. {0}', held);
    scene.emit({ type: 'turn.activity', turnId, text });
  }
}

function mayBeFollowed(): string {
  return t('The answer before was sent, and may still be followed.');
}
