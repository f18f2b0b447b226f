/**
 * A Wire server that says what a script tells it, with the habits of any version:
 *
 *   node out/unit/test/fakes/wire.mjs script.json [anything else is ignored]
 *
 * The script is a JSON object, see `Script`. After its turns are used up every prompt is echoed.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Script {
  /** What initialize and `info --json` report; null: no such member. */
  readonly version?: string | null;
  /** How initialize is met; `noTools` refuses it while it holds external tools. */
  readonly handshake?: 'answer' | 'unknownMethod' | 'silent' | 'noTools';
  /** Merged into the initialize result. */
  readonly initialize?: Record<string, unknown>;
  readonly conflicts?: readonly string[];
  /** Done before initialize is answered, and when the program starts. */
  readonly beforeReady?: readonly Step[];
  readonly atStart?: readonly Step[];
  /** One list for each prompt. */
  readonly turns?: readonly (readonly Step[])[];
  readonly replay?: readonly Step[];
  /** Methods answered -32601. */
  readonly lacks?: readonly string[];
  readonly habits?: {
    /** Before 1.2: TurnEnd is never sent. */
    readonly noTurnEnd?: boolean;
    /** Before 1.12: a cancel that comes while a request is open is answered and never obeyed. */
    readonly cancelHangs?: boolean;
    /** A cancel is answered and never obeyed. */
    readonly deaf?: boolean;
    /** 1.25 to 1.31: what was open is settled after the prompt is answered; old ones never say so. */
    readonly settles?: 'before' | 'after' | 'never';
    readonly ignoresEnd?: boolean;
  };
  /** Every line that comes in is added to this file, and a line "start <args>". */
  readonly log?: string;
}
type Step =
  | { readonly text: string }
  | { readonly think: string }
  | { readonly event: string; readonly payload?: unknown; readonly id?: string }
  | {
      readonly request: string;
      readonly payload: Record<string, unknown>;
      readonly id?: string;
      readonly noWait?: boolean;
      readonly on?: Readonly<Record<string, readonly Step[]>>;
    }
  | { readonly waitForAnswers: true }
  | { readonly waitForSteer: true }
  | { readonly line: string }
  | { readonly flood: number }
  | { readonly megabytes: number }
  | { readonly waitMs: number }
  /** Until nothing is at this path. */
  | { readonly waitWhile: string }
  | { readonly hang: true }
  | { readonly stderr: string }
  | { readonly exit: number }
  | { readonly kill: NodeJS.Signals }
  | { readonly end: Record<string, unknown> }
  | { readonly fail: { readonly code: number; readonly message: string } };
type Incoming = { id?: unknown; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };

const script: Script = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const habits = script.habits ?? {};
const waiting = new Map<string, { request: string; payload: Record<string, unknown>; answer: (result: unknown) => void }>();
const steers: unknown[] = [];
let steered: () => void = () => {};
let turn: { id: unknown; cancelled: boolean; deaf: boolean; stop: () => void; stopped: Promise<void> } | undefined;
let prompts = 0;

note(`start ${process.argv.slice(3).join(' ')}`);
if (process.argv.includes('info')) {
  console.log(JSON.stringify({ kimi_cli_version: '0.0.0', wire_protocol_version: script.version ?? '1.10' }));
  process.exit(0);
}
void run(script.atStart ?? []);
const input = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
input.on('line', (line) => {
  note(line);
  void receive(JSON.parse(line));
});
input.on('close', () => {
  if (habits.ignoresEnd) setInterval(() => {}, 1000);
  else process.exit(0);
});

async function receive(message: Incoming): Promise<void> {
  const { id, method } = message;
  if (method === undefined) {
    waiting.get(String(id))?.answer(message.result ?? { error: message.error });
    return;
  }
  if (typeof id !== 'string') return reply(null, undefined, { code: -32600, message: 'Invalid request' });
  if (script.lacks?.includes(method)) return reply(id, undefined, { code: -32601, message: `Method not found: ${method}` });
  switch (method) {
    case 'initialize':
      return initialize(id, message.params ?? {});
    case 'prompt':
      return prompt(id, message.params?.user_input);
    case 'cancel':
      return cancel(id);
    case 'steer':
      if (!turn) return reply(id, undefined, { code: -32000, message: 'No agent turn is in progress' });
      steers.push(message.params?.user_input);
      reply(id, { status: 'steered' });
      return steered();
    case 'set_plan_mode':
      event('StatusUpdate', { plan_mode: message.params?.enabled });
      return reply(id, { status: 'ok', plan_mode: message.params?.enabled });
    case 'replay':
      await run(script.replay ?? []);
      return reply(id, { status: 'finished', events: script.replay?.length ?? 0, requests: 0 });
    default:
      return reply(id, undefined, { code: -32601, message: `Method not found: ${method}` });
  }
}

