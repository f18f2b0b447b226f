import type { Disposable } from '../../base/lifetime.ts';
import type { Scene } from '../adapter.ts';
import type { Agent } from './agent.ts';

/** Our editor tools as the tool server that is named to the agent (acp.md §12). */
export interface ToolServer extends Disposable {
  readonly servers: readonly object[];
}

export async function toolServer(_scene: Scene, _agent: Agent): Promise<ToolServer | undefined> {
  return undefined;
}
