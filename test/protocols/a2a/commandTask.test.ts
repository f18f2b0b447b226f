import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { asks, data, fakeAgent, type Json, over, type Reply, status, text } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

const own = (record: Json): Json => ({ ...record, taskId: 'exec-1', contextId: 'c9' });
const words = (parts: readonly Json[]): Json => ({ kind: 'message', role: 'agent', messageId: 'e', parts });
const ofCommand = (state: string, more: Json = {}): Json => ({ kind: 'task', id: 'exec-1', contextId: 'c9', status: { state }, ...more });
const message = (params: Json): Json => params.message as Json;

test('a command runs in a task of its own; the conversation goes on in the one it had', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [{ name: 'mem', description: 'd' }] }),
      'message/stream': (_, reply) => {
        reply.record(status('working', 'TEXT_CONTENT', [text('Hello.')]));
        reply.record(over('input-required'));
        reply.end();
      },
      'command/execute': (_, reply) => reply.json({ execution_id: 'exec-1', status: 'STARTED', message: '' }),
      'tasks/resubscribe': (_, reply) => {
        reply.record(ofCommand('working'));
        reply.record(own(status('working', 'TEXT_CONTENT', [text('Remembered.')])));
        reply.record(own(over()));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  await session.prompt('hi');
  session.live.send({ type: 'command', turnId: 'cmd', path: ['mem'], args: '' });
  assert.equal(textOf(await session.ended('cmd')), 'Remembered.');
  await session.prompt('next');
  const messages = agent.requests('message/stream').map(({ params }) => message(params));
  assert.deepEqual(
    messages.map(({ taskId, contextId }) => [taskId, contextId]),
    [
      [undefined, undefined],
      ['t1', 'c1'],
    ],
  );
  assert.match(session.now().resumeKey ?? '', /"t1"/);
});