async function initialize(id: string, params: Record<string, unknown>): Promise<void> {
  const offered = (params.external_tools ?? []) as { name: string }[];
  if (script.handshake === 'silent') return;
  if (script.handshake === 'unknownMethod') return reply(id, undefined, { code: -32601, message: 'Method not found: initialize' });
  if (script.handshake === 'noTools' && offered.length > 0) return reply(id, undefined, { code: -32602, message: 'external_tools.0: bad' });
  await run(script.beforeReady ?? []);
  const rejected = offered.filter((tool) => script.conflicts?.includes(tool.name));
  reply(id, {
    ...(script.version === null ? {} : { protocol_version: script.version ?? '1.10' }),
    server: { name: 'Fake', version: '0.0.0' },
    slash_commands: [{ name: 'plan', description: 'Switch the plan mode', aliases: [] }],
    external_tools: {
      accepted: offered.filter((tool) => !rejected.includes(tool)).map((tool) => tool.name),
      rejected: rejected.map((tool) => ({ name: tool.name, reason: 'conflicts with builtin tool' })),
    },
    ...script.initialize,
  });
}

async function prompt(id: string, said: unknown): Promise<void> {
  if (turn) return reply(id, undefined, { code: -32000, message: 'An agent turn is already in progress' });
  let stop: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const mine = { id, cancelled: false, deaf: false, stop, stopped };
  turn = mine;
  event('TurnBegin', { user_input: said });
  const steps = script.turns?.[prompts++] ?? [{ text: `You said: ${typeof said === 'string' ? said : JSON.stringify(said)}` }];
  const result = await Promise.race([run(steps), mine.stopped.then(() => ({ status: 'cancelled' }))]);
  if (mine.deaf) await new Promise(() => {});
  const open = [...waiting].filter(([, { payload }]) => payload.source_kind !== 'background_agent');
  const settle = (): void => {
    for (const [, { request, payload, answer }] of open) {
      if (request === 'ApprovalRequest' && habits.settles !== 'never')
        event('ApprovalResponse', { request_id: payload.id, response: 'reject' });
      answer(undefined);
    }
  };
  if (!habits.noTurnEnd) event('TurnEnd', {});
  if (habits.settles !== 'after') settle();
  turn = undefined;
  const failed = result && 'fail' in result ? (result.fail as { code: number; message: string }) : undefined;
  reply(id, failed ? undefined : (result ?? { status: 'finished' }), failed);
  if (habits.settles === 'after') settle();
}

function cancel(id: string): void {
  if (!turn) return reply(id, undefined, { code: -32000, message: 'No agent turn is in progress' });
  reply(id, {});
  if (habits.deaf || (habits.cancelHangs && waiting.size > 0)) {
    turn.deaf = true;
    return;
  }
  turn.cancelled = true;
  turn.stop();
}

/** Does the steps in order; what the turn ends with, when a step says so. */
async function run(steps: readonly Step[]): Promise<Record<string, unknown> | undefined> {
  for (const step of steps) {
    if (turn?.cancelled) return undefined;
    if ('text' in step) event('ContentPart', { type: 'text', text: step.text });
    else if ('think' in step) event('ContentPart', { type: 'think', think: step.think });
    else if ('event' in step) event(step.event, step.payload ?? {}, step.id);
    else if ('request' in step) {
      const result = request(step.request, step.payload, step.id);
      if (step.noWait) continue;
      const given = (await result) as { response?: string; action?: string; return_value?: { is_error?: boolean } } | undefined;
      const word = given?.response ?? given?.action ?? (given?.return_value ? (given.return_value.is_error ? 'error' : 'ok') : 'answer');
      const ended = await run(step.on?.[word] ?? step.on?.else ?? []);
      if (ended) return ended;
    } else if ('waitForAnswers' in step) while (waiting.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    else if ('waitForSteer' in step) {
      if (steers.length === 0) {
        await new Promise<void>((resolve) => {
          steered = resolve;
        });
      }
      for (const user_input of steers.splice(0)) event('SteerInput', { user_input });
    } else if ('line' in step) process.stdout.write(`${step.line}\n`);
    else if ('flood' in step) for (let at = 0; at < step.flood; at++) event('ContentPart', { type: 'text', text: `${at} ` });
    else if ('megabytes' in step) event('ContentPart', { type: 'text', text: 'x'.repeat(step.megabytes * 1024 * 1024) });
    else if ('waitMs' in step) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    else if ('waitWhile' in step) while (existsSync(step.waitWhile)) await new Promise((resolve) => setTimeout(resolve, 20));
    else if ('hang' in step) await new Promise(() => {});
    else if ('stderr' in step) process.stderr.write(`${step.stderr}\n`);
    else if ('exit' in step) await flushed().then(() => process.exit(step.exit));
    else if ('kill' in step) await flushed().then(() => process.kill(process.pid, step.kill));
    else if ('end' in step) return step.end;
    else return { fail: step.fail };
  }
  return undefined;
}

function request(type: string, payload: Record<string, unknown>, id: string = String(payload.id ?? randomUUID())): Promise<unknown> {
  return new Promise((resolve) => {
    waiting.set(id, {
      request: type,
      payload,
      answer: (result) => {
        waiting.delete(id);
        resolve(result);
      },
    });
    send({ method: 'request', id, params: { type, payload: { id, ...payload } } });
  });
}

function event(type: string, payload: unknown, id?: string): void {
  send({ method: 'event', ...(id === undefined ? {} : { id }), params: { type, payload } });
}
function reply(id: unknown, result: unknown, error?: { code: number; message: string }): void {
  send(error ? { id, error } : { id, result });
}
function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}
function flushed(): Promise<void> {
  return new Promise((resolve) => process.stdout.write('', () => resolve()));
}
function note(line: string): void {
  if (script.log) appendFileSync(script.log, `${line}\n`);
}
