import * as z from 'zod/mini';
import type { SessionEvent } from '../../session/events.ts';
import type { Approval, ApprovalDetail } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import type { OpenAsks } from './asks.ts';
import { type CallState, isFinal, untold } from './calls.ts';
import { callNews } from './codec.ts';
import { handler, type RequestHandler } from './connection.ts';
import type { Dialect } from './dialect.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, refusal } from './faults.ts';
import type { FileRequests } from './fileRequests.ts';
import { type FormReply, formAsk, formCancelled, formMisfit, formReply, formRequest, isWebAddress, linkAsk, linkRequest } from './forms.ts';
import { askAsItIs } from './permissionAsking.ts';
import { cancelledOutcome, isAllowance, isRefusal, type Outcome } from './permissions.ts';
import type { Placing } from './placing.ts';
import { type PermissionRequest, readRequest, terminalName, terminalRequest, writeRequest } from './schema.ts';
import { ofSubagent } from './subagents.ts';
import type { TerminalRequests } from './terminalRequests.ts';
import type { TurnMemory } from './turns.ts';
import type { Updates } from './updates.ts';

export interface RequestScene {
  readonly scene: AdapterContext;
  readonly asks: OpenAsks;
  readonly files: FileRequests;
  readonly terminals: TerminalRequests;
  readonly placing: Placing;
  readonly updates: Updates;
  readonly dialect: () => Dialect;
  readonly emit: (event: SessionEvent) => void;
  /** Where the session works. */
  readonly cwd: string;
  /** The conversation itself; those of sub-agents are known to the updates. */
  readonly isOurs: (sessionId: string) => boolean;
}

/** Everything an agent may ask of the client (acp.md §9-§11). */
export function requestHandlers(parts: RequestScene): Readonly<Record<string, RequestHandler>> {
  const { files, terminals } = parts;
  /** Where the editor is not lent, these are requests nobody knows. */
  const lent = <T extends z.ZodMiniType<{ readonly sessionId: string }>>(
    params: T,
    run: (request: z.output<T>, signal: AbortSignal) => unknown,
  ): RequestHandler =>
    handler(params, (request, signal) => {
      if (!parts.dialect().lendsEditor)
        throw refusal(METHOD_NOT_FOUND, 'Files and terminals are not part of this version of the protocol.');
      const { sessionId } = request;
      if (!isKnown(parts, sessionId)) throw refusal(INVALID_PARAMS, `There is no session ${sessionId.slice(0, 200)}`);
      return run(request, signal);
    });
  return {
    'session/request_permission': handler(z.looseObject({}), (request, signal) => {
      const parsed = parts.dialect().permission.safeParse(request);
      if (!parsed.success) throw refusal(INVALID_PARAMS, `session/request_permission: ${z.prettifyError(parsed.error)}`);
      return permission(parts, parsed.data, signal);
    }),
    'fs/read_text_file': lent(readRequest, (request, signal) => files.read(request, signal)),
    'fs/write_text_file': lent(writeRequest, (request, signal) => files.write(request, signal)),
    'terminal/create': lent(terminalRequest, (request, signal) => terminals.create(request, signal)),
    'terminal/output': lent(terminalName, ({ terminalId }) => terminals.output(terminalId)),
    'terminal/wait_for_exit': lent(terminalName, ({ terminalId }) => terminals.exited(terminalId)),
    'terminal/kill': lent(terminalName, ({ terminalId }) => terminals.kill(terminalId)),
    'terminal/release': lent(terminalName, ({ terminalId }) => terminals.release(terminalId)),
    'elicitation/create': handler(z.looseObject({ mode: z.string() }), (request, signal) => elicitation(parts, request, signal)),
  };
}

/** The conversation itself, or one of its sub-agents. */
function isKnown({ isOurs, updates }: RequestScene, sessionId: string): boolean {
  return isOurs(sessionId) || updates.subagents.titleOf(sessionId) !== undefined;
}

