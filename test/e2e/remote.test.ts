import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { pictures } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const inWindow = suite({ name: 'remote' });

test(
  'a remote window has its settings on two pages: agents and models on that of its machine, the rest on the user’s own',
  inWindow(async ({ window }) => {
    const { page, pick } = window;
    const shown = page.locator('.settings-editor');
    const category = shown.locator('.settings-tabs-widget .action-label.checked');
    const labels = () => shown.locator('.setting-item-label').allTextContents();
    for (const [choice, tab, has, hasNot] of [
      ['Agents and models of this machine', /^Remote/, 'Agents', 'Rules'],
      ['Approvals, following and log, for all machines', /^User/, 'Rules', 'Agents'],
    ] as const) {
      await window.command('Parley: Open Settings');
      await pick.moveTo(choice);
      await page.keyboard.press('Enter');
      await category.filter({ hasText: tab }).waitFor();
      await until(async () => (await labels()).includes(has), `${choice}: ${has}`);
      assert.ok(!(await labels()).includes(hasNot), `${hasNot} is not on the page of ${choice}`);
      await page.screenshot({ path: path.join(pictures, `remote-${has.toLowerCase()}.png`) });
    }
  }),
);
