import { randomUUID } from 'node:crypto';
import type { AgentEvent, ApprovalAnswer, ApprovalRequest, Frontend, Moment } from '../../frontend.ts';
import type { ToolOffer } from '../../models/model.ts';
import { done, failed, type Outcome } from '../../tools/tool.ts';
import { Chunks } from './chunks.ts';
import { asText, isRecord } from './json.ts';
import type { WireChunk } from './outlet.ts';

/** A client that offers a tool of this name is asked through it; clients of version 5 know no other way. */
export const APPROVAL_TOOL = 'request_approval';

export interface Pipe {
  write(chunk: WireChunk): void;
  /** Ends the response; the turn goes on with the next one. */
  suspend(): void;
  /** Settles when somebody listens. */
  attended(): Promise<void>;
}

/** The UI message stream, as the loop sees it. */
export class ChatFrontend implements Frontend {
  readonly asksQuestions = false;
  readonly hasPlanMode = false;
  readonly chunks: Chunks;
  tools: readonly ToolOffer[] = [];
  /** The response stays open while the client works. */
  holds = false;
  readonly #pipe: Pipe;
  readonly #results = new Map<string, Outcome>();
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  readonly #asked = new Map<string, (answer: ApprovalAnswer) => void>();

  constructor(pipe: Pipe) {
    this.#pipe = pipe;
    this.chunks = new Chunks(
      (chunk) => pipe.write(chunk),
      (name) => this.tools.some((tool) => tool.name === name),
    );
  }

  emit(said: AgentEvent): void {
    this.chunks.say(said);
  }

  /** The tool by which approvals are asked is ours to call, not the model's. */
  clientTools(): readonly ToolOffer[] {
    return this.tools.filter((tool) => tool.name !== APPROVAL_TOOL);
  }

  async question(): Promise<undefined> {
    return undefined;
  }

  async hook(moment: Moment): Promise<undefined> {
    if (moment === 'PreToolUse') await this.#pipe.attended();
    return undefined;
  }

  async callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<Outcome> {
    const known = this.#results.get(call.id);
    this.#results.delete(call.id);
    return known ?? this.#waitFor(call.id, signal);
  }

  /** False when nobody waits for that call. A result may come before the loop has got that far. */
  result(id: string, value: unknown, isError: boolean, announced: boolean): boolean {
    const outcome = isError ? failed(asText(value)) : done(asText(value), '');
    if (announced) this.chunks.handedIn.set(id, value);
    const waiting = this.#waiting.get(id);
    if (waiting) waiting(outcome);
    else if (announced) this.#results.set(id, outcome);
    return waiting !== undefined || announced;
  }

  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const answer = await this.#ask(request, signal);
    if (!answer.allow) this.chunks.deny(request.callId);
    return answer;
  }

  /** The call is known to the turn that runs. */
  isOpen(toolCallId: string): boolean {
    return this.chunks.knows(toolCallId);
  }

  /** False when there is no such approval. */
  verdict(id: string, answer: ApprovalAnswer): boolean {
    const asked = this.#asked.get(id);
    asked?.(answer);
    return asked !== undefined;
  }

  async #ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (this.chunks.oldest) return this.#askByTool(request, signal);
    this.chunks.announce(request.callId, request.tool, { description: request.description });
    const approvalId = randomUUID();
    this.#pipe.write({
      type: 'tool-approval-request',
      approvalId,
      toolCallId: request.callId,
      ...(this.chunks.newest ? { reason: request.description } : {}),
    });
    return this.#until(this.#asked, approvalId, signal, () => this.#pipe.suspend());
  }

  async #askByTool(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const id = randomUUID();
    const input = { tool: request.tool, action: request.action, description: request.description };
    const awaited = this.holds ? { state: 'requires-action' } : {};
    this.#pipe.write({ type: 'tool-input-available', toolCallId: id, toolName: APPROVAL_TOOL, input, ...awaited });
    const outcome = await this.#waitFor(id, signal).catch((error: unknown) => {
      if (this.holds) this.#pipe.write({ type: 'tool-output-error', toolCallId: id, errorText: 'Cancelled before it was answered.' });
      throw error;
    });
    if (this.holds) this.#pipe.write({ type: 'tool-output-available', toolCallId: id, output: outcome.text });
    return verdictIn(outcome);
  }

  #waitFor(id: string, signal: AbortSignal): Promise<Outcome> {
    return this.#until(this.#waiting, id, signal, () => {
      if (!this.holds) this.#pipe.suspend();
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
