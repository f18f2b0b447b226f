import { request } from 'node:http';
import process from 'node:process';

/**
 * A program of its own: the MCP server for agents that start their tool servers as processes. Each line on its standard input goes to the server as
 * one request; the answer comes back as one line. Where the server is, and the token for it, are in the environment: in two variables, or in one
 * address that the window gave the agent it started.
 */
const url = process.env.PARLEY_MCP_URL ?? '';
const token = process.env.PARLEY_MCP_TOKEN;

let held = Buffer.alloc(0);
let open = 0;
let ended = false;

function pass(line: string): void {
  let id: unknown;
  try {
    id = (JSON.parse(line) as { readonly id?: unknown }).id;
  } catch {
    return answer({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Not JSON' } });
  }
  open += 1;
  const fail = (message: string) => {
    if (id !== undefined) answer({ jsonrpc: '2.0', id, error: { code: -32603, message } });
    done();
  };
  const call = request(
    url,
    {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => fail(error.message));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8').trim();
        if (response.statusCode === 200 && text) {
          process.stdout.write(`${text.replaceAll('\n', ' ')}\n`);
          return done();
        }
        if (response.statusCode === 202) return done();
        fail(`The editor refused (${response.statusCode}).`);
      });
    },
  );
  call.on('error', (error) => fail(`The editor is gone: ${error.message}`));
  call.end(line);
}

function answer(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** The program ends with its input, once the last answer is out. */
function done(): void {
  open -= 1;
  leave();
}

function leave(): void {
  if (ended && open === 0) process.stdout.write('', () => process.exit(0));
}

process.stdin.on('data', (chunk: Buffer) => {
  held = Buffer.concat([held, chunk]);
  for (let end = held.indexOf(0x0a); end >= 0; end = held.indexOf(0x0a)) {
    const line = held.subarray(0, end).toString('utf8').trim();
    held = held.subarray(end + 1);
    if (line) pass(line);
  }
});
process.stdin.on('end', () => {
  ended = true;
  leave();
});
