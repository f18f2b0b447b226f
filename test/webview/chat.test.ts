import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Part } from '../../src/session/model.ts';
import { window } from './dom.ts';
import { callPart, session, sessions, textPart, turn } from './page/sessions.ts';
import { Stage } from './stage.ts';

const click = () => new window.MouseEvent('click', { bubbles: true, cancelable: true, detail: 1 }) as never;

test('the view says ready before anything else', async () => {
  const stage = await Stage.open(session({}));
  assert.deepEqual(stage.sent[0], { type: 'ready' });
});

test('marks that turn the reading direction are written out in titles, notices, faults and what is spoken', async () => {
  const turned = 'N \u202eeciton';
  const failed = turn({ status: 'failed', error: { message: turned } });
  const title = { title: turned, agent: { protocol: 'p', name: turned } };
  const stage = await Stage.open(session({ ...title, turns: [failed], notices: [{ level: 'warn', text: turned }] }));
  for (const place of ['.title', '.agent', '.notices', '.fault']) assert.match(stage.text(place), /N ⟨U\+202E⟩eciton/, place);
  // After the page: what it draws with wants a document.
  const { announcement } = await import('../../webview/page.ts');
  const spoken = announcement([{ type: 'notice', notice: { level: 'warn', text: turned } }], session({}));
  assert.equal(spoken, 'N ⟨U+202E⟩eciton');
});

test('a prompt from another client of the agent host names that client', async () => {
  const stage = await Stage.open(session({ turns: [turn({}), turn({ id: 't2', sender: 'Phone \u202eeciton' })] }));
  assert.deepEqual(
    stage.all('.sender').map((one) => one.textContent),
    ['Phone ⟨U+202E⟩eciton'],
  );
  await stage.happen({ type: 'turn.sender', turnId: 't1', sender: 'VS Code' });
  assert.equal(stage.text('[data-turn=t1] .sender'), 'VS Code');
});

test('a picture without content says so', async () => {
  const content = { type: 'image', mime: 'image/png', data: '' } as const;
  const stage = await Stage.open(session({ turns: [turn({ parts: [{ kind: 'content', id: 'c', content }] })] }));
  assert.match(stage.text('.answer'), /Image/);
  assert.equal(stage.all('img').length, 0);
});

test('every kind of part is drawn, in the order of the turn', async () => {
  const stage = await Stage.open(sessions.everything);
  const answer = stage.find('[data-turn=t1] > .answer');
  const looks = [...answer.children].map((child) => child.className.split(' ')[0]);
  assert.deepEqual(looks.slice(1, 8), ['fold', 'markdown', 'call', 'call', 'call', 'call', 'call']);
  assert.match(stage.text('[data-turn=t1]'), /Also say so in the docs\..*The context was shortened\..*Done: the port/);
  assert.match(stage.text('.strip'), /trying again in 4 s/);
});

test('a call says what it does and what came of it in words, not by colour alone', async () => {
  const words = {
    pending: 'Reading src/a.ts',
    running: 'Reading src/a.ts',
    done: 'Read src/a.ts',
    failed: 'Could not read src/a.ts',
    rejected: 'Rejected src/a.ts',
    cancelled: 'Stopped src/a.ts',
  } as const;
  for (const [status, word] of Object.entries(words)) {
    const stage = await Stage.open(
      session({ turns: [turn({ status: 'running', parts: [callPart({ status: status as keyof typeof words })] })] }),
    );
    assert.equal(stage.text('.call-title'), word);
    assert.deepEqual(
      stage.all('.bad').map((one) => one.textContent?.trim()),
      status === 'failed' ? ['Could not read'] : [],
    );
  }
});

test('a call whose title is as long as a page is one row all the same', async () => {
  const call = { id: 'c', kind: 'fetch', name: 'tool', title: 'word '.repeat(200_000), status: 'running' } as const;
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', parts: [callPart(call)] })] }));
  assert.ok(stage.text('.call-title').length <= 400);
});

test('what waits stands open on its call as long as no question shows it', async () => {
  const output = [{ kind: 'content', content: { type: 'text', text: 'rm -rf x' } }] as const;
  const waits = { turns: [turn({ status: 'running', parts: [callPart({ status: 'waiting', output })] })] };
  const ask = sessions.asking?.asks.find((one) => one.kind === 'approval');
  const alone = await Stage.open(session(waits));
  assert.match(alone.text('.call-body'), /rm -rf x/);
  const asked = await Stage.open(session({ ...waits, asks: ask ? [{ ...ask, callId: 'c1' }] : [] }));
  assert.deepEqual(asked.all('.call-body'), []);
});

