import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A package may hold code of others, whose terms stand in a file of notices. */
const LICENCE_FILE = /^(?:licen[cs]es?|copying|copyright|(?:third[-_]?party|copyright)?[-_]?notices?|acknowledgements)(?:[.-].*)?$/i;

/** One package as its own files describe it. Throws when it has no licence to pass on. */
export function describePackage(folder) {
  const { name, version, license, licenses, author, homepage, repository } = JSON.parse(
    readFileSync(path.join(folder, 'package.json'), 'utf8'),
  );
  const files = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .sort();
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
  const told = typeof license === 'string' ? license : (license?.type ?? licenses?.[0]?.type);
  const named = told ?? (/^(?:The )?MIT License/i.test(texts[0] ?? '') ? 'MIT' : undefined);
  if (!named) throw new Error(`${name} ${version} names no licence`);
  const by = typeof author === 'string' ? author : author?.name;
  const source = homepage ?? (typeof repository === 'string' ? repository : repository?.url);
  return { name, version, licence: named, text: texts.join('\n\n'), by, source, folder };
}
