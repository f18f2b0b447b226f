import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/log.ts';
import { Cancelled, Conversation } from '../../conversation.ts';
import { type Model, ModelError } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { ChatFrontend } from './chatFrontend.ts';
import { Chunks } from './chunks.ts';
import { answeredApprovals, historyOf, outcomeIn, toolName, userParts, verdictsIn } from './fromMessages.ts';
import { lentTools } from './lentTools.ts';
import type { Outlet } from './outlet.ts';
import { type ChatRequest, type ClientMessage, noTerms, termsOf } from './request.ts';
import { Responses } from './responses.ts';

/** Said to a model whose turn this process has forgotten, behind results that came for it. */
const GO_ON = 'The results above have just come. Go on from there.';

/** One chat: its conversation, at most one turn, and the responses that turn writes into. */
export class Chat {
  readonly #responses = new Responses();
  readonly #terms = noTerms();
  readonly #chunks: Chunks;
  readonly #frontend: ChatFrontend;
  readonly #conversation: Conversation;
  /** Milliseconds a turn goes on with nobody listening. */
  readonly #awayLimit: number;
  #turn: Promise<void> | undefined;

  constructor(model: Model, workspace: Workspace, awayLimit: number) {
    const terms = this.#terms;
    this.#awayLimit = awayLimit;
    this.#chunks = new Chunks(this.#responses, terms);
    this.#frontend = new ChatFrontend(this.#responses, this.#chunks, terms);
    this.#conversation = new Conversation({ frontend: this.#frontend, model, workspace, instructions: () => terms.system });
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** Answers one request of the client's. The outlet is ended when the client has to act, or when the turn is over. */
  async post(request: ChatRequest, outlet: Outlet): Promise<void> {
    const messages = request.messages ?? (request.message ? [request.message] : []);
    const last = messages.at(-1);
    const { offers, problems } = await lentTools(request, takenNames);
    for (const problem of problems) process.stderr.write(`parley-agent: ${problem}\n`);
    Object.assign(this.#terms, termsOf(request, offers));
    if (!last) return outlet.end();
    if (last.role === 'assistant' && this.busy) return this.#goOn(last, outlet);
    await this.stop();
    if (last.role === 'assistant') {
      this.#responses.begin(outlet, last.id ?? randomUUID());
      this.#settleForgotten(last);
      this.#conversation.history.replace(historyOf(messages));
      return this.#run([{ type: 'text', text: GO_ON }]);
    }
    this.#responses.begin(outlet, randomUUID());
    // A client that posts everything may have edited it; one that posts the newest message trusts our memory.
    if (request.messages) this.#conversation.history.replace(historyOf(messages.slice(0, -1)));
    return this.#run(userParts(last));
  }

  /** A result for a call that waits in an open response. */
  result(id: string, value: unknown, isError: boolean): boolean {
    return this.#frontend.result(id, value, isError);
  }

  /** Ends the turn that runs; settles when it is over. */
  async stop(): Promise<void> {
    this.#conversation.cancel();
    this.#responses.back();
    await this.#turn;
  }

  /** A client came back for the response it lost. False when there is none. */
  resume(outlet: () => Outlet): boolean {
    return this.#responses.resume(outlet);
  }

  /** The client has gone. It may be back in a moment; if it is not, nobody is there to act or to read. */
  async gone(outlet: Outlet): Promise<void> {
    if (await this.#responses.gone(outlet, this.#awayLimit)) await this.stop();
  }

  /** The client acted: answers and results go to those who wait for them. */
  #goOn(message: ClientMessage, outlet: Outlet): void {
    this.#responses.goOn(outlet, message.id);
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
    if (news === 0) this.#responses.suspend();
  }

  /** An approval that nobody waits for any more is not left standing in the client: its call was not made. */
  #settleForgotten(message: ClientMessage): void {
    for (const { toolCallId, approved } of answeredApprovals(message)) {
      if (this.#frontend.isOpen(toolCallId)) continue;
      if (approved)
        this.#responses.write({
          type: 'tool-output-error',
          toolCallId,
          errorText: 'The agent no longer waits for this answer. The call was not made.',
        });
      else this.#responses.write({ type: 'tool-output-denied', toolCallId });
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
      this.#chunks.settle(error instanceof Cancelled ? 'Cancelled before it was done.' : 'Interrupted.');
      this.#chunks.endStep();
      if (error instanceof Cancelled) this.#responses.write({ type: 'abort' });
      else
        this.#responses.write({
          type: 'error',
          errorText: error instanceof ModelError ? error.message : `The agent failed: ${messageOf(error)}`,
        });
    } finally {
      this.#turn = undefined;
      this.#chunks.endStep();
      this.#responses.finish(finishReason);
    }
  }
}
