import type { ModelTool, TokenUsage, UserPart } from './models/model.ts';
import type { CommandEnd, CommandSpec, Printed } from './tools/runCommand.ts';
import type { OutcomeDisplay, TaskEnd, ToolOutcome } from './tools/tool.ts';
import type { TextFiles } from './workspace/textFiles.ts';

/**
 * The interface of a frontend (one protocol served) for the loop. `emit` receives all events in order; the other methods ask the client and settle when
 * it answers or when the signal fires. Free of any protocol's words.
 */
export interface Frontend {
  emit(said: AgentEvent): void;
  /** A user decides. When the signal fires the request is withdrawn; its reason may be an answer given elsewhere (`AnsweredElsewhere`). */
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer>;
  /** undefined: dismissed. Answers by question text. */
  question(request: QuestionRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined>;
  /** Runs one of the client's tools. */
  callClient(call: { readonly id: string; readonly name: string; readonly input: string }, signal: AbortSignal): Promise<ToolOutcome>;
  /** Runs the client's hooks for an event (wire.md §5.2); returns the reason when one of them refuses. Never rejects. */
  hook(moment: HookName, target: string, data: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string | undefined>;
  /** The tools the client offers at this moment. */
  clientTools(): readonly ModelTool[];
  /** Runs a command line where the client shows it; absent: the agent runs commands itself. */
  readonly runCommand?: ((spec: CommandSpec, callId: string, onText: (text: string) => void) => Promise<CommandEnd>) | undefined;
  /** Text files as the client's editor holds them, until the signal fires; absent: those on the disk. */
  readonly files?: (signal: AbortSignal) => TextFiles;
  readonly asksQuestions: boolean;
  readonly hasPlanMode: boolean;
  /** The client approves plans although it is asked no questions. */
  readonly approvesPlans?: boolean;
  /** The client hears of tasks in the background, and answers what they ask when no turn runs. */
  readonly hasBackground?: boolean;
  /** Tells the client that an answer was cut at its greatest length; absent where the answer itself mentions it. */
  readonly tellsCuts?: boolean;
  /** The client shows side questions. */
  readonly hasAsides?: boolean;
}

export const hookNames = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'UserPromptSubmit',
  'Stop',
  'StopFailure',
  'SessionStart',
  'SessionEnd',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'Notification',
] as const;
export type HookName = (typeof hookNames)[number];

export type AgentEvent =
  | { readonly type: 'turn.started'; readonly input: readonly UserPart[] }
  | { readonly type: 'turn.ended' }
  | { readonly type: 'step.started'; readonly n: number }
  | { readonly type: 'step.broken' }
  /** Everything said since step.started is taken back; the step is tried again after `wait` seconds. */
  | {
      readonly type: 'step.retry';
      readonly n: number;
      readonly nextAttempt: number;
      readonly maxAttempts: number;
      readonly wait: number;
      readonly reason: string;
      readonly status?: number;
    }
  | { readonly type: 'text' | 'thought' | 'cut'; readonly text: string }
  | { readonly type: 'call.started'; readonly id: string; readonly name: string }
  | { readonly type: 'call.delta'; readonly id: string; readonly text: string }
  /** The input is whole. */
  | { readonly type: 'call.ready'; readonly id: string; readonly name: string; readonly input: string }
  /** Nothing is left to ask before it runs. A call may end without it. */
  | { readonly type: 'call.runs'; readonly id: string }
  /** Output of a running call; the result repeats it. */
  | { readonly type: 'call.output'; readonly id: string; readonly text: string; readonly from?: Printed }
  | { readonly type: 'call.ended'; readonly id: string; readonly name: string; readonly outcome: ToolOutcome }
  | { readonly type: 'status'; readonly contextTokens: number; readonly contextSize: number; readonly usage?: TokenUsage }
  | { readonly type: 'planMode'; readonly on: boolean }
  | { readonly type: 'plan.shown'; readonly text: string; readonly path: string }
  | { readonly type: 'steered'; readonly input: readonly UserPart[] }
  | { readonly type: 'compaction.started' | 'compaction.ended' }
  /** A background task has ended. */
  | { readonly type: 'task.ended'; readonly end: TaskEnd }
  /** A side question (`askAside`) and its answer, or why there is none. */
  | { readonly type: 'aside.asked'; readonly id: string; readonly question: string }
  | { readonly type: 'aside.answered'; readonly id: string; readonly text: string; readonly error?: string }
  | { readonly type: 'sub'; readonly callId: string; readonly agentId: string; readonly kind: string; readonly said: AgentEvent };

/** `action` is what an answer for the session is remembered by. */
export interface ApprovalRequest {
  readonly callId: string;
  readonly tool: string;
  readonly action: string;
  readonly description: string;
  readonly shown: readonly OutcomeDisplay[];
  /** The sub-agent that asks; `taskId` when it works in the background. */
  readonly by?: { readonly agentId: string; readonly kind: string; readonly description: string; readonly taskId?: string };
}
/** `edited` is what the user made of the text of a single proposed file. */
export type PermissionAnswer =
  /** `forSession`: the same again, too; 'action': all of its action, where the protocol's answer means that. */
  | { readonly allow: true; readonly forSession: boolean | 'action'; readonly edited?: string }
  /** `written`: the client has written what the user made of the proposal. */
  | { readonly allow: false; readonly feedback?: string; readonly written?: true };

/** The reason a request is withdrawn with when its answer came from elsewhere. */
export class AnsweredElsewhere {
  readonly answer: PermissionAnswer;
  constructor(answer: PermissionAnswer) {
    this.answer = answer;
  }
}

export interface QuestionRequest {
  readonly callId: string;
  /** A question of plan mode: whether to begin it, or to accept the plan. A client may ask it as an approval and return one of the labels. */
  readonly plan?: { readonly text: string | null; readonly yes: string; readonly no: string };
  readonly questions: readonly UserQuestion[];
}
export interface UserQuestion {
  readonly question: string;
  readonly header?: string;
  readonly body?: string;
  readonly options: readonly { readonly label: string; readonly description?: string }[];
  readonly many?: boolean;
}
