import { parseJson } from '../../base/json.ts';
import { agentError, answerCut, limitReached, t } from '../../base/l10n.ts';
import { find, keys, put } from '../../conversation/state.ts';
import type { TurnEnd } from '../../conversation/step.ts';
import type { CallId, Output, TurnId } from '../../session/model.ts';
import type { Line } from './codec.ts';
import { displayedAs, nameless, shownIn, statusIn, styledText, waitingFor } from './envelopeCodec.ts';
import * as schema from './schema.ts';
import type { EnvelopeState, QwenCall, ShownCall } from './state.ts';
import { isOpen, QwenStep } from './step.ts';
import { type ToolUse, toolUse } from './tools.ts';

/** How long a tool may wait for the user before a question must have come, in milliseconds. */
const CONFIRM_LIMIT = 5_000;

export interface WholeCall {
  readonly id: CallId;
  readonly name: string;
  readonly input: unknown;
}

/**
 * The parts of a turn in the envelope dialect: calls, from pieces and from displays, and what annotations add: terminals, thoughts,
 * events. Texts, and how a turn ends, are the step's above.
 */
export abstract class EnvelopeParts extends QwenStep {
  get talk(): EnvelopeState {
    const { envelope } = this.agent;
    if (!envelope) throw new Error('Another dialect is spoken');
    return envelope;
  }
  /** The running turn, or a new one when the agent begins to speak by itself. */
  turnId(): TurnId {
    return (this.state.turn ?? this.begin(this.newId(), 'agent', [])).id;
  }
  get isAsking(): boolean {
    return this.waitsForUser || keys(this.state.asks).length > 0;
  }
  abstract finish(status: 'done' | 'cancelled' | 'failed', more?: TurnEnd): void;

  // --- calls: their pieces, their displays

