import type * as z from 'zod/mini';
import type { Log } from '../../../base/log.ts';
import type { AgentMessage } from '../talk.ts';

/** A handler that only sees lines of the right shape; others are logged and dropped. */
export function rowFor<T extends z.ZodMiniType>(log: Log, shape: T, handle: (line: z.infer<T>) => void): (message: AgentMessage) => void {
  return (message) => {
    const parsed = shape.safeParse(message);
    if (parsed.success) return handle(parsed.data);
    const issue = parsed.error.issues[0];
    log.warn(`A ${String(message.type)} line was dropped: ${issue?.path.join('.')} ${issue?.message}`);
  };
}
