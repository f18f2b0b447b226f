import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askingWindow } from './approvalKinds.ts';
import { until } from './until.ts';

const { agent, inWindow } = await askingWindow('diagrams');
const wide = 'position: fixed !important; inset: 0 !important; width: 200vw !important; height: 200vh !important; contain: none !important';
const over = `${wide}; z-index: 99999 !important; background: red !important; overflow: visible !important; max-width: none !important`;

/** Styles of a diagram that would cover the chat: by a directive, and out of a class. */
const hostile = [
  `%%{init: ${JSON.stringify({ themeCSS: `& { ${over} } :host { ${over} } svg { ${over} }` })}}%%\ngraph TD\n  A-->B`,
  `graph TD\n  A-->B\n  classDef x fill:#f00}:host{${over.replaceAll(', ', ' ')}\n  class A x`,
  `%%{init: ${JSON.stringify({ fontFamily: `a;} } :host { ${over} } svg { ${over}` })}}%%\ngraph TD\n  A-->B`,
  `%%{init: ${JSON.stringify({ themeVariables: { fontFamily: `a;} } :host { ${over} } svg { ${over}`, lineColor: `red;} :host { ${over}` } })}}%%\ngraph TD\n  A-->B`,
];

test(
  'a diagram stays in its place, whatever styles it brings',
  inWindow(async ({ window }) => {
    const { chat } = window;
    for (const text of hostile) agent.text(`\n\n\`\`\`mermaid\n${text}\n\`\`\`\n\n`);
    agent.text('That was all.');
    await chat.lastTurn.getByText('That was all.').waitFor();
    // The one that is no diagram stays text.
    await chat.frame.locator('.code.drawn').nth(2).waitFor({ state: 'attached' });
    await window.pictures('diagrams/hostile', ['dark']);
    const isCovered = await chat.composer.evaluate((composer) => {
      const { x, y, width, height } = composer.getBoundingClientRect();
      return composer.ownerDocument.elementFromPoint(x + width / 2, y + height / 2) !== composer;
    });
    assert.equal(isCovered, false);
  }),
);

test(
  'a diagram becomes no smaller than can be read; what is beyond the edge is reached with the arrow keys',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await window.chatWidth(300);
    agent.text(
      '\n\n```mermaid\nflowchart LR\n  A[Read settings] --> B{Port given?} --> C[Listen on it] --> D[Serve requests]\n```\n\nA wide one.',
    );
    await chat.lastTurn.getByText('A wide one.').waitFor();
    const diagram = chat.frame.locator('.code.drawn').last().locator('.diagram');
    await diagram.waitFor();
    const beyond = () => diagram.evaluate((place) => place.scrollWidth - place.clientWidth);
    const letters = () => diagram.locator('svg').evaluate((image) => (13 * image.clientWidth) / Number.parseFloat(image.style.maxWidth));
    assert.ok(Math.abs((await letters()) - 9) < 0.1, `letters of ${await letters()} px`);
    const before = await beyond();
    assert.ok(before > 20, 'it scrolls');
    await diagram.press('Enter');
    await until(async () => (await beyond()) > before + 100, 'enlarged, it goes on farther');
    assert.equal(Math.round(await letters()), 13);
    for (let presses = 0; presses < 3; presses += 1) await diagram.press('ArrowRight');
    await until(() => diagram.evaluate((place) => place.scrollLeft > 20), 'it has moved');
    await window.pictures('diagrams/wide', ['dark', 'contrastLight']);
  }),
);
