import { COMMAND_CONTEXT, EXTENSION } from '../../../protocols/a2a/schema.ts';
import { NAME, VERSION } from '../../version.ts';

/** What parley-agent says of itself, for clients of 0.3 and of 1.0: each reads the members of its version. */
export function agentCard(url: string, withToken: boolean): object {
  return {
    name: NAME,
    description: 'Reads, searches, edits and runs things in one folder, and asks before it changes anything.',
    url,
    version: VERSION,
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
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
    ...(withToken
      ? {
          securitySchemes: { token: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } } },
          security: [{ token: [] }],
          securityRequirements: [{ schemes: { token: { list: [] } } }],
        }
      : {}),
  };
}
