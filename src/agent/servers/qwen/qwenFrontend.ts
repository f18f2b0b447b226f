import { messageOf } from '../../../base/log.ts';
import { CLIENT_WORDS, type Line, readDecision, recordOf } from '../../../protocols/qwen/codec.ts';
import type { Preferences } from '../../conversation.ts';
import {
  type AgentEvent,
  AnsweredElsewhere,
  type ApprovalRequest,
  type Frontend,
  type HookName,
  type PermissionAnswer,
  type QuestionRequest,
} from '../../frontend.ts';
import type { Model, ModelTool, Sampling } from '../../models/model.ts';
import type { SessionStore } from '../../sessionStore.ts';
import { type ToolOutcome, toldFailure } from '../../tools/tool.ts';
import type { Workspace } from '../../workspace/paths.ts';
import type { QwenClient } from './client.ts';
import { inputOf, nameOf, type Proposal, proposalOf } from './toolWords.ts';

/** One conversation, in either dialect. */
export interface QwenServer {
  take(line: Line): void;
  /** Something the program writes beside the conversation. */
  log(level: string, text: string): void;
  /** Settles when the running turn is over. */
  end(): Promise<void>;
}
export interface QwenServerOptions {
  readonly write: (line: Line) => void;
  readonly exit: (code: number) => void;
  readonly session: string;
  readonly mode: Mode;
  readonly partials: boolean;
  readonly inputFormat: 'stream-json' | 'stream-chunk-json';
  readonly format: 'stream-json' | 'stream-chunk-json';
  readonly model: Model;
  /** Another model of the same service, or other sampling; undefined where there is nothing to choose. */
  readonly modelFor: (name: string | undefined, sampling: Sampling | undefined) => Model | undefined;
  readonly workspace: Workspace;
  readonly preferences?: Preferences;
  readonly store: SessionStore;
  /** Where another conversation of this folder is kept. */
  readonly storeOf: (session: string) => SessionStore;
}

export const MODES = ['plan', 'default', 'auto-edit', 'yolo'] as const;
export type Mode = (typeof MODES)[number];

/** How approvals go at the moment. */
export interface Policy {
  mode: Mode;
  /** Milliseconds a user has. */
  limit: number;
}
/** Milliseconds for the answer of a hook. */
const HOOK_LIMIT = 30_000;
/** Moments before something happens: a hook that fails or does not answer stops it. */
const GATES: readonly HookName[] = ['PreToolUse', 'UserPromptSubmit'];
/** A permission that is asked for. */
export interface Permission extends Proposal {
  readonly callId: string;
  readonly reason: string;
}
/** The output of one dialect. */
export interface DialectLines {
  emit(said: AgentEvent): void;
  /** Shows that a call waits, where the dialect shows it; gives the members of the request. */
  permission(asked: Permission): object;
  /** A permission was given or not. */
  decided(callId: string, allowed: boolean): void;
}

/** The frontend of both dialects: approvals, plans, questions and the client's tools go over the control channel. */
export class QwenFrontend implements Frontend {
  readonly tellsCuts: boolean;
  readonly hasPlanMode = true;
  readonly approvesPlans = true;
  asksQuestions = false;
  /** The moments that the client wants to hear of. */
  hooks: readonly HookName[] = [];
  readonly #client: QwenClient;
  readonly #lines: DialectLines;
  readonly #policy: Policy;

  constructor(client: QwenClient, lines: DialectLines, policy: Policy) {
    this.#client = client;
    this.#lines = lines;
    this.#policy = policy;
    // The message dialect has no word for it.
    this.tellsCuts = client.dialect === 'envelope';
  }

  emit(said: AgentEvent): void {
    if (said.type === 'planMode') this.#planMode(said.on);
    this.#lines.emit(said);
  }

  clientTools(): readonly ModelTool[] {
    return this.#client.offers;
  }

  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    if (this.#isFree(request.action)) return { allow: true, forSession: false };
    try {
      return await this.#ask({ ...proposalOf(request), callId: request.callId, reason: request.description }, signal);
    } catch (error) {
      if (signal.aborted && signal.reason instanceof AnsweredElsewhere) return signal.reason.answer;
      signal.throwIfAborted();
      // The user has rejected nothing: the client failed or did not answer.
      throw toldFailure(`The approval failed, so the call did not run: ${messageOf(error)}`, `审批失败，因此没有执行：${messageOf(error)}`);
    }
  }

