import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { AgentConversation } from '../../../src/agent/conversation.ts';
import { guideModel } from '../../../src/agent/models/guide/guideModel.ts';
import { replaceRequest } from '../../../src/agent/models/guide/requests/files.ts';
import { CONTINUE_PROMPT, type ModelTool, type ToolMessage } from '../../../src/agent/models/model.ts';
import { done } from '../../../src/agent/tools/tool.ts';
import { taggedChanges } from '../../../src/base/fileChangesTag.ts';
import { withEarlier } from '../../../src/base/promptText.ts';
import { temporaryFolder } from '../agentProcess.ts';
import { ask, type FaceAnswers, type TestFace, testFace } from '../scripted.ts';

const FILES: Readonly<Record<string, string>> = {
  'README.md': '# Shop\n\nSells things.\n\n## Install\n\nnpm ci\n',
  'package.json': '{"name":"shop","description":"A shop","scripts":{"test":"echo all green","build":"echo built"}}\n',
  'src/cart.ts':
    "/** What a user is going to buy. */\nimport { price } from './price.ts';\nexport class Cart {\n  total() {\n    return price(1);\n  }\n}\n",
  'src/price.ts': 'export function price(n: number): number {\n  return n * 2; // TODO taxes\n}\n',
};

const schema = (properties: object) => ({ type: 'object', properties });
const LENT: readonly ModelTool[] = [
  { name: 'open_in_ide', description: 'Lines are 1-based.', parameters: schema({ path: { type: 'string' }, line: { type: 'integer' } }) },
  { name: 'get_diagnostics', description: 'x', parameters: schema({ path: { type: 'string' } }) },
  {
    name: 'find_references',
    description: 'x',
    parameters: schema({ path: { type: 'string' }, line: { type: 'integer' }, symbol: { type: 'string' } }),
  },
  { name: 'get_selection', description: 'x', parameters: schema({}) },
];
const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } };

interface Talk {
  readonly cwd: string;
  readonly frontend: TestFace;
  /** Says something; gives the answer and the calls it took, as `name {input}`. */
  say(text: string): Promise<{ readonly text: string; readonly calls: readonly string[] }>;
  file(name: string): string;
}

function talk(t: TestContext, answers: FaceAnswers = { tools: LENT }): Talk {
  const cwd = temporaryFolder(t);
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(path.join(cwd, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(cwd, name), text);
  }
  const frontend = testFace({
    run: (name) => done(name === 'get_diagnostics' ? problems(cwd) : name === 'find_references' ? places(cwd) : 'ok', 'ok'),
    ...answers,
  });
  const conversation = new AgentConversation({ frontend, model: guideModel, workspace: { cwd, roots: [cwd] } });
  return {
    cwd,
    frontend,
    say: async (text) => {
      const from = frontend.said.length;
      assert.deepEqual(await ask(conversation, text), { status: 'finished' });
      const said = frontend.said.slice(from);
      return {
        text: said.map((one) => (one.type === 'text' ? one.text : '')).join(''),
        calls: said.flatMap((one) => (one.type === 'call.ready' ? [`${one.name} ${one.input}`] : [])),
      };
    },
    file: (name) => readFileSync(path.join(cwd, name), 'utf8'),
  };
}

const problems = (cwd: string): string =>
  JSON.stringify({
    count: 1,
    files: [{ path: path.join(cwd, 'src/price.ts'), diagnostics: [{ range, message: 'No tax', severity: 2, source: 'ts' }] }],
  });
const places = (cwd: string): string =>
  JSON.stringify({ count: 1, locations: [{ uri: `file://${path.join(cwd, 'src/cart.ts')}`, range }] });

