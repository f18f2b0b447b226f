import { t } from '../../base/l10n.ts';
import { refusal } from './faults.ts';
import type { Activity } from './schema.ts';

/** How a turn ended. */
export interface PromptEnd {
  readonly stopReason: string;
  readonly usage?: Activity['usage'];
}

/**
 * Where a prompt is answered at once, an update tells the end of its turn: the agent is idle after it has worked. What it said of earlier work,
 * or says again, is no end (acp.md §14).
 */
export class PromptEnds {
  #waiting: { resolve(end: PromptEnd): void; reject(error: Error): void } | undefined;
  #taken = false;
  #worked = false;
  #idle: Activity | undefined;

  /** Sends the prompt; settles when its turn has ended, rejects when it was refused, failed, or nobody is there any more. */
  async run(send: () => Promise<unknown>, closed: Promise<unknown> | undefined): Promise<PromptEnd> {
    this.#taken = false;
    this.#worked = false;
    this.#idle = undefined;
    const end = new Promise<PromptEnd>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      closed?.then(() => reject(new Error(t('The agent is gone.'))));
    });
    // Looked at only when the prompt has been taken.
    end.catch(() => undefined);
    await send();
    this.#taken = true;
    // It may have ended the turn before it says that it took the prompt.
    if (this.#idle) this.#end(this.#idle);
    return end;
  }

  heard(activity: Activity): void {
    const isIdle = activity.state === 'idle';
    if (activity.state === 'running' || activity.state === 'requires_action') {
      this.#worked = true;
      this.#idle = undefined;
    } else if (isIdle && this.#worked) {
      if (this.#taken) this.#end(activity);
      else this.#idle = activity;
    }
  }

  #end({ stopReason, usage, error }: Activity): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (stopReason === 'error') waiting?.reject(refusal(error?.code ?? 0, error?.message ?? '', error?.data));
    else waiting?.resolve({ stopReason: stopReason ?? 'end_turn', ...(usage ? { usage } : {}) });
  }
}
