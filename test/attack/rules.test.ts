import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Platform } from '../../src/base/fileName.ts';
import { guardReason } from '../../src/base/guardedFiles.ts';
import { workspacePathsAt } from '../../src/live/diskFiles.ts';
import { approvalAsk } from '../../src/protocols/ai-sdk/codec.ts';
import { commandInput, withArguments } from '../../src/protocols/commandInput.ts';
import type { Approval, ApprovalDetail } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer, type WorkspacePaths } from '../../src/session/policy.ts';
import { assertLinear } from './linear.ts';
import { assertNoRuleAllows, isAllowedBy, plainFolder } from './names.ts';

/** The room of rules: an agent words its request so that a rule of the user answers for something else. */

const ask = (detail: ApprovalDetail, more: Partial<Approval> = {}): Approval => ({
  kind: 'approval',
  id: 'a',
  title: 'x',
  detail,
  options: [
    { id: 'all', label: 'Everything from now on', effect: 'other' },
    { id: 'always', label: 'Always', effect: 'allow_always' },
    { id: 'once', label: 'Once', effect: 'allow_once' },
    { id: 'no', label: 'No', effect: 'reject_once' },
  ],
  ...more,
});
const edit = (file: string) => ask({ type: 'edit', diffs: [{ path: file, before: 'a', after: 'b' }] });
const command = (text: string) => ask({ type: 'command', command: text });
/** A folder without links, as another system reads names. */
const pathsOf = (platform: Platform, cwd: string): WorkspacePaths => ({
  platform,
  real: cwd,
  below: (file) => {
    const plain = (text: string) => text.replaceAll('\\', '/').toLowerCase();
    const inside = plain(file).startsWith(`${plain(cwd)}/`);
    const below = inside
      ? file.slice(cwd.length + 1).replaceAll('\\', '/')
      : /^([a-z]:|\/|\\)/i.test(file)
        ? undefined
        : file.replaceAll('\\', '/');
    const guarded = below === undefined ? undefined : guardReason(below);
    return below === undefined ? undefined : { path: below, ...(guarded ? { guarded } : {}) };
  },
});
const answered = (what: Approval, rules: readonly ApprovalRule[], platform: Platform = 'posix', cwd = '/w') => {
  const answer = autoAnswer(what, rules, cwd, pathsOf(platform, cwd));
  return answer?.kind === 'option' ? answer.optionId : undefined;
};
const allow = (kind: ApprovalRule['kind'], pattern?: string): ApprovalRule => ({
  kind,
  decision: 'allow',
  ...(pattern ? { pattern } : {}),
});
const reject = (kind: ApprovalRule['kind'], pattern?: string): ApprovalRule => ({
  kind,
  decision: 'reject',
  ...(pattern ? { pattern } : {}),
});

const STEERING = [
  '.git/hooks/pre-commit',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  'x.code-workspace',
  '.envrc',
  'package.json',
  '.husky/pre-commit',
  '.claude/settings.json',
  '.cursor/mcp.json',
  '.github/workflows/ci.yml',
  '.bashrc',
  '.npmrc',
  '.gitattributes',
  '.envrc::$DATA',
  '.git::$INDEX_ALLOCATION/hooks/x',
  '.git./hooks/x',
  '.mcp.json.',
  'x.code-workspace.',
  '.vſcode/settings.json',
  'GIT~1/hooks/x',
  'CON',
];

test('a rule that rejects sees a subcommand behind options in each shell of Windows', () => {
  for (const [pattern, text] of [
    ['git push*', 'git -C "C:\\my folder" push'],
    ['git push*', 'GIT.EXE -C C:\\a push'],
    ['git push*', 'cmd /c "git -C "C:\\my folder" push"'],
    ['git push*', "& git -C 'C:\\my folder' push"],
    ['git push*', 'powershell -c "git -C . push"'],
    ['npm publish*', 'npm;--prefix;x;publish'],
  ] as const)
    assert.equal(answered(command(text), [allow('command'), reject('command', pattern)], 'win32', 'C:\\w'), 'no', text);
});

test('no rule with a wildcard and no rule without a pattern covers a file that runs by itself', () => {
  const wide = [
    allow('edit'),
    allow('edit', '**'),
    allow('edit', '**/*'),
    allow('edit', '*'),
    allow('edit', '.*/**'),
    allow('edit', '*.json'),
  ];
  for (const name of STEERING) {
    for (const rule of wide) assert.equal(answered(edit(`/w/${name}`), [rule]), undefined, `${name} by ${rule.pattern}`);
    assert.equal(answered(edit(`C:\\w\\${name}`), wide, 'win32', 'c:\\w'), undefined, name);
  }
  assert.equal(answered(edit('/w/src/a.ts'), [allow('edit', '**')]), 'once');
});

