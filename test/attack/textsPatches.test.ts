import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readFromView } from '../../src/editor/viewMessages.ts';
import { locate } from '../../src/protocols/acp/diffs.ts';
import { version2 } from '../../src/protocols/acp/draft.ts';
import type { DiffItem } from '../../src/protocols/acp/schema.ts';
import { unifiedHunks } from '../../src/protocols/qwen/envelopeCodec.ts';
import { doneSides, pendingSides } from '../../src/session/diffs.ts';
import type { Diff } from '../../src/session/model.ts';
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
    'many files': many(4000, hunk),
    'many hunks': `--- a/x\n+++ b/x\n${many(10_000, (at) => `@@ -${at + 1} +${at + 1} @@\n-a\n+b\n`)}`,
    'too long': many(60_000, hunk),
    'a count that is no count': '--- a/x\n+++ b/x\n@@ -1,99999999999 +1,99999999999 @@\n-a\n+b\n',
    'nothing but heads': '--- a\n+++ b\n'.repeat(16_000),
  })) {
    assertBrief(`patch of ${name}`, () => assert.ok(asked(changes, text).length >= changes.length));
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

test('a message of the view with fields without end is refused at once', () => {
  const values = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, ['x']]));
  const message = { type: 'intent', sessionId: 's', intent: { type: 'answer', askId: 'a', answer: { kind: 'fields', values } } };
  assertBrief('fields of the view', () => assert.ok('problem' in readFromView(message)));
});
