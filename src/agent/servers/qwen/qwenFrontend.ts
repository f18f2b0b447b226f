import type { AgentEvent, ApprovalAnswer, ApprovalRequest, Frontend, QuestionRequest } from '../../frontend.ts';
import { Settled } from '../../frontend.ts';
import type { ToolOffer } from '../../models/model.ts';
import type { Outcome } from '../../tools/tool.ts';
import type { ClientTools } from './clientTools.ts';
import { type Control, record } from './control.ts';
import { approvalInput } from './toolWords.ts';

export interface QwenFrontendDeps {
  readonly control: Control;
  readonly tools: ClientTools;
  readonly say: (said: AgentEvent) => void;
  /** How the dialect asks about a tool. */
  readonly permission: (callId: string, name: string, input: object, reason: string) => object;
  /** What became of a permission that was asked for. */
  readonly decided?: (callId: string, allowed: boolean) => void;
  /** Milliseconds a user has. */
  readonly limit: () => number;
  /** Nobody is asked about this in the present mode. */
  readonly free: (action: string) => boolean;
}

/** What both dialects share: approvals, questions and the client's tools go over the control channel. */
export class QwenFrontend implements Frontend {
  readonly hasPlanMode = false;
  asksQuestions = false;
  readonly #deps: QwenFrontendDeps;

  constructor(deps: QwenFrontendDeps) {
    this.#deps = deps;
  }

  emit(said: AgentEvent): void {
    this.#deps.say(said);
  }

  clientTools(): readonly ToolOffer[] {
    return this.#deps.tools.offers;
  }

  /** Everything but a clear yes is a no. */
  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { name, input } = approvalInput(request);
    if (this.#deps.free(request.action)) return { allow: true, forSession: false };
    try {
      const asked = this.#deps.permission(request.callId, name, input, request.description);
      const { behavior, message } = record(await this.#deps.control.ask('can_use_tool', asked, { signal, limit: this.#deps.limit() }));
      const verb = String(behavior).toLowerCase();
      this.#deps.decided?.(request.callId, verb === 'allow' || verb === 'approve');
      if (verb === 'allow' || verb === 'approve') return { allow: true, forSession: false };
      return { allow: false, ...(typeof message === 'string' && message !== '' ? { feedback: message } : {}) };
    } catch (error) {
      if (signal.aborted && signal.reason instanceof Settled) return signal.reason.answer;
      signal.throwIfAborted();
      return { allow: false, feedback: error instanceof Error ? error.message : String(error) };
    }
  }

  async question(request: QuestionRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined> {
    const questions = request.questions.map((one) => ({
      question: one.question,
      header: one.header ?? '',
      multiSelect: one.many ?? false,
      options: one.options.map(({ label, description }) => ({ label, description: description ?? '' })),
    }));
    const asked = this.#deps.permission(request.callId, 'ask_user_question', { questions }, 'A question');
    try {
      const { behavior, updatedInput } = record(await this.#deps.control.ask('can_use_tool', asked, { signal, limit: this.#deps.limit() }));
      if (String(behavior).toLowerCase() !== 'allow') return undefined;
      const given = Object.entries(record(record(updatedInput).answers));
      const answers = given.flatMap(([key, value]) => {
        const question = request.questions[Number(key)]?.question ?? key;
        return typeof value === 'string' ? [[question, value] as const] : [];
      });
      return answers.length === 0 ? undefined : Object.fromEntries(answers);
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  callClient(call: { readonly id: string; readonly name: string; readonly input: string }, signal: AbortSignal): Promise<Outcome> {
    return this.#deps.tools.call(call.name, call.input, signal);
  }

  async hook(): Promise<undefined> {
    return undefined;
  }
}
