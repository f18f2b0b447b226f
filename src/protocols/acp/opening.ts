import { setTimeout as delay } from 'node:timers/promises';
import { ResponseError } from 'vscode-jsonrpc/node';
import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Turn } from '../../session/model.ts';
import type { Resume } from '../adapter.ts';
import type { Agent } from './agent.ts';
import { AUTH_REQUIRED, codeOf, faultOf, NOT_FOUND } from './faults.ts';
import { ANSWER_LIMIT } from './limited.ts';
import { type Line, orAborted } from './line.ts';
import type { SessionAnswer } from './schema.ts';
import type { Updates } from './updates.ts';

export interface OpeningScene {
  readonly line: Line;
  readonly agent: Agent;
  readonly updates: Updates;
  /** What every session is opened with: its folders and our tools. */
  readonly params: object;
  readonly signal: AbortSignal;
  readonly notice: (text: string) => void;
  readonly now: () => number;
  /** What the session shows of the conversation already. */
  readonly past: readonly Turn[];
  readonly emit: (event: SessionEvent) => void;
}
export type OpenedSession = SessionAnswer & { readonly id: string };

/** Goes on with an earlier conversation where there is one, else begins a new one; says so when the earlier one is lost (acp.md §5). */
export async function openSession(resume: Resume | undefined, scene: OpeningScene): Promise<OpenedSession> {
  const { agent, signal, notice, updates } = scene;
  const nothingSaid = resume?.history === false && scene.past.length === 0;
  if (resume && (agent.can.load || agent.can.resume)) {
    try {
      return await goOn(resume, scene);
    } catch (error) {
      if (codeOf(error) === AUTH_REQUIRED || signal.aborted || !(error instanceof ResponseError)) throw error;
      const why = codeOf(error) === NOT_FOUND ? t('It does not know it any more.') : faultOf(error).message;
      // Agents keep no record of a conversation in which nothing was said.
      if (!nothingSaid) notice(t('The agent cannot take up this conversation, so it remembers nothing of it. {0}', why));
    }
  } else if (resume) notice(t('This agent keeps no conversations. It goes on without the agent remembering it.'));
  updates.live();
  const answer = await ask('session/new', {}, scene);
  if (!answer.sessionId) throw new Error('The agent named no session.');
  return { ...answer, id: answer.sessionId };
}

async function goOn(resume: Resume, scene: OpeningScene): Promise<OpenedSession> {
  const { updates, agent } = scene;
  const { method, more, replays } = agent.dialect.goOn(resume, agent.can);
  if (agent.quirks.loadErasesYoung) await oldEnough(resume, scene);
  if (replays) updates.replay(resume.history ? 'record' : 'known');
  updates.known(resume.key);
  const answer = await ask(method, more, scene);
  await updates.recorded();
  return { ...answer, id: resume.key };
}

const MINUTE = 60_000;

/** Settles once the clock minute is over in which the conversation may have been begun; the user is told why it takes that long. */
async function oldEnough(resume: Resume, { past, now, signal, notice }: OpeningScene): Promise<void> {
  // When it was begun nobody knows; it cannot have been after its first turn.
  const begunBy = past[0]?.startedAt ?? (resume.history ? now() : undefined);
  if (begunBy === undefined) return;
  const safeAt = (Math.floor(begunBy / MINUTE) + 1) * MINUTE;
  const seconds = Math.ceil((safeAt - now()) / 1000);
  if (seconds <= 0) return;
  notice(t('This agent would lose a conversation that is taken up in the minute it was begun in. It is taken up in {0} s.', seconds));
  // Rejects with the signal's reason. A clock that jumped is read again.
  for (let left = safeAt - now(); left > 0 && left <= MINUTE; left = safeAt - now()) await delay(left, undefined, { signal });
}

async function ask(method: string, more: object, { line, agent, params, signal, emit }: OpeningScene): Promise<SessionAnswer> {
  const { connection } = line;
  let heardAt: number;
  // A long conversation may take its time, as long as something is heard of it.
  const watch = (): NodeJS.Timeout => {
    heardAt = connection.heardAt;
    return setTimeout(() => {
      if (connection.heardAt !== heardAt) {
        timer = watch();
        return;
      }
      const note = t('The agent has not answered for {0} s. Wait, or restart it.', ANSWER_LIMIT / 1000);
      emit({ type: 'link.opening', note, next: ['restart', 'showLog'] });
    }, ANSWER_LIMIT);
  };
  let timer = watch();
  const asked = connection.request(method, { ...params, ...more }, agent.dialect.sessionAnswer, signal);
  return orAborted(asked, signal).finally(() => clearTimeout(timer));
}

/** The folders of a session as requests name them: the first is where it works. */
export function foldersOf([cwd = '', ...more]: readonly string[]): {
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
} {
  return { cwd, ...(more.length > 0 ? { additionalDirectories: more } : {}) };
}
