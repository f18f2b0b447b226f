import { randomUUID } from 'node:crypto';
import { isRecord } from '../../../protocols/ai-sdk/schema.ts';
import type { AgentEvent, ApprovalAnswer, ApprovalRequest, Frontend, Moment } from '../../frontend.ts';
import type { ToolOffer } from '../../models/model.ts';
import { done, failed, type Outcome } from '../../tools/tool.ts';
import type { Chunks } from './chunks.ts';
import { asText } from './fromMessages.ts';
import { APPROVAL_TOOL, type Terms } from './request.ts';
import type { Responses } from './responses.ts';

/** The UI message stream, as the loop sees it. */
export class ChatFrontend implements Frontend {
  readonly asksQuestions = false;
  readonly hasPlanMode = false;
  readonly #responses: Responses;
  readonly #chunks: Chunks;
  readonly #terms: Terms;
  readonly #results = new Map<string, Outcome>();
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  readonly #asked = new Map<string, (answer: ApprovalAnswer) => void>();

  constructor(responses: Responses, chunks: Chunks, terms: Terms) {
    this.#responses = responses;
    this.#chunks = chunks;
    this.#terms = terms;
  }

  emit(said: AgentEvent): void {
    this.#chunks.emit(said);
  }

  /** The tool by which approvals are asked is ours to call, not the model's. */
  clientTools(): readonly ToolOffer[] {
    return this.#terms.tools.filter((tool) => tool.name !== APPROVAL_TOOL);
  }

  async question(): Promise<undefined> {
    return undefined;
  }

  async hook(moment: Moment): Promise<undefined> {
    if (moment === 'PreToolUse') await this.#responses.attended();
    return undefined;
  }

  async callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<Outcome> {
    const known = this.#results.get(call.id);
    this.#results.delete(call.id);
    return known ?? this.#waitFor(call.id, signal);
  }

  /** False when nobody waits for that call. A result may come before the loop has got that far. */
  result(id: string, value: unknown, isError: boolean): boolean {
    const outcome = isError ? failed(asText(value)) : done(asText(value), '');
    const announced = this.#chunks.handIn(id, value);
    const waiting = this.#waiting.get(id);
    if (waiting) waiting(outcome);
    else if (announced) this.#results.set(id, outcome);
    return waiting !== undefined || announced;
  }

  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const answer = await this.#ask(request, signal);
    if (!answer.allow) this.#chunks.deny(request.callId);
    return answer;
  }

  /** The call is known to the turn that runs. */
  isOpen(toolCallId: string): boolean {
    return this.#chunks.knows(toolCallId);
  }

  /** False when there is no such approval. */
  verdict(id: string, answer: ApprovalAnswer): boolean {
    const asked = this.#asked.get(id);
    asked?.(answer);
    return asked !== undefined;
  }

  async #ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (this.#terms.oldest) return this.#askByTool(request, signal);
    this.#chunks.announce(request.callId, request.tool, { description: request.description });
    const approvalId = randomUUID();
    this.#responses.write({
      type: 'tool-approval-request',
      approvalId,
      toolCallId: request.callId,
      ...(this.#terms.newest ? { reason: request.description } : {}),
    });
    return this.#until(this.#asked, approvalId, signal, () => this.#responses.suspend());
  }

  async #askByTool(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const id = randomUUID();
    const input = { tool: request.tool, action: request.action, description: request.description };
    const awaited = this.#terms.holds ? { state: 'requires-action' } : {};
    this.#responses.write({ type: 'tool-input-available', toolCallId: id, toolName: APPROVAL_TOOL, input, ...awaited });
    const outcome = await this.#waitFor(id, signal).catch((error: unknown) => {
      if (this.#terms.holds)
        this.#responses.write({ type: 'tool-output-error', toolCallId: id, errorText: 'Cancelled before it was answered.' });
      throw error;
    });
    if (this.#terms.holds) this.#responses.write({ type: 'tool-output-available', toolCallId: id, output: outcome.text });
    return verdictIn(outcome);
  }

  #waitFor(id: string, signal: AbortSignal): Promise<Outcome> {
    return this.#until(this.#waiting, id, signal, () => {
      if (!this.#terms.holds) this.#responses.suspend();
    });
  }

  #until<T>(waiting: Map<string, (value: T) => void>, id: string, signal: AbortSignal, then: () => void): Promise<T> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const stopped = () => settle(() => reject(signal.reason as Error));
      const settle = (how: () => void) => {
        waiting.delete(id);
        signal.removeEventListener('abort', stopped);
        how();
      };
      waiting.set(id, (value) => settle(() => resolve(value)));
      signal.addEventListener('abort', stopped, { once: true });
      then();
    });
  }
}

/** Only a plain yes is one. */
function verdictIn(outcome: Outcome): ApprovalAnswer {
  if (outcome.isError) return { allow: false };
  let value: unknown = outcome.text;
  try {
    value = JSON.parse(outcome.text);
  } catch {
    // Words.
  }
  const said = isRecord(value) ? value.approved : value;
  if (said === true || (typeof said === 'string' && /^(yes|true|approved?|allow(ed)?)\b/i.test(said)))
    return { allow: true, forSession: false };
  const reason = isRecord(value) && typeof value.reason === 'string' ? value.reason : undefined;
  return { allow: false, ...(reason ? { feedback: reason } : {}) };
}
