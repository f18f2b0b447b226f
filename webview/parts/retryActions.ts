import { html, nothing, type TemplateResult } from 'lit/html.js';
import { durationText, groupWords, hasRun } from '../../src/session/callWords.ts';
import type { Session, Turn } from '../../src/session/model.ts';
import { answerText, callsOf, isAttached, isRecorded, KNOWN_SINCE, promptText, turnFiles } from '../../src/session/select.ts';
import { type IconName, iconOf } from '../icons.ts';
import { mentionsIn } from '../mentions.ts';
import { plainAnswer } from '../plainAnswer.ts';
import { commandTitle, t } from '../strings.ts';
import type { SentMessage, SessionMemory, Unsent } from '../ui.ts';
import { count, money } from '../usage.ts';
import { allowedUnasked, type View } from '../view.ts';

/** Whether earlier messages may be edited just now. */
export function mayEdit({ link, turns }: Session): boolean {
  return link.state === 'ready' && link.offers.edit === true && turns.at(-1)?.status !== 'running';
}

/** How an earlier message can be edited: in its place, appended after all others, or not now: before the running turn has ended, and in a recording. */
export function wayToEdit(session: Session): 'replace' | 'append' | 'later' {
  const { link } = session;
  if (link.state === 'recorded') return 'later';
  if (link.state !== 'ready' || link.offers.edit !== true) return 'append';
  return mayEdit(session) ? 'replace' : 'later';
}

/** Whether files of the turn can be restored: once they were examined, all but those that only the agent reported. */
function hasRestorable(turn: Turn): boolean {
  const { files = 0, folders = [] } = turn.unlisted ?? {};
  return files + folders.length > 0 || turnFiles(turn).some(({ review }) => !turn.files || review !== 'reported');
}

/** Actions at a message: copy it, edit it, in its place where the agent can rewind, and restore the files from before it. */
export function retryActionsView(view: View, turn: Turn): TemplateResult | typeof nothing {
  const { draft } = saidIn(turn);
  const { turns } = view.session;
  const mayRestore =
    !isRecorded(view.session) && turns.at(-1)?.status !== 'running' && turns.slice(turns.indexOf(turn)).some(hasRestorable);
  if (turn.prompt.length === 0 || (draft === '' && wayToEdit(view.session) === 'later' && !mayRestore)) return nothing;
  return html`<div class="again">
    ${draft === '' ? nothing : small('copy', commandTitle('Copy Message'), () => view.act.copy(draft))}
    ${mayEdit(view.session) ? small('edit', commandTitle('Edit Message and Send It Again'), () => view.act.editMessage(turn.id)) : nothing}
    ${wayToEdit(view.session) === 'append' && !isLastFailed(view, turn) ? small('edit', commandTitle('Edit Message and Send It Again'), () => view.act.editMessage(turn.id)) : nothing}
    ${mayEdit(view.session) ? small('branch', t('Edit this message in a copy of this session'), () => view.act.copySession(turn.id)) : nothing}
    ${mayRestore ? small('undo', t('Restore Files'), () => view.act.restoreFiles(turn.id)) : nothing}
  </div>`;
}

/** Below a finished turn: its usage, buttons to copy its answer and to resend its message; below the last one also a copy to continue in. */
export function summaryView(view: View, turn: Turn): TemplateResult | typeof nothing {
  if (turn.status === 'running') return nothing;
  const { session } = view;
  const answer = answerText(turn);
  const last = session.turns.at(-1) === turn;
  const mayRepeat = !isRecorded(session) && turn.prompt.length > 0 && (last ? turn.status !== 'failed' : wayToEdit(session) === 'append');
  const mayCopy = last && session.link.state === 'ready' && session.link.offers.fork === true;
  const again = () => {
    const replaces = mayEdit(session) ? { replaces: turn.id } : {};
    view.act.intent({ type: 'prompt', turnId: crypto.randomUUID(), content: turn.prompt, ...replaces });
    if (cannotGoBack(session)) view.act.say(appendsText(), 'info');
  };
  const words = spentText(turn, view);
  if (answer === '' && !mayRepeat && !mayCopy && words === '') return nothing;
  return html`<div class="sum">
    ${words === '' ? nothing : html`<span class="num">${words}</span>`}
    ${answer === '' ? nothing : small('copy', commandTitle('Copy Answer as Markdown'), () => view.act.copy(answer))}
    ${answer === '' ? nothing : small('text', t('Copy as text'), (event) => view.act.copy(plainAnswer(drawnTexts(event))))}
    ${mayRepeat ? small('retry', t('Try again'), again) : nothing}
    ${mayCopy ? small('branch', commandTitle('Copy Session'), () => view.act.copySession()) : nothing}
  </div>`;
}

