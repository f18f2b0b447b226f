import * as z from 'zod/mini';
import { namedPath } from '../../base/paths.ts';

/**
 * The messages of agents in version 1 (docs/protocols/acp.md). Lenient where agents are: a field of the wrong shape counts as absent, a bad list member is
 * left out, unknown members are ignored. Only what makes a message meaningless without it is required.
 */

// --- pieces that the schemas are made of: agents leave things out, add things and get things wrong

/** A member of the wrong shape counts as absent. One step instead of one each for absent, null and wrong: there are ten in every tool call. */
export const soft = <T extends z.ZodMiniType>(schema: T) =>
  z.optional(
    z.transform((member: unknown): z.output<T> | null | undefined => {
      if (member === null) return null;
      const parsed = schema.safeParse(member);
      return parsed.success ? parsed.data : undefined;
    }),
  );
export const softText = z.optional(z.transform((member: unknown) => (typeof member === 'string' || member === null ? member : undefined)));

/** Members of a list that are read: nobody looks through more. */
const MOST_MEMBERS = 5000;
/** Options of a question, and settings of a session, each of which is shown. */
const MOST_SHOWN = 500;
/** Pieces of content, files and places of one tool call. */
export const MOST_PIECES = 2000;
/** A list of which the members that do not fit are left out, and those beyond a number. */
export function listOf<T extends z.ZodMiniType>(member: T, most = MOST_MEMBERS) {
  return z.pipe(
    // z.array would look at each member first.
    z.custom<readonly unknown[]>((value) => Array.isArray(value)),
    z.transform((members: readonly unknown[]): readonly z.output<T>[] => {
      const fitting: z.output<T>[] = [];
      for (const one of members.slice(0, most)) {
        const parsed = member.safeParse(one);
        if (parsed.success) fitting.push(parsed.data);
      }
      return fitting;
    }),
  );
}
export const LONGEST_ID = 4096;
export const id = z.string().check(z.minLength(1), z.maxLength(LONGEST_ID));
export const text = z.string();
/** Its members are checked where they are used. */
export const meta = z.optional(z.transform((member: unknown) => (member === null || isRecord(member) ? member : undefined)));
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Markers are objects, but some agents send true. */
export const marker = z.catch(z.nullish(z.unknown()), undefined);

// --- messages

export const textBlock = z.object({ type: z.literal('text'), text, annotations: meta });
const imageBlock = z.object({ type: z.literal('image'), data: text, mimeType: text });
const audioBlock = z.object({ type: z.literal('audio'), data: text, mimeType: text });
const linkBlock = z.object({ type: z.literal('resource_link'), uri: text, name: softText, title: softText, annotations: meta });
const resourceBlock = z.object({
  type: z.literal('resource'),
  resource: z.object({ uri: text, mimeType: softText, text: softText, blob: softText }),
  annotations: meta,
});
const otherBlock = z.looseObject({ type: z.string() });
export const contentBlock = z.union([textBlock, imageBlock, audioBlock, linkBlock, resourceBlock, otherBlock]);
export type ContentBlock = z.output<typeof contentBlock>;

/** Some agents write the address of a file for its path. */
const filePath = z.pipe(id, z.transform(namedPath));
const diffItem = z.object({ type: z.literal('diff'), path: filePath, oldText: softText, newText: text, _meta: meta });
/** `lines`: where the two texts begin in their files, when that was said. `summary`: the new text is a sentence about the change. */
export type DiffItem = z.output<typeof diffItem> & { readonly lines?: readonly [number, number]; readonly summary?: true };
/** Whom a block is for. */
export const audience = z.object({ audience: listOf(z.string()) });
/** Ids of the records of its own that Qwen Code repeats. */
export const qwenRecord = z.object({ qwenTranscript: z.object({ sourceRecordIds: listOf(id) }) });
export const contentItem = z.object({ type: z.literal('content'), content: contentBlock });
export const terminalItem = z.object({ type: z.literal('terminal'), terminalId: id });
const toolContent = z.discriminatedUnion('type', [contentItem, diffItem, terminalItem]);
export type ToolContent = z.output<typeof contentItem> | DiffItem | z.output<typeof terminalItem>;

/** A tool call, an update of one, and the one inside a permission request: the same members, all but the id may be missing or null. */
export const toolCall = z.object({
  toolCallId: id,
  title: softText,
  name: softText,
  kind: softText,
  status: softText,
  // One more than are taken in: so they are seen to be too many.
  content: soft(listOf(toolContent, MOST_PIECES + 1)),
  locations: soft(listOf(z.object({ path: filePath, line: soft(z.number()) }), MOST_PIECES + 1)),
  rawInput: z.optional(z.unknown()),
  rawOutput: z.optional(z.unknown()),
  _meta: meta,
});
export type AcpToolCall = Omit<z.output<typeof toolCall>, 'content'> & {
  readonly content?: readonly ToolContent[] | null | undefined;
  /** More items behind the content it has. */
  readonly added?: readonly ToolContent[];
  /** Members that it has lost. */
  readonly unset?: readonly ('title' | 'name' | 'rawInput' | 'rawOutput')[];
  /** It can be stopped by itself, or no more; absent is unchanged. */
  readonly stops?: boolean | undefined;
};

