import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, type Desk, desk, textOf } from './desk.ts';
import { display, flat, speaker, talking } from './envelopeDesk.ts';

test('messages and chunks of the same script come to the same', async (t) => {
  const seen: unknown[] = [];
  for (const format of ['stream-json', 'stream-chunk-json'] as const) {
    await t.test(format, async (t) => {
      const all = await talking(t, format);
      const { say, text, end, note, usage } = speaker(format);
      const tool = { index: 0, id: 'c1', type: 'function', function: { name: 'edit_file', arguments: '{"path":"a.txt"}' } };
      all
        .last()
        .say(
          note({ type: 'x-qwen-thought', subject: 'Look', description: 'around' }),
          text('I will edit.'),
          say({ tool_calls: [tool] }, 'tool_calls'),
          note(display('c1', 'Executing', null, { timestamp: 1 })),
          note(
            display('c1', 'Success', { kind: 'file_diff', file_name: 'a.txt', diff: '', original: 'x', modified: 'y' }, { timestamp: 2 }),
          ),
          text('Done.'),
          end('stop'),
          usage,
        );
      await all.tick(700);
      assert.equal(all.turn().status, 'done');
      seen.push(
        all
          .turn()
          .parts.map((part) =>
            part.kind === 'call'
              ? [part.id, part.call.status, part.call.title, part.call.output]
              : part.kind === 'text' || part.kind === 'thought'
                ? [part.kind, part.text]
                : part.kind,
          ),
        all.now().usage,
      );
    });
  }
  assert.deepEqual(seen.slice(0, 2), seen.slice(2));
  assert.deepEqual(seen[0], [
    ['thought', '**Look**\n\naround'],
    ['text', 'I will edit.'],
    ['c1', 'done', 'Edit a.txt', [{ kind: 'diff', diff: { path: '/w/a.txt', before: 'x', after: 'y' } }]],
    ['text', 'Done.'],
  ]);
});

test('a chat request: the session that was told, a prompt id that counts, the dialect has no type', async (t) => {
  const all = await talking(t);
  const [request] = all.last().prompts();
  assert.deepEqual(request, {
    session_id: 'E',
    prompt_id: 'E########1',
    input: { origin: 'user', parts: [{ type: 'text', text: 'go' }], command: null },
  });
});

test('a chat request carries what the profile says of the model, sampling and tools', async (t) => {
  const all = await talking(t, 'stream-json', { options: { model: 'coder', temperature: '0', tools: 'EditTool' } });
  const { model, options } = all.last().prompts()[0] ?? {};
  assert.deepEqual([model, options], ['coder', { temperature: 0, tool_overrides: ['EditTool'] }]);
});

test('without a handshake the first session is "_new"', async (t) => {
  const all = desk(t, { options: { dialect: 'envelope' } });
  await all.start();
  await all.tick(2_000);
  await all.prompt('go with @src/a.ts');
  const [request] = all.last().prompts();
  assert.equal(request?.session_id, '_new');
  assert.deepEqual(Object(request?.input).command, { kind: 'at', references: [{ original: '@src/a.ts', resolved: 'src/a.ts' }] });
});

test('calls in pieces, two at once by index', async (t) => {
  const all = await talking(t, 'stream-chunk-json');
  const piece = (index: number, more: object) => speaker('stream-chunk-json').say({ tool_calls: [{ index, ...more }] }, null);
  all
    .last()
    .say(
      piece(0, { id: 'a', function: { name: 'read_file', arguments: '{"path":' } }),
      piece(1, { id: 'b', function: { name: 'read_file', arguments: '{"path":"b' } }),
      piece(0, { function: { arguments: '"a.txt"}' } }),
      piece(1, { function: { arguments: '.txt"}' } }),
      speaker('stream-chunk-json').end('tool_calls'),
    );
  await all.settle();
  assert.deepEqual([call(all.turn(), 'a').title, call(all.turn(), 'b').title], ['Read a.txt', 'Read b.txt']);
  await all.tick(5_000);
  assert.equal(all.turn().status, 'running');
});

test('annotations in all four places', async (t) => {
  const all = await talking(t);
  const note = (words: string) => ({ type: 'x-qwen-session-event', event: 'Other', message: words });
  all
    .last()
    .say(
      { object: 'chat.completion.chunk', choices: [{ delta: { annotations: [note('one')] } }] },
      { object: 'chat.completion', choices: [{ message: { annotations: [note('two')] } }] },
      { object: 'chat.completion', choices: [{ annotations: [note('three')] }] },
      { ...note('four'), session_id: 'E' },
    );
  await all.settle();
  assert.deepEqual(all.notices(), ['one', 'two', 'three', 'four']);
});

