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

/** The words of the system's error for the user, without its code, call and path; the message of any other. */
export function reasonOf(error: unknown): string {
  const text = messageOf(error);
  return /^E[A-Z0-9]+: ([^,']+)(?:, \w+(?: '.*)?)?$/s.exec(text)?.[1] ?? text;
}

/** The code of an error of the system, such as `EACCES`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** There is no file at the path that was used: it is missing, or what should be a folder on the way is a file. */
export function isMissing(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}