/** The call inside the request is news about it, whether it was announced or not; the ask opens when its edits have been placed. */
async function permission(parts: RequestScene, given: PermissionRequest, signal: AbortSignal): Promise<Outcome> {
  const { updates, isOurs, emit } = parts;
  // Before anything is shown of it: a flood costs nothing but its answers.
  if (parts.asks.full) return cancelledOutcome;
  const asker = isOurs(given.sessionId) ? undefined : updates.subagents.titleOf(given.sessionId);
  const { turn: current } = updates.memory();
  if ((asker === undefined && !isOurs(given.sessionId)) || current?.stopping || current?.sort === 'replay') return cancelledOutcome;
  const within = asker === undefined ? undefined : updates.memoryWithin(given.sessionId);
  const memory = within ?? updates.memory();
  const request = within && given.toolCall ? { ...given, toolCall: ofSubagent(given.sessionId, given.toolCall) } : given;
  const { toolCall } = request;
  const { turn } = memory;
  const news = toolCall ? callNews(toolCall, 'permission', memory) : [];
  for (const event of within ? updates.subagents.below(given.sessionId, news) : news) emit(event);
  const call = toolCall && turn?.calls.get(toolCall.toolCallId);
  const setAsking = (asking: boolean, outcome?: Outcome) => {
    if (!turn || !call) return;
    call.asking += asking ? 1 : -1;
    call.unanswered = outcome?.outcome.outcome === 'cancelled';
    if (outcome && isRefusal(request, outcome)) call.refused = true;
    else if (!asking && !call.unanswered && call.status === 'pending') call.status = turn.stopping ? 'cancelled' : 'running';
    const change = untold(call);
    if (change) emit({ type: 'call.changed', turnId: turn.id, callId: call.id, change });
  };
  setAsking(true);
  const { outcome, shown } = await askAsItIs(request, { ...parts, memory, call, asker }, signal);
  setAsking(false, outcome);
  if (turn && shown?.kind === 'approval') {
    if (isAllowance(request, outcome)) allow(turn, shown, parts.cwd);
    else if (isRefusal(request, outcome)) refuse(turn, shown, call, parts.cwd);
  }
  return outcome;
}

const CHANGING: ReadonlySet<string | undefined> = new Set(['edit', 'delete', 'move']);

/** What the user saw is what is allowed: the texts of the ask, whatever the agent says of the call afterwards. Places it names are none. */
function allow(turn: TurnMemory, shown: Approval, cwd: string): void {
  turn.refused.remove(detailsIn(shown), cwd);
  if (shown.detail.type !== 'edit' || !CHANGING.has(shown.toolKind)) return;
  for (const { path, after, excerpt, summary } of shown.detail.diffs)
    if (!excerpt && !summary && after !== null) turn.allowed.set(path, after);
}

/** Of a call that changes files the places it names are refused, too: there may be no diff. */
function refuse(turn: TurnMemory, shown: Approval, call: CallState | undefined, cwd: string): void {
  const places = call && CHANGING.has(shown.toolKind) ? call.locations.map((one) => one.path) : [];
  const details = detailsIn(shown);
  turn.refused.add(details, places, cwd);
  for (const one of details) if (one.type === 'edit') for (const { path } of one.diffs) turn.allowed.delete(path);
}

function detailsIn({ detail, beside = [] }: Approval): readonly ApprovalDetail[] {
  return [detail, ...beside];
}

/** A form or a link. Which of them was asked is only looked at here, because the protocol refuses an unknown mode in its own way. */
async function elicitation(parts: RequestScene, request: { readonly mode: string }, signal: AbortSignal): Promise<FormReply> {
  const { scene, asks, updates } = parts;
  const { turn } = updates.memory();
  const turnId = turn?.id;
  const form = formRequest.safeParse(request);
  if (form.success) {
    if (turn?.stopping || (form.data.sessionId != null && !isKnown(parts, form.data.sessionId))) return formCancelled;
    const { data } = form;
    return asks.ask(
      {
        ask: (id) => formAsk(id, data, turnId),
        reply: (answer) => formReply(data, answer),
        misfit: (answer) => formMisfit(data, answer),
        cancelled: formCancelled,
      },
      signal,
    );
  }
  const link = linkRequest.safeParse(request);
  const { openLink } = scene.ports;
  if (!link.success || !openLink || !isWebAddress(link.data.url))
    throw refusal(INVALID_PARAMS, `A request of the mode "${request.mode}" cannot be shown.`);
  if (turn?.stopping) return formCancelled;
  const { data } = link;
  const reply = await asks.ask<FormReply>(
    {
      ask: (id) => linkAsk(id, data, turnId),
      reply: (answer) => ({ action: answer.kind === 'option' && answer.optionId === 'open' ? 'accept' : 'decline' }),
      cancelled: formCancelled,
    },
    signal,
  );
  if (reply.action === 'accept' && !(await openLink(data.url))) return { action: 'decline' };
  return reply;
}

/** The call of the running turn that a write most likely belongs to: the one that names the path, else the only unfinished one. */
export function callThatWrote(turn: TurnMemory, path: string): CallState | undefined {
  const unfinished = [...turn.calls.values()].filter((call) => !isFinal(call.status) && !call.refused);
  const names = (call: CallState) =>
    call.edits.has(path) ||
    call.locations.some((one) => one.path === path) ||
    (JSON.stringify(call.rawInput) ?? '').includes(JSON.stringify(path).slice(1, -1));
  return unfinished.findLast(names) ?? (unfinished.length === 1 ? unfinished[0] : undefined);
}
