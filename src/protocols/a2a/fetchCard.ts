import { say } from '../../base/say.ts';
import { UnfitAgent } from './card.ts';
import { parse, type Rpc, StatusError } from './rpc.ts';

const PLACES = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/** What the agent at that address says about itself. Rejects with UnfitAgent, or with what the connection rejects with. */
export async function fetchCard(rpc: Rpc, base: string): Promise<unknown> {
  const direct = /\.json$/.test(base);
  let last: unknown;
  for (const url of direct ? [base] : PLACES.map((path) => `${base}${path}`)) {
    try {
      const answer = await rpc.fetch('GET', url, { on: 'turn', within: rpc.timing.card });
      const value = parse(await answer.text(4 * 1024 * 1024, rpc.timing.card));
      if (value !== undefined) return value;
      last = new UnfitAgent(say('There is no A2A agent at {0}: its card is not JSON.', base));
    } catch (error) {
      last =
        error instanceof StatusError && error.status === 404
          ? new UnfitAgent(say('There is no A2A agent at {0} (status {1}).', base, error.status))
          : error;
      if (!(last instanceof UnfitAgent)) throw last;
    }
  }
  throw last;
}
