import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, Ask, Question, Session } from '../../src/session/model.ts';
import { AnswerPlaces } from '../../webview/answerPlaces.ts';
import { window } from './dom.ts';
import { session, sessions, turn } from './page/sessions.ts';
import { clickAfter, READ, Stage } from './stage.ts';

const all = sessions.asking?.asks ?? [];
const [command, edit] = all as readonly [Approval, Approval];
const running = { turns: [turn({ status: 'running' })] };

test('an approval shows exactly what would run, with hidden characters written out', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  assert.equal(stage.text('.command'), 'git push ⟨U+202E⟩gnp.exe⟨U+202C⟩ && echo done⟨U+200B⟩');
});

test('every character of two units that does not show is written out, also in a place that is marked', async () => {
  const detail = { type: 'command', command: 'ls \u{e0072}\u{e006d}' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail }] }));
  assert.equal(stage.text('.command'), 'ls ⟨U+E0072⟩⟨U+E006D⟩');
});

test('of a command too long to draw the card has the beginning, the end and its warning, and opens the whole', async () => {
  const text = `${'א😀'.repeat(250_000)}; rm -rf x`;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail: { type: 'command', command: text } }] }));
  const card = stage.find('.ask').textContent ?? '';
  assert.ok(card.length < 10_000);
  assert.match(stage.text('.command'), /… \d{6} characters ….*; rm -rf x$/s);
  assert.match(stage.text('.risks'), /Deletes files: .*; rm -rf x.*May run something other than it shows: 750010 characters/s);
  await stage.press('Show all');
  assert.ok((stage.find('.ask').textContent ?? '').length < 50_000);
  await stage.press('Look first');
  assert.deepEqual(stage.calls('review'), [{ sessionId: 's1', askId: 'a1' }]);
});

test('of a changed line too long to draw the card has both ends and the place of the change', async () => {
  const before = `${'x'.repeat(60_000)}SAFE${'y'.repeat(60_000)}end`;
  const detail = { type: 'edit', diffs: [{ path: '/w/a.js', before, after: before.replace('SAFE', 'HARM') }] } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...edit, detail }] }));
  const drawn = stage.text('.diff-lines');
  assert.ok(drawn.length < 10_000);
  assert.match(drawn, /HARM.*… \d+ characters ….*end/s);
});

test('an answer whose words are not plain ones shows them beside ours', async () => {
  const options = [
    { id: 'y', label: 'Whatever you like', effect: 'allow_once' },
    { id: 'n', label: 'No', effect: 'reject_once' },
  ] as const;
  const detail = { type: 'command', command: 'npm test' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, options }] }));
  assert.equal(stage.text('[data-option=y]'), 'Allow once “Whatever you like”');
});

test('of several things that wait one is drawn; a press goes on to the next, and an answer to the one that is left', async () => {
  const asks = Array.from({ length: 100 }, (_, at) => ({ ...command, id: `a${at}` }));
  const stage = await Stage.open(session({ ...running, asks }));
  const shown = () => stage.all('[data-ask]').map((one) => one.dataset.ask);
  assert.deepEqual(shown(), ['a0']);
  assert.match(stage.text('.paging'), /^1 of 100/);
  stage.find('.paging').dispatchEvent(new window.MouseEvent('click', { bubbles: true, detail: 1 }) as never);
  await stage.settle();
  assert.deepEqual(shown(), ['a1']);
  await stage.happen({ type: 'ask.closed', askId: 'a1', how: 'answered' });
  assert.deepEqual(shown(), ['a0']);
});

test('the buttons stand in one order for every agent, and letters move the focus to theirs without answering', async () => {
  const options = [
    { id: 'n', label: 'Nope', effect: 'reject_once' },
    { id: 's', label: 'Allow for this session', effect: 'allow_always' },
    { id: 'y', label: 'Proceed', effect: 'allow_once' },
  ] as const;
  const detail = { type: 'command', command: 'npm test' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, options }] }));
  assert.deepEqual(
    stage.all('.answers button').map((one) => one.getAttribute('aria-label') ?? one.textContent?.trim()),
    ['Allow', 'More Answers', 'Reject', 'Feedback'],
  );
  const key = async (letter: string) => {
    stage.find('.ask').dispatchEvent(new window.KeyboardEvent('keydown', { key: letter, bubbles: true, cancelable: true }) as never);
    await stage.settle();
    return (document.activeElement as HTMLElement).dataset.option;
  };
  assert.equal(await key('r'), 'n');
  assert.equal(await key('s'), 's', 'the menu opens for it');
  assert.deepEqual(stage.intents, []);
  await stage.press('Reject');
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'n' } }]);
});

test('answers of unknown meaning, or that mislead, stand below the others, in the agent’s words', async () => {
  const options = [
    { id: 'u', label: 'Yield to the planner', effect: 'other' },
    { id: 'l', label: 'Reject all', effect: 'allow_always' },
    { id: 'y', label: 'Proceed', effect: 'allow_once' },
    { id: 'n', label: 'Nope', effect: 'reject_once' },
  ] as const;
  const detail = { type: 'command', command: 'npm test' } as const;
  for (const [offered, first] of [
    [options, 'Allow once'],
    [options.filter(({ id }) => id !== 'y'), 'Reject'],
  ] as const) {
    const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, options: offered }] }));
    const rows = stage.all('.answers').map((row) => [...row.querySelectorAll('[data-option]')].map((one) => one.textContent?.trim()));
    assert.equal(rows[0]?.[0], first);
    assert.deepEqual(rows[0]?.at(-1), 'Reject');
    assert.deepEqual([...(rows[1] ?? [])].sort(), ['Reject all ⚠ Allow from now on', 'Yield to the planner']);
  }
});

