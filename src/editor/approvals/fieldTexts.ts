import * as vscode from 'vscode';
import { fieldProblem } from '../../session/fields.ts';
import type { Field } from '../../session/model.ts';

/** What is wrong with an answer, as a sentence; undefined when it will do. */
export function fieldMessage(field: Field, values: readonly string[]): string | undefined {
  const problem = fieldProblem(field, values);
  const { min = 0, max = 0 } = field;
  switch (problem) {
    case undefined:
      return undefined;
    case 'missing':
      return field.many && !field.free
        ? vscode.l10n.t('Tick at least one first. Esc sets the question aside.')
        : field.many
          ? vscode.l10n.t('Tick at least one or type an answer first. Esc sets the question aside.')
          : vscode.l10n.t('Type an answer first. Esc sets the question aside.');
    case 'number':
      return vscode.l10n.t('A number is needed.');
    case 'integer':
      return vscode.l10n.t('A whole number is needed.');
    case 'small':
      return vscode.l10n.t('At least {0}.', min);
    case 'large':
      return vscode.l10n.t('At most {0}.', max);
    case 'short':
      return vscode.l10n.t('At least {0} characters.', min);
    case 'long':
      return vscode.l10n.t('At most {0} characters.', max);
    case 'few':
      return vscode.l10n.t('Choose at least {0}.', min);
    case 'many':
      return vscode.l10n.t('Choose at most {0}.', max);
    case 'email':
      return vscode.l10n.t('A mail address is needed.');
    case 'uri':
      return vscode.l10n.t('An address with its scheme is needed, for example https://…');
    case 'date':
      return vscode.l10n.t('A date is needed, for example 2027-01-31 or 2027-01-31T12:00:00Z.');
    default: {
      const unknown: never = problem;
      return unknown;
    }
  }
}
