import { parseJson } from '../../base/json.ts';
import { fenced, inOneLine } from '../../base/promptText.ts';
import type { Command, Content, Field } from '../../session/model.ts';
import { type CallSnapshot, isConfirmation, readGeminiCall, readRfcCall } from './calls.ts';
import type { A2aPeer } from './card.ts';
import {
  artifactUpdate,
  type CallState,
  type CommandState,
  commandAnswer,
  commandRequest,
  commandStates,
  EXTENSION,
  eventKinds,
  type Fields,
  fields,
  isOurExtension,
  isRecord,
  LENGTHS,
  type Message,
  mayBe,
  member,
  message,
  type Part,
  type RfcToolCall,
  type StatusUpdate,
  slashCommand,
  statusUpdate,
  task,
  thought,
  writesCamel,
  written,
} from './schema.ts';
import { messageOn, stateOf, type TaskState } from './versionCodec.ts';

/*
 * A2A 0.3 and 1.0, both dialects of the development-tool extension, and the messages of the Gemini CLI server, in both directions: records of a stream
 * become `Incoming`, their parts `PartContent`; what a client and an agent write is spelled as the version and the dialect of the other side
 * want it. Pure.
 */

// --- records

/** One record of a stream, the same for both versions of A2A (docs/protocols/a2a.md §4). */
export interface Incoming {
  readonly kind: 'task' | 'status' | 'artifact' | 'message';
  readonly taskId?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  readonly final: boolean;
  readonly parts: readonly Part[];
  readonly messageId?: string;
  readonly metadata?: Fields;
  readonly timestamp?: string;
  /** Of an artifact. */
  readonly artifact?: { readonly id: string; readonly append: boolean };
  /** Of a task: what was said and made so far. */
  readonly history?: readonly Message[];
  readonly artifacts?: readonly { readonly id: string; readonly parts: readonly Part[] }[];
}

/** undefined: nothing this build knows. */
export function toIncoming(result: unknown): Incoming | undefined {
  if (!isRecord(result)) return undefined;
  const isBare = result.kind !== undefined || 'status' in result;
  const wrapped = isBare ? undefined : wrapping.find((name) => isRecord(result[name]));
  const body = wrapped ? result[wrapped] : result;
  switch (wrapped ?? shapeOf(result)) {
    case 'task':
      return fromTask(body);
    case 'statusUpdate':
      return fromStatus(body);
    case 'artifactUpdate':
      return fromArtifact(body);
    case 'message':
      return fromMessage(body);
    default:
      return undefined;
  }
}

const wrapping = ['task', 'statusUpdate', 'artifactUpdate', 'message'] as const;

function shapeOf(result: Fields): (typeof wrapping)[number] | undefined {
  switch (result.kind) {
    case 'task':
      return 'task';
    case 'status-update':
      return 'statusUpdate';
    case 'artifact-update':
      return 'artifactUpdate';
    case 'message':
      return 'message';
    default:
      if ('status' in result) return 'taskId' in result ? 'statusUpdate' : 'id' in result ? 'task' : undefined;
      if ('artifact' in result) return 'artifactUpdate';
      return 'parts' in result && 'messageId' in result ? 'message' : undefined;
  }
}

/** The task accepts no more messages, or claims that. */
export function isOver(state: TaskState | null | undefined): boolean {
  return state === 'completed' || state === 'canceled' || state === 'failed' || state === 'rejected';
}

export function isFailed({ state }: Incoming): boolean {
  return state === 'failed' || state === 'rejected';
}

/** The agent sends nothing more until it gets a message. */
export function isAtRest(state: TaskState | null | undefined): boolean {
  return isOver(state) || state === 'input-required' || state === 'auth-required';
}

function ids(taskId: string | null | undefined, contextId: string | null | undefined) {
  return { ...(taskId ? { taskId } : {}), ...(contextId ? { contextId } : {}) };
}

function messageOf(from: Message | null | undefined) {
  return { parts: from?.parts ?? [], ...(from?.messageId ? { messageId: from.messageId } : {}) };
}

function fromTask(body: unknown): Incoming | undefined {
  const parsed = task.safeParse(body);
  if (!parsed.success) return undefined;
  const { id, contextId, status, history, artifacts, metadata } = parsed.data;
  return {
    kind: 'task',
    ...ids(id, contextId),
    state: stateOf(status.state),
    final: false,
    ...messageOf(status.message),
    ...(status.timestamp ? { timestamp: status.timestamp } : {}),
    metadata: { ...metadata, ...status.message?.metadata },
    history: history ?? [],
    artifacts: (artifacts ?? []).map((one) => ({ id: one.artifactId ?? '', parts: one.parts ?? [] })),
  };
}

