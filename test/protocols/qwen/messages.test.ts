import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { call, type Desk, type DeskOptions, desk, textOf } from './desk.ts';
import * as l from './lines.ts';

async function talking(t: TestContext, options: DeskOptions = {}): Promise<Desk> {
  const all = desk(t, options);
  await all.start();
  all.last().say(l.ready('initialize'));
  await all.settle();
  await all.prompt('go');
  return all;
}
const kinds = (all: Desk) => all.turn().parts.map((part) => part.kind);

test('thinking, text and a tool in one round; indexes start over after each whole message; nothing is shown twice', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      l.init(),
      l.roundStart(),
      l.blockStart(0, { type: 'thinking', thinking: '' }),
      l.delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      l.stop(0),
      l.assistant([{ type: 'thinking', thinking: 'Hmm' }]),
      l.blockStart(0, { type: 'text', text: '' }),
      l.text(0, 'Rea'),
      l.text(0, 'ding'),
      l.stop(0),
      l.assistant([{ type: 'text', text: 'Reading' }]),
      l.blockStart(0, l.use('c1', 'read_file', {})),
      l.delta(0, { type: 'input_json_delta', partial_json: '{"file_path":"/w/a"}' }),
      l.stop(0),
      l.assistant([l.use('c1', 'read_file', { file_path: '/w/a' })]),
    );
  await all.settle();
  assert.deepEqual(kinds(all), ['thought', 'text', 'call']);
  assert.equal(textOf(all.turn()), 'Reading');
  const [thought] = all.turn().parts;
  assert.equal(thought?.kind === 'thought' && thought.text, 'Hmm');
  const { title, inputText, locations, status } = call(all.turn(), 'c1');
  assert.deepEqual([title, inputText, locations, status], ['Read a', '{"file_path":"/w/a"}', [{ path: '/w/a' }], 'running']);
});

test('the other order: the whole message before the end of its block, indexes that go on, one message id', async (t) => {
  const all = await talking(t, { command: 'claude' });
  all
    .last()
    .say(
      l.roundStart(),
      l.blockStart(0, { type: 'text', text: '' }),
      l.text(0, 'A'),
      l.assistant([{ type: 'text', text: 'A' }]),
      l.stop(0),
      l.blockStart(1, l.use('c1', 'Bash', {})),
      l.assistant([l.use('c1', 'Bash', { command: 'ls' })]),
      l.stop(1),
      l.assistant([{ type: 'text', text: 'A' }]),
      l.assistant([l.use('c1', 'Bash', { command: 'ls' })]),
      l.event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }),
      l.event({ type: 'message_stop' }),
    );
  await all.settle();
  assert.deepEqual([kinds(all), textOf(all.turn())], [['text', 'call'], 'A']);
});

test('a whole message that says something else replaces what streamed', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(l.roundStart(), l.blockStart(0, { type: 'text', text: '' }), l.text(0, 'wrong'), l.assistant([{ type: 'text', text: 'right' }]));
  await all.settle();
  assert.equal(textOf(all.turn()), 'right');
});

test('without partial messages whole ones are enough', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(l.assistant([{ type: 'text', text: 'One' }]), l.assistant([l.use('c', 'glob', { pattern: '*' })], { uuid: 'v' }), l.result());
  await all.settle();
  assert.deepEqual([kinds(all), all.turn().status], [['text', 'call'], 'done']);
});

test('interrupted text stays; the result says cancelled', async (t) => {
  const all = await talking(t);
  all.last().say(l.roundStart(), l.blockStart(0, { type: 'text', text: '' }), l.text(0, 'Half'));
  await all.settle();
  await all.cancel();
  assert.equal(all.turn().stopping, true);
  all.last().say(l.assistant([{ type: 'text', text: 'Half a' }]), l.cancelled());
  await all.settle();
  assert.deepEqual([all.turn().status, textOf(all.turn())], ['cancelled', 'Half a']);
});

test('a command that was stopped is cancelled, not failed', async (t) => {
  const all = await talking(t);
  all.last().say(l.assistant([l.use('c', 'run_shell_command', { command: 'sleep 9' })]));
  await all.settle();
  await all.cancel();
  all.last().say(l.toolResult('c', 'The tool had already completed; its output was discarded.', true), l.cancelled());
  await all.settle();
  assert.equal(call(all.turn(), 'c').status, 'cancelled');
});

test('Stop and no answer: it is said, and a second Stop starts the agent anew on the same conversation', async (t) => {
  const all = await talking(t);
  await all.cancel();
  await all.tick(5_000);
  assert.match(all.now().notices.at(-1)?.text ?? '', /does not stop/);
  assert.deepEqual(all.now().notices.at(-1)?.next, ['restart']);
  await all.cancel();
  await all.settle();
  assert.deepEqual([all.turn().status, all.now().notices], ['cancelled', []]);
  assert.equal(all.now().link.state, 'opening');
  assert.deepEqual(all.last().spec.args.slice(-2), ['--resume', 'S']);
});

test('prompts wait here, one turn after the other', async (t) => {
  const all = await talking(t);
  await all.prompt('two', 't2');
  await all.prompt('three', 't3');
  assert.equal(all.last().prompts().length, 1);
  all.last().say(l.result());
  await all.settle();
  assert.equal(all.last().prompts().length, 2);
  all.last().say(l.result());
  await all.settle();
  assert.deepEqual(
    all
      .last()
      .prompts()
      .map((line) => Object(line.message).content),
    ['go', 'two', 'three'],
  );
});

