import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod/mini';
import { readJson } from './base/json.ts';
import type { Disposable } from './base/lifetime.ts';
import { type Log, messageOf } from './base/log.ts';
import { Masks } from './headless/masks.ts';
import { runSteps } from './headless/run.ts';
import { LONGEST_WAIT, readScript, type ScriptSetup, type ScriptStep, scriptSchema } from './headless/script.ts';
import { headlessTools, scriptedSecrets } from './headless/tools.ts';
import { type HeadlessOptions, readOptions, usageOf } from './headless/usage.ts';
import { childTerminals } from './live/childTerminals.ts';
import { jsonLine, stderrLog, writeError } from './live/console.ts';
import { diskFilesIn } from './live/diskFiles.ts';
import { eventOf } from './live/journal/schema.ts';
import { LiveSession } from './live/liveSession.ts';
import { launchOf, type Profile } from './live/profiles.ts';
import { protocols } from './protocols/registry.ts';
import type { Intent } from './session/intents.ts';
import { newSession, reduce } from './session/reduce.ts';

/** The same sessions without an editor: arguments in, events out as JSON lines on stdout, log on stderr. */

/** Milliseconds the end of the agent is waited for. */
const LAST_WAIT = 20_000;

const masks = new Masks();
const masked = (write: Log['info']) => (message: string, cause?: unknown) =>
  write(masks.text(cause === undefined ? message : `${message}: ${messageOf(cause)}`));
const log: Log = { ...stderrLog, info: masked(stderrLog.info), warn: masked(stderrLog.warn), error: masked(stderrLog.error) };
const print = (value: unknown) => void process.stdout.write(`${jsonLine(masks.value(value))}\n`);

async function main(): Promise<number> {
  let options: HeadlessOptions;
  let steps: readonly ScriptStep[];
  let recording: Recording | undefined;
  const [first = '', file, ...more] = process.argv.slice(2);
  if (first === '--schema') {
    print(scriptSchema());
    return 0;
  }
  if (first === '--help' || first === '-h') {
    process.stdout.write(`${usageOf(Object.keys(protocols))}\n`);
    return 0;
  }
  try {
    if (first === '--replay') {
      if (file === undefined || more.length > 0) throw new Error('--replay takes a file, and nothing beside it');
      return replay(readInput(file), print, log.error);
    }
    options = readOptions(process.argv.slice(2), process.cwd());
    if (!Object.hasOwn(protocols, options.protocol)) {
      throw new Error(`unknown protocol "${options.protocol}"; known are ${Object.keys(protocols).join(', ')}`);
    }
    if (options.command === undefined && options.url === undefined && !isBundled(options.protocol))
      throw new Error(`--protocol ${options.protocol} needs --command or --url: the bundled agent does not serve it`);
    if (options.record !== undefined) recording = openRecording(options.record);
    const cwd = await stat(options.cwd).catch(() => undefined);
    if (!cwd?.isDirectory()) throw new Error(`--cwd: there is no folder ${options.cwd}`);
    steps = [...scriptIn(options.script), ...options.prompts.map((prompt) => ({ prompt }))];
  } catch (error) {
    writeError(`${messageOf(error)}\n${usageOf(Object.keys(protocols))}`);
    return 2;
  }
  if (options.command !== undefined || options.url !== undefined) return run(options, steps, recording);
  const agent = await bundledAgent(options).catch((error: unknown) => messageOf(error));
  if (typeof agent === 'string') {
    log.error(agent);
    return 1;
  }
  try {
    return await run({ ...options, ...agent.options }, steps, recording);
  } finally {
    agent.dispose();
  }
}

/** Throws with the name of the file when it cannot be read. */
function readInput(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
}

