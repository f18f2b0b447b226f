import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { type Platform, pathBelowFolder } from '../../src/base/fileName.ts';
import { guardReason } from '../../src/base/guardedFiles.ts';
import { workspacePathsAt } from '../../src/live/diskFiles.ts';
import type { Approval, ApprovalDetail } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer, type WorkspacePaths } from '../../src/session/policy.ts';

const ask = (detail: ApprovalDetail): Approval => ({
  kind: 'approval',
  id: 'a',
  title: 'x',
  detail,
  options: [
    { id: 'always', label: 'Always', effect: 'allow_always' },
    { id: 'once', label: 'Once', effect: 'allow_once' },
    { id: 'no', label: 'No', effect: 'reject_once' },
  ],
});
const command = (text: string) => ask({ type: 'command', command: text });
const edit = (...paths: string[]) => ask({ type: 'edit', diffs: paths.map((path) => ({ path, before: 'a', after: 'b' })) });
let folder = '/w';
const answered = (what: Approval, ...rules: ApprovalRule[]) => {
  const answer = autoAnswer(what, rules, folder, workspacePathsAt(folder));
  return answer?.kind === 'option' ? answer.optionId : answer;
};
const allow = (kind: ApprovalRule['kind'], pattern?: string): ApprovalRule => ({
  kind,
  decision: 'allow',
  ...(pattern === undefined ? {} : { pattern }),
});

test('without a rule nobody but a user answers', () => {
  assert.equal(answered(command('ls')), undefined);
  assert.equal(answered(command('ls'), allow('edit')), undefined);
});

test('a rule chooses the one-time option, never one that widens', () => {
  assert.equal(answered(command('npm test'), allow('command', 'npm test')), 'once');
  const { options, ...rest } = command('npm test');
  assert.equal(answered({ ...rest, options: options.filter((one) => one.id !== 'once') }, allow('command')), undefined);
});

test('a pattern does not let a second command through', () => {
  for (const text of [
    'git status; rm -rf /',
    'git status && rm x',
    'git log | sh',
    'git log `id`',
    'git log $(id)',
    'git log > /etc/passwd',
    'git log\nrm x',
  ]) {
    assert.equal(answered(command(text), allow('command', 'git *')), undefined, text);
  }
  assert.equal(answered(command('git log -1'), allow('command', 'git *')), 'once');
  assert.equal(answered(command('a | b'), allow('command', 'a | b')), 'once');
});

test('a rejection beats every allowance, in whichever order', () => {
  const begins: ApprovalRule = { kind: 'command', pattern: 'git push *', decision: 'reject' };
  assert.equal(answered(command('git push'), begins, allow('command', 'git *')), 'no', 'a command that is only the beginning');
  assert.equal(answered(command('git -C . push; true'), begins, allow('command', 'git *')), 'no');
  assert.notEqual(answered(command('git pushy'), begins, allow('command', 'git *')), 'no');
  assert.equal(answered(command('npm test'), allow('command', 'npm test *')), 'once');
  const no: ApprovalRule = { kind: 'command', pattern: 'git push*', decision: 'reject' };
  assert.equal(answered(command('git push -f'), no, allow('command', 'git *')), 'no');
  assert.equal(answered(command('git push -f'), allow('command', 'git *'), no), 'no');
  assert.equal(answered(command('git push; true'), no, allow('command')), 'no');
});

test('a rejection sees a command of Windows by either of its names, an allowance does not', () => {
  const reject = (pattern: string): ApprovalRule => ({ kind: 'command', decision: 'reject', pattern });
  assert.equal(answered(command('erase /q a'), reject('del *')), 'no');
  assert.equal(answered(command('cmd /c rd /s x'), reject('rmdir *')), 'no');
  assert.equal(answered(command('erase /q a'), allow('command', 'del *')), undefined);
});

