import type { ApprovalAnswers } from '../session/approvalAnswers.ts';
import type { SessionEvent } from '../session/events.ts';
import type { Intent } from '../session/intents.ts';
import type { AskId, AskRef, Content, Remedy, Session, SessionId, TurnId } from '../session/model.ts';

/** host -> view */
export type ToView =
  /** Always the first answer to `ready`. */
  | { readonly type: 'hello'; readonly strings: Readonly<Record<string, string>>; readonly language: string; readonly trusted: boolean }
  | {
      readonly type: 'snapshot';
      readonly sessionId: SessionId;
      readonly seq: number;
      readonly session: Session;
      readonly answers: OpenAnswers;
    }
  | {
      readonly type: 'patch';
      readonly sessionId: SessionId;
      readonly from: number;
      readonly seq: number;
      readonly events: readonly SessionEvent[];
      /** Absent: as before. Those of approvals that take the host longer come with a later patch, which may have no events. */
      readonly answers?: OpenAnswers;
    }
  | {
      readonly type: 'sessions';
      readonly list: readonly SessionLine[];
      readonly active?: SessionId;
      readonly profiles: readonly ProfileLine[];
    }
  /** Puts something into the composer: text at the caret, or an attachment. */
  | { readonly type: 'insert'; readonly content: Content }
  /** The page keeps the clipboard's picture, if any, while the host uses the clipboard to read the terminal's selection. */
  | { readonly type: 'keepPicture' }
  /** The message of that turn goes into the composer, to be sent in its place. */
  | { readonly type: 'edit'; readonly sessionId: SessionId; readonly turnId: string }
  /** An edit of that message ends unsent: what led to it was taken back. */
  | { readonly type: 'endEdit'; readonly sessionId: SessionId; readonly turnId: string }
  /** The page takes the keyboard, and tells once it has it. `back`: the caret stays where the user has put it meanwhile. */
  | { readonly type: 'focus'; readonly back?: true }
  /** The caret goes into the composer, if the keys go to the view by now. */
  | { readonly type: 'caret' }
  /** The ask on the screen as a quick-pick; none: the quick-pick has just closed. */
  | { readonly type: 'pick'; readonly ask?: AskRef }
  | { readonly type: 'reply'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly message: string };
/** The answers to every open approval, and what is dangerous about it: judged by the host, which knows the files that the user guards. */
export type OpenAnswers = readonly (readonly [AskId, ApprovalAnswers])[];
export interface SessionLine {
  readonly id: SessionId;
  readonly title: string;
  readonly agent: string;
  /** Id of the profile it was started with. */
  readonly profile: string;
  /** `past`: it is in the journal, and not open. */
  readonly state: 'opening' | 'ready' | 'busy' | 'closed' | 'past';
  readonly asks: number;
  /** When its last turn began or it was last written, milliseconds since the epoch; 0 for one in which nothing was said. */
  readonly at: number;
  /** How many files it has changed. */
  readonly files: number;
  /** Its last turn has failed. */
  readonly failed?: true;
  readonly pinned?: true;
  /** It runs in the agent host and was not opened in this window yet: it can be opened, renamed and deleted. */
  readonly hosted?: true;
}
export interface ProfileLine {
  readonly id: string;
  readonly name: string;
  readonly isDefault?: true;
  /** The model that is configured for the bundled agent, '' for none. Absent for agents that choose their own. */
  readonly model?: string;
}
/** Something on this computer that can be used at once: an agent by its id, or a server of models by its address. */
export interface SetupLine {
  readonly kind: 'agent' | 'endpoint';
  readonly id: string;
  readonly name: string;
  readonly detail: string;
}
/** The contents of the folder that a first prompt could be about. */
export interface Surroundings {
  /** `npm test` runs something. */
  readonly tests: boolean;
  /** There are uncommitted changes. */
  readonly changes: boolean;
  readonly readme: boolean;
}
/** A model that the configured endpoint offers. */
export interface ModelLine {
  readonly name: string;
  /** In and out, for a million tokens: "$3 / $15". */
  readonly price?: string;
}
/** A context to mention in a prompt after an @. A file, folder or symbol has its place; the rest is gathered when it is chosen. */
export type Mention = MentionedPlace | MentionedContext;
export interface MentionedPlace {
  readonly kind: 'file' | 'folder' | 'symbol';
  readonly label: string;
  readonly detail?: string;
  readonly path: string;
  readonly line?: number;
}
export interface MentionedContext {
  readonly kind: ContextKind;
  readonly label: string;
  readonly detail?: string;
  /** The context is empty now: it is listed so that it can be found, but cannot be chosen. */
  readonly empty?: true;
}
/** `browse`: files that the user picks in a dialog. */
export const CONTEXT_KINDS = ['selection', 'problems', 'changes', 'terminal', 'openEditors', 'browse'] as const;
/** Contents that a message from the view has at most, its text among them. */
export const MOST_CONTENTS = 200;
/** UTF-16 units of a title that the user writes. */
export const LONGEST_TITLE = 200;
/** The argument of the command that reads the terminal's selection, where a page keeps the picture on the clipboard meanwhile. */
export const PICTURE_KEPT = 'pictureKept';
export type ContextKind = (typeof CONTEXT_KINDS)[number];

