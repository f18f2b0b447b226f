import type * as z from 'zod/mini';
import { t } from '../../base/l10n.ts';
import { find, keys, put, remove } from '../../conversation/state.ts';
import type { TurnEnd, TurnStatus } from '../../conversation/step.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import type { Command, OptionChoice, Remedy, SessionOption, TurnId } from '../../session/model.ts';
import { type ControlReply, isRecord, type Line, readReply } from './codec.ts';
import { knowsNoSuch, modeIn } from './launch.ts';
import {
  allErrors,
  clearsIn,
  commandIn,
  contentOf,
  contextTokens,
  deltaIn,
  describedCommands,
  type Entry,
  flatten,
  INITIALIZE,
  initializeRequest,
  isInterruption,
  namedCommands,
  promptOf,
  rangeIn,
  refusalOf,
  rewound,
  type SystemEffects,
  systemEffects,
  textOf,
  turnEnd,
  USAGE,
  usageOf,
  usageText,
  usedSince,
  userContent,
} from './messageCodec.ts';
import { MessageParts } from './messageParts.ts';
import * as schema from './schema.ts';
import { type MessageState, newAgent, newQwenState, type PendingRequest, type QwenPrompt, type QwenState } from './state.ts';
import { AGENT } from './step.ts';
import { shown } from './tools.ts';

/** Milliseconds. */
const LIMITS = {
  /** Replies to Parley's requests: to `initialize`, to others, to the question whether it is alive. */
  first: 60_000,
  reply: 30_000,
  probe: 10_000,
  /** How long a turn that was not announced may pause, and how long it may take to end after an interrupt. */
  quiet: 2_000,
  ownStop: 2_000,
  /** Silence in a turn: until it is shown, shown again, shown of a sub-agent; until the agent is asked whether it is alive. */
  silence: 15_000,
  silenceAgain: 5_000,
  silenceInSubAgent: 30_000,
  probeAfter: 60_000,
  /** A timer that fires this late was delayed by a sleeping machine: the agent was not silent. */
  slept: 30_000,
};
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MODEL = 'model';
const EFFORT = 'effort';
const EFFORTS: readonly OptionChoice[] = ['low', 'medium', 'high', 'xhigh', 'max'].map((value) => ({ value, name: value }));
const FILES_NAMED = 20;
/** Calls of these kinds may yet need the user's yes; others run as soon as they are whole. */
const MAY_ASK: ReadonlySet<string> = new Set(['edit', 'execute', 'think']);

export function newMessageState(): MessageState {
  return {
    session: '',
    ready: false,
    version: null,
    announced: false,
    commands: {},
    can: { contextUsage: false, usageReport: false },
    choices: { mode: null, model: null, models: [], effort: null, hasEffort: false },
    lanes: {},
    lastWords: {},
    refused: {},
    foreground: {},
    tasks: {},
    counted: { total: {}, forgotten: {} },
    unknown: [],
    silence: { since: 0, lookAt: 0, probedAt: null, missed: 0, told: 'nothing' },
  };
}

/**
 * The message dialect: what Qwen Code ships and Claude Code speaks. Prompts are `user` lines, `result` ends a turn, and between them come
 * `system`, `stream_event`, `assistant` and `user` lines. Requests of both sides are `control_request` lines.
 */
export class MessageStep extends MessageParts {
  // --- handshake: the agent's facts about itself

