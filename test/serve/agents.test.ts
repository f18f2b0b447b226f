import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import type { ChatState, FileSide, InputRequest, ToolCallState } from '../../src/protocols/ahp/state.ts';
import type { AgentHost } from '../../src/serve/host.ts';
import { startService } from '../agent/fakeService.ts';
import { AhpClient } from './ahpClient.ts';
import { folderOf, type Started, started } from './hostProcess.ts';

/* The included agent over every protocol in a host that is a process of its own, as a client of the host sees it. */

const SCRIPT = path.resolve('dist/parley-agent.js');
const TOKEN = 'the-token-of-this-test';

interface Agent {
  readonly protocol: string;
  readonly args: readonly string[];
  /** The tool by which it asks the user questions; absent where it asks for approval only. */
  readonly asksBy?: string;
}
const AGENTS: readonly Agent[] = [
  { protocol: 'kimi-wire', args: ['--wire', '--live-output'], asksBy: 'AskUserQuestion' },
  { protocol: 'acp', args: ['--face', 'acp'], asksBy: 'AskUserQuestion' },
  { protocol: 'a2a', args: ['--face', 'a2a'] },
  { protocol: 'qwen', args: ['--input-format', 'stream-json', '--output-format', 'stream-json'], asksBy: 'AskUserQuestion' },
  { protocol: 'ai-sdk', args: ['--face', 'ai-sdk'], asksBy: 'ask_person' },
];

/** An agent that is reached by its address is started here, in that folder. */
async function addressOf(t: TestContext, args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, [SCRIPT, ...args, '--work-dir', cwd], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...env, PARLEY_AGENT_TOKEN: TOKEN },
  });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return /http:\/\/\S+/.exec(line)?.[0] ?? '';
}

/** The host behind its socket. */
function remote({ address, token }: Started): Pick<AgentHost, 'connect'> {
  return {
    connect: (peer) => {
      const socket = new WebSocket(`${address}/?tkn=${token}`);
      const open = once(socket, 'open');
      const waiting = new Map<number, (answer: { readonly result?: unknown; readonly error?: { readonly message: string } }) => void>();
      let last = 0;
      socket.on('error', () => {});
      socket.on('message', (data) => {
        const { id, method, params, ...answer } = JSON.parse(String(data));
        if (method === undefined) waiting.get(id)?.(answer);
        else peer.notify(method, params);
      });
      const send = async (message: object) => {
        await open;
        socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
      };
      return {
        asked: async (method, params) => {
          last += 1;
          const answered = new Promise<{ readonly result?: unknown; readonly error?: { readonly message: string } }>((resolve) =>
            waiting.set(last, resolve),
          );
          await send({ id: last, method, params });
          const { result, error } = await answered;
          if (error) throw Object.assign(new Error(error.message), error);
          return result;
        },
        notified: (method, params) => send({ method, params }),
        closed: () => socket.terminate(),
      };
    },
  };
}

function callOf(chat: ChatState): ToolCallState | undefined {
  const parts = (chat.activeTurn ?? chat.turns.at(-1))?.responseParts ?? [];
  return parts.findLast((part) => part.kind === 'toolCall')?.toolCall;
}

