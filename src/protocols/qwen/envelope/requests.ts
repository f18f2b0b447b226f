import { parseJson } from '../../../base/json.ts';
import { t } from '../../../base/l10n.ts';
import type { Log } from '../../../base/log.ts';
import type { Approvals, Decision } from '../approvals.ts';
import { type Incoming, readRequest, unreadableId } from '../control.ts';
import { isRecord } from '../detect.ts';
import type { EditorTools } from '../editorTools.ts';
import { type Peer, qwenCode } from '../peers.ts';
import type { AgentMessage } from '../talk.ts';
import type { Turns } from '../turns.ts';
import type { YesNo } from '../yesNo.ts';
import type { Calls } from './calls.ts';
import * as schema from './schema.ts';

const { approvalLimit: _, toolLimit: __, editsMode: ___, ...shipped } = qwenCode;
/** How approvals go in this dialect: nothing expires by itself, modes do not exist. */
export const envelopePeer: Peer = shipped;

/** How many requests that are nobody's concern any more are remembered. */
const DEAD_KEPT = 200;
const UNREADABLE = 'The request could not be read.';

export interface RequestDeps {
  readonly incoming: Incoming;
  readonly approvals: Approvals;
  readonly calls: Calls;
  readonly tools: EditorTools;
  readonly yesNo: YesNo;
  readonly turns: Turns;
  readonly log: Log;
}

/** `control_request` lines of the envelope dialect, flat and nested; each is answered, an error means no (qwen.md §4.8). */
export class Requests {
  readonly #deps: RequestDeps;
  /** Open requests of a tool of ours, which answers them. */
  readonly #toTools = new Set<string>();
  /** Requests that were open when their turn ended or was cancelled. */
  readonly #dead = new Set<string>();

  constructor(deps: RequestDeps) {
    this.#deps = deps;
  }

  take(message: AgentMessage, turnId: string | undefined): void {
    const { incoming, tools, yesNo } = this.#deps;
    const request = readRequest(message);
    if (!request) return this.#refuse(message);
    if (!incoming.begin(request.id)) return;
    const { id, subtype, payload } = request;
    switch (subtype) {
      case 'can_use_tool':
        return this.#permission(id, payload);
      case 'mcp_message': {
        const { message: wanted = payload.payload } = payload;
        this.#toTools.add(id);
        return void tools.answer(wanted).then((answer) => {
          this.#toTools.delete(id);
          this.#succeed(id, { mcp_response: answer });
        });
      }
      case 'hook_callback':
        return this.#succeed(id, {});
      case 'confirm_shell_commands':
      case 'confirm_action':
      case 'quit_confirmation': {
        const asked = schema.confirmRequest.safeParse(payload).data ?? {};
        const commands = asked.commands ?? [];
        const title = asked.title ?? (subtype === 'quit_confirmation' ? t('End this session?') : t('Go on?'));
        const text = asked.prompt ?? asked.message;
        return yesNo.ask({ title, ...(text ? { text } : {}), commands, ...(turnId === undefined ? {} : { turnId }) }, (yes) =>
          this.#succeed(id, { behavior: yes ? 'approve' : 'deny', ...(yes && commands.length > 0 ? { approvedCommands: commands } : {}) }),
        );
      }
      default:
        return this.#fail(id, `unsupported control request ${subtype}`);
    }
  }

  /** An answer of ours that the agent could not use. */
  refused(fault: unknown): void {
    const known = isRecord(fault) ? fault : {};
    const text = typeof known.message === 'string' ? known.message : JSON.stringify(fault).slice(0, 500);
    this.#deps.log.warn(`The agent could not use an answer: ${text}`);
    if (typeof known.request_id === 'string' && this.#dead.delete(known.request_id)) return;
    this.#deps.turns.note('warn', t('The agent could not use an answer: {0}', text));
    if (typeof known.request_id === 'string') this.#deps.approvals.withdraw(known.request_id);
  }

  /** The turn is cancelled, and with it what was asked of a user: nothing is answered any more (qwen.md §4.7). */
  cancelled(): void {
    const { incoming } = this.#deps;
    this.over();
    for (const id of incoming.open) if (!this.#toTools.has(id)) incoming.forget(id);
  }

  /** The turn is over: an answer that comes too late for it is nobody's concern. */
  over(): void {
    for (const id of this.#deps.incoming.open) this.#dead.add(id);
    for (const id of this.#dead) if (this.#dead.size > DEAD_KEPT) this.#dead.delete(id);
  }

  #permission(id: string, payload: Readonly<Record<string, unknown>>): void {
    const parsed = schema.toolRequest.safeParse(payload);
    const asked = parsed.success ? parsed.data : undefined;
    const name = asked?.tool?.name ?? asked?.tool_name;
    if (!asked || !name) return this.#fail(id, UNREADABLE);
    const given = asked.tool_call_id ?? asked.tool_use_id ?? asked.tool?.id ?? asked.metadata?.tool_call_id;
    this.#deps.approvals.open(id, {
      subtype: 'can_use_tool',
      tool_name: name,
      tool_use_id: given ?? this.#deps.calls.openCallOf(name) ?? null,
      input: inputOf(asked.tool ? asked.tool.arguments : asked.input),
    });
  }

  /** It waits for an answer all the same; without an id there is nobody to answer. */
  #refuse(message: AgentMessage): void {
    const id = unreadableId(message);
    this.#deps.log.warn(`A control request could not be read: ${JSON.stringify(message).slice(0, 500)}`);
    if (id !== undefined)
      this.#deps.incoming.refuse({
        type: 'control_response',
        request_id: id,
        response: { subtype: 'error', error: { message: UNREADABLE, retryable: false } },
      });
  }

  #succeed(id: string, result: object): void {
    this.#deps.incoming.answer(id, { type: 'control_response', request_id: id, response: { subtype: 'success', result } });
  }

  #fail(id: string, message: string): void {
    const response = { subtype: 'error', error: { message, retryable: false } };
    this.#deps.incoming.answer(id, { type: 'control_response', request_id: id, response });
  }
}

/** In this dialect the id stands outside and the verb is another one. */
export function approvalReply(id: string, decision: Decision): object {
  const result = decision.allow ? { behavior: 'approve', message: '' } : { behavior: 'deny', message: decision.message };
  return { type: 'control_response', request_id: id, response: { subtype: 'success', result } };
}

function inputOf(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {};
  try {
    const parsed = parseJson(value);
    return isRecord(parsed) ? parsed : { text: value };
  } catch {
    return { text: value };
  }
}
