import { AnsweredElsewhere, type ApprovalRequest, type Frontend, type PermissionAnswer } from './frontend.ts';
import { Rejected, WrittenByClient } from './tools/tool.ts';

/** The action of an edit that is asked about each time: no answer for the session covers a file that runs by itself. */
export const GUARDED_EDIT = 'edit file that runs by itself';

interface Waiting {
  readonly grants: readonly string[];
  readonly withdraw: AbortController;
}

/** Approvals for the session, by action and for commands by their very words, and pending requests. One per conversation, shared with its sub-agents. */
export class Permissions {
  readonly #granted = new Set<string>();
  readonly #waiting = new Set<Waiting>();
  readonly allowsAll: boolean;

  constructor(allowsAll = false) {
    this.allowsAll = allowsAll;
  }

  get granted(): readonly string[] {
    return [...this.#granted];
  }

  /** Returns when it is allowed, with the text the user put in the place of the proposed one; throws Rejected, WrittenByClient, or what the signal was aborted with. */
  async ask(frontend: Frontend, request: ApprovalRequest, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    const grants = [request.action, grantOf(request)];
    if (this.allowsAll || grants.some((grant) => this.#granted.has(grant))) return undefined;
    const waiting: Waiting = { grants, withdraw: new AbortController() };
    this.#waiting.add(waiting);
    let answer: PermissionAnswer;
    try {
      answer = await frontend.approve(request, AbortSignal.any([signal, waiting.withdraw.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!(waiting.withdraw.signal.reason instanceof AnsweredElsewhere)) throw error;
      answer = waiting.withdraw.signal.reason.answer;
    } finally {
      this.#waiting.delete(waiting);
    }
    if (!answer.allow) throw answer.written ? new WrittenByClient() : new Rejected(answer.feedback);
    if (answer.forSession && request.action !== GUARDED_EDIT)
      this.#allowForSession(answer.forSession === 'action' ? request.action : grantOf(request));
    return answer.edited;
  }

  #allowForSession(grant: string): void {
    this.#granted.add(grant);
    for (const other of this.#waiting) {
      if (other.grants.includes(grant)) other.withdraw.abort(new AnsweredElsewhere({ allow: true, forSession: false }));
    }
  }
}

/** The extent of an answer for the session: of commands the same one again, as one says nothing of another. */
function grantOf({ action, shown }: ApprovalRequest): string {
  const command = shown.find((one) => one.type === 'command');
  return command?.type === 'command' ? `${action}: ${command.command}` : action;
}
