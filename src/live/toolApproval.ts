import { isDeepStrictEqual } from 'node:util';
import { t } from '../base/l10n.ts';
import type { Confirmation, Ports, Tool, ToolAnswer } from '../protocols/ports.ts';
import type { Answer } from '../session/intents.ts';
import type { Approval, ApprovalDetail, AskId, CallId, ToolCall } from '../session/model.ts';
import { isSettled } from '../session/parts.ts';
import { callsOf, findAsk, runningTurn } from '../session/select.ts';
import type { EventSink } from './eventSink.ts';

const ALLOW = 'allow';
const REFUSED: ToolAnswer = { ok: false, text: 'The user did not allow this.' };
const ASK_ENDED: ToolAnswer = { ok: false, text: 'The request ended before the user answered.' };
/** How long one of our tools may work once it may begin, in milliseconds. */
const TOOL_LIMIT = 60_000;

/** Asks a user before one of our own tools does something that needs it. Agents do not ask for these: permission is ours (wire.md §5.2). */
export class ToolApproval {
  readonly #events: EventSink;
  readonly #newId: () => string;
  /** Calls whose approval by the agent has counted for a tool of ours. */
  readonly #used = new Set<CallId>();
  readonly #open = new Map<AskId, (answer: Answer | undefined) => void>();

  constructor(events: EventSink, newId: () => string) {
    this.#events = events;
    this.#newId = newId;
    events.onApplied(({ event }) => {
      if (event.type === 'turn.ended') this.#used.clear();
      if (event.type === 'ask.closed' || event.type === 'turn.ended' || event.type === 'link.closed') this.#sweep();
    });
  }

  /** The ports with tools that ask before each run where they need it, for every caller. */
  guard(ports: Ports): Ports {
    const wrap = (tools: readonly Tool[]) => tools.map((tool) => this.#wrap(tool));
    return { ...ports, tools: wrap(ports.tools), ...(ports.remoteFileTools ? { remoteFileTools: wrap(ports.remoteFileTools) } : {}) };
  }

  #wrap(tool: Tool): Tool {
    const { confirm, runEdited } = tool;
    if (!confirm) return tool;
    return {
      ...tool,
      run: async (input, signal) => {
        const needed = confirm(input);
        if (!needed) return tool.run(input, signal);
        if (this.#wasAllowed(tool.name, input)) return tool.run(input, limited(signal));
        const editable = runEdited !== undefined && isWhole(needed.detail);
        const answer = await this.#ask(needed, editable, signal);
        if (answer === undefined || signal.aborted) return ASK_ENDED;
        if (answer.kind !== 'option' || answer.optionId !== ALLOW) {
          return answer.kind === 'option' && answer.feedback
            ? { ok: false, text: `${REFUSED.text} They said: ${answer.feedback}` }
            : REFUSED;
        }
        if (editable && answer.edited !== undefined) return runEdited(input, answer.edited, limited(signal));
        return tool.run(input, limited(signal));
      },
    };
  }

  /**
   * True when the user has just allowed this call with this input, because the agent itself asks before it uses a tool of the editor. The user is not
   * asked twice; each answer counts once.
   */
  #wasAllowed(name: string, input: unknown): boolean {
    const calls = callsOf(runningTurn(this.#events.store.now) ?? { parts: [] });
    const allowed = calls.findLast(
      (call) => !this.#used.has(call.id) && isAllowed(call) && namesTool(call, name) && isDeepStrictEqual(call.input, input),
    );
    if (allowed) this.#used.add(allowed.id);
    return allowed !== undefined;
  }

  /** Closes the ask and returns true when it is about one of Parley's tools. */
  answer(id: AskId, answer: Answer): boolean {
    const settle = this.#open.get(id);
    if (!settle) return false;
    settle(answer);
    return true;
  }

  /** Settles asks that are not in the session any more: their turn or the link ended. */
  #sweep(): void {
    for (const [id, settle] of [...this.#open]) if (!findAsk(this.#events.store.now, id)) settle(undefined);
  }

  #ask(needed: Confirmation, editable: boolean, signal: AbortSignal): Promise<Answer | undefined> {
    const id = this.#newId();
    const turn = runningTurn(this.#events.store.now);
    const ask: Approval = {
      kind: 'approval',
      id,
      ours: true,
      ...(turn ? { turnId: turn.id } : {}),
      title: needed.title,
      toolKind: needed.kind,
      detail: needed.detail,
      ...(editable ? { editable } : {}),
      options: [
        { id: ALLOW, label: t('Allow'), effect: 'allow_once' },
        { id: 'reject', label: t('Reject'), effect: 'reject_once' },
      ],
    };
    return new Promise((resolve) => {
      const withdrawn = () => settle(undefined);
      const settle = (answer: Answer | undefined) => {
        if (!this.#open.delete(id)) return;
        signal.removeEventListener('abort', withdrawn);
        this.#events.emit({ type: 'ask.closed', askId: id, how: answer ? 'answered' : 'withdrawn' });
        resolve(answer);
      };
      this.#open.set(id, settle);
      if (signal.aborted) return settle(undefined);
      signal.addEventListener('abort', withdrawn);
      this.#events.emit({ type: 'ask.opened', ask });
      if (!findAsk(this.#events.store.now, id)) settle(undefined);
    });
  }
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(TOOL_LIMIT)]);
}

/** True for an edit that shows the whole of its file. */
function isWhole(detail: ApprovalDetail): boolean {
  return detail.type === 'edit' && detail.diffs.every(({ excerpt }) => excerpt === undefined);
}

function isAllowed(call: ToolCall): boolean {
  const { decision } = call;
  return !isSettled(call) && decision?.kind === 'approval' && decision.by === 'user' && decision.effect.startsWith('allow');
}

/** Agents name a tool of ours by its own name, or with that of the server that lends it; over ACP many have it in the title alone. */
function namesTool({ name, title, kind }: ToolCall, tool: string): boolean {
  const said = name === kind ? title : name;
  return [/^(?:mcp__)?(?:editor|ide|parley)(?:__|\/)(.+)$/, /^(.+) \((?:editor|ide|parley) MCP Server\)$/, /^(.+)$/].some(
    (form) => form.exec(said)?.[1] === tool,
  );
}
