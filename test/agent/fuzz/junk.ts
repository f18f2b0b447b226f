import type { Random } from '../../random.ts';

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

const METHODS = [
  'initialize',
  'prompt',
  'cancel',
  'replay',
  'steer',
  'set_plan_mode',
  'request',
  'event',
  '',
  '__proto__',
  'constructor',
  'toString',
];
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  'x',
  '/help',
  '/compact',
  '\u2028',
  '\ud800',
  [],
  {},
  [[]],
  { type: 'text', text: 'hi' },
  'approve',
  'create file a with "b"',
];
/** Members with a meaning, some of them right. */
const PARAMS: Readonly<Record<string, readonly unknown[]>> = {
  protocol_version: ['1.10', '99'],
  user_input: ['hello', [{ type: 'text', text: 'hi' }], [{ type: 'nonsense' }]],
  enabled: [true, false],
  external_tools: [
    [{ name: 'junk_tool', description: 'd', parameters: { type: 'object' } }],
    [{ name: 'Shell', description: 'd', parameters: {} }],
  ],
  client: [{ name: 'junk' }],
  hooks: [[{ id: 'h', event: 'PreToolUse', matcher: '(', timeout: 1 }], [{ id: 'p', event: 'UserPromptSubmit', timeout: 0.2 }]],
  capabilities: [{ supports_question: true, supports_plan_mode: true }],
};
const RESULTS: readonly ((id: string) => unknown)[] = [
  () => null,
  () => 'approve',
  () => ({ response: 'approve' }),
  (id) => ({ request_id: id, response: 'approve, please' }),
  (id) => ({ request_id: id, answers: { '': 1 } }),
  (id) => ({ tool_call_id: id, return_value: { is_error: 'no' } }),
  (id) => ({ request_id: id, action: 'block', reason: 7 }),
];

/** One line, or some bytes, that a broken or hostile client might send; `open` are requests of the agent that wait for an answer. */
export function junk(random: Random, open: readonly string[]): Buffer {
  if (random(10) === 0) return Buffer.from(Array.from({ length: random(60) }, () => random(256)).concat([10]));
  if (open.length > 0 && random(10) === 0) return answerTo(random, pick(random, open));
  const params: Record<string, unknown> = {};
  for (const [name, right] of Object.entries(PARAMS)) {
    if (random(3) > 0) params[name] = random(3) === 0 ? pick(random, right) : pick(random, VALUES);
  }
  const message: Record<string, unknown> = {
    jsonrpc: random(9) === 0 ? pick(random, VALUES) : '2.0',
    params: random(6) === 0 ? pick(random, VALUES) : params,
  };
  if (random(8) > 0) message.id = random(4) === 0 ? pick(random, VALUES) : random(12) === 0 && open[0] ? open[0] : `f${random(50)}`;
  if (random(8) > 0) message.method = pick(random, METHODS);
  else message[random(2) === 0 ? 'result' : 'error'] = pick(random, VALUES);
  const line = JSON.stringify(random(12) === 0 ? [message] : message);
  return Buffer.from(`${random(8) === 0 ? line.slice(0, random(line.length)) : line}\n`);
}

/** An answer nobody can use: whatever it is, it allows nothing. */
function answerTo(random: Random, id: string): Buffer {
  const body = random(4) === 0 ? { error: pick(random, VALUES) } : { result: pick(random, RESULTS)(id) };
  return Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
}

/** How often each id must be answered for these bytes, `null` under the empty text: what is no request is answered without an id, or not at all. */
export function answersDue(bytes: Buffer, due: Map<string, number>): void {
  for (const line of bytes.toString('utf8').split('\n')) {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text === '') continue;
    const id = dueId(text);
    if (id !== undefined) due.set(id, (due.get(id) ?? 0) + 1);
  }
}

function dueId(line: string): string | undefined {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return '';
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return '';
  const { id, jsonrpc, method, result, error } = message as Readonly<Record<string, unknown>>;
  if (id != null && typeof id !== 'string') return '';
  if (jsonrpc !== '2.0') return '';
  if (method != null) return typeof method === 'string' ? (id ?? undefined) : '';
  if (id == null || (result === undefined && error == null)) return '';
  const { code, message: words } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return error == null || (Number.isInteger(code) && typeof words === 'string') ? undefined : '';
}

/** True when these bytes may stop a turn or answer one of these requests. */
export function maySettle(bytes: Buffer, open: readonly string[]): boolean {
  const text = bytes.toString('utf8');
  return text.includes('"cancel"') || open.some((id) => text.includes(id));
}
