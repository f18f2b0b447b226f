import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { findShell, type ShellProgram, shellArguments } from '../../../src/agent/tools/shellProgram.ts';
import { argumentsFor, wrappedCommand } from '../../../src/transport/shellLine.ts';

const windows = (files: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  findShell({
    platform: 'win32',
    env: { Path: 'C:\\Windows\\System32;C:\\Program Files\\Git\\cmd', ProgramFiles: 'C:\\Program Files', ...env },
    exists: (file) => files.includes(file),
  });

test('PowerShell 7 is preferred, then Git Bash, then Windows PowerShell; WSL is never taken for Git Bash', () => {
  const pwsh = 'C:\\Program Files\\PowerShell\\7\\pwsh.exe';
  const bash = 'C:\\Program Files\\Git\\bin\\bash.exe';
  assert.equal(windows([pwsh, bash]).file, pwsh);
  assert.equal(windows([bash]).file, bash);
  assert.equal(windows([bash]).kind, 'gitBash');
  assert.equal(windows(['D:\\git\\bin\\bash.exe', 'D:\\git\\cmd\\git.exe'], { Path: 'D:\\git\\cmd' }).file, 'D:\\git\\bin\\bash.exe');
  // The PATH of an editor that was started in Git Bash, and an installation by Scoop.
  const inBash = ['D:\\git\\bin\\bash.exe', 'D:\\git\\mingw64\\bin\\git.exe'];
  assert.equal(windows(inBash, { Path: 'D:\\git\\mingw64\\bin' }).file, 'D:\\git\\bin\\bash.exe');
  const scoop = 'C:\\Users\\me\\scoop\\apps\\git\\current\\bin\\bash.exe';
  assert.equal(windows([scoop], { UserProfile: 'C:\\Users\\me' }).file, scoop);
  const wsl = windows(['C:\\Windows\\System32\\bash.exe']);
  // By its path: the working folder may hold a program of that name.
  assert.equal(wsl.file, 'C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe');
  assert.match(wsl.description, /no && or \|\|/);
});

const seven: ShellProgram = { file: 'pwsh', kind: 'pwsh', description: '' };

test('PowerShell gets the command as one argument, between what makes its output UTF-8 and what makes its exit code that of the command', () => {
  for (const shell of [seven, windows([])]) {
    const args = shellArguments(shell, 'npm test # all of it');
    const script = args.at(-1) ?? '';
    assert.equal(args.at(-2), '-Command');
    assert.match(script, /^try \{ \$OutputEncoding = \[Console\]::OutputEncoding = .*UTF8Encoding \$false/);
    // The comment ends with its line.
    assert.match(script, /npm test # all of it\n\n\$ok = \$\?; .*exit \$LASTEXITCODE/);
    // No double quote: programs on Windows do not agree on how one is escaped in an argument.
    assert.doesNotMatch(script, /"/);
  }
});

test('Windows PowerShell writes and reads files in UTF-8, and may run npm, which is a script there', () => {
  const args = shellArguments(windows([]), 'npm test > out.txt');
  assert.match(args.at(-1) ?? '', /'\*:Encoding'\] = 'utf8'/);
  assert.equal(args[args.indexOf('-ExecutionPolicy') + 1], 'RemoteSigned');
  assert.ok(!shellArguments(seven, 'npm test').includes('-ExecutionPolicy'));
});

test('elsewhere the user’s shell is taken when it is a Bourne shell', () => {
  const posix = (SHELL: string) => findShell({ platform: 'linux', env: { SHELL }, exists: () => true }).file;
  assert.equal(posix('/usr/bin/zsh'), '/usr/bin/zsh');
  assert.equal(posix('/usr/bin/fish'), '/bin/sh');
  assert.deepEqual(shellArguments(findShell({ platform: 'linux', env: {}, exists: () => true }), 'ls'), ['-c', 'ls']);
});

/** Command lines as models write them, with what they print and end with. */
const LINES: readonly (readonly [line: string, printed: string, code: number])[] = [
  ['echo one && echo two', 'one\ntwo\n', 0],
  ['false || echo "it is 你好"', 'it is 你好\n', 0],
  ['sh -c "exit 7"', '', 7],
  ['sh -c "exit 7"; echo after', 'after\n', 0],
  ["printf '%s\\n' 'a  b' \"c\\\"d\" # comment", 'a  b\nc"d\n', 0],
  ['cat <<EOF\n$((1 + 2)) %PATH% !x! ^\nEOF', '3 %PATH% !x! ^\n', 0],
  ['no-such-program-anywhere 2>/dev/null', '', 127],
];

for (const kind of ['posix', 'gitBash'] as const) {
  test(`a command line reaches ${kind === 'posix' ? 'a Bourne shell' : 'Git Bash'} unchanged: operators, quotes, UTF-8, here documents, exit codes`, () => {
    const bash = ['/bin/bash', '/bin/sh'].find(existsSync) ?? 'bash.exe';
    for (const [line, printed, code] of LINES) {
      const { stdout, status } = spawnSync(bash, shellArguments({ kind }, line), { encoding: 'utf8' });
      assert.deepEqual([line, stdout, status], [line, printed, code]);
    }
  });
}

test('in Git Bash programs of Windows print UTF-8', () => {
  const [, line = ''] = shellArguments({ kind: 'gitBash' }, 'npm test');
  assert.match(line, /^'[^']*chcp\.com' 65001 >\/dev\/null 2>&1; npm test$/);
});

const CHCP = 'C:\\WINDOWS\\System32\\chcp.com';

test('the command is read back out of what is put around it, and out of nothing else', () => {
  for (const kind of ['gitBash', 'pwsh', 'powershell'] as const)
    for (const line of ['npm test', 'a; exit 1', "echo '你好' # note\nls", '']) {
      const args = argumentsFor(kind, line, CHCP);
      assert.equal(wrappedCommand(args), line);
      const script = args.at(-1) ?? '';
      // Behind a command for Git Bash nothing is put.
      const cut = kind === 'gitBash' ? [] : [`${script} `, script.slice(0, -1), script.slice(0, 200)];
      for (const other of [...cut, `x; ${script}`, script.slice(1), script.slice(0, 10)])
        assert.equal(wrappedCommand([...args.slice(0, -1), other]), undefined, other);
      assert.equal(wrappedCommand(['-WindowStyle', 'Hidden', ...args]), undefined);
      assert.equal(wrappedCommand([...args, 'more']), undefined);
    }
  assert.equal(wrappedCommand(argumentsFor('gitBash', 'ls', 'C:\\ws\\System32\\chcp.com')), undefined);
  assert.equal(wrappedCommand(argumentsFor('posix', 'ls', CHCP)), undefined);
  assert.equal(wrappedCommand([]), undefined);
});
