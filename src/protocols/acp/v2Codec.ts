import { parsePatch } from 'diff';
import * as z from 'zod/mini';
import { type Codec, readPlain, type TerminalUpdate } from './codec.ts';
import {
  type AcpToolCall,
  type ConfigOption,
  contentBlock,
  contentItem,
  type DiffItem,
  type InitializeAnswer,
  id,
  listOf,
  marker,
  meta,
  optionValue,
  type PermissionRequest,
  permissionRequest,
  type SessionAnswer,
  type SessionUpdate,
  sessionAnswer,
  soft,
  softText,
  type ToolContent,
  terminalItem,
  text,
  toolCall,
} from './schema.ts';

/* Version 2 of the protocol, a draft, brought into the form of version 1 (docs/protocols/acp.md, "Versions"). */

// --- schemas
const change = z.object({ operation: text, path: id, oldPath: soft(id) });
const diff = z.object({
  type: z.literal('diff'),
  changes: z.pipe(
    z.transform((given: unknown) =>
      Array.isArray(given) && given.length > MOST_CHANGES ? [...given.slice(0, MOST_CHANGES), more(given)] : given,
    ),
    listOf(change),
  ),
  patch: soft(z.object({ format: text, text })),
});
const contentPiece = z.pipe(
  z.union([contentItem, diff, terminalItem]),
  z.transform((item): readonly ToolContent[] => (item.type === 'diff' ? diffItems(item) : [item])),
);
const callContent = z.pipe(
  listOf(contentPiece),
  z.transform((pieces) => pieces.flat()),
);

/** Whether the user may stop it. Null and a wrong shape mean no, absent is unchanged. */
const controls = z.pipe(
  z.catch(z.nullish(z.object({ cancel: marker })), null),
  z.transform((given): boolean | undefined => (given === undefined ? undefined : Boolean(given?.cancel))),
);

/** Null takes away what was said before; what is absent is unchanged. */
const call = z.pipe(
  z.extend(z.omit(toolCall, { content: true }), { content: soft(callContent), capabilities: controls }),
  z.transform(
    ({ capabilities: stops, title, name, kind, status, content, locations, rawInput, rawOutput, ...rest }): AcpToolCall => ({
      ...rest,
      stops,
      title,
      name,
      kind: kind === null ? 'other' : kind,
      status: status === null ? 'pending' : status,
      content: content === null ? [] : content,
      locations: locations === null ? [] : locations,
      rawInput,
      rawOutput,
      unset: Object.entries({ title, name, rawInput, rawOutput }).flatMap(([key, value]) =>
        value === null ? [key as 'title' | 'name' | 'rawInput' | 'rawOutput'] : [],
      ),
    }),
  ),
);
const callChunk = z.object({ toolCallId: id, content: contentPiece });

const message = z.object({ messageId: id, content: soft(listOf(contentBlock)) });
const bytes = soft(z.object({ data: text }));
const exitStatus = soft(z.object({ exitCode: soft(z.number()), signal: softText }));
const terminal = z.object({ terminalId: id, command: softText, output: bytes, exitStatus, capabilities: controls });
const terminalChunk = z.object({ terminalId: id, data: text });

const optionHead = { configId: id, name: text, description: softText, category: softText };
const group = z.pipe(
  z.object({ groupId: text, name: text, options: listOf(optionValue) }),
  z.transform(({ groupId, ...rest }) => ({ group: groupId, ...rest })),
);
const values = listOf(z.union([group, optionValue]));
const configOption = z.pipe(
  z.discriminatedUnion('type', [
    z.object({ ...optionHead, type: z.literal('select'), currentValue: text, options: values }),
    z.object({ ...optionHead, type: z.literal('boolean'), currentValue: z.boolean() }),
  ]),
  z.transform(({ configId, ...option }): ConfigOption => ({ ...option, id: configId })),
);
const configOptions2 = listOf(configOption);
const sessionAnswer2 = z.pipe(
  z.extend(z.omit(sessionAnswer, { configOptions: true, modes: true, models: true }), { configOptions: soft(configOptions2) }),
  z.transform((answer): SessionAnswer => answer),
);

