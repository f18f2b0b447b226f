/** The model of a session. Data only: JSON-safe, readonly, no methods, no undefined inside arrays. */
export type SessionId = string;
export type TurnId = string;
export type PartId = string;
export type CallId = string;
export type AskId = string;

export interface Session {
  readonly id: SessionId;
  readonly title: string;
  /** The user gave it its title; what the agent calls it is ignored. */
  readonly titleChosen?: true;
  /** The title of the original conversation, for a copy: the same title from the agent is ignored. */
  readonly copyOf?: string;
  readonly agent: AgentInfo;
  readonly cwd: string;
  readonly link: LinkState;
  readonly turns: readonly Turn[];
  readonly asks: readonly Ask[];
  /** Corrections to send with the next prompt: the places where files differ from what the agent wrote. */
  readonly corrections?: readonly string[];
  /** Prompts that wait for a turn to end, or for the user, oldest first. */
  readonly queue: readonly QueuedPrompt[];
  readonly plan?: Plan;
  readonly commands: readonly Command[];
  readonly mode?: ModeChoice;
  /** Further options of this session: model, depth of thought, switches. In the agent's order. */
  readonly options?: readonly SessionOption[];
  /** In the order they were started. A list, because copying it for every piece of output costs little. */
  readonly terminals: readonly Terminal[];
  /** Tasks that the agent runs beside its turns; they may end with the agent. */
  readonly background?: readonly BackgroundTask[];
  readonly usage?: Usage;
  readonly notices: readonly Notice[];
  /** The agent's own name for this conversation, for resuming it later. */
  readonly resumeKey?: string;
  /** The agent is replaying an earlier conversation; until the link is ready the turns may be incomplete. */
  readonly partial?: true;
}
export interface AgentInfo {
  readonly protocol: string;
  /** The user's name for the agent. */
  readonly name: string;
  /** The agent's own name, where it differs. */
  readonly own?: string;
  readonly version?: string;
}
export type LinkState =
  /** `stops`: what is done before it is ready can be stopped. */
  | { readonly state: 'opening'; readonly note?: string; readonly stops?: true; readonly next?: readonly Remedy[] }
  | { readonly state: 'ready'; readonly offers: Offers }
  | { readonly state: 'closed'; readonly reason: string; readonly detail?: string; readonly next?: readonly Remedy[] }
  /** A recording of another program or window: it is read-only, and no agent continues it. */
  | { readonly state: 'recorded' };
/** The capabilities that this agent announced. Absent means: do not show the control. */
export interface Offers {
  readonly images?: true;
  readonly steer?: true;
  readonly hints?: true;
  readonly history?: true;
  /** A conversation it remembers can be deleted. */
  readonly forget?: true;
  /** The conversation can be copied and gone on with separately. */
  readonly fork?: true;
  /** The user is signed in and can sign out. */
  readonly signOut?: true;
  /** Earlier prompts can be edited, and an answer can be requested again. */
  readonly edit?: true;
  /** The answer to an approval carries words with a rejection; other agents get them as the next prompt. */
  readonly feedback?: true;
  readonly editableApprovals?: true;
  readonly tools?: ToolOffer;
}
/** The editor tools that the agent accepted, and those that it rejected with the reason. */
export interface ToolOffer {
  readonly accepted: readonly string[];
  readonly rejected: readonly { readonly name: string; readonly reason: string }[];
}
export interface QueuedPrompt {
  readonly turnId: TurnId;
  readonly content: readonly Content[];
  /** The turn it is said instead of. */
  readonly replaces?: TurnId;
  /** Held because the turn before it was stopped, failed or did not accept it. It is sent only when the user says so. */
  readonly held?: true;
  /** The failed turn it tries again. */
  readonly again?: TurnId;
  /** Words with a rejection, for an agent whose answers carry none. */
  readonly feedback?: true;
  /** The client of an agent host that sent it. */
  readonly sender?: string;
}

