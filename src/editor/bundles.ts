import path from 'node:path';
import type { protocolsSpeaking } from '../protocols/registry.ts';
import type * as LanguageTools from './tools/languageTools.ts';

/** The parts of the host that are not needed to start up: bundles of their own beside the main one, each loaded once, at its first use. */
interface Loaded {
  /** All protocols with what they need. */
  readonly protocols: { readonly protocolsSpeaking: typeof protocolsSpeaking };
  /** The converters of the editor tools into LSP shapes. */
  readonly languageTools: typeof LanguageTools;
}

export type Bundles = { readonly [B in keyof Loaded]: () => Loaded[B] };
export type Lsp = Loaded['languageTools'];

export function bundlesIn(extensionPath: string): Bundles {
  // Not an import: the bundler must leave it where it is.
  const load = (name: string): unknown => require(path.join(extensionPath, 'dist', `${name}.js`));
  return {
    protocols: () => load('protocols') as Loaded['protocols'],
    languageTools: () => load('languageTools') as Lsp,
  };
}
