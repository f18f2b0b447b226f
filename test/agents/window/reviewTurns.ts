import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ReviewPage } from '../../e2e/pages/review.ts';
import { type Prepared, suite } from '../../e2e/suite.ts';
import { untilFile } from '../../e2e/until.ts';
import { stepsOf } from './person.ts';

export interface ReviewedAgent {
  /** What the list of agents calls it. */
  readonly label: string;
  readonly prepare: (folder: string) => Promise<Prepared>;
  /** The conversation goes back with the files. */
  readonly goesBack?: true;
}

const names = Array.from({ length: 10 }, (_, at) => `note-${at}.txt`);
const rows = (change: (line: string) => string = (line) => line) =>
  Array.from({ length: 30 }, (_, at) => `${change(`row ${at + 1}`)}\n`).join('');

/** Some agents also ask before they read. */
const isEditOf = (title: string, file: string) => title.includes(file) && !/\bread/i.test(title);

/** A user reviews what a real agent writes to the disk by itself. */
export function reviewInWindow(name: string, { label, prepare, goesBack }: ReviewedAgent): void {
  const agent = `${name}-review`;
  const inWindow = suite({
    name: `agents-${agent}`,
    prepare: (folder) => {
      writeFileSync(path.join(folder, 'table.txt'), rows());
      writeFileSync(path.join(folder, 'gone.txt'), 'still needed\n');
      for (const more of ['one.txt', 'two.txt', 'three.txt', 'four.txt']) writeFileSync(path.join(folder, more), rows());
      for (const note of names) writeFileSync(path.join(folder, note), 'one\ntwo\n');
      return prepare(folder);
    },
  });
  const step = stepsOf(agent, inWindow);

  step('edits and a command: all thirteen files are listed, whoever wrote them', async (person, folder) => {
    await person.pickAgent(label);
    const turn = await person.say('Tidy the notes');
    await person.allowAll(turn);
    await turn.getByText('13 files changed').waitFor();
    await person.picture('listed', ['dark', 'light']);
    assert.equal(existsSync(path.join(folder, 'gone.txt')), false);
  });

  step('a hunk is undone after typing elsewhere, another is kept, over a reload', async (person, folder) => {
    const { window, scene } = person;
    const review = new ReviewPage(window);
    await review.openFile('table.txt');
    await review.lenses(2);
    await scene.window.page.locator('.editor-instance .view-line', { hasText: 'row 10' }).click();
    await window.page.keyboard.press('End');
    await window.page.keyboard.type(' of mine');
    await review.decide('Undo');
    await review.lenses(1);
    // The undo stays beside the typing, unsaved; the user's own save takes both to the disk.
    await scene.window.page.locator('.editor-instance .view-line', { hasText: 'row 5' }).waitFor();
    assert.match(readFileSync(path.join(folder, 'table.txt'), 'utf8'), /row five\n.*row 10\n/s);
    await window.command('File: Save');
    await untilFile(path.join(folder, 'table.txt'), /row 5\n.*row 10 of mine\n.*row twenty-one/s);
    await review.lenses(1);
    await person.picture('hunks', ['dark', 'light']);
    await person.reload();
    await review.openFile('table.txt');
    await review.lenses(1);
    await review.decide('Keep');
    await review.lenses(0);
  });

  step('the rest is undone: the deleted file and the ten rewritten ones are back', async (person, folder) => {
    const { chat, window } = person;
    await window.command('View: Close All Editors');
    await chat.turns.first().getByRole('button', { name: 'Undo all' }).click();
    await chat.turns.first().locator('.changes li', { hasText: 'gone.txt' }).getByText('Undone').waitFor();
    await person.picture('undone', ['dark', 'light']);
    assert.equal(readFileSync(path.join(folder, 'gone.txt'), 'utf8'), 'still needed\n');
    for (const note of names) assert.equal(readFileSync(path.join(folder, note), 'utf8'), 'one\ntwo\n');
    assert.equal(existsSync(path.join(folder, 'CHANGES.md')), false);
    assert.match(readFileSync(path.join(folder, 'table.txt'), 'utf8'), /row 10 of mine\n.*row twenty-one/s);
  });

  step('an edit is changed in its diff before it is allowed, and that is what is written', async (person, folder) => {
    const { window } = person;
    const turn = await person.say('Spell one more row');
    let edited = false;
    await person.allowAll(turn, async (title) => {
      if (edited || !isEditOf(title, 'table.txt')) return;
      edited = true;
      await window.diff.compared();
      await window.page.keyboard.press('Escape');
      await window.pick.gone();
      await person.chat.composer.and(person.chat.frame.locator(':focus')).waitFor();
      await window.diff.editor.locator('.editor.modified .view-line', { hasText: 'row twenty-five' }).click();
      await window.diff.editor.locator('.editor.modified .monaco-editor.focused').waitFor();
      await window.page.keyboard.press('End');
      await window.page.keyboard.type(', as I like it');
      await person.chat.frame.getByText('edited by you').waitFor();
      await person.picture('edited', ['dark', 'light']);
      await window.command('Parley: Show Pending');
    });
    await untilFile(path.join(folder, 'table.txt'), /row twenty-five, as I like it\n/);
    await person.picture('written', ['dark', 'light']);
  });

  step('of the changes of an edit the second is left out before it is allowed', async (person, folder) => {
    const { window } = person;
    const review = new ReviewPage(window);
    const turn = await person.say('Spell two places');
    let isLeftOut = false;
    await person.allowAll(turn, async (title) => {
      if (isLeftOut || !isEditOf(title, 'four.txt')) return;
      isLeftOut = true;
      await window.diff.compared();
      await window.page.keyboard.press('Escape');
      await window.pick.gone();
      await review.lens('Leave out').nth(1).waitFor();
      await review.decide('Leave out', 1);
      await review.note(/^Change 2 of \d is left out$/).waitFor();
      await person.chat.frame.getByText('edited by you').last().waitFor();
      await person.picture('left-out', ['dark', 'light']);
      await window.command('Parley: Show Pending');
    });
    const wanted = rows((row) => (row === 'row 3' ? 'row three' : row));
    await untilFile(path.join(folder, 'four.txt'), /row three\n.*row 27\n/s);
    // Gemini's server drops the last line end of what it writes, which is a change of its own.
    assert.equal(readFileSync(path.join(folder, 'four.txt'), 'utf8').trimEnd(), wanted.trimEnd());
    await person.picture('left-out-written', ['dark', 'light']);
  });

  step('two of five hunks over three files are kept, the others undone', async (person, folder) => {
    const { window } = person;
    const review = new ReviewPage(window);
    const turn = await person.say('Spell five places');
    await person.allowAll(turn);
    await turn.getByText('3 files changed').waitFor();
    await window.command('View: Close All Editors');
    const decided = { 'one.txt': ['Keep', 'Undo'], 'two.txt': ['Undo', 'Keep'], 'three.txt': ['Undo'] } as const;
    for (const [name, answers] of Object.entries(decided)) {
      await review.openFile(name);
      for (const [at, answer] of answers.entries()) {
        await review.lenses(answers.length - at);
        if (at === 0) await person.picture(`five-${name}`, ['dark', 'light']);
        await review.decide(answer);
      }
      await review.lenses(0);
    }
    const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
    assert.equal(
      read('one.txt'),
      rows((row) => (row === 'row 5' ? 'row five' : row)),
    );
    assert.equal(
      read('two.txt'),
      rows((row) => (row === 'row 28' ? 'row 4 * 7' : row)),
    );
    assert.equal(read('three.txt'), rows());
    await window.command('View: Close All Editors');
    await window.openChat();
  });

  step('the files go back to before the first prompt, and return', async (person, folder) => {
    const { window } = person;
    const file = path.join(folder, 'table.txt');
    const present = readFileSync(file, 'utf8');
    await window.command('Parley: Restore Files to Before a Prompt');
    await window.pick.choose('Tidy the notes');
    const files = window.page.getByRole('button', { name: 'Restore Files', exact: true });
    await files.waitFor();
    const both = window.page.getByRole('button', { name: 'Restore Files and Conversation' });
    assert.equal((await both.count()) === 1, goesBack === true);
    await person.picture('restore', ['dark', 'light']);
    await files.click();
    // What the user wrote into it stays.
    await untilFile(file, /row 5\n.*row 10 of mine\n.*row 21\n/s);
    assert.equal(
      readFileSync(file, 'utf8'),
      rows((row) => (row === 'row 10' ? 'row 10 of mine' : row)),
    );
    await window.command('Parley: Bring Back Undone Changes');
    await untilFile(file, /as I like it/);
    assert.equal(readFileSync(file, 'utf8'), present);
  });

  if (goesBack)
    step('files and conversation go back together', async (person, folder) => {
      const { chat, window } = person;
      await window.command('Parley: Restore Files to Before a Prompt');
      await window.pick.choose('Spell one more row');
      await window.page.getByRole('button', { name: 'Restore Files and Conversation' }).click();
      await untilFile(path.join(folder, 'table.txt'), /row 25\n/);
      await chat.frame.getByText('Sending this takes back everything').waitFor();
      await person.picture('goes-back', ['dark', 'light']);
      await chat.composer.and(chat.frame.locator(':focus')).waitFor();
      await chat.composer.fill('Thank you');
      await chat.composer.press('Enter');
      await chat.frame.getByText('With pleasure.').waitFor();
      assert.equal(await chat.turns.count(), 2);
      await person.picture('went-back', ['dark', 'light']);
    });
}
