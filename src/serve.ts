#!/usr/bin/env node
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod/mini';
import { setGuardedFiles } from './base/guardedFiles.ts';
import { isMissing, messageOf, systemCode } from './base/log.ts';
import { childTerminals } from './live/childTerminals.ts';
import { stderrLog, writeError } from './live/console.ts';
import { diskEffects, diskFilesIn } from './live/diskFiles.ts';
import { announceHost, isOurs, makeOwnFolder, removeSecret, TAKEN, writeSecret } from './live/hostProcess.ts';
import { Journal } from './live/journal/journal.ts';
import { FileLock } from './live/journal/lock.ts';
import { launchOf, type Profile, readProfiles } from './live/profiles.ts';
import { ChangeSet } from './live/review/changeSet.ts';
import { ChangeSets, type PublishEvent } from './live/review/changeSets.ts';
import { KEPT, Sessions } from './live/sessions.ts';
import type { Launch } from './protocols/adapter.ts';
import { protocols } from './protocols/registry.ts';
import { type AgentHost, agentHost } from './serve/host.ts';
import { isLoopback, type ListenAddress, listen } from './serve/listen.ts';
import { ClientNames, KeptOffers, SessionMarks } from './serve/marks.ts';
import { WindowTools } from './serve/windowTools.ts';

/** `parley serve`: the sessions of this process for VS Code's own chat and other clients of the Agent Host Protocol (docs/servers.md). */

const USAGE = `usage: parley serve [--port N | --socket PATH] [--host ADDRESS] [--profile FILE] [--rules FILE] [--data DIR]
Serves agent sessions over the Agent Host Protocol. --profile names a JSON file with a list like the setting "parley.agents";
without it the bundled agent is served. --rules names one with {"rules": […]} like the setting "parley.approvals.rules" and
{"guardedFiles": […]}; without it everything is asked. Both are read again when they change. The token is made once for each --data folder, or taken from PARLEY_HOST_TOKEN.`;

interface Options {
  readonly place: ListenAddress;
  /** No port was asked for: any will do when the one of the last run is taken. */
  readonly isPortFree: boolean;
  readonly profiles: () => readonly Profile[];
  /** The file that they are read from. */
  readonly profileFile?: string;
  readonly rules: () => readonly HostRule[];
  readonly data: string;
  readonly token: string;
}

const log = stderrLog;
/** Milliseconds between two looks at the file of the agents. */
const LOOK_EVERY = 2000;
const HERE = typeof __dirname === 'string' ? __dirname : path.resolve('dist');

/** Throws with a sentence for the user when the arguments are off. */
function readOptions(argv: readonly string[], env: NodeJS.ProcessEnv): Options {
  const [command, ...rest] = argv;
  if (command !== 'serve') throw new Error(command === undefined ? 'say what to do' : `unknown command "${command}"`);
  const { values } = parseArgs({
    args: rest,
    strict: true,
    options: {
      port: { type: 'string' },
      socket: { type: 'string' },
      host: { type: 'string' },
      profile: { type: 'string' },
      rules: { type: 'string' },
      data: { type: 'string' },
    },
  });
  const { port, socket, host = '127.0.0.1', profile, rules, data } = values;
  if (socket !== undefined && (values.port !== undefined || values.host !== undefined)) throw new Error('give either --socket or a port');
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)) throw new Error('--port takes a number up to 65535');
  const folder = path.resolve(data ?? path.join(homedir(), '.parley', 'host'));
  const last = lastRun(folder);
  const token = env.PARLEY_HOST_TOKEN ?? last?.token ?? randomBytes(32).toString('base64url');
  if (token.length < 16) throw new Error('PARLEY_HOST_TOKEN needs at least 16 characters');
  return {
    place:
      socket === undefined
        ? { kind: 'port', host, port: Number(port ?? last?.port ?? 0) }
        : { kind: 'socket', path: placeOfSocket(socket) },
    isPortFree: port === undefined,
    ...(profile === undefined
      ? { profiles: () => [bundled()] }
      : { profiles: fileReader(profile, profilesOf), profileFile: path.resolve(profile) }),
    rules: rules === undefined ? () => [] : fileReader(rules, rulesOf),
    data: folder,
    token,
  };
}

/** Programs that start elsewhere find it, too. A pipe of Windows is no file. */
function placeOfSocket(place: string): string {
  return place.startsWith('\\\\') ? place : path.resolve(place);
}

const lastRunShape = z.object({ token: z.string(), port: z.optional(z.number()) });

/** Clients are told the address and the token once: a host of the same folder keeps them. Others may have written what they can write to. */
function lastRun(data: string): z.infer<typeof lastRunShape> | undefined {
  const file = path.join(data, 'access.json');
  try {
    return [data, file].every(isOurs) ? lastRunShape.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
  } catch {
    return undefined;
  }
}

