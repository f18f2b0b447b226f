import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type McpServer, methods } from '@agentclientprotocol/sdk';
import { silentLog } from '../../src/base/log.ts';
import { headlessTools } from '../../src/headless/tools.ts';
import { offerTools } from '../../src/protocols/offeredTools.ts';
import type { Tool } from '../../src/protocols/ports.ts';
import { temporaryFolder } from './agentProcess.ts';
import { say, withAgent } from './officialClient.ts';

const pairs = (record: Readonly<Record<string, string>>) => Object.entries(record).map(([name, value]) => ({ name, value }));

for (const how of ['http', 'stdio'] as const) {
  test(`tools of a server the client names are called over ${how}; one that is not there costs only its tools`, async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(path.join(cwd, 'a.txt'), 'one\ntwo\n');
    const offered = await offerTools(headlessTools(cwd), { log: silentLog, client: { name: 'test', version: '1' } });
    assert.ok(offered);
    t.after(() => offered.dispose());
    const server: McpServer =
      how === 'http'
        ? { type: 'http', name: offered.name, url: offered.http.url, headers: pairs(offered.http.headers) }
        : { name: offered.name, command: offered.process.command, args: [...offered.process.args], env: pairs(offered.process.env) };
    const gone: McpServer = { type: 'http', name: 'gone', url: 'http://127.0.0.1:9/mcp', headers: [] };
    await withAgent(t, cwd, async (agent, { updates, asked }) => {
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [gone, server] });
      assert.equal((await say(agent, sessionId, 'open a.txt at line 2')).stopReason, 'end_turn');
      assert.match(JSON.stringify(updates), /Opened .*a\.txt:2/);
      assert.deepEqual(asked, [], 'the tool says that it changes nothing');
    });
  });
}

test('a tool that may change something is asked about, and not run when refused', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'one\n');
  let ran = 0;
  const [open] = headlessTools(cwd) as readonly [Tool];
  const run = async () => {
    ran += 1;
    return { ok: true, text: 'Opened it' };
  };
  const tool: Tool = { ...open, confirm: () => undefined, run };
  const offered = await offerTools([tool], { log: silentLog, client: { name: 'test', version: '1' } });
  assert.ok(offered);
  t.after(() => offered.dispose());
  const server: McpServer = { type: 'http', name: offered.name, url: offered.http.url, headers: pairs(offered.http.headers) };
  await withAgent(t, cwd, async (agent, seen) => {
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [server] });
    await say(agent, sessionId, 'open a.txt');
    assert.deepEqual([seen.asked, ran], [['open_in_ide'], 0]);
    seen.answer = 'session';
    await say(agent, sessionId, 'open a.txt');
    await say(agent, sessionId, 'open a.txt');
    assert.deepEqual([seen.asked.length, ran], [2, 2], 'allowed for the session');
  });
});

test('sessions are listed, copied, loaded and deleted; a plan is told', async (t) => {
  const cwd = temporaryFolder(t);
  await withAgent(t, cwd, async (agent, { updates }) => {
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    await say(agent, sessionId, 'make a plan: read the notes; write the summary');
    const plan = updates.find(({ update }) => update.sessionUpdate === 'plan')?.update;
    assert.ok(plan?.sessionUpdate === 'plan' && plan.entries.length === 2);
    const fork = await agent.request('session/fork', { sessionId, cwd, mcpServers: [] });
    const copy = (fork as { readonly sessionId: string }).sessionId;
    assert.notEqual(copy, sessionId);
    await say(agent, copy, 'hello');
    const list = async () => (await agent.request(methods.agent.session.list, { cwd })).sessions;
    const listed = await list();
    assert.deepEqual(new Set(listed.map((one) => one.sessionId)), new Set([sessionId, copy]));
    assert.ok(listed.every((one) => one.cwd === cwd && one.title?.startsWith('make a plan') && one.updatedAt));
    await agent.request(methods.agent.session.delete, { sessionId });
    await agent.request(methods.agent.session.delete, { sessionId });
    assert.deepEqual(
      (await list()).map((one) => one.sessionId),
      [copy],
    );
    const before = updates.length;
    await agent.request(methods.agent.session.load, { sessionId: copy, cwd, mcpServers: [] });
    assert.match(JSON.stringify(updates.slice(before)), /write the summary/);
    await assert.rejects(agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] }), { code: -32002 });
    await agent.request(methods.agent.session.close, { sessionId: copy });
  });
  assert.ok(existsSync(path.join(cwd, '.home', 'sessions')));
});
