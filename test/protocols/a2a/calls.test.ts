import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectsOf, readGeminiCall, readRfcCall, screenText } from '../../../src/protocols/a2a/calls.ts';
import { eventOf, toIncoming } from '../../../src/protocols/a2a/codec.ts';
import { URI } from '../../fakes/a2a.ts';

test('RFC objects in either style of names, enums by name, number or prefix, wrapped or not', () => {
  const snake = {
    tool_call_id: 'k',
    status: 'EXECUTING',
    tool_name: 'write_file',
    input_parameters: { some_key: 1, otherKey: 2 },
    live_content: 'x',
  };
  const camel = { toolCallId: 'k', status: 2, toolName: 'write_file', inputParameters: { some_key: 1, otherKey: 2 }, liveContent: 'x' };
  const wanted = readRfcCall(snake);
  assert.equal(wanted?.status, 'running');
  assert.deepEqual(wanted?.input, { some_key: 1, otherKey: 2 });
  for (const status of [2, '2', 'executing', 'TOOL_CALL_STATUS_EXECUTING'])
    assert.deepEqual(readRfcCall({ ...camel, status }), wanted, String(status));
  assert.equal(readRfcCall({ tool_call_id: 'k', status: 'SUCCEEDED', result: { output: { text: 'done' } } })?.text, 'done');
  assert.equal(readRfcCall({ tool_call_id: 'k' })?.status, 'pending', 'a status that is missing');
  assert.equal(readRfcCall({ something: 'else' }), undefined);
});

test('an old content that is absent is a new file, an empty one an empty file', () => {
  const call = (details: object) =>
    readRfcCall({
      tool_call_id: 'k',
      confirmation_request: { options: [], fileEditDetails: { filePath: '/a', newContent: 'b', ...details } },
    });
  assert.equal(call({})?.diff?.before, null);
  assert.equal(call({ old_content: '' })?.diff?.before, '');
});

test('the options of the agent as they are; without any, allow and reject', () => {
  const request = (options: readonly object[]) =>
    readRfcCall({ tool_call_id: 'k', status: 1, confirmation_request: { options, mcp_details: { server_name: 's', tool_name: 't' } } })
      ?.request;
  const given = request([
    { id: 'maybe', name: 'Perhaps' },
    { id: 'proceed_once', name: 'Yes' },
    { id: 'no', name: 'No' },
  ]);
  assert.deepEqual(
    given?.options.map(({ id, effect }) => [id, effect]),
    [
      ['maybe', 'allow_always'],
      ['proceed_once', 'allow_once'],
      ['no', 'reject_once'],
    ],
    'an id nobody knows is never chosen by a rule',
  );
  assert.deepEqual(
    request([])?.options.map((option) => option.sends),
    ['proceed_once', 'cancel'],
  );
});

test("the Gemini CLI server's calls: an approval that was answered is none, errors are found where they hide", () => {
  const call = (more: object) =>
    readGeminiCall({ request: { callId: 'g', name: 'run_shell_command', args: { command: 'ls' } }, status: 'awaiting_approval', ...more });
  const asked = { confirmationDetails: { type: 'exec', command: 'ls' } };
  assert.equal(call(asked)?.status, 'waiting');
  assert.equal(call({ ...asked, outcome: 'proceed_once' })?.status, 'pending');
  assert.deepEqual(
    call({ confirmationDetails: { type: 'mcp', serverName: 's', toolName: 't' } })?.request?.options.map((option) => option.sends),
    ['proceed_once', 'proceed_always_tool', 'proceed_always_server', 'cancel'],
  );
  const failed = call({
    status: 'error',
    response: { error: {}, responseParts: [{ functionResponse: { response: { error: 'No such file' } } }] },
  });
  assert.deepEqual([failed?.status, failed?.error?.message], ['failed', 'No such file']);
  assert.equal(call({ confirmationDetails: { type: 'something_new', title: 'T' } })?.request?.detail.type, 'text');
  const question = call({
    confirmationDetails: {
      type: 'ask_user',
      questions: [{ question: 'Colour?', header: 'C', type: 'choice', options: [{ label: 'Blue' }] }],
    },
  });
  assert.equal(question?.request?.questions?.[0]?.label, 'Colour?');
});

