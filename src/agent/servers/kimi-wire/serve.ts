import * as z from 'zod/mini';
import type { Feature } from '../../../protocols/kimi-wire/codec.ts';
import { codes, methods } from '../../../protocols/kimi-wire/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { moments } from '../../frontend.ts';
import type { Model } from '../../models/model.ts';
import type { SessionStore } from '../../sessionStore.ts';
import { takenNames } from '../../toolbox.ts';
import { problemsOf } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { Encoder, partsOf, type WireMessage, wireErrorOf } from './codec.ts';
import { ExternalTools } from './externalTools.ts';
import { Hooks } from './hooks.ts';
import { type Method, Peer, WireError } from './peer.ts';
import { Recording, replayRecording } from './recording.ts';
import type { Dialect } from './versions.ts';
import { type Pipe, WireFrontend } from './wireFrontend.ts';

export interface WireOptions {
  readonly channel: Channel;
  readonly dialect: Dialect;
  /** Methods nobody knows get no answer. */
  readonly silent: boolean;
  readonly workspace: Workspace;
  readonly model: Model;
  readonly store: SessionStore;
  readonly skillsDirs: readonly string[];
  /** Nothing is asked for. */
  readonly allowAll: boolean;
  /** Begins in plan mode. */
  readonly plan: boolean;
  readonly maxSteps: number | undefined;
  readonly maxAttempts: number | undefined;
}

const initializeParams = z.extend(methods.initialize.params, { external_tools: z.nullish(z.array(z.unknown())) });

/** Serves one conversation over Wire (wire.md §4 and §5, seen from the other side). */
export class WireServer {
  readonly #dialect: Dialect;
  readonly #peer: Peer;
  readonly #frontend: WireFrontend;
  readonly #encoder: Encoder;
  readonly #conversation: Conversation;
  readonly #external = new ExternalTools(takenNames);
  readonly #hooks: Hooks;
  readonly #store: SessionStore;
  readonly #recording: Recording;
  /** The turn or the replay that runs, and what stops it. */
  #work: Work | undefined;

