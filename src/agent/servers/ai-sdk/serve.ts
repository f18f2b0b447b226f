import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import { isRecord } from '../../../protocols/ai-sdk/schema.ts';
import { AgentConversation, Cancelled, type Preferences } from '../../conversation.ts';
import type { AgentEvent, ApprovalRequest, Frontend, HookName, PermissionAnswer } from '../../frontend.ts';
import {
  CONTINUE_PROMPT,
  type HistoryMessage,
  type Model,
  type ModelCall,
  ModelError,
  type ModelTool,
  type ToolMessage,
  type UserPart,
} from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import { done, failed, problemOfSchema, problemsOf, type ToolOutcome } from '../../tools/tool.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { bodyJson, HttpError, type HttpServerOptions, listenHttp, type ServerHandle, sendJson } from '../httpServer.ts';
import {
  type AiSdkChatRequest,
  APPROVAL_TOOL,
  type ClientMessage,
  type ClientPart,
  chatRequest,
  declaredTools,
  noTerms,
  type Terms,
  termsOf,
  toolResult,
} from './request.ts';
import { ChunkEncoder, Responses, SseResponse } from './responses.ts';

export interface ChatServeOptions extends Pick<HttpServerOptions, 'port' | 'token' | 'origins'> {
  readonly model: Model;
  readonly workspace: Workspace;
  readonly preferences?: Preferences;
  /** How long a turn continues without a listener, in milliseconds. */
  readonly awayLimit?: number;
}

const CHATS_KEPT = 200;
/** As long as a busy machine may take to load a window again. */
const AWAY_LIMIT = 30_000;

/** Serves chats over HTTP on the loopback interface (docs/protocols/ai-sdk.md). */
export async function serveChats(options: ChatServeOptions): Promise<ServerHandle> {
  const chats = new Map<string, ServedChat>();
  const chat = async (body: unknown, response: ServerResponse): Promise<void> => {
    const parsed = chatRequest.safeParse(body);
    if (!parsed.success) throw new HttpError(400, `Bad request: ${problemsOf(parsed.error)}`);
    const { id, message, messages } = parsed.data;
    if (!message && !messages?.length) throw new HttpError(400, 'There is no message.');
    const known = chats.get(id) ?? new ServedChat(options);
    chats.delete(id);
    chats.set(id, known);
    forgetOldest(chats);
    await known.post(parsed.data, outletFor(known, id, response));
  };

  const resume = (id: string, response: ServerResponse): void => {
    const known = chats.get(id);
    if (!known?.resume(() => outletFor(known, id, response))) sendJson(response, 204);
  };

  const stop = async (id: string, response: ServerResponse): Promise<void> => {
    await chats.get(id)?.stop();
    sendJson(response, chats.has(id) ? 200 : 404, { ok: chats.has(id) });
  };

  const result = (body: unknown, response: ServerResponse): void => {
    const parsed = toolResult.safeParse(body);
    if (!parsed.success) throw new HttpError(400, `Bad request: ${problemsOf(parsed.error)}`);
    const { session_id, tool_call_id, result: value, is_error } = parsed.data;
    const taken = chats.get(session_id)?.result(tool_call_id, value ?? null, is_error === true) ?? false;
    return taken ? sendJson(response, 200, { ok: true }) : sendJson(response, 404, { error: 'Nobody waits for this call.' });
  };

  const server = await listenHttp(options, async (request, response, path) => {
    const [, id, what] = /^\/api\/chat\/([^/]+)\/(stream|stop)$/.exec(path) ?? [];
    if (id !== undefined && what === 'stream' && request.method === 'GET') return resume(decoded(id), response);
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      throw new HttpError(405, 'Only POST.');
    }
    const body = await bodyJson(request);
    if (id !== undefined && what === 'stop') return stop(decoded(id), response);
    if (path === '/api/chat') return chat(body, response);
    if (path === '/chat/tool-result' || path === '/api/chat/tool-result') return result(body, response);
    throw new HttpError(404, 'There is /api/chat and /chat/tool-result.');
  });

  return {
    url: `${server.origin}/api/chat`,
    end: () => server.end(() => Promise.all([...chats.values()].map((one) => one.stop()))),
  };
}

function outletFor(chat: ServedChat, id: string, response: ServerResponse): SseResponse {
  const outlet: SseResponse = new SseResponse(response, `/api/chat/${encodeURIComponent(id)}/stop`, () => void chat.disconnected(outlet));
  return outlet;
}

/** An id that is not a valid name finds nothing. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

function forgetOldest(chats: Map<string, ServedChat>): void {
  for (const [id, chat] of chats) {
    if (chats.size <= CHATS_KEPT) return;
    if (!chat.busy) chats.delete(id);
  }
}

/** One chat: its conversation, at most one turn, and the responses that turn writes into. */
class ServedChat {
  readonly #responses = new Responses();
  readonly #terms = noTerms();
  readonly #chunks: ChunkEncoder;
  readonly #frontend: ChatFrontend;
  readonly #conversation: AgentConversation;
  /** Milliseconds a turn continues without a listener. */
  readonly #awayLimit: number;
  #turn: Promise<void> | undefined;