test('a rejection sees the subcommand behind options with their values, an allowance does not', () => {
  const cases: readonly (readonly [pattern: string, command: string])[] = [
    ['git push*', 'git -C . push'],
    ['git push*', 'git -C "my folder" push origin'],
    ['git push*', "git -C 'my folder' push origin"],
    ['git push*', 'git -C my\\ folder push'],
    ['git push*', 'git --no-pager -c x=y push'],
    ['git push*', 'git --git-dir=../other/.git --work-tree ../other push -f'],
    ['git push*', `git ${'-c a=b '.repeat(40)}push`],
    ['git push*', 'GIT_DIR=x git -C . push'],
    ['git push*', 'sudo -u me /usr/bin/git -C . push'],
    ['git push*', 'unshare -r flock lock git push'],
    ['git push*', 'wt git push'],
    ['git push*', 'cd x && git -C $(pwd) push'],
    ['git push*', `sh -c 'git -C "my folder" push'`],
    ['git push', 'git -C . push'],
    ['npm publish*', 'npm --prefix x publish'],
    ['npm run deploy*', 'npm run --silent deploy:all'],
    ['docker push*', 'docker --context far push a/b'],
    ['docker compose down*', 'docker compose -f "a b.yml" down -v'],
    ['kubectl delete*', 'kubectl -n x delete pod y'],
    ['gh pr merge*', 'gh pr -R a/b merge 3'],
    ['rm src/*', 'rm -rf src/a'],
  ];
  for (const [pattern, text] of cases) {
    assert.equal(answered(command(text), { kind: 'command', pattern, decision: 'reject' }), 'no', `${pattern}: ${text}`);
    assert.equal(answered(command(text), allow('command', pattern)), undefined, `${pattern}: ${text}`);
  }
  const others: readonly (readonly [pattern: string, command: string])[] = [
    ['git push*', 'git -C . log push'],
    ['git push*', 'git log --grep push'],
    ['git push', 'git push --dry-run'],
    ['npm publish*', 'npm install --save publish'],
    ['docker rm*', 'docker run --rm -it image rm x'],
  ];
  for (const [pattern, text] of others)
    assert.equal(answered(command(text), { kind: 'command', pattern, decision: 'reject' }), undefined, `${pattern}: ${text}`);
});

test('a rejection sees a command whatever the shell takes away or puts in, and whatever runs it; an allowance does not', () => {
  const texts = [
    ...['git \\\n push', 'git \\\npush', 'git\\\n push', 'git pu\\\nsh', '\\\ngit push', 'git \\\n \\\n push -f'],
    ...['git 2>/dev/null push', '>out git push', '2>&1 git push', '> out git push', 'git >&2 push', 'git &>out push', '<in git push'],
    ...['{log}>out git push', 'git > \\\nout push', 'A=1 >out git push', 'true && >out git push', 'sh -c ">out git push"'],
    ...['find . -exec git push \\;', 'find . -execdir git push {} +', 'find . -ok git push ";"', 'find . -name a -okdir git push \\;'],
    ...[
      'git $X push',
      'git "$X" push',
      'git $\u007bX} push',
      'git $X . push',
      'git $@ push',
      '$X git push',
      'git pu$1sh',
      "git $'push'",
      'git $"push"',
    ],
    ...['strace git push', 'ionice -c 3 git push', 'coproc git push', 'parallel git push ::: a', 'unshare git push', 'flock x git push'],
    ...['script -c "git push"', 'script -qc "git push" /dev/null', 'su -c "git push"', 'ssh host git push', 'trap "git push" EXIT'],
    ...['docker run x git push', 'docker run --rm -it x git push', 'docker compose exec x git push', 'kubectl exec pod -- git push'],
    ...['podman exec x sh -c "git push"', 'npm exec git push', 'poetry run git push', 'git submodule foreach git push', 'fd . -x git push'],
    ...[
      'rtk git push',
      'rtk proxy git push',
      'rtk err git push origin',
      'gcc -wrapper git,push a.c',
      'x86_64-linux-gnu-g++-13 -wrapper /usr/bin/git,push a.c',
    ],
    ...['cc --wrapper=git,push a.c', 'bind -x \'"\\C-a": git push\'', "PROMPT_COMMAND='git push'", 'PROMPT_COMMAND="git push" bash -i'],
    ...[
      "export PROMPT_COMMAND='git push'",
      "A=1 PROMPT_COMMAND+=';git push' bash",
      "PROMPT_COMMAND[1]='git push'",
      "printf -v PROMPT_COMMAND 'git push'",
    ],
    ...["PAGER='git push' man ls", "env GIT_SSH_COMMAND='git push' git fetch", "read PROMPT_COMMAND <<< 'git push'"],
    ...[
      "$env:PAGER = 'git push'; git log",
      "$env:GIT_EDITOR='git push'",
      "Set-Item env:PAGER 'git push'",
      'set GIT_PAGER=git push&& git log',
    ],
  ];
  const no: ApprovalRule = { kind: 'command', pattern: 'git push*', decision: 'reject' };
  for (const text of texts) {
    assert.equal(answered(command(text), allow('command'), no), 'no', text);
    assert.equal(answered(command(text), allow('command', 'git push*')), undefined, text);
  }
  for (const text of [
    'git log 2>/dev/null push',
    'find . -name git push',
    'docker build git push',
    'git log $X push',
    'git pull \\\npush',
    'PAGER=cat git log push',
    'gcc -c push.c',
    'echo PAGER git push',
  ])
    assert.equal(answered(command(text), no), undefined, text);
});