  constructor({ channel, dialect, silent, model, workspace, store, ...more }: WireOptions) {
    this.#dialect = dialect;
    this.#store = store;
    this.#recording = new Recording(store, dialect);
    this.#encoder = new Encoder(dialect);
    this.#peer = new Peer(channel, this.#methods(), silent);
    const pipe = this.#pipe();
    this.#hooks = new Hooks(pipe, { session_id: store.id, cwd: workspace.cwd });
    this.#frontend = new WireFrontend(pipe, this.#encoder, dialect, this.#hooks, () => this.#external.all);
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, store, ...more });
  }

  /** Ends what runs; settles when it is over. */
  async end(): Promise<void> {
    this.#work?.stop();
    await this.#work?.over.catch(() => {});
    await this.#conversation.end();
    this.#recording.flush();
  }

  #methods(): Readonly<Record<string, Method>> {
    const all: readonly (readonly [string, Feature | undefined, Method])[] = [
      ['initialize', 'initialize', { whole: true, run: (params) => this.#initialize(params) }],
      ['prompt', undefined, { run: (params) => this.#prompt(params) }],
      ['cancel', undefined, { run: async () => this.#cancel() }],
      ['replay', 'replay', { run: () => this.#replay() }],
      ['steer', 'steer', { run: async (params) => this.#steer(params) }],
      ['set_plan_mode', 'planMode', { run: async (params) => this.#setPlanMode(params) }],
    ];
    const known = all.filter(([, since]) => since === undefined || this.#dialect.has(since));
    return Object.fromEntries(known.map(([name, , method]) => [name, method]));
  }

  /** Everything that goes to the client during a turn is kept for a replay; approvals only where they always were (wire.md §11). */
  #pipe(): Pipe {
    const approvals = !this.#dialect.has('approvalSource');
    const keep = (message: WireMessage): void => {
      if (message.type === 'HookRequest' || (!approvals && message.type.startsWith('Approval'))) return;
      this.#recording.add(message);
    };
    return {
      event: (message) => {
        if (this.#work?.cancelled && this.#heldBack(message)) return;
        if (this.#work) keep(message);
        this.#peer.event(message.type, message.payload);
      },
      request: (message, id, signal) => {
        keep(message);
        return this.#peer.request(message.type, id, message.payload, signal);
      },
    };
  }

  /** What older versions say later, or not at all, once a turn is cancelled. */
  #heldBack(message: WireMessage): boolean {
    const { type, payload } = message;
    if (type === 'TurnEnd') return !this.#dialect.has('cancelledTurnEnd');
    if (type !== 'ApprovalResponse' || !this.#dialect.has('approvalSource') || this.#dialect.has('promptEcho')) return false;
    void this.#work?.over.catch(() => {}).then(() => setImmediate(() => this.#peer.event(type, payload)));
    return true;
  }

  async #initialize(params: unknown): Promise<object> {
    const { external_tools, capabilities, hooks } = read(initializeParams, params);
    this.#mustBeIdle();
    const has = (feature: Feature): boolean => this.#dialect.has(feature);
    const offered = external_tools && external_tools.length > 0 ? this.#external.offer(external_tools) : undefined;
    if (capabilities && has('questions')) {
      this.#frontend.asksQuestions = capabilities.supports_question === true;
      this.#frontend.hasPlanMode = capabilities.supports_plan_mode === true;
    }
    if (hooks && has('hooks')) this.#hooks.subscribe(hooks);
    for (const [id, { type, payload }] of this.#frontend.stillAsked) this.#peer.show(type, id, payload);
    return {
      protocol_version: this.#dialect.name,
      server: { name: NAME, version: VERSION },
      slash_commands: this.#conversation.commands.all.map(({ name, description, aliases }) => ({ name, description, aliases })),
      ...(offered ? { external_tools: offered } : {}),
      ...(has('questions') ? { capabilities: { supports_question: true } } : {}),
      ...(has('hooks') ? { hooks: { supported_events: [...moments], configured: this.#hooks.configured } } : {}),
    };
  }

  async #prompt(params: unknown): Promise<object> {
    const { user_input } = read(methods.prompt.params, params);
    const parts = partsOf(user_input);
    this.#mustBeIdle();
    this.#encoder.expect(user_input);
    const stop = (): void => void this.#conversation.cancel();
    try {
      return await this.#during(stop, () => this.#conversation.prompt(parts));
    } catch (error) {
      if (error instanceof Cancelled) return { status: 'cancelled' };
      throw wireErrorOf(error, this.#dialect);
    }
  }

  #cancel(): object {
    if (!this.#work) throw new WireError(codes.wrongState, 'No turn is in progress');
    // Versions before 1.4 hang here, and so will clients that do not answer first.
    if (this.#peer.waiting > 0 && !this.#dialect.has('cancelsWaiting')) {
      this.#peer.forget();
      return {};
    }
    this.#work.cancelled = true;
    this.#work.stop();
    return {};
  }

  #steer(params: unknown): object {
    const { user_input } = read(methods.steer.params, params);
    if (!this.#conversation.steer(partsOf(user_input))) throw new WireError(codes.wrongState, 'No turn is in progress');
    return { status: 'steered' };
  }

  #setPlanMode(params: unknown): object {
    const { enabled } = read(methods.set_plan_mode.params, params);
    this.#conversation.setPlanMode(enabled);
    return { status: 'ok', plan_mode: enabled };
  }

  async #replay(): Promise<object> {
    this.#mustBeIdle();
    const stop = new AbortController();
    const count = await this.#during(
      () => stop.abort(),
      () => replayRecording(this.#store, this.#peer, stop.signal),
    );
    return { status: stop.signal.aborted ? 'cancelled' : 'finished', ...count };
  }

  #mustBeIdle(): void {
    if (this.#work) throw new WireError(codes.wrongState, 'A turn is in progress');
  }

  /** Nothing else may begin until this is over; its messages are in the recording by then. It can be stopped from the first moment on. */
  async #during<T>(stop: () => void, run: () => Promise<T>): Promise<T> {
    const work: Work = { stop, over: Promise.resolve(), cancelled: false };
    this.#work = work;
    const running = run();
    work.over = running;
    try {
      return await running;
    } finally {
      this.#recording.flush();
      this.#work = undefined;
    }
  }
}

interface Work {
  readonly stop: () => void;
  over: Promise<unknown>;
  /** By the client. */
  cancelled: boolean;
}

function read<S extends z.ZodMiniType>(schema: S, params: unknown): z.infer<S> {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new WireError(codes.badParams, `Bad params: ${problemsOf(parsed.error)}`);
  return parsed.data;
}