test('terminal notes: both spellings of spans and of codes, foreign sequences dropped, debug only logged', async (t) => {
  const all = await talking(t);
  const terminal = (more: object) => ({ type: 'x-qwen-terminal', channel: 'stdout', source: 'tool', ...more });
  all.last().say(
    terminal({ text: 'green', spans: [{ start: 0, end: 99, style: { theme_token: 'AccentGreen' } }] }),
    terminal({ text: 'red x', spans: [{ start_index: 0, end_index: 3, style: { theme_token: 'AccentRed', bold: true } }] }),
    terminal({
      text: 'blue',
      ansi: [
        { offset: 0, code: '\u001b[34m' },
        { offset: 2, sequence: '\u001b[2J' },
      ],
    }),
    terminal({ text: 'a\u001b]8;;http://x\u0007b\u001b[2Jc' }),
    terminal({ text: 'no', log_scope: 'debug' }),
    terminal({ channel: 'stderr', source: 'console', console_level: 'warn', text: 'careful' }),
    terminal({ text: 'said', log_scope: 'system' }),
    terminal({ source: 'system', exit_code: 3 }),
  );
  await all.settle();
  const [shown] = all.now().terminals;
  assert.equal(
    shown?.tail,
    '\u001b[32mgreen\u001b[0m\u001b[0m\u001b[31;1mred\u001b[0m x\u001b[0m\u001b[34mblue\u001b[0mabc\u001b[90mwarn:\u001b[0m \u001b[31mcareful\u001b[0m\u001b[90msystem:\u001b[0m said',
  );
  assert.match(all.notices().join(), /ends with exit code 3/);
  assert.deepEqual(
    all.logged.filter((line) => line.includes('no')),
    [],
    'what is for debugging goes to the finest level of the log',
  );
  all.last().say({ type: 'x-qwen-session-event', event: 'Finished' });
  await all.settle();
  assert.ok(all.now().terminals[0]?.exit);
});

test('a note of bare terminal text is shown in its colours, and nothing twice', async (t) => {
  const all = await talking(t);
  const ansi = (value: unknown) => ({ type: 'x-qwen-ansi', value });
  all
    .last()
    .say(
      { object: 'chat.completion.chunk', choices: [{ delta: { content: 'said', annotations: [ansi('\u001b[31msaid\u001b[0m')] } }] },
      { object: 'chat.completion.chunk', choices: [{ delta: { annotations: [ansi('\u001b[32mok\u001b[0m\u001b[2J'), ansi(5)] } }] },
    );
  await all.settle();
  assert.deepEqual([textOf(all.turn()), all.now().terminals.map(({ tail }) => tail)], ['said', ['\u001b[32mok\u001b[0m']]);
});

test('approvals: flat and nested requests, arguments as object and as text, the verb is approve', async (t) => {
  const all = await talking(t);
  all.last().say(flat('r1', 'run_shell_command', { command: 'npm test' }), {
    type: 'control_request',
    request_id: 'r2',
    request: { subtype: 'can_use_tool', tool: { name: 'run_shell_command', arguments: '{"command":"ls"}' } },
  });
  await all.settle();
  assert.deepEqual(
    all.now().asks.map((ask) => ask.kind === 'approval' && ask.detail),
    [
      { type: 'command', command: 'npm test' },
      { type: 'command', command: 'ls' },
    ],
  );
  await all.answer(all.approval(0), 'allow');
  await all.answer(all.approval(0), 'reject', { feedback: 'no' });
  assert.deepEqual(all.last().answerTo('r1'), [
    { type: 'control_response', request_id: 'r1', response: { subtype: 'success', result: { behavior: 'approve', message: '' } } },
  ]);
  assert.deepEqual(all.last().answerTo('r2'), [
    { type: 'control_response', request_id: 'r2', response: { subtype: 'success', result: { behavior: 'deny', message: 'no' } } },
  ]);
});

test('other requests: hooks are answered, confirmations asked, unknown ones refused', async (t) => {
  const all = await talking(t);
  const request = (id: string, subtype: string, more: object = {}) => ({ type: 'control_request', request_id: id, subtype, ...more });
  all
    .last()
    .say(
      request('h', 'hook_callback'),
      request('u', 'dance'),
      request('s', 'confirm_shell_commands', { commands: ['rm -rf x'] }),
      request('t', 'can_use_tool', { tool: 7 }),
    );
  await all.settle();
  const result = (id: string) => Object(all.last().answerTo(id)[0]?.response);
  assert.deepEqual(result('h'), { subtype: 'success', result: {} });
  assert.deepEqual([result('u').subtype, result('t').subtype], ['error', 'error']);
  await all.answer(all.approval(), 'yes');
  assert.deepEqual(result('s').result, { behavior: 'approve', approvedCommands: ['rm -rf x'] });
});

