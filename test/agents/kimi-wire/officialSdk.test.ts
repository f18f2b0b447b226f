import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { bareEnvironment, newPlace, peerFolder } from '../lab.ts';

/** The part of the SDK's interface that is used here. */
interface SdkEvent {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
interface SdkTurn extends AsyncIterable<SdkEvent> {
  approve(requestId: string, response: string): Promise<void>;
  interrupt(): Promise<void>;
  readonly result: Promise<{ readonly status: string }>;
}
interface SdkSession {
  prompt(text: string): SdkTurn;
  close(): Promise<void>;
  readonly state: string;
  readonly slashCommands?: readonly { readonly name: string }[];
}
interface Sdk {
  createSession(options: object): SdkSession;
  createExternalTool(tool: object): object;
}

/** What comes of one prompt; `answer` decides about approvals, `seen` hears of every event. */
async function ask(session: SdkSession, text: string, answer = 'approve', seen: (event: SdkEvent, turn: SdkTurn) => void = () => {}) {
  const turn = session.prompt(text);
  const types: string[] = [];
  let said = '';
  for await (const event of turn) {
    types.push(event.type);
    seen(event, turn);
    if (event.type === 'ContentPart' && event.payload.type === 'text') said += String(event.payload.text);
    if (event.type === 'ApprovalRequest') await turn.approve(String(event.payload.id), answer);
  }
  return { types, said, status: (await turn.result).status };
}

test('the official SDK holds a whole conversation with parley-agent', { timeout: 120_000 }, async (t) => {
  const place = newPlace('sdk');
  t.after(place.remove);
  const folder = peerFolder('kimi-agent-sdk');
  const load = (file: string): Promise<unknown> => import(pathToFileURL(path.join(folder, file)).href);
  const sdk = (await load('@moonshot-ai/kimi-agent-sdk/dist/index.mjs')) as Sdk;
  const { z } = (await load('zod/index.js')) as { z: typeof import('zod').z };
  const start = path.join(place.home, 'parley-agent');
  writeFileSync(start, `#!/bin/sh\nexec '${process.execPath}' '${path.resolve('dist/parley-agent.js')}' "$@"\n`);
  chmodSync(start, 0o755);

  const opened: unknown[] = [];
  const openInIde = sdk.createExternalTool({
    name: 'open_in_ide',
    description: 'Open a file. Lines are 1-based.',
    parameters: z.object({ path: z.string(), line: z.number().optional() }),
    handler: async (input: unknown) => {
      opened.push(input);
      return { output: 'Opened', message: 'Opened' };
    },
  });
  const session = sdk.createSession({
    workDir: place.cwd,
    sessionId: 'official',
    executable: start,
    env: { ...bareEnvironment(place, {}), KIMI_SHARE_DIR: path.join(place.home, 'share') },
    externalTools: [openInIde],
  });
  t.after(() => session.close());

  const listed = await ask(session, 'list files');
  assert.equal(listed.status, 'finished');
  assert.match(listed.said, /`README\.md`/);

  const config = path.join(place.cwd, 'src', 'config.json');
  const refused = await ask(session, 'replace "sample" with "other" in src/config.json', 'reject');
  assert.ok(refused.types.includes('ApprovalRequest'));
  assert.match(readFileSync(config, 'utf8'), /sample/);
  const edited = await ask(session, 'replace "sample" with "other" in src/config.json');
  assert.equal(edited.status, 'finished');
  assert.match(readFileSync(config, 'utf8'), /"other"/);

  await ask(session, 'open src/config.json at line 2');
  assert.deepEqual(opened, [{ path: 'src/config.json', line: 2 }]);

  const stopped = await ask(session, 'run sleep 600', 'approve', (event, turn) => {
    if (event.type === 'ApprovalResponse') void turn.interrupt();
  });
  assert.equal(stopped.status, 'cancelled');
  assert.match((await ask(session, '/status')).said, /Model: offline guide/);
  assert.ok(session.slashCommands?.some((command) => command.name === 'compact'));
  await session.close();
  assert.equal(session.state, 'closed');
});
