import assert from 'node:assert/strict';
import { type Random, randomFrom } from '../../random.ts';
import { AgentProcess, type Message } from '../agentProcess.ts';
import { answersDue, junk, maySettle, pick } from './junk.ts';

export interface FuzzSpec {
  readonly seed: number;
  readonly cwd: string;
  /** An OpenAI-compatible service, see `startFuzzService`. */
  readonly service: string;
  /** Another round is begun while this says so. */
  readonly goOn: (rounds: number) => boolean;
  /** Milliseconds an answer may take. */
  readonly patience?: number;
}

/** What runs and stands open while junk arrives: a prompt, and the request of the agent that it comes to. */
const SCENES = [
  { prompt: undefined, opens: undefined },
  { prompt: 'hello', opens: undefined },
  { prompt: 'fuzz: hang', opens: undefined },
  { prompt: 'fuzz: edit', opens: 'ApprovalRequest' },
  { prompt: 'fuzz: command', opens: 'ApprovalRequest' },
  { prompt: 'fuzz: sub-agent', opens: 'ApprovalRequest' },
  { prompt: 'fuzz: question', opens: 'QuestionRequest' },
  { prompt: 'fuzz: tool', opens: 'ToolCallRequest' },
] as const;
type Scene = (typeof SCENES)[number];

/** Right answers that allow nothing. */
const REFUSALS = {
  ApprovalRequest: (id: string) => ({ request_id: id, response: 'reject' }),
  QuestionRequest: (id: string) => ({ request_id: id, answers: {} }),
  ToolCallRequest: (id: string) => ({
    tool_call_id: id,
    return_value: { is_error: true, output: '', message: 'no', display: [] },
  }),
} as const;

const LINES_A_ROUND = 120;
/** A process is ended and another one goes on after so many rounds, so that the end of one is tested as well. */
const ROUNDS_A_PROCESS = 40;
const HELLO = {
  protocol_version: '1.10',
  capabilities: { supports_question: true, supports_plan_mode: true },
  external_tools: [{ name: 'lent_tool', description: 'Lent', parameters: { type: 'object' } }],
};

/**
 * Throws junk at parley-agent's input, with nothing running, with a prompt running, and with an approval, a question and a tool of the client
 * held open. After each round: every request was answered exactly once, nothing but JSON came out, and a good prompt is served. Rejects with the
 * seed and the round otherwise. Gives the rounds done.
 */
export async function fuzzAgent(spec: FuzzSpec): Promise<number> {
  const random = randomFrom(spec.seed);
  let rounds = 0;
  let subject: Subject | undefined;
  try {
    while (spec.goOn(rounds)) {
      subject ??= new Subject(spec);
      await subject.round(random, SCENES[rounds % SCENES.length] ?? SCENES[0]);
      rounds += 1;
      if (rounds % ROUNDS_A_PROCESS !== 0) continue;
      await subject.end();
      subject = undefined;
    }
    await subject?.end();
    return rounds;
  } catch (error) {
    subject?.agent.child.kill('SIGKILL');
    throw new Error(`round ${rounds}, seed ${spec.seed}: ${error instanceof Error ? error.message : error}\n${subject?.tail ?? ''}`);
  }
}

class Subject {
  readonly agent: AgentProcess;
  readonly #patience: number;
  #serial = 0;
  /** What went in and came out in this round, for a failure. */
  #sent: Buffer[] = [];

  constructor(spec: FuzzSpec) {
    this.agent = new AgentProcess({
      cwd: spec.cwd,
      env: { PARLEY_MODEL_BASE_URL: spec.service, PARLEY_MODEL_NAME: 'fuzz' },
    });
    this.#patience = spec.patience ?? 30_000;
  }

  get tail(): string {
    const inputs = this.#sent.slice(-20).map((one) => `> ${one.toString('utf8').trimEnd().slice(0, 300)}`);
    const outputs = this.agent.messages.slice(-20).map((one) => `< ${JSON.stringify(one).slice(0, 300)}`);
    return [...inputs, ...outputs, this.agent.stderr.slice(-2000)].join('\n');
  }

