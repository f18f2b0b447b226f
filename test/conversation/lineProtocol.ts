import type { Failure } from '../../src/base/outcomes.ts';
import type { Input } from '../../src/conversation/machine.ts';
import {
  type CallState,
  type ConversationState,
  find,
  laneOf,
  type NextPrompt,
  newConversation,
  newTurn,
  type TurnState,
} from '../../src/conversation/state.ts';
import { machineOf, Step, type TurnStatus } from '../../src/conversation/step.ts';
import type { Answer, Intent } from '../../src/session/intents.ts';
import type { Approval } from '../../src/session/model.ts';

/*
 * The line protocol, the example of CONTRIBUTING.md. JSON-RPC over a process. Ours: `open {key?}` → `{key}`, `say {text}` → `{status}`, `stop`.
 * Theirs: `text {text}`, `call {id, title}`, `result {id, ok, text}`, and the request `allow {call, title}` → `{allowed}`.
 */
export interface LineState extends ConversationState {
  turn: TurnState | null;
  readonly resume: string | null;
}
export function newLine(seed: string, resume: string | null): LineState {
  return { ...newConversation(seed), turn: null, resume };
}

const AGENT = 'agent';
const LIMITS = { offerRestart: 10_000, restart: 30_000 };
const UNKNOWN_METHOD = -32601;
const OPTIONS: Approval['options'] = [
  { id: 'yes', label: 'Allow', effect: 'allow_once' },
  { id: 'no', label: 'Reject', effect: 'reject_once' },
];

class LineStep extends Step<LineState> {
  take(input: Input): void {
    const { state } = this;
    switch (input.on) {
      case 'start':
        state.phase = 'opening';
        this.open(AGENT, {});
        return this.request('open', state.resume === null ? {} : { key: state.resume });
      case 'message':
        return this.message(input.method, fields(input.params));
      case 'asked':
        return this.asked(input.id, input.method, fields(input.params));
      case 'reply':
        return this.reply(input.call, fields(input.result), input.error);
      case 'intent':
        return state.phase === 'ready' ? this.intent(input.intent) : undefined;
      case 'timer':
        return this.elapsed(input.timer);
      case 'closed':
        this.settle('everything', 'withdrawn');
        this.emit({ type: 'link.closed', reason: input.why.reason, next: ['restart'], at: this.now });
        state.phase = 'over';
        return;
      case 'leave':
        this.settle('everything', 'declined');
        state.phase = state.phase === 'new' ? 'over' : 'left';
        return this.close(AGENT);
    }
  }

  request(method: string, params: object): void {
    this.do({ do: 'request', link: AGENT, call: method, method, params });
  }
  reply(call: string, result: Fields, error: Failure | undefined): void {
    if (call === 'say') return this.finish(error ? 'failed' : result.status === 'stopped' ? 'cancelled' : 'done', error);
    if (call !== 'open') return;
    if (error) return this.close(AGENT);
    this.state.phase = 'ready';
    this.emit({ type: 'resume.set', key: text(result.key) });
    this.emit({ type: 'link.ready', agent: { protocol: 'line', name: 'line' }, offers: {} });
  }

  intent(intent: Intent): void {
    if (intent.type === 'prompt') this.prompt({ turnId: intent.turnId, content: intent.content });
    else if (intent.type === 'cancel') this.cancel();
    else if (intent.type === 'answer') this.answered(intent.askId, intent.answer);
  }
  prompt(prompt: NextPrompt): void {
    if (this.state.turn) return this.enqueue(prompt);
    this.startTurn(newTurn(prompt.turnId, 'user'), prompt.content);
    this.request('say', { text: prompt.content.map((one) => (one.type === 'text' ? one.text : '')).join('\n') });
  }
  cancel(): void {
    const { turn } = this.state;
    if (!turn || !this.startStopping(turn, LIMITS)) return;
    this.settle('turn', 'declined');
    this.do({ do: 'notify', link: AGENT, method: 'stop' });
  }
  answered(askId: string, answer: Answer): void {
    const ask = find(this.state.asks, askId);
    const allowed = answer.kind === 'option' && answer.optionId === 'yes';
    const { turn } = this.state;
    if (!ask) return;
    if (turn && ask.callId !== null) this.changeCall(turn, ask.callId, { status: allowed ? 'running' : 'rejected' });
    this.answerAsk(ask, answer, { allowed });
  }
  elapsed(timer: string): void {
    const { turn } = this.state;
    if (turn && timer === 'offer restart') this.offerRestart(turn);
    else if (turn && timer === 'restart') this.close(AGENT);
  }
  finish(status: TurnStatus, error: Failure | undefined): void {
    this.endTurn(status, error ? { error: { message: error.message, next: ['retry'] } } : {});
    const next = this.nextPrompt();
    if (next) this.prompt(next);
  }

  // --- what the agent says and asks

  message(method: string, params: Fields): void {
    const { turn } = this.state;
    if (!turn) return;
    if (method === 'text') return this.text(turn, laneOf(turn), 'text', text(params.text));
    const call = find(turn.calls, text(params.id));
    if (method === 'call' && !call) this.addLineCall(turn, text(params.id), text(params.title));
    if (method !== 'result' || !call || call.ended) return;
    call.ended = true;
    const output = [{ kind: 'content', content: { type: 'text', text: text(params.text) } }] as const;
    this.changeCall(turn, call.id, { status: params.ok === true ? 'done' : 'failed', output });
  }
  addLineCall(turn: TurnState, id: string, title: string): CallState {
    const shown = { name: title, title, kind: 'other', status: 'pending', inputText: '', output: [], locations: [] } as const;
    return this.addCall(turn, laneOf(turn), { id, decision: 'none', ended: false }, shown);
  }
  asked(id: string, method: string, params: Fields): void {
    const { turn } = this.state;
    if (method !== 'allow') return this.refuse(AGENT, id, UNKNOWN_METHOD, `Unknown method: ${method}`);
    if (this.state.phase === 'left') return this.do({ do: 'answer', link: AGENT, id, result: { allowed: false } });
    if (!this.openRequest(id, AGENT, { result: { allowed: false } })) return;
    const call = turn ? find(turn.calls, text(params.call)) : undefined;
    if (turn && call) this.changeCall(turn, call.id, { status: 'waiting' });
    const place = { ...(turn ? { turnId: turn.id } : {}), ...(call ? { callId: call.id } : {}) };
    const title = text(params.title);
    this.ask({ kind: 'approval', id: this.newId(), ...place, title, detail: { type: 'text', text: title }, options: OPTIONS }, null, id);
  }
}
export const line = machineOf(LineStep);

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? { ...value } : {});
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
