import type { FromView, ToView } from '../../../src/bridge/contract.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import { session, turn } from '../page/sessions.ts';

/** Plays the extension host for the built view while it is measured; `window.bench` is driven from outside. */
const shown = session({ id: 's', turns: [turn({ id: 't', status: 'running' })] });
let seq = 0;

function post(message: ToView): void {
  window.postMessage(message, '*');
}

function happen(event: SessionEvent): void {
  seq += 1;
  post({ type: 'patch', sessionId: 's', from: seq, seq, events: [event] });
}

function append(text: string): void {
  happen({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text });
}

const feed = () => document.querySelector('.turns') ?? document.body;
const wait = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
const painted = () => new Promise<void>((resolve) => void requestAnimationFrame(() => setTimeout(resolve, 0)));

/** Puts a text in at once and waits until nothing moves any more. */
async function prefix(text: string): Promise<void> {
  append(text);
  let last = -1;
  for (let round = 0; round < 200; round += 1) {
    await painted();
    const size = feed().getElementsByTagName('*').length + feed().scrollHeight;
    if (size === last && round > 3) return;
    last = size;
    await wait(30);
  }
}

/** Appends pieces one by one, each waited for until it is painted. */
async function updates(pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    const seen = new Promise<void>((resolve) => {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        resolve();
      });
      observer.observe(feed(), { subtree: true, childList: true, characterData: true });
    });
    append(piece);
    await Promise.race([seen, wait(3000)]);
    await painted();
  }
}

const quantile = (sorted: readonly number[], share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** A worker posts pieces at a rate, each as a message of its own; ends when the last one is painted or the time is over. Times in ms. */
async function stream(pieces: readonly string[], rate: number, endMark: string, longestMs: number) {
  const frames: number[] = [];
  const long: number[] = [];
  const keys: number[] = [];
  const tasks = new PerformanceObserver((list) => list.getEntries().forEach((entry) => void long.push(entry.duration)));
  tasks.observe({ type: 'longtask' });
  const events = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.name === 'keydown') keys.push(entry.duration);
  });
  events.observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
  const worker = new Worker('/worker.js');
  const began = performance.now();
  let got = 0;
  let sentAt = 0;
  worker.onmessage = ({ data }: MessageEvent<string | { readonly done: number }>) => {
    if (typeof data !== 'string') {
      sentAt = data.done - performance.timeOrigin;
      return;
    }
    if (performance.now() - began > longestMs) return worker.terminate();
    got += 1;
    append(data);
  };
  worker.postMessage({ pieces, rate });
  let running = true;
  let before = 0;
  const tick = (now: number): void => {
    if (before) frames.push(now - before);
    before = now;
    if (running) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  let finished = 0;
  while (performance.now() - began < longestMs && !finished) {
    await wait(50);
    if (
      sentAt &&
      (feed().lastElementChild?.querySelector('.markdown')?.lastElementChild?.lastElementChild?.textContent ?? '').includes(endMark)
    )
      finished = performance.now();
  }
  running = false;
  worker.terminate();
  tasks.disconnect();
  events.disconnect();
  frames.sort((a, b) => a - b);
  keys.sort((a, b) => a - b);
  return {
    absorbed: got,
    lag: finished ? finished - sentAt : undefined,
    dropped: frames.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / 16.667) - 1), 0),
    longestFrame: quantile(frames, 1),
    longestTask: Math.max(0, ...long),
    keyP95: quantile(keys, 0.95),
    elements: feed().getElementsByTagName('*').length,
  };
}

Object.assign(window, {
  bench: { prefix, updates, stream },
  acquireVsCodeApi: () => ({
    postMessage(message: FromView) {
      if (message.type !== 'ready') return;
      post({ type: 'hello', strings: {}, language: 'en', trusted: true });
      post({ type: 'sessions', list: [], active: 's', profiles: [] });
      post({ type: 'snapshot', sessionId: 's', seq: 0, session: shown, answers: [] });
    },
    getState: () => undefined,
    setState: () => undefined,
  }),
});
