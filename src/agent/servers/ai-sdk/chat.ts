import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { type Model, ModelError } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { APPROVAL_TOOL, ChatFrontend } from './chatFrontend.ts';
import { answeredApprovals, historyOf, outcomeIn, toolName, userParts, verdictsIn } from './fromMessages.ts';
import { lentTools } from './lentTools.ts';
import type { Outlet, WireChunk } from './outlet.ts';
import type { ChatRequest, ClientMessage } from './request.ts';
import { Stream } from './stream.ts';

/** Said to a model whose turn this process has forgotten, behind results that came for it. */
const GO_ON = 'The results above have just come. Go on from there.';

/** One chat: its conversation, at most one turn, and the response that turn writes into just now. */
export class Chat {
  readonly #conversation: Conversation;
  readonly #frontend: ChatFrontend;
  #turn: Promise<void> | undefined;
  #stream: Stream | undefined;
  /** Said while no response was open. */
  #queue: WireChunk[] = [];
  #messageId = '';
  /** What the client's last request said under `system`. */
  #instructions = '';
  readonly #announced = new Set<string>();
  /** Nobody listens; they may come back. */
  #away: NodeJS.Timeout | undefined;
  readonly #awayLimit: number;
  readonly #untilBack: (() => void)[] = [];

  /** `awayLimit`: how long a turn goes on with nobody listening, in milliseconds. */
  constructor(model: Model, workspace: Workspace, awayLimit: number) {
    this.#awayLimit = awayLimit;
    this.#frontend = new ChatFrontend({
      write: (chunk) => this.#write(chunk),
      suspend: () => this.#suspend(),
      attended: () => this.#attended(),
    });
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, instructions: () => this.#instructions });
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** Answers one request of the client's. The outlet is ended when the client has to act, or when the turn is over. */
  async post(request: ChatRequest, outlet: Outlet): Promise<void> {
    const messages = request.messages ?? (request.message ? [request.message] : []);
    const last = messages.at(-1);
    this.#instructions = request.system ?? '';
    this.#frontend.holds = request.hold ?? request.sessionId != null;
    this.#frontend.chunks.newest = request.sessionId != null;
    this.#frontend.chunks.echoes = this.#frontend.holds;
    const { offers, problems } = await lentTools(request, takenNames);
    for (const problem of problems) process.stderr.write(`parley-agent: ${problem}\n`);
    this.#frontend.tools = offers;
    this.#frontend.chunks.oldest = offers.some((tool) => tool.name === APPROVAL_TOOL);
    if (!last) return outlet.end();
    if (last.role === 'assistant' && this.busy) return this.#goOn(last, outlet);
    await this.stop();
    if (last.role === 'assistant') {
      this.#begin(outlet, last.id ?? randomUUID());
      this.#settleForgotten(last);
      this.#conversation.history.replace(historyOf(messages));
      return this.#run([{ type: 'text', text: GO_ON }]);
    }
    this.#begin(outlet, randomUUID());
    // A client that posts everything may have edited it; one that posts the newest message trusts our memory.
    if (request.messages) this.#conversation.history.replace(historyOf(messages.slice(0, -1)));
    return this.#run(userParts(last));
  }

  /** A result for a call that waits in an open response. */
  result(id: string, value: unknown, isError: boolean): boolean {
    return this.#frontend.result(id, value, isError, this.#announced.delete(id));
  }

  /** Ends the turn that runs; settles when it is over. */
  async stop(): Promise<void> {
    this.#conversation.cancel();
    this.#back();
    await this.#turn;
  }

  /** A client came back for the response it lost. False when there is none. */
  resume(outlet: () => Outlet): boolean {
    if (!this.#stream?.resumable) return false;
    this.#back();
    const stream = this.#stream;
    if (stream.ended) this.#stream = undefined;
    stream.attach(outlet());
    return true;
  }

  /** The client has gone. It may be back in a moment; if it is not, nobody is there to act or to read. */
  gone(outlet: Outlet): void {
    const stream = this.#stream;
    if (!stream?.detach(outlet) || stream.heard) return;
    this.#away = setTimeout(() => {
      this.#stream = undefined;
      void this.stop();
    }, this.#awayLimit);
  }

  #back(): void {
    clearTimeout(this.#away);
    this.#away = undefined;
    for (const go of this.#untilBack.splice(0)) go();
  }

  /** What has begun goes on without anybody listening; nothing new begins. */
  #attended(): Promise<void> {
    return this.#away === undefined ? Promise.resolve() : new Promise((resolve) => this.#untilBack.push(resolve));
  }

  #begin(outlet: Outlet, messageId: string): void {
    this.#messageId = messageId;
    this.#queue = [];
    this.#announced.clear();
    this.#attach(outlet);
  }

  #attach(outlet: Outlet): void {
    this.#back();
    const stream = new Stream();
    this.#stream = stream;
    stream.attach(outlet);
    stream.write({ type: 'start', messageId: this.#messageId });
    for (const chunk of this.#queue.splice(0)) stream.write(chunk);
  }

  /** The client acted: answers and results go to those who wait for them. */
  #goOn(message: ClientMessage, outlet: Outlet): void {
    if (message.id != null) this.#messageId = message.id;
    this.#stream?.end();
    this.#attach(outlet);
    let news = 0;
    for (const { id, approved, reason } of verdictsIn(message)) {
      const answer = approved
        ? ({ allow: true, forSession: false } as const)
        : { allow: false as const, ...(reason ? { feedback: reason } : {}) };
      if (this.#frontend.verdict(id, answer)) news += 1;
    }
    this.#settleForgotten(message);
    for (const part of message.parts) {
      const outcome = toolName(part) === undefined ? undefined : outcomeIn(part);
      if (outcome && typeof part.toolCallId === 'string' && this.result(part.toolCallId, outcome.text, outcome.isError)) news += 1;
    }
    if (news === 0) this.#suspend();
  }

  /** An approval that nobody waits for any more is not left standing in the client: its call was not made. */
  #settleForgotten(message: ClientMessage): void {
    for (const { toolCallId, approved } of answeredApprovals(message)) {
      if (this.#frontend.isOpen(toolCallId)) continue;
      if (approved)
        this.#write({
          type: 'tool-output-error',
          toolCallId,
          errorText: 'The agent no longer waits for this answer. The call was not made.',
        });
      else this.#write({ type: 'tool-output-denied', toolCallId });
    }
  }

  async #run(input: ReturnType<typeof userParts>): Promise<void> {
    const turn = this.#toEnd(input);
    this.#turn = turn;
    await turn;
  }

  async #toEnd(input: ReturnType<typeof userParts>): Promise<void> {
    let finishReason = 'stop';
    try {
      const end = await this.#conversation.prompt(input);
      if (end.status === 'max_steps_reached') finishReason = 'length';
    } catch (error) {
      finishReason = 'error';
      this.#frontend.chunks.settle(error instanceof Cancelled ? 'Cancelled before it was done.' : 'Interrupted.');
      this.#frontend.chunks.endStep();
      if (error instanceof Cancelled) this.#write({ type: 'abort' });
      else this.#write({ type: 'error', errorText: error instanceof ModelError ? error.message : `The agent failed: ${messageOf(error)}` });
    } finally {
      this.#turn = undefined;
      this.#frontend.chunks.endStep();
      this.#write({ type: 'finish', finishReason });
      this.#endResponse();
    }
  }

  /** The client has to act before anything more can happen. */
  #suspend(): void {
    this.#write({ type: 'finish-step' });
    this.#write({ type: 'finish', finishReason: 'tool-calls' });
    this.#endResponse();
    // It waits for the client, however long that is away.
    this.#back();
  }

  /** A response whose end nobody heard is kept for the one who comes back. */
  #endResponse(): void {
    const stream = this.#stream;
    const heard = stream?.heard;
    stream?.end();
    if (heard) this.#stream = undefined;
  }

  #write(chunk: WireChunk): void {
    const name = chunk.toolName;
    if (chunk.type === 'tool-input-available' && this.#frontend.tools.some((tool) => tool.name === name))
      this.#announced.add(String(chunk.toolCallId));
    if (this.#stream && !this.#stream.ended) this.#stream.write(chunk);
    else this.#queue.push(chunk);
  }
}
