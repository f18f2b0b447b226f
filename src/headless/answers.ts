import { isTooWide } from '../session/approvalAnswers.ts';
import type { Answer } from '../session/intents.ts';
import type { Ask } from '../session/model.ts';
import type { SimpleAnswer } from './script.ts';

/** Why that is no answer to this ask; undefined when it is one. */
export function misfitOf(ask: Ask, scripted: SimpleAnswer): string | undefined {
  if (typeof scripted === 'string') return undefined;
  if (ask.kind === 'question') {
    if ('reject' in scripted) return undefined;
    const fields = ask.fields.map((field) => field.id);
    if (!('fields' in scripted)) return `a question is answered by fields: ${fields.join(', ')}`;
    const unknown = Object.keys(scripted.fields).find((id) => !fields.includes(id));
    return unknown === undefined ? undefined : `there is no field ${unknown}; the question has ${fields.join(', ')}`;
  }
  if ('fields' in scripted) return 'an approval has no fields';
  if ('edited' in scripted && !ask.editable) return 'what is proposed here cannot be edited';
  if (!('option' in scripted)) return undefined;
  const options = ask.options.filter((one) => !isTooWide(one, ask)).map((one) => one.id);
  return options.includes(scripted.option) ? undefined : `there is no option ${scripted.option}; offered are ${options.join(', ')}`;
}

/** The answer that a script gives to this ask; undefined leaves it open. An option the agent does not offer becomes its nearest narrower one. */
export function answerOf(ask: Ask, scripted: SimpleAnswer): Answer | undefined {
  if (scripted === 'hold') return undefined;
  if (ask.kind === 'question') return answerQuestion(ask, scripted);
  const options = ask.options.filter((one) => !isTooWide(one, ask));
  const choose = (...effects: readonly string[]) => effects.flatMap((effect) => options.filter((one) => one.effect === effect))[0]?.id;
  if (typeof scripted === 'string') {
    const id =
      scripted === 'allow'
        ? choose('allow_once')
        : scripted === 'allow_always'
          ? choose('allow_always', 'allow_once')
          : choose('reject_once', 'reject_always');
    return id === undefined ? { kind: 'cancelled' } : { kind: 'option', optionId: id };
  }
  if ('option' in scripted) return { kind: 'option', optionId: scripted.option };
  if ('fields' in scripted) return { kind: 'cancelled' };
  const id = 'reject' in scripted ? choose('reject_once', 'reject_always') : choose('allow_once');
  if (id === undefined) return { kind: 'cancelled' };
  return 'reject' in scripted
    ? { kind: 'option', optionId: id, feedback: scripted.reject }
    : { kind: 'option', optionId: id, edited: scripted.edited };
}

function answerQuestion(ask: Extract<Ask, { kind: 'question' }>, scripted: SimpleAnswer): Answer {
  if (typeof scripted === 'object' && 'fields' in scripted) {
    return { kind: 'fields', values: Object.fromEntries(Object.entries(scripted.fields).map(([id, value]) => [id, [value].flat()])) };
  }
  if (scripted !== 'allow' && scripted !== 'allow_always') return { kind: 'cancelled' };
  return { kind: 'fields', values: Object.fromEntries(ask.fields.map((field) => [field.id, [field.choices?.[0]?.label ?? '']])) };
}
