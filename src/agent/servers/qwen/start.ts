import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Channel } from '../../../transport/channel.ts';
import { toLine } from '../../../transport/lines.ts';
import type { Model } from '../../models/model.ts';
import { copySession, SessionStore } from '../../sessionStore.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { MODES, type Mode } from './qwenFrontend.ts';
import { answerOnce, type Serving, serveQwen } from './serve.ts';
import { answerText } from './textMode.ts';

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
  /** A copy of the session is gone on with, under a name of its own. */
  readonly forks: boolean;
  readonly model: string | undefined;
  /** The folder to work in, where it is not the current one, and further ones. */
  readonly workDir: string | undefined;
  readonly addDirs: readonly string[];
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
  };
}

export interface QwenStart {
  readonly options: QwenOptions;
  readonly model: Model;
  readonly modelFor: Serving['modelFor'];
  readonly workspace: Workspace;
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
export function startQwen(start: QwenStart): { readonly channel?: Channel; end(): Promise<void> } | undefined {
  const { options, model, modelFor, workspace, home, exit } = start;
  const known = options.goesOn
    ? (newest(new SessionStore(home, workspace.cwd, options.session).folder) ?? options.session)
    : options.session;
  if (options.resumes && !existsSync(new SessionStore(home, workspace.cwd, known).folder)) {
    process.stderr.write(`No conversation found with session ID: ${known}\n`);
    return undefined;
  }
  const session = options.forks ? randomUUID() : known;
  if (options.forks) copySession(home, workspace.cwd, known, session);
  const store = new SessionStore(home, workspace.cwd, session);
  const format = options.output === 'stream-chunk-json' ? 'stream-chunk-json' : 'stream-json';
  const inputFormat = options.input === 'stream-chunk-json' ? 'stream-chunk-json' : 'stream-json';
  const storeOf = (id: string) => new SessionStore(home, workspace.cwd, id);
  const { partials, mode, dialect } = options;
  const serving = { exit, session, mode, partials, inputFormat, format, dialect, model, modelFor, workspace, store, storeOf } as const;
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
  if (options.output === 'text') return answerText(prompt, { model, workspace, print });
  if (options.output !== 'json') return answerOnce((message) => print(`${toLine(message)}\n`), serving, prompt);
  const all: object[] = [];
  const code = await answerOnce((message) => void all.push(message), serving, prompt);
  print(`${JSON.stringify(all, null, 2)}\n`);
  return code;
}

/** The session of this folder that was last written. */
function newest(folder: string): string | undefined {
  const all = path.dirname(folder);
  try {
    return readdirSync(all)
      .map((name) => ({ name, at: statSync(path.join(all, name)).mtimeMs }))
      .sort((a, b) => b.at - a.at)[0]?.name;
  } catch {
    return undefined;
  }
}
