import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atLeast, isNewer, parseVersion } from '../../../src/protocols/kimi-wire/codec.ts';
import type { Tool } from '../../../src/protocols/ports.ts';
import { Server, settled } from './server.ts';

// wire.md §14, "Handshake", and §9.15.
const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: 'does',
  parameters: { type: 'object' },
  run: async () => ({ ok: true, text: `ran ${name}` }),
  ...more,
});
const offers = (server: Server) => (server.desk.session.link.state === 'ready' ? server.desk.session.link.offers : undefined);

test('1.10: everything is offered, commands and tools are taken from the answer', async () => {
  const server = new Server({ tools: [tool('open_in_ide'), tool('show_diff')] });
  assert.deepEqual(server.desk.session.link, { state: 'opening', note: 'Starting kimi' });
  assert.equal(server.asked('initialize').length, 1);
  const params = server.params('initialize', 0);
  assert.equal(params.protocol_version, '1.10');
  assert.deepEqual(params.client, { name: 'test', version: '1.0' });
  assert.deepEqual(params.capabilities, { supports_question: true, supports_plan_mode: true });
  assert.deepEqual(params.external_tools, [
    { name: 'open_in_ide', description: 'does', parameters: { type: 'object' } },
    { name: 'show_diff', description: 'does', parameters: { type: 'object' } },
  ]);
  assert.equal('hooks' in params, false);
  await server.answer('initialize', {
    protocol_version: '1.10',
    server: { name: 'Kimi Code CLI', version: '1.49.0' },
    slash_commands: [{ name: 'init', description: 'Analyse', aliases: ['i'] }, { name: 'compact' }],
    external_tools: { accepted: ['open_in_ide'], rejected: [{ name: 'show_diff', reason: 'bad schema\nmore' }] },
    unheard_of: 1,
  });
  assert.deepEqual(server.desk.session.agent, { protocol: 'kimi-wire', name: 'agent', own: 'Kimi Code CLI', version: '1.49.0' });
  assert.deepEqual(server.desk.session.commands, [
    { name: 'init', description: 'Analyse', aliases: ['i'] },
    { name: 'compact', description: '', aliases: [] },
  ]);
  assert.deepEqual(offers(server), {
    images: true,
    steer: true,
    feedback: true,
    history: true,
    tools: { accepted: ['open_in_ide'], rejected: [{ name: 'show_diff', reason: 'bad schema' }] },
  });
  assert.equal(server.desk.session.mode?.current, 'default');
});

test('1.1 result without capabilities or hooks: no steering, no feedback, no mode', async () => {
  const server = await Server.ready({ version: '1.1', result: { slash_commands: null, external_tools: null } });
  assert.deepEqual(offers(server), { images: true, history: true, tools: { accepted: [], rejected: [] } });
  assert.equal(server.desk.session.mode, undefined);
});

test('no tools to offer: the member is left out', () => {
  const server = new Server();
  assert.equal('external_tools' in server.params('initialize', 0), false);
});

test('-32601: the session goes on as 1.0', async () => {
  const server = new Server({ tools: [tool('open_in_ide')] });
  await server.refuse('initialize', -32601);
  assert.equal(server.desk.session.link.state, 'ready');
  assert.deepEqual(offers(server), { images: true, history: true });
  assert.match(server.desk.session.notices[0]?.text ?? '', /cannot use editor tools/);
  server.desk.prompt('hello');
  assert.deepEqual(server.asked('prompt')[0]?.params, { user_input: 'hello' });
});

test('-32602 with tool drop: once more without tools, and the user is told', async () => {
  const server = new Server({ tools: [tool('open_in_ide')] });
  await server.refuse('initialize', -32602, 'external_tools.0.parameters: Field required');
  assert.equal('external_tools' in server.params('initialize', 1), false);
  await server.answer('initialize', { protocol_version: '1.10' });
  assert.equal(server.desk.session.link.state, 'ready');
  assert.match(server.desk.session.notices[0]?.text ?? '', /external_tools\.0\.parameters/);
  assert.equal(offers(server)?.tools?.rejected[0]?.name, 'open_in_ide');
});

test('a tool that would sink the handshake stays home', async () => {
  const server = new Server({
    tools: [tool('good'), tool('bad name'), tool('mute', { description: ' ' }), tool('shapeless', { parameters: {} })],
  });
  const params = server.params('initialize', 0) as { external_tools: { name: string }[] };
  assert.deepEqual(
    params.external_tools.map((one) => one.name),
    ['good'],
  );
  await server.answer('initialize', { protocol_version: '1.10' });
  assert.deepEqual(
    offers(server)?.tools?.rejected.map((one) => one.name),
    ['bad name', 'mute', 'shapeless'],
  );
  assert.deepEqual(offers(server)?.tools?.accepted, ['good']);
});

test('rejected tool whose name is taken: offered again under a name of ours, and called by it', async () => {
  const server = new Server({ tools: [tool('Shell')] });
  const rejected = { accepted: [], rejected: [{ name: 'Shell', reason: 'conflicts with builtin tool' }] };
  await server.answer('initialize', { protocol_version: '1.10', external_tools: rejected });
  await server.answer('initialize', { protocol_version: '1.10', external_tools: { accepted: ['ide_Shell'], rejected: [] } });
  assert.deepEqual(offers(server)?.tools, { accepted: ['ide_Shell'], rejected: [] });
  server.desk.prompt('go');
  await server.request('ToolCallRequest', { id: 't', name: 'ide_Shell', arguments: null });
  assert.equal((server.result('t').return_value as { output: string }).output, 'ran Shell');
});

test('version "2": connected, with a warning', async () => {
  const server = await Server.ready({ version: '2' });
  assert.match(server.desk.session.notices[0]?.text ?? '', /speaks Wire 2/);
  assert.equal(offers(server)?.steer, true);
});

