import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Channel, Closed } from '../../transport/channel.ts';
import { processChannel } from '../../transport/process.ts';
import type { AdapterContext, Launch } from '../adapter.ts';
import { junkWhileOpening } from '../junk.ts';
import { type Agent, agentOf, clientCapabilities, clientCapabilities2 } from './agent.ts';
import { type Connection, connect, type Served } from './connection.ts';
import { codeOf, UNSUPPORTED_VERSION, unreadable } from './faults.ts';
import { initializeAnswer } from './schema.ts';
import { v1 } from './v1.ts';
import { v2 } from './v2/dialect.ts';
import { initializeAnswer2 } from './v2/schema.ts';

export type ProcessLaunch = Extract<Launch, { kind: 'process' }>;

/** How long an agent may take to say hello: they are slow to start on a loaded machine (acp.md §1). Milliseconds. */
const INITIALIZE_LIMIT = 60_000;
const PATIENCE = { end: 1500, term: 2000 };

/** One running agent process and what is said to it. */
export interface Line {
  readonly channel: Channel;
  readonly connection: Connection;
  /** Settles when the process is gone, with the reason. */
  readonly closed: Promise<Closed>;
  /** It has answered the handshake. */
  greeted: boolean;
  /** The last line it printed before that which is no message: how it is to be called, for example. */
  printed?: string;
}

/** Starts the process. A start that fails is a line that closes. */
export function openLine(
  launch: ProcessLaunch,
  env: Readonly<Record<string, string>>,
  served: Served,
  scene: AdapterContext,
  onClosed: (line: Line, closed: Closed) => void,
): Line {
  const channel = processChannel({ ...launch, env: { ...launch.env, ...env } }, { log: scene.log, patience: PATIENCE });
  let junk = 0;
  const onJunk = (text: string) => {
    junk += 1;
    if (!line.greeted && text.trim() !== '') line.printed = text.trim();
    if (junk === 1 && !line.greeted) scene.emit(junkWhileOpening(text, 'ACP'));
  };
  const connection = connect(channel, served, { ...scene, onJunk });
  let tell: (closed: Closed) => void = () => {};
  const closed = new Promise<Closed>((resolve) => {
    tell = resolve;
  });
  const line: Line = { channel, connection, closed, greeted: false };
  channel.onClosed((why) => {
    tell(why);
    connection.dispose();
    onClosed(line, why);
  });
  return line;
}

/** Takes leave: closes the session of that id, where there is one to close, then the channel. */
export async function leaveLine({ connection, channel }: Line, sessionId: string | undefined): Promise<void> {
  // The answers to what was still asked are on their way.
  await new Promise((resolve) => setImmediate(resolve));
  if (sessionId !== undefined) {
    const closing = connection.request('session/close', { sessionId }, z.unknown());
    await Promise.race([closing.catch(() => undefined), delay(300)]);
  }
  channel.dispose();
}

/** Says hello, offering version 2 as well where the profile says so. Rejects when the agent takes too long or speaks another version. */
export async function initialize(line: Line, launch: ProcessLaunch, scene: AdapterContext, signal: AbortSignal): Promise<Agent> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(INITIALIZE_LIMIT)]);
  const hello = (newest: number) => orAborted(line.connection.request('initialize', helloOf(newest, scene), anyHello), limit);
  const newest = launch.options?.version === '2' ? 2 : 1;
  const answer = await hello(newest).catch((error: unknown) => {
    // An agent may refuse a version it does not speak instead of naming its own.
    if (newest === 1 || codeOf(error) !== UNSUPPORTED_VERSION) throw error;
    return hello(1);
  });
  line.greeted = true;
  const { protocolVersion } = answer;
  if (protocolVersion === 2 && newest === 2) return agentOf(readHello(initializeAnswer2, answer), v2);
  if (protocolVersion === 1) return agentOf(readHello(initializeAnswer, answer), v1);
  throw new Error(t('The agent speaks version {0} of the protocol; this client speaks version {1}.', protocolVersion, newest));
}

const anyHello = z.looseObject({ protocolVersion: z.number() });

function readHello<T extends z.ZodMiniType>(schema: T, answer: unknown): z.output<T> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw unreadable('initialize', parsed.error);
}

/** Both versions are told at once: an agent reads the members of the one it speaks. */
function helloOf(newest: number, { client, ports }: AdapterContext): object {
  const info = { name: client.name, version: client.version };
  return {
    protocolVersion: newest,
    clientInfo: info,
    clientCapabilities: clientCapabilities(ports),
    ...(newest === 2 ? { info, capabilities: clientCapabilities2(ports) } : {}),
  };
}

/** The promise, or a rejection as soon as the signal fires. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      const late = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
      reject(new Error(late ? t('The agent did not answer within {0} s of its start.', INITIALIZE_LIMIT / 1000) : t('Cancelled.')));
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** The process has ended by itself. */
export function closedEvent({ reason, failure, stderr }: Closed, { printed = '' }: Line, at: number): SessionEvent {
  const detail = (stderr.trim() || printed).slice(-2048).trim();
  const next = failure === 'missing' ? (['pickAgent', 'openSettings', 'restart'] as const) : (['restart', 'showLog'] as const);
  return { type: 'link.closed', reason, ...(detail ? { detail } : {}), next, at };
}
