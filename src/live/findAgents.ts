import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import type { KnownAgent } from './knownAgents.ts';

export interface FoundAgent {
  readonly agent: KnownAgent;
  /** Where its command is; absent when it is nowhere. */
  readonly file?: string;
  /** What it calls its version, when it said so in time. */
  readonly version?: string;
}

/** How long a program may take to say its version, in milliseconds. */
const PATIENCE = 15_000;
const versions = new Map<string, Promise<string | undefined>>();

/** Which of the agents are on this PATH. Versions that are not known after `wait` milliseconds are left out; asking goes on for the next time. */
export async function findAgents(agents: readonly KnownAgent[], searched: string, wait: number): Promise<readonly FoundAgent[]> {
  return Promise.all(
    agents.map(async (agent): Promise<FoundAgent> => {
      const file = await find(agent.command, searched);
      if (file === undefined) return { agent };
      const version = await Promise.race([versionOf(file, searched), later(wait)]);
      return { agent, file, ...(version === undefined ? {} : { version }) };
    }),
  );
}

/** The first folder of the PATH that has the program. */
async function find(command: string, searched: string): Promise<string | undefined> {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  for (const folder of searched.split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue;
    for (const ending of endings) {
      const file = path.join(folder, command + ending);
      const there = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (there) return file;
    }
  }
  return undefined;
}

function versionOf(file: string, searched: string): Promise<string | undefined> {
  let version = versions.get(file);
  if (!version) {
    version = new Promise((resolve) => {
      const options = { timeout: PATIENCE, env: { ...process.env, PATH: searched }, shell: /\.(cmd|bat)$/i.test(file), windowsHide: true };
      execFile(file, ['--version'], options, (error, stdout) => resolve(error ? undefined : /\d+\.\d+\.\d+[\w.-]*/.exec(stdout)?.[0]));
    });
    versions.set(file, version);
  }
  return version;
}

function later(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref();
  });
}
