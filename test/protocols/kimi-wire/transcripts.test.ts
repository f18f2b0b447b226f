import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import type { Intent } from '../../../src/session/intents.ts';
import { Server, settled } from './server.ts';

/**
 * Each transcript is a conversation, one line a message: what came in, what must have gone out by then, what the user wanted. The events it
 * makes stand beside it; PARLEY_UPDATE=1 writes them anew, to be reviewed like code.
 */
const FOLDER = 'test/protocols/kimi-wire/transcripts';
const tool: Tool = {
  name: 'open_in_ide',
  description: 'Open file in IDE',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  run: async (input) => ({ ok: true, text: `Opened ${(input as { path: string }).path}` }),
};
type Line = { readonly in: unknown } | { readonly out: unknown } | { readonly intent: Intent };

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.jsonl'))) {
  test(`transcript ${file}`, async () => {
    const lines = readFileSync(join(FOLDER, file), 'utf8').trimEnd().split('\n');
    const server = new Server({ tools: [tool] });
    let sent = 0;
    for (const line of lines.map((text): Line => JSON.parse(text))) {
      if ('in' in line) server.channel.say(line.in);
      else if ('intent' in line) server.desk.send(line.intent);
      else {
        // A tool's arguments are checked by a library that loads with the first of them.
        while (server.channel.sent.length <= sent) await settled();
        assert.deepEqual(server.channel.out[sent++], line.out);
      }
      await settled();
    }
    assert.equal(server.channel.sent.length, sent);
    const expected = join(FOLDER, file.replace(/\.jsonl$/, '.events.json'));
    const events = `[\n${server.desk.events.map((event) => JSON.stringify(event)).join(',\n')}\n]\n`;
    if (process.env.PARLEY_UPDATE || !existsSync(expected)) writeFileSync(expected, events);
    assert.deepEqual(events.split('\n'), readFileSync(expected, 'utf8').split('\n'));
  });
}
