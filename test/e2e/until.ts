import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Waits until it holds; throws after 60 seconds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let wait = 0; wait < 600; wait += 1) {
    if (await holds()) return;
    await pause(100);
  }
  throw new Error(`not so: ${what}`);
}

/** Waits until a file is there and says this; throws with what it says instead after 20 seconds. */
export async function untilFile(file: string, pattern: RegExp): Promise<void> {
  const text = () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);
  for (let wait = 0; wait < 200; wait += 1) {
    if (pattern.test(text() ?? '\0')) return;
    await pause(100);
  }
  throw new Error(`${file} does not match ${pattern}:\n${text() ?? 'no such file'}`);
}
