import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { cmdArgument } from '../../src/protocols/acp/terminals.ts';
import { mergeEnvironment, processChannel } from '../../src/transport/process.ts';
import { endingsOf, programOf } from '../../src/transport/programFile.ts';
import { replaceFile, replaceFileSync } from '../../src/transport/replaceFile.ts';

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
  assert.match(closed.reason, /"no-such-agent" was not found/);
});

test('a missing command in a terminal ends with exit code 127', async () => {
  const terminals = childTerminals({ cwd: tmpdir(), spawn: startsCmdInstead });
  const terminal = await terminals.create({ command: path.resolve('no-such-command'), args: [] });
  assert.deepEqual(await terminal.exited(), { code: 127, signal: null });
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
      /EPERM/,
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
