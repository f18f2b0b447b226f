import type { Channel } from '../../../transport/channel.ts';
import { record } from './control.ts';
import { EnvelopeServer } from './envelopeServer.ts';
import { MessageServer } from './messageServer.ts';
import type { QwenServer, QwenServerOptions } from './server.ts';

export type Serving = Omit<QwenServerOptions, 'write'> & { readonly dialect: 'auto' | 'message' | 'envelope' };
type Line = Readonly<Record<string, unknown>>;

/** Serves a conversation in the dialect its client begins with: `initialize` or a user line is the message dialect, all else the envelope. */
export function serveQwen(channel: Channel, options: Serving, write: (message: object) => void): { end(): Promise<void> } {
  let server: QwenServer | undefined;
  let dialect = options.dialect;
  channel.onMessage((line) => {
    let message: Line;
    try {
      message = record(JSON.parse(line));
    } catch {
      // The message dialect has no line for it (docs/protocols/qwen.md §3.10).
      if (dialect === 'message') process.stderr.write('parley-agent: a line is not JSON\n');
      else write({ error: { message: 'A line is not JSON.', type: 'invalid_request_error', param: null, code: 'QWEN_INVALID_JSON' } });
      return options.exit(1);
    }
    if (!server) {
      dialect = dialectOf(options, message);
      server = serverFor(dialect, { ...options, write });
    }
    server.take(message);
  });
  return { end: async () => server?.end() };
}

/** Answers one prompt in lines; nobody is there to be asked. Gives the exit code. */
export async function answerOnce(write: (message: object) => void, options: Serving, prompt: string): Promise<number> {
  const dialect = dialectOf(options, { type: 'user' });
  let code = 0;
  const noting = (message: object): void => {
    const { is_error: wrong, metadata } = record(message);
    if (wrong === true || record(metadata).error !== undefined) code = 1;
    write(message);
  };
  const server = serverFor(dialect, { ...options, write: noting });
  server.take(
    dialect === 'message'
      ? { type: 'user', message: { role: 'user', content: prompt } }
      : { session_id: '_new', input: { origin: 'user', parts: [{ type: 'text', text: prompt }] } },
  );
  await server.end();
  return code;
}

function serverFor(dialect: 'message' | 'envelope', options: QwenServerOptions): QwenServer {
  return dialect === 'message' ? new MessageServer(options) : new EnvelopeServer(options);
}

function dialectOf({ dialect, format, inputFormat }: Serving, first: Line): 'message' | 'envelope' {
  if (format === 'stream-chunk-json' || inputFormat === 'stream-chunk-json') return 'envelope';
  if (dialect !== 'auto') return dialect;
  return first.type === 'control_request' || first.type === 'user' ? 'message' : 'envelope';
}
