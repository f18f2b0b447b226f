import { t } from '../../../base/l10n.ts';
import type { SessionEvent } from '../../../session/events.ts';
import type { Turns } from '../turns.ts';

/** Milliseconds (qwen.md §3.10, §6). */
const LOOK_EVERY = 5_000;
const SAY_AFTER = 15_000;
const SAY_IN_SUB_AGENT = 30_000;
const PROBE_AFTER = 60_000;

export interface SilenceDeps {
  readonly turns: Turns;
  /** A user or one of our tools is being waited for, not the agent. */
  readonly excused: () => boolean;
  /** What runs: a command or another tool; a sub-agent; or nothing, which leaves the model. */
  readonly running: () => 'tool' | 'subAgent' | undefined;
  /** Settles true when the agent answered. */
  readonly probe: () => Promise<boolean>;
  readonly emit: (event: SessionEvent) => void;
}

/** Says so when nothing has come for a while in a running turn, and finds out whether the agent is still there. */
export class Silence {
  readonly #deps: SilenceDeps;
  #timer: NodeJS.Timeout | undefined;
  #quiet = 0;
  #probedAt = 0;
  #missed = 0;
  #probing = false;
  #saying = false;
  /** What the agent said last: that the model failed. */
  #failure: string | undefined;
  /** It was said that the agent does not answer. */
  #dead = false;

  constructor(deps: SilenceDeps) {
    this.#deps = deps;
  }

  /** A turn begins. */
  begin(): void {
    this.stop();
    this.#reset();
    // Counted in looks, not by the clock: a machine that slept has not been silent.
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY);
  }

  /** A line came. */
  heard(): void {
    this.#missed = 0;
    this.#failure = undefined;
    this.#reset();
    if (this.#dead) this.#back();
    if (!this.#saying) return;
    this.#saying = false;
    this.#deps.turns.activity(null);
  }

  /** The line that came says that the model failed: that stands there until something else comes. */
  fails(text: string | null | undefined): void {
    this.#failure = text ?? undefined;
  }

  /** It answered a question of ours, which says nothing of its work. */
  alive(): void {
    if (this.#dead) this.#back();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#failure = undefined;
    this.#timer = undefined;
    this.#saying = false;
  }

  #reset(): void {
    this.#quiet = 0;
    this.#probedAt = 0;
  }

  #look(): void {
    if (this.#deps.excused()) return this.#reset();
    this.#quiet += LOOK_EVERY;
    const running = this.#deps.running();
    if (running === undefined && this.#quiet >= SAY_AFTER) this.#say(this.#waiting(this.#quiet / 1000));
    if (running === 'subAgent' && this.#quiet >= SAY_IN_SUB_AGENT) {
      this.#say(t('The sub-agent is silent; it may be waiting for an approval it cannot ask for. Stop ends it.'));
    }
    if (this.#quiet - this.#probedAt >= PROBE_AFTER && !this.#probing) void this.#probe();
  }

  #waiting(seconds: number): string {
    if (this.#failure === undefined) return t('Still waiting for the model ({0} s)', seconds);
    return t('{0} — still waiting for the model ({1} s)', this.#failure, seconds);
  }

  #say(text: string): void {
    this.#saying = true;
    this.#deps.turns.activity(text);
  }

  async #probe(): Promise<void> {
    this.#probedAt = this.#quiet;
    this.#probing = true;
    const alive = await this.#deps.probe();
    this.#probing = false;
    this.#missed = alive ? 0 : this.#missed + 1;
    if (this.#missed < 2 || this.#timer === undefined) return;
    this.stop();
    this.#dead = true;
    const text = t('The agent does not answer any more.');
    this.#deps.emit({ type: 'notice', notice: { level: 'warn', text, next: ['restart'], about: 'silence' } });
  }

  #back(): void {
    this.#dead = false;
    this.#deps.emit({ type: 'notice', notice: { level: 'info', text: t('The agent answers again.'), about: 'silence' } });
    if (this.#deps.turns.running) this.begin();
  }
}
