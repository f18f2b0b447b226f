import type { Answer } from '../../session/intents.ts';
import type { Field } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';
import { questionInput } from './toolRequest.ts';

/** The fields of a question to the user; undefined when the input is none. */
export function fieldsOf(input: unknown): readonly Field[] | undefined {
  const parsed = questionInput.safeParse(input);
  if (!parsed.success) return undefined;
  return parsed.data.questions.map((question, at) => ({
    id: String(at),
    label: visibleText(question.header ?? question.question),
    ...(question.header ? { body: question.question } : {}),
    ...(question.options && question.options.length > 0
      ? {
          choices: question.options.map(({ label, description }) => ({ label, ...(description ? { description } : {}) })),
        }
      : {}),
    ...(question.multiSelect ? { many: true as const } : {}),
    free: true,
  }));
}

/** The input with the user's answers, filed as the agent wants them (qwen.md §3.3, §12); undefined when nothing was answered. */
export function answeredInput(input: unknown, answer: Answer, by: 'index' | 'question'): Readonly<Record<string, unknown>> | undefined {
  const parsed = questionInput.safeParse(input);
  if (!parsed.success || answer.kind !== 'fields') return undefined;
  const answers = parsed.data.questions.flatMap((question, at) => {
    const chosen = (answer.values[String(at)] ?? []).filter((one) => one !== '');
    return chosen.length === 0 ? [] : [[by === 'index' ? String(at) : question.question, chosen.join(', ')]];
  });
  if (answers.length === 0) return undefined;
  return { ...(typeof input === 'object' ? input : {}), answers: Object.fromEntries(answers) };
}
