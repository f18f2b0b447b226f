import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryMessage } from '../../../src/agent/models/model.ts';
import { replayed } from '../../../src/agent/servers/acp/words.ts';
import { CANCELLED_OUTCOME, permissionReply } from '../../../src/protocols/acp/approvals.ts';
import { frameOf, readPermissionReply, updateParams, version1 } from '../../../src/protocols/acp/codec.ts';

// Both ends of ACP use one codec: what parley-agent writes, the client reads as it was meant.

const HISTORY: readonly HistoryMessage[] = [
  {
    role: 'user',
    parts: [
      { type: 'text', text: 'Go' },
      { type: 'image', url: 'data:image/png;base64,aGk=' },
    ],
  },
  {
    role: 'assistant',
    text: 'Yes',
    thought: 'Hm',
    calls: [
      { id: 'a', name: 'WriteFile', input: '{"path":"/w/x.ts","content":"1"}' },
      { id: 'b', name: 'SetTodoList', input: '{"todos":[{"title":"One","status":"done"}]}' },
      { id: 'c', name: 'Shell', input: 'no JSON' },
    ],
  },
  {
    role: 'tool',
    callId: 'a',
    name: 'WriteFile',
    isError: false,
    message: '',
    text: 'ok',
    diffs: [{ path: '/w/x.ts', before: null, after: '1' }],
  },
  { role: 'tool', callId: 'b', name: 'SetTodoList', isError: false, message: 'Done', text: '' },
  { role: 'tool', callId: 'c', name: 'Shell', isError: true, message: 'Bad', text: 'input' },
];

test('every update that the agent writes is read by the client with all its members', () => {
  const updates = replayed(HISTORY, '/w');
  assert.deepEqual(
    updates.map(({ sessionUpdate }) => sessionUpdate),
    [
      'user_message_chunk',
      'user_message_chunk',
      'agent_thought_chunk',
      'agent_message_chunk',
      'tool_call',
      'tool_call',
      'tool_call',
      'tool_call_update',
      'tool_call_update',
      'plan',
      'tool_call_update',
    ],
  );
  for (const written of updates) {
    const wire: unknown = JSON.parse(JSON.stringify(updateParams('S', written)));
    const frame = frameOf(wire);
    assert.equal(frame?.sessionId, 'S');
    const read = frame && version1.readUpdate(frame.update);
    assert.deepEqual({ ...read, ...written }, { ...read }, JSON.stringify(written));
  }
});

test('an answer to a permission that the client writes is read by the agent', () => {
  const request = { sessionId: 'S', toolCall: { toolCallId: 'a' }, options: [{ optionId: 'once', name: 'Allow', kind: 'allow_once' }] };
  assert.deepEqual(readPermissionReply(permissionReply(request, { kind: 'option', optionId: 'once' })), { optionId: 'once' });
  assert.equal(readPermissionReply(CANCELLED_OUTCOME), 'cancelled');
  for (const none of [undefined, null, 'x', {}, { outcome: null }, { outcome: { outcome: 'selected' } }, { outcome: { outcome: 'else' } }])
    assert.equal(readPermissionReply(none), undefined);
});
