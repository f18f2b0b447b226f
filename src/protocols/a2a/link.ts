import { Lifetime } from '../../base/lifetime.ts';
import { messageOf } from '../../base/log.ts';
import type { Remedy } from '../../session/model.ts';
import { isLoopback, type Link, LinkError, type LinkEvents } from '../../transport/link.ts';
import type { AdapterContext, Launch } from '../adapter.ts';
import { mayUseAddress, notEncrypted } from '../unencrypted.ts';
import { type A2aPeer, UnfitAgent } from './card.ts';
import { CallFiles, type ConnectedAgent, findCommands, noticesOf, postTo, readPeer } from './connected.ts';
import { Credentials } from './credentials.ts';
import { codeOf, kindOf, RpcClient } from './http.ts';
import { LinkQuestions } from './questions.ts';
import { isRecord } from './schema.ts';
import { AgentProgram, readOnlyTools } from './server.ts';
import type { A2aAgent, A2aTiming } from './state.ts';
import { openWebhook, type Webhook } from './webhook.ts';

export interface LinkSetup {
  readonly launch: Launch;
  readonly context: AdapterContext;
  readonly timing: A2aTiming;
  /** The task of the conversation: notifications of others are refused. */
  readonly taskId: () => string | null;
}
type Stage = { readonly is: 'opening' } | { readonly is: 'open'; readonly agent: ConnectedAgent } | { readonly is: 'closed' };

/** The link `agent`: the program, if it is started here, its address, sockets, secrets, the server for notifications. */
export class AgentLink implements Link {
  readonly #setup: LinkSetup;
  readonly #events: LinkEvents;
  readonly #life = new Lifetime();
  readonly #program: AgentProgram | undefined;
  #stage: Stage = { is: 'opening' };
  readonly #questions: LinkQuestions;
  /** Messages that still go to the agent after everything else is closed. */
  #lastRequest: Promise<void> = Promise.resolve();

  constructor(setup: LinkSetup, events: LinkEvents) {
    const { launch, context } = setup;
    this.#setup = setup;
    this.#events = events;
    const questions = new LinkQuestions(events);
    this.#questions = questions;
    this.#life.onEnd(() => questions.close());
    this.#program = launch.kind === 'process' ? new AgentProgram(launch, context) : undefined;
  }