test('an end that is not one: stop and usage in the middle, the turn goes on until it is quiet', async (t) => {
  const all = await talking(t);
  const { text, say } = speaker('stream-json');
  all.last().say(text('Analysing', 'stop'));
  await all.tick(500);
  all.last().say(say({ tool_calls: [{ id: 'c', function: { name: 'x', arguments: '{}' } }] }, 'tool_calls'));
  await all.tick(5_000);
  assert.equal(all.turn().status, 'running');
  all.last().say(text('Done', 'stop'));
  await all.tick(599);
  assert.equal(all.turn().status, 'running');
  await all.tick(1);
  assert.deepEqual([all.turn().status, call(all.turn(), 'c').status], ['done', 'ended']);
});

test('a call that was shown as running keeps the turn open after a stop', async (t) => {
  const all = await talking(t);
  all.last().say(display('x', 'Executing', null), speaker('stream-json').text('Running', 'stop'));
  await all.tick(10_000);
  assert.equal(all.turn().status, 'running');
  all.last().say(display('x', 'Success', 'ok'));
  await all.tick(600);
  assert.equal(all.turn().status, 'done');
});

test('Stop: cancel names the prompt; ok ends the turn and its approvals, noop too when we thought something ran', async (t) => {
  for (const status of ['ok', 'noop']) {
    await t.test(status, async (t) => {
      const all = await talking(t);
      all.last().say(flat('r', 'edit_file', {}));
      await all.settle();
      await all.cancel();
      const cancel = all.last().told.find((line) => line.type === 'control/cancel');
      assert.deepEqual(cancel, { type: 'control/cancel', session_id: 'E', prompt_id: 'E########1', reason: 'escape' });
      assert.deepEqual(all.now().asks, []);
      assert.deepEqual(all.last().answerTo('r'), [], 'what the cancel settled is not answered');
      all.last().say({ type: 'result/cancel', session_id: 'E', status }, { type: 'control_response', request_id: 'x', response: {} });
      await all.settle();
      assert.equal(all.turn().status, 'cancelled');
      await all.prompt('next');
      assert.equal(all.last().prompts().at(-1)?.prompt_id, 'E########2');
    });
  }
});

test('Stop: what the agent says of an answer to what it cancelled is no news to the user, whenever it comes', async (t) => {
  const { receipt } = speaker('stream-json');
  const lost = (id: string) => receipt({ control_errors: [{ request_id: id, message: 'No such request is open.' }] });
  let answer = (_: unknown) => {};
  const run = () => new Promise<never>((_, reject) => (answer = reject));
  const slow = { name: 'slow', description: '', parameters: {}, run };
  const all = await talking(t, 'stream-json', { tools: [slow] });
  const called = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow', arguments: {} } };
  all.last().say(flat('r', 'edit_file', {}), { type: 'control_request', request_id: 'm', subtype: 'mcp_message', message: called });
  all.last().say({ type: 'control_request', request_id: 'y', subtype: 'confirm_action', prompt: 'Sure?' });
  await all.settle();
  await all.cancel();
  answer(new Error('stopped'));
  all.last().say({ type: 'result/cancel', session_id: 'E', status: 'ok' }, lost('r'), lost('m'));
  await all.settle();
  await all.prompt('next');
  all.last().say(lost('y'));
  await all.settle();
  assert.deepEqual([all.last().answerTo('r'), all.last().answerTo('y')], [[], []]);
  assert.doesNotMatch(all.notices().join(), /could not use/);
  all.last().say(lost('never-asked'));
  await all.settle();
  assert.match(all.notices().join(), /could not use an answer: No such request/, 'another one is told');
});

test('Stop without an answer: it is said after five seconds; the second one starts the agent anew on the same conversation', async (t) => {
  const all = await talking(t);
  await all.cancel();
  await all.tick(5_000);
  assert.match(all.notices().join(), /does not stop/);
  await all.cancel();
  await all.tick(1_000);
  assert.equal(all.processes.length, 2);
  assert.equal(all.turn().status, 'cancelled');
  all.last().say(speaker('stream-json').receipt());
  await all.prompt('again');
  assert.equal(all.last().prompts()[0]?.session_id, 'E');
});

test('a noop nobody asked for changes nothing', async (t) => {
  const all = await talking(t);
  all.last().say({ type: 'result/cancel', session_id: 'E', prompt_id: 'other', status: 'noop' });
  await all.settle();
  assert.equal(all.turn().status, 'running');
});

