import { t } from '../../base/l10n.ts';
import { UnfitAgent } from './card.ts';
import { parse, type Rpc, StatusError } from './rpc.ts';

/** Bytes of a card. */
const LONGEST = 4 * 1024 * 1024;
const PLACES = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/** What the agent at that address says about itself. Rejects with UnfitAgent, or with what the connection rejects with. */
export async function fetchCard(rpc: Rpc, base: string): Promise<unknown> {
  const direct = /\.json$/.test(base);
  let last: unknown;
  for (const url of direct ? [base] : PLACES.map((path) => `${base}${path}`)) {
    try {
      const answer = await rpc.fetch('GET', url, { on: 'turn', within: rpc.timing.card });
      const text = await answer.text(LONGEST, rpc.timing.card);
      const value = parse(text);
      if (value !== undefined) return value;
      if (Buffer.byteLength(text) >= LONGEST)
        throw new UnfitAgent(t('The card of the agent at {0} is longer than {1} bytes.', base, LONGEST));
      last = new UnfitAgent(t('There is no A2A agent at {0}: its card is not JSON.', base));
    } catch (error) {
      last =
        error instanceof StatusError && error.status === 404
          ? new UnfitAgent(t('There is no A2A agent at {0} (status {1}).', base, error.status))
          : error;
      if (!(last instanceof UnfitAgent) || last === error) throw last;
    }
  }
  throw last;
}
