import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { silentLog } from '../../src/base/log.ts';
import { type AhpSetup, type AhpState, newAhp } from '../../src/protocols/ahp/clientState.ts';
import { ahpMachine } from '../../src/protocols/ahp/machine.ts';
import { Driver } from '../../src/protocols/driver.ts';
import type { AgentHost } from '../../src/serve/host.ts';
import type { Approval, Session, ToolCall } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { LinkError, type LinkEvents } from '../../src/transport/link.ts';
import { LIMITS } from '../protocols/ahp/cases.ts';
import { randomFrom } from '../random.ts';
import { AhpClient } from './ahpClient.ts';
import { hostFolder, hosting } from './hosting.ts';

/* A session of the host as Parley's own view shows it, whose connection is lost at any time. */

const NAME = '0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHAT = `ahp-chat:/${NAME}`;
const call: ToolCall = { id: 'c', name: 'Edit', title: 'Edit', kind: 'edit', status: 'pending', inputText: '', output: [], locations: [] };
const copy = <T>(value: T): T => (value === undefined ? value : JSON.parse(JSON.stringify(value)));
const untilIdle = () => new Promise((resolve) => setImmediate(resolve));

/** The way to a host, which can be cut. What is sent while it is cut waits, as in a socket that opens. */
class Way {
  readonly #host: AgentHost;
  #isCut = false;
  #waiting: (() => void)[] = [];
  /** Settles when the host has done what the connection before has brought. */
  #former: Promise<unknown> = Promise.resolve();
  #cut: ((arrives: boolean) => void) | undefined;

