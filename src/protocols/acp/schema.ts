import * as z from 'zod/mini';

/**
 * What agents send over version 1 (acp.md §3-§11). Lenient where agents are: a field of the wrong shape counts as absent, a bad list member is
 * left out, unknown members are ignored. Only what makes a message meaningless without it is required.
 */

const soft = <T extends z.ZodMiniType>(schema: T) => z.catch(z.nullish(schema), undefined);
/** A list of which the members that do not fit are left out. */
function listOf<T extends z.ZodMiniType>(member: T) {
  return z.pipe(
    z.array(z.unknown()),
    z.transform((members: unknown[]): readonly z.output<T>[] =>
      members.flatMap((one) => {
        const parsed = member.safeParse(one);
        return parsed.success ? [parsed.data] : [];
      }),
    ),
  );
}
const id = z.string().check(z.minLength(1), z.maxLength(4096));
const text = z.string();
const meta = soft(z.record(z.string(), z.unknown()));
/** Markers are objects, but some agents send true. */
const marker = z.catch(z.nullish(z.unknown()), undefined);

export const textBlock = z.object({ type: z.literal('text'), text });
const imageBlock = z.object({ type: z.literal('image'), data: text, mimeType: text });
const audioBlock = z.object({ type: z.literal('audio'), data: text, mimeType: text });
const linkBlock = z.object({ type: z.literal('resource_link'), uri: text, name: soft(text), title: soft(text) });
const resourceBlock = z.object({
  type: z.literal('resource'),
  resource: z.object({ uri: text, mimeType: soft(text), text: soft(text), blob: soft(text) }),
});
const otherBlock = z.looseObject({ type: z.string() });
export const contentBlock = z.union([textBlock, imageBlock, audioBlock, linkBlock, resourceBlock, otherBlock]);
export type ContentBlock = z.output<typeof contentBlock>;

const diffItem = z.object({ type: z.literal('diff'), path: id, oldText: soft(text), newText: text, _meta: meta });
const contentItem = z.object({ type: z.literal('content'), content: contentBlock });
const terminalItem = z.object({ type: z.literal('terminal'), terminalId: id });
const toolContent = z.union([contentItem, diffItem, terminalItem]);
export type ToolContent = z.output<typeof toolContent>;
export type DiffItem = z.output<typeof diffItem>;

/** A tool call, an update of one, and the one inside a permission request: the same members, all but the id may be missing or null. */
export const toolCall = z.object({
  toolCallId: id,
  title: soft(text),
  name: soft(text),
  kind: soft(text),
  status: soft(text),
  content: soft(listOf(toolContent)),
  locations: soft(listOf(z.object({ path: id, line: soft(z.number()) }))),
  rawInput: z.optional(z.unknown()),
  rawOutput: z.optional(z.unknown()),
  _meta: meta,
});
export type WireCall = z.output<typeof toolCall>;

const modes = z.object({ currentModeId: id, availableModes: listOf(z.object({ id, name: text, description: soft(text) })) });
const models = z.object({ currentModelId: id, availableModels: listOf(z.object({ modelId: id, name: text, description: soft(text) })) });
const optionValue = z.object({ value: text, name: text, description: soft(text) });
const optionGroup = z.object({ group: text, name: text, options: listOf(optionValue) });
const optionHead = { id, name: text, description: soft(text), category: soft(text) };
const configOption = z.discriminatedUnion('type', [
  z.object({ ...optionHead, type: z.literal('select'), currentValue: text, options: listOf(z.union([optionGroup, optionValue])) }),
  z.object({ ...optionHead, type: z.literal('boolean'), currentValue: z.boolean() }),
]);
export const configOptions = listOf(configOption);
export type ConfigOption = z.output<typeof configOption>;
export type Modes = z.output<typeof modes>;
export type Models = z.output<typeof models>;

/** The answer to session/new, load, resume and fork. */
export const sessionAnswer = z.object({
  sessionId: soft(id),
  modes: soft(modes),
  models: soft(models),
  configOptions: soft(configOptions),
});
export type SessionAnswer = z.output<typeof sessionAnswer>;