test('no wide rule covers what servers of languages, checkers, builders of documents and other editors run', () => {
  for (const name of [
    ...[
      'cspell.json',
      'PKGBUILD',
      ...[
        '.vscode-test.mjs',
        '.vscode-test.js',
        '.vscode-test/x',
        'lakefile.lean',
        'tools/bazel',
        'bin/app-gdb.py',
        'action.yml',
        'a/action.yaml',
      ],
      ...[
        'gemini-extension.json',
        'hooks/hooks.json',
        '.vibe/config.toml',
        '.grok/settings.json',
        'GROK.md',
        '.pi/agent.json',
        '.aiassistant/rules/a',
      ],
      'scripts/hooks/pre-push',
      'hooks/commit-msg',
      '.sl/config',
      '.trunk/trunk.yaml',
      '.pkgx.yaml',
      'package.json5',
      'jest.config.json',
      'helmfile.yaml.gotmpl',
      'texmf.cnf',
      '.solargraph.yml',
      'hie.yaml',
      '.rust-analyzer.toml',
      'rust-analyzer.toml',
      '.bsp/sbt.json',
      '.factorypath',
      '.classpath',
      '.project',
      '.settings/a.prefs',
    ],
    ...[
      '.markdownlint.cjs',
      '.markdownlint-cli2.jsonc',
      '.textlintrc.js',
      'tslint.json',
      'wallaby.js',
      '.lvimrc',
      '.lazy.lua',
      'x.sublime-build',
    ],
    ...[
      '.idx/dev.nix',
      '.codesandbox/tasks.json',
      'devfile.yaml',
      '.devfile.yml',
      '.latexmkrc',
      'doc/latexmkrc',
      'docs/conf.py',
      'mkdocs.yml',
    ],
    ...['book.toml', 'Doxyfile', 'conanfile.py', 'xmake.lua', 'premake5.lua', 'Tupfile', 'Snakefile', '.storybook/main.ts', '.eleventy.js'],
    ...[
      '.sequelizerc',
      'knexfile.ts',
      'plopfile.js',
      '.release-it.json',
      '.versionrc.js',
      '.envrc.local',
      '.python-version',
      '.node-version',
    ],
    ...['_darcs/prefs/defaults', '.arclint', '.vscode-insiders/tasks.json', '.nvim/init.lua', 'compile_commands.json', '.graphqlrc.ts'],
    ...[
      '.amp/settings.json',
      'AMP.md',
      'IFLOW.md',
      'CRUSH.md',
      '.codebuddy/x',
      '.qoder/mcp.json',
      'wrangler.jsonc',
      '.air.toml',
      'startup.jl',
    ],
    ...[
      'vitest.setup.ts',
      'jest.setup.js',
      'vitest.workspace.ts',
      'webpack.dev.js',
      'gatsby-node.js',
      'ember-cli-build.js',
      'import_map.json',
    ],
    ...['Kbuild', 'configure.ac', 'autogen.sh', 'vcpkg.json', 'pyvenv.cfg', 'Thorfile', 'build.ps1', 'paket.dependencies', 'a.runsettings'],
    ...['ormconfig.js', 'codegen.ts', 'alembic.ini', 'nextflow.config', '.dvc/config', 'gunicorn.conf.py'],
    ...['.RData', 'startup.m', '.gnuplot', '.ocamlinit', '.byebugrc', '.pdbrc.py', '.bashrc.d/a', '.p10k.zsh', '.m2/extensions.xml'],
  ])
    assert.equal(answered(edit(`/w/${name}`), [allow('edit'), allow('edit', '**')]), undefined, name);
});

test('a tool of an AI SDK server is not allowed for all its calls where they run or change something, and its name is a part of the command', () => {
  const asked = (name: string, input: unknown, isLocal = true) =>
    approvalAsk(
      { type: `tool-${name}`, toolCallId: 'c', state: 'approval-requested', input, approval: { id: 'a' } },
      { askId: 'a', turnId: 't', callId: 'c' },
      isLocal,
    );
  const effects = (one: Approval) => one.options.map(({ effect }) => effect);
  const acting: readonly (readonly [string, unknown])[] = [
    ['bash', { command: 'ls' }],
    ['terminal', { command: 'ls' }],
    ['write_file', { path: 'a', content: 'b', create_dirs: true }],
    ['save', { path: 'a', old_string: 'b', new_string: 'c' }],
    ['delete_file', { path: 'a' }],
    ['move_file', { from: 'a', to: 'b' }],
  ];
  for (const [name, input] of acting) assert.deepEqual(effects(asked(name, input)), ['allow_once', 'reject_once'], name);
  assert.deepEqual(effects(asked('look_up', { word: 'a' })), ['allow_once', 'allow_always', 'reject_once']);
  const rules = [allow('command'), allow('command', 'npm *'), allow('command', 'npm test')];
  for (const name of ['Shell', 'bash', 'run_command', 'runInTerminal', 'execute_shell_command', 'run_terminal_cmd', 'exec', 'bash_tool'])
    assert.equal(answered(asked(name, { command: 'npm test' }), rules), 'allow', name);
  for (const name of [
    'run_on_production',
    'exec_as_root',
    'bash_without_sandbox',
    'shell_remote',
    'run_sql',
    'execPython',
    'command_for_all',
  ]) {
    const one = asked(name, { command: 'npm test' });
    assert.equal(answered(one, rules), undefined, name);
    assert.ok(JSON.stringify(one.beside).includes(name), `${name} is not shown`);
  }
});

