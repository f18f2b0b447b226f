import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, Ask } from '../../../src/session/model.ts';
import { callsOf } from '../../../src/session/select.ts';
import { asks, call, data, fakeAgent, type Json, over, type Reply, type Script, shipped, status, task } from '../../fakes/a2a.ts';
import { option, type Talk, talk } from './talk.ts';

const ONCE = [
  { id: 'proceed_once', name: 'Allow once' },
  { id: 'cancel', name: 'Reject' },
];
const command = (words: string, more: Json = {}) =>
  call('PENDING', { tool_name: 'shell', confirmation_request: { options: ONCE, execute_details: { command: words } }, ...more });
const options = (given: readonly Json[]) =>
  call('PENDING', { tool_name: 'shell', confirmation_request: { options: given, execute_details: { command: 'ls' } } });
const edit = (words: string) =>
  call('PENDING', {
    confirmation_request: { options: ONCE, file_edit_details: { file_name: 'a.txt', file_path: '/w/a.txt', new_content: words } },
  });
const exec = (words: string) =>
  shipped('awaiting_approval', { request: { args: { command: words } }, confirmationDetails: { type: 'exec', command: words } });
const shippedEdit = (words: string) =>
  shipped('awaiting_approval', {
    request: { name: 'replace', args: { file_path: '/w/a.txt', content: words } },
    confirmationDetails: { type: 'edit', filePath: '/w/a.txt', originalContent: 'x', newContent: words },
  });
const GEMINI: Json = { name: 'Gemini SDLC Agent', capabilities: { streaming: true } };

