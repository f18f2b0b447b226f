import { t } from '../../../base/l10n.ts';
import type { CallId } from '../../../session/model.ts';
import { textOf } from '../content.ts';
import type { Turns } from '../turns.ts';
import { metaOf } from './results.ts';
import type { Block, ResultLine, UserLine } from './schema.ts';

/** What a hook writes is told in one line of this many UTF-16 units. */
const REASON = 500;

export interface RefusalDeps {
  readonly turns: Turns;
  /** The call was made in this process. */
  readonly known: (callId: CallId) => boolean;
  /** The process goes on with an earlier conversation. */
  readonly resumed: boolean;
}

/**
 * Calls that were refused without a question, each told once: by a hook with its reason, else by name at the end of the turn. Qwen Code names
 * in every result all that it refused in the session.
 */
export class Refusals {
  readonly #deps: RefusalDeps;
  readonly #told = new Set<CallId>();

  constructor(deps: RefusalDeps) {
    this.#deps = deps;
  }

  /** A result came: it says when a hook has refused the call. */
  heard(line: UserLine, callId: CallId, block: Block, name: string | undefined): void {
    const decision = metaOf(line, callId)?.permission_decision;
    if (decision?.decision !== 'reject' || decision.source !== 'hook' || this.#told.has(callId)) return;
    this.#told.add(callId);
    const reason = textOf(block.content)
      .replace(/^\w+:\w+ hook error: (?:\[[\s\S]*?\]: )?/, '')
      .trim()
      .slice(0, REASON);
    const tool = name ?? '…';
    const parent = line.parent_tool_use_id ?? undefined;
    this.#deps.turns.note('info', reason === '' ? t('A hook refused {0}.', tool) : t('A hook refused {0}: {1}', tool, reason), parent);
  }

  /** The agent has said itself, in words of its own, that it refused the call. */
  saidItself(callId: CallId): void {
    this.#told.add(callId);
  }

  /** The end of the turn names what was refused in it; of an earlier conversation nothing is told again. */
  unasked({ permission_denials: all }: ResultLine, wasAsked: (callId: CallId) => boolean): void {
    const { turns, known, resumed } = this.#deps;
    const names = new Set<string>();
    for (const { tool_use_id: id, tool_name: name } of all ?? []) {
      if (!id || this.#told.has(id)) continue;
      this.#told.add(id);
      if (name && !wasAsked(id) && !(resumed && !known(id))) names.add(name);
    }
    if (names.size > 0) turns.note('info', t('Refused without asking, by the mode or rules of the agent: {0}', [...names].join(', ')));
  }
}