const command = z.object({ command: text, cwd: text, toolCallId: soft(id) });
const permission2 = z.pipe(
  z.extend(z.omit(permissionRequest, { toolCall: true }), {
    title: text,
    description: softText,
    subject: soft(
      z.union([
        z.object({ type: z.literal('tool_call'), toolCall: call }),
        z.extend(command, { type: z.literal('command') }),
        z.object({ type: text }),
      ]),
    ),
  }),
  z.transform(({ subject, title, description, ...rest }): PermissionRequest => {
    const head = { ...rest, title, ...(description ? { description } : {}) };
    if (subject && 'toolCall' in subject) return { ...head, toolCall: subject.toolCall };
    if (!subject || !('command' in subject)) return head;
    const { command, cwd, toolCallId } = subject;
    return { ...head, command: { command, cwd }, ...(toolCallId == null ? {} : { toolCall: { toolCallId } as AcpToolCall }) };
  }),
);

const authMethod = z.object({
  methodId: id,
  name: text,
  description: softText,
  type: text,
  args: soft(z.array(text)),
  env: soft(listOf(z.object({ name: text, value: text }))),
  _meta: meta,
});
const capabilities = z.object({
  session: soft(
    z.object({
      prompt: soft(z.object({ image: marker, audio: marker, embeddedContext: marker })),
      mcp: soft(z.object({ stdio: marker, http: marker })),
      delete: marker,
      fork: marker,
      additionalDirectories: marker,
    }),
  ),
});
/** The hello of version 2 in the members of version 1. Listing, resuming and closing are always there, logging out where there is a login. */
const helloAnswer = z.pipe(
  z.object({
    protocolVersion: z.number(),
    info: soft(z.object({ name: text, title: softText, version: softText })),
    capabilities: soft(capabilities),
    authMethods: soft(listOf(authMethod)),
  }),
  z.transform(({ protocolVersion, info, capabilities: caps, authMethods }): InitializeAnswer => {
    const session = caps?.session;
    return {
      protocolVersion,
      agentInfo: info,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: session?.prompt,
        mcpCapabilities: { http: session?.mcp?.http, stdio: session?.mcp?.stdio ?? false },
        sessionCapabilities: {
          list: true,
          resume: true,
          close: true,
          delete: session?.delete,
          fork: session?.fork,
          additionalDirectories: session?.additionalDirectories,
        },
        auth: { logout: (authMethods?.length ?? 0) > 0 },
      },
      authMethods: authMethods?.map(({ methodId, env, ...method }) => ({
        ...method,
        id: methodId,
        env: env && Object.fromEntries(env.map(({ name, value }) => [name, value])),
      })),
    };
  }),
);

// --- the codec

/** Version 2, a draft, offered where a profile asks for it. */
export const version2: Codec = {
  version: 2,
  authenticate: 'auth/login',
  logout: 'auth/logout',
  hello: helloAnswer,
  sessionAnswer: sessionAnswer2,
  permission: permission2,
  servesEditor: false,
  promptAnswersAtEnd: false,
  messagesStay: true,
  readUpdate: (value) => {
    const kind = (value as { readonly sessionUpdate?: unknown }).sessionUpdate;
    const own = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    return own ? own(value) : readPlain(value);
  },
  server: ({ how, ...server }) => ({ type: how === 'http' ? 'http' : 'stdio', ...server }),
  resume: (key, history) => ({
    method: 'session/resume',
    more: { sessionId: key, ...(history ? { replayFrom: { type: 'start' } } : {}) },
    replays: history,
  }),
  optionValue: (value) => ({ type: typeof value === 'boolean' ? 'boolean' : 'id', value }),
};

