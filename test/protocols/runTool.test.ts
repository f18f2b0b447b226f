import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import type { Tool, ToolAnswer } from '../../src/protocols/ports.ts';
import { runTool } from '../../src/protocols/runTool.ts';

const parameters = { type: 'object', properties: { path: { type: 'string' }, line: { type: 'integer', minimum: 1 } }, required: ['path'] };

function tool(run: Tool['run'], more: Partial<Tool> = {}): Tool {
  return { name: 'open', description: 'opens', parameters, run, ...more };
}
function call(
  tools: readonly Tool[],
  input: unknown,
  more: { name?: string; signal?: AbortSignal; limit?: number } = {},
): Promise<ToolAnswer> {
  return runTool(tools, { name: 'open', input, signal: new AbortController().signal, log: silentLog, ...more });
}
const echo = tool(async (input) => ({ ok: true, text: JSON.stringify(input) }));

test('text arguments are parsed, values are taken as they are, and the tool gets them', async () => {
  assert.deepEqual(await call([echo], '{"path":"a","line":2}'), { ok: true, text: '{"path":"a","line":2}' });
  assert.deepEqual(await call([echo], { path: 'b' }), { ok: true, text: '{"path":"b"}' });
});

test('empty arguments mean none', async () => {
  const free = tool(async (input) => ({ ok: true, text: JSON.stringify(input) }), { parameters: { type: 'object' } });
  for (const nothing of ['', ' ', null, undefined]) assert.deepEqual(await call([free], nothing), { ok: true, text: '{}' });
});

test('an unknown tool, text that is not JSON and arguments against the schema are answers, and the tool does not run', async () => {
  let ran = 0;
  const counting = tool(async () => {
    ran += 1;
    return { ok: true, text: '' };
  });
  assert.match((await call([counting], '{}', { name: 'close' })).text, /no tool called "close".*open/);
  assert.match((await call([counting], '{"path":')).text, /not JSON/);
  const wrong = await call([counting], { line: 0 });
  assert.equal(wrong.ok, false);
  assert.match(wrong.text, /path/);
  assert.match(wrong.text, /line must be >= 1/);
  assert.equal(ran, 0);
});

test('a tool that throws, or whose schema is nonsense, answers with the error', async () => {
  const thrown = await call([tool(() => Promise.reject(new Error('no such file')))], { path: 'a' });
  assert.deepEqual(thrown, { ok: false, text: 'no such file' });
  const sync = tool(() => {
    throw new Error('at once');
  });
  assert.deepEqual(await call([sync], { path: 'a' }), { ok: false, text: 'at once' });
  assert.equal((await call([tool(echo.run, { parameters: { type: 'banana' } })], {})).ok, false);
});

test('a tool that hangs is stopped at its limit and told so', async () => {
  let told = false;
  const hanging = tool(
    (_input, signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          told = true;
        });
      }),
  );
  const answer = await call([hanging], { path: 'a' }, { limit: 20 });
  assert.equal(answer.ok, false);
  assert.match(answer.text, /took longer than 0.02 s/);
  assert.equal(told, true);
});

test('the limit does not run while a user is being asked', async () => {
  const confirm = () => ({ title: 'May it?', kind: 'edit' as const, detail: { type: 'text' as const, text: '' } });
  let answerPerson: () => void = () => {};
  const asking = tool(
    () =>
      new Promise((resolve) => {
        answerPerson = () => resolve({ ok: true, text: 'allowed' });
      }),
    { confirm },
  );
  const answer = call([asking], { path: 'a' }, { limit: 1 });
  await new Promise((resolve) => setTimeout(resolve, 30));
  answerPerson();
  assert.deepEqual(await answer, { ok: true, text: 'allowed' });
});

test('an abort ends the wait at once and reaches the tool', async () => {
  const stop = new AbortController();
  let told = false;
  const hanging = tool(
    (_input, signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          told = true;
        });
        queueMicrotask(() => stop.abort());
      }),
  );
  assert.deepEqual(await call([hanging], { path: 'a' }, { signal: stop.signal }), { ok: false, text: 'Cancelled.' });
  assert.equal(told, true);
  assert.match((await call([echo], { path: 'a' }, { signal: stop.signal })).text, /before it began/);
});

test('an endless answer is cut, and says so', async () => {
  const answer = await call([tool(async () => ({ ok: true, text: 'x'.repeat(1_000_000) }))], { path: 'a' });
  assert.ok(answer.text.length < 401_000);
  assert.match(answer.text, /600000 more characters/);
});