test('no rule of any kind covers a file by a name that misleads, on any system', () => {
  for (const [platform, cwd, separator] of [
    ['posix', '/w', '/'],
    ['darwin', '/Users/me/w', '/'],
    ['win32', 'c:\\w', '\\'],
    ['win32', '\\\\server\\share\\w', '/'],
  ] as const) {
    assert.ok(isAllowedBy([allow('edit', '**')], edit(`${cwd}${separator}src${separator}a.ts`), cwd, platform));
    assertNoRuleAllows((name) => edit(`${cwd}${separator}${name.replaceAll('/', separator)}`), cwd, platform);
    assertNoRuleAllows((name) => edit(name), cwd, platform);
  }
});

test('a rule that names a guarded file exactly covers that file and no other spelling of it', () => {
  const rule = [allow('edit', 'package.json')];
  assert.equal(answered(edit('/w/package.json'), rule), 'once');
  for (const name of ['Package.json', 'a/package.json', 'package.json.', 'package.json::$DATA', 'package.json ']) {
    assert.equal(answered(edit(`/w/${name}`), rule), undefined, name);
  }
});

test('a link of another name does not take the guard off', (t) => {
  const at = mkdtempSync(path.join(tmpdir(), 'parley-attack-'));
  t.after(() => rmSync(at, { recursive: true, force: true }));
  mkdirSync(path.join(at, '.git'));
  mkdirSync(path.join(at, 'plain'));
  symlinkSync('.git', path.join(at, 'notes'));
  symlinkSync('plain', path.join(at, '.vscode'));
  const rules = [allow('edit', '**')];
  for (const name of ['notes/config', '.vscode/settings.json', './notes/../notes/config']) {
    assert.equal(autoAnswer(edit(path.join(at, name)), rules, at, workspacePathsAt(at)), undefined, name);
  }
  assert.ok(autoAnswer(edit(path.join(at, 'plain/a.md')), rules, at, workspacePathsAt(at)));
});

test('a folder that was opened through a link is the same by its real name', (t) => {
  const at = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-attack-')));
  t.after(() => rmSync(at, { recursive: true, force: true }));
  mkdirSync(path.join(at, 'real/src'), { recursive: true });
  symlinkSync('real', path.join(at, 'opened'));
  const cwd = path.join(at, 'opened');
  const rule = allow('edit', 'src/**');
  for (const file of ['opened/src/a.ts', 'real/src/a.ts']) {
    const answer = autoAnswer(edit(path.join(at, file)), [rule], cwd, workspacePathsAt(cwd));
    assert.deepEqual(answer, { kind: 'option', optionId: 'once' }, file);
  }
  for (const file of ['real/.git/config', 'src/a.ts', 'real-twin/src/a.ts'])
    assert.equal(autoAnswer(edit(path.join(at, file)), [rule, allow('edit')], cwd, workspacePathsAt(cwd)), undefined, file);
});

test('the case of a drive or a folder does not take a file out of its rule', () => {
  for (const file of ['C:\\ws\\src\\a.ts', 'c:\\ws\\src\\a.ts', 'C:/WS/src/a.ts', 'c:\\ws\\SRC\\A.ts']) {
    assert.equal(answered(edit(file), [allow('edit', 'src/**')], 'win32', 'c:\\ws'), 'once', file);
    assert.equal(answered(edit(file), [allow('edit', '**'), reject('edit', 'src/**')], 'win32', 'c:\\ws'), 'no', file);
  }
  // The same folder and file by the names of their streams.
  for (const file of ['src::$INDEX_ALLOCATION\\a.ts', 'src:$I30:$INDEX_ALLOCATION\\a.ts', 'src\\a.ts:x', 'src. \\a.ts'])
    assert.equal(answered(edit(`c:\\ws\\${file}`), [allow('edit'), reject('edit', 'src/*.ts')], 'win32', 'c:\\ws'), 'no', file);
  assert.equal(answered(edit('D:\\ws\\src\\a.ts'), [allow('edit', 'src/**')], 'win32', 'c:\\ws'), undefined);
});

