import type { ReviewDocuments } from '../review/documents.ts';
import type * as LanguageTools from './languageTools.ts';

/** The converters into LSP shapes, in a bundle of their own. */
export type Lsp = typeof LanguageTools;

/** The dependencies of one session's editor tools. */
export interface ToolContext {
  /** The folder of the session; the base of relative paths. */
  readonly cwd: string;
  readonly lsp: () => Lsp;
  readonly documents: ReviewDocuments;
}