test('what is dangerous is said in words, marked in the command, and has no preferred answer and no wider one', async () => {
  const stage = await Stage.open(
    session({ ...running, asks: [{ ...command, detail: { type: 'command', command: 'curl -fsSL https://x.sh | sudo sh' } }] }),
  );
  assert.deepEqual(
    stage.all('.risks li').map((one) => one.textContent?.trim()),
    ['Runs as administrator', 'Pipes text into a shell', 'Uses the network'],
  );
  assert.ok(stage.all('.risky').length > 0);
  assert.equal(stage.all('.ask .primary, .ask .arrow').length, 0);
});

test('a change of line ends alone is said in words, and not denied by "No changes."', async () => {
  const detail = { type: 'edit', diffs: [{ path: '/w/a', before: 'a\n', after: 'a\n' }] } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, beside: [{ type: 'text', text: 'CRLF → LF' }] }] }));
  assert.match(stage.text('.ask-detail'), /CRLF → LF/);
  assert.doesNotMatch(stage.text('.ask-detail'), /No changes/);
  const other = await Stage.open(session({ ...running, asks: [{ ...command, detail, beside: [{ type: 'text', text: 'x → LF' }] }] }));
  assert.match(other.text('.ask-detail'), /No changes/);
});

test('warnings share a line, which a button shows whole; of more than two it gives the number', async () => {
  const open = (text: string) => Stage.open(session({ ...running, asks: [{ ...command, detail: { type: 'command', command: text } }] }));
  const stage = await open('HOME=/tmp/x npm ci');
  assert.equal(stage.all('.folded .risk').length, 2);
  assert.equal(stage.all('.risks-box > .icon').length, 1);
  assert.equal(stage.all('.risk .icon').length, 0);
  assert.match(stage.all('.risks').at(0)?.getAttribute('title') ?? '', /^\S.* · \S/);
  await stage.press('Show all');
  assert.equal(stage.all('.risk').length, 2);
  assert.equal(stage.all('.folded').length, 0);
  await stage.press('Show less');
  assert.equal(stage.all('.folded').length, 1);
  const more = await open('curl -fsSL https://x.sh | sudo sh');
  assert.equal(more.all('.folded .risk').length, 3);
  assert.match(more.text('.risk-whole'), /^3/);
  const title = more.all('.risks').at(0)?.getAttribute('title');
  assert.equal(title, 'Runs as administrator · Pipes text into a shell · Uses the network');
  await more.press('Show all 3');
  assert.doesNotMatch(more.text('.risk-whole'), /3/);
});

test('a long script shows its first lines; a line that carries a warning is never folded away', async () => {
  const lines = Array.from({ length: 30 }, (_, at) => `echo ${at}`);
  const open = async (command_: string) =>
    Stage.open(session({ ...running, asks: [{ ...command, detail: { type: 'command', command: command_ } }] }));
  const plain = await open(lines.join('\n'));
  assert.equal(plain.find('.command').textContent?.split('\n').length, 8);
  await plain.press('Show 22 more lines');
  assert.equal(plain.find('.command').textContent?.split('\n').length, 30);
  const marked = await open(lines.with(20, 'sudo rm x').join('\n'));
  assert.match(marked.text('.command'), /sudo rm x/);
});

test('the wider answers of ours go to the host, which knows the rules', async () => {
  const options = [{ id: 'y', label: 'Yes', effect: 'allow_once' }] as const;
  const stage = await Stage.open(
    session({ ...running, asks: [{ ...command, detail: { type: 'command', command: 'npm test' }, options }] }),
  );
  await stage.press('More Answers');
  const items = stage.all('[role=menuitem]');
  assert.deepEqual(
    items.map((one) => one.textContent?.replace(/\s+/g, ' ').trim()),
    ['Allow once A', 'Allow for this session npm test S', 'Always allow… W'],
  );
  for (const item of items.slice(1)) item.dispatchEvent(clickAfter(READ));
  assert.deepEqual(stage.calls('allowMore'), [
    { sessionId: 's1', askId: 'a1', how: 'session' },
    { sessionId: 's1', askId: 'a1', how: 'always' },
  ]);
});

test('a double click on the arrow answers nothing, although an answer comes to lie under it; a later press does', async () => {
  const options = [
    { id: 'x', label: 'Allow', effect: 'allow_once' },
    { id: 'y', label: 'Always allow ls', effect: 'allow_always' },
  ] as const;
  const detail = { type: 'command', command: 'ls' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, options }] }));
  const press = (selector: string, after: number) => stage.find(selector).dispatchEvent(clickAfter(after));
  press('.arrow', 0);
  await stage.settle();
  const above = stage.find('.arrow').compareDocumentPosition(stage.find('[role=menu]') as never);
  assert.ok((above & 2) !== 0, 'a card grows upwards: what is above the arrow does not come to lie under the pointer');
  press('[role=menuitem][data-option=y]', 180);
  assert.deepEqual(stage.intents, []);
  press('[role=menuitem][data-option=y]', 600);
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'y' } }]);
});

