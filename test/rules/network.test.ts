import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sourcesUnder } from './sources.ts';

/** Who may reach the network, and whom it talks to. */
const TALKERS = [
  'src/agent/', // the model that the user has configured, and clients of the included agent
  'src/editor/models.ts', // the list of that model's endpoint
  'src/protocols/', // agents
  'src/serve/', // clients of the agent host on this computer
  'src/session/dangerousPrograms.ts', // nobody: it only knows programs that do
  'src/transport/', // agents
];
const NETWORK = /\bfetch\(|\bXMLHttpRequest\b|\bsendBeacon\b|\bnew WebSocket\b|from '(?:node:)?(?:https?|http2|net|tls|dgram|ws|undici)'/;
const TELEMETRY = /\btelemetry|posthog|applicationinsights|@sentry|amplitude|mixpanel/i;

test('only agents and the configured model are reached by the network, and nothing reports on the user', () => {
  const sources = sourcesUnder('src', 'webview');
  const talkers = sources.filter(({ text }) => NETWORK.test(text)).map((file) => file.path);
  assert.ok(talkers.length > 10, 'the pattern finds none any more');
  assert.deepEqual(
    talkers.filter((file) => !TALKERS.some((place) => file.startsWith(place))),
    [],
  );
  assert.deepEqual(
    sources.filter(({ code }) => TELEMETRY.test(code)).map((file) => file.path),
    [],
  );
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  assert.deepEqual(
    Object.keys({ ...dependencies, ...devDependencies }).filter((name) => TELEMETRY.test(name)),
    [],
  );
});
