import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readElicitation } from '../../src/protocols/acp/forms.ts';
import { type AcpSettings, eventsOf } from '../../src/protocols/acp/settings.ts';
import { events, requests } from '../../src/protocols/kimi-wire/schema.ts';
import { assertBrief } from './linear.ts';

/** Lists of an agent without end: what is only shown is cut, and what is asked about is shown whole or not asked. */

const many = <T>(count: number, one: (at: number) => T): readonly T[] => Array.from({ length: count }, (_, at) => one(at));
const diff = (at: number) => ({ type: 'diff', path: `/w/${at}`, old_text: 'a', new_text: 'b' });
const shell = (at: number) => ({ type: 'shell', language: 'bash', command: `ls ${at}` });
const text = (at: number) => ({ type: 'text', text: `${at}` });

test('a Wire server shows a result of tens of thousands of pieces: the first are read, and how many are not is said', () => {
  const results: Readonly<Record<string, object>> = {
    diffs: { display: many(50_000, diff) },
    texts: { output: many(50_000, text), display: [] },
    todo: { display: [{ type: 'todo', items: many(50_000, (at) => ({ title: `${at}`, status: 'done' })) }] },
  };
  for (const [name, value] of Object.entries(results)) {
    assertBrief(`a Wire result of ${name}`, () => {
      const { return_value: read } = events.ToolResult.parse({ tool_call_id: 'c', return_value: value });
      const said = JSON.stringify(read);
      assert.match(said, /… \(48000 more, left out\)/, name);
      assert.ok(!said.includes('49999'), name);
    });
  }
});

test('a Wire server asks about thousands of pieces: nothing is asked about a part of them', () => {
  const approval = (display: readonly object[]) =>
    requests.ApprovalRequest.safeParse({ id: 'a', tool_call_id: 'c', sender: 's', action: 'x', description: 'd', display });
  const question = { question: 'q', options: [{ label: 'a' }] };
  const pieces: readonly ((at: number) => object)[] = [diff, shell];
  for (const one of pieces) {
    assertBrief('a Wire approval', () => assert.equal(approval(many(50_000, one)).success, false));
    assert.equal(approval(many(2001, one)).success, false);
    assert.equal(approval(many(2000, one)).success, true);
  }
  for (const questions of [many(2001, () => question), [{ ...question, options: many(2001, (at) => ({ label: `${at}` })) }]])
    assert.equal(requests.QuestionRequest.safeParse({ id: 'q', questions }).success, false);
  assert.equal(requests.QuestionRequest.safeParse({ id: 'q', questions: [question] }).success, true);
});

test('a form of an ACP agent with choices and required names without end is read as far as anybody chooses', () => {
  const names = many(100_000, (at) => `n${at}`);
  const named = names.map((name) => ({ const: name, title: name }));
  const properties = Object.fromEntries(
    many(1000, (at) => [
      `f${at}`,
      at === 0 ? { type: 'string', enum: names } : at === 1 ? { type: 'array', items: { anyOf: named } } : { type: 'string' },
    ]),
  );
  assertBrief('a form of choices without end', () => {
    const { form } = readElicitation({ mode: 'form', message: 'm', requestedSchema: { properties, required: names } }, false);
    assert.ok(form && Object.keys(form.requestedSchema.properties).length === 1000);
    assert.ok(!JSON.stringify(form).includes('n99999'));
  });
  const few = { properties: { a: { type: 'string', enum: ['x'] } }, required: ['a'] };
  const { form } = readElicitation({ mode: 'form', message: 'm', requestedSchema: few }, false);
  assert.deepEqual([form?.requestedSchema.required, form?.requestedSchema.properties.a?.enum], [['a'], ['x']]);
});

test('thousands of changes of the mode do not read, or tell, all the other settings anew', () => {
  let reads = 0;
  const choices = many(500, (at) => ({ value: `v${at}`, name: `V ${at}` }));
  const config = many(500, (at) => ({
    id: `o${at}`,
    name: 'O',
    type: 'select' as const,
    currentValue: 'v1',
    get options() {
      reads += 1;
      return choices;
    },
  }));
  const modes = { currentModeId: 'a', availableModes: ['a', 'b'].map((id) => ({ id, name: id })) };
  const settings: AcpSettings = { modes, models: null, config };
  for (let at = 0; at < 1000; at += 1) {
    const told = eventsOf({ sessionUpdate: 'current_mode_update', currentModeId: at % 2 ? 'a' : 'b' }, settings, {});
    assert.deepEqual(
      told.map(({ type }) => type),
      ['mode.set'],
    );
  }
  assert.equal(reads, 0);
});
