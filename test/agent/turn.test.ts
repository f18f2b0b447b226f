import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Cancelled } from '../../src/agent/conversation.ts';
import { ModelError } from '../../src/agent/models/model.ts';
import { failed } from '../../src/agent/tools/tool.ts';
import { temporaryFolder } from './agentProcess.ts';
import { ask, play, results, textSaid, untilAborted } from './scripted.ts';

const read = (file: string) => ['ReadFile', { path: file }] as const;
const run = (command: string) => ['Shell', { command }] as const;
const later = (error: object = {}) => new ModelError('service', 'busy', { retry: true, retryAfter: 0.001, status: 429, ...error });

test('the results of a step are what the model sees next, in the order of its calls', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'alpha');
  const { conversation, model } = play(cwd, [{ text: 'looking', calls: [read('a.txt'), read('none.txt')] }, 'done']);
  assert.deepEqual(await ask(conversation, 'go'), { status: 'finished' });
  const seen = model.requests[1]?.history ?? [];
  assert.deepEqual(
    seen.map((message) => message.role),
    ['user', 'assistant', 'tool', 'tool'],
  );
  assert.deepEqual(results(seen), ['ReadFile: Lines 1-1 of 1 of a.txt.', 'ReadFile: none.txt does not exist.']);
});

test('reads run beside each other, edits one after another', async (t) => {
  const cwd = temporaryFolder(t);
  const waiting: (() => void)[] = [];
  const together = play(cwd, [{ calls: [read('/etc/hostname'), read('/etc/hosts'), read('/etc/passwd')] }, 'done'], {
    // None is answered before all three are asked.
    approve: () =>
      new Promise((resolve) => {
        waiting.push(() => resolve({ allow: true, forSession: false }));
        if (waiting.length === 3) for (const go of waiting) go();
      }),
  });
  assert.deepEqual(await ask(together.conversation, 'reads'), { status: 'finished' });

  const order: string[] = [];
  const apart = play(cwd, [{ calls: [run('echo one'), run('echo two')] }, 'done'], {
    approve: ({ description }) => {
      order.push(description);
      return { allow: true, forSession: false };
    },
  });
  const say = apart.frontend.emit;
  apart.frontend.emit = (one) => {
    say(one);
    if (one.type === 'call.ended') order.push(`ended ${one.outcome.text.trim()}`);
  };
  await ask(apart.conversation, 'commands');
  assert.deepEqual(order, ['Run command `echo one`', 'ended one', 'Run command `echo two`', 'ended two']);
});

test('bad calls are told to the model and the turn goes on', async (t) => {
  const calls = [
    ['ReadFile', '{"path"'],
    ['Nonsense', {}],
    ['ReadFile', { pfad: 1 }],
    ['ReadFile', ''],
  ] as const;
  const { conversation } = play(temporaryFolder(t), [{ calls }, 'I see']);
  await ask(conversation, 'go');
  const told = results(conversation.history.messages);
  assert.match(told[0] ?? '', /not valid JSON/);
  assert.match(told[1] ?? '', /no tool "Nonsense".*ReadFile/);
  assert.match(told[2] ?? '', /Invalid arguments: path/);
  assert.match(told[3] ?? '', /Invalid arguments: path/);
});

test('a failure that may pass is tried again; what was said of it is taken back', async (t) => {
  const { conversation, frontend, model } = play(temporaryFolder(t), [
    async function* () {
      yield { type: 'text', text: 'half' };
      yield { type: 'call', call: { id: 'x', name: 'Shell', input: '{"command":"touch made"}' } };
      throw later();
    },
    later(),
    'whole',
  ]);
  assert.deepEqual(await ask(conversation, 'go'), { status: 'finished' });
  assert.deepEqual(
    frontend.said.filter((one) => one.type === 'step.retry').map((one) => [one.nextAttempt, one.status, one.wait]),
    [
      [2, 429, 0.001],
      [3, 429, 0.001],
    ],
  );
  assert.equal(frontend.approvals.length, 0, 'nothing of the broken step was done');
  assert.equal(model.requests.length, 3);
  assert.deepEqual(
    conversation.history.messages.map((message) => message.role),
    ['user', 'assistant'],
  );
});

test('after the last attempt the error comes out, and the conversation can go on', async (t) => {
  const { conversation, frontend } = play(temporaryFolder(t), [later(), later(), later(), later({ status: 500 }), 'back']);
  await assert.rejects(ask(conversation, 'go'), /busy/);
  assert.equal(frontend.said.filter((one) => one.type === 'step.broken').length, 1);
  assert.deepEqual(await ask(conversation, 'again'), { status: 'finished' });
});

