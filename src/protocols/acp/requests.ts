import { t } from '../../base/l10n.ts';
import type { Failure } from '../../base/outcomes.ts';
import { find, keys, type OpenAsk, put, remove, type Table } from '../../conversation/state.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Ask, Diff } from '../../session/model.ts';
import {
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
  type PermissionOutcome,
  type PermissionSubject,
  permissionAsk,
  permissionReply,
  type RejectedSubject,
  readSubject,
  refusedFor,
  rejectedAgainst,
  untitled,
  wasAllowed,
  withoutReturns,
  writeSubject,
} from './approvals.ts';
import {
  type AcpCall,
  askedFacts,
  type CallSource,
  callThatWrote,
  factsOf,
  isReading,
  itemsOf,
  mergeAsked,
  noteWritten,
  ofChild,
  type Stopped,
  takeChange,
} from './calls.ts';
import { badParams, readEditorRequest, type TerminalRequest } from './codec.ts';
import { AcpConnection, LINK, variablesOf } from './connection.ts';
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
import { type AcpToolCall, INTERNAL, INVALID_PARAMS, NOT_FOUND, type PermissionRequest, type SessionUpdate } from './schema.ts';
import {
  type AcpLane,
  type AcpTerminal,
  type AcpTurn,
  type CommandJob,
  type FolderJob,
  type Job,
  newCommand,
  newQuestion,
  newWrite,
  type OpenPermission,
  type ReadJob,
  type ReadParams,
  rootsOf,
  type WriteJob,
  type WriteLook,
} from './state.ts';

/*
 * The requests of an ACP agent to the editor. Each request is answered once; one that takes several steps is a job (`state.jobs`). In this order: requests,
 * what the user is asked, permissions, files, commands, forms and links, replies and timers.
 */

// --- what is asked of the editor for them, and what it replies

/** Arguments of the file port. Paths come from the agent; `roots` are the session's folders. */
export type AcpFileRequest =
  /** The text of a file, for an edit of it, and whether the edit leads out of `roots`. */
  | { readonly do: 'text'; readonly path: string; readonly roots: readonly string[] }
  /**
   * Unless allowed, an existing file outside of `roots` is not read, and the reply names its folder. A missing file is reported at once, unless another
   * server had to be asked.
   */
  | ({ readonly do: 'read'; readonly roots: readonly string[]; readonly allowed: boolean } & ReadParams)
  | {
      readonly do: 'look';
      readonly path: string;
      readonly content: string;
      readonly roots: readonly string[];
      readonly refused: readonly string[];
      /** Unless allowed, a file on another server is not looked at, and the reply names its folder. */
      readonly allowed?: boolean;
    }
  | {
      readonly do: 'write';
      readonly path: string;
      readonly real: string;
      readonly text: string;
      readonly from: string | null;
      readonly content: string;
    };
/** The file port's reply about an edited file: `text` is null when there is none, and absent when it cannot be read. */
export interface EditedFile {
  readonly text?: string | null;
  readonly outside?: boolean;
}
/** Its reply to `read`: `content` is null when there is no file; `outside` names a folder that the user has not allowed. */
export type FileReadReply = { readonly content: string | null } | { readonly outside: string };
/** The file port's reply about a file before it is written; `outside` names a folder on another server that the user has not allowed. */
export type FileLook = WriteLook | { readonly outside: string };
/** Arguments of the terminal port. */
export type TerminalArgs =
  /**
   * `id`: its name in case the command cannot be started. Unless it is allowed, a command in a folder outside of `roots` is not started, and the
   * reply names the folder.
   */
  | ({ readonly do: 'create'; readonly id: string; readonly roots: readonly string[]; readonly allowed: boolean } & CommandArgs)
  /** Settles with the end of the command; what it prints meanwhile goes to the session. */
  | { readonly do: 'watch' | 'output' | 'wait_for_exit' | 'kill' | 'release'; readonly id: string }
  | { readonly do: 'end' };
interface CommandArgs {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly cwd: string;
  readonly limit: number | null;
}
/** The terminal port's reply to `create`; `outside` names a folder that the user has not allowed. */
export type Created = { readonly terminalId: string } | { readonly outside: string };
/** Arguments of the link port: read an address (the reply is null for one that cannot be shown), or open it. */
export interface LinkArgs {
  readonly do: 'look' | 'open';
  readonly url: string;
}
export type LinkReply = LinkFacts | boolean | null;
interface PortArgs {
  readonly file: AcpFileRequest;
  readonly terminal: TerminalArgs;
  readonly link: LinkArgs;
}

