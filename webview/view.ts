import { t } from '../src/base/l10n.ts';
import type {
  Calls,
  ContextKind,
  ModelLine,
  ProfileLine,
  SessionLine,
  SetupLine,
  Surroundings,
  ViewIntent,
} from '../src/bridge/contract.ts';
import type { ApprovalAnswers } from '../src/session/approvalAnswers.ts';
import { allowedEarlier } from '../src/session/earlierAnswers.ts';
import type { AskId, Content, Remedy, Session, ToolCall } from '../src/session/model.ts';
import type { SessionMemory } from './ui.ts';

/** The id of the input field for messages to the agent. */
export const COMPOSER_ID = 'composer';
/** The id of the button that opens the picker of model and mode. */
export const PICKER_ID = 'picker';

/** The popup over the chat; one at a time. `at` is the active row, once the user has moved. */
export type Popup =
  | { readonly kind: 'picker'; readonly query: string; readonly at?: number; readonly models?: readonly ModelLine[] }
  /** `found`: the host's results for the query; absent until its first answer. */
  | { readonly kind: 'sessions'; readonly query: string; readonly found?: readonly SessionLine[]; readonly renaming?: string }
  | { readonly kind: 'preview'; readonly content: Content };

/** A template's access beyond its own piece of the session: state to read, and actions. */
export interface View {
  readonly session: Session;
  readonly memory: SessionMemory;
  /** The agent the session was started with, as it is configured now. */
  readonly profile: ProfileLine | undefined;
  readonly popup: Popup | undefined;
  readonly setups: readonly SetupLine[];
  readonly around: Surroundings;
  /** Another number after each change of the theme. */
  readonly theme: number;
  readonly act: Act;
  /** The answers to an open approval, and what is dangerous about it. */
  answersTo(askId: AskId): ApprovalAnswers;
  /** The text added since the last draw; undefined when that is not known. */
  grown(turnId: string, partId: string): string | undefined;
}

/** The user's actions. The same object for the lifetime of the page, so that templates may keep it. */
export interface Act {
  intent(intent: ViewIntent): void;
  /** Paths may be relative to the session's folder. */
  open(path: string, line?: number, column?: number): void;
  openLink(uri: string): void;
  review(what: Omit<Calls['review']['params'], 'sessionId'>): void;
  /** Without a path, settles all open files of the turn. */
  settleFile(turnId: string, path: string | undefined, how: 'keep' | 'undo'): void;
  /** Restores the files from before a turn, after asking the user. */
  restoreFiles(turnId: string): void;
  /** Puts the message of a turn into the composer, to be sent in its place or, with `append`, anew after all others. */
  editMessage(turnId: string, way?: 'append'): void;
  /** Opens a copy of the session, where the agent can copy it; with a turn, one from before that turn, with its message in the composer. */
  copySession(turnId?: string): void;
  remedy(remedy: Remedy): void;
  openTerminal(terminalId: string): void;
  /** `session`: allows this and similar calls for the session. `always`: opens the rule editor, whose rule answers this too. */
  allowMore(askId: string, how: 'session' | 'always'): void;
  /** Shows the card of that ask, and its quick-pick where one is on the screen. */
  showAsk(askId: string): void;
  copy(text: string): void;
  insertAtCursor(text: string): void;
  /** Remembers whether something is unfolded. */
  unfold(key: string, open: boolean): void;
  /** Changes what the view remembers of this session. */
  remember(change: Partial<SessionMemory>): void;
  /** Draws the changes and focuses the element with that id, at once: a key may follow before the next frame. */
  focus(id: string): void;
  /** Draws at once, and scrolls the element with that id into sight. */
  reveal(id: string): void;
  show(popup: Popup | undefined): void;
  /** Collects a context of the editor and attaches it. */
  attach(kind: ContextKind): void;
  /** Attaches the files and folders at these paths. */
  drop(paths: readonly string[]): void;
  /** Fetches the models of the configured endpoint for the open picker. */
  loadModels(): void;
  useModel(name: string): void;
  /** Tells the user about a failure, or shows a short note. */
  say(text: string, level?: 'info'): void;
  /** Sends the content to the agent: as a prompt, or into the running turn. */
  send(content: readonly Content[], how: 'prompt' | 'steer', replaces?: string): void;
  useSetup(setup: SetupLine): void;
  newSession(how: Calls['newSession']['params']): void;
  switchSession(id: string): void;
  /** Searches sessions, for the open list of them. */
  findSessions(query: string): void;
  renameSession(id: string, title: string): void;
  pinSession(id: string, on: boolean): void;
  deleteSession(id: string): void;
  exportSession(id: string): void;
  openInEditor(id: string): void;
  trust(): void;
}

/** Whether something is unfolded: what the user chose, otherwise `usually`. */
export function isUnfolded(memory: SessionMemory, key: string, usually: boolean): boolean {
  return memory.unfolded[key] ?? usually;
}

/** The answer because of which the agent did not ask about the call. */
export function earlierAnswer({ session }: View, call: ToolCall): string | undefined {
  return allowedEarlier(session).get(call);
}

/** How many of the calls ran without a question, by what allowed them: a rule, or the agent that keeps an answer. */
export function allowedUnasked({ session }: View, calls: readonly ToolCall[]): readonly { readonly by: string; readonly count: number }[] {
  const earlier = allowedEarlier(session);
  const isByRule = ({ decision }: ToolCall) => decision?.kind === 'approval' && decision.by === 'rule' && decision.effect === 'allow_once';
  return [
    { by: t('allowed by your rule'), count: calls.filter(isByRule).length },
    { by: t('allowed by you earlier'), count: calls.filter((call) => earlier.has(call)).length },
  ].filter(({ count }) => count > 0);
}
