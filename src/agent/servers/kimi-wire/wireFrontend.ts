import { randomUUID } from 'node:crypto';
import { answers, type InitializeParams, type UserInput } from '../../../protocols/kimi-wire/schema.ts';
import {
  type AgentEvent,
  type ApprovalAnswer,
  type ApprovalRequest,
  type Frontend,
  type Moment,
  type QuestionRequest,
  Settled,
} from '../../frontend.ts';
import type { ToolOffer } from '../../models/model.ts';
import type { Outcome } from '../../tools/tool.ts';
import { failed } from '../../tools/tool.ts';
import { blocksOf } from './blocks.ts';
import { type Encoder, invalidToolAnswer, outcomeOf, type WireMessage } from './codec.ts';
import type { ExternalTools, Offered } from './externalTools.ts';
import type { Hooks } from './hooks.ts';
import type { LiveOutput } from './liveOutput.ts';
import type { Outlet } from './outlet.ts';
import type { Dialect } from './versions.ts';

export interface HandshakeOutcome {
  readonly offered: Offered | undefined;
  /** How many hooks there are, by event. */
  readonly configured: Readonly<Record<string, number>>;
}

/** Wire, as the loop sees it. */
export class WireFrontend implements Frontend {
  asksQuestions = false;
  hasPlanMode = false;
  readonly #outlet: Outlet;
  readonly #encoder: Encoder;
  readonly #dialect: Dialect;
  readonly #hooks: Hooks;
  readonly #external: ExternalTools;
  readonly #live: LiveOutput | undefined;
  #hasShakenHands = false;
  /** Approvals that tasks in the background wait for: a client that shakes hands again is asked them again. */
  readonly #waiting = new Map<string, WireMessage>();
  /** The client's tools called in this step, by name and arguments. */
  readonly #called = new Map<string, Promise<Outcome>>();

  constructor(outlet: Outlet, encoder: Encoder, dialect: Dialect, hooks: Hooks, external: ExternalTools, live?: LiveOutput) {
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

  /** What the client offers and can show. Tools and hooks add to those there are; what it leaves out stays. */
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

  clientTools(): readonly ToolOffer[] {
    return this.#external.all;
  }

  hook(moment: Moment, target: string, data: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string | undefined> {
    return this.#hooks.tell(moment, target, data, signal);
  }

  emit(said: AgentEvent): void {
    if (said.type === 'call.output') return this.#live?.push(said.id, said.text);
    if (said.type === 'call.ended' || said.type === 'turn.ended') this.#live?.flush();
    if (said.type === 'step.began' || (said.type === 'sub' && said.said.type === 'step.began')) this.#called.clear();
    for (const message of this.#encoder.encode(said)) this.#outlet.event(message);
  }

  /** An error answer, a missing id or an unknown response counts as a rejection (wire.md §5.2). */
  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const id = randomUUID();
    const message = { type: 'ApprovalRequest', payload: this.#approval(id, request) };
    if (request.by?.taskId !== undefined) this.#waiting.set(id, message);
    let answer: ApprovalAnswer = { allow: false };
    // Kimi CLI from 1.6 on shows approvals only to a client that has shaken hands (wire.md §3).
    const isShown = this.#hasShakenHands || !this.#dialect.has('approvalSource');
    if (!isShown) process.stderr.write('parley-agent: an approval waits; it is only sent to a client that has sent "initialize"\n');
    try {
      answer = this.#read(await this.#outlet.request(message, id, signal, !isShown));
    } catch {
      if (signal.aborted && signal.reason instanceof Settled) answer = signal.reason.answer;
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
      return parsed.success && Object.keys(parsed.data.answers).length > 0 ? parsed.data.answers : undefined;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** The same call twice in one step is one request; its answer is the result of both (wire.md §5.2). */
  callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<Outcome> {
    const key = JSON.stringify([call.name, call.input]);
    const answer = this.#called.get(key) ?? this.#callClient(call, signal);
    this.#called.set(key, answer);
    return answer;
  }

  async #callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<Outcome> {
    const payload = { id: call.id, name: call.name, arguments: call.input };
    try {
      const result = await this.#outlet.request({ type: 'ToolCallRequest', payload }, call.id, signal);
      const parsed = answers.ToolCallRequest.safeParse(result);
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

  #read(result: unknown): ApprovalAnswer {
    const parsed = answers.ApprovalRequest.safeParse(result);
    if (!parsed.success) return { allow: false };
    const { response, feedback } = parsed.data;
    if (response !== 'reject') return { allow: true, forSession: response === 'approve_for_session' };
    const words = feedback?.trim() ?? '';
    return words === '' || !this.#dialect.has('feedback') ? { allow: false } : { allow: false, feedback: words };
  }

  #echo(id: string, answer: ApprovalAnswer): object {
    const response = !answer.allow ? 'reject' : answer.forSession ? 'approve_for_session' : 'approve';
    const feedback = answer.allow ? undefined : answer.feedback;
    return { request_id: id, response, ...(this.#dialect.has('feedback') ? { feedback: feedback ?? '' } : {}) };
  }
}
