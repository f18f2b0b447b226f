import path from 'node:path';
import { parseArgs } from 'node:util';
import { NEWEST_VERSION } from '../protocols/kimi-wire/schema.ts';
import type { Preferences } from './conversation.ts';

/** The flags of `Preferences`, for `parseArgs`. */
export const PREFERENCE_FLAGS = {
  'skills-dir': { type: 'string', multiple: true },
  'max-steps-per-turn': { type: 'string' },
  'max-retries-per-step': { type: 'string' },
} as const;

export interface AgentArguments {
  readonly command: 'serve' | 'info' | 'version' | 'help';
  readonly json: boolean;
  readonly workDir: string;
  readonly addDirs: readonly string[];
  readonly preferences: Preferences;
  /** `last`: the newest session of the folder. */
  readonly session: { readonly id: string } | 'last' | 'new';
  readonly wireVersion: string;
  readonly wireSilent: boolean;
  /** True to send the output of commands while they run. */
  readonly liveOutput: boolean;
  readonly model: string | undefined;
  readonly allowAll: boolean;
  readonly plan: boolean;
  /** The protocol to serve. */
  readonly protocol: string;
  /** For servers that listen; 0 takes any that is free. */
  readonly port: number;
  /** Web origins that may talk to servers that listen. */
  readonly origins: readonly string[];
}

export const usage = `Usage: parley-agent [options]
       parley-agent info [--json]

  --wire                     serve Wire on stdin and stdout (default)
  --protocol NAME            serve another protocol: acp, or ai-sdk and a2a (HTTP on this machine); also --face
  --port, -p N               the port to listen on, for servers that listen (default: any that is free)
  --allow-origin URL         a web page's origin that may talk to a server that listens; may be repeated
  --work-dir, -w DIR         the folder to work in (default: the current one)
  --add-dir DIR              one more folder of the workspace; may be repeated
  --session, --resume ID     open the session of that name, or begin it (-S, -r)
  --continue, -C             open the last session of the folder
  --model, -m NAME           the model, instead of PARLEY_MODEL_NAME
  --plan                     begin in plan mode
  --yolo, -y                 allow everything without asking (also --auto-approve)
  --skills-dir DIR           one more folder of skills; may be repeated
  --max-steps-per-turn N     steps of one turn at most (default: 100)
  --max-retries-per-step N   attempts at one step at most (default: 4)
  --thinking, --no-thinking  accepted for other clients' sake; the model decides
  --wire-version V           behave as a server of Wire V, 1.0 to ${NEWEST_VERSION}
  --live-output              Wire: send what commands print while they run, as events of our own
  --wire-silent              leave methods that version does not know without an answer, as the oldest servers do
  --input-format FORMAT      serve Qwen's lines: text (default), stream-json or stream-chunk-json
  --output-format FORMAT     text (default), json, stream-json or stream-chunk-json
  --dialect NAME             of Qwen's lines: auto (default), message or envelope
  --include-partial-messages with them: tell the answer piece by piece
  --approval-mode MODE       with them: plan, default, auto-edit or yolo
  --session-id UUID          with them: the name of a new session
  --version, -V              print the version
  --help, -h                 print this

The model comes from PARLEY_MODEL_BASE_URL, PARLEY_MODEL_NAME, PARLEY_MODEL_API_KEY and PARLEY_MODEL_CONTEXT (tokens).
Without a base URL and a name the offline guide answers. Servers that listen ask for PARLEY_AGENT_TOKEN as a
bearer token; without one they make a token and print it.
The a2a server uses the tools of the MCP server whose address is in PARLEY_MCP_URL, as an editor that starts it sets it.
`;

/** Reads the arguments. Throws an Error with one sentence for what it does not know. */
export function readOptions(args: readonly string[], cwd: string): AgentArguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      wire: { type: 'boolean' },
      json: { type: 'boolean' },
      version: { type: 'boolean', short: 'V' },
      help: { type: 'boolean', short: 'h' },
      'work-dir': { type: 'string', short: 'w' },
      'add-dir': { type: 'string', multiple: true },
      session: { type: 'string', short: 'S' },
      resume: { type: 'string', short: 'r' },
      continue: { type: 'boolean', short: 'C' },
      model: { type: 'string', short: 'm' },
      plan: { type: 'boolean' },
      yolo: { type: 'boolean', short: 'y' },
      'auto-approve': { type: 'boolean' },
      thinking: { type: 'boolean' },
      'no-thinking': { type: 'boolean' },
      ...PREFERENCE_FLAGS,
      'wire-version': { type: 'string' },
      'wire-silent': { type: 'boolean' },
      'live-output': { type: 'boolean' },
      protocol: { type: 'string' },
      // The name of earlier versions, which profiles still use.
      face: { type: 'string' },
      port: { type: 'string', short: 'p' },
      'allow-origin': { type: 'string', multiple: true },
    },
  });
  const [command, ...rest] = positionals;
  if (rest.length > 0 || (command !== undefined && command !== 'info')) throw new Error(`Unexpected argument '${rest[0] ?? command}'`);
  const port = values.port ?? '0';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error(`'${port}' is no port`);
  const id = values.session ?? values.resume;
  return {
    command: values.help ? 'help' : values.version ? 'version' : command === 'info' ? 'info' : 'serve',
    json: values.json ?? false,
    workDir: path.resolve(cwd, values['work-dir'] ?? '.'),
    addDirs: (values['add-dir'] ?? []).map((dir) => path.resolve(cwd, dir)),
    preferences: preferencesOf(values, cwd),
    session: id !== undefined ? { id } : values.continue ? 'last' : 'new',
    wireVersion: values['wire-version'] ?? NEWEST_VERSION,
    wireSilent: values['wire-silent'] ?? false,
    liveOutput: values['live-output'] ?? false,
    model: values.model,
    allowAll: values.yolo === true || values['auto-approve'] === true,
    plan: values.plan ?? false,
    protocol: values.protocol ?? values.face ?? 'kimi-wire',
    port: Number(port),
    origins: values['allow-origin'] ?? [],
  };
}

interface PreferenceValues {
  readonly 'skills-dir'?: readonly string[] | undefined;
  readonly 'max-steps-per-turn'?: string | undefined;
  readonly 'max-retries-per-step'?: string | undefined;
}

/** The preferences that the flags of `PREFERENCE_FLAGS` give. Throws for a value that is not a number. */
export function preferencesOf(values: PreferenceValues, cwd: string): Preferences {
  return {
    skillsDirs: (values['skills-dir'] ?? []).map((dir) => path.resolve(cwd, dir)),
    maxSteps: countOf('--max-steps-per-turn', values['max-steps-per-turn']),
    maxAttempts: countOf('--max-retries-per-step', values['max-retries-per-step']),
  };
}

function countOf(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1) throw new Error(`${flag} needs a whole number from 1, not '${value}'`);
  return count;
}
