import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { qwen } from '../../src/protocols/qwen/index.ts';
import { drive } from '../agents/drive.ts';
import { peerFolder } from '../agents/lab.ts';
import { startPeer } from '../agents/qwen/peers.ts';
import { quietScene } from './timing/quietScene.ts';
import { median } from './timing/stopwatch.ts';

/**
 * Lines of one recording per second, through our adapter into a live session and through the official SDK; and the time from launch to ready,
 * the installed wrapper beside the script itself. The SDK and Qwen Code are those that `npm run test:agents -- qwen --install` puts in place.
 */

const ROUNDS = 1_000;
const DELTAS = 45;
const LINES = ROUNDS * (DELTAS + 5);

/** An agent that answers the handshake and then says the whole recording at once. */
const player = `
const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
const lane = { session_id: '11111111-1111-4111-8111-111111111111', parent_tool_use_id: null };
const event = (uuid, event) => JSON.stringify({ type: 'stream_event', uuid, ...lane, event }) + '\\n';
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const line = JSON.parse(text);
  if (line.type === 'control_request') say({ type: 'control_response', response: { subtype: 'success', request_id: line.request_id, response: { subtype: line.request.subtype, session_id: lane.session_id } } });
  if (line.type !== 'user') return;
  let out = '';
  for (let round = 0; round < ${ROUNDS}; round += 1) {
    const id = 'm' + round;
    const words = 'some words of text, ';
    out += event('a', { type: 'message_start', message: { id, role: 'assistant', model: 'm', content: [] } });
    out += event('b', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    for (let n = 0; n < ${DELTAS}; n += 1) out += event('c', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } });
    out += event('d', { type: 'content_block_stop', index: 0 });
    out += JSON.stringify({ type: 'assistant', uuid: id, ...lane, message: { id, type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: words.repeat(${DELTAS}) }], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } }) + '\\n';
    out += event('e', { type: 'message_stop' });
  }
  process.stdout.write(out);
  say({ type: 'result', subtype: 'success', uuid: 'r', ...lane, is_error: false, duration_ms: 1, duration_api_ms: 1, num_turns: 1, result: '', usage: { input_tokens: 1, output_tokens: 1 }, permission_denials: [] });
});
process.stdin.on('end', () => process.exit(0));
`;

const base = mkdtempSync(path.join(tmpdir(), 'parley-bench-qwen-'));
const file = path.join(base, 'player.cjs');
writeFileSync(file, player);

async function ours(): Promise<number> {
  const agent = drive({ protocol: qwen, launch: { kind: 'process', command: process.execPath, args: [file], env: {}, cwd: base } });
  await agent.ready();
  const began = performance.now();
  await agent.prompt('go');
  const took = performance.now() - began;
  await agent.stop();
  return took;
}

/** The same without a session behind it: what the SDK does as well, and decoding. */
async function oursAlone(): Promise<number> {
  let began = 0;
  return new Promise((resolve) => {
    const adapter = qwen.open(
      { kind: 'process', command: process.execPath, args: [file], env: {}, cwd: base },
      quietScene((event) => {
        if (event.type === 'link.ready') {
          began = performance.now();
          adapter.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
        }
        if (event.type !== 'turn.ended') return;
        const took = performance.now() - began;
        adapter.dispose();
        void adapter.ended.then(() => resolve(took));
      }),
    );
  });
}

interface Sdk {
  query(options: object): AsyncIterable<{ readonly type: string }> & { close?(): Promise<void> };
}

async function theirs(sdk: Sdk): Promise<number> {
  let began = 0;
  const prompts = async function* () {
    began = performance.now();
    yield { type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: 'go' } };
    await new Promise(() => {});
  };
  const query = sdk.query({ prompt: prompts(), options: { pathToQwenExecutable: file, cwd: base, includePartialMessages: true } });
  for await (const message of query) if (message.type === 'result') break;
  const took = performance.now() - began;
  await query.close?.();
  return took;
}

async function toReady(direct: boolean): Promise<number> {
  const peer = await startPeer('qwen');
  const began = performance.now();
  const agent = drive({ protocol: qwen, launch: { ...peer.launch, options: { direct: String(direct) } } });
  await agent.ready();
  const took = performance.now() - began;
  await agent.stop();
  await peer.remove();
  return took;
}

const several = async (run: () => Promise<number>, times: number) => {
  const values: number[] = [];
  for (let n = 0; n < times; n += 1) values.push(await run());
  return values;
};
const perSecond = (took: number) => `${Math.round(LINES / (took / 1000)).toLocaleString('en')} lines/s (${Math.round(took)} ms)`;

console.log(`${LINES} lines, adapter alone: ${perSecond(median(await several(oursAlone, 3)))}`);
console.log(`${LINES} lines, adapter and live session: ${perSecond(median(await several(ours, 3)))}`);
const sdkFile = path.join(peerFolder('qwen-sdk'), '@qwen-code/sdk/dist/index.mjs');
if (existsSync(sdkFile)) {
  const sdk = (await import(pathToFileURL(sdkFile).href)) as Sdk;
  console.log(`${LINES} lines, @qwen-code/sdk, read and left: ${perSecond(median(await several(() => theirs(sdk), 3)))}`);
} else console.log('@qwen-code/sdk is not installed, so nothing is compared with it');
const installed = existsSync(path.join(peerFolder('qwen'), '@qwen-code/qwen-code'));
if (installed) {
  // In turns, so that what else the machine does falls on both.
  const took: Record<string, number[]> = { 'the script itself': [], 'the installed wrapper': [] };
  for (let n = 0; n < 5; n += 1) {
    for (const [name, values] of Object.entries(took)) values.push(Math.round(await toReady(name === 'the script itself')));
  }
  for (const [name, values] of Object.entries(took)) {
    console.log(`launch to ready, ${name}: median ${median(values)} ms (${values.join(', ')})`);
  }
} else console.log('Qwen Code is not installed, so nothing is compared with it');
rmSync(base, { recursive: true, force: true });
process.exit(0);
