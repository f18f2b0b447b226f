import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldProblem, problemText } from '../../src/session/fields.ts';
import type { Field } from '../../src/session/model.ts';

const field = (rest: Partial<Field>): Field => ({ id: 'f', label: 'F', ...rest });

test('a question needs an answer; a form only what it requires', () => {
  assert.equal(fieldProblem(field({}), []), 'missing');
  assert.equal(fieldProblem(field({}), ['  ']), 'missing');
  assert.equal(fieldProblem(field({ kind: 'text' }), []), undefined);
  assert.equal(fieldProblem(field({ kind: 'text', required: true }), []), 'missing');
});

test('kinds are held to', () => {
  const bad: readonly (readonly [Partial<Field>, string, string])[] = [
    [{ kind: 'number' }, 'seven', 'number'],
    [{ kind: 'integer' }, '1.5', 'integer'],
    [{ kind: 'integer' }, 'seven', 'integer'],
    [{ kind: 'integer', min: 1 }, '0', 'small'],
    [{ kind: 'number', max: 2 }, '2.1', 'large'],
    [{ kind: 'text', min: 3 }, 'ab', 'short'],
    [{ kind: 'text', max: 2 }, 'abc', 'long'],
    [{ kind: 'email' }, 'nobody', 'email'],
    [{ kind: 'uri' }, 'example', 'uri'],
    [{ kind: 'date' }, '31.1.2027', 'date'],
    [{ kind: 'date-time' }, '2027-01-31', 'date'],
  ];
  for (const [rest, value, problem] of bad) assert.equal(fieldProblem(field(rest), [value]), problem, value);
  const good: readonly (readonly [Partial<Field>, string])[] = [
    [{ kind: 'number', min: -1, max: 1 }, '-0.5'],
    [{ kind: 'integer' }, '12'],
    [{ kind: 'text', max: 2 }, '😀😀'],
    [{ kind: 'email' }, 'a@b'],
    [{ kind: 'uri' }, 'https://example.com/x'],
    [{ kind: 'date' }, '2027-01-31'],
    [{ kind: 'date-time' }, '2027-01-31T12:00:00Z'],
  ];
  for (const [rest, value] of good) assert.equal(fieldProblem(field(rest), [value]), undefined, value);
});

test('how many are chosen is bounded where several may be', () => {
  const many = field({ many: true, choices: [{ label: 'a' }, { label: 'b' }], min: 2 });
  assert.equal(fieldProblem(many, ['a']), 'few');
  assert.equal(fieldProblem(many, ['a', 'b']), undefined);
  assert.equal(fieldProblem({ ...many, min: 0, max: 1, kind: 'text' }, ['a', 'b']), 'many');
});

test('bounds of a text do not bind a choice', () => {
  assert.equal(fieldProblem(field({ choices: [{ label: 'long enough' }], max: 2 }), ['long enough']), undefined);
});

test('a problem says what is expected, with the bounds of its kind', () => {
  const texts: readonly (readonly [Partial<Field>, readonly string[], string])[] = [
    [{}, [], 'Needed'],
    [{ kind: 'number' }, ['seven'], 'Expected: 1.5'],
    [{ kind: 'number', min: 0.5, max: 2 }, ['seven'], 'Expected: 0.5 … 2'],
    [{ kind: 'number', min: -2.5 }, ['-3'], 'Expected: ≥ -2.5'],
    [{ kind: 'number', max: 2 }, ['3'], 'Expected: ≤ 2'],
    [{ kind: 'integer' }, ['seven'], 'Expected: 1, 2, 3, …'],
    [{ kind: 'integer', min: 1, max: 10 }, ['1.5'], 'Expected: 1, 2, 3, …, 10'],
    [{ kind: 'integer', min: 1, max: 10 }, ['seven'], 'Expected: 1 … 10'],
    [{ kind: 'integer', min: 1, max: 10 }, ['99'], 'Expected: 1 … 10'],
    [{ kind: 'integer', min: 5 }, ['4'], 'Expected: 5, 6, 7, …'],
    [{ kind: 'integer', max: 10 }, ['11'], 'Expected: …, 8, 9, 10'],
    [{ kind: 'integer', min: 0, max: 1 }, ['2'], 'Expected: 0, 1'],
    [{ kind: 'text', min: 3 }, ['ab'], 'Expected: ≥ 3 characters'],
    [{ kind: 'text', min: 2, max: 2 }, ['abc'], 'Expected: 2 characters'],
    [{ many: true, choices: [{ label: 'a' }, { label: 'b' }], min: 2 }, ['a'], 'Expected: ≥ 2'],
    [{ kind: 'date' }, ['31.1.2027'], 'Expected: 2027-01-31'],
    [{ kind: 'date-time' }, ['2027-01-31'], 'Expected: 2027-01-31T12:00:00Z'],
  ];
  for (const [rest, values, text] of texts) assert.equal(problemText(field(rest), values), text, JSON.stringify(rest));
  assert.equal(problemText(field({ kind: 'integer', min: 1 }), ['1']), undefined);
});
