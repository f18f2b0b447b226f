import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { finish, said, start, step } from '../../fakes/aiSdk.ts';
import { noticesOf, talk, textOf } from './talk.ts';

// Bytes on a real connection: fragments, packing, limits.

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

test('no blank line at the end, no [DONE]', async (t) => {
  const turn = await answered(t, ANSWER + 'data: {"type":"text-delta","id":"u","delta":"last"}');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Grüße, 漢字 😀.|last']);
});

test('a connection that breaks after [DONE] is a normal end', async (t) => {
  const turn = await answered(t, `${ANSWER}data: [DONE]\n\n`, 'cut');
  assert.equal(turn.status, 'done');
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
