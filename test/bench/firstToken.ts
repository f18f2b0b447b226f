/** From the agent's write to stdout to the DOM of the chat in a real workbench: median and 95th percentile, beside one frame of 16.7 ms. */

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { build } from 'esbuild';
import { Window } from '../e2e/pages/window.ts';
import { openBrowser } from '../workbench/browser.ts';
import { installWorkbench } from '../workbench/install.ts';
import { addressOf, startServer } from '../workbench/server.ts';

const ROUNDS = 40;
const agent = path.resolve('out/bench/stamping.cjs');
await build({ entryPoints: ['test/bench/agent/stamping.ts'], bundle: true, platform: 'node', format: 'cjs', outfile: agent });
const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-bench-'));
const folder = path.join(temp, 'sample');
cpSync('test/workbench/sample', folder, { recursive: true });
const workbench = await installWorkbench('current');
const server = await startServer({
  workbench,
  settings: {
    'parley.agents': [{ id: 'stamping', name: 'stamping', protocol: 'kimi-wire', command: process.execPath, args: [agent] }],
    'parley.defaultAgent': 'stamping',
  },
});
const browser = await openBrowser(workbench);
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const window = new Window(page);
  await page.goto(addressOf(server, { folder, extension: '.' }));
  await window.ready();
  await window.openChat();
  // Set into the page as text: this program is checked without a DOM.
  await window.chat.frame.locator('body').evaluate(`(() => {
    const seen = (window.parleySeen = new Map());
    new MutationObserver(() => {
      const now = performance.timeOrigin + performance.now();
      for (const [, at] of (document.querySelector('article:last-of-type')?.textContent ?? '').matchAll(/written ([\\d.]+)/g)) if (!seen.has(at)) seen.set(at, now - Number(at));
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  })()`);
  for (let round = 0; round < ROUNDS; round += 1) {
    await window.chat.say('go');
    while (((await window.chat.frame.locator('body').evaluate('window.parleySeen.size')) as number) <= round) await pause(20);
    await window.chat.settled(window.chat.lastTurn);
  }
  const taken = (await window.chat.frame.locator('body').evaluate('[...window.parleySeen.values()]')) as readonly number[];
  const sorted = [...taken].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  console.log(`first token, agent's write to DOM: median ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms (${sorted.length} turns)`);
  console.log(`in frames of 16.7 ms: median ${(at(0.5) / 16.7).toFixed(2)}, p95 ${(at(0.95) / 16.7).toFixed(2)}`);
} finally {
  await browser.close();
  await server.stop();
  rmSync(temp, { recursive: true, force: true });
}
