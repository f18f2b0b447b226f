import { isSecretSetting } from '../base/secretNames.ts';

/* Credentials that the user gave a run appear neither in its output nor in its recording, even where the agent repeats them. */

const MASK = '***';
/** Shorter values are found in every text. */
const SHORTEST = 4;

/** The secrets of a run, found as whole texts: one that the agent tells in two pieces is not recognised. */
export class Masks {
  /** The longest first, because one secret may hold another. */
  #secrets: readonly string[] = [];

  add(...secrets: readonly string[]): void {
    const all = new Set([...this.#secrets, ...secrets.filter(({ length }) => length >= SHORTEST)]);
    this.#secrets = [...all].toSorted((a, b) => b.length - a.length);
  }

  /** Adds the values whose name tells that they are secret; of `Bearer s3cret` also the second word. */
  addNamed(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) if (isSecretSetting(name)) this.add(value, value.slice(value.indexOf(' ') + 1));
  }

  text(text: string): string {
    let masked = text;
    for (const secret of this.#secrets) masked = masked.replaceAll(secret, MASK);
    return masked;
  }

  /** A JSON value whose texts hold no secret. */
  value(value: unknown): unknown {
    if (this.#secrets.length === 0) return value;
    return JSON.parse(JSON.stringify(value, (_name, inner: unknown) => (typeof inner === 'string' ? this.text(inner) : inner)));
  }
}
