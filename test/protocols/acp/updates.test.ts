import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn, scene } from './scene.ts';

test('errors of a prompt, in the shapes agents have', async (t) => {
  for (const [error, wanted] of [
    [{ code: -32603, message: 'Internal error', data: { details: 'bad key' } }, 'Internal error: bad key'],
    [{ code: 401, message: '{"error":{"code":401,"message":"fake bad key"}}' }, 'fake bad key'],
    [{ code: -32603, message: 'x', data: { message: 'deep' } }, 'x: deep'],
  ] as const) {
    const made = await scene(t);
    const { driven, turnId } = await inTurn(made);
    const { id } = await made.agent.got('session/prompt');
    made.agent.send({ jsonrpc: '2.0', id, error });
    const turn = await driven.ended(turnId);
    assert.deepEqual([turn.status, turn.error?.message], ['failed', wanted]);
  }
});
