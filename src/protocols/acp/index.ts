import * as z from 'zod/mini';
import { t, unreadable } from '../../base/l10n.ts';
import type { Intent } from '../../session/intents.ts';
import { LinkError } from '../../transport/link.ts';
import { processChannel } from '../../transport/process.ts';
import { rpcLink } from '../../transport/rpcLink.ts';
import type { Adapter, AdapterContext, Past, ProcessLaunch, Protocol } from '../adapter.ts';
import { Driver } from '../driver.ts';
import { isSameFile } from '../paths.ts';
import { type Codec, faultOf, textPath } from './codec.ts';
import { variablesIn } from './connection.ts';
import { acpMachine } from './machine.ts';
import { AgentSecrets, type Announced, announcing, portsOf } from './ports.ts';
import { NOT_FOUND, sessionAnswer, sessionList } from './schema.ts';
import { type AcpSetup, type AcpState, codecOf, foldersOf, LIMITS, newAcp } from './state.ts';

/** Agents that speak the Agent Client Protocol over their standard input and output. */
export const acp: Protocol = {
  title: 'Agent Client Protocol',
  launch: 'process',
  open(launch, context) {
    if (launch.kind !== 'process') throw new Error('An ACP agent is a process.');
    return new AcpAdapter(launch, context);
  },
};

/** How long a process may take to end by itself, and after SIGTERM. Milliseconds. */
const PATIENCE = { end: 1500, term: 2000 };
/** Pages of a list of conversations that are asked for at most. */
const PAGES = 20;

/** One conversation with one agent process: the machine, its ports and the requests beside it. */
class AcpAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #driver: Driver<AcpState>;
  readonly #secrets: AgentSecrets;
  readonly #announced: Announced['listen'];

  constructor(launch: ProcessLaunch, context: AdapterContext) {
    const { emit, listen } = announcing(context);
    this.#announced = listen;
    const secrets = new AgentSecrets(launch, context);
    this.#secrets = secrets;
    this.#driver = new Driver(acpMachine, newAcp(`${context.newId()}.`, setupOf(launch, context)), {
      now: context.now,
      emit,
      log: context.log,
      links: {
        agent: (_params, events) => {
          const called = context.name ? { name: context.name } : {};
          const spec = { ...launch, ...called, env: { ...launch.env, ...secrets.values } };
          return rpcLink(processChannel(spec, { log: context.log, patience: PATIENCE }), events, {
            log: context.log,
            trace: (way, message) => context.trace(way, way === 'out' ? withoutServers(message) : message),
            textPath,
            cancelMethod: '$/cancel_request',
          });
        },
      },
      ports: portsOf(launch, context, { emit, secrets }),
    });
    this.ended = this.#driver.ended;
    context.signal.addEventListener('abort', () => this.dispose(), { once: true });
    this.#driver.feed({ on: 'start' });
  }

  send(intent: Intent): void {
    this.#driver.feed({ on: 'intent', intent });
  }

  dispose(): void {
    this.#driver.feed({ on: 'leave' });
  }

  async history(signal?: AbortSignal): Promise<readonly Past[]> {
    const { agent, setup } = this.#driver.state;
    if (!agent?.can.list) return [];
    const found: Past[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page++) {
      const params = { cwd: setup.cwd, ...(cursor === undefined ? {} : { cursor }) };
      const { sessions, nextCursor } = await this.#query('session/list', params, sessionList, signal);
      for (const one of sessions) {
        if (one.cwd != null && !isSameFile(one.cwd, setup.cwd)) continue;
        const at = one.updatedAt ? Date.parse(one.updatedAt) : Number.NaN;
        found.push({ key: one.sessionId, title: one.title || one.sessionId, ...(Number.isNaN(at) ? {} : { at }) });
      }
      if (!nextCursor || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    return found;
  }

  /** A conversation that is gone already is no error. */
  async forget(key: string, signal?: AbortSignal): Promise<void> {
    if (!this.#driver.state.agent?.can.delete) throw new Error(t('This agent cannot do this.'));
    try {
      await this.#query('session/delete', { sessionId: key }, z.unknown(), signal);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      if (error.failure.code !== NOT_FOUND) throw new Error(faultOf(error.failure).message);
    }
  }

  async fork(signal?: AbortSignal): Promise<string> {
    const { state } = this.#driver;
    if (!state.agent?.can.fork || state.session === null) throw new Error(t('This agent cannot do this.'));
    const params = { sessionId: state.session.id, ...foldersOf(state), mcpServers: [] };
    const answer = await this.#query('session/fork', params, sessionAnswer, signal);
    if (!answer.sessionId) throw new Error('The agent did not name the copy.');
    return answer.sessionId;
  }

  async signOut(): Promise<void> {
    const { agent, hasCredentials, turn } = this.#driver.state;
    if (!agent || !(agent.can.logout || hasCredentials)) throw new Error(t('This agent cannot do this.'));
    if (turn?.by === 'user') throw new Error(t('The agent is not stopping.'));
    if (agent.can.logout) await this.#driver.request('agent', this.#codec.logout, {});
    if (!hasCredentials) return;
    await this.#secrets.forget(variablesIn(agent.authMethods));
    const announced = new Promise<void>((resolve) => {
      const subscription = this.#announced(() => {
        subscription.dispose();
        resolve();
      });
    });
    this.#driver.feed({ on: 'signedOut' });
    await announced;
  }

  get #codec(): Codec {
    return codecOf(this.#driver.state.agent);
  }

  /** Resolves with the agent's checked answer. Rejects with a sentence, and cancels the request, when it takes too long or the signal fires. */
  async #query<T extends z.ZodMiniType>(method: string, params: object, answer: T, signal?: AbortSignal): Promise<z.output<T>> {
    const { answer: limit } = this.#driver.state.setup.limits;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), limit);
    const stop = signal ? AbortSignal.any([late.signal, signal]) : late.signal;
    const stopped = new Promise<never>((_, reject) => {
      const rejectStopped = () =>
        reject(new Error(late.signal.aborted ? t('The agent did not answer within {0} s.', limit / 1000) : t('Stopped')));
      if (stop.aborted) rejectStopped();
      stop.addEventListener('abort', rejectStopped, { once: true });
    });
    try {
      const result = await Promise.race([this.#driver.request('agent', method, params, stop), stopped]);
      const parsed = answer.safeParse(result);
      if (parsed.success) return parsed.data;
      throw new Error(unreadable(method));
    } finally {
      clearTimeout(timer);
    }
  }
}

function setupOf(launch: ProcessLaunch, { client, resume, past, ports }: AdapterContext): AcpSetup {
  return {
    cwd: launch.cwd,
    folders: launch.folders ?? [],
    client: { name: client.name, version: client.version },
    newest: launch.options?.version === '2' ? 2 : 1,
    resume: resume ? { key: resume.key, history: resume.history } : null,
    startedAt: past?.[0]?.startedAt ?? null,
    can: { links: ports.openLink !== undefined, logins: ports.runVisibly !== undefined },
    tools: ports.tools.map((tool) => tool.name),
    limits: LIMITS,
  };
}

/** Tool servers carry tokens, and no trace may. */
function withoutServers(message: unknown): unknown {
  const { params } = message as { readonly params?: { readonly mcpServers?: readonly { readonly name?: unknown }[] } };
  if (!Array.isArray(params?.mcpServers)) return message;
  return { ...(message as object), params: { ...params, mcpServers: params.mcpServers.map(({ name }) => ({ name })) } };
}
