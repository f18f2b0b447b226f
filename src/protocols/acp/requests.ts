import * as z from 'zod/mini';
import type { Scene } from '../adapter.ts';
import type { OpenAsks } from './asks.ts';
import { type CallState, isFinal, shown } from './calls.ts';
import { callNews, differences, type Memory } from './codec.ts';
import { handler, type RequestHandler } from './connection.ts';
import { INVALID_PARAMS, refusal } from './faults.ts';
import type { FileRequests } from './fileRequests.ts';
import { type FormReply, formAsk, formCancelled, formReply, formRequest, isWebAddress, linkAsk, linkRequest } from './forms.ts';
import { cancelledOutcome, isRefusal, type Outcome, permissionAsk, permissionReply } from './permissions.ts';
import type { Placing } from './placing.ts';
import { permissionRequest, readRequest, terminalName, terminalRequest, writeRequest } from './schema.ts';
import type { TerminalRequests } from './terminalRequests.ts';
import type { TurnMemory } from './turns.ts';

export interface RequestScene {
  readonly scene: Scene;
  readonly asks: OpenAsks;
  readonly files: FileRequests;
  readonly terminals: TerminalRequests;
  readonly placing: Placing;
  readonly memory: () => Memory;
  readonly isOurs: (sessionId: string) => boolean;
}

/** Everything an agent may ask of the client (acp.md §9-§11). */
export function requestHandlers(parts: RequestScene): Readonly<Record<string, RequestHandler>> {
  const { files, terminals } = parts;
  return {
    'session/request_permission': handler(permissionRequest, (request, signal) => permission(parts, request, signal)),
    'fs/read_text_file': handler(readRequest, (request, signal) => files.read(request, signal)),
    'fs/write_text_file': handler(writeRequest, (request, signal) => files.write(request, signal)),
    'terminal/create': handler(terminalRequest, (request, signal) => terminals.create(request, signal)),
    'terminal/output': handler(terminalName, ({ terminalId }) => terminals.output(terminalId)),
    'terminal/wait_for_exit': handler(terminalName, ({ terminalId }) => terminals.exited(terminalId)),
    'terminal/kill': handler(terminalName, ({ terminalId }) => terminals.kill(terminalId)),
    'terminal/release': handler(terminalName, ({ terminalId }) => terminals.release(terminalId)),
    'elicitation/create': handler(z.looseObject({ mode: z.string() }), (request, signal) => elicitation(parts, request, signal)),
  };
}

/** The call inside the request is news about it, whether it was announced or not; the ask opens when its edits have been placed. */
async function permission(
  { scene, asks, placing, memory, isOurs }: RequestScene,
  request: z.output<typeof permissionRequest>,
  signal: AbortSignal,
): Promise<Outcome> {
  const now = memory();
  const { turn } = now;
  if (!isOurs(request.sessionId) || turn?.stopping || turn?.sort === 'replay') return cancelledOutcome;
  for (const event of callNews(request.toolCall, 'permission', now)) scene.emit(event);
  const call = turn?.calls.get(request.toolCall.toolCallId);
  const setAsking = (asking: boolean, refused = false) => {
    if (!turn || !call) return;
    const before = shown(call);
    call.asking = asking;
    if (refused) call.refused = true;
    else if (!asking && call.status === 'pending') call.status = turn.stopping ? 'cancelled' : 'running';
    const change = differences(before, shown(call));
    if (change) scene.emit({ type: 'call.changed', turnId: turn.id, callId: call.id, change });
  };
  setAsking(true);
  const outcome = await asks.ask<Outcome>(
    {
      ask: async (id) => {
        await placing.idle();
        return permissionAsk(id, request, call ?? now.turns.stray(request.toolCall), turn?.id);
      },
      reply: (answer) => permissionReply(request, answer),
      cancelled: cancelledOutcome,
    },
    signal,
  );
  setAsking(false, isRefusal(request, outcome));
  if (turn && call && outcome.outcome.outcome === 'selected' && !isRefusal(request, outcome)) allow(turn, call);
  return outcome;
}

function allow(turn: TurnMemory, call: CallState): void {
  for (const path of call.edits.keys()) turn.allowed.add(path);
  for (const { path } of call.locations) turn.allowed.add(path);
}

/** A form or a link. Which of them was asked is only looked at here, because the protocol refuses an unknown mode in its own way. */
async function elicitation(
  { scene, asks, memory, isOurs }: RequestScene,
  request: { readonly mode: string },
  signal: AbortSignal,
): Promise<FormReply> {
  const { turn } = memory();
  const turnId = turn?.id;
  const form = formRequest.safeParse(request);
  if (form.success) {
    if (turn?.stopping || (form.data.sessionId != null && !isOurs(form.data.sessionId))) return formCancelled;
    const { data } = form;
    return asks.ask(
      { ask: (id) => formAsk(id, data, turnId), reply: (answer) => formReply(data, answer), cancelled: formCancelled },
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