/** Throws with the name of the file and the place of what is wrong in it. */
function scriptIn(file: string | undefined): readonly ScriptStep[] {
  if (file === undefined) return [];
  const text = readInput(file);
  try {
    return readScript(text);
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
}

async function run(options: HeadlessOptions, steps: readonly ScriptStep[], recording: Recording | undefined): Promise<number> {
  const protocol = protocols[options.protocol];
  if (!protocol) return 2;
  const cwd = path.resolve(options.cwd);
  const { command, url } = options;
  const profile: Profile = {
    id: 'headless',
    name: command ?? url ?? '',
    protocol: options.protocol,
    args: options.args,
    env: options.env,
    options: options.options,
    headers: options.headers,
    ...(command === undefined ? {} : { command }),
    ...(url === undefined ? {} : { url }),
  };
  const [first] = steps;
  const setup: ScriptSetup = first && 'setup' in first ? first.setup : {};
  masks.add(...Object.values(setup.secrets ?? {}));
  masks.addNamed(options.headers);
  masks.addNamed(options.env);
  const live = new LiveSession(newSession(randomUUID(), { protocol: profile.protocol, name: profile.name }, cwd), profile.id, {
    protocol,
    launch: async () => launchOf(profile, cwd),
    ports: {
      tools: headlessTools(cwd, setup.tools),
      files: diskFilesIn(cwd),
      terminals: childTerminals({ cwd }),
      secrets: scriptedSecrets(setup.secrets ?? {}),
    },
    rules: () => [],
    client: { name: 'parley-headless', version: '0.1.0' },
    log,
    trace: () => {},
    now: Date.now,
    newId: randomUUID,
  });
  const printing = live.store.onChange(({ event }) => {
    // A protocol's own record of a turn adds nothing to the events before it.
    if (event.type === 'turn.adapterState') return;
    print({ event });
    recording?.({ event });
  });
  const ended = new Promise<number>((resolve) => {
    const stopped = (code: number, why: string) => () => {
      log.warn(why);
      resolve(code);
    };
    // The reader of the output is gone, `head` for example.
    process.stdout.once('error', stopped(1, 'The output was closed'));
    process.stdout.on('error', () => {});
    process.once('SIGINT', stopped(1, 'Interrupted'));
    process.once('SIGTERM', stopped(1, 'Terminated'));
    process.once('SIGHUP', stopped(1, 'The terminal was closed'));
    // Nothing runs any more that could end the run.
    process.once('beforeExit', stopped(1, 'Nothing is left to wait for'));
    if (options.timeout > 0)
      setTimeout(stopped(1, `Not done after ${options.timeout} s`), Math.min(options.timeout * 1000, LONGEST_WAIT)).unref();
  });
  const sent = recording && ((intent: Intent) => void recording({ intent }));
  const secret = (value: string) => masks.add(value);
  const running = runSteps(live, { steps, answer: options.answer, cwd, newId: randomUUID, log, print, secret, ...(sent ? { sent } : {}) });
  void live.start();
  const code = await Promise.race([ended, running.then((succeeded) => (succeeded ? 0 : 1))]);
  const { link } = live.store.now;
  if (link.state === 'closed') log.error(`${link.reason}${link.detail ? `\n${link.detail}` : ''}`);
  printing.dispose();
  print({ session: live.store.now });
  const isRecorded = recording?.({ exit: code }) ?? true;
  live.dispose();
  // An agent that does not let itself be ended does not hold up the run.
  await Promise.race([live.ended, new Promise((resolve) => setTimeout(resolve, LAST_WAIT).unref())]);
  return isRecorded ? code : 1;
}

const AGENT = path.join(typeof __dirname === 'string' ? __dirname : path.resolve('dist'), 'parley-agent.js');
const QWEN = ['--input-format', 'stream-chunk-json', '--output-format', 'stream-chunk-json'];
const ARGS: Readonly<Record<string, readonly string[]>> = {
  'kimi-wire': ['--wire'],
  acp: ['--protocol', 'acp'],
  a2a: ['--protocol', 'a2a'],
  qwen: QWEN,
};

/** Protocols that the bundled agent serves at an address. */
const SERVED: readonly string[] = ['ai-sdk'];

function isBundled(protocol: string): boolean {
  return Object.hasOwn(ARGS, protocol) || SERVED.includes(protocol);
}

interface BundledAgent extends Disposable {
  readonly options: Partial<HeadlessOptions>;
}

/** How the bundled agent is reached over a protocol. One that knows only addresses has it started here. */
async function bundledAgent({ protocol, cwd, env, args }: HeadlessOptions): Promise<BundledAgent> {
  const own = ARGS[protocol];
  if (own) return { options: { command: process.execPath, args: [AGENT, ...own, ...args] }, dispose() {} };
  const token = randomBytes(32).toString('base64url');
  const child = spawn(process.execPath, [AGENT, '--protocol', protocol, '--work-dir', cwd, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env, PARLEY_AGENT_TOKEN: token },
  });
  const dispose = () => void child.kill();
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /https?:\/\/\S+/.exec(line)?.[0];
    if (url !== undefined) return { options: { url, headers: { authorization: `Bearer ${token}` } }, dispose };
  }
  throw new Error('The bundled agent ended before it said where it listens.');
}