test('a screen without its padding, colours and overwritten lines', () => {
  assert.equal(screenText('a   \r\n\u001b[1mb\u001b[0m  \n10%\r100%\n\n\n'), 'a\nb\n100%');
});

test('records of both versions come to the same', () => {
  const message = (more: object, role: string) => ({ messageId: 'm', role, parts: [{ text: 'x', ...more }] });
  const old = toIncoming({
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    final: false,
    status: { state: 'input-required', message: message({ kind: 'text' }, 'agent') },
  });
  const now = toIncoming({
    statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_INPUT_REQUIRED', message: message({}, 'ROLE_AGENT') } },
  });
  assert.deepEqual({ ...now, parts: [] }, { ...old, parts: [] });
  assert.equal(toIncoming({ task: { id: 't', status: { state: 'TASK_STATE_COMPLETED' } } })?.state, 'completed');
  assert.equal(toIncoming({ kind: 'news' }), undefined);
  assert.equal(toIncoming(null), undefined);
  assert.equal(toIncoming({ kind: 'status-update', taskId: 't', status: { state: 'levitating' } })?.state, 'unknown');
});

test('the facts of an event wherever the agent puts them', () => {
  for (const metadata of [
    { [URI]: { kind: 'THOUGHT' } },
    { [URI.replace('v0', 'v0.0.1')]: { kind: 5 } },
    { coderAgent: { kind: 'thought' } },
    { kind: 'thought' },
  ]) {
    assert.equal(eventOf(metadata).kind, 'thought');
  }
  assert.deepEqual(eventOf({ coderAgent: { kind: 'state-change' }, error: { type: 'retry', message: 'again' } }).retry, true);
});

test('options whose ids say nothing are understood by their words; what is unclear is never taken for once', () => {
  const effect = (id: string, name: string) => {
    const confirmation_request = { options: [{ id, name }], generic_details: { description: 'd' } };
    return readRfcCall({ tool_call_id: 'k', status: 'PENDING', tool_name: 'x', confirmation_request })?.request?.options[0]?.effect;
  };
  assert.equal(effect('1', 'Allow'), 'allow_once');
  assert.equal(effect('1', 'Yes, once'), 'allow_once');
  assert.equal(effect('2', 'No'), 'reject_once');
  assert.equal(effect('2', "Don't allow"), 'reject_once');
  assert.equal(effect('3', 'Always allow'), 'allow_always');
  assert.equal(effect('allow', 'Allow for this session'), 'allow_always');
  assert.equal(effect('4', 'Do it in the other place'), 'allow_always');
});

test('what each option does, by all of them: the first that is not for longer is for this once, where it is plain which refuse', () => {
  const effects = (...options: readonly (readonly [string, string])[]) => effectsOf(options.map(([id, name]) => ({ id, name })));
  const [yes, forEver, no] = [
    ['yes1', 'Yes, just now'],
    ['yesall', 'Yes, for ever'],
    ['nono', 'No thanks'],
  ] as const;
  assert.deepEqual(effects(yes, forEver, no), ['allow_once', 'allow_always', 'reject_once']);
  assert.deepEqual(effects(forEver, yes, no), ['allow_always', 'allow_once', 'reject_once'], 'wherever it stands');
  assert.deepEqual(effects(yes, forEver), ['allow_always', 'allow_always'], 'not where none refuses');
  assert.deepEqual(effects(['a', 'Apply'], ['b', 'Apply, and don’t ask again'], ['c', 'Leave it, not now']), [
    'allow_once',
    'allow_always',
    'reject_once',
  ]);
  assert.deepEqual(effects(['1', "Yes, and don't ask again"], ['2', 'Never ask']), ['allow_always', 'allow_always']);
  assert.deepEqual(effects(['1', 'Always reject'], ['2', 'Go'], ['ok', 'OK']), ['reject_always', 'allow_always', 'allow_once']);
});
