import { parseJson } from '../../base/json.ts';
import type { Log } from '../../base/log.ts';
import type { Tool, ToolAnswer } from '../ports.ts';
import { runTool } from '../runTool.ts';
import { HUMAN_TOOL } from './humanTool.ts';
import { pause, type Timing } from './pause.ts';
import type { ToolPart } from './schema.ts';
import { toolNameOf } from './toolParts.ts';

/** A call of one of our tools, on its way from being announced to being answered. */
export interface OwnCall {
  /** Its part in the message; another one after a replay. */
  part: ToolPart;
  readonly id: string;
  answer?: ToolAnswer;
  /** Settles when the answer is there, or nobody wants it any more. */
  readonly settled: Promise<void>;
  /** How many chunks had arrived when the server took the answer while its response was open. */
  acceptedAt?: number;
  /** It is being given to the server while the response is open. */
  handed?: boolean;
  /** The server said itself how the call ended, or took it back: our answer is not wanted. */
  withdrawn: boolean;
  /** The response waits for it, the server said. */
  awaited: boolean;
  readonly stop: AbortController;
}

/** How many run side by side. */
const AT_ONCE = 8;
/** What goes back to a server of one answer, in UTF-16 units. */
const ANSWER_LIMIT = 256 * 1024;
/** Questions wait for a user, however long it takes. */
const NO_LIMIT = 2 ** 31 - 1;

export interface OwnCallsDeps {
  readonly tools: readonly Tool[];
  readonly log: Log;
  readonly timing: Timing;
  readonly began: (call: OwnCall) => void;
  readonly answered: (call: OwnCall) => void;
}

/** Runs our tools for one turn: each call once, at most eight at a time, the rest in order (ai-sdk.md §6.2, §6.3). */
export class OwnCalls {
  readonly #deps: OwnCallsDeps;
  readonly #calls = new Map<string, OwnCall>();
  readonly #waiting: (() => void)[] = [];
  /** Calls that may still turn out to need an approval of the server's. */
  readonly #held = new Map<string, AbortController>();
  #running = 0;

  constructor(deps: OwnCallsDeps) {
    this.#deps = deps;
  }

  get all(): readonly OwnCall[] {
    return [...this.#calls.values()];
  }

  find(toolCallId: string): OwnCall | undefined {
    return this.#calls.get(toolCallId);
  }

  /** Begins after the grace time, or when `goOn` is said; not at all when `hold` is, or when it may not. */
  start(part: ToolPart, may?: Promise<boolean>): OwnCall {
    const stop = new AbortController();
    let settle: () => void = () => {};
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const call: OwnCall = { part, id: part.toolCallId, settled, withdrawn: false, awaited: false, stop };
    this.#calls.set(call.id, call);
    stop.signal.addEventListener('abort', settle, { once: true });
    const held = new AbortController();
    this.#held.set(call.id, held);
    void pause(this.#deps.timing.grace, AbortSignal.any([held.signal, stop.signal])).then(async () => {
      if (!this.#held.delete(call.id) || (await may) === false || stop.signal.aborted) return;
      void this.#run(call).then(settle);
    });
    return call;
  }

  /** No approval follows what was announced. */
  goOn(): void {
    for (const held of [...this.#held.values()]) held.abort();
  }

  /** The server wants an approval first: what has begun is stopped, and begins anew when it is given. */
  hold(toolCallId: string): void {
    this.#held.delete(toolCallId);
    this.#calls.get(toolCallId)?.stop.abort();
    this.#calls.delete(toolCallId);
  }

  /** The server told the outcome itself, or took the call back. */
  withdraw(toolCallId: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call || call.withdrawn) return;
    call.withdrawn = true;
    call.stop.abort();
  }

  /** Stops whatever runs. */
  stopAll(): void {
    for (const call of this.#calls.values()) call.stop.abort();
    for (const next of this.#waiting.splice(0)) next();
  }

  async #run(call: OwnCall): Promise<void> {
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (call.stop.signal.aborted) return this.#waiting.shift()?.();
    this.#running += 1;
    this.#deps.began(call);
    const name = toolNameOf(call.part);
    const answer = await runTool(this.#deps.tools, {
      name,
      input: call.part.input,
      signal: call.stop.signal,
      log: this.#deps.log,
      ...(name === HUMAN_TOOL ? { limit: NO_LIMIT } : {}),
    });
    this.#running -= 1;
    this.#waiting.shift()?.();
    if (call.stop.signal.aborted) return;
    call.answer = shortened(answer);
    this.#deps.answered(call);
  }
}

function shortened(answer: ToolAnswer): ToolAnswer {
  const missing = answer.text.length - ANSWER_LIMIT;
  return missing > 0 ? { ...answer, text: `${answer.text.slice(0, ANSWER_LIMIT)}\n… (${missing} more characters)` } : answer;
}

/** What our tool said as a JSON value: objects and lists as such, everything else as text. */
export function jsonOf(answer: ToolAnswer): unknown {
  if (!/^\s*[[{]/.test(answer.text)) return answer.text;
  try {
    return parseJson(answer.text);
  } catch {
    return answer.text;
  }
}