/** How often a question is asked again because the agent has changed the call meanwhile. */
const MOST_CHANGES = 10;
/** Commands of one turn, or between two: each is shown, and stays in the session. Nobody reads more. */
const MOST_COMMANDS = 2000;
const STOPPED = 'The user has stopped this: the command was not run.';

export abstract class AcpRequests extends AcpConnection {
  // --- what the conversation does for it

  /** Applies what a request tells about a call. */
  abstract callUpdated(turn: AcpTurn, lane: AcpLane, update: AcpToolCall, from: CallSource): AcpCall | undefined;
  /** The lane that shows what a sub-agent does. */
  abstract laneOfChild(sessionId: string, turn: AcpTurn): AcpLane | undefined;
  /** Takes in an update: here, one of ours for what no call of the agent shows. */
  abstract updated(update: SessionUpdate): void;

  // --- requests of the agent

  asked(id: string, method: string, params: unknown): void {
    if (!this.openRequest(id, LINK, { error: { code: INTERNAL, message: 'The session has ended.' } }, true)) return;
    if (method === 'elicitation/create') return this.elicitation(id, params);
    if (method === 'session/request_permission') {
      const parsed = this.codec.permission.safeParse(params);
      return parsed.success ? this.permission(id, parsed.data) : this.refuseJob(id, INVALID_PARAMS, badParams(method, parsed.error));
    }
    const { request, refusal } = readEditorRequest(this.codec, method, params);
    if (refusal) return this.refuseJob(id, refusal.code, refusal.message);
    if (!this.isKnown(request.sessionId))
      return this.refuseJob(id, INVALID_PARAMS, `There is no session ${request.sessionId.slice(0, 200)}`);
    if ('content' in request) return this.writeFile(id, request.path, request.content);
    if ('path' in request) return this.readFile(id, { path: request.path, line: request.line ?? null, limit: request.limit ?? null });
    if ('command' in request) return this.createTerminal(id, request);
    return this.aboutTerminal(id, method.slice('terminal/'.length), request.terminalId);
  }
  refuseJob(id: string, code: number, message: string, data?: unknown): void {
    this.refuse(LINK, id, code, message, data);
    this.endJob(id);
  }
  answerJob(id: string, result: unknown): void {
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
  work<P extends keyof PortArgs>(what: string, id: string, port: P, args: PortArgs[P]): void {
    this.port(null, `${what} ${id}`, port, args);
  }
  /** The conversation itself, or one of its sub-agents; before the session is open, any. */
  isKnown(sessionId: string): boolean {
    return this.isOwn(sessionId) || find(this.state.children, sessionId) !== undefined;
  }
  isOwn(sessionId: string): boolean {
    return this.state.session === null || sessionId === this.state.session.id;
  }
  /** The agent withdraws a request: its asks are closed. Work under way continues and is answered. */
  withdrawn(id: string): void {
    const job = find(this.state.jobs, id);
    if (job?.is === 'permission') return this.closeQuestion(job, CANCELLED_OUTCOME, 'withdrawn');
    for (const ask of Object.values(this.state.asks)) if (ask.requests.includes(id)) this.settleAsk(ask, { kind: 'cancelled' });
  }

  // --- asks

  questions(): readonly OpenPermission[] {
    return Object.values(this.state.jobs).filter((job) => job.is === 'permission');
  }
  /** Asks the user before a request is carried out. Rules never answer, because they are about the workspace. */
  askPermission(id: string, what: PermissionSubject, allow: string): void {
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
  /** Why the answer does not fit this ask, in words. */
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
    return which ?? t('The answer to “{0}” does not fit what was asked.', shown.title);
  }
  /** Closes the ask and carries out the answer. Cancelled, it allows nothing. */
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
  override cancelAsks(): void {
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
        return this.answerJob(id, formReply(job.request, answer) ?? FORM_CANCELLED);
      case 'link':
        return isAllowed ? this.openLink(id, job) : this.answerJob(id, isSaid ? FORM_DECLINED : FORM_CANCELLED);
      case 'write':
        return this.writeDecided(id, job, isAllowed);
      case 'command':
        return this.commandDecided(id, job, isAllowed);
    }
  }

  // --- permissions