  constructor({ model, workspace, preferences, awayLimit = AWAY_LIMIT }: ChatServeOptions) {
    const terms = this.#terms;
    this.#awayLimit = awayLimit;
    this.#chunks = new ChunkEncoder(this.#responses, terms);
    this.#frontend = new ChatFrontend(this.#responses, this.#chunks, terms);
    this.#conversation = new AgentConversation({
      ...preferences,
      frontend: this.#frontend,
      model,
      workspace,
      instructions: () => terms.system,
    });
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** Answers one request of the client's. The outlet is ended when the client has to act, or when the turn is over. */
  async post(request: AiSdkChatRequest, outlet: SseResponse): Promise<void> {
    const messages = request.messages ?? (request.message ? [request.message] : []);
    const last = messages.at(-1);
    const { offers, problems } = await toolsOfClient(request, takenNames);
    for (const problem of problems) process.stderr.write(`parley-agent: ${problem}\n`);
    Object.assign(this.#terms, termsOf(request, offers));
    if (!last) return outlet.end();
    if (last.role === 'assistant' && this.busy) return this.#continueMessage(last, outlet);
    await this.stop();
    if (last.role === 'assistant') {
      this.#responses.begin(outlet, last.id || randomUUID());
      this.#settleForgotten(last);
      this.#conversation.history.replace(historyOf(messages));
      return this.#run([{ type: 'text', text: CONTINUE_PROMPT }]);
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

  /** Ends the running turn; settles once it has ended. */
  async stop(): Promise<void> {
    this.#conversation.cancel();
    this.#responses.back();
    await this.#turn;
  }

  /** A client came back for the response it lost. False when there is none. */
  resume(outlet: () => SseResponse): boolean {
    return this.#responses.resume(outlet);
  }

  /** The client has gone. It may come back within the grace time; otherwise the turn ends. */
  async disconnected(outlet: SseResponse): Promise<void> {
    if (await this.#responses.lost(outlet, this.#awayLimit)) await this.stop();
  }

  /** The client acted: answers and results go to those who wait for them. */
  #continueMessage(message: ClientMessage, outlet: SseResponse): void {
    this.#responses.continueIn(outlet, message.id);
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

  /** Closes answered approvals that no turn waits for any more: their calls were not made. */
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

/** The UI message stream, as the loop sees it. */
class ChatFrontend implements Frontend {
  readonly asksQuestions = false;
  readonly hasPlanMode = false;
  readonly #responses: Responses;
  readonly #chunks: ChunkEncoder;
  readonly #terms: Terms;
  readonly #results = new Map<string, ToolOutcome>();
  readonly #waiting = new Map<string, (outcome: ToolOutcome) => void>();
  readonly #asked = new Map<string, (answer: PermissionAnswer) => void>();

  constructor(responses: Responses, chunks: ChunkEncoder, terms: Terms) {
    this.#responses = responses;
    this.#chunks = chunks;
    this.#terms = terms;
  }

  emit(said: AgentEvent): void {
    this.#chunks.emit(said);
  }

  /** The tool by which approvals are asked is ours to call, not the model's. */
  clientTools(): readonly ModelTool[] {
    return this.#terms.tools.filter((tool) => tool.name !== APPROVAL_TOOL);
  }

  async question(): Promise<undefined> {
    return undefined;
  }

  async hook(moment: HookName): Promise<undefined> {
    if (moment === 'PreToolUse') await this.#responses.attended();
    return undefined;
  }

  async callClient(call: { id: string; name: string; input: string }, signal: AbortSignal): Promise<ToolOutcome> {
    const known = this.#results.get(call.id);
    this.#results.delete(call.id);
    return known ?? this.#waitFor(call.id, signal);
  }

  /** False when no turn waits for that call. A result may come before the loop has got that far. */
  result(id: string, value: unknown, isError: boolean): boolean {
    const outcome = isError ? failed(asText(value)) : done(asText(value), '');
    const announced = this.#chunks.addResult(id, value);
    const waiting = this.#waiting.get(id);
    if (waiting) waiting(outcome);
    else if (announced) this.#results.set(id, outcome);
    return waiting !== undefined || announced;
  }

  async approve(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const answer = await this.#ask(request, signal);
    if (!answer.allow) this.#chunks.deny(request.callId);
    return answer;
  }

  /** The call is known to the turn that runs. */
  isOpen(toolCallId: string): boolean {
    return this.#chunks.knows(toolCallId);
  }

  /** False when there is no such approval. */
  verdict(id: string, answer: PermissionAnswer): boolean {
    const asked = this.#asked.get(id);
    asked?.(answer);
    return asked !== undefined;
  }

  async #ask(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
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

  async #askByTool(request: ApprovalRequest, signal: AbortSignal): Promise<PermissionAnswer> {
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

  #waitFor(id: string, signal: AbortSignal): Promise<ToolOutcome> {
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
function verdictIn(outcome: ToolOutcome): PermissionAnswer {
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

const offeredTool = z.object({
  name: z.string().check(z.regex(/^[A-Za-z0-9_-]{1,64}$/)),
  description: z.string().check(z.maxLength(20_000)),
  parameters: z.record(z.string(), z.unknown()),
});
const MOST = 200;

/** The tools a request offers us; one that cannot be used is named, and the others are kept. */
async function toolsOfClient(
  request: AiSdkChatRequest,
  taken: readonly string[],
): Promise<{ readonly offers: readonly ModelTool[]; readonly problems: readonly string[] }> {
  const offers: ModelTool[] = [];
  const problems: string[] = [];
  for (const entry of declaredTools(request).slice(0, MOST)) {
    const parsed = offeredTool.safeParse(entry);
    if (!parsed.success) {
      problems.push(`An offered tool cannot be used: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}`);
      continue;
    }
    const { name, parameters } = parsed.data;
    const problem = taken.includes(name) ? 'its name is taken' : await problemOfSchema(parameters);
    if (problem === undefined) offers.push(parsed.data);
    else problems.push(`The offered tool ${name} cannot be used: ${problem}`);
  }
  return { offers, problems };
}

/** A user message as the agent loop takes it. */
function userParts(message: ClientMessage): readonly UserPart[] {
  return message.parts.flatMap((part): readonly UserPart[] => {
    if (part.type === 'text' && typeof part.text === 'string') return [{ type: 'text', text: part.text }];
    if (part.type !== 'file' || typeof part.url !== 'string' || typeof part.mediaType !== 'string') return [];
    const kind = /^(image|audio|video)\//.exec(part.mediaType)?.[1] as 'image' | 'audio' | 'video' | undefined;
    return [kind ? { type: kind, url: part.url } : { type: 'text', text: `[attached: ${part.mediaType}]` }];
  });
}

/** The conversation as the client keeps it: its word counts, so that it may edit, cut and regenerate. */
function historyOf(messages: readonly ClientMessage[]): readonly HistoryMessage[] {
  return messages.flatMap((message): readonly HistoryMessage[] => {
    if (message.role === 'assistant') return stepsOf(message.parts).flatMap(stepMessages);
    const parts = message.role === 'user' ? userParts(message) : [];
    return parts.length === 0 ? [] : [{ role: 'user', parts }];
  });
}

function stepsOf(parts: readonly ClientPart[]): readonly (readonly ClientPart[])[] {
  const steps: ClientPart[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.length > 0);
}

function stepMessages(parts: readonly ClientPart[]): readonly HistoryMessage[] {
  const text = parts.flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : [])).join('');
  const tools = parts.flatMap((part) => toolOf(part) ?? []);
  if (text === '' && tools.length === 0) return [];
  return [{ role: 'assistant', text, calls: tools.map((tool) => tool.call) }, ...tools.map((tool) => tool.result)];
}

function toolOf(part: ClientPart): { readonly call: ModelCall; readonly result: ToolMessage } | undefined {
  const name = toolName(part);
  if (name === undefined || typeof part.toolCallId !== 'string') return undefined;
  const call: ModelCall = { id: part.toolCallId, name, input: asText(part.input ?? {}) };
  const { isError, text } = outcomeIn(part) ?? { isError: true, text: 'There is no result of this call.' };
  return { call, result: { role: 'tool', callId: call.id, name, isError, message: '', text } };
}

function toolName(part: ClientPart): string | undefined {
  if (part.type === 'dynamic-tool') return typeof part.toolName === 'string' ? part.toolName : undefined;
  return part.type.startsWith('tool-') ? part.type.slice('tool-'.length) : undefined;
}

/** The outcome of a call as the client reports it; undefined while it is open. */
function outcomeIn(part: ClientPart): { readonly isError: boolean; readonly text: string } | undefined {
  if (part.state === 'output-available' && part.preliminary !== true) return { isError: false, text: asText(part.output) };
  if (part.state === 'output-error') return { isError: true, text: asText(part.errorText ?? 'The tool failed.') };
  const approval = isRecord(part.approval) ? part.approval : {};
  if (part.state === 'output-denied') return { isError: true, text: asText(approval.reason ?? 'The user rejected this call.') };
  return undefined;
}

/** Answers to approvals in a message. */
function verdictsIn(message: ClientMessage): readonly { readonly id: string; readonly approved: boolean; readonly reason?: string }[] {
  return message.parts.flatMap((part) => {
    const { approval } = part;
    if (toolName(part) === undefined || !isRecord(approval) || typeof approval.id !== 'string' || typeof approval.approved !== 'boolean')
      return [];
    const reason = typeof approval.reason === 'string' && approval.reason !== '' ? { reason: approval.reason } : {};
    return [{ id: approval.id, approved: approval.approved, ...reason }];
  });
}

/** Calls whose approval was answered and whose outcome the client has not seen. */
function answeredApprovals(message: ClientMessage): readonly { readonly toolCallId: string; readonly approved: boolean }[] {
  return message.parts.flatMap((part) => {
    const { approval, toolCallId } = part;
    if (part.state !== 'approval-responded' || typeof toolCallId !== 'string' || !isRecord(approval)) return [];
    return [{ toolCallId, approved: approval.approved === true }];
  });
}

/** Anything as text for a model. */
function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value ?? null) ?? '');
}
