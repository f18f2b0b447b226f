import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Disposable } from '../../base/lifetime.ts';
import { HEAD_LIMITS, UnauthenticatedConnections } from '../../transport/httpAccess.ts';
import { parseOrUndefined, toIncoming } from './codec.ts';
import type { A2aVersion, Fields } from './schema.ts';
import { type PushConfig, pushInMessage, pushName, pushOfTask } from './versionCodec.ts';

const BODY_LIMIT = 16 * 1024 * 1024;
const BODY_WITHIN = 10_000;
const MOST_CONNECTIONS = 64;

/** The address at which the agent of this conversation reports that a task has changed (docs/protocols/a2a.md §12); closed when disposed. */
export interface Webhook extends Disposable {
  readonly url: string;
  /** Our name for it at the agent. */
  readonly id: string;
  /** The address as the agent receives it, in the spelling of its version: the `configuration` of a message, and the params of `set` and `delete`. */
  inMessage(wire: A2aVersion): Fields;
  inSet(wire: A2aVersion, taskId: string): Fields;
  inDelete(wire: A2aVersion, taskId: string): Fields;
}

/**
 * Listens on loopback for one conversation. A call without the token learns nothing and changes nothing; the content of a call with it is only a
 * hint, so `onNotification` has to look for itself. `isOurs` judges the id of the task.
 */
export async function openWebhook(isOurs: (taskId: string) => boolean, onNotification: (record: unknown) => void): Promise<Webhook> {
  const path = `/a2a/${secret()}`;
  const [id, token, credentials] = [randomUUID(), secret(), secret()];
  const unauthenticated = new UnauthenticatedConnections();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const respond = (status: number) => void response.writeHead(status, { connection: 'close' }).end();
    if (request.url !== path) return respond(404);
    if (request.method !== 'POST') return respond(405);
    const { 'x-a2a-notification-token': given, authorization = '' } = request.headers;
    if (!same(String(given ?? ''), token) && !same(authorization, `Bearer ${credentials}`)) return respond(401);
    unauthenticated.remove(request.socket);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > BODY_LIMIT) return respond(413);
      chunks.push(chunk);
    }
    const body = parseOrUndefined(Buffer.concat(chunks).toString('utf8'));
    const record = toIncoming(body);
    if (!record) return respond(400);
    if (record.taskId === undefined || !isOurs(record.taskId)) return respond(403);
    respond(200);
    onNotification(body);
  };
  const server = http.createServer({ ...HEAD_LIMITS, requestTimeout: BODY_WITHIN }, (request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  unauthenticated.limit(server, MOST_CONNECTIONS);
  server.listen(0, '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const config: PushConfig = { id, url, token, authentication: { scheme: 'Bearer', credentials } };
  return {
    url,
    id,
    inMessage: (wire) => pushInMessage(wire, config),
    inSet: (wire, taskId) => pushOfTask(wire, taskId, config),
    inDelete: (wire, taskId) => pushName(wire, taskId, id),
    dispose() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function same(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
