import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from '../../e2e/suite.ts';
import { type PeerName, startPeer } from '../qwen/peers.ts';
import { inSettings } from './agents.ts';
import { stepsOf } from './person.ts';

/** A user's day with one of the two agents of this protocol in the real workbench; `label` is what the user calls it in the settings. */
export function qwenInWindow(name: PeerName, label: string): void {
  const agent = `${name}-direct`;
  const inWindow = suite({
    name: `agents-${agent}`,
    prepare: async (folder) => inSettings(await startPeer(name, { cwd: folder, script: 'window.json' }), { name: label, protocol: 'qwen' }),
  });
  const step = stepsOf(agent, inWindow);

  step('it is picked from the settings and keeps the name the user gave it', async (person) => {
    await person.pickAgent(label);
    await person.picture('started');
  });

  step('an edit with its diff, a new file and a command, each allowed in the quick-pick', async (person, folder) => {
    const { window } = person;
    const turn = await person.say('Turn debugging on');
    let seen = 0;
    const titles = await person.allowAll(turn, async (title) => {
      seen += 1;
      if (title.includes('Edit src/config.json')) {
        await window.diff.compared();
        assert.ok((await window.diff.modified()).some((line) => line.includes('"debug": true')));
        await person.picture('edit', ['dark', 'light']);
      } else await person.picture(`ask-${seen}`);
    });
    assert.ok(titles.length >= 2 && titles.every((title) => title.startsWith(`${label} · `)), titles.join(' | '));
    assert.match(readFileSync(path.join(folder, 'src', 'config.json'), 'utf8'), /"debug": true/);
    assert.ok(existsSync(path.join(folder, 'CHANGES.md')));
    await turn.getByText('one line changed').waitFor();
    await person.picture('debug', ['dark', 'light', 'contrast']);
  });

  step('a command is rejected with a reason and does not run', async (person, folder) => {
    const { window } = person;
    const turn = await person.say('Clear the build folder');
    await person.asked();
    await person.picture('command');
    await window.pick.choose('Reject with feedback');
    await window.page.locator('.quick-input-message', { hasText: 'What should the agent do instead?' }).waitFor();
    await window.pick.input.fill('Leave the build folder alone.');
    await window.page.keyboard.press('Enter');
    await person.settled(turn);
    await turn.getByText('Rejected').first().waitFor();
    assert.equal(existsSync(path.join(folder, 'build')), false);
    await person.picture('rejected');
  });

  step('a question is answered in the quick-pick', async (person) => {
    const { window } = person;
    const turn = await person.say('Paint the icon');
    await window.pick.row('Blue').first().waitFor();
    await person.picture('question');
    await window.pick.choose('Blue');
    await person.settled(turn);
    await turn.getByText('Thank you for the answer').waitFor();
  });

  step('stop ends a command that runs', async (person) => {
    const { chat } = person;
    const turn = await person.say('Count to twenty');
    await person.asked();
    await person.window.pick.answer('A');
    await turn.locator('.call-running').waitFor();
    await chat.stop.click();
    await person.settled(turn);
    await person.picture('stopped');
  });

  step('the agent opens a file at a line', async (person) => {
    const turn = await person.say('Show me the switch');
    await person.allowAll(turn);
    await person.window.cursor(3).waitFor();
    await person.picture('opened');
  });

  step('after a reload of the window the conversation is there and goes on', async (person) => {
    const { window, chat } = person;
    await person.reload();
    await chat.turns.first().getByText('one line changed').waitFor();
    const turn = await person.say('Explain how notes are stored');
    await person.settled(turn);
    await turn.getByText('How notes are stored').first().waitFor();
    await window.page.setViewportSize({ width: 640, height: 800 });
    await person.picture('reloaded', ['dark', 'light']);
  });
}
