import assert from 'node:assert/strict';
import { type Platform, pathBelowFolder } from '../../src/base/fileName.ts';
import { guardReason } from '../../src/base/guardedFiles.ts';
import { isAbsolutePath } from '../../src/base/paths.ts';
import type { Approval } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer, type WorkspacePaths } from '../../src/session/policy.ts';

/* Names of files that run by themselves, and the ways to write them so that a system still opens the file. */

/** Files that run something, or instruct an agent, when nobody starts them. */
const GUARDED = [
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
/** How an agent may write such a name so that the system still opens it: of the whole path, or of its first name. */
const first = (change: (name: string) => string) => (file: string) => file.replace(/^[^/]+/, change);
const TRICKS: Readonly<Record<string, (file: string) => string>> = {
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

/** Names that mean another file, or a device, whatever they read. */
const OTHERS = [
  ...['GIT~1/hooks/x', 'VSCODE~2/tasks.json', 'PACKAG~1.JSO', 'src/ENVRC~1', 'gi7eba~1/config'],
  ...['nul', 'con.txt', 'COM1', 'lpt9.md', 'src/aux.c', 'prn .txt', 'CONIN$', 'conout$.a', 'com¹', 'LPT³.x', 'clock$', 'a/NUL/b'],
  ...[
    'a.ts:$DATA',
    'a.ts::$DATA',
    'src::$INDEX_ALLOCATION/a.ts',
    'src:x/a.ts',
    'a.ts ',
    'a.ts.',
    'src./a.ts',
    'src /a.ts',
    'a\u200b.ts',
    'a.ts\u2066',
  ],
];

export interface DeceptiveName {
  /** Below the workspace folder. */
  readonly name: string;
  readonly trick: string;
  /** The file in plain letters. */
  readonly plain: string;
}

export function deceptiveNames(): readonly DeceptiveName[] {
  const spelled = GUARDED.flatMap((plain) => Object.entries(TRICKS).map(([trick, spell]) => ({ name: spell(plain), trick, plain })));
  return [...spelled, ...OTHERS.map((name) => ({ name, trick: 'means something else', plain: name }))];
}

const KINDS: readonly ApprovalRule['kind'][] = [
  'command',
  'edit',
  'mcp',
  'read',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'other',
];

/** Rules of every kind: without a pattern, with wildcards, and with these names as they are and folded. */
export function everyRule(names: readonly string[]): readonly ApprovalRule[] {
  const patterns = ['*', '**', '**/*', '.*/**', '*.*', ...names, ...names.map((name) => name.toLowerCase())];
  return KINDS.flatMap((kind) => [undefined, ...patterns].map((pattern) => ({ kind, decision: 'allow', ...(pattern ? { pattern } : {}) })));
}

/** A folder without links, as that system reads names. */
export function plainFolder(cwd: string, platform: Platform = 'posix'): WorkspacePaths {
  return {
    platform,
    real: cwd,
    below: (file) => {
      const below = pathBelowFolder(cwd, isAbsolutePath(file) ? file : `${cwd}/${file}`, platform);
      const guarded = below === undefined ? undefined : guardReason(below);
      return below === undefined ? undefined : { path: below, ...(guarded ? { guarded } : {}) };
    },
  };
}

export function isAllowedBy(rules: readonly ApprovalRule[], ask: Approval, cwd: string, platform: Platform = 'posix'): boolean {
  const answer = autoAnswer(ask, rules, cwd, plainFolder(cwd, platform));
  return answer?.kind === 'option' && ask.options.find(({ id }) => id === answer.optionId)?.effect === 'allow_once';
}

/** No rule allows the edit of a file by a name that misleads; one that names the guarded file as it is written may. */
export function assertNoRuleAllows(askFor: (name: string) => Approval, cwd: string, platform: Platform = 'posix'): void {
  // Every fourth name, which are each file and each trick several times.
  const names = deceptiveNames().filter((_, at) => at % 4 === 0);
  assert.ok(names.length >= 200);
  for (const { name, trick, plain } of names) {
    const ask = askFor(name);
    const written = guardReason(name) === 'name' ? undefined : name.replaceAll('\\', '/').replace(/(?<=^|\/)\.\//g, '');
    const rules = everyRule([name, plain]).filter(({ kind, pattern }) => kind !== 'edit' || pattern === undefined || pattern !== written);
    if (!isAllowedBy(rules, ask, cwd, platform)) continue;
    const rule = rules.find((one) => isAllowedBy([one], ask, cwd, platform));
    assert.fail(`${trick}: ${JSON.stringify(name)} by ${JSON.stringify(rule)}`);
  }
}
