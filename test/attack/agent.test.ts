import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { applyPatch } from 'diff';
import type { Frontend, PermissionAnswer } from '../../src/agent/frontend.ts';
import { findSkills, skillCommands, systemPrompt } from '../../src/agent/instructions.ts';
import { Permissions } from '../../src/agent/permissions.ts';
import { filePatch } from '../../src/agent/servers/filePatch.ts';
import { strReplaceFileTool, writeFileTool } from '../../src/agent/tools/files.ts';
import { type ContentSearch, globTool, grepTool, listDirectoryTool, searchBuiltIn, walk } from '../../src/agent/tools/searching.ts';
import { checkerOf } from '../../src/agent/tools/tool.ts';
import { diskFiles } from '../../src/agent/workspace/textFile.ts';
import { ignoreRules } from '../../src/base/ignoreRules.ts';
import { temporaryFolder } from '../agent/agentProcess.ts';
import { sceneIn } from '../agent/toolScene.ts';
import { assertLinear } from './linear.ts';

/** The room of the bundled agent: a hostile workspace, and a hostile model. */

const SECRET = 'the key of somebody else';
const searchIn = (target: string, pattern: string, more: Partial<ContentSearch> = {}): ContentSearch => ({
  pattern,
  literal: false,
  ignoreCase: false,
  glob: undefined,
  target,
  most: 200,
  ...more,
});

test('notes and skills that lead out of the workspace are not sent to the model', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  const workspace = { cwd, roots: [cwd] };
  writeFileSync(path.join(outside, 'SKILL.md'), `---\nname: leak\ndescription: ${SECRET}\n---\n${SECRET}`);
  symlinkSync(path.join(outside, 'SKILL.md'), path.join(cwd, 'AGENTS.md'));
  mkdirSync(path.join(cwd, '.agents/skills/one'), { recursive: true });
  symlinkSync(path.join(outside, 'SKILL.md'), path.join(cwd, '.agents/skills/one/SKILL.md'));
  symlinkSync(outside, path.join(cwd, '.agents/skills/two'));
  mkdirSync(path.join(cwd, '.claude'));
  mkdirSync(path.join(outside, 'skills/three'), { recursive: true });
  writeFileSync(path.join(outside, 'skills/three/SKILL.md'), SECRET);
  symlinkSync(path.join(outside, 'skills'), path.join(cwd, '.claude/skills'));
  assert.ok(!(await systemPrompt(workspace)).includes(SECRET));
  assert.deepEqual(findSkills(cwd, [], path.join(cwd, 'no-home')), []);
});

test('a skill that becomes a link after it was listed is not read', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, '.agents/skills/one/SKILL.md');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '---\ndescription: fine\n---\nbody');
  writeFileSync(path.join(outside, 'x'), SECRET);
  const [command] = skillCommands(findSkills(cwd, [], path.join(cwd, 'no-home')));
  rmSync(file);
  symlinkSync(path.join(outside, 'x'), file);
  const prompt = await command?.run({ args: '' } as never);
  assert.ok(!JSON.stringify(prompt).includes(SECRET));
});

test("the user's own skills may be links", (t) => {
  const home = temporaryFolder(t);
  const dotfiles = temporaryFolder(t);
  mkdirSync(path.join(home, '.agents/skills'), { recursive: true });
  mkdirSync(path.join(dotfiles, 'one'));
  writeFileSync(path.join(dotfiles, 'one/SKILL.md'), '---\ndescription: mine\n---\nbody');
  symlinkSync(path.join(dotfiles, 'one'), path.join(home, '.agents/skills/one'));
  assert.deepEqual(
    findSkills(temporaryFolder(t), [], home).map((one) => one.description),
    ['mine'],
  );
});

