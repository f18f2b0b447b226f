import { randomUUID } from 'node:crypto';
import { parseArgs, format as printed } from 'node:util';
import { messageOf } from '../../../base/log.ts';
import { clientDialectOf, fatalLine, type Line, type QwenDialect, recordOf, terminalNote } from '../../../protocols/qwen/codec.ts';
import type { Channel } from '../../../transport/channel.ts';
import { toLine } from '../../../transport/lines.ts';
import { AgentConversation, type Preferences } from '../../conversation.ts';
import type { AgentEvent, Frontend } from '../../frontend.ts';
import type { Model } from '../../models/model.ts';
import { PREFERENCE_FLAGS, preferencesOf } from '../../options.ts';
import { copySession, SessionStore } from '../../sessionStore.ts';
import { EnvelopeServer } from './envelopeServer.ts';
import { MessageServer } from './messageServer.ts';
import type { QwenServer, QwenServerOptions } from './qwenFrontend.ts';
import { MODES, type Mode } from './qwenFrontend.ts';

const INPUTS = ['text', 'stream-json', 'stream-chunk-json'] as const;
/** `json` is everything that was said as one JSON array, once it is over. */
const OUTPUTS = ['text', 'json', 'stream-json', 'stream-chunk-json'] as const;

/** The command line of this protocol (docs/protocols/qwen.md §1.1). */
export interface QwenOptions {
  readonly input: (typeof INPUTS)[number];
  readonly output: (typeof OUTPUTS)[number];
  readonly partials: boolean;
  readonly mode: Mode;
  readonly dialect: 'auto' | 'message' | 'envelope';
  readonly session: string;
  /** The session has to exist. */
  readonly resumes: boolean;
  readonly goesOn: boolean;
  /** True to continue a copy of the session under a new name. */
  readonly forks: boolean;
  readonly model: string | undefined;
  /** The folder to work in, where it is not the current one, and further ones. */
  readonly workDir: string | undefined;
  readonly addDirs: readonly string[];
  readonly preferences: Preferences;
}

/** Undefined when the arguments are not of this protocol. Throws an Error with one sentence for what is wrong with them. */
export function readQwenOptions(args: readonly string[]): QwenOptions | undefined {
  if (!args.some((arg) => /^--(input|output)-format(=|$)/.test(arg))) return undefined;
  const { values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'input-format': { type: 'string' },
      'output-format': { type: 'string' },
      'include-partial-messages': { type: 'boolean' },
      'approval-mode': { type: 'string' },
      dialect: { type: 'string' },
      resume: { type: 'string', short: 'r' },
      continue: { type: 'boolean', short: 'C' },
      'fork-session': { type: 'boolean' },
      'session-id': { type: 'string' },
      // Of every protocol of this program.
      session: { type: 'string', short: 'S' },
      model: { type: 'string', short: 'm' },
      yolo: { type: 'boolean', short: 'y' },
      plan: { type: 'boolean' },
      'work-dir': { type: 'string', short: 'w' },
      'add-dir': { type: 'string', multiple: true },
      ...PREFERENCE_FLAGS,
    },
  });
  const oneOf = <T extends string>(name: string, allowed: readonly T[], given: string | undefined, otherwise: T): T => {
    const found = allowed.find((one) => one === given);
    if (given !== undefined && found === undefined) throw new Error(`--${name} takes ${allowed.join(', ')}, not "${given}"`);
    return found ?? otherwise;
  };
  const input = oneOf('input-format', INPUTS, values['input-format'], 'text');
  const output = oneOf('output-format', OUTPUTS, values['output-format'], 'text');
  if (input !== 'text' && (output === 'text' || output === 'json'))
    throw new Error(`--input-format ${input} needs --output-format stream-json or stream-chunk-json`);
  const named = values['session-id'];
  if (named !== undefined && !/^[0-9a-f-]{36}$/i.test(named)) throw new Error('--session-id takes a UUID');
  return {
    input,
    output,
    partials: values['include-partial-messages'] ?? false,
    mode: oneOf('approval-mode', MODES, values['approval-mode'], values.yolo ? 'yolo' : values.plan ? 'plan' : 'default'),
    dialect: oneOf('dialect', ['auto', 'message', 'envelope'], values.dialect, 'auto'),
    session: values.resume ?? values.session ?? named ?? randomUUID(),
    resumes: values.resume !== undefined,
    goesOn: values.continue ?? false,
    forks: values['fork-session'] ?? false,
    model: values.model,
    workDir: values['work-dir'],
    addDirs: values['add-dir'] ?? [],
    preferences: preferencesOf(values, process.cwd()),
  };
}

export interface QwenStart {
  readonly options: QwenOptions;
  readonly model: Model;
  readonly modelFor: Serving['modelFor'];
  readonly workspace: QwenServerOptions['workspace'];
  readonly home: string;
  /** Our input and output as lines. */
  readonly channel: () => Channel;
  /** Our whole input as one text. */
  readonly readAll: () => Promise<string>;
  readonly print: (text: string) => void;
  readonly exit: (code: number) => void;
}

/**
 * Serves the protocol, or answers one prompt when the input is plain text. Undefined when nothing can be served; the reason is on stderr then.
 */
