import {
  type AbstractCancellationTokenSource,
  type CancellationStrategy,
  CancellationTokenSource,
  type Message,
  type RequestMessage,
  ResponseError,
} from 'vscode-jsonrpc/node';
import * as z from 'zod/mini';
import type { Log } from '../../base/log.ts';
import type { Channel } from '../../transport/channel.ts';
import { openRpc } from '../../transport/jsonrpc.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, refusal, unreadable } from './faults.ts';

/** JSON-RPC as ACP speaks it: `$/cancel_request` both ways, notifications in order and before the answers behind them. */
export interface Connection {
  /** Rejects with a ResponseError, or with the reason the channel closed. Aborting asks the agent to give the request up. */
  request<T extends z.ZodMiniType>(method: string, params: object, answer: T, signal?: AbortSignal): Promise<z.output<T>>;
  notify(method: string, params: object): void;
  /** When the last message of the agent arrived, in milliseconds of the monotonic clock. */
  readonly heardAt: number;
  dispose(): void;
}

export interface Served {
  /** Requests of the agent by method; params are checked against the schema first. */
  readonly requests: Readonly<Record<string, RequestHandler>>;
  readonly onNotification: (method: string, params: unknown) => void;
}
export interface RequestHandler {
  readonly params: z.ZodMiniType;
  run(params: unknown, signal: AbortSignal): unknown;
}
/** A handler whose params have the schema's type. */
export function handler<T extends z.ZodMiniType>(params: T, run: (params: z.output<T>, signal: AbortSignal) => unknown): RequestHandler {
  return { params, run: run as RequestHandler['run'] };
}

export function connect(
  channel: Channel,
  served: Served,
  scene: { readonly log: Log; readonly trace: (way: 'in' | 'out', message: unknown) => void; readonly onJunk: (text: string) => void },
): Connection {
  const cancellable = new Map<string | number, AbstractCancellationTokenSource>();
  let heardAt = performance.now();
  const rpc = openRpc(channel, {
    log: scene.log,
    textAt: ['params', 'update', 'content', 'text'],
    cancellation: cancellation(cancellable),
    trace: (way, message) => {
      if (way === 'in') heardAt = performance.now();
      else if (isAnswer(message)) cancellable.delete(message.id);
      scene.trace(way, way === 'out' ? withoutServers(message) : message);
    },
    first: (message) => {
      if (!isNotification(message)) return false;
      if (message.method === CANCEL) cancellable.get(message.params?.requestId ?? '')?.cancel();
      else served.onNotification(message.method, message.params);
      return true;
    },
    onJunk: (text) => {
      scene.log.info(`The agent's output is no message: ${text.slice(0, 2000)}`);
      scene.onJunk(text);
    },
    onStray: ({ code, message }) => scene.log.info(`The agent reports an error of no request (${code}): ${message.slice(0, 500)}`),
  });
  for (const [method, { params, run }] of Object.entries(served.requests)) {
    rpc.connection.onRequest(method, async (given: unknown, token) => {
      const parsed = params.safeParse(given);
      if (!parsed.success) return refusal(INVALID_PARAMS, `${method}: ${z.prettifyError(parsed.error)}`);
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      try {
        return await run(parsed.data, stop.signal);
      } catch (error) {
        if (error instanceof ResponseError) return error;
        throw error;
      }
    });
  }
  rpc.connection.onRequest((method) => refusal(METHOD_NOT_FOUND, `Unknown method: ${method}`));
  return {
    async request(method, params, answer, signal) {
      const source = new CancellationTokenSource();
      const stop = () => source.cancel();
      signal?.addEventListener('abort', stop);
      try {
        const given: unknown = await rpc.connection.sendRequest(method, params, source.token);
        const parsed = answer.safeParse(given);
        if (parsed.success) return parsed.data;
        scene.log.info(`The agent's answer to ${method} cannot be read: ${z.prettifyError(parsed.error)}`);
        throw unreadable(method, parsed.error);
      } finally {
        signal?.removeEventListener('abort', stop);
        source.dispose();
      }
    },
    notify(method, params) {
      rpc.connection.sendNotification(method, params).catch(() => {
        // The channel is gone; that is told elsewhere.
      });
    },
    get heardAt() {
      return heardAt;
    },
    dispose: () => rpc.dispose(),
  };
}

const CANCEL = '$/cancel_request';

function cancellation(cancellable: Map<string | number, AbstractCancellationTokenSource>): CancellationStrategy {
  return {
    receiver: {
      kind: 'request',
      createCancellationTokenSource(request: RequestMessage) {
        const source = new CancellationTokenSource();
        if (request.id !== null) cancellable.set(request.id, source);
        return source;
      },
    },
    sender: {
      sendCancellation: (connection, id) => connection.sendNotification(CANCEL, { requestId: id }),
      cleanup: () => {},
    },
  };
}

/** Tool servers carry tokens, and no trace may. */
function withoutServers(message: unknown): unknown {
  const { params } = message as { readonly params?: { readonly mcpServers?: readonly { readonly name?: unknown }[] } };
  if (!Array.isArray(params?.mcpServers)) return message;
  return { ...(message as object), params: { ...params, mcpServers: params.mcpServers.map(({ name }) => ({ name })) } };
}

interface Notification extends Message {
  readonly method: string;
  readonly params?: { readonly requestId?: string | number };
}

function isNotification(message: Message): message is Notification {
  return 'method' in message && typeof message.method === 'string' && !('id' in message);
}

function isAnswer(message: unknown): message is { readonly id: string | number } {
  return typeof message === 'object' && message !== null && !('method' in message) && 'id' in message && message.id !== null;
}
