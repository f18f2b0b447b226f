import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import type { Json } from '../../fakes/a2a.ts';
import { type Line, scriptedModel } from '../scripted.ts';

// What a client other than ours may send.

async function served(t: TestContext, lines: readonly Line[]) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-params-'));
  const model = scriptedModel(lines);
  const frontend = await serveA2a({ model, workspace: { cwd, roots: [cwd] }, port: 0 });
  t.after(async () => {
    await frontend.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  const ask = async (method: string, params: unknown) => {
    const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION };
    const answer = await fetch(frontend.url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
    return answer.text();
  };
  return { cwd, model, ask };
}
const message = (parts: readonly Json[], more: Json = {}) => ({
  message: { kind: 'message', role: 'user', messageId: String(Math.random()), parts, ...more },
});

/** What stands in the file, and how the call ended, once the client allowed the writing of `proposal` with those details. */
async function allowedWith(t: TestContext, details: Json) {
  const { cwd, model, ask } = await served(t, [{ calls: [['WriteFile', { path: 'a.txt', content: 'proposal' }]] }, 'Well.']);
  const first = await ask('message/stream', message([{ kind: 'text', text: 'write' }]));
  const [, taskId] = /"taskId":"([^"]+)"/.exec(first) ?? [];
  const [, contextId] = /"contextId":"([^"]+)"/.exec(first) ?? [];
  const [, tool_call_id] = /"tool_call_id":"([^"]+)"/.exec(first) ?? [];
  const data = { tool_call_id, selected_option_id: 'proceed_once', ...details };
  const second = await ask('message/stream', message([{ kind: 'data', data }], { taskId, contextId }));
  const file = path.join(cwd, 'a.txt');
  return {
    text: existsSync(file) ? readFileSync(file, 'utf8') : undefined,
    ended: [...second.matchAll(/"status":"(SUCCEEDED|FAILED|CANCELLED)"/g)].map(([, status]) => status),
    model,
  };
}

const file_details = { new_content: 'mine' };
const forms: readonly (readonly [string, Json, string])[] = [
  ['as the RFC spells it', { file_details }, 'mine'],
  ['with the name of its oneof around it', { modified_details: { file_details } }, 'mine'],
  ['with that name alone', { modified_details: { new_content: 'mine' } }, 'mine'],
  ['in the other style of names', { modifiedDetails: { fileDetails: { newContent: 'mine' } } }, 'mine'],
  ['emptied', { modified_details: { file_details: { new_content: '' } } }, ''],
  ['with nothing changed', { modified_details: {}, file_details: null }, 'proposal'],
];
for (const [how, details, text] of forms)
  test(`a proposal the user changed is written as they left it: ${how}`, async (t) => {
    const end = await allowedWith(t, details);
    assert.deepEqual([end.text, end.ended], [text, ['SUCCEEDED']]);
  });

for (const details of [{ modified_details: 'mine' }, { modified_details: { text: 'mine' } }, { file_details: { content: 'mine' } }])
  test(`a changed proposal that cannot be read is not an allowance of the proposal: ${JSON.stringify(details)}`, async (t) => {
    const end = await allowedWith(t, details);
    assert.deepEqual([end.text, end.ended], [undefined, ['CANCELLED']]);
    assert.match(JSON.stringify(end.model.requests[1]?.history.at(-1)), /change could not be read/);
  });

test('params that are none are told as such, not as a command that is missing', async (t) => {
  const { ask } = await served(t, []);
  for (const params of [
    [],
    { command_path: 'help' },
    { command_path: [] },
    { command_path: [1] },
    { command_path: ['help'], args: 5 },
    undefined,
  ])
    assert.match(await ask('command/execute', params), /"code":-32602/, JSON.stringify(params));
  assert.match(await ask('command/execute', { command_path: ['nosuch'] }), /FAILED_TO_START.*nosuch/);
  for (const params of [
    { command_path: ['help'], args: '' },
    { commandPath: ['help'], args: null },
  ])
    assert.match(await ask('command/execute', params), /STARTED/);
});

test('a place for notifications on another machine is refused, wherever it is named', async (t) => {
  const { ask, model } = await served(t, ['Hello.']);
  const hello = message([{ kind: 'text', text: 'hi' }]);
  const elsewhere = [
    'http://10.0.0.1/',
    'https://example.org/x',
    'http://127.0.0.1.example.org/',
    'ftp://127.0.0.1/',
    'x',
    ['http://10.0.0.1/'],
  ];
  for (const url of elsewhere) {
    const configuration = { pushNotificationConfig: { url } };
    for (const method of ['message/stream', 'message/send'])
      assert.match(await ask(method, { ...hello, configuration }), /-32602.*this machine only/, `${method} ${JSON.stringify(url)}`);
    assert.match(
      await ask('tasks/pushNotificationConfig/set', { taskId: 't', pushNotificationConfig: { url } }),
      /-32602.*this machine only/,
    );
  }
  assert.equal(model.requests.length, 0);
});
