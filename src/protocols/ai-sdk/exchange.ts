import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import type { Log } from '../../base/log.ts';
import type { Remedy } from '../../session/model.ts';
import { type HttpClient, type HttpRequest, originOf, retryAfter } from '../../transport/http.ts';
import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import { isRecord } from './metadata.ts';

/** Who talks to the server, and with which headers. */
export interface Exchange {
  readonly client: HttpClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  readonly trace: (way: 'in' | 'out', message: unknown) => void;
  readonly now: () => number;
}

/** The server answered, but not with what was asked for. The message is for a user. */
export class Refusal extends Error {
  readonly status: number;
  readonly next: readonly Remedy[];
  /** What the server said, without our advice. */
  readonly said: string;

  constructor(status: number, message: string, next: readonly Remedy[] = ['retry'], said = message) {
    super(message);
    this.status = status;
    this.next = next;
    this.said = said;
  }
}

const MESSAGE_KEPT = 2000;

/** Asks for an event stream. Rejects with Refusal for any other answer, with HttpFailure when there was none (ai-sdk.md §2.2). */
export async function openStream(
  exchange: Exchange,
  request: Pick<HttpRequest, 'method' | 'url' | 'body' | 'signal'>,
): Promise<HttpAnswer> {
  const answer = await exchange.client.request({
    ...request,
    headers: {
      accept: 'text/event-stream',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...exchange.headers,
    },
  });
  if (!answer.ok) throw await refusalOf(answer, request.url, exchange.now());
  const older = answer.headers['x-vercel-ai-data-stream'] !== undefined;
  if (answer.type === 'text/event-stream' && !older) return answer;
  const body = await bodyOf(answer);
  if (older || /^\w:["[{]/.test(body)) throw new Refusal(answer.status, olderProtocol(), ['openSettings']);
  const type = answer.type === '' ? t('no content type') : answer.type;
  throw new Refusal(answer.status, t('{0} did not answer with a stream (status {1}, {2}).', originOf(request.url), answer.status, type), [
    'retry',
    'openSettings',
  ]);
}

export function olderProtocol(): string {
  return t(
    'The server speaks an older or another stream protocol (AI SDK 4 data stream, assistant-transport). It needs AI SDK 5 or newer.',
  );
}

export async function refusalOf(answer: HttpAnswer, url: string, now: number): Promise<Refusal> {
  const said = messageIn(await bodyOf(answer), answer.type);
  const { status } = answer;
  const short = t('{0} answered with status {1}', originOf(url), status);
  const text = said === '' ? short : `${short}: ${said}`;
  if (status === 401 || status === 403)
    return new Refusal(status, t('{0}. Set its key in the headers of the agent.', text), ['openSettings', 'retry'], text);
  if (status === 404 || status === 405) return new Refusal(status, t('{0}. Is the address right?', text), ['openSettings', 'retry']);
  const wait = status === 429 || status === 503 ? retryAfter(answer.headers, now) : undefined;
  return new Refusal(status, wait === undefined ? text : t('{0} It asks to wait {1} s.', text, Math.ceil(wait / 1000)));
}

/** The body of an error as far as it is there; one that breaks off is as good as none. */
async function bodyOf(answer: HttpAnswer): Promise<string> {
  try {
    return await answer.text();
  } catch {
    return '';
  }
}

function messageIn(body: string, type: string): string {
  let text = body;
  try {
    const value: unknown = parseJson(body);
    if (isRecord(value)) {
      const inner = isRecord(value.error) ? value.error.message : value.error;
      const said = [inner, value.message, value.detail].find((one) => typeof one === 'string' && one !== '');
      if (typeof said === 'string') text = said;
    }
  } catch {
    // A page for a browser says nothing in its tags.
    if (type === 'text/html' || /^\s*<(!doctype|html)/i.test(body)) text = /<title>([^<]*)<\/title>/i.exec(body)?.[1] ?? '';
  }
  return text.trim().slice(0, MESSAGE_KEPT);
}
