import { clear, find, put } from '../../conversation/state.ts';
import { jsonIn } from './codec.ts';
import { findTool, isTerminal, setError, setOutput } from './message.ts';
import type { Learned, ToolPart, UiMessage } from './schema.ts';
import { notAccepted, ShownMessage } from './shown.ts';
import type { AiSdkState, ChatResponse, ChatTurn, OwnCall, ResultDelivery } from './state.ts';

/*
 * The results of our calls, on their way to the server. One that holds its response open for a result gets it by a request of its own: at once where
 * it says that it waits, else after a silence. Any other hears of it by the next request of the turn.
 */

export abstract class ChatResults extends ShownMessage {
  /** The server wants a key before it takes the result: the user may enter one. */
  abstract askKey(turn: ChatTurn, why: string, toolCallId: string | null): void;

  // --- Delivery

  /**
   * Gives an answer to a server that holds its response open for it. Where it is not known whether it does, silence is taken for a sign. What then
   * fails, fails quietly, and the answer goes with the next request.
   */
  deliverResult(turn: ChatTurn, call: OwnCall): void {
    const { settings, learned } = this.state;
    const { response } = turn;
    if (!response || response.isOver || call.stage !== 'answered' || call.delivery) return;
    if (settings.toolFlow === 'repost' || settings.toolFlow === 'user-message') return;
    if (settings.toolFlow === 'held' || call.isAwaited || learned.flow === 'held') return this.startDelivery(turn, call, true);
    this.awaitSilence('quiet', call, response);
  }
  awaitSilence(timer: 'quiet' | 'refused', call: OwnCall, response: ChatResponse): void {
    call.silentSince = this.state.heard;
    this.timer(`${timer} ${call.id}`, Math.max(1, response.lastAt + this.state.setup.timing[timer] - this.now));
  }
  silenceElapsed(turn: ChatTurn, timer: 'quiet' | 'refused', call: OwnCall): void {
    const { response } = turn;
    if (!response || response.isOver) return;
    if (call.silentSince !== this.state.heard) return this.awaitSilence(timer, call, response);
    if (timer === 'quiet') return call.delivery ? undefined : this.startDelivery(turn, call, false);
    const [refusal] = Object.values(call.delivery?.refusals ?? {});
    if (refusal) this.showRefusal(turn, call, refusal);
  }
  startDelivery(turn: ChatTurn, call: OwnCall, isSure: boolean): void {
    this.timer(`quiet ${call.id}`, null);
    call.delivery = { stage: 'trying', isSure, tries: 0, at: 0, url: '', refusals: {}, said: null, isTold: false };
    this.tryAddress(turn, call, call.delivery);
  }
  /** A server may announce a call before it waits for the result, so what looks like a wrong address is tried again. One that refuses is not. */
  tryAddress(turn: ChatTurn, call: OwnCall, delivery: ResultDelivery): void {
    const urls = resultUrls(this.state);
    while (delivery.at < urls.length && find(delivery.refusals, urls[delivery.at] ?? '')) delivery.at += 1;
    const url = urls[delivery.at];
    if (url !== undefined && call.answer) {
      delivery.url = url;
      return this.port(null, `result ${call.id}`, 'server', { do: 'result', url, body: resultBody(this.state, call.id, call.answer) });
    }
    const [refusal] = Object.values(delivery.refusals);
    if (refusal && urls.every((one) => find(delivery.refusals, one))) {
      delivery.stage = 'refused';
      return this.refusedEverywhere(turn, call, delivery, refusal);
    }
    if (refusal && delivery.tries === this.state.setup.timing.deliveries.length) this.refusedEverywhere(turn, call, delivery, refusal);
    this.pauseDelivery(call, delivery);
  }
  pauseDelivery(call: OwnCall, delivery: ResultDelivery): void {
    const { deliveries } = this.state.setup.timing;
    this.timer(`deliver ${call.id}`, deliveries[Math.min(delivery.tries, deliveries.length - 1)] ?? 0);
  }
  deliveryAnswered(turn: ChatTurn, call: OwnCall, result: unknown): void {
    const { delivery } = call;
    const { response } = turn;
    if (!delivery || !response) return;
    const { url } = delivery;
    const { how, why = '', key = null } = (result ?? { how: 'notYet' }) as { how: string; why?: string; key?: string | null };
    if (how === 'accepted') {
      delivery.stage = 'over';
      call.acceptedAt = response.substance;
      turn.tookResult ||= call.stage !== 'withdrawn';
      return this.learn({ flow: 'held', resultUrl: url });
    }
    if (why !== '') delivery.said = why;
    if (how === 'refused') put(delivery.refusals, url, { why, key });
    delivery.at += 1;
    this.tryAddress(turn, call, delivery);
  }
  learn(change: Partial<Learned>): void {
    Object.assign(this.state.learned, change);
    this.port(null, 'learn', 'server', { do: 'learn', change });
  }