export interface Turn {
  readonly id: TurnId;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly prompt: readonly Content[];
  /** The client of an agent host that sent the prompt, by the name it gives itself. */
  readonly sender?: string;
  /** The failed turn of an agent host's clients that it tries again, and which goes on for them. */
  readonly retries?: TurnId;
  /** The corrections sent beside the user's words: files that are not as the agent knows them. */
  readonly corrections?: string;
  readonly parts: readonly Part[];
  readonly status: 'running' | 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
  /** The usage, as far as the agent reports it: tokens of the turn, and the growth of the conversation's price. */
  readonly spent?: Pick<Usage, 'input' | 'output' | 'cost'>;
  /** The agent no longer remembers the turn. */
  readonly forgotten?: true;
  /** The reason why the turn shows no progress now: a retry, a compaction, servers starting. */
  readonly activity?: string;
  /** True once the user asked to stop and the agent has not ended the turn yet. */
  readonly stopping?: true;
  /** The plan as it stood at the end of the turn. */
  readonly plan?: Plan;
  /** The agent, the connection or the window went away in the middle of it. */
  readonly cutOff?: true;
  /** The files it has changed, found on disk at its end; absent before that comparison. */
  readonly files?: readonly TurnFile[];
  /** Changes made during the turn that are not among its files. */
  readonly unlisted?: UnlistedChanges;
  /** A protocol's own record of the turn, which only the adapter reads, through `Scene.past`. The view does not get it. */
  readonly adapterState?: unknown;
}
/** A file that changed during a turn. */
export interface TurnFile {
  /** Absolute. */
  readonly path: string;
  readonly change: 'created' | 'changed' | 'deleted';
  /** Absolute; where the turn has moved it from. */
  readonly from?: string;
  /** Absolute; the folder of the workspace in which it lies, where that is not the session's own. */
  readonly folder?: string;
  /** Lines of it that the file has now; absent where the file is not text. */
  readonly added?: number;
  readonly removed?: number;
  /** The system's error message, where a text of the file could not be stored. */
  readonly whyUnkept?: string;
  /** Where it leads before and after, where it is a symbolic link then. */
  readonly links?: { readonly before?: string; readonly after?: string };
  /** Its rights before and now, where they have changed: `rw-r--r--`. */
  readonly permissions?: { readonly before: string; readonly after: string };
  /** How its text is written (`UTF-8 CRLF`) before and now, where nothing else of it has changed, or it is not UTF-8. */
  readonly form?: { readonly before: string; readonly after: string };
  /** Why its lines are not counted: it holds a zero byte, is too large, or is not UTF-8. */
  readonly noLines?: 'binary' | 'large' | 'encoding';
  /** How many of its hunks the file has now, once some were decided by themselves, and how many of these are undecided. */
  readonly hunks?: { readonly kept: number; readonly all: number; readonly open?: number | undefined };
  /**
   * `unkept`: too large to be taken back. `reported`: only the agent tells of it, because nothing watches the place of the file. `overtaken`: nothing of
   * it is left to decide, as the agent itself has made the file what it was.
   */
  readonly review: 'open' | 'kept' | 'undone' | 'unkept' | 'reported' | 'overtaken';
  /** What a later prompt has done to the file, of a change that is overtaken. */
  readonly later?: 'deleted' | 'replaced';
  /** The only call that can have made the change; absent where several can. */
  readonly callId?: CallId;
}
export interface UnlistedChanges {
  /** Files that changed at once, too many to be reviewed one by one. */
  readonly files: number;
  /** Ignored files that changed, and ignored folders in which something did, relative to the session's folder. */
  readonly folders: readonly string[];
  /** Files that changed on disk between this turn and the next: by the agent, the user or another program. */
  readonly between?: readonly string[];
}
/** Parts are in the order in which they were first mentioned, and never move. `parent` names the call of the sub-agent they belong to. */
export type Part =
  | { readonly kind: 'text'; readonly id: PartId; readonly parent?: CallId; readonly text: string }
  /** `startedAt`, `endedAt`: when its first and its latest piece came, in milliseconds since the epoch. */
  | {
      readonly kind: 'thought';
      readonly id: PartId;
      readonly parent?: CallId;
      readonly text: string;
      readonly startedAt?: number;
      readonly endedAt?: number;
    }
  | { readonly kind: 'content'; readonly id: PartId; readonly parent?: CallId; readonly content: Content }
  /** A message added to the turn. `pending`: the agent has not accepted it yet; its id is the turn it would begin if it is sent by itself. */
  | {
      readonly kind: 'prompt';
      readonly id: PartId;
      readonly parent?: CallId;
      readonly content: readonly Content[];
      readonly pending?: true;
      /** The client of an agent host that sent it, where it is not this one. */
      readonly sender?: string;
    }
  | { readonly kind: 'notice'; readonly id: PartId; readonly parent?: CallId; readonly notice: Notice }
  | { readonly kind: 'call'; readonly id: CallId; readonly parent?: CallId; readonly call: ToolCall };

