/**
 * The agent host beside sessions as the editor runs them, both with an agent that streams: memory and descriptors with 50 sessions, the way from a prompt to the first
 * part, bytes for each character, and a client that comes back after 10,000 actions.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { WebSocket } from 'ws';
import { silentLog } from '../../src/base/log.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { diskEffects, diskFilesIn } from '../../src/live/diskFiles.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import { launchOf, type Profile } from '../../src/live/profiles.ts';
import { ChangeSet } from '../../src/live/review/changeSet.ts';
import { ChangeSets } from '../../src/live/review/changeSets.ts';
import { Sessions } from '../../src/live/sessions.ts';
import { protocols } from '../../src/protocols/registry.ts';

const SESSIONS = 50;
const ROUNDS = 30;
const PIECES = 10_000;

const agent = path.resolve('out/bench/stamping.cjs');
await build({ entryPoints: ['test/bench/agent/stamping.ts'], bundle: true, platform: 'node', format: 'cjs', outfile: agent });
const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-bench-'));
const folder = path.join(temp, 'work');
mkdirSync(folder);
const agentProfile = { id: 'fake', name: 'Fake', protocol: 'kimi-wire', command: process.execPath, args: [agent] };
writeFileSync(path.join(temp, 'profiles.json'), JSON.stringify([agentProfile]));

interface Frame {
  readonly id?: number;
  readonly result?: { readonly type?: string; readonly actions?: readonly unknown[] };
  readonly params?: { readonly serverSeq?: number; readonly action?: { readonly type: string } };
}

class Client {
  readonly heard: Frame[] = [];
  bytes = 0;
  readonly #counts = new Map<string, number>();
  #id = 0;
  #wake = () => {};
  readonly socket: WebSocket;

  constructor(address: string) {
    this.socket = new WebSocket(address);
    this.socket.on('message', (data) => {
      this.bytes += (data as Buffer).length;
      const frame = JSON.parse(String(data)) as Frame;
      this.heard.push(frame);
      const type = frame.params?.action?.type ?? '';
      this.#counts.set(type, this.count(type) + 1);
      this.#wake();
    });
  }

  async open(clientId: string): Promise<void> {
    await new Promise((resolve) => this.socket.once('open', resolve));
    await this.ask('initialize', { protocolVersions: ['0.9.0'], clientId });
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  async ask(method: string, params: object): Promise<Frame> {
    this.#id += 1;
    const id = this.#id;
    this.#send({ id, method, params: { channel: 'ahp-root://', ...params } });
    await this.until(() => this.heard.some((frame) => frame.id === id));
    return this.heard.find((frame) => frame.id === id) as Frame;
  }

  say(chat: string, turnId: string, text: string): void {
    const action = { type: 'chat/turnStarted', turnId, startedAt: new Date().toISOString(), message: { text, origin: { kind: 'user' } } };
    this.#send({ method: 'dispatchAction', params: { channel: chat, clientSeq: 1, action } });
  }

  draft(chat: string, text: string): void {
    const action = { type: 'chat/draftChanged', draft: { text, origin: { kind: 'user' } } };
    this.#send({ method: 'dispatchAction', params: { channel: chat, clientSeq: 1, action } });
  }

  count(type: string): number {
    return this.#counts.get(type) ?? 0;
  }

  /** Milliseconds from the prompt to the first part. */
  async firstPart(chat: string, turnId: string): Promise<number> {
    const [parts, ends] = [this.count('chat/responsePart'), this.count('chat/turnComplete')];
    const at = performance.now();
    this.say(chat, turnId, 'go');
    await this.until(() => this.count('chat/responsePart') > parts);
    const taken = performance.now() - at;
    await this.until(() => this.count('chat/turnComplete') > ends);
    return taken;
  }

  #send(message: object): void {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}

const name = (at: number) => `0f1d2c3b-4a59-6877-8695-${String(at).padStart(12, '0')}`;
const median = (taken: readonly number[]) => taken.toSorted((a, b) => a - b)[Math.floor(taken.length / 2)] ?? Number.NaN;

function weight({ pid }: ChildProcess): string {
  if (process.platform !== 'linux') return 'only measured on Linux';
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return `${(Number(kilobytes) / 1024).toFixed(0)} MiB, ${readdirSync(`/proc/${pid}/fd`).length} descriptors`;
}

