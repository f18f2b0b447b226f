import { t } from '../../base/l10n.ts';
import type { Log } from '../../base/log.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { AskId } from '../../session/model.ts';
import { failure, unanswered } from '../../transport/jsonrpc.ts';
import type { Tool } from '../ports.ts';
import { runTool } from '../runTool.ts';
import { approvalAnswer, approvalOf, isBackground, questionAnswer, questionOf } from './asks.ts';
import { lastCall, type TurnMemory } from './memory.ts';
import { type AnswerResult, codes, type RequestPayload, requests } from './schema.ts';
import { addNotice } from './streaming.ts';

type Result = AnswerResult[keyof AnswerResult] | typeof unanswered;

/** A request of theirs that waits for its answer. */
interface Open {
  readonly background: boolean;
  readonly answer: Promise<Result>;
  /** Settles it; later calls change nothing. */
  readonly settle: (result: Result) => void;
  /** What says no in this kind of request. */
  readonly refusal: AnswerResult[keyof AnswerResult];
  /** How an answer of the user becomes a result. */
  readonly convert?: (answer: Answer) => Result;
}

export interface RequestsDeps {
  readonly emit: (event: SessionEvent) => void;
  /** Finds one of our tools by the name the server knows it by. */
  readonly tools: () => readonly Tool[];
  readonly turn: () => TurnMemory | undefined;
  /** The server takes words along with a rejection. */
  readonly feedback: () => boolean;
  readonly log: Log;
}

