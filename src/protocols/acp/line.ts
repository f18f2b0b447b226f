import { say } from '../../base/say.ts';
import type { Channel, Closed } from '../../transport/channel.ts';
import { processChannel } from '../../transport/process.ts';
import type { Launch, Scene } from '../adapter.ts';
import { clientCapabilities, VERSION } from './agent.ts';
import { type Connection, connect, type Served } from './connection.ts';
import { type InitializeAnswer, initializeAnswer } from './schema.ts';

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
}

/** Starts the process. A start that fails is a line that closes. */
export function openLine(
  launch: ProcessLaunch,
  env: Readonly<Record<string, string>>,
  served: Served,
  scene: Scene,
  onClosed: (line: Line, closed: Closed) => void,
): Line {
  const channel = processChannel({ ...launch, env: { ...launch.env, ...env } }, { log: scene.log, patience: PATIENCE });
  const connection = connect(channel, served, scene);
  let tell: (closed: Closed) => void = () => {};
  const closed = new Promise<Closed>((resolve) => {
    tell = resolve;
  });
  const line: Line = { channel, connection, closed };
  channel.onClosed((why) => {
    tell(why);
    connection.dispose();
    onClosed(line, why);
  });
  return line;
}

/** Says hello. Rejects when the agent takes too long or speaks another version. */
export async function initialize(line: Line, scene: Scene, signal: AbortSignal): Promise<InitializeAnswer> {
  const params = {
    protocolVersion: VERSION,
    clientInfo: { name: scene.client.name, version: scene.client.version },
    clientCapabilities: clientCapabilities(scene.ports),
  };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(INITIALIZE_LIMIT)]);
  const answer = await orAborted(line.connection.request('initialize', params, initializeAnswer), limit);
  if (answer.protocolVersion !== VERSION) {
    throw new Error(say('The agent speaks version {0} of the protocol; this client speaks version {1}.', answer.protocolVersion, VERSION));
  }
  return answer;
}

/** The promise, or a rejection as soon as the signal fires. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      const late = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
      reject(new Error(late ? say('The agent did not answer within {0} s of its start.', INITIALIZE_LIMIT / 1000) : say('Cancelled.')));
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
