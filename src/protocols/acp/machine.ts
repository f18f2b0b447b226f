import { t } from '../../base/l10n.ts';
import type { Ending, Failure } from '../../base/outcomes.ts';
import { resolvePath } from '../../base/paths.ts';
import type { Input, Machine, Port } from '../../conversation/machine.ts';
import { find, keys, newTable, type OpenAsk, put, remove, splitName, type Table } from '../../conversation/state.ts';
import { machineOf, Step, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Approval, Ask, Content, Diff, Fault, Notice, ToolCall } from '../../session/model.ts';
import { junkWhileOpening } from '../junk.ts';
import {
  type Against,
  againstTitle,
  allowDetails,
  CANCELLED_OUTCOME,
  commandSubject,
  type Decided,
  effectOf,
  isSameAsk,
  mergeSubject,
  noteAllowed,
  noteRefused,
  type Outcome,
  permissionAsk,
  permissionReply,
  readSubject,
  refusedFor,
  rejectedAgainst,
  type Subject,
  untitled,
  wasAllowed,
  withoutReturns,
  writeSubject,
} from './approvals.ts';
import {
  type AcpCall,
  askedFacts,
  type CallFacts,
  callThatWrote,
  type From,
  factsOf,
  isAnnouncedAgain,
  isEmpty,
  isFinal,
  itemsOf,
  mergeAsked,
  mergeCall,
  mergeEdits,
  newCall,
  noteWritten,
  ofChild,
  placeEdit,
  type Stopped,
  shown,
  startAgain,
  unreportedIn,
  untold,
} from './calls.ts';
import {
  badParams,
  type Codec,
  endOf,
  faultOf,
  frameOf,
  hello,
  isNote,
  isOfAnswer,
  isOfChild,
  isReminder,
  misfit,
  newBlocks,
  readEditorRequest,
  recordedMessage,
  subjectOf,
  type TerminalNews,
  type TerminalRequest,
  terminalsIn,
  toBlocks,
  toContent,
} from './codec.ts';
import { patchItems } from './diffs.ts';
import { type AgentTerminal, type BytesNews, takeBytes } from './draft.ts';
import {
  FORM_CANCELLED,
  FORM_DECLINED,
  formAsk,
  formMisfit,
  formReply,
  LINK_OPENED,
  type LinkFacts,
  linkAsk,
  readElicitation,
} from './forms.ts';
import { MINUTE, minuteLeft } from './quirks.ts';
import {
  type Activity,
  AUTH_REQUIRED,
  type AuthMethod,
  type ContentBlock,
  INTERNAL,
  INVALID_PARAMS,
  NOT_FOUND,
  type PermissionRequest,
  promptAnswer,
  UNSUPPORTED_VERSION,
  type Update,
  type WireCall,
} from './schema.ts';
import {
  commandsSet,
  eventsOf,
  modeRequest,
  noticeOf,
  optionRequest,
  type SettingRequest,
  settingDone,
  settingEvents,
  takeSettings,
} from './settings.ts';
import { loginIn, signInAsk, variablesAsk, variablesIn, variablesOf, wayOf } from './signIn.ts';
import {
  type AcpLane,
  type AcpState,
  type AcpTurn,
  acpLane,
  acpTurn,
  addRecorded,
  type Child,
  type ChildNews,
  type CommandJob,
  type Created,
  codecOf,
  type EditedFile,
  type FileLook,
  type FileRead,
  type FolderJob,
  foldersOf,
  type Job,
  type Limits,
  newCommand,
  newQuestion,
  newWrite,
  noteChild,
  offersOf,
  type PromptState,
  type Question,
  type ReadJob,
  type ReadParams,
  type RecordedPrompt,
  type Resume,
  readHello,
  rootsOf,
  stoppedBy,
  type Terminal,
  type WriteJob,
  type WriteLook,
} from './state.ts';

/*
 * Agent Client Protocol, client side: one process, JSON-RPC both ways, one session in it. The answer to session/prompt ends a turn (version 1), or
 * an update does (version 2). The agent asks for permissions, files, terminals and forms meanwhile. docs/protocols/acp.md tells what agents do.
 *
 * In the order of life: process · handshake · session · sign-in · what the user wants · prompts · updates · calls · edits and their files ·
 * permissions · files · commands · forms and links · what lies beside.
 */

