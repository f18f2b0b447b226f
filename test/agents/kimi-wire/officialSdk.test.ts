import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { startService } from '../../agent/fakeService.ts';
import { bareEnvironment, newPlace, type Place, peerFolder, type Undo, undoAtEnd } from '../lab.ts';

/** The part of the SDK's interface that is used here. */
interface SdkEvent {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
interface SdkTurn extends AsyncIterable<SdkEvent> {
  approve(requestId: string, response: string): Promise<void>;
  interrupt(): Promise<void>;
  respondQuestion(rpcRequestId: string, requestId: string, answers: Readonly<Record<string, string>>): Promise<void>;
  steer(text: string): Promise<void>;
  readonly result: Promise<{ readonly status: string }>;
}
interface SdkSession {
  prompt(text: string): SdkTurn;
  setPlanMode(enabled: boolean): Promise<boolean>;
  close(): Promise<void>;
  readonly state: string;
  readonly slashCommands?: readonly { readonly name: string }[];
}
interface Sdk {
  createSession(options: object): SdkSession;
  createExternalTool(tool: object): object;
}

interface Staged {
  readonly sdk: Sdk;
  readonly z: typeof import('zod').z;
  readonly place: Place;
  /** A program that starts parley-agent. */
  readonly executable: string;
  readonly undo: Undo;
}

async function stage(t: TestContext): Promise<Staged> {
  const place = newPlace('sdk');
  const undo = undoAtEnd(t);
  undo(place.remove);
  const folder = peerFolder('kimi-agent-sdk');
  const load = (file: string): Promise<unknown> => import(pathToFileURL(path.join(folder, file)).href);
  const sdk = (await load('@moonshot-ai/kimi-agent-sdk/dist/index.mjs')) as Sdk;
  const { z } = (await load('zod/index.js')) as { z: typeof import('zod').z };
  const executable = path.join(place.home, 'parley-agent');
  writeFileSync(executable, `#!/bin/sh\nexec '${process.execPath}' '${path.resolve('dist/parley-agent.js')}' "$@"\n`);
  chmodSync(executable, 0o755);
  return { sdk, z, place, executable, undo };
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
  const { sdk, z, place, executable, undo } = await stage(t);
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
    executable,
    env: { ...bareEnvironment(place, {}), KIMI_SHARE_DIR: path.join(place.home, 'share') },
    externalTools: [openInIde],
  });
  undo(() => session.close());

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

test('the official SDK: questions, plan mode, a word into the turn, sub-agents, and the same session again', {
  timeout: 120_000,
}, async (t) => {
  const { sdk, place, executable, undo } = await stage(t);
  const call = (name: string, input: object) => ({ calls: [{ name, input: JSON.stringify(input) }] });
  const service = await startService(t, [{ text: 'Fine.' }]);
  const env = {
    ...bareEnvironment(place, {}),
    KIMI_SHARE_DIR: path.join(place.home, 'share'),
    PARLEY_MODEL_BASE_URL: service.url,
    PARLEY_MODEL_NAME: 'fake',
  };
  const open = () => sdk.createSession({ workDir: place.cwd, sessionId: 'again', executable, env });
  const session = open();
  undo(() => session.close());
  const last = (): string => JSON.stringify(service.bodies.at(-1)?.messages.at(-1));

  const questions = [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }];
  service.next(call('AskUserQuestion', { questions }), { text: 'You chose.' });
  const answered = await ask(session, 'ask me', 'approve', ({ type, payload }, turn) => {
    if (type === 'QuestionRequest') void turn.respondQuestion(String(payload.id), String(payload.id), { 'Which?': 'B' });
  });
  assert.deepEqual([answered.status, answered.said], ['finished', 'You chose.']);
  assert.match(service.bodies.map((body) => JSON.stringify(body.messages)).join(), /Which\?.{1,8}: .{1,4}B/);

  assert.equal(await session.setPlanMode(true), true);
  service.next(call('ExitPlanMode', { plan: '# Plan' }), { text: 'Off I go.' });
  const planned = await ask(session, 'plan it', 'approve', ({ type, payload }, turn) => {
    // It does not know PlanDisplay and tells of it as an error without a payload.
    const [item] = (payload?.questions ?? []) as readonly { readonly question: string }[];
    if (type === 'QuestionRequest' && item)
      void turn.respondQuestion(String(payload.id), String(payload.id), { [item.question]: 'Approve' });
  });
  assert.ok(planned.types.includes('QuestionRequest') && planned.said.includes('Off I go.'), planned.types.join());

  service.next(call('WriteFile', { path: 'steered.txt', content: 'x' }), { text: 'Both.' });
  const steered = await ask(session, 'write it', 'approve', ({ type }, turn) => {
    if (type === 'ApprovalRequest') void turn.steer('and say so');
  });
  assert.equal(steered.status, 'finished');
  assert.match(service.bodies.map((body) => JSON.stringify(body.messages)).join(), /and say so/);

  service.when('Look around', call('WriteFile', { path: 'sub.txt', content: 'x' }), { text: 'The report.' });
  service.next(call('Agent', { description: 'look', prompt: 'Look around' }), { text: 'It reported.' });
  const delegated = await ask(session, 'delegate');
  assert.ok(delegated.types.includes('SubagentEvent') && delegated.types.includes('ApprovalRequest'), delegated.types.join());
  assert.equal(readFileSync(path.join(place.cwd, 'sub.txt'), 'utf8'), 'x');
  await session.close();

  const resumed = open();
  undo(() => resumed.close());
  assert.equal((await ask(resumed, 'and now?')).status, 'finished');
  assert.match(JSON.stringify(service.bodies.at(-1)?.messages), /ask me.*delegate.*and now\?/);
  assert.match(last(), /and now/);
});
