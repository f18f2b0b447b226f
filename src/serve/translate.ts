import { t } from '../base/l10n.ts';
import { MODE, toEffectMeta, toMessage, toMeta } from '../protocols/ahp/codec.ts';
import { reduceChat } from '../protocols/ahp/reduce.ts';
import {
  type CallResult,
  type ChatAction,
  type ChatState,
  type ConfigProperty,
  type Confirmation,
  type ConfirmationOption,
  type Confirmed,
  type EndedTurn,
  type FileEdit,
  type InputRequest,
  type Message,
  type Question,
  type ResponsePart,
  type ResultContent,
  type SessionConfig,
  senderOf,
  type TerminalContent,
  type ToolCallState,
  type TurnUsage,
  toSaidPart,
  withSender,
} from '../protocols/ahp/state.ts';
import { clientLabel, isTooWide } from '../session/approvalAnswers.ts';
import { callWords, rowPieces } from '../session/callWords.ts';
import { hunksOf } from '../session/hunks.ts';
import type { Intent } from '../session/intents.ts';
import type {
  Approval,
  ApprovalDetail,
  Ask,
  Content,
  Diff,
  Field,
  Option,
  Output,
  Part,
  Session,
  Terminal,
  ToolCall,
  Turn,
  TurnId,
} from '../session/model.ts';
import { leaveUnanswered } from '../session/parts.ts';
import { askTitle, findTerminal, relativePath, runningTurn, titleOf } from '../session/select.ts';
import { approvalHeading } from '../session/shownApproval.ts';
import { type ContentPlace, contentUri, fileUri, terminalUri } from './addresses.ts';
import { codeOf, commandOf, namedCommand, printedTerminal } from './terminals.ts';

/*
 * Actions that bring a client's chat in line with a session. Computed only from the difference between the two, regardless of past events: the state
 * sent to a new client and the actions sent to others cannot drift apart.
 */

/** Most UTF-16 units of one text of a result. */
const LONGEST_TEXT = 64 * 1024;
/** UTF-16 units of a name, or of a value shown as code. */
const LONGEST_LINE = 500;

/**
 * VS Code's title is plain text: it takes these signs out, escaped or not, and ends after 100 characters (seen, and read in its
 * build), so that `my_file` would read as `myfile`.
 */
