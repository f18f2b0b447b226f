import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { type Received, SESSION } from '../fakes/acp.ts';
import { askingWindow, type Case, cases, options } from './approvalKinds.ts';
import { pictures, type Window } from './pages/window.ts';
import type { Scene } from './suite.ts';

// Keys and milliseconds from a request to its answer on the wire, and pixels, as a table in out/screenshots/approval-figures.md: of this build, and,
// where PARLEY_FIGURES_BEFORE names the folder of a build from before one order of answers, of that one first.
const ROUNDS = 3;
/** The answers of a pick from before: rows in the agent's words and order, reached with the arrow key, and no letters. */
const builds = [
  ...(process.env.PARLEY_FIGURES_BEFORE ? [{ name: 'before', extension: process.env.PARLEY_FIGURES_BEFORE }] : []),
  { name: 'now' },
];
type Build = (typeof builds)[number];

interface Figures {
  readonly keys: string;
  readonly seen: number;
  readonly ready: number;
  readonly ms: number;
  readonly pick: string;
  readonly card: string;
}
interface Asked {
  readonly name: string;
  /** Sends the request of a round; settles with the answer on the wire. */
  send(folder: string, round: number): Promise<Received>;
  /** Answers in the pick that is shown. The keys that were pressed. */
  press(window: Window, build: Build): Promise<readonly string[]>;
  readonly result: unknown;
}

const table = new Map<string, Figures[]>();
after(() => {
  const columns = builds.flatMap(({ name }) =>
    ['keys', 'seen', 'keys count', 'on the wire', 'pick px', 'card px'].map((column) => `${column} ${name}`),
  );
  const rows = [...table].map(([name, all]) => [name, ...all.flatMap((one) => Object.values(one).map(String))]);
  mkdirSync(pictures, { recursive: true });
  const lines = [['approval', ...columns], ['approval', ...columns].map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  writeFileSync(path.join(pictures, 'approval-figures.md'), `${lines.join('\n')}\n`);
});

const sizeOf = (box: { readonly width: number; readonly height: number } | null) =>
  box ? `${Math.round(box.width)} × ${Math.round(box.height)}` : '';
const middle = (of: readonly number[]) => [...of].sort((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;

/** Moves with the arrow key to the row with this label. The keys that were pressed. */
async function downTo({ pick, page }: Window, label: string): Promise<readonly string[]> {
  const focused = pick.box.locator('.monaco-list-row.focused .quick-input-list-row:first-child .label-name');
  const keys: string[] = [];
  for (;;) {
    const [words] = await focused.allTextContents();
    if (words?.trim() === label) return keys;
    assert.ok(keys.length < 30, `no row '${label}' among ${(await pick.labels()).join(' | ')}`);
    await page.keyboard.press('ArrowDown');
    keys.push('↓');
    const moved = words === undefined ? focused : pick.box.locator('.monaco-list-row.focused').filter({ hasNotText: words });
    await moved
      .first()
      .waitFor({ timeout: 2000 })
      .catch(() => {});
  }
}

/** Looks at every frame of the page: settles with the times of the first with a pick and, where `hint` is awaited, of the first in which keys count. */
const watch = (hint: boolean) => `new Promise((resolve) => {
  let seen;
  const look = () => {
    const box = document.querySelector('.quick-input-widget');
    const isOpen = box && box.checkVisibility() && box.querySelector('.monaco-list-row');
    if (isOpen) seen ??= Date.now();
    if (isOpen && (!${hint} || box.querySelector('input.input').placeholder)) resolve({ seen, ready: Date.now() });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

async function measured(asked: Asked, build: Build, { window, folder }: Scene, round: number): Promise<Figures> {
  const { page, pick, chat } = window;
  const watching = page.evaluate<{ readonly seen: number; readonly ready: number }>(watch(build.name === 'now'));
  const from = Date.now();
  const answer = asked.send(folder, round).then(({ result }) => ({ result, ms: Date.now() - from }));
  const times = await watching;
  const card = chat.frame.locator('[data-ask]').first();
  // What is looked at besides takes time.
  const boxes = round === 0 ? [await pick.box.boundingBox(), await card.boundingBox()] : [];
  const keys = await asked.press(window, build);
  const { result, ms } = await answer;
  assert.deepEqual(result, asked.result);
  await card.waitFor({ state: 'detached' });
  await pick.gone();
  const [of, cardOf] = boxes.map((box) => sizeOf(box ?? null));
  return { keys: short(keys), seen: times.seen - from, ready: times.ready - from, ms, pick: of ?? '', card: cardOf ?? '' };
}

/** Keys as a reader counts them: `2 ↓ ⏎`. */
function short(keys: readonly string[]): string {
  const downs = keys.filter((key) => key === '↓').length;
  return [...(downs > 0 ? [`${downs} ↓`] : []), ...keys.filter((key) => key !== '↓')].join(' ').replaceAll('Enter', '⏎');
}

function asApproval(one: Case, ask: (toolCall: object) => Promise<Received>): Asked {
  const { outcome } = one.chosen as { readonly outcome: { readonly optionId: string } };
  const words = options.find(({ optionId }) => optionId === outcome.optionId)?.name ?? '';
  return {
    name: one.name,
    send: (folder, round) => ask({ ...one.request(folder), toolCallId: `${one.name}-${round}` }),
    async press(window, build) {
      const keys = build.name === 'now' ? one.keys : [...(await downTo(window, words)), 'Enter'];
      for (const key of keys) if (key !== '↓') await window.page.keyboard.press(key);
      return keys.map((key) => (key.length === 1 ? key.toUpperCase() : key));
    },
    result: one.chosen,
  };
}

function asQuestion(ask: (method: string, params: object) => Promise<Received>): Asked {
  const properties = {
    database: { type: 'string', title: 'Which database?', enum: ['SQLite', 'PostgreSQL'] },
    name: { type: 'string', title: 'Its name' },
  };
  const requestedSchema = { type: 'object', properties, required: ['database'] };
  return {
    name: 'question',
    send: () => ask('elicitation/create', { mode: 'form', sessionId: SESSION, message: 'The store needs a place', requestedSchema }),
    async press(window) {
      const { pick, page } = window;
      const keys = await downTo(window, 'SQLite');
      await page.keyboard.press('Enter');
      await pick.box.getByText('2/2').waitFor();
      await pick.type('tally');
      await page.keyboard.press('Enter');
      return [...keys, 'Enter', 'tally', 'Enter'];
    },
    result: { action: 'accept', content: { database: 'SQLite', name: 'tally' } },
  };
}

for (const build of builds)
  describe(`the build ${build.name}`, async () => {
    const { agent, inWindow, ask } = await askingWindow(`approval-figures-${build.name}`, {
      ...('extension' in build ? { extension: build.extension } : {}),
    });
    for (const asked of [...cases.map((one) => asApproval(one, ask)), asQuestion((method, params) => agent.ask(method, params))])
      test(
        `from the request to the answer: ${asked.name}`,
        inWindow(async (scene) => {
          const rounds: Figures[] = [];
          const first = await measured(asked, build, scene, 0);
          for (let round = 1; round <= ROUNDS; round += 1) rounds.push(await measured(asked, build, scene, round));
          assert.deepEqual(new Set([first, ...rounds].map(({ keys }) => keys)).size, 1, 'the same keys each time');
          const times = (of: 'seen' | 'ready' | 'ms') => middle(rounds.map((one) => one[of]));
          const figures = { ...first, seen: times('seen'), ready: times('ready'), ms: times('ms') };
          table.set(asked.name, [...(table.get(asked.name) ?? []), figures]);
        }),
      );
  });
