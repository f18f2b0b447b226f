import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fuzzAgent } from './fuzzAgent.ts';
import { startFuzzService } from './service.ts';

/** `npm run fuzz [-- --seconds N --seed N]`: the seed is printed, and again with a failure, so that it can be repeated. */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { seconds: { type: 'string' }, seed: { type: 'string' } } });
  const seconds = Number(values.seconds ?? 60);
  const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
  if (!(seconds > 0) || !Number.isInteger(seed)) {
    console.error('Usage: npm run fuzz -- [--seconds N] [--seed N]');
    return 2;
  }
  const cwd = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-fuzz-')));
  const service = await startFuzzService();
  const until = Date.now() + seconds * 1000;
  console.log(`parley-agent, seed ${seed}, ${seconds} s`);
  try {
    const rounds = await fuzzAgent({ seed, cwd, service: service.url, goOn: () => Date.now() < until });
    const left = readdirSync(cwd);
    console.log(`${rounds} rounds: it answered every request once and served a good prompt after each`);
    if (left.length === 0) return 0;
    console.error(`but it wrote ${left.join(', ')} without being allowed to`);
    return 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  } finally {
    service.stop();
    rmSync(cwd, { recursive: true, force: true });
    rmSync(`${cwd}.home`, { recursive: true, force: true });
  }
}
