import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { call, type Desk, type DeskOptions, desk } from './desk.ts';
import { assistant, cancelled, init, permission, ready, result, toolResult, use } from './lines.ts';

const EDIT = { file_path: '/w/a.txt', old_string: 'one', new_string: 'two' };

/** A turn that stands before an approval of an edit of a.txt. */
async function asking(t: TestContext, options: DeskOptions = {}): Promise<Desk> {
  const all = desk(t, { files: { '/w/a.txt': 'zero one\n' }, ...options });
  await all.start();
  all.last().say(ready('initialize'));
  await all.settle();
  await all.prompt('go');
  all.last().say(init(), assistant([use('c1', 'edit', EDIT)]), permission('R', 'c1', 'edit', EDIT));
  await all.settle();
  return all;
}
const response = (all: Desk, id = 'R') => {
  const answers = all.last().answerTo(id);
  assert.equal(answers.length, 1);
  return Object(answers[0]?.response).response as object;
};

test('allow: the diff is made here from the input and the file, the answer has the exact verb inside', async (t) => {
  const all = await asking(t);
  const ask = all.approval();
  assert.deepEqual(ask.detail, { type: 'edit', diffs: [{ path: '/w/a.txt', before: 'zero one\n', after: 'zero two\n' }] });
  assert.equal(call(all.turn(), 'c1').status, 'waiting');
  await all.answer(ask, 'allow');
  assert.deepEqual(response(all), { behavior: 'allow', updatedInput: EDIT });
  assert.deepEqual(all.last().answerTo('R')[0], {
    type: 'control_response',
    response: { subtype: 'success', request_id: 'R', response: { behavior: 'allow', updatedInput: EDIT } },
  });
  assert.equal(call(all.turn(), 'c1').status, 'running');
  assert.deepEqual(all.now().asks, []);
  all.last().say(toolResult('c1', 'edited'));
  await all.settle();
  assert.equal(call(all.turn(), 'c1').status, 'done');
  assert.deepEqual(call(all.turn(), 'c1').output[0], {
    kind: 'diff',
    diff: { path: '/w/a.txt', before: 'zero one\n', after: 'zero two\n' },
  });
});

test('an edit whose text stands in the file twice, nowhere, or in a file nobody can read, is an excerpt without a place', async (t) => {
  const ask = async (edit: object, files: Record<string, string>) => {
    const all = desk(t, { files });
    await all.start();
    all.last().say(ready('initialize'));
    await all.settle();
    await all.prompt('go');
    all.last().say(init(), permission('R', 'c1', 'edit', edit));
    await all.settle();
    const { detail, editable } = all.approval();
    const found = [detail.type === 'edit' ? detail.diffs : detail, editable];
    all.live.dispose();
    t.mock.timers.reset();
    return found;
  };
  const unplaced = (before: string) => [[{ path: '/w/a.txt', before, after: 'two', excerpt: { unplaced: true } }], undefined];
  assert.deepEqual(await ask(EDIT, { '/w/a.txt': 'one\none more\n' }), unplaced('one'));
  assert.deepEqual(await ask({ ...EDIT, old_string: 'none' }, { '/w/a.txt': 'one\n' }), unplaced('none'));
  assert.deepEqual(await ask(EDIT, {}), unplaced('one'));
  assert.deepEqual(await ask({ ...EDIT, replace_all: true }, { '/w/a.txt': 'one\none\n' }), [
    [{ path: '/w/a.txt', before: 'one\none\n', after: 'two\ntwo\n' }],
    true,
  ]);
});

test('deny: the words go to the agent, the call is rejected, the turn goes on', async (t) => {
  const all = await asking(t);
  await all.answer(all.approval(), 'reject', { feedback: 'Not this file' });
  assert.deepEqual(response(all), { behavior: 'deny', message: 'Not this file' });
  assert.equal(call(all.turn(), 'c1').status, 'rejected', 'also when nothing is said of it any more');
  all.last().say(toolResult('c1', '[Operation Cancelled] Reason: Not this file', true));
  await all.settle();
  assert.equal(call(all.turn(), 'c1').status, 'rejected');
  assert.equal(all.turn().status, 'running');
  all.last().say(result({ permission_denials: [{ tool_name: 'edit', tool_use_id: 'c1', tool_input: {} }] }));
  await all.settle();
  assert.equal(all.turn().status, 'done');
  assert.doesNotMatch(all.notices().join(), /Refused without asking/, 'the user refused it');
});

