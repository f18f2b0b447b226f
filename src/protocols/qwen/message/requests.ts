import type { Log } from '../../../base/log.ts';
import type { Approvals, Decision } from '../approvals.ts';
import { type Incoming, readRequest, unreadableId } from '../control.ts';
import type { EditorTools } from '../editorTools.ts';
import type { Peer } from '../peers.ts';
import type { AgentMessage } from '../talk.ts';
import { canUseTool } from '../toolRequest.ts';

const UNREADABLE = 'The request could not be read.';

export interface RequestDeps {
  readonly incoming: Incoming;
  readonly approvals: Approvals;
  readonly tools: EditorTools;
  readonly peer: Peer;
  readonly log: Log;
}

/** `control_request` lines of the message dialect; each is answered, an error means no (qwen.md §3.3, §3.6). */
export class Requests {
  readonly #deps: RequestDeps;

  constructor(deps: RequestDeps) {
    this.#deps = deps;
  }

  take(message: AgentMessage): void {
    const { incoming, approvals, tools, peer } = this.#deps;
    const request = readRequest(message);
    if (!request) return this.#refuse(message);
    if (!incoming.begin(request.id)) return;
    const { id, subtype, payload } = request;
    switch (subtype) {
      case 'can_use_tool': {
        const parsed = canUseTool.safeParse(payload);
        return parsed.success ? approvals.open(id, parsed.data) : this.#fail(id, UNREADABLE);
      }
      case 'mcp_message': {
        if (payload.server_name !== peer.server) return this.#fail(id, `There is no server "${String(payload.server_name)}" here.`);
        return void tools.answer(payload.message).then((answer) => this.#succeed(id, { mcp_response: answer }));
      }
      case 'hook_callback':
        return this.#succeed(id, {});
      default:
        return this.#fail(id, `unsupported control request ${subtype}`);
    }
  }

  /** It waits for an answer all the same; without an id there is nobody to answer. */
  #refuse(message: AgentMessage): void {
    const id = unreadableId(message);
    this.#deps.log.warn(`A control request could not be read: ${JSON.stringify(message).slice(0, 500)}`);
    if (id !== undefined)
      this.#deps.incoming.refuse({
        type: 'control_response',
        response: { subtype: 'error', request_id: id, error: this.#error(UNREADABLE) },
      });
  }

  #succeed(id: string, response: unknown): void {
    this.#deps.incoming.answer(id, { type: 'control_response', response: { subtype: 'success', request_id: id, response } });
  }

  #fail(id: string, message: string): void {
    const response = { subtype: 'error', request_id: id, error: this.#error(message) };
    this.#deps.incoming.answer(id, { type: 'control_response', response });
  }

  #error(message: string): unknown {
    return this.#deps.peer.onlyMessages ? message : { message, retryable: false };
  }
}

/** The verbs are exact, and the id stands inside (qwen.md §3.3). */
export function permissionReply(id: string, decision: Decision): object {
  const response = decision.allow
    ? {
        behavior: 'allow',
        updatedInput: decision.input,
        ...(decision.permissions.length > 0 ? { updatedPermissions: decision.permissions } : {}),
      }
    : { behavior: 'deny', message: decision.message };
  return { type: 'control_response', response: { subtype: 'success', request_id: id, response } };
}