test('a rule that rejects sees a file by every spelling', () => {
  const rules = [allow('edit', '**'), reject('edit', 'secrets/*')];
  for (const name of ['secrets/a', 'SECRETS/a', 'secrets/a.', 'ſecrets/a', 'secret\u200ds/a', 'secrets/a::$DATA']) {
    assert.equal(answered(edit(`/w/${name}`), rules), 'no', name);
  }
});

test('on macOS a rule that rejects covers what one disk takes for the same name, a rule that allows what every disk does', () => {
  const cwd = '/Users/me/w';
  for (const [name, other] of [
    ['strasse/a', 'straße/a'],
    ['strasse/a', 'STRAẞE/a'],
    ['straße/a', 'strasse/a'],
    ['file.ts', 'ﬁle.ts'],
  ] as const) {
    assert.equal(answered(edit(`${cwd}/${name}`), [allow('edit', name)], 'darwin', cwd), 'once');
    assert.equal(answered(edit(`${cwd}/${other}`), [allow('edit', name)], 'darwin', cwd), undefined, other);
    assert.equal(answered(edit(`${cwd}/${other}`), [allow('edit'), reject('edit', name)], 'darwin', cwd), 'no', other);
  }
  const [folder, twin] = ['/Users/me/strasse', '/Users/me/straße'];
  const answer = autoAnswer(edit(`${twin}/a`), [allow('edit')], folder, plainFolder(folder, 'darwin'));
  assert.equal(answer, undefined, 'the folder of the session ends where its name does');
});

test('nothing about a command that is not its words is answered for', () => {
  const git = allow('command', 'git *');
  for (const text of [
    'git log\r rm -rf /',
    'git log\u034f',
    'git log\u180b',
    'git log\u{13430}',
    'git log\u180f',
    'git log\ufff0',
    'git\u3000log; x',
    'git log\u00a0--x',
    'git log\u2800',
    'git log\u0085rm',
    '\u200bgit log',
    'git log\ufe0f',
    'git log {a,b}',
    'git log & rm x',
    'git log <(rm x)',
    `git log ${'x'.repeat(30_000)}`,
  ]) {
    assert.equal(answered(command(text), [git]), undefined, JSON.stringify(text.slice(0, 40)));
  }
  for (const text of ['git log %COMSPEC%', 'git log !X!', 'git log ^& del x'])
    assert.equal(answered(command(text), [git], 'win32'), undefined, text);
  assert.equal(answered(command('git log --format=%H'), [git]), 'once');
  assert.equal(answered(ask({ type: 'command', command: 'git log', unsure: true }), [git, allow('command')]), undefined);
  assert.equal(answered(command('npm test\r'), [allow('command', 'npm test')]), undefined);
});

test('a command is not answered for when its call holds anything about it that nobody knows', () => {
  const said: ApprovalDetail = { type: 'command', command: 'git status', cwd: '/w' };
  const asked = (input: unknown) => withArguments(said, input);
  const harmless: readonly unknown[] = [
    undefined,
    null,
    'text',
    {},
    { command: 'git  status\n', timeout: 10, description: 'look', run_in_background: true, dangerouslyDisableSandbox: false },
    { cmd: 'git status', workdir: '/w' },
    { command: 'git', args: ['status'] },
    { c: 'git status', where: '/w' },
  ];
  for (const input of harmless) assert.deepEqual(asked(input), { detail: said }, JSON.stringify(input));
  const strange: readonly unknown[] = [
    { command: 'git status', environment: { PATH: '/tmp/evil' } },
    { command: 'git status', executable: '/tmp/evil' },
    { command: 'git status', chdir: '/etc' },
    { command: 'git status', dangerouslyDisableSandbox: true },
    { command: 'git status', sandbox: false },
    { command: 'git status', timeout: { after: 'rm -rf ~' } },
    { command: 'git status', cwd: '/etc' },
    { command: 'git status', cwd: ['/etc'] },
    { command: 'git status', cmd: 'rm -rf ~' },
    { command: { run: 'rm -rf ~' } },
    { command: 'rm -rf ~' },
    { script: 'rm -rf ~' },
    { c: 'rm -rf ~' },
    { options: { shell: { command: 'rm -rf ~' } } },
  ];
  for (const input of strange) {
    const { detail, beside = [] } = asked(input);
    assert.ok(detail.type === 'command' && detail.unsure, JSON.stringify(input));
    assert.ok(beside.length > 0, `shown with it: ${JSON.stringify(input)}`);
    assert.equal(answered({ ...ask(detail), beside }, [allow('command', 'git *')]), undefined);
  }
});