const LINK = 'agent';
/** Updates kept for sessions whose id is not known yet. */
const MOST_EARLY = 200;
/** How often a question is put again because the agent says something else of the call meanwhile. */
const MOST_CHANGES = 10;
/** To start again asks anew how to sign in. */
const SIGN_IN_REMEDIES: Fault['next'] = ['restart', 'signIn', 'showLog', 'pickAgent'];
const STOPPED = 'The user has stopped this: the command was not run.';
class AcpStep extends Step<AcpState> {
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
        return this.elapsed(input.timer);
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
    }
  }
  get codec(): Codec {
    return codecOf(this.state.agent);
  }
  get limits(): Limits {
    return this.state.setup.limits;
  }

  // --- the process

  startProcess(): void {
    const { state } = this;
    if (state.phase === 'new') state.phase = 'opening';
    state.opening = 'initialize';
    state.printed = '';
    state.renewed = state.sessionId !== null;
    this.open(LINK, {});
    this.sayHello(state.setup.newest);
    this.timer('initialize', this.limits.initialize);
  }
  sayHello(newest: 1 | 2): void {
    const { client, can } = this.state.setup;
    this.request(`initialize ${newest}`, 'initialize', hello(newest, client, can));
  }
  /** Ends the process without a word to the user; another one is started when it is gone. */
  restart(after: AcpState['after']): void {
    this.state.opening = 'restart';
    this.state.after = after;
    this.close(LINK);
  }
  /** The process has ended. */
  processEnded({ reason, failure, stderr }: Ending): void {
    const { state } = this;
    if (state.phase !== 'left' && state.opening === 'restart') return this.startProcess();
    if (state.phase !== 'left') {
      const detail = ((stderr ?? '').trim() || state.printed).slice(-2048).trim();
      const next = failure === 'missing' ? (['pickAgent', 'openSettings', 'restart'] as const) : (['restart', 'showLog'] as const);
      this.letGo();
      this.linkClosed(reason, next, detail);
    }
    state.phase = 'over';
  }
  /** Settles everything that is open, because no answer can come any more. */
  letGo(): void {
    this.cancelAsks();
    for (const id of Object.values(this.state.requests).map((one) => one.id)) this.refuse(LINK, id, INTERNAL, 'The session has ended.');
    this.port(null, 'terminals end', 'terminal', { do: 'end' });
    this.port(null, 'tools end', 'server', { do: 'end' });
    for (const timer of ['initialize', 'session', 'quiet', 'stopping', 'minute']) this.timer(timer, null);
  }
  leave(): void {
    const { state } = this;
    if (state.phase === 'left') return;
    this.letGo();
    state.phase = 'left';
    if (find(state.links, LINK) === undefined) {
      state.phase = 'over';
      return;
    }
    if (!state.agent?.can.close || state.sessionId === null) return this.close(LINK);
    this.request('session/close', 'session/close', { sessionId: state.sessionId });
    this.timer('close', this.limits.close);
  }
  /** The agent cannot be used. */
  failed(reason: string, next: Fault['next'] = ['restart', 'showLog', 'pickAgent']): void {
    this.linkClosed(reason, next);
    this.leave();
  }
  printed(text: string): void {
    const { state } = this;
    const line = text.trim();
    state.heard += 1;
    this.log('info', `The agent's output is no message: ${text.slice(0, 2000)}`);
    if (state.opening !== 'initialize' || line === '') return;
    if (state.printed === '') this.emit(junkWhileOpening(text, 'ACP'));
    state.printed = line;
  }
  request(call: string, method: string, params: object): void {
    this.do({ do: 'request', link: LINK, call, method, params });
  }
  /** A request about the session. */
  ofSession(call: string, method: string, params: object): void {
    this.request(call, method, { sessionId: this.state.sessionId, ...params });
  }

  // --- handshake

  greeted(newest: 1 | 2, result: unknown, error: Failure | undefined): void {
    const { state } = this;
    // An agent may refuse a version it does not speak instead of naming its own.
    if (error?.code === UNSUPPORTED_VERSION && newest === 2) return this.sayHello(1);
    this.timer('initialize', null);
    if (error) return error.kind === 'refused' ? this.failed(faultOf(error).message) : undefined;
    const agent = readHello(result, newest, state.setup.newest);
    if (typeof agent === 'string') return this.failed(agent);
    // Only now is it known which variables, entered in an earlier window, this agent wants.
    const names = state.agent === null ? variablesIn(agent.authMethods) : [];
    state.agent = agent;
    if (names.length === 0) return this.helloDone();
    state.opening = 'keys';
    this.port(null, 'keys', 'secret', { do: 'load', names });
  }
  /** The process can be talked to. */
  helloDone(): void {
    const { state } = this;
    state.opening = null;
    if (state.after === 'open') return this.openSession(state.setup.resume);
    this.goLive();
    this.announce();
    if (state.after === 'prompt') this.sendPrompt();
  }
  announce(): void {
    const { agent } = this.state;
    if (!agent) return;
    const name = agent.title ?? agent.name ?? 'ACP';
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'acp', name, ...(agent.version === null ? {} : { version: agent.version }) },
      offers: offersOf(this.state, agent),
    });
  }

  // --- the session: continued where there is one, else a new one

  openSession(resume: Resume | null): void {
    const { state } = this;
    const { agent, setup } = state;
    if (!agent) return;
    state.resuming = resume;
    const { httpTools, processTools } = agent.can;
    const how = httpTools ? 'http' : processTools && !agent.quirks.noProcessTools ? 'process' : undefined;
    if (state.servers !== null || setup.tools.length === 0 || !how) return this.resumeSession();
    state.opening = 'tools';
    this.port(null, 'tools', 'server', { do: 'offer', how, version: agent.protocol });
  }
  resumeSession(): void {
    const { state } = this;
    const { resuming, agent } = state;
    if (!resuming || !agent) return this.newSession();
    if (!agent.can.load && !agent.can.resume) {
      this.cannotTakeUp();
      return this.newSession();
    }
    const startedBy = state.startedAt ?? (resuming.history ? this.now : null);
    if (agent.quirks.loadErasesYoung && startedBy !== null) {
      const left = minuteLeft(startedBy, this.now);
      if (left > 0) {
        const seconds = Math.ceil(left / 1000);
        this.log('info', 'The agent loses a conversation that is loaded in the minute in which it began');
        this.emit({ type: 'link.opening', note: `${t('Loading an earlier conversation')} (${seconds} s)` });
        state.startedAt = startedBy;
        state.opening = 'minute';
        return this.timer('minute', left);
      }
    }
    this.loadSession();
  }
  /** Goes on when the minute has passed, or the clock jumped. */
  minuteOver(): void {
    const left = minuteLeft(this.state.startedAt ?? 0, this.now);
    if (left > 0 && left <= MINUTE) return this.timer('minute', left);
    this.loadSession();
  }
  loadSession(): void {
    const { state } = this;
    const { resuming, agent } = state;
    if (!resuming || !agent) return;
    const { method, more, replays } = this.codec.resume(resuming.key, resuming.history, agent.can);
    if (replays) state.sense = resuming.history ? 'record' : 'known';
    this.hear(resuming.key);
    this.askForSession(method, more);
  }
  newSession(): void {
    this.state.resuming = null;
    this.goLive();
    this.askForSession('session/new', {});
  }
  askForSession(method: string, more: object): void {
    const { state } = this;
    state.opening = 'session';
    state.heardBefore = state.heard;
    this.timer('session', this.limits.answer);
    this.request('session', method, { ...foldersOf(state), mcpServers: state.servers ?? [], ...more });
  }
  sessionAnswered(result: unknown, error: Failure | undefined): void {
    const { state } = this;
    this.timer('session', null);
    if (error) return this.sessionFailed(error);
    const answer = this.codec.sessionAnswer.safeParse(result ?? {});
    const method = state.resuming ? 'session/load' : 'session/new';
    if (!answer.success) return this.openingFailed({ kind: 'lost', message: misfit(method, answer.error) });
    const id = state.resuming?.key ?? answer.data.sessionId;
    if (!id) return this.openingFailed({ kind: 'lost', message: 'The agent named no session.' });
    if (state.sessionId !== id) this.emit({ type: 'resume.set', key: id });
    state.sessionId = id;
    state.renewed = false;
    if (state.turn?.prompt?.step !== 'reopening') {
      takeSettings(state.settings, answer.data);
      this.emitAll(settingEvents(state.settings));
      if (answer.data.availableCommands) this.emit(commandsSet(answer.data.availableCommands));
    }
    this.hear(id);
    if (state.sense === 'live') return this.sessionOpened();
    // The record may come behind the answer.
    state.opening = 'record';
    this.timer('quiet', this.limits.record);
  }
  sessionFailed(error: Failure): void {
    const { state } = this;
    const { resuming, setup } = state;
    if (error.code === AUTH_REQUIRED && !state.signedIn) return this.startSignIn(error);
    if (!resuming || error.kind !== 'refused' || error.code === AUTH_REQUIRED) return this.openingFailed(error);
    const why = faultOf(error).message;
    // Agents keep no record of a conversation in which nothing was said.
    const nothingSaid = !resuming.history && setup.startedAt === null && state.startedAt === null;
    if (!nothingSaid) this.cannotTakeUp(why);
    this.newSession();
  }
  /** The session could not be opened: a prompt that waits for it fails, and without one the agent cannot be used. */
  openingFailed(error: Failure): void {
    this.state.opening = null;
    if (this.state.turn?.prompt?.step === 'reopening') return this.promptFailed(error);
    if (error.kind !== 'unsent') this.failed(faultOf(error).message, error.code === AUTH_REQUIRED ? SIGN_IN_REMEDIES : undefined);
  }
  sessionOpened(): void {
    const { state } = this;
    state.opening = null;
    if (state.turn?.prompt?.step === 'reopening') {
      this.goLive();
      return this.sendPrompt();
    }
    state.signedIn = false;
    state.phase = 'ready';
    this.announce();
  }
  /** The session's id is known: what came before it is taken in now. */
  hear(sessionId: string): void {
    this.state.hears = sessionId;
    for (const { sessionId: of, update } of this.state.early.splice(0)) this.update({ sessionId: of, update });
  }
  /** A long conversation may take its time, as long as something is heard of it. */
  sessionIsLate(): void {
    const { state } = this;
    if (state.heard !== state.heardBefore) {
      state.heardBefore = state.heard;
      return this.timer('session', this.limits.answer);
    }
    const note = t('Silent for {0}', `${this.limits.answer / 1000} s`);
    this.emit({ type: 'link.opening', note, next: ['restart', 'showLog'] });
  }

  // --- sign-in: the user chooses one of the agent's ways, and what needed it is done once more

  startSignIn(error: Failure): void {
    const { state } = this;
    // "Authentication required" adds nothing to the code.
    const words = faultOf(error).message;
    state.signInReason = /^authentication required\.?$/i.test(words) ? null : words;
    const ways = (state.agent?.authMethods ?? []).filter((method) => wayOf(method, state.setup.can) !== undefined);
    if (state.turn?.prompt) state.turn.prompt.step = 'signIn';
    if (ways.length === 0) return this.signInDeclined(t('Sign in with the agent’s own program in a terminal, then restart the agent.'));
    state.signIn = { step: 'choosing' };
    this.ask(signInAsk(this.newId(), ways, state.signInReason), 'signIn');
  }
  wayChosen(answer: Answer): void {
    const { state } = this;
    const method = answer.kind === 'option' ? state.agent?.authMethods.find((one) => one.id === answer.optionId) : undefined;
    const way = method && wayOf(method, state.setup.can);
    if (!method || !way) return this.signInDeclined();
    this.emit({ type: 'link.opening', note: `${t('Sign in')}: ${method.name}`, ...(way === 'agent' ? { stops: true } : {}) });
    switch (way) {
      case 'agent':
        // In a browser perhaps, which may take minutes; the user may stop waiting for it.
        state.signIn = { step: 'agent' };
        return this.request('authenticate', this.codec.authenticate, { methodId: method.id });
      case 'terminal': {
        const login = loginIn(method);
        state.signIn = { step: 'terminal', title: login.title };
        return this.port(null, 'login', 'terminal', { do: 'login', ...login });
      }
      case 'variables':
        state.signIn = { step: 'variables', methodId: method.id };
        this.ask(variablesAsk(this.newId(), method), 'variables');
    }
  }
  /** The way to sign in whose variables are asked for. */
  methodAsked(): AuthMethod | undefined {
    const { signIn, agent } = this.state;
    return signIn?.step === 'variables' ? agent?.authMethods.find((one) => one.id === signIn.methodId) : undefined;
  }
  variablesEntered(answer: Answer): void {
    const values = variablesOf(this.methodAsked(), answer);
    if (!values) return this.signInDeclined();
    this.state.signIn = { step: 'keeping' };
    // The values pass through to the secret storage; the state never holds them.
    this.port(null, 'keep', 'secret', { do: 'keep', values });
  }
  signInReplied(step: string, result: unknown, error: Failure | undefined): void {
    const { state } = this;
    if (state.signIn === null) return;
    if (step === 'authenticate' && error) return this.signInFailed(error);
    if (step === 'authenticate') return this.signInDone('here');
    if (step === 'login' && (error || (result as { readonly code?: unknown } | null)?.code !== 0)) return this.signInDeclined();
    if (step === 'keep') state.keyed = true;
    this.signInDone('restart');
  }
  signInDone(how: 'here' | 'restart'): void {
    const { state } = this;
    const after = state.turn?.prompt?.step === 'signIn' ? 'prompt' : 'open';
    state.signIn = null;
    state.signedIn = true;
    if (how === 'restart') return this.restart(after);
    state.after = after;
    this.helloDone();
  }
  signInDeclined(why = t('The sign-in did not succeed.')): void {
    const { signInReason } = this.state;
    this.signInFailed({ kind: 'lost', message: signInReason === null ? why : `${why} ${signInReason}` });
  }
  signInFailed(error: Failure): void {
    const { state } = this;
    const { message } = faultOf(error);
    state.signIn = null;
    if (state.turn?.prompt?.step !== 'signIn') return this.failed(message, SIGN_IN_REMEDIES);
    // In the middle of a conversation the user can go on with it, whatever became of the sign-in.
    this.announce();
    if (state.turn.phase === 'stopping') this.finishTurn('cancelled');
    else this.finishTurn('failed', { error: { message, next: ['retry', 'signIn', 'showLog'] } });
  }
  stopSignIn(): void {
    if (this.state.signIn?.step !== 'agent') return;
    this.drop('authenticate');
    this.signInDeclined();
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
  /** The answer only says that it was understood; what comes of it comes as news. */
  stopOne(method: string, params: object): void {
    this.ofSession(`stop ${this.newId()}`, method, params);
  }
  set(request: SettingRequest | undefined): void {
    if (!request) return;
    const id = this.newId();
    put(this.state.pendingSettings, id, request);
    this.ofSession(`set ${id}`, request.method, request.params);
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
    if (!agent || state.sessionId === null) return;
    if (state.turn?.by === 'user') return this.enqueue({ turnId, content });
    this.goLive();
    const promptText = content.map((one) => (one.type === 'text' ? one.text : '')).join('\n');
    const prompt: PromptState = { blocks: toBlocks(content, agent.accepts), step: 'sent', worked: false, idle: null };
    this.startTurn(acpTurn(turnId, 'user', promptText, prompt), content);
    state.startedAt ??= this.now;
    state.stopped = false;
    state.signedIn = false;
    this.sendPrompt();
  }
  /** Sends the prompt of the turn; in a new process the session is opened first. */
  sendPrompt(): void {
    const { turn, renewed, sessionId } = this.state;
    if (!turn?.prompt) return;
    if (turn.phase === 'stopping') return this.endPrompt('cancelled');
    if (renewed && sessionId !== null) {
      turn.prompt.step = 'reopening';
      return this.openSession({ key: sessionId, history: false });
    }
    Object.assign(turn.prompt, { step: 'sent', worked: false, idle: null } satisfies Partial<PromptState>);
    this.ofSession('prompt', 'session/prompt', { prompt: turn.prompt.blocks });
  }
  promptAnswered(result: unknown, error: Failure | undefined): void {
    const { turn, signedIn } = this.state;
    if (!turn?.prompt) return;
    if (error) {
      if (error.code === AUTH_REQUIRED && !signedIn && turn.phase !== 'stopping') return this.startSignIn(error);
      return this.promptFailed(error);
    }
    if (!this.codec.promptAnswersAtEnd) {
      turn.prompt.step = 'taken';
      // It may have ended the turn before it says that it took the prompt.
      if (turn.prompt.idle) this.promptIdle(turn.prompt.idle);
      return;
    }
    const answer = promptAnswer.safeParse(result);
    if (!answer.success) return this.promptFailed({ kind: 'lost', message: misfit('session/prompt', answer.error) });
    this.endPrompt(answer.data.stopReason, answer.data.usage);
  }
  promptFailed(error: Failure): void {
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
    const { turn, reading } = this.state;
    if (!turn) return;
    turn.ending = { stopReason, usage: usage ?? null };
    if (keys(reading).length === 0) this.promptOver();
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
      if (this.state.signIn) this.cancelAsks();
      return;
    }
    if (turn.by !== 'user') return this.goLive();
    if (turn.phase === 'stopping') return;
    turn.phase = 'stopping';
    this.do({ do: 'notify', link: LINK, method: 'session/cancel', params: { sessionId: this.state.sessionId } });
    this.timer('stopping', this.limits.stopping);
    this.cancelAsks();
    for (const id of keys(this.state.terminals)) if (find(this.state.terminals, id)?.turnId === turn.id) this.stopCommand(id);
  }

  // --- turns

  finishTurn(status: TurnStatus, end: TurnEnd = {}): void {
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
  /** A prompt is about to be sent: what comes from now on is news. */
  goLive(): void {
    this.settleQuiet(true);
    this.state.sense = 'live';
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
  turnFor(news: Update, isPrompt: boolean): AcpTurn | undefined {
    const { state } = this;
    if (state.sense === 'record') {
      if (state.recorded || !state.turn) this.startRecordTurn();
      return state.turn ?? undefined;
    }
    if (state.turn?.by === 'user') return state.turn;
    if (news.sessionUpdate === 'tool_call_update' && this.isPast(news.toolCallId)) return undefined;
    if (isPrompt) return undefined;
    const turn = state.turn ?? this.startTurn(acpTurn(this.newId(), 'agent', '', null), []);
    this.timer('quiet', state.working ? null : this.limits.background);
    return turn;
  }
  /** Late news of a call whose turn is over begin nothing. */
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

  // --- what the agent says

  update(params: unknown): void {
    const { state } = this;
    const frame = frameOf(params);
    if (!frame) return this.noteStrange('session/update without a session or a kind');
    const { sessionId, update } = frame;
    const isChild = sessionId !== state.hears && find(state.children, sessionId) !== undefined;
    if (sessionId !== state.hears && !isChild) {
      if (state.hears !== null) return this.noteStrange(`session/update of another session ${sessionId}`);
      if (state.early.length < MOST_EARLY) state.early.push(frame);
      return;
    }
    const news = this.codec.readUpdate(update);
    if (!news) return this.noteStrange(`session/update of the kind ${update.sessionUpdate.slice(0, 100)}`);
    if (isChild) this.newsOfChild(sessionId, news);
    else this.news(news);
  }
  news(news: Update): void {
    const { state } = this;
    if (news.sessionUpdate === 'state_update') return this.activity(news);
    if (state.sense !== 'live') this.timer('quiet', this.limits.record);
    const about = subjectOf(news);
    if (state.sense === 'known' && (about !== 'session' || news.sessionUpdate.startsWith('plan'))) return;
    if (about === 'session') {
      // A message of the user without an id ends where something of an answer follows.
      if (state.sense === 'record' && state.recorded?.messageId === null && isOfAnswer(news)) this.startRecordTurn();
      return this.besideTurns(news);
    }
    if (state.sense === 'record' && about === 'prompt') return this.recordPrompt(news);
    const turn = this.turnFor(news, about === 'prompt');
    if (!turn) return;
    if (news.sessionUpdate === 'subagent_update') this.childAnnounced(news, turn);
    else this.inTurn(news, turn, turn.main);
  }
  activity(activity: Activity): void {
    const { state } = this;
    const before = state.working;
    state.working = activity.state === 'running' || activity.state === 'requires_action';
    if (state.sense !== 'live') return;
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
  /** News of the session rather than of a turn. */
  besideTurns(news: Update): void {
    const { turn, settings, plans } = this.state;
    if (news.sessionUpdate === 'terminal') return this.agentTerminal(news);
    if (news.sessionUpdate === 'notice') return this.mention(noticeOf(news));
    // Text behind a plan is a part of its own.
    if (news.sessionUpdate === 'plan' && turn) turn.main.open = null;
    this.emitAll(eventsOf(news, settings, plans));
  }
  inTurn(news: Update, turn: AcpTurn, lane: AcpLane): void {
    switch (news.sessionUpdate) {
      case 'agent_message_chunk':
        return this.chunk(turn, lane, 'text', news.content, news.messageId ?? null);
      case 'agent_thought_chunk':
        return this.chunk(turn, lane, 'thought', news.content, news.messageId ?? null);
      case 'session_message_chunk':
        return this.chunk(turn, lane, 'text', news.content, news.messageId);
      case 'user_message_chunk':
        return this.injected(turn, lane, [news.content], news.messageId ?? null);
      case 'message':
        if (news.kind === 'prompt') return this.injected(turn, lane, news.content ?? [], news.messageId);
        return this.whole(turn, lane, news.kind, news.messageId, news.content);
      case 'session_message':
        return this.whole(turn, lane, 'text', news.messageId, news.content === null ? [] : news.content);
      case 'tool_call':
      case 'tool_call_update':
        this.callNews(turn, lane, news, news.sessionUpdate);
        return;
      case 'compaction_update':
        return this.compaction(turn, lane, news.status, news.error);
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
  say(turn: AcpTurn, lane: AcpLane, kind: 'text' | 'thought', text: string, message: string | null): void {
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
    if (content.type === 'text') this.say(turn, lane, kind, content.text, message);
    else this.addPart(turn, lane, { kind: 'content', content });
  }
  /** Shows a whole message, maybe after pieces of it: its text replaces theirs, other content is shown once. */
  whole(turn: AcpTurn, lane: AcpLane, kind: 'text' | 'thought', message: string, blocks: readonly ContentBlock[] | null | undefined): void {
    if (!blocks) return;
    const contents = blocks.map(toContent);
    const text = contents.map((one) => (one.type === 'text' ? one.text : '')).join('');
    const partId = find(lane.messages, `${kind} ${message}`);
    if (partId !== undefined) this.emit({ type: 'text.set', turnId: turn.id, partId, text });
    else this.say(turn, lane, kind, text, message);
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
    const news = newBlocks(blocks, turn.promptText);
    if (lane.parent !== null) {
      for (const block of news) this.addPart(turn, lane, { kind: 'prompt', content: [toContent(block)] });
      return;
    }
    const message = `injected ${messageId ?? ''}`;
    const key = `text ${message}`;
    // Without a name it is another message as soon as something else was said in between.
    if (messageId === null && lane.open?.message !== message) remove(lane.messages, key);
    for (const block of news) {
      if (find(lane.messages, key) === undefined) this.say(turn, lane, 'text', `*${t('Said in your name by the agent:')}*\n\n`, message);
      this.chunk(turn, lane, 'text', block, message);
    }
  }
  recordPrompt(news: Update): void {
    const { state } = this;
    if (news.sessionUpdate === 'user_message_chunk') this.recordBlock(news.content, recordedMessage(news));
    if (news.sessionUpdate !== 'message') return;
    // A message said whole takes the place of its pieces.
    if (state.recorded?.messageId === news.messageId && news.content) state.recorded.content = [];
    for (const block of news.content ?? []) this.recordBlock(block, news.messageId);
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
  /** Whether a block without an id begins another message of the user. */
  isNextPrompt({ messageId, isNoted, content: all }: RecordedPrompt, content: Content): boolean {
    if (messageId !== null) return false;
    if (isNoted) return true;
    const isWhole = this.state.agent?.quirks.wholePrompts === true;
    return isWhole && content.type === 'text' && all.some((one) => one.type === 'text');
  }

  // --- sub-agents

  childAnnounced(news: ChildNews, turn: AcpTurn): void {
    this.showChild(news.sessionId, noteChild(this.state, news), turn);
  }
  showChild(sessionId: string, child: Child, turn: AcpTurn): void {
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
  laneOfChild(sessionId: string, turn: AcpTurn): AcpLane | undefined {
    const child = find(this.state.children, sessionId);
    if (!child) return undefined;
    if (child.shown?.turnId !== turn.id) this.showChild(sessionId, child, turn);
    return find(turn.lanes, sessionId);
  }
  /** Only what it says and does is shown; plans and settings of its own are its own. */
  newsOfChild(sessionId: string, news: Update): void {
    if (!isOfChild(news) || this.state.sense === 'known') return;
    const turn = this.turnFor(news, false);
    const lane = turn && this.laneOfChild(sessionId, turn);
    if (!turn || !lane) return;
    if (news.sessionUpdate === 'terminal') this.agentTerminal(news);
    else this.inTurn('toolCallId' in news ? ofChild(sessionId, news) : news, turn, lane);
  }

  // --- calls

  /** One upsert for all that is said about calls: updates of either kind, and the call inside a permission request. */
  callNews(turn: AcpTurn, lane: AcpLane, news: WireCall, from: From): AcpCall | undefined {
    const { toolCallId: id } = news;
    const known = find(turn.calls, id);
    if (!known && from === 'tool_call_update' && find(this.state.calls, id)) return undefined;
    const call = known ?? newCall(id);
    if (known && from === 'tool_call' && isAnnouncedAgain(known, news)) startAgain(known);
    mergeCall(call, news, from, stoppedBy(this.state, turn));
    if (from !== 'permission' && news.status != null && call.decision === 'unanswered') call.decision = 'none';
    call.ended = isFinal(call.status);
    if (news.rawInput != null && isEmpty(call.edits))
      mergeEdits(
        call,
        patchItems(call.rawInput, (path) => resolvePath(this.state.setup.cwd, path)),
      );
    if (known) this.tell(turn, call);
    else {
      if (!this.codec.messagesStay) lane.messages = newTable();
      call.told = shown(call);
      put(this.state.calls, id, true);
      this.addCall(turn, lane, call, { inputText: '', ...call.told });
    }
    if (news._meta) for (const one of terminalsIn(news._meta)) this.showTerminal(one);
    this.readEdits(turn, call);
    this.seenTerminals(call);
    // Another question about the same call is a question of its own.
    if (from === 'permission') return call;
    if (!isEmpty(this.state.jobs))
      for (const question of this.questions())
        if (question.turnId === turn.id && question.callId === id)
          this.questionNews(question, call, news, from, stoppedBy(this.state, turn));
    return call;
  }
  tell(turn: AcpTurn, call: AcpCall): void {
    const change = untold(call);
    if (change) this.changeCall(turn, call.id, change);
  }
  /** A terminal that the agent runs itself and only shows. */
  showTerminal(news: TerminalNews): void {
    const { turn } = this.state;
    const { terminal } = news;
    if (turn && terminal.exit) remove(turn.shownTerminals, terminal.id);
    else if (turn) put(turn.shownTerminals, terminal.id, true);
    this.emit({ type: 'terminal.changed', ...news });
  }
  /** Terminals of the agent in version 2, byte by byte: a character may come in two pieces. */
  agentTerminal(news: BytesNews): void {
    const { agentTerminals } = this.state;
    const { terminalId: id } = news;
    this.showTerminal(takeBytes(find(agentTerminals, id) ?? put<AgentTerminal>(agentTerminals, id, { pending: [], stops: false }), news));
  }

  // --- edits: each is compared with its file, which is read meanwhile

  readEdits(turn: AcpTurn, call: AcpCall): void {
    if (isEmpty(call.edits)) return;
    for (const path of keys(call.edits)) {
      const edit = find(call.edits, path);
      if (edit?.state !== 'new') continue;
      edit.state = 'reading';
      edit.reading = ++this.state.readings;
      put(this.state.reading, String(edit.reading), { turnId: turn.id, callId: call.id, path });
      this.port(null, `edit ${edit.reading}`, 'file', { do: 'text', path, roots: rootsOf(this.state) });
    }
  }
  editRead(number: string, result: unknown): void {
    const { state } = this;
    const reading = find(state.reading, number);
    remove(state.reading, number);
    const { turn } = state;
    if (!reading) return;
    // A path whose place is not known is shown as leading outside.
    const { text, outside = false } = (result ?? { outside: true }) as EditedFile;
    const place = (facts: CallFacts, isDone: boolean) => {
      const edit = find(facts.edits, reading.path);
      return edit !== undefined && String(edit.reading) === number && placeEdit(edit, text, outside, isDone);
    };
    const call = turn?.id === reading.turnId ? find(turn.calls, reading.callId) : undefined;
    if (turn && call && place(call, isFinal(call.status))) this.tell(turn, call);
    for (const question of this.questions()) if (place(question.facts, false)) this.showQuestion(question);
    if (Object.keys(state.reading).length === 0) this.promptOver();
  }
  /** The agent wrote through us, so both sides are known for certain. */
  wroteFile(diff: Diff): void {
    let call = this.state.turn && callThatWrote(this.state.turn.calls, diff.path);
    if (!call) {
      const toolCallId = this.newId();
      const locations = [{ path: diff.path }];
      const title = t('Edit {0}', diff.path);
      this.news({ sessionUpdate: 'tool_call', toolCallId, title, kind: 'edit', status: 'completed', locations });
      call = this.state.turn && (find(this.state.turn.calls, toolCallId) ?? null);
    }
    const { turn } = this.state;
    if (!turn || !call) return;
    noteWritten(call, diff);
    this.tell(turn, call);
  }

  // --- requests of the agent

  asked(id: string, method: string, params: unknown): void {
    if (!this.openRequest(id, LINK, { error: { code: INTERNAL, message: 'The session has ended.' } }, true)) return;
    if (method === 'elicitation/create') return this.elicitation(id, params);
    if (method === 'session/request_permission') {
      const parsed = this.codec.permission.safeParse(params);
      return parsed.success ? this.permission(id, parsed.data) : this.no(id, INVALID_PARAMS, badParams(method, parsed.error));
    }
    const { request, refusal } = readEditorRequest(this.codec, method, params);
    if (refusal) return this.no(id, refusal.code, refusal.message);
    if (!this.isKnown(request.sessionId)) return this.no(id, INVALID_PARAMS, `There is no session ${request.sessionId.slice(0, 200)}`);
    if ('content' in request) return this.writeFile(id, request.path, request.content);
    if ('path' in request) return this.readFile(id, { path: request.path, line: request.line ?? null, limit: request.limit ?? null });
    if ('command' in request) return this.createTerminal(id, request);
    return this.aboutTerminal(id, method.slice('terminal/'.length), request.terminalId);
  }
  no(id: string, code: number, message: string, data?: unknown): void {
    this.refuse(LINK, id, code, message, data);
    this.endJob(id);
  }
  yes(id: string, result: unknown): void {
    this.answer(id, result);
    this.endJob(id);
  }
  /** Another write may begin. */
  endJob(id: string): void {
    const job = find(this.state.jobs, id);
    remove(this.state.jobs, id);
    if (job?.is === 'write') this.nextWrite();
  }
  job<J extends Job>(id: string, job: J): J {
    put<Job>(this.state.jobs, id, job);
    return job;
  }
  /** A port that works at a request. Its call begins with what it is for, and ends with the request's id. */
  work(what: string, id: string, port: Port, args: object): void {
    this.port(null, `${what} ${id}`, port, args);
  }
  /** The conversation itself, or one of its sub-agents; before the session is open, any. */
  isKnown(sessionId: string): boolean {
    return this.isOwn(sessionId) || find(this.state.children, sessionId) !== undefined;
  }
  isOwn(sessionId: string): boolean {
    return this.state.sessionId === null || sessionId === this.state.sessionId;
  }
  /** The agent withdraws a request: its asks are closed. Work under way continues and is answered. */
  withdrawn(id: string): void {
    const job = find(this.state.jobs, id);
    if (job?.is === 'permission') return this.closeQuestion(job, CANCELLED_OUTCOME, 'withdrawn');
    for (const ask of Object.values(this.state.asks)) if (ask.requests.includes(id)) this.settleAsk(ask, { kind: 'cancelled' });
  }

  // --- asks

  questions(): readonly Question[] {
    return Object.values(this.state.jobs).filter((job) => job.is === 'permission');
  }
  /** Asks the user before a request is carried out. Rules never answer, because they are about the workspace. */
  mayI(id: string, what: Subject, allow: string): void {
    const { turn } = this.state;
    const place = { kind: 'approval', id: this.newId(), ...(turn ? { turnId: turn.id } : {}) } as const;
    const options: Approval['options'] = [
      { id: 'allow', label: allow, effect: 'allow_always' },
      { id: 'reject', label: t('Reject'), effect: 'reject_once' },
    ];
    this.ask({ ...place, ...what, options, wordless: true, ours: true }, null, id);
  }
  /** A late or doubled answer is dropped. One that does not fit leaves the ask open, with a notice. */
  answered(askId: string, answer: Answer): void {
    const ask = find(this.state.asks, askId);
    if (!ask) return;
    const misfit = answer.kind === 'cancelled' ? undefined : this.misfit(ask, answer);
    if (misfit === undefined) return this.settleAsk(ask, answer);
    const { turn } = this.state;
    this.emit({ type: 'notice', notice: { level: 'warn', text: misfit, ...(turn ? { turnId: turn.id } : {}) } });
  }
  /** Why the answer is none to this ask, in words. */
  misfit({ shown, about, requests: [id = ''] }: OpenAsk, answer: Answer): string | undefined {
    const job = find(this.state.jobs, id);
    const fits =
      job?.is === 'permission'
        ? permissionReply(job.request, answer)
        : job?.is === 'form'
          ? formReply(job.request, answer)
          : about !== 'variables' || answer.kind !== 'fields' || variablesOf(this.methodAsked(), answer);
    if (fits) return undefined;
    const which = job?.is === 'form' ? formMisfit(job.request, answer) : undefined;
    return which ?? t('The answer to "{0}" does not fit what was asked.', shown.title);
  }
  /** Closes the ask and does what the answer says. Cancelled, it allows nothing. */
  settleAsk(ask: OpenAsk, answer: Answer): void {
    const [id = ''] = ask.requests;
    const job = find(this.state.jobs, id);
    const how = answer.kind === 'cancelled' ? 'cancelled' : 'answered';
    if (job?.is === 'permission') return this.closeQuestion(job, permissionReply(job.request, answer) ?? CANCELLED_OUTCOME, how);
    this.closeAsk(ask, how);
    if (ask.about === 'signIn') this.wayChosen(answer);
    else if (ask.about === 'variables') this.variablesEntered(answer);
    else this.decided(id, answer);
  }
  cancelAsks(): void {
    // Questions that wait for files are not shown yet, and never will be.
    for (const question of this.questions()) this.closeQuestion(question, CANCELLED_OUTCOME, 'cancelled');
    for (const ask of Object.values(this.state.asks)) if (find(this.state.asks, ask.id)) this.settleAsk(ask, { kind: 'cancelled' });
  }
  /** The user has decided about a request of the agent. Only what they said is remembered. */
  decided(id: string, answer: Answer): void {
    const job = find(this.state.jobs, id);
    const isSaid = answer.kind !== 'cancelled';
    const isAllowed = answer.kind === 'option' && (answer.optionId === 'allow' || answer.optionId === 'open');
    if ((job?.is === 'read' || job?.is === 'write' || job?.is === 'command') && job.folder !== null) {
      if (isSaid) put(this.foldersFor(job), job.folder, isAllowed);
      return this.folderDecided(id, job, isAllowed);
    }
    switch (job?.is) {
      case 'form':
        return this.yes(id, formReply(job.request, answer) ?? FORM_CANCELLED);
      case 'link':
        return isAllowed ? this.openLink(id, job) : this.yes(id, isSaid ? FORM_DECLINED : FORM_CANCELLED);
      case 'write':
        return this.writeDecided(id, job, isAllowed);
      case 'command':
        return this.commandDecided(id, job, isAllowed);
    }
  }

  // --- permissions

  /** The call inside the request is news about it, whether it was announced or not; the question opens when its edits have been placed. */
  permission(id: string, given: PermissionRequest): void {
    const { state } = this;
    const { turn } = state;
    if (!this.isKnown(given.sessionId) || turn?.phase === 'stopping' || turn?.by === 'record') return this.yes(id, CANCELLED_OUTCOME);
    const child = this.isOwn(given.sessionId) ? undefined : find(state.children, given.sessionId);
    const own = child && turn ? this.laneOfChild(given.sessionId, turn) : undefined;
    const request = own && given.toolCall ? { ...given, toolCall: ofChild(given.sessionId, given.toolCall) } : given;
    const lane = own ?? turn?.main;
    const call = turn && lane && request.toolCall ? this.callNews(turn, lane, request.toolCall, 'permission') : undefined;
    const facts = call && request.toolCall ? askedFacts(call, request.toolCall) : factsOf(request.toolCall);
    const place = { turnId: turn?.id ?? null, callId: call?.id ?? null, asker: child?.title ?? null };
    const question = this.job<Question>(id, newQuestion(id, request, facts, place));
    if (turn && call) {
      call.questions += 1;
      call.decision = call.decision === 'unanswered' ? 'none' : call.decision;
      this.tell(turn, call);
    }
    this.showQuestion(question);
  }
  /** Merges news of a call into a question about it. The user answers only what they see. */
  questionNews(question: Question, call: AcpCall, news: WireCall, from: From, stopped: Stopped): void {
    const before = itemsOf(question.facts);
    mergeAsked(question.facts, call, news, from, stopped);
    // Another edit is not answered by what was shown of the one before, though its file has still to be read.
    if (itemsOf(question.facts) !== before && question.askId !== null && !this.withdrawQuestion(question)) return;
    this.showQuestion(question);
  }
  /** Returns false, and cancels the question, when it has changed too often to be answered. */
  withdrawQuestion(question: Question): boolean {
    const ask = question.askId === null ? undefined : find(this.state.asks, question.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
    question.askId = null;
    question.rounds += 1;
    if (question.rounds <= MOST_CHANGES) return true;
    this.closeQuestion(question, CANCELLED_OUTCOME, 'withdrawn');
    return false;
  }
  /** Shows it as it is now, once all that it shows is known. A question that has become another is withdrawn and put anew. */
  showQuestion(question: Question): void {
    if (Object.values(question.facts.edits).some((edit) => edit.state === 'reading')) return;
    const open = question.askId === null ? undefined : find(this.state.asks, question.askId);
    const built = this.questionAsk(question, open?.id ?? '');
    if (open && isSameAsk(built, open.shown, this.state.setup.cwd)) {
      if (JSON.stringify(built) === JSON.stringify(open.shown)) return;
      // The same request came with more details: the ask keeps its place, and an answer on its way still counts.
      put(this.state.asks, open.id, { ...open, shown: built });
      return this.emit({ type: 'ask.changed', ask: built });
    }
    if (open && !this.withdrawQuestion(question)) return;
    const shown = { ...built, id: this.newId() };
    question.askId = shown.id;
    this.ask(shown, null, question.id);
  }
  questionAsk({ facts, request, turnId, asker, title }: Question, id: string): Ask {
    return permissionAsk(id, facts.title === title ? request : untitled(request), facts, { turnId, asker });
  }
  closeQuestion(question: Question, outcome: Outcome, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    const { state } = this;
    const ask = question.askId === null ? undefined : find(state.asks, question.askId);
    remove(state.jobs, question.id);
    if (ask) this.closeAsk(ask, how);
    this.answer(question.id, outcome);
    const turn = state.turn?.id === question.turnId ? state.turn : null;
    const call = turn && question.callId !== null ? find(turn.calls, question.callId) : undefined;
    const effect = effectOf(question.request, outcome);
    if (turn && call) {
      call.questions -= 1;
      if (effect === 'reject') call.decision = 'refused';
      else if (outcome.outcome.outcome === 'cancelled') call.decision = call.decision === 'refused' ? 'refused' : 'unanswered';
      else if (call.status === 'pending') call.status = turn.phase === 'stopping' ? 'cancelled' : 'running';
      this.tell(turn, call);
    }
    if (!turn || ask?.shown.kind !== 'approval') return;
    if (effect === 'allow') noteAllowed(turn.decided, ask.shown, state.setup.cwd);
    else if (effect === 'reject') noteRefused(turn.decided, ask.shown, call, state.setup.cwd);
  }

  // --- files: outside the session's folders the user is asked first

  readFile(id: string, params: ReadParams): void {
    this.readNow(id, this.job<ReadJob>(id, { is: 'read', params, folder: null }), false);
  }
  readNow(id: string, { params }: ReadJob, allowed: boolean): void {
    this.work('read', id, 'file', { do: 'read', ...params, roots: rootsOf(this.state), allowed });
  }
  readReplied(id: string, job: ReadJob, result: unknown): void {
    const { path } = job.params;
    const read = result as FileRead;
    if ('outside' in read) return this.askFolder(id, job, read.outside, readSubject(path));
    if (read.content !== null) return this.yes(id, { content: read.content });
    if (this.state.agent?.quirks.missingFileIsEmpty) return this.yes(id, { content: '' });
    return this.no(id, NOT_FOUND, `Resource not found: ${path}`, { uri: path });
  }
  /** Asks once a folder whether the agent may read, or run commands, in it. */
  askFolder(id: string, job: FolderJob, folder: string, what: Subject): void {
    job.folder = folder;
    const known = find(this.foldersFor(job), folder);
    if (known !== undefined) return this.folderDecided(id, job, known);
    this.mayI(id, { ...what, title: t('{0} (outside the workspace)', what.title) }, t('Allow in this folder'));
  }
  foldersFor({ is }: FolderJob): Table<boolean> {
    return this.state.folders[is === 'command' ? 'command' : 'read'];
  }
  /** An answer about a folder holds for the session. */
  folderDecided(id: string, job: FolderJob, isAllowed: boolean): void {
    if (job.is === 'read' || job.is === 'write') {
      const { path } = job.is === 'read' ? job.params : job;
      if (!isAllowed) return this.no(id, INTERNAL, `The user did not allow reading outside the workspace: ${path}`);
      if (job.is === 'read') return this.readNow(id, job, true);
      job.folder = null;
      job.mayLook = true;
      return this.lookAtFile(id, job);
    }
    if (isAllowed) return this.startCommand(id, job, true);
    this.no(id, INTERNAL, `The user did not allow commands outside the workspace, in ${job.cwd}`);
  }

  /** One write after the other: agents do not wait for their answers. */
  writeFile(id: string, path: string, content: string): void {
    this.job(id, newWrite(path, content, this.state.turn?.id ?? null));
    this.nextWrite();
  }
  nextWrite(): void {
    const { jobs } = this.state;
    const [id] = keys(jobs).filter((one) => find(jobs, one)?.is === 'write');
    const job = id === undefined ? undefined : find(jobs, id);
    if (id !== undefined && job?.is === 'write' && job.step === 'waiting') this.lookAtFile(id, job);
  }
  lookAtFile(id: string, job: WriteJob): void {
    const decided = this.decidedIn(job.turnId);
    const refused = decided ? keys(decided.refusedPaths) : [];
    job.step = 'looking';
    job.refused = refused.length;
    const allowed = job.mayLook ? { allowed: true } : {};
    this.work('write', id, 'file', { do: 'look', path: job.path, content: job.content, roots: rootsOf(this.state), refused, ...allowed });
  }
  decidedIn(turnId: string | null): Decided | undefined {
    const { turn } = this.state;
    return turn && turn.id === turnId ? turn.decided : undefined;
  }
  writeReplied(id: string, job: WriteJob, result: unknown): void {
    if (job.step === 'writing') {
      const { before, target } = job.look as WriteLook;
      remove(this.state.jobs, id);
      this.answer(id, {});
      this.wroteFile({ path: target, before: before === null ? null : withoutReturns(before), after: withoutReturns(job.text) });
      return this.nextWrite();
    }
    const look = result as FileLook;
    if ('outside' in look) return this.mayLook(id, job, look.outside);
    job.look = look;
    this.mayWrite(id, job, look);
  }
  /** Asks before another server is contacted, for which comparing with the file's present text is enough. */
  mayLook(id: string, job: WriteJob, folder: string): void {
    if (this.stopsWrite(id, job)) return;
    if (this.state.agent?.quirks.mirrorsWrites) return this.yes(id, {});
    job.step = 'asking';
    this.askFolder(id, job, folder, readSubject(job.path));
  }
  mayWrite(id: string, job: WriteJob, look: WriteLook): void {
    const { place, target, same, refusedPath, evident } = look;
    const decided = this.decidedIn(job.turnId);
    const mirrors = this.state.agent?.quirks.mirrorsWrites;
    if (this.stopsWrite(id, job)) return;
    if (decided && keys(decided.refusedPaths).length !== job.refused) return this.lookAtFile(id, job);
    // An agent that writes by itself only mirrors here; what the editor holds unsaved has to learn of it.
    if (same || (mirrors && place !== 'inside')) return this.yes(id, {});
    const wasShown = evident && wasAllowed(decided, target, job.content);
    if (refusedPath === null && (place === 'inside' || wasShown)) return this.mergeWrite(id, job, look);
    job.step = 'asking';
    this.mayI(id, writeSubject(look, job.content), t('Allow'));
  }
  /** Such an agent mirrors what it has written already; others are refused after a stop. */
  stopsWrite(id: string, job: WriteJob): boolean {
    if (!this.isStopped() || this.state.agent?.quirks.mirrorsWrites) return false;
    this.no(id, INTERNAL, `The user has stopped this: ${job.look?.target ?? job.path} was not written.`);
    return true;
  }
  isStopped(): boolean {
    const { turn, stopped } = this.state;
    return turn?.by === 'user' ? turn.phase === 'stopping' : stopped;
  }
  writeDecided(id: string, job: WriteJob, isAllowed: boolean): void {
    const { look } = job;
    if (!look) return;
    if (job.step === 'merging') {
      if (isAllowed) return this.writeNow(id, job, withoutMark(job));
      return this.no(id, INTERNAL, `The user has changed ${look.target} meanwhile and kept that. Read it again.`);
    }
    const decided = this.decidedIn(job.turnId);
    if (!isAllowed) {
      if (decided) put(decided.refusedWrites, look.target, true);
      return this.no(id, INTERNAL, `The user did not allow writing ${job.path}`);
    }
    if (decided && look.refusedPath !== null) {
      const diffs = [{ path: look.refusedPath, before: look.before, after: job.content }];
      allowDetails(decided, [{ type: 'edit', diffs }], look.target);
    }
    this.mergeWrite(id, job, look);
  }
  /**
   * The agent sends the whole file as it wants it. Changes that the user has made since the agent read it stay; where both changed the same lines, the
   * user decides.
   */
  mergeWrite(id: string, job: WriteJob, look: WriteLook): void {
    if (look.merged !== null) return this.writeNow(id, job, look.merged);
    job.step = 'merging';
    this.mayI(id, mergeSubject(look, job.content), t('Allow'));
  }
  writeNow(id: string, job: WriteJob, text: string): void {
    if (!job.look || this.stopsWrite(id, job)) return;
    job.step = 'writing';
    job.text = text;
    const { target, real, before } = job.look;
    this.work('write', id, 'file', { do: 'write', path: target, real, text, from: before, content: withoutMark(job) });
  }

  // --- commands: what a terminal has printed stays in the session after it was released

  createTerminal(id: string, request: TerminalRequest): void {
    this.startCommand(id, this.job(id, newCommand(request, this.state)), false);
  }
  /** Asks about each objection to the command, one after the other, and then runs it. `allowed`: also outside the session's folders. */
  startCommand(id: string, job: CommandJob, allowed: boolean): void {
    if (this.isStopped()) return this.no(id, INTERNAL, STOPPED);
    const { line, command, args, env, cwd, limit } = job;
    const against = this.against(job);
    job.folder = null;
    if (against) {
      return this.mayI(id, commandSubject(againstTitle(against), line, cwd), t('Allow'));
    }
    const roots = rootsOf(this.state);
    this.work('command', id, 'terminal', { do: 'create', id: this.newId(), command, args, env, cwd, limit, roots, allowed });
  }
  commandReplied(id: string, job: CommandJob, result: unknown): void {
    const created = result as Created;
    if ('terminalId' in created) return this.terminalCreated(id, job, created.terminalId);
    this.askFolder(id, job, created.outside, commandSubject(t('Run in terminal'), job.line, created.outside));
  }
  /** Why the user is asked about a command in spite of all rules: it is, or changes, what they have refused in this turn. */
  against(job: CommandJob): Against | undefined {
    const decided = this.decidedIn(job.turnId);
    return decided && refusedFor(job, decided);
  }
  /** An answer about a refused command holds for the turn. */
  commandDecided(id: string, job: CommandJob, isAllowed: boolean): void {
    const { line, cwd } = job;
    if (!isAllowed) return this.no(id, INTERNAL, rejectedAgainst(this.against(job) ?? 'command', line));
    const decided = this.decidedIn(job.turnId);
    if (decided) allowDetails(decided, [{ type: 'command', command: line }], cwd);
    this.startCommand(id, job, false);
  }
  terminalCreated(id: string, job: CommandJob, terminalId: string): void {
    if (this.isStopped()) {
      this.work('release', terminalId, 'terminal', { do: 'release', id: terminalId });
      return this.no(id, INTERNAL, STOPPED);
    }
    const { line, turnId } = job;
    put<Terminal>(this.state.terminals, terminalId, { line, turnId, code: 'running', stopped: false, seen: 'unseen' });
    this.emit({ type: 'terminal.changed', terminal: { id: terminalId, command: line, stops: true } });
    this.work('exit', terminalId, 'terminal', { do: 'watch', id: terminalId });
    this.timer(`show ${terminalId}`, this.limits.unseen);
    this.yes(id, { terminalId });
  }
  aboutTerminal(id: string, verb: string, terminalId: string): void {
    if (find(this.state.terminals, terminalId)) this.work('terminal', id, 'terminal', { do: verb, id: terminalId });
    else this.no(id, NOT_FOUND, `There is no terminal ${terminalId}`);
  }
  commandEnded(terminalId: string, result: unknown): void {
    const terminal = find(this.state.terminals, terminalId);
    if (!terminal) return;
    const { code, signal, rest } = result as { readonly code: number | null; readonly signal: string | null; readonly rest: string };
    const exit = { code, signal, ...(terminal.stopped ? { stopped: true as const } : {}) };
    terminal.code = code;
    this.emit({ type: 'terminal.changed', terminal: { id: terminalId, exit }, ...(rest === '' ? {} : { delta: rest }) });
    this.ownCallEnded(terminal);
  }
  /** Ends a command at the user's wish. False if Parley does not run it. */
  stopCommand(terminalId: string): boolean {
    const terminal = find(this.state.terminals, terminalId);
    if (terminal?.code === 'running') {
      terminal.stopped = true;
      this.state.turn?.stoppedTerminals.push(terminalId);
      this.work('kill', terminalId, 'terminal', { do: 'kill', id: terminalId });
    }
    return terminal !== undefined;
  }
  /** Nothing the agent runs through us goes unseen: what none of its calls shows is shown as a call of our own. */
  showCommand(terminalId: string): void {
    const terminal = find(this.state.terminals, terminalId);
    if (terminal?.seen !== 'unseen') return;
    const toolCallId = this.newId();
    terminal.seen = { callId: toolCallId };
    const content = [{ type: 'terminal' as const, terminalId }];
    this.news({ sessionUpdate: 'tool_call', toolCallId, title: terminal.line, kind: 'execute', status: 'in_progress', content });
    if (terminal.code !== 'running') this.ownCallEnded(terminal);
  }
  ownCallEnded({ seen, code }: Terminal): void {
    const { turn } = this.state;
    if (typeof seen === 'string' || !turn || !find(turn.calls, seen.callId)) return;
    this.news({ sessionUpdate: 'tool_call_update', toolCallId: seen.callId, status: code === 0 ? 'completed' : 'failed' });
  }
  /** Removes our own call for a terminal that a call of the agent shows. */
  seenTerminals(call: AcpCall): void {
    const { turn, terminals } = this.state;
    for (const item of call.content) {
      const terminal = item.type === 'terminal' ? find(terminals, item.terminalId) : undefined;
      if (!terminal || item.type !== 'terminal' || terminal.seen === 'agent') continue;
      const own = terminal.seen === 'unseen' ? undefined : terminal.seen.callId;
      if (own === call.id) continue;
      terminal.seen = 'agent';
      this.timer(`show ${item.terminalId}`, null);
      if (own === undefined || !turn || !find(turn.calls, own)) continue;
      remove(turn.calls, own);
      this.emit({ type: 'parts.removed', turnId: turn.id, partIds: [own] });
    }
  }

  // --- forms and links

  elicitation(id: string, params: unknown): void {
    const { turn, setup } = this.state;
    const { form, link, fault } = readElicitation(params, setup.can.links);
    if (form) {
      const { sessionId } = form;
      if (turn?.phase === 'stopping' || (sessionId != null && !this.isKnown(sessionId))) return this.yes(id, FORM_CANCELLED);
      this.job(id, { is: 'form', request: form });
      this.ask(formAsk(this.newId(), form, turn?.id), null, id);
    } else if (link) {
      this.job(id, { is: 'link', request: link, step: 'looking' });
      this.work('link', id, 'link', { do: 'look', url: link.url });
    } else this.no(id, INVALID_PARAMS, fault);
  }
  linkReplied(id: string, job: Extract<Job, { is: 'link' }>, result: unknown): void {
    const { turn } = this.state;
    if (job.step === 'opening') return this.yes(id, result === true ? LINK_OPENED : FORM_DECLINED);
    const facts = result as LinkFacts | null;
    if (!facts) return this.no(id, INVALID_PARAMS, 'A request of the mode "url" cannot be shown.');
    if (turn?.phase === 'stopping') return this.yes(id, FORM_CANCELLED);
    job.step = 'asking';
    this.ask(linkAsk(this.newId(), job.request, facts, turn?.id), null, id);
  }
  openLink(id: string, job: Extract<Job, { is: 'link' }>): void {
    job.step = 'opening';
    this.work('link', id, 'link', { do: 'open', url: job.request.url });
  }

  // --- replies and timers

  reply(call: string, result: unknown, error: Failure | undefined): void {
    const [what, id] = splitName(call);
    const { state } = this;
    // Once the session is left, only its end is waited for.
    if (state.phase === 'left') return what === 'session/close' ? this.close(LINK) : undefined;
    switch (what) {
      case 'initialize':
        return this.greeted(id === '2' ? 2 : 1, result, error);
      case 'keys': {
        const isKnown = Array.isArray(result) && result.length > 0;
        if (!isKnown) return this.helloDone();
        state.keyed = true;
        return this.restart('open');
      }
      case 'tools':
        state.servers = !error && Array.isArray(result) ? (result as object[]) : [];
        state.tools = state.servers.length > 0 ? 'offered' : 'refused';
        if (state.tools === 'offered') this.port(null, 'listed', 'server', { do: 'listed' });
        return state.opening === 'tools' ? this.resumeSession() : undefined;
      case 'listed':
        state.tools = 'taken';
        return state.phase === 'ready' && !state.renewed ? this.announce() : undefined;
      case 'session':
        return this.sessionAnswered(result, error);
      case 'authenticate':
      case 'login':
      case 'keep':
        return this.signInReplied(what, result, error);
      case 'forgotten':
        // The running process still has the key.
        state.keyed = false;
        return this.restart('announce');
      case 'prompt':
        return this.promptAnswered(result, error);
      case 'set':
        return this.settingAnswered(id, result, error);
      case 'stop':
        return error ? this.notice('warn', t('The agent refused: {0}', faultOf(error).message)) : undefined;
      case 'edit':
        return this.editRead(id, result);
      case 'exit':
        return error ? undefined : this.commandEnded(id, result);
      case 'terminal':
        return error ? this.no(id, error.code ?? INTERNAL, error.message) : this.yes(id, result);
      case 'read':
      case 'write':
      case 'command':
      case 'link':
        return this.jobReplied(id, result, error);
    }
  }
  jobReplied(id: string, result: unknown, error: Failure | undefined): void {
    const job = find(this.state.jobs, id);
    if (!job) return;
    if (error) return this.no(id, error.code ?? INTERNAL, error.message);
    switch (job.is) {
      case 'read':
        return this.readReplied(id, job, result);
      case 'write':
        return this.writeReplied(id, job, result);
      case 'command':
        return this.commandReplied(id, job, result);
      case 'link':
        return this.linkReplied(id, job, result);
    }
  }
  elapsed(timer: string): void {
    const [what, id] = splitName(timer);
    const { state } = this;
    switch (what) {
      case 'initialize':
        return this.failed(t('The agent did not answer within {0} s.', this.limits.initialize / 1000));
      case 'session':
        return this.sessionIsLate();
      case 'minute':
        return this.minuteOver();
      case 'quiet':
        return this.settleQuiet();
      case 'stopping':
        return state.turn ? this.notStopping(state.turn) : undefined;
      case 'close':
        return this.close(LINK);
      case 'show':
        return this.showCommand(id);
      case 'set': {
        this.drop(timer);
        const message = t('The agent did not answer within {0} s.', this.limits.answer / 1000);
        return this.settingAnswered(id, undefined, { kind: 'lost', message });
      }
    }
  }
}

export const acpMachine: Machine<AcpState> = machineOf(AcpStep);

// --- what needs no state

/** A file that is there keeps its own mark. */
const withoutMark = ({ content, look }: WriteJob): string => (look?.before === null ? content : content.replace(/^\uFEFF/, ''));
