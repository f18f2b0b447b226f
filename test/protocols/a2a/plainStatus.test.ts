import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPlainCall, readRfcCall } from '../../../src/protocols/a2a/calls.ts';
import { isPlainStatus, toIncoming } from '../../../src/protocols/a2a/codec.ts';
import { LENGTHS, part, statusUpdate, toolCall } from '../../../src/protocols/a2a/schema.ts';

/** Values that a member may be given, right and wrong. */
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  '',
  'text',
  'x'.repeat(LENGTHS.id),
  'x'.repeat(LENGTHS.id + 1),
  'x'.repeat(LENGTHS.short + 1),
  [],
  {},
  { a: 1 },
  ['text'],
  Number.POSITIVE_INFINITY,
];
const LISTS: readonly unknown[] = [
  [{ kind: 'text', text: 'words', metadata: {} }],
  [{ text: null }, {}],
  [{ kind: 'data', data: { tool_call_id: 'k' } }],
  [{ data: null }],
  [{ kind: 'file', file: { uri: 'a:b' } }],
  [{ raw: 'YQ==', mediaType: 'text/plain' }],
  [{ text: 'words', url: 7 }],
  [{ text: 7 }],
  [{ kind: {} }],
  ['words'],
  [null],
  Array.from({ length: LENGTHS.parts + 1 }, () => ({ text: '' })),
];

const whole = () => ({
  kind: 'status-update',
  taskId: 't',
  contextId: 'c',
  final: false,
  metadata: { a: { kind: 'TEXT_CONTENT' } },
  status: {
    state: 'working',
    timestamp: '2026-01-01T00:00:00Z',
    more: 1,
    message: { kind: 'message', role: 'agent', messageId: 'm', taskId: 't', contextId: 'c', metadata: { b: 2 }, parts: LISTS[0] },
  },
});
type Whole = ReturnType<typeof whole>;

function* samples(): Generator<unknown> {
  yield* VALUES;
  const places: readonly ((of: Whole) => object)[] = [(of) => of, ({ status }) => status, ({ status }) => status.message];
  for (const place of places) {
    for (const name of Object.keys(place(whole()))) {
      const without = whole();
      Reflect.deleteProperty(place(without), name);
      yield without;
      for (const value of name === 'parts' ? [...VALUES, ...LISTS] : VALUES) {
        const sample = whole();
        Reflect.set(place(sample), name, value);
        yield sample;
      }
    }
  }
}

/** Of parts what the schema knows. */
function plainly(record: ReturnType<typeof toIncoming>): unknown {
  return JSON.parse(JSON.stringify({ ...record, parts: record?.parts.map((one) => part.parse(one)) }));
}

test('a status update read by hand is what the schema makes of it, and nothing the schema refuses is taken', () => {
  let plain = 0;
  for (const sample of samples()) {
    if (!isPlainStatus(sample)) continue;
    plain += 1;
    const bySchema = statusUpdate.safeParse(sample);
    assert.ok(bySchema.success, JSON.stringify(sample).slice(0, 500));
    assert.deepEqual(plainly(toIncoming({ statusUpdate: sample })), plainly(toIncoming({ statusUpdate: bySchema.data })));
  }
  assert.ok(plain > 50, `${plain} only`);
  assert.ok(isPlainStatus(whole()));
});

const wholeCall = () => ({
  tool_call_id: 'k',
  status: 'EXECUTING',
  tool_name: 'run_command',
  description: 'Runs the tests',
  input_parameters: { command: 'npm test' },
  live_content: 'one line',
  output: { text: 'two lines', structured_data: { a: 1 } },
});

function* callSamples(): Generator<Readonly<Record<string, unknown>>> {
  const members = [...Object.keys(wholeCall()), 'error', 'confirmation_request'];
  for (const name of members) {
    const { [name as 'output']: _left, ...without } = wholeCall();
    yield without;
    for (const value of VALUES) yield { ...wholeCall(), [name]: value };
  }
  for (const name of ['text', 'diff', 'structured_data'])
    for (const value of VALUES) yield { ...wholeCall(), output: { ...wholeCall().output, [name]: value } };
}

test('a call read by hand is what the schema makes of it, and nothing the schema refuses is taken', () => {
  let plain = 0;
  for (const sample of callSamples()) {
    if (!isPlainCall(sample)) continue;
    plain += 1;
    const bySchema = toolCall.safeParse(sample);
    assert.ok(bySchema.success, JSON.stringify(sample).slice(0, 500));
    assert.deepEqual(readRfcCall(sample), readRfcCall(bySchema.data));
  }
  assert.ok(plain > 50, `${plain} only`);
  assert.ok(isPlainCall(wholeCall()));
});