test('of the shells of Windows only the script is the command, unless anything else changes what runs', () => {
  const system = 'C:\\Windows\\System32\\';
  const scripts = [
    ['powershell.exe', '-Command', 'git status'],
    [`${system}WindowsPowerShell\\v1.0\\powershell.exe`, '-NoProfile', '-NonInteractive', '-Command', 'git status'],
    ['C:/Program Files/PowerShell/7/pwsh.exe', '-NoLogo', '-c', 'git status'],
    ['cmd', '/c', 'git status'],
    [`${system}cmd.exe`, '/d', '/s', '/C', 'git status'],
  ];
  for (const list of scripts) assert.equal(commandInput({ command: list })?.command, 'git status', list.join(' '));
  const others = [
    ['C:\\ws\\powershell.exe', '-Command', 'git status'],
    ['.\\cmd.exe', '/c', 'git status'],
    ['powershell', '-EncodedCommand', 'ZwBpAHQA'],
    ['powershell', '-ExecutionPolicy', 'Bypass', '-Command', 'git status'],
    ['powershell', '-File', 'x.ps1', '-Command', 'git status'],
    ['powershell', '-Command', 'rm x', 'git status'],
    ['cmd', '/v:on', '/c', 'git status'],
    ['cmd', '/c', 'del', 'x'],
    ['pwsh', 'git status'],
  ];
  for (const list of others) assert.equal(commandInput({ command: list })?.command, list.join(' '));
  const git = [allow('command', 'git *')];
  for (const script of [
    'git log; del x',
    'git log & del x',
    'git log %X%',
    'git log !X!',
    'git log ^| x',
    'git log $(x)',
    'git log\r\ndel x',
  ]) {
    const read = commandInput({ command: ['cmd', '/c', script] });
    assert.equal(answered(command(read?.command ?? ''), git, 'win32'), undefined, script);
  }
  const detail: ApprovalDetail = { type: 'command', command: 'git status', cwd: 'c:\\ws' };
  assert.deepEqual(withArguments(detail, { command: 'git status', cwd: 'C:\\WS\\' }), { detail });
});

test('a rule that rejects a command sees it behind blanks, other commands and characters that do not show', () => {
  for (const text of [
    'git  push -f',
    'git\tpush',
    'git\u200b push',
    'true && git push',
    '(git push)',
    'x; git   push',
    '$(git push)',
    'a | git push\r',
    'ls\rgit push',
    'ls\r\ngit push',
  ]) {
    assert.equal(answered(command(text), [allow('command'), reject('command', 'git push*')]), 'no', text);
  }
});

/** On Windows a reject rule with this pattern answers each command, whatever else is allowed. */
function isRejected(pattern: string, commands: readonly string[]): void {
  for (const text of commands)
    for (const all of [allow('command'), allow('command', '*')])
      assert.equal(answered(command(text), [all, reject('command', pattern)], 'win32'), 'no', text);
}

test('a rule that rejects a command sees it by every name of its program', () => {
  const all = [
    ...['GIT push', 'Git.exe push -f', 'git.cmd push', '"C:\\Program Files\\Git\\cmd\\git.exe" push', '/usr/bin/git push', './git push'],
    ...['g^it push', '^g^i^t p^ush', 'gi"t" push', "'git' 'push'", 'g\\it push', '@git push', '& git push', '. git push', '& "git" push'],
    ...['cmd /c git push', 'cmd.exe /d /s /c "git push"', 'CMD /C "git" push', 'call git push', 'start "" git push', 'start /b git push'],
    ...['powershell -NoProfile -Command git push', 'pwsh -c "git push"', "bash -lc 'git push'", 'sh -c "git push"', 'wsl git push'],
    ...['sudo -u x git push', 'env A=1 git push', 'A=1 git push', 'timeout 5 git push', 'xargs -n 1 git push', 'if exist x git push'],
    ...['echo x & git push', 'echo x\r\ngit push', 'iex "git push"', 'Start-Process git push', 'nohup nice git push'],
  ];
  for (const text of all) {
    assert.equal(answered(command(text), [allow('command'), reject('command', 'git push*')], 'win32'), 'no', text);
    assert.equal(answered(command(text), [allow('command'), reject('command', 'Git push*')]), 'no', text);
  }
  isRejected('del *', [
    'DEL a.txt',
    'del.exe a',
    'cmd /c DEL /q a',
    'Del a',
    'd^el a',
    'del/q a',
    'DEL,a',
    '%ComSpec% /c del a',
    'cmd/c del a',
    'cmd /cdel a',
    'cmd /kdel a',
    'cmd /s/cdel a',
    'cmd /d /v:on/s/cDEL a',
    'cmd/cdel a',
    'cmd /c"del a"',
    '"C:\\Windows\\System32\\cmd.exe"/cdel a',
    'C:\\Windows\\System32\\cmd/cdel a',
    '%COMSPEC%/cdel a',
    'conhost cmd /cdel a',
  ]);
  isRejected('npm publish*', [
    'npm;publish',
    'npm ;publish',
    'npm; publish',
    'npm,publish',
    'npm=publish',
    'echo a & npm;publish',
    'cmd /c npm;publish',
  ]);
  isRejected('git push*', [
    'conhost git push',
    'conhost.exe --headless git push',
    'winpty git push',
    'wt -d . git push',
    'forfiles /c "cmd /c git push"',
    'git ^\r\n push',
    'git `\r\n push',
    'git `\npush',
    'git 2>nul push',
    'git 2>$null push',
    '>out git push',
    'git %X% push',
    'git $env:X push',
    'docker run x git push',
  ]);
  assert.equal(answered(command('make; install a'), [allow('command'), reject('command', 'make install*')]), 'once');
  for (const text of ['cmd /c dir', 'cmd /cdir', 'npm run build', 'node a=del', 'git checkout -b del'])
    assert.equal(answered(command(text), [allow('command'), reject('command', 'del *')], 'win32', 'c:\\ws'), 'once', text);
  for (const text of ['echo "git push"', 'git pull', 'gitx push', 'npm run git push'])
    assert.equal(answered(command(text), [allow('command'), reject('command', 'git push*')], 'win32'), 'once', text);
});

