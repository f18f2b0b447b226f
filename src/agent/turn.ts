import { type CallContext, runCalls } from './calls.ts';
import { compactWhenNear } from './compaction.ts';
import type { Frontend } from './frontend.ts';
import type { History } from './history.ts';
import type { Model, ToolOffer, UserPart } from './models/model.ts';
import { takeStep } from './step.ts';
import type { News } from './task.ts';

/** What one turn works with. A sub-agent's turn has its own frontend and history and shares the rest. */
export interface TurnContext extends CallContext {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly history: History;
  readonly system: () => Promise<string>;
  readonly offers: () => readonly ToolOffer[];
  readonly maxSteps: number;
  readonly maxAttempts: number;
  /** What the user said while the turn was running, oldest first; taking empties it. */
  readonly takeSteers: () => readonly (readonly UserPart[])[];
  /** What has ended in the background; taking empties it. */
  readonly takeNews: () => readonly News[];
  /** Asked when the model is done; a text makes it go on with that as its input. */
  readonly mayStop: () => Promise<string | undefined>;
}

export type TurnEnd = { readonly status: 'finished' } | { readonly status: 'max_steps_reached'; readonly steps: number };

/**
 * model -> calls -> approvals -> results -> model, until the model has nothing more to do. Throws ModelError, or what the signal was aborted
 * with; either way every call in the history has a result, so the next turn can go on from there.
 */
export async function runTurn(scene: TurnContext, input: readonly UserPart[]): Promise<TurnEnd> {
  scene.history.add({ role: 'user', parts: input });
  for (let n = 1; n <= scene.maxSteps; n += 1) {
    await tellNews(scene);
    await compactWhenNear(scene);
    scene.signal.throwIfAborted();
    const calls = await takeStep(scene, n);
    let stopped = false;
    if (calls.length > 0) stopped = (await runCalls(scene, calls)).rejected && !scene.model.offline;
    scene.signal.throwIfAborted();
    const steered = takeUpSteers(scene);
    if (stopped && !steered) return { status: 'finished' };
    if (calls.length === 0 && !steered) {
      const goOn = await scene.mayStop();
      if (goOn !== undefined) scene.history.add({ role: 'user', parts: [{ type: 'text', text: goOn }] });
      else if (!takeUpSteers(scene)) return { status: 'finished' };
    }
  }
  return { status: 'max_steps_reached', steps: scene.maxSteps };
}

function takeUpSteers(scene: TurnContext): boolean {
  const steers = scene.takeSteers();
  for (const input of steers) {
    scene.history.add({ role: 'user', parts: input });
    scene.frontend.emit({ type: 'steered', input });
  }
  return steers.length > 0;
}

/** What ended in the background is told to the client, its hooks and the model. The guide has no use for it: its requests are all its own. */
async function tellNews(scene: TurnContext): Promise<void> {
  for (const news of scene.takeNews()) {
    const { task, message } = news;
    await scene.frontend.hook('Notification', `task.${task.status}`, { task_id: task.id, message }, scene.signal);
    scene.frontend.emit({ type: 'news', news });
    if (scene.model.offline) continue;
    const text = `<notification>The background task ${task.id} (${task.description}) is ${task.status}. ${message} Use TaskOutput to see what it put out.</notification>`;
    scene.history.add({ role: 'user', parts: [{ type: 'text', text }] });
  }
}
