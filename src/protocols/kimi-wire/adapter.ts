import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import type { Channel, Closed } from '../../transport/channel.ts';
import type { ProcessSpec } from '../../transport/process.ts';
import { versionOf, whereIs } from '../../transport/programs.ts';
import type { Adapter, AdapterContext, Past } from '../adapter.ts';
import { startsWithoutAsking } from './asksOff.ts';
import { Conversation, type Limits } from './conversation.ts';
import { pastSessions } from './history.ts';
import { isKimiCode, type ProcessLaunch, programOf, refusedSessionFlag, whyClosed, wireLaunch } from './launch.ts';
import { probe } from './probe.ts';

export const LIMITS: Limits = {
  notes: [3_000, 10_000, 30_000],
  silence: 60_000,
  offerRestart: 10_000,
  restart: 30_000,
  historySilence: 60_000,
  grace: 2_000,
  closing: 5_000,
};

export interface World {
  readonly open: (spec: ProcessSpec) => Channel;
  readonly limits: Limits;
}

/** One session with one Wire agent. It outlives the process: when that does not stop, or refuses a flag, another one goes on with the same session. */
export class WireAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #launch: ProcessLaunch;
  readonly #scene: AdapterContext;
  readonly #world: World;
  readonly #key: string;
  #conversation: Conversation | undefined;
  #openKey: string | undefined;
  #next: (() => void) | undefined;
  #over = false;
  #gone: () => void = () => {};

  constructor(launch: ProcessLaunch, scene: AdapterContext, world: World) {
    this.#launch = launch;
    this.#scene = scene;
    this.#world = world;
    this.#key = scene.resume?.key ?? scene.newId();
    this.ended = new Promise((resolve) => {
      this.#gone = resolve;
    });
    scene.signal.addEventListener('abort', () => this.dispose(), { once: true });
    this.#open({ history: scene.resume?.history ?? false, sessionFlag: true });
  }

  send(intent: Intent): void {
    this.#conversation?.send(intent);
  }

  /** This conversation itself is none of the earlier ones. */
  async history(): Promise<readonly Past[]> {
    const past = await pastSessions(this.#launch.cwd, { ...process.env, ...this.#launch.env }, this.#conversation?.server);
    return past.filter(({ key }) => key !== this.#openKey);
  }

  dispose(): void {
    if (this.#over) return;
    this.#over = true;
    this.#next = undefined;
    this.#conversation?.end();
  }

  #open(how: { readonly history: boolean; readonly sessionFlag: boolean }): void {
    const { spec, key } = wireLaunch(this.#launch, this.#key, how.sessionFlag);
    const channel = this.#world.open(spec);
    const conversation = new Conversation(channel, {
      scene: { ...this.#scene, emit: (event) => this.#emit(event) },
      command: spec.command,
      cwd: spec.cwd,
      limits: this.#world.limits,
      history: how.history,
      asksOff: startsWithoutAsking(programOf(spec.command), spec.args),
      isLegacy: () => this.#isLegacy(spec),
      restart: () => this.#restart(conversation),
    });
    this.#conversation = conversation;
    channel.onClosed((closed) => {
      conversation.closed();
      if (how.sessionFlag && !this.#over && refusedSessionFlag(closed)) this.#next = () => this.#open({ ...how, sessionFlag: false });
      this.#closed(closed, spec);
    });
    this.#openKey = key;
    if (key !== undefined) this.#emit({ type: 'resume.set', key });
    void conversation.start();
  }

  /** The process ends, another one goes on with the same session. */
  #restart(conversation: Conversation): void {
    if (this.#over || this.#conversation !== conversation) return;
    this.#emit({ type: 'link.opening', note: t('Restarting the agent, which did not stop') });
    this.#emit({ type: 'background.set', tasks: [] });
    this.#next = () => this.#open({ history: false, sessionFlag: true });
    conversation.end();
  }

  #closed(closed: Closed, spec: ProcessSpec): void {
    this.#conversation = undefined;
    const next = this.#next;
    this.#next = undefined;
    if (next && !this.#over) return next();
    void this.#tellEnd(closed, spec);
  }

  async #tellEnd(closed: Closed, spec: ProcessSpec): Promise<void> {
    const { command } = spec;
    const program = isKimiCode(closed) && !this.#over ? { command, ...(await fileAndVersion(spec)) } : { command };
    this.#emit({ type: 'link.closed', ...whyClosed(closed, program), at: this.#scene.now() });
    this.#over = true;
    this.#gone();
  }

  /** Only programs that are known to have `info` are asked. */
  async #isLegacy(spec: ProcessSpec): Promise<boolean> {
    if (!/^kimi(-cli|-legacy)?$/.test(programOf(spec.command))) return false;
    const found = await probe(spec.command, { env: spec.env, cwd: spec.cwd, signal: this.#scene.signal });
    return found.kind === 'wire' && found.version.major === 1 && found.version.minor === 0;
  }

  #emit(event: SessionEvent): void {
    if (!this.#over) this.#scene.emit(event);
  }
}

/** Which program it was that was started; its version when it says so soon. */
async function fileAndVersion({ command, env }: ProcessSpec) {
  const searched = env.PATH ?? process.env.PATH ?? '';
  const file = await whereIs(command, searched);
  if (file === undefined) return {};
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), 3_000);
  });
  const version = await Promise.race([versionOf(file, searched), late]);
  clearTimeout(timer);
  return { file, version };
}