/* A recording: what the session told and what it was sent, one JSON object a line. It is played without an agent. */

/** Writes a line. False once a line could not be written. */
type Recording = (value: object) => boolean;

/**
 * Writes each line at once, so that a run that is killed leaves what it has seen. Throws when the file cannot be opened; later the run goes on
 * without its recording.
 */
function openRecording(file: string): Recording {
  writeFileSync(file, '', { mode: 0o600 });
  let isBroken = false;
  return (value) => {
    if (isBroken) return false;
    try {
      appendFileSync(file, `${jsonLine(masks.value(value))}\n`);
    } catch (error) {
      isBroken = true;
      log.error(`The recording ends here, ${file} cannot be written`, error);
    }
    return !isBroken;
  };
}

// Everything on stdout has left before the process ends.

const line = z.union([
  z.object({ event: z.unknown() }),
  z.object({ intent: z.looseObject({ type: z.string() }) }),
  z.object({ exit: z.number() }),
  // The protocol inspector puts the messages between the events.
  z.object({ message: z.looseObject({}) }),
]);

/**
 * Shows a recording as its run was shown, and gives the exit code of that run; one that was made by the inspector has none and gives the code of its
 * turns. A recording that is cut off, of a run that was killed or in a file that lost its end, is shown as far as it goes and gives 1. Throws for a
 * line that belongs to no recording.
 */
function replay(text: string, print: (value: unknown) => void, warn: (text: string) => void): number {
  const lines = text.split('\n');
  if (text.trim() === '') throw new Error('the recording is empty');
  let session = newSession('replay', { protocol: 'replay', name: 'replay' }, '/');
  let exit: number | undefined;
  let [isRun, isCut] = [false, false];
  for (const [at, one] of lines.entries()) {
    if (one.trim() === '') continue;
    const read = line.safeParse(readJson(one));
    const event = read.success && 'event' in read.data ? eventOf(read.data.event) : undefined;
    if (!read.success || ('event' in read.data && !event)) {
      // The last line ends without a line end only where the run was killed.
      isCut = at > 0 && at === lines.length - 1;
      if (isCut) break;
      throw new Error(`line ${at + 1} of the recording is none`);
    }
    // The inspector saves neither.
    if ('intent' in read.data || event?.type.startsWith('link.')) isRun = true;
    if ('exit' in read.data) exit = read.data.exit;
    if (!event) continue;
    print({ event });
    session = reduce(session, event);
  }
  print({ session });
  // The headless host writes the exit code last.
  if (isCut || (exit === undefined && isRun)) {
    warn(`The recording is cut off: ${isCut ? `line ${lines.length} is not whole` : 'the exit code of its run is missing'}`);
    return 1;
  }
  return exit ?? (session.turns.every((turn) => turn.status === 'done' || turn.status === 'cancelled') ? 0 : 1);
}

void main().then((code) => process.stdout.write('', () => process.exit(code)));