  /** `sent`: the first line was written already, to find out the dialect. */
  start(sent: boolean): void {
    if (!sent) this.write(initializeRequest(this.peer, this.state.setup.tools.length > 0));
    this.expect(INITIALIZE, { for: 'initialize' }, LIMITS.first);
  }
  initialized(reply: ControlReply): void {
    if (!reply.ok) return this.giveUp(t('{0} could not start: {1}', this.state.setup.called, reply.message), { again: false });
    const { payload } = reply;
    const session = isRecord(payload) ? payload.session_id : undefined;
    if (typeof session === 'string' && session !== '') this.moveTo(session);
    this.introduce(payload);
    this.offerToContinue();
    this.ready();
  }
  introduce(payload: unknown): void {
    const { talk } = this;
    const known = schema.initialized.safeParse(payload).data ?? {};
    talk.ready = true;
    talk.version = known.claude_code_version ?? null;
    if (known.commands) this.addCommands(describedCommands(known.commands));
    this.emitReady();
    if (known.current_permission_mode) this.modeChanged(known.current_permission_mode);
    const [first] = known.models ?? [];
    if (known.models && first) {
      talk.choices.models = known.models.map(({ value, displayName, description }) => ({
        value,
        name: displayName ?? value,
        ...(description ? { description } : {}),
      }));
      this.showOptions();
      this.modelChanged(first.value);
    }
    const can = schema.capabilities.safeParse(payload).data?.capabilities;
    if (!can) return;
    talk.can.contextUsage = can.can_get_context_usage === true;
    talk.can.usageReport = can.can_get_usage_info === true;
    // Its own word about its mode comes with the first turn; the mode of that turn can be chosen before it.
    const mode = modeIn(this.agent.args);
    if (can.can_set_permission_mode && mode !== undefined && talk.choices.mode === null) this.modeChanged(mode);
    talk.choices.hasEffort = can.can_set_effort === true;
    if (talk.choices.hasEffort) this.showOptions();
    if (can.can_get_available_models) this.request({ subtype: 'get_available_models' }, { for: 'models' });
    this.request({ subtype: 'supported_commands' }, { for: 'commands' });
  }
  /** The link is ready; said again when the version becomes known. */
  emitReady(): void {
    const { talk, peer } = this;
    const { tools, keeps } = this.state.setup;
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'qwen', name: peer.name, ...(talk.version === null ? {} : { version: talk.version }) },
      offers: {
        feedback: true,
        editableApprovals: true,
        ...keeps,
        ...(peer.takesImages ? { images: true } : {}),
        ...(tools.length > 0 ? { tools: { accepted: tools.map((tool) => tool.name), rejected: [] } } : {}),
      },
    });
  }
  /** Keeps the first description of a name. */
  addCommands(commands: readonly Command[]): void {
    const all = this.talk.commands;
    const added = commands.filter(({ name }) => name !== '' && !find(all, name));
    for (const command of added) put(all, command.name, find(all, command.name) ?? command);
    if (added.length > 0) this.emit({ type: 'commands.set', commands: Object.values(all).sort((a, b) => (a.name < b.name ? -1 : 1)) });
  }
  /** True unless the text names an unknown command. */
  knowsCommand(text: string): boolean {
    const name = commandIn(text);
    return name === undefined || find(this.talk.commands, name) !== undefined;
  }
  commandsReceived(reply: ControlReply): void {
    const names = schema.commandNames.safeParse(reply.ok ? reply.payload : undefined).data?.commands ?? [];
    const { can, commands } = this.talk;
    const ours = { name: USAGE, description: '', aliases: [], hint: '[today|week|month|all]' };
    // Keeps the agent's own command of that name.
    can.usageReport &&= find(commands, USAGE) === undefined && !names.includes(USAGE);
    this.addCommands([...namedCommands(names), ...(can.usageReport ? [ours] : [])]);
  }
  /** Notes the agent's name for the conversation, which may change. */
  moveTo(session: string): void {
    const moved = this.talk.session !== '';
    this.talk.session = session;
    this.setSession(session);
    // Claude Code reports that in a line of its own.
    if (moved && !this.peer.onlyMessages) this.startOver(clearsIn(this.state.turn?.prompted ?? ''));
  }
  /** `asked`: the user wants to clear the conversation; the view is cleared when the turn that does so ends. */
  startOver(asked: boolean): void {
    const { turn } = this.state;
    if (asked && turn) turn.clears = true;
    else this.note('info', startedOver());
  }
  /** Offers to go on with a turn that ended with the agent or the window, of agents that keep it. */
  offerToContinue(): void {
    const { brokeOff, setup, queuedPrompt, turn } = this.state;
    // A prompt that waits already is what comes next.
    if (!brokeOff || !setup.keeps.history || this.peer.onlyMessages || turn || queuedPrompt) return;
    const title = `${t('Interrupted: the window or the agent was closed.')} ${t('Continue?')}`;
    this.askYesNo({ about: 'continue' }, { title, ours: true });
  }

  // --- Parley's requests

  request(request: { readonly subtype: string } & Line, about: PendingRequest, limit = LIMITS.reply): void {
    const id = this.newId();
    this.write({ type: 'control_request', request_id: id, request });
    this.expect(id, about, limit);
  }
  expect(id: string, about: PendingRequest, limit: number): void {
    put(this.agent.pending, id, about);
    this.timer(`reply ${id}`, limit);
  }
  onReply(line: Line): void {
    const found = readReply(line);
    const about = found && find(this.agent.pending, found.id);
    if (!found || !about) return;
    remove(this.agent.pending, found.id);
    this.timer(`reply ${found.id}`, null);
    const { reply } = found;
    this.replied(about, reply.ok ? reply : { ok: false, message: refusalOf(reply.message) });
  }
  replyIsLate(id: string): void {
    const about = find(this.agent.pending, id);
    if (!about) return;
    remove(this.agent.pending, id);
    if (about.for === 'probe') return this.probeFailed();
    const limit = about.for === 'initialize' ? LIMITS.first : LIMITS.reply;
    this.replied(about, { ok: false, message: t('The agent did not answer within {0} s.', limit / 1000) });
  }
  replied(about: PendingRequest, reply: ControlReply): void {
    switch (about.for) {
      case 'initialize':
        return this.initialized(reply);
      case 'commands':
        return this.commandsReceived(reply);
      case 'models':
        return this.modelsReceived(reply);
      case 'mode':
      case 'model':
      case 'effort':
        return this.choiceAnswered(about.for, about.value, reply);
      case 'context':
        return this.contextReceived(reply);
      case 'usage':
        return this.usageReceived(about.turnId, reply);
      case 'interrupt':
        // An agent that thinks it has no turn has nothing to end, so it sends nothing more.
        if (reply.ok && this.state.turn?.by === 'agent') this.timer('own stop', LIMITS.ownStop);
        return;
      case 'continue': {
        const accepted = reply.ok && isRecord(reply.payload) && reply.payload.accepted === true;
        if (!accepted) this.note('info', reply.ok ? refusalOf(undefined) : reply.message);
        return;
      }
      case 'probe':
        this.talk.silence.missed = 0;
        return;
      case 'rewind':
        return about.dry ? this.filesBefore(about, reply) : this.filesRestored(about, reply);
    }
  }

  // --- what the user wants

  override intent(intent: Intent): void {
    switch (intent.type) {
      case 'prompt': {
        const prompt = { turnId: intent.turnId, content: intent.content };
        this.cancelOffers();
        if (intent.replaces === undefined || !this.state.setup.keeps.edit) return this.prompt(prompt);
        const rewind = { subtype: 'rewind_files', user_message_id: intent.replaces, dry_run: true };
        return this.request(rewind, { for: 'rewind', dry: true, turnId: intent.replaces, prompt });
      }
      case 'command':
        this.cancelOffers();
        return this.prompt({ turnId: intent.turnId, content: [{ type: 'text', text: commandText(intent) }] });
      case 'cancel':
        return this.cancel();
      case 'answer':
        return this.answerTo(intent);
      case 'setMode':
        return this.chooseMode(intent.modeId);
      case 'setOption':
        if (typeof intent.value !== 'string') return;
        if (intent.optionId === MODEL) this.request({ subtype: 'set_model', model: intent.value }, { for: 'model', value: intent.value });
        if (intent.optionId === EFFORT)
          this.request({ subtype: 'set_effort', effort: intent.value }, { for: 'effort', value: intent.value });
        return;
      default:
        return;
    }
  }
  /** A new prompt settles our question about continuing or going back. */
  cancelOffers(): void {
    for (const ask of Object.values(this.state.asks)) {
      const { about } = this.openAsk(ask.id) ?? {};
      if (about?.about === 'rewind' || about?.about === 'continue') this.closeAsk(ask, 'cancelled');
    }
    for (const id of keys(this.agent.pending)) if (find(this.agent.pending, id)?.for === 'rewind') remove(this.agent.pending, id);
  }
  prompt({ turnId, content }: QwenPrompt): void {
    const { peer, cwd, talk } = this;
    const { called } = this.state.setup;
    const prompt = promptOf(content, cwd, peer.takesImages);
    this.begin(turnId, 'user', content, prompt.text);
    if (prompt.left.length > 0) this.note('warn', t('{0} cannot take: {1}.', called, prompt.left.join(', ')));
    if (prompt.text === '' && prompt.images.length === 0) {
      return this.end('failed', { error: { message: t('The prompt is empty.') } });
    }
    const range = talk.can.usageReport ? rangeIn(prompt.text) : undefined;
    if (range !== undefined) return this.request({ subtype: 'get_usage_info', range }, { for: 'usage', turnId });
    if (!this.knowsCommand(prompt.text)) this.log('info', 'No command of the agent has this name; it is sent as text');
    this.startSilence();
    const message = { role: 'user', content: userContent(prompt) };
    // Our own name for it is what can be gone back to.
    const named = peer.checkpoints && UUID.test(turnId) ? { uuid: turnId } : {};
    this.write({ type: 'user', ...named, session_id: talk.session, parent_tool_use_id: null, message });
  }
  cancel(): void {
    if (!this.requestStop()) return;
    this.request({ subtype: 'interrupt' }, { for: 'interrupt' });
    this.refuseOfTurn('The user stopped the turn.');
    this.cancelTools();
  }
  answerTo({ askId, answer }: Extract<Intent, { type: 'answer' }>): void {
    const open = this.openAsk(askId);
    if (!open) return;
    const { ask, about } = open;
    const option = answer.kind === 'option' ? answer.optionId : undefined;
    if (about.about === 'tool') {
      const approval = find(this.agent.approvals, about.requestId);
      return approval && this.answerApproval(approval, answer);
    }
    this.closeAsk(ask, 'answered');
    if (about.about === 'mode' && option === 'yes') this.setMode(about.mode);
    if (about.about === 'continue' && option === 'yes') this.request({ subtype: 'continue_last_turn' }, { for: 'continue' });
    if (about.about === 'rewind' && option === 'keep') this.goBack(about.turnId, about.prompt);
    if (about.about === 'rewind' && option === 'restore') {
      const { turnId, prompt } = about;
      this.request({ subtype: 'rewind_files', user_message_id: turnId }, { for: 'rewind', dry: false, turnId, prompt });
    }
  }
  /** Shows a report that the agent was asked for in place of a prompt, and ends its turn. */
  usageReceived(turnId: TurnId, reply: ControlReply): void {
    if (this.state.turn?.id !== turnId) return;
    const text = reply.ok ? usageText(reply.payload) : undefined;
    if (text === undefined) return this.finish('failed', { error: { message: reply.ok ? refusalOf(undefined) : reply.message } });
    this.emit({ type: 'text.delta', turnId, kind: 'text', partId: this.newPart(), text });
    this.finish('done');
  }

  // --- going back to an earlier message: files first, as the user wants them, then a new process

  filesBefore({ turnId, prompt }: Extract<PendingRequest, { for: 'rewind' }>, reply: ControlReply): void {
    const found = rewound.safeParse(reply.ok ? reply.payload : undefined);
    const files = found.success && found.data.canRewind ? (found.data.filesChanged ?? []) : [];
    if (files.length === 0) return this.goBack(turnId, prompt);
    const names = files.slice(0, FILES_NAMED).map((file) => shown(file, this.cwd));
    if (files.length > FILES_NAMED) names.push(`… (+${files.length - FILES_NAMED})`);
    this.ask(
      {
        kind: 'approval',
        id: this.newId(),
        title: t('Restore Files'),
        detail: { type: 'text', text: names.join('\n') },
        options: [
          { id: 'restore', label: t('Yes'), effect: 'allow_once' },
          { id: 'keep', label: t('No'), effect: 'allow_once' },
          { id: 'no', label: t('Cancel'), effect: 'reject_once' },
        ],
        wordless: true,
        ours: true,
      },
      { about: 'rewind', turnId, prompt },
    );
  }
  filesRestored({ turnId, prompt }: Extract<PendingRequest, { for: 'rewind' }>, reply: ControlReply): void {
    const done = rewound.safeParse(reply.ok ? reply.payload : undefined);
    if (done.success && done.data.canRewind) return this.goBack(turnId, prompt);
    const why = (done.success ? done.data.error : undefined) ?? refusalOf(undefined);
    this.note('error', t('The agent refused: {0}', why));
  }
  /** Looks up the message to resume at. */
  goBack(turnId: TurnId, prompt: QwenPrompt): void {
    if (this.state.key === null) return this.messageFound({ turnId, prompt, found: null });
    this.do({ do: 'port', call: 'before', port: 'file', args: { do: 'before', key: this.state.key, turnId, prompt } });
  }
  /** `found`: the message before that turn, with null inside when it was the first. */
  messageFound({ turnId, prompt, found }: MessageBefore): void {
    const { agent } = this;
    if (agent.ending) return;
    if (!found) {
      const text = t('The agent does not keep that message any more; yours was sent at the end of the conversation.');
      this.emit({ type: 'notice', notice: { level: 'warn', text } });
      return this.prompt(prompt);
    }
    const reason = t('Loading an earlier conversation');
    agent.ending = { kind: 'back', reason, upTo: found.upTo, prompt };
    if (turnId === this.state.firstTurn) this.state.firstTurn = null;
    this.emit({ type: 'turns.removed', from: turnId });
    this.emit({ type: 'link.opening', note: reason });
    this.close(AGENT);
  }

  // --- what can be chosen: mode, model, effort. The agent's reply decides what is shown

  modeChanged(mode: string): void {
    const { choices } = this.talk;
    if (mode === choices.mode) return;
    choices.mode = mode;
    const modes = this.peer.modes();
    const all = modes.some((one) => one.id === mode) ? modes : [...modes, { id: mode, name: mode }];
    this.emit({ type: 'mode.set', mode: { current: mode, all } });
  }
  /** A mode without approvals needs a confirmation. */
  chooseMode(mode: string): void {
    if (!this.peer.unattended.includes(mode)) return this.setMode(mode);
    const name = this.peer.modes().find((one) => one.id === mode)?.name ?? mode;
    this.ask(
      {
        kind: 'approval',
        id: this.newId(),
        title: t('Change to mode “{0}”?', name),
        detail: { type: 'text', text: t('The agent edits files and runs commands without asking you.') },
        wordless: true,
        ours: true,
        options: [
          { id: 'yes', label: t('Yes'), effect: 'allow_once' },
          { id: 'no', label: t('No'), effect: 'reject_once' },
        ],
      },
      { about: 'mode', mode },
    );
  }
  setMode(mode: string): void {
    this.request({ subtype: 'set_permission_mode', mode }, { for: 'mode', value: mode });
  }
  modelChanged(model: string): void {
    if (model === this.talk.choices.model) return;
    this.talk.choices.model = model;
    this.showOptions();
  }
  modelsReceived(reply: ControlReply): void {
    const parsed = schema.modelList.safeParse(reply.ok ? reply.payload : undefined);
    if (!parsed.success) return;
    this.talk.choices.models = parsed.data.models.map(({ id, label }) => ({ value: id, name: label ?? id }));
    this.showOptions();
  }
  choiceAnswered(what: 'mode' | 'model' | 'effort', value: string, reply: ControlReply): void {
    if (!reply.ok) {
      return this.note('warn', t('The agent refused: {0}', reply.message));
    }
    if (what === 'mode') return this.modeChanged(schema.modeReply.safeParse(reply.payload).data?.mode ?? value);
    if (what === 'model') return this.modelChanged(value);
    this.talk.choices.effort = value;
    this.showOptions();
  }
  showOptions(): void {
    const { model, models, effort, hasEffort } = this.talk.choices;
    const options: SessionOption[] = [];
    if (model !== null && models.length > 0) {
      const choices = models.some((one) => one.value === model) ? models : [{ value: model, name: model }, ...models];
      options.push({ id: MODEL, name: t('Model'), about: 'model', kind: 'choice', current: model, choices });
    }
    if (hasEffort) {
      const choices = effort === null ? [{ value: '', name: t('Default') }, ...EFFORTS] : EFFORTS;
      options.push({ id: EFFORT, name: t('Effort'), about: 'thought', kind: 'choice', current: effort ?? '', choices });
    }
    this.emit({ type: 'options.set', options });
  }

  // --- turns

  /** The turn that a line belongs to; the agent may begin one by itself. */
  turnFor(parent: string | null | undefined): TurnId {
    const background = this.backgroundTurn(parent);
    if (background !== undefined) return background;
    if (!this.state.turn) {
      this.begin(this.newId(), 'agent', []);
      this.startSilence();
    }
    return this.state.turn?.id ?? '';
  }
  /**
   * Waits for the end of a turn that the agent began without announcing it: it has no end of its own and counts as ended when nothing follows.
   * `whole`: the last message and its calls are complete.
   */
  agentTurnContinued(whole: boolean): void {
    if (this.state.turn?.by !== 'agent') return;
    this.timer('quiet', whole && !this.talk.announced && this.openCalls().length === 0 ? LIMITS.quiet : null);
  }
  finish(status: TurnStatus, more: TurnEnd = {}): void {
    const { turn } = this.state;
    this.settleTurn();
    const clears = turn?.clears === true && status === 'done';
    if (clears) this.talk.counted.forgotten = this.talk.counted.total;
    if (clears) this.emit({ type: 'notice', notice: { level: 'info', text: startedOver() } });
    this.end(status, { ...more, ...(clears ? { clears } : {}) });
  }
  /** Stops waiting for anything of the turn. */
  settleTurn(): void {
    const { talk } = this;
    if (this.state.turn?.by === 'agent') for (const timer of ['quiet', 'own stop']) this.timer(timer, null);
    talk.announced = false;
    this.stopSilence();
    this.clearStopTimer();
    this.refuseOfTurn('The turn is over.');
    for (const call of this.openCalls()) call.status = 'cancelled';
    for (const name of keys(talk.lanes)) if (!this.goesOn(name)) remove(talk.lanes, name);
  }

  // --- messages of the agent

  onLine(line: Line): void {
    const { type, session_id: session } = line;
    if (type === 'control_response') this.probeAnswered();
    else this.noteLine();
    if (typeof session === 'string' && session !== '' && session !== this.talk.session && type !== 'conversation_reset')
      this.moveTo(session);
    switch (type) {
      case 'stream_event': {
        const delta = deltaIn(line) ?? this.read(schema.streamLine, line);
        return delta && this.onStream(delta);
      }
      case 'assistant': {
        const read = this.read(schema.assistantLine, line);
        return read && this.onAssistant(read);
      }
      case 'user': {
        const read = this.read(schema.userLine, line);
        return read && this.onUser(read);
      }
      case 'system': {
        const read = this.read(schema.systemLine, line);
        return read && this.onSystem(flatten(read));
      }
      case 'result': {
        const read = this.read(schema.resultLine, line);
        return read && this.onResult(read);
      }
      case 'tool_progress': {
        const read = this.read(schema.toolProgress, line);
        return read && this.runs(read.parent_tool_use_id ?? read.tool_use_id);
      }
      case 'control_response':
        return this.onReply(line);
      case 'control_cancel_request':
        return this.withdrawApproval(String(line.request_id));
      case 'control_request':
        return this.refuseUnreadable(line);
      case 'conversation_reset':
        return this.startOver(true);
      default:
        return this.onUnknown(String(type));
    }
  }
  read<T extends z.ZodMiniType>(shape: T, line: Line): z.infer<T> | undefined {
    const parsed = shape.safeParse(line);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    this.log('warn', `A ${String(line.type)} line was dropped: ${issue?.path.join('.')} ${issue?.message}`);
    return undefined;
  }
  onUnknown(type: string): void {
    const { unknown } = this.talk;
    if (unknown.includes(type) || unknown.length > 100) return;
    unknown.push(type);
    this.log('info', `The agent sends lines of an unknown type "${type.slice(0, 100)}"; they are ignored`);
  }
  onRequest(id: string, line: Line): void {
    this.noteLine();
    const payload = isRecord(line.request) ? line.request : line;
    const asks = payload.subtype === 'can_use_tool';
    const request = this.takeRequest(id, line, !asks || this.goesOn(typeof payload.tool_use_id === 'string' ? payload.tool_use_id : null));
    if (!request) return;
    switch (request.subtype) {
      case 'can_use_tool': {
        const parsed = schema.canUseTool.safeParse(request);
        return parsed.success ? this.openApproval(id, parsed.data) : this.failUnreadable(id);
      }
      case 'mcp_message': {
        const { server_name: server, message } = request;
        if (server !== this.peer.server) return this.fail(id, `There is no server "${String(server)}" here.`);
        return this.onMcp(id, message);
      }
      case 'hook_callback':
        return this.succeed(id, {});
      default:
        return this.fail(id, `unsupported control request ${String(request.subtype)}`);
    }
  }
  onSystem(line: schema.SystemLine): void {
    const { talk } = this;
    const effects = systemEffects(line);
    if (line.subtype === 'init') talk.announced = true;
    this.learn(effects);
    if (effects.fails && effects.activity != null) this.showWaiting(effects.activity);
    else if (effects.activity !== undefined) this.activity(effects.activity);
    const call = this.call(line.tool_use_id);
    if (line.subtype === 'task_started' && call) this.runs(call.id);
    if (this.isOfBackgroundAgent(line) || !this.tellsOfTask(line, call)) return;
    const denied = line.subtype === 'permission_denied' && line.tool_use_id ? line.tool_use_id : undefined;
    if (denied !== undefined) put(talk.refused, denied, true);
    // The refusal is not a step of the call.
    for (const note of effects.notes) this.note(note.level, note.text, denied === undefined ? note.parent : call?.parent);
  }
  /** The facts of a `system` line. */
  learn({ version, commands, mode, model }: SystemEffects): void {
    const { talk } = this;
    if (version !== undefined && version !== talk.version) {
      talk.version = version;
      if (talk.ready) this.emitReady();
    }
    if (commands) this.addCommands(namedCommands(commands));
    if (mode !== undefined) this.modeChanged(mode);
    // Claude Code names its choices otherwise than the model behind them.
    if (model !== undefined && !this.peer.onlyMessages) this.modelChanged(model);
  }
  onStream(line: schema.StreamLine): void {
    const { event, parent_tool_use_id: parent } = line;
    if (event.type === 'tool_progress' && event.tool_use_id) return this.runs(event.tool_use_id);
    if (!event.type.startsWith('content_block') && event.type !== 'message_start') return;
    const turnId = this.turnFor(parent);
    if (this.state.turn && !parent) this.state.turn.spoke = true;
    this.stream(line, turnId);
    this.agentTurnContinued(false);
  }
  onAssistant(line: schema.AssistantLine): void {
    const { parent_tool_use_id: parent, message } = line;
    const turnId = this.turnFor(parent);
    const { turn } = this.state;
    if (turn && !parent) turn.spoke = true;
    if (turn && line.error === 'authentication_failed') turn.signedOut = true;
    this.wholeBlocks(line, turnId);
    for (const block of message.content) {
      const call = block.type === 'tool_use' ? this.call(block.id) : undefined;
      if (!call) continue;
      this.watchFile(call);
      if (!MAY_ASK.has(call.use.kind) && call.use.work !== 'ask') this.runs(call.id);
    }
    this.agentTurnContinued(true);
    const used = parent ? undefined : contextTokens(message.usage);
    if (used !== undefined) this.emit({ type: 'usage.set', usage: { used } });
  }
  onUser(line: schema.UserLine): void {
    const { content } = line.message;
    const { parent_tool_use_id: parent } = line;
    const words = parent ? textOf(content) : '';
    if (parent && words !== '' && !isInterruption(words)) {
      const turnId = this.turnFor(parent);
      const prompt = contentOf(content);
      this.emit({ type: 'part.added', turnId, part: { kind: 'prompt', id: this.newPart(), parent, content: prompt } });
      return;
    }
    if (typeof content === 'string') return this.remark(content);
    for (const block of content) {
      if (block.type === 'text') this.remark(block.text ?? '');
      if (block.type !== 'tool_result' || !block.tool_use_id) continue;
      this.callEnded(block.tool_use_id, block, line);
      this.agentTurnContinued(true);
    }
  }
  /** Shows a line that the agent wrote in the user's name as a notice. */
  remark(text: string): void {
    // The card of the task shows it already.
    if (text.trimStart().startsWith('<task-notification')) return;
    const plain = text.replaceAll(/<\/?[a-z-]+>/g, '').trim();
    if (plain !== '' && !isInterruption(plain)) this.note('info', plain.slice(0, 4000));
  }
  onResult(line: schema.ResultLine): void {
    const { turn } = this.state;
    if (!turn) {
      if (!this.talk.ready) return this.startFailed(line.error?.message || allErrors(line) || line.result || undefined);
      return this.log('info', 'A result came while no turn was running');
    }
    const subAgent = this.openCalls().find((call) => call.use.work === 'agent' && call.parent === null);
    if (subAgent && line.is_error && line.duration_ms === 0 && line.num_turns === 0) {
      // The failure of a sub-agent comes in the shape of a turn's end.
      return this.note('warn', refusalOf(line.error), subAgent.id);
    }
    if (!turn.spoke && line.result) {
      this.emit({ type: 'text.delta', turnId: turn.id, kind: 'text', partId: this.newPart(), text: line.result });
    }
    this.showRefused(line);
    this.emit({ type: 'usage.set', usage: usedSince(this.talk.counted, usageOf(line)) });
    const { status, ...more } = turnEnd(line, { stopping: turn.phase === 'stopping', signedOut: turn.signedOut });
    const unreported = status === 'done' ? this.endWithoutResults(turn.id) : [];
    this.finish(status, unreported.length === 0 ? more : { ...more, unreported });
    if (this.talk.can.contextUsage) this.request({ subtype: 'get_context_usage' }, { for: 'context' });
  }
  /** Handles the end of a turn in place of the reply to `initialize`: the agent did not start. `why` is its reason. */
  startFailed(why: string | undefined): void {
    const { agent } = this;
    if (why !== undefined && knowsNoSuch(why) && agent.args.includes('--resume') && !agent.ending) {
      agent.ending = { kind: 'anew', reason: why };
      return this.close(AGENT);
    }
    this.giveUp(why ?? refusalOf(undefined), { again: false, next: ['openSettings', 'showLog', 'restart'] });
  }
  contextReceived(reply: ControlReply): void {
    const usage = schema.contextUsage.safeParse(reply.ok ? reply.payload : undefined).data;
    const size = usage?.contextWindowSize ?? usage?.maxTokens;
    if (size) this.emit({ type: 'usage.set', usage: { size } });
  }

  // --- silence

  startSilence(): void {
    const { silence } = this.talk;
    Object.assign(silence, { since: this.now, probedAt: null });
    if (silence.told === 'waiting') silence.told = 'nothing';
    this.checkSilenceIn(LIMITS.silence);
  }
  checkSilenceIn(ms: number): void {
    this.talk.silence.lookAt = this.now + ms;
    this.timer('silence', ms);
  }
  stopSilence(): void {
    const { silence } = this.talk;
    if (this.state.turn) this.timer('silence', null);
    if (silence.told === 'waiting') silence.told = 'nothing';
  }
  /** Notes that the agent wrote a line: it is not silent. */
  noteLine(): void {
    const { silence } = this.talk;
    silence.since = this.now;
    silence.missed = 0;
    silence.probedAt = null;
    if (silence.told === 'nothing') return;
    if (silence.told === 'unresponsive') return this.probeAnswered();
    silence.told = 'nothing';
    this.activity(null);
  }
  /** Notes that the agent answered a request. It is alive, but that does not mean that it works. */
  probeAnswered(): void {
    if (this.talk.silence.told !== 'unresponsive') return;
    this.talk.silence.told = 'nothing';
    this.emit({ type: 'notice', notice: { level: 'info', text: t('The agent answers again.'), about: 'silence' } });
    this.activity(null);
    if (this.state.turn) this.startSilence();
  }
  /** Asks the agent whether it is alive after a silence, and shows that nothing comes. */
  checkSilence(): void {
    const { silence } = this.talk;
    if (!this.state.turn) return;
    // Waiting for the user or one of our tools does not count as silence of the agent.
    if (this.now - silence.lookAt > LIMITS.slept || this.waitsForUser || this.toolsBusy)
      Object.assign(silence, { since: this.now, probedAt: null });
    const quiet = this.now - silence.since;
    if (quiet < LIMITS.silence) return this.checkSilenceIn(LIMITS.silence - quiet);
    const inSubAgent = this.openCalls().some((call) => call.parent !== null);
    if (inSubAgent && quiet >= LIMITS.silenceInSubAgent) {
      this.showWaiting(t('May be waiting for an approval that the agent cannot ask for: {0}. Stop ends it.', t('Sub-agent')));
    }
    const probing = Object.values(this.agent.pending).some((one) => one.for === 'probe');
    if (!probing && this.now - (silence.probedAt ?? silence.since) >= LIMITS.probeAfter) {
      silence.probedAt = this.now;
      this.request({ subtype: 'supported_commands' }, { for: 'probe' }, LIMITS.probe);
    }
    this.checkSilenceIn(LIMITS.silenceAgain);
  }
  showWaiting(text: string): void {
    this.talk.silence.told = 'waiting';
    this.activity(text);
  }
  probeFailed(): void {
    const { silence } = this.talk;
    silence.missed += 1;
    if (silence.missed < 2 || !this.state.turn) return;
    this.stopSilence();
    silence.told = 'unresponsive';
    const text = t('The agent does not answer.');
    this.emit({ type: 'notice', notice: { level: 'warn', text, next: ['restart'], about: 'silence' } });
  }

  // --- timers and ports

  override elapsed(timer: string): void {
    switch (timer) {
      case 'silence':
        return this.checkSilence();
      case 'quiet':
        return this.finish('done');
      case 'own stop':
        return this.finish('cancelled');
      default:
        if (timer.startsWith('reply ')) this.replyIsLate(timer.slice(6));
        else super.elapsed(timer);
    }
  }
  override portReplied(call: string, result: unknown): void {
    if (call === 'before') this.messageFound(result as MessageBefore);
    else super.portReplied(call, result);
  }

  // --- the end of the process

  stopAgent(): void {
    if (this.state.turn) this.request({ subtype: 'interrupt' }, { for: 'interrupt' });
    this.refuseAll('The conversation was ended.');
  }
  endAgent(why: string): void {
    const { talk } = this;
    for (const call of new Set(Object.values(talk.tasks).map((id) => this.call(id))))
      if (call?.goesOn) this.agentEnded(call, 'cancelled', '');
    this.refuseAll(why);
    this.lostTurn();
    this.cancelTools();
    for (const ask of Object.values(this.state.asks)) this.closeAsk(ask, 'cancelled');
    for (const id of keys(this.agent.pending)) {
      remove(this.agent.pending, id);
      this.timer(`reply ${id}`, null);
    }
    const isStopping = this.state.turn?.phase === 'stopping';
    this.settleTurn();
    const next: readonly Remedy[] = this.state.setup.keeps.history ? ['retry', 'continue'] : ['retry'];
    this.end(isStopping ? 'cancelled' : 'failed', { error: { message: why, next } });
  }
}

