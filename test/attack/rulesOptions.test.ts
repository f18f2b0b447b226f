import assert from 'node:assert/strict';
import { test } from 'node:test';
import { permissionAsk, permissionReply } from '../../src/protocols/acp/approvals.ts';
import { factsOf } from '../../src/protocols/acp/calls.ts';
import { permissionRequest } from '../../src/protocols/acp/schema.ts';
import { approvalAnswers } from '../../src/session/approvalAnswers.ts';
import type { Approval } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer } from '../../src/session/policy.ts';
import { rejection } from '../../src/session/select.ts';
import { plainFolder } from './names.ts';

/** The room of rules: options of an agent whose kind says nothing, as they come over the wire. */

/** Kinds that no version knows, some of which read like one. */
const KINDS = [
  'allow_everything',
  'allow',
  'ALLOW_ONCE',
  'allow_once ',
  'allow-once',
  'reject_everything',
  'reject',
  'Reject_once',
  'deny',
  'cancelled',
  '',
  'constructor',
  '__proto__',
  null,
  7,
  undefined,
];
const KNOWN = ['allow_once', 'allow_always', 'reject_once', 'reject_always'];
const RULES: readonly ApprovalRule[] = [
  { kind: 'command', decision: 'allow' },
  { kind: 'command', pattern: 'ls *', decision: 'allow' },
  { kind: 'command', decision: 'reject' },
];

/** The request as an agent sends it, and what the user is asked about it. */
function asked(kinds: readonly unknown[]) {
  const options = kinds.map((kind, at) => ({
    optionId: `o${at}`,
    name: kind === 'allow_once' ? `Allow words ${at}` : `Words ${at}`,
    kind,
  }));
  const toolCall = { toolCallId: 'c', title: 'ls -l', kind: 'execute', rawInput: { command: 'ls -l' } };
  const { toolCall: read, ...request } = permissionRequest.parse({ sessionId: 's', toolCall, options });
  const ask = permissionAsk('a', { ...request, toolCall: read }, factsOf(read), { cwd: '/w', turnId: 't', asker: null });
  assert.ok(ask.kind === 'approval');
  return { request, ask };
}
const byRule = (ask: Approval, rule: ApprovalRule) => {
  const answer = autoAnswer(ask, [rule], '/w', plainFolder('/w'));
  return answer?.kind === 'option' ? answer.optionId : answer?.kind;
};
/** The option that each answer of a surface would send, by what the answer is said to mean. */
const sent = (ask: Approval) =>
  approvalAnswers(ask, { cwd: '/w', feedback: true }).answers.flatMap(({ does, means, label }) =>
    does.kind === 'option' || does.kind === 'feedback' || does.kind === 'session' ? [{ id: does.option.id, means, label }] : [],
  );

test('an option of unknown kind over ACP is shown in its words, and nothing but its own row sends it', () => {
  for (const kind of KINDS) {
    const { request, ask } = asked([kind]);
    for (const rule of RULES) assert.equal(byRule(ask, rule), undefined, `${kind}: a rule that would ${rule.decision}`);
    assert.equal(rejection(ask), undefined, `${kind} is no rejection`);
    const { once, reject } = approvalAnswers(ask, { cwd: '/w', feedback: true });
    assert.equal(once, undefined, `${kind} is no allowance`);
    assert.ok(!reject || reject.does.kind === 'stop', `${kind} is what Reject sends`);
    assert.deepEqual(sent(ask), [{ id: 'o0', means: 'other', label: 'Words 0' }], String(kind));
    assert.deepEqual(permissionReply(request, { kind: 'cancelled' }), { outcome: { outcome: 'cancelled' } });
    assert.deepEqual(permissionReply(request, { kind: 'fields', values: {} }), { outcome: { outcome: 'cancelled' } });
  }
});

test('an option of unknown kind before those of known kinds is not taken for one of them', () => {
  for (const kind of KINDS) {
    const { request, ask } = asked([kind, ...KNOWN, kind]);
    const [allow, , reject] = RULES;
    assert.ok(allow && reject);
    assert.deepEqual([byRule(ask, allow), byRule(ask, reject), rejection(ask)?.id], ['o1', 'o3', 'o3'], String(kind));
    for (const { id, means } of sent(ask)) assert.equal(['o0', 'o5'].includes(id), means === 'other', `${kind}: ${id} for ${means}`);
    assert.deepEqual(permissionReply(request, { kind: 'fields', values: {} }), {
      outcome: { outcome: 'selected', optionId: 'o1' },
      answers: {},
    });
  }
});
