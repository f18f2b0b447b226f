import { pathOfUri, uriOfPath } from '../../base/paths.ts';
import type { Intent } from '../../session/intents.ts';
import { type Channel, closedChannel, lateChannel } from '../../transport/channel.ts';
import { isLoopback, type LinkEvents } from '../../transport/link.ts';
import { rpcLink } from '../../transport/rpcLink.ts';
import type { Adapter, AdapterContext, Hint, HostOrder, Launch, Past, Protocol, RunningSession } from '../adapter.ts';
import { Driver } from '../driver.ts';
import { keyOfFile } from '../paths.ts';
import { runTool } from '../runTool.ts';
import { notEncrypted } from '../unencrypted.ts';
import { type AhpLimits, type AhpSetup, type AhpState, newAhp } from './clientState.ts';
import { activityIn, isRoot, ROOT } from './codec.ts';
import { ahpMachine, VERSIONS } from './machine.ts';
import { answers, type ListedSession, readAgents, readEnvelope } from './schema.ts';

/** The Agent Host Protocol 0.9 and 1.x: sessions of `parley serve`, of VS Code's own host, or of another one (ahp.md §9). */
export const ahp: Protocol = {
  title: 'Agent Host Protocol',
  launch: 'http',
  open(launch, context) {
    const place = hostLaunch(launch);
    return new AhpAdapter(place, context, { connect: () => connect(place, context.name), limits: LIMITS });
  },
  running: (launch, context) => running(connect(hostLaunch(launch)), context),
  order: (launch, wanted, context) => order(connect(hostLaunch(launch)), wanted, context),
};

function hostLaunch(launch: Launch): HostLaunch {
  if (launch.kind !== 'http') throw new Error('An agent host has an address');
  return launch;
}

function connect({ url, headers }: HostLaunch, name = url): Channel {
  const place = placeOf(new URL(url));
  // Loaded when the first host is reached: no other protocol needs it.
  if ('refusal' in place) return closedChannel({ failure: 'broken', reason: place.refusal, stderr: '' });
  return lateChannel(
    import('../../transport/webSocket.ts').then(({ connectLocalSocket, connectWebSocket }) =>
      'socket' in place ? connectLocalSocket(place.socket, headers) : connectWebSocket(place.url, headers, name),
    ),
  );
}

type HostLaunch = Extract<Launch, { kind: 'http' }>;

const LIMITS: AhpLimits = {
  silence: 30_000,
  contents: 5_000,
  reconnect: [300, 1_000, 3_000, 6_000, 10_000, 15_000],
  offerRestart: 10_000,
  restart: 30_000,
};
/** Pages of a list of sessions. */
const PAGES = 20;

interface AhpOptions {
  readonly connect: () => Channel;
  readonly limits: AhpLimits;
}

