import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ask } from '../../src/session/model.ts';
import { steerKey } from '../../webview/composer.ts';
import { session, sessions, turn } from './page/sessions.ts';
import { Stage } from './stage.ts';

const running = session({ turns: [turn({ status: 'running' })] });

test('Enter sends what is typed and empties the box; Shift+Enter does not', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('Hello\nthere');
  assert.equal(await stage.key('Enter', { shiftKey: true }), false);
  assert.equal(stage.intents.length, 0);
  assert.equal(await stage.key('Enter'), true);
  const sent = stage.intents.at(0);
  assert.ok(sent?.type === 'prompt' && sent.turnId.length > 8);
  assert.deepEqual(sent.content, [{ type: 'text', text: 'Hello\nthere' }]);
  assert.equal(stage.composer.value, '');
});

test('nothing but white space is not sent, nor what a held key repeats', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('  \n ');
  await stage.key('Enter');
  await stage.type('Hello');
  await stage.key('Enter', { repeat: true });
  assert.deepEqual(stage.intents, []);
});

test('Enter that ends a composition of an input method is not a send', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('にほん');
  assert.equal(await stage.key('Enter', { isComposing: true }), false);
  assert.equal(await stage.key('Enter', { keyCode: 229 }), false);
  assert.deepEqual(stage.intents, []);
  await stage.key('Enter');
  assert.equal(stage.intents.length, 1);
});

test('keys that follow each other before a frame is drawn are all heard', async () => {
  const stage = await Stage.open(session({}));
  stage.composer.value = 'quick';
  stage.composer.dispatchEvent(new Event('input', { bubbles: true }));
  stage.composer.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  assert.deepEqual(
    stage.intents.map((intent) => intent.type === 'prompt' && intent.content),
    [[{ type: 'text', text: 'quick' }]],
  );
});

test('what is typed right after Enter, before a frame is drawn, is a text of its own', async () => {
  const stage = await Stage.open(session({}));
  const { composer } = stage;
  const press = (text: string) => {
    composer.value += text;
    composer.dispatchEvent(new Event('input', { bubbles: true }));
  };
  press('p0');
  composer.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  press('n');
  press('ext');
  await stage.settle();
  assert.equal(composer.value, 'next');
  await stage.key('Enter');
  assert.deepEqual(
    stage.intents.map((intent) => intent.type === 'prompt' && intent.content),
    [[{ type: 'text', text: 'p0' }], [{ type: 'text', text: 'next' }]],
  );
});

test('a slash typed before the agent has told its commands opens the menu once it has', async () => {
  const stage = await Stage.open(session({ commands: [] }));
  stage.composer.focus();
  await stage.type('/he');
  assert.equal(stage.all('[role=option]').length, 0);
  await stage.happen({ type: 'commands.set', commands: sessions.everything?.commands ?? [] });
  assert.match(stage.text('[role=option]'), /^\/help/);
});

test('the slash menu filters, is moved through with the keys, and descends into sub-commands', async () => {
  const stage = await Stage.open(session({ commands: sessions.everything?.commands ?? [] }));
  await stage.type('/');
  assert.deepEqual(
    stage.all('[role=option] .menu-label').map((line) => line.textContent?.split(' ')[0]?.trim()),
    ['/help', '/memory', '/compact'],
  );
  assert.equal(stage.composer.getAttribute('aria-activedescendant'), stage.find('[aria-selected=true]').id);
  await stage.key('ArrowUp');
  assert.match(stage.text('[aria-selected=true]'), /^\/compact/);
  await stage.type('/mry');
  assert.equal(await stage.key('Enter'), true);
  assert.equal(stage.composer.value, '/memory ');
  assert.deepEqual(
    stage.all('[role=option] .menu-label bdi').map((line) => line.textContent),
    ['add', 'show'],
  );
  await stage.key('Tab');
  assert.equal(stage.composer.value, '/memory add ');
  assert.equal(stage.text('.command-hint'), '<text>');
  assert.deepEqual(stage.intents, []);
  await stage.type('/memory add tea');
  await stage.key('Enter');
  assert.equal(stage.intents.length, 1);
});

