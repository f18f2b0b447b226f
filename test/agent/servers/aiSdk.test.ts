import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { call, echoTool, open, person, textOf } from '../../protocols/ai-sdk/talk.ts';
import type { Line } from '../scripted.ts';
import { ID, post, served, types, user } from './aiSdkServed.ts';

/** Parley itself as the client. */
async function parley(t: TestContext, lines: readonly Line[], tools: readonly Tool[] = []) {
  const place = await served(t, lines);
  const live = open(place.url, { tools }, newSession('s', { protocol: 'ai-sdk', name: 'x' }, place.cwd));
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  return { ...place, ...person(live) };
}

test('a plain answer', async (t) => {
  const { prompt } = await parley(t, ['Hello.']);
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Hello.']);
});

test('a method that is not served is refused with the one that is', async (t) => {
  const { url } = await served(t, []);
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const { status, headers } = await fetch(url, { method });
    assert.deepEqual([status, headers.get('allow')], [405, 'POST'], method);
  }
});

test("the editor's tool: the stream stays open, one request, the result reaches the model", async (t) => {
  const { prompt, model } = await parley(
    t,
    [{ text: 'Opening.', calls: [['open_in_ide', { path: 'a.ts' }]] }, 'Opened.'],
    [echoTool('open_in_ide', async () => ({ ok: true, text: '{"opened":true}' }))],
  );
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c1.0').status], ['done', 'Opening.|Opened.', 'done']);
  const result = model.requests[1]?.history.at(-1);
  assert.deepEqual(result?.role === 'tool' && [result.text, result.isError], ['{"opened":true}', false]);
  assert.ok(model.requests[0]?.tools.some((tool) => tool.name === 'open_in_ide'));
});

test('an approval ends the stream; allowed, the tool runs; refused with words, the model hears them', async (t) => {
  const write = (name: string) => ({ calls: [['WriteFile', { path: name, content: 'x' }]] as const });
  const { prompt: _, say, asked, answer, ended, cwd, model } = await parley(t, [write('yes.txt'), 'Written.', write('no.txt'), 'I see.']);
  const first = say('write');
  answer(await asked(), 'allow');
  const turn = await ended(first);
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c1.0').status], ['done', 'Written.', 'done']);
  assert.equal(readFileSync(path.join(cwd, 'yes.txt'), 'utf8'), 'x');
  const second = say('again');
  answer(await asked(), { kind: 'option', optionId: 'reject', feedback: 'elsewhere please' });
  const refused = await ended(second);
  assert.deepEqual([refused.status, call(refused, 'c3.0').status, existsSync(path.join(cwd, 'no.txt'))], ['done', 'rejected', false]);
  const last = model.requests[3]?.history.at(-1);
  assert.match(last?.role === 'tool' ? last.text + last.message : '', /elsewhere please/);
});

test('two writes in one step: asked one after the other, both done', async (t) => {
  const { say, asked, answer, ended, until, cwd } = await parley(t, [
    {
      calls: [
        ['WriteFile', { path: 'a.txt', content: 'a' }],
        ['WriteFile', { path: 'b.txt', content: 'b' }],
      ],
    },
    'Both.',
  ]);
  const id = say('write');
  const first = await asked();
  answer(first, 'allow');
  const second = (await until((session) => session.asks.some((ask) => ask.id !== first.id))).asks[0];
  answer(second!, 'allow');
  assert.equal(textOf(await ended(id)), 'Both.');
  assert.deepEqual([readFileSync(path.join(cwd, 'a.txt'), 'utf8'), readFileSync(path.join(cwd, 'b.txt'), 'utf8')], ['a', 'b']);
});

