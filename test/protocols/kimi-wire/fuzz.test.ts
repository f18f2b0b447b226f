import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events, requests } from '../../../src/protocols/kimi-wire/schema.ts';
import { Server, settled } from './server.ts';

// wire.md §9: nothing a server says may hang or break the client. The seed is fixed: a failure comes again.
const SEEDS = [1, 2, 3, 4];
const MESSAGES = 1_500;

function randomFrom(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const ids = ['a', 'b', 'c', '__proto__', 'constructor', '', 7, null, 'p0', 'p1'];
  const texts = ['', 'text', '{"a":', '{"path":"x"}', '\u2028', '\ud800', '../..', '%s', 'x'.repeat(5_000)];
  const value = (depth: number): unknown => {
    if (depth > 3 || next() < 0.5) return pick([...texts, 0, -1, 1e308, true, false, null, undefined]);
    if (next() < 0.4) return Array.from({ length: Math.floor(next() * 4) }, () => value(depth + 1));
    return thing(depth + 1);
  };
  const KEYS = [
    ...['type', 'id', 'payload', 'event', 'text', 'think', 'function', 'name', 'arguments', 'arguments_part', 'tool_call_id', 'request_id'],
    ...['return_value', 'is_error', 'output', 'message', 'display', 'user_input', 'n', 'response', 'parent_tool_call_id', 'agent_id'],
    ...['questions', 'question', 'options', 'label', 'sender', 'action', 'description', 'source_kind', 'plan_mode', 'token_usage'],
  ];
  const TYPES = [...Object.keys(events), ...Object.keys(requests), 'text', 'diff', 'todo', 'Telepathy', '__proto__'];
  const thing = (depth: number): Record<string, unknown> => {
    const made: Record<string, unknown> = {};
    for (let at = 0; at < 4; at++) {
      const key = pick(KEYS);
      if (key === 'type') made.type = pick(TYPES);
      else if (/id$/.test(key)) made[key] = pick(ids);
      else made[key] = value(depth);
    }
    return made;
  };
  const nearly = (): Record<string, unknown> => {
    const id = pick(ids);
    const whole: Record<string, Record<string, unknown>> = {
      ContentPart: { type: 'text', text: pick(texts) },
      ToolCall: { type: 'function', id, function: { name: pick(texts), arguments: pick([...texts, null]) } },
      ToolCallPart: { arguments_part: pick(texts) },
      ToolResult: {
        tool_call_id: id,
        return_value: { is_error: pick([true, false]), output: pick(texts), message: '', display: [thing(1)] },
      },
      SubagentEvent: { parent_tool_call_id: id, agent_id: pick(ids), event: { type: pick(TYPES), payload: thing(1) } },
      StepBegin: { n: 1 },
      StepRetry: { n: 1, next_attempt: 2, max_attempts: 3, wait_s: 1, error_type: 'x' },
      ApprovalRequest: { id, tool_call_id: pick(ids), sender: 'Shell', action: 'run', description: '', display: [thing(1)] },
      ApprovalResponse: { request_id: id, response: pick(['approve', 'reject', 'maybe']) },
      ToolCallRequest: { id, name: pick(texts), arguments: pick(texts) },
      TurnBegin: { user_input: pick(texts) },
      TurnEnd: {},
    };
    const type = pick(Object.keys(whole));
    return { type, payload: whole[type] };
  };
  return (): unknown => {
    if (next() < 0.05) return pick<unknown>([...texts.filter(Boolean), [], [{}], 5, null, { jsonrpc: '2.0' }, { id: 'p1' }]);
    if (next() < 0.05)
      return { jsonrpc: '2.0', id: pick(ids.filter((id) => id !== 'p1')), ...pick([{ result: value(0) }, { error: thing(0) }]) };
    const params = next() < 0.6 ? nearly() : next() < 0.8 ? { type: pick(TYPES), payload: thing(0) } : value(0);
    return { jsonrpc: '2.0', ...(next() < 0.5 ? { id: pick(ids) } : {}), method: pick(['event', 'event', 'request', 'other']), params };
  };
}

for (const seed of SEEDS) {
  test(`whatever a server says, the conversation goes on (seed ${seed})`, async () => {
    const server = await Server.running();
    const random = randomFrom(seed);
    for (let at = 0; at < MESSAGES; at++) {
      server.channel.say(random());
      if (at % 5 === 0) await settled();
    }
    await settled();
    for (const ask of server.harness.session.asks) server.harness.send({ type: 'answer', askId: ask.id, answer: { kind: 'cancelled' } });
    await settled();
    assert.deepEqual(
      server.harness.logged.filter((line) => /^Handling a message failed/.test(line)),
      [],
    );
    assert.equal(server.harness.turn.status, 'running');
    await server.finish();
    assert.equal(server.harness.session.turns[0]?.status, 'done');
    server.harness.prompt('and on');
    await server.text('fine');
    assert.deepEqual(server.harness.shown, ['text: fine']);
  });
}