test('hints: loading then found; the newest request wins; an error says why; silence and a cancel give nothing', async (t) => {
  const all = await talking(t);
  const asked = () =>
    all
      .last()
      .told.filter((line) => line.type === 'command_hint_request')
      .at(-1);
  const reply = (id: unknown, more: object) => ({ type: 'result/command_hint', session_id: 'E', prompt_id: id, trigger: 'slash', ...more });
  const suggestions = [{ label: 'chat', value: 'chat', description: 'Talk' }];
  const first = all.live.hints('/c', 2);
  assert.deepEqual([asked()?.text, asked()?.cursor, asked()?.trigger], ['/c', 2, 'slash']);
  all.last().say(reply(asked()?.prompt_id, { status: 'loading' }), reply(asked()?.prompt_id, { status: 'ok', suggestions }));
  assert.deepEqual(await first, [{ label: 'chat', value: '/chat ', description: 'Talk' }]);
  const old = all.live.hints('/c', 2);
  const oldId = asked()?.prompt_id;
  const newer = all.live.hints('/ch', 3);
  assert.deepEqual(await old, []);
  assert.ok(all.last().told.some((line) => line.type === 'command_hint_cancel' && line.prompt_id === oldId));
  all.last().say(reply(oldId, { status: 'ok', suggestions: [{ label: 'old', value: 'old' }] }));
  all.last().say(reply('E########preview', { status: 'ok', suggestions }));
  assert.equal((await newer)[0]?.value, '/chat ');
  const failing = all.live.hints('/x', 2);
  all.last().say(reply(asked()?.prompt_id, { status: 'error', message: 'no' }));
  await assert.rejects(failing, /^Error: no$/);
  const inFolder = all.live.hints('see @sr', 7);
  all.last().say({ ...reply(asked()?.prompt_id, { status: 'ok', suggestions: [{ label: 'src/', value: 'src/' }] }), trigger: 'at' });
  assert.equal((await inFolder)[0]?.value, 'see @src/');
  const silent = all.live.hints('@a', 2);
  await all.tick(10_000);
  assert.deepEqual(await silent, []);
  const closed = all.live.hints('@b', 2);
  const closedId = asked()?.prompt_id;
  assert.deepEqual(await all.live.hints('', 0), []);
  assert.ok(all.last().told.some((line) => line.type === 'command_hint_cancel' && line.prompt_id === closedId));
  assert.deepEqual(await closed, []);
  const help = all.live.hints('?', 1);
  assert.deepEqual([asked()?.trigger, asked()?.text], ['slash', '?']);
  all.last().say(reply(asked()?.prompt_id, { status: 'ok', suggestions: [{ label: 'help', value: 'help' }] }));
  assert.equal((await help)[0]?.value, '?help ');
  assert.deepEqual(await all.live.hints('plain text', 5), []);
  assert.equal(all.turn().status, 'running');
});

