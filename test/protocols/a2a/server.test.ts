import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startServer } from '../../../src/protocols/a2a/server.ts';
import { cardOf } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

// Listens as the early Gemini CLI server does: on a port, naming no host.
const PROGRAM = `
const server = require('node:http').createServer();
server.listen(0, () => {
  const { address, port } = server.address();
  const { GIT_AUTHOR_NAME, GIT_COMMITTER_EMAIL, CODER_AGENT_WORKSPACE_PATH, CODER_AGENT_ALLOWED_ROOT } = process.env;
  console.log('FACTS ' + JSON.stringify([address, GIT_AUTHOR_NAME ?? null, GIT_COMMITTER_EMAIL ?? null, CODER_AGENT_WORKSPACE_PATH, CODER_AGENT_ALLOWED_ROOT ?? null]));
  console.log('Agent Server started on http://localhost:' + port);
});
`;
const quiet = { trace: () => {}, info: () => {}, warn: () => {}, error: () => {} };

for (const identity of [true, false])
  test(`a server that is started here is held to loopback, told its folder, and ${identity ? 'keeps the user’s identity' : 'given an identity'} for git`, async (t) => {
    const home = mkdtempSync(path.join(tmpdir(), 'parley-home-'));
    const cwd = mkdtempSync(path.join(tmpdir(), 'parley-cwd-'));
    const program = path.join(home, 'server.cjs');
    writeFileSync(program, PROGRAM);
    if (identity) writeFileSync(path.join(home, '.gitconfig'), '[user]\n  name = P\n  email = p@example.org\n');
    const none = { GIT_AUTHOR_NAME: undefined, GIT_COMMITTER_EMAIL: undefined };
    const apart = {
      HOME: home,
      USERPROFILE: home,
      XDG_CONFIG_HOME: home,
      GIT_CONFIG_GLOBAL: path.join(home, '.gitconfig'),
      GIT_CONFIG_NOSYSTEM: '1',
    };
    const env = { ...apart, ...(identity ? none : {}) };
    const server = await startServer({ kind: 'process', command: process.execPath, args: [program], env, cwd }, quiet);
    t.after(async () => {
      server.dispose();
      await server.ended;
      rmSync(home, { recursive: true, force: true });
      rmSync(cwd, { recursive: true, force: true });
    });
    const address = await server.address;
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(server.onLoopback, true);
    const facts = JSON.parse(/FACTS (.*)/.exec(server.tail())?.[1] ?? '[]') as unknown[];
    const [name, email] = identity ? [null, null] : ['Parley', 'parley@localhost'];
    assert.deepEqual(facts, ['127.0.0.1', name, email, cwd, cwd]);
  });

// Serves a card, and is killed in the middle of the first turn.
const KILLED = `
const server = require('node:http').createServer((request, response) => {
  if (request.method === 'POST' && request.headers.accept === 'text/event-stream') process.kill(process.pid, 'SIGKILL');
  response.setHeader('content-type', 'application/json');
  response.end(request.method === 'GET' ? CARD : JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no' } }));
});
server.listen(0, () => {
  const url = 'http://localhost:' + server.address().port;
  console.log('Agent Server started on ' + url);
});
`;

for (const name of ['My agent', undefined])
  test(`a server that is killed is told of by ${name ? 'its name' : 'the command line of the settings'} and how it ended, in the banner and in the turn`, {
    skip: process.platform === 'win32',
  }, async (t) => {
    const home = mkdtempSync(path.join(tmpdir(), 'parley-home-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const program = path.join(home, 'server.cjs');
    writeFileSync(program, KILLED.replace('CARD', JSON.stringify(JSON.stringify(cardOf('http://127.0.0.1')))));
    const start = { command: process.execPath, args: [program, '--port', '0'] };
    const session = talk(t, '', { start, ...(name ? { name } : {}) });
    assert.equal((await session.opened()).link.state, 'ready');
    const turn = await session.prompt('hi');
    const { link } = await session.until('the end', (now) => now.link.state === 'closed');
    const told = name ?? `"${process.execPath} ${program} --port 0"`;
    assert.ok(link.state === 'closed');
    assert.equal(link.reason, `${told} stopped unexpectedly.`);
    assert.match(link.detail ?? '', /^killed \(SIGKILL\)/);
    assert.doesNotMatch(JSON.stringify([session.now(), turn]), /--import|data:text/);
  });