const chunk = { content: contentBlock, messageId: soft(text), _meta: meta };
/** The kinds of session/update this build knows; anything else is traced. */
export const update = z.discriminatedUnion('sessionUpdate', [
  z.object({ sessionUpdate: z.literal('user_message_chunk'), ...chunk }),
  z.object({ sessionUpdate: z.literal('agent_message_chunk'), ...chunk }),
  z.object({ sessionUpdate: z.literal('agent_thought_chunk'), ...chunk }),
  z.extend(toolCall, { sessionUpdate: z.literal('tool_call') }),
  z.extend(toolCall, { sessionUpdate: z.literal('tool_call_update') }),
  z.object({
    sessionUpdate: z.literal('plan'),
    entries: listOf(z.object({ content: text, priority: soft(text), status: soft(text) })),
  }),
  z.object({
    sessionUpdate: z.literal('available_commands_update'),
    availableCommands: listOf(z.object({ name: id, description: soft(text), input: soft(z.object({ hint: soft(text) })) })),
  }),
  z.object({ sessionUpdate: z.literal('current_mode_update'), currentModeId: soft(id), modeId: soft(id) }),
  z.object({ sessionUpdate: z.literal('config_option_update'), configOptions }),
  z.object({ sessionUpdate: z.literal('session_info_update'), title: soft(text) }),
  z.object({
    sessionUpdate: z.literal('usage_update'),
    used: soft(z.number()),
    size: soft(z.number()),
    cost: soft(z.object({ amount: z.number(), currency: text })),
  }),
  z.object({ sessionUpdate: z.literal('notice'), severity: soft(text), title: text, description: soft(text) }),
  z.object({
    sessionUpdate: z.literal('compaction_update'),
    compactionId: id,
    status: soft(text),
    error: z.optional(z.unknown()),
  }),
  z.object({ sessionUpdate: z.literal('compaction_summary_chunk'), compactionId: id }),
]);
export type Update = z.output<typeof update>;
export const updateFrame = z.object({ sessionId: id, update: z.looseObject({ sessionUpdate: z.string() }), _meta: meta });

export const permissionRequest = z.object({
  sessionId: id,
  toolCall,
  options: z._default(listOf(z.object({ optionId: id, name: text, kind: soft(text) })), []),
  _meta: meta,
});
export type PermissionRequest = z.output<typeof permissionRequest>;

const authVariable = z.object({ name: id, label: soft(text), secret: soft(z.boolean()), optional: soft(z.boolean()) });
export const loginCommand = z.object({
  label: soft(text),
  command: id,
  args: soft(z.array(text)),
  env: soft(z.record(z.string(), z.string())),
});
export type LoginCommand = z.output<typeof loginCommand>;
const authMethod = z.object({
  id,
  name: text,
  description: soft(text),
  type: soft(text),
  args: soft(z.array(text)),
  env: soft(z.record(z.string(), z.string())),
  vars: soft(listOf(authVariable)),
  link: soft(text),
  _meta: meta,
});
export type AuthMethod = z.output<typeof authMethod>;

const agentCapabilities = z.object({
  loadSession: marker,
  promptCapabilities: soft(z.object({ image: marker, audio: marker, embeddedContext: marker })),
  mcpCapabilities: soft(z.object({ http: marker, sse: marker })),
  sessionCapabilities: soft(
    z.object({ list: marker, delete: marker, resume: marker, close: marker, fork: marker, additionalDirectories: marker }),
  ),
  auth: soft(z.object({ logout: marker })),
});
export const initializeAnswer = z.object({
  protocolVersion: z.number(),
  agentInfo: soft(z.object({ name: text, title: soft(text), version: soft(text) })),
  agentCapabilities: soft(agentCapabilities),
  authMethods: soft(listOf(authMethod)),
});
export type InitializeAnswer = z.output<typeof initializeAnswer>;

export const promptAnswer = z.object({
  stopReason: text,
  usage: soft(z.object({ inputTokens: soft(z.number()), outputTokens: soft(z.number()) })),
});
export const sessionList = z.object({
  sessions: z._default(listOf(z.object({ sessionId: id, cwd: soft(text), title: soft(text), updatedAt: soft(text) })), []),
  nextCursor: soft(text),
});

/** Requests of the agent for files and terminals (acp.md §10). */
export const readRequest = z.object({ sessionId: id, path: id, line: soft(z.number()), limit: soft(z.number()) });
export const writeRequest = z.object({ sessionId: id, path: id, content: text });
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
