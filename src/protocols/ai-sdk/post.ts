/** One chat request: why it is made, and what its answer settles. */
export interface Post {
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly messageId?: string;
  /** Ids of calls and approvals whose outcome it tells; each is told once. */
  readonly tells?: readonly string[];
  /** Extra top-level fields. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The assistant message goes on; otherwise a new one begins. */
  readonly continues: boolean;
}
