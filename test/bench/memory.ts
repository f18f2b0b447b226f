/** What a session of 2,000 tool calls weighs in the host: the growth of the heap beside the same session as JSON. */

import { CALLS, longSession } from './webview/longSession.ts';

const collect = (globalThis as { gc?: () => void }).gc;
if (!collect) throw new Error('run this with --expose-gc');
const heap = (): number => {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
};

const before = heap();
const store = longSession();
const grown = (heap() - before) / 1e6;
const json = JSON.stringify(store.now).length / 1e6;
console.log(
  `a session of ${CALLS.toLocaleString('en')} tool calls: ${grown.toFixed(1)} MB of heap in the host; as JSON ${json.toFixed(1)} MB; ratio ${(grown / json).toFixed(2)}`,
);
