import { t } from '../base/l10n.ts';
import type { ErrorAnswer } from '../base/outcomes.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Answer } from '../session/intents.ts';
import type { Ask, Content, Notice, Part, Remedy, ToolCall } from '../session/model.ts';
import type { Effect, Input, Machine, Port } from './machine.ts';
import {
  type CallState,
  type ConversationState,
  type Decline,
  find,
  type Lane,
  type NextPrompt,
  type OpenAsk,
  type OpenRequest,
  put,
  remove,
  type TurnState,
} from './state.ts';

/** `turn.ended` without what the step knows itself. `at`: where it ended at another time than now. */
export type TurnEnd = Omit<Extract<SessionEvent, { type: 'turn.ended' }>, 'type' | 'turnId' | 'at' | 'status'> & { readonly at?: number };
export type TurnStatus = Extract<SessionEvent, { type: 'turn.ended' }>['status'];
/** A part without id and parent, which the lane it is added to gives it. */
export type NewPart = Part extends infer P ? (P extends Part ? Omit<P, 'id' | 'parent'> : never) : never;
/** How long a turn may go on after a stop, in milliseconds: until a restart is offered, and until it is done unasked. */
export interface StopLimits {
  readonly offerRestart: number;
  readonly restart: number;
}
/** The shared empty list with which most steps begin; never filled. */
const NOTHING: Effect[] = [];
/** The timers of a stop. */
export const OFFER_RESTART = 'offer restart';
export const RESTART = 'restart';

/**
 * One step of a conversation: the state it changes, the effects it wants, the time. It is made for each input and holds nothing else. A
 * protocol extends it with `take` and its own methods; whatever every protocol does is here, in the order of a conversation.
 *
 * effects:  do · emit · emitAll · log · timer · newId
 * link:     open · close · linkClosed · notifyResumeFailed
 * turns:    startTurn · endTurn · showActivity · clearActivity · enqueue · nextPrompt
 * stopping: startStopping · clearStop · offerRestart · notStopping
 * parts:    text · addPart · notice · aboutApprovals · addCall · changeCall
 * requests of the agent: openRequest · answer · decline · closeRequest · refuse · port · portDone · drop
 * asks:     ask · replaceAsk · answerAsk · closeAsk · settle
 */
export abstract class Step<S extends ConversationState> {
  readonly state: S;
  /** The effects of the step so far. */
  effects: Effect[] = NOTHING;
  readonly now: number;
  constructor(state: S, now: number) {
    this.state = state;
    this.now = now;
  }
  abstract take(input: Input): void;

  do(effect: Effect): void {
    // Most steps have one effect. An empty list would make room for seventeen at its first push, for every piece of text.
    if (this.effects.length === 0) this.effects = [effect];
    else this.effects.push(effect);
  }
  emit(event: SessionEvent): void {
    const { phase } = this.state;
    if (phase !== 'left' && phase !== 'over') this.do({ do: 'emit', event });
  }
  emitAll(events: readonly SessionEvent[]): void {
    for (const event of events) this.emit(event);
  }
  log(level: 'trace' | 'info' | 'warn' | 'error', text: string): void {
    this.do({ do: 'log', level, text });
  }
  /** Starts a timer again under its name; null cancels it. */
  timer(timer: string, after: number | null): void {
    this.do({ do: 'timer', timer, after });
  }
  newId(): string {
    return `${this.state.seed}${++this.state.ids}`;
  }
  open(link: string, params: unknown): void {
    put(this.state.links, link, 'open');
    this.do({ do: 'open', link, params });
  }
  /** Its `closed` follows as an input. Nothing when it is closed or closing already. */
  close(link: string): void {
    if (find(this.state.links, link) !== 'open') return;
    put(this.state.links, link, 'closing');
    this.do({ do: 'close', link });
  }
  /** Tells the user that the agent cannot be used any more, and what to do about it. */
  linkClosed(reason: string, next: readonly Remedy[], detail?: string): void {
    this.emit({ type: 'link.closed', reason, ...(detail ? { detail } : {}), next, at: this.now });
  }
  /** The agent does not have the conversation that was to be resumed; a new one begins. */
  notifyResumeFailed(why = ''): void {
    this.notice('warn', t('The agent cannot take up this conversation, so it remembers nothing of it. {0}', why).trim());
  }

  // --- turns

