// npm run bench [-- NAME ...]: runs the files right in test/bench, one after another, each in a process of its own; each prints its figures.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { bundle, prepare } from '../bootstrap.mjs';

prepare();
const folder = 'test/bench';
const all = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replace(/\.ts$/, ''));
const wanted = process.argv.slice(2);
if (wanted.includes('--help')) {
  console.log(`npm run bench [-- NAME ...]; the names are ${all.join(', ')}`);
  process.exit(0);
}
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  process.exit(2);
}
const built = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' });
if (built.status !== 0) process.exit(1);
let failed = 0;
for (const name of wanted.length > 0 ? wanted : all) {
  console.log(`\n${name}`);
  const file = await bundle(path.posix.join(folder, `${name}.ts`));
  const run = spawnSync(process.execPath, ['--expose-gc', '--enable-source-maps', file], { stdio: 'inherit', timeout: 600_000 });
  if (run.status !== 0) {
    console.error(`${name} gave no figures`);
    failed += 1;
  }
}
process.exitCode = failed === 0 ? 0 : 1;