  ensureCall(id: CallId, name: string | undefined, input: unknown, turnId: TurnId): void {
    const known = this.call(id);
    if (known && (known.shown?.named || name === undefined)) return;
    const args = input === undefined ? '' : JSON.stringify(input);
    const use = name === undefined ? nameless(this.cwd) : toolUse(name, input, this.cwd);
    const told = { args, named: name !== undefined, whole: input !== undefined };
    const call = known ?? this.newCall(id, use, turnId, null, input);
    call.use = use;
    call.shown = { at: 0, watched: false, looks: null, asked: false, prints: false, ...known?.shown, ...told };
    if (!known) return;
    const { title, kind, locations } = use;
    // Keeps the location of its displays until the call has one.
    const place = locations.length > 0 ? { locations } : {};
    const change = { name: use.name, title, kind, inputText: args, ...(input === undefined ? {} : { input: use.input }), ...place };
    this.changeCall({ id: turnId }, id, change);
  }
  override useOf(call: QwenCall): ToolUse {
    const { shown } = call;
    if (!shown) return call.use;
    return shown.named ? toolUse(call.use.name, jsonIn(shown.args), this.cwd) : (shown.looks ?? nameless(this.cwd));
  }
  /** Pieces belong together by index, then by id, else to the call before. */
  onCallPieces(pieces: readonly schema.CallPiece[]): void {
    const { talk } = this;
    talk.text = null;
    talk.thought = null;
    const turnId = this.turnId();
    for (const piece of pieces) {
      const byIndex = piece.index == null ? undefined : find(talk.byIndex, String(piece.index));
      const id = piece.id ?? byIndex ?? (piece.index == null ? talk.lastCall : null) ?? this.newId();
      if (piece.index != null) put(talk.byIndex, String(piece.index), id);
      talk.lastCall = id;
      this.ensureCall(id, piece.function?.name ?? undefined, undefined, turnId);
      const shown = this.call(id)?.shown;
      const text = piece.function?.arguments ?? '';
      if (!shown || text === '' || shown.whole) continue;
      shown.args += text;
      this.emit({ type: 'call.inputDelta', turnId, callId: id, text });
    }
  }
  /** Ends a model round: every call has its whole input. Gives the calls that became complete. */
  completeCalls(): readonly WholeCall[] {
    const { turn } = this.state;
    if (!turn) return [];
    this.talk.byIndex = {};
    const whole: WholeCall[] = [];
    for (const call of Object.values(this.agent.calls)) {
      const { shown } = call;
      if (!shown || shown.whole || (!shown.named && shown.args === '')) continue;
      shown.whole = true;
      const input = jsonIn(shown.args);
      if (shown.named) whole.push({ id: call.id, name: call.use.name, input });
      const { title, kind, locations } = this.useOf(call);
      this.changeCall(turn, call.id, { title, kind, locations, input: toolUse(call.use.name, input, this.cwd).input });
    }
    return whole;
  }
  /** A display makes the call known; one that is older than the shown one is dropped, and an end is kept. */
  onDisplay(display: schema.ToolDisplay | undefined): void {
    if (!display) return;
    const id = display.tool_call_id;
    // A model may give the same id to a call of a later turn, but that one does not begin with its end.
    const ends = !['pending', 'running', 'waiting', undefined].includes(statusIn(display.status));
    if (ends && !this.call(id) && this.talk.stopped.includes(id)) return this.log('info', 'The end of a call that was stopped came late');
    const turnId = this.turnId();
    this.ensureCall(id, undefined, undefined, turnId);
    const call = this.call(id);
    const wasWaiting = call?.status === 'waiting';
    if (call?.shown && (display.timestamp ?? call.shown.at) >= call.shown.at) this.showDisplay(call, call.shown, display, turnId);
    const isConfirming = display.status?.toLowerCase() === 'confirming';
    if (isConfirming || wasWaiting) this.timer(`confirm ${id}`, isConfirming ? CONFIRM_LIMIT : null);
  }
  showDisplay(call: QwenCall, shown: ShownCall, display: schema.ToolDisplay, turnId: TurnId): void {
    const { id } = call;
    shown.at = display.timestamp ?? shown.at;
    shown.watched = true;
    const next = display.pending && !display.status ? 'pending' : statusIn(display.status);
    const status = isOpen(call) ? (next ?? call.status) : call.status;
    const what = shownIn(display.result_display, this.cwd, { turnId, callId: id }) ?? waitingFor(display.confirmation, this.cwd);
    call.status = status;
    if (!isOpen(call)) this.printsNoMore(call);
    shown.looks = shown.named ? null : (displayedAs(display, this.cwd, shown.looks ?? undefined) ?? null);
    const { looks } = shown;
    const failed = status === 'failed' && what !== undefined;
    this.changeCall({ id: turnId }, id, {
      status,
      ...(looks ? { title: looks.title, kind: looks.kind, locations: looks.locations } : {}),
      // Shows the failure once.
      ...(what ? { output: failed ? what.output.filter((one) => one.kind !== 'content') : what.output } : {}),
      ...(failed ? { error: { message: firstText(what.output) } } : {}),
    });
    this.emitAll(what?.events ?? []);
  }
  /** A call reports that it waits for the user, but no question came. */
  confirmIsLate(id: CallId): void {
    const call = this.call(id);
    if (!call || this.isAsking || call.status !== 'waiting' || call.shown?.asked) return;
    this.note('warn', t('May be waiting for an approval that the agent cannot ask for: {0}. Stop ends it.', this.useOf(call).title));
  }

  // --- annotations, anywhere in a line

