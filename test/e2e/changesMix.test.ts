import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { until } from './until.ts';

// One of two changes of a pending edit is left out, in files of every kind. The agent writes its own text first; then the agreed one is on the disk.
const disk = await diskAgent({ name: 'changes-mix' });
const { fake: agent, inWindow, inFolder, read, write } = disk;
const lines = numbered('line', 20);
const [fourth, eighteenth] = ['agent four', 'agent eighteen'];

interface Kind {
  readonly name: string;
  readonly file: string;
  /** The text before, the agent's, and the one agreed on: without its first change. */
  readonly texts: readonly [before: string, agents: string, agreed: string];
  readonly prepare?: (before: string) => void;
  readonly after?: () => void;
}
const changed = (join: (all: readonly string[]) => string): Kind['texts'] => [
  join(lines),
  join(lines.with(3, fourth).with(17, eighteenth)),
  join(lines.with(17, eighteenth)),
];
/** Every third line has another end. */
const mixed = (all: readonly string[]) => all.map((line, at) => line + (at % 3 === 0 ? '\r\n' : '\n')).join('');
/** With the names of its cells: the editor adds missing ones, and leaves the notebook unsaved. */
const notebook = (all: readonly string[]) =>
  `${JSON.stringify({ cells: all.map((source, at) => ({ cell_type: 'markdown', id: `c${at}`, metadata: {}, source: [source] })), metadata: {}, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`;
const kinds: readonly Kind[] = [
  { name: 'with different line ends', file: 'mixed.txt', texts: changed(mixed) },
  { name: 'a notebook', file: 'notes.ipynb', texts: changed(notebook) },
  {
    name: 'behind a link',
    file: 'linked.txt',
    texts: changed(text),
    prepare: (before) => {
      write('target.txt', before);
      symlinkSync(inFolder('target.txt'), inFolder('linked.txt'));
    },
    after: () => assert.ok(lstatSync(inFolder('linked.txt')).isSymbolicLink()),
  },
  { name: 'outside the workspace', file: '../elsewhere/out.txt', texts: changed(text) },
  { name: 'with a byte order mark and CRLF', file: 'mark.txt', texts: changed((all) => `\uFEFF${all.join('\r\n')}\r\n`) },
];

for (const isOpen of [false, true])
  for (const { name, file, texts, prepare, after } of kinds)
    test(
      `a file ${name}${isOpen ? ', which is open' : ''}: what was left out is not in it, and all else is as the agent wrote it`,
      inWindow(async ({ window }) => {
        const { chat, diff, page, pick } = window;
        const [before, agents, agreed] = texts;
        if (file.startsWith('..')) mkdirSync(inFolder('../elsewhere'), { recursive: true });
        if (isOpen) write(file, before);
        else if (prepare) prepare(before);
        else write(file, before);
        const plain = (all: string) => all.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
        const id = `${name} ${isOpen}`;
        disk.act = async () => {
          const content = [{ type: 'diff', path: inFolder(file), oldText: plain(before), newText: plain(agents) }];
          const toolCall = { toolCallId: id, title: `Edit ${file}`, kind: 'edit', status: 'pending', content };
          agent.update({ sessionUpdate: 'tool_call', ...toolCall });
          const options = [
            { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
            { optionId: 'no', name: 'Reject', kind: 'reject_once' },
          ];
          await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, id);
          write(file, agents);
          agent.update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed', content });
        };
        await window.openChat();
        await chat.frame.getByText('Disk').first().waitFor();
        if (isOpen && !file.startsWith('..')) await window.openFile(file);
        await chat.say('edit it');
        await pick.row('Allow once').waitFor();
        await diff.compared();
        await page.keyboard.press('Escape');
        await pick.gone();
        await leaveOutFirst(window);
        await window.pictures(`review/mix-${file.replaceAll(/\W+/g, '-')}-${isOpen}`);
        await page.keyboard.press('Control+k');
        await page.keyboard.press('a');
        await chat.settled(chat.lastTurn);
        await until(() => read(file) === agreed, 'the agreed text is on the disk');
        after?.();
        await window.pictures(`review/mixed-${file.replaceAll(/\W+/g, '-')}-${isOpen}`);
        if (!file.startsWith('..')) await window.command('Parley: Keep All Changes');
        await window.closeEditors();
      }),
    );

async function leaveOutFirst(window: Scene['window']): Promise<void> {
  const review = new ReviewPage(window);
  await review.lens('Leave out').first().waitFor();
  await review.decide('Leave out');
  await review.lens('Put back').first().waitFor();
}

test(
  'a file with signs that other programs take for line ends: a hunk is undone in the open file',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const odd = lines.with(9, 'one\u2028two\u2029three');
    write('odd.txt', text(odd));
    disk.act = () => write('odd.txt', text(odd.with(3, fourth).with(17, eighteenth)));
    await window.openChat();
    await chat.exchange('change the odd one');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('odd.txt');
    await page.locator('.monaco-dialog-box').waitFor();
    await window.pictures('review/odd-opened');
    await page.keyboard.press('Escape');
    await review.lenses(2);
    await review.decide('Undo');
    await until(() => read('odd.txt') === text(odd.with(17, eighteenth)), 'the first hunk is undone');
    await review.lenses(1);
  }),
);
