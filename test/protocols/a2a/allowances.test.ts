import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf } from '../../../src/session/select.ts';
import { fakeAgent, type Json, shipped, status } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const meta = { coderAgent: { kind: 'state-change' } };
const asksToRun: Json = { confirmationDetails: { type: 'exec', command: 'ls' } };

/** The shipped server, which asks for the same thing in every turn. */
const server = (call: (at: number, id: string) => Json) => ({
  card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
  on: {
    'message/stream': (asked: { readonly params: Json }, reply: { record(value: unknown): void; end(): void }, at: number) => {
      const answered = JSON.stringify(asked.params).includes('"outcome"');
      const id = /"callId":"(\w+)"/.exec(JSON.stringify(asked.params))?.[1] ?? `g${at}`;
      reply.record(answered ? shipped('success', { response: { resultDisplay: 'a.txt' } }, id) : call(at, id));
      reply.record(status('input-required', '', [], { final: true, meta }));
      reply.end();
    },
  },
});

test('what is always allowed is one of the session’s options, and turning it off takes it back', async (t) => {
  const agent = await fakeAgent(
    t,
    server((_, id) => shipped('awaiting_approval', asksToRun, id)),
  );
  const session = talk(t, agent.url);
  const first = session.begin('one');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_always'));
  await session.ended(first);
  const [listed] = session.now().options ?? [];
  assert.deepEqual([listed?.kind, listed?.kind === 'switch' && listed.on], ['switch', true]);
  assert.match(listed?.name ?? '', /run_shell_command: ls/);
  const second = await session.prompt('two');
  assert.deepEqual([second.status, callsOf(second)[0]?.status], ['done', 'done'], 'it was not asked again');
  session.live.send({ type: 'setOption', optionId: listed?.id ?? '', value: false });
  await session.until('an empty list', (now) => now.options?.length === 0);
  const third = session.begin('three');
  const again = await session.approval();
  session.answer(again, option(again, 'reject_once'));
  await session.ended(third);
});

test('nothing that was always allowed covers another command, or a file outside the folder', async (t) => {
  const edit = { confirmationDetails: { type: 'edit', filePath: '/elsewhere/a', originalContent: 'a', newContent: 'b' } };
  const agent = await fakeAgent(
    t,
    server((at, id) =>
      at < 3
        ? shipped('awaiting_approval', { confirmationDetails: { type: 'exec', command: at === 0 ? 'ls' : 'rm x' } }, id)
        : shipped('awaiting_approval', edit, id),
    ),
  );
  const session = talk(t, agent.url);
  for (const prompt of ['ls', 'rm', 'edit', 'edit again']) {
    const turnId = session.begin(prompt);
    const ask = await session.approval();
    session.answer(ask, option(ask, prompt === 'rm' ? 'allow_once' : 'allow_always'));
    await session.ended(turnId);
  }
});

test('another server may not pass for our tools', async (t) => {
  const mcp = { confirmationDetails: { type: 'mcp', serverName: 'editor', toolName: 'open_in_ide' } };
  const agent = await fakeAgent(
    t,
    server((_, id) => shipped('awaiting_approval', mcp, id)),
  );
  const tool = { name: 'open_in_ide', description: '', parameters: { type: 'object' }, run: async () => ({ ok: true, text: '' }) };
  // An agent by address was never lent anything.
  const session = talk(t, agent.url, { tools: [tool] });
  const turnId = session.begin('open');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'reject_once'));
  await session.ended(turnId);
});