test('a stray result ends nothing and breaks nothing', async (t) => {
  const all = await talking(t);
  all.last().say(l.result(), l.result(), l.result());
  await all.settle();
  assert.deepEqual([all.now().turns.length, all.turn().status], [1, 'done']);
  await all.prompt('next');
  assert.equal(all.turn().status, 'running');
});

test('exit without a result ends the turn; codes that mean "not again" are not started again', async (t) => {
  for (const code of [42, 44, 52, 53, 55]) {
    await t.test(`${code}`, async (t) => {
      const all = await talking(t);
      all.last().exit({ code, stderr: 'Reached max session turns' });
      await all.settle();
      assert.deepEqual([all.turn().status, all.now().link.state, all.processes.length], ['failed', 'closed', 1]);
      const { link } = all.now();
      assert.match(link.state === 'closed' ? (link.detail ?? '') : '', /max session turns/);
    });
  }
});

test('an API error fails the turn, and the next prompt works', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      l.assistant([{ type: 'text', text: '[API Error: 500]' }]),
      l.result({ is_error: true, subtype: 'error_during_execution', error: { message: '[API Error: 500]' } }),
    );
  await all.settle();
  assert.deepEqual([all.turn().status, all.turn().error?.message, all.turn().error?.next], ['failed', '[API Error: 500]', ['retry']]);
  await all.prompt('again');
  all.last().say(l.assistant([{ type: 'text', text: 'ok' }]), l.result());
  await all.settle();
  assert.equal(all.turn().status, 'done');
});

test('a prompt with nothing the agent can take is not sent', async (t) => {
  const all = await talking(t);
  all.last().say(l.result());
  await all.settle();
  all.live.send({ type: 'prompt', turnId: 'x', content: [{ type: 'image', mime: 'image/png', data: 'AA' }] });
  await all.settle();
  assert.equal(all.last().prompts().length, 1);
  assert.equal(all.turn().status, 'failed');
});

test('files go as references with escaped spaces; Claude Code gets images', async (t) => {
  const all = desk(t, { command: 'claude' });
  await all.start();
  all.last().say(l.ready('initialize'));
  await all.settle();
  all.live.send({
    type: 'prompt',
    turnId: 'x',
    content: [
      { type: 'text', text: 'Look at' },
      { type: 'file', path: '/w/my file.txt' },
      { type: 'image', mime: 'image/png', data: 'AA' },
    ],
  });
  await all.settle();
  assert.deepEqual(Object(all.last().prompts()[0]?.message).content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } },
    { type: 'text', text: 'Look at\n@my\\ file.txt' },
  ]);
});

test('commands are gathered from all lists; an unknown one is named before it goes as text', async (t) => {
  const all = await talking(t);
  all.last().answer('supported_commands', { commands: ['clear', 'docs'] });
  all.last().say(l.init(), l.result());
  await all.settle();
  assert.deepEqual(
    all.now().commands.map((command) => command.name),
    ['clear', 'init'],
  );
  await all.prompt('/nosuch thing');
  assert.match(all.notices().join(), /No command of the agent/);
  assert.equal(Object(all.last().prompts()[1]?.message).content, '/nosuch thing');
  all
    .last()
    .say(
      l.assistant([{ type: 'text', text: 'The command "/help" is not supported in this mode.' }]),
      l.result({ is_error: true, num_turns: 0, subtype: 'error_during_execution', error: { message: 'not supported' } }),
    );
  await all.settle();
  assert.equal(all.turn().status, 'failed');
});

test('/clear: the view is cleared when its turn is over, and the next start begins the new conversation', async (t) => {
  const all = await talking(t);
  all.last().say(l.init(), l.assistant([{ type: 'text', text: 'the first answer' }]), l.result());
  await all.settle();
  await all.prompt('/clear', 'clears');
  await all.prompt('what comes next', 'next');
  const lane = { session_id: 'NEW' };
  all.last().say({ ...l.assistant([{ type: 'text', text: 'Cleared' }]), ...lane });
  await all.settle();
  assert.deepEqual([all.now().turns.length, all.now().resumeKey], [2, 'NEW'], 'not before it is done');
  all.last().say({ ...l.result({ num_turns: 0 }), ...lane });
  await all.settle();
  assert.deepEqual(
    all.now().turns.map((turn) => turn.id),
    ['next'],
    'what waited is said in the new conversation',
  );
  all.last().say({ ...l.result(), ...lane });
  await all.prompt('/clear');
  all.last().say({ ...l.init(), session_id: 'NEWER' }, { ...l.result({ num_turns: 0 }), session_id: 'NEWER' });
  await all.settle();
  assert.match(all.notices().join(), /starts over/);
  assert.deepEqual(all.now().turns, []);
  await all.live.restart();
  await all.settle();
  assert.ok(!all.last().spec.args.includes('--resume'), 'of which the agent keeps nothing yet');
});

test('another session id without such a command is followed, and nothing is taken from the view', async (t) => {
  const all = await talking(t);
  all.last().say({ ...l.assistant([{ type: 'text', text: 'x' }]), session_id: 'NEW' }, { ...l.result(), session_id: 'NEW' });
  await all.settle();
  assert.deepEqual([all.now().resumeKey, all.now().turns.length], ['NEW', 1]);
  assert.match(all.notices().join(), /starts over/);
});

test('Claude Code says itself that the conversation starts over', async (t) => {
  const all = await talking(t, { command: 'claude' });
  all.last().say({ type: 'conversation_reset', session_id: 'S' }, { ...l.init(), session_id: 'NEW' }, { ...l.result(), session_id: 'NEW' });
  await all.settle();
  assert.deepEqual([all.now().resumeKey, all.now().turns], ['NEW', []]);
});

