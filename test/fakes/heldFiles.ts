import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

interface Faked {
  readonly mock: { restore(): void };
}

/** Files that another program holds until `free`. `fake` puts functions in the place of node's that call `refuse` with the files they touch. */
export function holdFiles(
  t: TestContext,
  isHeldFile: (file: string) => boolean,
  fake: (refuse: (file: unknown) => void) => readonly Faked[],
): { tries: number; free(): void } {
  const holder = { tries: 0, free: () => {} };
  const mocks = fake((file) => {
    if (!isHeldFile(String(file))) return;
    holder.tries += 1;
    throw Object.assign(new Error(`EBUSY: resource busy or locked, '${String(file)}'`), { code: 'EBUSY' });
  });
  syncBuiltinESMExports();
  holder.free = () => {
    for (const one of mocks) one.mock.restore();
    syncBuiltinESMExports();
  };
  t.after(holder.free);
  return holder;
}
