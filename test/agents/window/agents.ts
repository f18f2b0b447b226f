import path from 'node:path';
import { knownAgents } from '../../../src/live/findAgents.ts';
import type { Launch } from '../../../src/protocols/adapter.ts';
import type { Prepared } from '../../e2e/suite.ts';
import { type PeerName as AcpName, startPeer as startAcp } from '../acp/peers.ts';
import type { Place } from '../lab.ts';
import { putCommand } from './commands.ts';

/** What the lab gives of an agent. */
interface Peer {
  readonly place: Place;
  readonly launch: Extract<Launch, { kind: 'process' }>;
  remove(): Promise<void>;
}

/** One of the known agents as a user has it: its command is on the PATH, nothing in the settings says so. */
export async function onPath(name: AcpName, folder: string, script = 'window.json'): Promise<Prepared> {
  const peer = await startAcp(name, { cwd: folder, script });
  const known = knownAgents.find((one) => one.id === name);
  const bin = path.join(peer.place.home, 'bin');
  putCommand(bin, known?.command ?? name, peer.launch, known?.args);
  return { env: { PATH: `${bin}${path.delimiter}${process.env.PATH}` }, agents: programOf(peer), end: () => peer.remove() };
}

/** An agent the user has put into the settings, with the command that starts it. */
export function inSettings(peer: Peer, entry: { readonly name: string; readonly protocol: string }): Prepared {
  const { command, args } = peer.launch;
  const env = Object.fromEntries(Object.entries(peer.launch.env).filter(([, value]) => value !== undefined));
  return { machineSettings: { 'parley.agents': [{ ...entry, command, args, env }] }, agents: programOf(peer), end: () => peer.remove() };
}

/** What tells its process from others. */
function programOf({ launch }: Peer): string {
  return [launch.command, ...launch.args].findLast(path.isAbsolute) ?? '';
}
