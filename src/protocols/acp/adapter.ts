import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import type { Content, Notice, TurnId } from '../../session/model.ts';
import type { Closed } from '../../transport/channel.ts';
import type { Adapter, AdapterContext, Past } from '../adapter.ts';
import { TextCoalescer } from '../textCoalescer.ts';
import { type Agent, readyEvent } from './agent.ts';
import { OpenAsks } from './asks.ts';
import { commandsSet } from './codec.ts';
import type { Dialect } from './dialect.ts';
import { AUTH_REQUIRED, codeOf, faultOf } from './faults.ts';
import { FileRequests } from './fileRequests.ts';
import { limited } from './limited.ts';
import { closedEvent, initialize, type Line, leaveLine, openLine, type ProcessLaunch } from './line.ts';
import { foldersOf, type OpenedSession, openSession } from './opening.ts';
import { type SettingRequest, Settings } from './options.ts';
import { Placing } from './placing.ts';
import { Prompting } from './prompting.ts';
import { deleteSession, forkSession, listSessions } from './records.ts';
import { requestHandlers } from './requests.ts';
import { forgetVariables, knownVariables, type SignedIn, signIn } from './signIn.ts';
import { SingleStops } from './singleStops.ts';
import { TerminalRequests } from './terminalRequests.ts';
import { type ToolServer, toolServer } from './toolServer.ts';
import { Traces } from './traces.ts';
import { Turns } from './turns.ts';
import { Updates } from './updates.ts';
import { v1 } from './v1.ts';
import { Vigil } from './vigil.ts';

