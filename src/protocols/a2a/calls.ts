import { isDeepStrictEqual } from 'node:util';
import { t } from '../../base/l10n.ts';
import type { CallChange } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { ApprovalDetail, AskId, CallId, Output, ToolCall, TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import { namedPaths } from '../namedPaths.ts';
import type { Allowances } from './allowances.ts';
import { tidy } from './geminiCalls.ts';
import { asNew, makesFile } from './newFiles.ts';
import { type Choice, lines, type Request, type Snapshot } from './snapshot.ts';

/** A rule may answer again by itself: an agent that takes no answer must not be asked for ever. */
const ASKED_AGAIN_AT_MOST = 5;
/** Milliseconds between a question that is taken back and the one in its place: who is about to answer must not answer another. */
const BREATH = 500;

type Dialect = 'rfc' | 'gemini';
interface Held {
  readonly id: CallId;
  readonly dialect: Dialect;
  last: Snapshot;
  live?: string;
  askId?: AskId;
  answered: boolean;
  rejected: boolean;
  /** The decision about it never reached the agent, as far as can be seen. */
  adrift: boolean;
  /** How often it was asked once more. */
  again: number;
  /** It makes a file that was not there when it was first told. */
  makesFile?: boolean | undefined;
  /** The call as it was when the user, or what they allowed before, was last asked about it. */
  asked?: Snapshot;
  /** It became another. */
  changed: boolean;
  /** Since when it waits to be asked about, having become another. */
  lateSince: number | undefined;
  /** The agent was looked at for what it waits for. */
  looked?: true;
  /** What the user made of the proposal. */
  edited?: string | undefined;
}

/** What a user decided about a call. */
export interface Decision {
  readonly call: Snapshot;
  readonly dialect: Dialect;
  readonly choice: Choice | undefined;
  readonly edited?: string;
  readonly words?: string;
}

/**
 * The calls of one turn. Snapshots may repeat and overtake each other: a call that has ended stays as it ended, one that was answered is not
 * asked again (a2a.md §8) unless it has become another: what the user decides is what they saw.
 */
export class Calls {
  readonly #scene: AdapterContext;
  readonly #turnId: TurnId;
  readonly #remembered: Allowances;
  readonly #replaced: (id: string, edited: boolean) => void;
  readonly #held = new Map<string, Held>();

  /** `replaced`: what was decided about the call of that id was something else; `edited`: about a text that the user had changed. */
  constructor(scene: AdapterContext, turnId: TurnId, remembered: Allowances, replaced: (id: string, edited: boolean) => void = () => {}) {
    this.#scene = scene;
    this.#turnId = turnId;
    this.#remembered = remembered;
    this.#replaced = replaced;
  }

  /** How many stand still until a user answers. */
  get waiting(): number {
    return [...this.#held.values()].filter(({ askId, lateSince }) => askId !== undefined || lateSince !== undefined).length;
  }

  get commandRuns(): boolean {
    return [...this.#held.values()].some(({ last }) => last.kind === 'execute' && last.status === 'running');
  }

  /** Calls that were decided, and of which the agent has said nothing since but that they wait. */
  get unheard(): readonly string[] {
    return [...this.#held.values()].flatMap(({ last, answered, askId, rejected, adrift }) =>
      answered && askId === undefined && last.status === 'waiting' && (adrift || !rejected) ? [last.id] : [],
    );
  }

  /** Some call stands still and nobody was asked about it: true once for each. */
  leftOpen(): boolean {
    const open = [...this.#held.values()].filter(({ last, answered, looked }) => last.status === 'pending' && !answered && !looked);
    for (const held of open) held.looked = true;
    return open.length > 0;
  }

  /** Asks about those that have become others, as they stand now. To be called now and then. */
  askLate(): void {
    for (const held of this.#held.values()) {
      if (held.lateSince === undefined || this.#scene.now() - held.lateSince < BREATH) continue;
      held.lateSince = undefined;
      this.#ask(held);
    }
  }

  adrift(id: string): void {
    const held = this.#held.get(id);
    if (held) held.adrift = true;
  }

  /** The decision did not arrive: the user is asked once more, whatever rule there is. False when that has been tried too often. */
  askAgain(id: string): boolean {
    const held = this.#held.get(id);
    if (!held || held.askId !== undefined || held.last.status !== 'waiting') return true;
    held.again += 1;
    if (held.again > ASKED_AGAIN_AT_MOST) return false;
    held.adrift = false;
    held.answered = false;
    held.rejected = false;
    this.#changed(held, { status: 'waiting' });
    this.#ask(held);
    return true;
  }

  knows(id: string): boolean {
    return this.#held.has(id);
  }

  status(id: string): Snapshot['status'] | undefined {
    return this.#held.get(id)?.last.status;
  }

  /** By the agent's id: the part that shows the call, and how it stands. */
  get shown(): readonly (readonly [string, CallId, Snapshot['status']])[] {
    return [...this.#held].map(([id, { id: partId, last }]) => [id, partId, last.status]);
  }

  /** A call that stands in the turn already, as an earlier window left it. */
  restore(id: string, call: ToolCall, status: Snapshot['status']): void {
    const { name, title, kind } = call;
    const last = { id, name, title, kind, status, ...(call.input === undefined ? {} : { input: call.input }) };
    this.#held.set(id, {
      id: call.id,
      dialect: 'rfc',
      last,
      answered: false,
      rejected: call.status === 'rejected',
      adrift: false,
      again: 0,
      changed: false,
      lateSince: undefined,
    });
  }

  /** Takes one snapshot; gives back a decision that was made before, for calls of a kind the user always allows. */
  take(call: Snapshot, dialect: Dialect): Decision | undefined {
    const held = this.#held.get(call.id);
    if (!held) return this.#begin(call, dialect);
    if (isOver(held.last)) return undefined;
    if (call.status === 'pending' && held.last.status === 'running') return undefined;
    const next = completed(call, held.last);
    // An earlier word about what is asked: the question stands as it was shown.
    if (held.askId !== undefined && next.status === 'pending' && isSame(next.input, held.last.input)) return undefined;
    held.last = next;
    return this.#show(held);
  }

  /** What a running call has printed so far. */
  live(id: string, text: string): void {
    const held = this.#held.get(id);
    if (!held || isOver(held.last)) return;
    held.live = tidy(text);
    this.#changed(held, { output: outputOf(held) });
  }

  /** undefined when there is no such ask. */
  answer(askId: AskId, answer: Answer): Decision | undefined {
    const held = [...this.#held.values()].find((one) => one.askId === askId);
    const request = held?.last.request;
    if (!held || !request) return undefined;
    const reject = rejectionOf(request);
    const chosen = answer.kind === 'option' ? request.options.find((one) => one.id === answer.optionId) : reject;
    if (answer.kind === 'option' && !chosen) return undefined;
    this.#settle(held, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    held.rejected = chosen === undefined || chosen.effect.startsWith('reject');
    if (!held.rejected) this.#changed(held, { status: 'pending' });
    const edited =
      answer.kind === 'option' && !held.rejected && request.proposed !== undefined ? (answer.edited ?? held.edited) : undefined;
    held.edited = edited;
    const words =
      answer.kind === 'option' ? answer.feedback : answer.kind === 'fields' ? wordsOf(request.questions ?? [], answer.values) : undefined;
    return {
      call: held.last,
      dialect: held.dialect,
      choice: chosen,
      ...(edited === undefined ? {} : { edited }),
      ...(words ? { words } : {}),
    };
  }

  /** Every open ask is withdrawn; gives back the calls that were waiting, as if they had been refused. */
  refuseAll(): readonly Decision[] {
    return [...this.#held.values()].flatMap((held): readonly Decision[] => {
      if (held.askId === undefined && held.lateSince === undefined) return [];
      const choice = held.last.request?.options.find((one) => one.effect === 'reject_once');
      this.#settle(held, 'cancelled');
      held.rejected = true;
      return [{ call: held.last, dialect: held.dialect, choice }];
    });
  }

  /** Every open ask is taken back: nobody waits for an answer any more. */
  withdraw(): void {
    for (const held of this.#held.values()) this.#settle(held, 'withdrawn');
  }

  #begin(call: Snapshot, dialect: Dialect): Decision | undefined {
    const held: Held = {
      id: this.#scene.newId(),
      dialect,
      last: call,
      answered: false,
      rejected: false,
      adrift: false,
      again: 0,
      changed: false,
      lateSince: undefined,
    };
    this.#held.set(call.id, held);
    const { name, title, kind } = call;
    this.#scene.emit({
      type: 'part.added',
      turnId: this.#turnId,
      part: {
        kind: 'call',
        id: held.id,
        call: { id: held.id, name, title, kind, status: 'pending', inputText: '', output: [], locations: [] },
      },
    });
    return this.#show(held);
  }

  #show(held: Held): Decision | undefined {
    if (held.dialect === 'gemini') {
      if (held.last.status !== 'done') held.makesFile ??= makesFile(held.last);
      if (held.makesFile) held.last = asNew(held.last);
    }
    const { last } = held;
    if (isAnother(held)) this.#replace(held);
    const asks = last.status === 'waiting' && !held.answered && last.request !== undefined;
    const status = last.status === 'waiting' && !asks ? 'pending' : last.status === 'cancelled' && held.rejected ? 'rejected' : last.status;
    this.#changed(held, {
      title: last.title,
      kind: last.kind,
      status,
      ...(last.input === undefined ? {} : { input: last.input }),
      output: outputOf(held),
      locations: locationsOf(last),
      ...(last.error ? { error: last.error } : {}),
    });
    if (isOver(last) || last.status === 'running') this.#settle(held, 'withdrawn');
    if (!asks || held.askId !== undefined) return undefined;
    if (held.changed) {
      held.lateSince ??= this.#scene.now();
      return undefined;
    }
    const before = this.#remembered.answerTo(last);
    if (before) {
      held.answered = true;
      held.asked = last;
      this.#changed(held, { status: 'pending' });
      return { call: last, dialect: held.dialect, choice: before };
    }
    this.#ask(held);
    return undefined;
  }

  /** The question is taken back, and an answer that has not left is not sent. */
  #replace(held: Held): void {
    this.#settle(held, 'withdrawn');
    this.#replaced(held.last.id, held.edited !== undefined);
    Object.assign(held, { answered: false, rejected: false, adrift: false, asked: undefined, edited: undefined });
    held.changed = true;
  }

  #ask(held: Held): void {
    const { request, kind } = held.last;
    if (!request) return;
    const id = this.#scene.newId();
    held.askId = id;
    held.asked = held.last;
    const { edited } = held;
    const title = edited === undefined ? held.last.title : t('{0} (with your changes)', held.last.title);
    const detail = edited === undefined ? request.detail : withText(request.detail, edited);
    const warned = this.#remembered.isOutside(request.detail) ? t('{0} (outside the workspace)', title) : title;
    const head = { id, turnId: this.#turnId, callId: held.id, title: warned };
    if (request.questions) return this.#scene.emit({ type: 'ask.opened', ask: { ...head, kind: 'question', fields: request.questions } });
    const options = request.options.map(({ sends: _, remembered: __, ...option }) => option);
    const editable = request.proposed === undefined ? {} : { editable: true as const };
    this.#scene.emit({
      type: 'ask.opened',
      ask: { ...head, kind: 'approval', toolKind: kind, detail, ...pathsIn(held.last), options, ...editable },
    });
  }

  #settle(held: Held, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    held.lateSince = undefined;
    if (held.askId === undefined) return;
    this.#scene.emit({ type: 'ask.closed', askId: held.askId, how });
    delete held.askId;
    held.answered = true;
  }

  #changed(held: Held, change: CallChange): void {
    this.#scene.emit({ type: 'call.changed', turnId: this.#turnId, callId: held.id, change });
  }
}

