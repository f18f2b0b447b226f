import { noAgent, type Peer, readCard } from './card.ts';
import { type CommandTree, commandTree, parseOrUndefined } from './codec.ts';
import { type Rpc, RpcError, StatusError } from './http.ts';

/* Reads the card and the slash commands of an agent before the conversation begins (docs/protocols/a2a.md §1, §13). */

/** Bytes of an answer that is read whole. */
export const LONGEST_ANSWER = 8 * 1024 * 1024;
/** Bytes of a card. */
const LONGEST_CARD = 4 * 1024 * 1024;
const CARD_PLACES = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/** Rejects with UnfitAgent, or with what the connection rejects with. */
export async function readPeer(rpc: Rpc, address: string, extensions: readonly string[]): Promise<Peer> {
  return readCard(await fetchCard(rpc, address), address, extensions);
}

/** Reads the card of the agent at that address. */
async function fetchCard(rpc: Rpc, base: string): Promise<unknown> {
  const direct = /\.json$/.test(base);
  let last: unknown;
  for (const url of direct ? [base] : CARD_PLACES.map((place) => `${base}${place}`)) {
    try {
      const answer = await rpc.fetch('GET', url, { on: 'turn', within: rpc.timing.card });
      const text = await answer.text(LONGEST_CARD, rpc.timing.card);
      const value = parseOrUndefined(text);
      if (value !== undefined) return value;
      if (Buffer.byteLength(text) >= LONGEST_CARD) throw noAgent(base, `card > ${LONGEST_CARD} bytes`);
      last = noAgent(base, 'card is not JSON');
    } catch (error) {
      if (!(error instanceof StatusError) || error.status !== 404) throw error;
      last = noAgent(base, 'status 404');
    }
  }
  throw last;
}

/** The agent's slash commands, however it offers them; undefined when it offers none. Rejects only when credentials are wanted. */
export async function findCommands(rpc: Rpc, peer: Peer, origin: string): Promise<CommandTree | undefined> {
  try {
    if (peer.dialect === 'rfc') return commandTree(await rpc.call('commands/get', {}), 'rpc');
  } catch (error) {
    if (error instanceof StatusError && error.status === 401) throw error;
    if (!(error instanceof RpcError)) return undefined;
  }
  const within = rpc.timing.answer;
  const answer = await rpc.fetch('GET', `${origin}/listCommands`, { within }).catch(() => undefined);
  return answer && commandTree(parseOrUndefined(await answer.text(LONGEST_ANSWER, within)), 'rest');
}
