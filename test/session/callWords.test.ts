import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { filled, inEnglish, setTranslator } from '../../src/base/l10n.ts';
import { callGroup, callWords, durationText, groupThings, groupWords, hasRun, rowPieces } from '../../src/session/callWords.ts';
import type { Terminal, ToolCall } from '../../src/session/model.ts';

const call = (change: Partial<ToolCall>): ToolCall => ({
  id: 'c',
  name: 'Tool',
  title: 'Tool',
  kind: 'other',
  status: 'done',
  inputText: '',
  output: [],
  locations: [],
  ...change,
});
const session = (...terminals: readonly Terminal[]) => ({ cwd: '/w', terminals });
const said = (one: ToolCall, ...terminals: readonly Terminal[]) => {
  const { verb, thing, place, problem, decided } = callWords(one, session(...terminals));
  return [verb, thing, place, problem, decided].filter(Boolean).join(' ');
};
const diff = (before: string | null, after: string | null) => ({ kind: 'diff', diff: { path: '/w/src/a.ts', before, after } }) as const;

test('raw tool names become words', () => {
  assert.equal(said(call({ kind: 'edit', name: 'StrReplaceFile', output: [diff('a', 'b')] })), 'Edited src/a.ts');
  assert.equal(said(call({ kind: 'edit', output: [diff(null, 'b')] })), 'Created src/a.ts');
  assert.equal(said(call({ kind: 'edit', output: [diff('a', null)] })), 'Deleted src/a.ts');
  assert.equal(said(call({ kind: 'search', name: 'Grep', input: { pattern: 'foo', path: '/w/src' } })), 'Searched for foo in src');
  assert.equal(said(call({ kind: 'think', name: 'SetTodoList' })), 'Updated the plan');
  assert.equal(said(call({ name: '', title: 'SetTodoList', input: { todos: [] } })), 'Updated the plan');
  const move = { kind: 'move', title: 'Move /w/src/a.ts to /w/src/b.ts' } as const;
  assert.equal(said(call(move)), 'Moved src/a.ts → src/b.ts');
  assert.equal(said(call({ ...move, status: 'running' })), 'Move src/a.ts to src/b.ts');
  assert.equal(said(call({ name: 'open_in_ide', input: { path: '/w/b.ts' } })), 'Opened b.ts');
  assert.equal(said(call({ name: 'mcp__github__create_issue' })), 'Used create_issue of github');
  assert.equal(said(call({ name: 'Agent', title: 'Agent: Count', input: { description: 'Count' } })), 'Sub-agent Count');
  assert.equal(said(call({ name: 'other', title: 'mcp__server__do_the_thing' })), 'Used do_the_thing of server');
  assert.equal(said(call({ kind: 'read', status: 'running', input: { file_path: '/w/b.ts' } })), 'Reading b.ts');
});

test('a listed folder has words of its own and is no file among those that were read; a plan says how far it is', () => {
  const list = (input: unknown, change: Partial<ToolCall> = {}) =>
    call({ kind: 'read', name: 'ListDirectory', title: 'ListDirectory: .', input, ...change });
  assert.equal(said(list({})), 'Listed w/');
  assert.equal(said(list({ path: '/w/src' })), 'Listed src/');
  assert.equal(said(list({ path: 'src' }, { status: 'running' })), 'Reading src/');
  assert.equal(said(list({ path: '/w/src' }, { status: 'failed' })), 'Could not read src/');
  assert.equal(callGroup(list({}), session()), 'list');
  const things = groupThings([list({ path: 'src' }), call({ kind: 'read', input: { path: 'a.ts' } })], session());
  assert.deepEqual(things, { sought: [], listed: ['src/'], looked: [] });
  assert.equal(groupWords(['read', 'list', 'read'], { listed: ['w/'] }), 'Read 2 files · listed w/');
  assert.equal(groupWords(['list', 'list', 'list', 'list', 'list'], { listed: ['a/', 'a/', 'b/', 'c/', 'd/'] }), 'Listed a/, b/, 2 more');
  const todos = [{ title: 'a', status: 'done' }, { title: 'b', status: 'pending' }, 7];
  const plan = (steps: readonly unknown[]) =>
    callWords(call({ kind: 'think', name: 'SetTodoList', input: { todos: steps } }), session()).result;
  assert.equal(plan(todos), '1/3 done');
  assert.equal(plan([{ status: 'done' }, { status: 'in_progress' }, {}]), '1/3 done', 'the second is under way');
});

