import type { SessionEvent } from '../session/events.ts';

type Member<U, K extends PropertyKey, T> = U extends { readonly [P in K]: infer V } ? (T extends V ? U : never) : never;

/** One row per member of a tagged union. Leave one out and it does not compile. */
export type Rows<U, K extends keyof U & string, M> = {
  readonly [T in U[K] & string]: (message: Member<U, K, T>, memory: M) => readonly SessionEvent[];
};

/** undefined means: a tag this build does not know. The adapter traces it and goes on. The message has been checked against its schema. */
export function decode<U, K extends keyof U & string, M>(
  rows: Rows<U, K, M>,
  key: K,
  message: U,
  memory: M,
): readonly SessionEvent[] | undefined {
  const tag: unknown = message[key];
  if (typeof tag !== 'string' || !Object.hasOwn(rows, tag)) return undefined;
  return (rows as unknown as Readonly<Record<string, (message: U, memory: M) => readonly SessionEvent[]>>)[tag]?.(message, memory);
}
