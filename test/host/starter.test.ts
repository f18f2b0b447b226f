import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { QuickInputs } from '../../src/editor/quickInputs.ts';
import { Starter } from '../../src/editor/starter.ts';
import type { Profile } from '../../src/live/profiles.ts';
import type { Sessions } from '../../src/live/sessions.ts';
import { windowOn } from '../live/scriptedWindow.ts';

describe('the session that begins when the chat is shown', () => {
  const profile = (id: string): Profile => ({ id, name: id, protocol: 'scripted', args: [], env: {}, headers: {} });
  let folder: string;
  let sessions: Sessions;
  let inputs: QuickInputs;
  let starter: Starter;
  let byDefault: Profile;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'starter-'));
    byDefault = profile('bundled');
    ({ sessions } = windowOn(folder, profile));
    inputs = new QuickInputs();
    starter = new Starter(sessions, { default: () => byDefault, placeOf: (profile) => profile }, inputs, silentLog);
  });
  afterEach(async () => {
    sessions.dispose();
    inputs.dispose();
    await sessions.agentsEnded();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = () => sessions.all.map((id) => sessions.get(id)?.profile);
  /** The settings of the user come late. */
  const settingsCome = async (id: string) => {
    byDefault = profile(id);
    await Promise.all([starter.agentsChanged(), starter.agentsChanged()]);
  };

  it('is taken again by New Session while nothing was said in it, and by no other agent', async () => {
    await starter.chatShown();
    const [first] = sessions.all;
    assert.equal(await starter.start(), first);
    assert.notEqual(await starter.start(profile('mine')), first);
    assert.equal(sessions.all.length, 2);
    assert.equal(await starter.start(), first, 'and shown again');
    assert.equal(sessions.active, first);
    sessions.get(first ?? '')?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'Hello' }] });
    assert.notEqual(await starter.start(), first);
  });

  it('is the one that a message goes to which was sent before it was there', async () => {
    await Promise.all([starter.chatShown(), starter.startIfNone(), starter.startIfNone()]);
    assert.equal(sessions.all.length, 1);
    sessions.get(sessions.active ?? '')?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'Hello' }] });
    await starter.startIfNone();
    assert.equal(sessions.all.length, 1, 'the session that was spoken to');
  });

  it('does not begin where the window before a reload had one, though a message was sent early', async () => {
    const before = windowOn(folder, profile).sessions;
    const active = before.open(profile('bundled'), folder);
    before.get(active)?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'Hello' }] });
    before.dispose();
    await before.agentsEnded();
    const next = windowOn(folder, profile).sessions;
    const mine = new Starter(next, { default: () => byDefault, placeOf: (one) => one }, inputs, silentLog);
    await Promise.all([mine.startIfNone(), mine.chatShown()]);
    assert.deepEqual([next.all, next.active], [[active], active]);
    next.dispose();
    await next.agentsEnded();
  });

  it('gives way to the default agent of settings that come late', async () => {
    await starter.chatShown();
    assert.deepEqual(open(), ['bundled']);
    await settingsCome('mine');
    assert.deepEqual(open(), ['mine']);
    assert.equal(sessions.get(sessions.active ?? '')?.profile, 'mine');
    await settingsCome('another');
    assert.deepEqual(open(), ['another']);
  });

  it('follows settings that come while it is being started', async () => {
    const shown = starter.chatShown();
    byDefault = profile('mine');
    await starter.agentsChanged();
    await shown;
    assert.deepEqual(open(), ['mine']);
  });

  it('gives way to the session that was active before a reload, when its agent comes with settings that come late', async () => {
    const before = windowOn(folder, profile).sessions;
    const active = before.open(profile('mine'), folder);
    before.dispose();
    await before.agentsEnded();
    let known: readonly string[] = ['bundled'];
    const late = windowOn(folder, (id) => (known.includes(id) ? profile(id) : undefined)).sessions;
    const mine = new Starter(late, { default: () => byDefault, placeOf: (profile) => profile }, inputs, silentLog);
    await mine.chatShown();
    assert.deepEqual(
      late.all.map((id) => late.get(id)?.profile),
      ['bundled'],
    );
    known = ['bundled', 'mine'];
    await Promise.all([mine.agentsChanged(), mine.agentsChanged()]);
    assert.deepEqual([late.all, late.active], [[active], active]);
    late.dispose();
    await late.agentsEnded();
  });

  it('stays once the user types, or has said something', async () => {
    await starter.chatShown();
    starter.typed();
    await settingsCome('mine');
    assert.deepEqual(open(), ['bundled']);
  });

  it('stays when it has been spoken to, and one the user chose themselves stays', async () => {
    await starter.chatShown();
    const [first = ''] = sessions.all;
    sessions.get(first)?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'hello' }] });
    await settingsCome('mine');
    assert.deepEqual(open(), ['bundled']);
    await starter.start(profile('chosen'));
    await settingsCome('another');
    assert.deepEqual(open(), ['bundled', 'chosen']);
  });
});