export interface ToolCall {
  readonly id: CallId;
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  /** `ended`: its turn is over, and the agent never reported its outcome. */
  readonly status: 'pending' | 'waiting' | 'running' | 'done' | 'ended' | 'failed' | 'rejected' | 'cancelled';
  /** The arguments as they stream in; `input` is there once they are whole. */
  readonly inputText: string;
  readonly input?: unknown;
  readonly output: readonly Output[];
  readonly locations: readonly Location[];
  readonly error?: Fault;
  /** The user can stop it by itself, while the turn goes on. */
  readonly stops?: boolean;
  /** A sub-agent that works on when its turn is over: what it does is still added below it, until it ends. */
  readonly goesOn?: boolean;
  /** It has `ended`, and its changes are on the disk. */
  readonly appliedOnDisk?: true;
  /** The decision to allow or reject it. Absent without an ask. */
  readonly decision?: Decision;
  /** Its request for approval was not answered: the agent took it back, or its turn was stopped or ended. */
  readonly withdrawn?: true;
  /** When it began to run and when it ended, in milliseconds since the epoch. Absent in conversations that were only read. */
  readonly startedAt?: number;
  readonly endedAt?: number;
}
/** How an ask was settled by the user, or for an approval by one of the user's rules. */
/** The subject of a rule, as it was when it decided. */
export interface RuleWords {
  readonly kind: string;
  readonly pattern?: string;
}
export type Decision =
  | {
      readonly kind: 'approval';
      readonly by: 'user' | 'rule';
      readonly effect: Option['effect'];
      /** The agent's name of the option, where the effect alone does not tell. */
      readonly label?: string;
      /** Where the option holds, in the agent's words. */
      readonly reach?: string;
      /** The words that the answer carried. */
      readonly feedback?: string;
      /** The user has allowed their own version of the proposal, and it was written. */
      readonly edited?: true;
      /** The user's rule that decided; of an answer by the user, the one for the session that they made with it. */
      readonly rule?: RuleWords;
    }
  /** Secrets are left out. */
  | { readonly kind: 'answers'; readonly values: readonly { readonly label: string; readonly values: readonly string[] }[] }
  | { readonly kind: 'skipped' };
export type ToolKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'other';
export type Output =
  | { readonly kind: 'content'; readonly content: Content }
  | { readonly kind: 'diff'; readonly diff: Diff }
  | { readonly kind: 'terminal'; readonly terminalId: string }
  | { readonly kind: 'json'; readonly value: unknown };
/**
 * The effect of an edit on one file: the whole sides, or one excerpt of them when `excerpt` is there (several of one path are several hunks).
 * before is null when the file did not exist; after is null when it is deleted. Lines are joined with \n.
 */
