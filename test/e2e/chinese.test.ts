import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { suite } from './suite.ts';

/** The workbench takes the language, its own texts stay English: what is Chinese here is ours. */
const inWindow = suite({ name: 'chinese', locale: 'zh-cn' });

test(
  'in Chinese: welcome, an edit asked for and made, a rejection with words',
  inWindow(async ({ window, folder }) => {
    const { chat, pick, diff, page } = window;
    await window.command('聚焦到聊天');
    const composer = chat.frame.getByRole('textbox', { name: /提问$/ });
    await composer.waitFor();
    assert.equal(await chat.frame.locator('html').getAttribute('lang'), 'zh-cn');
    await chat.frame.getByText('试试这些').waitFor();
    await window.pictures('chinese-welcome');
    const say = async (text: string) => {
      await composer.fill(text);
      await composer.press('Enter');
    };

    await say('把 src/main.ts 里的 "Hello" 替换成 "Welcome"');
    await pick.row('允许一次').first().waitFor();
    assert.match((await pick.title.textContent()) ?? '', /^编辑 src\/main\.ts/);
    await diff.compared();
    await pick.row('在此会话中允许').first().waitFor();
    await window.pictures('chinese-approval');
    await pick.choose('允许一次');
    await chat.settled(chat.lastTurn);
    assert.match(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), /'Welcome from/);
    await chat.lastTurn.getByText('1 个文件').waitFor();
    await window.pictures('chinese-done');

    await say('运行 echo refused-$((40+2))');
    await pick.row('允许一次').first().waitFor();
    await window.pictures('chinese-command', ['dark']);
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.answer('拒绝');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('已拒绝').first().waitFor();
    await window.pictures('chinese-rejected', ['dark']);
  }),
);
