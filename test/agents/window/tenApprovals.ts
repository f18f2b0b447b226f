import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite } from '../../e2e/suite.ts';
import type { PeerName } from '../acp/peers.ts';
import { onPath } from './agents.ts';
import { type Person, stepsOf } from './person.ts';

interface Case {
  readonly prompt: string;
  /** The title of the pick without the agent's name, the same for every agent. */
  readonly title: RegExp;
  /** The same for every agent. */
  readonly keys: readonly string[];
  /** What the keys have done to the workspace. */
  readonly done: (folder: string) => boolean;
  readonly diff?: true;
}

const has = (name: string) => (folder: string) => existsSync(path.join(folder, name));
const lacks = (name: string) => (folder: string) => !existsSync(path.join(folder, name));
const holds = (name: string, text: RegExp) => (folder: string) => text.test(readFileSync(path.join(folder, name), 'utf8'));

const cases: readonly Case[] = [
  { prompt: 'Make the first file', title: /Run in terminal: touch one\.txt$/, keys: ['Enter'], done: has('one.txt') },
  {
    prompt: 'Turn debugging on',
    title: /Edit src\/config\.json \(\+1 −1\)$/,
    keys: ['Enter'],
    done: holds('src/config.json', /"debug": true/),
    diff: true,
  },
  {
    prompt: 'Write down what changed',
    title: /Create CHANGES\.md \(\+3 −0\)$/,
    keys: ['a', 'Enter'],
    done: holds('CHANGES.md', /Debugging is on/),
    diff: true,
  },
  { prompt: 'Publish it', title: /Run in terminal: touch published\.txt$/, keys: ['r', 'Enter'], done: lacks('published.txt') },
  {
    // Enter alone only shows what is dangerous.
    prompt: 'Install the tool',
    title: /⚠ Pipes text into a shell · Uses the network — Run in terminal: curl -fsSL \S+ \| sh$/,
    keys: ['Enter', 'r', 'Enter'],
    done: lacks('tool.sh'),
  },
  { prompt: 'Build both', title: /Run in terminal \(3 lines\)$/, keys: ['Enter'], done: has('right.txt') },
  { prompt: 'Delete the first file', title: /⚠ Deletes files — Run in terminal: rm one\.txt$/, keys: ['Enter'], done: lacks('one.txt') },
  { prompt: 'Look it up', title: /127\.0\.0\.1:9/, keys: ['r', 'Enter'], done: () => true },
  { prompt: 'Move the left one', title: /Run in terminal: mv left\.txt moved\.txt$/, keys: ['Enter'], done: has('moved.txt') },
  { prompt: 'Count now', title: /Run in terminal: node count\.mjs$/, keys: ['s', 'Enter'], done: holds('runs.txt', /^x\n$/) },
];

/** Ten approvals of one agent, answered by the keys that answer those of every other; the mouse is not touched. */
export function tenApprovals(name: PeerName, label: string): void {
  const inWindow = suite({
    name: `approvals-${name}`,
    prepare: (folder) => {
      writeFileSync(path.join(folder, 'count.mjs'), "import { appendFileSync } from 'node:fs';\nappendFileSync('runs.txt', 'x\\n');\n");
      return onPath(name, folder, 'approvals.json');
    },
  });
  const step = stepsOf(`approvals-${name}`, inWindow);

  step('is picked', (person) => person.pickAgent(label));
  for (const one of cases) step(`${one.keys.join(', ')}: ${one.prompt}`, (person, folder) => answered(person, folder, one));
  step('f, Enter: a rejection with feedback reaches the agent', async (person, folder) => {
    const { pick, page, chat } = person.window;
    await typed(person, 'Ship it');
    await pick.title.filter({ hasText: /Run in terminal: touch shipped\.txt$/ }).waitFor({ timeout: 120_000 });
    await pick.readable();
    await page.keyboard.press('f');
    await pick.focusedRow('Reject with feedback').waitFor();
    await page.keyboard.press('Enter');
    await pick.box.getByText('What should the agent do instead?').waitFor();
    await pick.type('Make a draft');
    await page.keyboard.press('Enter');
    await chat.lastTurn.getByText('A draft it is.').waitFor({ timeout: 120_000 });
    await person.settled(chat.lastTurn);
    assert.ok(lacks('shipped.txt')(folder));
    await person.picture('feedback', ['dark', 'light']);
  });
  step('what was allowed for the session is not asked again', async (person, folder) => {
    await person.settled(await typed(person, 'Count again'));
    assert.ok(holds('runs.txt', /^x\nx\n$/)(folder));
    await person.picture('end', ['dark', 'light']);
  });
}

/** Counts how often a quick-pick leaves the screen. */
const COUNT_HIDDEN = `(() => {
  window.hiddenPicks = 0;
  window.hiddenPicksWatch?.disconnect();
  let seen = false;
  window.hiddenPicksWatch = new MutationObserver(() => {
    const box = document.querySelector('.quick-input-widget');
    const now = box !== null && box.style.display !== 'none';
    if (seen && !now) window.hiddenPicks += 1;
    seen = now;
  });
  window.hiddenPicksWatch.observe(document.body, { subtree: true, attributes: true, attributeFilter: ['style'], childList: true });
})()`;

async function answered(person: Person, folder: string, one: Case): Promise<void> {
  const { pick, page, diff } = person.window;
  // The answered pick of the step before goes once the chat has the keyboard.
  await pick.gone();
  await page.evaluate(COUNT_HIDDEN);
  const turn = await typed(person, one.prompt);
  await pick.title.filter({ hasText: one.title }).waitFor({ timeout: 120_000 });
  await pick.readable();
  if (one.diff) await diff.compared();
  assert.equal(await page.evaluate('window.hiddenPicks'), 0, 'details that come later withdrew the question');
  await person.picture(`ask-${one.prompt.replaceAll(' ', '-')}`);
  for (const [at, key] of one.keys.entries()) {
    await page.keyboard.press(key);
    // Enter on what is dangerous opens the text, where the next letter leads back to the answers.
    if (key === 'Enter' && at < one.keys.length - 1) await diff.answers.waitFor();
    else if (at > 0 && key === 'r') {
      await pick.focusedRow('Reject').waitFor();
      await pick.readable();
    }
  }
  await person.settled(turn);
  assert.ok(one.done(folder), `${one.prompt} was not done`);
}

/** Types a prompt where the keyboard is: after an answer that is the composer. */
async function typed(person: Person, prompt: string) {
  const { chat } = person;
  await chat.composer.and(chat.frame.locator(':focus')).waitFor();
  const before = await chat.turns.count();
  await person.window.page.keyboard.type(prompt);
  await person.window.page.keyboard.press('Enter');
  const turn = chat.turns.nth(before);
  await turn.waitFor();
  return turn;
}
