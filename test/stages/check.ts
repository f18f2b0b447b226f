import { mkdirSync } from 'node:fs';
import { npm } from './command.ts';
import type { Tally } from './tally.ts';

/** Builds the bundles of the extension. False when one of them could not be built. */
export async function build(tally: Tally): Promise<boolean> {
  const built = [];
  for (const script of ['build:host', 'build:webview', 'build:agent']) built.push(await tally.step(script, () => npm('run', '-s', script)));
  return !built.includes(false);
}

/** Type-checks the programs and lints everything. */
export async function check(tally: Tally): Promise<void> {
  for (const project of ['.', 'src/session', 'src/conversation', 'build/machines', 'webview', 'test/webview']) {
    await tally.step(`typecheck ${project}`, () => npm('exec', '--no', '--', 'tsc', '-p', project, '--pretty', 'false'));
  }
  await tally.step('lint', () => npm('run', '-s', 'lint', '--', '--colors=off'));
}

/** Makes out/parley.vsix from what was built. */
export function pack(tally: Tally): Promise<boolean> {
  return tally.step('package', async () => {
    mkdirSync('out', { recursive: true });
    await npm('run', '-s', 'vsix');
  });
}