/** Requests of the server that are open. Every one is answered once: by a user, a tool, a stop, or the server itself. */
export class OpenRequests {
  readonly #deps: RequestsDeps;
  readonly #asks = new Map<AskId, Open>();
  readonly #others = new Set<Open>();
  /** While the turn is being stopped, what comes is refused at once: some servers would wait for it for ever (wire.md §9.1). */
  #refusing = false;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
  }

  /** The answer to a request; rejects with a JSON-RPC failure for one that nobody knows or can read. */
  take(type: string, payload: unknown): Promise<Result> {
    if (!Object.hasOwn(requests, type)) return Promise.reject(failure(codes.unknownMethod, `Unknown request type: ${type}`));
    const kind = type as keyof typeof requests;
    const parsed = requests[kind].safeParse(payload);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return Promise.reject(failure(codes.badParams, `Bad ${type}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`));
    }
    const open = this.#open(kind, parsed.data as never);
    if (this.#refusing && !open.background) open.settle(open.refusal);
    return open.answer;
  }

  /** False when no such ask is open. */
  answer(askId: AskId, answer: Answer): boolean {
    const open = this.#asks.get(askId);
    if (!open?.convert) return false;
    open.settle(open.convert(answer));
    this.#deps.emit({ type: 'ask.closed', askId, how: answer.kind === 'cancelled' ? 'cancelled' : 'answered' });
    return true;
  }

  /** The server has settled it: nothing is sent any more. False when it was not open. */
  settledElsewhere(askId: AskId): boolean {
    const open = this.#asks.get(askId);
    open?.settle(unanswered);
    return open !== undefined;
  }

  /** Says no to everything that belongs to the turn, and to what still comes, until the turn has ended. */
  refuseAll(): void {
    this.#refusing = true;
    this.#settleForeground((open) => open.refusal, 'cancelled');
  }

  /** The turn is over: the server has settled what was open. */
  turnEnded(): void {
    this.#refusing = false;
    this.#settleForeground(() => unanswered, 'withdrawn');
  }

  /** The connection is over. */
  dispose(): void {
    for (const open of [...this.#asks.values(), ...this.#others]) open.settle(unanswered);
  }

  get size(): number {
    return this.#asks.size + this.#others.size;
  }

  #settleForeground(result: (open: Open) => Result, how: 'cancelled' | 'withdrawn'): void {
    for (const [askId, open] of [...this.#asks]) {
      if (open.background) continue;
      open.settle(result(open));
      this.#deps.emit({ type: 'ask.closed', askId, how });
    }
    for (const open of [...this.#others]) open.settle(result(open));
  }

  #open<K extends keyof RequestPayload>(kind: K, payload: RequestPayload[K]): Open {
    switch (kind) {
      case 'ApprovalRequest':
        return this.#approval(payload as RequestPayload['ApprovalRequest']);
      case 'QuestionRequest':
        return this.#question(payload as RequestPayload['QuestionRequest']);
      case 'ToolCallRequest':
        return this.#tool(payload as RequestPayload['ToolCallRequest']);
      default:
        return this.#hook(payload as RequestPayload['HookRequest']);
    }
  }

  #approval(request: RequestPayload['ApprovalRequest']): Open {
    const known = this.#asks.get(request.id);
    if (known) return known;
    const background = isBackground(request);
    const turn = background ? undefined : this.#deps.turn();
    const call = lastCall(this.#deps.turn(), request.tool_call_id);
    const result = (answer: Answer) => approvalAnswer(request.id, answer, this.#deps.feedback());
    const open = this.#ask(request.id, background, { request_id: request.id, response: 'reject' }, (answer) => {
      const given = result(answer);
      if (given.response === 'approve_for_session') this.#remember(request.action, turn);
      if (call && turn && !call.finished) {
        call.rejected = given.response === 'reject';
        this.#callChanged(turn, call.callId, call.rejected ? 'rejected' : 'running');
      }
      return given;
    });
    if (call && turn) {
      turn.asked.set(request.id, call);
      this.#callChanged(turn, call.callId, 'waiting');
    }
    if (this.#refusing && !background) return open;
    this.#deps.emit({
      type: 'ask.opened',
      ask: approvalOf(request, { ...(turn ? { turnId: turn.turnId } : {}), ...(call ? { call } : {}) }),
    });
    return open;
  }

  /** It holds for more than what was asked, and nothing else says so afterwards (wire.md §13). */
  #remember(action: string, turn: TurnMemory | undefined): void {
    const text = t('Every later "{0}" of this session runs without asking', action);
    this.#deps.emit(turn ? addNotice('info', text, turn, turn.main) : { type: 'notice', notice: { level: 'info', text } });
  }

  #question(request: RequestPayload['QuestionRequest']): Open {
    const known = this.#asks.get(request.id);
    if (known) return known;
    const turn = this.#deps.turn();
    const call = request.tool_call_id ? lastCall(turn, request.tool_call_id) : undefined;
    const dismissed = questionAnswer(request, { kind: 'cancelled' });
    const open = this.#ask(request.id, false, dismissed, (answer) => questionAnswer(request, answer));
    if (this.#refusing) return open;
    this.#deps.emit({
      type: 'ask.opened',
      ask: questionOf(request, { ...(turn ? { turnId: turn.turnId } : {}), ...(call ? { call } : {}) }),
    });
    return open;
  }

  #ask(id: AskId, background: boolean, refusal: Open['refusal'], convert: NonNullable<Open['convert']>): Open {
    const open = waiting(background, refusal, () => this.#asks.delete(id), convert);
    this.#asks.set(id, open);
    return open;
  }

  #tool(request: RequestPayload['ToolCallRequest']): Open {
    const stop = new AbortController();
    const result = (ok: boolean, text: string): AnswerResult['ToolCallRequest'] => ({
      tool_call_id: request.id,
      return_value: { is_error: !ok, output: text, message: firstLine(text), display: [] },
    });
    const open = waiting(false, result(false, 'Cancelled.'), () => {
      this.#others.delete(open);
      stop.abort();
    });
    this.#others.add(open);
    if (this.#refusing) return open;
    const turn = this.#deps.turn();
    const call = lastCall(turn, request.id);
    if (turn && call) this.#callChanged(turn, call.callId, 'running');
    const run = { name: request.name, input: request.arguments ?? '', signal: stop.signal, log: this.#deps.log };
    void runTool(this.#deps.tools(), run).then((answer) => open.settle(result(answer.ok, answer.text)));
    return open;
  }

  /** We subscribe to no hooks; one that comes all the same is let through. */
  #hook(request: RequestPayload['HookRequest']): Open {
    const allow = { request_id: request.id, action: 'allow', reason: '' } as const;
    const open = waiting(false, allow, () => {});
    open.settle(allow);
    return open;
  }

  #callChanged(turn: TurnMemory, callId: string, status: 'waiting' | 'running' | 'rejected'): void {
    this.#deps.emit({ type: 'call.changed', turnId: turn.turnId, callId, change: { status } });
  }
}

function waiting(background: boolean, refusal: Open['refusal'], done: () => void, convert?: Open['convert']): Open {
  let resolve: (result: Result) => void = () => {};
  const answer = new Promise<Result>((give) => {
    resolve = give;
  });
  const settle = (result: Result): void => {
    resolve(result);
    done();
  };
  return { background, answer, settle, refusal, ...(convert ? { convert } : {}) };
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.slice(0, 500) ?? '';
}
