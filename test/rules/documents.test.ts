import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

/*
 * The tables of docs/protocols that say which test shows an item: their last column is headed "test". A cell names test files, files of transcripts
 * by their number, files by a letter that the section explains ("S is `…`"), and titles in quotation marks, cut off with … where they are long.
 */

const FOLDER = 'docs/protocols';
/** Where the transcripts of a document are; by its name otherwise. */
const CASES: Readonly<Record<string, string>> = { wire: 'kimi-wire' };

interface Row {
  readonly item: string;
  readonly cell: string;
  /** The section up to its table, which explains the letters. */
  readonly section: string;
}
interface Known {
  /** Paths of all test files. */
  readonly files: readonly string[];
  /** Numbers of the files of transcripts. */
  readonly numbers: readonly string[];
  /** The text of these files in which a title is looked for. */
  readonly textOf: (files: readonly string[]) => string;
  readonly titles: string;
}

function rowsIn(text: string): readonly Row[] {
  return text.split(/^## /m).flatMap((section) => {
    const lines = section.split('\n');
    const from = lines.findIndex((line) => /\| *test *\|$/i.test(line));
    if (from < 0) return [];
    const intro = lines.slice(0, from).join('\n');
    const rows = lines.slice(from + 2);
    const end = rows.findIndex((line) => !line.startsWith('|'));
    return rows.slice(0, end < 0 ? rows.length : end).map((line) => {
      const cells = line.slice(1, line.lastIndexOf('|')).split(/(?<!\\)\|/);
      return { item: (cells[0] ?? '').trim(), cell: (cells.at(-1) ?? '').trim(), section: intro };
    });
  });
}

/** What a row names and is not there. */
function missingIn({ cell, section }: Row, known: Known): readonly string[] {
  const fileOf = (name: string) => known.files.find((file) => file === name || file.endsWith(`/${name}`));
  const legend = new Map(
    [...section.matchAll(/\b([A-Z])(?: is|:|,)\s+`?([\w/.-]+\.(?:test\.ts|txt))/g)].map(([, key, file]) => [key, file]),
  );
  const named = [...cell.matchAll(/`([\w/.-]+\.test\.ts)`/g)].map(([, file]) => file ?? '');
  const words = cell.replaceAll(/"[^"]*"|`[^`]*`/g, ' ');
  const letters = words.match(/\b[A-Z]\b/g) ?? [];
  const cited = [...named, ...letters.map((key) => legend.get(key) ?? `${key}?`)];
  const numbers = words.match(/\b\d\d\b/g) ?? [];
  const text = known.titles + known.textOf(cited.flatMap((name) => fileOf(name) ?? []));
  const titles = [...cell.matchAll(/"([^"]*)"/g)].map(([, title]) => (title ?? '').replace(/\s*…$/, ''));
  return [
    ...cited.filter((name) => !fileOf(name)),
    ...numbers.filter((number) => !known.numbers.includes(number)),
    ...titles.filter((title) => !text.includes(title)),
    ...(cited.length + numbers.length + titles.length > 0 || cell === '–' ? [] : [`nothing: ${cell}`]),
  ];
}

function filesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:test\.ts|txt)$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name).replaceAll(path.sep, '/'));
}

test('the tables of the protocol notes name tests that are there', () => {
  const files = filesUnder('test');
  const documents = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
  const missing = documents.flatMap((name) => {
    const protocol = name.replace(/\.md$/, '');
    const cases = `test/protocols/${CASES[protocol] ?? protocol}/cases`;
    const transcripts = existsSync(cases) ? readdirSync(cases) : [];
    const known: Known = {
      files,
      numbers: transcripts.flatMap((file) => /^\d\d(?=-)/.exec(file)?.[0] ?? []),
      textOf: (wanted) => wanted.map((file) => readFileSync(file, 'utf8')).join('\n'),
      titles: transcripts.map((file) => readFileSync(path.join(cases, file), 'utf8').replaceAll(/^[<>=] .*$/gm, '')).join('\n'),
    };
    return rowsIn(readFileSync(path.join(FOLDER, name), 'utf8')).flatMap((row) =>
      missingIn(row, known).map((one) => `${name}, ${row.item}: ${one}`),
    );
  });
  assert.deepEqual(missing, []);
});

test('a test that is not there is found', () => {
  const known: Known = { files: ['test/a.test.ts'], numbers: ['01'], textOf: () => "test('it works')", titles: '# a case that is long' };
  const table = (cell: string) =>
    `## Items\n\nS is \`test/a.test.ts\`, T is \`test/gone.test.ts\`.\n\n| item | test |\n| --- | --- |\n| one \\| two | ${cell} |\n\nMore.\n`;
  const missing = (cell: string) => rowsIn(table(cell)).flatMap((row) => missingIn(row, known));
  assert.deepEqual(missing('01, S "it works", `a.test.ts`, "a case that …"'), []);
  assert.deepEqual(missing('02, T, X, `b.test.ts`, "another"'), ['b.test.ts', 'test/gone.test.ts', 'X?', '02', 'another']);
  assert.deepEqual(missing('surely'), ['nothing: surely']);
});

