import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { callsOf, findTerminal } from '../../../src/session/select.ts';
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
const said = (text: string) => ({ type: 'content', content: { type: 'text', text } });

test('20 and 31: a permission creates the call, and its title does not rename one that has a title', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  driven.onAsk(choose('allow_once'));
  const toolCall = { toolCallId: 'c1', title: 'Writing notes.md', kind: 'edit', status: 'pending' };
  const { result } = await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options });
  assert.deepEqual(result, { outcome: { outcome: 'selected', optionId: 'y' } });
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c2', title: 'Viewing a.txt', kind: 'read' });
  await agent.ask('session/request_permission', { sessionId: SESSION, toolCall: { toolCallId: 'c2', title: 'Edit file' }, options });
  const turn = await finish();
  assert.deepEqual(
    callsOf(turn).map((call) => [call.id, call.title]),
    [
      ['c1', 'Writing notes.md'],
      ['c2', 'Viewing a.txt'],
    ],
  );
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

test('21, 22 and 24: created by an update, a second tool_call merges, null keeps', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { finish } = await inTurn(made);
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', kind: 'search', _meta: { toolName: 'grep' } });
  agent.update({
    sessionUpdate: 'tool_call',
    toolCallId: 'c1',
    title: 'Grep x',
    rawInput: { pattern: 'x' },
    locations: [{ path: '/w/a.ts', line: 3 }],
  });
  agent.update({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c1',
    title: null,
    kind: null,
    locations: null,
    status: 'in_progress',
    rawOutput: null,
  });
  const turn = await finish();
  // Times are the live session's.
  assert.deepEqual(
    callsOf(turn).map(({ startedAt: _, endedAt: __, ...call }) => call),
    [
      {
        id: 'c1',
        inputText: '',
        name: 'grep',
        title: 'Grep x',
        kind: 'search',
        status: 'ended',
        input: { pattern: 'x' },
        output: [],
        locations: [{ path: '/w/a.ts', line: 3 }],
      },
    ],
  );
});

test('23: a status may go back while the call is open, never once it is over; the same id announced anew is another call', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { call, finish } = await inTurn(made);
  const update = (status: string) => agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status });
  update('in_progress');
  update('pending');
  await call('c1', (one) => one.status === 'pending');
  update('completed');
  update('in_progress');
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', title: 'after' });
  await call('c1', (one) => one.title === 'after' && one.status === 'done');
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'again', status: 'in_progress' });
  await call('c1', (one) => one.title === 'again' && one.status === 'running');
  assert.equal(callsOf(await finish()).length, 1);
});

test('25: a list that comes replaces the one before', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { finish } = await inTurn(made);
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'T', content: [said('one'), said('two')] });
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', content: [said('three'), { type: 'hologram' }] });
  const [call] = callsOf(await finish());
  assert.deepEqual(call?.output, [{ kind: 'content', content: { type: 'text', text: 'three' } }]);
});

test('26: a diff stays when the agent replaces it by a sentence', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const file = made.file('a.txt', 'one\ntwo\nthree\n');
  const { call, finish } = await inTurn(made);
  agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'Edit', kind: 'edit', content: [diff(file, 'two', 'TWO')] });
  await call('c1', (one) => one.output.some((output) => output.kind === 'diff' && !output.diff.excerpt));
  writeFileSync(file, 'one\nTWO\nthree\n');
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', content: [said('Replaced 1 occurrence')] });
  const [done] = callsOf(await finish());
  assert.deepEqual(done?.output, [
    { kind: 'content', content: { type: 'text', text: 'Replaced 1 occurrence' } },
    { kind: 'diff', diff: { path: file, before: 'one\ntwo\nthree\n', after: 'one\nTWO\nthree\n' } },
  ]);
});

test('27: what has no last word is over, nobody knows how, when the turn ends well and cancelled when it is stopped', async (t) => {
  for (const [reason, status] of [
    ['end_turn', 'ended'],
    ['cancelled', 'cancelled'],
  ] as const) {
    const made = await scene(t);
    const { finish } = await inTurn(made);
    made.agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'T', status: 'in_progress' });
    const turn = await finish(reason);
    assert.deepEqual([turn.status, callsOf(turn)[0]?.status], [reason === 'end_turn' ? 'done' : 'cancelled', status]);
  }
});

test('28: a rejected call is rejected, though the agent says nothing or says failed', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  driven.onAsk(choose('reject_once'));
  for (const toolCallId of ['silent', 'failing']) {
    await agent.ask('session/request_permission', { sessionId: SESSION, toolCall: { toolCallId, title: 'T' }, options });
  }
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'failing', status: 'failed' });
  const turn = await finish('cancelled');
  assert.deepEqual(
    callsOf(turn).map((call) => call.status),
    ['rejected', 'rejected'],
  );
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

test('what a call gave is shown from rawOutput when its content is empty; an exit code is believed more than the status', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { finish } = await inTurn(made);
  const end = (toolCallId: string, rawOutput: unknown) =>
    agent.update({ sessionUpdate: 'tool_call', toolCallId, title: 'false', kind: 'execute', status: 'completed', content: [], rawOutput });
  end('a', { aggregated_output: 'text', exit_code: 0 });
  end('b', { contents: [{ exitCode: 3 }] });
  end('c', undefined);
  const calls = callsOf(await finish());
  assert.deepEqual(
    calls.map((call) => [call.status, call.error?.message, call.output.length]),
    [
      ['done', undefined, 1],
      ['failed', 'Exit code 3', 1],
      ['done', undefined, 0],
    ],
  );
});

test('57: the output of a display terminal before it is announced', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  const update = (_meta: object, more: object = {}) =>
    agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', _meta, ...more });
  update({ terminal_output: { terminal_id: 'c1', data: 'early\n' } });
  update({ terminal_info: { terminal_id: 'c1' } }, { content: [{ type: 'terminal', terminalId: 'c1' }] });
  update({ terminal_output: { terminal_id: 'c1', data: 'late\n' } });
  update({ terminal_exit: { terminal_id: 'c1', exit_code: 3, signal: null } });
  const turn = await finish();
  const terminal = findTerminal(driven.now(), 'c1');
  assert.deepEqual([terminal?.tail, terminal?.exit], ['early\nlate\n', { code: 3, signal: null }]);
  assert.deepEqual(callsOf(turn)[0]?.output, [{ kind: 'terminal', terminalId: 'c1' }]);
});
