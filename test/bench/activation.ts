/** What Parley adds to the start of the editor: nothing until it is used, then the time of its activation and the bytes it loads. */

import { statSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { inExtensionHost } from '../stages/host.ts';

const ROUNDS = 3;
const outfile = path.resolve('out/bench/activation.js');
await build({
  entryPoints: ['test/bench/host/activation.ts'],
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  outfile,
});
const times: number[] = [];
let early = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const { already, took } = JSON.parse(await inExtensionHost('current', outfile, {})) as { already: boolean; took: number };
  times.push(took);
  if (already) early += 1;
}
const kilobytes = statSync('dist/extension.js').size / 1000;
const median = times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
console.log(`active before it was used: ${early} of ${ROUNDS} starts`);
console.log(`activation: ${median.toFixed(0)} ms (median of ${ROUNDS}), ${kilobytes.toFixed(0)} kB loaded`);
