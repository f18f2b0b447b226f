import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { guardReason, setGuardedFiles } from '../../src/base/guardedFiles.ts';
import { assertLinear } from '../attack/linear.ts';

/** Files that run something, or instruct an agent, when nobody starts them. */
const guarded = [
  '.git/hooks/pre-commit',
  '.git/config',
  'sub/.git',
  '.gitattributes',
  '.gitmodules',
  '.husky/pre-commit',
  '.pre-commit-config.yaml',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  'x.code-workspace',
  '.devcontainer/devcontainer.json',
  '.idea/workspace.xml',
  '.nvim.lua',
  '.mcp.json',
  '.claude/settings.json',
  '.cursor/mcp.json',
  '.gemini/settings.json',
  '.qwen/settings.json',
  '.kimi/config.json',
  'AGENTS.md',
  'packages/a/CLAUDE.md',
  '.agents/skills/x/SKILL.md',
  '.envrc',
  '.env',
  '.env.local',
  '.bashrc',
  '.zshenv',
  '.profile',
  '.ssh/authorized_keys',
  'mise.toml',
  '.github/workflows/ci.yml',
  '.gitlab-ci.yml',
  '.circleci/config.yml',
  'Jenkinsfile',
  'package.json',
  'packages/a/package.json',
  'package-lock.json',
  '.npmrc',
  '.yarnrc.yml',
  'node_modules/x/index.js',
  'vite.config.ts',
  'eslint.config.mjs',
  '.eslintrc.cjs',
  'Makefile',
  'CMakeLists.txt',
  'pyproject.toml',
  'conftest.py',
  'setup.py',
  'Cargo.toml',
  'build.rs',
  '.cargo/config.toml',
  'go.mod',
  'Gemfile',
  'composer.json',
  'pom.xml',
  'build.gradle.kts',
  'app.csproj',
  'Directory.Build.props',
  'Dockerfile',
  'compose.yaml',
  'tsconfig.json',
];
/** Ordinary files: a question about each would teach the user to stop reading. */
const ordinary = [
  'src/a.ts',
  'src/.hidden.ts',
  'build/out.js',
  'src/build/plan.ts',
  'README.md',
  'docs/agents/index.md',
  'src/hooks/useThing.ts',
  'src/config.ts',
  'src/settings.json',
  'test/fixtures/data.json',
  'styles/main.css',
  'git/notes.txt',
  'src/vscode.ts',
  'envrc',
  'makefiles.md',
  'my-package.json5',
  'a.b.c',
  '...rest.ts',
  'résumé.md',
  '文档/说明.md',
  'ｆｕｌｌｗｉｄｔｈ.md',
  'notes ❤️.md',
  'console.ts',
  'auxiliary.c',
  'com10.ts',
  'a~b.txt',
  'tilde~',
  'lib/index.d.ts',
  'Main.java',
  'main.go',
  'lib.rs',
  'app.py',
];
/** How an agent may write such a name so that the system still opens it: of the whole path, or of its first name. */
const first = (change: (name: string) => string) => (file: string) => file.replace(/^[^/]+/, change);
const tricks: Readonly<Record<string, (file: string) => string>> = {
  plain: (file) => file,
  upper: (file) => file.toUpperCase(),
  'dot at the end': first((name) => `${name}.`),
  'dots and blanks at the end': first((name) => `${name} . .`),
  'blank at the end': first((name) => `${name} `),
  stream: (file) => `${file}::$DATA`,
  'folder stream': first((name) => `${name}::$INDEX_ALLOCATION`),
  'named stream': first((name) => `${name}:x`),
  backslashes: (file) => file.replaceAll('/', '\\'),
  'zero width joiner': first((name) => `${name.slice(0, 2)}\u200d${name.slice(2)}`),
  'zero width no-break': first((name) => `${name}\ufeff`),
  'grapheme joiner': first((name) => `${name.slice(0, 1)}\u034f${name.slice(1)}`),
  'full width': first((name) => name.replace(/[a-z]/i, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))),
  'long s': (file) => file.replaceAll('s', 'ſ'),
  'Kelvin sign': (file) => file.replaceAll('k', 'K'),
  'in a folder': (file) => `deep/er/${file}`,
  'dots between': (file) => `./${file.replaceAll('/', '/./')}`,
};

test('files that run by themselves are guarded by every name a system opens them under', () => {
  let names = 0;
  for (const file of guarded) {
    for (const [trick, spell] of Object.entries(tricks)) {
      names += 1;
      assert.ok(guardReason(spell(file)), `${trick}: ${JSON.stringify(spell(file))}`);
    }
  }
  assert.ok(names >= 200);
});

test('short names and devices are guarded, whatever they stand for', () => {
  for (const name of [
    'GIT~1/hooks/x',
    'VSCODE~2/tasks.json',
    'PACKAG~1.JSO',
    'nul',
    'con.txt',
    'COM1',
    'lpt9.md',
    'src/aux.c',
    'prn .txt',
    'CONIN$',
  ]) {
    assert.equal(guardReason(name), 'name', name);
  }
});

test('ordinary files are not guarded', () => {
  for (const name of ordinary) assert.equal(guardReason(name), undefined, name);
});

test('the user adds names and paths, and what is listed stays', () => {
  after(() => setGuardedFiles([]));
  setGuardedFiles(['*.Sql', 'infra/**']);
  assert.equal(guardReason('db/schema.SQL'), 'user');
  assert.equal(guardReason('infra/a/b.ts'), 'user');
  assert.equal(guardReason('src/infra/a.ts'), undefined);
  assert.equal(guardReason('.envrc'), 'shell');
});

test('a name of any length costs time in proportion', () => {
  for (const piece of ['a', '.', '*', 'ſ', '\u200d', '/a', '~']) {
    assertLinear(`guard ${piece}`, 3000, (size) => () => guardReason(`${piece.repeat(size)}x`));
  }
});
