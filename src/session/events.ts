import type {
  AgentInfo,
  Ask,
  AskId,
  BackgroundTask,
  CallId,
  Command,
  Content,
  Decision,
  Diff,
  Fault,
  ModeChoice,
  Notice,
  Offers,
  Part,
  PartId,
  Plan,
  QueuedPrompt,
  Remedy,
  SessionOption,
  Terminal,
  ToolCall,
  TurnFile,
  TurnId,
  UnlistedChanges,
  Usage,
} from './model.ts';

/** Everything that may happen to a session. Only adapters and live sessions make these; only the reducer reads them. */
export type SessionEvent =
  | { readonly type: 'link.opening'; readonly note?: string; readonly stops?: true; readonly next?: readonly Remedy[] }
  | { readonly type: 'link.ready'; readonly agent: AgentInfo; readonly offers: Offers }
  | {
      readonly type: 'link.closed';
      readonly reason: string;
      readonly detail?: string;
      readonly next?: readonly Remedy[];
      /** The user restarts the agent: running turns end as stopped. */
      readonly restarts?: true;
      readonly at: number;
    }
  /** An earlier conversation is asked for; `link.ready` is its end. */
  | { readonly type: 'history.started' }
  | { readonly type: 'turn.started'; readonly turnId: TurnId; readonly at: number; readonly prompt: readonly Content[] }
  | {
      readonly type: 'turn.ended';
      readonly turnId: TurnId;
      readonly at: number;
      readonly status: 'done' | 'cancelled' | 'failed';
      /** Calls that ended without a report of how. All other unfinished calls become cancelled. */
      readonly unreported?: readonly CallId[];
      readonly stop?: string;
      readonly error?: Fault;
      /** The agent no longer remembers the turn. */
      readonly forgotten?: true;
      /** The conversation starts over: the view drops everything so far, this turn included. */
      readonly clears?: true;
    }
  /** Removes that turn and all after it. */
  | { readonly type: 'turns.removed'; readonly from: TurnId }
  | { readonly type: 'turn.sender'; readonly turnId: TurnId; readonly partId?: PartId; readonly sender: string }
  /** The turn tries a failed one again, which goes on for the clients of an agent host. */
  | { readonly type: 'turn.retries'; readonly turnId: TurnId; readonly failed: TurnId }
  /** When a turn of a copied conversation was and how it ended: the agent's record of it says neither. */
  | {
      readonly type: 'turn.dated';
      readonly turnId: TurnId;
      readonly startedAt: number;
      readonly endedAt: number;
      readonly status: 'done' | 'cancelled' | 'failed';
      readonly error?: Fault;
    }
  | { readonly type: 'turn.activity'; readonly turnId: TurnId; readonly text: string | null }
  | { readonly type: 'turn.stopping'; readonly turnId: TurnId }
  | { readonly type: 'turn.adapterState'; readonly turnId: TurnId; readonly value: unknown }
  /** The turn's changes found on the disk; replaces earlier findings. */
  | { readonly type: 'turn.files'; readonly turnId: TurnId; readonly files: readonly TurnFile[]; readonly unlisted?: UnlistedChanges }
  /** `at` here and below is set by the live session, not by adapters: milliseconds since the epoch. */
  | { readonly type: 'part.added'; readonly turnId: TurnId; readonly part: Part; readonly at?: number }
  | { readonly type: 'parts.removed'; readonly turnId: TurnId; readonly partIds: readonly PartId[] }
  | {
      readonly type: 'text.delta';
      readonly turnId: TurnId;
      readonly kind: 'text' | 'thought';
      readonly partId: PartId;
      readonly parent?: CallId;
      readonly text: string;
      readonly at?: number;
    }
  /** Replaces the whole text of an existing part. */
  | { readonly type: 'text.set'; readonly turnId: TurnId; readonly partId: PartId; readonly text: string }
  | { readonly type: 'call.changed'; readonly turnId: TurnId; readonly callId: CallId; readonly change: CallChange; readonly at?: number }
  /** The agent never reported the end of this call; its changes were found on the disk after its turn. */
  | { readonly type: 'call.appliedOnDisk'; readonly turnId: TurnId; readonly callId: CallId }
  /** The user's version of the call's proposal was written after the agent's own edit; `diffs` are those they agreed to. */
  | { readonly type: 'call.amended'; readonly turnId: TurnId; readonly callId: CallId; readonly diffs: readonly Diff[] }
  | { readonly type: 'call.inputDelta'; readonly turnId: TurnId; readonly callId: CallId; readonly text: string }
  | { readonly type: 'ask.opened'; readonly ask: Ask }
  /** The open ask of the same id and kind, with details the agent added later. It keeps its place; surfaces update it there. */
  | { readonly type: 'ask.changed'; readonly ask: Ask }
  /** An answer is on its way to the agent. Once the ask closes as answered, its call keeps the decision. */
  | { readonly type: 'ask.decided'; readonly askId: AskId; readonly decision: Decision }
  /** The user changed the proposal, or its files (`stale`; absent: as before); without diffs the original proposal applies again. */
  | { readonly type: 'ask.revised'; readonly askId: AskId; readonly diffs: readonly Diff[]; readonly stale?: readonly Diff[] }
  | { readonly type: 'ask.closed'; readonly askId: AskId; readonly how: 'answered' | 'cancelled' | 'withdrawn' }
  | { readonly type: 'corrections.set'; readonly texts: readonly string[] }
  | { readonly type: 'queue.set'; readonly queue: readonly QueuedPrompt[] }
  | { readonly type: 'plan.set'; readonly plan: Plan | null }
  | { readonly type: 'commands.set'; readonly commands: readonly Command[] }
  | { readonly type: 'mode.set'; readonly mode: ModeChoice | null }
  | { readonly type: 'options.set'; readonly options: readonly SessionOption[] }
  /** `reset`: drops the earlier output first. */
  | { readonly type: 'terminal.changed'; readonly terminal: TerminalChange; readonly delta?: string; readonly reset?: true }
  | { readonly type: 'background.set'; readonly tasks: readonly BackgroundTask[] }
  | { readonly type: 'usage.set'; readonly usage: Usage }
  /** `copyOf`: the title of the conversation that this one is a copy of. `chosen`: by the user. */
  | { readonly type: 'title.set'; readonly title: string; readonly copyOf?: string; readonly chosen?: true }
  | { readonly type: 'resume.set'; readonly key: string }
  | { readonly type: 'notice'; readonly notice: Notice }
  /** The user has sent a prompt that is being prepared, and has read the notices above it. Those about something that goes on stay. */
  | { readonly type: 'notices.removed' };

/** A field that is absent is unchanged; a list that is present replaces. */
export type CallChange = Partial<Omit<ToolCall, 'id' | 'appliedOnDisk' | 'decision' | 'startedAt' | 'endedAt'>>;
export type TerminalChange = Pick<Terminal, 'id'> & Partial<Omit<Terminal, 'id' | 'tail' | 'dropped'>>;
