import path from 'node:path';
import { parseArgs } from 'node:util';
import { NEWEST_VERSION } from '../protocols/kimi-wire/schema.ts';

export interface Options {
  readonly command: 'serve' | 'info' | 'version' | 'help';
  readonly json: boolean;
  readonly workDir: string;
  readonly addDirs: readonly string[];
  readonly session: string | undefined;
  readonly wireVersion: string;
}

export const usage = `Usage: parley-agent [options]
       parley-agent info [--json]

  --wire                serve Wire on stdin and stdout (default)
  --work-dir, -w DIR    the folder to work in (default: the current one)
  --add-dir DIR         one more folder of the workspace; may be repeated
  --session, -S ID      open the session of that name, or begin it
  --wire-version V      behave as a server of Wire V, 1.0 to ${NEWEST_VERSION}
  --version, -V         print the version
  --help, -h            print this

The model comes from PARLEY_MODEL_BASE_URL, PARLEY_MODEL_NAME, PARLEY_MODEL_API_KEY and PARLEY_MODEL_CONTEXT (tokens).
Without a base URL and a name the offline guide answers.
`;

/** Reads the arguments. Throws an Error with one sentence for what it does not know. */
export function readOptions(args: readonly string[], cwd: string): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      wire: { type: 'boolean' },
      json: { type: 'boolean' },
      version: { type: 'boolean', short: 'V' },
      help: { type: 'boolean', short: 'h' },
      'work-dir': { type: 'string', short: 'w' },
      'add-dir': { type: 'string', multiple: true },
      session: { type: 'string', short: 'S' },
      'wire-version': { type: 'string' },
    },
  });
  const [command, ...rest] = positionals;
  if (rest.length > 0 || (command !== undefined && command !== 'info')) throw new Error(`Unexpected argument '${rest[0] ?? command}'`);
  return {
    command: values.help ? 'help' : values.version ? 'version' : command === 'info' ? 'info' : 'serve',
    json: values.json ?? false,
    workDir: path.resolve(cwd, values['work-dir'] ?? '.'),
    addDirs: (values['add-dir'] ?? []).map((dir) => path.resolve(cwd, dir)),
    session: values.session,
    wireVersion: values['wire-version'] ?? NEWEST_VERSION,
  };
}
