import { t } from '../../base/l10n.ts';
import { endDetail, type Failure, type LinkEnd } from '../../base/outcomes.ts';
import { find, keys, remove, splitName } from '../../conversation/state.ts';
import { Step, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Fault, Option, Question } from '../../session/model.ts';
import { junkWhileOpening } from '../junk.ts';
import { type ClientAbilities, type Codec, faultOf, hello, misfit } from './codec.ts';
import { loadDelayLeft, MINUTE } from './quirks.ts';
import { AUTH_REQUIRED, type AuthMethod, INTERNAL, type LoginCommand, loginCommand, UNSUPPORTED_VERSION } from './schema.ts';
import { commandsSet, settingEvents, takeSettings } from './settings.ts';
import {
  type AcpLimits,
  type AcpState,
  codecOf,
  foldersOf,
  offersOf,
  type ResumedSession,
  type RunningSignIn,
  readHello,
} from './state.ts';

/*
 * The connection to an ACP agent, from the start of its process until a prompt can be sent, and its end: the process, the handshake, the session
 * (continued where there is one, else a new one), signing in (docs/protocols/acp.md, "Signing in"), and the replies and timers of these. What the agent
 * asks over it is in requests.ts, the conversation in machine.ts.
 */

/** The name of the one link. */
export const LINK = 'agent';
/** Arguments of the terminal port for a sign-in. */
export interface LoginArgs {
  readonly do: 'login';
  readonly title: string;
  readonly login: LoginCommand | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}
/** Arguments of the secret port. */
export type SecretArgs =
  | { readonly do: 'load'; readonly names: readonly string[] }
  | { readonly do: 'keep'; readonly values: Readonly<Record<string, string>> };
/** Arguments of the server port, which serves the editor's tools. */
export type ServerArgs =
  | { readonly do: 'offer'; readonly how: 'http' | 'process'; readonly version: 1 | 2 }
  /** Settles once the agent has asked for the list of tools. */
  | { readonly do: 'listed' }
  | { readonly do: 'end' };
/** A restart asks again how to sign in. */
const SIGN_IN_REMEDIES: Fault['next'] = ['restart', 'signIn', 'showLog', 'pickAgent'];

export abstract class AcpConnection extends Step<AcpState> {
  // --- what the layers above do for it

  /** A prompt is about to be sent: what comes from now on is live. */
  abstract goLive(): void;
  /** Sends the prompt of the turn; in a new process the session is opened first. */
  abstract sendPrompt(): void;
  /** The prompt of the turn could not be sent. */
  abstract promptFailed(error: Failure): void;
  /** Ends the turn; what waits for its end follows. */
  abstract finishTurn(status: TurnStatus, end?: TurnEnd): void;
  /** The session's id is known: what came before it is taken in now. */
  abstract hear(sessionId: string): void;
  /** Cancels all that the user is asked. */
  abstract cancelAsks(): void;

  get codec(): Codec {
    return codecOf(this.state.agent);
  }
  get limits(): AcpLimits {
    return this.state.setup.limits;
  }

  // --- the process

