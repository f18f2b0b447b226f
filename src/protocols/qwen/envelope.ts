import { agentError, answerCut, t } from '../../base/l10n.ts';
import { clear, find, keys, put, remove } from '../../conversation/state.ts';
import type { TurnEnd } from '../../conversation/step.ts';
import type { Intent } from '../../session/intents.ts';
import type { CallId, Fault, Notice, Output, Remedy } from '../../session/model.ts';
import {
  argumentsIn,
  cancelRequest,
  chatRequest,
  heartbeatRequest,
  hintRequest,
  isRecord,
  type Line,
  promptName,
  readPromptName,
} from './codec.ts';
import {
  annotationsIn,
  type CommandOutcome,
  faultOf,
  fingerprintOf,
  historyEvents,
  otherVersion,
  outcomeOf,
  referencesIn,
  refusal,
  supports,
} from './envelopeCodec.ts';
import { EnvelopeParts, type WholeCall } from './envelopeParts.ts';
import { commandText } from './message.ts';
import { promptOf } from './messageCodec.ts';
import * as schema from './schema.ts';
import type { EnvelopeState, QwenAskSubject, QwenPrompt, QwenToolRun } from './state.ts';
import { isOpen } from './step.ts';

/** Milliseconds. */
const LIMITS = {
  /** Time for a handshake before the first prompt. */
  handshake: 2_000,
  /** Time during which lines of a cancelled turn may still come. The next prompt waits for its end: few lines say to which prompt they belong. */
  trail: 1_000,
  /** Without another line, a message with the reason "stop" was the last one. Chunks have it once. */
  settle: { 'stream-json': 600, 'stream-chunk-json': 120 },
  /** An error without an end: the agent may go on all the same. */
  refused: 5_000,
  /** Time until a submitted prompt must show that it runs. */
  submit: 2_000,
  /** How long an agent that uses our tools as a server may take to run a call of one so. */
  ours: 2_000,
  /** Until the names of commands are there. */
  names: 10_000,
};
/** Unanswered heartbeats after which the agent counts as one without them. */
const TRIES = 3;
const EXPIRED_KEPT = 200;

export function newEnvelopeState(resumed: string | null, now: number): EnvelopeState {
  return {
    session: resumed ?? '_new',
    ready: false,
    prompts: 0,
    prompt: '',
    version: null,
    cancelledAt: null,
    ending: 'none',
    delayedPrompt: null,
    awaited: {},
    text: null,
    thought: null,
    terminal: null,
    terminals: 0,
    byIndex: {},
    lastCall: null,
    expiredRequests: [],
    stopped: [],
    unknown: [],
    submitted: null,
    heartbeat: { silence: 0, sent: 0, isOpen: false, isAnswered: false, hasOtherLines: false, isReported: false, lastSentAt: now },
    commandNames: null,
    audited: false,
  };
}

/**
 * The envelope dialect: OpenAI-shaped lines of the agent with annotations, chat requests of ours, heartbeats and hints. A turn has no line of
 * its own that ends it: it is over when a message said "stop", nothing is open, and nothing follows.
 */
export class EnvelopeStep extends EnvelopeParts {
  // --- handshake