  /** `at`: when it began, where the agent tells of it later. */
  startTurn<T extends NonNullable<S['turn']>>(turn: T, prompt: readonly Content[], at = this.now): T {
    this.state.turn = turn;
    this.emit({ type: 'turn.started', turnId: turn.id, at, prompt });
    return turn;
  }
  /** Ends the running turn, if any. Its open asks are settled without an answer, because the agent has moved on. */
  endTurn(status: TurnStatus, end: TurnEnd = {}): void {
    const { turn } = this.state;
    if (!turn) return;
    this.settle('turn', 'withdrawn');
    this.clearStop();
    this.state.turn = null;
    this.emit({ type: 'turn.ended', turnId: turn.id, at: this.now, status, ...end });
  }
  /** Explains why the turn shows no progress, until `clearActivity`. */
  showActivity(turn: TurnState, text: string): void {
    turn.waiting = true;
    this.emit({ type: 'turn.activity', turnId: turn.id, text });
  }
  clearActivity(turn: TurnState): void {
    if (!turn.waiting) return;
    turn.waiting = false;
    this.emit({ type: 'turn.activity', turnId: turn.id, text: null });
  }
  /** Keeps a prompt until the turn has ended; the protocol sends `nextPrompt()` then. */
  enqueue(prompt: NextPrompt): void {
    this.state.queue.push(prompt);
  }
  nextPrompt(): NextPrompt | undefined {
    return this.state.queue.shift();
  }

  // --- stopping: the protocol tells the agent; later a restart is offered, then done

  /** False when the turn is stopping already. Timers `OFFER_RESTART` and `RESTART` follow, unless the turn ends before. */
  startStopping(turn: TurnState, limits: StopLimits): boolean {
    if (turn.phase === 'stopping') return false;
    turn.phase = 'stopping';
    this.timer(OFFER_RESTART, limits.offerRestart);
    this.timer(RESTART, limits.restart);
    return true;
  }
  clearStop(): void {
    if (this.state.turn?.phase !== 'stopping') return;
    this.timer(OFFER_RESTART, null);
    this.timer(RESTART, null);
  }
  offerRestart(turn: TurnState): void {
    this.showActivity(turn, t('The agent is not stopping.'));
    this.notStopping(turn);
  }
  /** Offers the restart without a word about the turn's progress. */
  notStopping(turn: TurnState): void {
    this.emit({ type: 'notice', notice: { level: 'warn', text: t('The agent is not stopping.'), next: ['restart'], turnId: turn.id } });
  }

  // --- parts of a turn

  /** Appends to the open part of the lane. Text of another kind or message begins a new part. This is the hot path. */
  text(turn: TurnState, lane: Lane, kind: 'text' | 'thought', text: string, message: string | null = null): void {
    if (text === '') return;
    let { open } = lane;
    if (open === null || open.kind !== kind || open.message !== message) {
      open = lane.open = { kind, partId: `${turn.id}.${++turn.parts}`, message };
      lane.parts.push(open.partId);
    }
    const { partId } = open;
    if (lane.parent === null) this.emit({ type: 'text.delta', turnId: turn.id, kind, partId, text });
    else this.emit({ type: 'text.delta', turnId: turn.id, kind, partId, text, parent: lane.parent });
  }
  /** Adds a part behind the others and gives its id. */
  addPart(turn: TurnState, lane: Lane, part: NewPart, id = `${turn.id}.${++turn.parts}`): string {
    lane.open = null;
    lane.parts.push(id);
    const { parent } = lane;
    this.emit({ type: 'part.added', turnId: turn.id, part: { ...(parent === null ? { id } : { id, parent }), ...part } as Part });
    return id;
  }
  /** In a lane of the turn that runs, or else for the whole session. */
  notice(level: Notice['level'], text: string, lane?: Lane): void {
    const { turn } = this.state;
    if (turn && lane) this.addPart(turn, lane, { kind: 'notice', notice: { level, text } });
    else this.emit({ type: 'notice', notice: { level, text } });
  }
  /** Tells how the agent asks for approvals. The notice stays until the next one about that, however many prompts come in between. */
  aboutApprovals(level: Notice['level'], text: string): void {
    this.emit({ type: 'notice', notice: { level, text, about: 'approvals' } });
  }
  addCall<L extends Lane, C extends CallState>(turn: TurnState<L, C>, lane: Lane, call: C, shown: Omit<ToolCall, 'id'>): C {
    put(turn.calls, call.id, call);
    const { id } = call;
    const { parent } = lane;
    lane.open = null;
    lane.parts.push(id);
    const part: Part = { kind: 'call', id, ...(parent === null ? {} : { parent }), call: { id, ...shown } };
    this.emit({ type: 'part.added', turnId: turn.id, part });
    return call;
  }
  changeCall(turn: TurnState, callId: string, change: Partial<Omit<ToolCall, 'id' | 'appliedOnDisk'>>): void {
    this.emit({ type: 'call.changed', turnId: turn.id, callId, change });
  }

  // --- requests of the agent: each is answered once

