import { agentError, answerCut, t } from '../../base/l10n.ts';
import { find, put } from '../../conversation/state.ts';
import type { Answer } from '../../session/intents.ts';
import type { Remedy } from '../../session/model.ts';
import { ChatCalls, offeredTools } from './calls.ts';
import { continueAsk, declareTools, decodeChunk, otherProtocol } from './codec.ts';
import { closeOpenCalls, isEmpty, needsVersion6, requestBody, toSave } from './history.ts';
import { applyChunk, endAssembly, isTerminal, isTool, newAssembly, progressOf, stepCalls, UNOBSERVED } from './message.ts';
import { isAccepted, isWaiting, newsOf, tookWithoutEcho, undelivered } from './results.ts';
import {
  type AiSdkSettings,
  type Chunk,
  isRecord,
  type Learned,
  type Post,
  type ResumePoint,
  type ToolPart,
  type UiMessage,
  type UiPart,
} from './schema.ts';
import { MASKED } from './shown.ts';
import {
  type AiSdkAskSubject,
  type Body,
  type ChatResponse,
  type ChatTurn,
  messageId,
  newBody,
  type Opened,
  type Refused,
  type ResponseOutcome,
  type TurnOutcome,
} from './state.ts';

/*
 * The requests of a turn and their responses: a request is sent, its response is read (and resumed when it is cut), what is missing is waited for,
 * and the next request tells it. Where nothing remains to be told, the turn ends.
 */

/** From here on a history is worth a warning, in UTF-16 units. */
const LARGE = 5 * 1024 * 1024;
/** Timer `closing`: how long the server may take to close after [DONE], in milliseconds. */
const CLOSING = 5_000;
const MALFORMED_LOGGED = 5;
const UNKNOWN_LOGGED = 100;
export const RESUME_TRIES = 3;
/** Answers to a resume that mean there is nothing to resume. */
export const NOTHING_TO_RESUME = [404, 405, 410, 422];
/** How one family of servers ends a response that waits for a result in a new message. */
const FRONTEND_TOOL = '__FRONTEND_TOOL__';
const BOOKKEEPING: readonly Chunk['type'][] = ['finish-step', 'finish', 'message-metadata'];
/** While calls are only announced, an approval for one of them may still follow. */
const ANNOUNCING: readonly Chunk['type'][] = [
  'tool-input-start',
  'tool-input-delta',
  'tool-input-available',
  'tool-approval-request',
  'tool-approval-response',
];

export abstract class ChatResponses extends ChatCalls {
  // --- A request: the profile is read, the request is sent, and a refusal may be mended

