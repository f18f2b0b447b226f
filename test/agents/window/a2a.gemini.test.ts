import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from '../../e2e/suite.ts';
import { startPeer } from '../a2a/peers.ts';
import { inSettings } from './agents.ts';
import { stepsOf } from './person.ts';

const NAME = 'Gemini next door';
const inWindow = suite({
  name: 'agents-gemini-a2a',
  prepare: async (folder) => inSettings(await startPeer({ cwd: folder, script: 'window.json' }), { name: NAME, protocol: 'a2a' }),
});
const step = stepsOf('gemini-a2a', inWindow);

step('it is picked from the settings, started, and keeps the name the user gave it', async (person) => {
  await person.pickAgent(NAME);
  await person.picture('started');
});

step('an edit is changed in the diff before it is allowed', async (person, folder) => {
  const { window } = person;
  const turn = await person.say('Turn debugging on');
  let changed = false;
  const titles = await person.allowAll(turn, async (title) => {
    if (changed || !/config\.json/.test(title) || !title.includes('Edit ')) return;
    changed = true;
    await window.diff.compared();
    await person.picture('edit');
    await window.page.keyboard.press('Escape');
    await window.pick.gone();
    await person.chat.composer.and(person.chat.frame.locator(':focus')).waitFor();
    await window.diff.editor.locator('.editor.modified .view-line', { hasText: '"debug"' }).click();
    await window.diff.editor.locator('.editor.modified .monaco-editor.focused').waitFor();
    await window.page.keyboard.press('End');
    await window.page.keyboard.type(', "level": 3');
    const card = person.chat.ask('config.json');
    await card.getByText('edited by you').waitFor();
    await card.locator('.l[data-s="+"]', { hasText: '"level": 3' }).waitFor();
    await person.picture('changed', ['dark', 'light']);
    await window.command('Parley: Show Pending Approvals');
    await person.asked();
  });
  assert.ok(changed, titles.join(' | '));
  assert.ok(
    titles.every((title) => title.startsWith(`${NAME} · `)),
    titles.join(' | '),
  );
  assert.match(readFileSync(path.join(folder, 'src', 'config.json'), 'utf8'), /"debug": true, "level": 3/);
  assert.ok(existsSync(path.join(folder, 'CHANGES.md')));
  await person.picture('debug', ['dark', 'light', 'contrast']);
});

step('a command of its own runs from the chat', async (person) => {
  const { chat } = person;
  await chat.composer.click();
  await chat.composer.pressSequentially('/mem');
  await chat.menu.filter({ hasText: 'memory' }).first().waitFor();
  await person.picture('slash');
  await chat.composer.fill('');
  const turn = await person.say('/memory show');
  await person.settled(turn);
  await person.picture('memory');
});

step('a command that runs shows what it prints, and stop ends it', async (person) => {
  const { chat } = person;
  const turn = await person.say('Count to twenty');
  await person.asked();
  await person.window.pick.answer('A');
  await turn.locator('.call-running').getByText('of 20').first().waitFor();
  await person.picture('running');
  await chat.stop.click();
  await person.settled(turn);
  assert.equal(await turn.getByText('20 of 20').count(), 0);
  await person.picture('stopped');
});

step('stop, while an approval is open, takes the question away', async (person, folder) => {
  const { window, chat } = person;
  const turn = await person.say('Clear the build folder');
  await person.asked();
  await window.command('Parley: Stop');
  await person.settled(turn);
  await window.pick.gone();
  assert.equal(await chat.frame.locator('[data-ask]').count(), 0);
  assert.equal(existsSync(path.join(folder, 'build')), false);
});

step('after a reload of the window the conversation goes on', async (person) => {
  const { chat } = person;
  await person.reload();
  await chat.frame.locator('.agent', { hasText: NAME }).waitFor();
  const turn = await person.say('Explain how notes are stored');
  await person.settled(turn);
  await turn.getByText('How notes are stored').first().waitFor();
  await person.picture('reloaded');
});
