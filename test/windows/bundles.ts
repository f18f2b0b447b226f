import path from 'node:path';
import { filesUnder } from '../stages/files.ts';
import { bundleTests } from '../stages/nodeTests.ts';

/** Rooms that run outside the editor and outside a browser. */
const ROOMS = [
  'transport',
  'live',
  'protocols',
  'session',
  'headless',
  'agent',
  'bridge',
  'base',
  'conversation',
  'editor',
  'serve',
  'attack',
];

/** Bundles the unit tests of these rooms to out/unit-windows; each bundle with the source it was made of. */
export async function bundleUnitTests(
  only: readonly string[] | undefined,
  isLeftOut: (file: string) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const files = filesUnder('test', '.test.ts').filter(
    (file) =>
      ROOMS.some((room) => file.startsWith(`test/${room}/`)) && !isLeftOut(file) && (only?.some((text) => file.includes(text)) ?? true),
  );
  const outdir = path.join('out', 'unit-windows');
  await bundleTests([...files, ...filesUnder('test/fakes', '.ts')], outdir);
  return new Map(files.map((file) => [path.resolve(outdir, file.replace(/\.ts$/, '.mjs')), file]));
}
