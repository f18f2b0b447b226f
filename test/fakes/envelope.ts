import { createInterface } from 'node:readline';

/** An agent of the envelope dialect for the workbench: what a prompt's first word asks for is what it does (qwen.md §4). */
type Line = Readonly<Record<string, unknown>>;
const SESSION = 'envelope-1';
const COMMANDS = ['history', 'quit'];
let deaf = false;

function tell(...lines: readonly object[]): void {
  for (const line of lines) process.stdout.write(`${JSON.stringify(line)}\n`);
}
function record(value: unknown): Line {
  return typeof value === 'object' && value !== null ? (value as Line) : {};
}
function message(content: string, more: object = {}, finish: string | null = 'stop'): object {
  const metadata = { protocol_version: 1, session_id: SESSION };
  return { object: 'chat.completion', id: 'c', metadata, choices: [{ index: 0, message: { content, ...more }, finish_reason: finish }] };
}
function display(id: string, status: string, shown: unknown, confirmation?: object): object {
  return { type: 'x-qwen-tool-display', tool_call_id: id, session_id: SESSION, status, result_display: shown, confirmation };
}
const terminal = (text: string, spans: readonly object[]) => ({
  type: 'x-qwen-terminal',
  channel: 'stdout',
  source: 'tool',
  text,
  spans,
});

function work(text: string): void {
  const asked = { id: 'open', function: { name: 'open_in_ide', arguments: JSON.stringify({ path: 'package.json', line: 2 }) } };
  if (text.startsWith('show'))
    tell(
      display('t', 'Success', { kind: 'todo_list', todos: [{ id: '1', content: 'Look', status: 'completed' }] }),
      display('k', 'Success', { kind: 'task_execution', subagentName: 'finder', taskDescription: 'Look around', status: 'completed' }),
      terminal('all green\n', [{ start: 4, end: 9, style: { theme_token: 'AccentGreen' } }]),
      message('All shown.'),
    );
  else if (text.startsWith('wait')) tell(display('w', 'Confirming', null, { type: 'exec', command: 'rm -rf build' }));
  else if (text.startsWith('open')) tell(message('', { tool_calls: [asked] }, 'tool_calls'));
  else if (text.startsWith('deaf')) {
    tell(message('I hear nothing any more.', {}, null));
    deaf = true;
  } else tell(message(`You said ${text}.`));
}

function request(line: Line): void {
  const input = record(line.input);
  const [part] = Array.isArray(input.parts) ? input.parts : [];
  if (input.origin === 'tool_response') return tell(message('It is open.'));
  const { path } = record(input.command);
  if (!Array.isArray(path)) return work(String(record(part).text));
  const history = [
    { type: 'user', text: 'an old question' },
    { type: 'gemini', text: 'An old answer.' },
  ];
  const result = path[0] === 'quit' ? { type: 'quit' } : { type: 'load_history', history };
  tell({ type: 'result/command', session_id: SESSION, prompt_id: line.prompt_id, command: input.command, result });
}

function suggest(line: Line): void {
  const { prompt_id, trigger, text } = line;
  const answer = { type: 'result/command_hint', session_id: SESSION, prompt_id, trigger };
  if (trigger === 'slash') {
    const found = COMMANDS.filter((name) => name.startsWith(String(text).slice(1)));
    return tell({ ...answer, status: 'ok', suggestions: found.map((name) => ({ label: name, value: name })) });
  }
  if (String(text).startsWith('@broken')) return tell({ ...answer, status: 'error', message: 'The index is broken.' });
  tell({ ...answer, status: 'loading' });
  setTimeout(() => tell({ ...answer, status: 'ok', suggestions: [{ label: 'from the agent', value: 'from\\ the\\ agent' }] }), 1500);
}

createInterface({ input: process.stdin }).on('line', (text) => {
  const line = record(JSON.parse(text));
  if (deaf) return;
  switch (line.type) {
    case 'heartbeat_request':
      return tell({ type: 'result/heartbeat', session_id: SESSION, status: 'ok', ts: 1 });
    case 'command_hint_request':
      return suggest(line);
    case 'control/cancel':
      return tell({ type: 'result/cancel', session_id: SESSION, prompt_id: line.prompt_id, status: 'ok' });
    case undefined:
      return request(line);
  }
});
