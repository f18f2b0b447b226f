import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

/** What the command line of the bundled agent does with every value of `--input-format` and `--output-format`. */
let base: string;
before(() => {
  base = mkdtempSync(path.join(tmpdir(), 'parley-formats-'));
  mkdirSync(path.join(base, 'work'));
  writeFileSync(path.join(base, 'work', 'notes.md'), 'one\ntwo\n');
});
after(() => rmSync(base, { recursive: true, force: true }));

async function run(args: readonly string[], input: string) {
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), ...args], {
    cwd: path.join(base, 'work'),
    env: { ...process.env, KIMI_SHARE_DIR: path.join(base, 'share'), PARLEY_MODEL_BASE_URL: undefined },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  const lines = () =>
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, out, err, lines };
}
const PROMPT = 'read notes.md\n';

test('text in, text out: the answer and nothing else', async () => {
  const { code, out } = await run(['--input-format', 'text', '--output-format', 'text'], PROMPT);
  assert.equal(code, 0);
  assert.match(out, /notes\.md/);
  assert.throws(() => JSON.parse(out));
});

test('text in, stream-json out: the message dialect line by line, up to its result', async () => {
  const { code, lines } = await run(['--output-format', 'stream-json'], PROMPT);
  const types = lines().map((line) => line.type);
  assert.deepEqual([code, types[0], types.at(-1)], [0, 'system', 'result']);
  assert.ok(types.includes('assistant'));
});

test('text in, json out: the same as one array at the end', async () => {
  const { code, out } = await run(['--output-format', 'json'], PROMPT);
  const all = JSON.parse(out) as { type: string; is_error?: boolean }[];
  assert.deepEqual([code, all[0]?.type, all.at(-1)?.type, all.at(-1)?.is_error], [0, 'system', 'result', false]);
});

test('text in, json out in the envelope dialect', async () => {
  const { out } = await run(['--output-format', 'json', '--dialect', 'envelope'], PROMPT);
  const all = JSON.parse(out) as { object?: string }[];
  assert.ok(all.some((line) => line.object === 'chat.completion'));
});

test('text in, stream-chunk-json out: chunks of the envelope dialect', async () => {
  const { code, lines } = await run(['--output-format', 'stream-chunk-json'], PROMPT);
  assert.equal(code, 0);
  const all = lines();
  const last = all.pop();
  assert.deepEqual([last?.type, last?.exit_code], ['x-qwen-terminal', 0]);
  assert.ok(
    all.every((line) => line.object === 'chat.completion.chunk' || line.type === 'control_request'),
    JSON.stringify(all.slice(0, 3)),
  );
  assert.match(JSON.stringify(lines()), /"finish_reason":"stop"/);
});

test('stream-json both ways: a prompt as a line, in either dialect', async () => {
  const user = { type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: PROMPT } };
  const first = await run(['--input-format', 'stream-json', '--output-format', 'stream-json'], `${JSON.stringify(user)}\n`);
  assert.equal(first.lines().at(-1)?.type, 'result');
  const chat = { session_id: '_new', input: { origin: 'user', parts: [{ type: 'text', text: PROMPT }] } };
  for (const [format, object] of [
    ['stream-json', 'chat.completion'],
    ['stream-chunk-json', 'chat.completion.chunk'],
  ] as const) {
    const { lines } = await run(['--input-format', 'stream-json', '--output-format', format], `${JSON.stringify(chat)}\n`);
    assert.ok(
      lines().some((line) => line.object === object),
      format,
    );
  }
  const chunks = await run(['--input-format', 'stream-chunk-json', '--output-format', 'stream-chunk-json'], `${JSON.stringify(chat)}\n`);
  assert.ok(chunks.lines().some((line) => line.object === 'chat.completion.chunk'));
});

test('a copy of a conversation goes on under a name of its own', async () => {
  const idOf = ({ lines }: Awaited<ReturnType<typeof run>>) => String(lines()[0]?.session_id);
  const formats = ['--output-format', 'stream-json'];
  const first = idOf(await run(formats, PROMPT));
  const copy = idOf(await run([...formats, '--resume', first, '--fork-session'], PROMPT));
  assert.notEqual(copy, first);
  assert.equal(idOf(await run([...formats, '--resume', copy], PROMPT)), copy);
});

test('what does not go together, or is no format, is refused with a sentence; so is no prompt', async () => {
  for (const [args, why] of [
    [['--input-format', 'stream-json'], /--input-format stream-json needs --output-format stream-json or stream-chunk-json/],
    [['--input-format', 'stream-json', '--output-format', 'json'], /needs --output-format stream-json/],
    [['--output-format', 'xml'], /--output-format takes text, json, stream-json, stream-chunk-json, not "xml"/],
    [['--input-format', 'json'], /--input-format takes text, stream-json, stream-chunk-json, not "json"/],
    [['--output-format', 'json'], /there is no prompt/],
  ] as const) {
    const { code, out, err } = await run(args, '');
    assert.match(err, why);
    assert.deepEqual([code === 0, out], [false, ''], args.join(' '));
  }
});
