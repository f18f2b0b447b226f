import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Role } from '@a2a-js/sdk';
import { ClientFactory as NewerFactory, ServiceParameters, withA2AExtensions } from '@a2a-js/sdk/client';
import { ClientFactory as OlderFactory } from 'a2a-sdk-0.3/client';
import { toIncoming } from '../../src/protocols/a2a/codec.ts';
import { Credentials } from '../../src/protocols/a2a/credentials.ts';
import { RpcClient } from '../../src/protocols/a2a/http.ts';
import { openA2a } from '../../src/protocols/a2a/index.ts';
import { TIMING } from '../../src/protocols/a2a/state.ts';
import type { Adapter, AdapterContext } from '../../src/protocols/adapter.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { inTurns, isSide, type Sides } from './timing/apart.ts';
import { quietScene } from './timing/quietScene.ts';
import { median, stopwatch, type Took } from './timing/stopwatch.ts';

/**
 * Events of one stream per second, from the socket to the session (SSE, JSON-RPC, codec, reducer), in both versions of A2A, beside the official
 * client of each on the same stream, whose events are read and left; the same of ours as far as those clients go, to records that are checked;
 * and the time from a broken connection to the first new words.
 */

const RECORDS = 20_000;
const ROUNDS = 9;
const CUTS = 20;
const URI = 'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md';

/** A long turn: mostly words, thoughts now and then, and calls that are told of four times each. It runs in a process of its own. */
const player = `
const http = require('node:http');
const { randomUUID } = require('node:crypto');
const records = ${RECORDS};
const status = (state, kind, parts, final = false) => ({ kind: 'status-update', taskId: 't', contextId: 'c', final,
  status: { state, timestamp: new Date().toISOString(), ...(parts ? { message: { kind: 'message', role: 'agent', messageId: randomUUID(), taskId: 't', contextId: 'c', parts } } : {}) },
  metadata: { '${URI}': { kind, model: 'bench' } } });
const call = (n, state, more) => status('working', 'TOOL_CALL_UPDATE', [{ kind: 'data', data: { tool_call_id: 'k' + n, status: state, tool_name: 'run_command',
  description: 'Runs the tests', input_parameters: { command: 'npm test', timeout: 60 }, ...more } }]);
const one = (at) => {
  const n = Math.floor(at / 50);
  switch (at % 50) {
    case 10: return call(n, 'PENDING', {});
    case 11: return call(n, 'EXECUTING', { live_content: 'one line' });
    case 12: return call(n, 'EXECUTING', { live_content: 'one line\\ntwo lines' });
    case 13: return call(n, 'SUCCEEDED', { output: { text: 'one line\\ntwo lines' } });
    case 20: return status('working', 'THOUGHT', [{ kind: 'data', data: { subject: 'Next', description: 'What is to be done now.' } }]);
    default: return status('working', 'TEXT_CONTENT', [{ kind: 'text', text: 'some words of text, ' }]);
  }
};
const older = [{ kind: 'task', id: 't', contextId: 'c', status: { state: 'submitted' } }, ...Array.from({ length: records }, (_, at) => one(at)), status('completed', 'STATE_CHANGE', undefined, true)];
const stateOf = (state) => 'TASK_STATE_' + state.toUpperCase();
const newerStatus = ({ state, timestamp, message }) => ({ state: stateOf(state), ...(timestamp ? { timestamp } : {}),
  ...(message ? { message: { ...message, kind: undefined, role: 'ROLE_AGENT', parts: message.parts.map((part) => ({ ...part, kind: undefined })) } } : {}) });
const newer = older.map(({ kind, final, ...more }) => ({ [kind === 'task' ? 'task' : 'statusUpdate']: { ...more, status: newerStatus(more.status) } }));
const bodies = Object.fromEntries(Object.entries({ '/0.3': older, '/1.0': newer }).map(([path, all]) => [path, all.map((result) => ',"result":' + JSON.stringify(result) + '}\\n\\n')]));
http.createServer((request, response) => {
  const path = request.url.slice(0, 4);
  const url = 'http://' + request.headers.host + path;
  if (request.method === 'GET') {
    if (!request.url.includes('agent-card')) return response.writeHead(404).end();
    response.setHeader('content-type', 'application/json');
    const place = path === '/1.0' ? { supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] } : { url, protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' };
    return response.end(JSON.stringify({ name: 'Player', description: '', version: '1', ...place,
      capabilities: { streaming: true, extensions: [{ uri: '${URI}' }] }, defaultInputModes: [], defaultOutputModes: [], skills: [] }));
  }
  let text = '';
  request.on('data', (chunk) => { text += chunk; });
  request.on('end', () => {
    const { id, method } = JSON.parse(text);
    if (method !== 'message/stream' && method !== 'SendStreamingMessage') return response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: { commands: [] } }));
    response.setHeader('content-type', 'text/event-stream');
    response.end(bodies[path].map((rest) => 'data: {"jsonrpc":"2.0","id":' + JSON.stringify(id) + rest).join(''));
  });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
`;

