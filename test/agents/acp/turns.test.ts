import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { acp } from '../../../src/protocols/acp/index.ts';
import type { Ask, Turn } from '../../../src/session/model.ts';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
import { problemOfAnswer, problemOfRequest } from '../../protocols/acp/oracle.ts';
import { callLines, choose, type Drive, drive, textOf } from '../drive.ts';
import { type Undo, undoAtEnd } from '../lab.ts';
import { type Peer, type PeerName, startPeer } from './peers.ts';

/** What the seven do differently where the protocol leaves it open. */
interface Expected {
  /** Its to-do list arrives as the session's plan. */
  readonly plan?: true;
  /** Prompts before its tool server is connected see no tools of it. */
  readonly warmUp?: true;
  /** The mode in which it asks. */
  readonly mode?: string;
  /** The version of the protocol that is offered, and must be agreed on. */
  readonly version?: '2';
}
const peers: Readonly<Record<PeerName, Expected>> = {
  gemini: {},
  qwen: { warmUp: true, mode: 'default' },
  opencode: {},
  kimi: { plan: true },
  claude: {},
  codex: { plan: true },
  copilot: {},
};

const runs: readonly [PeerName, Expected][] = [...(Object.entries(peers) as [PeerName, Expected][]), ['claude', { version: '2' }]];

for (const [name, expected] of runs) {
  const what = expected.version === undefined ? name : `${name}, version ${expected.version}`;
  test(`${what}: plan, read, edit, new file, shell, allow, reject, cancel, tools, load`, { timeout: 400_000 }, async (t) => {
    const started = await startPeer(name);
    const undo = undoAtEnd(t);
    undo(() => started.remove());
    const { version } = expected;
    const peer: Peer = version === undefined ? started : { ...started, launch: { ...started.launch, options: { version } } };
    const driven = drive({ protocol: acp, launch: peer.launch });
    undo(() => driven.stop());
    await driven.ready();
    const hello = driven.frames.find(({ way, message }) => way === 'in' && 'result' in (message as object))?.message;
    const { protocolVersion } = (hello as { readonly result: { readonly protocolVersion: number } }).result;
    assert.equal(protocolVersion, expected.version === '2' ? 2 : 1);
    if (expected.mode !== undefined) {
      driven.live.send({ type: 'setMode', modeId: expected.mode });
      await driven.until('its mode', (session) => session.mode?.current === expected.mode);
    }
    await allowed(t, peer, driven, expected);
    await rejected(t, peer, driven);
    await cancelled(t, driven);
    if (expected.warmUp) await toolsConnected(peer, driven);
    await tools(t, peer, driven);
    assert.deepEqual(problemsOf(driven, expected.version === '2' ? 2 : 1), [], 'every frame we sent is good by the official schema');
    const { resumeKey = '' } = driven.now();
    await driven.stop();
    await loaded(t, undo, peer, resumeKey);
  });
}

async function allowed(t: TestContext, { place }: Peer, driven: Drive, expected: Expected): Promise<void> {
  const config = path.join(place.cwd, 'src', 'config.json');
  const asked: Ask[] = [];
  driven.onAsk((ask) => {
    asked.push(ask);
    return choose('allow_once')(ask);
  });
  const turn = await driven.prompt('SCN-ALL');
  t.diagnostic(callLines(turn).join(' | '));
  assert.equal(turn.status, 'done', turn.error?.message);
  assert.match(textOf(turn), /All \*\*done\*\*/);
  assert.match(readFileSync(config, 'utf8'), /"debug": true/);
  assert.equal(readFileSync(path.join(place.cwd, 'notes.md'), 'utf8').trim(), '# Notes\n\nHéllo — 你好');
  // The edit was shown whole before it was allowed, and is still shown afterwards.
  const edit = asked.find((ask) => ask.kind === 'approval' && ask.detail.type === 'edit');
  assert.ok(edit?.kind === 'approval' && edit.detail.type === 'edit');
  const [proposed] = edit.detail.diffs;
  assert.equal(proposed?.excerpt, undefined);
  assert.match(proposed?.before ?? '', /"name": "sample",\n {2}"debug": false/);
  const diffs = callsOf(turn).flatMap(diffsOf);
  for (const file of [config, path.join(place.cwd, 'notes.md')]) {
    const shown = diffs.filter((diff) => diff.path === file);
    assert.equal(shown.length, 1, `${file} is shown once in ${JSON.stringify(diffs)}`);
    assert.equal(shown[0]?.excerpt, undefined);
  }
  assert.equal(diffs.find((diff) => diff.path.endsWith('notes.md'))?.before, null);
  assert.ok(callsOf(turn).every((call) => call.status === 'done' || call.status === 'failed'));
  // The plan goes away with its turn, so it is looked up among the events.
  const plan = driven.events.findLast((event) => event.type === 'plan.set' && event.plan !== null);
  if (expected.plan) assert.equal(plan?.type === 'plan.set' && plan.plan?.entries[0]?.text, 'Edit config');
  assert.deepEqual(driven.now().asks, []);
}

