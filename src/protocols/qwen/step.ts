import { t, unreadable } from '../../base/l10n.ts';
import type { Input } from '../../conversation/machine.ts';
import { type Decline, find, keys, newTurn, type OpenAsk, put, remove } from '../../conversation/state.ts';
import { Step, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { AskId, CallId, Content, Diff, Option, Remedy, ToolCall, TurnId } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';
import { namedPaths } from '../namedPaths.ts';
import type { FileRead } from '../replacements.ts';
import {
  CLIENT_WORDS,
  dialectOf,
  errorLine,
  isRecord,
  type Line,
  permissionLine,
  type QwenDialect,
  readRequest,
  successLine,
  type ToolDecision,
  unreadableId,
} from './codec.ts';
import { INITIALIZE } from './messageCodec.ts';
import { envelopePeer, PEERS, type ProductTraits } from './quirks.ts';
import type { CanUseTool } from './schema.ts';
import type { QwenAgent, QwenApproval, QwenAskSubject, QwenCall, QwenPrompt, QwenState, QwenToolRun, QwenTurn } from './state.ts';
import {
  ALLOW_EDITS,
  answeredInput,
  argumentDetails,
  changesFile,
  detailOf,
  fieldsOf,
  inputFor,
  mcpName,
  optionsOf,
  pathOf,
  previewOf,
  REJECT,
  shown,
  suggestionOf,
  type ToolUse,
  titleOfAsk,
  toolUse,
  unattendedMode,
} from './tools.ts';

/** The link to the process. */
export const AGENT = 'agent';
/** Milliseconds a cancelled turn may take to end before a restart is offered. */
const STOP_LIMIT = 5_000;
/** Milliseconds reserved for sending the answer, where the agent limits the time of a call of our tools. */
const ANSWER_MARGIN = 5_000;
const ANSWERS_KEPT = 200;
/** Depth of nested sub-agents to search for the one that works in the background. */
const DEEPEST_AGENT = 20;
const UNREADABLE = 'The request could not be read.';
const FILES_NAMED = 20;
const FOREIGN_LIMIT = 3;

/** Common to both dialects: turns, calls, requests of the agent, approvals, our tools, our questions, the end of a process. */
export abstract class QwenStep extends Step<QwenState> {
  /** The process that runs. */
  get agent(): QwenAgent {
    const { agent } = this.state;
    if (!agent) throw new Error('No process runs');
    return agent;
  }
  get cwd(): string {
    return this.state.setup.cwd;
  }
  get dialect(): QwenDialect {
    return this.state.agent?.dialect ?? 'message';
  }
  get peer(): ProductTraits {
    return this.dialect === 'envelope' ? envelopePeer : PEERS[this.state.setup.product];
  }

  take(input: Input): void {
    switch (input.on) {
      case 'message':
        return this.receive(input.params as Line);
      case 'asked':
        if (this.agent.ending?.kind !== 'restart') this.onRequest(input.id, input.params as Line);
        return;
      case 'intent':
        return this.state.phase === 'left' ? undefined : this.intent(input.intent);
      case 'reply':
        return this.portReplied(input.call, input.error ? { failure: input.error.message } : input.result);
      case 'timer':
        return this.elapsed(input.timer);
      default:
        return;
    }
  }
  /** Counts lines of the other dialect, which are faults; a few of them end the process. */
  receive(line: Line): void {
    const { agent } = this;
    // The turn is lost; output of the old process is no longer read.
    if (agent.ending?.kind === 'restart') return;
    const proven = dialectOf(line, INITIALIZE);
    if (proven === undefined || proven === agent.dialect || line.type === 'control_response') return this.onLine(line);
    agent.foreign += 1;
    this.log('warn', 'The agent sent a line of another dialect; it is ignored');
    if (agent.foreign >= FOREIGN_LIMIT) this.giveUp(unreadable('two dialects of the protocol'), { again: false });
  }
  abstract intent(intent: Intent): void;
  portReplied(call: string, result: unknown): void {
    if (call.startsWith('tool ')) this.toolEnded(call, result as { readonly ok: boolean; readonly text: string });
    else if (call.startsWith('write ')) this.fileWasWritten(call.slice(6), (result as { readonly failure?: string } | undefined)?.failure);
    else this.fileWasRead(call, result as FileRead);
  }
  elapsed(timer: string): void {
    if (timer === 'stop') this.stopIsLate();
    else if (timer.startsWith('tool ')) this.toolIsLate(timer);
    else if (timer.startsWith('expire ')) this.expireApproval(timer.slice(7));
  }

  /** One line of the agent in the dialect that it speaks. */
  abstract onLine(line: Line): void;
  abstract onRequest(id: string, line: Line): void;
  /** Asks the agent to stop what it does, before its input ends. */
  abstract stopAgent(): void;
  /** Settles every ask, call and turn and stops every timer, because the process has ended or is about to. */
  abstract endAgent(why: string): void;
  /** Changes the mode; one without approvals needs a confirmation first. */
  abstract chooseMode(mode: string): void;
  /** Sends a prompt as a turn. */
  abstract prompt(prompt: QwenPrompt): void;
  /** Called when a call, an ask or a tool that the turn waited for is settled. */
  abstract settled(): void;

  // --- the process

  /** Sends lines to the agent, in one write. */
  write(...lines: readonly object[]): void {
    this.do({ do: 'notify', link: AGENT, method: 'line', params: lines });
  }
  /** Ends the process; `again` starts it again on the same conversation. */
  giveUp(reason: string, how: { readonly again: boolean; readonly next?: readonly Remedy[] }): void {
    const { agent } = this.state;
    if (!agent || agent.ending) return;
    agent.ending = how.again ? { kind: 'restart', reason } : { kind: 'close', reason, next: how.next ?? null };
    if (how.again) {
      // The turn is lost; output of the old process about it is no longer read.
      this.state.brokeOff ||= this.state.turn !== null;
      this.endAgent(reason);
    } else this.stopAgent();
    this.close(AGENT);
  }
  setSession(key: string): void {
    this.state.key = key;
    this.emit({ type: 'resume.set', key });
  }
  /** The handshake is done. */
  ready(): void {
    const { queuedPrompt } = this.state;
    this.state.phase = this.state.phase === 'opening' ? 'ready' : this.state.phase;
    this.state.queuedPrompt = null;
    this.state.brokeOff = false;
    if (this.state.unrecorded) {
      const text = t('The agent remembers this conversation, but cannot show all of it.');
      this.emit({ type: 'notice', notice: { level: 'info', text } });
    }
    this.state.unrecorded = false;
    if (queuedPrompt) this.prompt(queuedPrompt);
  }

  // --- turns

  begin(id: TurnId, by: QwenTurn['by'], prompt: readonly Content[], prompted = ''): QwenTurn {
    this.state.firstTurn ??= id;
    return this.startTurn({ ...newTurn(id, by), prompted, spoke: false, signedOut: false, clears: false, activity: null }, prompt);
  }
  end(status: TurnStatus, end: TurnEnd = {}): void {
    if (end.clears) this.state.firstTurn = null;
    this.endTurn(status, end);
  }
  newPart(): string {
    const { turn } = this.state;
    if (turn) turn.parts += 1;
    return `part:${this.newId()}`;
  }
  activity(text: string | null): void {
    const { turn } = this.state;
    if (!turn || turn.activity === text) return;
    turn.activity = text;
    this.emit({ type: 'turn.activity', turnId: turn.id, text });
  }
  /** A line between the parts of the running turn, or a notice of the session when none runs. */
  note(level: 'info' | 'warn' | 'error', text: string, parent?: string | null, next?: readonly Remedy[]): void {
    const notice = { level, text, ...(next === undefined ? {} : { next }) };
    const { turn } = this.state;
    if (!turn) return this.emit({ type: 'notice', notice });
    const id = this.newPart();
    this.emit({ type: 'part.added', turnId: turn.id, part: { kind: 'notice', id, ...(parent == null ? {} : { parent }), notice } });
  }
  /** True when the agent is to be asked to stop now. A second stop never comes here: it ends the agent. */
  requestStop(): boolean {
    const { turn } = this.state;
    if (!turn || turn.phase === 'stopping') return false;
    turn.phase = 'stopping';
    this.timer('stop', STOP_LIMIT);
    return true;
  }
  stopIsLate(): void {
    const { turn } = this.state;
    if (turn?.phase === 'stopping') this.notStopping(turn);
  }
  clearStopTimer(): void {
    if (this.state.turn?.phase === 'stopping') this.timer('stop', null);
  }

  // --- calls

  call(id: CallId | null | undefined): QwenCall | undefined {
    return id == null ? undefined : find(this.agent.calls, id);
  }
  override changeCall(turn: { readonly id: TurnId }, callId: CallId, change: Partial<Omit<ToolCall, 'id' | 'appliedOnDisk'>>): void {
    this.emit({ type: 'call.changed', turnId: turn.id, callId, change });
  }
  /** Shows a call; nothing when it is known. */
  abstract ensureCall(id: CallId, name: string | undefined, input: unknown, turnId: TurnId, parent: CallId | null): void;
  newCall(id: CallId, use: ToolUse, turnId: TurnId, parent: CallId | null, input: unknown): QwenCall {
    const call: QwenCall = {
      id,
      parent,
      turn: turnId,
      use,
      status: 'pending',
      goesOn: false,
      decision: { is: 'none' },
      before: null,
      shown: null,
    };
    put(this.agent.calls, id, call);
    const shown: ToolCall = {
      id,
      name: mcpName(use.name)?.tool ?? use.name,
      title: use.title,
      kind: use.kind,
      status: 'pending',
      inputText: input === undefined ? '' : JSON.stringify(input),
      ...(input === undefined ? {} : { input: use.input }),
      output: [],
      locations: use.locations,
    };
    this.emit({ type: 'part.added', turnId, part: { kind: 'call', id, ...(parent === null ? {} : { parent }), call: shown } });
    return call;
  }
  setStatus(callId: CallId | null | undefined, status: ToolCall['status']): void {
    const call = this.call(callId);
    if (!call) return;
    call.status = status;
    if (call.shown && status === 'waiting') call.shown.asked = true;
  }
  /** The call, and those that it belongs to, the nearest first. */
  chainOf(id: CallId): readonly QwenCall[] {
    const chain: QwenCall[] = [];
    for (let at = this.call(id); at && chain.length < DEEPEST_AGENT; at = this.call(at.parent)) chain.push(at);
    return chain;
  }
  /** The turn in which a sub-agent works on in the background, for its call and all that belongs to it. */
  backgroundTurn(id: CallId | null | undefined): TurnId | undefined {
    return id == null ? undefined : this.chainOf(id).find((call) => call.goesOn)?.turn;
  }
  /** The turn whose call that is, as far as it can still change. */
  turnOf(id: CallId | null | undefined): TurnId | undefined {
    return this.backgroundTurn(id) ?? this.state.turn?.id;
  }
  goesOn(id: CallId | null | undefined): boolean {
    return this.backgroundTurn(id) !== undefined;
  }
  /** Calls without an end that the agent itself waits for, oldest first. */
  openCalls(): readonly QwenCall[] {
    return Object.values(this.agent.calls).filter((call) => isOpen(call) && !this.goesOn(call.id));
  }
  /** Lists calls with an unknown end and changed files of a turn whose agent went away. */
  lostTurn(): void {
    const { turn } = this.state;
    if (!turn) return;
    const calls = Object.values(this.agent.calls).filter((call) => call.turn === turn.id);
    const message = t('The agent ended before it reported a result.');
    for (const { id, status } of calls) if (status === 'running') this.changeCall(turn, id, { status: 'failed', error: { message } });
    const applied = calls.filter(({ status }) => status === 'running' || status === 'done').map((call) => this.useOf(call));
    const files = new Set(applied.flatMap((use) => (use.kind === 'edit' ? (pathOf(use.input, this.cwd) ?? []) : [])));
    const named = [...files]
      .slice(0, FILES_NAMED)
      .map((file) => shown(file, this.cwd))
      .join(', ');
    const more = files.size > FILES_NAMED ? `${named} … (+${files.size - FILES_NAMED})` : named;
    if (files.size > 0) this.note('warn', `${t('{0} {0|file|files} changed', files.size)}: ${more}`);
  }
  useOf(call: QwenCall): ToolUse {
    return call.use;
  }

  // --- requests of the agent: each is answered once, one that comes again with the same answer

  /** The request when it is to be dealt with now. */
  takeRequest(id: string, line: Line, background: boolean): Line | undefined {
    const known = this.agent.answered.find((one) => one.id === id);
    if (known) {
      this.do({ do: 'answer', link: AGENT, id, result: known.line });
      return undefined;
    }
    const request = readRequest(line);
    const no: Decline = { result: permissionLine(this.dialect, id, { allow: false, message: CLIENT_WORDS.refused }) };
    const opened = request && this.openRequest(id, AGENT, no, background);
    if (!opened) return undefined;
    // No user can answer while the session or its process ends.
    if (this.state.phase !== 'left' && !this.agent.ending) return request.payload;
    this.decline(opened);
    return undefined;
  }
  reply(id: string, line: Line): void {
    if (!find(this.state.requests, id)) return;
    const { answered } = this.agent;
    answered.push({ id, line });
    if (answered.length > ANSWERS_KEPT) answered.shift();
    this.answer(id, line);
  }
  succeed(id: string, result: unknown): void {
    this.reply(id, successLine(this.dialect, id, result));
  }
  fail(id: string, message: string): void {
    this.reply(id, errorLine(this.dialect, id, message, this.peer.onlyMessages));
  }
  /** The agent waits for an answer all the same; without an id no answer is possible. */
  refuseUnreadable(line: Line): void {
    const id = unreadableId(line);
    this.log('warn', `A control request could not be read: ${JSON.stringify(line).slice(0, 500)}`);
    if (id !== undefined) this.write(errorLine(this.dialect, id, UNREADABLE, this.peer.onlyMessages));
  }
  failUnreadable(id: string): void {
    this.fail(id, UNREADABLE);
  }

  // --- approvals: shown to the user, answered once, refused whenever anything goes wrong

  get waitsForUser(): boolean {
    return keys(this.agent.approvals).length > 0;
  }
  openApproval(id: string, request: CanUseTool): void {
    const { approvalLimit } = this.peer;
    const use = this.withPlan(toolUse(request.tool_name, request.input, this.cwd), request.tool_use_id);
    if (approvalLimit !== undefined) this.timer(`expire ${id}`, approvalLimit);
    const approval: QwenApproval = {
      id,
      request,
      use,
      until: approvalLimit === undefined ? null : this.now + approvalLimit,
      askId: null,
      before: {},
      diffs: [],
      phase: { at: 'reading' },
    };
    put(this.agent.approvals, id, approval);
    const callId = request.tool_use_id ?? undefined;
    const turnId = this.turnOf(callId);
    if (turnId !== undefined && callId !== undefined) this.ensureCall(callId, request.tool_name, request.input, turnId, null);
    const file = changesFile(use) ? pathOf(use.input, this.cwd) : undefined;
    if (file === undefined) this.showApproval(approval);
    else this.readFile(`read ${id}`, file);
  }
  /** Claude Code may send the plan with the call alone, and not again with the request about it. */
  withPlan(use: ToolUse, callId: CallId | null | undefined): ToolUse {
    const plan = this.call(callId)?.use.input.plan;
    return use.work === 'plan' && !use.input.plan && typeof plan === 'string' ? { ...use, input: { ...use.input, plan } } : use;
  }
  readFile(call: string, path: string): void {
    this.do({ do: 'port', call, port: 'file', args: { do: 'read', path } });
  }
  /** Reads the file of an edit that may need no approval, while it is still as it was. */
  watchFile(call: QwenCall): void {
    const file = changesFile(call.use) ? pathOf(call.use.input, this.cwd) : undefined;
    if (file !== undefined && call.before === null) this.readFile(`watch ${call.id}`, file);
  }
  /** The text of a file, for what was to be done with it. */
  fileWasRead(call: string, read: FileRead): void {
    const [, what = '', id = ''] = /^(\w+) (.*)$/s.exec(call) ?? [];
    if (what === 'watch') {
      const watched = this.call(id);
      if (watched) watched.before ??= read;
      return;
    }
    const approval = find(this.agent.approvals, id);
    if (!approval) return;
    if (what === 'read' && approval.phase.at === 'reading') {
      this.propose(approval, read);
      this.showApproval(approval);
    } else if (what === 'check' && approval.phase.at === 'checking') {
      const { optionId, edited } = approval.phase;
      approval.phase = { at: 'asking' };
      if (read.text !== approval.before.text || read.real !== approval.before.real) return this.askAgain(approval, read);
      const [diff] = approval.diffs;
      if (edited !== null && diff && edited !== diff.after) this.allowEdited(approval, { ...diff, after: edited });
      else this.allow(approval, optionId);
    }
  }
  propose(approval: QwenApproval, read: FileRead): void {
    approval.before = read;
    approval.diffs = previewOf(approval.use, read.text, this.cwd);
    const call = this.call(approval.request.tool_use_id);
    if (call) call.before = read;
  }
  showApproval(approval: QwenApproval): void {
    const { request, use, diffs } = approval;
    const callId = request.tool_use_id ?? undefined;
    const turnId = this.turnOf(callId);
    const base = {
      id: this.newId(),
      ...(turnId !== undefined && !this.goesOn(callId) ? { turnId } : {}),
      ...(callId === undefined ? {} : { callId }),
      title: titleOfAsk(request, use, this.cwd),
      ...(approval.until === null ? {} : { until: approval.until }),
      ...(request.agent_name ? { asker: request.agent_name } : {}),
    };
    const fields = use.work === 'ask' ? fieldsOf(request.input) : undefined;
    approval.phase = { at: 'asking' };
    approval.askId = base.id;
    if (turnId !== undefined && callId !== undefined) {
      this.setStatus(callId, 'waiting');
      const output = diffs.map((diff) => ({ kind: 'diff', diff }) as const);
      this.changeCall({ id: turnId }, callId, { status: 'waiting', output });
    }
    const about: QwenAskSubject = { about: 'tool', requestId: approval.id };
    if (fields) this.ask({ ...base, kind: 'question', fields }, about);
    else {
      const [only] = diffs;
      const editable = diffs.length === 1 && only?.excerpt === undefined && use.work !== 'notebook';
      const known = [...use.locations, ...diffs].map((one) => one.path);
      const beside = argumentDetails(use, diffs);
      const shown = {
        toolKind: use.kind,
        detail: detailOf(use, diffs),
        ...(beside.length > 0 ? { beside } : {}),
        ...namedPaths(use.kind, use.input, known),
      };
      const options = optionsOf(request, use, this.peer);
      this.ask({ ...base, kind: 'approval', ...shown, options, ...(editable ? { editable: true } : {}) }, about);
    }
  }
  answerApproval(approval: QwenApproval, answer: Answer): void {
    if (approval.phase.at !== 'asking') return;
    const { use, request, diffs } = approval;
    if (use.work === 'ask' && fieldsOf(request.input)) {
      const updatedInput = answeredInput(request.input, answer, this.peer.answersBy);
      if (!updatedInput) return this.refuseApproval(approval, 'The user did not answer.', 'answered');
      return this.allowed(approval, { allow: true, input: updatedInput, permissions: [] });
    }
    if (answer.kind !== 'option' || answer.optionId === REJECT) {
      // With words of the user the agent continues; without words it stops.
      const wordless = this.dialect === 'envelope' ? '' : CLIENT_WORDS.refused;
      return this.refuseApproval(approval, (answer.kind === 'option' ? answer.feedback : undefined) ?? wordless, 'answered');
    }
    if (diffs.length === 0) return this.allow(approval, answer.optionId);
    approval.phase = { at: 'checking', optionId: answer.optionId, edited: answer.edited ?? null };
    this.readFile(`check ${approval.id}`, pathOf(use.input, this.cwd) ?? '');
  }
  allow(approval: QwenApproval, optionId: string): void {
    const { request } = approval;
    const suggestion = suggestionOf(request, optionId);
    const unattended = suggestion && unattendedMode(suggestion, this.peer);
    const permissions = suggestion && unattended === undefined ? [suggestion] : [];
    this.allowed(approval, { allow: true, input: request.input ?? {}, permissions });
    // The approval was for this call; a mode without approvals needs a confirmation, as in the mode menu.
    if (unattended !== undefined) this.chooseMode(unattended);
    if (optionId === ALLOW_EDITS && this.peer.editsMode !== undefined) this.chooseMode(this.peer.editsMode);
  }
  /** Allows an edit that the user changed: the agent writes the user's version, or Parley writes it and tells the agent. */
  allowEdited(approval: QwenApproval, diff: Diff): void {
    const updatedInput = this.peer.takesUpdatedInput ? inputFor(approval.use, diff.before, diff.after ?? '') : undefined;
    if (updatedInput) return this.allowed(approval, { allow: true, input: updatedInput, permissions: [] });
    approval.phase = { at: 'writing', diff };
    const { real } = approval.before;
    const args = { do: 'write', path: diff.path, text: diff.after ?? '', from: diff.before, ...(real === undefined ? {} : { real }) };
    this.do({ do: 'port', call: `write ${approval.id}`, port: 'file', args });
  }
  fileWasWritten(id: string, failure: string | undefined): void {
    const approval = find(this.agent.approvals, id);
    if (approval?.phase.at !== 'writing') return;
    const { diff } = approval.phase;
    approval.phase = { at: 'asking' };
    const call = this.call(approval.request.tool_use_id);
    if (failure === undefined) {
      if (call) call.decision = { is: 'written', diff };
      return this.refuseApproval(approval, CLIENT_WORDS.applied, 'answered');
    }
    this.log('error', `The edited version of ${diff.path} could not be written: ${failure}`);
    this.note('error', t('{0} could not be written: {1}', diff.path, failure));
    this.refuseApproval(approval, CLIENT_WORDS.refused, 'answered');
  }
  /** Asks again about an edit whose file has changed since the user looked at it. */
  askAgain(approval: QwenApproval, read: FileRead): void {
    const ask = approval.askId === null ? undefined : find(this.state.asks, approval.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
    this.note('info', t('{0} has changed in the meantime. Look at the change again.', approval.diffs[0]?.path ?? approval.use.title));
    this.propose(approval, read);
    this.showApproval(approval);
  }
  allowed(approval: QwenApproval, decision: ToolDecision): void {
    const callId = approval.request.tool_use_id;
    const turnId = this.turnOf(callId);
    this.reply(approval.id, permissionLine(this.dialect, approval.id, decision));
    this.closeApproval(approval, 'answered');
    const call = this.call(callId);
    if (turnId === undefined || !call) return;
    call.decision = { is: 'allowed' };
    this.setStatus(call.id, 'running');
    this.changeCall({ id: turnId }, call.id, { status: 'running' });
  }
  refuseApproval(approval: QwenApproval, message: string, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    const callId = approval.request.tool_use_id;
    const turnId = this.turnOf(callId);
    const call = this.call(callId);
    if (callId) put(this.agent.notAllowed, callId, true);
    if (call && how === 'answered' && call.decision.is !== 'written') {
      call.decision = { is: 'refused' };
      // The agent may never say what became of it.
      this.setStatus(call.id, 'rejected');
      if (turnId !== undefined) this.changeCall({ id: turnId }, call.id, { status: 'rejected' });
    }
    this.reply(approval.id, permissionLine(this.dialect, approval.id, { allow: false, message }));
    this.closeApproval(approval, how);
  }
  expireApproval(id: string): void {
    const approval = find(this.agent.approvals, id);
    if (!approval) return;
    this.note('warn', t('“{0}” was rejected: there was no answer in time.', approval.use.title));
    this.refuseApproval(approval, 'Nobody answered in time.', 'withdrawn');
  }
  /** Closes the ask of a request that the agent withdrew; sends no answer. */
  withdrawApproval(id: string): void {
    const approval = find(this.agent.approvals, id);
    if (!approval || !find(this.state.requests, id)) return;
    this.closeRequest(id);
    this.closeApproval(approval, 'withdrawn');
  }
  closeApproval(approval: QwenApproval, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    remove(this.agent.approvals, approval.id);
    if (approval.until !== null) this.timer(`expire ${approval.id}`, null);
    for (const call of ['read', 'check', 'write']) if (busyWith(approval, call)) this.drop(`${call} ${approval.id}`);
    const ask = approval.askId === null ? undefined : find(this.state.asks, approval.askId);
    if (ask) this.closeAsk(ask, how);
  }
  /** The call has a result: withdraws the question about it. */
  settleCall(callId: CallId): void {
    for (const approval of Object.values(this.agent.approvals)) {
      if (approval.request.tool_use_id === callId) this.refuseApproval(approval, 'Too late.', 'withdrawn');
    }
  }
  refuseAll(why: string): void {
    for (const approval of Object.values(this.agent.approvals)) this.refuseApproval(approval, why, 'cancelled');
  }
  /** Refuses the requests of the turn; a sub-agent in the background still waits. */
  refuseOfTurn(why: string): void {
    for (const approval of Object.values(this.agent.approvals)) {
      if (!this.goesOn(approval.request.tool_use_id)) this.refuseApproval(approval, why, 'cancelled');
    }
  }

  // --- our tools, as a server over the control channel or as calls

  get toolsBusy(): boolean {
    return keys(this.agent.running).length > 0;
  }
  offersTool(name: string): boolean {
    return this.state.setup.tools.some((tool) => tool.name === name);
  }
  /** Answers one JSON-RPC message. A notification is answered too: the agent waits for it. */
  onMcp(requestId: string, message: unknown): void {
    this.agent.mcp = true;
    const { id, method, params } = isRecord(message) ? message : {};
    const answer = (value: object) => this.succeed(requestId, { mcp_response: { jsonrpc: '2.0', id: id ?? null, ...value } });
    if (typeof method !== 'string') return answer({ error: { code: -32600, message: 'not a request' } });
    if (id === undefined) return this.succeed(requestId, { mcp_response: { jsonrpc: '2.0', id: 0, result: {} } });
    switch (method) {
      case 'initialize': {
        const asked = isRecord(params) ? params.protocolVersion : undefined;
        const protocolVersion = typeof asked === 'string' ? asked : '2025-06-18';
        return answer({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo: this.state.setup.client } });
      }
      case 'ping':
        return answer({ result: {} });
      case 'tools/list': {
        const tools = this.state.setup.tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters }));
        return answer({ result: { tools } });
      }
      case 'tools/call': {
        const call = isRecord(params) ? params : {};
        if (typeof call.name !== 'string') return answer({ error: { code: -32602, message: 'a call needs a name' } });
        return this.runTool({ for: 'mcp', requestId, rpcId: id }, call.name, call.arguments);
      }
      default:
        return answer({ error: { code: -32601, message: `unknown method ${method}` } });
    }
  }
  /** Runs one of our tools; gives up in time for the agent to still hear so. */
  runTool(run: QwenToolRun, name: string, input: unknown): void {
    const call = `tool ${this.newId()}`;
    put(this.agent.running, call, run);
    this.do({ do: 'port', call, port: 'tool', args: { name, input: input ?? {} } });
    if (this.peer.toolLimit !== undefined) this.timer(call, this.peer.toolLimit - ANSWER_MARGIN);
  }
  toolIsLate(call: string): void {
    const seconds = ((this.peer.toolLimit ?? 0) - ANSWER_MARGIN) / 1000;
    this.drop(call);
    this.toolEnded(call, { ok: false, text: `The user did not answer within ${seconds} s; nothing was done.` });
  }
  toolEnded(call: string, answer: { readonly ok: boolean; readonly text: string }): void {
    const run = find(this.agent.running, call);
    if (!run) return;
    remove(this.agent.running, call);
    if (this.peer.toolLimit !== undefined) this.timer(call, null);
    if (run.for === 'call') return this.callOfOursEnded(run, answer);
    const result = { content: [{ type: 'text', text: answer.text }], isError: !answer.ok };
    this.succeed(run.requestId, { mcp_response: { jsonrpc: '2.0', id: run.rpcId, result } });
    this.settled();
  }
  abstract callOfOursEnded(run: Extract<QwenToolRun, { for: 'call' }>, answer: { readonly ok: boolean; readonly text: string }): void;
  cancelTools(): void {
    for (const call of keys(this.agent.running)) {
      this.drop(call);
      this.toolEnded(call, { ok: false, text: 'Cancelled.' });
    }
  }

  // --- Parley's own questions with yes and no; unanswered means no

  askYesNo(
    about: QwenAskSubject,
    question: {
      readonly title: string;
      readonly text?: string;
      readonly commands?: readonly string[];
      readonly turnId?: TurnId;
      readonly ours?: true;
    },
  ): void {
    const options: readonly Option[] = [
      { id: 'yes', label: t('Yes'), effect: 'allow_once' },
      { id: 'no', label: t('No'), effect: 'reject_once' },
    ];
    const command = (question.commands ?? []).join('\n');
    const text = question.text ?? question.title;
    this.ask(
      {
        kind: 'approval',
        id: this.newId(),
        ...(question.turnId === undefined ? {} : { turnId: question.turnId }),
        title: visibleText(question.title),
        detail: command === '' ? { type: 'text', text: visibleText(text) } : { type: 'command', command: visibleText(command) },
        options,
        wordless: true,
        ...(question.ours ? { ours: true } : {}),
      },
      about,
    );
  }
  /** The ask and what it is about; undefined when it is not open. */
  openAsk(askId: AskId): { readonly ask: OpenAsk; readonly about: QwenAskSubject } | undefined {
    const ask = find(this.state.asks, askId);
    return ask && { ask, about: ask.about as QwenAskSubject };
  }
}

export function isOpen({ status }: QwenCall): boolean {
  return status === 'pending' || status === 'waiting' || status === 'running';
}
function busyWith({ phase }: QwenApproval, call: string): boolean {
  return (
    (call === 'read' && phase.at === 'reading') ||
    (call === 'check' && phase.at === 'checking') ||
    (call === 'write' && phase.at === 'writing')
  );
}
