import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import { HttpClient } from '../../../transport/http.ts';
import { SseReader } from '../../../transport/sse.ts';
import type { ToolOffer } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import { problemOfSchema } from '../../tools/schemaCheck.ts';
import { done, failed, type Outcome } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';

/** Tools of the editor that started this agent. */
export interface EditorTools {
  /** Those of this moment; none when the editor cannot be reached. */
  offers(): Promise<readonly ToolOffer[]>;
  call(name: string, input: string, signal: AbortSignal): Promise<Outcome>;
}

const BODY_LIMIT = 8 * 1024 * 1024;
const LIST_WITHIN = 5_000;
const listed = z.object({
  tools: z.array(z.object({ name: z.string(), description: z.optional(z.string()), inputSchema: z.record(z.string(), z.unknown()) })),
});
const called = z.object({
  content: z.optional(z.array(z.object({ text: z.optional(z.string()) }))),
  isError: z.optional(z.boolean()),
});
const answered = z.object({
  id: z.nullish(z.union([z.string(), z.number()])),
  result: z.optional(z.unknown()),
  error: z.optional(z.object({ message: z.string() })),
});

/**
 * The MCP server at that address (docs/protocols/a2a.md §14), over HTTP: three methods, asked by hand, because a tool that asks a user first may take as long
 * as that user, and hanging up has to stop it.
 */
export function editorTools(url: string): EditorTools {
  const client = new HttpClient();
  let id = 0;
  let session: string | undefined;

  const ask = async (method: string, params: object, signal: AbortSignal): Promise<unknown> => {
    const wanted = ++id;
    const note = method.startsWith('notifications/');
    const answer = await client.request({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...(note ? {} : { id: wanted }), method, params }),
      signal,
      headersWithin: null,
    });
    const named = answer.headers['mcp-session-id'];
    if (method === 'initialize' && typeof named === 'string') session = named;
    const text = await answer.text(BODY_LIMIT);
    if (!answer.ok) throw new Error(`the editor answered with status ${answer.status}`);
    if (note) return undefined;
    for (const one of answer.type === 'text/event-stream' ? eventsIn(text) : [text]) {
      const parsed = answered.safeParse(JSON.parse(one));
      if (!parsed.success || parsed.data.id !== wanted) continue;
      if (parsed.data.error) throw new Error(parsed.data.error.message);
      return parsed.data.result;
    }
    throw new Error('the editor did not answer');
  };
  const greet = async (signal: AbortSignal): Promise<void> => {
    const clientInfo = { name: NAME, version: VERSION };
    await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, signal);
    await ask('notifications/initialized', {}, signal);
  };
  let greeted: Promise<void> | undefined;

  return {
    async offers() {
      try {
        const signal = AbortSignal.timeout(LIST_WITHIN);
        greeted ??= greet(signal);
        await greeted;
        const { tools } = listed.parse(await ask('tools/list', {}, signal));
        const offers: ToolOffer[] = [];
        for (const { name, description = '', inputSchema } of tools) {
          if (takenNames.includes(name) || (await problemOfSchema(inputSchema)) !== undefined) continue;
          offers.push({ name, description, parameters: inputSchema });
        }
        return offers;
      } catch (error) {
        greeted = undefined;
        process.stderr.write(`${NAME}: the editor's tools are not there: ${messageOf(error)}\n`);
        return [];
      }
    },
    async call(name, input, signal) {
      try {
        const result = called.parse(await ask('tools/call', { name, arguments: JSON.parse(input) as unknown }, signal));
        const text = (result.content ?? []).map((part) => part.text ?? '').join('\n');
        return result.isError ? failed(text) : done(text, `${name} ran.`);
      } catch (error) {
        signal.throwIfAborted();
        return failed(`The tool ${name} could not be run: ${messageOf(error)}`);
      }
    },
  };
}

function eventsIn(text: string): readonly string[] {
  const found: string[] = [];
  const reader = new SseReader((event) => void found.push(event.data));
  reader.push(Buffer.from(text));
  reader.end();
  return found;
}