test('words after the end of a turn are shown, and hold nothing up: the turn they make is over when nothing follows', async (t) => {
  const all = await talking(t);
  all.last().say(l.init(), l.result(), l.assistant([{ type: 'text', text: 'One more thing.' }]));
  await all.settle();
  await all.prompt('next');
  assert.deepEqual([textOf(all.turn()), all.turn().status, all.now().queue.length], ['One more thing.', 'running', 1]);
  await all.tick(1_999);
  assert.equal(all.turn().status, 'running');
  await all.tick(1);
  assert.deepEqual(
    all.now().turns.map((turn) => turn.status),
    ['done', 'done', 'running'],
  );
});

test('a turn the agent announces ends with its result, however long it is silent in it; a Stop it does not know of ends it too', async (t) => {
  const all = await talking(t);
  all.last().say(l.init(), l.result(), l.init(), l.assistant([{ type: 'text', text: 'The tests are done.' }]));
  await all.settle();
  await all.tick(14_000);
  assert.equal(all.turn().status, 'running');
  all.live.send({ type: 'cancel' });
  all.last().answer('interrupt', { subtype: 'interrupt' });
  await all.settle();
  await all.tick(2_000);
  assert.deepEqual([all.now().turns.length, all.turn().status], [2, 'cancelled']);
});

test('the mode is changed in the middle of a turn; a refusal says why', async (t) => {
  const all = await talking(t);
  all.last().say(l.init());
  await all.settle();
  assert.equal(all.now().mode?.current, 'default');
  all.live.send({ type: 'setMode', modeId: 'plan' });
  all.last().answer('set_permission_mode', { status: 'updated', mode: 'plan' });
  await all.settle();
  assert.equal(all.now().mode?.current, 'plan');
  all.live.send({ type: 'setMode', modeId: 'auto-edit' });
  const { id } = all.last().requests('set_permission_mode')[1] ?? assert.fail();
  all.last().say({ type: 'control_response', response: { subtype: 'error', request_id: id, error: 'Invalid permission mode' } });
  await all.settle();
  assert.equal(all.now().mode?.current, 'plan');
  assert.match(all.notices().join(), /Invalid permission mode/);
});

test('a mode in which nobody is asked needs a yes of its own', async (t) => {
  const all = await talking(t);
  all.live.send({ type: 'setMode', modeId: 'yolo' });
  await all.settle();
  assert.deepEqual(all.last().requests('set_permission_mode'), []);
  await all.answer(all.approval(), 'no');
  assert.deepEqual(all.last().requests('set_permission_mode'), []);
  all.live.send({ type: 'setMode', modeId: 'yolo' });
  await all.settle();
  await all.answer(all.approval(), 'yes');
  assert.equal(all.last().requests('set_permission_mode').length, 1);
});

test('the mode of the first prompt can be chosen before it, from the one the agent was started in', async (t) => {
  const all = desk(t);
  await all.start();
  all.last().say(l.ready('initialize', { capabilities: { can_set_permission_mode: true } }));
  await all.settle();
  const { mode } = all.now();
  assert.deepEqual([mode?.current, mode?.all.map((one) => one.id)], ['default', ['plan', 'default', 'auto-edit', 'auto', 'yolo']]);
  all.live.send({ type: 'setMode', modeId: 'plan' });
  all.last().answer('set_permission_mode', { status: 'updated', mode: 'plan' });
  await all.settle();
  assert.equal(all.now().mode?.current, 'plan');
});

test('the mode at the start is the one of the profile; none is shown where the agent cannot be told', async (t) => {
  for (const args of [['--approval-mode=plan'], ['--approval-mode', 'plan']]) {
    const all = desk(t, { args });
    await all.start();
    all.last().say(l.ready('initialize', { capabilities: { can_set_permission_mode: true } }));
    await all.settle();
    assert.equal(all.now().mode?.current, 'plan');
    t.mock.timers.reset();
  }
  const all = desk(t);
  await all.start();
  all.last().say(l.ready('initialize', { capabilities: { can_set_permission_mode: false } }));
  await all.settle();
  assert.equal(all.now().mode, undefined);
});

test('a call with a short id of its own does not take the words after it', async (t) => {
  const all = await talking(t);
  for (const id of ['p1', 'p2', 'p3', 'p4'])
    all.last().say(l.assistant([l.use(id, 'exit_plan_mode', { plan: 'x' })]), l.toolResult(id, 'ok'));
  all.last().say(l.assistant([{ type: 'text', text: 'left plan' }]), l.result());
  await all.settle();
  assert.equal(textOf(all.turn()), 'left plan');
});

test('models and effort are options; the reply decides', async (t) => {
  const all = desk(t);
  await all.start();
  all.last().say(l.ready('initialize', { capabilities: { can_get_available_models: true, can_set_effort: true } }));
  await all.settle();
  all.last().answer('get_available_models', {
    models: [
      { id: 'a', label: 'A' },
      { id: 'b', label: null },
    ],
  });
  await all.prompt('go');
  all.last().say(l.init({ model: 'a' }));
  await all.settle();
  const model = () => all.now().options?.find((option) => option.about === 'model');
  const option = model();
  assert.ok(option?.kind === 'choice' && option.current === 'a' && option.choices.length === 2);
  all.live.send({ type: 'setOption', optionId: 'model', value: 'b' });
  all.last().answer('set_model', { subtype: 'set_model', model: 'b' });
  await all.settle();
  const next = model();
  assert.equal(next?.kind === 'choice' && next.current, 'b');
});

