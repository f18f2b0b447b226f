import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readFromView } from '../../src/editor/viewMessages.ts';
import { locate } from '../../src/protocols/acp/diffs.ts';
import type { DiffItem } from '../../src/protocols/acp/schema.ts';
import { version2 } from '../../src/protocols/acp/v2Codec.ts';
import { unifiedHunks } from '../../src/protocols/qwen/envelopeCodec.ts';
import { doneSides, pendingSides } from '../../src/session/diffs.ts';
import type { Approval, Diff } from '../../src/session/model.ts';
import { ruledAnswer } from '../../src/session/policy.ts';
import { suggestedRules } from '../../src/session/suggestedRules.ts';
import { assertBrief, assertLinear } from './linear.ts';

/** Patches and excerpts of an agent: what they name, and how long they take to read and to find in a file. */

interface Change {
  readonly operation: string;
  readonly path: string;
}

/** The edits that the user is asked about. */
function asked(changes: readonly Change[], text: string): readonly DiffItem[] {
  const content = [{ type: 'diff', changes, patch: { format: 'git_patch', text } }];
  const read = version2.permission.parse({
    sessionId: 's',
    title: 'Edit',
    subject: { type: 'tool_call', toolCall: { toolCallId: 'c', content } },
    options: [],
  });
  return (read.toolCall?.content ?? []).flatMap((item) => (item.type === 'diff' ? [item] : []));
}

/** What git itself makes of a change of these files. */
function gitPatch(files: Readonly<Record<string, readonly [string | Uint8Array, string | Uint8Array]>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-patch-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, encoding: 'utf8' });
  try {
    git('init', '-q');
    for (const side of [0, 1] as const) {
      for (const [name, sides] of Object.entries(files)) writeFileSync(path.join(folder, name), sides[side]);
      if (side === 0) git('add', '-A');
    }
    return git('diff');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a patch shows each file it changes, also those that the list of changes does not name', () => {
  const text = gitPatch({ 'README.md': ['a\n', 'b\n'], 'package.json': ['{}\n', '{"scripts":{"postinstall":"x"}}\n'] });
  const items = asked([{ operation: 'modify', path: '/w/README.md' }], text);
  assert.deepEqual(
    items.map((item) => [item.path, item.newText]),
    [
      ['/w/README.md', 'b\n'],
      ['package.json', '{"scripts":{"postinstall":"x"}}\n'],
    ],
  );
});

test('a patch that names a file twice, or is named twice, is shown whole and once', () => {
  const hunk = (mark: string) => `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+${mark}\n`;
  const items = asked(
    [1, 2, 3].map(() => ({ operation: 'modify', path: '/w/x' })),
    hunk('harmless') + hunk('rm -rf ~'),
  );
  assert.deepEqual(
    items.filter(({ summary }) => !summary).map(({ newText }) => newText),
    ['harmless\n', 'rm -rf ~\n'],
  );
});

test('names that mislead stay what they are in a patch', { skip: process.platform === 'win32' }, () => {
  for (const name of ['a\n+++ b\ny', 'a b', '"q', 'tab\tx', 'ü.ts', 'b\\c', '@@ -1 +1 @@', '--- x', '+++ y']) {
    const text = gitPatch({ [name]: ['one\n', 'two\n'] });
    const items = asked([{ operation: 'modify', path: `/w/${name}` }], text);
    assert.ok(
      items.every((item) => item.path === `/w/${name}` || name.includes('\\') || !/^[ -~]*$/.test(name)),
      JSON.stringify([name, items]),
    );
    assert.ok(
      items.some((item) => item.newText.includes('two') || item.summary),
      JSON.stringify([name, items]),
    );
  }
  const binary = gitPatch({ x: [new Uint8Array([0, 1]), new Uint8Array([0, 2])] });
  assert.equal(asked([{ operation: 'modify', path: '/w/x' }], binary)[0]?.summary, true);
});

