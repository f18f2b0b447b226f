import { t } from '../../base/l10n.ts';
import type { Ending, Failure } from '../../base/outcomes.ts';
import { resolvePath } from '../../base/paths.ts';
import type { Input, Machine, Port } from '../../conversation/machine.ts';
import { find, keys, type OpenAsk, put, remove, type Table } from '../../conversation/state.ts';
import { machineOf, Step, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import { MOST_ASKS, tooManyAsked } from '../../session/askLimit.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Approval, ApprovalDetail, Ask, Content, Diff, Fault, Notice, Offers, ToolCall } from '../../session/model.ts';
import { junkWhileOpening } from '../junk.ts';
import {
  type Against,
  allowDetails,
  allowedText,
  CANCELLED_OUTCOME,
  type Decided,
  effectOf,
  noteAllowed,
  noteRefused,
  type Outcome,
  permissionAsk,
  permissionReply,
  refusedIn,
} from './approvals.ts';
import {
  type AcpCall,
  askedFacts,
  type CallFacts,
  type From,
  factsOf,
  isAnnouncedAgain,
  isEmpty,
  isFinal,
  isWhole,
  mergeAsked,
  mergeCall,
  mergeEdits,
  NOTHING_STOPPED,
  newCall,
  type Stopped,
  shown,
  startAgain,
  untold,
} from './calls.ts';
import { type Codec, faultOf, hello, isReminder, toBlocks, toContent, unreadable } from './codec.ts';
import { locate, patchItems } from './diffs.ts';
import { decodeBytes } from './draft.ts';
import {
  FORM_CANCELLED,
  type FormReply,
  formAsk,
  formMisfit,
  formReply,
  formRequest,
  type LinkFacts,
  linkAsk,
  linkRequest,
} from './forms.ts';
import {
  type Activity,
  AUTH_REQUIRED,
  anyHello,
  type ContentBlock,
  elicitationRequest,
  INTERNAL,
  INVALID_PARAMS,
  LONGEST_ID,
  METHOD_NOT_FOUND,
  NOT_FOUND,
  type PermissionRequest,
  promptAnswer,
  readRequest,
  terminalName,
  terminalRequest,
  UNSUPPORTED_VERSION,
  type Update,
  type WireCall,
  writeRequest,
} from './schema.ts';
import {
  changeMode,
  commandsSet,
  keyedPlan,
  modeRequest,
  optionRequest,
  planOf,
  type SettingRequest,
  settingDone,
  settingEvents,
  takeSettings,
} from './settings.ts';
import { loginOf, signInAsk, variablesAsk, variablesIn, wayOf } from './signIn.ts';

import {
  type About,
  type AcpLane,
  type AcpState,
  type AcpTurn,
  acpLane,
  acpTurn,
  agentOf,
  type Child,
  type CommandJob,
  codecOf,
  foldersOf,
  type Job,
  type Limits,
  type PromptState,
  type Question,
  type ReadParams,
  type Resume,
  rootsOf,
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
const MINUTE = 60_000;
/** Updates kept for sessions whose id is not known yet. */
const MOST_EARLY = 200;
/** How often a question is put again because the agent says something else of the call meanwhile. */
const MOST_CHANGES = 10;
/** Commands one session may have running at a time, and ended ones kept for an agent that has not released them. */
const MOST_RUNNING = 64;
const MOST_ENDED = 256;
/** To start again asks anew how to sign in. */
const SIGN_IN_REMEDIES: Fault['next'] = ['restart', 'signIn', 'showLog', 'pickAgent'];
const STOPPED = 'The user has stopped this: the command was not run.';
const REJECTED: Readonly<Record<Against, (line: string) => string>> = {
  command: (line) => `The user has rejected this command: ${line}`,
  file: (line) => `The user has rejected a change of a file this command names, and did not allow the command: ${line}`,
};
/** Updates that belong to a turn; the others are about the session. */
const OF_TURN: ReadonlySet<string> = new Set([
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'compaction_update',
  'compaction_summary_chunk',
  'message',
  'session_message',
  'session_message_chunk',
]);

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
    state.greeted = false;
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
      this.emit({ type: 'link.closed', reason, ...(detail ? { detail } : {}), next, at: this.now });
    }
    state.phase = 'over';
  }
  /** Nobody waits for anything any more. */
  letGo(): void {
    this.cancelAsks();
    for (const id of Object.values(this.state.requests).map((one) => one.id)) this.refuse(LINK, id, INTERNAL, 'The session has ended.');
    this.port(null, 'terminals end', 'terminal', { do: 'end' });
    this.port(null, 'tools end', 'server', { do: 'end' });
    for (const timer of ['initialize', 'session', 'quiet', 'silence', 'stopping', 'minute']) this.timer(timer, null);
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
    this.emit({ type: 'link.closed', reason, next, at: this.now });
    this.leave();
  }
  printed(text: string): void {
    const { state } = this;
    state.heard += 1;
    state.junk += 1;
    this.log('info', `The agent's output is no message: ${text.slice(0, 2000)}`);
    if (state.greeted) return;
    if (text.trim() !== '') state.printed = text.trim();
    if (state.junk === 1) this.emit(junkWhileOpening(text, 'ACP'));
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
    const head = anyHello.safeParse(result);
    if (!head.success) return this.failed(unreadable('initialize', head.error));
    const { protocolVersion } = head.data;
    if (protocolVersion !== 1 && !(protocolVersion === 2 && newest === 2)) {
      const { newest: ours } = state.setup;
      return this.failed(t('The agent speaks version {0} of the protocol; this client speaks version {1}.', protocolVersion, ours));
    }
    const answer = codecOf({ protocol: protocolVersion }).hello.safeParse(result);
    if (!answer.success) return this.failed(unreadable('initialize', answer.error));
    const isFirst = state.agent === null;
    state.greeted = true;
    state.agent = agentOf(answer.data, protocolVersion);
    // What was entered for this agent in an earlier window is only known to be wanted now.
    const names = isFirst ? variablesIn(state.agent.authMethods) : [];
    if (names.length === 0) return this.helloDone();
    state.opening = 'keys';
    this.port(null, 'keys', 'secret', { do: 'load', names });
  }
  /** The process can be talked to. */
  helloDone(): void {
    const { state } = this;
    switch (state.after) {
      case 'open':
        return this.openSession(state.setup.resume);
      case 'announce':
        state.opening = null;
        return this.announce();
      case 'prompt':
        state.opening = null;
        this.goLive();
        this.announce();
        return this.sendPrompt();
    }
  }
  announce(): void {
    const { agent, setup, tools, keyed } = this.state;
    if (!agent) return;
    const { accepts, can } = agent;
    const offers: Offers = {
      ...(accepts.image ? { images: true } : {}),
      ...(can.list ? { history: true } : {}),
      ...(can.delete ? { forget: true } : {}),
      ...(can.fork ? { fork: true } : {}),
      ...(can.logout || keyed ? { signOut: true } : {}),
      ...(tools === 'taken' ? { tools: { accepted: setup.tools, rejected: [] } } : {}),
      ...(tools === 'refused'
        ? {
            tools: {
              accepted: [],
              rejected: setup.tools.map((name) => ({ name, reason: t('The agent takes no tools from the editor.') })),
            },
          }
        : {}),
    };
    const name = agent.title ?? agent.name ?? 'ACP';
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'acp', name, ...(agent.version === null ? {} : { version: agent.version }) },
      offers,
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
      this.warn(t('The agent cannot take up this conversation, so it remembers nothing of it. {0}', '').trim());
      return this.newSession();
    }
    const startedBy = state.startedAt ?? (resuming.history ? this.now : null);
    if (agent.quirks.loadErasesYoung && startedBy !== null) {
      const left = minuteAfter(startedBy) - this.now;
      if (left > 0) {
        const seconds = Math.ceil(left / 1000);
        this.warn(
          t('This agent would lose a conversation that is taken up in the minute it was begun in. It is taken up in {0} s.', seconds),
        );
        state.startedAt = startedBy;
        state.opening = 'minute';
        return this.timer('minute', left);
      }
    }
    this.loadSession();
  }
  /** The minute is over, unless the clock jumped. */
  minuteOver(): void {
    const left = minuteAfter(this.state.startedAt ?? 0) - this.now;
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
    if (!answer.success) return this.openingFailed({ kind: 'lost', message: unreadable(method, answer.error) });
    const id = state.resuming?.key ?? answer.data.sessionId;
    if (!id) return this.openingFailed({ kind: 'lost', message: 'The agent named no session.' });
    state.opened = { ...answer.data, sessionId: id };
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
    if (!nothingSaid) this.warn(t('The agent cannot take up this conversation, so it remembers nothing of it. {0}', why));
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
    const answer = state.opened;
    const id = answer?.sessionId;
    if (!answer || !id) return;
    state.opened = null;
    state.opening = null;
    state.renewed = false;
    const isNew = state.sessionId !== id;
    state.sessionId = id;
    if (isNew) this.emit({ type: 'resume.set', key: id });
    if (state.turn?.prompt?.step === 'reopening') {
      this.hear(id);
      this.goLive();
      return this.sendPrompt();
    }
    takeSettings(state.settings, answer);
    for (const event of settingEvents(state.settings)) this.emit(event);
    if (answer.availableCommands) this.emit(commandsSet(answer.availableCommands));
    this.hear(id);
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
    const note = t('Nothing heard from the agent for {0} s', this.limits.answer / 1000);
    this.emit({ type: 'link.opening', note, next: ['restart', 'showLog'] });
  }

  // --- sign-in: the user chooses one of the agent's ways, and what needed it is done once more

  startSignIn(error: Failure): void {
    const { state } = this;
    // "Authentication required" says no more than its code.
    const words = faultOf(error).message;
    state.signInReason = /^authentication required\.?$/i.test(words) ? null : words;
    const ways = (state.agent?.authMethods ?? []).filter((method) => wayOf(method, state.setup.can) !== undefined);
    if (state.turn?.prompt) state.turn.prompt.step = 'signIn';
    if (ways.length === 0)
      return this.signInDeclined(t('The agent wants you to sign in. Set it up with its own program first, then start it again.'));
    state.signIn = { step: 'choosing' };
    this.askUser(signInAsk(this.newId(), ways, state.signInReason), { is: 'signIn' });
  }
  wayChosen(answer: Answer): void {
    const { state } = this;
    const method = answer.kind === 'option' ? state.agent?.authMethods.find((one) => one.id === answer.optionId) : undefined;
    const way = method && wayOf(method, state.setup.can);
    if (!method || !way) return this.signInDeclined(t('The sign-in did not succeed.'));
    this.emit({ type: 'link.opening', note: t('Signing in: {0}', method.name), ...(way === 'agent' ? { stops: true } : {}) });
    switch (way) {
      case 'agent':
        // In a browser perhaps, which may take minutes; the user may stop waiting for it.
        state.signIn = { step: 'agent' };
        return this.request('authenticate', this.codec.authenticate, { methodId: method.id });
      case 'terminal': {
        const login = loginOf(method);
        const title = login?.label || method.name;
        state.signIn = { step: 'terminal', title };
        return this.port(null, 'login', 'terminal', {
          do: 'login',
          title,
          login: login ?? null,
          args: method.args ?? [],
          env: method.env ?? {},
        });
      }
      case 'variables':
        state.signIn = { step: 'variables', methodId: method.id };
        return this.askUser(variablesAsk(this.newId(), method), { is: 'variables' });
    }
  }
  /** False when the values do not fit. */
  variablesEntered(answer: Answer): boolean {
    const { state } = this;
    const { signIn } = state;
    const method = signIn?.step === 'variables' ? state.agent?.authMethods.find((one) => one.id === signIn.methodId) : undefined;
    if (answer.kind !== 'fields' || !method) {
      this.signInDeclined(t('The sign-in did not succeed.'));
      return true;
    }
    const vars = method.vars ?? [];
    const given = vars.flatMap(({ name }) => {
      const value = answer.values[name]?.[0]?.trim();
      return value ? [[name, value] as const] : [];
    });
    if (vars.some((one) => !one.optional && !given.some(([name]) => name === one.name))) return false;
    state.signIn = { step: 'keeping' };
    // The values pass through to the secret storage; the state never holds them.
    this.port(null, 'keep', 'secret', { do: 'keep', values: Object.fromEntries(given) });
    return true;
  }
  signInReplied(step: string, result: unknown, error: Failure | undefined): void {
    const { state } = this;
    if (state.signIn === null) return;
    if (step === 'authenticate' && error) return this.signInFailed(error);
    if (step === 'authenticate') return this.signInDone('here');
    if (step === 'login' && (error || (result as { readonly code?: unknown } | null)?.code !== 0))
      return this.signInDeclined(t('The sign-in did not succeed.'));
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
  signInDeclined(why: string): void {
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
    this.do({ do: 'drop', call: 'authenticate' });
    this.signInDeclined(t('The sign-in did not succeed.'));
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
      const why = error ? faultOf(error).message : unreadable(request.method, answer?.error ?? { issues: [] });
      return this.warn(t('The agent did not take the setting: {0}', why), { passing: true });
    }
    if (answer.data.configOptions) settings.config = answer.data.configOptions;
    const events = answer.data.configOptions ? settingEvents(settings) : settingDone(settings, request.done);
    for (const event of events) this.emit(event);
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
    this.timer('silence', this.limits.look);
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
    if (!answer.success) return this.promptFailed({ kind: 'lost', message: unreadable('session/prompt', answer.error) });
    this.endPrompt(answer.data.stopReason, answer.data.usage);
  }
  promptFailed(error: Failure): void {
    const { turn } = this.state;
    // A process that is gone says so itself, with its reasons.
    if (!turn?.prompt || error.kind === 'unsent') return;
    if (turn.phase === 'stopping') this.finishTurn('cancelled');
    else this.finishTurn('failed', { error: faultOf(error) });
  }
  /** Where a prompt is answered at once, the agent is idle after it has worked. What it says again of earlier work is no end. */
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
    const { status, ...how } = stopOf(ending.stopReason);
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
    this.cancelAsks();
    for (const id of keys(this.state.terminals)) if (find(this.state.terminals, id)?.turnId === turn.id) this.stopCommand(id);
    this.timer('stopping', this.limits.stopping);
  }
  isSilent(): void {
    const { turn, heard, asks } = this.state;
    if (turn?.by !== 'user') return;
    this.timer('silence', this.limits.look);
    const isHeard = heard !== turn.heardBefore || Object.keys(asks).length > 0;
    turn.heardBefore = heard;
    turn.silent = isHeard ? 0 : turn.silent + this.limits.look;
    if (turn.silent < this.limits.silence) this.clearActivity(turn);
    else this.showActivity(turn, t('Nothing heard from the agent for {0} s', Math.floor(turn.silent / 1000)));
  }
  doesNotStop(): void {
    const { turn } = this.state;
    if (!turn) return;
    this.emit({ type: 'notice', notice: { level: 'warn', text: t('The agent does not stop.'), next: ['restart'], turnId: turn.id } });
  }

  // --- turns

  /** What became of calls without a last word is not known when the turn ended well; what was asked about and never allowed was not done. */
  finishTurn(status: TurnStatus, end: TurnEnd = {}): void {
    const { state } = this;
    const { turn } = state;
    if (!turn) return;
    if (turn.by === 'user') {
      state.stopped = turn.phase === 'stopping';
      this.timer('silence', null);
      this.timer('stopping', null);
      this.cancelAsks();
    }
    // Some agents say nothing more of a command that was stopped.
    if (status === 'cancelled')
      for (const id of keys(turn.shownTerminals))
        this.emit({ type: 'terminal.changed', terminal: { id, exit: { code: null, signal: null, stopped: true } } });
    for (const call of Object.values(turn.calls)) {
      put(state.past, call.id, true);
      if (status === 'done' && call.decision === 'none' && call.questions === 0 && !isFinal(call.status))
        this.changeCall(turn, call.id, { status: 'ended' });
    }
    this.endTurn(status, end);
    // What it has not asked for in a whole turn, its model does not know.
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
  /** It has been quiet: what is not a turn of the user is over. */
  settleQuiet(now = false): void {
    const { state } = this;
    this.timer('quiet', null);
    if (state.recorded) this.startRecordTurn();
    const { turn } = state;
    if (turn && turn.by !== 'user') {
      // What is asked in it keeps it open: nobody could answer otherwise.
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
    if (news.sessionUpdate === 'tool_call_update' && find(state.past, news.toolCallId)) return undefined;
    if (isPrompt) return undefined;
    const turn = state.turn ?? this.startTurn(acpTurn(this.newId(), 'agent', '', null), []);
    this.timer('quiet', state.working ? null : this.limits.background);
    return turn;
  }
  startRecordTurn(): void {
    const content = (this.state.recorded?.content ?? []).filter((one) => one.type !== 'text' || !isReminder(one.text));
    this.state.recorded = null;
    this.finishTurn('done');
    this.startTurn(acpTurn(this.newId(), 'record', '', null), content);
  }
  lane(turn: AcpTurn): AcpLane {
    return find(turn.lanes, '') ?? put(turn.lanes, '', acpLane('', null));
  }

  // --- what the agent says

  update(params: unknown): void {
    const { state } = this;
    if (this.quickText(params)) return;
    if (!isFrame(params)) return this.noteStrange('session/update without a session or a kind');
    const { sessionId, update } = params;
    const isChild = sessionId !== state.hears && find(state.children, sessionId) !== undefined;
    if (sessionId !== state.hears && !isChild) {
      if (state.hears !== null) return this.noteStrange(`session/update of another session ${sessionId}`);
      if (state.early.length < MOST_EARLY) state.early.push({ sessionId, update });
      return;
    }
    const news = this.codec.readUpdate(update);
    if (!news) return this.noteStrange(`session/update of the kind ${update.sessionUpdate.slice(0, 100)}`);
    if (isChild) this.newsOfChild(sessionId, news);
    else this.news(news);
  }
  /** The short cut for text in a running turn, which is nearly all that ever comes: it is checked by hand. */
  quickText(params: unknown): boolean {
    const { turn, sense, hears } = this.state;
    if (turn?.by !== 'user' || sense !== 'live' || typeof params !== 'object' || params === null) return false;
    const { sessionId, update } = params as { readonly sessionId?: unknown; readonly update?: TextNews | null };
    if (sessionId !== hears || typeof update !== 'object' || update === null) return false;
    const kind =
      update.sessionUpdate === 'agent_message_chunk' ? 'text' : update.sessionUpdate === 'agent_thought_chunk' ? 'thought' : null;
    if (kind === null) return false;
    const { content, messageId } = update;
    if (typeof content !== 'object' || content === null || content.type !== 'text' || typeof content.text !== 'string') return false;
    this.say(turn, this.lane(turn), kind, content.text, typeof messageId === 'string' ? messageId : null);
    return true;
  }
  news(news: Update): void {
    const { state } = this;
    if (news.sessionUpdate === 'state_update') return this.activity(news);
    if (state.sense !== 'live') this.timer('quiet', this.limits.record);
    const isPrompt = news.sessionUpdate === 'user_message_chunk' || (news.sessionUpdate === 'message' && news.kind === 'prompt');
    const isOfTurn = OF_TURN.has(news.sessionUpdate) || isPrompt || news.sessionUpdate === 'subagent_update';
    if (state.sense === 'known' && (isOfTurn || news.sessionUpdate.startsWith('plan'))) return;
    if (state.sense === 'record' && isPrompt) return this.recordPrompt(news);
    const turn = isOfTurn ? this.turnFor(news, isPrompt) : (state.turn ?? undefined);
    if (isOfTurn && !turn) return;
    if (news.sessionUpdate === 'subagent_update') return this.childAnnounced(news, turn);
    this.decode(news, turn, turn && this.lane(turn));
  }
  activity(activity: Activity): void {
    const { state } = this;
    const before = state.working;
    state.working = activity.state === 'running' || activity.state === 'requires_action';
    if (state.sense !== 'live') return;
    // What it did unasked is over as soon as it says so.
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
  /** An update in its turn and lane; without a turn only what is about the session. */
  decode(news: Update, turn: AcpTurn | undefined, lane: AcpLane | undefined): void {
    if (turn && lane && this.decodeInTurn(news, turn, lane)) return;
    const { state } = this;
    switch (news.sessionUpdate) {
      case 'terminal':
        return this.agentTerminal(news);
      case 'plan':
        if (lane) lane.open = null;
        return this.emit(planOf(state.plans, '', news.entries));
      case 'plan_update':
        return this.emit(keyedPlan(state.plans, news.plan));
      case 'plan_removed':
        return this.emit(planOf(state.plans, news.planId, []));
      case 'available_commands_update':
        return this.emit(commandsSet(news.availableCommands));
      case 'current_mode_update': {
        const id = news.currentModeId ?? news.modeId;
        for (const event of id == null ? [] : changeMode(state.settings, id)) this.emit(event);
        return;
      }
      case 'config_option_update':
        state.settings.config = news.configOptions;
        for (const event of settingEvents(state.settings)) this.emit(event);
        return;
      case 'session_info_update':
        // Absent is unchanged, null clears.
        return news.title === undefined ? undefined : this.emit({ type: 'title.set', title: (news.title ?? '').slice(0, 500) });
      case 'usage_update': {
        const { used, size, cost } = news;
        const usage = {
          ...(used == null || used < 0 ? {} : { used }),
          ...(size == null || size <= 0 ? {} : { size }),
          ...(cost == null ? {} : { cost }),
        };
        return this.emit({ type: 'usage.set', usage });
      }
      case 'notice': {
        const level = news.severity === 'error' ? 'error' : news.severity === 'warning' ? 'warn' : 'info';
        return this.mention({ level, text: [news.title, news.description].filter(Boolean).join('\n') }, turn, lane);
      }
    }
  }
  /** False: it is about the session. */
  decodeInTurn(news: Update, turn: AcpTurn, lane: AcpLane): boolean {
    switch (news.sessionUpdate) {
      case 'agent_message_chunk':
        this.chunk(turn, lane, 'text', news.content, news.messageId ?? null);
        return true;
      case 'agent_thought_chunk':
        this.chunk(turn, lane, 'thought', news.content, news.messageId ?? null);
        return true;
      case 'session_message_chunk':
        this.chunk(turn, lane, 'text', news.content, news.messageId);
        return true;
      case 'user_message_chunk':
        this.injected(turn, lane, [news.content], news.messageId ?? null);
        return true;
      case 'message':
        if (news.kind === 'prompt') this.injected(turn, lane, news.content ?? [], news.messageId);
        else this.whole(turn, lane, news.kind, news.messageId, news.content);
        return true;
      case 'session_message':
        this.whole(turn, lane, 'text', news.messageId, news.content === null ? [] : news.content);
        return true;
      case 'tool_call':
      case 'tool_call_update':
        this.callNews(turn, lane, news, news.sessionUpdate);
        return true;
      case 'compaction_update':
        this.compaction(turn, lane, news.status, news.error);
        return true;
      case 'compaction_summary_chunk':
        this.emit({ type: 'turn.activity', turnId: turn.id, text: t('Compacting the conversation') });
        return true;
      default:
        return false;
    }
  }
  compaction(turn: AcpTurn, lane: AcpLane, status: string | null | undefined, error: unknown): void {
    const isOver = status === 'completed' || status === 'failed' || status === 'cancelled';
    this.emit({ type: 'turn.activity', turnId: turn.id, text: isOver ? null : t('Compacting the conversation') });
    if (status === 'completed') this.mention({ level: 'info', text: t('The conversation was compacted.') }, turn, lane);
    if (status !== 'failed') return;
    const why = typeof error === 'string' ? error.slice(0, 500) : '?';
    this.mention({ level: 'warn', text: t('Compacting the conversation failed: {0}', why) }, turn, lane);
  }
  /** What the agent mentions stands in the turn it belongs to; outside of turns it goes with what the user says next. */
  mention(notice: Notice, turn: AcpTurn | undefined, lane: AcpLane | undefined): void {
    if (turn && lane) this.addPart(turn, lane, { kind: 'notice', notice });
    else this.emit({ type: 'notice', notice: { ...notice, passing: true } });
  }

  // --- messages, piece by piece or whole

  /** One piece of text. A message with an id goes on in its part, also after others. */
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
  /** A message said whole, maybe after pieces of it: its text stands where it stood, other content is shown once. */
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
   * What an agent says in the user's name while a turn runs. An echo of the prompt is there already, and reminders to itself concern nobody; the
   * rest the user did not say, so it is shown as the agent's. The task of a sub-agent stands as it is: that is shown as a task.
   */
  injected(turn: AcpTurn, lane: AcpLane, blocks: readonly ContentBlock[], messageId: string | null): void {
    if (turn.by !== 'user') return;
    const news = blocks.filter((block) => {
      const content = toContent(block);
      return content.type !== 'text' || !(turn.promptText.includes(content.text.trim()) || isReminder(content.text));
    });
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
    if (news.sessionUpdate === 'user_message_chunk') this.recordBlock(news.content, news.messageId ?? null);
    if (news.sessionUpdate !== 'message') return;
    // A message said whole takes the place of its pieces.
    if (state.recorded?.messageId === news.messageId && news.content) state.recorded.content = [];
    for (const block of news.content ?? []) this.recordBlock(block, news.messageId);
  }
  recordBlock(block: ContentBlock, messageId: string | null): void {
    const { state } = this;
    const content = toContent(block);
    if (content.type === 'text' && isReminder(content.text)) return;
    if (state.recorded && state.recorded.messageId !== messageId) this.startRecordTurn();
    state.recorded ??= { messageId, content: [] };
    const { content: all } = state.recorded;
    const last = all.at(-1);
    const isPiece = content.type === 'text' && last?.type === 'text' && (messageId !== null || isSameMessage(last.text, content.text));
    if (isPiece) all[all.length - 1] = { type: 'text', text: last.text + content.text };
    else all.push(content);
  }

  // --- sub-agents

  childAnnounced(news: Extract<Update, { sessionUpdate: 'subagent_update' }>, turn: AcpTurn | undefined): void {
    const { children } = this.state;
    const { sessionId, title, description, state } = news;
    const child = find(children, sessionId) ?? put<Child>(children, sessionId, { title: '', status: 'running', shown: null });
    if (title !== undefined || description != null || child.title === '')
      child.title = title || description || child.title || t('Sub-agent');
    child.status = statusOfChild(state, child.status);
    if (turn) this.showChild(sessionId, child, turn);
  }
  showChild(sessionId: string, child: Child, turn: AcpTurn): void {
    const { title, status } = child;
    if (child.shown?.turnId === turn.id) return this.changeCall(turn, child.shown.callId, { title, status });
    // A turn that is over shows it as it was; in another one it is another call.
    const callId = child.shown ? `${sessionId} in ${turn.id}` : sessionId;
    child.shown = { turnId: turn.id, callId };
    put(turn.lanes, sessionId, acpLane(sessionId, callId));
    const call: ToolCall = { id: callId, name: 'subagent', title, kind: 'other', status, inputText: '', output: [], locations: [] };
    this.addPart(turn, this.lane(turn), { kind: 'call', call }, callId);
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
    const isTerminal = news.sessionUpdate === 'terminal';
    if ((!OF_TURN.has(news.sessionUpdate) && !isTerminal) || this.state.sense === 'known') return;
    const turn = this.turnFor(news, false);
    const lane = turn && this.laneOfChild(sessionId, turn);
    if (turn && lane) this.decode('toolCallId' in news ? ofChild(sessionId, news) : news, turn, lane);
  }

  // --- calls

  /** One upsert for all that is said about calls: updates of either kind, and the call inside a permission request. */
  callNews(turn: AcpTurn, lane: AcpLane, news: WireCall, from: From): AcpCall | undefined {
    const { toolCallId: id } = news;
    const known = find(turn.calls, id);
    if (!known && from === 'tool_call_update' && find(this.state.past, id)) return undefined;
    const call = known ?? newCall(id);
    if (known && from === 'tool_call' && isAnnouncedAgain(known, news)) startAgain(known);
    mergeCall(call, news, from, stoppedIn(turn, this.state.terminals));
    if (from !== 'permission' && news.status != null && call.decision === 'unanswered') call.decision = 'none';
    call.ended = isFinal(call.status);
    if (news.rawInput != null && isEmpty(call.edits))
      mergeEdits(
        call,
        patchItems(call.rawInput, (path) => resolvePath(this.state.setup.cwd, path)),
      );
    if (known) this.tell(turn, call);
    else {
      if (!this.codec.messagesStay) lane.messages = {};
      call.told = shown(call);
      this.addCall(turn, lane, call, { inputText: '', ...call.told });
    }
    if (news._meta) this.displayTerminal(turn, news._meta);
    this.readEdits(turn, call);
    this.seenTerminals(call);
    // Another question about the same call is a question of its own.
    if (from === 'permission') return call;
    if (!isEmpty(this.state.questions))
      for (const question of Object.values(this.state.questions))
        if (question.turnId === turn.id && question.callId === id)
          this.questionNews(question, call, news, from, stoppedIn(turn, this.state.terminals));
    return call;
  }
  tell(turn: AcpTurn, call: AcpCall): void {
    const change = untold(call);
    if (change) this.changeCall(turn, call.id, change);
  }
  /** Terminals that the agent runs itself and only shows: they travel in the meta of calls, output maybe before the announcement. */
  displayTerminal(turn: AcpTurn, meta: Readonly<Record<string, unknown>>): void {
    const info = metaPart(meta, 'terminal_info');
    if (info) {
      const command = typeof info.command === 'string' ? { command: info.command } : {};
      this.emit({ type: 'terminal.changed', terminal: { id: info.terminal_id, ...command } });
    }
    const output = metaPart(meta, 'terminal_output');
    if (output && typeof output.data === 'string')
      this.emit({ type: 'terminal.changed', terminal: { id: output.terminal_id }, delta: output.data });
    const exit = metaPart(meta, 'terminal_exit');
    for (const one of [info, output]) if (one) put(turn.shownTerminals, one.terminal_id, true);
    if (!exit) return;
    remove(turn.shownTerminals, exit.terminal_id);
    const code = typeof exit.exit_code === 'number' ? exit.exit_code : null;
    const signal = typeof exit.signal === 'string' ? exit.signal : null;
    this.emit({ type: 'terminal.changed', terminal: { id: exit.terminal_id, exit: { code, signal } } });
  }
  /** Terminals of the agent in version 2, byte by byte: a character may come in two pieces. */
  agentTerminal({ terminalId: id, command, output, data, stops, exit }: Extract<Update, { sessionUpdate: 'terminal' }>): void {
    const { agentTerminals } = this.state;
    const terminal =
      find(agentTerminals, id) ?? put<{ pending: readonly number[]; stops: boolean }>(agentTerminals, id, { pending: [], stops: false });
    // What is said to be the whole output replaces what came before.
    const { text, pending } = decodeBytes(output === undefined ? terminal.pending : [], output ?? data ?? '', exit !== undefined);
    terminal.pending = pending;
    if (stops) terminal.stops = true;
    if (stops === false || exit) terminal.stops = false;
    const change = {
      id,
      ...(command === undefined ? {} : { command }),
      ...(stops === undefined ? {} : { stops }),
      ...(exit === undefined ? {} : { exit }),
    };
    const shownIn = this.state.turn?.shownTerminals;
    if (shownIn && exit) remove(shownIn, id);
    else if (shownIn) put(shownIn, id, true);
    const reset = output === undefined ? {} : { reset: true as const };
    this.emit({ type: 'terminal.changed', terminal: change, ...(text === '' ? {} : { delta: text }), ...reset });
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
      this.port(null, `edit ${edit.reading}`, 'file', { do: 'text', path });
    }
  }
  /** `result` holds the text, or null for a file that is not there; without it nobody knows. */
  editRead(number: string, result: unknown): void {
    const { state } = this;
    const reading = find(state.reading, number);
    remove(state.reading, number);
    const { turn } = state;
    if (!reading) return;
    const text = (result as { readonly text?: string | null } | undefined)?.text;
    const place = (facts: CallFacts, isDone: boolean) => {
      const edit = find(facts.edits, reading.path);
      if (edit?.state !== 'reading' || String(edit.reading) !== number) return false;
      const found = locate(edit.items, text, isDone);
      if (isWhole(found) || !isWhole(edit.diffs)) edit.diffs = found;
      edit.state = 'placed';
      return true;
    };
    const call = turn?.id === reading.turnId ? find(turn.calls, reading.callId) : undefined;
    if (turn && call && place(call, isFinal(call.status))) this.tell(turn, call);
    for (const question of Object.values(state.questions)) if (place(question.facts, false)) this.showQuestion(question);
    if (Object.keys(state.reading).length === 0) this.promptOver();
  }
  /** The agent wrote through us, so both sides are known for certain. */
  wroteFile(diff: Diff): void {
    let call = this.state.turn && callThatWrote(this.state.turn, diff.path);
    if (!call) {
      const toolCallId = this.newId();
      const locations = [{ path: diff.path }];
      const title = t('Write {0}', diff.path);
      this.ownNews({ sessionUpdate: 'tool_call', toolCallId, title, kind: 'edit', status: 'completed', locations });
      call = this.state.turn && (find(this.state.turn.calls, toolCallId) ?? null);
    }
    const { turn } = this.state;
    if (!turn || !call) return;
    const first = find(call.edits, diff.path)?.diffs;
    const before = first && isWhole(first) && first[0] ? first[0].before : diff.before;
    put(call.edits, diff.path, { items: [], diffs: [{ ...diff, before }], state: 'placed', reading: 0 });
    this.tell(turn, call);
  }
  /** A call of our own, told as the agent itself would tell it. */
  ownNews(news: WireCall & { readonly sessionUpdate: 'tool_call' | 'tool_call_update' }): void {
    this.news(news);
  }

  // --- requests of the agent

  asked(id: string, method: string, params: unknown): void {
    if (!this.openRequest(id, LINK, { error: { code: INTERNAL, message: 'The session has ended.' } }, true)) return;
    switch (method) {
      case 'session/request_permission': {
        const parsed = this.codec.permission.safeParse(params);
        return parsed.success ? this.permission(id, parsed.data) : this.badParams(id, method, parsed.error);
      }
      case 'elicitation/create':
        return this.elicitation(id, params);
      case 'fs/read_text_file':
      case 'fs/write_text_file':
      case 'terminal/create':
      case 'terminal/output':
      case 'terminal/wait_for_exit':
      case 'terminal/kill':
      case 'terminal/release':
        return this.editorAsked(id, method, params);
      default:
        return this.no(id, METHOD_NOT_FOUND, `Unknown method: ${method}`);
    }
  }
  /** Requests for files and terminals; where the editor is not served, nobody knows them. */
  editorAsked(id: string, method: string, params: unknown): void {
    if (!this.codec.servesEditor) return this.no(id, METHOD_NOT_FOUND, 'Files and terminals are not part of this version of the protocol.');
    const schema = EDITOR_REQUESTS[method as keyof typeof EDITOR_REQUESTS];
    const parsed = schema.safeParse(params);
    if (!parsed.success) return this.badParams(id, method, parsed.error);
    const request = parsed.data;
    if (!this.isKnown(request.sessionId)) return this.no(id, INVALID_PARAMS, `There is no session ${request.sessionId.slice(0, 200)}`);
    if ('content' in request) return this.writeFile(id, request.path, request.content);
    if ('path' in request) return this.readFile(id, { path: request.path, line: request.line ?? null, limit: request.limit ?? null });
    if ('command' in request) return this.createTerminal(id, request);
    return this.aboutTerminal(id, method.slice('terminal/'.length), request.terminalId);
  }
  badParams(id: string, method: string, error: Parameters<typeof unreadable>[1]): void {
    const { message = '', path = [] } = (error.issues[0] ?? {}) as { readonly message?: string; readonly path?: readonly PropertyKey[] };
    this.no(id, INVALID_PARAMS, `${method}: ${path.map(String).join('.')} ${message}`.trim());
  }
  no(id: string, code: number, message: string, data?: unknown): void {
    remove(this.state.jobs, id);
    this.refuse(LINK, id, code, message, data);
  }
  yes(id: string, result: unknown): void {
    remove(this.state.jobs, id);
    this.answer(id, result);
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
  /** The agent takes a request back: what is asked for it is closed; what is under way goes on and is answered. */
  withdrawn(id: string): void {
    const question = find(this.state.questions, id);
    if (question) return this.closeQuestion(question, CANCELLED_OUTCOME, 'withdrawn');
    for (const ask of Object.values(this.state.asks)) {
      const about = ask.about as About;
      if ('id' in about && about.id === id) this.cancelAsk(ask);
    }
  }

  // --- asks

  askUser(shown: Ask, about: About): void {
    this.ask(shown, about);
  }
  /** True when nothing more can be asked; the user is told once. */
  isFull(): boolean {
    const { state } = this;
    const waiting = Object.values(state.questions).filter((question) => question.askId === null).length;
    const open = Object.keys(state.asks).length + waiting;
    if (open < MOST_ASKS) {
      if (open === 0) state.saidFull = false;
      return false;
    }
    if (!state.saidFull) this.emit(tooManyAsked());
    state.saidFull = true;
    return true;
  }
  /** An approval of ours; undefined when nothing more can be asked. Rules never answer it: those are about the workspace. */
  askAllowance(about: About, what: Pick<Approval, 'title' | 'toolKind' | 'detail'>, allow: string, reject = t('Reject')): boolean {
    if (this.isFull()) return false;
    const { turn } = this.state;
    this.askUser(
      {
        kind: 'approval',
        id: this.newId(),
        ...(turn ? { turnId: turn.id } : {}),
        ...what,
        options: [
          { id: 'allow', label: allow, effect: 'allow_always' },
          { id: 'reject', label: reject, effect: 'reject_once' },
        ],
        wordless: true,
        ours: true,
      },
      about,
    );
    return true;
  }
  /** A late or doubled answer is dropped. One that does not fit leaves the ask open, and the user is told. */
  answered(askId: string, answer: Answer): void {
    const ask = find(this.state.asks, askId);
    if (!ask) return;
    if (answer.kind === 'cancelled') return this.cancelAsk(ask);
    const misfit = this.takeAnswer(ask, ask.about as About, answer);
    const { turn } = this.state;
    if (misfit !== undefined) this.warn(misfit, turn ? { turnId: turn.id } : {});
  }
  /** What is wrong with an answer that does not fit. */
  takeAnswer(ask: OpenAsk, about: About, answer: Answer): string | undefined {
    switch (about.is) {
      case 'permission': {
        const question = find(this.state.questions, about.id);
        const outcome = question && permissionReply(question.request, answer);
        if (!outcome) return t('The answer to "{0}" does not fit what was asked.', ask.shown.title);
        this.closeQuestion(question, outcome, 'answered');
        return undefined;
      }
      case 'form': {
        const job = find(this.state.jobs, about.id);
        if (job?.is !== 'form') return undefined;
        const reply = formReply(job.request, answer);
        if (!reply) return formMisfit(job.request, answer) ?? t('The answer to "{0}" does not fit what was asked.', ask.shown.title);
        this.closeAsk(ask, 'answered');
        this.yes(about.id, reply);
        return undefined;
      }
      case 'variables':
        if (!this.variablesEnteredAt(ask, answer)) return t('The answer to "{0}" does not fit what was asked.', ask.shown.title);
        return undefined;
      case 'signIn':
        this.closeAsk(ask, 'answered');
        this.wayChosen(answer);
        return undefined;
      default:
        this.closeAsk(ask, 'answered');
        this.allowed(about.is, about.id, answer.kind === 'option' && (answer.optionId === 'allow' || answer.optionId === 'open'), true);
        return undefined;
    }
  }
  /** The ask closes before its values are kept. */
  variablesEnteredAt(ask: OpenAsk, answer: Answer): boolean {
    const before = this.effects.length;
    if (!this.variablesEntered(answer)) return false;
    const after = this.effects.splice(before);
    this.closeAsk(ask, 'answered');
    this.effects.push(...after);
    return true;
  }
  /** Nobody answers it any more: that allows nothing. */
  cancelAsk(ask: OpenAsk): void {
    const about = ask.about as About;
    if (about.is === 'permission') {
      const question = find(this.state.questions, about.id);
      if (question) this.closeQuestion(question, CANCELLED_OUTCOME, 'cancelled');
      return;
    }
    this.closeAsk(ask, 'cancelled');
    if (about.is === 'signIn') this.signInDeclined(t('The sign-in did not succeed.'));
    else if (about.is === 'variables') this.signInDeclined(t('The sign-in did not succeed.'));
    else if (about.is === 'form' || about.is === 'link') this.yes(about.id, FORM_CANCELLED);
    else this.allowed(about.is, about.id, false, false);
  }
  cancelAsks(): void {
    // Questions that are not shown yet wait for files; nobody is asked them any more.
    for (const question of Object.values(this.state.questions)) this.closeQuestion(question, CANCELLED_OUTCOME, 'cancelled');
    for (const ask of Object.values(this.state.asks)) if (find(this.state.asks, ask.id)) this.cancelAsk(ask);
  }
  /** The user has decided about a request of the agent; `said`: in words, not by leaving it. */
  allowed(what: 'link' | 'read' | 'write' | 'merge' | 'command' | 'folder', id: string, isAllowed: boolean, said: boolean): void {
    const job = find(this.state.jobs, id);
    if (!job) return;
    if (job.is === 'link') return this.openLink(id, job, isAllowed);
    if (job.is === 'read') {
      if (said) put(this.state.readFolders, job.folder, isAllowed);
      return isAllowed
        ? this.readAllowed(id, job)
        : this.no(id, INTERNAL, `The user did not allow reading outside the workspace: ${job.params.path}`);
    }
    if (job.is === 'write') return what === 'merge' ? this.mergeDecided(id, job, isAllowed) : this.writeDecided(id, job, isAllowed);
    if (job.is === 'command')
      return what === 'folder' ? this.folderDecided(id, job, isAllowed, said) : this.commandDecided(id, job, isAllowed);
  }

  // --- permissions

  /** The call inside the request is news about it, whether it was announced or not; the question opens when its edits have been placed. */
  permission(id: string, given: PermissionRequest): void {
    const { state } = this;
    const { turn } = state;
    // Before anything is shown of it: a flood costs nothing but its answers.
    if (this.isFull()) return this.yes(id, CANCELLED_OUTCOME);
    const child = this.isOwn(given.sessionId) ? undefined : find(state.children, given.sessionId);
    if ((!this.isOwn(given.sessionId) && !child) || turn?.phase === 'stopping' || turn?.by === 'record')
      return this.yes(id, CANCELLED_OUTCOME);
    const own = child && turn ? this.laneOfChild(given.sessionId, turn) : undefined;
    const request = own && given.toolCall ? { ...given, toolCall: ofChild(given.sessionId, given.toolCall) } : given;
    const lane = own ?? (turn && this.lane(turn));
    const call = turn && lane && request.toolCall ? this.callNews(turn, lane, request.toolCall, 'permission') : undefined;
    const facts = call && request.toolCall ? askedFacts(call, request.toolCall) : factsOf(request.toolCall);
    const question = put<Question>(state.questions, id, {
      requestId: id,
      request,
      lane: lane?.name ?? '',
      turnId: turn?.id ?? null,
      callId: call?.id ?? null,
      asker: child?.title ?? null,
      facts,
      title: facts.title,
      rounds: 0,
      askId: null,
      outside: null,
    });
    if (turn && call) {
      call.questions += 1;
      call.decision = call.decision === 'unanswered' ? 'none' : call.decision;
      this.tell(turn, call);
    }
    this.showQuestion(question);
  }
  /** The agent says more of a call that is asked about. What the user answers is what they see. */
  questionNews(question: Question, call: AcpCall, news: WireCall, from: From, stopped: Stopped): void {
    const before = itemsOf(question.facts);
    mergeAsked(question.facts, call, news, from, stopped);
    // Another edit is not answered by what was shown of the one before, though its file has still to be read.
    if (itemsOf(question.facts) !== before && question.askId !== null && !this.withdrawQuestion(question)) return;
    this.showQuestion(question);
  }
  /** False when it was put too often: nobody can answer what keeps changing. */
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
    if (!built) return;
    if (open && meaningOf(built, this.state.setup.cwd) === meaningOf(open.shown, this.state.setup.cwd)) {
      if (JSON.stringify(built) === JSON.stringify(open.shown)) return;
      // Details of the same request: it stays where it stands, and an answer under way still counts.
      put(this.state.asks, open.id, { ...open, shown: built });
      return this.emit({ type: 'ask.changed', ask: built });
    }
    if (open && !this.withdrawQuestion(question)) return;
    const shown = { ...built, id: this.newId() };
    question.askId = shown.id;
    this.askUser(shown, { is: 'permission', id: question.requestId });
  }
  /** undefined while it is found out whether its edits lead out of the workspace. */
  questionAsk(question: Question, id: string): Ask | undefined {
    const { facts, request, turnId, asker } = question;
    const ask = permissionAsk(id, facts.title === question.title ? request : untitled(request), facts, { turnId, asker });
    if (ask.kind !== 'approval' || ask.detail.type !== 'edit') return ask;
    const roots = rootsOf(this.state);
    const paths = ask.detail.diffs.map((diff) => diff.path).filter((path) => roots.every((root) => !isBelow(root, path)));
    if (paths.length === 0) return ask;
    const key = JSON.stringify(paths);
    if (question.outside?.paths !== key) {
      question.outside = { paths: key, is: null };
      this.work('outside', question.requestId, 'file', { do: 'outside', paths, roots });
    }
    if (question.outside.is === null) return undefined;
    return question.outside.is ? { ...ask, title: t('{0} (outside the workspace)', ask.title) } : ask;
  }
  foundOutside(id: string, result: unknown): void {
    const question = find(this.state.questions, id);
    if (!question?.outside) return;
    // What could not be found out is shown as going outside.
    question.outside.is = result !== false;
    this.showQuestion(question);
  }
  closeQuestion(question: Question, outcome: Outcome, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    const { state } = this;
    const ask = question.askId === null ? undefined : find(state.asks, question.askId);
    remove(state.questions, question.requestId);
    if (ask) this.closeAsk(ask, how);
    this.yes(question.requestId, outcome);
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
    this.job(id, { is: 'read', params, step: 'placing', folder: '' });
    this.work('read', id, 'file', { do: 'place', path: params.path, roots: rootsOf(this.state) });
  }
  readAllowed(id: string, job: Extract<Job, { is: 'read' }>): void {
    job.step = 'reading';
    this.work('read', id, 'file', { do: 'read', ...job.params });
  }
  readReplied(id: string, job: Extract<Job, { is: 'read' }>, result: unknown): void {
    const { path } = job.params;
    if (job.step === 'reading') {
      const { content } = result as { readonly content: string | null };
      if (content !== null) return this.yes(id, { content });
      if (this.state.agent?.quirks.missingFileIsEmpty) return this.yes(id, { content: '' });
      return this.no(id, NOT_FOUND, `Resource not found: ${path}`, { uri: path });
    }
    const { place, exists, folder } = result as { readonly place: string; readonly exists: boolean; readonly folder: string };
    // That a file is missing is told at once: agents look for one name after the other.
    const known = find(this.state.readFolders, folder);
    if (place !== 'outside' || !exists || known) return this.readAllowed(id, job);
    job.folder = folder;
    job.step = 'asking';
    const what = { title: t('Read a file outside the workspace'), toolKind: 'read', detail: { type: 'text', text: path } } as const;
    const isAsked = known !== false && this.askAllowance({ is: 'read', id }, what, t('Allow in this folder'));
    if (!isAsked) this.allowed('read', id, false, false);
  }

  /** One write of a file after the other: agents do not wait for their answers. */
  writeFile(id: string, path: string, content: string): void {
    const turnId = this.state.turn?.id ?? null;
    this.job(id, { is: 'write', path, content, turnId, step: 'waiting', real: null, refused: 0, look: null, text: '' });
    this.nextWrites();
  }
  /** Starts each write that waits for no other: which file it is about is found out first, one after the other. */
  nextWrites(): void {
    let isLooking = false;
    const busy = new Set<string>();
    for (const [key, job] of Object.entries(this.state.jobs)) {
      if (job.is !== 'write') continue;
      if (job.step === 'waiting' && (job.real === null ? !isLooking : !busy.has(job.real))) this.lookAtFile(key.slice(1), job);
      if (job.real === null) isLooking = true;
      else busy.add(job.real);
    }
  }
  lookAtFile(id: string, job: WriteJob): void {
    const decided = this.decidedIn(job.turnId);
    const refused = decided ? keys(decided.refusedPaths) : [];
    job.step = 'looking';
    job.refused = refused.length;
    this.work('write', id, 'file', { do: 'look', path: job.path, content: job.content, roots: rootsOf(this.state), refused });
  }
  decidedIn(turnId: string | null): Decided | undefined {
    const { turn } = this.state;
    return turn && turn.id === turnId ? turn.decided : undefined;
  }
  writeReplied(id: string, job: WriteJob, result: unknown): void {
    if (job.step === 'writing') {
      const { before, target } = job.look as WriteLook;
      this.yes(id, {});
      this.wroteFile({ path: target, before: before === null ? null : plain(before), after: plain(job.text) });
      return this.nextWrites();
    }
    const look = result as WriteLook;
    const isKnown = job.real === look.real;
    job.real = look.real;
    job.look = look;
    // Another write of this file is under way: it is looked at again when that is over.
    if (!isKnown && this.isBusy(id, look.real)) {
      job.step = 'waiting';
      return this.nextWrites();
    }
    this.nextWrites();
    this.mayWrite(id, job, look);
  }
  isBusy(id: string, real: string): boolean {
    for (const [key, job] of Object.entries(this.state.jobs)) {
      if (key === `:${id}`) return false;
      if (job.is === 'write' && job.real === real) return true;
    }
    return false;
  }
  mayWrite(id: string, job: WriteJob, look: WriteLook): void {
    const { place, target, same, refusedPath, looksOutside } = look;
    const decided = this.decidedIn(job.turnId);
    const mirrors = this.state.agent?.quirks.mirrorsWrites;
    if (this.stopsWrite(id, job)) return;
    if (decided && keys(decided.refusedPaths).length !== job.refused) return this.lookAtFile(id, job);
    // An agent that writes by itself only mirrors here; what the editor holds unsaved has to learn of it.
    if (same || (mirrors && place !== 'inside')) return this.writeDone(id, {});
    const text = place === 'outside' && looksOutside ? allowedText(decided, target) : undefined;
    const wasShown = text !== undefined && plain(text) === plain(job.content);
    if (refusedPath === null && (place === 'inside' || wasShown)) return this.mergeWrite(id, job);
    const title =
      refusedPath !== null
        ? t('Write a file whose change you have rejected before')
        : place === 'guarded'
          ? t('Write a file that steers the editor or the version control')
          : t('Write a file outside the workspace');
    const diffs = [{ path: target, before: look.before === null ? null : plain(look.before), after: plain(job.content) }];
    job.step = 'asking';
    const isAsked = this.askAllowance({ is: 'write', id }, { title, toolKind: 'edit', detail: { type: 'edit', diffs } }, t('Allow'));
    if (!isAsked) this.writeDecided(id, job, false);
  }
  /** Such an agent mirrors what it has written already; others are refused after a stop. */
  stopsWrite(id: string, job: WriteJob): boolean {
    if (!this.isStopped() || this.state.agent?.quirks.mirrorsWrites) return false;
    this.writeRefused(id, `The user has stopped this: ${job.look?.target ?? job.path} was not written.`);
    return true;
  }
  isStopped(): boolean {
    const { turn, stopped } = this.state;
    return turn?.by === 'user' ? turn.phase === 'stopping' : stopped;
  }
  writeDone(id: string, result: object): void {
    this.yes(id, result);
    this.nextWrites();
  }
  writeRefused(id: string, why: string, code = INTERNAL): void {
    this.no(id, code, why);
    this.nextWrites();
  }
  writeDecided(id: string, job: WriteJob, isAllowed: boolean): void {
    const { look } = job;
    const decided = this.decidedIn(job.turnId);
    if (!look) return;
    if (!isAllowed) {
      if (decided) put(decided.refusedWrites, look.target, true);
      return this.writeRefused(id, `The user did not allow writing ${job.path}`);
    }
    if (decided && look.refusedPath !== null) {
      const diffs = [{ path: look.refusedPath, before: look.before, after: job.content }];
      allowDetails(decided, [{ type: 'edit', diffs }], look.target);
    }
    this.mergeWrite(id, job);
  }
  /**
   * The agent sends the whole file as it wants it. What the user has changed since the agent saw it stays; where both changed the same lines, the
   * user decides.
   */
  mergeWrite(id: string, job: WriteJob): void {
    const { look } = job;
    if (!look) return;
    if (look.merged !== null) return this.writeNow(id, job, look.merged);
    job.step = 'merging';
    const diffs = [{ path: look.target, before: plain(look.before ?? ''), after: plain(job.content) }];
    const what = {
      title: t('This file was changed where the agent changes it, too'),
      toolKind: 'edit',
      detail: { type: 'edit', diffs },
    } as const;
    if (!this.askAllowance({ is: 'merge', id }, what, t("Take the agent's text"), t('Keep what is there')))
      this.mergeDecided(id, job, false);
  }
  mergeDecided(id: string, job: WriteJob, isAllowed: boolean): void {
    const target = job.look?.target ?? job.path;
    if (isAllowed) this.writeNow(id, job, withoutMark(job));
    else this.writeRefused(id, `The user has changed ${target} meanwhile and kept that. Read it again.`);
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
    const cwd = request.cwd ?? this.state.setup.cwd;
    const args = request.args ?? [];
    this.job(id, {
      is: 'command',
      line: [request.command, ...args].join(' '),
      command: request.command,
      args,
      env: request.env ?? [],
      cwd,
      limit: request.outputByteLimit ?? null,
      turnId: this.state.turn?.id ?? null,
      step: 'placing',
      outside: null,
    });
    this.work('command', id, 'terminal', { do: 'place', cwd, roots: rootsOf(this.state) });
  }
  commandReplied(id: string, job: CommandJob, result: unknown): void {
    if (job.step === 'creating') return this.terminalCreated(id, job, (result as { readonly terminalId: string }).terminalId);
    if (this.isStopped()) return this.no(id, INTERNAL, STOPPED);
    const { outside, folder } = result as { readonly outside: boolean; readonly folder: string };
    job.outside = outside ? folder : null;
    const decided = this.decidedIn(job.turnId);
    const against = decided && refusedIn(job.line, decided);
    if (!against) return this.placeCommand(id, job);
    // What the user has refused is asked about anew, not run by another way.
    const title =
      against === 'command'
        ? t('Run a command you have rejected before')
        : t('Run a command that names a file whose change you have rejected');
    job.step = 'asking';
    const detail: ApprovalDetail = { type: 'command', command: job.line, cwd: job.cwd };
    if (!this.askAllowance({ is: 'command', id }, { title, toolKind: 'execute', detail }, t('Allow'))) this.commandDecided(id, job, false);
  }
  commandDecided(id: string, job: CommandJob, isAllowed: boolean): void {
    const decided = this.decidedIn(job.turnId);
    const against = (decided && refusedIn(job.line, decided)) ?? 'command';
    if (!isAllowed) return this.no(id, INTERNAL, REJECTED[against](job.line));
    if (decided) allowDetails(decided, [{ type: 'command', command: job.line }], job.cwd);
    this.placeCommand(id, job);
  }
  /** A folder outside is asked about once; no answer is none. */
  placeCommand(id: string, job: CommandJob): void {
    const known = job.outside === null ? true : find(this.state.commandFolders, job.outside);
    if (known) return this.runCommand(id, job);
    job.step = 'askingFolder';
    const detail: ApprovalDetail = { type: 'command', command: job.line, cwd: job.outside ?? job.cwd };
    const what = { title: t('Run a command outside the workspace'), toolKind: 'execute', detail } as const;
    if (known === false || !this.askAllowance({ is: 'folder', id }, what, t('Allow in this folder')))
      this.folderDecided(id, job, false, false);
  }
  folderDecided(id: string, job: CommandJob, isAllowed: boolean, said: boolean): void {
    if (said && job.outside !== null) put(this.state.commandFolders, job.outside, isAllowed);
    if (isAllowed) this.runCommand(id, job);
    else this.no(id, INTERNAL, `The user did not allow commands outside the workspace, in ${job.cwd}`);
  }
  runCommand(id: string, job: CommandJob): void {
    const { state } = this;
    if (this.isStopped()) return this.no(id, INTERNAL, STOPPED);
    const running = Object.values(state.terminals).filter((terminal) => terminal.state === 'running').length;
    if (running + state.starting >= MOST_RUNNING) return this.no(id, INTERNAL, `More than ${MOST_RUNNING} commands are running.`);
    state.starting += 1;
    job.step = 'creating';
    const { command, args, env, cwd, limit } = job;
    this.work('command', id, 'terminal', { do: 'create', id: this.newId(), command, args, env, cwd, limit });
  }
  terminalCreated(id: string, job: CommandJob, terminalId: string): void {
    const { state } = this;
    state.starting -= 1;
    if (this.isStopped()) {
      this.work('release', terminalId, 'terminal', { do: 'release', id: terminalId });
      return this.no(id, INTERNAL, STOPPED);
    }
    put<Terminal>(state.terminals, terminalId, {
      line: job.line,
      turnId: job.turnId,
      state: 'running',
      code: 'running',
      stopped: false,
      seen: 'unseen',
    });
    this.emit({ type: 'terminal.changed', terminal: { id: terminalId, command: job.line, stops: true } });
    this.work('exit', terminalId, 'terminal', { do: 'watch', id: terminalId });
    this.timer(`show ${terminalId}`, this.limits.unseen);
    this.yes(id, { terminalId });
  }
  aboutTerminal(id: string, verb: string, terminalId: string): void {
    const terminal = find(this.state.terminals, terminalId);
    if (terminal?.state === 'released' && verb === 'release') return this.yes(id, {});
    if (!terminal || terminal.state === 'released') return this.no(id, NOT_FOUND, `There is no terminal ${terminalId}`);
    if (verb === 'output' || verb === 'wait_for_exit') return this.work('terminal', id, 'terminal', { do: verb, id: terminalId });
    if (verb === 'kill') this.work('kill', terminalId, 'terminal', { do: 'kill', id: terminalId });
    else this.releaseTerminal(terminalId, terminal);
    this.yes(id, {});
  }
  releaseTerminal(terminalId: string, terminal: Terminal): void {
    terminal.state = 'released';
    const at = this.state.endedTerminals.indexOf(terminalId);
    if (at >= 0) this.state.endedTerminals.splice(at, 1);
    this.work('release', terminalId, 'terminal', { do: 'release', id: terminalId });
  }
  commandEnded(terminalId: string, result: unknown): void {
    const { state } = this;
    const terminal = find(state.terminals, terminalId);
    if (!terminal) return;
    const { code, signal, rest } = result as { readonly code: number | null; readonly signal: string | null; readonly rest: string };
    const exit = { code, signal, ...(terminal.stopped ? { stopped: true as const } : {}) };
    terminal.code = code;
    this.emit({ type: 'terminal.changed', terminal: { id: terminalId, exit }, ...(rest === '' ? {} : { delta: rest }) });
    if (terminal.state === 'running') {
      terminal.state = 'ended';
      state.endedTerminals.push(terminalId);
    }
    this.ownCallEnded(terminal);
    const oldest = state.endedTerminals[0];
    const first = oldest === undefined ? undefined : find(state.terminals, oldest);
    if (oldest !== undefined && first && state.endedTerminals.length > MOST_ENDED) this.releaseTerminal(oldest, first);
  }
  /** The user wants this command ended. False: it is none of ours. */
  stopCommand(terminalId: string): boolean {
    const terminal = find(this.state.terminals, terminalId);
    if (!terminal || terminal.state === 'released') return false;
    if (terminal.state === 'running') {
      terminal.stopped = true;
      this.state.turn?.stoppedTerminals.push(terminalId);
      this.work('kill', terminalId, 'terminal', { do: 'kill', id: terminalId });
    }
    return true;
  }
  /** Nothing the agent runs through us goes unseen: what none of its calls shows is shown as a call of our own. */
  showCommand(terminalId: string): void {
    const terminal = find(this.state.terminals, terminalId);
    if (terminal?.seen !== 'unseen') return;
    const toolCallId = this.newId();
    const content = [{ type: 'terminal' as const, terminalId }];
    this.ownNews({ sessionUpdate: 'tool_call', toolCallId, title: terminal.line, kind: 'execute', status: 'in_progress', content });
    const { turn } = this.state;
    if (!turn || !find(turn.calls, toolCallId)) return;
    terminal.seen = { turnId: turn.id, callId: toolCallId };
    if (terminal.state !== 'running') this.ownCallEnded(terminal);
  }
  ownCallEnded({ seen, code }: Terminal): void {
    const { turn } = this.state;
    if (typeof seen === 'string' || turn?.id !== seen.turnId || !find(turn.calls, seen.callId)) return;
    this.ownNews({ sessionUpdate: 'tool_call_update', toolCallId: seen.callId, status: code === 0 ? 'completed' : 'failed' });
  }
  /** What the agent shows itself is not shown twice. */
  seenTerminals(call: AcpCall): void {
    const { turn, terminals } = this.state;
    for (const item of call.content) {
      const terminal = item.type === 'terminal' ? find(terminals, item.terminalId) : undefined;
      if (!terminal || item.type !== 'terminal' || terminal.seen === 'agent') continue;
      const { seen } = terminal;
      if (seen === 'unseen') {
        // Our own call names the terminal before it is noted as its place.
        if (call.title === terminal.line && call.id.startsWith(this.state.seed)) continue;
        this.timer(`show ${item.terminalId}`, null);
        terminal.seen = 'agent';
      } else if (seen.callId !== call.id) {
        terminal.seen = 'agent';
        if (turn?.id !== seen.turnId) continue;
        remove(turn.calls, seen.callId);
        this.emit({ type: 'parts.removed', turnId: turn.id, partIds: [seen.callId] });
      }
    }
  }

  // --- forms and links

  /** Which of them was asked is only looked at here, because the protocol refuses an unknown mode in its own way. */
  elicitation(id: string, params: unknown): void {
    const { turn, setup } = this.state;
    const head = elicitationRequest.safeParse(params);
    if (!head.success) return this.badParams(id, 'elicitation/create', head.error);
    const form = formRequest.safeParse(params);
    if (form.success) {
      const { sessionId } = form.data;
      if (turn?.phase === 'stopping' || (sessionId != null && !this.isKnown(sessionId)) || this.isFull())
        return this.yes(id, FORM_CANCELLED);
      this.job(id, { is: 'form', request: form.data });
      this.askUser(formAsk(this.newId(), form.data, turn?.id), { is: 'form', id });
      return;
    }
    const link = linkRequest.safeParse(params);
    if (!link.success || !setup.can.links) return this.no(id, INVALID_PARAMS, `A request of the mode "${head.data.mode}" cannot be shown.`);
    this.job(id, { is: 'link', request: link.data, step: 'looking' });
    this.work('link', id, 'link', { do: 'look', url: link.data.url });
  }
  linkReplied(id: string, job: Extract<Job, { is: 'link' }>, result: unknown): void {
    const { turn } = this.state;
    if (job.step === 'opening') return this.yes(id, { action: result === true ? 'accept' : 'decline' } satisfies FormReply);
    const facts = result as LinkFacts | null;
    if (!facts) return this.no(id, INVALID_PARAMS, 'A request of the mode "url" cannot be shown.');
    if (turn?.phase === 'stopping' || this.isFull()) return this.yes(id, FORM_CANCELLED);
    job.step = 'asking';
    this.askUser(linkAsk(this.newId(), job.request, facts, turn?.id), { is: 'link', id });
  }
  openLink(id: string, job: Extract<Job, { is: 'link' }>, isAllowed: boolean): void {
    if (!isAllowed) return this.yes(id, { action: 'decline' } satisfies FormReply);
    job.step = 'opening';
    this.work('link', id, 'link', { do: 'open', url: job.request.url });
  }

  // --- replies and timers

  reply(call: string, result: unknown, error: Failure | undefined): void {
    const [what = '', ...rest] = call.split(' ');
    const id = rest.join(' ');
    const { state } = this;
    // Once the session is left, only its end is waited for.
    if (state.phase === 'left') return what === 'session/close' ? this.closeNow() : undefined;
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
        // What runs knows the key as long as it runs.
        state.keyed = false;
        return this.restart('announce');
      case 'prompt':
        return this.promptAnswered(result, error);
      case 'set':
        return this.settingAnswered(id, result, error);
      case 'stop':
        return error ? this.warn(t('The agent did not stop it: {0}', faultOf(error).message), { passing: true }) : undefined;
      case 'edit':
        return this.editRead(id, result);
      case 'outside':
        return this.foundOutside(id, error ? null : result);
      case 'exit':
        return error ? undefined : this.commandEnded(id, result);
      case 'terminal':
        return error ? this.no(id, INTERNAL, error.message) : this.yes(id, result);
      default:
        return this.jobReplied(id, result, error);
    }
  }
  jobReplied(id: string, result: unknown, error: Failure | undefined): void {
    const job = find(this.state.jobs, id);
    if (!job) return;
    if (error) {
      if (job.is === 'command' && job.step === 'creating') this.state.starting -= 1;
      return this.writeRefused(id, error.message, error.code ?? INTERNAL);
    }
    switch (job.is) {
      case 'read':
        return this.readReplied(id, job, result);
      case 'write':
        return this.writeReplied(id, job, result);
      case 'command':
        return this.commandReplied(id, job, result);
      case 'link':
        return this.linkReplied(id, job, result);
      case 'form':
        return;
    }
  }
  elapsed(timer: string): void {
    const [what = '', ...rest] = timer.split(' ');
    const id = rest.join(' ');
    switch (what) {
      case 'initialize':
        return this.failed(t('The agent did not answer within {0} s.', this.limits.initialize / 1000));
      case 'session':
        return this.sessionIsLate();
      case 'minute':
        return this.minuteOver();
      case 'quiet':
        return this.settleQuiet();
      case 'silence':
        return this.isSilent();
      case 'stopping':
        return this.doesNotStop();
      case 'close':
        return this.closeNow();
      case 'show':
        return this.showCommand(id);
      case 'set': {
        this.do({ do: 'drop', call: timer });
        const message = t('The agent did not answer within {0} s.', this.limits.answer / 1000);
        return this.settingAnswered(id, undefined, { kind: 'lost', message });
      }
    }
  }
  closeNow(): void {
    this.timer('close', null);
    this.close(LINK);
  }
  warn(text: string, about: Pick<Notice, 'turnId' | 'passing'> = {}): void {
    this.emit({ type: 'notice', notice: { level: 'warn', text, ...about } });
  }
}

