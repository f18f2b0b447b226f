import { createInterface } from 'node:readline';

// An ACP agent that answers every prompt with what its words name: texts and messages made to keep its reader busy. With `names` it prints them.

const SESSION = 's';
const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (sessionUpdate: string, more: object) =>
  send({ method: 'session/update', params: { sessionId: SESSION, update: { sessionUpdate, ...more } } });
const chunk = (text: string) => update('agent_message_chunk', { messageId: 'm', content: { type: 'text', text } });
const call = (toolCallId: string, more: object = {}) =>
  update('tool_call', { toolCallId, title: 'T', kind: 'execute', status: 'pending', ...more });
const output = (text: string) => {
  call('o');
  update('tool_call_update', { toolCallId: 'o', status: 'completed', content: [{ type: 'content', content: { type: 'text', text } }] });
};
let asked = 0;
const ask = (toolCall: object) =>
  send({
    id: `ask${++asked}`,
    method: 'session/request_permission',
    params: {
      sessionId: SESSION,
      toolCall: { toolCallId: `k${asked}`, title: 'T', ...toolCall },
      options: [
        { optionId: 'y', name: 'Allow', kind: 'allow_once' },
        { optionId: 'n', name: 'Reject', kind: 'reject_once' },
      ],
    },
  });
const command = (text: string) => ask({ kind: 'execute', rawInput: { command: text } });
const edit = (oldText: string, newText: string) => ask({ kind: 'edit', content: [{ type: 'diff', path: '/w/a.ts', oldText, newText }] });
const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${(at * 7919) % 1000} ${at}`).join('\n');
const times = (count: number, run: (at: number) => void) => {
  for (let at = 0; at < count; at += 1) run(at);
};

const attacks: Readonly<Record<string, () => void>> = {
  'escapes that never end, 300 kB': () => output('\u001b]'.repeat(150_000)),
  'escapes that never end, 3 MB': () => output('\u001b]'.repeat(1_500_000)),
  'carriage returns, 1 MB': () => output('a\r'.repeat(500_000)),
  'a command of 100,000 lines': () => command('\n'.repeat(100_000)),
  'a command for star rules, 90 kB': () => command('a'.repeat(90_000)),
  'a command of 1 MB of operators': () => command('a;'.repeat(500_000)),
  'a command of 60,000 commands': () => command(Array.from({ length: 60_000 }, (_, at) => `sudo "a${at}" -x`).join(';')),
  'a title of 1 MB': () => ask({ kind: 'other', title: '`[**a'.repeat(200_000) }),
  'an edit of 40,000 lines': () => edit(lines(40_000, 'old'), lines(40_000, 'new')),
  'an edit of one line of 2 MB': () => edit('a'.repeat(2_000_000), 'b'.repeat(2_000_000)),
  '100,000 pieces of text': () => times(100_000, (at) => chunk(`word ${at} `)),
  'a text of 2 MB': () => chunk('**a `'.repeat(400_000)),
  '20,000 calls': () => times(20_000, (at) => call(`c${at}`, { rawInput: { command: `ls ${at}` } })),
  '5,000 questions': () => times(5_000, (at) => command(`ls ${at}`)),
  '100,000 questions': () => times(100_000, (at) => command(`ls ${at}`)),
  '20,000 requests that nobody knows': () =>
    times(20_000, () => {
      send({ id: `ask${++asked}`, method: 'x/y', params: {} });
    }),
  '5,000 requests for a file': () =>
    times(5_000, (at) => {
      send({ id: `ask${++asked}`, method: 'fs/read_text_file', params: { sessionId: SESSION, path: `/w/${at}` } });
    }),
  '20,000 requests for a terminal': () =>
    times(20_000, () => {
      send({ id: `ask${++asked}`, method: 'terminal/create', params: { sessionId: SESSION, command: 'true' } });
    }),
  '10,000 terminals of its own': () => {
    call('t');
    times(10_000, (at) => update('tool_call_update', { toolCallId: 't', _meta: { terminal_info: { terminal_id: `t${at}` } } }));
  },
  'a call of 50,000 terminals': () =>
    call('w', { content: Array.from({ length: 50_000 }, (_, at) => ({ type: 'terminal', terminalId: `t${at}` })) }),
  'a call of 50,000 files': () =>
    call('w', {
      kind: 'edit',
      content: Array.from({ length: 50_000 }, (_, at) => ({ type: 'diff', path: `/w/${at}`, oldText: 'a', newText: 'b' })),
    }),
  'a call of 100,000 places': () =>
    call('w', { kind: 'read', locations: Array.from({ length: 100_000 }, (_, at) => ({ path: `/w/${at}` })) }),
  'a call of 100,000 texts': () =>
    call('w', { content: Array.from({ length: 100_000 }, () => ({ type: 'content', content: { type: 'text', text: 'a' } })) }),
  '5,000 sub-agents': () => times(5_000, (at) => update('subagent_update', { sessionId: `a${at}`, title: 'T', state: 'running' })),
  '20,000 changes of one call': () => {
    call('c');
    times(20_000, (at) => update('tool_call_update', { toolCallId: 'c', title: `t${at}`, rawInput: { command: `ls ${at}` } }));
  },
  '20,000 modes and options': () => {
    const values = Array.from({ length: 20_000 }, (_, at) => ({ value: `v${at}`, name: `V ${at}` }));
    update('config_option_update', { configOptions: [{ id: 'o', name: 'O', type: 'select', currentValue: 'v1', options: values }] });
    update('config_option_update', {
      configOptions: values.map(({ value }) => ({
        id: value,
        name: value,
        type: 'select',
        currentValue: 'a',
        options: [{ value: 'a', name: 'A' }],
      })),
    });
    times(20_000, (at) => update('current_mode_update', { currentModeId: `v${at}` }));
  },
  '200 plans of 1,000 steps': () =>
    times(200, (at) => {
      const entries = Array.from({ length: 1000 }, (_, step) => ({ content: `step ${step}`, priority: 'low', status: 'pending' }));
      update('plan_update', { plan: { type: 'items', planId: `p${at}`, entries } });
    }),
  'a question about 3,000 files': () =>
    ask({
      kind: 'edit',
      content: Array.from({ length: 3000 }, (_, at) => ({ type: 'diff', path: `/w/${at}`, oldText: 'a', newText: 'b' })),
    }),
  'a question about 1,000 files of other lines': () => {
    const lines = (word: string) => Array.from({ length: 40 }, (_, at) => `${word} ${at}`).join('\n');
    ask({
      kind: 'edit',
      content: Array.from({ length: 1000 }, (_, at) => ({ type: 'diff', path: `/w/${at}`, oldText: lines('a'), newText: lines('b') })),
    });
  },
  '20,000 titles': () => times(20_000, (at) => update('session_info_update', { title: `t${at}` })),
  '20,000 messages that nobody knows': () => times(20_000, (at) => send({ method: `x/${at}`, params: {} })),
  '20,000 answers that nobody asked for': () => times(20_000, (at) => send({ id: at + 1000, result: {} })),
  '500,000 empty lines': () => {
    process.stdout.write('\n'.repeat(500_000));
  },
  '100,000 lines that are no message': () => {
    process.stdout.write('null\n[]\n{}\nx\n'.repeat(25_000));
  },
  // As text: writing it from a value would end this program.
  'input 20,000 levels deep': () => {
    const input = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const update = `{"sessionUpdate":"tool_call","toolCallId":"d","title":"T","rawInput":${input}}`;
    process.stdout.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${SESSION}","update":${update}}}\n`);
  },
  'input of 100,000 members': () => call('w', { rawInput: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])) }),
  '8 MB of empty lists': () => call('w', { rawInput: Array.from({ length: 2_700_000 }, () => []) }),
  '200,000 objects of other names': () => call('w', { rawInput: Array.from({ length: 200_000 }, (_, at) => ({ [`k${at}`]: at })) }),
  'a plan of 20,000 steps': () =>
    update('plan', { entries: Array.from({ length: 20_000 }, (_, at) => ({ content: `step ${at}`, priority: 'low', status: 'pending' })) }),
  '20,000 commands': () =>
    update('available_commands_update', {
      availableCommands: Array.from({ length: 20_000 }, (_, at) => ({ name: `c${at}`, description: 'x' })),
    }),
};

if (process.argv[2] === 'names') {
  process.stdout.write(JSON.stringify(Object.keys(attacks)));
  process.exit();
}
let finish: (() => void) | undefined;
let answered = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as { id?: number | string; method?: string; params?: { prompt?: [{ text: string }] } };
  if (method === 'initialize') send({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } });
  else if (method === 'session/new') send({ id, result: { sessionId: SESSION } });
  else if (method === 'session/prompt') {
    attacks[params?.prompt?.[0].text ?? '']?.();
    finish = () => send({ id, result: { stopReason: 'end_turn' } });
  } else if (String(id).startsWith('ask')) answered += 1;
  if (answered !== asked) continue;
  finish?.();
  finish = undefined;
}
