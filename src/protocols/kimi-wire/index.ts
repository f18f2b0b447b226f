import { silentLog } from '../../base/log.ts';
import type { Intent } from '../../session/intents.ts';
import type { Channel } from '../../transport/channel.ts';
import { type ProcessSpec, processChannel } from '../../transport/process.ts';
import { versionOf, whereIs } from '../../transport/programs.ts';
import { rpcLink } from '../../transport/rpcLink.ts';
import type { Adapter, AdapterContext, AgentSearch, InstalledAgent, Past, ProcessLaunch, Protocol } from '../adapter.ts';
import { Driver } from '../driver.ts';
import { runTool } from '../runTool.ts';
import { readInfo, textPath, type WireVersion } from './codec.ts';
import type { Probe, Start } from './connection.ts';
import { programOf, startsWithoutAsking, wireLaunch } from './launch.ts';
import { wire } from './machine.ts';
import { pastSessions } from './pastSessions.ts';
import { newWire, type WireLimits, type WireState } from './state.ts';

/** Wire 1.0 to 1.10: Kimi CLI, Kimi Agent, and the bundled parley-agent (wire.md). */
export const kimiWire: Protocol = {
  title: 'Kimi Wire',
  launch: 'process',
  discover,
  open(launch, context) {
    if (launch.kind !== 'process') throw new Error('Kimi Wire is spoken with a process');
    // A message about its process calls it as the user does.
    const called = context.name ? { name: context.name } : {};
    return new WireAdapter(launch, context, {
      open: (spec) => processChannel({ ...spec, ...called }, { log: context.log }),
      limits: LIMITS,
    });
  },
};

export const LIMITS: WireLimits = {
  notes: [3_000, 10_000, 30_000],
  silence: 60_000,
  offerRestart: 10_000,
  restart: 30_000,
  historySilence: 60_000,
  grace: 2_000,
  closing: 5_000,
};

interface World {
  readonly open: (spec: ProcessSpec) => Channel;
  readonly limits: WireLimits;
}

/** One session with one Wire agent. It outlives the process: when that does not stop, or refuses a flag, another goes on with the same session. */
export class WireAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #launch: ProcessLaunch;
  readonly #driver: Driver<WireState>;

  constructor(launch: ProcessLaunch, context: AdapterContext, world: World) {
    const key = context.resume?.key ?? context.newId();
    this.#launch = launch;
    this.#driver = new Driver(wire, newWire(`${context.newId()}.`, setupOf(launch, context, key, world.limits)), {
      now: context.now,
      emit: context.emit,
      log: context.log,
      links: {
        agent: (params, events) => {
          const { sessionFlag } = params as Start;
          return rpcLink(world.open(wireLaunch(launch, key, sessionFlag).spec), events, {
            log: context.log,
            trace: context.trace,
            // A number would be refused, and without an id to match (wire.md §2).
            wireId: (number) => `p${number}`,
            textPath,
            showsWork: (method, params) => method === 'event' && (params as { readonly type?: unknown } | undefined)?.type === 'TurnBegin',
          });
        },
      },
      ports: {
        tool: (args: ToolArgs, signal) => runOurTool(args, context, signal),
        probe: ({ what }: Probe) => (what === 'legacy' ? isLegacy(launch, context) : fileAndVersion(launch)),
      },
    });
    this.ended = this.#driver.ended;
    context.signal.addEventListener('abort', () => this.dispose(), { once: true });
    this.#driver.feed({ on: 'start' });
  }

  send(intent: Intent): void {
    this.#driver.feed({ on: 'intent', intent });
  }

  /** The earlier conversations, without this one. */
  async history(): Promise<readonly Past[]> {
    const { agent, child } = this.#driver.state;
    const past = await pastSessions(this.#launch.cwd, { ...process.env, ...this.#launch.env }, agent?.server?.name);
    return past.filter(({ key }) => key !== child.key);
  }

  dispose(): void {
    this.#driver.feed({ on: 'leave' });
  }
}

function setupOf(launch: ProcessLaunch, context: AdapterContext, key: string, limits: WireLimits) {
  return {
    command: launch.command,
    args: launch.args,
    cwd: launch.cwd,
    key,
    history: context.resume?.history ?? false,
    client: { ...context.client },
    tools: context.ports.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    limits,
    asksOff: startsWithoutAsking(programOf(launch.command), launch.args),
  };
}

