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
      if (field.kind === 'integer' ? !Number.isInteger(number) : !Number.isFinite(number)) return field.kind;
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

/** The problem with an answer, as a sentence about what is expected; undefined for a valid one. */
export function problemText(field: Field, values: readonly string[]): string | undefined {
  const problem = fieldProblem(field, values);
  switch (problem) {
    case undefined:
      return undefined;
    case 'missing':
      return t('Needed');
    case 'integer':
      return t('Expected: {0}', wholeNumbers(field, values));
    case 'number':
      return t('Expected: {0}', boundsText(field) || '1.5');
    case 'small':
    case 'large':
      return t('Expected: {0}', field.kind === 'integer' ? wholeNumbers(field, []) : boundsText(field));
    case 'few':
    case 'many':
      return t('Expected: {0}', boundsText(field));
    case 'short':
    case 'long':
      return t('Expected: {0}', t('{0} characters', boundsText(field)));
    case 'email':
      return t('Expected: {0}', 'name@example.org');
    case 'uri':
      return t('Expected: {0}', 'https://…');
    case 'date':
      return t('Expected: {0}', field.kind === 'date' ? '2027-01-31' : '2027-01-31T12:00:00Z');
    default: {
      const unknown: never = problem;
      return unknown;
    }
  }
}

/** The allowed numbers in words: "1 … 10", "1, 2, 3, …", "…, 8, 9, 10". Examples show whether fractions are allowed. */
function wholeNumbers({ min, max }: Field, values: readonly string[]): string {
  const last = max === undefined ? undefined : Math.floor(max);
  const isFraction = values.some((value) => Number.isFinite(Number(value)));
  if (min !== undefined && last !== undefined && last > min + 2 && !isFraction) return boundsText({ min: Math.ceil(min), max: last });
  if (min === undefined && last !== undefined) return `…, ${last - 2}, ${last - 1}, ${last}`;
  const first = Math.ceil(min ?? 1);
  const all = [first, first + 1, first + 2].filter((one) => last === undefined || one <= last);
  const rest = last === undefined ? ['…'] : last > first + 3 ? ['…', last] : last === first + 3 ? [last] : [];
  return [...all, ...rest].join(', ');
}

function boundsText({ min, max }: Pick<Field, 'min' | 'max'>): string {
  if (min === undefined) return max === undefined ? '' : `≤ ${max}`;
  if (max === undefined) return `≥ ${min}`;
  return min === max ? String(min) : `${min} … ${max}`;
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
