/**
 * Updates per second: bytes -> lines -> JSON-RPC -> codec -> session, beside the official SDK's client on the same bytes, which hands each
 * update to an empty handler. The stream has the shape of a recorded turn: text in small pieces, thoughts, tool calls with their updates.
 */

import * as sdk from '@agentclientprotocol/sdk';
import { Emitter } from '../../src/base/emitter.ts';
import { toDisposable } from '../../src/base/lifetime.ts';
import { silentLog } from '../../src/base/log.ts';
import { connect } from '../../src/protocols/acp/connection.ts';
import { Settings } from '../../src/protocols/acp/options.ts';
import { Turns } from '../../src/protocols/acp/turns.ts';
import { Updates } from '../../src/protocols/acp/updates.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';
import type { Channel } from '../../src/transport/channel.ts';
import { Lines } from '../../src/transport/lines.ts';

const UPDATES = 20_000;
/** Updates in one turn. */
const TURN = 1000;
const CHUNK = 64 * 1024;
const ROUNDS = 5;

function corpus(): readonly string[] {
  const frame = (update: object) => JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } });
  const piece = (kind: string, at: number) => frame({ sessionUpdate: kind, content: { type: 'text', text: `piece ${at} of it ` } });
  return Array.from({ length: UPDATES }, (_, at) => {
    const toolCallId = `call-${Math.floor(at / 100)}`;
    const title = 'Read src/config.json';
    if (at % 100 === 60)
      return frame({ sessionUpdate: 'tool_call', toolCallId, title, kind: 'read', status: 'pending', rawInput: { path: '/w/a' } });
    if (at % 100 === 61)
      return frame({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress', locations: [{ path: '/w/a', line: 3 }] });
    if (at % 100 === 62) {
      const content = [{ type: 'content', content: { type: 'text', text: 'x'.repeat(400) } }];
      return frame({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content });
    }
    return piece(at % 100 < 20 ? 'agent_thought_chunk' : 'agent_message_chunk', at);
  });
}

/** Milliseconds of processor time: other work on the machine does not count. */
function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function ours(bytes: Buffer): Promise<number> {
  const messages = new Emitter<string>();
  const channel: Channel = {
    send: async () => {},
    onMessage: (listener) => messages.listen(listener),
    onClosed: () => toDisposable(() => {}),
    dispose: () => {},
  };
  const store = new Store(newSession('s', { protocol: 'acp', name: '' }, '/w'));
  const emit = (event: SessionEvent) => void store.apply(event);
  const turns = new Turns(emit, () => 0);
  const updates = new Updates({ emit, turns, settings: new Settings(), newId: () => 'id', log: silentLog, onCall: () => {} });
  updates.known('s');
  turns.begin('0', 'prompt', []);
  let taken = 0;
  const take = (params: unknown) => {
    updates.take(params);
    taken += 1;
    if (taken % TURN !== 0) return;
    turns.end('done');
    turns.begin(String(taken), 'prompt', []);
  };
  const served = { requests: {}, onNotification: (_: string, params: unknown) => take(params) };
  const connection = connect(channel, served, { log: silentLog, trace: () => {} });
  const lines = new Lines((line) => messages.fire(line));
  const began = cpu();
  for (let at = 0; at < bytes.length; at += CHUNK) lines.push(bytes.subarray(at, at + CHUNK));
  const took = cpu() - began;
  const parts = store.now.turns.reduce((sum, turn) => sum + turn.parts.length, 0);
  if (parts < UPDATES / 100) throw new Error(`only ${parts} parts came through`);
  connection.dispose();
  updates.dispose();
  return took;
}

async function theirs(bytes: Buffer): Promise<number> {
  let seen = 0;
  let finished: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const client = sdk.client({ name: 'bench' }).onNotification(sdk.methods.client.session.update, () => {
    seen += 1;
    if (seen === UPDATES) finished();
  });
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  const input = new ReadableStream<Uint8Array>({
    start: (controller) => {
      feed = controller;
    },
  });
  const stream = sdk.ndJsonStream(new WritableStream<Uint8Array>(), input);
  let took = 0;
  await client.connectWith(stream, async () => {
    const began = cpu();
    for (let at = 0; at < bytes.length; at += CHUNK) feed?.enqueue(bytes.subarray(at, at + CHUNK));
    await done;
    took = cpu() - began;
    feed?.close();
  });
  return took;
}

const bytes = Buffer.from(`${corpus().join('\n')}\n`);
const results: Record<'ours' | 'theirs', number[]> = { ours: [], theirs: [] };
for (let round = 0; round < ROUNDS; round++) {
  results.ours.push(await ours(bytes));
  results.theirs.push(await theirs(bytes));
}
const best = (values: readonly number[]) => Math.min(...values);
for (const [name, values] of Object.entries(results)) {
  const ms = best(values);
  console.log(
    `  ${name.padEnd(7)} ${ms.toFixed(0)} ms of processor for ${UPDATES} updates, ${Math.round((UPDATES / ms) * 1000).toLocaleString('en')} a second`,
  );
}
console.log(`  ratio   ${(best(results.theirs) / best(results.ours)).toFixed(1)}`);
