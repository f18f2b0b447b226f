import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findShell, shellArguments } from '../../../src/agent/tools/shellProgram.ts';

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
  assert.equal(windows([bash]).kind, 'posix');
  assert.equal(windows(['D:\\git\\bin\\bash.exe', 'D:\\git\\cmd\\git.exe'], { Path: 'D:\\git\\cmd' }).file, 'D:\\git\\bin\\bash.exe');
  const wsl = windows(['C:\\Windows\\System32\\bash.exe']);
  // By its path: the working folder may hold a program of that name.
  assert.equal(wsl.file, 'C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe');
  assert.match(wsl.description, /no && or \|\|/);
});

test('PowerShell prints UTF-8 and ends with the exit code of the command', () => {
  const [, , , script = ''] = shellArguments(windows([]), 'npm test');
  assert.match(script, /OutputEncoding = .*UTF8/);
  assert.match(script, /npm test\n.*exit \$LASTEXITCODE/);
});

test('elsewhere the user’s shell is taken when it is a Bourne shell', () => {
  const posix = (SHELL: string) => findShell({ platform: 'linux', env: { SHELL }, exists: () => true }).file;
  assert.equal(posix('/usr/bin/zsh'), '/usr/bin/zsh');
  assert.equal(posix('/usr/bin/fish'), '/bin/sh');
  assert.deepEqual(shellArguments(findShell({ platform: 'linux', env: {}, exists: () => true }), 'ls'), ['-c', 'ls']);
});
