/** The log of all modules. The editor provides the real one; keys and headers never enter it. */
export interface Log {
  trace(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string, cause?: unknown): void;
}

const nothing = (): void => {};
export const silentLog: Log = { trace: nothing, info: nothing, warn: nothing, error: nothing };

/** The message of anything that was thrown. */
export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