test('a command that is typed whole is sent with one Enter; an alias finds its command', async () => {
  const stage = await Stage.open(session({ commands: sessions.everything?.commands ?? [] }));
  await stage.type('/help');
  await stage.key('Enter');
  assert.deepEqual(
    stage.intents.map((intent) => intent.type === 'prompt' && intent.content),
    [[{ type: 'text', text: '/help' }]],
  );
  await stage.type('/c');
  assert.match(stage.text('[aria-selected=true]'), /^\/compact .*\/c/);
});

test('Escape closes the menu, and with no menu left it stops the turn; what is typed stays', async () => {
  const stage = await Stage.open(session({ ...running, commands: sessions.everything?.commands ?? [] }));
  await stage.type('/');
  assert.equal(await stage.key('Escape'), true);
  assert.equal(stage.root.querySelector('[role=listbox]'), null);
  assert.deepEqual(stage.intents, []);
  assert.equal(await stage.key('Escape'), true);
  assert.deepEqual(stage.intents, [{ type: 'cancel' }]);
  assert.equal(stage.composer.value, '/');
});

test('Escape right after an answer stops nothing, however often it is pressed; once the user does something here it stops', async () => {
  const ask: Ask = { kind: 'approval', id: 'a', turnId: 't1', title: 'Run', detail: { type: 'text', text: 'x' }, options: [] };
  const stage = await Stage.open(session({ ...running, asks: [{ ...ask, turnId: running.turns?.at(-1)?.id ?? '' }] }));
  await stage.happen({ type: 'ask.closed', askId: 'a', how: 'answered' });
  assert.equal(await stage.key('Escape'), true);
  await stage.key('Escape');
  assert.deepEqual(stage.intents, []);
  assert.match(stage.text('.said'), /Ignored right after an answer/);
  await stage.type('on');
  await stage.key('n');
  await stage.key('Escape');
  assert.deepEqual(stage.intents, [{ type: 'cancel' }]);
});

test('what a rule answers leaves Escape as it is', async () => {
  const turnId = running.turns?.at(-1)?.id ?? '';
  const decision = { kind: 'approval', by: 'rule', effect: 'allow_once' } as const;
  const ask: Ask = { kind: 'approval', id: 'a', turnId, title: 'Run', detail: { type: 'text', text: 'x' }, options: [], decision };
  const stage = await Stage.open(session({ ...running, asks: [ask] }));
  await stage.happen({ type: 'ask.closed', askId: 'a', how: 'answered' });
  await stage.key('Escape');
  assert.deepEqual(stage.intents, [{ type: 'cancel' }]);
});

test('Escape that closed a quick-pick, of whichever session, stops nothing when it is pressed once more', async () => {
  const stage = await Stage.open(session(running));
  stage.post({ type: 'pick', ask: { sessionId: 'other', askId: 'a' } });
  stage.post({ type: 'pick' });
  await stage.key('Escape');
  assert.deepEqual(stage.intents, []);
  stage.root.dispatchEvent(new window.Event('pointerdown') as never);
  await stage.key('Escape');
  assert.deepEqual(stage.intents, [{ type: 'cancel' }]);
});

test('the letter of an answer, typed before the next quick-pick is there, is no message and stays nowhere', async (t) => {
  const now = t.mock.method(performance, 'now', () => 10_000);
  const prompts = ({ intents }: Stage) => intents.filter(({ type }) => type === 'prompt');
  const stage = await Stage.open(session(running));
  await stage.type('a draft');
  stage.composer.dispatchEvent(new window.Event('blur') as never);
  for (const letter of ['a', 'R', 's']) {
    stage.post({ type: 'pick', ask: { sessionId: 'other', askId: letter } });
    stage.post({ type: 'pick' });
    await stage.type(`a draft${letter}`);
    await stage.key('Enter');
    assert.equal(stage.composer.value, 'a draft');
    // The pick comes before Enter.
    await stage.type(`a draft${letter}`);
    stage.post({ type: 'pick', ask: { sessionId: 'other', askId: `${letter}2` } });
    await stage.settle();
    assert.equal(stage.composer.value, 'a draft');
  }
  assert.deepEqual(prompts(stage), []);
  assert.match(stage.text('.said'), /Ignored right after an answer/);
  stage.post({ type: 'pick' });
  now.mock.mockImplementation(() => 20_000);
  await stage.type('a drafts');
  await stage.key('Enter');
  assert.equal(prompts(stage).length, 1, 'later it is a text as any other');
});

