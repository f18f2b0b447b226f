import * as z from 'zod/mini';
import type { ModelLine } from '../bridge/contract.ts';
import { whyFailed } from '../transport/link.ts';

/** Milliseconds that the list of models may take, and the number of models shown. */
const LIST_LIMIT = 5000;
const MOST = 1000;

/** OpenRouter adds the price of a token in dollars, as a text; others send only the ids. */
const listed = z.object({
  data: z.array(
    z.object({
      id: z.string().check(z.minLength(1), z.maxLength(512)),
      pricing: z.optional(z.catch(z.object({ prompt: z.string(), completion: z.string() }), { prompt: '', completion: '' })),
    }),
  ),
});

/** The models of an OpenAI-compatible endpoint. Rejects with a short reason, which is empty where the response is no list of models. */
export async function listModels(baseUrl: string, key: string | undefined, limit = LIST_LIMIT): Promise<readonly ModelLine[]> {
  const response = await fetch(`${baseUrl}/models`, {
    headers: headersFor(baseUrl, key),
    signal: AbortSignal.timeout(limit),
  }).catch((error: unknown) => {
    throw whyFailed(baseUrl, cause(error));
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}.`);
  const parsed = listed.safeParse(await response.json().catch(() => undefined));
  if (!parsed.success) throw new Error();
  return parsed.data.data.slice(0, MOST).map(({ id, pricing }) => {
    const price = pricing && priceText(pricing);
    return { name: id, ...(price ? { price } : {}) };
  });
}

/** Anthropic's endpoint accepts chats with a bearer token like the others, but lists its models only with headers of its own. */
function headersFor(baseUrl: string, key: string | undefined): Record<string, string> {
  if (!key) return {};
  const own = new URL(baseUrl).host === 'api.anthropic.com' ? { 'x-api-key': key, 'anthropic-version': '2023-06-01' } : {};
  return { authorization: `Bearer ${key}`, ...own };
}

/** "$3 / $15" for a million tokens; undefined when it is not known. */
export function priceText({ prompt, completion }: { readonly prompt: string; readonly completion: string }): string | undefined {
  const [input, output] = [prompt, completion].map((text) => (text.trim() === '' ? Number.NaN : Number(text) * 1_000_000));
  if (input === undefined || output === undefined || !(input >= 0) || !(output >= 0)) return undefined;
  const dollars = (amount: number) => `$${amount >= 100 ? amount.toFixed(0) : String(Number(amount.toPrecision(3)))}`;
  return input === 0 && output === 0 ? '$0' : `${dollars(input)} / ${dollars(output)}`;
}

/** Unwraps the system's error, which `fetch` hides behind its own. */
function cause(error: unknown): Error {
  const hidden = error instanceof Error ? (error.cause ?? error) : error;
  return hidden instanceof Error ? hidden : new Error(String(hidden));
}
