import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { LiveSession } from '../../../src/live/liveSession.ts';
import type { LaunchOptions } from '../../../src/protocols/adapter.ts';
import { openAiSdk } from '../../../src/protocols/ai-sdk/index.ts';
import type { Memory } from '../../../src/protocols/ai-sdk/server.ts';
import type { AiSdkTiming } from '../../../src/protocols/ai-sdk/state.ts';
import type { Ports, Tool } from '../../../src/protocols/ports.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { Answer } from '../../../src/session/intents.ts';
import type { Ask, Session, ToolCall, Turn } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { callsOf } from '../../../src/session/select.ts';
import { FakeChat, type Route } from '../../fakes/aiSdk.ts';

/** The waits of real life, shortened. */
export const FAST: AiSdkTiming = { grace: 5, quiet: 20, refused: 40, deliveries: [2, 4, 8, 8], resumes: [2, 4, 8], close: 200 };

export interface TalkOptions {
  readonly routes: Readonly<Record<string, Route>>;
  readonly tools?: readonly Tool[];
  readonly hands?: readonly Tool[];
  readonly secrets?: Map<string, string>;
  readonly options?: LaunchOptions;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timing?: Partial<AiSdkTiming>;
  readonly path?: string;
  /** What other conversations have learned of the server. */
  readonly memory?: Memory;
  /** Read anew each time the settings are. */
  readonly profile?: { readonly headers: Readonly<Record<string, string>>; readonly path: string };
}

/** A live session with the fake server, and short ways to play the user. */
export async function talk(t: TestContext, options: TalkOptions) {
  const server = new FakeChat(options.routes);
  await server.start();
  t.after(() => server.stop());
  const live = open(server.url + (options.path ?? '/api/chat'), options, newSession(randomUUID(), { protocol: 'ai-sdk', name: 'x' }, '/w'));
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  return { server, ...person(live) };
}

export function open(url: string, options: Omit<TalkOptions, 'routes'>, session: Session): LiveSession {
  return new LiveSession(session, 'p', {
    protocol: {
      title: 'AI SDK',
      launch: 'http',
      open: (launch, scene) => {
        assert.equal(launch.kind, 'http');
        if (launch.kind !== 'http') throw new Error();
        return openAiSdk(launch, scene, options.memory, { ...FAST, ...options.timing });
      },
    },
    launch: async () => ({
      kind: 'http',
      url: options.profile ? new URL(options.profile.path, url).href : url,
      headers: options.profile?.headers ?? options.headers ?? {},
      cwd: '/w',
      ...(options.options === undefined ? {} : { options: options.options }),
    }),
    ports: {
      tools: options.tools ?? [],
      ...(options.hands ? { remoteFileTools: options.hands } : {}),
      ...(options.secrets ? { secrets: secretsIn(options.secrets) } : {}),
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    },
    rules: () => [],
    client: { name: 'test', version: '0' },
    log: silentLog,
    trace: () => {},
    now: () => Date.now(),
    newId: randomUUID,
  });
}

function secretsIn(kept: Map<string, string>): NonNullable<Ports['secrets']> {
  return {
    get: async (name) => kept.get(name),
    set: async (name, value) => void (value === undefined ? kept.delete(name) : kept.set(name, value)),
  };
}

export function person(live: LiveSession) {
  const events: SessionEvent[] = [];
  live.store.onChange((change) => events.push(change.event));
  const now = () => live.store.now;
  const until = (holds: (session: Session) => boolean): Promise<Session> =>
    new Promise((resolve) => {
      const check = () => {
        if (!holds(live.store.now)) return;
        listener.dispose();
        resolve(live.store.now);
      };
      const listener = live.store.onChange(check);
      check();
    });
  const turn = (id: string): Turn => now().turns.find((one) => one.id === id) ?? assert.fail(`no turn ${id}`);
  const ended = async (id: string): Promise<Turn> => {
    await until((session) => session.turns.some((one) => one.id === id && one.status !== 'running'));
    return turn(id);
  };
  let count = 0;
  /** Says something; gives the turn's id at once. */
  const say = (text: string): string => {
    count += 1;
    const turnId = `turn${count}`;
    live.send({ type: 'prompt', turnId, content: [{ type: 'text', text }] });
    return turnId;
  };
  return {
    live,
    events,
    now,
    until,
    turn,
    ended,
    say,
    /** Says something and waits for the end of the turn. */
    prompt: (text = 'hello'): Promise<Turn> => ended(say(text)),
    /** Presses "Try again" below the last turn, and waits for the end of the one that takes its place. */
    retry: (): Promise<Turn> => {
      const last = live.store.now.turns.at(-1) ?? assert.fail('no turn');
      live.send({ type: 'prompt', turnId: `${last.id}-again`, content: last.prompt, again: last.id });
      return ended(`${last.id}-again`);
    },
    /** Waits for the next ask. */
    asked: async (): Promise<Ask> => (await until((session) => session.asks.length > 0)).asks[0] ?? assert.fail(),
    answer: (ask: Ask, answer: Answer | string): void =>
      live.send({ type: 'answer', askId: ask.id, answer: typeof answer === 'string' ? { kind: 'option', optionId: answer } : answer }),
    stop: (): void => live.send({ type: 'cancel' }),
  };
}

export const textOf = (turn: Turn): string => turn.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('|');
export const noticesOf = (turn: Turn): readonly string[] =>
  turn.parts.flatMap((part) => (part.kind === 'notice' ? [part.notice.text] : []));
export const call = (turn: Turn, id: string): ToolCall => callsOf(turn).find((one) => one.id === id) ?? assert.fail(`no call ${id}`);

/** A tool that answers with what it was given. */
export function echoTool(name: string, run: Tool['run'] = async (input) => ({ ok: true, text: JSON.stringify({ got: input }) })): Tool {
  return {
    name,
    description: `Test tool ${name}.`,
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
    run,
  };
}