const host = spawn(
  process.execPath,
  ['dist/parley.js', 'serve', '--data', path.join(temp, 'data'), '--profile', path.join(temp, 'profiles.json')],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
try {
  let place: { readonly address: string; readonly token: string } | undefined;
  for await (const line of createInterface({ input: host.stdout })) {
    place = JSON.parse(line) as { readonly address: string; readonly token: string };
    break;
  }
  const address = `${place?.address}/?tkn=${place?.token}`;
  const client = new Client(address);
  await client.open('bench');
  console.log(`host at its start: ${weight(host)}`);
  const root = pathToFileURL(folder).href;
  for (let at = 0; at < SESSIONS; at += 1)
    await client.ask('createSession', { channel: `fake:/${name(at)}`, provider: 'fake', workingDirectories: [root] });
  const chat = `ahp-chat:/${name(0)}`;
  await client.ask('subscribe', { channel: `fake:/${name(0)}` });
  await client.ask('subscribe', { channel: chat });
  console.log(`prompt to first part with the agent's start: ${(await client.firstPart(chat, 'first')).toFixed(0)} ms`);
  console.log(`host with ${SESSIONS} sessions and one agent: ${weight(host)}`);
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) taken.push(await client.firstPart(chat, `t${round}`));
  console.log(`prompt to first part: median ${median(taken).toFixed(1)} ms over the host`);
  await own();
  const { bytes } = client;
  const ends = client.count('chat/turnComplete');
  client.say(chat, 'long', `stream ${PIECES}`);
  await client.until(() => client.count('chat/turnComplete') > ends);
  console.log(
    `${((client.bytes - bytes) / (PIECES * 6)).toFixed(2)} bytes for each streamed character, in ${PIECES.toLocaleString('en')} pieces of 6`,
  );
  await comingBack(client, address, chat);
  await allAnswered(address);
} finally {
  host.kill('SIGTERM');
  await new Promise((resolve) => host.once('exit', resolve));
  rmSync(temp, { recursive: true, force: true, maxRetries: 5 });
}

/** The same agent in this process, as the editor runs its sessions: with a journal, and with a look at the files before each prompt. */
async function own(): Promise<void> {
  const profile: Profile = { ...agentProfile, env: {}, headers: {} };
  const sessions = new Sessions({
    protocols: () => protocols,
    profile: () => profile,
    launch: async (one, { cwd }) => launchOf(one, cwd),
    ports: ({ cwd }) => ({ tools: [], files: diskFilesIn(cwd), terminals: childTerminals({ cwd }) }),
    rules: () => [],
    client: { name: 'Parley', version: '0' },
    log: silentLog,
    trace: () => {},
    now: Date.now,
    newId: randomUUID,
    journal: new Journal(path.join(temp, 'own'), silentLog),
    windowKey: () => 'bench',
  });
  const review = path.join(temp, 'own-review');
  const changeSets = new ChangeSets(
    sessions,
    review,
    () => ChangeSet,
    diskEffects,
    (id, event) => sessions.get(id)?.publish(event),
    silentLog,
  );
  sessions.holdPrompts((id, turnId) => changeSets.beforePrompt(id, turnId));
  const counts = new Map<string, number>();
  let wake = () => {};
  sessions.onChange((_id, { event }) => {
    counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
    wake();
  });
  const next = async (type: string, before: number) => {
    while ((counts.get(type) ?? 0) <= before) await new Promise<void>((resolve) => (wake = resolve));
  };
  const id = sessions.open(profile, folder);
  const taken: number[] = [];
  // The first round starts the agent.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [texts, ends] = ['text.delta', 'turn.ended'].map((type) => counts.get(type) ?? 0);
    const at = performance.now();
    sessions.get(id)?.send({ type: 'prompt', turnId: `own-${round}`, content: [{ type: 'text', text: 'go' }] });
    await next('text.delta', texts ?? 0);
    if (round > 0) taken.push(performance.now() - at);
    await next('turn.ended', ends ?? 0);
  }
  console.log(`prompt to first part: median ${median(taken).toFixed(1)} ms in the process, as the editor runs its own sessions`);
  changeSets.dispose();
  sessions.dispose();
  await sessions.agentsEnded();
}

/** A client that was away for as many changes of a draft. */
async function comingBack(client: Client, address: string, chat: string): Promise<void> {
  const seen = client.heard.findLast(({ params }) => params?.serverSeq !== undefined)?.params?.serverSeq ?? 0;
  for (let missed = 0; missed < PIECES; missed += 1) client.draft(chat, String(missed));
  await client.until(() => client.count('chat/draftChanged') >= PIECES);
  const back = new Client(address);
  await new Promise((resolve) => back.socket.once('open', resolve));
  const at = performance.now();
  const { result } = await back.ask('reconnect', { clientId: 'bench', lastSeenServerSeq: seen, subscriptions: [chat] });
  console.log(
    `coming back after ${result?.actions?.length ?? 0} missed actions (${result?.type}): ${(performance.now() - at).toFixed(0)} ms`,
  );
  back.socket.terminate();
  client.socket.terminate();
}

/** Every session has answered once, and its agent is there still. */
async function allAnswered(address: string): Promise<void> {
  const client = new Client(address);
  await client.open('all');
  for (let at = 1; at < SESSIONS; at += 1) {
    const chat = `ahp-chat:/${name(at)}`;
    await client.ask('subscribe', { channel: chat });
    await client.firstPart(chat, `once-${at}`);
  }
  console.log(`host with ${SESSIONS} sessions that have answered, each with its agent: ${weight(host)}`);
  client.socket.terminate();
}
