import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { type Body, called, finish, output, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk, textOf } from './talk.ts';

/** First these calls, then, with their results, a last word. */
const callsThenWord =
  (...calls: readonly ReturnType<typeof called>[]): Route =>
  (reply, _, n) =>
    n === 1
      ? reply.all(start('m'), step, ...calls, stepEnd, finish('tool-calls'))
      : reply.all(start('m'), step, ...said('Thanks.'), stepEnd, finish('stop'));
const partsPosted = (body: Body | undefined) => body?.messages.at(-1)?.parts ?? [];
const posted = (body: Body | undefined, id: string) =>
  partsPosted(body).find((part) => part.toolCallId === id) ?? assert.fail(`${id} was not posted`);

test('ours is run with its input and its result posted; the declaration went with every request', async (t) => {
  const inputs: unknown[] = [];
  const tool = echoTool('open_in_ide', async (input) => {
    inputs.push(input);
    return { ok: true, text: '{"opened":true}' };
  });
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: { '/api/chat': callsThenWord(called('c1', 'open_in_ide', { path: 'a.ts' })) },
  });
  const turn = await prompt();
  assert.deepEqual(inputs, [{ path: 'a.ts' }]);
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c1').status], ['done', 'Thanks.', 'done']);
  const [first, second] = server.bodies('/api/chat');
  assert.deepEqual(posted(second, 'c1'), {
    type: 'tool-open_in_ide',
    toolCallId: 'c1',
    state: 'output-available',
    input: { path: 'a.ts' },
    output: { opened: true },
  });
  assert.deepEqual([second?.trigger, second?.messageId, second?.messages.at(-1)?.role], ['submit-message', 'm', 'assistant']);
  for (const body of [first, second]) {
    assert.deepEqual(body?.tools?.open_in_ide, { description: tool.description, parameters: tool.parameters });
    assert.deepEqual(Object.keys(body?.tools ?? {}), ['ask_person', 'open_in_ide']);
  }
});

test("the server's own tool is left to the server", async (t) => {
  const { server, prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply) =>
        reply.all(start('m'), step, called('c', 'weather'), output('c', 'sun'), stepEnd, step, ...said('Sunny.'), stepEnd, finish('stop')),
    },
  });
  const turn = await prompt();
  assert.deepEqual([turn.status, call(turn, 'c').status, textOf(turn), server.asked.length], ['done', 'done', 'Sunny.', 1]);
});

test('a tool the provider runs is not waited for', async (t) => {
  const { server, prompt } = await talk(t, {
    routes: {
      '/api/chat': (reply) => reply.all(start('m'), step, called('c', 'web', {}, { providerExecuted: true }), stepEnd, finish('stop')),
    },
  });
  assert.deepEqual([(await prompt()).status, server.asked.length], ['done', 1]);
});

test('an unknown tool nobody answered: the model hears that it is not there', async (t) => {
  const { server, prompt } = await talk(t, { routes: { '/api/chat': callsThenWord(called('c', 'juggle')) } });
  const turn = await prompt();
  assert.deepEqual([turn.status, call(turn, 'c').status], ['done', 'failed']);
  assert.deepEqual(posted(server.bodies('/api/chat')[1], 'c').errorText, 'Tool "juggle" is not available in this editor.');
});

test('same name on both sides: the output of the server wins and ours is stopped', async (t) => {
  let stopped = false;
  const tool = echoTool(
    'both',
    (_, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          stopped = true;
          resolve({ ok: true, text: 'mine' });
        }),
      ),
  );
  let began: () => void = () => {};
  const running = new Promise<void>((resolve) => {
    began = resolve;
  });
  const slow: Tool = {
    ...tool,
    run: (input, signal) => {
      began();
      return tool.run(input, signal);
    },
  };
  const { server, prompt } = await talk(t, {
    tools: [slow],
    routes: {
      '/api/chat': async (reply) => {
        reply.open().send(start('m'), step, called('c', 'both', { path: 'x' }));
        await running;
        reply.send(output('c', 'theirs'), stepEnd, finish('stop')).done();
      },
    },
  });
  const turn = await prompt();
  assert.deepEqual([stopped, turn.status, server.asked.length], [true, 'done', 1]);
  assert.deepEqual(call(turn, 'c').output, [{ kind: 'content', content: { type: 'text', text: 'theirs' } }]);
});

