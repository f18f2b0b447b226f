import { withoutCorrections } from './corrections.ts';
import type { SessionEvent } from './events.ts';
import type {
  AgentInfo,
  Approval,
  Ask,
  AskId,
  CallId,
  Decision,
  Notice,
  Part,
  Plan,
  QueuedPrompt,
  Remedy,
  Session,
  SessionId,
  Terminal,
  Turn,
  TurnId,
  Usage,
} from './model.ts';
import {
  addPart,
  amendCall,
  answerApproval,
  answerQuestion,
  carryOut,
  changeCall,
  decideCall,
  endGoingOn,
  endThought,
  goesOn,
  growInput,
  growText,
  leaveUnanswered,
  removeParts,
  setText,
  settleCalls,
  withdrawCall,
} from './parts.ts';
import { findAsk } from './select.ts';

/** The output that a terminal keeps, in UTF-16 units. */
export const TERMINAL_TAIL = 64 * 1024;
/** Terminals of a session. */
export const MOST_TERMINALS = 5000;
/** How many notices a session keeps. */
export const NOTICES_KEPT = 100;

export function newSession(id: SessionId, agent: AgentInfo, cwd: string): Session {
  return {
    id,
    title: '',
    agent,
    cwd,
    link: { state: 'opening' },
    turns: [],
    asks: [],
    queue: [],
    commands: [],
    terminals: [],
    notices: [],
  };
}

/** The name a user gave an agent stays; what the agent calls itself is a detail. */
function named({ name }: AgentInfo, said: AgentInfo): AgentInfo {
  return name === '' || name === said.name ? said : { ...said, name, own: said.name };
}

/** The only place a session changes. Pure; an event that fits nothing gives the same object back. */
export function reduce(session: Session, event: SessionEvent): Session {
  switch (event.type) {
    case 'link.opening':
      return openLink(session, event);
    case 'link.ready':
      return readyLink(session, event);
    case 'history.started':
      return session.partial ? session : { ...session, partial: true };
    case 'link.closed':
      return closeLink(session, event);
    case 'turn.started':
      return startTurn(session, event);
    case 'turn.ended':
      return endTurn(session, event);
    case 'turns.removed':
      return removeTurns(session, event.from);
    case 'turn.sender':
    case 'turn.retries':
    case 'turn.dated':
      return inTurn(session, event.turnId, (turn) => withFacts(turn, event));
    case 'turn.activity':
    case 'turn.stopping':
    case 'turn.adapterState':
      return inRunningTurn(session, event.turnId, (turn) => withProgress(turn, event, session.asks));
    case 'part.added':
      return inOpenPlace(session, event.turnId, event.part.parent, (turn) => addPart(turn, event.part, event.at));
    case 'parts.removed':
      return inRunningTurn(session, event.turnId, (turn) => removeParts(turn, event.partIds));
    case 'text.delta':
      return inOpenPlace(session, event.turnId, event.parent, (turn) => growText(turn, event));
    case 'text.set':
      return inRunningTurn(session, event.turnId, (turn) => setText(turn, event.partId, event.text));
    case 'call.changed':
      return inOpenPlace(session, event.turnId, event.callId, (turn) => changeCall(turn, event.callId, event.change, event.at));
    case 'call.inputDelta':
      return inOpenPlace(session, event.turnId, event.callId, (turn) => growInput(turn, event.callId, event.text));
    case 'turn.files':
    case 'call.appliedOnDisk':
    case 'call.amended':
      return inTurn(session, event.turnId, (turn) => foundOnDisk(turn, event));
    case 'ask.opened':
      return openAsk(session, event.ask);
    case 'ask.revised':
      return reviseAsk(session, event);
    case 'ask.changed':
      return changeAsk(session, event.ask);
    case 'ask.decided':
      return decideAsk(session, event.askId, event.decision);
    case 'ask.closed':
      return closeAsk(session, event);
    case 'corrections.set':
      return setCorrections(session, event.texts);
    case 'queue.set':
      return setQueue(session, event.queue);
    case 'plan.set':
      return event.plan ? { ...session, plan: event.plan } : withoutFact(session, 'plan');
    case 'commands.set':
      return { ...session, commands: event.commands };
    case 'mode.set':
      return event.mode ? { ...session, mode: event.mode } : withoutFact(session, 'mode');
    case 'options.set':
      return event.options.length === 0 && !session.options ? session : { ...session, options: event.options };
    case 'terminal.changed':
      return changeTerminal(session, event);
    case 'background.set':
      return event.tasks.length === 0 && !session.background?.length ? session : { ...session, background: event.tasks };
    case 'usage.set':
      return used(session, event.usage);
    case 'title.set':
      return setTitle(session, event);
    case 'resume.set':
      return event.key === session.resumeKey ? session : { ...session, resumeKey: event.key };
    case 'notice':
      return addNotice(session, event.notice);
    case 'notices.removed':
      return session.notices.every(goesOnStill) ? session : { ...session, notices: session.notices.filter(goesOnStill) };
    default:
      return ignore(session, event);
  }
}