test('a word right after an answer is sent, and so is a letter once nothing runs', async () => {
  for (const [now, text] of [
    [running, 'yes'],
    [{}, 'a'],
  ] as const) {
    const stage = await Stage.open(session(now));
    stage.post({ type: 'pick', ask: { sessionId: 'other', askId: 'a' } });
    stage.post({ type: 'pick' });
    await stage.type(text);
    await stage.key('Enter');
    assert.equal(stage.intents.length, 1, text);
  }
});

test('@ asks the host for files; the chosen one goes along with the prompt for as long as it is named', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('look at @ser');
  assert.deepEqual(stage.calls('findMentions'), [{ query: 'ser' }]);
  const call = stage.sent.findLast((message) => message.type === 'call');
  assert.ok(call?.type === 'call');
  stage.post({ type: 'reply', id: call.id, result: [{ kind: 'file', path: '/code/sample/src/server.ts', label: 'src/server.ts' }] });
  await stage.settle();
  await stage.key('Enter');
  assert.equal(stage.composer.value, 'look at @src/server.ts ');
  await stage.key('Enter');
  assert.deepEqual(
    stage.intents.map((intent) => intent.type === 'prompt' && intent.content),
    [
      [
        { type: 'text', text: 'look at @src/server.ts' },
        { type: 'file', path: '/code/sample/src/server.ts' },
      ],
    ],
  );
});

test('a message that is recalled keeps the files it names, from this session and from another', async () => {
  const content = [
    { type: 'text', text: 'look at @src/server.ts' },
    { type: 'file', path: '/code/sample/src/server.ts' },
  ] as const;
  const state = { saved: undefined };
  const sendRecalled = async (stage: Stage) => {
    await stage.key('ArrowUp');
    assert.equal(stage.text('.composer-marks mark'), '@src/server.ts');
    await stage.key('Enter');
    const intent = stage.intents.at(-1);
    assert.deepEqual(intent?.type === 'prompt' && intent.content, content);
  };
  const said = await Stage.open(session({ turns: [turn({ prompt: content })] }), { state });
  await sendRecalled(said);
  window.dispatchEvent(new window.Event('pagehide') as never);
  await sendRecalled(await Stage.open(session({ id: 'other' }), { state }));
});

test('a dropped folder is attached as one, a file as a file', async () => {
  const stage = await Stage.open(session({}));
  const list = 'file:///code/sample/src\r\nfile:///code/sample/a.ts';
  const drop = new window.Event('drop', { bubbles: true, cancelable: true });
  Object.assign(drop, { dataTransfer: { files: [], getData: (type: string) => (type === 'text/uri-list' ? list : '') } });
  stage.find('.composer').dispatchEvent(drop as never);
  const { id, params } = await stage.call('folders');
  assert.deepEqual(params, { paths: ['/code/sample/src', '/code/sample/a.ts'] });
  stage.reply(id, ['/code/sample/src']);
  await stage.settle();
  await stage.type('look');
  await stage.key('Enter');
  const intent = stage.intents[0];
  assert.deepEqual(intent?.type === 'prompt' && intent.content.slice(1), [
    { type: 'file', path: '/code/sample/src/' },
    { type: 'file', path: '/code/sample/a.ts' },
  ]);
});

