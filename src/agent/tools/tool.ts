import type { Ajv, CodeOptions } from 'ajv';
import type { RE2JS } from 're2js';
import * as z from 'zod/mini';
import { localize } from '../locale.ts';
import type { ModelTool, UserPart } from '../models/model.ts';
import type { Workspace } from '../workspace/paths.ts';
import type { TextFiles } from '../workspace/textFiles.ts';
import { LARGEST_PATTERN, MOST_STEPS, patternSize } from './patterns.ts';
import type { CommandEnd, CommandSpec, Printed } from './runCommand.ts';

/** The result of a tool run. `text` and `message` go to the model, `shown` to the user. */
export interface ToolOutcome {
  readonly isError: boolean;
  /** Failed by itself, not by what was asked of it: the disk, another program. */
  readonly isBroken?: true;
  readonly text: string;
  /** One line. */
  readonly message: string;
  readonly shown: readonly OutcomeDisplay[];
  /** Of a command that ended with another code than 0. */
  readonly exitCode?: number;
  /** The message for the user, where it is in another language. */
  readonly told?: string;
  /** Pictures and sounds beside the text, for the model. */
  readonly media?: readonly UserPart[];
}

/** Something for the user's eyes. `before` is null when the file did not exist; both texts are whole files with `\n`. */
export type OutcomeDisplay =
  | { readonly type: 'brief'; readonly text: string }
  | { readonly type: 'diff'; readonly path: string; readonly before: string | null; readonly after: string }
  | { readonly type: 'todo'; readonly items: readonly TodoItem[] }
  | { readonly type: 'command'; readonly command: string }
  | { readonly type: 'task'; readonly task: AgentTask }
  /** Anything a client's tool sent along that we only pass on. */
  | { readonly type: 'other'; readonly value: unknown };
export interface TodoItem {
  readonly title: string;
  readonly status: 'pending' | 'in_progress' | 'done';
}

type TaskStatus = 'running' | 'awaiting_approval' | 'completed' | 'failed' | 'killed';
/** A background task of a conversation: a command or a sub-agent. */
export interface AgentTask {
  readonly id: string;
  readonly kind: 'bash' | 'agent';
  /** One line, for the user. */
  readonly description: string;
  readonly status: TaskStatus;
}
/** The end of a background task. `message` is one line about how it ended. */
export interface TaskEnd {
  readonly id: string;
  readonly task: AgentTask;
  readonly message: string;
  /** The message for the user, where it is in another language. */
  readonly told?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
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
  permit(request: {
    readonly action: string;
    readonly description: string;
    readonly shown: readonly OutcomeDisplay[];
  }): Promise<string | undefined>;
  /** Text files, with what is unsaved in the client's editor where it serves them. */
  readonly files: TextFiles;
  /** Runs a command line, where the client shows it if it can. */
  runCommand(spec: CommandSpec, onText: (text: string, from?: Printed) => void): Promise<CommandEnd>;
  /** Text for the user to see at once, repeated in the outcome. */
  output(text: string, from?: Printed): void;
}

export interface AgentTool extends ModelTool {
  /** Only reads; may run beside others, and is offered while planning. */
  readonly reads: boolean;
  /** The client runs it and checks its permissions. */
  readonly runsInClient?: true;
  /** Throws ToolFailure with what is wrong with the input. */
  run(input: unknown, context: ToolRunContext): Promise<ToolOutcome>;
}

/** A failure of a tool, worded for the model; `told` is the same in the language of the user. */
export class ToolFailure extends Error {
  readonly told: string | undefined;
  constructor(message: string, told?: string) {
    super(message);
    this.told = told;
  }
}

/** A failure that users read about often: the model gets the English. */
export function toldFailure(english: string, chinese: string): ToolFailure {
  return new ToolFailure(english, localize(english, chinese));
}

/** A rejection by the user. Without feedback the turn cannot continue. */
export class Rejected extends Error {
  readonly feedback: string | undefined;
  constructor(feedback?: string) {
    super(feedback === undefined ? 'Rejected by the user.' : `Rejected by the user: ${feedback}`);
    this.feedback = feedback;
  }
}

/** The proposed edit itself is not to be made: the client has written what the user made of it. */
export class WrittenByClient extends Rejected {}

/** A tool from its zod schema; the model sees the same schema as JSON Schema. */
export function defineTool<S extends z.ZodMiniType>(spec: {
  readonly name: string;
  readonly description: string;
  readonly reads: boolean;
  readonly input: S;
  run(input: z.infer<S>, context: ToolRunContext): Promise<ToolOutcome>;
}): AgentTool {
  let parameters: Readonly<Record<string, unknown>> | undefined;
  return {
    name: spec.name,
    description: spec.description,
    reads: spec.reads,
    get parameters() {
      parameters ??= withoutDialect(z.toJSONSchema(spec.input, { io: 'input' }));
      return parameters;
    },
    run: async (input, context) => {
      const parsed = spec.input.safeParse(input);
      if (!parsed.success) throw toldFailure(`Invalid arguments: ${problemsOf(parsed.error)}`, `参数无效：${problemsOf(parsed.error)}`);
      return spec.run(parsed.data, context);
    },
  };
}

