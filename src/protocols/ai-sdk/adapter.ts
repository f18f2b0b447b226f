import { randomUUID } from 'node:crypto';
import { t } from '../../base/l10n.ts';
import { Lifetime } from '../../base/lifetime.ts';
import { messageOf } from '../../base/log.ts';
import type { Intent } from '../../session/intents.ts';
import type { Content } from '../../session/model.ts';
import { HttpClient } from '../../transport/http.ts';
import type { Adapter, AdapterContext, Launch } from '../adapter.ts';
import { Conversation } from './conversation.ts';
import { HUMAN_TOOL } from './humanTool.ts';
import { kept } from './keep.ts';
import { TIMING, type Timing } from './pause.ts';
import type { Post } from './post.ts';
import { resumed } from './resume.ts';
import { type Memory, Server } from './server.ts';
import { Turn, type TurnEnd } from './turn.ts';

type PastTurn = NonNullable<AdapterContext['past']>[number];
interface Failed {
  readonly turnId: string;
  readonly retry: NonNullable<TurnEnd['retry']>;
}
type HttpLaunch = Extract<Launch, { kind: 'http' }>;

/** A conversation with a chat server that speaks the UI message stream. There is no connection to open: each turn brings its own. */
export function openAiSdk(launch: HttpLaunch, scene: AdapterContext, memory: Memory = new Map(), timing: Timing = TIMING): Adapter {
  return new AiSdkAdapter(launch, scene, memory, timing);
}

class AiSdkAdapter implements Adapter {
  readonly ended: Promise<void>;
  readonly #scene: AdapterContext;
  readonly #timing: Timing;
  readonly #server: Server;
  readonly #conversation: Conversation;
  readonly #life = new Lifetime();
  #end: () => void = () => {};
  #turn: Turn | undefined;
  #leaving = false;
  /** Fires when what was under way before is not wanted any more. */
  readonly #pickingUp = new AbortController();
  /** The last turn failed, and what trying it again does. */
  #failed: Failed | undefined;

  constructor(launch: HttpLaunch, scene: AdapterContext, memory: Memory, timing: Timing) {
    this.#scene = scene;
    this.#timing = timing;
    this.#server = new Server(launch, this.#life.own(new HttpClient()), scene, memory);
    // Servers read the id as a UUID, and tell messages apart by theirs across conversations.
    const id = scene.resume?.key ?? randomUUID();
    this.#conversation = new Conversation(id, this.#server, randomUUID, scene.past ?? []);
    const last = scene.past?.at(-1);
    if (last?.status === 'failed') this.#failed = { turnId: last.id, retry: kept(last.adapterState)?.unsent ?? 'regenerate' };
    for (const turn of scene.past ?? []) for (const part of turn.parts) if (part.kind === 'call') this.#conversation.started.add(part.id);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    // Not from inside open: the caller does not have the adapter yet.
    queueMicrotask(() => this.#ready(id));
    const stop = () => this.dispose();
    scene.signal.addEventListener('abort', stop, { once: true });
    this.#life.onEnd(() => scene.signal.removeEventListener('abort', stop));
  }

  send(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.#begin(intent.turnId, intent.content, intent);
      case 'command':
        return this.#begin(intent.turnId, [{ type: 'text', text: [`/${intent.path.join(' ')}`, intent.args].filter(Boolean).join(' ') }]);
      case 'cancel':
        return void this.#turn?.stop();
      case 'answer':
        return this.#turn?.answer(intent.askId, intent.answer);
      default:
        return;
    }
  }

