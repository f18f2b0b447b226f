import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { Outbox } from '../../../src/bridge/outbox.ts';
import type { Session } from '../../../src/session/model.ts';
import { Store } from '../../../src/session/store.ts';
import { session, turn } from '../../webview/page/sessions.ts';
import { END_MARK, oneFence, pieces, reply } from './corpus.ts';
import { longSession, manyTurns } from './longSession.ts';

/** What the built view (dist/webview) costs while a reply streams in. CPU is the main thread's, in milliseconds. */
export interface ViewFigures {
  /** Length of the message -> CPU of one more piece of 52 characters. */
  readonly perPiece: Readonly<Record<number, number>>;
  /** The same inside one single block of code. */
  readonly perPieceInCode: Readonly<Record<number, number>>;
  /** 200,000 characters, 100 pieces a second. */
  readonly paced: StreamFigures;
  /** 1,000,000 characters, 1,000 pieces a second. */
  readonly burst: StreamFigures;
  /** MB of heap after a session of 2,000 tool calls has come, beyond what the empty view has. */
  readonly longSessionMB: number;
  /** CPU until a session of 1,000 turns is on the page. */
  readonly opening: number;
  /** Bytes of the host's messages for each byte of a reply of 200,000 characters that comes in pieces. */
  readonly hostBytes: number;
}
export interface StreamFigures {
  readonly absorbed: number;
  readonly lag?: number;
  readonly dropped: number;
  readonly longestFrame: number;
  readonly longestTask: number;
  /** The same in processor time. */
  readonly longestTaskCpu: number;
  readonly keyP95: number;
  readonly elements: number;
  readonly cpu: number;
  readonly heapMB: number;
}

const PIECE = 52;
const worker = `onmessage = ({ data: { pieces, rate } }) => {
  const began = performance.now();
  let sent = 0;
  const tick = () => {
    const due = Math.min(pieces.length, Math.floor(((performance.now() - began) * rate) / 1000) + 1);
    while (sent < due) postMessage(pieces[sent++]);
    if (sent < pieces.length) setTimeout(tick, 4);
    else postMessage({ done: performance.timeOrigin + performance.now() });
  };
  tick();
};`;
const html =
  '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><link rel="stylesheet" href="/main.css"></head><body><script src="/page.js"></script><script src="/main.js"></script></body></html>';

/** Needs the built view. Takes about two minutes. */
export async function measureView(browser: Browser): Promise<ViewFigures> {
  const { url, server } = await serve();
  try {
    return {
      perPiece: await costs(browser, url, reply(1_010_000), [10_000, 100_000, 500_000, 1_000_000]),
      perPieceInCode: await costs(browser, url, oneFence(310_000), [10_000, 100_000, 300_000]),
      paced: await streamed(browser, url, reply(200_000), 4_000, 100),
      burst: await streamed(browser, url, reply(1_000_000), 20_000, 1_000),
      longSessionMB: await longSessionHeap(browser, url),
      opening: await opening(browser, url),
      hostBytes: hostBytes(),
    };
  } finally {
    server.close();
  }
}

async function costs(browser: Browser, url: string, text: string, lengths: readonly number[]): Promise<Record<number, number>> {
  const found: Record<number, number> = {};
  for (const length of lengths) {
    await withPage(browser, url, async (page, cdp) => {
      await page.evaluate((before) => bench.prefix(before), text.slice(0, length - 2000));
      const count = 12;
      const from = length - 2000;
      const before = await cpu(cdp);
      await page.evaluate((list) => bench.updates(list), pieces(text.slice(from, from + count * PIECE), count));
      found[length] = ((await cpu(cdp)) - before) / count;
    });
  }
  return found;
}