/** The kinds that say something else than in version 1, or are new. */
const kinds: Readonly<Record<string, (value: object) => SessionUpdate | undefined>> = {
  user_message: (value) => whole('prompt', value),
  agent_message: (value) => whole('text', value),
  agent_thought: (value) => whole('thought', value),
  tool_call_update: (value) => {
    const parsed = call.safeParse(value);
    return parsed.success ? { sessionUpdate: 'tool_call_update', ...parsed.data } : undefined;
  },
  tool_call_content_chunk: (value) => {
    const parsed = callChunk.safeParse(value);
    return parsed.success
      ? { sessionUpdate: 'tool_call_update', toolCallId: parsed.data.toolCallId, added: parsed.data.content }
      : undefined;
  },
  config_option_update: (value) => {
    const parsed = configOptions2.safeParse((value as { readonly configOptions?: unknown }).configOptions);
    return parsed.success ? { sessionUpdate: 'config_option_update', configOptions: parsed.data } : undefined;
  },
  terminal_update: (value) => {
    const parsed = terminal.safeParse(value);
    if (!parsed.success) return undefined;
    const { terminalId, command, output, exitStatus, capabilities: stops } = parsed.data;
    return {
      sessionUpdate: 'terminal',
      terminalId,
      command: command ?? undefined,
      output: output === null ? '' : output?.data,
      stops,
      exit: exitStatus ? { code: exitStatus.exitCode ?? null, signal: exitStatus.signal ?? null } : undefined,
    };
  },
  terminal_output_chunk: (value) => {
    const parsed = terminalChunk.safeParse(value);
    return parsed.success ? { sessionUpdate: 'terminal', ...parsed.data } : undefined;
  },
};

function whole(kind: 'text' | 'thought' | 'prompt', value: object): SessionUpdate | undefined {
  const parsed = message.safeParse(value);
  if (!parsed.success) return undefined;
  const { messageId, content } = parsed.data;
  return { sessionUpdate: 'message', kind, messageId, content: content === null ? [] : content };
}

// --- changes of files

interface Change {
  readonly operation: string;
  readonly path: string;
  readonly oldPath?: string | null | undefined;
}
interface Changes {
  readonly changes: readonly Change[];
  readonly patch?: { readonly format: string; readonly text: string } | null | undefined;
}

/** UTF-16 units of the longest patch that is read. */
const LONGEST_PATCH = 200_000;
/** Changes that are shown one by one, the rest is one sentence. */
const MOST_CHANGES = 1000;
/** Files of the longest patch that is read; of others only the names are. */
const MOST_PATCHED = 500;

/**
 * Changes of files, with or without a git patch, as edits. What lines do not say, or not for certain, becomes a sentence, which no rule allows: a
 * change without a readable patch, where a file comes from, its mode.
 */
function diffItems({ changes, patch }: Changes): readonly DiffItem[] {
  const { files, isCertain } = patch ? readPatch(patch) : { files: [], isCertain: true };
  const byName = new Map<string, Patched>();
  for (const file of files) {
    if (file.path === '' && file.hunks.length === 0) continue;
    const before = byName.get(file.path);
    if (before) for (const hunk of file.hunks) before.hunks.push(hunk);
    byName.set(file.path, { ...file, hunks: before?.hunks ?? file.hunks, isPlain: file.isPlain && (before?.isPlain ?? true) });
  }
  const show = (change: Change, file: Patched | undefined) => {
    const hunks = file?.hunks.map((hunk) => toItem(change, hunk)) ?? [];
    return file?.isPlain && isCertain && hunks.length > 0 && !WANDERS.has(change.operation) ? hunks : [sentence(change), ...hunks];
  };
  const items = changes.flatMap((change) => {
    const file =
      takeFile(byName, change.path) ?? takeFile(byName, change.oldPath ?? '') ?? (changes.length === 1 ? takeNamed(byName, '') : undefined);
    const meant = change.operation === 'modify' && file ? file.operation : change.operation;
    return show({ ...change, operation: meant, oldPath: change.oldPath ?? file?.oldPath }, file);
  });
  // Nothing of a patch stays unseen because the list of changes does not name its file.
  const rest = [...byName.values()].flatMap((file) => show(file, file));
  return [...items, ...rest];
}

/** Lines say nothing of where a file comes from. */
const WANDERS: ReadonlySet<string> = new Set(['move', 'copy']);

