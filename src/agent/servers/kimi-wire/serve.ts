import { randomUUID } from 'node:crypto';
import type * as z from 'zod/mini';
import type { Feature } from '../../../protocols/kimi-wire/codec.ts';
import { answers, codes, type ExternalTool, type InitializeParams, methods, type UserInput } from '../../../protocols/kimi-wire/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { AgentConversation, Cancelled, type Preferences } from '../../conversation.ts';
import {
  type AgentEvent,
  AnsweredElsewhere,
  type ApprovalRequest,
  type Frontend,
  type HookName,
  hookNames,
  type PermissionAnswer,
  type QuestionRequest,
} from '../../frontend.ts';
import type { Model, ModelTool } from '../../models/model.ts';
import type { SessionStore } from '../../sessionStore.ts';
import { takenNames } from '../../toolbox.ts';
import { failed, problemOfSchema, problemsOf, type ToolOutcome } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { ActiveWork, type ClientCall, ClientChannel, Hooks, LiveOutput, WireOutput, WireRecorder } from './client.ts';
import {
  blocksOf,
  Encoder,
  invalidToolAnswer,
  outcomeOf,
  partsOf,
  type WireDialect,
  WireError,
  type WireMessage,
  wireErrorOf,
} from './codec.ts';

export interface WireOptions extends Preferences {
  readonly channel: Channel;
  readonly dialect: WireDialect;
  /** Leaves unknown methods unanswered, as the oldest servers do (wire.md §3). */
  readonly silent: boolean;
  /** The client knows `ToolOutput` (wire.md §5.1). */
  readonly liveOutput?: boolean;
  readonly workspace: Workspace;
  readonly model: Model;
  readonly store: SessionStore;
  /** Nothing is asked for. */
  readonly allowAll: boolean;
  /** Begins in plan mode. */
  readonly plan: boolean;
}

/**
 * Serves one conversation over Wire. Lines of the client go to the server, its calls to the conversation; what that says goes through the frontend
 * and the outlet back to the client.
 */
export function serveWire({ channel, dialect, silent, liveOutput, model, workspace, store, ...more }: WireOptions): WireServer {
  const peer = new ClientChannel(channel);
  const work = new ActiveWork();
  const recording = new WireRecorder(store, dialect);
  const outlet = new WireOutput(peer, recording, work, dialect);
  const hooks = new Hooks(outlet, { session_id: store.id, cwd: workspace.cwd });
  const printed = (id: string, text: string): void => peer.event('ToolOutput', { tool_call_id: id, text });
  const live = liveOutput ? new LiveOutput(printed) : undefined;
  const frontend = new WireFrontend(outlet, new Encoder(dialect), dialect, hooks, new ExternalTools(takenNames), live);
  const conversation = new AgentConversation({ frontend, model, workspace, store, ...more });
  const server = new WireServer({ peer, work, recording, frontend, conversation, dialect, silent });
  channel.onMessage((line) => server.receive(line));
  channel.onClosed(({ reason }) => peer.closed(reason));
  return server;
}

interface Parts {
  readonly peer: ClientChannel;
  readonly work: ActiveWork;
  readonly recording: WireRecorder;
  readonly frontend: WireFrontend;
  readonly conversation: AgentConversation;
  readonly dialect: WireDialect;
  readonly silent: boolean;
}

/** The version that introduced a method; undefined: all versions have it. */
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
  readonly #peer: ClientChannel;
  readonly #work: ActiveWork;
  readonly #recording: WireRecorder;
  readonly #frontend: WireFrontend;
  readonly #conversation: AgentConversation;
  readonly #dialect: WireDialect;
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

  /** Ends the running turn; settles once it has ended. */
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
    // A session that was taken up may be in plan mode.
    if (this.#conversation.planMode) this.#frontend.emit({ type: 'planMode', on: true });
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
      ...(has('hooks') ? { hooks: { supported_events: [...hookNames], configured } } : {}),
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
    const { planMode, ...count } = await this.#during(
      () => stop.abort(),
      () => this.#recording.replay(this.#peer, stop.signal),
    );
    // It may have been switched between turns, which are all that is recorded.
    const on = this.#conversation.planMode;
    if (planMode !== undefined && planMode !== on) this.#frontend.emit({ type: 'planMode', on });
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