  request(turn: ChatTurn, post: Post): void {
    turn.post = post;
    turn.stage = 'settings';
    this.port(null, 'settings', 'server', { do: 'settings' });
  }
  settingsRead(result: unknown): void {
    const { state } = this;
    // A profile that cannot be read leaves everything as it was.
    if (isRecord(result)) {
      const read = result as {
        readonly settings?: AiSdkSettings;
        readonly problems?: readonly string[];
        readonly mayHaveKey?: boolean;
        readonly learned?: Learned;
      };
      if (read.settings) state.settings = read.settings;
      if (read.learned) Object.assign(state.learned, read.learned);
      state.mayHaveKey = read.mayHaveKey ?? state.mayHaveKey;
      this.showProblems(read.problems ?? []);
    }
    if (state.turn?.stage === 'settings') this.send(state.turn);
    else if (state.pickUp && !state.turn) this.openResume({ resumableId: null, runId: null, received: 0 });
  }
  showProblems(problems: readonly string[]): void {
    for (const text of problems) this.emit({ type: 'notice', notice: { level: 'warn', text, next: ['openSettings'] } });
  }
  send(turn: ChatTurn): void {
    const { chatId, messages, settings } = this.state;
    turn.stage = 'request';
    const tools = declareTools(offeredTools(this.state), settings.tools);
    turn.link = this.nextLink();
    this.open(turn.link, { body: requestBody(chatId, turn.post, messages, { settings, tools, v5: this.isVersion5 }) });
  }
  nextLink(): string {
    this.state.linkCount += 1;
    return `chat ${this.state.linkCount}`;
  }
  get isVersion5(): boolean {
    return this.state.settings.compat === 'v5' || this.state.learned.v5;
  }
  sent(turn: ChatTurn, size: number): void {
    if (this.state.hasSizeWarning || size < LARGE) return;
    this.state.hasSizeWarning = true;
    this.turnNotice(turn, { level: 'warn', text: t('This conversation has grown beyond 5 MB, and all of it is sent with each message.') });
  }
  requestRefused(turn: ChatTurn, refused: Refused): void {
    turn.link = null;
    const { state } = this;
    const { status, message, next, said } = refused;
    if ((status === 400 || status === 422) && !this.isVersion5 && needsVersion6(state.messages)) {
      this.learn({ v5: true });
      return this.send(turn);
    }
    if (status === 401 && state.mayHaveKey) {
      turn.stage = 'key';
      turn.refused = refused;
      return this.askKey(turn, said, null);
    }
    this.end(turn, { status: 'failed', error: { message, next, code: String(status) }, retry: turn.post });
  }
  requestFailed(turn: ChatTurn, { kind, message }: { readonly kind: string; readonly message: string }): void {
    turn.link = null;
    const next: readonly Remedy[] =
      kind === 'redirect' || kind === 'address' ? ['openSettings', 'retry'] : kind === 'internal' ? ['retry', 'showLog'] : ['retry'];
    this.end(turn, { status: 'failed', error: { message, next, code: kind }, retry: turn.post });
  }

  /** The server wants a key: the user may enter one, which the editor keeps. Several refusals need one key. */
  askKey(turn: ChatTurn, why: string, toolCallId: string | null): void {
    turn.keyAsk ??= { askId: null, isForRequest: false, calls: [] };
    if (toolCallId === null) turn.keyAsk.isForRequest = true;
    else turn.keyAsk.calls.push(toolCallId);
    if (turn.keyAsk.askId !== null) return;
    const id = this.newId();
    turn.keyAsk.askId = id;
    const field = { id: 'key', label: t('API key'), body: why, kind: 'secret', required: true } as const;
    this.ask({ kind: 'question', id, turnId: turn.id, ours: true, title: t('API key'), fields: [field] }, {
      what: 'key',
    } satisfies AiSdkAskSubject);
  }
  keyAnswered(turn: ChatTurn, answer: Answer): void {
    const key = answer.kind === 'fields' ? answer.values.key?.[0]?.trim() : undefined;
    if (!key) return this.keyKnown(turn, false);
    if (turn.keyAsk) turn.keyAsk.askId = null;
    this.port(null, 'key', 'secret', { do: 'set', key });
  }
  keyKnown(turn: ChatTurn, isGiven: boolean): void {
    const { keyAsk, refused } = turn;
    turn.keyAsk = null;
    for (const id of keyAsk?.calls ?? []) {
      const call = find(turn.own, id);
      if (call) this.refusalSettled(turn, call, isGiven);
    }
    if (!keyAsk?.isForRequest || turn.stage !== 'key') return;
    if (isGiven) return this.request(turn, turn.post);
    this.end(turn, {
      status: 'failed',
      error: { message: refused?.message ?? '', next: refused?.next ?? ['retry'], code: String(refused?.status ?? 401) },
      retry: turn.post,
    });
  }

  // --- A response: chunks, cuts, replays

