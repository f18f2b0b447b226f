import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from '../../e2e/suite.ts';
import { untilFile } from '../../e2e/until.ts';
import type { PeerName } from '../acp/peers.ts';
import { onPath } from './agents.ts';
import { stepsOf } from './person.ts';

export interface Expected {
  /** What the list of agents calls it. */
  readonly label: string;
  /** Its to-do list is the session's plan. */
  readonly plan?: true;
  /** The mode in which it asks. */
  readonly mode?: string;
}

/** A user's day with one ACP agent in the real workbench. */
export function acpInWindow(name: PeerName, expected: Expected): void {
  const inWindow = suite({ name: `agents-${name}`, prepare: (folder) => onPath(name, folder) });
  const step = stepsOf(name, inWindow);

  step('it is found, picked and started with one click', async (person) => {
    await person.pickAgent(expected.label);
    await person.picture('started', ['dark', 'light']);
  });

  step('a plan, an edit with its diff, a new file and a command, each allowed in the quick-pick', async (person, folder) => {
    const { window, chat } = person;
    const turn = await person.say('Turn debugging on');
    let seen = 0;
    const titles = await person.allowAll(turn, async (title) => {
      seen += 1;
      if (expected.plan) await chat.frame.locator('.strip', { hasText: /Plan \d\/\d/ }).waitFor();
      if (title.includes('Edit src/config.json')) {
        await window.diff.compared();
        assert.ok((await window.diff.original()).some((line) => line.includes('"debug": false')));
        assert.ok((await window.diff.modified()).some((line) => line.includes('"debug": true')));
        await person.picture('edit', ['dark', 'light', 'contrast']);
      } else await person.picture(`ask-${seen}`);
    });
    assert.ok(
      titles.every((title) => title.startsWith(`${expected.label} · `)),
      titles.join(' | '),
    );
    assert.match(readFileSync(path.join(folder, 'src', 'config.json'), 'utf8'), /"debug": true/);
    assert.match(readFileSync(path.join(folder, 'CHANGES.md'), 'utf8'), /Debugging is on — 你好/);
    await turn.getByText('one line changed').waitFor();
    await person.picture('debug', ['dark', 'light', 'contrast']);
  });

  step('a rejected file is not written', async (person, folder) => {
    const turn = await person.say('Write the release notes');
    await person.asked();
    await person.window.pick.answer('R');
    await person.settled(turn);
    await turn.getByText('Rejected').first().waitFor();
    assert.equal(existsSync(path.join(folder, 'RELEASE.md')), false);
    await person.picture('rejected');
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
    await person.picture('stopped');
  });

  step('the agent opens a file at a line', async (person) => {
    const turn = await person.say('Show me the switch');
    await person.allowAll(turn);
    await person.window.tab('config.json').first().waitFor();
    await person.window.cursor(3).waitFor();
    await person.picture('opened');
  });

  step('after a reload of the window the conversation is there and goes on', async (person, folder) => {
    const { window, chat } = person;
    await window.command('View: Close All Editors');
    await person.reload();
    await chat.turns.first().getByText('one line changed').waitFor();
    assert.equal(await chat.turns.count(), 4);
    const turn = await person.say('Explain how notes are stored');
    await person.settled(turn);
    await person.picture('reloaded', ['dark', 'light']);
    await window.page.setViewportSize({ width: 640, height: 800 });
    await person.picture('narrow', ['dark', 'light', 'contrast']);
    await window.page.setViewportSize({ width: 1280, height: 800 });
    await window.command('Notifications: Show Notifications');
    await person.picture('notifications');
    await untilFile(path.join(folder, 'src', 'config.json'), /"debug": true/);
  });
}
