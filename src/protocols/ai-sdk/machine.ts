import { agentError, t } from '../../base/l10n.ts';
import type { Input } from '../../conversation/machine.ts';
import { clear, find, newTurn, type OpenAsk, put, remove, splitName } from '../../conversation/state.ts';
import { machineOf, Step } from '../../conversation/step.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Content, Diff, Notice, Remedy } from '../../session/model.ts';
import type { FileRead } from '../replacements.ts';
import {
  answeredApproval,
  approvalAsk,
  callOf,
  changeOf,
  contentOf,
  contentsOf,
  continueAsk,
  cutAt,
  declareTools,
  decodeChunk,
  type OfferedTool,
  otherProtocol,
  QUESTION_TOOL,
  questionField,
  resultValue,
  usageOf,
  type Verdict,
  verdictOf,
} from './codec.ts';
import { diffOf, editOf, excerptsOf, type FileEdit } from './edits.ts';
import { closeOpenCalls, isEmpty, needsVersion6, parsed, requestBody, toSave, userMessage } from './history.ts';
import {
  applyChunk,
  endAssembly,
  findApproval,
  findTool,
  isTerminal,
  isTool,
  type MessageObserver,
  newAssembly,
  progressOf,
  setError,
  setInput,
  setOutput,
  stepCalls,
  toolNameOf,
  UNOBSERVED,
} from './message.ts';
import {
  type Chunk,
  type DataApproval,
  type DataPart,
  dataApproval,
  isRecord,
  type Learned,
  type Post,
  type ResumePoint,
  type Settings,
  type ToolPart,
  type UiMessage,
  type UiPart,
} from './schema.ts';
import {
  type About,
  type AiSdkState,
  type Body,
  type ChatResponse,
  type ChatTurn,
  type Handing,
  messageId,
  newBody,
  newOwnCall,
  type OpenApproval,
  type Opened,
  type OwnCall,
  type Refused,
  type ResponseOutcome,
  type Setup,
  type Shown,
  type ToolResult,
  type TurnOutcome,
} from './state.ts';

/** Servers hide what went wrong behind this by default. */
const MASKED = 'An error occurred.';

type GrowthEvent = Extract<SessionEvent, { readonly type: 'text.delta' | 'call.inputDelta' }>;
type Growth = GrowthEvent extends infer E ? (E extends GrowthEvent ? { -readonly [K in keyof E]: E[K] } : never) : never;
/** Shows the last message in the session, part by part. */
abstract class ShownMessage extends Step<AiSdkState> implements MessageObserver {
  /** The last text of this step, and how many effects there were with it. */
  growth: { readonly at: number; readonly shown: Shown; readonly event: Growth; readonly effects: number } | null = null;

  get last(): UiMessage {
    return this.state.messages.at(-1) as UiMessage;
  }

  added(at: number): void {
    const { turn } = this.state;
    const part = this.last.parts[at];
    if (!turn || !part) return;
    const { id } = this.show(turn, at, part);
    const turnId = turn.id;
    if (isTool(part)) return this.emit({ type: 'part.added', turnId, part: { kind: 'call', id, call: callOf(id, part) } });
    if (part.type === 'steering-message')
      return this.emit({ type: 'part.added', turnId, part: { kind: 'prompt', id, content: contentsOf(part.parts) } });
    if (part.type === 'data-usage') return this.showUsage((part as DataPart).data);
    const content = contentOf(part);
    if (content) this.emit({ type: 'part.added', turnId, part: { kind: 'content', id, content } });
  }
  /** Pieces for one part that a step takes one after the other are one event. */
  grew(at: number, text: string): void {
    const { growth } = this;
    if (growth !== null && growth.at === at && growth.effects === this.effects.length) {
      growth.event.text += text;
      growth.shown.text += text.length;
      return;
    }
    const { turn } = this.state;
    const shown = turn?.shown[at];
    const part = this.last.parts[at];
    if (!turn || !shown || !part) return;
    shown.text += text.length;
    const event: Growth = isTool(part)
      ? { type: 'call.inputDelta', turnId: turn.id, callId: shown.id, text }
      : { type: 'text.delta', turnId: turn.id, kind: part.type === 'text' ? 'text' : 'thought', partId: shown.id, text };
    this.emit(event);
    this.growth = { at, shown, event, effects: this.effects.length };
  }
  changed(at: number): void {
    const { turn } = this.state;
    const shown = turn?.shown[at];
    const part = this.last.parts[at] as ToolPart | undefined;
    if (!turn || !shown || !part) return;
    // What the server closes because of our stop did not fail: it is cancelled with its turn.
    if (turn.phase === 'stopping' && (part.state === 'output-error' || part.state === 'output-denied')) return;
    if (shown.own === null) return this.changeCall(turn, shown.id, changeOf(part, shown.text > 0, this.editsBy(turn, part)));
    // The server repeats our results in other forms, which are not shown. That it did not take one is.
    if (shown.own !== 'result' || part.state !== 'output-error') return;
    const said = part.errorText?.trim() ?? '';
    this.changeCall(turn, shown.id, { status: 'failed', error: { message: notAccepted(said === MASKED || said === '' ? '–' : said) } });
  }
  /** What a call that is done did to its file: what the user saw, or the pieces that it names. */
  editsBy(turn: ChatTurn, part: ToolPart): readonly Diff[] {
    if (part.state !== 'output-available' || part.preliminary) return [];
    const seen = find(turn.edits, part.toolCallId);
    if (seen) return [seen];
    const edit = this.editOf(part);
    return edit ? excerptsOf(edit) : [];
  }
  /** What a call of a server on this computer does to a file. */
  editOf(part: ToolPart): FileEdit | undefined {
    const { settings, setup } = this.state;
    return settings.isLocal ? editOf(toolNameOf(part), part.input, setup.cwd) : undefined;
  }
  removed(from: number): void {
    const { turn } = this.state;
    const gone = turn?.shown.splice(from) ?? [];
    if (turn && gone.length > 0) this.emit({ type: 'parts.removed', turnId: turn.id, partIds: gone.map(({ id }) => id) });
  }
  metadata(): void {
    this.showUsage(this.last.metadata);
  }
  showUsage(value: unknown): void {
    const usage = usageOf(value);
    if (usage) this.emit({ type: 'usage.set', usage });
  }
  /** Parts that say the same take the place of those shown before. Only what they have more is shown. */
  adopt(turn: ChatTurn, before: readonly UiPart[], after: readonly UiPart[], boundary: number): void {
    turn.shown.length = boundary + before.length;
    after.forEach((part, index) => {
      const at = boundary + index;
      if (!turn.shown[at]) this.added(at);
      const text = isTool(part) ? part.rawInput : 'text' in part ? part.text : undefined;
      const known = turn.shown[at]?.text ?? 0;
      if (typeof text === 'string' && text.length > known) this.grew(at, text.slice(known));
      // A running call of Parley's tools is shown as running, which its part does not say.
      const isRunning = isTool(part) && find(turn.own, part.toolCallId)?.stage === 'running';
      if (isTool(part) && part.state !== 'input-streaming' && !isRunning) this.changed(at);
    });
  }
  show(turn: ChatTurn, at: number, part: UiPart): Shown {
    const shown: Shown = { id: isTool(part) ? unusedId(turn, part.toolCallId) : `part:${turn.parts++}`, text: 0, own: null };
    put(turn.shownIds, shown.id, true);
    turn.shown[at] = shown;
    return shown;
  }
  shownOf(turn: ChatTurn, toolCallId: string): Shown | undefined {
    const part = findTool(this.last, toolCallId);
    return part && turn.shown[this.last.parts.lastIndexOf(part)];
  }
  /** The session's id of a call. */
  shownId(turn: ChatTurn, toolCallId: string): string {
    return this.shownOf(turn, toolCallId)?.id ?? toolCallId;
  }
  turnNotice(turn: ChatTurn, notice: Notice): void {
    this.emit({ type: 'part.added', turnId: turn.id, part: { kind: 'notice', id: this.newId(), notice } });
  }
}