test('a variable whose value another program runs is asked about where its value may do anything', () => {
  const no: ApprovalRule = { kind: 'command', pattern: 'git push*', decision: 'reject' };
  const text = 'export MANPAGER="$X"';
  assert.equal(answered(command(text), allow('command'), no), undefined);
  assert.equal(answered(command(text), allow('command')), undefined);
  assert.equal(answered(command('export MANPAGER=cat'), allow('command'), no), 'once');
  // It runs with the next line, whatever it holds.
  assert.equal(answered(command("export PROMPT_COMMAND=$'git \\x70ush'"), allow('command')), undefined);
});

test('a key that types a line is asked about each time', () => {
  assert.equal(answered(command('bind \'"\\C-a":"git push\\n"\''), allow('command')), undefined);
  assert.equal(answered(command('bind -p'), allow('command')), 'once');
});

test('no wide rule allows over two lines what it does not allow on one', () => {
  for (const text of ['git \\\n push --force', 'git \\\npush --force', '\\\nrm -rf \\\n src', 'cat \\\n ../../secret', 'sudo \\\n ls'])
    assert.equal(answered(command(text), allow('command')), undefined, text);
});

test('edits are allowed by paths below the folder only, and only when all paths match', () => {
  assert.equal(answered(edit('/w/src/a.ts'), allow('edit', 'src/**')), 'once');
  assert.equal(answered(edit('/w/src/deep/a.ts'), allow('edit', '**/*.ts')), 'once');
  assert.equal(answered(edit('/w/src/deep/a.ts'), allow('edit', 'src/*.ts')), undefined);
  assert.equal(answered(edit('/w/src/a.ts', '/w/package.json'), allow('edit', 'src/**')), undefined);
  assert.equal(answered(edit('/etc/passwd'), allow('edit')), undefined);
  assert.equal(answered(edit('/w/../etc/passwd'), allow('edit')), undefined);
  assert.equal(answered(edit('/w-other/a.ts'), allow('edit')), undefined);
  assert.equal(answered(edit('C:\\w\\a.ts'), allow('edit')), undefined);
});

test('tools of MCP servers are named server/tool', () => {
  const mcp = ask({ type: 'mcp', server: 'github', tool: 'get_issue' });
  assert.equal(answered(mcp, allow('mcp', 'github/get_*')), 'once');
  assert.equal(answered(mcp, allow('mcp', 'gitlab/*')), undefined);
});

