import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { choose } from '../../agents/drive.ts';
import { SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

const options = [
  { optionId: 'y', name: 'Yes', kind: 'allow_once' },
  { optionId: 'n', name: 'No', kind: 'reject_once' },
];
const diff = (path: string, oldText: string | null | undefined, newText: string) => ({
  type: 'diff',
  path,
  newText,
  ...(oldText === undefined ? {} : { oldText }),
});

test('input nested 20,000 deep: the call and the question are shown, the turn ends', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  driven.onAsk(choose('reject_once'));
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  const call = `"toolCallId":"c1","title":"Deep","kind":"other","rawInput":${deep}`;
  agent.raw(
    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${SESSION}","update":{"sessionUpdate":"tool_call",${call}}}}\n`,
  );
  const asked = agent.ask('session/request_permission', { sessionId: SESSION, toolCall: { toolCallId: 'c1' }, options });
  assert.deepEqual((await asked).result, { outcome: { outcome: 'selected', optionId: 'n' } });
  const turn = await finish();
  assert.match(JSON.stringify(callsOf(turn)), /nested more than 256 deep/);
});

test('29: a fragment is found in its file, also in an unsaved buffer and after the edit; an ambiguous one is an excerpt', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const file = made.file('a.txt', 'x\r\ny\r\nx\r\n');
  const { call, finish } = await inTurn(made);
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'one', title: 'E', content: [diff(file, 'y\n', 'Y\n')] });
  const placed = await call('one', (one) => one.output.some((output) => output.kind === 'diff' && !output.diff.excerpt));
  assert.deepEqual(placed.output, [{ kind: 'diff', diff: { path: file, before: 'x\ny\nx\n', after: 'x\nY\nx\n' } }]);
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'two', title: 'E', content: [diff(file, 'x', 'z')] });
  const already = made.file('b.txt', 'new\n');
  agent.update({
    sessionUpdate: 'tool_call',
    toolCallId: 'three',
    title: 'E',
    status: 'completed',
    content: [diff(already, 'old', 'new')],
  });
  const turn = await finish();
  const outputs = callsOf(turn).map((one) => one.output[0]);
  assert.deepEqual(outputs.slice(1), [
    { kind: 'diff', diff: { path: file, before: 'x', after: 'z', excerpt: { unplaced: true } } },
    { kind: 'diff', diff: { path: already, before: 'old\n', after: 'new\n' } },
  ]);
});

test('30: no old text, null or empty: a new file when there is none', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const there = made.file('there.txt', 'before\n');
  const { finish } = await inTurn(made);
  const fresh = [null, undefined, ''].map((oldText, at) => diff(path.join(made.cwd, `new${at}.txt`), oldText, 'hi\n'));
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'new', title: 'W', content: fresh });
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'over', title: 'W', content: [diff(there, null, 'after\n')] });
  const turn = await finish();
  const diffs = callsOf(turn).flatMap((call) => call.output.flatMap((output) => (output.kind === 'diff' ? [output.diff] : [])));
  assert.deepEqual(
    diffs.map(({ before, after, excerpt }) => [before, after, excerpt]),
    [
      [null, 'hi\n', undefined],
      [null, 'hi\n', undefined],
      [null, 'hi\n', undefined],
      ['before\n', 'after\n', undefined],
    ],
  );
});