const modes = z.object({ currentModeId: id, availableModes: listOf(z.object({ id, name: text, description: softText }), MOST_SHOWN) });
const models = z.object({ currentModelId: id, availableModels: listOf(z.object({ modelId: id, name: text, description: softText })) });
export const optionValue = z.object({ value: text, name: text, description: softText });
const optionGroup = z.object({ group: text, name: text, options: listOf(optionValue, MOST_SHOWN) });
const optionHead = { id, name: text, description: softText, category: softText };
const configOption = z.discriminatedUnion('type', [
  z.object({
    ...optionHead,
    type: z.literal('select'),
    currentValue: text,
    options: listOf(z.union([optionGroup, optionValue]), MOST_SHOWN),
  }),
  z.object({ ...optionHead, type: z.literal('boolean'), currentValue: z.boolean() }),
]);
export const configOptions = listOf(configOption, MOST_SHOWN);
export type ConfigOption = z.output<typeof configOption>;
export type Modes = z.output<typeof modes>;
export type Models = z.output<typeof models>;

const commands = listOf(z.object({ name: id, description: softText, input: soft(z.object({ hint: softText })) }));
export type WireCommand = z.output<typeof commands>[number];

/** The answer to session/new, load, resume and fork. */
export const sessionAnswer = z.object({
  sessionId: soft(id),
  modes: soft(modes),
  models: soft(models),
  configOptions: soft(configOptions),
  availableCommands: soft(commands),
});
export type SessionAnswer = z.output<typeof sessionAnswer>;

const planEntry = z.object({ content: text, priority: softText, status: softText });
/** Steps of a plan that are read. */
export const MOST_STEPS = 1000;
export const leftOut = (count: number): string => `… (${count} more, left out)`;
const planEntries = z.pipe(
  z.transform((entries: unknown) => {
    if (!Array.isArray(entries) || entries.length <= MOST_STEPS) return entries;
    return [...entries.slice(0, MOST_STEPS), { content: leftOut(entries.length - MOST_STEPS), status: 'pending' }];
  }),
  listOf(planEntry),
);
export type WirePlanEntry = z.output<typeof planEntry>;
const keyedPlan = z.union([
  z.object({ type: z.literal('items'), planId: id, entries: planEntries }),
  z.object({ type: z.literal('markdown'), planId: id, content: text }),
  z.object({ type: z.literal('file'), planId: id, uri: text }),
]);
export type KeyedPlan = z.output<typeof keyedPlan>;

/** Whether the agent works. */
const activity = z.object({
  state: text,
  stopReason: softText,
  usage: soft(z.object({ inputTokens: soft(z.number()), outputTokens: soft(z.number()) })),
  error: soft(z.object({ code: z.catch(z.number(), 0), message: text, data: z.optional(z.unknown()) })),
});
export type Activity = z.output<typeof activity>;

const chunk = { content: contentBlock, messageId: softText, _meta: meta };
/** The kinds of session/update this build knows; anything else is traced. */
export const update = z.discriminatedUnion('sessionUpdate', [
  z.object({ sessionUpdate: z.literal('user_message_chunk'), ...chunk }),
  z.object({ sessionUpdate: z.literal('agent_message_chunk'), ...chunk }),
  z.object({ sessionUpdate: z.literal('agent_thought_chunk'), ...chunk }),
  z.extend(toolCall, { sessionUpdate: z.literal('tool_call') }),
  z.extend(toolCall, { sessionUpdate: z.literal('tool_call_update') }),
  z.object({
    sessionUpdate: z.literal('plan'),
    entries: planEntries,
  }),
  // Not stable yet: plans with a name, conversations of sub-agents, and what the agent works at.
  z.object({ sessionUpdate: z.literal('plan_update'), plan: keyedPlan }),
  z.object({ sessionUpdate: z.literal('plan_removed'), planId: id }),
  z.extend(activity, { sessionUpdate: z.literal('state_update') }),
  z.object({
    sessionUpdate: z.literal('subagent_update'),
    sessionId: id,
    title: softText,
    description: softText,
    state: soft(activity),
  }),
  z.object({
    sessionUpdate: z.literal('session_message'),
    messageId: id,
    senderSessionId: soft(id),
    recipientSessionId: soft(id),
    content: soft(listOf(contentBlock)),
  }),
  z.object({ sessionUpdate: z.literal('session_message_chunk'), messageId: id, content: contentBlock }),
  z.object({
    sessionUpdate: z.literal('available_commands_update'),
    availableCommands: commands,
  }),
  z.object({ sessionUpdate: z.literal('current_mode_update'), currentModeId: soft(id), modeId: soft(id) }),
  z.object({ sessionUpdate: z.literal('config_option_update'), configOptions }),
  z.object({ sessionUpdate: z.literal('session_info_update'), title: softText }),
  z.object({
    sessionUpdate: z.literal('usage_update'),
    used: soft(z.number()),
    size: soft(z.number()),
    cost: soft(z.object({ amount: z.number(), currency: text })),
  }),
  z.object({ sessionUpdate: z.literal('notice'), severity: softText, title: text, description: softText }),
  z.object({
    sessionUpdate: z.literal('compaction_update'),
    compactionId: id,
    status: softText,
    error: z.optional(z.unknown()),
  }),
  z.object({ sessionUpdate: z.literal('compaction_summary_chunk'), compactionId: id }),
]);
/** An update of a session as version 1 sends it. */
export type Plain = z.output<typeof update>;
/** An update of a session in the form into which both versions are converted. */
export type SessionUpdate =
  | Exclude<Plain, { sessionUpdate: 'tool_call' | 'tool_call_update' }>
  | (AcpToolCall & { readonly sessionUpdate: 'tool_call' | 'tool_call_update' })
  /** A whole message; content that is absent is unchanged. */
  | {
      readonly sessionUpdate: 'message';
      readonly kind: 'text' | 'thought' | 'prompt';
      readonly messageId: string;
      readonly content: readonly ContentBlock[] | undefined;
    }
  /** Bytes of a terminal of the agent's, base64; `output` is all of them, `data` some more. */
  | {
      readonly sessionUpdate: 'terminal';
      readonly terminalId: string;
      readonly command?: string | undefined;
      readonly output?: string | undefined;
      readonly data?: string | undefined;
      readonly stops?: boolean | undefined;
      readonly exit?: { readonly code: number | null; readonly signal: string | null } | undefined;
    };