test('a dismissed approval is a refusal', async (t) => {
  const all = await asking(t);
  await all.answer(all.approval(), { kind: 'cancelled' });
  assert.deepEqual(Object(response(all)).behavior, 'deny');
});

test('nobody answers: the card says until when; refused before the agent gives up, and no button is left', async (t) => {
  const all = await asking(t);
  assert.equal(all.approval().until, 1 + 600_000);
  await all.tick(600_000);
  assert.equal(Object(response(all)).behavior, 'deny');
  assert.deepEqual(all.now().asks, []);
  assert.match(all.notices().join(), /Nobody answered in time/);
});

test('the agent gave up by itself: a result of the call closes the card, and the late answer is sent once', async (t) => {
  const all = await asking(t);
  const ask = all.approval();
  all.last().say(toolResult('c1', '[Operation Cancelled] Reason: timeout', true));
  await all.settle();
  assert.deepEqual(all.now().asks, []);
  assert.equal(call(all.turn(), 'c1').status, 'cancelled');
  await all.answer(ask, 'allow');
  assert.equal(Object(response(all)).behavior, 'deny');
});

test('the same request twice is shown once and answered with the same answer', async (t) => {
  const all = await asking(t);
  all.last().say(permission('R', 'c1', 'edit', EDIT));
  await all.settle();
  assert.equal(all.now().asks.length, 1);
  await all.answer(all.approval(), 'allow');
  all.last().say(permission('R', 'c1', 'edit', EDIT));
  await all.settle();
  assert.deepEqual(all.now().asks, []);
  const [first, second] = all.last().answerTo('R');
  assert.deepEqual(first, second);
});

test('two in a row, and two at once, each with its own answer', async (t) => {
  const all = await asking(t);
  const other = { ...EDIT, new_string: 'three' };
  all.last().say(permission('Q', 'c2', 'edit', other));
  await all.settle();
  assert.equal(all.now().asks.length, 2);
  await all.answer(all.approval(1), 'reject');
  await all.answer(all.approval(0), 'allow');
  assert.equal(Object(response(all, 'Q')).behavior, 'deny');
  assert.equal(Object(response(all, 'R')).behavior, 'allow');
});

test('the file changed while the question was open: the new change is asked again', async (t) => {
  const all = await asking(t);
  const first = all.approval();
  all.files['/w/a.txt'] = 'one and zero\n';
  await all.answer(first, 'allow');
  const second = all.approval();
  assert.notEqual(second.id, first.id);
  assert.deepEqual(all.last().answerTo('R'), []);
  assert.deepEqual(second.detail.type === 'edit' && second.detail.diffs[0]?.after, 'two and zero\n');
  await all.answer(second, 'allow');
  assert.equal(Object(response(all)).behavior, 'allow');
});

test('an edited proposal: this agent does not take it, so it is written here and the agent is told', async (t) => {
  const all = await asking(t);
  assert.equal(all.approval().editable, true);
  await all.answer(all.approval(), 'allow', { edited: 'zero 2\n' });
  assert.equal(all.files['/w/a.txt'], 'zero 2\n');
  assert.match(JSON.stringify(response(all)), /deny.*applied an edited version/);
  all.last().say(toolResult('c1', '[Operation Cancelled] Reason: The user applied', true));
  await all.settle();
  assert.equal(call(all.turn(), 'c1').status, 'done');
  assert.deepEqual(call(all.turn(), 'c1').output[0], { kind: 'diff', diff: { path: '/w/a.txt', before: 'zero one\n', after: 'zero 2\n' } });
});

test('Claude Code takes the changed input, with the changed lines alone', async (t) => {
  const files = { '/w/a.txt': 'first\nzero one\nlast\n' };
  const all = await asking(t, { command: 'claude', files });
  await all.answer(all.approval(), 'allow', { edited: 'first\nzero 2\nlast\n' });
  assert.deepEqual(response(all), {
    behavior: 'allow',
    updatedInput: { file_path: '/w/a.txt', old_string: 'zero one', new_string: 'zero 2', replace_all: false },
  });
});

