import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Content } from '../../../src/session/model.ts';
import { SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

const everything: readonly Content[] = [
  { type: 'text', text: 'look' },
  { type: 'image', mime: 'image/png', data: 'AA==' },
  { type: 'file', path: '/w/ä b.ts' },
  { type: 'file', path: '/w/part.ts', text: 'const a = `x`;', lines: [3, 5] },
  { type: 'link', uri: 'https://a.example/', title: 'A' },
];

test('a prompt carries images, files, unsaved parts of files and links as the agent takes them', async (t) => {
  const { agent, start } = await scene(t);
  agent.is({ agentCapabilities: { promptCapabilities: { image: true, embeddedContext: true } } });
  const driven = start();
  const { link } = await driven.ready();
  assert.ok(link.state === 'ready' && link.offers.images);
  driven.live.send({ type: 'prompt', turnId: 't', content: everything });
  assert.deepEqual((await agent.got('session/prompt')).params, {
    sessionId: SESSION,
    prompt: [
      { type: 'text', text: 'look' },
      { type: 'image', mimeType: 'image/png', data: 'AA==' },
      { type: 'resource_link', uri: 'file:///w/%C3%A4%20b.ts', name: 'ä b.ts' },
      { type: 'resource', resource: { uri: 'file:///w/part.ts#L3-L5', text: 'const a = `x`;' } },
      { type: 'resource_link', uri: 'https://a.example/', name: 'A' },
    ],
  });
  await driven.ended('t');
});

test('a failure whose message is an object says what that says', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, turnId } = await inTurn(made);
  const error = { code: -32001, message: { message: 'No credit left' } };
  agent.send({ jsonrpc: '2.0', id: (await agent.got('session/prompt')).id, error });
  assert.equal((await driven.ended(turnId)).error?.message, 'No credit left');
});

test('what an agent does not take is text, and nothing is left out unsaid', async (t) => {
  const { agent, start } = await scene(t);
  const driven = start();
  const { link } = await driven.ready();
  assert.ok(link.state === 'ready' && !link.offers.images);
  driven.live.send({ type: 'prompt', turnId: 't', content: everything });
  const { prompt } = (await agent.got('session/prompt')).params as {
    readonly prompt: readonly { readonly type: string; readonly text?: string }[];
  };
  assert.deepEqual(
    prompt.map((block) => block.type),
    ['text', 'text', 'resource_link', 'text', 'resource_link'],
  );
  assert.match(prompt[1]?.text ?? '', /image was left out/);
  assert.equal(prompt[3]?.text, '/w/part.ts:3-5\n```\nconst a = `x`;\n```\n');
  await driven.ended('t');
});

test('an agent that works in several folders gets all of them, each time; one that takes one is asked about the others', async (t) => {
  const { agent, start, cwd } = await scene(t);
  const other = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-other-')));
  t.after(() => rmSync(other, { recursive: true }));
  writeFileSync(path.join(other, 'a.txt'), 'A');
  const readIt = () => agent.ask('fs/read_text_file', { sessionId: SESSION, path: path.join(other, 'a.txt') });
  agent.is({ agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {}, additionalDirectories: {} } } });
  agent.handlers['session/resume'] = () => ({});
  const several = start({ folders: [other] });
  await several.ready();
  assert.deepEqual((await agent.got('session/new')).params?.additionalDirectories, [other]);
  assert.deepEqual((await readIt()).result, { content: 'A' });
  await several.stop();
  await start({ folders: [other], resume: { key: SESSION, history: false } }).ready();
  assert.deepEqual((await agent.got('session/resume')).params?.additionalDirectories, [other]);
  agent.is({ agentCapabilities: {} });
  const one = start({ folders: [other] });
  await one.ready();
  assert.deepEqual((await agent.got('session/new', 1)).params, { cwd, mcpServers: [] });
  const asked = readIt();
  const { asks } = await one.until('an ask', (session) => session.asks.length === 1);
  one.live.send({ type: 'answer', askId: asks[0]?.id ?? '', answer: { kind: 'option', optionId: 'reject' } });
  assert.ok((await asked).error);
});
