import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suite } from './suite.ts';
import { wirePeer } from './wirePeer.ts';

// What Wire brings beyond text and approvals, as a user meets it in the workbench.
const event = (type: string, payload: object = {}) => ({ event: type, payload });
const call = (id: string, name: string, input: object) =>
  event('ToolCall', { type: 'function', id, function: { name, arguments: JSON.stringify(input) } });
const result = (id: string, output: string, display: readonly object[] = [], is_error = false) =>
  event('ToolResult', { tool_call_id: id, return_value: { is_error, output, message: output, display } });
const sub = (type: string, payload: object = {}) =>
  event('SubagentEvent', { parent_tool_call_id: 'agent', agent_id: 'a1', subagent_type: 'explore', event: { type, payload } });
const task = (status: string) => ({ type: 'background_task', task_id: 'b1', kind: 'bash', status, description: 'npm run watch' });

const plan = [
  event('PlanDisplay', {
    content: '# Move the port\n\n1. Read `src/server.ts`\n2. Take the port from the environment',
    file_path: '/tmp/plan.md',
  }),
  {
    request: 'QuestionRequest',
    id: 'plan',
    payload: {
      tool_call_id: 'p',
      questions: [
        {
          question: 'Approve this plan?',
          header: 'Plan',
          body: '# Move the port\n\n1. Read `src/server.ts`\n2. Take the port from the environment',
          options: [
            { label: 'Approve', description: 'Leave plan mode and do it' },
            { label: 'Reject', description: 'Stay in plan mode' },
            { label: 'Reject and Exit', description: 'Leave plan mode and do nothing' },
          ],
        },
      ],
    },
  },
  { text: 'The plan is approved.' },
];
const questions = [
  {
    request: 'QuestionRequest',
    id: 'q',
    payload: {
      tool_call_id: 'q',
      questions: [
        {
          question: 'Which database?',
          header: 'Storage',
          options: [{ label: 'SQLite', description: 'One file' }, { label: 'Postgres' }],
          other_label: 'Another one',
          other_description: 'name it',
        },
        {
          question: 'Which checks?',
          header: 'Checks',
          options: [{ label: 'Lint' }, { label: 'Tests' }, { label: 'Types' }],
          multi_select: true,
        },
      ],
    },
  },
  { text: 'Noted.' },
];
const busy = [
  event('StepBegin', { n: 1 }),
  call('todo', 'SetTodoList', {}),
  result('todo', '', [
    {
      type: 'todo',
      items: [
        { title: 'Read the sources', status: 'done' },
        { title: 'Ask a sub-agent', status: 'in_progress' },
        { title: 'Old step', status: 'skipped' },
      ],
    },
  ]),
  call('agent', 'Agent', { description: 'Find the callers', prompt: 'Find them' }),
  sub('StepBegin', { n: 1 }),
  sub('ContentPart', { type: 'text', text: 'I look for the callers of `start`.' }),
  sub('ToolCall', { type: 'function', id: 'inner', function: { name: 'Grep', arguments: '{"pattern":"start("}' } }),
  sub('ToolResult', { tool_call_id: 'inner', return_value: { is_error: false, output: 'src/main.ts:3', message: '1 hit', display: [] } }),
  result('agent', 'Two callers, both in src/main.ts.'),
  event('HookTriggered', { event: 'PreToolUse', target: 'Shell', hook_count: 1 }),
  event('HookResolved', { event: 'PreToolUse', target: 'Shell', action: 'block', reason: 'no deploys on Fridays', duration_ms: 4 }),
  call('watch', 'Shell', { command: 'npm run watch', run_in_background: true }),
  result('watch', 'task_id: b1', [task('running')]),
  event('BtwBegin', { id: 'x', question: 'What is the port?' }),
  event('BtwEnd', { id: 'x', response: 'It is 3000.', error: null }),
  event('StatusUpdate', { context_usage: 0.42 }),
  event('StepBegin', { n: 2 }),
  { text: 'This half will be taken' },
  event('StepRetry', { n: 2, next_attempt: 2, max_attempts: 3, wait_s: 4, error_type: 'RateLimit', status_code: 429 }),
  { waitForSteer: true },
  event('Notification', {
    id: 'n1',
    category: 'task',
    type: 'task.progress',
    source_kind: 'background_task',
    source_id: 'b1',
    title: 'Watch',
    body: 'compiled twice',
    severity: 'success',
    created_at: 1,
  }),
  { text: 'With your word in mind: all done.' },
];

const peer = await wirePeer(
  { initialize: { server: { name: 'Kimi Code CLI', version: '1.49.0' } }, turns: [plan, questions, busy] },
  'held',
);
const inWindow = suite({
  name: 'wire',
  prepare: async () => ({ machineSettings: peer.settings, env: peer.env, agents: 'fake.mjs', end: async () => peer.remove() }),
});

