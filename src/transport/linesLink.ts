import { parseJson } from '../base/json.ts';
import type { LinkAnswer } from '../base/outcomes.ts';
import type { Channel } from './channel.ts';
import { toLine } from './lines.ts';
import type { Link, LinkEvents } from './link.ts';
import { LinkError } from './link.ts';

export type LineMessage = Readonly<Record<string, unknown>>;
export interface LinesLinkOptions {
  readonly trace?: (way: 'in' | 'out', message: unknown) => void;
  /** The id of a message that waits for an answer; undefined for every other message. */
  readonly requestId?: (message: LineMessage) => string | undefined;
  /** The message that answers a request with an error. Results are whole messages already. */
  readonly refusal?: (id: string, message: string) => LineMessage;
}
/** The method of every message that a lines link reports. */
export const LINE = 'line';

/**
 * Newline-delimited JSON as a link: each object is a message, anything else is junk. What is sent is one object, or a list of objects that
 * leave in one write. It has no requests of its own; a protocol that has some makes them of messages.
 */
export function linesLink(channel: Channel, events: LinkEvents, options: LinesLinkOptions = {}): Link {
  const write = (messages: readonly unknown[]) => {
    for (const message of messages) options.trace?.('out', message);
    // The channel reports itself why it closed.
    channel.send(messages.map(toLine).join('\n')).catch(() => {});
  };
  channel.onMessage((line) => {
    const message = objectIn(line);
    if (!message) return events.junk(line);
    options.trace?.('in', message);
    const id = options.requestId?.(message);
    if (id === undefined) events.message(LINE, message);
    else events.asked(id, LINE, message);
  });
  channel.onClosed((why) => events.closed(why));
  return {
    request: () => Promise.reject(new LinkError({ kind: 'unsent', message: 'Lines have no requests' })),
    notify: (_method, params) => write(Array.isArray(params) ? params : [params]),
    answer: (id, { result, error, none }: LinkAnswer) => {
      if (none) return;
      if (!error) write([result]);
      else if (options.refusal) write([options.refusal(id, error.message)]);
    },
    close: () => queueMicrotask(() => channel.dispose()),
  };
}

function objectIn(line: string): LineMessage | undefined {
  try {
    const value = parseJson(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as LineMessage) : undefined;
  } catch {
    return undefined;
  }
}
