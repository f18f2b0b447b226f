import type { Lsp } from '../bundles.ts';
import type { ReviewDocuments } from '../review/documents.ts';

/** What the editor tools of one session work with. */
export interface ToolContext {
  /** The folder of the session; relative paths count from it. */
  readonly cwd: string;
  readonly lsp: () => Lsp;
  readonly documents: ReviewDocuments;
}
