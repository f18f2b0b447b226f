import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  commandIn,
  decisionsIn,
  listedCommands,
  messageIn,
  messagePush,
  operationOf,
  taskPush,
} from '../../../src/agent/servers/a2a/requests.ts';
import {
  type CallDecision,
  callData,
  commandAnswerOn,
  commandParams,
  commandTree,
  eventMetadata,
  eventOf,
  meaningOf,
  messageParams,
  readCommandAnswer,
  readSettings,
  type Spelling,
  thoughtData,
  toIncoming,
} from '../../../src/protocols/a2a/codec.ts';
import { EXTENSION, type Fields } from '../../../src/protocols/a2a/schema.ts';
import {
  type KnownTaskState,
  methodOn,
  pushInMessage,
  pushName,
  pushOfTask,
  readPushName,
  taskRecord,
  updateRecord,
} from '../../../src/protocols/a2a/versionCodec.ts';

// Both ends of A2A use one codec: what parley-agent writes, the client reads as it was meant, and the other way round.

const VERSIONS = ['0.3', '1.0'] as const;
const STATES: readonly KnownTaskState[] = ['submitted', 'working', 'input-required', 'completed', 'canceled', 'failed'];
const overTheWire = (value: unknown): Fields => JSON.parse(JSON.stringify(value)) as Fields;
const spelling = (wire: '0.3' | '1.0'): Spelling => ({ wire, dialect: 'rfc', extension: EXTENSION, commandContext: true });