/** Time, commands, automatic approvals, tokens and price, each where known. */
function spentText(turn: Turn, view: View): string {
  const { endedAt, startedAt, spent } = turn;
  const commands = turn.parts.filter(
    (part) => part.kind === 'call' && part.call.kind === 'execute' && hasRun(part.call, view.session),
  ).length;
  const tokens = (spent?.input ?? 0) + (spent?.output ?? 0);
  return [
    endedAt === undefined || startedAt < KNOWN_SINCE ? '' : durationText(endedAt - startedAt),
    commands === 0 ? '' : groupWords(Array.from({ length: commands }, () => 'run' as const)),
    ...allowedUnasked(view, callsOf(turn)).map(({ by, count }) => `${by}: ${count}`),
    tokens === 0 ? '' : t('{0} tokens', count(tokens)),
    spent?.cost ? (money(spent.cost) ?? '') : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

/** The texts as drawn, without those of sub-agents. */
function drawnTexts(event: Event): readonly HTMLElement[] {
  const answer = (event.currentTarget as HTMLElement).closest('.answer');
  return [...(answer?.querySelectorAll<HTMLElement>(':scope > .markdown') ?? [])];
}

function small(icon: IconName, label: string, run: (event: Event) => void): TemplateResult {
  return html`<button class="icon-button" type="button" title=${label} aria-label=${label} @click=${run}>${iconOf(icon)}</button>`;
}

/** The user's message that began a turn, in the composer's format. */
export function saidIn(turn: Turn): Pick<SessionMemory, 'draft' | 'attachments'> {
  return {
    draft: promptText(turn),
    attachments: turn.prompt.filter(isAttached),
  };
}

/** The user's earlier messages, oldest first: those of this session come last, after those sent elsewhere in the workspace. */
export function historyOf(view: View | undefined, sent: readonly SentMessage[]): readonly SentMessage[] {
  if (!view) return sent;
  const { turns, queue, cwd } = view.session;
  const prompts = [...turns.map((turn) => turn.prompt), ...queue.map((waiting) => waiting.content)];
  const here = prompts.flatMap((prompt): SentMessage[] => {
    const text = promptText({ prompt });
    if (text === '') return [];
    const places = mentionsIn(text, prompt, cwd).map(({ name, content }) => [name.slice(1), content] as const);
    return [{ text, mentions: Object.fromEntries(places) }];
  });
  const texts = new Set(here.map(({ text }) => text));
  return [...sent.filter(({ text }) => !texts.has(text)), ...here];
}

/** True when the turn's error card offers to put the message back. */
function isLastFailed({ session }: View, turn: Turn): boolean {
  return turn.status === 'failed' && turn === session.turns.at(-1);
}

/** A button that puts the message of a failed turn back to edit it. */
export function backView(view: View, turn: Turn): TemplateResult | typeof nothing {
  if (turn.prompt.length === 0) return nothing;
  return small('edit', commandTitle('Edit Message and Send It Again'), () => view.act.editMessage(turn.id, 'append'));
}

/** The turn being edited. A missing turn was edited already, or taken back: a reload may restore a draft from before that. */
export function replacedTurn({ session, memory }: Pick<View, 'session' | 'memory'>): string | undefined {
  return session.turns.find((turn) => turn.id === memory.replaces)?.id;
}

/** True while the composer holds an earlier message. */
export function isEditing(session: Session, memory: SessionMemory): boolean {
  return memory.appends === true || replacedTurn({ session, memory }) !== undefined;
}

/**
 * Puts an earlier message where the draft is, which waits aside. When the message of an edit under way has been changed, it is a draft as well.
 */
export function beginEdit(memory: SessionMemory, said: Pick<Unsent, 'draft' | 'attachments'>, edits: boolean): Partial<SessionMemory> {
  const { draft, attachments, mentions, lost, aside } = memory;
  const waits = edits && aside?.began === draft ? [aside] : [...(aside ? [aside] : []), { draft, attachments, mentions, lost }];
  return {
    ...said,
    mentions: {},
    lost: undefined,
    aside: {
      draft: waits
        .map((one) => one.draft)
        .filter(Boolean)
        .join('\n\n'),
      attachments: waits.flatMap((one) => one.attachments),
      mentions: Object.assign({}, ...waits.map((one) => one.mentions)),
      lost: waits.some((one) => one.lost) || undefined,
      began: said.draft,
    },
  };
}

/** Brings back the draft that waits aside, if any, as the edit is sent or dropped. */
export function endEdit({ aside }: SessionMemory): Partial<SessionMemory> & Unsent {
  const { draft = '', attachments = [], mentions = {}, lost } = aside ?? {};
  return { draft, attachments, mentions, lost, replaces: undefined, appends: undefined, aside: undefined };
}

/** Whether there is something to cancel: an edit, or one whose turn is gone while a draft waits for its end. */
export function mayCancelEdit({ session, memory }: View): boolean {
  const { aside } = memory;
  return isEditing(session, memory) || (aside !== undefined && (aside.draft !== '' || aside.attachments.length > 0));
}

/** The words above the composer while a message is edited that the agent will get as a new one. */
export function appendingText({ session, memory }: View): string | undefined {
  return memory.appends && cannotGoBack(session) ? appendsText() : undefined;
}

/** Above the composer while an earlier message is being edited: what sending it does to those after it. */
export function editingView(view: View, cancel: () => void): TemplateResult | typeof nothing {
  if (!mayCancelEdit(view)) return nothing;
  const takesBack = replacedTurn(view) === undefined ? undefined : t('Sending this takes back everything after the message you edit.');
  return html`<div class="editing faint" role="status">
    <span>${takesBack ?? appendingText(view) ?? commandTitle('Edit Message and Send It Again')}</span>
    <button class="icon-button" type="button" title=${t('Cancel')} aria-label=${t('Cancel')} @click=${cancel}>${iconOf('cross')}</button>
  </div>`;
}

/** True for an agent that is there and does not offer it; one that is not there yet may. */
function cannotGoBack({ link }: Session): boolean {
  return link.state === 'ready' && link.offers.edit !== true;
}

function appendsText(): string {
  return t('This agent cannot go back: it gets this as a new message and remembers what was said before.');
}
