import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { agreeOnFirst, askingWindow, type Case, cases, changeOf, rejected, run, startChange } from './approvalKinds.ts';
import type { Scene } from './suite.ts';

// What is shown of an approval of each kind, in four themes and two widths of the chat, and which keys answer it.
const { agent, inWindow, ask } = await askingWindow('approval-cases');
const themes = ['dark', 'light', 'contrast', 'contrastLight'] as const;

/** Boxes in pixels of what is on the screen. */
async function boxes(all: Locator) {
  return (await Promise.all((await all.all()).map((one) => one.boundingBox()))).filter((box) => box !== null);
}

async function answered(scene: Scene, one: Case): Promise<void> {
  const { window, folder } = scene;
  const { pick, chat, page } = window;
  const answer = ask(one.request(folder));
  await pick.title.filter({ hasText: one.title }).waitFor();
  await pick.readable();
  if (one.diff) await window.diff.compared();
  await agreeOnFirst(scene);
  await window.pictures(`cases/${one.name}`, themes);
  if (one.diff) await seesChanges(scene, one.name);
  const card = chat.frame.locator('[data-ask]').first();
  if (one.name === 'command') await isSmall(card, 'npm test');
  if (one.name === 'reject') await isSmall(card, 'npm publish');
  await window.chatWidth(600);
  await window.pictures(`cases/${one.name}-600`, themes);
  await isBelow(pick.box, card.locator('header'));
  await window.chatWidth(300);
  for (const key of one.keys) await page.keyboard.press(key);
  assert.deepEqual((await answer).result, one.chosen);
  await card.waitFor({ state: 'detached' });
  await foldsToOneLine(scene);
}

/** The call that was answered last says who decided, on one line, in words that are not cut, and its details are closed. */
async function foldsToOneLine({ window }: Scene): Promise<void> {
  const row = window.chat.frame.locator('.call .row-line').last();
  const decided = row.locator('.decided').filter({ hasText: /by you/ });
  await decided.waitFor({ state: 'attached' });
  assert.equal(await window.chat.frame.locator('.call').last().locator('.call-body').count(), 0);
  for (const width of [240, 300]) {
    await window.chatWidth(width);
    const [box] = await boxes(row);
    assert.ok((box?.height ?? 999) <= 28, JSON.stringify(box));
    // biome-ignore lint/performance/useDomNodeTextContent: the other one has words that are not shown
    assert.match((await decided.innerText()).trim(), /(?:✓|by you)$/);
    // A narrow row does not show that it was the user who rejected: a screen reader has it, in one pixel.
    assert.ok(await decided.evaluate((one) => one.scrollWidth <= Math.max(1, one.clientWidth)), `cut at ${width} px`);
  }
}

/** A card about a command of one line, with or without a warning. */
async function isSmall(card: Locator, command: string): Promise<void> {
  const [box] = await boxes(card);
  assert.ok((box?.width ?? 999) <= 300 && (box?.height ?? 999) <= 120, JSON.stringify(box));
  assert.equal((await card.textContent())?.split(command).length, 2, 'the command is there once');
}

/** The head of a card in a wide chat is not under the pick. */
async function isBelow(pick: Locator, head: Locator): Promise<void> {
  const [[over], [under]] = [await boxes(pick), await boxes(head)];
  assert.ok(over && under && under.y >= over.y + over.height, JSON.stringify({ over, under }));
}

interface TextAt {
  readonly text: string;
  readonly box: NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>;
}
/** What is on the screen, with its box. */
async function textsAt(all: Locator): Promise<readonly TextAt[]> {
  const found = await Promise.all((await all.all()).map(async (one) => ({ text: await one.textContent(), box: await one.boundingBox() })));
  return found.flatMap(({ text, box }) => (box ? [{ text: (text ?? '').replaceAll('\u00a0', ' ').trim(), box }] : []));
}

/** Each changed line under the pick is in a row of it that is in sight; otherwise Enter only looks. */
async function seesChanges({ window }: Scene, name: string): Promise<void> {
  const { pick, diff } = window;
  if ((await pick.focusedRow('Look first').count()) > 0) return;
  const [[box], [list]] = [await boxes(pick.box), await boxes(pick.box.locator('.monaco-list'))];
  assert.ok(box && list);
  const marks = await boxes(diff.editor.locator('.line-insert, .line-delete'));
  const isChanged = ({ box: line }: TextAt) => marks.some((mark) => Math.abs(mark.y - line.y) < 2 && Math.abs(mark.x - line.x) < 40);
  const isUnder = ({ box: line }: TextAt) => line.y + line.height > box.y && line.y < box.y + box.height;
  const covered = (await textsAt(diff.editor.locator('.view-line'))).filter((line) => line.text !== '' && isChanged(line) && isUnder(line));
  const rows = await textsAt(pick.box.locator('.monaco-list-row .quick-input-list-row:first-child .label-name'));
  const isInSight = ({ box: row }: TextAt) => row.y >= list.y - 1 && row.y + row.height <= list.y + list.height + 1;
  const shown = new Set(rows.filter(isInSight).map(({ text }) => text.replace(/^[+−]\s*/, '')));
  const hidden = covered.map(({ text }) => text).filter((text) => !shown.has(text));
  assert.deepEqual(hidden, [], `the pick of ${name} covers them and shows ${[...shown].join(' | ')}`);
}

