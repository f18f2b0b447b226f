/** What Parley adds to the start of the editor: nothing until it is used, then the time of its activation and of its first command. */

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
const firsts: number[] = [];
let early = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const { already, took, first } = JSON.parse(await inExtensionHost('current', outfile, {})) as {
    already: boolean;
    took: number;
    first: number;
  };
  times.push(took);
  firsts.push(first);
  if (already) early += 1;
}
const median = (of: number[]): string => (of.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN).toFixed(0);
console.log(`active before it was used: ${early} of ${ROUNDS} starts`);
console.log(`activation: ${median(times)} ms, the first command after it: ${median(firsts)} ms (medians of ${ROUNDS})`);
