import type { Intent } from '../../session/intents.ts';
import type { Channel } from '../../transport/channel.ts';
import { type ProcessSpec, processChannel } from '../../transport/process.ts';
import { versionOf, whereIs } from '../../transport/programs.ts';
import { rpcLink } from '../../transport/rpcLink.ts';
import type { Adapter, AdapterContext, Launch, Past, Protocol } from '../adapter.ts';
import { type Driver, drive } from '../driver.ts';
import { runTool } from '../runTool.ts';
import { textPath } from './codec.ts';
import { discover, probe } from './discover.ts';
import { pastSessions } from './history.ts';
import { programOf, startsWithoutAsking, wireLaunch } from './launch.ts';
import { type Limits, newWire, type WireState, wire } from './machine.ts';

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

type ProcessLaunch = Extract<Launch, { kind: 'process' }>;

export const LIMITS: Limits = {
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
  readonly limits: Limits;
}

/** One session with one Wire agent. It outlives the process: when that does not stop, or refuses a flag, another goes on with the same session. */
export class WireAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #launch: ProcessLaunch;
  readonly #driver: Driver<WireState>;

  constructor(launch: ProcessLaunch, context: AdapterContext, world: World) {
    const key = context.resume?.key ?? context.newId();
    this.#launch = launch;
    this.#driver = drive(wire, newWire(`${context.newId()}.`, setupOf(launch, context, key, world.limits)), {
      now: context.now,
      emit: context.emit,
      log: context.log,
      links: {
        agent: (params, events) => {
          const { sessionFlag } = params as { readonly sessionFlag: boolean };
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
        probe: ({ what }: { readonly what: 'legacy' | 'program' }) =>
          what === 'legacy' ? isLegacy(launch, context) : fileAndVersion(launch),
      },
    });
    this.ended = this.#driver.ended;
    context.signal.addEventListener('abort', () => this.dispose(), { once: true });
    this.#driver.feed({ on: 'start' });
  }

  send(intent: Intent): void {
    this.#driver.feed({ on: 'intent', intent });
  }

  /** This conversation itself is none of the earlier ones. */
  async history(): Promise<readonly Past[]> {
    const { agent, child } = this.#driver.state;
    const past = await pastSessions(this.#launch.cwd, { ...process.env, ...this.#launch.env }, agent?.server?.name);
    return past.filter(({ key }) => key !== child.key);
  }

  dispose(): void {
    this.#driver.feed({ on: 'leave' });
  }
}

function setupOf(launch: ProcessLaunch, context: AdapterContext, key: string, limits: Limits) {
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

/** Which program it was that was started; its version when it says so soon. */
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
