import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Disposable } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { Tool } from './ports.ts';
import { runTool } from './runTool.ts';

/** Our tools as an MCP server that an agent of this session may call; it is gone when disposed. */
export interface OfferedTools extends Disposable {
  readonly name: string;
  /** The whole way in as one address: for agents that are handed one variable, which some pass on only when its name looks like no secret. */
  readonly address: string;
  /** For agents that reach tool servers by address. */
  readonly http: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** For agents that start them as processes. */
  readonly process: { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };
}

/** The folder of the running bundle; where the sources run unbundled or in a test, the folder the bundles are built into. */
const bundles = typeof __dirname === 'string' ? __dirname : path.resolve('dist');

type McpServerModule = typeof import('./mcpServer.ts');

/** Starts the MCP server of one session's tools. undefined when there are no tools. Rejects when the bundle is missing or no port can be had. */
export async function offerTools(
  tools: readonly Tool[],
  context: {
    readonly log: Log;
    readonly client: { readonly name: string; readonly version: string };
    /** The agent has asked for the list of tools: only then its model can know them. */
    readonly onListed?: () => void;
  },
): Promise<OfferedTools | undefined> {
  if (tools.length === 0) return undefined;
  const file = path.join(bundles, 'mcpServer.js');
  const { serveMcp } = createRequire(file)(file) as McpServerModule;
  const token = randomBytes(32).toString('base64url');
  const server = await serveMcp({
    tools: tools.map(({ name, description, parameters, confirm }) => ({ name, description, parameters, readOnly: confirm === undefined })),
    run: (name, input, signal) => runTool(tools, { name, input, signal, log: context.log }),
    client: context.client,
    token,
    ...(context.onListed ? { onListed: context.onListed } : {}),
    onError: (message) => context.log.warn(`The MCP server of the editor tools: ${message}`),
  });
  return {
    name: 'editor',
    address: `${server.url}/${token}`,
    http: { url: server.url, headers: { Authorization: `Bearer ${token}` } },
    process: {
      command: process.execPath,
      args: [path.join(bundles, 'mcpBridge.js')],
      env: { PARLEY_MCP_URL: server.url, PARLEY_MCP_TOKEN: token, ELECTRON_RUN_AS_NODE: '1' },
    },
    dispose: () => server.dispose(),
  };
}