/** Nearly every record comes through here: the object is written out instead of being put together. */
function fromStatus(body: unknown): Incoming | undefined {
  const update = isPlainStatus(body) ? body : statusUpdate.safeParse(body).data;
  if (!update) return undefined;
  const { taskId, contextId, status, final, metadata } = update;
  const { message, timestamp } = status;
  const own = message?.metadata;
  const found: { -readonly [K in keyof Incoming]: Incoming[K] } = {
    kind: 'status',
    taskId,
    state: stateOf(status.state),
    final: final ?? false,
    parts: message?.parts ?? [],
    metadata: own ? { ...own, ...metadata } : (metadata ?? {}),
  };
  if (contextId) found.contextId = contextId;
  if (message?.messageId) found.messageId = message.messageId;
  if (timestamp) found.timestamp = timestamp;
  return found;
}

function fromArtifact(body: unknown): Incoming | undefined {
  const parsed = artifactUpdate.safeParse(body);
  if (!parsed.success) return undefined;
  const { taskId, contextId, artifact, append, metadata } = parsed.data;
  return {
    kind: 'artifact',
    ...ids(taskId, contextId),
    final: false,
    parts: artifact.parts ?? [],
    artifact: { id: artifact.artifactId ?? '', append: append ?? false },
    ...(metadata ? { metadata } : {}),
  };
}

function fromMessage(body: unknown): Incoming | undefined {
  const parsed = message.safeParse(body);
  if (!parsed.success) return undefined;
  const { taskId, contextId, metadata } = parsed.data;
  // An agent that keeps no task has answered with it.
  const state = 'completed';
  return { kind: 'message', ...ids(taskId, contextId), state, final: true, ...messageOf(parsed.data), ...(metadata ? { metadata } : {}) };
}

/**
 * A status update checked by hand: nearly all records of a stream are one with a few words or a call in it, and the schema costs five times as
 * much. What it refuses is for the schema, which takes all that this takes.
 */
export function isPlainStatus(body: unknown): body is StatusUpdate {
  if (!isRecord(body) || !isRecord(body.status)) return false;
  const { taskId, contextId, status, final, metadata } = body;
  const { state, timestamp, message } = status;
  if (typeof taskId !== 'string' || taskId.length > LENGTHS.id || !mayBe(contextId, LENGTHS.id)) return false;
  if ((final != null && typeof final !== 'boolean') || !mayBeFields(metadata)) return false;
  return mayBe(state, LENGTHS.short) && mayBe(timestamp, LENGTHS.short) && (message == null || isPlainMessage(message));
}

function isPlainMessage(message: unknown): boolean {
  if (!isRecord(message)) return false;
  const { messageId, role, parts, taskId, contextId, metadata } = message;
  if (!mayBe(messageId, LENGTHS.id) || !mayBe(taskId, LENGTHS.id) || !mayBe(contextId, LENGTHS.id)) return false;
  if (!mayBe(role, LENGTHS.short) || !mayBeFields(metadata)) return false;
  return parts == null || (Array.isArray(parts) && parts.length <= LENGTHS.parts && parts.every(isPlainPart));
}

/** A part with words or data; the other members are seldom there. */
function isPlainPart(part: unknown): boolean {
  if (!isRecord(part) || !mayBe(part.kind, LENGTHS.short) || !mayBe(part.text, LENGTHS.long)) return false;
  const { file, raw, url, filename, mediaType } = part;
  return file === undefined && raw === undefined && url === undefined && filename === undefined && mediaType === undefined;
}

function mayBeFields(value: unknown): boolean {
  return value == null || isRecord(value);
}

/** The meaning of a part of a record. */
export type PartContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | {
      readonly type: 'call';
      readonly call: CallSnapshot;
      readonly dialect: 'rfc' | 'gemini';
      readonly newer: boolean;
      readonly camel: boolean;
    }
  | { readonly type: 'link'; readonly uri: string; readonly title?: string }
  | { readonly type: 'data'; readonly value: unknown };

export function contentOf(said: Extract<PartContent, { type: 'link' | 'data' }>): Content {
  if (said.type === 'data') return { type: 'raw', label: 'data', value: said.value };
  return { type: 'link', uri: said.uri, ...(said.title ? { title: said.title } : {}) };
}

