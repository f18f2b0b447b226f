import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
import { asks, call, data, fakeAgent, type Json, over, shipped, status, task, text, URI } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const partsOf = (params: Json) => (params.message as { parts: readonly { data?: Json; text?: string }[] }).parts;
const messageOf = (params: Json) => params.message as Json;

test('RFC: settings first, a call with approval, live content, the result, completed', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) {
          reply.record(task('submitted'));
          reply.record(status('working', 'STATE_CHANGE'));
          reply.record(status('working', 'THOUGHT', [data({ subject: 'Plan', description: 'Write it.' })]));
          reply.record(call('PENDING', asks));
          reply.record(over('input-required'));
        } else {
          reply.record(call('EXECUTING', { live_content: 'o' }));
          reply.record(call('EXECUTING', { live_content: 'ok' }));
          reply.record(call('SUCCEEDED', { output: { diff: { file_path: '/w/a.txt', new_content: 'mine\n' } } }));
          reply.record(status('working', 'TEXT_CONTENT', [text('Do')]));
          reply.record(status('working', 'TEXT_CONTENT', [text('ne.')]));
          reply.record(over());
        }
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('write');
  const ask = await session.approval();
  assert.deepEqual(ask.detail, { type: 'edit', diffs: [{ path: '/w/a.txt', before: null, after: 'one\ntwo\n' }] });
  const allow = option(ask, 'allow_once');
  if (allow.kind === 'option') session.answer(ask, { ...allow, edited: 'mine\n' });
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Done.']);
  assert.deepEqual(
    turn.parts.map((part) => part.kind),
    ['thought', 'call', 'text'],
  );
  const [made] = callsOf(turn);
  assert.deepEqual([made?.status, made?.input], ['done', { keptAs_is: 1 }]);
  assert.deepEqual(made && diffsOf(made), [{ path: '/w/a.txt', before: null, after: 'mine\n' }]);
  const [first, second] = agent.requests('message/stream');
  assert.deepEqual(messageOf(first?.params ?? {}).metadata, { [URI]: { workspace_path: session.cwd } });
  assert.equal(first?.headers['x-a2a-extensions'], URI);
  const answered = messageOf(second?.params ?? {});
  assert.deepEqual([answered.taskId, answered.contextId, answered.metadata], ['t1', 'c1', undefined]);
  assert.deepEqual(partsOf(second?.params ?? {})[0]?.data, {
    tool_call_id: 'k1',
    selected_option_id: 'proceed_once',
    // The line ends of the proposal.
    file_details: { new_content: 'mine\r\n' },
  });
});

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

test('two calls wait on a stream that stays open: each decision goes out at once, words are shown once', async (t) => {
  const meta = { coderAgent: { kind: 'text-content' } };
  let first: { record(result: unknown): void; end(): void } | undefined;
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true }, securitySchemes: { b: { type: 'http', scheme: 'bearer' } } },
    on: {
      'message/stream': (_, reply, at) => {
        const waits = { confirmationDetails: { type: 'edit', filePath: '/w/a', originalContent: 'a', newContent: 'b' } };
        if (at === 0) {
          first = reply;
          reply.record(shipped('awaiting_approval', waits, 'one'));
          reply.record(shipped('awaiting_approval', waits, 'two'));
          return;
        }
        reply.record(shipped('awaiting_approval', { ...waits, outcome: 'proceed_once' }, 'one'));
        if (at === 1) return reply.end();
        const records = [
          shipped('success', {}, 'one'),
          shipped('success', {}, 'two'),
          status('working', '', [text('Both.')], { meta, messageId: 'same' }),
          status('input-required', '', [], { final: true, meta }),
        ];
        for (const stream of [first, reply]) {
          for (const record of records) stream?.record(record);
          stream?.end();
        }
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('edit');
  const both = await session.until('both asks', (now) => now.asks.length === 2);
  for (const [at, ask] of both.asks.entries()) {
    const allow = ask.kind === 'approval' && option(ask, 'allow_once');
    if (allow && allow.kind === 'option') session.answer(ask, at === 0 ? { ...allow, edited: 'mine' } : allow);
  }
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), callsOf(turn).map((one) => one.status)], ['done', 'Both.', ['done', 'done']]);
  const sent = agent
    .requests('message/stream')
    .slice(1)
    .map(({ params }) => partsOf(params)[0]?.data);
  assert.deepEqual(sent, [
    { callId: 'one', outcome: 'proceed_once', newContent: 'mine' },
    { callId: 'two', outcome: 'proceed_once' },
  ]);
});