test('a stop ends the turn at the agent too, and the next message is answered', async (t) => {
  let aborted = false;
  const { say, stop, until, ended, prompt } = await parley(t, [
    async function* (_, signal) {
      yield { type: 'text' as const, text: 'So' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted = true;
    },
    'Here again.',
  ]);
  const id = say('go');
  await until((session) => session.turns[0]?.parts.length === 1);
  stop();
  assert.equal((await ended(id)).status, 'cancelled');
  assert.equal(textOf(await prompt()), 'Here again.');
  assert.ok(aborted);
});

test('a model that fails is an error the user reads', async (t) => {
  const { prompt } = await parley(t, [new Error('kaputt')]);
  const turn = await prompt();
  assert.deepEqual([turn.status, turn.error?.message], ['failed', 'The agent failed: kaputt']);
});

test('a plain client: the response ends with the call and goes on with the re-post', async (t) => {
  const { url, model } = await served(t, [
    {
      calls: [
        ['look', { q: 1 }],
        ['look', { q: 2 }],
      ],
    },
    'Seen.',
  ]);
  const tools = { look: { description: 'Looks.', parameters: { type: 'object', properties: { q: { type: 'number' } } } } };
  const first = await post(url, { id: ID, messages: [user('go')], tools });
  assert.deepEqual(types(first.chunks), [
    'start',
    'start-step',
    'tool-input-start',
    'tool-input-available',
    'tool-input-start',
    'tool-input-available',
    'finish-step',
    'finish',
  ]);
  assert.ok(first.text.endsWith('data: [DONE]\n\n'));
  const id = first.chunks[0]?.messageId;
  const parts = ['c1.0', 'c1.1'].map((toolCallId) => ({
    type: 'tool-look',
    toolCallId,
    state: 'output-available',
    input: {},
    output: { seen: toolCallId },
  }));
  const second = await post(url, {
    id: ID,
    tools,
    messages: [user('go'), { id, role: 'assistant', parts: [{ type: 'step-start' }, ...parts] }],
  });
  assert.deepEqual([second.chunks[0], types(second.chunks).includes('tool-output-available')], [{ type: 'start', messageId: id }, false]);
  assert.ok(second.text.includes('Seen.'));
  const results = model.requests[1]?.history.filter((message) => message.role === 'tool').map((message) => message.text);
  assert.deepEqual(results, ['{"seen":"c1.0"}', '{"seen":"c1.1"}']);
});

test('a client that offers request_approval is asked through it', async (t) => {
  const { url, cwd } = await served(t, [{ calls: [['WriteFile', { path: 'a.txt', content: 'x' }]] }, 'Written.']);
  const tools = { request_approval: { description: 'Asks the user.', parameters: { type: 'object' } } };
  const first = await post(url, { id: ID, messages: [user('go')], tools });
  const asked = first.chunks.findLast((chunk) => chunk.type === 'tool-input-available');
  assert.equal(asked?.toolName, 'request_approval');
  assert.ok(!types(first.chunks).includes('tool-approval-request'));
  const part = {
    type: 'tool-request_approval',
    toolCallId: asked?.toolCallId,
    state: 'output-available',
    input: {},
    output: { approved: true },
  };
  const second = await post(url, { id: ID, tools, messages: [user('go'), { id: 'm', role: 'assistant', parts: [part] }] });
  assert.ok(second.text.includes('Written.'));
  assert.ok(existsSync(path.join(cwd, 'a.txt')));
});

test("the client's history counts: an edited conversation reaches the model as the client has it", async (t) => {
  const { url, model } = await served(t, ['one', 'two']);
  await post(url, { id: ID, messages: [user('first')] });
  const called = { type: 'tool-x', toolCallId: 'k', state: 'output-available', input: { a: 1 }, output: 'R' };
  const assistant = {
    id: 'a',
    role: 'assistant',
    parts: [{ type: 'step-start' }, called, { type: 'step-start' }, { type: 'text', text: 'So.' }],
  };
  await post(url, { id: ID, messages: [user('other'), assistant, user('next')] });
  assert.deepEqual(
    model.requests[1]?.history.map((message) =>
      message.role === 'user' ? message.parts[0] : message.role === 'tool' ? message.text : [message.text, message.calls.length],
    ),
    [{ type: 'text', text: 'other' }, ['', 1], 'R', ['So.', 0], { type: 'text', text: 'next' }],
  );
});

test('results that come when the turn is forgotten still reach the model', async (t) => {
  const { url, model } = await served(t, ['Fine.']);
  const part = { type: 'tool-x', toolCallId: 'k', state: 'output-available', input: {}, output: 42 };
  const { text } = await post(url, { id: ID, messages: [user('go'), { id: 'a', role: 'assistant', parts: [part] }] });
  assert.ok(text.includes('Fine.'));
  assert.ok(model.requests[0]?.history.some((message) => message.role === 'tool' && message.text === '42'));
});

test('the tool-result endpoint: unknown calls are 404, bad bodies 400', async (t) => {
  const { url } = await served(t, []);
  const at = url.replace('/api/chat', '/chat/tool-result');
  assert.equal((await post(at, { session_id: ID, tool_call_id: 'x', result: 1, is_error: false })).status, 404);
  assert.equal((await post(at, { session_id: 7 })).status, 400);
  assert.equal((await post(url, { messages: 'x' })).status, 400);
});

test('who may talk to it: named origins, names of this machine, those who know the token', async (t) => {
  const { url } = await served(t, ['Hi.', 'Hi.'], { token: 'T', origins: ['http://localhost:3000'] });
  const body = { id: ID, messages: [user('x')] };
  const key = { authorization: 'Bearer T' };
  assert.equal((await post(url, body)).status, 401);
  assert.equal((await post(url, body, { ...key, origin: 'http://evil.test' })).status, 403);
  assert.equal((await post(url, body, { ...key, 'content-type': 'text/plain' })).status, 415);
  assert.equal((await post(url, body, key)).status, 200);
  const allowed = await fetch(url, { method: 'OPTIONS', headers: { origin: 'http://localhost:3000' } });
  assert.deepEqual([allowed.status, allowed.headers.get('access-control-allow-origin')], [204, 'http://localhost:3000']);
  const refused = await fetch(url, { method: 'OPTIONS', headers: { origin: 'http://evil.test' } });
  assert.equal(refused.status, 403);
});

test('a body that is too large is 413, one that is no JSON 400, no message 400; a refusal names how to authorize', async (t) => {
  const { url } = await served(t, [], { token: 'T' });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer T' };
  const status = async (body: string) => (await fetch(url, { method: 'POST', headers, body })).status;
  assert.equal(await status('{"half'), 400);
  assert.equal(await status(JSON.stringify({ id: ID, messages: [] })), 400);
  assert.equal(await status('x'.repeat(64 * 1024 * 1024 + 1)).catch(() => 413), 413);
  const refused = await fetch(url, { method: 'POST', headers: { ...headers, authorization: 'Bearer t' }, body: '{}' });
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer']);
});

test('an approval that the agent has forgotten does not stay open in the client', async (t) => {
  const { url } = await served(t, ['Fine.', 'Well.']);
  const call = (approved: boolean) => ({
    type: 'tool-WriteFile',
    toolCallId: 'k',
    state: 'approval-responded',
    input: {},
    approval: { id: 'a', approved },
  });
  const ask = (approved: boolean) =>
    post(url, { id: ID, sessionId: ID, messages: [user('go'), { id: 'a', role: 'assistant', parts: [call(approved)] }] });
  const allowed = (await ask(true)).chunks.find((chunk) => chunk.toolCallId === 'k');
  assert.deepEqual([allowed?.type, /not made/.test(String(allowed?.errorText))], ['tool-output-error', true]);
  assert.equal((await ask(false)).chunks.find((chunk) => chunk.toolCallId === 'k')?.type, 'tool-output-denied');
});

test("a sub-agent's call that was asked about gets its end", async (t) => {
  const write = { calls: [['WriteFile', { path: 'a.txt', content: 'a' }, 'w']] as const };
  const order = { calls: [['Agent', { description: 'Write', prompt: 'Write it.', subagent_type: 'general' }, 'k']] as const };
  const { url } = await served(t, [order, write, 'Written.', 'Fine.']);
  const first = await post(url, { id: ID, sessionId: ID, messages: [user('go')] });
  const asked = first.chunks.find((chunk) => chunk.type === 'tool-approval-request');
  const approval = { id: asked?.approvalId, approved: true };
  const part = { type: 'tool-WriteFile', toolCallId: asked?.toolCallId, state: 'approval-responded', input: {}, approval };
  const { chunks } = await post(url, { id: ID, sessionId: ID, messages: [user('go'), { id: 'a', role: 'assistant', parts: [part] }] });
  const ended = chunks.filter((chunk) => chunk.type === 'tool-output-available').map((chunk) => chunk.toolCallId);
  assert.deepEqual([asked?.toolCallId, ended], ['w', ['w', 'k']]);
});

test('a system text of the client is added to the prompt of the agent', async (t) => {
  const { url, model } = await served(t, ['Arr.']);
  await post(url, { id: ID, system: 'Talk like a pirate.', messages: [user('hi')] });
  assert.match(model.requests[0]?.system ?? '', /You are Parley[\s\S]*Talk like a pirate\.$/);
});

test('a call that waits in an open response says so', async (t) => {
  const { url } = await served(t, [{ calls: [['look', {}, 'k']] }, 'ok']);
  const tools = { look: { description: 'Looks.', parameters: { type: 'object' } } };
  const asked = post(url, { id: ID, sessionId: ID, tools, messages: [user('go')] });
  const result = { session_id: ID, tool_call_id: 'k', result: 1, is_error: false };
  while ((await post(url.replace('/api/chat', '/chat/tool-result'), result)).status === 404)
    await new Promise((resolve) => setImmediate(resolve));
  const { chunks } = await asked;
  assert.equal(chunks.find((chunk) => chunk.type === 'tool-input-available')?.state, 'requires-action');
});

test('without a token one is made and printed; requests without it are refused', async (t) => {
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), '--protocol', 'ai-sdk'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) if (lines.push(line) === 2) break;
  const url = /http:\S+/.exec(lines[0] ?? '')?.[0] ?? '';
  const token = /^Token: (\S{43})$/.exec(lines[1] ?? '')?.[1] ?? assert.fail(lines.join());
  const stop = (headers: Record<string, string>) => post(`${url}/${ID}/stop`, {}, headers);
  assert.deepEqual([(await stop({})).status, (await stop({ authorization: `Bearer ${token}` })).status], [401, 404]);
});
