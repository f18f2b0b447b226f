import * as z from 'zod/mini';

// Agent cards, A2A 0.3 and 1.0 objects, and both dialects of the development-tool extension (docs/protocols/a2a.md §4, §6, §7). Everything that may be
// missing is nullish: servers in other languages write null.

/** Size limits, in UTF-16 units of texts and members of lists; anything larger is refused. */
export const LENGTHS = { id: 1024, short: 64 * 1024, long: 16 * 1024 * 1024, parts: 10_000 } as const;
const id = z.string().check(z.maxLength(LENGTHS.id));
const short = z.nullish(z.string().check(z.maxLength(LENGTHS.short)));
const long = z.nullish(z.string().check(z.maxLength(LENGTHS.long)));
const flag = z.nullish(z.boolean());
const record = z.record(z.string(), z.unknown());

const extension = z.object({ uri: z.string().check(z.maxLength(4096)), required: flag, params: z.nullish(record) });
const scheme = record;
/** The versions of A2A that are spoken. */
export type A2aVersion = '0.3' | '1.0';

export const card = z.object({
  name: z.string().check(z.maxLength(1024)),
  version: short,
  url: short,
  protocolVersion: short,
  preferredTransport: short,
  additionalInterfaces: z.nullish(z.array(z.object({ url: z.string(), transport: z.string() })).check(z.maxLength(100))),
  supportedInterfaces: z.nullish(
    z.array(z.object({ url: z.string(), protocolBinding: z.string(), protocolVersion: short, tenant: short })).check(z.maxLength(100)),
  ),
  capabilities: z.nullish(
    z.object({ streaming: flag, pushNotifications: flag, extensions: z.nullish(z.array(extension).check(z.maxLength(100))) }),
  ),
  securitySchemes: z.nullish(z.record(z.string(), scheme)),
  security: z.nullish(z.array(record).check(z.maxLength(100))),
  securityRequirements: z.nullish(z.array(record).check(z.maxLength(100))),
});
export type Card = z.infer<typeof card>;

/** A part of either version: which one it is shows in the members that are there. */
export const part = z.object({
  kind: short,
  text: long,
  data: z.optional(z.unknown()),
  file: z.nullish(z.object({ name: short, mimeType: short, bytes: long, uri: short })),
  raw: long,
  url: short,
  filename: short,
  mediaType: short,
});
export type Part = z.infer<typeof part>;
const parts = z.nullish(z.array(part).check(z.maxLength(LENGTHS.parts)));

export const message = z.object({
  messageId: z.nullish(id),
  role: short,
  parts,
  taskId: z.nullish(id),
  contextId: z.nullish(id),
  metadata: z.nullish(record),
});
export type Message = z.infer<typeof message>;
const status = z.object({ state: short, timestamp: short, message: z.nullish(message) });
const artifact = z.object({ artifactId: z.nullish(id), name: short, parts });
export const task = z.object({
  id,
  contextId: z.nullish(id),
  status,
  history: z.nullish(z.array(message).check(z.maxLength(10_000))),
  artifacts: z.nullish(z.array(artifact).check(z.maxLength(10_000))),
  metadata: z.nullish(record),
});
export const statusUpdate = z.object({ taskId: id, contextId: z.nullish(id), status, final: flag, metadata: z.nullish(record) });
export type StatusUpdate = z.infer<typeof statusUpdate>;
export const artifactUpdate = z.object({ taskId: id, contextId: z.nullish(id), artifact, append: flag, metadata: z.nullish(record) });

/** One JSON-RPC answer. */
export const answer = z.object({
  id: z.nullish(z.union([z.string(), z.number()])),
  result: z.optional(z.unknown()),
  error: z.nullish(z.object({ code: z.number(), message: z.string(), data: z.optional(z.unknown()) })),
});

// The RFC's objects, after their names have been brought into one style (docs/protocols/a2a.md §6).

export const fileDiff = z.object({
  file_name: short,
  file_path: short,
  old_content: long,
  new_content: long,
  formatted_diff: long,
});
export const toolCall = z.object({
  tool_call_id: id.check(z.minLength(1)),
  status: z.nullish(z.union([z.string(), z.number()])),
  tool_name: short,
  description: short,
  input_parameters: z.optional(z.unknown()),
  live_content: long,
  output: z.nullish(z.object({ text: long, diff: z.nullish(fileDiff), structured_data: z.optional(z.unknown()) })),
  error: z.nullish(z.object({ message: long, type: short, status_code: z.nullish(z.number()) })),
  confirmation_request: z.nullish(
    z.object({
      options: z.nullish(z.array(z.object({ id, name: short, description: short })).check(z.maxLength(50))),
      execute_details: z.nullish(z.object({ command: long, working_directory: short })),
      file_edit_details: z.nullish(fileDiff),
      mcp_details: z.nullish(z.object({ server_name: short, tool_name: short })),
      generic_details: z.nullish(z.object({ description: long })),
    }),
  ),
});
export type RfcToolCall = z.infer<typeof toolCall>;
export type RfcFileDiff = z.infer<typeof fileDiff>;

