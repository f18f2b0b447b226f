import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import { reduceChat, reduceSession } from '../../src/protocols/ahp/reduce.ts';
import type { ChatAction, ChatState, SessionAction, SessionState } from '../../src/protocols/ahp/state.ts';
import { folderOf, type Started, started } from './hostProcess.ts';

/* A window of VS Code 1.139, recorded: an edit and a command that were allowed, a Stop that is followed by the allowance of what waited, and the
   window again after a reload. `sends` is its frame as it was; `hears` is what it had heard before the next one. */

type Step =
  | { readonly window: number; readonly opens: true }
  | { readonly window: number; readonly closes: true }
  | { readonly window: number; readonly sends: object }
  | { readonly window: number; readonly hears: string; readonly id?: number; readonly call?: string };

interface Frame {
  readonly id?: number;
  readonly result?: { readonly snapshot?: Snapshot; readonly snapshots?: readonly Snapshot[]; readonly items?: readonly object[] } | null;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: {
    readonly channel: string;
    readonly action?: { readonly type: string; readonly request?: { readonly id: string } };
    readonly rejectionReason?: string;
  };
}
interface Snapshot {
  readonly resource: string;
  readonly state: unknown;
}

/** What one window has heard, and the states it holds by snapshots and actions. */
class Window {
  readonly heard: Frame[] = [];
  readonly states = new Map<string, unknown>();
  #wake = () => {};

  readonly socket: WebSocket;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      this.#take(JSON.parse(String(data)) as Frame);
      this.#wake();
    });
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  count(kind: string): number {
    return this.heard.filter((frame) => kindOf(frame) === kind).length;
  }

  #take(frame: Frame): void {
    this.heard.push(frame);
    const { result, params } = frame;
    for (const { resource, state } of [...(result?.snapshots ?? []), ...(result?.snapshot ? [result.snapshot] : [])])
      this.states.set(resource, state);
    if (!params?.action || params.rejectionReason !== undefined) return;
    const held = this.states.get(params.channel);
    if (held === undefined) return;
    this.states.set(
      params.channel,
      params.channel.startsWith('ahp-chat:')
        ? reduceChat(held as ChatState, params.action as ChatAction)
        : reduceSession(held as SessionState, params.action as SessionAction),
    );
  }
}

/** Title and time of a chat are told on the channel of its session. */
function told(chat: unknown): object {
  return { ...(chat as ChatState), title: '', modifiedAt: '' };
}

function kindOf({ id, method, params }: Frame): string {
  if (id !== undefined) return 'answer';
  if (params?.rejectionReason !== undefined) return 'refusal';
  return params?.action?.type ?? method ?? '';
}

/** Plays the recording with the folder and the ids of calls that this host has. */
async function played(t: TestContext, { address, token }: Started, folder: string): Promise<readonly Window[]> {
  const windows: Window[] = [];
  const awaited = new Map<string, number>();
  const names = new Map([['file:///ws', pathToFileURL(folder).href]]);
  const asked: string[] = [];
  const lines = readFileSync('test/serve/fixtures/window.jsonl', 'utf8').trim().split('\n');
  for (const line of lines) {
    const step = JSON.parse(line) as Step;
    const window = windows[step.window - 1];
    if ('opens' in step) {
      const socket = new WebSocket(`${address}/?tkn=${token}`);
      t.after(() => socket.terminate());
      await once(socket, 'open');
      windows.push(new Window(socket));
      continue;
    }
    assert.ok(window);
    if ('closes' in step) window.socket.close();
    else if ('sends' in step)
      window.socket.send([...names].reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(step.sends)));
    else if (step.id !== undefined) await window.until(() => window.heard.some(({ id }) => id === step.id));
    else {
      const key = `${step.window} ${step.hears}`;
      const count = (awaited.get(key) ?? 0) + 1;
      awaited.set(key, count);
      await window.until(() => window.count(step.hears) >= count);
      if (step.call === undefined) continue;
      asked.push(step.call);
      const requests = window.heard.flatMap(({ params }) => params?.action?.request ?? []);
      names.set(step.call, requests[asked.length - 1]?.id ?? '');
    }
  }
  return windows;
}

test('a recorded window of VS Code: what it allowed is done, what it allows behind a Stop is not, and after a reload it finds what there was', async (t) => {
  const folder = folderOf(t);
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'src/main.ts'), 'export const answer = 41;\n');
  const profiles = path.join(folder, 'profiles.json');
  const agent = {
    id: 'wire',
    name: 'Parley Wire',
    protocol: 'kimi-wire',
    command: process.execPath,
    args: [path.resolve('dist/parley-agent.js'), '--wire'],
  };
  writeFileSync(profiles, JSON.stringify([agent]));
  const host = await started(t, folder, '--profile', profiles);
  const [first, second] = await played(t, host, folder);
  assert.ok(first && second);
  assert.equal(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), 'export const answer = 42;\n');
  assert.ok(!existsSync(path.join(folder, 'stopped.txt')));
  assert.deepEqual(
    first.heard.flatMap(({ error }) => error?.message ?? []),
    [],
  );
  const chat = [...first.states].find(([resource, state]) => resource.startsWith('ahp-chat:') && (state as ChatState).turns.length > 0);
  assert.ok(chat);
  const looked = new WebSocket(`${host.address}/?tkn=${host.token}`);
  t.after(() => looked.terminate());
  await once(looked, 'open');
  const third = new Window(looked);
  looked.send(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { channel: 'ahp-root://', protocolVersions: ['0.9.0'], clientId: 'x' },
    }),
  );
  looked.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'subscribe', params: { channel: chat[0] } }));
  await third.until(() => third.states.has(chat[0]));
  assert.deepEqual(told(third.states.get(chat[0])), told(chat[1]), 'snapshot and actions are the state');
  assert.deepEqual(
    (chat[1] as ChatState).turns.map(({ state }) => state),
    ['complete', 'complete', 'cancelled'],
  );
  const listed = second.heard.flatMap(({ result }) => result?.items ?? []) as { readonly title: string }[];
  assert.deepEqual(
    listed.map(({ title }) => title),
    ['replace "41" with "42" in src/main.ts'],
  );
});