test('an error that will not pass is not tried again', async (t) => {
  const { conversation, model } = play(temporaryFolder(t), [new ModelError('login', 'bad key')]);
  await assert.rejects(ask(conversation, 'go'), /bad key/);
  assert.equal(model.requests.length, 1);
});

test('the number of steps is bounded', async (t) => {
  const lines = Array.from({ length: 5 }, () => ({ calls: [['ListDirectory', {}]] as const }));
  const { conversation, model } = play(temporaryFolder(t), lines, {}, { maxSteps: 3 });
  assert.deepEqual(await ask(conversation, 'go'), { status: 'max_steps_reached', steps: 3 });
  assert.equal(model.requests.length, 3);
});

test('a rejection without a word ends the turn and skips the calls behind it', async (t) => {
  const cwd = temporaryFolder(t);
  const { conversation, model } = play(cwd, [{ calls: [run('touch one'), run('touch two')] }, 'next'], {
    approve: () => ({ allow: false }),
  });
  assert.deepEqual(await ask(conversation, 'go'), { status: 'finished' });
  assert.equal(model.requests.length, 1);
  assert.deepEqual(results(conversation.history.messages), [
    'Shell: The user rejected this call. Nothing was changed.',
    'Shell: Not run: the user rejected an earlier call.',
  ]);
});

test('a rejection with feedback lets the model go on with it', async (t) => {
  const { conversation, model } = play(temporaryFolder(t), [{ calls: [run('rm x')] }, 'I will not'], {
    approve: () => ({ allow: false, feedback: 'use git rm' }),
  });
  await ask(conversation, 'go');
  assert.match(results(model.requests[1]?.history ?? [])[0] ?? '', /The user says: use git rm/);
});

test('allowed for the session: that action only, also for requests that wait already', async (t) => {
  const cwd = temporaryFolder(t);
  const answers: ((answer: { allow: true; forSession: boolean }) => void)[] = [];
  const { conversation, frontend } = play(
    cwd,
    [
      { calls: [read('/etc/hostname'), read('/etc/hosts')] },
      { calls: [read('/etc/passwd'), ['WriteFile', { path: 'a.txt', content: 'x' }]] },
      'done',
    ],
    {
      approve: (request) =>
        request.action.startsWith('read')
          ? new Promise((resolve) => {
              answers.push(resolve);
              if (answers.length === 2) resolve({ allow: true, forSession: true });
            })
          : { allow: true, forSession: false },
    },
  );
  await ask(conversation, 'go');
  assert.deepEqual(
    frontend.approvals.map((one) => one.action),
    ['read outside of working directory', 'read outside of working directory', 'edit file'],
  );
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'x');
});

test('cancelling: while the model speaks, while a question is open, while a command runs; each leaves a history that goes on', async (t) => {
  const cwd = temporaryFolder(t);
  const speaking = play(cwd, [
    async function* (_, signal) {
      yield { type: 'text', text: 'a' };
      speaking.conversation.cancel();
      await untilAborted(signal);
    },
    'fine',
  ]);
  await assert.rejects(ask(speaking.conversation, 'go'), Cancelled);
  assert.deepEqual(await ask(speaking.conversation, 'again'), { status: 'finished' });

  const asking = play(cwd, [{ calls: [run('touch made'), read('x')] }, 'fine'], {
    approve: () => {
      asking.conversation.cancel();
      return new Promise(() => {});
    },
  });
  await assert.rejects(ask(asking.conversation, 'go'), Cancelled);
  assert.equal(results(asking.conversation.history.messages).length, 2, 'every call has its result');
  assert.deepEqual(await ask(asking.conversation, 'again'), { status: 'finished' });

  const running = play(cwd, [{ calls: [run('echo up; sleep 600')] }, 'fine']);
  const say = running.frontend.emit;
  running.frontend.emit = (one) => {
    say(one);
    if (one.type === 'call.output') running.conversation.cancel();
  };
  await assert.rejects(ask(running.conversation, 'go'), Cancelled);
  assert.deepEqual(await ask(running.conversation, 'again'), { status: 'finished' });
  assert.equal(running.conversation.cancel(), false, 'nothing runs any more');
});

test('a model that does not mind the signal does not hold up the user who said stop', async (t) => {
  const deaf = play(temporaryFolder(t), [
    async function* () {
      yield { type: 'text', text: 'a' };
      deaf.conversation.cancel();
      await new Promise(() => {});
    },
    'fine',
  ]);
  await assert.rejects(ask(deaf.conversation, 'go'), Cancelled);
  assert.deepEqual(await ask(deaf.conversation, 'again'), { status: 'finished' });
});

