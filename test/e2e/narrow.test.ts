import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { askingWindow, options, run } from './approvalKinds.ts';
import type { Window } from './pages/window.ts';
import { until } from './until.ts';

// A narrow chat: what matters most is whole, and what has no room is in the tooltip.

const WIDTHS = [240, 300];
const COMMAND = 'npm run build --workspace=packages/server -- --mode production --sourcemap && npm test --workspaces';
const FILE = 'packages/server/src/controllers/preferences.ts';
const { agent, inWindow, ask } = await askingWindow('narrow', { settings: { 'parley.approvals.popUp': 'never' } });
agent.handlers['session/new'] = () => ({
  sessionId: SESSION,
  modes: { currentModeId: 'ask', availableModes: [{ id: 'ask', name: 'Ask before edits' }] },
  models: { currentModelId: 'm', availableModels: [{ modelId: 'm', name: 'Gemini 3 Pro Preview' }] },
});

/** Nothing of it is cut off, and all of it lies in the other box: soon, as the view is drawn a while after its width has changed. */
async function isWhole(one: Locator, inside: Locator): Promise<void> {
  let seen = '';
  const holds = async () => {
    const { cut, left } = await one.evaluate((element) => ({
      cut: element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0,
      left: Number.parseFloat(element.ownerDocument.defaultView?.getComputedStyle(element).paddingLeft ?? ''),
    }));
    const [box, outer] = await Promise.all([one.boundingBox(), inside.boundingBox()]);
    seen = JSON.stringify({ cut, left, box, outer });
    if (!box || !outer) return false;
    const [from, to] = [box.x + left, box.x + box.width];
    const isInside = from >= outer.x - 1 && to <= outer.x + outer.width + 1 && box.y + box.height <= outer.y + outer.height + 1;
    return !cut && isInside && to > from;
  };
  await until(holds, 'it is whole').catch(async () => assert.fail(`${await one.textContent()}: ${seen}`));
}

async function allowed({ chat }: Window): Promise<void> {
  const card = chat.frame.locator('[data-ask]');
  await chat.answer('Allow');
  await card.waitFor({ state: 'detached' });
}

test(
  'a command on a card breaks between its words, not within an option',
  inWindow(async ({ window }) => {
    void ask(run('run', COMMAND));
    const words = window.chat.frame.locator('[data-ask] .command .option');
    await words.first().waitFor();
    for (const width of WIDTHS) {
      await window.chatWidth(width);
      const lines = await words.evaluateAll((all) => all.map((one) => one.getClientRects().length));
      assert.deepEqual([...new Set(lines)], [1], `${width} px`);
    }
    await allowed(window);
    agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'run', status: 'completed' });
  }),
);

test(
  'a row keeps the name of its file and how many lines came and went, whoever decided; its tooltip says all',
  inWindow(async ({ window, folder }) => {
    const { chat } = window;
    const file = path.join(folder, FILE);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, 'a');
    const content = [{ type: 'diff', path: file, oldText: 'a', newText: 'b\nc' }];
    void ask({ toolCallId: 'edit', kind: 'edit', title: 'Edit', status: 'pending', content }, options);
    await allowed(window);
    agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'edit', status: 'completed' });
    const edited = chat.call('Edited').locator('.row-line');
    const ran = chat.call('Ran').locator('.row-line');
    await edited.waitFor();
    for (const width of WIDTHS) {
      await window.chatWidth(width);
      for (const part of ['.name', '.counts', '.decided .in-short']) await isWhole(edited.locator(part), edited);
      await isWhole(ran.locator('.decided .in-short'), ran);
      const code = await ran.locator('code').boundingBox();
      const title = await ran.locator('.call-title').boundingBox();
      assert.ok(code && title && title.x + title.width - code.x > 0.3 * width, 'the command has room in its row');
    }
    assert.equal(await edited.locator('.words').getAttribute('title'), `Edited ${FILE} · allowed by you`);
    assert.match((await ran.locator('.words').getAttribute('title')) ?? '', /--sourcemap && npm test --workspaces/);
  }),
);