/** Leaves out an event that a later version wrote. A case that the switch lacks does not compile. */
function ignore(session: Session, _unknown: never): Session {
  return session;
}

type EventOf<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

function readyLink({ partial: _, ...session }: Session, { agent, offers }: EventOf<'link.ready'>): Session {
  return { ...session, agent: named(session.agent, agent), link: { state: 'ready', offers } };
}

function openLink(session: Session, { note, stops, next }: EventOf<'link.opening'>): Session {
  return {
    ...session,
    // Notices of the last agent do not apply to the next one.
    notices: session.link.state === 'closed' ? [] : withoutSilence(session.notices),
    link: {
      state: 'opening',
      ...(note === undefined ? {} : { note }),
      ...(stops ? { stops: true as const } : {}),
      ...(next === undefined ? {} : { next }),
    },
  };
}

function startTurn(session: Session, { turnId, at, prompt }: EventOf<'turn.started'>): Session {
  if (session.turns.some((turn) => turn.id === turnId)) return session;
  const said = withoutCorrections(prompt);
  return {
    ...session,
    turns: [...session.turns, { id: turnId, startedAt: at, ...said, parts: [], status: 'running' }],
    notices: session.partial || prompt.length === 0 ? session.notices : session.notices.filter(({ level }) => level !== 'info'),
    // The prompt may have returned to the queue from the turn before.
    queue: session.queue.filter((one) => one.turnId !== turnId),
  };
}

function withFiles({ unlisted: _, ...turn }: Turn, { files, unlisted }: EventOf<'turn.files'>): Turn {
  return { ...turn, files, ...(unlisted ? { unlisted } : {}) };
}

function setCorrections(session: Session, texts: readonly string[]): Session {
  const { corrections = [], ...rest } = session;
  if (texts.length === 0) return corrections.length === 0 ? session : rest;
  return { ...rest, corrections: texts };
}

function withoutFact(session: Session, fact: 'plan' | 'mode'): Session {
  if (!session[fact]) return session;
  const { [fact]: _, ...rest } = session;
  return rest;
}

function addNotice(session: Session, notice: Notice): Session {
  const others = notice.about ? session.notices.filter(({ about }) => about !== notice.about) : session.notices;
  return { ...session, notices: [...others, notice].slice(-NOTICES_KEPT) };
}

/** Two of one name could not be told apart: a copy keeps the name it was given until the agent gives it one of its own. */
function setTitle(session: Session, { title, copyOf, chosen }: Extract<SessionEvent, { type: 'title.set' }>): Session {
  if (chosen) return { ...session, title, titleChosen: true };
  if (session.titleChosen) return session;
  if (copyOf !== undefined) return { ...session, title, copyOf };
  const saysNothing = session.copyOf !== undefined && (title === '' || title === session.copyOf);
  return saysNothing || title === session.title ? session : { ...session, title };
}