test('what a sub-agent does stands under its call', async () => {
  const stage = await Stage.open(sessions.everything);
  const toggle = stage.all('.call-toggle').find((one) => one.textContent?.includes('Sub-agent'));
  assert.ok(toggle);
  assert.equal(toggle.getAttribute('aria-expanded'), 'false');
  toggle.dispatchEvent(click());
  await stage.settle();
  assert.match(stage.text('.inside'), /Search for start\(.*Two callers/);
  assert.ok(!stage.all('[data-turn=t1] > .answer > .call').some((call) => call.textContent?.startsWith('Search for')));
});

test('a turn in which the user said nothing has no empty bubble', async () => {
  const stage = await Stage.open(session({ turns: [turn({ prompt: [], parts: [{ kind: 'text', id: 'x', text: 'Gone on.' }] })] }));
  assert.deepEqual([stage.all('.turn .prompt').length, stage.text('.turn .markdown')], [0, 'Gone on.']);
});

test('a part whose call is not in the turn is shown, not lost', async () => {
  const stage = await Stage.open(session({ turns: [turn({ parts: [{ kind: 'text', id: 'x', parent: 'gone', text: 'Here.' }] })] }));
  assert.equal(stage.text('.markdown'), 'Here.');
});

test('text that streams in touches its own element only', async () => {
  const stage = await Stage.open(
    session({
      turns: [turn({ id: 't0', parts: [textPart('Old.')] }), turn({ status: 'running', parts: [callPart(), textPart('New', 'p2')] })],
    }),
  );
  const records: MutationRecord[] = [];
  const observer = new MutationObserver((list) => void records.push(...list));
  observer.observe(stage.root, { subtree: true, childList: true, characterData: true, attributes: true });
  await stage.happen({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p2', text: ' words' });
  observer.disconnect();
  assert.equal(stage.text('[data-turn=t1] .markdown'), 'New words');
  const touched = records.filter(
    (record) =>
      // The clock above the composer goes on.
      !(record.target as Element | Text).parentElement?.closest('[data-turn=t1] .markdown, .strip-line') &&
      !(record.target as Element).closest?.('[data-turn=t1] .markdown'),
  );
  assert.deepEqual(
    touched.map((record) => (record.target as Element).className),
    [],
  );
});

test('parts that are taken back vanish; what comes instead is drawn', async () => {
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', parts: [textPart('First try')] })] }));
  await stage.happen(
    { type: 'parts.removed', turnId: 't1', partIds: ['p1'] },
    { type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p1', text: 'Second' },
  );
  assert.equal(stage.text('.answer .markdown'), 'Second');
});

test('links open through the host: addresses outside, files with their line and column', async () => {
  const stage = await Stage.open(
    session({
      turns: [turn({ parts: [textPart('[a](https://example.com/x) [b](src/b.ts#L7) [c](src/c.ts:2:5) [d](javascript:alert(1))')] })],
    }),
  );
  for (const link of stage.all('.markdown a')) {
    const event = new window.MouseEvent('click', { bubbles: true, cancelable: true });
    link.dispatchEvent(event as never);
    assert.ok(event.defaultPrevented);
  }
  assert.deepEqual(stage.calls('openLink'), [{ uri: 'https://example.com/x' }]);
  assert.deepEqual(stage.calls('open'), [
    { path: '/code/sample/src/b.ts', line: 7 },
    { path: '/code/sample/src/c.ts', line: 2, column: 5 },
  ]);
});

test('code is inserted at the cursor as it was written', async () => {
  const stage = await Stage.open(session({ turns: [turn({ parts: [textPart('```js\nlet a;\n\nlet b;\n```')] })] }));
  await stage.press('Insert at cursor');
  assert.deepEqual(stage.calls('insertAtCursor'), [{ text: 'let a;\n\nlet b;' }]);
});

test('terminal output is shown without control sequences, and the end of it', async () => {
  const stage = await Stage.open(sessions.everything);
  await stage.press('Ran npm test', '[data-turn=t1]');
  assert.equal(stage.find('.terminal-output').textContent, '✓ starts\n✓ stops\n100%\n2 passed');
  await stage.press('Open Terminal');
  assert.equal(stage.calls('openTerminal').length, 1);
});

test('one command, and one call, can be stopped while they run, where the agent takes that', async () => {
  const call = { id: 'c', name: 'run', title: 'npm test', kind: 'execute', inputText: '', locations: [] } as const;
  const output = [{ kind: 'terminal', terminalId: 'x' }] as const;
  const terminal = { id: 'x', command: 'npm test', tail: 'on\n', dropped: 0, stops: true };
  const at = (status: 'running' | 'done', exit?: { readonly code: number; readonly signal: null }) =>
    session({
      turns: [turn({ status: 'running', parts: [{ kind: 'call', id: 'c', call: { ...call, status, output, stops: true } }] })],
      terminals: [{ ...terminal, ...(exit ? { exit } : {}) }],
    });
  const stage = await Stage.open(at('running'));
  await stage.press('Stop');
  await stage.press('Stop: npm test');
  assert.deepEqual(stage.intents, [
    { type: 'stopTerminal', terminalId: 'x' },
    { type: 'stopCall', callId: 'c' },
  ]);
  const after = await Stage.open(at('done', { code: 0, signal: null }));
  assert.equal(after.all('button').filter((one) => /^Stop (npm|this)/.test(one.getAttribute('aria-label') ?? '')).length, 0);
});

test('a call that is over while its command runs on reads as running', async () => {
  const call = { id: 'c', name: 'run', title: 'npm start', kind: 'execute', inputText: '', locations: [], status: 'done' } as const;
  const part = { kind: 'call', id: 'c', call: { ...call, output: [{ kind: 'terminal', terminalId: 'x' }] } } as const;
  const terminal = { id: 'x', command: 'npm start', tail: '', dropped: 0, stops: true };
  const ended = { ...terminal, exit: { code: 0, signal: null } };
  const read = async (one: typeof terminal) =>
    (await Stage.open(session({ turns: [turn({ parts: [part] })], terminals: [one] }))).text('.call-title');
  assert.deepEqual([await read(terminal), await read(ended)], ['Running npm start', 'Ran npm start']);
});

test('whatever arrives between two frames is drawn once', async () => {
  const stage = await Stage.open(session({ turns: [turn({ status: 'running' })] }));
  const { session: before } = stage;
  assert.ok(before?.turns[0]);
  const [{ id: turnId }] = before.turns;
  const native = globalThis.requestAnimationFrame;
  let frames = 0;
  globalThis.requestAnimationFrame = (callback) => {
    frames += 1;
    return native(callback);
  };
  try {
    for (let seq = 1; seq <= 500; seq += 1) {
      const grew = { type: 'text.delta', turnId, kind: 'text', partId: 'p', text: `${seq} ` } as const;
      stage.post({ type: 'patch', sessionId: before.id, from: seq, seq, events: [grew] });
    }
    assert.equal(frames, 1);
  } finally {
    globalThis.requestAnimationFrame = native;
  }
  await stage.settle();
  assert.match(stage.text('[data-turn]'), /499 500/);
});

test('changed files are listed after the turn; taking back asks once more', async () => {
  const stage = await Stage.open(sessions.everything);
  assert.match(stage.text('.changes'), /2 files changed.*src\/server\.ts \+2 −1.*docs\/port\.md new \+3/);
  await stage.press('Undo: src/server.ts');
  assert.deepEqual(stage.calls('settleFile'), []);
  await stage.press('Undo');
  assert.deepEqual(stage.calls('settleFile'), [{ sessionId: 's1', turnId: 't1', path: '/code/sample/src/server.ts', how: 'undo' }]);
  await stage.press('Open Changes: docs/port.md');
  assert.deepEqual(stage.calls('review'), [{ sessionId: 's1', turnId: 't1', path: '/code/sample/docs/port.md' }]);
});

test('files found on the disk stand in place of what calls told, each with its origin, and a decision takes its buttons away', async () => {
  const stage = await Stage.open(sessions.everything);
  const files = [
    { path: '/code/sample/src/server.ts', change: 'changed', added: 2, removed: 1, review: 'open' },
    { path: '/code/sample/old.md', change: 'deleted', added: 0, removed: 9, review: 'kept' },
    { path: '/code/sample/big.bin', change: 'changed', review: 'unkept' },
    { path: '/code/sample/made.md', change: 'created', added: 4, removed: 0, review: 'undone' },
    { path: '/code/sample/logo.png', change: 'changed', review: 'open' },
    { path: '/code/notes.md', change: 'changed', review: 'reported' },
    { path: '/code/sample/part.md', change: 'changed', added: 2, removed: 2, review: 'kept', hunks: { kept: 2, all: 3 } },
    { path: '/code/sample/half.md', change: 'changed', added: 3, removed: 3, review: 'open', hunks: { kept: 3, all: 4, open: 2 } },
    { path: '/code/sample/to.md', change: 'changed', from: '/code/sample/from.md', added: 0, removed: 0, review: 'open' },
    { path: '/code/sample/draft.md', change: 'created', added: 5, removed: 0, review: 'overtaken', later: 'deleted' },
    { path: '/code/sample/tried.md', change: 'changed', added: 1, removed: 1, review: 'overtaken', later: 'replaced' },
    { path: '/code/sample/final.md', change: 'deleted', added: 0, removed: 5, review: 'overtaken' },
  ] as const;
  const unlisted = { files: 3000, folders: ['node_modules'], between: ['src/late.ts', 'z'] };
  await stage.happen({ type: 'turn.files', turnId: 't1', files, unlisted });
  const text = stage.text('.changes');
  assert.match(text, /logo\.png binary, large or not UTF-8/);
  assert.match(text, /3012 files changed(?! Keep all)/, 'those that are not listed count, and no button seems to be about them');
  assert.match(text, /Not watched: \/code notes\.md/);
  assert.match(text, /part\.md \+2 −2 Kept 2\/3/);
  assert.match(text, /half\.md \+3 −3 Kept 1\/4 · Undone 1\/4/);
  assert.match(text, /from\.md → to\.md moved (?!\+)/);
  assert.match(text, /Changed on disk src\/server\.ts \+2 −1/);
  assert.match(text, /old\.md deleted −9 Kept/);
  assert.match(text, /big\.bin cannot be undone/);
  assert.match(text, /made\.md Undone/);
  assert.match(text, /draft\.md new \+5 deleted later.*tried\.md \+1 −1 replaced later.*final\.md deleted −5 (?!.*later)/);
  assert.match(text, /3000 files changed at once.*Not watched: node_modules Changed while no prompt ran: src\/late\.ts, z/);
  assert.doesNotMatch(text, /docs\/port/);
  await stage.press('Keep: src/server.ts');
  assert.deepEqual(stage.calls('settleFile'), [{ sessionId: 's1', turnId: 't1', path: '/code/sample/src/server.ts', how: 'keep' }]);
  await stage.press('old.md');
  assert.deepEqual(stage.calls('review'), [{ sessionId: 's1', turnId: 't1', path: '/code/sample/old.md' }], 'there is no file to open');
  await stage.press('Open Changes: draft.md');
  await stage.press('draft.md');
  assert.equal(stage.calls('review').length, 3, 'what it was can be looked at');
});

test('a changed notebook opens as its diff, as its own editor shows no changes; once that is undone, as itself', async () => {
  const stage = await Stage.open(sessions.everything);
  const notebook = { path: '/code/sample/plot.ipynb', change: 'changed', added: 1, removed: 1 } as const;
  await stage.happen({ type: 'turn.files', turnId: 't1', files: [{ ...notebook, review: 'open' }] });
  await stage.press('plot.ipynb');
  assert.deepEqual(stage.calls('review'), [{ sessionId: 's1', turnId: 't1', path: notebook.path }]);
  await stage.happen({ type: 'turn.files', turnId: 't1', files: [{ ...notebook, review: 'undone' }] });
  await stage.press('plot.ipynb');
  assert.equal(stage.calls('review').length, 1);
});

test('a file that a command changed stands under the command, whatever its agent calls it', async () => {
  const commands = ['make all', 'rm old.md'];
  const parts = commands.map((command) => callPart({ id: command, name: 'Shell', title: 'Shell', kind: 'execute', input: { command } }));
  const file = { change: 'changed', added: 1, removed: 1, review: 'open' } as const;
  const files = commands.map((callId, at) => ({ ...file, path: `/code/sample/${at}.md`, callId }));
  const stage = await Stage.open(session({ turns: [turn({ parts, files })] }));
  assert.match(stage.text('.changes'), /By make all 0\.md .*By rm old\.md 1\.md/);
});

test('what the agent was told beside a message is one line below it, which unfolds', async () => {
  const stage = await Stage.open(session({ turns: [turn({ corrections: 'The user changed your edit of a:\n-B\n+mine' })] }));
  assert.doesNotMatch(stage.text('.prompt'), /changed your edit/);
  const [line] = stage.all('[data-turn=t1] > details');
  assert.match(line?.textContent ?? '', /^\s*The agent was told what you changed\s*$/);
  line?.setAttribute('open', '');
  line?.dispatchEvent(new Event('toggle'));
  await stage.settle();
  assert.match(stage.text('[data-turn=t1] > details'), /-B\s+\+mine/);
});

test('an error says what to do next; a link that ended says why', async () => {
  const stage = await Stage.open(sessions.everything);
  await stage.press('Show Log');
  assert.deepEqual(stage.calls('remedy'), [{ sessionId: 's1', remedy: 'showLog' }]);
  const closed = await Stage.open(sessions.closed);
  assert.match(closed.text('.banner'), /stopped unexpectedly/);
  assert.doesNotMatch(closed.text('.banner'), /exit 1/, 'the technical side is for who asks');
  assert.deepEqual(
    closed.all('.banner .button').map((button) => button.textContent),
    ['Restart Agent'],
    'one remedy',
  );
  const details = closed.find<HTMLDetailsElement>('.banner details');
  details.open = true;
  details.dispatchEvent(new Event('toggle'));
  await closed.settle();
  assert.match(closed.text('.banner details'), /exit 1/);
  await closed.press('Another agent');
  assert.deepEqual(closed.calls('remedy'), [{ sessionId: 's1', remedy: 'pickAgent' }]);
});

test('a missing login has one remedy: the model of the included agent, or the sign-in of another', async () => {
  const error = { message: 'No.', next: ['configureModel', 'signIn', 'retry'] } as const;
  const remedies = async (model: { readonly model?: string }) => {
    const lines = [{ id: 's1', title: '', agent: 'A', profile: 'p', state: 'ready', asks: 0, at: 1, files: 0 }] as const;
    const stage = await Stage.open(session({ turns: [turn({ status: 'failed', error })] }), { lines });
    stage.post({ type: 'sessions', list: lines, active: 's1', profiles: [{ id: 'p', name: 'A', ...model }] });
    await stage.settle();
    return stage.all('.fault .actions > :not(.icon-button)').map((button) => button.textContent);
  };
  assert.deepEqual(await remedies({ model: '' }), ['Configure Model', 'Try again']);
  assert.deepEqual(await remedies({}), ['Sign in', 'Try again']);
});

test('a turn that broke off with its agent says why and what helps, in one place, before and after another agent is there', async () => {
  const stage = await Stage.open(session({ turns: [turn({ status: 'running' })] }));
  const remedies = () => stage.all('.fault .actions > :not(.icon-button)').map((button) => button.textContent);
  await stage.happen({
    type: 'link.closed',
    reason: 'qwen ended with exit code 53.',
    detail: 'out of cheese',
    next: ['restart', 'showLog'],
    at: 2,
  });
  assert.match(stage.text('[data-turn=t1]'), /exit code 53/);
  assert.deepEqual([stage.all('.banner').length, remedies()], [0, ['Try again']]);
  const [detail] = stage.all('.fault details');
  detail?.setAttribute('open', '');
  detail?.dispatchEvent(new Event('toggle'));
  await stage.settle();
  assert.match(stage.text('.fault'), /out of cheese/);
  assert.deepEqual(remedies(), ['Try again', 'Show Log']);
  await stage.happen({ type: 'link.opening' }, { type: 'link.ready', agent: { protocol: 'p', name: 'Q' }, offers: {} });
  assert.match(stage.text('[data-turn=t1]'), /exit code 53/);
  assert.deepEqual(remedies(), ['Try again']);
  await stage.happen({ type: 'link.closed', reason: 'The agent was stopped.', at: 3 });
  assert.match(stage.text('.banner'), /^The agent was stopped\./);
});

test('an agent that ends before anything was said shows what it wrote, and leads to its settings and to other agents', async () => {
  const stage = await Stage.open(session({ turns: [] }));
  await stage.happen({ type: 'link.closed', reason: 'It stopped.', detail: 'not logged in', next: ['restart', 'showLog'], at: 2 });
  assert.match(stage.text('.banner'), /not logged in/);
  const remedies = stage.all('.banner .button').map((button) => button.textContent);
  assert.deepEqual(remedies, ['Restart Agent', 'Show Log', 'Another agent', 'Open Settings']);
});

test('a call of the host that fails is told to the user, until they close it or do something else', async () => {
  const stage = await Stage.open(session({ turns: [turn({ parts: [callPart({ locations: [{ path: '/gone.ts' }] })] })] }));
  await stage.press('Read /gone.ts');
  await stage.press('/gone.ts');
  const call = stage.sent.findLast((message) => message.type === 'call');
  assert.ok(call?.type === 'call');
  stage.post({ type: 'failed', id: call.id, message: 'There is no such file.' });
  await stage.settle();
  assert.equal(stage.text('.said'), 'There is no such file.');
  assert.equal(stage.text('[role=status]'), 'There is no such file.');
  await stage.press('Close');
  assert.equal(stage.all('.said').length, 0);
  stage.post({ type: 'failed', id: call.id, message: 'There is no such file.' });
  await stage.press('/gone.ts');
  assert.equal(stage.all('.said').length, 0);
  const again = stage.sent.findLast((message) => message.type === 'call');
  assert.ok(again?.type === 'call');
  stage.post({ type: 'failed', id: again.id, message: 'There is no such file.' });
  await stage.settle();
  assert.equal(stage.all('.said').length, 1);
  await stage.type('then without it');
  await stage.key('Enter');
  assert.equal(stage.all('.said').length, 0);
});

test('an earlier conversation that is told is not said aloud, turn by turn', async () => {
  const stage = await Stage.open(session({ link: { state: 'opening' }, partial: true }));
  const told = (turnId: string) =>
    [
      { type: 'turn.started', turnId, at: 1, prompt: [] },
      { type: 'turn.ended', turnId, at: 2, status: 'done' },
    ] as const;
  await stage.happen(...told('old1'));
  assert.equal(stage.text('[role=status]'), '');
  await stage.happen(...told('old2'), { type: 'link.ready', agent: { protocol: 'p', name: 'Kimi' }, offers: {} }, ...told('new'));
  assert.match(stage.text('[role=status]'), /^\S.* is ready\. \S.*: Done$/);
});

test('the end of a turn is said aloud, the words that stream in are not', async () => {
  const stage = await Stage.open(session({ turns: [turn({ status: 'running' })] }));
  await stage.happen({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'Many words' });
  assert.equal(stage.text('[role=status]'), '');
  await stage.happen({ type: 'turn.ended', turnId: 't1', at: 1, status: 'done' });
  assert.equal(stage.text('[role=status]').replace(/^\S.*: /, ''), 'Done');
  await stage.happen({ type: 'turn.started', turnId: 't2', at: 2, prompt: [{ type: 'text', text: 'And?' }] });
  assert.equal(stage.text('[role=status]'), '');
});

test('without trust nothing can be started but the way to it', async () => {
  const stage = await Stage.open(undefined, { trusted: false });
  assert.equal(stage.root.querySelector('.example'), null);
  await stage.press('Manage workspace trust');
  assert.deepEqual(stage.calls('trustWorkspace'), [{}]);
});

test('texts come in the language that the host sends', async () => {
  const stage = await Stage.open(undefined, { strings: { 'New Session': '新会话', Send: '发送' } });
  assert.equal(stage.text('.title'), '新会话');
  assert.equal(stage.find('.send').getAttribute('aria-label'), '发送');
  await Stage.open(undefined);
});

test('of a long session the last turns are drawn first; earlier ones when they are wanted', async () => {
  const stage = await Stage.open(sessions.long);
  const first = stage.all('[data-turn]').length;
  assert.ok(first < 50);
  assert.equal(stage.find('[data-turn]').getAttribute('aria-setsize'), '500');
  stage.find('.earlier').dispatchEvent(click());
  await stage.settle();
  assert.ok(stage.all('[data-turn]').length > first);
});

test('names and paths of an agent cannot pass themselves off as others', async () => {
  const stage = await Stage.open(
    session({ turns: [turn({ parts: [callPart({ locations: [{ path: 'cat \u202egpj.exe' }], status: 'running' })] })] }),
  );
  assert.equal(stage.text('.call-title'), 'Reading cat ⟨U+202E⟩gpj.exe');
});

test('no script, handler or picture from elsewhere gets into the page from a session', async () => {
  const evil = '<img src=https://evil.test/x onerror=alert(1)><script>alert(1)</script>';
  const stage = await Stage.open(
    session({
      title: evil,
      turns: [
        turn({
          prompt: [{ type: 'text', text: evil }],
          parts: [
            textPart(evil),
            callPart({ title: evil, output: [{ kind: 'content', content: { type: 'text', text: evil } }], error: { message: evil } }),
            { kind: 'content', id: 'i', content: { type: 'image', mime: 'image/svg+xml', data: 'PHN2Zz4=' } },
            { kind: 'content', id: 'j', content: { type: 'image', mime: 'image/png"onerror="alert(1)', data: 'AAAA' } },
            { kind: 'content', id: 'k', content: { type: 'link', uri: 'command:workbench.action.quit', title: evil } },
          ],
        }),
      ],
    }),
  );
  assert.deepEqual(
    stage.all('script, iframe, img').map((element) => element.outerHTML),
    [],
  );
  for (const element of stage.all('*')) assert.ok(![...element.attributes].some(({ name }) => name.startsWith('on')), element.outerHTML);
});

test('how full the context is, from a share alone, and what runs in the background', async () => {
  const stage = await Stage.open(session({ usage: { share: 0.421 }, background: [{ id: 'b', text: 'npm run build' }] }));
  assert.match(stage.text('.composer-choices'), /In the background: 1/);
  const meter = stage.find('.composer-bar [role=meter]');
  assert.deepEqual([meter.getAttribute('aria-valuenow'), meter.getAttribute('aria-label')], ['42', 'Context 42 % full']);
});

test('what was said of one session is not what is said of the next', async () => {
  const stage = await Stage.open(session({ link: { state: 'opening' } }));
  await stage.happen({ type: 'link.ready', agent: { protocol: 'p', name: 'First' }, offers: {} });
  assert.match(stage.text('[role=status]'), /is ready/);
  stage.post({ type: 'sessions', list: [], active: 'other', profiles: [] });
  stage.post({
    type: 'snapshot',
    sessionId: 'other',
    seq: 0,
    session: { ...session({ link: { state: 'opening' } }), id: 'other' },
    answers: [],
  });
  await stage.settle();
  assert.equal(stage.text('[role=status]'), '');
});

test('a start can be stopped from the composer', async () => {
  const stage = await Stage.open(session({ link: { state: 'opening' } }));
  await stage.press('Stop');
  assert.deepEqual(stage.intents, [{ type: 'cancel' }]);
});

test('what the agent told a sub-agent is not said to be the words of the user', async () => {
  const parts = [
    callPart({ status: 'running' }),
    { kind: 'prompt', id: 'x', parent: callPart().id, content: [{ type: 'text', text: 'Look at it' }] },
  ] as const;
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', parts })] }));
  stage.find('.call-toggle').dispatchEvent(click());
  await stage.settle();
  assert.match(stage.text('.inside'), /The prompt for the sub-agent/);
  assert.equal(stage.all('.inside .prompt').length, 0);
  assert.ok(!stage.text('.inside').includes('You'));
});

test('a sub-agent at work is one row with its latest step; its report is told once', async () => {
  const agent = callPart({
    id: 'a',
    kind: 'other',
    name: 'Agent',
    title: 'Agent: Count the tests',
    input: { prompt: 'Count' },
    status: 'running',
  });
  const steps = [
    callPart({ id: 'b', parent: 'a' }),
    callPart({ id: 'c', parent: 'a', kind: 'search', name: 'Grep', status: 'running', input: { pattern: 'test(' } }),
  ];
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', parts: [agent, ...steps] })] }));
  assert.equal(stage.text('.call .words'), 'Sub-agent Count the tests 2 steps');
  assert.equal(stage.text('.latest'), 'Searching for test(');
  assert.equal(stage.all('.inside').length, 0);
  const report = 'There are **12** tests.';
  const done = callPart({
    id: 'a',
    kind: 'other',
    name: 'Agent',
    title: 'Agent: Count the tests',
    input: { prompt: 'Count' },
    output: [{ kind: 'content', content: { type: 'text', text: report } }],
  });
  const over = await Stage.open(
    session({ turns: [turn({ parts: [done, ...steps, { kind: 'text', id: 'p', parent: 'a', text: report }] })] }),
  );
  over.find('.call-toggle').dispatchEvent(click());
  await over.settle();
  assert.equal(over.text('.call-body').split('tests.').length - 1, 1);
  assert.equal(over.text('.call-body .markdown strong'), '12');
  assert.equal(over.all('.latest').length, 0);
});

test('an answered question keeps what was asked beside each answer', async () => {
  const decision = {
    kind: 'answers',
    values: [
      { label: 'Which database?', values: ['SQLite'] },
      { label: 'Checks', values: ['Types', 'Tests'] },
    ],
  } as const;
  const stage = await Stage.open(session({ turns: [turn({ parts: [callPart({ name: 'AskUserQuestion', kind: 'other', decision })] })] }));
  assert.equal(stage.text('.call .words .in-full'), 'Which database? SQLite · Checks: Types, Tests');
  assert.equal(stage.text('.call .words .in-short'), 'SQLite · Types, Tests', 'what a narrow row shows');
  stage.find('.call-toggle').dispatchEvent(click());
  await stage.settle();
  assert.equal(stage.text('.given'), 'Which database?SQLiteChecksTypes, Tests');
});

test('changed lines have the colours of their language, with the mark of what changed in them', async () => {
  const diff = { path: '/code/sample/a.ts', before: "const port = 'a'; // note\n", after: "const port = 'b'; // note\n" };
  const stage = await Stage.open(
    session({ turns: [turn({ status: 'running', parts: [callPart({ kind: 'edit', output: [{ kind: 'diff', diff }] })] })] }),
  );
  assert.deepEqual(
    stage.all('.l').map((line) => [line.dataset.s, line.textContent]),
    [
      ['−', "const port = 'a'; // note"],
      ['+', "const port = 'b'; // note"],
    ],
  );
  assert.equal(stage.text('.l[data-s="+"] .changed'), 'b');
  const looks = [{}, { colour: '#0000ff', font: 2 }, { colour: '#00ff00' }];
  for (const message of stage.sent)
    if (message.type === 'call' && message.method === 'colourCode') stage.reply(message.id, { looks, lines: [[5, 1, 13, 0, 7, 2]] });
  await stage.settle();
  const styled = stage
    .all('.l[data-s="+"] .coloured')
    .map(({ style, textContent }) => [textContent, style.getPropertyValue('--colour'), style.fontWeight]);
  assert.deepEqual(styled, [
    ['const', '#0000ff', 'bold'],
    ['// note', '#00ff00', ''],
  ]);
  assert.equal(stage.text('.l[data-s="+"] .changed'), 'b');
});

test('code has the colours that the host gives it, all of its text whatever the host says, and new ones at once in another theme', async (context) => {
  document.body.dataset.vscodeThemeId = 'Dark';
  const stage = await Stage.open(
    session({ turns: [turn({ parts: [textPart('```ts\nlet a;\nb\n```\n\n```diff\n--- a\n-old\n+new\n```')] })] }),
  );
  const asked = await stage.call('colourCode');
  assert.deepEqual(asked.params, { text: 'let a;\nb\n', language: 'ts', theme: 'Dark' });
  stage.reply(asked.id, {
    looks: [{}, { colour: '#111111' }],
    lines: [
      [3, 1, 900, 7],
      [0, 1],
      [4, 1],
      [1, 1],
    ],
  });
  await stage.settle();
  assert.equal(stage.find('code[data-language]').textContent, 'let a;\nb\n');
  assert.deepEqual(
    stage.all('code[data-language] span').map(({ style, textContent }) => [textContent, style.color]),
    [['let', '#111111']],
  );
  assert.deepEqual(
    stage.all('.added-line, .removed-line').map(({ textContent }) => textContent),
    ['-old', '+new'],
  );
  // A page that is never idle.
  context.mock.timers.enable({ apis: ['setTimeout'] });
  document.body.dataset.vscodeThemeId = 'Light';
  await stage.settle();
  assert.equal(stage.find('code[data-language]').innerHTML, 'let a;\nb\n', 'nothing keeps a colour of the other theme');
  assert.deepEqual(stage.calls('colourCode').at(-1), { text: 'let a;\nb\n', language: 'ts', theme: 'Light' });
  const colour = async (css: string) => {
    const last = stage.sent.findLast((message) => message.type === 'call' && message.method === 'colourCode');
    assert.ok(last?.type === 'call');
    stage.reply(last.id, { looks: [{}, { colour: css }], lines: [[3, 1]] });
    await stage.settle();
    assert.equal(stage.find('code[data-language] span').style.color, css);
  };
  await colour('#222222');
  // The user's own colours of code: the editor tells pages that there are others, not which.
  document.documentElement.style.setProperty('--vscode-foreground', '#333333');
  await stage.settle();
  assert.equal(stage.calls('colourCode').length, 3);
  await colour('#444444');
  document.documentElement.style.removeProperty('--vscode-foreground');
  delete document.body.dataset.vscodeThemeId;
});

test('two places that changed in a line are marked apart, and words between them are not', async () => {
  const diff = {
    path: '/code/sample/a.ts',
    before: 'open(first, here, and, there, last)\n',
    after: 'open(begin, here, and, there, end)\n',
  };
  const stage = await Stage.open(
    session({ turns: [turn({ status: 'running', parts: [callPart({ kind: 'edit', output: [{ kind: 'diff', diff }] })] })] }),
  );
  assert.deepEqual(
    stage.all('.changed').map((mark) => mark.textContent),
    ['first', 'last', 'begin', 'end'],
  );
  assert.equal(stage.text('.l[data-s="+"]'), 'open(begin, here, and, there, end)');
});

test('an error shows its code where it is a word, not a bare number', async () => {
  const failed = (code: string) => session({ turns: [turn({ status: 'failed', error: { message: 'No.', code } })] });
  assert.doesNotMatch((await Stage.open(failed('-32004'))).text('.fault'), /32004/);
  assert.match((await Stage.open(failed('rate_limit'))).text('.fault'), /rate_limit/);
});

test('the line above the composer has a clock, tells silence from work, and offers a restart after a while', async (t) => {
  const now = 1_800_000_000_000;
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now });
  const stage = await Stage.open(
    session({ turns: [turn({ status: 'running', startedAt: now - 7_000, parts: [{ kind: 'thought', id: 'h', text: 'Hm' }] })] }),
  );
  assert.equal(stage.text('.strip-line'), 'Thinking 0:07');
  assert.equal(stage.text('.thought summary'), 'Thinking', 'not yet in the past');
  t.mock.timers.tick(29_000);
  assert.equal(stage.text('.strip-line'), 'Thinking 0:36');
  t.mock.timers.tick(11_000);
  assert.equal(stage.text('.strip-line'), 'Silent for 40 s Restart Agent', 'one clock at a time');
  await stage.press('Restart Agent', '.strip-line');
  assert.deepEqual(stage.calls('remedy'), [{ sessionId: 's1', remedy: 'restart' }]);
  await stage.happen({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'So' });
  assert.equal(stage.text('.strip-line'), 'Working 0:47');
});

test('a thought says how long it took as exactly as the turn, and nothing when that was no time', async () => {
  const title = async (took: number) => {
    const part = { kind: 'thought', id: 'h', text: 'Hm', startedAt: 1_000, endedAt: 1_000 + took } as const;
    return (await Stage.open(session({ turns: [turn({ parts: [part] })] }))).text('.thought summary');
  };
  assert.deepEqual([await title(2_520), await title(14_400), await title(90)], ['Thought · 2.5 s', 'Thought · 14 s', 'Thought']);
});

test('a call without a clock in its row may be silent, beside one that has a clock it may not', async (t) => {
  const now = 1_800_000_000_000;
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now });
  const call = (id: string, kind: 'read' | 'execute') => callPart({ id, kind, status: 'running', startedAt: now });
  const silent = async (...parts: Part[]) => {
    const stage = await Stage.open(session({ turns: [turn({ status: 'running', startedAt: now, parts })] }));
    t.mock.timers.tick(31_000);
    return /^Silent for/.test(stage.text('.strip-line'));
  };
  assert.equal(await silent(call('a', 'read')), true, 'a read that hangs');
  assert.equal(await silent(call('a', 'execute')), false, 'a command');
  assert.equal(await silent(call('a', 'execute'), call('b', 'read')), false, 'a read beside a command');
});

