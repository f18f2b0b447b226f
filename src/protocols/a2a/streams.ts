import { messageOf } from '../../base/log.ts';
import type { Ending } from '../../base/outcomes.ts';
import type { Link, LinkEvents } from '../../transport/link.ts';
import { SseReader } from '../../transport/sse.ts';
import { parseOrUndefined } from './codec.ts';
import { LONGEST_ANSWER } from './discover.ts';
import { codeOf, kindOf, type Way } from './http.ts';
import type { ReachedAgent } from './reached.ts';
import { answer as rpcAnswer } from './schema.ts';

/** How a stream is asked for: by JSON-RPC, or by a plain POST to the shipped server. */
export type StreamRequest =
  /** `push`: with the address for notifications. `isQuick`: the answer begins at once. */
  | { readonly method: string; readonly params: Readonly<Record<string, unknown>>; readonly push?: true; readonly isQuick?: true }
  | { readonly rest: string; readonly body: unknown };

interface Running {
  readonly agent: ReachedAgent;
  readonly events: LinkEvents;
  readonly signal: AbortSignal;
  readonly way: (way: Way) => void;
}

/** A link `stream N`: one request, and the records of its answer. */
export function openStream(agent: ReachedAgent, request: StreamRequest, events: LinkEvents): Link {
  const cut = new AbortController();
  const { signal } = cut;
  const way = (now: Way) => {
    if (typeof now === 'object') return events.message('held', now.waits);
    if (now === 'answered') return events.message('answered', null);
    // Nothing leaves before what runs now has ended: what it takes back is never sent.
    process.nextTick(() => {
      if (!signal.aborted) events.message('sent', now === 'sent');
    });
  };
  const running = { agent, events, signal, way };
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

async function runRpc(request: Extract<StreamRequest, { method: string }>, { agent, events, signal, way }: Running): Promise<void> {
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
  await agent.rpc.stream(method, configuration ? { configuration, ...params } : params, take, { signal, way, opened, ...within });
}

/** The shipped server's commands: badly framed streams, where every data line is a record, or one body. */
async function runPost(request: Extract<StreamRequest, { rest: string }>, { agent, events, signal, way }: Running): Promise<void> {
  await null;
  const answer = await agent.rpc.fetch('POST', `${agent.origin}${request.rest}`, { body: request.body, signal, way });
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

function endingOf(error: unknown): Ending {
  return { reason: messageOf(error), failure: kindOf(error), ...codeOf(error) };
}
