import type { Tool } from '../../protocols/ports.ts';
import type { ToolContext } from './context.ts';
import { languageTools } from './language.ts';
import { lookingTools } from './looking.ts';
import { showingTools } from './showing.ts';

/** The list of editor tools: one is offered to agents if and only if it is here. */
export function editorTools(context: ToolContext): readonly Tool[] {
  return [...showingTools(context), ...lookingTools(context), ...languageTools(context)];
}
