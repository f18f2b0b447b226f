import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { askingWindow, cases } from './approvalKinds.ts';
import { pictures } from './pages/window.ts';

// Keys and milliseconds from a request to its answer on the wire, and pixels, as a table in out/screenshots/approval-figures.md.
const { inWindow, ask } = await askingWindow('approval-figures');
const rows: string[] = [];
after(() => {
  const head =
    '| approval | keys | pick after ms | keys count after ms | on the wire after ms | pick px | card px |\n| --- | --- | --- | --- | --- | --- | --- |';
  mkdirSync(pictures, { recursive: true });
  writeFileSync(path.join(pictures, 'approval-figures.md'), `${[head, ...rows].join('\n')}\n`);
});

for (const one of cases)
  test(
    `from the request to the answer: ${one.name}`,
    inWindow(async ({ window, folder }) => {
      const { pick, chat, page } = window;
      const from = performance.now();
      const since = () => Math.round(performance.now() - from);
      const answer = ask(one.request(folder)).then(({ result }) => ({ result, ms: since() }));
      await pick.title.filter({ hasText: one.title }).waitFor();
      const seen = since();
      const card = chat.frame.locator('[data-ask]').first();
      const [of, cardOf] = [await pick.box.boundingBox(), await card.boundingBox()];
      await pick.readable();
      const ready = since();
      for (const key of one.keys) await page.keyboard.press(key);
      const { result, ms } = await answer;
      assert.deepEqual(result, one.chosen);
      const size = (box: { readonly width: number; readonly height: number } | null) =>
        box ? `${Math.round(box.width)} × ${Math.round(box.height)}` : '';
      rows.push(`| ${one.name} | ${one.keys.join(' ')} | ${seen} | ${ready} | ${ms} | ${size(of)} | ${size(cardOf)} |`);
      await card.waitFor({ state: 'detached' });
    }),
  );