interface Hunk {
  readonly before: string;
  readonly after: string;
  readonly lines: readonly [number, number];
}
interface Patched extends Change {
  readonly hunks: Hunk[];
  /** The lines are all there is to the change. */
  readonly isPlain: boolean;
}
/** `isCertain`: everything in the patch is among its files. */
interface ReadPatch {
  readonly files: readonly Patched[];
  readonly isCertain: boolean;
}

function readPatch({ format, text }: NonNullable<Changes['patch']>): ReadPatch {
  try {
    if (format === 'git_patch' && text.length <= LONGEST_PATCH && (text.match(/^--- /gm)?.length ?? 0) <= MOST_PATCHED) return parsed(text);
  } catch {
    // Its names are shown.
  }
  const names = new Set<string>();
  for (const [, side = '', name] of text.matchAll(
    /^(?:(?:---|\+\+\+) ("?[ab]\/)?|(?:rename|copy) (?:from|to) |diff --git )([^\n\r]+)$/gm,
  )) {
    if (name !== undefined && name !== '/dev/null') names.add(side.startsWith('"') ? `"${name}` : name);
    if (names.size === MOST_CHANGES) break;
  }
  return { files: [...names].map((path) => ({ path, operation: 'modify', hunks: [], isPlain: false })), isCertain: false };
}

function parsed(text: string): ReadPatch {
  const patches = parsePatch(text);
  let changed = 0;
  const files = patches.map((patch): Patched => {
    const { oldFileName, newFileName, oldHeader, newHeader, hunks } = patch;
    changed += Number(oldHeader !== undefined) + Number(newHeader !== undefined);
    for (const { lines } of hunks) for (const line of lines) changed += Number(/^[+-]/.test(line));
    const [oldPath, path] = [withoutSide(oldFileName ?? ''), withoutSide(newFileName ?? '')];
    const isMode = patch.isCreate ? patch.newMode !== '100644' : !patch.isDelete && (patch.oldMode ?? patch.newMode) !== undefined;
    const one = {
      hunks: hunks
        .filter(({ lines }) => lines.length > 0)
        .map(({ oldStart, newStart, lines }) => ({
          before: side(lines, '-'),
          after: side(lines, '+'),
          lines: [Math.max(1, oldStart), Math.max(1, newStart)] as const,
        })),
      isPlain: !isMode && !patch.isBinary && path !== '',
    };
    if (newFileName === NOWHERE) return { ...one, operation: 'delete', path: oldPath };
    if (oldFileName === NOWHERE) return { ...one, operation: 'add', path };
    if (patch.isCopy || oldPath !== path) return { ...one, operation: patch.isCopy ? 'copy' : 'move', path, oldPath };
    return { ...one, operation: 'modify', path };
  });
  return { files, isCertain: changed === (text.match(/^[+-]/gm)?.length ?? 0) };
}
const NOWHERE = '/dev/null';

/** The lines of one side of a hunk. A marker line follows a last line without a line end. */
function side(lines: readonly string[], mark: '-' | '+'): string {
  let text = '';
  let mine = false;
  for (const line of lines) {
    if (line.startsWith('\\')) text = mine ? text.slice(0, -1) : text;
    else {
      mine = line[0] === mark || line[0] === ' ' || line === '';
      if (mine) text += `${line.slice(1)}\n`;
    }
  }
  return text;
}

function withoutSide(name: string): string {
  return name.replace(/^[ab]\//, '');
}

/** Folders of a path from which the root of a repository is looked for. */
const MOST_FOLDERS = 64;

/**
 * Takes the file of a patch that a change means: patches name files from the root of the repository, changes name them whole. Each file is shown once,
 * however often the changes name it.
 */
function takeFile(byName: Map<string, Patched>, whole: string): Patched | undefined {
  const parts = whole.replaceAll('\\', '/').split('/');
  for (let from = Math.max(0, parts.length - MOST_FOLDERS); from < parts.length; from += 1) {
    const name = parts.slice(from).join('/');
    const file = name === '' ? undefined : takeNamed(byName, name);
    if (file) return file;
  }
  return undefined;
}

function takeNamed(byName: Map<string, Patched>, name: string): Patched | undefined {
  const file = byName.get(name);
  byName.delete(name);
  return file;
}

function toItem({ operation, path }: Change, { before, after, lines }: Hunk): DiffItem {
  const kind = operation === 'add' || operation === 'delete' ? { _meta: { kind: operation } } : {};
  return { type: 'diff', path, oldText: before, newText: after, lines, ...kind } as DiffItem;
}

/** Stands for the changes that are not shown one by one. */
function more({ length }: readonly unknown[]): Change {
  return { operation: 'modify', path: `… +${length - MOST_CHANGES}` };
}

function sentence({ operation, path, oldPath }: Change): DiffItem {
  return { type: 'diff', path, oldText: null, newText: wordsFor(operation, path, oldPath ?? ''), summary: true } as DiffItem;
}

/** As version control lists changes: a letter, then the paths. */
function wordsFor(operation: string, path: string, oldPath: string): string {
  switch (operation) {
    case 'add':
      return `A ${path}`;
    case 'delete':
      return `D ${path}`;
    case 'move':
      return `R ${oldPath} → ${path}`;
    case 'copy':
      return `C ${oldPath} → ${path}`;
    default:
      return `M ${path}`;
  }
}

// --- terminals: bytes in pieces

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGIT = new Map([...DIGITS, '-', '_'].map((digit, value) => [digit, value === 64 ? 62 : value === 65 ? 63 : value]));

/** A terminal of the agent: the bytes of a character that has not come whole, and whether the agent stops it. */
export interface AgentTerminal {
  pending: readonly number[];
  stops: boolean;
}
export type TerminalOutput = Extract<SessionUpdate, { sessionUpdate: 'terminal' }>;
/** Converts an update of such a terminal to an event of the session. */
export function takeBytes(terminal: AgentTerminal, { terminalId: id, command, output, data, stops, exit }: TerminalOutput): TerminalUpdate {
  // `output` is the whole output and replaces earlier pieces.
  const { text, pending } = decodeBytes(output === undefined ? terminal.pending : [], output ?? data ?? '', exit !== undefined);
  terminal.pending = pending;
  if (stops) terminal.stops = true;
  if (stops === false || exit) terminal.stops = false;
  const change = {
    id,
    ...(command === undefined ? {} : { command }),
    ...(stops === undefined ? {} : { stops }),
    ...(exit === undefined ? {} : { exit }),
  };
  return { terminal: change, ...(text === '' ? {} : { delta: text }), ...(output === undefined ? {} : { reset: true as const }) };
}

/** Decodes base64 bytes after the bytes of an incomplete character. `end`: an incomplete character at the end is shown as U+FFFD. */
function decodeBytes(
  before: readonly number[],
  base64: string,
  end: boolean,
): { readonly text: string; readonly pending: readonly number[] } {
  const bytes = [...before];
  let bits = 0;
  let held = 0;
  for (const digit of base64) {
    const value = DIGIT.get(digit);
    if (value === undefined) continue;
    held = ((held << 6) | value) & 0xfffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
  }
  return decodeUtf8(bytes, end);
}
function decodeUtf8(bytes: readonly number[], end: boolean): { readonly text: string; readonly pending: readonly number[] } {
  const pieces: string[] = [];
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] ?? 0;
    const length =
      first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    let point = length < 2 ? first : first & (0x7f >> length);
    let read = 1;
    while (read < length && ((bytes[at + read] ?? 0) & 0xc0) === 0x80) point = (point << 6) | ((bytes[at + read++] ?? 0) & 0x3f);
    const isWhole = length > 0 && read === length;
    if (!isWhole && length > 0 && at + read === bytes.length && !end) break;
    const isBad =
      !isWhole ||
      (length === 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) ||
      (length === 4 && (point < 0x10000 || point > 0x10ffff));
    pieces.push(isBad ? '\ufffd' : String.fromCodePoint(point));
    at += read;
  }
  return { text: pieces.join(''), pending: bytes.slice(at) };
}
