import type { Task } from './tasks.ts';
import { type PushConfig, type StatusUpdate, updateOn, type Version, wrappedTaskOn } from './wire.ts';

/** Milliseconds a place has to take one. */
const WITHIN = 5000;

/** Places of one task; the oldest is dropped. */
const MOST_PLACES = 10;
/** Characters of updates of one task that wait to be sent; the oldest are dropped. */
const MOST_WAITING = 4 * 1024 * 1024;

interface Place {
  readonly config: PushConfig;
  readonly version: Version;
}

/** Sends task updates to the addresses that clients named, in order. Ignores addresses that do not answer. */
export class Notifications {
  readonly #places = new Map<string, Map<string, Place>>();
  /** Of tasks whose updates are being sent: those that wait. */
  readonly #waiting = new Map<string, Update[]>();

  /** The first place of a task begins to listen. */
  set(task: Task, config: PushConfig, version: Version): void {
    const known = this.#places.get(task.id);
    if (known) {
      known.delete(config.id);
      known.set(config.id, { config, version });
      const [oldest] = known.keys();
      if (known.size > MOST_PLACES && oldest !== undefined) known.delete(oldest);
      return;
    }
    this.#places.set(task.id, new Map([[config.id, { config, version }]]));
    task.observe((update) => this.#tell(task, update));
  }
  /** Tells of a task that was just made. */
  announce(task: Task): void {
    this.#tell(task, undefined);
  }
  list(taskId: string): readonly PushConfig[] {
    return [...(this.#places.get(taskId)?.values() ?? [])].map(({ config }) => config);
  }
  delete(taskId: string, id: string): void {
    this.#places.get(taskId)?.delete(id);
  }

  forget(taskId: string): void {
    this.#places.delete(taskId);
  }

  #tell(task: Task, update: StatusUpdate | undefined): void {
    const places = [...(this.#places.get(task.id)?.values() ?? [])];
    if (places.length === 0) return;
    const bodies = places.map((place) => ({ place, body: JSON.stringify(bodyOf(place.version, task, update)) }));
    const one: Update = { bodies, length: bodies.reduce((sum, { body }) => sum + body.length, 0) };
    const waiting = this.#waiting.get(task.id);
    if (waiting) return wait(waiting, one);
    this.#waiting.set(task.id, [one]);
    void this.#send(task.id);
  }

  async #send(taskId: string): Promise<void> {
    const waiting = this.#waiting.get(taskId) ?? [];
    for (let next = waiting.shift(); next; next = waiting.shift())
      await Promise.all(next.bodies.map(({ place, body }) => post(place, body)));
    this.#waiting.delete(taskId);
  }
}

/** One update, as each place is told it. */
interface Update {
  readonly bodies: readonly { readonly place: Place; readonly body: string }[];
  /** UTF-16 units of all bodies. */
  readonly length: number;
}

function wait(waiting: Update[], one: Update): void {
  waiting.push(one);
  let length = waiting.reduce((sum, update) => sum + update.length, 0);
  while (length > MOST_WAITING && waiting.length > 1) length -= waiting.shift()?.length ?? 0;
}

/** 0.3 sends the task as it stands for whatever happens, 1.0 what happened. */
function bodyOf(version: Version, task: Task, update: StatusUpdate | undefined): object {
  return version === '0.3' || !update ? wrappedTaskOn(version, task.record(0)) : updateOn(version, update);
}

async function post({ config, version }: Place, body: string): Promise<void> {
  const { url, token, authentication } = config;
  const headers = {
    'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json',
    ...(version === '1.0' && authentication
      ? { authorization: `${authentication.scheme} ${authentication.credentials}` }
      : token === undefined
        ? {}
        : { 'x-a2a-notification-token': token }),
  };
  // A place on this machine must not lead elsewhere.
  await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal: AbortSignal.timeout(WITHIN) }).then(
    (answer) => answer.body?.cancel(),
    () => {},
  );
}
