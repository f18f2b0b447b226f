import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { WebSocket } from 'ws';

test('the package for npx has all that it runs with: its host starts where nothing else is installed, and lets its clients in', async (t) => {
  execFileSync(process.execPath, ['build/npxPackage.mjs'], { stdio: 'ignore' });
  const away = mkdtempSync(path.join(tmpdir(), 'parley-npx-'));
  cpSync('out/npx', away, { recursive: true });
  const manifest = JSON.parse(readFileSync(path.join(away, 'package.json'), 'utf8')) as Readonly<Record<string, unknown>>;
  const { version, bin } = manifest as { readonly version: string; readonly bin: { readonly parley: string } };
  assert.ok(existsSync(`out/parley-${version}.tgz`));
  assert.equal(manifest.dependencies, undefined, 'npx would fetch them');
  const script = path.join(away, bin.parley);
  assert.match(readFileSync(script, 'utf8').slice(0, 40), /^#!\/usr\/bin\/env node\n/, 'a shell starts it otherwise');
  const host = spawn(process.execPath, [script, 'serve', '--data', path.join(away, 'data')], {
    cwd: away,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HOME: away, USERPROFILE: away },
  });
  t.after(async () => {
    host.kill('SIGKILL');
    if (host.exitCode === null && host.signalCode === null) await once(host, 'exit');
    rmSync(away, { recursive: true, force: true, maxRetries: 5 });
  });
  const [line] = (await once(createInterface({ input: host.stdout }), 'line')) as [string];
  const { address, token } = JSON.parse(line) as { readonly address: string; readonly token: string };
  const socket = new WebSocket(`${address}/?tkn=${token}`);
  await once(socket, 'open');
  const params = { channel: 'ahp-root://', protocolVersions: ['1.0.0'], clientId: 'c', initialSubscriptions: ['ahp-root://'] };
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
  const [answer] = (await once(socket, 'message')) as [Buffer];
  socket.terminate();
  assert.match(String(answer), new RegExp(`"version":"${version}"`));
  assert.match(String(answer), /"provider":"parley-agent"/);
});
