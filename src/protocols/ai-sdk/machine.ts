import { t } from '../../base/l10n.ts';
import type { Input } from '../../conversation/machine.ts';
import { clear, find, newTurn, put, remove, splitName } from '../../conversation/state.ts';
import { machineOf } from '../../conversation/step.ts';
import type { Answer, Intent } from '../../session/intents.ts';
import type { Content } from '../../session/model.ts';
import { offeredTools } from './calls.ts';
import { verdictOf } from './codec.ts';
import { closeOpenCalls, userMessage } from './history.ts';
import { findApproval, isTool, stepCalls } from './message.ts';
import { ChatResponses, NOTHING_TO_RESUME, RESUME_TRIES } from './responses.ts';
import { resultBody, resultUrls, undelivered } from './results.ts';
import { isRecord, type Post } from './schema.ts';
import {
  type AiSdkAskSubject,
  type AiSdkSetup,
  type AiSdkState,
  type ChatTurn,
  messageId,
  type Opened,
  type Refused,
  type ToolResult,
} from './state.ts';

/*
 * The client of the AI SDK's UI message stream. One turn lasts from the user's message to the moment the user may write again, and takes as many
 * requests as its calls need: a request is posted, its response is read (and resumed when it is cut), results and answers are gathered, and the
 * next request tells them. A server that holds its response open gets results by requests of their own instead.
 *
 * Links: `chat N`, one for each response. Its messages are `sent`, `opened`, `refused`, `failed`, `chunk`, `chunks` (that
 * arrived together), `tool-call`, `tooLong`, `done`.
 * Ports, and the names of the calls to them: `server` (`settings`: the profile is read again; `result ID`: a result of a held call; `stop`,
 * `notifyClose`, `learn`), `tool` (`look ID` and `tool ID`: one of our tools), `file` (`file ID`: the file of an edit that is asked about),
 * `secret` (`key`).
 *
 * The step is written in five layers, each for itself. Here: what the user wants, and windows that open and close. Below it, `responses.ts`: requests
 * and their responses; `calls.ts`: calls and approvals that wait for us; `results.ts`: our answers on their way to the server; `shown.ts`: the
 * message in the session. What a layer wants of a higher one is an abstract method at its top.
 */

class AiSdk extends ChatResponses {
  take(input: Input): void {
    const { state } = this;
    if (state.phase === 'left') return this.takeAfterLeaving(input);
    switch (input.on) {
      case 'message':
        return this.message(input.link, input.method, input.params);
      case 'reply':
        return this.reply(input.call, input.result, input.error !== undefined);
      case 'intent':
        return this.intent(input.intent);
      case 'timer':
        return this.elapsed(input.timer);
      case 'closed':
        return this.closed(input.link, input.why.failure === undefined ? null : input.why.reason);
      case 'junk':
        return this.malformed('an event that is no JSON');
      case 'start':
        return this.ready();
      case 'leave':
        return this.leave();
      case 'asked':
        return this.refuse(input.link, input.id, -32601, 'Method not found');
      case 'withdrawn':
        return;
    }
  }

  // --- Start and end. There is no connection to open: each request opens its own.