/** An agent that shows one thing, and another once it is told to; what it hears as decisions. */
async function turning(t: Parameters<typeof fakeAgent>[0], first: Json, more: Partial<Script> = {}) {
  const heard: Json[] = [];
  let open: Reply | undefined;
  const agent = await fakeAgent(t, {
    ...more,
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': ({ params }, reply) => {
        const { data: decided } = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts[0] ?? {};
        if (decided) {
          heard.push(decided);
          reply.record(over());
          return reply.end();
        }
        open = reply;
        reply.record(task('submitted'));
        reply.record(first);
      },
      ...more.on,
    },
  });
  return {
    ...agent,
    heard,
    says: (record: Json) => open?.record(record),
    /** In one piece. */
    saysAll: (all: readonly Json[]) =>
      open?.raw(all.map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`).join('')),
  };
}

const another = (session: Talk, old: { readonly id: string }) =>
  session.until('another question', ({ asks: [ask] }) => ask !== undefined && ask.id !== old.id);

for (const [name, card, first, second, shows] of [
  ['a command', {}, command('ls'), command('rm -rf /'), /rm -rf/],
  ['an edit', {}, edit('harmless\n'), edit('EVIL\n'), /EVIL/],
  ['what the agent calls it', {}, command('ls', { description: 'List' }), command('ls', { description: 'Delete' }), /Delete/],
  ['the options', {}, options(ONCE), options([{ id: 'cancel', name: 'Always allow' }, ONCE[0] as Json]), /Always allow/],
  ['a command of the shipped server', GEMINI, exec('ls'), exec('rm -rf /'), /rm -rf/],
  ['an edit of the shipped server', GEMINI, shippedEdit('harmless'), shippedEdit('EVIL'), /EVIL/],
] as const)
  test(`${name} becomes another while it is asked about: the question is put anew, and the old one answers nothing`, async (t) => {
    const agent = await turning(t, first, { card });
    const session = talk(t, agent.url);
    await session.opened();
    const turnId = session.begin('go');
    const old = await session.approval();
    assert.doesNotMatch(JSON.stringify(old), shows);
    agent.says(second);
    const ask = (await another(session, old)).asks[0] as Approval;
    assert.match(JSON.stringify(ask), shows);
    assert.equal(session.now().asks.length, 1);
    session.answer(old, { kind: 'option', optionId: old.options[0]?.id ?? '' });
    assert.equal(session.now().asks[0]?.id, ask.id, 'the old question answers nothing');
    session.answer(ask, { kind: 'option', optionId: ask.options[0]?.id ?? '' });
    await session.ended(turnId);
    assert.equal(agent.heard.length, 1);
  });

test('the arguments become others: what cannot be seen in the question is seen at the call, and asked anew', async (t) => {
  const generic = (input: Json) => call('PENDING', { input_parameters: input, confirmation_request: { options: ONCE } });
  const agent = await turning(t, generic({ to: 'me' }));
  const session = talk(t, agent.url);
  await session.opened();
  session.begin('go');
  const old = await session.approval();
  agent.says(generic({ to: 'everybody' }));
  await another(session, old);
});

test('it is told again as it is: the question stays', async (t) => {
  const agent = await turning(t, command('ls'));
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  agent.says(command('ls'));
  agent.says(call('PENDING', { tool_name: 'shell' }));
  agent.says(status('working', 'TEXT_CONTENT', [{ kind: 'text', text: 'Well?' }]));
  const now = await session.until('words', ({ turns }) => turns[0]?.parts.some((part) => part.kind === 'text') === true);
  assert.deepEqual(
    now.asks.map(({ id }) => id),
    [old.id],
  );
  session.answer(old, option(old, 'allow_once'));
  await session.ended(turnId);
  assert.deepEqual(
    agent.heard.map((one) => one.selected_option_id),
    ['proceed_once'],
  );
});

test('an agent counts down in what it says beside the question: the question stays', async (t) => {
  const counting = (left: number) => command('ls', { description: `Run ls (answer within ${left} s)` });
  const agent = await turning(t, counting(30));
  const session = talk(t, agent.url);
  await session.opened();
  session.begin('go');
  const old = await session.approval();
  for (let left = 29; left > 9; left -= 1) agent.says(counting(left));
  const now = await session.until(
    'the last of it',
    ({ turns }) => (turns[0] ? callsOf(turns[0])[0]?.title : undefined)?.includes('within 10 s') === true,
  );
  assert.deepEqual(
    now.asks.map(({ id }) => id),
    [old.id],
  );
  assert.equal(agent.heard.length, 0);
});

test('the same arguments in another order are the same', async (t) => {
  const ordered = (input: Json) => command('ls', { input_parameters: input });
  const agent = await turning(t, ordered({ one: { a: 1, b: 2 }, two: 2 }));
  const session = talk(t, agent.url);
  await session.opened();
  session.begin('go');
  const old = await session.approval();
  agent.says(ordered({ two: 2, one: { b: 2, a: 1 } }));
  agent.says(status('working', 'TEXT_CONTENT', [{ kind: 'text', text: 'Well?' }]));
  const now = await session.until('words', ({ turns }) => turns[0]?.parts.some((part) => part.kind === 'text') === true);
  assert.deepEqual(
    now.asks.map(({ id }) => id),
    [old.id],
  );
});

test('what a rule answered and was taken back before it left is not said to have been sent', async (t) => {
  const named = (id: string, words: string) =>
    shipped('awaiting_approval', { request: { args: { command: words } }, confirmationDetails: { type: 'exec', command: words } }, id);
  const rests = status('input-required', '', [], { final: true, meta: { coderAgent: { kind: 'state-change' } } });
  let at = 0;
  const agent = await turning(t, named('g1', 'ls'), {
    card: GEMINI,
    on: {
      'message/stream': (_, reply) => {
        const first = at++ === 0;
        const now = first
          ? [task('submitted'), named('g1', 'ls')]
          : [shipped('success', {}, 'g1'), named('g2', 'ls'), named('g2', 'rm -rf /')];
        // In one piece, or the answer has left before it is taken back.
        reply.raw([...now, rests].map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`).join(''));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  session.begin('go');
  const old = await session.approval();
  session.answer(old, option(old, 'allow_always'));
  const ask = (await another(session, old)).asks[0] as Approval;
  assert.deepEqual(ask.detail, { type: 'command', command: 'rm -rf /' });
  assert.doesNotMatch(notices(session), /may still take effect/);
});

