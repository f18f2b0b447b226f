import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, type Desk, textOf } from './desk.ts';
import { display, flat, speaker, talking } from './envelopeDesk.ts';

test('tool displays: an older one is dropped, an end stands, strings and unknown kinds are shown', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      display('x', 'Executing', 'one', { timestamp: 5 }),
      display('x', 'Pending', 'zero', { timestamp: 4 }),
      display('x', 'success', { kind: 'string', text: 'two' }, { timestamp: 6 }),
      display('x', 'Executing', { kind: 'string', text: 'three' }, { timestamp: 7 }),
      display('y', 'Error', { kind: 'hologram', a: 1 }),
      display('z', 'Success', { kind: 'todo_list', todos: [{ id: '1', content: 'a', status: 'pending' }] }),
      display('p', 'Success', { kind: 'plan_summary', message: 'Plan', plan_markdown: '1. x' }),
      display('k', 'Canceled', { kind: 'task_execution', subagentName: 'finder', status: 'failed' }),
      display('d', 'Success', { kind: 'file_diff', file_name: 'b', diff: '--- a\n+++ b\n@@ -2,2 +2,2 @@\n k\n-l\n+m\n' }),
    );
  await all.settle();
  assert.equal(call(all.turn(), 'x').status, 'done');
  assert.deepEqual(call(all.turn(), 'y').output, [{ kind: 'json', value: { kind: 'hologram', a: 1 } }]);
  assert.equal(all.now().plan?.entries[0]?.text, 'a');
  assert.match(JSON.stringify(call(all.turn(), 'p').output), /Plan/);
  assert.equal(textOf(all.turn()), '1. x', 'a plan is there to be read');
  assert.deepEqual([call(all.turn(), 'k').status, JSON.stringify(call(all.turn(), 'k').output).includes('finder')], ['cancelled', true]);
  assert.deepEqual(call(all.turn(), 'd').output, [
    { kind: 'diff', diff: { path: '/w/b', before: 'k\nl', after: 'k\nm', excerpt: { beforeLine: 2, afterLine: 2 } } },
  ]);
});

test("a sub-agent's work stands under its call, told anew with every display; what failed says why once", async (t) => {
  const all = await talking(t);
  const task = (status: string, calls: readonly object[], more: object = {}) => ({
    kind: 'task_execution',
    subagentName: 'finder',
    status,
    toolCalls: calls,
    ...more,
  });
  all.last().say(
    display('k', 'Executing', task('running', [{ callId: '1', name: 'read_file', status: 'executing', args: { path: 'a.txt' } }])),
    display(
      'k',
      'Executing',
      task('running', [
        { callId: '1', name: 'read_file', status: 'success', args: { path: 'a.txt' }, resultDisplay: 'text' },
        { name: 'grep', status: 'error', description: 'x' },
      ]),
    ),
    display('k', 'Success', task('completed', [{ callId: '1', name: 'read_file', status: 'success' }], { result: 'Found it.' })),
    display('f', 'Error', 'no such host'),
  );
  await all.settle();
  const under = all.turn().parts.filter((part) => part.parent === 'k');
  assert.deepEqual(
    under.map((part) =>
      part.kind === 'call' ? [part.call.title, part.call.status, part.call.output.length] : part.kind === 'text' && part.text,
    ),
    [['Read a.txt', 'done', 1], ['grep: x', 'failed', 0], 'Found it.'],
  );
  assert.deepEqual([call(all.turn(), 'f').error?.message, call(all.turn(), 'f').output], ['no such host', []]);
});

/** What a card shows at first sight. */
function face(all: Desk, id: string): readonly unknown[] {
  const { title, kind, status, locations } = call(all.turn(), id);
  return [title, kind, status, locations.map((one) => one.path).join()];
}
const confirming = (id: string, confirmation: unknown) => display(id, 'Confirming', null, { confirmation });

test('a call that only its displays speak of is called after what it shows', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      display('n', 'Executing', null),
      display('s', 'Success', 'Listed 3 items.\nmore'),
      display('t', 'Success', { kind: 'todo_list', todos: [{ id: '1', content: 'a', status: 'pending' }] }),
      display('p', 'Success', { kind: 'plan_summary', message: 'User approved the plan.', plan_markdown: '1. x' }),
      display('k', 'Executing', { kind: 'task_execution', subagentName: 'finder', taskDescription: 'Look around', status: 'running' }),
      display('k', 'Success', { kind: 'task_execution', subagentName: 'finder', status: 'completed' }),
      display('d', 'Success', { kind: 'file_diff', file_name: 'src/b.ts', diff: '', original: 'k', modified: 'm' }),
      display('h', 'Success', { kind: 'hologram' }),
    );
  await all.settle();
  assert.deepEqual(face(all, 'n'), ['Tool', 'other', 'running', '']);
  assert.deepEqual(face(all, 's'), ['Listed 3 items. …', 'other', 'done', '']);
  assert.deepEqual(face(all, 't'), ['Plan', 'think', 'done', '']);
  assert.deepEqual(face(all, 'p'), ['User approved the plan.', 'think', 'done', '']);
  assert.deepEqual(face(all, 'k'), ['finder: Look around', 'other', 'done', '']);
  assert.deepEqual(face(all, 'd'), ['Edit src/b.ts', 'edit', 'done', '/w/src/b.ts']);
  assert.deepEqual(face(all, 'h'), ['hologram', 'other', 'done', '']);
});

