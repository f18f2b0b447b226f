// npm test [-- unit|rules|host|e2e|check ...] [--only TEXT] [--name REGEX] [--vscode current|floor|both] [--long] [--pictures]; see test/stages/options.ts.
import { load, prepare } from './bootstrap.mjs';

try {
  prepare();
  const { runAll } = await load('test/stages/all.ts');
  process.exitCode = await runAll(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
}