test('input that fails the schema: the tool does not run and the model hears why', async (t) => {
  let ran = 0;
  const tool = echoTool('strict', async () => ({ ok: true, text: String(++ran) }));
  const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': callsThenWord(called('c', 'strict', { path: 7 })) } });
  await prompt();
  assert.equal(ran, 0);
  assert.match(String(posted(server.bodies('/api/chat')[1], 'c').errorText), /path.*string/);
});

test('a tool that throws answers with its message', async (t) => {
  const tool = echoTool('broken', () => Promise.reject(new Error('no such file')));
  const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': callsThenWord(called('c', 'broken', { path: 'x' })) } });
  const turn = await prompt();
  assert.equal(call(turn, 'c').status, 'failed');
  const part = posted(server.bodies('/api/chat')[1], 'c');
  assert.deepEqual([part.state, part.errorText, 'output' in part], ['output-error', 'no such file', false]);
});

test('a result that is too large is cut with a note', async (t) => {
  const tool = echoTool('big', async () => ({ ok: true, text: 'x'.repeat(300_000) }));
  const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': callsThenWord(called('c', 'big', { path: 'x' })) } });
  await prompt();
  const result = String(posted(server.bodies('/api/chat')[1], 'c').output);
  assert.match(result.slice(-60), /37856 more characters/);
});

test('an empty result is an empty text, and is there', async (t) => {
  const tool = echoTool('quiet', async () => ({ ok: true, text: '' }));
  const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': callsThenWord(called('c', 'quiet', { path: 'x' })) } });
  await prompt();
  assert.equal(posted(server.bodies('/api/chat')[1], 'c').output, '');
});

test('three in parallel that finish in reverse go back together, once', async (t) => {
  const order: string[] = [];
  const waiting = new Map<string, () => void>();
  const tool = echoTool('wait', async (input) => {
    const { path } = input as { path: string };
    await new Promise<void>((resolve) => {
      waiting.set(path, resolve);
      if (waiting.size === 3) waiting.get('3')?.();
    });
    order.push(path);
    waiting.get(String(Number(path) - 1))?.();
    return { ok: true, text: path };
  });
  const calls = ['1', '2', '3'].map((path) => called(`c${path}`, 'wait', { path }));
  const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': callsThenWord(...calls) } });
  await prompt();
  assert.deepEqual(order, ['3', '2', '1']);
  assert.equal(server.asked.length, 2);
  assert.deepEqual(
    partsPosted(server.bodies('/api/chat')[1]).flatMap((part) => ('output' in part ? [part.output] : [])),
    ['1', '2', '3'],
  );
});