test('a file that is dropped and mentioned stands in the text alone, and is attached once', async () => {
  const stage = await Stage.open(session({}));
  const drop = async () => {
    stage.sent.length = 0;
    const event = new window.Event('drop', { bubbles: true, cancelable: true });
    const getData = (type: string) => (type === 'text/uri-list' ? 'file:///code/sample/notes.txt' : '');
    Object.assign(event, { dataTransfer: { files: [], getData } });
    stage.find('.composer').dispatchEvent(event as never);
    stage.reply((await stage.call('folders')).id, []);
    await stage.settle();
  };
  const mention = async () => {
    stage.sent.length = 0;
    await stage.type('@notes');
    const { id } = await stage.call('findMentions');
    stage.reply(id, [{ kind: 'file', path: '/code/sample/notes.txt', label: 'notes.txt' }]);
    await stage.settle();
    await stage.key('Enter');
  };
  await drop();
  await drop();
  assert.equal(stage.all('.attachment').length, 1, 'dropped twice');
  await mention();
  assert.equal(stage.all('.attachment').length, 0, 'mentioned, too');
  assert.deepEqual(
    stage.all('.composer-marks mark').map((one) => one.textContent),
    ['@notes.txt'],
  );
  await stage.type('');
  assert.equal(stage.all('.attachment').length, 1, 'not mentioned any more');
  await mention();
  await stage.key('Enter');
  const intent = stage.intents[0];
  assert.deepEqual(intent?.type === 'prompt' && intent.content.slice(1), [{ type: 'file', path: '/code/sample/notes.txt' }]);
});

test('files whose names are typed or pasted after an @ are attached, as many as a message takes, and the others are told of', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const stage = await Stage.open(session({}));
  const names = Array.from({ length: 250 }, (_, at) => `src/f${at}.ts`);
  stage.sent.length = 0;
  await stage.type(`Compare ${names.map((name) => `@${name}`).join(', ')} and @nobody. `);
  context.mock.timers.tick(200);
  for (const part of [names.slice(0, 100), names.slice(100, 200), [...names.slice(200), 'nobody']]) {
    const asked = stage.sent.findLast((message) => message.type === 'call' && message.method === 'existing');
    assert.ok(asked?.type === 'call' && asked.method === 'existing');
    assert.deepEqual(
      asked.params.paths,
      part.map((name) => `/code/sample/${name}`),
    );
    stage.reply(
      asked.id,
      asked.params.paths.filter((path) => !path.endsWith('nobody')),
    );
    await stage.settle();
  }
  assert.equal(stage.all('.composer-marks mark').length, 250);
  assert.equal(stage.text('.lost'), 'Only the first 199 attachments are sent; 51 are left out.');
  await stage.key('Enter');
  const intent = stage.intents[0];
  assert.equal(intent?.type === 'prompt' && intent.content.length, 200);
  assert.deepEqual(intent?.type === 'prompt' && intent.content[1], { type: 'file', path: '/code/sample/src/f0.ts' });
  assert.match(stage.root.textContent ?? '', /Only the first 199 attachments are sent/);
});

test('an answer about files that comes too late opens no menu', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('@a');
  const call = stage.sent.findLast((message) => message.type === 'call');
  await stage.type('something else');
  assert.ok(call?.type === 'call');
  stage.post({ type: 'reply', id: call.id, result: [{ kind: 'file', path: '/a', label: 'a' }] });
  await stage.settle();
  assert.equal(stage.root.querySelector('[role=listbox]'), null);
});

test('the arrows also reach what was sent in other sessions of the workspace, before the messages of this one', async () => {
  const said = turn({ id: 't0', prompt: [{ type: 'text', text: 'here' }] });
  const stage = await Stage.open(session({ turns: [said] }));
  for (const text of ['one', 'two', 'one']) {
    await stage.type(text);
    await stage.key('Enter');
  }
  const other = session({ id: 's2', turns: [said] });
  stage.post({ type: 'sessions', list: [], active: 's2', profiles: [] });
  stage.post({ type: 'snapshot', sessionId: 's2', seq: 0, session: other, answers: [] });
  await stage.settle();
  const seen: string[] = [];
  for (let key = 0; key < 4; key += 1) {
    stage.composer.setSelectionRange(0, 0);
    await stage.key('ArrowUp');
    seen.push(stage.composer.value);
  }
  assert.deepEqual(seen, ['here', 'one', 'two', 'two']);
});

