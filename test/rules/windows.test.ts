import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PAGE, pageWithTable, readMarks } from '../windows/marks.ts';

test('docs/systems.md lists the tests that are marked for Wine as they are', () => {
  assert.equal(readFileSync(PAGE, 'utf8'), pageWithTable(), 'npm run test:windows -- --table');
});

test('every mark has a reason of its own and names tests that there are, once', () => {
  const marks = readMarks();
  const named = marks.flatMap(({ tests }) => tests);
  assert.equal(new Set(named).size, named.length);
  assert.equal(new Set(marks.map(({ reason }) => reason)).size, marks.length);
  for (const title of named) {
    const [, file = '', name] = /^(.*?\.test\.ts)(?:: ([\s\S]*))?$/.exec(title) ?? [];
    assert.ok(existsSync(file), title);
    // A name made of parts holds a literal of the source.
    const source = readFileSync(file, 'utf8').replaceAll("\\'", "'");
    assert.ok(name === undefined || source.includes(name) || literals(source).some((part) => name.endsWith(part)), title);
  }
});

/** Ends of template literals behind their last placeholder, long enough to know a name by. */
function literals(source: string): readonly string[] {
  return [...source.matchAll(/\}([^`}]{20,})`/g)].map((match) => match[1] ?? '');
}
