import type { ExternalTool } from '../../../protocols/kimi-wire/schema.ts';
import type { ToolOffer } from '../../models/model.ts';
import { problemOfSchema } from '../../tools/schemaCheck.ts';

export interface Offered {
  readonly accepted: string[];
  readonly rejected: { readonly name: string; readonly reason: string }[];
}

/** The tools a client lends us. Offering one again replaces it; one that cannot be used is refused with a reason and the others stand. */
export class ExternalTools {
  readonly #tools = new Map<string, ToolOffer>();
  readonly #taken: ReadonlySet<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  get all(): readonly ToolOffer[] {
    return [...this.#tools.values()];
  }

  offer(tools: readonly ExternalTool[]): Offered {
    const result: Offered = { accepted: [], rejected: [] };
    for (const { name, description, parameters } of tools) {
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