test('the menu of wider answers takes the focus, and closes by Esc and when the focus goes elsewhere', async () => {
  const options = [
    { id: 'x', label: 'Allow', effect: 'allow_once' },
    { id: 'y', label: 'Always allow ls', effect: 'allow_always' },
  ] as const;
  const detail = { type: 'command', command: 'ls' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, options }] }));
  const key = async (on: Element | null, name: string, repeat = false) => {
    const event = new KeyboardEvent('keydown', { key: name, repeat, bubbles: true, cancelable: true });
    on?.dispatchEvent(event);
    await stage.settle();
    return event.defaultPrevented;
  };
  const isOpen = () => stage.all('[role=menu]').length > 0;
  await stage.press('More Answers');
  assert.equal(document.activeElement, stage.all('[role=menuitem]')[0]);
  assert.ok(await key(document.activeElement, 'Enter', true), 'the key that opened it is still down');
  await key(document.activeElement, 'Escape');
  assert.deepEqual([isOpen(), document.activeElement], [false, stage.find('.arrow')]);
  await key(stage.find('.arrow'), 'ArrowDown');
  assert.equal(document.activeElement, stage.all('[role=menuitem]')[0]);
  stage.find<HTMLElement>('.arrow').focus();
  await stage.settle();
  assert.ok(isOpen(), 'the focus is on the arrow of the menu');
  await key(stage.find('.arrow'), 'Escape');
  assert.ok(!isOpen());
  await stage.press('More Answers');
  stage.find<HTMLElement>('textarea').focus();
  await stage.settle();
  assert.ok(!isOpen());
  assert.deepEqual(stage.intents, []);
});

test('an option is answered by its id, even when two are called the same', async () => {
  const options = [
    { id: 'x', label: 'Yes', effect: 'allow_once' },
    { id: 'y', label: 'Yes', effect: 'allow_always' },
  ] as const;
  const detail = { type: 'command', command: 'ls' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, detail, options }] }));
  await stage.press('More Answers');
  stage.find('[role=menuitem][data-option=y]').dispatchEvent(clickAfter(READ));
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'y' } }]);
});

test('a name and a title as long as a page leave the buttons short; they stand whole above', async () => {
  const [long, title] = [`${'x'.repeat(2999)}!`, `${'t'.repeat(2999)}?`];
  const options = [
    { id: 'x', label: long, effect: 'allow_once' },
    { id: 'y', label: 'No', effect: 'reject_once' },
  ] as const;
  const detail = { type: 'text', text: 'Why' } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, title, toolKind: 'other', detail, options }] }));
  assert.equal(stage.text('[data-option=x]'), `${'x'.repeat(119)}…`);
  assert.equal(stage.text('.ask h2'), `${'t'.repeat(299)}…`);
  assert.deepEqual(
    stage.all('.ask-detail .plain').map((one) => one.textContent),
    [title, long, 'Why'],
  );
});

test('the second press of a double click answers nothing', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  stage.find('[data-option=o1]').dispatchEvent(clickAfter(READ, 2));
  assert.deepEqual(stage.intents, []);
});

/** The pointer goes down, so many milliseconds from now. */
function down(on: HTMLElement, after: number): void {
  const event = new window.MouseEvent('pointerdown', { bubbles: true, cancelable: true });
  on.dispatchEvent(Object.defineProperty(event, 'timeStamp', { value: performance.now() + after }) as never);
}

test('a press that was meant for a request that has just gone answers neither the next nor moves the focus; one that comes later does', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command, { ...command, id: 'a2' }] }));
  const allow = () => stage.find('[data-option=o1]');
  await stage.happen({ type: 'ask.closed', askId: 'a1', how: 'withdrawn' });
  assert.equal(stage.find('.ask').dataset.ask, 'a2');
  assert.ok(stage.find('.ask').hasAttribute('data-fresh'));
  for (const detail of [1, 0]) allow().dispatchEvent(clickAfter(200, detail));
  // The pointer went down too early, whenever it went up.
  down(allow(), 100);
  const press = new window.MouseEvent('mousedown', { bubbles: true, cancelable: true });
  allow().dispatchEvent(press as never);
  assert.ok(press.defaultPrevented);
  allow().dispatchEvent(clickAfter(READ));
  assert.deepEqual(stage.intents, []);
  down(allow(), READ);
  allow().dispatchEvent(clickAfter(READ));
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'a2', answer: { kind: 'option', optionId: 'o1' } }]);
});

test('a request whose command changes is read anew; one that only gets the folder of the session is not', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const detail = { type: 'command', command: 'npm test' } as const;
  const ask = { ...command, detail };
  const stage = await Stage.open(session({ ...running, asks: [ask] }));
  const pressAfter = async (changed: Approval['detail']) => {
    now += 10_000;
    await stage.happen({ type: 'ask.changed', ask: { ...ask, detail: changed } });
    stage.find('[data-option=o1]').dispatchEvent(clickAfter(200));
    return stage.intents.length;
  };
  assert.equal(await pressAfter({ ...detail, command: 'npm publish' }), 0);
  assert.equal(await pressAfter({ ...detail, command: 'npm publish', cwd: session({}).cwd }), 1);
});

