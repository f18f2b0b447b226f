import { t } from '../../base/l10n.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Tool } from '../ports.ts';
import type { Asks } from './asks.ts';
import type { Telling } from './codec.ts';
import type { Conversation } from './conversation.ts';
import { handOver } from './handOver.ts';
import type { HeldResults } from './heldResults.ts';
import { jsonOf, type OwnCall, OwnCalls } from './ownCalls.ts';
import { lookOf } from './ownLook.ts';
import type { Timing } from './pause.ts';
import type { Post } from './post.ts';
import type { ChatResponse, ResponseListener } from './response.ts';
import type { Chunk, ToolPart } from './schema.ts';
import type { Server } from './server.ts';
import { ServerApprovals } from './serverApprovals.ts';
import { findTool, isTerminal, setError, setOutput, toolNameOf } from './toolParts.ts';

export interface StepDeps {
  readonly turnId: string;
  readonly scene: AdapterContext;
  readonly server: Server;
  readonly conversation: Conversation;
  readonly timing: Timing;
  readonly asks: Asks;
  readonly telling: Telling;
  readonly tools: readonly Tool[];
  readonly held: HeldResults;
  readonly response: () => ChatResponse | undefined;
  readonly stopped: AbortSignal;
  readonly personActed: () => void;
  readonly newKey: (why: string, signal: AbortSignal) => Promise<boolean>;
  /** The server has gone on by itself in a response it holds open, and calls again: may it? */
  readonly mayCallAgain: () => Promise<boolean>;
  /** A user is waited for, which a closed window need not end; or no longer. */
  readonly waits: (on: boolean) => void;
}

/** What the calls of a step need from this side: our tools run, approvals asked, and all of it told to the server, each thing once. */
export class StepCalls {
  readonly #deps: StepDeps;
  readonly #own: OwnCalls;
  readonly #approvals: ServerApprovals;
  /** Calls of other people's tools that nobody will answer but us. */
  readonly #refused = new Set<string>();
  /** The server took a result while its response was open, and has called nothing since. */
  #took = false;
  /** Whether the calls of the latest round may begin. */
  #round: Promise<boolean> | undefined;

