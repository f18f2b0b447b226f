import type { Tool } from '../../protocols/ports.ts';
import type { Lsp } from '../bundles.ts';
import type { ReviewDocuments } from '../review/documents.ts';
import { languageTools } from './language.ts';
import { lookingTools } from './looking.ts';
import { showingTools } from './showing.ts';

export interface ToolContext {
  /** The folder of the session; relative paths count from it. */
  readonly cwd: string;
  readonly lsp: () => Lsp;
  readonly documents: ReviewDocuments;
}

/** The list of editor tools: one is offered to agents if and only if it is here. */
export function editorTools(context: ToolContext): readonly Tool[] {
  return [...showingTools(context), ...lookingTools(context), ...languageTools(context)];
}