/** Code in colours. */
export interface ColouredCode {
  readonly looks: readonly CodeLook[];
  /** For each line the lengths of its runs in UTF-16 units and their looks in turn; what a line or the list lacks is plain. */
  readonly lines: readonly (readonly number[])[];
}
/** `colour`: #rgb, #rgba, #rrggbb or #rrggbbaa. `font`: 1 italic, 2 bold, 4 underlined, 8 struck through, added up. */
export interface CodeLook {
  readonly colour?: string;
  readonly font?: number;
}

/** The intents of the view. Proposals are revised in the editor's diff, and only clients of an agent host reorder the queue. */
export type ViewIntent = Exclude<Intent, { readonly type: 'revise' | 'reorder' }>;

/** view -> host */
export type FromView =
  | { readonly type: 'ready' }
  /** The user is typing in the view; sent a few times a second at most. */
  | { readonly type: 'typing' }
  /** The view got the keyboard, or lost it. */
  | { readonly type: 'focused'; readonly on: boolean }
  /** The view was given the keyboard and cannot take it by itself. */
  | { readonly type: 'unfocused' }
  /** The size of the window in pixels: it decides what fits a quick-pick, and the editor tells no extension. */
  | { readonly type: 'window'; readonly width: number; readonly height: number }
  | { readonly type: 'resync'; readonly sessionId: SessionId }
  | { readonly type: 'intent'; readonly sessionId: SessionId; readonly intent: ViewIntent }
  | ViewCall;
export type ViewCall = {
  readonly [M in keyof Calls]: { readonly type: 'call'; readonly id: number; readonly method: M; readonly params: Calls[M]['params'] };
}[keyof Calls];