async function startPlayer(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, ['-e', player], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim())));
  return { child, url: `http://127.0.0.1:${port}` };
}

/** An adapter that feeds the reducer; settles once it is ready. */
async function open(url: string, onEvent: (event: SessionEvent) => void): Promise<Adapter> {
  let session = newSession('s', { protocol: 'a2a', name: 'bench' }, '/');
  return new Promise((resolve) => {
    const scene: AdapterContext = quietScene((event) => {
      session = reduce(session, event);
      onEvent(event);
      if (event.type === 'link.ready') setImmediate(() => resolve(adapter));
    });
    const adapter = openA2a({ kind: 'http', url, headers: {}, cwd: '/' }, scene);
  });
}

async function ours(url: string): Promise<Took> {
  let over: () => void = () => {};
  const adapter = await open(url, (event) => {
    if (event.type === 'turn.ended') over();
  });
  const read = stopwatch();
  await new Promise<void>((resolve) => {
    over = resolve;
    adapter.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
  });
  const took = read();
  adapter.dispose();
  await adapter.ended;
  return took;
}

/** As far as the official clients go: records that are read and left, here after they were checked. */
async function records(origin: string, wire: '0.3' | '1.0'): Promise<Took> {
  const scene = quietScene(() => {});
  const rpc = new RpcClient(
    scene,
    new Credentials({ context: scene, origin, headers: {}, questions: { ask: () => Promise.resolve({ kind: 'cancelled' }) } }),
    TIMING,
  );
  rpc.target = { endpoint: `${origin}/${wire}`, wire };
  const message = { kind: 'message', role: 'user', messageId: randomUUID(), parts: [{ kind: 'text', text: 'go' }] };
  const read = stopwatch();
  let seen = 0;
  await rpc.stream('message/stream', { message }, (result) => {
    if (toIncoming(result)) seen += 1;
  });
  const took = read();
  rpc.dispose();
  if (seen < RECORDS) throw new Error(`${seen} records only`);
  return took;
}

/** The official client of 0.3. */
async function older(url: string): Promise<Took> {
  const client = await new OlderFactory().createFromUrl(`${url}/`);
  const read = stopwatch();
  let seen = 0;
  const message = {
    kind: 'message' as const,
    role: 'user' as const,
    messageId: randomUUID(),
    parts: [{ kind: 'text' as const, text: 'go' }],
  };
  for await (const _ of client.sendMessageStream({ message })) seen += 1;
  if (seen < RECORDS) throw new Error(`the official client told of ${seen} events only`);
  return read();
}

