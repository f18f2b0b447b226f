import { guard } from 'lit/directives/guard.js';
import { repeat } from 'lit/directives/repeat.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { callGroup, isPlan } from '../../src/session/callWords.ts';
import type { Fault, Part, Remedy, Session, ToolCall, Turn } from '../../src/session/model.ts';
import { type ClosedLink, closedLinkInTurn, findTerminal } from '../../src/session/select.ts';
import { textView } from '../markdownView.ts';
import { t } from '../strings.ts';
import { earlierAnswer, type View } from '../view.ts';
import { callsView, callView, type SubagentSteps } from './call.ts';
import { changesView } from './changes.ts';
import { contentView, pendingView, promptView, taskView } from './content.ts';
import { faultView, linkDetail, noticeView } from './fault.ts';
import { correctionsView, keptPlanView, thoughtView } from './folded.ts';
import { backView, retryActionsView, summaryView, wayToEdit } from './retryActions.ts';

/** A turn: the user's message, the agent's actions in order, how it ended. */
export function turnView(view: View, turn: Turn, index: number, total: number): TemplateResult {
  const family = familyOf(turn);
  const running = turn.status === 'running';
  return html`<article class="turn ${running ? 'running' : 'settled'}${turn.forgotten ? ' forgotten' : ''}" data-turn=${turn.id} aria-posinset=${index + 1} aria-setsize=${total} aria-label=${t('Turn {0}', index + 1)}>
    ${turn.prompt.length === 0 ? nothing : guard([turn.prompt, turn.sender, view.memory.unfolded], () => promptView(view, turn.id, turn.prompt, menuPlace(view, turn.id, 'message'), turn.sender))} ${correctionsView(view, turn)} ${retryActionsView(view, turn)}
    <div class="answer" data-vscode-context=${menuPlace(view, turn.id, 'answer')}>
      <h2 class="sr-only">${view.session.agent.name}</h2>
      ${partsView(view, turn, family, undefined)} ${turn.parts.map((part) => pendingView(view, turn, part))} ${endView(view, turn)}
    </div>
  </article>`;
}

/** The context of an element for the editor's context menu, in the editor's own format. */
function menuPlace({ session }: View, turn: string, parleyText: 'message' | 'answer'): string {
  return JSON.stringify({ parleyText, session: session.id, turn });
}

/** Parts by the call they belong to; undefined for the agent's own. */
type PartsByCall = ReadonlyMap<string | undefined, readonly Part[]>;
const families = new WeakMap<Turn, PartsByCall>();

function familyOf(turn: Turn): PartsByCall {
  let family = families.get(turn) as Map<string | undefined, Part[]> | undefined;
  if (family) return family;
  family = new Map();
  const calls = new Set(turn.parts.flatMap((part) => (part.kind === 'call' ? [part.id] : [])));
  for (const part of turn.parts) {
    // A pending prompt has no place among the other parts yet.
    if (part.kind === 'prompt' && part.pending) continue;
    // Shows a part whose call is not in the turn instead of losing it.
    const parent = part.parent !== undefined && part.parent !== part.id && calls.has(part.parent) ? part.parent : undefined;
    const siblings = family.get(parent);
    if (siblings) siblings.push(part);
    else family.set(parent, [part]);
  }
  families.set(turn, family);
  return family;
}

function partsView(view: View, turn: Turn, family: PartsByCall, parent: string | undefined): unknown {
  const all = family.get(parent) ?? [];
  const lastPlan = all.findLast((part) => part.kind === 'call' && isPlan(part.call));
  const parts = all.filter(
    (part) => !asksAbout(view.session, part, family) && !(part !== lastPlan && isEarlierPlan(part)) && !repeatsError(turn, part),
  );
  const last = parts.at(-1);
  const running = turn.status === 'running';
  const draw = (part: Part) => {
    const growing = running && part === last;
    const inside = part.kind === 'call' ? family.get(part.id) : undefined;
    if (inside) return partView(view, turn, family, part, growing);
    const terminals = part.kind === 'call' ? terminalsOf(view, part) : undefined;
    return guard([part, growing, running, view.memory.unfolded, view.theme, ...(terminals ?? [])], () =>
      partView(view, turn, family, part, growing),
    );
  };
  return repeat(
    foldedRuns(view.session, parts, family, running),
    ([first]) => first?.id,
    (run) => {
      const [first, ...others] = run;
      return first && others.length === 0 ? draw(first) : groupView(view, turn, run, draw);
    },
  );
}

