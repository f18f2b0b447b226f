/** A Wire agent that answers every prompt with the moment at which it writes the answer; `stream N` with that many pieces of text. */

import { createInterface } from 'node:readline';

const say = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const event = (type: string, payload: object): void => say({ method: 'event', params: { type, payload } });

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as { id?: string; method?: string; params?: { user_input?: unknown } };
  if (id === undefined) return;
  if (method === 'initialize') {
    say({ id, result: { protocol_version: '1.1', server: { name: 'stamping', version: '1' }, slash_commands: [] } });
  } else if (method === 'prompt') {
    event('TurnBegin', { user_input: 'go' });
    event('StepBegin', { n: 1 });
    event('ContentPart', { type: 'text', text: `written ${performance.timeOrigin + performance.now()}` });
    const [, pieces = 0] = /stream (\d+)/.exec(JSON.stringify(params)) ?? [];
    for (let at = 0; at < Number(pieces); at += 1) event('ContentPart', { type: 'text', text: 'piece ' });
    setTimeout(() => say({ id, result: { status: 'finished' } }), 60);
  } else {
    say({ id, error: { code: -32601, message: 'unknown method' } });
  }
});
