import assert from 'node:assert/strict';
import { closeSession, restartAgent, restartAtOnce } from '../../src/editor/endWork.ts';
import { FakeSessionHost } from './fakeHost.ts';

describe('closing a session', () => {
  const closing = () => {
    const closed: string[] = [];
    return { closed, sessions: { close: async (id: string) => void closed.push(id) } };
  };

  it('does not ask when nothing is interrupted', async () => {
    const fakeHost = new FakeSessionHost('/', 'a');
    fakeHost.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
    const { closed, sessions } = closing();
    await closeSession(sessions, fakeHost.get('a')!, async () => assert.fail('it asked'));
    assert.deepEqual(closed, ['a']);
  });

  it('asks while something runs in the background, and names it', async () => {
    const fakeHost = new FakeSessionHost('/', 'a');
    fakeHost.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
    fakeHost.say('a', { type: 'background.set', tasks: [{ id: 'b', text: 'npm run build' }] });
    const { closed, sessions } = closing();
    await closeSession(sessions, fakeHost.get('a')!, async (text) => {
      assert.match(text, /background: npm run build/);
      return undefined;
    });
    assert.deepEqual(closed, []);
  });

  it('asks while the agent works, and stays open unless the user says so', async () => {
    const fakeHost = new FakeSessionHost('/', 'a');
    const { closed, sessions } = closing();
    await closeSession(sessions, fakeHost.get('a')!, async () => undefined);
    assert.deepEqual(closed, []);
    await closeSession(sessions, fakeHost.get('a')!, async (text, action) => {
      assert.match(text, /Agent a is at work/);
      return action;
    });
    assert.deepEqual(closed, ['a']);
  });
});

describe('restarting an agent', () => {
  const restarting = (fakeHost: FakeSessionHost) => {
    const session = fakeHost.get('a')!;
    const restarts: string[] = [];
    return { restarts, session: { ...session, id: session.id, store: session.store, restart: async () => void restarts.push('a') } };
  };

  it('asks while the agent works, and leaves it alone unless the user says so', async () => {
    const { restarts, session } = restarting(new FakeSessionHost('/', 'a'));
    await restartAgent(session, async () => undefined);
    assert.deepEqual(restarts, []);
  });

  it('does not ask beside the turn that it ends, but names what runs in the background', async () => {
    const fakeHost = new FakeSessionHost('/', 'a');
    const { restarts, session } = restarting(fakeHost);
    await restartAtOnce(session, async () => assert.fail('it asked'));
    assert.deepEqual(restarts, ['a']);
    fakeHost.say('a', { type: 'background.set', tasks: [{ id: 'b', text: 'npm run build' }] });
    const asked: string[] = [];
    await restartAtOnce(session, async (text) => void asked.push(text));
    assert.match(asked.join(), /npm run build/);
    assert.deepEqual(restarts, ['a']);
  });

  it('does not ask while the connection to the host of a turn is lost', async () => {
    const fakeHost = new FakeSessionHost('/', 'a');
    fakeHost.say('a', { type: 'link.opening', note: 'The connection was lost.' });
    const { restarts, session } = restarting(fakeHost);
    await restartAgent(session, async () => assert.fail('it asked'));
    assert.deepEqual(restarts, ['a']);
  });

  it('does not ask when the user has stopped the turn and the agent goes on', async () => {
    const fakeHost = new FakeSessionHost('/', 'a');
    fakeHost.say('a', { type: 'turn.stopping', turnId: 't' });
    const { restarts, session } = restarting(fakeHost);
    await restartAgent(session, async () => assert.fail('it asked'));
    assert.deepEqual(restarts, ['a']);
  });
});
