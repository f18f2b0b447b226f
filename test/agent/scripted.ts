import { setMaxListeners } from 'node:events';
import { AgentConversation } from '../../src/agent/conversation.ts';
import type { AgentEvent, ApprovalRequest, Frontend, PermissionAnswer, QuestionRequest } from '../../src/agent/frontend.ts';
import type { HistoryMessage, Model, ModelPiece, ModelRequest, ModelTool } from '../../src/agent/models/model.ts';
import { done, type ToolOutcome } from '../../src/agent/tools/tool.ts';

/** One answer of a scripted model: a text, calls, an error, or pieces of its own making. */
export type Line =
  | string
  | Error
  | { readonly text?: string; readonly calls: readonly (readonly [name: string, input: unknown, id?: string])[] }
  | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPiece>);

export interface ScriptedModel extends Model {
  readonly requests: ModelRequest[];
}

/** A model that says its lines in order. Reading past the last one fails the test. */
export function scriptedModel(lines: readonly Line[], more: Partial<Model> = {}): ScriptedModel {
  const left = [...lines];
  const requests: ModelRequest[] = [];
  return {
    name: 'scripted',
    contextSize: 100_000,
    offline: false,
    ...more,
    requests,
    answer: async function* (request, signal) {
      requests.push({ ...request, history: [...request.history] });
      const line = left.shift();
      if (line === undefined) throw new Error('the script is over');
      if (line instanceof Error) throw line;
      if (typeof line === 'function') yield* line(request, signal);
      else if (typeof line === 'string') yield { type: 'text', text: line };
      else {
        if (line.text !== undefined) yield { type: 'text', text: line.text };
        for (const [at, [name, input, id]] of line.calls.entries()) {
          const text = typeof input === 'string' ? input : JSON.stringify(input);
          yield { type: 'call', call: { id: id ?? `c${requests.length}.${at}`, name, input: text } };
        }
      }
    },
  };
}

export interface TestFace extends Frontend {
  readonly said: AgentEvent[];
  readonly approvals: ApprovalRequest[];
  readonly questions: QuestionRequest[];
}

export interface FaceAnswers {
  readonly approve?: (request: ApprovalRequest, signal: AbortSignal) => PermissionAnswer | Promise<PermissionAnswer>;
  readonly answer?: (request: QuestionRequest) => Readonly<Record<string, string>> | undefined;
  readonly tools?: readonly ModelTool[];
  readonly run?: (name: string, input: string) => ToolOutcome;
}

export function testFace(answers: FaceAnswers = {}): TestFace {
  const said: AgentEvent[] = [];
  const approvals: ApprovalRequest[] = [];
  const questions: QuestionRequest[] = [];
  return {
    said,
    approvals,
    questions,
    asksQuestions: true,
    hasPlanMode: true,
    emit: (one) => void said.push(one),
    approve: async (request, signal) => {
      approvals.push(request);
      const answer = answers.approve?.(request, signal) ?? { allow: true, forSession: false };
      return Promise.race([answer, untilAborted(signal)]);
    },
    question: async (request) => {
      questions.push(request);
      return answers.answer?.(request);
    },
    hook: async () => undefined,
    callClient: async ({ name, input }) => answers.run?.(name, input) ?? done('ok', 'ok'),
    clientTools: () => answers.tools ?? [],
  };
}

/** Rejects with the signal's reason, now or later. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

export interface Played {
  readonly conversation: AgentConversation;
  readonly frontend: TestFace;
  readonly model: ScriptedModel;
}

export function play(
  cwd: string,
  lines: readonly Line[],
  answers: FaceAnswers = {},
  more: { model?: Partial<Model>; maxSteps?: number } = {},
): Played {
  setMaxListeners(100);
  const frontend = testFace(answers);
  const model = scriptedModel(lines, more.model);
  const conversation = new AgentConversation({
    frontend,
    model,
    workspace: { cwd, roots: [cwd] },
    ...(more.maxSteps === undefined ? {} : { maxSteps: more.maxSteps }),
  });
  return { conversation, frontend, model };
}

export function ask(conversation: AgentConversation, text: string): ReturnType<AgentConversation['prompt']> {
  return conversation.prompt([{ type: 'text', text }]);
}

export function textSaid(frontend: TestFace): string {
  return frontend.said.map((one) => (one.type === 'text' ? one.text : '')).join('');
}

/** Results in the history, as `name: message`. */
export function results(history: readonly HistoryMessage[]): readonly string[] {
  return history.flatMap((message) => (message.role === 'tool' ? [`${message.name}: ${message.message}`] : []));
}