test('what goes on with a turn is offered at the last one alone', async () => {
  const error = { message: 'The agent ended.', next: ['retry', 'continue', 'showLog'] } as const;
  const stage = await Stage.open(session({ turns: [turn({ status: 'failed', error })] }));
  const offered = () => stage.all('.fault .actions > :not(.icon-button)').map((one) => one.textContent);
  assert.deepEqual(offered(), ['Try again', 'Continue', 'Show Log']);
  await stage.happen(
    { type: 'turn.started', turnId: 't2', at: 1, prompt: [{ type: 'text', text: 'Go on' }] },
    { type: 'turn.ended', turnId: 't2', at: 2, status: 'done' },
  );
  assert.deepEqual(offered(), ['Show Log']);
});

test('the plan stays in its turn as one row that opens, unless a call keeps it', async () => {
  const entries = [
    { text: 'Read', status: 'completed' },
    { text: 'Write', status: 'pending' },
  ] as const;
  const ended = (id: string, ...parts: Part[]) => [
    { type: 'turn.started', turnId: id, at: 1, prompt: [] } as const,
    ...parts.map((part) => ({ type: 'part.added', turnId: id, part }) as const),
    { type: 'plan.set', plan: { entries } } as const,
    { type: 'turn.ended', turnId: id, at: 2, status: 'done' } as const,
  ];
  const stage = await Stage.open(session({}));
  await stage.happen(...ended('p1'), ...ended('p2', callPart({ kind: 'other', name: 'TodoWrite' })));
  assert.equal(stage.text('[data-turn=p1] .fold summary'), 'Plan 1/2 done');
  assert.equal(stage.all('[data-turn=p2] .fold').length, 0);
  const fold = stage.find<HTMLDetailsElement>('[data-turn=p1] .fold');
  fold.open = true;
  fold.dispatchEvent(new window.Event('toggle') as never);
  await stage.settle();
  assert.equal(stage.text('[data-turn=p1] .plan-entries'), 'Done: Read To do: Write');
});

