/** Settles after so many milliseconds, or at once when the signal fires: true when the time passed. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(true), ms);
    const stopped = () => settle(false);
    const settle = (passed: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stopped);
      resolve(passed);
    };
    signal.addEventListener('abort', stopped, { once: true });
  });
}

/** Milliseconds; tests use their own. */
export interface Timing {
  /** How long a call of ours waits for an approval of the server's before it begins. */
  readonly grace: number;
  /** Silence after which a response that stays open is taken to wait for our result. */
  readonly quiet: number;
  /** Silence after which a refused result is worth a word, where it is not known that the server waits for it. */
  readonly doubt: number;
  /** Between tries to hand in a result; the last one repeats. */
  readonly deliveries: readonly number[];
  /** Between tries to resume. */
  readonly resumes: readonly number[];
  /** For what is said to the server when we stop or go. */
  readonly farewell: number;
}
export const TIMING: Timing = {
  grace: 50,
  quiet: 1_500,
  doubt: 5_000,
  deliveries: [50, 100, 200, 400, 800, 2_000],
  resumes: [500, 1_000, 2_000],
  farewell: 1_000,
};
