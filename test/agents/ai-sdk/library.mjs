// Loads the `ai` package a peer folder holds, whatever its version.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export async function load(folder, name) {
  const require = createRequire(path.join(folder, 'x.js'));
  const found = await import(pathToFileURL(require.resolve(name)).href);
  // Which names of a CommonJS module node finds by itself depends on its version; its default export has them all.
  return { ...found.default, ...found };
}

export async function aiOf(folder) {
  const ai = await load(folder, 'ai');
  const testing = await load(folder, 'ai/test');
  const Model = testing.MockLanguageModelV4 ?? testing.MockLanguageModelV3 ?? testing.MockLanguageModelV2;
  return { ai, testing, Model, version: testing.MockLanguageModelV4 ? 7 : testing.MockLanguageModelV3 ? 6 : 5 };
}