interface HandshakeOutcome {
  readonly offered: Offered | undefined;
  /** How many hooks there are, by event. */
  readonly configured: Readonly<Record<string, number>>;
}

/** Wire, as the loop sees it. */
class WireFrontend implements Frontend {
  asksQuestions = false;
  hasPlanMode = false;
  readonly #outlet: WireOutput;
  readonly #encoder: Encoder;
  readonly #dialect: WireDialect;
  readonly #hooks: Hooks;
  readonly #external: ExternalTools;
  readonly #live: LiveOutput | undefined;
  #hasShakenHands = false;
  /** Approvals that tasks in the background wait for: a client that shakes hands again is asked them again. */
  readonly #waiting = new Map<string, WireMessage>();
  /** The client's tools called in this step, by name and arguments. */
  readonly #called = new Map<string, Promise<ToolOutcome>>();

  constructor(outlet: WireOutput, encoder: Encoder, dialect: WireDialect, hooks: Hooks, external: ExternalTools, live?: LiveOutput) {
    this.#outlet = outlet;
    this.#encoder = encoder;
    this.#dialect = dialect;
    this.#hooks = hooks;
    this.#external = external;
    this.#live = live;
  }

  get hasBackground(): boolean {
    return this.#dialect.has('approvalSource');
  }

  get hasAsides(): boolean {
    return this.#dialect.has('asides');
  }