/** True while a card asks about the call: its row would repeat the card. */
function asksAbout(session: Session, part: Part, family: PartsByCall): boolean {
  return part.kind === 'call' && !family.has(part.id) && session.asks.some((ask) => ask.callId === part.id);
}

/** UTF-16 units from which a text in an error is no accident: the beginning of a broken answer may be shorter. */
const SHORTEST_REPEATED = 12;

/** True for a text that says no more than the error below it, as programs do whose sign-in is missing. */
function repeatsError({ error, parts }: Turn, part: Part): boolean {
  if (error === undefined || part.kind !== 'text' || part !== parts.at(-1) || part.text.length > 2 * error.message.length) return false;
  const [text, message] = [part.text, error.message].map((one) => one.replace(/\s+/g, ' ').trim());
  const said = text?.replace(/[.!]$/, '') ?? '';
  return said.length >= SHORTEST_REPEATED && message?.includes(said) === true;
}

/** True for a plan that a later one of the turn has replaced. */
function isEarlierPlan(part: Part): boolean {
  return part.kind === 'call' && isPlan(part.call) && part.call.status === 'done' && !part.call.error;
}

/** Folds neighbouring calls that only read; successful commands join them once the turn ends. */
function foldedRuns(session: Session, parts: readonly Part[], family: PartsByCall, running: boolean): readonly (readonly Part[])[] {
  const runs: Part[][] = [];
  let open = false;
  for (const part of parts) {
    const group = part.kind === 'call' && !family.has(part.id) ? callGroup(part.call, session) : undefined;
    const folds = group !== undefined && !(running && group === 'run');
    if (folds && open) runs.at(-1)?.push(part);
    else runs.push([part]);
    open = folds;
  }
  return runs;
}

function groupView(view: View, turn: Turn, run: readonly Part[], draw: (part: Part) => unknown): TemplateResult {
  const calls = run.flatMap((part) => (part.kind === 'call' ? [part.call] : []));
  return callsView(view, `${turn.id}/${run[0]?.id ?? ''}:group`, calls, () => repeat(run, (part) => part.id, draw));
}

function terminalsOf(view: View, part: Extract<Part, { kind: 'call' }>): readonly unknown[] {
  return part.call.output.flatMap((output) => (output.kind === 'terminal' ? [findTerminal(view.session, output.terminalId)] : []));
}

function partView(view: View, turn: Turn, family: PartsByCall, part: Part, growing: boolean): unknown {
  const done = turn.status !== 'running';
  const key = `${turn.id}/${part.id}`;
  switch (part.kind) {
    case 'text':
      return textView(part.text, done || (growing ? false : 'seemingly'), view.grown(turn.id, part.id));
    case 'thought':
      return thoughtView(view, part, growing, done);
    case 'content':
      return contentView(view, key, part.content, done);
    case 'prompt':
      return part.parent === undefined ? promptView(view, key, part.content, undefined, part.sender) : taskView(view, key, part.content);
    case 'notice':
      return noticeView(view, key, part.notice);
    case 'call':
      return callView(view, turn.id, part.call, !done, insideOf(view, turn, family, part.call));
  }
}

/** Leaves out texts that the output of the call repeats. */
function insideOf(view: View, turn: Turn, family: PartsByCall, call: ToolCall): SubagentSteps {
  const parts = family.get(call.id) ?? [];
  const report = call.output.flatMap((one) => (one.kind === 'content' && one.content.type === 'text' ? [one.content.text.trim()] : []));
  const shown = parts.filter((part) => part.kind !== 'text' || !report.some((text) => text === part.text.trim()));
  const latest = parts.findLast((part) => part.kind === 'call');
  return {
    steps: parts.filter(({ kind }) => kind === 'call').length || parts.length,
    ...(latest ? { latest: latest.call } : {}),
    earlier: earlierAnswer(view, call),
    draw: () => partsView(view, turn, new Map(family).set(call.id, shown), call.id),
  };
}