test('how a turn ended is said in words, never by a code', async (t) => {
  const all = await talking(t);
  const endsAs = async (more: object) => {
    all.last().say(l.result(more));
    await all.settle();
    const { status, stop, error } = all.turn();
    await all.prompt('next');
    return [status, stop, error];
  };
  const failed = { is_error: true, subtype: 'error_during_execution' };
  assert.deepEqual(await endsAs({ ...failed, error: { message: '[API Error: 500]' } }), [
    'failed',
    undefined,
    { message: '[API Error: 500]', next: ['retry'] },
  ]);
  assert.deepEqual(await endsAs(failed), ['failed', undefined, { message: 'The turn failed.', next: ['retry'] }]);
  const limit = { message: 'The agent has used up the turns it may take.', next: ['continue'] };
  assert.deepEqual(await endsAs({ is_error: true, subtype: 'error_max_turns', terminal_reason: 'max_turns' }), [
    'failed',
    undefined,
    limit,
  ]);
  assert.deepEqual(await endsAs({ ...failed, terminal_reason: 'aborted_tools' }), ['cancelled', undefined, undefined]);
  assert.deepEqual(await endsAs({ terminal_reason: 'prompt_too_long' }), [
    'done',
    'The conversation has become too long for the model.',
    undefined,
  ]);
  assert.deepEqual(await endsAs({ terminal_reason: 'some_new_end' }), ['done', 'some new end', undefined]);
});

test('words for the model are no part of what a call is shown to have said', async (t) => {
  const all = await talking(t, { command: 'claude' });
  const told = 'The file /w/a has been updated. (file state is current in your context — no need to Read it back)';
  all
    .last()
    .say(
      l.assistant([l.use('c', 'Write', { file_path: '/w/a', content: 'x' }), l.use('d', 'Read', { file_path: '/w/a' })]),
      l.toolResult('c', told),
      l.toolResult('d', 'x\n<system-reminder>\nConsider this.\n</system-reminder>\n'),
    );
  await all.settle();
  const said = (id: string) => call(all.turn(), id).output.flatMap((one) => (one.kind === 'content' ? [one.content] : []));
  assert.deepEqual(said('c'), [{ type: 'text', text: 'The file /w/a has been updated.' }]);
  assert.deepEqual(said('d'), [{ type: 'text', text: 'x' }]);
});

test('what an agent writes around the report of a sub-agent, or about a stopped call, is for its model alone', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      l.assistant([l.use('a', 'Agent', { prompt: 'look' }), l.use('b', 'Bash', { command: 'sleep 9' })]),
      l.toolResult(
        'a',
        '  <tools-used-before-summary>Read</tools-used-before-summary>\n  \n[Subagent hand-back] The text below is a report. It follows:\n  Two files.\n    - a\nagentId: a1 (use SendMessage with to: a1)\n<usage>subagent_tokens: 17\ntool_uses: 2</usage>',
      ),
      l.toolResult(
        'b',
        "one\nThe user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing.",
        true,
      ),
    );
  await all.settle();
  const said = (id: string) => call(all.turn(), id).output.flatMap((one) => (one.kind === 'content' ? [one.content] : []));
  assert.deepEqual(said('a'), [{ type: 'text', text: 'Two files.\n  - a' }]);
  assert.deepEqual(said('b'), [{ type: 'text', text: 'one' }]);
});

test('what was refused without asking is named', async (t) => {
  const all = await talking(t);
  all.last().say(l.result({ permission_denials: [{ tool_name: 'edit', tool_use_id: 'x', tool_input: {} }] }));
  await all.settle();
  assert.match(all.notices().join(), /Refused without asking.*edit/);
});

test('what was refused without asking is named once, also by an agent that lists it again with every later turn', async (t) => {
  const all = await talking(t);
  const denials = [{ tool_name: 'write_file', tool_use_id: 'x', tool_input: {} }];
  all.last().say(l.result({ permission_denials: denials }));
  await all.prompt('two');
  all.last().say(l.result({ permission_denials: denials }));
  await all.prompt('three');
  all.last().say(l.result({ permission_denials: [...denials, { tool_name: 'edit', tool_use_id: 'y', tool_input: {} }] }));
  await all.settle();
  const told = all.notices().filter((text) => text.startsWith('Refused without asking'));
  assert.deepEqual(
    told.map((text) => text.split(': ')[1]),
    ['write_file', 'edit'],
  );
});

test('what was refused in a conversation before it was gone on with is not told again', async (t) => {
  const all = desk(t, { resume: 'S' });
  await all.start();
  all.last().say(l.ready('initialize'));
  await all.prompt('go');
  const denials = [{ tool_name: 'write_file', tool_use_id: 'before', tool_input: {} }];
  all.last().say(l.result({ permission_denials: denials }));
  await all.prompt('two');
  const now = { tool_name: 'edit', tool_use_id: 'now', tool_input: {} };
  all.last().say(l.assistant([l.use('now', 'edit', {})]), l.result({ permission_denials: [...denials, now] }));
  await all.settle();
  const told = all.notices().filter((text) => text.startsWith('Refused without asking'));
  assert.deepEqual(told.join().split(': ')[1], 'edit');
});