test('a decision that has not left is not sent when the call has become another', async (t) => {
  const agent = await turning(t, command('ls'), {
    before: (_, response, body) =>
      body.includes('selected_option_id') && agent.heard.length === 0 && sent++ === 0
        ? Boolean(response.writeHead(503, { 'retry-after': '1' }).end('busy'))
        : false,
  });
  let sent = 0;
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  session.answer(old, option(old, 'allow_once'));
  await session.until('word of what it waits for', (now) => /has not been sent yet/.test(now.turns[0]?.activity ?? ''));
  agent.says(command('rm -rf /'));
  const ask = (await another(session, old)).asks[0] as Approval;
  assert.deepEqual(ask.detail, { type: 'command', command: 'rm -rf /', unsure: true });
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(agent.heard.length, 0, 'what was decided about the old one never leaves');
  session.answer(ask, option(ask, 'reject_once'));
  await session.ended(turnId);
  assert.deepEqual(
    agent.heard.map((one) => one.selected_option_id),
    ['cancel'],
  );
});

test('an agent that never stops changing what it asks: it is asked about now and then, as it stands then, and answered by nobody else', async (t) => {
  const agent = await turning(t, command('0'));
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  const asked = new Set<string>();
  session.live.store.onChange(({ now }) => now.asks.forEach(({ id }) => void asked.add(id)));
  agent.saysAll(Array.from({ length: 20 }, (_, at) => command(`${at}`)));
  const last = ({ asks: [ask] }: { readonly asks: readonly Ask[] }) =>
    ask?.kind === 'approval' && ask.detail.type === 'command' && ask.detail.command === '19';
  const ask = (await session.until('the last of them', last)).asks[0] as Approval;
  assert.ok(asked.size <= 3);
  assert.equal(agent.heard.length, 0);
  session.answer(old, option(old, 'allow_once'));
  assert.equal(session.now().asks[0]?.id, ask.id);
  session.answer(ask, option(ask, 'allow_once'));
  await session.ended(turnId);
  assert.deepEqual(
    agent.heard.map((one) => one.selected_option_id),
    ['proceed_once'],
  );
});

