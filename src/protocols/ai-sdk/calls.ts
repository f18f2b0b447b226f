import { readJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import { find, type OfferedTool, type OpenAsk, put, remove } from '../../conversation/state.ts';
import type { Answer } from '../../session/intents.ts';
import type { Diff } from '../../session/model.ts';
import type { FileRead } from '../replacements.ts';
import {
  answeredApproval,
  approvalAsk,
  continueAsk,
  cutAt,
  isAskedEachTime,
  QUESTION_TOOL,
  questionField,
  type Verdict,
  verdictOf,
} from './codec.ts';
import { diffOf } from './edits.ts';
import { findApproval, findTool, isTerminal, setInput, stepCalls, toolNameOf } from './message.ts';
import { ChatResults } from './results.ts';
import { type Chunk, type DataApproval, type DataPart, dataApproval, isRecord, type Post, type ToolPart } from './schema.ts';
import {
  type AiSdkAskSubject,
  type AiSdkState,
  type ChatResponse,
  type ChatTurn,
  newOwnCall,
  type OpenApproval,
  type OwnCall,
  type ToolResult,
} from './state.ts';

/*
 * The calls of a turn that wait for us: those of Parley's tools, those that only we can answer, and approvals of the server's own calls. What a chunk
 * or a replay says of them comes in by `noteCall` and `caughtUp`; their answers go on as results, or with the next request.
 */

const MOST_RUNNING = 8;
/** Limit for one answer to the server, in UTF-16 units. */
const ANSWER_LIMIT = 256 * 1024;

export abstract class ChatCalls extends ChatResults {
  /** Another answer is there: the next request tells all of them, once none is missing. */
  abstract gathered(turn: ChatTurn): void;
  /** Tells the server in a request of its own. */
  abstract nextRequest(turn: ChatTurn, post: Post): void;

  // --- Calls of our tools

  /** Applies a chunk to calls and approvals. */
  noteCall(turn: ChatTurn, chunk: Chunk, part: ToolPart | undefined): void {
    if (turn.phase === 'stopping') return;
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available':
        if (part) this.announced(turn, part);
        if (chunk.state === 'requires-action') this.awaits(turn, chunk.toolCallId);
        return;
      case 'tool-approval-request':
        this.holdCall(turn, chunk.toolCallId);
        if (part) this.approvalRequested(turn, part);
        return;
      case 'tool-approval-response':
        return this.approvalDecided(turn, chunk.approvalId);
      case 'tool-input-error':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied': {
        const own = find(turn.own, chunk.toolCallId);
        turn.tookResult ||= own?.delivery != null;
        if (own) this.withdraw(own);
        if (part?.approval) this.approvalDecided(turn, part.approval.id);
        return;
      }
      case 'reset-step':
        return this.forgetRemoved(turn);
      default:
        return;
    }
  }
  /** Only the name tells a call of Parley's tools from one of the server's. Each id begins once. */
  announced(turn: ChatTurn, part: ToolPart): void {
    const { started } = this.state;
    if (part.state !== 'input-available' || !this.isOurs(part) || find(started, part.toolCallId)) return;
    put(started, part.toolCallId, true);
    this.nextRound(turn);
    this.startCall(turn, part.toolCallId);
  }
  isOurs(part: ToolPart): boolean {
    const name = toolNameOf(part);
    return part.providerExecuted !== true && offeredTools(this.state).some((tool) => tool.name === name);
  }
  startCall(turn: ChatTurn, id: string): void {
    put(turn.own, id, newOwnCall(id, 'grace', false));
    turn.grace.push(id);
    this.timer(`grace ${id}`, this.state.setup.timing.grace);
  }
  /** No approval follows what was announced. */
  endGrace(turn: ChatTurn): void {
    for (const id of turn.grace.splice(0)) {
      this.timer(`grace ${id}`, null);
      const call = find(turn.own, id);
      if (call) this.beginCall(turn, call);
    }
  }
  graceOver(turn: ChatTurn, id: string): void {
    const call = find(turn.own, id);
    turn.grace = turn.grace.filter((one) => one !== id);
    if (call?.stage === 'grace') this.beginCall(turn, call);
  }
  beginCall(turn: ChatTurn, call: OwnCall): void {
    call.stage = turn.isRoundAsked ? 'round' : 'queued';
    this.runQueued(turn);
  }
  runQueued(turn: ChatTurn): void {
    const calls = Object.values(turn.own);
    let running = calls.filter((call) => call.stage === 'running').length;
    for (const call of calls) {
      if (call.stage !== 'queued' || running >= MOST_RUNNING) continue;
      running += 1;
      call.stage = 'running';
      this.runCall(turn, call);
    }
  }
  runCall(turn: ChatTurn, call: OwnCall): void {
    const part = findTool(this.last, call.id);
    if (!part) return this.callAnswered(turn, call, { ok: false, text: 'The call was taken back.' });
    const name = toolNameOf(part);
    if (name !== QUESTION_TOOL.name) return this.port(null, `look ${call.id}`, 'tool', { do: 'look', name, input: part.input ?? null });
    const field = questionField(part.input);
    if ('wrong' in field) return this.callAnswered(turn, call, { ok: false, text: field.wrong });
    this.showRunning(turn, call, { title: field.label.slice(0, 200) });
    const callId = this.shownId(turn, call.id);
    const ask = { kind: 'question', id: this.newId(), turnId: turn.id, callId, title: t('Question'), fields: [field] } as const;
    this.ask(ask, { what: 'question', toolCallId: call.id, isMultiple: field.many === true } satisfies AiSdkAskSubject);
  }
  effectsRead(turn: ChatTurn, call: OwnCall, look: unknown): void {
    const part = findTool(this.last, call.id);
    if (call.stage !== 'running' || !part) return;
    this.showRunning(turn, call, isRecord(look) ? look : {});
    this.port(null, `tool ${call.id}`, 'tool', { do: 'run', name: toolNameOf(part), input: part.input ?? null });
  }
  showRunning(turn: ChatTurn, call: OwnCall, look: object): void {
    this.changeCall(turn, this.shownId(turn, call.id), { status: 'running', ...look });
  }
  questionAnswered(turn: ChatTurn, { toolCallId, isMultiple }: Extract<AiSdkAskSubject, { what: 'question' }>, answer: Answer): void {
    const call = find(turn.own, toolCallId);
    if (!call) return;
    turn.rounds = 0;
    if (answer.kind !== 'fields') return this.callAnswered(turn, call, { ok: false, text: 'The user declined this action.' });
    const values = answer.values.answer ?? [];
    this.callAnswered(turn, call, { ok: true, text: JSON.stringify({ answer: isMultiple ? values : (values[0] ?? '') }) });
  }
  callAnswered(turn: ChatTurn, call: OwnCall, { ok, text, shown }: ToolResult): void {
    if (call.stage !== 'running') return;
    call.stage = 'answered';
    call.answer = { ok, text: cutAt(text, ANSWER_LIMIT) };
    const entry = this.shownOf(turn, call.id);
    if (entry) entry.own = ok ? 'result' : 'error';
    const texts = ok && text !== '' ? [{ kind: 'content', content: { type: 'text', text: call.answer.text } } as const] : [];
    this.changeCall(turn, entry?.id ?? call.id, {
      status: ok ? 'done' : 'failed',
      output: shown ?? texts,
      ...(ok ? {} : { error: { message: call.answer.text } }),
    });
    this.runQueued(turn);
    this.deliverResult(turn, call);
    this.gathered(turn);
  }
  /** The server wants an approval first: what has begun is stopped, and begins again when it is given. */
  holdCall(turn: ChatTurn, id: string): void {
    const call = find(turn.own, id);
    if (!call) return;
    this.dropCall(call);
    turn.grace = turn.grace.filter((one) => one !== id);
    remove(turn.own, id);
    this.runQueued(turn);
  }
  /** The server settled the call itself, or took it back: our answer is not wanted. */
  withdraw(call: OwnCall): void {
    if (call.stage === 'withdrawn') return;
    this.dropCall(call);
    call.stage = 'withdrawn';
    if (this.state.turn) this.runQueued(this.state.turn);
  }
  /** Stops everything that works at a call. */
  dropCall(call: OwnCall): void {
    if (call.stage === 'grace') this.timer(`grace ${call.id}`, null);
    if (call.stage === 'running') for (const port of ['look', 'tool']) this.drop(`${port} ${call.id}`);
    if (call.stage === 'running' || call.stage === 'grace' || call.stage === 'queued' || call.stage === 'round') call.stage = 'withdrawn';
    for (const ask of Object.values(this.state.asks)) {
      const about = ask.about as AiSdkAskSubject;
      if (about.what === 'question' && about.toolCallId === call.id) this.closeAsk(ask, 'withdrawn');
    }
    this.dropDelivery(call);
  }
  forgetRemoved(turn: ChatTurn): void {
    for (const call of Object.values(turn.own)) {
      if (call.stage === 'withdrawn' || findTool(this.last, call.id)) continue;
      this.withdraw(call);
      remove(this.state.started, call.id);
    }
    for (const [key, { toolCallId }] of Object.entries(turn.approvals)) {
      if (!findTool(this.last, toolCallId)) this.approvalDecided(turn, key.slice(1));
    }
  }
  /** After a replay the calls may have got further. */
  caughtUp(turn: ChatTurn, response: ChatResponse): void {
    for (const call of Object.values(turn.own)) {
      const part = findTool(this.last, call.id);
      if (part && (isTerminal(part) || part.preliminary)) this.withdraw(call);
    }
    for (const part of stepCalls(this.last, response.assembly)) {
      if (part.state === 'input-available') this.announced(turn, part);
      if (part.state === 'approval-requested') this.approvalRequested(turn, part);
      else if (part.approval) this.approvalDecided(turn, part.approval.id);
    }
  }

  // --- Calls that only we can answer

  /** The server reports that its open response waits for this call. Some do so before they announce the input as complete. */
  awaits(turn: ChatTurn, id: string): void {
    const { response } = turn;
    const part = response ? findTool(this.last, id) : undefined;
    if (!response || !part || turn.phase === 'stopping') return;
    if (part.state === 'input-streaming') {
      const input = readJson(typeof part.rawInput === 'string' && part.rawInput.trim() !== '' ? part.rawInput : '{}');
      if (input === undefined) return;
      part.state = 'input-available';
      setInput(part, input);
      this.changed(this.last.parts.lastIndexOf(part));
      this.announced(turn, part);
    }
    const own = find(turn.own, id);
    if (own) {
      own.isAwaited = true;
      return this.deliverResult(turn, own);
    }
    if (part.state !== 'input-available') return;
    this.nextRound(turn);
    const unknown = put(turn.own, id, newOwnCall(id, turn.isRoundAsked ? 'round' : 'answered', true));
    unknown.isAwaited = true;
    unknown.answer = { ok: false, text: notAvailable(part) };
    this.deliverResult(turn, unknown);
  }
  /** A call that is neither ours nor answered: the server expects a client that knows the tool, and the model should hear that there is none. */
  refuseUnknown(turn: ChatTurn, response: ChatResponse): void {
    const inData = this.dataApprovals(response).map((request) => request.toolCallId);
    for (const part of stepCalls(this.last, response.assembly)) {
      const { toolCallId } = part;
      if (part.state !== 'input-available' || part.providerExecuted === true || find(turn.own, toolCallId) || inData.includes(toolCallId))
        continue;
      const why = this.isOurs(part) ? 'A call with this id was made before; each call needs an id of its own.' : notAvailable(part);
      this.refuseCall(turn, part, why);
    }
  }
  refuseCall(turn: ChatTurn, part: ToolPart, why: string): void {
    const call = put(turn.own, part.toolCallId, newOwnCall(part.toolCallId, 'answered', true));
    call.answer = { ok: false, text: why };
    this.failPart(part, why);
  }

  // --- Rounds inside a held response: it may call for ever, and only a stop ends it

  /** Each round after the first counts. At the limit the user is asked, and the calls of the round wait. */
  nextRound(turn: ChatTurn): void {
    if (!turn.tookResult) return;
    turn.tookResult = false;
    if (turn.rounds < this.state.settings.maxAutoPosts) {
      turn.rounds += 1;
      return;
    }
    turn.isRoundAsked = true;
    this.ask(continueAsk(this.newId(), turn.id, turn.rounds), { what: 'round' } satisfies AiSdkAskSubject);
  }
  roundAllowed(turn: ChatTurn): void {
    turn.rounds = 1;
    turn.isRoundAsked = false;
    for (const call of Object.values(turn.own)) {
      if (call.stage !== 'round') continue;
      call.stage = call.answer ? 'answered' : 'queued';
      this.deliverResult(turn, call);
    }
    this.runQueued(turn);
    this.gathered(turn);
  }

  // --- Approvals of the server's calls

  /** An approval is asked once. The server decides automatic ones itself. */
  approvalRequested(turn: ChatTurn, part: ToolPart): void {
    const { approval } = part;
    if (!approval || approval.isAutomatic || find(turn.approvals, approval.id)) return;
    const { toolCallId } = part;
    if (this.isAllowed(part)) {
      put(turn.approvals, approval.id, { toolCallId, askId: null });
      return this.writeVerdict(turn, part, { approved: true, always: true });
    }
    put(turn.approvals, approval.id, { toolCallId, askId: this.newId() });
    const edit = this.isOurs(part) ? undefined : this.editOf(part);
    if (edit) this.port(null, `file ${approval.id}`, 'file', { path: edit.path });
    else this.askApproval(turn, approval.id, part);
  }
  /** The user allowed all calls of the tool. A call that turns out to change a file or to run something is asked about all the same. */
  isAllowed(part: ToolPart): boolean {
    return find(this.state.allowed, toolNameOf(part)) === true && !isAskedEachTime(part, this.state.settings.isLocal);
  }
  askApproval(turn: ChatTurn, approvalId: string, part: ToolPart, edit?: Diff): void {
    const askId = find(turn.approvals, approvalId)?.askId ?? this.newId();
    const at = { askId, turnId: turn.id, callId: this.shownId(turn, part.toolCallId) };
    this.ask(approvalAsk(part, at, this.state.settings.isLocal, edit), { what: 'approval', approvalId } satisfies AiSdkAskSubject);
  }
  /** The file of an edit was read: now the user can see what the edit does to it. */
  fileRead(turn: ChatTurn, approvalId: string, { text }: FileRead): void {
    const part = findApproval(this.last, approvalId);
    const edit = part && this.editOf(part);
    if (!part || !this.isReading(find(turn.approvals, approvalId)) || turn.phase === 'stopping') return;
    const diff = edit && diffOf(edit, text);
    if (diff) put(turn.edits, part.toolCallId, diff);
    this.askApproval(turn, approvalId, part, diff);
  }
  /** The ask waits for its file. */
  isReading(approval: OpenApproval | undefined): boolean {
    return approval !== undefined && approval.askId !== null && !find(this.state.asks, approval.askId);
  }
  /** Drops reads that were begun for asks that will not be opened. */
  stopReading(turn: ChatTurn): void {
    for (const [key, approval] of Object.entries(turn.approvals)) if (this.isReading(approval)) this.drop(`file ${key.slice(1)}`);
  }
  verdict(turn: ChatTurn, answer: Answer, part: ToolPart | undefined, name = part ? toolNameOf(part) : ''): Verdict {
    turn.rounds = 0;
    const verdict = verdictOf(answer);
    if (verdict.always && name !== '') put(this.state.allowed, name, true);
    return verdict;
  }
  approvalAnswered(turn: ChatTurn, approvalId: string, verdict: Verdict): void {
    const open = find(turn.approvals, approvalId);
    const part = findApproval(this.last, approvalId);
    if (!open) return;
    if (part?.state === 'approval-requested') {
      put(turn.approvals, approvalId, { toolCallId: open.toolCallId, askId: null });
      this.writeVerdict(turn, part, verdict);
    } else {
      remove(turn.approvals, approvalId);
    }
    this.gathered(turn);
  }
  writeVerdict(turn: ChatTurn, part: ToolPart, verdict: Verdict): void {
    if (!part.approval) return;
    part.state = 'approval-responded';
    part.approval = answeredApproval(part.approval, verdict);
    this.changed(this.last.parts.lastIndexOf(part));
    if (verdict.approved && this.isOurs(part)) this.startCall(turn, part.toolCallId);
  }
  /** The server knows the answer already, or does not want it any more. */
  approvalDecided(turn: ChatTurn, approvalId: string): void {
    const open = find(turn.approvals, approvalId);
    if (!open || open.askId === null) return;
    if (this.isReading(open)) this.drop(`file ${approvalId}`);
    remove(turn.approvals, approvalId);
    const ask: OpenAsk | undefined = find(this.state.asks, open.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
  }
  isAsking(turn: ChatTurn): boolean {
    return Object.values(turn.approvals).some((one) => one.askId !== null);
  }

  /** Approvals that came only as a data part. The answer goes beside the history, which keeps the call open. */
  dataApprovals(response: ChatResponse): readonly DataApproval[] {
    return this.last.parts.slice(response.assembly.boundary).flatMap((part) => {
      if (part.type !== 'data-tool-call-approval') return [];
      const read = dataApproval.safeParse((part as DataPart).data);
      if (!read.success || find(this.state.delivered, dataKey(read.data))) return [];
      const call = findTool(this.last, read.data.toolCallId);
      return call && (call.approval || isTerminal(call)) ? [] : [read.data];
    });
  }
  askDataApproval(turn: ChatTurn, request: DataApproval): void {
    const { toolCallId, toolName } = request;
    const part = findTool(this.last, toolCallId) ?? { type: `tool-${toolName}`, toolCallId, state: 'input-available', input: request.args };
    const name = toolNameOf(part);
    turn.stage = 'approval';
    if (this.isAllowed(part)) return this.dataApprovalAnswered(turn, request, { approved: true, always: true });
    const ask = approvalAsk(
      part,
      { askId: this.newId(), turnId: turn.id, callId: this.shownId(turn, toolCallId) },
      this.state.settings.isLocal,
    );
    this.ask(ask, { what: 'dataApproval', request, name } satisfies AiSdkAskSubject);
  }
  dataApprovalAnswered(turn: ChatTurn, request: DataApproval, { approved, reason }: Verdict): void {
    const extra = {
      resumeData: { approved, ...(reason === undefined ? {} : { reason }) },
      ...(request.runId == null ? {} : { runId: request.runId }),
    };
    this.nextRequest(turn, { trigger: 'submit-message', messageId: this.last.id, tells: [dataKey(request)], extra, continues: true });
  }
}

/** The tools that this server gets. */
export function offeredTools({ setup, settings }: AiSdkState): readonly OfferedTool[] {
  return [...setup.tools, ...(settings.fileTools ? setup.fileTools : []), QUESTION_TOOL];
}
function notAvailable(part: ToolPart): string {
  return `Tool "${toolNameOf(part).slice(0, 100)}" is not available in this editor.`;
}
function dataKey(request: DataApproval): string {
  return `data:${request.runId ?? ''}:${request.toolCallId}`;
}
