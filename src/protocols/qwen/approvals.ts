import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { Ask, CallId, Diff, ToolCall, TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import { namedPaths } from '../namedPaths.ts';
import type { Incoming } from './control.ts';
import type { TurnCall } from './lostTurn.ts';
import type { Peer } from './peers.ts';
import { ALLOW_EDITS, detailOf, optionsOf, REJECT, suggestionOf, titleOf, unattendedMode } from './permission.ts';
import { type FileText, inputFor, previewOf, readFileText } from './proposal.ts';
import { answeredInput, fieldsOf } from './questions.ts';
import type { CanUseTool, Suggestion } from './toolRequest.ts';
import { pathOf, type ToolUse, toolUse } from './toolTable.ts';
import type { Turns } from './turns.ts';

const REFUSED = 'The user did not allow this.';
const APPLIED = 'The user applied an edited version of this change; read the file again.';

interface Pending {
  readonly request: CanUseTool;
  readonly use: ToolUse;
  readonly timer: NodeJS.Timeout | undefined;
  /** When the agent refuses by itself; milliseconds since the epoch. */
  readonly until: number | undefined;
  /** The ask that shows it; absent while its file is read. */
  ask?: Ask;
  before: FileText;
  diffs: readonly Diff[];
}
/** What becomes of a request. */
export type Decision =
  | { readonly allow: true; readonly input: unknown; readonly permissions: readonly Suggestion[] }
  | { readonly allow: false; readonly message: string };

/** The calls of the running turn, where an approval shows how far its call is. */
export interface CallBook {
  ensureCall(id: CallId, name: string, input: unknown, turnId: TurnId, parent: CallId | undefined): readonly SessionEvent[];
  setStatus(id: CallId, status: ToolCall['status']): void;
  /** The turn of a call that goes on when its turn is over. */
  backgroundTurn?(id: CallId): TurnId | undefined;
  readonly ofTurn: readonly TurnCall[];
}
export interface ApprovalDeps {
  readonly scene: Pick<AdapterContext, 'ports' | 'newId' | 'now' | 'log'>;
  readonly emit: (event: SessionEvent) => void;
  readonly incoming: Incoming;
  readonly turns: Turns;
  readonly calls: CallBook;
  /** The answer to a request, in the dialect's own shape. */
  readonly reply: (id: string, decision: Decision) => object;
  readonly peer: Peer;
  readonly cwd: () => string;
  /** Ask the agent to change its mode, after a yes of its own where nobody would be asked any more. */
  readonly setMode: (mode: string) => void;
}

/** Requests to use a tool: shown to a user, answered exactly once, refused whenever anything goes wrong (qwen.md §3.3, §5). */
export class Approvals {
  readonly #deps: ApprovalDeps;
  readonly #pending = new Map<string, Pending>();
  readonly #refused = new Set<CallId>();
  /** Calls of the whole conversation asked about that were not allowed, by the user or because the turn was stopped. */
  readonly #notAllowed = new Set<CallId>();
  readonly #applied = new Map<CallId, Diff>();
  readonly #before = new Map<CallId, FileText>();
  /** Calls that a user allowed and that have no result yet. */
  readonly #underWay = new Set<CallId>();

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
  }

  get waiting(): boolean {
    return this.#pending.size > 0;
  }

  open(id: string, request: CanUseTool): void {
    const { peer } = this.#deps;
    const use = toolUse(request.tool_name, request.input, this.#deps.cwd());
    const timer = peer.approvalLimit === undefined ? undefined : setTimeout(() => this.#expire(id), peer.approvalLimit);
    const until = peer.approvalLimit === undefined ? undefined : this.#deps.scene.now() + peer.approvalLimit;
    const pending: Pending = { request, use, timer, until, before: undefined, diffs: [] };
    this.#pending.set(id, pending);
    const callId = request.tool_use_id ?? undefined;
    const turnId = this.#turnOf(callId);
    if (turnId && callId) {
      for (const event of this.#deps.calls.ensureCall(callId, request.tool_name, request.input, turnId, undefined)) this.#deps.emit(event);
    }
    const file = changesFile(use) ? pathOf(use.input, this.#deps.cwd()) : undefined;
    if (file === undefined) return this.#show(pending);
    void readFileText(this.#deps.scene.ports.files, file).then((text) => {
      if (this.#pending.get(id) !== pending) return;
      this.#propose(pending, text);
      this.#show(pending);
    });
  }

  /** False when the ask is none of these. */
  answer(askId: string, answer: Answer): boolean {
    const found = [...this.#pending].find(([, pending]) => pending.ask?.id === askId);
    if (!found) return false;
    const [id, pending] = found;
    if (pending.ask?.kind === 'question') this.#answerQuestion(id, pending, answer);
    else if (answer.kind !== 'option' || answer.optionId === REJECT) {
      this.#refuse(id, pending, (answer.kind === 'option' ? answer.feedback : undefined) ?? REFUSED, 'answered');
    } else void this.#allow(id, pending, answer.optionId, answer.edited);
    return true;
  }

  /** What a call's file held before it, as far as it was read for an approval or by `watch`. */
  before(callId: CallId): FileText {
    return this.#before.get(callId);
  }

  /** Reads the file of an edit that may need no approval, while it is still as it was. */
  watch(callId: CallId, use: ToolUse): void {
    const file = changesFile(use) ? pathOf(use.input, this.#deps.cwd()) : undefined;
    if (file === undefined || this.#before.has(callId)) return;
    void readFileText(this.#deps.scene.ports.files, file).then((text) => {
      if (!this.#before.has(callId)) this.#before.set(callId, text);
    });
  }

  wasRefused(callId: CallId): boolean {
    return this.#refused.has(callId);
  }

  /** It was asked about, and not allowed. */
  wasAsked(callId: CallId): boolean {
    return this.#notAllowed.has(callId);
  }

  appliedInstead(callId: CallId): Diff | undefined {
    return this.#applied.get(callId);
  }

  /** The call has a result: nobody waits for an answer about it any more. */
  settleCall(callId: CallId): void {
    for (const [id, pending] of [...this.#pending]) {
      if (pending.request.tool_use_id === callId) this.#refuse(id, pending, 'Too late.', 'withdrawn');
    }
    this.#before.delete(callId);
    this.#applied.delete(callId);
    this.#underWay.delete(callId);
    // What was refused is named again at the end of the turn.
  }

  /** The turn has ended well: what was allowed in it and has no result was not cancelled, nobody knows what came of it. */
  withoutResult(turnId: TurnId): readonly SessionEvent[] {
    const left = [...this.#underWay].filter((callId) => !this.#goesOn(callId));
    return left.map((callId) => ({ type: 'call.changed', turnId, callId, change: { status: 'ended' } }));
  }

  /** The agent took a request back. */
  withdraw(id: string): void {
    const pending = this.#pending.get(id);
    if (!pending || !this.#deps.incoming.forget(id)) return;
    this.#close(id, pending, 'withdrawn');
  }

  /** Everything is refused: the conversation ends. */
  cancelAll(why: string): void {
    for (const [id, pending] of [...this.#pending]) this.#refuse(id, pending, why, 'cancelled');
  }

  /** The turn is over or stopped: what it asked is refused; a sub-agent in the background still waits. */
  cancelTurn(why: string): void {
    for (const [id, pending] of [...this.#pending]) {
      if (!this.#goesOn(pending.request.tool_use_id)) this.#refuse(id, pending, why, 'cancelled');
    }
  }

  /** What was remembered of the calls of a turn that is over. */
  forget(): void {
    for (const kept of [this.#before, this.#applied, this.#refused, this.#underWay]) {
      for (const callId of [...kept.keys()]) if (!this.#goesOn(callId)) kept.delete(callId);
    }
  }

  #show(pending: Pending): void {
    const { request, use, diffs } = pending;
    const { scene, peer } = this.#deps;
    const callId = request.tool_use_id ?? undefined;
    const turnId = this.#turnOf(callId);
    const base = {
      id: scene.newId(),
      ...(turnId && !this.#goesOn(callId) ? { turnId } : {}),
      ...(callId === undefined ? {} : { callId }),
      title: titleOf(request, use, this.#deps.cwd()),
      ...(pending.until === undefined ? {} : { until: pending.until }),
      ...(request.agent_name ? { asker: request.agent_name } : {}),
    };
    const fields = use.work === 'ask' ? fieldsOf(request.input) : undefined;
    const [only] = diffs;
    const editable = diffs.length === 1 && only?.excerpt === undefined && use.work !== 'notebook';
    pending.ask = fields
      ? { ...base, kind: 'question', fields }
      : {
          ...base,
          kind: 'approval',
          toolKind: use.kind,
          detail: detailOf(use, diffs),
          ...namedPaths(
            use.kind,
            use.input,
            [...use.locations, ...diffs].map((one) => one.path),
          ),
          options: optionsOf(request, use, peer),
          ...(editable ? { editable: true } : {}),
        };
    if (turnId && callId) {
      this.#deps.calls.setStatus(callId, 'waiting');
      const output = diffs.map((diff) => ({ kind: 'diff', diff }) as const);
      this.#deps.emit({ type: 'call.changed', turnId, callId, change: { status: 'waiting', output } });
    }
    this.#deps.emit({ type: 'ask.opened', ask: pending.ask });
  }

  #propose(pending: Pending, text: FileText): void {
    pending.before = text;
    pending.diffs = previewOf(pending.use, text, this.#deps.cwd());
    if (pending.request.tool_use_id) this.#before.set(pending.request.tool_use_id, text);
  }

  async #allow(id: string, pending: Pending, optionId: string, edited: string | undefined): Promise<void> {
    if (pending.diffs.length > 0) {
      const file = pathOf(pending.use.input, this.#deps.cwd()) ?? '';
      const text = await readFileText(this.#deps.scene.ports.files, file);
      if (this.#pending.get(id) !== pending) return;
      if (text !== pending.before) return this.#askAgain(pending, text);
      const [diff] = pending.diffs;
      if (edited !== undefined && diff && edited !== diff.after) return this.#allowEdited(id, pending, { ...diff, after: edited });
    }
    const suggestion = suggestionOf(pending.request, optionId);
    const unattended = suggestion && unattendedMode(suggestion, this.#deps.peer);
    const permissions = suggestion && unattended === undefined ? [suggestion] : [];
    this.#send(id, { allow: true, input: pending.request.input ?? {}, permissions });
    this.#allowed(id, pending);
    // The yes was for this call; that nobody is asked any more is a question of its own, as in the mode menu.
    if (unattended !== undefined) this.#deps.setMode(unattended);
    if (optionId === ALLOW_EDITS && this.#deps.peer.editsMode !== undefined) this.#deps.setMode(this.#deps.peer.editsMode);
  }

  /** Either the agent makes the user's version, or we do and tell it. */
  async #allowEdited(id: string, pending: Pending, diff: Diff): Promise<void> {
    const { peer, scene, turns } = this.#deps;
    const updatedInput = peer.takesUpdatedInput ? inputFor(pending.use, diff.before, diff.after ?? '') : undefined;
    if (updatedInput) {
      this.#send(id, { allow: true, input: updatedInput, permissions: [] });
      return this.#allowed(id, pending);
    }
    try {
      await scene.ports.files.write(diff.path, diff.after ?? '');
    } catch (error) {
      scene.log.error(`The edited version of ${diff.path} could not be written`, error);
      if (this.#pending.get(id) === pending)
        turns.note('error', t('Your version of {0} could not be written; the change was refused.', diff.path));
      return this.#refuse(id, pending, REFUSED, 'answered');
    }
    if (pending.request.tool_use_id) this.#applied.set(pending.request.tool_use_id, diff);
    this.#refuse(id, pending, APPLIED, 'answered');
  }

  /** The file changed since the user looked: the new change is another question (qwen.md §5.5). */
  #askAgain(pending: Pending, text: FileText): void {
    if (pending.ask) this.#deps.emit({ type: 'ask.closed', askId: pending.ask.id, how: 'withdrawn' });
    this.#deps.turns.note('info', t('The file changed while the question was open; look at the change again.'));
    this.#propose(pending, text);
    this.#show(pending);
  }

  #answerQuestion(id: string, pending: Pending, answer: Answer): void {
    const updatedInput = answeredInput(pending.request.input, answer, this.#deps.peer.answersBy);
    if (!updatedInput) return this.#refuse(id, pending, 'The user did not answer.', 'answered');
    this.#send(id, { allow: true, input: updatedInput, permissions: [] });
    this.#allowed(id, pending);
  }

  #allowed(id: string, pending: Pending): void {
    const callId = pending.request.tool_use_id;
    const turnId = this.#turnOf(callId);
    this.#close(id, pending, 'answered');
    if (!turnId || !callId) return;
    this.#underWay.add(callId);
    this.#deps.calls.setStatus(callId, 'running');
    this.#deps.emit({ type: 'call.changed', turnId, callId, change: { status: 'running' } });
  }

  #refuse(id: string, pending: Pending, message: string, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    if (this.#pending.get(id) !== pending) return;
    const callId = pending.request.tool_use_id;
    const turnId = this.#turnOf(callId);
    if (callId) this.#notAllowed.add(callId);
    if (callId && how === 'answered') this.#refused.add(callId);
    // The agent may never say what became of it.
    if (callId && turnId && how === 'answered' && !this.#applied.has(callId)) {
      this.#deps.calls.setStatus(callId, 'rejected');
      this.#deps.emit({ type: 'call.changed', turnId, callId, change: { status: 'rejected' } });
    }
    this.#send(id, { allow: false, message });
    this.#close(id, pending, how);
  }

  #expire(id: string): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#deps.turns.note('warn', t('Nobody answered in time: "{0}" was refused.', pending.use.title));
    this.#refuse(id, pending, 'Nobody answered in time.', 'withdrawn');
  }

  #close(id: string, pending: Pending, how: 'answered' | 'cancelled' | 'withdrawn'): void {
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    if (pending.ask) this.#deps.emit({ type: 'ask.closed', askId: pending.ask.id, how });
  }

  /** The turn whose call that is, as far as it can still change. */
  #turnOf(callId: CallId | null | undefined): TurnId | undefined {
    return (callId ? this.#deps.calls.backgroundTurn?.(callId) : undefined) ?? this.#deps.turns.running?.id;
  }

  #goesOn(callId: CallId | null | undefined): boolean {
    return callId != null && this.#deps.calls.backgroundTurn?.(callId) !== undefined;
  }

  #send(id: string, decision: Decision): void {
    this.#deps.incoming.answer(id, this.#deps.reply(id, decision));
  }
}

function changesFile(use: ToolUse): boolean {
  return use.work === 'edit' || use.work === 'write' || use.work === 'notebook';
}