test('every kind of command result', async (t) => {
  const kinds: readonly (readonly [object, (all: Desk) => void])[] = [
    [{ type: 'handled' }, (all) => assert.equal(all.turn().status, 'done')],
    [
      { type: 'message', level: 'error', content: 'Bad' },
      (all) => assert.deepEqual([all.notices().at(-1), all.turn().status], ['Bad', 'done']),
    ],
    [
      { type: 'message', level: 'info', content: '- `/help`' },
      (all) => assert.deepEqual([textOf(all.turn()), all.notices(), all.turn().status], ['- `/help`', [], 'done'], 'Markdown'),
    ],
    [{ type: 'dialog', dialog: 'help' }, (all) => assert.match(all.notices().at(-1) ?? '', /Type \//)],
    [{ type: 'dialog', dialog: 'brand_new' }, (all) => assert.match(all.notices().at(-1) ?? '', /brand_new/)],
    [
      { type: 'tool', toolName: 'read_file', toolArgs: { path: 'a' } },
      (all) =>
        assert.equal(
          all.turn().parts.some((part) => part.kind === 'call'),
          true,
        ),
    ],
    [{ type: 'quit' }, (all) => assert.match(all.approval().title, /End this session/)],
    [{ type: 'confirm_shell_commands', commandsToConfirm: ['ls'] }, (all) => assert.equal(all.approval().detail.type, 'command')],
    [{ type: 'confirm_action', prompt: 'Really?' }, (all) => assert.deepEqual(all.approval().detail, { type: 'text', text: 'Really?' })],
    [{ type: 'unheard_of', a: 1 }, (all) => assert.match(all.notices().at(-1) ?? '', /unheard_of/)],
  ];
  for (const [result, check] of kinds) {
    await t.test(JSON.stringify(result), async (t) => {
      const all = await talking(t);
      all.last().say({ type: 'result/command', session_id: 'E', command: { kind: 'slash', path: ['x'], args: '' }, result });
      await all.tick(700);
      check(all);
    });
  }
});

test('a conversation that a command loads takes the place of what was shown, and what waits is sent after it', async (t) => {
  const all = await talking(t);
  all.last().say(display('z', 'Success', { kind: 'todo_list', todos: [{ id: '1', content: 'a', status: 'pending' }] }));
  all.live.send({ type: 'prompt', turnId: 'queued', content: [{ type: 'text', text: 'later' }] });
  const history = [
    { type: 'user', text: 'first' },
    { type: 'gemini', text: 'One ' },
    { type: 'tool_group', tools: [{ name: 'edit', description: 'a.txt', status: 'Success', resultDisplay: 'done it' }, 'junk'] },
    { type: 'gemini_content', text: 'and two.' },
    { role: 'user', content: 'second' },
    { type: 'error', text: 'It failed.' },
    { role: 'assistant', content: [{ type: 'text', text: 'Sorry.' }] },
    { type: 'about', version: '1' },
    null,
  ];
  all.last().say({
    type: 'result/command',
    session_id: 'E',
    command: { kind: 'slash', path: ['chat', 'resume'], args: 'x' },
    result: { type: 'load_history', history },
  });
  await all.settle();
  const { turns, link } = all.now();
  assert.deepEqual(
    turns.map((turn) => [
      JSON.stringify(turn.prompt).match(/"text":"(\w+)"/)?.[1],
      turn.status,
      turn.parts.map((part) => part.kind).join(),
    ]),
    [
      ['first', 'done', 'text,call,text'],
      ['second', 'done', 'notice,text,notice'],
      ['later', 'running', ''],
    ],
  );
  assert.equal(link.state, 'ready');
  assert.deepEqual([all.now().queue, all.now().plan ?? null], [[], null]);
});

test('a command is sent by its path; what has to be confirmed is sent again with the yes', async (t) => {
  const all = desk(t, { options: { dialect: 'envelope' } });
  await all.start();
  all.last().say(speaker('stream-json').receipt());
  await all.settle();
  const id = all.last().told.find((line) => line.type === 'command_hint_request')?.prompt_id;
  all
    .last()
    .say({ type: 'result/command_hint', prompt_id: id, trigger: 'slash', status: 'ok', suggestions: [{ label: 'chat', value: 'chat' }] });
  await all.settle();
  await all.prompt('/chat list all');
  const command = { kind: 'slash', path: ['chat'], args: 'list all' };
  assert.deepEqual(Object(all.last().prompts()[0]?.input).command, command);
  all.last().say({ type: 'result/command', session_id: 'E', command, result: { type: 'confirm_shell_commands', commands: ['ls'] } });
  await all.settle();
  await all.answer(all.approval(), 'yes');
  assert.deepEqual(Object(all.last().prompts()[1]?.input).command, { ...command, approvedCommands: ['ls'] });
});

test('quit is asked about: no stays, yes ends the session and the turn is not called stopped', async (t) => {
  for (const type of ['quit', 'quit_confirmation']) {
    await t.test(type, async (t) => {
      const all = await talking(t);
      const quit = { type: 'result/command', session_id: 'E', command: { kind: 'slash', path: ['quit'], args: '' }, result: { type } };
      all.last().say(quit);
      await all.settle();
      await all.answer(all.approval(), 'no');
      await all.tick(700);
      assert.deepEqual([all.now().link.state, all.turn().status], ['ready', 'done']);
      await all.prompt('/quit');
      all.live.send({ type: 'prompt', turnId: 'queued', content: [{ type: 'text', text: 'later' }] });
      all.last().say(quit);
      await all.settle();
      await all.answer(all.approval(), 'yes');
      const { link } = all.now();
      assert.deepEqual([link.state === 'closed' && link.reason, all.turn().status], ['The session was ended.', 'done']);
      assert.ok(all.last().ended);
      assert.deepEqual(all.now().queue.length, 1, 'what waits is not sent to an agent that ends');
      assert.ok(!all.last().told.some((line) => line.type === 'control/cancel'));
    });
  }
});

test('what a command wants confirmed: a yes says how, a no sends nothing and ends the turn', async (t) => {
  const all = await talking(t);
  const command = { kind: 'slash', path: ['clean'], args: '' };
  const confirm = { type: 'result/command', session_id: 'E', command, result: { type: 'confirm_action', prompt: 'Really?' } };
  all.last().say(confirm);
  await all.settle();
  await all.answer(all.approval(), 'yes');
  assert.deepEqual(Object(all.last().prompts().at(-1)?.input).command, { ...command, confirmationOutcome: 'proceed_once' });
  const sent = all.last().prompts().length;
  all.last().say(confirm);
  await all.settle();
  await all.answer(all.approval(), 'no');
  await all.tick(700);
  assert.deepEqual([all.last().prompts().length, all.turn().status], [sent, 'done']);
});

test('a submitted prompt that does not begin by itself is sent on', async (t) => {
  const all = await talking(t);
  const parts = [{ type: 'text', text: 'do it' }];
  all.last().say({ type: 'result/command', session_id: 'E', prompt_id: 'P', result: { type: 'submit_prompt', content: parts } });
  await all.tick(2_000);
  const request = all.last().prompts().at(-1);
  assert.deepEqual([request?.continuation, request?.prompt_id, Object(request?.input).parts], [true, 'P', parts]);
});

test('our own tools as ordinary calls are answered with a continuation; calls of other names are not ours', async (t) => {
  const tool = { name: 'open_in_ide', description: '', parameters: { type: 'object' }, run: async () => ({ ok: true, text: 'opened' }) };
  const all = await talking(t, 'stream-json', { tools: [tool] });
  const asked = (id: string, name: string) => ({ id, function: { name, arguments: '{}' } });
  all.last().say(speaker('stream-json').say({ tool_calls: [asked('a', 'ide.open_in_ide'), asked('b', 'read_file')] }, 'tool_calls'));
  await all.settle();
  const answers = all.last().prompts().slice(1);
  assert.deepEqual(answers, [
    {
      session_id: 'E',
      prompt_id: 'E########1',
      tool_call_id: 'a',
      continuation: true,
      input: {
        origin: 'tool_response',
        parts: [{ type: 'function_response', function_response: { name: 'ide.open_in_ide', response: { output: 'opened' } } }],
      },
    },
  ]);
  assert.equal(call(all.turn(), 'a').status, 'done');
});

test('our own tool that fails says why; one that runs when the turn is stopped answers nothing', async (t) => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const base = { description: '', parameters: { type: 'object' } };
  const tools = [
    { ...base, name: 'bad', run: async () => ({ ok: false, text: 'no such file' }) },
    { ...base, name: 'slow', run: () => held.then(() => ({ ok: true, text: 'late' })) },
  ];
  const all = await talking(t, 'stream-json', { tools });
  const asked = (id: string, name: string) =>
    speaker('stream-json').say({ tool_calls: [{ id, function: { name, arguments: '{}' } }] }, 'tool_calls');
  all.last().say(asked('a', 'mcp__ide__bad'));
  await all.settle();
  const [answer] = Object(all.last().prompts()[1]?.input).parts;
  assert.deepEqual(answer.function_response, { name: 'mcp__ide__bad', response: { error: 'no such file' } });
  assert.equal(call(all.turn(), 'a').status, 'failed');
  all.last().say(asked('b', 'slow'));
  await all.settle();
  await all.cancel();
  all.last().say({ type: 'result/cancel', session_id: 'E', status: 'ok' });
  release();
  await all.settle();
  assert.deepEqual([all.last().prompts().length, all.turn().status], [2, 'cancelled']);
});

test('errors: recoverable, failed, cut off, refused replies, fatal, unsupported', async (t) => {
  const { say, text } = speaker('stream-json');
  await t.test('recoverable', async (t) => {
    const all = await talking(t);
    all.last().say(say({ content: 'x' }, 'stop', { metadata: { error: { message: 'busy', retryable: true } } }));
    await all.tick(600);
    const notice = all.turn().parts.flatMap((part) => (part.kind === 'notice' ? [part.notice] : []))[0];
    assert.deepEqual(
      [notice, all.turn().status, all.now().link.state],
      [{ level: 'error', text: 'busy', next: ['retry'] }, 'done', 'ready'],
    );
  });
  await t.test('recoverable, with nothing said', async (t) => {
    const all = await talking(t);
    all.last().say(say({ content: '' }, 'stop', { metadata: { error: { message: 'busy', retryable: true } } }));
    await all.tick(600);
    assert.equal(all.turn().status, 'done');
  });
  await t.test('recoverable, while a tool goes on', async (t) => {
    const all = await talking(t);
    const tool = { id: 'c', function: { name: 'x', arguments: '{}' } };
    all.last().say(say({ tool_calls: [tool] }, 'tool_calls', { metadata: { error: { message: 'slow down' } } }));
    await all.tick(700);
    assert.deepEqual([all.notices(), all.turn().status], [['slow down'], 'running']);
  });
  await t.test('withheld', async (t) => {
    const all = await talking(t);
    all.last().say(text('half', 'content_filter'));
    await all.tick(600);
    assert.match(all.notices().join(), /withheld/);
    assert.equal(all.turn().status, 'done');
  });
  await t.test('failed', async (t) => {
    const all = await talking(t);
    all.last().say(say({}, 'error', { metadata: { error: { message: 'broken', code: 'E1' } } }));
    await all.settle();
    assert.deepEqual([all.turn().status, all.turn().error?.message, all.turn().error?.code], ['failed', 'broken', 'E1']);
  });
  await t.test('cut off', async (t) => {
    const all = await talking(t);
    all.last().say(text('half', 'length'));
    await all.tick(600);
    const notice = all.turn().parts.flatMap((part) => (part.kind === 'notice' ? [part.notice] : []))[0];
    assert.deepEqual(notice?.next, ['continue']);
  });
  await t.test('control errors', async (t) => {
    const all = await talking(t);
    all.last().say(flat('r', 'edit_file', {}));
    await all.settle();
    all.last().say(say({}, null, { metadata: { control_errors: [{ request_id: 'r', message: 'expired' }] } }));
    await all.settle();
    assert.deepEqual(all.now().asks, []);
    assert.match(all.notices().join(), /expired/);
  });
  await t.test('fatal', async (t) => {
    const all = await talking(t);
    all.last().say({ error: { message: 'invalid tool input', type: 'invalid_request_error', param: null, code: 'QWEN_X' } });
    await all.settle();
    const { link } = all.now();
    assert.equal(link.state === 'closed' && link.reason, 'invalid tool input (QWEN_X)');
    assert.deepEqual([all.turn().status, all.processes.length], ['failed', 1]);
  });
  for (const [error, why] of [
    ['unsupported_protocol', 'The agent does not support version 1 of the protocol, the one this program speaks.'],
    [{ code: 'unsupported_protocol' }, 'The agent does not support version 1 of the protocol, the one this program speaks.'],
    [
      { type: 'unsupported_protocol', message: 'Get a newer one.' },
      'The agent does not support version 1 of the protocol, the one this program speaks. Get a newer one.',
    ],
  ] as const) {
    await t.test(`unsupported ${JSON.stringify(error)}`, async (t) => {
      const all = desk(t, { options: { dialect: 'envelope' } });
      await all.start();
      await all.tick(2_000);
      await all.prompt('go');
      all.last().say(say({}, 'error', { metadata: { error } }), { type: 'result/cancel', session_id: 'E', status: 'ok' });
      await all.settle();
      const { link } = all.now();
      assert.equal(link.state === 'closed' && link.reason, why);
      assert.deepEqual([all.turn().status, all.turn().error?.message, all.processes.length], ['failed', why, 1], 'nobody stopped it');
    });
  }
  await t.test('unsupported, by an agent that said its version', async (t) => {
    const all = await talking(t);
    all.last().say(say({}, 'error', { metadata: { error: 'unsupported_protocol' } }));
    await all.settle();
    assert.match(all.turn().error?.message ?? '', /protocol has version 1, refuses version 1/);
  });
});

test('a version above ours is not talked to; a minor one is', async (t) => {
  for (const [version, state] of [
    [2, 'closed'],
    ['2.1', 'closed'],
    ['1.3', 'ready'],
  ] as const) {
    await t.test(String(version), async (t) => {
      const all = desk(t, { options: { dialect: 'envelope' } });
      await all.start();
      all.last().say(speaker('stream-json').receipt({ protocol_version: version }));
      await all.settle();
      assert.equal(all.now().link.state, state);
    });
  }
});

test('heartbeat: answered, pushed, deaf then restarted with the conversation', async (t) => {
  const all = await talking(t, 'stream-json', { options: { heartbeatSeconds: '5', timeoutSeconds: '10' } });
  const beats = () => all.last().told.filter((line) => line.type === 'heartbeat_request').length;
  const ok = { type: 'result/heartbeat', session_id: 'E', status: 'ok', ts: 1 };
  const before = beats();
  for (let n = 0; n < 6; n += 1) {
    await all.tick(5_000);
    all.last().say(ok);
    await all.settle();
  }
  assert.equal(beats() - before, 6);
  all.last().say(speaker('stream-json').text('half an answer', null));
  for (let n = 0; n < 3; n += 1) await all.tick(5_000);
  assert.match(all.notices().join(), /has not answered for a while/);
  all.live.send({ type: 'prompt', turnId: 'typed', content: [{ type: 'text', text: 'typed meanwhile' }] });
  for (let n = 0; n < 3; n += 1) await all.tick(5_000);
  await all.settle();
  assert.deepEqual([all.turn().status, all.now().link.state], ['failed', 'opening']);
  await all.tick(1_000);
  assert.equal(all.processes.length, 2);
  assert.deepEqual(all.last().spec.args.slice(-2), ['--resume', 'E']);
  all.last().say(ok);
  await all.settle();
  await all.prompt('again');
  assert.equal(all.last().prompts()[0]?.session_id, 'E');
  assert.equal(textOf(all.turn(0)), 'half an answer');
  const { queue, turns } = all.now();
  assert.ok(JSON.stringify([queue, turns]).includes('typed meanwhile'), 'what was typed meanwhile is kept');
  assert.doesNotMatch(all.notices().join(), /has not answered/, 'nobody is offered to restart an agent that is well');
});

test('that the agent is not heard is taken back as soon as it is', async (t) => {
  const all = await talking(t, 'stream-json', { options: { heartbeatSeconds: '5', timeoutSeconds: '10' } });
  const ok = { type: 'result/heartbeat', session_id: 'E', status: 'ok', ts: 1 };
  all.last().say(ok);
  for (let n = 0; n < 3; n += 1) await all.tick(5_000);
  assert.deepEqual(all.notices(), ['The agent has not answered for a while.']);
  all.last().say(ok);
  await all.settle();
  assert.deepEqual(all.notices(), ['The agent answers again.']);
});

test('a peer that knows no heartbeat is left alone', async (t) => {
  const all = await talking(t);
  for (let n = 0; n < 20; n += 1) await all.tick(5_000);
  assert.deepEqual([all.processes.length, all.turn().status], [1, 'running']);
});

test('session events: compressed, cancelled by the agent, limits', async (t) => {
  const all = await talking(t);
  const said = (event: string, more: object = {}) => ({ type: 'x-qwen-session-event', event, ...more });
  all
    .last()
    .say(
      said('ChatCompressed', { metrics: { original_tokens: 12000, compressed_tokens: 8000 } }),
      said('MAX_TOKENS', { message: 'Cut.' }),
      said('Odd'),
    );
  await all.settle();
  assert.deepEqual(all.notices(), ['The conversation was compressed from 12000 to 8000 tokens.', 'Cut.']);
  all.last().say(said('USER_CANCELLED'));
  await all.settle();
  assert.equal(all.turn().status, 'cancelled');
});

test('text that streams in colours is plain in the chat', async (t) => {
  const all = await talking(t, 'stream-chunk-json');
  const { text, end } = speaker('stream-chunk-json');
  all.last().say(text('\u001b[32mgr'), text('een\u001b[0m'), end());
  await all.tick(200);
  assert.deepEqual([textOf(all.turn()), all.turn().status], ['green', 'done']);
});

test('a cancel of an earlier prompt that is confirmed late does not end the next turn', async (t) => {
  const all = await talking(t);
  const { note, text } = speaker('stream-json');
  await all.cancel();
  all.last().say(note({ type: 'x-qwen-session-event', event: 'USER_CANCELLED' }));
  await all.settle();
  const earlier = all.last().prompts()[0]?.prompt_id;
  await all.prompt('next');
  all.last().say({ type: 'result/cancel', session_id: 'E', prompt_id: earlier, status: 'ok' }, text('working'));
  await all.settle();
  assert.deepEqual([all.now().turns.length, all.turn().status, textOf(all.turn())], [2, 'running', 'working']);
  await all.cancel();
  all.last().say({ type: 'result/cancel', session_id: 'E', prompt_id: all.last().prompts()[1]?.prompt_id, status: 'ok' });
  await all.settle();
  assert.equal(all.turn().status, 'cancelled');
});

test('what trickles in after a cancel begins no turn of its own; later the agent may speak by itself', async (t) => {
  const all = await talking(t);
  const { text, note } = speaker('stream-json');
  all.last().say(display('x', 'Executing', null), text('before '));
  await all.cancel();
  all.last().say({ type: 'result/cancel', session_id: 'E', status: 'ok' });
  all.last().say(text('late'), note(display('x', 'Canceled', null)), display('y', 'Pending', null));
  await all.settle();
  assert.deepEqual([all.now().turns.length, all.turn().status, call(all.turn(), 'x').status], [1, 'cancelled', 'cancelled']);
  await all.tick(1_000);
  all.last().say(text('A task in the background is done.'));
  await all.settle();
  assert.deepEqual([all.now().turns.length, textOf(all.turn())], [2, 'A task in the background is done.']);
});

test('a request that cannot be read is refused and logged, whatever its id is', async (t) => {
  const all = await talking(t);
  all
    .last()
    .say({ type: 'control_request', request_id: 'a', request: {} }, { type: 'control_request', request_id: 'b' }, flat('', 'x', {}), {
      type: 'control_request',
      request_id: 7,
      subtype: 'can_use_tool',
    });
  await all.settle();
  const answers = all.last().told.filter((line) => line.type === 'control_response');
  assert.deepEqual(
    answers.map((line) => [line.request_id, Object(line.response).subtype]),
    [
      ['a', 'error'],
      ['b', 'error'],
      [7, 'error'],
    ],
  );
  assert.equal(all.logged.filter((line) => line.includes('could not be read')).length, 4);
  assert.deepEqual(all.now().asks, []);
});

test('a call of which nothing was shown is not said to be done', async (t) => {
  const all = await talking(t, 'stream-json');
  const { say, text, note } = speaker('stream-json');
  const tool = (id: string, index: number) => ({ index, id, type: 'function', function: { name: 'foreign', arguments: '{}' } });
  all
    .last()
    .say(
      say({ tool_calls: [tool('a', 0), tool('b', 1)] }, 'tool_calls'),
      note(display('a', 'Success', 'ok', { timestamp: 1 })),
      text('Done', 'stop'),
    );
  await all.tick(600);
  assert.deepEqual([all.turn().status, call(all.turn(), 'a').status, call(all.turn(), 'b').status], ['done', 'done', 'ended']);
});