test('a search tells nothing of files that links lead to', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(outside, 'secret.txt'), SECRET);
  symlinkSync(path.join(outside, 'secret.txt'), path.join(cwd, 'notes.txt'));
  symlinkSync(outside, path.join(cwd, 'folder'));
  writeFileSync(path.join(cwd, 'own.txt'), SECRET);
  const { hits } = await searchBuiltIn(searchIn(cwd, 'key'), new AbortController().signal);
  assert.deepEqual(
    hits.map((hit) => path.basename(hit.path)),
    ['own.txt'],
  );
  const listed = await listDirectoryTool.run({ path: '.' }, sceneIn(cwd));
  assert.ok(!listed.text.includes(`notes.txt  ${SECRET.length}`), listed.text);
});

test('a pipe in the place of a file that is read by itself holds nothing up', async (t) => {
  const cwd = temporaryFolder(t);
  for (const name of ['AGENTS.md', '.gitignore', 'a.txt']) execFileSync('mkfifo', [path.join(cwd, name)]);
  mkdirSync(path.join(cwd, '.agents/skills/one'), { recursive: true });
  execFileSync('mkfifo', [path.join(cwd, '.agents/skills/one/SKILL.md')]);
  await systemPrompt({ cwd, roots: [cwd] });
  assert.deepEqual(findSkills(cwd, [], path.join(cwd, 'no-home')), []);
  const { hits } = await searchBuiltIn(searchIn(cwd, '.'), new AbortController().signal);
  assert.deepEqual(hits, []);
});

test('an allowance of all edits does not cover files that run by themselves', async (t) => {
  const cwd = temporaryFolder(t);
  symlinkSync('.', path.join(cwd, 'same'));
  const permissions = new Permissions();
  const asked: string[] = [];
  const frontend = {
    approve: (request: { readonly action: string; readonly description: string }): Promise<PermissionAnswer> => {
      asked.push(request.description);
      return Promise.resolve({ allow: true, forSession: true });
    },
  } as unknown as Frontend;
  const scene = {
    ...sceneIn(cwd),
    permit: (request: Parameters<ReturnType<typeof sceneIn>['permit']>[0]) =>
      permissions.ask(frontend, { callId: 'c', tool: 'x', ...request }, new AbortController().signal),
  };
  const write = (file: string) => writeFileTool.run({ path: file, content: 'x' }, scene);
  await write('a.txt');
  await write('b.txt');
  assert.equal(asked.length, 1, 'an ordinary file is covered');
  const guarded = [
    '.git/hooks/pre-commit',
    '.vscode/tasks.json',
    'x.code-workspace',
    '.envrc',
    'package.json',
    'same/.envrc2/../.npmrc',
    '.ENVRC',
  ];
  for (const file of guarded) await write(file);
  await write('.vscode/settings.json');
  await strReplaceFileTool.run({ path: '.envrc', edit: { old: 'x', new: 'y' } }, scene);
  assert.equal(asked.length, 1 + guarded.length + 2, asked.join('\n'));
  assert.match(asked[1] ?? '', /Version control runs/);
});

test('a folder that becomes a link between the question and the write gets nothing written behind it', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  for (let time = 0; time < 20; time++) {
    const folder = path.join(cwd, `d${time}`);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'a.txt'), 'old');
    const place = { path: path.join(folder, 'a.txt'), real: path.join(folder, 'a.txt'), inside: true };
    const made = { ...place, real: path.join(folder, 'new/deep/b.txt') };
    renameSync(folder, `${folder}-away`);
    symlinkSync(outside, folder);
    for (const one of [place, made]) await assert.rejects(diskFiles.write(one, 'x', { eol: '\n', bom: false }), /elsewhere/);
    await assert.rejects(diskFiles.read(place, 'a.txt').then((file) => assert.ok(file)));
  }
  for (const name of ['a.txt', 'new']) assert.ok(!existsSync(path.join(outside, name)));
});

test('a file that becomes a link between the question and the write is not written through', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  const target = path.join(outside, 'x');
  writeFileSync(target, 'theirs');
  const file = path.join(cwd, 'a.txt');
  symlinkSync(target, file);
  const place = { path: file, real: file, inside: true };
  await assert.rejects(diskFiles.write(place, 'x', { eol: '\n', bom: false }), /elsewhere/);
  await assert.rejects(diskFiles.read(place, 'a.txt'), /elsewhere/);
  assert.equal(readFileSync(target, 'utf8'), 'theirs');
});

