import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { ApprovalRule } from '../session/policy.ts';
import { unreachable } from '../transport/link.ts';
import { killTreeNow } from '../transport/processTree.ts';
import { discard, replaceFileSync } from '../transport/replaceFile.ts';
import type { Profile } from './profiles.ts';

/** An agent host of this user (docs/servers.md). */
export interface RunningHost {
  readonly pid: number;
  /** `ws://…`, without the token; or the path of a socket. */
  readonly address: string;
  readonly token: string;
}
/** A host as it announces itself to the programs of its user; `key` is the same each time it runs. */
export interface AnnouncedHost extends RunningHost {
  readonly key: string;
}

const entry = z.object({ pid: z.number(), address: z.string(), token: z.string() });
const line = z.object({ address: z.string(), token: z.string() });
/** Milliseconds a host may take to say where it listens. */
const START_WITHIN = 20_000;
const LOOK_EVERY = 100;
/** The message of a host whose folder another one uses. */
export const TAKEN = 'Another host uses';
/** Bytes. */
const LONGEST_LOG = 1024 * 1024;
/** Announced hosts that are looked at. */
const MOST_HOSTS = 50;

/** The host that keeps its conversations in this folder; undefined when none runs. */
export function runningHost(data: string): RunningHost | undefined {
  try {
    const found = entry.safeParse(JSON.parse(readFileSync(path.join(data, 'host.json'), 'utf8')));
    if (!found.success) return undefined;
    return isOwnProcess(found.data.pid) ? found.data : undefined;
  } catch {
    return undefined;
  }
}

/** Where hosts of this user announce themselves, whoever started them and wherever they keep their conversations. */
function hostsFolder(): string {
  return path.join(homedir(), '.parley', 'hosts');
}

/** The name under which the host of this folder announces itself. */
export function hostKey(data: string): string {
  return createHash('sha256').update(path.resolve(data)).digest('hex').slice(0, 16);
}

/** Announces a host to the programs of its user, who alone can read it, and returns the file. Drops what killed hosts have left. */
export function announceHost(data: string, host: RunningHost): string {
  const folder = hostsFolder();
  makeOwnFolder(folder);
  for (const { file, found } of announced(folder)) if (!found || !isOwnProcess(found.pid)) discard(file);
  const file = path.join(folder, `${hostKey(data)}.json`);
  writeSecret(file, host);
  return file;
}

/** The running hosts of this user, except the one of this folder. Entries that others may have written, or whose process is gone, do not count. */
export function otherHosts(data: string): readonly AnnouncedHost[] {
  const own = hostKey(data);
  return announced(hostsFolder()).flatMap(({ key, found }) => (found && key !== own && isOwnProcess(found.pid) ? [{ ...found, key }] : []));
}

/** Throws a sentence for the user when that host does not run. */
export function otherHost(data: string, key: string): RunningHost {
  const host = otherHosts(data).find((one) => one.key === key);
  if (!host) throw new Error(unreachable('parley serve', 'ECONNREFUSED'));
  return host;
}

interface Announced {
  readonly key: string;
  readonly file: string;
  /** Undefined where it cannot be read, or is not of this user. */
  readonly found: RunningHost | undefined;
}

function announced(folder: string): readonly Announced[] {
  try {
    if (!isOurs(folder)) return [];
    const keys = readdirSync(folder).flatMap((name) => /^([0-9a-f]{16})\.json$/.exec(name)?.[1] ?? []);
    return keys.slice(0, MOST_HOSTS).map((key) => ({ key, ...readAnnounced(path.join(folder, `${key}.json`)) }));
  } catch {
    return [];
  }
}

function readAnnounced(file: string): Omit<Announced, 'key'> {
  try {
    const isRead = isOurs(file) && lstatSync(file).isFile();
    return { file, found: isRead ? entry.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data : undefined };
  } catch {
    return { file, found: undefined };
  }
}

/** Whether a process of this user has that id. One of another user, which may not be sent a signal, is no host of ours: the id was used again. */
function isOwnProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** True of a file or folder that no other account of this computer may write to. Windows keeps that apart from the mode. */
export function isOurs(file: string): boolean {
  const { mode, uid } = lstatSync(file);
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}

