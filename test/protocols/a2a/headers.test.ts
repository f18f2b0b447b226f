import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeAgent } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

for (const [what, headers, name] of [
  ['value', { 'X-Team': 'one\ntwo' }, 'X-Team'],
  ['name', { 'X Team': 'one' }, 'X Team'],
] as const)
  test(`a header whose ${what} cannot be sent: the setting is named, nothing is sent, and the settings are offered`, async (t) => {
    const agent = await fakeAgent(t, {});
    const { link } = await talk(t, agent.url, { headers }).opened();
    assert.ok(link.state === 'closed');
    assert.match(link.reason, new RegExp(`^The header “${name}” cannot be sent: .*Check “headers” in the settings\\.$`));
    assert.doesNotMatch(link.reason, /one/, 'it may be a secret');
    assert.deepEqual([link.next, agent.asked], [['restart', 'openSettings'], []]);
  });
