import { ResponseError } from 'vscode-jsonrpc/node';
import { say } from '../../base/say.ts';
import type { Resume } from '../adapter.ts';
import type { Agent } from './agent.ts';
import { AUTH_REQUIRED, codeOf, faultOf, NOT_FOUND } from './faults.ts';
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
}
export type OpenedSession = SessionAnswer & { readonly id: string };

/** Goes on with an earlier conversation where there is one, else begins a new one; says so when the earlier one is lost (acp.md §5). */
export async function openSession(resume: Resume | undefined, scene: OpeningScene): Promise<OpenedSession> {
  const { agent, signal, notice, updates } = scene;
  if (resume && (agent.can.load || agent.can.resume)) {
    try {
      return await goOn(resume, scene);
    } catch (error) {
      if (codeOf(error) === AUTH_REQUIRED || signal.aborted || !(error instanceof ResponseError)) throw error;
      const why = codeOf(error) === NOT_FOUND ? say('It does not know it any more.') : faultOf(error).message;
      notice(say('The agent cannot take up this conversation, so it remembers nothing of it. {0}', why));
    }
  } else if (resume) notice(say('This agent keeps no conversations. It goes on without the agent remembering it.'));
  updates.live();
  const answer = await ask('session/new', {}, scene);
  if (!answer.sessionId) throw new Error('The agent named no session.');
  return { ...answer, id: answer.sessionId };
}

async function goOn(resume: Resume, scene: OpeningScene): Promise<OpenedSession> {
  const { updates, agent } = scene;
  const { method, more, replays } = agent.dialect.goOn(resume, agent.can);
  if (replays) updates.replay(resume.history ? 'record' : 'known');
  updates.known(resume.key);
  const answer = await ask(method, more, scene);
  await updates.recorded();
  return { ...answer, id: resume.key };
}

function ask(method: string, more: object, { line, agent, params, signal }: OpeningScene): Promise<SessionAnswer> {
  return orAborted(line.connection.request(method, { ...params, ...more }, agent.dialect.sessionAnswer, signal), signal);
}
