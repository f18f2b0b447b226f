/** Milliseconds on the clock, and of the processor's time in this process: on a busy machine the first is mostly waiting for others. */
export interface Took {
  readonly clock: number;
  readonly processor: number;
}

/** Runs until it is asked. */
export function stopwatch(): () => Took {
  const began = performance.now();
  const used = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(used);
    return { clock: performance.now() - began, processor: (user + system) / 1000 };
  };
}

export const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