test(
  'a row keeps a short folder whole, with no more than a space before it',
  inWindow(async ({ window, folder }) => {
    const { chat } = window;
    const file = path.join(folder, 'src/short.ts');
    writeFileSync(file, 'a');
    const content = [{ type: 'diff', path: file, oldText: 'a', newText: 'b' }];
    void ask({ toolCallId: 'short', kind: 'edit', title: 'Edit', status: 'pending', content }, options);
    await allowed(window);
    agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'short', status: 'completed' });
    const row = chat.call('src/short.ts').locator('.row-line');
    await row.locator('.folder').waitFor();
    await window.chatWidth(240);
    await isWhole(row.locator('.name'), row);
    // A letter of the folder would say nothing: there is none.
    const [word, name] = [await row.locator('.call-title > bdi').first().boundingBox(), await row.locator('.name').boundingBox()];
    assert.ok(word && name && name.x - word.x - word.width < 5, JSON.stringify({ word, name }));
    for (const width of [300, 340]) {
      await window.chatWidth(width);
      await isWhole(row.locator('.folder'), row);
      const [verb, at] = [await row.locator('.call-title > bdi').first().boundingBox(), await row.locator('.folder').boundingBox()];
      assert.ok(verb && at && at.x - verb.x - verb.width < 5, `${width} px: ${JSON.stringify({ verb, at })}`);
    }
  }),
);

test(
  'a new file on a row is shown as far as it is not folded, without a place of its own to scroll in',
  inWindow(async ({ window, folder }) => {
    const { chat } = window;
    const newText = Array.from({ length: 70 }, (_, at) => `export const value${at} = ${at};\n`).join('');
    const content = [{ type: 'diff', path: path.join(folder, 'src/values.ts'), oldText: null, newText }];
    agent.update({ sessionUpdate: 'tool_call', toolCallId: 'new', kind: 'edit', title: 'Write', status: 'completed', content });
    const diff = chat.call('Created').locator('.diff-lines');
    await diff.waitFor();
    assert.ok(await diff.evaluate((box) => box.scrollHeight <= box.clientHeight), 'nothing of it is hidden');
    const more = diff.getByRole('button', { name: 'Show 55 more lines' });
    await isWhole(more, diff);
    await more.click();
    const less = diff.getByRole('button', { name: 'Show less' });
    await less.waitFor();
    await isWhole(less, diff);
  }),
);

test(
  'the row of answered questions says the answers, however long the questions are',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const long = 'in which all notes are to be stored from now on, on this computer and on others?';
    const properties = {
      database: { type: 'string', title: `Which database, ${long}`, enum: ['SQLite', 'PostgreSQL'] },
      place: { type: 'string', title: `Which folder, ${long}`, enum: ['data', 'store'] },
    };
    const asked = async (...names: readonly (keyof typeof properties)[]) => {
      const requestedSchema = {
        type: 'object',
        properties: Object.fromEntries(names.map((name) => [name, properties[name]])),
        required: names,
      };
      void agent.ask('elicitation/create', { mode: 'form', sessionId: SESSION, message: 'The store needs a place', requestedSchema });
      const card = chat.frame.locator('[data-ask]');
      for (const name of names) await card.getByText(properties[name].enum[0] ?? '', { exact: true }).click();
      await chat.answer('Send');
      await card.waitFor({ state: 'detached' });
      const row = chat.call('Answered').locator('.row-line').last();
      for (const width of WIDTHS) {
        await window.chatWidth(width);
        await isWhole(row.locator('.call-title'), row);
      }
    };
    await asked('database');
    await asked('database', 'place');
    const shown = chat.call('Answered').locator('.in-short').last();
    await shown.and(chat.frame.locator(':visible')).waitFor();
    assert.equal(await shown.textContent(), 'SQLite · data');
  }),
);

