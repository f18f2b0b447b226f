import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { silentLog } from '../../src/base/log.ts';
import { LiveSession } from '../../src/live/liveSession.ts';
import { kimiWire } from '../../src/protocols/kimi-wire/index.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { peerFolder } from '../agents/lab.ts';
import { inTurns, isSide, type Sides } from './timing/apart.ts';
import { quietScene } from './timing/quietScene.ts';
import { median, stopwatch, type Took } from './timing/stopwatch.ts';

/**
 * Messages of one recording per second: our adapter alone, our adapter into a live session, and the official SDK, whose events are read and
 * left. The SDK is the one that `npm run test:agents -- kimi-wire --install` puts in place.
 */

const ROUNDS = 1_000;
const PIECES = 45;
const ROUNDS_TIMED = 7;
const MESSAGES = ROUNDS * (PIECES + 5) + 2;

/** An agent that answers the handshake and then says the whole recording at once. */
const player = `
const line = (message) => JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n';
const event = (type, payload) => line({ method: 'event', params: { type, payload } });
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method, params } = JSON.parse(text);
  if (id === undefined || method === undefined) return;
  if (method === 'initialize') return process.stdout.write(line({ id, result: { protocol_version: '1.10', server: { name: 'Player', version: '1' }, slash_commands: [] } }));
  if (method !== 'prompt') return process.stdout.write(line({ id, result: {} }));
  if (JSON.stringify(params.user_input).includes('first')) return process.stdout.write(event('TurnBegin', { user_input: 'first' }) + event('TurnEnd', {}) + line({ id, result: { status: 'finished' } }));
  let out = event('TurnBegin', { user_input: 'go' });
  for (let n = 1; n <= ${ROUNDS}; n += 1) {
    out += event('StepBegin', { n });
    for (let piece = 0; piece < ${PIECES}; piece += 1) out += event('ContentPart', { type: 'text', text: 'some words of text, ' });
    out += event('ToolCall', { type: 'function', id: 'c' + n, function: { name: 'Shell', arguments: null }, extras: null });
    out += event('ToolCallPart', { arguments_part: '{"command":"true"}' });
    out += event('StatusUpdate', { context_usage: 0.1, token_usage: { input_other: 1, output: 1, input_cache_read: 0, input_cache_creation: 0 }, message_id: 'm' + n });
    out += event('ToolResult', { tool_call_id: 'c' + n, return_value: { is_error: false, output: 'ok', message: '', display: [] } });
  }
  process.stdout.write(out + event('TurnEnd', {}) + line({ id, result: { status: 'finished' } }));
});
process.stdin.on('end', () => process.exit(0));
`;

const launchIn = (base: string) => ({ kind: 'process', command: path.join(base, 'player'), args: [], env: {}, cwd: base }) as const;

/** As the editor holds one: reducer, queue and policy; no journal, and the protocol log is off. */
async function withSession(base: string): Promise<Took> {
  const live = new LiveSession(newSession('s', { protocol: 'kimi-wire', name: 'Player' }, base), 'player', {
    protocol: kimiWire,
    launch: async () => launchIn(base),
    ports: {
      tools: [],
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    },
    rules: () => [],
    client: { name: 'bench', version: '0' },
    log: silentLog,
    trace: () => {},
    now: Date.now,
    newId: randomUUID,
  });
  const until = (holds: (session: Session) => boolean) =>
    new Promise<void>((resolve) => {
      const listener = live.store.onChange(({ now }) => {
        if (!holds(now)) return;
        listener.dispose();
        resolve();
      });
    });
  void live.start();
  await until(({ link }) => link.state === 'ready');
  const read = stopwatch();
  live.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
  await until(({ turns }) => turns[0]?.status === 'done');
  const took = read();
  if ((live.store.now.turns[0]?.parts.length ?? 0) !== 2 * ROUNDS) throw new Error('the session does not hold the whole recording');
  live.dispose();
  await live.ended;
  return took;
}

/** Without a session behind it: what the SDK does as well, and decoding. */
function alone(base: string): Promise<Took> {
  return new Promise((resolve) => {
    let read = stopwatch();
    const adapter = kimiWire.open(
      launchIn(base),
      quietScene((event) => {
        if (event.type === 'link.ready') {
          // The adapter is told of its own readiness before it takes a prompt.
          setImmediate(() => {
            read = stopwatch();
            adapter.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
          });
        }
        if (event.type !== 'turn.ended') return;
        const took = read();
        adapter.dispose();
        void adapter.ended.then(() => resolve(took));
      }),
    );
  });
}

interface SdkTurn extends AsyncIterable<{ readonly type: string }> {
  readonly result: Promise<unknown>;
}
interface Sdk {
  createSession(options: object): { prompt(text: string): SdkTurn; close(): Promise<void> };
}

/** Its process starts with the first prompt, so the one that is measured is the second. */
async function theirs(base: string): Promise<Took> {
  const sdk = (await import(pathToFileURL(sdkFile).href)) as Sdk;
  const session = sdk.createSession({ workDir: base, sessionId: randomUUID(), executable: launchIn(base).command, env: {} });
  for await (const event of session.prompt('first')) if (event.type === 'TurnEnd') continue;
  let seen = 0;
  const read = stopwatch();
  const turn = session.prompt('go');
  for await (const event of turn) if (event.type !== 'error') seen += 1;
  await turn.result;
  const took = read();
  await session.close();
  if (seen < MESSAGES / 2) throw new Error(`the SDK told of ${seen} events only`);
  return took;
}

const SDK = '@moonshot-ai/kimi-agent-sdk';
const INSTALL = 'npm run test:agents -- kimi-wire --install';
const sdkFile = path.join(peerFolder('kimi-agent-sdk'), SDK, 'dist/index.mjs');
const hasSdk = existsSync(sdkFile);
const ours: Sides<string> = { 'adapter alone': alone, 'adapter and live session': withSession };
const sides: Sides<string> = hasSdk ? { ...ours, [SDK]: theirs } : ours;

async function main(): Promise<void> {
  if (!hasSdk) console.log(`${SDK} is not installed, so nothing is compared: these are Parley's own figures. ${INSTALL} installs it.`);
  const base = mkdtempSync(path.join(tmpdir(), 'parley-bench-wire-'));
  const program = path.join(base, 'player.cjs');
  writeFileSync(program, player);
  writeFileSync(launchIn(base).command, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(launchIn(base).command, 0o755);
  const took = await inTurns(sides, base, ROUNDS_TIMED);
  const of = (name: string, by: keyof Took) => median(took(name).map((one) => one[by]));
  const perSecond = (ms: number) => `${Math.round(MESSAGES / (ms / 1000)).toLocaleString('en')} messages/s (${Math.round(ms)} ms)`;
  for (const name of Object.keys(sides))
    console.log(
      `${MESSAGES} messages, ${name}: by the clock ${perSecond(of(name, 'clock'))}, by the processor ${perSecond(of(name, 'processor'))}`,
    );
  for (const name of hasSdk ? Object.keys(ours) : []) {
    const times = (by: keyof Took) => (of(SDK, by) / of(name, by)).toFixed(2);
    console.log(`${name}, beside the SDK: ${times('clock')} times as fast by the clock, ${times('processor')} by the processor`);
  }
  rmSync(base, { recursive: true, force: true });
}

if (!isSide(sides)) await main();
