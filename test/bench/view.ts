/** What the built view costs in the real Chromium while replies stream in: main-thread time as a function of length, longest frame. */

import { openBrowser } from '../workbench/browser.ts';
import { installWorkbench } from '../workbench/install.ts';
import { measureView, type StreamFigures } from './webview/measure.ts';

const browser = await openBrowser(await installWorkbench('current'));
try {
  const figures = await measureView(browser);
  const perPiece = (table: Readonly<Record<number, number>>): string =>
    Object.entries(table)
      .map(([size, ms]) => `${Number(size).toLocaleString('en')}: ${ms.toFixed(2)} ms`)
      .join(', ');
  const stream = (name: string, of: StreamFigures): string =>
    `${name}: main thread ${(of.cpu / 1000).toFixed(1)} s, longest frame ${of.longestFrame.toFixed(0)} ms, longest task ${of.longestTask.toFixed(0)} ms (${of.longestTaskCpu.toFixed(0)} ms of processor time), ${of.dropped} frames dropped, a key press p95 ${of.keyP95.toFixed(0)} ms, heap ${of.heapMB.toFixed(0)} MB`;
  console.log(`one more piece of 52 characters, by length of the message: ${perPiece(figures.perPiece)}`);
  console.log(`the same inside one block of code: ${perPiece(figures.perPieceInCode)}`);
  console.log(stream('200,000 characters, 100 pieces a second', figures.paced));
  console.log(stream('1,000,000 characters, 1,000 pieces a second', figures.burst));
  console.log(`a session of 2,000 tool calls: ${figures.longSessionMB.toFixed(1)} MB of heap in the view`);
  console.log(`a session of 1,000 turns opens in ${figures.opening.toFixed(0)} ms of main thread`);
  console.log(`the host sends ${figures.hostBytes.toFixed(2)} bytes for each byte of a reply`);
} finally {
  await browser.close();
}
