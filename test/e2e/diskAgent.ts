import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FakeAgent } from '../fakes/acp.ts';
import { suite } from './suite.ts';

/** An agent that writes straight to the disk, and the window it works in. */
export interface DiskAgent {
  readonly fake: FakeAgent;
  readonly inWindow: ReturnType<typeof suite>;
  /** What the agent does in the next turns. */
  act: () => void | Promise<void>;
  /** Files of the workspace, by their names in it. */
  inFolder(name: string): string;
  read(name: string): string;
  write(name: string, text: string): void;
}

interface DiskAgentSpec {
  /** Names the pictures of failures. */
  readonly name: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Further entries of the list of agents. */
  readonly beside?: readonly object[];
  /** Files besides the sample's, with their texts. */
  readonly files?: ReadonlyMap<string, string>;
}

export async function diskAgent({ name, settings = {}, beside = [], files = new Map() }: DiskAgentSpec): Promise<DiskAgent> {
  const fake = await FakeAgent.start();
  let root = '';
  const inFolder = (file: string) => path.join(root, file);
  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(inFolder(file)), { recursive: true });
    writeFileSync(inFolder(file), text);
  };
  const inWindow = suite({
    name,
    prepare: async (folder) => {
      root = folder;
      for (const [file, text] of files) write(file, text);
      const { command, args } = fake.launch(folder);
      return {
        machineSettings: {
          'parley.agents': [{ id: 'disk', name: 'Disk', protocol: 'acp', command, args }, ...beside],
          'parley.defaultAgent': 'disk',
          ...settings,
        },
        agents: String(args.at(-1)),
        end: () => fake.stop(),
      };
    },
  });
  const disk: DiskAgent = { fake, inWindow, act: () => {}, inFolder, read: (file) => readFileSync(inFolder(file), 'utf8'), write };
  fake.handlers['session/prompt'] = async () => {
    await disk.act();
    fake.text('Done.');
    return { stopReason: 'end_turn' };
  };
  return disk;
}

export function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

export function numbered(word: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${word} ${at + 1}`);
}