test('the plan of a stopped turn counts what is done, the line over the composer the step that is at work', async () => {
  const entries = [
    { text: 'Read', status: 'completed' },
    { text: 'Write', status: 'in_progress' },
    { text: 'Test', status: 'pending' },
  ] as const;
  const stage = await Stage.open(session({}));
  await stage.happen({ type: 'turn.started', turnId: 't', at: 1, prompt: [] }, { type: 'plan.set', plan: { entries } });
  assert.equal(stage.text('.strip .words'), 'Plan 2/3 · Write');
  await stage.happen({ type: 'turn.ended', turnId: 't', at: 2, status: 'cancelled' });
  assert.equal(stage.text('[data-turn=t] .fold summary'), 'Plan 1/3 done');
});

test('a recording is read: it says so, and there is nothing to write, repeat, restart or restore with', async () => {
  const error = { message: 'No.', next: ['retry', 'restart'] } as const;
  const stage = await Stage.open(
    session({ link: { state: 'recorded' }, turns: [turn({ id: 't1', status: 'done' }), turn({ id: 't2', status: 'failed', error })] }),
  );
  assert.match(stage.text('.banner'), /^This is a recording/);
  assert.equal(stage.all('textarea, .fault .button').length, 0);
  const labels = stage.all('.again button, .sum button').map((one) => one.getAttribute('aria-label') ?? '');
  assert.deepEqual(
    labels.filter((label) => !label.startsWith('Copy')),
    [],
  );
});