test("a sub-agent's lines stand under its call; its failure does not end the turn", async (t) => {
  const all = await talking(t);
  all.last().say(
    l.assistant([l.use('a1', 'agent', { description: 'Look around', prompt: 'look' })]),
    { ...l.toolResult('', ''), parent_tool_use_id: 'a1', message: { role: 'user', content: 'look' } },
    l.assistant([{ type: 'text', text: 'Found it' }], {
      parent_tool_use_id: 'a1',
      message: { id: 's1', content: [{ type: 'text', text: 'Found it' }] },
    }),
    l.assistant([], { parent_tool_use_id: 'a1', message: { id: 's2', content: [l.use('c2', 'read_file', { file_path: '/w/a' })] } }),
    l.result({ is_error: true, duration_ms: 0, num_turns: 0, subtype: 'error_during_execution', error: { message: 'sub-agent failed' } }),
  );
  await all.settle();
  assert.equal(all.turn().status, 'running');
  assert.deepEqual(
    all.turn().parts.map((part) => [part.kind, part.parent]),
    [
      ['call', undefined],
      ['prompt', 'a1'],
      ['text', 'a1'],
      ['call', 'a1'],
      ['notice', 'a1'],
    ],
  );
  all.last().say(l.toolResult('a1', 'no'), l.result());
  await all.settle();
  assert.equal(all.turn().status, 'done');
});

test('background tasks are lines; when one makes the agent speak by itself, that is a turn', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      { type: 'system', subtype: 'task_started', session_id: 'S', task_id: 'b', description: 'tests' },
      l.result(),
      { type: 'system', subtype: 'task_notification', session_id: 'S', task_id: 'b', status: 'completed' },
      l.init(),
      l.assistant([{ type: 'text', text: 'The tests are done.' }]),
      l.result(),
    );
  await all.settle();
  assert.match(
    all.notices().join('|'),
    /Done in the background: …\|.*In the background: tests|In the background: tests.*\|Done in the background: …/,
  );
  assert.deepEqual([all.now().turns.length, all.turn().status, textOf(all.turn())], [2, 'done', 'The tests are done.']);
});

test('unknown types and shapes are logged once and passed over', async (t) => {
  const all = await talking(t);
  const strange = { type: 'prompt_suggestion', session_id: 'S' };
  all
    .last()
    .say(
      strange,
      strange,
      { type: 'system', subtype: 'brand_new', session_id: 'S' },
      { type: 'assistant', session_id: 'S' },
      { type: 'result', usage: 7 },
    );
  await all.settle();
  assert.equal(all.logged.filter((line) => line.includes('prompt_suggestion')).length, 1);
  assert.equal(all.logged.filter((line) => line.includes('dropped')).length, 2);
  assert.equal(all.turn().status, 'running');
});

test('silence: it is said after 15 seconds, found alive after a minute, and nothing is started again', async (t) => {
  const all = await talking(t);
  await all.tick(15_000);
  assert.match(all.turn().activity ?? '', /Still waiting for the model \(15 s\)/);
  for (let n = 0; n < 9; n += 1) await all.tick(5_000);
  const probes = all.last().requests('supported_commands');
  assert.equal(probes.length, 1);
  all.last().answer('supported_commands', { commands: [] });
  await all.settle();
  for (let n = 0; n < 6; n += 1) await all.tick(5_000);
  assert.match(all.turn().activity ?? '', /\(90 s\)/);
  all.last().say(l.roundStart());
  await all.settle();
  assert.equal(all.turn().activity, undefined);
  assert.equal(all.processes.length, 1);
});

test('probes that nobody answers: the user is offered a restart', async (t) => {
  const all = await talking(t);
  for (let n = 0; n < 40; n += 1) await all.tick(5_000);
  assert.match(all.notices().join(), /does not answer any more/);
  assert.equal(all.now().notices.at(-1)?.next?.[0], 'restart');
  all.last().say(l.roundStart());
  await all.settle();
  assert.deepEqual(
    all.now().notices.map(({ level, text, next }) => [level, text, next]),
    [['info', 'The agent answers again.', undefined]],
  );
  await all.tick(15_000);
  assert.match(all.turn().activity ?? '', /\(15 s\)/, 'and it is listened to as before');
});

test('a sub-agent that stands still may be waiting for what it cannot ask', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say(
      l.assistant([l.use('a1', 'agent', { description: 'x' })]),
      l.assistant([], { parent_tool_use_id: 'a1', message: { id: 's', content: [l.use('c2', 'run_shell_command', { command: 'x' })] } }),
    );
  await all.settle();
  await all.tick(30_000);
  assert.match(all.turn().activity ?? '', /sub-agent is silent/);
});

test('usage: the context of the last round, the tokens and cost of the session', async (t) => {
  const all = await talking(t);
  const message = { id: 'm', content: [{ type: 'text', text: 'x' }], usage: { input_tokens: 90, output_tokens: 10, total_tokens: 100 } };
  const modelUsage = { a: { inputTokens: 5, outputTokens: 2, cacheReadInputTokens: 1, contextWindow: 1000 } };
  all.last().say({ ...l.assistant([]), message }, l.result({ modelUsage, total_cost_usd: 0.5 }));
  await all.settle();
  assert.deepEqual(all.now().usage, { used: 100, input: 6, output: 2, size: 1000, cost: { amount: 0.5, currency: 'USD' } });
});

test('a todo list is the plan', async (t) => {
  const all = await talking(t);
  const todos = [
    { id: '1', content: 'a', status: 'completed' },
    { id: '2', content: 'b', status: 'in_progress' },
  ];
  all.last().say(l.assistant([l.use('c', 'todo_write', { todos })]), l.toolResult('c', 'ok'));
  await all.settle();
  assert.deepEqual(all.now().plan?.entries, [
    { text: 'a', status: 'completed' },
    { text: 'b', status: 'in_progress' },
  ]);
});