test('a write that races with a swapped folder never lands outside', async (t) => {
  const outside = temporaryFolder(t);
  const cwd = temporaryFolder(t);
  const folder = path.join(cwd, 'd');
  mkdirSync(folder);
  let landed = 0;
  for (let time = 0; time < 200; time++) {
    const writing = diskFiles
      .write({ path: `${folder}/f`, real: `${folder}/f`, inside: true }, 'x', { eol: '\n', bom: false })
      .catch(() => {});
    // After a different number of steps each time.
    for (let step = 0; step < time % 40; step++) await Promise.resolve();
    if (time % 3 === 0) await new Promise(setImmediate);
    renameSync(folder, `${folder}2`);
    symlinkSync(outside, folder);
    await writing;
    rmSync(folder);
    renameSync(`${folder}2`, folder);
    if (existsSync(path.join(outside, 'f'))) landed += 1;
  }
  assert.equal(landed, 0);
});

test("a model's patterns take time in proportion to the text", async (t) => {
  const cwd = temporaryFolder(t);
  const signal = new AbortController().signal;
  writeFileSync(path.join(cwd, 'a.txt'), `${'a'.repeat(19_000)}!\n`.repeat(20));
  for (const pattern of ['(a+)+$', '(a|a)*$', '(.*a){20}$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(?:a?){30}a{30}!!']) {
    const { hits } = await searchBuiltIn(searchIn(cwd, pattern, { ignoreCase: true }), signal);
    assert.ok(hits.length <= 21, pattern);
  }
  mkdirSync(path.join(cwd, 'a'.repeat(200), 'a'.repeat(200)), { recursive: true });
  writeFileSync(path.join(cwd, 'a'.repeat(200), 'a'.repeat(200), 'a'.repeat(200)), '');
  for (const pattern of ['*a'.repeat(60), `${'**/a*'.repeat(60)}b`, `${'{a,aa}'.repeat(7)}*b`]) {
    const found = await globTool.run({ pattern }, sceneIn(cwd));
    assert.equal(found.isError, false, pattern);
  }
  const check = await checkerOf({ type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } });
  assert.equal(check({ x: 'aaa' }), undefined);
  assert.match(check({ x: 'aab' }) ?? '', /pattern/);
  assertLinear('pattern of a schema', 4000, (size) => () => check({ x: `${'a'.repeat(size)}!` }));
});

test("a model's pattern of few characters that stands for thousands of places fills no memory and holds nothing up", async (t) => {
  const cwd = temporaryFolder(t);
  const signal = new AbortController().signal;
  writeFileSync(path.join(cwd, 'a.txt'), `${'a'.repeat(19_990)}needle\nneedle\n`);
  const many = [
    'a{0,1000}'.repeat(200),
    `(${'\\pL'.repeat(20)}){1000}`,
    '\\pL{1000}'.repeat(50),
    '((a{30}){30}){3}b'.repeat(9),
    '[[:alpha:]\\]]{999}'.repeat(9),
  ];
  const hidden = ['\\Q[\\E', '[]]', '[^]]', '\\[', '(?:', '\\x{5B}', '[[:alpha:][]'].map(
    (begin) => `${begin}(\\pL\\pN\\pL\\pN\\pL\\pN){1000}`,
  );
  for (const pattern of [...many, ...hidden]) {
    await assert.rejects(() => searchBuiltIn(searchIn(cwd, pattern), signal), /Not a usable regular expression/, pattern);
    // The client checks such a text itself.
    const check = await checkerOf({ type: 'object', properties: { x: { type: 'string', pattern: `^${pattern}!$` } } });
    assert.equal(check({ x: 'b' }), undefined, pattern);
  }
  for (const pattern of [
    'need{1,2}le',
    'ne.{0,1000}le',
    '(\\w{0,20}\\s?){1,9}needle',
    '^[a-z]{6}$',
    '(?:\\d{1,3}\\.){3}\\d{1,3}|needle',
    '[]{}()]{3}|needle',
  ])
    assert.equal((await searchBuiltIn(searchIn(cwd, pattern), signal)).hits.at(-1)?.line, 2, pattern);
  // Of a long line as much is searched as the pattern has time for.
  for (const [times, lines] of [
    [600, [2]],
    [9, [1, 2]],
  ] as const) {
    const { hits } = await searchBuiltIn(searchIn(cwd, `(?:\\pL\\pN\\pL\\pN){${times}}|needle`), signal);
    assert.deepEqual(
      hits.map(({ line }) => line),
      lines,
    );
  }
});