/** One session of an agent host, which goes on when this lets go of it. */
class AhpAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #launch: HostLaunch;
  readonly #driver: Driver<AhpState>;

  constructor(launch: HostLaunch, context: AdapterContext, { connect, limits }: AhpOptions) {
    this.#launch = launch;
    this.#driver = new Driver(ahpMachine, newAhp(`${context.newId()}.`, setupOf(launch, context, limits)), {
      now: context.now,
      emit: context.emit,
      log: context.log,
      links: { host: (_params, events) => rpcLink(connect(), events, { log: context.log, trace: context.trace }) },
      ports: {
        tool: ({ name, input }: { readonly name: string; readonly input: string }, signal) =>
          runTool(context.ports.tools, { name, input, signal, log: context.log }),
      },
    });
    this.ended = this.#driver.ended;
    context.signal.addEventListener('abort', () => this.dispose(), { once: true });
    this.#driver.feed({ on: 'start' });
  }

  send(intent: Intent): void {
    this.#driver.feed({ on: 'intent', intent });
  }

  async hints(text: string, cursor: number): Promise<readonly Hint[]> {
    const { session } = this.#driver.state;
    if (!session || text === '') return [];
    const params = { kind: 'userMessage', channel: session.uri, text, offset: cursor };
    const { items } = answers.completions.parse(await this.#driver.request('host', 'completions', params));
    return items.map(({ insertText, rangeStart = cursor, rangeEnd = cursor, attachment }) => {
      const description = attachment?._meta?.description;
      return {
        label: attachment?.label ?? insertText,
        value: text.slice(0, rangeStart) + insertText + text.slice(rangeEnd),
        ...(typeof description === 'string' ? { description } : {}),
      };
    });
  }

  /** The host's other sessions with this agent, in this folder. */
  async history(signal?: AbortSignal): Promise<readonly Past[]> {
    const { session, agent } = this.#driver.state;
    const found: Past[] = [];
    for (const one of await listed((params) => this.#driver.request('host', 'listSessions', params, signal))) {
      const { resource, provider, title, modifiedAt, workingDirectories } = one;
      const isHere = workingDirectories.some((folder) => keyOfFile(pathOfUri(folder)) === keyOfFile(this.#launch.cwd));
      if (resource === session?.uri || provider !== agent?.provider || !isHere) continue;
      const at = Date.parse(modifiedAt);
      found.push({ key: resource, title, ...(Number.isNaN(at) ? {} : { at }) });
    }
    return found;
  }

  dispose(): void {
    this.#driver.feed({ on: 'leave' });
  }
}

/** All sessions of the host, of every agent and folder, newest first. */
async function listed(ask: (params: object) => Promise<unknown>): Promise<readonly ListedSession[]> {
  const found: ListedSession[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { items, nextCursor } = answers.listSessions.parse(await ask({ channel: ROOT, ...(cursor === undefined ? {} : { cursor }) }));
    found.push(...items);
    if (nextCursor === undefined || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found;
}

/** Each window has an extension host, a process, of its own. */
const WINDOW = crypto.randomUUID();

function setupOf(launch: HostLaunch, { client, resume, past = [], ports, newId }: AdapterContext, limits: AhpLimits): AhpSetup {
  return {
    provider: launch.options?.agent ?? null,
    folder: uriOfPath(launch.cwd),
    resume: resume ? { key: resume.key, history: resume.history } : null,
    shown: resume && !resume.history ? past.map(({ id, cutOff, status }) => ({ id, whole: !cutOff && status !== 'running' })) : [],
    newId: newId(),
    clientId: newId(),
    client: { name: client.name, version: client.version },
    window: WINDOW,
    tools: ports.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    limits,
  };
}

/** The address of the host's WebSocket, or why it is not used. `unix:`, then a path in percent-encoding: a socket of this computer. */
function placeOf(url: URL): { readonly url: string } | { readonly socket: string } | { readonly refusal: string } {
  if (url.protocol === 'unix:') return { socket: decodeURIComponent(url.pathname) };
  if (/^(?:http|ws):$/.test(url.protocol) && !isLoopback(url)) return { refusal: notEncrypted(url.host) };
  return { url: url.href.replace(/^http/, 'ws') };
}

const NOBODY: LinkEvents = { message: () => {}, asked: () => {}, withdrawn: () => {}, junk: () => {}, closed: () => {} };

/** The sessions of a host, newest first; the connection is closed again. */
async function running(
  channel: Channel,
  { client, log, signal }: Pick<AdapterContext, 'client' | 'log' | 'signal'>,
): Promise<readonly RunningSession[]> {
  const link = rpcLink(channel, NOBODY, { log });
  const ask = (method: string, params: object) => link.request(method, { channel: ROOT, ...params }, signal);
  try {
    const hello = { protocolVersions: VERSIONS, clientId: crypto.randomUUID(), clientInfo: client, initialSubscriptions: [ROOT] };
    const { snapshots } = answers.initialize.parse(await ask('initialize', hello));
    const agents = readAgents(snapshots.find(({ resource }) => isRoot(resource))?.state);
    const found = await listed((params) => ask('listSessions', params));
    return found.map((one) => runningOf(one, agents));
  } finally {
    link.close();
  }
}

/** Resolves when the host has carried out the order. */
async function order(
  channel: Channel,
  wanted: HostOrder,
  { client, log, signal }: Pick<AdapterContext, 'client' | 'log' | 'signal'>,
): Promise<void> {
  let refusal: string | undefined;
  const message = (_method: string, params: unknown) => {
    refusal ??= readEnvelope(params)?.rejectionReason;
  };
  const link = rpcLink(channel, { ...NOBODY, message }, { log });
  const ask = (method: string, params: object) => link.request(method, { channel: ROOT, ...params }, signal);
  try {
    await ask('initialize', { protocolVersions: VERSIONS, clientId: crypto.randomUUID(), clientInfo: client });
    if (wanted.kind === 'delete') await ask('disposeSession', { channel: wanted.key });
    else if (wanted.kind === 'rename') {
      const action = { type: 'session/titleChanged', title: wanted.title };
      link.notify('dispatchAction', { channel: wanted.key, clientSeq: 1, action });
      // Handles messages in order.
      await ask('ping', {});
    } else {
      const env = Object.fromEntries(Object.entries(wanted.env).map(([name, value]) => [name, value ?? null]));
      await ask('parley/environment', { agent: wanted.agent, env });
    }
    if (refusal !== undefined) throw new Error(refusal);
  } finally {
    link.close();
  }
}

function runningOf(
  { resource, provider, title, status, modifiedAt, workingDirectories: [folder = ''] }: ListedSession,
  agents: ReturnType<typeof readAgents>,
): RunningSession {
  const at = Date.parse(modifiedAt);
  const agentName = agents.find((one) => one.provider === provider)?.displayName || provider;
  const state = activityIn(status);
  return { key: resource, title, agent: provider, agentName, cwd: pathOfUri(folder), state, ...(Number.isNaN(at) ? {} : { at }) };
}
