import { say } from '../../../base/say.ts';
import type { CallId } from '../../../session/model.ts';
import { textOf } from '../content.ts';
import type { Turns } from '../turns.ts';
import { metaOf } from './results.ts';
import type { Block, ResultLine, UserLine } from './schema.ts';

/** What a hook writes is told in one line of this many UTF-16 units. */
const REASON = 500;

/** Calls that were refused without a question, each told once: by a hook with its reason, else by name at the end of the turn. */
export class Refusals {
  readonly #turns: Turns;
  readonly #told = new Set<CallId>();

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** A result came: it says when a hook has refused the call. */
  heard(line: UserLine, callId: CallId, block: Block, name: string | undefined): void {
    const decision = metaOf(line, callId)?.permission_decision;
    if (decision?.decision !== 'reject' || decision.source !== 'hook') return;
    this.#told.add(callId);
    const reason = textOf(block.content)
      .replace(/^\w+:\w+ hook error: (?:\[[\s\S]*?\]: )?/, '')
      .trim()
      .slice(0, REASON);
    const tool = name ?? '…';
    const parent = line.parent_tool_use_id ?? undefined;
    this.#turns.note('info', reason === '' ? say('A hook refused {0}.', tool) : say('A hook refused {0}: {1}', tool, reason), parent);
  }

  /** The end of the turn names what was refused in it. */
  unasked({ permission_denials: all }: ResultLine, wasAsked: (callId: CallId) => boolean): void {
    const denied = (all ?? []).filter(({ tool_use_id: id }) => id && !wasAsked(id) && !this.#told.has(id));
    const names = new Set(denied.flatMap((one) => (one.tool_name ? [one.tool_name] : [])));
    if (names.size > 0)
      this.#turns.note('info', say('Refused without asking, by the mode or rules of the agent: {0}', [...names].join(', ')));
  }

  /** The turn is over. */
  forget(): void {
    this.#told.clear();
  }
}
