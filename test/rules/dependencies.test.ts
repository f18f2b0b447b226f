import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

test('each run-time dependency has its reason in ARCHITECTURE.md, and the paper names no other', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly dependencies: Readonly<Record<string, string>> };
  const [, section = ''] = readFileSync('ARCHITECTURE.md', 'utf8').split('## 10. Run-time dependencies');
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((row) => row.startsWith('| `'));
  const named = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''));
  assert.deepEqual(named.filter((name) => !name.startsWith('zod/')).sort(), Object.keys(dependencies).sort());
  for (const row of rows) assert.ok((row.split('|')[2] ?? '').trim().length > 20, row);
});