function inRunningTurn(session: Session, id: TurnId, change: (turn: Turn) => Turn): Session {
  return inTurn(session, id, (turn) => (turn.status === 'running' ? change(turn) : turn));
}

/** Changes a running turn, or an ended one for a call of a sub-agent that still works. */
function inOpenPlace(session: Session, id: TurnId, callId: CallId | undefined, change: (turn: Turn) => Turn): Session {
  return inTurn(session, id, (turn) => (turn.status === 'running' || goesOn(turn.parts, callId) ? change(turn) : turn));
}

function inTurn(session: Session, id: TurnId, change: (turn: Turn) => Turn): Session {
  const at = session.turns.findLastIndex((turn) => turn.id === id);
  const turn = session.turns[at];
  if (!turn) return session;
  const next = change(turn);
  return next === turn ? session : { ...session, turns: session.turns.with(at, next) };
}

type Progress = Extract<SessionEvent, { type: 'turn.activity' | 'turn.stopping' | 'turn.adapterState' }>;

function withProgress(turn: Turn, event: Progress, asks: readonly Ask[]): Turn {
  if (event.type === 'turn.activity') return withActivity(turn, event.text);
  if (event.type === 'turn.adapterState') return { ...turn, adapterState: event.value };
  return turn.stopping ? turn : { ...leaveUnanswered(turn, asks), stopping: true };
}

function withFacts(turn: Turn, event: Extract<SessionEvent, { type: 'turn.sender' | 'turn.retries' | 'turn.dated' }>): Turn {
  if (event.type === 'turn.sender') return withSender(turn, event);
  return event.type === 'turn.dated' ? dated(turn, event) : withRetry(turn, event);
}

function withRetry(turn: Turn, { failed }: Extract<SessionEvent, { type: 'turn.retries' }>): Turn {
  return turn.retries === failed ? turn : { ...turn, retries: failed };
}

/** Only of a turn that is over. */
function dated(turn: Turn, { startedAt, endedAt, status, error }: Extract<SessionEvent, { type: 'turn.dated' }>): Turn {
  if (turn.status === 'running') return turn;
  const { error: _, ...rest } = turn;
  return { ...rest, startedAt, endedAt, status, ...(error ? { error } : {}) };
}

/** The disk may tell more of a turn once it is over. */
function foundOnDisk(turn: Turn, event: Extract<SessionEvent, { type: 'turn.files' | 'call.appliedOnDisk' | 'call.amended' }>): Turn {
  if (event.type === 'turn.files') return withFiles(turn, event);
  return event.type === 'call.amended' ? amendCall(turn, event.callId, event.diffs) : carryOut(turn, event.callId);
}

function withActivity(turn: Turn, text: string | null): Turn {
  if (text === (turn.activity ?? null)) return turn;
  const { activity: _, ...rest } = turn;
  return text === null ? rest : { ...rest, activity: text };
}

/** Sets the sender of the prompt of a turn, or of a message that was added to it. */
function withSender(turn: Turn, { partId, sender }: Extract<SessionEvent, { type: 'turn.sender' }>): Turn {
  if (partId === undefined) return turn.sender === sender ? turn : { ...turn, sender };
  const isOther = (part: Part) => part.kind === 'prompt' && part.id === partId && part.sender !== sender;
  return turn.parts.some(isOther) ? { ...turn, parts: turn.parts.map((part) => (isOther(part) ? { ...part, sender } : part)) } : turn;
}

type TurnEnded = Extract<SessionEvent, { type: 'turn.ended' }>;

