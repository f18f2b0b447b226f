import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { texts } from './manifest.ts';
import { type Source, sourcesUnder } from './sources.ts';

const english = texts('package.nls.json');
const chinese = texts('package.nls.zh-cn.json');
const bundle = texts('l10n/bundle.l10n.json');
const chineseBundle = texts('l10n/bundle.l10n.zh-cn.json');

/** Texts of the language bundle. It may only fall. */
const MOST_TEXTS = 450;

const missing = (wanted: Iterable<string>, table: object): readonly string[] => [...wanted].filter((key) => !(key in table));
/** Placeholders of a text, sorted: `{0}`, `{name}`. */
const holes = (text: string): string => (text.match(/\{\w+\}/g) ?? []).sort().join(' ');

test('every text of the manifest is there in both languages, and none is unused', () => {
  const used = new Set([...readFileSync('package.json', 'utf8').matchAll(/"%([^%"]+)%"/g)].map((match) => match[1] ?? ''));
  if (Object.keys(english).length === 0 && Object.keys(chinese).length === 0) return;
  assert.deepEqual(missing(used, english), [], 'not in package.nls.json');
  assert.deepEqual(missing(used, chinese), [], 'not in package.nls.zh-cn.json');
  assert.deepEqual(
    missing([...Object.keys(english), ...Object.keys(chinese)], Object.fromEntries([...used].map((key) => [key, 1]))),
    [],
    'unused',
  );
});

test('every text of the code is there in both languages, and none is unused', () => {
  const used = new Set<string>();
  for (const source of sourcesUnder('src', 'webview')) {
    const literal = `('(?:\\\\.|[^'\\\\])*'|"(?:\\\\.|[^"\\\\])*")`;
    const before = '(?<![\\w$#]|(?<!l10n)\\.)'; // no method of that name
    // The text is a literal, or the choice between two of them.
    const call = new RegExp(`${before}t\\(\\s*(?:[^'"\`(),]+\\?\\s*)?${literal}(?:\\s*:\\s*${literal})?`, 'g');
    const code = source.code.replace('l10n.t(english, ...args)', ''); // hands on what others say
    for (const match of code.matchAll(call)) for (const text of [match[1], match[2]]) if (text) used.add(unquote(text));
    const calls = code.match(new RegExp(`${before}t\\((?!\\w+\\??:)`, 'g'))?.length ?? 0;
    const understood = [...code.matchAll(call)].length;
    assert.equal(calls, understood, `${source.path}: ${calls - understood} calls whose text is not a literal`);
  }
  if (used.size === 0) return;
  assert.deepEqual(missing(used, chineseBundle), [], 'not in bundle.l10n.zh-cn.json');
  assert.deepEqual(missing(used, bundle), [], 'not in bundle.l10n.json');
  assert.deepEqual(
    missing(Object.keys({ ...bundle, ...chineseBundle }), Object.fromEntries([...used].map((key) => [key, 1]))),
    [],
    'unused',
  );
});

const countOf = (table: object): number => Object.keys(table).length;
const tooMany = (table: object): readonly string[] =>
  countOf(table) <= MOST_TEXTS ? [] : [`${countOf(table)} texts: join near-equal ones, and take titles of commands from the manifest`];

test('the language bundle is small', (t) => {
  t.diagnostic(`${countOf(bundle)} texts`);
  assert.deepEqual([...tooMany(bundle), ...tooMany(chineseBundle)], []);
  const table = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`Text ${at}`, `Text ${at}`]));
  assert.deepEqual(tooMany(table(MOST_TEXTS)), []);
  assert.match(tooMany(table(MOST_TEXTS + 1)).join(), /^451 texts: /);
});

