/**
 * Processor time of one turn, from the agent's bytes to the session, beside the code before each protocol became a state machine. Both are run in
 * turns in this process; the older one is checked out of the repository's history, which a shallow clone does not have.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Launch, Protocol } from '../../src/protocols/adapter.ts';
import type { openConversation } from './timing/conversation.ts';
import { median, stopwatch } from './timing/stopwatch.ts';

interface Side {
  readonly protocol: Protocol;
  readonly openConversation: typeof openConversation;
}
const HELPER = 'test/bench/timing/conversation.ts';
const MOVED = {
  'ai-sdk': { commit: 'b1b3c65', name: 'aiSdk' },
  qwen: { commit: '9e0c2e7', name: 'qwen' },
  a2a: { commit: '3bbe7da', name: 'a2a' },
  acp: { commit: '8fd4e67', name: 'acp' },
} as const;
type Moved = keyof typeof MOVED;

const root = process.cwd();
const base = mkdtempSync(path.join(tmpdir(), 'parley-bench-before-'));
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });

/** One module with the protocol of that source tree and what drives it. */
async function load(tree: string, protocol: Moved, outfile: string): Promise<Side> {
  const { name } = MOVED[protocol];
  const contents = `export { ${name} as protocol } from './src/protocols/${protocol}/index.ts'; export { openConversation } from './${HELPER}';`;
  await build({
    stdin: { contents, resolveDir: tree, loader: 'ts' },
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', logLevel: 'error', outfile },
  });
  return (await import(pathToFileURL(outfile).href)) as Side;
}

async function compare(protocol: Moved, turns: readonly (readonly [string, number, Launch])[]): Promise<void> {
  const tree = path.join(base, `${protocol}-before`);
  git('worktree', 'add', '--quiet', '--detach', '--force', tree, `${MOVED[protocol].commit}~1`);
  try {
    symlinkSync(path.join(root, 'node_modules'), path.join(tree, 'node_modules'), 'junction');
    copyFileSync(path.join(root, HELPER), path.join(tree, HELPER));
    const out = path.join(root, 'out', 'harness', 'before', protocol);
    const sides = { before: await load(tree, protocol, `${out}-before.mjs`), now: await load(root, protocol, `${out}-now.mjs`) };
    for (const [name, rounds, launch] of turns) await compareTurn(`${protocol}, ${name}`, rounds, launch, sides);
  } finally {
    git('worktree', 'remove', '--force', tree);
  }
}

async function compareTurn(name: string, rounds: number, launch: Launch, sides: Readonly<Record<'before' | 'now', Side>>): Promise<void> {
  const took = { before: [] as number[], now: [] as number[] };
  // A conversation that stays open, as in the editor: without one, the engine forgets the shapes of its objects in between.
  const kept = [];
  for (const { protocol, openConversation } of Object.values(sides)) kept.push(await openConversation(protocol, launch));
  for (let round = 0; round < rounds + Math.ceil(rounds / 3); round += 1) {
    for (const side of ['before', 'now'] as const) {
      const conversation = await sides[side].openConversation(sides[side].protocol, launch);
      const read = stopwatch();
      await conversation.prompt();
      if (round >= rounds / 3) took[side].push(read().processor);
      await conversation.stop();
    }
  }
  for (const one of kept) await one.stop();
  const [before, now] = [median(took.before), median(took.now)];
  console.log(`${name}: ${now.toFixed(2)} ms, before ${before.toFixed(2)} ms; ${(now / before).toFixed(2)} times as long`);
}

// --- agents, in processes of their own

/** Says its port once it listens. */
async function start(script: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())));
  return { child, url: `http://127.0.0.1:${port}` };
}

const aiSdkPlayer = `
const answer = (deltas) => [{ type: 'start', messageId: 'm' }, { type: 'start-step' }, { type: 'text-start', id: 't' },
  ...Array.from({ length: deltas }, (_, at) => ({ type: 'text-delta', id: 't', delta: 'word' + at + ' ' })), { type: 'text-end', id: 't' }, { type: 'finish' }];
const step = (at) => {
  const toolCallId = 'call-' + at;
  const input = { path: 'src/file' + at + '.ts', content: 'x'.repeat(400) };
  return [{ type: 'start-step' }, { type: 'reasoning-start', id: 'r' }, ...Array.from({ length: 10 }, () => ({ type: 'reasoning-delta', id: 'r', delta: 'thinking ' })),
    { type: 'reasoning-end', id: 'r' }, { type: 'text-start', id: 't' }, ...Array.from({ length: 20 }, () => ({ type: 'text-delta', id: 't', delta: 'telling ' })),
    { type: 'text-end', id: 't' }, { type: 'tool-input-start', toolCallId, toolName: 'write' },
    ...JSON.stringify(input).match(/.{1,20}/g).map((inputTextDelta) => ({ type: 'tool-input-delta', toolCallId, inputTextDelta })),
    { type: 'tool-input-available', toolCallId, toolName: 'write', input }, { type: 'tool-output-available', toolCallId, output: { ok: true } }, { type: 'finish-step' }];
};
const bytes = (chunks) => Buffer.from(chunks.map((chunk) => 'data: ' + JSON.stringify(chunk) + '\\n\\n').join('') + 'data: [DONE]\\n\\n');
const bodies = { '/40': bytes(answer(40)), '/5000': bytes(answer(5000)), '/20000': bytes(answer(20000)),
  '/steps': bytes([{ type: 'start', messageId: 'm' }, ...Array.from({ length: 100 }, (_, at) => step(at)).flat(), { type: 'finish' }]) };
require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'text/event-stream').setHeader('x-vercel-ai-ui-message-stream', 'v1').end(bodies[request.url]));
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
`;