  start(sent: boolean): void {
    const { heartbeat: every } = this.state.setup.options;
    if (every > 0) this.timer('heartbeat', every);
    if (sent) return this.becomeReady();
    this.write(heartbeatRequest(this.toldSession));
    this.timer('handshake', LIMITS.handshake);
  }
  becomeReady(): void {
    const { talk } = this;
    if (talk.ready) return;
    talk.ready = true;
    this.emitReady();
    this.ready();
    talk.commandNames = promptName(talk.session, 'preview-0');
    this.timer('names', LIMITS.names);
    const of = { session_id: talk.session, prompt_id: talk.commandNames };
    this.write(hintRequest({ ...of, trigger: 'slash', text: '/', cursor: 1, context: { cwd: this.cwd, selected_text: '' } }));
  }
  emitReady(): void {
    const { tools } = this.state.setup;
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'qwen', name: this.peer.name },
      offers: {
        hints: true,
        feedback: true,
        editableApprovals: true,
        ...(tools.length > 0 ? { tools: { accepted: tools.map((tool) => tool.name), rejected: [] } } : {}),
      },
    });
  }
  /** The commands that the agent suggests for a lone slash. A peer that does not echo our id is believed. */
  onHint(line: Line): void {
    const { talk } = this;
    const parsed = schema.resultHint.safeParse(line);
    if (!parsed.success) return this.log('warn', 'A hint could not be read');
    const { prompt_id: id, trigger, status, suggestions } = parsed.data;
    if (talk.commandNames === null || (trigger && trigger !== 'slash')) return;
    if (id && id !== talk.commandNames && /########preview-\d+$/.test(id)) return;
    if (status === 'loading') return this.timer('names', LIMITS.names);
    talk.commandNames = null;
    this.timer('names', null);
    const commands = (status === 'error' ? [] : (suggestions ?? [])).map(({ value, description }) => ({
      name: value.replace(/^\//, '').trim(),
      description: description ?? '',
      aliases: [],
    }));
    if (commands.length > 0) this.emit({ type: 'commands.set', commands });
  }

  // --- what the user wants

  intent(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.prompt(intent);
      case 'command': {
        const command = { kind: 'slash', path: [...intent.path], args: intent.args };
        this.begin(intent.turnId, 'user', [{ type: 'text', text: commandText(intent) }]);
        this.nextPromptId();
        return this.chat({ prompt_id: this.talk.prompt, input: { origin: 'user', parts: [{ type: 'text', text: '' }], command } });
      }
      case 'cancel':
        return this.cancel();
      case 'answer':
        return this.answerTo(intent);
      default:
        return;
    }
  }
  prompt({ turnId, content }: QwenPrompt): void {
    const prompt = promptOf(content, this.cwd, false);
    this.begin(turnId, 'user', content);
    if (prompt.left.length > 0) this.note('warn', t('{0} cannot take: {1}.', this.state.setup.called, prompt.left.join(', ')));
    if (prompt.text === '') {
      return this.finish('failed', { error: { message: t('The prompt is empty.') } });
    }
    this.nextPromptId();
    const input = { origin: 'user' as const, parts: [{ type: 'text', text: prompt.text }], command: referencesIn(prompt.text) };
    this.chat({ prompt_id: this.talk.prompt, input });
  }
  nextPromptId(): void {
    const { talk } = this;
    talk.prompts += 1;
    talk.prompt = promptName(talk.session, talk.prompts);
  }
  /** A chat request: the one message without a `type`. */
  chat(request: schema.ChatRequest): void {
    const { cancelledAt } = this.talk;
    if (cancelledAt !== null && this.isTrailing && !request.continuation) {
      this.talk.delayedPrompt = request;
      return this.timer('trail', cancelledAt + LIMITS.trail - this.now);
    }
    this.writeChat(request);
  }
  /** No more lines of the cancelled turn are expected: sends the prompt that was delayed. */
  trailIsOver(): void {
    const { delayedPrompt } = this.talk;
    this.talk.delayedPrompt = null;
    if (delayedPrompt) this.writeChat(delayedPrompt);
  }
  writeChat(request: schema.ChatRequest): void {
    this.write(chatRequest({ session_id: this.talk.session, ...this.state.setup.options.request, ...request }));
  }
  cancel(): void {
    // The agent knows nothing of this prompt yet.
    if (this.talk.delayedPrompt) return this.finish('cancelled');
    if (!this.requestStop()) return;
    this.writeCancel();
    this.forgetRequests();
    this.refuseAll('The user stopped the turn.');
    this.cancelQuestions();
    this.cancelTools();
  }
  writeCancel(): void {
    const { prompts, prompt } = this.talk;
    this.write(cancelRequest(this.toldSession, prompts > 0 ? prompt : undefined));
  }
  answerTo({ askId, answer }: Extract<Intent, { type: 'answer' }>): void {
    const open = this.openAsk(askId);
    if (!open) return;
    const { ask, about } = open;
    if (about.about === 'tool') {
      const approval = find(this.agent.approvals, about.requestId);
      if (approval) this.answerApproval(approval, answer);
    } else {
      this.closeAsk(ask, 'answered');
      this.decided(about, answer.kind === 'option' && answer.optionId === 'yes');
    }
    this.settled();
  }
  /** A question with yes and no is settled. */
  decided(about: QwenAskSubject, yes: boolean): void {
    switch (about.about) {
      case 'confirm': {
        const { commands } = about;
        const approved = yes && commands.length > 0 ? { approvedCommands: commands } : {};
        return this.succeed(about.requestId, { behavior: yes ? 'approve' : 'deny', ...approved });
      }
      case 'quit':
        if (yes) return this.over(t('The agent was stopped.'), ['restart'], 'done');
        return this.finishes('stop');
      case 'command':
        if (!yes) return this.finishes('stop');
        return this.chat({
          prompt_id: this.talk.prompt,
          input: { origin: 'user', parts: [{ type: 'text', text: '' }], command: about.command },
        });
      default:
        return;
    }
  }
  cancelQuestions(): void {
    for (const ask of Object.values(this.state.asks)) {
      const { about } = this.openAsk(ask.id) ?? {};
      if (!about || about.about === 'tool') continue;
      this.closeAsk(ask, 'cancelled');
      this.decided(about, false);
    }
  }
  chooseMode(): void {}

  // --- names: what the session and its prompts are called

  /** Empty as long as the agent has not said a name. */
  get toldSession(): string {
    return this.talk.session === '_new' ? '' : this.talk.session;
  }
  /** The agent's name for the session wins. */
  adopt(session: string): void {
    if (session === '' || session === '_new' || session === this.talk.session) return;
    this.talk.session = session;
    this.setSession(session);
  }
  /** One of the prompts before the running one, by the name we gave it. */
  isEarlier(prompt: string | null | undefined): boolean {
    const count = prompt == null ? undefined : readPromptName(prompt)?.count;
    return count !== undefined && count < this.talk.prompts;
  }

  /** A prompt that we did not send, or do not wait for. */
  isOther(prompt: string | null | undefined): boolean {
    const count = prompt == null ? undefined : readPromptName(prompt)?.count;
    return count !== undefined && count > this.talk.prompts;
  }

  // --- messages of the agent

  onLine(line: Line): void {
    const { session_id: session, type, object } = line;
    this.beats(type === 'result/heartbeat');
    if (typeof session === 'string') this.adopt(session);
    if (object !== undefined) this.onCompletion(line);
    else if (type === undefined && line.error !== undefined) this.onFatal(line);
    else if (typeof type === 'string') this.onTyped(type, line);
    if (!this.talk.ready) this.becomeReady();
  }
  onTyped(type: string, line: Line): void {
    switch (type) {
      case 'control_request':
        this.refuseUnreadable(line);
        return this.active(false);
      case 'control_response':
        return;
      case 'result/heartbeat': {
        const status = schema.resultHeartbeat.safeParse(line).data?.status;
        if (status && status !== 'ok') this.log('warn', `The agent says about itself: ${status}`);
        return;
      }
      case 'result/command_hint':
        return this.onHint(line);
      case 'result/cancel':
        return this.onCancelled(schema.resultCancel.safeParse(line).data);
      case 'result/command': {
        const parsed = schema.resultCommand.safeParse(line);
        if (!parsed.success) return this.log('warn', 'The result of a command could not be read');
        this.noteAudit(parsed.data.metadata?.audit);
        if (this.isLate()) return;
        return this.onCommand(outcomeOf(parsed.data), parsed.data);
      }
      default:
        if (!type.startsWith('x-qwen-')) return this.log('info', `A line of an unknown type "${type.slice(0, 100)}" is ignored`);
        if (this.isLate() || this.isEarlier(typeof line.prompt_id === 'string' ? line.prompt_id : null)) return;
        this.onAnnotation(line, '');
        return this.active(false);
    }
  }
  /** Said once: nothing that it does passes the user first. */
  noteAudit(audit: { readonly enabled?: boolean | null | undefined } | null | undefined): void {
    if (audit?.enabled !== false || this.talk.audited) return;
    this.talk.audited = true;
    this.note('warn', t('The agent edits files and runs commands without asking you.'));
  }
  onCompletion(message: Line): void {
    const { talk } = this;
    const parsed = schema.completion.safeParse(message);
    if (!parsed.success) return this.log('warn', `A line was dropped: ${parsed.error.issues[0]?.path.join('.')}`);
    const line = parsed.data;
    const told = line.metadata ?? fingerprintOf(line.system_fingerprint);
    if (told?.session_id) this.adopt(told.session_id);
    if (told?.protocol_version != null && talk.version === null && !supports(told.protocol_version)) {
      const reason = otherVersion(told.protocol_version);
      return this.over(reason, ['showLog', 'pickAgent']);
    }
    talk.version = told?.protocol_version ?? talk.version;
    for (const fault of told?.control_errors ?? []) this.answerRefused(fault);
    if (line.usage) {
      const { prompt_tokens: input, completion_tokens: output, total_tokens: used } = line.usage;
      this.emit({ type: 'usage.set', usage: { ...(used ? { used } : {}), ...(input ? { input } : {}), ...(output ? { output } : {}) } });
    }
    if (this.isLate() || this.isEarlier(told?.prompt_id)) return;
    if (told?.error && this.isOther(told.prompt_id)) return this.note('error', faultOf(told.error).message);
    const { anything, anew, finish, whole } = this.onChoices(line, told?.error != null);
    if (anything) this.active(anew);
    this.runOurs(whole);
    if (told?.error) {
      const fault = faultOf(told.error);
      if (fault.unsupported) return this.over(refusal(told.error, talk.version ?? undefined), ['showLog', 'pickAgent']);
      if (finish === 'error') {
        const error = { message: fault.message, ...(fault.code ? { code: fault.code } : {}), next: ['retry'] as const };
        return this.finish('failed', { error });
      }
      const { unsupported: _unsupported, ...shown } = fault;
      const runs = this.state.turn?.phase === 'running';
      const error: Fault = { next: ['retry'], ...shown };
      // An agent that refuses a prompt this way sends no other end of the turn.
      if (runs && finish === undefined && !anew) return this.finishes({ error, isCut: true });
      if (runs && finish === 'stop') return this.finishes({ error, isCut: false });
      this.note('error', fault.message, undefined, fault.next);
    } else if (finish === 'error') return this.finish('failed', { error: { message: agentError(), next: ['retry'] } });
    if (finish === 'length') this.note('warn', answerCut('length'), undefined, ['continue']);
    if (finish === 'content_filter') this.note('warn', answerCut('filter'));
    // A line with nothing but bookkeeping ends nothing, unless it reports an error.
    const counts = anything || told?.error != null || line.object === 'chat.completion.chunk';
    if (finish && this.state.turn && counts) this.finishes(finish);
  }
  /** Text, calls and annotations of one line; whole lines and chunks make the same parts. */
  onChoices(line: schema.Completion, hasError: boolean): LineContent {
    let anything = false;
    let anew = false;
    let finish: string | undefined;
    const whole: WholeCall[] = [];
    for (const choice of line.choices ?? []) {
      const said = choice.delta ?? choice.message;
      const content = said?.content ?? '';
      const calls = said?.tool_calls ?? [];
      const notes = [...annotationsIn(said?.annotations), ...annotationsIn(choice.annotations)];
      const printed = notes.some((note) => note.type === 'x-qwen-terminal' && note.source !== 'assistant' && typeof note.text !== 'string');
      if (content !== '' && !printed) this.onText(content, line.object === 'chat.completion');
      // Beside an error it does not say that the turn went well.
      const endsBadly = hasError && choice.finish_reason === 'stop';
      for (const note of notes)
        if (!endsBadly || note.type !== 'x-qwen-session-event' || note.event !== 'Finished') this.onAnnotation(note, content);
      if (calls.length > 0) this.onCallPieces(calls);
      anew ||= (content !== '' && !printed) || calls.length > 0;
      anything ||= anew || content !== '' || notes.length > 0;
      finish = choice.finish_reason ?? finish;
      if (choice.finish_reason || line.object === 'chat.completion') whole.push(...this.completeCalls());
      if (choice.finish_reason) this.talk.text = null;
    }
    return { anything, anew, finish, whole };
  }
  onText(text: string, isWhole: boolean): void {
    const { talk } = this;
    talk.thought = null;
    const turnId = this.turnId();
    const partId = (isWhole ? null : talk.text) ?? this.newPart();
    talk.text = isWhole ? null : partId;
    // Text for the chat has no colours.
    this.emit({ type: 'text.delta', turnId, kind: 'text', partId, text: text.replace(/\u001b\[[0-9;]*m/g, '') });
  }
  onFatal(line: Line): void {
    const parsed = schema.fatal.safeParse(line);
    const fault = parsed.success ? faultOf(parsed.data.error) : { message: agentError(), code: undefined };
    this.over(fault.code ? `${fault.message} (${fault.code})` : fault.message, ['restart', 'showLog']);
  }
  /** It goes no further with this process. While the link is not ready nothing that waits in the queue is sent to it. */
  over(reason: string, next: readonly Remedy[], status: 'done' | 'failed' = 'failed'): void {
    this.emit({ type: 'link.opening', note: reason });
    this.finish(status, status === 'failed' ? { error: { message: reason } } : {});
    this.giveUp(reason, { again: false, next });
  }

  // --- our tools as ordinary calls: ours to run. Those of other names are the agent's own

  runOurs(calls: readonly WholeCall[]): void {
    if (!this.state.turn) return;
    for (const { id, name, input } of calls) {
      const tool = name.replace(/^(ide\.|mcp__ide__)/, '');
      if (!this.offersTool(tool)) continue;
      if (!this.agent.mcp) this.runOne(id, name, tool, input);
      else {
        // It most often runs them as a server, by a message that follows.
        put(this.talk.awaited, id, { tool, name, input });
        this.timer(`ours ${id}`, LIMITS.ours);
      }
    }
  }
  runOne(id: CallId, name: string, tool: string, input: unknown): void {
    const { turn } = this.state;
    const call = this.call(id);
    if (!turn || turn.phase === 'stopping' || !call?.shown) return;
    call.shown.watched = true;
    call.status = 'running';
    this.changeCall(turn, id, { status: 'running' });
    this.runTool({ for: 'call', callId: id, name, promptId: this.talk.prompt, turnId: turn.id }, tool, input);
  }
  /** No message followed: the call is ours to run, unless the agent shows that it runs it. */
  oursIsLate(id: CallId): void {
    const awaited = find(this.talk.awaited, id);
    remove(this.talk.awaited, id);
    const call = this.call(id);
    if (awaited && call && isOpen(call) && !call.shown?.watched) this.runOne(id, awaited.name, awaited.tool, awaited.input);
  }
  override runTool(run: QwenToolRun, name: string, input: unknown): void {
    if (run.for === 'mcp') {
      const id = keys(this.talk.awaited).find((one) => find(this.talk.awaited, one)?.tool === name);
      if (id !== undefined) {
        remove(this.talk.awaited, id);
        this.timer(`ours ${id}`, null);
      }
    }
    super.runTool(run, name, input);
  }
  /** The answer goes back as a continuation of the prompt that the call belongs to. */
  callOfOursEnded(run: Extract<QwenToolRun, { for: 'call' }>, { ok, text }: { readonly ok: boolean; readonly text: string }): void {
    const { turn } = this.state;
    const { callId, name, promptId } = run;
    // After a stop a continuation would set the agent to work again.
    if (turn?.id !== run.turnId || turn.phase === 'stopping') return;
    this.setStatus(callId, ok ? 'done' : 'failed');
    const output: Output[] = [{ kind: 'content', content: { type: 'text', text } }];
    this.changeCall(turn, callId, { status: ok ? 'done' : 'failed', output, ...(ok ? {} : { error: { message: text } }) });
    const parts = [{ type: 'function_response', function_response: { name, response: ok ? { output: text } : { error: text } } }];
    this.chat({ prompt_id: promptId, tool_call_id: callId, continuation: true, input: { origin: 'tool_response', parts } });
    this.active(false);
  }

  // --- results of commands

  onCommand(outcome: CommandOutcome, line: schema.ResultCommand): void {
    const { turn } = this.state;
    switch (outcome.does) {
      case 'say':
        if (outcome.text !== '') this.note(outcome.level, outcome.text);
        return this.finishes('stop');
      case 'tell':
        if (turn) this.emit({ type: 'text.delta', turnId: turn.id, kind: 'text', partId: this.newPart(), text: outcome.text });
        else if (outcome.text !== '') this.note('info', outcome.text);
        return this.finishes('stop');
      case 'nothing':
        return this.finishes('stop');
      case 'history':
        return this.loadHistory(outcome.items);
      case 'tool':
        if (turn) this.ensureCall(this.newId(), outcome.name, outcome.args, turn.id);
        return this.active(true);
      case 'turn':
        this.active(true);
        if (!turn || outcome.parts.length === 0) return;
        this.talk.submitted = { turnId: turn.id, parts: turn.parts, promptId: line.prompt_id ?? this.talk.prompt, content: outcome.parts };
        return this.timer('submit', LIMITS.submit);
      case 'quit': {
        return this.askYesNo({ about: 'quit' }, { title: t('End this session?') });
      }
      case 'confirm': {
        const approved = outcome.shell ? { approvedCommands: outcome.commands } : { confirmationOutcome: 'proceed_once' };
        const about = { about: 'command', command: { ...line.command, ...approved } } as const;
        return this.askYesNo(about, { ...outcome, ...(turn ? { turnId: turn.id } : {}) });
      }
    }
  }
  /** A submitted prompt that did not begin by itself is sent on. */
  submit(): void {
    const { submitted } = this.talk;
    const { turn } = this.state;
    this.talk.submitted = null;
    if (!submitted || turn?.id !== submitted.turnId || turn.parts !== submitted.parts) return;
    const input = { origin: 'user' as const, parts: [...submitted.content], command: null };
    this.chat({ prompt_id: submitted.promptId, continuation: true, input });
  }
  /** While the link is not ready nothing that waits in the queue can come between. */
  loadHistory(items: readonly unknown[]): void {
    this.emit({ type: 'link.opening', note: t('Loading an earlier conversation') });
    this.finish('done');
    const { firstTurn } = this.state;
    if (firstTurn !== null) this.emit({ type: 'turns.removed', from: firstTurn });
    this.state.firstTurn = null;
    this.emit({ type: 'plan.set', plan: null });
    const events = historyEvents(items, { cwd: this.cwd, at: this.now, newId: () => this.newId() });
    const first = events.find((event) => event.type === 'turn.started');
    this.state.firstTurn = first?.turnId ?? null;
    this.emitAll(events);
    this.emitReady();
  }

  // --- requests of the agent

  onRequest(id: string, line: Line): void {
    this.beats(false);
    if (typeof line.session_id === 'string') this.adopt(line.session_id);
    // After a cancel nothing is answered: its requests die with the turn.
    const request = this.takeRequest(id, line, true);
    if (request) this.onControl(id, String(request.subtype), request);
    this.active(false);
    if (!this.talk.ready) this.becomeReady();
  }
  onControl(id: string, subtype: string, request: Line): void {
    switch (subtype) {
      case 'can_use_tool':
        return this.onPermission(id, request);
      case 'mcp_message':
        return this.onMcp(id, request.message ?? request.payload);
      case 'hook_callback':
        return this.succeed(id, {});
      case 'confirm_shell_commands':
      case 'confirm_action':
      case 'quit_confirmation': {
        const asked = schema.confirmRequest.safeParse(request).data ?? {};
        const commands = asked.commands ?? [];
        const title = asked.title ?? (subtype === 'quit_confirmation' ? t('End this session?') : t('Continue?'));
        const text = asked.prompt ?? asked.message;
        const { turn } = this.state;
        const question = { title, ...(text ? { text } : {}), commands, ...(turn ? { turnId: turn.id } : {}) };
        return this.askYesNo({ about: 'confirm', requestId: id, commands }, question);
      }
      default:
        return this.fail(id, `unsupported control request ${subtype}`);
    }
  }
  onPermission(id: string, request: Line): void {
    const asked = schema.toolRequest.safeParse(request).data;
    const name = asked?.tool?.name ?? asked?.tool_name;
    if (!asked || !name) return this.failUnreadable(id);
    const given = asked.tool_call_id ?? asked.tool_use_id ?? asked.tool?.id ?? asked.metadata?.tool_call_id;
    const open = Object.values(this.agent.calls).findLast((call) => isOpen(call) && call.shown?.named && call.use.name === name);
    this.openApproval(id, {
      subtype: 'can_use_tool',
      tool_name: name,
      tool_use_id: given ?? open?.id ?? null,
      input: argumentsIn(asked.tool ? asked.tool.arguments : asked.input),
    });
  }
  /** The agent could not use an answer that was sent. */
  answerRefused(fault: unknown): void {
    const { expiredRequests } = this.talk;
    const known = isRecord(fault) ? fault : {};
    const text = typeof known.message === 'string' ? known.message : JSON.stringify(fault).slice(0, 500);
    const id = typeof known.request_id === 'string' ? known.request_id : undefined;
    this.log('warn', `The agent could not use an answer: ${text}`);
    const at = id === undefined ? -1 : expiredRequests.indexOf(id);
    if (at >= 0) {
      expiredRequests.splice(at, 1);
      return;
    }
    this.note('warn', t('The agent refused: {0}', text));
    if (id !== undefined) this.withdrawApproval(id);
  }
  /** The turn has ended: the agent may refuse answers to its requests, which is not reported. */
  expireRequests(): void {
    const { expiredRequests } = this.talk;
    expiredRequests.push(...keys(this.state.requests));
    expiredRequests.splice(0, Math.max(0, expiredRequests.length - EXPIRED_KEPT));
  }
  /** The turn is cancelled, and with it what the user was asked: nothing is answered any more. Our tools still answer. */
  forgetRequests(): void {
    this.expireRequests();
    const toTools = new Set(Object.values(this.agent.running).flatMap((run) => (run.for === 'mcp' ? [run.requestId] : [])));
    for (const id of keys(this.state.requests)) if (!toTools.has(id)) this.closeRequest(id);
  }

  // --- the end of a turn

  /** A call or an approval is open. */
  get isBusy(): boolean {
    return this.isAsking || this.toolsBusy || keys(this.talk.awaited).length > 0 || this.openCalls().some((call) => call.shown?.watched);
  }
  /** A line of the turn came. New output of the model (`anew`) revokes an earlier finish; anything else leaves it valid. */
  active(anew: boolean): void {
    const { talk } = this;
    const { ending } = talk;
    if (ending === 'none') return;
    if (anew) talk.ending = 'none';
    // The turn goes on after the error that it would have ended with.
    if (anew && ending !== 'done') this.note('error', ending.error.message, undefined, ending.error.next);
    this.timer('settle', talk.ending !== 'none' && !this.isBusy ? this.settleTime : null);
  }
  settled(): void {
    this.active(false);
  }
  /** A message said that it was the last one, that calls follow, or (a fault) that it goes no further. */
  finishes(reason: string | Exclude<EnvelopeState['ending'], string>): void {
    const { talk } = this;
    const before = talk.ending;
    talk.ending = typeof reason !== 'string' ? reason : reason === 'tool_calls' ? 'none' : 'done';
    if (before !== 'none' || talk.ending !== 'none') this.timer('settle', talk.ending !== 'none' && !this.isBusy ? this.settleTime : null);
  }
  nothingFollows(): void {
    const { ending } = this.talk;
    if (this.isBusy || ending === 'none') return;
    if (ending === 'done') this.finish('done');
    else this.finish('failed', { error: ending.error });
  }
  get settleTime(): number {
    const { ending } = this.talk;
    return typeof ending === 'object' && ending.isCut ? LIMITS.refused : LIMITS.settle[this.state.setup.options.format];
  }
  finish(status: 'done' | 'cancelled' | 'failed', more: TurnEnd = {}): void {
    const { talk } = this;
    const { turn } = this.state;
    const { delayedPrompt } = talk;
    if (delayedPrompt) this.timer('trail', null);
    talk.delayedPrompt = null;
    this.clearStopTimer();
    this.expireRequests();
    this.refuseAll('The turn is over.');
    this.cancelQuestions();
    if (talk.ending !== 'none') this.timer('settle', null);
    talk.ending = 'none';
    for (const id of keys(talk.awaited)) this.timer(`ours ${id}`, null);
    clear(talk.awaited);
    talk.text = null;
    talk.thought = null;
    this.closeTerminal();
    if (turn && status === 'cancelled' && !delayedPrompt) {
      talk.cancelledAt = this.now;
      talk.stopped = Object.values(this.agent.calls)
        .filter(isOpen)
        .map(({ id }) => id);
    }
    const unreported: CallId[] = [];
    for (const call of Object.values(this.agent.calls)) {
      if (call.status === 'waiting') this.timer(`confirm ${call.id}`, null);
      this.printsNoMore(call);
      // The end of such calls is unknown: an agent that does not show its tools reports none.
      if (turn && status === 'done' && isOpen(call) && call.status !== 'waiting') unreported.push(call.id);
      remove(this.agent.calls, call.id);
    }
    talk.byIndex = {};
    talk.lastCall = null;
    this.end(status, unreported.length === 0 ? more : { ...more, unreported });
  }
  closeTerminal(): void {
    const { terminal } = this.talk;
    this.talk.terminal = null;
    if (!terminal) return;
    this.emit({ type: 'terminal.changed', terminal: { id: terminal.id, exit: { code: null, signal: null } } });
    this.changeCall({ id: terminal.turn }, terminal.id, { status: 'done' });
  }
  /** Stopped, or nothing was running: either way nothing runs now. */
  onCancelled(result: { readonly prompt_id?: string | null | undefined; readonly status?: string | null | undefined } | undefined): void {
    const { turn } = this.state;
    if (!turn || this.talk.delayedPrompt) return;
    // An answer about a prompt that was left long ago; a peer that counts otherwise than we do is believed while a stop is open.
    if (this.isEarlier(result?.prompt_id)) return this.log('info', 'A cancel of an earlier prompt was confirmed late; it ends nothing');
    if (result?.status === 'noop' && turn.phase !== 'stopping') return;
    this.finish('cancelled');
  }
  /** A turn was cancelled a moment ago: lines that come now belong to it. */
  get isTrailing(): boolean {
    const { cancelledAt } = this.talk;
    return cancelledAt !== null && this.now - cancelledAt < LIMITS.trail;
  }
  /** Does not show late lines of an ended turn. The next turn has none before its prompt is sent. */
  isLate(): boolean {
    if (!this.talk.delayedPrompt && (this.state.turn || !this.isTrailing)) return false;
    this.log('info', 'A line of the turn that was stopped came late; it is not shown');
    return true;
  }

  // --- heartbeat: any line shows that the agent is alive; at most one heartbeat has no answer yet

  beats(isAnswer: boolean): void {
    const { heartbeat } = this.talk;
    heartbeat.silence = 0;
    if (isAnswer) {
      heartbeat.isAnswered = true;
      heartbeat.isOpen = false;
    } else heartbeat.hasOtherLines = true;
    if (!heartbeat.isReported) return;
    heartbeat.isReported = false;
    this.liveness({ level: 'info', text: t('The agent answers again.') });
  }
  beat(): void {
    const { heartbeat } = this.talk;
    const { heartbeat: every, patience } = this.state.setup.options;
    const slept = this.now - heartbeat.lastSentAt > 3 * every + 1000;
    heartbeat.lastSentAt = this.now;
    if (slept) {
      // The machine slept or was busy: the agent was not silent.
      heartbeat.silence = 0;
      heartbeat.isOpen = false;
    }
    if (!heartbeat.isAnswered && heartbeat.hasOtherLines && heartbeat.sent >= TRIES) return;
    if (heartbeat.silence >= 2 * patience) return this.giveUp(t('The agent does not answer.'), { again: true });
    if (heartbeat.silence >= patience && !heartbeat.isReported) {
      heartbeat.isReported = true;
      this.liveness({ level: 'warn', text: t('The agent does not answer.'), next: ['restart'] });
    }
    heartbeat.silence += every;
    this.timer('heartbeat', every);
    if (heartbeat.isOpen && heartbeat.isAnswered) return;
    heartbeat.isOpen = true;
    heartbeat.sent += 1;
    this.write(heartbeatRequest(this.toldSession));
  }
  liveness(notice: Notice): void {
    this.emit({ type: 'notice', notice: { ...notice, about: 'silence' } });
  }

  // --- timers

  override elapsed(timer: string): void {
    switch (timer) {
      case 'handshake':
        return this.becomeReady();
      case 'heartbeat':
        return this.beat();
      case 'settle':
        return this.nothingFollows();
      case 'submit':
        return this.submit();
      case 'trail':
        return this.trailIsOver();
      case 'names':
        this.talk.commandNames = null;
        return;
      default:
        if (timer.startsWith('ours ')) this.oursIsLate(timer.slice(5));
        else if (timer.startsWith('confirm ')) this.confirmIsLate(timer.slice(8));
        else super.elapsed(timer);
    }
  }

  // --- the end of the process

  stopAgent(): void {
    if (this.state.turn) {
      this.writeCancel();
      this.forgetRequests();
    }
    this.refuseAll('The conversation was ended.');
    this.cancelQuestions();
  }
  endAgent(why: string): void {
    this.refuseAll(why);
    this.lostTurn();
    this.cancelQuestions();
    this.cancelTools();
    for (const timer of ['heartbeat', 'handshake', 'submit', 'names']) this.timer(timer, null);
    this.finish(this.state.turn?.phase === 'stopping' ? 'cancelled' : 'failed', { error: { message: why, next: ['retry'] } });
  }
}

/** Content of one line of the model. */
interface LineContent {
  /** Something to show, not bookkeeping alone. */
  readonly anything: boolean;
  /** Text or calls of the model itself. */
  readonly anew: boolean;
  readonly finish: string | undefined;
  /** Calls whose input is whole now. */
  readonly whole: readonly WholeCall[];
}