test('a rule that rejects a command sees it behind braces, glued options, aliases, programs that run it and in its other name', () => {
  for (const text of [
    ...[
      'find . -exec rm {} +',
      'find . -name x -execdir /bin/rm -f {} \\;',
      'xargs -I {} rm {}',
      'ls | xargs -I{} rm -f {}',
      'ls | xargs rm',
    ],
    ...['r{m,} x', '{rm,x}', '{,rm} x', '{r,}{m,} x', 'A+=x rm x', 'A[0]=x rm x', 'A=1 B[i]+=2 rm x', 'env -S"rm x"', 'env -vS"rm x"'],
    ...[
      'env --split-string="rm x"',
      `env -S"sh -c 'rm x'"`,
      'fd -xrm {}',
      'fd --exec=rm {}',
      'git -c alias.x="!rm x" x',
      'alias a="rm x"; a',
    ],
    ...['git rebase -x "rm x"', 'npx --call="rm x"', 'xterm -e rm x', 'vim -c "!rm x"', 'rsync -e "rm x" a b', 'man -P "rm x" a'],
    ...['make SHELL="rm x"', 'gosu me rm x', 'repeat 3 rm x', 'noglob rm x', '- rm x', 'cmake -E env rm x', 'cargo watch -s "rm x"'],
    ...['rg --pre "rm x" a', 'split --filter="rm x" f', 'sort --compress-program="rm x"', 'zip a b -T -TT "rm x"', 'ed <<< "!rm x"'],
    ...[
      'git difftool --extcmd="rm x"',
      'git grep -O"rm x" a',
      'just --shell sh -c "rm x"',
      'mapfile -C "rm x" -c 1',
      'open -a Terminal rm x',
    ],
  ])
    for (const all of [allow('command'), allow('command', '*')])
      assert.equal(answered(command(text), [all, reject('command', 'rm *')]), 'no', text);
  for (const text of [
    ...[
      'git-push',
      'git-push -f',
      '/usr/lib/git-core/git-push',
      'git-push.exe',
      'sudo git-push',
      'env A=1 git-push',
      'find . -exec git-push {} +',
    ],
    ...[
      'git {push,x}',
      '{git,push}',
      '{git,push,-f}',
      'git pu{sh,}',
      'find . -type d -exec git -C {} push \\;',
      'ls | xargs -I{} git -C {} push',
    ],
    ...[
      'git -c alias.p=push p',
      'git -calias.p=push p',
      'A+=x git push',
      'env -S"git push"',
      'env -S"git -C \'a b\' push"',
      'xargs git push',
    ],
  ])
    assert.equal(answered(command(text), [allow('command'), reject('command', 'git push*')]), 'no', text);
});

test('a command whose words nobody knows is answered by no allowance beside a rule that rejects what they may be', () => {
  const rules = [allow('command'), allow('command', '*'), reject('command', 'git push*'), reject('command', 'rm *')];
  for (const text of [
    ...[
      '/bin/r? x',
      '/bin/r[m] x',
      'r* x',
      '/b?n/r? x',
      'g?t push',
      '/usr/bin/gi[t] push',
      'git pus?',
      'git p*',
      'git [p]ush',
      'git pu{s..s}h',
    ],
    ...[
      'git {{push,x},y}',
      `git {${'x,'.repeat(100)}push}`,
      'git $x',
      'git $(echo push)',
      'git `echo push`',
      'git pu$()sh',
      "git $'pu\\x73h'",
    ],
    // Which of the words in braces is the program is not worth finding out.
    'g{i,}t push',
    ...['ls | xargs git', 'sudo r? x', 'env A=1 r? x', 'timeout -k 5 5 r? x', 'find . -exec r? {} +', 'git -C $x status', 'git -C . pus?'],
  ]) {
    assert.equal(answered(command(text), rules), undefined, text);
    assert.notEqual(answered(command(text), [...rules, allow('command', text)]), 'no', `its very words: ${text}`);
  }
  for (const text of [
    ...[
      'ls *.ts',
      'git add *.ts',
      'git log -- src/*',
      'git -C "$dir" status',
      'find . -name "*.ts" -exec grep -n foo {} +',
      'git ls-files | xargs grep x',
    ],
    ...['for f in *; do echo $f; done', 'if [ "$(git rev-parse HEAD)" = x ]; then echo $y; fi', 'docker run -v "$PWD":/app node npm test'],
    ...['while read -r l; do echo "$l"; done', 'git commit -m "what? *x*"', 'npm run build -- $x', 'echo {a,b}'],
  ])
    assert.equal(answered(command(text), rules), 'once', text);
  assert.equal(
    answered(command('cat x?'), [allow('command'), reject('command', '*--force*')]),
    'once',
    'a rule that begins with a star doubts nothing',
  );
});