test('at most eight run side by side, the rest in order', async (t) => {
  let now = 0;
  let most = 0;
  const order: string[] = [];
  const tool = echoTool('count', async (input) => {
    order.push((input as { path: string }).path);
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return { ok: true, text: '' };
  });
  const calls = Array.from({ length: 20 }, (_, at) => called(`c${at}`, 'count', { path: String(at) }));
  const { prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': callsThenWord(...calls) } });
  assert.equal((await prompt()).status, 'done');
  assert.equal(most, 8);
  assert.deepEqual(
    order,
    calls.map((_, at) => String(at)),
  );
});

test('a tool may ask the user: the answer goes back', async (t) => {
  const question = called('c', 'ask_person', { question: 'Which branch?', options: ['main', 'dev'] });
  const { server, say, ended, asked, answer } = await talk(t, { routes: { '/api/chat': callsThenWord(question) } });
  const turnId = say('go');
  const ask = await asked();
  assert.ok(ask.kind === 'question');
  assert.deepEqual(
    [ask.fields[0]?.label, ask.fields[0]?.choices, ask.fields[0]?.free],
    ['Which branch?', [{ label: 'main' }, { label: 'dev' }], true],
  );
  answer(ask, { kind: 'fields', values: { answer: ['main'] } });
  const turn = await ended(turnId);
  assert.equal(turn.status, 'done');
  assert.equal(call(turn, 'c').title, 'Which branch?');
  assert.deepEqual(posted(server.bodies('/api/chat')[1], 'c').output, { answer: 'main' });
});

test('a declined question is an error result', async (t) => {
  const { server, say, ended, asked, answer } = await talk(t, {
    routes: { '/api/chat': callsThenWord(called('c', 'ask_person', { question: 'Well?' })) },
  });
  const turnId = say('go');
  answer(await asked(), { kind: 'cancelled' });
  await ended(turnId);
  assert.equal(posted(server.bodies('/api/chat')[1], 'c').errorText, 'The user declined this action.');
});

test('a tool that needs confirmation asks first; a refusal with words goes back', async (t) => {
  let ran = 0;
  const tool: Tool = {
    ...echoTool('write', async () => ({ ok: true, text: String(++ran) })),
    confirm: () => ({ title: 'Write?', kind: 'edit', detail: { type: 'text', text: 'x' } }),
  };
  const { server, say, ended, asked, answer } = await talk(t, {
    tools: [tool],
    routes: { '/api/chat': callsThenWord(called('c', 'write', { path: 'x' })) },
  });
  const turnId = say('go');
  answer(await asked(), { kind: 'option', optionId: 'reject', feedback: 'not there' });
  await ended(turnId);
  assert.equal(ran, 0);
  assert.match(String(posted(server.bodies('/api/chat')[1], 'c').errorText), /not there/);
});

test('hands are lent unless the profile says no; what they show is on the card, what they say goes to the server', async (t) => {
  const diff = { path: '/w/a.ts', before: 'x', after: 'y' };
  const edit: Tool = {
    ...echoTool('edit_file', async () => ({ ok: true, text: 'Changed a.ts', shown: [{ kind: 'diff', diff }] })),
    confirm: () => ({ title: 'Edit a.ts', kind: 'edit', detail: { type: 'edit', diffs: [diff] } }),
  };
  const edits = called('c', 'edit_file', { path: 'a.ts' });
  const { server, say, asked, answer, ended } = await talk(t, { hands: [edit], routes: { '/api/chat': callsThenWord(edits) } });
  const turnId = say('go');
  const ask = await asked();
  assert.deepEqual(ask.kind === 'approval' && [ask.title, ask.detail], ['Edit a.ts', { type: 'edit', diffs: [diff] }]);
  answer(ask, 'allow');
  const { title, kind, output } = call(await ended(turnId), 'c');
  assert.deepEqual([title, kind, output], ['Edit a.ts', 'edit', [{ kind: 'diff', diff }]]);
  assert.equal(posted(server.bodies('/api/chat')[1], 'c').output, 'Changed a.ts');
  assert.ok(Object.hasOwn(server.bodies('/api/chat')[0]?.tools ?? {}, 'edit_file'));

  const without = await talk(t, { hands: [edit], options: { hands: 'false' }, routes: { '/api/chat': callsThenWord(edits) } });
  const turn = await without.prompt();
  assert.match(String(posted(without.server.bodies('/api/chat')[1], 'c').errorText), /not available in this editor/);
  assert.equal(turn.status, 'done');
  assert.equal(Object.hasOwn(without.server.bodies('/api/chat')[0]?.tools ?? {}, 'edit_file'), false);
});

test('duplicate chunk: the call runs once', async (t) => {
  let ran = 0;
  const tool = echoTool('once', async () => ({ ok: true, text: String(++ran) }));
  const one = called('c', 'once', { path: 'x' });
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: { '/api/chat': callsThenWord(one, one, { type: 'tool-input-start', toolCallId: 'c', toolName: 'once' }, one) },
  });
  await prompt();
  assert.deepEqual([ran, server.asked.length], [1, 2]);
});

test('a call id that is used again in a later turn does not run again and does not hang', async (t) => {
  let ran = 0;
  const tool = echoTool('once', async () => ({ ok: true, text: String(++ran) }));
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) =>
        n % 2 === 1
          ? reply.all(start(`m${n}`), step, called('c', 'once', { path: 'x' }), stepEnd, finish('tool-calls'))
          : reply.all(start(`m${n - 1}`), step, ...said('ok'), stepEnd, finish('stop')),
    },
  });
  await prompt();
  assert.equal((await prompt()).status, 'done');
  assert.equal(ran, 1);
  assert.match(String(posted(server.bodies('/api/chat')[3], 'c').errorText), /made before/);
});

test('forms of declaration: mastra, array, none', async (t) => {
  const tool = echoTool('t');
  const declarations = async (form: string) => {
    const { server, prompt } = await talk(t, {
      tools: [tool],
      options: { tools: form },
      routes: { '/api/chat': (reply) => reply.all(...said('ok'), finish()) },
    });
    await prompt();
    const { tools, clientTools } = server.bodies('/api/chat')[0]!;
    return { tools: tools as unknown, clientTools: clientTools as Record<string, unknown> | undefined };
  };
  assert.deepEqual((await declarations('mastra')).clientTools?.t, { id: 't', description: tool.description, inputSchema: tool.parameters });
  assert.deepEqual(((await declarations('array')).tools as unknown[])[1], {
    type: 'function',
    function: { name: 't', description: tool.description, parameters: tool.parameters },
  });
  assert.deepEqual(await declarations('none'), { tools: undefined, clientTools: undefined });
});
