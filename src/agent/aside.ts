import { randomUUID } from 'node:crypto';
import type { Frontend } from './frontend.ts';
import type { History } from './history.ts';
import { isModelError, type Model } from './models/model.ts';
import type { Workspace } from './workspace/paths.ts';

export interface AsideContext {
  readonly frontend: Frontend;
  readonly model: Model;
  readonly history: History;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

const ROLE = 'Answer this side question briefly from what you know of the conversation. Do not go on with the work; there are no tools.';

/** A side question: answered from the conversation and not kept in it. A failing model is told as its answer; throws only what the signal says. */
export async function askAside(scene: AsideContext, question: string): Promise<void> {
  const { frontend, model, history, workspace, signal } = scene;
  const id = randomUUID();
  frontend.emit({ type: 'aside.asked', id, question });
  let text = '';
  try {
    const messages = [...history.messages, { role: 'user', parts: [{ type: 'text', text: question }] } as const];
    for await (const piece of model.answer({ cwd: workspace.cwd, system: ROLE, history: messages, tools: [] }, signal)) {
      if (piece.type === 'text') text += piece.text;
    }
    signal.throwIfAborted();
    frontend.emit({ type: 'aside.answered', id, text });
  } catch (error) {
    signal.throwIfAborted();
    if (!isModelError(error)) throw error;
    frontend.emit({ type: 'aside.answered', id, text: '', error: error.message });
  }
}
