import { silentLog } from '../../../src/base/log.ts';
import type { AdapterContext, Resume } from '../../../src/protocols/adapter.ts';
import { LIMITS, WireAdapter } from '../../../src/protocols/kimi-wire/index.ts';
import type { WireLimits } from '../../../src/protocols/kimi-wire/state.ts';
import type { Ports, Tool } from '../../../src/protocols/ports.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { Intent } from '../../../src/session/intents.ts';
import type { Ask, Content, Session, Turn } from '../../../src/session/model.ts';
import { newSession, reduce } from '../../../src/session/reduce.ts';
import type { Channel } from '../../../src/transport/channel.ts';
import type { ProcessSpec } from '../../../src/transport/process.ts';

export interface HarnessOptions {
  readonly tools?: readonly Tool[];
  readonly resume?: Resume;
  readonly limits?: Partial<WireLimits>;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A session with the Wire adapter behind it, over whatever channels the test gives. It also watches the rules that hold for every adapter. */
export class Harness {
  readonly adapter: WireAdapter;
  readonly events: SessionEvent[] = [];
  readonly logged: string[] = [];
  readonly launchArgs: readonly string[];
  readonly #stop = new AbortController();
  #waits: { holds: () => boolean; done: () => void }[] = [];
  #ids = 0;
  session: Session;

  constructor(open: (spec: ProcessSpec) => Channel, options: HarnessOptions = {}) {
    this.session = newSession('s', { protocol: 'kimi-wire', name: 'agent' }, '/code');
    const never = (): never => {
      throw new Error('not part of this test');
    };
    const ports: Ports = { tools: options.tools ?? [], files: { read: never, write: never }, terminals: { create: never } };
    const scene: AdapterContext = {
      emit: (event) => this.#take(event),
      ports,
      client: { name: 'test', version: '1.0' },
      now: () => 0,
      newId: () => `id${++this.#ids}`,
      signal: this.#stop.signal,
      trace: () => {},
      log: {
        ...silentLog,
        trace: (text) => this.logged.push(text),
        warn: (text) => this.logged.push(text),
        error: (text) => this.logged.push(text),
      },
      ...(options.resume ? { resume: options.resume } : {}),
    };
    const launch = {
      kind: 'process',
      command: options.command ?? 'kimi',
      args: options.args ?? [],
      env: options.env ?? {},
      cwd: options.cwd ?? '/code',
    } as const;
    this.launchArgs = launch.args;
    this.adapter = new WireAdapter(launch, scene, { open, limits: { ...LIMITS, ...options.limits } });
  }

  /** Sends a prompt; its turn is found by the id. */
  prompt(text: string, turnId = `turn ${text}`): void {
    this.send({ type: 'prompt', turnId, content: [{ type: 'text', text }] });
  }
  send(intent: Intent): void {
    this.adapter.send(intent);
  }
  choose(optionId: string, feedback?: string, ask = this.session.asks[0]): void {
    if (!ask) throw new Error('nothing is asked');
    this.send({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId, ...(feedback ? { feedback } : {}) } });
  }
  dispose(): void {
    this.#stop.abort();
    this.adapter.dispose();
  }

  /** Settles once the condition holds. A test that waits in vain runs into its time limit. */
  until(holds: () => unknown): Promise<void> {
    return new Promise((resolve) => {
      this.#waits.push({ holds: () => Boolean(holds()), done: resolve });
      this.#check();
    });
  }
  get ready(): Promise<void> {
    return this.until(() => this.session.link.state === 'ready');
  }
  asked(count = 1): Promise<void> {
    return this.until(() => this.session.asks.length >= count);
  }
  ended(at = 0): Promise<void> {
    return this.until(() => this.session.turns[at] && this.session.turns[at].status !== 'running');
  }

  get turn(): Turn {
    const turn = this.session.turns.at(-1);
    if (!turn) throw new Error('no turn yet');
    return turn;
  }
  get ask(): Ask {
    const ask = this.session.asks[0];
    if (!ask) throw new Error('nothing is asked');
    return ask;
  }
  /** Text, thoughts and cards of the last turn, one short line each. */
  get shown(): string[] {
    return this.turn.parts.map((part) => {
      if (part.kind === 'text' || part.kind === 'thought') return `${part.kind}: ${part.text}`;
      if (part.kind === 'call') return `call ${part.call.name} ${part.call.status}`;
      if (part.kind === 'notice') return `notice: ${part.notice.text}`;
      return part.kind === 'prompt' ? `prompt: ${textOf(part.content)}` : `content ${part.content.type}`;
    });
  }
  call(id: string) {
    const part = this.turn.parts.find((one) => one.id === id);
    if (part?.kind !== 'call') throw new Error(`no call ${id}`);
    return part.call;
  }

  #take(event: SessionEvent): void {
    this.events.push(event);
    this.session = reduce(this.session, event);
    this.#check();
  }
  #check(): void {
    for (const wait of [...this.#waits]) {
      if (!wait.holds()) continue;
      this.#waits = this.#waits.filter((one) => one !== wait);
      wait.done();
    }
  }
}

function textOf(content: readonly Content[]): string {
  return content.map((one) => (one.type === 'text' ? one.text : one.type)).join('');
}