  /** Applies the client's offers and capabilities. Tools and hooks add to existing ones; omitted members stay unchanged. */
  shakeHands({ external_tools, capabilities, hooks }: InitializeParams): HandshakeOutcome {
    const offered = external_tools && external_tools.length > 0 ? this.#external.offer(external_tools) : undefined;
    if (capabilities && this.#dialect.has('questions')) {
      this.asksQuestions = capabilities.supports_question === true;
      this.hasPlanMode = capabilities.supports_plan_mode === true;
    }
    if (hooks && this.#dialect.has('hooks')) this.#hooks.subscribe(hooks);
    this.#hasShakenHands = true;
    for (const [id, message] of this.#waiting) this.#outlet.show(message, id);
    return { offered, configured: this.#hooks.configured };
  }

  /** The input of the next turn, in the client's own words. */
  expect(input: UserInput): void {
    this.#encoder.expect(input);
  }

  clientTools(): readonly ModelTool[] {
    return this.#external.all;
  }

  hook(moment: HookName, target: string, data: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string | undefined> {
    return this.#hooks.trigger(moment, target, data, signal);
  }

  emit(said: AgentEvent): void {
    if (said.type === 'call.output') return this.#live?.push(said.id, said.text);
    if (said.type === 'call.ended' || said.type === 'turn.ended') this.#live?.flush();
    if (said.type === 'step.started' || (said.type === 'sub' && said.said.type === 'step.started')) this.#called.clear();
    for (const message of this.#encoder.encode(said)) this.#outlet.event(message);
  }

  /** An error answer, a missing id or an unknown response counts as a rejection (wire.md §5.2). */
  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const id = randomUUID();
    const message = { type: 'ApprovalRequest', payload: this.#approval(id, request) };
    if (request.by?.taskId !== undefined) this.#waiting.set(id, message);
    let answer: PermissionAnswer = { allow: false };
    // Kimi CLI from 1.6 on shows approvals only to a client that has shaken hands (wire.md §3).
    const isShown = this.#hasShakenHands || !this.#dialect.has('approvalSource');
    if (!isShown) log('an approval waits; it is only sent to a client that has sent "initialize"');
    try {
      answer = this.#read(id, await this.#outlet.request(message, id, signal, !isShown));
    } catch {
      if (signal.aborted && signal.reason instanceof AnsweredElsewhere) answer = signal.reason.answer;
    }
    this.#waiting.delete(id);
    this.#outlet.event({
      type: this.#dialect.has('approvalResponse') ? 'ApprovalResponse' : 'ApprovalRequestResolved',
      payload: this.#echo(id, answer),
    });
    signal.throwIfAborted();
    return answer;
  }

  async question(request: QuestionRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined> {
    const id = randomUUID();
    const questions = request.questions.map((one) => ({
      question: one.question,
      header: one.header ?? '',
      options: one.options.map((option) => ({ label: option.label, description: option.description ?? '' })),
      multi_select: one.many ?? false,
      ...(one.body === undefined ? {} : { body: one.body }),
    }));
    try {
      const result = await this.#outlet.request(
        { type: 'QuestionRequest', payload: { id, tool_call_id: request.callId, questions } },
        id,
        signal,
      );
      const parsed = answers.QuestionRequest.safeParse(result);
      if (!parsed.success) logMalformed(id, 'the question counts as dismissed', parsed.error);
      return parsed.success && Object.keys(parsed.data.answers).length > 0 ? parsed.data.answers : undefined;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** The same call twice in one step is one request; its answer is the result of both (wire.md §5.2). */
  callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<ToolOutcome> {
    const key = JSON.stringify([call.name, call.input]);
    const answer = this.#called.get(key) ?? this.#callClient(call, signal);
    this.#called.set(key, answer);
    return answer;
  }

  async #callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<ToolOutcome> {
    const payload = { id: call.id, name: call.name, arguments: call.input };
    try {
      const result = await this.#outlet.request({ type: 'ToolCallRequest', payload }, call.id, signal);
      const parsed = answers.ToolCallRequest.safeParse(result);
      if (!parsed.success) logMalformed(call.id, 'the call fails', parsed.error);
      return (parsed.success && outcomeOf(parsed.data)) || invalidToolAnswer;
    } catch (error) {
      signal.throwIfAborted();
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  #approval(id: string, request: ApprovalRequest): object {
    const { by } = request;
    return {
      id,
      tool_call_id: request.callId,
      sender: request.tool,
      action: request.action,
      description: request.description,
      display: blocksOf(request.shown, this.#dialect),
      ...(this.#dialect.has('approvalSource')
        ? {
            source_kind: by?.taskId === undefined ? 'foreground_turn' : 'background_agent',
            source_id: by?.taskId ?? null,
            agent_id: by?.agentId ?? null,
            subagent_type: by?.kind ?? null,
            source_description: by?.description ?? null,
          }
        : {}),
    };
  }

  #read(id: string, result: unknown): PermissionAnswer {
    const parsed = answers.ApprovalRequest.safeParse(result);
    if (!parsed.success) {
      logMalformed(id, 'the approval counts as rejected', parsed.error);
      return { allow: false };
    }
    const { response, feedback } = parsed.data;
    if (response !== 'reject') return { allow: true, forSession: response === 'approve_for_session' && 'action' };
    const words = feedback?.trim() ?? '';
    return words === '' || !this.#dialect.has('feedback') ? { allow: false } : { allow: false, feedback: words };
  }

  #echo(id: string, answer: PermissionAnswer): object {
    const response = !answer.allow ? 'reject' : answer.forSession ? 'approve_for_session' : 'approve';
    const feedback = answer.allow ? undefined : answer.feedback;
    return { request_id: id, response, ...(this.#dialect.has('feedback') ? { feedback: feedback ?? '' } : {}) };
  }
}

/** Like Kimi CLI, which has no error for a malformed answer: it goes to the log, and the echo of an approval has the decision it counted as. */
function logMalformed(id: string, effect: string, error: z.core.$ZodError): void {
  log(`the answer to request ${id} is malformed, ${effect}: ${problemsOf(error)}`);
}
function log(text: string): void {
  process.stderr.write(`parley-agent: ${text}\n`);
}

interface Offered {
  readonly accepted: string[];
  readonly rejected: { readonly name: string; readonly reason: string }[];
}

/** Tools that the client offers. Offering one again replaces it; refuses unusable ones with a reason and keeps the others. */
class ExternalTools {
  readonly #tools = new Map<string, ModelTool>();
  readonly #taken: ReadonlySet<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  get all(): readonly ModelTool[] {
    return [...this.#tools.values()];
  }

  offer(tools: readonly ExternalTool[]): Offered {
    const result: Offered = { accepted: [], rejected: [] };
    for (const { name, description, parameters } of tools) {
      const reason = this.#problem(name) ?? problemOfSchema(parameters);
      if (reason !== undefined) {
        result.rejected.push({ name, reason });
        continue;
      }
      this.#tools.set(name, { name, description, parameters });
      if (!result.accepted.includes(name)) result.accepted.push(name);
    }
    return result;
  }

  #problem(name: string): string | undefined {
    if (this.#taken.has(name)) return 'conflicts with builtin tool';
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return 'the name must be 1 to 64 of a-z, A-Z, 0-9, _ and -';
    return undefined;
  }
}
