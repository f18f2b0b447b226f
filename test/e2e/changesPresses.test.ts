import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Locator } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { until } from './until.ts';

// Presses on decisions while the editor still draws those of the text before: it moves them with the text, and asks for new ones later.
const disk = await diskAgent({ name: 'changes-presses' });
const { fake: agent, inWindow, inFolder, read, write } = disk;
const lines = numbered('line', 40);
const inserted = ['a', 'b', 'c', 'd', 'e'].map((one) => `new ${one}`);
const rest = lines.slice(2).map((line, at) => ([7, 12, 17, 22].includes(at + 3) ? `agent ${at + 3}` : line));
const after = [...lines.slice(0, 2), ...inserted, ...rest];
const agents = (all: readonly string[]) => all.filter((line) => /^(agent|new) /.test(line));
const GAPS = [150, 400];

/** Presses the decision that stands over that line on the screen, if it does so; true if it did. */
async function pressed({ window }: Scene, title: string, line: Locator): Promise<boolean> {
  const below = (await line.boundingBox())?.y ?? 0;
  const lenses = new ReviewPage(window).lens(title).filter({ visible: true });
  const boxes = await lenses.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  const over = boxes.find(({ bottom }) => bottom <= below + 4 && bottom > below - 12);
  if (over) await window.page.mouse.click(over.x + over.width / 2, over.y + over.height / 2);
  return over !== undefined;
}

/** Presses it as soon as it is there. */
function press(scene: Scene, title: string, line: Locator): Promise<void> {
  return until(() => pressed(scene, title, line), `“${title}” stands there`);
}

test(
  'Undo over a change undoes that change, right after another was undone above it, and a second time nothing',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, page } = window;
    const review = new ReviewPage(window);
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    for (const gap of GAPS) {
      const name = `undo${gap}.txt`;
      write(name, text(lines));
      disk.act = () => write(name, text(after));
      await window.openChat();
      await chat.exchange(name);
      await review.openFile(name);
      await review.lenses(5);
      const shown = (line: string) => page.locator('.editor-instance .view-line', { hasText: line });
      await press(scene, 'Undo', shown('new a'));
      await shown('new e').waitFor({ state: 'hidden' });
      await pause(gap);
      await press(scene, 'Undo', shown('agent 7'));
      await shown('agent 7').waitFor({ state: 'hidden' });
      await review.lenses(3);
      assert.deepEqual(agents(read(name).split('\n')), ['agent 12', 'agent 17', 'agent 22'], `after ${gap} ms`);
    }
    await review.keepAll();
  }),
);

test(
  'Undo of a file in the list: pressed twice it undoes that file alone, which says so in its place before it goes',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const names = ['p.txt', 'q.txt', 'r.txt', 's.txt'];
    for (const name of names) write(name, 'one\n');
    disk.act = () => {
      for (const name of names) write(name, 'agent\n');
    };
    await window.openChat();
    await chat.exchange('four files');
    await review.show();
    await review.decideRow('p.txt', 'Undo');
    await window.pictures('review/presses-list', ['dark', 'light']);
    for (const gap of GAPS) {
      await page.mouse.down();
      await page.mouse.up();
      await pause(gap);
    }
    await review.row('p.txt').waitFor({ state: 'hidden' });
    assert.deepEqual(names.map(read), ['one\n', 'agent\n', 'agent\n', 'agent\n']);
    // The next row has come to where the pointer is.
    await review.decideRow('q.txt', 'Undo');
    await until(() => read('q.txt') === 'one\n', 'the next one is undone');
    await review.keepAll();
    assert.deepEqual(names.map(read), ['one\n', 'one\n', 'agent\n', 'agent\n']);
  }),
);

test(
  '“Leave out” leaves out the change that it stands over, right after another above it, and a double press leaves it out',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, page, pick, diff } = window;
    const review = new ReviewPage(window);
    for (const gap of GAPS) {
      const name = `leave${gap}.txt`;
      write(name, text(lines));
      disk.act = async () => {
        const content = [{ type: 'diff', path: inFolder(name), oldText: text(lines), newText: text(after) }];
        const toolCall = { toolCallId: name, title: `Edit ${name}`, kind: 'edit', status: 'pending', content };
        agent.update({ sessionUpdate: 'tool_call', ...toolCall });
        const options = [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ];
        await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, `ask ${name}`);
        agent.update({ sessionUpdate: 'tool_call_update', toolCallId: name, status: 'failed', content });
      };
      await window.openChat();
      await chat.say(name);
      await pick.row('Allow once').waitFor();
      await diff.compared();
      await page.keyboard.press('Escape');
      await pick.gone();
      await review.lens('Leave out').nth(4).waitFor();
      const shown = (line: string) => page.locator('.editor.modified .view-line', { hasText: line });
      await press(scene, 'Leave out', shown('new a'));
      await shown('new e').waitFor({ state: 'hidden' });
      await pause(gap);
      await press(scene, 'Leave out', shown('agent 7'));
      await shown('agent 7').waitFor({ state: 'hidden' });
      // The same words again, while they are still drawn there.
      await pressed(scene, 'Leave out', shown('line 7'));
      await review.note('Change 2 of 5 is left out').waitFor();
      await until(async () => (await review.lens('Put back').count()) === 2, 'two changes can be put back');
      assert.deepEqual(agents(await diff.modified()), ['agent 12', 'agent 17', 'agent 22'], `after ${gap} ms`);
      await window.command('Parley: Reject Proposal');
      await chat.settled(chat.lastTurn);
    }
  }),
);
