import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Platform } from '../../base/fileName.ts';
import { t } from '../../base/l10n.ts';
import type { Notice } from '../../session/model.ts';
import { isForeign, platform, realPathNow } from '../paths.ts';
import { fileOf } from './calls.ts';
import { type A2aPeer, noAgent, readCard } from './card.ts';
import { type CommandTree, commandTree, meaningOf, parseOrUndefined, toIncoming } from './codec.ts';
import type { Credentials } from './credentials.ts';
import { AgentError, type RpcClient, StatusError } from './http.ts';
import { isRecord } from './schema.ts';
import type { AgentProgram, ExtensionFolder } from './server.ts';
import { type FileOfCall, installGit } from './state.ts';
import type { Webhook } from './webhook.ts';

/** An agent that was found. */
export interface ConnectedAgent {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly address: string;
  readonly peer: A2aPeer;
  readonly rpc: RpcClient;
  readonly credentials: Credentials;
  readonly files: CallFiles;
  readonly webhook?: Webhook;
  readonly folder?: ExtensionFolder;
}
/** The files of the Gemini CLI server's calls, as they are at a call's first report, before any decision about it. */
export class CallFiles {
  readonly #seen = new Set<string>();
  readonly #folders: readonly string[];
  readonly #system: Platform;

  constructor(folders: readonly string[], system = platform) {
    this.#folders = folders;
    this.#system = system;
  }

  /** Of calls that this result reports first. */
  in(result: unknown): readonly FileOfCall[] {
    if (!holdsCall(result)) return NONE;
    const record = toIncoming(result);
    return (record ? meaningOf(record) : []).flatMap((said) => {
      if (said.type !== 'call' || said.dialect !== 'gemini' || said.call.status === 'done' || this.#seen.has(said.call.id)) return [];
      const file = fileOf(said.call);
      if (file === undefined || !path.isAbsolute(file) || file.includes('\0')) return [];
      if (isForeign(file, this.#folders, this.#system)) return [];
      this.#seen.add(said.call.id);
      // The server also gives an empty text as the old one of a file that does not exist.
      return [{ call: said.call.id, isNew: !existsSync(file), real: realPathNow(file) }];
    });
  }
}
const NONE: readonly FileOfCall[] = [];

/** A quick look before a record is decoded for this: is there a call of the Gemini CLI server in it? */
function holdsCall(result: unknown): boolean {
  const status = isRecord(result) ? (isRecord(result.statusUpdate) ? result.statusUpdate.status : result.status) : undefined;
  const message = isRecord(status) ? status.message : undefined;
  const parts = isRecord(message) && Array.isArray(message.parts) ? (message.parts as readonly unknown[]) : NONE;
  for (const part of parts) if (isRecord(part) && isRecord(part.data) && isRecord(part.data.request)) return true;
  return false;
}

// --- its card and its slash commands, read before the conversation begins (docs/protocols/a2a.md §1, §13)

/** Bytes of an answer that is read whole. */
export const LONGEST_ANSWER = 8 * 1024 * 1024;
/** Bytes of a card. */
const LONGEST_CARD = 4 * 1024 * 1024;
const CARD_PLACES = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/** Rejects with UnfitAgent, or with what the connection rejects with. */
export async function readPeer(rpc: RpcClient, address: string, extensions: readonly string[]): Promise<A2aPeer> {
  return readCard(await fetchCard(rpc, address), address, extensions);
}

/** Reads the card of the agent at that address. */
async function fetchCard(rpc: RpcClient, base: string): Promise<unknown> {
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
export async function findCommands(rpc: RpcClient, peer: A2aPeer, origin: string): Promise<CommandTree | undefined> {
  try {
    if (peer.dialect === 'rfc') return commandTree(await rpc.call('commands/get', {}), 'rpc');
  } catch (error) {
    if (error instanceof StatusError && error.status === 401) throw error;
    if (!(error instanceof AgentError)) return undefined;
  }
  const within = rpc.timing.answer;
  const answer = await rpc.fetch('GET', `${origin}/listCommands`, { within }).catch(() => undefined);
  return answer && commandTree(parseOrUndefined(await answer.text(LONGEST_ANSWER, within)), 'rest');
}

/** Returns the agent's answer to a request beside the protocol; undefined when that is not JSON. */
export async function postTo({ rpc, origin }: ConnectedAgent, place: string, body: object): Promise<unknown> {
  const answer = await rpc.fetch('POST', `${origin}${place}`, { body });
  return parseOrUndefined(await answer.text(LONGEST_ANSWER));
}

/** Notices about the agent for the user, one entry each. */
export function noticesOf(
  peer: A2aPeer,
  { onLoopback = true, hasGit = true }: Partial<Pick<AgentProgram, 'onLoopback' | 'hasGit'>> = {},
): readonly Notice[] {
  const notices: Notice[] = [];
  if (!onLoopback) notices.push({ level: 'warn', text: t('Other computers may reach this agent: it could not be limited to this one.') });
  for (const text of peer.remarks) notices.push({ level: 'warn', text });
  if (peer.dialect === 'plain') {
    notices.push({ level: 'info', text: t('{0} is a plain A2A agent: its tools, approvals and diffs are not shown.', peer.name) });
  }
  const isNewer = Object.keys(peer.schemes).length > 0;
  if (!hasGit && peer.dialect === 'gemini' && !isNewer) {
    notices.push({ level: 'warn', text: installGit() });
  }
  return notices;
}