  // --- Refusals

  /** Where it is not known whether the server waits for it, only a long silence makes a refusal worth a notice. */
  refusedEverywhere(
    turn: ChatTurn,
    call: OwnCall,
    delivery: ResultDelivery,
    refusal: { readonly why: string; readonly key: string | null },
  ): void {
    if (isHeld(call, delivery)) return this.showRefusal(turn, call, refusal);
    if (turn.response && !call.isStranger) this.awaitSilence('refused', call, turn.response);
  }
  showRefusal(turn: ChatTurn, call: OwnCall, { why, key }: { readonly why: string; readonly key: string | null }): void {
    if (key !== null && this.state.mayHaveKey && !call.isStranger) return this.askKey(turn, key, call.id);
    this.refusalStands(turn, call, why);
  }
  /** Another address may still take the result, and where nothing says that the server awaits it, the next request may tell it. */
  refusalStands(turn: ChatTurn, call: OwnCall, why: string): void {
    const { delivery } = call;
    if (delivery?.stage === 'refused' && isHeld(call, delivery)) return this.notTaken(turn, call, why);
    if (delivery) delivery.isTold = true;
    if (!call.isStranger) this.noticeRefusal(notAccepted(why));
  }
  /** A key for a refused result was given, or not. */
  refusalSettled(turn: ChatTurn, call: OwnCall, isGiven: boolean): void {
    const { delivery } = call;
    if (!delivery) return;
    const [refusal] = Object.values(delivery.refusals);
    if (isGiven) {
      clear(delivery.refusals);
      if (delivery.stage !== 'refused') return;
      delivery.stage = 'trying';
      return this.pauseDelivery(call, delivery);
    }
    this.refusalStands(turn, call, refusal?.why ?? '–');
  }
  /** The server awaited the result and did not take it. One notice is enough for calls of the same fate. */
  notTaken(turn: ChatTurn, call: OwnCall, why: string): void {
    if (call.untaken !== null) return;
    const isTold = Object.values(turn.own).some((one) => one.untaken === why && !one.isStranger);
    call.untaken = why;
    if (call.isStranger) return;
    const message = notAccepted(why);
    if (!isTold && !call.delivery?.isTold) this.noticeRefusal(message);
    // A failed tool keeps its own words.
    if (call.answer?.ok) this.changeCall(turn, this.shownId(turn, call.id), { status: 'failed', error: { message } });
  }
  noticeRefusal(text: string): void {
    this.emit({ type: 'notice', notice: { level: 'error', text, next: ['openSettings'] } });
  }

  // --- The end of a response: it no longer waits for results