test('the early shipped server is never sent changed content: the file is written after the call, where its path led before', async (t) => {
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

test('live output is replaced although it says append, and trimmed', async (t) => {
  const artifact = (words: string) => ({
    kind: 'artifact-update',
    taskId: 't1',
    contextId: 'c1',
    append: true,
    artifact: { artifactId: 'tool-g1-output', parts: [text(words)] },
  });
  let held: { record(result: unknown): void; end(): void } | undefined;
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
    on: {
      'message/stream': (_, reply) => {
        held = reply;
        reply.record(shipped('executing'));
        reply.record(artifact('one      \n\n\n'));
        reply.record(artifact('one      \n\u001b[31mtwo\u001b[0m      \n\n'));
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('run');
  await session.until('output', (now) => /two/.test(JSON.stringify(now.turns)));
  assert.deepEqual(callsOf(session.now().turns[0]!)[0]?.output, [{ kind: 'content', content: { type: 'text', text: 'one\ntwo' } }]);
  held?.record(status('input-required', '', [], { final: true, meta: { coderAgent: { kind: 'state-change' } } }));
  held?.end();
  assert.equal(callsOf(await session.ended(turnId))[0]?.status, 'cancelled', 'what the agent never ended has ended');
});

test('a broken stream is taken up again: nothing is lost and nothing shown twice', async (t) => {
  const said = (id: string, words: string) => status('working', 'TEXT_CONTENT', [text(words)], { messageId: id });
  const history = [
    { role: 'agent', messageId: 'a', parts: [text('One. ')] },
    { role: 'agent', messageId: 'b', parts: [text('Two. ')] },
    { role: 'agent', messageId: 'k', parts: [data({ tool_call_id: 'k1', status: 'SUCCEEDED', tool_name: 'x', output: { text: 'ok' } })] },
  ];
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(task('submitted'));
        reply.record(said('a', 'One. '));
        reply.record(call('EXECUTING'));
        setTimeout(() => reply.cut(), 20);
      },
      'tasks/resubscribe': (_, reply, at) => {
        if (at === 0) return reply.cut();
        reply.record(task('working'));
        reply.record(said('c', 'Three.'));
        reply.record(over());
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('working', { history })),
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn), callsOf(turn).map((one) => one.status)], ['done', 'One. Two. Three.', ['done']]);
  assert.equal(agent.requests('message/stream').length, 1, 'the prompt was sent once');
  assert.equal(agent.requests('tasks/get')[0]?.params.historyLength, 200);
});

test('a task that vanished ends the turn with words, and the next prompt begins another that is told the past', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        reply.record(task('submitted'));
        if (at === 0) {
          reply.record(status('working', 'TEXT_CONTENT', [text('Begun.')]));
          return void setTimeout(() => reply.cut(), 20);
        }
        reply.record(over());
        reply.end();
      },
      'tasks/resubscribe': (_, reply) => reply.error(-32001, 'Task not found'),
    },
  });
  const session = talk(t, agent.url);
  const turn = await session.prompt('go');
  assert.equal(turn.status, 'failed');
  await session.prompt('again');
  const next = agent.requests('message/stream')[1]?.params ?? {};
  assert.equal(messageOf(next).taskId, undefined);
  assert.match(partsOf(next)[0]?.text ?? '', /Agent: Begun\.[\s\S]*again/);
});

test('a completed task that takes no more messages: a new one, the same prompt once, and nobody is told', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (asked, reply, at) => {
        if (at === 1) return reply.error(-32600, 'Task t1 is in a terminal state (completed) and cannot be modified.');
        reply.record(status('working', 'TEXT_CONTENT', [text(`answer ${at}`)]));
        reply.record(over());
        reply.end();
        assert.ok(asked.params.message);
      },
    },
  });
  const session = talk(t, agent.url);
  await session.prompt('one');
  const turn = await session.prompt('two');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'answer 2']);
  const third = messageOf(agent.requests('message/stream')[2]?.params ?? {});
  assert.deepEqual([third.taskId, third.contextId, third.referenceTaskIds], [undefined, 'c1', ['t1']]);
});

test('a confirmation for a call nobody saw, twice the same record, a call that goes back: nothing is approved', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(call('PENDING', asks));
        reply.record(call('PENDING', asks));
        reply.record(call('CANCELLED'));
        reply.record(call('PENDING', asks));
        reply.record(over());
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turn = await session.prompt('go');
  assert.deepEqual(
    callsOf(turn).map((one) => one.status),
    ['cancelled'],
  );
  assert.equal(session.now().asks.length, 0);
  session.live.send({ type: 'answer', askId: 'nobody', answer: { kind: 'option', optionId: 'proceed_once' } });
  assert.equal(agent.requests('message/stream').length, 1);
});
