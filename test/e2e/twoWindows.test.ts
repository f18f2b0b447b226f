import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const inWindow = suite({ name: 'two-windows' });

test(
  'two windows on one folder: the second is told what is open in the first, each goes on by itself, and nothing is lost when one closes',
  inWindow(async ({ window: first, running }) => {
    await first.openChat();
    assert.match((await (await first.chat.exchange('read notes.txt')).textContent()) ?? '', /Buy ink/);

    const ofFirst = running('parley-agent');
    const page = await first.page.context().newPage();
    await page.goto(first.page.url(), { waitUntil: 'domcontentloaded' });
    const second = new Window(page);
    await second.ready();
    await second.openChat();
    await second.command('Notifications: Show Notifications');
    await second.notification('Open in another window: 1 conversation').waitFor();
    await page.screenshot({ path: 'out/screenshots/two-windows.png' });
    assert.equal(await second.chat.turns.count(), 0, 'it has a conversation of its own');
    assert.match((await (await second.chat.exchange('read TODO.md')).textContent()) ?? '', /npm test/);

    // Going there is refused in words, and takes nothing from the first.
    await second.command('Parley: Switch Session');
    await second.pick.choose('read notes.txt');
    await second.command('Notifications: Show Notifications');
    await second.notification('open in another window').last().waitFor();
    await first.page.bringToFront();
    assert.match((await (await first.chat.exchange('find countTags')).textContent()) ?? '', /countTags/);

    // Leaving the page ends its extension host.
    await first.page.goto('about:blank');
    await until(() => !running('parley-agent').some((pid) => ofFirst.includes(pid)), "the first window's agent has ended");
    await page.bringToFront();
    await second.command('Parley: Switch Session');
    await second.pick.choose('read notes.txt');
    await second.chat.turns.nth(1).waitFor();
    const [one, two] = await second.chat.turns.allTextContents();
    assert.match(one ?? '', /Buy ink/);
    assert.match(two ?? '', /countTags/, 'what was said after the second window had opened');
    assert.match((await (await second.chat.exchange('read TODO.md')).textContent()) ?? '', /npm test/);
    await second.command('Parley: Switch Session');
    await second.pick.choose('read TODO.md');
    await second.chat.turns.filter({ hasText: 'npm test' }).first().waitFor();
    assert.equal(await second.chat.turns.count(), 1);
  }),
);