test('a decision that did not arrive: what the user made of the proposal is asked about, and sent when it is allowed again', async (t) => {
  let at = 0;
  const waits = task('input-required', {
    status: {
      state: 'input-required',
      message: {
        kind: 'message',
        role: 'agent',
        messageId: 'q',
        parts: [data({ tool_call_id: 'k1', status: 'PENDING', tool_name: 'write_file', input_parameters: { keptAs_is: 1 }, ...asks })],
      },
    },
  });
  const agent = await turning(t, call('PENDING', asks), {
    before: (_, response, body) =>
      body.includes('selected_option_id') && at++ === 0 ? Boolean(response.writeHead(500).end('boom')) : false,
    on: { 'tasks/get': (_, reply) => reply.json(waits) },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  session.answer(old, { ...option(old, 'allow_once'), edited: 'mine\n' } as Parameters<Talk['answer']>[1]);
  const ask = (await another(session, old)).asks[0] as Approval;
  assert.match(ask.title, /with your changes/);
  assert.equal(ask.detail.type === 'edit' ? ask.detail.diffs[0]?.after : '', 'mine\n');
  session.answer(ask, option(ask, 'allow_once'));
  await session.ended(turnId);
  assert.match(JSON.stringify(agent.heard), /mine\\r\\n/);
});

const inTask = (words: string) =>
  task('input-required', {
    status: {
      state: 'input-required',
      message: {
        kind: 'message',
        role: 'agent',
        messageId: 'q',
        parts: ((edit(words).status as Json).message as Json).parts,
      },
    },
  });
const mine = (ask: Approval) => ({ ...option(ask, 'allow_once'), edited: 'mine\n' }) as Parameters<Talk['answer']>[1];
const notices = (session: Talk) =>
  session
    .now()
    .turns[0]?.parts.map((part) => (part.kind === 'notice' ? part.notice.text : ''))
    .join() ?? '';

test('a decision that did not arrive, and the agent proposes something else meanwhile: what the user had made of the old text is not part of it, and that is told', async (t) => {
  let at = 0;
  const agent = await turning(t, edit('one\n'), {
    before: (_, response, body) => (body.includes('selected_option_id') && at++ === 0 ? Boolean(response.destroy()) : false),
    on: { 'tasks/get': (_, reply) => reply.json(inTask('other\n')) },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  session.answer(old, mine(old));
  const ask = (await another(session, old)).asks[0] as Approval;
  assert.doesNotMatch(ask.title, /with your changes/);
  assert.equal(ask.detail.type === 'edit' ? ask.detail.diffs[0]?.after : '', 'other\n');
  assert.match(notices(session), /proposes something else now/);
  session.answer(ask, option(ask, 'allow_once'));
  await session.ended(turnId);
  assert.deepEqual(agent.heard, [{ tool_call_id: 'k1', selected_option_id: 'proceed_once' }]);
});

test('an agent that tells the user’s own text back is not asked about it', async (t) => {
  let open: Reply | undefined;
  let before: Reply | undefined;
  const agent = await turning(t, edit('one\n'), {
    on: {
      'message/stream': ({ params }, reply) => {
        const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
        if (part?.data) open = reply;
        else before = reply;
        if (part?.data) return reply.record(edit('mine\r\n'));
        reply.record(task('submitted'));
        reply.record(edit('one\n'));
      },
    },
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  const asked = new Set<string>();
  session.live.store.onChange(({ now }) => now.asks.forEach(({ id }) => void asked.add(id)));
  session.answer(old, mine(old));
  await agent.until('message/stream', 2);
  await session.until('its record', () => open !== undefined);
  open?.record(call('SUCCEEDED'));
  open?.record(over());
  open?.end();
  before?.end();
  assert.equal((await session.ended(turnId)).status, 'done');
  assert.deepEqual(
    [...asked].filter((id) => id !== old.id),
    [],
  );
});

test('a server that cannot be told of changes: a text of the user for what was proposed before is not written over what is allowed now', async (t) => {
  let at = 0;
  const agent = await turning(t, shippedEdit('one'), {
    card: GEMINI,
    before: (_, response, body) =>
      body.includes('proceed_once') && at++ === 0 ? Boolean(response.writeHead(503, { 'retry-after': '30' }).end('busy')) : false,
    on: {
      'message/stream': ({ params }, reply) => {
        const [part] = (params.message as { readonly parts: readonly { readonly data?: Json }[] }).parts;
        if (part?.data) {
          reply.record(shipped('success', { request: { name: 'replace', args: { file_path: '/w/a.txt', content: 'other' } } }));
          reply.record(status('input-required', '', [], { final: true, meta: { coderAgent: { kind: 'state-change' } } }));
          return reply.end();
        }
        open = reply;
        reply.record(task('submitted'));
        reply.record(shippedEdit('one'));
      },
    },
  });
  let open: Reply | undefined;
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  session.answer(old, mine(old));
  await session.until('word of what it waits for', (now) => /has not been sent yet/.test(now.turns[0]?.activity ?? ''));
  open?.record(shippedEdit('other'));
  const ask = (await another(session, old)).asks[0] as Approval;
  session.answer(ask, option(ask, 'allow_once'));
  assert.equal((await session.ended(turnId)).status, 'done');
  assert.deepEqual([...session.files], []);
});

test('words with a rejection that did not arrive are not said once the call is allowed after all', async (t) => {
  let at = 0;
  const agent = await turning(t, command('ls'), {
    before: (_, response, body) =>
      body.includes('selected_option_id') && at++ === 0 ? Boolean(response.writeHead(500).end('boom')) : false,
  });
  const session = talk(t, agent.url);
  await session.opened();
  const turnId = session.begin('go');
  const old = await session.approval();
  session.answer(old, { ...option(old, 'reject_once'), feedback: 'Never' } as Parameters<Talk['answer']>[1]);
  const ask = (await another(session, old)).asks[0] as Approval;
  session.answer(ask, option(ask, 'allow_once'));
  await session.ended(turnId);
  assert.deepEqual(
    agent.heard.map((one) => one.selected_option_id),
    ['proceed_once'],
  );
  assert.doesNotMatch(JSON.stringify(agent.requests('message/stream').map(({ params }) => params)), /Never/);
});
