import path from 'node:path';
import type * as LanguageTools from './languageTools.ts';

export type Lsp = typeof LanguageTools;

/** Loads the bundle with the converters once, at its first use. */
export function lspLoader(extensionPath: string): () => Lsp {
  let loaded: Lsp | undefined;
  return () => {
    // Not an import: the bundler must leave it where it is.
    loaded ??= require(path.join(extensionPath, 'dist', 'languageTools.js')) as Lsp;
    return loaded;
  };
}