export const acpMachine: Machine<AcpState> = machineOf(AcpStep);

// --- what needs no state

interface TextNews {
  readonly sessionUpdate?: unknown;
  readonly messageId?: unknown;
  readonly content?: { readonly type?: unknown; readonly text?: unknown } | null;
}
interface Frame {
  readonly sessionId: string;
  readonly update: { readonly sessionUpdate: string };
}
const EDITOR_REQUESTS = {
  'fs/read_text_file': readRequest,
  'fs/write_text_file': writeRequest,
  'terminal/create': terminalRequest,
  'terminal/output': terminalName,
  'terminal/wait_for_exit': terminalName,
  'terminal/kill': terminalName,
  'terminal/release': terminalName,
};
type TerminalRequest = Extract<ReturnType<(typeof EDITOR_REQUESTS)['terminal/create']['parse']>, object>;

/** The update itself is checked by its kind. */
function isFrame(params: unknown): params is Frame {
  const { sessionId, update } = (params ?? {}) as { readonly sessionId?: unknown; readonly update?: unknown };
  if (typeof sessionId !== 'string' || sessionId === '' || sessionId.length > LONGEST_ID) return false;
  return typeof update === 'object' && update !== null && 'sessionUpdate' in update && typeof update.sessionUpdate === 'string';
}
function stoppedIn({ phase, stoppedTerminals }: AcpTurn, terminals: Table<Terminal>): Stopped {
  if (phase !== 'stopping' && stoppedTerminals.length === 0) return NOTHING_STOPPED;
  const ended = keys(terminals).filter((id) => find(terminals, id)?.code !== 'running' && !stoppedTerminals.includes(id));
  return { turn: phase === 'stopping', terminals: stoppedTerminals, ended };
}
/** Without an id only blanks between two texts tell that they are one message: agents record whole messages, and break streams at words. */
const isSameMessage = (before: string, next: string): boolean => /\s$/.test(before) || /^\s/.test(next);
const minuteAfter = (at: number): number => (Math.floor(at / MINUTE) + 1) * MINUTE;