  responseMessage(turn: ChatTurn, method: string, params: unknown): void {
    switch (method) {
      case 'chunk':
        return this.chunk(turn, params);
      case 'chunks':
        for (const value of params as readonly unknown[]) this.chunk(turn, value);
        return;
      case 'sent':
        return this.sent(turn, (params as { readonly size: number }).size);
      case 'opened':
        return turn.stage === 'resume' ? this.resumed(turn, (params as Opened).replay) : this.opened(turn, params as Opened);
      case 'refused':
        return turn.stage === 'resume'
          ? this.resumeRefused(turn, (params as Refused).status)
          : this.requestRefused(turn, params as Refused);
      case 'failed':
        return turn.stage === 'resume' ? this.resumeFailed(turn) : this.requestFailed(turn, params as { kind: string; message: string });
      case 'done':
        if (turn.response) turn.response.body.isDone = true;
        return this.timer('closing', CLOSING);
      case 'tooLong':
        return this.turnNotice(turn, { level: 'warn', text: answerCut('size') });
      case 'tool-call':
        if (isRecord(params) && params.state === 'requires-action' && typeof params.toolCallId === 'string')
          this.awaits(turn, params.toolCallId);
        return;
      default:
        return;
    }
  }
  opened(turn: ChatTurn, { resumableId, runId, stopUrl }: Opened): void {
    for (const told of turn.post.tells ?? []) put(this.state.delivered, told, true);
    const message = this.assistant(turn, turn.post.continues);
    turn.stage = 'response';
    turn.response = this.newResponse(message.parts.length, { resumableId, runId, stopUrl });
  }
  newResponse(boundary: number, from: Pick<ChatResponse, 'resumableId' | 'runId' | 'stopUrl'>): ChatResponse {
    return {
      isOver: false,
      ...from,
      assembly: newAssembly(boundary),
      shadow: null,
      mayReplay: false,
      body: newBody(),
      substance: 0,
      lastAt: this.now,
      resume: { tries: 0, attempt: 0, received: 0 },
    };
  }
  /** The message that a response continues, or a new one. */
  assistant(turn: ChatTurn, continues: boolean): UiMessage {
    const { messages } = this.state;
    const last = messages.at(-1);
    if (continues && last?.role === 'assistant') return last;
    turn.shown = [];
    const message: UiMessage = { id: messageId(this.state), role: 'assistant', parts: [] };
    messages.push(message);
    return message;
  }

  /** The hot path. */
  chunk(turn: ChatTurn, value: unknown): void {
    const { response } = turn;
    if (!response || response.body.isDone) return;
    const { body } = response;
    body.events += 1;
    if (body.events === 1 && isRecord(value) && value.type === 'part-start') body.isForeign = true;
    const decoded = decodeChunk(value);
    if (decoded.kind === 'malformed') return this.malformed(decoded.why);
    if (decoded.kind === 'unknown') return this.unknown(body, decoded.type);
    const { chunk } = decoded;
    response.lastAt = this.now;
    if (response.mayReplay) this.maybeReplay(turn, response, chunk);
    if (response.shadow) {
      applyChunk(response.shadow.message, response.shadow.assembly, chunk, UNOBSERVED);
      return this.catchUp(turn, response, false);
    }
    if (turn.grace.length > 0 && !ANNOUNCING.includes(chunk.type)) this.endGrace(turn);
    if (chunk.type === 'text-delta' || !BOOKKEEPING.includes(chunk.type)) response.substance += 1;
    const part = applyChunk(this.last, response.assembly, chunk, this);
    if (part !== undefined || chunk.type === 'reset-step') this.noteCall(turn, chunk, part);
  }
  malformed(why: string): void {
    const body = this.state.turn?.response?.body;
    if (!body || body.isDone) return;
    body.malformed += 1;
    const isLast = body.malformed === MALFORMED_LOGGED;
    if (body.malformed <= MALFORMED_LOGGED) this.log('warn', `The server sent ${why}${isLast ? '; more of that is not logged' : ''}.`);
  }
  unknown(body: Body, type: string): void {
    if (find(body.unknown, type)) return;
    if (Object.keys(body.unknown).length < UNKNOWN_LOGGED) put(body.unknown, type.slice(0, 100), true);
    this.log('info', `The server sent chunks of the unknown type "${type.slice(0, 100)}".`);
  }
  responseClosed(turn: ChatTurn, broken: string | null): void {
    turn.link = null;
    this.timer('closing', null);
    const { response } = turn;
    if (turn.phase === 'stopping') return this.cancelled(turn);
    if (!response || turn.stage !== 'response') return this.requestFailed(turn, { kind: 'cut', message: t('The connection was lost.') });
    if (!response.body.isDone) response.body.broken = broken;
    if (response.shadow) this.catchUp(turn, response, true);
    this.bodyEnded(turn, response);
  }
  /** A cut response may go on elsewhere. So may one that ended right after it took a result. */
  bodyEnded(turn: ChatTurn, response: ChatResponse): void {
    const { resume, assembly } = response;
    if (resume.attempt > 0) resume.tries = assembly.received > resume.received ? 0 : resume.tries + 1;
    const outcome = this.outcomeOf(response);
    if ((outcome.kind !== 'cut' && !tookWithoutEcho(this.last, turn, response)) || resume.tries >= RESUME_TRIES)
      return this.conclude(turn, response);
    resume.received = assembly.received;
    resume.attempt = 0;
    turn.stage = 'resume';
    this.openResume({ resumableId: response.resumableId, runId: response.runId, received: assembly.received });
  }
  openResume(point: Omit<ResumePoint, 'chatId'>): void {
    const { turn, pickUp, chatId } = this.state;
    const link = this.nextLink();
    if (turn) turn.link = link;
    else if (pickUp) pickUp.link = link;
    this.open(link, { resume: { chatId, ...point } satisfies ResumePoint });
  }
  resumed(turn: ChatTurn, replay: boolean): void {
    const { response } = turn;
    if (!response) return;
    turn.stage = 'response';
    response.body = newBody();
    response.mayReplay = replay;
    // Counts as resumed also when the server sends only the rest.
    response.resume.attempt += 1;
  }
  resumeRefused(turn: ChatTurn, status: number): void {
    turn.link = null;
    if (status >= 300 && !NOTHING_TO_RESUME.includes(status)) return this.resumeFailed(turn);
    if (turn.response) this.conclude(turn, turn.response);
  }
  resumeFailed(turn: ChatTurn): void {
    turn.link = null;
    const { response } = turn;
    if (!response) return;
    response.resume.attempt += 1;
    if (response.resume.attempt >= RESUME_TRIES) return this.conclude(turn, response);
    this.timer('resume', this.state.setup.timing.resumes[response.resume.attempt - 1] ?? 0);
  }

