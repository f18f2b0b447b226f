import { fieldProblem } from '../src/session/fields.ts';
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

/** What is chosen, before the user has chosen anything: what the agent filled in. */
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
  // The browser's field for it knows no time zone; what is sent names one.
  if (field.kind === 'date-time' && !Number.isNaN(Date.parse(free))) return [new Date(free).toISOString()];
  return field.many ? [...chosen, free] : [free];
}

/** What is wrong with what would be sent, in words; undefined when nothing is. */
export function problemOf(field: Field, values: readonly string[]): string | undefined {
  const { min = 0, max = 0 } = field;
  switch (fieldProblem(field, values)) {
    case undefined:
      return undefined;
    case 'missing':
      return t('Needed');
    case 'number':
      return t('A number is needed.');
    case 'integer':
      return t('A whole number is needed.');
    case 'small':
      return t('At least {0}.', min);
    case 'large':
      return t('At most {0}.', max);
    case 'short':
      return t('At least {0} characters.', min);
    case 'long':
      return t('At most {0} characters.', max);
    case 'few':
      return t('Choose at least {0}.', min);
    case 'many':
      return t('Choose at most {0}.', max);
    case 'email':
      return t('A mail address is needed.');
    case 'uri':
      return t('An address with its scheme is needed, for example https://…');
    case 'date':
      return t('A date is needed, for example 2027-01-31 or 2027-01-31T12:00:00Z.');
  }
}