test("Claude Code's own account of an edit is the diff: whole files, or hunks", async (t) => {
  const all = await talking(t, { command: 'claude' });
  const told = { filePath: '/w/a', originalFile: 'x\ny\n', oldString: 'y', newString: 'z', replaceAll: false, structuredPatch: [] };
  const hunks = { filePath: '/w/b', originalFile: null, structuredPatch: [{ oldStart: 3, newStart: 3, lines: [' k', '-l', '+m'] }] };
  all
    .last()
    .say(
      l.assistant([
        l.use('c1', 'Edit', { file_path: '/w/a', old_string: 'y', new_string: 'z' }),
        l.use('c2', 'Edit', { file_path: '/w/b' }),
      ]),
      l.toolResult('c1', 'ok', false, { tool_use_result: told }),
      l.toolResult('c2', 'ok', false, { tool_use_result: hunks }),
    );
  await all.settle();
  assert.deepEqual(call(all.turn(), 'c1').output[0], { kind: 'diff', diff: { path: '/w/a', before: 'x\ny\n', after: 'x\nz\n' } });
  assert.deepEqual(call(all.turn(), 'c2').output[0], {
    kind: 'diff',
    diff: { path: '/w/b', before: 'k\nl', after: 'k\nm', excerpt: { beforeLine: 3, afterLine: 3 } },
  });
});

test('line ends of other alphabets survive: they are escaped on the way out', async (t) => {
  const all = await talking(t);
  all.last().say(l.result());
  await all.settle();
  await all.prompt('a\u2028b');
  assert.equal(Object(all.last().prompts()[1]?.message).content, 'a\u2028b');
});

test('what has been used is asked of the agent where it keeps that, and shown as a table', async (t) => {
  const all = desk(t);
  await all.start();
  all.last().say(l.ready('initialize', { capabilities: { can_get_usage_info: true } }));
  await all.settle();
  all.last().answer('supported_commands', { commands: ['clear'] });
  await all.settle();
  assert.deepEqual(
    all.now().commands.map((command) => [command.name, command.hint]),
    [
      ['clear', undefined],
      ['usage', '[today|week|month|all]'],
    ],
  );
  await all.prompt('/usage week');
  assert.equal(all.last().requests('get_usage_info')[0]?.request.range, 'week');
  all
    .last()
    .answer('get_usage_info', { range: 'week', summary: { totalTokens: 105173, requests: 5 }, models: [{ model: 'm|x', totalTokens: 7 }] });
  await all.settle();
  assert.deepEqual(
    [textOf(all.turn()), all.turn().status],
    ['| Used (week) | |\n| --- | ---: |\n| Tokens | 105,173 |\n| Requests | 5 |\n| Tokens of m x | 7 |', 'done'],
  );
  assert.equal(all.last().prompts().length, 0);
  await all.prompt('/usage');
  all.last().say({
    type: 'control_response',
    response: { subtype: 'error', request_id: all.last().requests('get_usage_info')[1]?.id, error: 'no' },
  });
  await all.settle();
  assert.deepEqual([all.turn().status, all.turn().error?.message], ['failed', 'no']);
});

test('a sub-agent that the agent waits for is no task in the background; one that goes on after its call is', async (t) => {
  const all = await talking(t, { command: 'claude' });
  const started = (task: string, id: string) => ({
    type: 'system',
    subtype: 'task_started',
    task_id: task,
    tool_use_id: id,
    description: `task ${task}`,
  });
  const over = (task: string) => ({
    type: 'system',
    subtype: 'task_notification',
    task_id: task,
    status: 'completed',
    summary: `task ${task}`,
  });
  all
    .last()
    .say(
      l.assistant([
        l.use('a', 'Agent', { description: 'x', prompt: 'look', run_in_background: false }),
        l.use('b', 'Agent', { description: 'y', prompt: 'look', run_in_background: true }),
        l.use('c', 'Agent', { description: 'z', prompt: 'look' }),
        l.use('d', 'Agent', { description: 'z', prompt: 'look' }),
        l.use('e', 'Bash', { command: 'npm test' }),
        l.use('f', 'Bash', { command: 'npm start', run_in_background: true }),
      ]),
      started('A', 'a'),
      started('E', 'e'),
      started('F', 'f'),
      over('E'),
      started('B', 'b'),
      started('C', 'c'),
      started('D', 'd'),
      over('C'),
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => l.toolResult(id, 'done')),
      over('A'),
      over('B'),
      over('D'),
    );
  await all.settle();
  assert.deepEqual(all.notices(), ['In the background: task F', 'Done in the background: task D']);
});

/** A sub-agent in the background, as Claude Code tells of it: what it does comes when the turn is over. */
async function inBackground(t: TestContext): Promise<Desk> {
  const all = await talking(t, { command: 'claude', files: {} });
  all
    .last()
    .say(
      l.assistant([l.use('a', 'Agent', { description: 'Look at back', prompt: 'look', run_in_background: true })]),
      { type: 'system', subtype: 'task_started', task_id: 'T', tool_use_id: 'a', description: 'Look at back' },
      l.toolResult('a', 'Async agent launched successfully. (internal metadata)', false, { tool_use_result: { isAsync: true } }),
      l.assistant([{ type: 'text', text: 'The helper runs.' }]),
      l.result(),
    );
  await all.settle();
  return all;
}
const under = (id: string, content: object) =>
  l.assistant([content], { parent_tool_use_id: id, message: { id: 'sub', content: [content] } });