/** What a snapshot leaves out is as it was. */
function completed(call: Snapshot, before: Snapshot): Snapshot {
  const whole = call.input === undefined && before.input !== undefined ? { ...call, input: before.input } : call;
  if (call.name !== '' || before.name === '') return whole;
  const { name, title, kind, input } = before;
  const { request } = call;
  const unknown = request?.detail.type === 'text' && request.detail.unknown;
  const detail: ApprovalDetail = { type: 'text', text: JSON.stringify(input ?? {}, null, 2) };
  return { ...whole, name, title, kind: call.kind === 'other' ? kind : call.kind, ...(unknown ? { request: { ...request, detail } } : {}) };
}

/** What stands to be decided is not what the user was asked about. */
function isAnother({ last, asked, askId, edited }: Held): boolean {
  if (!asked) return false;
  if (last.status === 'pending') return askId !== undefined;
  if (last.status !== 'waiting') return false;
  const { proposed } = last.request ?? {};
  // An agent may tell the user's own text back.
  if (askId === undefined && edited !== undefined && proposed !== undefined && lines(proposed) === lines(edited))
    return !isSame(outline(last), outline(asked));
  return !isSame(substance(last), substance(asked));
}

/** What is decided. Agents count down in what they say beside it: numbers in a title are no news. */
function substance({ name, title, kind, input, diff, request }: Snapshot): unknown {
  const options = request?.options.map(({ id, label, effect, sends }) => [id, label, effect, sends]);
  return [name, title.replace(/[\d\s.…]+/g, ''), kind, input, diff, request && { ...request, options }];
}

