import { randomUUID } from 'node:crypto';
import { headlessTools } from '../../src/headless/tools.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { diskFilesIn } from '../../src/live/diskFiles.ts';
import { LiveSession } from '../../src/live/liveSession.ts';
import type { Launch, Protocol, Resume } from '../../src/protocols/adapter.ts';
import type { Ports } from '../../src/protocols/ports.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Answer } from '../../src/session/intents.ts';
import type { Ask, Session, ToolCall, Turn, TurnId } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { callsOf } from '../../src/session/select.ts';

/** How long a real agent may take for one step before the test fails, in milliseconds. */
const PATIENCE = 120_000;

export interface Frame {
  readonly way: 'in' | 'out';
  readonly message: unknown;
}

/** A live session with a real agent, driven the way surfaces drive it. */
export interface Drive {
  readonly live: LiveSession;
  readonly frames: Frame[];
  readonly events: SessionEvent[];
  readonly logged: string[];
  /** Answers every ask as it opens; undefined leaves it open. The latest one counts. */
  onAsk(answer: (ask: Ask) => Answer | undefined): void;
  now(): Session;
  ready(): Promise<Session>;
  /** Sends a prompt and settles with the turn when it has ended. */
  prompt(text: string): Promise<Turn>;
  /** Sends a prompt and settles with its id once it has been sent. */
  begin(text: string): TurnId;
  ended(turnId: TurnId): Promise<Turn>;
  until(what: string, holds: (session: Session) => boolean): Promise<Session>;
  /** Ends the agent; settles when its process is gone. */
  stop(): Promise<void>;
}

export interface DriveOptions {
  readonly protocol: Protocol;
  readonly launch: Launch;
  readonly resume?: Resume;
  readonly ports?: Partial<Ports>;
  /** The clock of the session; that of the machine when absent. */
  readonly now?: () => number;
}

export function drive(options: DriveOptions): Drive {
  const { cwd } = options.launch;
  const frames: Frame[] = [];
  const events: SessionEvent[] = [];
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const live = new LiveSession(newSession(randomUUID(), { protocol: '', name: '' }, cwd), 'peer', {
    protocol: options.protocol,
    launch: async () => options.launch,
    ports: { tools: headlessTools(cwd), files: diskFilesIn(cwd), terminals: childTerminals({ cwd }), ...options.ports },
    rules: () => [],
    client: { name: 'parley-test', version: '0.1.0' },
    log: { trace: () => {}, info: log, warn: log, error: log },
    trace: (way, message) => void frames.push({ way, message }),
    now: options.now ?? Date.now,
    newId: randomUUID,
  });
  let answerAsk: (ask: Ask) => Answer | undefined = () => undefined;
  live.store.onChange(({ event }) => {
    events.push(event);
    if (event.type !== 'ask.opened') return;
    const answer = answerAsk(event.ask);
    if (answer) queueMicrotask(() => live.send({ type: 'answer', askId: event.ask.id, answer }));
  });
  const until = (what: string, holds: (session: Session) => boolean) =>
    new Promise<Session>((resolve, reject) => {
      const done = (then: () => void) => {
        clearTimeout(timer);
        listener.dispose();
        then();
      };
      const check = () => {
        const { now } = live.store;
        if (holds(now)) done(() => resolve(now));
        else if (now.link.state === 'closed') {
          const { reason, detail } = now.link;
          done(() => reject(new Error(`While waiting for ${what}: ${reason}\n${detail ?? ''}`)));
        }
      };
      const timer = setTimeout(
        () =>
          done(() =>
            reject(
              new Error(
                `No ${what} after ${PATIENCE / 1000} s.\n${frames
                  .slice(-20)
                  .map((frame) => JSON.stringify(frame).slice(0, 400))
                  .join('\n')}`,
              ),
            ),
          ),
        PATIENCE,
      );
      const listener = live.store.onChange(check);
      check();
    });
  const ended = async (turnId: TurnId) => {
    const session = await until('end of the turn', (now) => now.turns.some((turn) => turn.id === turnId && turn.status !== 'running'));
    return session.turns.find((turn) => turn.id === turnId) as Turn;
  };
  const begin = (text: string) => {
    const turnId = randomUUID();
    live.send({ type: 'prompt', turnId, content: [{ type: 'text', text }] });
    return turnId;
  };
  void live.start(options.resume);
  return {
    live,
    frames,
    events,
    logged,
    onAsk: (answer) => {
      answerAsk = answer;
    },
    now: () => live.store.now,
    ready: () => until('a ready agent', (session) => session.link.state === 'ready'),
    begin,
    ended,
    prompt: (text) => ended(begin(text)),
    until,
    async stop() {
      live.dispose();
      await live.ended;
    },
  };
}

/** Chooses the first option with this effect. */
export function choose(effect: 'allow_once' | 'reject_once'): (ask: Ask) => Answer | undefined {
  return (ask) => {
    const option = ask.kind === 'approval' ? ask.options.find((one) => one.effect === effect) : undefined;
    return option && { kind: 'option', optionId: option.id };
  };
}

export function textOf(turn: Turn): string {
  return turn.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** The calls of a turn, each as a short line for messages of failed tests. */
export function callLines(turn: Turn): readonly string[] {
  return callsOf(turn).map(
    (call: ToolCall) => `${call.kind} ${call.status} ${call.title.slice(0, 80)} [${call.output.map((one) => one.kind).join(' ')}]`,
  );
}
