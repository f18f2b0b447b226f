import type { Tool } from '../../protocols/ports.ts';
import type { ToolContext } from './context.ts';
import { type HandToolsContext, handTools } from './hands.ts';
import { languageTools } from './language.ts';
import { lookingTools } from './looking.ts';
import { showingTools } from './showing.ts';

/** The list of editor tools: one is offered to agents if and only if it is here. */
export function editorTools(context: ToolContext): readonly Tool[] {
  return [...showingTools(context), ...lookingTools(context), ...languageTools(context)];
}

/** The tools of one session: those for every agent, and those for agents that cannot reach the files of this machine. */
export function sessionTools(context: ToolContext & HandToolsContext): {
  readonly tools: readonly Tool[];
  readonly remoteFileTools: readonly Tool[];
} {
  return { tools: editorTools(context), remoteFileTools: handTools(context) };
}