test('cancelling cuts the wait between two attempts short', async (t) => {
  const { conversation, frontend } = play(temporaryFolder(t), [later({ retryAfter: 50 })]);
  const say = frontend.emit;
  frontend.emit = (one) => {
    say(one);
    if (one.type === 'step.retry') conversation.cancel();
  };
  await assert.rejects(ask(conversation, 'go'), Cancelled);
});

test('a steer is taken up after the step, and keeps the turn going', async (t) => {
  const { conversation, frontend, model } = play(temporaryFolder(t), [
    async function* () {
      conversation.steer([{ type: 'text', text: 'also this' }]);
      yield { type: 'text', text: 'first' };
    },
    'second',
  ]);
  assert.equal(conversation.steer([{ type: 'text', text: 'too early' }]), false);
  await ask(conversation, 'go');
  assert.equal(textSaid(frontend), 'firstsecond');
  assert.deepEqual(model.requests[1]?.history.at(-1), { role: 'user', parts: [{ type: 'text', text: 'also this' }] });
  assert.ok(frontend.said.some((one) => one.type === 'steered'));
});

test('ids that are empty or were used before are replaced, so that every call has its own', async (t) => {
  const calls = [
    ['ListDirectory', {}, 'same'],
    ['ListDirectory', {}, 'same'],
    ['ListDirectory', {}, ''],
  ] as const;
  const { conversation } = play(temporaryFolder(t), [{ calls }, 'x', { calls: [['ListDirectory', {}, 'same']] }, 'y']);
  await ask(conversation, 'one');
  conversation.clear();
  await ask(conversation, 'two');
  assert.equal(conversation.history.callIds.size, 4);
  const ids = conversation.history.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
  assert.ok(!ids.includes('same'));
});

test('a tool of the client is run by the client, with checked arguments, and its failure is told', async (t) => {
  const tools = [
    { name: 'offered', description: 'x', parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
  ];
  const ran: string[] = [];
  const { conversation } = play(
    temporaryFolder(t),
    [
      {
        calls: [
          ['offered', { n: 'a' }],
          ['offered', { n: 1 }],
        ],
      },
      'done',
    ],
    {
      tools,
      run: (name, input) => {
        ran.push(`${name} ${input}`);
        return failed('no editor');
      },
    },
  );
  await ask(conversation, 'go');
  assert.deepEqual(ran, ['offered {"n":1}']);
  assert.deepEqual(results(conversation.history.messages), ['offered: Invalid arguments: input/n must be integer', 'offered: no editor']);
});

test('an unknown slash command is answered; a known one works', async (t) => {
  const { conversation, frontend } = play(temporaryFolder(t), []);
  assert.deepEqual(await ask(conversation, '/nonsense now'), { status: 'finished' });
  assert.match(textSaid(frontend), /Unknown slash command "\/nonsense"/);
  await ask(conversation, '/status');
  assert.match(textSaid(frontend), /Model: scripted/);
});

test('near the size of the context the history becomes a summary, and calls keep their results', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'big.txt'), 'some words\n'.repeat(900));
  const model = { contextSize: 4000 };
  const { conversation, frontend, model: scripted } = play(cwd, [{ calls: [read('big.txt')] }, 'THE SUMMARY', 'answer'], {}, { model });
  await ask(conversation, 'first');
  assert.equal(frontend.said.filter((one) => one.type === 'compaction.ended').length, 1);
  assert.equal(textSaid(frontend), 'answer');
  const [, summary, after] = scripted.requests;
  assert.deepEqual(summary?.tools, [], 'the summary was asked for without tools');
  assert.match(JSON.stringify(after?.history), /THE SUMMARY.*Go on/);
  const known = conversation.history.messages.flatMap((message) =>
    message.role === 'assistant' ? message.calls.map((call) => call.id) : [],
  );
  assert.ok(conversation.history.messages.every((message) => message.role !== 'tool' || known.includes(message.callId)));
});

test('an answer that was cut says so in its text, also when it said nothing, unless the client is told apart', async (t) => {
  const cut = async function* () {
    yield { type: 'cut', text: 'It was cut.' } as const;
  };
  const plain = play(temporaryFolder(t), [cut]);
  assert.deepEqual(await ask(plain.conversation, 'go'), { status: 'finished' });
  assert.equal(textSaid(plain.frontend).trim(), '*It was cut.*');
  const told = play(temporaryFolder(t), [cut]);
  Object.assign(told.frontend, { tellsCuts: true });
  await ask(told.conversation, 'go');
  assert.deepEqual(
    [textSaid(told.frontend), told.frontend.said.filter(({ type }) => type === 'cut')],
    ['', [{ type: 'cut', text: 'It was cut.' }]],
  );
});