/** The same without the proposed text. */
function outline({ name, kind, diff, request }: Snapshot): unknown {
  return [name, kind, diff?.path, diff?.before, request?.options];
}

/** The order of names does not count: what the agent keeps may come back in another. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other);
}

function withText(detail: ApprovalDetail, text: string): ApprovalDetail {
  return detail.type === 'edit' ? { ...detail, diffs: detail.diffs.map((diff) => ({ ...diff, after: lines(text) })) } : detail;
}

function rejectionOf({ options }: Request): Choice | undefined {
  return options.find((one) => one.effect === 'reject_once') ?? options.find((one) => one.effect === 'reject_always');
}

function isOver(call: Snapshot): boolean {
  return call.status === 'done' || call.status === 'failed' || call.status === 'cancelled';
}

function outputOf(held: Held): readonly Output[] {
  const { last, live } = held;
  const text = last.text ?? live;
  return [
    ...(last.diff ? [{ kind: 'diff' as const, diff: last.diff }] : []),
    ...(text && last.status !== 'failed' ? [{ kind: 'content' as const, content: { type: 'text' as const, text } }] : []),
    ...(last.json === undefined ? [] : [{ kind: 'json' as const, value: last.json }]),
  ];
}

function pathsIn(call: Snapshot): { readonly paths?: readonly string[] } {
  return namedPaths(
    call.kind,
    call.input,
    locationsOf(call).map((one) => one.path),
  );
}

function locationsOf(call: Snapshot) {
  if (call.diff) return [{ path: call.diff.path }];
  const input = call.input as { readonly file_path?: unknown; readonly path?: unknown } | null | undefined;
  const path = input?.file_path ?? input?.path;
  return typeof path === 'string' && /^(\/|[A-Za-z]:)/.test(path) ? [{ path }] : [];
}

function wordsOf(
  questions: readonly { readonly id: string; readonly label: string }[],
  values: Readonly<Record<string, readonly string[]>>,
): string {
  return questions.flatMap(({ id, label }) => (values[id]?.length ? [`${label} ${values[id].join(', ')}`] : [])).join('\n');
}
