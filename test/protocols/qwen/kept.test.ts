import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { replay } from '../../../src/protocols/qwen/message.ts';
import { conversationIn, pastConversations, recordFolder } from '../../../src/protocols/qwen/record.ts';
import { newSession, reduce } from '../../../src/session/reduce.ts';
import { callsOf } from '../../../src/session/select.ts';
import { harness } from './harness.ts';
import * as l from './lines.ts';

// Conversations that agents keep in files of their own.

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'parley-kept-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
let count = 0;
const line = (type: string, message: object, more: object = {}) => {
  count += 1;
  return {
    uuid: `u${count}`,
    parentUuid: count === 1 ? null : `u${count - 1}`,
    timestamp: '2026-11-21T14:00:00.000Z',
    type,
    message,
    ...more,
  };
};
const person = (text: string, more: object = {}) => line('user', { role: 'user', content: text }, more);
const agent = (...content: object[]) => line('assistant', { id: `m${count}`, content });
const kept = (all: readonly object[]) => `${all.map((one) => JSON.stringify(one)).join('\n')}\nhalf a li`;
const shown = async (base: string, key: string) =>
  replay(await conversationIn(base, key), '/w').reduce(reduce, newSession('s', { protocol: 'qwen', name: '' }, '/w'));

test('a kept conversation of Claude Code: what was said, done and stopped; notes of the agent to itself are left out', async (t) => {
  const base = folder(t);
  count = 0;
  const all = [
    person('fix it'),
    line('attachment', {}),
    agent({ type: 'thinking', thinking: 'hm' }),
    agent({ type: 'text', text: 'Looking.' }, { type: 'tool_use', id: 'c1', name: 'Read', input: { file_path: '/w/a.txt' } }),
    line('user', { content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'text of a' }] }),
    person('a caveat', { isMeta: true }),
    person('<command-name>/context</command-name><command-args>all</command-args>'),
    person('<local-command-stdout>noise</local-command-stdout>'),
    person('go on'),
    agent({ type: 'text', text: 'Going' }),
    person('[Request interrupted by user]'),
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept([{ type: 'summary', summary: 'no line of the conversation' }, ...all]));
  const { turns } = await shown(base, 'k');
  assert.deepEqual(
    turns.map((turn) => [turn.prompt[0]?.type === 'text' && turn.prompt[0].text, turn.status, turn.parts.map((part) => part.kind)]),
    [
      ['fix it', 'done', ['thought', 'text', 'call']],
      ['/context all', 'done', []],
      ['go on', 'cancelled', ['text']],
    ],
  );
  const [call] = turns[0] ? callsOf(turns[0]) : [];
  assert.deepEqual([call?.title, call?.status], ['Read a.txt', 'done']);
});

test('what was gone back from is not shown: the way leads from the last message to the first', async (t) => {
  const base = folder(t);
  count = 0;
  const first = person('one');
  const answer = agent({ type: 'text', text: 'first answer' });
  const all = [first, answer, person('two'), agent({ type: 'text', text: 'taken back' }), { ...person('three'), parentUuid: answer.uuid }];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  assert.deepEqual(
    (await shown(base, 'k')).turns.map((turn) => turn.prompt),
    [[{ type: 'text', text: 'one' }], [{ type: 'text', text: 'three' }]],
  );
});