test('the arrows go through what was said before, and back to what was being typed', async () => {
  const said = ['first', 'second'].map((text, index) => turn({ id: `t${index}`, prompt: [{ type: 'text', text }] }));
  const stage = await Stage.open(session({ turns: said }));
  await stage.type('new');
  stage.composer.setSelectionRange(0, 0);
  await stage.key('ArrowUp');
  assert.equal(stage.composer.value, 'second');
  await stage.key('ArrowUp');
  assert.equal(stage.composer.value, 'first');
  await stage.key('ArrowUp');
  assert.equal(stage.composer.value, 'first');
  stage.composer.setSelectionRange(5, 5);
  await stage.key('ArrowDown');
  await stage.key('ArrowDown');
  assert.equal(stage.composer.value, 'new');
});

test('while an earlier conversation is read there is Stop, by Escape too', async () => {
  const stage = await Stage.open(session({ link: { state: 'opening', note: 'Reading', stops: true } }));
  await stage.press('Stop');
  await stage.key('Escape');
  assert.deepEqual(stage.intents, [{ type: 'cancel' }, { type: 'cancel' }]);
});

test('while a turn runs there is Stop; what waits can be edited, removed or sent now', async () => {
  const stage = await Stage.open(session({ ...running, queue: [{ turnId: 'q1', content: [{ type: 'text', text: 'later' }] }] }));
  await stage.press('Stop');
  assert.deepEqual(stage.intents, [{ type: 'cancel' }]);
  await stage.press('Send', '.queue');
  assert.deepEqual(stage.intents.slice(1), [
    { type: 'unqueue', turnId: 'q1' },
    { type: 'steer', turnId: 'q1', content: [{ type: 'text', text: 'later' }] },
  ]);
  await stage.press('Edit', '.queue');
  assert.equal(stage.composer.value, 'later');
  assert.deepEqual(stage.intents.at(-1), { type: 'unqueue', turnId: 'q1' });
});

test('Ctrl+Enter, on a Mac Command+Enter, sends into the running turn, where the agent takes that', async () => {
  for (const key of ['ctrlKey', 'metaKey'] as const) {
    const stage = await Stage.open(running);
    await stage.type('wait');
    await stage.key('Enter', { [key]: true });
    assert.deepEqual(
      stage.intents.map((intent) => intent.type),
      ['steer'],
    );
  }
  assert.equal(steerKey('Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Code/1.105.0 Electron/37'), '⌘↩');
  assert.equal(steerKey('Mozilla/5.0 (Windows NT 10.0; Win64; x64) Code/1.105.0 Electron/37'), 'Ctrl+Enter');
});

test('what the host inserts goes to the caret or becomes an attachment that can be removed', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('ab');
  stage.composer.setSelectionRange(1, 1);
  stage.post({ type: 'insert', content: { type: 'text', text: '-x-' } });
  stage.post({ type: 'insert', content: { type: 'file', path: '/code/sample/a.ts', lines: [2, 4] } });
  stage.post({ type: 'insert', content: { type: 'file', path: '/code/sample/b.ts' } });
  await stage.settle();
  assert.equal(stage.composer.value, 'a-x-b');
  await stage.press('Remove: b.ts');
  await stage.key('Enter');
  assert.deepEqual(
    stage.intents.map((intent) => intent.type === 'prompt' && intent.content),
    [
      [
        { type: 'text', text: 'a-x-b' },
        { type: 'file', path: '/code/sample/a.ts', lines: [2, 4] },
      ],
    ],
  );
});

