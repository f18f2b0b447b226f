import { leaveTask, type Memory } from './memory.ts';
import { textPart, toMessage } from './messages.ts';
import { RpcError } from './rpc.ts';
import { isTerminal } from './turnEnd.ts';
import type { Fields } from './words.ts';

interface PromptScene {
  readonly memory: Memory;
  /** Sends a message as a stream of its own; settles with what went wrong. */
  readonly open: (params: Fields) => Promise<unknown>;
  /** Nothing has been heard in this turn. */
  readonly unheard: () => boolean;
  readonly over: () => boolean;
  /** Tells the user. */
  readonly tell: (text: string) => void;
}

/** Sends a prompt, once more where the agent wants another task or speaks another version for it. Settles with what went wrong in the end. */
export async function sendPrompt(deps: PromptScene, parts: readonly Fields[]): Promise<unknown> {
  const { memory, open, unheard, over, tell } = deps;
  const before = memory.task;
  const error = await inEitherVersion(deps, parts);
  // Some agents go on with a completed task, others want a new one (a2a.md §4).
  const refused = error instanceof RpcError && before !== undefined && unheard();
  if (!refused || over()) return error;
  if (error.code !== -32001 && isTerminal(error)) {
    memory.task = undefined;
    memory.settled = false;
    return open(toMessage(memory, parts, before.id));
  }
  if (error.code !== -32001) return error;
  tell(leaveTask(memory));
  const past = memory.tellPast ? [textPart(memory, memory.past.text())] : [];
  memory.tellPast = false;
  return open(toMessage(memory, [...past, ...parts]));
}

/** One message; to an agent that does not know the method, once more in the other version of A2A. */
async function inEitherVersion({ memory, open, unheard, over }: PromptScene, parts: readonly Fields[]): Promise<unknown> {
  const { settled } = memory;
  const error = await open(toMessage(memory, parts));
  const unknown = error instanceof RpcError && error.code === -32601 && unheard();
  if (!unknown || over() || !(await memory.changeVersion())) return error;
  memory.settled = settled;
  // What the user said is spelled otherwise there.
  const spelled = parts.map((part) => (typeof part.text === 'string' ? textPart(memory, part.text) : part));
  return open(toMessage(memory, spelled));
}
