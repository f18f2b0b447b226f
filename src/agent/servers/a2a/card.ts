import type { AgentCard } from '@a2a-js/sdk';
import { COMMAND_CONTEXT, EXTENSION } from '../../../protocols/a2a/schema.ts';
import { NAME, VERSION } from '../../version.ts';

/** What parley-agent says of itself. */
export function agentCard(url: string, withToken: boolean): AgentCard {
  return {
    name: NAME,
    description: 'Reads, searches, edits and runs things in one folder, and asks before it changes anything.',
    url,
    version: VERSION,
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extensions: [
        {
          uri: EXTENSION,
          description: 'Interactive development: tool calls, approvals, thoughts, commands.',
          required: true,
          params: { [COMMAND_CONTEXT]: true },
        },
      ],
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'develop', name: 'Development', description: 'Works on the code of a folder.', tags: ['code'] }],
    ...(withToken ? { securitySchemes: { token: { type: 'http', scheme: 'bearer' } }, security: [{ token: [] }] } : {}),
  };
}
