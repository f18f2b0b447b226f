import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import zlib from 'node:zlib';
import { parseJson } from '../base/json.ts';
import { t, unreadable } from '../base/l10n.ts';
import type { Disposable } from '../base/lifetime.ts';
import { HttpFailure } from './link.ts';
import { Pace } from './pace.ts';

const ERROR_BODY = 64 * 1024;

/** An answer whose headers are there. Its body must be read, once, or the answer disposed: until then it holds a socket. */
export class HttpAnswer implements Disposable {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #response: IncomingMessage;
  readonly #url: string;
  readonly #stops: readonly (AbortSignal | undefined)[];

  constructor(response: IncomingMessage, url: string, stops: readonly (AbortSignal | undefined)[]) {
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.#response = response;
    this.#url = url;
    this.#stops = stops;
    // A body may break before anybody reads it.
    response.on('error', () => {});
  }

  get #stopped(): boolean {
    return this.#stops.some((stop) => stop?.aborted);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** The media type without its parameters, in small letters. */
  get type(): string {
    return (this.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  }

  /**
   * Hands on the body as it comes, unpacked. Settles after its end; rejects with HttpFailure `cut` or `aborted`, or with `timeout` when nothing
   * of it came for `silence` milliseconds; without that number there is no limit on time.
   */
  read(take: (chunk: Buffer) => void, silence?: number): Promise<void> {
    const response = this.#response;
    return new Promise((resolve, reject) => {
      const broken = () => {
        const { origin } = new URL(this.#url);
        reject(
          this.#stopped
            ? new HttpFailure('aborted', t('Stopped'))
            : new HttpFailure('cut', t('The connection to {0} was lost ({1}).', origin, 'ERR_STREAM_PREMATURE_CLOSE')),
        );
      };
      if (response.destroyed) return broken();
      const body = decoded(response, this.#url);
      const late = () => {
        const { origin } = new URL(this.#url);
        reject(new HttpFailure('timeout', t('The connection to {0} was lost ({1}).', origin, 'ETIMEDOUT')));
        response.destroy();
      };
      const timer = silence === undefined ? undefined : setTimeout(late, silence);
      const pace = new Pace(body);
      body.once('close', () => {
        clearTimeout(timer);
        pace.end();
      });
      body.on('data', (chunk: Buffer) => {
        timer?.refresh();
        if (this.#stopped) return;
        try {
          pace.read(() => take(chunk));
        } catch (error) {
          reject(error);
          response.destroy();
        }
      });
      body.once('end', () => (response.complete ? resolve() : broken()));
      body.once('close', broken);
    });
  }

  /** The body as text, `silence` as in `read`. A longer one is cut there and the connection closed; without a limit meant for bodies of errors. */
  async text(limit = ERROR_BODY, silence?: number): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      await this.read((chunk) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes >= limit) throw enough;
      }, silence);
    } catch (error) {
      if (error !== enough) throw error;
    }
    return Buffer.concat(chunks).subarray(0, limit).toString('utf8');
  }

  /** The body parsed as JSON; a body that is longer, or is no JSON, rejects. */
  async json(limit: number): Promise<unknown> {
    const text = await this.text(limit + 1);
    const { origin } = new URL(this.#url);
    if (Buffer.byteLength(text) > limit) throw new HttpFailure('tooLong', unreadable(`${origin}: more than ${limit} bytes`));
    return parseJson(text);
  }

  /** Closes the connection when the body has not been read to its end. */
  dispose(): void {
    if (!this.#response.complete) this.#response.destroy();
    else this.#response.resume();
  }
}

/** Some servers compress the body unasked. Data that a compressor holds back cannot be read earlier. */
function decoded(response: IncomingMessage, url: string): Readable {
  const coding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return response;
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH };
  const unpack =
    coding === 'gzip' || coding === 'x-gzip' || coding === 'deflate'
      ? zlib.createUnzip(flush)
      : coding === 'br'
        ? zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })
        : undefined;
  if (!unpack) {
    response.destroy();
    throw new HttpFailure('encoding', unreadable(`${new URL(url).origin}: content-encoding ${coding.slice(0, 100)}`));
  }
  // Its end and its breaking off are heard on the unpacked side.
  return pipeline(response, unpack, () => {});
}

const enough = new Error('enough');
