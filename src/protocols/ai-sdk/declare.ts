import type { Tool } from '../ports.ts';
import type { Settings } from './settings.ts';

/** Our tools as the server's profile wants them declared, sorted by name so that the body is the same each time (ai-sdk.md §6.1). */
export function declared(tools: readonly Tool[], form: Settings['tools']): Readonly<Record<string, unknown>> {
  const named = tools.filter((tool) => /^[A-Za-z0-9_-]{1,64}$/.test(tool.name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  if (form === 'none' || named.length === 0) return {};
  switch (form) {
    case 'record':
      return {
        tools: Object.fromEntries(named.map((tool) => [tool.name, { description: tool.description, parameters: tool.parameters }])),
      };
    case 'mastra':
      return {
        clientTools: Object.fromEntries(
          named.map((tool) => [tool.name, { id: tool.name, description: tool.description, inputSchema: tool.parameters }]),
        ),
      };
    case 'array':
      return {
        tools: named.map((tool) => ({
          type: 'function',
          function: { name: tool.name, description: tool.description, parameters: tool.parameters },
        })),
      };
  }
}
