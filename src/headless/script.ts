import * as z from 'zod/mini';

const reply = z.enum(['allow', 'allow_always', 'reject', 'hold']);
const scripted = z.union([
  reply,
  z.strictObject({ reject: z.string() }),
  z.strictObject({ edited: z.string() }),
  z.strictObject({ option: z.string() }),
  z.strictObject({ fields: z.record(z.string(), z.union([z.string(), z.array(z.string())])) }),
]);
const step = z.union([
  z.strictObject({ prompt: z.string() }),
  z.strictObject({ command: z.array(z.string()).check(z.minLength(1)), args: z.optional(z.string()) }),
  z.strictObject({ answers: z.array(scripted) }),
  z.strictObject({ cancelOn: z.enum(['ask', 'call', 'text']), afterMs: z.optional(z.number()) }),
  z.strictObject({ resume: z.string() }),
  z.strictObject({ waitMs: z.number() }),
  z.strictObject({ mode: z.string() }),
  z.strictObject({ steer: z.string() }),
]);

/** How to answer one ask: as a rule would, with words, with changed text, by an option's id, or the fields of a question by their id. */
export type ScriptedAnswer = z.infer<typeof scripted>;
/**
 * One step. `answers` and `cancelOn` are for the next prompt or command; `resume` starts over on an earlier conversation; `steer` is said into the
 * next turn as soon as it shows text or a call.
 */
export type Step = z.infer<typeof step>;

/** Throws with the place of the first step that is off. */
export function readScript(text: string): readonly Step[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error('a script is a JSON array of steps');
  return value.map((one: unknown, at) => {
    const parsed = step.safeParse(one);
    if (!parsed.success) throw new Error(`step ${at} is none: ${JSON.stringify(one).slice(0, 200)}`);
    return parsed.data;
  });
}