function questionOf({ activeTurn }: ChatState): InputRequest | undefined {
  const part = activeTurn?.responseParts.findLast((one) => one.kind === 'inputRequest' && one.response === undefined);
  return part?.kind === 'inputRequest' ? part.request : undefined;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

for (const { protocol, args, asksBy } of AGENTS)
  test(`${protocol}: an edit, its changes, a command, a question, a lost connection, Stop and a killed host`, async (t) => {
    const folder = folderOf(t);
    const work = path.join(folder, 'work');
    mkdirSync(work);
    const notes = path.join(work, 'notes.txt');
    writeFileSync(notes, 'Buy ink\n');
    const model = await startService(t, [{ text: 'Nothing more.' }]);
    const env = {
      PARLEY_MODEL_BASE_URL: model.url,
      PARLEY_MODEL_NAME: 'm',
      PARLEY_MODEL_API_KEY: 'k',
      KIMI_SHARE_DIR: path.join(folder, 'home'),
    };
    const reached =
      protocol === 'ai-sdk' ? { url: await addressOf(t, args, work, env), headers: { Authorization: `Bearer ${TOKEN}` } } : undefined;
    const profile = path.join(folder, 'agents.json');
    writeFileSync(
      profile,
      JSON.stringify([{ id: 'one', name: 'One', protocol, ...(reached ?? { command: process.execPath, args: [SCRIPT, ...args], env }) }]),
    );
    const host = await started(t, folder, '--profile', profile);
    const client = new AhpClient(remote(host));
    await client.open();
    const name = '41112222-3333-4444-5555-666677778888';
    const [session, channel] = [`one:/${name}`, `ahp-chat:/${name}`];
    await client.ask('createSession', { channel: session, provider: 'one', workingDirectories: [pathToFileURL(work).href] });
    await client.subscribe(session);
    await client.subscribe(channel);
    const tools = [{ name: 'rename', description: 'Renames', inputSchema: { type: 'object', properties: { to: { type: 'string' } } } }];
    await client.dispatch(session, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', displayName: 'Test', tools } });
    const chat = (one = client) => one.chats.get(channel) as ChatState;
    const says = (turnId: string, text = 'Go', one = client) =>
      one.dispatch(channel, {
        type: 'chat/turnStarted',
        turnId,
        startedAt: new Date(0).toISOString(),
        message: { text, origin: { kind: 'user' } },
      });
    const calls = (tool: string, input: object) => ({
      calls: [{ id: `call_${tool}_${Math.random().toString(36).slice(2)}`, name: tool, input: JSON.stringify(input) }],
    });
    const asked = async () => {
      await until(() => callOf(chat())?.status === 'pending-confirmation');
      const call = callOf(chat());
      assert.ok(call?.status === 'pending-confirmation');
      return call;
    };
    const allow = (turnId: string, toolCallId: string, one = client) =>
      one.dispatch(channel, { type: 'chat/toolCallConfirmed', turnId, toolCallId, approved: true, confirmed: 'user-action' });
    const ends = (turnId: string, one = client) => until(() => chat(one).turns.at(-1)?.id === turnId);
    const text = async (side: FileSide | undefined) =>
      ((await client.ask('resourceRead', { uri: side?.content.uri, encoding: 'utf-8' })) as { readonly data: string }).data;

    await t.test('an edit is asked about with both its texts, and its changes can be taken back', async () => {
      model.next(calls('StrReplaceFile', { path: 'notes.txt', edit: { old: 'ink', new: 'paper' } }), { text: 'Done.' });
      await says('t1');
      const call = await asked();
      const [edit] = call.edits?.items ?? [];
      // Wire tells the lines alone.
      assert.deepEqual([(await text(edit?.before)).trim(), (await text(edit?.after)).trim()], ['Buy ink', 'Buy paper']);
      await allow('t1', call.toolCallId);
      await ends('t1');
      assert.equal(readFileSync(notes, 'utf8'), 'Buy paper\n');
      assert.deepEqual([(await text(edit?.before)).trim(), (await text(edit?.after)).trim()], ['Buy ink', 'Buy paper'], 'after the answer');
      const changes = `${session}/changeset/session`;
      await client.subscribe(changes);
      await until(() => client.changesets.get(changes)?.files.length === 1);
      await client.ask('invokeChangesetOperation', { channel: changes, operationId: 'undo' });
      assert.equal(readFileSync(notes, 'utf8'), 'Buy ink\n');
      await until(() => client.changesets.get(changes)?.files.length === 0);
    });

    await t.test('a command that waits is there after a lost connection, and what it prints is told', async () => {
      model.next(calls('Shell', { command: 'echo from-the-agent' }), { text: 'Ran.' });
      await says('t2');
      const { toolCallId } = await asked();
      client.disconnect();
      assert.equal(await client.reconnect(), true, 'what was missed is told');
      assert.equal((await asked()).toolCallId, toolCallId);
      await allow('t2', toolCallId);
      await ends('t2');
      assert.match(JSON.stringify(callOf(chat())), /from-the-agent\\n/);
    });

    await t.test("a window's tool that changes something is asked about once, and run there", async () => {
      const tool = model.bodies.at(-1)?.tools?.find(({ function: { name } }) => name.endsWith('rename'))?.function.name ?? '';
      assert.notEqual(tool, '', 'the agent has it');
      model.next(calls(tool, { to: 'b.txt' }), { text: 'Renamed.' });
      await says('t7');
      const settled = new Set<string>();
      let questions = 0;
      const needed = () => client.sessions.get(session)?.inputNeeded ?? [];
      for (;;) {
        await until(() => chat().turns.at(-1)?.id === 't7' || needed().some(({ id }) => !settled.has(id)));
        if (chat().turns.at(-1)?.id === 't7') break;
        for (const one of needed()) {
          if (settled.has(one.id)) continue;
          settled.add(one.id);
          if (one.kind === 'toolClientExecution') {
            assert.deepEqual(
              [one.toolCall.toolName, JSON.parse(one.toolCall.status === 'running' ? (one.toolCall.toolInput ?? '') : '')],
              ['rename', { to: 'b.txt' }],
            );
            const result = { success: true, content: [{ type: 'text', text: 'Renamed it' }] };
            await client.dispatch(channel, { type: 'chat/toolCallComplete', turnId: 't7', toolCallId: one.id, result });
          } else {
            questions += 1;
            if (one.kind === 'toolConfirmation') await allow('t7', one.id);
            else {
              const [field] = one.request.questions;
              assert.ok(field?.kind === 'single-select');
              const value = field.options.find(({ label }) => label.startsWith('Allow'))?.id;
              const answers = { [field.id]: { state: 'submitted', value: { kind: 'selected', value } } };
              await client.dispatch(channel, { type: 'chat/inputCompleted', requestId: one.request.id, response: 'accept', answers });
            }
          }
        }
      }
      assert.match(JSON.stringify(model.bodies.at(-1)?.messages.at(-1)), /Renamed it/);
      assert.equal(questions, 1);
    });

    const answered = async (tool: string) => {
      const options = ['Red', 'Blue'];
      const question = {
        question: 'Which?',
        header: 'Pick',
        options: options.map((label) => ({ label, description: '' })),
        multi_select: false,
      };
      // The offered tool of this protocol's client takes one question.
      const input = tool === 'ask_person' ? { question: 'Which?', options } : { questions: [question] };
      model.next(calls(tool, input), { text: 'Chosen.' });
      await says('t3');
      await until(() => questionOf(chat()) !== undefined);
      const other = new AhpClient(remote(host));
      await other.open('window-2', 'Other');
      await other.subscribe(channel);
      const request = questionOf(chat(other));
      const [field] = request?.questions ?? [];
      assert.ok(request && field);
      const answers = { [field.id]: { state: 'submitted', value: { kind: 'selected', value: 'Blue' } } };
      await other.dispatch(channel, { type: 'chat/inputCompleted', requestId: request.id, response: 'accept', answers });
      await ends('t3');
      assert.match(JSON.stringify(model.bodies.at(-1)?.messages.at(-1)), /Blue/);
      other.disconnect();
    };
    if (asksBy !== undefined) await t.test('a question is answered by another client', () => answered(asksBy));

    await t.test('attack: what is allowed right behind a Stop does not run', async () => {
      model.next(calls('Shell', { command: 'touch stopped.txt' }));
      await says('t4');
      const { toolCallId } = await asked();
      const refusals = client.refusals.length;
      await client.dispatch(channel, { type: 'chat/turnCancelled', turnId: 't4', duration: 1 });
      await allow('t4', toolCallId);
      await until(() => client.refusals.length > refusals);
      await ends('t4');
      assert.equal(chat().turns.at(-1)?.state, 'cancelled');
      assert.ok(!existsSync(path.join(work, 'stopped.txt')));
    });

    await t.test('a killed host runs nothing that waited; the next one goes on with the conversation', async () => {
      model.next(calls('Shell', { command: 'touch killed.txt' }));
      await says('t5');
      const { toolCallId } = await asked();
      host.child.kill('SIGKILL');
      await once(host.child, 'exit');
      client.disconnect();
      const again = client.elsewhere(remote(await started(t, folder, '--profile', profile)));
      assert.equal(await again.reconnect(), false, 'its numbers are of another run');
      const turns = chat(again).turns.map(({ id, state }) => [id, state]);
      assert.deepEqual(turns.at(-1), ['t5', 'error']);
      assert.deepEqual(turns.slice(0, 2), [
        ['t1', 'complete'],
        ['t2', 'complete'],
      ]);
      await allow('t5', toolCallId, again);
      model.next({ text: 'Here I am.' });
      await says('t6', 'Still there?', again);
      await ends('t6', again);
      assert.deepEqual([again.refusals.length, chat(again).turns.at(-1)?.state], [1, 'complete']);
      assert.match(JSON.stringify(chat(again).turns.at(-1)?.responseParts), /Here I am/);
      assert.ok(!existsSync(path.join(work, 'killed.txt')));
      again.disconnect();
    });
  });