  ready(): void {
    const { state } = this;
    const { setup, settings } = state;
    state.phase = 'ready';
    this.emit({ type: 'resume.set', key: state.chatId });
    this.showProblems(setup.problems);
    if (!settings.isLocal) this.showWhatIsSent();
    const accepted = settings.tools === 'none' ? [] : offeredTools(state).map(({ name }) => name);
    this.emit({
      type: 'link.ready',
      agent: { protocol: 'ai-sdk', name: setup.name ?? settings.host },
      offers: { images: true, edit: true, feedback: true, tools: { accepted, rejected: [] } },
    });
    if (!setup.interrupted) return;
    const last = state.messages.at(-1);
    const isAsking = last?.role === 'assistant' && last.parts.some((part) => isTool(part) && part.state === 'approval-requested');
    if (isAsking) return this.askAgain(setup.interrupted);
    state.pickUp = { link: null, attempt: 0 };
    this.port(null, 'settings', 'server', { do: 'settings' });
  }
  /** Once for each server, as long as the window is open. */
  showWhatIsSent(): void {
    const { learned, settings } = this.state;
    if (learned.told) return;
    this.learn({ told: true });
    this.notice(
      'info',
      t('Your messages are sent to {0}, and so is what the editor tools find: files, selections, problems.', settings.host),
    );
  }
  /** Tells the server that results awaited by an open response will not come. */
  leave(): void {
    const { state } = this;
    const { turn, settings, learned } = state;
    state.phase = 'left';
    const { response } = turn ?? { response: null };
    const isHeld = response !== null && !response.isOver && (settings.toolFlow === 'held' || learned.flow === 'held');
    const calls = turn && isHeld ? undelivered(state, turn).filter((call) => call.acceptedAt === null) : [];
    if (turn) for (const call of Object.values(turn.own)) this.dropCall(call);
    if (calls.length === 0) {
      state.phase = 'over';
      return;
    }
    const bodies = calls.map((call) => resultBody(state, call.id, { ok: false, text: 'The editor was closed.' }));
    this.port(null, 'notifyClose', 'server', { do: 'notifyClose', urls: resultUrls(state), bodies });
    this.timer('close', state.setup.timing.close);
  }
  takeAfterLeaving(input: Input): void {
    if ((input.on === 'reply' && input.call === 'notifyClose') || (input.on === 'timer' && input.timer === 'close'))
      this.state.phase = 'over';
  }

  // --- What the user wants

  intent(intent: Intent): void {
    switch (intent.type) {
      case 'prompt':
        return this.prompt(intent.turnId, intent.content, intent);
      case 'command': {
        const text = [`/${intent.path.join(' ')}`, intent.args].filter(Boolean).join(' ');
        return this.prompt(intent.turnId, [{ type: 'text', text }], {});
      }
      case 'cancel':
        return this.cancel();
      case 'answer':
        return this.answered(intent.askId, intent.answer);
      default:
        return;
    }
  }
  prompt(turnId: string, content: readonly Content[], how: { readonly replaces?: string; readonly again?: string }): void {
    const { state } = this;
    if (state.turn) return this.log('warn', 'A prompt came while a turn was running; it is left out.');
    this.endPickUp();
    const failed = state.failed?.turnId === how.again ? state.failed : null;
    // A window that opened since does not know how it failed: its message is in the history, and is not sent twice.
    const replaced = failed?.turnId ?? how.replaces ?? how.again;
    state.failed = null;
    const instead = failed
      ? this.again(failed, turnId, content)
      : replaced === undefined
        ? undefined
        : this.replacePrompt(replaced, turnId, content);
    if (instead) this.emit({ type: 'turns.removed', from: replaced ?? '' });
    const post = instead ?? this.addPrompt(turnId, content);
    const turn = this.newTurn(turnId, content, post);
    // The message continues where the failed turn ended, so this turn shows the parts of that one.
    if (post.continues) this.adopt(turn, [], this.assistant(turn, true).parts, 0);
    this.request(turn, post);
  }
  newTurn(turnId: string, prompt: readonly Content[], post: Post): ChatTurn {
    return this.startTurn(
      {
        ...newTurn(turnId, 'user'),
        stage: 'settings',
        post,
        link: null,
        response: null,
        from: this.state.messages.length,
        rounds: 0,
        isRoundAsked: false,
        tookResult: false,
        own: {},
        grace: [],
        approvals: {},
        edits: {},
        keyAsk: null,
        refused: null,
        shown: [],
        shownIds: {},
        isSaved: false,
      },
      prompt,
    );
  }
  /** Adds the user's message. Open calls of earlier messages are closed first. */
  addPrompt(turnId: string, content: readonly Content[]): Post {
    const { messages, users, delivered } = this.state;
    closeOpenCalls(messages);
    clear(delivered);
    const message = userMessage(messageId(this.state), content);
    put(users, turnId, message.id);
    messages.push(message);
    return { trigger: 'submit-message', continues: false };
  }
  /** Replaces an earlier message of the user and everything after it. undefined: there is no such turn. */
  replacePrompt(replaced: string, turnId: string, content: readonly Content[]): Post | undefined {
    const { messages, users, delivered } = this.state;
    const id = find(users, replaced);
    const at = messages.findIndex((message) => message.id === id);
    const old = messages[at];
    if (id === undefined || !old) return undefined;
    const message = userMessage(id, content);
    const answer = messages[at + 1];
    const isSame = answer?.role === 'assistant' && JSON.stringify(message) === JSON.stringify(old);
    messages.splice(at, messages.length, message);
    closeOpenCalls(messages);
    clear(delivered);
    remove(users, replaced);
    put(users, turnId, id);
    return { trigger: isSame ? 'regenerate-message' : 'submit-message', messageId: isSame ? answer.id : id, continues: false };
  }
  /** In place of a failed turn: the request that did not get through is made again, or the answer is asked for again. */
  again(failed: NonNullable<AiSdkState['failed']>, turnId: string, content: readonly Content[]): Post | undefined {
    if (failed.retry === 'regenerate') return this.replacePrompt(failed.turnId, turnId, content);
    this.renameTurn(failed.turnId, turnId);
    return failed.retry;
  }
  renameTurn(before: string, now: string): void {
    const { users } = this.state;
    const id = find(users, before);
    remove(users, before);
    if (id !== undefined) put(users, now, id);
  }

