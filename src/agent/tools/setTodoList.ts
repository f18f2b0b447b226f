import * as z from 'zod/mini';
import { defineTool, done, type TodoItem } from './tool.ts';

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