  /** The response ends. A result that the server went on without is not sent again: the model would answer twice. */
  settleUntaken(turn: ChatTurn, isFailed: boolean): void {
    for (const call of undelivered(this.state, turn)) {
      const { delivery } = call;
      if (delivery?.stage !== 'trying' || call.acceptedAt !== null || !isHeld(call, delivery)) continue;
      if (isFailed || this.wentOn(call)) this.notTaken(turn, call, delivery.said ?? '–');
    }
  }
  /** The model has spoken or begun a step since the call. */
  wentOn(call: OwnCall): boolean {
    const { parts } = this.last;
    const part = findTool(this.last, call.id);
    if (!part) return false;
    return parts.slice(parts.lastIndexOf(part) + 1).some(({ type }) => type === 'text' || type === 'reasoning' || type === 'step-start');
  }
  /** The response no longer waits for results. */
  dropDeliveries(turn: ChatTurn): void {
    for (const call of Object.values(turn.own)) this.dropDelivery(call);
    const { keyAsk } = turn;
    if (!keyAsk || keyAsk.isForRequest) return;
    turn.keyAsk = null;
    const ask = keyAsk.askId === null ? undefined : find(this.state.asks, keyAsk.askId);
    if (ask) this.closeAsk(ask, 'withdrawn');
  }
  dropDelivery(call: OwnCall): void {
    if (call.stage !== 'answered') return;
    for (const timer of ['quiet', 'refused', 'deliver']) this.timer(`${timer} ${call.id}`, null);
    if (call.delivery?.stage !== 'trying') return;
    call.delivery.stage = 'over';
    this.drop(`result ${call.id}`);
  }
  /** Into the message, for the next request. */
  writeAnswer(call: OwnCall, response: ChatResponse): void {
    const part = findTool(this.last, call.id);
    if (!call.answer || !part || isTerminal(part)) return;
    if (call.answer.ok) setOutput(part, jsonIn(call.answer.text));
    else if (call.isStranger) this.failPart(part, call.answer.text);
    else setError(part, call.answer.text);
    // The server took it, and went on without repeating it; or it did not take it, and is not told again.
    if (call.untaken !== null || (call.acceptedAt !== null && response.substance > call.acceptedAt))
      put(this.state.delivered, call.id, true);
  }
}

/** The server awaits the answer while its response is open. Otherwise that was only tried. */
function isHeld(call: OwnCall, delivery: ResultDelivery): boolean {
  return delivery.isSure || call.isAwaited;
}

// --- Questions to the state

/** Our calls whose outcome the server may not know. */
export function undelivered({ delivered }: AiSdkState, turn: ChatTurn): readonly OwnCall[] {
  return Object.values(turn.own).filter((call) => call.stage !== 'withdrawn' && !find(delivered, call.id));
}
/** The server took a result while its response was open, and has not repeated it yet. */
export function isAccepted(turn: ChatTurn): boolean {
  return Object.values(turn.own).some((call) => call.acceptedAt !== null && call.stage !== 'withdrawn');
}
export function isWaiting(state: AiSdkState, turn: ChatTurn): boolean {
  return undelivered(state, turn).length > 0 || Object.keys(turn.approvals).some((key) => !find(state.delivered, key.slice(1)));
}
/** The server took a result last of all, and the message does not hold it yet. */
export function tookWithoutEcho(message: UiMessage, turn: ChatTurn, response: ChatResponse): boolean {
  return Object.values(turn.own).some((call) => {
    if (call.acceptedAt !== response.substance || call.stage === 'withdrawn') return false;
    const part = findTool(message, call.id);
    return part !== undefined && !isTerminal(part);
  });
}
/** Ids of a call and its approval whose outcome we have and the server may not. */
export function newsOf(turn: ChatTurn, part: ToolPart): readonly string[] {
  const own = find(turn.own, part.toolCallId);
  const isAnswered = own?.stage === 'answered' && part.providerExecuted !== true;
  const { approval } = part;
  const approved = part.state === 'approval-responded' && approval && find(turn.approvals, approval.id)?.askId === null;
  return [...(isAnswered ? [part.toolCallId] : []), ...(approved ? [approval.id] : [])];
}
export function resultUrls({ learned, settings }: AiSdkState): readonly string[] {
  const { resultUrl } = learned;
  return resultUrl !== null && settings.resultUrls.includes(resultUrl) ? [resultUrl] : settings.resultUrls;
}
export function resultBody({ chatId }: AiSdkState, id: string, answer: { readonly ok: boolean; readonly text: string }): object {
  const result = answer.ok ? jsonIn(answer.text) : answer.text;
  return { session_id: chatId, tool_call_id: id, result: result ?? null, is_error: !answer.ok };
}
