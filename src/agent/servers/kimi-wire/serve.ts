import type * as z from 'zod/mini';
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
import { Encoder, partsOf, wireErrorOf } from './codec.ts';
import { ExternalTools } from './externalTools.ts';
import { Hooks } from './hooks.ts';
import { LiveOutput } from './liveOutput.ts';
import { Outlet } from './outlet.ts';
import { type ClientCall, Peer, WireError } from './peer.ts';
import { Recording } from './recording.ts';
import type { Dialect } from './versions.ts';
import { WireFrontend } from './wireFrontend.ts';
import { Work } from './work.ts';

export interface WireOptions {
  readonly channel: Channel;
  readonly dialect: Dialect;
  /** Methods nobody knows get no answer, as with the oldest servers (wire.md §3). */
  readonly silent: boolean;
  /** The client knows `ToolOutput` (wire.md §5.1). */
  readonly liveOutput?: boolean;
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

/**
 * Serves one conversation over Wire. Lines of the client go to the server, its calls to the conversation; what that says goes through the frontend
 * and the outlet back to the client.
 */
export function serveWire({ channel, dialect, silent, liveOutput, model, workspace, store, ...more }: WireOptions): WireServer {
  const peer = new Peer(channel);
  const work = new Work();
  const recording = new Recording(store, dialect);
  const outlet = new Outlet(peer, recording, work, dialect);
  const hooks = new Hooks(outlet, { session_id: store.id, cwd: workspace.cwd });
  const printed = (id: string, text: string): void => peer.event('ToolOutput', { tool_call_id: id, text });
  const live = liveOutput ? new LiveOutput(printed) : undefined;
  const frontend = new WireFrontend(outlet, new Encoder(dialect), dialect, hooks, new ExternalTools(takenNames), live);
  const conversation = new Conversation({ frontend, model, workspace, store, ...more });
  const server = new WireServer({ peer, work, recording, frontend, conversation, dialect, silent });
  channel.onMessage((line) => server.receive(line));
  channel.onClosed(({ reason }) => peer.closed(reason));
  return server;
}

interface Parts {
  readonly peer: Peer;
  readonly work: Work;
  readonly recording: Recording;
  readonly frontend: WireFrontend;
  readonly conversation: Conversation;
  readonly dialect: Dialect;
  readonly silent: boolean;
}

/** The version that brought a method; undefined: it was always there. */
const METHODS: Readonly<Record<string, Feature | undefined>> = {
  initialize: 'initialize',
  prompt: undefined,
  cancel: undefined,
  replay: 'replay',
  steer: 'steer',
  set_plan_mode: 'planMode',
};

/** Answers the calls of the client (wire.md §4 and §5, seen from the other side). */
export class WireServer {
  readonly #peer: Peer;
  readonly #work: Work;
  readonly #recording: Recording;
  readonly #frontend: WireFrontend;
  readonly #conversation: Conversation;
  readonly #dialect: Dialect;
  readonly #silent: boolean;
  /** Lines that wait until the handshake has been answered. */
  #held: string[] | undefined;

  constructor({ peer, work, recording, frontend, conversation, dialect, silent }: Parts) {
    this.#peer = peer;
    this.#work = work;
    this.#recording = recording;
    this.#frontend = frontend;
    this.#conversation = conversation;
    this.#dialect = dialect;
    this.#silent = silent;
  }

  receive(line: string): void {
    if (this.#held) {
      this.#held.push(line);
      return;
    }
    const call = this.#peer.read(line);
    if (call) void this.#serve(call);
  }

  /** Ends what runs; settles when it is over. */
  async end(): Promise<void> {
    await this.#work.end();
    await this.#conversation.end();
    this.#recording.flush();
  }

  async #serve({ id, method, params }: ClientCall): Promise<void> {
    const since = METHODS[method];
    if (!Object.hasOwn(METHODS, method) || (since !== undefined && !this.#dialect.has(since))) {
      if (!this.#silent) this.#peer.fail(id, new WireError(codes.unknownMethod, `Unknown method: ${method.slice(0, 100)}`));
      return;
    }
    if (method === 'initialize') this.#held = [];
    try {
      this.#peer.answer(id, await this.#run(method, params));
    } catch (error) {
      this.#peer.fail(id, error);
    }
    if (method !== 'initialize') return;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.receive(line);
  }

  async #run(method: string, params: unknown): Promise<object> {
    switch (method) {
      case 'initialize':
        return this.#initialize(params);
      case 'prompt':
        return this.#prompt(params);
      case 'replay':
        return this.#replay();
      case 'steer':
        return this.#steer(params);
      case 'set_plan_mode':
        return this.#setPlanMode(params);
      default:
        return this.#cancel();
    }
  }

  #initialize(params: unknown): object {
    const offer = read(methods.initialize.params, params);
    this.#work.mustBeIdle();
    const has = (feature: Feature): boolean => this.#dialect.has(feature);
    const { offered, configured } = this.#frontend.shakeHands(offer);
    return {
      protocol_version: this.#dialect.name,
      server: { name: NAME, version: VERSION },
      slash_commands: this.#conversation.commands.all.map(({ name, description, aliases }) => ({ name, description, aliases })),
      ...(offered ? { external_tools: offered } : {}),
      ...(has('questions') ? { capabilities: { supports_question: true } } : {}),
      ...(has('hooks') ? { hooks: { supported_events: [...moments], configured } } : {}),
    };
  }

  async #prompt(params: unknown): Promise<object> {
    const { user_input } = read(methods.prompt.params, params);
    const parts = partsOf(user_input);
    this.#work.mustBeIdle();
    this.#frontend.expect(user_input);
    try {
      return await this.#during(
        () => void this.#conversation.cancel(),
        () => this.#conversation.prompt(parts),
      );
    } catch (error) {
      if (error instanceof Cancelled) return { status: 'cancelled' };
      throw wireErrorOf(error, this.#dialect);
    }
  }

  #cancel(): object {
    this.#work.mustRun();
    // Versions before 1.4 hang here, and so will clients that do not answer first.
    if (this.#peer.waiting > 0 && !this.#dialect.has('cancelsWaiting')) this.#peer.forget();
    else this.#work.cancel();
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
    this.#work.mustBeIdle();
    const stop = new AbortController();
    const count = await this.#during(
      () => stop.abort(),
      () => this.#recording.replay(this.#peer, stop.signal),
    );
    return { status: stop.signal.aborted ? 'cancelled' : 'finished', ...count };
  }

  /** Its messages are in the recording before anything else may begin. */
  #during<T>(stop: () => void, run: () => Promise<T>): Promise<T> {
    return this.#work.run(stop, () => run().finally(() => this.#recording.flush()));
  }
}

function read<S extends z.ZodMiniType>(schema: S, params: unknown): z.infer<S> {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new WireError(codes.badParams, `Bad params: ${problemsOf(parsed.error)}`);
  return parsed.data;
}