  /** `content` is the text of the same line, which a terminal note without its own is about. */
  onAnnotation(note: Line, content: string): void {
    const { talk } = this;
    const { type } = note;
    if (type !== 'x-qwen-thought') talk.thought = null;
    switch (type) {
      case 'x-qwen-terminal':
        return this.onTerminal(schema.terminal.safeParse(note).data, content);
      case 'x-qwen-tool-display':
        return this.onDisplay(schema.toolDisplay.safeParse(note).data);
      case 'x-qwen-thought':
        return this.onThought(schema.thought.safeParse(note).data);
      case 'x-qwen-session-event':
        return this.onSessionEvent(schema.sessionEvent.safeParse(note).data);
      case 'x-qwen-ansi':
        // Beside a text it is the same once more.
        return content === '' ? this.onTerminal({ text: schema.ansi.safeParse(note).data?.value }, '') : undefined;
      default: {
        const name = String(type).slice(0, 100);
        if (talk.unknown.includes(name) || talk.unknown.length >= 50) return;
        talk.unknown.push(name);
        this.log('info', `An annotation of an unknown type "${name}" is ignored`);
      }
    }
  }
  onTerminal(note: schema.TerminalNote | undefined, content: string): void {
    if (!note) return;
    const text = note.text ?? (note.source === 'assistant' ? '' : content);
    if (note.log_scope === 'debug' || note.console_level === 'debug') return this.log('trace', `Agent: ${text}`);
    if (note.source === 'system' && note.exit_code != null) {
      this.log('info', `The program of the agent ends with exit code ${note.exit_code}`);
    }
    if (text === '') return;
    // Outside of a turn the program speaks to its own log.
    if (note.source === 'console' && !this.state.turn) return this.log('info', `Agent: ${text}`);
    const id = this.terminalOfCall(note.tool_call_id) ?? this.terminalOfTurn();
    const scope = note.source === 'console' ? (note.console_level ?? 'console') : note.log_scope;
    const badge = scope && scope !== 'tool' ? `\u001b[90m${scope}:\u001b[0m ` : '';
    this.emit({ type: 'terminal.changed', terminal: { id }, delta: `${badge}${styledText(text, note)}` });
  }
  /** Shows the output of a known call in its card until the result comes. */
  terminalOfCall(callId: CallId | null | undefined): string | undefined {
    const call = callId == null ? undefined : this.call(callId);
    const { turn } = this.state;
    if (!call?.shown || !turn || !isOpen(call)) return undefined;
    const id = `terminal-${call.id}`;
    if (!call.shown.prints) {
      call.shown.prints = true;
      this.emit({ type: 'terminal.changed', terminal: { id, command: '' } });
      this.changeCall(turn, call.id, { output: [{ kind: 'terminal', terminalId: id }] });
    }
    return id;
  }
  printsNoMore(call: QwenCall): void {
    if (!call.shown?.prints) return;
    call.shown.prints = false;
    this.emit({ type: 'terminal.changed', terminal: { id: `terminal-${call.id}`, exit: { code: null, signal: null } } });
  }
  /** One terminal for what a turn prints, shown as a card of its own. */
  terminalOfTurn(): string {
    const { talk } = this;
    const turn = this.turnId();
    if (talk.terminal?.turn === turn) return talk.terminal.id;
    talk.terminals += 1;
    const id = `terminal-${turn}-${talk.terminals}`;
    talk.terminal = { id, turn };
    this.emit({ type: 'terminal.changed', terminal: { id, command: '' } });
    const call = {
      id,
      name: 'terminal',
      title: t('Terminal'),
      kind: 'execute',
      status: 'running',
      inputText: '',
      output: [{ kind: 'terminal', terminalId: id }],
      locations: [],
    } as const;
    this.emit({ type: 'part.added', turnId: turn, part: { kind: 'call', id, call } });
    return id;
  }
  onThought(note: { readonly subject?: string | null | undefined; readonly description?: string | null | undefined } | undefined): void {
    if (!note) return;
    const { talk } = this;
    const turnId = this.turnId();
    const words = [note.subject ? `**${note.subject}**` : '', note.description ?? ''].filter(Boolean).join('\n\n');
    if (words === '') return;
    const known = talk.thought?.turn === turnId ? talk.thought : null;
    talk.thought = known ?? { id: this.newPart(), turn: turnId };
    this.emit({ type: 'text.delta', turnId, kind: 'thought', partId: talk.thought.id, text: known ? `\n\n${words}` : words });
  }
  onSessionEvent(note: ReturnType<typeof schema.sessionEvent.parse> | undefined): void {
    if (!note) return;
    const { original_tokens: from, compressed_tokens: to } = note.metrics ?? {};
    switch (note.event) {
      case 'Finished':
        return this.sessionFinished('done');
      case 'USER_CANCELLED':
        return this.sessionFinished('cancelled');
      case 'ChatCompressed': {
        const tokens = from != null && to != null ? ` (${from} → ${to})` : '';
        return this.note('info', `${t('The conversation was compressed.')}${tokens}`);
      }
      case 'MAX_TOKENS':
        return this.note('warn', note.message ?? answerCut('length'));
      case 'MaxSessionTurns':
        return this.note('warn', note.message ?? limitReached('turns'));
      case 'SessionTokenLimitExceeded':
        return this.note('warn', note.message ?? limitReached('service'));
      default:
        if (note.message) this.note('info', note.message);
    }
  }
  sessionFinished(how: 'done' | 'cancelled'): void {
    this.finish(this.state.turn?.phase === 'stopping' ? 'cancelled' : how);
  }
}

function jsonIn(text: string): unknown {
  try {
    return text.trim() === '' ? {} : parseJson(text);
  } catch {
    return { text };
  }
}
function firstText(output: readonly Output[]): string {
  for (const one of output) if (one.kind === 'content' && one.content.type === 'text') return one.content.text.slice(0, 2000);
  return agentError();
}
