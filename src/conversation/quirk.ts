/** A known deviation of agents from their protocol: a row of the table in `quirks.ts` of the protocol. Some tables add columns of their own. */
export interface Quirk {
  readonly id: string;
  /** The agents that were seen to do it. */
  readonly peers: string;
  /** What they do, and how it is met where that is not plain. */
  readonly what: string;
  /** The title of the transcript that fails without it. */
  readonly transcript: string;
}
