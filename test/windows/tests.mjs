// tests.mjs OUT.jsonl FILES.json SECONDS: runs test bundles with node's own runner, one process a file, two at once. Wine prints to files only.
import { appendFileSync, readFileSync } from 'node:fs';
import { run } from 'node:test';

const [, , out, list, seconds] = process.argv;
/** Each with the names of the tests that are left out. */
const files = JSON.parse(readFileSync(list, 'utf8'));
const tell = (line) => appendFileSync(out, `${JSON.stringify(line)}\n`);
const exactly = (name) => new RegExp(`^${name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`);

/** Wine cannot start a process now and then: that of a file, or one that a test starts. The file is run once more. */
const isNotStarted = ({ code, syscall } = {}) => code === 'UNKNOWN' && String(syscall).startsWith('spawn');

async function runFile({ file, leftOut }, isLast = false) {
  const began = Date.now();
  const told = [];
  const some = leftOut.length > 0 ? { testSkipPatterns: leftOut.map(exactly) } : {};
  let wasStarted = true;
  for await (const { type, data } of run({ files: [file], timeout: Number(seconds) * 1000, ...some })) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error;
    const cause = error?.cause ?? error;
    if (isNotStarted(cause)) wasStarted = false;
    const text = cause === undefined ? undefined : String(cause?.stack ?? cause).slice(0, 1500);
    const skipped = data.skip !== undefined && data.skip !== false;
    told.push({ file, ok: type === 'test:pass', skipped, name: data.name, why: error?.failureType, text });
  }
  if (!wasStarted && !isLast) {
    tell({ file, notStarted: true });
    return runFile({ file, leftOut }, true);
  }
  for (const line of told) tell(line);
  tell({ file, seconds: Math.round((Date.now() - began) / 1000) });
}

async function next() {
  for (let one = files.shift(); one !== undefined; one = files.shift()) await runFile(one);
}
await Promise.all([next(), next()]);
