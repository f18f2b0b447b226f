import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId, Fault, Field } from '../../session/model.ts';
import type { HttpAnswer } from '../../transport/httpAnswer.ts';
import { HttpFailure } from '../../transport/httpFailure.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Tool } from '../ports.ts';
import { continueAsk, verdictOf } from './approvals.ts';
import { Asks } from './asks.ts';
import type { StreamEnd } from './chunkStream.ts';
import { Telling } from './codec.ts';
import type { Conversation } from './conversation.ts';
import { openStream, Refusal } from './exchange.ts';
import { HeldResults } from './heldResults.ts';
import { closeOpenCalls, dropUnfinishedInputs, saysNothing } from './history.ts';
import { humanTool } from './humanTool.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { Timing } from './pause.ts';
import type { Post } from './post.ts';
import { ChatResponse } from './response.ts';
import { resumed } from './resume.ts';
import type { UiMessage } from './schema.ts';
import type { Server } from './server.ts';
import { StepCalls } from './stepCalls.ts';

export interface TurnDeps {
  readonly scene: AdapterContext;
  readonly server: Server;
  readonly conversation: Conversation;
  readonly timing: Timing;
}
/** How a turn ended, and what trying again would do. */
export interface TurnEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
  readonly retry?: Post | 'regenerate';
}

/** From the user's message to the moment they may write again, however many requests that takes. */
export class Turn {
  readonly id: string;
  readonly #deps: TurnDeps;
  readonly #asks: Asks;
  readonly #telling: Telling;
  readonly #calls: StepCalls;
  readonly #tools: readonly Tool[];
  /** The user wants no more. */
  readonly #stopped = new AbortController();
  /** The sockets are closed. */
  readonly #cut = new AbortController();
  #response: ChatResponse | undefined;
  /** How often the agent has gone on by itself since a user last did something. */
  #rounds = 0;
  #key: Promise<boolean> | undefined;
  /** Where its messages begin when the user said nothing. */
  readonly #from: number;