  /** Stops at once on this side. A server with a stop address gets a request first: it may take a closed connection for a short loss. */
  cancel(): void {
    const { turn, settings, chatId, setup } = this.state;
    if (!turn || turn.phase === 'stopping') return;
    turn.phase = 'stopping';
    for (const call of Object.values(turn.own)) this.dropCall(call);
    this.stopReading(turn);
    this.settle('turn', 'withdrawn');
    const { response } = turn;
    const named = response && !response.isOver ? response.stopUrl : null;
    const url = response && !response.isOver && settings.stopUrl !== null ? settings.stopUrl.replaceAll('{chatId}', chatId) : named;
    if (url === null) return this.cancelled(turn);
    this.port(null, 'stop', 'server', { do: 'stop', url });
    this.timer('close', setup.timing.close);
  }

  answered(askId: string, answer: Answer): void {
    const { turn, asks } = this.state;
    const ask = find(asks, askId);
    if (!turn || !ask) return;
    this.closeAsk(ask, answer.kind === 'cancelled' ? 'cancelled' : 'answered');
    const about = ask.about as AiSdkAskSubject;
    switch (about.what) {
      case 'approval':
        return this.approvalAnswered(turn, about.approvalId, this.verdict(turn, answer, findApproval(this.last, about.approvalId)));
      case 'dataApproval':
        return this.dataApprovalAnswered(turn, about.request, this.verdict(turn, answer, undefined, about.name));
      case 'question':
        return this.questionAnswered(turn, about, answer);
      case 'request':
        return verdictOf(answer).approved ? this.goOn(turn) : this.end(turn, { status: 'done' });
      case 'round':
        return verdictOf(answer).approved ? this.roundAllowed(turn) : this.cancel();
      case 'key':
        return this.keyAnswered(turn, answer);
    }
  }

  // --- A window that was closed in the middle of a turn

