import * as z from 'zod/mini';
import { messageOf } from '../base/log.ts';
import { callStatus } from '../live/journal/schema.ts';

/* The language of scripts: a JSON array of steps. `--schema` prints it as JSON Schema. */

const reply = z.enum(['allow', 'allow_always', 'reject', 'hold']);
const simple = z.union([
  reply,
  z.strictObject({ reject: z.string() }),
  z.strictObject({ edited: z.string() }),
  z.strictObject({ option: z.string() }),
  z.strictObject({ fields: z.record(z.string(), z.union([z.string(), z.array(z.string())])) }),
]);
/** Milliseconds; a longer timer would end at once. */
export const LONGEST_WAIT = 2 ** 31 - 1;
const wait = z.number().check(z.minimum(0), z.maximum(LONGEST_WAIT));
const scripted = z.union([simple, z.strictObject({ afterMs: wait, answer: simple })]);
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
  afterMs: z.optional(wait),
});
const step = z.union([
  z.strictObject({ setup: z.strictObject({ tools: z.optional(z.array(tool)), secrets: z.optional(z.record(z.string(), z.string())) }) }),
  z.strictObject({ prompt: z.string(), files: z.optional(z.array(z.string())) }),
  z.strictObject({ command: z.array(z.string()).check(z.minLength(1)), args: z.optional(z.string()) }),
  z.strictObject({ answers: z.array(scripted) }),
  z.strictObject({ rules: z.array(rule) }),
  z.strictObject({ cancelOn: moment, afterMs: z.optional(wait) }),
  z.strictObject({ during: z.array(z.strictObject({ on: moment, afterMs: z.optional(wait), do: action })) }),
  z.strictObject({ now: action }),
  z.strictObject({ resume: z.string() }),
  z.strictObject({ close: z.literal(true) }),
  z.strictObject({ waitMs: wait }),
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
        z.array(z.strictObject({ tool: z.optional(z.string()), title: z.optional(z.string()), status: z.optional(callStatus) })),
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
export type ScriptMoment = z.infer<typeof moment>;
export type Action = z.infer<typeof action>;
export type ScriptedTool = z.infer<typeof tool>;
/**
 * One step. `answers`, `cancelOn`, `during` and `steer` apply to the next prompt or command; before the first one, `answers` also apply to asks
 * while the agent starts. `rules` apply until replaced. `setup` must be the first step. `close` ends the agent's input and waits until it is
 * gone; `resume` opens a conversation by its key: a known one, `$this`, or `$fork` for the latest copy.
 */
export type ScriptStep = z.infer<typeof step>;
export type ScriptSetup = Extract<ScriptStep, { setup: unknown }>['setup'];
export type Expectation = Extract<ScriptStep, { expect: unknown }>['expect'];

/** Throws with the line of the fault in text that is not JSON, otherwise with the path of the first wrong step. No message repeats a value. */
export function readScript(text: string): readonly ScriptStep[] {
  const value = parsed(text.replace(/^\uFEFF/, ''));
  if (!Array.isArray(value)) throw new Error('a script is a JSON array of steps');
  return value.map((one: unknown, at) => {
    const read = step.safeParse(one);
    if (!read.success) throw new Error(misfit(one, at));
    if ('setup' in read.data && at > 0) throw new Error(`[${at}]: setup has to be the first step`);
    return read.data;
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const before = text.slice(0, faultOf(text)).split('\n');
    throw new Error(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1} is not JSON`);
  }
}

/** UTF-16 units before the fault. Some messages of the parser have no place: there the shortest start of the text with that fault tells it. */
function faultOf(text: string): number {
  const position = /at position (\d+)/.exec(messageOfParser(text))?.[1];
  if (position !== undefined) return Number(position);
  let [sound, broken] = [0, text.length];
  if (!isBroken(text)) return text.length;
  while (broken - sound > 1) {
    const middle = Math.floor((sound + broken) / 2);
    if (isBroken(text.slice(0, middle))) broken = middle;
    else sound = middle;
  }
  return sound;
}

function isBroken(text: string): boolean {
  return messageOfParser(text).startsWith('Unexpected token');
}

function messageOfParser(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    return messageOf(error);
  }
}

/** Returns the reason why that is not a step, with the place in it. */
function misfit(one: unknown, at: number): string {
  const { options } = step.def;
  const names = typeof one === 'object' && one !== null ? Object.keys(one) : [];
  const meant = options.find((option) => names.some((name) => Object.hasOwn(option.shape, name)));
  if (!meant) {
    const given = names.length === 0 ? 'is no step' : `${names.join(', ')} is no step`;
    return `[${at}]: ${given}; there are ${options.map((option) => Object.keys(option.shape)[0]).join(', ')}`;
  }
  const [issue] = meant.safeParse(one).error?.issues ?? [];
  const place = `[${at}]${(issue?.path ?? []).map((name) => (typeof name === 'number' ? `[${name}]` : `.${String(name)}`)).join('')}`;
  return issue?.code === 'unrecognized_keys' ? `${place} takes no ${issue.keys.join(', ')}` : `${place} does not fit, see --schema`;
}

export function scriptSchema(): object {
  return { title: 'A script of the headless host of Parley', ...z.toJSONSchema(z.array(step)) };
}