test(
  'an agent that takes its time is said to be starting; what is typed meanwhile is sent when it is ready',
  inWindow(async ({ window, folder }) => {
    peer.remember(folder, 'yesterday', 'rename the parser');
    const { chat } = window;
    await window.openChat();
    await chat.say('plan it');
    await chat.frame
      .getByText(/Starting \(\d+ s\)/)
      .first()
      .waitFor();
    await window.statusItem(/Starting \(\d+ s\)/).waitFor();
    await window.pictures('wire-starting');
    peer.release();
  }),
);

test(
  'a plan is shown and approved by quick-pick',
  inWindow(async ({ window }) => {
    const { chat, pick } = window;
    await pick.row('Reject and Exit').waitFor();
    await chat.lastTurn.getByRole('heading', { name: 'Move the port' }).first().waitFor();
    await window.pictures('wire-plan');
    await pick.choose('Approve');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('The plan is approved.').waitFor();
  }),
);

test(
  'several questions: free text for one, more than one answer for the other',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await chat.say('ask me');
    await pick.row('Postgres').waitFor();
    await pick.focusedRow('SQLite').waitFor();
    await window.pictures('wire-question');
    await page.keyboard.type('SQL, but which?', { delay: 20 });
    await pick.row('Answer: “SQL, but which?”').waitFor();
    await window.pictures('wire-question-typed');
    await page.keyboard.press('Escape');
    await pick.gone();
    await window.command('Parley: Show Pending Approvals');
    await pick.row('Answer: “SQL, but which?”').waitFor();
    await pick.input.fill('DuckDB');
    await pick.readable();
    await page.keyboard.press('Enter');
    await pick.row('Types').waitFor();
    await pick.row('Lint').locator('.monaco-checkbox, input[type=checkbox]').first().click();
    await pick.row('Types').locator('.monaco-checkbox, input[type=checkbox]').first().click();
    await pick.input.focus();
    await page.keyboard.type('Spelling', { delay: 20 });
    await pick.row('Answer: “Spelling”').waitFor();
    await window.pictures('wire-question-many');
    await pick.readable();
    await page.keyboard.press('Enter');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('Noted.').waitFor();
    assert.deepEqual(peer.answerTo('q'), {
      request_id: 'q',
      answers: { 'Which database?': 'DuckDB', 'Which checks?': 'Lint, Types, Spelling' },
    });
  }),
);

test(
  'a busy turn: plan, sub-agent, hook, background, side question, a step that is tried again, a word in between',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await chat.say('get to work');
    await chat.frame.getByText(/Trying again \(2 of 3\): RateLimit 429 \(4 s\)/).waitFor();
    assert.equal(await chat.frame.getByText('This half will be taken').count(), 0);
    await chat.frame.getByText('A hook (PreToolUse) blocked Shell: no deploys on Fridays').waitFor();
    await chat.frame.getByTitle('In the background: 1').waitFor();
    await chat.frame.getByRole('meter', { name: 'Context 42 % full' }).waitFor();
    await chat
      .call(/Sub-agent Find the callers/)
      .first()
      .getByRole('button')
      .first()
      .click();
    await chat.frame.getByText('I look for the callers of').waitFor();
    await window.pictures('wire-busy');
    await chat.composer.click();
    await chat.composer.pressSequentially('mind the tests');
    await page.keyboard.press('Control+Enter');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('mind the tests').waitFor();
    await chat.lastTurn.getByText('With your word in mind: all done.').waitFor();
    await window.pictures('wire-busy-done');
  }),
);

test(
  'ending a session whose agent works in the background is asked about',
  inWindow(async ({ window }) => {
    const { page } = window;
    await window.command('Parley: Close Session');
    await window.command('Notifications: Show Notifications');
    await window.notification('In the background: npm run watch').waitFor();
    await window.pictures('wire-close');
    await page.keyboard.press('Escape');
    await window.chat.frame.getByText('With your word in mind: all done.').waitFor();
  }),
);

test(
  'sessions of the folder that the agent remembers can be gone on with',
  inWindow(async ({ window }) => {
    const { pick, chat } = window;
    await window.command('Parley: Switch Session');
    await pick.row('rename the parser').waitFor();
    await pick.box.getByText('Kimi', { exact: true }).first().waitFor();
    await window.pictures('wire-sessions');
    await pick.choose('rename the parser');
    await chat.composer.waitFor();
  }),
);

test(
  'programs that share a name are found and offered with what they speak',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    await window.command('Parley: New Session with Agent');
    await pick.row('Kimi Code').waitFor();
    const rows = (await pick.box.locator('.monaco-list-row').allTextContents()).join('\n');
    assert.match(rows, /Kimi Code/);
    assert.match(rows, /Kimi CLI/);
    assert.match(rows, /kimi-cli/);
    await window.pictures('wire-found');
    await page.keyboard.press('Escape');
  }),
);