  dispose(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#pickingUp.abort();
    const turn = this.#turn;
    this.#turn = undefined;
    const over = turn ? turn.leave() : Promise.resolve();
    void over
      .catch((error: unknown) => this.#scene.log.error('Leaving a turn failed', error))
      .finally(() => {
        this.#life.dispose();
        this.#end();
      });
  }

  #ready(id: string): void {
    if (this.#leaving) return;
    const { emit } = this.#scene;
    const { settings, problems } = this.#server;
    const url = new URL(settings.url);
    emit({ type: 'resume.set', key: id });
    for (const text of problems) emit({ type: 'notice', notice: { level: 'warn', text, next: ['openSettings'] } });
    if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) this.#sayWhatGoes(url);
    const accepted = settings.tools === 'none' ? [] : [...this.#server.lent.map((tool) => tool.name), HUMAN_TOOL];
    emit({
      type: 'link.ready',
      agent: { protocol: 'ai-sdk', name: this.#scene.name ?? url.host },
      offers: { images: true, edit: true, feedback: true, tools: { accepted, rejected: [] } },
    });
    const last = this.#scene.resume && this.#scene.past?.at(-1);
    if (!last || !wasInterrupted(last)) return;
    if (this.#conversation.asks) this.#askAgain(last);
    else {
      this.#pickUp(last).catch((error: unknown) => this.#scene.log.error('Picking up what was under way failed', error));
    }
  }

  /** Once for each server, as long as the window is open. */
  #sayWhatGoes(url: URL): void {
    const { learned } = this.#server;
    if (learned.told) return;
    learned.told = true;
    const found = t('What is said here goes to {0}, and so does what the editor’s tools find: files, selections, problems.', url.host);
    this.#scene.emit({ type: 'notice', notice: { level: 'info', text: found } });
    if (url.protocol === 'https:') return;
    const open = t('The connection to {0} is not encrypted: messages, keys and what tools find can be read on the way.', url.host);
    this.#scene.emit({ type: 'notice', notice: { level: 'warn', text: open } });
  }

  /** What was under way when the window closed may still be: then it is shown from its beginning (ai-sdk.md §10). */
  async #pickUp(last: PastTurn): Promise<void> {
    const { emit, now, newId } = this.#scene;
    const nothingYet = { resumableId: undefined, runId: undefined, assembly: { received: 0 } };
    const cut = { chatId: this.#conversation.id, response: nothingYet, exchange: this.#server.exchange, timing: this.#timing };
    await this.#server.reread();
    const found = await resumed(this.#server.settings, { ...cut, signal: this.#pickingUp.signal });
    if (!found) return;
    if (this.#turn || this.#leaving) return found.answer.dispose();
    const turnId = newId();
    // A turn of several responses is not replayed as a whole: what it showed stays, the rest comes in a turn of its own.
    const whole = !last.parts.some((part) => part.kind === 'call');
    if (whole) {
      this.#conversation.dropAnswer();
      this.#conversation.renamed(last.id, turnId);
      emit({ type: 'turns.removed', from: last.id });
    }
    const prompt = whole ? last.prompt : [];
    emit({ type: 'turn.started', turnId, at: now(), prompt });
    this.#run(turnId, (turn) => turn.run({ trigger: 'submit-message', continues: false }, found.answer));
  }

  /** The user had not answered when the window closed: the same turn waits for them again. */
  #askAgain(last: PastTurn): void {
    const turnId = this.#scene.newId();
    this.#conversation.renamed(last.id, turnId);
    this.#scene.emit({ type: 'turns.removed', from: last.id });
    this.#scene.emit({ type: 'turn.started', turnId, at: this.#scene.now(), prompt: last.prompt });
    this.#run(turnId, (turn) => turn.goOn());
  }

  #begin(turnId: string, content: readonly Content[], how: { readonly replaces?: string; readonly again?: string } = {}): void {
    if (this.#turn || this.#leaving) {
      this.#scene.log.warn('A prompt came while a turn was running; it is left out.');
      return;
    }
    const { emit, now } = this.#scene;
    this.#pickingUp.abort();
    const failed = this.#failed?.turnId === how.again ? this.#failed : undefined;
    const replaced = failed?.turnId ?? how.replaces;
    this.#failed = undefined;
    const instead = failed ? this.#tryAgain(failed, turnId, content) : replaced && this.#conversation.sayInstead(replaced, turnId, content);
    if (instead) emit({ type: 'turns.removed', from: replaced ?? '' });
    emit({ type: 'turn.started', turnId, at: now(), prompt: content });
    const post = instead || this.#conversation.say(turnId, content);
    this.#run(turnId, (turn) => turn.run(post));
  }

  #run(turnId: string, how: (turn: Turn) => Promise<TurnEnd>): void {
    const turn = new Turn(turnId, {
      scene: this.#scene,
      server: this.#server,
      conversation: this.#conversation,
      timing: this.#timing,
    });
    this.#turn = turn;
    void how(turn).then((end) => this.#over(turn, end));
  }

  /** In the place of the failed turn: the request that did not get through is made again, or the answer is asked for anew. */
  #tryAgain({ turnId: failed, retry }: Failed, turnId: string, content: readonly Content[]): Post | undefined {
    if (retry === 'regenerate') return this.#conversation.sayInstead(failed, turnId, content);
    this.#conversation.renamed(failed, turnId);
    return retry;
  }

  #over(turn: Turn, end: TurnEnd): void {
    if (this.#turn !== turn) return;
    this.#turn = undefined;
    const { retry, ...how } = end;
    if (retry !== undefined) this.#failed = { turnId: turn.id, retry };
    try {
      this.#scene.emit({ type: 'turn.ended', turnId: turn.id, at: this.#scene.now(), ...how });
    } catch (error) {
      this.#scene.log.error(`Ending a turn failed: ${messageOf(error)}`, error);
    }
  }
}

/** Its end was that of the window, not its own: what fails here has a code. */
function wasInterrupted(turn: PastTurn): boolean {
  return turn.status === 'failed' && turn.error?.code === undefined;
}
