import { randomUUID } from 'node:crypto';
import { answers } from '../../../protocols/kimi-wire/schema.ts';
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
import type { Hooks } from './hooks.ts';
import type { Dialect } from './versions.ts';

export interface Pipe {
  event(message: WireMessage): void;
  /** Rejects when the client fails it or the signal fires. */
  request(message: WireMessage, id: string, signal: AbortSignal): Promise<unknown>;
}

/** Wire, as the loop sees it. */
export class WireFrontend implements Frontend {
  asksQuestions = false;
  hasPlanMode = false;
  readonly #pipe: Pipe;
  readonly #encoder: Encoder;
  readonly #dialect: Dialect;
  readonly #tools: () => readonly ToolOffer[];
  readonly #hooks: Hooks;
  /** Approvals that tasks in the background wait for: a client that shakes hands again is asked them again. */
  readonly #waiting = new Map<string, WireMessage>();
  /** The client's tools called in this step, by name and arguments. */
  readonly #called = new Map<string, Promise<Outcome>>();

  constructor(pipe: Pipe, encoder: Encoder, dialect: Dialect, hooks: Hooks, tools: () => readonly ToolOffer[]) {
    this.#hooks = hooks;
    this.#pipe = pipe;
    this.#encoder = encoder;
    this.#dialect = dialect;
    this.#tools = tools;
  }

  get hasBackground(): boolean {
    return this.#dialect.has('approvalSource');
  }

  get hasAsides(): boolean {
    return this.#dialect.has('asides');
  }

  get stillAsked(): ReadonlyMap<string, WireMessage> {
    return this.#waiting;
  }

  clientTools(): readonly ToolOffer[] {
    return this.#tools();
  }

  hook(moment: Moment, target: string, data: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string | undefined> {
    return this.#hooks.tell(moment, target, data, signal);
  }

  emit(said: AgentEvent): void {
    if (said.type === 'step.began' || (said.type === 'sub' && said.said.type === 'step.began')) this.#called.clear();
    for (const message of this.#encoder.encode(said)) this.#pipe.event(message);
  }

  /** An error answer, a missing id or an unknown response counts as a rejection (wire.md §5.2). */
  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const id = randomUUID();
    const message = { type: 'ApprovalRequest', payload: this.#approval(id, request) };
    if (request.by?.taskId !== undefined) this.#waiting.set(id, message);
    let answer: ApprovalAnswer = { allow: false };
    try {
      answer = this.#read(await this.#pipe.request(message, id, signal));
    } catch {
      if (signal.aborted && signal.reason instanceof Settled) answer = signal.reason.answer;
    }
    this.#waiting.delete(id);
    this.#pipe.event({
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
      const result = await this.#pipe.request(
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
      const result = await this.#pipe.request({ type: 'ToolCallRequest', payload }, call.id, signal);
      const parsed = answers.ToolCallRequest.safeParse(result);
      return parsed.success ? outcomeOf(parsed.data) : invalidToolAnswer;
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