test('what the agent proposes for later becomes options and goes back as it came', async (t) => {
  const all = desk(t, { command: 'claude' });
  await all.start();
  all.last().say(ready('initialize'));
  await all.prompt('go');
  const suggestions = [
    { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'npm test:*' }], behavior: 'allow', destination: 'localSettings' },
    { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
    { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'deny', destination: 'session' },
    { type: 'brandNew', whatever: 1 },
  ];
  all.last().say(permission('R', 'c1', 'Bash', { command: 'npm test' }, { permission_suggestions: suggestions }));
  await all.settle();
  const ask = all.approval();
  assert.deepEqual(
    ask.options.map((option) => [option.id, option.effect]),
    [
      ['allow', 'allow_once'],
      ['allow:0', 'allow_always'],
      ['allow:1', 'allow_always'],
      ['reject', 'reject_once'],
    ],
  );
  assert.deepEqual(
    ask.options.slice(1, 3).map((option) => [option.label, option.description]),
    [
      ['Always allow all that begins with "npm test"', 'In this project, for you'],
      ['Allow, and change to mode "Accept edits"', 'In this session'],
    ],
  );
  await all.answer(ask, 'allow:0');
  assert.deepEqual(response(all), {
    behavior: 'allow',
    updatedInput: { command: 'npm test' },
    updatedPermissions: [suggestions[0]],
  });
});

test('a rule about one command names the command, one about another tool stands as the agent keeps it', async (t) => {
  const all = desk(t, { command: 'claude' });
  await all.start();
  all.last().say(ready('initialize'));
  await all.prompt('go');
  const rules = [
    { toolName: 'Bash', ruleContent: 'npm --version' },
    { toolName: 'Bash', ruleContent: 'git log *' },
    { toolName: 'Read', ruleContent: '//tmp/**' },
    { toolName: 'WebSearch' },
  ];
  const suggestion = { type: 'addRules', rules, behavior: 'allow', destination: 'session' };
  all.last().say(permission('R', 'c1', 'Bash', { command: 'npm --version' }, { permission_suggestions: [suggestion] }));
  await all.settle();
  assert.equal(all.approval().options[1]?.label, 'Always allow "npm --version", all that begins with "git log", Read(//tmp/**), WebSearch');
});

for (const [command, mode] of [
  ['claude', 'bypassPermissions'],
  ['claude', 'yolo'],
  ['claude', 'auto'],
  ['qwen', 'yolo'],
  ['qwen', 'bypassPermissions'],
  ['qwen', 'auto'],
] as const) {
  for (const yes of [true, false]) {
    test(`${command}: a proposed change to ${mode} allows this call alone; the mode waits for a ${yes ? 'yes' : 'no'} of its own`, async (t) => {
      const all = desk(t, { command });
      await all.start();
      all.last().say(ready('initialize'));
      await all.prompt('go');
      const permission_suggestions = [{ type: 'setMode', mode, destination: 'session' }];
      all.last().say(permission('R', 'c1', 'Bash', { command: 'ls' }, { permission_suggestions }));
      await all.settle();
      await all.answer(all.approval(), 'allow:0');
      assert.deepEqual(response(all), { behavior: 'allow', updatedInput: { command: 'ls' } });
      const asked = () => all.last().requests('set_permission_mode');
      assert.deepEqual(asked(), []);
      await all.answer(all.approval(), yes ? 'yes' : 'no');
      assert.deepEqual(
        asked().map((line) => line.request.mode),
        yes ? [mode] : [],
      );
      assert.deepEqual(all.now().asks, []);
    });
  }
}

test('a proposed change to a mode that still asks goes back with the approval', async (t) => {
  const all = desk(t, { command: 'claude' });
  await all.start();
  all.last().say(ready('initialize'));
  await all.prompt('go');
  const permission_suggestions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
  all.last().say(permission('R', 'c1', 'Bash', { command: 'ls' }, { permission_suggestions }));
  await all.settle();
  await all.answer(all.approval(), 'allow:0');
  assert.deepEqual(response(all), { behavior: 'allow', updatedInput: { command: 'ls' }, updatedPermissions: permission_suggestions });
  assert.deepEqual(all.now().asks, []);
});