/** Milliseconds from the moment the agent breaks the connection to the first new words in the session. */
async function recovery(): Promise<number> {
  let cut = 0;
  const ids = { taskId: 't', contextId: 'c' };
  const words = (text: string) => ({
    kind: 'status-update',
    ...ids,
    final: false,
    status: { state: 'working', message: { role: 'agent', messageId: randomUUID(), parts: [{ kind: 'text', text }] } },
  });
  const task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' }, history: [] };
  const server = http.createServer((request, response) => {
    const url = `http://${request.headers.host}/`;
    const card = { name: 'Cutter', url, protocolVersion: '0.3.0', capabilities: { streaming: true, extensions: [{ uri: URI }] } };
    if (request.method === 'GET') return void response.end(JSON.stringify(card));
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on('end', () => {
      const { id, method } = JSON.parse(text) as { id: number; method: string };
      const say = (result: unknown) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      if (method === 'message/stream') {
        response.setHeader('content-type', 'text/event-stream');
        say(task);
        say(words('before '));
        setTimeout(() => {
          cut = performance.now();
          response.destroy();
        }, 20);
      } else if (method === 'tasks/resubscribe') {
        response.setHeader('content-type', 'text/event-stream');
        say(task);
        say(words('after'));
      } else response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result: task }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let heard: (at: number) => void = () => {};
  const adapter = await open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, (event) => {
    if (event.type === 'text.delta' && event.text === 'after') heard(performance.now());
  });
  const at = await new Promise<number>((resolve) => {
    heard = resolve;
    adapter.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
  });
  adapter.dispose();
  await adapter.ended;
  server.close();
  server.closeAllConnections();
  return at - cut;
}

/** The official client of 1.0. */
async function newer(url: string): Promise<Took> {
  const client = await new NewerFactory().createFromUrl(`${url}/`);
  const serviceParameters = ServiceParameters.create(withA2AExtensions(URI));
  const read = stopwatch();
  let seen = 0;
  const message = {
    ...{
      messageId: randomUUID(),
      role: Role.ROLE_USER,
      contextId: '',
      taskId: '',
      extensions: [],
      referenceTaskIds: [],
      metadata: undefined,
    },
    parts: [{ content: { $case: 'text' as const, value: 'go' }, metadata: undefined, filename: '', mediaType: '' }],
  };
  const request = { tenant: '', configuration: undefined, metadata: undefined, message };
  for await (const _ of client.sendMessageStream(request, { serviceParameters })) seen += 1;
  if (seen < RECORDS) throw new Error(`the official client told of ${seen} events only`);
  return read();
}

/** Conversations that stay open, as in the editor: without one, the engine forgets the shapes of its objects between rounds. */
const kept = new Map<string, Adapter>();
async function oursBesideKept(url: string): Promise<Took> {
  if (!kept.has(url)) kept.set(url, await open(url, () => {}));
  return ours(url);
}
const sides: Sides<string> = {
  'ours, 0.3': (url) => oursBesideKept(`${url}/0.3`),
  'ours to the records, 0.3': (url) => records(url, '0.3'),
  '@a2a-js/sdk 0.3': (url) => older(`${url}/0.3`),
  'ours, 1.0': (url) => oursBesideKept(`${url}/1.0`),
  'ours to the records, 1.0': (url) => records(url, '1.0'),
  '@a2a-js/sdk 1.x': (url) => newer(`${url}/1.0`),
};

async function main(): Promise<void> {
  const { child, url } = await startPlayer();
  const took = await inTurns(sides, url, ROUNDS);
  child.kill();
  for (const by of ['clock', 'processor'] as const) {
    console.log(`${RECORDS} events from the socket to the session, by the ${by} (median of ${ROUNDS}):`);
    const of = (name: string) => median(took(name).map((one) => one[by]));
    for (const name of Object.keys(sides)) {
      console.log(`  ${name}: ${Math.round(RECORDS / (of(name) / 1000)).toLocaleString('en')} events/s (${Math.round(of(name))} ms)`);
    }
    const times = (how: 'ours' | 'ours to the records') =>
      `${(of('@a2a-js/sdk 0.3') / of(`${how}, 0.3`)).toFixed(2)} times as fast in 0.3, ${(of('@a2a-js/sdk 1.x') / of(`${how}, 1.0`)).toFixed(2)} in 1.0`;
    console.log(`  ours to the session beside the SDK's events: ${times('ours')}`);
    console.log(`  the same work, to events that are checked: ${times('ours to the records')}`);
  }
  const cuts: number[] = [];
  for (let n = 0; n < CUTS; n += 1) cuts.push(await recovery());
  console.log(`from a cut to the first new words: ${median(cuts).toFixed(1)} ms (median of ${CUTS})`);
  process.exit(0);
}

if (!isSide(sides)) await main();
