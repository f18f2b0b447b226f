import type { Answer } from '../../session/intents.ts';
import type { AdapterContext } from '../adapter.ts';
import { answerApproval, approvalAsk, type Verdict, verdictOf } from './approvals.ts';
import type { Asks } from './asks.ts';
import type { Assembly } from './assembly.ts';
import type { Telling } from './codec.ts';
import type { Conversation } from './conversation.ts';
import type { Post } from './post.ts';
import { type DataApproval, type DataPart, dataApproval, type ToolPart } from './schema.ts';
import { findTool, isTerminal, toolNameOf } from './toolParts.ts';

interface ApprovalDeps {
  readonly turnId: string;
  readonly scene: AdapterContext;
  readonly conversation: Conversation;
  readonly asks: Asks;
  readonly telling: Telling;
  readonly stopped: AbortSignal;
  readonly personActed: () => void;
}
interface Waiting {
  readonly toolCallId: string;
  readonly over: AbortController;
  readonly settled: Promise<void>;
}

/** The server's calls that wait for a user's word (ai-sdk.md §9). */
export class ServerApprovals {
  readonly #deps: ApprovalDeps;
  /** One of our own tools was allowed: it may begin. */
  readonly #begin: (part: ToolPart) => void;
  readonly #open = new Map<string, Waiting>();
  readonly #answered = new Set<string>();

  constructor(deps: ApprovalDeps, begin: (part: ToolPart) => void) {
    this.#deps = deps;
    this.#begin = begin;
  }

  /** Something is asked, or answered and not told yet. */
  get waiting(): boolean {
    const { delivered } = this.#deps.conversation;
    return this.#open.size > 0 || [...this.#answered].some((id) => !delivered.has(id));
  }

  /** A user is being asked. */
  get asking(): boolean {
    return this.#open.size > 0;
  }

  get settled(): Promise<unknown> {
    return Promise.all([...this.#open.values()].map((one) => one.settled));
  }

  answeredHere(approvalId: string): boolean {
    return this.#answered.has(approvalId);
  }

  /** An approval is asked for once. Automatic ones the server decides itself. */
  requested(part: ToolPart): void {
    const { approval } = part;
    if (!approval || approval.isAutomatic || this.#open.has(approval.id) || this.#answered.has(approval.id)) return;
    const over = new AbortController();
    const settled = this.#ask(part, over.signal).then((verdict) => {
      this.#open.delete(approval.id);
      if (!verdict || part.state !== 'approval-requested') return;
      this.#answered.add(approval.id);
      answerApproval(part, verdict);
      this.#deps.telling.changed(part);
      if (verdict.approved) this.#begin(part);
    });
    this.#open.set(approval.id, { toolCallId: part.toolCallId, over, settled });
  }

  /** The server knows the answer already, or does not want it any more. */
  decided(approvalId: string): void {
    this.#open.get(approvalId)?.over.abort();
  }

  keepOnly(exists: (toolCallId: string) => boolean): void {
    for (const one of this.#open.values()) if (!exists(one.toolCallId)) one.over.abort();
  }

  end(): void {
    for (const one of this.#open.values()) one.over.abort();
  }

  /** True when a call waits for an approval that came as a data part only (ai-sdk.md §9.9). */
  inData(assembly: Assembly, toolCallId: string): boolean {
    return this.#dataRequests(assembly).some((request) => request.toolCallId === toolCallId);
  }

  /** Asks for the first approval that came as a data part; the answer goes beside the history, which keeps the call open. */
  fromData(assembly: Assembly): Promise<Post | undefined> | undefined {
    const [request] = this.#dataRequests(assembly);
    if (!request) return undefined;
    return this.#answerData(request, assembly);
  }

  async #answerData(request: DataApproval, assembly: Assembly): Promise<Post | undefined> {
    const part: ToolPart = findTool(assembly.message, request.toolCallId) ?? {
      type: `tool-${request.toolName}`,
      toolCallId: request.toolCallId,
      state: 'input-available',
      input: request.args,
    };
    const over = new AbortController();
    const verdict = await this.#ask(part, over.signal);
    if (!verdict) return undefined;
    const { approved, reason } = verdict;
    const extra = {
      resumeData: { approved, ...(reason === undefined ? {} : { reason }) },
      ...(request.runId == null ? {} : { runId: request.runId }),
    };
    return { trigger: 'submit-message', tells: [dataKey(request)], extra, continues: true };
  }

  #dataRequests(assembly: Assembly): readonly DataApproval[] {
    return assembly.message.parts.slice(assembly.boundary).flatMap((part) => {
      if (part.type !== 'data-tool-call-approval') return [];
      const parsed = dataApproval.safeParse((part as DataPart).data);
      if (!parsed.success || this.#deps.conversation.delivered.has(dataKey(parsed.data))) return [];
      const call = findTool(assembly.message, parsed.data.toolCallId);
      return call && (call.approval || isTerminal(call)) ? [] : [parsed.data];
    });
  }

  async #ask(part: ToolPart, over: AbortSignal): Promise<Verdict | undefined> {
    const { conversation, asks, scene, telling, turnId, stopped, personActed } = this.#deps;
    const name = toolNameOf(part);
    if (conversation.allowed.has(name)) return { approved: true, always: true };
    const ask = approvalAsk(part, { askId: scene.newId(), turnId, callId: telling.idOf(part) });
    const answer: Answer | undefined = await asks.ask(ask, AbortSignal.any([over, stopped]));
    if (!answer) return undefined;
    personActed();
    const verdict = verdictOf(answer);
    if (verdict.always) conversation.allowed.add(name);
    return verdict;
  }
}

function dataKey(request: DataApproval): string {
  return `data:${request.runId ?? ''}:${request.toolCallId}`;
}