test('the patterns of a .gitignore take time in proportion to the name', () => {
  const rules = ignoreRules(`${'*a'.repeat(40)}b\n${'**/a'.repeat(40)}/b\n`);
  assertLinear('.gitignore', 2000, (size) => () => rules('a'.repeat(size), false));
});

test('.gitignore is read as git reads it', async (t) => {
  const cwd = temporaryFolder(t);
  execFileSync('git', ['init', '-q'], { cwd });
  const lines = ['*.log', '!keep.log', '/top', 'dir/', 'a/b', 'x/**', '**/deep/y', '# no', '\\#yes', '[0-9].txt', 'sp\\ ', 'one?', '!x/in'];
  writeFileSync(path.join(cwd, '.gitignore'), lines.join('\n'));
  const files = [
    'a.log',
    'keep.log',
    'top',
    's/top',
    'dir/f',
    's/dir/f',
    'a/b',
    's/a/b',
    'x/in',
    'x/q/r',
    'deep/y',
    'p/q/deep/y',
    '#yes',
    '# no',
    '5.txt',
  ];
  files.push('55.txt', 'sp ', 'sp', 'one1', 'one', 'oneab', 'd2/dir', 'keep.log2');
  for (const file of files) {
    mkdirSync(path.join(cwd, path.dirname(file)), { recursive: true });
    if (!existsSync(path.join(cwd, file))) writeFileSync(path.join(cwd, file), '');
  }
  const seen = new Set<string>();
  for await (const entry of walk(cwd, new AbortController().signal)) if (!entry.directory) seen.add(entry.relative);
  const tracked = execFileSync('git', ['-c', 'core.quotePath=false', 'ls-files', '-z', '-o', '--exclude-standard'], {
    cwd,
    encoding: 'utf8',
  });
  assert.deepEqual([...seen].sort(), tracked.split('\0').filter(Boolean).sort());
});

test('a patch of a file in which no line stays is made in proportion to its lines, and is one', () => {
  const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word}${(at * 7919) % count}`).join('\n');
  const patchOf = (before: string, after: string) => filePatch('a\\b', before, after, { context: 3 });
  assertLinear('patch of other lines', 5000, (size) => {
    const [before, after] = [lines(size, 'a'), lines(size, 'b')];
    return () => patchOf(before, after);
  });
  const texts = [
    '',
    'x',
    'x\n',
    lines(800, 'a'),
    `${lines(800, 'b')}\n`,
    `x\n${lines(700, 'c')}\ny\n`,
    `x\n${lines(900, 'd')}\ny\n`,
    '\n'.repeat(3000),
  ];
  for (const before of texts) {
    for (const after of texts) {
      const { text, added, removed } = patchOf(before, after);
      assert.equal(applyPatch(before, text), after, `${before.slice(0, 20)} to ${after.slice(0, 20)}`);
      assert.equal(before === after, added + removed === 0);
    }
  }
});

test('a line of nothing but line ends is found in time proportional to it', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), `begin${'\r'.repeat(400_000)}end\n`);
  const found = await grepTool.run({ pattern: 'begin', path: '.' }, sceneIn(cwd));
  assert.match(found.text, /a\.txt/);
});
