// npm run fuzz [-- --seconds N --seed N]: throws junk at the input of the built parley-agent; see test/agent/fuzz/fuzzAgent.ts.
import { execFileSync } from 'node:child_process';
import { load, prepare } from './bootstrap.mjs';

try {
  prepare();
  execFileSync('npm', ['run', '-s', 'build:agent'], { stdio: 'inherit', shell: process.platform === 'win32' });
  const { run } = await load('test/agent/fuzz/run.ts');
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