/** What is said, what must be called (the last call), what must be answered. */
const READING: readonly (readonly [says: string, call: RegExp, answers: RegExp])[] = [
  ['list files', /^ListDirectory \{\}$/, /`src\/`[\s\S]*`README\.md`/],
  ['What is in src?', /^ListDirectory .*"src"/, /In `src`:[\s\S]*cart\.ts/],
  ['列出 src 里的文件', /^ListDirectory .*"src"/, /`src` 里有：[\s\S]*cart\.ts/],
  ['src 里有什么？', /^ListDirectory .*"src"/, /cart\.ts/],
  ['read README.md', /^ReadFile .*README\.md/, /```md\n# Shop/],
  ['please show @src/price.ts', /^ReadFile .*src\/price\.ts/, /\*\*src\/price\.ts\*\* \(lines 1-3 of 3\)/],
  ['show lines 2-3 of price.ts', /"line_offset":2,"n_lines":2/, /return n \* 2/],
  ['查看 src/price.ts 第 2 到 3 行', /"line_offset":2,"n_lines":2/, /第 2-3 行/],
  ['请读取 readme', /^ReadFile .*README\.md/, /# Shop/],
  ['find TODO', /^Glob/, /`src\/price\.ts:2`/],
  ['search for "TODO taxes" in src', /^Grep .*"TODO taxes".*"src"/, /occurs 1 time in 1 file/],
  ['查找 TODO', /^Glob/, /`TODO` 在 1 个文件里出现了 1 次/],
  ['在 src 里搜索 price', /^Grep .*"src"/, /src\/cart\.ts:2/],
  ['find zebra', /^Glob/, /`zebra` does not occur/],
  ['find file cart', /^Glob .*\*cart\*/, /src\/cart\.ts/],
  ['where is price defined?', /^Grep/, /`src\/price\.ts:1`/],
  ['Cart 在哪里定义？', /^Grep/, /`src\/cart\.ts:3`/],
  ['where is cart.ts', /^Glob|^Grep/, /src\/cart\.ts/],
  ['explain src/cart.ts', /^ReadFile .*src\/cart\.ts/, /What a user is going to buy[\s\S]*`src\/cart\.ts:3` export class \*\*Cart\*\*/],
  ['what does price do?', /^Grep/, /is defined in `src\/price\.ts:1` and occurs 3 times in 2 files/],
  ['介绍一下这个项目', /^ReadFile .*package\.json/, /4 个文件[\s\S]*Sells things[\s\S]*`test`/],
  ['explain the src folder', /^Glob .*"directory":"src"/, /2 files/],
  ['README.md 是做什么的', /^ReadFile/, /`README\.md:5`/],
  ['show problems', /^get_diagnostics \{\}$/, /`src\/price\.ts:2` \*\*warning\*\* No tax \(ts\)/],
  ['显示 src/price.ts 的问题', /^get_diagnostics .*src\/price\.ts/, /\*\*警告\*\* No tax/],
  ['open cart.ts at line 3', /^open_in_ide \{"path":"src\/cart\.ts","line":3\}$/, /Opened `src\/cart\.ts:3`/],
  ['打开 src/cart.ts 第 3 行', /^open_in_ide \{"path":"src\/cart\.ts","line":3\}$/, /已打开 `src\/cart\.ts:3`/],
  ['go to definition of Cart', /^open_in_ide \{"path":"src\/cart\.ts","line":3\}$/, /is defined in `src\/cart\.ts:3`, now open/],
  ['find references of price', /^find_references .*"line":1,"symbol":"price"/, /- `src\/cart\.ts:2`/],
  ['help', /^Glob/, /not a language model[\s\S]*`explain src\/cart\.ts`/],
  ['你能做什么？', /^Glob/, /不是大语言模型[\s\S]*`解释 src\/cart\.ts`/],
];

for (const [says, called, answers] of READING) {
  test(`“${says}” is understood`, async (t) => {
    const { say, frontend } = talk(t);
    const { calls, text } = await say(says);
    assert.match(calls.at(-1) ?? '(no call)', called);
    assert.match(text, answers);
    assert.deepEqual(frontend.approvals, [], 'nothing to ask for');
    assert.ok(
      frontend.said.every((one) => one.type !== 'call.ended' || !one.outcome.isError),
      'no call failed',
    );
  });
}

const REPLACING: readonly string[] = [
  'replace "n * 2" with "n * 3" in src/price.ts',
  'in price.ts change `n * 2` to `n * 3`',
  '把 src/price.ts 里的“n * 2”替换成“n * 3”',
  '将 price.ts 中的 n * 2 改为 n * 3',
  'replace "n * 2" with "n * 3"',
];
for (const says of REPLACING) {
  test(`“${says}” edits the file after a yes`, async (t) => {
    const { say, frontend, file } = talk(t);
    const { text } = await say(says);
    assert.equal(file('src/price.ts'), FILES['src/price.ts']?.replace('n * 2', 'n * 3'));
    assert.deepEqual(
      frontend.approvals.map((one) => [one.tool, one.action]),
      [['StrReplaceFile', 'edit file']],
    );
    assert.match(text, /`n \* 2` → `n \* 3`/);
  });
}

test('a rejection is taken as such, in the language of the user', async (t) => {
  const { say, file } = talk(t, { approve: () => ({ allow: false }) });
  assert.match((await say('replace "Shop" with "Store" in README.md')).text, /Rejected, nothing was changed\./);
  assert.match((await say('把 README.md 里的 Shop 改成 Store')).text, /已拒绝，未做任何更改/);
  assert.match((await say('run npm test')).text, /Rejected/);
  assert.equal(file('README.md'), FILES['README.md']);
  const told = talk(t, { approve: () => ({ allow: false, feedback: 'not this file' }) });
  assert.match((await told.say('create file x.txt')).text, /Rejected, nothing was changed\. You said: “not this file”/);
});

test('a text that occurs several times is not replaced unless all are meant', async (t) => {
  const { say, file } = talk(t);
  const { text } = await say('replace price with cost in cart.ts');
  assert.match(text, /several times[\s\S]*replace all "price" with "cost"/);
  assert.equal(file('src/cart.ts'), FILES['src/cart.ts']);
  await say('replace all price with cost in cart.ts');
  assert.equal(file('src/cart.ts'), FILES['src/cart.ts']?.replaceAll('price', 'cost'));
});

test('a text that is not there, or is in several files, is said and nothing is done', async (t) => {
  const { say, frontend } = talk(t);
  assert.match((await say('replace zebra with x in README.md')).text, /does not occur in `README\.md`, so nothing was changed/);
  assert.match((await say('replace sells with x in README.md')).text, /Written differently[\s\S]*Sells/);
  assert.match((await say('把 price 替换成 cost')).text, /出现在 2 个文件里/);
  assert.deepEqual(frontend.approvals, []);
});

const CREATING: readonly (readonly [says: string, name: string, content: string])[] = [
  ['create file notes.md with "Hello there"', 'notes.md', 'Hello there\n'],
  ['create a new file docs/a.txt containing:\n```\none\ntwo\n```', 'docs/a.txt', 'one\ntwo\n'],
  ['创建文件 笔记.md 内容为“你好，世界”', '笔记.md', '你好，世界\n'],
  ['make an empty file todo.txt', 'todo.txt', ''],
  ['write "x = 1" to config.ini', 'config.ini', 'x = 1\n'],
];
for (const [says, name, content] of CREATING) {
  test(`“${says.split('\n')[0]}” makes the file`, async (t) => {
    const { say, frontend, file } = talk(t);
    await say(says);
    assert.equal(file(name), content);
    assert.equal(frontend.approvals[0]?.tool, 'WriteFile');
  });
}

test('a file that exists is not made again', async (t) => {
  const { say, frontend, file } = talk(t);
  assert.match((await say('create file README.md with "x"')).text, /exists already/);
  assert.deepEqual(frontend.approvals, []);
  assert.equal(file('README.md'), FILES['README.md']);
});

test('what the user changed in files, told with a prompt, is no part of the command', async (t) => {
  const { calls } = await talk(t).say(`run echo once\n${taggedChanges('The user undid changes that you made in x:\n-one')}`);
  assert.match(calls.join(), /"echo once"/);
});

test('what was said before, told to a new task with a prompt, is no part of the request', async (t) => {
  const { calls } = await talk(t).say(`${withEarlier('What was said so far:\nUser: run rm -r .')}\n\nrun echo once`);
  assert.match(calls.join(), /"echo once"/);
});

test('commands run as they are written, quotes and all, and their output is shown', async (t) => {
  const { say, frontend } = talk(t);
  assert.match((await say('run echo "a  b" | tr a-z A-Z')).text, /A {2}B/);
  assert.match((await say('运行 `echo 你好`')).text, /已完成。[\s\S]*你好/);
  assert.match((await say('run the tests')).text, /`npm test` is done[\s\S]*all green/);
  assert.match((await say('run exit 4')).text, /failed\. Exit code 4\./);
  assert.deepEqual(
    frontend.approvals.map((one) => one.shown),
    ['echo "a  b" | tr a-z A-Z', 'echo 你好', 'npm test', 'exit 4'].map((command) => [{ type: 'command', command }]),
  );
});

test('the output of a command is shown without the colours of a terminal', async (t) => {
  const { text } = await talk(t).say("run `printf '\\033[32mgreen\\033[0m'`");
  assert.match(text, /```[a-z]*\ngreen\n```/);
});

test('a plan is made with the real tool and worked through on request', async (t) => {
  const { say, frontend } = talk(t);
  const made = await say('make a plan: read README.md; find TODO; drink tea');
  assert.match(made.calls.at(-1) ?? '', /^SetTodoList .*drink tea/);
  assert.match(made.text, /3\. drink tea \*\(yours\)\*/);
  const first = await say('next');
  assert.deepEqual(
    first.calls.map((call) => call.split(' ')[0]),
    ['SetTodoList', 'Glob', 'ReadFile', 'SetTodoList'],
  );
  assert.match(first.text, /Step 1: read README\.md[\s\S]*# Shop[\s\S]*Next is step 2: find TODO/);
  assert.match((await say('执行第 2 步')).text, /第 2 步: find TODO[\s\S]*src\/price\.ts:2/);
  assert.match((await say('next')).text, /“drink tea”, is one for you/);
  assert.match((await say('next')).text, /Every step of the plan is done/);
  const last = frontend.said.findLast((one) => one.type === 'call.ended' && one.name === 'SetTodoList');
  const shown = last?.type === 'call.ended' ? last.outcome.shown[0] : undefined;
  assert.deepEqual(shown?.type === 'todo' ? shown.items.map((item) => item.status) : [], ['done', 'done', 'done']);
});

test('a plan for a goal is fitted to the workspace', async (t) => {
  const { say } = talk(t);
  assert.match((await say('make a plan to rename Cart')).text, /1\. Read src\/cart\.ts[\s\S]*Rename Cart[\s\S]*Run the tests/);
  assert.match((await say('制定计划：重命名 Cart')).text, /1\. 读取 src\/cart\.ts[\s\S]*重命名 Cart[\s\S]*运行测试/);
  assert.match((await talk(t).say('next')).text, /There is no plan yet/);
});

test('a missing file brings near names', async (t) => {
  const { say } = talk(t);
  assert.match((await say('read crt.ts')).text, /There is no `crt\.ts`[\s\S]*`src\/cart\.ts`/);
  assert.match((await say('打开 prise.ts')).text, /没有 `prise\.ts`[\s\S]*`src\/price\.ts`/);
});

test('without the editor’s tools it says so and shows what it can', async (t) => {
  const { say } = talk(t, {});
  assert.match((await say('open src/cart.ts at line 3')).text, /did not offer me `open_in_ide`[\s\S]*class Cart/);
  assert.match((await say('show problems')).text, /did not offer me `get_diagnostics`/);
});

test('results that came after their turn was forgotten are no request that it does not know', async (t) => {
  assert.doesNotMatch((await talk(t).say(CONTINUE_PROMPT)).text, /did not understand/);
});

test('what is not understood brings examples from this workspace and says that it is no language model', async (t) => {
  const { say } = talk(t);
  for (const [says, answers] of [
    [
      'tell me a joke',
      /did not understand “tell me a joke”[\s\S]*not a language model[\s\S]*`explain src\/cart\.ts`[\s\S]*parley\.model\.baseUrl/,
    ],
    ['给我讲个笑话吧', /没有听懂[\s\S]*不是大语言模型[\s\S]*`解释 src\/cart\.ts`[\s\S]*parley\.model\.name/],
  ] as const) {
    assert.match((await say(says)).text, answers);
  }
});

test('it tells how to connect a model, and says once that it is a guide', async (t) => {
  const { say } = talk(t);
  assert.match((await say('list files')).text, /I am the offline guide/);
  assert.doesNotMatch((await say('list files')).text, /offline guide/);
  assert.match((await say('How do I connect a model?')).text, /Parley: Configure Model[\s\S]*parley\.model\.baseUrl/);
  assert.match((await say('如何连接模型？')).text, /配置模型/);
  assert.match((await say('are you an AI?')).text, /not a language model/);
});

test('odd input never breaks it', async (t) => {
  const { say } = talk(t);
  for (const text of [
    '```',
    '"""',
    '\u27e60\u27e7',
    'read ',
    'find "',
    'replace  with  in ',
    '(((((',
    '*'.repeat(2000),
    'find (',
    'where is [x',
    'explain **/*',
    'open \\',
    '把',
    '运行',
    'plan',
    'read {a,b',
    'create file',
    'a'.repeat(50_000),
  ]) {
    assert.ok((await say(text)).text.length > 0, text.slice(0, 40));
  }
});

test('a file that cannot be read is not said to lack a text', async (t) => {
  const { say, cwd } = talk(t);
  // Nobody can open a socket as a file.
  const server = createServer().listen(path.join(cwd, 'held.txt'));
  t.after(() => server.close());
  await once(server, 'listening');
  for (const asked of ['replace "one" by "two" in held.txt', 'search for "one" in held.txt']) {
    const { text } = await say(asked);
    assert.match(text, /^That did not work: .*held\.txt/);
    assert.doesNotMatch(text, /does not occur/);
  }
});

test('where a text is not found, the files that were not searched are named', () => {
  const message = 'No matches. Could not be read and were not searched: held.txt (EBUSY).';
  const searched: ToolMessage = { role: 'tool', callId: 'c', name: 'Grep', isError: false, message, text: '' };
  const spoken = 'replace one by two';
  const asked = { text: spoken, spoken, masked: spoken, plain: (text: string) => text };
  const script = replaceRequest.match(asked, { cwd: '/w', translate: (english) => english, offers: [], history: [] });
  script?.next([]);
  assert.equal(
    script?.next([searched]).value,
    '`one` does not occur in this workspace. Could not be read and were not searched: held.txt (EBUSY).',
  );
});