test('a command says how it ended, and the rows below a failure do not hide it', () => {
  const terminal = (exit?: Terminal['exit']): Terminal => ({
    id: 'x',
    command: 'npm test',
    tail: '',
    dropped: 0,
    ...(exit ? { exit } : {}),
  });
  const run = call({ kind: 'execute', output: [{ kind: 'terminal', terminalId: 'x' }] });
  assert.equal(said(run, terminal({ code: 1, signal: null })), 'Ran npm test exit 1');
  assert.equal(said(run, terminal({ code: null, signal: 'SIGKILL' })), 'Ran npm test killed (SIGKILL)');
  assert.equal(said(run, terminal({ code: null, signal: null, stopped: true })), 'Stopped npm test');
  assert.equal(callGroup(run, session(terminal({ code: 1, signal: null }))), undefined);
  assert.equal(callGroup(run, session(terminal({ code: 0, signal: null }))), 'run');
});

test('a row says who decided', () => {
  const run = (decision: NonNullable<ToolCall['decision']>) => said(call({ kind: 'execute', input: { command: 'ls' }, decision }));
  assert.equal(run({ kind: 'approval', by: 'user', effect: 'allow_once' }), 'Ran ls allowed by you');
  const rule = { kind: 'command', pattern: 'ls *' };
  assert.equal(
    run({ kind: 'approval', by: 'rule', effect: 'allow_once', rule }),
    'Ran ls allowed by your rule “commands that begin with ls”',
  );
  assert.equal(
    run({ kind: 'approval', by: 'rule', effect: 'reject_once', rule: { kind: 'command' } }),
    'Rejected ls by rule “Run in terminal”',
  );
  // Conversations of earlier versions do not name the rule.
  assert.equal(run({ kind: 'approval', by: 'rule', effect: 'allow_once' }), 'Ran ls allowed by your rule');
  assert.equal(
    run({ kind: 'approval', by: 'user', effect: 'reject_once', feedback: 'npm run clean' }),
    'Rejected ls by you “npm run clean”',
  );
  assert.equal(
    said(
      call({
        decision: {
          kind: 'answers',
          values: [
            { label: 'Which?', values: ['SQLite'] },
            { label: 'Checks', values: ['Types', 'Tests'] },
          ],
        },
      }),
    ),
    'Answered Which? SQLite · Checks: Types, Tests',
  );
});

test('a narrow row has a tick for consent only where nothing went wrong, and a sign for what the user has edited', () => {
  const decision = { kind: 'approval', by: 'user', effect: 'allow_once' } as const;
  const shortOf = (status: ToolCall['status'], edited: object = {}) =>
    callWords(call({ kind: 'execute', input: { command: 'ls' }, decision: { ...decision, ...edited }, status }), session()).decidedShort;
  const statuses = ['done', 'running', 'cancelled', 'failed'] as const;
  assert.deepEqual(
    statuses.map((status) => shortOf(status)),
    ['✓', '✓', '', ''],
  );
  assert.deepEqual(
    statuses.map((status) => shortOf(status, { edited: true })),
    ['✓ ✎', '✓ ✎', '✎', '✎'],
  );
});

test('what was rejected did not run, whatever the agent reports of it; unless it says that it goes on', () => {
  const decision = { kind: 'approval', by: 'user', effect: 'reject_once' } as const;
  for (const status of ['pending', 'done', 'failed', 'ended', 'cancelled', 'rejected'] as const) {
    const one = call({ kind: 'execute', input: { command: 'rm -rf x' }, decision, status });
    assert.equal(said(one), 'Rejected rm -rf x by you', status);
    assert.deepEqual([callGroup(one, session()), hasRun(one, session())], [undefined, false], status);
  }
  assert.equal(said(call({ kind: 'fetch', title: 'Look it up', decision })), 'Rejected Look it up by you');
  const url = { url: 'http://a.example' };
  assert.equal(said(call({ kind: 'fetch', title: 'Fetch', input: url, decision })), 'Rejected http://a.example by you');
  const tool = { kind: 'other', name: 'mcp__github__create_issue' } as const;
  assert.equal(said(call({ ...tool, decision })), 'Rejected create_issue of github by you');
  assert.equal(said(call({ ...tool, status: 'cancelled' })), 'Stopped create_issue of github');
  assert.equal(said(call({ kind: 'execute', input: { command: 'ls' }, decision, status: 'running' })), 'Running ls Rejected');
});

