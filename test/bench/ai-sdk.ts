/**
 * Bytes the room adds to the bundle of protocols, which is loaded with the first session; and chunks per second: bytes -> events -> chunks -> message and session, beside the official client on the same bytes. The official client runs
 * once with a state that keeps what it is given, and once as its React binding does, with a copy of the message after every chunk.
 */

import { gzipSync } from 'node:zlib';
import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai';
import { build } from 'esbuild';
import { silentLog } from '../../src/base/log.ts';
import { aiSdkMachine } from '../../src/protocols/ai-sdk/machine.ts';
import { readEvents } from '../../src/protocols/ai-sdk/server.ts';
import { Driver } from '../../src/protocols/driver.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import type { LinkEvents } from '../../src/transport/link.ts';
import { newState } from '../protocols/ai-sdk/state.ts';
import { stopwatch } from './timing/stopwatch.ts';

const PIECE = 16 * 1024;
/** Milliseconds. */
const WARM = 3_000;
type Chunk = Readonly<Record<string, unknown>>;

/** One long answer. */
function longAnswer(deltas: number): Chunk[] {
  const text = Array.from({ length: deltas }, (_, at) => ({ type: 'text-delta', id: 't', delta: `word${at} ` }));
  return [
    { type: 'start', messageId: 'm' },
    { type: 'start-step' },
    { type: 'text-start', id: 't' },
    ...text,
    { type: 'text-end', id: 't' },
    { type: 'finish' },
  ];
}

/** An agent at work: thoughts, a sentence, a call with a long input, its output; step after step. */
function steps(count: number): Chunk[] {
  const one = (at: number): Chunk[] => {
    const toolCallId = `call-${at}`;
    const input = { path: `src/file${at}.ts`, content: 'x'.repeat(400) };
    const pieces = JSON.stringify(input).match(/.{1,20}/g) ?? [];
    return [
      { type: 'start-step' },
      { type: 'reasoning-start', id: 'r' },
      ...Array.from({ length: 10 }, () => ({ type: 'reasoning-delta', id: 'r', delta: 'thinking ' })),
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      ...Array.from({ length: 20 }, () => ({ type: 'text-delta', id: 't', delta: 'telling ' })),
      { type: 'text-end', id: 't' },
      { type: 'tool-input-start', toolCallId, toolName: 'write' },
      ...pieces.map((inputTextDelta) => ({ type: 'tool-input-delta', toolCallId, inputTextDelta })),
      { type: 'tool-input-available', toolCallId, toolName: 'write', input },
      { type: 'tool-output-available', toolCallId, output: { ok: true } },
      { type: 'finish-step' },
    ];
  };
  return [{ type: 'start', messageId: 'm' }, ...Array.from({ length: count }, (_, at) => one(at)).flat(), { type: 'finish' }];
}

function bytesOf(chunks: readonly Chunk[]): Buffer[] {
  const all = Buffer.from(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);
  return Array.from({ length: Math.ceil(all.length / PIECE) }, (_, at) => all.subarray(at * PIECE, (at + 1) * PIECE));
}

async function ours(pieces: readonly Buffer[]): Promise<number> {
  let session = newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/');
  const state = newState();
  const opened = new Promise<LinkEvents>((resolve) => {
    const link = { request: () => Promise.reject(new Error('none')), notify() {}, answer() {}, close() {} };
    const driver = new Driver(aiSdkMachine, state, {
      now: () => 0,
      emit: (event) => {
        session = reduce(session, event);
      },
      log: silentLog,
      links: {
        chat: (_, events) => {
          queueMicrotask(() => resolve(events));
          return link;
        },
      },
      ports: { server: async () => ({}) },
    });
    driver.feed({ on: 'start' });
    driver.feed({ on: 'intent', intent: { type: 'prompt', turnId: 't', content: [] } });
  });
  const events = await opened;
  events.message('opened', { resumableId: null, runId: null, stopUrl: null, replay: false });
  // The body arrives in pieces, as from a socket.
  const body = {
    read: async (take: (chunk: Buffer) => void) => {
      for (const piece of pieces) {
        take(piece);
        await Promise.resolve();
      }
    },
  };
  await readEvents({ trace: () => {} }, body, events);
  events.closed({ reason: '' });
  return (session.turns[0]?.parts.length ?? 0) + (state.messages.at(-1)?.parts.length ?? 0);
}

class Chat extends AbstractChat<UIMessage> {}

function official(copies: boolean) {
  return async (pieces: readonly Buffer[]): Promise<number> => {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: [],
      pushMessage: (message) => void state.messages.push(message),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (index, message) => {
        state.messages[index] = copies ? structuredClone(message) : message;
      },
      snapshot: structuredClone,
    };
    const body = () =>
      new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          controller.close();
        },
      });
    const fetch = async () => new globalThis.Response(body(), { headers: { 'content-type': 'text/event-stream' } });
    const chat = new Chat({ id: 'c', state, transport: new DefaultChatTransport({ api: 'http://127.0.0.1/', fetch }) });
    await chat.sendMessage({ text: 'go' });
    if (state.error) throw state.error;
    return state.messages.at(-1)?.parts.length ?? 0;
  };
}

/** The best of as many rounds as fit, by the processor's time, so that neither side is measured cold. */
async function perSecond(chunks: readonly Chunk[], run: (pieces: readonly Buffer[]) => Promise<number>): Promise<number> {
  const pieces = bytesOf(chunks);
  const until = performance.now() + WARM;
  let best = Number.POSITIVE_INFINITY;
  do {
    const read = stopwatch();
    if ((await run(pieces)) === 0) throw new Error('nothing came out');
    best = Math.min(best, read().processor);
  } while (performance.now() < until);
  return Math.round((chunks.length / best) * 1000);
}

/** The bundle of protocols, minified; `without` leaves the AI SDK's room out of it. */
async function bundled(without: boolean): Promise<Uint8Array> {
  const stub = { contents: "export const aiSdk = { title: '', launch: 'http', open() {} };", loader: 'js' } as const;
  const { outputFiles } = await build({
    entryPoints: ['src/protocols/registry.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minify: true,
    write: false,
    plugins: without ? [{ name: 'without', setup: ({ onLoad }) => onLoad({ filter: /protocols.ai-sdk.index\.ts$/ }, () => stub) }] : [],
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}
const [all, others] = [await bundled(false), await bundled(true)];
const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
const packed = gzipSync(all).length - gzipSync(others).length;
console.log(`the AI SDK adds ${kB(all.length - others.length)} minified to the protocols, compressed ${kB(packed)}`);

for (const [name, chunks] of [
  ['one answer of 5,000 deltas', longAnswer(5_000)],
  ['one answer of 20,000 deltas', longAnswer(20_000)],
  ['100 steps of an agent', steps(100)],
] as const) {
  const mine = await perSecond(chunks, ours);
  const bare = await perSecond(chunks, official(false));
  const bound = await perSecond(chunks, official(true));
  const times = (other: number) => `${(mine / other).toFixed(1)}x`;
  console.log(
    `${name} (${chunks.length} chunks): ${mine}/s; official client ${bare}/s (${times(bare)}), as its React binding ${bound}/s (${times(bound)})`,
  );
}