  constructor(id: string, deps: TurnDeps) {
    this.id = id;
    this.#deps = deps;
    this.#from = deps.conversation.messages.length;
    const { scene, conversation, server, timing } = deps;
    const emit = (event: SessionEvent) => scene.emit(event);
    this.#asks = new Asks(emit);
    this.#telling = new Telling(id, emit);
    this.#tools = [...server.lent, humanTool((field, signal) => this.#askPerson(field, signal))];
    this.#calls = new StepCalls({
      turnId: id,
      scene,
      server,
      conversation,
      timing,
      asks: this.#asks,
      telling: this.#telling,
      tools: this.#tools,
      held: new HeldResults(server, conversation.id, timing),
      response: () => this.#response,
      stopped: this.#stopped.signal,
      personActed: () => {
        this.#rounds = 0;
      },
      newKey: (why, signal) => this.#keyFor(why, signal),
      mayCallAgain: () => this.#mayCallAgain(),
      waits: (on) => this.#keep(on),
    });
  }

  /** Never rejects. Settles when the turn is over and nothing of it is left running. `under`: the response is there already. */
  run(first: Post, under?: HttpAnswer): Promise<TurnEnd> {
    // Tried again: what the turn that failed had shown stands in this one.
    if (first.continues) this.#telling.adopt([], this.#deps.conversation.assistant(true).parts);
    return this.#toEnd(first, () => this.#respond(first, under));
  }

  /** Goes on with a message whose approvals nobody had answered when the window was closed. */
  goOn(): Promise<TurnEnd> {
    return this.#toEnd({ trigger: 'submit-message', continues: true }, (post) => this.#askAgain(post));
  }

  async #toEnd(first: Post, begin: (post: Post) => Promise<Post | TurnEnd>): Promise<TurnEnd> {
    const end = await this.#postToEnd(first, begin);
    this.#calls.end();
    this.#response?.over.abort();
    this.#deps.conversation.dropEmpty();
    const { retry } = end;
    this.#keep(true, typeof retry === 'object' && retry.tells ? retry : undefined);
    return end;
  }

  async #postToEnd(first: Post, begin: (post: Post) => Promise<Post | TurnEnd>): Promise<TurnEnd> {
    let post = first;
    try {
      for (let next = await begin(post); ; next = await this.#respond(post)) {
        if ('status' in next) return next;
        if (!(await this.#mayGoOn()))
          return this.#stopped.signal.aborted ? this.#cancelled() : { status: 'done', stop: t('Stopped here.') };
        post = next;
      }
    } catch (error) {
      if (this.#stopped.signal.aborted) return this.#cancelled();
      return failed(error, post);
    }
  }

  answer(askId: AskId, answer: Answer): void {
    this.#asks.answer(askId, answer);
  }

  /** Stops at once on this side; a server that has an address for it is told first (ai-sdk.md §11). */
  async stop(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    this.#calls.stopAll();
    const url = this.#response && !this.#response.over.signal.aborted ? this.#stopUrl(this.#response) : undefined;
    if (url !== undefined) {
      const { client, headers } = this.#deps.server.exchange;
      const signal = AbortSignal.timeout(this.#deps.timing.farewell);
      await client
        .request({ method: 'POST', url, headers: { 'content-type': 'application/json', ...headers }, body: '{}', signal })
        .then((answer) => answer.dispose())
        .catch((error: unknown) => this.#deps.scene.log.info(`The server was not told to stop: ${messageOf(error)}`));
    }
    this.#cut.abort();
  }

  /** The editor goes: what the server holds open for us is told so. */
  async leave(): Promise<void> {
    await this.#calls.sayGoodbye();
    this.#stopped.abort();
    this.#calls.stopAll();
    this.#cut.abort();
  }

  /** One request and its whole response. Gives the next request, or the end. */
  async #respond(post: Post, given?: HttpAnswer): Promise<Post | TurnEnd> {
    const { conversation, server } = this.#deps;
    const answer = given ?? (await this.#open(post));
    const { exchange, settings } = server;
    if (this.#stopped.signal.aborted) {
      answer.dispose();
      return this.#cancelled();
    }
    for (const told of post.tells ?? []) conversation.delivered.add(told);
    const response = this.#responseOn(conversation.assistant(post.continues), answer);
    let end = await response.read(answer);
    let outcome = this.#outcome(response, end);
    // A cut response may go on elsewhere; so may one that ended right after it took a result.
    for (let tries = 0; tries < 3 && (outcome.kind === 'cut' || this.#calls.tookWithoutEcho(response)); tries++) {
      const more = await resumed(settings, {
        chatId: conversation.id,
        response,
        exchange,
        timing: this.#deps.timing,
        signal: this.#cut.signal,
      });
      if (!more) break;
      const before = response.assembly.received;
      end = await response.read(more.answer, more.replay);
      outcome = this.#outcome(response, end);
      if (response.assembly.received > before) tries = -1;
    }
    response.over.abort();
    response.assembly.end();
    // Stop may have come while the rest of a cut response was looked for.
    return this.#decide(response, this.#stopped.signal.aborted ? { kind: 'stopped' } : outcome, end, post);
  }

  /** The profile's address, or the one the response named; headers go to no other origin than the chat's. */
  #stopUrl(response: ChatResponse): string | undefined {
    const { stopUrl, url } = this.#deps.server.settings;
    if (stopUrl !== undefined) return stopUrl.replaceAll('{chatId}', encodeURIComponent(this.#deps.conversation.id));
    const named = response.stopUrl;
    const place = named !== undefined && URL.canParse(named, url) ? new URL(named, url) : undefined;
    return place?.origin === new URL(url).origin ? place.href : undefined;
  }

  #responseOn(message: UiMessage, answer?: HttpAnswer): ChatResponse {
    const { conversation, server } = this.#deps;
    const listener = { ...this.#calls.listener, otherMessage: () => conversation.assistant(false) };
    this.#response = new ChatResponse(message, answer, this.#telling, listener, server.exchange);
    return this.#response;
  }

  async #askAgain(post: Post): Promise<Post | TurnEnd> {
    const message = this.#deps.conversation.assistant(true);
    const parts = message.parts.splice(0);
    const response = this.#responseOn(message);
    message.parts.push(...parts);
    this.#telling.adopt([], parts);
    this.#calls.again(response);
    response.over.abort();
    return this.#decide(response, { kind: 'over', reason: undefined, said: false }, { done: true }, post);
  }

  #outcome(response: ChatResponse, end: StreamEnd): Outcome {
    return outcomeOf(response.assembly, end, this.#stopped.signal.aborted, this.#deps.server.settings.toolFlow === 'user-message');
  }

  async #decide(response: ChatResponse, outcome: Outcome, end: StreamEnd, post: Post): Promise<Post | TurnEnd> {
    const { message } = response.assembly;
    switch (outcome.kind) {
      case 'stopped':
        return this.#cancelled();
      case 'failed':
        return { status: 'failed', error: { message: outcome.message, next: ['retry'], code: 'error' }, retry: 'regenerate' };
      case 'aborted':
        if (outcome.reason) this.#notice('info', outcome.reason);
        return { status: 'cancelled', stop: t('The server stopped.') };
      case 'cut':
        if (this.#calls.accepted || !this.#calls.waiting) {
          const why = end.cut?.message ?? t('The connection was lost.');
          return {
            status: 'failed',
            error: { message: why, next: ['retry'], code: 'cut' },
            retry: post.continues && response.substance === 0 ? post : 'regenerate',
          };
        }
        break;
      case 'over':
        break;
    }
    dropUnfinishedInputs(message);
    if (outcome.kind === 'over' && outcome.reason === 'interrupted') return this.#done(outcome.reason, saysNothing(message));
    const next = await this.#calls.finish(response, outcome.kind === 'over' && outcome.said);
    if (this.#stopped.signal.aborted) return this.#cancelled();
    return next ?? this.#done(outcome.kind === 'over' ? outcome.reason : undefined, saysNothing(message));
  }

  async #open(post: Post): Promise<HttpAnswer> {
    const { conversation, server } = this.#deps;
    await server.reread();
    const { exchange, settings } = server;
    const send = () => {
      // Stop may have come while the profile was read, or a key asked for.
      this.#stopped.signal.throwIfAborted();
      const body = conversation.body(post, this.#tools);
      if (conversation.grownLarge(body))
        this.#notice('warn', t('This conversation has grown beyond 5 MB, and all of it is sent with each message.'));
      exchange.trace('out', JSON.parse(body));
      return openStream(exchange, { method: 'POST', url: settings.url, body, signal: this.#cut.signal });
    };
    try {
      return await send();
    } catch (error) {
      const refusedShape = error instanceof Refusal && (error.status === 400 || error.status === 422);
      if (refusedShape && conversation.learnVersion5()) return send();
      if (error instanceof Refusal && error.status === 401 && (await this.#newKey(error.said))) return this.#open(post);
      throw error;
    }
  }

  /** Several results that are refused need one key. */
  #keyFor(why: string, signal: AbortSignal): Promise<boolean> {
    this.#key ??= this.#newKey(why, signal)
      .catch((error: unknown) => {
        this.#deps.scene.log.error('The key could not be kept', error);
        return false;
      })
      .finally(() => {
        this.#key = undefined;
      });
    return this.#key;
  }

  /** The server wants a key: the user may enter one, which the editor keeps. */
  async #newKey(why: string, wanted = this.#stopped.signal): Promise<boolean> {
    const { server, scene } = this.#deps;
    if (!server.mayHaveKey) return false;
    const field: Field = { id: 'key', label: t('API key'), body: why, kind: 'secret', required: true };
    const ask = { kind: 'question', id: scene.newId(), turnId: this.id, ours: true, title: t('API key'), fields: [field] } as const;
    const answer = await this.#asks.ask(ask, AbortSignal.any([wanted, this.#stopped.signal]));
    const key = answer?.kind === 'fields' ? answer.values.key?.[0]?.trim() : undefined;
    if (!key) return false;
    await server.setKey(key);
    return true;
  }

  /** The agent goes on by itself once more. Many times in a row without a user having done anything: then the user decides. */
  async #mayGoOn(): Promise<boolean> {
    if (this.#rounds >= this.#deps.server.settings.maxAutoPosts) {
      const ask = continueAsk(this.#deps.scene.newId(), this.id, this.#rounds);
      const answer = await this.#asks.ask(ask, this.#stopped.signal);
      if (answer === undefined || !verdictOf(answer).approved) return false;
      this.#rounds = 0;
    }
    this.#rounds += 1;
    return true;
  }

  /** The same inside a response that is held open: there is no other way to end it than to stop. */
  async #mayCallAgain(): Promise<boolean> {
    const may = await this.#mayGoOn();
    if (!may) void this.stop();
    return may;
  }

  async #askPerson(field: Field, signal: AbortSignal) {
    const both = AbortSignal.any([signal, this.#stopped.signal]);
    const answer = await this.#asks.ask(
      { kind: 'question', id: this.#deps.scene.newId(), turnId: this.id, title: t('Question'), fields: [field] },
      both,
    );
    if (answer === undefined) return undefined;
    this.#rounds = 0;
    return answer.kind === 'fields' ? (answer.values[field.id] ?? []) : ('declined' as const);
  }

  /** Leaves behind what the next window needs to post these messages again; or nothing, while they are about to change. */
  #keep(on: boolean, unsent?: Post): void {
    const { conversation, scene } = this.#deps;
    scene.emit({ type: 'turn.adapterState', turnId: this.id, value: on ? conversation.keep(this.id, this.#from, unsent) : null });
  }

  #cancelled(): TurnEnd {
    const last = this.#deps.conversation.messages.at(-1);
    if (last?.role === 'assistant') closeOpenCalls([last], 'Cancelled by the user.');
    return { status: 'cancelled' };
  }

  #done(reason: string | undefined, empty: boolean): TurnEnd {
    if (reason === 'length') this.#notice('warn', t('The answer was cut at its greatest length.'), true);
    else if (reason === 'interrupted') this.#notice('warn', t('The answer was interrupted.'), true);
    else if (reason === 'content-filter') this.#notice('warn', t('The answer was cut by a content filter.'));
    else if (empty) this.#notice('info', t('The server sent an empty answer.'));
    return { status: 'done' };
  }

  #notice(level: 'info' | 'warn', text: string, goOn = false): void {
    const notice = { level, text, ...(goOn ? { next: ['continue'] as const } : {}) };
    this.#deps.scene.emit({ type: 'part.added', turnId: this.id, part: { kind: 'notice', id: this.#deps.scene.newId(), notice } });
  }
}

function failed(error: unknown, post: Post): TurnEnd {
  if (error instanceof Refusal)
    return { status: 'failed', error: { message: error.message, next: error.next, code: String(error.status) }, retry: post };
  if (error instanceof HttpFailure) {
    const next = error.kind === 'redirect' || error.kind === 'address' ? (['openSettings', 'retry'] as const) : (['retry'] as const);
    return { status: 'failed', error: { message: error.message, next, code: error.kind }, retry: post };
  }
  return { status: 'failed', error: { message: messageOf(error), next: ['retry', 'showLog'], code: 'internal' }, retry: post };
}
