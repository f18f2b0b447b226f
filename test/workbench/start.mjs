// npm start [-- --web] [--port N]: a real VS Code with Parley loaded on a copy of the sample workspace; see test/workbench/start.ts.
import { load, prepare } from '../bootstrap.mjs';

try {
  prepare();
  const { start } = await load('test/workbench/start.ts');
  process.exitCode = await start(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