  startProcess(): void {
    const { state } = this;
    if (state.phase === 'new') state.phase = 'opening';
    state.opening = 'initialize';
    state.printed = '';
    if (state.session) state.session.isOpen = false;
    this.open(LINK, {});
    this.sendInitialize(state.setup.newest);
    this.timer('initialize', this.limits.initialize);
  }
  sendInitialize(newest: 1 | 2): void {
    const { client, can } = this.state.setup;
    this.request(`initialize ${newest}`, 'initialize', hello(newest, client, can));
  }
  /** Ends the process without a word to the user; another one is started when it is gone. */
  restart(after: AcpState['after']): void {
    this.forgetProcess();
    this.state.opening = 'restart';
    this.state.after = after;
    this.close(LINK);
  }
  /** The process has ended. */
  processEnded(end: LinkEnd): void {
    const { reason, failure, stderr } = end;
    const { state } = this;
    if (state.phase !== 'left' && state.opening === 'restart') return this.startProcess();
    if (state.phase !== 'left') {
      const detail = endDetail(end, ((stderr ?? '').trim() || state.printed).slice(-2048));
      const next = failure === 'missing' ? (['pickAgent', 'openSettings', 'restart'] as const) : (['restart', 'showLog'] as const);
      this.letGo();
      this.linkClosed(reason, next, detail);
    }
    state.phase = 'over';
  }
  /** Settles what the process has asked: the next one numbers its requests from the beginning again. */
  forgetProcess(): void {
    const { requests, jobs } = this.state;
    this.cancelAsks();
    for (const id of Object.values(requests).map((one) => one.id)) this.refuse(LINK, id, INTERNAL, 'The session has ended.');
    for (const id of keys(jobs)) remove(jobs, id);
  }
  /** Settles everything that is open, because no answer can come any more. */
  letGo(): void {
    this.forgetProcess();
    this.port(null, 'endTerminals', 'terminal', { do: 'end' });
    this.port(null, 'endTools', 'server', { do: 'end' } satisfies ServerArgs);
    for (const timer of ['initialize', 'session', 'quiet', 'stopping', 'loadDelay']) this.timer(timer, null);
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
    if (!state.agent?.can.close || state.session === null) return this.close(LINK);
    this.request('session/close', 'session/close', { sessionId: state.session.id });
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
  /** A notification about the session. */
  notifySession(method: string): void {
    this.do({ do: 'notify', link: LINK, method, params: { sessionId: this.state.session?.id ?? null } });
  }
  /** A request about the session. */
  requestOfSession(call: string, method: string, params: object): void {
    this.request(call, method, { sessionId: this.state.session?.id ?? null, ...params });
  }

  // --- handshake

  greeted(newest: 1 | 2, result: unknown, error: Failure | undefined): void {
    const { state } = this;
    // An agent may refuse a version it does not speak instead of naming its own.
    if (error?.code === UNSUPPORTED_VERSION && newest === 2) return this.sendInitialize(1);
    this.timer('initialize', null);
    if (error) return error.kind === 'refused' ? this.failed(faultOf(error).message) : undefined;
    const agent = readHello(result, newest, state.setup.newest);
    if (typeof agent === 'string') return this.failed(agent);
    // Only now is it known which variables, entered in an earlier window, this agent wants.
    const names = state.agent === null ? variablesIn(agent.authMethods) : [];
    state.agent = agent;
    if (names.length === 0) return this.helloDone();
    state.opening = 'keys';
    this.port(null, 'keys', 'secret', { do: 'load', names } satisfies SecretArgs);
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

  openSession(resume: ResumedSession | null): void {
    const { state } = this;
    const { agent, setup } = state;
    if (!agent) return;
    state.resuming = resume;
    const { httpTools, processTools } = agent.can;
    const how = httpTools ? 'http' : processTools && !agent.quirks.noProcessTools ? 'process' : undefined;
    if (state.servers !== null || setup.tools.length === 0 || !how) return this.resumeSession();
    state.opening = 'tools';
    this.port(null, 'tools', 'server', { do: 'offer', how, version: agent.protocol } satisfies ServerArgs);
  }
  resumeSession(): void {
    const { state } = this;
    const { resuming, agent } = state;
    if (!resuming || !agent) return this.newSession();
    if (!agent.can.load && !agent.can.resume) {
      this.notifyResumeFailed();
      return this.newSession();
    }
    const startedBy = state.startedAt ?? (resuming.history ? this.now : null);
    if (agent.quirks.loadErasesYoung && startedBy !== null) {
      const left = loadDelayLeft(startedBy, this.now);
      if (left > 0) {
        const seconds = Math.ceil(left / 1000);
        this.log('info', 'The agent loses a conversation that is loaded in the minute in which it began');
        this.emit({ type: 'link.opening', note: `${t('Loading an earlier conversation')} (${seconds} s)` });
        state.startedAt = startedBy;
        state.opening = 'loadDelay';
        return this.timer('loadDelay', left);
      }
    }
    this.loadSession();
  }
  /** Goes on when the minute has passed, or the clock jumped. */
  loadDelayOver(): void {
    const left = loadDelayLeft(this.state.startedAt ?? 0, this.now);
    if (left > 0 && left <= MINUTE) return this.timer('loadDelay', left);
    this.loadSession();
  }
  loadSession(): void {
    const { state } = this;
    const { resuming, agent } = state;
    if (!resuming || !agent) return;
    const { method, more, replays } = this.codec.resume(resuming.key, resuming.history, agent.can);
    if (replays) state.updateMode = resuming.history ? 'record' : 'known';
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
    if (state.session?.id !== id) this.emit({ type: 'resume.set', key: id });
    state.session = { id, isOpen: true };
    if (state.turn?.prompt?.step !== 'reopening') {
      takeSettings(state.settings, answer.data);
      this.emitAll(settingEvents(state.settings));
      if (answer.data.availableCommands) this.emit(commandsSet(answer.data.availableCommands));
    }
    this.hear(id);
    if (state.updateMode === 'live') return this.sessionOpened();
    // The record may come behind the answer.
    state.opening = 'record';
    this.timer('quiet', this.limits.record);
  }
  sessionFailed(error: Failure): void {
    const { state } = this;
    const { resuming, setup } = state;
    if (error.code === AUTH_REQUIRED && state.signIn.step !== 'done') return this.startSignIn(error);
    if (!resuming || error.kind !== 'refused' || error.code === AUTH_REQUIRED) return this.openingFailed(error);
    const why = faultOf(error).message;
    // Agents keep no record of a conversation in which nothing was said.
    const nothingSaid = !resuming.history && setup.startedAt === null && state.startedAt === null;
    if (!nothingSaid) this.notifyResumeFailed(why);
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
    this.forgetSignIn();
    state.phase = 'ready';
    this.announce();
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

  get runningSignIn(): RunningSignIn | undefined {
    const { signIn } = this.state;
    return signIn.step === 'none' || signIn.step === 'done' ? undefined : signIn;
  }
  /** Lets the next request of the agent start a sign-in again. */
  forgetSignIn(): void {
    if (this.state.signIn.step === 'done') this.state.signIn = { step: 'none' };
  }
  startSignIn(error: Failure): void {
    const { state } = this;
    // "Authentication required" adds nothing to the code.
    const words = faultOf(error).message;
    const reason = /^authentication required\.?$/i.test(words) ? null : words;
    const ways = (state.agent?.authMethods ?? []).filter((method) => wayOf(method, state.setup.can) !== undefined);
    if (state.turn?.prompt) state.turn.prompt.step = 'signIn';
    state.signIn = { step: 'choosing', reason };
    if (ways.length === 0) return this.signInDeclined(t('Sign in with the agent’s own program in a terminal, then restart the agent.'));
    this.ask(signInAsk(this.newId(), ways, reason), 'signIn');
  }
  wayChosen(answer: Answer): void {
    const { state } = this;
    const method = answer.kind === 'option' ? state.agent?.authMethods.find((one) => one.id === answer.optionId) : undefined;
    const way = method && wayOf(method, state.setup.can);
    if (!method || !way) return this.signInDeclined();
    this.emit({ type: 'link.opening', note: `${t('Sign in')}: ${method.name}`, ...(way === 'agent' ? { stops: true } : {}) });
    const reason = this.runningSignIn?.reason ?? null;
    switch (way) {
      case 'agent':
        // In a browser perhaps, which may take minutes; the user may stop waiting for it.
        state.signIn = { step: 'agent', reason };
        return this.request('authenticate', this.codec.authenticate, { methodId: method.id });
      case 'terminal': {
        const login = loginIn(method);
        state.signIn = { step: 'terminal', title: login.title, reason };
        return this.port(null, 'login', 'terminal', { do: 'login', ...login } satisfies LoginArgs);
      }
      case 'variables':
        state.signIn = { step: 'variables', methodId: method.id, reason };
        this.ask(variablesAsk(this.newId(), method), 'variables');
    }
  }
  /** The way to sign in whose variables are asked for. */
  methodAsked(): AuthMethod | undefined {
    const { signIn, agent } = this.state;
    return signIn.step === 'variables' ? agent?.authMethods.find((one) => one.id === signIn.methodId) : undefined;
  }
  variablesEntered(answer: Answer): void {
    const values = variablesOf(this.methodAsked(), answer);
    if (!values) return this.signInDeclined();
    this.state.signIn = { step: 'keeping', reason: this.runningSignIn?.reason ?? null };
    // The values pass through to the secret storage; the state never holds them.
    this.port(null, 'keep', 'secret', { do: 'keep', values } satisfies SecretArgs);
  }
  signInReplied(step: string, result: unknown, error: Failure | undefined): void {
    const { state } = this;
    if (!this.runningSignIn) return;
    if (step === 'authenticate' && error) return this.signInFailed(error);
    if (step === 'authenticate') return this.signInDone('here');
    if (step === 'login' && (error || (result as { readonly code?: unknown } | null)?.code !== 0)) return this.signInDeclined();
    if (step === 'keep') state.hasCredentials = true;
    this.signInDone('restart');
  }
  signInDone(how: 'here' | 'restart'): void {
    const { state } = this;
    const after = state.turn?.prompt?.step === 'signIn' ? 'prompt' : 'open';
    state.signIn = { step: 'done' };
    if (how === 'restart') return this.restart(after);
    state.after = after;
    this.helloDone();
  }
  signInDeclined(why = t('The sign-in did not succeed.')): void {
    const reason = this.runningSignIn?.reason ?? null;
    this.signInFailed({ kind: 'lost', message: reason === null ? why : `${why} ${reason}` });
  }
  signInFailed(error: Failure): void {
    const { state } = this;
    const { message } = faultOf(error);
    state.signIn = { step: 'none' };
    if (state.turn?.prompt?.step !== 'signIn') return this.failed(message, SIGN_IN_REMEDIES);
    // In the middle of a conversation the user can go on with it, whatever became of the sign-in.
    this.announce();
    if (state.turn.phase === 'stopping') this.finishTurn('cancelled');
    else this.finishTurn('failed', { error: { message, next: ['retry', 'signIn', 'showLog'] } });
  }
  /** Replaces the process: the running one still has the values that were entered. */
  signedOut(): void {
    this.state.hasCredentials = false;
    this.restart('announce');
  }
  stopSignIn(): void {
    if (this.state.signIn.step !== 'agent') return;
    this.drop('authenticate');
    this.signInDeclined();
  }

  // --- replies and timers

  reply(call: string, result: unknown, error: Failure | undefined): void {
    const [what, id] = splitName(call);
    // Once the session is left, only its end is waited for.
    if (this.state.phase === 'left') return what === 'session/close' ? this.close(LINK) : undefined;
    this.replied(what, id, result, error);
  }
  replied(what: string, id: string, result: unknown, error: Failure | undefined): void {
    const { state } = this;
    switch (what) {
      case 'initialize':
        return this.greeted(id === '2' ? 2 : 1, result, error);
      case 'keys': {
        const isKnown = Array.isArray(result) && result.length > 0;
        if (!isKnown) return this.helloDone();
        state.hasCredentials = true;
        return this.restart('open');
      }
      case 'tools':
        state.servers = !error && Array.isArray(result) ? (result as object[]) : [];
        state.tools = state.servers.length > 0 ? 'offered' : 'refused';
        if (state.tools === 'offered') this.port(null, 'listed', 'server', { do: 'listed' } satisfies ServerArgs);
        return state.opening === 'tools' ? this.resumeSession() : undefined;
      case 'listed':
        state.tools = 'taken';
        return state.phase === 'ready' && state.session?.isOpen !== false ? this.announce() : undefined;
      case 'session':
        return this.sessionAnswered(result, error);
      case 'authenticate':
      case 'login':
      case 'keep':
        return this.signInReplied(what, result, error);
    }
  }
  elapsed(what: string, _id: string): void {
    switch (what) {
      case 'initialize':
        return this.failed(t('The agent did not answer within {0} s.', this.limits.initialize / 1000));
      case 'session':
        return this.sessionIsLate();
      case 'loadDelay':
        return this.loadDelayOver();
      case 'close':
        return this.close(LINK);
    }
  }
}

// --- the ways of signing in, and what the user is asked for them

/** undefined: this window cannot go that way. */
function wayOf(method: AuthMethod, can: ClientAbilities): 'agent' | 'terminal' | 'variables' | undefined {
  if (loginOf(method) || method.type === 'terminal') return can.logins ? 'terminal' : undefined;
  if (method.type === 'env_var' || method.vars) return method.vars ? 'variables' : undefined;
  return method.type == null || method.type === 'agent' ? 'agent' : undefined;
}
/** The login command that the agent names itself. */
function loginOf(method: AuthMethod): LoginCommand | undefined {
  const parsed = loginCommand.safeParse(method._meta?.['terminal-auth']);
  return parsed.success ? parsed.data : undefined;
}
/** Returns the command that a sign-in runs in a terminal. */
function loginIn(method: AuthMethod): Omit<LoginArgs, 'do'> {
  const login = loginOf(method) ?? null;
  return { title: login?.label || method.name, login, args: method.args ?? [], env: method.env ?? {} };
}
/** The names of all variables that a user may enter for this agent. */
export function variablesIn(methods: readonly AuthMethod[]): readonly string[] {
  return methods.flatMap((method) => (method.vars ?? []).map((one) => one.name));
}

/** The values that were entered for its variables; undefined when there are none, or a required one is missing. */
export function variablesOf(method: AuthMethod | undefined, answer: Answer): Readonly<Record<string, string>> | undefined {
  if (!method || answer.kind !== 'fields') return undefined;
  const vars = method.vars ?? [];
  const given = Object.fromEntries(
    vars.flatMap(({ name }) => {
      const value = answer.values[name]?.[0]?.trim();
      return value ? [[name, value] as const] : [];
    }),
  );
  return vars.every(({ name, optional }) => optional || Object.hasOwn(given, name)) ? given : undefined;
}

function signInAsk(id: string, methods: readonly AuthMethod[], reason: string | null): Approval {
  const options: Option[] = methods.map((method) => ({
    id: method.id,
    label: method.name,
    // Never chosen by a rule.
    effect: 'allow_always',
    ...(method.description ? { description: method.description } : {}),
  }));
  options.push({ id: '', label: t('Cancel'), effect: 'reject_once' });
  return {
    kind: 'approval',
    id,
    wordless: true,
    ours: true,
    title: t('Sign in'),
    detail: { type: 'text', text: reason ?? '' },
    options,
  };
}

function variablesAsk(id: string, method: AuthMethod): Question {
  return {
    kind: 'question',
    id,
    ours: true,
    title: method.name,
    fields: (method.vars ?? []).map((one, at) => ({
      id: one.name,
      label: one.label || one.name,
      free: true,
      ...bodyOf(one, at === 0 ? method : undefined),
      kind: one.secret === false ? 'text' : 'secret',
      ...(one.optional ? {} : { required: true as const }),
    })),
  };
}
/** The name of the variable, and by the first one where to get what is asked for. */
function bodyOf({ name, label }: NonNullable<AuthMethod['vars']>[number], method: AuthMethod | undefined): { readonly body?: string } {
  const { link } = method ?? {};
  const source = link && /^https?:\/\/\S+$/i.test(link) ? link.slice(0, 1000) : '';
  const body = [label ? name : '', source].filter(Boolean).join('\n\n');
  return body === '' ? {} : { body };
}