for (const waits of ['AWAITING_SHELL_CONFIRMATION', 'AWAITING_ACTION_CONFIRMATION'])
  test(`a command that is answered with ${waits}: it is asked about, and what is decided goes to its task`, async (t) => {
    const shell = waits.includes('SHELL');
    const details = { execute_details: { command: 'make', working_directory: '/w' } };
    const asked = shell
      ? { confirmation_request: { ...(asks.confirmation_request as Json), file_edit_details: undefined, ...details } }
      : asks;
    const waiting = data({ tool_call_id: 'k1', status: 'PENDING', tool_name: shell ? 'shell' : 'write_file', ...asked });
    const agent = await fakeAgent(t, {
      on: {
        'commands/get': (_, reply) => reply.json({ commands: [{ name: 'deploy', description: 'd' }] }),
        'command/execute': (_, reply) => reply.json({ execution_id: 'exec-1', status: waits, message: '' }),
        'tasks/resubscribe': (_, reply) => {
          reply.record(ofCommand('working'));
          reply.record(own(status('working', 'TOOL_CALL_CONFIRMATION', [waiting])));
          reply.record(own(status('input-required', 'STATE_CHANGE', [], { final: true })));
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(ofCommand('input-required', { history: [words([waiting])] })),
        'message/stream': (_, reply) => {
          reply.record(own(status('working', 'TOOL_CALL_UPDATE', [data({ tool_call_id: 'k1', status: 'SUCCEEDED', tool_name: 'x' })])));
          reply.record(own(over()));
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    await session.opened();
    session.live.send({ type: 'command', turnId: 'cmd', path: ['deploy'], args: '' });
    const ask = await session.approval();
    assert.equal(ask.detail.type, shell ? 'command' : 'edit');
    session.answer(ask, option(ask, 'allow_once'));
    const turn = await session.ended('cmd');
    assert.deepEqual([turn.status, callsOf(turn).map((call) => call.status)], ['done', ['done']]);
    assert.deepEqual(
      agent.requests('message/stream').map(({ params }) => message(params).taskId),
      ['exec-1'],
    );
  });

for (const [how, resubscribed] of [
  ['a subscription that tells the whole task', (reply: Reply, whole: Json) => reply.record(whole)],
  ['a subscription that tells the task without what was said', (reply: Reply) => reply.record(ofCommand('completed'))],
  ['a refusal, since it is over', undefined],
] as const)
  test(`a command that is over before it is subscribed to is shown from its task: ${how}`, async (t) => {
    const ran = data({ tool_call_id: 'k7', status: 'SUCCEEDED', tool_name: 'ls', output: { text: 'ok' } });
    const whole = ofCommand('completed', { history: [words([ran]), { ...words([text('Hello.')]), messageId: 'f' }] });
    const agent = await fakeAgent(t, {
      on: {
        'commands/get': (_, reply) => reply.json({ commands: [{ name: 'mem', description: 'd' }] }),
        'message/stream': (_, reply) => {
          reply.record(status('working', 'TEXT_CONTENT', [text('Hello.')], { messageId: 'a' }));
          reply.record(over('input-required'));
          reply.end();
        },
        'command/execute': (_, reply) => reply.json({ execution_id: 'exec-1', status: 'STARTED', message: '' }),
        'tasks/resubscribe': (_, reply) => {
          if (!resubscribed) return reply.error(-32004, 'The task is over.');
          resubscribed(reply, whole);
          reply.end();
        },
        'tasks/get': (_, reply) => reply.json(whole),
      },
    });
    const session = talk(t, agent.url);
    await session.opened();
    await session.prompt('hi');
    session.live.send({ type: 'command', turnId: 'cmd', path: ['mem'], args: '' });
    const turn = await session.ended('cmd');
    assert.deepEqual([turn.status, textOf(turn), callsOf(turn).map((call) => call.status)], ['done', 'Hello.', ['done']]);
    assert.ok(turn.parts.every((part) => part.kind !== 'notice'));
    assert.equal(agent.requests('command/execute').length, 1);
  });

test('a window that goes while a command runs: the next one goes on with the command, and then with the conversation', async (t) => {
  const history = [words([text('Half ')])];
  let state = 'working';
  const agent = await fakeAgent(t, {
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [{ name: 'mem', description: 'd' }] }),
      'message/stream': (_, reply) => {
        reply.record(status('working', 'TEXT_CONTENT', [text('Hello.')], { messageId: 'a' }));
        reply.record(over('input-required'));
        reply.end();
      },
      'command/execute': (_, reply) => reply.json({ execution_id: 'exec-1', status: 'STARTED', message: '' }),
      'tasks/resubscribe': (_, reply) => reply.record(ofCommand(state, { history })),
      'tasks/get': (_, reply) => reply.json(ofCommand(state, { history })),
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  await session.prompt('hi');
  session.live.send({ type: 'command', turnId: 'cmd', path: ['mem'], args: '' });
  await session.until('its words', (now) => now.turns[1]?.parts.length === 1);
  state = 'completed';
  history.push({ ...words([text('and whole.')]), messageId: 'f' });
  await session.live.restart();
  const now = await session.until('the end', ({ turns }) => turns[1]?.status === 'done');
  assert.deepEqual(now.turns.map(textOf), ['Hello.', 'Half and whole.']);
  await session.prompt('next');
  assert.equal(message(agent.requests('message/stream')[1]?.params ?? {}).taskId, 't1');
  assert.equal(agent.requests('command/execute').length, 1);
});

const started = (message: string, more: Json = {}): Json => ({ execution_id: 'exec-1', status: 'STARTED', message, ...more });
const answers: readonly (readonly [string, Json, string, RegExp])[] = [
  ['started, with words and no task', { status: 'STARTED', message: 'Saved 3 facts.' }, 'done', /^text Saved 3 facts\.$/],
  ['started, as a number', { status: 1 }, 'done', /^text The command has run\.$/],
  [
    'no status, with words',
    { execution_id: '', status: 'COMMAND_EXECUTION_STATUS_UNSPECIFIED', message: 'What?' },
    'done',
    /^text What\?$/,
  ],
  ['words alone', { message: 'Done so.' }, 'done', /^text Done so\.$/],
  ['no status and no words', { execution_id: '', status: 0 }, 'failed', /could not be started/],
  ['not started', { status: 'FAILED_TO_START', message: 'Too early.' }, 'failed', /Too early/],
  ['waiting, with no task to answer in', { status: 'AWAITING_SHELL_CONFIRMATION', message: 'May I?' }, 'failed', /May I/],
  ['started, in a task that ends without words', started('Indexing 200 files'), 'done', /^Indexing 200 files$/],
  ['started, in a task nobody knows', started('Indexing', { execution_id: 'gone' }), 'failed', /^Indexing\n.*does not know its task/],
];
for (const [what, answer, status, shown] of answers)
  test(`a command is answered: ${what}`, async (t) => {
    const known = (reply: Reply, params: Json, how: () => void) => (params.id === 'gone' ? reply.error(-32001, 'Not found') : how());
    const agent = await fakeAgent(t, {
      on: {
        'commands/get': (_, reply) => reply.json({ commands: [{ name: 'hey', description: 'd' }] }),
        'command/execute': (_, reply) => reply.json(answer),
        'tasks/resubscribe': ({ params }, reply) =>
          known(reply, params, () => {
            reply.record(ofCommand('working'));
            reply.record(own(over()));
            reply.end();
          }),
        'tasks/get': ({ params }, reply) => known(reply, params, () => reply.json(ofCommand('completed'))),
      },
    });
    const session = talk(t, agent.url);
    await session.opened();
    session.live.send({ type: 'command', turnId: 'cmd', path: ['hey'], args: '' });
    const turn = await session.ended('cmd');
    const words = turn.parts.map((part) =>
      part.kind === 'text' ? `text ${part.text}` : part.kind === 'notice' ? part.notice.text : part.kind,
    );
    assert.equal(turn.status, status);
    assert.match([...words, ...(turn.error ? [turn.error.message] : [])].join('\n'), shown);
  });