/** True when a rule that allows every edit answers for the changes. */
function isAllowed(items: readonly DiffItem[]): boolean {
  const paths = [...new Set(items.map((item) => item.path))];
  const diffs = paths.flatMap((name) =>
    locate(
      items.filter((item) => item.path === name),
      undefined,
      false,
    ),
  );
  const ask: Approval = {
    kind: 'approval',
    id: 'a',
    title: 'Edit',
    toolKind: 'edit',
    detail: { type: 'edit', diffs },
    options: [{ id: 'y', label: 'Allow', effect: 'allow_once' }],
  };
  const suggested = suggestedRules(ask, '/w').length > 0;
  const below = (file: string) => ({ path: path.posix.relative('/w', path.posix.resolve('/w', file)) });
  const answer = ruledAnswer(ask, [{ kind: 'edit', decision: 'allow' }], '/w', { platform: 'posix', real: '/w', below });
  assert.equal(suggested, answer !== undefined, 'a rule is suggested that would not answer, or the other way round');
  return answer !== undefined;
}
const modify = (name: string) => ({ operation: 'modify', path: name });
const hunkOf = (before: string, after = before) => `--- ${before}\n+++ ${after}\n@@ -1 +1 @@\n-a\n+b\n`;

test('no rule allows a change that is not shown: an unread patch names all its files', () => {
  const long = (count: number, other: string) => hunkOf('a/x', 'b/x').replace('+b\n', `+${'b'.repeat(count)}\n`) + other;
  assert.equal(isAllowed(asked([modify('/w/x')], long(1000, ''))), true);
  const evil = [hunkOf('a/evil', 'b/evil'), hunkOf('evil'), hunkOf('"a/evil\\001"', '"b/evil\\001"'), 'rename from x\nrename to evil\n'];
  for (const other of evil) {
    const items = asked([modify('/w/x')], long(200_000, other));
    assert.ok(
      items.some((item) => item.path.includes('evil')),
      other,
    );
    assert.equal(isAllowed(items), false);
  }
  for (const text of [long(200_000, ''), '@@ -1 +1 @@\n-a\n+b\n', hunkOf('a/x', 'b/x').replace('@@ -1', '@@ -2,7'), 'no patch', ''])
    assert.equal(isAllowed(asked([modify('/w/x')], text)), false, text.slice(0, 40));
  assert.equal(isAllowed(asked([modify('/w/x')], `${hunkOf('a/x', 'b/x')} and then\n+c\n`)), false, 'lines outside of hunks');
  const many = Array.from({ length: 20_000 }, (_, at) => modify(`/w/x${at}`));
  const items = asked(many, '');
  assert.ok(items.length < 2000 && items.at(-1)?.newText.includes('19000'), `${items.length} items`);
});

test('a name in a patch is that of the file the agent would write', () => {
  for (const [before, after, name] of [
    ['a/../../x', 'b/../../x', '../../x'],
    ['/etc/x', '/etc/x', '/etc/x'],
    ['a//etc/x', 'b//etc/x', '/etc/x'],
    ['"a/../\\170"', '"b/../\\170"', '../x'],
    ['a/"x"', 'b/"x"', '"x"'],
    ['C:/x', 'C:/x', 'C:/x'],
  ] as const) {
    const items = asked([modify('/w/x'), modify('/w/etc/x')], hunkOf(before, after));
    assert.deepEqual(
      items.filter(({ summary }) => !summary).map((item) => item.path),
      [name],
      before,
    );
    assert.equal(isAllowed(items.filter((item) => item.path === name)), name === '"x"', name);
  }
});

test('a file that comes from elsewhere, goes away or changes its mode says so, whatever the list of changes calls it', () => {
  const git = (...lines: readonly string[]) => `diff --git a/x b/x\n${lines.join('\n')}\n`;
  const hunk = '@@ -1 +1 @@\n-a\n+b\n';
  const patches: Readonly<Record<string, string>> = {
    'R ../../secret → /w/x': `diff --git a/../../secret b/x\nsimilarity index 90%\nrename from ../../secret\nrename to x\n--- a/../../secret\n+++ b/x\n${hunk}`,
    'C /etc/passwd → /w/x': 'diff --git a//etc/passwd b/x\nsimilarity index 100%\ncopy from /etc/passwd\ncopy to x\n',
    'R y → /w/x': hunkOf('a/y', 'b/x'),
    'A /w/x': git('new file mode 120000', '--- /dev/null', '+++ b/x', '@@ -0,0 +1 @@', '+../../.bashrc', '\\ No newline at end of file'),
    'M /w/x': git('old mode 100644', 'new mode 100755'),
  };
  for (const [words, text] of Object.entries(patches)) {
    const items = asked([modify('/w/x')], text);
    assert.ok(
      items.some(({ summary, newText }) => summary && newText === words),
      `${words}: ${JSON.stringify(items)}`,
    );
    assert.equal(isAllowed(items), false, words);
    const unlisted = asked([], text);
    assert.ok(unlisted.length > 0 && !isAllowed(unlisted), words);
  }
  const removed = asked([modify('/w/x')], '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n');
  assert.deepEqual(locate(removed, 'a\n', false), [{ path: '/w/x', before: 'a\n', after: null }]);
  assert.equal(isAllowed(removed), false);
});

