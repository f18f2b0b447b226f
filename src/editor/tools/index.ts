import type { Tool } from '../../protocols/ports.ts';
import type { ReviewDocuments } from '../review/documents.ts';
import { languageTools } from './language.ts';
import { lookingTools } from './looking.ts';
import { lspLoader } from './lsp.ts';
import { showingTools } from './showing.ts';

export interface ToolContext {
  /** The folder of the session; relative paths count from it. */
  readonly cwd: string;
  readonly extensionPath: string;
  readonly documents: ReviewDocuments;
}

/** The list of editor tools: one is offered to agents if and only if it is here. */
export function editorTools(context: ToolContext): readonly Tool[] {
  const lsp = lspLoader(context.extensionPath);
  return [...showingTools(context), ...lookingTools(context, lsp), ...languageTools(context, lsp)];
}
