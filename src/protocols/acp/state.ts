import { t } from '../../base/l10n.ts';
import {
  type ConversationState,
  find,
  keys,
  type Lane,
  newConversation,
  newLane,
  newTable,
  newTurn,
  put,
  remove,
  type Table,
  type TurnState,
} from '../../conversation/state.ts';
import type { Content, Offers, ToolCall } from '../../session/model.ts';
import { type Decided, lineOf, nothingDecided, type WriteFacts } from './approvals.ts';
import { type AcpCall, type CallFacts, NOTHING_STOPPED, type Stopped, statusOfChild } from './calls.ts';
import { type Accepts, type ClientAbilities, type Codec, misfit, type TerminalRequest, version1 } from './codec.ts';
import type { FormRequest, LinkRequest } from './forms.ts';
import { type Quirks, quirksOf } from './quirks.ts';
import {
  type Activity,
  type AuthMethod,
  anyHello,
  type ContentBlock,
  type InitializeAnswer,
  type PermissionRequest,
  type SessionUpdate,
} from './schema.ts';
import { type AcpSettings, noSettings, type Plans, type SettingRequest } from './settings.ts';
import { type AgentTerminal, version2 } from './v2Codec.ts';

/*
 * The state of a conversation over ACP: JSON, and one place for everything that is remembered. It is changed in connection.ts, requests.ts and
 * machine.ts.
 */

/** Milliseconds. Tests shorten them. */
export interface AcpLimits {
  /** An agent may take this long to say hello: some are slow to start on a loaded machine. */
  readonly initialize: number;
  /** For requests outside a turn: settings, listing, opening a session. Then a notice tells the user. */
  readonly answer: number;
  /** It must be quiet this long for the agent's record to be over. */
  readonly record: number;
  /** The same for what the agent does unasked. */
  readonly background: number;
  /** Stopping may take this long before a way out is offered. */
  readonly stopping: number;
  /** A command may go this long without a call that shows it: agents announce it when they have its id. */
  readonly unseen: number;
  /** session/close may take this long. */
  readonly close: number;
}
export const LIMITS: AcpLimits = {
  initialize: 60_000,
  answer: 30_000,
  record: 300,
  background: 2000,
  stopping: 10_000,
  unseen: 500,
  close: 300,
};

export interface AcpSetup {
  readonly cwd: string;
  readonly folders: readonly string[];
  readonly client: { readonly name: string; readonly version: string };
  readonly newest: 1 | 2;
  readonly resume: ResumedSession | null;
  /** When the conversation that is continued began; null: nothing of it is known. */
  readonly startedAt: number | null;
  readonly can: ClientAbilities;
  /** Names of the editor's tools. */
  readonly tools: readonly string[];
  readonly limits: AcpLimits;
}
export interface ResumedSession {
  readonly key: string;
  /** Its transcript is not known here, so the agent's record of it is shown. */
  readonly history: boolean;
}