/** One conversation with one agent process over ACP. */
export class AcpAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #launch: ProcessLaunch;
  readonly #scene: AdapterContext;
  readonly #asks: OpenAsks;
  readonly #turns: Turns;
  readonly #settings = new Settings((value) => this.#dialect.optionValue(value));
  readonly #emit: (event: SessionEvent) => void;
  readonly #updates: Updates;
  readonly #placing: Placing;
  readonly #traces: Traces;
  readonly #files: FileRequests;
  readonly #terminals: TerminalRequests;
  readonly #vigil: Vigil;
  readonly #prompting: Prompting;
  readonly #single: SingleStops;
  readonly #stop = new AbortController();
  #end: () => void = () => {};
  #line: Line | undefined;
  #agent: Agent | undefined;
  #sessionId: string | undefined;
  #tools: ToolServer | undefined;
  #env: Readonly<Record<string, string>> = {};
  /** The process runs with something the user entered. */
  #keyed = false;
  /** The process is a new one, and the conversation has not been opened in it. */
  #renewed = false;
  /** Stops the sign-in that is under way. */
  #signing: AbortController | undefined;

  constructor(launch: ProcessLaunch, scene: AdapterContext) {
    this.#launch = launch;
    this.#scene = scene;
    const { ports } = scene;
    const growth = new TextCoalescer(scene.emit);
    const emit = (event: SessionEvent) => growth.emit(event);
    this.#emit = emit;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#asks = new OpenAsks(emit, scene.newId);
    this.#turns = new Turns(emit, scene.now);
    this.#placing = new Placing(ports.files, emit);
    this.#updates = new Updates({
      growth,
      turns: this.#turns,
      settings: this.#settings,
      dialect: () => this.#dialect,
      onActivity: (activity) => this.#prompting.heard(activity),
      newId: scene.newId,
      log: scene.log,
      onCall: (turn, call) => {
        this.#placing.start(turn, call);
        this.#traces.heard(call);
      },
    });
    this.#traces = new Traces({
      turns: this.#turns,
      placing: this.#placing,
      newId: scene.newId,
      emit,
      update: (update) => this.#updates.take({ sessionId: this.#sessionId, update }),
    });
    this.#files = new FileRequests({
      files: ports.files,
      asks: this.#asks,
      roots: () => this.#roots,
      quirks: () => this.#agent?.quirks ?? {},
      turns: this.#turns,
      wrote: (diff) => this.#traces.wrote(diff, t('Write {0}', diff.path)),
    });
    this.#terminals = new TerminalRequests({
      terminals: ports.terminals,
      asks: this.#asks,
      roots: () => this.#roots,
      turns: this.#turns,
      started: (id, command, exited) => this.#traces.started(id, command, exited),
      emit,
      newId: scene.newId,
    });
    this.#vigil = new Vigil(emit, () => (this.#asks.size > 0 ? undefined : this.#line?.connection.heardAt));
    this.#prompting = new Prompting({
      turns: this.#turns,
      asks: this.#asks,
      placing: this.#placing,
      terminals: this.#terminals,
      vigil: this.#vigil,
      emit,
      dialect: () => this.#dialect,
      request: (method, params, answer) => this.#request(method, params, answer),
      notify: (method) => this.#line?.connection.notify(method, { sessionId: this.#sessionId }),
      closed: () => this.#line?.closed,
      withSignIn: (run) => this.#withSignIn(() => this.#inSession(run)),
    });
    this.#single = new SingleStops({
      turns: this.#turns,
      terminals: this.#terminals,
      updates: this.#updates,
      request: async (method, params, answer) => this.#request(method, params, answer, this.#stop.signal),
      notice: (text) => this.#notice(text, { passing: true }),
    });
    void this.#open();
  }

  get #dialect(): Dialect {
    return this.#agent?.dialect ?? v1;
  }

  /** The folders the session works in: an agent that takes only one is asked about the others as about any place outside. */
  get #roots(): readonly string[] {
    return [this.#launch.cwd, ...((this.#agent?.can.moreFolders && this.#launch.folders) || [])];
  }

  send(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.#prompt(intent.turnId, intent.content);
      case 'command':
        return this.#prompt(intent.turnId, [{ type: 'text', text: `/${[...intent.path, intent.args].filter(Boolean).join(' ')}` }]);
      case 'cancel':
        return this.#cancel();
      case 'answer':
        return this.#notice(this.#asks.answer(intent.askId, intent.answer), this.#turns.current && { turnId: this.#turns.current.id });
      case 'stopCall':
        return this.#single.call(intent.callId);
      case 'stopTerminal':
        return this.#single.terminal(intent.terminalId);
      case 'setMode':
        return void this.#set(this.#settings.requestMode(intent.modeId));
      case 'setOption':
        return void this.#set(this.#settings.requestOption(intent.optionId, intent.value));
    }
  }

  async history(signal = this.#stop.signal): Promise<readonly Past[]> {
    return this.#agent?.can.list && this.#line ? listSessions(this.#line.connection, this.#launch.cwd, this.#stop.signal, signal) : [];
  }

  async forget(key: string, signal = this.#stop.signal): Promise<void> {
    if (!this.#agent?.can.delete || !this.#line) throw new Error(t('This agent cannot delete conversations.'));
    await deleteSession(this.#line.connection, key, this.#stop.signal, signal);
  }

  async fork(signal = this.#stop.signal): Promise<string> {
    if (!this.#agent?.can.fork || !this.#line || this.#sessionId === undefined) throw new Error(t('This agent cannot copy conversations.'));
    return forkSession(this.#line.connection, this.#sessionId, foldersOf(this.#roots), this.#stop.signal, signal);
  }

  async signOut(): Promise<void> {
    const { agent, line } = { agent: this.#agent, line: this.#line };
    if (!agent || !line || !(agent.can.logout || this.#keyed)) throw new Error(t('This agent has nothing to sign out of.'));
    if (this.#turns.current?.sort === 'prompt') throw new Error(t('The agent is working. Stop it first.'));
    if (agent.can.logout) await line.connection.request(this.#dialect.logout, {}, z.unknown(), this.#stop.signal);
    if (!this.#keyed) return;
    await forgetVariables(agent.authMethods, this.#scene.ports, this.#launch);
    this.#env = {};
    // What runs knows the key as long as it runs.
    await this.#restart().catch((error: unknown) => this.#failed(error));
    this.#announce();
  }

  dispose(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#settleAll();
    if (!this.#line) return this.#end();
    void this.#line.closed.then(() => this.#end());
    void leaveLine(this.#line, this.#agent?.can.close ? this.#sessionId : undefined);
  }

  /** Nobody waits for anything any more. */
  #settleAll(): void {
    this.#vigil.dispose();
    this.#asks.close();
    this.#terminals.end();
    this.#traces.dispose();
    this.#updates.dispose();
    this.#tools?.dispose();
    this.#tools = undefined;
  }

  async #open(): Promise<void> {
    try {
      await this.#start();
      const answer = await this.#withSignIn(() => this.#openSession(this.#scene.resume));
      if (this.#stop.signal.aborted) return;
      this.#ready(answer);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      // A channel that closed tells more than the request that failed by it; wait for what it says.
      const closed = this.#line && (await Promise.race([this.#line.closed, delay(250)]));
      if (closed || this.#stop.signal.aborted) return;
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const { message: reason } = faultOf(error);
    this.#emit({ type: 'link.closed', reason, next: ['restart', 'showLog', 'pickAgent'], at: this.#scene.now() });
    this.dispose();
  }

  /** Starts the process and says hello. */
  async #start(): Promise<void> {
    const { ports } = this.#scene;
    const known = this.#agent ? await knownVariables(this.#agent.authMethods, ports, this.#launch) : {};
    const served = { requests: this.#handlers(), onNotification: (method: string, params: unknown) => this.#notified(method, params) };
    const variables = { ...known, ...this.#env };
    this.#keyed = Object.keys(variables).length > 0;
    const line = openLine(this.#launch, variables, served, this.#scene, (one, closed) => this.#closed(one, closed));
    this.#line = line;
    const first = this.#agent === undefined;
    this.#agent = await initialize(line, this.#launch, this.#scene, this.#stop.signal);
    // What was entered for this agent in an earlier window is only known to be wanted now.
    if (first && Object.keys(await knownVariables(this.#agent.authMethods, ports, this.#launch)).length > 0) await this.#restart();
  }

  /** Ends the process without a word to the user and starts it anew. */
  async #restart(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    line?.channel.dispose();
    await line?.closed;
    this.#renewed = this.#sessionId !== undefined;
    await this.#start();
  }

  async #openSession(resume: AdapterContext['resume']): Promise<OpenedSession> {
    if (!this.#agent || !this.#line) throw new Error(t('The agent is gone.'));
    const { agent, line } = { agent: this.#agent, line: this.#line };
    this.#tools ??= await toolServer(this.#scene, agent);
    return openSession(resume, {
      line,
      agent,
      updates: this.#updates,
      params: { ...foldersOf(this.#roots), mcpServers: this.#tools?.servers ?? [] },
      signal: this.#stop.signal,
      notice: (text) => this.#notice(text),
      now: this.#scene.now,
      past: this.#scene.past ?? [],
      emit: this.#emit,
    });
  }

  #ready(answer: OpenedSession): void {
    this.#sessionId = answer.id;
    this.#emit({ type: 'resume.set', key: answer.id });
    for (const event of this.#settings.take(answer)) this.#emit(event);
    if (answer.availableCommands) this.#emit(commandsSet(answer.availableCommands));
    this.#updates.known(answer.id);
    this.#announce();
  }

  #announce(): void {
    const { tools } = this.#scene.ports;
    if (this.#agent) this.#emit(readyEvent(this.#agent, { tools, lent: this.#tools !== undefined, keyed: this.#keyed }));
  }

  /** Does it; when the agent wants a sign-in first, has that done and does it once more. */
  async #withSignIn<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (codeOf(error) !== AUTH_REQUIRED || !this.#agent) throw error;
      try {
        const done = await this.#signIn(this.#agent);
        if (done.how === 'declined') throw new Error(done.why);
        if (done.how === 'restart') {
          this.#env = { ...this.#env, ...done.env };
          await this.#restart();
        }
      } finally {
        // In the middle of a conversation the user can go on with it, whatever became of the sign-in.
        if (this.#sessionId !== undefined && !this.#stop.signal.aborted) {
          this.#updates.live();
          this.#announce();
        }
      }
      return run();
    }
  }

  async #inSession<T>(run: () => Promise<T>): Promise<T> {
    if (this.#renewed && this.#sessionId !== undefined)
      await this.#openSession({ key: this.#sessionId, history: false }).then(() => this.#updates.live());
    this.#renewed = false;
    return run();
  }

  #signIn(agent: Agent): Promise<SignedIn> {
    this.#signing = new AbortController();
    return signIn(agent.authMethods, {
      ports: this.#scene.ports,
      asks: this.#asks,
      launch: this.#launch,
      signal: AbortSignal.any([this.#stop.signal, this.#signing.signal]),
      emit: this.#emit,
      authenticate: async (methodId, signal) =>
        this.#line?.connection.request(this.#dialect.authenticate, { methodId }, z.unknown(), signal),
    });
  }

  #prompt(turnId: TurnId, content: readonly Content[]): void {
    const agent = this.#agent;
    if (!agent || !this.#line || this.#sessionId === undefined) return;
    this.#updates.live();
    void this.#prompting.run(turnId, content, agent.accepts);
  }

  /** A request about the session, to whichever process stands now. */
  #request<T extends z.ZodMiniType>(method: string, params: object, answer: T, signal?: AbortSignal): Promise<z.output<T>> {
    if (!this.#line || this.#sessionId === undefined) throw new Error(t('The agent is gone.'));
    return this.#line.connection.request(method, { sessionId: this.#sessionId, ...params }, answer, signal);
  }

  #cancel(): void {
    this.#signing?.abort();
    // What the agent does unasked, or its record, is only left: there is nothing to stop.
    if (!this.#prompting.cancel() && this.#turns.current) this.#updates.live();
  }

  async #set(request: SettingRequest | undefined): Promise<void> {
    if (!request) return;
    try {
      const schema = z.nullish(this.#dialect.sessionAnswer);
      const answer = await limited((signal) => this.#request(request.method, request.params, schema, signal), this.#stop.signal);
      for (const event of this.#settings.answered(request, answer)) this.#emit(event);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#notice(t('The agent did not take the setting: {0}', faultOf(error).message), { passing: true });
    }
  }

  #handlers() {
    return requestHandlers({
      scene: this.#scene,
      asks: this.#asks,
      files: this.#files,
      terminals: this.#terminals,
      placing: this.#placing,
      updates: this.#updates,
      dialect: () => this.#dialect,
      emit: this.#emit,
      cwd: this.#launch.cwd,
      isOurs: (sessionId) => this.#sessionId === undefined || sessionId === this.#sessionId,
    });
  }

  #notified(method: string, params: unknown): void {
    if (method === 'session/update') this.#updates.take(params);
    else this.#scene.log.trace(`Left aside: the notification ${method}`);
  }

  #closed(line: Line, closed: Closed): void {
    if (this.#line !== line || this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#settleAll();
    this.#emit(closedEvent(closed, line, this.#scene.now()));
    this.#end();
  }

  #notice(text: string | undefined, about: Pick<Notice, 'turnId' | 'passing'> = {}): void {
    if (text !== undefined) this.#emit({ type: 'notice', notice: { level: 'warn', text, ...about } });
  }
}
