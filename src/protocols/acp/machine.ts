import { t } from '../../base/l10n.ts';
import type { Failure } from '../../base/outcomes.ts';
import type { Input, Machine } from '../../conversation/machine.ts';
import { find, keys, newTable, put, remove, splitName } from '../../conversation/state.ts';
import { machineOf, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import type { Intent } from '../../session/intents.ts';
import type { Content, Notice, ToolCall } from '../../session/model.ts';
import {
  type AcpCall,
  type CallFacts,
  type CallSource,
  isAnnouncedAgain,
  isEmpty,
  isFinal,
  isReading,
  mergeCall,
  mergeEdits,
  newCall,
  ofChild,
  placeEdit,
  shown,
  startAgain,
  startReading,
  unreportedIn,
} from './calls.ts';
import {
  endOf,
  faultOf,
  frameOf,
  isNote,
  isOfAnswer,
  isOfChild,
  isReminder,
  misfit,
  newBlocks,
  recordedMessage,
  subjectOf,
  type TerminalUpdate,
  terminalsIn,
  toBlocks,
  toContent,
} from './codec.ts';
import { patchItems } from './diffs.ts';
import { AcpRequests, type EditedFile } from './requests.ts';
import { type AcpToolCall, type Activity, AUTH_REQUIRED, type ContentBlock, promptAnswer, type SessionUpdate } from './schema.ts';
import { eventsOf, modeRequest, noticeOf, optionRequest, type SettingRequest, settingDone, settingEvents } from './settings.ts';
import {
  type AcpLane,
  type AcpState,
  type AcpTurn,
  acpLane,
  acpTurn,
  addRecorded,
  type ChildUpdate,
  forgetOldCalls,
  noteChild,
  type PromptState,
  type RecordedPrompt,
  rootsOf,
  type SubAgent,
  stoppedBy,
} from './state.ts';
import { type AgentTerminal, type TerminalOutput, takeBytes } from './v2Codec.ts';

/*
 * Agent Client Protocol, client side: one process, JSON-RPC both ways, one session in it. The answer to session/prompt ends a turn (version 1), or
 * an update does (version 2). docs/protocols/acp.md tells what agents do.
 *
 * In this order: what the user wants · prompts · turns · updates of the agent · messages · sub-agents · calls · edits and their files · replies and
 * timers. What the agent asks of the editor is the layer below, in requests.ts; the process, the session and signing in are that below it, in
 * connection.ts.
 */

/** Updates kept for sessions whose id is not known yet. */
const MOST_EARLY = 200;

class AcpStep extends AcpRequests {
  override take(input: Input): void {
    switch (input.on) {
      case 'message':
        return input.method === 'session/update'
          ? this.update(input.params)
          : this.log('trace', `Left aside: the notification ${input.method}`);
      case 'asked':
        return this.asked(input.id, input.method, input.params);
      case 'reply':
        return this.reply(input.call, input.result, input.error);
      case 'intent':
        return this.intent(input.intent);
      case 'timer':
        return this.elapsed(...splitName(input.timer));
      case 'withdrawn':
        return this.withdrawn(input.id);
      case 'junk':
        return this.printed(input.text);
      case 'closed':
        return this.processEnded(input.why);
      case 'start':
        return this.startProcess();
      case 'leave':
        return this.leave();
      case 'signedOut':
        return this.signedOut();
    }
  }

  // --- what the user wants

  intent(intent: Intent): void {
    const { state } = this;
    if (intent.type === 'answer') return this.answered(intent.askId, intent.answer);
    if (intent.type === 'cancel') return this.cancel();
    if (state.phase !== 'ready') return;
    switch (intent.type) {
      case 'prompt':
        return this.prompt(intent.turnId, intent.content);
      case 'command':
        return this.prompt(intent.turnId, [{ type: 'text', text: `/${[...intent.path, intent.args].filter(Boolean).join(' ')}` }]);
      case 'stopCall':
        if (state.turn && find(state.turn.calls, intent.callId)?.stops) this.stopOne('tool_call/cancel', { toolCallId: intent.callId });
        return;
      case 'stopTerminal':
        if (!this.stopCommand(intent.terminalId) && find(state.agentTerminals, intent.terminalId)?.stops)
          this.stopOne('terminal/cancel', { terminalId: intent.terminalId });
        return;
      case 'setMode':
        return this.set(modeRequest(state.settings, intent.modeId, (value) => this.codec.optionValue(value)));
      case 'setOption':
        return this.set(optionRequest(state.settings, intent.optionId, intent.value, (value) => this.codec.optionValue(value)));
    }
  }
  /** The answer only means that it was understood; its outcome comes as updates. */
  stopOne(method: string, params: object): void {
    this.requestOfSession(`stop ${this.newId()}`, method, params);
  }
  set(request: SettingRequest | undefined): void {
    if (!request) return;
    const id = this.newId();
    put(this.state.pendingSettings, id, request);
    this.requestOfSession(`set ${id}`, request.method, request.params);
    this.timer(`set ${id}`, this.limits.answer);
  }
  settingAnswered(id: string, result: unknown, error: Failure | undefined): void {
    const { pendingSettings, settings } = this.state;
    const request = find(pendingSettings, id);
    if (!request) return;
    remove(pendingSettings, id);
    this.timer(`set ${id}`, null);
    const answer = error ? undefined : this.codec.sessionAnswer.safeParse(result ?? {});
    if (error || !answer?.success) {
      const why = error ? faultOf(error).message : misfit(request.method, answer?.error ?? { issues: [] });
      return this.notice('warn', t('The agent refused: {0}', why));
    }
    if (answer.data.configOptions) settings.config = answer.data.configOptions;
    const events = answer.data.configOptions ? settingEvents(settings) : settingDone(settings, request.done);
    this.emitAll(events);
  }

  // --- prompts

  prompt(turnId: string, content: readonly Content[]): void {
    const { state } = this;
    const { agent } = state;
    if (!agent || state.session === null) return;
    if (state.turn?.by === 'user') return this.enqueue({ turnId, content });
    this.goLive();
    const promptText = content.map((one) => (one.type === 'text' ? one.text : '')).join('\n');
    const prompt: PromptState = { blocks: toBlocks(content, agent.accepts), step: 'sent', worked: false, idle: null };
    this.startTurn(acpTurn(turnId, 'user', promptText, prompt), content);
    state.startedAt ??= this.now;
    state.stopped = false;
    this.forgetSignIn();
    this.sendPrompt();
  }
  /** Sends the prompt of the turn; in a new process the session is opened first. */
  override sendPrompt(): void {
    const { turn, session } = this.state;
    if (!turn?.prompt) return;
    if (turn.phase === 'stopping') return this.endPrompt('cancelled');
    if (session?.isOpen === false) {
      turn.prompt.step = 'reopening';
      return this.openSession({ key: session.id, history: false });
    }
    Object.assign(turn.prompt, { step: 'sent', worked: false, idle: null } satisfies Partial<PromptState>);
    this.requestOfSession('prompt', 'session/prompt', { prompt: turn.prompt.blocks });
  }
  promptAnswered(result: unknown, error: Failure | undefined): void {
    const { turn, signIn } = this.state;
    if (!turn?.prompt) return;
    if (error) {
      if (error.code === AUTH_REQUIRED && signIn.step !== 'done' && turn.phase !== 'stopping') return this.startSignIn(error);
      return this.promptFailed(error);
    }
    if (!this.codec.promptAnswersAtEnd) {
      turn.prompt.step = 'taken';
      // It may have ended the turn before it confirms the prompt.
      if (turn.prompt.idle) this.promptIdle(turn.prompt.idle);
      return;
    }
    const answer = promptAnswer.safeParse(result);
    if (!answer.success) return this.promptFailed({ kind: 'lost', message: misfit('session/prompt', answer.error) });
    this.endPrompt(answer.data.stopReason, answer.data.usage);
  }
  override promptFailed(error: Failure): void {
    const { turn } = this.state;
    // The end of the process is reported by `closed`, with its reasons.
    if (!turn?.prompt || error.kind === 'unsent') return;
    if (turn.phase === 'stopping') this.finishTurn('cancelled');
    else this.finishTurn('failed', { error: faultOf(error) });
  }
  /** In version 2 a turn ends when the agent becomes idle after it has worked. Being idle before that is about earlier work. */
  promptActivity(activity: Activity): void {
    const prompt = this.state.turn?.prompt;
    if (!prompt || this.codec.promptAnswersAtEnd) return;
    if (activity.state === 'running' || activity.state === 'requires_action') {
      prompt.worked = true;
      prompt.idle = null;
    } else if (activity.state === 'idle' && prompt.worked) {
      if (prompt.step === 'taken') this.promptIdle(activity);
      else prompt.idle = activity;
    }
  }
  promptIdle({ stopReason, usage, error }: Activity): void {
    if (stopReason !== 'error') return this.endPrompt(stopReason ?? 'end_turn', usage);
    this.promptFailed({ kind: 'refused', code: error?.code ?? 0, message: error?.message ?? '', data: error?.data });
  }
  endPrompt(stopReason: string, usage?: Activity['usage']): void {
    const { turn, unread } = this.state;
    if (!turn) return;
    turn.ending = { stopReason, usage: usage ?? null };
    if (unread === 0) this.promptOver();
  }
  /** Nothing is being read for the edits of its calls any more. */
  promptOver(): void {
    const ending = this.state.turn?.ending;
    if (!ending) return;
    const { inputTokens: input, outputTokens: output } = ending.usage ?? {};
    if (input != null || output != null)
      this.emit({ type: 'usage.set', usage: { ...(input == null ? {} : { input }), ...(output == null ? {} : { output }) } });
    const { status, ...how } = endOf(ending.stopReason);
    this.finishTurn(status, how);
  }
  /** Asks the agent to stop; what it does unasked, or its record, is only left. */
  cancel(): void {
    const { turn } = this.state;
    this.stopSignIn();
    if (turn === null || turn !== this.state.turn) {
      if (this.runningSignIn) this.cancelAsks();
      return;
    }
    if (turn.by !== 'user') return this.goLive();
    if (turn.phase === 'stopping') return;
    turn.phase = 'stopping';
    this.notifySession('session/cancel');
    this.timer('stopping', this.limits.stopping);
    this.cancelAsks();
    for (const id of keys(this.state.terminals)) if (find(this.state.terminals, id)?.turnId === turn.id) this.stopCommand(id);
  }

  // --- turns

  override finishTurn(status: TurnStatus, end: TurnEnd = {}): void {
    const { state } = this;
    const { turn } = state;
    if (!turn) return;
    if (turn.by === 'user') {
      state.stopped = turn.phase === 'stopping';
      this.timer('stopping', null);
      this.cancelAsks();
    }
    // Some agents say nothing more of a command that was stopped.
    if (status === 'cancelled')
      for (const id of keys(turn.shownTerminals))
        this.emit({ type: 'terminal.changed', terminal: { id, exit: { code: null, signal: null, stopped: true } } });
    const unreported = status === 'done' ? unreportedIn(turn.calls) : [];
    this.endTurn(status, unreported.length === 0 ? end : { ...end, unreported });
    // An agent that has not listed the tools in a whole turn does not offer them to its model.
    if (turn.by === 'user' && state.tools === 'offered' && status === 'done') {
      state.tools = 'refused';
      this.announce();
    }
    const next = turn.by === 'user' ? this.nextPrompt() : undefined;
    if (next) this.prompt(next.turnId, next.content);
  }
  /** A prompt is about to be sent: what comes from now on is live. */
  override goLive(): void {
    this.settleQuiet(true);
    this.state.updateMode = 'live';
  }
  /** After a quiet time, ends a turn that the user did not begin. */
  settleQuiet(now = false): void {
    const { state } = this;
    this.timer('quiet', null);
    if (state.recorded) this.startRecordTurn();
    const { turn } = state;
    if (turn && turn.by !== 'user') {
      // An open ask keeps it open, so that the user can answer.
      if (!now && Object.values(state.asks).some((ask) => ask.turnId === turn.id)) return this.timer('quiet', this.limits.background);
      this.finishTurn('done');
    }
    if (state.opening === 'record') this.sessionOpened();
  }
  /** The turn that an update belongs to; undefined when it belongs to none that could show it. */
  turnFor(update: SessionUpdate, isPrompt: boolean): AcpTurn | undefined {
    const { state } = this;
    if (state.updateMode === 'record') {
      if (state.recorded || !state.turn) this.startRecordTurn();
      return state.turn ?? undefined;
    }
    if (state.turn?.by === 'user') return state.turn;
    if (update.sessionUpdate === 'tool_call_update' && this.isPast(update.toolCallId)) return undefined;
    if (isPrompt) return undefined;
    const turn = state.turn ?? this.startTurn(acpTurn(this.newId(), 'agent', '', null), []);
    this.timer('quiet', state.working ? null : this.limits.background);
    return turn;
  }
  /** True for late updates of a call whose turn is over, which begin nothing. */
  isPast(callId: string): boolean {
    const { calls, turn } = this.state;
    return find(calls, callId) === true && !(turn && find(turn.calls, callId));
  }
  startRecordTurn(): void {
    const content = (this.state.recorded?.content ?? []).filter((one) => one.type !== 'text' || !isReminder(one.text));
    this.state.recorded = null;
    this.finishTurn('done');
    this.startTurn(acpTurn(this.newId(), 'record', '', null), content);
  }

  // --- updates of the agent

  /** The session's id is known: what came before it is taken in now. */
  override hear(sessionId: string): void {
    const { updates } = this.state;
    this.state.updates = { of: sessionId };
    for (const frame of updates.of === null ? updates.early : []) this.update(frame);
  }
  update(params: unknown): void {
    const { state } = this;
    const frame = frameOf(params);
    if (!frame) return this.noteStrange('session/update without a session or a kind');
    const { sessionId, update } = frame;
    const { updates } = state;
    const isChild = sessionId !== updates.of && find(state.children, sessionId) !== undefined;
    if (sessionId !== updates.of && !isChild) {
      if (updates.of !== null) return this.noteStrange(`session/update of another session ${sessionId}`);
      if (updates.early.length < MOST_EARLY) updates.early.push(frame);
      return;
    }
    const read = this.codec.readUpdate(update);
    if (!read) return this.noteStrange(`session/update of the kind ${update.sessionUpdate.slice(0, 100)}`);
    if (isChild) this.childUpdated(sessionId, read);
    else this.updated(read);
  }
  override updated(update: SessionUpdate): void {
    const { state } = this;
    if (update.sessionUpdate === 'state_update') return this.activity(update);
    if (state.updateMode !== 'live') this.timer('quiet', this.limits.record);
    const about = subjectOf(update);
    if (state.updateMode === 'known' && (about !== 'session' || update.sessionUpdate.startsWith('plan'))) return;
    if (about === 'session') {
      // A message of the user without an id ends where something of an answer follows.
      if (state.updateMode === 'record' && state.recorded?.messageId === null && isOfAnswer(update)) this.startRecordTurn();
      return this.besideTurns(update);
    }
    if (state.updateMode === 'record' && about === 'prompt') return this.recordPrompt(update);
    const turn = this.turnFor(update, about === 'prompt');
    if (!turn) return;
    if (update.sessionUpdate === 'subagent_update') this.childAnnounced(update, turn);
    else this.inTurn(update, turn, turn.main);
  }
  activity(activity: Activity): void {
    const { state } = this;
    const before = state.working;
    state.working = activity.state === 'running' || activity.state === 'requires_action';
    if (state.updateMode !== 'live') return;
    // Its own turn ends as soon as it reports that.
    if (before && !state.working && state.turn?.by === 'agent') this.settleQuiet();
    this.promptActivity(activity);
  }
  /** Once per kind: agents send some of these all the time. */
  noteStrange(what: string): void {
    const { strange } = this.state;
    if (find(strange, what) || Object.keys(strange).length >= 100) return;
    put(strange, what, true);
    this.log('info', `Left aside: ${what}`);
  }
  /** Applies updates of the session rather than of a turn. */
  besideTurns(update: SessionUpdate): void {
    const { turn, settings, plans } = this.state;
    if (update.sessionUpdate === 'terminal') return this.agentTerminal(update);
    if (update.sessionUpdate === 'notice') return this.mention(noticeOf(update));
    // Text behind a plan is a part of its own.
    if (update.sessionUpdate === 'plan' && turn) turn.main.open = null;
    this.emitAll(eventsOf(update, settings, plans));
  }
  inTurn(update: SessionUpdate, turn: AcpTurn, lane: AcpLane): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.chunk(turn, lane, 'text', update.content, update.messageId ?? null);
      case 'agent_thought_chunk':
        return this.chunk(turn, lane, 'thought', update.content, update.messageId ?? null);
      case 'session_message_chunk':
        return this.chunk(turn, lane, 'text', update.content, update.messageId);
      case 'user_message_chunk':
        return this.injected(turn, lane, [update.content], update.messageId ?? null);
      case 'message':
        if (update.kind === 'prompt') return this.injected(turn, lane, update.content ?? [], update.messageId);
        return this.whole(turn, lane, update.kind, update.messageId, update.content);
      case 'session_message':
        return this.whole(turn, lane, 'text', update.messageId, update.content === null ? [] : update.content);
      case 'tool_call':
      case 'tool_call_update':
        this.callUpdated(turn, lane, update, update.sessionUpdate);
        return;
      case 'compaction_update':
        return this.compaction(turn, lane, update.status, update.error);
      case 'compaction_summary_chunk':
        return this.emit({ type: 'turn.activity', turnId: turn.id, text: t('Compacting the conversation') });
    }
  }
  compaction(turn: AcpTurn, lane: AcpLane, status: string | null | undefined, error: unknown): void {
    const isOver = status === 'completed' || status === 'failed' || status === 'cancelled';
    this.emit({ type: 'turn.activity', turnId: turn.id, text: isOver ? null : t('Compacting the conversation') });
    if (status === 'completed') this.notice('info', t('The conversation was compressed.'), lane);
    if (status !== 'failed') return;
    const why = typeof error === 'string' ? error.slice(0, 500) : '?';
    this.notice('warn', t('{0} failed: {1}', t('Compacting the conversation'), why), lane);
  }
  /** Adds a notice of the agent to the turn. Outside of turns it is shown until the next prompt. */
  mention(notice: Notice): void {
    const { turn } = this.state;
    if (turn) this.addPart(turn, turn.main, { kind: 'notice', notice });
    else this.emit({ type: 'notice', notice });
  }

  // --- messages, piece by piece or whole

  /** Adds one piece of text. A message with an id continues in its part, also after other messages. */
  addText(turn: AcpTurn, lane: AcpLane, kind: 'text' | 'thought', text: string, message: string | null): void {
    const { open } = lane;
    if (message === null || text === '' || (open !== null && open.kind === kind && open.message === message))
      return this.text(turn, lane, kind, text, message);
    const key = `${kind} ${message}`;
    const partId = find(lane.messages, key);
    if (partId !== undefined) lane.open = { kind, partId, message };
    this.text(turn, lane, kind, text, message);
    if (partId === undefined && lane.open) put(lane.messages, key, lane.open.partId);
  }
  chunk(turn: AcpTurn, lane: AcpLane, kind: 'text' | 'thought', block: ContentBlock, message: string | null): void {
    const content = toContent(block);
    if (content.type === 'text') this.addText(turn, lane, kind, content.text, message);
    else this.addPart(turn, lane, { kind: 'content', content });
  }
  /** Shows a whole message, maybe after pieces of it: its text replaces theirs, other content is shown once. */
  whole(turn: AcpTurn, lane: AcpLane, kind: 'text' | 'thought', message: string, blocks: readonly ContentBlock[] | null | undefined): void {
    if (!blocks) return;
    const contents = blocks.map(toContent);
    const text = contents.map((one) => (one.type === 'text' ? one.text : '')).join('');
    const partId = find(lane.messages, `${kind} ${message}`);
    if (partId !== undefined) this.emit({ type: 'text.set', turnId: turn.id, partId, text });
    else this.addText(turn, lane, kind, text, message);
    contents.forEach((content, at) => {
      const key = `${kind} ${message} ${at}`;
      if (content.type === 'text' || find(lane.messages, key) !== undefined) return;
      put(lane.messages, key, this.addPart(turn, lane, { kind: 'content', content }));
    });
  }
  /**
   * Handles text that an agent sends in the user's name while a turn runs. Echoes of the prompt and reminders to the model are left out; the
   * user did not write the rest, so it is shown as the agent's. For a sub-agent it is its task, and shown as that.
   */
  injected(turn: AcpTurn, lane: AcpLane, blocks: readonly ContentBlock[], messageId: string | null): void {
    if (turn.by !== 'user') return;
    const update = newBlocks(blocks, turn.promptText);
    if (lane.parent !== null) {
      for (const block of update) this.addPart(turn, lane, { kind: 'prompt', content: [toContent(block)] });
      return;
    }
    const message = `injected ${messageId ?? ''}`;
    const key = `text ${message}`;
    // Without a name it is another message as soon as something else was said in between.
    if (messageId === null && lane.open?.message !== message) remove(lane.messages, key);
    for (const block of update) {
      if (find(lane.messages, key) === undefined)
        this.addText(turn, lane, 'text', `*${t('Sent in your name by the agent:')}*\n\n`, message);
      this.chunk(turn, lane, 'text', block, message);
    }
  }
  recordPrompt(update: SessionUpdate): void {
    const { state } = this;
    if (update.sessionUpdate === 'user_message_chunk') this.recordBlock(update.content, recordedMessage(update));
    if (update.sessionUpdate !== 'message') return;
    // A message said whole takes the place of its pieces.
    if (state.recorded?.messageId === update.messageId && update.content) state.recorded.content = [];
    for (const block of update.content ?? []) this.recordBlock(block, update.messageId);
  }
  recordBlock(block: ContentBlock, messageId: string | null): void {
    const { state } = this;
    const { recorded } = state;
    if (isNote(block)) {
      if (recorded) recorded.isNoted = true;
      return;
    }
    const content = toContent(block);
    if (recorded && (recorded.messageId !== messageId || this.isNextPrompt(recorded, content))) this.startRecordTurn();
    state.recorded ??= { messageId, isNoted: false, content: [] };
    addRecorded(state.recorded, content);
  }
  /** True when a block without an id begins another message of the user. */
  isNextPrompt({ messageId, isNoted, content: all }: RecordedPrompt, content: Content): boolean {
    if (messageId !== null) return false;
    if (isNoted) return true;
    const isWhole = this.state.agent?.quirks.wholePrompts === true;
    return isWhole && content.type === 'text' && all.some((one) => one.type === 'text');
  }

  // --- sub-agents

  childAnnounced(update: ChildUpdate, turn: AcpTurn): void {
    this.showChild(update.sessionId, noteChild(this.state, update), turn);
  }
  showChild(sessionId: string, child: SubAgent, turn: AcpTurn): void {
    const { title, status } = child;
    if (child.shown?.turnId === turn.id) return this.changeCall(turn, child.shown.callId, { title, status });
    // An ended turn keeps showing it as it was; in a later turn it is another call.
    const callId = child.shown ? `${sessionId} in ${turn.id}` : sessionId;
    child.shown = { turnId: turn.id, callId };
    put(turn.lanes, sessionId, acpLane(sessionId, callId));
    const call: ToolCall = { id: callId, name: 'subagent', title, kind: 'other', status, inputText: '', output: [], locations: [] };
    this.addPart(turn, turn.main, { kind: 'call', call }, callId);
  }
  /** The lane that shows what a sub-agent does. */
  override laneOfChild(sessionId: string, turn: AcpTurn): AcpLane | undefined {
    const child = find(this.state.children, sessionId);
    if (!child) return undefined;
    if (child.shown?.turnId !== turn.id) this.showChild(sessionId, child, turn);
    return find(turn.lanes, sessionId);
  }
  /** Only its text and calls are shown; its plans and settings concern itself alone. */
  childUpdated(sessionId: string, update: SessionUpdate): void {
    if (!isOfChild(update) || this.state.updateMode === 'known') return;
    const turn = this.turnFor(update, false);
    const lane = turn && this.laneOfChild(sessionId, turn);
    if (!turn || !lane) return;
    if (update.sessionUpdate === 'terminal') this.agentTerminal(update);
    else this.inTurn('toolCallId' in update ? ofChild(sessionId, update) : update, turn, lane);
  }

  // --- calls

  /** One upsert for all that is said about calls: updates of either kind, and the call inside a permission request. */
  override callUpdated(turn: AcpTurn, lane: AcpLane, update: AcpToolCall, from: CallSource): AcpCall | undefined {
    const { toolCallId: id } = update;
    const known = find(turn.calls, id);
    if (!known && from === 'tool_call_update' && find(this.state.calls, id)) return undefined;
    const call = known ?? newCall(id);
    if (known && from === 'tool_call' && isAnnouncedAgain(known, update)) startAgain(known);
    mergeCall(call, update, from, stoppedBy(this.state, turn));
    if (from !== 'permission' && update.status != null && call.decision === 'unanswered') call.decision = 'none';
    call.ended = isFinal(call.status);
    if (update.rawInput != null && isEmpty(call.edits)) mergeEdits(call, patchItems(call.rawInput, this.state.setup.cwd));
    if (known) this.showChanges(turn, call);
    else {
      if (!this.codec.messagesStay) lane.messages = newTable();
      call.emitted = shown(call);
      put(this.state.calls, id, true);
      this.addCall(turn, lane, call, { inputText: '', ...call.emitted });
      forgetOldCalls(turn);
    }
    if (update._meta) for (const one of terminalsIn(update._meta)) this.showTerminal(one);
    this.readEdits(turn, call);
    this.seenTerminals(call);
    // Another question about the same call is a question of its own.
    if (from === 'permission') return call;
    if (!isEmpty(this.state.jobs))
      for (const question of this.questions())
        if (question.turnId === turn.id && question.callId === id)
          this.questionUpdated(question, call, update, from, stoppedBy(this.state, turn));
    return call;
  }
  /** A terminal that the agent runs itself and only shows. */
  showTerminal(update: TerminalUpdate): void {
    const { turn } = this.state;
    const { terminal } = update;
    if (turn && terminal.exit) remove(turn.shownTerminals, terminal.id);
    else if (turn) put(turn.shownTerminals, terminal.id, true);
    this.emit({ type: 'terminal.changed', ...update });
  }
  /** Terminals of the agent in version 2, byte by byte: a character may come in two pieces. */
  agentTerminal(update: TerminalOutput): void {
    const { agentTerminals } = this.state;
    const { terminalId: id } = update;
    this.showTerminal(takeBytes(find(agentTerminals, id) ?? put<AgentTerminal>(agentTerminals, id, { pending: [], stops: false }), update));
  }

  // --- edits: each is compared with its file, which is read meanwhile

  readEdits(turn: AcpTurn, call: AcpCall): void {
    if (isEmpty(call.edits)) return;
    for (const path of keys(call.edits)) {
      const edit = find(call.edits, path);
      if (edit?.state !== 'new') continue;
      startReading(call, edit, ++this.state.readings);
      this.state.unread += 1;
      put(this.state.reading, String(edit.reading), { turnId: turn.id, callId: call.id, path });
      this.work('edit', String(edit.reading), 'file', { do: 'text', path, roots: rootsOf(this.state) });
    }
  }
  editRead(number: string, result: unknown): void {
    const { state } = this;
    const reading = find(state.reading, number);
    if (!reading) return;
    remove(state.reading, number);
    state.unread -= 1;
    const { turn } = state;
    // A path whose place is not known is shown as leading outside.
    const { text, outside = false } = (result ?? { outside: true }) as EditedFile;
    const read = { reading: Number(number), text, outside };
    const place = (facts: CallFacts, isDone: boolean) => placeEdit(facts, reading.path, read, isDone);
    const call = turn?.id === reading.turnId ? find(turn.calls, reading.callId) : undefined;
    // Once for all its files: a change shows them all, and so a thousand changes would be a million.
    if (turn && call && place(call, isFinal(call.status)) && !isReading(call)) this.showChanges(turn, call);
    for (const question of this.questions()) if (place(question.facts, false)) this.showQuestion(question);
    if (state.unread === 0) this.promptOver();
  }
  // --- replies and timers

  override replied(what: string, id: string, result: unknown, error: Failure | undefined): void {
    switch (what) {
      case 'prompt':
        return this.promptAnswered(result, error);
      case 'set':
        return this.settingAnswered(id, result, error);
      case 'stop':
        return error ? this.notice('warn', t('The agent refused: {0}', faultOf(error).message)) : undefined;
      case 'edit':
        return this.editRead(id, result);
      default:
        return super.replied(what, id, result, error);
    }
  }
  override elapsed(what: string, id: string): void {
    const { turn } = this.state;
    switch (what) {
      case 'quiet':
        return this.settleQuiet();
      case 'stopping':
        return turn ? this.notStopping(turn) : undefined;
      case 'set': {
        this.drop(`set ${id}`);
        const message = t('The agent did not answer within {0} s.', this.limits.answer / 1000);
        return this.settingAnswered(id, undefined, { kind: 'lost', message });
      }
      default:
        return super.elapsed(what, id);
    }
  }
}

export const acpMachine: Machine<AcpState> = machineOf(AcpStep);