async function rejected(t: TestContext, { place }: Peer, driven: Drive): Promise<void> {
  const notes = path.join(place.cwd, 'notes.md');
  rmSync(notes);
  let refused: Ask | undefined;
  driven.onAsk((ask) => {
    refused ??= ask;
    return choose('reject_once')(ask);
  });
  const turn = await driven.prompt('SCN-WRITE');
  t.diagnostic(`rejected: ${turn.status} ${callLines(turn).join(' | ')}`);
  assert.ok(refused, 'it asks before it writes');
  assert.equal(existsSync(notes), false);
  assert.ok(callsOf(turn).some((call) => call.status === 'rejected'));
}

async function cancelled(t: TestContext, driven: Drive): Promise<void> {
  driven.onAsk(() => undefined);
  const turnId = driven.begin('SCN-SHELL');
  await driven.until('an open approval', (session) => session.asks.length > 0);
  driven.live.send({ type: 'cancel' });
  const turn = await driven.ended(turnId);
  t.diagnostic(`cancelled: ${turn.status} ${callLines(turn).join(' | ')}`);
  assert.equal(turn.status, 'cancelled');
  assert.deepEqual(driven.now().asks, []);
  assert.ok(callsOf(turn).every((call) => call.status === 'cancelled' || call.status === 'failed' || call.status === 'done'));
  const streaming = driven.begin('SCN-SLOW');
  await driven.until('some text', (session) => (session.turns.at(-1)?.parts.length ?? 0) > 0);
  driven.live.send({ type: 'cancel' });
  assert.equal((await driven.ended(streaming)).status, 'cancelled');
  const after: Turn = await driven.prompt('SCN-HI');
  assert.equal(after.status, 'done');
  assert.match(textOf(after), /Hello! I am the fake model/);
}

/** Talks until the model is offered our tools: this agent connects to tool servers beside the first turns. */
async function toolsConnected({ model }: Peer, driven: Drive): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const offered = (await model.requests()).flatMap((one) => one.tools ?? []);
    if (offered.some((name) => name.endsWith('open_in_ide'))) return;
    await driven.prompt('SCN-HI');
  }
}

async function tools(t: TestContext, { place }: Peer, driven: Drive): Promise<void> {
  writeFileSync(path.join(place.cwd, 'src', 'config.json'), '{\n  "debug": false\n}\n');
  driven.onAsk(choose('allow_once'));
  const turn = await driven.prompt('SCN-MCP');
  t.diagnostic(`tools: ${callLines(turn).join(' | ')}`);
  const answered = callsOf(turn).some((call) => JSON.stringify(call.output).includes('Opened '));
  assert.ok(answered, 'our open_in_ide was called and its answer came back');
}

async function loaded(t: TestContext, undo: Undo, peer: Peer, key: string): Promise<void> {
  const driven = drive({ protocol: acp, launch: peer.launch, resume: { key, history: true } });
  undo(() => driven.stop());
  await driven.ready();
  // Gemini answers first and streams its record afterwards, on a busy machine much later.
  const session = await driven.until(
    'its record',
    (now) => now.turns.every((turn) => turn.status !== 'running') && /All \*\*done\*\*/.test(now.turns.map(textOf).join('\n')),
  );
  const prompts = session.turns.map((turn) => turn.prompt.map((one) => (one.type === 'text' ? one.text : '')).join(''));
  t.diagnostic(`loaded: ${JSON.stringify(prompts)}`);
  assert.ok(prompts.some((prompt) => prompt.includes('SCN-ALL')));
  assert.ok(prompts.every((prompt) => !prompt.startsWith('[Function ')));
  assert.ok(session.turns.flatMap(callsOf).length > 0, 'its calls are shown again');
  assert.equal((await driven.prompt('SCN-HI')).status, 'done');
  await driven.stop();
}

/** What the official schema has against the frames we sent. Tool servers are left out of the recording. */
function problemsOf(driven: Drive, version: number): readonly string[] {
  const methods = new Map<string, string>();
  const problems: (string | undefined)[] = [];
  for (const { way, message } of driven.frames) {
    const { id, method, params, result } = message as Record<'id' | 'method' | 'params' | 'result', unknown>;
    if (way === 'in' && typeof method === 'string' && id !== undefined) methods.set(JSON.stringify(id), method);
    if (way === 'in') continue;
    if (typeof method === 'string') problems.push(method === 'session/new' ? undefined : problemOfRequest(method, params, version));
    else if (result !== undefined) problems.push(problemOfAnswer(methods.get(JSON.stringify(id)) ?? '', result, version));
  }
  return problems.filter((one) => one !== undefined);
}
