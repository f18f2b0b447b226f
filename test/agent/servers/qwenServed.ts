import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { endAfter, temporaryFolder } from '../agentProcess.ts';

export type Line = Readonly<Record<string, unknown>>;

/** The built agent, spoken to in raw lines. */
export function served(t: TestContext, ...args: readonly string[]) {
  return servedWith(t, {}, ...args);
}

/** The same in an environment of its own. */
export function servedWith(t: TestContext, more: NodeJS.ProcessEnv, ...args: readonly string[]) {
  const cwd = temporaryFolder(t);
  const { PARLEY_MODEL_BASE_URL: _, PARLEY_MODEL_NAME: __, ...env } = process.env;
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), ...args], {
    cwd,
    env: { ...env, KIMI_SHARE_DIR: `${cwd}.home`, ...more },
  });
  const told = { out: '', err: '' };
  let wake = () => {};
  child.stdin.on('error', () => {});
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told.out += text;
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told.err += text;
  });
  let gone = false;
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      gone = true;
      wake();
      resolve(code);
    });
  });
  endAfter(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines = (): readonly Line[] =>
    told.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  return {
    cwd,
    told,
    exited,
    lines,
    raw: (text: string) => void child.stdin.write(text),
    say: (...messages: readonly object[]) => void child.stdin.write(messages.map((one) => `${JSON.stringify(one)}\n`).join('')),
    end: (text = '') => void child.stdin.end(text),
    /** The first line that fits, now or later. */
    line: async (fits: (line: Line, at: number) => boolean): Promise<Line> => {
      for (;;) {
        const found = lines().find(fits);
        if (found) return found;
        assert.equal(gone, false, `it ended: ${told.err}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

export const MESSAGES = ['--input-format', 'stream-json', '--output-format', 'stream-json'];
export const ENVELOPE = [...MESSAGES, '--dialect', 'envelope'];
export const CHUNKS = ['--input-format', 'stream-chunk-json', '--output-format', 'stream-chunk-json'];
export const request = (parts: readonly object[], more: object = {}) => ({ session_id: '_new', input: { origin: 'user', parts }, ...more });
export const text = (words: string) => [{ type: 'text', text: words }];
/** The last line of a turn. */
export const finished = (line: Line) => JSON.stringify(line).includes('"Finished"');
export const metadata = (line: Line) => Object(line.metadata) as Line;

/** Says to the agent that its client has no tools. */
export async function offerNoTools(agent: ReturnType<typeof served>): Promise<void> {
  const asked = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: asked.request_id, response: { subtype: 'error', error: { message: 'none' } } });
}
