import { HttpFailure } from '../../transport/httpFailure.ts';
import { RpcError, StatusError, type Way } from './rpc.ts';

/** One decision on its way. */
interface Post {
  readonly cut: AbortController;
  /** Why it has not left, for a user; undefined when it has. */
  held: string | undefined;
  /** When it left, as long as nothing was heard since. */
  sentAt: number | undefined;
  answered: boolean;
  ended: boolean;
  /** It left, and nobody knows whether it was read. */
  doubtful: boolean;
}

/** The newest decision about each call, by the agent's id of the call: one of them at most can still go out. */
export class Posts {
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #all = new Map<string, Post>();

  /** `changed`: what is held back is another. */
  constructor(now: () => number, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
  }

  /** Why decisions have not left, for a user; undefined when all have. */
  get held(): string | undefined {
    return [...this.#all.values()].find((post) => post.held !== undefined)?.held;
  }

  /** When the first one left of those that nothing was heard since. */
  get sentAt(): number | undefined {
    const all = [...this.#all.values()].flatMap(({ sentAt }) => sentAt ?? []);
    return all.length > 0 ? Math.min(...all) : undefined;
  }

  isHeld(callId: string): boolean {
    return this.#all.get(callId)?.held !== undefined;
  }

  /** One of them may have been read although nothing says so. */
  someDoubtful(callIds: readonly string[]): boolean {
    return callIds.some((id) => this.#all.get(id)?.doubtful);
  }

  /** Something was heard, or the time begins anew. */
  since(at: number | undefined): void {
    for (const post of this.#all.values()) if (post.sentAt !== undefined) post.sentAt = at;
  }

  /** A new one about that call; an older one does not go out any more. */
  begin(callId: string) {
    this.recall([callId]);
    const post: Post = { cut: new AbortController(), held: undefined, sentAt: undefined, answered: false, ended: false, doubtful: false };
    this.#all.set(callId, post);
    return {
      signal: post.cut.signal,
      way: (way: Way) => {
        const { held } = post;
        post.held = typeof way === 'object' ? way.waits : undefined;
        post.sentAt = way === 'sent' ? this.#now() : way === 'answered' ? post.sentAt : undefined;
        post.answered = way === 'answered';
        post.doubtful = way === 'answered';
        // Nothing leaves before what runs now has ended; what it takes back is never sent.
        if (way === 'sent')
          process.nextTick(() => {
            if (!post.ended) post.doubtful = !post.cut.signal.aborted;
          });
        if (held !== post.held) this.#changed();
      },
      arrived: () => {
        post.doubtful = false;
      },
      /** True when it was the newest, and was not called back. */
      ended: (error: unknown): boolean => {
        const { held } = post;
        post.held = undefined;
        post.sentAt = undefined;
        post.ended = true;
        if (isKnownUnread(error)) post.doubtful = false;
        if (held !== undefined) this.#changed();
        return this.#all.get(callId) === post && !post.cut.signal.aborted;
      },
    };
  }

  /**
   * What was not answered yet is let go of, wherever it stands. An answer that has begun is still heard: the agent has the decision, and its
   * answer says what became of it.
   */
  recall(callIds: readonly string[] = [...this.#all.keys()]): void {
    for (const id of callIds) {
      const post = this.#all.get(id);
      if (post && !post.answered) post.cut.abort();
    }
  }
}

/** It was refused, or no server was reached. */
function isKnownUnread(error: unknown): boolean {
  if (error instanceof HttpFailure) return ['address', 'header', 'refused', 'unknownHost', 'certificate', 'redirect'].includes(error.kind);
  return error instanceof RpcError || error instanceof StatusError;
}
