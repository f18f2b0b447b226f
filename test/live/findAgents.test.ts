import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { discoverAgents, findAgents, forgetLoginPath, knownAgents, loginLine, loginPath } from '../../src/live/findAgents.ts';
import { protocols } from '../../src/protocols/registry.ts';

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'parley-path-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function program(file: string, lines: string): void {
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
}

const gemini = knownAgents.filter((agent) => agent.id === 'gemini');

test('an agent on the PATH is found with its version; one that is no program, or nowhere, is not', {
  skip: process.platform === 'win32',
}, async (t) => {
  const [first, second] = [folder(t), folder(t)];
  writeFileSync(path.join(first, 'gemini'), 'not a program');
  program(path.join(second, 'gemini'), 'echo "Gemini CLI 1.2.3-beta.1 (x)"');
  const [found] = await findAgents(gemini, [first, '.', second].join(path.delimiter), 10_000);
  assert.deepEqual([found?.file, found?.version], [path.join(second, 'gemini'), '1.2.3-beta.1']);
  assert.deepEqual(await findAgents(gemini, first, 0), [{ agent: gemini[0] }]);
});

test('one that does not say its version in time is found all the same, and says it the next time', {
  skip: process.platform === 'win32',
}, async (t) => {
  const here = folder(t);
  const gate = path.join(here, 'gate');
  program(path.join(here, 'gemini'), `while [ ! -e "${gate}" ]; do sleep 0.05; done; echo 2.0.0`);
  const searched = `${here}${path.delimiter}${process.env.PATH}`;
  const [at] = await findAgents(gemini, searched, 1);
  assert.deepEqual([at?.file, at?.version], [path.join(here, 'gemini'), undefined]);
  writeFileSync(gate, '');
  assert.equal(await at?.late, '2.0.0', 'a list that is open learns it');
  const [later] = await findAgents(gemini, searched, 10_000);
  assert.equal(later?.version, '2.0.0');
});

test('a version that ends a sentence is read without its full stop', { skip: process.platform === 'win32' }, async (t) => {
  const here = folder(t);
  program(path.join(here, 'gemini'), 'echo "Gemini CLI 1.0.102."; echo "Run \'gemini update\' to check for updates."');
  const [at] = await findAgents(gemini, `${here}${path.delimiter}${process.env.PATH}`, 10_000);
  assert.equal(at?.version, '1.0.102');
});

test('programs that share a name are offered with the protocol each speaks, and one program once', {
  skip: process.platform === 'win32',
}, async (t) => {
  const [python, other] = [folder(t), folder(t)];
  const info = `[ "$1 $2" = "info --json" ] && echo '{"kimi_cli_version":"1.49.0","wire_protocol_version":"1.10"}'`;
  program(path.join(python, 'kimi'), info);
  program(path.join(python, 'kimi-cli'), info);
  const offered = async (...folders: readonly string[]) => {
    const search = { cwd: python, path: [...folders, '/bin', '/usr/bin'].join(path.delimiter), commands: [] };
    const found = await discoverAgents(protocols, search, 10_000);
    return found.map(({ agent, file, version }) => [agent.id, agent.name, agent.protocol, agent.args.join(' '), file, version]);
  };
  assert.deepEqual(await offered(python), [['kimi-kimi-wire', 'Kimi CLI', 'kimi-wire', '', path.join(python, 'kimi'), '1.49.0']]);
  const code = path.join(other, 'kimi');
  program(code, `[ "$1" = --version ] && { echo 2.1.0; exit; }; echo "error: unknown option '--json'" >&2; exit 1`);
  program(path.join(python, 'kimi-legacy'), info);
  assert.deepEqual(await offered(other, python), [
    ['kimi', 'Kimi Code', 'acp', 'acp', code, '2.1.0'],
    ['kimi-cli', 'Kimi CLI', 'kimi-wire', '', path.join(python, 'kimi-cli'), '1.49.0'],
  ]);
  assert.deepEqual(await offered(), []);
});

test("the login shell's PATH comes behind our own, whatever its files print", { skip: process.platform === 'win32' }, async (t) => {
  const here = folder(t);
  const shell = path.join(here, 'shell');
  program(shell, 'echo "Welcome!"; PATH="$PATH:/opt/tools"; for last; do :; done; eval "$last"; echo "Bye"');
  forgetLoginPath();
  t.after(forgetLoginPath);
  assert.equal(
    await loginPath({ PATH: '/usr/bin:/bin', SHELL: shell }),
    [...new Set(['/usr/bin', '/bin', ...(process.env.PATH ?? '').split(':'), '/opt/tools'])].join(':'),
  );
});

test('a shell that fails leaves our own PATH', async (t) => {
  forgetLoginPath();
  t.after(forgetLoginPath);
  assert.equal(await loginPath({ PATH: '/usr/bin', SHELL: '/no/such/shell' }), '/usr/bin');
});

test('every known agent speaks a protocol there is', () => {
  for (const { id, protocol } of knownAgents) assert.equal(protocols[protocol]?.launch, 'process', id);
});

test('a user signs in with the login of a known agent, wherever its program is, and otherwise with the program itself', () => {
  const commands = ['opencode', '/opt/bin/codex-acp', 'gemini', '/opt/mine/agent'];
  assert.deepEqual(commands.map(loginLine), ['opencode auth login', 'codex login', 'gemini', '/opt/mine/agent']);
});
