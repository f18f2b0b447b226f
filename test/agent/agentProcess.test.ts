import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { endAfter, temporaryFolder } from './agentProcess.ts';

test('a folder of a test is removed when the processes in it have ended, each once', async () => {
  const hooks: (() => unknown)[] = [];
  const context = { after: (hook: () => unknown) => void hooks.push(hook) } as unknown as TestContext;
  const folder = temporaryFolder(context);
  const wasThere: boolean[] = [];
  endAfter(context, async () => {
    await new Promise(setImmediate);
    wasThere.push(existsSync(folder));
  });
  for (const hook of hooks) await hook();
  assert.deepEqual([wasThere, existsSync(folder)], [[true], false]);
});