test('a failed call says what could not be done', () => {
  const failed = (change: Partial<ToolCall>) => said(call({ status: 'failed', ...change }));
  assert.equal(failed({ kind: 'read', input: { file_path: '/w/b.ts' } }), 'Could not read b.ts');
  assert.equal(failed({ kind: 'edit', input: { file_path: '/w/b.ts' } }), 'Could not edit b.ts');
  assert.equal(failed({ kind: 'delete', input: { path: '/w/b.ts' } }), 'Could not delete b.ts');
  assert.equal(failed({ kind: 'search', input: { pattern: 'foo', path: 'src' } }), 'Could not search for foo in src');
  assert.equal(failed({ kind: 'execute', input: { command: 'npm test' } }), 'Could not run npm test');
  assert.equal(failed({ kind: 'execute', input: { command: 'npm test' }, error: { message: 'exit 1' } }), 'Ran npm test exit 1');
  const printed = [{ kind: 'content', content: { type: 'text', text: '3 of 4 tests' } }] as const;
  assert.equal(failed({ kind: 'execute', input: { command: 'npm test' }, output: printed }), 'Ran npm test failed');
  assert.equal(failed({ name: 'open_in_ide', input: { path: '/w/b.ts' } }), 'Could not open b.ts');
  assert.equal(failed({ name: 'mcp__github__create_issue' }), 'Could not run create_issue of github');
  assert.equal(failed({ kind: 'think', name: 'TodoWrite' }), 'Could not edit Plan');
  assert.equal(failed({ kind: 'other', title: 'Look around' }), 'Look around failed', 'words of the agent');
});

test('Chinese names the place before the verb, and has no space between Chinese words', (t) => {
  const chinese = JSON.parse(readFileSync('l10n/bundle.l10n.zh-cn.json', 'utf8')) as Readonly<Record<string, string>>;
  setTranslator((english, ...values) => filled(chinese[english] ?? english, values));
  t.after(() => setTranslator(inEnglish));
  const row = (one: ToolCall) =>
    rowPieces(callWords(one, session()))
      .map(({ text, gap }) => gap + text)
      .join('');
  const search = call({ kind: 'search', input: { pattern: 'foo', path: 'src' } });
  assert.equal(row({ ...search, status: 'running' }), '在 src 中搜索 foo');
  assert.equal(row({ ...search, status: 'failed' }), '在 src 中无法搜索 foo');
  assert.equal(row(call({ name: 'find_references', input: { path: '/w/a.ts' } })), '在 a.ts 中已读取引用');
  const { sought } = groupThings([search], session());
  assert.equal(groupWords(['read', 'search'], { sought }), '读取 1 个文件 · 在 src 中搜索 foo');
});

test('a request that nobody answered is not said to run', () => {
  const one = (status: ToolCall['status']) => call({ kind: 'execute', input: { command: 'ls' }, withdrawn: true, status });
  assert.equal(said(one('pending')), 'Skipped ls');
  assert.equal(said(one('cancelled')), 'Skipped ls');
  assert.equal(hasRun(one('cancelled'), session()), false);
  assert.equal(said(one('running')), 'Running ls');
});

test('a question that was skipped says what was asked, not the name of its tool', () => {
  const skipped = (change: Partial<ToolCall>) =>
    said(call({ name: 'AskUserQuestion', title: 'AskUserQuestion', decision: { kind: 'skipped' }, ...change }));
  assert.equal(skipped({ input: { questions: [{ question: 'Which database?' }, { question: 'And why?' }] } }), 'Skipped Which database?');
  assert.equal(skipped({}), 'Skipped Question');
  assert.equal(skipped({ input: { questions: [7] }, title: 'Which one?' }), 'Skipped Which one?');
});

test('folded rows count what they hold', () => {
  assert.equal(groupWords(['read', 'read', 'search', 'read', 'search']), 'Read 3 files · searched 2 times');
  const grep = call({ kind: 'search', name: 'Grep', input: { pattern: 'foo', path: '/w/src' } });
  const { sought } = groupThings([grep], session());
  assert.equal(groupWords(['read', 'search'], { sought }), 'Read 1 file · searched for foo in src');
  const glob = call({ kind: 'search', name: 'Glob', input: { pattern: `**/${'folder/'.repeat(10)}a.ts` } });
  const [{ text = '' } = {}] = groupThings([glob], session()).sought;
  assert.ok(text.length <= 60 && text.endsWith('…'), text);
  assert.equal(groupWords(['search', 'search'], { sought }), 'Searched 2 times', 'one of them has no pattern');
  assert.equal(groupWords(['read', 'search']), 'Read 1 file · searched 1 time');
  const problems = call({ name: 'get_diagnostics', kind: 'search' });
  const groups = [grep, problems].flatMap((one) => callGroup(one, session()) ?? []);
  assert.equal(groupWords(groups, groupThings([grep, problems], session())), 'Searched for foo in src · read Problems');
});