export function done(text: string, message: string, shown: readonly OutcomeDisplay[] = []): ToolOutcome {
  return { isError: false, text, message, shown };
}

export function failed(message: string, text = '', shown: readonly OutcomeDisplay[] = []): ToolOutcome {
  return { isError: true, text, message, shown };
}

/** A failed outcome with a message for the user beside that for the model, as `toldFailure` has. */
export function toldFailed(english: string, chinese: string, text = '', shown: readonly OutcomeDisplay[] = []): ToolOutcome {
  const told = localize(english, chinese);
  return { ...failed(english, text, shown), ...(told === english ? {} : { told }) };
}

/** The outcome as a user reads it: its message in their language, then its text. */
export function outcomeText({ message, told, text }: Pick<ToolOutcome, 'message' | 'told' | 'text'>, between: string): string {
  return [told ?? message, text].filter(Boolean).join(between);
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

// --- the schemas of clients' tools

type Check = (input: unknown) => string | undefined;

let ajv: Ajv | undefined;
const checks = new WeakMap<object, Check>();

/** The check of a JSON Schema: gives what is wrong with an input, or undefined. A schema that cannot be compiled checks nothing: the client checks too. */
export async function checkerOf(schema: Readonly<Record<string, unknown>>): Promise<Check> {
  const known = checks.get(schema);
  if (known) return known;
  if (!ajv) {
    const [{ Ajv }, { RE2JS }] = await Promise.all([import('ajv'), import('re2js')]);
    ajv = new Ajv({
      strict: false,
      allErrors: true,
      validateFormats: false,
      addUsedSchema: false,
      code: { regExp: linearPatterns(RE2JS) },
    });
  }
  const checker = ajv;
  const { $schema: _, $id: __, ...plain } = schema;
  const check = compile(checker, plain);
  checks.set(schema, check);
  return check;
}

/**
 * The patterns of a client's schema meet texts of a model: an engine that takes linear time. One that RE2 does not know, or that would take long all the
 * same, checks nothing.
 */
function linearPatterns(re2: typeof RE2JS): CodeOptions['regExp'] & object {
  const testOf = (pattern: string): ((text: string) => boolean) => {
    const size = patternSize(pattern);
    if (size > LARGEST_PATTERN) return () => true;
    try {
      const compiled = re2.compile(re2.translateRegExp(pattern));
      return (text) => size * text.length > MOST_STEPS || compiled.test(text);
    } catch {
      return () => true;
    }
  };
  // ajv tells patterns apart by their text, and would use the first one for all.
  const engine = (pattern: string) => ({ test: testOf(pattern), toString: () => pattern });
  // Names the engine in generated code files, which are not used here.
  return Object.assign(engine, { code: '' });
}

function compile(checker: Ajv, schema: object): Check {
  try {
    const validate = checker.compile(schema);
    return (input) => (validate(input) ? undefined : checker.errorsText(validate.errors, { dataVar: 'input' }).slice(0, 500));
  } catch {
    return () => undefined;
  }
}

/** Why a schema cannot be used for a tool's arguments; undefined when it can. By its shape alone, so that the handshake need not wait for more. */
export function problemOfSchema(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'parameters must be a JSON Schema object';
  if (schema.type !== 'object') return 'parameters must have "type": "object"';
  const problem = problemIn(schema, 'parameters', 0);
  return problem === undefined ? undefined : `parameters is not a valid JSON Schema: ${problem}`;
}

const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const;
const SINGLE = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'] as const;
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const;
const DEEPEST = 50;

function problemIn(schema: unknown, at: string, depth: number): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isObject(schema)) return `${at} must be a schema`;
  if (depth > DEEPEST) return `${at} is nested too deeply`;
  const types: unknown = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  if (!Array.isArray(types) || !types.every((type) => typeof type === 'string' && TYPES.has(type))) return `${at}/type is not a known type`;
  const { required, enum: choices } = schema;
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return `${at}/required must be a list of names`;
  if (choices !== undefined && !Array.isArray(choices)) return `${at}/enum must be a list`;
  const parts: [string, unknown][] = [];
  for (const key of SINGLE) if (schema[key] !== undefined && !Array.isArray(schema[key])) parts.push([`${at}/${key}`, schema[key]]);
  for (const key of LISTS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list)) return `${at}/${key} must be a list`;
    for (const [index, one] of list.entries()) parts.push([`${at}/${key}/${index}`, one]);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (map === undefined) continue;
    if (!isObject(map)) return `${at}/${key} must be an object`;
    for (const [name, one] of Object.entries(map)) parts.push([`${at}/${key}/${name}`, one]);
  }
  for (const [where, one] of parts) {
    const problem = problemIn(one, where, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
