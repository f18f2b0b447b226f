import { rmSync } from 'node:fs';
import { installWorkbench } from '../workbench/install.ts';
import { pack } from './check.ts';
import { runNodeTests } from './nodeTests.ts';
import { chosenFiles, type Options } from './options.ts';
import type { Tally } from './tally.ts';

/**
 * Runs test/e2e in a real workbench in Chromium, two files at a time; the long files only when they are asked for. Pictures, and traces of second
 * failures, go to out/screenshots.
 */
export async function runE2e(tally: Tally, options: Options): Promise<void> {
  const files = chosenFiles(options, 'test/e2e').filter(
    (file) => options.long || options.only !== undefined || !file.endsWith('.long.test.ts'),
  );
  if (files.length === 0) return;
  if (!options.stages.has('package') && !(await pack(tally))) return;
  rmSync('out/screenshots', { recursive: true, force: true });
  if (options.pictures) process.env.PARLEY_PICTURES = '1';
  for (const channel of options.channels ?? (['current'] as const)) {
    const ready = await tally.step(`workbench ${channel}`, async () => {
      // The tests run in processes of their own and find both by these.
      process.env.PARLEY_WORKBENCH = await installWorkbench('current');
      process.env.PARLEY_E2E_SERVER = await installWorkbench(channel);
    });
    if (!ready) return;
    // A window waits about half of its time: two keep two processors busy.
    const limits = { concurrency: 2, limitMs: 900_000, totalMs: 2_600_000 };
    // Recording takes about two fifths of the time of a window: only what failed pays it.
    await runNodeTests(tally, { stage: 'e2e', files, name: options.name, ...limits, secondAttempt: { PARLEY_RECORD: '1' } });
  }
}