export function makeOwnFolder(folder: string): void {
  makeFolder(folder);
  chmodSync(folder, 0o700);
}

/** Not by one recursive call, which node repeats for ever where the system says that a folder is missing which is there (`/proc`). */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = path.dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** Settings that a host reloads on every change. */
export interface HostSettings {
  readonly profiles: readonly Profile[];
  readonly rules: readonly (ApprovalRule & { readonly agent?: string })[];
  readonly guardedFiles: readonly string[];
}

export interface HostStart {
  /** Folder of its conversations. */
  readonly data: string;
  readonly script: string;
  readonly settings: HostSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The files with the settings of the host of this folder. */
export function writeHostSettings(data: string, { profiles, ...rules }: HostSettings): { readonly agents: string; readonly rules: string } {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const files = { agents: path.join(data, 'agents.json'), rules: path.join(data, 'rules.json') };
  for (const [file, value] of [
    [files.agents, profiles],
    [files.rules, rules],
  ] as const) {
    writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
    replaceFileSync(`${file}.new`, file);
  }
  return files;
}

/**
 * Starts a host that outlives this process. Returns another window's host when that one was faster. Rejects with the output of a host that ended at
 * once, and kills one that does not report its address.
 */
export async function startHost({ data, script, settings, env }: HostStart): Promise<RunningHost> {
  const { agents, rules } = writeHostSettings(data, settings);
  // A file takes its output after this process has ended, too.
  const logFile = path.join(data, 'host.log');
  const log = openSync(logFile, 'a', 0o600);
  if (fstatSync(log).size > LONGEST_LOG) ftruncateSync(log);
  const { size } = fstatSync(log);
  const child = spawn(process.execPath, [script, 'serve', '--data', data, '--profile', agents, '--rules', rules], {
    detached: true,
    stdio: ['ignore', 'pipe', log],
    env: { ...process.env, ...env },
    windowsHide: true,
  });
  closeSync(log);
  const timer = setTimeout(() => child.kill(), START_WITHIN);
  try {
    const ended = once(child, 'exit');
    const first = await Promise.race([firstLine(child.stdout), ended.then(() => undefined)]);
    if (first !== undefined && child.pid !== undefined) return { pid: child.pid, ...line.parse(JSON.parse(first)) };
    await ended;
    const said = readFileSync(logFile).subarray(size).toString().slice(-2000).trim();
    const other = said.includes(TAKEN) ? await justStarted(data) : undefined;
    if (other) return other;
    throw new Error(said || 'The host ended at once.');
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(timer);
    child.stdout?.destroy();
    child.unref();
  }
}

/** Waits for the host that another window has just started in this folder. */
async function justStarted(data: string): Promise<RunningHost | undefined> {
  for (let waited = 0; waited < START_WITHIN; waited += LOOK_EVERY) {
    const host = runningHost(data);
    if (host) return host;
    await pause(LOOK_EVERY);
  }
  return undefined;
}

/** Undefined when there is none. */
async function firstLine(stream: Readable | null): Promise<string | undefined> {
  if (!stream) return undefined;
  for await (const text of createInterface({ input: stream })) return text;
  return undefined;
}

/** Asks a host to end. Its sessions come back with the next. */
export function stopHost({ pid }: RunningHost): void {
  // Windows has no such signal: it would end the host alone and leave its agents running.
  if (process.platform === 'win32') killTreeNow(pid);
  else process.kill(pid, 'SIGTERM');
}

/** A new file each time: one that is there keeps its mode, and may be a link. */
export function writeSecret(file: string, value: object): void {
  const fresh = `${file}.${crypto.randomUUID()}.new`;
  writeFileSync(fresh, JSON.stringify(value), { mode: 0o600, flag: 'wx' });
  try {
    replaceFileSync(fresh, file);
  } catch (error) {
    discard(fresh);
    throw error;
  }
}

/** At once, or when the program that holds it lets go. */
export function removeSecret(file: string): void {
  discard(file);
}
