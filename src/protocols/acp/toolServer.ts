import type { Disposable } from '../../base/lifetime.ts';
import { messageOf } from '../../base/log.ts';
import type { AdapterContext } from '../adapter.ts';
import { offerTools } from '../offeredTools.ts';
import type { Agent } from './agent.ts';
import type { Pair } from './dialect.ts';

/** Our editor tools as the tool servers that are named to the agent (acp.md §12). */
export interface ToolServer extends Disposable {
  readonly servers: readonly object[];
}

/** undefined when there are no tools, or the agent takes them in no way we have. Never rejects: an agent works without our tools, too. */
export async function toolServer(scene: AdapterContext, agent: Agent): Promise<ToolServer | undefined> {
  const { httpTools, processTools } = agent.can;
  if (!httpTools && (!processTools || agent.quirks.noProcessTools)) return undefined;
  try {
    const lent = await offerTools(scene.ports.tools, scene);
    if (!lent) return undefined;
    const { name, http, process } = lent;
    const server = agent.dialect.server(
      httpTools
        ? { how: 'http', name, url: http.url, headers: pairs(http.headers) }
        : { how: 'process', name, command: process.command, args: process.args, env: pairs(process.env) },
    );
    return { servers: [server], dispose: () => lent.dispose() };
  } catch (error) {
    scene.log.error(`The agent gets no editor tools: ${messageOf(error)}`, error);
    return undefined;
  }
}

function pairs(record: Readonly<Record<string, string>>): readonly Pair[] {
  return Object.entries(record).map(([name, value]) => ({ name, value }));
}
