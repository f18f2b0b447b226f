import { agentError, limitReached, t } from '../../base/l10n.ts';
import type { Failure } from '../../base/outcomes.ts';
import type { Input } from '../../conversation/machine.ts';
import { find, type NextPrompt, newTurn, type OpenAsk, type OpenRequest, put, remove, splitName } from '../../conversation/state.ts';
import { machineOf, OFFER_RESTART, RESTART, type TurnEnd, type TurnStatus } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Part, Question, ToolCall } from '../../session/model.ts';
import { kindOf } from '../toolKinds.ts';
import {
  approvalAnswer,
  approvalOf,
  envelopeOf,
  faultOf,
  fromPart,
  fromUserInput,
  isBackground,
  locationsOf,
  modeChoice,
  outputsOf,
  parseInput,
  planOf,
  questionAnswer,
  questionOf,
  readReply,
  titleOf,
  toUserInput,
} from './codec.ts';
import { AGENT, WireConnection } from './connection.ts';
import { turnsAsksOff } from './launch.ts';
import {
  type ContentPart,
  codes,
  type DisplayBlock,
  type EventPayload,
  events,
  methods,
  type RequestPayload,
  requests,
  type WireEvent,
  type WireRequest,
} from './schema.ts';
import { type AskedRequest, newWireLane, type Steer, type WireCall, type WireLane, type WireTurn } from './state.ts';

/*
 * Kimi Wire 1.0 to 1.10 (docs/protocols/wire.md): one process, JSON-RPC over lines. One turn runs at a time, and the reply to `prompt` ends a
 * turn of the user. `WireState` holds everything that the conversation remembers; everything that can happen enters by `WireStep.take`.
 *
 * In this order: what the user wants · turns · replies and timers · messages of the agent · calls · what the agent asks · beside the turns. The process,
 * its handshake and its record are the layer below, in connection.ts.
 */

/** How deep sub-agents may nest before their events are left out. */
const MOST_DEPTH = 8;
const CONFIRM = () => t('Yes');
const DO_NOT_CONFIRM = () => t('No');
const TASK_ENDS = new Set(['completed', 'failed', 'killed', 'lost', 'stopped', 'cancelled', 'timed_out']);
const LEVELS: Readonly<Record<string, 'info' | 'warn' | 'error'>> = { info: 'info', success: 'info', warning: 'warn', error: 'error' };

class WireStep extends WireConnection {
  take(input: Input): void {
    switch (input.on) {
      case 'message':
        return this.message(input.method, input.params);
      case 'asked':
        return this.asked(input.id, input.method, input.params);
      case 'reply':
        return this.reply(input.call, input.result, input.error);
      case 'intent':
        return this.state.phase === 'left' ? undefined : this.intent(input.intent);
      case 'timer':
        return this.elapsed(input.timer);
      case 'closed':
        return this.closed(input.why);
      case 'junk':
        return this.junk(input.text);
      case 'start':
        return this.start({ history: this.state.setup.history, sessionFlag: true });
      case 'leave':
        return this.leave();
      case 'withdrawn':
        return;
    }
  }

  // --- what the user wants