export interface AcpState extends ConversationState {
  readonly setup: AcpSetup;
  turn: AcpTurn | null;
  agent: AcpAgent | null;
  /** The step under way until a prompt can be sent. `loadDelay`: the quirk `loadErasesYoung` waits. */
  opening: 'initialize' | 'keys' | 'restart' | 'tools' | 'loadDelay' | 'session' | 'record' | null;
  /** The step that follows the hello of a process. */
  after: 'open' | 'prompt' | 'announce';
  /** The conversation that the session being opened continues; null for a new one. */
  resuming: ResumedSession | null;
  signIn: SignIn;
  /** The process runs with values that the user entered for a sign-in. */
  hasCredentials: boolean;
  /** The agent's session; null before the first one. `isOpen`: false in a new process until the conversation has been opened in it. */
  session: { readonly id: string; isOpen: boolean } | null;
  /** The session whose updates are applied, known before that is open. `early`: updates that came before it was known. */
  updates: { readonly of: string } | { readonly of: null; readonly early: { readonly sessionId: string; readonly update: object }[] };
  /** When the first turn began, as far as anyone knows. */
  startedAt: number | null;
  /** Our tool servers, as offered to the agent; null before that. */
  servers: readonly object[] | null;
  /** `offered`: the agent knows where they are; `taken`: it has asked for them, so that its model may know them. */
  tools: 'refused' | 'offered' | 'taken';
  /** `heard` when the answer that is waited for was asked for. */
  heardBefore: number;
  /** The last line before the hello that is not a message: the usage of the program, for example. */
  printed: string;
  /** How updates are read: as live; as the agent's record, to be shown; or as its record of a transcript that is shown already. */
  updateMode: 'live' | 'record' | 'known';
  /** Prompt of a turn of the record, until it is whole. */
  recorded: RecordedPrompt | null;
  /** The agent has said that it works, and not yet that it is done (version 2). */
  working: boolean;
  /** From a stop until the next prompt: whatever the agent does then, it does against the user's word. */
  stopped: boolean;
  /** Kinds of updates that were logged as unknown. */
  readonly strange: Table<true>;
  /** Calls of all turns so far. */
  readonly calls: Table<true>;
  readonly children: Table<SubAgent>;
  readonly settings: AcpSettings;
  readonly pendingSettings: Table<SettingRequest>;
  readonly plans: Plans;
  /** Terminals that the agent runs itself (version 2). */
  readonly agentTerminals: Table<AgentTerminal>;
  /** Files that are being read for edits, by the number of the reading. */
  readonly reading: Table<{ readonly turnId: string; readonly callId: string; readonly path: string }>;
  /** How many these are. */
  unread: number;
  readings: number;
  /** Requests of the agent that take several steps, by their id. Asks for one name it in `requests`. */
  readonly jobs: Table<Job>;
  /** Folders outside the workspace in which the user let the agent read or run commands, or not. */
  readonly folders: Readonly<Record<'read' | 'command', Table<boolean>>>;
  readonly terminals: Table<AcpTerminal>;
  /** Commands that the agent has had run since that turn began, or since one ended (null). */
  commands: { readonly turnId: string | null; readonly count: number };
}
export interface AcpAgent {
  readonly protocol: 1 | 2;
  readonly name: string | null;
  readonly title: string | null;
  readonly version: string | null;
  readonly quirks: Quirks;
  readonly accepts: Accepts;
  readonly can: {
    readonly load: boolean;
    readonly resume: boolean;
    readonly list: boolean;
    readonly close: boolean;
    readonly delete: boolean;
    readonly fork: boolean;
    readonly moreFolders: boolean;
    readonly httpTools: boolean;
    readonly processTools: boolean;
    readonly logout: boolean;
  };
  readonly authMethods: readonly AuthMethod[];
}
export interface AcpTurn extends TurnState<AcpLane, AcpCall> {
  /** The lane of the agent itself; `lanes` holds those of its sub-agents. */
  readonly main: AcpLane;
  readonly promptText: string;
  /** For turns of the user. */
  readonly prompt: PromptState | null;
  /** How it ends, once the edits of its calls have been compared with their files. */
  ending: PromptEnd | null;
  /** Terminals whose commands the user has ended. */
  readonly stoppedTerminals: string[];
  /** The agent's own terminals that it showed in this turn and whose end it has not told. */
  readonly shownTerminals: Table<true>;
  readonly decided: Decided;
  /** Calls that came since the oldest were forgotten. */
  newCalls: number;
}
/** Calls of a turn that are remembered, a few more than a session shows; beyond, the oldest are forgotten, a thousand at a time. */
const MOST_CALLS = 6000;
const FORGOTTEN_AT_ONCE = 1000;
/** Takes note of one more call. What is asked about stays: the answer belongs to it. */
export function forgetOldCalls(turn: AcpTurn): void {
  turn.newCalls += 1;
  if (turn.newCalls < FORGOTTEN_AT_ONCE) return;
  turn.newCalls = 0;
  for (const id of keys(turn.calls).slice(0, -MOST_CALLS)) if (find(turn.calls, id)?.questions === 0) remove(turn.calls, id);
}
export interface RecordedPrompt {
  readonly messageId: string | null;
  /** A note to the model came after its last block. */
  isNoted: boolean;
  content: Content[];
}
export interface PromptState {
  readonly blocks: readonly ContentBlock[];
  /** `reopening`: the session has to be opened in a new process first; `taken`: the agent has it, and an update tells the end (version 2). */
  step: 'reopening' | 'signIn' | 'sent' | 'taken';
  /** The agent was seen working at it, and idle after that before it took the prompt (version 2). */
  worked: boolean;
  idle: Activity | null;
}
export interface PromptEnd {
  readonly stopReason: string;
  readonly usage: Activity['usage'];
}
export interface AcpLane extends Lane {
  /** Parts of messages that have an id, by kind and id. */
  messages: Table<string>;
}
/** The state of a sign-in. It never holds the values that are entered. */
export type SignIn =
  | { readonly step: 'none' }
  | RunningSignIn
  /** The user has signed in for what is being done, and is not asked twice. */
  | { readonly step: 'done' };
