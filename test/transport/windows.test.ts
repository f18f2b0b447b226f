import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { cmdArgument } from '../../src/protocols/acp/ports.ts';
import { homeFolder, utf8Variables } from '../../src/transport/environment.ts';
import { mergeEnvironment, processChannel } from '../../src/transport/process.ts';
import { commandOf, endingsOf, foldersOf, isProgramFile, lineInUtf8, programOf, workingFolder } from '../../src/transport/programFile.ts';
import { versionOf, whereIs } from '../../src/transport/programs.ts';
import { replaceFile, replaceFileSync, whileHeld } from '../../src/transport/replaceFile.ts';

/** As cross-spawn on Windows with a missing program: cmd.exe runs, and `error` comes in place of `exit`. */
function startsCmdInstead(command: string): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'process.exitCode = 1'], { stdio: 'pipe' });
  const emit = child.emit.bind(child) as (name: string, ...args: unknown[]) => boolean;
  const missing = Object.assign(new Error(`spawn ${command} ENOENT`), { code: 'ENOENT', syscall: `spawn ${command}` });
  child.emit = (name: string, ...args: unknown[]) => (name === 'exit' ? emit('error', missing) : emit(name, ...args));
  return child;
}

test('a missing program that cmd.exe stood in for closes the channel with its reason', async () => {
  const spec = { command: 'no-such-agent', args: [], env: {}, cwd: tmpdir() };
  const channel = processChannel(spec, { log: silentLog, spawn: startsCmdInstead as never });
  const closed = await new Promise<{ readonly failure?: string; readonly reason: string }>((resolve) => channel.onClosed(resolve));
  assert.equal(closed.failure, 'missing');
  assert.match(closed.reason, /“no-such-agent” was not found/);
});

test('a missing command in a terminal ends with exit code 127', async () => {
  const terminals = childTerminals({ cwd: tmpdir(), spawn: startsCmdInstead });
  const terminal = await terminals.create({ command: path.resolve('no-such-command'), args: [] });
  assert.deepEqual(await terminal.exited(), { code: 127, signal: null });
});

test('a file that cannot be looked at is no program, unless it is a link that only Windows follows', () => {
  const refused = (): never => {
    throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
  };
  const link = { isFile: () => false, isSymbolicLink: () => true };
  assert.equal(isProgramFile('C:\\secret\\qwen.exe', { statSync: refused, lstatSync: refused }), false);
  assert.equal(isProgramFile('C:\\WindowsApps\\pwsh.exe', { statSync: refused, lstatSync: (() => link) as never }), true);
  assert.equal(isProgramFile(process.execPath), true);
});

test('names of variables that differ in case are one variable on Windows, two elsewhere', () => {
  assert.deepEqual(mergeEnvironment({ Path: 'a', HOME: 'h' }, { PATH: 'b' }, true), { PATH: 'b', HOME: 'h' });
  assert.deepEqual(mergeEnvironment({ Path: 'a' }, { PATH: undefined }, true), {});
  assert.deepEqual(mergeEnvironment({ Path: 'a' }, { PATH: 'b' }, false), { Path: 'a', PATH: 'b' });
});

test('a program named with its ending is searched as it is', () => {
  assert.deepEqual(endingsOf('npm.cmd', true), ['']);
  assert.ok(endingsOf('npm', true).includes('.cmd'));
  assert.deepEqual(endingsOf('npm', false), ['']);
});

test('a program is searched on the PATH of Windows and never in the working folder', () => {
  const files = new Set(['C:\\tools\\qwen.cmd', 'C:\\Program Files\\nodejs\\npx', 'ws\\evil.exe', 'evil.exe', '.\\evil.exe']);
  const search = { platform: 'win32', isFile: (file: string) => files.has(file) } as const;
  const env = { Path: '.;ws;;C:\\Windows;"C:\\Program Files\\nodejs";C:\\tools' };
  assert.equal(programOf('qwen', env, search), 'C:\\tools\\qwen.cmd');
  assert.equal(programOf('qwen.cmd', env, search), 'C:\\tools\\qwen.cmd');
  assert.equal(programOf('npx', env, search), 'C:\\Program Files\\nodejs\\npx');
  assert.throws(() => programOf('evil', env, search), { code: 'ENOENT' });
  for (const path of ['.\\evil.exe', 'C:\\a b\\agent.cmd', 'bin/agent', 'C:agent']) assert.equal(programOf(path, env, search), path);
  assert.equal(programOf('evil', {}, { ...search, platform: 'linux' }), 'evil');
});

