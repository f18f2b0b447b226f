import type { Field } from '../src/session/model.ts';
import { t } from './strings.ts';

/** Half-given answers: key -> values. */
export type Given = Readonly<Record<string, readonly string[]>>;

/** Where free text is kept while it is typed. */
export function freeKey(field: Field): string {
  return `${field.id}\u0000free`;
}

export function takesText(field: Field): boolean {
  return field.free === true || ((field.choices ?? []).length === 0 && field.kind !== 'boolean');
}

/** What is chosen, before the person has chosen anything: what the agent filled in. */
export function chosenOf(field: Field, given: Given): readonly string[] {
  return given[field.id] ?? (takesText(field) && !field.choices ? [] : (field.initial ?? []));
}

export function freeOf(field: Field, given: Given): string {
  return given[freeKey(field)]?.[0] ?? (field.choices || field.kind === 'boolean' ? '' : (field.initial?.[0] ?? ''));
}

/** What would be sent for a field. */
export function valuesOf(field: Field, given: Given): readonly string[] {
  const chosen = chosenOf(field, given);
  const free = takesText(field) ? freeOf(field, given).trim() : '';
  if (free === '') return chosen;
  return field.many ? [...chosen, free] : [free];
}

/** What is wrong with what would be sent; undefined when nothing is. */
export function problemOf(field: Field, values: readonly string[]): string | undefined {
  if (values.length === 0) return field.required ? t('Needed') : undefined;
  const { min, max } = field;
  if (field.many) {
    if (min !== undefined && values.length < min) return t('Choose at least {0}', min);
    return max !== undefined && values.length > max ? t('Choose at most {0}', max) : undefined;
  }
  const [value = ''] = values;
  if (field.choices?.some((choice) => choice.label === value)) return undefined;
  if (field.kind === 'number' || field.kind === 'integer') return numberProblem(field, value);
  if (min !== undefined && value.length < min) return t('At least {0} characters', min);
  if (max !== undefined && value.length > max) return t('At most {0} characters', max);
  if (field.kind === 'email' && !/^\S+@\S+$/.test(value)) return t('Not an e-mail address');
  if (field.kind === 'uri' && !URL.canParse(value)) return t('Not an address');
  return field.pattern !== undefined && !fits(field.pattern, value) ? t('Does not have the expected form') : undefined;
}

function numberProblem({ kind, min, max }: Field, value: string): string | undefined {
  const number = Number(value);
  if (!Number.isFinite(number)) return t('Not a number');
  if (kind === 'integer' && !Number.isInteger(number)) return t('Not a whole number');
  if (min !== undefined && number < min) return t('At least {0}', min);
  return max !== undefined && number > max ? t('At most {0}', max) : undefined;
}

/** An expression that this engine does not take, or a text too long to try it on, is left to the agent to judge. */
function fits(pattern: string, value: string): boolean {
  if (value.length > 1000) return true;
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}
