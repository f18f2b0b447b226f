import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { t } from '../../base/l10n.ts';
import { Lifetime } from '../../base/lifetime.ts';
import { messageOf } from '../../base/log.ts';
import type { Ending } from '../../base/outcomes.ts';
import type { Notice, Remedy } from '../../session/model.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import { type Link, LinkError, type LinkEvents } from '../../transport/link.ts';
import { SseReader } from '../../transport/sse.ts';
import type { AdapterContext, Launch } from '../adapter.ts';
import type { OfferedTools } from '../offeredTools.ts';
import { realPathNow } from '../paths.ts';
import { fileOf } from './calls.ts';
import { isLoopback, type Peer, readCard, UnfitAgent } from './card.ts';
import { type CommandTree, commandTree, meaningOf, parseOrUndefined, toIncoming } from './codec.ts';
import { Credentials, PlainText } from './credentials.ts';
import { Rpc, RpcError, StatusError, type Way } from './http.ts';
import { isRecord, answer as rpcAnswer } from './schema.ts';
import { ExtensionFolder, harmlessTools, offerEditorTools, type Server, startServer, VARIABLE } from './server.ts';
import type { Agent, FileOfCall, Timing } from './state.ts';
import { openWebhook, type Webhook } from './webhook.ts';

/** How a stream is asked for: by JSON-RPC, or by a plain POST to the shipped server. */
export type StreamRequest =
  /** `push`: with the address for notifications. `isQuick`: the answer begins at once. */
  | { readonly method: string; readonly params: Readonly<Record<string, unknown>>; readonly push?: true; readonly isQuick?: true }
  | { readonly rest: string; readonly body: unknown };

/** How parley-agent is given the token that its requests need. */
const TOKEN_VARIABLE = 'PARLEY_AGENT_TOKEN';

/** An agent that is started here. */
interface Program {
  readonly tools?: OfferedTools | undefined;
  readonly starting?: Promise<Server>;
  readonly server?: Server;
  /** For one that asks for the token it was given. */
  readonly headers?: Readonly<Record<string, string>>;
}
/** An address that may be spoken to, and what was found there. */
interface Reached {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly rpc: Rpc;
  readonly credentials: Credentials;
  readonly peer?: Peer;
  readonly webhook?: Webhook;
  readonly folder?: ExtensionFolder;
}