/** `reason`: why the agent requires it, in its own words. */
export type RunningSignIn = { readonly reason: string | null } & (
  | { readonly step: 'choosing' }
  /** The agent carries it out, for example in a browser. */
  | { readonly step: 'agent' }
  | { readonly step: 'terminal'; readonly title: string }
  | { readonly step: 'variables'; readonly methodId: string }
  | { readonly step: 'keeping' }
);
export type ChildUpdate = Extract<SessionUpdate, { sessionUpdate: 'subagent_update' }>;
/** A sub-agent: it is shown as a call of the conversation, with all it does below. */
export interface SubAgent {
  title: string;
  status: ToolCall['status'];
  /** Where it was shown last. */
  shown: { readonly turnId: string; readonly callId: string } | null;
}
/** session/request_permission. */
export interface OpenPermission {
  readonly is: 'permission';
  readonly id: string;
  readonly request: PermissionRequest;
  readonly turnId: string | null;
  readonly callId: string | null;
  readonly asker: string | null;
  /** Its subject: the call when it was asked, with later updates. */
  readonly facts: CallFacts;
  /** The title the call had when it was asked about. */
  readonly title: string;
  /** How often it was put again because the call became another. */
  rounds: number;
  askId: string | null;
}
export type Job =
  | OpenPermission
  | ReadJob
  | WriteJob
  | CommandJob
  | { readonly is: 'form'; readonly request: FormRequest }
  | { readonly is: 'link'; readonly request: LinkRequest; step: 'looking' | 'asking' | 'opening' };
