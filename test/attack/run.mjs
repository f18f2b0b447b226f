// npm run attack [-- ROOM ... --kills N --soak]: every attack of the corpus, room by room; prints `N of M held`. --kills sets how often the journal's
// writer is killed; --soak takes more turns than eight hours of use have, and compares memory, descriptors and processes before and after.
import { execFileSync } from 'node:child_process';
import { load, prepare } from '../bootstrap.mjs';

try {
  prepare();
  execFileSync('npm', ['run', '-s', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' });
  const { runAttacks } = await load('test/attack/run.ts');
  process.exitCode = await runAttacks(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
