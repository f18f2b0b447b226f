import type { ApprovalDetail, Diff, Fault, Field, Option, ToolKind } from '../../session/model.ts';

/** A tool call as either dialect tells it: always the whole object (a2a.md §8). */
export interface Snapshot {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly status: 'pending' | 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly input?: unknown;
  /** What it has printed so far, or what came of it. */
  readonly text?: string;
  readonly json?: unknown;
  readonly diff?: Diff;
  readonly error?: Fault;
  readonly request?: Request;
}

/** What a user has to decide before the call may run. */
export interface Request {
  readonly detail: ApprovalDetail;
  readonly options: readonly Choice[];
  /** The proposed text as the agent wrote it: it may be changed before it is allowed. */
  readonly proposed?: string;
  /** The agent wants answers, not permission. */
  readonly questions?: readonly Field[];
}

export interface Choice extends Option {
  /** What is sent when it is chosen. */
  readonly sends: string;
  /** Remembered for the rest of the conversation by us. */
  readonly remembered?: true;
}

const KINDS: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(replace|edit|write|write_file|create_file|str_replace.*|apply_patch|multi_?edit)$|edit|write_?file/i, 'edit'],
  [/shell|bash|exec|terminal|run_command|^run$/i, 'execute'],
  [/delete|remove/i, 'delete'],
  [/move|rename/i, 'move'],
  [/grep|glob|search|find|list/i, 'search'],
  [/fetch|web/i, 'fetch'],
  [/^read|read_?file|cat$/i, 'read'],
  [/think|plan|todo/i, 'think'],
];

export function kindOf(name: string, said?: string | null): ToolKind {
  const known = KINDS.map(([, kind]) => kind).find((kind) => kind === said);
  return known ?? KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}

/** Lines joined with \n, as the session keeps them. */
export function lines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** The user's text with the line ends of the proposal. */
export function likeProposal(edited: string, proposed: string): string {
  return proposed.includes('\r\n') ? lines(edited).replaceAll('\n', '\r\n') : edited;
}