export function startQwen(start: QwenStart): { readonly channel?: Channel; end(code: number): Promise<void> } | undefined {
  const { options, model, modelFor, workspace, home, exit } = start;
  const storeOf = (id: string) => new SessionStore(home, workspace.cwd, id);
  const known = options.goesOn ? (storeOf(options.session).newestBeside() ?? options.session) : options.session;
  if (options.resumes && !storeOf(known).exists) {
    process.stderr.write(`No conversation found with session ID: ${known}\n`);
    return undefined;
  }
  const session = options.forks ? randomUUID() : known;
  if (options.forks) copySession(home, workspace.cwd, known, session);
  const store = storeOf(session);
  const format = options.output === 'stream-chunk-json' ? 'stream-chunk-json' : 'stream-json';
  const inputFormat = options.input === 'stream-chunk-json' ? 'stream-chunk-json' : 'stream-json';
  const { partials, mode, dialect, preferences } = options;
  const serving = {
    exit,
    session,
    mode,
    partials,
    inputFormat,
    format,
    dialect,
    model,
    modelFor,
    workspace,
    preferences,
    store,
    storeOf,
  } as const;
  if (options.input !== 'text') {
    const channel = start.channel();
    return { channel, ...serveQwen(channel, serving, (message) => start.print(`${toLine(message)}\n`)) };
  }
  const answered = start.readAll().then((prompt) => answer(prompt, start, serving));
  return { end: () => answered.then(exit) };
}

/** Answers one prompt in the form that was asked for. Gives the exit code. */
async function answer(prompt: string, { options, model, workspace, print }: QwenStart, serving: Serving): Promise<number> {
  if (prompt.trim() === '') {
    process.stderr.write('parley-agent: there is no prompt on the input\n');
    return 1;
  }
  if (options.output === 'text') return answerText(prompt, { model, workspace, preferences: options.preferences, print });
  if (options.output !== 'json') return answerOnce((message) => print(`${toLine(message)}\n`), serving, prompt);
  const all: object[] = [];
  const code = await answerOnce((message) => void all.push(message), serving, prompt);
  print(`${JSON.stringify(all, null, 2)}\n`);
  return code;
}

type Serving = Omit<QwenServerOptions, 'write'> & { readonly dialect: 'auto' | QwenDialect };
type Write = (line: Line) => void;

/** Serves a conversation in the dialect its client begins with: `initialize` or a user line is the message dialect, all else the envelope. */
function serveQwen(channel: Channel, options: Serving, write: Write): { end(code: number): Promise<void> } {
  let server: QwenServer | undefined;
  let ended: Promise<void> | undefined;
  let dialect = options.dialect;
  channel.onMessage((text) => {
    let line: Line;
    try {
      line = recordOf(JSON.parse(text));
    } catch {
      // The message dialect has no line for it (docs/protocols/qwen.md §3.10).
      if (dialect === 'message') process.stderr.write('parley-agent: a line is not JSON\n');
      else write(fatalLine('A line is not JSON.', 'QWEN_INVALID_JSON', null));
      return options.exit(1);
    }
    if (!server) {
      dialect = dialectFor(options, line);
      server = serverFor(dialect, { ...options, write });
    }
    server.take(line);
  });
  const end = async (code: number): Promise<void> => {
    await server?.end();
    if (dialect === 'envelope') write(exitNote(code));
  };
  return { end: (code) => (ended ??= end(code)) };
}

/** Answers one prompt in lines, without a user to ask. Returns the exit code. */
async function answerOnce(write: Write, options: Serving, prompt: string): Promise<number> {
  const dialect = dialectFor(options, { type: 'user' });
  let code = 0;
  const noting: Write = (line) => {
    if (line.is_error === true || recordOf(line.metadata).error !== undefined) code = 1;
    write(line);
  };
  const server = serverFor(dialect, { ...options, write: noting });
  server.take(
    dialect === 'message'
      ? { type: 'user', message: { role: 'user', content: prompt } }
      : { session_id: '_new', input: { origin: 'user', parts: [{ type: 'text', text: prompt }] } },
  );
  await server.end();
  if (dialect === 'envelope') write(exitNote(code));
  return code;
}

/** The end of the program, as the last line. */
function exitNote(exitCode: number): Line {
  return terminalNote({ channel: 'stdout', source: 'system', text: '', scope: 'system', prompt: '', exitCode });
}

function serverFor(dialect: QwenDialect, options: QwenServerOptions): QwenServer {
  if (dialect === 'message') return new MessageServer(options);
  const server = new EnvelopeServer(options);
  // Standard output belongs to the protocol: what a library prints goes out as lines of it (docs/protocols/qwen.md §4.3).
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    console[level] = (...words: unknown[]) => server.log(level, printed(...words));
  }
  return server;
}

function dialectFor({ dialect, format, inputFormat }: Serving, first: Line): QwenDialect {
  if (format === 'stream-chunk-json' || inputFormat === 'stream-chunk-json') return 'envelope';
  return dialect === 'auto' ? clientDialectOf(first) : dialect;
}

/** Reads one prompt and writes its answer as plain text. Refuses calls that need approval, because no user can answer. */
async function answerText(
  prompt: string,
  context: Pick<QwenStart, 'model' | 'workspace' | 'print'> & { readonly preferences: Preferences },
): Promise<number> {
  const frontend: Frontend = {
    emit: (said: AgentEvent) => {
      if (said.type === 'text') context.print(said.text);
    },
    approve: async () => ({ allow: false, feedback: 'Nobody can be asked in this mode.' }),
    question: async () => undefined,
    callClient: () => Promise.reject(new Error('there is no client')),
    hook: async () => undefined,
    clientTools: () => [],
    asksQuestions: false,
    hasPlanMode: false,
  };
  try {
    await new AgentConversation({ ...context.preferences, frontend, model: context.model, workspace: context.workspace }).prompt([
      { type: 'text', text: prompt },
    ]);
    context.print('\n');
    return 0;
  } catch (error) {
    process.stderr.write(`parley-agent: ${messageOf(error)}\n`);
    return 1;
  }
}