/** `event` saves working it out again where it is known. */
export function meaningOf({ parts, metadata }: Incoming, event = eventOf(metadata)): readonly PartContent[] {
  const [only] = parts;
  if (only && parts.length === 1) return readPart(only, event.kind);
  return parts.flatMap((part) => readPart(part, event.kind));
}

/** Beside the message: which model, what went wrong. */
export interface EventFacts {
  readonly kind: (typeof eventKinds)[number] | 'citation';
  readonly model?: string;
  /** The user's plan with the agent's maker: free, paid. */
  readonly tier?: string;
  readonly error?: string;
  readonly retry: boolean;
}

/** The metadata of the extension wherever the agent put it (docs/protocols/a2a.md §6). */
export function eventOf(metadata: Fields | undefined): EventFacts {
  if (!metadata) return NO_EVENT;
  const own = metadata[EXTENSION] ?? metadata[Object.keys(metadata).find((one) => isOurExtension(one)) ?? EXTENSION];
  const place = isEvent(own) ? own : isEvent(metadata.coderAgent) ? metadata.coderAgent : isEvent(metadata) ? metadata : {};
  const { kind, model = metadata.model, error = metadata.error } = place;
  const tier = place.user_tier ?? place.userTier ?? metadata.userTier;
  const found: { -readonly [K in keyof EventFacts]: EventFacts[K] } = {
    kind: typeof kind === 'string' && kind.toLowerCase() === 'citation' ? 'citation' : member(kind, eventKinds),
    retry: false,
  };
  if (typeof model === 'string' && model !== '') found.model = model;
  if (typeof tier === 'string' && tier !== '') found.tier = tier;
  if (error === undefined || error === null) return found;
  const words = typeof error === 'string' ? error : isRecord(error) && typeof error.message === 'string' ? error.message : undefined;
  const type = isRecord(error) ? error.type : typeWithin(words);
  if (words) found.error = words;
  found.retry = type === 'retry' || type === 'invalid_stream';
  return found;
}
function isEvent(value: unknown): value is Fields {
  return isRecord(value) && 'kind' in value;
}
const NO_EVENT: EventFacts = { kind: 'unspecified', retry: false };

/** The early Gemini CLI server reports its retries as a text that ends with JSON: `Unknown error from LLM stream: {"type":"retry"}`. */
function typeWithin(words: string | undefined): unknown {
  const at = words?.indexOf('{') ?? -1;
  const value = words === undefined || at < 0 ? undefined : parseOrUndefined(words.slice(at));
  return isRecord(value) ? value.type : undefined;
}

function readPart(part: Part, kind: EventFacts['kind']): readonly PartContent[] {
  if (typeof part.text === 'string') {
    if (part.text === '') return [];
    return [{ type: kind === 'thought' ? 'thought' : 'text', text: part.text }];
  }
  if (part.data !== undefined && part.data !== null) return isConfirmation(part.data) ? [] : [readData(part.data, kind)];
  const uri = part.file?.uri ?? part.url;
  const title = part.file?.name ?? part.filename;
  if (uri) return [{ type: 'link', uri, ...(title ? { title } : {}) }];
  return part.file || part.raw ? [{ type: 'data', value: { file: title ?? part.file?.mimeType ?? part.mediaType ?? 'file' } }] : [];
}

/** By its own shape, whatever the event calls itself. */
function readData(data: unknown, kind: EventFacts['kind']): PartContent {
  const gemini = readGeminiCall(data);
  if (gemini) {
    const { newer, ...call } = gemini;
    return { type: 'call', call, dialect: 'gemini', newer, camel: true };
  }
  const rfc = readRfcCall(data);
  if (rfc) return { type: 'call', call: rfc, dialect: 'rfc', newer: false, camel: writesCamel(data) };
  if (kind === 'thought' || (isRecord(data) && 'subject' in data)) {
    const parsed = thought.safeParse(data);
    if (parsed.success) {
      const { subject, description } = parsed.data;
      return { type: 'thought', text: [subject ? `**${subject}**` : '', description ?? ''].filter(Boolean).join('\n\n') };
    }
  }
  return { type: 'data', value: data };
}

// --- what we write, in the version and the dialect the agent speaks (docs/protocols/a2a.md §4, §6)

