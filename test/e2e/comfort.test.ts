import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import type { Theme } from '../workbench/settings.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';
import { wirePeer } from './wirePeer.ts';

const CODE = `import type { Session } from './session';

/** Counts lines. */
export class Tally<T extends string> {
  static readonly LIMIT = 1_000;
  constructor(private start: number) {}
  async add(text: string): Promise<number> {
    const lines = text.split(/\\r?\\n/g).map((line) => line.trim());
    if (lines.length > Tally.LIMIT) throw new Error('too many');
    return Math.max(0, this.start);
  }
}
`;
/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const peer = await wirePeer(
  {
    initialize: { server: { name: 'Kimi Code CLI', version: '1.49.0' }, capabilities: { supports_image: true } },
    turns: [[{ text: `Look at **this**:\n\n\`\`\`ts\n${CODE}\`\`\`\n\n3. three\n   - inner\n4. four\n\n- [x] done\n` }]],
  },
  0,
);
const inWindow = suite({
  name: 'comfort',
  prepare: async (folder) => {
    writeFileSync(path.join(folder, 'tally.ts'), CODE);
    return { machineSettings: peer.settings, env: peer.env, agents: 'fake.mjs', end: async () => peer.remove() };
  },
  settings: {
    // What only a language service and the brackets add to the grammar's colours.
    'editor.semanticHighlighting.enabled': false,
    'editor.bracketPairColorization.enabled': false,
    // Its text is in the page.
    'terminal.integrated.gpuAcceleration': 'off',
  },
});

/** The letters of lines with their colours, from the top; blanks are left out. */
const lettersIn = (lines: Locator): Promise<readonly string[]> =>
  lines.evaluateAll((all) => {
    const view = all[0]?.ownerDocument.defaultView;
    const placed = all.map((line) => ({ line, top: line.getBoundingClientRect().top })).sort((one, other) => one.top - other.top);
    return placed.flatMap(({ line }) => {
      const texts = line.ownerDocument.createTreeWalker(line, 4);
      const letters: string[] = [];
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const colour = text.parentElement && view ? view.getComputedStyle(text.parentElement).color : '';
        for (const letter of (text.textContent ?? '').replace(/\s/g, '')) letters.push(`${letter} ${colour}`);
      }
      return letters;
    });
  });

test(
  'code has the same colours in the chat as in the editor, in every theme',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await window.chatWidth(600);
    await chat.exchange('show me');
    await window.openFile('tally.ts');
    const code = chat.lastTurn.locator('code[data-language]');
    const themes: readonly Theme[] = ['dark', 'light', 'contrast', 'contrastLight'];
    let before = '';
    for (const theme of themes) {
      await window.theme(theme);
      await chat.wears(theme);
      // Both get their colours a while after the theme has changed, and are alike before that: plain, or in the colours of the last theme.
      let seen = '';
      await until(async () => {
        const [theirs, ours] = await Promise.all([lettersIn(page.locator('.editor-instance .view-line')), lettersIn(code)]);
        seen = String(ours);
        return String(theirs) === seen && seen !== before && new Set(ours.map((letter) => letter.slice(2))).size > 5;
      }, `the same colours, ${theme}`);
      before = seen;
    }
    await window.pictures('comfort-code', themes);
  }),
);

test(
  'the context menu copies a message, and an answer as Markdown',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (over: string, row: string) => {
      await chat.lastTurn.locator(over).first().click({ button: 'right' });
      const item = page.locator('.monaco-menu .action-label', { hasText: row });
      await item.waitFor();
      // The editor's menus take no click for a moment after they open.
      await until(async () => {
        if (await item.isVisible()) await item.click({ timeout: 2000 }).catch(() => {});
        return !(await item.isVisible());
      }, 'the menu has closed');
    };
    // The clipboard is written a while after the menu has closed.
    const pasted = async () => {
      await chat.composer.fill('');
      await chat.composer.press('Control+V');
      return chat.composer.inputValue();
    };
    await copied('.prompt', 'Copy Message');
    await until(async () => (await pasted()) === 'show me', 'the message is copied');
    await copied('.answer .markdown p', 'Copy Answer as Markdown');
    await until(async () => /^Look at \*\*this\*\*:\n\n```ts\nimport type/.test(await pasted()), 'the answer is copied');
    await chat.lastTurn.hover();
    await chat.lastTurn.getByRole('button', { name: 'Copy as text' }).click();
    await until(async () => (await pasted()).startsWith('Look at this:\n\nimport type'), 'the answer is copied as text');
    assert.match(await chat.composer.inputValue(), /\}\n+3\. three\n+ {2}- inner\n+4\. four\n+☑ done$/);
    await chat.composer.fill('');
  }),
);

test(
  'what is typed at once is whole, after the key that leads to the chat from the editor or from the chat itself',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const text = 'typed at once, without a pause';
    // More than once: the keys must not meet a moment in which nothing has the keyboard.
    for (const place of [page.locator('.editor-instance .view-line').first(), chat.composer, chat.composer]) {
      await place.click();
      await page.keyboard.press('Control+k');
      await page.keyboard.press('h');
      await chat.composer.and(chat.frame.locator(':focus')).waitFor();
      await page.keyboard.type(text);
      // The answer to another key comes after all of that.
      await page.keyboard.type(' @');
      await chat.menu.first().waitFor();
      assert.equal(await chat.composer.inputValue(), `${text} @`);
      await page.keyboard.press('Escape');
      await chat.composer.fill('');
    }
  }),
);

test(
  'the selection of the terminal is attached, and the text or the picture on the clipboard is there as before',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await window.openChat();
    await window.command('Terminal: Create New Terminal');
    const terminal = page.locator('.terminal-wrapper.active .xterm');
    await terminal.waitFor();
    // Keys that come before the shell are lost, and an empty terminal has nothing to select.
    const rows = page.locator('.terminal-wrapper.active .xterm-rows');
    await rows
      .getByText(/[$#>%]\s*$/m)
      .first()
      .waitFor();
    await page.keyboard.type('echo tally-$((40+2))\n');
    await rows.getByText('tally-42').first().waitFor();
    const added = async (count: number) => {
      await window.command('Terminal: Select All');
      await window.command('Parley: Add Terminal Selection to Chat');
      await until(async () => (await chat.frame.locator('.attachment').count()) === count, `${count} attached`);
      await until(() => chat.composer.evaluate((one) => one === one.ownerDocument.activeElement), 'the chat has the keyboard');
    };
    const before = await chat.frame.locator('.attachment').count();
    const put = (type: string, base64: string) =>
      page.evaluate(
        `navigator.clipboard.write([new ClipboardItem({ '${type}': new Blob([Uint8Array.from(atob('${base64}'), (one) => one.charCodeAt(0))], { type: '${type}' }) })])`,
      );
    const held = () => page.evaluate<readonly string[]>('navigator.clipboard.read().then((items) => items.flatMap(({ types }) => types))');
    await put('text/plain', 'aGVsbG8=');
    await added(before + 1);
    await until(async () => (await held()).includes('text/plain'), 'text is held');
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'hello');
    await put('image/png', PIXEL);
    await added(before + 2);
    await until(async () => String(await held()) === 'image/png', 'the picture is back');
  }),
);
