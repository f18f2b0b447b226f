export type TaskStatus = 'running' | 'awaiting_approval' | 'completed' | 'failed' | 'killed';
/** A background task of a conversation: a command or a sub-agent. */
export interface Task {
  readonly id: string;
  readonly kind: 'bash' | 'agent';
  /** One line, for the user. */
  readonly description: string;
  readonly status: TaskStatus;
}
/** A task has ended. `message` is one line that says how. */
export interface News {
  readonly id: string;
  readonly task: Task;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