test("a display that comes before its call takes nothing from it: name, input and title are the call's", async (t) => {
  const { say } = speaker('stream-json');
  const all = await talking(t);
  all.last().say(
    // A line of its own, so that a round has ended before the call comes.
    { object: 'chat.completion', choices: [{ message: { annotations: [display('c', 'Executing', 'reading')] }, finish_reason: null }] },
    say({ tool_calls: [{ id: 'c', function: { name: 'read_file', arguments: '{"path":"a.txt"}' } }] }, 'tool_calls'),
    display('c', 'Success', 'three lines'),
  );
  await all.settle();
  assert.deepEqual(face(all, 'c'), ['Read a.txt', 'read', 'done', '/w/a.txt']);
  assert.deepEqual([call(all.turn(), 'c').name, call(all.turn(), 'c').input], ['read_file', { path: 'a.txt' }]);
});

test('what waits for a yes stands on the card: a command, a change, a call of a server, a plan, words', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      confirming('x', { type: 'exec', command: 'rm -rf \u202egnp\nls' }),
      confirming('e', { type: 'edit', file_name: 'a.txt', original: 'x', modified: 'y' }),
      confirming('u', { type: 'edit', fileName: 'b.txt', fileDiff: '@@ -1,1 +1,1 @@\n-l\n+m' }),
      confirming('m', { type: 'mcp', serverName: 'db', toolName: 'drop', arguments: { table: 't' } }),
      confirming('p', { type: 'plan', plan: '1. dig' }),
      confirming('i', { type: 'info', prompt: 'Fetch it?', urls: ['https://x.test/a'] }),
      confirming('w', 'Really?'),
      confirming('o', { type: 'odd' }),
      confirming('j', 7),
    );
  await all.settle();
  const shows = (id: string) => {
    const [output] = call(all.turn(), id).output;
    if (output?.kind === 'diff') return [output.diff.before, output.diff.after];
    return output?.kind === 'content' && output.content.type === 'text' ? output.content.text : output?.kind === 'json' && output.value;
  };
  assert.deepEqual(face(all, 'x'), ['rm -rf ⟨U+202E⟩gnp …', 'execute', 'waiting', '']);
  assert.equal(shows('x'), 'rm -rf ⟨U+202E⟩gnp\nls');
  assert.deepEqual(
    [face(all, 'e'), shows('e')],
    [
      ['Edit a.txt', 'edit', 'waiting', '/w/a.txt'],
      ['x', 'y'],
    ],
  );
  assert.deepEqual([face(all, 'u')[0], shows('u')], ['Edit b.txt', ['l', 'm']]);
  assert.deepEqual([face(all, 'm')[0], shows('m')], ['db: drop', { table: 't' }]);
  assert.deepEqual([face(all, 'p')[0], shows('p')], ['Leave plan mode', '1. dig']);
  assert.deepEqual([face(all, 'i')[0], shows('i')], ['Fetch https://x.test/a', 'Fetch it?\nhttps://x.test/a']);
  assert.deepEqual([face(all, 'w')[0], shows('w')], ['Really?', 'Really?']);
  assert.deepEqual([face(all, 'o')[0], face(all, 'j')[0]], ['Tool', 'Tool']);
});

test('a tool that waits for an approval nobody asked for is pointed at by name, whatever the others do', async (t) => {
  const all = await talking(t);
  all.last().say(confirming('x', { type: 'exec', command: 'rm x' }), display('y', 'Executing', null));
  await all.settle();
  assert.equal(call(all.turn(), 'x').status, 'waiting');
  await all.tick(5_000);
  assert.deepEqual(all.notices(), ['"rm x" waits for an approval that the agent has not asked for.']);
});

test('a tool somebody was asked about is not pointed at, also when the agent is slow to go on', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(confirming('x', { type: 'exec', command: 'ls' }), flat('r', 'run_shell_command', { command: 'ls' }, { tool_call_id: 'x' }));
  await all.settle();
  assert.deepEqual(face(all, 'x').slice(0, 3), ['ls', 'execute', 'waiting']);
  assert.equal(call(all.turn(), 'x').name, 'run_shell_command', 'the request told its name');
  await all.answer(all.approval(), 'reject');
  await all.tick(5_000);
  assert.deepEqual(all.notices(), []);
});

test('what a display keeps for the log is not shown', async (t) => {
  const all = await talking(t);
  all.last().say(display('x', 'Success', { kind: 'string', text: 'noise', log_scope: 'debug' }));
  await all.settle();
  assert.deepEqual(call(all.turn(), 'x').output, []);
});

test('files that only displays named count among those a lost turn changed', async (t) => {
  const all = await talking(t);
  all.last().say(display('d', 'Success', { kind: 'file_diff', file_name: 'src/b.ts', diff: '', original: 'k', modified: 'm' }));
  all.last().exit({ signal: 'SIGKILL' });
  await all.settle();
  assert.match(all.notices().join(), /changed: src\/b\.ts/);
});
