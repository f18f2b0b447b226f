import * as z from 'zod/mini';
import type { ToolOffer } from '../../models/model.ts';
import { problemOfSchema } from '../../tools/schemaCheck.ts';
import { type ChatRequest, declaredTools } from './request.ts';

const lent = z.object({
  name: z.string().check(z.regex(/^[A-Za-z0-9_-]{1,64}$/)),
  description: z.string().check(z.maxLength(20_000)),
  parameters: z.record(z.string(), z.unknown()),
});
const MOST = 200;

/** The tools a request lends us; one that cannot be used is named and the others stand. */
export async function lentTools(
  request: ChatRequest,
  taken: readonly string[],
): Promise<{ readonly offers: readonly ToolOffer[]; readonly problems: readonly string[] }> {
  const offers: ToolOffer[] = [];
  const problems: string[] = [];
  for (const entry of declaredTools(request).slice(0, MOST)) {
    const parsed = lent.safeParse(entry);
    if (!parsed.success) {
      problems.push(`A lent tool cannot be used: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}`);
      continue;
    }
    const { name, parameters } = parsed.data;
    const problem = taken.includes(name) ? 'its name is taken' : await problemOfSchema(parameters);
    if (problem === undefined) offers.push(parsed.data);
    else problems.push(`The lent tool ${name} cannot be used: ${problem}`);
  }
  return { offers, problems };
}