function ended(turn: Turn, how: Omit<TurnEnded, 'type' | 'turnId'>, plan?: Plan): Turn {
  const { activity: _, stopping: __, ...rest } = endThought(turn, how.at);
  return {
    ...rest,
    parts: settleCalls(
      rest.parts.filter((part) => !isPending(part)),
      how.at,
      how.unreported,
    ),
    status: how.status,
    endedAt: how.at,
    ...(how.stop === undefined ? {} : { stop: how.stop }),
    ...(how.error === undefined ? {} : { error: how.error }),
    ...(how.forgotten ? { forgotten: true } : {}),
    ...(plan && plan.entries.length > 0 ? { plan } : {}),
  };
}

function endTurn(session: Session, event: TurnEnded): Session {
  const next = inRunningTurn(session, event.turnId, (turn) => ended(leaveUnanswered(turn, session.asks), event, session.plan));
  if (next === session) return session;
  const said = event.clears ? startedOver(next) : withoutPlan(next);
  const left = { ...said, queue: [...said.queue, ...notTakenUp(session, event.turnId)], notices: withoutTurn(said.notices, event.turnId) };
  return withAsks(left, (ask) => ask.turnId !== event.turnId);
}

/** Drops the plan, which belongs to its turn and stays there. */
function withoutPlan(session: Session): Session {
  if (!session.plan) return session;
  const { plan: _, ...rest } = session;
  return rest;
}

function startedOver(session: Session): Session {
  const { plan: _, usage: __, ...rest } = session;
  return { ...rest, turns: [] };
}

function isPending(part: Part): part is Extract<Part, { kind: 'prompt' }> {
  return part.kind === 'prompt' && part.pending === true;
}

/** Messages that the turn did not accept, as queued prompts that wait for the user. */
function notTakenUp({ turns, queue }: Session, turnId: TurnId): readonly QueuedPrompt[] {
  const turn = turns.findLast((one) => one.id === turnId);
  return (turn?.parts ?? [])
    .filter(isPending)
    .filter(({ id }) => !queue.some((one) => one.turnId === id) && !turns.some((one) => one.id === id))
    .map(({ id, content, sender }) => ({ turnId: id, content, held: true, ...(sender === undefined ? {} : { sender }) }));
}

/** A prompt that the user has just sent removes the notices read before; those that come while it waits stay for its whole turn. */
function setQueue(session: Session, queue: readonly QueuedPrompt[]): Session {
  if (queue.length === 0 && session.queue.length === 0) return session;
  const waited = new Set(session.queue.flatMap((one) => (one.held ? [] : one.turnId)));
  const isSent = ({ turnId, held, feedback }: QueuedPrompt) => !held && !feedback && !waited.has(turnId);
  return { ...session, queue, notices: queue.some(isSent) ? session.notices.filter(goesOnStill) : session.notices };
}

function goesOnStill({ level, about, turnId }: Notice): boolean {
  return level !== 'info' && (about !== undefined || turnId !== undefined);
}

function withoutSilence(notices: readonly Notice[]): readonly Notice[] {
  return notices.some((one) => one.about === 'silence') ? notices.filter((one) => one.about !== 'silence') : notices;
}

function withoutTurn(notices: readonly Notice[], turnId: TurnId): readonly Notice[] {
  return notices.some((one) => one.turnId === turnId) ? notices.filter((one) => one.turnId !== turnId) : notices;
}