function bundled(): Profile {
  const command = process.execPath;
  return {
    id: 'parley-agent',
    name: 'Parley Agent',
    protocol: 'kimi-wire',
    command,
    args: [path.join(HERE, 'parley-agent.js'), '--wire', '--live-output'],
    env: {},
    headers: {},
  };
}

function profilesOf(file: string): readonly Profile[] {
  const { profiles, problems } = readProfiles(JSON.parse(readFileSync(file, 'utf8')), protocols);
  for (const problem of problems) log.warn(problem.replace('parley.agents', path.basename(file)));
  if (profiles.length === 0) throw new Error(`${file} names no agent`);
  return profiles;
}

const ruleFile = z.object({
  rules: z.array(
    z.object({
      kind: z.enum(['command', 'edit', 'mcp', 'read', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other']),
      pattern: z.exactOptional(z.string().check(z.minLength(1))),
      decision: z.enum(['allow', 'reject']),
      agent: z.exactOptional(z.string()),
    }),
  ),
  guardedFiles: z.optional(z.array(z.string())),
});
type HostRule = z.infer<typeof ruleFile>['rules'][number];

function rulesOf(file: string): readonly HostRule[] {
  const { rules, guardedFiles = [] } = ruleFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  setGuardedFiles(guardedFiles);
  return rules;
}

/** Reads a file now, which throws when it is off, and again when it has changed; then one that is off leaves what was read last. */
function fileReader<T>(file: string, read: (file: string) => T): () => T {
  let { at, last } = firstReading(file, read);
  return () => {
    try {
      const { mtimeMs } = statSync(file);
      if (mtimeMs !== at) last = read(file);
      at = mtimeMs;
    } catch (error) {
      log.warn(`${file} is not read: ${messageOf(error)}`);
    }
    return last;
  };
}

function firstReading<T>(file: string, read: (file: string) => T): { at: number; last: T } {
  try {
    return { at: statSync(file).mtimeMs, last: read(file) };
  } catch (error) {
    if (isMissing(error)) throw new Error(`there is no file ${file}`);
    throw error instanceof SyntaxError ? new Error(`${file} is not JSON: ${error.message}`) : error;
  }
}

/** The lock on the folder of the data, which it makes; or why there is none. */
function lockOf(data: string): FileLock | string {
  try {
    makeOwnFolder(data);
  } catch (error) {
    return `${data} cannot be a folder: ${messageOf(error)}`;
  }
  const lock = FileLock.take(path.join(data, 'host.lock'));
  if (lock instanceof FileLock) return lock;
  return `${TAKEN} ${data} (process ${lock.pid}). Stop it, or name another folder with --data.`;
}

/** Removes old conversations before any client may open one of them. */
async function restore(host: AgentHost, journal: Journal): Promise<void> {
  await journal.prune(KEPT, new Set(), Date.now()).catch((error: unknown) => log.error('Old conversations could not be removed', error));
  await host.restore();
}

async function main(): Promise<number> {
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  let options: Options;
  try {
    options = readOptions(process.argv.slice(2), process.env);
  } catch (error) {
    writeError(`${messageOf(error)}\n${USAGE}`);
    return 2;
  }
  const { data, token, profiles, profileFile, rules } = options;
  // Child processes do not inherit the token of this host.
  delete process.env.PARLEY_HOST_TOKEN;
  const lock = lockOf(data);
  if (typeof lock === 'string') {
    log.error(lock);
    return 1;
  }
  const version = versionOf();
  const journal = new Journal(path.join(data, 'sessions'), log);
  const find = (id: string) => profiles().find((one) => one.id === id);
  const windowTools = new WindowTools();
  const environments = new Environments();
  const sessions = new Sessions({
    protocols: () => protocols,
    profile: find,
    launch: async (profile, { cwd }) => environments.with(launchOf(profile, profile.cwd ?? cwd), profile.id),
    ports: portsOf(windowTools),
    rules: (_id, profile) => rules().filter(({ agent }) => agent === undefined || agent === profile),
    client: { name: 'Parley', version },
    log,
    trace: () => {},
    now: Date.now,
    newId: randomUUID,
    journal,
    windowKey: () => 'host',
  });
  const publish: PublishEvent = (id, event) => sessions.get(id)?.publish(event);
  const changeSets = new ChangeSets(sessions, path.join(data, 'review'), () => ChangeSet, diskEffects, publish, log);
  sessions.holdPrompts((id, turnId) => changeSets.beforePrompt(id, turnId));
  void changeSets.prune(Date.now());
  const host = agentHost({
    sessions,
    journal,
    windowTools,
    marks: new SessionMarks(path.join(data, 'sessions'), log),
    clientNames: new ClientNames(path.join(data, 'sessions'), log),
    offers: new KeptOffers(path.join(data, 'sessions'), log),
    changeSets,
    effects: diskEffects,
    profiles,
    log,
    now: Date.now,
    version,
    environment: (profile, env) => environments.set(profile, env) && restartAtRest(sessions, profile),
  });
  await restore(host, journal);
  const listening = await listenSomewhere(host, options).catch((error: unknown) => whyNotListening(error, options.place));
  if (typeof listening === 'string') {
    log.error(listening);
    lock.dispose();
    return 1;
  }
  if (profileFile !== undefined) watchFile(profileFile, { interval: LOOK_EVERY }, () => host.agentsChanged());
  // A program that reads the address may end the host at once.
  const ending = endRequested();
  const files = announce(listening.place, data, token);
  await ending;
  if (profileFile !== undefined) unwatchFile(profileFile);
  await listening.close();
  host.dispose();
  changeSets.dispose();
  sessions.dispose();
  await sessions.agentsEnded();
  for (const file of files) removeSecret(file);
  lock.dispose();
  return 0;
}

function portsOf(windowTools: WindowTools): ConstructorParameters<typeof Sessions>[0]['ports'] {
  return ({ id, cwd }) => ({
    // Read whenever the agent starts.
    get tools() {
      return windowTools.giveTools(id);
    },
    files: diskFilesIn(cwd),
    terminals: childTerminals({ cwd }),
  });
}

async function listenSomewhere(host: AgentHost, { place, isPortFree, token }: Options) {
  try {
    return await listen(host, place, token, log);
  } catch (error) {
    if (place.kind !== 'port' || !isPortFree) throw error;
    return listen(host, { ...place, port: 0 }, token, log);
  }
}

function whyNotListening(error: unknown, place: ListenAddress): string {
  if (systemCode(error) !== 'EADDRINUSE') return `The host cannot listen: ${messageOf(error)}`;
  return place.kind === 'port'
    ? `Port ${place.port} is taken. Name another one with --port.`
    : `The socket ${place.path} is taken. Name another one with --socket.`;
}

function endRequested(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
}

/** Prints the host's address and writes it where other programs of the user find it. The files go with the host. */
function announce(at: ListenAddress, data: string, token: string): readonly string[] {
  const address = addressOf(at);
  if (at.kind === 'port' && !isLoopback(at.host))
    log.warn(`Other computers reach ${address}. Without encryption, anybody on the way reads along.`);
  const access = { token, ...(at.kind === 'port' ? { port: at.port } : {}) };
  writeSecret(path.join(data, 'access.json'), access);
  const file = path.join(data, 'host.json');
  const host = { pid: process.pid, address: addressOf(nearby(at)), token };
  writeSecret(file, host);
  const files = [file];
  try {
    files.push(announceHost(data, host));
  } catch (error) {
    log.warn(`Windows of the editor do not find this host by themselves: ${messageOf(error)}`);
  }
  process.stdout.write(`${JSON.stringify({ address, token })}\n`);
  return files;
}

function addressOf(at: ListenAddress): string {
  if (at.kind === 'socket') return at.path;
  return `ws://${at.host.includes(':') ? `[${at.host}]` : at.host}:${at.port}`;
}

/** How programs of this computer reach it: a host that listens everywhere listens here, too. */
function nearby(at: ListenAddress): ListenAddress {
  const here = at.kind === 'port' ? { '0.0.0.0': '127.0.0.1', '::': '::1' }[at.host] : undefined;
  return at.kind === 'port' && here !== undefined ? { ...at, host: here } : at;
}

/** The agents of that profile get what changed of their launch, as soon as they rest. */
function restartAtRest(sessions: Sessions, profile: string): void {
  for (const one of sessions.all.flatMap((id) => sessions.get(id) ?? [])) if (one.profile === profile) one.restartAtRest();
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of agents as windows set it; it overrides that of this process. */
class Environments {
  readonly #byProfile = new Map<string, Environment>();

  /** True when agents of that profile get another environment from now on. */
  set(profile: string, env: Environment): boolean {
    const before = this.#byProfile.get(profile) ?? Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
    this.#byProfile.set(profile, env);
    return JSON.stringify(before) !== JSON.stringify(env);
  }

  with(launch: Launch, profile: string): Launch {
    const env = this.#byProfile.get(profile);
    return env && launch.kind === 'process' ? { ...launch, env: { ...launch.env, ...env } } : launch;
  }
}

function versionOf(): string {
  const { version } = z.looseObject({ version: z.string() }).parse(JSON.parse(readFileSync(path.join(HERE, '..', 'package.json'), 'utf8')));
  return version;
}

void main().then((code) => process.exit(code));
