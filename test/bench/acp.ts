import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { build } from 'esbuild';
import { silentLog } from '../../src/base/log.ts';
import { LiveSession } from '../../src/live/liveSession.ts';
import { acp } from '../../src/protocols/acp/index.ts';
import type { Ports } from '../../src/protocols/ports.ts';
import { newSession } from '../../src/session/reduce.ts';
import { inTurns, isSide, type Sides } from './timing/apart.ts';
import { median, stopwatch, type Took } from './timing/stopwatch.ts';

/**
 * Updates per second of one recording: ours from the agent's standard output into a live session's state, and the official client, which reads
 * and checks them and hands each to a handler that does nothing. The recording is a turn of a real agent (the Claude adapter 0.100.0 against a
 * scripted model: thoughts, text, reading, an edit, a new file, a command); a turn here is ten of them. Then the bytes ACP adds to the bundle.
 */

const TURNS = 30;
const ROUNDS = 10;

/** An agent that says ten rounds of the recording at once, as often as it is asked. Ids are new in each round. */
const player = `
const { readFileSync } = require('node:fs');
const line = (message) => JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n';
const recording = readFileSync(process.argv[2], 'utf8').trim().split('\\n');
const round = (said) => recording.map((update) => '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":' + update.replaceAll(/(toolu|msg)_/g, '$1_' + said + '_') + '}}\\n').join('');
const turns = Array.from({ length: ${TURNS} }, (_, turn) => Array.from({ length: ${ROUNDS} }, (_, at) => round(turn * ${ROUNDS} + at)).join(''));
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method } = JSON.parse(text);
  if (id === undefined || method === undefined) return;
  if (method === 'initialize') return process.stdout.write(line({ id, result: { protocolVersion: 1, agentCapabilities: {} } }));
  if (method === 'session/new') return process.stdout.write(line({ id, result: { sessionId: 's' } }));
  if (method !== 'session/prompt') return process.stdout.write(line({ id, result: {} }));
  process.stdout.write(turns.shift() + line({ id, result: { stopReason: 'end_turn' } }));
});
process.stdin.on('end', () => process.exit(0));
`;

interface Given {
  readonly base: string;
  readonly updates: number;
}
const programIn = (base: string) => path.join(base, 'player.cjs');
const playedIn = (base: string) => path.join(base, 'played.jsonl');
const ports: Ports = {
  tools: [],
  files: { read: async () => '{\n  "name": "sample",\n  "debug": false\n}\n', write: async () => {} },
  terminals: { create: () => Promise.reject(new Error('none')) },
};

async function ours({ base }: Given): Promise<Took> {
  const live = new LiveSession(newSession('s', { protocol: 'acp', name: '' }, base), 'bench', {
    protocol: acp,
    launch: async () => ({ kind: 'process', command: process.execPath, args: [programIn(base), playedIn(base)], env: {}, cwd: base }),
    ports,
    rules: () => [],
    client: { name: 'bench', version: '0' },
    log: silentLog,
    trace: () => {},
    now: Date.now,
    newId: randomUUID,
  });
  const reached = (holds: (now: LiveSession['store']['now']) => boolean) =>
    new Promise<void>((resolve) => {
      const listener = live.store.onChange(({ event, now }) => {
        if ((event.type !== 'turn.ended' && event.type !== 'link.ready') || !holds(now)) return;
        listener.dispose();
        resolve();
      });
    });
  const ready = reached(({ link }) => link.state === 'ready');
  await live.start();
  await ready;
  const read = stopwatch();
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const ended = reached(({ turns }) => turns.length === turn && turns.every((one) => one.status === 'done'));
    live.send({ type: 'prompt', turnId: `t${turn}`, content: [{ type: 'text', text: 'go' }] });
    await ended;
  }
  const took = read();
  live.dispose();
  await live.ended;
  return took;
}

async function theirs({ base, updates }: Given): Promise<Took> {
  const child: ChildProcess = spawn(process.execPath, [programIn(base), playedIn(base)], { stdio: ['pipe', 'pipe', 'inherit'] });
  if (!child.stdin || !child.stdout) throw new Error('no pipes');
  let seen = 0;
  let took: Took = { clock: 0, processor: 0 };
  const output = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
  const input = Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>;
  await client({ name: 'bench' })
    .onNotification(methods.client.session.update, () => {
      seen += 1;
    })
    .connectWith(ndJsonStream(output, input), async (agent) => {
      await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
      await agent.request(methods.agent.session.new, { cwd: base, mcpServers: [] });
      const read = stopwatch();
      for (let turn = 1; turn <= TURNS; turn += 1) {
        await agent.request(methods.agent.session.prompt, { sessionId: 's', prompt: [{ type: 'text', text: 'go' }] });
      }
      took = read();
    });
  child.kill();
  if (seen !== updates) throw new Error(`the official client told of ${seen} of ${updates} updates`);
  return took;
}

const sides: Sides<Given> = { ours, theirs };

async function beside(base: string, what: string, lines: readonly string[]): Promise<void> {
  writeFileSync(playedIn(base), lines.join('\n'));
  const updates = lines.length * TURNS * ROUNDS;
  const took = await inTurns(sides, { base, updates }, 7);
  console.log(`${what}, ${updates} updates:`);
  for (const by of ['processor', 'clock'] as const) {
    const [mine, official] = [median(took('ours').map((one) => one[by])), median(took('theirs').map((one) => one[by]))];
    const perSecond = (ms: number) => `${Math.round(updates / (ms / 1000)).toLocaleString('en')} updates/s (${Math.round(ms)} ms)`;
    console.log(`  by the ${by}: ours ${perSecond(mine)}, official client ${perSecond(official)}: ${(official / mine).toFixed(1)} times`);
  }
}

/** Minified bytes of all protocols' bundle, and of the same without ACP. */
async function bytes(): Promise<void> {
  const size = async (without: boolean) => {
    const { outputFiles } = await build({
      entryPoints: ['src/protocols/registry.ts'],
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20',
      external: ['vscode'],
      minify: true,
      write: false,
      plugins: without
        ? [
            {
              name: 'without',
              setup: (on) => on.onLoad({ filter: /protocols\/acp\/index\.ts$/ }, () => ({ contents: 'export const acp = {}' })),
            },
          ]
        : [],
    });
    return outputFiles[0]?.contents.length ?? 0;
  };
  const [all, rest] = [await size(false), await size(true)];
  console.log(`ACP adds ${((all - rest) / 1000).toFixed(1)} kB minified to the protocols`);
}

async function main(): Promise<void> {
  const base = mkdtempSync(path.join(tmpdir(), 'parley-bench-acp-'));
  writeFileSync(programIn(base), player);
  // The agent worked in /w: its edits are inside the session's folder here as well.
  const recording = readFileSync(path.resolve('test/bench/acp/claude.jsonl'), 'utf8').replaceAll('/w/', `${base}/`).trim().split('\n');
  await beside(base, 'a whole conversation', recording);
  const text = recording.filter((update) => update.includes('_chunk"'));
  await beside(base, 'text only', text);
  await bytes();
  rmSync(base, { recursive: true, force: true });
}

if (!isSide(sides)) await main();