test('a title of a command that the view repeats is one of the manifest', () => {
  const titles = new Set(Object.entries(english).flatMap(([key, text]) => (key.startsWith('command.') ? [text.replace(/…$/, '')] : [])));
  const repeated = sourcesUnder('webview').flatMap(({ code }) =>
    [...code.matchAll(/\bcommandTitle\('([^']+)'\)/g)].map((match) => match[1] ?? ''),
  );
  assert.ok(repeated.length > 0);
  assert.deepEqual(
    repeated.filter((title) => !titles.has(title)),
    [],
  );
});

test('translations keep the placeholders and say something', () => {
  for (const [table, translated] of [
    [english, chinese],
    [bundle, chineseBundle],
  ] as const) {
    for (const [key, text] of Object.entries(table)) {
      assert.notEqual(text.trim(), '', key);
      if (key in translated) assert.equal(holes(translated[key] ?? ''), holes(text), key);
    }
  }
  assert.deepEqual(
    Object.entries(bundle).filter(([key, text]) => key !== text),
    [],
    'the English bundle says what the code says',
  );
});

const unquote = (literal: string): string =>
  literal.slice(1, -1).replaceAll(/\\(.)/g, (_, char: string) => ({ n: '\n', t: '\t' })[char] ?? char);

test('in Chinese an agent is 智能体, which a proxy is not, and the user is 你', () => {
  const wrong = Object.entries({ ...chinese, ...chineseBundle }).filter(
    ([key, text]) => text.includes('您') || (text.includes('代理') && !/proxy/i.test(english[key] ?? key)),
  );
  assert.deepEqual(wrong, []);
});

test('no text names a key of one system: the editor shows keys as they are on the user’s keyboard', () => {
  const named = [english, chinese, bundle, chineseBundle].flatMap((table) =>
    Object.values(table).filter((text) => /\b(?:Ctrl|Control|Cmd|Command|Alt|Option|Meta|Win)\+|⌘|⌥|⌃/.test(String(text))),
  );
  assert.deepEqual(named, []);
});

/** Names in lower case: of options, commands and streams. */
const NAMES = ['body', 'restore', 'stdout', 'temperature'];
/** English words that fill a placeholder of a translated text, as a literal or in a template; what is only compared does not. */
function wordsAsValues(files: readonly Source[]): readonly string[] {
  return files.flatMap(({ path, code }) =>
    [...code.matchAll(/(?<![\w$#]|(?<!l10n)\.)t\(/g)].flatMap(({ index }) => {
      const [, ...values] = valuesAt(code, index + 't('.length);
      return values
        .filter((value) => /^[a-z]{2,}(?:[ -][a-z]+)*$|\b[a-z]{3,} [a-z]{3,}\b/.test(value) && !NAMES.includes(value))
        .map((value) => `${path}: ${value}`);
    }),
  );
}

/** The texts among the arguments of the call that begins at `from`: literals, and templates without what they insert. Those of calls inside are left to these. */
function valuesAt(code: string, from: number): readonly string[] {
  const found: string[] = [];
  let depth = 1;
  for (const match of code
    .slice(from, from + 3_000)
    .matchAll(/(?:[!=]==?\s*)?(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)|([([{])|([)\]}])/g)) {
    if (match[4]) depth += 1;
    else if (match[5] && --depth === 0) break;
    const text = match[1] ?? match[2] ?? match[3]?.replaceAll(/\$\{[^}]*\}/g, '…');
    if (text !== undefined && depth === 1 && !/^[!=]/.test(match[0])) found.push(text);
  }
  return found;
}

test('what fills a placeholder is a value, not English words', () => {
  assert.deepEqual(wordsAsValues(sourcesUnder('src', 'webview')), []);
  const planted = [
    "t('The answer was cut ({0}).', 'too large');",
    "l10n.t('The answer was cut ({0}).', why === 'length' ? 'long' : text);",
    "t('{0} failed: {1}', name, `\u0024{count} files were lost`);",
    "t('{0} failed: {1}', t('Terminal'), why ?? 'timeout');",
    "t('Read {0}', 'README.md');",
    "t('{0} failed: {1}', '/btw', `\u0024{name} (\u0024{seconds} s)`);",
    "t('Option {0} is invalid', 'temperature');",
    "t('{0} of {1}', nameOf('two words'), 'ETIMEDOUT');",
  ].map((code, at) => ({ path: `src/${at}.ts`, text: code, code }));
  assert.deepEqual(wordsAsValues(planted), ['src/0.ts: too large', 'src/1.ts: long', 'src/2.ts: … files were lost', 'src/3.ts: timeout']);
});

test('quotation marks in texts are “curly”', () => {
  const straight = [english, bundle, chinese, chineseBundle].flatMap((table) =>
    Object.entries(table).flatMap(([key, text]) => (/"/.test(String(text).replaceAll(/`[^`]*`/g, '')) ? [key] : [])),
  );
  assert.deepEqual(straight, []);
});
