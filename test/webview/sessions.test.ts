import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionLine } from '../../src/bridge/contract.ts';
import { session } from './page/sessions.ts';
import { Stage } from './stage.ts';

const HOUR = 3_600_000;
const line = (id: string, change: Partial<SessionLine> = {}): SessionLine => ({
  id,
  title: id,
  agent: 'Kimi',
  profile: 'kimi',
  state: 'ready',
  asks: 0,
  at: Date.now(),
  files: 0,
  ...change,
});
const open = [line('s1', { title: 'One', state: 'busy', at: Date.now() - 1000 }), line('s2', { title: 'Two', state: 'busy', asks: 2 })];
const past = [
  line('s9', { title: 'Kept', state: 'past', at: Date.now() - 400 * HOUR, pinned: true, files: 3 }),
  ...open,
  line('s3', { title: 'Broken', state: 'past', at: Date.now() - 48 * HOUR, failed: true, files: 1 }),
];

async function sheet(): Promise<Stage> {
  const stage = await Stage.open(session({ title: 'One' }), { lines: open });
  stage.find('.title-button').click();
  await stage.settle();
  return stage;
}
async function answer(stage: Stage, method: string, result: unknown): Promise<void> {
  const call = stage.sent.findLast((message) => message.type === 'call' && message.method === method);
  assert.ok(call?.type === 'call', `${method} was not asked`);
  stage.post({ type: 'reply', id: call.id, result });
  await stage.settle();
}
const rows = (stage: Stage) => stage.all('.session-button').map((row) => (row.textContent ?? '').replace(/\s+/g, ' ').trim());

test('requests of other sessions stand beside the title, not in it, and lead to the list', async () => {
  const stage = await Stage.open(session({ title: 'One' }), { lines: open });
  assert.equal(stage.text('.title-button .title'), 'One');
  assert.equal(stage.text('.header .ghost'), '2 waiting');
  stage.find('.header .ghost').click();
  await stage.settle();
  assert.ok(stage.find('.sheet'));
});

test('a session that has the name of its agent says it once in the head', async () => {
  const { agent } = session({});
  const named = await Stage.open(session({ title: 'One' }));
  assert.equal(named.find('.title-button .title-agent').dataset.name, agent.name);
  const same = await Stage.open(session({ title: agent.name }));
  assert.equal(same.all('.title-button .title-agent').length, 0);
});

test('sessions stand by day, newest first, pinned ones above all; one that waits for you is not called working', async () => {
  const stage = await sheet();
  assert.deepEqual(stage.calls('findSessions'), [{ query: '' }]);
  await answer(stage, 'findSessions', past);
  assert.deepEqual(
    stage
      .all('.sheet-day')
      .slice(0, 2)
      .map((day) => day.textContent),
    ['Pinned', 'Today'],
  );
  const [kept, two, one, broken] = rows(stage);
  assert.match(kept ?? '', /^Kept .* Kimi · 3 files$/);
  assert.match(two ?? '', /^Two 2 Waiting for you · Kimi$/);
  assert.match(one ?? '', /^One Working · Kimi$/);
  assert.match(broken ?? '', /^Broken .* Failed · Kimi · 1 file$/);
  assert.equal(document.activeElement, stage.find('.search'));
});

test('the arrows go from row to row, Enter opens one, earlier ones too', async () => {
  const stage = await sheet();
  await answer(stage, 'findSessions', past);
  const press = (key: string) => {
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    return stage.settle();
  };
  await press('ArrowDown');
  await press('ArrowDown');
  assert.match(document.activeElement?.textContent ?? '', /Two/);
  (document.activeElement as HTMLElement).click();
  await stage.settle();
  assert.deepEqual(stage.calls('switchSession'), [{ sessionId: 's2' }]);
  assert.equal(stage.root.querySelector('.sheet'), null);
});

test('titles and texts are searched by the host; an answer to an earlier query is dropped', async () => {
  const stage = await sheet();
  const search = stage.find<HTMLInputElement>('.search');
  const type = async (text: string) => {
    search.value = text;
    search.dispatchEvent(new Event('input', { bubbles: true }));
    await stage.settle();
  };
  await type('po');
  const early = stage.sent.findLast((message) => message.type === 'call');
  await type('port');
  assert.ok(early?.type === 'call');
  await answer(stage, 'findSessions', [past[3]]);
  stage.post({ type: 'reply', id: early.id, result: past });
  await stage.settle();
  assert.equal(rows(stage).length, 1);
  await type('nothing like it');
  await answer(stage, 'findSessions', []);
  assert.equal(stage.text('.sheet-empty'), 'Nothing found');
});