  intent(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.prompt({ turnId: intent.turnId, content: intent.content });
      case 'command':
        return this.prompt(commandPrompt(intent.turnId, [...intent.path, intent.args]));
      case 'steer':
        return this.steer({ turnId: intent.turnId, content: intent.content });
      case 'cancel':
        return this.cancel();
      case 'answer':
        return this.userAnswered(intent.askId, intent.answer);
      case 'setMode':
        return this.setMode(intent.modeId === 'plan');
      default:
        return;
    }
  }
  /** The agent refuses a prompt while a turn runs, so it waits here. */
  prompt(prompt: NextPrompt): void {
    const { state } = this;
    if (state.turn?.by === 'user') return this.enqueue(prompt);
    if (state.turn) {
      // A turn of the agent gives way, and what it asked is declined, so that nothing waits for ever.
      this.settle('turn', 'declined');
      this.cutOff();
    }
    this.beginTurn(prompt.turnId, 'user', prompt.content);
    const [first] = prompt.content;
    if (first?.type !== 'text' || !turnsAsksOff(first.text)) return this.sendPrompt(prompt);
    state.unconfirmed = { askId: this.newId(), prompt };
    this.ask(confirmation(state.unconfirmed.askId, prompt.turnId, first.text.trim()), null);
  }
  sendPrompt(prompt: NextPrompt): void {
    this.call('prompt', { user_input: toUserInput(prompt.content) });
  }
  /** Stops the turn. Answers every open request before the cancel: older agents never end a turn that is cancelled while they wait (wire.md §9.1). */
  override cancel(): void {
    const { state } = this;
    const { turn, setup } = state;
    if (state.replaying) {
      this.call('cancel', {});
      this.emit({ type: 'link.opening', note: t('Stopping…'), stops: true });
      return this.timer(OFFER_RESTART, setup.limits.offerRestart);
    }
    if (!turn) return;
    // Nothing of this turn has been sent.
    if (state.unconfirmed) return this.endTurn('cancelled');
    this.settle('turn', 'declined');
    this.call('cancel', {});
    this.startStopping(turn, setup.limits);
  }
  setMode(plan: boolean): void {
    const { state } = this;
    if (!state.hasPlanMode) return;
    if (this.has('planMode') && !find(state.missing, 'set_plan_mode'))
      return this.call('set_plan_mode', { enabled: plan }, plan ? 'on' : 'off');
    if (state.turn?.by !== 'user') this.prompt(commandPrompt(this.newId(), ['plan', plan ? 'on' : 'off']));
  }
  modeSet(plan: boolean, result: { readonly plan_mode?: boolean | null | undefined } | undefined, failed: Failure | undefined): void {
    if (!failed) return this.emit({ type: 'mode.set', mode: modeChoice(result?.plan_mode ?? plan) });
    if (failed.kind !== 'refused') return;
    const isUnknown = failed.code === codes.unknownMethod || /not support|unsupported/i.test(failed.message);
    this.state.hasPlanMode = !isUnknown;
    if (isUnknown) this.emit({ type: 'mode.set', mode: null });
    else this.notice('warn', t('The agent refused: {0}', failed.message));
  }
  steer(prompt: NextPrompt): void {
    const { state } = this;
    const { turn } = state;
    if (turn?.by !== 'user' || find(state.missing, 'steer')) return this.prompt(prompt);
    state.steers.push({ prompt, turnId: turn.id, at: 'sent' });
    const part: Part = { kind: 'prompt', id: prompt.turnId, content: prompt.content, pending: true };
    this.emit({ type: 'part.added', turnId: turn.id, part });
    this.call('steer', { user_input: toUserInput(prompt.content) }, prompt.turnId);
  }
  steered(id: string, failed: Failure | undefined): void {
    const { steers, turn } = this.state;
    const steer = steers.find(({ prompt }) => prompt.turnId === id);
    if (!steer) return;
    const { prompt } = steer;
    const isPending = steer.at !== 'gone';
    // Agents before 1.5 do not report when they take a message up: their reply counts as that report.
    if (!failed && isPending && this.has('steerInput')) {
      steer.at = 'accepted';
      return;
    }
    steers.splice(steers.indexOf(steer), 1);
    if (isPending) this.removePending(steer);
    if (!failed) {
      if (isPending && turn) this.addPart(turn, turn.main, { kind: 'prompt', content: prompt.content });
      return;
    }
    if (failed.kind !== 'refused') return;
    // The turn has ended, or the agent cannot be steered: the message becomes the next prompt.
    if (failed.code === codes.wrongState || failed.code === codes.unknownMethod) return this.prompt(prompt);
    const text = prompt.content.map((one) => (one.type === 'text' ? one.text : `[${one.type}]`)).join(' ');
    if (isPending) this.notice('error', t('The agent refused: {0}', `${text}: ${failed.message}`));
  }
  /** Removes the oldest message that waits: the agent has taken it up, and its own event shows it. */
  steerTakenUp(): void {
    const { steers } = this.state;
    const oldest = steers.find(({ at }) => at !== 'gone');
    if (!oldest) return;
    this.removePending(oldest);
    if (oldest.at === 'accepted') steers.splice(steers.indexOf(oldest), 1);
    else oldest.at = 'gone';
  }
  removePending({ prompt, turnId }: Steer): void {
    this.emit({ type: 'parts.removed', turnId, partIds: [prompt.turnId] });
  }

  // --- turns

  beginTurn(id: string, by: WireTurn['by'], prompt: NextPrompt['content']): void {
    const command = by === 'user' ? this.commandIn(prompt) : null;
    const turn: WireTurn = {
      ...newTurn<WireLane, WireCall>(id, by),
      main: newWireLane('', null),
      approvals: {},
      agents: [],
      tokens: { input: 0, output: 0 },
      command,
      answer: '',
    };
    this.startTurn(turn, prompt);
  }
  /** Returns the command in a user's prompt that does more than get an answer. */
  commandIn([first]: NextPrompt['content']): WireTurn['command'] {
    if (first?.type !== 'text') return null;
    if (turnsAsksOff(first.text)) return 'approvals';
    const name = /^\s*\/(\S+)/.exec(first.text)?.[1];
    const command = this.state.agent?.commands.find((one) => one.name === name || one.aliases.includes(name ?? ''));
    return command && (command.name === 'clear' || command.aliases.includes('clear')) ? 'clear' : null;
  }
  /** A turn that was to be stopped counts as stopped, even when it ended by itself first. */
  override endTurn(status: TurnStatus, end: TurnEnd = {}): void {
    const { state } = this;
    const { turn } = state;
    if (!turn) return;
    state.unconfirmed = null;
    for (const call of Object.values(turn.calls))
      if (call.prints && !call.ended)
        this.emit({
          type: 'terminal.changed',
          terminal: { id: terminalOf(turn, call), exit: { code: null, signal: null, stopped: true } },
        });
    const clears = status === 'done' ? this.finishTurn(turn) : {};
    if (turn.by === 'user') {
      // Messages that were not taken up leave the turn and wait for the user. Those still on their way will be refused.
      state.steers = state.steers.filter(({ at }) => at !== 'accepted').map((steer) => ({ ...steer, at: 'gone' }));
    }
    super.endTurn(status, { ...end, ...clears });
    if (state.phase === 'left') return this.hangUp();
    const next = this.nextPrompt();
    if (next) this.prompt(next);
  }
  /** Details of the end of a successful turn. */
  finishTurn(turn: WireTurn): { readonly clears?: true } {
    // No message tells the end of an agent that no call started.
    for (const id of turn.agents) if (find(turn.calls, id)?.ended === false) this.changeCall(turn, id, { status: 'done' });
    if (turn.command === null || /unknown (slash )?command/i.test(turn.answer)) return {};
    if (turn.command === 'approvals') {
      this.approvalsSwitched(turn.answer);
      return {};
    }
    this.notice('info', t('The conversation starts over. The agent forgets everything before this point.'));
    return { clears: true };
  }
  /** Shows whether `/yolo` or `/afk` has switched approvals on or off, which only the words of the answer tell. An unclear answer counts as off. */
  approvalsSwitched(answer: string): void {
    if (/will require approval|will ask|asks? (you )?again|disabled|\boff\b/i.test(answer))
      this.aboutApprovals('info', t('Asks before edits and commands'));
    else this.aboutApprovals('warn', t('The agent edits files and runs commands without asking you.'));
  }
  promptEnded(
    result: { readonly status: string; readonly steps?: number | null | undefined } | undefined,
    failed: Failure | undefined,
  ): void {
    const { turn } = this.state;
    // `closed` handles a link that has closed.
    if (turn?.by !== 'user' || (failed && failed.kind !== 'refused')) return;
    if (turn.phase === 'stopping' || result?.status === 'cancelled') return this.endTurn('cancelled');
    if (failed) return this.endTurn('failed', { error: faultOf(failed) });
    const { status = 'finished' } = result ?? {};
    if (status !== 'max_steps_reached') return this.endTurn('done', status === 'finished' ? {} : { stop: status });
    const message = limitReached('steps');
    this.endTurn('done', { error: { message, next: ['continue'] } });
  }
  /** A turn cut off by a crash has no end of its own: it ends where the next begins. */
  agentBegins(payload: object): void {
    this.cutOff();
    const parsed = events.TurnBegin.safeParse(payload);
    this.beginTurn(this.newId(), this.state.replaying ? 'record' : 'agent', parsed.success ? fromUserInput(parsed.data.user_input) : []);
  }
  /** Ends a turn of the agent because another turn or a prompt has begun. */
  override cutOff(): void {
    if (this.state.turn && this.state.turn.by !== 'user') this.endTurn(this.state.recordsEnds ? 'cancelled' : 'done');
  }

  // --- replies and timers

  override reply(call: string, raw: unknown, error: Failure | undefined): void {
    const { state } = this;
    const [name, about] = splitName(call);
    if (state.phase === 'left' && name !== 'prompt') return;
    if (error?.code === codes.unknownMethod && Object.hasOwn(methods, name)) put(state.missing, name, true);
    switch (name) {
      case 'prompt': {
        const { result, failed } = readReply(name, raw, error);
        return this.promptEnded(result, failed);
      }
      case 'steer':
        return this.steered(about, readReply(name, raw, error).failed);
      case 'set_plan_mode': {
        const { result, failed } = readReply(name, raw, error);
        return this.modeSet(about === 'on', result, failed);
      }
      case 'cancel':
        // Nothing runs: the turn of the agent ended without its end being told.
        if (error?.code === codes.wrongState && state.turn?.by === 'agent' && state.turn.phase === 'stopping') this.endTurn('cancelled');
        return;
      case 'tool':
        return this.toolAnswered(about, call, raw as ToolReply | undefined, error);
      default:
        return super.reply(call, raw, error);
    }
  }
  override elapsed(timer: string): void {
    const { turn, replaying } = this.state;
    switch (timer) {
      case OFFER_RESTART:
        if (replaying) return this.giveUpReplay();
        return turn ? this.offerRestart(turn) : undefined;
      case RESTART:
        if (!turn) return;
        this.endTurn('cancelled', turn.by === 'user' ? { stop: 'restarted' } : {});
        return this.restart();
      default:
        return super.elapsed(timer);
    }
  }

  // --- messages of the agent (wire.md §5)

  message(method: string, params: unknown): void {
    const said = envelopeOf(params);
    if (method === 'event')
      return said ? this.event(said.type, said.payload) : this.log('warn', 'Left out an event without a type or payload');
    if (method === 'request' && said) return this.pastRequest(said.type, said.payload);
    this.log('trace', `Left out an unknown notification: ${method.slice(0, 100)}`);
  }
  event(type: string, payload: object): void {
    const { state } = this;
    const { turn } = state;
    if (type === 'TurnBegin' && turn?.by !== 'user' && (state.replaying || state.agent)) return this.agentBegins(payload);
    if (type === 'SteerInput') this.steerTakenUp();
    if (turn) this.eventIn(type, payload, turn, turn.main, 0);
    else this.eventOutside(type, payload);
    if (type !== 'TurnEnd' || !turn || turn.by === 'user') return;
    state.recordsEnds = true;
    this.endTurn('done');
  }
  eventIn(type: string, payload: object, turn: WireTurn, lane: WireLane, depth: number): void {
    if (type === 'ContentPart') {
      // Nearly all events of a flood are pieces of text. They are checked by hand, which costs a fifth of the schema.
      const { type: kind, text, think } = payload as { readonly type?: unknown; readonly text?: unknown; readonly think?: unknown };
      if (kind === 'text' && typeof text === 'string') return this.textIn(turn, lane, 'text', text);
      if (kind === 'think' && typeof think === 'string') return this.textIn(turn, lane, 'thought', think);
    }
    const event = this.parse(type, payload);
    if (event) IN_TURN[event.type](this, event.payload as never, { turn, lane, depth });
  }
  /** Handles the few events that may come without a turn. */
  eventOutside(type: string, payload: object): void {
    const event = this.parse(type, payload);
    switch (event?.type) {
      case 'StatusUpdate':
        return this.status(event.payload);
      case 'Notification':
        return this.notification(event.payload);
      case 'ApprovalResponse':
      case 'ApprovalRequestResolved':
        return this.approvalSettled(event.payload);
      case 'HookResolved':
        return this.hookResolved(event.payload);
    }
  }
  parse(type: string, payload: object): WireEvent | undefined {
    if (!Object.hasOwn(events, type)) {
      this.log('trace', `Left out an unknown event: ${type.slice(0, 200)}`);
      return undefined;
    }
    const parsed = events[type as keyof EventPayload].safeParse(payload);
    if (parsed.success) return { type, payload: parsed.data } as WireEvent;
    const [issue] = parsed.error.issues;
    this.log('trace', `Left out a malformed event: ${type}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.slice(0, 300));
    return undefined;
  }
  textIn(turn: WireTurn, lane: WireLane, kind: 'text' | 'thought', text: string): void {
    if (turn.waiting) this.clearActivity(turn);
    if (lane.call !== null) this.closeInput(turn, lane);
    if (turn.command !== null && kind === 'text') turn.answer = (turn.answer + text).slice(0, 1000);
    this.text(turn, lane, kind, text);
  }
  content(part: ContentPart, turn: WireTurn, lane: WireLane): void {
    this.clearActivity(turn);
    this.closeInput(turn, lane);
    this.addPart(turn, lane, { kind: 'content', content: fromPart(part) });
  }
  beginStep(turn: WireTurn, lane: WireLane): void {
    this.clearActivity(turn);
    this.closeInput(turn, lane);
    lane.open = null;
    lane.stepFrom = lane.parts.length;
  }
  /** The step is tried again: its text and its calls without a result are taken back, with what sub-agents did under those calls. */
  retryStep(payload: EventPayload['StepRetry'], turn: WireTurn, lane: WireLane): void {
    const partIds = this.takeBack(turn, lane, lane.stepFrom);
    lane.open = null;
    lane.call = null;
    if (partIds.length > 0) this.emit({ type: 'parts.removed', turnId: turn.id, partIds });
    const reason = payload.status_code ? `${payload.error_type} ${payload.status_code}` : payload.error_type;
    const seconds = Math.round(payload.wait_s);
    this.showActivity(turn, t('Trying again ({0} of {1}): {2}', payload.next_attempt, payload.max_attempts, `${reason} (${seconds} s)`));
  }
  takeBack(turn: WireTurn, lane: WireLane, from: number): readonly string[] {
    const removed: string[] = [];
    for (const id of lane.parts.splice(from)) {
      const call = find(turn.calls, id);
      if (call?.ended) {
        lane.parts.push(id);
        continue;
      }
      removed.push(id);
      if (!call) continue;
      call.ended = true;
      for (const inner of Object.values(turn.lanes)) if (inner.parent === id) removed.push(...this.takeBack(turn, inner, 0));
    }
    return removed;
  }
  planShown({ content, file_path }: EventPayload['PlanDisplay'], turn: WireTurn, lane: WireLane): void {
    this.closeInput(turn, lane);
    this.addPart(turn, lane, { kind: 'text', text: content });
    if (file_path) this.addPart(turn, lane, { kind: 'content', content: { type: 'file', path: file_path } });
  }
  hookResolved({ action, event, target, reason }: EventPayload['HookResolved'], lane?: WireLane): void {
    const { turn } = this.state;
    if (turn) this.clearActivity(turn);
    if (action === 'block') this.notice('warn', t('A hook ({0}) blocked {1}: {2}', event, target || '…', reason || '…'), lane);
  }
  sideAnswer({ error, response }: EventPayload['BtwEnd'], turn: WireTurn, lane: WireLane): void {
    if (error) this.notice('error', t('{0} failed: {1}', '/btw', error), lane);
    else this.addPart(turn, lane, { kind: 'text', text: response ?? '' });
  }
  /** An event of a sub-agent belongs to a lane under the call that started it; without such a call, under a card for the agent. */
  subagent(payload: EventPayload['SubagentEvent'], turn: WireTurn, outer: WireLane, depth: number): void {
    if (depth >= MOST_DEPTH) return;
    const theirId = payload.parent_tool_call_id ?? payload.task_tool_call_id ?? undefined;
    const agent = payload.agent_id ?? '';
    const name = JSON.stringify([theirId ?? null, agent]);
    let lane = find(turn.lanes, name);
    if (!lane) {
      const parent = (theirId === undefined ? undefined : this.lastCall(turn, theirId)) ?? this.addAgentCall(payload, turn, outer);
      lane = put(turn.lanes, name, newWireLane(name, parent.id));
    }
    this.eventIn(payload.event.type, payload.event.payload, turn, lane, depth + 1);
  }
  addAgentCall(payload: EventPayload['SubagentEvent'], turn: WireTurn, lane: WireLane): WireCall {
    const name = payload.subagent_type ?? 'agent';
    const id = payload.parent_tool_call_id ?? payload.task_tool_call_id ?? `agent ${payload.agent_id ?? ''}`;
    const call = this.newCall(id, turn, lane, {
      name,
      title: `${t('Sub-agent')} ${name}`,
      kind: kindOf(name),
      status: 'running',
      inputText: '',
    });
    turn.agents.push(call.id);
    return call;
  }

  // --- calls

  newCall(
    theirId: string,
    turn: WireTurn,
    lane: WireLane,
    shown: Pick<ToolCall, 'name' | 'title' | 'kind' | 'status' | 'inputText'>,
  ): WireCall {
    const first = find(turn.calls, theirId);
    if (first) first.repeats += 1;
    const id = first ? repeatedId(theirId, first.repeats) : theirId;
    const { name, title, kind, status, inputText } = shown;
    const call: WireCall = {
      id,
      decision: 'none',
      ended: false,
      repeats: 0,
      name,
      inputText,
      input: null,
      inputIsWhole: false,
      prints: false,
    };
    return this.addCall(turn, lane, call, { name, title, kind, status, inputText, output: [], locations: [] });
  }
  lastCall(turn: WireTurn | null, theirId: string): WireCall | undefined {
    const first = turn ? find(turn.calls, theirId) : undefined;
    return first && turn && first.repeats > 0 ? find(turn.calls, repeatedId(theirId, first.repeats)) : first;
  }
  /** Two calls of one id get their results in their order. */
  callOfResult(turn: WireTurn, theirId: string): WireCall | undefined {
    const first = find(turn.calls, theirId);
    let call = first;
    for (let n = 1; first && call?.ended && n <= first.repeats; n++) call = find(turn.calls, repeatedId(theirId, n));
    return call;
  }
  toolCall({ id, function: { name, arguments: args } }: EventPayload['ToolCall'], turn: WireTurn, lane: WireLane): void {
    this.clearActivity(turn);
    this.closeInput(turn, lane);
    const inputText = args ?? '';
    const call = this.newCall(id, turn, lane, { name, title: name, kind: kindOf(name), status: 'pending', inputText });
    lane.call = call.id;
    const input = inputText.endsWith('}') ? parseInput(inputText) : undefined;
    if (input !== undefined) this.inputWhole(turn, call, input);
  }
  toolCallPart(text: string, turn: WireTurn, lane: WireLane): void {
    const call = lane.call === null ? undefined : find(turn.calls, lane.call);
    if (!call || call.inputIsWhole || text === '') return;
    call.inputText += text;
    this.emit({ type: 'call.inputDelta', turnId: turn.id, callId: call.id, text });
  }
  /** Marks the arguments of the last call as complete, because another event came. */
  closeInput(turn: WireTurn, lane: WireLane): void {
    if (lane.call === null) return;
    const call = find(turn.calls, lane.call);
    lane.call = null;
    if (call && !call.inputIsWhole && !call.ended) this.inputWhole(turn, call, parseInput(call.inputText));
  }
  /** Marks a call's arguments as complete, because an approval came for it, whose details are compared with them. */
  argumentsWhole(turn: WireTurn, call: WireCall): void {
    for (const lane of [turn.main, ...Object.values(turn.lanes)]) if (lane.call === call.id) this.closeInput(turn, lane);
  }
  inputWhole(turn: WireTurn, call: WireCall, input: unknown): void {
    call.inputIsWhole = true;
    call.input = input ?? null;
    const known =
      input === undefined ? {} : { input, title: titleOf(call.name, input), locations: locationsOf(input, this.state.setup.cwd) };
    this.changeCall(turn, call.id, { status: 'running', ...known });
  }
  /** Shows the output of a running command, which parley-agent reports, in a terminal that outlives a stop. */
  toolOutput({ tool_call_id, text }: EventPayload['ToolOutput'], turn: WireTurn): void {
    const call = this.callOfResult(turn, tool_call_id);
    if (!call || call.ended) return;
    const id = terminalOf(turn, call);
    if (!call.prints) {
      this.argumentsWhole(turn, call);
      call.prints = true;
      this.emit({ type: 'terminal.changed', terminal: { id, command: commandOf(call.input) } });
      this.changeCall(turn, call.id, { output: [{ kind: 'terminal', terminalId: id }] });
    }
    this.emit({ type: 'terminal.changed', terminal: { id }, delta: text });
  }
  /** Ends the terminal of a command with its exit status and the output in its result. */
  printed(payload: EventPayload['ToolResult'], turn: WireTurn, call: WireCall): void {
    const { is_error: isError, message, output, display, extras } = payload.return_value;
    const id = terminalOf(turn, call);
    const code = exitCodeOf(extras) ?? (isError ? null : 0);
    const whole = typeof output === 'string' && output !== '' ? ({ delta: output, reset: true } as const) : {};
    this.emit({ type: 'terminal.changed', terminal: { id, exit: { code, signal: null } }, ...whole });
    const beside = (display ?? []).filter(({ type }) => type !== 'brief');
    const isStopped = isError && turn.phase === 'stopping';
    this.changeCall(turn, call.id, {
      status: isStopped ? 'cancelled' : isError ? 'failed' : 'done',
      output: [{ kind: 'terminal', terminalId: id }, ...outputsOf(beside, '', '')],
      ...(isError && !isStopped && code === null ? { error: { message: toldIn(extras) ?? (message || agentError()) } } : {}),
    });
  }
  /** A result without a call gets a card of its own. */
  toolResult(payload: EventPayload['ToolResult'], turn: WireTurn, lane: WireLane): void {
    const { is_error: isError, message, output, display, extras } = payload.return_value;
    const blocks = display ?? [];
    const own = this.callOfResult(turn, payload.tool_call_id);
    if (own && lane.call === own.id) this.closeInput(turn, lane);
    const call = own ?? this.unannouncedCall(payload.tool_call_id, turn, lane);
    call.ended = true;
    if (call.prints) this.printed(payload, turn, call);
    else if (isError && turn.phase === 'stopping' && call.decision !== 'refused')
      // A call that ends because of our stop did not fail.
      this.changeCall(turn, call.id, { status: 'cancelled', output: outputsOf(blocks, output ?? '', '') });
    else
      this.changeCall(turn, call.id, {
        status: isError ? (call.decision === 'refused' ? 'rejected' : 'failed') : 'done',
        output: outputsOf(blocks, output ?? '', message ?? ''),
        ...(isError ? { error: { message: toldIn(extras) ?? (message || agentError()) } } : {}),
      });
    const plan = planOf(blocks);
    if (plan) this.emit({ type: 'plan.set', plan });
    this.tasksIn(blocks);
  }
  unannouncedCall(theirId: string, turn: WireTurn, lane: WireLane): WireCall {
    return this.newCall(theirId, turn, lane, { name: 'tool', title: 'tool', kind: 'other', status: 'running', inputText: '' });
  }

  // --- what the agent asks (wire.md §5.2)

  asked(id: string, method: string, params: unknown): void {
    const { state } = this;
    const said = envelopeOf(params);
    // An event is an event, whatever id it carries; a request of the record is history. Neither gets an answer.
    if (method === 'event' || (method === 'request' && state.replaying)) {
      this.do({ do: 'answer', link: AGENT, id, none: true });
      return this.message(method, params);
    }
    if (method !== 'request') return this.refuse(AGENT, id, codes.unknownMethod, `Unknown method: ${method}`);
    if (!said) return this.refuse(AGENT, id, codes.badParams, 'A request needs a type and a payload that is an object');
    if (!Object.hasOwn(requests, said.type)) return this.refuse(AGENT, id, codes.unknownMethod, `Unknown request type: ${said.type}`);
    const parsed = requests[said.type as keyof RequestPayload].safeParse(said.payload);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return this.refuse(AGENT, id, codes.badParams, `Bad ${said.type}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
    }
    const request = { type: said.type, payload: parsed.data } as WireRequest;
    switch (request.type) {
      case 'ApprovalRequest':
        return this.approval(id, request.payload);
      case 'QuestionRequest':
        return this.question(id, request.payload);
      case 'ToolCallRequest':
        return this.tool(id, request.payload);
      case 'HookRequest':
        // We subscribe to no hooks. One that comes all the same is let through.
        return this.do({ do: 'answer', link: AGENT, id, result: { request_id: request.payload.id, action: 'allow', reason: '' } });
    }
  }
  approval(id: string, request: RequestPayload['ApprovalRequest']): void {
    const background = isBackground(request);
    const call = this.lastCall(this.state.turn, request.tool_call_id);
    const turn = background ? null : this.state.turn;
    if (!this.openRequest(id, AGENT, { result: { request_id: request.id, response: 'reject' } }, background)) return;
    const about: AskedRequest = { type: 'ApprovalRequest', request };
    if (this.joinsAsk(id, about)) return;
    if (call && this.state.turn) this.argumentsWhole(this.state.turn, call);
    if (call && turn) {
      put(turn.approvals, request.id, call.id);
      call.decision = 'asking';
      this.changeCall(turn, call.id, { status: 'waiting' });
    }
    this.ask(approvalOf(request, { ...(turn ? { turnId: turn.id } : {}), ...contextOf(call) }), about, id);
  }
  question(id: string, request: RequestPayload['QuestionRequest']): void {
    const { turn } = this.state;
    const call = request.tool_call_id ? this.lastCall(turn, request.tool_call_id) : undefined;
    if (!this.openRequest(id, AGENT, { result: questionAnswer(request, { kind: 'cancelled' }) })) return;
    const about: AskedRequest = { type: 'QuestionRequest', request };
    if (this.joinsAsk(id, about)) return;
    this.ask(questionOf(request, { ...(turn ? { turnId: turn.id } : {}), ...contextOf(call) }), about, id);
  }
  /**
   * Joins a request to an open ask about the same thing that has another id on the wire: one answer of the user answers both. A different request with
   * the id of an open one is refused, because the user has not seen it.
   */
  joinsAsk(id: string, asked: AskedRequest): boolean {
    const ask = find(this.state.asks, asked.request.id);
    if (!ask) return false;
    if (JSON.stringify(ask.about) === JSON.stringify(asked)) ask.requests.push(id);
    else this.refuse(AGENT, id, codes.badParams, 'Another request of this id is open');
    return true;
  }
  tool(id: string, request: RequestPayload['ToolCallRequest']): void {
    const { turn, agent } = this.state;
    const call = this.lastCall(turn, request.id);
    const open = this.openRequest(id, AGENT, { result: toolReturn(request.id, false, 'Cancelled.') });
    if (!open) return;
    if (turn && call) this.changeCall(turn, call.id, { status: 'running' });
    this.port(open, `tool ${id}`, 'tool', { name: request.name, input: request.arguments ?? '', names: agent?.names ?? {} });
  }
  toolAnswered(id: string, port: string, reply: ToolReply | undefined, failed: Failure | undefined): void {
    const open = find(this.state.requests, id);
    if (!open) return;
    this.portDone(open, port);
    this.answer(id, toolReturn(toolCallOf(open), reply?.ok ?? false, reply?.text ?? failed?.message ?? ''));
  }
  userAnswered(askId: string, answer: Answer): void {
    const { unconfirmed, handshake, asks } = this.state;
    const ask = find(asks, askId);
    if (!ask) return;
    if (unconfirmed?.askId === askId) return this.confirmed(ask, unconfirmed.prompt, answer);
    if (handshake?.askId === askId) return this.answeredSilence(handshake, ask, answer);
    const about = ask.about as AskedRequest;
    if (about.type === 'QuestionRequest') return this.answerAsk(ask, answer, questionAnswer(about.request, answer));
    this.decided(ask, about.request, answer);
  }
  confirmed(ask: OpenAsk, prompt: NextPrompt, answer: Answer): void {
    this.state.unconfirmed = null;
    this.closeAsk(ask, 'answered');
    // Any other answer is a no.
    if (answer.kind === 'fields' && answer.values.sure?.[0] === CONFIRM()) this.sendPrompt(prompt);
    else this.endTurn('cancelled');
  }
  decided(ask: OpenAsk, request: RequestPayload['ApprovalRequest'], answer: Answer): void {
    const given = approvalAnswer(request.id, answer, this.has('feedback'));
    const turn = ask.turnId === null ? null : this.state.turn;
    // The answer allows more than this call, and nothing else shows that later (wire.md §13).
    if (given.response === 'approve_for_session') {
      this.notice('info', t('Allow all “{0}” this session', request.action), turn ? turn.main : undefined);
    }
    const call = this.lastCall(turn, request.tool_call_id);
    if (call && turn) this.showDecision(turn, call, given.response === 'reject');
    this.answerAsk(ask, answer, given);
  }
  /** Closes an ask that another client has answered, and shows the decision on the call's card. */
  approvalSettled(payload: EventPayload['ApprovalResponse']): void {
    const { asks, turn } = this.state;
    const ask = find(asks, payload.request_id);
    if (ask) {
      this.closeAsk(ask, 'withdrawn');
      for (const id of ask.requests) this.closeRequest(id);
    }
    const id = turn ? find(turn.approvals, payload.request_id) : undefined;
    const call = turn && id !== undefined ? find(turn.calls, id) : undefined;
    if (call && turn) this.showDecision(turn, call, payload.response === 'reject');
  }
  showDecision(turn: WireTurn, call: WireCall, isRefused: boolean): void {
    // A stop refuses what is open, so that the turn ends; the user has not decided against the call.
    if (call.ended || (isRefused && turn.phase === 'stopping')) return;
    call.decision = isRefused ? 'refused' : 'allowed';
    this.changeCall(turn, call.id, { status: isRefused ? 'rejected' : 'running' });
  }
  /** A request of the record is shown as settled: a question leaves a line, the others are seen in their calls. */
  pastRequest(type: string, payload: unknown): void {
    const { turn } = this.state;
    const parsed = type === 'QuestionRequest' ? requests.QuestionRequest.safeParse(payload) : undefined;
    if (!turn || turn.by === 'user' || !parsed?.success) return;
    const questions = parsed.data.questions.map((item) => item.question).join('\n');
    this.notice('info', `${t('Question')}: ${questions}`, turn.main);
  }

  // --- beside the turns

  /** Every member is optional, and null means unchanged. Tokens are those of one step and add up over the turn. */
  status(payload: EventPayload['StatusUpdate'], lane?: WireLane): void {
    const { state } = this;
    const { turn } = state;
    const isMain = lane === undefined || lane.name === '';
    const { token_usage: tokens, context_tokens: used, max_context_tokens: size, context_usage: share } = payload;
    if (tokens && turn) {
      turn.tokens.input += tokens.input_other + tokens.input_cache_read + tokens.input_cache_creation;
      turn.tokens.output += tokens.output;
    }
    const usage = {
      ...(isMain && isCount(used) ? { used } : {}),
      ...(isMain && isCount(size) ? { size } : {}),
      // Old agents report only how full the context is.
      ...(isMain && isCount(share) && !isCount(used) ? { share: Math.min(share, 1) } : {}),
      ...(tokens && turn ? { ...turn.tokens } : {}),
    };
    if (Object.keys(usage).length > 0) this.emit({ type: 'usage.set', usage });
    if (isMain && typeof payload.plan_mode === 'boolean') {
      state.inPlanMode = payload.plan_mode;
      if (state.hasPlanMode) this.emit({ type: 'mode.set', mode: modeChoice(payload.plan_mode) });
    }
    for (const { name, status } of payload.mcp_status?.servers ?? []) this.serverStatus(name, status);
  }
  /** A server that failed is named once, and again when it has worked in between. */
  serverStatus(name: string, status: string): void {
    const { failedServers } = this.state;
    const hasFailed = status === 'failed' || status === 'unauthorized';
    if (!hasFailed) remove(failedServers, name);
    else if (!find(failedServers, name)) {
      put(failedServers, name, true);
      this.notice('warn', t('{0} could not start: {1}', `MCP ${name}`, status === 'failed' ? agentError() : t('Sign in')));
    }
  }
  /** Shows each notification about background work once. One may report the end of a task: `task.completed`, with the task's id as its source. */
  notification(payload: EventPayload['Notification'], lane?: WireLane): void {
    const { notified, background } = this.state;
    if (!find(notified, payload.id)) {
      put(notified, payload.id, true);
      this.notice(LEVELS[payload.severity ?? 'info'] ?? 'info', payload.body ? `${payload.title}\n${payload.body}` : payload.title, lane);
    }
    const id = payload.source_id ?? undefined;
    const isEnd = TASK_ENDS.has(payload.type?.split('.').at(-1) ?? '') || TASK_ENDS.has(String(payload.payload?.status));
    if (!isEnd || id === undefined || !find(background, id)) return;
    remove(background, id);
    this.showTasks();
  }
  /** Reads from the blocks of a result which background tasks have begun, are still at work, or have ended. */
  tasksIn(blocks: readonly DisplayBlock[]): void {
    const { background } = this.state;
    let changed = false;
    for (const block of blocks) {
      if (block.type !== 'background_task') continue;
      const { task_id: id, status, description } = block;
      const isKnown = find(background, id) !== undefined;
      if (TASK_ENDS.has(status) !== isKnown) continue;
      if (isKnown) remove(background, id);
      else put(background, id, { id, text: description || id });
      changed = true;
    }
    if (changed) this.showTasks();
  }
  showTasks(): void {
    this.emit({ type: 'background.set', tasks: Object.values(this.state.background) });
  }
}