export const thought = z.object({ subject: long, description: long });

/** A slash command of the extension, with its sub-commands. */
export interface CommandShape {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly arguments?: readonly ArgumentShape[] | null | undefined;
  readonly sub_commands?: readonly unknown[] | null | undefined;
}
interface ArgumentShape {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly is_required?: boolean | null | undefined;
}
export const slashCommand: z.ZodMiniType<CommandShape> = z.object({
  name: z.string().check(z.minLength(1), z.maxLength(200)),
  description: short,
  arguments: z.nullish(
    z.array(z.object({ name: z.string().check(z.maxLength(200)), description: short, is_required: flag })).check(z.maxLength(50)),
  ),
  sub_commands: z.nullish(z.array(z.unknown()).check(z.maxLength(500))),
});
export const commandRequest = z.object({
  command_path: z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
  args: z.nullish(z.string()),
  contextId: z.nullish(id),
  metadata: z.nullish(record),
});
export const commandAnswer = z.object({
  execution_id: z.nullish(id),
  status: z.nullish(z.union([z.string(), z.number()])),
  message: long,
});

// Messages of the Gemini CLI server (docs/protocols/a2a.md §7).

const fileResult = {
  fileName: short,
  filePath: short,
  fileDiff: long,
  originalContent: long,
  newContent: long,
};
export const confirmationDetails = z.object({
  type: z.string(),
  title: short,
  ...fileResult,
  command: long,
  serverName: short,
  toolName: short,
  toolArgs: z.optional(z.unknown()),
  prompt: long,
  urls: z.nullish(z.array(z.string())),
  questions: z.nullish(
    z
      .array(
        z.object({
          question: z.string(),
          header: short,
          options: z.nullish(z.array(z.object({ label: z.string(), description: short })).check(z.maxLength(100))),
        }),
      )
      .check(z.maxLength(50)),
  ),
  planPath: short,
});
export type Confirmation = z.infer<typeof confirmationDetails>;
export const geminiCall = z.object({
  request: z.object({
    callId: id.check(z.minLength(1)),
    name: z.string(),
    args: z.optional(z.unknown()),
    display: z.nullish(z.object({ name: short, description: short })),
    schedulerId: short,
  }),
  status: z.string(),
  outcome: short,
  confirmationDetails: z.nullish(confirmationDetails),
  response: z.nullish(
    z.object({
      responseParts: z.optional(z.unknown()),
      resultDisplay: z.optional(z.unknown()),
      display: z.nullish(z.object({ result: z.optional(z.unknown()), resultSummary: short })),
      errorType: short,
    }),
  ),
  tool: z.nullish(z.object({ displayName: short, kind: short })),
});
export type GeminiCall = z.infer<typeof geminiCall>;
export const fileChange = z.object(fileResult);
export const textChange = z.object({ type: z.string(), path: short, beforeText: long, afterText: long, text: long });
export const wordsIn = z.array(
  z.object({ functionResponse: z.nullish(z.object({ response: z.nullish(z.object({ output: long, error: long })) })) }),
);

/** Kinds of DevelopmentToolEvent, by their number. */
export const eventKinds = ['unspecified', 'tool_call_confirmation', 'tool_call_update', 'text_content', 'state_change', 'thought'] as const;
/** States of the RFC's tool calls, by their number. */
export const callStates = ['unspecified', 'pending', 'executing', 'succeeded', 'failed', 'cancelled'] as const;
export type CallState = (typeof callStates)[number];
export const commandStates = [
  'unspecified',
  'started',
  'failed_to_start',
  'awaiting_shell_confirmation',
  'awaiting_action_confirmation',
] as const;
export type CommandState = (typeof commandStates)[number];
/** The extension this build implements, as parley-agent's card names it. */
export const EXTENSION = 'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md';
/** A parameter of the extension in the card: `command/execute` takes a `contextId`, and settings in its `metadata`, as messages do. */
export const COMMAND_CONTEXT = 'command_context';
/** ProtoJSON as agents write it: two styles of names, enums by name, number or prefix (docs/protocols/a2a.md §6). */