test('a session is renamed, pinned, exported, opened in a tab and deleted from its row', async () => {
  const stage = await sheet();
  await answer(stage, 'findSessions', past);
  await stage.press('Rename Session: Broken');
  const field = stage.find<HTMLInputElement>('.session-line input');
  assert.equal(document.activeElement, field);
  assert.deepEqual([field.selectionStart, field.selectionEnd], [0, 'Broken'.length], 'the old name is selected');
  field.value = '  Mended ';
  field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  await stage.settle();
  assert.deepEqual(stage.calls('renameSession'), [{ sessionId: 's3', title: 'Mended' }]);
  await answer(stage, 'renameSession', null);
  assert.equal(stage.calls('findSessions').length, 2, 'the list is asked for again');
  await stage.press('Pinned: Broken');
  await stage.press('Pinned: Kept');
  assert.deepEqual(stage.calls('pinSession'), [
    { sessionId: 's3', on: true },
    { sessionId: 's9', on: false },
  ]);
  await stage.press('Export Session as Markdown: Broken');
  await stage.press('Delete: Broken');
  assert.deepEqual(stage.calls('exportSession'), [{ sessionId: 's3' }]);
  assert.deepEqual(stage.calls('deleteSession'), [{ sessionId: 's3' }]);
  await stage.press('Open Session in Editor: Broken');
  assert.deepEqual(stage.calls('openInEditor'), [{ sessionId: 's3' }]);
});

test('a session of the agent host that was not opened here is renamed and deleted from its row, and nothing else', async () => {
  const stage = await sheet();
  await answer(stage, 'findSessions', [line('host kimi:/1', { title: 'There', state: 'past', hosted: true })]);
  const labels = stage.all('.session-actions button').map((one) => one.getAttribute('aria-label'));
  assert.deepEqual(labels, ['Rename Session: There', 'Delete: There']);
  await stage.press('Rename Session: There');
  const field = stage.find<HTMLInputElement>('.session-line input');
  assert.equal(document.activeElement, field);
  field.value = 'Mine';
  field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  await stage.settle();
  await stage.press('Delete: There');
  assert.deepEqual(stage.calls('renameSession'), [{ sessionId: 'host kimi:/1', title: 'Mine' }]);
  assert.deepEqual(stage.calls('deleteSession'), [{ sessionId: 'host kimi:/1' }]);
});

test('the keyboard stays with a row that is renamed, pinned or deleted, and never goes behind the list', async () => {
  const stage = await sheet();
  await answer(stage, 'findSessions', past);
  for (const behind of ['.header:has(.title-button)', 'main', '.dock']) assert.ok(stage.find(behind).hasAttribute('inert'), behind);
  await stage.press('Rename Session: Broken');
  const enter = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true });
  document.activeElement?.dispatchEvent(enter);
  await stage.settle();
  assert.ok(enter.defaultPrevented, 'the key does not press the row that gets the focus');
  assert.match(document.activeElement?.textContent ?? '', /Broken/);
  const pin = stage.find<HTMLElement>('[aria-label="Pinned: Broken"]');
  pin.focus();
  pin.click();
  await answer(stage, 'pinSession', null);
  await answer(stage, 'findSessions', [{ ...past[3], pinned: true }, ...past.slice(0, 3)]);
  assert.equal(document.activeElement, stage.find('[aria-label="Pinned: Broken"]'));
  assert.equal(document.activeElement?.getAttribute('aria-pressed'), 'true');
  await stage.press('Delete: Broken');
  await answer(stage, 'deleteSession', null);
  await answer(stage, 'findSessions', past.slice(0, 3));
  assert.equal(document.activeElement, stage.find('.search'));
  stage.post({ type: 'focus' });
  await stage.settle();
  assert.equal(document.activeElement, stage.find('.search'), 'the command that focuses the chat');
  stage.post({ type: 'insert', content: { type: 'file', path: '/w/a.ts' } });
  await stage.settle();
  assert.equal(stage.root.querySelector('.sheet'), null, 'what is added to the chat is in sight');
  assert.equal(document.activeElement, stage.find('.composer-text'));
  assert.ok(!stage.find('.dock').hasAttribute('inert'));
});

test('the page takes the keyboard back from the question before a deletion', async (context) => {
  const stage = await sheet();
  await answer(stage, 'findSessions', past);
  context.mock.method(document, 'hasFocus', () => false);
  const focus = context.mock.method(window, 'focus', () => {});
  await stage.press('Delete: Broken');
  assert.equal(focus.mock.callCount(), 0);
  await answer(stage, 'deleteSession', null);
  assert.equal(focus.mock.callCount(), 1);
});

test('Escape leaves a name unchanged, then closes the list and gives the focus back', async () => {
  const stage = await sheet();
  await answer(stage, 'findSessions', past);
  await stage.press('Rename Session: Kept');
  const pressEscape = () => {
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }));
    return stage.settle();
  };
  await pressEscape();
  assert.ok(stage.find('.sheet'));
  assert.deepEqual(stage.calls('renameSession'), []);
  await pressEscape();
  assert.equal(stage.root.querySelector('.sheet'), null);
  assert.equal(document.activeElement, stage.find('.title-button'));
});