export interface Diff {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly excerpt?: Excerpt;
  /** The texts are sentences about the change, not the change. */
  readonly summary?: true;
}
/** Where an excerpt begins on each side, 1-based; absent when the agent did not say. */
export interface Excerpt {
  readonly beforeLine?: number;
  readonly afterLine?: number;
  /** The text is not in the file, or more than once, so the result of the change is unknown. */
  readonly unplaced?: true;
}
/** line is 1-based. */
export interface Location {
  readonly path: string;
  readonly line?: number;
}
export type Content =
  /** `label`: it is the text of an attachment of that name, not the user's words, and views show the name alone. */
  | { readonly type: 'text'; readonly text: string; readonly label?: string }
  | { readonly type: 'image'; readonly mime: string; readonly data: string }
  | { readonly type: 'audio'; readonly mime: string; readonly data: string }
  | { readonly type: 'file'; readonly path: string; readonly text?: string; readonly lines?: readonly [number, number] }
  | { readonly type: 'link'; readonly uri: string; readonly title?: string }
  /** Something this build cannot draw, kept as it came. */
  | { readonly type: 'raw'; readonly label: string; readonly value: unknown };

/** An ask, and whose it is. */
export interface AskRef {
  readonly sessionId: SessionId;
  readonly askId: AskId;
}
/** A request that blocks the agent until a user answers. */
export type Ask = Approval | Question;
export interface Approval {
  readonly kind: 'approval';
  readonly id: AskId;
  /** Absent when it belongs to no turn (a background agent); then it outlives turns. */
  readonly turnId?: TurnId;
  readonly callId?: CallId;
  readonly title: string;
  /** Name of the sub-agent that asks; absent when the agent itself does. */
  readonly asker?: string;
  readonly toolKind?: ToolKind;
  readonly detail: ApprovalDetail;
  /** Further proposals that come with it, shown below: an allowance covers all of them. */
  readonly beside?: readonly ApprovalDetail[];
  /** All places an allowance is about, as the agent names them; absent when it does not say, and then no rule takes it for harmless. */
  readonly paths?: readonly string[];
  /** A place it is about leads out of the session's folders, by a link perhaps. Absent: unknown, or it does not. */
  readonly outside?: true;
  readonly options: readonly Option[];
  /** The user may change the proposed text before allowing it. */
  readonly editable?: true;
  /**
   * The user's versions of its files so far, whole, by the paths of the proposal. An allowance applies them: where it is not `editable`, after the
   * agent has made its edit.
   */
  readonly revised?: readonly Diff[];
  /** What an allowance would change now in files that have changed since the user was asked, in the place of the agent's diffs of them. */
  readonly stale?: readonly Diff[];
  /** Its answer carries no words, whatever the agent offers. */
  readonly wordless?: true;
  /** Parley's own, not the agent's. */
  readonly ours?: true;
  /** When the agent takes a missing answer as a refusal, in milliseconds since the epoch. Absent: it waits. */
  readonly until?: number;
  /** An answer was sent and the agent has not taken it yet. */
  readonly decision?: Decision;
}
export type ApprovalDetail =
  /** `unsure`: the command that runs may differ from these words. */
  | { readonly type: 'command'; readonly command: string; readonly cwd?: string; readonly unsure?: true }
  | { readonly type: 'edit'; readonly diffs: readonly Diff[] }
  | { readonly type: 'mcp'; readonly server: string; readonly tool: string; readonly input?: unknown }
  /** `unknown`: the agent does not say what an allowance would cover, so nothing suggests one. `markdown`: the text is Markdown. */
  | { readonly type: 'text'; readonly text: string; readonly unknown?: true; readonly markdown?: true };