/** The place of an event: its turn, the lane of its agent, and how deep that agent is nested. */
interface EventContext {
  readonly turn: WireTurn;
  readonly lane: WireLane;
  readonly depth: number;
}
/** The handler for each event of a turn. The compiler reports a missing one. */
const IN_TURN: { readonly [K in keyof EventPayload]: (step: WireStep, payload: EventPayload[K], place: EventContext) => void } = {
  TurnBegin: () => {},
  TurnEnd: (step, _payload, { turn, lane }) => step.closeInput(turn, lane),
  StepBegin: (step, _payload, { turn, lane }) => step.beginStep(turn, lane),
  StepInterrupted: (step, _payload, { turn, lane }) => step.beginStep(turn, lane),
  StepRetry: (step, payload, { turn, lane }) => step.retryStep(payload, turn, lane),
  CompactionBegin: (step, _payload, place) => waits(step, place, t('Compacting the conversation')),
  CompactionEnd: (step, _payload, { turn }) => step.clearActivity(turn),
  MCPLoadingBegin: (step, _payload, place) => waits(step, place, t('Starting {0}…', 'MCP')),
  MCPLoadingEnd: (step, _payload, { turn }) => step.clearActivity(turn),
  StatusUpdate: (step, payload, { turn, lane }) => {
    step.closeInput(turn, lane);
    step.status(payload, lane);
  },
  Notification: (step, payload, { lane }) => step.notification(payload, lane),
  ContentPart: (step, payload, { turn, lane }) => step.content(payload, turn, lane),
  ToolCall: (step, payload, { turn, lane }) => step.toolCall(payload, turn, lane),
  ToolCallPart: (step, payload, { turn, lane }) => step.toolCallPart(payload.arguments_part ?? '', turn, lane),
  ToolOutput: (step, payload, { turn }) => step.toolOutput(payload, turn),
  ToolResult: (step, payload, { turn, lane }) => step.toolResult(payload, turn, lane),
  ApprovalResponse: (step, payload) => step.approvalSettled(payload),
  ApprovalRequestResolved: (step, payload) => step.approvalSettled(payload),
  SubagentEvent: (step, payload, { turn, lane, depth }) => step.subagent(payload, turn, lane, depth),
  SteerInput: (step, payload, { turn, lane }) => {
    step.closeInput(turn, lane);
    step.addPart(turn, lane, { kind: 'prompt', content: fromUserInput(payload.user_input) });
  },
  PlanDisplay: (step, payload, { turn, lane }) => step.planShown(payload, turn, lane),
  HookTriggered: (step, { event, target }, place) => waits(step, place, `${t('Running')}: ${target ? `${event}: ${target}` : event}`),
  HookResolved: (step, payload, { lane }) => step.hookResolved(payload, lane),
  BtwBegin: (step, payload, { lane }) => step.notice('info', `/btw ${payload.question}`, lane),
  BtwEnd: (step, payload, { turn, lane }) => step.sideAnswer(payload, turn, lane),
};
function waits(step: WireStep, { turn, lane }: EventContext, text: string): void {
  step.closeInput(turn, lane);
  step.showActivity(turn, text);
}