  async question({ callId, questions, plan }: QuestionRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined> {
    const [first] = questions;
    try {
      if (plan && first) {
        const given = await this.#ask(planProposal(callId, plan.text), signal);
        return { [first.question]: given.allow ? plan.yes : given.feedback || plan.no };
      }
      const input = {
        questions: questions.map((one) => ({
          question: one.question,
          header: one.header ?? '',
          multiSelect: one.many ?? false,
          options: one.options.map(({ label, description }) => ({ label, description: description ?? '' })),
        })),
      };
      const asked = { callId, name: 'ask_user_question', input, confirmation: {}, reason: 'A question' };
      const decision = await this.#decision(asked, signal);
      const given = decision.allow ? Object.entries(recordOf(recordOf(decision.input).answers)) : [];
      const answers = given.flatMap(([key, value]) => {
        const question = questions[Number(key)]?.question ?? key;
        return typeof value === 'string' ? [[question, value] as const] : [];
      });
      return answers.length === 0 ? undefined : Object.fromEntries(answers);
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  callClient(call: { readonly id: string; readonly name: string; readonly input: string }, signal: AbortSignal): Promise<ToolOutcome> {
    return this.#client.call(call, signal);
  }

  /** `hook_callback` (docs/protocols/qwen.md §4.8). */
  async hook(event: HookName, target: string, data: Line, signal: AbortSignal): Promise<string | undefined> {
    if (!this.hooks.includes(event)) return undefined;
    const called = typeof data.tool_name === 'string' ? data.tool_name : undefined;
    const told = called === undefined ? target : (this.#client.fullName(called) ?? nameOf(called));
    const input = called === undefined ? data : { ...data, tool_name: told, tool_input: inputOf(called, JSON.stringify(data.tool_input)) };
    try {
      const answer = await this.#client.ask('hook_callback', { payload: { event, target: told, input } }, { signal, limit: HOOK_LIMIT });
      const { behavior, message } = recordOf(answer);
      return behavior === 'deny' || behavior === 'block' ? String(message ?? '') : undefined;
    } catch (error) {
      return GATES.includes(event) ? messageOf(error) : undefined;
    }
  }

  async #ask(asked: Permission, signal: AbortSignal): Promise<PermissionAnswer> {
    const decision = await this.#decision(asked, signal);
    if (decision.allow) return { allow: true, forSession: false };
    if (decision.message === CLIENT_WORDS.applied) return { allow: false, written: true };
    if (decision.message === CLIENT_WORDS.refused) return { allow: false };
    return { allow: false, ...(decision.message === '' ? {} : { feedback: decision.message }) };
  }

  async #decision(asked: Permission, signal: AbortSignal) {
    const misfit = this.#client.dialect === 'envelope' ? misfitOf : undefined;
    const how = { signal, limit: this.#policy.limit, ...(misfit ? { misfit } : {}) };
    const payload = await this.#client.ask('can_use_tool', this.#lines.permission(asked), how);
    const decision = readDecision(this.#client.dialect, payload);
    this.#lines.decided(asked.callId, decision.allow || decision.message === CLIENT_WORDS.applied);
    return decision;
  }

  #isFree(action: string): boolean {
    const { mode } = this.#policy;
    return mode === 'yolo' || (mode === 'auto-edit' && action === 'edit file');
  }

  /** Plan mode ends with an approved plan; what stands behind it asks. */
  #planMode(on: boolean): void {
    if (on) this.#policy.mode = 'plan';
    else if (this.#policy.mode === 'plan') this.#policy.mode = 'default';
  }
}

const BEHAVIORS = ['approve', 'allow', 'deny', 'reject'];

/** The document reports control errors; in the message dialect every other word is a refusal, as for Qwen Code. */
function misfitOf(payload: unknown): string | undefined {
  const { behavior } = recordOf(payload);
  if (BEHAVIORS.includes(String(behavior).toLowerCase())) return undefined;
  return `The behavior ${JSON.stringify(behavior ?? null).slice(0, 100)} is none of ${BEHAVIORS.join(', ')}.`;
}

function planProposal(callId: string, plan: string | null): Permission {
  if (plan === null)
    return { callId, name: 'enter_plan_mode', input: {}, confirmation: { type: 'info', title: 'Plan mode' }, reason: 'enter_plan_mode' };
  return { callId, name: 'exit_plan_mode', input: { plan }, confirmation: { type: 'plan', title: 'Plan', plan }, reason: 'exit_plan_mode' };
}
