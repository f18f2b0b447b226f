import type { Readable, Writable } from 'node:stream';
import { Emitter, Once } from '../base/emitter.ts';
import { t, unreadable } from '../base/l10n.ts';
import { Lifetime } from '../base/lifetime.ts';
import { messageOf } from '../base/log.ts';
import type { Channel, Closed } from './channel.ts';
import { type LineBounds, Lines } from './lines.ts';
import { Pace } from './pace.ts';

/** Bytes taken at once: a pipe gives up to 64 KiB, which may be hundreds of messages. */
const MOST_AT_ONCE = 16 * 1024;

/**
 * A pair of byte streams as a channel: one line a message. It closes when the input ends or either stream breaks; disposing it ends the output
 * and stops reading. Serves a process's own stdin and stdout too.
 */
export function stdioChannel(input: Readable, output: Writable, bounds: LineBounds = {}): Channel {
  const messages = new Emitter<string>();
  const closed = new Once<Closed>();
  const pace = new Pace(input);
  const reading = new Lifetime();

  const close = (reason: string, failure: Closed['failure']): void => {
    if (closed.value) return;
    reading.dispose();
    pace.end();
    input.pause();
    output.end();
    messages.dispose();
    closed.fire({ reason, failure, stderr: '' });
  };
  const lines = new Lines((line) => messages.fire(line), bounds);
  const take = (chunk: Buffer): void => {
    try {
      pace.read(() => lines.push(chunk.subarray(0, MOST_AT_ONCE)));
      // The rest comes at once, unless this piece took so long that others have their turn first.
      if (chunk.length > MOST_AT_ONCE && !closed.value) input.unshift(chunk.subarray(MOST_AT_ONCE));
    } catch (error) {
      close(unreadable(messageOf(error)), 'broken');
    }
  };
  input.on('data', take);
  reading.onEnd(() => input.off('data', take));
  input.once('end', () => {
    if (!closed.value) lines.end();
    close(t('The connection was lost.'), 'ended');
  });
  input.on('error', (error) => close(t('The connection to {0} was lost ({1}).', 'stdout', error.message), 'broken'));
  // A peer that stops reading shows as EPIPE here. What it wrote before may still be on its way in, so only the input's end closes.
  output.on('error', () => {});

  return {
    send: (line) =>
      closed.value
        ? Promise.reject(new Error(closed.value.reason))
        : new Promise((resolve, reject) => {
            output.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
          }),
    onMessage: (listener) => messages.listen(listener),
    onClosed: (listener) => closed.listen(listener),
    dispose: () => close(t('The connection was lost.'), 'ended'),
  };
}
