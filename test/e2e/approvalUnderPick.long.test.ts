import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askingWindow, changeOf } from './approvalKinds.ts';

// The pick lies over the most lines where they are low and begin at the top.
const { inWindow, ask } = await askingWindow('approval-under-pick', {
  settings: { 'editor.fontSize': 8, 'workbench.editor.showTabs': 'none', 'breadcrumbs.enabled': false },
});

for (const line of [1, 9, 15, 18, 22, 40])
  test(
    `with low lines the pick hides no change: line ${line}`,
    inWindow(async ({ window, folder }) => {
      const one = changeOf(line);
      const answer = ask(one.request(folder));
      await window.pick.title.filter({ hasText: one.title }).waitFor();
      await window.pick.readable();
      await window.diff.compared();
      await window.pictures(`under-pick/low-${line}`, ['dark']);
      await window.seesLine('// changed');
      await window.page.keyboard.press('Enter');
      assert.deepEqual((await answer).result, one.chosen);
      // The next one has the same title.
      await window.pick.gone();
      await window.diff.editor.waitFor({ state: 'detached' });
    }),
  );