const reported = (summary: string, status = 'completed') => ({
  type: 'system',
  subtype: 'task_notification',
  task_id: 'T',
  tool_use_id: 'a',
  status,
  summary,
});
const belowA = (all: Desk) =>
  all.turn(0).parts.flatMap((part) => (part.parent === 'a' ? [part.kind === 'text' ? part.text : part.kind] : []));

test('a sub-agent in the background stands under its card after the turn, whoever speaks meanwhile, and its report comes once', async (t) => {
  const all = await inBackground(t);
  assert.deepEqual([all.turn().status, call(all.turn(), 'a').status, call(all.turn(), 'a').output], ['done', 'running', []]);
  assert.deepEqual(all.now().background, [{ id: 'T', text: 'Look at back' }]);
  all.last().say(under('a', { type: 'text', text: 'Reading.' }), under('a', l.use('r', 'Read', { file_path: '/w/a' })));
  await all.settle();
  assert.equal(all.now().turns.length, 1, 'nobody else speaks');
  await all.prompt('meanwhile');
  all.last().say(l.toolResult('r', 'text', false, { parent_tool_use_id: 'a' }), under('a', { type: 'text', text: 'I read **it**.' }));
  all.last().say(l.assistant([{ type: 'text', text: 'Yes?' }]), l.result());
  await all.settle();
  assert.equal(textOf(all.turn(1)), 'Yes?');
  assert.equal(call(all.turn(0), 'r').status, 'done');
  all.last().say(reported('I read **it**.'));
  await all.settle();
  assert.deepEqual(belowA(all), ['Reading.', 'call', 'I read **it**.']);
  assert.deepEqual([call(all.turn(0), 'a').status, all.now().background, all.notices()], ['done', [], []]);
  all
    .last()
    .say(
      l.init(),
      l.assistant([{ type: 'text', text: 'It is read.' }], { message: { id: 'm9', content: [{ type: 'text', text: 'It is read.' }] } }),
    );
  all.last().say(l.result());
  await all.settle();
  assert.deepEqual([all.now().turns.length, textOf(all.turn())], [3, 'It is read.']);
});

test('that a sub-agent was stopped is no prompt for it', async (t) => {
  const all = await inBackground(t);
  await all.prompt('more');
  const stopped = (content: unknown) => ({ ...l.toolResult('', ''), parent_tool_use_id: 'a', message: { role: 'user', content } });
  const words = '[Request interrupted by user for tool use]';
  all.last().say(under('a', l.use('r', 'Bash', { command: 'ls' })), stopped([{ type: 'text', text: words }]), stopped(words));
  await all.settle();
  assert.ok(all.now().turns.every((turn) => turn.parts.every((part) => part.kind !== 'prompt')));
  assert.ok(!JSON.stringify(all.now()).includes('Request interrupted'));
});

test('what a sub-agent in the background asks outlives the turn of the agent, and its card shows the answer', async (t) => {
  const all = await inBackground(t);
  await all.prompt('meanwhile');
  const wanted = { file_path: '/w/back.txt', content: 'back\n' };
  all.last().say(under('a', l.use('w', 'Write', wanted)), l.permission('R', 'w', 'Write', wanted));
  await all.until(() => all.now().asks.length > 0);
  all.last().say(l.assistant([{ type: 'text', text: 'Yes?' }]), l.result());
  await all.settle();
  assert.deepEqual([all.turn(1).status, all.approval().callId, call(all.turn(0), 'w').status], ['done', 'w', 'waiting']);
  await all.answer(all.approval(), 'allow');
  await all.until(() => all.last().answerTo('R').length > 0);
  assert.equal(Object(Object(all.last().answerTo('R')[0]?.response).response).behavior, 'allow');
  assert.equal(call(all.turn(0), 'w').status, 'running');
  all.last().say(l.toolResult('w', 'File created', false, { parent_tool_use_id: 'a' }), reported('Wrote it.'));
  await all.settle();
  assert.deepEqual([call(all.turn(0), 'w').status, call(all.turn(0), 'a').status], ['done', 'done']);
  assert.deepEqual(belowA(all), ['call', 'Wrote it.'], 'a report that was not said yet is');
});

test('a sub-agent in the background ends with the agent, and what it waits for too', async (t) => {
  const all = await inBackground(t);
  all.last().say(under('a', l.use('w', 'Bash', { command: 'ls' })), l.permission('R', 'w', 'Bash', { command: 'ls' }));
  await all.settle();
  assert.equal(all.now().asks.length, 1);
  all.last().exit({ code: 1 });
  await all.settle();
  assert.deepEqual([call(all.turn(0), 'a').status, call(all.turn(0), 'w').status], ['cancelled', 'cancelled']);
  assert.deepEqual([all.now().asks, all.now().background ?? []], [[], []]);
});

test('a sub-agent whose call names itself or a circle as its parent ends nothing and hangs nothing', async (t) => {
  const all = await inBackground(t);
  all
    .last()
    .say(under('y', l.use('x', 'Read', {})), under('x', l.use('y', 'Read', {})), under('z', l.use('z', 'Read', {})), reported('Done.'));
  await all.settle();
  assert.equal(call(all.turn(0), 'a').status, 'done');
});

