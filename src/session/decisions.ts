import type { Answer } from './intents.ts';
import type { Ask, Decision } from './model.ts';

/** What an answer decides, to be kept with the call it was about. Secrets are left out; undefined for an option the ask does not have. */
export function decisionOf(ask: Ask, answer: Answer, by: 'user' | 'rule'): Decision | undefined {
  if (answer.kind === 'cancelled') return ask.kind === 'question' ? { kind: 'skipped' } : undefined;
  if (ask.kind === 'question') {
    if (answer.kind === 'option') return { kind: 'skipped' };
    const values = ask.fields
      .filter((field) => field.kind !== 'secret')
      .map((field) => ({ label: field.label, values: answer.values[field.id] ?? [] }));
    return { kind: 'answers', values };
  }
  const option = answer.kind === 'option' ? ask.options.find((one) => one.id === answer.optionId) : undefined;
  if (answer.kind !== 'option' || !option) return undefined;
  return {
    kind: 'approval',
    by,
    effect: option.effect,
    label: option.label,
    ...(answer.feedback === undefined ? {} : { feedback: answer.feedback }),
  };
}