/** The spelling that the agent wants; a part of its card. */
export type Spelling = Pick<A2aPeer, 'wire' | 'dialect' | 'extension' | 'commandContext'>;
/** The user's decision about one call; `camel`: the agent names its members so. */
export interface CallDecision {
  readonly callId: string;
  readonly dialect: 'rfc' | 'gemini';
  /** The option that was chosen. */
  readonly sends: string;
  /** The proposal as the user changed it. */
  readonly edited: string | null;
  readonly camel: boolean;
}
export interface OutgoingMessage {
  readonly messageId: string;
  readonly says: string | CallDecision;
  readonly taskId: string | null;
  readonly contextId: string | null;
  /** The folder to work in, with the first message of a task. */
  readonly workspace: string | null;
  /** The task that this one follows. */
  readonly reference: string | null;
}

export function promptText(content: readonly Content[]): string {
  return content.map(textOfContent).filter(Boolean).join('\n\n');
}

function textOfContent(content: Content): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'file': {
      const lines = content.lines ? `:${content.lines[0]}-${content.lines[1]}` : '';
      const place = `${inOneLine(content.path)}${lines}`;
      return content.text === undefined ? `@${place}` : `${place}\n${fenced(content.text)}`;
    }
    case 'link':
      return content.title ? `${content.title}: ${content.uri}` : content.uri;
    case 'image':
    case 'audio':
      return `[${content.mime}]`;
    case 'raw':
      return `${content.label}\n${JSON.stringify(content.value)}`;
  }
}

/** The params of `message/stream`. */
export function messageParams(to: Spelling, { messageId, says, taskId, contextId, workspace, reference }: OutgoingMessage): Fields {
  const metadata = workspace === null ? undefined : settingsOf(to, workspace);
  return {
    message: messageOn(to.wire, {
      role: 'user',
      messageId,
      parts: [typeof says === 'string' ? { text: says } : { data: confirmationOf(says) }],
      ...(taskId === null ? {} : { taskId }),
      ...(contextId === null ? {} : { contextId }),
      ...(metadata ? { metadata } : {}),
      ...(to.extension ? { extensions: [to.extension] } : {}),
      ...(reference === null ? {} : { referenceTaskIds: [reference] }),
    }),
  };
}

function settingsOf({ extension, dialect }: Spelling, workspace: string): Fields | undefined {
  if (extension) return { [extension]: { workspace_path: workspace } };
  return dialect === 'gemini' ? { coderAgent: { kind: 'agent-settings', workspacePath: workspace } } : undefined;
}

/** The settings of the extension in the metadata of a message, as their client wrote them: unchecked. */
export function readSettings(metadata: Fields | undefined): { readonly workspacePath?: unknown; readonly mcpServers?: unknown } {
  const given = metadata?.[EXTENSION];
  const { workspace_path, workspacePath = workspace_path, mcp_servers, mcpServers = mcp_servers } = isRecord(given) ? given : {};
  return { workspacePath, mcpServers };
}

/** The params of `command/execute`. The RFC has no place for the conversation: only agents that offer one get it. */
export function commandParams(
  { extension, commandContext }: Spelling,
  {
    path,
    args,
    contextId,
    workspace,
  }: { readonly path: readonly string[]; readonly args: string; readonly contextId: string | null; readonly workspace: string },
): Fields {
  const rfc = { command_path: path, args };
  if (!commandContext || !extension) return rfc;
  return { ...rfc, ...(contextId ? { contextId } : {}), metadata: { [extension]: { workspace_path: workspace } } };
}

function confirmationOf({ callId, dialect, sends, edited, camel }: CallDecision): Fields {
  if (dialect === 'gemini') return { callId, outcome: sends, ...(edited === null ? {} : { newContent: edited }) };
  const answer = { tool_call_id: callId, selected_option_id: sends, ...(edited === null ? {} : { file_details: { new_content: edited } }) };
  return written(answer, camel);
}

/** A decision as its client wrote it; a member is undefined when it is missing or given twice with different values. */
export interface ReadDecision {
  readonly callId: unknown;
  readonly option: unknown;
  /** The proposal as the user changed it. */
  readonly edited: 'none' | 'unreadable' | { readonly text: string };
}
/** The other direction of a decision in the RFC's own shape, in either style of names; undefined for other data. */
export function readDecision(data: Fields): ReadDecision | undefined {
  const options = [data.selected_option_id, data.selectedOptionId].filter((option) => option != null);
  const ids = [data.tool_call_id, data.toolCallId].filter((id) => id != null);
  if (options.length === 0 && ids.length === 0) return undefined;
  return { callId: agreed(ids), option: agreed(options), edited: editedIn(data) };
}

