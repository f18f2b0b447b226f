import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { LiveSession } from '../../../src/live/liveSession.ts';
import { openA2a } from '../../../src/protocols/a2a/index.ts';
import type { A2aTiming } from '../../../src/protocols/a2a/state.ts';
import type { Resume } from '../../../src/protocols/adapter.ts';
import type { Ports } from '../../../src/protocols/ports.ts';
import type { Answer } from '../../../src/session/intents.ts';
import type { Approval, Ask, Session, Turn } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';

export const FAST: A2aTiming = {
  ping: 50,
  cancelWithin: 300,
  restFor: 100,
  answer: 5000,
  card: 5000,
  verify: 60_000,
  notified: 60,
  keep: 20,
  retries: [0, 10, 10, 10],
  giveUp: 60_000,
};

export interface Talk {
  readonly live: LiveSession;
  readonly cwd: string;
  readonly files: Map<string, string>;
  /** By the path of a file that was written: where it lay when somebody decided. */
  readonly places: Map<string, string | undefined>;
  readonly logged: string[];
  now(): Session;
  until(what: string, holds: (session: Session) => boolean): Promise<Session>;
  /** Settles when the link is ready or closed. */
  opened(): Promise<Session>;
  /** Breaks the conversation off, as a window that goes, and opens it again. */
  reopen(): Promise<void>;
  begin(text: string): string;
  ended(turnId: string): Promise<Turn>;
  prompt(text: string): Promise<Turn>;
  asked(): Promise<Ask>;
  approval(): Promise<Approval>;
  answer(ask: Ask, answer: Answer): void;
}
export interface TalkOptions {
  /** What the user calls the agent. */
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, string>>;
  readonly timing?: Partial<A2aTiming>;
  readonly secrets?: Ports['secrets'];
  readonly resume?: Resume;
  /** Starts the agent instead of reaching it. */
  readonly start?: { readonly command: string; readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> };
  readonly tools?: Ports['tools'];
}

/** A live session with an agent at that address. Fails loudly when something is waited for longer than ten seconds. */
export function talk(t: Pick<TestContext, 'after'>, url: string, more: TalkOptions = {}): Talk {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-a2a-'));
  const files = new Map<string, string>();
  const places = new Map<string, string | undefined>();
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const live = new LiveSession(newSession('s', { protocol: 'a2a', name: more.name ?? '' }, cwd), 'test', {
    protocol: { title: 'A2A', launch: 'either', open: (launch, scene) => openA2a(launch, scene, { ...FAST, ...more.timing }) },
    launch: async () => ({
      ...(more.start ? { kind: 'process', env: {}, ...more.start } : { kind: 'http', url, headers: more.headers ?? {} }),
      cwd,
      ...(more.options ? { options: more.options } : {}),
    }),
    ports: {
      tools: more.tools ?? [],
      files: {
        read: async (file) => files.get(file) ?? '',
        write: async (file, text, _from, real) => {
          files.set(file, text);
          places.set(file, real);
        },
      },
      terminals: { create: () => Promise.reject(new Error('no terminals')) },
      ...(more.secrets ? { secrets: more.secrets } : {}),
    },
    rules: () => [],
    client: { name: 'test', version: '0' },
    log: { trace: () => {}, info: log, warn: log, error: log },
    trace: () => {},
    now: Date.now,
    newId: randomUUID,
  });
  t.after(async () => {
    live.dispose();
    await live.ended;
    rmSync(cwd, { recursive: true, force: true });
  });
  const until = (what: string, holds: (session: Session) => boolean) =>
    new Promise<Session>((resolve, reject) => {
      const check = () => {
        if (!holds(live.store.now)) return;
        clearTimeout(timer);
        listener.dispose();
        resolve(live.store.now);
      };
      const timer = setTimeout(() => {
        listener.dispose();
        reject(new Error(`No ${what}: ${JSON.stringify(live.store.now).slice(0, 4000)}\n${logged.join('\n')}`));
      }, 10_000);
      const listener = live.store.onChange(check);
      check();
    });
  const ended = async (turnId: string) => {
    const session = await until('end of the turn', (now) => now.turns.some((turn) => turn.id === turnId && turn.status !== 'running'));
    return session.turns.find((turn) => turn.id === turnId) as Turn;
  };
  const begin = (text: string) => {
    const turnId = randomUUID();
    live.send({ type: 'prompt', turnId, content: [{ type: 'text', text }] });
    return turnId;
  };
  const asked = async () => (await until('ask', (now) => now.asks.length > 0)).asks[0] as Ask;
  void live.start(more.resume);
  return {
    live,
    cwd,
    files,
    places,
    logged,
    now: () => live.store.now,
    until,
    opened: () => until('open link', (now) => now.link.state !== 'opening'),
    reopen: async () => {
      await live.stop();
      const { resumeKey: key } = live.store.now;
      await live.start(key === undefined ? undefined : { key, history: false });
    },
    begin,
    ended,
    prompt: (text) => ended(begin(text)),
    asked,
    approval: async () => {
      const ask = await asked();
      if (ask.kind !== 'approval') throw new Error('It is a question.');
      return ask;
    },
    answer: (ask, answer) => live.send({ type: 'answer', askId: ask.id, answer }),
  };
}

export function textOf(turn: Turn): string {
  return turn.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

export function option(ask: Approval, effect: 'allow_once' | 'allow_always' | 'reject_once'): Answer {
  return { kind: 'option', optionId: ask.options.find((one) => one.effect === effect)?.id ?? '' };
}
