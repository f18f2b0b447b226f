import { t } from '../base/l10n.ts';
import type { Ports } from '../protocols/ports.ts';
import type { Answer } from '../session/intents.ts';
import type { Ask, Content, Remedy, Session, TurnId } from '../session/model.ts';
import { newSession } from '../session/reduce.ts';
import { rejection } from '../session/select.ts';
import { type LiveDeps, LiveSession } from './liveSession.ts';
import type { Profile } from './profiles.ts';

/* Conversations apart from all sessions: no list and no journal has them, and they end with what they were for. */

export type AsideDeps = Omit<LiveDeps, 'rules' | 'trace' | 'journal' | 'beforePrompt'>;

const refused = (): Promise<never> => Promise.reject(new Error('Nothing is read, written or run here.'));
/** Refuses all actions of an agent that is asked apart from all sessions. */
export const noPorts: Ports = { tools: [], files: { read: refused, write: refused }, terminals: { create: refused } };

/** Why an agent gave no result, and what helps. */
export interface AsideFailure {
  readonly ok: false;
  readonly reason: string;
  /** The last line that the program wrote before it ended; it may hold secrets. */
  readonly lastLine?: string;
  readonly next: readonly Remedy[];
}
export type AsideAnswer = { readonly ok: true; readonly text: string } | AsideFailure;

/** A conversation of this kind; it is not started yet. */
export function converseAside(profile: Profile, cwd: string, deps: AsideDeps): LiveSession {
  const start = newSession(deps.newId(), { protocol: profile.protocol, name: profile.name }, cwd);
  return new LiveSession(start, profile.id, { ...deps, rules: () => [], trace: () => {} });
}

/** The first thing found in the state of a conversation, now or later. */
export function whenFound<T>({ store }: LiveSession, find: (state: Session) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const check = (): void => {
      const found = find(store.now);
      if (found === undefined) return;
      listening.dispose();
      resolve(found);
    };
    const listening = store.onChange(check);
    check();
  });
}

/** Asks an agent for one text. It may do nothing for it: whatever it asks is refused. `stop` ends it without an answer. */
export async function askAside(
  session: LiveSession,
  content: readonly Content[],
  turnId: TurnId,
  stop: AbortSignal,
): Promise<AsideAnswer | undefined> {
  const refusing = session.store.onChange(({ event }) => {
    if (event.type !== 'ask.opened' || session.store.now.link.state !== 'ready') return;
    const { ask } = event;
    // Deferred until the agent's own message is through.
    queueMicrotask(() => session.send({ type: 'answer', askId: ask.id, answer: refusal(ask) }));
  });
  const stopped = new Promise<undefined>((resolve) => {
    if (stop.aborted) resolve(undefined);
    else stop.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    void session.start();
    session.send({ type: 'prompt', turnId, content });
    return await Promise.race([whenFound(session, (state) => answerIn(state, turnId)), stopped]);
  } finally {
    refusing.dispose();
  }
}

function refusal(ask: Ask): Answer {
  const optionId = ask.kind === 'approval' ? rejection(ask)?.id : ask.refusal;
  return optionId === undefined ? { kind: 'cancelled' } : { kind: 'option', optionId };
}

function answerIn({ turns, asks, link }: Session, turnId: TurnId): AsideAnswer | undefined {
  const [ask] = asks;
  if (ask && link.state !== 'ready') return { ok: false, reason: ask.title, next: ['signIn'] };
  const turn = turns.find(({ id }) => id === turnId);
  if (turn?.error) return { ok: false, reason: turn.error.message, next: turn.error.next ?? [] };
  if (link.state === 'closed') return { ok: false, reason: link.reason, next: link.next ?? [] };
  if (!turn || turn.status === 'running') return undefined;
  const text =
    turn.parts
      .flatMap((part) => (part.kind === 'text' ? [part.text] : []))
      .at(-1)
      ?.trim() ?? '';
  if (turn.status === 'done' && text !== '') return { ok: true, text };
  return { ok: false, reason: turn.stop ?? t('The agent does not answer.'), next: ['showLog'] };
}
