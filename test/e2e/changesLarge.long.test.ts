import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { untilFile } from './until.ts';

// A folder of five thousand files, which an agent begins to change as soon as it has the first prompt.
const COUNT = 5000;
const disk = await diskAgent({ name: 'changes-large', files: new Map(Array.from({ length: COUNT }, (_, at) => [nameOf(at), before(at)])) });
const { fake: agent, inWindow, inFolder, read, write } = disk;
function nameOf(at: number): string {
  return `many/d${at % 100}/f${at}.txt`;
}
function before(at: number): string {
  return `${'some text of that file\n'.repeat(20)}${at}\n`;
}

test(
  'five thousand files changed right after the first prompt: all are said, and all are as before after a restore',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    disk.act = () => {
      for (let at = 0; at < COUNT; at += 1) write(nameOf(at), `agent ${at}\n`);
    };
    await window.openChat();
    await chat.exchange('change all');
    await chat.lastTurn.getByText(`${COUNT} files changed at once and are not listed.`).waitFor();
    await review.show();
    await page.getByText(`${COUNT} files changed at once and are not listed.`).first().waitFor();
    await window.pictures('review/large');
    await window.command('Parley: Restore Files to Before a Prompt');
    await window.pick.choose('change all');
    await page.getByRole('button', { name: 'Restore Files' }).waitFor();
    await window.pictures('review/large-restore');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    const told = page.getByText(/files?: restored|Not changed:/).first();
    await told.waitFor({ state: 'attached' });
    // Where the machine is too busy to read all of them before the agent changes them, the rest is said.
    const wrong = Array.from({ length: COUNT }, (_, at) => at).filter((at) => read(nameOf(at)) !== before(at)).length;
    const words = (await told.textContent()) ?? '';
    assert.equal(words.includes('Not changed'), wrong > 0);
    await page.keyboard.press('Escape');
  }),
);

async function openFile({ page, pick }: Scene['window'], name: string): Promise<void> {
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    await page.keyboard.press('F1');
    // The key is lost while the focus moves into a view that is still loading.
    const isThere = await pick.input.fill(name, { timeout: 5000 }).then(
      () => true,
      () => false,
    );
    if (isThere) break;
  }
  await pick.focusedRow(name).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.tab.active', { hasText: name }).waitFor();
}

test(
  'an edited proposal in a large folder is written, with the file open in an editor and an agent that mirrors its writes',
  inWindow(async ({ window }) => {
    const { chat, diff, page, pick } = window;
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
    for (const how of ['writes', 'mirrors'] as const) {
      const name = `${how}.txt`;
      const after = lines.with(2, 'line three').with(25, 'line twenty-six');
      write(name, text(lines));
      disk.act = async () => {
        const content = [{ type: 'diff', path: inFolder(name), oldText: text(lines), newText: text(after) }];
        const toolCall = { toolCallId: `call ${how}`, title: `Edit ${name}`, kind: 'edit', status: 'pending', content };
        agent.update({ sessionUpdate: 'tool_call', ...toolCall });
        const options = [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ];
        await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, `permission ${how}`);
        if (how === 'mirrors')
          void agent.ask('fs/write_text_file', { sessionId: SESSION, path: inFolder(name), content: text(after) }, 'w');
        write(name, text(after));
        agent.update({ sessionUpdate: 'tool_call_update', toolCallId: `call ${how}`, status: 'completed', content });
      };
      // An editor hears late of what is written in a large folder, and this one is open when the agent writes.
      if (how === 'writes') await openFile(window, name);
      await window.openChat();
      await chat.say(`edit ${how}`);
      await pick.row('Allow once').waitFor();
      await diff.compared();
      await page.keyboard.press('Escape');
      await pick.gone();
      const modified = diff.editor.locator('.editor.modified .view-line');
      await modified.filter({ hasText: 'line twenty-six' }).click();
      await diff.editor.locator('.editor.modified .monaco-editor.focused').waitFor();
      await page.keyboard.press('End');
      await page.keyboard.type(', as I like it');
      await chat.frame.getByText('edited by you').waitFor();
      await window.command('Parley: Accept Proposal');
      await chat.settled(chat.lastTurn);
      await untilFile(inFolder(name), /line three\n.*line twenty-six, as I like it\n/s);
      await window.pictures(`review/large-${how}`);
      assert.equal(await chat.frame.getByText('was not written').count(), 0);
      // What the agent was told of earlier turns is one line below the message.
      assert.equal(await chat.lastTurn.locator('.prompt', { hasText: /changed your edit|restored another/ }).count(), 0);
      await chat.lastTurn.getByText('The agent was told what you changed').click();
      await chat.lastTurn.getByText(how === 'writes' ? /restored another state/ : /changed your edit of writes\.txt/).waitFor();
    }
  }),
);

test(
  'a file of two hundred changes: the editor has decisions over those in sight only, and over the others as they come into sight',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('line', 4000);
    write('hunks.txt', text(lines));
    disk.act = () => write('hunks.txt', text(lines.map((line, at) => (at % 20 === 5 ? `agent ${at}` : line))));
    await window.openChat();
    await chat.exchange('change two hundred places');
    await review.openFile('hunks.txt');
    await review.note('1/200').waitFor();
    const drawn = await review.lens('Undo').count();
    assert.ok(drawn < 20, `${drawn} drawn`);
    await window.pictures('review/many-hunks');
    await page.locator('.view-line', { hasText: 'agent 5' }).first().click();
    await page.keyboard.press('Control+End');
    await review.note('200/200').waitFor();
    await window.pictures('review/many-hunks-end');
    for (const [keys, line] of [
      ['Shift+j', 3986],
      ['Shift+j', 3966],
      ['Shift+n', 3986],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.keyboard.press(keys);
      await window.cursor(line).waitFor();
    }
    await review.note('199/199').waitFor();
    assert.match(read('hunks.txt'), /agent 3945\n.*line 3966\n.*agent 3985\n/s);
    await review.keepAll();
    await window.closeEditors();
  }),
);
