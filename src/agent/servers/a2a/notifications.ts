import type { Task } from './tasks.ts';
import { type PushConfig, type StatusUpdate, updateOn, type Version, wrappedTaskOn } from './wire.ts';

/** Milliseconds a place has to take one. */
const WITHIN = 5000;

interface Place {
  readonly config: PushConfig;
  readonly version: Version;
}

/** Sends task updates to the addresses that clients named, in order. Ignores addresses that do not answer. */
export class Notifications {
  readonly #places = new Map<string, Map<string, Place>>();
  readonly #sending = new Map<string, Promise<void>>();

  /** The first place of a task begins to listen. */
  set(task: Task, config: PushConfig, version: Version): void {
    const known = this.#places.get(task.id);
    if (known) return void known.set(config.id, { config, version });
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

  #tell(task: Task, update: StatusUpdate | undefined): void {
    const places = [...(this.#places.get(task.id)?.values() ?? [])];
    if (places.length === 0) return;
    const bodies = places.map((place) => ({ place, body: JSON.stringify(bodyOf(place.version, task, update)) }));
    const before = this.#sending.get(task.id) ?? Promise.resolve();
    const sent = before.then(async () => void (await Promise.all(bodies.map(({ place, body }) => post(place, body)))));
    this.#sending.set(task.id, sent);
    void sent.then(() => {
      if (this.#sending.get(task.id) === sent) this.#sending.delete(task.id);
    });
  }
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