test('the lines a hunk names are numbers of the agent: none holds anything up or is lost', () => {
  for (const line of ['9999999999', '9'.repeat(30), '9'.repeat(400)]) {
    const [hunk] = unifiedHunks(`@@ -${line} +${line} @@\n-a\n+b`);
    assert.deepEqual(JSON.parse(JSON.stringify(hunk)), hunk);
    const at = Number(line);
    const items: readonly DiffItem[] = [{ type: 'diff', path: '/w/x', oldText: 'a', newText: 'b', lines: [at, at] }];
    for (const done of [false, true]) assert.equal(locate(items, 'a\nb\na\nb\n', done)[0]?.excerpt?.unplaced, true);
  }
});

test('patches of any number of files, changes and hunks are read in a moment', () => {
  const hunk = (at: number) => `--- a/d${at}/x\n+++ b/d${at}/x\n@@ -${at + 1} +${at + 1} @@\n-a\n+b\n`;
  const many = (count: number, one: (at: number) => string) => Array.from({ length: count }, (_, at) => one(at)).join('');
  const changes = Array.from({ length: 20_000 }, (_, at) => ({ operation: 'modify', path: `/w/e${at}/x` }));
  for (const [name, text] of Object.entries({
    'many files': many(480, hunk),
    'many hunks': `--- a/x\n+++ b/x\n${many(10_000, (at) => `@@ -${at + 1} +${at + 1} @@\n-a\n+b\n`)}`,
    'too long': many(60_000, hunk),
    'a count that is no count': '--- a/x\n+++ b/x\n@@ -1,99999999999 +1,99999999999 @@\n-a\n+b\n',
    'nothing but heads': '--- a\n+++ b\n'.repeat(16_000),
  })) {
    assertBrief(`patch of ${name}`, () => assert.ok(asked(changes, text).length >= 1000));
  }
  const hunks = unifiedHunks('@@ -1 +1 @@\n-a\n+b\n'.repeat(100_000));
  assert.ok(hunks.length <= 2000 && hunks.every(({ excerpt }) => excerpt?.unplaced));
  assert.equal(hunks.map(({ after }) => after).join('\n').length, 199_999, 'all of it is shown');
});