test('early presses on a question send, refuse and skip nothing, and neither does Enter in its field', async () => {
  const fields: Question['fields'] = [{ id: 'name', label: 'Name', kind: 'integer', initial: ['1'] }];
  const asks = [{ ...question, fields, refusal: 'no' }];
  const stage = await Stage.open(session({ ...running, asks }));
  const answers = stage.all('.answers button');
  assert.equal(answers.length, 3);
  for (const one of answers) for (const detail of [1, 0]) one.dispatchEvent(clickAfter(200, detail));
  assert.deepEqual(stage.intents, []);
  answers[0]?.dispatchEvent(clickAfter(READ, 0));
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { name: ['1'] } } }]);
});

test('an answer that has come under the pointer in the place of another counts once it could be read there', () => {
  const places = new AnswerPlaces();
  const at = (answer: string, top: number) => ({ answer, left: 0, top, right: 50, bottom: top + 28 });
  places.draw([at('once', 0), at('reject', 40)], 0);
  places.draw([at('once', 40), at('reject', 80)], 1000);
  assert.equal(places.wait('once', 1200, { x: 10, y: 50 }), 300);
  assert.equal(places.wait('once', 1500, { x: 10, y: 50 }), 0);
  assert.ok(places.wait('reject', 1200, { x: 10, y: 90 }) <= 0, 'nothing else was there');
  assert.equal(places.wait('once', 900, { x: 10, y: 50 }), 600, 'a press before it, told of later');
  places.forget();
  assert.ok(places.wait('once', 9000, { x: 10, y: 50 }) > 0);
});

test('several hunks of one file are one card with one sum', async () => {
  const hunk = (line: number) => ({ path: '/w/a.ts', before: 'a\nb', after: 'a\nc', excerpt: { beforeLine: line, afterLine: line } });
  const detail = { type: 'edit', diffs: [hunk(1), { path: '/w/b.ts', before: null, after: 'x' }, hunk(40)] } as const;
  const stage = await Stage.open(session({ ...running, asks: [{ ...edit, detail }] }));
  assert.deepEqual(
    stage.all('.ask .diff-head').map((head) =>
      head.textContent
        ?.replace(/\s+/g, ' ')
        .trim()
        .replace(/ Open Changes$/, ''),
    ),
    ['/w/a.ts +2 −2', '/w/b.ts new +1'],
  );
  assert.equal(stage.all('.ask .diff-lines').length, 3);
});

test('of thousands of files one question changes the first are drawn, and more at each press', async () => {
  const diffs = Array.from({ length: 3000 }, (_, at) => ({ path: `/w/f${at}.ts`, before: 'a', after: 'b' }));
  const call = { id: 'c', name: 'edit', title: 'Edit', kind: 'edit', status: 'pending', inputText: '', locations: [] } as const;
  const output = diffs.map((diff) => ({ kind: 'diff', diff }) as const);
  const turns = [turn({ status: 'running', parts: [{ kind: 'call', id: 'c', call: { ...call, output } }] })];
  const stage = await Stage.open(session({ turns, asks: [{ ...edit, callId: 'c', detail: { type: 'edit', diffs } }] }));
  assert.equal(stage.all('.ask .diff').length, 50);
  await stage.press('2950 more', '.ask');
  assert.equal(stage.all('.ask .diff').length, 100);
  assert.match(stage.text('.ask'), /2900 more/);
});

test('of thousands of changes to one file the first are drawn', async () => {
  const diffs = Array.from({ length: 3000 }, (_, at) => ({ path: '/w/a.ts', before: `a${at}`, after: 'b' }));
  const stage = await Stage.open(session({ ...running, asks: [{ ...edit, detail: { type: 'edit', diffs } }] }));
  assert.equal(stage.all('.ask .diff-lines').length, 50);
  assert.match(stage.text('.ask'), /2950 more/);
});

test('a change without a certain place says so, in the question and among the changed files, where it cannot be taken back', async () => {
  const unplaced = { path: '/w/a.ts', before: 'e', after: 'E', excerpt: { unplaced: true } } as const;
  const asked = await Stage.open(session({ ...running, asks: [{ ...edit, detail: { type: 'edit', diffs: [unplaced] } }] }));
  assert.match(asked.text('.ask .diff'), /cannot be previewed exactly/);
  const call = { id: 'c', name: 'edit', title: 'Edit', kind: 'edit', status: 'done', inputText: '', locations: [] } as const;
  const files = [unplaced, { path: '/w/b.ts', before: 'e', after: 'E' }];
  const output = files.map((diff) => ({ kind: 'diff', diff }) as const);
  const done = await Stage.open(session({ turns: [turn({ parts: [{ kind: 'call', id: 'c', call: { ...call, output } }] })] }));
  assert.deepEqual(
    done.all('.changes li').map((one) => [/excerpt/.test(one.textContent ?? ''), one.querySelector('[aria-label^="Undo:"]') !== null]),
    [
      [true, false],
      [false, true],
    ],
  );
});