  /** The user had not answered: the same turn waits for them again. What ran is not run again. */
  askAgain(last: NonNullable<AiSdkSetup['interrupted']>): void {
    const turnId = this.newId();
    this.renameTurn(last.id, turnId);
    this.emit({ type: 'turns.removed', from: last.id });
    const turn = this.newTurn(turnId, last.prompt, { trigger: 'submit-message', continues: true });
    const { parts } = this.last;
    const response = this.newResponse(0, { resumableId: null, runId: null, stopUrl: null });
    turn.response = response;
    response.body.isDone = true;
    response.isOver = true;
    this.adopt(turn, [], parts, 0);
    for (const part of stepCalls(this.last, response.assembly)) {
      if (part.state === 'input-available' && this.isOurs(part))
        this.refuseCall(turn, part, 'Interrupted: the window was closed before there was a result.');
    }
    this.caughtUp(turn, response);
    this.gather(turn, response, false);
  }
  pickUpMessage(link: string, method: string, params: unknown): void {
    const { setup } = this.state;
    if (method === 'refused') {
      const { status } = params as Refused;
      if (status < 300 || NOTHING_TO_RESUME.includes(status)) return this.endPickUp();
      return this.pickUpFailed();
    }
    if (method === 'failed') return this.pickUpFailed();
    if (method !== 'opened' || !setup.interrupted) return;
    this.state.pickUp = null;
    const { id, prompt, hasCalls } = setup.interrupted;
    const turnId = this.newId();
    // A turn of several responses is not replayed as a whole: what it showed stays, and the rest comes in a turn of its own.
    if (!hasCalls) {
      if (this.last?.role === 'assistant') this.state.messages.pop();
      this.renameTurn(id, turnId);
      this.emit({ type: 'turns.removed', from: id });
    }
    const turn = this.newTurn(turnId, hasCalls ? [] : prompt, { trigger: 'submit-message', continues: false });
    turn.link = link;
    this.opened(turn, params as Opened);
  }
  pickUpFailed(): void {
    const { pickUp, setup } = this.state;
    if (!pickUp) return;
    pickUp.link = null;
    pickUp.attempt += 1;
    if (pickUp.attempt >= RESUME_TRIES) return this.endPickUp();
    this.timer('resume', setup.timing.resumes[pickUp.attempt - 1] ?? 0);
  }
  endPickUp(): void {
    const { pickUp } = this.state;
    if (!pickUp) return;
    this.state.pickUp = null;
    this.drop('settings');
    this.timer('resume', null);
    if (pickUp.link !== null) this.close(pickUp.link);
  }

  // --- Messages, replies and timers

  message(link: string, method: string, params: unknown): void {
    const { turn, pickUp } = this.state;
    if (pickUp !== null && pickUp.link === link) return this.pickUpMessage(link, method, params);
    if (turn && turn.link === link) this.responseMessage(turn, method, params);
  }
  closed(link: string, broken: string | null): void {
    const { turn, pickUp } = this.state;
    if (pickUp !== null && pickUp.link === link) this.pickUpFailed();
    if (turn && turn.link === link) this.responseClosed(turn, broken);
  }

  reply(name: string, result: unknown, isError: boolean): void {
    const { turn } = this.state;
    const [what, id] = splitName(name);
    if (what === 'settings') return this.settingsRead(isError ? undefined : result);
    if (!turn) return;
    if (what === 'stop') return turn.phase === 'stopping' ? this.cancelled(turn) : undefined;
    if (what === 'key') {
      if (isError) this.log('error', 'The key could not be kept');
      return this.keyKnown(turn, !isError);
    }
    if (what === 'file') return this.fileRead(turn, id, isError || !isRecord(result) ? {} : result);
    const call = find(turn.own, id);
    if (!call) return;
    if (what === 'look') return this.effectsRead(turn, call, isError ? {} : result);
    if (what === 'tool') return this.callAnswered(turn, call, isError ? { ok: false, text: 'The tool failed.' } : (result as ToolResult));
    if (what === 'result') return this.deliveryAnswered(turn, call, isError ? undefined : result);
  }
  elapsed(name: string): void {
    const { turn } = this.state;
    const [what, id] = splitName(name);
    if (what === 'resume') return this.resumeAgain();
    if (!turn) return;
    if (what === 'close') return turn.phase === 'stopping' ? this.cancelled(turn) : undefined;
    if (what === 'closing') return turn.link === null ? undefined : this.close(turn.link);
    if (what === 'grace') return this.graceOver(turn, id);
    const call = find(turn.own, id);
    if (!call) return;
    if (what === 'quiet' || what === 'refused') return this.silenceElapsed(turn, what, call);
    if (what === 'deliver' && call.delivery) {
      call.delivery.tries += 1;
      call.delivery.at = 0;
      this.tryAddress(turn, call, call.delivery);
    }
  }
  resumeAgain(): void {
    const { turn, pickUp } = this.state;
    const { response } = turn ?? { response: null };
    if (turn?.stage === 'resume' && response)
      return this.openResume({ resumableId: response.resumableId, runId: response.runId, received: response.assembly.received });
    if (pickUp && !turn) this.openResume({ resumableId: null, runId: null, received: 0 });
  }
}

export const aiSdkMachine = machineOf(AiSdk);