test(
  'no word of the button for model and mode is cut, also while a turn runs, the context is counted and a draft waits; the head names the agent and the tooltip has the rest',
  inWindow(async ({ window }) => {
    const { chat } = window;
    agent.update({ sessionUpdate: 'usage_update', used: 31_000, size: 128_000 });
    await chat.frame.locator('[role="meter"]').waitFor({ state: 'attached' });
    const [narrow, wide] = WIDTHS;
    for (const [width, draft] of [
      [narrow, ''],
      [wide, ''],
      [wide, 'And then'],
    ] as const) {
      await window.chatWidth(width ?? 0);
      await chat.frame.locator('.composer-text').fill(draft);
      await isWhole(chat.frame.locator('.pill-model'), chat.frame.locator('.pill'));
      await isWhole(chat.frame.locator('.title-agent'), chat.frame.locator('.title-button'));
      const shown = chat.frame.locator('.pill-text > :visible').last();
      await isWhole(shown, chat.frame.locator('.pill'));
      const arrow = chat.frame.locator('.pill > .icon');
      const gap = async () => {
        const [words, behind] = [await shown.boundingBox(), await arrow.boundingBox()];
        return words && behind ? behind.x - words.x - words.width : Number.NaN;
      };
      await until(async () => (await gap()) < 6, `${width} px: the arrow stands behind the words`);
    }
    await chat.frame.locator('.composer-text').fill('');
    await window.chatWidth(600);
    await chat.frame.locator('.pill-agent').waitFor();
    assert.ok(await chat.frame.locator('.title-agent').isHidden(), 'the agent is named once');
    await window.chatWidth(wide ?? 0);
    const title = await chat.frame.locator('.pill').getAttribute('title');
    assert.match(title ?? '', /Gemini 3 Pro Preview · Ask before edits · Context 24 % full/);
  }),
);

test(
  'the head gives the title and the agent a fair share, and its tooltip has both whole',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const button = chat.frame.locator('.title-button');
    assert.match((await button.getAttribute('title')) ?? '', /^Sessions: .+ · .+/);
    // A copy, as the page draws the button itself.
    const widths = (title: string, agent: string) =>
      button.evaluate(
        (one, names) => {
          const copy = one.cloneNode(true) as typeof one;
          const [first, second] = [copy.querySelector('.title'), copy.querySelector('.title-agent')];
          if (!first || !second) throw new Error('no names');
          first.textContent = names.title;
          second.setAttribute('data-name', names.agent);
          one.after(copy);
          one.style.display = 'none';
          const sizes = [first, second].map(({ clientWidth, scrollWidth }) => ({ has: clientWidth, wants: scrollWidth }));
          copy.remove();
          one.style.display = '';
          return sizes;
        },
        { title, agent },
      );
    for (const width of WIDTHS) {
      await window.chatWidth(width);
      await chat.frame.locator('.title-agent').waitFor();
      for (const name of ['Parley', 'Claude Code', 'Qwen Code (structured)']) {
        for (const title of ['read notes.txt and say what it is about', 'Ink']) {
          const [first, second] = await widths(title, name);
          assert.ok(first && second);
          const isCut = [first, second].map(({ has, wants }) => wants > has);
          const told = `${width} px, ${title}, ${name}: ${JSON.stringify([first, second])}`;
          if (title === 'Ink') assert.deepEqual(isCut, [false, false], told);
          if (name !== 'Qwen Code (structured)') assert.equal(isCut[1], false, told);
          if (isCut[1]) assert.ok(second.has >= first.has - 1, told);
          if (isCut[0]) assert.ok(first.has >= second.has - 1, told);
        }
      }
    }
  }),
);

test(
  'the mark of an urgent step of the plan is one line high, beside the first line of its step',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const content = 'Read the greeting and everything that calls it, in all packages';
    agent.update({ sessionUpdate: 'plan', entries: [{ content, status: 'in_progress', priority: 'high' }] });
    await chat.frame.locator('.strip').click();
    const step = chat.frame.locator('.entry');
    const [tag, whole] = [await step.locator('.tag').boundingBox(), await step.boundingBox()];
    assert.ok(tag && whole && whole.height > 40 && tag.height < 24 && tag.y - whole.y < 8, JSON.stringify({ tag, whole }));
  }),
);

test(
  'fields of a question that go on below the edge have a shade there, until their end is in sight',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string', title: `Which ${name}?` }]));
    const requestedSchema = { type: 'object', properties, required: [] };
    void agent.ask('elicitation/create', { mode: 'form', sessionId: SESSION, message: 'The store needs names', requestedSchema });
    const fields = chat.frame.locator('.fields');
    const shade = () => fields.evaluate((one) => one.ownerDocument.defaultView?.getComputedStyle(one, '::after').visibility);
    await fields.waitFor();
    await until(async () => (await shade()) === 'visible', 'there is a shade');
    await window.pictures('narrow-fields');
    await fields.evaluate((one) => one.scrollTo(0, one.scrollHeight));
    await until(async () => (await shade()) === 'hidden', 'there is none at the end');
    await chat.answer('Skip');
    await fields.waitFor({ state: 'detached' });
  }),
);