/** A model may use the id of a call again. */
function unusedId(turn: ChatTurn, id: string): string {
  let free = id;
  for (let n = 2; find(turn.shownIds, free); n++) free = `${id}#${n}`;
  return free;
}

/*
 * The client of the AI SDK's UI message stream. One turn lasts from the user's message to the moment the user may write again, and takes as many
 * requests as its calls need: a request is posted, its response is read (and resumed when it is cut), results and answers are gathered, and the
 * next request tells them. A server that holds its response open gets results by requests of their own instead.
 *
 * Links: `chat N`, one for each response. Its messages are `sent`, `opened`, `refused`, `failed`, `chunk`, `chunks` (that
 * arrived together), `tool-call`, `tooLong`, `done`.
 * Ports: `settings` (the profile is read again), `file ID` (the file of an edit that is asked about), `look ID` and `tool ID` (one of our tools), `result ID` (a result of a held call), `stop`,
 * `goodbye`, `learn`, `key`.
 */

/** From here on a history is worth a warning, in UTF-16 units. */
const LARGE = 5 * 1024 * 1024;
const MOST_RUNNING = 8;
/** Limit for one answer to the server, in UTF-16 units. */
const ANSWER_LIMIT = 256 * 1024;
/** Timer `closing`: how long the server may take to close after [DONE], in milliseconds. */
const CLOSING = 5_000;
const MALFORMED_LOGGED = 5;
const UNKNOWN_LOGGED = 100;
const RESUME_TRIES = 3;
/** Answers to a resume that mean there is nothing to resume. */
const NOTHING_TO_RESUME = [404, 405, 410, 422];
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

class AiSdk extends ShownMessage {
  take(input: Input): void {
    const { state } = this;
    if (state.phase === 'left') return this.takeAfterLeaving(input);
    switch (input.on) {
      case 'message':
        return this.message(input.link, input.method, input.params);
      case 'reply':
        return this.reply(input.call, input.result, input.error !== undefined);
      case 'intent':
        return this.intent(input.intent);
      case 'timer':
        return this.elapsed(input.timer);
      case 'closed':
        return this.closed(input.link, input.why.failure === undefined ? null : input.why.reason);
      case 'junk':
        return this.malformed('an event that is no JSON');
      case 'start':
        return this.ready();
      case 'leave':
        return this.leave();
      case 'asked':
        return this.refuse(input.link, input.id, -32601, 'Method not found');
      case 'withdrawn':
        return;
    }
  }

  // --- Start and end. There is no connection to open: each request opens its own.