test('a running command is no silence: its row has a clock of its own', async (t) => {
  const now = 1_800_000_000_000;
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now });
  const running = callPart({ kind: 'execute', status: 'running', input: { command: 'npm test' }, startedAt: now });
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', startedAt: now, parts: [running] })] }));
  t.mock.timers.tick(40_000);
  assert.equal(stage.text('.strip-line'), 'Working 0:40');
});

test('a text that only says what the error below it says is shown once', async () => {
  const error = { message: 'No model. Not logged in · Please run /login' };
  const texts = async (said: string, more: readonly ReturnType<typeof textPart>[] = []) => {
    const parts = [textPart(said), ...more];
    const stage = await Stage.open(session({ turns: [turn({ status: 'failed', parts, error })] }));
    assert.match(stage.text('.fault'), /Not logged in/);
    return stage.all('.answer > .markdown').map((one) => one.textContent?.trim());
  };
  assert.deepEqual(await texts(' Not logged in ·\nPlease run /login.\n'), []);
  assert.deepEqual(await texts('Not logged in to it'), ['Not logged in to it'], 'another text stays');
  assert.deepEqual(await texts('No model'), ['No model'], 'the beginning of an answer stays');
  assert.equal((await texts(error.message, [textPart('And then', 'p2')])).length, 2, 'what others follow stays');
});