/** Result of the search for the message to resume at. */
export interface MessageBefore {
  readonly turnId: TurnId;
  readonly prompt: QwenPrompt;
  readonly found: { readonly upTo: string | null } | null;
}

export function commandText({ path, args }: { readonly path: readonly string[]; readonly args: string }): string {
  return `/${[...path, args].filter(Boolean).join(' ')}`;
}
function startedOver(): string {
  return t('The conversation starts over. The agent forgets everything before this point.');
}

// --- a conversation that the agent keeps

/** A kept conversation as events: a turn for each thing the user said, named by its own id, with all that came of it. */
export function replay(entries: readonly Entry[], cwd: string): readonly SessionEvent[] {
  const state = newQwenState('past-', { ...NO_SETUP, cwd });
  state.agent = { ...newAgent(false, [], 0), dialect: 'message', message: newMessageState() };
  const events: SessionEvent[] = [];
  let step = new MessageStep(state, 0);
  const told = () => events.push(...step.effects.flatMap((effect) => (effect.do === 'emit' ? [effect.event] : [])));
  const stopped = stoppedCalls(entries);
  const finish = () => step.finish(state.turn?.phase === 'stopping' ? 'cancelled' : 'done');
  for (const one of entries) {
    const { id, at, said } = one;
    if (!said) continue;
    if (said.who === 'user') finish();
    told();
    step = new MessageStep(state, at);
    if (said.who === 'stop') step.finish('cancelled');
    else if (said.who === 'user') step.begin(id, 'record', said.text === '' ? [] : [{ type: 'text', text: said.text }]);
    else if (said.who === 'agent') {
      if (!state.turn) step.begin(id, 'record', []);
      step.wholeBlocks(said.line, state.turn?.id ?? id);
    } else if (state.turn) {
      if (stopped.has(one)) state.turn.phase = 'stopping';
      step.onUser(said.line);
    }
  }
  finish();
  told();
  return events;
}
/** The results of the calls with which a turn was stopped: the agent reports that in the next line, or in the result when no other line came. */
function stoppedCalls(entries: readonly Entry[]): ReadonlySet<Entry> {
  const found = new Set<Entry>();
  let next: 'prompt' | 'stop' | 'agent' = 'prompt';
  for (const one of entries.toReversed()) {
    const { said } = one;
    if (!said) continue;
    if (said.who !== 'tool') next = said.who === 'user' ? 'prompt' : said.who;
    else if (next === 'stop' || (next === 'prompt' && said.stopped)) {
      found.add(one);
      next = 'stop';
    }
  }
  return found;
}
const NO_SETUP: Omit<QwenState['setup'], 'cwd'> = {
  command: '',
  args: [],
  product: 'claude',
  called: '',
  client: { name: '', version: '' },
  options: { dialect: 'message', format: 'stream-json', heartbeat: 0, patience: 0, request: {}, direct: false },
  problems: [],
  resume: null,
  tools: [],
  keeps: {},
};