/** What the conversation holds of the outside: the program, if it is started here, sockets, secrets, the server for notifications. */
export class Connection {
  readonly #launch: Launch;
  readonly #scene: AdapterContext;
  readonly #timing: Timing;
  readonly #life = new Lifetime();
  readonly #plainText: PlainText;
  readonly #files = new CallFiles();
  #events: LinkEvents | undefined;
  #program: Program = {};
  #reached: Reached | undefined;
  /** What is still told to the agent when everything else is closed. */
  #farewell: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(launch: Launch, scene: AdapterContext, timing: Timing) {
    this.#launch = launch;
    this.#scene = scene;
    this.#timing = timing;
    this.#plainText = new PlainText(scene);
  }

  /** True when the answer was to a question of ours: for a secret, or before anything goes unencrypted. */
  answer(...answer: Parameters<PlainText['answer']>): boolean {
    return this.#plainText.answer(...answer) || this.#reached?.credentials.answer(...answer) === true;
  }

  /** The link `agent`. */
  openAgent(events: LinkEvents): Link {
    this.#events = events;
    return {
      request: (method, params, signal) =>
        this.#request(method, params, signal).catch((error: unknown) => Promise.reject(this.#failure(error))),
      notify: (method, params) => this.#notify(method, params),
      answer: () => {},
      close: () => void this.#close(),
    };
  }

  /** A link `stream N`. */
  openStream(request: StreamRequest, events: LinkEvents): Link {
    const cut = new AbortController();
    const { signal } = cut;
    const way = (now: Way) => {
      if (typeof now === 'object') return events.message('held', now.waits);
      if (now === 'answered') return events.message('answered', null);
      // Nothing leaves before what runs now has ended: what it takes back is never sent.
      process.nextTick(() => {
        if (!signal.aborted) events.message('sent', null);
      });
    };
    const run = 'rest' in request ? this.#postStream(request, events, { signal, way }) : this.#rpcStream(request, events, { signal, way });
    run.then(
      () => events.closed({ reason: '' }),
      (error: unknown) => events.closed(endingOf(error)),
    );
    return {
      request: () => Promise.reject(new Error('A stream takes no requests.')),
      notify: () => {},
      answer: () => {},
      close: () => cut.abort(),
    };
  }

  async #rpcStream(
    request: Extract<StreamRequest, { method: string }>,
    events: LinkEvents,
    { signal, way }: { readonly signal: AbortSignal; readonly way: (way: Way) => void },
  ): Promise<void> {
    const { method, params, push, isQuick } = request;
    const take = (result: unknown) => {
      for (const file of this.#files.in(result)) events.message('file', file);
      events.message('record', result);
    };
    const opened = () => events.message('opened', null);
    const within = isQuick ? { within: this.#timing.answer } : {};
    // The first step of the driver is over before anything is told.
    await null;
    await this.#http.stream(method, push ? { ...this.#withPush(), ...params } : params, take, { signal, way, opened, ...within });
  }

  /** The shipped server's commands: badly framed streams, where every data line is a record, or one body. */
  async #postStream(
    request: Extract<StreamRequest, { rest: string }>,
    events: LinkEvents,
    { signal, way }: { readonly signal: AbortSignal; readonly way: (way: Way) => void },
  ): Promise<void> {
    await null;
    const answer = await this.#http.fetch('POST', `${this.#agent.origin}${request.rest}`, { body: request.body, signal, way });
    if (answer.type !== 'text/event-stream') return events.message('answer', parseOrUndefined(await answer.text(LONGEST_ANSWER)));
    events.message('opened', null);
    const reader = new SseReader(
      (event) => {
        const parsed = rpcAnswer.safeParse(parseOrUndefined(event.data));
        if (parsed.success && !parsed.data.error) events.message('record', parsed.data.result);
      },
      { eachLine: true },
    );
    await answer.read((chunk) => reader.push(chunk));
    reader.end();
  }

  get #agent(): Reached {
    if (!this.#reached) throw new Error('There is no agent yet.');
    return this.#reached;
  }
  get #http(): Rpc {
    return this.#agent.rpc;
  }

  async #request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const given = isRecord(params) ? params : {};
    switch (method) {
      case 'connect':
        return this.#connect();
      case 'fresh tasks/get':
        return this.#http.call('tasks/get', given, { over: 'fresh', signal });
      case 'POST /tasks':
      case 'POST /executeCommand': {
        const answer = await this.#http.fetch('POST', `${this.#agent.origin}${method.slice('POST '.length)}`, { body: params });
        return parseOrUndefined(await answer.text(LONGEST_ANSWER));
      }
      case 'changeVersion':
        return this.#changeVersion();
      case 'registerPush':
        return this.#registerPush(String(given.taskId));
      case 'editorTools':
        await this.#agent.folder?.turn(given.on === true);
        return given.on === true;
      case 'isConnectionHeld':
        // Until what had not been sent is let go of: its end is not the agent's.
        await nextTurn();
        return !this.#http.turnIsFree;
      case 'hangUpGently':
        return this.#http.hangUpGently();
      default:
        return this.#http.call(method, given, { signal });
    }
  }

  #notify(method: string, params: unknown): void {
    if (method === 'keepAlive') this.#reached?.rpc.keepAlive(`${this.#reached.origin}/.well-known/agent-card.json`);
    else if (method === 'hangUp') this.#reached?.rpc.hangUp();
    else if (method === 'freshen') this.#reached?.credentials.freshen();
    else if (method === 'forgetPush') this.#farewell = this.#forgetPush(String(isRecord(params) ? params.taskId : ''));
  }

  #failure(error: unknown): LinkError {
    const code = codeOf(error);
    const isSettings =
      error instanceof UnfitAgent || error instanceof StatusError || (error instanceof HttpFailure && error.kind === 'header');
    const next: readonly Remedy[] = isSettings ? ['restart', 'openSettings'] : ['restart', 'showLog'];
    const detail = this.#program.server?.tail();
    const data = { kind: kindOf(error), next, ...(detail ? { detail } : {}) };
    return new LinkError({ kind: code.code === undefined ? 'lost' : 'refused', message: messageOf(error), ...code, data });
  }

  // --- opening

  async #connect(): Promise<Agent> {
    const launch = this.#launch;
    const notices: Notice[] = [];
    const address = (launch.kind === 'http' ? launch.url : await this.#start(launch, notices)).replace(/\/$/, '');
    this.#mustBeOpen();
    if (!(await this.#plainText.mayUse(new URL(address)))) {
      throw new UnfitAgent(t('{0} was not spoken to: the connection is not encrypted.', address));
    }
    this.#mustBeOpen();
    const { origin } = new URL(address);
    const headers = launch.kind === 'http' ? launch.headers : (this.#program.headers ?? {});
    const credentials = new Credentials(this.#scene, origin, headers);
    const rpc = this.#life.own(new Rpc(this.#scene, credentials, this.#timing));
    this.#reached = { origin, rpc, credentials };
    const described = readCard(await fetchCard(rpc, address), address, this.#extensions);
    credentials.learn(described.schemes, described.security);
    rpc.target = described;
    const commands = await findCommands(rpc, described, origin).catch((error: unknown) => {
      if (error instanceof StatusError && error.status === 401) throw error;
      return undefined;
    });
    // The shipped server under another name is known by what it serves.
    const shipped = described.dialect === 'plain' && described.remarks.length === 0 && commands?.by === 'rest';
    const peer: Peer = shipped ? { ...described, dialect: 'gemini' } : described;
    this.#reached = { ...this.#reached, peer };
    if (peer.push && launch.options?.push !== 'off' && isLoopback(new URL(address))) await this.#openWebhook();
    const { tools } = this.#program;
    if (launch.kind === 'process' && tools && peer.dialect === 'gemini') {
      const folder = new ExtensionFolder(launch, tools);
      this.#reached = { ...this.#reached, folder };
      await folder.look().catch((error: unknown) => this.#scene.log.warn(`The folder for tools: ${messageOf(error)}`));
    }
    this.#mustBeOpen();
    this.#describe(peer, notices);
    const { folder, webhook } = this.#reached;
    return {
      peer,
      commands: commands ?? null,
      notices,
      push: webhook !== undefined,
      harmless: [...harmlessTools(this.#scene, tools)],
      folder: folder ? { path: folder.path, on: folder.on } : null,
    };
  }

  /** What the user should know of the agent, one notice each. */
  #describe(peer: Peer, notices: Notice[]): void {
    for (const text of peer.remarks) notices.push({ level: 'warn', text });
    if (peer.dialect === 'plain') {
      const text = t('{0} is a plain A2A agent: you can talk to it, but its tools, approvals and diffs are not shown.', peer.name);
      notices.push({ level: 'info', text });
    }
    const isNewer = Object.keys(peer.schemes).length > 0;
    if (this.#program.server?.hasGit === false && peer.dialect === 'gemini' && !isNewer) {
      notices.push({ level: 'warn', text: t('Git was not found: this agent needs it to change files, and its task fails without it.') });
    }
  }

  async #start(launch: Extract<Launch, { kind: 'process' }>, notices: Notice[]): Promise<string> {
    const tools = await offerEditorTools(this.#scene);
    if (tools) this.#life.own(tools);
    this.#mustBeOpen();
    // parley-agent asks for a token; what it is given here is not printed.
    const token = randomBytes(32).toString('base64url');
    const env = { ...(tools ? { [VARIABLE]: tools.address } : {}), [TOKEN_VARIABLE]: token, ...launch.env };
    const starting = startServer({ ...launch, env }, this.#scene.log, this.#scene.name);
    this.#program = { tools, starting };
    const server = await starting;
    this.#program = { tools, starting, server };
    void server.ended.then((closed) => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#life.dispose();
      const stderr = closed.stderr || server.tail();
      // The shipped server's own words for it.
      const isKeyless = /provide a GEMINI_API_KEY/.test(server.tail() + closed.stderr);
      const reason = isKeyless
        ? t('The agent ended: it needs GEMINI_API_KEY, or USE_CCPA for a Google login, in the "env" of its settings.')
        : closed.reason;
      const next: readonly Remedy[] = isKeyless ? ['openSettings', 'restart'] : ['restart', 'showLog'];
      this.#events?.closed({ reason, stderr, data: { next } });
    });
    const address = await server.address;
    if (server.tail().includes(TOKEN_VARIABLE)) {
      this.#program = { ...this.#program, headers: { authorization: `Bearer ${env[TOKEN_VARIABLE] ?? ''}` } };
    }
    if (!server.onLoopback) {
      notices.push({ level: 'warn', text: t('This agent may be reachable from the network: it could not be held to this machine.') });
    }
    return address;
  }

  get #extensions(): readonly string[] {
    return this.#launch.options?.extensions?.split(/[\s,]+/).filter(Boolean) ?? [];
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new Error('left');
  }

  /** Goes over to the other version of A2A, as the card says now or else by trying. */
  async #changeVersion(): Promise<Pick<Peer, 'wire' | 'endpoint'>> {
    const { peer, origin } = this.#agent;
    if (!peer) throw new Error('There is no agent yet.');
    const address = (this.#launch.kind === 'http' ? this.#launch.url : origin).replace(/\/$/, '');
    const now = await fetchCard(this.#http, address)
      .then((card) => readCard(card, address, this.#extensions))
      .catch(() => peer);
    const other = peer.wire === '1.0' ? ('0.3' as const) : ('1.0' as const);
    const { wire, endpoint } = now.wire === peer.wire ? { wire: other, endpoint: peer.endpoint } : now;
    const changed = { ...peer, wire, endpoint };
    this.#reached = { ...this.#agent, peer: changed };
    this.#http.target = changed;
    return { wire, endpoint };
  }

  // --- notifications

  async #openWebhook(): Promise<void> {
    try {
      const news = (body: unknown) => this.#events?.message('news', body);
      const webhook = this.#life.own(await openWebhook((taskId) => this.taskId() === taskId, news));
      this.#reached = { ...this.#agent, webhook };
    } catch (error) {
      this.#scene.log.info(`No place for notifications: ${messageOf(error)}`);
    }
  }

  /** The task of the conversation, for what judges notifications. */
  taskId: () => string | null = () => null;

  #withPush(): object {
    const { webhook, peer } = this.#agent;
    const config = webhook?.config(peer?.wire ?? '0.3');
    if (!config) return {};
    return { configuration: peer?.wire === '1.0' ? { taskPushNotificationConfig: config } : { pushNotificationConfig: config } };
  }

  async #registerPush(taskId: string): Promise<unknown> {
    const { webhook, peer } = this.#agent;
    const newer = peer?.wire === '1.0';
    const config = webhook?.config(newer ? '1.0' : '0.3') ?? {};
    return this.#http.call('tasks/pushNotificationConfig/set', newer ? { taskId, ...config } : { taskId, pushNotificationConfig: config });
  }

  /** Nobody listens there any more: the agent is told. Settles within a moment and never rejects. */
  async #forgetPush(taskId: string): Promise<void> {
    const { webhook, peer, rpc } = this.#reached ?? {};
    const id = webhook?.id;
    if (id === undefined || !rpc) return;
    const newer = peer?.wire === '1.0';
    await rpc.sendLast('tasks/pushNotificationConfig/delete', newer ? { taskId, id } : { id: taskId, pushNotificationConfigId: id });
  }

  // --- closing

  async #close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#life.dispose();
    this.#program.server?.dispose();
    // One that is still being started is ended as soon as it is there.
    const server = this.#program.server ?? (await this.#program.starting?.catch(() => undefined));
    server?.dispose();
    await server?.ended;
    await this.#farewell;
    this.#events?.closed({ reason: '' });
  }
}

const LONGEST_ANSWER = 8 * 1024 * 1024;
/** Bytes of a card. */
const LONGEST_CARD = 4 * 1024 * 1024;
const CARD_PLACES = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/** What the agent at that address says about itself. Rejects with UnfitAgent, or with what the connection rejects with. */
async function fetchCard(rpc: Rpc, base: string): Promise<unknown> {
  const direct = /\.json$/.test(base);
  let last: unknown;
  for (const url of direct ? [base] : CARD_PLACES.map((place) => `${base}${place}`)) {
    try {
      const answer = await rpc.fetch('GET', url, { on: 'turn', within: rpc.timing.card });
      const text = await answer.text(LONGEST_CARD, rpc.timing.card);
      const value = parseOrUndefined(text);
      if (value !== undefined) return value;
      if (Buffer.byteLength(text) >= LONGEST_CARD)
        throw new UnfitAgent(t('The card of the agent at {0} is longer than {1} bytes.', base, LONGEST_CARD));
      last = new UnfitAgent(t('There is no A2A agent at {0}: its card is not JSON.', base));
    } catch (error) {
      last =
        error instanceof StatusError && error.status === 404
          ? new UnfitAgent(t('There is no A2A agent at {0} (status {1}).', base, error.status))
          : error;
      if (!(last instanceof UnfitAgent) || last === error) throw last;
    }
  }
  throw last;
}

/** The agent's slash commands, however it offers them; undefined when it offers none. */
async function findCommands(rpc: Rpc, peer: Peer, origin: string): Promise<CommandTree | undefined> {
  if (peer.dialect === 'rfc') {
    try {
      return commandTree(await rpc.call('commands/get', {}), 'rpc');
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }
  const within = rpc.timing.answer;
  const answer = await rpc.fetch('GET', `${origin}/listCommands`, { within }).catch(() => undefined);
  return answer && commandTree(parseOrUndefined(await answer.text(LONGEST_ANSWER, within)), 'rest');
}

/** The files of calls of the shipped server, as they are when a call is first told: nobody has decided about it yet. */
class CallFiles {
  readonly #seen = new Set<string>();

  /** Of calls that are first told by this result. */
  in(result: unknown): readonly FileOfCall[] {
    if (!holdsCall(result)) return [];
    const record = toIncoming(result);
    return (record ? meaningOf(record) : []).flatMap((said) => {
      if (said.type !== 'call' || said.dialect !== 'gemini' || said.call.status === 'done' || this.#seen.has(said.call.id)) return [];
      const file = fileOf(said.call);
      if (file === undefined || !path.isAbsolute(file) || file.includes('\0')) return [];
      this.#seen.add(said.call.id);
      // The server says an empty text before for a file that is not there, too.
      return [{ call: said.call.id, isNew: !existsSync(file), real: realPathNow(file) }];
    });
  }
}

/** A quick look before a record is decoded for this: is there a call of the shipped server in it? */
function holdsCall(result: unknown): boolean {
  const status = isRecord(result) ? (isRecord(result.statusUpdate) ? result.statusUpdate.status : result.status) : undefined;
  const message = isRecord(status) ? status.message : undefined;
  const parts = isRecord(message) && Array.isArray(message.parts) ? (message.parts as readonly unknown[]) : [];
  return parts.some((part) => isRecord(part) && isRecord(part.data) && isRecord(part.data.request));
}

function kindOf(error: unknown): string {
  if (error instanceof RpcError) return 'rpc';
  if (error instanceof StatusError) return 'status';
  return error instanceof HttpFailure ? error.kind : 'lost';
}
function codeOf(error: unknown): { readonly code?: number } {
  return error instanceof RpcError ? { code: error.code } : error instanceof StatusError ? { code: error.status } : {};
}
function endingOf(error: unknown): Ending {
  return { reason: messageOf(error), failure: kindOf(error), ...codeOf(error) };
}
