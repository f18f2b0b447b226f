// tests.mjs OUT.jsonl FILES.json SECONDS: runs test bundles with node's own runner, one process a file, two at once. Wine prints to files only.
import { appendFileSync, readFileSync } from 'node:fs';
import { run } from 'node:test';

const [, , out, list, seconds] = process.argv;
/** Each with the names of the tests that are left out. */
const files = JSON.parse(readFileSync(list, 'utf8'));
const tell = (line) => appendFileSync(out, `${JSON.stringify(line)}\n`);
const exactly = (name) => new RegExp(`^${name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`);

/** Wine cannot start the process of a file now and then: nothing of the file has run, so it is started once more. */
const isNotStarted = ({ name }, { code, syscall } = {}, file) =>
  name.toLowerCase() === file.toLowerCase() && code === 'UNKNOWN' && String(syscall).startsWith('spawn');

async function runFile({ file, leftOut }, isLast = false) {
  const began = Date.now();
  let hasRun = false;
  const some = leftOut.length > 0 ? { testSkipPatterns: leftOut.map(exactly) } : {};
  for await (const { type, data } of run({ files: [file], timeout: Number(seconds) * 1000, ...some })) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error;
    const cause = error?.cause ?? error;
    if (!isLast && !hasRun && isNotStarted(data, cause, file)) {
      tell({ file, notStarted: true });
      return runFile({ file, leftOut }, true);
    }
    hasRun = true;
    const text = cause === undefined ? undefined : String(cause?.stack ?? cause).slice(0, 1500);
    const skipped = data.skip !== undefined && data.skip !== false;
    tell({ file, ok: type === 'test:pass', skipped, name: data.name, why: error?.failureType, text });
  }
  tell({ file, seconds: Math.round((Date.now() - began) / 1000) });
}

async function next() {
  for (let one = files.shift(); one !== undefined; one = files.shift()) await runFile(one);
}
await Promise.all([next(), next()]);
