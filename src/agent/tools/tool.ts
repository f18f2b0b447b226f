import * as z from 'zod/mini';
import type { ToolOffer, UserPart } from '../models/model.ts';
import type { Task } from '../task.ts';
import type { Workspace } from '../workspace/paths.ts';
import type { TextFiles } from '../workspace/textFiles.ts';
import type { CommandEnd, CommandSpec, Printed } from './runCommand.ts';

/** The result of a tool run. `text` and `message` go to the model, `shown` to the user. */
export interface Outcome {
  readonly isError: boolean;
  /** Failed by itself, not by what was asked of it: the disk, another program. */
  readonly isBroken?: true;
  readonly text: string;
  /** One line. */
  readonly message: string;
  readonly shown: readonly Shown[];
  /** Of a command that ended with another code than 0. */
  readonly exitCode?: number;
  /** Pictures and sounds beside the text, for the model. */
  readonly media?: readonly UserPart[];
}

/** Something for the user's eyes. `before` is null when the file did not exist; both texts are whole files with `\n`. */
export type Shown =
  | { readonly type: 'brief'; readonly text: string }
  | { readonly type: 'diff'; readonly path: string; readonly before: string | null; readonly after: string }
  | { readonly type: 'todo'; readonly items: readonly TodoItem[] }
  | { readonly type: 'command'; readonly command: string }
  | { readonly type: 'task'; readonly task: Task }
  /** Anything a client's tool sent along that we only pass on. */
  | { readonly type: 'other'; readonly value: unknown };
export interface TodoItem {
  readonly title: string;
  readonly status: 'pending' | 'in_progress' | 'done';
}

/** The context of a tool run. */
export interface ToolRunContext {
  readonly callId: string;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  /**
   * Returns when a user (or an earlier answer for the session) allowed it, with the text they put in the place of a proposed file's; throws
   * Rejected otherwise.
   */
  permit(request: { readonly action: string; readonly description: string; readonly shown: readonly Shown[] }): Promise<string | undefined>;
  /** Text files, with what is unsaved in the client's editor where it lends them. */
  readonly files: TextFiles;
  /** Runs a command line, where the client shows it if it can. */
  runCommand(spec: CommandSpec, onText: (text: string, from?: Printed) => void): Promise<CommandEnd>;
  /** Text for the user to see at once, repeated in the outcome. */
  output(text: string, from?: Printed): void;
}

export interface Tool extends ToolOffer {
  /** Only reads; may run beside others, and is offered while planning. */
  readonly reads: boolean;
  /** The client runs it and checks its permissions. */
  readonly lent?: true;
  /** Throws ToolFailure with what is wrong with the input. */
  run(input: unknown, scene: ToolRunContext): Promise<Outcome>;
}

/** A failure of a tool, worded for the model. */
export class ToolFailure extends Error {}

/** A rejection by the user. Without feedback the turn cannot continue. */
export class Rejected extends Error {
  readonly feedback: string | undefined;
  constructor(feedback?: string) {
    super(feedback === undefined ? 'Rejected by the user.' : `Rejected by the user: ${feedback}`);
    this.feedback = feedback;
  }
}

/** A tool from its zod schema; the model sees the same schema as JSON Schema. */
export function defineTool<S extends z.ZodMiniType>(spec: {
  readonly name: string;
  readonly description: string;
  readonly reads: boolean;
  readonly input: S;
  run(input: z.infer<S>, scene: ToolRunContext): Promise<Outcome>;
}): Tool {
  let parameters: Readonly<Record<string, unknown>> | undefined;
  return {
    name: spec.name,
    description: spec.description,
    reads: spec.reads,
    get parameters() {
      parameters ??= withoutDialect(z.toJSONSchema(spec.input, { io: 'input' }));
      return parameters;
    },
    run: async (input, scene) => {
      const parsed = spec.input.safeParse(input);
      if (!parsed.success) throw new ToolFailure(`Invalid arguments: ${problemsOf(parsed.error)}`);
      return spec.run(parsed.data, scene);
    },
  };
}

export function done(text: string, message: string, shown: readonly Shown[] = []): Outcome {
  return { isError: false, text, message, shown };
}

export function failed(message: string, text = '', shown: readonly Shown[] = []): Outcome {
  return { isError: true, text, message, shown };
}

/** The problems of a failed parse, one line. */
export function problemsOf(error: z.core.$ZodError): string {
  return error.issues
    .slice(0, 5)
    .map((issue) => [issue.path.join('.'), issue.message].filter((part) => part !== '').join(': '))
    .join('; ');
}

function withoutDialect(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = schema;
  return rest;
}
