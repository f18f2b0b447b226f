import path from 'node:path';
import { knownAgents } from '../../../src/live/knownAgents.ts';
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

/** One of the known agents as a person has it: its command is on the PATH, nothing in the settings says so. */
export async function onPath(name: AcpName, folder: string): Promise<Prepared> {
  const peer = await startAcp(name, { cwd: folder, script: 'window.json' });
  const known = knownAgents.find((one) => one.id === name);
  return prepared(peer, known?.command ?? name, {}, known?.args);
}

/** An agent the person has put into the settings, by the name of its command. */
export function inSettings(peer: Peer, entry: { readonly name: string; readonly protocol: string }): Prepared {
  const command = entry.name.toLowerCase().replaceAll(' ', '-');
  return prepared(peer, command, { 'parley.agents': [{ ...entry, command }] });
}

function prepared(peer: Peer, command: string, machineSettings: Readonly<Record<string, unknown>>, given?: readonly string[]): Prepared {
  const bin = path.join(peer.place.home, 'bin');
  putCommand(bin, command, peer.launch, given);
  return {
    machineSettings,
    env: { PATH: `${bin}${path.delimiter}${process.env.PATH}` },
    agents: [peer.launch.command, ...peer.launch.args].findLast(path.isAbsolute) ?? '',
    end: () => peer.remove(),
  };
}