  async round(random: Random, scene: Scene): Promise<void> {
    this.agent.messages.length = 0;
    this.#sent = [];
    // Junk may have shaken hands too, without what the scenes need.
    await this.#ask('initialize', HELLO);
    const open: string[] = [];
    const turn = scene.prompt === undefined ? undefined : this.#start('prompt', { user_input: scene.prompt });
    if (scene.opens) {
      const type = scene.opens;
      const asked = await this.#within(`the ${type}`, (one) => one.method === 'request' && one.params?.type === type);
      open.push(String(asked.id));
    }
    const due = new Map<string, number>();
    // In every other round nothing among the junk may end what is held open.
    const held = random(2) === 0 ? open : [];
    for (let at = 0; at < LINES_A_ROUND; at += 1) {
      const bytes = junk(random, open);
      if (held.length > 0 && maySettle(bytes, held)) continue;
      answersDue(bytes, due);
      this.#send(bytes);
      if (random(30) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    if (turn !== undefined && scene.opens && held[0] !== undefined) {
      await this.#ask('steer', { user_input: 'still there?' });
      this.#send(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: held[0], result: REFUSALS[scene.opens](held[0]) })}\n`));
      assert.deepEqual((await this.#answer(turn)).result, { status: 'finished' }, 'the request held open and then answered');
    }
    await this.#becomeIdle();
    if (turn !== undefined) await this.#answer(turn);
    await this.#served(pick(random, ['hello', '/help', '/status']));
    this.#allAnswered(due);
    assert.deepEqual(this.agent.junk, [], 'nothing but JSON on stdout');
  }

  async end(): Promise<void> {
    assert.deepEqual(await this.agent.close(), { code: 0, signal: null });
  }

  /** A turn that junk began goes on until it is stopped, and another one may have been begun meanwhile; then a replay may run. */
  async #becomeIdle(): Promise<void> {
    for (;;) {
      const { error } = await this.#answer(this.#start('cancel'));
      if (error?.code === -32000) return;
      assert.equal(error, undefined);
    }
  }

  /** A good prompt is served; what it asks on the way (hooks that junk subscribed to, for one) is let through. */
  async #served(text: string): Promise<void> {
    await this.#ask('set_plan_mode', { enabled: false });
    const id = this.#start('prompt', { user_input: text });
    const { result } = await this.#answer(id);
    assert.deepEqual(result, { status: 'finished' }, 'a good prompt after the junk');
  }

  #allAnswered(due: ReadonlyMap<string, number>): void {
    const given = new Map<string, number>();
    for (const { id, method } of this.agent.messages) {
      if (method !== undefined || String(id).startsWith('good ')) continue;
      given.set(id ?? '', (given.get(id ?? '') ?? 0) + 1);
    }
    for (const [id, count] of due) assert.equal(given.get(id) ?? 0, count, `answers to ${id === '' ? 'what has no id' : id}`);
    for (const [id, count] of given) assert.equal(count, due.get(id) ?? 0, `answers to ${id === '' ? 'what has no id' : id}`);
  }

  async #ask(method: string, params?: object): Promise<Message> {
    const message = await this.#answer(this.#start(method, params));
    assert.equal(message.error, undefined, `${method} was refused: ${message.error?.message}`);
    return message;
  }

  #start(method: string, params?: object): string {
    this.#serial += 1;
    const id = `good ${this.#serial}`;
    this.#send(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) })}\n`));
    return id;
  }

  #send(bytes: Buffer): void {
    this.#sent.push(bytes);
    this.agent.raw(bytes);
  }

  #answer(id: string): Promise<Message> {
    return this.#within(`the answer to ${id}`, (one) => one.id === id && one.method === undefined);
  }

  async #within(what: string, fits: (message: Message) => boolean): Promise<Message> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not come`)), this.#patience);
    });
    try {
      return await Promise.race([this.agent.find(fits), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
