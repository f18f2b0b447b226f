import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
import { fakeAgent, type Json, shipped, status, text } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const partsOf = (params: Json) => (params.message as { parts: readonly { data?: Json; text?: string }[] }).parts;
test('our sockets are not closed while an approval waits, and signs of life go over the turn connection', async (t) => {
  const meta = { coderAgent: { kind: 'state-change' } };
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) reply.record(shipped('awaiting_approval', { confirmationDetails: { type: 'exec', command: 'ls' } }));
        else reply.record(shipped('success', { response: { resultDisplay: 'a.txt' } }));
        reply.record(status('input-required', '', [], { final: true, meta }));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url, { timing: { ping: 20 } });
  const turnId = session.begin('list');
  const ask = await session.approval();
  const before = agent.requests('card').length;
  // Far longer than the two seconds for which idle sockets are usually kept.
  await new Promise((resolve) => setTimeout(resolve, 2600));
  assert.deepEqual(agent.dropped, []);
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, callsOf(turn)[0]?.status], ['done', 'done']);
  const [prompt, decision] = agent.requests('message/stream');
  const pings = agent.requests('card').slice(before);
  assert.ok(pings.length > 3);
  assert.deepEqual([...new Set([prompt, decision, ...pings].map((one) => one?.socket))].length, 1, 'one connection carried them all');
  assert.deepEqual(partsOf(decision?.params ?? {})[0]?.data, { callId: 'g1', outcome: 'proceed_once' });
});

test('a file that is not there before its edit is new, while it is asked about and afterwards; an empty one is not', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-new-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [fresh, empty] = [path.join(folder, 'fresh.md'), path.join(folder, 'empty.md')];
  writeFileSync(empty, '');
  const meta = { coderAgent: { kind: 'text-content' } };
  const change = (filePath: string) => ({ filePath, originalContent: '', newContent: 'hello' });
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true }, securitySchemes: { b: { type: 'http', scheme: 'bearer' } } },
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) {
          for (const [id, file] of [
            ['fresh', fresh],
            ['empty', empty],
          ] as const)
            reply.record(shipped('awaiting_approval', { confirmationDetails: { type: 'edit', ...change(file) } }, id));
        } else {
          const [id, file] = at === 1 ? (['fresh', fresh] as const) : (['empty', empty] as const);
          writeFileSync(file, 'hello');
          reply.record(shipped('success', { response: { resultDisplay: { fileDiff: '', ...change(file) } } }, id));
        }
        if (at === 2) reply.record(status('input-required', '', [], { final: true, meta }));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('edit');
  const { asks } = await session.until('both asks', (now) => now.asks.length === 2);
  const before = asks.map((ask) => ask.kind === 'approval' && ask.detail.type === 'edit' && ask.detail.diffs[0]?.before);
  assert.deepEqual(before, [null, '']);
  for (const ask of asks) session.answer(ask, ask.kind === 'approval' ? option(ask, 'allow_once') : { kind: 'cancelled' });
  const turn = await session.ended(turnId);
  assert.deepEqual(
    callsOf(turn).map((call) => [call.status, diffsOf(call)[0]?.before, diffsOf(call)[0]?.after]),
    [
      ['done', null, 'hello'],
      ['done', '', 'hello'],
    ],
  );
});

test('the early Gemini CLI server is never sent changed content: the file is written after the call, where its path led before', async (t) => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-late-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, 'real'));
  symlinkSync(path.join(folder, 'real'), path.join(folder, 'link'));
  const filePath = path.join(folder, 'link', 'a');
  const meta = { coderAgent: { kind: 'state-change' } };
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
    on: {
      'message/stream': (_, reply, at) => {
        const edit = { confirmationDetails: { type: 'edit', filePath, originalContent: null, newContent: 'theirs' } };
        if (at === 0) reply.record(shipped('awaiting_approval', edit));
        if (at === 1) reply.record(shipped('success'));
        reply.record(status('input-required', '', at === 2 ? [text('ok')] : [], { final: true, meta }));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('edit');
  const ask = await session.approval();
  const allow = option(ask, 'allow_once');
  if (allow.kind === 'option') session.answer(ask, { ...allow, edited: 'mine' });
  await session.ended(turnId);
  assert.equal(session.files.get(filePath), 'mine');
  assert.equal(session.places.get(filePath), path.join(folder, 'real', 'a'));
  await session.prompt('go on');
  const [, decision, next] = agent.requests('message/stream');
  assert.deepEqual(partsOf(decision?.params ?? {})[0]?.data, { callId: 'g1', outcome: 'proceed_once' });
  assert.match(partsOf(next?.params ?? {})[0]?.text ?? '', /user changed your proposal for [\s\S]*go on/);
});