test('a failed command whose only error is its exit code says it once', async () => {
  const failed = callPart({ kind: 'execute', status: 'failed', input: { command: 'npm test' }, error: { message: 'exit 1' } });
  const stage = await Stage.open(session({ turns: [turn({ parts: [failed] })] }));
  assert.equal(stage.text('.call .words'), 'Ran npm test exit 1');
  assert.equal(stage.all('.call .fault').length, 0);
});

test('a failed call says its error once: in its output, or below it where that says more', async () => {
  const missing = { kind: 'content', content: { type: 'text', text: 'ENOENT: no such\n file' } } as const;
  const shown = async (message: string, output: readonly (typeof missing)[]) => {
    const failed = callPart({ kind: 'read', status: 'failed', locations: [{ path: '/code/sample/x.ts' }], error: { message }, output });
    const stage = await Stage.open(session({ turns: [turn({ parts: [failed] })] }));
    return stage
      .all('.call-body > :not(.fold)')
      .map((one) => [one.className.split(' ')[0], one.querySelector('pre')?.textContent ?? one.textContent]);
  };
  assert.deepEqual(await shown('The agent reports an error.', [missing]), [['plain', 'ENOENT: no such\n file']]);
  assert.deepEqual(await shown('ENOENT: no such file', [missing]), [['plain', 'ENOENT: no such\n file']]);
  assert.deepEqual(await shown('Reading failed: ENOENT: no such file', [missing]), [['fault', 'Reading failed: ENOENT: no such file']]);
  assert.deepEqual(await shown('EACCES', [missing]), [
    ['plain', 'ENOENT: no such\n file'],
    ['fault', 'EACCES'],
  ]);
  assert.deepEqual(await shown('The agent reports an error.', []), []);
});

test('an edit of one file without a certain place names the file once, and speaks of no preview', async () => {
  const diff = { path: '/code/sample/a.ts', before: 'a', after: 'b', excerpt: { unplaced: true } } as const;
  const stage = await Stage.open(
    session({ turns: [turn({ status: 'running', parts: [callPart({ kind: 'edit', output: [{ kind: 'diff', diff }] })] })] }),
  );
  assert.equal(stage.all('.diff-head').length, 0);
  assert.doesNotMatch(stage.text('.call-body'), /previewed/);
});

test('paths in running words become links once the host has said that the file exists', async () => {
  const text =
    'It is in src/a.ts:12, not in src/gone.ts. Nor in `x y` or https://host.test/a/b.ts.\n\n- see (test/b.test.ts)\n\nsrc/c.ts(12,3): error, f.call(1) (see d.ts(4)), a.ts(x)\n\nEnd.';
  const stage = await Stage.open(session({ turns: [turn({ parts: [{ kind: 'text', id: 'p', text }] })] }));
  const links = () => stage.all('.markdown a').filter((link) => link.getAttribute('href') === '#');
  const asked: string[] = [];
  // On a busy machine the view asks in several rounds.
  for (let answered = 0; links().length < 4; ) {
    const calls = stage.sent.flatMap((message) => (message.type === 'call' && message.method === 'existing' ? [message] : []));
    for (const { id, params } of calls.slice(answered)) {
      asked.push(...params.paths);
      stage.reply(
        id,
        params.paths.filter((path) => !/gone|call/.test(path)),
      );
    }
    answered = calls.length;
    await stage.settle();
  }
  assert.deepEqual(
    asked,
    ['src/a.ts', 'src/gone.ts', 'test/b.test.ts', 'src/c.ts', 'f.call', 'd.ts'].map((file) => `/code/sample/${file}`),
  );
  assert.deepEqual(
    links().map((link) => link.textContent),
    ['src/a.ts:12', 'test/b.test.ts', 'src/c.ts(12,3)', 'd.ts(4)'],
  );
  assert.match(stage.text('.markdown'), /^It is in src\/a\.ts:12, not in src\/gone\.ts\. Nor/);
  links()[0]?.dispatchEvent(click());
  assert.deepEqual(stage.calls('open'), [{ path: '/code/sample/src/a.ts', line: 12 }]);
  links()[3]?.dispatchEvent(click());
  assert.deepEqual(stage.calls('open')[1], { path: '/code/sample/d.ts', line: 4 });
});

test('inline code becomes a link to the file once the host has said that it exists', async () => {
  const text =
    'See `src/日本/a.ts:3`, `a.ts(12,3)`, `file:///code/sample/src/main.ts:4`, `src/gone.ts`, `npm run x.y` and `$x/a.ts$`.\n\nEnd.';
  const stage = await Stage.open(session({ turns: [turn({ parts: [{ kind: 'text', id: 'p', text }] })] }));
  const links = () => stage.all('.markdown a');
  const asked = () => stage.sent.flatMap((message) => (message.type === 'call' && message.method === 'existing' ? [message] : []));
  while (asked().flatMap(({ params }) => params.paths).length < 4) await stage.settle();
  assert.equal(links().length, 0);
  for (const { id, params } of asked())
    stage.reply(
      id,
      params.paths.filter((path) => !path.includes('gone')),
    );
  while (links().length < 3) await stage.settle();
  assert.deepEqual(
    links().map((link) => link.innerHTML),
    ['<code>src/日本/a.ts:3</code>', '<code>a.ts(12,3)</code>', '<code>file:///code/sample/src/main.ts:4</code>'],
  );
  for (const link of links()) link.dispatchEvent(click());
  assert.deepEqual(stage.calls('open'), [
    { path: '/code/sample/src/日本/a.ts', line: 3 },
    { path: '/code/sample/a.ts', line: 12, column: 3 },
    { path: '/code/sample/src/main.ts', line: 4 },
  ]);
});

