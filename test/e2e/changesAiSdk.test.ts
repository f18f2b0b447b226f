import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FakeChat, finish, said, start } from '../fakes/aiSdk.ts';
import { settingsFor } from './aiSdkServer.ts';
import { ReviewPage } from './pages/review.ts';
import { suite } from './suite.ts';
import { untilFile } from './until.ts';

const CHAT = '/api/chat';
/** A server whose agent writes to the workspace by itself: the last word of a message goes into a file. */
let server: FakeChat;
let notes = '';

const inWindow = suite({
  name: 'changes-ai-sdk',
  prepare: async (folder) => {
    notes = path.join(folder, 'notes.txt');
    writeFileSync(notes, 'nothing yet\n');
    server = new FakeChat({
      [CHAT]: (reply, { body }) => {
        const word = /\w+$/.exec(String(body.messages.at(-1)?.parts[0]?.text))?.[0] ?? '';
        writeFileSync(notes, `${readFileSync(notes, 'utf8')}${word}\n`);
        reply.all(start(), ...said(`Noted ${word}.`), finish());
      },
    });
    await server.start();
    return {
      machineSettings: {
        ...settingsFor(`${server.url}${CHAT}`),
        'parley.defaultAgent': 'server',
      },
      agents: 'parley-agent',
      end: () => server.stop(),
    };
  },
});

test(
  'files and conversation go back to before an earlier prompt: the preview, the message to send anew, and the way back',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    const review = new ReviewPage(window);
    await window.openChat();
    await chat.frame.getByText('Server').first().waitFor();
    for (const word of ['one', 'two', 'three']) {
      await chat.exchange(`note ${word}`);
      await chat.lastTurn.getByText('1 file changed').waitFor();
    }
    await chat.composer.fill('a draft');
    await chat.turns.nth(1).hover();
    await chat.turns.nth(1).getByRole('button', { name: 'Restore Files' }).click();
    const both = page.getByRole('button', { name: 'Restore Files and Conversation' });
    await both.waitFor();
    await window.pictures('review/restore-both');
    await both.click();
    await untilFile(notes, /^nothing yet\none\n$/);
    await chat.frame.getByText('Sending this takes back everything').waitFor();
    assert.equal(await chat.composer.inputValue(), 'note two');
    await window.pictures('review/restored-both');
    // As long as nothing is sent, the way back is whole.
    await window.command('Parley: Bring Back Undone Changes');
    await untilFile(notes, /two\nthree\n$/);
    await chat.frame.getByText('Sending this takes back everything').waitFor({ state: 'hidden' });
    assert.equal(await chat.composer.inputValue(), 'a draft', 'as before the restore');
    await window.command('Parley: Restore Files to Before a Prompt');
    await pick.choose('note two');
    await both.click();
    await untilFile(notes, /^nothing yet\none\n$/);
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await chat.composer.fill('note four');
    await chat.composer.press('Enter');
    await chat.frame.getByText('Noted four.').waitFor();
    await chat.settled(chat.lastTurn);
    assert.equal(await chat.composer.inputValue(), 'a draft', 'what waited for the end of the edit');
    assert.equal(await chat.turns.count(), 2);
    await untilFile(notes, /^nothing yet\none\nfour\n$/);
    const { messages } = server.bodies(CHAT).at(-1) ?? {};
    assert.match(JSON.stringify(messages), /note one.*Noted one.*note four/);
    assert.doesNotMatch(JSON.stringify(messages), /note two|note three/);
    await window.pictures('review/went-back');
    await review.show();
    await review.row('notes.txt').first().waitFor();
  }),
);