/** `names`: our tools by the names the agent knows them by. */
interface ToolArgs {
  readonly name: string;
  readonly input: string;
  readonly names: Readonly<Record<string, string>>;
}
function runOurTool({ name, input, names }: ToolArgs, { ports, log }: AdapterContext, signal: AbortSignal) {
  const tools = Object.entries(names).flatMap(([key, ours]) =>
    ports.tools.filter((tool) => tool.name === ours).map((tool) => ({ ...tool, name: key.slice(1) })),
  );
  return runTool(tools, { name, input, signal, log });
}

/** Only programs that are known to have `info` are asked. */
async function isLegacy({ command, env, cwd }: ProcessLaunch, { signal }: AdapterContext): Promise<boolean> {
  if (!/^kimi(-cli|-legacy)?$/.test(programOf(command))) return false;
  const found = await probe(command, { env, cwd, signal });
  return found.kind === 'wire' && found.version.major === 1 && found.version.minor === 0;
}

/** Identifies the program that was started, with its version if it answers in time. */
async function fileAndVersion({ command, env }: ProcessLaunch): Promise<{ readonly file?: string; readonly version?: string }> {
  const searched = env.PATH ?? process.env.PATH ?? '';
  const file = await whereIs(command, searched);
  if (file === undefined) return {};
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), 3_000);
  });
  const version = await Promise.race([versionOf(file, searched), late]);
  clearTimeout(timer);
  return { file, ...(version === undefined ? {} : { version }) };
}

/** Names under which programs that may speak Wire are installed (wire.md §1). One of them is shared with a program that does not. */
const CANDIDATES = ['kimi', 'kimi-cli', 'kimi-legacy', 'kimi-agent'];

/**
 * Asks each candidate on the PATH, and those among the user's own commands, what it is. A program that speaks another protocol is given with
 * that one. Rejects never.
 */
export async function discover({ cwd, path, commands }: AgentSearch, signal: AbortSignal): Promise<readonly InstalledAgent[]> {
  const mine = commands.filter((command) => CANDIDATES.includes(programOf(command)));
  const asked = await Promise.all(
    [...new Set([...CANDIDATES, ...mine])].map(async (command): Promise<InstalledAgent | undefined> => {
      if ((await whereIs(command, path)) === undefined) return undefined;
      const probed = await probe(command, { cwd, signal, env: { PATH: path } });
      switch (probed.kind) {
        case 'wire':
          return { protocol: 'kimi-wire', command, args: [], name: 'Kimi CLI', ...(probed.program ? { version: probed.program } : {}) };
        case 'kimiCode':
          return { protocol: 'acp', command, args: ['acp'], name: 'Kimi Code' };
        case 'silent':
          return { protocol: 'kimi-wire', command, args: [], name: command };
        case 'missing':
          return undefined;
      }
    }),
  );
  return asked.filter((found) => found !== undefined);
}

type Probed =
  | { readonly kind: 'wire'; readonly version: WireVersion; readonly program?: string }
  /** The program of the same name that speaks ACP instead. */
  | { readonly kind: 'kimiCode' }
  | { readonly kind: 'missing' }
  /** It runs, but does not say what it is: versions before `info`. */
  | { readonly kind: 'silent'; readonly why: string };

interface ProbeOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  /** Milliseconds. */
  readonly limit?: number;
}

/** Asks a program what it is by `info --json`, which changes nothing (wire.md §1). Never rejects; the process is gone when it settles. */
export function probe(command: string, options: ProbeOptions): Promise<Probed> {
  const spec = { command, args: ['info', '--json'], env: options.env ?? {}, cwd: options.cwd };
  const channel = processChannel(spec, { log: silentLog, patience: { end: 0, term: 500 }, limit: 1024 * 1024 });
  return new Promise((resolve) => {
    let said = '';
    const stop = () => channel.dispose();
    const timer = setTimeout(stop, options.limit ?? 10_000);
    options.signal?.addEventListener('abort', stop, { once: true });
    channel.onMessage((line) => {
      said += said.length < 64 * 1024 ? `${line}\n` : '';
    });
    channel.onClosed((closed) => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', stop);
      if (closed.failure === 'missing' || closed.failure === 'forbidden') return resolve({ kind: 'missing' });
      if (/unknown option '?--json/i.test(closed.stderr)) return resolve({ kind: 'kimiCode' });
      const told = closed.code === 0 ? readInfo(said) : undefined;
      resolve(told ? { kind: 'wire', ...told } : { kind: 'silent', why: closed.stderr.trim().slice(-500) || closed.reason });
    });
  });
}
