import type { ServerResponse } from 'node:http';
import type { Model } from '../../models/model.ts';
import { problemsOf } from '../../tools/tool.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { bodyJson, HttpError, type HttpServerOptions, listenHttp, sendJson } from '../httpServer.ts';
import { Chat } from './chat.ts';
import { Outlet } from './outlet.ts';
import { chatRequest, toolResult } from './request.ts';

export interface ServeOptions extends Pick<HttpServerOptions, 'port' | 'token' | 'origins'> {
  readonly model: Model;
  readonly workspace: Workspace;
  /** How long a turn goes on with nobody listening, in milliseconds. */
  readonly awayLimit?: number;
}
export interface Served {
  readonly url: string;
  end(): Promise<void>;
}

const CHATS_KEPT = 200;
/** As long as a busy machine may take to load a window again. */
const AWAY_LIMIT = 30_000;

/** Serves chats over HTTP on the loopback interface (docs/protocols/ai-sdk.md). */
export async function serveChats(options: ServeOptions): Promise<Served> {
  const chats = new Map<string, Chat>();
  const chat = async (body: unknown, response: ServerResponse): Promise<void> => {
    const parsed = chatRequest.safeParse(body);
    if (!parsed.success) throw new HttpError(400, `Bad request: ${problemsOf(parsed.error)}`);
    const { id, message, messages } = parsed.data;
    if (!message && !messages?.length) throw new HttpError(400, 'There is no message.');
    const known = chats.get(id) ?? new Chat(options.model, options.workspace, options.awayLimit ?? AWAY_LIMIT);
    chats.delete(id);
    chats.set(id, known);
    forgetOldest(chats);
    await known.post(parsed.data, outletFor(known, id, response));
  };

  const resume = (id: string, response: ServerResponse): void => {
    const known = chats.get(id);
    if (!known?.resume(() => outletFor(known, id, response))) sendJson(response, 204);
  };

  const stop = async (id: string, response: ServerResponse): Promise<void> => {
    await chats.get(id)?.stop();
    sendJson(response, chats.has(id) ? 200 : 404, { ok: chats.has(id) });
  };

  const result = (body: unknown, response: ServerResponse): void => {
    const parsed = toolResult.safeParse(body);
    if (!parsed.success) throw new HttpError(400, `Bad request: ${problemsOf(parsed.error)}`);
    const { session_id, tool_call_id, result: value, is_error } = parsed.data;
    const taken = chats.get(session_id)?.result(tool_call_id, value ?? null, is_error === true) ?? false;
    return taken ? sendJson(response, 200, { ok: true }) : sendJson(response, 404, { error: 'Nobody waits for this call.' });
  };

  const server = await listenHttp(options, async (request, response, path) => {
    const [, id, what] = /^\/api\/chat\/([^/]+)\/(stream|stop)$/.exec(path) ?? [];
    if (id !== undefined && what === 'stream' && request.method === 'GET') return resume(decoded(id), response);
    if (request.method !== 'POST') throw new HttpError(405, 'Only POST.');
    const body = await bodyJson(request);
    if (id !== undefined && what === 'stop') return stop(decoded(id), response);
    if (path === '/api/chat') return chat(body, response);
    if (path === '/chat/tool-result' || path === '/api/chat/tool-result') return result(body, response);
    throw new HttpError(404, 'There is /api/chat and /chat/tool-result.');
  });

  return {
    url: `${server.origin}/api/chat`,
    end: () => server.end(() => Promise.all([...chats.values()].map((one) => one.stop()))),
  };
}

function outletFor(chat: Chat, id: string, response: ServerResponse): Outlet {
  const outlet: Outlet = new Outlet(response, `/api/chat/${encodeURIComponent(id)}/stop`, () => void chat.gone(outlet));
  return outlet;
}

/** An id that is no good name finds nothing. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

function forgetOldest(chats: Map<string, Chat>): void {
  for (const [id, chat] of chats) {
    if (chats.size <= CHATS_KEPT) return;
    if (!chat.busy) chats.delete(id);
  }
}
