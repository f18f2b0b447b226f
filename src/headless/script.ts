import * as z from 'zod/mini';

/* The language of scripts: a JSON array of steps. `--schema` prints it as JSON Schema. */

const reply = z.enum(['allow', 'allow_always', 'reject', 'hold']);
const simple = z.union([
  reply,
  z.strictObject({ reject: z.string() }),
  z.strictObject({ edited: z.string() }),
  z.strictObject({ option: z.string() }),
  z.strictObject({ fields: z.record(z.string(), z.union([z.string(), z.array(z.string())])) }),
]);
const scripted = z.union([simple, z.strictObject({ afterMs: z.number().check(z.minimum(0)), answer: simple })]);
/**
 * All given fields must match: the id of a call, its tool name in the protocol, a text within the title of the ask, a text within
 * its contents (title, command, files or fields).
 */
const rule = z.strictObject({
  call: z.optional(z.string()),
  tool: z.optional(z.string()),
  title: z.optional(z.string()),
  about: z.optional(z.string()),
  answer: scripted,
});
const moment = z.enum(['start', 'ask', 'call', 'text']);
const option = z.strictObject({ id: z.string(), value: z.union([z.string(), z.boolean()]) });
const action = z.union([
  z.strictObject({ cancel: z.literal(true) }),
  z.strictObject({ close: z.literal(true) }),
  z.strictObject({ steer: z.string() }),
  z.strictObject({ prompt: z.string() }),
  z.strictObject({ mode: z.string() }),
  z.strictObject({ option }),
]);
const tool = z.strictObject({
  name: z.string(),
  description: z.optional(z.string()),
  parameters: z.optional(z.record(z.string(), z.unknown())),
  result: z.optional(z.string()),
  error: z.optional(z.string()),
  afterMs: z.optional(z.number()),
});
const step = z.union([
  z.strictObject({ setup: z.strictObject({ tools: z.optional(z.array(tool)), secrets: z.optional(z.record(z.string(), z.string())) }) }),
  z.strictObject({ prompt: z.string(), files: z.optional(z.array(z.string())) }),
  z.strictObject({ command: z.array(z.string()).check(z.minLength(1)), args: z.optional(z.string()) }),
  z.strictObject({ answers: z.array(scripted) }),
  z.strictObject({ rules: z.array(rule) }),
  z.strictObject({ cancelOn: moment, afterMs: z.optional(z.number()) }),
  z.strictObject({ during: z.array(z.strictObject({ on: moment, afterMs: z.optional(z.number()), do: action })) }),
  z.strictObject({ now: action }),
  z.strictObject({ resume: z.string() }),
  z.strictObject({ close: z.literal(true) }),
  z.strictObject({ waitMs: z.number() }),
  z.strictObject({ mode: z.string() }),
  z.strictObject({ option }),
  z.strictObject({ steer: z.string() }),
  z.strictObject({ hints: z.string() }),
  z.strictObject({ list: z.literal(true) }),
  z.strictObject({ fork: z.literal(true) }),
  z.strictObject({ forget: z.string() }),
  z.strictObject({
    expect: z.strictObject({
      status: z.optional(z.enum(['done', 'cancelled', 'failed'])),
      text: z.optional(z.string()),
      notice: z.optional(z.string()),
      error: z.optional(z.string()),
      calls: z.optional(
        z.array(z.strictObject({ tool: z.optional(z.string()), title: z.optional(z.string()), status: z.optional(z.string()) })),
      ),
      asks: z.optional(z.number()),
      link: z.optional(z.enum(['opening', 'ready', 'closed'])),
    }),
  }),
]);

/** An answer to one ask: like a rule, with feedback, with changed text, by an option's id, or the fields of a question by their id. */
export type SimpleAnswer = z.infer<typeof simple>;
export type ScriptedAnswer = z.infer<typeof scripted>;
export type AnswerRule = z.infer<typeof rule>;
export type Moment = z.infer<typeof moment>;
export type Action = z.infer<typeof action>;
export type ScriptedTool = z.infer<typeof tool>;
/**
 * One step. `answers`, `cancelOn`, `during` and `steer` apply to the next prompt or command; before the first one, `answers` also apply to asks
 * while the agent starts. `rules` apply until replaced. `setup` must be the first step. `close` ends the agent's input and waits until it is
 * gone; `resume` opens a conversation by its key: a known one, `$this`, or `$fork` for the latest copy.
 */
export type Step = z.infer<typeof step>;
export type Setup = Extract<Step, { setup: unknown }>['setup'];
export type Expectation = Extract<Step, { expect: unknown }>['expect'];

/** Throws with the place of the first step that is wrong. */
export function readScript(text: string): readonly Step[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error('a script is a JSON array of steps');
  return value.map((one: unknown, at) => {
    const parsed = step.safeParse(one);
    if (!parsed.success) throw new Error(`step ${at} is none: ${misfit(one)}`);
    if ('setup' in parsed.data && at > 0) throw new Error('setup has to be the first step');
    return parsed.data;
  });
}

/** Returns the reason why that is not a step: its name, or the place in it. */
function misfit(one: unknown): string {
  const text = JSON.stringify(one).slice(0, 200);
  if (typeof one !== 'object' || one === null) return text;
  const { options } = step.def;
  const meant = options.find((option) => Object.keys(one).some((name) => Object.hasOwn(option.shape, name)));
  if (!meant) return `${text}; there are ${options.map((option) => Object.keys(option.shape)[0]).join(', ')}`;
  const [issue] = meant.safeParse(one).error?.issues ?? [];
  const place = issue?.path.join('.');
  if (issue?.code === 'unrecognized_keys') return `${text}; ${place || 'it'} takes no ${issue.keys.join(', ')}`;
  return `${text}; ${place} does not fit, see --schema`;
}

export function scriptSchema(): object {
  return { title: 'A script of the headless host of Parley', ...z.toJSONSchema(z.array(step)) };
}
