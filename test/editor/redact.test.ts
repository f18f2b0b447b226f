import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceLine } from '../../src/editor/redact.ts';

test('keys, headers and environments do not enter the protocol log', () => {
  const line = traceLine({
    method: 'initialize',
    params: {
      apiKey: 'secret-1',
      api_key: 'secret-2',
      headers: { authorization: 'secret-3' },
      env: { HOME: 'secret-4' },
      nested: [{ access_token: 'secret-5' }],
      url: 'https://x.example',
    },
  });
  assert.doesNotMatch(line, /secret-\d/);
  assert.match(line, /https:\/\/x\.example/);
});

test('keys inside of text are taken out too', () => {
  const line = traceLine({ text: 'curl -H "Authorization: Bearer abcdefgh12345678" and sk-abcdefghijklmnop end' });
  assert.doesNotMatch(line, /abcdefgh/);
  assert.match(line, /end/);
});

test('a message is one line, and a long one is cut', () => {
  assert.equal(traceLine({ text: 'a\nb' }).includes('\n'), false);
  assert.ok(traceLine({ text: 'x'.repeat(100_000) }).length < 20_000);
  assert.equal(traceLine(undefined), 'undefined');
});

test('counts of tokens are no secrets', () => {
  assert.equal(traceLine({ max_tokens: 5, token_count: 7 }), '{"max_tokens":5,"token_count":7}');
});