  /** A replay begins with `start`. Another id than the one on screen means another message. */
  maybeReplay(turn: ChatTurn, response: ChatResponse, chunk: Chunk): void {
    response.mayReplay = false;
    if (chunk.type !== 'start') return;
    const { assembly } = response;
    const known = assembly.start?.messageId ?? null;
    const replayed = chunk.messageId ?? null;
    if (known === null || replayed === null || replayed === known) {
      const before = copyOf({ ...this.last, parts: this.last.parts.slice(0, assembly.boundary) });
      response.shadow = { message: before, assembly: newAssembly(assembly.boundary) };
      return;
    }
    endAssembly(this.last, assembly);
    this.assistant(turn, false);
    response.assembly = newAssembly(0);
  }
  /** While a replay only repeats what is shown, nothing is shown. From then on it takes the place of what there was. */
  catchUp(turn: ChatTurn, response: ChatResponse, isAtEnd: boolean): void {
    const { shadow, assembly } = response;
    if (!shadow) return;
    const message = this.last;
    const old = message.parts.slice(assembly.boundary);
    const fresh = shadow.message.parts.slice(assembly.boundary);
    const progress = progressOf(old, fresh);
    if (progress === 'behind' && !isAtEnd) return;
    response.shadow = null;
    if (progress === 'behind') {
      // The replay ended earlier than the first response: keeps what is shown.
      assembly.finished ||= shadow.assembly.finished;
      assembly.errors.push(...shadow.assembly.errors);
      return;
    }
    if (progress === 'different') this.removed(assembly.boundary);
    Object.assign(message, shadow.message);
    response.assembly = shadow.assembly;
    this.adopt(turn, progress === 'different' ? [] : old, fresh, assembly.boundary);
    this.caughtUp(turn, response);
  }
  outcomeOf({ assembly, body }: ChatResponse): ResponseOutcome {
    if (body.isForeign) return { kind: 'failed', message: otherProtocol() };
    // The marker ends a response whose call we are to answer. Without such a call it is an error like any other, without a reason.
    const isOurTurn =
      this.state.settings.toolFlow === 'user-message' ||
      stepCalls(this.last, assembly).some((part) => part.providerExecuted !== true && part.state === 'input-available');
    const errors = assembly.errors.filter((text) => !(isOurTurn && text.includes(FRONTEND_TOOL)));
    const [error] = errors;
    if (error !== undefined) {
      const text = error.trim();
      const isSilent = text === '' || text === MASKED || text.includes(FRONTEND_TOOL);
      return { kind: 'failed', message: isSilent ? agentError() : text };
    }
    const waitsForTool = assembly.aborted?.reason?.includes(FRONTEND_TOOL) ?? false;
    if (assembly.aborted && !waitsForTool) return { kind: 'aborted', reason: assembly.aborted.reason };
    const isSaid = body.isDone || assembly.finished || waitsForTool || errors.length < assembly.errors.length;
    if (body.broken !== null && !isSaid) return { kind: 'cut' };
    return { kind: 'over', reason: assembly.finishReason, isSaid };
  }

