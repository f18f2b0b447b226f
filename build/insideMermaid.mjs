// node build/insideMermaid.mjs, run whenever @mermaid-js/tiny is updated: lists the packages that its one script holds, in build/insideMermaid.json,
// which the notices and the SBOM are made from. The package says nothing of them; the source maps of Mermaid in the same version do.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describePackage } from './describePackage.mjs';

const TINY = 'node_modules/@mermaid-js/tiny';
/** What the small build leaves out: mind maps, architecture diagrams, formulas and their layouts. */
const LEFT_OUT = /^(?:cytoscape|cose-base|layout-base|katex$|elkjs$)/;
/** What it needs is inside its own bundle. */
const BUNDLE = /^roughjs@/;
/** A module that only hands on names leaves these few marks in a source map, and no code. */
const NO_CODE = 4;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** How often each source is pointed at in the mappings of a source map (https://tc39.es/ecma426/). */
function usesOfSources({ sources, mappings }) {
  const uses = sources.map(() => 0);
  let [source, field, value, shift] = [0, 0, 0, 0];
  for (const sign of mappings) {
    if (sign === ',' || sign === ';') [field, value, shift] = [0, 0, 0];
    else {
      const digit = DIGITS.indexOf(sign);
      value += (digit & 31) * 2 ** shift;
      shift += 5;
      if (digit & 32) continue;
      if (++field === 2) {
        source += (value & 1 ? -1 : 1) * (value >> 1);
        uses[source] += 1;
      }
      [value, shift] = [0, 0];
    }
  }
  return uses;
}

/** name@version of the packages with code in the bundle of a source map. Those linked from a workspace stand without a version. */
function packagesIn(files) {
  const uses = new Map();
  for (const file of files) {
    const map = JSON.parse(readFileSync(file, 'utf8'));
    const counts = usesOfSources(map);
    map.sources.forEach((source, at) => {
      const [, place, name] = /node_modules\/(?:\.pnpm\/([^/]+)\/node_modules\/)?((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
      if (name === undefined || LEFT_OUT.test(name)) return;
      const version = /.@(\d[^_(]*)/.exec(place ?? '')?.[1];
      const key = version === undefined ? name : `${name}@${version}`;
      uses.set(key, (uses.get(key) ?? 0) + counts[at]);
    });
  }
  return [...uses].flatMap(([key, count]) => (count > NO_CODE ? [key] : [])).sort();
}

function filesBelow(folder, end) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(end))
    .map((name) => path.join(folder, name));
}

const dependenciesOf = (place) => JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8')).dependencies ?? {};
const { version } = JSON.parse(readFileSync(path.join(TINY, 'package.json'), 'utf8'));
const folder = mkdtempSync(path.join(tmpdir(), 'parley-mermaid-'));
const npm = (...args) => execFileSync('npm', args, { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' });
const install = (names) => {
  const dependencies = Object.fromEntries(names.map((name, at) => [`p${at}`, `npm:${name}`]));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  npm('install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline');
  return names.map((_, at) => `node_modules/p${at}`);
};
try {
  const [mermaid] = install([`mermaid@${version}`]).map((place) => path.join(folder, place));
  // Its parser has a bundle, and a version, of its own: the lowest that Mermaid takes.
  const asked = dependenciesOf(mermaid)['@mermaid-js/parser'];
  const own = `@mermaid-js/parser@${asked.replace(/^\D+/, '')}`;
  const [, parser] = install([`mermaid@${version}`, own]).map((place) => path.join(folder, place));
  const found = [
    ...packagesIn([path.join(mermaid, 'dist/mermaid.min.js.map')]),
    ...packagesIn(filesBelow(path.join(parser, 'dist'), '.map').filter((file) => file.includes('mermaid-parser.core'))),
  ];
  const bundles = install(found.filter((one) => BUNDLE.test(one))).map((place) => path.join(folder, place));
  const inside = bundles.flatMap((place) => Object.entries(dependenciesOf(place)).map((one) => one.join('@')));
  const names = [...new Set([...found, ...inside])];
  const all = [...names, own].sort();
  rmSync(path.join(folder, 'node_modules'), { recursive: true });
  const folders = install(all);
  const lock = JSON.parse(readFileSync(path.join(folder, 'package-lock.json'), 'utf8')).packages;
  const packages = folders.map((place) => {
    const { folder: _, ...described } = describePackage(path.join(folder, place));
    return { ...described, integrity: lock[place].integrity };
  });
  const { integrity } = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages[TINY];
  const texts = [...new Set(packages.map(({ text }) => text))];
  const listed = packages.map((one) => ({ ...one, text: texts.indexOf(one.text) }));
  writeFileSync('build/insideMermaid.json', `${JSON.stringify({ integrity, packages: listed, texts }, null, 2)}\n`);
  console.log(`${packages.length} packages`);
} finally {
  rmSync(folder, { recursive: true });
}