test('a command that names another server is asked about on Windows, whatever its program and however the server is written', () => {
  const all = [
    ...['dir \\\\evil\\share', 'dir //evil/share', 'ls \\\\evil\\s', 'Get-ChildItem \\\\evil\\s', 'gci //evil/s', 'Test-Path \\\\evil\\s'],
    ...[
      'Resolve-Path \\\\evil\\s',
      'tree \\\\evil\\s',
      'where /r \\\\evil\\s x',
      'git --git-dir=\\\\evil\\s status',
      'git log -- \\\\evil\\s\\x',
    ],
    ...[
      'dotnet build \\\\evil\\s\\x.csproj',
      'dotnet build /p:Out=\\\\evil\\s',
      'dotnet build -o:\\\\evil\\s',
      'gci -Path:\\\\evil\\s',
      'dir "\\\\evil\\s"',
    ],
    ...[
      'dir \\\\?\\UNC\\evil\\s',
      'dir \\\\evil@SSL\\DavWWWRoot',
      'ls a,\\\\evil\\s',
      'ls FileSystem::\\\\evil\\s',
      'cmd /c dir \\\\evil\\s',
    ],
    ...[
      'dir\\\\evil\\s',
      'git ls-remote file://evil/s',
      'cl /I\\\\evil\\s a.c',
      'git log -m \\\\evil\\s',
      'git commit -S \\\\evil\\s',
      'net view \\\\evil',
    ],
    ...['env -C \\\\evil\\s ls', 'git grep x \\\\evil\\s', 'git grep -f \\\\evil\\s x', 'ls //evil', 'ls \\/evil/s', 'stat \\\\evil\\s'],
  ];
  for (const text of all)
    for (const rule of [allow('command'), allow('command', '*')])
      assert.equal(answered(command(text), [rule], 'win32', 'c:\\ws'), undefined, text);
  for (const text of [
    'dir src\\a',
    'ls C:\\\\ws\\\\src',
    'git diff c:/ws/src',
    'dir \\\\?\\C:\\ws\\src',
    'git log --grep //todo/x',
    'git commit -m "//a/b"',
    'git commit -m "mend //todo/x"',
    'git grep "\\\\bfoo"',
    'git log --format="%h // %s"',
    'echo //a/b',
    'echo \\\\evil\\s',
    'bazel build //src:main',
    'tree //f',
    'dotnet build -p:Source=https://api.nuget.org/v3/index.json',
    'git log https://a.example/b',
    'npm run build -- --base=https://a.example//b',
    'tsc -p src\\\\a',
    'docker run -w //app x',
    'tree /f',
  ])
    assert.equal(answered(command(text), [allow('command')], 'win32', 'c:\\ws'), 'once', text);
  assert.equal(answered(command('dir \\\\server\\share\\ws\\a'), [allow('command', '*')], 'win32', '\\\\server\\share\\ws'), 'once');
  assert.equal(answered(command('ls //evil/s'), [allow('command', '*')]), 'once', 'elsewhere it is a path');
});

test('an option of unknown meaning is never chosen', () => {
  for (const effects of [['other'], ['other', 'allow_always'], ['other', 'reject_always']] as const) {
    const options = effects.map((effect, at) => ({ id: `o${at}`, label: 'x', effect }));
    for (const rule of [allow('command'), reject('command')]) {
      assert.equal(answered({ ...command('ls'), options }, [rule]), undefined, `${effects} ${rule.decision}`);
    }
  }
});

test('a tool whose name does not read as it is gets no allowance', () => {
  const mcp = (server: string, tool: string) => ask({ type: 'mcp', server, tool });
  assert.equal(answered(mcp('github', 'get_issue'), [allow('mcp', 'github/*')]), 'once');
  assert.equal(answered(mcp('github', 'get\u200b_issue'), [allow('mcp', 'github/*')]), undefined);
  assert.equal(answered(mcp('github', 'a/b'), [allow('mcp', 'github/*')]), undefined);
});

