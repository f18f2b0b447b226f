import { type ApprovalAnswers, answersIn } from '../session/approvalAnswers.ts';
import type { SessionEvent } from '../session/events.ts';
import { joinTextDeltas } from '../session/join.ts';
import type { Approval, Session, SessionId } from '../session/model.ts';
import type { OpenAnswers, ToView } from './contract.ts';

/** The part of a store that the outbox needs. */
export interface MirroredSession {
  readonly id: SessionId;
  readonly store: { readonly now: Session; readonly seq: number };
}

/** The port to which the outbox sends. */
export interface ViewPort {
  post(message: ToView): void;
}
/** Runs its argument once, about a frame later. */
export type Schedule = (flush: () => void) => void;

/** Judges an approval for the view. */
export type JudgeApproval = (session: Session, ask: Approval) => ApprovalAnswers;

/** Milliseconds per frame for judging approvals. A hundred long commands may be open, and the editor waits meanwhile. */
const JUDGED_FOR_MS = 8;

/**
 * Host end of the pipe: gathers one frame of changes of the shown session into one patch. While the view is not listening everything is
 * dropped; it gets a snapshot when it listens again.
 */
export class Outbox {
  readonly #view: ViewPort;
  readonly #schedule: Schedule;
  #shown: MirroredSession | undefined;
  #listening = false;
  #events: SessionEvent[] = [];
  #sent = 0;
  #waiting = false;
  readonly #judge: ApprovalJudge;

  constructor(view: ViewPort, schedule: Schedule, judge: JudgeApproval = answersIn) {
    this.#view = view;
    this.#schedule = schedule;
    this.#judge = new ApprovalJudge(judge);
  }

  get shown(): SessionId | undefined {
    return this.#shown?.id;
  }

  /** The view is there (or there again) and knows nothing, or it is gone or hidden. */
  listen(listening: boolean): void {
    this.#listening = listening;
    this.snapshot();
  }

  show(shown: MirroredSession | undefined): void {
    this.#shown = shown;
    this.snapshot();
  }

  /** Starts the view over: everything gathered so far is in the snapshot. */
  snapshot(): void {
    this.#events = [];
    this.#judge.forget();
    if (!this.#listening || !this.#shown) return;
    const { id, store } = this.#shown;
    this.#sent = store.seq;
    this.#view.post({ type: 'snapshot', sessionId: id, seq: store.seq, session: shownOf(store.now), answers: this.#answers(store.now) });
  }

  take(id: SessionId, event: SessionEvent): void {
    if (!this.#listening || id !== this.#shown?.id) return;
    this.#events.push(event);
    this.#awaitFrame();
  }

  #awaitFrame(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#schedule(() => {
      this.#waiting = false;
      this.#flush();
    });
  }

  #flush(): void {
    if ((this.#events.length === 0 && !this.#judge.owes) || !this.#shown) return;
    const { id, store } = this.#shown;
    const from = this.#sent + 1;
    this.#sent += this.#events.length;
    // Drops adapter state, which the view does not show; the sequence numbers continue.
    const events = joinTextDeltas(this.#events).filter((event) => event.type !== 'turn.adapterState');
    this.#events = [];
    const isOwed = this.#judge.owes;
    if (events.some((event) => event.type === 'link.ready')) this.#judge.forget();
    const answers = isOwed || events.some(changesAnswers) ? { answers: this.#answers(store.now) } : {};
    this.#view.post({ type: 'patch', sessionId: id, from, seq: this.#sent, events, ...answers });
  }

  #answers(session: Session): OpenAnswers {
    const answers = this.#judge.answers(session);
    if (this.#judge.owes) this.#awaitFrame();
    return answers;
  }
}

/** Judges the open approvals, as many as it can in a moment. */
class ApprovalJudge {
  readonly #judge: JudgeApproval;
  #judged = new WeakMap<Approval, ApprovalAnswers>();
  #owes = false;

  constructor(judge: JudgeApproval) {
    this.#judge = judge;
  }

  /** Approvals are left to which there are no answers yet. */
  get owes(): boolean {
    return this.#owes;
  }

  forget(): void {
    this.#judged = new WeakMap();
    this.#owes = false;
  }

  /** At least one of those that are left is judged each time. */
  answers(session: Session): OpenAnswers {
    const until = performance.now() + JUDGED_FOR_MS;
    let isNew = false;
    this.#owes = false;
    return openAnswers(session, (ask) => {
      const known = this.#judged.get(ask);
      if (known) return known;
      if (isNew && performance.now() > until) {
        this.#owes = true;
        return undefined;
      }
      isNew = true;
      const judged = this.#judge(session, ask);
      this.#judged.set(ask, judged);
      return judged;
    });
  }
}

/** The session without the adapter state of its turns. */
function shownOf(session: Session): Session {
  if (!session.turns.some((turn) => 'adapterState' in turn)) return session;
  return { ...session, turns: session.turns.map(({ adapterState: _, ...turn }) => turn) };
}

/** The answers to the open approvals, without those that are not judged yet. */
export function openAnswers(
  session: Session,
  judge: (ask: Approval) => ApprovalAnswers | undefined = (ask) => answersIn(session, ask),
): OpenAnswers {
  return session.asks.flatMap((ask) => {
    const answers = ask.kind === 'approval' ? judge(ask) : undefined;
    return answers ? [[ask.id, answers] as const] : [];
  });
}
/** Whether an agent takes feedback is known once the link is ready. */
function changesAnswers({ type }: SessionEvent): boolean {
  return type === 'ask.opened' || type === 'ask.changed' || type === 'ask.revised' || type === 'link.ready';
}
