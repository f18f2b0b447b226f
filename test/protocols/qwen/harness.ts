import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { LiveSession } from '../../../src/live/liveSession.ts';
import type { Ports, Tool } from '../../../src/protocols/ports.ts';
import { QwenAdapter } from '../../../src/protocols/qwen/index.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { Answer } from '../../../src/session/intents.ts';
import type { Approval, Ask, Question, ToolCall, Turn } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { callsOf } from '../../../src/session/select.ts';
import type { Channel, Closed } from '../../../src/transport/channel.ts';
import type { ProcessSpec } from '../../../src/transport/process.ts';

type Line = Readonly<Record<string, unknown>>;

/** One start of the agent, played by hand: what it was told, and its mouth. */
export class Process {
  readonly spec: ProcessSpec;
  readonly told: Line[] = [];
  /** Its input was ended. */
  ended = false;
  readonly #listeners: ((line: string) => void)[] = [];
  readonly #closing: ((closed: Closed) => void)[] = [];

  constructor(spec: ProcessSpec) {
    this.spec = spec;
  }

  readonly channel: Channel = {
    send: async (lines) => {
      for (const line of lines.split('\n')) this.told.push(JSON.parse(line) as Line);
    },
    onMessage: (listener) => {
      this.#listeners.push(listener);
      return { dispose: () => {} };
    },
    onClosed: (listener) => {
      this.#closing.push(listener);
      return { dispose: () => {} };
    },
    dispose: () => {
      if (!this.ended) queueMicrotask(() => this.exit({ code: 0 }));
      this.ended = true;
    },
  };

  say(...lines: readonly object[]): void {
    for (const line of lines) this.raw(JSON.stringify(line));
  }

  raw(line: string): void {
    for (const listener of this.#listeners) listener(line);
  }

  exit(how: { code?: number; signal?: string; stderr?: string; failure?: Closed['failure'] }): void {
    const closed: Closed = { reason: `It ended with ${how.code ?? how.signal}.`, failure: 'ended', stderr: '', ...how };
    for (const closing of this.#closing.splice(0)) closing(closed);
  }

  /** Requests of ours with this subtype. */
  requests(subtype: string): readonly { readonly id: string; readonly request: Line }[] {
    return this.told.flatMap((line) => {
      const request = line.request as Line | undefined;
      return line.type === 'control_request' && request?.subtype === subtype ? [{ id: String(line.request_id), request }] : [];
    });
  }

  /** Answers every request of ours with this subtype that is not answered yet. */
  answer(subtype: string, response: object): void {
    for (const { id } of this.requests(subtype)) {
      this.say({ type: 'control_response', response: { subtype: 'success', request_id: id, response } });
    }
  }

  /** What we answered to a request of the agent. */
  answerTo(id: string): readonly Line[] {
    return this.told.filter((line) => line.type === 'control_response' && (line.request_id ?? (line.response as Line).request_id) === id);
  }

  prompts(): readonly Line[] {
    return this.told.filter((line) => line.type === 'user' || line.type === undefined);
  }
}

export interface HarnessOptions {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly options?: Readonly<Record<string, string>>;
  readonly tools?: readonly Tool[];
  readonly files?: Record<string, string>;
  readonly resume?: string;
  /** Nobody has the transcript of what is gone on with. */
  readonly history?: true;
  readonly env?: Readonly<Record<string, string>>;
}

/** A live session over processes that are played by hand, with a mocked clock. Ends by looking for timers that were left. */
export function harness(t: TestContext, options: HarnessOptions = {}) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const processes: Process[] = [];
  const events: SessionEvent[] = [];
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const files = options.files ?? {};
  const ports: Ports = {
    tools: options.tools ?? [],
    files: {
      read: async (path) => {
        const text = files[path];
        if (text === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' });
        return text;
      },
      write: async (path, text) => {
        files[path] = text;
      },
    },
    terminals: { create: () => Promise.reject(new Error('none')) },
  };
  let ids = 0;
  let clock = 1;
  const live = new LiveSession(newSession('s', { protocol: 'qwen', name: '' }, '/w'), 'profile', {
    protocol: {
      title: 'Qwen',
      launch: 'process',
      open(launch, scene) {
        assert.equal(launch.kind, 'process');
        return new QwenAdapter(launch as Extract<typeof launch, { kind: 'process' }>, scene, (spec) => {
          const process = new Process(spec);
          processes.push(process);
          return process.channel;
        });
      },
    },
    launch: async () => ({
      kind: 'process',
      command: options.command ?? 'agent',
      args: options.args ?? [],
      env: options.env ?? {},
      cwd: '/w',
      ...(options.options ? { options: options.options } : {}),
    }),
    ports,
    rules: () => [],
    client: { name: 'test', version: '0' },
    log: { trace: () => {}, info: log, warn: log, error: log },
    trace: () => {},
    now: () => clock,
    newId: () => `id${++ids}`,
  });
  live.store.onChange(({ event }) => void events.push(event));
  const settle = async () => {
    for (let n = 0; n < 8; n += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  t.after(async () => {
    live.dispose();
    await settle();
    await live.ended;
  });
  const now = () => live.store.now;
  return {
    live,
    files,
    events,
    logged,
    processes,
    settle,
    now,
    last: (): Process => processes.at(-1) ?? assert.fail('no process was started'),
    /** Waits for what takes reading a file. */
    until: async (holds: () => boolean) => {
      for (let n = 0; n < 2000 && !holds(); n += 1) await settle();
      assert.ok(holds());
    },
    tick: async (ms: number) => {
      clock += ms;
      t.mock.timers.tick(ms);
      await settle();
    },
    start: async () => {
      await live.start(options.resume === undefined ? undefined : { key: options.resume, history: options.history ?? false });
      await settle();
    },
    prompt: async (text: string, turnId = `t${now().turns.length + 1}`) => {
      live.send({ type: 'prompt', turnId, content: [{ type: 'text', text }] });
      await settle();
      return turnId;
    },
    answer: async (ask: Ask, answer: Answer | string, more: object = {}) => {
      live.send({
        type: 'answer',
        askId: ask.id,
        answer: typeof answer === 'string' ? { kind: 'option', optionId: answer, ...more } : answer,
      });
      await settle();
    },
    cancel: async () => {
      live.send({ type: 'cancel' });
      await settle();
    },
    turn: (at = -1): Turn => now().turns.at(at) ?? assert.fail('there is no turn'),
    approval: (at = 0): Approval => {
      const ask = now().asks[at];
      return ask?.kind === 'approval' ? ask : assert.fail('no approval is open');
    },
    question: (): Question => {
      const ask = now().asks[0];
      return ask?.kind === 'question' ? ask : assert.fail('no question is open');
    },
    notices: (): readonly string[] => [
      ...now().notices.map((notice) => notice.text),
      ...now().turns.flatMap((turn) => turn.parts.flatMap((part) => (part.kind === 'notice' ? [part.notice.text] : []))),
    ],
  };
}
export type Harness = ReturnType<typeof harness>;

export function textOf(turn: Turn): string {
  return turn.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('|');
}

export function call(turn: Turn, id: string): ToolCall {
  return callsOf(turn).find((one) => one.id === id) ?? assert.fail(`there is no call ${id}`);
}
