import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Locator } from 'playwright-core';
import { WebSocket } from 'ws';
import { type RunningHost, runningHost } from '../../src/live/hostProcess.ts';
import { Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const inWindow = suite({
  name: 'hosted',
  prepare: async () => ({
    machineSettings: { 'parley.agentHost.newSessions': true },
    agents: 'parley-agent',
    end: async () => {},
  }),
});

test(
  'a session in the agent host goes on while the window is closed, is in the list, and is answered when it is back',
  inWindow(async ({ window, running }) => {
    const { chat, pick } = window;
    await window.openChat();
    const turn = await chat.exchange('read notes.txt');
    assert.match((await turn.textContent()) ?? '', /Buy ink/);
    assert.equal(running('parley.js').length, 1, 'one host runs');
    await chat.say('run echo from-the-host');
    await pick.row('Allow once').waitFor();
    await window.pictures('hosted-asked');
    await window.reload();
    // Not by the palette: the chat comes back by itself, and the palette would close the pick.
    await chat.composer.waitFor();
    await pick.row('Allow once').waitFor();
    assert.match((await chat.turns.first().textContent()) ?? '', /Buy ink/, 'the transcript is there');
    await pick.answer('A');
    await chat.settled(chat.lastTurn);
    assert.match((await chat.lastTurn.textContent()) ?? '', /from-the-host/);
    await window.pictures('hosted-after-reload');

    await window.command('Parley: New Session');
    await chat.turns.first().waitFor({ state: 'detached' });
    await chat.exchange('read TODO.md');
    await chat.frame.locator('.title-button').click();
    await chat.frame.locator('.session-title', { hasText: 'read notes.txt' }).waitFor();
    await window.pictures('hosted-sessions');
    await chat.frame.locator('.search').press('Escape');
  }),
);

/** Another client of the window's agent host, as VS Code's own chat is one. */
async function otherClient(data: string) {
  const host = runningHost(data);
  assert.ok(host);
  return clientOf(host);
}

async function clientOf(host: Pick<RunningHost, 'address' | 'token'>) {
  const socket = new WebSocket(`${host.address}/?tkn=${host.token}`);
  await once(socket, 'open');
  const actions: { readonly type: string; readonly turnId?: string; readonly [other: string]: unknown }[] = [];
  const answers = new Map<number, { readonly result?: unknown }>();
  let heard = 0;
  const wakers = new Set<() => void>();
  const wake = () => {
    heard += 1;
    for (const one of wakers) one();
    wakers.clear();
  };
  socket.on('message', (data) => {
    const said = JSON.parse(String(data)) as {
      readonly id?: number;
      readonly result?: unknown;
      readonly params?: { readonly action?: (typeof actions)[number] };
    };
    if (said.id !== undefined) answers.set(said.id, said);
    if (said.params?.action) actions.push(said.params.action);
    wake();
  });
  const send = (message: object) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  let id = 0;
  const ask = async (method: string, params: object = {}): Promise<unknown> => {
    id += 1;
    const mine = id;
    send({ id: mine, method, params: { channel: 'ahp-root://', ...params } });
    while (!answers.has(mine)) await new Promise<void>((resolve) => wakers.add(resolve));
    return answers.get(mine)?.result;
  };
  interface Listed {
    readonly items: readonly { readonly title: string; readonly resource: string }[];
  }
  const titles = async () => ((await ask('listSessions')) as Listed).items.map(({ title }) => title);
  /** Follows the chat of the session of that title. */
  const follow = async (title: string) => {
    const listed = ((await ask('listSessions')) as Listed).items.find((one) => one.title === title);
    const chat = `ahp-chat:/${listed?.resource.split('/')[1]}`;
    return { chat, shown: (await ask('subscribe', { channel: chat })) as { readonly snapshot: { readonly state: unknown } } };
  };
  const done = async (type: string, turnId: string) => {
    while (!actions.some((one) => one.type === type && one.turnId === turnId)) await new Promise<void>((resolve) => wakers.add(resolve));
  };
  /** Waits until the host lists a session of that title, or none: asks again whenever the host has told of its sessions. */
  const lists = async (title: string, isThere = true) => {
    for (;;) {
      const before = heard + 1;
      if ((await titles()).includes(title) === isThere) return;
      if (heard === before) await new Promise<void>((resolve) => wakers.add(resolve));
    }
  };
  return { ask, lists, follow, done, tell: (params: object) => send({ method: 'dispatchAction', params }), end: () => socket.terminate() };
}

test(
  'a session that another client began in the host is renamed and deleted in the list before it is opened',
  inWindow(async ({ window, folder, storage }) => {
    const { chat, page } = window;
    const other = await otherClient(path.join(storage, 'host'));
    const root = (await other.ask('initialize', {
      protocolVersions: ['0.9.0'],
      clientId: 'other',
      initialSubscriptions: ['ahp-root://'],
    })) as { readonly snapshots: readonly { readonly state: { readonly agents: readonly { readonly provider: string }[] } }[] };
    const provider = root.snapshots[0]?.state.agents[0]?.provider ?? '';
    const name = '0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
    await other.ask('createSession', { channel: `${provider}:/${name}`, provider, workingDirectories: [pathToFileURL(folder).href] });
    const message = { text: 'look at package.json', origin: { kind: 'user' } };
    const action = { type: 'chat/turnStarted', turnId: 't1', startedAt: new Date().toISOString(), message };
    other.tell({ channel: `ahp-chat:/${name}`, clientSeq: 1, action });
    await other.lists('look at package.json');

    const list = chat.frame.locator('.title-button');
    const line = (title: string) => chat.frame.locator('.session-line', { has: chat.frame.locator('.session-title', { hasText: title }) });
    await list.click();
    await line('look at package.json').hover();
    await chat.frame.getByRole('button', { name: 'Rename Session: look at package.json' }).click();
    const field = chat.frame.getByRole('textbox', { name: 'Rename Session' });
    await field.fill('From elsewhere');
    await field.press('Enter');
    await line('From elsewhere').waitFor();
    await other.lists('From elsewhere');
    await window.pictures('hosted-renamed');

    await line('From elsewhere').hover();
    await chat.frame.getByRole('button', { name: 'Delete: From elsewhere' }).click();
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('removes it from every window').waitFor();
    await window.pictures('hosted-delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await line('From elsewhere').waitFor({ state: 'detached' });
    await other.lists('From elsewhere', false);
    other.end();
    await chat.frame.locator('.search').press('Escape');
    await window.command('Parley: Stop Agent Host');
    await window.statusItem('Ended').waitFor();
  }),
);

test(
  'two clients: what one answers is over for the other, and a prompt says who sent it',
  inWindow(async ({ window, storage }) => {
    const { chat, pick } = window;
    await window.command('Parley: New Session');
    await chat.turns.first().waitFor({ state: 'detached' });
    await chat.say('run echo by-the-phone');
    await pick.row('Allow once').waitFor();
    const phone = await otherClient(path.join(storage, 'host'));
    await phone.ask('initialize', { protocolVersions: ['1.0.0'], clientId: 'phone', clientInfo: { name: 'Phone' } });
    const { chat: channel, shown } = await phone.follow('run echo by-the-phone');
    const { activeTurn } = shown.snapshot.state as {
      readonly activeTurn: {
        readonly id: string;
        readonly responseParts: readonly { readonly toolCall?: { readonly toolCallId: string } }[];
      };
    };
    const toolCallId = activeTurn.responseParts.flatMap(({ toolCall }) => toolCall ?? [])[0]?.toolCallId;
    const confirmed = { type: 'chat/toolCallConfirmed', turnId: activeTurn.id, toolCallId, approved: true, confirmed: 'user-action' };
    phone.tell({ channel, clientSeq: 1, action: confirmed });
    await pick.row('Allow once').waitFor({ state: 'detached' });
    await chat.settled(chat.lastTurn);
    assert.match((await chat.lastTurn.textContent()) ?? '', /by-the-phone/);
    assert.equal(await chat.lastTurn.locator('.sender').count(), 0, 'the window sent this one');

    const message = { text: 'run echo asked-by-phone', origin: { kind: 'user' } };
    const action = { type: 'chat/turnStarted', turnId: 'p1', startedAt: new Date().toISOString(), message };
    phone.tell({ channel, clientSeq: 2, action });
    await chat.frame.locator('.sender', { hasText: 'Phone' }).waitFor();
    await pick.row('Allow once').waitFor();
    await window.pictures('hosted-two-clients');
    await pick.answer('A');
    await phone.done('chat/toolCallConfirmed', 'p1');
    await phone.done('chat/turnComplete', 'p1');
    phone.end();
  }),
);

test(
  'a killed host takes nothing along: what waited runs never, and the session goes on in the next host',
  inWindow(async ({ window, folder, storage, running }) => {
    const { chat, pick } = window;
    await chat.say('run touch killed.txt');
    await pick.row('Allow once').waitFor();
    const host = runningHost(path.join(storage, 'host'));
    assert.ok(host);
    process.kill(host.pid, 'SIGKILL');
    await until(() => running('parley.js').length === 0, 'the host is gone');
    const connection = chat.frame.getByRole('region', { name: 'Connection' });
    await connection.getByText('The connection was lost.').waitFor();
    await pick.title.filter({ hasText: 'Trying again' }).waitFor();
    await window.pictures('hosted-killed');
    await pick.answer('A');
    await connection.getByText('Your answer has not been sent yet.').waitFor();
    await window.pictures('hosted-killed-answered');
    await connection.getByRole('button', { name: 'Restart Agent' }).click();
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('The connection was lost.').waitFor();
    assert.doesNotMatch((await chat.lastTurn.textContent()) ?? '', /You restarted/);
    await window.pictures('hosted-started-again');
    const turn = await chat.exchange('read notes.txt');
    assert.match((await turn.textContent()) ?? '', /Buy ink/);
    assert.match((await chat.turns.first().textContent()) ?? '', /by-the-phone/, 'the transcript is there');
    assert.ok(!existsSync(path.join(folder, 'killed.txt')));
    await window.command('Parley: Stop Agent Host');
    await until(() => running('parley.js').length === 0, 'the host is stopped');
  }),
);

test(
  'a second window shows a session that the first has open, and what it changed; what another session changes after a restart of the host stays with that one',
  inWindow(async ({ window: first, folder, storage, running }) => {
    await first.openChat();
    await first.command('Parley: New Session');
    await first.chat.turns.first().waitFor({ state: 'detached' });
    await first.chat.exchange('find countTags');
    await first.chat.say('replace "Hello" with "Welcome" in src/main.ts');
    await first.pick.row('Allow once').waitFor();
    await first.pick.answer('A');
    await first.chat.lastTurn.getByText('1 file changed').waitFor();
    await first.chat.say('create file blank.md');
    await first.pick.row('Allow once').waitFor();
    await first.pick.answer('A');
    await first.chat.lastTurn.getByText('1 file changed').waitFor();

    const page = await first.page.context().newPage();
    await page.goto(first.page.url(), { waitUntil: 'domcontentloaded' });
    const second = new Window(page);
    await second.ready();
    await second.openChat();
    await second.chat.openSession('find countTags');
    const [searched, edited] = [second.chat.turns.nth(0), second.chat.turns.nth(1)];
    await edited.getByText('1 file changed').waitFor();
    await edited.getByRole('button', { name: 'Keep: src/main.ts' }).waitFor();
    assert.equal(await searched.locator('.changes').count(), 0);
    const made = second.chat.turns.nth(2);
    await made.getByRole('button', { name: 'Keep: blank.md' }).waitFor();
    await made.getByRole('button', { name: 'Undo: blank.md' }).click();
    await made.getByRole('button', { name: 'Undo', exact: true }).click();
    await made.getByText('Undone').waitFor();
    assert.ok(!existsSync(path.join(folder, 'blank.md')));
    await searched.locator('.sender', { hasText: /^Parley$/ }).waitFor();
    const told = await second.chat.exchange('read notes.txt');
    assert.equal(await told.locator('.sender').count(), 0);
    await first.chat.turns
      .nth(3)
      .locator('.sender', { hasText: /^Parley 2$/ })
      .waitFor();
    assert.equal(await first.chat.turns.nth(0).locator('.sender').count(), 0);
    for (const { chat } of [first, second]) {
      await chat.frame.locator('.title-button').click();
      const lines = chat.frame.locator('.session-title', { hasText: 'find countTags' });
      await lines.first().waitFor();
      assert.equal(await lines.count(), 1, 'one line, also for the session that both windows have open');
      await chat.frame.locator('.search').press('Escape');
    }
    await second.pictures('hosted-second-window');

    const host = runningHost(path.join(storage, 'host'));
    assert.ok(host);
    process.kill(host.pid, 'SIGKILL');
    await until(() => running('parley.js').length === 0, 'the host is gone');
    await second.command('Parley: Start Agent Host');
    await until(() => running('parley.js').length === 1, 'the host runs again');
    await second.command('Parley: New Session');
    await second.chat.turns.first().waitFor({ state: 'detached' });
    await second.chat.say('replace "ink" with "pens" in notes.txt');
    await second.pick.row('Allow once').waitFor();
    await second.pick.answer('A');
    await second.chat.lastTurn.getByText('1 file changed').waitFor();

    await page.bringToFront();
    await first.page.bringToFront();
    await first.chat.exchange('read TODO.md');
    // What another session has changed may be named as changed between prompts, never as what this one has changed.
    const own = (turn: Locator) => turn.locator('.changes').filter({ hasText: /\d files? changed/ });
    const changes = await Promise.all((await first.chat.turns.all()).map((turn) => own(turn).allTextContents()));
    assert.deepEqual(
      changes.map((all) => all.length),
      [0, 1, 1, 0, 0],
    );
    assert.match(changes[1]?.[0] ?? '', /main\.ts/);
    await first.pictures('hosted-after-restart');

    await page.bringToFront();
    await second.chat.openSession('find countTags');
    await edited.getByRole('button', { name: 'Undo: src/main.ts' }).click();
    await edited.getByRole('button', { name: 'Undo', exact: true }).click();
    await edited.getByText('Undone').waitFor();
    assert.match(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), /'Hello from/);
    await page.close();
    await first.command('Parley: Stop Agent Host');
    await until(() => running('parley.js').length === 0, 'the host is stopped');
  }),
);

test(
  'a host whose agent works is stopped after asking, and the view says so at once',
  inWindow(async ({ window, folder, running }) => {
    const { chat, pick, page } = window;
    await window.openChat();
    await window.command('Parley: New Session');
    await chat.turns.first().waitFor({ state: 'detached' });
    await chat.say('run sleep 600; echo on > halted.txt');
    await pick.row('Allow once').waitFor();
    await pick.answer('A');
    await chat.lastTurn.getByText('Running').first().waitFor();
    await window.command('Parley: Stop Agent Host');
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('Their turns end').waitFor();
    await window.pictures('hosted-stop');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(running('parley.js').length, 1, 'it goes on');
    await window.command('Parley: Stop Agent Host');
    await dialog.getByRole('button', { name: 'Stop', exact: true }).click();
    await chat.lastTurn.getByText('The agent host was stopped.').waitFor();
    await chat.settled(chat.lastTurn);
    await window.pictures('hosted-stopped');
    await until(() => running('parley.js').length === 0, 'the host is stopped');
    assert.ok(!existsSync(path.join(folder, 'halted.txt')));
    const turn = await chat.exchange('read notes.txt');
    assert.match((await turn.textContent()) ?? '', /Call the printer/, 'the next prompt starts it again');
    await window.command('Parley: Stop Agent Host');
    await until(() => running('parley.js').length === 0, 'the host is stopped again');
  }),
);

test(
  "the host is started by its command; where VS Code's chat cannot be connected from, it is said what to do",
  inWindow(async ({ window, storage, running }) => {
    const stopped = window.chat.frame.getByRole('region', { name: 'Connection' }).getByText('The agent host was stopped.');
    await stopped.waitFor();
    await window.command('Parley: Start Agent Host');
    await stopped.waitFor({ state: 'detached' });
    await window.command('Notifications: Show Notifications');
    await window.notification('The agent host was started at').waitFor();
    assert.equal(running('parley.js').length, 1);
    await window.command("Parley: Connect VS Code's Chat");
    // The workbench of the tests does not know the setting.
    await window.command('Notifications: Show Notifications');
    const missing = window.notification('This window has no setting chat.remoteAgentHosts');
    await missing.waitFor();
    const options = /--agent-host-bridge-port \d+ --agent-host-bridge-connection-token /;
    const shown = (await missing.textContent()) ?? '';
    assert.match(shown, new RegExp(`${options.source}…`));
    const host = runningHost(path.join(storage, 'host'));
    assert.ok(host && !shown.includes(host.token));
    await window.pictures('hosted-connect');
    await window.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await missing.getByRole('button', { name: 'Copy' }).click();
    await missing.waitFor({ state: 'detached' });
    const copied = () => window.page.evaluate<string>('navigator.clipboard.readText()');
    await until(async () => options.test(await copied()), 'the options are copied');
    assert.ok((await copied()).endsWith(host.token), 'with the token, which is shown nowhere');
    await window.command('Parley: Stop Agent Host');
    await until(() => running('parley.js').length === 0, 'the host is gone');
  }),
);

test(
  'a host that was started by hand is found: its session is in the list, asks here, and is answered here',
  inWindow(async ({ window, folder, home, running }) => {
    const { chat, pick } = window;
    const child = spawn(process.execPath, [path.resolve('dist/parley.js'), 'serve', '--data', path.join(home, 'by-hand')], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, HOME: home, USERPROFILE: home },
    });
    try {
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const other = await clientOf(JSON.parse(line) as RunningHost);
      await other.ask('initialize', { protocolVersions: ['1.0.0'], clientId: 'other', initialSubscriptions: ['ahp-root://'] });
      const name = '2f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
      const session = { channel: `parley-agent:/${name}`, provider: 'parley-agent', workingDirectories: [pathToFileURL(folder).href] };
      await other.ask('createSession', session);
      const message = { text: 'run echo started-by-hand', origin: { kind: 'user' } };
      const action = { type: 'chat/turnStarted', turnId: 't1', startedAt: new Date().toISOString(), message };
      other.tell({ channel: `ahp-chat:/${name}`, clientSeq: 1, action });
      await other.lists('run echo started-by-hand');
      assert.equal(running('parley.js').length, 0, 'the window has no host of its own');
      await chat.frame.locator('.title-button').click();
      await chat.frame.locator('.session-title', { hasText: 'run echo started-by-hand' }).click();
      await pick.row('Allow once').waitFor();
      await window.pictures('hosted-by-hand');
      await pick.answer('A');
      await chat.settled(chat.lastTurn);
      assert.match((await chat.lastTurn.textContent()) ?? '', /started-by-hand/);
      other.end();
    } finally {
      child.kill('SIGKILL');
    }
  }),
);
