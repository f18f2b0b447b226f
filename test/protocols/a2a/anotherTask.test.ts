import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, fakeAgent, type Json, over, status, task, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);
const of = (taskId: string, record: Json): Json => ({ ...record, ...('id' in record ? { id: taskId } : { taskId }), contextId: 'cX' });

const foreign: readonly (readonly [string, Json])[] = [
  ['a failed task, whole', task('failed')],
  ['a running task, whole', task('working')],
];
for (const [how, record] of foreign)
  test(`a task that comes in the middle of ours is not taken for ours: ${how}`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (_, reply, at) => {
          reply.record(task('working'));
          if (at === 0) {
            reply.record(of('tX', record));
            reply.record(says('Ours.'));
          }
          reply.record(over());
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    const turn = await session.prompt('hi');
    assert.deepEqual([turn.status, turn.error, textOf(turn)], ['done', undefined, 'Ours.']);
    await session.prompt('and on');
    const message = agent.requests('message/stream').at(-1)?.params.message as Json | undefined;
    assert.deepEqual([message?.taskId, message?.contextId], ['t1', 'c1'], 'the conversation goes on where it was');
  });

test('the end of another task at the head of a decision’s stream leaves the decided call its own end', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        if (at === 0) for (const one of [task('submitted'), call('PENDING', asks), over('input-required')]) reply.record(one);
        else for (const one of [of('tX', over('failed')), call('SUCCEEDED'), says('Ours.'), over()]) reply.record(one);
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('hi');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Ours.']);
});

/** What @a2a-js/sdk 0.3 says when its agent breaks off within a task that is new. */
const brokenOff = (words = 'Agent execution error: boom'): Json => ({
  ...status('failed', 'STATE_CHANGE', [text(words)], { final: true }),
  taskId: 'fresh',
});

for (const [how, before] of [
  ['nothing else was said', []],
  ['it has spoken', [says('Looking. ')]],
] as const)
  test(`an agent that breaks off names a task nobody has heard of, and ${how}: the turn ends with its words, and the next prompt begins anew`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (_, reply, at) => {
          const now = at === 0 ? [task('submitted'), ...before, brokenOff()] : [task('submitted', { id: 't2' }), of('t2', over())];
          for (const one of now) reply.record(one);
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(task('submitted')),
        'tasks/resubscribe': (_, reply) => reply.end(),
      },
    });
    const session = talk(t, agent.url, { timing: { retries: [0, 600_000] } });
    const turn = await session.prompt('hi');
    assert.deepEqual([turn.status, turn.error?.message], ['failed', 'Agent execution error: boom']);
    assert.equal(agent.requests('tasks/resubscribe').length, 0, 'no line was lost');
    assert.equal((await session.prompt('again')).status, 'done');
    assert.equal((agent.requests('message/stream')[1]?.params.message as Json | undefined)?.taskId, undefined);
  });

for (const [what, records] of [
  ['ours goes on after it', [brokenOff(), says('Ours.'), over()]],
  ['ours was heard of since', [brokenOff(), status('working', 'STATE_CHANGE')]],
  ['ours rests', [says('Ours.'), status('input-required', 'STATE_CHANGE'), brokenOff()]],
  ['it is of another conversation', [{ ...brokenOff(), contextId: 'cX' }]],
  ['it was heard of before', [{ ...says('Theirs.'), taskId: 'fresh' }, brokenOff()]],
  ['ours has ended', [says('Ours.'), over(), brokenOff()]],
  ['another is not over', [{ ...status('failed', 'STATE_CHANGE', [text('Not mine.')]), taskId: 'fresh' }]],
] as const)
  test(`the failure of another task is not the end of ours: ${what}`, async (t) => {
    const agent = await fakeAgent(t, {
      on: {
        'message/stream': (_, reply) => {
          for (const one of [task('working'), ...records]) reply.record(one);
          reply.end();
        },
        'tasks/resubscribe': (_, reply) => {
          for (const one of [task('working'), says('Ours.'), over()]) reply.record(one);
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(task('working')),
      },
    });
    const turn = await talk(t, agent.url).prompt('hi');
    assert.deepEqual([turn.status, turn.error, textOf(turn)], ['done', undefined, 'Ours.']);
  });

test('the failure of another task leaves a question of ours open', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        const now = at === 0 ? [task('submitted'), call('PENDING', asks), brokenOff()] : [call('SUCCEEDED'), over()];
        for (const one of now) reply.record(one);
        reply.end();
      },
      'tasks/get': (_, reply) => reply.json(task('working')),
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('hi');
  const ask = await session.approval();
  // The stream has ended, and so has what the client does about it.
  await fetch(`${agent.url}/.well-known/agent-card.json`).then((card) => card.text());
  assert.equal(session.now().asks[0]?.id, ask.id);
  session.answer(ask, option(ask, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
});
