import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { serve } from './serve.ts';
import { sessions } from './sessions.ts';
import themes from './themes.json';

/** In pixels; the low one is a window at 200 %. */
const SIZES = [
  [400, 900],
  [200, 900],
  [300, 330],
] as const;

/** What opens over the chat, by the button that opens it. */
const SURFACES = ['.pill', '.title-button'];

/** Opens the built view on every canned session in every theme, wide and narrow: a picture of each, and what is wrong with them, in words. */
export async function look(
  browser: Browser,
  pictures: string,
  sizes: readonly (readonly [width: number, height: number])[] = SIZES,
): Promise<readonly string[]> {
  await mkdir(pictures, { recursive: true });
  const axe = await readFile('node_modules/axe-core/axe.min.js', 'utf8');
  const { url, stop } = await serve();
  const wrong: string[] = [];
  try {
    for (const theme of Object.keys(themes)) {
      for (const name of Object.keys(sessions)) {
        for (const [width, height] of sizes) {
          const where = `${name} in ${theme}, ${width} by ${height}`;
          // The checker is a script from outside; the page's own policy stays in force for everything else that is looked at.
          const context = await browser.newContext({ bypassCSP: true, viewport: { width, height } });
          const page = await context.newPage();
          page.on('pageerror', (error) => wrong.push(`${where}: ${error.message}`));
          await page.goto(`${url}?session=${name}&theme=${theme}`);
          await page.waitForSelector('.composer-text');
          if (name === 'everything') await unfold(page);
          await page.screenshot({ path: path.join(pictures, `${name}-${theme}-${width}-${height}.png`) });
          for (const problem of await problems(page, axe)) wrong.push(`${where}: ${problem}`);
          // What is out of sight is not drawn, and so not looked at.
          if (name === 'everything') {
            await page.locator('.scroller').evaluate((scroller) => {
              scroller.scrollTop = 0;
            });
            await page.waitForTimeout(100);
            for (const problem of await problems(page, axe)) wrong.push(`${where}, at the top: ${problem}`);
          }
          for (const surface of name === 'everything' ? SURFACES : []) {
            await page.keyboard.press('Escape');
            await page.locator(surface).click();
            await page.waitForTimeout(100);
            await page.screenshot({ path: path.join(pictures, `${name}${surface}-${theme}-${width}-${height}.png`) });
            for (const problem of await problems(page, axe)) wrong.push(`${where}, ${surface}: ${problem}`);
          }
          await context.close();
        }
      }
    }
    wrong.push(...(await policyProblems(browser, url)), ...(await edgeProblems(browser, url)));
  } finally {
    stop();
  }
  return wrong;
}

async function unfold(page: Page): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await page.evaluate(() => {
      for (const closed of document.querySelectorAll<HTMLElement>('.call-toggle[aria-expanded=false], details:not([open]) > summary'))
        closed.click();
    });
    await page.waitForTimeout(100);
  }
  await page.locator('.composer-text').pressSequentially('/me');
  await page.waitForTimeout(100);
}

async function problems(page: Page, axe: string): Promise<readonly string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const checker = (
      window as unknown as { axe: { run(root: Document): Promise<{ violations: { id: string; nodes: { target: string[] }[] }[] }> } }
    ).axe;
    const { violations } = await checker.run(document);
    const found = violations.map(({ id, nodes }) => `${id} at ${nodes.map((node) => node.target.join(' ')).join(', ')}`);
    const cramped = [...document.querySelectorAll('.call-head')].filter((head) => {
      const toggle = head.querySelector('.call-toggle');
      return toggle !== null && toggle.clientWidth < head.clientWidth * 0.6;
    });
    for (const head of cramped) found.push(`no room for the title "${head.querySelector('.call-title')?.textContent}"`);
    for (const answer of document.querySelector('.ask')?.querySelectorAll('.answers button') ?? []) {
      const { left, top, bottom, width } = answer.getBoundingClientRect();
      const whole = [top + 3, bottom - 3].every((y) => answer.contains(document.elementFromPoint(left + width / 2, y)));
      if (!whole) found.push(`the answer "${answer.textContent}" is out of sight`);
    }
    for (const field of document.querySelectorAll('.fields > fieldset')) {
      if (field.scrollHeight > field.clientHeight + 1)
        found.push(`"${field.querySelector('legend')?.textContent}" is higher than its place`);
    }
    return document.documentElement.scrollWidth > innerWidth ? [...found, 'wider than the view'] : found;
  });
}

/** With the policy in force: nothing the view does is refused. */
async function policyProblems(browser: Browser, url: string): Promise<readonly string[]> {
  const refused: string[] = [];
  const page = await browser.newPage({ viewport: { width: 400, height: 900 } });
  page.on('console', (message) => {
    if (message.type() === 'error') refused.push(message.text());
  });
  for (const name of Object.keys(sessions)) {
    await page.goto(`${url}?session=${name}`);
    await page.waitForSelector('.composer-text');
  }
  await page.close();
  return refused;
}

/** What stands above the composer while an earlier message is edited begins where all text does. */
async function edgeProblems(browser: Browser, url: string): Promise<readonly string[]> {
  const page = await browser.newPage({ viewport: { width: 300, height: 900 } });
  await page.goto(`${url}?session=long`);
  await page.waitForSelector('.composer-text');
  await page.evaluate(() => {
    const { patch } = (window as unknown as { page: { patch(events: readonly object[]): void } }).page;
    patch([{ type: 'link.ready', agent: { protocol: 'none', name: 'Agent' }, offers: { edit: true } }]);
  });
  await page.locator('.prompt').last().hover();
  await page.getByRole('button', { name: 'Edit Message and Send It Again' }).last().click();
  const edges = [page.locator('.editing'), page.locator('.composer-text')].map((one) =>
    one.evaluate((element) => Math.round(element.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(element).paddingLeft))),
  );
  const [said, typed] = await Promise.all(edges);
  await page.close();
  return said === typed ? [] : [`the words above the composer begin at ${said}, those in it at ${typed}`];
}
