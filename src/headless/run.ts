import type { Log } from '../base/log.ts';
import type { LiveSession } from '../live/liveSession.ts';
import type { Session, TurnId } from '../session/model.ts';
import { runningTurn } from '../session/select.ts';
import type { Change } from '../session/store.ts';
import { answerOf } from './answers.ts';
import type { ScriptedAnswer, Step } from './script.ts';

export interface Run {
  readonly steps: readonly Step[];
  readonly answer: ScriptedAnswer;
  readonly newId: () => string;
  readonly log: Log;
}

/** Walks the steps one after the other. True when every turn ended done or cancelled and the link stayed. */
export async function runSteps(live: LiveSession, run: Run): Promise<boolean> {
  await until(live, (session) => session.link.state !== 'opening');
  if (isClosed(live)) return false;
  let answers: ScriptedAnswer[] = [];
  let cancel: Extract<Step, { cancelOn: string }> | undefined;
  let steer: string | undefined;
  for (const step of run.steps) {
    if ('answers' in step) answers = [...step.answers];
    else if ('cancelOn' in step) cancel = step;
    else if ('steer' in step) steer = step.steer;
    else if ('waitMs' in step) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    else if ('mode' in step) live.send({ type: 'setMode', modeId: step.mode });
    else if ('resume' in step) {
      await live.stop();
      await live.start({ key: step.resume, history: true });
      await until(live, (session) => session.link.state !== 'opening');
    } else {
      const turnId = run.newId();
      const left = watch(live, run, { answers, cancel, steer });
      if ('prompt' in step) live.send({ type: 'prompt', turnId, content: [{ type: 'text', text: step.prompt }] });
      else live.send({ type: 'command', turnId, path: step.command, args: step.args ?? '' });
      await until(live, (session) => turnIsOver(session, turnId));
      left();
      [answers, cancel, steer] = [[], undefined, undefined];
    }
    if (isClosed(live)) return false;
  }
  return live.store.now.turns.every((turn) => turn.status === 'done' || turn.status === 'cancelled');
}

function isClosed(live: LiveSession): boolean {
  return live.store.now.link.state === 'closed';
}

function turnIsOver(session: Session, turnId: TurnId): boolean {
  if (session.link.state === 'closed') return true;
  const turn = session.turns.find((one) => one.id === turnId);
  return turn !== undefined && turn.status !== 'running';
}

interface Watched {
  readonly answers: ScriptedAnswer[];
  readonly cancel: Extract<Step, { cancelOn: string }> | undefined;
  readonly steer: string | undefined;
}

/** Answers the asks of one prompt, and cancels or steers it when its moment comes. Returns what ends the watch. */
function watch(live: LiveSession, run: Run, told: Watched): () => void {
  let { cancel, steer } = told;
  let timer: NodeJS.Timeout | undefined;
  const listener = live.store.onChange(({ event }: Change) => {
    if (event.type === 'ask.opened') {
      const scripted = told.answers.shift() ?? run.answer;
      const answer = answerOf(event.ask, scripted);
      if (answer) queueMicrotask(() => live.send({ type: 'answer', askId: event.ask.id, answer }));
      else run.log.info(`Holding: ${event.ask.title}`);
    }
    const moment = momentOf(event);
    if (cancel && moment === cancel.cancelOn) {
      timer = setTimeout(() => live.send({ type: 'cancel' }), cancel.afterMs ?? 0);
      cancel = undefined;
    }
    if (steer !== undefined && (moment === 'text' || moment === 'call') && runningTurn(live.store.now)) {
      const text = steer;
      steer = undefined;
      queueMicrotask(() => live.send({ type: 'steer', turnId: run.newId(), content: [{ type: 'text', text }] }));
    }
  });
  return () => {
    clearTimeout(timer);
    listener.dispose();
  };
}

function momentOf(event: Change['event']): 'ask' | 'call' | 'text' | undefined {
  if (event.type === 'ask.opened') return 'ask';
  if (event.type === 'text.delta' && event.kind === 'text') return 'text';
  return event.type === 'part.added' && event.part.kind === 'call' ? 'call' : undefined;
}

/** Settles once the condition holds. */
function until(live: LiveSession, holds: (session: Session) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!holds(live.store.now)) return;
      listener.dispose();
      resolve();
    };
    const listener = live.store.onChange(check);
    check();
  });
}
