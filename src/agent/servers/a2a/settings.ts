import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import * as z from 'zod/mini';
import { EXTENSION } from '../../../protocols/a2a/schema.ts';
import { placeOf, type Workspace } from '../../workspace/paths.ts';
import type { ToolServerAddress } from './toolServer.ts';
import { isRecord, type Json } from './wire.ts';

/** What the first message of a conversation may settle (AgentSettings, docs/protocols/a2a.md §6). */
export interface Settings {
  readonly workspace: Workspace;
  /** MCP servers whose tools the model gets; the document lets clients add such settings. */
  readonly servers: readonly ToolServerAddress[];
}

const MOST_SERVERS = 20;
const server = z.object({
  url: z.optional(z.string()),
  httpUrl: z.optional(z.string()),
  headers: z.optional(z.record(z.string(), z.string())),
});

/** Throws a sentence for the client. */
export async function settingsOf(started: Workspace, metadata: Json | undefined): Promise<Settings> {
  const given = metadata?.[EXTENSION];
  const { workspace_path, workspacePath = workspace_path, mcp_servers, mcpServers = mcp_servers } = isRecord(given) ? given : {};
  return { workspace: await workspaceOf(started, workspacePath), servers: serversIn(mcpServers) };
}

/** The folder has to lie in what this agent was started for. Without one, all of that. */
async function workspaceOf(started: Workspace, given: unknown): Promise<Workspace> {
  if (typeof given !== 'string' || given === '') return started;
  if (!isAbsolute(given)) throw new Error(`The workspace path ${given} is not absolute.`);
  const { path, real, inside } = await placeOf(started, given);
  if (!inside) throw new Error(`The workspace path ${path} is outside the folders this agent was started for: ${started.roots.join(', ')}`);
  if (!statSync(real, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`The workspace path ${path} is no folder.`);
  return { cwd: path, roots: [path] };
}

/** By name; only those that speak HTTP. */
function serversIn(given: unknown): readonly ToolServerAddress[] {
  if (!isRecord(given)) return [];
  return Object.entries(given)
    .slice(0, MOST_SERVERS)
    .map(([name, value]) => {
      const { url, httpUrl = url, headers } = server.safeParse(value).data ?? {};
      if (httpUrl === undefined || !/^https?:/.test(httpUrl) || !URL.canParse(httpUrl) || !/^[\w.-]{1,64}$/.test(name)) {
        throw new Error(`The MCP server ${name} needs a name of letters and an HTTP address.`);
      }
      return { name, url: httpUrl, ...(headers ? { headers } : {}) };
    });
}
