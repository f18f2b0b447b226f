import * as z from 'zod/mini';

/** The pieces that lenient schemas are made of: agents leave things out, add things and get things wrong. */

/** A member of the wrong shape counts as absent. */
export const soft = <T extends z.ZodMiniType>(schema: T) => z.catch(z.nullish(schema), undefined);

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
export const id = z.string().check(z.minLength(1), z.maxLength(4096));
export const text = z.string();
export const meta = soft(z.record(z.string(), z.unknown()));
/** Markers are objects, but some agents send true. */
export const marker = z.catch(z.nullish(z.unknown()), undefined);