function closeLink(session: Session, event: Extract<SessionEvent, { type: 'link.closed' }>): Session {
  if (session.link.state === 'closed') return session;
  // Remedies for the link are shown with the link; the turn itself can be retried, or continued by an agent that keeps it.
  const next: readonly Remedy[] = session.resumeKey === undefined ? ['retry'] : ['retry', 'continue'];
  const failed = { status: 'failed', error: { message: event.reason, next } } as const;
  const restarted = { status: 'cancelled', stop: event.reason } as const;
  const running = session.turns.filter((turn) => turn.status === 'running');
  const cut: Session = { ...session, turns: session.turns.map((turn) => cutOff(endGoingOn(turn))) };
  const after = running.reduce(
    // A turn that the user already stopped ends as stopped (acp.md §9).
    (now, turn) =>
      endTurn(now, {
        type: 'turn.ended',
        turnId: turn.id,
        at: event.at,
        ...(turn.stopping ? { status: 'cancelled' as const } : event.restarts ? restarted : failed),
      }),
    cut,
  );
  const { background: _, ...rest } = after;
  return {
    ...rest,
    link: {
      state: 'closed',
      reason: event.reason,
      ...(event.detail === undefined ? {} : { detail: event.detail }),
      ...(event.next === undefined ? {} : { next: event.next }),
    },
    asks: [],
    terminals: endedTerminals(after.terminals),
  };
}

/** Ends all terminals: their commands end with the agent, or no longer report. */
function endedTerminals(terminals: Session['terminals']): Session['terminals'] {
  if (terminals.every((one) => one.exit)) return terminals;
  const exit = { code: null, signal: null };
  return terminals.map((one) => (one.exit ? one : { ...one, exit }));
}

function cutOff(turn: Turn): Turn {
  return turn.status === 'running' ? { ...turn, cutOff: true } : turn;
}

/** Removes that turn and all after it, but nothing while a turn runs. */
function removeTurns(session: Session, from: TurnId): Session {
  const at = session.turns.findIndex((turn) => turn.id === from);
  if (at < 0 || session.turns.some((turn) => turn.status === 'running')) return session;
  return { ...session, turns: session.turns.slice(0, at) };
}

function openAsk(session: Session, ask: Ask): Session {
  if (session.asks.some((open) => open.id === ask.id)) return session;
  if (ask.turnId !== undefined && session.turns.find((turn) => turn.id === ask.turnId)?.status !== 'running') return session;
  return { ...session, asks: [...session.asks, ask] };
}

function reviseAsk(session: Session, { askId, diffs, stale }: Extract<SessionEvent, { type: 'ask.revised' }>): Session {
  const at = session.asks.findIndex((ask) => ask.id === askId);
  const ask = session.asks[at];
  if (ask?.kind !== 'approval' || ask.detail.type !== 'edit') return session;
  const { revised, stale: known, ...proposed } = ask;
  const changed = stale ?? known ?? [];
  if (diffs.length === 0 && changed.length === 0 && !revised && !known) return session;
  const now = { ...proposed, ...(diffs.length > 0 ? { revised: diffs } : {}), ...(changed.length > 0 ? { stale: changed } : {}) };
  return { ...session, asks: session.asks.with(at, now) };
}

/** Replaces an ask and keeps the user's changes to the proposal. */
function changeAsk(session: Session, ask: Ask): Session {
  const at = session.asks.findIndex((open) => open.id === ask.id);
  const open = session.asks[at];
  if (open?.kind !== ask.kind) return session;
  const revised = open.kind === 'approval' && open.revised ? { revised: open.revised } : {};
  const stale = open.kind === 'approval' && open.stale ? { stale: open.stale } : {};
  const decision = open.decision ? { decision: open.decision } : {};
  return { ...session, asks: session.asks.with(at, { ...ask, ...revised, ...stale, ...decision }) };
}

function decideAsk(session: Session, id: AskId, decision: Decision): Session {
  const at = session.asks.findIndex((ask) => ask.id === id);
  const ask = session.asks[at];
  return ask ? { ...session, asks: session.asks.with(at, { ...ask, decision }) } : session;
}

