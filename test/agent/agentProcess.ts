import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

export interface Message {
  readonly id?: string | null;
  readonly method?: string;
  readonly params?: { readonly type: string; readonly payload: Record<string, unknown> };
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}
export interface AgentOptions {
  readonly cwd: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The built agent as a child process, driven by raw lines, so that a mistake our own client shares does not hide. */
export class AgentProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly messages: Message[] = [];
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  stderr = '';
  #rest = '';
  #serial = 0;
  #listeners = new Set<() => void>();
  /** Lines on stdout that were not JSON. */
  readonly junk: string[] = [];

  constructor(options: AgentOptions) {
    const { PARLEY_MODEL_BASE_URL: _, PARLEY_MODEL_NAME: __, ...env } = process.env;
    this.child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), '--work-dir', options.cwd, ...(options.args ?? [])], {
      cwd: options.cwd,
      env: { ...env, KIMI_SHARE_DIR: `${options.cwd}.home`, ...options.env },
    });
    this.child.stdin.on('error', () => {});
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString('utf8');
    });
    this.child.stdout.setEncoding('utf8');
    this.child.stdout.on('data', (text: string) => this.#take(text));
    this.exited = new Promise((resolve) => {
      this.child.on('exit', (code, signal) => {
        resolve({ code, signal });
        this.#wake();
      });
    });
  }

  raw(line: string | Buffer): void {
    this.child.stdin.write(line);
  }

  send(message: object): void {
    this.raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Sends a request and gives its id. */
  start(method: string, params?: object): string {
    this.#serial += 1;
    const id = `t${this.#serial}`;
    this.send({ id, method, ...(params === undefined ? {} : { params }) });
    return id;
  }

  async call(method: string, params?: object): Promise<Message> {
    return this.answerTo(this.start(method, params));
  }

  /** The result of a call; an error answer throws. */
  async ok(method: string, params?: object): Promise<Readonly<Record<string, unknown>>> {
    const { result, error } = await this.call(method, params);
    if (!result) throw new Error(`${method}: ${error?.code} ${error?.message}`);
    return result;
  }

  answerTo(id: string): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  /** The first request of that type that has not been looked for yet. */
  async asked(type: string): Promise<{ readonly id: string; readonly payload: Record<string, unknown> }> {
    const found = await this.find((message) => message.method === 'request' && message.params?.type === type && !this.#seen.has(message));
    this.#seen.add(found);
    return { id: String(found.id), payload: found.params?.payload ?? {} };
  }
  readonly #seen = new Set<Message>();

  answer(id: string, result: object): void {
    this.send({ id, result });
  }

  /** The first message that fits, now or later. Rejects when the process ends first. */
  find(fits: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.messages.find(fits);
        const gone = this.child.exitCode !== null || this.child.signalCode !== null;
        if (!found && !gone) return;
        this.#listeners.delete(look);
        if (found) resolve(found);
        else reject(new Error(`the agent ended (${this.child.exitCode}, ${this.child.signalCode}): ${this.stderr}`));
      };
      this.#listeners.add(look);
      look();
    });
  }

  events(type: string): readonly Record<string, unknown>[] {
    return this.messages.flatMap((message) =>
      message.method === 'event' && message.params?.type === type ? [message.params.payload] : [],
    );
  }

  /** Everything the agent has said as text. */
  get text(): string {
    return this.events('ContentPart')
      .map((part) => (part.type === 'text' ? String(part.text) : ''))
      .join('');
  }

  async close(): Promise<{ code: number | null; signal: string | null }> {
    this.child.stdin.end();
    return this.exited;
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      try {
        this.messages.push(JSON.parse(line) as Message);
      } catch {
        this.junk.push(line);
      }
    }
    this.#wake();
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const processes = new WeakMap<TestContext, (() => Promise<unknown>)[]>();

/** Ends a process after the test, before the folders of the test are removed: hooks run in the order they were set, and an agent writes to its end. */
export function endAfter(t: TestContext, end: () => Promise<unknown>): void {
  let ended: Promise<unknown> | undefined;
  const once = async (): Promise<void> => {
    ended ??= end();
    await ended;
  };
  processes.set(t, [...(processes.get(t) ?? []), once]);
  t.after(once);
}

/** A folder of its own that is gone after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'parley-agent-')));
  t.after(async () => {
    for (const end of processes.get(t) ?? []) await end();
    rmSync(folder, { recursive: true, force: true });
    // Where agents that work in it keep their sessions.
    rmSync(`${folder}.home`, { recursive: true, force: true });
  });
  return folder;
}

/** An agent that is ended after the test, whatever happened in it. */
export function startAgent(t: TestContext, options: AgentOptions): AgentProcess {
  const agent = new AgentProcess(options);
  endAfter(t, async () => {
    if (agent.child.exitCode === null && agent.child.signalCode === null) agent.child.kill('SIGKILL');
    await agent.exited;
  });
  return agent;
}
