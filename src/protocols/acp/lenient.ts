import * as z from 'zod/mini';

/** The pieces that lenient schemas are made of: agents leave things out, add things and get things wrong. */

/** A member of the wrong shape counts as absent. One step instead of one each for absent, null and wrong: there are ten in every tool call. */
export const soft = <T extends z.ZodMiniType>(schema: T) =>
  z.optional(
    z.transform((member: unknown): z.output<T> | null | undefined => {
      if (member === null) return null;
      const parsed = schema.safeParse(member);
      return parsed.success ? parsed.data : undefined;
    }),
  );
export const softText = z.optional(z.transform((member: unknown) => (typeof member === 'string' || member === null ? member : undefined)));

/** A list of which the members that do not fit are left out. */
export function listOf<T extends z.ZodMiniType>(member: T) {
  return z.pipe(
    z.array(z.unknown()),
    z.transform((members: unknown[]): readonly z.output<T>[] =>
      members.flatMap((one) => {
        const parsed = member.safeParse(one);
        return parsed.success ? [parsed.data] : [];
      }),
    ),
  );
}
export const LONGEST_ID = 4096;
export const id = z.string().check(z.minLength(1), z.maxLength(LONGEST_ID));
export const text = z.string();
/** What it holds is looked at where it is used. */
export const meta = z.optional(z.transform((member: unknown) => (member === null || isRecord(member) ? member : undefined)));
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Markers are objects, but some agents send true. */
export const marker = z.catch(z.nullish(z.unknown()), undefined);
