import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import { Assembly, unwatched, type Watcher } from './assembly.ts';
import { type ChunkSink, readChunks, type StreamEnd } from './chunkStream.ts';
import type { Telling } from './codec.ts';
import type { Exchange } from './exchange.ts';
import { pause } from './pause.ts';
import { progress } from './replay.ts';
import type { Chunk, ToolPart, UiMessage } from './schema.ts';

export interface ResponseListener {
  /** Before a chunk is taken, and after, with the call it was about. */
  coming(chunk: Chunk): void;
  took(chunk: Chunk, part: ToolPart | undefined): void;
  /** A replay has caught up: the message's parts are other objects now. */
  caughtUp(): void;
  awaits(toolCallId: string): void;
  tooLong(): void;
  /** What was resumed is not the message that was cut: here is a new one for it. */
  otherMessage(): UiMessage;
}

/** One response, from its headers to its end, cuts and replays included. */
export class ChatResponse implements ChunkSink {
  /** Fires when the response is over for good. */
  readonly over = new AbortController();
  readonly resumableId: string | undefined;
  readonly runId: string | undefined;
  /** Where the server says that its turn can be stopped; it takes a closed connection for one that will be back. */
  readonly stopUrl: string | undefined;
  assembly: Assembly;
  /** Chunks that were more than book-keeping. */
  substance = 0;
  #lastAt: number;
  /** Beginning again from here is how a replay is read. */
  readonly #before: UiMessage;
  #shadow: Assembly | undefined;
  #expectStart = false;
  readonly #telling: Telling;
  readonly #listener: ResponseListener;
  readonly #exchange: Exchange;

  constructor(message: UiMessage, answer: HttpAnswer | undefined, telling: Telling, listener: ResponseListener, exchange: Exchange) {
    this.#before = structuredClone(message);
    this.#telling = telling;
    this.#listener = listener;
    this.#exchange = exchange;
    this.#lastAt = exchange.now();
    this.resumableId = headerOf(answer, 'x-resumable-stream-id');
    this.runId = headerOf(answer, 'x-workflow-run-id');
    this.stopUrl = /<([^<>]+)>\s*;\s*rel="?stop"?(?=[\s;,]|$)/.exec(headerOf(answer, 'link') ?? '')?.[1];
    this.assembly = this.#assemble(message, telling);
  }

  /** Reads one body. `replays`: it may begin where the response began. */
  async read(answer: HttpAnswer, replays = false): Promise<StreamEnd> {
    this.#expectStart = replays;
    const end = await readChunks(answer, this, this.#exchange);
    if (this.#shadow) this.#catchUp(this.#shadow, true);
    return end;
  }

  /** True once nothing has come for so long; false when the signal fired first. */
  async quiet(ms: number, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const left = this.#lastAt + ms - this.#exchange.now();
      if (left <= 0) return !signal.aborted;
      if (!(await pause(left, signal))) return false;
    }
  }

  chunk(chunk: Chunk): void {
    this.#lastAt = this.#exchange.now();
    const first = this.#expectStart;
    this.#expectStart = false;
    if (first && chunk.type === 'start') this.#replayOf(chunk.messageId ?? undefined);
    if (this.#shadow) {
      this.#shadow.apply(chunk);
      this.#catchUp(this.#shadow, false);
      return;
    }
    this.#listener.coming(chunk);
    if (!BOOKKEEPING.includes(chunk.type)) this.substance += 1;
    this.#listener.took(chunk, this.assembly.apply(chunk));
  }

  awaits(toolCallId: string): void {
    this.#listener.awaits(toolCallId);
  }

  pause(): void {
    this.#telling.flush();
  }

  tooLong(): void {
    this.#listener.tooLong();
  }

  /** Another id than the server gave the message on screen means another message. */
  #replayOf(messageId: string | undefined): void {
    const known = this.assembly.begun?.messageId;
    if (known === undefined || messageId === undefined || messageId === known) {
      this.#shadow = this.#assemble(structuredClone(this.#before), unwatched);
      return;
    }
    this.assembly.end();
    this.assembly = this.#assemble(this.#listener.otherMessage(), this.#telling);
  }

  #assemble(message: UiMessage, watcher: Watcher): Assembly {
    return new Assembly(message, watcher, (text) => this.#exchange.log.info(text));
  }

  /** As long as a replay only repeats what is shown, nothing is shown; from then on it takes the place of what there was. */
  #catchUp(shadow: Assembly, atEnd: boolean): void {
    const { message, boundary } = this.assembly;
    const how = progress(message.parts.slice(boundary), shadow.message.parts.slice(boundary));
    if (how === 'behind' && !atEnd) return;
    this.#shadow = undefined;
    const old = message.parts.slice(boundary);
    const fresh = shadow.message.parts.slice(boundary);
    if (how === 'behind') {
      // It ended before it came as far as the first time: what is shown stands.
      this.assembly.finished ||= shadow.finished;
      this.assembly.errors.push(...shadow.errors);
      return;
    }
    if (how === 'different') this.#telling.removed(old);
    shadow.become(message, this.#telling);
    this.assembly = shadow;
    this.#telling.adopt(how === 'different' ? [] : old, fresh);
    this.#listener.caughtUp();
  }
}

const BOOKKEEPING: readonly Chunk['type'][] = ['finish-step', 'finish', 'message-metadata'];

function headerOf(answer: HttpAnswer | undefined, name: string): string | undefined {
  const value = answer?.headers[name];
  return typeof value === 'string' && value !== '' ? value.slice(0, 1024) : undefined;
}