test('draft, attachments and what was unfolded are there again after a reload', async () => {
  const state = { saved: undefined as unknown };
  const shown = session({ turns: [turn({ parts: [{ kind: 'thought', id: 'th', text: 'Deep.' }] })] });
  const first = await Stage.open(shown, { state });
  await first.type('half a thou');
  const fold = first.find<HTMLDetailsElement>('details.thought');
  fold.open = true;
  fold.dispatchEvent(new Event('toggle'));
  await first.settle();
  window.dispatchEvent(new Event('pagehide'));
  const second = await Stage.open(shown, { state });
  assert.equal(second.composer.value, 'half a thou');
  assert.ok(second.find<HTMLDetailsElement>('details.thought').open);
  assert.match(second.text('details.thought'), /Deep\./);
});

test('a picture of a screen is there again after a reload; of more than fits, what does', async () => {
  const state = { saved: undefined as unknown };
  const shown = session({});
  const picture = (bytes: number) => ({ type: 'image', mime: 'image/png', data: 'A'.repeat(bytes) }) as const;
  const first = await Stage.open(shown, { state });
  for (const bytes of [11_000_000, 9_000_000, 1000]) first.post({ type: 'insert', content: picture(bytes) });
  await first.type('what is this?');
  await first.settle();
  window.dispatchEvent(new Event('pagehide'));
  const second = await Stage.open(shown, { state });
  assert.equal(second.composer.value, 'what is this?');
  const kept = second.all('.attachment .thumb').map((thumb) => thumb.getAttribute('src')?.split(',')[1]?.length);
  assert.deepEqual(kept, [11_000_000, 1000]);
});

test('a draft that lost a picture to a reload says so until the user closes that, attaches again or sends', async () => {
  const state = { saved: undefined as unknown };
  const shown = session({});
  const picture = (bytes: number) => ({ type: 'image', mime: 'image/png', data: 'A'.repeat(bytes) }) as const;
  const lost = (stage: Stage) => stage.root.querySelector('.lost')?.textContent?.trim() ?? '';
  const reloaded = async () => {
    window.dispatchEvent(new Event('pagehide'));
    return Stage.open(shown, { state });
  };
  const first = await Stage.open(shown, { state });
  first.post({ type: 'insert', content: picture(17_000_000) });
  await first.settle();
  assert.equal(lost(first), '', 'it is there');
  for (const end of ['close', 'attach', 'send']) {
    const second = await reloaded();
    assert.match(lost(second), /too large to keep/, end);
    if (end === 'close') await second.press('Close');
    else if (end === 'attach') second.post({ type: 'insert', content: picture(1000) });
    else await second.key('Enter');
    await second.settle();
    assert.equal(lost(second), '', end);
    assert.equal(lost(await reloaded()), '', `${end}, for good`);
    const next = await Stage.open(shown, { state });
    next.post({ type: 'insert', content: picture(17_000_000) });
    await next.settle();
  }
});

test('what is typed without a session begins one and is sent to it', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const stage = await Stage.open(undefined);
  await stage.type('What is in this workspace?');
  await stage.key('Enter');
  assert.deepEqual(stage.calls('newSession'), [], 'the host may be starting one by itself');
  context.mock.timers.tick(3000);
  assert.deepEqual(stage.calls('newSession'), [{ ifNone: true }], 'the host may only be slow');
  assert.deepEqual(stage.intents, []);
  const begun = session({ id: 's9' });
  stage.post({ type: 'sessions', list: [], active: 's9', profiles: [] });
  stage.post({ type: 'snapshot', sessionId: 's9', seq: 0, session: begun, answers: [] });
  await stage.settle();
  assert.deepEqual(
    stage.sent.filter((message) => message.type === 'intent').map((message) => message.type === 'intent' && message.sessionId),
    ['s9'],
  );
});

test('what was sent without a session stands in the composer again when none could be begun, with what was typed since', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  for (const end of ['none', 'failure'] as const) {
    const stage = await Stage.open(undefined);
    await stage.type('What is in this workspace?');
    await stage.key('Enter');
    await stage.type('And why?');
    context.mock.timers.tick(5000);
    const call = stage.sent.find((message) => message.type === 'call' && message.method === 'newSession');
    assert.ok(call?.type === 'call');
    stage.post(end === 'none' ? { type: 'reply', id: call.id, result: null } : { type: 'failed', id: call.id, message: 'no room' });
    await stage.settle();
    assert.equal(stage.composer.value, 'What is in this workspace?\n\nAnd why?', end);
    assert.deepEqual(stage.intents, []);
  }
});

