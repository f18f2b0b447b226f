import * as z from 'zod/mini';
import type { Frontend } from '../frontend.ts';
import { type AgentTool, defineTool, done, type TodoItem } from './tool.ts';

const option = z.object({ label: z.string().check(z.minLength(1)), description: z.optional(z.string()) });
const question = z.object({
  question: z.string().check(z.minLength(1)),
  header: z.optional(z.string().check(z.describe('One or two words.'))),
  options: z.array(option).check(z.minLength(2), z.maxLength(4)),
  multi_select: z.optional(z.boolean()),
});

/** Offered only to clients that can show questions. */
export function askUserQuestionTool(frontend: Frontend): AgentTool {
  return defineTool({
    name: 'AskUserQuestion',
    description:
      'Ask the user one to four questions with two to four answers each, when the work cannot go on without a choice that is theirs. Free text is always possible.',
    reads: true,
    input: z.object({ questions: z.array(question).check(z.minLength(1), z.maxLength(4)) }),
    run: async (input, context) => {
      const questions = input.questions.map(({ question, header, options, multi_select }) => ({
        question,
        options: options.map(({ label, description }) => ({ label, ...(description === undefined ? {} : { description }) })),
        ...(header === undefined ? {} : { header }),
        ...(multi_select === undefined ? {} : { many: multi_select }),
      }));
      const answers = await frontend.question({ callId: context.callId, questions }, context.signal);
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

/** Access of the plan tools to the conversation. */
export interface Planning {
  readonly on: boolean;
  set(on: boolean): void;
  /** Keeps the plan as a file; gives its path. */
  keep(text: string): string;
}

const LABELS = { approve: 'Approve', reject: 'Reject', leave: 'Reject and Exit' } as const;

/** Offered only to clients that can show plan mode. Its answers are compared exactly (wire.md §5.2). */
export function planModeTools(frontend: Frontend, planning: Planning): readonly AgentTool[] {
  const enter = defineTool({
    name: 'EnterPlanMode',
    description: 'Ask the user to switch to plan mode, where nothing is changed until they approve a plan. For large or unclear work.',
    reads: true,
    input: z.object({}),
    run: async (_, context) => {
      if (planning.on) return done('', 'Plan mode is on already.');
      const question = 'Enter plan mode?';
      const options = [
        { label: 'Yes', description: 'Look and plan first; nothing is changed' },
        { label: 'No', description: 'Go on as now' },
      ];
      const asked = {
        callId: context.callId,
        questions: [{ question, header: 'Plan', options }],
        plan: { text: null, yes: 'Yes', no: 'No' },
      };
      const answers = await frontend.question(asked, context.signal);
      if (answers?.[question] !== 'Yes') return done('', 'The user does not want plan mode. Go on without it.');
      planning.set(true);
      return done('', 'Plan mode is on. Look and read; then give the plan with ExitPlanMode.');
    },
  });
  const exit = defineTool({
    name: 'ExitPlanMode',
    description: 'Show the finished plan to the user and ask for their approval. Only in plan mode.',
    reads: true,
    input: z.object({ plan: z.string().check(z.minLength(1), z.describe('The whole plan, in Markdown.')) }),
    run: async ({ plan }, context) => {
      if (!planning.on) return done('', 'Plan mode is off; just go on.');
      frontend.emit({ type: 'plan.shown', text: plan, path: planning.keep(plan) });
      const question = 'Approve this plan?';
      const options = [
        { label: LABELS.approve, description: 'Leave plan mode and do it' },
        { label: LABELS.reject, description: 'Stay in plan mode' },
        { label: LABELS.leave, description: 'Leave plan mode and do nothing' },
      ];
      const answers = await frontend.question(
        {
          callId: context.callId,
          questions: [{ question, header: 'Plan', body: plan, options }],
          plan: { text: plan, yes: LABELS.approve, no: LABELS.reject },
        },
        context.signal,
      );
      const answer = answers?.[question];
      if (answer === LABELS.approve) {
        planning.set(false);
        return done('', 'The user approved the plan. Plan mode is off; carry it out.');
      }
      if (answer === LABELS.leave) planning.set(false);
      if (answer === undefined || answer === LABELS.reject || answer === LABELS.leave) {
        return done('', 'The user rejected the plan. Stop and wait for what they say.');
      }
      return done('', `The user wants the plan changed: ${answer}`);
    },
  });
  return planning.on ? [exit] : [enter];
}
