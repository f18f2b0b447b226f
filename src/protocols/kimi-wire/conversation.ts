import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import type { Offers, TurnId } from '../../session/model.ts';
import type { Channel } from '../../transport/channel.ts';
import { failureOf } from '../../transport/jsonrpc.ts';
import type { AdapterContext } from '../adapter.ts';
import { TextCoalescer } from '../textCoalescer.ts';
import { tasksNow } from './background.ts';
import { decodeEvent } from './codec.ts';
import { type Greeting, Handshake } from './handshake.ts';
import { type Memory, newSessionMemory, type TurnMemory } from './memory.ts';
import { OtherTurns } from './otherTurns.ts';
import { Overdue } from './overdue.ts';
import { doesNotStop, OwnTurns, type PromptIntent } from './ownTurns.ts';
import { Peer } from './peer.ts';
import { OpenRequests } from './requests.ts';
import { codes } from './schema.ts';
import { modeChoice } from './status.ts';
import { Steering } from './steering.ts';
import { atLeast } from './version.ts';

/** Milliseconds. */
export interface Limits {
  /** When to say that starting takes its time. */
  readonly notes: readonly number[];
  /** Without an answer to the handshake: when to ask what to do. */
  readonly silence: number;
  /** A cancel that is not obeyed: when to offer a restart, and when to do it. */
  readonly offerRestart: number;
  readonly restart: number;
  /** How long nothing may be heard of an earlier conversation that is being read. */
  readonly historySilence: number;
  /** How long a running turn may take to end when the session does. */
  readonly grace: number;
  /** A connection that breaks during the handshake: how long the process may take to end, and so to say why. */
  readonly closing: number;
}

export interface ConversationDeps {
  readonly scene: AdapterContext;
  readonly command: string;
  readonly cwd: string;
  readonly limits: Limits;
  /** The record of an earlier conversation is wanted. */
  readonly history: boolean;
  /** Its arguments turn approvals off. */
  readonly asksOff: boolean;
  readonly isLegacy: () => Promise<boolean>;
  readonly restart: () => void;
}

/** What is said and heard over one process: handshake, turns, steering, modes, history. */
export class Conversation {
  readonly #channel: Channel;
  readonly #deps: ConversationDeps;
  readonly #peer: Peer;
  readonly #handshake: Handshake;
  readonly #requests: OpenRequests;
  readonly #own: OwnTurns;
  readonly #others: OtherTurns;
  readonly #steering: Steering;
  readonly #memory = newSessionMemory();
  #seen: Memory = { session: this.#memory, depth: 0 };
  readonly #said: TextCoalescer;
  #greeting: Greeting | undefined;
  #replaying = false;
  readonly #replaySilence = new Overdue();
  readonly #stopping = new Overdue();
  #over = false;
  #letGo: () => void = () => {};

