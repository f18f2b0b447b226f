import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callThatWrote } from '../../../src/protocols/acp/calls.ts';

test('a write belongs to the call that names the file, in whatever case Windows has it', () => {
  const call = (path: string) => ({ status: 'running', edits: {}, locations: [{ path }], rawInput: {} });
  const [one, other] = [call('C:\\ws\\a.ts'), call('C:\\ws\\b.ts')];
  const calls = { one, other } as unknown as Parameters<typeof callThatWrote>[0];
  assert.equal(callThatWrote(calls, 'c:\\ws\\a.ts'), one);
  assert.equal(callThatWrote(calls, 'c:/WS/B.ts'), other);
  assert.equal(callThatWrote(calls, 'D:\\ws\\a.ts'), null);
});