  // --- The end of a response: what is missing is waited for, and the next request tells it

  conclude(turn: ChatTurn, response: ChatResponse): void {
    response.isOver = true;
    this.settleUntaken(turn, this.outcomeOf(response).kind === 'failed');
    this.dropDeliveries(turn);
    endAssembly(this.last, response.assembly);
    const outcome = this.outcomeOf(response);
    switch (outcome.kind) {
      case 'failed':
        return this.end(turn, {
          status: 'failed',
          error: { message: outcome.message, next: ['retry'], code: 'error' },
          retry: 'regenerate',
        });
      case 'aborted':
        if (outcome.reason) this.turnNotice(turn, { level: 'info', text: outcome.reason });
        return this.end(turn, { status: 'cancelled' });
      case 'cut':
        if (isAccepted(turn) || !isWaiting(this.state, turn)) {
          const message = response.body.broken ?? t('The connection was lost.');
          const retry = turn.post.continues && response.substance === 0 ? turn.post : 'regenerate';
          return this.end(turn, { status: 'failed', error: { message, next: ['retry'], code: 'cut' }, retry });
        }
        return this.gather(turn, response, false);
      case 'over':
        if (outcome.reason !== 'interrupted') return this.gather(turn, response, outcome.isSaid);
        this.dropUnfinishedInputs(turn);
        return this.done(turn, response);
    }
  }
  gather(turn: ChatTurn, response: ChatResponse, isSaid: boolean): void {
    this.dropUnfinishedInputs(turn);
    this.endGrace(turn);
    const own = undelivered(this.state, turn);
    if (own.length > 0 && isSaid && own.every((call) => call.acceptedAt === null && call.untaken === null)) this.learn({ flow: 'repost' });
    this.refuseUnknown(turn, response);
    turn.stage = 'results';
    if (this.isAsking(turn)) {
      turn.isSaved = true;
      this.save(turn, true);
    }
    this.gathered(turn);
  }
  /** Input that never became a call is not posted and not waited for. */
  dropUnfinishedInputs(turn: ChatTurn): void {
    const { parts } = this.last;
    for (let at = parts.length - 1; at >= 0; at--) {
      const part = parts[at] as UiPart;
      if (!isTool(part) || part.state !== 'input-streaming') continue;
      parts.splice(at, 1);
      turn.shown.splice(at, 1);
    }
  }
  gathered(turn: ChatTurn): void {
    const { response } = turn;
    if (turn.stage !== 'results' || !response || this.isAsking(turn)) return;
    if (turn.isSaved) {
      turn.isSaved = false;
      this.save(turn, false);
    }
    if (undelivered(this.state, turn).some((call) => call.stage !== 'answered')) return;
    this.deliver(turn, response);
  }
  deliver(turn: ChatTurn, response: ChatResponse): void {
    const { settings, delivered } = this.state;
    for (const call of undelivered(this.state, turn)) this.writeAnswer(call, response);
    const [inData] = this.dataApprovals(response);
    if (inData) return this.askDataApproval(turn, inData);
    const calls = stepCalls(this.last, response.assembly);
    const tells = calls.flatMap((part) => newsOf(turn, part)).filter((id) => !find(delivered, id));
    if (tells.length === 0) return this.done(turn, response);
    // A preliminary output is not the result, and no other output will come.
    for (const part of calls) if (part.preliminary) this.failPart(part, 'The server ended its answer without the result.');
    if (calls.some((part) => part.providerExecuted !== true && !isTerminal(part) && part.state !== 'approval-responded'))
      return this.done(turn, response);
    if (settings.toolFlow === 'user-message') return this.nextRequest(turn, this.asUserMessage(calls, tells));
    this.nextRequest(turn, { trigger: 'submit-message', messageId: this.last.id, tells, continues: true });
  }
  /** For servers that cannot go on with an assistant message. */
  asUserMessage(calls: readonly ToolPart[], tells: readonly string[]): Post {
    const told = calls.filter((part) => tells.includes(part.toolCallId)).map((part) => ({ ...part }));
    this.state.messages.push({ id: messageId(this.state), role: 'user', parts: told });
    return { trigger: 'submit-message', tells, continues: false };
  }
  /** Sends the next request. After many requests without an action of the user, asks the user first. */
  nextRequest(turn: ChatTurn, post: Post): void {
    turn.post = post;
    if (turn.rounds < this.state.settings.maxAutoPosts) return this.goOn(turn);
    turn.stage = 'continue';
    this.ask(continueAsk(this.newId(), turn.id, turn.rounds), { what: 'request' } satisfies AiSdkAskSubject);
  }
  goOn(turn: ChatTurn): void {
    turn.rounds = turn.stage === 'continue' ? 1 : turn.rounds + 1;
    this.request(turn, turn.post);
  }
  done(turn: ChatTurn, response: ChatResponse): void {
    const outcome = this.outcomeOf(response);
    const reason = outcome.kind === 'over' ? outcome.reason : null;
    const next = ['continue'] as const;
    if (reason === 'length') this.turnNotice(turn, { level: 'warn', text: answerCut('length'), next });
    else if (reason === 'interrupted') this.turnNotice(turn, { level: 'warn', text: t('The connection was lost.'), next });
    else if (reason === 'content-filter') this.turnNotice(turn, { level: 'warn', text: answerCut('filter') });
    else if (isEmpty(this.last)) this.turnNotice(turn, { level: 'info', text: t('The agent returned nothing.') });
    this.end(turn, { status: 'done' });
  }
  cancelled(turn: ChatTurn): void {
    const last = this.state.messages.at(-1);
    if (last?.role === 'assistant') closeOpenCalls([last], 'Cancelled by the user.');
    this.end(turn, { status: 'cancelled' });
  }
  end(turn: ChatTurn, { retry, status, ...end }: TurnOutcome): void {
    const { state } = this;
    for (const call of Object.values(turn.own)) this.dropCall(call);
    if (turn.phase !== 'stopping') this.stopReading(turn);
    if (turn.stage === 'settings') this.drop('settings');
    if (turn.keyAsk && turn.keyAsk.askId === null) this.drop('key');
    if (turn.stage === 'resume') this.timer('resume', null);
    if (turn.phase === 'stopping') this.timer('close', null);
    if (turn.link !== null) this.close(turn.link);
    const last = state.messages.at(-1);
    if (last?.role === 'assistant' && isEmpty(last)) state.messages.pop();
    this.settle('turn', 'withdrawn');
    this.save(turn, true, typeof retry === 'object' && retry.tells ? retry : undefined);
    if (retry !== undefined) state.failed = { turnId: turn.id, retry };
    this.endTurn(status, end);
  }
  /** Leaves behind what the next window needs to post these messages again; nothing while they are about to change. */
  save(turn: ChatTurn, isOn: boolean, unsent?: Post): void {
    const { users, messages } = this.state;
    const user = find(users, turn.id);
    const from = user === undefined ? turn.from : messages.findIndex((message) => message.id === user) + 1;
    this.emit({ type: 'turn.adapterState', turnId: turn.id, value: isOn ? toSave(user, messages.slice(from), unsent) : null });
  }
}

function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
