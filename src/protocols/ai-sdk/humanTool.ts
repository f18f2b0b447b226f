import * as z from 'zod/mini';
import type { Field } from '../../session/model.ts';
import type { Tool, ToolAnswer } from '../ports.ts';

export const HUMAN_TOOL = 'ask_person';

const text = z.string().check(z.minLength(1), z.maxLength(4_000));
const asked = z.object({
  question: text,
  options: z.optional(z.array(z.string().check(z.maxLength(1_000))).check(z.maxLength(50))),
  multiple: z.optional(z.boolean()),
});

/** undefined: the question was taken back before anybody answered. */
export type AskPerson = (field: Field, signal: AbortSignal) => Promise<readonly string[] | 'declined' | undefined>;

/** A tool whose whole work is one question to the user (ai-sdk.md §6.3). The answer goes back as `{"answer": …}`. */
export function humanTool(ask: AskPerson): Tool {
  return {
    name: HUMAN_TOOL,
    description: 'Ask the user in front of the editor a question and wait for the answer. Offer options when there are obvious ones.',
    parameters: {
      type: 'object',
      properties: {
        question: { type: 'string', description: 'The question, in plain words.' },
        options: { type: 'array', items: { type: 'string' }, description: 'Answers to choose from; any other text may be typed as well.' },
        multiple: { type: 'boolean', description: 'More than one option may be chosen.' },
      },
      required: ['question'],
      additionalProperties: false,
    },
    run: async (input, signal): Promise<ToolAnswer> => {
      const { question, options, multiple } = asked.parse(input);
      const field: Field = {
        id: 'answer',
        label: question,
        free: true,
        ...(options === undefined || options.length === 0 ? {} : { choices: options.map((label) => ({ label })) }),
        ...(multiple === true ? { many: true } : {}),
      };
      const answer = await ask(field, signal);
      if (answer === undefined) return { ok: false, text: 'The question was withdrawn.' };
      if (answer === 'declined') return { ok: false, text: 'The user declined this action.' };
      return { ok: true, text: JSON.stringify({ answer: multiple === true ? answer : (answer[0] ?? '') }) };
    },
  };
}