  ready(): void {
    const { state } = this;
    const { setup, settings } = state;
    state.phase = 'ready';
    this.emit({ type: 'resume.set', key: state.chatId });
    this.tellProblems(setup.problems);
    if (!settings.isLocal) this.tellWhatGoes();
    const accepted = settings.tools === 'none' ? [] : offeredTools(state).map(({ name }) => name);
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'ai-sdk', name: setup.name ?? settings.host },
      offers: { images: true, edit: true, feedback: true, tools: { accepted, rejected: [] } },
    });
    if (!setup.interrupted) return;
    const last = state.messages.at(-1);
    const isAsking = last?.role === 'assistant' && last.parts.some((part) => isTool(part) && part.state === 'approval-requested');
    if (isAsking) return this.askAgain(setup.interrupted);
    state.pickUp = { link: null, attempt: 0 };
    this.port(null, 'settings', 'server', { do: 'settings' });
  }
  tellProblems(problems: readonly string[]): void {
    for (const text of problems) this.emit({ type: 'notice', notice: { level: 'warn', text, next: ['openSettings'] } });
  }
  /** Once for each server, as long as the window is open. */
  tellWhatGoes(): void {
    const { learned, settings } = this.state;
    if (learned.told) return;
    this.learn({ told: true });
    this.notice(
      'info',
      t('What is said here goes to {0}, and so does what the editor’s tools find: files, selections, problems.', settings.host),
    );
  }
  learn(change: Partial<Learned>): void {
    Object.assign(this.state.learned, change);
    this.port(null, 'learn', 'server', { do: 'learn', change });
  }
  /** Tells the server that results awaited by an open response will not come. */
  leave(): void {
    const { state } = this;
    const { turn, settings, learned } = state;
    state.phase = 'left';
    const { response } = turn ?? { response: null };
    const isHeld = response !== null && !response.isOver && (settings.toolFlow === 'held' || learned.flow === 'held');
    const calls = turn && isHeld ? undelivered(state, turn).filter((call) => call.acceptedAt === null) : [];
    if (turn) for (const call of Object.values(turn.own)) this.dropCall(call);
    if (calls.length === 0) {
      state.phase = 'over';
      return;
    }
    const bodies = calls.map((call) => resultBody(state, call.id, { ok: false, text: 'The editor was closed.' }));
    this.port(null, 'goodbye', 'server', { do: 'goodbye', urls: resultUrls(state), bodies });
    this.timer('farewell', state.setup.timing.farewell);
  }
  takeAfterLeaving(input: Input): void {
    if ((input.on === 'reply' && input.call === 'goodbye') || (input.on === 'timer' && input.timer === 'farewell'))
      this.state.phase = 'over';
  }

  // --- intents of the user

  intent(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.prompt(intent.turnId, intent.content, intent);
      case 'command': {
        const text = [`/${intent.path.join(' ')}`, intent.args].filter(Boolean).join(' ');
        return this.prompt(intent.turnId, [{ type: 'text', text }], {});
      }
      case 'cancel':
        return this.cancel();
      case 'answer':
        return this.answered(intent.askId, intent.answer);
      default:
        return;
    }
  }
  prompt(turnId: string, content: readonly Content[], how: { readonly replaces?: string; readonly again?: string }): void {
    const { state } = this;
    if (state.turn) return this.log('warn', 'A prompt came while a turn was running; it is left out.');
    this.endPickUp();
    const failed = state.failed?.turnId === how.again ? state.failed : null;
    const replaced = failed?.turnId ?? how.replaces;
    state.failed = null;
    const instead = failed
      ? this.again(failed, turnId, content)
      : replaced === undefined
        ? undefined
        : this.sayInstead(replaced, turnId, content);
    if (instead) this.emit({ type: 'turns.removed', from: replaced ?? '' });
    const post = instead ?? this.say(turnId, content);
    const turn = this.newTurn(turnId, content, post);
    // The message continues where the failed turn ended, so this turn shows the parts of that one.
    if (post.continues) this.adopt(turn, [], this.assistant(turn, true).parts, 0);
    this.request(turn, post);
  }
  newTurn(turnId: string, prompt: readonly Content[], post: Post): ChatTurn {
    return this.startTurn(
      {
        ...newTurn(turnId, 'user'),
        stage: 'settings',
        post,
        link: null,
        response: null,
        from: this.state.messages.length,
        rounds: 0,
        isRoundAsked: false,
        tookResult: false,
        own: {},
        grace: [],
        approvals: {},
        edits: {},
        keyAsk: null,
        refused: null,
        shown: [],
        shownIds: {},
        isSaved: false,
      },
      prompt,
    );
  }
  /** Adds the user's message. Open calls of earlier messages are closed first. */
  say(turnId: string, content: readonly Content[]): Post {
    const { messages, users, delivered } = this.state;
    closeOpenCalls(messages);
    clear(delivered);
    const message = userMessage(messageId(this.state), content);
    put(users, turnId, message.id);
    messages.push(message);
    return { trigger: 'submit-message', continues: false };
  }
  /** Replaces an earlier message of the user and everything after it. undefined: there is no such turn. */
  sayInstead(replaced: string, turnId: string, content: readonly Content[]): Post | undefined {
    const { messages, users, delivered } = this.state;
    const id = find(users, replaced);
    const at = messages.findIndex((message) => message.id === id);
    const old = messages[at];
    if (id === undefined || !old) return undefined;
    const message = userMessage(id, content);
    const answer = messages[at + 1];
    const isSame = answer?.role === 'assistant' && JSON.stringify(message) === JSON.stringify(old);
    messages.splice(at, messages.length, message);
    closeOpenCalls(messages);
    clear(delivered);
    remove(users, replaced);
    put(users, turnId, id);
    return { trigger: isSame ? 'regenerate-message' : 'submit-message', messageId: isSame ? answer.id : id, continues: false };
  }
  /** In place of a failed turn: the request that did not get through is made again, or the answer is asked for again. */
  again(failed: NonNullable<AiSdkState['failed']>, turnId: string, content: readonly Content[]): Post | undefined {
    if (failed.retry === 'regenerate') return this.sayInstead(failed.turnId, turnId, content);
    this.renameTurn(failed.turnId, turnId);
    return failed.retry;
  }
  renameTurn(before: string, now: string): void {
    const { users } = this.state;
    const id = find(users, before);
    remove(users, before);
    if (id !== undefined) put(users, now, id);
  }

  /** Stops at once on this side. A server with a stop address gets a request first: it may take a closed connection for a short loss. */
  cancel(): void {
    const { turn, settings, chatId, setup } = this.state;
    if (!turn || turn.phase === 'stopping') return;
    turn.phase = 'stopping';
    for (const call of Object.values(turn.own)) this.dropCall(call);
    this.stopReading(turn);
    this.settle('turn', 'withdrawn');
    const { response } = turn;
    const named = response && !response.isOver ? response.stopUrl : null;
    const url = response && !response.isOver && settings.stopUrl !== null ? settings.stopUrl.replaceAll('{chatId}', chatId) : named;
    if (url === null) return this.cancelled(turn);
    this.port(null, 'stop', 'server', { do: 'stop', url });
    this.timer('farewell', setup.timing.farewell);
  }
  cancelled(turn: ChatTurn): void {
    const last = this.state.messages.at(-1);
    if (last?.role === 'assistant') closeOpenCalls([last], 'Cancelled by the user.');
    this.end(turn, { status: 'cancelled' });
  }

  answered(askId: string, answer: Answer): void {
    const { turn, asks } = this.state;
    const ask = find(asks, askId);
    if (!turn || !ask) return;
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    const about = ask.about as About;
    switch (about.what) {
      case 'approval':
        return this.approvalAnswered(turn, about.approvalId, this.verdict(turn, answer, findApproval(this.last, about.approvalId)));
      case 'dataApproval':
        return this.dataApprovalAnswered(turn, about.request, this.verdict(turn, answer, undefined, about.name));
      case 'question':
        return this.questionAnswered(turn, about, answer);
      case 'request':
        return verdictOf(answer).approved ? this.goOn(turn) : this.end(turn, { status: 'done' });
      case 'round':
        return verdictOf(answer).approved ? this.roundAllowed(turn) : this.cancel();
      case 'key':
        return this.keyAnswered(turn, answer);
    }
  }

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
        readonly settings?: Settings;
        readonly problems?: readonly string[];
        readonly mayHaveKey?: boolean;
        readonly learned?: Learned;
      };
      if (read.settings) state.settings = read.settings;
      if (read.learned) Object.assign(state.learned, read.learned);
      state.mayHaveKey = read.mayHaveKey ?? state.mayHaveKey;
      this.tellProblems(read.problems ?? []);
    }
    if (state.turn?.stage === 'settings') this.send(state.turn);
    else if (state.pickUp && !state.turn) this.openResume({ resumableId: null, runId: null, received: 0 });
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
    this.ask({ kind: 'question', id, turnId: turn.id, ours: true, title: t('API key'), fields: [field] }, { what: 'key' } satisfies About);
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

  message(link: string, method: string, params: unknown): void {
    const { turn, pickUp } = this.state;
    if (pickUp !== null && pickUp.link === link) return this.pickUpMessage(link, method, params);
    if (turn && turn.link === link) this.responseMessage(turn, method, params);
  }
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
        return this.turnNotice(turn, { level: 'warn', text: t('The answer was cut ({0}).', 'too large') });
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
  closed(link: string, broken: string | null): void {
    const { turn, pickUp } = this.state;
    if (pickUp !== null && pickUp.link === link) this.pickUpFailed();
    if (turn && turn.link === link) this.responseClosed(turn, broken);
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
    // The marker ends a response whose call we are to answer. Without such a call it is an error like any other, that says nothing.
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
    this.dropHanding(turn);
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
    this.refuseStrangers(turn, response);
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
    this.ask(continueAsk(this.newId(), turn.id, turn.rounds), { what: 'request' } satisfies About);
  }
  goOn(turn: ChatTurn): void {
    turn.rounds = turn.stage === 'continue' ? 1 : turn.rounds + 1;
    this.request(turn, turn.post);
  }
  done(turn: ChatTurn, response: ChatResponse): void {
    const outcome = this.outcomeOf(response);
    const reason = outcome.kind === 'over' ? outcome.reason : null;
    const next = ['continue'] as const;
    if (reason === 'length') this.turnNotice(turn, { level: 'warn', text: t('The answer was cut ({0}).', 'length'), next });
    else if (reason === 'interrupted') this.turnNotice(turn, { level: 'warn', text: t('The connection was lost.'), next });
    else if (reason === 'content-filter') this.turnNotice(turn, { level: 'warn', text: t('The answer was cut ({0}).', 'content filter') });
    else if (isEmpty(this.last)) this.turnNotice(turn, { level: 'info', text: t('The agent returned nothing.') });
    this.end(turn, { status: 'done' });
  }
  end(turn: ChatTurn, { retry, status, ...end }: TurnOutcome): void {
    const { state } = this;
    for (const call of Object.values(turn.own)) this.dropCall(call);
    if (turn.phase !== 'stopping') this.stopReading(turn);
    if (turn.stage === 'settings') this.drop('settings');
    if (turn.keyAsk && turn.keyAsk.askId === null) this.drop('key');
    if (turn.stage === 'resume') this.timer('resume', null);
    if (turn.phase === 'stopping') this.timer('farewell', null);
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

  // --- Calls of our tools

  /** Applies a chunk to calls and approvals. */
  noteCall(turn: ChatTurn, chunk: Chunk, part: ToolPart | undefined): void {
    if (turn.phase === 'stopping') return;
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available':
        if (part) this.announced(turn, part);
        if (chunk.state === 'requires-action') this.awaits(turn, chunk.toolCallId);
        return;
      case 'tool-approval-request':
        this.holdCall(turn, chunk.toolCallId);
        if (part) this.approvalRequested(turn, part);
        return;
      case 'tool-approval-response':
        return this.approvalDecided(turn, chunk.approvalId);
      case 'tool-input-error':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied': {
        const own = find(turn.own, chunk.toolCallId);
        turn.tookResult ||= own?.handing != null;
        if (own) this.withdraw(own);
        if (part?.approval) this.approvalDecided(turn, part.approval.id);
        return;
      }
      case 'reset-step':
        return this.forgetRemoved(turn);
      default:
        return;
    }
  }
  /** Only the name tells a call of Parley's tools from one of the server's. Each id begins once. */
  announced(turn: ChatTurn, part: ToolPart): void {
    const { started } = this.state;
    if (part.state !== 'input-available' || !this.isOurs(part) || find(started, part.toolCallId)) return;
    put(started, part.toolCallId, true);
    this.nextRound(turn);
    this.startCall(turn, part.toolCallId);
  }
  isOurs(part: ToolPart): boolean {
    const name = toolNameOf(part);
    return part.providerExecuted !== true && offeredTools(this.state).some((tool) => tool.name === name);
  }
  startCall(turn: ChatTurn, id: string): void {
    put(turn.own, id, newOwnCall(id, 'grace', false));
    turn.grace.push(id);
    this.timer(`grace ${id}`, this.state.setup.timing.grace);
  }
  /** No approval follows what was announced. */
  endGrace(turn: ChatTurn): void {
    for (const id of turn.grace.splice(0)) {
      this.timer(`grace ${id}`, null);
      const call = find(turn.own, id);
      if (call) this.beginCall(turn, call);
    }
  }
  graceOver(turn: ChatTurn, id: string): void {
    const call = find(turn.own, id);
    turn.grace = turn.grace.filter((one) => one !== id);
    if (call?.stage === 'grace') this.beginCall(turn, call);
  }
  beginCall(turn: ChatTurn, call: OwnCall): void {
    call.stage = turn.isRoundAsked ? 'round' : 'queued';
    this.runQueued(turn);
  }
  runQueued(turn: ChatTurn): void {
    const calls = Object.values(turn.own);
    let running = calls.filter((call) => call.stage === 'running').length;
    for (const call of calls) {
      if (call.stage !== 'queued' || running >= MOST_RUNNING) continue;
      running += 1;
      call.stage = 'running';
      this.runCall(turn, call);
    }
  }
  runCall(turn: ChatTurn, call: OwnCall): void {
    const part = findTool(this.last, call.id);
    if (!part) return this.callAnswered(turn, call, { ok: false, text: 'The call was taken back.' });
    const name = toolNameOf(part);
    if (name !== QUESTION_TOOL.name) return this.port(null, `look ${call.id}`, 'tool', { do: 'look', name, input: part.input ?? null });
    const field = questionField(part.input);
    if ('wrong' in field) return this.callAnswered(turn, call, { ok: false, text: field.wrong });
    this.showRunning(turn, call, { title: field.label.slice(0, 200) });
    const callId = this.shownId(turn, call.id);
    const ask = { kind: 'question', id: this.newId(), turnId: turn.id, callId, title: t('Question'), fields: [field] } as const;
    this.ask(ask, { what: 'question', toolCallId: call.id, isMultiple: field.many === true } satisfies About);
  }
  looked(turn: ChatTurn, call: OwnCall, look: unknown): void {
    const part = findTool(this.last, call.id);
    if (call.stage !== 'running' || !part) return;
    this.showRunning(turn, call, isRecord(look) ? look : {});
    this.port(null, `tool ${call.id}`, 'tool', { do: 'run', name: toolNameOf(part), input: part.input ?? null });
  }
  showRunning(turn: ChatTurn, call: OwnCall, look: object): void {
    this.changeCall(turn, this.shownId(turn, call.id), { status: 'running', ...look });
  }
  questionAnswered(turn: ChatTurn, { toolCallId, isMultiple }: Extract<About, { what: 'question' }>, answer: Answer): void {
    const call = find(turn.own, toolCallId);
    if (!call) return;
    turn.rounds = 0;
    if (answer.kind !== 'fields') return this.callAnswered(turn, call, { ok: false, text: 'The user declined this action.' });
    const values = answer.values.answer ?? [];
    this.callAnswered(turn, call, { ok: true, text: JSON.stringify({ answer: isMultiple ? values : (values[0] ?? '') }) });
  }
  callAnswered(turn: ChatTurn, call: OwnCall, { ok, text, shown }: ToolResult): void {
    if (call.stage !== 'running') return;
    call.stage = 'answered';
    call.answer = { ok, text: cutAt(text, ANSWER_LIMIT) };
    const entry = this.shownOf(turn, call.id);
    if (entry) entry.own = ok ? 'result' : 'error';
    const texts = ok && text !== '' ? [{ kind: 'content', content: { type: 'text', text: call.answer.text } } as const] : [];
    this.changeCall(turn, entry?.id ?? call.id, {
      status: ok ? 'done' : 'failed',
      output: shown ?? texts,
      ...(ok ? {} : { error: { message: call.answer.text } }),
    });
    this.runQueued(turn);
    this.handIn(turn, call);
    this.gathered(turn);
  }
  /** The server wants an approval first: what has begun is stopped, and begins again when it is given. */
  holdCall(turn: ChatTurn, id: string): void {
    const call = find(turn.own, id);
    if (!call) return;
    this.dropCall(call);
    turn.grace = turn.grace.filter((one) => one !== id);
    remove(turn.own, id);
    this.runQueued(turn);
  }
  /** The server settled the call itself, or took it back: our answer is not wanted. */
  withdraw(call: OwnCall): void {
    if (call.stage === 'withdrawn') return;
    this.dropCall(call);
    call.stage = 'withdrawn';
    if (this.state.turn) this.runQueued(this.state.turn);
  }
  /** Stops everything that works at a call. */
  dropCall(call: OwnCall): void {
    if (call.stage === 'grace') this.timer(`grace ${call.id}`, null);
    if (call.stage === 'running') for (const port of ['look', 'tool']) this.drop(`${port} ${call.id}`);
    if (call.stage === 'running' || call.stage === 'grace' || call.stage === 'queued' || call.stage === 'round') call.stage = 'withdrawn';
    for (const ask of Object.values(this.state.asks)) {
      const about = ask.about as About;
      if (about.what === 'question' && about.toolCallId === call.id) this.closeAsk(ask, 'withdrawn');
    }
    this.dropHandingOf(call);
  }
  forgetRemoved(turn: ChatTurn): void {
    for (const call of Object.values(turn.own)) {
      if (call.stage === 'withdrawn' || findTool(this.last, call.id)) continue;
      this.withdraw(call);
      remove(this.state.started, call.id);
    }
    for (const [key, { toolCallId }] of Object.entries(turn.approvals)) {
      if (!findTool(this.last, toolCallId)) this.approvalDecided(turn, key.slice(1));
    }
  }
  /** After a replay the calls may have got further. */
  caughtUp(turn: ChatTurn, response: ChatResponse): void {
    for (const call of Object.values(turn.own)) {
      const part = findTool(this.last, call.id);
      if (part && (isTerminal(part) || part.preliminary)) this.withdraw(call);
    }
    for (const part of stepCalls(this.last, response.assembly)) {
      if (part.state === 'input-available') this.announced(turn, part);
      if (part.state === 'approval-requested') this.approvalRequested(turn, part);
      else if (part.approval) this.approvalDecided(turn, part.approval.id);
    }
  }

  // --- Calls that only we can answer

  /** The server says that its open response waits for this call. Some say so before the input is announced as complete. */
  awaits(turn: ChatTurn, id: string): void {
    const { response } = turn;
    const part = response ? findTool(this.last, id) : undefined;
    if (!response || !part || turn.phase === 'stopping') return;
    if (part.state === 'input-streaming') {
      const input = parsed(typeof part.rawInput === 'string' && part.rawInput.trim() !== '' ? part.rawInput : '{}');
      if (input === undefined) return;
      part.state = 'input-available';
      setInput(part, input);
      this.changed(this.last.parts.lastIndexOf(part));
      this.announced(turn, part);
    }
    const own = find(turn.own, id);
    if (own) {
      own.isAwaited = true;
      return this.handIn(turn, own);
    }
    if (part.state !== 'input-available') return;
    this.nextRound(turn);
    const stranger = put(turn.own, id, newOwnCall(id, turn.isRoundAsked ? 'round' : 'answered', true));
    stranger.isAwaited = true;
    stranger.answer = { ok: false, text: notAvailable(part) };
    this.handIn(turn, stranger);
  }
  /** A call that is neither ours nor answered: the server expects a client that knows the tool, and the model should hear that there is none. */
  refuseStrangers(turn: ChatTurn, response: ChatResponse): void {
    const inData = this.dataApprovals(response).map((request) => request.toolCallId);
    for (const part of stepCalls(this.last, response.assembly)) {
      const { toolCallId } = part;
      if (part.state !== 'input-available' || part.providerExecuted === true || find(turn.own, toolCallId) || inData.includes(toolCallId))
        continue;
      const why = this.isOurs(part) ? 'A call with this id was made before; each call needs an id of its own.' : notAvailable(part);
      this.refuseCall(turn, part, why);
    }
  }
  refuseCall(turn: ChatTurn, part: ToolPart, why: string): void {
    const call = put(turn.own, part.toolCallId, newOwnCall(part.toolCallId, 'answered', true));
    call.answer = { ok: false, text: why };
    this.failPart(part, why);
  }
  failPart(part: ToolPart, why: string): void {
    setError(part, why);
    this.changed(this.last.parts.lastIndexOf(part));
  }

  // --- Results for the server

  writeAnswer(call: OwnCall, response: ChatResponse): void {
    const part = findTool(this.last, call.id);
    if (!call.answer || !part || isTerminal(part)) return;
    if (call.answer.ok) setOutput(part, resultValue(call.answer.text));
    else if (call.isStranger) this.failPart(part, call.answer.text);
    else setError(part, call.answer.text);
    // The server took it, and went on without repeating it; or it did not take it, and is not told again.
    if (call.untaken !== null || (call.acceptedAt !== null && response.substance > call.acceptedAt))
      put(this.state.delivered, call.id, true);
  }
  /**
   * Gives an answer to a server that holds its response open for it. Where it is not known whether it does, silence is taken for a sign. What then
   * fails, fails quietly, and the answer goes with the next request.
   */
  handIn(turn: ChatTurn, call: OwnCall): void {
    const { settings, learned } = this.state;
    const { response } = turn;
    if (!response || response.isOver || call.stage !== 'answered' || call.handing) return;
    if (settings.toolFlow === 'repost' || settings.toolFlow === 'user-message') return;
    if (settings.toolFlow === 'held' || call.isAwaited || learned.flow === 'held') return this.startHanding(turn, call, true);
    this.awaitSilence('quiet', call, response);
  }
  awaitSilence(timer: 'quiet' | 'doubt', call: OwnCall, response: ChatResponse): void {
    call.silentSince = this.state.heard;
    this.timer(`${timer} ${call.id}`, Math.max(1, response.lastAt + this.state.setup.timing[timer] - this.now));
  }
  silenceElapsed(turn: ChatTurn, timer: 'quiet' | 'doubt', call: OwnCall): void {
    const { response } = turn;
    if (!response || response.isOver) return;
    if (call.silentSince !== this.state.heard) return this.awaitSilence(timer, call, response);
    if (timer === 'quiet') return call.handing ? undefined : this.startHanding(turn, call, false);
    const [refusal] = Object.values(call.handing?.refusals ?? {});
    if (refusal) this.tellRefusal(turn, call, refusal);
  }
  startHanding(turn: ChatTurn, call: OwnCall, isSure: boolean): void {
    this.timer(`quiet ${call.id}`, null);
    call.handing = { stage: 'trying', isSure, tries: 0, at: 0, url: '', refusals: {}, said: null, isTold: false };
    this.tryAddress(turn, call, call.handing);
  }
  /** A server may announce a call before it waits for the result, so what looks like a wrong address is tried again. One that refuses is not. */
  tryAddress(turn: ChatTurn, call: OwnCall, handing: Handing): void {
    const urls = resultUrls(this.state);
    while (handing.at < urls.length && find(handing.refusals, urls[handing.at] ?? '')) handing.at += 1;
    const url = urls[handing.at];
    if (url !== undefined && call.answer) {
      handing.url = url;
      return this.port(null, `result ${call.id}`, 'server', { do: 'result', url, body: resultBody(this.state, call.id, call.answer) });
    }
    const [refusal] = Object.values(handing.refusals);
    if (refusal && urls.every((one) => find(handing.refusals, one))) {
      handing.stage = 'refused';
      return this.refusedEverywhere(turn, call, handing, refusal);
    }
    if (refusal && handing.tries === this.state.setup.timing.deliveries.length) this.refusedEverywhere(turn, call, handing, refusal);
    this.pauseHanding(call, handing);
  }
  pauseHanding(call: OwnCall, handing: Handing): void {
    const { deliveries } = this.state.setup.timing;
    this.timer(`deliver ${call.id}`, deliveries[Math.min(handing.tries, deliveries.length - 1)] ?? 0);
  }
  handed(turn: ChatTurn, call: OwnCall, result: unknown): void {
    const { handing } = call;
    const { response } = turn;
    if (!handing || !response) return;
    const { url } = handing;
    const { how, why = '', key = null } = (result ?? { how: 'notYet' }) as { how: string; why?: string; key?: string | null };
    if (how === 'accepted') {
      handing.stage = 'over';
      call.acceptedAt = response.substance;
      turn.tookResult ||= call.stage !== 'withdrawn';
      return this.learn({ flow: 'held', resultUrl: url });
    }
    if (why !== '') handing.said = why;
    if (how === 'refused') put(handing.refusals, url, { why, key });
    handing.at += 1;
    this.tryAddress(turn, call, handing);
  }
  /** Where it is not known whether the server waits for it, only a long silence makes a refusal worth a notice. */
  refusedEverywhere(turn: ChatTurn, call: OwnCall, handing: Handing, refusal: { readonly why: string; readonly key: string | null }): void {
    if (isHeld(call, handing)) return this.tellRefusal(turn, call, refusal);
    if (turn.response && !call.isStranger) this.awaitSilence('doubt', call, turn.response);
  }
  tellRefusal(turn: ChatTurn, call: OwnCall, { why, key }: { readonly why: string; readonly key: string | null }): void {
    if (key !== null && this.state.mayHaveKey && !call.isStranger) return this.askKey(turn, key, call.id);
    this.refusalStands(turn, call, why);
  }
  /** Another address may still take the result, and where nothing says that the server awaits it, the next request may tell it. */
  refusalStands(turn: ChatTurn, call: OwnCall, why: string): void {
    const { handing } = call;
    if (handing?.stage === 'refused' && isHeld(call, handing)) return this.notTaken(turn, call, why);
    if (handing) handing.isTold = true;
    if (!call.isStranger) this.noticeRefusal(notAccepted(why));
  }
  noticeRefusal(text: string): void {
    this.emit({ type: 'notice', notice: { level: 'error', text, next: ['openSettings'] } });
  }
  /** The server awaited the result and did not take it. One notice is enough for calls of the same fate. */
  notTaken(turn: ChatTurn, call: OwnCall, why: string): void {
    if (call.untaken !== null) return;
    const isTold = Object.values(turn.own).some((one) => one.untaken === why && !one.isStranger);
    call.untaken = why;
    if (call.isStranger) return;
    const message = notAccepted(why);
    if (!isTold && !call.handing?.isTold) this.noticeRefusal(message);
    // A failed tool keeps its own words.
    if (call.answer?.ok) this.changeCall(turn, this.shownId(turn, call.id), { status: 'failed', error: { message } });
  }
  /** The response ends. A server that was told a result and went on without it awaits it no more: the model would answer twice. */
  settleUntaken(turn: ChatTurn, isFailed: boolean): void {
    for (const call of undelivered(this.state, turn)) {
      const { handing } = call;
      if (handing?.stage !== 'trying' || call.acceptedAt !== null || !isHeld(call, handing)) continue;
      if (isFailed || this.wentOn(call)) this.notTaken(turn, call, handing.said ?? '–');
    }
  }
  /** The model has spoken or begun a step since the call. */
  wentOn(call: OwnCall): boolean {
    const { parts } = this.last;
    const part = findTool(this.last, call.id);
    if (!part) return false;
    return parts.slice(parts.lastIndexOf(part) + 1).some(({ type }) => type === 'text' || type === 'reasoning' || type === 'step-start');
  }
  /** A key for a refused result was given, or not. */
  refusalSettled(turn: ChatTurn, call: OwnCall, isGiven: boolean): void {
    const { handing } = call;
    if (!handing) return;
    const [refusal] = Object.values(handing.refusals);
    if (isGiven) {
      clear(handing.refusals);
      if (handing.stage !== 'refused') return;
      handing.stage = 'trying';
      return this.pauseHanding(call, handing);
    }
    this.refusalStands(turn, call, refusal?.why ?? '–');
  }
  /** The response no longer waits for results. */
  dropHanding(turn: ChatTurn): void {
    for (const call of Object.values(turn.own)) this.dropHandingOf(call);
    const { keyAsk } = turn;
    if (!keyAsk || keyAsk.isForRequest) return;
    turn.keyAsk = null;
    const ask = keyAsk.askId === null ? undefined : find(this.state.asks, keyAsk.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
  }
  dropHandingOf(call: OwnCall): void {
    if (call.stage !== 'answered') return;
    for (const timer of ['quiet', 'doubt', 'deliver']) this.timer(`${timer} ${call.id}`, null);
    if (call.handing?.stage !== 'trying') return;
    call.handing.stage = 'over';
    this.drop(`result ${call.id}`);
  }

  // --- Rounds inside a held response: it may call for ever, and only a stop ends it

  /** Each round after the first counts. At the limit the user is asked, and the calls of the round wait. */
  nextRound(turn: ChatTurn): void {
    if (!turn.tookResult) return;
    turn.tookResult = false;
    if (turn.rounds < this.state.settings.maxAutoPosts) {
      turn.rounds += 1;
      return;
    }
    turn.isRoundAsked = true;
    this.ask(continueAsk(this.newId(), turn.id, turn.rounds), { what: 'round' } satisfies About);
  }
  roundAllowed(turn: ChatTurn): void {
    turn.rounds = 1;
    turn.isRoundAsked = false;
    for (const call of Object.values(turn.own)) {
      if (call.stage !== 'round') continue;
      call.stage = call.answer ? 'answered' : 'queued';
      this.handIn(turn, call);
    }
    this.runQueued(turn);
    this.gathered(turn);
  }

  // --- Approvals of the server's calls

  /** An approval is asked once. The server decides automatic ones itself. */
  approvalRequested(turn: ChatTurn, part: ToolPart): void {
    const { approval } = part;
    if (!approval || approval.isAutomatic || find(turn.approvals, approval.id)) return;
    const { toolCallId } = part;
    if (find(this.state.allowed, toolNameOf(part))) {
      put(turn.approvals, approval.id, { toolCallId, askId: null });
      return this.writeVerdict(turn, part, { approved: true, always: true });
    }
    put(turn.approvals, approval.id, { toolCallId, askId: this.newId() });
    const edit = this.isOurs(part) ? undefined : this.editOf(part);
    if (edit) this.port(null, `file ${approval.id}`, 'file', { path: edit.path });
    else this.askApproval(turn, approval.id, part);
  }
  askApproval(turn: ChatTurn, approvalId: string, part: ToolPart, edit?: Diff): void {
    const askId = find(turn.approvals, approvalId)?.askId ?? this.newId();
    const at = { askId, turnId: turn.id, callId: this.shownId(turn, part.toolCallId) };
    this.ask(approvalAsk(part, at, edit), { what: 'approval', approvalId } satisfies About);
  }
  /** The file of an edit was read: now the user can see what the edit does to it. */
  fileRead(turn: ChatTurn, approvalId: string, { text }: FileRead): void {
    const part = findApproval(this.last, approvalId);
    const edit = part && this.editOf(part);
    if (!part || !this.isReading(find(turn.approvals, approvalId)) || turn.phase === 'stopping') return;
    const diff = edit && diffOf(edit, text);
    if (diff) put(turn.edits, part.toolCallId, diff);
    this.askApproval(turn, approvalId, part, diff);
  }
  /** The ask waits for its file. */
  isReading(approval: OpenApproval | undefined): boolean {
    return approval !== undefined && approval.askId !== null && !find(this.state.asks, approval.askId);
  }
  /** What is still read for asks that will not be opened. */
  stopReading(turn: ChatTurn): void {
    for (const [key, approval] of Object.entries(turn.approvals)) if (this.isReading(approval)) this.drop(`file ${key.slice(1)}`);
  }
  verdict(turn: ChatTurn, answer: Answer, part: ToolPart | undefined, name = part ? toolNameOf(part) : ''): Verdict {
    turn.rounds = 0;
    const verdict = verdictOf(answer);
    if (verdict.always && name !== '') put(this.state.allowed, name, true);
    return verdict;
  }
  approvalAnswered(turn: ChatTurn, approvalId: string, verdict: Verdict): void {
    const open = find(turn.approvals, approvalId);
    const part = findApproval(this.last, approvalId);
    if (!open) return;
    if (part?.state === 'approval-requested') {
      put(turn.approvals, approvalId, { toolCallId: open.toolCallId, askId: null });
      this.writeVerdict(turn, part, verdict);
    } else {
      remove(turn.approvals, approvalId);
    }
    this.gathered(turn);
  }
  writeVerdict(turn: ChatTurn, part: ToolPart, verdict: Verdict): void {
    if (!part.approval) return;
    part.state = 'approval-responded';
    part.approval = answeredApproval(part.approval, verdict);
    this.changed(this.last.parts.lastIndexOf(part));
    if (verdict.approved && this.isOurs(part)) this.startCall(turn, part.toolCallId);
  }
  /** The server knows the answer already, or does not want it any more. */
  approvalDecided(turn: ChatTurn, approvalId: string): void {
    const open = find(turn.approvals, approvalId);
    if (!open || open.askId === null) return;
    if (this.isReading(open)) this.drop(`file ${approvalId}`);
    remove(turn.approvals, approvalId);
    const ask: OpenAsk | undefined = find(this.state.asks, open.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
  }
  isAsking(turn: ChatTurn): boolean {
    return Object.values(turn.approvals).some((one) => one.askId !== null);
  }

  /** Approvals that came only as a data part. The answer goes beside the history, which keeps the call open. */
  dataApprovals(response: ChatResponse): readonly DataApproval[] {
    return this.last.parts.slice(response.assembly.boundary).flatMap((part) => {
      if (part.type !== 'data-tool-call-approval') return [];
      const read = dataApproval.safeParse((part as DataPart).data);
      if (!read.success || find(this.state.delivered, dataKey(read.data))) return [];
      const call = findTool(this.last, read.data.toolCallId);
      return call && (call.approval || isTerminal(call)) ? [] : [read.data];
    });
  }
  askDataApproval(turn: ChatTurn, request: DataApproval): void {
    const { toolCallId, toolName } = request;
    const part = findTool(this.last, toolCallId) ?? { type: `tool-${toolName}`, toolCallId, state: 'input-available', input: request.args };
    const name = toolNameOf(part);
    turn.stage = 'approval';
    if (find(this.state.allowed, name)) return this.dataApprovalAnswered(turn, request, { approved: true, always: true });
    const ask = approvalAsk(part, { askId: this.newId(), turnId: turn.id, callId: this.shownId(turn, toolCallId) });
    this.ask(ask, { what: 'dataApproval', request, name } satisfies About);
  }
  dataApprovalAnswered(turn: ChatTurn, request: DataApproval, { approved, reason }: Verdict): void {
    const extra = {
      resumeData: { approved, ...(reason === undefined ? {} : { reason }) },
      ...(request.runId == null ? {} : { runId: request.runId }),
    };
    this.nextRequest(turn, { trigger: 'submit-message', messageId: this.last.id, tells: [dataKey(request)], extra, continues: true });
  }

  // --- A window that was closed in the middle of a turn

  /** The user had not answered: the same turn waits for them again. What ran is not run again. */
  askAgain(last: NonNullable<Setup['interrupted']>): void {
    const turnId = this.newId();
    this.renameTurn(last.id, turnId);
    this.emit({ type: 'turns.removed', from: last.id });
    const turn = this.newTurn(turnId, last.prompt, { trigger: 'submit-message', continues: true });
    const { parts } = this.last;
    const response = this.newResponse(0, { resumableId: null, runId: null, stopUrl: null });
    turn.response = response;
    response.body.isDone = true;
    response.isOver = true;
    this.adopt(turn, [], parts, 0);
    for (const part of stepCalls(this.last, response.assembly)) {
      if (part.state === 'input-available' && this.isOurs(part))
        this.refuseCall(turn, part, 'Interrupted: the window was closed before there was a result.');
    }
    this.caughtUp(turn, response);
    this.gather(turn, response, false);
  }
  pickUpMessage(link: string, method: string, params: unknown): void {
    const { setup } = this.state;
    if (method === 'refused') {
      const { status } = params as Refused;
      if (status < 300 || NOTHING_TO_RESUME.includes(status)) return this.endPickUp();
      return this.pickUpFailed();
    }
    if (method === 'failed') return this.pickUpFailed();
    if (method !== 'opened' || !setup.interrupted) return;
    this.state.pickUp = null;
    const { id, prompt, hasCalls } = setup.interrupted;
    const turnId = this.newId();
    // A turn of several responses is not replayed as a whole: what it showed stays, and the rest comes in a turn of its own.
    if (!hasCalls) {
      if (this.last?.role === 'assistant') this.state.messages.pop();
      this.renameTurn(id, turnId);
      this.emit({ type: 'turns.removed', from: id });
    }
    const turn = this.newTurn(turnId, hasCalls ? [] : prompt, { trigger: 'submit-message', continues: false });
    turn.link = link;
    this.opened(turn, params as Opened);
  }
  pickUpFailed(): void {
    const { pickUp, setup } = this.state;
    if (!pickUp) return;
    pickUp.link = null;
    pickUp.attempt += 1;
    if (pickUp.attempt >= RESUME_TRIES) return this.endPickUp();
    this.timer('resume', setup.timing.resumes[pickUp.attempt - 1] ?? 0);
  }
  endPickUp(): void {
    const { pickUp } = this.state;
    if (!pickUp) return;
    this.state.pickUp = null;
    this.drop('settings');
    this.timer('resume', null);
    if (pickUp.link !== null) this.close(pickUp.link);
  }

  // --- Replies and timers

  reply(name: string, result: unknown, isError: boolean): void {
    const { turn } = this.state;
    const [what, id] = splitName(name);
    if (what === 'settings') return this.settingsRead(isError ? undefined : result);
    if (!turn) return;
    if (what === 'stop') return turn.phase === 'stopping' ? this.cancelled(turn) : undefined;
    if (what === 'key') {
      if (isError) this.log('error', 'The key could not be kept');
      return this.keyKnown(turn, !isError);
    }
    if (what === 'file') return this.fileRead(turn, id, isError || !isRecord(result) ? {} : result);
    const call = find(turn.own, id);
    if (!call) return;
    if (what === 'look') return this.looked(turn, call, isError ? {} : result);
    if (what === 'tool') return this.callAnswered(turn, call, isError ? { ok: false, text: 'The tool failed.' } : (result as ToolResult));
    if (what === 'result') return this.handed(turn, call, isError ? undefined : result);
  }
  elapsed(name: string): void {
    const { turn } = this.state;
    const [what, id] = splitName(name);
    if (what === 'resume') return this.resumeAgain();
    if (!turn) return;
    if (what === 'farewell') return turn.phase === 'stopping' ? this.cancelled(turn) : undefined;
    if (what === 'closing') return turn.link === null ? undefined : this.close(turn.link);
    if (what === 'grace') return this.graceOver(turn, id);
    const call = find(turn.own, id);
    if (!call) return;
    if (what === 'quiet' || what === 'doubt') return this.silenceElapsed(turn, what, call);
    if (what === 'deliver' && call.handing) {
      call.handing.tries += 1;
      call.handing.at = 0;
      this.tryAddress(turn, call, call.handing);
    }
  }
  resumeAgain(): void {
    const { turn, pickUp } = this.state;
    const { response } = turn ?? { response: null };
    if (turn?.stage === 'resume' && response)
      return this.openResume({ resumableId: response.resumableId, runId: response.runId, received: response.assembly.received });
    if (pickUp && !turn) this.openResume({ resumableId: null, runId: null, received: 0 });
  }
}

export const aiSdkMachine = machineOf(AiSdk);

function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
function dataKey(request: DataApproval): string {
  return `data:${request.runId ?? ''}:${request.toolCallId}`;
}
function notAccepted(why: string): string {
  return t('The agent refused: {0}', why);
}
/** Our calls whose outcome the server may not know. */
function undelivered({ delivered }: AiSdkState, turn: ChatTurn): readonly OwnCall[] {
  return Object.values(turn.own).filter((call) => call.stage !== 'withdrawn' && !find(delivered, call.id));
}
/** The server took a result while its response was open, and has not repeated it yet. */
function isAccepted(turn: ChatTurn): boolean {
  return Object.values(turn.own).some((call) => call.acceptedAt !== null && call.stage !== 'withdrawn');
}
function isWaiting(state: AiSdkState, turn: ChatTurn): boolean {
  return undelivered(state, turn).length > 0 || Object.keys(turn.approvals).some((key) => !find(state.delivered, key.slice(1)));
}
/** The server took a result last of all, and the message does not hold it yet. */
function tookWithoutEcho(message: UiMessage, turn: ChatTurn, response: ChatResponse): boolean {
  return Object.values(turn.own).some((call) => {
    if (call.acceptedAt !== response.substance || call.stage === 'withdrawn') return false;
    const part = findTool(message, call.id);
    return part !== undefined && !isTerminal(part);
  });
}
/** Ids of a call and its approval whose outcome we have and the server may not. */
function newsOf(turn: ChatTurn, part: ToolPart): readonly string[] {
  const own = find(turn.own, part.toolCallId);
  const isAnswered = own?.stage === 'answered' && part.providerExecuted !== true;
  const { approval } = part;
  const approved = part.state === 'approval-responded' && approval && find(turn.approvals, approval.id)?.askId === null;
  return [...(isAnswered ? [part.toolCallId] : []), ...(approved ? [approval.id] : [])];
}
function resultUrls({ learned, settings }: AiSdkState): readonly string[] {
  const { resultUrl } = learned;
  return resultUrl !== null && settings.resultUrls.includes(resultUrl) ? [resultUrl] : settings.resultUrls;
}
function resultBody({ chatId }: AiSdkState, id: string, answer: { readonly ok: boolean; readonly text: string }): object {
  const result = answer.ok ? resultValue(answer.text) : answer.text;
  return { session_id: chatId, tool_call_id: id, result: result ?? null, is_error: !answer.ok };
}
/** The server awaits the answer while its response is open. Otherwise that was only tried. */
function isHeld(call: OwnCall, handing: Handing): boolean {
  return handing.isSure || call.isAwaited;
}
/** The tools that this server gets. */
function offeredTools({ setup, settings }: AiSdkState): readonly OfferedTool[] {
  return [...setup.tools, ...(settings.fileTools ? setup.fileTools : []), QUESTION_TOOL];
}
function notAvailable(part: ToolPart): string {
  return `Tool "${toolNameOf(part).slice(0, 100)}" is not available in this editor.`;
}