test('a task has its box in place of the mark of other items', async () => {
  const stage = await Stage.open(
    session({ turns: [turn({ parts: [{ kind: 'text', id: 'p', text: '- [x] read\n- [ ] test\n- plain' }] })] }),
  );
  assert.deepEqual(
    stage.all('.markdown li').map((item) => [item.textContent?.trim(), item.className]),
    [
      ['☑ read', 'task'],
      ['☐ test', 'task'],
      ['plain', ''],
    ],
  );
});

test('the end of a turn says how many calls a rule has allowed, and so does a row of several where it is not all of them', async () => {
  const allowed = { kind: 'approval', by: 'rule', effect: 'allow_once' } as const;
  const parts = [
    callPart({ id: 'a', kind: 'execute', decision: allowed }),
    callPart({ id: 'b', kind: 'execute', decision: allowed }),
    callPart({ id: 'c', kind: 'execute', decision: { ...allowed, by: 'user' } }),
    callPart({ id: 'd', kind: 'execute', decision: { ...allowed, effect: 'reject_once' } }),
  ];
  const stage = await Stage.open(session({ turns: [turn({ parts })] }));
  assert.match(stage.text('.sum'), /allowed by your rule: 2/);
  assert.match(stage.text('.call-group .words'), /^Ran 3 commands · allowed by your rule: 2$/);
});

test('an output that an agent tells twice in the same words is shown once', async () => {
  const said = { kind: 'content', content: { type: 'text', text: 'no such file' } } as const;
  const stage = await Stage.open(
    session({
      turns: [
        turn({
          parts: [
            {
              kind: 'call',
              id: 'c',
              call: {
                id: 'c',
                name: 'Read',
                title: 'Read src/x.ts',
                kind: 'read',
                status: 'failed',
                inputText: '',
                output: [said, { ...said, content: { type: 'text', text: 'no such file\n' } }],
                locations: [],
                error: { message: 'no such file' },
              },
            },
          ],
        }),
      ],
    }),
  );
  assert.equal(stage.text('.call-body').split('no such file').length - 1, 1);
});

test('of a long output no number of lines is given that was not counted', async () => {
  const terminal = { id: 'x', command: 'npm test', tail: 'a line of the output\n'.repeat(3000), dropped: 0 };
  const part = callPart({
    kind: 'execute',
    status: 'running',
    input: { command: 'npm test' },
    output: [{ kind: 'terminal', terminalId: 'x' }],
  });
  const stage = await Stage.open(session({ terminals: [terminal], turns: [turn({ status: 'running', parts: [part] })] }));
  assert.equal(stage.text('.terminal .more'), 'Show all');
});

const printed = (text: string) => ({ kind: 'content', content: { type: 'text', text } }) as const;

test('what a command printed is shown in colours, its end first, and how it ended is said once', async () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n');
  const output = [printed('Exit code 1.'), printed(`${lines}\n\u001b[31m✗ kept\u001b[0m\n`)];
  const failed = callPart({ kind: 'execute', name: 'Shell', status: 'failed', input: { command: 'npm test' }, output });
  const stage = await Stage.open(session({ turns: [turn({ parts: [failed] })] }));
  assert.equal(stage.text('.call .words'), 'Ran npm test exit 1');
  const coloured = stage.find('.terminal-output span');
  assert.deepEqual([coloured.textContent, coloured.style.color !== ''], ['✗ kept', true]);
  assert.match(stage.text('.terminal .more'), /Show 16 more lines/);
  assert.doesNotMatch(stage.text('.call-body'), /line 15(?!\d)|Exit code/);
  const fenced = callPart({
    kind: 'execute',
    name: 'Bash',
    status: 'failed',
    input: { command: 'x' },
    output: [printed('```console\nno\n```')],
  });
  const other = await Stage.open(session({ turns: [turn({ parts: [fenced] })] }));
  assert.equal(other.find('.terminal-output').textContent, 'no');
  for (const text of ['Exit code 3.\nsecond', 'second\nCommand exited with code 3', '```\nExit code: 3\n\nsecond\n```']) {
    const joined = callPart({ kind: 'execute', name: 'Bash', status: 'failed', input: { command: 'x' }, output: [printed(text)] });
    const one = await Stage.open(session({ turns: [turn({ parts: [joined] })] }));
    assert.equal(one.text('.call .words'), 'Ran x exit 3');
    assert.equal(one.find('.terminal-output').textContent, 'second', text);
  }
});

test('a question has no row of its call while its card is there; a stopped command says so once', async () => {
  const asking = callPart({ id: 'q', kind: 'other', name: 'AskUserQuestion', title: 'AskUserQuestion', status: 'running' });
  const ask = { kind: 'question', id: 'a', turnId: 't1', callId: 'q', title: 'Which?', fields: [{ id: 'f', label: 'Which?' }] } as const;
  const waiting = await Stage.open(session({ turns: [turn({ id: 't1', status: 'running', parts: [asking] })], asks: [ask] }));
  assert.equal(waiting.all('.call').length, 0);
  const command = callPart({ kind: 'execute', name: 'Shell', status: 'cancelled', input: { command: 'npm test' } });
  const stopped = await Stage.open(session({ turns: [turn({ status: 'cancelled', parts: [command] })] }));
  assert.equal(stopped.text('.answer').split('Stopped').length - 1, 1);
  const asked = callPart({ kind: 'execute', name: 'Shell', status: 'cancelled', input: { command: 'npm test' }, withdrawn: true });
  const skipped = await Stage.open(session({ turns: [turn({ status: 'cancelled', parts: [asked] })] }));
  assert.match(skipped.text('.answer'), /Skipped npm test.*Stopped/, 'a turn that was stopped while it asked says so');
});