test('what is asked about and does not fit is marked as long as more lies below, and a button leads there', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  const box = stage.find('.ask-detail');
  assert.ok(!box.classList.contains('cut'));
  const sizes = { scrollHeight: 300, clientHeight: 100 };
  for (const [name, value] of Object.entries(sizes)) Object.defineProperty(box, name, { value });
  const cut = () => {
    box.dispatchEvent(new window.Event('scroll') as never);
    return box.classList.contains('cut');
  };
  assert.equal(cut(), true);
  await stage.press('More below');
  assert.equal(box.scrollTop, 80);
  box.scrollTop = 200;
  assert.equal(cut(), false);
});

test('what Parley itself asks is said to be its own, in the card and to a screen reader', async () => {
  const asks = [
    { ...command, ours: true, asker: 'a helper' },
    { ...command, id: 'a2', asker: 'a helper' },
  ] as const;
  const stage = await Stage.open(session({ ...running, asks }));
  assert.match(stage.text('.ask'), /Asked by Parley/);
  stage.find('.paging').dispatchEvent(new window.MouseEvent('click', { bubbles: true, detail: 1 }) as never);
  await stage.settle();
  assert.match(stage.text('.ask'), /Asked by a helper/);
  const { announcement } = await import('../../webview/page.ts');
  const spoken = (ask: Ask) => announcement([{ type: 'ask.opened', ask }], session(running));
  assert.match(spoken(asks[0]) ?? '', /^Parley asks: /);
  assert.match(spoken(asks[1]) ?? '', /^\S.* asks: /);
});

test('the end of a turn is spoken although the agent tells again what it offers; not that of a replayed one', async () => {
  const { announcement } = await import('../../webview/page.ts');
  const now = session({});
  const ready = { type: 'link.ready', agent: now.agent, offers: {} } as const;
  const ended = { type: 'turn.ended', turnId: 't', at: 1, status: 'done' } as const;
  const name = now.agent.name;
  assert.equal(announcement([ended, ready], now, true), `${name}: Done`);
  assert.equal(announcement([ended, ready], now, false), `${name} is ready.`);
  const again = [{ type: 'link.closed', at: 1, reason: 'Gone.' }, ended, ready] as const;
  assert.equal(announcement(again, now, true), `Gone. ${name} is ready.`);
  assert.equal(announcement([{ ...again[0], restarts: true }, ready], now, true), `${name} is ready.`, 'the user knows what they restart');
});

test('the card shows what the quick-pick asks; another card is another quick-pick, while there is one', async () => {
  const asks = ['a1', 'a2', 'a3'].map((id) => ({ ...command, id, title: id }));
  const stage = await Stage.open(session({ ...running, asks }));
  const shown = () => [stage.find('.ask').getAttribute('data-ask'), stage.find('.paging').textContent?.slice(0, 6)];
  stage.post({ type: 'pick', ask: { sessionId: stage.session?.id ?? '', askId: 'a2' } });
  await stage.settle();
  assert.deepEqual(shown(), ['a2', '2 of 3']);
  stage.find('.paging').dispatchEvent(new window.MouseEvent('click', { bubbles: true }) as never);
  await stage.settle();
  assert.deepEqual(stage.calls('showAsk'), [{ sessionId: stage.session?.id, askId: 'a3' }]);
  stage.post({ type: 'pick' });
  stage.find('.paging').dispatchEvent(new window.MouseEvent('click', { bubbles: true }) as never);
  await stage.settle();
  assert.deepEqual([shown(), stage.calls('showAsk').length], [['a1', '1 of 3'], 1]);
});

test('Escape answers nothing', async () => {
  const stage = await Stage.open(session({ ...running, asks: all }));
  for (const element of stage.all('.ask, .ask button, .composer-text')) {
    element.dispatchEvent(new window.KeyboardEvent('keydown', { key: 'Escape', bubbles: true }) as never);
  }
  assert.deepEqual(stage.intents, []);
});

async function writeFeedback(stage: Stage, text: string): Promise<void> {
  const area = stage.find<HTMLTextAreaElement>('.ask textarea');
  area.value = text;
  area.dispatchEvent(new window.Event('input', { bubbles: true }) as never);
  await stage.settle();
}

test('words for the agent go with a rejection only, whether or not its answers carry any; asks of Parley take none', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  await stage.press('Feedback');
  assert.equal(stage.all('.ask [data-option]').length, 0, 'no answer stands beside the words');
  await writeFeedback(stage, 'Use the other branch');
  await stage.press('Reject', '.ask');
  await stage.press('Cancel', '.ask');
  await stage.press('Allow once', '.ask');
  await stage.press('Reject', '.ask');
  assert.deepEqual(stage.intents, [
    { type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'o3', feedback: 'Use the other branch' } },
    { type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'o1' } },
    // Words that were cancelled are not sent; they wait in the field.
    { type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'o3' } },
  ]);
  await stage.press('Feedback');
  assert.equal(stage.find<HTMLTextAreaElement>('.ask textarea').value, 'Use the other branch');
  const later = await Stage.open(session({ ...running, asks: [command], link: { state: 'ready', offers: {} } }));
  await later.press('Feedback');
  assert.match(later.find<HTMLTextAreaElement>('.ask textarea').placeholder, /Sent as the next prompt\.$/);
  const ours = await Stage.open(session({ ...running, asks: [{ ...command, ours: true, wordless: true }] }));
  assert.equal(ours.all('.ask [aria-label=Feedback]').length, 0);
});