test('nothing of an argument is read by cmd.exe', () => {
  const written = (arg: string) => cmdArgument(arg);
  assert.equal(written('a'), '^"a^"');
  assert.equal(written('a b'), '^"a^ b^"');
  assert.equal(written('x" & calc & "'), '^"x\\^"^ ^&^ calc^ ^&^ \\^"^"');
  assert.equal(written('%PATH%!X!^'), '^"^%PATH^%^!X^!^^^"');
  assert.equal(written('C:\\a\\'), '^"C:\\a\\\\^"');
  assert.equal(written('\\\\"'), '^"\\\\\\\\\\^"^"');
  // The only characters that mean something to cmd.exe stand behind a caret.
  for (const arg of ['a&b', 'a|b>c<d', '(a)', '"', '""&', 'a^"&b']) assert.doesNotMatch(written(arg), /(?<!\^)(?:\^\^)*[&|<>()"%!]/);
});

const held = () => Object.assign(new Error('EPERM: operation not permitted, rename'), { code: 'EPERM' });

test('a file that another program holds for a moment is replaced; one held for good rejects with the reason', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'replace-'));
  try {
    const [from, to] = [path.join(folder, 'a'), path.join(folder, 'b')];
    for (const way of ['async', 'sync'] as const) {
      writeFileSync(from, 'new');
      writeFileSync(to, 'old');
      let tries = 0;
      const busy = () => {
        tries += 1;
        return tries < 3;
      };
      if (way === 'async') await replaceFile(from, to, async (a, b) => (busy() ? Promise.reject(held()) : rename(a, b)));
      else
        replaceFileSync(from, to, (a, b) => {
          if (busy()) throw held();
          renameSync(a, b);
        });
      assert.equal(tries, 3);
      assert.equal(readFileSync(to, 'utf8'), 'new');
    }
    await assert.rejects(
      replaceFile(from, to, () => Promise.reject(held())),
      {
        code: 'EPERM',
        message: `${to} is open in another program, or protected (EPERM). Close it there or allow writing, then try again.`,
      },
    );
    assert.throws(
      () =>
        replaceFileSync(from, to, () => {
          throw held();
        }),
      /is open in another program/,
    );
    let tries = 0;
    await assert.rejects(
      replaceFile(from, to, () => {
        tries += 1;
        return Promise.reject(Object.assign(new Error('gone'), { code: 'ENOENT' }));
      }),
      /gone/,
    );
    assert.equal(tries, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('opening and removing wait for another program on Windows, and elsewhere say at once that the file is protected', async () => {
  let tries = 0;
  const busy = () => {
    tries += 1;
    return tries < 3 ? Promise.reject(held()) : Promise.resolve(tries);
  };
  assert.equal(await whileHeld('a', busy, true), 3);
  tries = 0;
  await assert.rejects(
    whileHeld('a', busy, false),
    /^Error: a is open in another program, or protected \(EPERM\)\. Close it there or allow writing, then try again\.$/,
  );
  assert.equal(tries, 1);
  await assert.rejects(
    whileHeld('a', () => Promise.reject(Object.assign(new Error('no such file'), { code: 'ENOENT' })), true),
    /^Error: no such file$/,
  );
});

/** As npm's cmd-shim 7 writes it. */
const shim = (run: string, program = 'node') => `@ECHO off\r
GOTO start\r
:find_dp0\r
SET dp0=%~dp0\r
EXIT /b\r
:start\r
SETLOCAL\r
CALL :find_dp0\r
\r
IF EXIST "%dp0%\\${program}.exe" (\r
  SET "_prog=%dp0%\\${program}.exe"\r
) ELSE (\r
  SET "_prog=${program}"\r
  SET PATHEXT=%PATHEXT:;.JS;=;%\r
)\r
\r
endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%" ${run} %*\r
`;
const PNPM = `@SETLOCAL\r
@IF NOT DEFINED NODE_PATH (\r
  @SET "NODE_PATH=C:\\s\\node_modules"\r
)\r
@IF EXIST "%~dp0\\node.exe" (\r
  "%~dp0\\node.exe"  "%~dp0\\..\\a\\cli.js" %*\r
) ELSE (\r
  node  "%~dp0\\..\\a\\cli.js" %*\r
)\r
`;

test('the script behind a batch file of npm is run by node itself; any other batch file stays as it is', () => {
  const started = (text: string | undefined, files: readonly string[] = []) => {
    const there = new Set(['C:\\n p\\qwen.cmd', ...files]);
    const search = { platform: 'win32', isFile: (file: string) => there.has(file), textOf: () => text } as const;
    const { file, args } = commandOf('qwen', ['--x', 'a "b" & %c%'], { Path: 'C:\\n p;C:\\nodejs' }, search);
    return [file, ...args];
  };
  const node = 'C:\\nodejs\\node.exe';
  const rest = ['--x', 'a "b" & %c%'];
  const usual = shim(' "%dp0%\\node_modules\\@qwen-code\\qwen-code\\cli.js"');
  const script = 'C:\\n p\\node_modules\\@qwen-code\\qwen-code\\cli.js';
  assert.deepEqual(started(usual, [node]), [node, script, ...rest]);
  assert.deepEqual(started(usual, [node, 'C:\\n p\\node.exe']), ['C:\\n p\\node.exe', script, ...rest]);
  const flagged = shim('--no-warnings=DEP0040 --expose-gc "%dp0%\\..\\a\\cli.js"');
  assert.deepEqual(started(flagged, [node]), [node, '--no-warnings=DEP0040', '--expose-gc', 'C:\\a\\cli.js', ...rest]);
  const asItIs = ['C:\\n p\\qwen.cmd', ...rest];
  const others = [
    usual.replace('SETLOCAL\r\n', 'SETLOCAL\r\nSET NODE_OPTIONS=--x\r\n'),
    shim(' "%dp0%\\a.py"', 'python'),
    shim(' -e "%dp0%\\a.js"'),
    shim(' "%dp0%\\%X%\\a.js"'),
    PNPM,
    '',
    undefined,
  ];
  for (const text of others) assert.deepEqual(started(text, [node]), asItIs, text);
  assert.deepEqual(started(usual), asItIs, 'no node');
  const search = { platform: 'win32', isFile: (file: string) => /node\.exe$|qwen\.cmd$/.test(file), textOf: () => usual } as const;
  const byPath = (command: string) => commandOf(command, [], { Path: 'C:\\nodejs' }, search).file;
  assert.deepEqual(
    ['C:\\nodejs\\node', 'C:\\n\\qwen'].map(byPath),
    ['C:\\nodejs\\node.exe', 'C:\\n\\node.exe'],
    'a path without its ending',
  );
  assert.equal(byPath('C:\\other\\tool'), 'C:\\other\\tool');
});

test('a program in a folder with blanks is found by its name and by its file, and says its version; on Windows it may be a batch file of npm', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'a b & (c) '));
  try {
    const onWindows = process.platform === 'win32';
    const file = path.join(folder, onWindows ? 'tool.cmd' : 'tool');
    writeFileSync(file, onWindows ? shim(' "%dp0%\\tool.js"') : '#!/bin/sh\necho tool 1.2.3\n', { mode: 0o755 });
    writeFileSync(path.join(folder, 'tool.js'), "console.log('tool 1.2.3')");
    if (onWindows) copyFileSync(process.execPath, path.join(folder, 'node.exe'));
    const searched = [onWindows ? `"${folder}"` : folder, process.env.PATH].join(path.delimiter);
    assert.equal(await whereIs('tool', searched), file);
    assert.equal(await whereIs(path.basename(file), searched), file);
    assert.equal(await whereIs(path.basename(file), path.basename(folder)), undefined, 'a folder below the working folder does not count');
    assert.equal(await versionOf(file, searched), '1.2.3');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('folders of a PATH', () => {
  assert.deepEqual(foldersOf('.;C:\\a;"C:\\b c";;bin;\\\\srv\\s', 'win32'), ['C:\\a', 'C:\\b c', '\\\\srv\\s']);
  assert.deepEqual(foldersOf('/a:b::/c d', 'linux'), ['/a', '/c d']);
});

test('the home of a user is the one that programs of the system go by, whatever Git Bash calls it', () => {
  const env = { Home: 'C:\\msys\\home\\me', UserProfile: 'C:\\Users\\me', HOME: '/home/me' };
  assert.equal(homeFolder(env, 'win32'), 'C:\\Users\\me');
  assert.equal(homeFolder({ HOME: '/home/me', USERPROFILE: 'C:\\Users\\me' }, 'linux'), '/home/me');
});

test('a line for cmd.exe, and Python, print UTF-8 in place of the code page of the country; another shell and the user’s own choice stay', () => {
  assert.match(lineInUtf8('dir & echo "a b"', {}, 'win32'), /^"[^"]*\\chcp\.com" 65001 >nul 2>nul & dir & echo "a b"$/);
  assert.match(lineInUtf8('dir', { ComSpec: 'C:\\WINDOWS\\system32\\CMD.EXE' }, 'win32'), / & dir$/);
  assert.equal(lineInUtf8('ls', { COMSPEC: 'C:\\git\\bin\\bash.exe' }, 'win32'), 'ls');
  assert.equal(lineInUtf8('ls', {}, 'linux'), 'ls');
  assert.deepEqual(utf8Variables({ Path: 'C:\\' }, 'win32'), { PYTHONIOENCODING: 'utf-8' });
  assert.deepEqual(utf8Variables({ PythonIOEncoding: 'cp1252' }, 'win32'), {});
  assert.deepEqual(utf8Variables({}, 'linux'), {});
});

test('what cmd.exe would run in a network folder is refused, for it would run in the Windows folder', () => {
  const refused = (file: string | undefined, cwd: string, platform: NodeJS.Platform = 'win32') => {
    try {
      workingFolder(file, cwd, platform);
      return false;
    } catch (error) {
      assert.match(String(error), /network folder \\\\(?:\?\\UNC\\)?server\\share|network folder \/\/wsl/);
      return true;
    }
  };
  for (const file of ['C:\\n\\agent.cmd', 'C:\\n\\agent.BAT', 'C:\\n\\agent', undefined])
    assert.ok(refused(file, '\\\\server\\share\\ws'), file);
  assert.ok(refused(undefined, '\\\\?\\UNC\\server\\share'));
  assert.ok(refused(undefined, '//wsl.localhost/Ubuntu/home/me'));
  assert.ok(!refused('C:\\n\\node.exe', '\\\\server\\share'));
  for (const folder of ['c:\\ws', '\\\\?\\C:\\ws', '\\\\.\\C:\\ws']) assert.ok(!refused('C:\\n\\agent.cmd', folder), folder);
  assert.ok(!refused('/bin/sh', '//server/share', 'linux'));
});

test('a folder whose drive has a device prefix is given to programs without it, for cmd.exe would take it for a network folder', () => {
  for (const folder of ['C:\\ws', '\\\\?\\C:\\ws', '\\\\.\\C:\\ws', '//?/C:\\ws', '\\??\\C:\\ws'])
    assert.equal(workingFolder('C:\\n\\agent.cmd', folder, 'win32'), 'C:\\ws', folder);
  assert.equal(workingFolder(undefined, '\\\\?\\d:\\a b\\', 'win32'), 'd:\\a b\\');
  assert.equal(workingFolder('C:\\n\\node.exe', '\\\\?\\UNC\\server\\share', 'win32'), '\\\\?\\UNC\\server\\share');
  assert.equal(workingFolder('/bin/sh', '//?/C:/ws', 'linux'), '//?/C:/ws');
});