test('a long message of the user shows its beginning: lines or one huge line', async () => {
  for (const text of [Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n'), 'word '.repeat(1_800)]) {
    const stage = await Stage.open(session({ turns: [turn({ prompt: [{ type: 'text', text }] })] }));
    const shown = () => stage.find('.prompt pre').textContent ?? '';
    assert.ok(shown().length <= 600 && shown().split('\n').length <= 12, String(shown().length));
    stage.find('.prompt .text-button').click();
    await stage.settle();
    assert.equal(shown(), text);
  }
});

test('of the plans of a turn the last has a row, and one that failed', async () => {
  const plan = (id: string, status: 'done' | 'failed') =>
    callPart({ id, kind: 'other', name: 'SetTodoList', title: 'SetTodoList', status, input: {}, output: [printed(id)] });
  const stage = await Stage.open(session({ turns: [turn({ parts: [plan('a', 'done'), plan('b', 'failed'), plan('c', 'done')] })] }));
  assert.deepEqual(
    stage.all('.call .words').map((one) => one.textContent?.trim()),
    ['Could not edit Plan', 'Updated the plan'],
  );
});

test('an opened plan lists its steps with their states, in no text of the tool', async () => {
  const todos = [
    { title: 'Read', status: 'done' },
    { title: 'Write', status: 'done' },
    { title: 'Test', status: 'in_progress' },
  ];
  const plan = callPart({ kind: 'other', name: 'SetTodoList', input: { todos }, output: [printed('[x] Read\n[x] Write\n[~] Test')] });
  const stage = await Stage.open(session({ turns: [turn({ parts: [plan] })] }));
  assert.equal(stage.text('.call .words').replace(/\s+/g, ' '), 'Updated the plan 2/3 done');
  stage.find('.call-toggle').click();
  await stage.settle();
  assert.deepEqual(
    stage.all('.entry').map((one) => one.textContent?.replace(/\s+/g, ' ').trim()),
    ['Done: Read', 'Done: Write', 'Working: Test'],
  );
  assert.doesNotMatch(stage.text('.call-body'), /\[[x~]\]/);
});

test('an opened answered question says its answers once', async () => {
  const decision = { kind: 'answers', values: [{ label: 'Which database?', values: ['SQLite'] }] } as const;
  const asked = callPart({
    kind: 'other',
    name: 'Ask',
    decision,
    input: { questions: [] },
    output: [printed('{"answers":{"db":"SQLite"}}')],
  });
  const stage = await Stage.open(session({ turns: [turn({ parts: [asked] })] }));
  assert.match(stage.text('.call'), /^Answered SQLite.*Which database\?/);
  stage.find('.call-toggle').click();
  await stage.settle();
  assert.equal(stage.text('.call').match(/SQLite/g)?.length, 1);
  assert.equal(stage.text('.call').match(/Which database/g)?.length, 1);
});

test('a file that could not be read is named once, and not offered to be opened', async () => {
  const failed = callPart({
    kind: 'read',
    name: 'ReadFile',
    status: 'failed',
    input: { path: 'x.ts' },
    locations: [{ path: '/code/sample/x.ts' }],
  });
  const stage = await Stage.open(session({ turns: [turn({ parts: [{ ...failed }] })] }));
  assert.equal(stage.all('.call .chip').length, 0);
});

test('keys that come to the page are for the composer, unless something in it has them', async () => {
  const stage = await Stage.open(session({ turns: [turn({})] }));
  const come = () => globalThis.window.dispatchEvent(new window.Event('focus') as never);
  (document.activeElement as HTMLElement | null)?.blur();
  come();
  assert.equal(document.activeElement?.className, 'composer-text');
  stage.find<HTMLElement>('.title-button').focus();
  come();
  assert.equal(document.activeElement?.className, 'title-button');
});

test('keys that come to the page of a recording are for its text, which they scroll', async () => {
  const stage = await Stage.open(session({ turns: [turn({})], link: { state: 'recorded' } }));
  globalThis.window.dispatchEvent(new window.Event('focus') as never);
  assert.equal(document.activeElement, stage.find('.scroller'));
});

test('the context menu of the editor knows the message and the answer it is opened over', async () => {
  const stage = await Stage.open(session({ turns: [turn({ parts: [textPart('Yes.')] })] }));
  const over = (selector: string) => JSON.parse(stage.find(selector).getAttribute('data-vscode-context') ?? '');
  assert.deepEqual(over('.prompt'), { parleyText: 'message', session: 's1', turn: 't1' });
  assert.deepEqual(over('.answer'), { parleyText: 'answer', session: 's1', turn: 't1' });
});

test('an edit that the user has allowed is one row at once; one that nobody was asked about stays open while its turn runs', async () => {
  const output = [{ kind: 'diff', diff: { path: '/w/a.ts', before: 'old', after: 'new' } }] as const;
  const decided = (by: 'user' | 'rule') => ({ decision: { kind: 'approval', by, effect: 'allow_once' } }) as const;
  const calls = [{}, decided('user'), decided('rule')].map((more, at) =>
    callPart({ id: `c${at}`, kind: 'edit', status: 'running', output, ...more }),
  );
  const parts = calls.flatMap((part, at) => [part, textPart('Then', `p${at}`)]);
  const stage = await Stage.open(session({ turns: [turn({ status: 'running', parts })] }));
  assert.deepEqual(
    stage.all('.call-toggle').map((row) => row.getAttribute('aria-expanded')),
    ['true', 'false', 'true'],
  );
});

test('the row of a call says who decided; what was rejected is folded, and neither it nor what could not run is counted as run', async () => {
  const input = { input: { command: 'npm test' }, kind: 'execute', status: 'done' } as const;
  const decided = (id: string, by: 'user' | 'rule', effect: 'allow_once' | 'allow_always') =>
    callPart({ ...input, id, title: id, decision: { kind: 'approval', by, effect } });
  const calls = [decided('once', 'user', 'allow_once'), decided('ruled', 'rule', 'allow_once'), decided('more', 'user', 'allow_always')];
  const decision = { kind: 'approval', by: 'user', effect: 'reject_once' } as const;
  const output = [{ kind: 'content', content: { type: 'text', text: 'the user said no' } }] as const;
  const refused = callPart({ ...input, id: 'refused', title: 'refused', status: 'failed', output, decision });
  const missing = callPart({
    ...input,
    input: { command: 'gone' },
    id: 'missing',
    title: 'missing',
    status: 'failed',
    error: { message: 'no such program' },
  });
  const parts = [...calls, refused, missing].flatMap((part, at) => [part, textPart('Then', `p${at}`)]);
  const stage = await Stage.open(session({ turns: [turn({ parts })] }));
  const said = (part: string) => stage.all('.decided').map((one) => (one.querySelector(part) ?? one).textContent?.trim());
  assert.deepEqual(said('.in-full'), ['allowed by you', 'allowed by your rule', 'allowed by you', 'by you']);
  assert.deepEqual(said('.in-short'), ['✓', '✓ by rule', '✓', '']);
  assert.equal(stage.all('.call-toggle').at(3)?.getAttribute('aria-expanded'), 'false');
  assert.match(stage.text('.sum'), /Ran 3 commands/);
});

test('what the agent ran because of an earlier answer says that the agent keeps it, and is counted apart from what a rule allowed', async () => {
  const input = { input: { command: 'npm test' }, kind: 'execute', status: 'done' } as const;
  const decision = { kind: 'approval', by: 'user', effect: 'allow_always', label: 'Allow for this session' } as const;
  const calls = [callPart({ ...input, id: 'asked', decision }), callPart({ ...input, id: 'again' })];
  const parts = calls.flatMap((part, at) => [part, textPart('Then', `p${at}`)]);
  const agent = { protocol: 'x', name: 'Agent' };
  const stage = await Stage.open(session({ agent, turns: [turn({ parts })] }));
  const said = (part: string) => stage.all('.decided').map((one) => one.querySelector(part)?.textContent?.trim());
  assert.deepEqual(said('.in-full'), ['allowed by you · For this session', 'by Agent · For this session']);
  assert.deepEqual(said('.in-short'), ['✓', '✓ by Agent']);
  assert.match(stage.all('.words').at(1)?.getAttribute('title') ?? '', /The agent remembers this by itself/);
  assert.match(stage.text('.sum'), /allowed by you earlier: 1/);
  assert.doesNotMatch(stage.text('.sum'), /rule/);
});

test('a folder that a message names is a chip in it with the sign of a folder, which shows it', async () => {
  const prompt = [
    { type: 'text', text: 'Look into @src/ and @src/a.ts.' },
    { type: 'file', path: '/code/sample/src/' },
    { type: 'file', path: '/code/sample/src/a.ts' },
  ] as const;
  const stage = await Stage.open(session({ turns: [turn({ prompt })] }));
  assert.deepEqual(
    stage.all('.prompt .mention').map((one) => [one.textContent, one.title, one.querySelector('.icon')?.getAttribute('class')]),
    [
      ['@src/', '/code/sample/src/', 'icon icon-folder'],
      ['@src/a.ts', '/code/sample/src/a.ts', 'icon icon-file'],
    ],
  );
  stage.find('.prompt .mention').click();
  await stage.settle();
  assert.deepEqual(stage.calls('open'), [{ path: '/code/sample/src/' }]);
});

test('a file that a message names is a chip in its text and none below; a text that is no file is shown by its chip', async () => {
  const prompt = [
    { type: 'text', text: 'Move it from @src/a.ts to @src/a.tsx, please.' },
    { type: 'file', path: '/code/sample/src/a.ts' },
    { type: 'file', path: 'Terminal: npm test', text: '$ npm test\none failed' },
    { type: 'file', path: '/code/sample/src/b.ts' },
  ] as const;
  const stage = await Stage.open(session({ turns: [turn({ prompt })] }));
  assert.equal(stage.text('.prompt pre'), 'Move it from @src/a.ts to @src/a.tsx, please.');
  assert.deepEqual(
    stage.all('.prompt .mention').map((one) => one.textContent),
    ['@src/a.ts'],
  );
  assert.deepEqual(
    stage.all('.prompt .chip').map((one) => one.textContent?.trim()),
    ['Terminal: npm test', 'src/b.ts'],
  );
  stage.find('.prompt .mention').click();
  stage.find('.prompt .chip').click();
  await stage.settle();
  assert.deepEqual(stage.calls('open'), [{ path: '/code/sample/src/a.ts' }]);
  assert.equal(stage.all('.prompt pre').at(-1)?.textContent, '$ npm test\none failed');
});