/** True while the agent waits in this turn for the user's answer. */
export function waitsFor(session: Session, turn: Turn): boolean {
  return session.asks.some((ask) => ask.turnId === turn.id);
}

/** Removes what goes on with the turn: that is for the last turn alone. */
function notAgain(error: Fault): Fault {
  return error.next ? { ...error, next: error.next.filter((remedy) => remedy !== 'retry' && remedy !== 'continue') } : error;
}

/** The remedies of a closed link beside those of the turn that ended with it. Any prompt starts the agent again. */
function besides(error: Fault, link: ClosedLink): readonly Remedy[] {
  const own = new Set(error.next);
  return link.next?.filter((remedy) => !own.has(remedy) && !(remedy === 'restart' && own.has('retry'))) ?? [];
}

/** True when the last row already says that it was stopped. One that waited for an answer says only that it was skipped. */
function endsInStopped({ parts }: Turn): boolean {
  const last = parts.at(-1);
  return last?.kind === 'call' && last.call.kind === 'execute' && last.call.status === 'cancelled' && !last.call.withdrawn;
}

function endView(view: View, turn: Turn): unknown {
  const { error } = turn;
  const last = turn === view.session.turns.at(-1);
  const beside = error && turn.status === 'failed' && last ? backView(view, turn) : nothing;
  const gone = error && last ? closedLinkInTurn(view.session) : undefined;
  const shown = error && (last ? error : notAgain(error));
  const more = { beside, below: error && gone ? linkDetail(view, gone, besides(error, gone)) : nothing };
  return html`${shown ? faultView(view, turn.id, shown, turn.status === 'failed' ? 'error' : 'warn', more) : nothing}
    ${turn.status === 'cancelled' && !(turn.stop === undefined && endsInStopped(turn)) ? html`<p class="faint ended">${t('Stopped')}${turn.stop === undefined ? '' : html` · <bdi>${turn.stop}</bdi>`}</p>` : nothing}
    ${turn.stop !== undefined && turn.status !== 'cancelled' ? html`<p class="faint ended"><bdi>${turn.stop}</bdi></p>` : nothing}
    ${keptPlanView(view, turn)} ${changesView(view, turn)} ${summaryView(view, turn)}`;
}

/** Turns drawn at first, and added each time the user wants earlier ones. */
export const TURNS_AT_ONCE = 20;

/** The turns, oldest first; `shown` of them, counted from the end. */
export function feedView(view: View, shown: number, earlier: () => void): TemplateResult {
  const { turns } = view.session;
  const first = Math.max(0, turns.length - shown);
  return html`${
    first > 0
      ? html`<button class="text-button earlier" type="button" @click=${earlier}>${t('Show earlier turns ({0})', first)}</button>`
      : nothing
  }
  <div role="feed" class="turns" aria-label=${t('Conversation')} aria-busy=${turns.at(-1)?.status === 'running' ? 'true' : 'false'}>
    ${repeat(
      turns.slice(first),
      (turn) => turn.id,
      (turn, index) =>
        guard(
          [
            turn,
            view.memory.unfolded,
            terminalsShownIn(view.session, turn),
            waitsFor(view.session, turn),
            turns.length,
            wayToEdit(view.session),
            view.profile?.model === undefined,
            closedLinkInTurn(view.session),
            view.theme,
          ],
          () => turnView(view, turn, first + index, turns.length),
        ),
    )}
  </div>`;
}

const withTerminals = new WeakMap<Turn, boolean>();

/** The session's terminals, for a turn that shows some; other turns need no redraw when terminals change. */
function terminalsShownIn(session: Session, turn: Turn): Session['terminals'] | undefined {
  let shows = withTerminals.get(turn);
  if (shows === undefined) {
    shows = turn.parts.some((part) => part.kind === 'call' && part.call.output.some((output) => output.kind === 'terminal'));
    withTerminals.set(turn, shows);
  }
  return shows ? session.terminals : undefined;
}