test('what the user looks at first is answered by no rule that does not name it', () => {
  const mcp = (tool: string, input?: unknown) => ask({ type: 'mcp', server: 'x', tool, ...(input === undefined ? {} : { input }) });
  const wide = [allow('mcp', 'x/*'), allow('mcp', '**'), allow('mcp')];
  assert.equal(answered(mcp('get_repo'), ...wide), 'once');
  for (const grave of [
    mcp('delete_repo'),
    mcp('query', { sql: 'DROP TABLE users' }),
    mcp('start', { command: 'sudo ls' }),
    { ...mcp('write_file'), paths: ['/w/AGENTS.md'] },
    { ...mcp('write_file'), paths: ['/etc/hosts'] },
  ])
    assert.equal(answered(grave, ...wide), undefined, JSON.stringify(grave.detail));
  // The name of a tool says what it does, not what it is told.
  assert.equal(answered(mcp('delete_repo'), allow('mcp', 'x/delete_repo')), 'once');
  assert.equal(answered(mcp('delete_repo'), allow('mcp', 'x/delete_*')), undefined);
  assert.equal(answered(mcp('delete_repo'), allow('mcp', 'x/delete_rep?')), undefined);
  assert.equal(answered(mcp('delete_rows', { sql: 'delete from users' }), allow('mcp', 'x/delete_rows')), undefined);
  const hidden = ask({ type: 'edit', diffs: [{ path: '/w/a.ts', before: '', after: 'x\u202e' }] });
  assert.equal(answered(hidden, allow('edit'), allow('edit', 'a.ts')), undefined);
  const said = (text: string): Approval => ({ ...ask({ type: 'text', text }), toolKind: 'fetch' });
  assert.equal(answered(said('{"url":"https://x"}'), allow('fetch')), 'once');
  assert.equal(answered(said('{"url":"https://x","method":"POST","body":"a"}'), allow('fetch')), undefined);
  assert.equal(answered({ ...said('x'), detail: { type: 'text', text: 'x', unknown: true } }, allow('fetch')), undefined);
});

test('a rule of the very words of a command allows them, not what comes beside them', () => {
  const exact = allow('command', 'git push --force');
  const told = (text: string): Approval => ({ ...command('git push --force'), beside: [{ type: 'text', text }] });
  assert.equal(answered(command('git push --force'), exact), 'once');
  assert.equal(answered(told('Sends it'), exact), 'once');
  assert.equal(answered(told('{"dangerouslyDisableSandbox":true}'), exact), undefined);
  assert.equal(
    answered({ ...command('npm test'), beside: [{ type: 'text', text: '{"then":"curl x | sh"}' }] }, allow('command')),
    undefined,
  );
});

test('no rule chooses an answer whose name does not say that it allows', () => {
  const later = (label: string): Approval => ({ ...command('npm test'), options: [{ id: 'once', label, effect: 'allow_once' }] });
  assert.equal(answered(later('Allow'), allow('command', 'npm test')), 'once');
  assert.equal(answered(later('Later'), allow('command', 'npm test')), undefined);
});