test('Claude Code says of a command nobody was asked about that it runs: it is no longer shown as pending, and never runs again', async (t) => {
  const all = await talking(t, { command: 'claude' });
  const heartbeat = (id: string) => ({ type: 'tool_progress', tool_use_id: `${id}-heartbeat-0`, parent_tool_use_id: id, session_id: 'S' });
  all.last().say(l.assistant([l.use('a', 'Bash', { command: 'x' }), l.use('b', 'Bash', { command: 'y' })]));
  await all.settle();
  assert.deepEqual([call(all.turn(), 'a').status, call(all.turn(), 'b').status], ['pending', 'pending']);
  all.last().say({ type: 'system', subtype: 'task_started', task_id: 'A', tool_use_id: 'a', description: 'x' }, heartbeat('b'));
  await all.settle();
  assert.deepEqual([call(all.turn(), 'a').status, call(all.turn(), 'b').status], ['running', 'running']);
  all.last().say(l.toolResult('b', 'done'), heartbeat('b'));
  await all.settle();
  assert.deepEqual([call(all.turn(), 'b').status, all.notices()], ['done', []]);
});

test('what a hook refused is rejected, and the hook and its reason are named once', async (t) => {
  const all = await talking(t, { command: 'claude' });
  const decision = { id: 'c', non_execution_kind: 'permission-rule', permission_decision: { decision: 'reject', source: 'hook' } };
  all.last().say(
    l.assistant([l.use('c', 'Bash', { command: 'ls' })]),
    l.toolResult('c', 'PreToolUse:Bash hook error: [echo "hook says no" >&2; exit 2]: hook says no\n', true, {
      tool_result_meta: [decision],
    }),
    l.result({ permission_denials: [{ tool_name: 'Bash', tool_use_id: 'c' }] }),
  );
  await all.settle();
  assert.equal(call(all.turn(), 'c').status, 'rejected');
  assert.deepEqual(all.notices(), ['A hook refused Bash: hook says no']);
});

test('what the agent itself says it refused is told once, and is no step of the call', async (t) => {
  const all = await talking(t, { command: 'claude' });
  all.last().say(
    l.assistant([l.use('c', 'Write', { file_path: '/w/a', content: '' })]),
    {
      type: 'system',
      subtype: 'permission_denied',
      tool_name: 'Write',
      tool_use_id: 'c',
      message: 'Writing is not allowed in this mode.',
    },
    l.toolResult('c', 'Permission to use Write has been denied.', true),
    l.result({ permission_denials: [{ tool_name: 'Write', tool_use_id: 'c' }] }),
  );
  await all.settle();
  assert.deepEqual(all.notices(), ['Writing is not allowed in this mode.']);
  assert.ok(all.turn().parts.every((part) => part.parent === undefined));
});

test('what went wrong with a call is said once, without the marks for the model', async (t) => {
  const all = await talking(t, { command: 'claude' });
  const printed = 'Exit code 1\none\ntwo';
  all
    .last()
    .say(
      l.assistant([l.use('c', 'Edit', { file_path: '/w/a' }), l.use('d', 'Bash', { command: 'x' })]),
      l.toolResult('c', '<tool_use_error>String to replace not found.</tool_use_error>', true),
      l.toolResult('d', printed, true),
    );
  await all.settle();
  const { status, error, output } = call(all.turn(), 'c');
  assert.deepEqual([status, error?.message, output], ['failed', 'String to replace not found.', []]);
  assert.deepEqual(
    [call(all.turn(), 'd').error?.message, call(all.turn(), 'd').output],
    ['Exit code 1', [{ kind: 'content', content: { type: 'text', text: printed } }]],
  );
});

test('a call that has no result when its turn ends well was not cancelled', async (t) => {
  const all = await talking(t, { command: 'claude' });
  all
    .last()
    .say(
      l.assistant([l.use('c', 'Bash', { command: 'x' }), l.use('d', 'Bash', { command: 'y' })]),
      l.permission('p', 'c', 'Bash', { command: 'x' }),
    );
  await all.settle();
  await all.answer(all.approval(), 'allow');
  all.last().say(l.result());
  await all.settle();
  assert.equal(call(all.turn(), 'c').status, 'ended');
  assert.equal(call(all.turn(), 'd').status, 'ended');
});

test('what was used and what it cost starts over with the conversation, although the agent counts on', async (t) => {
  const all = await talking(t, { command: 'claude' });
  const total = (cost: number, tokens: number, session: string) => ({
    ...l.result({ modelUsage: { m: { inputTokens: tokens, outputTokens: tokens, contextWindow: 1000 } }, total_cost_usd: cost }),
    session_id: session,
  });
  all.last().say(total(0.5, 10, 'S'));
  await all.settle();
  await all.prompt('/clear');
  all.last().say({ type: 'conversation_reset', session_id: 'S' }, { ...l.init(), session_id: 'NEW' }, total(0.5, 10, 'NEW'));
  await all.settle();
  assert.equal(all.now().usage, undefined);
  await all.prompt('next');
  all.last().say(total(0.75, 14, 'NEW'));
  await all.settle();
  assert.deepEqual(all.now().usage, { input: 4, output: 4, size: 1000, cost: { amount: 0.25, currency: 'USD' } });
  await all.prompt('next');
  all.last().say(total(0.125, 3, 'NEW'));
  await all.settle();
  assert.deepEqual(all.now().usage?.cost?.amount, 0.125, 'an agent that counts anew is believed');
});

test('that the model failed stands there while it is waited for', async (t) => {
  const all = await talking(t, { command: 'claude' });
  all.last().say({ type: 'system', subtype: 'api_retry', session_id: 'S' });
  await all.settle();
  await all.tick(30_000);
  assert.equal(all.turn().activity, 'The model failed; trying again — still waiting for the model (30 s)');
  all.last().say(l.roundStart());
  await all.tick(15_000);
  assert.equal(all.turn().activity, 'Still waiting for the model (15 s)');
});