function streamed(browser: Browser, url: string, text: string, count: number, rate: number): Promise<StreamFigures> {
  return withPage(browser, url, async (page, cdp) => {
    // The pieces are in the page before: how they came there is no cost of the view.
    await page.evaluate((list) => void Object.assign(globalThis, { given: list }), pieces(text, count));
    await page.focus('.composer-text');
    await browser.startTracing(page, { categories: ['toplevel'] });
    const before = await cpu(cdp);
    let typing = true;
    const keys = (async () => {
      while (typing) {
        await page.keyboard.press('a');
        await new Promise((resolve) => void setTimeout(resolve, 250));
      }
    })();
    const figures = await page.evaluate(([perSecond, mark, longest]) => bench.stream(given, perSecond, mark, longest), [
      rate,
      END_MARK,
      90_000,
    ] as const);
    typing = false;
    await keys;
    const spent = (await cpu(cdp)) - before;
    const longestTaskCpu = longestTaskOf(await browser.stopTracing());
    const { metrics } = await cdp.send('Performance.getMetrics');
    const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0;
    return { ...figures, cpu: spent, longestTaskCpu, heapMB: heap / 1_048_576 };
  });
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time of the thread, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Processor time of the longest task of the page's main thread, in ms: waiting for a busy machine is not in it. */
function longestTaskOf(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
  const mains = new Set(
    traceEvents.filter((one) => one.name === 'thread_name' && one.args?.name === 'CrRendererMain').map((one) => `${one.pid}/${one.tid}`),
  );
  const tasks = traceEvents.filter((one) => one.ph === 'X' && one.name.endsWith('RunTask') && mains.has(`${one.pid}/${one.tid}`));
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1000;
}

function longSessionHeap(browser: Browser, url: string): Promise<number> {
  return withPage(browser, url, async (page, cdp) => {
    const before = await heap(cdp);
    await page.evaluate((session) => {
      postMessage({ type: 'sessions', list: [], profiles: [], active: session.id });
      postMessage({ type: 'snapshot', sessionId: session.id, seq: 1, session, answers: [] });
    }, longSession().now);
    await page.waitForSelector('.call-group');
    return (await heap(cdp)) - before;
  });
}

function opening(browser: Browser, url: string): Promise<number> {
  return withPage(browser, url, async (page, cdp) => {
    const session = manyTurns();
    // The session is on the page before: how it came there is the cost of the measuring.
    await page.evaluate((shown) => void Object.assign(globalThis, { shown }), session);
    const before = await cpu(cdp);
    await page.evaluate(() => {
      postMessage({ type: 'sessions', list: [], profiles: [], active: shown.id });
      postMessage({ type: 'snapshot', sessionId: shown.id, seq: 1, session: shown, answers: [] });
    });
    await page.waitForSelector('[data-turn="turn999"]');
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)))');
    return (await cpu(cdp)) - before;
  });
}

/** The host sends every 33 ms: three pieces, at 100 a second. */
function hostBytes(): number {
  const text = reply(200_000);
  const store = new Store(session({ id: 's', turns: [turn({ id: 't', status: 'running' })] }));
  let bytes = 0;
  let flush = () => {};
  const outbox = new Outbox(
    {
      post: (message) => {
        if (message.type === 'patch') bytes += Buffer.byteLength(JSON.stringify(message));
      },
    },
    (run) => {
      flush = run;
    },
  );
  outbox.show({ id: 's', store });
  outbox.listen(true);
  for (const [at, piece] of pieces(text, 4_000).entries()) {
    outbox.take('s', { type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: piece });
    if (at % 3 === 2) flush();
  }
  flush();
  return bytes / Buffer.byteLength(text);
}

/** MB in use after the garbage is gone. */
async function heap(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0) / 1_048_576;
}

async function withPage<T>(browser: Browser, url: string, use: (page: Page, cdp: CDPSession) => Promise<T>): Promise<T> {
  const page = await browser.newPage({ viewport: { width: 420, height: 800 } });
  try {
    const cdp = await page.context().newCDPSession(page);
    // Ticks of the thread: what else the machine does is not counted.
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.goto(url);
    await page.waitForSelector('.turn');
    return await use(page, cdp);
  } finally {
    await page.close();
  }
}

async function cpu(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000;
}

async function serve(): Promise<{ readonly url: string; readonly server: Server }> {
  const page = await build({
    entryPoints: ['test/webview/bench/page.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    logLevel: 'warning',
  });
  const files: Readonly<Record<string, readonly [type: string, body: string]>> = {
    '/': ['text/html', html],
    '/page.js': ['text/javascript', page.outputFiles[0]?.text ?? ''],
    '/worker.js': ['text/javascript', worker],
    '/main.js': ['text/javascript', await readFile('dist/webview/main.js', 'utf8')],
    '/main.css': ['text/css', await readFile('dist/webview/main.css', 'utf8')],
  };
  const server = createServer((request, answer) => {
    const [type, body] = files[request.url ?? ''] ?? [];
    if (type === undefined) answer.writeHead(404).end();
    else answer.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

/** What test/webview/bench/page.ts puts into the page. */
declare function postMessage(message: unknown): void;
declare const shown: Session;
declare const given: readonly string[];
declare const bench: {
  prefix(text: string): Promise<void>;
  updates(list: readonly string[]): Promise<void>;
  stream(
    list: readonly string[],
    rate: number,
    endMark: string,
    longestMs: number,
  ): Promise<Omit<StreamFigures, 'cpu' | 'heapMB' | 'longestTaskCpu'>>;
};