  /** Throws before the agent was found. */
  get agent(): ConnectedAgent {
    if (this.#stage.is !== 'open') throw new Error('There is no agent.');
    return this.#stage.agent;
  }

  async request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    try {
      return await (method === 'connect' ? this.#connect() : this.#send(method, isRecord(params) ? params : {}, signal));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  notify(method: string, params: unknown): void {
    if (this.#stage.is !== 'open') return;
    const { rpc, origin, credentials, webhook, peer } = this.#stage.agent;
    if (method === 'keepAlive') rpc.keepAlive(`${origin}/.well-known/agent-card.json`);
    else if (method === 'hangUp') rpc.hangUp();
    else if (method === 'freshen') credentials.freshen();
    else if (method === 'forgetPush' && webhook) {
      const taskId = String(isRecord(params) ? params.taskId : '');
      this.#lastRequest = rpc.sendLast('tasks/pushNotificationConfig/delete', webhook.inDelete(peer.wire, taskId));
    }
  }

  answer(id: string, { result }: { readonly result?: unknown }): void {
    this.#questions.answer(id, result);
  }

  close(): void {
    void this.#close();
  }

  async #send(method: string, params: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    const { agent } = this;
    switch (method) {
      case 'fresh tasks/get':
        return agent.rpc.call('tasks/get', params, { over: 'fresh', signal });
      case 'POST /tasks':
      case 'POST /executeCommand':
        return postTo(agent, method.slice('POST '.length), params);
      case 'changeVersion':
        return this.#changeVersion(agent);
      case 'registerPush': {
        const { webhook, peer } = agent;
        return webhook && agent.rpc.call('tasks/pushNotificationConfig/set', webhook.inSet(peer.wire, String(params.taskId)));
      }
      case 'editorTools':
        await agent.folder?.turn(params.on === true);
        return params.on === true;
      case 'hangUpGently':
        return agent.rpc.hangUpGently();
      default:
        return agent.rpc.call(method, params, { signal });
    }
  }

  #failure(error: unknown): LinkError {
    const code = codeOf(error);
    const kind = kindOf(error);
    const isSettings = error instanceof UnfitAgent || kind === 'status' || kind === 'header';
    const next: readonly Remedy[] = isSettings ? ['restart', 'openSettings'] : ['restart', 'showLog'];
    const detail = this.#program?.tail;
    const data = { kind, next, ...(detail ? { detail } : {}) };
    return new LinkError({ kind: code.code === undefined ? 'lost' : 'refused', message: messageOf(error), ...code, data });
  }

  // --- opening

  async #connect(): Promise<A2aAgent> {
    const { launch, context, timing } = this.#setup;
    const address = (launch.kind === 'http' ? launch.url : await this.#startProgram()).replace(/\/$/, '');
    this.#mustBeOpen();
    const mayUse = await mayUseAddress(new URL(address), context.ports.secrets, (question) => this.#questions.ask(question));
    if (!mayUse) throw new UnfitAgent(notEncrypted(address));
    this.#mustBeOpen();
    const { origin } = new URL(address);
    const headers = launch.kind === 'http' ? launch.headers : (this.#program?.headers ?? {});
    const credentials = new Credentials({ context, origin, headers, questions: this.#questions });
    const rpc = this.#life.own(new RpcClient(context, credentials, timing));
    const described = await readPeer(rpc, address, this.#extensions);
    credentials.learn(described.schemes, described.security);
    rpc.target = described;
    const commands = await findCommands(rpc, described, origin);
    // The Gemini CLI server under another name is known by what it serves.
    const isGemini = described.dialect === 'plain' && described.remarks.length === 0 && commands?.by === 'rest';
    const peer: A2aPeer = isGemini ? { ...described, dialect: 'gemini' } : described;
    const webhook = peer.push && launch.options?.push !== 'off' && isLoopback(new URL(address)) ? await this.#openWebhook() : undefined;
    const folder = peer.dialect === 'gemini' ? await this.#program?.toolsFolder() : undefined;
    this.#mustBeOpen();
    const agent = {
      origin,
      address,
      peer,
      rpc,
      credentials,
      files: new CallFiles([launch.cwd, ...(launch.options?.workspace ? [launch.options.workspace] : [])]),
    };
    this.#stage = { is: 'open', agent: { ...agent, ...(webhook ? { webhook } : {}), ...(folder ? { folder } : {}) } };
    return {
      peer,
      commands: commands ?? null,
      notices: noticesOf(peer, this.#program),
      push: webhook !== undefined,
      harmless: [...readOnlyTools(context, this.#program?.tools)],
      folder: folder ? { path: folder.path, on: folder.on } : null,
    };
  }

  /** Gives the address. */
  async #startProgram(): Promise<string> {
    const program = this.#program;
    if (!program) throw new Error('There is no program to start.');
    await program.start();
    // Before its address is waited for: the reason why it ended is more useful than the missing address.
    void program.ended.then(({ next, ...end }) => {
      if (this.#stage.is === 'closed') return;
      this.#stage = { is: 'closed' };
      this.#life.dispose();
      this.#events.closed({ ...end, data: { next } });
    });
    return program.address;
  }

  get #extensions(): readonly string[] {
    return this.#setup.launch.options?.extensions?.split(/[\s,]+/).filter(Boolean) ?? [];
  }

  #mustBeOpen(): void {
    if (this.#stage.is === 'closed') throw new Error('left');
  }

  /** Switches to the other version of A2A: the one that the card names now, or else by trying. */
  async #changeVersion(agent: ConnectedAgent): Promise<Pick<A2aPeer, 'wire' | 'endpoint'>> {
    const { peer, rpc, address } = agent;
    const now = await readPeer(rpc, address, this.#extensions).catch(() => peer);
    const other = peer.wire === '1.0' ? ('0.3' as const) : ('1.0' as const);
    const { wire, endpoint } = now.wire === peer.wire ? { wire: other, endpoint: peer.endpoint } : now;
    const changed = { ...peer, wire, endpoint };
    rpc.target = changed;
    if (this.#stage.is === 'open') this.#stage = { is: 'open', agent: { ...agent, peer: changed } };
    return { wire, endpoint };
  }

  async #openWebhook(): Promise<Webhook | undefined> {
    const { context, taskId } = this.#setup;
    const events = this.#events;
    try {
      return this.#life.own(
        await openWebhook(
          (id) => taskId() === id,
          (body) => events.message('notification', body),
        ),
      );
    } catch (error) {
      context.log.info(`No place for notifications: ${messageOf(error)}`);
      return undefined;
    }
  }

  // --- closing

  async #close(): Promise<void> {
    if (this.#stage.is === 'closed') return;
    this.#stage = { is: 'closed' };
    this.#life.dispose();
    await this.#program?.end();
    await this.#lastRequest;
    this.#events.closed({ reason: '' });
  }
}