test('only plain edits of files that lie in the folder and steer nothing are allowed', (t) => {
  const at = mkdtempSync(path.join(tmpdir(), 'parley-rules-'));
  folder = path.join(at, 'w');
  t.after(() => {
    folder = '/w';
    rmSync(at, { recursive: true, force: true });
  });
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  mkdirSync(path.join(folder, '.git'));
  mkdirSync(path.join(at, 'other'));
  writeFileSync(path.join(at, 'other', 'x.txt'), 'x');
  symlinkSync(path.join(at, 'other'), path.join(folder, 'away'));
  symlinkSync(path.join(folder, '.git'), path.join(folder, 'inner'));
  symlinkSync(path.join(at, 'other', 'not-yet.txt'), path.join(folder, 'new.txt'));
  symlinkSync(path.join(folder, 'src', 'main.ts'), path.join(folder, 'shown.md'));
  const of = (file: string) => answered(edit(path.join(folder, file)), allow('edit'));
  assert.equal(of('src/main.ts'), 'once');
  for (const file of [
    '.git/hooks/pre-commit',
    '.vscode/settings.json',
    '.VSCode/settings.json',
    'deep/x.code-workspace',
    '.envrc',
    'away/x.txt',
    'away/new.txt',
    'inner/config',
    'new.txt',
  ])
    assert.equal(of(file), undefined, file);
  assert.equal(of('shown.md'), 'once');
  assert.equal(answered(edit(path.join(folder, 'shown.md')), allow('edit', '*.md')), undefined, 'what it really is does not match');
  assert.equal(answered(edit(path.join(folder, 'shown.md')), { kind: 'edit', pattern: 'src/**', decision: 'reject' }), 'no');
  const todo = edit(path.join(folder, 'TODO.md'));
  assert.equal(answered({ ...todo, toolKind: 'delete' }, allow('edit')), undefined);
  assert.equal(answered({ ...todo, toolKind: 'move' }, allow('edit')), undefined);
  assert.equal(answered({ ...todo, toolKind: 'delete', detail: { type: 'text', text: 'x' } }, allow('delete')), undefined);
  const gone = ask({ type: 'edit', diffs: [{ path: path.join(folder, 'TODO.md'), before: 'a', after: null }] });
  assert.equal(answered(gone, allow('edit')), undefined);
  for (const one of [edit('/etc/passwd'), gone, { ...todo, toolKind: 'delete' as const }, edit(path.join(folder, 'away/x.txt'))])
    assert.equal(answered(one, { kind: 'edit', decision: 'reject' }), 'no', 'a rejection is broad');
  assert.equal(answered(edit('/etc/passwd'), { kind: 'edit', pattern: '/etc/**', decision: 'reject' }), 'no');
  const inside = (cwd: string) => answered(ask({ type: 'command', command: 'git status', cwd }), allow('command', 'git *'));
  assert.deepEqual(
    [inside(folder), inside('src'), inside('/etc'), inside(path.join(folder, 'away')), inside('..')],
    ['once', 'once', undefined, undefined, undefined],
  );
});

test('a command is allowed when it is known to be what runs, and holds words only', () => {
  assert.equal(answered(ask({ type: 'command', command: 'git status', unsure: true }), allow('command', 'git *')), undefined);
  assert.equal(answered(ask({ type: 'command', command: 'git status', unsure: true }), allow('command')), undefined);
  assert.equal(answered(ask({ type: 'command', command: 'git status', unsure: true }), { kind: 'command', decision: 'reject' }), 'no');
  for (const text of ['git log $HOME', 'git log (rm x)', 'git log\u2028rm x', 'git log\u0000', 'git \u202elog', 'git log\rrm x'])
    assert.equal(answered(command(text), allow('command', 'git *')), undefined, text);
});

test('a rule about reading allows what is known to be about files inside, and nothing else', () => {
  const reads = (paths?: string[], toolKind: Approval['toolKind'] = 'read') =>
    answered(
      { ...ask({ type: 'text', text: 'x' }), toolKind, ...(paths ? { paths } : {}) },
      allow('read'),
      allow('search'),
      allow('fetch'),
    );
  assert.equal(reads(['/w/a.ts']), 'once');
  assert.equal(reads(['src/a.ts', '/w']), 'once');
  assert.equal(reads(['.'], 'search'), 'once');
  assert.equal(reads(undefined, 'fetch'), 'once');
  assert.equal(reads(), undefined);
  assert.equal(reads(undefined, 'search'), undefined);
  for (const path of [
    '/root/.ssh/id_rsa',
    '../x',
    '/w/../etc',
    '~/.ssh/id_rsa',
    '$HOME/x',
    '%USERPROFILE%',
    'ssh://x/y',
    'C:\\x',
    '\\\\x\\y',
  ]) {
    assert.equal(reads(['/w/a.ts', path]), undefined, path);
    assert.equal(reads([path], 'fetch'), undefined, path);
  }
  assert.equal(reads(Array.from({ length: 201 }, (_, at) => `/w/${at}`)), undefined);
});