export const permissionRequest = z.object({
  sessionId: id,
  toolCall,
  options: z._default(listOf(z.object({ optionId: id, name: text, kind: softText }), MOST_SHOWN), []),
  _meta: meta,
});
export type PermissionRequest = Omit<z.output<typeof permissionRequest>, 'toolCall'> & {
  /** Absent when it is about no call. */
  readonly toolCall?: AcpToolCall;
  /** The question's own words, apart from the call. */
  readonly title?: string;
  readonly description?: string;
  readonly command?: { readonly command: string; readonly cwd: string };
};

const authVariable = z.object({ name: id, label: softText, secret: soft(z.boolean()), optional: soft(z.boolean()) });
export const loginCommand = z.object({
  label: softText,
  command: id,
  args: soft(z.array(text)),
  env: soft(z.record(z.string(), z.string())),
});
export type LoginCommand = z.output<typeof loginCommand>;
const authMethod = z.object({
  id,
  name: text,
  description: softText,
  type: softText,
  args: soft(z.array(text)),
  env: soft(z.record(z.string(), z.string())),
  vars: soft(listOf(authVariable)),
  link: softText,
  _meta: meta,
});
export type AuthMethod = z.output<typeof authMethod>;

const agentCapabilities = z.object({
  loadSession: marker,
  promptCapabilities: soft(z.object({ image: marker, audio: marker, embeddedContext: marker })),
  /** Tool servers as processes are taken by all, but for those that say false. */
  mcpCapabilities: soft(z.object({ http: marker, stdio: marker })),
  sessionCapabilities: soft(
    z.object({ list: marker, delete: marker, resume: marker, close: marker, fork: marker, additionalDirectories: marker }),
  ),
  auth: soft(z.object({ logout: marker })),
});
export const initializeAnswer = z.object({
  protocolVersion: z.number(),
  agentInfo: soft(z.object({ name: text, title: softText, version: softText })),
  agentCapabilities: soft(agentCapabilities),
  authMethods: soft(listOf(authMethod)),
});
export type InitializeAnswer = z.output<typeof initializeAnswer>;

export const promptAnswer = z.object({
  stopReason: text,
  usage: soft(z.object({ inputTokens: soft(z.number()), outputTokens: soft(z.number()) })),
});
export const sessionList = z.object({
  sessions: z._default(listOf(z.object({ sessionId: id, cwd: softText, title: softText, updatedAt: softText })), []),
  nextCursor: softText,
});

/** Requests of the agent for files and terminals. */
export const readRequest = z.object({ sessionId: id, path: filePath, line: soft(z.number()), limit: soft(z.number()) });
export const writeRequest = z.object({ sessionId: id, path: filePath, content: text });
const envVariables = listOf(z.object({ name: id, value: text }));
export const terminalRequest = z.object({
  sessionId: id,
  command: id,
  args: soft(z.array(text)),
  env: soft(envVariables),
  cwd: soft(id),
  outputByteLimit: soft(z.number()),
});
export const terminalName = z.object({ sessionId: id, terminalId: id });

// --- codes of errors

export const AUTH_REQUIRED = -32000;
export const NOT_FOUND = -32002;
export const UNSUPPORTED_VERSION = -32022;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL = -32603;

/** The part of the answer to initialize that is read before its version is known. */
export const anyHello = z.looseObject({ protocolVersion: z.number() });
export const elicitationRequest = z.looseObject({ mode: z.string() });