test('Qwen Code: always for edits is its own mode, asked for after the yes', async (t) => {
  const all = await asking(t);
  await all.answer(all.approval(), 'allow:edits');
  assert.equal(Object(response(all)).behavior, 'allow');
  assert.deepEqual(all.last().requests('set_permission_mode')[0]?.request.mode, 'auto-edit');
  all.last().answer('set_permission_mode', { status: 'updated', mode: 'auto-edit' });
  await all.settle();
  assert.equal(all.now().mode?.current, 'auto-edit');
});

test('Stop with an open approval: interrupt first, then the refusal; the card is gone at once', async (t) => {
  const all = await asking(t);
  await all.cancel();
  assert.deepEqual(all.now().asks, []);
  const order = all
    .last()
    .told.slice(-2)
    .map((line) => line.type);
  assert.deepEqual(order, ['control_request', 'control_response']);
  all.last().say(toolResult('c1', '[Operation Cancelled] Reason: Error: Request aborted', true));
  all.last().say({ ...cancelled(), permission_denials: [{ tool_name: 'edit', tool_use_id: 'c1', tool_input: {} }] });
  await all.settle();
  assert.deepEqual([all.turn().status, call(all.turn(), 'c1').status], ['cancelled', 'cancelled']);
  assert.doesNotMatch(all.notices().join(), /Refused without asking/, 'it was asked');
});

test('Claude Code takes a request back: nothing is answered', async (t) => {
  const all = await asking(t, { command: 'claude' });
  all.last().say({ type: 'control_cancel_request', request_id: 'R' });
  await all.settle();
  assert.deepEqual([all.now().asks, all.last().answerTo('R')], [[], []]);
});

test('the turn ends, or the agent dies, with an approval open: it is settled', async (t) => {
  const all = await asking(t);
  all.last().say(result());
  await all.settle();
  assert.deepEqual([all.now().asks, all.turn().status], [[], 'done']);
  assert.equal(Object(response(all)).behavior, 'deny');
  await all.prompt('again');
  all.last().say(permission('R2', 'c2', 'edit', EDIT));
  await all.settle();
  all.last().exit({ code: 55, stderr: 'budget is used up' });
  await all.settle();
  assert.deepEqual([all.now().asks, all.turn().status], [[], 'failed']);
  assert.equal(all.now().link.state, 'closed');
});

test('a request that cannot be read, of an unknown kind or for an unknown server is answered with an error', async (t) => {
  const all = await asking(t);
  all
    .last()
    .say(
      { type: 'control_request', request_id: 'x1', request: { subtype: 'can_use_tool', tool_name: 7 } },
      { type: 'control_request', request_id: 'x2', request: { subtype: 'dance' } },
      { type: 'control_request', request_id: 'x3', request: { subtype: 'mcp_message', server_name: 'other', message: {} } },
    );
  await all.settle();
  for (const id of ['x1', 'x2', 'x3']) {
    assert.equal(Object(all.last().answerTo(id)[0]?.response).subtype, 'error');
  }
});

test('what is shown cannot hide anything: control characters and direction marks become visible', async (t) => {
  const all = await asking(t);
  all.last().say(permission('S', 'c9', 'run_shell_command', { command: 'ls \u202egnp.exe\u0007', description: 'harmless' }));
  await all.settle();
  const { detail } = all.approval(1);
  assert.deepEqual(detail, { type: 'command', command: 'ls ⟨U+202E⟩gnp.exe⟨U+0007⟩' });
});

test('a file outside the workspace is named as such', async (t) => {
  const all = await asking(t);
  all.last().say(permission('S', 'c9', 'write_file', { file_path: '/etc/x', content: '' }));
  await all.settle();
  assert.match(all.approval(1).title, /outside the workspace/);
});

const question = (many: boolean) => ({
  questions: [
    { question: 'Which?', header: 'Colour', multiSelect: many, options: [{ label: 'Red' }, { label: 'Blue' }] },
    { question: 'Why?', options: [] },
  ],
});

