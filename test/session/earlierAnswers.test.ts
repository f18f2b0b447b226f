import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedEarlier, commandAllowedEarlier } from '../../src/session/earlierAnswers.ts';
import type { Part, ToolCall, Turn } from '../../src/session/model.ts';
import { callsOf } from '../../src/session/select.ts';

const call = (id: string, more: Partial<ToolCall>): ToolCall => ({
  id,
  name: '',
  title: id,
  kind: 'execute',
  status: 'done',
  inputText: '',
  output: [],
  locations: [],
  ...more,
});
const turn = (id: string, ...calls: readonly ToolCall[]): Turn => ({
  id,
  prompt: [],
  parts: calls.map((one): Part => ({ kind: 'call', id: one.id, call: one })),
  status: 'done',
  startedAt: 0,
});
const always = (label: string) => ({ decision: { kind: 'approval', by: 'user', effect: 'allow_always', label } }) as const;
const run = (id: string, command: string, more: Partial<ToolCall> = {}) => call(id, { input: { command }, ...more });
const marked = (...turns: readonly Turn[]) => [...allowedEarlier({ turns, cwd: '/w' })].map(([{ id }, label]) => `${id}: ${label}`);

test('the same command again, of which the agent asked before, is marked with that answer; in later turns, too', () => {
  const first = turn('t1', run('before', 'npm test'), run('asked', 'npm test', always('Allow for this session')), run('again', 'npm test'));
  const second = turn('t2', run('later', 'npm test'), run('other', 'npm run build'), run('open', 'npm test', { status: 'waiting' }));
  const expected = ['again: Allow for this session', 'later: Allow for this session'];
  assert.deepEqual(marked(first, second), expected);
  assert.deepEqual(marked(first, second), expected, 'what is remembered is the same');
  assert.deepEqual(marked(second), []);
});

test('what the answer names as a beginning covers other commands that begin so, and none with more in them', () => {
  for (const label of [
    'Always Allow in project: touch *',
    'Yes, and don’t ask again for commands that start with `touch`',
    'Always allow commands that begin with "touch"',
  ])
    assert.deepEqual(
      marked(
        turn(
          't',
          run('asked', 'touch one', always(label)),
          run('two', 'touch two'),
          run('more', 'touch two && rm x'),
          run('longer', 'touchy two'),
        ),
      ),
      [`two: ${label}`],
    );
});

test('a command can be tried against what the agents were allowed', () => {
  const turns = [
    turn('t1', run('one', 'make', always('Always allow make')), run('two', 'touch a', always('Always allow: touch *'))),
    turn('t2', call('tool', { kind: 'other', name: 'create_issue', ...always('Always allow create_issue') })),
  ];
  const tried = ['make', ' make ', 'make all', 'touch b', 'touch b; rm c', 'npm test', ''];
  assert.deepEqual(
    tried.map((command) => commandAllowedEarlier(turns.flatMap(callsOf), '/w', command)),
    ['Always allow make', 'Always allow make', undefined, 'Always allow: touch *', undefined, undefined, undefined],
  );
});

test('an answer about all that a tool does covers its other calls', () => {
  const label = 'Allow all “run command” this session';
  const shell = { name: 'Shell' };
  assert.deepEqual(
    marked(turn('t', run('asked', 'npm test', { ...shell, ...always(label) }), run('other', 'npm run build', shell), run('else', 'ls'))),
    [`other: ${label}`],
  );
});

test('tools count by their name; answers for once, refusals and calls with answers of their own mark nothing', () => {
  const tool = (id: string, name: string, more: Partial<ToolCall> = {}) => call(id, { kind: 'other', name, ...more });
  const once = { decision: { kind: 'approval', by: 'user', effect: 'allow_once' } } as const;
  assert.deepEqual(
    marked(
      turn('t', tool('asked', 'open', always('Allow tool')), tool('again', 'open'), tool('else', 'close'), tool('own', 'open', once)),
      turn('u', run('once', 'ls', once), run('list', 'ls'), call('page', { kind: 'fetch', name: 'open' })),
    ),
    ['again: Allow tool'],
  );
});