export const wire = machineOf(WireStep);

interface ToolReply {
  readonly ok: boolean;
  readonly text: string;
}
function repeatedId(theirId: string, repeats: number): string {
  return `${theirId}#${repeats + 1}`;
}
function terminalOf(turn: WireTurn, { id }: WireCall): string {
  return `terminal-${turn.id}-${id}`;
}
function commandOf(input: unknown): string {
  const { command } = (input ?? {}) as { readonly command?: unknown };
  return typeof command === 'string' ? command : '';
}
function exitCodeOf(extras: object | null | undefined): number | undefined {
  const { exit_code } = (extras ?? {}) as { readonly exit_code?: unknown };
  return typeof exit_code === 'number' ? exit_code : undefined;
}
/** The message in the language of the user, which parley-agent gives where the model's is another. */
function toldIn(extras: object | null | undefined): string | undefined {
  const { message_for_user: told } = (extras ?? {}) as { readonly message_for_user?: unknown };
  return typeof told === 'string' && told !== '' ? told : undefined;
}
function commandPrompt(turnId: string, words: readonly string[]): NextPrompt {
  return { turnId, content: [{ type: 'text', text: `/${words.filter(Boolean).join(' ')}` }] };
}
function confirmation(id: string, turnId: string, command: string): Question {
  const label = `${command}: ${t('The agent edits files and runs commands without asking you.')}`;
  const fields = [{ id: 'sure', label, choices: [{ label: DO_NOT_CONFIRM() }, { label: CONFIRM() }] }];
  return { kind: 'question', ours: true, id, turnId, title: t('Continue?'), fields };
}
function contextOf(call: WireCall | undefined): { readonly call?: { readonly callId: string; readonly input?: unknown } } {
  if (!call) return {};
  return { call: { callId: call.id, ...(call.input === null ? {} : { input: call.input }) } };
}
/** The model reads output and message, one after the other. */
function toolReturn(id: string, ok: boolean, text: string) {
  const said = ok ? { output: text, message: '' } : { output: '', message: text };
  return { tool_call_id: id, return_value: { is_error: !ok, ...said, display: [] } };
}
function toolCallOf({ decline }: OpenRequest): string {
  return 'result' in decline ? (decline.result as ReturnType<typeof toolReturn>).tool_call_id : '';
}
function isCount(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
