import { randomUUID } from 'node:crypto';
import { answers, type InitializeParams } from '../../../protocols/kimi-wire/schema.ts';
import { type Moment, moments } from '../../frontend.ts';
import type { Outlet } from './outlet.ts';

type Subscription = NonNullable<InitializeParams['hooks']>[number];

const DEFAULT_SECONDS = 30;

/** The client's hooks. A timeout, an error or a malformed answer lets the action proceed (wire.md §5.2). */
export class Hooks {
  readonly #outlet: Outlet;
  readonly #base: Readonly<Record<string, unknown>>;
  readonly #subscriptions: Subscription[] = [];

  constructor(outlet: Outlet, base: { readonly session_id: string; readonly cwd: string }) {
    this.#outlet = outlet;
    this.#base = base;
  }

  /** Adds them to the existing ones and leaves out unknown names. */
  subscribe(subscriptions: readonly Subscription[]): void {
    this.#subscriptions.push(...subscriptions.filter((one) => isMoment(one.event)));
  }

  get configured(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { event } of this.#subscriptions) counts[event] = (counts[event] ?? 0) + 1;
    return counts;
  }

  /** The reason of the first that blocks. */
  async tell(moment: Moment, target: string, data: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string | undefined> {
    const fitting = this.#subscriptions.filter((one) => one.event === moment && matches(one.matcher ?? '', target));
    if (fitting.length === 0) return undefined;
    const began = performance.now();
    this.#outlet.event({ type: 'HookTriggered', payload: { event: moment, target, hook_count: fitting.length } });
    const input_data = { hook_event_name: moment, ...this.#base, ...data };
    const reasons = await Promise.all(fitting.map((one) => this.#ask(one, { event: moment, target, input_data }, signal)));
    const reason = reasons.find((one) => one !== undefined);
    this.#outlet.event({
      type: 'HookResolved',
      payload: {
        event: moment,
        target,
        action: reason === undefined ? 'allow' : 'block',
        reason: reason ?? '',
        duration_ms: Math.round(performance.now() - began),
      },
    });
    return reason;
  }

  async #ask(
    one: Subscription,
    asked: { event: string; target: string; input_data: object },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const id = randomUUID();
    const limit = AbortSignal.timeout(Math.max(0.1, Math.min(one.timeout ?? DEFAULT_SECONDS, 600)) * 1000);
    try {
      const payload = { id, subscription_id: one.id, ...asked };
      const result = await this.#outlet.request({ type: 'HookRequest', payload }, id, AbortSignal.any([signal, limit]));
      const parsed = answers.HookRequest.safeParse(result);
      return parsed.success && parsed.data.action === 'block' ? (parsed.data.reason ?? '') : undefined;
    } catch {
      return undefined;
    }
  }
}

function isMoment(name: string): name is Moment {
  return (moments as readonly string[]).includes(name);
}

/** A bad expression matches nothing. */
function matches(matcher: string, target: string): boolean {
  if (matcher === '') return true;
  try {
    return new RegExp(matcher).test(target);
  } catch {
    return false;
  }
}
