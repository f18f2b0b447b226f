import assert from 'node:assert/strict';
import { suite } from '../../e2e/suite.ts';
import { startPeer } from '../qwen/peers.ts';
import { inSettings } from './agents.ts';
import { stepsOf } from './person.ts';

const LABEL = 'My Claude';
const inWindow = suite({
  name: 'agents-claude-code-branch',
  prepare: async (folder) =>
    inSettings(await startPeer('claude-code', { cwd: folder, script: 'window.json' }), { name: LABEL, protocol: 'qwen' }),
});
const step = stepsOf('claude-code-branch', inWindow);

step('an earlier message is edited in a copy of the session, which stays as it is', async (person) => {
  const { chat } = person;
  await person.pickAgent(LABEL);
  await person.settled(await person.say('hello one'));
  await person.settled(await person.say('Explain how notes are stored'));
  await person.settled(await person.say('hello three'));
  const second = chat.turns.nth(1);
  await second.hover();
  await person.picture('before');
  await second.getByRole('button', { name: 'Edit this message in a copy of this session' }).click();
  await chat.frame.getByText('Sending this takes back everything after the message you edit.').waitFor();
  await person.picture('branch', ['dark', 'light']);
  assert.equal(await chat.composer.inputValue(), 'Explain how notes are stored');
  await chat.composer.fill('hello instead');
  await chat.composer.press('Enter');
  await chat.turns.getByText('hello instead').waitFor();
  await chat.frame.getByText('Explain how notes are stored').waitFor({ state: 'detached' });
  await person.settled(chat.turns.last());
  await person.picture('sent', ['dark', 'light']);
  assert.equal(await chat.turns.count(), 2);
  assert.match((await chat.turns.first().textContent()) ?? '', /hello one/);
  await chat.frame.locator('.title-button').click();
  const original = chat.frame.getByRole('button', { name: /^hello one/ });
  await original.waitFor();
  await person.picture('list');
  await original.click();
  await chat.turns.getByText('Explain how notes are stored').waitFor();
  assert.equal(await chat.turns.count(), 3);
});