test('version oddities: "1", "1.10.0-dev", "1.99", a missing member', async () => {
  assert.equal(offers(await Server.ready({ version: '1' }))?.steer, undefined);
  assert.equal(offers(await Server.ready({ version: '1.10.0-dev' }))?.feedback, true);
  assert.equal(offers(await Server.ready({ version: '1.99' }))?.feedback, true);
  const nameless = new Server();
  await nameless.answer('initialize', {});
  assert.equal(nameless.desk.session.link.state, 'ready');
  assert.equal(offers(nameless)?.steer, undefined);
});

test('odd members of the answer are left out and told in the log; the session goes on with the rest', async () => {
  const server = new Server({ tools: [tool('open_in_ide'), tool('show_diff')] });
  await server.answer('initialize', {
    protocol_version: 1.6,
    server: { name: 'Odd', version: 3 },
    slash_commands: [
      { name: 'a' },
      5,
      null,
      { description: 'no name' },
      { name: 'b', description: null, aliases: null },
      { name: 'c', description: 7, aliases: ['d', 8] },
    ],
    external_tools: { accepted: ['open_in_ide', 4], rejected: [{ reason: 'no name' }, { name: 'show_diff', reason: 9 }, 'show_diff'] },
    capabilities: { supports_question: 'yes' },
    hooks: { supported_events: ['Stop', 3], configured: [] },
  });
  const { session } = server.desk;
  assert.deepEqual(session.agent, { protocol: 'kimi-wire', name: 'agent', own: 'Odd' });
  assert.deepEqual(session.commands, [
    { name: 'a', description: '', aliases: [] },
    { name: 'b', description: '', aliases: [] },
    { name: 'c', description: '', aliases: ['d'] },
  ]);
  assert.deepEqual(offers(server)?.tools, { accepted: ['open_in_ide'], rejected: [{ name: 'show_diff', reason: 'rejected' }] });
  assert.equal(offers(server)?.feedback, true);
  const told = server.desk.logged.filter((line) => line.startsWith('Left out of the handshake'));
  assert.ok(told.some((line) => line.endsWith('slash_commands.1: 5')));
  assert.ok(told.some((line) => line.endsWith('external_tools.rejected.0: {"reason":"no name"}')));
});

test('every member of the answer is of a wrong shape: the session begins all the same', async () => {
  const server = new Server({ tools: [tool('open_in_ide')] });
  const members = { protocol_version: [], server: [], slash_commands: {}, external_tools: [], capabilities: [], hooks: 1 };
  await server.answer('initialize', members);
  assert.equal(server.desk.session.link.state, 'ready');
  assert.deepEqual(offers(server)?.tools?.accepted, ['open_in_ide']);
});

test('versions are compared by number: 1.10 is newer than 1.9 and 1.2', () => {
  const [ten, nine, one] = ['1.10', '1.9', '1'].map((text) => parseVersion(text));
  assert.ok(ten && nine && one);
  assert.deepEqual([atLeast(ten, 9), atLeast(nine, 10), atLeast(one, 1), atLeast(one, 0)], [true, false, false, true]);
  assert.deepEqual([isNewer(ten, nine), isNewer(nine, ten), isNewer(ten, ten)], [true, false, false]);
  assert.equal(parseVersion('new'), undefined);
});

test('request before the initialize answer: a background approval is asked at once and can be answered', async () => {
  const server = new Server();
  await server.request('ApprovalRequest', {
    id: 'a',
    tool_call_id: 'c',
    sender: 'Shell',
    action: 'run command',
    description: 'Run `ls`',
    source_kind: 'background_agent',
  });
  assert.equal(server.desk.session.asks.length, 1);
  server.desk.choose('approve');
  await settled();
  assert.deepEqual(server.answerTo('a')?.result, { request_id: 'a', response: 'approve' });
});

test('silence: notes say that it takes its time, then the user decides; a late answer still counts', async () => {
  const server = new Server({ limits: { notes: [1], silence: 5 } });
  await server.desk.asked();
  const { link } = server.desk.session;
  assert.match(link.state === 'opening' ? (link.note ?? '') : '', /is starting/);
  const ask = server.desk.ask;
  assert.equal(ask.kind, 'question');
  assert.equal(ask.turnId, undefined);
  server.desk.send({ type: 'answer', askId: ask.id, answer: { kind: 'fields', values: { what: ['Keep waiting'] } } });
  assert.equal(server.desk.session.asks.length, 0);
  await server.desk.asked();
  await server.answer('initialize', { protocol_version: '1.10' });
  assert.equal(server.desk.session.link.state, 'ready');
  assert.equal(server.desk.session.asks.length, 0);
});

test('silence (0.78): going on without the handshake', async () => {
  const server = new Server({ limits: { notes: [], silence: 1 } });
  await server.desk.asked();
  const what = 'Go on without the handshake (old versions)';
  server.desk.send({ type: 'answer', askId: server.desk.ask.id, answer: { kind: 'fields', values: { what: [what] } } });
  await server.desk.ready;
  assert.equal(offers(server)?.tools, undefined);
});

test('a handshake that is refused for another reason closes the link and says why', async () => {
  const server = new Server();
  await server.refuse('initialize', -32603, 'broken config');
  const { link } = server.desk.session;
  assert.ok(link.state === 'closed');
  assert.match(link.reason, /handshake with kimi failed: broken config/);
  assert.deepEqual(link.next, ['restart', 'showLog', 'pickAgent']);
});

test('a result that is none closes the link instead of hanging', async () => {
  const server = new Server();
  await server.answer('initialize', 'many');
  assert.equal(server.desk.session.link.state, 'closed');
});
