import { t } from '../base/l10n.ts';
import type { Field } from './model.ts';

/** The problem with an answer to a field; undefined for a valid one. The agent checks `pattern`: untrusted regular expressions are not run here. */
export type FieldProblem =
  | 'missing'
  | 'number'
  | 'integer'
  | 'small'
  | 'large'
  | 'short'
  | 'long'
  | 'few'
  | 'many'
  | 'email'
  | 'uri'
  | 'date';

export function fieldProblem(field: Field, values: readonly string[]): FieldProblem | undefined {
  const given = values.filter((value) => value.trim() !== '');
  if (given.length === 0) return mayBeEmpty(field) ? undefined : 'missing';
  if (field.many) return between(given.length, field, 'few', 'many');
  const text = given[0] ?? '';
  switch (field.kind) {
    case 'number':
    case 'integer': {
      const number = Number(text);
      if (!Number.isFinite(number)) return 'number';
      if (field.kind === 'integer' && !Number.isInteger(number)) return 'integer';
      return between(number, field, 'small', 'large');
    }
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(text) ? undefined : 'email';
    case 'uri':
      return URLISH.test(text) ? undefined : 'uri';
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? undefined : 'date';
    case 'date-time':
      return /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text)) ? undefined : 'date';
    default:
      return field.choices?.length ? undefined : between([...text].length, field, 'short', 'long');
  }
}

/** The problem with an answer, as a sentence; undefined for a valid one. */
export function problemText(field: Field, values: readonly string[]): string | undefined {
  const problem = fieldProblem(field, values);
  const { min = 0, max = 0 } = field;
  switch (problem) {
    case undefined:
      return undefined;
    case 'missing':
      return t('Needed');
    case 'number':
      return t('Expected: {0}', '1.5');
    case 'integer':
      return t('Expected: {0}', '1, 2, 3, …');
    case 'small':
    case 'few':
      return t('Expected: {0}', `≥ ${min}`);
    case 'large':
    case 'many':
      return t('Expected: {0}', `≤ ${max}`);
    case 'short':
      return t('Expected: {0}', t('{0} characters', `≥ ${min}`));
    case 'long':
      return t('Expected: {0}', t('{0} characters', `≤ ${max}`));
    case 'email':
      return t('Expected: {0}', 'name@example.org');
    case 'uri':
      return t('Expected: {0}', 'https://…');
    case 'date':
      return t('Expected: {0}', '2027-01-31, 2027-01-31T12:00:00Z');
    default: {
      const unknown: never = problem;
      return unknown;
    }
  }
}

/** True for a field that may stay empty: a form may omit optional fields, a question always needs an answer. */
function mayBeEmpty(field: Field): boolean {
  return field.kind !== undefined && field.required !== true;
}

// Requires only a scheme and something after it; the code that opens the address checks the rest.
const URLISH = /^[a-z][a-z0-9+.-]*:\S+$/i;

function between(size: number, field: Field, below: FieldProblem, above: FieldProblem): FieldProblem | undefined {
  if (field.min !== undefined && size < field.min) return below;
  return field.max !== undefined && size > field.max ? above : undefined;
}
