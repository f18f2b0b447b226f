import { homedir } from 'node:os';
import { variableOf } from './programFile.ts';

/** Opens the agent host, whose clients answer approvals: no agent inherits it, and no command. */
export const HOST_TOKEN = 'PARLEY_HOST_TOKEN';
/** Variables that let their holder act as Parley or its bundled agent: their tokens, the address of the editor's tools, the model's key. */
const SECRETS = new Set([HOST_TOKEN, 'PARLEY_AGENT_TOKEN', 'PARLEY_MCP_URL', 'PARLEY_MCP_TOKEN', 'PARLEY_MODEL_API_KEY']);

/** The variables a command of an agent may see: all but Parley's own secrets, in whatever case they are written. */
export function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.has(name.toUpperCase())));
}

/**
 * Variables that make a program print UTF-8 into a pipe on Windows, where it would take the code page of the country. `chcp` does that for the programs that go by
 * their console; Python goes by this.
 */
export function utf8Variables(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): Readonly<Record<string, string>> {
  const isSet = ['PYTHONIOENCODING', 'PYTHONUTF8'].some((name) => variableOf(env, name) !== undefined);
  return platform === 'win32' && !isSet ? { PYTHONIOENCODING: 'utf-8' } : {};
}

/**
 * The user's home as programs find it, `added` before our own variables. On Windows that is USERPROFILE: a HOME comes from Git Bash or a tool and may be
 * another folder.
 */
export function homeFolder(added: Readonly<Record<string, string | undefined>> = {}, platform: NodeJS.Platform = process.platform): string {
  const name = platform === 'win32' ? 'USERPROFILE' : 'HOME';
  return variableOf(added, name) || variableOf(process.env, name) || homedir();
}