/** The questions of the view that need an answer. Paths are absolute; lines 1-based. */
export interface Calls {
  /** Finds the mentions for the text after an @, best first; at most 60. Labels of places are relative to the workspace folder. */
  findMentions: { readonly params: { readonly query: string }; readonly result: readonly Mention[] };
  /** Finds the symbols for the text after an @. May take seconds while language services load; a newer question ends it. */
  findSymbols: { readonly params: { readonly query: string }; readonly result: readonly MentionedPlace[] };
  /** Returns the prompt content of a chosen context; empty when it is gone. */
  attach: { readonly params: { readonly kind: ContextKind }; readonly result: readonly Content[] };
  /** Attaches the selection of the terminal: what is on the clipboard is kept until that is answered. */
  addTerminal: { readonly params: Record<string, never>; readonly result: null };
  /** The models that the configured endpoint offers; rejects when it cannot be asked. */
  models: { readonly params: Record<string, never>; readonly result: readonly ModelLine[] };
  lookAround: { readonly params: Record<string, never>; readonly result: Surroundings };
  findSetups: { readonly params: Record<string, never>; readonly result: readonly SetupLine[] };
  useSetup: { readonly params: Pick<SetupLine, 'kind' | 'id'>; readonly result: null };
  useModel: { readonly params: { readonly name: string }; readonly result: null };
  hints: {
    readonly params: { readonly sessionId: SessionId; readonly text: string; readonly cursor: number };
    readonly result: readonly { readonly label: string; readonly value: string; readonly description?: string }[];
  };
  open: { readonly params: { readonly path: string; readonly line?: number; readonly column?: number }; readonly result: null };
  openLink: { readonly params: { readonly uri: string }; readonly result: null };
  /** Opens the native diff of a pending approval (`askId`) or of what a turn changed (`turnId`), one file of it when `path` is there. */
  review: {
    readonly params: { readonly sessionId: SessionId; readonly path?: string; readonly askId?: string; readonly turnId?: string };
    readonly result: null;
  };
  /** Keeps or reverts a turn's changes to a file, or without a path to all open files. */
  settleFile: {
    readonly params: { readonly sessionId: SessionId; readonly turnId: string; readonly path?: string; readonly how: 'keep' | 'undo' };
    readonly result: null;
  };
  /** Brings back the files as they were before a turn, once the user has said yes. True: the conversation is to go back as well. */
  restoreFiles: { readonly params: { readonly sessionId: SessionId; readonly turnId: string }; readonly result: boolean };
  /** Copies the conversation and shows the copy. */
  /** With a turn: goes on from before it. */
  copySession: { readonly params: { readonly sessionId: SessionId; readonly turnId?: TurnId }; readonly result: null };
  /** Code as the editor colours it in the theme with this id; null for a language that has no grammar here. */
  colourCode: {
    readonly params: { readonly text: string; readonly language: string; readonly theme: string };
    readonly result: ColouredCode | null;
  };
  /** Returns those of the paths that are files in the workspace. At most 100, absolute. */
  existing: { readonly params: { readonly paths: readonly string[] }; readonly result: readonly string[] };
  /** Returns those of the paths that are folders in the workspace. At most 100, absolute. */
  folders: { readonly params: { readonly paths: readonly string[] }; readonly result: readonly string[] };
  insertAtCursor: { readonly params: { readonly text: string }; readonly result: null };
  /** Shows a terminal of the session in the editor's terminal panel, to look at. */
  openTerminal: { readonly params: { readonly sessionId: SessionId; readonly terminalId: string }; readonly result: null };
  /** Allows this and the like of it for the session, or lets the user make a rule. */
  allowMore: {
    readonly params: { readonly sessionId: SessionId; readonly askId: string; readonly how: 'session' | 'always' };
    readonly result: null;
  };
  /** The quick-pick on the screen asks this one instead. */
  showAsk: { readonly params: AskRef; readonly result: null };
  /** Without a profile the default agent; `pick` asks which one; `ifNone` starts none where the window has one by then. */
  newSession: { readonly params: { readonly profile?: string; readonly pick?: true; readonly ifNone?: true }; readonly result: null };
  /** Open and earlier sessions whose title or text holds the words; pinned ones first, then newest first. */
  findSessions: { readonly params: { readonly query: string }; readonly result: readonly SessionLine[] };
  renameSession: { readonly params: { readonly sessionId: SessionId; readonly title: string }; readonly result: null };
  pinSession: { readonly params: { readonly sessionId: SessionId; readonly on: boolean }; readonly result: null };
  deleteSession: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  exportSession: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  /** Shows the session in an editor tab, beside what is open there. */
  openInEditor: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  /** An earlier session is brought back. */
  switchSession: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  remedy: { readonly params: { readonly sessionId: SessionId; readonly remedy: Remedy }; readonly result: null };
  trustWorkspace: { readonly params: Record<string, never>; readonly result: null };
}
/** The host's table of answers; a call without an answer does not compile. */
export type Answers = { readonly [M in keyof Calls]: (params: Calls[M]['params']) => Promise<Calls[M]['result']> };
