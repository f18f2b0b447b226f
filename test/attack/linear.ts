import assert from 'node:assert/strict';
import { noteStop, processorTime } from './stops.ts';

/** Microseconds of one run: of the processor, and as a stop of the event loop. */
interface Cost {
  readonly micros: number;
  /**
   * By the clock or in processor time of this thread, whichever is less: the clock counts what else runs on the machine, and processor time of the
   * process the threads beside this one, which compile and collect garbage.
   */
  readonly stop: number;
}

/** The least of several runs: what else runs on the machine does not count. */
function cost(run: () => unknown, times: number): Cost {
  const thread = processorTime();
  let [micros, stop] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let time = 0; time < times; time++) {
    const before = process.cpuUsage();
    const own = thread.now();
    const began = performance.now();
    run();
    const clock = Math.min(performance.now() - began, thread.now() - own) * 1000;
    const { user, system } = process.cpuUsage(before);
    micros = Math.min(micros, user + system);
    stop = Math.min(stop, clock);
  }
  thread.close();
  return { micros, stop };
}

/** Fails when one run takes more than a second of the processor, for what grows so fast that two sizes cannot be compared. */
export function assertBrief(name: string, run: () => unknown): void {
  const { micros, stop } = cost(run, 1);
  noteStop({ ms: stop / 1000, what: name });
  assert.ok(micros < 1_000_000, `${name} took ${(micros / 1e6).toFixed(1)} s`);
}

/** Below this many microseconds the clock says nothing about growth: that of Windows ticks 64 times a second. */
const NOISE = process.platform === 'win32' ? 20_000 : 2000;
const FACTOR = 8;

/**
 * Fails when the work grows faster than the input: eight times the input of a quadratic function costs 64 times, of a linear one 8. A run that
 * stays within the noise of the clock at both sizes is too cheap to matter. `isOneStop` is false for what an agent cannot bring about in one turn
 * of the event loop.
 */
export function assertLinear(name: string, size: number, prepare: (size: number) => () => unknown, isOneStop = true): void {
  const small = prepare(size);
  const large = prepare(FACTOR * size);
  small();
  const one = Math.max(cost(small, 3).micros, NOISE);
  let { micros: many, stop } = cost(large, 3);
  // Memory that no longer fits the caches of the processor costs twice as much: a bound of four times the factor is still half of a quadratic one.
  // Measured again while it looks as if it grew faster: something else may have been in the way.
  for (let again = 0; again < 3 && many > 4 * FACTOR * one; again += 1) {
    const next = cost(large, 2);
    many = Math.min(many, next.micros);
    stop = Math.min(stop, next.stop);
  }
  if (isOneStop) noteStop({ ms: stop / 1000, what: name });
  assert.ok(many <= 4 * FACTOR * one, `${name}: ${FACTOR} times the input took ${(many / one).toFixed(0)} times as long`);
}

/**
 * Fails when a text costs more than so many times what prose of its length costs: work that is bounded for each character, by thousands of others,
 * grows in proportion, too.
 */
export function assertLikeProse(name: string, texts: Iterable<string>, read: (text: string) => unknown, times: number): void {
  const prose = (size: number) => 'The quick brown fox jumps over it. '.repeat(Math.ceil(size / 35));
  read(prose(LONG));
  const usual = Math.max(cost(() => read(prose(LONG)), 3).micros, NOISE);
  for (const text of texts) {
    const whole = text.repeat(Math.ceil(LONG / text.length));
    const { micros } = cost(() => read(whole), 1);
    // Once more, in case something else was in the way.
    const least = micros > times * usual ? Math.min(micros, cost(() => read(whole), 2).micros) : micros;
    assert.ok(
      least <= times * usual,
      `${name}: ${JSON.stringify(text)} again and again costs ${(least / usual).toFixed(0)} times what prose does`,
    );
  }
}
/** Characters of such a text. */
const LONG = 100_000;
