import { ExternalTool } from '../../../protocols/kimi-wire/schema.ts';
import type { ToolOffer } from '../../models/model.ts';
import { problemOfSchema } from '../../tools/schemaCheck.ts';
import { problemsOf } from '../../tools/tool.ts';

export interface Offered {
  readonly accepted: string[];
  readonly rejected: { readonly name: string; readonly reason: string }[];
}

/** The tools a client lends us. Offering one again replaces it; a bad one is refused with a reason and the others stand. */
export class ExternalTools {
  readonly #tools = new Map<string, ToolOffer>();
  readonly #taken: ReadonlySet<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  get all(): readonly ToolOffer[] {
    return [...this.#tools.values()];
  }

  offer(entries: readonly unknown[]): Offered {
    const result: Offered = { accepted: [], rejected: [] };
    for (const entry of entries) {
      const parsed = ExternalTool.safeParse(entry);
      if (!parsed.success) {
        result.rejected.push({ name: nameOf(entry), reason: problemsOf(parsed.error) });
        continue;
      }
      const { name, description, parameters } = parsed.data;
      const reason = this.#problem(name) ?? problemOfSchema(parameters);
      if (reason !== undefined) {
        result.rejected.push({ name, reason });
        continue;
      }
      this.#tools.set(name, { name, description, parameters });
      if (!result.accepted.includes(name)) result.accepted.push(name);
    }
    return result;
  }

  #problem(name: string): string | undefined {
    if (this.#taken.has(name)) return 'conflicts with builtin tool';
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return 'the name must be 1 to 64 of a-z, A-Z, 0-9, _ and -';
    return undefined;
  }
}

function nameOf(entry: unknown): string {
  if (typeof entry === 'object' && entry !== null && 'name' in entry && typeof entry.name === 'string') return entry.name;
  return '(no name)';
}
