import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type A2aServeOptions, serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { errorOf } from '../../../src/agent/servers/a2a/words.ts';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
import { option, type TalkOptions, talk, textOf } from '../../protocols/a2a/talk.ts';
import { ask, type Line, play, scriptedModel } from '../scripted.ts';

async function served(t: TestContext, lines: readonly Line[], more: Partial<A2aServeOptions> = {}) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-face-'));
  const model = scriptedModel(lines);
  const frontend = await serveA2a({ model, workspace: { cwd, roots: [cwd] }, port: 0, ...more });
  t.after(async () => {
    await frontend.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  return { cwd, model, url: frontend.url };
}

async function parley(t: TestContext, lines: readonly Line[], more: TalkOptions = {}) {
  const { cwd, model, url } = await served(t, lines);
  const session = talk(t, url, { options: { workspace: cwd }, ...more });
  const now = await session.opened();
  assert.equal(now.link.state, 'ready', JSON.stringify(now.link));
  return { ...session, cwd, model };
}
const write = (name: string, content = 'x\n') => ({ calls: [['WriteFile', { path: name, content }]] as const });

test('a plain answer, and a second one in the same completed task', async (t) => {
  const { prompt, model } = await parley(t, ['Hello.', 'Again.']);
  assert.equal(textOf(await prompt('hi')), 'Hello.');
  assert.equal(textOf(await prompt('more')), 'Again.');
  assert.equal(model.requests[1]?.history.length, 3, 'the conversation is one');
});

test('an approval ends the stream; the allowed call runs in the next one', async (t) => {
  const { begin, approval, answer, ended, cwd } = await parley(t, [write('a.txt'), 'Written.']);
  const turnId = begin('write');
  const ask = await approval();
  assert.equal(ask.detail.type, 'edit');
  assert.equal(ask.editable, true);
  answer(ask, option(ask, 'allow_once'));
  const turn = await ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), callsOf(turn).map((call) => call.status)], ['done', 'Written.', ['done']]);
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'x\n');
});

test('what the user made of a proposed file is what is written, and the model hears of it', async (t) => {
  const { begin, approval, answer, ended, cwd, model } = await parley(t, [write('a.txt'), 'Fine.']);
  const turnId = begin('write');
  const ask = await approval();
  const allow = option(ask, 'allow_once');
  if (allow.kind === 'option') answer(ask, { ...allow, edited: 'mine\n' });
  const turn = await ended(turnId);
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'mine\n');
  assert.deepEqual(
    callsOf(turn).flatMap((call) => diffsOf(call).map((diff) => diff.after)),
    ['mine\n'],
  );
  assert.match(JSON.stringify(model.requests[1]?.history.at(-1)), /changed your text/);
});

test('a refused call is not made', async (t) => {
  const { begin, approval, answer, ended, cwd } = await parley(t, [write('a.txt')]);
  const turnId = begin('write');
  const ask = await approval();
  answer(ask, option(ask, 'reject_once'));
  const turn = await ended(turnId);
  assert.deepEqual(
    callsOf(turn).map((call) => call.status),
    ['rejected'],
  );
  assert.equal(existsSync(path.join(cwd, 'a.txt')), false);
});

test('stop while an approval waits: nothing is written, and the conversation goes on', async (t) => {
  const { begin, approval, live, ended, prompt, cwd } = await parley(t, [write('a.txt'), 'Hello.']);
  const turnId = begin('write');
  await approval();
  live.send({ type: 'cancel' });
  assert.equal((await ended(turnId)).status, 'cancelled');
  assert.equal(existsSync(path.join(cwd, 'a.txt')), false);
  assert.equal(textOf(await prompt('hi')), 'Hello.');
});

test('a command runs, and what it prints is shown as it is and in the end', async (t) => {
  const { begin, approval, answer, ended } = await parley(t, [{ calls: [['Shell', { command: 'echo one; echo two' }]] }, 'Done.']);
  const turnId = begin('run');
  const ask = await approval();
  assert.equal(ask.detail.type === 'command' && ask.detail.command, 'echo one; echo two');
  answer(ask, option(ask, 'allow_once'));
  const turn = await ended(turnId);
  assert.match(JSON.stringify(callsOf(turn)[0]?.output), /one\\ntwo/);
});

test('its slash commands are offered, and run as turns', async (t) => {
  const { now, prompt } = await parley(t, []);
  assert.ok(now().commands.some((command) => command.name === 'help'));
  const turn = await prompt('/help');
  assert.deepEqual([turn.status, /\/help/.test(textOf(turn))], ['done', true]);
});

