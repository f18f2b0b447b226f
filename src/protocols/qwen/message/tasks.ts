import type { SystemLine } from './schema.ts';
import type { KnownCall } from './transcript.ts';

const WAITED_FOR: ReadonlySet<string> = new Set(['agent', 'shell']);

/** What is said of tasks: a sub-agent or a command that the agent waits for is no task in the background, and has a card that says all of it. */
export class Tasks {
  readonly #waitedFor = new Map<string, KnownCall>();

  /** False for a line that says nothing which the card of its call does not say. */
  tells({ subtype, task_id: task }: SystemLine, call: KnownCall | undefined): boolean {
    if (subtype === 'task_started') {
      if (!call || !WAITED_FOR.has(call.use.work) || call.use.input.run_in_background === true) return true;
      if (task) this.#waitedFor.set(task, call);
      return false;
    }
    if (subtype !== 'task_notification' || !task) return true;
    const waited = this.#waitedFor.get(task);
    this.#waitedFor.delete(task);
    // Its call came to an end before it did: it was in the background after all.
    return !waited || (waited.use.input.run_in_background !== false && waited.status === 'done');
  }
}