/** The one value that is there, in whatever style of names; undefined when there are two. */
function agreed(values: readonly unknown[]): unknown {
  const given = new Set(values.filter((value) => value !== undefined && value !== null));
  return given.size === 1 ? [...given][0] : undefined;
}

/** Reads the user's text of the file: the oneof has no name in ProtoJSON, but some writers wrap it in its name. */
function editedIn(data: Fields): ReadDecision['edited'] {
  const wrapper = data.modified_details ?? data.modifiedDetails ?? undefined;
  const inside = isRecord(wrapper) && Object.keys(wrapper).length > 0 ? wrapper : undefined;
  const files = [data.file_details, data.fileDetails, inside?.file_details, inside?.fileDetails].filter(
    (file) => file !== undefined && file !== null,
  );
  if (inside && (files.length === 0 || 'new_content' in inside || 'newContent' in inside)) files.push(inside);
  if (files.length === 0) return wrapper === undefined || isRecord(wrapper) ? 'none' : 'unreadable';
  const text = agreed(files.flatMap((file) => (isRecord(file) ? [file.new_content, file.newContent] : [])));
  return typeof text === 'string' ? { text } : 'unreadable';
}

// --- what an agent writes in the extension's own shapes: the other direction of what is read above (docs/protocols/a2a.md §6)

export interface UpdateEvent {
  readonly kind: (typeof eventKinds)[number];
  readonly model?: string;
  readonly error?: string;
}
/** The metadata of an update, which `eventOf` reads. */
export function eventMetadata({ kind, ...facts }: UpdateEvent): Fields {
  return { [EXTENSION]: { kind: kind.toUpperCase(), ...facts } };
}

/** A call in an update: the whole of it. The types are those that the client's schema reads. */
export interface CallUpdate {
  readonly id: string;
  readonly status: CallState;
  readonly tool: string;
  readonly description?: string;
  readonly input: Fields;
  /** The output of a running call so far. */
  readonly live?: string;
  readonly output?: RfcToolCall['output'];
  readonly error?: RfcToolCall['error'];
  readonly request?: RfcToolCall['confirmation_request'];
}
/** The data of a call's update, which `readRfcCall` reads. */
export function callData({ id, status, tool, description, input, live, output, error, request }: CallUpdate): Fields {
  return {
    tool_call_id: id,
    status: status.toUpperCase(),
    tool_name: tool,
    ...(description === undefined ? {} : { description }),
    input_parameters: input,
    ...(live === undefined ? {} : { live_content: live }),
    ...(output ? { output } : {}),
    ...(error ? { error } : {}),
    ...(request ? { confirmation_request: request } : {}),
  };
}
/** The id of the call, where this is what `callData` writes of one that runs. */
export function runningCallIn(data: Fields): unknown {
  return data.status === 'EXECUTING' ? data.tool_call_id : undefined;
}
/** The data of a thought. */
export function thoughtData(subject: string, description: string): Fields {
  return { subject, description };
}

// --- slash commands

const DEEPEST = 5;
const MOST = 500;

export interface CommandTree {
  readonly commands: readonly Command[];
  /** Arguments that must be given, by the command as it is typed, with its slash. */
  readonly required: Readonly<Record<string, readonly Argument[]>>;
  readonly by: 'rpc' | 'rest';
}
export interface Argument {
  readonly name: string;
  readonly description: string;
}
export function argumentFields(required: readonly Argument[]): readonly Field[] {
  return required.map(({ name, description }) => ({ id: name, label: description ? `${name}: ${description}` : name, required: true }));
}
/** The arguments as they are typed behind a command. */
export function argumentsIn(required: readonly Argument[], values: Readonly<Record<string, readonly string[]>>): string {
  return required.map(({ name }) => values[name]?.join(' ') ?? '').join(' ');
}

