import type { ApprovalDetail, Output, ToolKind } from '../session/model.ts';

/** The services of the editor for agents. The editor implements it; adapters call it. */
export interface Ports {
  readonly tools: readonly Tool[];
  /** Tools for agents that cannot reach the files of this machine by themselves: reading, changing, running. */
  readonly remoteFileTools?: readonly Tool[];
  readonly files: Files;
  readonly terminals: Terminals;
  /** Opens an address outside the editor. The caller has asked the user before. False when nothing was opened. */
  readonly openLink?: (url: string) => Promise<boolean>;
  /** Runs a program in a terminal that the user sees and types into, as a login needs; settles with its end. */
  readonly runVisibly?: (program: VisibleProgram) => Promise<Exit>;
  /** Secrets that a user entered for an agent, kept by the editor's own secret storage. */
  readonly secrets?: Secrets;
}
export interface VisibleProgram {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}
export interface Secrets {
  get(name: string): Promise<string | undefined>;
  /** undefined forgets it. */
  set(name: string, value: string | undefined): Promise<void>;
}

/** A tool we offer every agent. `parameters` is a JSON Schema object with `"type": "object"`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  /** The text to show a user before the tool may run with this input; undefined when it need not ask. The live session asks. */
  readonly confirm?: (input: unknown) => Confirmation | undefined;
  run(input: unknown, signal: AbortSignal): Promise<ToolAnswer>;
  /** Runs with the text that the user made of the one file it proposed to change. Absent: a proposal is taken as it is, or not. */
  readonly runEdited?: (input: unknown, edited: string, signal: AbortSignal) => Promise<ToolAnswer>;
}
export type JsonSchema = Readonly<Record<string, unknown>>;
export interface Confirmation {
  readonly title: string;
  readonly kind: ToolKind;
  readonly detail: ApprovalDetail;
}
/** `text` goes to the model: plain and short. */
export interface ToolAnswer {
  readonly ok: boolean;
  readonly text: string;
  /** The text for the user, when it is more than the model's. */
  readonly shown?: readonly Output[];
}

/** Files as the user has them: unsaved text first. Paths are absolute. A missing file rejects with code ENOENT. */
export interface Files {
  read(path: string): Promise<string>;
  /**
   * Settles after the bytes are on disk. `from` is the text that was changed: what the user has typed since stays, and where that overlaps the write
   * fails. A file that is no UTF-8 text is not written over. `real` is where the file lay, links followed, when somebody decided
   * about the write: it fails when the path leads elsewhere by now.
   */
  write(path: string, text: string, from?: string, real?: string): Promise<void>;
}

export interface Terminals {
  create(spec: TerminalSpec): Promise<TerminalHandle>;
}
/** limit: bytes of output kept, the last ones. */
export interface TerminalSpec {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limit?: number;
}
export interface TerminalHandle {
  readonly id: string;
  output(): { readonly text: string; readonly truncated: boolean; readonly exit?: Exit };
  exited(): Promise<Exit>;
  /** Gets each new piece of output, then undefined once when the command has ended. */
  onOutput?(listener: (text: string | undefined) => void): void;
  kill(): void;
  release(): void;
}
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}
