/**
 * How fast lines become a session: bytes -> lines -> JSON-RPC -> codec -> reducer, beside JSON.parse of the same lines alone, by the processor's time.
 * Prints the ratio.
 */

import { Emitter } from '../../src/base/emitter.ts';
import { silentLog } from '../../src/base/log.ts';
import { LIMITS, WireAdapter } from '../../src/protocols/kimi-wire/index.ts';
import type { Ports } from '../../src/protocols/ports.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import type { Channel } from '../../src/transport/channel.ts';
import { Lines } from '../../src/transport/lines.ts';
import { median, stopwatch } from './timing/stopwatch.ts';

const EVENTS = 100_000;
const TURN = 1_000;
const CHUNK = 64 * 1024;
const ROUNDS = 5;

/** A long session: turns of a thousand events, each with twenty calls and the text and thoughts around them. */
function corpus(): string[] {
  const event = (type: string, payload: object) => JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { type, payload } });
  const one = (at: number): string => {
    if (at % TURN === 0) return event('TurnBegin', { user_input: 'go on' });
    if (at % TURN === TURN - 1) return event('TurnEnd', {});
    if (at % 50 === 1)
      return event('ToolCall', { type: 'function', id: `call_${at}`, function: { name: 'Glob', arguments: '' }, extras: null });
    if (at % 50 < 10) return event('ToolCallPart', { arguments_part: at % 50 === 2 ? '{"a": 1' : at % 50 === 9 ? '}' : `, "a${at}": 1` });
    if (at % 50 < 20) return event('ContentPart', { type: 'think', think: `piece ${at} of it`, encrypted: null });
    return event('ContentPart', { type: 'text', text: `piece ${at} of it` });
  };
  return Array.from({ length: EVENTS }, (_, at) => one(at));
}

async function throughAdapter(bytes: Buffer): Promise<number> {
  const messages = new Emitter<string>();
  const closes = new Emitter<never>();
  const channel: Channel = {
    send: async (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize')
        queueMicrotask(() => messages.fire(JSON.stringify({ jsonrpc: '2.0', id, result: { protocol_version: '1.10' } })));
    },
    onMessage: (listener) => messages.listen(listener),
    onClosed: (listener) => closes.listen(listener),
    dispose: () => {},
  };
  let session = newSession('s', { protocol: 'kimi-wire', name: 'bench' }, '/');
  let ids = 0;
  let ready: () => void = () => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const adapter = new WireAdapter(
    { kind: 'process', command: 'bench', args: [], env: {}, cwd: '/' },
    {
      emit: (event) => {
        session = reduce(session, event);
        if (event.type === 'link.ready') ready();
      },
      ports: { tools: [] } as unknown as Ports,
      client: { name: 'bench', version: '0' },
      now: () => 0,
      newId: () => `id${++ids}`,
      signal: new AbortController().signal,
      trace: () => {},
      log: silentLog,
    },
    { open: () => channel, limits: { ...LIMITS, grace: 0 } },
  );
  await isReady;
  await new Promise((resolve) => setImmediate(resolve));
  const lines = new Lines((line) => messages.fire(line));
  const read = stopwatch();
  for (let at = 0; at < bytes.length; at += CHUNK) {
    lines.push(bytes.subarray(at, at + CHUNK));
    // Each read of a pipe is a task of its own.
    await undefined;
  }
  const took = read().processor;
  if (session.turns.length !== EVENTS / TURN || session.turns.some((turn) => turn.status !== 'done'))
    throw new Error('not everything arrived');
  adapter.dispose();
  return took;
}

function parseAlone(lines: readonly string[]): number {
  const read = stopwatch();
  let seen = 0;
  for (const line of lines) seen += typeof JSON.parse(line) === 'object' ? 1 : 0;
  if (seen !== lines.length) throw new Error('not everything was parsed');
  return read().processor;
}

const lines = corpus();
const bytes = Buffer.from(`${lines.join('\n')}\n`);
const whole: number[] = [];
const alone: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  alone.push(parseAlone(lines));
  whole.push(await throughAdapter(bytes));
}
const ratio = median(whole) / median(alone);
console.log(
  `decode: ${lines.length} events in ${median(whole).toFixed(0)} ms (${Math.round(lines.length / (median(whole) / 1000)).toLocaleString('en')} a second); ` +
    `JSON.parse alone ${median(alone).toFixed(0)} ms; ratio ${ratio.toFixed(2)}`,
);