/** The agent's slash commands, from either way of listing them; undefined when it is not a list. */
export function commandTree(value: unknown, by: CommandTree['by']): CommandTree | undefined {
  if (!isRecord(value) || !Array.isArray(value.commands)) return undefined;
  const required: Record<string, readonly Argument[]> = {};
  const read = (all: readonly unknown[], path: readonly string[]): readonly Command[] =>
    path.length >= DEEPEST
      ? []
      : all.slice(0, MOST).flatMap((one): readonly Command[] => {
          const parsed = slashCommand.safeParse(plainCommand(one));
          if (!parsed.success) return [];
          const { description, arguments: args, sub_commands: below } = parsed.data;
          const parent = `${path.join(' ')} `;
          // The Gemini CLI server names sub-commands by their whole path.
          const name = path.length > 0 && parsed.data.name.startsWith(parent) ? parsed.data.name.slice(parent.length) : parsed.data.name;
          const here = [...path, name];
          const needed = (args ?? [])
            .filter((arg) => arg.is_required)
            .map((arg) => ({ name: arg.name, description: arg.description ?? '' }));
          if (needed.length > 0) required[`/${here.join(' ')}`] = needed;
          const hint = (args ?? []).map((arg) => (arg.is_required ? `<${arg.name}>` : `[${arg.name}]`)).join(' ');
          const children = read(below ?? [], here);
          return [
            {
              name,
              description: description ?? '',
              aliases: [],
              ...(hint ? { hint } : {}),
              ...(children.length > 0 ? { children } : {}),
            },
          ];
        });
  return { commands: read(value.commands, []), required, by };
}

function plainCommand(value: unknown): unknown {
  const command = fields(value, ['name', 'description', 'arguments', 'sub_commands']);
  return {
    ...command,
    ...(Array.isArray(command.arguments)
      ? { arguments: command.arguments.map((one: unknown) => fields(one, ['name', 'description', 'is_required'])) }
      : {}),
  };
}

/** `id`: of the task that runs it. */
export interface CommandAnswer {
  readonly id: string | null;
  readonly status: string;
  readonly message: string;
}
/** The answer to `command/execute`; undefined when it is malformed. */
export function readCommandAnswer(result: unknown): CommandAnswer | undefined {
  const parsed = commandAnswer.safeParse(fields(result, ['execution_id', 'status', 'message']));
  if (!parsed.success) return undefined;
  const { execution_id: id, status, message } = parsed.data;
  if (id == null && status == null && !message) return undefined;
  return { id: id || null, status: member(status, commandStates), message: message ?? '' };
}

/** The other direction of `readCommandAnswer`. */
export function commandAnswerOn({ id, status, message: words }: CommandAnswer & { readonly status: CommandState }): Fields {
  return { execution_id: id ?? '', status: status.toUpperCase(), message: words };
}
/** The params of `command/execute`, in either style of names; undefined when they are malformed. */
export function readCommandRequest({ commandPath, ...rest }: Fields) {
  return commandRequest.safeParse({ command_path: commandPath, ...rest }).data;
}

/** With so many records behind its answer, the command has not begun. */
export function cannotStart({ id, status, message }: CommandAnswer, records: number): boolean {
  const ran = status === 'started' || (status === 'unspecified' && message !== '');
  return status === 'failed_to_start' || (records === 0 && id === null && !ran);
}

/** The Gemini CLI server's answer to a command, in the body of its response: text, a message, several of them, or any JSON. */
export function readCommandResult(body: unknown): CommandResult {
  return resultIn(isRecord(body) ? body.data : body);
}
interface CommandResult {
  readonly failed: boolean;
  readonly text: string;
}
function resultIn(data: unknown): CommandResult {
  if (typeof data === 'string') return { failed: false, text: data };
  if (Array.isArray(data)) {
    const all = data.map(resultIn);
    return { failed: all.some((one) => one.failed), text: all.map((one) => one.text).join('\n\n') };
  }
  if (isRecord(data) && data.type === 'message') {
    return { failed: data.messageType === 'error', text: typeof data.content === 'string' ? data.content : codeBlock(data.content) };
  }
  return { failed: false, text: data === undefined || data === null ? '' : codeBlock(data) };
}
function codeBlock(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

/** The checkpoints that the Gemini CLI server lists: JSON in a text. */
export function readCheckpoints(value: unknown): readonly string[] {
  const data = isRecord(value) ? value.data : undefined;
  const content = isRecord(data) ? data.content : data;
  const all = typeof content === 'string' ? parseOrUndefined(content) : content;
  if (!Array.isArray(all)) return [];
  return all.flatMap((one) => (isRecord(one) && typeof one.checkpoint === 'string' ? one.checkpoint : [])).slice(0, 200);
}

export function textOf(parts: readonly Part[]): string {
  let text = '';
  for (const part of parts) if (typeof part.text === 'string') text += part.text;
  return text;
}

/** undefined for text that is no JSON. */
export function parseOrUndefined(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