  /** The call inside the request updates it, whether it was announced or not; the question opens when its edits have been placed. */
  permission(id: string, given: PermissionRequest): void {
    const { state } = this;
    const { turn } = state;
    if (!this.isKnown(given.sessionId) || turn?.phase === 'stopping' || turn?.by === 'record') return this.answerJob(id, CANCELLED_OUTCOME);
    const child = this.isOwn(given.sessionId) ? undefined : find(state.children, given.sessionId);
    const own = child && turn ? this.laneOfChild(given.sessionId, turn) : undefined;
    const request = own && given.toolCall ? { ...given, toolCall: ofChild(given.sessionId, given.toolCall) } : given;
    const lane = own ?? turn?.main;
    const call = turn && lane && request.toolCall ? this.callUpdated(turn, lane, request.toolCall, 'permission') : undefined;
    const facts = call && request.toolCall ? askedFacts(call, request.toolCall) : factsOf(request.toolCall);
    if (facts.tooMuch) return this.answerJob(id, CANCELLED_OUTCOME);
    const place = { turnId: turn?.id ?? null, callId: call?.id ?? null, asker: child?.title ?? null };
    const question = this.job<OpenPermission>(id, newQuestion(id, request, facts, place));
    if (turn && call) {
      call.questions += 1;
      call.decision = call.decision === 'unanswered' ? 'none' : call.decision;
      this.showChanges(turn, call);
    }
    this.showQuestion(question);
  }
  /** Merges an update of a call into the question about it. The user answers only what they see. */
  questionUpdated(question: OpenPermission, call: AcpCall, update: AcpToolCall, from: CallSource, stopped: Stopped): void {
    const before = itemsOf(question.facts);
    mergeAsked(question.facts, call, update, from, stopped);
    if (question.facts.tooMuch) return this.closeQuestion(question, CANCELLED_OUTCOME, 'withdrawn');
    // Another edit is not answered by what was shown of the one before, though its file has still to be read.
    if (itemsOf(question.facts) !== before && question.askId !== null && !this.withdrawQuestion(question)) return;
    this.showQuestion(question);
  }
  /** Returns false, and cancels the question, when it has changed too often to be answered. */
  withdrawQuestion(question: OpenPermission): boolean {
    const ask = question.askId === null ? undefined : find(this.state.asks, question.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
    question.askId = null;
    question.rounds += 1;
    if (question.rounds <= MOST_CHANGES) return true;
    this.closeQuestion(question, CANCELLED_OUTCOME, 'withdrawn');
    return false;
  }
  /** Shows it as it is now, once all that it shows is known. A question that has become another is withdrawn and asked again. */
  showQuestion(question: OpenPermission): void {
    if (isReading(question.facts)) return;
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
  questionAsk({ facts, request, turnId, asker, title }: OpenPermission, id: string): Ask {
    return permissionAsk(id, facts.title === title ? request : untitled(request), facts, { cwd: this.state.setup.cwd, turnId, asker });
  }
  closeQuestion(question: OpenPermission, outcome: PermissionOutcome, how: 'answered' | 'cancelled' | 'withdrawn'): void {
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
      this.showChanges(turn, call);
    }
    if (!turn || ask?.shown.kind !== 'approval') return;
    if (effect === 'allow') noteAllowed(turn.decided, ask.shown, state.setup.cwd);
    else if (effect === 'reject') noteRefused(turn.decided, ask.shown, call, state.setup.cwd);
  }

  /** Shows what has changed of a call. */
  showChanges(turn: AcpTurn, call: AcpCall): void {
    const change = takeChange(call);
    if (change) this.changeCall(turn, call.id, change);
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
    const read = result as FileReadReply;
    if ('outside' in read) return this.askFolder(id, job, read.outside, readSubject(path));
    if (read.content !== null) return this.answerJob(id, { content: read.content });
    if (this.state.agent?.quirks.missingFileIsEmpty) return this.answerJob(id, { content: '' });
    return this.refuseJob(id, NOT_FOUND, `Resource not found: ${path}`, { uri: path });
  }
  /** Asks once a folder whether the agent may read, or run commands, in it. */
  askFolder(id: string, job: FolderJob, folder: string, what: PermissionSubject): void {
    job.folder = folder;
    const known = find(this.foldersFor(job), folder);
    if (known !== undefined) return this.folderDecided(id, job, known);
    this.askPermission(id, { ...what, title: t('{0} (outside the workspace)', what.title) }, t('Allow in this folder'));
  }
  foldersFor({ is }: FolderJob): Table<boolean> {
    return this.state.folders[is === 'command' ? 'command' : 'read'];
  }
  /** An answer about a folder holds for the session. */
  folderDecided(id: string, job: FolderJob, isAllowed: boolean): void {
    if (job.is === 'read' || job.is === 'write') {
      const { path } = job.is === 'read' ? job.params : job;
      if (!isAllowed) return this.refuseJob(id, INTERNAL, `The user did not allow reading outside the workspace: ${path}`);
      if (job.is === 'read') return this.readNow(id, job, true);
      job.folder = null;
      job.mayLook = true;
      return this.lookAtFile(id, job);
    }
    if (isAllowed) return this.startCommand(id, job, true);
    this.refuseJob(id, INTERNAL, `The user did not allow commands outside the workspace, in ${job.cwd}`);
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
    if (this.state.agent?.quirks.mirrorsWrites) return this.answerJob(id, {});
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
    if (same || (mirrors && place !== 'inside')) return this.answerJob(id, {});
    const wasShown = evident && wasAllowed(decided, target, job.content);
    if (refusedPath === null && (place === 'inside' || wasShown)) return this.mergeWrite(id, job, look);
    job.step = 'asking';
    this.askPermission(id, writeSubject(look, job.content), t('Allow'));
  }
  /** Such an agent mirrors what it has written already; others are refused after a stop. */
  stopsWrite(id: string, job: WriteJob): boolean {
    if (!this.isStopped() || this.state.agent?.quirks.mirrorsWrites) return false;
    this.refuseJob(id, INTERNAL, `The user has stopped this: ${job.look?.target ?? job.path} was not written.`);
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
      return this.refuseJob(id, INTERNAL, `The user has changed ${look.target} meanwhile and kept that. Read it again.`);
    }
    const decided = this.decidedIn(job.turnId);
    if (!isAllowed) {
      if (decided) put(decided.refusedWrites, look.target, true);
      return this.refuseJob(id, INTERNAL, `The user did not allow writing ${job.path}`);
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
    this.askPermission(id, mergeSubject(look, job.content), t('Allow'));
  }
  writeNow(id: string, job: WriteJob, text: string): void {
    if (!job.look || this.stopsWrite(id, job)) return;
    job.step = 'writing';
    job.text = text;
    const { target, real, before } = job.look;
    this.work('write', id, 'file', { do: 'write', path: target, real, text, from: before, content: withoutMark(job) });
  }

  /** The agent wrote through us, so both sides are known for certain. */
  wroteFile(diff: Diff): void {
    let call = this.state.turn && callThatWrote(this.state.turn.calls, diff.path);
    if (!call) {
      const toolCallId = this.newId();
      const locations = [{ path: diff.path }];
      const title = t('Edit {0}', diff.path);
      this.updated({ sessionUpdate: 'tool_call', toolCallId, title, kind: 'edit', status: 'completed', locations });
      call = this.state.turn && (find(this.state.turn.calls, toolCallId) ?? null);
    }
    const { turn } = this.state;
    if (!turn || !call) return;
    noteWritten(call, diff);
    this.showChanges(turn, call);
  }

  // --- commands: what a terminal has printed stays in the session after it was released

  createTerminal(id: string, request: TerminalRequest): void {
    const turnId = this.state.turn?.id ?? null;
    const { commands } = this.state;
    const count = commands.turnId === turnId ? commands.count + 1 : 1;
    if (count > MOST_COMMANDS) return this.refuseJob(id, INTERNAL, `More than ${MOST_COMMANDS} commands in one turn.`);
    this.state.commands = { turnId, count };
    this.startCommand(id, this.job(id, newCommand(request, this.state)), false);
  }
  /** Asks about each objection to the command, one after the other, and then runs it. `allowed`: also outside the session's folders. */
  startCommand(id: string, job: CommandJob, allowed: boolean): void {
    if (this.isStopped()) return this.refuseJob(id, INTERNAL, STOPPED);
    const { line, command, args, env, cwd, limit } = job;
    const against = this.against(job);
    job.folder = null;
    if (against) {
      return this.askPermission(id, commandSubject(againstTitle(against), line, cwd), t('Allow'));
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
  against(job: CommandJob): RejectedSubject | undefined {
    const decided = this.decidedIn(job.turnId);
    return decided && refusedFor(job, decided);
  }
  /** An answer about a refused command holds for the turn. */
  commandDecided(id: string, job: CommandJob, isAllowed: boolean): void {
    const { line, cwd } = job;
    if (!isAllowed) return this.refuseJob(id, INTERNAL, rejectedAgainst(this.against(job) ?? 'command', line));
    const decided = this.decidedIn(job.turnId);
    if (decided) allowDetails(decided, [{ type: 'command', command: line }], cwd);
    this.startCommand(id, job, false);
  }
  terminalCreated(id: string, job: CommandJob, terminalId: string): void {
    if (this.isStopped()) {
      this.work('release', terminalId, 'terminal', { do: 'release', id: terminalId });
      return this.refuseJob(id, INTERNAL, STOPPED);
    }
    const { line, turnId } = job;
    put<AcpTerminal>(this.state.terminals, terminalId, { line, turnId, code: 'running', stopped: false, seen: 'unseen' });
    this.emit({ type: 'terminal.changed', terminal: { id: terminalId, command: line, stops: true } });
    this.work('exit', terminalId, 'terminal', { do: 'watch', id: terminalId });
    this.timer(`show ${terminalId}`, this.limits.unseen);
    this.answerJob(id, { terminalId });
  }
  aboutTerminal(id: string, verb: string, terminalId: string): void {
    if (find(this.state.terminals, terminalId)) this.port(null, `terminal ${id}`, 'terminal', { do: verb, id: terminalId });
    else this.refuseJob(id, NOT_FOUND, `There is no terminal ${terminalId}`);
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
    this.updated({ sessionUpdate: 'tool_call', toolCallId, title: terminal.line, kind: 'execute', status: 'in_progress', content });
    if (terminal.code !== 'running') this.ownCallEnded(terminal);
  }
  ownCallEnded({ seen, code }: AcpTerminal): void {
    const { turn } = this.state;
    if (typeof seen === 'string' || !turn || !find(turn.calls, seen.callId)) return;
    this.updated({ sessionUpdate: 'tool_call_update', toolCallId: seen.callId, status: code === 0 ? 'completed' : 'failed' });
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
      if (turn?.phase === 'stopping' || (sessionId != null && !this.isKnown(sessionId))) return this.answerJob(id, FORM_CANCELLED);
      this.job(id, { is: 'form', request: form });
      this.ask(formAsk(this.newId(), form, turn?.id), null, id);
    } else if (link) {
      this.job(id, { is: 'link', request: link, step: 'looking' });
      this.work('link', id, 'link', { do: 'look', url: link.url });
    } else this.refuseJob(id, INVALID_PARAMS, fault);
  }
  linkReplied(id: string, job: Extract<Job, { is: 'link' }>, result: unknown): void {
    const { turn } = this.state;
    if (job.step === 'opening') return this.answerJob(id, result === true ? LINK_OPENED : FORM_DECLINED);
    const facts = result as LinkFacts | null;
    if (!facts) return this.refuseJob(id, INVALID_PARAMS, 'A request of the mode "url" cannot be shown.');
    if (turn?.phase === 'stopping') return this.answerJob(id, FORM_CANCELLED);
    job.step = 'asking';
    this.ask(linkAsk(this.newId(), job.request, facts, turn?.id), null, id);
  }
  openLink(id: string, job: Extract<Job, { is: 'link' }>): void {
    job.step = 'opening';
    this.work('link', id, 'link', { do: 'open', url: job.request.url });
  }

  // --- replies and timers

  override replied(what: string, id: string, result: unknown, error: Failure | undefined): void {
    switch (what) {
      case 'exit':
        return error ? undefined : this.commandEnded(id, result);
      case 'terminal':
        return error ? this.refuseJob(id, error.code ?? INTERNAL, error.message) : this.answerJob(id, result);
      case 'read':
      case 'write':
      case 'command':
      case 'link':
        return this.jobReplied(id, result, error);
      default:
        return super.replied(what, id, result, error);
    }
  }
  jobReplied(id: string, result: unknown, error: Failure | undefined): void {
    const job = find(this.state.jobs, id);
    if (!job) return;
    if (error) return this.refuseJob(id, error.code ?? INTERNAL, error.message);
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
  override elapsed(what: string, id: string): void {
    if (what === 'show') this.showCommand(id);
    else super.elapsed(what, id);
  }
}

/** A file that is there keeps its own mark. */
const withoutMark = ({ content, look }: WriteJob): string => (look?.before === null ? content : content.replace(/^\uFEFF/, ''));
