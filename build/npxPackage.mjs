// npm run package:npx: the agent host and the included agent as a package for npx, out/parley-VERSION.tgz. All that they use is in the bundles,
// so the package names no dependencies and runs on a computer without a network.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import './thirdParty.mjs';

/** What `npm pack` is given. */
const FOLDER = 'out/npx';
const PROGRAMS = ['parley', 'parley-agent', 'parley-agent-model', 'parley-agent-mcp', 'mcpServer', 'mcpBridge'];

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(path.join(FOLDER, 'dist'), { recursive: true });
for (const file of [...PROGRAMS.map((name) => `${name}.js`), 'ThirdPartyNotices.txt'])
  copyFileSync(path.join('dist', file), path.join(FOLDER, 'dist', file));
copyFileSync('LICENSE', path.join(FOLDER, 'LICENSE'));
copyFileSync('docs/servers.md', path.join(FOLDER, 'README.md'));
const { name, version, license, bin } = JSON.parse(readFileSync('package.json', 'utf8'));
const { description } = JSON.parse(readFileSync('package.nls.json', 'utf8'));
const manifest = { name, version, description, license, bin, engines: { node: '>=20' } };
writeFileSync(path.join(FOLDER, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
execFileSync('npm', ['pack', '--pack-destination', path.resolve('out')], {
  cwd: FOLDER,
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