test('a question: one choice, several, none', async (t) => {
  const all = await asking(t);
  all.last().say(toolResult('c1', 'x'), permission('Q1', 'q1', 'ask_user_question', question(false)));
  await all.settle();
  assert.deepEqual(
    all.question().fields.map((field) => [field.label, field.many ?? false, field.choices?.length ?? 0]),
    [
      ['Colour', false, 2],
      ['Why?', false, 0],
    ],
  );
  await all.answer(all.question(), { kind: 'fields', values: { 0: ['Blue'], 1: [] } });
  assert.deepEqual(Object(response(all, 'Q1')).updatedInput.answers, { 0: 'Blue' });
  all.last().say(permission('Q2', 'q2', 'ask_user_question', question(true)));
  await all.settle();
  await all.answer(all.question(), { kind: 'fields', values: { 0: ['Red', 'Blue'], 1: ['Because'] } });
  assert.deepEqual(Object(response(all, 'Q2')).updatedInput.answers, { 0: 'Red, Blue', 1: 'Because' });
  all.last().say(permission('Q3', 'q3', 'ask_user_question', question(false)));
  await all.settle();
  await all.answer(all.question(), { kind: 'cancelled' });
  assert.equal(Object(response(all, 'Q3')).behavior, 'deny');
});

test('Claude Code files answers by the question', async (t) => {
  const all = await asking(t, { command: 'claude' });
  all.last().say(permission('Q1', 'q1', 'AskUserQuestion', question(false)));
  await all.settle();
  const ask = all.now().asks.find((one) => one.kind === 'question');
  assert.ok(ask);
  await all.answer(ask, { kind: 'fields', values: { 0: ['Blue'] } });
  assert.deepEqual(Object(response(all, 'Q1')).updatedInput.answers, { 'Which?': 'Blue' });
});

test('a request that cannot be read is refused and logged', async (t) => {
  const all = await asking(t);
  all
    .last()
    .say({ type: 'control_request', request_id: 'a', request: {} }, { type: 'control_request', request_id: 7, request: { subtype: 'x' } });
  await all.settle();
  const answers = all.last().told.flatMap((line) => (line.type === 'control_response' ? [Object(line.response)] : []));
  assert.deepEqual(
    answers.map(({ request_id, subtype }) => [request_id, subtype]),
    [
      ['a', 'error'],
      [7, 'error'],
    ],
  );
  assert.equal(all.logged.filter((line) => line.includes('could not be read')).length, 2);
});

test('a suggestion that cannot be read is passed over; the question is asked, and the others keep their answers', async (t) => {
  for (const suggestions of [[null, 7, { type: 'setMode', mode: 'acceptEdits' }], 'none', Array(200).fill({ type: 'x' })]) {
    const all = desk(t, { command: 'claude' });
    await all.start();
    all.last().say(ready('initialize'));
    await all.prompt('go');
    all
      .last()
      .say(
        assistant([use('c', 'Bash', { command: 'ls' })]),
        permission('R', 'c', 'Bash', { command: 'ls' }, { permission_suggestions: suggestions }),
      );
    await all.settle();
    const labels = all.approval().options.map((one) => one.id);
    assert.deepEqual(labels, Array.isArray(suggestions) && suggestions.length === 3 ? ['allow', 'allow:0', 'reject'] : ['allow', 'reject']);
    t.mock.timers.reset();
  }
});

test('the plan that is to be left is Markdown; without one a sentence says what is asked', async (t) => {
  for (const [input, detail] of [
    [{ plan: '1. **first**' }, { type: 'text', text: '1. **first**', markdown: true }],
    [{}, { type: 'text', text: 'The agent wants to leave plan mode and begin with the work. It has not sent its plan along.' }],
  ] as const) {
    const all = desk(t, { command: 'claude' });
    await all.start();
    all.last().say(ready('initialize'));
    await all.prompt('go');
    all.last().say(assistant([use('c', 'ExitPlanMode', input)]), permission('R', 'c', 'ExitPlanMode', input));
    await all.settle();
    assert.deepEqual(all.approval().detail, detail);
    t.mock.timers.reset();
  }
});