test('what waits for a session is seen meanwhile, in its order; each is edited, removed, or stopped', async () => {
  const stage = await Stage.open(undefined);
  for (const text of ['first', 'second', 'third']) {
    await stage.type(text);
    await stage.key('Enter');
  }
  const waiting = () => stage.all('.queue-text').map((one) => one.textContent);
  assert.deepEqual(waiting(), ['first', 'second', 'third']);
  assert.equal(stage.text('.banner'), 'Starting Parley…');
  assert.equal(stage.composer.value, '');
  await stage.press('Remove', '.queue li:nth-child(2)');
  assert.deepEqual(waiting(), ['first', 'third']);
  await stage.press('Edit', '.queue li:nth-child(1)');
  assert.deepEqual([waiting(), stage.composer.value], [['third'], 'first']);
  await stage.press('Stop');
  assert.deepEqual([waiting(), stage.composer.value], [[], 'third\n\nfirst']);
  await stage.key('Enter');
  await stage.type('last');
  await stage.key('Enter');
  stage.post({ type: 'sessions', list: [], active: 's9', profiles: [] });
  stage.post({ type: 'snapshot', sessionId: 's9', seq: 0, session: session({ id: 's9' }), answers: [] });
  await stage.settle();
  const sent = stage.intents.map((intent) => intent.type === 'prompt' && intent.content.map((one) => one.type === 'text' && one.text));
  assert.deepEqual(sent, [['third\n\nfirst'], ['last']]);
  assert.deepEqual(waiting(), []);
});

test('what waits for a session is in the composer again after the page was closed', async () => {
  const state = { saved: undefined };
  const stage = await Stage.open(undefined, { state });
  await stage.type('Hello');
  await stage.key('Enter');
  window.dispatchEvent(new window.Event('pagehide'));
  assert.equal((await Stage.open(undefined, { state })).composer.value, 'Hello');
});

test('what is typed before the session is there goes to the one that comes by itself, and begins no other', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const stage = await Stage.open(undefined);
  await stage.type('Hello');
  await stage.key('Enter');
  stage.post({ type: 'sessions', list: [], active: 's9', profiles: [] });
  stage.post({ type: 'snapshot', sessionId: 's9', seq: 0, session: session({ id: 's9' }), answers: [] });
  await stage.settle();
  context.mock.timers.tick(5000);
  assert.deepEqual(stage.calls('newSession'), []);
  assert.deepEqual(
    stage.intents.map((intent) => intent.type === 'prompt' && intent.content),
    [[{ type: 'text', text: 'Hello' }]],
  );
});

test('what is held says so and is sent or removed one by one; during a turn it goes to its end', async () => {
  const queue = [
    { turnId: 'q1', content: [{ type: 'text', text: 'held one' }], held: true },
    { turnId: 'q2', content: [{ type: 'text', text: 'waiting' }] },
  ] as const;
  const idle = await Stage.open(session({ queue: queue.slice(0, 1) }));
  assert.match(idle.text('.queue li'), /held one\s+Held/);
  await idle.press('Send', '.queue');
  await idle.press('Remove', '.queue');
  assert.deepEqual(idle.intents, [
    { type: 'prompt', turnId: 'q1', content: queue[0].content },
    { type: 'unqueue', turnId: 'q1' },
  ]);
  const busy = await Stage.open(session({ turns: [turn({ status: 'running' })], queue, link: { state: 'ready', offers: {} } }));
  assert.equal(busy.all('.queue .tag').length, 1);
  await busy.press('Send when this turn has ended', '.queue');
  assert.deepEqual(busy.intents, [{ type: 'prompt', turnId: 'q1', content: queue[0].content }]);
});

