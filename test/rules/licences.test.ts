import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Entry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
}
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { readonly packages: Readonly<Record<string, Entry>> };
const entries = Object.entries(lock.packages).filter(([folder]) => folder !== '');

/** Licences that allow shipping the package inside ours when its notice goes along. */
const shippable = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'CC0-1.0', 'Unlicense']);
/** Licences of tools that are only run here; they put terms on copies and changes of the tool. */
const usable = new Set(['MPL-2.0', 'Artistic-2.0', 'Python-2.0', 'PSF-2.0', 'WTFPL', 'CC-BY-3.0']);
/** Microsoft's signing tool comes with vsce and has terms of its own; signing is not used. */
const exceptions = /^node_modules\/@vscode\/vsce-sign(?:-|$)/;

/** A whole checksum: npm takes one that is cut short for none. */
const checksum = /^sha512-[A-Za-z\d+/]{86}==$/;
/** Where a package may come from; the lock need not say it. */
const registry = 'https://registry.npmjs.org/';

/** True when one of the alternatives of a licence expression is allowed. */
const allowed = (licence: string, set: ReadonlySet<string>): boolean =>
  licence
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((one) => set.has(one.trim()));

/** What is against the rules, one sentence each. */
function offences(all: readonly (readonly [string, Entry])[]): readonly string[] {
  return all.flatMap(([folder, { license = '', dev, integrity = '', resolved }]) => [
    ...(allowed(license, shippable) || (dev && (allowed(license, usable) || exceptions.test(folder)))
      ? []
      : [`${folder}: licence "${license}"`]),
    ...(checksum.test(integrity) ? [] : [`${folder}: no integrity`]),
    ...(resolved === undefined || resolved.startsWith(registry) ? [] : [`${folder}: comes from ${resolved}`]),
  ]);
}

test('every package of the lock has a licence that allows its use, and a checksum', () => {
  assert.deepEqual(offences(entries), []);
});

test('what is inside the one script of Mermaid is listed for its very version, with licences that allow shipping it', () => {
  const { integrity, packages, texts } = JSON.parse(readFileSync('build/insideMermaid.json', 'utf8')) as {
    readonly integrity: string;
    readonly packages: readonly {
      readonly name: string;
      readonly version: string;
      readonly licence: string;
      readonly integrity: string;
      readonly text: number;
    }[];
    readonly texts: readonly string[];
  };
  assert.equal(integrity, lock.packages['node_modules/@mermaid-js/tiny']?.integrity, 'build/insideMermaid.mjs makes the list anew');
  assert.deepEqual(offences(packages.map((one) => [one.name, { license: one.licence, integrity: one.integrity }])), []);
  for (const { name, version, text } of packages) assert.ok(version !== '' && typeof texts[text] === 'string', name);
  // Its layouts, its parser and the drawing cannot do without these.
  for (const name of ['d3-selection', 'dagre-d3-es', 'langium', 'chevrotain', 'roughjs', 'khroma', 'lodash-es'])
    assert.ok(
      packages.some((one) => one.name === name),
      name,
    );
});

test('the rule sees a package that must not be there', () => {
  const integrity = `sha512-${'x'.repeat(86)}==`;
  assert.equal(offences([['node_modules/a', { license: 'GPL-3.0-only', integrity }]]).length, 1);
  assert.equal(offences([['node_modules/a', { license: 'MPL-2.0', integrity }]]).length, 1);
  assert.equal(offences([['node_modules/a', { license: 'MIT AND GPL-3.0-only', integrity }]]).length, 1);
  assert.equal(offences([['node_modules/a', { integrity }]]).length, 1);
  assert.equal(offences([['node_modules/a', { license: 'MIT' }]]).length, 1);
  for (const bad of ['sha512-', 'sha512-x', 'sha1-x', `${integrity} sha1-x`])
    for (const folder of ['node_modules/a', 'node_modules/@biomejs/cli-x'])
      assert.equal(offences([[folder, { license: 'MIT', dev: true, integrity: bad }]]).length, 1, `${folder} ${bad}`);
  for (const resolved of [
    'http://registry.npmjs.org/a',
    'https://registry.npmjs.org.example/a',
    'git+ssh://git@example/a',
    'file:../a',
    '',
  ])
    assert.equal(offences([['node_modules/a', { license: 'MIT', integrity, resolved }]]).length, 1, resolved);
  assert.deepEqual(offences([['node_modules/a', { license: 'MIT', integrity, resolved: 'https://registry.npmjs.org/a/-/a-1.tgz' }]]), []);
  assert.deepEqual(offences([['node_modules/a', { license: '(MPL-2.0 OR Apache-2.0)', integrity }]]), []);
});
