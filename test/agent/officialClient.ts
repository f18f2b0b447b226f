import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import {
  type ClientContext,
  type ContentBlock,
  type CreateTerminalRequest,
  client,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionNotification,
} from '@agentclientprotocol/sdk';

export interface Seen {
  readonly updates: SessionNotification[];
  readonly asked: string[];
  /** What a permission is answered; by default it is rejected. */
  answer?: string;
  onPermission?: (request: RequestPermissionRequest) => Promise<void> | void;
}
/** A client's terminals: without them it has none. */
export interface Terminals {
  create(request: CreateTerminalRequest): Promise<string> | string;
  output(): Promise<string> | string;
  waitForExit(): Promise<{ exitCode?: number; signal?: string }>;
  kill(): Promise<void> | void;
  release(): void;
}
export interface Driven {
  readonly terminals?: Terminals;
  /** Where sessions are kept; by default in the folder itself. */
  readonly home?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Further arguments of the agent. */
  readonly args?: readonly string[];
}

/** The built agent, driven by the official client. */
export async function withAgent(
  t: TestContext,
  cwd: string,
  talk: (agent: ClientContext, seen: Seen) => Promise<void>,
  { terminals, home = path.join(cwd, '.home'), env, args = [] }: Driven = {},
): Promise<void> {
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), '--protocol', 'acp', ...args], {
    cwd,
    env: { ...process.env, PARLEY_MODEL_BASE_URL: '', PARLEY_MODEL_NAME: '', KIMI_SHARE_DIR: home, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  const seen: Seen = { updates: [], asked: [] };
  const none = () => Promise.reject(new Error('no terminals'));
  await client({ name: 'test' })
    .onNotification(methods.client.session.update, ({ params }) => void seen.updates.push(params))
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      seen.asked.push(params.toolCall.title ?? '');
      await seen.onPermission?.(params);
      return { outcome: { outcome: 'selected', optionId: seen.answer ?? 'reject' } };
    })
    .onRequest(methods.client.terminal.create, async ({ params }) => ({ terminalId: (await terminals?.create(params)) ?? '' }))
    .onRequest(methods.client.terminal.output, async () => ({ output: (await terminals?.output()) ?? '', truncated: false }))
    .onRequest(methods.client.terminal.waitForExit, () => terminals?.waitForExit() ?? none())
    .onRequest(methods.client.terminal.kill, async () => {
      await terminals?.kill();
      return {};
    })
    .onRequest(methods.client.terminal.release, () => {
      terminals?.release();
      return {};
    })
    .connectWith(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
      ),
      async (agent) => {
        await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: { terminal: terminals !== undefined } });
        await talk(agent, seen);
      },
    );
}

export function say(agent: ClientContext, sessionId: string, prompt: string | ContentBlock[]) {
  const blocks = typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt;
  return agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
}
