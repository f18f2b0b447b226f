import assert from 'node:assert/strict';
import { closeSession } from '../../src/editor/endWork.ts';
import { FakeDesk } from './desk.ts';

describe('closing a session', () => {
  const closing = () => {
    const closed: string[] = [];
    return { closed, sessions: { close: async (id: string) => void closed.push(id) } };
  };

  it('does not ask when nothing is interrupted', async () => {
    const desk = new FakeDesk('/', 'a');
    desk.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
    const { closed, sessions } = closing();
    await closeSession(sessions, desk.get('a')!, async () => assert.fail('it asked'));
    assert.deepEqual(closed, ['a']);
  });

  it('asks while something runs in the background, and names it', async () => {
    const desk = new FakeDesk('/', 'a');
    desk.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
    desk.say('a', { type: 'background.set', tasks: [{ id: 'b', text: 'npm run build' }] });
    const { closed, sessions } = closing();
    await closeSession(sessions, desk.get('a')!, async (text) => {
      assert.match(text, /background: npm run build/);
      return undefined;
    });
    assert.deepEqual(closed, []);
  });

  it('asks while the agent works, and stays open unless the person says so', async () => {
    const desk = new FakeDesk('/', 'a');
    const { closed, sessions } = closing();
    await closeSession(sessions, desk.get('a')!, async () => undefined);
    assert.deepEqual(closed, []);
    await closeSession(sessions, desk.get('a')!, async (text, action) => {
      assert.match(text, /Agent a is at work/);
      return action;
    });
    assert.deepEqual(closed, ['a']);
  });
});
