import { parseArgs } from 'node:util';

/** How the program is called; `protocols`: their ids. */
export const usageOf = (
  protocols: readonly string[],
): string => `usage: headless --protocol <id> [--command CMD [--arg A]... | --url URL [--header K=V]...] [--cwd DIR] [--env K=V]... [--option K=V]...
                [--prompt TEXT]... [--script FILE] [--answer allow|allow_always|reject|hold] [--timeout S] [--record FILE]
       headless --replay FILE
       headless --schema
       headless --help
Protocols: ${protocols.join(', ')}. Without --command and --url the bundled agent is used, which
serves all of them but ahp. A run ends after --timeout seconds, 1800 unless it says otherwise; 0 is no limit. What no step answers is
rejected unless --answer says otherwise. Standard output has one JSON object a line.
A script is a JSON array of steps: [{"rules": [{"about": "a.txt", "answer": "allow"}]}, {"prompt": "…"}, {"expect": {"status": "done"}}].
--schema prints all steps; docs/headless.md explains them.`;

export type ScriptedReply = 'allow' | 'allow_always' | 'reject' | 'hold';
const replies: readonly string[] = ['allow', 'allow_always', 'reject', 'hold'] satisfies readonly ScriptedReply[];

export interface HeadlessOptions {
  readonly protocol: string;
  readonly command?: string;
  readonly args: readonly string[];
  readonly url?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Settings that only the protocol understands. */
  readonly options: Readonly<Record<string, string>>;
  readonly prompts: readonly string[];
  readonly script?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The file of the recording. */
  readonly record?: string;
  readonly answer: ScriptedReply;
  /** Seconds; 0 is no limit. */
  readonly timeout: number;
}

/** Throws with a sentence for the user when the arguments are invalid. */
export function readOptions(argv: readonly string[], cwd: string): HeadlessOptions {
  const { values } = parseArgs({
    args: joined(argv),
    strict: true,
    options: {
      protocol: { type: 'string' },
      command: { type: 'string' },
      arg: { type: 'string', multiple: true },
      url: { type: 'string' },
      cwd: { type: 'string' },
      env: { type: 'string', multiple: true },
      option: { type: 'string', multiple: true },
      prompt: { type: 'string', multiple: true },
      script: { type: 'string' },
      answer: { type: 'string' },
      timeout: { type: 'string' },
      header: { type: 'string', multiple: true },
      record: { type: 'string' },
    },
  });
  const { protocol, command, url, script, record } = values;
  if (protocol === undefined) throw new Error('--protocol is missing');
  if (command !== undefined && url !== undefined) throw new Error('give either --command or --url');
  const answer = values.answer ?? 'reject';
  if (!isReply(answer)) throw new Error(`--answer takes ${replies.join(', ')}`);
  const given = values.timeout ?? '1800';
  const timeout = Number(given);
  if (!/^[\d.]+$/.test(given) || !Number.isFinite(timeout)) throw new Error('--timeout takes seconds');
  return {
    protocol,
    ...(command === undefined ? {} : { command }),
    ...(url === undefined ? {} : { url }),
    ...(script === undefined ? {} : { script }),
    ...(record === undefined ? {} : { record }),
    headers: Object.fromEntries((values.header ?? []).map(pair('--header'))),
    args: values.arg ?? [],
    cwd: values.cwd ?? cwd,
    env: Object.fromEntries((values.env ?? []).map(pair('--env'))),
    options: Object.fromEntries((values.option ?? []).map(pair('--option'))),
    prompts: values.prompt ?? [],
    answer,
    timeout,
  };
}

/** `--arg --wire` becomes `--arg=--wire`: an agent's own arguments begin with dashes. */
function joined(argv: readonly string[]): string[] {
  const out: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const one = argv[at] ?? '';
    const value = argv[at + 1];
    if (/^--[a-z]+$/.test(one) && value !== undefined) {
      out.push(`${one}=${value}`);
      at += 1;
    } else out.push(one);
  }
  return out;
}

function isReply(text: string): text is ScriptedReply {
  return replies.includes(text);
}

function pair(flag: string): (text: string) => [string, string] {
  return (text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new Error(`${flag} takes NAME=VALUE`);
    return [text.slice(0, at), text.slice(at + 1)];
  };
}