for (const version of VERSIONS) {
  test(`${version}: every record that the agent writes is read by the client with all that it tells`, () => {
    const metadata = eventMetadata({ kind: 'tool_call_update', model: 'M', error: 'E' });
    for (const state of STATES) {
      const message = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'Hello' }], taskId: 'T', contextId: 'C' };
      const status = { state, timestamp: '2026-01-02T03:04:05.000Z', message };
      const told = toIncoming(overTheWire(updateRecord(version, { taskId: 'T', contextId: 'C', status, final: true, metadata })));
      assert.deepEqual([told?.kind, told?.taskId, told?.contextId, told?.state], ['status', 'T', 'C', state]);
      assert.deepEqual([told?.messageId, told?.timestamp, told?.parts.map(({ text }) => text)], ['m', status.timestamp, ['Hello']]);
      // 1.0 has no such member: there the state alone tells.
      assert.equal(told?.final, version === '0.3');
      const { kind, model, error } = eventOf(told?.metadata);
      assert.deepEqual([kind, model, error], ['tool_call_update', 'M', 'E']);
      const task = toIncoming(overTheWire(taskRecord(version, { id: 'T', contextId: 'C', status, history: [message] })));
      assert.deepEqual([task?.kind, task?.taskId, task?.contextId, task?.state], ['task', 'T', 'C', state]);
      assert.equal(task?.history?.[0]?.messageId, 'm');
    }
  });

  test(`${version}: calls and thoughts of the agent`, () => {
    const read = (data: Fields, kind: 'tool_call_update' | 'tool_call_confirmation' | 'thought') => {
      const message = { messageId: 'm', role: 'agent' as const, parts: [{ data }] };
      const status = { state: 'working' as const, timestamp: '', message };
      const told = toIncoming(
        overTheWire(updateRecord(version, { taskId: 'T', contextId: 'C', status, final: false, metadata: eventMetadata({ kind }) })),
      );
      return told && meaningOf(told)[0];
    };
    const call = { id: 'k', tool: 'Shell', description: 'Runs ls', input: { command: 'ls' } };
    const running = read(callData({ ...call, status: 'executing', live: 'a.ts' }), 'tool_call_update');
    assert.ok(running?.type === 'call');
    assert.deepEqual(
      [running.call.id, running.call.name, running.call.title, running.call.status, running.call.text, running.call.input],
      ['k', 'Shell', 'Runs ls', 'running', 'a.ts', { command: 'ls' }],
    );
    const failed = read(callData({ ...call, status: 'failed', error: { message: 'No', type: 't', status_code: 2 } }), 'tool_call_update');
    assert.deepEqual(failed?.type === 'call' && [failed.call.status, failed.call.error?.message], ['failed', 'No (t 2)']);
    const request = {
      options: [
        { id: 'proceed_once', name: 'Once' },
        { id: 'cancel', name: 'No' },
      ],
      execute_details: { command: 'ls', working_directory: '/w' },
    };
    const asked = read(callData({ ...call, status: 'pending', request }), 'tool_call_confirmation');
    assert.ok(asked?.type === 'call' && asked.call.status === 'waiting');
    assert.deepEqual(asked.call.request?.detail, { type: 'command', command: 'ls', cwd: '/w' });
    assert.deepEqual(
      asked.call.request?.options.map(({ sends, effect }) => [sends, effect]),
      [
        ['proceed_once', 'allow_once'],
        ['cancel', 'reject_once'],
      ],
    );
    assert.deepEqual(read(thoughtData('Look', 'around'), 'thought'), { type: 'thought', text: '**Look**\n\naround' });
  });

  test(`${version}: messages, decisions and commands of the client`, () => {
    const outgoing = { messageId: 'm', taskId: 'T', contextId: 'C', workspace: '/w', reference: 'R' };
    const said = messageIn(version, overTheWire(messageParams(spelling(version), { ...outgoing, says: 'Go' })));
    assert.deepEqual([said.messageId, said.role, said.taskId, said.contextId, said.parts], ['m', 'user', 'T', 'C', [{ text: 'Go' }]]);
    assert.equal(readSettings(said.metadata).workspacePath, '/w');
    const decided = (more: Partial<CallDecision>) => {
      const says = { callId: 'k', dialect: 'rfc' as const, sends: 'proceed_once', edited: null, camel: false, ...more };
      return decisionsIn(messageIn(version, overTheWire(messageParams(spelling(version), { ...outgoing, says }))).parts);
    };
    for (const camel of [false, true]) {
      assert.deepEqual(decided({ camel }), [{ id: 'k', answer: { allow: true, forSession: false } }]);
      assert.deepEqual(decided({ camel, sends: 'proceed_always' }), [{ id: 'k', answer: { allow: true, forSession: true } }]);
      assert.deepEqual(decided({ camel, sends: 'cancel' }), [{ id: 'k', answer: { allow: false } }]);
      assert.deepEqual(decided({ camel, edited: 'mine' }), [{ id: 'k', answer: { allow: true, forSession: false, edited: 'mine' } }]);
    }
    const command = commandIn(
      overTheWire(commandParams(spelling(version), { path: ['skill', 'x'], args: 'a b', contextId: 'C', workspace: '/w' })),
    );
    assert.deepEqual([command.command_path, command.args, command.contextId], [['skill', 'x'], 'a b', 'C']);
    assert.equal(readSettings(command.metadata ?? undefined).workspacePath, '/w');
  });

  test(`${version}: addresses for notifications, and the names of methods`, () => {
    const authentication = { scheme: 'Bearer', credentials: 'c' };
    const config = { id: 'p', url: 'http://127.0.0.1:1/x', token: 't', authentication };
    assert.deepEqual(messagePush(version, overTheWire(pushInMessage(version, config))), config);
    assert.deepEqual(taskPush(version, overTheWire(pushOfTask(version, 'T', config))), config);
    assert.deepEqual(readPushName(version, overTheWire(pushName(version, 'T', 'p'))), { taskId: 'T', id: 'p' });
    const methods = ['message/send', 'message/stream', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'commands/get', 'command/execute'];
    assert.deepEqual(
      methods.map((method) => operationOf(version, methodOn(version, method))),
      ['send', 'stream', 'get', 'cancel', 'subscribe', 'commands', 'execute'],
    );
    assert.equal(methodOn(version, 'other/method'), 'other/method');
  });
}

test('the commands that the agent lists, and its answers to one', () => {
  const run = async () => undefined;
  const args = [{ name: 'topic', description: 'About what', isRequired: true as const }];
  const all = [
    { name: 'plan', description: 'Plans', aliases: [], args, run },
    { name: 'skill:tidy', description: 'Tidies', aliases: [], run },
  ];
  const read = commandTree(overTheWire({ commands: listedCommands(all) }), 'rpc');
  assert.deepEqual(read?.commands, [
    { name: 'plan', description: 'Plans', aliases: [], hint: '<topic>' },
    { name: 'skill', description: '', aliases: [], children: [{ name: 'tidy', description: 'Tidies', aliases: [] }] },
  ]);
  assert.deepEqual(read.required, { '/plan': [{ name: 'topic', description: 'About what' }] });
  for (const status of ['started', 'failed_to_start', 'awaiting_shell_confirmation', 'awaiting_action_confirmation'] as const)
    assert.deepEqual(readCommandAnswer(overTheWire(commandAnswerOn({ id: 'T', status, message: 'M' }))), { id: 'T', status, message: 'M' });
});
