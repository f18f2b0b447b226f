import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suite } from './suite.ts';

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
    await window.openChat();
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
    await window.command('Parley: Stop Agent Host');
    await window.statusItem('Ended').waitFor();
  }),
);