export interface Option {
  readonly id: string;
  readonly label: string;
  /** `other`: its meaning is unknown. It is shown in the agent's words and never chosen for the user. */
  readonly effect: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'other';
  readonly description?: string;
}
export interface Question {
  readonly kind: 'question';
  readonly id: AskId;
  readonly turnId?: TurnId;
  readonly callId?: CallId;
  readonly title: string;
  readonly asker?: string;
  /** Parley's own, not the agent's. */
  readonly ours?: true;
  readonly fields: readonly Field[];
  /** The agent tells a refusal from no answer: the answer to refuse with is the option of this id. */
  readonly refusal?: string;
  /** When the agent takes a missing answer as a refusal, in milliseconds since the epoch. Absent: it waits. */
  readonly until?: number;
  /** An answer was sent and the agent has not taken it yet. */
  readonly decision?: Decision;
}
/** One thing to answer: choices, free text, or both (`free`). Without choices it is free text. */
export interface Field {
  readonly id: string;
  readonly label: string;
  /** Markdown shown above the choices. */
  readonly body?: string;
  readonly choices?: readonly { readonly label: string; readonly description?: string }[];
  readonly many?: true;
  readonly free?: true;
  readonly freeLabel?: string;
  /** The type of the text; plain text when absent. A boolean is answered by 'true' or 'false'; a secret is never shown or kept. */
  readonly kind?: 'text' | 'number' | 'integer' | 'boolean' | 'secret' | 'email' | 'uri' | 'date' | 'date-time';
  readonly required?: true;
  /** The initial value: labels of choices, or one text. */
  readonly initial?: readonly string[];
  /** Bounds of a number, of the length of a text, or of how many are chosen. */
  readonly min?: number;
  readonly max?: number;
}

export interface Plan {
  readonly entries: readonly PlanEntry[];
}
export interface PlanEntry {
  readonly text: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
  readonly priority?: 'high' | 'medium' | 'low';
}
export interface Command {
  readonly name: string;
  readonly description: string;
  readonly aliases: readonly string[];
  /** A hint for the text after the name. */
  readonly hint?: string;
  readonly children?: readonly Command[];
}
export interface ModeChoice {
  readonly current: string;
  readonly all: readonly { readonly id: string; readonly name: string; readonly description?: string }[];
}
/** One setting of a session; ids and values go back to the agent untouched. */
export type SessionOption = {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  /** The subject of the option, for its icon and place. */
  readonly about?: 'model' | 'thought';
} & (
  | { readonly kind: 'choice'; readonly current: string; readonly choices: readonly OptionChoice[] }
  | { readonly kind: 'switch'; readonly on: boolean }
);
export interface OptionChoice {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
  readonly group?: string;
}
export interface Terminal {
  readonly id: string;
  readonly command: string;
  readonly tail: string;
  /** UTF-16 units cut from the front of the output. */
  readonly dropped: number;
  /** `stopped`: the user ended it, whatever exit it reports. */
  readonly exit?: { readonly code: number | null; readonly signal: string | null; readonly stopped?: true };
  /** The user can end its command by itself, while the turn goes on. */
  readonly stops?: boolean;
}
export interface BackgroundTask {
  readonly id: string;
  /** A description in the agent's words. */
  readonly text: string;
}
/** Tokens; used and size are of the context window. */
export interface Usage {
  readonly used?: number;
  readonly size?: number;
  /** How full the context window is, 0 to 1, from an agent that reports only that. */
  readonly share?: number;
  readonly input?: number;
  readonly output?: number;
  /** The cost of the conversation so far. */
  readonly cost?: { readonly amount: number; readonly currency: string };
}
export interface Notice {
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
  readonly next?: readonly Remedy[];
  /** The turn it is about; it goes away with the turn's end. */
  readonly turnId?: TurnId;
  /** The condition that lasts while the notice is shown. No prompt removes the notice; the next one about the same condition replaces it. */
  readonly about?: 'silence' | 'saving' | 'approvals';
}
export interface Fault {
  readonly message: string;
  readonly code?: string;
  readonly next?: readonly Remedy[];
}
/** The actions a user can take on a fault; each is a button. */
export type Remedy = 'retry' | 'continue' | 'restart' | 'showLog' | 'pickAgent' | 'openSettings' | 'configureModel' | 'signIn';
