import type { ReviewDocuments } from '../review/documents.ts';
import type * as LanguageTools from './languageTools.ts';

/** The converters into LSP shapes: a bundle of its own. */
export type Lsp = typeof LanguageTools;

/** What the editor tools of one session work with. */
export interface ToolContext {
  /** The folder of the session; relative paths count from it. */
  readonly cwd: string;
  readonly lsp: () => Lsp;
  readonly documents: ReviewDocuments;
}
