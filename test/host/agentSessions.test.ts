import assert from 'node:assert/strict';
import { branchFrom, copySession, deleteEarlier, signOut } from '../../src/editor/agentSessions.ts';
import type { PickChoice } from '../../src/editor/quickInputs.ts';
import type { Intent } from '../../src/session/intents.ts';
import type { Offers, Session } from '../../src/session/model.ts';
import { FakeSessionHost } from './fakeHost.ts';

describe('conversations an agent keeps', () => {
  /** A session whose agent offers this, and what was asked of it. */
  const subject = (offers: Offers, key = 'own', stops = true) => {
    const fakeHost = new FakeSessionHost('/', 'a');
    fakeHost.say('a', { type: 'link.ready', agent: { protocol: 'none', name: 'Agent' }, offers });
    fakeHost.say('a', { type: 'title.set', title: 'Fix it' });
    fakeHost.say('a', { type: 'resume.set', key });
    const end = (turnId: string) => fakeHost.say('a', { type: 'turn.ended', turnId, at: 2, status: 'cancelled' });
    end('t');
    const asked: string[] = [];
    return {
      asked,
      session: {
        store: fakeHost.get('a')!.store,
        fork: async () => {
          asked.push('fork');
          return 'copy';
        },
        history: async () => [
          { key: 'own', title: 'Fix it' },
          { key: 'old', title: '$(flame) Old', at: 1 },
        ],
        forget: async (key: string) => void asked.push(`forget ${key}`),
        signOut: async () => void asked.push('signOut'),
        send: ({ type }: Intent) => {
          asked.push(type);
          if (stops) end('t2');
        },
      },
      begin: () => fakeHost.say('a', { type: 'turn.started', turnId: 't2', at: 1, prompt: [] }),
    };
  };
  const first = async <T>(choices: readonly PickChoice<T>[]): Promise<T | undefined> => choices[0]?.value;
  const yes = async (_: string, action: string) => action;
  const no = async () => undefined;

  it('a copy is opened under its own name, where the agent offers it', async () => {
    const { session, asked } = subject({ fork: true });
    assert.deepEqual(await copySession(session), { key: 'copy', copyOf: 'Fix it', title: 'Copy of Fix it' });
    assert.deepEqual(asked, ['fork']);
    assert.equal(await copySession(subject({}).session), undefined);
  });

  it('a branch goes on from before a turn: in a copy of the agent, or from what is here where the agent keeps nothing', async () => {
    const profile = { id: 'p', name: 'P', protocol: 'none', args: [], env: {}, headers: {} };
    const branch = async (offers: Offers) => {
      const { session, asked } = subject(offers);
      const other = new FakeSessionHost('/', 'b');
      const recorded: Session[] = [];
      const edited: string[] = [];
      const begun = { store: other.get('b')!.store, restart: async () => void asked.push('restart') };
      await branchFrom({ ...session } as never, profile, 't', {
        newId: () => 'b',
        edit: async (...what) => void edited.push(what.join(' ')),
        sessions: {
          open: () => {
            asked.push('open');
            return 'b';
          },
          openRecorded: (_, one) => void recorded.push(one),
          get: () => begun as never,
        },
      });
      return { asked, recorded, edited };
    };
    const copied = await branch({ edit: true, fork: true });
    assert.deepEqual([copied.asked, copied.recorded, copied.edited], [['fork', 'open'], [], ['b t']]);
    const here = await branch({ edit: true });
    assert.deepEqual([here.asked, here.edited], [['restart'], ['b t']]);
    const [made] = here.recorded;
    assert.deepEqual([made?.id, made?.resumeKey, made?.title, made?.turns.length], ['b', undefined, 'Copy of Fix it', 1]);
    assert.deepEqual((await branch({ fork: true })).asked, []);
  });

  it('one is deleted after a question, never the one that is open, and none without a yes', async () => {
    const { session, asked } = subject({ forget: true });
    const shown: string[] = [];
    const pick = async <T>(choices: readonly PickChoice<T>[]) => {
      shown.push(...choices.map((choice) => choice.label));
      return first(choices);
    };
    await deleteEarlier(session, { pick }, () => [], no);
    assert.deepEqual(asked, []);
    await deleteEarlier(session, { pick }, () => [], yes);
    assert.deepEqual(asked, ['forget old']);
    assert.deepEqual(new Set(shown), new Set(['$(history) $\u200b(flame) Old']));
    const other = subject({});
    await deleteEarlier(other.session, { pick: first }, () => [], yes);
    assert.deepEqual(other.asked, []);
  });

  it('one that is open in another session is not deleted, also when it was opened while the user was asked', async () => {
    const { session, asked } = subject({ forget: true });
    const elsewhere = subject({}, 'old').session;
    const picked: unknown[] = [];
    const pick = async <T>(choices: readonly PickChoice<T>[]) => {
      picked.push(choices);
      return first(choices);
    };
    await deleteEarlier(session, { pick }, () => [elsewhere], yes);
    assert.deepEqual([picked, asked], [[], []]);
    let open: readonly (typeof session)[] = [];
    const late = async (_: string, action: string) => {
      open = [elsewhere];
      return action;
    };
    await deleteEarlier(session, { pick }, () => open, late);
    assert.deepEqual([picked.length, asked], [1, []]);
  });

  it('signing out asks first', async () => {
    const { session, asked } = subject({ signOut: true });
    const [other, without] = [subject({ signOut: true }), subject({})];
    const others = [other.session, without.session];
    await signOut(session, others, no);
    assert.deepEqual([asked, other.asked], [[], []]);
    await signOut(session, others, yes);
    assert.deepEqual([asked, other.asked, without.asked], [['signOut'], ['signOut'], []]);
  });

  it('signing out names the sessions at work and stops them first; one that goes on leaves everybody signed in', async () => {
    const [idle, busy, deaf] = [subject({ signOut: true }), subject({ signOut: true }), subject({ signOut: true }, 'own', false)];
    busy.begin();
    const said: string[] = [];
    const press = async (text: string, action: string) => {
      said.push(text, action);
      return action;
    };
    await signOut(idle.session, [busy.session], press);
    assert.match(said[0] ?? '', /Fix it is at work\. What it is doing is interrupted\.$/);
    assert.equal(said[1], 'Sign Out of Agent');
    assert.deepEqual([idle.asked, busy.asked], [['signOut'], ['cancel', 'signOut']]);
    deaf.begin();
    await assert.rejects(signOut(idle.session, [deaf.session], press, 1), /is not stopping/);
    assert.deepEqual([idle.asked, deaf.asked], [['signOut'], ['cancel']]);
    const none: string[] = [];
    busy.begin();
    await signOut(busy.session, [], async (text) => void none.push(text));
    assert.deepEqual([none.length, busy.asked], [1, ['cancel', 'signOut']], 'not without a yes');
  });
});