export interface ReadParams {
  readonly path: string;
  readonly line: number | null;
  readonly limit: number | null;
}
/** `folder`: it is outside, and the user is asked about it. */
export interface ReadJob {
  readonly is: 'read';
  readonly params: ReadParams;
  folder: string | null;
}
export interface WriteJob {
  readonly is: 'write';
  readonly path: string;
  readonly content: string;
  readonly turnId: string | null;
  /** `waiting`: for the write before it. `merging`: the user decides between two texts. */
  step: 'waiting' | 'looking' | 'asking' | 'merging' | 'writing';
  /** How many paths were refused when the file was looked at. */
  refused: number;
  /** On another server, and the user is asked whether it may be looked at. */
  folder: string | null;
  mayLook: boolean;
  look: WriteLook | null;
  text: string;
}
export interface WriteLook extends WriteFacts {
  /** The agent's text is there already, and saved. */
  readonly same: boolean;
  /** The agent's change, applied to the present text; null when the user has changed the same lines. */
  readonly merged: string | null;
}
/** `folder`: it is outside, and the user is asked about it; null: they are asked about the command. */
export interface CommandJob {
  readonly is: 'command';
  readonly line: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly cwd: string;
  readonly limit: number | null;
  readonly turnId: string | null;
  folder: string | null;
}
/** Work that may lead to a folder about which the user is asked. */
export type FolderJob = ReadJob | WriteJob | CommandJob;
export interface AcpTerminal {
  readonly line: string;
  readonly turnId: string | null;
  code: number | null | 'running';
  /** The user has ended it. */
  stopped: boolean;
  /** `agent`: a call of the agent's shows it; otherwise our own call does, or none yet. */
  seen: 'unseen' | 'agent' | { readonly callId: string };
}
export function newQuestion(
  id: string,
  request: PermissionRequest,
  facts: CallFacts,
  place: Pick<OpenPermission, 'turnId' | 'callId' | 'asker'>,
): OpenPermission {
  return { is: 'permission', id, request, ...place, facts, title: facts.title, rounds: 0, askId: null };
}
export function newWrite(path: string, content: string, turnId: string | null): WriteJob {
  return { is: 'write', path, content, turnId, step: 'waiting', refused: 0, folder: null, mayLook: false, look: null, text: '' };
}
export function newCommand({ command, args, env, cwd, outputByteLimit }: TerminalRequest, { setup, turn }: AcpState): CommandJob {
  return {
    is: 'command',
    line: lineOf(command, args ?? []),
    command,
    args: args ?? [],
    env: env ?? [],
    cwd: cwd ?? setup.cwd,
    limit: outputByteLimit ?? null,
    turnId: turn?.id ?? null,
    folder: null,
  };
}
export function newAcp(seed: string, setup: AcpSetup): AcpState {
  return {
    ...newConversation(seed),
    setup,
    turn: null,
    agent: null,
    opening: null,
    after: 'open',
    resuming: null,
    signIn: { step: 'none' },
    hasCredentials: false,
    session: null,
    updates: { of: null, early: [] },
    startedAt: setup.startedAt,
    servers: null,
    tools: 'refused',
    heardBefore: 0,
    printed: '',
    updateMode: 'live',
    recorded: null,
    working: false,
    stopped: false,
    strange: {},
    calls: newTable(),
    children: {},
    settings: noSettings(),
    pendingSettings: {},
    plans: {},
    agentTerminals: {},
    reading: newTable(),
    unread: 0,
    readings: 0,
    jobs: {},
    folders: { read: {}, command: {} },
    terminals: newTable(),
    commands: { turnId: null, count: 0 },
  };
}

export const codecOf = (agent: Pick<AcpAgent, 'protocol'> | null): Codec => (agent?.protocol === 2 ? version2 : version1);
/** The folders the session works in: an agent that takes only one asks about the others as about any place outside. */
export function rootsOf({ setup, agent }: AcpState): readonly string[] {
  return [setup.cwd, ...(agent?.can.moreFolders ? setup.folders : [])];
}
/** The folders of a session as requests name them: the first is where it works. */
export function foldersOf(state: AcpState): { readonly cwd: string; readonly additionalDirectories?: readonly string[] } {
  const [cwd = '', ...more] = rootsOf(state);
  return { cwd, ...(more.length > 0 ? { additionalDirectories: more } : {}) };
}

export function acpTurn(id: string, by: AcpTurn['by'], promptText: string, prompt: PromptState | null): AcpTurn {
  return {
    ...newTurn<AcpLane, AcpCall>(id, by),
    main: acpLane('', null),
    promptText,
    prompt,
    ending: null,
    stoppedTerminals: [],
    shownTerminals: {},
    decided: nothingDecided(),
    newCalls: 0,
  };
}

/** Adds to a prompt of the record. Without an id only blanks between two texts tell that they are one: agents break streams at words. */
export function addRecorded(prompt: RecordedPrompt, content: Content): void {
  const { messageId, isNoted, content: all } = prompt;
  const last = all.at(-1);
  prompt.isNoted = false;
  const isPiece =
    !isNoted &&
    content.type === 'text' &&
    last?.type === 'text' &&
    (messageId !== null || /\s$/.test(last.text) || /^\s/.test(content.text));
  if (isPiece) all[all.length - 1] = { type: 'text', text: last.text + content.text };
  else all.push(content);
}