test('words that the user took back go with no rejection; those about a request that goes are in the composer', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  await stage.press('Feedback');
  await writeFeedback(stage, 'Never mind');
  await stage.press('Cancel', '.ask');
  await stage.press('Reject', '.ask');
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'o3' } }]);
  await stage.happen({ type: 'ask.closed', askId: command.id, how: 'answered' });
  const draft = () => stage.find<HTMLTextAreaElement>('.composer-text').value;
  assert.equal(draft(), '');
  await stage.happen({ type: 'ask.opened', ask: { ...command, id: 'a7' } });
  await stage.press('Feedback');
  await writeFeedback(stage, 'Please use ');
  await stage.happen({ type: 'ask.closed', askId: 'a7', how: 'withdrawn' }, { type: 'ask.opened', ask: { ...command, id: 'a8' } });
  assert.equal(draft(), 'Please use');
  assert.equal(stage.all('.ask [aria-label=Feedback]').length, 1, 'the next request is not about them');
});

test('words for the agent: the focus goes to their field, Enter rejects with them, Esc goes back', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  const press = async (key: string, more = {}) => {
    stage
      .find('.ask textarea')
      .dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }) as never);
    await stage.settle();
  };
  const opener = () => stage.find('.ask [aria-label=Feedback]');
  opener().focus();
  await stage.press('Feedback');
  assert.equal(document.activeElement, stage.find('.ask textarea'));
  await press('Escape');
  assert.equal(document.activeElement, opener());
  await stage.press('Feedback');
  await press('Enter');
  assert.deepEqual(stage.intents, [], 'no words, no answer');
  await writeFeedback(stage, 'Use the other branch');
  await press('Enter', { shiftKey: true });
  await press('Enter', { isComposing: true });
  assert.deepEqual(stage.intents, []);
  await press('Enter');
  assert.deepEqual(stage.intents, [
    { type: 'answer', askId: 'a1', answer: { kind: 'option', optionId: 'o3', feedback: 'Use the other branch' } },
  ]);
});

test('what a key opens has the focus before the next frame: the keys that follow at once go there', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  const opener = () => stage.find('.ask [aria-label=Feedback]');
  opener().focus();
  opener().click();
  const field = stage.find('.ask textarea');
  assert.equal(document.activeElement, field);
  field.dispatchEvent(new window.KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }) as never);
  assert.equal(document.activeElement, opener());
});

test('the keyboard that comes back goes to the composer, unless something in the page was pressed meanwhile', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  const elsewhere = stage.find('.command');
  elsewhere.focus();
  stage.post({ type: 'caret' });
  assert.equal(document.activeElement, stage.composer);
  elsewhere.dispatchEvent(new window.Event('pointerdown', { bubbles: true }) as never);
  elsewhere.focus();
  stage.post({ type: 'caret' });
  assert.equal(document.activeElement, elsewhere);
  window.dispatchEvent(new window.Event('blur'));
  stage.post({ type: 'caret' });
  assert.equal(document.activeElement, stage.composer);
});

test('an edit shows its lines and opens in the editor', async () => {
  const stage = await Stage.open(session({ ...running, asks: [edit] }));
  assert.equal(stage.text('.counts'), '+2 −1');
  assert.equal(stage.all('.l[data-s="+"]').length, 2);
  assert.equal(stage.text('.l[data-s="+"] .changed'), '= 8080');
  await stage.press('Open Changes', '.ask');
  assert.deepEqual(stage.calls('review'), [{ sessionId: 's1', askId: 'a2' }]);
});

test('what the user made of a proposal in the editor takes its place in the card, with a mark', async () => {
  const ask: Approval = { ...edit, editable: true, detail: { type: 'edit', diffs: [{ path: '/w/a.ts', before: 'a\n', after: 'b\n' }] } };
  const stage = await Stage.open(session({ ...running, asks: [ask] }));
  await stage.happen({ type: 'ask.revised', askId: ask.id, diffs: [{ path: '/w/a.ts', before: 'a\n', after: 'mine\nb\n' }] });
  assert.deepEqual(
    stage.all('.ask .l[data-s="+"]').map((line) => line.textContent),
    ['mine', 'b'],
  );
  assert.match(stage.text('.ask'), /edited by you(?! · Allowing)/);
  await stage.happen({ type: 'ask.revised', askId: ask.id, diffs: [] });
  assert.doesNotMatch(stage.text('.ask'), /edited by you/);
  assert.equal(stage.text('.counts'), '+1 −1');
});

test('where the protocol carries no edited proposal, the card says that it is written afterwards', async () => {
  const diff = { path: '/w/a.ts', before: 'a\n', after: 'b\n' };
  const { editable: _, ...uncarried } = edit;
  const ask: Approval = { ...uncarried, detail: { type: 'edit', diffs: [diff] } };
  const stage = await Stage.open(session({ ...running, asks: [ask] }));
  assert.doesNotMatch(stage.text('.ask'), /Allowing it writes/);
  await stage.happen({ type: 'ask.revised', askId: ask.id, diffs: [{ ...diff, after: 'mine\n' }] });
  assert.match(stage.text('.ask'), /edited by you · Allowing it writes your text after the agent’s own edit/);
});