function closeAsk(session: Session, { askId, how }: Extract<SessionEvent, { type: 'ask.closed' }>): Session {
  const ask = findAsk(session, askId);
  const closed = withAsks(session, (one) => one.id !== askId);
  const { callId, turnId, decision } = ask ?? {};
  if (turnId === undefined)
    return ask?.kind === 'approval' && how !== 'withdrawn' && decision ? decidedOutside(closed, ask, decision) : closed;
  if (ask?.kind === 'question' && !ask.ours && how !== 'withdrawn' && decision)
    return inTurn(closed, turnId, (turn) => answerQuestion(turn, ask, decision));
  if (callId === undefined) return closed;
  if (how === 'withdrawn' || (how === 'cancelled' && !decision)) return inTurn(closed, turnId, (turn) => withdrawCall(turn, callId));
  if (!decision) return closed;
  const proposed = ask?.kind === 'approval' && ask.detail.type === 'edit' ? ask.detail.diffs : [];
  return inTurn(closed, turnId, (turn) => decideCall(turn, callId, decision, proposed));
}

/** Keeps what was decided about an approval that belongs to no turn: where its call is, or else at the end of the conversation. */
function decidedOutside(session: Session, ask: Approval, decision: Decision): Session {
  // It was about the connection, as a sign-in is.
  if (ask.ours && ask.toolKind === undefined) return session;
  const turn = session.turns.findLast(({ parts }) => parts.some(({ id }) => id === ask.callId)) ?? session.turns.at(-1);
  return turn ? inTurn(session, turn.id, (one) => answerApproval(one, ask, decision)) : session;
}

function withAsks(session: Session, keep: (ask: Ask) => boolean): Session {
  const asks = session.asks.filter(keep);
  return asks.length === session.asks.length ? session : { ...session, asks };
}

function changeTerminal(session: Session, event: Extract<SessionEvent, { type: 'terminal.changed' }>): Session {
  const { terminals } = session;
  const at = terminals.findLastIndex(({ id }) => id === event.terminal.id);
  const stored: Terminal = terminals[at] ?? { id: event.terminal.id, command: '', tail: '', dropped: 0 };
  const known = event.reset ? { ...stored, tail: '', dropped: 0 } : stored;
  const whole = known.tail + (event.delta ?? '');
  let cut = Math.max(0, whole.length - TERMINAL_TAIL);
  if (cut > 0 && isLowSurrogate(whole.charCodeAt(cut))) cut += 1;
  const next: Terminal = { ...known, ...event.terminal, tail: whole.slice(cut), dropped: known.dropped + cut };
  return { ...session, terminals: at < 0 ? withoutOldest(terminals).concat([next]) : terminals.with(at, next) };
}

/** Makes room for another terminal: of the oldest, those whose commands have ended go first. */
function withoutOldest(terminals: Session['terminals']): Session['terminals'] {
  if (terminals.length < MOST_TERMINALS) return terminals;
  const surplus = MOST_TERMINALS / 10;
  let gone = 0;
  const kept = terminals.filter((one) => one.exit === undefined || ++gone > surplus);
  return gone >= surplus ? kept : terminals.slice(surplus);
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Updates the usage; a running turn counts reports during it as its own. */
function used(session: Session, usage: Usage): Session {
  const now = { ...session, usage: { ...session.usage, ...usage } };
  const turn = session.turns.at(-1);
  if (turn?.status !== 'running') return now;
  const { input, output } = usage;
  const cost = addedCost(turn, session, usage);
  if (input === undefined && output === undefined && !cost) return now;
  const spent = {
    ...turn.spent,
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
    ...(cost ? { cost } : {}),
  };
  return { ...now, turns: session.turns.with(-1, { ...turn, spent }) };
}

/** The agent tells the price of the whole conversation: before its first price only the first turn knows its share. */
function addedCost(turn: Turn, { usage, turns }: Session, { cost }: Usage): Usage['cost'] {
  const before = usage?.cost ?? (turns.length === 1 && cost ? { amount: 0, currency: cost.currency } : undefined);
  if (!cost || !before || before.currency !== cost.currency || cost.amount < before.amount) return undefined;
  return { amount: (turn.spent?.cost?.amount ?? 0) + cost.amount - before.amount, currency: cost.currency };
}
