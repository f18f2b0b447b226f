import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { TurnId } from '../../session/model.ts';
import type { Asking } from './asking.ts';
import { BackOff } from './backOff.ts';
import type { Hearing } from './hearing.ts';
import { leaveTask } from './memory.ts';
import { isAtRest, isOver } from './records.ts';
import { lookUp, resubscribe } from './recover.ts';
import type { OpenStream } from './streams.ts';
import type { TurnScene } from './timing.ts';
import { gone, type TurnEnd } from './turnEnd.ts';

interface ReconnectScene extends TurnScene {
  readonly turnId: TurnId;
  readonly hearing: Hearing;
  readonly asking: Asking;
  readonly signal: AbortSignal;
  readonly hear: (open: OpenStream) => Promise<unknown>;
}

/** Takes up the task of a turn that nobody is heard of any more, and says so as long as no subscription stands (a2a.md §11). */
export class Reconnect {
  readonly #deps: ReconnectScene;
  readonly #backOff = new BackOff();
  #running = false;
  #offline = false;
  /** There was no line yet that could be lost. */
  #first = false;

  constructor(deps: ReconnectScene) {
    this.#deps = deps;
  }

  /** No stream of the task is open, and one is wanted. */
  get offline(): boolean {
    return this.#offline;
  }

  /** The agent says outside of its streams that it is there. */
  news(): void {
    this.#backOff.news();
  }

  /** `follow`: no connection was lost, the task is only not subscribed to yet. The end of the turn, or `resting` when the task has come to rest; undefined when there is nothing left to do. Never rejects. */
  async run(error: unknown, how: 'lost' | 'follow'): Promise<TurnEnd | 'resting' | undefined> {
    if (this.#running) return undefined;
    const { memory, hearing } = this.#deps;
    const why = error === undefined ? t('The connection was lost.') : messageOf(error);
    if (!memory.task || hearing.records === 0) return { status: 'failed', error: { message: why, next: ['retry'] } };
    this.#running = true;
    this.#offline = true;
    this.#first = how === 'follow';
    try {
      return await (memory.peer.dialect === 'gemini' ? this.#stopped() : this.#subscribe(why));
    } finally {
      this.#running = false;
      this.#offline = false;
    }
  }

  /** Without its connection the shipped server does not go on. */
  async #stopped(): Promise<TurnEnd> {
    const { memory } = this.#deps;
    const state = await lookUp(memory).catch(() => undefined);
    const told = state === undefined || memory.newer || isOver(state.state) ? leaveTask(memory) : '';
    const message = [t('The connection was lost, and the agent stopped.'), told].filter(Boolean).join(' ');
    return { status: 'failed', error: { message, next: ['retry', 'continue'] } };
  }

  async #subscribe(why: string): Promise<TurnEnd | 'resting' | undefined> {
    const { scene, memory, timing, hearing, asking, signal, hear } = this.#deps;
    for (;;) {
      const end = await resubscribe({
        scene,
        memory,
        timing,
        signal,
        backOff: this.#backOff,
        hear,
        stands: (on) => this.#stands(on),
        caughtUp: (record) => hearing.catchUp(record),
        resting: () => isAtRest(hearing.state),
        progress: () => hearing.progress,
      });
      if (signal.aborted) return undefined;
      scene.emit({ type: 'turn.activity', turnId: this.#deps.turnId, text: null });
      if (end === 'resting') return end;
      if (end === 'gone') return gone(memory);
      const told = t('The agent was not reached again. {0} It may still be at work.', why);
      const { next } = this.#backOff;
      // What was said while the last try was under way is as good as an answer.
      if (next.aborted) continue;
      const again = await asking.confirm(t('Connection lost'), told, t('Reconnect'), t('Stop waiting'), next);
      if (!again && (signal.aborted || !next.aborted))
        return signal.aborted ? undefined : { status: 'failed', error: { message: told, next: ['continue'] } };
    }
  }

  #stands(on: boolean): void {
    const { scene, turnId, signal } = this.#deps;
    this.#offline = !on;
    const quiet = this.#first;
    this.#first = false;
    if (quiet || signal.aborted) return;
    scene.emit({ type: 'turn.activity', turnId, text: on ? null : t('The connection was lost; trying to reconnect') });
  }
}