/** The user's stops in the turn, and which commands had ended before. */
export function stoppedBy({ terminals }: AcpState, { phase, stoppedTerminals }: AcpTurn): Stopped {
  if (phase !== 'stopping' && stoppedTerminals.length === 0) return NOTHING_STOPPED;
  const hadEnded = (id: string) => !stoppedTerminals.includes(id) && (find(terminals, id)?.code ?? 'running') !== 'running';
  return { turn: phase === 'stopping', terminals: stoppedTerminals, hadEnded };
}
/** Applies what the agent reports about a sub-agent. */
export function noteChild({ children }: AcpState, { sessionId, title, description, state }: ChildUpdate): SubAgent {
  const child = find(children, sessionId) ?? put<SubAgent>(children, sessionId, { title: '', status: 'running', shown: null });
  if (title !== undefined || description != null || child.title === '') child.title = title || description || child.title || t('Sub-agent');
  child.status = statusOfChild(state, child.status);
  return child;
}

export function acpLane(name: string, parent: string | null): AcpLane {
  return { ...newLane(name, parent), messages: newTable() };
}

/** Returns the features that the user is offered with this agent. */
export function offersOf({ setup, tools, hasCredentials }: AcpState, { accepts, can }: AcpAgent): Offers {
  const rejected = () => setup.tools.map((name) => ({ name, reason: 'The agent does not support editor tools.' }));
  return {
    ...(accepts.image ? { images: true } : {}),
    ...(can.list ? { history: true } : {}),
    ...(can.delete ? { forget: true } : {}),
    ...(can.fork ? { fork: true } : {}),
    ...(can.logout || hasCredentials ? { signOut: true } : {}),
    ...(tools === 'taken' ? { tools: { accepted: setup.tools, rejected: [] } } : {}),
    ...(tools === 'refused' ? { tools: { accepted: [], rejected: rejected() } } : {}),
  };
}

/** The agent as its hello describes it; a sentence when it cannot be used. `newest`: the version that it was asked for; `ours`: the newest we offer. */
export function readHello(result: unknown, newest: 1 | 2, ours: 1 | 2): AcpAgent | string {
  const head = anyHello.safeParse(result);
  if (!head.success) return misfit('initialize', head.error);
  const { protocolVersion } = head.data;
  if (protocolVersion !== 1 && !(protocolVersion === 2 && newest === 2))
    return t('The agent speaks version {0} of the protocol; Parley supports {1}.', protocolVersion, ours);
  const answer = codecOf({ protocol: protocolVersion }).hello.safeParse(result);
  return answer.success ? agentOf(answer.data, protocolVersion) : misfit('initialize', answer.error);
}
export function agentOf(answer: InitializeAnswer, protocol: 1 | 2): AcpAgent {
  const { agentInfo, agentCapabilities: caps } = answer;
  const session = caps?.sessionCapabilities;
  const prompt = caps?.promptCapabilities;
  return {
    protocol,
    name: agentInfo?.name ?? null,
    title: agentInfo?.title || null,
    version: agentInfo?.version ?? null,
    quirks: quirksOf(agentInfo?.name, agentInfo?.version ?? undefined),
    accepts: { image: Boolean(prompt?.image), audio: Boolean(prompt?.audio), embedded: Boolean(prompt?.embeddedContext) },
    can: {
      load: Boolean(caps?.loadSession),
      resume: Boolean(session?.resume),
      list: Boolean(session?.list),
      close: Boolean(session?.close),
      delete: Boolean(session?.delete),
      fork: Boolean(session?.fork),
      moreFolders: Boolean(session?.additionalDirectories),
      httpTools: Boolean(caps?.mcpCapabilities?.http),
      processTools: Boolean(caps?.mcpCapabilities?.stdio ?? true),
      logout: Boolean(caps?.auth?.logout),
    },
    authMethods: answer.authMethods ?? [],
  };
}