test('a prompt that waits for the look at the files says so', async () => {
  const queue = [{ turnId: 'q1', content: [{ type: 'text', text: 'go' }] }] as const;
  const link = { state: 'ready', offers: {} } as const;
  assert.match((await Stage.open(session({ queue, link }))).text('.queue [role=status]'), /Looking at the files…/);
  const busy = await Stage.open(session({ queue, link, turns: [turn({ status: 'running' })] }));
  assert.doesNotMatch(busy.text('.queue'), /Looking/);
});

test('a turn that failed gives back what was said, attachments too, while what is written waits', async () => {
  const prompt = [
    { type: 'text', text: 'look at this' },
    { type: 'image', mime: 'image/png', data: 'AAAA' },
  ] as const;
  const error = { message: 'This agent cannot do this.', next: ['retry'] } as const;
  const stage = await Stage.open(session({ turns: [turn({ prompt, status: 'failed', error })] }));
  await stage.type('typed since');
  await stage.press('Edit Message and Send It Again');
  assert.equal(stage.composer.value, 'look at this');
  assert.equal(document.activeElement, stage.composer);
  await stage.key('Enter');
  const sent = stage.intents.at(0);
  assert.deepEqual(sent?.type === 'prompt' && sent.content, prompt);
  assert.equal(stage.composer.value, 'typed since');
});

test('what was said into the turn and is not taken up yet is in sight; a limit is a warning, no failure', async () => {
  const parts = [
    { kind: 'prompt', id: 's', content: [{ type: 'text', text: 'also this' }], pending: true },
    { kind: 'text', id: 'p', text: 'Working on it' },
  ] as const;
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', parts })] }));
  assert.match(stage.text('.pending'), /also this\s+Sent\./);
  const limit = { message: 'The agent stopped after 3 steps.', next: ['continue'] } as const;
  const ended = await Stage.open(session({ turns: [turn({ status: 'done', error: limit })] }));
  assert.match(ended.text('.level-warn'), /after 3 steps/);
  assert.equal(ended.all('.level-error').length, 0);
});

test('while an agent does not stop, Stop and Escape stay in reach and the reason is read', async () => {
  const stage = await Stage.open(running);
  await stage.type('half a thought');
  assert.equal(await stage.key('Escape'), true);
  const turnId = running.turns[0]?.id ?? '';
  await stage.happen({ type: 'turn.stopping', turnId });
  await stage.happen({ type: 'notice', notice: { level: 'warn', text: 'The agent is not stopping.', next: ['restart'], turnId } });
  assert.match(stage.text('.notices'), /The agent is not stopping\..*Restart/);
  assert.equal(stage.find<HTMLButtonElement>('button.stop').disabled, false);
  await stage.press('Stop');
  await stage.key('Escape');
  assert.deepEqual(
    stage.intents.map((intent) => intent.type),
    ['cancel', 'cancel', 'cancel'],
  );
  assert.equal(stage.composer.value, 'half a thought');
});

test('Escape stops nothing where nothing runs', async () => {
  const idle = await Stage.open(session({}));
  assert.equal(await idle.key('Escape'), false);
  assert.deepEqual(idle.intents, []);
});

test('what is being typed when the first session comes goes on in it, and takes no other draft away', async () => {
  const come = async (stage: Stage, id: string) => {
    stage.post({ type: 'sessions', list: [], active: id, profiles: [] });
    stage.post({ type: 'snapshot', sessionId: id, seq: 0, session: session({ id }), answers: [] });
    await stage.settle();
  };
  const stage = await Stage.open(undefined);
  await stage.type('Half a sent');
  await come(stage, 's9');
  assert.equal(stage.composer.value, 'Half a sent');
  await come(stage, 's10');
  assert.equal(stage.composer.value, '', 'it belongs to one session');
  const memories = [
    ['', { draft: 'of nobody' }],
    ['s9', { draft: 'of its own' }],
  ];
  const again = await Stage.open(undefined, { state: { saved: { memories } } });
  await come(again, 's9');
  assert.equal(again.composer.value, 'of its own\nof nobody');
});
