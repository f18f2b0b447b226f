import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { NAME, VERSION } from '../../version.ts';

/** A bundle of its own, loaded with the first tool server a client names: the SDK is heavy. */

/** A tool server as the client names it (acp.md §12). */
type ServerSpec = { readonly name: string } & (
  | { readonly type: 'http' | 'sse'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
    }
);
interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** True when it declares that it changes nothing. */
  readonly readOnly: boolean;
}
interface ConnectedServer {
  readonly tools: readonly ServerTool[];
  /** Rejects when the server cannot be reached or the signal fires. */
  call(
    tool: string,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<{ readonly isError: boolean; readonly text: string }>;
  close(): Promise<void>;
}

/** Milliseconds a tool may run: some wait for a user. */
const CALL_LIMIT = 30 * 60_000;
/** Pages of a list of tools that are asked for at most. */
const PAGES = 20;

/** Connects and reads the list of tools. Rejects when the server is not there in time. */
export async function connectServer(spec: ServerSpec, timeout: number): Promise<ConnectedServer> {
  const client = new Client({ name: NAME, version: VERSION });
  try {
    await client.connect(transportOf(spec), { timeout });
    const tools: ServerTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page++) {
      const listed = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout });
      tools.push(
        ...listed.tools.map(({ name, description, inputSchema, annotations }) => ({
          name,
          description: description ?? '',
          parameters: inputSchema,
          readOnly: annotations?.readOnlyHint === true,
        })),
      );
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return {
      tools,
      async call(name, input, signal) {
        const { content, isError } = await client.callTool({ name, arguments: { ...input } }, undefined, { signal, timeout: CALL_LIMIT });
        const parts = Array.isArray(content) ? (content as readonly { readonly text?: unknown; readonly type?: unknown }[]) : [];
        const text = parts.map((part) => (typeof part.text === 'string' ? part.text : `[${String(part.type)}]`)).join('\n');
        return { isError: isError === true, text };
      },
      close: () => client.close(),
    };
  } catch (error) {
    await client.close().catch(() => undefined);
    throw error;
  }
}

function transportOf(spec: ServerSpec): Transport {
  // The SDK's transports declare optional members in another way than this project's settings want.
  if (spec.type === 'stdio') {
    const { command, args, env, cwd } = spec;
    return new StdioClientTransport({
      command,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      cwd,
      stderr: 'ignore',
    }) as Transport;
  }
  const url = new URL(spec.url);
  const requestInit = { headers: { ...spec.headers } };
  return (
    spec.type === 'sse' ? new SSEClientTransport(url, { requestInit }) : new StreamableHTTPClientTransport(url, { requestInit })
  ) as Transport;
}
