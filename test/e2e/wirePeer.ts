import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';

/** A Wire agent for the workbench: the scripted server of test/fakes as one configured agent, and three programs to be found on the PATH. */
export interface WirePeer {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  /** Puts a recorded session of this folder where such agents keep theirs. */
  remember(folder: string, id: string, prompt: string): void;
  /** Lets an agent that is held answer the handshake. */
  release(): void;
  /** The result it got for a request of its own. */
  answerTo(id: string): unknown;
  remove(): void;
}

/** `startUp`: milliseconds until the handshake is answered, or `held` for one that waits for `release`. */
export async function wirePeer(script: object, startUp: number | 'held'): Promise<WirePeer> {
  const place = mkdtempSync(path.join(tmpdir(), 'parley-wire-peer-'));
  const fake = path.join(place, 'fake.mjs');
  await build({ entryPoints: ['test/fakes/wire.ts'], bundle: true, platform: 'node', format: 'esm', outfile: fake, logLevel: 'warning' });
  const log = path.join(place, 'log.jsonl');
  const file = path.join(place, 'script.json');
  const hold = path.join(place, 'hold');
  if (startUp === 'held') writeFileSync(hold, '');
  writeFileSync(file, JSON.stringify({ ...script, log, beforeReady: [startUp === 'held' ? { waitWhile: hold } : { waitMs: startUp }] }));
  const bin = path.join(place, 'bin');
  mkdirSync(bin);
  const program = (name: string, lines: string): void => {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(path.join(bin, name), 0o755);
  };
  // The two programs that share a name (wire.md §1), and an old one that does not say what it is.
  program('kimi', 'if [ "$1" = "--version" ]; then echo 2.3.0; exit 0; fi; echo "error: unknown option \'$2\'" >&2; exit 1');
  program('kimi-legacy', `exec '${process.execPath}' '${fake}' '${file}' "$@"`);
  program('kimi-cli', 'echo "No such command" >&2; exit 2');
  const share = path.join(place, 'share');
  return {
    settings: {
      'parley.agents': [{ id: 'peer', name: 'Kimi', protocol: 'kimi-wire', command: process.execPath, args: [fake, file] }],
      'parley.defaultAgent': 'peer',
    },
    env: { PATH: `${bin}:${process.env.PATH}`, KIMI_SHARE_DIR: share },
    remember(folder, id, prompt) {
      const session = path.join(share, 'sessions', createHash('md5').update(folder).digest('hex'), id);
      mkdirSync(session, { recursive: true });
      const message = { type: 'TurnBegin', payload: { user_input: prompt } };
      writeFileSync(path.join(session, 'wire.jsonl'), `${JSON.stringify({ timestamp: 1, message })}\n`);
    },
    release: () => rmSync(hold, { force: true }),
    answerTo(id) {
      const lines = readFileSync(log, 'utf8').split('\n');
      const said = lines.flatMap((line) =>
        line.startsWith('{') ? [JSON.parse(line) as { id?: unknown; method?: unknown; result?: unknown }] : [],
      );
      return said.find((message) => message.id === id && message.method === undefined)?.result;
    },
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}