const LOST_IN_TITLE = /[\\*_#>`]|^.{101}/;
const ANY_TITLE = 'Allow this?';
/** VS Code shows an edit with one button, which allows it, and a sign without a word, which rejects it (read in its build). */
const HOW_TO_REJECT = '✕ rejects this edit.';

/** Returns the actions that bring a chat to the current state of its session. */
export function chatActions(chat: ChatState, session: Session): readonly ChatAction[] {
  const builder = new ActionBuilder(chat, session);
  builder.removedTurns();
  for (const turn of builder.unsentTurns()) builder.turn(turn);
  builder.waiting();
  return builder.actions;
}

/**
 * Returns what becomes of the prompts that wait in the session, each for the front of the queue. `goesOn`: those with which the user goes on after a
 * Stop.
 */
export function waitingIntents(
  { activeTurn, turns }: ChatState,
  session: Session,
  goesOn: ReadonlySet<TurnId>,
): readonly Extract<Intent, { readonly type: 'prompt' | 'unqueue' }>[] {
  const running = runningTurn(session);
  return session.queue.toReversed().flatMap(({ held, feedback: _, ...prompt }) => {
    const { turnId } = prompt;
    // A prompt whose turn has ended for all clients must not start with the agent's next.
    if (turns.some((turn) => turn.id === turnId)) return { type: 'unqueue', turnId };
    // Elsewhere a prompt after a Stop or a failure waits for the user. Here the user has begun its turn, or goes on with it or another one.
    const isWanted = activeTurn?.id === turnId || goesOn.has(turnId) || (running && !running.stopping);
    return held && isWanted ? { type: 'prompt', ...prompt } : [];
  });
}

/**
 * Returns the actions before a client's own that stops the open turn, or rejects one of its calls: a cancelled call keeps the words that it had,
 * and those of a running one say that it goes on.
 */
export function pastWords({ chat, session, status, callId }: PastCalls): readonly ChatAction[] {
  const builder = new ActionBuilder(chat, session);
  const open = session.turns.find((one) => one.id === chat.activeTurn?.id);
  const turn = open && status === 'cancelled' ? leaveUnanswered(open, session.asks) : open;
  for (const part of turn?.parts ?? [])
    if (turn && part.kind === 'call' && (callId === undefined || part.call.id === callId)) builder.past(turn.id, { ...part.call, status });
  return builder.actions;
}

interface PastCalls {
  readonly chat: ChatState;
  readonly session: Session;
  readonly status: 'cancelled' | 'rejected';
  /** Undefined for all calls that are not over. */
  readonly callId?: string;
}

function usageOf({ input, output }: { readonly input?: number | undefined; readonly output?: number | undefined }): TurnUsage {
  return { ...(input === undefined ? {} : { inputTokens: input }), ...(output === undefined ? {} : { outputTokens: output }) };
}

/** Builds actions and applies each to its own copy of the chat, as a client does. */
class ActionBuilder {
  readonly actions: ChatAction[] = [];
  readonly #session: Session;
  #chat: ChatState;
  readonly #places = new PartIndex();

  constructor(chat: ChatState, session: Session) {
    this.#chat = chat;
    this.#session = session;
  }

  #append(action: ChatAction): void {
    this.actions.push(action);
    this.#chat = reduceChat(this.#chat, action);
  }

  /** Truncates the chat after turns that the session no longer has: they were rewound. */
  removedTurns(): void {
    const there = new Set(this.#session.turns.map((turn) => turn.id));
    const at = this.#chat.turns.findIndex((turn) => !there.has(turn.id) && !isUnsent(turn));
    if (at < 0) return;
    const last = this.#chat.turns[at - 1];
    this.#append({ type: 'chat/truncated', ...(last ? { turnId: last.id } : {}) });
  }

  /** Returns all turns after the last one ended in the chat. A turn stopped in the chat may still run in the session. */
  unsentTurns(): readonly Turn[] {
    const sent = new Set(this.#chat.turns.map((turn) => turn.id));
    return this.#session.turns.slice(this.#session.turns.findLastIndex((turn) => sent.has(turn.id)) + 1);
  }

  turn(turn: Turn): void {
    const { activeTurn } = this.#chat;
    if (activeTurn?.id !== turn.id) {
      // Another turn began while the client's own is open in the chat; that one waits in the queue.
      if (activeTurn) this.#append({ type: 'chat/turnCancelled', turnId: activeTurn.id, duration: 0 });
      const queued = this.#chat.queuedMessages?.find((one) => one.id === turn.id);
      const sender = turn.sender ?? (queued && senderOf(queued.message));
      const message = withSender(messageOf(turn.prompt), sender);
      this.#append({
        type: 'chat/turnStarted',
        turnId: turn.id,
        startedAt: iso(turn.startedAt),
        message,
        ...(queued ? { queuedMessageId: turn.id } : {}),
      });
    }
    for (const part of turn.parts) this.#part(turn, part);
    this.#questions(turn);
    this.#usage(turn);
    if (turn.status !== 'running') this.#end(turn);
  }

  #part(turn: Turn, part: Part): void {
    const turnId = turn.id;
    switch (part.kind) {
      case 'text':
      case 'thought':
        // Text of a sub-agent ends up in the result of its call.
        if (part.parent === undefined) this.#text(turnId, part.kind === 'text' ? 'markdown' : 'reasoning', part.id, part.text);
        return;
      case 'content':
        return this.#text(turnId, 'markdown', part.id, contentText(part.content));
      case 'call':
        return this.#call(turn, part.call);
      case 'notice':
        return this.#note(turnId, { kind: 'systemNotification', content: part.notice.text, _meta: { id: part.id } });
      case 'prompt':
        // Of a kind of its own for clients that know it.
        if (!part.pending) this.#note(turnId, toSaidPart(saidText(part.content), part.id, part.sender));
        return;
    }
  }

  /** Appends to a text part. A text that was replaced, rather than extended, becomes another part. */
  #text(turnId: string, kind: 'markdown' | 'reasoning', id: string, text: string): void {
    const { count, last } = this.#places.text(this.#parts, kind, id);
    if (last?.content === text) return;
    if (last && text.startsWith(last.content)) {
      const type = kind === 'markdown' ? 'chat/delta' : 'chat/reasoning';
      return this.#append({ type, turnId, partId: last.id, content: text.slice(last.content.length) });
    }
    const partId = last ? `${id}~${count}` : id;
    this.#append({ type: 'chat/responsePart', turnId, part: { kind, id: partId, content: text } });
  }

  get #parts(): readonly ResponsePart[] {
    return this.#chat.activeTurn?.responseParts ?? [];
  }

  #note(turnId: string, part: Extract<ResponsePart, { kind: 'systemNotification' }>): void {
    if (!this.#places.hasNote(this.#parts, part._meta?.id)) this.#append({ type: 'chat/responsePart', turnId, part });
  }

  #call(turn: Turn, call: ToolCall): void {
    const turnId = turn.id;
    let known = this.#known(call.id);
    const toolCallId = call.id;
    if (!known) {
      const displayName = call.title || call.name;
      const _meta = toMeta({ kind: call.kind });
      this.#append({ type: 'chat/toolCallStart', turnId, toolCallId, toolName: call.name, displayName, _meta });
      known = this.#known(call.id);
    }
    if (!known || known.status === 'completed' || known.status === 'cancelled') return;
    const ask = this.#session.asks.find((one): one is Approval => one.kind === 'approval' && one.callId === call.id && !one.decision);
    if (ask) return this.#confirmation(turnId, call, known, ask);
    switch (call.status) {
      case 'pending':
        if (known.status === 'streaming') this.#input(turnId, call, known.partialInput ?? '');
        return;
      case 'waiting':
        // The answer is pending, or the call asks a question of its own.
        if (known.status === 'pending-confirmation') return;
        return this.#running(turnId, call, known);
      case 'running':
        return this.#running(turnId, call, known);
      case 'rejected':
      case 'cancelled':
        // The end of the turn cancels it.
        if (call.status === 'cancelled' && turn.status !== 'running') return this.past(turnId, call);
        this.#ready(turnId, call, { confirmationTitle: call.title || call.name, _meta: toMeta({ kind: call.kind, ...askedInput(call) }) });
        return this.#append({
          type: 'chat/toolCallConfirmed',
          turnId,
          toolCallId,
          approved: false,
          reason: call.status === 'rejected' ? 'denied' : 'skipped',
        });
      case 'done':
      case 'ended':
      case 'failed':
        if (known.status !== 'running' || known.intention !== this.#intention(call, call.status)) this.#running(turnId, call, known);
        return this.#append({ type: 'chat/toolCallComplete', turnId, toolCallId, result: this.#result(call) });
    }
  }

  /** Puts a call that is to be cancelled into words of the past, in the state that it is in. */
  past(turnId: string, call: ToolCall): void {
    const known = this.#known(call.id);
    if (!known || known.status === 'completed' || known.status === 'cancelled') return;
    const invocationMessage = this.#words(call, call.status);
    if (known.status !== 'streaming' && JSON.stringify(known.invocationMessage) === JSON.stringify(invocationMessage)) return;
    const ready = { type: 'chat/toolCallReady', turnId, toolCallId: call.id } as const;
    const input = known.status === 'streaming' || known.toolInput === undefined ? {} : { toolInput: known.toolInput };
    const intention = known.intention === undefined ? {} : { intention: this.#intention(call, call.status) ?? known.intention };
    const said = { ...input, invocationMessage, ...intention, ...(known._meta ? { _meta: known._meta } : {}) };
    if (known.status !== 'pending-confirmation') {
      const confirmed = known.status === 'running' ? known.confirmed : 'not-needed';
      return this.#append({ ...ready, ...said, confirmed });
    }
    const { confirmationTitle, options, edits } = known;
    this.#append({ ...ready, ...said, confirmationTitle, ...(options ? { options } : {}), ...(edits ? { edits } : {}) });
  }

  #known(callId: string): ToolCallState | undefined {
    return this.#places.call(this.#parts, callId);
  }

  #input(turnId: string, call: ToolCall, sent: string): void {
    const { inputText } = call;
    if (inputText.length > sent.length && inputText.startsWith(sent))
      this.#append({ type: 'chat/toolCallDelta', turnId, toolCallId: call.id, content: inputText.slice(sent.length) });
  }

  #confirmation(turnId: string, call: ToolCall, known: ToolCallState, ask: Approval): void {
    const wanted = confirmationOf(ask, call, this.#session);
    const same =
      known.status === 'pending-confirmation' &&
      JSON.stringify([known.confirmationTitle, known.options, known.edits, known._meta]) ===
        JSON.stringify([wanted.confirmationTitle, wanted.options, wanted.edits, wanted._meta]);
    if (!same) this.#ready(turnId, call, wanted, ask);
  }

  /** Without its input, which VS Code would show as JSON (seen): what is asked says it. */
  #ready(turnId: string, call: ToolCall, confirmation: Confirmation, ask?: Approval): void {
    const known = this.#known(call.id);
    const hasInput = known !== undefined && known.status !== 'streaming' && known.toolInput !== undefined;
    this.#append({
      type: 'chat/toolCallReady',
      turnId,
      toolCallId: call.id,
      invocationMessage: ask ? this.#asked(call, ask) : this.#words(call, call.status),
      ...(hasInput ? { toolInput: '' } : {}),
      ...confirmation,
    });
  }

  /** All that is asked about, below its title: nobody allows what is not shown. Says nothing of a run, which has not begun. */
  #asked(call: ToolCall, ask: Approval) {
    const { action, amount } = approvalHeading(ask, this.#session);
    // An agent that gives the title again as its reason says no more by it.
    const beside = (ask.beside ?? []).filter((one) => one.type !== 'text' || one.text.replaceAll('`', '').trim() !== action);
    const { detail } = ask;
    // The title names one file whose lines are counted, and clients show the counts with its diff.
    const isSaid = detail.type === 'edit' && detail.diffs.length === 1 && amount !== undefined;
    const { name = '' } = confirmationTitle(ask, this.#session);
    const all = [
      name,
      isSaid ? '' : subjectOf(detail, this.#session),
      this.#unsaidInput(call, detail),
      ...besideOf(beside, this.#session),
    ].filter(Boolean);
    if (detail.type === 'edit' && detail.diffs.length > 0) all.push(HOW_TO_REJECT);
    return { markdown: all.join('\n\n') || escaped(action) };
  }

  /** The command or the input of a call that asks in words which do not name it. */
  #unsaidInput(call: ToolCall, detail: ApprovalDetail): string {
    if (detail.type !== 'text') return '';
    const text = namedCommand(call, this.#session) ?? inputOf(call) ?? '';
    const values = typeof call.input === 'object' && call.input !== null ? Object.values(call.input) : [];
    const isSaid = values.every((value) => typeof value === 'string' && detail.text.includes(value));
    return text === '' || isSaid ? '' : asBlock(text);
  }

  #running(turnId: string, call: ToolCall, known: ToolCallState): void {
    const toolCallId = call.id;
    if (known.status === 'pending-confirmation')
      this.#append({ type: 'chat/toolCallConfirmed', turnId, toolCallId, approved: true, confirmed: confirmedBy(call) });
    const before = this.#known(call.id);
    const confirmed = before?.status === 'running' ? before.confirmed : confirmedBy(call);
    const command = commandOf(call, this.#session);
    const toolInput = command ?? inputOf(call);
    const intention = this.#intention(call, call.status);
    const ready = {
      invocationMessage: this.#words(call, 'running'),
      ...(toolInput === undefined ? {} : { toolInput }),
      ...(intention === undefined ? {} : { intention }),
      // VS Code then shows any output as a terminal and hides the options of a call that asks, so only a running call sets it.
      _meta: { ...toMeta({ kind: call.kind }), ...(command === undefined ? {} : { toolKind: 'terminal' }) },
    };
    const sent = before?.status === 'running' ? readyOf(before) : undefined;
    if (JSON.stringify(sent) !== JSON.stringify(ready))
      this.#append({ type: 'chat/toolCallReady', turnId, toolCallId, ...ready, confirmed });
    const content = this.#content(call, false);
    const now = this.#known(call.id);
    if (now?.status === 'running' && JSON.stringify(content) !== JSON.stringify(now.content ?? []))
      this.#append({ type: 'chat/toolCallContentChanged', turnId, toolCallId, content });
  }

  #result(call: ToolCall): CallResult {
    const content = this.#content(call, true);
    const error = call.status === 'failed' ? { error: { message: call.error?.message ?? 'The call failed.' } } : {};
    return {
      success: call.status !== 'failed',
      pastTenseMessage: this.#words(call, call.status),
      ...(content.length > 0 ? { content } : {}),
      ...error,
    };
  }

  /**
   * The word before the command of a terminal. VS Code's own is "Ran" for one that was stopped, too, and the window that stops it shows what it knew
   * before (seen): so until its end the word says neither.
   */
  #intention(call: ToolCall, status: ToolCall['status']): string | undefined {
    if (commandOf(call, this.#session) === undefined) return undefined;
    const isOver = status !== 'pending' && status !== 'waiting' && status !== 'running';
    return isOver ? callWords({ ...call, status }, this.#session).verb : 'Run';
  }

  #words(call: ToolCall, status: ToolCall['status']) {
    // The request beside it holds the question, and the answer later.
    const question = this.#session.asks.find((ask) => ask.kind === 'question' && ask.callId === call.id);
    if (question) return { markdown: escaped(question.title) };
    if (call.decision?.kind === 'answers') return { markdown: escaped(callWords(call, this.#session).verb) };
    const words = callWords({ ...call, status }, this.#session);
    const row = rowPieces(words).map(({ role, text, gap }) => (role === 'thing' && words.code ? ` ${asCode(text)}` : gap + escaped(text)));
    return { markdown: `${row.join('')}${words.problem ? ` · ${escaped(words.problem)}` : ''}` };
  }

  #content(call: ToolCall, isOver: boolean): readonly ResultContent[] {
    const printed = printedTerminal(call, this.#session);
    if (printed) return [terminalContent(printed, this.#session.id, call, isOver)];
    return call.output.flatMap((output, at): readonly ResultContent[] => {
      const found = this.#output(call, output, at, isOver);
      return found ? [found] : [];
    });
  }

  #output(call: ToolCall, output: Output, at: number, isOver: boolean): ResultContent | undefined {
    switch (output.kind) {
      case 'diff':
        return { type: 'fileEdit', ...fileEdit(output.diff, { sessionId: this.#session.id, owner: call.id, callId: '', at }) };
      case 'terminal': {
        const terminal = findTerminal(this.#session, output.terminalId);
        return terminal && terminalContent(terminal, this.#session.id, call, isOver);
      }
      case 'json':
        return { type: 'text', text: JSON.stringify(output.value, undefined, 2).slice(0, LONGEST_TEXT) };
      case 'content': {
        const { content } = output;
        if (content.type === 'image') return { type: 'embeddedResource', data: content.data, contentType: content.mime };
        return { type: 'text', text: contentText(content).slice(0, LONGEST_TEXT) };
      }
    }
  }

  /** Adds questions, and approvals that belong to no call. */
  #questions(turn: Turn): void {
    const asks = this.#session.asks.filter((ask) => ask.turnId === turn.id && !ask.decision && !this.#isCallAsk(ask));
    for (const ask of asks) {
      const request = requestOf(ask, this.#session);
      const open = this.#openRequest(ask.id);
      if (JSON.stringify(open) !== JSON.stringify(request)) this.#append({ type: 'chat/inputRequested', turnId: turn.id, request });
    }
    for (const part of this.#chat.activeTurn?.responseParts ?? []) {
      if (part.kind !== 'inputRequest' || part.response !== undefined || asks.some((ask) => ask.id === part.request.id)) continue;
      this.#append({ type: 'chat/inputCompleted', requestId: part.request.id, response: 'cancel' });
    }
  }

  #isCallAsk(ask: Ask): boolean {
    return ask.kind === 'approval' && ask.callId !== undefined && this.#known(ask.callId) !== undefined;
  }

  #openRequest(id: string): InputRequest | undefined {
    for (const part of this.#chat.activeTurn?.responseParts ?? []) {
      if (part.kind !== 'inputRequest' || part.response !== undefined || part.request.id !== id) continue;
      const { answers: _drafts, ...request } = part.request;
      return request;
    }
    return undefined;
  }

  /** Reports token usage on the running turn, as it is known only for the whole conversation; of a turn that is read again, what it took. */
  #usage(turn: Turn): void {
    const sent = this.#chat.activeTurn?.usage;
    const { usage, options } = this.#session;
    if (turn.status !== 'running') {
      if (turn.spent && !sent) this.#append({ type: 'chat/usage', turnId: turn.id, usage: usageOf(turn.spent) });
      return;
    }
    if (!usage) return;
    const model = options?.find((option) => option.about === 'model' && option.kind === 'choice');
    const wanted: TurnUsage = {
      ...usageOf({ ...usage, input: usage.input ?? usage.used }),
      ...(model?.kind === 'choice' ? { model: model.current } : {}),
    };
    if (JSON.stringify(sent) !== JSON.stringify(wanted)) this.#append({ type: 'chat/usage', turnId: turn.id, usage: wanted });
  }

  #end(turn: Turn): void {
    const turnId = turn.id;
    const duration = Math.max(0, (turn.endedAt ?? turn.startedAt) - turn.startedAt);
    if (turn.status === 'done') return this.#append({ type: 'chat/turnComplete', turnId, duration });
    if (turn.status === 'cancelled') return this.#append({ type: 'chat/turnCancelled', turnId, duration });
    this.#append(failure(turnId, duration, turn.error?.message ?? turn.stop ?? 'The turn failed.', turn.error?.code));
  }

  /** Syncs prompts that wait for the end of the turn, or for the agent to accept them. */
  waiting(): void {
    const { activeTurn } = this.#chat;
    const running = this.#session.turns.findLast((turn) => turn.status === 'running');
    const steering = running?.parts.findLast((part) => part.kind === 'prompt' && part.pending === true);
    // The prompt of the chat's open turn may still wait for its agent in the session's queue.
    const queue = this.#session.queue.filter((prompt) => prompt.turnId !== activeTurn?.id);
    for (const one of this.#chat.queuedMessages ?? [])
      if (!queue.some((prompt) => prompt.turnId === one.id))
        this.#append({ type: 'chat/pendingMessageRemoved', kind: 'queued', id: one.id });
    const sent = this.#chat.steeringMessage;
    const isQueued = queue.some((prompt) => prompt.turnId === sent?.id);
    // VS Code takes a message that leaves the turn out of its queue, too, and has the host do the same (seen): it leaves before it waits there.
    if (sent && isQueued) this.#append({ type: 'chat/pendingMessageRemoved', kind: 'steering', id: sent.id, _meta: { queued: true } });
    for (const prompt of queue)
      if (prompt.turnId === sent?.id || !this.#chat.queuedMessages?.some((one) => one.id === prompt.turnId))
        this.#append({ type: 'chat/pendingMessageSet', kind: 'queued', id: prompt.turnId, message: sentMessage(prompt) });
    const order = queue.map((prompt) => prompt.turnId);
    if (this.#chat.queuedMessages?.some((one, at) => one.id !== order[at])) this.#append({ type: 'chat/queuedMessagesReordered', order });
    if (sent && !isQueued && sent.id !== steering?.id) this.#append({ type: 'chat/pendingMessageRemoved', kind: 'steering', id: sent.id });
    if (steering?.kind === 'prompt' && sent?.id !== steering.id)
      this.#append({ type: 'chat/pendingMessageSet', kind: 'steering', id: steering.id, message: sentMessage(steering) });
    // Ends a prompt that no agent has accepted and whose agent is gone.
    const { link } = this.#session;
    if (activeTurn && link.state === 'closed' && !this.#session.turns.some((turn) => turn.id === activeTurn.id))
      this.#append(failure(activeTurn.id, 0, link.detail ? `${link.reason}\n${link.detail}` : link.reason));
  }
}

type TextPart = Extract<ResponsePart, { readonly kind: 'markdown' | 'reasoning' }>;

/** Index of the parts of the open turn, because a linear search at every change is too slow for thousands of parts. */
class PartIndex {
  readonly #calls = new Map<string, number>();
  /** Number of parts that a text has become, and the index of the last one. */
  readonly #texts = new Map<string, { count: number; last: number }>();
  readonly #notes = new Set<unknown>();
  #read = 0;

  call(parts: readonly ResponsePart[], id: string): ToolCallState | undefined {
    this.#catchUp(parts);
    const part = parts[this.#calls.get(id) ?? -1];
    return part?.kind === 'toolCall' ? part.toolCall : undefined;
  }

  text(
    parts: readonly ResponsePart[],
    kind: TextPart['kind'],
    id: string,
  ): { readonly count: number; readonly last: TextPart | undefined } {
    this.#catchUp(parts);
    const { count, last } = this.#texts.get(`${kind} ${id}`) ?? { count: 0, last: -1 };
    return { count, last: parts[last] as TextPart | undefined };
  }

  hasNote(parts: readonly ResponsePart[], id: unknown): boolean {
    this.#catchUp(parts);
    return this.#notes.has(id);
  }

  /** Indexes new parts, which only come at the end of a turn; starts over for another turn. */
  #catchUp(parts: readonly ResponsePart[]): void {
    if (parts.length < this.#read) this.#forget();
    for (; this.#read < parts.length; this.#read++) {
      const part = parts[this.#read] as ResponsePart;
      if (part.kind === 'toolCall') this.#calls.set(part.toolCall.toolCallId, this.#read);
      else if (part.kind === 'systemNotification') this.#notes.add(part._meta?.id);
      else if (part.kind === 'markdown' || part.kind === 'reasoning') this.#addText(part);
    }
  }

  #addText({ kind, id }: TextPart): void {
    for (const name of new Set([id, id.replace(/~\d+$/, '')])) {
      const known = this.#texts.get(`${kind} ${name}`);
      this.#texts.set(`${kind} ${name}`, { count: (known?.count ?? 0) + 1, last: this.#read });
    }
  }

  #forget(): void {
    this.#calls.clear();
    this.#texts.clear();
    this.#notes.clear();
    this.#read = 0;
  }
}

/** True for a turn that ended before an agent received its prompt; no session contains it. */
function isUnsent({ responseParts }: EndedTurn): boolean {
  return responseParts.every((part) => part.kind === 'error');
}

/** Without an `error` of its own beside the part: VS Code then takes that in its place, and offers no other try. */
export function failure(turnId: string, duration: number, message: string, code = 'agent'): ChatAction {
  const error = { errorType: code, message };
  return { type: 'chat/error', turnId, duration, part: { kind: 'error', error, resumable: true } };
}

function confirmedBy({ decision }: ToolCall): Confirmed {
  if (decision?.kind !== 'approval') return 'not-needed';
  return decision.by === 'rule' ? 'setting' : 'user-action';
}

function readyOf({ invocationMessage, toolInput, intention, _meta }: Extract<ToolCallState, { readonly status: 'running' }>) {
  return { invocationMessage, toolInput, ...(intention === undefined ? {} : { intention }), _meta };
}

function inputOf({ input }: ToolCall): string | undefined {
  return input === undefined ? undefined : JSON.stringify(input, undefined, 2)?.slice(0, LONGEST_TEXT);
}

function askedInput(call: ToolCall): { readonly input?: string } {
  const input = inputOf(call);
  return input === undefined ? {} : { input };
}

function confirmationOf(ask: Approval, call: ToolCall, session: Session): Confirmation {
  const title = askTitle(ask, session, t('Run in terminal'));
  const options = ask.options.toSorted(byWidth).flatMap((option): readonly ConfirmationOption[] => {
    const kind = sideOf(option, ask);
    return kind === undefined
      ? []
      : [
          {
            id: option.id,
            label: clientLabel(option, ask),
            kind,
            group: kind === 'approve' ? 0 : 1,
            _meta: toEffectMeta(option.effect),
          },
        ];
  });
  const diffs = ask.detail.type === 'edit' ? ask.detail.diffs : [];
  const items = diffs.map((diff, at) => fileEdit(diff, { sessionId: session.id, owner: ask.id, callId: ask.callId ?? '', at }));
  return {
    // A client reads it as markdown, which would take signs of a command away.
    confirmationTitle: { markdown: escaped(confirmationTitle(ask, session).title) },
    _meta: toMeta({
      title,
      kind: ask.toolKind ?? 'other',
      ...(ask.detail.type === 'command' && ask.detail.cwd !== undefined ? { cwd: ask.detail.cwd } : {}),
      ...(ask.detail.type === 'command' && ask.detail.unsure ? { unsure: true } : {}),
      ...(ask.paths ? { paths: ask.paths } : {}),
      ...(ask.detail.type === 'edit' ? {} : { detail: ask.detail }),
      ...askedInput(call),
      ...(ask.beside ? { beside: ask.beside } : {}),
      ...(ask.outside ? { outside: true } : {}),
      ...(ask.asker === undefined ? {} : { asker: ask.asker }),
    }),
    ...(options.length > 0 ? { options } : {}),
    ...(items.length > 0 ? { edits: { items } } : {}),
  };
}

/** The title of an approval, and in Markdown what a client would not show whole there, for its message. A command stands in the message anyway. */
function confirmationTitle(ask: Approval, session: Session): { readonly title: string; readonly name?: string } {
  const title = approvalHeading(ask, session).action.replace(/\s+/g, ' ');
  if (!LOST_IN_TITLE.test(title)) return { title };
  const [first] = ask.detail.type === 'edit' ? ask.detail.diffs : [];
  const path = first ? relativePath(first.path, session.cwd) : '';
  const file = t('{0} {0|file|files}', 1);
  const general = path === '' ? title : title.replace(path.replace(/\s+/g, ' '), () => file);
  const isNamed = general !== title && !LOST_IN_TITLE.test(general);
  return { title: isNamed ? general : ANY_TITLE, name: exactly(isNamed ? path : title) };
}

/** The narrowest first: VS Code makes the first one that allows its main button (seen). */
function byWidth(one: Option, other: Option): number {
  const order: readonly Option['effect'][] = ['allow_once', 'allow_always', 'reject_once', 'reject_always', 'other'];
  return order.indexOf(one.effect) - order.indexOf(other.effect);
}

/** Returns the side of an option; undefined for one of unknown meaning, or with a wider effect than its label suggests. */
export function sideOf(option: Option, ask: Approval): 'approve' | 'deny' | undefined {
  const { effect } = option;
  if (effect === 'allow_once' || effect === 'allow_always') return isTooWide(option, ask) ? undefined : 'approve';
  return effect === 'reject_once' || effect === 'reject_always' ? 'deny' : undefined;
}

/** Refers to live output by its address; includes the output once the call is over. */
function terminalContent(terminal: Terminal, sessionId: string, call: ToolCall, isOver: boolean): TerminalContent {
  const { id, tail, dropped, exit } = terminal;
  const preview = tail.slice(-LONGEST_TEXT);
  const result = { ...(exit ? codeOf(exit) : {}), preview, truncated: dropped > 0 || preview.length < tail.length };
  return {
    type: 'terminal',
    resource: terminalUri(sessionId, id),
    title: call.title || call.name,
    isPty: false,
    ...(isOver ? { result } : {}),
  };
}

function fileEdit(diff: Diff, place: Pick<ContentPlace, 'sessionId' | 'owner' | 'callId' | 'at'>): FileEdit {
  const uri = fileUri(diff.path);
  const side = (which: 'before' | 'after') => ({ uri, content: { uri: contentUri({ ...place, side: which, file: diff.path }) } });
  const { added, removed } = hunksOf(diff);
  return {
    ...(diff.before === null ? {} : { before: side('before') }),
    ...(diff.after === null ? {} : { after: side('after') }),
    diff: { added, removed },
  };
}

/** Returns the text that an address names; undefined where it is gone. Clients keep the diff of an ask open after they have answered it (seen). */
export function shownText(session: Session, { owner, callId, at, side, file }: ContentPlace): string | null | undefined {
  const diff = diffsUnder(session, owner)[at] ?? diffsUnder(session, callId).find((one) => one?.path === file);
  return diff?.[side];
}

/** Returns the diffs of one ask or call, in the order that addresses number them. */
function diffsUnder(session: Session, owner: string): readonly (Diff | undefined)[] {
  const ask = session.asks.find((one) => one.id === owner);
  if (ask?.kind === 'approval' && ask.detail.type === 'edit') return ask.detail.diffs;
  for (const turn of session.turns.toReversed())
    for (const part of turn.parts)
      if (part.kind === 'call' && part.call.id === owner)
        return part.call.output.map((output) => (output.kind === 'diff' ? output.diff : undefined));
  return [];
}

/** The id of the question that an approval without a call becomes. */
export const APPROVAL_QUESTION = 'answer';

function requestOf(ask: Ask, session: Session): InputRequest {
  // VS Code shows the message above the first question (seen): one that is the question itself would be there twice.
  if (ask.kind === 'question') {
    const isSaid = ask.fields[0]?.label === ask.title;
    return { id: ask.id, message: isSaid ? '' : ask.title, questions: ask.fields.map(questionOf) };
  }
  const about = [subjectOf(ask.detail, session), ...besideOf(ask.beside ?? [], session)].filter(Boolean).join('\n\n');
  const title = approvalHeading(ask, session).action;
  // VS Code marks the first answer as if it were chosen (seen): that one allows nothing.
  const offered = (side: 'deny' | 'approve') => ask.options.filter((one) => sideOf(one, ask) === side);
  const options = [...offered('deny'), ...offered('approve')].map((one) => ({ id: one.id, label: clientLabel(one, ask) }));
  return {
    id: ask.id,
    message: '',
    questions: [
      {
        id: APPROVAL_QUESTION,
        kind: 'single-select',
        ...(about === '' ? { message: title } : { title, message: about }),
        required: true,
        options,
        allowFreeformInput: false,
      },
    ],
  };
}

/** Returns in Markdown what an approval is about, whole: nobody allows what is not shown. */
function subjectOf(detail: ApprovalDetail, { cwd }: Pick<Session, 'cwd'>): string {
  switch (detail.type) {
    case 'command':
      return asBlock(detail.command);
    case 'edit':
      return detail.diffs.map((diff) => `- ${escaped(relativePath(diff.path, cwd))}`).join('\n');
    case 'mcp':
      return detail.input === undefined ? '' : (inputLines(detail.input) ?? asBlock(JSON.stringify(detail.input, undefined, 2)));
    case 'text':
      return detail.markdown || detail.text === '' ? detail.text : asBlock(detail.text);
  }
}

/** A line for each value of a tool's input; undefined where one would need several. */
function inputLines(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const lines = Object.entries(input).map(([key, value]) => {
    // As code, longer texts are cut and their gaps closed.
    const isWhole =
      typeof value === 'string'
        ? value.trim() !== '' && value.length <= LONGEST_LINE && !/[^\S ]| {2}/.test(value)
        : typeof value !== 'object';
    return isWhole && key.length <= LONGEST_LINE ? `- ${escaped(key)}: ${asCode(String(value))}` : undefined;
  });
  return lines.includes(undefined) ? undefined : lines.join('\n');
}

/** No title names what comes with a proposal. */
function besideOf(all: readonly ApprovalDetail[], session: Session): readonly string[] {
  return all.map((one) => (one.type === 'mcp' ? `${escaped(`${one.server}/${one.tool}`)}\n\n` : '') + subjectOf(one, session));
}

function questionOf(field: Field): Question {
  const base = {
    id: field.id,
    // VS Code shows both, so that a label that is the whole question would be shown twice (seen).
    ...(field.body === undefined ? {} : { title: field.label }),
    message: field.body ?? field.label,
    ...(field.required ? { required: true } : {}),
  };
  const bounds = { ...(field.min === undefined ? {} : { min: field.min }), ...(field.max === undefined ? {} : { max: field.max }) };
  const [initial] = field.initial ?? [];
  if (field.choices?.length) {
    const options = field.choices.map(({ label, description }) => ({
      id: label,
      label,
      ...(description === undefined ? {} : { description }),
      ...(field.initial?.includes(label) ? { recommended: true } : {}),
    }));
    const kind = field.many ? 'multi-select' : 'single-select';
    // VS Code offers a field for text of one's own where nothing is said (seen).
    return { ...base, kind, options, allowFreeformInput: field.free === true, ...(field.many ? bounds : {}) };
  }
  switch (field.kind) {
    case 'number':
    case 'integer':
      return { ...base, kind: field.kind, ...bounds, ...(initial === undefined ? {} : { defaultValue: Number(initial) }) };
    case 'boolean':
      return { ...base, kind: 'boolean', ...(initial === undefined ? {} : { defaultValue: initial === 'true' }) };
    default: {
      const format = field.kind === undefined || field.kind === 'text' ? {} : { format: field.kind };
      return { ...base, kind: 'text', ...format, ...bounds, ...(initial === undefined ? {} : { defaultValue: initial }) };
    }
  }
}

/** Returns the mode and options that the user can choose. */
export function configOf({ mode, options = [] }: Session): SessionConfig {
  const properties: Record<string, ConfigProperty> = {};
  const values: Record<string, string | boolean> = {};
  const choice = (
    id: string,
    title: string,
    all: readonly { readonly value: string; readonly name: string; readonly description?: string }[],
    current: string,
  ) => {
    properties[id] = {
      type: 'string',
      title,
      enum: all.map((one) => one.value),
      enumLabels: all.map((one) => one.name),
      enumDescriptions: all.map((one) => one.description ?? ''),
      sessionMutable: true,
    };
    values[id] = current;
  };
  for (const option of options) {
    if (option.kind === 'choice' && option.about === 'model') {
      // Clients choose from the agent's models and send that with a prompt: without values of its own this offers no second choice.
      properties[option.id] = { type: 'string', title: option.name, readOnly: true, sessionMutable: true };
      values[option.id] = option.current;
    } else if (option.kind === 'choice') choice(option.id, option.name, option.choices, option.current);
    else {
      properties[option.id] = { type: 'boolean', title: option.name, sessionMutable: true };
      values[option.id] = option.on;
    }
  }
  if (mode)
    choice(
      MODE,
      'Mode',
      mode.all.map((one) => ({ ...one, value: one.id })),
      mode.current,
    );
  return { schema: { type: 'object', properties }, values };
}

/** Returns a title, because clients list an untitled chat by a meaningless number. */
export function chatTitle(session: Session): string {
  return titleOf(session) || session.agent.name;
}

/** Returns a message as the client sent it: the user's own words, and the attachments beside them. */
export function messageOf(content: readonly Content[]): Message {
  return toMessage(content, null);
}

/** The same as one text, where a client shows no attachments. */
function saidText(content: readonly Content[]): string {
  return content
    .map((one) => (one.type === 'text' ? (one.label ?? one.text) : contentText(one)))
    .filter(Boolean)
    .join('\n\n');
}

function sentMessage({ content, sender }: { readonly content: readonly Content[]; readonly sender?: string }): Message {
  return withSender(messageOf(content), sender);
}

function contentText(content: Content): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'file':
      return `[${escaped(content.path)}](${fileUri(content.path)})`;
    case 'link':
      return `[${escaped(content.title ?? content.uri)}](${content.uri})`;
    case 'image':
    case 'audio':
      return `(${content.mime})`;
    case 'raw':
      return content.label;
  }
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/** Formats text as Markdown code, whatever backquotes it contains. */
function asCode(text: string): string {
  const line = text.replace(/\s+/g, ' ').slice(0, LONGEST_LINE);
  const longest = longestRun(line);
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `\`${line}\`` : `${fence} ${line} ${fence}`;
}

/** The same, whole however long it is. */
function exactly(text: string): string {
  return text.length > LONGEST_LINE ? asBlock(text) : asCode(text);
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** The same over several lines, whole. */
function asBlock(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}\n${text}\n${fence}`;
}

function escaped(text: string): string {
  return text.slice(0, LONGEST_LINE).replace(/[\\`*_{}[\]<>()#!|~]/g, '\\$&');
}