/** Why a turn ended, in our words. A reason nobody knows is a normal end. */
function stopOf(reason: string): { readonly status: TurnStatus } & TurnEnd {
  const limit = (message: string) => ({ status: 'done' as const, error: { message, next: ['continue' as const] } });
  switch (reason) {
    case 'cancelled':
      return { status: 'cancelled' };
    case 'max_tokens':
      return limit(t('The answer reached its largest length.'));
    case 'max_turn_requests':
      return limit(t('The agent reached its largest number of steps.'));
    case 'refusal': {
      const message = t('The agent refused. It has forgotten this message and all it did about it.');
      return { status: 'failed', forgotten: true, error: { message } };
    }
    default:
      return { status: 'done' };
  }
}
function statusOfChild(state: Activity | null | undefined, before: ToolCall['status']): ToolCall['status'] {
  switch (state?.state) {
    case 'running':
    case 'requires_action':
      return 'running';
    case 'idle':
      return state.stopReason === 'cancelled' ? 'cancelled' : state.stopReason === 'error' ? 'failed' : 'done';
    default:
      return before;
  }
}
/** Ids of calls are each session's own; stopping one by itself is only offered for the session the user talks to. */
function ofChild<C extends Pick<WireCall, 'toolCallId' | 'stops'>>(sessionId: string, call: C): C {
  return { ...call, stops: undefined, toolCallId: `${sessionId}/${call.toolCallId}` };
}
function metaPart(meta: Readonly<Record<string, unknown>>, key: string) {
  const value = meta[key];
  if (typeof value !== 'object' || value === null || !('terminal_id' in value) || typeof value.terminal_id !== 'string') return undefined;
  return value as Readonly<Record<string, unknown>> & { readonly terminal_id: string };
}
/** The call that a write most likely belongs to: the one that names the path, else the only unfinished one. */
function callThatWrote(turn: AcpTurn, path: string): AcpCall | null {
  const unfinished = Object.values(turn.calls).filter((call) => !isFinal(call.status) && call.decision !== 'refused');
  const names = (call: AcpCall) =>
    find(call.edits, path) !== undefined ||
    call.locations.some((one) => one.path === path) ||
    (JSON.stringify(call.rawInput) ?? '').includes(JSON.stringify(path).slice(1, -1));
  return unfinished.findLast(names) ?? (unfinished.length === 1 ? (unfinished[0] ?? null) : null);
}
const itemsOf = (facts: CallFacts): string => JSON.stringify(Object.entries(facts.edits).map(([path, { items }]) => [path, items]));
/** What an answer to it would be about. To say that a command runs where the session works changes nothing. */
function meaningOf(ask: Ask, cwd: string): string {
  const { id: _, ...rest } = ask;
  if (rest.kind !== 'approval' || rest.detail.type !== 'command' || rest.detail.cwd !== cwd) return JSON.stringify(rest);
  const { cwd: _cwd, ...detail } = rest.detail;
  return JSON.stringify({ ...rest, detail });
}
/** The call has got another title since: that is the one to show. */
function untitled({ title: _, ...request }: PermissionRequest): PermissionRequest {
  return request.toolCall ? { ...request, toolCall: { ...request.toolCall, title: undefined } } : request;
}
/** As the paths read; where links lead is found out by the port. Relative paths are nobody's claim to be elsewhere. */
function isBelow(root: string, path: string): boolean {
  if (!/^(?:[\\/]|[A-Za-z]:[\\/])/.test(path)) return true;
  const [folder, file] = [resolvePath(root, '.'), resolvePath(root, path)];
  return (
    file === folder ||
    file.startsWith(folder.endsWith('/') || folder.endsWith('\\') ? folder : `${folder}${folder.includes('\\') ? '\\' : '/'}`)
  );
}
const plain = (text: string): string => text.replaceAll('\r\n', '\n');
/** A file that is there keeps its own mark. */
const withoutMark = ({ content, look }: WriteJob): string => (look?.before === null ? content : content.replace(/^\uFEFF/, ''));
