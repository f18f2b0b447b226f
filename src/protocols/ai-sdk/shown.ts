import { t } from '../../base/l10n.ts';
import { find, put } from '../../conversation/state.ts';
import { Step } from '../../conversation/step.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Diff, Notice } from '../../session/model.ts';
import { callOf, changeOf, contentOf, contentsOf, usageOf } from './codec.ts';
import { editOf, excerptsOf, type FileEdit } from './edits.ts';
import { findTool, isTool, type MessageObserver, setError, toolNameOf } from './message.ts';
import type { DataPart, ToolPart, UiMessage, UiPart } from './schema.ts';
import type { AiSdkState, ChatTurn, ShownPart } from './state.ts';

/* The agent's message as the session shows it: parts that come, grow, change and are taken back, and the edits of the server's calls. */

/** Servers hide what went wrong behind this by default. */
export const MASKED = 'An error occurred.';

type DeltaEvent = Extract<SessionEvent, { readonly type: 'text.delta' | 'call.inputDelta' }>;
type OpenDelta = DeltaEvent extends infer E ? (E extends DeltaEvent ? { -readonly [K in keyof E]: E[K] } : never) : never;

/** Shows the last message in the session, part by part. */
export abstract class ShownMessage extends Step<AiSdkState> implements MessageObserver {
  /** The last text of this step, and how many effects there were with it. */
  delta: { readonly at: number; readonly shown: ShownPart; readonly event: OpenDelta; readonly effects: number } | null = null;

  get last(): UiMessage {
    return this.state.messages.at(-1) as UiMessage;
  }

  added(at: number): void {
    const { turn } = this.state;
    const part = this.last.parts[at];
    if (!turn || !part) return;
    const { id } = this.show(turn, at, part);
    const turnId = turn.id;
    if (isTool(part)) return this.emit({ type: 'part.added', turnId, part: { kind: 'call', id, call: callOf(id, part) } });
    if (part.type === 'steering-message')
      return this.emit({ type: 'part.added', turnId, part: { kind: 'prompt', id, content: contentsOf(part.parts) } });
    if (part.type === 'data-usage') return this.showUsage((part as DataPart).data);
    const content = contentOf(part);
    if (content) this.emit({ type: 'part.added', turnId, part: { kind: 'content', id, content } });
  }
  /** Pieces for one part that a step takes one after the other are one event. */
  extended(at: number, text: string): void {
    const { delta } = this;
    if (delta !== null && delta.at === at && delta.effects === this.effects.length) {
      delta.event.text += text;
      delta.shown.text += text.length;
      return;
    }
    const { turn } = this.state;
    const shown = turn?.shown[at];
    const part = this.last.parts[at];
    if (!turn || !shown || !part) return;
    shown.text += text.length;
    const event: OpenDelta = isTool(part)
      ? { type: 'call.inputDelta', turnId: turn.id, callId: shown.id, text }
      : { type: 'text.delta', turnId: turn.id, kind: part.type === 'text' ? 'text' : 'thought', partId: shown.id, text };
    this.emit(event);
    this.delta = { at, shown, event, effects: this.effects.length };
  }
  changed(at: number): void {
    const { turn } = this.state;
    const shown = turn?.shown[at];
    const part = this.last.parts[at] as ToolPart | undefined;
    if (!turn || !shown || !part) return;
    // Calls that the server closes because of our stop did not fail: they are cancelled with their turn.
    if (turn.phase === 'stopping' && (part.state === 'output-error' || part.state === 'output-denied')) return;
    if (shown.own === null) return this.changeCall(turn, shown.id, changeOf(part, shown.text > 0, this.editsBy(turn, part)));
    // The server repeats our results in other forms, which are not shown. That it did not take one is.
    if (shown.own !== 'result' || part.state !== 'output-error') return;
    const said = part.errorText?.trim() ?? '';
    this.changeCall(turn, shown.id, { status: 'failed', error: { message: notAccepted(said === MASKED || said === '' ? '–' : said) } });
  }
  /** Returns the diff of a call that is done: the one that the user saw, or the excerpts that it names. */
  editsBy(turn: ChatTurn, part: ToolPart): readonly Diff[] {
    if (part.state !== 'output-available' || part.preliminary) return [];
    const seen = find(turn.edits, part.toolCallId);
    if (seen) return [seen];
    const edit = this.editOf(part);
    return edit ? excerptsOf(edit) : [];
  }
  /** Returns the edit of a file by a call of a server on this computer. */
  editOf(part: ToolPart): FileEdit | undefined {
    const { settings, setup } = this.state;
    return settings.isLocal ? editOf(toolNameOf(part), part.input, setup.cwd) : undefined;
  }
  removed(from: number): void {
    const { turn } = this.state;
    const gone = turn?.shown.splice(from) ?? [];
    if (turn && gone.length > 0) this.emit({ type: 'parts.removed', turnId: turn.id, partIds: gone.map(({ id }) => id) });
  }
  metadata(): void {
    this.showUsage(this.last.metadata);
  }
  showUsage(value: unknown): void {
    const usage = usageOf(value);
    if (usage) this.emit({ type: 'usage.set', usage });
  }
  /** Parts that say the same take the place of those shown before. Only what they have more is shown. */
  adopt(turn: ChatTurn, before: readonly UiPart[], after: readonly UiPart[], boundary: number): void {
    turn.shown.length = boundary + before.length;
    after.forEach((part, index) => {
      const at = boundary + index;
      if (!turn.shown[at]) this.added(at);
      const text = isTool(part) ? part.rawInput : 'text' in part ? part.text : undefined;
      const known = turn.shown[at]?.text ?? 0;
      if (typeof text === 'string' && text.length > known) this.extended(at, text.slice(known));
      // A running call of Parley's tools is shown as running, which its part does not say.
      const isRunning = isTool(part) && find(turn.own, part.toolCallId)?.stage === 'running';
      if (isTool(part) && part.state !== 'input-streaming' && !isRunning) this.changed(at);
    });
  }
  failPart(part: ToolPart, why: string): void {
    setError(part, why);
    this.changed(this.last.parts.lastIndexOf(part));
  }
  show(turn: ChatTurn, at: number, part: UiPart): ShownPart {
    const shown: ShownPart = { id: isTool(part) ? unusedId(turn, part.toolCallId) : `part:${turn.parts++}`, text: 0, own: null };
    put(turn.shownIds, shown.id, true);
    turn.shown[at] = shown;
    return shown;
  }
  shownOf(turn: ChatTurn, toolCallId: string): ShownPart | undefined {
    const part = findTool(this.last, toolCallId);
    return part && turn.shown[this.last.parts.lastIndexOf(part)];
  }
  /** The session's id of a call. */
  shownId(turn: ChatTurn, toolCallId: string): string {
    return this.shownOf(turn, toolCallId)?.id ?? toolCallId;
  }
  turnNotice(turn: ChatTurn, notice: Notice): void {
    this.emit({ type: 'part.added', turnId: turn.id, part: { kind: 'notice', id: this.newId(), notice } });
  }
}

/** A model may use the id of a call again. */
function unusedId(turn: ChatTurn, id: string): string {
  let free = id;
  for (let n = 2; find(turn.shownIds, free); n++) free = `${id}#${n}`;
  return free;
}
export function notAccepted(why: string): string {
  return t('The agent refused: {0}', why);
}
