import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suite } from './suite.ts';

const inWindow = suite({ name: 'killed' });

test(
  'an agent killed in the middle of a turn: one clear message, nothing hangs, and a way on',
  inWindow(async ({ window, running }) => {
    const { chat, pick } = window;
    await window.openChat();
    await chat.exchange('read notes.txt');
    await chat.say('run echo never');
    await pick.row('Allow once').waitFor();
    await chat.composer.fill('what I was about to say');
    const agents = running('parley-agent');
    assert.ok(agents.length > 0, 'no agent runs');
    for (const pid of agents) process.kill(pid, 'SIGKILL');

    await pick.gone();
    await chat.settled(chat.lastTurn);
    assert.match((await chat.lastTurn.textContent()) ?? '', /Parley Agent stopped unexpectedly\./, 'why, where it stays');
    assert.doesNotMatch((await chat.lastTurn.textContent()) ?? '', /SIGKILL/, 'without the technical side');
    assert.doesNotMatch((await chat.lastTurn.textContent()) ?? '', /--wire|parley-agent\.js/, 'without its command line');
    assert.equal(await chat.frame.locator('.banner').count(), 0, 'in one place');
    assert.match((await chat.turns.first().textContent()) ?? '', /Buy ink/, 'the transcript is still there');
    assert.equal(await chat.composer.inputValue(), 'what I was about to say');
    await window.statusItem('Ended').waitFor();
    await window.pictures('killed');
    await chat.lastTurn.getByText('Details').click();
    await chat.lastTurn.getByText('killed (SIGKILL)').waitFor();
    await chat.lastTurn.getByRole('button', { name: 'Show Log' }).waitFor();

    // A prompt starts the agent again.
    await chat.composer.fill('');
    const turn = await chat.exchange('read TODO.md');
    assert.match((await turn.textContent()) ?? '', /npm test/);
    await window.pictures('restarted');
  }),
);