test('a kept conversation of Qwen Code', async (t) => {
  const base = folder(t);
  count = 0;
  const all = [
    line('user', { role: 'user', parts: [{ text: 'edit it' }] }),
    line('assistant', {
      role: 'model',
      parts: [
        { text: 'hm', thought: true },
        { text: 'Doing.' },
        { functionCall: { id: 'c', name: 'edit', args: { file_path: '/w/a', old_string: 'x', new_string: 'y' } } },
      ],
    }),
    line('tool_result', { role: 'user', parts: [{ functionResponse: { id: 'c', response: { error: 'no such text' } } }] }),
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  const [turn] = (await shown(base, 'k')).turns;
  assert.ok(turn);
  assert.deepEqual(
    turn.parts.map((part) => part.kind),
    ['thought', 'text', 'call'],
  );
  assert.deepEqual(
    callsOf(turn).map((call) => [call.kind, call.status, call.error?.message]),
    [['edit', 'failed', 'no such text']],
  );
});

test('a refused call of a kept conversation is rejected, in the words of either agent; one that was stopped is cancelled', async (t) => {
  const base = folder(t);
  count = 0;
  const words = [
    '[Operation Cancelled] Reason: The user did not allow this.',
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    '[Operation Cancelled] Reason: Request aborted.',
    'No such file',
  ];
  const calls = words.map((_, at) => ({
    type: 'tool_use',
    id: `c${at}`,
    name: 'edit',
    input: { file_path: '/w/a', old_string: 'x', new_string: 'y' },
  }));
  const results = words.map((content, at) => ({ type: 'tool_result', tool_use_id: `c${at}`, is_error: true, content }));
  writeFileSync(
    path.join(base, 'k.jsonl'),
    kept([person('edit it'), line('assistant', { content: calls }), line('user', { content: results })]),
  );
  const [turn] = (await shown(base, 'k')).turns;
  assert.ok(turn);
  assert.deepEqual(
    callsOf(turn).map((call) => call.status),
    ['rejected', 'rejected', 'cancelled', 'failed'],
  );
});

/** The turns of a conversation: how each ended, and how each of its calls did, with what its card shows. */
const ends = (session: Awaited<ReturnType<typeof shown>>) =>
  session.turns.map((turn) => [
    turn.status,
    ...callsOf(turn).map((call) => ({
      status: call.status,
      ...(call.error ? { error: call.error.message } : {}),
      shows: call.output.map((one) =>
        one.kind === 'diff'
          ? [one.diff.before, one.diff.after]
          : one.kind === 'content' && one.content.type === 'text'
            ? one.content.text
            : one.kind,
      ),
    })),
  ]);

// The lines of Claude Code 2.1.330 and Qwen Code 0.24.4, without the members that nobody reads.
const bash = (id: string) => agent({ type: 'tool_use', id, name: 'Bash', input: { command: 'make' } });
const writes = (id: string) => agent({ type: 'tool_use', id, name: 'Write', input: { file_path: '/w/notes.md', content: '# Notes\n' } });
const failed = (id: string, content: string, more: object) =>
  line('user', { role: 'user', content: [{ type: 'tool_result', content, is_error: true, tool_use_id: id }] }, more);
const refused = (id: string, words: string) =>
  failed(id, words, {
    toolUseResult: `Error: ${words}`,
    toolDenialKind: 'permission-rule',
    holdsPersonsWords: true,
    permissionDecision: { decision: 'reject', source: 'user_reject', reasonCode: 'unknown' },
  });
const STOP =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";
const RAN =
  ' Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written.';
const stopped = (id: string, words: string, more: object = {}) =>
  failed(id, words, { toolUseResult: 'User rejected tool use', toolDenialKind: 'user-rejected', ...more });
const interrupted = () => line('user', { role: 'user', content: [{ type: 'text', text: '[Request interrupted by user for tool use]' }] });

test('Claude Code: what was refused stays rejected with its diff and the words of the user; what was stopped is cancelled', async (t) => {
  const base = folder(t);
  count = 0;
  const all = [
    ...[person('run'), bash('c1'), refused('c1', 'The user did not allow this.'), agent({ type: 'text', text: 'Well.' })],
    ...[person('write'), writes('c2'), refused('c2', 'The user did not allow this.'), agent({ type: 'text', text: 'Well.' })],
    ...[person('write'), writes('c3'), refused('c3', 'use tabs please'), agent({ type: 'text', text: 'Well.' })],
    ...[person('run long'), bash('c4'), stopped('c4', STOP + RAN), interrupted()],
    ...[person('ask'), bash('c5'), stopped('c5', STOP, { toolDenialBeforeRun: true }), interrupted()],
    ...[person('two'), bash('c6'), bash('c7'), refused('c6', 'not this one'), stopped('c7', STOP), interrupted()],
    ...[person('end'), bash('c8'), refused('c8', 'The conversation was ended.')],
    ...[person('no'), bash('c9'), stopped('c9', STOP), agent({ type: 'text', text: 'Well.' })],
    ...[person('fail'), bash('c10'), failed('c10', 'Too late.', {}), interrupted()],
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  const diff = ['', '# Notes\n'];
  assert.deepEqual(ends(await shown(base, 'k')), [
    ['done', { status: 'rejected', shows: [] }],
    ['done', { status: 'rejected', shows: [diff] }],
    ['done', { status: 'rejected', shows: [diff, 'use tabs please'] }],
    ['cancelled', { status: 'cancelled', shows: [] }],
    ['cancelled', { status: 'cancelled', shows: [] }],
    ['cancelled', { status: 'rejected', shows: ['not this one'] }, { status: 'cancelled', shows: [] }],
    ['done', { status: 'cancelled', shows: [] }],
    ['done', { status: 'rejected', shows: [] }],
    ['cancelled', { status: 'failed', error: 'The agent reports an error.', shows: ['Too late.'] }],
  ]);
});

test('Claude Code: of parallel calls each result follows its own call, and all are shown; a branch that was left is not', async (t) => {
  const base = folder(t);
  count = 0;
  const done = (id: string, after: string) =>
    line('user', { role: 'user', content: [{ type: 'tool_result', content: 'made', tool_use_id: id }] }, { parentUuid: after });
  const all = [
    ...[person('make both'), bash('c1'), bash('c2'), bash('c3')],
    ...[done('c1', 'u2'), done('c2', 'u3'), done('c3', 'u4'), agent({ type: 'text', text: 'Well.' })],
    ...[person('make'), bash('c4'), refused('c4', 'no')],
    // The turn before was sent anew.
    ...[person('make one', { parentUuid: 'u8' }), bash('c5'), done('c5', 'u13')],
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  const call = { status: 'done', shows: ['made'] };
  assert.deepEqual(ends(await shown(base, 'k')), [
    ['done', call, call, call],
    ['done', call],
  ]);
});

test('Claude Code: a parallel call is shown when one before it ended last; a message that was said anew is not mixed in', async (t) => {
  const base = folder(t);
  count = 0;
  const did = (id: string, after: string, content: string) =>
    line('user', { role: 'user', content: [{ type: 'tool_result', content, tool_use_id: id }] }, { parentUuid: after });
  const calls = (message: string, id: string, more: object = {}) =>
    line('assistant', { id: message, content: [{ type: 'tool_use', id, name: 'Bash', input: { command: id } }] }, more);
  const all = [
    ...[person('all three'), calls('m', 'slow'), calls('m', 'fast'), line('attachment', {}), calls('m', 'bad')],
    ...[did('fast', 'u3', 'fast one'), failed('bad', 'no such file', { parentUuid: 'u5' }), did('slow', 'u2', 'slow one')],
    ...[calls('n', 'other', { parentUuid: 'u2' }), did('other', 'u9', 'of a message that was left')],
    line('assistant', { id: 'o', content: [{ type: 'text', text: 'Well.' }] }, { parentUuid: 'u8' }),
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  const session = await shown(base, 'k');
  assert.deepEqual(
    session.turns[0]?.parts.map((part) => (part.kind === 'call' ? part.call.title : part.kind)),
    ['slow', 'fast', 'bad', 'text'],
  );
  assert.deepEqual(ends(session), [
    [
      'done',
      { status: 'done', shows: ['slow one'] },
      { status: 'done', shows: ['fast one'] },
      { status: 'failed', error: 'The agent reports an error.', shows: ['no such file'] },
    ],
  ]);
});

const does = (id: string, name: string, args: object) =>
  line('assistant', { role: 'model', parts: [{ functionCall: { id, name, args } }] });
const says = () => line('assistant', { role: 'model', parts: [{ text: 'Well.' }] });
const asks = (text: string) => line('user', { role: 'user', parts: [{ text }] });
const told = (id: string, response: object, more: object) =>
  line('tool_result', { role: 'user', parts: [{ functionResponse: { id, response } }] }, { toolCallResult: { callId: id, ...more } });
const came = (id: string, error: string, more: object) => told(id, { error }, more);
const notStarted = { status: 'cancelled', executionStatus: 'not_started' };
const EDIT = {
  fileDiff: 'Index: notes.md',
  fileName: 'notes.md',
  filePath: '/w/notes.md',
  originalContent: '# Old\n',
  newContent: '# Notes\n',
};

test('Qwen Code: a refused edit keeps its diff; a turn that ends with a stopped call is cancelled', async (t) => {
  const base = folder(t);
  count = 0;
  const write = (id: string) => does(id, 'write_file', { file_path: '/w/notes.md', content: '# Notes\n' });
  const run = (id: string) => does(id, 'run_shell_command', { command: 'make' });
  const ran =
    'The tool had already completed; its output was discarded. User intentionally cancelled. Stop and await further instructions; do not retry.';
  const all = [
    ...[
      asks('write'),
      write('c1'),
      came('c1', '[Operation Cancelled] Reason: The user did not allow this.', { ...notStarted, resultDisplay: EDIT }),
    ],
    says(),
    ...[
      asks('write'),
      write('c2'),
      came('c2', '[Operation Cancelled] Reason: use tabs please', { ...notStarted, resultDisplay: EDIT }),
      says(),
    ],
    ...[asks('run'), run('c3'), came('c3', `[Operation Cancelled] Reason: ${ran}`, { status: 'cancelled', executionStatus: 'cancelled' })],
    ...[asks('ask'), run('c4'), came('c4', '[Operation Cancelled] Reason: Error: Request aborted', notStarted)],
    ...[
      asks('late'),
      run('c5'),
      came('c5', `[Operation Cancelled] Reason: ${ran}`, { status: 'cancelled', executionStatus: 'cancelled' }),
      says(),
    ],
    ...[
      asks('edit'),
      write('c6'),
      came('c6', 'no such text', { status: 'error', executionStatus: 'not_started', resultDisplay: 'no such text' }),
    ],
    ...[
      asks('yes'),
      write('c7'),
      told('c7', { output: 'Written.' }, { status: 'success', executionStatus: 'success', resultDisplay: EDIT }),
    ],
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  const diff = ['# Old\n', '# Notes\n'];
  const gone = 'The tool had already completed; its output was discarded. User intentionally cancelled.';
  assert.deepEqual(ends(await shown(base, 'k')), [
    ['done', { status: 'rejected', shows: [diff] }],
    ['done', { status: 'rejected', shows: [diff, 'use tabs please'] }],
    ['cancelled', { status: 'cancelled', shows: [gone] }],
    ['cancelled', { status: 'cancelled', shows: [] }],
    ['done', { status: 'cancelled', shows: [gone] }],
    ['done', { status: 'failed', error: 'no such text', shows: [] }],
    ['done', { status: 'done', shows: [diff, 'Written.'] }],
  ]);
});

test('Qwen Code: a card shows what the agent showed, not the words for its model; a new file was not there before', async (t) => {
  const base = folder(t);
  count = 0;
  const report = (output: string, code: number) =>
    `Command: make\nDirectory: (root)\nOutput: ${output}\nError: (none)\nExit Code: ${code}\nSignal: (none)\nProcess Group PGID: 24`;
  const ran = { status: 'success', executionStatus: 'success' };
  const broke = { status: 'error', executionStatus: 'error' };
  const shell = (text: string, output: string) => ({ resultDisplay: { type: 'shell_result', version: 1, output, text } });
  const fresh = { ...EDIT, originalContent: '' };
  const all = [
    asks('all'),
    ...[
      does('c1', 'run_shell_command', { command: 'make' }),
      told('c1', { output: report('made', 0) }, { ...ran, ...shell('made', 'made') }),
    ],
    ...[
      does('c2', 'read_file', { file_path: '/w/a.txt' }),
      told('c2', { output: '[File a.txt unchanged …]' }, { ...ran, resultDisplay: 'Unchanged' }),
    ],
    ...[
      does('c3', 'run_shell_command', { command: 'make' }),
      came('c3', report('no\nError: rule', 3), { ...broke, ...shell(report('no\nError: rule', 3), 'no\nError: rule') }),
    ],
    does('c4', 'write_file', { file_path: '/w/notes.md', content: '# Notes\n' }),
    told('c4', { output: 'Successfully created and wrote to new file: /w/notes.md.' }, { ...ran, resultDisplay: fresh }),
    does('c5', 'write_file', { file_path: '/w/notes.md', content: '# Notes\n' }),
    told('c5', { output: 'Successfully overwrote file: /w/notes.md.' }, { ...ran, resultDisplay: fresh }),
    does('c6', 'read_file', { file_path: '/w/a.txt' }),
    told('c6', { output: 'text of a' }, { ...ran, resultDisplay: { text: 7 } }),
  ];
  writeFileSync(path.join(base, 'k.jsonl'), kept(all));
  assert.deepEqual(ends(await shown(base, 'k')), [
    [
      'done',
      { status: 'done', shows: ['made'] },
      { status: 'done', shows: ['Unchanged'] },
      { status: 'failed', error: 'Exit Code: 3', shows: ['no\nError: rule\nExit Code: 3'] },
      { status: 'done', shows: [[null, '# Notes\n'], 'Successfully created and wrote to new file: /w/notes.md.'] },
      { status: 'done', shows: [['', '# Notes\n'], 'Successfully overwrote file: /w/notes.md.'] },
      { status: 'done', shows: ['text of a'] },
    ],
  ]);
});

test('notes of a kept line that cannot be read, or are about another call, say nothing: its words do', async (t) => {
  const base = folder(t);
  const words = '[Operation Cancelled] Reason: no';
  const notes = [
    { toolDenialKind: { a: 1 }, permissionDecision: 7 },
    { permissionDecision: { decision: ['reject'] } },
    { toolCallResult: 'cancelled' },
    { toolCallResult: { callId: 'other', status: 'cancelled', executionStatus: 'cancelled' } },
    { toolCallResult: { callId: 'c', status: 'cancelled', executionStatus: 'not_started', resultDisplay: { ...EDIT, newContent: 1 } } },
  ];
  for (const [at, note] of notes.entries()) {
    count = 0;
    writeFileSync(path.join(base, `k${at}.jsonl`), kept([person('write'), writes('c'), failed('c', words, note)]));
    assert.deepEqual(
      ends(await shown(base, `k${at}`)),
      [['done', { status: 'rejected', shows: [['', '# Notes\n'], 'no'] }]],
      JSON.stringify(note),
    );
  }
});

test('the list: newest first, named by what was said first; other files and keys that are paths are nothing', async (t) => {
  const base = folder(t);
  count = 0;
  writeFileSync(path.join(base, 'old.jsonl'), kept([person('the older\nsecond line')]));
  count = 0;
  writeFileSync(path.join(base, 'new.jsonl'), kept([person('<system-reminder>x</system-reminder>'), person('the newer')]));
  writeFileSync(path.join(base, 'empty.jsonl'), '');
  writeFileSync(path.join(base, 'notes.txt'), kept([person('no')]));
  utimesSync(path.join(base, 'old.jsonl'), 1, 1);
  assert.deepEqual(
    (await pastConversations(base)).map(({ key, title }) => [key, title]),
    [
      ['new', 'the newer'],
      ['old', 'the older'],
    ],
  );
  assert.deepEqual(await conversationIn(base, '../k'), []);
  assert.deepEqual(await pastConversations(path.join(base, 'nowhere')), []);
});

test('where each product keeps them; of an unknown program nothing is assumed', () => {
  const at = (command: string, args: readonly string[] = [], env = {}) =>
    recordFolder({ command, args, env: { HOME: '/h', USERPROFILE: '/h', ...env }, cwd: '/w/my app' });
  assert.equal(at('claude'), path.join('/h/.claude/projects/-w-my-app'));
  assert.equal(at('/x/claude.exe', ['-p'], { CLAUDE_CONFIG_DIR: '/c' }), path.join('/c/projects/-w-my-app'));
  assert.equal(at('qwen'), path.join('/h/.qwen/projects/-w-my-app/chats'));
  assert.equal(at('node', ['/x/@qwen-code/qwen-code/cli-entry.js']), path.join('/h/.qwen/projects/-w-my-app/chats'));
  assert.equal(at('node', ['/x/parley-agent.js']), undefined);
});

const T1 = '11111111-1111-4111-8111-111111111111';
const T2 = '22222222-2222-4222-8222-222222222222';
/** Claude Code with a conversation of two turns, which it keeps. */
async function twoTurns(t: TestContext) {
  const base = folder(t);
  const home = path.join(base, 'projects', '-w');
  mkdirSync(home, { recursive: true });
  count = 0;
  const all = [person('one', { uuid: T1 }), agent({ type: 'text', text: 'yes' }), person('two', { uuid: T2 })];
  const linked = all.map((one, at) => ({ ...one, parentUuid: all[at - 1]?.uuid ?? null }));
  writeFileSync(path.join(home, 'S.jsonl'), kept(linked));
  const played = harness(t, { command: 'claude', env: { CLAUDE_CONFIG_DIR: base } });
  await played.start();
  played.last().say(l.ready('initialize'), l.init());
  await played.settle();
  for (const [text, id] of [
    ['one', T1],
    ['two', T2],
  ] as const) {
    await played.prompt(text, id);
    played.last().say(l.assistant([{ type: 'text', text: 'yes' }]), l.result());
    await played.settle();
  }
  return { played, again: T2, answer: linked[1]?.uuid };
}
const T3 = '33333333-3333-4333-8333-333333333333';

test('saying something else in the place of an earlier message: files are put back only by choice, the conversation goes on from before', async (t) => {
  const { played, answer } = await twoTurns(t);
  assert.deepEqual(
    played
      .last()
      .prompts()
      .map((one) => one.uuid),
    [T1, T2],
  );
  played.live.send({ type: 'prompt', turnId: T3, content: [{ type: 'text', text: 'instead' }], replaces: T2 });
  await played.settle();
  const rewind = played.last();
  assert.deepEqual(
    rewind.requests('rewind_files').map(({ request }) => [request.user_message_id, request.dry_run]),
    [[T2, true]],
  );
  rewind.answer('rewind_files', { canRewind: true, filesChanged: ['/w/src/a.ts'] });
  await played.settle();
  assert.deepEqual(
    played.approval().options.map((option) => option.id),
    ['restore', 'keep', 'no'],
  );
  assert.deepEqual([played.approval().wordless, played.approval().ours], [true, true], 'nobody reads words with a no');
  assert.equal(played.now().turns.length, 2, 'nothing is taken back before the user has chosen');
  await played.answer(played.approval(), 'keep');
  await played.until(() => played.processes.length === 2);
  assert.equal(rewind.requests('rewind_files').length, 1, 'nothing was put back');
  assert.deepEqual(played.last().spec.args.slice(-4), ['--resume', 'S', '--resume-session-at', answer]);
  assert.deepEqual([played.now().link.state, played.now().turns.length], ['opening', 1]);
  played.last().say(l.ready('initialize'));
  await played.settle();
  assert.deepEqual([played.now().turns.length, played.turn().id], [2, T3]);
  assert.equal(played.last().prompts().length, 1);
});