  /**
   * Notes a request of the agent. Undefined when nothing remains to be done: it is open already (one answer is for both), or its turn is being
   * stopped. In a turn that is stopping, requests are declined at once, because some agents would wait for an answer for ever.
   */
  openRequest(id: string, link: string, decline: Decline, background = false): OpenRequest | undefined {
    const { requests, turn } = this.state;
    if (find(requests, id)) return undefined;
    const request = put(requests, id, { id, link, decline, background, ports: [] });
    if (turn?.phase !== 'stopping' || background) return request;
    this.decline(request);
    return undefined;
  }
  answer(id: string, result: unknown): void {
    const request = this.settleRequest(id);
    if (request) this.do({ do: 'answer', link: request.link, id, result });
  }
  decline({ id, link, decline }: OpenRequest): void {
    if (this.settleRequest(id)) this.do({ do: 'answer', link, id, ...decline });
  }
  /** The agent has settled its request itself: nothing is sent. */
  closeRequest(id: string): void {
    const request = this.settleRequest(id);
    if (request) this.do({ do: 'answer', link: request.link, id, none: true });
  }
  /** Answers a request that was not opened, or was, with an error. */
  refuse(link: string, id: string, code: number, message: string, data?: unknown): void {
    const error: ErrorAnswer = { code, message, ...(data === undefined ? {} : { data }) };
    this.settleRequest(id);
    this.do({ do: 'answer', link, id, error });
  }
  /** Calls a port. When it works for a request of the agent, it is dropped once that request is settled another way. */
  port(request: OpenRequest | null, call: string, port: Port, args: unknown): void {
    request?.ports.push(call);
    this.do({ do: 'port', call, port, args });
  }
  /** Removes a port that has replied from its request. */
  portDone(request: OpenRequest, call: string): void {
    const at = request.ports.indexOf(call);
    if (at >= 0) request.ports.splice(at, 1);
  }
  /** Stops a request or a port; its reply will not come. */
  drop(call: string): void {
    this.do({ do: 'drop', call });
  }
  private settleRequest(id: string): OpenRequest | undefined {
    const request = find(this.state.requests, id);
    if (!request) return undefined;
    remove(this.state.requests, id);
    for (const call of request.ports) this.drop(call);
    return request;
  }

  // --- asks: questions to the user, from the agent (with requests behind them) or from us

  ask(shown: Ask, about: unknown, requestId?: string): OpenAsk {
    const ask: OpenAsk = {
      id: shown.id,
      turnId: shown.turnId ?? null,
      callId: shown.callId ?? null,
      requests: requestId === undefined ? [] : [requestId],
      about,
      shown,
    };
    put(this.state.asks, ask.id, ask);
    this.emit({ type: 'ask.opened', ask: shown });
    return ask;
  }
  /** Asks again under another id when the subject has changed: users answer what they see. */
  replaceAsk(ask: OpenAsk, shown: Ask, about: unknown = ask.about): OpenAsk {
    this.closeAsk(ask, 'withdrawn');
    const again: OpenAsk = { ...ask, id: shown.id, about, shown };
    put(this.state.asks, again.id, again);
    this.emit({ type: 'ask.opened', ask: shown });
    return again;
  }
  /** Closes the ask with the user's answer, and answers the requests behind it. */
  answerAsk(ask: OpenAsk, answer: Answer, result: unknown): void {
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    for (const id of ask.requests) this.answer(id, result);
  }
  closeAsk(ask: OpenAsk, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    remove(this.state.asks, ask.id);
    this.emit({ type: 'ask.closed', askId: ask.id, how });
  }
  /**
   * Settles asks: those of the turn, or all. `declined`: the agent receives a refusal. `withdrawn`: it receives nothing, because it is gone or has
   * moved on. Asks of ours that belong to no turn, and background requests, are settled by `everything` only.
   */
  settle(what: 'turn' | 'everything', how: 'declined' | 'withdrawn'): void {
    const { asks, requests } = this.state;
    for (const ask of Object.values(asks)) {
      const outlivesTurn = ask.turnId === null && (ask.requests.length === 0 || ask.requests.some((id) => find(requests, id)?.background));
      if (what === 'everything' || !outlivesTurn) this.closeAsk(ask, how === 'declined' ? 'cancelled' : 'withdrawn');
    }
    for (const request of Object.values(requests)) {
      if (what === 'turn' && request.background) continue;
      if (how === 'declined') this.decline(request);
      else this.closeRequest(request.id);
    }
  }
}

/** The machine of a protocol's step. After `over` nothing is done, except that a late request is left without an answer. */
export function machineOf<S extends ConversationState>(ProtocolStep: new (state: S, now: number) => Step<S>): Machine<S> {
  return (state, input, now) => {
    if (state.phase === 'over') return [];
    const step = new ProtocolStep(state, now);
    if (input.on === 'message' || input.on === 'asked') state.heard += 1;
    else if (input.on === 'closed') remove(state.links, input.link);
    step.take(input);
    return step.effects;
  };
}
