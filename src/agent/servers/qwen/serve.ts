import { format as printed } from 'node:util';
import { clientDialectOf, type Dialect, fatalLine, type Line, recordOf, terminalNote } from '../../../protocols/qwen/codec.ts';
import type { Channel } from '../../../transport/channel.ts';
import { EnvelopeServer } from './envelopeServer.ts';
import { MessageServer } from './messageServer.ts';
import type { QwenServer, QwenServerOptions } from './server.ts';

export type Serving = Omit<QwenServerOptions, 'write'> & { readonly dialect: 'auto' | Dialect };
type Write = (line: Line) => void;

/** Serves a conversation in the dialect its client begins with: `initialize` or a user line is the message dialect, all else the envelope. */
export function serveQwen(channel: Channel, options: Serving, write: Write): { end(): Promise<void> } {
  let server: QwenServer | undefined;
  let dialect = options.dialect;
  channel.onMessage((text) => {
    let line: Line;
    try {
      line = recordOf(JSON.parse(text));
    } catch {
      // The message dialect has no line for it (docs/protocols/qwen.md §3.10).
      if (dialect === 'message') process.stderr.write('parley-agent: a line is not JSON\n');
      else write(fatalLine('A line is not JSON.', 'QWEN_INVALID_JSON', null));
      return options.exit(1);
    }
    if (!server) {
      dialect = dialectFor(options, line);
      server = serverFor(dialect, { ...options, write });
    }
    server.take(line);
  });
  return {
    end: async () => {
      await server?.end();
      if (dialect === 'envelope') write(exitNote(0));
    },
  };
}

/** Answers one prompt in lines; nobody is there to be asked. Gives the exit code. */
export async function answerOnce(write: Write, options: Serving, prompt: string): Promise<number> {
  const dialect = dialectFor(options, { type: 'user' });
  let code = 0;
  const noting: Write = (line) => {
    if (line.is_error === true || recordOf(line.metadata).error !== undefined) code = 1;
    write(line);
  };
  const server = serverFor(dialect, { ...options, write: noting });
  server.take(
    dialect === 'message'
      ? { type: 'user', message: { role: 'user', content: prompt } }
      : { session_id: '_new', input: { origin: 'user', parts: [{ type: 'text', text: prompt }] } },
  );
  await server.end();
  if (dialect === 'envelope') write(exitNote(code));
  return code;
}

/** The end of the program, as the last line. */
function exitNote(exitCode: number): Line {
  return terminalNote({ channel: 'stdout', source: 'system', text: '', scope: 'system', prompt: '', exitCode });
}

function serverFor(dialect: Dialect, options: QwenServerOptions): QwenServer {
  if (dialect === 'message') return new MessageServer(options);
  const server = new EnvelopeServer(options);
  // Standard output belongs to the protocol: what a library prints goes out as lines of it (docs/protocols/qwen.md §4.3).
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    console[level] = (...words: unknown[]) => server.log(level, printed(...words));
  }
  return server;
}

function dialectFor({ dialect, format, inputFormat }: Serving, first: Line): Dialect {
  if (format === 'stream-chunk-json' || inputFormat === 'stream-chunk-json') return 'envelope';
  return dialect === 'auto' ? clientDialectOf(first) : dialect;
}
