import * as z from 'zod/mini';
import type { Frontend } from '../frontend.ts';
import { defineTool, done, type TodoItem, type Tool } from './tool.ts';

const option = z.object({ label: z.string().check(z.minLength(1)), description: z.optional(z.string()) });
const question = z.object({
  question: z.string().check(z.minLength(1)),
  header: z.optional(z.string().check(z.describe('One or two words.'))),
  options: z.array(option).check(z.minLength(2), z.maxLength(4)),
  multi_select: z.optional(z.boolean()),
});

/** Offered only to clients that can show questions. */
export function askUserQuestionTool(frontend: Frontend): Tool {
  return defineTool({
    name: 'AskUserQuestion',
    description:
      'Ask the user one to four questions with two to four answers each, when the work cannot go on without a choice that is theirs. Free text is always possible.',
    reads: true,
    input: z.object({ questions: z.array(question).check(z.minLength(1), z.maxLength(4)) }),
    run: async (input, scene) => {
      const questions = input.questions.map(({ question, header, options, multi_select }) => ({
        question,
        options: options.map(({ label, description }) => ({ label, ...(description === undefined ? {} : { description }) })),
        ...(header === undefined ? {} : { header }),
        ...(multi_select === undefined ? {} : { many: multi_select }),
      }));
      const answers = await frontend.question({ callId: scene.callId, questions }, scene.signal);
      if (!answers) return done('', 'The user dismissed the question without an answer. Go on with your best judgement, or stop.');
      return done(JSON.stringify(answers, undefined, 1), 'The user answered.');
    },
  });
}

const item = z.object({
  title: z.string().check(z.minLength(1), z.describe('The step, short.')),
  status: z.enum(['pending', 'in_progress', 'done']),
});

const marks: Readonly<Record<TodoItem['status'], string>> = { pending: '[ ]', in_progress: '[~]', done: '[x]' };

export const setTodoListTool = defineTool({
  name: 'SetTodoList',
  description:
    'Show the plan of this task to the user, as a whole each time: every step with its status. Use it for work of three steps or more.',
  reads: true,
  input: z.object({ todos: z.array(item).check(z.maxLength(100)) }),
  run: async ({ todos }) => {
    const finished = todos.filter((todo) => todo.status === 'done').length;
    const text = todos.map((todo) => `${marks[todo.status]} ${todo.title}`).join('\n');
    return done(text, `Plan updated: ${finished} of ${todos.length} done.`, [{ type: 'todo', items: todos }]);
  },
});