  constructor(deps: StepDeps) {
    this.#deps = deps;
    this.#own = new OwnCalls({
      tools: deps.tools,
      log: deps.scene.log,
      timing: deps.timing,
      began: ({ part }) =>
        deps.telling.running(
          part,
          lookOf(
            deps.tools.find((tool) => tool.name === toolNameOf(part)),
            part.input,
          ),
        ),
      answered: (call) => {
        deps.telling.answered(call.part, call.answer ?? { ok: false, text: '' });
        if (toolNameOf(call.part) === HUMAN) deps.personActed();
        void this.#handOver(call);
      },
    });
    this.#approvals = new ServerApprovals(deps, (part) => {
      if (this.#isOurs(part)) this.#own.start(part);
    });
  }

  readonly listener: Omit<ResponseListener, 'otherMessage'> = {
    coming: (chunk) => {
      if (!STILL_ANNOUNCING.includes(chunk.type)) this.#own.goOn();
    },
    took: (chunk, part) => this.#take(chunk, part),
    caughtUp: () => this.#caughtUp(),
    awaits: (toolCallId) => this.#awaits(toolCallId),
    tooLong: () => this.#notice(t('A part of the answer was too large and has been left out.')),
  };

  /** The server took a result while its response was open, and has not said so in the stream yet. */
  get accepted(): boolean {
    return this.#own.all.some((call) => call.acceptedAt !== undefined && !call.withdrawn);
  }

  /** Something of ours is still to be told. */
  get waiting(): boolean {
    return this.#undelivered.length > 0 || this.#approvals.waiting;
  }

  tookWithoutEcho(response: ChatResponse): boolean {
    return this.#own.all.some((call) => call.acceptedAt === response.substance && !call.withdrawn && !isTerminal(call.part));
  }

  /** The response is over: waits for what is missing and gives the request that tells it, or undefined when there is nothing to tell. */
  async finish(response: ChatResponse, said: boolean): Promise<Post | undefined> {
    const { conversation } = this.#deps;
    const { settings, learned } = this.#deps.server;
    const { assembly } = response;
    const own = this.#undelivered;
    this.#own.goOn();
    if (own.length > 0 && said && own.every((call) => call.acceptedAt === undefined)) learned.flow = 'repost';
    this.#refuseStrangers(response);
    const asking = this.#approvals.asking;
    if (asking) this.#deps.waits(true);
    await Promise.all([...own.map((call) => call.settled), this.#approvals.settled]);
    if (asking) this.#deps.waits(false);
    // An allowed call of ours begins only then.
    await Promise.all(this.#undelivered.map((call) => call.settled));
    if (this.#deps.stopped.aborted) return undefined;
    for (const call of this.#undelivered) this.#write(call, response);
    const inData = this.#approvals.fromData(assembly);
    if (inData) return this.#afterDataApproval(await inData, assembly.message.id);
    const calls = assembly.stepCalls;
    const tells = calls.flatMap((part) => this.#news(part)).filter((id) => !conversation.delivered.has(id));
    if (tells.length === 0) return undefined;
    // What a tool of the server's said on its way is not its result, and no other will come.
    for (const part of calls) if (part.preliminary) this.#fail(part, 'The server ended its answer without the result.');
    if (calls.some((part) => part.providerExecuted !== true && !isTerminal(part) && part.state !== 'approval-responded')) return undefined;
    if (settings.toolFlow === 'user-message') return this.#asUserMessage(calls, tells);
    return { trigger: 'submit-message', messageId: assembly.message.id, tells, continues: true };
  }

  /** After a window was closed: what was asked is asked again, what ran is not run again (ai-sdk.md §6.2). */
  again(response: ChatResponse): void {
    for (const part of response.assembly.stepCalls) {
      if (part.state !== 'input-available' || !this.#isOurs(part)) continue;
      this.#refused.add(part.toolCallId);
      this.#fail(part, 'Interrupted: the window was closed before there was a result.');
    }
    this.#caughtUp();
  }

  stopAll(): void {
    this.#own.stopAll();
  }

  /** The turn is over. */
  end(): void {
    this.#own.stopAll();
    this.#approvals.end();
  }

  /** Results that are awaited in an open response will not come any more. */
  async sayGoodbye(): Promise<void> {
    const response = this.#deps.response();
    const { settings, learned } = this.#deps.server;
    if (!response || response.over.signal.aborted || (settings.toolFlow !== 'held' && learned.flow !== 'held')) return;
    const signal = AbortSignal.timeout(this.#deps.timing.farewell);
    const open = this.#undelivered.filter((call) => call.acceptedAt === undefined);
    await Promise.all(
      open.map((call) => this.#deps.held.hand({ toolCallId: call.id, result: 'The editor was closed.', isError: true }, signal)),
    );
  }

  get #undelivered(): readonly OwnCall[] {
    return this.#own.all.filter((call) => !call.withdrawn && !this.#deps.conversation.delivered.has(call.id));
  }

  #take(chunk: Chunk, part: ToolPart | undefined): void {
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available':
        if (part) this.#announced(part);
        if (chunk.state === 'requires-action') this.#awaits(chunk.toolCallId);
        return;
      case 'tool-approval-request':
        this.#own.hold(chunk.toolCallId);
        if (part) this.#approvals.requested(part);
        return;
      case 'tool-approval-response':
        return this.#approvals.decided(chunk.approvalId);
      case 'tool-input-error':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#took ||= this.#own.find(chunk.toolCallId)?.handed === true;
        this.#own.withdraw(chunk.toolCallId);
        if (part?.approval) this.#approvals.decided(part.approval.id);
        return;
      case 'reset-step':
        return this.#forgetRemoved();
      default:
        return;
    }
  }

  /** The name is the only thing that tells a call of ours from one of the server's. Each id begins once. */
  #announced(part: ToolPart): void {
    const { conversation } = this.#deps;
    if (part.state !== 'input-available' || !this.#isOurs(part) || conversation.started.has(part.toolCallId)) return;
    conversation.started.add(part.toolCallId);
    this.#own.start(part, this.#nextRound());
  }

  /** A response that is held open may call for ever: from its second round on each is counted, and at the bound the user is asked. */
  #nextRound(): Promise<boolean> | undefined {
    if (!this.#took) return this.#round;
    this.#took = false;
    this.#round = this.#deps.mayCallAgain();
    return this.#round;
  }

  #handOver(call: OwnCall): Promise<void> {
    const accepted = () => {
      this.#took ||= !call.withdrawn;
    };
    return handOver(call, { ...this.#deps, accepted });
  }

  #isOurs(part: ToolPart): boolean {
    const name = toolNameOf(part);
    return part.providerExecuted !== true && this.#deps.tools.some((tool) => tool.name === name);
  }

  #awaits(toolCallId: string): void {
    const call = this.#own.find(toolCallId);
    if (call) {
      call.awaited = true;
      if (call.answer) void this.#handOver(call);
      return;
    }
    const response = this.#deps.response();
    const part = response && findTool(response.assembly.message, toolCallId);
    if (!response || part?.state !== 'input-available' || this.#refused.has(toolCallId)) return;
    this.#refused.add(toolCallId);
    void this.#refuse(part, response);
  }

  async #refuse(part: ToolPart, response: ChatResponse): Promise<void> {
    if ((await this.#nextRound()) === false) return;
    const handed = await this.#deps.held.hand(
      { toolCallId: part.toolCallId, result: notAvailable(part), isError: true },
      response.over.signal,
    );
    this.#took ||= handed.how === 'accepted';
  }

  /** After a replay the parts are other objects, and may say more. */
  #caughtUp(): void {
    const message = this.#deps.response()?.assembly.message;
    if (!message) return;
    for (const call of this.#own.all) {
      const part = findTool(message, call.id);
      if (part) call.part = part;
      if (part && (isTerminal(part) || part.preliminary)) this.#own.withdraw(call.id);
    }
    for (const part of this.#deps.response()?.assembly.stepCalls ?? []) {
      if (part.state === 'input-available') this.#announced(part);
      if (part.state === 'approval-requested') this.#approvals.requested(part);
      else if (part.approval) this.#approvals.decided(part.approval.id);
    }
  }

  #forgetRemoved(): void {
    const response = this.#deps.response();
    if (!response) return;
    for (const call of this.#own.all) {
      if (call.withdrawn || findTool(response.assembly.message, call.id)) continue;
      this.#own.withdraw(call.id);
      this.#deps.conversation.started.delete(call.id);
    }
    this.#approvals.keepOnly((toolCallId) => findTool(response.assembly.message, toolCallId) !== undefined);
  }

  /** A call that is neither ours nor answered: the server expects a client that knows it, and the model should hear that there is none. */
  #refuseStrangers(response: ChatResponse): void {
    for (const part of response.assembly.stepCalls) {
      if (part.state !== 'input-available' || part.providerExecuted === true || this.#own.find(part.toolCallId)) continue;
      if (this.#approvals.inData(response.assembly, part.toolCallId)) continue;
      this.#refused.add(part.toolCallId);
      this.#fail(part, this.#isOurs(part) ? 'A call with this id was made before; each call needs an id of its own.' : notAvailable(part));
    }
  }

  #fail(part: ToolPart, why: string): void {
    setError(part, why);
    this.#deps.telling.changed(part);
  }

  #write(call: OwnCall, response: ChatResponse): void {
    const { answer, part } = call;
    if (!answer || isTerminal(part)) return;
    if (answer.ok) setOutput(part, jsonOf(answer));
    else setError(part, answer.text);
    // The server took it and went on without repeating it.
    if (call.acceptedAt !== undefined && response.substance > call.acceptedAt) this.#deps.conversation.delivered.add(call.id);
  }

  #news(part: ToolPart): readonly string[] {
    const answered = this.#refused.has(part.toolCallId) || this.#own.find(part.toolCallId)?.answer !== undefined;
    const own = answered && !this.#own.find(part.toolCallId)?.withdrawn && part.providerExecuted !== true;
    const approval = part.state === 'approval-responded' && part.approval && this.#approvals.answeredHere(part.approval.id);
    return [...(own ? [part.toolCallId] : []), ...(approval && part.approval ? [part.approval.id] : [])];
  }

  #afterDataApproval(post: Post | undefined, messageId: string): Post | undefined {
    return post && { ...post, messageId };
  }

  /** For servers that cannot go on with an assistant message (ai-sdk.md §8.4). */
  #asUserMessage(calls: readonly ToolPart[], tells: readonly string[]): Post {
    const told = calls.filter((part) => tells.includes(part.toolCallId)).map((part) => ({ ...part }));
    this.#deps.conversation.messages.push({ id: this.#deps.scene.newId(), role: 'user', parts: told });
    return { trigger: 'submit-message', tells, continues: false };
  }

  #notice(text: string): void {
    const { scene, turnId } = this.#deps;
    scene.emit({ type: 'part.added', turnId, part: { kind: 'notice', id: scene.newId(), notice: { level: 'warn', text } } });
  }
}

const HUMAN = 'ask_person';
/** As long as calls are only being announced, an approval for one of them may still follow. */
const STILL_ANNOUNCING: readonly Chunk['type'][] = [
  'tool-input-start',
  'tool-input-delta',
  'tool-input-available',
  'tool-approval-request',
  'tool-approval-response',
];

function notAvailable(part: ToolPart): string {
  return `Tool "${toolNameOf(part).slice(0, 100)}" is not available in this editor.`;
}
