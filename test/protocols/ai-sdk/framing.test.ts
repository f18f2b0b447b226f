import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { finish, said, start, step } from '../../fakes/aiSdk.ts';
import { noticesOf, talk, textOf } from './talk.ts';

const ANSWER = [start('m'), step, ...said('Grüße, 漢字 😀.'), finish('stop')].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');

/** A whole conversation whose only response is these bytes. */
async function answered(t: Parameters<typeof talk>[0], body: string | readonly Buffer[], end: 'end' | 'cut' = 'end') {
  const { prompt } = await talk(t, {
    routes: {
      '/api/chat': async (reply) => {
        reply.open();
        for (const piece of typeof body === 'string' ? [Buffer.from(body)] : body) {
          reply.raw(piece);
          if (typeof body !== 'string') await new Promise((resolve) => setImmediate(resolve));
        }
        if (end === 'end') reply.end();
        else reply.cut();
      },
    },
  });
  return prompt();
}

test('fragments of 1 byte, multibyte characters split', async (t) => {
  const turn = await answered(
    t,
    [...Buffer.from(ANSWER)].map((byte) => Buffer.from([byte])),
  );
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.']);
});

test('\\r\\n, and comments between chunks', async (t) => {
  const turn = await answered(t, `: stream-open\r\n\r\n${ANSWER.replaceAll('\n', '\r\n')}: heartbeat\r\n\r\n:\r\n\r\n`);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.']);
});

for (const [coding, packed] of [
  ['gzip', gzipSync(ANSWER)],
  ['br', brotliCompressSync(ANSWER)],
] as const) {
  test(`a body packed with ${coding}, though nobody asked for it`, async (t) => {
    const { prompt } = await talk(t, {
      routes: { '/api/chat': (reply) => reply.open({ 'content-encoding': coding }).raw(packed).end() },
    });
    const turn = await prompt();
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.']);
  });
}

test('a packed body that breaks off, and one in a packing nobody knows, are failures', async (t) => {
  const { prompt } = await talk(t, {
    options: { resumeUrl: 'none' },
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.open({ 'content-encoding': 'gzip' }).raw(gzipSync(ANSWER).subarray(0, 40)).cut()
          : reply.open({ 'content-encoding': 'squeeze' }).raw('x').end(),
    },
  });
  assert.equal((await prompt()).status, 'failed');
  assert.match((await prompt()).error?.message ?? '', /squeeze/);
});

test('two data lines are one event', async (t) => {
  const turn = await answered(t, `data: {"type":"text-delta",\ndata: "id":"t","delta":"joined"}\n\ndata: [DONE]\n\n`);
  assert.equal(textOf(turn), 'joined');
});

test('no blank line at the end, no [DONE]', async (t) => {
  const turn = await answered(t, ANSWER + 'data: {"type":"text-delta","id":"u","delta":"last"}');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.|last']);
});

test('bytes after [DONE] are ignored', async (t) => {
  const turn = await answered(t, `${ANSWER}data: [DONE]\n\ndata: {"type":"error","errorText":"late"}\n\ngarbage`);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.']);
});

test('a connection that breaks after [DONE] is a normal end', async (t) => {
  const turn = await answered(t, `${ANSWER}data: [DONE]\n\n`, 'cut');
  assert.equal(turn.status, 'done');
});

test('U+2028 in a delta', async (t) => {
  const turn = await answered(t, `data: {"type":"text-delta","id":"t","delta":"a\u2028b\u2029c"}\n\ndata: [DONE]\n\n`);
  assert.equal(textOf(turn), 'a\u2028b\u2029c');
});

test('bad JSON, no type, wrong members in the middle', async (t) => {
  const bad = [
    '{"type":"text-delta",',
    '[1,2]',
    '17',
    'null',
    '{"delta":"x"}',
    '{"type":5}',
    '{"type":"text-delta","id":7,"delta":"x"}',
    '{"type":"tool-input-available","toolCallId":"c"}',
  ];
  const [first, ...rest] = ANSWER.split('\n\n');
  const turn = await answered(t, [first, ...bad.map((one) => `data: ${one}`), ...rest].join('\n\n'));
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.']);
});

test('values that are nested without end are left out', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const turn = await answered(t, `data: {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":${deep}}\n\n${ANSWER}`);
  assert.deepEqual([turn.status, textOf(turn), turn.parts.length], ['done', 'Grüße, 漢字 😀.', 1]);
});

test('a 20 MB file chunk', async (t) => {
  const data = 'A'.repeat(20 * 1024 * 1024);
  const turn = await answered(t, `data: {"type":"file","mediaType":"image/png","url":"data:image/png;base64,${data}"}\n\n${ANSWER}`);
  const [part] = turn.parts;
  assert.ok(part?.kind === 'content' && part.content.type === 'image' && part.content.data.length === data.length);
});

test('a chunk beyond the limit is left out with a notice', async (t) => {
  const data = 'A'.repeat(33 * 1024 * 1024);
  const turn = await answered(t, `data: {"type":"file","mediaType":"image/png","url":"data:image/png;base64,${data}"}\n\n${ANSWER}`);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.']);
  assert.match(noticesOf(turn).join(), /too large/);
});

test('5 000 one-character deltas', async (t) => {
  const words = Array.from({ length: 5_000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join('');
  const deltas = [...words].map((delta) => `data: ${JSON.stringify({ type: 'text-delta', id: 't', delta })}\n\n`).join('');
  const turn = await answered(t, `data: {"type":"text-start","id":"t"}\n\n${deltas}data: [DONE]\n\n`);
  assert.equal(textOf(turn), words);
});
