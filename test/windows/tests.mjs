// tests.mjs OUT.jsonl FILES.json: runs test bundles with node's own runner, one process a file. Wine prints to files only.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { run } from 'node:test';

const [, , out, list] = process.argv;
const files = JSON.parse(readFileSync(list, 'utf8'));
writeFileSync(out, '');
for await (const { type, data } of run({ files, concurrency: 2, timeout: 400_000 })) {
  if (type !== 'test:pass' && type !== 'test:fail') continue;
  const error = data.details?.error;
  const cause = error?.cause ?? error;
  const text = cause === undefined ? undefined : String(cause?.stack ?? cause).slice(0, 1500);
  appendFileSync(out, `${JSON.stringify({ ok: type === 'test:pass', file: data.file, name: data.name, why: error?.failureType, text })}\n`);
}