/** The files and folders that a guide names, in backticks, and that are not there. A name with <x> or * stands for many. */
function missingFiles(text: string, isThere: (name: string) => boolean): readonly string[] {
  return [...text.matchAll(/`((?:src|webview|test|docs|build|l10n)(?:\/[\w.-]+)+|package[\w.-]*\.json)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !isThere(name));
}

test('the files that the guides name are there', () => {
  for (const guide of ['CONTRIBUTING.md', 'ARCHITECTURE.md']) {
    const text = readFileSync(guide, 'utf8');
    assert.deepEqual(missingFiles(text, existsSync), [], guide);
  }
  const planted = 'In `src/x.ts` and `webview/gone`, as in `package.json`; `src/protocols/<x>/schema.ts`, `test/**/*.txt`';
  assert.deepEqual(
    missingFiles(planted, (name) => name === 'package.json'),
    ['src/x.ts', 'webview/gone'],
  );
});

/**
 * What the last cell of a row of docs/peers.md or docs/comfort.md names and is not there: tests by their way below test/, each with a part of its title behind a colon.
 * A picture is named as one; `npm run …` is a command.
 */
function unshown(cell: string, textOf: (way: string) => string | undefined): readonly string[] {
  const bare = cell.replaceAll(/picture `[^`]+`/g, '').replaceAll(/ \([^)]*\)/g, '');
  return [...bare.matchAll(/`([^`]+)`(?:: ([^`]*?))?(?=[,;] (?:`|$)|[,;]? *$)/g)].flatMap(([, way = '', title]) => {
    if (way.startsWith('npm ')) return [];
    const text = textOf(way);
    if (text === undefined) return [way];
    return title === undefined || text.includes(title) ? [] : [title];
  });
}

test('the tests that the tables of what users compare and of comfort name are there', () => {
  const files = filesUnder('test');
  const textOf = (way: string): string | undefined => {
    const [folder = ''] = way.split('*');
    const found = files.filter((file) => (way.includes('*') ? file.startsWith(`test/${folder}`) : file.startsWith(`test/${way}`)));
    return found.length === 0 ? undefined : found.map((file) => readFileSync(file, 'utf8')).join('\n');
  };
  const rowsOf = (document: string) =>
    readFileSync(document, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .slice(2);
  const [peers, comfort] = [rowsOf('docs/peers.md'), rowsOf('docs/comfort.md')];
  assert.ok(peers.length > 30 && comfort.length === 12);
  assert.deepEqual(
    [...peers, ...comfort].flatMap((row) => unshown(row.split('|').at(-2)?.trim() ?? '', textOf)),
    [],
  );
  const known = (way: string) => (way === 'e2e/a' ? "test('it works, and stays')" : undefined);
  assert.deepEqual(unshown('`e2e/a`: it works, and stays, `e2e/b`, picture `c`', known), ['e2e/b']);
  assert.deepEqual(unshown('`e2e/a`: it fails (in words), `npm run x`', known), ['it fails']);
});

interface Guides {
  readonly isThere: (file: string) => boolean;
  readonly readme: string;
  readonly agents: string;
}
/** What the guides do not say of a protocol: its notes with a link, its row in the README, its section in docs/agents.md. */
function untold(protocol: string, { isThere, readme, agents }: Guides): readonly string[] {
  const notes = Object.entries(CASES).find(([, cases]) => cases === protocol)?.[0] ?? protocol;
  return [
    ...(isThere(`${FOLDER}/${notes}.md`) ? [] : [`${protocol}: no ${FOLDER}/${notes}.md`]),
    ...(readme.includes(`\n| \`${protocol}\``) ? [] : [`${protocol}: no row in README.md`]),
    ...(new RegExp(`^## .*\\(\`${protocol}\`\\)$`, 'm').test(agents) ? [] : [`${protocol}: no section in docs/agents.md`]),
  ];
}

test('the guides tell of every protocol', () => {
  const registry = readFileSync('src/protocols/registry.ts', 'utf8');
  const [, table = ''] = registry.split('Record<string, Protocol>> = {');
  const registered = [...table.matchAll(/^ {2}'?([\w-]+)'?[:,]/gm)].map(([, name = '']) => name);
  assert.ok(registered.length >= 6, registered.join());
  const guides: Guides = {
    // Notes without a link to the specification are none.
    isThere: (file) => existsSync(file) && /https:\/\//.test(readFileSync(file, 'utf8')),
    readme: readFileSync('README.md', 'utf8'),
    agents: readFileSync('docs/agents.md', 'utf8'),
  };
  assert.deepEqual(
    registered.flatMap((protocol) => untold(protocol, guides)),
    [],
  );
  const planted: Guides = { isThere: (file) => file.endsWith('wire.md'), readme: '\n| `acp` |', agents: '## A2A (`a2a`)\n' };
  assert.deepEqual(untold('acp', planted), ['acp: no docs/protocols/acp.md', 'acp: no section in docs/agents.md']);
  assert.deepEqual(untold('a2a', planted), ['a2a: no docs/protocols/a2a.md', 'a2a: no row in README.md']);
  assert.deepEqual(untold('kimi-wire', planted), ['kimi-wire: no row in README.md', 'kimi-wire: no section in docs/agents.md']);
});