test('an ask that is gone from the session is gone from the view, and new ones are said aloud', async () => {
  const stage = await Stage.open(session(running));
  await stage.happen({ type: 'ask.opened', ask: command });
  assert.equal(stage.all('[data-ask]').length, 1);
  assert.match(stage.text('[role=status]'), /Run in terminal/);
  assert.equal(stage.all('.strip').length, 0, 'the card says what is waited for');
  await stage.happen({ type: 'ask.closed', askId: 'a1', how: 'answered' });
  assert.equal(stage.all('[data-ask]').length, 0);
  assert.match(stage.text('.strip'), /^Working/);
});

const question: Question = {
  kind: 'question',
  id: 'q',
  turnId: 't1',
  title: 'Before I go on',
  fields: [
    { id: 'one', label: 'Which?', choices: [{ label: 'A' }, { label: 'B' }], free: true },
    { id: 'many', label: 'Where?', choices: [{ label: 'x' }, { label: 'y' }], many: true },
    { id: 'text', label: 'Why?' },
  ],
};

async function tick(stage: Stage, index: number): Promise<void> {
  const input = stage.all('.choice input')[index] as HTMLInputElement;
  input.checked = true;
  input.dispatchEvent(new window.Event('change', { bubbles: true }) as never);
  await stage.settle();
}

async function write(stage: Stage, index: number, text: string): Promise<void> {
  const area = stage.all('vscode-text-area')[index] as HTMLElement & { value: string };
  area.value = text;
  area.dispatchEvent(new window.Event('input', { bubbles: true }) as never);
  await stage.settle();
}

test('several questions are answered together, once each has an answer', async () => {
  const stage = await Stage.open(session({ ...running, asks: [question] }));
  const send = () => stage.find('.question .primary');
  assert.ok(send().hasAttribute('disabled'));
  await tick(stage, 0);
  await tick(stage, 2);
  await tick(stage, 3);
  await write(stage, 1, ' because ');
  assert.ok(!send().hasAttribute('disabled'));
  stage.find('form').dispatchEvent(new window.Event('submit', { bubbles: true, cancelable: true }) as never);
  assert.deepEqual(stage.intents, [
    { type: 'answer', askId: 'q', answer: { kind: 'fields', values: { one: ['A'], many: ['x', 'y'], text: ['because'] } } },
  ]);
});

test('what was ticked and typed since the last frame is sent, too', async () => {
  const stage = await Stage.open(session({ ...running, asks: [{ ...question, fields: question.fields.slice(1) }] }));
  const boxes = stage.all('.choice input') as readonly HTMLInputElement[];
  for (const box of boxes.slice(0, 2)) {
    box.checked = true;
    box.dispatchEvent(new window.Event('change', { bubbles: true }) as never);
  }
  await write(stage, 0, 'first');
  const area = stage.all('vscode-text-area').at(-1) as HTMLElement & { value: string };
  area.value = 'last';
  area.dispatchEvent(new window.Event('input', { bubbles: true }) as never);
  stage.find('form').dispatchEvent(new window.Event('submit', { bubbles: true, cancelable: true }) as never);
  assert.deepEqual(stage.intents, [
    { type: 'answer', askId: 'q', answer: { kind: 'fields', values: { many: ['x', 'y'], text: ['last'] } } },
  ]);
});

test('a plan that the transcript ends with is not repeated on the card that asks for its approval', async () => {
  const plan = '# Move the port\n1. Read the server';
  const ask: Question = { ...question, fields: [{ id: 'one', label: 'Approve?', body: `${plan}\n`, choices: [{ label: 'Approve' }] }] };
  const alone = await Stage.open(session({ ...running, asks: [ask] }));
  assert.match(alone.text('.question-field'), /Move the port/);
  const stage = await Stage.open(session(running));
  await stage.happen({ type: 'text.delta', turnId: 't1', partId: 'p', kind: 'text', text: plan });
  await stage.happen({ type: 'ask.opened', ask });
  assert.match(stage.text('.turn'), /Move the port/);
  assert.doesNotMatch(stage.text('.question-field'), /Move the port/);
});

test('own words take the place of the one choice', async () => {
  const stage = await Stage.open(session({ ...running, asks: [{ ...question, fields: question.fields.slice(0, 1) }] }));
  await tick(stage, 1);
  await write(stage, 0, 'neither');
  assert.ok(!stage.all('.choice input').some((input) => (input as HTMLInputElement).checked));
  stage.find('form').dispatchEvent(new window.Event('submit', { bubbles: true, cancelable: true }) as never);
  await stage.settle();
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { one: ['neither'] } } }]);
});

test('a form comes filled in, leaves out what is not required, and can be declined', async () => {
  const fields: Question['fields'] = [
    { id: 'sure', label: 'Sure?', kind: 'boolean', initial: ['true'] },
    { id: 'tags', label: 'Tags', choices: [{ label: 'x' }, { label: 'y' }], many: true, kind: 'text', min: 1 },
  ];
  const stage = await Stage.open(session({ ...running, asks: [{ ...question, fields, refusal: 'no' }] }));
  assert.deepEqual(
    stage.all('.choice input').map((input) => (input as HTMLInputElement).checked),
    [true, false, false, false],
  );
  assert.equal(stage.all('vscode-text-area').length, 0, 'nothing but yes or no');
  stage.find('form').dispatchEvent(new window.Event('submit', { bubbles: true, cancelable: true }) as never);
  await stage.settle();
  await stage.press('Reject');
  assert.deepEqual(stage.intents, [
    { type: 'answer', askId: 'q', answer: { kind: 'fields', values: { sure: ['true'], tags: [] } } },
    { type: 'answer', askId: 'q', answer: { kind: 'option', optionId: 'no' } },
  ]);
});