  constructor(channel: Channel, deps: ConversationDeps) {
    const { scene } = deps;
    const emit = (event: SessionEvent) => this.#emit(event);
    this.#channel = channel;
    this.#deps = deps;
    this.#said = new TextCoalescer((event) => {
      if (!this.#over) scene.emit(event);
    });
    this.#peer = new Peer(channel, {
      log: scene.log,
      trace: scene.trace,
      onEvent: (type, payload) => this.#onEvent(type, payload),
      onRequest: (type, payload) => this.#requests.take(type, payload),
      onPastRequest: (type, payload) => {
        this.#replaySilence.refresh();
        this.#others.pastRequest(type, payload);
      },
      replaying: () => this.#replaying,
    });
    this.#requests = new OpenRequests({
      emit,
      tools: () => this.#greeting?.tools ?? [],
      turn: () => this.#own.turn ?? this.#others.turn,
      feedback: () => this.#can(6),
      log: scene.log,
    });
    this.#others = new OtherTurns({
      emit,
      now: scene.now,
      cwd: deps.cwd,
      newId: scene.newId,
      ended: () => {
        if (!this.#replaying) this.#stopping.clear();
      },
    });
    this.#own = new OwnTurns({
      emit,
      now: scene.now,
      cwd: deps.cwd,
      peer: this.#peer,
      requests: this.#requests,
      limits: deps.limits,
      restart: deps.restart,
      began: () => this.#endOther(),
      ended: () => this.#steering.turnEnded(),
      newId: scene.newId,
    });
    this.#steering = new Steering({ peer: this.#peer, own: this.#own, emit, saysWhen: () => this.#can(5) });
    this.#handshake = new Handshake({
      peer: this.#peer,
      client: scene.client,
      tools: scene.ports.tools,
      emit,
      newId: scene.newId,
      log: scene.log,
      command: deps.command,
      limits: deps.limits,
      isLegacy: deps.isLegacy,
      restart: deps.restart,
    });
  }

  /** The name the server gave. */
  get server(): string | undefined {
    return this.#greeting?.server?.name;
  }

  /** Shakes hands and says `link.ready`. Does nothing more when the channel closes first. */
  async start(): Promise<void> {
    try {
      const greeting = await this.#handshake.run();
      if (this.#over) return;
      this.#greeting = greeting;
      this.#memory.planMode = this.#can(4) || greeting.commands.some((command) => command.name === 'plan');
      if (this.#deps.history) await this.#replay(greeting);
      if (!this.#over) this.#ready(greeting);
    } catch (error) {
      // A process that has just ended shows first as a write that fails; its exit code and its last words come with the end of the channel.
      if (!failureOf(error)) await this.#closing();
      if (this.#over) return;
      const message = failureOf(error)?.message ?? messageOf(error);
      this.#deps.scene.log.error(`The handshake failed: ${message}`, error);
      this.#emit({
        type: 'link.closed',
        reason: t('The handshake with {0} failed: {1}', this.#deps.command, message),
        next: ['restart', 'showLog', 'pickAgent'],
        at: this.#deps.scene.now(),
      });
    }
  }

  send(intent: Intent): void {
    if (this.#over) return;
    switch (intent.type) {
      case 'prompt':
        return this.#own.prompt(intent);
      case 'command':
        return this.#own.prompt(commandPrompt(intent.turnId, intent.path, intent.args));
      case 'steer':
        return void this.#steering.say({ turnId: intent.turnId, content: intent.content });
      case 'cancel':
        return this.#own.turn ? this.#own.cancel() : this.#cancelOther();
      case 'answer':
        if (this.#handshake.answer(intent.askId, intent.answer) || this.#own.answer(intent.askId, intent.answer)) return;
        this.#requests.answer(intent.askId, intent.answer);
        return;
      case 'setMode':
        return void this.#setMode(intent.modeId === 'plan');
      case 'unqueue':
      case 'setOption':
      case 'stopCall':
      case 'stopTerminal':
        return;
    }
  }

  /** The process is gone: everything that waited is let go of. */
  closed(): void {
    this.#said.flush();
    this.#over = true;
    this.#letGo();
    this.#clearTimers();
    this.#handshake.dispose();
    this.#own.dispose();
    this.#requests.dispose();
    this.#peer.dispose();
  }

  /** Ends it in order: a running turn is stopped first, then the input closes (wire.md §12). Nothing is said any more. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#letGo();
    this.#clearTimers();
    this.#handshake.dispose();
    void this.#own.stop(this.#deps.limits.grace).then(() => {
      this.#requests.dispose();
      this.#channel.dispose();
    });
  }

  /** Settles when the channel has closed, or is given up waiting for. */
  #closing(): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#deps.limits.closing);
      this.#letGo = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #ready(greeting: Greeting): void {
    const { server } = greeting;
    const offers: Offers = {
      images: true,
      ...(this.#can(4) ? { steer: true } : {}),
      ...(this.#can(6) ? { feedback: true } : {}),
      history: true,
      ...(greeting.legacy ? {} : { tools: greeting.offer }),
    };
    const agent = {
      protocol: 'kimi-wire',
      name: server?.name ?? this.#deps.command,
      ...(server?.version ? { version: server.version } : {}),
    };
    this.#emit({ type: 'link.ready', agent, offers });
    // What a replay told of is over: it ended with the process that did it.
    if (this.#memory.background.size > 0) {
      this.#memory.background.clear();
      this.#emit(tasksNow(this.#memory));
    }
    this.#emit({ type: 'commands.set', commands: greeting.commands });
    if (this.#memory.planMode) this.#emit({ type: 'mode.set', mode: modeChoice(this.#memory.inPlan) });
    if (this.#deps.asksOff) {
      const text = t('The agent was started so that it asks for nothing: it edits files and runs commands by itself.');
      this.#emit({ type: 'notice', notice: { level: 'warn', text } });
    }
    if (greeting.legacy && this.#deps.scene.ports.tools.length > 0) {
      const text = t('This version of the agent cannot use editor tools, and does not say which slash commands it has.');
      this.#emit({ type: 'notice', notice: { level: 'info', text } });
    }
  }

  async #replay(greeting: Greeting): Promise<void> {
    const missing = (): void => {
      const text = t('This agent cannot show the earlier conversation. It still remembers it.');
      this.#emit({ type: 'notice', notice: { level: 'info', text } });
    };
    if (greeting.legacy || !this.#can(3)) return missing();
    this.#emit({ type: 'link.opening', note: t('Reading the earlier conversation'), stops: true });
    this.#replaying = true;
    this.#replaySilence.after(this.#deps.limits.historySilence, () => this.#giveUpReplay());
    try {
      const { status } = await this.#peer.call('replay');
      if (status === 'cancelled') this.#readInPart();
    } catch (error) {
      if (!failureOf(error)) throw error;
      this.#deps.scene.log.warn(`Reading the earlier conversation failed: ${messageOf(error)}`);
      missing();
    } finally {
      this.#replaying = false;
      this.#clearTimers();
      this.#others.cutOff();
    }
  }

  /** What is still told afterwards would be taken for the present, so another process goes on with the session. */
  #giveUpReplay(): void {
    this.#others.cutOff();
    this.#readInPart();
    this.#deps.restart();
  }

  #readInPart(): void {
    const text = t('The earlier conversation was read only in part. The agent still remembers all of it.');
    this.#emit({ type: 'notice', notice: { level: 'warn', text } });
  }

  #clearTimers(): void {
    this.#replaySilence.clear();
    this.#stopping.clear();
  }

  #onEvent(type: string, payload: object): void {
    this.#replaySilence.refresh();
    if (type === 'TurnBegin' && !this.#own.turn && (this.#replaying || this.#greeting)) return this.#others.begin(payload);
    if (type === 'SteerInput') this.#steering.takenUp();
    const decoded = decodeEvent(type, payload, this.#memoryOf(this.#own.turn ?? this.#others.turn));
    if ('trouble' in decoded) {
      this.#deps.scene.log.trace(`Left out an event that is ${decoded.trouble}: ${decoded.why.slice(0, 200)}`);
      return;
    }
    for (const event of decoded.events) {
      if (event.type !== 'ask.closed' || this.#requests.settledElsewhere(event.askId)) this.#emit(event);
    }
    if (type !== 'TurnEnd' || this.#own.turn || !this.#others.turn) return;
    this.#others.ended();
    this.#requests.turnEnded();
  }

  /** One object a turn: it is needed for every piece of text. */
  #memoryOf(turn: TurnMemory | undefined): Memory {
    if (this.#seen.turn !== turn) this.#seen = { session: this.#memory, ...(turn ? { turn, lane: turn.main } : {}), depth: 0 };
    return this.#seen;
  }

  /** Ours begins while theirs runs: what theirs has asked is refused, so that nothing waits for ever. */
  #endOther(): void {
    if (!this.#others.turn) return;
    this.#requests.refuseAll();
    this.#requests.turnEnded();
    this.#others.cutOff();
  }

  /** Stops a replay, or a turn that the server began by itself. */
  #cancelOther(): void {
    const { turn } = this.#others;
    const { limits, restart } = this.#deps;
    if (this.#replaying) {
      this.#peer.call('cancel', {}).catch(() => {});
      if (this.#stopping.waits) return;
      this.#emit({ type: 'link.opening', note: t('Stopping…'), stops: true });
      return this.#stopping.after(limits.offerRestart, () => this.#giveUpReplay());
    }
    if (!turn) return;
    this.#requests.refuseAll();
    // After the answers have been written.
    setImmediate(() => {
      if (this.#others.turn !== turn) return;
      this.#peer.call('cancel', {}).catch((error: unknown) => {
        // Nothing runs: the turn ended without its end being told.
        if (failureOf(error)?.code === codes.wrongState) this.#stopOther(turn);
      });
    });
    if (this.#stopping.waits) return;
    this.#stopping.after(limits.offerRestart, () => {
      for (const event of doesNotStop(turn.turnId)) this.#emit(event);
    });
    this.#stopping.after(limits.restart, () => {
      this.#stopOther(turn);
      restart();
    });
  }

  #stopOther(turn: TurnMemory): void {
    if (this.#others.turn !== turn) return;
    this.#others.stopped();
    this.#requests.turnEnded();
  }

  async #setMode(plan: boolean): Promise<void> {
    if (!this.#memory.planMode) return;
    if (!this.#can(4) || this.#peer.lacks('set_plan_mode')) {
      if (!this.#own.turn) this.#own.prompt(commandPrompt(this.#deps.scene.newId(), ['plan'], plan ? 'on' : 'off'));
      return;
    }
    try {
      const result = await this.#peer.call('set_plan_mode', { enabled: plan });
      this.#emit({ type: 'mode.set', mode: modeChoice(result.plan_mode ?? plan) });
    } catch (error) {
      const failed = failureOf(error);
      if (!failed) return;
      this.#deps.scene.log.warn(`Switching the mode failed: ${failed.message}`);
      const isUnknown = failed.code === codes.unknownMethod || /not support|unsupported/i.test(failed.message);
      this.#memory.planMode = !isUnknown;
      if (isUnknown) this.#emit({ type: 'mode.set', mode: null });
      else this.#emit({ type: 'notice', notice: { level: 'warn', text: t('The mode was not switched: {0}', failed.message) } });
    }
  }

  #can(minor: number): boolean {
    return this.#greeting !== undefined && atLeast(this.#greeting.version, minor);
  }

  #emit(event: SessionEvent): void {
    this.#said.emit(event);
  }
}

function commandPrompt(turnId: TurnId, path: readonly string[], args: string): PromptIntent {
  return { turnId, content: [{ type: 'text', text: `/${[...path, args].filter(Boolean).join(' ')}` }] };
}
