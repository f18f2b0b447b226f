import { parseJson } from '../../../base/json.ts';
import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { CallId, Output, ToolCall, TurnId } from '../../../session/model.ts';
import type { CallBook } from '../approvals.ts';
import type { TurnCall } from '../lostTurn.ts';
import { mcpName, type ToolUse, toolUse } from '../toolTable.ts';
import { shownIn, statusIn, waitingFor } from './display.ts';
import { displayedAs, nameless } from './displayedAs.ts';
import type { CallPiece, ToolDisplay } from './schema.ts';

interface Known {
  name: string;
  args: string;
  status: ToolCall['status'];
  /** When its newest display was made, as the agent's clock says. */
  shownAt: number;
  /** The agent, or we, will say when it ends. */
  watched: boolean;
  whole: boolean;
  /** The call itself came, with its name; else its displays alone speak of it. */
  named: boolean;
  /** What its displays make it out to be. */
  looks: ToolUse | undefined;
  /** A user was asked about it. */
  asked: boolean;
}

/** The calls of the running turn: their pieces, their displays (qwen.md §4.2, §4.3). */
export class Calls implements CallBook {
  readonly #cwd: string;
  readonly #byId = new Map<CallId, Known>();
  #byIndex = new Map<number, CallId>();
  #last: CallId | undefined;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** A call whose end will be said is still going on. An agent that does not show its tools says no ends. */
  get busy(): boolean {
    return this.open.some((id) => this.#byId.get(id)?.watched);
  }

  /** Calls without an end, oldest first. */
  get open(): readonly CallId[] {
    return [...this.#byId].flatMap(([id, call]) => (isOver(call.status) ? [] : [id]));
  }

  /** The calls of the running turn. */
  get ofTurn(): readonly TurnCall[] {
    return [...this.#byId].map(([id, call]) => ({ id, use: this.#useOf(call), status: call.status }));
  }

  /** The latest open call of a tool. */
  openCallOf(name: string): CallId | undefined {
    return this.open.findLast((id) => this.#byId.get(id)?.name === name);
  }

  /** Makes a call known; one that only its displays spoke of gets its name. */
  ensureCall(id: CallId, name: string | undefined, input: unknown, turnId: TurnId): readonly SessionEvent[] {
    const known = this.#byId.get(id);
    if (known && (known.named || name === undefined)) return [];
    const args = input === undefined ? '' : JSON.stringify(input);
    const named = name !== undefined;
    const use = named ? toolUse(name, input, this.#cwd) : nameless(this.#cwd);
    const told = { name: use.name, args, named, whole: input !== undefined };
    const status = known?.status ?? 'pending';
    this.#byId.set(id, { shownAt: 0, watched: false, looks: undefined, asked: false, ...known, ...told, status });
    const start = {
      name: mcpName(use.name)?.tool ?? use.name,
      title: use.title,
      kind: use.kind,
      inputText: args,
      ...(input === undefined ? {} : { input: use.input }),
    };
    if (known) {
      // A place its displays named stands as long as the call has none.
      const place = use.locations.length > 0 ? { locations: use.locations } : {};
      return [{ type: 'call.changed', turnId, callId: id, change: { ...start, ...place } }];
    }
    const call: ToolCall = { id, ...start, status, output: [], locations: use.locations };
    return [{ type: 'part.added', turnId, part: { kind: 'call', id, call } }];
  }

  setStatus(id: CallId, status: ToolCall['status']): void {
    const call = this.#byId.get(id);
    if (!call) return;
    call.status = status;
    call.asked ||= status === 'waiting';
  }

  /** What a call is called that says it waits while nobody was asked about it. */
  unasked(id: CallId): string | undefined {
    const call = this.#byId.get(id);
    return call?.status === 'waiting' && !call.asked ? this.#useOf(call).title : undefined;
  }

  /** A piece of a call, or a whole one. Pieces belong together by index, then by id, else to the call before. */
  piece(piece: CallPiece, turnId: TurnId, newId: () => string): readonly SessionEvent[] {
    const byIndex = piece.index == null ? undefined : this.#byIndex.get(piece.index);
    const id = piece.id ?? byIndex ?? (piece.index == null ? this.#last : undefined) ?? newId();
    if (piece.index != null) this.#byIndex.set(piece.index, id);
    this.#last = id;
    const events = [...this.ensureCall(id, piece.function?.name ?? undefined, undefined, turnId)];
    const call = this.#byId.get(id);
    const text = piece.function?.arguments ?? '';
    if (!call || text === '' || call.whole) return events;
    call.args += text;
    events.push({ type: 'call.inputDelta', turnId, callId: id, text });
    return events;
  }

  /** The model round is over: every call has its whole input. Gives the calls that became whole. */
  complete(turnId: TurnId): { readonly events: readonly SessionEvent[]; readonly whole: readonly (readonly [CallId, string, unknown])[] } {
    const events: SessionEvent[] = [];
    const whole: (readonly [CallId, string, unknown])[] = [];
    for (const [id, call] of this.#byId) {
      if (call.whole || (!call.named && call.args === '')) continue;
      call.whole = true;
      const input = parsed(call.args);
      if (call.named) whole.push([id, call.name, input]);
      const { title, kind, locations } = this.#useOf(call);
      const { input: plain } = toolUse(call.name, input, this.#cwd);
      events.push({ type: 'call.changed', turnId, callId: id, change: { title, kind, locations, input: plain } });
    }
    this.#byIndex = new Map();
    return { events, whole };
  }

  /** A display: it makes the call known, an older one than shown is dropped, an end stands. */
  display(shown: ToolDisplay, turnId: TurnId): readonly SessionEvent[] {
    const id = shown.tool_call_id;
    const events = [...this.ensureCall(id, undefined, undefined, turnId)];
    const call = this.#byId.get(id);
    if (!call) return events;
    const at = shown.timestamp ?? call.shownAt;
    if (at < call.shownAt) return events;
    call.shownAt = at;
    call.watched = true;
    const next = shown.pending && !shown.status ? 'pending' : statusIn(shown.status);
    const status = isOver(call.status) ? call.status : (next ?? call.status);
    const what = shownIn(shown.result_display, this.#cwd, { turnId, callId: id }) ?? waitingFor(shown.confirmation, this.#cwd);
    call.status = status;
    const looks = call.named ? undefined : displayedAs(shown, this.#cwd, call.looks);
    call.looks = looks;
    const failed = status === 'failed' && what !== undefined;
    const error = failed ? { error: { message: firstText(what.output) } } : {};
    // What went wrong is said once.
    const output = what ? { output: failed ? what.output.filter((one) => one.kind !== 'content') : what.output } : {};
    const face = looks ? { title: looks.title, kind: looks.kind, locations: looks.locations } : {};
    events.push({ type: 'call.changed', turnId, callId: id, change: { status, ...face, ...output, ...error } }, ...(what?.events ?? []));
    return events;
  }

  /** We carry it out. */
  began(id: CallId, turnId: TurnId): readonly SessionEvent[] {
    const call = this.#byId.get(id);
    if (call) call.watched = true;
    this.setStatus(id, 'running');
    return [{ type: 'call.changed', turnId, callId: id, change: { status: 'running' } }];
  }

  /** The end of a call that we carried out. */
  ended(id: CallId, ok: boolean, text: string, turnId: TurnId): readonly SessionEvent[] {
    this.setStatus(id, ok ? 'done' : 'failed');
    const output: Output[] = [{ kind: 'content', content: { type: 'text', text } }];
    const error = ok ? {} : { error: { message: text } };
    return [{ type: 'call.changed', turnId, callId: id, change: { status: ok ? 'done' : 'failed', output, ...error } }];
  }

  /** The turn is over. What became of calls without an end is not known when it was done: an agent that does not show its tools says none. */
  endTurn(turnId: TurnId, done: boolean): readonly SessionEvent[] {
    const events = done
      ? this.open
          .filter((callId) => this.#byId.get(callId)?.status !== 'waiting')
          .map((callId): SessionEvent => ({ type: 'call.changed', turnId, callId, change: { status: 'ended' } }))
      : [];
    this.#byId.clear();
    this.#byIndex.clear();
    this.#last = undefined;
    return events;
  }

  #useOf({ named, name, args, looks }: Known): ToolUse {
    return named ? toolUse(name, parsed(args), this.#cwd) : (looks ?? nameless(this.#cwd));
  }
}

function isOver(status: ToolCall['status']): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled' || status === 'rejected';
}

function parsed(text: string): unknown {
  try {
    return text.trim() === '' ? {} : parseJson(text);
  } catch {
    return { text };
  }
}

function firstText(output: readonly Output[]): string {
  for (const one of output) if (one.kind === 'content' && one.content.type === 'text') return one.content.text.slice(0, 2000);
  return t('It failed.');
}