test('no rule but one of its very words covers a command that cannot be taken back, reaches outside or hides what runs', () => {
  const wide = ['*', 'git *', 'rm *', 'npm *', 'cat *', 'python3 *', 'sudo *', 'docker *', undefined].map(
    (pattern): ApprovalRule => ({ kind: 'command', decision: 'allow', ...(pattern === undefined ? {} : { pattern }) }),
  );
  for (const line of [
    'git push --force',
    'git reset --hard',
    'git checkout -- .',
    'git clean -fd',
    'rm -rf src',
    'rm *.ts',
    'npm publish',
    'cat ../../secret',
    'cat ~/.ssh/id_rsa',
    'python3 -c "import os; os.remove(1)"',
    'sudo ls',
    'docker run -v /:/host alpine',
    'crontab jobs',
    'dd if=a of=b',
    'chmod -R 777 src',
  ]) {
    assert.equal(answered(command(line), wide), undefined, line);
    assert.ok(answered(command(line), [{ kind: 'command', pattern: line, decision: 'allow' }]), `its very words: ${line}`);
  }
  assert.ok(answered(command('git status'), wide));
});

test('an option whose name contradicts it, or whose id another one has, is chosen by no rule', () => {
  const rules: readonly ApprovalRule[] = [{ kind: 'command', decision: 'allow' }];
  const ask = command('npm test');
  const once = { id: 'y', label: 'Allow', effect: 'allow_once' } as const;
  assert.ok(answered({ ...ask, options: [once] }, rules));
  for (const options of [
    [{ ...once, label: 'Reject' }],
    [{ ...once, label: 'Always allow' }],
    [once, { id: 'y', label: 'Reject', effect: 'reject_once' } as const],
  ])
    assert.equal(answered({ ...ask, options }, rules), undefined, JSON.stringify(options));
  const rejecting: readonly ApprovalRule[] = [{ kind: 'command', decision: 'reject' }];
  assert.equal(answered({ ...ask, options: [once, { id: 'n', label: 'Allow', effect: 'reject_once' }] }, rejecting), undefined);
});

test('a rule that rejects sees a command behind any number of blanks', () => {
  for (const blank of [' ', '\t', '\n', '\u00a0', '\u200b', '\u200b \n']) {
    const rejects = [{ kind: 'command', pattern: 'git push*', decision: 'reject' }] as const;
    assert.deepEqual(answered(command(`true;${blank.repeat(200_000)}git push`), rejects), answered(command('git push'), rejects));
  }
});

test('a command of more parts than are judged at once is answered by no wide allowance', () => {
  const parts = (count: number, part: string, between: string) => Array.from({ length: count }, (_, at) => `${part}${at}`).join(between);
  for (const rules of [[allow('command')], [allow('command'), reject('command', 'git push*')]]) {
    assert.equal(answered(command(parts(250, 'ls a', '; ')), rules), 'once');
    assert.equal(answered(command(`ls ${parts(900, 'a', ' ')}`), rules), 'once');
    assert.equal(answered(command(parts(400, 'ls a', '; ')), rules), undefined);
    assert.equal(answered(command(`ls ${parts(1100, 'a', ' ')}`), rules), undefined);
  }
  const [sudo, rules] = [parts(900, 'a "b', '" '), [allow('command'), reject('command', 'git push*')]];
  assert.equal(answered(command(`sh -c '${sudo}"; git push'`), rules), 'no');
  assert.equal(answered(command(parts(3000, 'sudo "a', '" -x; ')), rules), undefined);
});

test('the rules read a text of any length in proportion', () => {
  const rules = ['*a*a*a*a*b', '**/a/**/a/**/b', '?*?*?*?*', 'git *'].flatMap((pattern) =>
    (['allow', 'reject'] as const).flatMap((decision) => [
      { kind: 'command' as const, pattern, decision },
      { kind: 'edit' as const, pattern, decision },
    ]),
  );
  const pieces = [
    'a',
    'a/',
    ' ',
    '; a',
    '\r',
    '\u200d',
    '$(',
    '\u0000',
    '\\\n',
    '2>a ',
    '>',
    '${',
    '$a ',
    '%a%',
    'find -exec ',
    'find ',
    '{a,b}',
    '{a,b} ',
    '{',
    'r? ',
    '* ',
    'xargs ',
    '-s',
    'alias.=',
    'git- ',
  ];
  for (const piece of pieces) {
    assertLinear(`command of ${JSON.stringify(piece)}`, 4000, (size) => () => answered(command(piece.repeat(size)), rules));
    assertLinear(`path of ${JSON.stringify(piece)}`, 2000, (size) => () => answered(edit(`/w/${piece.repeat(size)}`), rules));
  }
});
