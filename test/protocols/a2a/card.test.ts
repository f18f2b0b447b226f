import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, readCard, versionIn } from '../../../src/protocols/a2a/card.ts';
import { fakeAgent, URI } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

const base = 'http://127.0.0.1:4000';
const card = (more: object) => ({ name: 'X', url: `${base}/a2a`, protocolVersion: '0.3.0', capabilities: { streaming: true }, ...more });
const uri = (end: string) => URI.replace('/v0/spec.md', end);
const extended = (address: string, required = false) =>
  card({ capabilities: { streaming: true, extensions: [{ uri: address, required }] } });

test('the version of an extension is the last such segment of its address, by SemVer', () => {
  const table: readonly (readonly [string, boolean])[] = [
    ['/v0/spec.md', true],
    ['/v0.0/spec.md', true],
    ['/v0.0.7/spec.md', true],
    ['/v0.1/spec.md', false],
    ['/v1/spec.md', false],
    ['/v0-alpha/spec.md', false],
    ['/spec.md', false],
  ];
  for (const [end, fit] of table) assert.equal(fits(versionIn(uri(end))), fit, end);
  assert.equal(fits(versionIn('https://x/blob/v9/x/developer-profile/v0/spec.md')), true);
});

test('a required extension of another version is refused, with both versions named', () => {
  assert.throws(() => readCard(extended(uri('/v1.2/spec.md'), true), base), /1\.2\.0.*0\.0\.0/);
});

test('an optional extension of another version: the agent is only chatted with, and that is said', () => {
  const peer = readCard(extended(uri('/v1/spec.md')), base);
  assert.deepEqual([peer.dialect, peer.extension, peer.remarks.length], ['plain', undefined, 1]);
});

test('several fitting versions: the highest', () => {
  const extensions = ['/v0/spec.md', '/v0.0.9/spec.md', '/v0.0.2/spec.md'].map((end) => ({ uri: uri(end) }));
  assert.equal(readCard(card({ capabilities: { extensions } }), base).extension, uri('/v0.0.9/spec.md'));
});

test('a required extension that nobody here knows is refused by its name', () => {
  assert.throws(() => readCard(extended('https://else.where/billing/v1', true), base), /billing/);
});

test('the dialect is what the card says', () => {
  assert.equal(readCard(extended(URI), base).dialect, 'rfc');
  assert.equal(readCard(card({ name: 'Gemini SDLC Agent' }), base).dialect, 'gemini');
  assert.equal(readCard(card({}), base).dialect, 'plain');
});

test('interfaces of 1.0 and 0.3: the newest JSON-RPC one that is spoken here', () => {
  const offer = (protocolBinding: string, protocolVersion: string, path: string) => ({
    protocolBinding,
    protocolVersion,
    url: `${base}/${path}`,
    tenant: 'me',
  });
  const both = readCard(
    card({ supportedInterfaces: [offer('GRPC', '1.0', 'g'), offer('JSONRPC', '0.3', 'old'), offer('JSONRPC', '1.0', 'new')] }),
    base,
  );
  assert.deepEqual([both.wire, both.endpoint, both.tenant], ['1.0', `${base}/new`, 'me']);
  const old = readCard(card({ preferredTransport: 'GRPC', additionalInterfaces: [{ transport: 'JSONRPC', url: `${base}/rpc` }] }), base);
  assert.deepEqual([old.wire, old.endpoint], ['0.3', `${base}/rpc`]);
  assert.throws(() => readCard(card({ url: undefined, supportedInterfaces: [offer('GRPC', '1.0', 'g')] }), base), /does not support/);
});

test('a card may name a local host it is not reached at; one that leads elsewhere is refused', () => {
  assert.equal(readCard(card({ url: 'http://localhost:9/rpc' }), base).endpoint, `${base}/rpc`);
  assert.equal(readCard(card({ url: 'http://localhost:9/rpc' }), 'https://far.example').endpoint, 'https://far.example/rpc');
  assert.throws(() => readCard(card({ url: 'https://evil.example/rpc' }), base), /evil\.example/);
  assert.throws(() => readCard({ nothing: 1 }, base), /card/);
});

test('a card that is too long is said to be', async (t) => {
  const agent = await fakeAgent(t, { card: { description: 'x'.repeat(5 * 1024 * 1024) } });
  const { link } = await talk(t, agent.url).opened();
  assert.match(link.state === 'closed' ? link.reason : '', /card > 4194304 bytes/);
});