export type Fields = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for what a nullish text of the schemas takes. */
export function mayBe(value: unknown, longest: number): boolean {
  return value == null || (typeof value === 'string' && value.length <= longest);
}

/** Bounded, because only Parley's own names come here. */
const CAMEL = new Map<string, string>();
function camel(name: string): string {
  let written = CAMEL.get(name);
  if (written === undefined) {
    written = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    CAMEL.set(name, written);
  }
  return written;
}

/**
 * The members of these names, in snake_case however they came; the snake_case spelling wins. A `wrappers` member around a oneof is
 * opened. Values are left alone.
 */
export function fields(value: unknown, names: readonly string[], wrappers: readonly string[] = []): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  if (!isRecord(value)) return found;
  for (const name of wrappers) take(found, value[name] ?? value[camel(name)], names);
  take(found, value, names);
  return found;
}

function take(found: Record<string, unknown>, value: unknown, names: readonly string[]): void {
  if (!isRecord(value)) return;
  for (const name of names) {
    const one = value[name] ?? value[camel(name)];
    if (one !== undefined && one !== null) found[name] = one;
  }
}

/** The member of an enum, in small letters with underscores; `unspecified` for what is not in the list. */
export function member<T extends string>(value: unknown, all: readonly T[]): T {
  const first = all[0] as T;
  if (typeof value === 'number') return all[value] ?? first;
  if (typeof value !== 'string') return first;
  const plainly = PLAIN.get(value);
  if (plainly !== undefined && all.includes(plainly as T)) return plainly as T;
  if (/^\d+$/.test(value)) return all[Number(value)] ?? first;
  const plain = value.trim().toLowerCase().replaceAll('-', '_');
  const exact = all.find((one) => one === plain);
  if (exact !== undefined) return exact;
  // The longest name that ends it: a prefix is the name of the type.
  const fitting = all.filter((one) => plain.endsWith(`_${one}`)).sort((a, b) => b.length - a.length);
  return fitting[0] ?? first;
}

/** Members as the document writes them. */
const PLAIN: ReadonlyMap<string, string> = new Map(
  ['TOOL_CALL_CONFIRMATION', 'TOOL_CALL_UPDATE', 'TEXT_CONTENT', 'STATE_CHANGE', 'THOUGHT', 'PENDING', 'EXECUTING', 'SUCCEEDED'].map(
    (name) => [name, name.toLowerCase()],
  ),
);

/** True when the object names its members in camelCase. */
export function writesCamel(value: unknown): boolean {
  if (!isRecord(value)) return false;
  for (const name in value) if (/[a-z][A-Z]/.test(name)) return true;
  return false;
}

/** An outgoing object in the style the agent writes. */
export function written(value: Fields, inCamel: boolean): Fields {
  if (!inCamel) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [camel(name), isRecord(one) ? written(one, true) : one]));
}

// The checkpoint of a turn in the journal, for a later window: the agent's ids of the shown content. The text itself is in the session.

const statuses = ['pending', 'waiting', 'running', 'done', 'failed', 'cancelled'] as const;
const deliveryCheckpoint = z.object({
  /** Ids of our messages. */
  prompts: z.array(z.string()),
  prompt: z.string(),
  /** Kind and id of a message, how much of it was shown, and where the last of that ends in all text of the kind; UTF-16 units. */
  names: z.array(z.tuple([z.string(), z.number(), z.number()])),
  /** Offsets at which pieces began. */
  starts: z.object({ text: z.array(z.number()), thought: z.array(z.number()) }),
  /** Parts that show an artifact and no message, with its id; '' when it was replaced since. */
  apart: z.array(z.tuple([z.string(), z.string()])),
  /** Messages whose files and data were shown. */
  attached: z.array(z.string()),
  /** The task holds nothing but this turn. */
  own: z.boolean(),
});
export const checkpoint = z.object({
  /** False once the turn has come to its own end. */
  running: z.boolean(),
  taskId: z.optional(z.string()),
  contextId: z.optional(z.string()),
  known: deliveryCheckpoint,
  /** The agent's id of a call, its part, and how it stood. */
  calls: z.array(z.tuple([z.string(), z.string(), z.enum(statuses)])),
});
export type DeliveryCheckpoint = z.infer<typeof deliveryCheckpoint>;
export type TurnCheckpoint = z.infer<typeof checkpoint>;

/** The address of the development-tool extension, in any version; `more` are addresses that the profile adds. */
export function isOurExtension(uri: string, more: readonly string[] = []): boolean {
  return more.includes(uri) || uri.includes('/developer-profile/') || (uri.includes('development-tool') && SEGMENTS.test(uri));
}
const SEGMENTS = /(^|\/)development-tool(\/|$)/;
