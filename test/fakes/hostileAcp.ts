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
  // As text: writing it from a value would end this program.
  'input 20,000 levels deep': () => {
    const input = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const update = `{"sessionUpdate":"tool_call","toolCallId":"d","title":"T","rawInput":${input}}`;
    process.stdout.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${SESSION}","update":${update}}}\n`);
  },
  'input of 100,000 members': () => call('w', { rawInput: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])) }),
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