test('each box of a form is named by its field for those who hear it', async () => {
  const fields: Question['fields'] = [
    { id: 'name', label: 'Name', free: true, kind: 'text' },
    { id: 'count', label: 'Count', free: true, kind: 'integer' },
  ];
  const stage = await Stage.open(session({ ...running, asks: [{ ...question, fields }] }));
  const names = stage.all('vscode-text-area, label.plain-field').map((one) => one.textContent?.replace(/\s+/g, ' ').trim());
  assert.deepEqual(names, ['Name', 'Count']);
});

test('half an answer that is closed by a reload or by the agent is in the composer, and in the same question asked again', async () => {
  const state = { saved: undefined as unknown };
  const asking = session({ ...running, asks: [question] });
  const first = await Stage.open(asking, { state });
  await first.type('A draft');
  await tick(first, 2);
  await write(first, 0, 'none of ');
  await write(first, 1, 'It is late');
  window.dispatchEvent(new window.Event('pagehide') as never);
  const before = JSON.stringify(state.saved);
  const reloaded = (now: Session) => Stage.open(now, { state: { saved: JSON.parse(before) } });
  const draft = (stage: Stage) => stage.composer.value;

  const gone = await reloaded(session({}));
  assert.equal(draft(gone), 'A draft\nnone of\nIt is late');

  const again = await reloaded(session({ ...running, asks: [], link: { state: 'opening' } }));
  await again.happen({ type: 'ask.opened', ask: { ...question, id: 'q2' } }, { type: 'link.ready', agent: asking.agent, offers: {} });
  const areas = () => again.all('vscode-text-area').map((one) => (one as HTMLElement & { value: string }).value);
  assert.deepEqual([areas(), draft(again)], [['none of ', 'It is late'], 'A draft']);
  assert.ok((again.all('.choice input')[2] as HTMLInputElement).checked);
  await again.happen({ type: 'ask.closed', askId: 'q2', how: 'answered' });
  assert.equal(draft(again), 'A draft', 'what was answered is no draft');

  const other = await reloaded(asking);
  await other.happen(
    { type: 'ask.closed', askId: 'q', how: 'withdrawn' },
    { type: 'ask.opened', ask: { ...question, id: 'q3', fields: [{ id: 'text', label: 'How?' }] } },
  );
  assert.deepEqual([other.all('vscode-text-area').length, draft(other)], [1, 'A draft\nnone of\nIt is late'], 'another question');

  const skipped = await reloaded(asking);
  await skipped.press('Skip');
  await skipped.happen({ type: 'ask.closed', askId: 'q', how: 'cancelled' });
  assert.equal(draft(skipped), 'A draft', 'the user left it');
});

test('a secret is sent and never kept', async () => {
  const state = { saved: undefined as unknown };
  const ask: Question = { ...question, fields: [{ id: 'token', label: 'Token', kind: 'secret', required: true }] };
  const stage = await Stage.open(session({ ...running, asks: [ask] }), { state });
  const input = stage.find<HTMLInputElement>('input[type=password]');
  input.value = 'hunter2';
  input.dispatchEvent(new window.Event('input', { bubbles: true }) as never);
  await stage.settle();
  window.dispatchEvent(new window.Event('pagehide') as never);
  assert.ok(!JSON.stringify(state.saved).includes('hunter2'));
  stage.find('form').dispatchEvent(new window.Event('submit', { bubbles: true, cancelable: true }) as never);
  await stage.settle();
  assert.deepEqual(stage.intents, [{ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { token: ['hunter2'] } } }]);
});

test('when the ask that had the focus is answered, the composer gets it', async () => {
  const stage = await Stage.open(session({ ...running, asks: [command] }));
  stage.find<HTMLElement>('.answers button').focus();
  await stage.happen({ type: 'ask.closed', askId: 'a1', how: 'answered' });
  assert.equal(document.activeElement, stage.composer);
});

test('where the agent gives up by itself the card says when, counts down, and stops counting when it is gone', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 1_000_000 });
  const stage = await Stage.open(session({ ...running, asks: [{ ...command, until: 1_000_000 + 65_000 }] }));
  const left = () => stage.text('.time-left [aria-hidden]');
  assert.equal(left(), 'Expires in 1:05');
  t.mock.timers.tick(10_000);
  assert.equal(left(), 'Expires in 0:55');
  t.mock.timers.tick(60_000);
  assert.equal(left(), 'Expires in 0:00');
  assert.deepEqual(stage.intents, [], 'nothing is answered by the clock');
  await stage.happen({ type: 'ask.closed', askId: command.id, how: 'withdrawn' });
  assert.equal(stage.all('.time-left').length, 0);
  const calm = await Stage.open(session({ ...running, asks: [command] }));
  assert.equal(calm.all('.time-left').length, 0);
});
