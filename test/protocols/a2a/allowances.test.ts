import { test } from 'node:test';
import { fakeAgent, type Json, shipped, status } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

const meta = { coderAgent: { kind: 'state-change' } };
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
    session.answer(ask, option(ask, prompt === 'ls' ? 'allow_always' : 'allow_once'));
    await session.ended(turnId);
  }
});
