import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../../base/log.ts';
import type { Model } from '../../models/model.ts';
import { problemsOf } from '../../tools/tool.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { Chat } from './chat.ts';
import { Outlet } from './outlet.ts';
import { chatRequest, toolResult } from './request.ts';

export interface ServeOptions {
  readonly model: Model;
  readonly workspace: Workspace;
  /** 0 takes any that is free. */
  readonly port: number;
  /** Asked for as a bearer token of every request, when there is one. */
  readonly token?: string;
  /** Origins of web pages that may talk to us; without them only programs may. */
  readonly origins: readonly string[];
  /** How long a turn goes on with nobody listening, in milliseconds. */
  readonly awayLimit?: number;
}
export interface Served {
  readonly url: string;
  end(): Promise<void>;
}

const BODY_LIMIT = 64 * 1024 * 1024;
const CHATS_KEPT = 200;
/** As long as a busy machine may take to load a window again. */
const AWAY_LIMIT = 30_000;

/** Serves chats over HTTP on the loopback interface (docs/protocols/ai-sdk.md). */
export async function serveChats(options: ServeOptions): Promise<Served> {
  const chats = new Map<string, Chat>();
  const server = http.createServer((request, response) => {
    handle(request, response).catch((error: unknown) => answer(response, 500, { error: messageOf(error) }));
  });

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = refusalOf(request, options);
    const { origin } = request.headers;
    if (origin !== undefined && options.origins.includes(origin)) {
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('vary', 'origin');
    }
    if (request.method === 'OPTIONS' && refusal?.status !== 403) return preflight(response);
    if (refusal) return answer(response, refusal.status, { error: refusal.why });
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const [, id, what] = /^\/api\/chat\/([^/]+)\/(stream|stop)$/.exec(path) ?? [];
    if (id !== undefined && what === 'stream' && request.method === 'GET') return resume(decoded(id), response);
    if (request.method !== 'POST') return answer(response, 405, { error: 'Only POST.' });
    if (id !== undefined && what === 'stop') return stop(decoded(id), response);
    if (path === '/api/chat') return chat(await bodyOf(request), response);
    if (path === '/chat/tool-result' || path === '/api/chat/tool-result') return result(await bodyOf(request), response);
    return answer(response, 404, { error: 'There is /api/chat and /chat/tool-result.' });
  };

  const chat = async (body: unknown, response: ServerResponse): Promise<void> => {
    const parsed = chatRequest.safeParse(body);
    if (!parsed.success) return answer(response, 400, { error: `Bad request: ${problemsOf(parsed.error)}` });
    const { id } = parsed.data;
    const known = chats.get(id) ?? new Chat(options.model, options.workspace, options.awayLimit ?? AWAY_LIMIT);
    chats.delete(id);
    chats.set(id, known);
    forgetOldest(chats);
    await known.post(parsed.data, outletFor(known, id, response));
  };

  const resume = (id: string, response: ServerResponse): void => {
    const known = chats.get(id);
    if (!known?.resume(() => outletFor(known, id, response))) answer(response, 204);
  };

  const stop = async (id: string, response: ServerResponse): Promise<void> => {
    await chats.get(id)?.stop();
    answer(response, chats.has(id) ? 200 : 404, { ok: chats.has(id) });
  };

  const result = (body: unknown, response: ServerResponse): void => {
    const parsed = toolResult.safeParse(body);
    if (!parsed.success) return answer(response, 400, { error: `Bad request: ${problemsOf(parsed.error)}` });
    const { session_id, tool_call_id, result: value, is_error } = parsed.data;
    const taken = chats.get(session_id)?.result(tool_call_id, value ?? null, is_error === true) ?? false;
    return taken ? answer(response, 200, { ok: true }) : answer(response, 404, { error: 'Nobody waits for this call.' });
  };

  server.listen(options.port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`,
    end: async () => {
      server.close();
      await Promise.all([...chats.values()].map((one) => one.stop()));
      server.closeAllConnections();
    },
  };
}

function outletFor(chat: Chat, id: string, response: ServerResponse): Outlet {
  const outlet: Outlet = new Outlet(response, `/api/chat/${encodeURIComponent(id)}/stop`, () => chat.gone(outlet));
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

/** A page in a browser could reach us: only named origins may, and only under a name of this machine. */
function refusalOf(request: IncomingMessage, options: ServeOptions): { readonly status: number; readonly why: string } | undefined {
  const { host = '', origin, authorization } = request.headers;
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host)) return { status: 403, why: 'Unknown host name.' };
  if (origin !== undefined && !options.origins.includes(origin)) return { status: 403, why: `The origin ${origin} is not allowed.` };
  if (request.method !== 'OPTIONS' && options.token !== undefined && authorization !== `Bearer ${options.token}`) {
    return { status: 401, why: 'The token is missing or wrong.' };
  }
  const type = request.headers['content-type'] ?? '';
  if (request.method === 'POST' && !type.startsWith('application/json')) return { status: 415, why: 'The body must be application/json.' };
  return undefined;
}

function preflight(response: ServerResponse): void {
  response.writeHead(204, {
    'access-control-allow-methods': 'POST, GET',
    'access-control-allow-headers': 'content-type, authorization, user-agent',
    'access-control-max-age': '600',
  });
  response.end();
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_LIMIT) throw new Error('The body is too large.');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function answer(response: ServerResponse, status: number, value?: object): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, value ? { 'content-type': 'application/json' } : {});
  response.end(value ? JSON.stringify(value) : undefined);
}

function forgetOldest(chats: Map<string, Chat>): void {
  for (const [id, chat] of chats) {
    if (chats.size <= CHATS_KEPT) return;
    if (!chat.busy) chats.delete(id);
  }
}
