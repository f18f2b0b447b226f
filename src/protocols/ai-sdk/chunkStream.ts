import { parseJson } from '../../base/json.ts';
import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import { SseReader } from '../../transport/sse.ts';
import { decodeChunk } from './chunk.ts';
import type { Exchange } from './exchange.ts';
import { isRecord } from './metadata.ts';
import type { Chunk } from './schema.ts';

export interface ChunkSink {
  chunk(chunk: Chunk): void;
  /** The server said that it waits for the result of this call while the response stays open. */
  awaits(toolCallId: string): void;
  /** An event was too long to be taken. */
  tooLong(): void;
  /** Everything that came together has been given. */
  pause(): void;
}
/** How the body ended. */
export interface StreamEnd {
  readonly done: boolean;
  readonly cut?: HttpFailure;
  /** The first event was of another protocol altogether. */
  readonly foreign?: true;
}

/** After `[DONE]`: how long the server may take to close. */
const CLOSING = 5_000;
const BAD_LOGGED = 5;

/** Reads a response to its end, whatever is in it: what cannot be read is logged and left out. Never rejects for what the server does. */
export async function readChunks(answer: HttpAnswer, sink: ChunkSink, exchange: Exchange): Promise<StreamEnd> {
  let done = false;
  let closing: NodeJS.Timeout | undefined;
  let bad = 0;
  const unknown = new Set<string>();
  let events = 0;
  let foreign: { readonly foreign?: true } = {};
  const complain = (why: string) => {
    bad += 1;
    if (bad <= BAD_LOGGED) exchange.log.warn(`The server sent ${why}${bad === BAD_LOGGED ? '; more of that is not logged' : ''}.`);
  };
  const reader = new SseReader(
    ({ data, event }) => {
      if (done || data === '') return;
      if (data.trim() === '[DONE]') {
        done = true;
        closing = setTimeout(() => answer.dispose(), CLOSING);
        return;
      }
      let value: unknown;
      try {
        value = parseJson(data);
      } catch {
        return complain('an event that is no JSON');
      }
      exchange.trace('in', value);
      if (event === 'tool-call' && isRecord(value) && value.type === undefined) {
        if (value.state === 'requires-action' && typeof value.toolCallId === 'string') sink.awaits(value.toolCallId);
        return;
      }
      events += 1;
      if (events === 1 && isRecord(value) && value.type === 'part-start') foreign = { foreign: true };
      const decoded = decodeChunk(value);
      if (decoded.kind === 'bad') return complain(decoded.why);
      if (decoded.kind === 'chunk') return sink.chunk(decoded.chunk);
      if (unknown.has(decoded.type)) return;
      if (unknown.size < 100) unknown.add(decoded.type);
      exchange.log.info(`The server sent chunks of the unknown type "${decoded.type.slice(0, 100)}".`);
    },
    { onTooLong: () => sink.tooLong() },
  );
  try {
    await answer.read((bytes) => {
      reader.push(bytes);
      sink.pause();
    });
    reader.end();
    return { done, ...foreign };
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    if (!done) reader.end();
    return done ? { done, ...foreign } : { done, cut: error, ...foreign };
  } finally {
    clearTimeout(closing);
    sink.pause();
  }
}