test('a rule about files is about every place the ask names, not only those of its changes', () => {
  const names = (...paths: string[]) => answered({ ...edit('/w/src/a.ts'), paths }, allow('edit', 'src/**'));
  assert.equal(names('/w/src/a.ts', 'src/a.ts', '/w'), 'once');
  for (const path of ['/etc/passwd', '/w/package.json', '/w/src/../../etc/x', '~/x', '/w/src/.vscode/x'])
    assert.equal(names(path), undefined, path);
});

/** Paths of another system: nothing is a link. */
const pathsOf = (platform: Platform, folder: string): WorkspacePaths => ({
  platform,
  real: folder,
  below: (target) => {
    const { resolve } = platform === 'win32' ? path.win32 : path.posix;
    const below = pathBelowFolder(folder, resolve(folder, target), platform);
    if (below === undefined) return undefined;
    const guarded = guardReason(below);
    return { path: below, ...(guarded ? { guarded } : {}) };
  },
});

test('on Windows a pattern of paths is written with slashes of either kind, elsewhere a backslash is a letter', () => {
  const on = (platform: Platform, cwd: string, file: string, decision: 'allow' | 'reject', pattern: string) => {
    const answer = autoAnswer(edit(file), [{ kind: 'edit', pattern, decision }], cwd, pathsOf(platform, cwd));
    return answer?.kind === 'option' ? answer.optionId : undefined;
  };
  const windows = (decision: 'allow' | 'reject', pattern: string) => on('win32', 'c:\\ws', 'C:\\ws\\src\\a.ts', decision, pattern);
  assert.deepEqual(
    ['src\\**', 'src\\a.ts', 'src/**', 'c:\\ws\\src\\**'].map((pattern) => windows('reject', pattern)),
    ['no', 'no', 'no', 'no'],
  );
  assert.deepEqual(
    ['SRC\\**', 'src/*', 'src\\b.ts', 'lib\\**'].map((pattern) => windows('allow', pattern)),
    ['once', 'once', undefined, undefined],
  );
  assert.equal(on('posix', '/w', '/w/src/a.ts', 'allow', 'src\\**'), undefined);
});

test('on macOS letters are the same composed and decomposed, for every rule', () => {
  const name = 'Übung';
  for (const [file, pattern] of [
    ['NFC', 'NFD'],
    ['NFD', 'NFC'],
  ] as const) {
    const at = (platform: Platform, decision: 'allow' | 'reject') =>
      autoAnswer(
        edit(`/w/${name.normalize(file)}/a.ts`),
        [{ kind: 'edit', pattern: `${name.normalize(pattern)}/**`, decision }],
        '/w',
        pathsOf(platform, '/w'),
      );
    assert.deepEqual(at('darwin', 'allow'), { kind: 'option', optionId: 'once' });
    assert.deepEqual(at('darwin', 'reject'), { kind: 'option', optionId: 'no' });
    assert.equal(at('posix', 'allow'), undefined);
  }
});

test('a rejection sees a program with its version or build, an allowance does not', () => {
  const no = (pattern: string): ApprovalRule => ({ kind: 'command', pattern, decision: 'reject' });
  for (const [pattern, text] of [
    ['python *', 'python3.12 x.py'],
    ['python3 *', 'sudo python3-dbg x.py'],
    ['vim *', 'vim.tiny a'],
    ['gcc *', 'x86_64-linux-gnu-gcc-13 a.c'],
    ['python3.12 *', 'python3.12 x.py'],
  ] as const)
    assert.equal(answered(command(text), no(pattern)), 'no', `${pattern}: ${text}`);
  assert.equal(answered(command('python3.12 x.py'), { kind: 'command', pattern: 'python *', decision: 'allow' }), undefined);
  assert.equal(answered(command('cat2 x'), no('cat *')), undefined);
});
