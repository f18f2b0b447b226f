// Run by `npm run package` after the build: the notices of all packages that esbuild put into a shipped bundle, and their list as a CycloneDX SBOM.
// The bundler's own record (out/meta) says what is in the bundles; what is only installed is not shipped and not named.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describePackage } from './describePackage.mjs';

const META = 'out/meta';
/** Bundles that the package does not hold. */
const NOT_SHIPPED = new Set(['dist/headless.js']);
const MERMAID = 'node_modules/@mermaid-js/tiny';

/** What Mermaid's one script holds. Throws when the list is that of another version: build/insideMermaid.mjs makes a new one. */
function insideMermaid() {
  const { integrity, packages, texts } = JSON.parse(readFileSync('build/insideMermaid.json', 'utf8'));
  const { integrity: installed } = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages[MERMAID];
  if (integrity !== installed) throw new Error('build/insideMermaid.json lists another version of Mermaid: run build/insideMermaid.mjs');
  return packages.map((one) => ({ ...one, text: texts[one.text] }));
}

/** The packages in the shipped bundles, sorted, and those that one of them holds. */
export function bundledPackages() {
  const folders = new Set();
  for (const file of readdirSync(META)) {
    const { outputs } = JSON.parse(readFileSync(path.join(META, file), 'utf8'));
    for (const [output, { inputs }] of Object.entries(outputs)) {
      if (NOT_SHIPPED.has(output)) continue;
      for (const input of Object.keys(inputs)) {
        const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
        if (folder) folders.add(folder);
      }
    }
  }
  const inside = [...folders].some((folder) => folder.endsWith(MERMAID)) ? insideMermaid() : [];
  // A version that is there twice is one package.
  const all = [...[...folders].sort().map(describePackage), ...inside];
  const packages = [...new Map(all.map((one) => [`${one.name} ${one.version}`, one])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return packages.map((one) => ({ ...one, text: one.text || standardText(one, packages) }));
}

/** The text of a licence for a package that only names it. Throws when there is none: then the package must not be shipped. */
function standardText({ name, licence, by }, packages) {
  if (licence === 'MIT' && by) return MIT.replace('{0}', by);
  const apache = licence === 'Apache-2.0' && packages.find(({ text }) => /^\s*Apache License\s+Version 2\.0/.test(text));
  if (apache) return apache.text;
  throw new Error(`${name} brings no text of its licence (${licence})`);
}

const MIT = `MIT License

Copyright (c) {0}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to
deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
IN THE SOFTWARE.`;

/** What the licences ask for: each package with its version, its licence and the text of it. */
export function noticesText(packages) {
  const entries = packages.map(({ name, version, licence, text, by, source }) =>
    [`${name} ${version}`, `Licence: ${licence}${by ? `\nAuthor: ${by}` : ''}${source ? `\nSource: ${source}` : ''}`, text].join('\n\n'),
  );
  const head = 'Parley contains the following third-party software.';
  return `${[head, ...entries].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). Without a date or a serial by chance: the same bundles give the same file. */
export function sbom(packages) {
  const { name, version, license } = JSON.parse(readFileSync('package.json', 'utf8'));
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages;
  const components = packages.map((one) => component(one, one.integrity ?? lock[one.folder]?.integrity));
  const root = `pkg:npm/${name}@${version}`;
  const hex = createHash('sha256').update(JSON.stringify(components)).digest('hex');
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': root, name, version, licenses: [{ license: { id: license } }], purl: root } },
    components,
    dependencies: [{ ref: root, dependsOn: components.map((one) => one['bom-ref']) }],
  };
}

function component({ name, version, licence }, integrity) {
  const [group, bare] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const hash = integrity?.startsWith('sha512-') ? Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') : undefined;
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group ? { group } : {}),
    name: bare,
    version,
    ...(hash ? { hashes: [{ alg: 'SHA-512', content: hash }] } : {}),
    licenses: [/ (?:OR|AND|WITH) /.test(licence) ? { expression: licence.replace(/^\((.*)\)$/, '$1') } : { license: { id: licence } }],
    purl,
  };
}

const packages = bundledPackages();
mkdirSync('dist', { recursive: true });
writeFileSync('dist/ThirdPartyNotices.txt', noticesText(packages));
writeFileSync('dist/sbom.cdx.json', `${JSON.stringify(sbom(packages), null, 2)}\n`);