  constructor(host: AgentHost) {
    this.#host = host;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** `arrives`: what was sent last reaches the host, and its answer is lost. */
  cut(arrives: boolean): void {
    this.#isCut = true;
    this.#cut?.(arrives);
  }

  mend(): void {
    this.#isCut = false;
    for (const go of this.#waiting.splice(0)) go();
  }

  open(events: LinkEvents) {
    const former = this.#former;
    let [isOpen, arrives] = [true, true];
    const peer = {
      notify: (method: string, params: object) => {
        const told = copy(params);
        if (isOpen) events.message(method, told);
      },
    };
    let connection: ReturnType<AgentHost['connect']> | undefined;
    let last: Promise<unknown> = new Promise<void>((resolve) => (this.#isCut ? this.#waiting.push(resolve) : resolve()))
      .then(() => former)
      .then(() => {
        if (isOpen) connection = this.#host.connect(peer);
      });
    const close = (sent: boolean) => {
      if (!isOpen) return;
      [isOpen, arrives] = [false, sent];
      this.#cut = undefined;
      this.#former = last.then(() => connection?.closed());
      events.closed({ reason: 'It was cut.', failure: 'broken', stderr: '' });
    };
    this.#cut = close;
    const inTurn = (send: () => Promise<unknown> | undefined) => {
      const sent = last.then(() => (arrives ? send() : undefined));
      last = sent.catch(() => {});
      return sent;
    };
    return {
      request: (method: string, params: unknown) =>
        new Promise<unknown>((resolve, reject) => {
          inTurn(() => connection?.asked(method, copy(params))).then(
            (result) => isOpen && resolve(copy(result)),
            ({ code, message }: { readonly code?: number; readonly message: string }) =>
              isOpen && reject(new LinkError({ kind: 'refused', message, code: code ?? 0 })),
          );
        }),
      notify: (method: string, params: unknown) => void inTurn(() => connection?.notified(method, copy(params))).catch(() => {}),
      answer: () => {},
      close: () => queueMicrotask(() => close(true)),
    };
  }
}

/** A window that shows a session of the host. */
function windowOn(way: Way, folder: string, resume: AhpSetup['resume'], clientId: string) {
  let session: Session = newSession('s', { protocol: 'ahp', name: 'Fake' }, folder);
  const setup: AhpSetup = {
    provider: 'fake',
    folder: pathToFileURL(folder).href,
    resume,
    shown: [],
    newId: NAME,
    clientId,
    client: { name: 'Parley', version: '0' },
    window: 'w',
    tools: [],
    limits: { ...LIMITS, reconnect: Array<number>(10).fill(0) },
  };
  const driver = new Driver<AhpState>(ahpMachine, newAhp(`${clientId}.`, setup), {
    now: () => 1000,
    emit: (event) => {
      session = reduce(session, event);
    },
    log: silentLog,
    links: { host: (_params, events) => way.open(events) },
  });
  driver.feed({ on: 'start' });
  const until = async (holds: (now: Session) => boolean) => {
    while (!holds(session)) await untilIdle();
  };
  return { driver, until, now: () => session };
}

/** What a user sees of the turns that the host has. */
function seen({ turns }: Session, known: ReadonlySet<string>) {
  return turns
    .filter(({ id }) => known.has(id))
    .map(({ id, status, parts, prompt }) => ({
      id,
      // A turn that failed while it was being stopped was stopped, for the one who did that.
      isDone: status === 'done',
      prompt,
      parts: parts.map((part) => {
        if (part.kind === 'call') return [part.kind, part.call.id, part.call.status, part.call.output];
        return 'text' in part ? [part.kind, part.text] : part.kind === 'prompt' ? [part.kind, part.content] : [part.kind];
      }),
    }));
}

async function randomRun(t: TestContext, seed: number): Promise<void> {
  const random = randomFrom(seed);
  const folder = hostFolder();
  let ids = 0;
  const served = hosting(
    folder,
    () => 1000,
    () => `id-${++ids}`,
  );
  t.after(served.end);
  const { host, last } = served;
  const way = new Way(host);
  const window = windowOn(way, folder, null, 'window');
  await window.until(({ link }) => link.state === 'ready');
  const phone = new AhpClient(host);
  await phone.open('phone', 'Phone');
  await phone.subscribe(CHAT);
  const own = () => served.sessions.get(NAME);
  const running = () => {
    const turn = own()?.store.now.turns.at(-1);
    return turn?.status === 'running' ? turn : undefined;
  };
  let count = 0;
  const words = (text: string) => [{ type: 'text', text }] as const;
  const step = async (at: number) => {
    const turn = running();
    if (random(5) === 0) return way.isCut ? way.mend() : way.cut(random(2) === 0);
    if (!turn) {
      count += 1;
      if (random(2) === 0)
        window.driver.feed({ on: 'intent', intent: { type: 'prompt', turnId: `w${count}`, content: words(`w${count}`) } });
      else await phone.dispatch(CHAT, { type: 'chat/turnStarted', turnId: `p${count}`, startedAt: '', message: { text: `p${count}` } });
      return;
    }
    const turnId = turn.id;
    const callId = `${turnId}-c${random(2)}`;
    // Texts are told by their call and place.
    const diff = { path: `${folder}/a.txt`, before: callId, after: `${callId} after` };
    switch (random(11)) {
      case 0:
        return last().say({ type: 'part.added', turnId, part: { kind: 'call', id: callId, call: { ...call, id: callId } } });
      case 1: {
        const status = (['running', 'done', 'failed'] as const)[random(3)] ?? 'done';
        return last().say({ type: 'call.changed', turnId, callId, change: { status, output: [{ kind: 'diff', diff }] } });
      }
      case 2: {
        const options: Approval['options'] = [
          { id: 'once', label: 'Once', effect: 'allow_once' },
          { id: 'no', label: 'No', effect: 'reject_once' },
        ];
        const ask: Approval = {
          kind: 'approval',
          id: `a${at}`,
          turnId,
          callId,
          title: 'Edit',
          options,
          detail: { type: 'edit', diffs: [diff] },
        };
        return last().say({ type: 'ask.opened', ask });
      }
      case 3: {
        const ask = window.now().asks.at(-1);
        const optionId = ask?.kind === 'approval' ? ask.options[random(2)]?.id : undefined;
        const answer = { kind: 'option', optionId: optionId ?? '' } as const;
        if (ask) window.driver.feed({ on: 'intent', intent: { type: 'answer', askId: ask.id, answer } });
        return;
      }
      case 4:
        return last().endTurn((['done', 'cancelled', 'failed'] as const)[random(3)]);
      case 5:
        window.driver.feed({ on: 'intent', intent: { type: 'steer', turnId: `s${at}`, content: words(`s${at}`) } });
        return;
      case 6:
        if (random(3) === 0) window.driver.feed({ on: 'intent', intent: { type: 'cancel' } });
        return;
      default:
        return last().say({ type: 'text.delta', turnId, kind: random(2) ? 'text' : 'thought', partId: `p${random(2)}`, text: `${at} ` });
    }
  };
  for (let at = 0; at < 80; at += 1) {
    await step(at);
    if (served.conversations.length === 1 && own()?.store.now.link.state === 'opening') last().ready();
    if (random(3) > 0) await untilIdle();
  }
  if (way.isCut) way.mend();
  await window.until(({ link }) => link.state === 'ready');
  // Ends all that waits.
  for (let rest = 0; rest < 200 && (running() || own()?.store.now.queue.length); rest += 1) {
    if (running()) last().endTurn();
    await untilIdle();
  }
  await window.until(({ turns }) => turns.at(-1)?.status !== 'running');
  for (let rest = 0; rest < 20; rest += 1) await untilIdle();
  const fresh = windowOn(new Way(host), folder, { key: `fake:/${NAME}`, history: true }, 'fresh');
  await fresh.until(({ link }) => link.state === 'ready');
  const known = new Set(fresh.now().turns.map(({ id }) => id));
  assert.deepEqual(seen(window.now(), known), seen(fresh.now(), known), `seed ${seed}`);
  const lost = window.now().turns.filter(({ id, status }) => !known.has(id) && status !== 'failed' && status !== 'cancelled');
  assert.deepEqual(lost, [], `seed ${seed}: only prompts that failed or were stopped are not in the host`);
  const held = window.now().queue.filter(({ turnId }) => known.has(turnId));
  assert.deepEqual(held, [], `seed ${seed}: what the host has is not sent again`);
  assert.deepEqual(window.now().asks, []);
  window.driver.feed({ on: 'leave' });
  fresh.driver.feed({ on: 'leave' });
}

test('a view of a session in a host shows what the host has, however often its connection is lost', async (t) => {
  for (let seed = 1; seed <= 20; seed += 1) await randomRun(t, seed);
});
