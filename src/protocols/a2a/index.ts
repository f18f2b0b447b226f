import { messageOf } from '../../base/log.ts';
import type { LinkEnd } from '../../base/outcomes.ts';
import type { Intent } from '../../session/intents.ts';
import type { Link, LinkEvents } from '../../transport/link.ts';
import { SseReader } from '../../transport/sse.ts';
import type { Adapter, AdapterContext, Launch, Protocol } from '../adapter.ts';
import { Driver } from '../driver.ts';
import { parseOrUndefined } from './codec.ts';
import type { ConnectedAgent } from './connected.ts';
import { LONGEST_ANSWER } from './connected.ts';
import { codeOf, kindOf, type RequestProgress } from './http.ts';
import { AgentLink } from './link.ts';
import { a2aMachine } from './machine.ts';
import { answer as rpcAnswer } from './schema.ts';
import { type A2aState, type A2aTiming, newA2a, TIMING } from './state.ts';

/** Agents that speak A2A, by an address or started here; most is understood of those with the development-tool extension. */
export const a2a: Protocol = {
  title: 'A2A',
  launch: 'either',
  open: (launch, context) => openA2a(launch, context),
};

/** The text of a proposal that the user changed. `real`: where the path led when the proposal was shown. */
interface LateWrite {
  readonly path: string;
  readonly text: string;
  readonly real?: string;
}

/** A conversation with an A2A agent: somewhere on the network, or started here and reached over loopback. */
export function openA2a(launch: Launch, context: AdapterContext, timing: A2aTiming = TIMING): Adapter {
  const setup = {
    cwd: launch.options?.workspace ?? launch.cwd,
    resumeKey: context.resume?.key ?? '',
    starts: launch.kind === 'process',
    timing,
  };
  let link: AgentLink | undefined;
  const driver = new Driver<A2aState>(a2aMachine, newA2a(`${context.newId()}.`, setup, context.past ?? []), {
    now: context.now,
    emit: context.emit,
    log: context.log,
    links: {
      agent: (_params, events) => {
        link = new AgentLink({ launch, context, timing, taskId: () => driver.state.task.id }, events);
        return link;
      },
      stream: (params, events) => {
        if (!link) throw new Error('There is no agent.');
        return openStream(link.agent, params as StreamRequest, events);
      },
    },
    ports: { file: ({ path, text, real }: LateWrite) => context.ports.files.write(path, text, undefined, real) },
  });
  const leave = () => driver.feed({ on: 'leave' });
  context.signal.addEventListener('abort', leave, { once: true });
  void driver.ended.then(() => context.signal.removeEventListener('abort', leave));
  // Not from inside open: the caller does not have the adapter yet.
  queueMicrotask(() => driver.feed({ on: 'start' }));
  return {
    ended: driver.ended,
    send: (intent: Intent) => driver.feed({ on: 'intent', intent }),
    dispose: leave,
  };
}

/** The request of a stream: by JSON-RPC, or by a plain POST to the Gemini CLI server. */
type StreamRequest =
  /** `push`: with the address for notifications. `isQuick`: the answer begins at once. */
  | { readonly method: string; readonly params: Readonly<Record<string, unknown>>; readonly push?: true; readonly isQuick?: true }
  | { readonly rest: string; readonly body: unknown };

interface Running {
  readonly agent: ConnectedAgent;
  readonly events: LinkEvents;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RequestProgress) => void;
}

/** A link `stream N`: one request, and the records of its answer. */
function openStream(agent: ConnectedAgent, request: StreamRequest, events: LinkEvents): Link {
  const cut = new AbortController();
  const { signal } = cut;
  const onProgress = (now: RequestProgress) => {
    if (typeof now === 'object') return events.message('held', now.waits);
    if (now === 'answered') return events.message('answered', null);
    // Nothing leaves before what runs now has ended: what it takes back is never sent.
    process.nextTick(() => {
      if (!signal.aborted) events.message('sent', now === 'sent');
    });
  };
  const running = { agent, events, signal, onProgress };
  const run = 'rest' in request ? runPost(request, running) : runRpc(request, running);
  run.then(
    () => events.closed({ reason: '' }),
    (error: unknown) => events.closed(endingOf(error)),
  );
  return {
    request: () => Promise.reject(new Error('A stream takes no requests.')),
    notify: () => {},
    answer: () => {},
    close: () => cut.abort(),
  };
}

async function runRpc(request: Extract<StreamRequest, { method: string }>, { agent, events, signal, onProgress }: Running): Promise<void> {
  const { method, params, push, isQuick } = request;
  const take = (result: unknown) => {
    for (const file of agent.files.in(result)) events.message('file', file);
    events.message('record', result);
  };
  const opened = () => events.message('opened', null);
  const within = isQuick ? { within: agent.rpc.timing.answer } : {};
  // The driver's first step ends before the first message.
  await null;
  const configuration = push ? agent.webhook?.inMessage(agent.peer.wire) : undefined;
  await agent.rpc.stream(method, configuration ? { configuration, ...params } : params, take, {
    signal,
    onProgress,
    opened,
    ...within,
  });
}

/** The Gemini CLI server's commands: badly framed streams, where every data line is a record, or one body. */
async function runPost(request: Extract<StreamRequest, { rest: string }>, { agent, events, signal, onProgress }: Running): Promise<void> {
  await null;
  const answer = await agent.rpc.fetch('POST', `${agent.origin}${request.rest}`, { body: request.body, signal, onProgress });
  if (answer.type !== 'text/event-stream') return events.message('answer', parseOrUndefined(await answer.text(LONGEST_ANSWER)));
  events.message('opened', null);
  const reader = new SseReader(
    (event) => {
      const parsed = rpcAnswer.safeParse(parseOrUndefined(event.data));
      if (parsed.success && !parsed.data.error) events.message('record', parsed.data.result);
    },
    { eachLine: true },
  );
  await answer.read((chunk) => reader.push(chunk));
  reader.end();
}

function endingOf(error: unknown): LinkEnd {
  return { reason: messageOf(error), failure: kindOf(error), ...codeOf(error) };
}