test('a command runs in the conversation it was typed in, in the folder that was named, whoever spoke last', async (t) => {
  const { cwd, url, model } = await served(t, ['One.', 'Two.', 'Still one.', write('a.txt'), 'Written.']);
  mkdirSync(path.join(cwd, 'part'));
  const one = talk(t, url, { options: { workspace: cwd } });
  const two = talk(t, url, { options: { workspace: path.join(cwd, 'part') } });
  const three = talk(t, url, { options: { workspace: path.join(cwd, 'part') } });
  for (const each of [one, two, three]) await each.opened();
  await one.prompt('first');
  await two.prompt('second');
  const run = (session: typeof one, turnId: string, name: string) => {
    session.live.send({ type: 'command', turnId, path: [name], args: '' });
    return session.ended(turnId);
  };
  assert.equal((await run(two, 'b', 'clear')).status, 'done');
  await one.prompt('go on');
  assert.equal(model.requests.at(-1)?.history.length, 3, 'another conversation was cleared, not this one');
  assert.match(textOf(await run(three, 'c', 'help')), /\/help/);
  const turnId = three.begin('write');
  three.answer(await three.approval(), option(await three.approval(), 'allow_once'));
  assert.equal((await three.ended(turnId)).status, 'done');
  assert.equal(existsSync(path.join(cwd, 'part', 'a.txt')), true);
});

test('a failure of the model is told once', async (t) => {
  const { prompt } = await parley(t, [
    (): never => {
      throw new Error('out of order');
    },
  ]);
  const turn = await prompt('hi');
  assert.equal(turn.status, 'failed');
  assert.match(turn.error?.message ?? '', /out of order/);
});

test('it works in the folder the client names, when that lies in what it was started for', async (t) => {
  const { cwd, url } = await served(t, [write('a.txt'), 'Written.']);
  mkdirSync(path.join(cwd, 'part'));
  const session = talk(t, url, { options: { workspace: path.join(cwd, 'part') } });
  const turnId = session.begin('write');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
  assert.equal(existsSync(path.join(cwd, 'part', 'a.txt')), true);
});

test('a folder outside of that is refused with words, also by a link or a missing one', async (t) => {
  const { cwd, url, model } = await served(t, ['Never said.']);
  symlinkSync(tmpdir(), path.join(cwd, 'link'));
  for (const workspace of [tmpdir(), path.join(cwd, '..'), path.join(cwd, 'link'), path.join(cwd, 'missing')]) {
    const turn = await talk(t, url, { options: { workspace } }).prompt('hi');
    assert.deepEqual([turn.status, /workspace path/.test(turn.error?.message ?? '')], ['failed', true], workspace);
  }
  assert.equal(model.requests.length, 0);
});

test('it asks for its token, and takes it', async (t) => {
  const { url, cwd } = await served(t, ['Hello.'], { token: 'secret' });
  const kept = new Map<string, string>();
  const secrets = { get: async (name: string) => kept.get(name), set: async (name: string, value: string) => void kept.set(name, value) };
  const session = talk(t, url, { secrets, options: { workspace: cwd } });
  const ask = await session.asked();
  assert.equal(ask.kind, 'question');
  session.answer(ask, { kind: 'fields', values: { secret: ['secret'] } });
  await session.opened();
  assert.equal(textOf(await session.prompt('hi')), 'Hello.');
  assert.deepEqual([...kept.values()], ['secret']);
});

test('its skills are commands below another, and run by their path', async (t) => {
  const { cwd, url, model } = await served(t, ['Tidied.']);
  mkdirSync(path.join(cwd, '.agents', 'skills', 'tidy'), { recursive: true });
  writeFileSync(
    path.join(cwd, '.agents', 'skills', 'tidy', 'SKILL.md'),
    '---\nname: tidy\ndescription: Tidies up\n---\nPut things away.\n',
  );
  const session = talk(t, url, { options: { workspace: cwd } });
  await session.opened();
  const below = session.now().commands.find((command) => command.name === 'skill')?.children ?? [];
  assert.deepEqual(
    below.map(({ name, description }) => [name, description]),
    [['tidy', 'Tidies up']],
  );
  const turn = await session.prompt('/skill tidy the attic');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'Tidied.']);
  assert.match(JSON.stringify(model.requests[0]?.history), /Put things away.*the attic/);
});

test('an edit of a held file is a failed writing, and one that does not fit another failure', async (t) => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-face-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(path.join(cwd, 'a.txt'), 'one\n');
  const edit = (old: string) => ['StrReplaceFile', { path: 'a.txt', edit: { old, new: 'two' } }] as const;
  const { conversation, frontend } = play(cwd, [{ calls: [edit('one')] }, { calls: [edit('three')] }, 'done']);
  t.mock.method(promises, 'rename', () => Promise.reject(Object.assign(new Error('EBUSY'), { code: 'EBUSY' })));
  syncBuiltinESMExports();
  await ask(conversation, 'go');
  t.mock.restoreAll();
  syncBuiltinESMExports();
  const types = frontend.said.flatMap((one) => (one.type === 'call.ended' ? [errorOf('StrReplaceFile', one.outcome, false)] : []));
  assert.deepEqual(
    types.map((one) => (one as { type: string }).type),
    ['file_write_failure', 'edit_no_occurrence_found'],
  );
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\n');
});
