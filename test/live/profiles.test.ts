import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProfiles } from '../../src/live/profiles.ts';

const known = { wire: { launch: 'process' }, web: { launch: 'http' } } as const;

test('a bad entry is left out and named; the others stand', () => {
  const { profiles, problems } = readProfiles(
    [
      { name: 'Good', protocol: 'wire', command: 'kimi', args: ['--wire'] },
      { name: 'No command', protocol: 'wire' },
      { name: 'No such', protocol: 'smoke', command: 'x' },
      { name: 'Bad url', protocol: 'web', url: 'file:///etc/passwd' },
      { name: 'Good', protocol: 'wire', command: 'again' },
      { protocol: 'wire', command: 'nameless' },
      { name: 'Env', protocol: 'wire', command: 'x', env: { A: 1 } },
      { name: 'Web', protocol: 'web', url: 'http://127.0.0.1:1/' },
      'text',
    ],
    known,
  );
  assert.deepEqual(
    profiles.map((profile) => profile.id),
    ['Good', 'Web'],
  );
  assert.equal(problems.length, 7);
  for (const [at, part] of ['No command', 'smoke', 'http', 'second', 'name', 'env'].entries())
    assert.match(problems[at] ?? '', new RegExp(part));
});

test('a setting that is no list is one problem', () => {
  assert.deepEqual(readProfiles({ name: 'x' }, known), { profiles: [], problems: ['parley.agents is not a list'] });
  assert.deepEqual(readProfiles(undefined, known), { profiles: [], problems: [] });
});

test("an agent host's address is taken as it is printed", () => {
  const url = (address: string) => readProfiles([{ name: 'Host', protocol: 'web', url: address }], known).profiles[0]?.url;
  assert.deepEqual(['ws://127.0.0.1:1', 'wss://host.example/x', 'wsx://host.example'].map(url), [
    'http://127.0.0.1:1',
    'https://host.example/x',
    undefined,
  ]);
});
