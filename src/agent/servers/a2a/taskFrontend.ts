import type { AgentEvent, ApprovalAnswer, ApprovalRequest, Frontend } from '../../frontend.ts';
import type { ToolOffer } from '../../models/model.ts';
import { failed, type Outcome } from '../../tools/tool.ts';
import type { EditorTools } from './editorTools.ts';
import { inputOf, type Json, outputOf, requestOf } from './shapes.ts';

export type Kind = 'TOOL_CALL_CONFIRMATION' | 'TOOL_CALL_UPDATE' | 'TEXT_CONTENT' | 'STATE_CHANGE' | 'THOUGHT';
export interface Pipe {
  text(text: string): void;
  data(kind: Kind, data: Json): void;
  /** Ends the stream: nothing more comes until the user has decided. */
  suspend(): void;
}

interface OpenCall {
  readonly tool: string;
  readonly input: Json;
  description?: string;
  live: string;
  rejected: boolean;
  /** It was told that the call runs. */
  ran: boolean;
}

/** The development-tool extension, as the loop sees it: every update of a call is the whole call. */
export class TaskFrontend implements Frontend {
  readonly asksQuestions = false;
  readonly hasPlanMode = false;
  readonly #pipe: Pipe;
  /** Where commands run. */
  readonly #cwd: string;
  readonly #editor: EditorTools | undefined;
  #offers: readonly ToolOffer[] = [];
  readonly #calls = new Map<string, OpenCall>();
  readonly #asked = new Map<string, (answer: ApprovalAnswer) => void>();
  #thought = '';

  constructor(pipe: Pipe, cwd: string, editor?: EditorTools) {
    this.#cwd = cwd;
    this.#pipe = pipe;
    this.#editor = editor;
  }

  /** Before a turn: what the editor lends just now. */
  async prepare(): Promise<void> {
    this.#offers = (await this.#editor?.offers()) ?? [];
  }

  get waiting(): number {
    return this.#asked.size;
  }

  emit(said: AgentEvent): void {
    if (said.type === 'thought') {
      this.#thought += said.text;
      return;
    }
    this.#endThought();
    switch (said.type) {
      case 'text':
        return this.#pipe.text(said.text);
      case 'call.ready':
        this.#calls.set(said.id, { tool: said.name, input: inputOf(said.input), live: '', rejected: false, ran: false });
        return this.#show(said.id, 'PENDING');
      case 'call.output': {
        const call = this.#calls.get(said.id);
        if (call) call.live += said.text;
        return this.#show(said.id, 'EXECUTING');
      }
      case 'call.ended':
        return this.#ended(said.id, said.outcome);
      case 'plan.shown':
        return this.#pipe.text(`${said.text}\n`);
      default:
        return;
    }
  }

  clientTools(): readonly ToolOffer[] {
    return this.#offers;
  }

  async question(): Promise<undefined> {
    return undefined;
  }

  async hook(): Promise<undefined> {
    return undefined;
  }

  async callClient(call: { readonly id: string; readonly name: string; readonly input: string }, signal: AbortSignal): Promise<Outcome> {
    this.#show(call.id, 'EXECUTING');
    return (await this.#editor?.call(call.name, call.input, signal)) ?? failed('This client lends no tools.');
  }

  approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    signal.throwIfAborted();
    this.#endThought();
    const { callId } = request;
    const call = this.#calls.get(callId) ?? { tool: request.tool, input: {}, live: '', rejected: false, ran: false };
    call.description = request.description;
    this.#calls.set(callId, call);
    return new Promise((resolve, reject) => {
      const stopped = () => {
        this.#asked.delete(callId);
        reject(signal.reason as Error);
      };
      this.#asked.set(callId, (answer) => {
        this.#asked.delete(callId);
        signal.removeEventListener('abort', stopped);
        call.rejected = !answer.allow;
        if (answer.allow) this.#show(callId, 'EXECUTING');
        resolve(answer);
      });
      signal.addEventListener('abort', stopped, { once: true });
      this.#show(callId, 'PENDING', { confirmation_request: requestOf(request, this.#cwd) });
      this.#pipe.suspend();
    });
  }

  /** False when nobody asked about that call. */
  answer(callId: string, answer: ApprovalAnswer): boolean {
    const asked = this.#asked.get(callId);
    asked?.(answer);
    return asked !== undefined;
  }

  /** The turn is over: calls that have not ended never will. */
  end(): void {
    this.#endThought();
    for (const id of [...this.#calls.keys()]) {
      this.#show(id, 'CANCELLED');
      this.#calls.delete(id);
    }
  }

  #ended(id: string, outcome: Outcome): void {
    const status = this.#calls.get(id)?.rejected ? 'CANCELLED' : outcome.isError ? 'FAILED' : 'SUCCEEDED';
    // A call that needs no approval is told as running, too.
    if (status !== 'CANCELLED' && this.#calls.get(id)?.ran === false) this.#show(id, 'EXECUTING');
    const words = [outcome.message, outcome.text].filter(Boolean).join('\n');
    this.#show(
      id,
      status,
      status === 'SUCCEEDED' ? { output: outputOf(outcome) } : status === 'FAILED' ? { error: { message: words } } : {},
    );
    this.#calls.delete(id);
  }

  #show(id: string, status: string, more: Json = {}): void {
    const call = this.#calls.get(id);
    if (!call) return;
    if (status === 'EXECUTING') call.ran = true;
    this.#pipe.data('confirmation_request' in more ? 'TOOL_CALL_CONFIRMATION' : 'TOOL_CALL_UPDATE', {
      tool_call_id: id,
      status,
      tool_name: call.tool,
      ...(call.description === undefined ? {} : { description: call.description }),
      input_parameters: call.input,
      ...(call.live === '' || 'output' in more ? {} : { live_content: call.live }),
      ...more,
    });
  }

  #endThought(): void {
    if (this.#thought === '') return;
    const thought = this.#thought;
    this.#thought = '';
    // Models that give a thought a heading write it in bold.
    const [, subject = '', description = thought] = /^\s*\*\*([^*\n]+)\*\*\s*([\s\S]*)$/.exec(thought) ?? [];
    this.#pipe.data('THOUGHT', { subject, description });
  }
}