const a2aPlayer = `
const update = (parts, final = false) => ({ kind: 'status-update', taskId: 't', contextId: 'c', final, status: { state: final ? 'completed' : 'working', timestamp: new Date().toISOString(),
  ...(parts ? { message: { kind: 'message', role: 'agent', messageId: require('node:crypto').randomUUID(), parts } } : {}) } });
const answer = (length) => [{ kind: 'task', id: 't', contextId: 'c', status: { state: 'submitted' } }, ...Array.from({ length }, () => update([{ kind: 'text', text: 'some words of text, ' }])), update(undefined, true)];
const bodies = { '/40': answer(40), '/5000': answer(5000) };
require('node:http').createServer((request, response) => {
  const place = request.url.replace(/\\/\\.well-known.*/, '');
  if (request.method === 'GET') return request.url.includes('agent-card') ? response.end(JSON.stringify({ name: 'Player', url: 'http://' + request.headers.host + place,
    protocolVersion: '0.3.0', capabilities: { streaming: true } })) : response.writeHead(404).end();
  let text = '';
  request.on('data', (chunk) => { text += chunk; }).on('end', () => {
    const { id, method } = JSON.parse(text);
    if (method !== 'message/stream') return response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
    response.setHeader('content-type', 'text/event-stream').end(bodies[place].map((result) => 'data: ' + JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n\\n').join(''));
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
`;

const qwenPlayer = `
const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
const lane = { session_id: '11111111-1111-4111-8111-111111111111', parent_tool_use_id: null };
const event = (event) => JSON.stringify({ type: 'stream_event', uuid: 'e', ...lane, event }) + '\\n';
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const line = JSON.parse(text);
  if (line.type === 'control_request') say({ type: 'control_response', response: { subtype: 'success', request_id: line.request_id, response: { subtype: line.request.subtype, session_id: lane.session_id } } });
  if (line.type !== 'user') return;
  let out = '';
  for (let round = 0; round < 100; round += 1) {
    const id = 'm' + round;
    out += event({ type: 'message_start', message: { id, role: 'assistant', model: 'm', content: [] } });
    out += event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    for (let n = 0; n < 45; n += 1) out += event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'some words ' } });
    out += event({ type: 'content_block_stop', index: 0 });
    out += JSON.stringify({ type: 'assistant', uuid: id, ...lane, message: { id, type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'some words '.repeat(45) }], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } }) + '\\n';
    out += event({ type: 'message_stop' });
  }
  process.stdout.write(out);
  say({ type: 'result', subtype: 'success', uuid: 'r', ...lane, is_error: false, duration_ms: 1, duration_api_ms: 1, num_turns: 1, result: '', usage: { input_tokens: 1, output_tokens: 1 }, permission_denials: [] });
});
process.stdin.on('end', () => process.exit(0));
`;

/** A turn is ten rounds of the recording, with ids of their own. */
const acpPlayer = `
const { readFileSync } = require('node:fs');
const line = (message) => JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n';
const recording = readFileSync(process.argv[2], 'utf8').replaceAll('/w/', process.cwd() + '/').trim().split('\\n').filter((update) => update.includes(process.argv[3] ?? ''));
const round = (at) => recording.map((update) => '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":' + update.replaceAll(/(toolu|msg)_/g, '$1_' + at + '_') + '}}\\n').join('');
const turn = Array.from({ length: 10 }, (_, at) => round(at)).join('');
const results = { initialize: { protocolVersion: 1, agentCapabilities: {} }, 'session/new': { sessionId: 's' }, 'session/prompt': { stopReason: 'end_turn' } };
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method } = JSON.parse(text);
  if (id !== undefined && method !== undefined) process.stdout.write((method === 'session/prompt' ? turn : '') + line({ id, result: results[method] ?? {} }));
});
process.stdin.on('end', () => process.exit(0));
`;

try {
  const http = (url: string): Launch => ({ kind: 'http', url, headers: {}, cwd: base });
  const aiSdk = await start(aiSdkPlayer);
  await compare('ai-sdk', [
    ['40 deltas', 60, http(`${aiSdk.url}/40`)],
    ['5,000 deltas', 20, http(`${aiSdk.url}/5000`)],
    ['20,000 deltas', 12, http(`${aiSdk.url}/20000`)],
    ['100 steps', 60, http(`${aiSdk.url}/steps`)],
  ]);
  aiSdk.child.kill();
  const file = path.join(base, 'player.cjs');
  writeFileSync(file, qwenPlayer);
  await compare('qwen', [['5,000 lines', 20, { kind: 'process', command: process.execPath, args: [file], env: {}, cwd: base }]]);
  const a2a = await start(a2aPlayer);
  await compare('a2a', [
    ['40 pieces', 60, http(`${a2a.url}/40`)],
    ['5,000 pieces', 20, http(`${a2a.url}/5000`)],
  ]);
  a2a.child.kill();
  const player = path.join(base, 'acp.cjs');
  writeFileSync(player, acpPlayer);
  const acp = (only: string): Launch => {
    const args = [player, path.join(root, 'test/bench/acp/claude.jsonl'), only];
    return { kind: 'process', command: process.execPath, args, env: {}, cwd: base };
  };
  await compare('acp', [
    ['a whole conversation', 40, acp('')],
    ['text', 40, acp('_chunk"')],
  ]);
} finally {
  rmSync(base, { recursive: true, force: true });
}
process.exit(0);