test('times read as people say them', () => {
  assert.deepEqual([0, 49, 50].map(durationText), ['', '', '0.1 s'], 'no 0.0 s');
  assert.deepEqual([400, 4_200, 12_000, 65_000, 3_725_000].map(durationText), ['0.4 s', '4.2 s', '12 s', '1:05', '1:02:05']);
});

test('the editor tools of Parley have words under whichever name an agent lists them', () => {
  const input = { path: '/w/src/a.ts' };
  assert.equal(said(call({ name: 'get_diagnostics', input })), 'Read Problems in src/a.ts');
  assert.equal(said(call({ name: 'mcp__parley__get_diagnostics', status: 'running' })), 'Reading Problems');
  assert.equal(
    said(call({ name: 'tool', title: 'find_references (parley MCP Server)', status: 'failed', input })),
    'Could not read references in src/a.ts',
  );
  assert.equal(said(call({ name: 'show_diff', input })), 'Opened src/a.ts');
  assert.equal(callGroup(call({ name: 'get_selection' }), session()), 'look');
  assert.equal(said(call({ name: 'forget_diagnostics' })), 'Tool', 'only whole names');
});

test('a tool that has only a name is one that is used; a page that did not open is named by its address', () => {
  const tool = { kind: 'other', name: 'create_issue', title: 'create_issue' } as const;
  assert.equal(said(call(tool)), 'Used create_issue');
  assert.equal(said(call({ ...tool, status: 'running' })), 'Using create_issue');
  assert.equal(said(call({ ...tool, status: 'failed' })), 'Could not run create_issue');
  const page = { kind: 'fetch', name: 'FetchURL', title: 'FetchURL', input: { url: 'https://example.com/' } } as const;
  assert.equal(said(call({ ...page, status: 'failed' })), 'Could not open https://example.com/');
  assert.equal(said(call(page)), 'Opened https://example.com/');
});

test('a tool of a server reads the same, whichever way an agent names it', () => {
  assert.equal(said(call({ name: 'mcp__github__create_issue', status: 'running' })), 'Using create_issue of github');
  assert.equal(said(call({ name: 'tool', title: 'create_issue (github MCP Server)', status: 'running' })), 'Using create_issue of github');
});

test('a call that its agent did not ask about says that the agent keeps the answer', () => {
  const words = callWords(call({ kind: 'execute', input: { command: 'ls' } }), session(), { agent: 'Pi', answer: 'Always allow ls' });
  assert.deepEqual([words.decided, words.decidedShort], ['by Pi “Always allow ls”', '✓ by Pi']);
});

test('an answer that made a rule for the session says so', () => {
  const rule = { kind: 'command', pattern: 'ls' };
  assert.match(
    said(call({ decision: { kind: 'approval', by: 'user', effect: 'allow_once', rule } })),
    /allowed by you · For this session$/,
  );
});

test('an answer that lasts says how long, as far as the agent does', () => {
  const decided = (label: string) => said(call({ decision: { kind: 'approval', by: 'user', effect: 'allow_always', label } }));
  assert.match(decided('Allow for this session'), /allowed by you · For this session$/);
  assert.match(decided('Allow for all future sessions'), /allowed by you “Allow for all future sessions”$/);
});

test('a search says how much it found, where the output can be read', () => {
  const found = (text: string) =>
    callWords(
      call({ kind: 'search', input: { pattern: 'foo' }, output: [{ kind: 'content', content: { type: 'text', text } }] }),
      session(),
    ).result;
  assert.equal(found('Found 12 files\nsrc/a.ts'), '12 matches');
  assert.equal(found('src/a.ts:3:foo()\nsrc/b.ts:9: foo'), '2 matches');
  assert.equal(found('src/a.ts'), '1 match');
  assert.equal(found('No matches found'), '0 matches');
  assert.equal(found('It was nowhere to be seen, as far as that goes.'), undefined);
});