test('excerpts of an agent are found in a file in proportion to both', () => {
  assertLinear('an excerpt that overlaps itself', 10_000, (size) => {
    const diff: Diff = { path: '/w/x', before: 'a'.repeat(size), after: 'b', excerpt: {} };
    return () => assert.equal(pendingSides([diff], 'a'.repeat(2 * size)).ok, false);
  });
  const numbered = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}`).join('\n');
  const excerpts = (count: number, shift = 0) =>
    Array.from({ length: count }, (_, at): Diff => {
      const line = 2 * at + 1 + shift;
      return { path: '/w/x', before: `line ${2 * at}`, after: `LINE ${2 * at}`, excerpt: { beforeLine: line, afterLine: line } };
    });
  assertLinear('many excerpts', 1000, (count) => {
    const text = numbered(2 * count, 'line');
    return () => assert.ok(pendingSides(excerpts(count), text).ok);
  });
  assertLinear('many excerpts, undone', 1000, (count) => {
    const text = numbered(2 * count, 'LINE');
    return () =>
      assert.deepEqual(doneSides(excerpts(count), text), {
        ok: true,
        sides: { before: numbered(2 * count, 'line').replace(/line (\d*[13579])\b/g, 'LINE $1'), after: text },
      });
  });
  assertBrief('many excerpts at wrong lines', () => pendingSides(excerpts(20_000, 7), numbered(40_000, 'line')));
  assertBrief('many excerpts at wrong lines, undone', () => doneSides(excerpts(20_000, 7).toReversed(), numbered(40_000, 'LINE')));
});

test('excerpts that overlap themselves, and texts that grow with each hunk, take no more time than their number', () => {
  assertLinear('overlapping excerpts', 20_000, (size) => {
    const text = 'a\n'.repeat(size / 2);
    const diffs = Array.from({ length: size / 400 }, (): Diff => ({ path: '/w/x', before: 'a\na\na\na', after: 'b', excerpt: {} }));
    return () => assert.deepEqual([pendingSides(diffs, text).ok, doneSides(diffs, text).ok], [false, false]);
  });
  assertLinear('hunks that make a file grow', 250, (count) => {
    const items = Array.from(
      { length: count },
      (): DiffItem => ({ type: 'diff', path: '/w/x', oldText: 'x', newText: `x${'y'.repeat(4000)}` }),
    );
    return () =>
      assert.equal(
        locate(items, 'x', false)
          .map(({ after }) => after)
          .join('').length >= 4001,
        true,
      );
  });
});

test('hunks at their lines are put together whatever their number, also in a file where their text stands more than once', () => {
  const before = Array.from({ length: 2400 }, (_, at) => (at % 3 ? 'same' : `line ${at}`));
  const after = before.map((line, at) => (at % 3 === 1 ? `new ${at}` : line));
  const items = before.flatMap((line, at): readonly DiffItem[] =>
    at % 3 === 1 ? [{ type: 'diff', path: '/w/x', oldText: `${line}\n`, newText: `new ${at}\n`, lines: [at + 1, at + 1] }] : [],
  );
  const [both, done] = [locate(items, `${before.join('\n')}\n`, false), locate(items, `${after.join('\n')}\n`, true)];
  assert.deepEqual(both, [{ path: '/w/x', before: `${before.join('\n')}\n`, after: `${after.join('\n')}\n` }]);
  assert.deepEqual(done, both);
});

test('a message of the view whose members are within their bounds, and add up to gigabytes, is refused', () => {
  const intent = (intent: object) => ({ type: 'intent', sessionId: 's', intent });
  const prompt = (data: string, count: number) =>
    intent({ type: 'prompt', turnId: 't', content: Array.from({ length: count }, () => ({ type: 'image', mime: 'image/png', data })) });
  const fields = (count: number) =>
    intent({
      type: 'answer',
      askId: 'a',
      answer: { kind: 'fields', values: Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, Array(200).fill('x')])) },
    });
  const picture = 'x'.repeat(16 * 1024 * 1024);
  assert.ok('message' in readFromView(prompt(picture, 3)));
  assert.ok('problem' in readFromView(prompt(picture, 200)));
  assert.ok('message' in readFromView(fields(40)));
  assert.ok('problem' in readFromView(fields(1000)));
});

test('a message of the view with members without end is refused by their number alone', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, ['x']]));
  const intent = (intent: object) => ({ type: 'intent', sessionId: 's', intent });
  const messages: Readonly<Record<string, (wide: (known?: object) => object) => unknown>> = {
    fields: (wide) => intent({ type: 'answer', askId: 'a', answer: { kind: 'fields', values: wide() } }),
    'an answer': (wide) => intent({ type: 'answer', askId: 'a', answer: wide({ kind: 'cancelled' }) }),
    'an intent': (wide) => intent(wide({ type: 'cancel' })),
    'a part of a prompt': (wide) => intent({ type: 'prompt', turnId: 't', content: [wide({ type: 'text', text: 'b' })] }),
    'a message': (wide) => wide({ type: 'ready' }),
    'no message': (wide) => wide({ type: 'nothing' }),
    'what a call is given': (wide) => ({ type: 'call', id: 1, method: 'models', params: wide() }),
  };
  for (const [name, make] of Object.entries(messages)) {
    const large = make((known) => ({ ...known, ...members(50_000) }));
    assertBrief(`${name} of the view`, () => assert.ok('problem' in readFromView(large)));
    let looks = 0;
    const watched = make((known) => {
      const ownKeys = (target: object) => {
        looks += 1;
        return Reflect.ownKeys(target);
      };
      return new Proxy({ ...known, ...members(1500) }, { ownKeys });
    });
    assert.ok('problem' in readFromView(watched));
    assert.equal(looks, 1, `${name}: how often its members are listed`);
  }
  const deep = JSON.parse(`${'{"type":'.repeat(2000)}1${'}'.repeat(2000)}`) as unknown;
  assert.ok('problem' in readFromView(deep));
});