for (const one of cases)
  test(
    `the same keys answer every agent: ${one.name}`,
    inWindow((scene) => answered(scene, one)),
  );

test(
  'two warnings stand beside each other, and wrap where they do not fit',
  inWindow(async (scene) => {
    const { window } = scene;
    const card = window.chat.frame.locator('[data-ask]').first();
    const command = 'rm -rf dist && npm install';
    const answer = ask(run('two', command));
    await window.pick.title.filter({ hasText: command }).waitFor();
    await window.pictures('cases/warnings', themes);
    const warnings = await boxes(card.locator('.risks li'));
    assert.equal(new Set(warnings.map(({ y }) => y)).size, 1, JSON.stringify(warnings));
    await isSmall(card, command);
    await window.chatWidth(240);
    await window.pictures('cases/warnings-240', themes);
    const within = await card.evaluate((one) => one.scrollWidth <= one.clientWidth);
    assert.ok(within, 'nothing of it is beside the card');
    await window.chatWidth(300);
    await rejected(scene, answer);
  }),
);

test(
  'the keys on the rows are drawn for the theme, also when it changes under them',
  inWindow(async ({ window, folder }) => {
    const { pick, page } = window;
    const [first] = cases;
    assert.ok(first);
    const answer = ask(first.request(folder));
    await pick.readable();
    const drawnIn = (colour: string) =>
      page.waitForFunction(`(() => {
        const { backgroundImage } = document.querySelector('.quick-input-widget .quick-input-list-icon').style;
        return atob(decodeURIComponent(/base64,([^"')]*)/.exec(backgroundImage)?.[1] ?? '')).includes(${JSON.stringify(colour)});
      })()`);
    await window.theme('light');
    await drawnIn('#3b3b3b');
    await window.theme('dark');
    await drawnIn('#cccccc');
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, first.chosen);
  }),
);

test(
  'a question with two fields is answered from the keyboard',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    const properties = {
      database: { type: 'string', title: 'Which database?', enum: ['SQLite', 'PostgreSQL'] },
      name: { type: 'string', title: 'Its name' },
    };
    const requestedSchema = { type: 'object', properties, required: ['database'] };
    const answer = agent.ask('elicitation/create', {
      mode: 'form',
      sessionId: SESSION,
      message: 'The store needs a place',
      requestedSchema,
    });
    await pick.title.filter({ hasText: 'The store needs a place' }).waitFor();
    await window.pictures('cases/question', themes);
    await window.chatWidth(600);
    await window.pictures('cases/question-600', themes);
    await window.chatWidth(300);
    await pick.readable();
    await pick.focusedRow('SQLite').waitFor();
    await page.keyboard.press('Enter');
    await pick.box.getByText('2/2').waitFor();
    await pick.type('tally');
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, { action: 'accept', content: { database: 'SQLite', name: 'tally' } });
  }),
);

for (const count of [4, 12, 20])
  test(
    `a change of the first ${count} lines is in sight, or Enter only looks`,
    inWindow(async (scene) => {
      const { window, folder } = scene;
      const answer = ask(startChange(folder, count));
      await window.pick.title.filter({ hasText: `Edit long.txt (+${count} −${count})` }).waitFor();
      await window.pick.readable();
      await window.diff.compared();
      await window.pictures(`cases/starts-${count}`, ['dark']);
      await seesChanges(scene, `${count} lines`);
      await rejected(scene, answer);
      await window.pick.gone();
      await window.diff.editor.waitFor({ state: 'detached' });
    }),
  );

for (const line of [3, 14, 40])
  test(
    `at 200 % the pick hides no change: line ${line}`,
    inWindow(async ({ window, folder }) => {
      const { page } = window;
      const one = changeOf(line);
      await page.setViewportSize({ width: 700, height: 450 });
      const answer = ask(one.request(folder));
      await window.pick.title.filter({ hasText: one.title }).waitFor();
      await window.pick.readable();
      await window.diff.compared();
      await window.pictures(`cases/zoomed-${line}`, ['dark']);
      // Where the pick has no room to repeat the change, Enter only looks.
      if ((await window.pick.focusedRow('Look first').count()) > 0) {
        await page.keyboard.press('a');
        await window.pick.focusedRow('Allow once').waitFor();
      } else await window.seesLine('// changed');
      await page.keyboard.press('Enter');
      assert.deepEqual((await answer).result, one.chosen);
      // The next one has the same title.
      await window.pick.gone();
      await window.diff.editor.waitFor({ state: 'detached' });
      await page.setViewportSize({ width: 1400, height: 900 });
    }),
  );
